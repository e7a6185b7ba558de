//! `--metrics`, `--metrics-push` and `--metrics-otlp`: the figures of a run for monitoring systems, while
//! it goes on.
//!
//! The collector hands over a [`Snapshot`] once a second, and a last one with the result; it never waits. A
//! thread below the workers' priority keeps the newest for whoever reads `/metrics`, whose server runs only
//! where a processor is idle, and passes it to a thread for each place that it is pushed to. Where one of
//! these is slow, snapshots are left out; since all figures are totals so far, the next one makes up for
//! them.

mod families;
mod otlp;
mod protobuf;
mod push;
mod remote_write;
mod snapshot;
mod text;

use crate::problem::Problem;
use crate::web::guard::Guard;
use crate::web::work::Work;
use crate::web::{Priority, Server, Site, WebReply, WebRequest};
use families::{RunLabels, families};
use farfield_base::Duration;
use farfield_engine::Run;
use farfield_os::processors;
use hyper::Method;
use push::{Encoding, PushTarget, Pusher};
use snapshot::Snapshot;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Snapshots that may wait for the thread.
const WAITING: usize = 8;
/// Time that the end of a run waits for the last figures to be taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// The receivers of a run's figures, as flags name them.
#[derive(Debug, Default)]
pub struct MetricsTargets {
    listener: Option<TcpListener>,
    pushes: Vec<PushTarget>,
}

impl MetricsTargets {
    /// Listens at `serve`, and reads the URLs of collectors.
    pub fn of(
        serve: Option<&str>,
        remote_write: &[String],
        otlp: &[String],
    ) -> Result<MetricsTargets, Problem> {
        let listener = serve.map(|given| listen(given, "--metrics")).transpose()?;
        let mut pushes = Vec::new();
        for (flag, encoding, urls) in [
            ("--metrics-push", Encoding::RemoteWrite, remote_write),
            ("--metrics-otlp", Encoding::Otlp, otlp),
        ] {
            for url in urls {
                pushes.push(
                    PushTarget::of(url, encoding)
                        .map_err(|error| Problem::usage(format!("{flag}: {error}")))?,
                );
            }
        }
        Ok(MetricsTargets { listener, pushes })
    }

    fn is_empty(&self) -> bool {
        self.listener.is_none() && self.pushes.is_empty()
    }
}

/// Listens at an address; at one of the loopback interface where only a port is given.
pub fn listen(given: &str, flag: &str) -> Result<TcpListener, Problem> {
    let port = given.strip_prefix(':').unwrap_or(given).parse::<u16>();
    let address = match port {
        Ok(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
        Err(_) => given.parse().map_err(|_| {
            Problem::usage(format!(
                "{flag} {given}: write a port, such as 9464, for programs of this machine, or an address with a port, such as \
                 0.0.0.0:9464, for others too"
            ))
        })?,
    };
    TcpListener::bind(address).map_err(|error| {
        let remedy = unbound(&error);
        Problem::failed(format!("{flag}: cannot listen on {address}: {error}; {remedy}"))
    })
}

/// The remedy where an address cannot be listened on.
fn unbound(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there, perhaps another farfield: end it, or name another port here (0: any free one)"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 are the administrator's: name a higher one here",
        io::ErrorKind::AddrNotAvailable => "name an address of this machine here, such as 127.0.0.1",
        _ => "name another address here",
    }
}

/// The figures of a run on their way.
pub struct Exporter {
    snapshots: SyncSender<Snapshot>,
    /// Closed by the thread once the last snapshot has been passed on.
    done: Receiver<Vec<String>>,
    server: Option<Server>,
}

impl Exporter {
    /// Begins; `None` where the figures are to go nowhere.
    pub fn begin(targets: MetricsTargets, run: &Run, directory: &Path) -> Result<Option<Exporter>, Problem> {
        if targets.is_empty() {
            return Ok(None);
        }
        let failed = |error: std::io::Error| Problem::failed(format!("metrics: {error}"));
        let labels = Arc::new(RunLabels::of(run, directory));
        let newest = Arc::new(Newest { labels: Arc::clone(&labels), snapshot: Mutex::default() });
        let server = match targets.listener {
            None => None,
            Some(listener) => {
                let guard = Guard::open(listener.local_addr().map_err(failed)?);
                let site = Arc::clone(&newest);
                Some(Server::begin(listener, Priority::Idle, guard, site).map_err(failed)?)
            }
        };
        let pushers = targets.pushes.into_iter().map(|target| Pusher::begin(target, Arc::clone(&labels)));
        let pushers = pushers.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let (snapshots, taken) = sync_channel(WAITING);
        let (reports, done) = channel();
        let spawned = thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            // Below workers, and never without a share, since the last figures are to be passed on.
            let _ = processors::set_background();
            pass_on(&taken, &newest, &pushers);
            let _ = reports.send(pushers.into_iter().filter_map(Pusher::end).collect());
        });
        spawned.map_err(failed)?;
        Ok(Some(Exporter { snapshots, done, server }))
    }

    /// The address of `/metrics`, if it is served.
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// Hands over the figures so far.
    pub fn update(&mut self, run: &farfield_engine::Progress<'_>) {
        // Where the thread gets no processor, the next snapshot has all that this one has.
        let _ = self.snapshots.try_send(Snapshot::of(run));
    }

    /// Ends once the last figures are pushed, or after a time; returns what went wrong, a sentence each.
    pub fn end(self) -> Vec<String> {
        let Exporter { snapshots, done, server } = self;
        drop(snapshots);
        let reports = match done.recv_timeout(PATIENCE.to_std()) {
            Ok(reports) => reports,
            Err(RecvTimeoutError::Disconnected) => Vec::new(),
            Err(RecvTimeoutError::Timeout) => {
                vec!["metrics: the last figures were not taken in 5 s; what was pushed lacks the end of the run".to_owned()]
            }
        };
        drop(server);
        reports
    }
}

/// Passes snapshots on until the run has ended.
fn pass_on(snapshots: &Receiver<Snapshot>, newest: &Newest, pushers: &[Pusher]) {
    for snapshot in snapshots {
        let snapshot = Arc::new(snapshot);
        pushers.iter().for_each(|pusher| pusher.push(&snapshot));
        *newest.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
    }
}

/// The newest figures, which `/metrics` shows.
struct Newest {
    labels: Arc<RunLabels>,
    snapshot: Mutex<Option<Arc<Snapshot>>>,
}

impl Site for Newest {
    fn is_public(&self, _path: &str) -> bool {
        true
    }

    fn work(&self, _asked: &WebRequest) -> Work {
        Work::Report
    }

    fn answer(&self, asked: &WebRequest) -> WebReply {
        if asked.method != Method::GET {
            return WebReply::nothing();
        }
        match asked.path.as_str() {
            "/metrics" => {
                let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let snapshot = snapshot.unwrap_or_default();
                WebReply::file(text::CONTENT_TYPE, text::encode(&families(&self.labels, &snapshot)))
            }
            "/" => {
                WebReply::file("text/plain; charset=utf-8", "the metrics of a run of farfield: /metrics\n")
            }
            _ => WebReply::nothing(),
        }
    }
}
