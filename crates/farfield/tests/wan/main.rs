//! The emulated plane through the real kernel: what the server sees, what theory allows, and real programs on
//! its paths.

mod hosts;
mod on_time;
mod pings;
mod servers;
mod shards;
mod swept;
mod truth;

use farfield_testkit::scenes as common;
