//! Records: cut, written and read (RFC 8446 section 5).

use super::{Protection, Version};
use smallvec::SmallVec;

pub const CHANGE_CIPHER_SPEC: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
pub const APPLICATION_DATA: u8 = 23;

/// Bytes of a record's header.
const HEADER: usize = 5;
/// The most bytes of content in a record.
pub const RECORD_BYTES_MAX: usize = 1 << 14;
/// Bytes of an authentication tag.
const TAG: usize = 16;
/// Bytes of an explicit nonce.
const NONCE: usize = 8;

/// The tag of a record of application data, with its type before it.
static BEHIND: [u8; 1 + TAG] = {
    let mut bytes = [0; 1 + TAG];
    bytes[0] = APPLICATION_DATA;
    bytes
};

/// The bytes before the content of a record, and the number of those behind it.
fn ends(kind: u8, protection: Protection, content: usize) -> (SmallVec<[u8; HEADER + NONCE]>, usize) {
    let (outer, nonce, behind) = match protection {
        Protection::None => (kind, 0, 0),
        Protection::Tls12 => (kind, NONCE, TAG),
        Protection::Tls13 => (APPLICATION_DATA, 0, 1 + TAG),
    };
    let [high, low] = ((nonce + content + behind) as u16).to_be_bytes();
    let mut before = SmallVec::from_slice(&[outer, 3, 3, high, low]);
    before.resize(HEADER + nonce, 0);
    (before, behind)
}

/// Appends records with `content`, of the type `kind`.
pub fn put(out: &mut Vec<u8>, kind: u8, protection: Protection, content: &[u8]) {
    for fragment in content.chunks(RECORD_BYTES_MAX) {
        let (before, behind) = ends(kind, protection, fragment.len());
        out.extend_from_slice(&before);
        out.extend_from_slice(fragment);
        if protection == Protection::Tls13 {
            out.push(kind);
        }
        out.resize(out.len() + behind.min(TAG), 0);
    }
}

/// Appends the records of `plain`, application data in a session of `version`.
pub fn seal_into(out: &mut Vec<u8>, version: Version, plain: &[u8]) {
    put(out, APPLICATION_DATA, Protection::of(version), plain);
}

/// The first record of `left` bytes of application data in a session of `version`: what stands before its
/// content, the content's length, and what stands behind it.
pub fn seal_ends(version: Version, left: usize) -> (SmallVec<[u8; 13]>, usize, &'static [u8]) {
    let content = left.min(RECORD_BYTES_MAX);
    let (before, behind) = ends(APPLICATION_DATA, Protection::of(version), content);
    (before, content, &BEHIND[BEHIND.len() - behind..])
}

/// The message that ends what one end sends: close_notify (RFC 8446 section 6.1).
pub fn put_close_notify(out: &mut Vec<u8>, version: Version) {
    put(out, ALERT, Protection::of(version), &[1, 0]);
}

/// A change of the cipher, with which TLS 1.3 pretends to be TLS 1.2 (RFC 8446 appendix D.4).
pub fn put_change_cipher_spec(out: &mut Vec<u8>) {
    put(out, CHANGE_CIPHER_SPEC, Protection::None, &[1]);
}

/// The type and content of a record with this header's type and payload; nothing if it has not what its
/// protection needs.
pub fn open(protection: Protection, kind: u8, payload: &[u8]) -> Option<(u8, &[u8])> {
    match (protection, kind) {
        (Protection::None, APPLICATION_DATA) => None,
        (Protection::None, _) => Some((kind, payload)),
        (Protection::Tls12, _) => Some((kind, payload.get(NONCE..payload.len().checked_sub(TAG)?)?)),
        (Protection::Tls13, APPLICATION_DATA) => {
            let (kind, content) = payload.get(..payload.len().checked_sub(TAG)?)?.split_last()?;
            Some((*kind, content))
        }
        (Protection::Tls13, _) => None,
    }
}

/// The records of one direction, from bytes that come in pieces.
#[derive(Debug, Default)]
pub struct RecordReader {
    /// A record that has not come whole.
    partial: Vec<u8>,
}

impl RecordReader {
    /// True if what has come is whole records.
    pub fn is_whole(&self) -> bool {
        self.partial.is_empty()
    }

    /// Hands the records that are whole with `bytes` to `take`, by type and payload, until it fails.
    pub fn read<E>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(u8, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut joined = std::mem::take(&mut self.partial);
        let mut rest = bytes;
        if !joined.is_empty() {
            joined.extend_from_slice(bytes);
            rest = &joined;
        }
        while let Some((header, behind)) = rest.split_at_checked(HEADER) {
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            let Some((payload, after)) = behind.split_at_checked(length) else { break };
            take(header[0], payload)?;
            rest = after;
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }
}

/// The handshake messages of one direction, from the content of its records.
#[derive(Debug, Default)]
pub struct Messages {
    buffered: Vec<u8>,
    read: usize,
}

impl Messages {
    pub fn add(&mut self, content: &[u8]) {
        self.buffered.extend_from_slice(content);
    }

    /// The next whole message: its type and body.
    pub fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let rest = &self.buffered[self.read..];
        let (header, behind) = rest.split_at_checked(4)?;
        let length = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
        let message = (header[0], behind.get(..length)?.to_vec());
        self.read += 4 + length;
        if self.read == self.buffered.len() {
            (self.buffered, self.read) = (Vec::new(), 0);
        }
        Some(message)
    }
}
