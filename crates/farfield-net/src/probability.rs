//! Probabilities of events, decided by one draw and one comparison of integers.

use farfield_base::Share;
use farfield_base::random::Stream;
use rand_core::Rng;

/// A probability, as the number below which a random word must lie. What cannot happen draws nothing, so that
/// a link without loss leaves its stream to its jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probability {
    below: u64,
}

impl Probability {
    /// Zero.
    pub const NEVER: Probability = Probability { below: 0 };

    /// The probability `share`, to within 2⁻⁶⁴.
    pub fn of(share: Share) -> Probability {
        Probability::from_f64(share.as_f64())
    }

    /// The probability of a bare number; what lies outside [0, 1] counts as its nearer end.
    pub(crate) fn from_f64(probability: f64) -> Probability {
        Probability { below: (probability * 18_446_744_073_709_551_616.0) as u64 } // `as` saturates
    }

    /// The probability as a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        self.below as f64 / 18_446_744_073_709_551_616.0
    }

    /// Draws whether the event happens.
    pub fn happens(self, rng: &mut Stream) -> bool {
        match self.below {
            0 => false,
            u64::MAX => true,
            below => rng.next_u64() < below,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    #[test]
    fn never_and_always_are_exact_and_draw_nothing() {
        let mut rng = Seed(1).stream(Purpose::Link, 0);
        let before = rng.clone();
        assert!((0..1000).all(|_| !Probability::NEVER.happens(&mut rng)));
        assert!((0..1000).all(|_| Probability::of(Share::ALL).happens(&mut rng)));
        assert_eq!(rng, before);
    }

    #[test]
    fn happens_as_often_as_it_should() {
        let mut rng = Seed(2).stream(Purpose::Link, 0);
        let probability = Probability::of(Share::new(0.03).unwrap());
        const DRAWS: u32 = 1_000_000;
        let struck = (0..DRAWS).filter(|_| probability.happens(&mut rng)).count() as f64;
        let sigma = (f64::from(DRAWS) * 0.03 * 0.97).sqrt();
        assert!((struck - 0.03 * f64::from(DRAWS)).abs() < 4.0 * sigma, "{struck}");
    }
}
