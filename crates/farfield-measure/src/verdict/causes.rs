//! Causes of failed checks: a report shows the first cause first, and the failures that follow from it as
//! such.
//!
//! Not inferred from the run but known beforehand: a worker without a processor is late with everything it
//! does. The causes of a check are listed with the strongest first, and the first of them that failed is its
//! cause.

use super::{Check, CheckState};

/// A check, and those whose failure explains its own.
type Causes = (&'static str, &'static [&'static str]);

const LATE: &[&str] = &[
    "server-apart",
    "machine-busy",
    "host-steal",
    "worker-cpu",
    "longest-stall",
    "loop-lag",
    "send-lateness",
];
const NO_SERVER: &[&str] = &["server-ended", "server-silent", "server-receive"];

const CAUSES: [Causes; 17] = [
    ("server-held-up", &["machine-busy"]),
    ("server-silent", &["server-ended", "server-receive"]),
    ("worker-cpu", &["server-apart", "machine-busy", "host-steal", "server-receive"]),
    ("longest-stall", &["server-apart", "machine-busy", "host-steal", "worker-cpu"]),
    ("loop-lag", &["server-apart", "machine-busy", "host-steal", "worker-cpu", "longest-stall"]),
    (
        "send-lateness",
        &["server-apart", "machine-busy", "host-steal", "worker-cpu", "longest-stall", "loop-lag"],
    ),
    ("departure-lateness", LATE),
    ("arrival-lateness", LATE),
    ("crossing-lateness", LATE),
    ("gateway-overruns", LATE),
    ("dropped-arrivals", NO_SERVER),
    (
        "achieved-rate",
        &[
            "server-apart",
            "machine-busy",
            "host-steal",
            "worker-cpu",
            "longest-stall",
            "loop-lag",
            "send-lateness",
            "dropped-arrivals",
        ],
    ),
    ("littles-law", &["samples-lost"]),
    ("unfinished", NO_SERVER),
    ("response-time-law", &["server-ended", "server-silent", "unfinished", "samples-lost"]),
    ("something-measured", &["completed"]),
    (
        "something-succeeded",
        &["generator-lacked", "server-ended", "server-silent", "server-receive", "something-measured"],
    ),
];

/// The possible causes of the failure of `check`.
fn of(check: &str) -> &'static [&'static str] {
    CAUSES.iter().find(|(name, _)| *name == check).map_or(&[], |(_, causes)| causes)
}

/// Whether `cause` is one of them.
pub fn may_follow(check: &str, cause: &str) -> bool {
    of(check).contains(&cause)
}

/// Notes the cause of each failed check that has one. `explains` may deny that a cause, by name, explains a
/// check.
pub fn note_causes(checks: &mut [Check], explains: impl Fn(&str, &str) -> bool) {
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| check.state == CheckState::Failed)
        .map(|check| check.name.clone())
        .collect();
    let has_failed = |name: &str| failed.iter().any(|failed| failed == name);
    for check in checks.iter_mut().filter(|check| check.state == CheckState::Failed) {
        check.follows_from = of(&check.name)
            .iter()
            .find(|cause| has_failed(cause) && explains(cause, &check.name))
            .map(|name| (*name).to_owned());
    }
}
