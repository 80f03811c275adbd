//! Random numbers that are the same on every machine: for sampling clients and for dividing rows among them.

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator for each number, whose outputs have nothing to do with each other. One step apart, the generators of
    /// two numbers would give overlapping outputs; their first outputs are far apart.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        Self(Self(Self(seed).next().wrapping_add(number)).next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, each equally likely: what lies above the last multiple of the bound is drawn again.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let zone = u64::MAX - u64::MAX % bound;
        loop {
            let number = self.next();
            if number < zone {
                return number % bound;
            }
        }
    }

    /// Puts the items in a random order, each equally likely, from the front: a Fisher–Yates shuffle. The first `n_drawn`
    /// are then a random choice.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T], n_drawn: usize) {
        for position in 0..n_drawn.min(items.len()) {
            let rest = (items.len() - position) as u64;
            #[expect(clippy::cast_possible_truncation, reason = "less than the number of items, which is a usize")]
            let chosen = position + self.below(rest) as usize;
            items.swap(position, chosen);
        }
    }

    /// A number above 0 and below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are left")]
        let bits = (self.next() >> 11) as f64;
        (bits + 0.5) / 9_007_199_254_740_992.0
    }

    /// A number of the standard normal distribution, by Marsaglia's polar method.
    fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// The logarithm of a number of the gamma distribution of this shape and scale 1, by Marsaglia and Tsang, "A simple
    /// method for generating gamma variables", 2000. A small shape gives numbers too small for an `f64`, their
    /// logarithms are not.
    fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.ln_gamma(shape + 1.0) + libm::log(self.unit()) / shape;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let normal = self.normal();
            let cube_root = 1.0 + c * normal;
            if cube_root <= 0.0 {
                continue;
            }
            let v = cube_root * cube_root * cube_root;
            if libm::log(self.unit()) < 0.5 * normal * normal + d - d * v + d * libm::log(v) {
                return libm::log(d * v);
            }
        }
    }

    /// Shares of the symmetric Dirichlet distribution: `n` numbers that add up to 1.
    pub(crate) fn dirichlet(&mut self, alpha: f64, n: usize) -> Vec<f64> {
        let logs: Vec<f64> = (0..n).map(|_| self.ln_gamma(alpha)).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = logs.iter().map(|log| libm::exp(log - largest)).collect();
        let total: f64 = shares.iter().sum();
        shares.into_iter().map(|share| share / total).collect()
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
    fn shares_have_the_moments_of_the_dirichlet_distribution() {
        for alpha in [0.1, 0.5, 1.0, 10.0] {
            let (mut random, n, draws) = (SplitMix64(7), 4, 20_000);
            let mut squares = 0.0;
            let mut firsts = 0.0;
            for _ in 0..draws {
                let shares = random.dirichlet(alpha, n);
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                firsts += shares[0];
                squares += shares[0] * shares[0];
            }
            let mean = firsts / f64::from(draws);
            let variance = squares / f64::from(draws) - mean * mean;
            // Mean 1/n; variance (1/n)(1 - 1/n)/(n·alpha + 1).
            let expected = 0.25 * 0.75 / (4.0 * alpha + 1.0);
            assert!((mean - 0.25).abs() < 0.01, "{alpha}: {mean}");
            assert!((variance - expected).abs() < 0.05 * expected + 1e-4, "{alpha}: {variance}, expected {expected}");
        }
    }

    #[test]
    fn tiny_shapes_give_numbers() {
        let mut random = SplitMix64(1);
        assert!((0..100).all(|_| random.dirichlet(1e-3, 10).iter().all(|share| share.is_finite())));
    }
}
