//! Faults, planted in servers, in machines and in limits: each is named, and nothing is left behind.

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

use farfield_testkit::scenes as common;
