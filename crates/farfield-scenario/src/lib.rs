//! Scenarios: TOML and flags, read into what a run takes.
//!
//! [`read`] puts the file and the flags together and says in one sentence, with file, line and key, what cannot
//! be meant. [`Scenario::resolve`] turns the result into what the engine runs.

mod document;
mod error;
pub mod inputs;
mod kinds;
mod laying;
mod mistake;
mod network;
mod overlay;
mod plane;
mod ramp;
mod replied;
mod resolve;
mod scenario;
mod scopes;
mod served;
mod server;
mod session;
mod simulated;
pub mod site_folder;
mod tcp;

pub use error::ScenarioError;
pub use kinds::{Samples, Url};
pub use mistake::plain;
pub use overlay::Overlay;
pub use resolve::Resolved;
pub use scenario::{
    HttpVersion, OutputSpec, Plane, RunSpec, Scenario, SocketsSpec, Unfinished, from_flags, from_text,
    from_url, read,
};

use scenario::OF_A_NETWORK;
