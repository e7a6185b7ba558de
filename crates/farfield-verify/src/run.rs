//! Record of a run by itself: its clock, its connections, its summary, and what its scenario asked for.
//!
//! All of it is plain data that a caller reads from a run directory. Nothing here is believed: it is held
//! against the packets.

use crate::paths::PathDelay;
use crate::set_aside::SetAside;
use farfield_base::random::Seed;
use farfield_base::{Instant, Opened, Part, ReplyEvent, Window};
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

/// Demands of a scenario: loads, seed, connection policy and mixes.
#[derive(Debug, Clone)]
pub struct ScenarioDemands {
    /// The flows of users, one at least.
    pub flows: Vec<AskedFlow>,
    /// Names and, where they are known, URLs of the hosts that users ask; none where they ask one alone.
    pub hosts: Vec<(String, Option<String>)>,
    /// Names and ports of these hosts, as requests for them have them, where no request says another; none
    /// where users ask one alone.
    pub authorities: Vec<Option<String>>,
    /// The part of the run whose samples these are.
    pub part: Part,
    /// The seed.
    pub seed: Seed,
    /// The connection policy.
    pub policy: AskedPolicy,
    /// The longest gap in the midst of a reply that is no stall, in nanoseconds.
    pub stall_ns: u64,
    /// The paths between clients and gateway, by class, where these are delays and nothing else, in virtual
    /// time; empty where they are more.
    pub paths: Vec<PathDelay>,
}

/// Demands on the users of one flow.
#[derive(Debug, Clone)]
pub struct AskedFlow {
    /// The flow's name; empty where users are of one kind, without one.
    pub name: String,
    /// The model of load.
    pub load: LoadModel,
    /// The scenario's sessions have think times and lengths of their own, so that those of the model of load
    /// say nothing.
    pub own_sessions: bool,
    /// Shares of the requests of the request set, in order; empty where they depend on replies or pages.
    pub mix: Vec<f64>,
    /// The number of its requests that samples distinguish, behind those of the flows before it.
    pub requests: u32,
}

/// The place of a flow in the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowPlace {
    pub first_request: u32,
    pub requests: u32,
    /// The number of its first user.
    pub first_user: u32,
}

impl FlowPlace {
    /// All of the samples.
    pub const WHOLE: FlowPlace = FlowPlace { first_request: 0, requests: u32::MAX, first_user: 0 };

    /// True if a request of this number is the flow's.
    pub fn has(self, request: u32) -> bool {
        request.checked_sub(self.first_request).is_some_and(|nth| nth < self.requests)
    }
}

impl ScenarioDemands {
    /// The load of users who are of one kind, without a name.
    pub(crate) fn only_load(&self) -> Option<&LoadModel> {
        match &self.flows[..] {
            [only] if only.name.is_empty() => Some(&only.load),
            _ => None,
        }
    }

    /// True if sessions of a flow arrive.
    pub(crate) fn has_hybrid_flow(&self) -> bool {
        self.flows.iter().any(|flow| flow.load.has_session_arrivals())
    }

    /// The seed of a flow, from which what was asked of it is drawn again.
    pub(crate) fn seed_of(&self, flow: &AskedFlow) -> Seed {
        if flow.name.is_empty() { self.seed } else { self.seed.of(&flow.name) }
    }

    /// The place of each flow: requests one behind another, users of closed loads one behind another, and
    /// behind all of these 2²⁷ numbers for each load whose users arrive.
    pub(crate) fn places(&self) -> Vec<FlowPlace> {
        if let [_] = &self.flows[..] {
            return vec![FlowPlace::WHOLE];
        }
        let closed = |flow: &AskedFlow| match &flow.load {
            LoadModel::Closed { users, .. } => Some(users.get()),
            _ => None,
        };
        let place = |(nth, flow): (usize, &AskedFlow)| {
            let before = &self.flows[..nth];
            let users_before: u32 = before.iter().filter_map(closed).sum();
            let all_closed: u32 = self.flows.iter().filter_map(closed).sum();
            let arriving = before.iter().filter(|flow| closed(flow).is_none()).count() as u32;
            FlowPlace {
                first_request: before.iter().map(|flow| flow.requests).sum(),
                requests: flow.requests,
                first_user: match closed(flow) {
                    Some(_) => users_before,
                    None => all_closed.wrapping_add(arriving << 27),
                },
            }
        };
        self.flows.iter().enumerate().map(place).collect()
    }
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
