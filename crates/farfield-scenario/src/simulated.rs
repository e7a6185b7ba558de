//! `[simulated]`: the model of a server, as written, and the plan that it comes to.

use super::mistake::Mistake;
use super::replies::ReplySpec;
use super::tls::{GroupName, TlsVersion};
use farfield_base::random::Seed;
use farfield_base::{Bytes, Duration};
use farfield_http::http2::server::ServerSettings;
use farfield_http::tls::model::{CERTIFICATE_BYTES_MAX, CERTIFICATE_BYTES_MIN, Terms};
use farfield_model::{ObjectCost, Objects, ServerPlan, StreamedReply, Workers};
use farfield_traffic::distribution::TimesSpec;
use farfield_traffic::file::Load;
use farfield_traffic::site::{Object, Site};
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
    /// Event streams in place of bodies of that size, over HTTP/1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<StreamedReplySpec>,
    /// Streams that a client may have open at once on a connection of HTTP/2 or HTTP/3.
    pub streams: NonZeroU32,
    /// TLS of its connections; plain HTTP if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<SimulatedTlsSpec>,
    /// Fixed replies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reply: Vec<ReplySpec>,
}

/// `[simulated.events]`: event streams of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StreamedReplySpec {
    /// Number of events of a reply; without end if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<NonZeroU32>,
    /// The time before each of them.
    pub gap: TimesSpec,
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

    /// The plan of the server, without TLS, which knows the requested `site`. Files come from `load`, and
    /// bodies of random bytes from `seed`.
    pub(crate) fn plan(
        &self,
        seed: Seed,
        site: Option<&Site>,
        load: &mut Load<'_>,
    ) -> Result<ServerPlan, Mistake> {
        let objects = self.objects(seed, site, load)?.into();
        let mut resolve = |key: &str, times: &DistributionSpec| {
            times.resolve(load).map_err(|error| Mistake::in_file(format!("simulated.{key}"), &error))
        };
        Ok(ServerPlan {
            workers: self.workers(),
            objects,
            service: resolve("service-time", &self.service_time)?,
            accept_queue: self.backlog.get(),
            keep_alive: match self.keep_alive_timeout {
                None => Some(Duration::MAX),
                Some(timeout) => Some(timeout).filter(|timeout| !timeout.is_zero()),
            },
            linger: self.linger,
            reply: resolve("reply-size", &self.reply_size.0)?,
            events: match &self.events {
                Some(events) => {
                    let gap = resolve("events.gap", &events.gap)?;
                    if gap.mean() <= 0.0 {
                        let sentence =
                            "events without any time between them are no stream; write gap = \"20ms\"";
                        return Err(Mistake::at("simulated.events.gap", sentence));
                    }
                    Some(StreamedReply { count: events.count, gap })
                }
                None => None,
            },
            streams: ServerSettings { streams_max: self.streams.get(), ..ServerSettings::default() },
            ..ServerPlan::events(self.workers)
        })
    }

    /// Objects and replies that the server knows: those of `site`, and the fixed ones.
    fn objects(&self, seed: Seed, site: Option<&Site>, load: &mut Load<'_>) -> Result<Objects, Mistake> {
        let known = |object: &Object| {
            let known = ObjectCost { size: object.size.0, cost: object.cost };
            (object.path.as_str().into(), known)
        };
        let mut objects: Objects = site.iter().flat_map(|site| site.objects().iter().map(known)).collect();
        for (path, method, reply) in self.fixed_replies(seed, load)? {
            objects.add_reply(&path, method.as_deref(), &reply);
        }
        Ok(objects)
    }

    /// Refuses HTTP/3 before a server that cannot speak it.
    pub(crate) fn check_http3(&self) -> Result<(), Mistake> {
        if self.holding == Holding::Connection {
            let sentence = "processes that hold connections, as Apache's prefork has them, do not speak HTTP/3; write \
                            holding = \"request\", or http = \"2\"";
            return Err(Mistake::at("simulated.holding", sentence));
        }
        let tls = self.tls.clone().unwrap_or_default();
        if !tls.versions.contains(&TlsVersion::Tls13) {
            let sentence =
                "HTTP/3 needs TLS 1.3, which is not among these; add \"1.3\", or write http = \"2\"";
            return Err(Mistake::at("simulated.tls.versions", sentence));
        }
        Ok(())
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
            events: None,
            streams: NonZeroU32::new(ServerSettings::default().streams_max).expect("not 0"),
            tls: None,
            reply: Vec::new(),
        }
    }
}

/// `[simulated.tls]`: what the model of a server has for handshakes, and what they cost it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SimulatedTlsSpec {
    /// Versions that it speaks.
    pub versions: Vec<TlsVersion>,
    /// Groups of key exchange that it accepts, the preferred first.
    pub groups: Vec<GroupName>,
    /// Size of each certificate of its chain.
    pub certificates: Vec<Bytes>,
    /// Tickets that it gives after a handshake of TLS 1.3; with 0 it resumes no session.
    pub tickets: u32,
    /// The server takes requests within the handshake, where users send some.
    pub early_data: bool,
    /// Time that a worker takes for a full handshake.
    pub full_handshake: Duration,
    /// Time that a worker takes for a handshake that resumes a session.
    pub resumed_handshake: Duration,
}

/// The most tickets after a handshake: what a browser would ever use.
const TICKETS_MAX: u32 = 100;

impl Default for SimulatedTlsSpec {
    fn default() -> SimulatedTlsSpec {
        SimulatedTlsSpec {
            versions: vec![TlsVersion::Tls12, TlsVersion::Tls13],
            groups: GroupName::ALL.to_vec(),
            certificates: vec![Bytes(1024); 2],
            tickets: 2,
            early_data: true,
            full_handshake: Duration::from_us(100),
            resumed_handshake: Duration::from_us(50),
        }
    }
}

impl SimulatedTlsSpec {
    /// The terms of the server's model, for users that send early data or do not: its tickets allow some
    /// only where that makes a difference.
    ///
    /// # Errors
    /// The key that asks for what no server has.
    pub(crate) fn terms(&self, users_are_early: bool) -> Result<Terms, Mistake> {
        let refuse = |key: &str, sentence: &str| Err(Mistake::at(format!("simulated.tls.{key}"), sentence));
        if self.versions.is_empty() {
            return refuse("versions", "no version of TLS is spoken; write \"1.2\", \"1.3\" or both");
        }
        if self.groups.is_empty() {
            return refuse("groups", "no group of key exchange is accepted; write \"x25519\", for example");
        }
        let sizes = CERTIFICATE_BYTES_MIN.into()..=CERTIFICATE_BYTES_MAX.into();
        if self.certificates.is_empty() || !self.certificates.iter().all(|size| sizes.contains(&size.0)) {
            return refuse(
                "certificates",
                "write the size of each certificate of the chain, from 300 B to 60 kB",
            );
        }
        if self.tickets > TICKETS_MAX {
            return refuse("tickets", "a server gives no more than 100 tickets at once");
        }
        Ok(Terms {
            versions: self.versions.iter().map(|version| version.of_session()).collect(),
            groups: self.groups.iter().map(|group| group.of_session()).collect(),
            certificates: self.certificates.iter().map(|size| size.0 as u32).collect(),
            tickets: self.tickets,
            early_data: self.early_data && users_are_early,
            full: self.full_handshake,
            resumed: self.resumed_handshake,
        })
    }
}
