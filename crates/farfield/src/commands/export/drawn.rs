//! The sessions that a scenario draws: its users meet a server that answers at once.
//!
//! The users are those of a run, with the same seed and the same random streams, so what they ask for, and
//! when sessions begin, is what `farfield run` makes of the scenario. Only the replies take no time: then a
//! user's think times are the differences between its pages.

use bytes::Bytes;
use farfield_base::{Duration, HostNumber, Instant, Outcome, PagePart, Sample, Window};
use farfield_engine::RunSettings;
use farfield_traffic::load::LoadModel;
use farfield_user::{
    ConnectionKey, EventPolicy, Flow, Itinerary, LoadEnd, Plan, Policy, Population, Transport, UserSettings,
    Wake,
};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// Longer than any session.
const TO_THE_END: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// The server's one reply.
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// A session: one visitor's pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnSession {
    /// The visitor's number, as in samples.
    pub user: u32,
    /// The instant at which it begins.
    pub begins: Instant,
    pub pages: Vec<DrawnPage>,
}

/// A page: what is asked for first, and what follows from its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnPage {
    /// The instant at which it is due.
    due: Instant,
    /// The think time behind it; `None` for the session's last page.
    pub think: Option<Duration>,
    /// At least one; the others are what the first embeds.
    pub requests: Vec<DrawnRequest>,
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnRequest {
    pub method: String,
    /// The target, such as `/a?b=c`.
    pub target: String,
    pub body: Vec<u8>,
}

/// The reason why no sessions can be drawn without a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undrawable {
    /// Users of a closed load come back when they are answered.
    #[error(
        "a closed load has no arrivals: when its users ask depends on the server's replies; write a load of the model \
         \"open\" or \"hybrid\""
    )]
    Closed,
    /// The attempts of an S-Client.
    #[error(
        "the overload model makes attempts to connect, and no sessions; write a load of the model \"open\" or \"hybrid\""
    )]
    Overload,
    /// Requests of a session's states follow from replies.
    #[error(
        "what a [session] of states asks for depends on the replies before; list its requests under [requests]"
    )]
    States,
    /// Files of other programs have one server.
    #[error(
        "requests are for several hosts, and an exported session is for one; leave out [[host]], and URLs of other servers"
    )]
    Hosts,
}

/// The sessions that begin in the run of `settings`, in order of their beginning, each to its end, without a
/// limit on users at once.
///
/// # Errors
/// If they depend on replies.
pub fn sessions(settings: &RunSettings) -> Result<Vec<DrawnSession>, Undrawable> {
    if !settings.hosts.is_empty() {
        return Err(Undrawable::Hosts);
    }
    let mut flows: Vec<Flow> = settings.flows.iter().map(Flow::for_worker).collect();
    for flow in &mut flows {
        if matches!(flow.itinerary, Itinerary::Sessions(_)) {
            return Err(Undrawable::States);
        }
        match &mut flow.load {
            LoadModel::Open { users_max, .. } | LoadModel::Hybrid { users_max, .. } => *users_max = None,
            LoadModel::Closed { .. } => return Err(Undrawable::Closed),
            LoadModel::Overload(_) => return Err(Undrawable::Overload),
        }
    }
    let window = Window {
        measure_from: Instant::ZERO,
        measure_to: Instant::ZERO + settings.warm_up + settings.duration,
    };
    let mut population = Population::new(Plan {
        flows,
        users: UserSettings {
            // One after the other: what a page embeds comes in its order.
            events: EventPolicy::default(),
            policy: Policy {
                parallel: NonZeroU16::MIN,
                requests_per_connection: None,
                // A request is drawn with its content.
                expect_timeout: Duration::ZERO,
                ..settings.users.policy.clone()
            },
            end: LoadEnd { finish: TO_THE_END, ..settings.users.end },
            ..settings.users
        },
        // Its server is made up, and nothing is sent.
        tls: Vec::new(),
        worker: 0,
        workers: 1,
        window,
    });
    let mut server = InstantServer::default();
    population.start(&mut server);
    while let Some(((at, _), event)) = server.events.pop_first() {
        server.now = at;
        match event {
            DrawnEvent::Wake(
                Wake::Deadline(_)
                | Wake::Idle(_)
                | Wake::Unanswered(_)
                | Wake::Quic(_)
                | Wake::Alternative(_)
                | Wake::Continue(_),
            ) => {}
            DrawnEvent::Wake(wake) => population.handle_wake(&mut server, at, at, wake),
            DrawnEvent::Connected(key) => population.handle_connected(&mut server, at, key),
            DrawnEvent::Replied(key) => population.handle_received(&mut server, at, key, REPLY),
        }
    }
    Ok(server.drawn())
}

#[derive(Debug)]
enum DrawnEvent {
    Wake(Wake),
    Connected(ConnectionKey),
    Replied(ConnectionKey),
}

/// A server, and a path to it, that take no time.
#[derive(Debug, Default)]
struct InstantServer {
    now: Instant,
    /// By instant, and in the order of their making.
    events: BTreeMap<(Instant, u64), DrawnEvent>,
    made: u64,
    /// Requests that were sent and are not over, by connection, in order.
    sent: BTreeMap<u32, Vec<Bytes>>,
    /// Requests that are over, with their bytes.
    over: Vec<(Sample, Bytes)>,
}

impl InstantServer {
    fn schedule(&mut self, at: Instant, event: DrawnEvent) {
        self.made += 1;
        self.events.insert((at.max(self.now), self.made), event);
    }

    /// The requests that were made, as sessions.
    fn drawn(self) -> Vec<DrawnSession> {
        let mut sessions: BTreeMap<u32, DrawnSession> = BTreeMap::new();
        for (sample, bytes) in self.over {
            let begins_page = matches!(sample.page, PagePart::Untracked | PagePart::Begins | PagePart::Whole);
            let session = sessions.entry(sample.user).or_insert_with(|| DrawnSession {
                user: sample.user,
                begins: sample.due,
                pages: Vec::new(),
            });
            if begins_page || session.pages.is_empty() {
                if let Some(before) = session.pages.last_mut() {
                    before.think = Some(sample.due.since(before.due));
                }
                session.pages.push(DrawnPage { due: sample.due, think: None, requests: Vec::new() });
            }
            let page = session.pages.last_mut().expect("a page has begun");
            // Objects that a page embeds may be due later.
            page.due = page.due.max(sample.due);
            page.requests.push(DrawnRequest::read(&bytes));
        }
        let mut sessions: Vec<DrawnSession> = sessions.into_values().collect();
        sessions.sort_by_key(|session| (session.begins, session.user));
        sessions
    }
}

impl DrawnRequest {
    /// Reads a request that was written for a server.
    fn read(bytes: &[u8]) -> DrawnRequest {
        let head_end = bytes.windows(4).position(|end| end == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        let (head, body) = bytes.split_at(head_end);
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        DrawnRequest { method: word(), target: word(), body: body.to_vec() }
    }
}

impl Transport for InstantServer {
    fn connect(&mut self, key: ConnectionKey, _user: u32, _host: HostNumber) -> Instant {
        self.schedule(self.now, DrawnEvent::Connected(key));
        self.now
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        self.sent.entry(key.serial).or_default().push(bytes.clone());
        self.schedule(self.now, DrawnEvent::Replied(key));
        self.now
    }

    fn close(&mut self, key: ConnectionKey) {
        self.sent.remove(&key.serial);
    }

    fn abandon(&mut self, key: ConnectionKey) {
        self.close(key);
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        self.schedule(at, DrawnEvent::Wake(wake));
    }

    fn record(&mut self, sample: Sample) {
        let sent = self.sent.get_mut(&sample.connection).filter(|sent| !sent.is_empty());
        if let (Outcome::Ok, Some(sent)) = (sample.outcome, sent) {
            let bytes = sent.remove(0);
            self.over.push((sample, bytes));
        }
    }
}
