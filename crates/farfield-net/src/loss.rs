//! Packets that the wire loses, whatever its queue holds: none, each on its own, or in bursts.
//!
//! The memory of a model of loss between packets is a [`Memory`] of one byte. A link has one of its own;
//! where losses are to be correlated inside a connection and independent across them, as in WASP, every
//! connection keeps one and lends it with each packet ([`Link::offer_of`](crate::Link::offer_of)), or the
//! link keeps one for each flow.

mod flows;
mod gilbert_elliott;
mod spec;

pub(crate) use flows::FlowMemories;
pub use gilbert_elliott::GilbertElliott;
pub use spec::{LossError, LossSpec};

use crate::probability::Probability;
use crate::profile::OutageProfile;
use farfield_base::Instant;
use farfield_base::random::Stream;

/// The state of the two-state model; everything starts good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// Nothing, or little, is lost.
    #[default]
    Good,
    /// Everything, or much, is lost.
    Bad,
}

/// The packets that share a memory of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All packets of the link.
    #[default]
    Link,
    /// The packets of a connection, in one direction.
    Connection,
}

/// A model of loss. Closed: a caller that describes a link knows each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// Each packet is lost with the same probability, whatever became of others.
    Independent(Probability),
    /// Losses come in bursts.
    GilbertElliott(GilbertElliott, Scope),
    /// Independent losses whose probability rises or falls.
    Ramp(LossRamp),
    /// Outages of a profile, whose course the link keeps.
    Outages(&'static OutageProfile),
}

/// A probability of loss on a straight line between two instants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossRamp {
    /// Begin of the ramp.
    pub from: Instant,
    /// End of the ramp.
    pub until: Instant,
    /// The probability at its begin.
    pub first: f64,
    /// The probability at its end.
    pub last: f64,
}

impl LossRamp {
    /// The probability at `now`; before the ramp its first, after it its last.
    pub fn at(&self, now: Instant) -> Probability {
        let length = self.until.since(self.from).as_ns().max(1) as f64;
        let part = (now.max(self.from).since(self.from).as_ns() as f64 / length).min(1.0);
        Probability::from_f64(self.first + (self.last - self.first) * part)
    }
}

impl Loss {
    /// True if the packet that comes at `now` is lost.
    pub fn strikes(&self, now: Instant, memory: &mut Memory, rng: &mut Stream) -> bool {
        match self {
            Loss::None => false,
            Loss::Independent(probability) => probability.happens(rng),
            Loss::GilbertElliott(model, _) => model.strikes(memory, rng),
            Loss::Ramp(ramp) => ramp.at(now).happens(rng),
            // The link asks its course.
            Loss::Outages(_) => false,
        }
    }

    /// The share of packets lost in the long run.
    pub fn loss_rate(&self) -> f64 {
        match self {
            Loss::None => 0.0,
            Loss::Independent(probability) => probability.as_f64(),
            Loss::GilbertElliott(model, _) => model.loss_rate(),
            Loss::Ramp(ramp) => ramp.last,
            Loss::Outages(profile) => profile.share(),
        }
    }

    /// The packets that share a memory of losses.
    pub fn scope(&self) -> Scope {
        match self {
            Loss::None | Loss::Independent(_) | Loss::Ramp(_) | Loss::Outages(_) => Scope::Link,
            Loss::GilbertElliott(_, scope) => *scope,
        }
    }
}
