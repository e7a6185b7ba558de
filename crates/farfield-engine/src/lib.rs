//! The planes, threads and clocks: the only room that touches a clock, a socket, entropy or the operating system.
//!
//! [`run()`] takes settings that cannot be wrong any more and leaves a summary and a run directory. Today there is
//! one plane, the kernel's [sockets].

mod collector;
pub mod descriptors;
pub mod doctor;
pub mod environment;
pub mod interrupt;
pub mod os;
mod outbox;
pub mod reach;
pub mod run;
pub mod run_directory;
pub mod sockets;

pub use collector::Progress;
pub use environment::Environment;
pub use outbox::Beat;
pub use run::{Output, RunError, Settings, run};
pub use run_directory::{RunDirectory, RunDirectoryError};
pub use sockets::Sources;
