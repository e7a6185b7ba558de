//! Speed of sessions without a server: a transport that answers each request at once, and the time that the
//! users take.
//!
//! `cargo run --release -p farfield-user --example session_speed` prints, on one thread, requests a second of
//! plain pages, of a session whose requests are all the same, and of one that takes a token by regular
//! expression, a cookie and a row of data along in path, header and body, where every other reply sets a
//! cookie and has a token. Reading the replies and the transport's own part are in all of them. `pages`,
//! `fixed`, `taken` or `checked` behind `--` runs that alone.

use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{HostNumber, Instant, Sample, Window};
use farfield_traffic::session::SessionSpec;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::HttpVersion;
use farfield_user::{
    ConnectionKey, EventPolicy, Flow, Itinerary, Plan, Policy, Population, Target, Transport, UserSettings,
    Wake,
};
use std::collections::VecDeque;

const REQUESTS: u64 = 3_000_000;
const USERS: u32 = 100;

/// An event for the users.
enum Event {
    Wake(Wake),
    Connected(ConnectionKey),
    Reply(ConnectionKey, &'static [u8]),
}

/// Answers at once.
#[derive(Default)]
struct Mirror {
    events: VecDeque<Event>,
    sent_bytes: u64,
    samples: u64,
    failed: u64,
    last: Bytes,
}

impl Transport for Mirror {
    fn connect(&mut self, connection: ConnectionKey, _user: u32, _host: HostNumber) -> Instant {
        self.events.push_back(Event::Connected(connection));
        Instant::ZERO
    }
    fn send(&mut self, connection: ConnectionKey, bytes: &Bytes) -> Instant {
        self.sent_bytes += bytes.len() as u64;
        self.last = bytes.clone();
        let reply = if bytes.starts_with(b"GET") { PAGE } else { DONE };
        self.events.push_back(Event::Reply(connection, reply));
        Instant::ZERO
    }
    fn close(&mut self, _connection: ConnectionKey) {}
    fn abandon(&mut self, _connection: ConnectionKey) {}
    fn wake_at(&mut self, _at: Instant, wake: Wake) {
        if matches!(wake, Wake::Start { .. }) {
            self.events.push_back(Event::Wake(wake));
        }
    }
    fn record(&mut self, sample: Sample) {
        self.samples += 1;
        self.failed += u64::from(sample.outcome != farfield_base::Outcome::Ok);
    }
}

/// Reply to a GET: a page that sets a cookie and has a token.
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: mirror\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
    Set-Cookie: sid=0123456789abcdef; Path=/; HttpOnly\r\nContent-Type: text/html\r\nContent-Length: 92\r\n\r\n\
    <html><body><form><input type=hidden name=csrf value=\"f00dfeed0123\"></form></body></html>\n\n\n";

/// Reply to a POST.
const DONE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: mirror\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
    Content-Type: text/html\r\nContent-Length: 49\r\n\r\n<html><body><p>f00d is in the cart.</body></html>";

fn itinerary(kind: &str) -> Itinerary {
    let target = Target {
        host: "127.0.0.1:8080".into(),
        version: HttpVersion::Http11,
        authorization: None,
        secure: false,
        proxy: None,
    };
    let text = match kind {
        "pages" => {
            let spec: RequestSetSpec = toml::from_str("[[request]]\npath = '/a'").expect("requests");
            let set = spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests");
            return Itinerary::pages(set, &[target]).expect("a request");
        }
        "fixed" => "cookies = false\npath = { a = 1 }\n[[state]]\nname = 'a'\npath = '/a'".to_owned(),
        _ => format!(
            "path = {{ a = 1, b = 1 }}\n[[data]]\nfile = 'users.csv'\n\
             [[state]]\nname = 'a'\npath = '/item/${{random(1,1000)}}?u=${{name|url}}'\n\
             extract.token = {{ regex = 'name=csrf value=\"(\\w+)\"' }}\n\
             [[state]]\nname = 'b'\npath = '/cart'\nbody = 'token=${{token|form}}&user=${{user}}&n=${{click}}'\n\
             headers = {{ x-token = '${{token}}', content-type = 'application/x-www-form-urlencoded' }}\n\
             check = {{ status = 200{} }}",
            if kind == "checked" { ", contains = 'f00d'" } else { "" }
        ),
    };
    let spec: SessionSpec = toml::from_str(&text).expect("a session");
    let mut users = |_: &std::path::Path| Ok(b"name\nann lee\nbob\n".to_vec());
    let session = spec.resolve(&mut users, Seed(1)).expect("a session");
    Itinerary::sessions(session, &[target]).expect("requests")
}

fn requests_per_s(kind: &str) -> (f64, Bytes) {
    #[derive(serde::Deserialize)]
    struct Document {
        load: LoadSpec,
    }
    let load = format!("load = {{ model = 'closed', users = {USERS}, think = '0s' }}");
    let load: Document = toml::from_str(&load).expect("a load");
    let end = Instant::from_ns(1 << 40);
    let mut population = Population::new(Plan {
        flows: Flow::only(
            load.load.resolve(&mut |_| unreachable!("no files")).expect("a load"),
            itinerary(kind),
        ),
        users: UserSettings {
            policy: Policy::default(),
            events: EventPolicy::default(),
            seed: Seed(1),
            requests_max: Some(REQUESTS),
            end: farfield_user::LoadEnd::default(),
        },
        tls: Vec::new(),
        worker: 0,
        workers: 1,
        window: Window { measure_from: Instant::ZERO, measure_to: end },
    });
    let mut transport = Mirror::default();
    #[expect(clippy::disallowed_methods, reason = "it measures")]
    let started = std::time::Instant::now();
    population.start(&mut transport);
    while let Some(event) = transport.events.pop_front() {
        let now = Instant::from_ns(transport.samples);
        match event {
            Event::Wake(wake) => population.handle_wake(&mut transport, now, now, wake),
            Event::Connected(key) => population.handle_connected(&mut transport, now, key),
            Event::Reply(key, reply) => population.handle_received(&mut transport, now, key, reply),
        }
    }
    let took = started.elapsed().as_secs_f64();
    assert_eq!((transport.samples, transport.failed), (REQUESTS, 0), "all are answered");
    (transport.samples as f64 / took, transport.last)
}

fn main() {
    let kinds = [
        ("pages", "plain pages, encoded before the run"),
        ("fixed", "a session of one request, the same each time"),
        ("taken", "a session with token, cookie, data and random values"),
        ("checked", "the same, and its bodies are looked through"),
    ];
    let asked: Vec<String> = std::env::args().skip(1).collect();
    for (kind, words) in
        kinds.into_iter().filter(|(kind, _)| asked.is_empty() || asked.iter().any(|own| own == kind))
    {
        let mut runs: Vec<(f64, Bytes)> = (0..5).map(|_| requests_per_s(kind)).collect();
        runs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (least, median, most) = (runs[0].0 / 1e6, runs[2].0 / 1e6, runs[4].0 / 1e6);
        println!(
            "{words}: {median:.2} million requests a second (five runs: {least:.2} to {most:.2}), {} bytes the last",
            runs[2].1.len()
        );
    }
}
