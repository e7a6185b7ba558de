//! `[simulated]` and `[capture]`, as written: the server's model, and which packets are kept.

use super::replies::ReplySpec;
use farfield_base::Duration;
use farfield_emulator::server::Workers;
use farfield_traffic::distribution::TimesSpec;
use farfield_traffic::{Amount, Dimension, DistributionSpec};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// `[simulated]`: the model of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SimulatedSpec {
    /// m: how many serve at once.
    pub workers: NonZeroU32,
    /// The thing that a worker holds while it serves.
    pub holding: Holding,
    /// The longest accept queue.
    pub backlog: NonZeroU32,
    /// Time that a connection may be idle; unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive_timeout: Option<Duration>,
    /// Time that a worker that holds connections and closes one first waits for the client to close as well.
    pub linger: Duration,
    /// Time that a worker takes for a request.
    pub service_time: TimesSpec,
    /// Size of a reply's body, but for objects of the requested site, which have their own.
    pub reply_size: SizesSpec,
    /// Fixed replies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reply: Vec<ReplySpec>,
}

/// The thing that a worker of the model holds while it serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holding {
    /// A request: event loops, as nginx has them.
    #[default]
    Request,
    /// A connection, from its acceptance until it is closed: processes, as Apache's prefork has them.
    Connection,
}

impl SimulatedSpec {
    /// The workers: their kind and number.
    pub fn workers(&self) -> Workers {
        match self.holding {
            Holding::Request => Workers::Events(self.workers),
            Holding::Connection => Workers::Processes(self.workers),
        }
    }
}

/// A distribution of sizes, in bytes where no unit stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DistributionSpec")]
pub struct SizesSpec(pub DistributionSpec);

impl TryFrom<DistributionSpec> for SizesSpec {
    type Error = &'static str;

    fn try_from(spec: DistributionSpec) -> Result<SizesSpec, &'static str> {
        match spec.dimension() {
            Some(Dimension::Time) => Err("these are times where sizes are wanted; write them as `1KiB`"),
            _ => Ok(SizesSpec(spec)),
        }
    }
}

impl Default for SimulatedSpec {
    fn default() -> SimulatedSpec {
        let kibibyte = "1KiB".parse().expect("a size");
        SimulatedSpec {
            workers: NonZeroU32::new(8).expect("not 0"),
            holding: Holding::Request,
            backlog: NonZeroU32::new(511).expect("not 0"),
            keep_alive_timeout: None,
            linger: Duration::ZERO,
            service_time: Duration::from_us(100).into(),
            reply_size: SizesSpec(DistributionSpec::constant(Amount::Size(kibibyte))),
            reply: Vec::new(),
        }
    }
}

/// `[capture]`: packets kept in `capture.pcapng`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CaptureSpec {
    /// All packets between the network and the server.
    pub gateway: bool,
    /// Clients whose packets are seen at their own interface, by number from 0.
    pub clients: Vec<u32>,
    /// Bytes kept of each packet; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snap: Option<NonZeroU32>,
    /// Packets that are kept; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterSpec>,
}

/// `[capture.filter]`: a packet is kept if it fits every key that is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FilterSpec {
    /// Clients whose packets are kept.
    pub clients: Vec<u32>,
    /// TCP port that packets come from or go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}
