//! Configuration of an origin: its address, its contents, and its speed.
//!
//! Every field has a type that cannot hold a nonsensical value, so there is nothing to validate later.

use crate::fault::{Hiccup, SlowStart, SlowTail, Stall};
use crate::site::SiteConfig;
use farfield_base::{Duration, Share};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Sessions of HTTP/3 that an origin which takes early data keeps for clients to resume.
pub const EARLY_SESSIONS: usize = 1 << 16;

/// The settings of an origin; as text (TOML), keys are in kebab-case and absent ones keep their default.
///
/// The default is a server without limits on one thread: it answers as fast as it can.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OriginConfig {
    /// Address to listen on; port 0 takes any free port. Default `127.0.0.1:0`.
    pub bind: SocketAddr,
    /// The origin serves over TLS, with a certificate for `localhost` that it makes at the start. Default no.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// PEM file of the certificate that it serves over TLS with, the chain behind it; relative to where the
    /// program runs. Default: one that it makes, if `tls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// PEM file of the certificate's private key. Default: the certificate's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Value of a field `Alt-Svc` (RFC 7838) in every reply over TLS, such as `h3=":8443"`. Default: no such
    /// field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt_svc: Option<String>,
    /// Clients may send requests within the handshake of HTTP/3 (0-RTT). Sessions then are kept in memory,
    /// 65,536 of them, in place of tickets that hold them. Default no.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub early_data: bool,
    /// Threads that serve, each with an event loop; connections go to them in turn. Default 1.
    pub threads: NonZeroU32,
    /// From this follow the site and which requests fail. Default 1.
    pub seed: u64,
    /// Service time of every request. Default none.
    pub service_time: Duration,
    /// `m`: at most so many requests are in service at once, the others wait first come, first served, so
    /// that the capacity is exactly `m / service_time`. Default: no limit, every request is served at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<NonZeroU32>,
    /// The share of requests answered with 503, drawn by seed and request number. A request that fails is
    /// served like any other first, so that errors do not change the capacity. Default none.
    pub error_rate: Share,
    /// A periodic stall, such as `500ms every 5s`. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    /// One long pause, such as `2s at 3s`. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup: Option<Hiccup>,
    /// Some requests take longer, such as `1% take 200ms`. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_tail: Option<SlowTail>,
    /// The first requests take longer, such as `100ms for 3s`. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStart>,
    /// At most so many connections are accepted at once, as with a server that gives each connection a
    /// process (prefork); the rest wait in the kernel's accept queue. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_limit: Option<NonZeroU32>,
    /// The length of the accept queue asked of `listen`; the kernel cuts it to `net.core.somaxconn`.
    /// Default 4096.
    pub backlog: u32,
    /// Time that a connection may stay idle, or take to send a request's head, before it is closed; zero
    /// closes it after every reply. Over HTTP/2 a connection is idle once every request has its reply's head,
    /// and GOAWAY announces the close: a body on its way is sent to its end. Default: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive_timeout: Option<Duration>,
    /// Number of replies after which a connection is closed, announced by `Connection: close` on the last;
    /// over HTTP/2 by GOAWAY, and what is requested until the client has read it is answered too. Default:
    /// no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive_requests: Option<NonZeroU32>,
    /// A folder whose files are served as they are, before anything else of the same path; relative to where
    /// the program runs. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// The generated site.
    pub site: SiteConfig,
}

impl Default for OriginConfig {
    fn default() -> OriginConfig {
        OriginConfig {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            certificate: None,
            key: None,
            alt_svc: None,
            early_data: false,
            threads: NonZeroU32::MIN,
            seed: 1,
            service_time: Duration::ZERO,
            servers: None,
            error_rate: Share::NONE,
            stall: None,
            hiccup: None,
            slow_tail: None,
            slow_start: None,
            accept_limit: None,
            backlog: 4096,
            keep_alive_timeout: None,
            keep_alive_requests: None,
            root: None,
            site: SiteConfig::default(),
        }
    }
}

impl OriginConfig {
    /// True if it serves over TLS.
    pub fn is_secure(&self) -> bool {
        self.tls || self.certificate.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kebab_case_and_keeps_defaults() {
        let text =
            "bind = '[::1]:8080'\nservice-time = '10ms'\nservers = 4\nerror-rate = '5%'\nsite.pages = 3";
        let config: OriginConfig = toml::from_str(text).unwrap();
        assert_eq!(config.bind, "[::1]:8080".parse().unwrap());
        assert_eq!(config.service_time, Duration::from_ms(10));
        assert_eq!(config.servers, NonZeroU32::new(4));
        assert_eq!(config.site.pages, 3);
        assert_eq!(config.backlog, OriginConfig::default().backlog);
    }

    #[test]
    fn what_is_written_reads_back() {
        let config = OriginConfig {
            keep_alive_timeout: Some(Duration::from_secs(5)),
            accept_limit: NonZeroU32::new(150),
            ..OriginConfig::default()
        };
        let text = toml::to_string(&config).unwrap();
        assert_eq!(toml::from_str::<OriginConfig>(&text).unwrap(), config, "{text}");
    }

    #[test]
    fn refuses_unknown_keys_and_impossible_values() {
        for text in
            ["servise-time = '1ms'", "servers = 0", "threads = 0", "error-rate = 1.5", "site.page = 1"]
        {
            assert!(toml::from_str::<OriginConfig>(text).is_err(), "{text}");
        }
    }
}
