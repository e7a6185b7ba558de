//! Injected failures: a random choice for every request number, so that the same seed fails the same numbers
//! whatever the threads and connections they come on.

use farfield_base::Share;
use farfield_base::random::{Purpose, Seed};
use rand::RngExt;

/// The random choices of one origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failures {
    seed: Seed,
    rate: Share,
}

impl Failures {
    pub(crate) fn new(seed: Seed, rate: Share) -> Failures {
        Failures { seed, rate }
    }

    /// True if the `number`-th request of the run, counted from 0, fails.
    pub(crate) fn strikes(&self, number: u64) -> bool {
        // A draw lies in [0, 1), so none of them strikes at rate 0 and all do at rate 1.
        self.rate > Share::NONE
            && self.seed.stream(Purpose::Server, number).random::<f64>() < self.rate.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The count of failures is binomial: within five standard deviations of its mean.
    #[test]
    fn as_many_strike_as_the_rate_says() {
        const REQUESTS: u64 = 100_000;
        for rate in [0.0, 0.001, 0.3, 1.0] {
            let failures = Failures::new(Seed(7), Share::new(rate).unwrap());
            let struck = (0..REQUESTS).filter(|number| failures.strikes(*number)).count() as f64;
            let mean = REQUESTS as f64 * rate;
            let limit = 5.0 * (mean * (1.0 - rate)).sqrt();
            assert!((struck - mean).abs() <= limit, "{struck} of {REQUESTS} at {rate}");
        }
    }

    #[test]
    fn another_seed_strikes_others() {
        let struck = |seed| {
            let failures = Failures::new(Seed(seed), Share::new(0.3).unwrap());
            (0..64).filter(|number| failures.strikes(*number)).collect::<Vec<_>>()
        };
        assert_eq!(struck(1), struck(1));
        assert_ne!(struck(1), struck(2));
    }
}
