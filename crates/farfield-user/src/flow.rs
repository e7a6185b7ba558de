//! Flows: users of several kinds side by side, each kind with its load and what it asks for.
//!
//! Each flow is a crowd of its own that knows nothing of the others, and what its users do depends on the
//! run's seed, the flow's name and their numbers in it alone: a flow that is added, left out or moved changes
//! no other one's draws. Towards the transport, and in samples, the numbers of all flows are those of one
//! population:
//!
//! - users by ranges: those of closed loads first, in the order of the flows, then [`ARRIVALS`] for each
//!   load whose users arrive;
//! - requests and states of sessions by ranges, in the order of the flows;
//! - slots of connections and users, and sessions, interleaved: number n of flow f of F is nF + f.
//!
//! Connections are numbered by the run from the beginning.

use crate::itinerary::Itinerary;
use crate::slots::{ConnectionSlot, FlowNumber, UserSlot};
use crate::transport::{ConnectionKey, Wake};
use farfield_base::random::Seed;
use farfield_base::{Note, Sample, SessionFailure};
use farfield_traffic::load::LoadModel;
use std::ops::Range;

/// Numbers that users of a flow have who arrive; those of more arrivals run into the next flow's.
const ARRIVALS: u32 = 1 << 27;

/// Users of one kind.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Name of the flow; empty where users are of one kind, without one.
    pub name: Box<str>,
    /// When its users act.
    pub load: LoadModel,
    /// Requests of the flow's users.
    pub itinerary: Itinerary,
}

impl Flow {
    /// Flows of a run at most.
    pub const MOST: usize = 16;

    /// The one flow of a run.
    pub fn only(load: LoadModel, itinerary: Itinerary) -> Vec<Flow> {
        vec![Flow { name: Box::default(), load, itinerary }]
    }

    /// A copy in memory of its own, so that workers do not meet on reference counts.
    pub fn for_worker(&self) -> Flow {
        let Flow { name, load, itinerary } = self;
        Flow { name: name.clone(), load: load.clone(), itinerary: itinerary.for_worker() }
    }

    /// The numbers of the requests of each of `flows`, in samples.
    pub fn requests(flows: &[Flow]) -> Vec<Range<u32>> {
        let mut next = 0;
        let range = |flow: &Flow| {
            let first = next;
            next += flow.itinerary.requests();
            first..next
        };
        flows.iter().map(range).collect()
    }

    /// The names of the states of sessions, by number, each behind the name of its flow, if it has
    /// one; and for each flow that has some the number of its first request, which is of its first state.
    pub fn states(flows: &[Flow]) -> (Vec<String>, Vec<(u32, usize)>) {
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for (flow, requests) in flows.iter().zip(Flow::requests(flows)) {
            let own = flow.itinerary.states();
            places.push((requests.start, own.len()));
            names.extend(own.into_iter().map(|state| match flow.name.is_empty() {
                true => state,
                false => format!("{}/{state}", flow.name),
            }));
        }
        (names, places)
    }

    /// The targets of the requests of all flows, by their numbers; none where these are of sessions of
    /// states.
    pub fn targets(flows: &[Flow]) -> impl Iterator<Item = Option<&str>> {
        flows.iter().flat_map(|flow| {
            let without = match &flow.itinerary {
                Itinerary::Sessions(_) => flow.itinerary.requests(),
                Itinerary::Pages(_) | Itinerary::Replays(_) => 0,
            };
            flow.itinerary.targets().map(Some).chain((0..without).map(|_| None))
        })
    }
}

/// The place of a flow among those of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The flow's number, from 0.
    number: u32,
    /// The number of flows.
    flows: u32,
    /// The number of its first user.
    pub first_user: u32,
    /// The number of its first request.
    first_request: u32,
    /// The number of its first state.
    first_state: u16,
}

impl Tag {
    /// The tags of all flows of a run.
    pub fn of_all(flows: &[Flow]) -> Vec<Tag> {
        let count = |flow: &Flow| match &flow.load {
            LoadModel::Closed { users, .. } => Some(users.get()),
            LoadModel::Open { .. } | LoadModel::Hybrid { .. } | LoadModel::Overload(_) => None,
        };
        let mut next_closed = 0;
        let mut next_arriving = flows.iter().filter_map(count).sum::<u32>();
        let mut next_state: u16 = 0;
        let tag = |(number, (flow, requests)): (usize, (&Flow, Range<u32>))| {
            let (next, users) = match count(flow) {
                Some(users) => (&mut next_closed, users),
                None => (&mut next_arriving, ARRIVALS),
            };
            let first_user = *next;
            *next = next.wrapping_add(users);
            let first_state = next_state;
            next_state = next_state.saturating_add(flow.itinerary.states().len() as u16);
            let (number, flows) = (number as u32, flows.len() as u32);
            Tag { number, flows, first_user, first_request: requests.start, first_state }
        };
        flows.iter().zip(Flow::requests(flows)).enumerate().map(tag).collect()
    }

    /// The seed of the flow of this name. One without a name has the run's.
    pub fn seed(self, run: Seed, name: &str) -> Seed {
        if name.is_empty() { run } else { run.of(name) }
    }

    /// The flow of `flows` that `number` belongs to, and its own number there.
    pub fn apart(number: u32, flows: u32) -> (usize, u32) {
        match flows {
            1 => (0, number),
            _ => ((number % flows) as usize, number / flows),
        }
    }

    /// The number by which connections of worker `worker` of `workers` begin, and the distance between them.
    pub fn serials(self, worker: u32, workers: u32) -> (u32, u32) {
        (worker * self.flows + self.number, workers * self.flows)
    }

    fn together(self, own: u32) -> u32 {
        own.wrapping_mul(self.flows).wrapping_add(self.number)
    }

    /// The user's number in the run.
    pub fn user(self, own: u32) -> u32 {
        own.wrapping_add(self.first_user)
    }

    /// The key of a connection by which the transport knows it.
    pub fn key(self, own: ConnectionKey) -> ConnectionKey {
        ConnectionKey { slot: ConnectionSlot::new(self.together(own.slot.get())), ..own }
    }

    /// The wake as the transport keeps it.
    pub fn wake(self, own: Wake) -> Wake {
        let slot = |slot: UserSlot| UserSlot::new(self.together(slot.get()));
        let number = FlowNumber(self.number as u8);
        match own {
            Wake::Load { item, turn } => Wake::Load { item: self.together(item), turn },
            Wake::Start { user } => Wake::Start { user: self.together(user) },
            Wake::Think { slot: own, turn } => Wake::Think { slot: slot(own), turn },
            Wake::Off { slot: own, turn } => Wake::Off { slot: slot(own), turn },
            Wake::Resume { slot: own, turn } => Wake::Resume { slot: slot(own), turn },
            Wake::Deadline(_) => Wake::Deadline(number),
            Wake::Unanswered(_) => Wake::Unanswered(number),
            Wake::Idle(_) => Wake::Idle(number),
            Wake::Quic(key) => Wake::Quic(self.key(key)),
            Wake::Alternative(key) => Wake::Alternative(self.key(key)),
            Wake::Leave(key) => Wake::Leave(self.key(key)),
            Wake::Continue(key) => Wake::Continue(self.key(key)),
        }
    }

    /// The sample with the run's numbers.
    pub fn sample(self, mut own: Sample) -> Sample {
        own.user = self.user(own.user);
        own.request = self.request(own.request);
        own.session = self.session(own.session);
        own
    }

    /// The note with the run's numbers.
    pub fn note(self, mut own: Note) -> Note {
        let state = |state: u16| state.saturating_add(self.first_state);
        match &mut own {
            Note::Begun(begin) => {
                (begin.user, begin.session) = (self.user(begin.user), self.session(begin.session));
            }
            Note::Ended(end) => {
                let begin = &mut end.begin;
                (begin.user, begin.session) = (self.user(begin.user), self.session(begin.session));
                end.broken_off = end.broken_off.map(state);
            }
            Note::Failed(failure) => {
                failure.user = self.user(failure.user);
                failure.session = self.session(failure.session);
                if failure.state != SessionFailure::NO_STATE {
                    failure.state = state(failure.state);
                }
            }
            Note::Event(event) => {
                (event.user, event.request) = (self.user(event.user), self.request(event.request));
            }
        }
        own
    }

    fn request(self, own: u32) -> u32 {
        own.wrapping_add(self.first_request)
    }

    fn session(self, own: u32) -> u32 {
        if own == Sample::NO_SESSION { own } else { self.together(own) }
    }
}

/// The flow that a wake belongs to, of `flows`, and the wake as that flow knows it.
pub(crate) fn wake_apart(wake: Wake, flows: u32) -> (usize, Wake) {
    let slot = |slot: UserSlot| {
        let (flow, own) = Tag::apart(slot.get(), flows);
        (flow, UserSlot::new(own))
    };
    match wake {
        Wake::Load { item, turn } => {
            let (flow, item) = Tag::apart(item, flows);
            (flow, Wake::Load { item, turn })
        }
        Wake::Start { user } => {
            let (flow, user) = Tag::apart(user, flows);
            (flow, Wake::Start { user })
        }
        Wake::Think { slot: at, turn } => {
            let (flow, slot) = slot(at);
            (flow, Wake::Think { slot, turn })
        }
        Wake::Off { slot: at, turn } => {
            let (flow, slot) = slot(at);
            (flow, Wake::Off { slot, turn })
        }
        Wake::Resume { slot: at, turn } => {
            let (flow, slot) = slot(at);
            (flow, Wake::Resume { slot, turn })
        }
        Wake::Deadline(flow) | Wake::Unanswered(flow) | Wake::Idle(flow) => (usize::from(flow.0), wake),
        Wake::Quic(key) => of_key(key, flows, Wake::Quic),
        Wake::Alternative(key) => of_key(key, flows, Wake::Alternative),
        Wake::Leave(key) => of_key(key, flows, Wake::Leave),
        Wake::Continue(key) => of_key(key, flows, Wake::Continue),
    }
}

/// The flow that a connection belongs to, of `flows`, and the key by which that flow knows it.
pub(crate) fn key_apart(key: ConnectionKey, flows: u32) -> (usize, ConnectionKey) {
    let (flow, slot) = Tag::apart(key.slot.get(), flows);
    (flow, ConnectionKey { slot: ConnectionSlot::new(slot), ..key })
}

fn of_key(key: ConnectionKey, flows: u32, wake: fn(ConnectionKey) -> Wake) -> (usize, Wake) {
    let (flow, key) = key_apart(key, flows);
    (flow, wake(key))
}
