//! The check that a capture makes possible: whether samples and packets agree.
//!
//! The comparison is not made here: the code that held the samples against the packets hands in the result,
//! after the run was judged by what the engine measured of itself.

use super::{Check, CheckState, LimitUnit, Verdict};

const NAME: &str = "capture-agrees";
const WHAT: &str = "The samples agree with the packets that were captured.";

/// Samples compared with packets, as far as the verdict is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureAgreement {
    /// Samples and packets agree.
    Agrees,
    /// Samples and packets disagree.
    Disagrees {
        /// Number of disagreements.
        findings: u64,
        /// The disagreements, with their evidence.
        note: String,
        /// Advice on the first.
        advice: String,
        /// All disagreements are about times that are late, as those of a machine without time for
        /// farfield are.
        only_late: bool,
    },
    /// The agreement could not be found out.
    Unknown {
        /// Why.
        why: String,
    },
}

impl Verdict {
    /// Adds the check `capture-agrees`, or replaces that of an earlier comparison.
    pub fn hold_against_capture(&mut self, agreement: CaptureAgreement) {
        self.checks.retain(|check| check.name != NAME);
        let counted = |count: u64| Check::at_most(NAME, WHAT, count as f64, 0.0, LimitUnit::Count);
        self.checks.push(match agreement {
            CaptureAgreement::Agrees => counted(0),
            CaptureAgreement::Disagrees { findings, note, advice, only_late } => {
                let check = counted(findings.max(1)).noted(Some(note)).advised(|| advice);
                Check { follows_from: self.late_because().filter(|_| only_late), ..check }
            }
            CaptureAgreement::Unknown { why } => Check::skipped(NAME, WHAT, 0.0, LimitUnit::Count, &why),
        });
        self.valid = self.checks.iter().all(|check| check.state != CheckState::Failed);
    }

    /// The failed check for which replies are read late.
    fn late_because(&self) -> Option<String> {
        const CAUSES: [&str; 5] = ["machine-busy", "host-steal", "worker-cpu", "longest-stall", "loop-lag"];
        let cause = self.failed().find(|check| CAUSES.contains(&check.name.as_str()))?;
        Some(cause.follows_from.clone().unwrap_or_else(|| cause.name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_times_follow_from_a_busy_machine_and_a_wrong_record_does_not() {
        let busy = Check::at_most("machine-busy", "Not busy.", 0.5, 0.02, LimitUnit::Share);
        for (only_late, from) in [(true, Some("machine-busy")), (false, None)] {
            let mut verdict = Verdict {
                valid: false,
                checks: vec![busy.clone()],
                changed_limits: Vec::new(),
                disturbed: None,
            };
            let (note, advice) = (String::new(), String::new());
            verdict.hold_against_capture(CaptureAgreement::Disagrees {
                findings: 1,
                note,
                advice,
                only_late,
            });
            assert_eq!(verdict.checks[1].follows_from.as_deref(), from);
        }
    }

    #[test]
    fn the_last_comparison_counts() {
        let mut verdict =
            Verdict { valid: true, checks: Vec::new(), changed_limits: Vec::new(), disturbed: None };
        let disagrees = CaptureAgreement::Disagrees {
            findings: 2,
            note: "service-times: wrong".to_owned(),
            advice: "look".to_owned(),
            only_late: true,
        };
        verdict.hold_against_capture(disagrees);
        assert!(!verdict.valid);
        let check = verdict.first_cause().expect("a failed check");
        assert_eq!((check.measured, check.advice.as_deref()), (Some(2.0), Some("look")));
        verdict.hold_against_capture(CaptureAgreement::Agrees);
        assert!(verdict.valid);
        verdict.hold_against_capture(CaptureAgreement::Unknown { why: "no packets".to_owned() });
        assert_eq!((verdict.checks.len(), verdict.checks[0].state), (1, CheckState::Skipped));
        assert!(verdict.valid);
    }
}
