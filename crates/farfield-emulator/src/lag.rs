//! Lag: how far a shard may be behind the clock, and what gives way when it has more to do than it can.
//!
//! An event happens at the instant at which it is due, even if the shard comes to it late: a round trip does
//! not grow by the shard's delay. This holds up to a [longest lag](LAG_MAX). A shard that is always busy
//! would otherwise fall ever further behind: users of a closed loop see round trips of emulated time, however
//! long these take, and ask again as if nothing had happened. So an event that is later than the longest lag
//! happens that long ago instead of when it was due. Round trips grow from there on, and a closed loop asks
//! for no more than the shard can do.
//!
//! An open load asks for it all the same. Load that is later than the longest lag is put aside, and is begun
//! when nothing else is to be done: what has begun is finished first (Mogul and Ramakrishnan, *Eliminating
//! receive livelock in an interrupt-driven kernel*, ACM TOCS 15(3), 1997). Begun in the order of instants, it
//! would take all the time of the shard, and little of it would ever be answered.
//!
//! Virtual time has no lag.

use farfield_base::{Duration, Instant};
use farfield_user::Wake;
use std::collections::VecDeque;

/// The longest lag. As long as the longest stall that a valid run may have, so that it changes no valid run;
/// half the shortest retransmission timeout of Linux, so that a server does not take for lost what is late.
pub const LAG_MAX: Duration = Duration::from_ms(100);

/// The earliest instant at which anything happens when the clock shows `wall`.
pub fn floor(wall: Instant) -> Instant {
    Instant::from_ns(wall.as_ns().saturating_sub(LAG_MAX.as_ns()))
}

/// The lag of a shard: events and load that are behind the clock.
#[derive(Debug, Default)]
pub(crate) struct Lag {
    /// The earliest instant at which anything happens now; zero in virtual time.
    pub floor: Instant,
    /// The instant at which the present event was due, if that was before the floor.
    pub overdue: Option<Instant>,
    /// Load that is put aside, with when it was due, in the order in which it was put aside.
    pub late_load: VecDeque<(Instant, Wake)>,
}

impl Lag {
    /// The instant at which an event that happens at `now` was meant to.
    pub fn intended(&self, now: Instant) -> Instant {
        self.overdue.unwrap_or(now)
    }

    /// True once there is a clock to be behind.
    pub fn is_real_time(&self) -> bool {
        self.floor > Instant::ZERO
    }
}
