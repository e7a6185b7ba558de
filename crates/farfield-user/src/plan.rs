//! The plan of a population: everything that is decided before the run.

use crate::event_policy::EventPolicy;
use crate::flow::{Flow, Tag};
use crate::itinerary::Itinerary;
use crate::policy::Policy;
use crate::worker::Worker;
use farfield_base::random::Seed;
use farfield_base::{Duration, Window};
use farfield_http::tls;
use farfield_traffic::load::LoadModel;

/// Settings of all users of a run, whatever flow, plane and worker they are of.
#[derive(Debug, Clone)]
pub struct UserSettings {
    /// The policy of their connections.
    pub policy: Policy,
    /// The policy towards replies that come in pieces.
    pub events: EventPolicy,
    /// The seed of all random streams.
    pub seed: Seed,
    /// Requests of all workers together after which users begin no more pages, in each flow.
    pub requests_max: Option<u64>,
    /// The end of the load.
    pub end: LoadEnd,
}

/// The parameters of a population.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The flows of users, one at least and [`Flow::MOST`] at most.
    pub flows: Vec<Flow>,
    /// Settings of the users of all flows.
    pub users: UserSettings,
    /// TLS of the connections to each host, by its number; absent where its scheme is http.
    pub tls: Vec<Option<tls::Sessions>>,
    /// Number of the worker, from 0.
    pub worker: u32,
    /// The number of workers that share the load.
    pub workers: u32,
    /// The measured part of the run.
    pub window: Window,
}

/// The end of a load: by its sessions, or by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadEnd {
    /// Sessions of all workers together after which no more are begun.
    pub sessions: Option<u64>,
    /// Time for which the load goes on after the measured part.
    pub cool_down: Duration,
    /// The longest time that sessions which are open at the end of the load may go on.
    pub finish: Duration,
}

/// One flow of a plan, as if it were alone: the parameters of one worker's share of its users.
#[derive(Debug)]
pub(crate) struct Share {
    pub load: LoadModel,
    pub itinerary: Itinerary,
    /// Settings of its users: the seed is the flow's own, and the requests are those of this worker alone.
    pub users: UserSettings,
    pub tls: Vec<Option<tls::Sessions>>,
    pub worker: Worker,
    /// The number of this worker's first connection, and the distance from each to the next.
    pub serials: (u32, u32),
    pub window: Window,
}

impl Plan {
    /// The share of each flow, with what tells it from the others.
    ///
    /// Users are dealt out to workers by their numbers in the run, as clients of a network are: user k of a
    /// flow whose first has the number n is this worker's if n + k is.
    pub(crate) fn into_shares(self) -> Vec<(Tag, Share)> {
        let tags = Tag::of_all(&self.flows);
        let Plan { flows, users, tls, worker, workers, window } = self;
        let share = |(flow, tag): (Flow, Tag)| {
            let serials = tag.serials(worker, workers);
            let ahead = tag.first_user % workers;
            let worker = Worker { number: (worker + workers - ahead) % workers, workers };
            let own_requests = |all| worker.requests(all, flow.load.users());
            let users = UserSettings {
                seed: tag.seed(users.seed, &flow.name),
                requests_max: users.requests_max.map(own_requests),
                ..users.clone()
            };
            let Flow { load, itinerary, .. } = flow;
            (tag, Share { load, itinerary, users, tls: tls.clone(), worker, serials, window })
        };
        flows.into_iter().zip(tags).map(share).collect()
    }
}
