//! Scenarios: a TOML file and flags, read once into the plan of a run.
//!
//! [`read`] parses the file and resolves all that it describes into a [`RunPlan`], or reports the first mistake with file,
//! line and key. [`RunPlan::prepare`] adds what depends on the machine and returns the engine's settings. Terminals and exit
//! codes belong to the program.

mod activity;
mod document;
mod error;
pub mod inputs;
mod kinds;
mod laying;
mod mistake;
mod network;
mod overlay;
mod plan;
mod plane;
mod prepare;
mod ramp;
mod read;
mod replied;
mod scenario;
mod scopes;
mod served;
mod server;
mod simulated;
pub mod site_folder;
mod tcp;

pub use error::ScenarioError;
pub use kinds::{Samples, Url};
pub use mistake::plain;
pub use overlay::Overlay;
pub use plan::RunPlan;
pub use prepare::Prepared;
pub use read::{from_file, from_flags, from_text, from_url, read};
pub use scenario::{HttpVersion, OutputSpec, RunSpec, Scenario, SocketsSpec, Unfinished};

use scenario::OF_A_NETWORK;
