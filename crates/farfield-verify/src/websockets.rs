//! Messages on WebSockets: which of the server's messages a sample waited for, no packet says. The sample
//! names an instant, and the message that ended nearest to it is the one that it is compared with; of several
//! that came within [`TOGETHER_NS`] of each other, or that were captured behind the clients' links, one of
//! its length.
//!
//! A sample that is off by more than half the time to another message is so compared with the wrong one, and
//! differs by less than it is off. Where the server sends one message for each, as most do, there is none.

use crate::frame::Frame;
use crate::matching::{Matching, Pair, SampleCause};
use crate::times::is_answered;
use farfield_base::{Outcome, Sample};
use farfield_capture::{Answer, Capture, Transaction, TransactionState};
use std::collections::{BTreeMap, BTreeSet};

/// Messages as near to each other as this were read together, or nearly so.
const TOGETHER_NS: i64 = 1_000_000;

/// The capture with the answers that its samples waited for in the place of replies, and what is matched with
/// it; `None` where it has no message of a WebSocket. A sample that only waited has a transaction of its own
/// there.
pub(crate) fn settled(
    samples: &[Sample],
    capture: &Capture,
    matching: &Matching,
    frame: &Frame,
) -> Option<(Capture, Matching)> {
    if capture.transactions.iter().all(|transaction| transaction.message.is_none()) {
        return None;
    }
    let (mut capture, mut matching) = (capture.clone(), matching.clone());
    // Behind the clients' links messages pass a part of a round trip before they come: length tells them
    // apart.
    let together = if matching.at_gateway { i64::MAX / 2 } else { TOGETHER_NS };
    let mut answers: BTreeMap<u32, Vec<Answer>> = BTreeMap::new();
    for transaction in &capture.transactions {
        let came = transaction.message.iter().flat_map(|message| &message.answers);
        answers.entry(transaction.connection).or_default().extend(came);
    }
    for pair in &matching.pairs {
        let transaction = &mut capture.transactions[pair.transaction as usize];
        settle(&samples[pair.sample as usize], transaction, (frame, together));
    }
    let alone = std::mem::take(&mut matching.samples_alone);
    for (at, cause) in alone {
        let sample = &samples[at as usize];
        let connection = matching.connections.get(&sample.connection);
        let came = connection.and_then(|own| Some((*own, answers.get(own)?)));
        let only_waited = cause == SampleCause::NotSent && sample.outcome == Outcome::Ok;
        match came.filter(|_| only_waited) {
            None => matching.samples_alone.push((at, cause)),
            Some((_, came)) if sample.due == sample.done => {
                let is_there = came.iter().any(|answer| is_of(sample, answer, frame, i64::MIN));
                let cause = if is_there { SampleCause::CameBefore } else { SampleCause::Unexplained };
                matching.samples_alone.push((at, cause));
            }
            Some((connection, came)) => match nearest(sample, came, (frame, together)) {
                None => matching.samples_alone.push((at, SampleCause::Unexplained)),
                Some(answer) => {
                    let transaction = capture.transactions.len() as u32;
                    matching.pairs.push(Pair { sample: at, transaction });
                    let of_waiting = waited(&capture.transactions, connection, answer);
                    capture.transactions.extend(of_waiting);
                }
            },
        }
    }
    Some((capture, matching))
}

/// The transaction of a sample that only waited, for `answer` on `connection`.
fn waited(all: &[Transaction], connection: u32, answer: Answer) -> Option<Transaction> {
    let any = all.iter().find(|own| own.connection == connection && own.message.is_some())?;
    Some(Transaction {
        request_first: answer.first,
        request_last: answer.first,
        reply_first: Some(answer.first),
        reply_last: Some(answer.last),
        body_bytes: answer.body_bytes,
        reply_bytes: answer.reply_bytes,
        state: TransactionState::Complete,
        ..any.clone()
    })
}

/// True if the message can be the one that the sample found: of its length, and from `from` on until then.
fn is_of(sample: &Sample, answer: &Answer, frame: &Frame, from: i64) -> bool {
    let at = frame.run_ns(answer.last);
    let is_in = from <= at && at <= sample.done.as_ns() as i64 + TOGETHER_NS;
    is_in && (answer.body_bytes, answer.reply_bytes) == (sample.body_bytes, sample.reply_bytes)
}

/// The message that the sample waited for.
fn nearest(sample: &Sample, came: &[Answer], (frame, together): (&Frame, i64)) -> Option<Answer> {
    let done = sample.done.as_ns() as i64;
    let distance = |answer: &&Answer| (frame.run_ns(answer.last) - done).abs();
    let least = came.iter().map(|answer| distance(&answer)).min()?;
    let near = came.iter().filter(|answer| distance(answer) <= least + together);
    near.min_by_key(|answer| (!is_of(sample, answer, frame, i64::MIN), distance(answer))).copied()
}

fn settle(sample: &Sample, transaction: &mut Transaction, place: (&Frame, i64)) {
    let Some(message) = &transaction.message else { return };
    if matches!(transaction.state, TransactionState::Lossy | TransactionState::NotHttp) {
        return;
    }
    // What is not answered was sent, and that is all.
    let awaits = !sample.is_left() && is_answered(sample.outcome);
    let answer = if awaits { nearest(sample, &message.answers, place) } else { None };
    transaction.reply_first = answer.map(|answer| answer.first);
    transaction.reply_last = answer.map(|answer| answer.last);
    transaction.body_bytes = answer.map_or(0, |answer| answer.body_bytes);
    transaction.reply_bytes = answer.map_or(0, |answer| answer.reply_bytes);
    transaction.state = match answer {
        None if awaits || sample.outcome != Outcome::Ok => TransactionState::Unanswered,
        _ => TransactionState::Complete,
    };
}

/// The connections that are WebSockets, by their place in the capture: they are none of those that requests
/// go over.
pub(crate) fn connections(capture: &Capture) -> BTreeSet<u32> {
    let of_messages = capture.transactions.iter().filter(|own| own.message.is_some() || own.status == 101);
    of_messages.map(|own| own.connection).collect()
}
