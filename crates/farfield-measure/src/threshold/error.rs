//! Why a threshold could not be read.

use farfield_base::{Outcome, QuantityError};

/// Why a threshold could not be read. The sentence names the part and says what there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// There is no comparison.
    #[error(
        "`{0}` compares nothing; write a metric, one of `<` `<=` `>` `>=`, or `==` for a number of requests, and a value, such as `p99<200ms`"
    )]
    NoComparison(String),
    /// The metric is unknown.
    #[error("`{metric}` in `{text}` is no metric; there are {}", metrics())]
    Metric {
        /// The whole threshold.
        text: String,
        /// The text in the metric's place.
        metric: String,
    },
    /// The time in parentheses is unknown.
    #[error("`{timing}` in `{text}` is no time; there are response, service, connect, reply and transfer")]
    Timing {
        /// The whole threshold.
        text: String,
        /// The text in the parentheses.
        timing: String,
    },
    /// The value is not one of the metric's kind.
    #[error("the value in `{text}`: {error}")]
    Value {
        /// The whole threshold.
        text: String,
        /// The value's error.
        error: QuantityError,
    },
    /// A metric other than a number of requests is compared with `==`.
    #[error("`==` in `{0}`: only a number of requests is equal to another; write `<=` or `>=`")]
    Equal(String),
    /// The status is no code and no class.
    #[error(
        "`{status}` in `{text}` is no status; write a code such as `status.429`, or a class such as `status.5xx`"
    )]
    Status {
        /// The whole threshold.
        text: String,
        /// The text in the status's place.
        status: String,
    },
    /// The value is all of the requests, and meant may be one per cent.
    #[error("the value in `{text}` is a share, and `{value}` is all of it: write `1%`, or `100%`")]
    WholeShare {
        /// The whole threshold.
        text: String,
        /// The value as written.
        value: String,
    },
    /// The value is not a whole number.
    #[error("the value in `{text}` is not a number of requests; write one such as `10`")]
    Count {
        /// The whole threshold.
        text: String,
    },
}

fn metrics() -> String {
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    format!(
        "p50 (or any percentile), mean, min, max, sd, each also as p50(connect); errors; rate, sent, offered; \
         requests; status.429, status.5xx (or any code or class); and the outcomes {}",
        outcomes.join(", ")
    )
}
