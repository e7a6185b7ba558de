//! One handshake before a run, as its users will make it: a server whose TLS no user can use is found by it,
//! with the reason, and not by a run of which every request fails.
//!
//! Only what every handshake would meet ends a run before it begins: a certificate that does not verify,
//! another name, no version in common, a protocol that is refused, no TLS at all. What may be otherwise a
//! moment later does not: silence, a connection that closes, an alert of the server's own trouble. The run
//! shows these.

use crate::plane::Plane;
use crate::run::Run;
use farfield_base::{Detail, Duration, HostNumber, Instant, Outcome};
use farfield_http::quic;
use farfield_http::tls::{self, Sessions};
use farfield_os::clock::{Clock, library_now, unix_seconds};
use farfield_os::datagram_socket::{self, DatagramRead};
use farfield_os::socket::{begin_connect, unix_address, unix_socket};
use farfield_user::{HttpVersion, UnixAddress};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::time::Timespec;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

/// The longest that the handshake may take. A request's time limit may be shorter.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a handshake at most that are read: a server that sends more is measured, or found out, by the
/// run.
const BYTES_MAX: usize = 1 << 20;
/// Bytes of a proxy's reply to CONNECT at most that are read.
const TUNNEL_HEAD_MAX: usize = 64 * 1024;
/// Addresses of a name that are asked at most, each by a thread.
const ASKED_MAX: usize = 128;
/// H3_NO_ERROR (RFC 9114, 8.1).
const H3_NO_ERROR: u64 = 0x100;

/// Why no user can talk to the server: how every request would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRefusal {
    /// The server: an address, or a Unix socket.
    pub server: String,
    /// The outcome that requests would have.
    pub outcome: Outcome,
    /// The reason, where more is known.
    pub detail: Option<Detail>,
}

impl fmt::Display for ServerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.outcome {
            Outcome::TlsUntrusted => "its certificate does not verify",
            Outcome::TlsNameMismatch => "its certificate is for another name",
            Outcome::TlsAlpnRefused => "it refuses the version of HTTP that users speak",
            Outcome::TlsIncompatible => {
                "it has no version of TLS, cipher suite or group in common with users"
            }
            Outcome::TlsCertificateRefused => "it wants a certificate of its clients, who have none",
            Outcome::NotTls => "it answers in another protocol than TLS",
            Outcome::NoQuicVersion => "it has no version of QUIC in common with users",
            _ => "its TLS cannot be used",
        };
        write!(f, "no user could talk to the server at {}: {what}", self.server)?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

/// Shakes hands with the hosts of a run that is set up, with which users talk TLS.
///
/// # Errors
/// If no handshake can succeed.
pub fn check(run: &Run) -> Result<(), Box<ServerRefusal>> {
    let Run { settings, plane } = run;
    let itinerary = &settings.flows[0].itinerary;
    let in_datagrams = itinerary.version() == HttpVersion::Http3;
    let policy = &settings.users.policy;
    let patience = policy.request_timeout().min(PATIENCE);
    let numbers = (0..=settings.hosts.len()).map(HostNumber::at);
    let names: Vec<&str> = numbers.map(|number| itinerary.host(number)).collect();
    let (proxy, own) = (policy.proxy.as_ref(), settings.tls.as_ref());
    let probe = |number: usize, tls: &tls::TlsSettings, address: SocketAddr| {
        let request = proxy.map(|proxy| proxy.tunnel_request(names[number], true));
        let server = match &request {
            Some(request) => ProbedServer::Behind { proxy: address, request },
            None => ProbedServer::Ip(address),
        };
        shake_hands(tls, server, in_datagrams, patience)
    };
    let beside = settings
        .hosts
        .iter()
        .enumerate()
        .filter_map(|(place, host)| Some((place + 1, host.tls.as_ref()?, host.address)));
    let of_target = |address| match own {
        Some(tls) => probe(0, tls, address),
        None => Ok(()),
    };
    match plane {
        Plane::Sockets(sockets) => {
            match (&sockets.unix, &sockets.peers, &settings.tls) {
                (Some(unix), _, Some(tls)) => shake_hands(tls, ProbedServer::Unix(unix), false, patience)?,
                (None, Some(peers), Some(_)) => at_once(&peers.addresses(), &of_target)?,
                _ => of_target(sockets.target)?,
            }
            beside.into_iter().try_for_each(|(number, tls, address)| probe(number, tls, address))
        }
        Plane::Emulated(emulated) => {
            let plan = &emulated.network.plan;
            let has_v4 = plan.classes.iter().any(|class| class.first_address.is_ipv4());
            let ip = if has_v4 { IpAddr::V4(plan.servers.v4) } else { IpAddr::V6(plan.servers.v6) };
            let server = SocketAddr::new(ip, plan.servers.port);
            // Where no thread can be made inside, the run says so.
            emulated.testbed.inside(|| of_target(server)).unwrap_or(Ok(()))
        }
        Plane::Simulated(_) => Ok(()),
    }
}

/// Probes the first 128 of `addresses` at once, so that silent ones cost no more time than one.
fn at_once(
    addresses: &[SocketAddr],
    probe: &(impl Fn(SocketAddr) -> Result<(), Box<ServerRefusal>> + Sync),
) -> Result<(), Box<ServerRefusal>> {
    thread::scope(|scope| {
        let first = addresses.iter().take(ASKED_MAX);
        let asked: Vec<_> = first.map(|address| scope.spawn(move || probe(*address))).collect();
        asked.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })
}

/// Shakes hands once with `server` and says goodbye; over QUIC if `in_datagrams`.
///
/// # Errors
/// If no handshake with these settings can succeed.
pub fn shake_hands(
    tls: &tls::TlsSettings,
    server: ProbedServer<'_>,
    in_datagrams: bool,
    patience: Duration,
) -> Result<(), Box<ServerRefusal>> {
    let settings = tls.clone().starting_at(unix_seconds()).beginning_at(library_now());
    let clock = Clock::starting_in(Duration::ZERO);
    let course = ProbeCourse { clock, until: clock.now() + patience };
    let found = match server {
        ProbedServer::Ip(address) if in_datagrams => course.over_quic(&settings, address),
        ProbedServer::Ip(address) => {
            course.connect(address).and_then(|stream| course.over_stream(settings, stream))
        }
        ProbedServer::Behind { proxy, request } => {
            course.connect(proxy).and_then(|mut stream| match course.open_tunnel(&mut stream, request)? {
                true => course.over_stream(settings, stream),
                false => Ok(None),
            })
        }
        ProbedServer::Unix(address) => {
            connect_unix(address).and_then(|stream| course.over_stream(settings, stream))
        }
    };
    match found {
        Ok(Some((outcome, detail))) if is_lasting(outcome, tls.has_identities()) => {
            Err(ServerRefusal { server: server.to_string(), outcome, detail }.into())
        }
        // The run shows all else.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// True if every handshake would end like this. A certificate of the first user's that is refused says
/// nothing of the others'.
fn is_lasting(outcome: Outcome, has_identities: bool) -> bool {
    match outcome {
        Outcome::TlsUntrusted
        | Outcome::TlsNameMismatch
        | Outcome::TlsAlpnRefused
        | Outcome::TlsIncompatible
        | Outcome::NotTls
        | Outcome::NoQuicVersion => true,
        Outcome::TlsCertificateRefused => !has_identities,
        _ => false,
    }
}

/// The failure of a handshake, if it failed.
type ProbeFailure = Option<(Outcome, Option<Detail>)>;

/// A handshake's clock and bounds.
struct ProbeCourse {
    clock: Clock,
    until: Instant,
}

/// The server's location.
#[derive(Debug, Clone, Copy)]
pub enum ProbedServer<'a> {
    /// At an address.
    Ip(SocketAddr),
    /// At the other end of a proxy's tunnel.
    Behind {
        /// The address of the proxy.
        proxy: SocketAddr,
        /// The request for the tunnel.
        request: &'a str,
    },
    /// At a Unix socket.
    Unix(&'a UnixAddress),
}

impl fmt::Display for ProbedServer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbedServer::Ip(address) => address.fmt(f),
            ProbedServer::Behind { proxy, .. } => {
                write!(f, "the other end of a tunnel through the proxy {proxy}")
            }
            ProbedServer::Unix(address) => address.fmt(f),
        }
    }
}

/// A stream of bytes with limits on the time of a read and of a write.
trait Stream: Read + Write {
    fn limit(&self, read: Duration, write: Duration) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn limit(&self, read: Duration, write: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(write.to_std()))?;
        self.set_read_timeout(Some(read.to_std()))
    }
}

impl Stream for UnixStream {
    fn limit(&self, read: Duration, write: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(write.to_std()))?;
        self.set_read_timeout(Some(read.to_std()))
    }
}

/// A Unix socket connects at once, or its backlog is full.
fn connect_unix(address: &UnixAddress) -> io::Result<UnixStream> {
    let socket = unix_socket()?;
    begin_connect(&socket, &unix_address(address)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

impl ProbeCourse {
    /// The time that is left; an error if there is none.
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.since(self.clock.now());
        if left > Duration::ZERO { Ok(left) } else { Err(io::ErrorKind::TimedOut.into()) }
    }

    fn connect(&self, server: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&server, self.left()?.to_std())
    }

    /// Asks a proxy for a tunnel, and returns whether it opens one. Why it does not, the run shows.
    fn open_tunnel(&self, stream: &mut impl Stream, request: &str) -> io::Result<bool> {
        stream.limit(self.left()?, PATIENCE)?;
        stream.write_all(request.as_bytes())?;
        // Bytes behind the head are the server's: none of them is read here.
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
            stream.limit(self.left()?, PATIENCE)?;
            if head.len() > TUNNEL_HEAD_MAX || stream.read(&mut byte)? == 0 {
                return Ok(false);
            }
            head.push(byte[0]);
        }
        let mut words = head.split(|byte| *byte == b' ');
        Ok(words.nth(1).is_some_and(|status| status.starts_with(b"2")))
    }

    fn over_stream(&self, settings: tls::TlsSettings, mut stream: impl Stream) -> io::Result<ProbeFailure> {
        let client = tls::Client::new(&Sessions::Encrypted(settings));
        let mut session = client.begin(self.clock.now(), 0);
        let (mut out, mut plain, mut taken) = (Vec::new(), Vec::new(), 0);
        let mut buffer = [0; 16 * 1024];
        loop {
            if session.is_secured() {
                session.close();
            }
            session.take_to_send(&mut out);
            stream.limit(self.left()?, PATIENCE)?;
            stream.write_all(&out)?;
            out.clear();
            if session.is_secured() || taken > BYTES_MAX {
                return Ok(None);
            }
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                return Ok(None);
            }
            taken += count;
            if let Err(failure) = session.receive(&client, self.clock.now(), &buffer[..count], &mut plain) {
                // The alert tells the server why.
                session.take_to_send(&mut out);
                let _ = stream.write_all(&out);
                return Ok(Some((failure.outcome(), session.detail().cloned())));
            }
            plain.clear();
        }
    }

    fn over_quic(&self, settings: &tls::TlsSettings, server: SocketAddr) -> io::Result<ProbeFailure> {
        let socket = datagram_socket::open(&server, None)?;
        let mut client = quic::Client::new(settings);
        let mut connection = client.begin(self.clock.now(), 0);
        let (mut bytes, mut taken) = (Vec::new(), 0);
        let mut buffer = vec![0; datagram_socket::READ_BYTES];
        loop {
            self.transmit(&mut connection, &socket, &mut bytes)?;
            match connection.handshake() {
                Some(Ok(())) => {
                    connection.close(self.clock.now(), H3_NO_ERROR);
                    self.transmit(&mut connection, &socket, &mut bytes)?;
                    return Ok(None);
                }
                Some(Err(failure)) => return Ok(Some((failure.outcome(), connection.detail().cloned()))),
                None if taken > BYTES_MAX => return Ok(None),
                None => {}
            }
            let timer = connection.next_timeout().map_or(self.until, |timer| timer.min(self.until));
            let wait = timer.since(self.clock.now()).min(self.left()?);
            poll(
                &mut [PollFd::new(&socket, PollFlags::IN)],
                Some(&Timespec::try_from(wait.to_std()).unwrap_or_default()),
            )?;
            match datagram_socket::receive(&socket, &mut buffer) {
                Ok(DatagramRead { count, segment_bytes, ecn, .. }) => {
                    taken += count;
                    for datagram in buffer[..count].chunks(segment_bytes.max(1)) {
                        client.receive(&mut connection, self.clock.now(), ecn, datagram);
                    }
                }
                Err(Errno::AGAIN | Errno::INTR | Errno::MSGSIZE) => {}
                Err(errno) => return Err(errno.into()),
            }
            if connection.next_timeout().is_some_and(|timer| timer <= self.clock.now()) {
                client.handle_timeout(&mut connection, self.clock.now());
            }
        }
    }

    /// Sends what the connection has to send. What cannot go is lost, as on a path.
    fn transmit(
        &self,
        connection: &mut quic::Connection,
        socket: &OwnedFd,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        bytes.clear();
        while let Some(transmit) = connection.next_transmit(self.clock.now(), bytes) {
            for datagram in bytes.chunks(transmit.segment_bytes.max(1)) {
                match rustix::net::send(socket, datagram, SendFlags::NOSIGNAL) {
                    Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::MSGSIZE) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
            bytes.clear();
        }
        Ok(())
    }
}
