//! Findings about clocks and times.

use super::{Finding, Judged, time};
use crate::grid;
use crate::times::TimeKind;
use farfield_base::Duration;

/// Requests that show an error which all have in common.
const SHIFTED: u64 = 20;

/// Instants or times that were rounded by whoever recorded them.
pub(super) fn rounded(judged: Judged<'_>) -> Option<Finding> {
    let sides = judged.sides;
    let both: Vec<_> = sides.complete_pairs().take(20_000).collect();
    let sent = |sample: &farfield_base::Sample| sample.sent.instant().map(|at| at.as_ns() as i64);
    let instants: Vec<i64> = both.iter().filter_map(|(sample, _)| sent(sample)).collect();
    let passed: Vec<i64> = both.iter().map(|(_, t)| sides.frame.since_start(t.request_first)).collect();
    let found = rounding(&instants, &passed).map(|tick| ("instants of sending", tick));
    let (what, tick) = found.or_else(|| {
        let service = |time: TimeKind| -> Option<i64> {
            let samples: Vec<i64> = both.iter().filter_map(|(sample, _)| time.of_sample(sample)).collect();
            let packets: Vec<i64> =
                both.iter().filter_map(|(_, t)| sides.packets_ns(time, t, None)).collect();
            rounding(&samples, &packets)
        };
        service(TimeKind::Service).map(|tick| ("service times", tick))
    })?;
    Some(Finding::disagreement(
        "rounded-times",
        format!(
            "the samples' {what} are multiples of {}; those of the packets are not ({} requests)",
            time(tick as f64),
            both.len()
        ),
        "record instants with the resolution of the clock; shorter times than the tick are not measured",
    ))
}

/// The tick that values of samples were rounded to, if those of packets were not.
fn rounding(samples: &[i64], packets: &[i64]) -> Option<i64> {
    // Ticks of a microsecond and less are the resolution of most captures, and no error worth a name.
    grid::tick_ns(samples).filter(|tick| *tick > 1_000 && !grid::lies_on(packets, *tick))
}

/// A clock that is off or drifts, where run and capture had one clock.
pub(super) fn clock(judged: Judged<'_>, is_rounded: bool) -> Vec<Finding> {
    let clocks = &judged.found.clocks;
    let Some(estimate) = clocks.estimate.filter(|_| clocks.same && !is_rounded) else { return Vec::new() };
    // Behind the clients' links the way there and the way back may differ.
    let at_gateway = judged.found.capture.at_gateway;
    let limit = limit(judged);
    let offset_limit = if at_gateway { limit } else { constant_limit(judged) };
    let window = judged.sides.run.window;
    let span = judged.sides.run.end.since(window.measure_from.min(judged.sides.run.end));
    let mut findings = Vec::new();
    let beyond = estimate.offset_ns.abs() - estimate.offset_error_ns;
    if beyond > offset_limit {
        findings.push(Finding::disagreement(
            "clock-offset",
            format!(
                "packets pass {} ± {} {} the samples' instants, by {} bounds",
                time(estimate.offset_ns.abs()),
                time(estimate.offset_error_ns),
                if estimate.offset_ns > 0.0 { "after" } else { "before" },
                estimate.bounds
            ),
            "take instants of run and capture from one clock; a wall clock that was set during the run does this, \
             and a network card that stamps packets by a clock of its own",
        ));
    }
    if let Some(error) = estimate.drift_error_ppm {
        let gained = estimate.drift_ppm * 1e-6 * Duration::as_ns(span) as f64;
        if estimate.drift_ppm.abs() > 2.0 * error && gained.abs() > limit.max(2.0 * estimate.offset_error_ns)
        {
            findings.push(Finding::disagreement(
                "clock-drift",
                format!(
                    "the capture's clock gains {:.1} ± {error:.1} ppm on the samples', {} over the run",
                    estimate.drift_ppm,
                    time(gained)
                ),
                "take instants of run and capture from one clock, one that is not adjusted in rate",
            ));
        }
    }
    findings
}

/// The largest mean absolute error of a time, and what packets took from the capture to the clients and back.
fn limit(judged: Judged<'_>) -> f64 {
    let limits = judged.found.limits;
    let exact = judged.sides.run.stamps_packets;
    (if exact { limits.constant_ns } else { limits.error_ns }) as f64 + way(judged)
}

/// The largest error that all requests may have in common. A client of QUIC computes between an instant and
/// its packet.
fn constant_limit(judged: Judged<'_>) -> f64 {
    let limits = judged.found.limits;
    let is_quic = judged.sides.capture.connections.iter().any(|connection| connection.is_quic);
    let limit =
        if is_quic && !judged.sides.run.stamps_packets { limits.error_ns } else { limits.constant_ns };
    limit as f64 + way(judged)
}

/// What packets took from another program's capture to the clients and back; nothing of a run's own.
fn way(judged: Judged<'_>) -> f64 {
    judged.found.clocks.round_trip_ns.unwrap_or(0) as f64
}

/// Times that are off by as much for all requests, where run and capture had one clock.
pub(super) fn shifted(judged: Judged<'_>, clock_is_off: bool) -> Option<Finding> {
    if judged.found.capture.at_gateway || !judged.found.clocks.same {
        return None;
    }
    let limit = constant_limit(judged);
    let off = judged.found.times.iter().filter_map(|errors| {
        let by = errors.constant_ns.filter(|by| by.unsigned_abs() as f64 > limit)?;
        let is_named = clock_is_off && errors.time == TimeKind::Response;
        (!is_named && errors.pairs >= SHIFTED)
            .then(|| format!("{} by {}", errors.time.name(), time(by as f64)))
    });
    let off: Vec<String> = off.collect();
    (!off.is_empty()).then(|| {
        Finding::disagreement(
            "times-shifted",
            format!(
                "times of all requests are off, as no other work on the machine makes them: {} (limit {})",
                off.join(", "),
                time(limit)
            ),
            "take instants where they happen: the limit follows from `verdict.capture-error`",
        )
    })
}

/// Times that are wrong.
pub(super) fn times(judged: Judged<'_>, clock_is_off: bool) -> Vec<Finding> {
    if judged.found.capture.at_gateway {
        return Vec::new();
    }
    let limit = limit(judged);
    let mut findings = Vec::new();
    for errors in &judged.found.times {
        // A response time spans both clocks; what their offset explains is named there.
        if errors.time == TimeKind::Response && (clock_is_off || !judged.found.clocks.same) {
            continue;
        }
        let Some(mean) = errors.mean_absolute_ns else { continue };
        // Where the instants are the same, no length of time excuses an error.
        let excused = if judged.sides.run.stamps_packets { 0.0 } else { 0.01 };
        if mean <= limit.max(errors.packets.mean_ns.unwrap_or(0.0).abs() * excused) {
            continue;
        }
        let worst = errors.worst.map_or_else(String::new, |worst| {
            format!(
                "; the worst is request {} of connection {}: {} for {}",
                worst.number,
                worst.connection,
                time(worst.sample_ns as f64),
                time(worst.packets_ns as f64)
            )
        });
        let name = errors.time.name();
        findings.push(Finding::disagreement(
            &format!("{name}-times"),
            format!(
                "{name} times are wrong by {} in the mean ({} to one side) over {} requests{worst}",
                time(mean),
                time(errors.mean_ns.unwrap_or(0.0)),
                errors.pairs
            ),
            "look at the verdict's lateness and at other work on the machine; `verdict.capture-error` is the limit",
        ));
    }
    findings
}
