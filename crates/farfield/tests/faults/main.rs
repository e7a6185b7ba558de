//! Faults, planted in servers, in machines and in limits: each is named, and nothing is left behind.

#[path = "../common/mod.rs"]
mod common;

mod beside_loops;
mod causes;
mod memory;
mod outages;
mod own_limits;
mod planted;
mod replies;
mod server_limits;
mod slowness;
mod survival;
