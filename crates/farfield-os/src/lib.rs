//! Interfaces to the operating system, one small file each: what a run needs of Linux, and no run.
//!
//! All `unsafe` code of the project is in this crate, each time with its argument.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod allocator;
pub mod card_filter;
pub mod clock;
pub mod control_group;
pub mod datagram_socket;
mod idle_thread;
pub mod init;
pub mod interface_sysfs;
pub mod limits;
pub mod mounts;
pub mod namespace;
pub mod netlink;
mod packet_filter;
pub mod packet_ring;
pub mod packet_socket;
pub mod processors;
pub mod receive_steering;
pub mod receive_thread;
pub mod run_delay;
pub mod signals;
pub mod sock_diag;
pub mod socket;
pub mod steering;
pub mod terminal;
pub mod tun;
pub mod user;

pub use idle_thread::IdleThread;
