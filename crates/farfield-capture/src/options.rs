//! Parts of a capture that are read, and bounds on the memory that reading takes.

use crate::secrets::Secrets;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A server to look at. An empty filter matches any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerFilter {
    /// The server's address; any if absent.
    pub address: Option<IpAddr>,
    /// The server's port; any if absent.
    pub port: Option<u16>,
}

impl ServerFilter {
    /// True if the filter says anything.
    pub fn is_set(&self) -> bool {
        self.address.is_some() || self.port.is_some()
    }

    /// True if `end` is such a server.
    pub fn matches(&self, end: SocketAddr) -> bool {
        self.address.is_none_or(|address| address == end.ip())
            && self.port.is_none_or(|port| port == end.port())
    }
}

/// Parts of a capture that are read, and bounds. The defaults read everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Connections to this server only. It also decides who is server on connections whose SYN is not in the
    /// capture.
    pub server: ServerFilter,
    /// Packets of this interface only.
    pub interface: Option<u32>,
    /// Bytes of a head of a request or reply; longer ones are not read. 256 KiB by default.
    pub head_bytes_max: usize,
    /// Bytes of a request target that are kept. 8 KiB by default.
    pub target_bytes_max: usize,
    /// Bytes that may wait behind a hole, in one direction of a connection. Beyond it, the hole is taken as
    /// never captured. 16 MiB by default.
    pub waiting_bytes_max: usize,
    /// Bytes that may wait behind holes on all connections together. 256 MiB by default.
    pub waiting_bytes_total_max: usize,
    /// Packets that may be read ahead to put a file in order of time. 4,096 by default; also at most 16 MiB.
    pub sort_packets: usize,
    /// Connections that are held, those included that closed up to a minute ago. Beyond it, a closed one
    /// leaves, or an open one that was silent for long, which is counted. 2,000,000 by default, of about 1
    /// KiB each.
    pub open_max: usize,
    /// Secrets of sessions of TLS and QUIC, with which they are read. None by default: then TLS is no HTTP,
    /// and datagrams are other packets.
    pub secrets: Option<Arc<Secrets>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            server: ServerFilter::default(),
            interface: None,
            head_bytes_max: 256 << 10,
            target_bytes_max: 8 << 10,
            waiting_bytes_max: 16 << 20,
            waiting_bytes_total_max: 256 << 20,
            sort_packets: 4096,
            open_max: 2_000_000,
            secrets: None,
        }
    }
}
