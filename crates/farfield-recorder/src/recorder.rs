//! The life of a recorder: its listener, its thread, its end.
//!
//! All connections are served by one event loop on a thread of its own: whoever records is one person, or
//! one program. Its end is abrupt by design: what is open is dropped, and is in the recording as far as it
//! had come.

use crate::authority::{AuthorityError, CertificateAuthority};
use crate::ledger::{Ledger, Recording, RecordingBounds};
use crate::service::{Entrance, RecordingService};
use crate::upstream::{ClientIdentity, Upstream};
use crate::web_origin::WebOrigin;
use farfield_base::{Backoff, Instant};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{Semaphore, oneshot};
use tokio_rustls::rustls;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;

/// Threads that look up names, which may take long.
const LOOKUP_THREADS: usize = 8;

/// Configuration of a recorder.
pub struct RecorderConfig {
    /// Servers whose requests are recorded; in reverse mode the first is the one that is stood in for.
    pub recorded: Vec<WebOrigin>,
    /// The recorder stands in the place of the first server, and is no proxy.
    pub is_reverse: bool,
    /// Verifier of servers' certificates.
    pub verifier: Arc<dyn ServerCertVerifier>,
    /// Certificate for servers that ask for one.
    pub identity: Option<ClientIdentity>,
    /// RecordingBounds of the recording.
    pub bounds: RecordingBounds,
}

/// A running recorder. Dropping it ends it.
#[derive(Debug)]
pub struct Recorder {
    address: SocketAddr,
    authority: Option<(String, Vec<u8>)>,
    ledger: Arc<Ledger>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why there is no recorder.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// No certificate for a recorded server.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// Certificates or cryptography towards servers.
    #[error("TLS towards servers cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The system has no room for the listener or its thread.
    #[error("the recorder cannot be started: {0}")]
    System(#[from] io::Error),
}

impl Recorder {
    /// Records what comes to `listener`. When this returns, connections are accepted.
    ///
    /// # Errors
    /// [`RecorderError`]; nothing is left running.
    pub fn start(listener: TcpListener, config: RecorderConfig) -> Result<Recorder, RecorderError> {
        let RecorderConfig { recorded, is_reverse, verifier, identity, bounds } = config;
        let own = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let ledger = Arc::new(Ledger::new(bounds));
        // In reverse mode clients speak to it in clear.
        let to_certify: &[WebOrigin] = if is_reverse { &[] } else { &recorded };
        let authority = CertificateAuthority::of(to_certify, ledger.clock.date(Instant::ZERO))?;
        let shown = authority.as_ref().map(|own| (own.certificate_pem(), own.public_key_info().to_vec()));
        let upstream = Arc::new(Upstream::new(own, verifier, identity)?);
        let entrance = match recorded.first().filter(|_| is_reverse) {
            Some(origin) => Entrance::Reverse(origin.clone()),
            None => Entrance::Proxy,
        };
        let service =
            Arc::new(RecordingService { own, recorded, authority, ledger: Arc::clone(&ledger), upstream });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(LOOKUP_THREADS)
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, service, entrance, bounds.connections) => {}
                    _ = stopped => {}
                }
            });
            // Lookups of names that still go on are left alone.
            runtime.shutdown_background();
        })?;
        Ok(Recorder { address: own, authority: shown, ledger, stop: Some(stop), thread: Some(thread) })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Certificate of its authority, in PEM; none where no https server is recorded.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.authority.as_ref().map(|(pem, _)| pem.as_str())
    }

    /// Public key of its authority, as SubjectPublicKeyInfo in DER.
    pub fn public_key_info(&self) -> Option<&[u8]> {
        self.authority.as_ref().map(|(_, info)| info.as_slice())
    }

    /// Exchanges with recorded servers that have begun.
    pub fn begun(&self) -> usize {
        self.ledger.begun()
    }

    /// True if it has ended by itself, by a defect that its thread has reported on standard error.
    pub fn has_died(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Ends it: its port is free and its connections are closed when this returns, whatever was open.
    pub fn stop(mut self) -> Recording {
        self.end();
        self.ledger.take()
    }

    fn end(&mut self) {
        // An error means that it has ended.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            // A panic was reported by it.
            drop(thread.join());
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    service: Arc<RecordingService>,
    entrance: Entrance,
    connections: usize,
) {
    let room = Arc::new(Semaphore::new(connections));
    let mut backoff = Backoff::default();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // A client that is gone already says nothing of the next; without descriptors the next
                // fails as well, and waits in the queue.
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    tokio::time::sleep(backoff.pause().to_std()).await;
                }
                continue;
            }
        };
        backoff.reset();
        // A socket that refuses the option is dead, which serving it finds out.
        let _ = stream.set_nodelay(true);
        tokio::spawn(Arc::clone(&service).serve_http1(stream, entrance.clone(), Arc::new(permit)));
    }
}
