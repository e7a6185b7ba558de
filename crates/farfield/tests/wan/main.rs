//! The emulated plane through the real kernel: what the server sees, and what theory allows.

#[path = "../common/mod.rs"]
mod common;

mod on_time;
mod pings;
mod servers;
mod shards;
mod swept;
mod truth;
