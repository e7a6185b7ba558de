//! The packet-level network: the [event wheel](wheel) that every shard turns on, [links](link) with their
//! [queues](queue), [losses](loss) and [delays](delay), and the [topologies](topology) they make up. Packets
//! are opaque here: no TCP, no HTTP.
//!
//! Instants and durations are whole nanoseconds, sizes bytes from the IP header on, rates bits a second.
//! Specifications are refused with a sentence when they are resolved; links at work cannot fail.
//!
//! `README.md` has packets on a topology as a program; `examples/queues.rs` compares queues with theory. The
//! types of other crates that stand in signatures are re-exported, [`random`] and [`rand_core`] among them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod access;
mod bit_rate;
pub mod closure;
pub mod compound;
pub mod course;
pub mod cross_traffic;
pub mod delay;
pub mod hop;
pub mod link;
pub mod loss;
pub mod mtu;
mod probability;
pub mod profile;
pub mod queue;
pub mod timeout_queue;
pub mod topology;
pub mod trace;
mod transmit;
pub mod wheel;

pub use access::Access;
pub use bit_rate::BitRate;
pub use closure::{Closure, ClosureAnswer};
pub use compound::Compound;
pub use course::{Course, CourseError, RateCourse};
pub use cross_traffic::{CrossArrivals, CrossInstants, CrossTraffic, LinkName};
pub use delay::{Delay, Jitter, Order};
pub use hop::{NodeKind, Passing};
pub use link::{
    Arrival, ChangeError, ChangeFault, Delivery, DropCause, Fate, FlippedBit, Link, LinkChange,
    LinkChangeSpec, LinkModel, LinkSpec, Packet, PlainBacklogs, PlainLink,
};
pub use mtu::{Fit, Mtu};
pub use probability::Probability;
pub use profile::Profile;
pub use topology::Topology;
pub use trace::Trace;
pub use transmit::Speed;
pub use wheel::Wheel;

pub use farfield_base::{Bytes, Duration, Instant, QuantityError, Share, random};
pub use rand_core;

/// The programs of README.md, which `cargo test --doc` runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
