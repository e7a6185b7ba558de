//! The congestion window: how it grows and what a loss makes of it.
//!
//! A [`CongestionControl`] decides by how much; *when* is the affair of loss recovery, which also moves the
//! window within a recovery (inflation and deflation of RFC 6582).

mod cubic;
mod reno;

pub use cubic::Cubic;
pub use reno::Reno;

use crate::config::{Algorithm, SlowStart};
use farfield_base::{Duration, Instant};

/// cwnd and ssthresh of RFC 5681 §2, in bytes, and the segment size they are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The congestion window.
    pub cwnd: u32,
    /// The slow start threshold.
    pub ssthresh: u32,
    /// SMSS.
    pub smss: u32,
}

/// A cumulative acknowledgment outside fast recovery, while the window was the limit.
#[derive(Debug, Clone, Copy)]
pub struct Acked {
    /// Instant at which it came.
    pub now: Instant,
    /// Bytes it acknowledged anew.
    pub bytes: u32,
    /// The smoothed round-trip time, if known.
    pub srtt: Option<Duration>,
    /// Growth in slow start.
    pub slow_start: SlowStart,
}

/// Congestion control: moves of a congestion window.
pub trait CongestionControl {
    /// Lets the window grow.
    fn grow(&mut self, window: &mut Window, acked: Acked);

    /// A loss was found with `flight` bytes outstanding: sets ssthresh, not cwnd.
    fn reduce(&mut self, window: &mut Window, flight: u32);

    /// The retransmission timer expired; ssthresh is set already. What was learnt about the path ends here.
    fn handle_timeout(&mut self);
}

/// Growth below ssthresh; returns how many of the acknowledged bytes are left for congestion avoidance.
pub(crate) fn slow_start(window: &mut Window, acked: Acked) -> u32 {
    let (grown, left) = match acked.slow_start {
        // RFC 5681 §3.1: at most SMSS an ACK (equation 2)
        SlowStart::PerAck => (acked.bytes.min(window.smss), 0),
        // RFC 3465 §2.2 without the limit L, and as far as ssthresh, as Linux has it
        SlowStart::PerByte => {
            let grown = acked.bytes.min(window.ssthresh.saturating_sub(window.cwnd));
            (grown, acked.bytes - grown)
        }
    };
    window.cwnd = window.cwnd.saturating_add(grown);
    left
}

/// The algorithm of a connection, without a box.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    Reno(Reno),
    Cubic(Cubic),
}

impl Control {
    pub(crate) fn new(algorithm: Algorithm) -> Control {
        match algorithm {
            Algorithm::Reno => Control::Reno(Reno::default()),
            Algorithm::Cubic => Control::Cubic(Cubic::default()),
        }
    }
}

impl CongestionControl for Control {
    fn grow(&mut self, window: &mut Window, acked: Acked) {
        match self {
            Control::Reno(reno) => reno.grow(window, acked),
            Control::Cubic(cubic) => cubic.grow(window, acked),
        }
    }

    fn reduce(&mut self, window: &mut Window, flight: u32) {
        match self {
            Control::Reno(reno) => reno.reduce(window, flight),
            Control::Cubic(cubic) => cubic.reduce(window, flight),
        }
    }

    fn handle_timeout(&mut self) {
        match self {
            Control::Reno(reno) => reno.handle_timeout(),
            Control::Cubic(cubic) => cubic.handle_timeout(),
        }
    }
}
