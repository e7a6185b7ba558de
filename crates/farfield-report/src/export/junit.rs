//! The verdict and the thresholds as JUnit's XML, which pipelines show as tests: a case for each check and
//! for each threshold.
//!
//! A check that does not apply is a skipped case with its reason. A run that is invalid has a failed case
//! for each failed check, and so has one that was interrupted: `completed` is a check.

use crate::figures::from_to;
use crate::terminal::quantity;
use farfield_base::printable;
use farfield_measure::verdict::{Check, CheckState};
use farfield_measure::{Summary, ThresholdResult};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// The result of a run as a JUnit document.
pub fn render(summary: &Summary) -> String {
    let heading = &summary.heading;
    let class = format!("farfield.{}", shown(&heading.scenario));
    let phases = &summary.phases;
    let lasted = Duration::from_nanos(phases.warm_up_ns + phases.steady_ns + phases.drain_ns);
    let mut verdict = TestSuite::new("verdict");
    verdict.set_time(lasted);
    let about = [
        ("target", &heading.target),
        ("load", &heading.load_words),
        ("started_at", &heading.started_at),
        ("farfield", &heading.farfield),
    ];
    for (name, value) in about {
        verdict.add_property(Property::new(name, shown(value)));
    }
    verdict.add_property(Property::new("seed", heading.seed.to_string()));
    if let Some(rates) = &summary.steady.rates {
        let rates = [
            ("offered_per_s", Some(rates.offered_per_s)),
            ("sent_per_s", Some(rates.sent_per_s)),
            ("completed_per_s", rates.completed_per_s),
            ("succeeded_per_s", Some(rates.succeeded_per_s)),
        ];
        for (name, value) in rates {
            let value = value.map(|value| Property::new(name, value.to_string()));
            value.into_iter().for_each(|property| {
                verdict.add_property(property);
            });
        }
    }
    let statuses = summary.steady.statuses.iter();
    for own in statuses {
        verdict.add_property(Property::new(format!("status.{}", own.status), own.count.to_string()));
    }
    for check in &summary.verdict.checks {
        verdict.add_test_case(case(&check.name, &class, check_status(check)));
    }
    let mut report = Report::new("farfield");
    report.set_time(lasted);
    report.add_test_suite(verdict);
    if !summary.thresholds.is_empty() {
        let mut thresholds = TestSuite::new("thresholds");
        for result in &summary.thresholds {
            thresholds.add_test_case(case(&result.text, &class, threshold_status(result)));
        }
        report.add_test_suite(thresholds);
    }
    report.to_string().expect("a String takes all")
}

fn case(name: &str, class: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(shown(name), status);
    case.set_classname(class);
    case
}

fn check_status(check: &Check) -> TestCaseStatus {
    match check.state {
        CheckState::Passed => TestCaseStatus::success(),
        CheckState::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(shown(check.note.as_deref().unwrap_or("does not apply")));
            status
        }
        CheckState::Failed => {
            let limit = quantity(check.limit, check.unit);
            let found = check.measured.map_or_else(
                || "not measured".to_owned(),
                |measured| format!("{}, limit {limit}", quantity(measured, check.unit)),
            );
            let more = [
                Some(check.what.clone()),
                check.note.clone(),
                check.follows_from.as_ref().map(|cause| format!("It follows from {cause}.")),
                check.advice.as_ref().map(|advice| format!("What to do: {advice}.")),
            ];
            failed("invalid", &found, &more.into_iter().flatten().collect::<Vec<_>>().join("\n"))
        }
    }
}

fn threshold_status(result: &ThresholdResult) -> TestCaseStatus {
    if result.passed {
        return TestCaseStatus::success();
    }
    let more_than = if result.is_lower_bound { "more than " } else { "" };
    let found = result.measured.map_or_else(
        || "nothing was measured".to_owned(),
        |found| format!("was {more_than}{}", quantity(found, result.unit)),
    );
    let interval = result.interval.map(|ends| from_to(ends, |end| quantity(end, result.unit)));
    let found = found + &interval.map(|ends| format!(", 95 % interval {ends}")).unwrap_or_default();
    failed("threshold", &found, &format!("{} was not kept: {found}.", result.text))
}

fn failed(kind: &str, message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status
        .set_type(kind)
        .set_message(shown(message))
        .set_description(printable(description, &['\n']).into_owned());
    status
}

/// XML has no control characters, and a reader of a pipeline's log no use for them.
fn shown(text: &str) -> String {
    printable(text, &[]).into_owned()
}
