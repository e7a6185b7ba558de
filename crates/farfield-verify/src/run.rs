//! Record of a run by itself: its clock, its connections, its summary, and what its scenario asked for.
//!
//! All of it is plain data that a caller reads from a run directory. Nothing here is believed: it is held
//! against the packets.

use crate::paths::PathDelay;
use crate::set_aside::SetAside;
use farfield_base::random::Seed;
use farfield_base::{Instant, Opened, ReplyEvent, Window};
use farfield_traffic::LoadModel;
use serde_json::Value;

/// Contents of a run directory, beside its samples.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// The measured part.
    pub window: Window,
    /// The end of the run: no request is sent after it.
    pub end: Instant,
    /// Seconds of it that are set aside.
    pub set_aside: SetAside,
    /// The start of the run's clock by the clock of the capture.
    pub start: RunStart,
    /// The connections that the run began; without them connections are matched by the order and the
    /// instants of their handshakes.
    pub connections: Option<Vec<Opened>>,
    /// The events of replies that are streams, of a run that kept them.
    pub events: Option<Vec<ReplyEvent>>,
    /// The summary as its document stands, if it is to be judged.
    pub summary: Option<Value>,
    /// The name of the capture in the run directory; `None` of somebody else's.
    pub capture_file: Option<String>,
    /// The capture is the run's own, of all its clients, from its beginning to its end: what is not in it is
    /// missing.
    pub captures_all: bool,
    /// Packets are stamped by the run itself, by the clock of its samples: at the clients' own interfaces
    /// both have the same instants.
    pub stamps_packets: bool,
    /// Requests that were sent again on another connection, of which only the last attempt is a sample.
    pub resent: u64,
    /// Every sample was kept. Where not, packets without a sample say nothing.
    pub all_kept: bool,
    /// The network beyond the client's own interface is in the capture as well: the emulated plane's
    /// interface 0 is the gateway, where requests come later and replies are earlier than at the client.
    pub gateway_is_first: bool,
}

/// The start of the run's clock, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStart {
    /// In nanoseconds since 1970, by the clock of the capture: both were taken on one machine.
    Exact(u64),
    /// In nanoseconds since 1970, by the clock of the run's machine, which may be that of the capture:
    /// packets show whether it is.
    Claimed(u64),
    /// By another machine's clock, or not known: the relation is estimated from matched packets.
    Unknown,
}

/// Demands of a scenario: load, seed, connection policy and mix.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The model of load.
    pub load: LoadModel,
    /// The seed, from which the arrivals that were asked for are drawn again.
    pub seed: Seed,
    /// The connection policy.
    pub policy: AskedPolicy,
    /// The longest gap in the midst of a reply that is no stall, in nanoseconds.
    pub stall_ns: u64,
    /// The scenario's sessions have think times and lengths of their own, so that those of the model of load
    /// say nothing.
    pub own_sessions: bool,
    /// Shares of the requests of the request set, in order; empty where they depend on replies or pages.
    pub mix: Vec<f64>,
    /// The paths between clients and gateway, by class, where these are delays and nothing else, in virtual
    /// time; empty where they are more.
    pub paths: Vec<PathDelay>,
}

/// The connection policy that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedPolicy {
    /// Requests on one connection at most.
    pub requests_max: u32,
    /// Connections of one user at once at most.
    pub parallel: u32,
    /// Requests on the way on one connection at most.
    pub depth: u32,
    /// Users share a pool of connections, or visitors inherit those of earlier ones.
    pub shares: bool,
}
