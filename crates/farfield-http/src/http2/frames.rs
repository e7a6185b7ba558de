//! Frames from bytes that come in pieces: a frame's header, then its payload as a whole.
//!
//! A payload is handed on as a slice of what came in, and gathered only where it is split over pieces. The
//! payload of DATA does not come this way: it is passed on as it comes (see `connection`).

use super::frame::{HEADER_BYTES, Header};

/// Memory that is kept for the next payload that is split, in bytes.
const KEPT_BYTES: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct FrameReader {
    header: [u8; HEADER_BYTES],
    /// Bytes of the header that have come.
    have: u8,
    gathered: Vec<u8>,
}

/// A payload that is whole.
#[derive(Debug)]
pub(super) enum Payload<'b> {
    /// A slice of what came in.
    Borrowed(&'b [u8]),
    /// Gathered; to be [given back](FrameReader::give_back) for the next.
    Gathered(Vec<u8>),
}

impl Payload<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Payload::Borrowed(bytes) => bytes,
            Payload::Gathered(bytes) => bytes,
        }
    }
}

impl FrameReader {
    /// Takes bytes of a frame's header from the beginning of `rest`: the header, once it is whole.
    pub(super) fn header(&mut self, rest: &mut &[u8]) -> Option<Header> {
        let have = usize::from(self.have);
        let (piece, behind) = rest.split_at(rest.len().min(HEADER_BYTES - have));
        self.header[have..have + piece.len()].copy_from_slice(piece);
        *rest = behind;
        self.have += piece.len() as u8;
        (usize::from(self.have) == HEADER_BYTES).then(|| {
            self.have = 0;
            Header::parse(self.header)
        })
    }

    /// Takes bytes of a payload of `length` bytes from the beginning of `rest`: the payload, once it is
    /// whole.
    pub(super) fn payload<'b>(&mut self, rest: &mut &'b [u8], length: usize) -> Option<Payload<'b>> {
        let (piece, behind) = rest.split_at(rest.len().min(length - self.gathered.len()));
        *rest = behind;
        if piece.len() == length {
            return Some(Payload::Borrowed(piece));
        }
        self.gathered.extend_from_slice(piece);
        (self.gathered.len() == length).then(|| Payload::Gathered(std::mem::take(&mut self.gathered)))
    }

    /// Takes back the memory of a payload that is done with.
    pub(super) fn give_back(&mut self, payload: Payload<'_>) {
        if let Payload::Gathered(mut bytes) = payload
            && bytes.capacity() <= KEPT_BYTES
        {
            bytes.clear();
            self.gathered = bytes;
        }
    }

    /// True if no byte of a header has come that is not whole.
    pub(super) fn is_between(&self) -> bool {
        self.have == 0
    }
}
