//! The hosts that users ask: what is known of each before the run, and the clients of TLS, HTTP/3 and proxies
//! that connections to it are opened with.

use crate::connection::Connection;
use crate::plan::Share;
use crate::target::HostName;
use crate::version::HttpVersion;
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_http::{quic, tls};
use std::sync::Arc;

/// A host that connections lead to.
#[derive(Debug)]
pub(crate) struct Host {
    /// The version of HTTP that users speak with it.
    pub version: HttpVersion,
    /// The client of connections of TCP; absent where the scheme is http.
    pub tls: Option<tls::Client>,
    /// The client of connections that are upgraded to WebSockets, where those of requests may have streams.
    pub upgrades: Option<tls::Client>,
    /// The client of connections of QUIC, where there may be such.
    pub quic: Option<quic::Client>,
    /// The request for a tunnel through a proxy, where there is one to go through.
    pub tunnel: Option<Bytes>,
}

impl Host {
    /// All hosts of a flow, by number.
    pub fn of_all(plan: &Share) -> Vec<Host> {
        let names = plan.itinerary.hosts().iter();
        names.enumerate().map(|(place, name)| Host::of(plan, place, name)).collect()
    }

    fn of(plan: &Share, place: usize, name: &HostName) -> Host {
        let version = name.version;
        let tls = plan.tls.get(place).and_then(Option::as_ref);
        let policy = &plan.users.policy;
        let tunnel = policy.proxy.as_ref().filter(|_| tls.is_some() || !version.has_absolute_form());
        let carries_quic = version.is_over_quic() || policy.carries_datagrams();
        let of_worker = (plan.users.seed, plan.worker.number, place);
        Host {
            version,
            tunnel: tunnel.map(|proxy| proxy.tunnel_request(&name.authority, tls.is_some()).into()),
            quic: quic_client(version, tls, of_worker).filter(|_| carries_quic),
            upgrades: upgrade_client(version, tls).filter(|_| plan.itinerary.opens_websockets()),
            tls: tls.filter(|_| !version.is_over_quic()).map(tls::Client::new),
        }
    }

    /// True if users look for alternatives in its replies.
    pub fn looks_for_alternatives(&self) -> bool {
        self.version == HttpVersion::Auto && self.quic.is_some()
    }

    /// The client of a connection of TCP.
    pub fn client_of(&self, connection: &Connection) -> Option<&tls::Client> {
        self.upgrades.as_ref().filter(|_| connection.upgrades).or(self.tls.as_ref())
    }

    /// Forgets the tickets of user `user`.
    pub fn forget(&self, user: u32) {
        for client in self.tls.iter().chain(&self.upgrades) {
            client.forget(user);
        }
        if let Some(client) = &self.quic {
            client.forget(user);
        }
    }
}

/// The client of connections that are upgraded, which speak HTTP/1.1 whatever users speak beside them.
fn upgrade_client(version: HttpVersion, tls: Option<&tls::Sessions>) -> Option<tls::Client> {
    match tls {
        Some(tls::Sessions::Encrypted(settings)) if version.may_have_streams() => {
            let settings = tls::TlsSettings::clone(settings).speaking(tls::Alpn::Http11);
            Some(tls::Client::new(&tls::Sessions::Encrypted(settings)))
        }
        _ => None,
    }
}

/// The client of connections of QUIC, whose handshakes are those of `tls`, where the version has or may have
/// such.
///
/// # Panics
/// If it must be HTTP/3, without TLS, which whoever makes the plan checks. Without cryptography the numbers
/// of QUIC follow from the run's seed, the worker's number and the host's.
fn quic_client(
    version: HttpVersion,
    tls: Option<&tls::Sessions>,
    (seed, worker, host): (Seed, u32, usize),
) -> Option<quic::Client> {
    let is_over_quic = version.is_over_quic();
    match tls {
        None if is_over_quic => unreachable!("HTTP/3 is refused without TLS"),
        Some(tls::Sessions::Modelled(offer)) if is_over_quic => {
            let mut bytes = [0; quic::SEED_BYTES];
            bytes[..8].copy_from_slice(&seed.0.to_le_bytes());
            bytes[8..12].copy_from_slice(&worker.to_le_bytes());
            bytes[12] = host as u8;
            Some(quic::Client::modelled(Arc::clone(offer), bytes))
        }
        // QUIC has TLS 1.3 alone (RFC 9001 section 4.2).
        Some(tls::Sessions::Encrypted(settings))
            if is_over_quic || version == HttpVersion::Auto && settings.offers_tls13() =>
        {
            Some(quic::Client::new(settings))
        }
        _ => None,
    }
}
