//! Which clients take part in a round.
//!
//! The choice depends only on the seed and the number of the round. So a round can be repeated
//! without the rounds before it, and is the same on every machine.

/// Chooses `n_chosen` of `n_clients` clients without replacement, in ascending order; all of them
/// where it is at least as many. Every subset is equally likely, by a partial Fisher–Yates
/// shuffle.
#[must_use]
pub fn sample_clients(seed: u64, round: u64, n_clients: usize, n_chosen: usize) -> Vec<usize> {
    let mut clients: Vec<usize> = (0..n_clients).collect();
    if n_chosen >= n_clients {
        return clients;
    }
    // One step apart, the generators of two rounds would give overlapping numbers; their first
    // outputs are far apart.
    let mut random = SplitMix64(SplitMix64(SplitMix64(seed).next().wrapping_add(round)).next());
    for position in 0..n_chosen {
        let rest = (n_clients - position) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "less than a number of clients, which is a usize")]
        let chosen = position + random.below(rest) as usize;
        clients.swap(position, chosen);
    }
    clients.truncate(n_chosen);
    clients.sort_unstable();
    clients
}

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, each equally likely: what lies above the last multiple of the bound
    /// is drawn again.
    fn below(&mut self, bound: u64) -> u64 {
        let zone = u64::MAX - u64::MAX % bound;
        loop {
            let number = self.next();
            if number < zone {
                return number % bound;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_gives_the_published_numbers() {
        let mut random = SplitMix64(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn all_clients_in_order_where_all_take_part() {
        assert_eq!(sample_clients(1, 1, 3, 3), [0, 1, 2]);
        assert_eq!(sample_clients(1, 1, 3, 9), [0, 1, 2]);
    }

    #[test]
    fn choice_depends_on_seed_and_round_alone() {
        assert_eq!(sample_clients(1, 1, 100, 10), sample_clients(1, 1, 100, 10));
        assert_ne!(sample_clients(1, 1, 100, 10), sample_clients(1, 2, 100, 10));
        assert_ne!(sample_clients(1, 1, 100, 10), sample_clients(2, 1, 100, 10));
    }

    #[test]
    fn every_client_is_as_likely() {
        let mut counts = [0; 10];
        for round in 0..10_000 {
            let chosen = sample_clients(7, round, 10, 3);
            assert!(chosen.is_sorted_by(|a, b| a < b));
            for client_idx in chosen {
                counts[client_idx] += 1;
            }
        }
        // 3000 expected, with a standard deviation of 46.
        assert!(counts.iter().all(|count| (2800..3200).contains(count)), "{counts:?}");
    }
}
