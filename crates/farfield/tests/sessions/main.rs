//! Sessions whose requests depend on replies: on sockets, across the emulated network, in virtual time, and
//! before a real application.

#[path = "../common/mod.rs"]
mod common;
#[path = "../shop/mod.rs"]
mod shop;

mod packaged_application;
mod recorded;
mod simulated;
mod sockets;
mod wan;
