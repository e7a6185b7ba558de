//! The planes and their threads: runs in real time, on sockets and on emulated networks, and simulated ones.
//!
//! [`run()`] takes validated settings and writes a summary and a run directory. Two planes run in real time:
//! the kernel's own [sockets], and clients [emulated] on a network of their own in front of a server in a
//! testbed (`farfield-testbed`).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod account;
pub mod beside;
mod capture_file;
mod captures;
mod clocks;
mod collector;
pub mod descriptors;
pub mod doctor;
pub mod emulated;
pub mod environment;
pub mod interrupt;
mod key_log;
mod machine;
mod memory;
mod merge;
mod meters;
mod monitored;
pub mod observe;
mod other_processes;
mod own_limits;
pub mod path;
pub mod placement;
pub mod plane;
pub mod preflight;
pub mod rendezvous;
pub mod route;
pub mod run;
pub mod run_directory;
mod sample_channel;
mod segment_counts;
mod server_threads;
mod set_aside;
pub mod shell;
mod simulated;
pub mod sockets;
pub mod tls;
pub mod tls_probe;
mod worker_loop;
mod worker_report;
mod worker_thread;
mod workers;

pub use collector::Progress;
pub use emulated::{Emulated, SetUpError};
pub use environment::Environment;
pub use merge::{MergeError, PartsOfRun};
pub use observe::{CaptureError, CaptureReport, CaptureSettings, PacketCapture};
pub use placement::Placement;
pub use plane::{Plane, PlaneKind};
pub use run::{
    CommonStart, HostSettings, Output, Run, RunError, RunSettings, StartError, StartSource, run,
    run_with_clocks,
};
pub use run_directory::{RunDirectory, RunDirectoryError};
pub use sample_channel::LiveCounts;
pub use sockets::SourceAddresses;
