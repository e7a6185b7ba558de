//! Behaviour of a connection, as a value shared by all connections of a class of clients.

use crate::delayed_ack::DelayedAckPolicy;
use crate::rtt::RtoLimits;
use crate::syn::SynSchedule;
use farfield_base::Duration;

/// The behaviour of one side of a connection. The profiles [`bsd`](Config::bsd), [`linux`](Config::linux) and
/// [`windows`](Config::windows) are the places to start from; [`with`](Config::with) changes what differs.
///
/// ```
/// use farfield_tcp::{Algorithm, Config};
///
/// let config = Config::linux().with(|config| config.congestion = Algorithm::Reno);
/// assert!(config.sack && config.congestion == Algorithm::Reno);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The MSS announced and the most sent, in bytes: the MTU less 40 (IPv4) or 60 (IPv6). At least 64 is
    /// used.
    pub mss: u16,
    /// The MSS of a peer that announces none: [`DEFAULT_MSS_IPV4`] or [`DEFAULT_MSS_IPV6`].
    pub default_mss: u16,
    /// The receive buffer, which bounds the window.
    pub receive_buffer: ReceiveBuffer,
    /// The most bytes kept that came out of order; what exceeds them is dropped and comes again.
    pub reassembly_max: u32,
    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 §3), and with them PAWS.
    pub timestamps: bool,
    /// Offer SACK (RFC 2018); recovery is then that of RFC 6675.
    pub sack: bool,
    /// Explicit congestion notification.
    pub ecn: EcnUse,
    /// Loss recovery where SACK is not agreed upon.
    pub recovery: LossRecovery,
    /// Congestion control.
    pub congestion: Algorithm,
    /// Growth of the congestion window below the slow start threshold.
    pub slow_start: SlowStart,
    /// Window before the first acknowledgment.
    pub initial_window: InitialWindow,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Bounds of the retransmission timeout.
    pub rto: RtoLimits,
    /// Instants at which a SYN is sent again.
    pub syn: SynSchedule,
    /// Instants at which a SYN-ACK is sent again.
    pub syn_ack: SynSchedule,
    /// R2 of RFC 9293 §3.8.3: how long unacknowledged data is tried before the connection fails.
    pub abandon_after: Option<Duration>,
    /// Delay of acknowledgments.
    pub delayed_ack: DelayedAckPolicy,
    /// Length of TIME-WAIT (2 MSL); none leaves it at once.
    pub time_wait: Duration,
    /// Wait in FIN-WAIT-2 for the peer's next data or FIN before the connection fails; `None` is for ever, as
    /// RFC 9293 has it.
    pub fin_wait_2: Option<Duration>,
}

/// RFC 9293 §3.7.1: what an IPv4 peer takes that announces no MSS, 576 less 40 bytes.
pub const DEFAULT_MSS_IPV4: u16 = 536;
/// RFC 9293 §3.7.1: what an IPv6 peer takes that announces no MSS, 1280 less 60 bytes.
pub const DEFAULT_MSS_IPV6: u16 = 1220;

/// The size of the receive buffer, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// One size for as long as the connection lives.
    Fixed(u32),
    /// Grown from the first size to the second at most, by what the application takes in a round trip.
    Auto {
        /// Bytes that are offered at first.
        initial: u32,
        /// Bytes that are offered at most.
        max: u32,
    },
}

impl ReceiveBuffer {
    /// Linux's: `tcp_rmem` is 131,072 bytes at first and 6 MiB at most (32 MiB from Linux 6.16 on). A window
    /// is half of the memory at first, and here all of it in the end.
    pub const LINUX: ReceiveBuffer = ReceiveBuffer::Auto { initial: 65_536, max: 6 << 20 };
    /// Windows' at its autotuning level "normal", which shifts windows by 8 bits.
    pub const WINDOWS: ReceiveBuffer = ReceiveBuffer::Auto { initial: 65_535, max: 65_535 << 8 };

    /// Size of the buffer at first.
    pub fn initial(self) -> u32 {
        match self {
            ReceiveBuffer::Fixed(bytes) => bytes,
            ReceiveBuffer::Auto { initial, max } => initial.min(max),
        }
    }

    /// Size of the buffer at most.
    pub fn max(self) -> u32 {
        match self {
            ReceiveBuffer::Fixed(bytes) => bytes,
            ReceiveBuffer::Auto { max, .. } => max,
        }
    }
}

/// Use of explicit congestion notification (RFC 3168); the names of Linux's `tcp_ecn` are 0, 2 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnUse {
    /// ECN is neither offered nor accepted.
    Never,
    /// ECN is accepted from a peer that offers it.
    Accept,
    /// ECN is offered, and accepted.
    Offer,
}

/// Loss recovery without SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossRecovery {
    /// Fast retransmit and fast recovery, left with the first new ACK (RFC 5681 §3.2).
    Reno,
    /// Stays until all that was outstanding is acknowledged (RFC 6582).
    NewReno,
}

/// A congestion control algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// Growth of the congestion window by an acknowledgment in slow start. Where a receiver acknowledges every
/// second segment, the window grows by half each round trip with the first, and doubles with the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlowStart {
    /// At most a segment for each ACK (RFC 5681 §3.1).
    PerAck,
    /// The bytes that it acknowledges, however many (RFC 3465 without its limit, as Linux has it).
    PerByte,
}

/// The initial congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialWindow {
    /// So many segments; stacks before RFC 3390 had one or two.
    Segments(u8),
    /// Two to four segments by the MSS (RFC 5681 §3.1).
    Rfc5681,
    /// Ten segments, bounded (RFC 6928 §2).
    Rfc6928,
}

impl InitialWindow {
    /// The window in bytes for a sender with segments of `smss` bytes.
    pub fn bytes(self, smss: u32) -> u32 {
        match self {
            InitialWindow::Segments(count) => smss * u32::from(count.max(1)),
            // RFC 5681 §3.1: SMSS > 2190: 2; > 1095: 3; else 4 segments
            InitialWindow::Rfc5681 if smss > 2190 => 2 * smss,
            InitialWindow::Rfc5681 if smss > 1095 => 3 * smss,
            InitialWindow::Rfc5681 => 4 * smss,
            // RFC 6928 §2: min (10*MSS, max (2*MSS, 14600))
            InitialWindow::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
        }
    }
}

impl Config {
    /// A 4.4BSD client, as the papers of the late 1990s measured: no options but MSS, timers of 500 and 200
    /// ms.
    pub fn bsd() -> Config {
        Config {
            mss: 1460,
            default_mss: DEFAULT_MSS_IPV4,
            receive_buffer: ReceiveBuffer::Fixed(16_384),
            reassembly_max: 16_384,
            window_scaling: false,
            timestamps: false,
            sack: false,
            ecn: EcnUse::Never,
            recovery: LossRecovery::Reno,
            congestion: Algorithm::Reno,
            slow_start: SlowStart::PerAck,
            initial_window: InitialWindow::Segments(1),
            limited_transmit: false,
            nagle: true,
            rto: RtoLimits {
                initial: Duration::from_secs(6),
                min: Duration::from_secs(1),
                max: Duration::from_secs(64),
                granularity: Duration::from_ms(500),
            },
            syn: SynSchedule::bsd(),
            syn_ack: SynSchedule::bsd(),
            abandon_after: Some(Duration::from_secs(511)),
            delayed_ack: DelayedAckPolicy {
                delay: Duration::from_ms(200),
                heartbeat: true,
                quick_segments: 0,
            },
            time_wait: Duration::from_secs(60),
            fin_wait_2: Some(Duration::from_secs(675)),
        }
    }

    /// A Linux client of today, but for RACK-TLP, PRR and HyStart (docs/accuracy.md has what they change).
    pub fn linux() -> Config {
        Config {
            mss: 1460,
            default_mss: DEFAULT_MSS_IPV4,
            receive_buffer: ReceiveBuffer::LINUX,
            reassembly_max: ReceiveBuffer::LINUX.max(),
            window_scaling: true,
            timestamps: true,
            sack: true,
            ecn: EcnUse::Accept,
            recovery: LossRecovery::NewReno,
            congestion: Algorithm::Cubic,
            slow_start: SlowStart::PerByte,
            initial_window: InitialWindow::Rfc6928,
            limited_transmit: true,
            nagle: false,
            rto: RtoLimits {
                initial: Duration::from_secs(1),
                min: Duration::from_ms(200),
                max: Duration::from_secs(120),
                granularity: Duration::from_ms(200),
            },
            syn: SynSchedule::linux(),
            syn_ack: SynSchedule::linux_syn_ack(),
            abandon_after: Some(Duration::from_secs(924)),
            delayed_ack: DelayedAckPolicy {
                delay: Duration::from_ms(40),
                heartbeat: false,
                quick_segments: 16,
            },
            time_wait: Duration::from_secs(60),
            fin_wait_2: Some(Duration::from_secs(60)),
        }
    }

    /// A Windows client: no timestamps, SYNs after 3 and 9 s. Its receive buffer grows as Linux's does.
    pub fn windows() -> Config {
        Config {
            receive_buffer: ReceiveBuffer::WINDOWS,
            reassembly_max: ReceiveBuffer::WINDOWS.max(),
            timestamps: false,
            slow_start: SlowStart::PerAck,
            rto: RtoLimits {
                initial: Duration::from_secs(3),
                min: Duration::from_ms(300),
                max: Duration::from_secs(120),
                granularity: Duration::from_ms(10),
            },
            syn: SynSchedule::windows(),
            syn_ack: SynSchedule::windows(),
            abandon_after: Some(Duration::from_secs(93)),
            delayed_ack: DelayedAckPolicy {
                delay: Duration::from_ms(200),
                heartbeat: false,
                quick_segments: 0,
            },
            time_wait: Duration::from_secs(120),
            fin_wait_2: Some(Duration::from_secs(120)),
            ..Config::linux()
        }
    }

    /// The configuration with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Config {
        change(&mut self);
        self
    }

    /// The shift that lets 16 bits name the whole receive buffer, however far it grows (RFC 7323 §2.3: at
    /// most 14).
    pub(crate) fn window_shift(&self) -> u8 {
        (0..14).find(|shift| self.receive_buffer.max() >> shift <= u32::from(u16::MAX)).unwrap_or(14)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_of_the_rfcs() {
        assert_eq!(InitialWindow::Rfc6928.bytes(1460), 14_600);
        assert_eq!(InitialWindow::Rfc6928.bytes(536), 5_360);
        assert_eq!(InitialWindow::Rfc6928.bytes(8_960), 17_920);
        assert_eq!(InitialWindow::Rfc5681.bytes(1460), 4_380);
        assert_eq!(InitialWindow::Rfc5681.bytes(536), 2_144);
    }

    #[test]
    fn the_shift_names_the_whole_buffer() {
        let of = |receive_buffer| Config { receive_buffer, ..Config::linux() }.window_shift();
        let fixed = |bytes| of(ReceiveBuffer::Fixed(bytes));
        assert_eq!((fixed(65_535), fixed(65_536), fixed(1 << 20), fixed(u32::MAX)), (0, 1, 5, 14));
        // Shifts in SYNs of Linux and Windows
        assert_eq!((of(ReceiveBuffer::LINUX), of(ReceiveBuffer::WINDOWS)), (7, 8));
    }
}
