//! A run and its capture, made up together: what users did, as samples and as packets, with known delays
//! between the two. Tests plant one error in the samples and look for its name.

#![allow(dead_code, reason = "each test program speaks a part of the vocabulary")]

use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Instant, Opened, Outcome, PagePart, Rate, Sample, Stamp, Window};
use farfield_capture::{Capture, Connection, Direction, End, Side, Transaction, TransactionState, UnixNs};
use farfield_measure::summary::SummaryContext;
use farfield_measure::{Arrivals, EngineStats, Fold, Heading, LoadKind, Summary, VerdictLimits};
use farfield_traffic::distribution::Exponential;
use farfield_traffic::load::LoadModel;
use farfield_traffic::{ArrivalProcess, ArrivalSpec, Distribution};
use farfield_verify::{
    AgreementLimits, AskedFlow, AskedPolicy, RunRecord, RunStart, ScenarioDemands, SetAside, Verification,
    Verified, verify,
};
use serde_json::Value;
use std::num::NonZeroU32;

/// The start of the run's clock.
pub const START: u64 = 1_790_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;
/// From an instant of a sample to its packet, or back, at least.
const DELAY_NS: u64 = 2_000;

/// Events of a run, seen from both sides.
#[derive(Clone)]
pub struct Scene {
    pub samples: Vec<Sample>,
    pub capture: Capture,
    pub run: RunRecord,
    pub asked: ScenarioDemands,
}

/// Random times of a scene.
struct Times {
    rng: Stream,
}

impl Times {
    /// An exponential time with this mean.
    fn exponential(&mut self, mean_ns: f64) -> u64 {
        Distribution::Exponential(Exponential::with_mean(mean_ns).expect("a mean")).sample(&mut self.rng)
            as u64
    }

    /// The time between an instant of a sample and its packet.
    fn delay(&mut self) -> u64 {
        DELAY_NS + self.exponential(2_000.0)
    }

    /// The time that the server takes: 1 ms and, rarely, much more.
    fn service(&mut self) -> u64 {
        1_000_000 + self.exponential(400_000.0)
    }
}

/// The rate of an open scene.
pub const RATE: f64 = 500.0;

/// Arrivals of a Poisson process for 8 s, each with a connection of its own; measured from 1 s on.
pub fn open() -> Scene {
    let seed = Seed(31);
    let rate = Rate::per_second(RATE).expect("a rate");
    let process = ArrivalSpec::poisson(rate).expect("valid").resolve(&mut |_| unreachable!("no file"));
    let process: ArrivalProcess = process.expect("no file");
    let arrivals = process.start(seed.stream(Purpose::Arrivals, 0));
    let mut scene = Scene::empty(LoadModel::Open { arrivals: process, users_max: None }, seed, 1);
    let mut times = Times { rng: seed.stream(Purpose::User, 7) };
    for (number, due) in arrivals.take_while(|at| *at < Instant::from_ns(8 * SECOND)).enumerate() {
        let number = number as u32;
        let begun = due.as_ns() + 1_000 + times.exponential(5_000.0);
        let connected = scene.open_connection(number, number, begun, &mut times);
        scene.request(number, number, 0, due.as_ns(), Some((begun, connected)), connected + 500, &mut times);
        let last = scene.capture.transactions.last().and_then(|t| t.reply_last).expect("answered");
        scene.capture.connections[number as usize].end =
            End::Fin { side: Side::Client, at: UnixNs(last.0 + 3_000), simultaneous: false };
    }
    scene.finished(8)
}

/// Twenty users who think for 100 ms in the mean, each with one connection, for 8 s.
pub fn closed() -> Scene {
    let seed = Seed(32);
    let think = Distribution::Exponential(Exponential::with_mean(0.1).expect("a mean"));
    let users = NonZeroU32::new(20).expect("not zero");
    let load = LoadModel::Closed { users, stages: None, think, active_off: None, ramp: Default::default() };
    let mut scene = Scene::empty(load, seed, u32::MAX);
    let mut times = Times { rng: seed.stream(Purpose::User, 8) };
    for user in 0..20 {
        let mut due = u64::from(user) * 5_000_000;
        let begun = due + 1_500;
        let connected = scene.open_connection(user, user, begun, &mut times);
        let mut opened = Some((begun, connected));
        for number in 0.. {
            let sent = opened.map_or(due + 2_000, |(_, connected)| connected + 500);
            let done = scene.request(user, user, number, due, opened.take(), sent, &mut times);
            due = done + times.exponential(1e8);
            if due > 8 * SECOND {
                break;
            }
        }
    }
    scene.finished(8)
}

impl Scene {
    fn empty(load: LoadModel, seed: Seed, requests_max: u32) -> Scene {
        let window =
            Window { measure_from: Instant::from_ns(SECOND), measure_to: Instant::from_ns(8 * SECOND) };
        Scene {
            samples: Vec::new(),
            capture: Capture::default(),
            run: RunRecord {
                window,
                set_aside: SetAside::default(),
                end: window.measure_to,
                start: RunStart::Exact(START),
                events: None,
                connections: Some(Vec::new()),
                summary: None,
                capture_file: None,
                captures_all: false,
                stamps_packets: false,
                resent: 0,
                all_kept: true,
                gateway_is_first: false,
            },
            asked: ScenarioDemands {
                part: farfield_base::Part::WHOLE,
                hosts: Vec::new(),
                authorities: Vec::new(),
                flows: vec![AskedFlow {
                    name: String::new(),
                    load,
                    own_sessions: false,
                    mix: vec![1.0],
                    requests: 1,
                }],
                seed,
                policy: AskedPolicy { requests_max, parallel: 1, depth: 1, shares: false },
                stall_ns: 500_000_000,
                paths: Vec::new(),
            },
        }
    }

    /// Opens a connection at `begun`; returns the instant at which the client knows it.
    fn open_connection(&mut self, connection: u32, user: u32, begun: u64, times: &mut Times) -> u64 {
        let syn = begun + times.delay();
        let syn_ack = syn + 100_000;
        let connected = syn_ack + times.delay();
        let address = |host: u32, port: u16| format!("10.0.{}.{}:{port}", host / 200, 1 + host % 200).parse();
        let client = address(connection % 20_000, 40_000).expect("an address");
        let server = "10.9.0.1:80".parse().expect("an address");
        self.capture.connections.push(Connection {
            id: connection,
            interface: 0,
            client,
            server,
            is_quic: false,
            seen_from_start: true,
            syn: Some(UnixNs(START + syn)),
            syn_ack: Some(UnixNs(START + syn_ack)),
            established: Some(UnixNs(START + syn_ack + 2_000)),
            secured: None,
            first: UnixNs(START + syn),
            last: UnixNs(START + syn_ack + 2_000),
            syn_tries: 1,
            client_side: Direction::default(),
            server_side: Direction::default(),
            end: End::Open,
            requests: 0,
            going_away: None,
        });
        let at = Instant::from_ns(begun);
        let rows = self.run.connections.as_mut().expect("a list");
        rows.push(Opened { connection, user, at, client, server });
        connected
    }

    /// Sends a request; returns the instant at which the user has the reply.
    #[allow(clippy::too_many_arguments, reason = "a request has as many fields")]
    fn request(
        &mut self,
        connection: u32,
        user: u32,
        number: u32,
        due: u64,
        opened: Option<(u64, u64)>,
        sent: u64,
        times: &mut Times,
    ) -> u64 {
        let request_first = sent + times.delay();
        let reply_first = request_first + times.service();
        let reply_last = reply_first + 50_000;
        let first_byte = reply_first + times.delay();
        let done = (reply_last + times.delay()).max(first_byte);
        let stamp = |ns: u64| Stamp::at(Instant::from_ns(ns));
        let unix = |ns: u64| UnixNs(START + ns);
        self.samples.push(Sample {
            due: Instant::from_ns(due),
            connect_begun: opened.map_or(Stamp::NEVER, |(begun, _)| stamp(begun)),
            connected: opened.map_or(Stamp::NEVER, |(_, connected)| stamp(connected)),
            sent: stamp(sent),
            first_byte: stamp(first_byte),
            done: Instant::from_ns(done),
            body_bytes: 1_000,
            reply_bytes: 1_200,
            user,
            connection,
            number,
            status: 200,
            outcome: Outcome::Ok,
            page: PagePart::Whole,
            ..Sample::EMPTY
        });
        self.capture.transactions.push(Transaction {
            message: None,
            authority: 0,
            connection,
            number,
            request_first: unix(request_first),
            request_last: unix(request_first),
            reply_first: Some(unix(reply_first)),
            reply_last: Some(unix(reply_last)),
            pipelined: false,
            method: "GET".to_owned(),
            target: "/".to_owned(),
            status: 200,
            body_bytes: 1_000,
            reply_bytes: 1_200,
            events: None,
            state: TransactionState::Complete,
        });
        let connection = &mut self.capture.connections[connection as usize];
        connection.requests += 1;
        connection.last = unix(reply_last);
        done
    }

    fn finished(mut self, seconds: u64) -> Scene {
        self.capture.limits.first = self.capture.connections.iter().map(|c| c.first).min();
        self.capture.limits.last = self.capture.connections.iter().map(|c| c.last).max();
        let last = self.samples.iter().map(|sample| sample.done).max().expect("samples");
        self.run.end = last.max(Instant::from_ns(seconds * SECOND));
        self
    }

    /// The summary of the samples, by the code that makes summaries.
    pub fn summary(&self) -> Value {
        let mut fold = Fold::new(self.run.window);
        self.samples.iter().for_each(|sample| fold.record(sample));
        let (load, kind) = match self.asked.flows[0].load {
            LoadModel::Open { .. } => ("open", LoadKind::Open),
            _ => ("closed", LoadKind::Closed),
        };
        let heading = Heading {
            farfield: String::new(),
            note: None,
            path: None,
            scenario: String::new(),
            target: String::new(),
            seed: self.asked.seed.0,
            load: kind,
            load_words: load.to_owned(),
            started_at: String::new(),
        };
        let window = self.run.window;
        let scheduled = fold.steady().requests();
        let arrivals = Arrivals {
            expected: self.asked.flows[0].load.expected_arrivals(window.measure_from, window.measure_to),
            scheduled,
            begun: scheduled,
            dropped: 0,
        };
        let stats = EngineStats {
            in_system_ns: fold.residence().total_ns as u64,
            arrivals: (kind == LoadKind::Open).then_some(arrivals),
            ..EngineStats::default()
        };
        let limits = VerdictLimits::default();
        let context =
            SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
        let summary = Summary::new(context, &fold, &stats, self.run.end);
        serde_json::to_value(&summary).expect("names are strings")
    }

    /// The comparison.
    pub fn verified(&self) -> Verified {
        verify(&self.samples, &self.capture, &self.run, Some(&self.asked), AgreementLimits::default())
    }

    /// Its result.
    pub fn verify(&self) -> Verification {
        self.verified().verification
    }

    /// The scene with every sample changed.
    pub fn with(&self, change: impl FnMut(&mut Sample)) -> Scene {
        let mut scene = self.clone();
        scene.samples.iter_mut().for_each(change);
        scene
    }

    /// All instants of the capture moved by `by(ns of the run)`.
    pub fn with_clock(&self, by: impl Fn(u64) -> i64) -> Scene {
        let mut scene = self.clone();
        let moved = |at: UnixNs| UnixNs(at.0.wrapping_add_signed(by(at.0 - START)));
        let all = |at: &mut Option<UnixNs>| *at = at.map(moved);
        for connection in &mut scene.capture.connections {
            [&mut connection.syn, &mut connection.syn_ack, &mut connection.established]
                .into_iter()
                .for_each(all);
            (connection.first, connection.last) = (moved(connection.first), moved(connection.last));
            if let End::Fin { at, .. } = &mut connection.end {
                *at = moved(*at);
            }
        }
        for transaction in &mut scene.capture.transactions {
            [&mut transaction.reply_first, &mut transaction.reply_last].into_iter().for_each(all);
            transaction.request_first = moved(transaction.request_first);
            transaction.request_last = moved(transaction.request_last);
        }
        all(&mut scene.capture.limits.first);
        all(&mut scene.capture.limits.last);
        scene
    }

    /// The capture as another program has it, which knows nothing of the run, with its clock off by `by`.
    pub fn of_other(&self, by: impl Fn(u64) -> i64) -> Scene {
        let mut scene = self.with_clock(by);
        scene.run.start = RunStart::Claimed(START);
        scene
    }

    /// The capture as it is at the other end of a way of `ns`: what clients send is there later, what they
    /// get was there earlier.
    pub fn seen_from_afar(&self, ns: u64) -> Scene {
        let mut scene = self.clone();
        let later = |at: &mut Option<UnixNs>| *at = at.map(|at| UnixNs(at.0 + ns));
        let earlier = |at: &mut Option<UnixNs>| *at = at.map(|at| UnixNs(at.0 - ns));
        for connection in &mut scene.capture.connections {
            later(&mut connection.syn);
            earlier(&mut connection.syn_ack);
            later(&mut connection.established);
        }
        for transaction in &mut scene.capture.transactions {
            for at in [&mut transaction.request_first, &mut transaction.request_last] {
                *at = UnixNs(at.0 + ns);
            }
            [&mut transaction.reply_first, &mut transaction.reply_last].into_iter().for_each(earlier);
        }
        scene
    }
}

/// Names of the disagreements, in order.
pub fn names(found: &Verification) -> Vec<&str> {
    found.findings.iter().filter(|f| f.disagrees).map(|f| f.name.as_str()).collect()
}
