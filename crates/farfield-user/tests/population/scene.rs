//! A stage for users in virtual time: a transport that keeps a wheel, and a server that follows its script.
//!
//! The server answers each request `service` after it came, on as many connections as there are; the path
//! takes `rtt` for a round trip. What else it does is set with the scene.

use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Duration, HostNumber, Instant, LoadCounts, Note, Outcome, Sample, Window};
use farfield_net::Wheel;
use farfield_traffic::load::LoadModel;
use farfield_traffic::request::RequestSet;
use farfield_traffic::session::replay::{Replay, ReplaySpec};
use farfield_traffic::session::{Session, SessionSpec};
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::HttpVersion;
use farfield_user::{
    Backlog, ConnectionKey, EventPolicy, Failure, Flow, Itinerary, LoadEnd, Plan, Policy, Population, Target,
    Transport, UserSettings, Wake,
};
use std::collections::BTreeMap;

/// A server and its behaviour.
#[derive(Debug, Clone)]
pub struct Server {
    pub rtt: Duration,
    pub service: Duration,
    /// It never answers a SYN.
    pub deaf: bool,
    /// It answers SYNs and never a request.
    pub mute: bool,
    /// It refuses connections.
    pub refuses: bool,
    /// Replies on a connection after which it closes; the last says so.
    pub replies_a_connection: Option<u32>,
    /// Replies after which it closes without having said so.
    pub closes_silently_after: Option<u32>,
    pub reply: &'static str,
    /// The reply to a request, where they are not all alike; each character is a byte.
    pub script: Option<fn(&str) -> String>,
    /// Bytes of the pieces that a reply comes in, at instants a millisecond apart; whole if absent.
    pub pieces: Option<usize>,
    /// The piece, from 0, before which it pauses for longer, and for how much.
    pub stall: Option<(usize, Duration)>,
    /// Pieces of a reply that it sends; all if absent.
    pub pieces_most: Option<usize>,
    /// Bytes behind each reply that no request asked for, and the delay after it; at once in the reply's own
    /// piece.
    pub behind: Option<(Duration, &'static str)>,
    /// It resets the connection behind each reply.
    pub resets: bool,
    /// Bytes that it sends on a new connection before it is asked; they arrive a microsecond before the
    /// client sends.
    pub greeting: Option<&'static str>,
    /// It reads no frame of a WebSocket: they wait in the transport.
    pub reads_no_frames: bool,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            rtt: Duration::from_ms(10),
            service: Duration::from_ms(5),
            deaf: false,
            mute: false,
            refuses: false,
            replies_a_connection: None,
            closes_silently_after: None,
            reply: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            script: None,
            pieces: None,
            stall: None,
            pieces_most: None,
            behind: None,
            resets: false,
            greeting: None,
            reads_no_frames: false,
        }
    }
}

enum Event {
    Wake(Wake),
    Connected(ConnectionKey),
    Bytes(ConnectionKey, Vec<u8>, bool),
    Closed(ConnectionKey),
    Failed(ConnectionKey, Failure),
}

#[derive(Default)]
struct Wire {
    /// Instant from which the server is free to answer the next request on this connection.
    free_at: Instant,
    replies: u32,
    closed: bool,
}

pub struct Stage {
    pub now: Instant,
    pub samples: Vec<Sample>,
    pub notes: Vec<Note>,
    pub attempts: Vec<Instant>,
    pub counts: LoadCounts,
    pub abandoned: usize,
    pub closed_by_client: usize,
    pub open_most: usize,
    /// Requests written on each connection, by its serial.
    pub requests: BTreeMap<u32, u32>,
    /// The most requests on the way at once on one connection.
    pub depth_most: usize,
    /// The host that each connection leads to, by its serial.
    pub leads_to: BTreeMap<u32, HostNumber>,
    /// Requests that were sent: instant, serial of the connection, and text.
    pub sent: Vec<(Instant, u32, String)>,
    /// Bytes of frames that wait in the transport, by the serial of their connection.
    pub kept: BTreeMap<u32, u64>,
    machines: u32,
    server: Server,
    wheel: Wheel<Event>,
    wires: BTreeMap<u32, Wire>,
    waiting: BTreeMap<u32, usize>,
}

impl Stage {
    fn half_trip(&self) -> Duration {
        Duration::from_ns(self.server.rtt.as_ns() / 2)
    }

    fn answer(&mut self, key: ConnectionKey, request: &str) {
        let arrives = self.now + self.half_trip();
        let (server, half) = (self.server.clone(), self.half_trip());
        let wire = self.wires.get_mut(&key.serial).expect("requests go on open connections");
        if wire.closed || server.mute {
            return;
        }
        if server.closes_silently_after == Some(wire.replies) {
            wire.closed = true;
            self.wheel.schedule(arrives + half, Event::Closed(key));
            return;
        }
        wire.free_at = wire.free_at.max(arrives) + server.service;
        wire.replies += 1;
        let last = server.replies_a_connection == Some(wire.replies);
        wire.closed = last;
        let back = wire.free_at + half;
        let reply = server.script.map_or_else(|| server.reply.to_owned(), |script| script(request));
        let reply = match last {
            true => reply.replacen("\r\n", "\r\nConnection: close\r\n", 1),
            false => reply,
        };
        let mut reply: Vec<u8> = reply.chars().map(|byte| u8::try_from(byte).expect("a byte")).collect();
        match server.behind {
            Some((Duration::ZERO, more)) => reply.extend_from_slice(more.as_bytes()),
            Some((later, more)) => {
                let event = Event::Bytes(key, more.into(), false);
                self.wheel.schedule(back + later, event);
            }
            None => {}
        }
        let pieces = reply.chunks(server.pieces.unwrap_or(usize::MAX));
        for (number, piece) in pieces.enumerate().take(server.pieces_most.unwrap_or(usize::MAX)) {
            let event = Event::Bytes(key, piece.to_vec(), server.resets);
            let stall = server.stall.filter(|(before, _)| number >= *before).map(|(_, longer)| longer);
            self.wheel.schedule(back + ms(number as u64) + stall.unwrap_or_default(), event);
        }
        if server.resets {
            self.wires.get_mut(&key.serial).expect("it is there").closed = true;
            self.wheel.schedule(back, Event::Failed(key, Failure::Reset));
        }
        if last {
            self.wheel.schedule(back, Event::Closed(key));
        }
    }
}

impl Stage {
    /// A frame of a WebSocket is sent: the server's script gets it as `frame OPCODE PAYLOAD`, and answers
    /// with bytes, or none.
    fn send_frame(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        let (opcode, length) = (bytes[0] & 15, usize::from(bytes[1] & 0x7f));
        assert!(bytes[0] & 0xf0 == 0x80 && bytes[1] >= 0x80, "a whole frame, masked");
        let (length, mask_at) = match length {
            126 => (usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), 4),
            short => (short, 2),
        };
        let (mask, payload) = bytes[mask_at..].split_at(4);
        assert_eq!(payload.len(), length, "one whole frame is sent at a time");
        let payload: Vec<u8> =
            payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        let text =
            format!("frame {opcode} {}", payload.iter().map(|byte| char::from(*byte)).collect::<String>());
        if self.server.reads_no_frames {
            *self.kept.entry(key.serial).or_default() += bytes.len() as u64;
        } else {
            *self.waiting.entry(key.serial).or_default() += 1;
            self.answer(key, &text);
        }
        self.sent.push((self.now, key.serial, text));
        self.now
    }
}

impl Transport for Stage {
    fn machine_of(&self, user: u32) -> u32 {
        user % self.machines
    }

    fn connect(&mut self, key: ConnectionKey, _user: u32, host: HostNumber) -> Instant {
        self.attempts.push(self.now);
        self.leads_to.insert(key.serial, host);
        self.wires.insert(key.serial, Wire::default());
        self.open_most = self.open_most.max(self.wires.len());
        if self.server.refuses {
            self.wheel.schedule(self.now + self.server.rtt, Event::Failed(key, Failure::Refused));
        } else if !self.server.deaf {
            self.wheel.schedule(self.now + self.server.rtt, Event::Connected(key));
        }
        self.now
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        if bytes[0] >= 0x80 {
            return self.send_frame(key, bytes);
        }
        let request = std::str::from_utf8(bytes).expect("requests are in ASCII").to_owned();
        let (head, body) = request.split_once("\r\n\r\n").expect("a head");
        let length =
            head.split("Content-Length: ").nth(1).map_or("0", |rest| rest.lines().next().unwrap_or("0"));
        assert_eq!(length, body.len().to_string(), "one whole request is sent at a time");
        *self.requests.entry(key.serial).or_default() += 1;
        let waiting = self.waiting.entry(key.serial).or_default();
        *waiting += 1;
        self.depth_most = self.depth_most.max(*waiting);
        self.answer(key, &request);
        self.sent.push((self.now, key.serial, request));
        self.now
    }

    fn backlog(&self, key: ConnectionKey) -> Backlog {
        let kept = self.kept.get(&key.serial).copied().unwrap_or_default();
        Backlog { handed: kept, kept }
    }

    fn close(&mut self, key: ConnectionKey) {
        self.closed_by_client += 1;
        self.wires.remove(&key.serial);
    }

    fn abandon(&mut self, key: ConnectionKey) {
        self.abandoned += 1;
        self.wires.remove(&key.serial);
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        self.wheel.schedule(at, Event::Wake(wake));
    }

    fn record(&mut self, sample: Sample) {
        assert!(sample.is_ordered(), "{sample:?}");
        self.samples.push(sample);
    }

    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }
}

/// A scene to play: a load, requests, a policy and a server.
pub struct Scene {
    pub load: LoadModel,
    pub requests: RequestSet,
    /// Sessions in place of requests.
    pub session: Option<Session>,
    /// A recording in place of both.
    pub replay: Option<Replay>,
    /// Itinerary of the users, in place of all of these.
    pub itinerary: Option<Itinerary>,
    /// Name of these users among others, as a flow.
    pub name: &'static str,
    /// Flows behind this one, of which only load and itinerary matter.
    pub beside: Vec<Scene>,
    pub policy: Policy,
    pub events: EventPolicy,
    pub server: Server,
    /// Machines that users act on, in turn.
    pub machines: u32,
    pub length: Duration,
    pub requests_max: Option<u64>,
    pub end: LoadEnd,
    /// Names of hosts that users ask beside the target, over plain HTTP.
    pub hosts: Vec<&'static str>,
    /// Authorization field that the target's `user:password@` comes to.
    pub authorization: Option<String>,
    /// From here on nothing is handed to the users any more: a generator that cannot keep up.
    pub stuck_from: Instant,
    /// The worker sleeps from the one to the other, and does what was due meanwhile when it wakes.
    pub held_up: (Instant, Instant),
}

impl Scene {
    /// A load on a server that has one page, `/`.
    pub fn of(load: &str) -> Scene {
        #[derive(serde::Deserialize)]
        struct Document {
            load: LoadSpec,
        }
        let document: Document = toml::from_str(&format!("load = {load}")).expect("a load");
        Scene {
            load: document.load.resolve(&mut |_| unreachable!("no files")).expect("a load"),
            requests: requests("[[request]]\npath = '/'"),
            session: None,
            replay: None,
            itinerary: None,
            name: "",
            beside: Vec::new(),
            policy: Policy::default(),
            events: EventPolicy::default(),
            server: Server::default(),
            machines: 1,
            length: Duration::from_secs(10),
            requests_max: None,
            end: LoadEnd::default(),
            hosts: Vec::new(),
            authorization: None,
            stuck_from: Instant::MAX,
            held_up: (Instant::MAX, Instant::MAX),
        }
    }

    /// A scene with sessions, whose data is in `users.csv`.
    pub fn session(mut self, toml: &str) -> Scene {
        let spec: SessionSpec = toml::from_str(toml).unwrap_or_else(|error| panic!("{error}"));
        let mut load = |_: &std::path::Path| Ok(b"name,pass\nann,x y\nbob,&\ncat,z\n".to_vec());
        self.session = Some(spec.resolve(&mut load, Seed(1)).unwrap_or_else(|error| panic!("{error}")));
        self
    }

    /// A recording of `text`, and its own load if it says when sessions began.
    pub fn replay(name: &str, text: &str, more: &str, load: &str) -> Scene {
        let spec: ReplaySpec = toml::from_str(&format!("file = '{name}'\n{more}")).expect("a spec");
        let replay = spec.resolve(&mut |_| Ok(text.as_bytes().to_vec()), None, &[]).expect("a recording");
        let mut scene = Scene::of(load);
        if let Some(starts) = replay.sessions.iter().map(|session| session.starts).collect() {
            scene.load = LoadModel::recorded(starts);
        }
        scene.replay = Some(replay);
        scene
    }

    /// These users as a flow.
    fn flow(&self) -> Flow {
        let authorization = self.authorization.clone();
        let target = Target {
            host: "server".into(),
            version: HttpVersion::Http11,
            authorization,
            secure: false,
            proxy: None,
        };
        let beside = self.hosts.iter().map(|host| Target {
            host: (*host).to_owned(),
            authorization: None,
            ..target.clone()
        });
        let targets: Vec<Target> = std::iter::once(target.clone()).chain(beside).collect();
        let itinerary = match (&self.itinerary, &self.session, &self.replay) {
            (Some(itinerary), _, _) => Ok(itinerary.clone()),
            (None, _, Some(replay)) => Itinerary::replays(replay.clone(), &targets),
            (None, Some(session), None) => Itinerary::sessions(session.clone(), &targets),
            (None, None, None) => Itinerary::pages(self.requests.clone(), &targets),
        };
        let itinerary = itinerary.expect("requests that can be written");
        Flow { name: self.name.into(), load: self.load.clone(), itinerary }
    }

    /// The number of its requests that are distinguished.
    pub fn distinct_requests(&self) -> u32 {
        self.flow().itinerary.requests()
    }

    /// Plays it on one worker.
    pub fn play(&self) -> Stage {
        self.play_share(0, 1)
    }

    /// Plays one worker's share.
    pub fn play_share(&self, worker: u32, workers: u32) -> Stage {
        let end = Instant::ZERO + self.length;
        let flows = std::iter::once(self).chain(&self.beside).map(Scene::flow).collect();
        let mut population = Population::new(Plan {
            flows,
            users: UserSettings {
                policy: self.policy.clone(),
                events: self.events,
                seed: Seed(1),
                requests_max: self.requests_max,
                end: self.end,
            },
            tls: Vec::new(),
            worker,
            workers,
            window: Window { measure_from: Instant::ZERO, measure_to: end },
        });
        let mut stage = Stage {
            now: Instant::ZERO,
            samples: Vec::new(),
            notes: Vec::new(),
            attempts: Vec::new(),
            counts: LoadCounts::default(),
            abandoned: 0,
            closed_by_client: 0,
            open_most: 0,
            requests: BTreeMap::new(),
            depth_most: 0,
            leads_to: BTreeMap::new(),
            sent: Vec::new(),
            kept: BTreeMap::new(),
            machines: self.machines,
            server: self.server.clone(),
            wheel: Wheel::new(),
            wires: BTreeMap::new(),
            waiting: BTreeMap::new(),
        };
        population.start(&mut stage);
        while let Some((at, event)) = stage.wheel.pop_due(Instant::MAX) {
            assert!(at >= stage.now || at >= self.held_up.0, "time never goes back");
            let now = if at >= self.held_up.0 { at.max(self.held_up.1) } else { at };
            stage.now = stage.now.max(now);
            if at >= end {
                population.finish();
            }
            if at >= self.stuck_from || population.is_done() || at > end + Duration::from_secs(60) {
                break;
            }
            stage.deliver(&mut population, stage.now, at, event);
        }
        let cut_at = stage.now.max(end);
        population.cut(&mut stage, cut_at);
        stage.counts = population.counts();
        assert_eq!(population.in_system(), 0, "every request ends as a sample");
        assert_eq!(population.connections(), 0, "every connection is closed");
        stage
    }
}

impl Stage {
    fn deliver(&mut self, population: &mut Population, at: Instant, due: Instant, event: Event) {
        match event {
            Event::Wake(wake) => population.handle_wake(self, at, due, wake),
            Event::Connected(key) => {
                population.handle_connected(self, at, key);
                if let Some(greeting) = self.server.greeting {
                    let arrived = Instant::from_ns(at.as_ns() - 1_000);
                    population.handle_received(self, arrived, key, greeting.as_bytes());
                }
            }
            Event::Bytes(key, bytes, ends) => {
                if ends {
                    population.handle_ending(key);
                }
                let waiting = self.waiting.entry(key.serial).or_default();
                *waiting = waiting.saturating_sub(1);
                population.handle_received(self, at, key, &bytes);
            }
            Event::Closed(key) => population.handle_closed(self, at, key),
            Event::Failed(key, failure) => population.handle_failed(self, at, key, failure),
        }
    }

    pub fn count(&self, outcome: Outcome) -> usize {
        self.samples.iter().filter(|sample| sample.outcome == outcome).count()
    }

    pub fn ok(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.outcome == Outcome::Ok)
    }
}

pub fn requests(toml: &str) -> RequestSet {
    let spec: RequestSetSpec = toml::from_str(toml).expect("requests");
    spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests")
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}
