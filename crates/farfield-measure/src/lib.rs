//! Samples into histograms, series, a verdict and a summary.
//!
//! The collector [folds](fold::Fold) each [`Sample`](farfield_base::Sample) in constant time; folds merge.
//! The fold and the engine's counters ([`EngineStats`]) give the [verdict](verdict::Verdict) (whether the run
//! may be believed), the [thresholds](threshold::Threshold) (whether the server did what was asked), and the
//! [`Summary`] with all of it.
//!
//! Nothing here reads a clock, opens a file or knows how the load was made: files are whatever
//! `io::Write` the caller hands in.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod batches;
mod beta;
mod bins;
pub mod bottleneck;
pub mod censored;
mod change;
pub mod connections;
pub mod engine_stats;
pub mod events;
mod failing;
pub mod failures;
pub mod flows;
pub mod fold;
pub mod handshakes;
pub mod histogram;
pub mod hlog;
pub mod hosts;
pub mod http;
pub mod interval;
pub mod kaplan_meier;
pub mod monitor;
mod outages;
pub mod outcome_times;
pub mod outcomes;
mod packet_lateness;
pub mod pages;
mod pairs;
pub mod parquet_bounds;
pub mod parts;
pub mod paths;
pub mod quantile;
pub mod reuse;
mod rows;
pub mod samples;
pub mod series;
pub mod sessions;
pub mod set_aside;
pub mod settling;
mod silence;
mod spectrum;
pub mod stages;
pub mod states;
pub mod statuses;
mod stream_counts;
pub mod summary;
pub mod table;
pub mod threshold;
pub mod timing;
pub mod unanswered;
mod varint;
pub mod verdict;

pub use bottleneck::Bottleneck;
pub use engine_stats::{
    AddressStats, Arrivals, CaptureStats, CrossTrafficStats, EngineStats, GeneratorCounts, MachineStats,
    NetworkStats, OtherProcess, OutOfMemory, ProgramStats, RunClock, ServerBeside, ServerEnd, ServerStatus,
    ServerTime, WorkerStats,
};
pub use fold::{Fold, PhaseStats};
pub use histogram::Histogram;
pub use monitor::MonitorLog;
pub use packet_lateness::PacketLateness;
pub use quantile::Quantile;
pub use summary::{Heading, LoadKind, Summary};
pub use threshold::{Threshold, ThresholdResult};
pub use timing::{Timing, Timings};
pub use verdict::{Verdict, VerdictLimits};
