//! Scenarios: TOML and flags, read into what a run takes.
//!
//! [`read`] puts the file and the flags together and says in one sentence, with file, line and key, what cannot
//! be meant. [`Scenario::resolve`] turns the result into what the engine runs.

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
