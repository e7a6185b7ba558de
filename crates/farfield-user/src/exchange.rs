//! Requests that users want, and those of them that are bound to a connection.

use crate::progress::ReplyProgress;
use crate::slots::PendingSlot;
use farfield_base::{HostNumber, Instant, Stamp};
use farfield_http::http1::Answering;

/// A request that a user wants: not yet bound to a connection, or bound to one and on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub request: u32,
    /// The host that it is for.
    pub host: HostNumber,
    /// The request as written, in a session with dependencies; the others' bytes are in the book.
    pub pending: Option<PendingSlot>,
    pub due: Instant,
    /// Sent before, on a connection that closed before its reply: not pipelined, and not sent a third time.
    pub again: bool,
    /// Number of times that it was sent over HTTP/2 and refused without being processed.
    pub refusals: u8,
    /// The request that its page begins with.
    pub first: bool,
}

impl Job {
    /// The slot of a request of a session with dependencies.
    pub fn written(&self) -> PendingSlot {
        self.pending.expect("a request of a session is written before it is queued")
    }

    /// A request of the same page that this one led to.
    pub fn led_to(self, request: u32, host: HostNumber, pending: Option<PendingSlot>, now: Instant) -> Job {
        Job { request, host, pending, due: now, again: false, refusals: 0, first: false }
    }
}

/// A request bound to a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub job: Job,
    pub sent: Stamp,
    pub first_byte: Stamp,
    /// The server has sent an interim reply: it works on the request.
    pub processed: bool,
    /// Number of the request on its connection, from 0.
    pub number: u32,
    pub answering: Answering,
    pub progress: ReplyProgress,
    /// Arrival of its answer, if that had come when it was looked for.
    pub came: Stamp,
}

impl Exchange {
    /// Instant at which bytes that came at `at` answer it, if they may be of its reply: they are `in_reply`,
    /// behind others of it, or it had been sent by then. A server may speak first on a new connection, to
    /// turn it away or in another protocol, and that answers the first request there as soon as it is sent.
    ///
    /// Bytes behind the reply's first one did not arrive before it, even if their instant says so: a
    /// transport may know the arrival of some bytes and only the reading of others.
    pub fn answered_at(&self, at: Instant, in_reply: bool) -> Option<Instant> {
        let sent = self.sent.instant()?;
        let begun = self.first_byte.instant().unwrap_or(sent);
        (in_reply || sent <= at || self.number == 0).then(|| at.max(sent).max(begun))
    }
}

impl Exchange {
    /// An interim head has come. The first byte that counts is the final reply's.
    pub fn note_interim(&mut self) {
        (self.first_byte, self.processed) = (Stamp::NEVER, true);
    }

    /// The end of the request, which was handed on with the instant `at`: what ended it may have been read
    /// before the request was sent, or before other bytes of its reply, and handed on behind that.
    pub fn end_at(&self, at: Instant) -> Instant {
        let before = [self.sent, self.first_byte, self.progress.heard()];
        // What only waits was never sent, and ends no earlier than it was due.
        before.into_iter().filter_map(Stamp::instant).fold(at.max(self.job.due), Instant::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_of_a_reply_do_not_go_back() {
        let at = Instant::from_ns;
        let job = Job {
            request: 0,
            host: HostNumber::TARGET,
            pending: None,
            due: at(1),
            again: false,
            refusals: 0,
            first: true,
        };
        let (sent, first_byte) = (Stamp::at(at(10)), Stamp::NEVER);
        let answering = Answering::Other;
        let progress = ReplyProgress::NONE;
        let mut exchange = Exchange {
            job,
            sent,
            first_byte,
            processed: false,
            number: 1,
            answering,
            progress,
            came: Stamp::NEVER,
        };
        assert_eq!(exchange.answered_at(at(9), false), None, "it was not sent by then");
        assert_eq!(exchange.answered_at(at(20), false), Some(at(20)));
        exchange.first_byte = Stamp::at(at(20));
        assert_eq!(exchange.answered_at(at(18), true), Some(at(20)));
        assert_eq!(exchange.answered_at(at(25), true), Some(at(25)));
        assert_eq!((exchange.end_at(at(19)), exchange.end_at(at(21))), (at(20), at(21)));
    }
}
