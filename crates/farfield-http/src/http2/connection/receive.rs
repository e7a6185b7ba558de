//! Frames that come, one by one, to events. Header blocks are in `blocks`.

use super::{Connection, ReceivePosition};
use crate::http2::StreamId;
use crate::http2::error::{ConnectionError, ErrorCode, StreamError};
use crate::http2::frame::{
    self, ACK, END_STREAM, FrameType, HEADER_BYTES, Header, LEAST_FRAME_BYTES, PADDED,
};
use crate::http2::head::Heads;
use crate::http2::peer::{self, SettingsChange};
use crate::http2::stream::{Stream, StreamLookup};
use crate::{Body, Event};
use farfield_base::Detail;

/// The bytes of GOAWAY before the server's words, and those of its words that are kept.
const GOAWAY_BYTES: u32 = 8;
const GOAWAY_WORDS: u32 = Detail::FOUND_BYTES as u32 + 1;

/// The most that HEADERS can have beside a block: priority, and padding with its length.
const BESIDE_BLOCK_BYTES: usize = 5 + 1 + 255;

/// The place in a payload of DATA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    pub(super) stream: u32,
    /// Bytes to come, with padding.
    left: u32,
    /// Bytes of padding at the end; nothing before its length has come.
    padding: Option<u32>,
    end_stream: bool,
}

/// The result of a frame.
pub(super) type FrameResult<'b> = Result<Option<Event<'b>>, ConnectionError>;

impl Connection {
    /// Goes through `rest` up to the next event.
    pub(super) fn next_event<'b>(
        &mut self,
        heads: &mut Heads,
        rest: &mut &'b [u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Event<'b>, ConnectionError> {
        loop {
            if let Some(event) = self.due(to_send) {
                return Ok(event);
            }
            let event = match self.place {
                ReceivePosition::Between => {
                    self.check_first(rest)?;
                    let Some(header) = self.frames.header(rest) else { return Ok(Event::NeedMore) };
                    self.begin_frame(header, to_send)?
                }
                ReceivePosition::Skip(left) => {
                    let skipped = rest.len().min(left as usize);
                    *rest = &rest[skipped..];
                    let left = left - skipped as u32;
                    self.place =
                        if left == 0 { ReceivePosition::Between } else { ReceivePosition::Skip(left) };
                    if left > 0 {
                        return Ok(Event::NeedMore);
                    }
                    None
                }
                ReceivePosition::Data(data) => match self.take_data(data, rest, to_send)? {
                    Some(Event::NeedMore) => return Ok(Event::NeedMore),
                    event => event,
                },
                ReceivePosition::Payload(header) => {
                    let kept = match header.kind {
                        FrameType::GoAway => header.length.min(GOAWAY_BYTES + GOAWAY_WORDS),
                        _ => header.length,
                    };
                    let Some(payload) = self.frames.payload(rest, kept as usize) else {
                        return Ok(Event::NeedMore);
                    };
                    self.place = ReceivePosition::Skip(header.length - kept);
                    let event = self.take_payload(heads, header, payload.bytes(), to_send);
                    self.frames.give_back(payload);
                    event?
                }
            };
            if let Some(event) = event {
                return Ok(event);
            }
        }
    }

    /// The event that an earlier frame has led to and that is still to be reported.
    fn due<'b>(&mut self, to_send: &mut Vec<u8>) -> Option<Event<'b>> {
        let persistent = !self.is_closing();
        if let Some(id) = self.ended.take()
            && let StreamLookup::Open(place) = self.streams.find(id)
        {
            let stream = self.streams.remove(place);
            if !stream.unsent.is_empty() {
                // RFC 9113, 8.1: the reply counts, and the rest of the request need not be sent.
                frame::write_rst_stream(id, ErrorCode::NO_ERROR, to_send);
                self.streams.give_up(id);
            }
            return Some(Event::Done(StreamId(id).request(), stream.reply(persistent)));
        }
        let place = self.streams.last_above(self.going_away?)?;
        let stream = self.streams.remove(place);
        self.streams.give_up(stream.id);
        self.late.give_up(&stream);
        Some(failed(&stream, ErrorCode::REFUSED_STREAM, false))
    }

    /// RFC 9113, 3.4: the server's SETTINGS come first. The length of none begins with anything but a zero,
    /// while other protocols begin with a letter or, as TLS, with a small number.
    fn check_first(&self, rest: &[u8]) -> Result<(), ConnectionError> {
        let is_start = !self.is_begun && self.frames.is_between();
        let is_other = is_start && rest.first().is_some_and(|&byte| byte != 0);
        if is_other { Err(ConnectionError::NotHttp2) } else { Ok(()) }
    }

    /// The header of a frame has come.
    fn begin_frame<'b>(&mut self, header: Header, to_send: &mut Vec<u8>) -> FrameResult<'b> {
        self.frame = header;
        if !self.is_begun && (header.kind != FrameType::Settings || header.has(ACK)) {
            return Err(ConnectionError::NotHttp2);
        }
        header.check(self.frame_bytes_max)?;
        // 6.10: nothing comes between the frames of a header block.
        match &self.block {
            Some(block) if header.kind != FrameType::Continuation || header.stream != block.stream => {
                return Err(ConnectionError::ContinuationExpected);
            }
            None if header.kind == FrameType::Continuation => {
                return Err(ConnectionError::ContinuationUnexpected);
            }
            _ => {}
        }
        // Requests, heads, bodies and ends of streams earn it back, be they late, and so do frames of ours
        // that the server makes room for.
        self.allowance.spend(1).map_err(|_| ConnectionError::Flood)?;
        // Memory for gathered blocks is bounded, however large frames may be.
        let gathered = self.block.as_ref().map_or(0, |block| block.bytes.len());
        match header.kind {
            FrameType::PushPromise => return Err(ConnectionError::Pushed),
            FrameType::Headers | FrameType::Continuation
                if gathered + header.length as usize > self.block_bytes_max() + BESIDE_BLOCK_BYTES =>
            {
                return Err(ConnectionError::BlockTooLarge);
            }
            FrameType::Settings if header.length > LEAST_FRAME_BYTES => return Err(ConnectionError::Flood),
            _ => {}
        }
        // 5.1: on a stream that was never opened, only PRIORITY may come.
        let needs_stream = matches!(header.kind, FrameType::Data | FrameType::Headers | FrameType::RstStream)
            || header.kind == FrameType::WindowUpdate && header.stream != 0;
        let found = if needs_stream { self.streams.find(header.stream) } else { StreamLookup::GivenUp };
        match (header.kind, found) {
            (_, StreamLookup::Idle) => return Err(ConnectionError::IdleStream),
            (FrameType::Data | FrameType::Headers, StreamLookup::Over) => {
                return Err(ConnectionError::ClosedStream);
            }
            (FrameType::Data, found) => return self.begin_data(header, found, to_send),
            (FrameType::Unknown | FrameType::Priority, _) => {
                self.place = ReceivePosition::Skip(header.length)
            }
            _ => self.place = ReceivePosition::Payload(header),
        }
        Ok(None)
    }

    fn begin_data<'b>(
        &mut self,
        header: Header,
        found: StreamLookup,
        to_send: &mut Vec<u8>,
    ) -> FrameResult<'b> {
        // 6.9.1: what comes on streams that were given up counts, too.
        if !self.receive.count(header.length) {
            return Err(ConnectionError::WindowExceeded);
        }
        if let Some(increment) = self.receive.credit() {
            frame::write_window_update(0, increment, to_send);
        }
        self.place = ReceivePosition::Skip(header.length);
        let end_stream = header.has(END_STREAM);
        let StreamLookup::Open(place) = found else {
            if self.late.take_data(header.length, end_stream) {
                self.allowance.earn(1);
            }
            return Ok(None);
        };
        let stream = self.streams.at(place);
        let counted = if !stream.receive.count(header.length) {
            Err(StreamError::WindowExceeded)
        } else if !stream.in_body {
            Err(StreamError::DataFirst)
        } else {
            let framing = HEADER_BYTES as u32 + u32::from(header.has(PADDED));
            stream.count_bodiless(framing, &self.limits).map_err(StreamError::Malformed)
        };
        if let Err(error) = counted {
            return Ok(self.fail(header.stream, error, to_send));
        }
        if !end_stream && let Some(increment) = stream.receive.credit() {
            frame::write_window_update(header.stream, increment, to_send);
        }
        let padding = if header.has(PADDED) { None } else { Some(0) };
        self.place =
            ReceivePosition::Data(Data { stream: header.stream, left: header.length, padding, end_stream });
        Ok(None)
    }

    /// Takes the next bytes of a payload of DATA.
    fn take_data<'b>(
        &mut self,
        mut data: Data,
        rest: &mut &'b [u8],
        to_send: &mut Vec<u8>,
    ) -> FrameResult<'b> {
        let StreamLookup::Open(place) = self.streams.find(data.stream) else {
            // It was given up in the middle of the frame.
            self.place = ReceivePosition::Skip(data.left);
            return Ok(None);
        };
        let stream = self.streams.at(place);
        let Some(padding) = data.padding else {
            let Some((&padding, behind)) = rest.split_first() else { return Ok(Some(Event::NeedMore)) };
            *rest = behind;
            data.left -= 1;
            data.padding = Some(u32::from(padding));
            self.place = ReceivePosition::Data(data);
            // 6.1: as long as the payload, or longer.
            let fits = u32::from(padding) <= data.left;
            return if fits { Ok(None) } else { Err(ConnectionError::BadPadding) };
        };
        let body = data.left - padding;
        if body > 0 {
            let room = match stream.body_room(&self.limits) {
                Ok(room) => room.min(u64::from(body)) as usize,
                Err(malformed) => {
                    self.place = ReceivePosition::Skip(data.left);
                    return Ok(self.fail(data.stream, StreamError::Malformed(malformed), to_send));
                }
            };
            let (piece, behind) = rest.split_at(rest.len().min(room));
            if piece.is_empty() {
                return Ok(Some(Event::NeedMore));
            }
            *rest = behind;
            data.left -= piece.len() as u32;
            self.place = ReceivePosition::Data(data);
            self.allowance.earn(1);
            stream.count_body(piece.len() as u64);
            return Ok(Some(Event::Body(StreamId(data.stream).request(), Body::Lent(piece))));
        }
        self.place = ReceivePosition::Skip(padding);
        let counted = stream.count_bodiless(padding, &self.limits);
        match counted.and_then(|()| if data.end_stream { stream.end() } else { Ok(()) }) {
            Err(malformed) => Ok(self.fail(data.stream, StreamError::Malformed(malformed), to_send)),
            Ok(()) => {
                if data.end_stream {
                    self.end_of_reply(data.stream);
                }
                Ok(None)
            }
        }
    }

    /// The payload of a frame has come, whole.
    fn take_payload<'b>(
        &mut self,
        heads: &mut Heads,
        header: Header,
        payload: &[u8],
        to_send: &mut Vec<u8>,
    ) -> FrameResult<'b> {
        match header.kind {
            FrameType::Headers => self.take_headers(heads, header, payload, to_send),
            FrameType::Continuation => self.take_continuation(heads, header, payload, to_send),
            FrameType::Settings => self.take_settings(header, payload, to_send).map(|()| None),
            FrameType::RstStream => Ok(self.take_rst_stream(header.stream, number(payload))),
            FrameType::WindowUpdate => self.take_window_update(header.stream, number(payload), to_send),
            FrameType::GoAway => {
                let (fixed, words) = payload.split_at(GOAWAY_BYTES as usize);
                self.take_goaway(number(fixed), number(&fixed[4..]), words).map(Some)
            }
            FrameType::Ping => {
                if !header.has(ACK) {
                    frame::write_ping_ack(payload, to_send);
                }
                Ok(None)
            }
            // These have other places.
            FrameType::Data | FrameType::Priority | FrameType::PushPromise | FrameType::Unknown => Ok(None),
        }
    }

    fn take_settings(
        &mut self,
        header: Header,
        payload: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<(), ConnectionError> {
        if header.has(ACK) {
            let unasked = std::mem::replace(&mut self.acknowledged, true);
            return if unasked { Err(ConnectionError::UnaskedAcknowledgement) } else { Ok(()) };
        }
        if !self.is_begun {
            self.is_begun = true;
            // 6.5.2: without a limit, if these settings have none.
            self.peer.streams_max = u32::MAX;
        }
        for setting in payload.chunks_exact(6) {
            let identifier = u16::from_be_bytes([setting[0], setting[1]]);
            let value = number(&setting[2..]);
            let set = self.peer.set(identifier, value).and_then(|change| match change {
                // 6.9.2: the windows of all open streams change, too.
                SettingsChange::Windows(change)
                    if !self.streams.iter_mut().all(|stream| stream.send.adjust(change)) =>
                {
                    Err(ConnectionError::WindowSetting)
                }
                _ => Ok(()),
            });
            if set.is_err() {
                self.words = Some(format!("{} was {value}", peer::name_of(identifier)).into_bytes().into());
            }
            set?;
        }
        frame::write_settings_ack(to_send);
        self.send_bodies(to_send);
        Ok(())
    }

    fn take_rst_stream<'b>(&mut self, id: u32, code: u32) -> Option<Event<'b>> {
        let StreamLookup::Open(place) = self.streams.find(id) else { return None };
        let stream = self.streams.remove(place);
        self.allowance.earn(1);
        Some(failed(&stream, ErrorCode(code), !self.is_closing()))
    }

    fn take_window_update<'b>(&mut self, id: u32, increment: u32, to_send: &mut Vec<u8>) -> FrameResult<'b> {
        let increment = i64::from(increment & 0x7fff_ffff);
        if id == 0 {
            if increment == 0 {
                return Err(ConnectionError::ZeroIncrement);
            }
            if !self.send.adjust(increment) {
                return Err(ConnectionError::WindowOverflow);
            }
        } else {
            let Some(stream) = self.streams.find_mut(id) else { return Ok(None) };
            if increment == 0 {
                return Ok(self.fail(id, StreamError::ZeroIncrement, to_send));
            }
            if !stream.send.adjust(increment) {
                return Ok(self.fail(id, StreamError::WindowOverflow, to_send));
            }
        }
        self.send_bodies(to_send);
        Ok(None)
    }

    fn take_goaway<'b>(&mut self, last: u32, code: u32, words: &[u8]) -> Result<Event<'b>, ConnectionError> {
        let last = last & 0x7fff_ffff;
        if self.going_away.is_some_and(|before| last > before) {
            return Err(ConnectionError::LastStreamRaised);
        }
        self.going_away = Some(last);
        self.words = (ErrorCode(code) != ErrorCode::NO_ERROR && !words.is_empty()).then(|| words.into());
        self.goaway = ErrorCode(code);
        Ok(Event::GoingAway)
    }

    /// A stream cannot go on: it is reset, and its failure the event.
    pub(super) fn fail<'b>(
        &mut self,
        id: u32,
        error: StreamError,
        to_send: &mut Vec<u8>,
    ) -> Option<Event<'b>> {
        let reply = self.so_far(StreamId(id))?;
        self.abandon(id, error.code(), to_send);
        Some(Event::Failed(StreamId(id).request(), reply, crate::StreamError::Http2(error)))
    }

    /// Resets a stream, if it is open.
    pub(super) fn abandon(&mut self, id: u32, code: ErrorCode, to_send: &mut Vec<u8>) {
        if let StreamLookup::Open(place) = self.streams.find(id) {
            let stream = self.streams.remove(place);
            self.streams.give_up(id);
            self.late.give_up(&stream);
            frame::write_rst_stream(id, code, to_send);
        }
    }
}

/// The failure of a stream that the server has ended with this code. A request is refused only if nothing
/// came of its reply: otherwise it was processed, whatever the server says.
fn failed<'b>(stream: &Stream, code: ErrorCode, persistent: bool) -> Event<'b> {
    let is_refused = code == ErrorCode::REFUSED_STREAM && stream.status == 0;
    let error = if is_refused { StreamError::Refused } else { StreamError::Reset(code) };
    let reply = stream.reply(persistent);
    Event::Failed(StreamId(stream.id).request(), reply, crate::StreamError::Http2(error))
}

/// A number of 32 bits at the beginning of a payload, whose size was checked with the frame's header.
fn number(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
