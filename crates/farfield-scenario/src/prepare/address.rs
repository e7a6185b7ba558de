//! Address of the server that a run asks, the others of its name, and those of them that are not asked.

use crate::host::PlannedHosts;
use crate::http::HttpVersion;
use crate::plane::PlannedPlane;
use crate::tls::PlannedTls;
use crate::{Scenario, ScenarioError, Url};
use farfield_engine::HostSettings;
use farfield_engine::plane::{Plane, PlaneKind};
use farfield_engine::sockets::PeerBook;
use farfield_origin::{Origin, OriginConfig};
use farfield_testbed::reach;
use farfield_user::Addresses;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Addresses that a run asks.
pub(super) struct AskedAt {
    /// The server's address.
    pub address: SocketAddr,
    /// Addresses that connections go to in turn, if to several.
    pub peers: Option<Arc<PeerBook>>,
    /// A warning about addresses that are not asked, or that do not answer.
    pub not_asked: Option<String>,
    /// The built-in server, which serves for as long as this is held.
    pub origin: Option<Origin>,
}

impl Scenario {
    /// Looks up the server of a run on `plane`, or starts the built-in one there.
    pub(super) fn asked_at(
        &self,
        plane: &PlannedPlane,
        built_in: &OriginConfig,
    ) -> Result<AskedAt, ScenarioError> {
        let at = |address| AskedAt { address, peers: None, not_asked: None, origin: None };
        Ok(match (plane, &self.target) {
            // It stands for this machine alone.
            (Plane::Sockets(()), Some(url)) if self.connections.unix_socket.is_some() => {
                at(SocketAddr::from((Ipv4Addr::LOCALHOST, url.port())))
            }
            (Plane::Sockets(()), Some(url)) => self.looked_up(url)?,
            (Plane::Sockets(()), None) => {
                let origin = Origin::start(built_in.clone()).map_err(ScenarioError::unavailable)?;
                let asked = at(origin.address());
                AskedAt { origin: Some(origin), ..asked }
            }
            (Plane::Emulated(laid_out), _) => {
                let (servers, has_v4) = (laid_out.network.plan.servers, laid_out.around[0].is_some());
                let ip = if has_v4 { IpAddr::V4(servers.v4) } else { IpAddr::V6(servers.v6) };
                at(SocketAddr::new(ip, servers.port))
            }
            (Plane::Simulated(_), _) => {
                let servers = self.servers();
                at(SocketAddr::from((servers.v4, servers.port)))
            }
        })
    }

    /// The hosts beside the target, each with its address, and warnings about addresses that are not asked.
    pub(super) fn prepare_hosts(
        &self,
        planned: PlannedHosts,
    ) -> Result<(Vec<HostSettings>, Vec<String>), ScenarioError> {
        let others = self.network.as_ref().map(|network| self.other_servers(network)).unwrap_or_default();
        let (mut hosts, mut warnings) = (Vec::new(), Vec::new());
        for ((host, tls), number) in planned.hosts.into_iter().zip(self.servers_of_hosts()) {
            let address = match self.plane {
                PlaneKind::Sockets => {
                    let found = self.looked_up(&host.url)?;
                    // Connections to a host go to one address.
                    let several = found.peers.is_some() && found.not_asked.is_none();
                    let all = several.then(|| {
                        format!(
                            "`connections.addresses` is about the target: of `{}` the run asks {} alone",
                            host.name(),
                            found.address
                        )
                    });
                    warnings.extend(found.not_asked.or(all));
                    found.address
                }
                PlaneKind::Emulated | PlaneKind::Simulated => {
                    let place = usize::from(number).checked_sub(1);
                    let servers = place.map_or(self.servers(), |place| others[place]);
                    SocketAddr::from((servers.v4, servers.port))
                }
            };
            let tls = tls.map(PlannedTls::prepare).transpose()?;
            hosts.push(HostSettings { name: host.name(), address, tls });
        }
        Ok((hosts, warnings))
    }

    /// Looks up the host of `url`, or what stands for it.
    fn looked_up(&self, url: &Url) -> Result<AskedAt, ScenarioError> {
        let speaks_datagrams = self.http == HttpVersion::Http3;
        let (host, port) = self.connects_to(url);
        let unmatched = self.sockets.unmatched(url).map_or_else(String::new, |words| format!("; {words}"));
        let found = reach::look_up(&host, port, speaks_datagrams)
            .map_err(|error| ScenarioError::unavailable(format!("{error}{unmatched}")))?;
        let all = reach::in_order(&host, port).map_err(ScenarioError::unavailable)?;
        let peers = self.peers(&host, &all);
        // Several addresses that were given for it are no name.
        let host = if host.contains(',') { url.host() } else { &host };
        let not_asked = match self.connections.addresses {
            Addresses::First => warning_of_addresses(host, &found),
            Addresses::All if !speaks_datagrams => warning_of_unreachable(host, &all),
            Addresses::All | Addresses::EachConnection => None,
        };
        Ok(AskedAt { address: found.address, peers, not_asked, origin: None })
    }
}

/// A name with several addresses may be several servers, of which a run asks one.
fn warning_of_addresses(host: &str, found: &reach::LookedUp) -> Option<String> {
    let several = 1 + found.others.len();
    let is_one_machine =
        found.address.ip().is_loopback() && found.others.iter().all(|other| other.ip().is_loopback());
    (several > 1 && !is_one_machine).then(|| {
        format!(
            "`{host}` has {several} addresses, of which the run asks {} alone, the first to answer: what is behind the \
             others is not measured; `--addresses all` asks them all",
            found.address.ip()
        )
    })
}

/// Addresses that a warning names.
const NAMED_MAX: usize = 5;

/// The warning about addresses that connections will go to in vain.
fn warning_of_unreachable(host: &str, all: &[SocketAddr]) -> Option<String> {
    let silent = reach::unreachable_among(all);
    let named = silent.iter().take(NAMED_MAX).map(|(address, why)| format!("{address} ({why})"));
    let more = silent.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    let named: Vec<String> = named.chain(more).collect();
    (!silent.is_empty()).then(|| {
        let of = all.len();
        format!("of the {of} addresses of `{host}` nothing answered before the run at {}", named.join(", "))
    })
}
