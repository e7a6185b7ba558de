//! Floods within the replies of HTTP/3 (RFC 9114): what a stream of a request brings without end.

use super::FloodKind;
use super::streams::bomb;

const DATA: u64 = 0;
const HEADERS: u64 = 1;

/// A field section's prefix, and `:status: 200` of the static table (RFC 9204, 4.5.1 and appendix A).
const OK: &[u8] = b"\0\0\xd9";
/// `:status: 103`, and a link.
const INTERIM: &[u8] = b"\0\0\xd8\x5b\x04</a>";
/// `content-encoding: gzip` and `content-type: text/html; charset=utf-8`, behind [`OK`].
const PAGE: &[u8] = b"\xeb\xf4";
/// A field that is written out, without Huffman's code.
const FIELD: &[u8] = b"\x21x\x01a";

/// A reply that does not end: its first bytes, and those that come again and again.
pub(super) struct Endless {
    first: Vec<u8>,
    more: Vec<u8>,
}

impl Endless {
    /// The reply of a flood of this kind, if it is one within replies.
    pub(super) fn of(kind: FloodKind) -> Option<Endless> {
        let (hi, far) = (frame(DATA, b"hi"), [&number(HEADERS)[..], &number(1 << 40)].concat());
        let (first, more) = match kind {
            FloodKind::Head => ([&far[..], OK].concat(), FIELD.to_vec()),
            FloodKind::Trailers => ([frame(HEADERS, OK), hi, far, b"\0\0".to_vec()].concat(), FIELD.to_vec()),
            FloodKind::Interim => (Vec::new(), frame(HEADERS, INTERIM)),
            FloodKind::EmptyData => (frame(HEADERS, OK), frame(DATA, b"")),
            FloodKind::Gzip => (frame(HEADERS, &[OK, PAGE].concat()), frame(DATA, &bomb())),
            _ => return None,
        };
        let more = more.repeat(1 + (32 << 10) / more.len());
        Some(Endless { first, more })
    }

    /// Bytes behind so many, at least one.
    pub(super) fn from(&self, written: usize) -> &[u8] {
        match written.checked_sub(self.first.len()) {
            None => &self.first[written..],
            Some(repeated) => &self.more[repeated % self.more.len()..],
        }
    }
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    [&number(kind)[..], &number(payload.len() as u64), payload].concat()
}

/// A number in one byte, or in eight (RFC 9000 section 16).
fn number(value: u64) -> Vec<u8> {
    if value < 0x40 { vec![value as u8] } else { (value | 0xc000_0000_0000_0000).to_be_bytes().to_vec() }
}
