//! Errors of invalid arrival processes: each sentence names the key and a remedy.

use crate::distribution::ParameterError;
use farfield_base::{QuantityError, Rate};

/// Error of an invalid arrival process.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrivalError {
    /// A rate that cannot be read.
    #[error(transparent)]
    Rate(#[from] QuantityError),
    /// A rate of zero.
    #[error("`rate` is 0, so that nothing would ever arrive; write a rate above 0, such as `500/s`")]
    NoRate,
    /// A rate above one a nanosecond.
    #[error("a rate of {0} is above the clock's resolution; write at most 1e9/s")]
    TooFast(Rate),
    /// A renewal process that gets nowhere.
    #[error("the mean of `gaps` is below 1ns, so that everything would arrive at once; write longer ones")]
    NoGaps,
    /// A schedule without arrivals.
    #[error(
        "`segments` of the schedule have no rate above 0; give at least one segment such as {{ for = \"10s\", rate = \"100/s\" }}"
    )]
    NoSegments,
    /// Stages without arrivals.
    #[error("{0}")]
    Stages(String),
    /// A segment without time.
    #[error("`for` of a segment is 0; write how long it lasts, such as `10s`")]
    NoLength,
    /// A segment with the wrong keys.
    #[error(
        "a segment takes, beside `for`, either `rate`, or `from` and `to`, or `mean`, `amplitude` and `period`"
    )]
    SegmentKeys,
    /// A sine that would go below zero.
    #[error(
        "`amplitude` of a segment is above its `mean`, so that the rate would be negative; write at most the mean"
    )]
    Amplitude,
    /// A sine or burst without a period.
    #[error("`period` is 0 or next to it; write a time such as `20s`")]
    NoPeriod,
    /// A factor that makes no burst.
    #[error("`factor` is {0}; write how many times the mean rate a burst has, a number from 1 up")]
    Factor(f64),
    /// A share that leaves nothing beside it.
    #[error("`share` is {0}; write the part of each period that is burst, above 0 and below 1, such as `5%`")]
    Share(f64),
    /// Bursts that hold more than there is.
    #[error(
        "`factor` {factor} in a `share` of {share} would be more than all arrivals; their product must be at most 1"
    )]
    TooMuch {
        /// Rate of a burst over the mean rate.
        factor: f64,
        /// The part of each period that is burst.
        share: f64,
    },
    /// A profile without rates, or with bad ones.
    #[error(
        "`profile` needs at least two numbers from 0 up, and one of them above 0, such as one for each hour"
    )]
    Profile,
    /// A day too short for its points.
    #[error("`day` is shorter than a nanosecond for each point of the `profile`; write a time such as `24h`")]
    NoDay,
    /// Gaps along a profile that have no mean to scale them by.
    #[error(
        "`gaps` along a `profile` need a finite mean above 1ns, and values that are in no file; write another distribution"
    )]
    CourseGaps,
    /// A crowd that is no crowd.
    #[error("`to` of a flash crowd is {to}, not above `from`, {from}; write the rate at its height")]
    NoCrowd {
        /// The rate before and after.
        from: Rate,
        /// The rate that was given for the height.
        to: Rate,
    },
    /// A distribution of periods with a parameter out of its range.
    #[error(transparent)]
    Period(#[from] ParameterError),
    /// A Pareto distribution of periods with both of its scales, or neither.
    #[error("the pareto distribution of periods takes either `scale` or `mean`, and exactly one of them")]
    PeriodScale,
    /// Periods that last for ever in the mean, or no time.
    #[error(
        "the mean of `{key}` is {mean_s} s; periods need a finite mean of at least 1us: a pareto `shape` above 1, for one"
    )]
    PeriodMean {
        /// The key of the periods.
        key: &'static str,
        /// Mean of the periods, in seconds.
        mean_s: f64,
    },
    /// No source, or too many.
    #[error("`sources` is {0}; write a whole number from 1 to 1000000")]
    Sources(u32),
    /// More sessions under way than memory should hold.
    #[error(
        "`sessions` times the mean of `length` makes {0:.0} sessions at once; write parameters that make at most 1000000"
    )]
    AtOnce(f64),
    /// A Hurst parameter out of range.
    #[error("`hurst` is {0}; write a number above 0 and below 1: from 0.7 to 0.9 for traffic")]
    Hurst(f64),
    /// A deviation out of range.
    #[error("`deviation` is {0}; write the rate's standard deviation over its mean, above 0 and at most 10")]
    Deviation(f64),
    /// Too few slots, or too many.
    #[error("`for` holds {0} times `slot`; write a `slot` of which it holds from 2 to 1048576")]
    Slots(u64),
    /// States that do not fit together.
    #[error(
        "`transitions` needs a row for each of the {states} `rates` (two at least) and as many columns: how often a second it goes from the row's state to the column's, 0 from a state to itself"
    )]
    Transitions {
        /// Number of rates.
        states: usize,
    },
    /// A state that is never reached, or never left.
    #[error(
        "`transitions` does not lead from every state to every other, so that the process would get stuck; give rates above 0 that do"
    )]
    Stuck,
}
