//! The result of a verification: `verify.json`.
//!
//! Times are nanoseconds (`…_ns`); what was not measured is null, never zero. [`verify`] makes it of
//! samples, a capture and what the run says of itself; nothing in it depends on the order of samples or
//! connections.

use crate::alignment::{self, Clocks};
use crate::concurrency::{self, ConnectionsAt, RequestsPerConnection};
use crate::errors::{self, Sides, TimeErrors};
use crate::findings::{self, Finding};
use crate::frame::Frame;
use crate::load::{self, FlowLoad, FoundLoad};
use crate::matching::{self, Matching, SampleCause, TransactionCause};
use crate::paths;
use crate::policy::{self, PolicyStats};
use crate::run::{RunRecord, ScenarioDemands};
use crate::times::{TimeKind, is_answered};
use crate::websockets;
use farfield_base::{Outcome, Sample, SpokenVersion};
use farfield_capture::{Capture, End, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the schema; grows when a reader of the old one would be misled.
pub const SCHEMA_VERSION: u32 = 1;

/// A reply that is complete for this long may still be one that was given up, by a worker that comes late.
const GIVEN_UP_NS: i64 = 100_000_000;

/// The limits within which samples and packets agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreementLimits {
    /// The largest mean absolute error of a time, in nanoseconds. An error below 1 % of the time's mean
    /// always agrees.
    pub error_ns: u64,
    /// The largest error that all requests may have in common, in nanoseconds, where run and capture have one
    /// clock.
    #[serde(default = "constant_largest")]
    pub constant_ns: u64,
    /// The largest share of requests that are unexplained on one side.
    pub unmatched: f64,
    /// The least share of the answered requests whose times must be compared.
    #[serde(default = "compared_least")]
    pub compared: f64,
}

/// The limit in results that have none.
fn constant_largest() -> u64 {
    AgreementLimits::default().constant_ns
}

/// The share in results that have none.
fn compared_least() -> f64 {
    AgreementLimits::default().compared
}

impl Default for AgreementLimits {
    /// 100 µs, 20 µs, one request in a thousand, and nine of ten.
    fn default() -> AgreementLimits {
        AgreementLimits { error_ns: 100_000, constant_ns: 20_000, unmatched: 0.001, compared: 0.9 }
    }
}

impl AgreementLimits {
    /// Limits for packets that the kernel stamps: a fifth of what times may be wrong by on average is the
    /// most that all of them may be. Between an instant and its packet lies a system call.
    pub fn of_kernels_packets(self) -> AgreementLimits {
        AgreementLimits { constant_ns: self.error_ns / 5, ..self }
    }

    /// Limits for packets that the run stamps itself, by the clock of its samples: a hundredth, for all that
    /// times may be wrong by. The instants are the same.
    pub fn of_own_packets(self) -> AgreementLimits {
        AgreementLimits { constant_ns: self.error_ns / 100, ..self }
    }
}

/// The contents of the capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSummary {
    /// Packets in the file.
    pub packets: u64,
    /// Connections that were rebuilt.
    pub connections: u64,
    /// Transactions that were rebuilt.
    pub transactions: u64,
    /// Packets that the capture lost, by its own count.
    pub drops: u64,
    /// Bytes that were sent but not captured.
    pub missing_bytes: u64,
    /// Connections that had begun before the capture.
    pub mid_stream: u64,
    /// Packets of which the end was cut off.
    pub packets_cut: u64,
    /// Packets of link types that are not read.
    pub packets_unknown_link: u64,
    /// Sessions of TLS.
    #[serde(default)]
    pub tls_sessions: u64,
    /// Sessions of TLS that could not be decrypted: their secrets are not known, or their suite is not read.
    #[serde(default)]
    pub tls_sessions_unread: u64,
    /// Records of TLS that could not be decrypted.
    #[serde(default)]
    pub tls_records_unread: u64,
    /// Why the file could not be read to its end.
    pub cut_short: Option<String>,
    /// True if the packets were seen at the gateway of an emulated network, behind the clients' links: times
    /// then differ by the path's, and errors are not judged.
    pub at_gateway: bool,
    /// True if they were seen there in virtual time, on paths that are delays and nothing else: their
    /// instants are those at the clients.
    #[serde(default)]
    pub by_paths: bool,
}

/// Counts of what was matched, and of what was not, by cause.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedCounts {
    /// Requests that are a sample and a transaction.
    pub requests: u64,
    /// Connections that both sides know.
    pub connections: u64,
    /// Connections that could have been matched otherwise about as well.
    pub ambiguous_connections: u64,
    /// Samples without a transaction, by cause.
    pub samples_alone: BTreeMap<SampleCause, u64>,
    /// Transactions without a sample, by cause.
    pub transactions_alone: BTreeMap<TransactionCause, u64>,
    /// Share of all requests of the run that are unexplained on one side.
    pub unexplained: f64,
}

/// TCP's troubles, by both sides. Counts of samples are null on planes whose samples have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpCounts {
    /// SYNs beyond the first of each connection, by the packets.
    pub syn_retries: u64,
    /// SYNs beyond the first of each connection, by the samples.
    pub syn_retries_samples: Option<u64>,
    /// Segments that clients sent again, by the packets.
    pub client_retransmissions: u64,
    /// Segments that clients sent again, by the samples.
    pub client_retransmissions_samples: Option<u64>,
    /// Segments that the server sent again and that were captured twice.
    pub server_retransmissions: u64,
    /// Segments of the server that came out of order, or behind a lost one.
    pub server_out_of_order: u64,
    /// Connections that ended in a reset by the client.
    pub client_resets: u64,
    /// Connections that ended in a reset by the server.
    pub server_resets: u64,
    /// Samples that failed by a reset.
    pub resets_samples: u64,
}

/// Replies by both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyCounts {
    /// Matched samples that say `ok` where packets show no complete reply.
    pub ok_but_incomplete: u64,
    /// Matched samples of complete replies with another status than the packets.
    pub other_status: u64,
    /// Matched samples of complete replies with another number of bytes than the packets: of the body or,
    /// over HTTP/1, of all.
    pub other_bytes: u64,
    /// Matched samples of complete replies with another number of events than the packets, or of a stream
    /// that its user left with more of them.
    #[serde(default)]
    pub other_events: u64,
    /// Matched samples of a cut, missing or late reply where packets show a complete one in time.
    pub failed_but_complete: u64,
}

/// Samples compared with packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The version of this schema.
    pub schema_version: u32,
    /// True if no finding disagrees.
    pub agrees: bool,
    /// The findings, causes before effects.
    pub findings: Vec<Finding>,
    /// The limits of agreement.
    pub limits: AgreementLimits,
    /// The capture.
    pub capture: CaptureSummary,
    /// The clocks.
    pub clocks: Clocks,
    /// Counts of what was matched.
    pub matched: MatchedCounts,
    /// The times, by both sides.
    pub times: Vec<TimeErrors>,
    /// Replies, by both sides.
    pub replies: ReplyCounts,
    /// TCP, by both sides.
    pub tcp: TcpCounts,
    /// Connections at the beginning of each second.
    pub connections: Vec<ConnectionsAt>,
    /// Requests on connections.
    pub requests_per_connection: RequestsPerConnection,
    /// The connection policy.
    pub policy: PolicyStats,
    /// The load, where its users are of one flow.
    #[serde(flatten)]
    pub load: FoundLoad,
    /// The load of each flow of users, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowLoad>,
    /// Matters that could not be judged, and why.
    pub notes: Vec<String>,
}

/// The JSON schema of [`Verification`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Verification).to_value()
}

/// A verification, and which sample is which transaction, for the [tables](crate::tables).
#[derive(Debug)]
pub struct Verified {
    /// The result.
    pub verification: Verification,
    /// Pairs of samples and transactions.
    pub matching: Matching,
    /// Instants of the capture in the run's time.
    pub frame: Frame,
}

/// Holds `samples`, and what the run says of itself, against `capture`.
///
/// Takes memory for each sample and transaction several times over: some hundred bytes for each request
/// beside those that the caller holds.
pub fn verify(
    samples: &[Sample],
    capture: &Capture,
    run: &RunRecord,
    asked: Option<&ScenarioDemands>,
    limits: AgreementLimits,
) -> Verified {
    let (frame, mut matching, mut clocks) = alignment::align(samples, capture, run, limits);
    let paths = asked.map_or(&[][..], |asked| &asked.paths);
    let at_clients = (matching.at_gateway && clocks.same)
        .then(|| paths::at_clients(samples, capture, &matching, paths))
        .flatten();
    if let Some(moved) = &at_clients {
        matching.at_gateway = false;
        clocks.estimate = alignment::estimate(samples, moved, &matching, &frame);
    }
    let by_paths = at_clients.is_some();
    let capture = at_clients.as_ref().unwrap_or(capture);
    let seen = CaptureSummary { by_paths, ..capture_summary(capture, &matching) };
    let settled = websockets::settled(samples, capture, &matching, &frame);
    let (capture, matched) = settled.as_ref().map_or((capture, &matching), |(capture, own)| (capture, own));
    let sides = Sides { samples, capture, run, frame: &frame, matching: matched };
    let (load, flows) = load::found(sides, asked);
    let mut verification = Verification {
        schema_version: SCHEMA_VERSION,
        agrees: true,
        findings: Vec::new(),
        limits,
        capture: seen,
        clocks,
        matched: matched_counts(sides),
        times: TimeKind::ALL.into_iter().map(|time| errors::errors(sides, time)).collect(),
        replies: reply_counts(sides),
        tcp: tcp_counts(sides),
        connections: concurrency::over_time(sides),
        requests_per_connection: concurrency::requests_per_connection(sides),
        policy: policy::policy(sides, asked),
        load,
        flows,
        notes: Vec::new(),
    };
    verification.findings = findings::all(sides, &verification, asked);
    verification.agrees = !verification.findings.iter().any(|finding| finding.disagrees);
    Verified { verification, matching, frame }
}

fn capture_summary(capture: &Capture, matching: &Matching) -> CaptureSummary {
    let limits = &capture.limits;
    CaptureSummary {
        packets: limits.packets,
        connections: capture.connections.len() as u64,
        transactions: capture.transactions.len() as u64,
        drops: limits.reported_drops,
        missing_bytes: limits.missing_bytes,
        mid_stream: limits.mid_stream,
        packets_cut: limits.packets_cut,
        packets_unknown_link: limits.unknown_link_types.values().sum(),
        tls_sessions: limits.tls_sessions,
        tls_sessions_unread: limits.tls_without_secrets + limits.tls_unread_suites,
        tls_records_unread: limits.tls_records_unread,
        cut_short: limits.cut_short.clone(),
        at_gateway: matching.at_gateway,
        by_paths: false,
    }
}

fn matched_counts(sides: Sides<'_>) -> MatchedCounts {
    let matching = sides.matching;
    let mut counts = MatchedCounts {
        requests: matching.pairs.len() as u64,
        connections: matching.connections.len() as u64,
        ambiguous_connections: matching.ambiguous,
        ..MatchedCounts::default()
    };
    for (_, cause) in &matching.samples_alone {
        *counts.samples_alone.entry(*cause).or_default() += 1;
    }
    for (_, cause) in &matching.transactions_alone {
        *counts.transactions_alone.entry(*cause).or_default() += 1;
    }
    let invented = [SampleCause::Unexplained, SampleCause::Duplicate];
    let invented: u64 = invented.iter().filter_map(|cause| counts.samples_alone.get(cause)).sum();
    let missing = counts.transactions_alone.get(&TransactionCause::Unexplained).copied().unwrap_or(0);
    counts.unexplained = (invented + missing) as f64 / (counts.requests + invented + missing).max(1) as f64;
    counts
}

fn reply_counts(sides: Sides<'_>) -> ReplyCounts {
    let mut counts = ReplyCounts::default();
    let ends = matching::ends_ns(sides.capture, sides.frame).unwrap_or(i64::MIN);
    for pair in &sides.matching.pairs {
        let sample = &sides.samples[pair.sample as usize];
        if sample.done.as_ns() as i64 > ends {
            // Its last packets may be none of the capture.
            continue;
        }
        let transaction = &sides.capture.transactions[pair.transaction as usize];
        use farfield_capture::TransactionState;
        let over = transaction.reply_last.map_or(i64::MAX, |last| sides.frame.run_ns(last));
        let failed = match sample.outcome {
            Outcome::Reset | Outcome::Truncated | Outcome::ClosedUnanswered => true,
            // A reply that had come long before it was given up was not late.
            Outcome::TimedOut | Outcome::Unfinished => {
                !sides.matching.at_gateway && over < sample.done.as_ns() as i64 - GIVEN_UP_NS
            }
            _ => false,
        };
        match transaction.state {
            TransactionState::Complete if is_answered(sample.outcome) => {
                counts.other_status += u64::from(sample.status != transaction.status);
                let is_http1 =
                    matches!(sample.http.version(), Some(SpokenVersion::Http10 | SpokenVersion::Http11));
                // What its user left may have come whole while, or because, it was being left.
                let differs = |own: u64, packets: u64| match sample.is_left() {
                    true => own > packets,
                    false => own != packets,
                };
                let other = differs(sample.body_bytes, transaction.body_bytes)
                    || is_http1 && differs(sample.reply_bytes, transaction.reply_bytes);
                counts.other_bytes += u64::from(other);
                counts.other_events += u64::from(has_other_events(sample, transaction));
            }
            TransactionState::Complete => counts.failed_but_complete += u64::from(failed),
            TransactionState::Unanswered | TransactionState::Truncated => {
                // Of a capture that lost packets the rest of a connection may be lost as well: that shows
                // nowhere unless something behind it was captured.
                let connection = &sides.capture.connections[transaction.connection as usize];
                let may_be_lost = sides.capture.limits.reported_drops > 0 && connection.end == End::Open;
                let is_whole = is_answered(sample.outcome) && !sample.is_left();
                counts.ok_but_incomplete += u64::from(is_whole && !may_be_lost);
                counts.other_events += u64::from(has_other_events(sample, transaction));
            }
            TransactionState::Lossy | TransactionState::NotHttp => {}
        }
    }
    counts
}

/// True if packets show another number of events than the sample: fewer, of a stream that its user left,
/// since more may have been on their way.
fn has_other_events(sample: &Sample, transaction: &Transaction) -> bool {
    let (Some(own), Some(packets)) = (sample.events, transaction.events) else { return false };
    let own_count = u64::from(own.events);
    if own.left { own_count > packets.count } else { own_count != packets.count }
}

fn tcp_counts(sides: Sides<'_>) -> TcpCounts {
    let mut counts = TcpCounts::default();
    for captured in sides.matching.connections.values() {
        let connection = &sides.capture.connections[*captured as usize];
        counts.syn_retries += u64::from(connection.syn_tries.saturating_sub(1));
        counts.client_retransmissions += connection.client_side.retransmissions;
        counts.server_retransmissions += connection.server_side.retransmissions;
        counts.server_out_of_order += connection.server_side.out_of_order;
        if let End::Reset { side, .. } = connection.end {
            match side {
                farfield_capture::Side::Client => counts.client_resets += 1,
                farfield_capture::Side::Server => counts.server_resets += 1,
            }
        }
    }
    let mut of_connections: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for sample in sides.samples {
        counts.resets_samples += u64::from(sample.outcome == Outcome::Reset);
        if let Some(tcp) = sample.tcp.filter(|_| sides.matching.connections.contains_key(&sample.connection))
        {
            let last = of_connections.entry(sample.connection).or_default();
            let (retransmits, tries) = (u64::from(tcp.retransmits), u64::from(tcp.syn_tries.get()) - 1);
            *last = (last.0.max(retransmits), last.1.max(tries));
        }
    }
    if !of_connections.is_empty() {
        counts.client_retransmissions_samples = Some(of_connections.values().map(|(sent, _)| sent).sum());
        counts.syn_retries_samples = Some(of_connections.values().map(|(_, tries)| tries).sum());
    }
    counts
}
