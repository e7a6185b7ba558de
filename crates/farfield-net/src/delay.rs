//! Delay of a packet once its last bit has left: propagation, and jitter of any distribution.
//!
//! The distribution is handed in as a closure or any [`Jitter`], for this crate knows no distributions.
//! Jitter only adds. With [`Order::Kept`] a packet that would overtake waits for the one before it (a queue
//! somewhere jitters); with [`Order::Free`] it overtakes (several paths jitter). So it is where the
//! propagation changes: a packet takes that of the instant at which its last bit leaves.

use crate::course::Course;
use crate::profile::{Profile, ProfileState};
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use std::fmt;
use std::sync::Arc;

/// A distribution of extra delays.
pub trait Jitter: Send + Sync {
    /// Draws one extra delay.
    fn draw(&self, rng: &mut Stream) -> Duration;
}

impl<F: Fn(&mut Stream) -> Duration + Send + Sync> Jitter for F {
    fn draw(&self, rng: &mut Stream) -> Duration {
        self(rng)
    }
}

/// Order of arriving packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Packets arrive in the order in which they left.
    Kept,
    /// Each packet takes its own time.
    Free,
}

/// Propagation and jitter of one direction.
#[derive(Clone)]
pub struct Delay {
    /// The least time from last bit out to last bit in; the lookahead of the other end.
    pub propagation: Duration,
    /// The propagation at each instant, in nanoseconds, where it changes: never below `propagation`.
    pub course: Option<Arc<Course>>,
    /// The profile that the propagation follows, never below `propagation`.
    pub profile: Option<&'static Profile>,
    /// The distribution of what is added, if anything is.
    pub jitter: Option<Arc<dyn Jitter>>,
    /// Order of packets under jitter.
    pub order: Order,
}

impl Delay {
    /// Always `propagation`.
    pub fn constant(propagation: Duration) -> Delay {
        Delay { propagation, course: None, profile: None, jitter: None, order: Order::Kept }
    }

    /// True if no packet overtakes another.
    pub fn keeps_order(&self) -> bool {
        self.is_constant() || self.order == Order::Kept
    }

    /// True if every packet takes the same time.
    pub fn is_constant(&self) -> bool {
        self.jitter.is_none() && self.course.is_none() && self.profile.is_none()
    }

    /// The propagation at `now`.
    pub fn propagation_at(&self, now: Instant) -> Duration {
        self.course.as_ref().map_or(self.propagation, |course| Duration::from_ns(course.at(now)))
    }

    /// The largest propagation.
    pub fn propagation_most(&self) -> Duration {
        let of_profile = |profile: &Profile| profile.delay.largest() - profile.other_way;
        let most = self.profile.map_or(self.propagation, of_profile);
        self.course.as_ref().map_or(most, |course| Duration::from_ns(course.range().1))
    }

    /// Instant at which a packet arrives that left at `departed`. `latest` is the link's memory of its latest
    /// arrival, and `walk` its course by a profile.
    pub(crate) fn arrival(
        &self,
        departed: Instant,
        (latest, walk): (&mut Instant, Option<&mut ProfileState>),
        rng: &mut Stream,
    ) -> Instant {
        if self.is_constant() {
            return departed + self.propagation;
        }
        let jitter = self.jitter.as_ref().map_or(Duration::ZERO, |jitter| jitter.draw(rng));
        let propagation = walk.map_or_else(|| self.propagation_at(departed), |walk| walk.delay(departed));
        let at = departed + propagation + jitter;
        if self.order == Order::Free {
            return at;
        }
        *latest = at.max(*latest);
        *latest
    }
}

impl fmt::Debug for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jitter = self.jitter.as_ref().map(|_| self.order);
        f.debug_struct("Delay").field("propagation", &self.propagation).field("jitter", &jitter).finish()
    }
}
