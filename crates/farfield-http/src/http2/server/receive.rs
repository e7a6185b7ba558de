//! Frames that come, one by one, to requests.

use super::{BodySource, RequestFragments, RequestPosition, ServedStream, ServerConnection, ServerEvent};
use crate::compression::Scratch;
use crate::http2::StreamId;
use crate::http2::error::{ConnectionError, ErrorCode};
use crate::http2::flow::{ReceiveWindow, SendWindow};
use crate::http2::frame::{
    self, ACK, END_HEADERS, END_STREAM, FrameType, Header, LEAST_FRAME_BYTES, PADDED, PREFACE, PRIORITY,
};
use crate::http2::peer::{self, SettingsChange};

/// Buffers for the heads of requests; all connections of a server share them.
#[derive(Debug, Default)]
pub struct RequestHeads {
    scratch: Scratch,
    method: Vec<u8>,
    path: Vec<u8>,
}

impl RequestHeads {
    /// Takes a field.
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) {
        let kept = match name {
            b":method" => &mut self.method,
            b":path" => &mut self.path,
            _ => return,
        };
        kept.clear();
        kept.extend_from_slice(value);
    }

    /// Forgets the head before.
    pub(crate) fn clear(&mut self) {
        self.method.clear();
        self.path.clear();
    }

    /// Method and path, if there are both.
    pub fn request(&self) -> Option<(&[u8], &[u8])> {
        (!self.method.is_empty() && !self.path.is_empty()).then_some((&self.method, &self.path))
    }

    /// Takes the buffers for strings out, or puts them back: fields are taken while they are in use.
    pub(crate) fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}

/// The callback for what a client did.
type Events<'a> = &'a mut dyn FnMut(ServerEvent<'_>);

impl ServerConnection {
    /// Takes the `bytes` that came, in a piece of any size, and passes what they lead to to `event`. Appends
    /// what is to be sent to `to_send`.
    ///
    /// # Errors
    /// The code that ends the connection; the client is sent it. The connection is of no further use.
    pub fn receive(
        &mut self,
        heads: &mut RequestHeads,
        bytes: &[u8],
        to_send: &mut Vec<u8>,
        event: Events<'_>,
    ) -> Result<(), ErrorCode> {
        let mut rest = bytes;
        let read = self.read(heads, &mut rest, to_send, event);
        let last = self.going_away.unwrap_or(self.last);
        read.inspect_err(|code| frame::write_goaway(last, *code, to_send))
    }

    fn read(
        &mut self,
        heads: &mut RequestHeads,
        rest: &mut &[u8],
        to_send: &mut Vec<u8>,
        event: Events<'_>,
    ) -> Result<(), ErrorCode> {
        self.take_preface(rest)?;
        loop {
            match self.place {
                RequestPosition::Between => {
                    let Some(header) = self.frames.header(rest) else { return Ok(()) };
                    self.begin_frame(header, to_send)?;
                }
                RequestPosition::Skip { left, ends } => {
                    let skipped = rest.len().min(left as usize);
                    *rest = &rest[skipped..];
                    if skipped < left as usize {
                        self.place = RequestPosition::Skip { left: left - skipped as u32, ends };
                        return Ok(());
                    }
                    self.place = RequestPosition::Between;
                    if let Some(id) = ends {
                        self.end_request(id, event);
                    }
                }
                RequestPosition::Payload(header) => {
                    let Some(payload) = self.frames.payload(rest, header.length as usize) else {
                        return Ok(());
                    };
                    self.place = RequestPosition::Between;
                    let taken = self.take_payload(heads, header, payload.bytes(), to_send, event);
                    self.frames.give_back(payload);
                    taken?;
                }
            }
        }
    }

    /// RFC 9113, 3.4: 24 bytes before the first frame.
    fn take_preface(&mut self, rest: &mut &[u8]) -> Result<(), ErrorCode> {
        let expected = &PREFACE[usize::from(self.preface)..];
        let (piece, behind) = rest.split_at(rest.len().min(expected.len()));
        if !expected.starts_with(piece) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        self.preface += piece.len() as u8;
        *rest = behind;
        Ok(())
    }

    /// The header of a frame has come.
    fn begin_frame(&mut self, header: Header, to_send: &mut Vec<u8>) -> Result<(), ErrorCode> {
        if !self.is_begun && (header.kind != FrameType::Settings || header.has(ACK)) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        header.check(LEAST_FRAME_BYTES).map_err(ConnectionError::code)?;
        // 6.10: nothing comes between the frames of a header block.
        let continues = header.kind == FrameType::Continuation;
        if self.block.as_ref().map(|block| block.stream) != continues.then_some(header.stream) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        self.allowance.spend(1).map_err(|_| ErrorCode::ENHANCE_YOUR_CALM)?;
        // 5.1: on a stream that was never opened, only HEADERS and PRIORITY may come.
        let needs_stream =
            matches!(header.kind, FrameType::Data | FrameType::RstStream | FrameType::WindowUpdate);
        if needs_stream && header.stream > self.last {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        match header.kind {
            FrameType::Data => self.begin_data(header, to_send)?,
            // 8.4: a client cannot push.
            FrameType::PushPromise => return Err(ErrorCode::PROTOCOL_ERROR),
            FrameType::GoAway | FrameType::Priority | FrameType::Unknown => {
                self.place = RequestPosition::Skip { left: header.length, ends: None };
            }
            _ => self.place = RequestPosition::Payload(header),
        }
        Ok(())
    }

    /// The payload of DATA is passed over, and allowed again at once: the model has no use for bodies.
    fn begin_data(&mut self, header: Header, to_send: &mut Vec<u8>) -> Result<(), ErrorCode> {
        if !self.receive.count(header.length) {
            return Err(ErrorCode::FLOW_CONTROL_ERROR);
        }
        if let Some(increment) = self.receive.credit() {
            frame::write_window_update(0, increment, to_send);
        }
        let ends = header.has(END_STREAM);
        self.place = RequestPosition::Skip { left: header.length, ends: ends.then_some(header.stream) };
        // One that is over was reset, or refused, before the client knew.
        let Some(stream) = self.find(header.stream) else { return Ok(()) };
        if stream.is_asked {
            return Err(ErrorCode::STREAM_CLOSED);
        }
        if !stream.receive.count(header.length) {
            return Err(ErrorCode::FLOW_CONTROL_ERROR);
        }
        if !ends && let Some(increment) = stream.receive.credit() {
            frame::write_window_update(header.stream, increment, to_send);
        }
        if header.length > 0 {
            self.allowance.earn(1);
        }
        Ok(())
    }

    /// The payload of a frame has come, whole.
    fn take_payload(
        &mut self,
        heads: &mut RequestHeads,
        header: Header,
        payload: &[u8],
        to_send: &mut Vec<u8>,
        event: Events<'_>,
    ) -> Result<(), ErrorCode> {
        match header.kind {
            FrameType::Headers => {
                let fragment = block_of(header, payload).ok_or(ErrorCode::PROTOCOL_ERROR)?;
                let end_stream = header.has(END_STREAM);
                if header.has(END_HEADERS) {
                    return self.take_block(heads, header.stream, end_stream, fragment, to_send, event);
                }
                self.block =
                    Some(RequestFragments { stream: header.stream, end_stream, bytes: fragment.to_vec() });
                Ok(())
            }
            FrameType::Continuation => {
                let Some(mut block) = self.block.take() else { return Ok(()) };
                block.bytes.extend_from_slice(payload);
                if header.has(END_HEADERS) {
                    let RequestFragments { stream, end_stream, bytes } = block;
                    return self.take_block(heads, stream, end_stream, &bytes, to_send, event);
                }
                let is_too_long = block.bytes.len() > self.settings.head_bytes as usize;
                self.block = Some(block);
                if is_too_long { Err(ErrorCode::ENHANCE_YOUR_CALM) } else { Ok(()) }
            }
            FrameType::Settings => self.take_settings(header, payload, to_send),
            FrameType::RstStream => {
                if self.remove(header.stream) {
                    event(ServerEvent::Reset(StreamId(header.stream)));
                }
                Ok(())
            }
            FrameType::WindowUpdate => {
                self.take_window_update(header.stream, number(payload), to_send, event)
            }
            FrameType::Ping => {
                if !header.has(ACK) {
                    frame::write_ping_ack(payload, to_send);
                }
                Ok(())
            }
            // These are passed over.
            FrameType::Data
            | FrameType::Priority
            | FrameType::PushPromise
            | FrameType::GoAway
            | FrameType::Unknown => Ok(()),
        }
    }

    /// A header block is whole: a request's head, or trailers. It is decoded in any case, since later blocks
    /// depend on it.
    fn take_block(
        &mut self,
        heads: &mut RequestHeads,
        id: u32,
        end_stream: bool,
        block: &[u8],
        to_send: &mut Vec<u8>,
        event: Events<'_>,
    ) -> Result<(), ErrorCode> {
        if block.len() > self.settings.head_bytes as usize {
            return Err(ErrorCode::ENHANCE_YOUR_CALM);
        }
        heads.clear();
        let mut scratch = std::mem::take(heads.scratch());
        let decoded = self.decoder.decode(block, &mut scratch, &mut |name, value| heads.field(name, value));
        *heads.scratch() = scratch;
        decoded.map_err(|_| ErrorCode::COMPRESSION_ERROR)?;
        if id <= self.last {
            // Trailers, which end the request (8.1); of a stream that is over they were on their way.
            return match (self.find(id), end_stream) {
                (Some(stream), true) if !stream.is_asked => {
                    self.end_request(id, event);
                    Ok(())
                }
                (Some(_), _) => Err(ErrorCode::PROTOCOL_ERROR),
                (None, _) => Ok(()),
            };
        }
        // 5.1.1: a client's streams have odd numbers.
        if id.is_multiple_of(2) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        self.last = id;
        if self.going_away.is_some() {
            // 6.8: the client knows, or will, that it is not processed.
            return Ok(());
        }
        if self.streams.len() >= self.settings.streams_max as usize {
            frame::write_rst_stream(id, ErrorCode::REFUSED_STREAM, to_send);
            return Ok(());
        }
        let Some((method, path)) = heads.request() else {
            // 8.1.1: a malformed request.
            frame::write_rst_stream(id, ErrorCode::PROTOCOL_ERROR, to_send);
            return Ok(());
        };
        self.allowance.earn(1);
        self.streams.push(ServedStream {
            id,
            is_asked: false,
            send: SendWindow::new(self.client.window),
            receive: ReceiveWindow::new(self.settings.stream_window_bytes),
            body: BodySource::None,
        });
        event(ServerEvent::Head { stream: StreamId(id), method, path });
        if end_stream {
            self.end_request(id, event);
        }
        Ok(())
    }

    fn end_request(&mut self, id: u32, event: Events<'_>) {
        if let Some(stream) = self.find(id) {
            stream.is_asked = true;
            event(ServerEvent::Asked(StreamId(id)));
        }
    }

    fn take_settings(
        &mut self,
        header: Header,
        payload: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<(), ErrorCode> {
        if header.has(ACK) {
            return Ok(());
        }
        self.is_begun = true;
        for setting in payload.chunks_exact(6) {
            let identifier = u16::from_be_bytes([setting[0], setting[1]]);
            let value = number(&setting[2..]);
            // A client says whether it may be pushed to: this server never does.
            if identifier == peer::ENABLE_PUSH && value <= 1 {
                continue;
            }
            let change = self.client.set(identifier, value).map_err(ConnectionError::code)?;
            if let SettingsChange::Windows(change) = change {
                // 6.9.2: the windows of all open streams change, too.
                let all_fit = self.streams.iter_mut().all(|stream| stream.send.adjust(change));
                if !all_fit {
                    return Err(ErrorCode::FLOW_CONTROL_ERROR);
                }
            }
        }
        frame::write_settings_ack(to_send);
        Ok(())
    }

    fn take_window_update(
        &mut self,
        id: u32,
        increment: u32,
        to_send: &mut Vec<u8>,
        event: Events<'_>,
    ) -> Result<(), ErrorCode> {
        let increment = i64::from(increment & 0x7fff_ffff);
        if id == 0 {
            return match increment {
                0 => Err(ErrorCode::PROTOCOL_ERROR),
                _ if self.send.adjust(increment) => Ok(()),
                _ => Err(ErrorCode::FLOW_CONTROL_ERROR),
            };
        }
        let Some(stream) = self.find(id) else { return Ok(()) };
        let code = match increment {
            0 => ErrorCode::PROTOCOL_ERROR,
            _ if stream.send.adjust(increment) => return Ok(()),
            _ => ErrorCode::FLOW_CONTROL_ERROR,
        };
        // 6.9: an error of the stream alone.
        self.remove(id);
        frame::write_rst_stream(id, code, to_send);
        event(ServerEvent::Reset(StreamId(id)));
        Ok(())
    }
}

/// The part of the header block in a payload of HEADERS, without padding and priority; nothing if the padding
/// is longer than there is room for.
fn block_of(header: Header, payload: &[u8]) -> Option<&[u8]> {
    let mut fragment = payload;
    let mut padding = 0;
    if header.has(PADDED) {
        let (first, behind) = fragment.split_first()?;
        (padding, fragment) = (usize::from(*first), behind);
    }
    if header.has(PRIORITY) {
        fragment = fragment.get(5..)?;
    }
    fragment.get(..fragment.len().checked_sub(padding)?)
}

/// A number of 32 bits at the beginning of a payload, whose size was checked with the frame's header.
fn number(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
