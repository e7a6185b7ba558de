//! Findings about what was recorded: samples that are missing, double or invented, and outcomes and means
//! that packets contradict.

use super::{Finding, Judged, percent, time};
use crate::distribution::nearest_rank;
use crate::matching::{SampleCause, TransactionCause};
use crate::times::{TimeKind, is_complete};

/// Nothing of the run is in the capture.
pub(super) fn nothing_matched(judged: Judged<'_>) -> Option<Finding> {
    if judged.found.matched.requests > 0 || !has_sent(judged) || is_sealed(judged) {
        return None;
    }
    let capture = &judged.found.capture;
    Some(Finding::disagreement(
        "nothing-matched",
        format!(
            "none of {} samples is in the capture, which has {} packets, {} connections and {} requests",
            judged.sides.samples.len(),
            capture.packets,
            capture.connections,
            capture.transactions
        ),
        "see that the capture was taken during this run, on an interface that its packets pass, and whole",
    ))
}

/// Findings that limit the verification.
pub(super) fn limits(judged: Judged<'_>) -> Vec<Finding> {
    let capture = &judged.found.capture;
    let mut findings = Vec::new();
    if let Some(why) = &capture.cut_short {
        findings.push(Finding::limit(
            "capture-cut-short",
            format!("the capture was read up to packet {}: {why}", capture.packets),
            "end the capture in good order; what was read is verified",
        ));
    }
    if capture.drops > 0 || capture.missing_bytes > 0 {
        findings.push(Finding::limit(
            Finding::CAPTURE_LOSSY,
            format!(
                "the capture lost {} packets by its own count; {} bytes that were sent are not in it",
                capture.drops, capture.missing_bytes
            ),
            "capture fewer bytes of each packet (`capture.snap`, `tcpdump -s 96`), or a part of the clients",
        ));
    }
    if capture.tls_sessions_unread + capture.tls_records_unread > 0 {
        findings.push(Finding::limit(
            Finding::TLS_UNREAD,
            format!(
                "{} of {} sessions of TLS could not be decrypted, and {} records were not captured whole or are under \
                 no key that is known",
                capture.tls_sessions_unread, capture.tls_sessions, capture.tls_records_unread
            ),
            "let the run write the secrets of all sessions (`tls.key-log = true`), and capture whole packets \
             (`capture.snap = 65535`)",
        ));
    }
    if capture.packets_unknown_link > 0 {
        findings.push(Finding::limit(
            "capture-unknown-link",
            format!("{} packets are of link types that are not read", capture.packets_unknown_link),
            "capture on an Ethernet or loopback interface, or on `any`",
        ));
    }
    if capture.at_gateway {
        findings.push(Finding::limit(
            "captured-at-gateway",
            "packets were captured behind the clients' links, so that times differ by the path's and errors are not \
             judged"
                .to_owned(),
            "capture at clients: `capture.clients = [0, 1]`",
        ));
    }
    let matched = &judged.found.matched;
    if matched.ambiguous_connections > 0 {
        findings.push(Finding::limit(
            "ambiguous-connections",
            format!(
                "{} of {} connections could have been matched with another about as well",
                matched.ambiguous_connections, matched.connections
            ),
            "verify a run whose directory has connections.parquet",
        ));
    }
    findings
}

fn has_sent(judged: Judged<'_>) -> bool {
    judged.sides.samples.iter().any(|sample| sample.sent.instant().is_some())
}

/// True if nothing was read for want of secrets: of what could not be decrypted nothing is known, not even
/// that it was another run's.
fn is_sealed(judged: Judged<'_>) -> bool {
    let capture = &judged.found.capture;
    capture.transactions == 0 && capture.tls_sessions_unread > 0
}

/// Finding that too little was compared to call it agreement.
pub(super) fn too_little_compared(judged: Judged<'_>) -> Option<Finding> {
    if has_sent(judged) && is_sealed(judged) {
        return Some(Finding::disagreement(
            Finding::TOO_LITTLE_COMPARED,
            "no time was compared: no session of TLS could be decrypted".to_owned(),
            "let the run write the secrets of its sessions (`tls.key-log = true`), and verify it against its own capture",
        ));
    }
    let least = judged.found.limits.compared;
    // Of connections, those that were begun before the capture have no handshake in it.
    let of_requests = judged.found.times.iter().filter(|errors| !errors.time.is_of_connection());
    let few = of_requests.filter_map(|errors| Some((errors, errors.compared?)));
    let few: Vec<_> = few.filter(|(_, share)| *share < least).collect();
    let (errors, share) = few.first()?;
    let all = (errors.pairs as f64 / share.max(f64::MIN_POSITIVE)).round();
    let counted = match errors.pairs {
        0 => "of no request".to_owned(),
        pairs => format!("of {pairs} of {all} answered requests ({})", percent(*share)),
    };
    let times: Vec<&str> = few.iter().map(|(errors, _)| errors.time.name()).collect();
    Some(Finding::disagreement(
        Finding::TOO_LITTLE_COMPARED,
        format!(
            "{} times were compared {counted}, {} at least are needed; {} packets were cut off and {} bytes are \
             missing",
            times.join(", "),
            percent(least),
            judged.found.capture.packets_cut,
            judged.found.capture.missing_bytes
        ),
        "capture whole heads of replies (`capture.snap`, `tcpdump -s 0`) and all packets; `verdict.capture-compared` \
         is the share that is needed",
    ))
}

/// Samples that occur more than once.
pub(super) fn duplicates(judged: Judged<'_>) -> Option<Finding> {
    let count = *judged.found.matched.samples_alone.get(&SampleCause::Duplicate)?;
    Some(Finding::disagreement(
        "duplicated-samples",
        format!("{count} samples have the connection and the number of another"),
        "count each request once; means and percentiles are weighted wrongly",
    ))
}

/// Requests that packets show and no sample does.
pub(super) fn missing_samples(judged: Judged<'_>) -> Option<Finding> {
    let (sides, matched) = (judged.sides, &judged.found.matched);
    let count = matched.transactions_alone.get(&TransactionCause::Unexplained).copied().unwrap_or(0);
    let share = count as f64 / (matched.requests + count).max(1) as f64;
    if share <= judged.found.limits.unmatched {
        return None;
    }
    let unexplained =
        sides.matching.transactions_alone.iter().filter(|(_, c)| *c == TransactionCause::Unexplained);
    let alone: Vec<_> = unexplained.map(|(at, _)| &sides.capture.transactions[*at as usize]).collect();
    let service =
        alone.iter().filter(|t| is_complete(t)).filter_map(|t| sides.packets_ns(TimeKind::Service, t, None));
    let mut service: Vec<i64> = service.collect();
    service.sort_unstable();
    let kept: Vec<i64> =
        sides.samples.iter().filter_map(|sample| TimeKind::Service.of_sample(sample)).collect();
    let longest_kept = kept.iter().copied().max().unwrap_or(0);
    let half = nearest_rank(&service, 500);
    let last_sent = sides.samples.iter().filter_map(|sample| sample.sent.instant()).max();
    let is_after = |at: i64| last_sent.is_none_or(|last| at > last.as_ns() as i64);
    let counted = format!("{count} requests in the packets ({}) have no sample", percent(share));
    let longest = service.last().copied().unwrap_or(0);
    if half.is_some_and(|half| half >= longest_kept) {
        return Some(Finding::disagreement(
            "tail-dropped",
            format!(
                "{counted}, and they are the slow ones: half of them took {} and more, the longest {}, and no sample \
                 more than {}",
                time(half.unwrap_or(0) as f64),
                time(longest as f64),
                time(longest_kept as f64)
            ),
            "record every request, however slow; percentiles without the slowest are too low",
        ));
    }
    if alone.iter().all(|t| is_after(sides.frame.run_ns(t.request_first))) {
        return Some(Finding::disagreement(
            "end-dropped",
            format!("{counted}, and all of them were sent after the last that has one"),
            "record requests to the end of the run",
        ));
    }
    Some(Finding::disagreement(
        "samples-missing",
        counted,
        "record every request; `verdict.capture-unmatched` is the share that may be missing",
    ))
}

/// Samples of requests that packets do not show.
pub(super) fn invented_samples(judged: Judged<'_>) -> Option<Finding> {
    let matched = &judged.found.matched;
    let count = matched.samples_alone.get(&SampleCause::Unexplained).copied().unwrap_or(0);
    let share = count as f64 / (matched.requests + count).max(1) as f64;
    (share > judged.found.limits.unmatched).then(|| {
        Finding::disagreement(
            "requests-missing",
            format!(
                "{count} samples ({}) are of requests that packets of their clients do not show",
                percent(share)
            ),
            "see that the capture has all interfaces and ports of the run; else the samples are made up",
        )
    })
}

/// Outcomes, statuses and sizes that packets contradict.
pub(super) fn outcomes(judged: Judged<'_>) -> Option<Finding> {
    let replies = &judged.found.replies;
    // Clients that write the packets that they see leave nothing to see differently.
    let exact = judged.sides.run.stamps_packets && !judged.found.capture.at_gateway;
    let share = if exact { 0.0 } else { judged.found.limits.unmatched };
    let allowed = (share * judged.found.matched.requests as f64) as u64;
    let kinds = [
        (replies.ok_but_incomplete, "are answered where packets show no complete reply"),
        (replies.other_status, "have another status than the packets"),
        (replies.other_bytes, "have another length than the packets"),
        (replies.other_events, "have another number of events than the packets"),
        (replies.failed_but_complete, "failed where packets show a complete reply"),
    ];
    let all: u64 = kinds.iter().map(|(count, _)| count).sum();
    // Replies that both sides read whole are the same, or wrong; how a connection ended they can see
    // differently.
    if all <= allowed && replies.other_status + replies.other_bytes + replies.other_events == 0 {
        return None;
    }
    let words: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    Some(Finding::disagreement(
        "outcomes-wrong",
        format!("of {} matched samples {}", judged.found.matched.requests, words.join(", ")),
        "count as `ok` what was answered whole and without an error",
    ))
}
