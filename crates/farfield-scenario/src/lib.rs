//! Scenarios: a TOML file and flags, read once into the plan of a run.
//!
//! [`read`] parses the file and resolves all that it describes into a [`RunPlan`], or reports the first
//! mistake with file, line and key. [`RunPlan::prepare`] adds what depends on the machine and returns the
//! engine's settings. Terminals and exit codes belong to the program.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod activity;
mod brought;
mod capture;
mod cross_traffic;
mod document;
mod elsewhere;
mod error;
mod flow;
mod host;
mod http;
pub mod inputs;
mod mistake;
mod monitor;
mod named_server;
mod network;
mod network_change;
mod network_layout;
mod note;
mod other_servers;
mod overlay;
mod part;
mod plan;
mod plane;
mod prepare;
mod programs;
mod ramp;
mod read;
mod replies;
mod run;
mod scenario;
pub mod schema;
mod scopes;
mod server;
mod simulated;
mod site;
pub mod site_folder;
mod sockets;
mod start_at;
pub mod starts;
mod tcp;
mod tls;
mod tls_advice;
mod values;
mod ways;
mod websocket;

pub use elsewhere::ConnectTo;
pub use error::ScenarioError;
pub use flow::FlowSpec;
pub use host::HostSpec;
pub use http::HttpVersion;
pub use mistake::in_user_words;
pub use monitor::{MonitorPrometheus, MonitorSpec, MonitorTable, MonitorTier};
pub use note::{Note, NoteError};
pub use overlay::{Overlay, TypedRequest};
pub use plan::AskedOfFlow;
pub use plan::RunPlan;
pub use prepare::Prepared;
pub use read::{from_file, from_flags, from_text, from_url, read};
pub use run::{RunSpec, Unfinished};
pub use scenario::{OutputSpec, Scenario};
pub use sockets::SocketsSpec;
pub use start_at::StartAt;
pub use tls::{GroupName, TlsSpec, TlsVersion};
pub use values::{Samples, Url};

use scenario::OF_A_NETWORK;
