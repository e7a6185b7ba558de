//! Load: arrivals, requests, sessions and sites, and the distributions that they follow.
//!
//! - [`distribution`]: distributions of think times, gaps and counts, and their families as functions;
//! - [`arrival`]: the instants at which requests or sessions come;
//! - [`request`]: requests, the pages that they make up, and their order;
//! - [`site`]: objects, pages, links and popularity, from models and from files;
//! - [`session`]: sessions whose requests depend on replies;
//! - [`load`]: the models of load, which put the three together.
//!
//! Each comes in two forms. The *spec* is the form of a scenario: it is read from TOML, refuses invalid
//! values with one sentence, and is written back to text that reads as the same value. A spec may name files.
//! `resolve` reads them through a [loader](file::Load) and returns the form that draws: without files, I/O or
//! failure, and without allocation in a draw.
//!
//! Times that are drawn as numbers are seconds, sizes bytes; instants are whole nanoseconds from the start.
//!
//! Models are fitted to logs in `farfield-fit`; recorded sessions read access logs with `farfield-log`.
//!
//! `README.md` has arrivals and sizes as a program; `examples/self_similar.rs` the memory of three processes.
//! The feature `requests`, a default, has requests, sites, sessions and models of load; without it there are
//! distributions and arrivals alone. Base types that stand in signatures are re-exported.
//!
//! Nothing here reads a clock or opens a file, and nothing knows HTTP's bytes or the network.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod alias;
pub mod amount;
pub mod arrival;
pub mod distribution;
pub mod file;
#[cfg(feature = "requests")]
pub mod load;
mod renamed;
#[cfg(feature = "requests")]
pub mod request;
#[cfg(feature = "requests")]
pub mod session;
#[cfg(feature = "requests")]
pub mod site;
pub mod stages;

pub use amount::{Amount, Dimension};
pub use arrival::{ArrivalProcess, ArrivalSpec, Arrivals};
pub use distribution::{Distribution, DistributionSpec};
pub use file::{FileError, Load};
#[cfg(feature = "requests")]
pub use load::{LoadModel, LoadSpec};
#[cfg(feature = "requests")]
pub use request::{Page, Request, RequestId, RequestSet, RequestSetSpec, RequestSpec};
#[cfg(feature = "requests")]
pub use site::{Site, SiteModel, SiteModelSpec};

pub use farfield_base::{Bytes, Duration, Instant, QuantityError, Rate, Share, StageSpan, random};

/// The programs of README.md, which `cargo test --doc` runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
