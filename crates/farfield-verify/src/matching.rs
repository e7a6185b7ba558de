//! Matches samples with transactions: first connections, then the requests on each.
//!
//! Connections are matched by their addresses, where the run left `connections.parquet`; ports are used
//! again, so of several the one whose SYN is nearest in time counts. Without that file they are matched by
//! the instants of their handshakes (the module `handshakes`), and what could be confused is
//! counted. Requests on a connection are matched by number, where the capture has all bytes of the client
//! from the connection's beginning on, and otherwise by the nearest instants in order.
//!
//! Samples and transactions that stay alone have a [cause](SampleCause). One without any of the innocent
//! causes is unexplained: a sample of a request that never was, or a request that was not recorded.

use crate::frame::Frame;
use crate::handshakes;
use crate::run::RunRecord;
use farfield_base::{Opened, Sample};
use farfield_capture::{Capture, Connection, SocketStage, Transaction, TransactionState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// The farthest that a SYN may be from the instant at which the run says it began the connection, where
/// several connections have the same addresses.
const SAME_ADDRESS_NS: i64 = 1_000_000_000;
/// Packets may be missing for this long before the last of a file that was cut short.
const CUT_NS: i64 = 200_000_000;
/// The name of interface 0 in a run's own capture.
const GATEWAY: &str = "gateway";
/// Requests of an incomplete capture match within this.
const NEAREST_NS: i64 = 100_000_000;

/// Why a sample has no transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampleCause {
    /// The request was never sent: its connection failed, or it was dropped or not reached.
    NotSent,
    /// A message on a WebSocket that had come when it was awaited: nothing was sent, and no time went by.
    CameBefore,
    /// Sent before the capture's first packet or after its last.
    OutsideCapture,
    /// The capture has no packets of its client.
    NotCaptured,
    /// The capture lacks packets of its connection, or dropped packets, or its client could not be
    /// decrypted.
    CaptureLossy,
    /// A sample with the same connection and number came before.
    Duplicate,
    /// None of these.
    Unexplained,
}

impl SampleCause {
    /// True if no packet of it was to be captured.
    pub(crate) fn is_beyond_capture(self) -> bool {
        matches!(self, SampleCause::NotCaptured | SampleCause::OutsideCapture)
    }

    /// True if no packet could be matched with it.
    pub(crate) fn is_out_of_reach(self) -> bool {
        self.is_beyond_capture() || matches!(self, SampleCause::CaptureLossy | SampleCause::CameBefore)
    }
}

/// Why a transaction has no sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionCause {
    /// Sent before the run's clock started or after its end: readiness, set-up, tear-down.
    OutsideRun,
    /// On a connection that the run did not begin: somebody else's.
    NotOfRun,
    /// Not answered, and sent again by the run on another connection, as its summary says.
    Resent,
    /// The Close of a WebSocket whose user leaves, which no request asked for.
    Farewell,
    /// The run did not keep all samples.
    NotKept,
    /// The capture lacks packets of its connection, so that its number is uncertain.
    CaptureLossy,
    /// None of these.
    Unexplained,
}

impl TransactionCause {
    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            TransactionCause::OutsideRun => "outside-run",
            TransactionCause::NotOfRun => "not-of-run",
            TransactionCause::Resent => "resent",
            TransactionCause::Farewell => "farewell",
            TransactionCause::NotKept => "not-kept",
            TransactionCause::CaptureLossy => "capture-lossy",
            TransactionCause::Unexplained => "unexplained",
        }
    }
}

impl SampleCause {
    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            SampleCause::NotSent => "not-sent",
            SampleCause::CameBefore => "came-before",
            SampleCause::OutsideCapture => "outside-capture",
            SampleCause::NotCaptured => "not-captured",
            SampleCause::CaptureLossy => "capture-lossy",
            SampleCause::Duplicate => "duplicate",
            SampleCause::Unexplained => "unexplained",
        }
    }
}

/// A sample and its transaction, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Index of the sample.
    pub sample: u32,
    /// Index of the transaction in the capture.
    pub transaction: u32,
}

/// All that was matched, and all that was not.
#[derive(Debug, Clone, Default)]
pub struct Matching {
    /// The samples' connections, each with the index of its connection in the capture.
    pub connections: BTreeMap<u32, u32>,
    /// Matched requests, in order of the samples' connections and numbers.
    pub pairs: Vec<Pair>,
    /// Samples without a transaction, by index.
    pub samples_alone: Vec<(u32, SampleCause)>,
    /// Transactions without a sample, by index. Transactions of interfaces that are not looked at are
    /// absent.
    pub transactions_alone: Vec<(u32, TransactionCause)>,
    /// Connections that could have been matched otherwise about as well.
    pub ambiguous: u64,
    /// True if the packets were captured at the gateway of an emulated network, beyond the clients' links.
    pub at_gateway: bool,
}

/// Matches `samples` with the transactions of `capture`.
pub fn match_all(samples: &[Sample], capture: &Capture, run: &RunRecord, frame: &Frame) -> Matching {
    let (eligible, at_gateway) = eligible(capture, run);
    let mut matching = Matching { at_gateway, ..Matching::default() };
    match &run.connections {
        Some(rows) => matching.connections = by_address(rows, capture, &eligible, frame),
        None => {
            let found = handshakes::by_instant(samples, capture, &eligible, frame);
            (matching.connections, matching.ambiguous) = (found.connections, found.ambiguous);
        }
    }
    let requests = Requests::of(capture);
    let mut used = vec![false; capture.transactions.len()];
    match_requests(samples, capture, run, frame, &requests, &mut matching, &mut used);
    transactions_alone(capture, run, frame, &eligible, &used, &mut matching);
    matching
}

/// The connections to look at, and whether they were captured at the gateway alone. Where the run's own
/// capture, or a copy of it, has clients' interfaces, the gateway's view of the same packets is left out.
fn eligible(capture: &Capture, run: &RunRecord) -> (Vec<bool>, bool) {
    let is_copy = capture.limits.interfaces.get(&0).is_some_and(|interface| interface.name == GATEWAY);
    let is_own = run.capture_file.is_some() || is_copy;
    let clients = is_own && run.gateway_is_first && capture.connections.iter().any(|c| c.interface != 0);
    let looked_at = |connection: &Connection| !clients || connection.interface != 0;
    (capture.connections.iter().map(looked_at).collect(), run.gateway_is_first && !clients)
}

/// Connections by their addresses and, where those were used again, the nearest SYN, each once.
fn by_address(rows: &[Opened], capture: &Capture, eligible: &[bool], frame: &Frame) -> BTreeMap<u32, u32> {
    let mut seen: BTreeMap<SocketAddr, Vec<(i64, u32)>> = BTreeMap::new();
    for (index, connection) in capture.connections.iter().enumerate().filter(|(at, _)| eligible[*at]) {
        let at = frame.run_ns(connection.syn.unwrap_or(connection.first));
        seen.entry(connection.client).or_default().push((at, index as u32));
    }
    seen.values_mut().for_each(|of_client| of_client.sort_unstable());
    let mut begun: BTreeMap<SocketAddr, Vec<&Opened>> = BTreeMap::new();
    for row in rows {
        begun.entry(row.client).or_default().push(row);
    }
    let mut matched = BTreeMap::new();
    for (client, mut rows) in begun {
        let Some(candidates) = seen.get(&client) else { continue };
        rows.sort_unstable_by_key(|row| row.at);
        let (only, mut from) = (rows.len() == 1 && candidates.len() == 1, 0);
        for row in rows {
            let distance = |(at, _): &(i64, u32)| (at - row.at.as_ns() as i64).abs();
            let same_server =
                |(_, index): &(i64, u32)| capture.connections[*index as usize].server == row.server;
            let open = candidates.iter().enumerate().skip(from).filter(|(_, c)| same_server(c));
            let nearest = open.min_by_key(|(_, candidate)| distance(candidate));
            if let Some((place, found)) = nearest
                && (only || distance(found) <= SAME_ADDRESS_NS)
            {
                matched.insert(row.connection, found.1);
                from = place + 1;
            }
        }
    }
    matched
}

/// The transactions of each connection, in order.
struct Requests {
    starts: Vec<u32>,
    in_order: Vec<u32>,
}

impl Requests {
    fn of(capture: &Capture) -> Requests {
        let mut in_order: Vec<u32> = (0..capture.transactions.len() as u32).collect();
        let transaction = |at: u32| &capture.transactions[at as usize];
        in_order.sort_by_key(|at| (transaction(*at).connection, transaction(*at).number));
        let starts = (0..=capture.connections.len() as u32)
            .map(|connection| in_order.partition_point(|at| transaction(*at).connection < connection) as u32)
            .collect();
        Requests { starts, in_order }
    }

    /// Indices of the transactions on `connection`.
    fn on(&self, connection: u32) -> &[u32] {
        let place = connection as usize;
        &self.in_order[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

fn match_requests(
    samples: &[Sample],
    capture: &Capture,
    run: &RunRecord,
    frame: &Frame,
    requests: &Requests,
    matching: &mut Matching,
    used: &mut [bool],
) {
    let clients: BTreeSet<_> = capture.connections.iter().map(|connection| connection.client.ip()).collect();
    let rows: BTreeMap<u32, &Opened> =
        run.connections.iter().flatten().map(|row| (row.connection, row)).collect();
    let mut order: Vec<u32> = (0..samples.len() as u32).collect();
    order.sort_by_key(|at| (samples[*at as usize].connection, samples[*at as usize].number));
    for group in order.chunk_by(|a, b| samples[*a as usize].connection == samples[*b as usize].connection) {
        let number = samples[group[0] as usize].connection;
        let captured = matching.connections.get(&number).copied();
        let on = captured.map_or(&[][..], |captured| requests.on(captured));
        let is_whole = captured.is_some_and(|captured| is_whole(&capture.connections[captured as usize]));
        let mut before: Option<u32> = None;
        let mut next = 0;
        for (place, at) in group.iter().enumerate() {
            let sample = &samples[*at as usize];
            if sample.sent.instant().is_none() {
                matching.samples_alone.push((*at, SampleCause::NotSent));
                continue;
            }
            if number != Sample::NO_CONNECTION && before == Some(sample.number) {
                matching.samples_alone.push((*at, SampleCause::Duplicate));
                continue;
            }
            before = Some(sample.number);
            let found = if is_whole {
                let place = on.partition_point(|t| capture.transactions[*t as usize].number < sample.number);
                on.get(place).filter(|t| capture.transactions[**t as usize].number == sample.number).copied()
            } else {
                let follower = group.get(place + 1).map(|next| &samples[*next as usize]);
                nearest(sample, follower, on, &mut next, capture, frame)
            };
            match found {
                Some(transaction) => {
                    used[transaction as usize] = true;
                    matching.pairs.push(Pair { sample: *at, transaction });
                }
                None => {
                    let client = rows.get(&number).map(|row| row.client);
                    let is_seen = client.is_none_or(|client| clients.contains(&client.ip()));
                    let lossy = captured.is_some() && !is_whole;
                    let cause = alone(sample, capture, frame, is_seen, lossy);
                    matching.samples_alone.push((*at, cause));
                }
            }
        }
    }
}

/// True if the number of a request on the connection is certain: the capture has all that the client sent,
/// and all of it could be read.
fn is_whole(connection: &Connection) -> bool {
    let client = connection.client_side;
    connection.seen_from_start && client.missing_bytes == 0 && client.sealed_bytes == 0
}

/// The transaction from place `next` on whose beginning is nearest to the sample's, unless it is nearer to
/// that of its follower on the connection.
fn nearest(
    sample: &Sample,
    follower: Option<&Sample>,
    on: &[u32],
    next: &mut usize,
    capture: &Capture,
    frame: &Frame,
) -> Option<u32> {
    let distance = |sample: &Sample, t: u32| {
        let sent = sample.sent.instant()?.as_ns() as i64;
        Some((frame.run_ns(capture.transactions[t as usize].request_first) - sent).abs())
    };
    let (place, found) =
        on.iter().enumerate().skip(*next).min_by_key(|(_, t)| distance(sample, **t).unwrap_or(i64::MAX))?;
    let own = distance(sample, *found)?;
    let is_followers = follower.and_then(|follower| distance(follower, *found)).is_some_and(|d| d < own);
    (own <= NEAREST_NS && !is_followers).then(|| {
        *next = place + 1;
        *found
    })
}

/// The last instant of the run's time up to which the capture has all packets: its last packet or, of a file
/// that was cut short, somewhat before, since files are not exactly in order of time.
pub(crate) fn ends_ns(capture: &Capture, frame: &Frame) -> Option<i64> {
    let cut = if capture.limits.cut_short.is_some() { CUT_NS } else { 0 };
    capture.limits.last.map(|last| frame.run_ns(last) - cut)
}

/// The cause for which a sample that was sent has no transaction.
fn alone(sample: &Sample, capture: &Capture, frame: &Frame, is_seen: bool, lossy: bool) -> SampleCause {
    let sent = sample.sent.instant().map_or(0, |at| at.as_ns() as i64);
    let starts = capture.limits.first.map(|first| frame.run_ns(first));
    if starts.is_none_or(|first| sent < first) || ends_ns(capture, frame).is_none_or(|last| sent > last) {
        SampleCause::OutsideCapture
    } else if !is_seen {
        SampleCause::NotCaptured
    } else if lossy || capture.limits.reported_drops > 0 {
        SampleCause::CaptureLossy
    } else {
        SampleCause::Unexplained
    }
}

fn transactions_alone(
    capture: &Capture,
    run: &RunRecord,
    frame: &Frame,
    eligible: &[bool],
    used: &[bool],
    matching: &mut Matching,
) {
    let of_run: BTreeSet<u32> = matching.connections.values().copied().collect();
    let mut resent = run.resent;
    let left = capture.transactions.iter().enumerate().filter(|(at, _)| !used[*at]);
    for (at, transaction) in left.filter(|(_, t)| eligible[t.connection as usize]) {
        let connection = &capture.connections[transaction.connection as usize];
        let sent = frame.run_ns(transaction.request_first);
        let is_of_run = of_run.contains(&transaction.connection);
        let cause = if sent < 0 || sent > run.end.as_ns() as i64 {
            TransactionCause::OutsideRun
        } else if !is_of_run && run.connections.is_some() {
            TransactionCause::NotOfRun
        } else if transaction.message.as_ref().is_some_and(|own| own.stage == SocketStage::Close) {
            TransactionCause::Farewell
        } else if !run.all_kept {
            TransactionCause::NotKept
        } else if is_cut(transaction) && resent > 0 {
            resent -= 1;
            TransactionCause::Resent
        } else if is_of_run && !is_whole(connection) {
            TransactionCause::CaptureLossy
        } else {
            TransactionCause::Unexplained
        };
        matching.transactions_alone.push((at as u32, cause));
    }
}

fn is_cut(transaction: &Transaction) -> bool {
    matches!(transaction.state, TransactionState::Unanswered | TransactionState::Truncated)
}
