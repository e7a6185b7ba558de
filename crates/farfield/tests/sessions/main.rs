//! Sessions whose requests depend on replies: on sockets, across the emulated network, in virtual time.

#[path = "../common/mod.rs"]
mod common;
#[path = "../shop/mod.rs"]
mod shop;

mod recorded;
mod simulated;
mod sockets;
mod wan;
