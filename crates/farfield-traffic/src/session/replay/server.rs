//! The server whose part of a recording is asked for again: recordings have requests to several.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use url::Url;

/// A server: its scheme, its host in lower case, and its port unless it is the scheme's own. What was asked
/// for by TLS is not asked for in clear with the rest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplayServer {
    host: String,
    port: Option<u16>,
    is_tls: bool,
}

impl ReplayServer {
    /// The server that a URL names.
    pub fn of(url: &Url) -> Option<ReplayServer> {
        let host = url.host_str()?.to_ascii_lowercase();
        Some(ReplayServer { host, port: url.port(), is_tls: url.scheme() == "https" })
    }

    /// The one that a Host field names, of either scheme.
    pub fn of_authority(authority: &str) -> Option<ReplayServer> {
        let server = ReplayServer::of(&Url::parse(&format!("http://{authority}/")).ok()?)?;
        Some(ReplayServer { port: server.port.filter(|port| *port != 443), ..server })
    }
}

/// The target, if it is among `servers`; else of those that occur most often the first.
pub fn server_of_most<'a>(
    servers: impl Iterator<Item = &'a ReplayServer>,
    target: Option<&str>,
) -> Option<&'a ReplayServer> {
    let mut counts: BTreeMap<&ReplayServer, (u64, usize)> = BTreeMap::new();
    for (place, server) in servers.enumerate() {
        counts.entry(server).or_insert((0, place)).0 += 1;
    }
    // An authority is of either scheme.
    let asked = target.and_then(ReplayServer::of_authority);
    let is_asked =
        |own: &ReplayServer| asked.as_ref().is_some_and(|to| (&to.host, to.port) == (&own.host, own.port));
    let most = counts.iter().max_by_key(|(own, (count, place))| (is_asked(own), *count, Reverse(*place)));
    most.map(|(server, _)| *server)
}
