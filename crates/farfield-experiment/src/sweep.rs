//! A sweep: runs at many points, each repeated, and what follows from them.
//!
//! A [`Factor`] is a key with the values that it takes; a [`Point`] has a value for each. Runs are made in
//! *blocks*, each of which has a run of every point, in an order that is drawn: a machine that slows down
//! over the hours slows all points (randomised complete blocks; Fisher 1935, "The design of experiments").
//! All runs of a block have the same seed, so that the points of a block are offered the same users, arrivals
//! and losses, and are compared as pairs.

pub mod claims;
pub mod doubts;
pub mod effects;
pub mod expression;
pub mod factor;
pub mod lengths;
mod make;
pub mod points;
pub mod report;
mod scale;
mod shares;
mod unit;
pub mod until;

pub use claims::{Claim, ClaimReport, EachValue, EarlierClaim, Side, Verdict};
pub use doubts::Doubt;
pub use expression::{Expression, ExpressionError};
pub use factor::{Factor, FactorError, Setting};
pub use lengths::{Course, LengthChange, LengthPlan, LengthReport, Need, RunLength};
pub use make::{PlannedRun, PointRun, PointRunner, Reading, SweepPlan, sweep};
pub use points::{Layout, Point};
pub use report::{PairedChange, PointEstimate, PointReport, RunRecord, SweepReport};
pub use scale::Scale;
pub use unit::{ColumnInfo, Unit};
pub use until::Until;
