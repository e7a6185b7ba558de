//! Bursty loss from a chain of two states (Gilbert 1960, Elliott 1963), a step a packet.
//!
//! The step comes before the fate: a good connection turns bad with probability `to_bad` and the very
//! packet on which it turned is lost. That is how WASP reads its table (Nahum et al. 2001, section 3.4,
//! figure 5 and table 1): "a 4 percent chance of having each packet dropped. If a packet is dropped, the
//! connection transitions to the bad state", where the next is lost with probability 0.35 and the chain else
//! returns to good.

use super::Memory;
use crate::probability::Probability;
use farfield_base::Share;
use farfield_base::random::Stream;

/// The two-state model. Nothing is lost while good and all while bad, by [default](Self::with_losses).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    to_bad: Share,
    to_good: Share,
    loss_good: Share,
    loss_bad: Share,
    to_bad_probability: Probability,
    to_good_probability: Probability,
    loss_good_probability: Probability,
    loss_bad_probability: Probability,
}

impl GilbertElliott {
    /// Turns bad with probability `to_bad` and good again with `to_good`, each packet. Refuses (`None`) a
    /// chain that turns bad and never good again, for after a while it carries nothing.
    pub fn new(to_bad: Share, to_good: Share) -> Option<GilbertElliott> {
        let model = GilbertElliott {
            to_bad,
            to_good,
            loss_good: Share::NONE,
            loss_bad: Share::ALL,
            to_bad_probability: Probability::of(to_bad),
            to_good_probability: Probability::of(to_good),
            loss_good_probability: Probability::NEVER,
            loss_bad_probability: Probability::of(Share::ALL),
        };
        (to_good > Share::NONE || to_bad == Share::NONE).then_some(model)
    }

    /// The chain, losing so much in each state (Elliott's generalisation).
    pub fn with_losses(self, good: Share, bad: Share) -> GilbertElliott {
        GilbertElliott {
            loss_good: good,
            loss_bad: bad,
            loss_good_probability: Probability::of(good),
            loss_bad_probability: Probability::of(bad),
            ..self
        }
    }

    /// A row of WASP's table 1: leaving good with 0.02, 0.04 or 0.07 and bad with 0.65. `percent` is the loss
    /// rate that the paper gives the row, 3, 6 or 9; the chains' own are 2.99, 5.80 and 9.72 %.
    pub fn wasp(percent: u32) -> Option<GilbertElliott> {
        let to_bad = match percent {
            3 => 0.02,
            6 => 0.04,
            9 => 0.07,
            _ => return None,
        };
        GilbertElliott::new(Share::new(to_bad).ok()?, Share::new(0.65).ok()?)
    }

    /// The share of time in the bad state: `to_bad / (to_bad + to_good)`.
    pub fn bad_share(&self) -> f64 {
        let (to_bad, to_good) = (self.to_bad.as_f64(), self.to_good.as_f64());
        if to_bad == 0.0 { 0.0 } else { to_bad / (to_bad + to_good) }
    }

    /// The share of packets lost in the long run.
    pub fn loss_rate(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.loss_good.as_f64() + bad * self.loss_bad.as_f64()
    }

    pub(super) fn strikes(&self, memory: &mut Memory, rng: &mut Stream) -> bool {
        let (turns, other) = match memory {
            Memory::Good => (self.to_bad_probability, Memory::Bad),
            Memory::Bad => (self.to_good_probability, Memory::Good),
        };
        if turns.happens(rng) {
            *memory = other;
        }
        match memory {
            Memory::Good => self.loss_good_probability.happens(rng),
            Memory::Bad => self.loss_bad_probability.happens(rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wasps_rows_have_the_rates_that_their_chains_have() {
        let rate = |percent| GilbertElliott::wasp(percent).unwrap().loss_rate();
        assert!((rate(3) - 0.02 / 0.67).abs() < 1e-12);
        assert!((rate(6) - 0.04 / 0.69).abs() < 1e-12);
        assert!((rate(9) - 0.07 / 0.72).abs() < 1e-12);
        // The paper's names for them are good to three quarters of a percent.
        assert!([3, 6, 9].iter().all(|&p| (rate(p) - f64::from(p) / 100.0).abs() < 0.0075));
        assert_eq!(GilbertElliott::wasp(4), None);
    }

    #[test]
    fn elliotts_states_mix_by_their_shares() {
        let share = |x| Share::new(x).unwrap();
        let model = GilbertElliott::new(share(0.1), share(0.3)).unwrap().with_losses(share(0.01), share(0.5));
        assert!((model.loss_rate() - (0.75 * 0.01 + 0.25 * 0.5)).abs() < 1e-12);
    }

    #[test]
    fn a_chain_without_a_way_back_is_refused() {
        assert_eq!(GilbertElliott::new(Share::ALL, Share::NONE), None);
        assert!(GilbertElliott::new(Share::NONE, Share::NONE).is_some_and(|model| model.loss_rate() == 0.0));
    }
}
