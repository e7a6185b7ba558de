//! Causes of failed checks: a report shows the first cause first, and the failures that follow from it as
//! such.
//!
//! A check of time follows from what the run lost that time to, as far as that was measured
//! ([`counterfactual`](super::counterfactual)). Of other checks the causes are not inferred from the run
//! but known beforehand, the strongest first, and the first of them that failed is the cause. A rate that
//! no machine of this kind could offer is the strongest of all.

use super::counterfactual::{Blame, CauseFinding};
use super::{Check, CheckState, rate};

/// A check, and those whose failure explains its own.
type Causes = (&'static str, &'static [&'static str]);

/// Lateness inside a worker makes packets late.
const LATE: &[&str] = &["loop-lag", "send-lateness"];
const NO_SERVER: &[&str] =
    &["completed", "server-ended", "server-silent", "server-failing", "server-receive"];

const CAUSES: [Causes; 19] = [
    ("server-held-up", &["machine-busy"]),
    ("server-silent", &["completed", "server-ended", "server-receive"]),
    ("server-failing", &["completed", "server-ended"]),
    ("machine-busy", &["throttled"]),
    ("worker-cpu", &["server-receive"]),
    ("send-lateness", &["loop-lag"]),
    ("departure-lateness", LATE),
    ("delivery-lateness", &["server-held-up", "server-apart", "host-steal"]),
    ("pickup-lateness", LATE),
    ("arrival-lateness", LATE),
    ("crossing-lateness", LATE),
    ("gateway-overruns", LATE),
    ("dropped-arrivals", NO_SERVER),
    ("achieved-rate", &["loop-lag", "send-lateness", "dropped-arrivals"]),
    ("littles-law", &["samples-lost"]),
    ("unfinished", NO_SERVER),
    ("response-time-law", &["server-ended", "server-silent", "server-failing", "unfinished", "samples-lost"]),
    ("something-measured", &["completed"]),
    (
        "something-succeeded",
        &[
            "generator-lacked",
            "server-ended",
            "server-silent",
            "server-failing",
            "server-receive",
            "something-measured",
        ],
    ),
];

/// Checks that a rate that is far too high ([`rate`]) does not explain.
const BESIDE_RATE: [&str; 3] = [rate::NAME, "completed", "server-ended"];

/// The possible causes of the failure of `check`.
fn of(check: &str) -> &'static [&'static str] {
    CAUSES.iter().find(|(name, _)| *name == check).map_or(&[], |(_, causes)| causes)
}

/// True if `cause` is one of them.
pub fn may_follow(check: &str, cause: &str) -> bool {
    of(check).contains(&cause)
}

/// Notes the cause of each failed check that has one: of the checks of time, that of their finding.
/// `explains` may deny that another cause, by name, explains a check.
pub fn note_causes(checks: &mut [Check], findings: &[CauseFinding], explains: impl Fn(&str, &str) -> bool) {
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| check.state == CheckState::Failed)
        .map(|check| check.name.clone())
        .collect();
    let has_failed = |name: &str| failed.iter().any(|failed| failed == name);
    for check in checks.iter_mut().filter(|check| check.state == CheckState::Failed) {
        let of_rate = (!BESIDE_RATE.contains(&check.name.as_str())).then_some(rate::NAME);
        let found = findings.iter().find(|finding| finding.check == check.name);
        let measured = found.and_then(|found| found.causes.first()).map(|Blame { cause, .. }| *cause);
        let known = of(&check.name).iter().copied().filter(|cause| explains(cause, &check.name));
        check.follows_from = of_rate
            .filter(|rate| explains(rate, &check.name))
            .into_iter()
            .chain(measured)
            .chain(known)
            .find(|cause| has_failed(cause))
            .map(str::to_owned);
    }
}
