//! Findings about clocks and times.

use super::{Finding, Judged, time};
use crate::errors::TimeErrors;
use crate::grid;
use crate::times::TimeKind;
use crate::{alignment, errors};
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
    let at_gateway = judged.found.capture.at_gateway;
    if alignment::is_set_wrong(clocks, at_gateway, judged.sides.run, judged.found.limits) {
        return vec![set_wrong(clocks.reason.as_deref().unwrap_or_default())];
    }
    let Some(estimate) = clocks.estimate.filter(|_| clocks.same && !is_rounded) else { return Vec::new() };
    // Behind the clients' links the way there and the way back may differ.
    let way = clocks.round_trip_ns.unwrap_or(0) as f64;
    let limit = limit(judged) + way;
    let offset_limit = if at_gateway { limit } else { constant_limit(judged) + way };
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

/// A clock at the run's own machine that is not the run's, and keeps its pace.
fn set_wrong(reason: &str) -> Finding {
    Finding::disagreement(
        "clock-offset",
        format!("the capture was taken at the run's machine, and by its clock {reason}"),
        "take both by the clock of one machine, and keep it from being set; a card that stamps packets by a clock \
         of its own does this (`tcpdump -j host` does not), and so does a capture whose times were edited",
    )
}

/// The largest mean absolute error of a time.
fn limit(judged: Judged<'_>) -> f64 {
    let limits = judged.found.limits;
    let exact = judged.sides.run.stamps_packets;
    (if exact { limits.constant_ns } else { limits.error_ns }) as f64
}

/// The largest error that all requests may have in common. A client of QUIC computes between an instant and
/// its packet.
fn constant_limit(judged: Judged<'_>) -> f64 {
    let limits = judged.found.limits;
    let is_quic = judged.sides.capture.connections.iter().any(|connection| connection.is_quic);
    let limit =
        if is_quic && !judged.sides.run.stamps_packets { limits.error_ns } else { limits.constant_ns };
    limit as f64
}

/// Delay of packets from another program's capture to the clients and back; nothing of a run's own.
#[derive(Clone, Copy)]
struct PathShift {
    /// By which times that begin with the client's packet and end with the server's are longer at the client.
    shift_ns: i64,
    /// Mean difference of single connections' delays, in nanoseconds, which widens the limits.
    slack_ns: f64,
}

impl PathShift {
    fn of(judged: Judged<'_>) -> PathShift {
        let Some(least) = judged.found.clocks.round_trip_ns else {
            return PathShift { shift_ns: 0, slack_ns: 0.0 };
        };
        // At one machine it is the kernel's work, which is a part of no time or of all of it.
        if least as f64 <= alignment::ONE_MACHINE_NS {
            return PathShift { shift_ns: 0, slack_ns: least as f64 };
        }
        let ways = alignment::ways(judged.sides.capture, judged.sides.matching);
        let middle = ways.get(ways.len() / 2).copied().unwrap_or(least);
        let apart: f64 = ways.iter().map(|way| way.abs_diff(middle) as f64).sum();
        PathShift { shift_ns: middle as i64, slack_ns: apart / ways.len().max(1) as f64 }
    }

    /// Expected error of a time, in nanoseconds. A response time ends at the client, after the way back; both
    /// ends of a transfer and of a handshake of TLS come by that way.
    fn shift_ns(self, time: TimeKind) -> i64 {
        match time {
            TimeKind::Connect | TimeKind::Reply | TimeKind::Service | TimeKind::FirstEvent => self.shift_ns,
            TimeKind::Response => self.shift_ns / 2,
            TimeKind::Tls | TimeKind::Transfer | TimeKind::EventGap => 0,
        }
    }
}

/// Errors without what the way explains.
struct UnexplainedErrors {
    mean_absolute_ns: Option<f64>,
    mean_ns: Option<f64>,
    constant_ns: Option<i64>,
}

impl UnexplainedErrors {
    fn of(judged: Judged<'_>, own: &TimeErrors, way: PathShift) -> UnexplainedErrors {
        let shift = way.shift_ns(own.time);
        if shift == 0 {
            return UnexplainedErrors {
                mean_absolute_ns: own.mean_absolute_ns,
                mean_ns: own.mean_ns,
                constant_ns: own.constant_ns,
            };
        }
        let rest: Vec<i64> = errors::each(judged.sides, own.time).iter().map(|error| error - shift).collect();
        let mean = |sum: f64| (!rest.is_empty()).then(|| sum / rest.len() as f64);
        UnexplainedErrors {
            mean_absolute_ns: mean(rest.iter().map(|error| error.abs() as f64).sum()),
            mean_ns: mean(rest.iter().map(|error| *error as f64).sum()),
            constant_ns: errors::constant(rest),
        }
    }
}

/// Times that are off by as much for all requests, where run and capture had one clock.
pub(super) fn shifted(judged: Judged<'_>, clock_is_off: bool) -> Option<Finding> {
    if judged.found.capture.at_gateway || !judged.found.clocks.same {
        return None;
    }
    let way = PathShift::of(judged);
    let limit = constant_limit(judged) + way.slack_ns;
    let off = judged.found.times.iter().filter_map(|errors| {
        let by = UnexplainedErrors::of(judged, errors, way)
            .constant_ns
            .filter(|by| by.unsigned_abs() as f64 > limit)?;
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
    let way = PathShift::of(judged);
    let limit = limit(judged) + way.slack_ns;
    let mut findings = Vec::new();
    for errors in &judged.found.times {
        // A response time spans both clocks; what their offset explains is named there.
        if errors.time == TimeKind::Response && (clock_is_off || !judged.found.clocks.same) {
            continue;
        }
        let rest = UnexplainedErrors::of(judged, errors, way);
        let Some(mean) = rest.mean_absolute_ns else { continue };
        // Errors of instants that are the same are excused by no length of time.
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
                time(rest.mean_ns.unwrap_or(0.0)),
                errors.pairs
            ),
            "look at the verdict's lateness and at other work on the machine; `verdict.capture-error` is the limit",
        ));
    }
    findings
}
