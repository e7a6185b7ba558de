//! Look-up of the server's address, and a probe whether anything answers there.

use farfield_base::Duration;
use farfield_base::UnixAddress;
use farfield_os::socket::{begin_connect, unix_address, unix_socket};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::mpsc;
use std::thread;

const PROBE: Duration = Duration::from_secs(5);
/// From one attempt to the next, where several addresses are tried (RFC 8305 section 5).
const BETWEEN_ATTEMPTS: Duration = Duration::from_ms(250);
/// The wait for an answer in datagrams, which a server need not give.
const PROBE_DATAGRAMS: Duration = Duration::from_ms(500);
/// The least length of a datagram that servers answer (RFC 9000 section 14.1).
const FIRST_DATAGRAM: usize = 1200;

/// The reason why the server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The name does not resolve.
    #[error("the name `{host}` does not resolve: {source}; check it, or give the address")]
    Name {
        /// The name.
        host: String,
        /// The system's error.
        source: io::Error,
    },
    /// Nothing listens there.
    #[error("nothing answers at {address}: {source}; start the server first, or check the address and port")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// No proxy listens there.
    #[error(
        "no proxy answers at {address}: {source}; start the proxy first, or check the address and port of `--proxy` \
         (connections.proxy)"
    )]
    Proxy {
        /// The proxy's address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Nothing takes datagrams there.
    #[error(
        "nothing answers at {address} over UDP, on which HTTP/3 goes: {source}; start the server first with HTTP/3, or \
         write another version in `http` (`--http`)"
    )]
    Datagrams {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

impl ReachError {
    /// The error, of a proxy's address.
    #[must_use]
    pub fn of_proxy(self) -> ReachError {
        match self {
            ReachError::Refused { address, source } => ReachError::Proxy { address, source },
            other => other,
        }
    }
}

/// Addresses of a name that are asked at most, each by a thread.
const ASKED_MAX: usize = 128;

/// Why nothing answers at a Unix socket: the system's error, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("nothing answers at the Unix socket {address}: {source}; {remedy}")]
pub struct NoUnixSocket {
    /// The socket.
    address: UnixAddress,
    /// The system's error.
    source: io::Error,
    /// Advice to the user.
    remedy: &'static str,
}

/// Connects once to a Unix socket. One whose backlog is full is there.
///
/// # Errors
/// If no load would reach a server.
pub fn probe_unix(address: &UnixAddress) -> Result<(), NoUnixSocket> {
    let connected =
        unix_address(address).and_then(|own| unix_socket().and_then(|fd| begin_connect(&fd, &own)));
    let errno = match connected {
        Ok(_) | Err(Errno::AGAIN) => return Ok(()),
        Err(errno) => errno,
    };
    let remedy = match errno {
        Errno::NOENT | Errno::NOTDIR => "start the server first, or check the path",
        Errno::ACCESS | Errno::PERM => "run as a user who may write to the socket and enter its folders",
        Errno::CONNREFUSED if !is_socket(address) => "the file is no socket: check the path",
        Errno::CONNREFUSED => "start the server: the file is there, and nobody listens on it",
        Errno::PROTOTYPE => "it takes datagrams, and HTTP is spoken over a stream: check the path",
        _ => "check the path",
    };
    Err(NoUnixSocket { address: address.clone(), source: errno.into(), remedy })
}

/// True if there may be a Unix socket there; `false` if a file is there that is none.
fn is_socket(address: &UnixAddress) -> bool {
    match address {
        UnixAddress::Path(path) => rustix::fs::stat(path)
            .map_or(true, |found| FileType::from_raw_mode(found.st_mode) == FileType::Socket),
        UnixAddress::Abstract(_) => true,
    }
}

/// The address of a server, and the others that its name has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookedUp {
    /// The one that is asked.
    pub address: SocketAddr,
    /// Addresses that are not asked.
    pub others: Vec<SocketAddr>,
}

/// The address of `host` that answers first, of several (RFC 8305): they are tried in the system's order
/// (RFC 6724) with families in turn, each a quarter of a second after the one before, or when that has
/// failed. Of this machine's own, IPv4 goes first. Where none answers, the first.
pub fn look_up(host: &str, port: u16, speaks_datagrams: bool) -> Result<LookedUp, ReachError> {
    let all = in_order(host, port)?;
    let answering = match (all.len(), speaks_datagrams) {
        (1, _) => None,
        (_, false) => first_to_connect(&all),
        (_, true) => all.iter().copied().find(|address| matches!(probe_datagrams(*address), Ok(Some(_)))),
    };
    let address = answering.unwrap_or(all[0]);
    Ok(LookedUp { address, others: all.into_iter().filter(|other| *other != address).collect() })
}

/// The addresses of `host`, at least one, in the order in which they are tried; `host` may be a list of
/// addresses with commas between.
pub fn in_order(host: &str, port: u16) -> Result<Vec<SocketAddr>, ReachError> {
    Ok(in_turn(resolve(host, port)?).into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}

/// Addresses among the first 128 of `all` at which nothing answers, each with the reason, asked at once.
pub fn unreachable_among(all: &[SocketAddr]) -> Vec<(SocketAddr, String)> {
    let refusal = |address: SocketAddr| match probe(address) {
        Ok(Some(_)) => None,
        Ok(None) => Some((address, "no answer came in 5 s".to_owned())),
        Err(ReachError::Refused { source, .. }) => Some((address, source.to_string())),
        Err(error) => Some((address, error.to_string())),
    };
    thread::scope(|scope| {
        let first = all.iter().take(ASKED_MAX);
        let asked: Vec<_> = first.map(|address| scope.spawn(move || refusal(*address))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    })
}

/// Addresses of both families by turns, beginning with that of the first (RFC 8305 section 4).
fn in_turn(mut all: Vec<IpAddr>) -> Vec<IpAddr> {
    if all.iter().all(IpAddr::is_loopback) {
        all.sort_by_key(IpAddr::is_ipv6);
        return all;
    }
    let is_first = all.first().is_some_and(IpAddr::is_ipv6);
    let (first, second): (Vec<IpAddr>, Vec<IpAddr>) =
        all.into_iter().partition(|ip| ip.is_ipv6() == is_first);
    let longer = first.len().max(second.len());
    let pairs = (0..longer).map(|place| [first.get(place), second.get(place)]);
    pairs.flatten().flatten().copied().collect()
}

/// The first that a connection is established to.
fn first_to_connect(all: &[SocketAddr]) -> Option<SocketAddr> {
    let (sender, receiver) = mpsc::channel();
    for address in all.iter().copied() {
        let sender = sender.clone();
        let attempt = move || {
            let is_there = TcpStream::connect_timeout(&address, PROBE.to_std()).is_ok();
            // Somebody else has won.
            let _ = sender.send((address, is_there));
        };
        if thread::Builder::new().name("attempt".to_owned()).spawn(attempt).is_err() {
            break;
        }
        if let Ok((address, true)) = receiver.recv_timeout(BETWEEN_ATTEMPTS.to_std()) {
            return Some(address);
        }
    }
    drop(sender);
    receiver.iter().find(|(_, is_there)| *is_there).map(|(address, _)| address)
}

/// The addresses of `host`, at least one, those of IPv4 first.
pub fn addresses(host: &str, port: u16) -> Result<Vec<IpAddr>, ReachError> {
    let mut found = resolve(host, port)?;
    found.sort_by_key(IpAddr::is_ipv6);
    Ok(found)
}

/// The addresses of `host`, at least one, in the system's order.
fn resolve(host: &str, port: u16) -> Result<Vec<IpAddr>, ReachError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![address]);
    }
    if let Ok(listed) = host.split(',').map(str::parse).collect::<Result<Vec<IpAddr>, _>>() {
        return Ok(listed);
    }
    let name = |source| ReachError::Name { host: host.to_owned(), source };
    let found = (host, port).to_socket_addrs().map_err(name)?;
    let mut known: Vec<IpAddr> = Vec::new();
    for address in found {
        if !known.contains(&address.ip()) {
            known.push(address.ip());
        }
    }
    let found = known;
    match found.is_empty() {
        true => Err(name(io::Error::new(io::ErrorKind::NotFound, "it has no address"))),
        false => Ok(found),
    }
}

/// Connects once, and returns the time it took; `None` if there was no answer in 5 s, as an overloaded
/// server may behave. A refused connection is an error: no load would reach the server.
#[expect(clippy::disallowed_methods, reason = "the one clock reading before a run has a clock of its own")]
pub fn probe(address: SocketAddr) -> Result<Option<Duration>, ReachError> {
    let begun = std::time::Instant::now();
    match TcpStream::connect_timeout(&address, PROBE.to_std()) {
        Ok(_) => Ok(Some(Duration::from_secs_f64(begun.elapsed().as_secs_f64()))),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
        Err(source) => Err(ReachError::Refused { address, source }),
    }
}

/// Asks for a version of QUIC that none speaks, and returns the time to the answer, which names those that
/// the server does speak (RFC 9000 section 6.1); `None` if there was none in half a second, since servers
/// may keep silent. A port that nothing listens on, or a path that there is none of, is an error.
///
/// Call it without a run of its own, as [`probe`].
#[expect(clippy::disallowed_methods, reason = "the one clock reading before a run has a clock of its own")]
pub fn probe_datagrams(address: SocketAddr) -> Result<Option<Duration>, ReachError> {
    let refused = |source| ReachError::Datagrams { address, source };
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).map_err(refused)?;
    socket.connect(address).map_err(refused)?;
    socket.set_read_timeout(Some(PROBE_DATAGRAMS.to_std())).map_err(refused)?;
    let begun = std::time::Instant::now();
    socket.send(&unknown_version()).map_err(refused)?;
    match socket.recv(&mut [0; 1500]) {
        Ok(_) => Ok(Some(Duration::from_secs_f64(begun.elapsed().as_secs_f64()))),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
        Err(source) => Err(refused(source)),
    }
}

/// A first packet of a version that is reserved to be unknown (RFC 9000 section 15), with a long header
/// (RFC 8999 section 5.1): two connection identifiers of eight bytes, and nothing that means anything.
fn unknown_version() -> [u8; FIRST_DATAGRAM] {
    let mut packet = [0; FIRST_DATAGRAM];
    let header = [&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8][..], b"farfield", &[8], b"probing."].concat();
    packet[..header.len()].copy_from_slice(&header);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_tried_by_turns() {
        let of = |all: &[&str]| -> Vec<String> {
            let all = all.iter().map(|ip| ip.parse().expect("an address")).collect();
            in_turn(all).iter().map(IpAddr::to_string).collect()
        };
        assert_eq!(
            of(&["2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1"]),
            ["2001:db8::1", "192.0.2.1", "2001:db8::2", "2001:db8::3"]
        );
        assert_eq!(of(&["192.0.2.1", "2001:db8::1"]), ["192.0.2.1", "2001:db8::1"]);
        assert_eq!(of(&["::1", "127.0.0.1"]), ["127.0.0.1", "::1"], "this machine's own");
    }

    /// A server on one of a name's addresses is found, whichever it is.
    #[test]
    fn the_address_that_answers_is_asked() {
        let bound = |address: &str| std::net::TcpListener::bind(address).expect("an address of this machine");
        let there = bound("127.0.0.2:0");
        let port = there.local_addr().expect("an address").port();
        let all =
            ["127.0.0.3", "127.0.0.4", "127.0.0.2"].map(|ip| SocketAddr::new(ip.parse().expect("one"), port));
        assert_eq!(first_to_connect(&all), Some(all[2]));
        drop(there);
        assert_eq!(first_to_connect(&all), None);
        let one = look_up("127.0.0.9", 1, false).expect("an address");
        assert_eq!((one.address.to_string(), one.others), ("127.0.0.9:1".to_owned(), Vec::new()));
    }

    #[test]
    fn a_port_of_datagrams_is_known_by_its_answer() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = server.local_addr().expect("an address");
        let probed = std::thread::spawn(move || probe_datagrams(address));
        let mut packet = [0; 1500];
        let (count, from) = server.recv_from(&mut packet).expect("a packet");
        assert_eq!((count, packet[0] & 0x80), (FIRST_DATAGRAM, 0x80));
        assert_eq!(packet[1..5].iter().map(|byte| byte & 0x0f).collect::<Vec<_>>(), [0x0a; 4]);
        server.send_to(b"any answer", from).expect("sent");
        // An answer that came late is none.
        probed.join().expect("no panic").expect("an answer or none");
        drop(server);
        let refused = probe_datagrams(address).expect_err("nobody listens").to_string();
        assert!(refused.starts_with("nothing answers at 127.0.0.1:"), "{refused}");
        assert!(refused.contains(" over UDP") && refused.contains("`--http`"), "{refused}");
    }
}
