//! Findings: what samples and packets disagree about, each with a name, the evidence and what to do.
//!
//! Causes stand before their effects: a clock that is off explains wrong response times, duplicates explain
//! a mean. Findings that disagree make a verification fail; the others say what limits it.

mod another;
mod events;
mod load;
mod record;
mod summary;
mod timing;

use crate::errors::Sides;
use crate::run::ScenarioDemands;
use crate::verification::Verification;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The finding's name, stable between versions.
    pub name: String,
    /// True if samples and packets disagree; false for what only limits the verification.
    pub disagrees: bool,
    /// The observation, with numbers.
    pub evidence: String,
    /// The action to take.
    pub advice: String,
}

impl Finding {
    /// Name of the limit that a capture lacks packets.
    pub const CAPTURE_LOSSY: &str = "capture-lossy";
    /// Name of the finding that too few times were compared to call it agreement.
    pub const TOO_LITTLE_COMPARED: &str = "too-little-compared";

    /// Name of the limit that the capture has TLS that could not be decrypted.
    pub const TLS_UNREAD: &str = "tls-unread";

    /// A disagreement.
    fn disagreement(name: &str, evidence: String, advice: &str) -> Finding {
        Finding { name: name.to_owned(), disagrees: true, evidence, advice: advice.to_owned() }
    }

    /// A limit of what was verified.
    fn limit(name: &str, evidence: String, advice: &str) -> Finding {
        Finding { disagrees: false, ..Finding::disagreement(name, evidence, advice) }
    }
}

/// The two sides, and what was found of them.
#[derive(Clone, Copy)]
struct Judged<'a> {
    sides: Sides<'a>,
    found: &'a Verification,
    asked: Option<&'a ScenarioDemands>,
}

/// All findings, causes first.
pub(crate) fn all(sides: Sides<'_>, found: &Verification, asked: Option<&ScenarioDemands>) -> Vec<Finding> {
    let judged = Judged { sides, found, asked };
    let mut findings: Vec<Finding> = Vec::new();
    findings.extend(record::nothing_matched(judged));
    findings.extend(record::limits(judged));
    findings.extend(record::too_little_compared(judged));
    let rounded = timing::rounded(judged);
    let is_rounded = rounded.is_some();
    findings.extend(rounded);
    let another = another::another_run(judged);
    let clock = if another.is_none() { timing::clock(judged, is_rounded) } else { Vec::new() };
    findings.extend(another);
    let is_off = !clock.is_empty();
    findings.extend(clock);
    findings.extend(record::duplicates(judged));
    findings.extend(record::missing_samples(judged));
    findings.extend(record::invented_samples(judged));
    findings.extend(record::outcomes(judged));
    findings.extend(timing::shifted(judged, is_off));
    findings.extend(timing::times(judged, is_off));
    findings.extend(events::events(judged));
    findings.extend(summary::recounted(judged));
    findings.extend(load::all(judged));
    findings.extend(load::policy(judged));
    findings
}

/// A time in nanoseconds with three digits, as reports print it: `1.23ms`.
pub(crate) fn time(ns: f64) -> String {
    let (sign, ns) = if ns < 0.0 { ("-", -ns) } else { ("", ns) };
    let units = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ns / scale < 999.5).unwrap_or(units[3]);
    let value = ns / scale;
    let decimals = match value {
        _ if unit == "ns" => 0,
        value if value < 9.995 => 2,
        value => usize::from(value < 99.95),
    };
    format!("{sign}{value:.decimals$}{unit}")
}

/// A share in per cent: `0.12 %`.
fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times as `farfield-report` prints the figures beside which these stand.
    #[test]
    fn times_have_three_digits_and_carry_into_the_next_unit() {
        let cases = [
            (0.0, "0ns"),
            (999.4, "999ns"),
            (1_000.0, "1.00µs"),
            (9_994.0, "9.99µs"),
            (9_996.0, "10.0µs"),
            (999_600.0, "1.00ms"),
            (23_290_000.0, "23.3ms"),
            (439_990_000.0, "440ms"),
            (-1_500_000_000.0, "-1.50s"),
        ];
        for (ns, words) in cases {
            assert_eq!(time(ns), words, "{ns}");
        }
    }
}
