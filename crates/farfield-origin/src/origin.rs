//! The life of an origin: its listener, its threads, its connections, its end.
//!
//! Each thread runs an event loop of its own; the first also accepts, and hands connections out in turn.
//! The [`Service`] is shared by all: read-only but for the queue and the counters. Ending is abrupt by
//! design: the event loops are dropped with whatever they hold, so that open connections and requests in
//! service do not hold it up.

use crate::config::OriginConfig;
use crate::connections::Connections;
use crate::http3::Http3;
use crate::root::Files;
use crate::service::{Counters, Service};
use crate::site::Site;
use crate::tls::ServerCertificate;
use farfield_base::Backoff;
use hyper::header::HeaderValue;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::thread::JoinHandle;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// A running origin. Dropping it stops it.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    service: Arc<Service>,
    certified: Option<ServerCertificate>,
    stop: watch::Sender<bool>,
    /// A thread has ended that nobody stopped.
    died: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The reason why an origin could not start.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; {}", remedy(.source))]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The files to serve cannot be read.
    #[error("cannot read the files below {}: {source}", root.display())]
    Root {
        /// The folder.
        root: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No certificate could be made, or the one that is configured cannot be served.
    #[error("cannot {0}")]
    Certificate(String),
    /// The value of Alt-Svc that is configured cannot stand in a field.
    #[error("`{0}` cannot be the value of a field (alt-svc): write what RFC 7838 has, such as h3=\":443\"")]
    AltSvc(String),
    /// A thread or its event loop could not be made.
    #[error(
        "cannot start a thread of the origin: {0}; see the limits on processes and open files (`ulimit -u -n`)"
    )]
    Thread(#[source] io::Error),
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "end the program that listens there, or take port 0 for any free port",
        io::ErrorKind::PermissionDenied => "ports below 1024 are the administrator's; take a higher one",
        io::ErrorKind::AddrNotAvailable => "take an address of this machine, such as 127.0.0.1",
        _ => "take another address",
    }
}

impl Origin {
    /// Binds, listens and serves. When this returns, connections are taken.
    ///
    /// # Errors
    /// [`OriginError`] if the address cannot be listened on, the files cannot be read or a thread cannot be
    /// made; nothing is left running.
    pub fn start(config: OriginConfig) -> Result<Origin, OriginError> {
        let files = match &config.root {
            Some(root) => {
                Files::read(root).map_err(|source| OriginError::Root { root: root.clone(), source })?
            }
            None => Files::default(),
        };
        if let Some(value) = config.alt_svc.as_ref().filter(|own| HeaderValue::from_str(own).is_err()) {
            return Err(OriginError::AltSvc(value.clone()));
        }
        let service = Arc::new(Service::new(&config, files));
        let certified = ServerCertificate::of(&config)?;
        let connections = Arc::new(Connections::new(&config, Arc::clone(&service), certified.as_ref()));
        timers().map_err(OriginError::Thread)?;
        let first = event_loop()?;
        let others: Vec<Runtime> =
            (1..config.threads.get()).map(|_| event_loop()).collect::<Result<_, _>>()?;
        let gate = config.accept_limit.map(|limit| Arc::new(Semaphore::new(limit.get() as usize)));
        let datagrams = certified.as_ref().map(|certified| {
            |address| {
                let (config, connections) = (certified.quic.clone(), Arc::clone(&connections));
                Http3::bind(address, config, gate.clone(), connections)
            }
        });
        let (listener, http3, address) = listen_on_both(&config, &first, datagrams)
            .map_err(|source| OriginError::Listen { address: config.bind, source })?;

        // From here on, an early return drops the origin, and with it whatever has been started.
        let (stop, died, threads) = (watch::Sender::new(false), Arc::default(), Mutex::default());
        let origin = Origin { address, service, certified, stop, died, threads };
        let mut helpers = Vec::new();
        for (number, runtime) in (1..).zip(others) {
            let (sender, inbox) = mpsc::unbounded_channel();
            helpers.push(sender);
            origin.spawn(number, runtime, take_connections(inbox, Arc::clone(&connections)))?;
        }
        let acceptor = Acceptor { listener, gate, helpers, connections };
        origin.spawn(0, first, async {
            match http3 {
                None => acceptor.run().await,
                Some(http3) => drop(tokio::join!(acceptor.run(), http3.run())),
            }
        })?;
        Ok(origin)
    }

    /// The address that it listens on; its port is the one chosen if port 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The public key of its certificate, as SubjectPublicKeyInfo in DER, if it serves over TLS.
    pub fn public_key_info(&self) -> Option<&[u8]> {
        self.certified.as_ref().map(|certified| certified.public_key_info.as_slice())
    }

    /// The site that it serves: its pages, their objects' paths and sizes.
    pub fn site(&self) -> &Site {
        self.service.site()
    }

    /// The origin's counters so far.
    pub fn served(&self) -> Counters {
        self.service.tally.counters()
    }

    /// True if it has ended without having been [stopped](Origin::stop), by a defect of its own that one of
    /// its threads has reported on standard error. Its port is free then, and all connections are closed.
    pub fn has_died(&self) -> bool {
        self.died.load(Relaxed)
    }

    /// Ends it: the port is free and all connections are closed when this returns, whatever was in service.
    pub fn stop(&self) {
        self.stop.send_replace(true);
        self.wait();
    }

    /// Blocks until it is [stopped](Origin::stop), by another thread.
    pub fn wait(&self) {
        // Kept locked while joining, so that a second to wait does not return before the first.
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A thread that panicked has ended too, and has said why on standard error.
            drop(thread.join());
        }
    }

    /// Runs `work` on a thread of its own until the origin is stopped. Work that ends before ends the whole
    /// origin: without the thread that accepts, it would refuse everybody for as long as the process lives.
    fn spawn(
        &self,
        number: u32,
        runtime: Runtime,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), OriginError> {
        let mut stop = self.stop.subscribe();
        let ending = StopGuard { stop: self.stop.clone(), died: Arc::clone(&self.died) };
        let thread = std::thread::Builder::new()
            .name(format!("origin-{number}"))
            .spawn(move || {
                let _ending = ending;
                runtime.block_on(async {
                    tokio::select! {
                        _ = stop.wait_for(|stop| *stop) => {}
                        () = work => {}
                    }
                });
            })
            .map_err(OriginError::Thread)?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The end of a thread, by a panic or not: it stops the others.
struct StopGuard {
    stop: watch::Sender<bool>,
    died: Arc<AtomicBool>,
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        let was_stopped = self.stop.send_replace(true);
        if !was_stopped {
            self.died.store(true, Relaxed);
        }
    }
}

/// Descriptors of the timers' event loop: of epoll, its notifications and its timer, and one aside.
const OF_TIMERS: usize = 4;

/// Makes the event loop of the timers. Made later, by the first connection's timer or by the library's own
/// thread, it would find no descriptor where connections have taken all of them, and panic there.
fn timers() -> io::Result<()> {
    // It panics where it finds none; so it is looked whether there are some.
    let another = |_| io::stderr().as_fd().try_clone_to_owned();
    drop((0..OF_TIMERS).map(another).collect::<Result<Vec<OwnedFd>, io::Error>>()?);
    // A timer that has expired when it is polled is not registered, and would leave the loop unmade.
    let mut far = async_io::Timer::after(std::time::Duration::from_hours(1));
    let registered = Pin::new(&mut far).poll(&mut Context::from_waker(Waker::noop()));
    debug_assert!(registered.is_pending(), "an hour is over");
    Ok(())
}

fn event_loop() -> Result<Runtime, OriginError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(OriginError::Thread)
}

/// Listens on the event loop of `runtime`; also says on which address it turned out to be.
fn listen(config: &OriginConfig, runtime: &Runtime) -> io::Result<(TcpListener, SocketAddr)> {
    let _context = runtime.enter();
    let socket = if config.bind.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // An origin that is started again takes its port back from connections that linger in TIME-WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(config.bind)?;
    // The system call takes a signed length.
    let listener = socket.listen(config.backlog.min(i32::MAX as u32))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Listens, and binds to the same port for `datagrams` if there is what takes them. Where any port will do,
/// one is found that is free for both.
fn listen_on_both<D>(
    config: &OriginConfig,
    runtime: &Runtime,
    datagrams: Option<impl Fn(SocketAddr) -> io::Result<D>>,
) -> io::Result<(TcpListener, Option<D>, SocketAddr)> {
    let mut attempts = if config.bind.port() == 0 { PORTS } else { 1 };
    loop {
        attempts -= 1;
        let (listener, address) = listen(config, runtime)?;
        let Some(bind) = &datagrams else { return Ok((listener, None, address)) };
        let _context = runtime.enter();
        match bind(address) {
            Ok(bound) => return Ok((listener, Some(bound), address)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts > 0 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Ports that are tried for one that is free on TCP and UDP.
const PORTS: u32 = 16;

/// Takes connections from the kernel and hands them out in turn, itself first.
struct Acceptor {
    listener: TcpListener,
    /// One permit for every connection that may be open.
    gate: Option<Arc<Semaphore>>,
    helpers: Vec<mpsc::UnboundedSender<AcceptedSocket>>,
    connections: Arc<Connections>,
}

/// A connection on its way to another thread, and its leave to be open.
type AcceptedSocket = (std::net::TcpStream, Option<OwnedSemaphorePermit>);

impl Acceptor {
    async fn run(self) {
        let mut turn = 0;
        loop {
            let permit = match &self.gate {
                Some(gate) => Arc::clone(gate).acquire_owned().await.ok(),
                None => None,
            };
            let stream = self.accept().await;
            match turn {
                0 => self.connections.spawn(stream, permit),
                // Fails only if the socket or that thread is gone; the connection then is, too.
                helper => {
                    drop(stream.into_std().map(|stream| self.helpers[helper - 1].send((stream, permit))))
                }
            }
            turn = (turn + 1) % (self.helpers.len() + 1);
        }
    }

    async fn accept(&self) -> TcpStream {
        let (tally, mut backoff) = (self.connections.tally(), Backoff::default());
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    tally.connections.fetch_add(1, Relaxed);
                    return stream;
                }
                // The client gave up while it was in the queue; the next one is due at once.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tally.accept_error.store(error.raw_os_error().unwrap_or_default(), Relaxed);
                    tally.accept_failures.fetch_add(1, Relaxed);
                    async_io::Timer::after(backoff.pause().to_std()).await;
                }
            }
        }
    }
}

/// The event loop of a thread that does not accept: it serves the connections that it is given.
async fn take_connections(mut inbox: mpsc::UnboundedReceiver<AcceptedSocket>, connections: Arc<Connections>) {
    while let Some((stream, permit)) = inbox.recv().await {
        match TcpStream::from_std(stream) {
            Ok(stream) => connections.spawn(stream, permit),
            Err(_) => {
                connections.tally().connections_closed.fetch_add(1, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream as Client;

    #[test]
    fn a_thread_that_ends_by_itself_ends_the_origin() {
        let origin = Origin::start(OriginConfig::default()).expect("a loopback port is free");
        assert!(Client::connect(origin.address()).is_ok() && !origin.has_died());
        let lost = event_loop().expect("an event loop");
        origin.spawn(9, lost, async { panic!("a defect, on purpose") }).expect("a thread");
        origin.wait();
        assert!(origin.has_died());
        assert!(
            Client::connect(origin.address()).is_err(),
            "its port is free, and nobody waits there in vain"
        );
    }

    #[test]
    fn an_origin_that_is_stopped_has_not_died() {
        let origin = Origin::start(OriginConfig::default()).expect("a loopback port is free");
        origin.stop();
        assert!(!origin.has_died());
    }
}
