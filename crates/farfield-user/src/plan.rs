//! The plan of a population: the load, the itinerary, and the limits that its users keep.

use crate::event_policy::EventPolicy;
use crate::itinerary::Itinerary;
use crate::policy::Policy;
use farfield_base::random::Seed;
use farfield_base::{Duration, Window};
use farfield_http::tls;
use farfield_traffic::load::LoadModel;

/// The parameters of a population.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The model of load: when users act.
    pub load: LoadModel,
    /// The itinerary of users.
    pub itinerary: Itinerary,
    /// The policy of their connections.
    pub policy: Policy,
    /// The policy towards replies that come in pieces.
    pub events: EventPolicy,
    /// TLS of their connections; absent where the scheme is http.
    pub tls: Option<tls::Sessions>,
    /// The seed of all random streams.
    pub seed: Seed,
    /// This worker's number, from 0.
    pub worker: u32,
    /// The number of workers that share the load.
    pub workers: u32,
    /// The measured part of the run.
    pub window: Window,
    /// Requests after which this worker's users begin no more pages.
    pub requests_max: Option<u64>,
    /// The number of sessions, and whether those that are open at the end of the load may finish.
    pub sessions: SessionLimits,
}

/// Limits of the sessions of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionLimits {
    /// Sessions of all workers together after which no more are begun.
    pub most: Option<u64>,
    /// The longest time that sessions which are open at the end of the load may go on.
    pub finish: Duration,
}
