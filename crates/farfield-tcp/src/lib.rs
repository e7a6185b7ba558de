//! One TCP connection as a state machine (RFC 9293): no I/O, no clock, no links.
//!
//! Time and segments are handed in (`handle_*`), work is taken out (`poll_*`). A [`Connection`] does not know
//! who carries its segments; data that arrives is handed on in order, at once, and never stored unless
//! something before it is missing. What a connection offers and how it behaves is a [`Config`], shared by all
//! that behave alike.
//!
//! Absent by design: addresses and ports, checksums, the wire format, demultiplexing, the urgent mechanism,
//! D-SACK, undoing of false recoveries, keep-alives. RACK-TLP, PRR, HyStart and F-RTO are absent, too:
//! what that changes beside Linux is measured in docs/accuracy.md of the repository.
//!
//! Windows, buffers and the MSS are bytes, instants and durations whole nanoseconds. A connection that fails
//! says so by [`Event::Failed`]; [`Closing`] is the one error.
//!
//! `README.md` has a transfer of 1 MB as a program of 50 lines; `examples/transfer.rs` has links and a table
//! of what congestion control does. The types of other crates that stand in signatures are re-exported:
//! [`Instant`], [`Duration`] and [`bytes`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod acknowledge;
mod arrival;
pub mod challenge;
pub mod config;
pub mod congestion;
mod connection;
pub mod counters;
pub mod delayed_ack;
mod ecn;
pub mod event;
mod expiry;
mod handshake;
mod intake;
mod options;
mod paws;
mod reassembly;
mod receiving;
mod recovery;
mod right_sizing;
pub mod rtt;
mod scoreboard;
pub mod segment;
mod send_buffer;
mod sending;
pub mod seq;
pub mod state;
pub mod stray;
pub mod syn;
pub mod time_wait;
mod timers;
mod transmit;

pub use config::{Algorithm, Config, EcnUse, InitialWindow, LossRecovery, ReceiveBuffer, SlowStart};
pub use connection::{Closing, Connection, Numbers};
pub use counters::{Counters, MarkCounters};
pub use event::{Event, Failure};
pub use segment::{Ecn, Flags, Options, SackBlocks, Segment, Timestamps};
pub use seq::SeqNumber;
pub use state::State;
pub use stray::reply_to_stray;
pub use time_wait::TimeWait;
pub use transmit::Transmit;

pub use bytes;
pub use farfield_base::{Duration, Instant};

/// The programs of README.md, which `cargo test --doc` runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
