//! Header blocks that come: heads, interim and final, and trailers (RFC 9113, 4.3 and 8.1).
//!
//! A block is decoded even if its stream is over, since later blocks depend on it.

use super::receive::FrameResult;
use super::{Connection, ReplyFragments};
use crate::Event;
use crate::http1::Answering;
use crate::http2::StreamId;
use crate::http2::error::{ConnectionError, StreamError};
use crate::http2::frame::{END_HEADERS, END_STREAM, HEADER_BYTES, Header, PADDED, PRIORITY};
use crate::http2::head::{BlockCoding, Flaw, Heads, Section};
use crate::http2::stream::StreamLookup;

/// A block of up to so many times the limit of a head, or of no more than so many bytes, costs its stream
/// alone: it is decoded for the table that later blocks depend on, and its fields are thrown away. Each
/// connection may keep as much, so it is little.
const DECODED_TIMES: usize = 2;
const DECODED_BYTES: usize = 64 << 10;

impl ReplyFragments {
    /// Appends a fragment. The memory doubles as it fills, and never exceeds `bytes_max`.
    fn append(&mut self, fragment: &[u8], bytes_max: usize) -> Result<(), ConnectionError> {
        let length = self.bytes.len() + fragment.len();
        if length > bytes_max {
            return Err(ConnectionError::BlockTooLarge);
        }
        if length > self.bytes.capacity() {
            let capacity = length.max(2 * self.bytes.capacity()).min(bytes_max);
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(fragment);
        Ok(())
    }
}

impl Connection {
    /// Bytes that a header block may have before the connection cannot go on.
    pub(super) fn block_bytes_max(&self) -> usize {
        (self.limits.head_bytes as usize).saturating_mul(DECODED_TIMES).max(DECODED_BYTES)
    }

    pub(super) fn take_headers<'b>(
        &mut self,
        heads: &mut Heads,
        header: Header,
        payload: &[u8],
        to_send: &mut Vec<u8>,
    ) -> FrameResult<'b> {
        let mut fragment = payload;
        let mut padding = 0;
        if header.has(PADDED) {
            padding = usize::from(fragment[0]);
            fragment = &fragment[1..];
        }
        if header.has(PRIORITY) {
            fragment = &fragment[5..];
        }
        let length = fragment.len().checked_sub(padding).ok_or(ConnectionError::BadPadding)?;
        let fragment = &fragment[..length];
        let end_stream = header.has(END_STREAM);
        let framing_bytes = (HEADER_BYTES + payload.len() - fragment.len()) as u32;
        if header.has(END_HEADERS) {
            return self.take_block(heads, header.stream, end_stream, fragment, framing_bytes, to_send);
        }
        let bytes = fragment.to_vec();
        self.block = Some(ReplyFragments { stream: header.stream, end_stream, bytes, framing_bytes });
        Ok(None)
    }

    pub(super) fn take_continuation<'b>(
        &mut self,
        heads: &mut Heads,
        header: Header,
        payload: &[u8],
        to_send: &mut Vec<u8>,
    ) -> FrameResult<'b> {
        let block_bytes_max = self.block_bytes_max();
        let Some(block) = &mut self.block else { return Ok(None) };
        block.append(payload, block_bytes_max)?;
        block.framing_bytes += HEADER_BYTES as u32;
        if header.has(END_HEADERS)
            && let Some(ReplyFragments { stream, end_stream, bytes, framing_bytes }) = self.block.take()
        {
            return self.take_block(heads, stream, end_stream, &bytes, framing_bytes, to_send);
        }
        Ok(None)
    }

    /// A header block is whole: a head, interim or final, or trailers.
    fn take_block<'b>(
        &mut self,
        heads: &mut Heads,
        id: u32,
        end_stream: bool,
        block: &[u8],
        framing_bytes: u32,
        to_send: &mut Vec<u8>,
    ) -> FrameResult<'b> {
        let StreamLookup::Open(place) = self.streams.find(id) else {
            heads.discard(&mut self.decoder, block)?;
            if self.late.take_mark() {
                self.allowance.earn(1);
            }
            return Ok(None);
        };
        let stream = self.streams.at(place);
        let section = if stream.in_body { Section::Trailers } else { Section::Head };
        let read = heads.read(&mut self.decoder, block, section, &self.limits)?;
        let counted = stream.count_bodiless(block.len() as u32 + framing_bytes, &self.limits);
        // 8.1: trailers end the stream, and interim heads do not. 8.6: there is no 101.
        let head = match counted.and(read) {
            Ok(_) if section == Section::Trailers && !end_stream => {
                Err(heads.malformed(Flaw::TrailersGoOn, BlockCoding::Hpack))
            }
            Ok(head) if head.status == 101 => Err(heads.malformed(Flaw::Switches, BlockCoding::Hpack)),
            Ok(head) if section == Section::Head && head.status < 200 && end_stream => {
                stream.status = head.status;
                return Ok(self.fail(id, StreamError::Unanswered, to_send));
            }
            read => read,
        };
        let checked = head.and_then(|head| {
            if section == Section::Head {
                stream.status = head.status;
                if head.status < 200 {
                    return Ok(head);
                }
                stream.in_body = true;
                // RFC 9110, 6.4.1: no body, whatever the head says of its length.
                let has_none = stream.answering == Answering::Head || matches!(head.status, 204 | 304);
                stream.length = if has_none { Some(0) } else { head.length };
            }
            if end_stream { stream.end().map(|()| head) } else { Ok(head) }
        });
        let head = match checked {
            Ok(head) => head,
            Err(malformed) => return Ok(self.fail(id, StreamError::Malformed(malformed), to_send)),
        };
        if end_stream {
            self.end_of_reply(id);
        }
        Ok(match section {
            Section::Trailers => None,
            Section::Head if head.status < 200 => Some(Event::Interim(StreamId(id).request(), head.status)),
            Section::Head => {
                self.allowance.earn(1);
                Some(Event::Head(StreamId(id).request(), head))
            }
        })
    }

    /// The server has ended a stream as it should.
    pub(super) fn end_of_reply(&mut self, id: u32) {
        self.allowance.earn(1);
        self.ended = Some(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::connection::Settings;
    use crate::http2::frame::{self, FrameType};
    use crate::http2::request::{CommonFields, RequestHead};
    use bytes::Bytes;

    /// Twice the limit of a head, which is 64 KiB by default, in fragments of any size.
    #[test]
    fn what_is_kept_of_a_block_is_bounded() {
        let get = RequestHead {
            method: "GET",
            scheme: "http",
            authority: "server",
            target: "/",
            headers: &[],
            body_length: None,
        };
        let get = get.encode(&CommonFields::default()).expect("a good head");
        for fragment_bytes in [999, 5_000, 16_384] {
            let (mut heads, mut to_send) = (Heads::default(), Vec::new());
            let mut connection = Connection::new(&Settings::default(), &mut to_send);
            connection.request(&get, &Bytes::new(), &mut to_send).expect("room");
            let mut bytes = Vec::new();
            frame::begin(0, FrameType::Settings, 0, 0, &mut bytes);
            connection.read(&mut heads, &bytes, &mut to_send).expect("a sound server");
            let (mut kind, mut most) = (FrameType::Headers, 0);
            let error = loop {
                bytes.clear();
                frame::begin(fragment_bytes, kind, 0, 1, &mut bytes);
                bytes.resize(HEADER_BYTES + fragment_bytes, 0x88);
                if let Err(error) = connection.read(&mut heads, &bytes, &mut to_send) {
                    break error;
                }
                most = most.max(connection.block.as_ref().expect("a block").bytes.capacity());
                kind = FrameType::Continuation;
            };
            assert_eq!(error, ConnectionError::BlockTooLarge);
            assert!((120 << 10..=128 << 10).contains(&most), "{most} in fragments of {fragment_bytes}");
        }
    }
}
