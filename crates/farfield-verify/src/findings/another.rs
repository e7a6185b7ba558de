//! A capture of another run: its packets are those of these clients, and no clock explains their instants.

use super::{Finding, Judged, time};

/// No clock gains more on another than this, in parts per million: NTP corrects no more (RFC 5905, section
/// 11.3), and quartz is better by far.
const CLOCK_PPM: f64 = 500.0;
/// Packets of the run are not farther on the wrong side of their instants than this, in nanoseconds,
const ASTRAY_NS: f64 = 1e6;
/// or this share of the run, by which two clocks may part that do not keep their pace.
const WANDER: f64 = 2e-5;
/// Requests that show it.
const REQUESTS: usize = 20;

/// Another program's capture in which addresses are those of the run, and instants are not.
pub(super) fn another_run(judged: Judged<'_>) -> Option<Finding> {
    let (sides, clocks) = (judged.sides, &judged.found.clocks);
    let estimate = clocks.estimate.filter(|_| !clocks.same && sides.run.capture_file.is_none())?;
    let error_ppm = estimate.drift_error_ppm.unwrap_or(f64::INFINITY);
    let (astray, all) = astray(judged);
    let evidence = if estimate.drift_ppm.abs() - error_ppm > CLOCK_PPM {
        format!(
            "the capture's clock would gain {:.0} ± {error_ppm:.0} ppm on the run's, and no clock gains more than \
             {CLOCK_PPM}",
            estimate.drift_ppm
        )
    } else if all >= REQUESTS && astray * 2 > all {
        format!(
            "of {all} matched requests, {astray} passed before they were sent, or were answered after their reply had \
             been read, by more than {}, however the clocks are set",
            time(farthest_ns(judged))
        )
    } else {
        return None;
    };
    Some(Finding::disagreement(
        "another-run",
        evidence,
        "see that the capture was taken during this run: the same clients and ports are in those of other runs; a \
         clock that was set during the capture does this as well",
    ))
}

/// The farthest that a packet of the run may be on the wrong side of its instant, in nanoseconds.
fn farthest_ns(judged: Judged<'_>) -> f64 {
    ASTRAY_NS.max(WANDER * judged.sides.run.end.as_ns() as f64)
}

/// Matched requests that passed before they were sent, or whose reply passed after it was read, and all.
fn astray(judged: Judged<'_>) -> (usize, usize) {
    let (sides, farthest) = (judged.sides, farthest_ns(judged) as i64);
    let is_astray = |(sample, transaction): &(&farfield_base::Sample, &farfield_capture::Transaction)| {
        let sent = sample.sent.instant().map(|at| at.as_ns() as i64);
        let read = sample.first_byte.instant().map(|at| at.as_ns() as i64);
        let passed = transaction.reply_first.map(|at| sides.frame.run_ns(at));
        sent.is_some_and(|sent| sent - sides.frame.run_ns(transaction.request_first) > farthest)
            || read.zip(passed).is_some_and(|(read, passed)| passed - read > farthest)
    };
    (sides.complete_pairs().filter(is_astray).count(), sides.complete_pairs().count())
}
