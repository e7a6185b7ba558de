//! Look-up of the server's address, and a probe whether anything answers there.

use farfield_base::Duration;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};

const PROBE: Duration = Duration::from_secs(5);

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
}

/// The first address of `host`; IPv4 is preferred.
pub fn look_up(host: &str, port: u16) -> Result<SocketAddr, ReachError> {
    addresses(host, port).map(|addresses| SocketAddr::new(addresses[0], port))
}

/// The addresses of `host`, at least one, those of IPv4 first.
pub fn addresses(host: &str, port: u16) -> Result<Vec<IpAddr>, ReachError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![address]);
    }
    let name = |source| ReachError::Name { host: host.to_owned(), source };
    let found = (host, port).to_socket_addrs().map_err(name)?;
    let mut found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    found.sort_by_key(IpAddr::is_ipv6);
    found.dedup();
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
