//! Experiments: many runs that answer one question, such as the highest load that a server can take.
//!
//! A [`Runner`] is handed in, which makes a run of a scenario with a load, a length and a seed, and returns
//! what was [observed](Observed). Everything here follows from that: which [`trial`] comes next, which
//! count, and what may be said. [`search()`] finds the highest load that keeps [goals](goal), [`peak`] the
//! load with the most throughput; both end with a [`CapacityReport`]. [`sweep`](mod@sweep) makes runs at many
//! points, and says which factor does what.
//!
//! Nothing here knows an engine, a terminal, a file or a clock: time is what the runner reports of its runs.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod bounds;
pub mod crossing;
pub mod goal;
mod journal;
pub mod limit;
mod needs;
pub mod peak;
pub mod report;
pub mod search;
pub mod stein;
pub mod sweep;
pub mod trial;
pub mod unmeasured;

pub use goal::{Goals, GoalsError};
pub use needs::Needs;
pub use report::{Answer, CapacityReport, CurvePoint, Throughput};
pub use search::{SearchPlan, TRIALS_OF_SEARCH, search};
pub use trial::{Design, GoalReading, Observed, Runner, Stop, Trial, Validity};
