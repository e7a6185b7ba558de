//! A stage for users in virtual time before a server of HTTP/2, which is the h2 crate: what it reads is what
//! users asked for, by another's opinion, and it enforces the protocol's rules on them.
//!
//! The server answers each request `service` after the last byte of it came, however many there are; the path
//! takes `rtt` for a round trip.

use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Duration, HostNumber, Instant, LoadCounts, Note, Outcome, Sample, Window};
use farfield_http::http1::RequestError;
use farfield_net::Wheel;
use farfield_traffic::session::SessionSpec;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::{
    Backlog, ConnectionKey, EventPolicy, Flow, HttpVersion, Itinerary, LoadEnd, Plan, Population, Target,
    Transport, UserSettings, Wake,
};
use h2::server::{Connection, SendResponse, handshake};
use h2::{Reason, RecvStream};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The server's answer to a request.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    /// A reply with this status and so many bytes of body.
    Reply(u16, usize),
    /// A reply with a cookie and this body.
    Page(&'static str),
    /// The stream is reset.
    Reset(Reason),
    /// Nothing.
    Silence,
    /// The connection ends with GOAWAY and this code.
    GoAway(Reason),
    /// A reply, behind which the server closes the connection in good order.
    Last,
    /// The connection closes without a word.
    Close,
}

/// A server and its behaviour.
#[derive(Clone)]
pub struct Server {
    pub rtt: Duration,
    pub service: Duration,
    pub streams_max: Option<u32>,
    pub window: u32,
    /// The answer to the request with this path, which is so many requests after the first of the run.
    pub answer: fn(&str, usize) -> Answer,
    /// Its first bytes come in two halves, and the second is said to have arrived a microsecond before the
    /// first.
    pub halves: bool,
    /// It speaks first, and this is what it says in place of HTTP/2.
    pub says: Option<&'static [u8]>,
    /// It reads nothing: all that is sent stays with the transport.
    pub deaf: bool,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            rtt: Duration::from_ms(10),
            service: Duration::from_ms(5),
            streams_max: None,
            window: 65_535,
            answer: |_, _| Answer::Reply(200, 2),
            halves: false,
            says: None,
            deaf: false,
        }
    }
}

enum Event {
    Wake(Wake),
    Connected(ConnectionKey),
    /// Bytes arrive at the server.
    Sent(ConnectionKey, Bytes),
    /// Bytes arrive at the user.
    Came(ConnectionKey, Vec<u8>),
    /// The server answers its request of this number.
    Answers(ConnectionKey, usize),
    Closed(ConnectionKey),
}

/// The server's end of a connection, which holds what came and what is to go.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<(VecDeque<u8>, Vec<u8>)>>);

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let came = &mut self.0.lock().expect("one thread").0;
        if came.is_empty() {
            return Poll::Pending;
        }
        let bytes: Vec<u8> = came.drain(..came.len().min(room.remaining())).collect();
        room.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().expect("one thread").1.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

type Handshake = Pin<Box<dyn Future<Output = Result<Connection<Pipe, Bytes>, h2::Error>>>>;

enum End {
    Beginning(Handshake),
    Open(Box<Connection<Pipe, Bytes>>),
    Over,
}

/// A request as the server has it.
struct Asked {
    path: String,
    body: Option<RecvStream>,
    /// Its place among those that were seen.
    seen: usize,
    respond: SendResponse<Bytes>,
}

struct Wire {
    pipe: Pipe,
    end: End,
    asked: Vec<Asked>,
}

/// A request as the server read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub request: String,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Requests of a run, and their results.
pub struct Stage {
    pub now: Instant,
    pub samples: Vec<Sample>,
    pub notes: Vec<Note>,
    pub counts: LoadCounts,
    /// Connections begun.
    pub attempts: usize,
    /// Requests that the server read, by connection.
    pub asked: BTreeMap<u32, usize>,
    /// These requests: method, path, fields and bytes of body.
    pub seen: Vec<Seen>,
    /// The most requests that were open at once on a connection, as the server saw it.
    pub streams_most: usize,
    /// Parts that were handed to the transport, with when and on which connection.
    pub sent: Vec<(Instant, u32, usize)>,
    server: Server,
    wheel: Wheel<Event>,
    wires: BTreeMap<u32, Wire>,
    /// Requests that the server read and has not answered, by connection.
    open: BTreeMap<u32, usize>,
}

impl Transport for Stage {
    fn connect(&mut self, key: ConnectionKey, _user: u32, _host: HostNumber) -> Instant {
        self.attempts += 1;
        self.wheel.schedule(self.now + self.server.rtt, Event::Connected(key));
        let pipe = Pipe::default();
        let mut builder = h2::server::Builder::new();
        builder.initial_window_size(self.server.window);
        if let Some(streams) = self.server.streams_max {
            builder.max_concurrent_streams(streams);
        }
        let future: Handshake = match self.server.says {
            None => Box::pin(builder.handshake(pipe.clone())),
            Some(_) => Box::pin(handshake(Pipe::default())),
        };
        self.wires.insert(key.serial, Wire { pipe, end: End::Beginning(future), asked: Vec::new() });
        self.now
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        self.sent.push((self.now, key.serial, bytes.len()));
        self.wheel.schedule(self.now + self.half_trip(), Event::Sent(key, bytes.clone()));
        self.now
    }

    fn backlog(&self, key: ConnectionKey) -> Backlog {
        let own = self.sent.iter().filter(|(_, serial, _)| *serial == key.serial);
        let handed = own.map(|(_, _, bytes)| *bytes as u64).sum();
        Backlog { handed, kept: if self.server.deaf { handed } else { 0 } }
    }

    fn close(&mut self, key: ConnectionKey) {
        self.wires.remove(&key.serial);
    }

    fn abandon(&mut self, key: ConnectionKey) {
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

impl Stage {
    fn half_trip(&self) -> Duration {
        Duration::from_ns(self.server.rtt.as_ns() / 2)
    }

    /// Lets the server do what it can, and sends what it says.
    fn run_server(&mut self, key: ConnectionKey) {
        let service = self.server.service;
        let Some(wire) = self.wires.get_mut(&key.serial) else { return };
        let mut context = Context::from_waker(Waker::noop());
        if let End::Beginning(future) = &mut wire.end
            && let Poll::Ready(made) = future.as_mut().poll(&mut context)
        {
            wire.end = End::Open(Box::new(made.expect("the client begins as the RFC says")));
        }
        while let End::Open(connection) = &mut wire.end {
            match connection.poll_accept(&mut context) {
                Poll::Ready(Some(request)) => {
                    let (request, respond) = request.expect("the client keeps the rules");
                    let path = request.uri().path().to_owned();
                    let text =
                        |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
                    let fields = request.headers().iter();
                    let fields = fields.map(|(name, value)| (name.to_string(), text(value))).collect();
                    let line = format!("{} {}", request.method(), request.uri());
                    let seen = self.seen.len();
                    self.seen.push(Seen { request: line, fields, body: Vec::new() });
                    wire.asked.push(Asked { path, body: Some(request.into_body()), seen, respond });
                    *self.asked.entry(key.serial).or_default() += 1;
                    let open = self.open.entry(key.serial).or_default();
                    *open += 1;
                    self.streams_most = self.streams_most.max(*open);
                }
                Poll::Ready(None) => wire.end = End::Over,
                Poll::Pending => break,
            }
        }
        for (number, asked) in wire.asked.iter_mut().enumerate() {
            while let Some(body) = &mut asked.body
                && let Poll::Ready(piece) = body.poll_data(&mut context)
            {
                match piece {
                    Some(Ok(piece)) => {
                        self.seen[asked.seen].body.extend_from_slice(&piece);
                        body.flow_control().release_capacity(piece.len()).expect("what came is released");
                    }
                    Some(Err(_)) => asked.body = None,
                    None => {
                        asked.body = None;
                        self.wheel.schedule(self.now + service, Event::Answers(key, number));
                    }
                }
            }
        }
        if let End::Open(connection) = &mut wire.end {
            // Releases above are reported to the client.
            let _ = connection.poll_closed(&mut context);
        }
        let is_over = matches!(wire.end, End::Over);
        let said = std::mem::take(&mut wire.pipe.0.lock().expect("one thread").1);
        let at = self.now + self.half_trip();
        if !said.is_empty() {
            self.wheel.schedule(at, Event::Came(key, said));
        }
        if is_over {
            self.wheel.schedule(at, Event::Closed(key));
        }
    }

    fn answer(&mut self, key: ConnectionKey, number: usize) {
        let run: usize = self.samples.len();
        let Some(wire) = self.wires.get_mut(&key.serial) else { return };
        *self.open.entry(key.serial).or_default() -= 1;
        let asked = &mut wire.asked[number];
        let answer = (self.server.answer)(&asked.path, run);
        let status = match answer {
            Answer::Reply(status, _) => status,
            Answer::Last | Answer::Page(_) => 200,
            Answer::Reset(reason) => return asked.respond.send_reset(reason),
            Answer::Silence => return,
            Answer::Close => {
                wire.end = End::Over;
                return;
            }
            Answer::GoAway(reason) => {
                if let End::Open(connection) = &mut wire.end {
                    connection.abrupt_shutdown(reason);
                }
                return;
            }
        };
        let mut reply = http::Response::builder().status(status);
        let bytes = match answer {
            Answer::Reply(_, bytes) => vec![b'x'; bytes],
            Answer::Page(text) => {
                reply = reply.header("set-cookie", "k=v").header("content-type", "text/html");
                text.as_bytes().to_vec()
            }
            _ => Vec::new(),
        };
        let reply = reply.body(()).expect("a reply");
        // The client may have given the stream up.
        if let Ok(mut body) = asked.respond.send_response(reply, bytes.is_empty())
            && !bytes.is_empty()
        {
            let _ = body.send_data(bytes.into(), true);
        }
        if let (Answer::Last, End::Open(connection)) = (answer, &mut wire.end) {
            connection.graceful_shutdown();
        }
    }

    fn deliver(&mut self, population: &mut Population, at: Instant, event: Event) {
        match event {
            Event::Wake(wake) => population.handle_wake(self, at, at, wake),
            Event::Connected(key) => {
                population.handle_connected(self, at, key);
                if let Some(says) = self.server.says {
                    self.wheel.schedule(at + self.server.rtt, Event::Came(key, says.to_vec()));
                }
            }
            Event::Sent(key, bytes) => {
                if let (Some(wire), None) = (self.wires.get_mut(&key.serial), self.server.says) {
                    wire.pipe.0.lock().expect("one thread").0.extend(&bytes);
                    self.run_server(key);
                }
            }
            Event::Came(key, bytes) if self.server.halves => {
                let (first, second) = bytes.split_at(bytes.len() / 2);
                population.handle_received(self, at, key, first);
                population.handle_received(self, Instant::from_ns(at.as_ns() - 1_000), key, second);
            }
            Event::Came(key, bytes) => population.handle_received(self, at, key, &bytes),
            Event::Answers(key, number) => {
                self.answer(key, number);
                self.run_server(key);
            }
            Event::Closed(key) => {
                population.handle_ending(key);
                population.handle_closed(self, at, key);
            }
        }
    }

    pub fn count(&self, outcome: Outcome) -> usize {
        self.samples.iter().filter(|sample| sample.outcome == outcome).count()
    }
}

fn target() -> Target {
    Target {
        host: "server".into(),
        version: HttpVersion::Http2,
        authorization: None,
        secure: false,
        proxy: None,
    }
}

/// Plays a closed load of one user, who asks for these, for a second.
pub fn play(policy: &str, requests: &str, server: Server) -> Stage {
    let requests: RequestSetSpec = toml::from_str(requests).expect("requests");
    let requests = requests.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests");
    play_itinerary(policy, Itinerary::pages(requests, &[target()]), server)
}

/// Plays one user's sessions for a second.
pub fn play_session(policy: &str, session: &str, server: Server) -> Stage {
    let session: SessionSpec = toml::from_str(session).expect("a session");
    let session = session.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("a session");
    play_itinerary(policy, Itinerary::sessions(session, &[target()]), server)
}

fn play_itinerary(policy: &str, itinerary: Result<Itinerary, RequestError>, server: Server) -> Stage {
    #[derive(serde::Deserialize)]
    struct Document {
        load: LoadSpec,
    }
    let document: Document = toml::from_str("load = { model = 'closed', users = 1 }").expect("a load");
    let end = Instant::ZERO + Duration::from_secs(1);
    let mut population = Population::new(Plan {
        flows: Flow::only(
            document.load.resolve(&mut |_| unreachable!("no files")).expect("a load"),
            itinerary.expect("requests that can be written"),
        ),
        users: UserSettings {
            policy: toml::from_str(policy).expect("a policy"),
            events: EventPolicy::default(),
            seed: Seed(1),
            requests_max: None,
            end: LoadEnd::default(),
        },
        tls: Vec::new(),
        worker: 0,
        workers: 1,
        window: Window { measure_from: Instant::ZERO, measure_to: end },
    });
    let mut stage = Stage {
        now: Instant::ZERO,
        samples: Vec::new(),
        notes: Vec::new(),
        counts: LoadCounts::default(),
        attempts: 0,
        asked: BTreeMap::new(),
        seen: Vec::new(),
        streams_most: 0,
        sent: Vec::new(),
        server,
        wheel: Wheel::new(),
        wires: BTreeMap::new(),
        open: BTreeMap::new(),
    };
    population.start(&mut stage);
    while let Some((at, event)) = stage.wheel.pop_due(Instant::MAX) {
        stage.now = at;
        if at >= end {
            population.finish();
        }
        if population.is_done() || at > end + Duration::from_secs(60) {
            break;
        }
        stage.deliver(&mut population, at, event);
    }
    let cut_at = stage.now.max(end);
    population.cut(&mut stage, cut_at);
    stage.counts = population.counts();
    assert_eq!(population.in_system(), 0, "every request ends as a sample");
    assert_eq!(population.connections(), 0, "every connection is closed");
    stage
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}
