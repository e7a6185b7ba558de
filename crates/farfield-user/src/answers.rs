//! Answers that wait to leave a connection: what the server asks for by its frames and records, such as
//! acknowledgements of PING and SETTINGS, resets, windows.
//!
//! A server that asks and does not read has them pile up in the transport, which keeps what cannot go. How
//! many bytes wait there the transport knows; how many of them are answers follows from the order, in which
//! all bytes of a connection leave. Requests and their bodies are the user's own, and wait for as long as
//! they have to.

use crate::transport::Backlog;

/// Bytes of answers that may wait: a few thousand answers, where a sound server has none.
pub(crate) const ANSWERS_MAX: u64 = 64 << 10;

/// Bytes of answers from one look at the transport to the next.
const LOOK_BYTES: u64 = 4 << 10;

/// The answers of one connection. They are counted in two generations, so that a connection which always has
/// something waiting needs no list of them: a generation is forgotten once all of it has left. At most the
/// answers of twice the time that a byte waits are taken for waiting.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answers {
    /// Bytes that had been handed to the transport when the newer generation began.
    from: u64,
    older: u64,
    newer: u64,
}

impl Answers {
    /// Counts bytes of answers that are handed over.
    pub fn count(&mut self, bytes: usize) {
        self.newer += bytes as u64;
    }

    /// True if more bytes of answers wait than may. Asks the transport only now and then.
    pub fn are_too_many(&mut self, backlog: impl FnOnce() -> Backlog) -> bool {
        if self.newer < LOOK_BYTES {
            return false;
        }
        let Backlog { handed, kept } = backlog();
        if kept == 0 {
            *self = Answers { from: handed, older: 0, newer: 0 };
        } else if handed - kept >= self.from {
            *self = Answers { from: handed, older: self.newer, newer: 0 };
        }
        self.older + self.newer > ANSWERS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of an acknowledgement of PING.
    const ACK: u64 = 17;

    #[test]
    fn answers_that_nobody_reads_are_too_many_after_the_limit() {
        let mut answers = Answers::default();
        // A first part was read, and no more is.
        let mut kept = 0;
        while kept <= ANSWERS_MAX {
            assert!(!answers.are_too_many(|| Backlog { handed: 1000 + kept, kept }), "{kept} bytes");
            answers.count(ACK as usize);
            kept += ACK;
        }
        assert!(answers.are_too_many(|| Backlog { handed: 1000 + kept, kept }));
    }

    /// The queue is never empty: an upload over a slow path, and a server that pings at its pace.
    #[test]
    fn answers_that_leave_in_their_turn_are_never_too_many() {
        let (mut answers, kept) = (Answers::default(), 100_000);
        let mut handed = kept;
        for _ in 0..1_000_000 {
            answers.count(ACK as usize);
            handed += 100;
            assert!(!answers.are_too_many(|| Backlog { handed, kept }));
        }
    }

    #[test]
    fn requests_and_bodies_do_not_count() {
        let (mut answers, body) = (Answers::default(), 1 << 30);
        let mut wait = |bytes: u64| {
            answers.count(bytes as usize);
            answers.are_too_many(|| Backlog { handed: body, kept: body })
        };
        assert!(!wait(LOOK_BYTES));
        // Answers that wait behind a body count.
        assert!(!wait(ANSWERS_MAX - LOOK_BYTES));
        assert!(wait(LOOK_BYTES));
    }
}
