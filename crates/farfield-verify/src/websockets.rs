//! Messages on WebSockets: which of the server's messages a sample waited for, no packet says. The sample has
//! a length and an instant, and the message of that length that ended nearest to it is the one that it is
//! compared with. On a busy machine many are read at once, so that instants alone would not tell them apart.
//!
//! A connection's samples are gone through in order, and each uses up a message: two that found the same
//! one are found out, unless others of the length are there.

use crate::frame::Frame;
use crate::matching::{Matching, Pair, SampleCause};
use crate::times::is_answered;
use farfield_base::{Outcome, Sample};
use farfield_capture::{Capture, ServerMessage, SocketStage, Transaction, TransactionState};
use std::collections::{BTreeMap, BTreeSet};

/// The most that a packet passes before or after what sent or read it.
const TOGETHER_NS: i64 = 1_000_000;
/// The most by which a busy machine's kernel hands a packet on later than it passes: what is read then
/// came, for who reads it, behind what was sent meanwhile.
const DELAYED_NS: i64 = 20_000_000;

/// A sample of a WebSocket, and its transaction if it has one: what only waits has sent nothing.
type IdleSample = (u32, Option<u32>);

/// The server's messages on a connection, in order.
#[derive(Debug, Default)]
struct ServerMessages {
    answers: Vec<ServerMessage>,
    /// Messages before this were used up.
    from: usize,
    /// Some are not known.
    is_lossy: bool,
}

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
    let mut came = came(&capture);
    let mut waiting: BTreeMap<u32, Vec<IdleSample>> = BTreeMap::new();
    for pair in &matching.pairs {
        let transaction = &capture.transactions[pair.transaction as usize];
        if transaction.message.as_ref().is_some_and(|own| own.stage != SocketStage::Opening) {
            let of_connection = waiting.entry(transaction.connection).or_default();
            of_connection.push((pair.sample, Some(pair.transaction)));
        }
    }
    let alone = std::mem::take(&mut matching.samples_alone);
    for (at, cause) in alone {
        let sample = &samples[at as usize];
        let connection = matching.connections.get(&sample.connection);
        let only_waited = cause == SampleCause::NotSent && is_answered(sample.outcome);
        match connection.filter(|own| only_waited && came.contains_key(own)) {
            Some(connection) => waiting.entry(*connection).or_default().push((at, None)),
            None => matching.samples_alone.push((at, cause)),
        }
    }
    for (connection, mut of_connection) in waiting {
        of_connection.sort_by_key(|(at, _)| (samples[*at as usize].done, samples[*at as usize].due));
        let Some(came) = came.get_mut(&connection) else { continue };
        for (at, transaction) in of_connection {
            let sample = &samples[at as usize];
            match transaction {
                Some(place) => {
                    let transaction = &mut capture.transactions[place as usize];
                    settle(sample, transaction, came, frame);
                }
                None if sample.due == sample.done => {
                    let is_there = came.take_before(sample, frame);
                    matching.samples_alone.push((at, came.cause(is_there)));
                }
                None => match came.take(sample, frame, (i64::MIN, false)) {
                    None => matching.samples_alone.push((at, came.cause(false))),
                    Some(answer) => {
                        let transaction = capture.transactions.len() as u32;
                        matching.pairs.push(Pair { sample: at, transaction });
                        let of_waiting = waited(&capture.transactions, connection, answer);
                        capture.transactions.extend(of_waiting);
                    }
                },
            }
        }
    }
    Some((capture, matching))
}

/// The server's messages of each WebSocket.
fn came(capture: &Capture) -> BTreeMap<u32, ServerMessages> {
    let mut came: BTreeMap<u32, ServerMessages> = BTreeMap::new();
    for transaction in &capture.transactions {
        let Some(message) = &transaction.message else { continue };
        let of_connection = came.entry(transaction.connection).or_default();
        of_connection.answers.extend(&message.answers);
        of_connection.is_lossy |= transaction.state == TransactionState::Lossy;
    }
    for of_connection in came.values_mut() {
        of_connection.answers.sort_by_key(|answer| answer.last);
    }
    came
}

impl ServerMessages {
    /// Takes the message that the sample waited for, of those that began at `from` or later, a Close or none:
    /// the nearest of its length, else one of its length that was handed on late, or the nearest of all.
    fn take(
        &mut self,
        sample: &Sample,
        frame: &Frame,
        (from, is_close): (i64, bool),
    ) -> Option<ServerMessage> {
        let done = sample.done.as_ns() as i64;
        let distance = |answer: &ServerMessage| (frame.run_ns(answer.last) - done).abs();
        let left =
            self.answers.iter().enumerate().skip(self.from).filter(|(_, own)| own.is_close == is_close);
        let since = |from: i64| left.clone().filter(move |(_, own)| frame.run_ns(own.first) >= from);
        let has_length = |from: i64| since(from).any(|(_, answer)| is_as_long(sample, answer));
        // A question passes its packets some time after it was sent.
        let (early, late) = (from.saturating_sub(TOGETHER_NS), from.saturating_sub(DELAYED_NS));
        let begin = [early, late].into_iter().find(|from| has_length(*from));
        let mut fitting =
            since(begin.unwrap_or(early)).filter(|(_, answer)| begin.is_none() || is_as_long(sample, answer));
        let (first, found) = fitting.next()?;
        let nearest =
            fitting.map(|(_, answer)| answer).chain([found]).min_by_key(|answer| distance(answer))?;
        self.from = first + 1;
        Some(*nearest)
    }

    /// Takes the first message that can be the one that the sample found when it was due; true if there is
    /// one.
    fn take_before(&mut self, sample: &Sample, frame: &Frame) -> bool {
        let until = sample.done.as_ns() as i64 + TOGETHER_NS;
        let mut left = self.answers.iter().enumerate().skip(self.from);
        let found =
            left.find(|(_, own)| !own.is_close && is_as_long(sample, own) && frame.run_ns(own.last) <= until);
        self.from = found.map_or(self.from, |(place, _)| place + 1);
        found.is_some()
    }

    /// The cause for which a sample that only waited has no transaction.
    fn cause(&self, is_there: bool) -> SampleCause {
        match is_there {
            true => SampleCause::CameBefore,
            false if self.is_lossy => SampleCause::CaptureLossy,
            false => SampleCause::Unexplained,
        }
    }
}

/// The transaction of a sample that only waited, for `answer` on `connection`.
fn waited(all: &[Transaction], connection: u32, answer: ServerMessage) -> Option<Transaction> {
    let any = all.iter().find(|own| own.connection == connection && own.message.is_some())?;
    Some(Transaction {
        request_first: answer.first,
        request_last: answer.first,
        reply_first: Some(answer.first),
        reply_last: Some(answer.last),
        status: 0,
        // No request of the connection is as late, so that this one opened nothing.
        number: u32::MAX,
        body_bytes: answer.body_bytes,
        reply_bytes: answer.reply_bytes,
        state: TransactionState::Complete,
        ..any.clone()
    })
}

/// True if the message has the sample's length.
fn is_as_long(sample: &Sample, answer: &ServerMessage) -> bool {
    (answer.body_bytes, answer.reply_bytes) == (sample.body_bytes, sample.reply_bytes)
}

fn settle(sample: &Sample, transaction: &mut Transaction, came: &mut ServerMessages, frame: &Frame) {
    let Some(message) = &transaction.message else { return };
    if matches!(transaction.state, TransactionState::Lossy | TransactionState::NotHttp) {
        return;
    }
    // What is not answered was sent, and that is all.
    let awaits = !sample.is_left() && is_answered(sample.outcome);
    // On a busy machine it passes long after it was handed on.
    let sent = sample.sent.instant().map_or(i64::MAX, |sent| sent.as_ns() as i64);
    let asked = frame.run_ns(transaction.request_first).min(sent);
    let is_close = message.stage == SocketStage::Close;
    let answer = if awaits { came.take(sample, frame, (asked, is_close)) } else { None };
    transaction.reply_first = answer.map(|answer| answer.first);
    transaction.reply_last = answer.map(|answer| answer.last);
    transaction.body_bytes = answer.map_or(0, |answer| answer.body_bytes);
    transaction.reply_bytes = answer.map_or(0, |answer| answer.reply_bytes);
    transaction.state = match answer {
        None if awaits || sample.outcome != Outcome::Ok => TransactionState::Unanswered,
        _ => TransactionState::Complete,
    };
}

/// The connections that are WebSockets, or were opened for one, by their place in the capture: they are none
/// of those that requests go over.
pub(crate) fn connections(capture: &Capture) -> BTreeSet<u32> {
    let of_messages = capture.transactions.iter().filter(|own| own.message.is_some());
    of_messages.map(|own| own.connection).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Instant;
    use farfield_capture::UnixNs;

    const MS: u64 = 1_000_000;

    /// Messages of these lengths that came so many milliseconds after the start.
    fn came(messages: &[(u64, u64)]) -> ServerMessages {
        let answer = |(at_ms, bytes): &(u64, u64)| {
            let at = UnixNs(at_ms * MS);
            ServerMessage { first: at, last: at, body_bytes: *bytes, reply_bytes: bytes + 2, is_close: false }
        };
        ServerMessages { answers: messages.iter().map(answer).collect(), ..ServerMessages::default() }
    }

    fn sample(due_ms: u64, done_ms: u64, bytes: u64) -> Sample {
        let at = |ms: u64| Instant::from_ns(ms * MS);
        let (due, done) = (at(due_ms), at(done_ms));
        Sample { due, done, body_bytes: bytes, reply_bytes: bytes + 2, outcome: Outcome::Ok, ..Sample::EMPTY }
    }

    fn takes(came: &mut ServerMessages, sample: &Sample) -> Option<u64> {
        came.take(sample, &Frame::exact(0), (i64::MIN, false)).map(|answer| answer.last.0 / MS)
    }

    #[test]
    fn a_sample_has_the_nearest_message_of_its_length() {
        let mut came = came(&[(10, 5), (20, 7), (21, 5), (40, 5)]);
        assert_eq!(takes(&mut came, &sample(0, 20, 5)), Some(21));
        // The first of the length is used up, and no more than one.
        assert_eq!(takes(&mut came, &sample(0, 23, 5)), Some(21));
        assert_eq!(takes(&mut came, &sample(0, 41, 5)), Some(40));
        assert_eq!(takes(&mut came, &sample(0, 42, 5)), None, "two samples found one message");
    }

    #[test]
    fn a_message_of_another_length_is_seen_as_that() {
        let mut came = came(&[(10, 5)]);
        assert_eq!(takes(&mut came, &sample(0, 10, 6)), Some(10), "its lengths are compared, and differ");
        assert_eq!(takes(&mut came, &sample(0, 11, 6)), None);
    }

    /// Asked at 12 ms: the message that came at 10 ms is the one where no later one is as long.
    #[test]
    fn a_message_that_was_handed_on_late_is_found() {
        let frame = Frame::exact(0);
        let asked = (12 * MS as i64, false);
        let takes = |messages: &[(u64, u64)], bytes: u64, (from, is_close): (i64, bool)| {
            came(messages).take(&sample(12, 13, bytes), &frame, (from, is_close)).map(|own| own.last.0 / MS)
        };
        assert_eq!(takes(&[(10, 5), (14, 6)], 5, asked), Some(10));
        assert_eq!(takes(&[(10, 5), (14, 5)], 5, asked), Some(14), "a later one is nearer to the question");
        let later = (40 * MS as i64, false);
        assert_eq!(
            takes(&[(10, 5), (44, 6)], 5, later),
            Some(44),
            "too old: its lengths are compared, and differ"
        );
    }

    #[test]
    fn what_was_there_when_it_was_due_is_there() {
        let mut came = came(&[(10, 5), (20, 5), (30, 6)]);
        let frame = Frame::exact(0);
        assert!(!came.take_before(&sample(8, 8, 5), &frame), "it came later");
        assert!(came.take_before(&sample(15, 15, 5), &frame));
        assert!(came.take_before(&sample(25, 25, 5), &frame));
        assert!(!came.take_before(&sample(26, 26, 5), &frame), "both are used up");
        assert!(!came.take_before(&sample(40, 40, 5), &frame));
        assert!(came.take_before(&sample(40, 40, 6), &frame));
    }
}
