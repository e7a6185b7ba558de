//! One direction of a link as a scenario writes it. Every key has a default: without any it is an ideal link.
//!
//! ```toml
//! delay = "20ms"            # propagation, one way
//! rate = "1.5Mbit"          # or trace = "lte.trace"; without either, no limit
//! queue = "50 packets"      # see `queue`
//! overhead = 18             # bytes a packet on the wire, beside its own
//! mtu = 1500
//! loss = "1%"               # see `loss`
//! duplicate = "0.1%"
//! corrupt = "0.01%"
//! jitter = "2ms"            # whatever distribution the caller of `resolve` understands
//! reorder = true            # whether jitter may reorder
//! unreachable = "host"      # takes no packets: see `closure`
//! path-profile = "starlink" # delay and losses as a model fitted to data has them: see `profile`
//! ```

use super::LinkModel;
use crate::bit_rate::BitRate;
use crate::closure::Closure;
use crate::delay::{Jitter, Order};
use crate::loss::LossSpec;
use crate::mtu::Mtu;
use crate::profile::ProfileName;
use crate::queue::QueueSpec;
use crate::trace::{Trace, TraceError};
use farfield_base::{Duration, Share};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Hands in a file's bytes: `&mut |path| std::fs::read(path)`, relative to wherever the caller says.
pub type Load<'a> = dyn FnMut(&Path) -> io::Result<Vec<u8>> + 'a;

/// No distribution of jitter at all: for links that are not read from a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoJitter {}

/// One direction of a link as written; `J` is how a distribution of jitter is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[serde(bound(serialize = "J: Serialize", deserialize = "J: Deserialize<'de>"))]
#[non_exhaustive]
pub struct LinkSpec<J = NoJitter> {
    /// Propagation, from last bit out to last bit in.
    pub delay: Duration,
    /// Bits a second; without it and a trace, no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// A file of delivery opportunities in mahimahi's format, in place of a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// The queue.
    pub queue: QueueSpec,
    /// Bytes that each packet takes on the wire beside its own, such as 18 for Ethernet's header and trailer.
    pub overhead: u32,
    /// The largest packet.
    pub mtu: Mtu,
    /// The model of loss.
    pub loss: LossSpec,
    /// The share of packets that arrive twice.
    pub duplicate: Share,
    /// The share of packets in which a bit is flipped.
    pub corrupt: Share,
    /// The distribution of what is added to the delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<J>,
    /// Jitter may reorder packets.
    pub reorder: bool,
    /// Times at which the link takes no packets, and the answer to their senders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Closure>,
    /// A model fitted to data, whose delay and losses the link has in place of `delay` and `loss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_profile: Option<ProfileName>,
}

/// Why a link that was written cannot be. Closed: a caller that points to the key at fault matches all.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Two speeds for one link.
    #[error("a link has either `rate` or `trace`; remove one of them")]
    TwoSpeeds,
    /// A delay or losses beside those of a profile.
    #[error(
        "a `path-profile` has a delay and losses of its own; remove it, or `delay` (and `rtt`) and `loss`"
    )]
    BesideProfile,
    /// Nothing could reorder.
    #[error("`reorder` needs `jitter`; write how much a packet is delayed, such as jitter = \"2ms\"")]
    NothingReorders,
    /// More bytes around a packet than in it.
    #[error("`overhead` is {0}; write at most 65535 bytes")]
    Overhead(u32),
    /// The trace could not be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The trace is none.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The error in the trace, with its line.
        source: TraceError,
    },
}

impl<J> Default for LinkSpec<J> {
    fn default() -> LinkSpec<J> {
        LinkSpec {
            delay: Duration::ZERO,
            rate: None,
            trace: None,
            queue: QueueSpec::default(),
            overhead: 0,
            mtu: Mtu::default(),
            loss: LossSpec::default(),
            duplicate: Share::NONE,
            corrupt: Share::NONE,
            jitter: None,
            reorder: false,
            unreachable: None,
            path_profile: None,
        }
    }
}

impl<J> LinkSpec<J> {
    /// A link of `rate` and `delay`.
    pub fn of(rate: BitRate, delay: Duration) -> LinkSpec<J> {
        LinkSpec { rate: Some(rate), delay, ..LinkSpec::default() }
    }

    /// The model that is meant: `jitter` makes a distribution of what is written, `load` reads the trace.
    ///
    /// # Errors
    /// Keys that contradict each other, an overhead that is too large, or a trace that cannot be read.
    pub fn resolve(
        &self,
        jitter: impl FnOnce(&J) -> Arc<dyn Jitter>,
        load: &mut Load<'_>,
    ) -> Result<LinkModel, LinkError> {
        let mut model = LinkModel::ideal(self.delay)
            .queue(self.queue.discipline(self.mtu, self.overhead))
            .loss(self.loss.loss())
            .duplicate(self.duplicate)
            .corrupt(self.corrupt)
            .overhead(self.overhead)
            .mtu(self.mtu)
            .closed(self.unreachable);
        if self.overhead > 65_535 {
            return Err(LinkError::Overhead(self.overhead));
        }
        model = match (self.rate, &self.trace) {
            (Some(_), Some(_)) => return Err(LinkError::TwoSpeeds),
            (Some(rate), None) => model.rate(rate),
            (None, Some(path)) => model.trace(Arc::new(read(path, load)?)),
            (None, None) => model,
        };
        if let Some(name) = self.path_profile {
            if !self.delay.is_zero() || self.loss != LossSpec::default() {
                return Err(LinkError::BesideProfile);
            }
            model = model.profile(name.profile());
        }
        let order = if self.reorder { Order::Free } else { Order::Kept };
        match &self.jitter {
            Some(written) => Ok(model.jitter(jitter(written), order)),
            None if self.reorder => Err(LinkError::NothingReorders),
            None => Ok(model),
        }
    }
}

fn read(path: &Path, load: &mut Load<'_>) -> Result<Trace, LinkError> {
    let bytes = load(path).map_err(|source| LinkError::Unreadable { path: path.to_owned(), source })?;
    // Bytes that are not UTF-8 are no number either: the line that holds them says so.
    let text = String::from_utf8_lossy(&bytes);
    Trace::parse(&text).map_err(|source| LinkError::Trace { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transmit::Speed;

    type Spec = LinkSpec<Duration>;

    fn resolve(text: &str) -> Result<LinkModel, String> {
        let spec: Spec = toml::from_str(text).map_err(|error| error.to_string())?;
        let written = toml::to_string(&spec).unwrap();
        assert_eq!(toml::from_str::<Spec>(&written).unwrap(), spec, "{written}");
        let constant = |by: &Duration| -> Arc<dyn Jitter> {
            let by = *by;
            Arc::new(move |_: &mut farfield_base::random::Stream| by)
        };
        let load: &mut Load<'_> = &mut |path| match path.to_str() {
            Some("good") => Ok(b"1\n2\n".to_vec()),
            Some("bad") => Ok(b"1\nsoon\n".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        spec.resolve(constant, load).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_become_mechanisms() {
        let model =
            resolve("delay = '20ms'\nrate = '1.5Mbit'\njitter = '2ms'\nreorder = true\nmtu = 576").unwrap();
        assert_eq!(model.propagation(), Duration::from_ms(20));
        assert_eq!(model.speed(), &Speed::Rate("1.5Mbit".parse().unwrap()));
        assert_eq!(model.mtu_of_link(), Mtu::new(576).unwrap());
        assert!(!model.decides_in_order(), "jitter reorders");
        assert!(resolve("jitter = '2ms'").unwrap().decides_in_order());
        assert!(
            matches!(resolve("trace = 'good'").unwrap().speed(), Speed::Trace(trace) if trace.opportunities() == 2)
        );
        assert!(resolve("").is_ok());
        let starlink = resolve("path-profile = 'starlink'\nrate = '100Mbit'").unwrap();
        assert_eq!(starlink.follows().map(|profile| profile.name), Some("starlink"));
        assert!(starlink.jitters() && !starlink.is_plain() && starlink.lost_share() > 0.001);
        assert!(starlink.propagation() < starlink.propagation_most());
    }

    #[test]
    fn mistakes_say_what_would_do() {
        let refuse = |text: &str, hint: &str| {
            let error = resolve(text).expect_err(text);
            assert!(error.contains(hint), "{error}");
        };
        refuse("rate = '0bit'", "above 0");
        refuse("rate = '1Mbit'\ntrace = 'good'", "either `rate` or `trace`");
        refuse("trace = 'bad'", "bad: line 2: `soon`");
        refuse("trace = 'missing'", "missing: ");
        refuse("reorder = true", "needs `jitter`");
        refuse("mtu = 60", "from 68");
        refuse("path-profile = 'skylink'", "unknown variant `skylink`, expected `starlink`");
        refuse("path-profile = 'starlink'\ndelay = '1ms'", "a delay and losses of its own");
        refuse("path-profile = 'starlink'\nloss = '1%'", "a delay and losses of its own");
        refuse("speed = '1Mbit'", "unknown field `speed`");
    }
}
