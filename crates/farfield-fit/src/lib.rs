//! Models fitted to access logs and series: sessions, pages and popularity are found in a log, and
//! distributions are fitted to them.
//!
//! - [`visits`]: requests of all visitors, kept in columns within a stated limit;
//! - [`session`], [`crawler`]: users, the bounds of their sessions, pages and what they embed;
//! - [`arrivals`]: tests of sessions as a Poisson process;
//! - [`process`]: the process of sessions, by their dispersion at one time scale after another;
//! - [`counts`]: requests by slot of time, their dispersion and memory;
//! - [`popularity`], [`locality`], [`site`]: requested objects, the distance to the next request, links;
//! - [`observation`]: rounding, cutting and differences, which a log applies to values;
//! - [`points`] to [`ranking`]: maximum likelihood of observed values, mixtures, goodness of fit, and the
//!   order of distributions;
//! - [`robust`]: a fit of the middle of the values, where a few of another kind ruin the likelihood;
//! - [`series`]: statistics of counts over time, the Hurst parameter among them;
//! - [`reservoir`]: a uniform sample of a stream whose length nobody knows;
//! - [`report`]: all results in one value, which serializes;
//! - [`scenario`]: a load and a set of requests from the report; [`reproduced`]: its dispersion beside
//!   the log's;
//! - [`keepalive`]: the keep-alive timeout that fits the think times.
//!
//! Logs are read by `farfield-log`; families of distributions, with their densities, are those of
//! `farfield-traffic`. Numbers are fitted in the unit that they are in; what comes from logs is in seconds,
//! bytes and counts.
//!
//! `README.md` fits a mixture to forty numbers; `examples/think_times.rs` ranks all families for them. What
//! is found in logs is the feature `logs`, a default. Base types that stand in signatures are re-exported.
//!
//! After the session model and the fitting of Z. Liu, N. Niclausse, C. Jalpa-Villanueva and S. Barbier,
//! "Traffic Model and Performance Evaluation of Web Servers", INRIA RR-3840, 1999, section 2. No file is
//! opened here: bytes come in as a reader.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

#[cfg(feature = "logs")]
pub mod arrivals;
mod climb;
#[cfg(feature = "logs")]
pub mod counts;
#[cfg(feature = "logs")]
pub mod crawler;
mod estimate;
pub mod goodness;
pub mod information;
#[cfg(feature = "logs")]
mod intern;
pub mod keepalive;
pub mod locality;
pub mod mixture;
mod number;
pub mod observation;
#[cfg(feature = "logs")]
mod paths;
pub mod points;
pub mod popularity;
#[cfg(feature = "logs")]
pub mod process;
pub mod ranking;
#[cfg(feature = "logs")]
pub mod report;
#[cfg(feature = "logs")]
pub mod reproduced;
pub mod reservoir;
#[cfg(feature = "logs")]
pub mod robust;
#[cfg(feature = "logs")]
pub mod scenario;
pub mod series;
#[cfg(feature = "logs")]
mod served;
#[cfg(feature = "logs")]
pub mod session;
#[cfg(feature = "logs")]
pub mod site;
#[cfg(feature = "logs")]
mod views;
#[cfg(feature = "logs")]
pub mod visits;

pub use farfield_traffic::distribution::{Component, Distribution, DistributionSpec, Family, Model};
pub use goodness::{Goodness, Subsamples, goodness, subsamples};
pub use information::{StandardErrors, standard_errors};
pub use mixture::{Effort, MixtureFit, fit_mixture};
pub use observation::Observation;
pub use points::{Points, PointsError};
pub use ranking::{Candidate, Estimate, FitError, Ranking, Trials, fit_single, rank};
#[cfg(feature = "logs")]
pub use report::{FitReport, FitSettings, Variable, VariableFit};
#[cfg(feature = "logs")]
pub use visits::{Limits, LogSettings, TargetTally, Visits};

pub use farfield_base::{Duration, Instant, Rate, random};

/// The programs of README.md, which `cargo test --doc` runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
