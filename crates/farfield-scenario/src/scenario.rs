//! The scenario as written: the tables of one TOML file as types, with their defaults.
//!
//! A value that its type does not allow is refused here; what several keys say together is checked by
//! [`RunPlan`](crate::RunPlan).

use crate::capture::CaptureSpec;
use crate::flow::FlowSpec;
use crate::host::HostSpec;
use crate::http::HttpVersion;
use crate::inputs::hex;
use crate::monitor::MonitorSpec;
use crate::network::NetworkSpec;
use crate::note::Note;
use crate::run::RunSpec;
use crate::server::ServerSpec;
use crate::simulated::SimulatedSpec;
use crate::sockets::SocketsSpec;
use crate::tls::TlsSpec;
use crate::values::{Samples, Url};
use farfield_base::Bytes;
use farfield_engine::PlaneKind;
use farfield_measure::{Threshold, VerdictLimits};
use farfield_origin::OriginConfig;
use farfield_traffic::session::SessionSpec;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::{EventPolicy, Policy};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// A scenario as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Scenario {
    /// Name in reports, and of the run directory.
    pub name: String,
    /// The user's note on the run, shown with its results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The server to drive; the built-in one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Url>,
    /// The hosts that users ask beside the target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostSpec>,
    /// The version of HTTP that users speak.
    pub http: HttpVersion,
    /// The plane that carries the bytes.
    pub plane: PlaneKind,
    /// Conditions that the result is compared with.
    pub thresholds: Vec<Threshold>,
    /// Conditions that end the run once one is broken.
    pub aborts: Vec<Threshold>,
    /// Monitoring of the server while the run goes on; `false` for none.
    #[serde(skip_serializing_if = "MonitorSpec::is_default")]
    pub monitor: MonitorSpec,
    /// Length of the run.
    pub run: RunSpec,
    /// The model of load.
    pub load: LoadSpec,
    /// Flows of users, each with a load of its own, in place of the one above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<FlowSpec>,
    /// Requests; for the target's own path, or the built-in server's pages, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSetSpec>,
    /// Sessions in which requests depend on replies, in place of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSpec>,
    /// Use of connections.
    pub connections: Policy,
    /// Replies that come in pieces.
    pub events: EventPolicy,
    /// TLS, where the target's scheme is https.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// The sockets plane.
    pub sockets: SocketsSpec,
    /// The emulated and the simulated plane: clients, and the links between them and the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
    /// The emulated plane: the server and its kernel's TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSpec>,
    /// The simulated plane: the model of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedSpec>,
    /// Packets that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureSpec>,
    /// The built-in server, where there is no target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginConfig>,
    /// Limits beyond which the run is invalid.
    pub verdict: VerdictLimits,
    /// Files that are kept.
    pub output: OutputSpec,
    /// Tables of another plane, which the run ignores because of `--plane sockets`.
    #[serde(skip)]
    pub ignored: Vec<&'static str>,
    /// The network's time has no end: it is that of a shell, a route or a path.
    #[serde(skip)]
    pub has_no_end: bool,
}

/// The tables that are about clients on a network, or about a server before them.
pub(crate) const OF_A_NETWORK: [&str; 3] = ["network", "server", "simulated"];

/// `[output]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OutputSpec {
    /// The run directory; under `farfield-runs`, by time and name, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Samples that are kept: `"all"`, `"none"`, or k for every k-th.
    pub samples: Samples,
    /// Largest size of samples on disk.
    pub disk_budget: Bytes,
    /// True if the page of the run, `report.html`, is written at its end.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub report: bool,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            name: "run".to_owned(),
            note: None,
            seed: 1,
            target: None,
            host: Vec::new(),
            http: HttpVersion::default(),
            plane: PlaneKind::default(),
            thresholds: Vec::new(),
            aborts: Vec::new(),
            monitor: MonitorSpec::default(),
            run: RunSpec::default(),
            load: LoadSpec::default(),
            flow: Vec::new(),
            requests: None,
            session: None,
            connections: Policy::default(),
            events: EventPolicy::default(),
            tls: None,
            sockets: SocketsSpec::default(),
            network: None,
            server: None,
            simulated: None,
            capture: None,
            origin: None,
            verdict: VerdictLimits::default(),
            output: OutputSpec::default(),
            ignored: Vec::new(),
            has_no_end: false,
        }
    }
}

impl Default for OutputSpec {
    fn default() -> OutputSpec {
        OutputSpec { directory: None, samples: Samples::default(), disk_budget: Bytes(4 << 30), report: true }
    }
}

impl Scenario {
    /// The scenario as TOML, with every key that has a value.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario is written as it was read")
    }

    /// The SHA-256 of that text without the note, in hexadecimal: the same as long as the scenario is.
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(Scenario { note: None, ..self.clone() }.to_toml()))
    }
}
