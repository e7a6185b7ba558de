//! Sessions whose requests depend on replies: on sockets, across the emulated network, in virtual time, and
//! before a real application.

mod packaged_application;
mod recorded;
mod simulated;
mod sockets;
mod wan;

use farfield_testkit::scenes::{self as common, shop};
