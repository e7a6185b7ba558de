//! The emulated plane through the real kernel: what the server sees, what theory allows, and real programs on
//! its paths.

#[path = "../common/mod.rs"]
mod common;

mod hosts;
mod on_time;
mod pings;
mod servers;
mod shards;
mod swept;
mod truth;
