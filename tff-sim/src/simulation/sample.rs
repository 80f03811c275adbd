//! Which clients take part in a round.
//!
//! The choice depends only on the seed and the number of the round. So a round can be repeated
//! without the rounds before it, and is the same on every machine.

use crate::random::SplitMix64;

/// Chooses `n_chosen` of `n_clients` clients without replacement, in ascending order; all of them
/// where it is at least as many. Every subset is equally likely, by a partial Fisher–Yates
/// shuffle.
#[must_use]
pub fn sample_clients(seed: u64, round: u64, n_clients: usize, n_chosen: usize) -> Vec<usize> {
    let mut clients: Vec<usize> = (0..n_clients).collect();
    if n_chosen >= n_clients {
        return clients;
    }
    SplitMix64::of(seed, round).shuffle(&mut clients, n_chosen);
    clients.truncate(n_chosen);
    clients.sort_unstable();
    clients
}

/// The clients that stay, and those that vanish, each with probability `dropout`; the last one stays where all would vanish.
pub(super) fn without_dropouts(dropout: f64, seed: u64, round: u64, chosen: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    if dropout <= 0.0 {
        return (chosen, Vec::new());
    }
    // Another stream of numbers than that which chose them.
    let mut random = SplitMix64::of(!seed, round);
    let (mut stay, mut vanish): (Vec<usize>, Vec<usize>) = chosen.into_iter().partition(|_| random.unit() >= dropout);
    if stay.is_empty() {
        stay.extend(vanish.pop());
    }
    (stay, vanish)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn dropouts_are_as_likely_as_said_and_someone_stays() {
        let mut n_vanished = 0;
        for round in 0..1000 {
            let (stay, vanish) = without_dropouts(0.3, 1, round, (0..10).collect());
            assert_eq!(
                (stay.len() + vanish.len(), without_dropouts(0.3, 1, round, (0..10).collect())),
                (10, (stay, vanish.clone()))
            );
            n_vanished += vanish.len();
        }
        // 3000 expected, with a standard deviation of 46.
        assert!((2800..3200).contains(&n_vanished), "{n_vanished}");
        assert!((0..1000).all(|round| !without_dropouts(0.99, 1, round, vec![4, 5]).0.is_empty()));
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
