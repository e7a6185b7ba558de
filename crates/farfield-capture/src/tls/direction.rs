//! The keys of one direction, in the order in which records are under them (RFC 8446, section 7).
//!
//! The key that a record is under follows from the records before it; where some of those are missing it is
//! tried, within bounds: the key in use at its number, and the next one at the numbers that the missing
//! records leave open.

use super::keys::{RecordKey, Suite};
use std::collections::VecDeque;

/// Numbers that are tried under the next key beyond the first.
const NUMBERS_MAX: u64 = 16;
/// Records of a direction that open under no key, until it is given up.
const FAILURES_MAX: u32 = 256;

/// The part of a direction that is under one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Epoch {
    /// The client's early data, within the handshake.
    Early,
    Handshake,
    Traffic,
}

/// A record that was opened.
#[derive(Debug)]
pub(super) struct DecryptedRecord {
    pub epoch: Epoch,
    /// The kind of its content.
    pub kind: u8,
    pub content: Vec<u8>,
    /// Bytes of the body before the content.
    pub before: usize,
    /// Records before it that are under its key, and were not opened.
    pub skipped: u64,
}

/// The keys of one direction.
#[derive(Debug)]
pub(super) struct Opener {
    suite: Suite,
    /// The key in use, and the number that comes next.
    current: Option<(Epoch, RecordKey, u64)>,
    /// Secrets of the keys that follow.
    ahead: VecDeque<(Epoch, Vec<u8>)>,
    /// Records since the last that was opened.
    unopened: u64,
    failures: u32,
}

impl Opener {
    /// An opener for TLS 1.3, with the secrets in the order of their use.
    pub fn of_secrets(suite: Suite, secrets: impl IntoIterator<Item = (Epoch, Vec<u8>)>) -> Opener {
        Opener { suite, current: None, ahead: secrets.into_iter().collect(), unopened: 0, failures: 0 }
    }

    /// An opener for TLS 1.2.
    pub fn of_key(suite: Suite, key: RecordKey) -> Opener {
        let current = Some((Epoch::Traffic, key, 0));
        Opener { suite, current, ahead: VecDeque::new(), unopened: 0, failures: 0 }
    }

    /// The part that the last opened record belongs to.
    pub fn epoch(&self) -> Option<Epoch> {
        self.current.as_ref().map(|current| current.0)
    }

    /// Bytes of a record's body that are not its content.
    pub fn overhead(&self) -> usize {
        let (before, after) = self.current.as_ref().map_or((0, 17), |current| current.1.around());
        before + after
    }

    /// The record of `body`, or `None` if it was not captured whole or is under no key that can be its own.
    pub fn open(&mut self, header: [u8; 5], body: Option<&[u8]>) -> Option<DecryptedRecord> {
        let opened = body.filter(|_| self.failures < FAILURES_MAX).and_then(|body| {
            let opened = self.open_under_current(header, body).or_else(|| self.open_under_next(header, body));
            self.failures += u32::from(opened.is_none());
            opened
        });
        match &opened {
            Some(_) => self.unopened = 0,
            None => {
                self.unopened += 1;
                if let Some((_, _, number)) = &mut self.current {
                    *number += 1;
                }
            }
        }
        opened
    }

    fn open_under_current(&mut self, header: [u8; 5], body: &[u8]) -> Option<DecryptedRecord> {
        let (epoch, key, number) = self.current.as_mut()?;
        let (kind, content) = key.open(*number, header, body)?;
        *number += 1;
        Some(DecryptedRecord { epoch: *epoch, kind, content, before: key.around().0, skipped: self.unopened })
    }

    fn open_under_next(&mut self, header: [u8; 5], body: &[u8]) -> Option<DecryptedRecord> {
        for place in 0..self.ahead.len() {
            let (epoch, secret) = &self.ahead[place];
            let Some(key) = RecordKey::of_secret(self.suite, secret) else { continue };
            let found = (0..=self.unopened.min(NUMBERS_MAX))
                .find_map(|number| Some((number, key.open(number, header, body)?)));
            let Some((skipped, (kind, content))) = found else { continue };
            let opened = DecryptedRecord { epoch: *epoch, kind, content, before: key.around().0, skipped };
            let (epoch, secret) = self.ahead.drain(..=place).next_back()?;
            if epoch == Epoch::Traffic {
                // Secrets are replaced when an end says so (RFC 8446, section 7.2).
                self.ahead.push_back((epoch, self.suite.next_secret(&secret, "traffic upd")));
            }
            self.current = Some((epoch, key, skipped + 1));
            return Some(opened);
        }
        None
    }
}
