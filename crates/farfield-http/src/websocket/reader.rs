//! The server's frames (RFC 6455 section 5), put together to messages.
//!
//! A message is kept up to a bound; beyond it its bytes are counted, and a text has to be UTF-8 all the same.
//! A server that sends control frames or empty frames without end is a flood, as it is over HTTP/2.

use super::frame::FrameKind;
use crate::allowance::{Allowance, AllowanceError};
use farfield_base::{Detail, Outcome, Rule};

/// Bytes of a frame's head at most: a server's frames are not masked.
const HEAD_BYTES: usize = 10;
/// Bytes of a control frame's payload at most (section 5.5).
const CONTROL_BYTES: u64 = 125;
/// Memory for a message that is kept for the next one.
const KEPT_BYTES: usize = 4 << 10;

/// Something that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// All bytes are taken: come back with more.
    NeedMore,
    /// The first byte of a message's first frame came.
    Begun,
    /// A message is whole. [`MessageReader::payload`] has it.
    Message(Message),
    /// A Ping came, to be answered with its [payload](MessageReader::control).
    Ping,
    /// The server closes, with this code if it says one.
    Close(Option<u16>),
}

/// A whole message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Bytes of its payload, of which some may not have been kept.
    pub bytes: u64,
    /// Bytes of its frames, heads and payloads.
    pub wire_bytes: u64,
    /// True if the message is text, and not bytes.
    pub is_text: bool,
}

/// A fault of what came, after which the connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A rule that is not kept.
    #[error("{0}")]
    Broken(Rule),
    /// A text is not UTF-8.
    #[error("{NOT_TEXT}")]
    NotText,
    /// The message is longer than it may be.
    #[error("a message is longer than it may be")]
    TooLong,
    /// Frames that lead to nothing came without end.
    #[error("frames that lead to nothing come without end")]
    Flood,
}

impl Violation {
    /// The outcome that a sample records.
    pub const fn outcome(self) -> Outcome {
        match self {
            Violation::Broken(_) | Violation::NotText => Outcome::BadFrame,
            Violation::TooLong => Outcome::BodyTooLarge,
            Violation::Flood => Outcome::Flooded,
        }
    }

    /// The code with which a client closes for it (section 7.4.1).
    pub const fn close_code(self) -> u16 {
        match self {
            Violation::NotText => 1007,
            Violation::TooLong => 1009,
            Violation::Broken(_) => 1002,
            Violation::Flood => 1008,
        }
    }

    /// The rule, where one is broken.
    pub const fn detail(self) -> Option<Detail> {
        match self {
            Violation::Broken(rule) => Some(Detail::broken(rule)),
            Violation::NotText => Some(Detail::broken(NOT_TEXT)),
            Violation::TooLong => None,
            Violation::Flood => {
                Some(Detail::broken(Rule::new("frames that lead to nothing, without end", "")))
            }
        }
    }
}

/// The rule of texts.
const NOT_TEXT: Rule = Rule::new("a text is not UTF-8", "RFC 6455 §8.1");

const fn broken(wrong: &'static str, section: &'static str) -> Violation {
    Violation::Broken(Rule::new(wrong, section))
}

impl From<AllowanceError> for Violation {
    fn from(_: AllowanceError) -> Violation {
        Violation::Flood
    }
}

/// The frame that is being read.
#[derive(Debug, Clone, Copy)]
struct Frame {
    kind: FrameKind,
    is_final: bool,
    /// Bytes of its payload to come.
    left: u64,
}

/// A text as far as it came, whose last character may not be whole.
#[derive(Debug, Clone, Copy, Default)]
struct TextSoFar {
    /// The first bytes of that character.
    begun: [u8; 4],
    begun_bytes: u8,
}

impl TextSoFar {
    /// Reads on; false if the text is not UTF-8.
    fn read(&mut self, mut bytes: &[u8]) -> bool {
        while self.begun_bytes > 0 {
            let Some((byte, rest)) = bytes.split_first() else { return true };
            self.begun[usize::from(self.begun_bytes)] = *byte;
            self.begun_bytes += 1;
            bytes = rest;
            match std::str::from_utf8(&self.begun[..usize::from(self.begun_bytes)]) {
                Ok(_) => self.begun_bytes = 0,
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                // At most three bytes: with a fourth it would be whole, or wrong.
                let begun = &bytes[error.valid_up_to()..];
                self.begun[..begun.len()].copy_from_slice(begun);
                self.begun_bytes = begun.len() as u8;
                true
            }
        }
    }

    /// True if its last character is whole.
    fn is_whole(&self) -> bool {
        self.begun_bytes == 0
    }
}

/// A reader of the frames of one connection.
#[derive(Debug)]
pub struct MessageReader {
    head: [u8; HEAD_BYTES],
    head_bytes: u8,
    frame: Option<Frame>,
    /// The message that is being put together.
    message: Option<Message>,
    text: TextSoFar,
    payload: Vec<u8>,
    control: Vec<u8>,
    kept_max: usize,
    bytes_max: u64,
    allowance: Allowance,
}

impl MessageReader {
    /// A reader that keeps up to `kept_max` bytes of a message, and refuses one of more than `bytes_max`.
    pub fn new(kept_max: usize, bytes_max: u64) -> MessageReader {
        MessageReader {
            head: [0; HEAD_BYTES],
            head_bytes: 0,
            frame: None,
            message: None,
            text: TextSoFar::default(),
            payload: Vec::new(),
            control: Vec::new(),
            kept_max,
            bytes_max,
            allowance: Allowance::FULL,
        }
    }

    /// Payload of the message that the last step made whole, as far as it is kept.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Payload of the Ping or Close that the last step led to.
    pub fn control(&self) -> &[u8] {
        &self.control
    }

    /// Takes the next step through `bytes`: how many of them it took, and what that led to.
    ///
    /// # Errors
    /// The connection cannot go on.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(usize, Incoming), Violation> {
        let mut used = 0;
        if self.message.is_none() && self.head_bytes == 0 && self.frame.is_none() {
            self.payload.clear();
            self.payload.shrink_to(KEPT_BYTES);
        }
        loop {
            let rest = &bytes[used..];
            let Some(mut frame) = self.frame else {
                let Some(&byte) = rest.first() else { return Ok((used, Incoming::NeedMore)) };
                self.head[usize::from(self.head_bytes)] = byte;
                self.head_bytes += 1;
                used += 1;
                if let Some(found) = self.head()? {
                    return Ok((used, found));
                }
                continue;
            };
            let taken = frame.left.min(rest.len() as u64) as usize;
            used += taken;
            self.take(frame.kind, &rest[..taken])?;
            frame.left -= taken as u64;
            if frame.left > 0 {
                self.frame = Some(frame);
                return Ok((used, Incoming::NeedMore));
            }
            self.frame = None;
            match self.end_frame(frame)? {
                Some(found) => return Ok((used, found)),
                None => continue,
            }
        }
    }

    /// Looks at the head of a frame as far as it came.
    fn head(&mut self) -> Result<Option<Incoming>, Violation> {
        let [first, second, ..] = self.head;
        if self.head_bytes == 1 {
            if first & 0x70 != 0 {
                return Err(broken("a reserved bit is set", "RFC 6455 §5.2"));
            }
            let kind = FrameKind::of(first & 0x0f)
                .ok_or_else(|| broken("a frame has a reserved opcode", "RFC 6455 §5.2"))?;
            let is_final = first & 0x80 != 0;
            match kind {
                _ if kind.is_control() && !is_final => {
                    return Err(broken("a control frame is fragmented", "RFC 6455 §5.5"));
                }
                FrameKind::Continuation if self.message.is_none() => {
                    return Err(broken("a frame continues no message", "RFC 6455 §5.4"));
                }
                FrameKind::Text | FrameKind::Binary if self.message.is_some() => {
                    return Err(broken("a message begins within another", "RFC 6455 §5.4"));
                }
                FrameKind::Text | FrameKind::Binary => {
                    let is_text = kind == FrameKind::Text;
                    self.message = Some(Message { bytes: 0, wire_bytes: 0, is_text });
                    self.text = TextSoFar::default();
                    return Ok(Some(Incoming::Begun));
                }
                _ => return Ok(None),
            }
        }
        if self.head_bytes == 2 && second & 0x80 != 0 {
            return Err(broken("a frame of the server's is masked", "RFC 6455 §5.1"));
        }
        let (length_bytes, left) = match second & 0x7f {
            126 => (2, u64::from(u16::from_be_bytes([self.head[2], self.head[3]]))),
            127 => (8, u64::from_be_bytes(self.head[2..].try_into().unwrap_or_default())),
            short => (0, u64::from(short)),
        };
        if usize::from(self.head_bytes) < 2 + length_bytes {
            return Ok(None);
        }
        if left >> 63 != 0 {
            return Err(broken("a length has its highest bit set", "RFC 6455 §5.2"));
        }
        let kind = FrameKind::of(first & 0x0f).unwrap_or(FrameKind::Continuation);
        self.begin_frame(Frame { kind, is_final: first & 0x80 != 0, left })
    }

    /// The head of a frame is whole.
    fn begin_frame(&mut self, frame: Frame) -> Result<Option<Incoming>, Violation> {
        let head_bytes = u64::from(std::mem::take(&mut self.head_bytes));
        if frame.kind.is_control() {
            self.allowance.spend(1)?;
            self.control.clear();
            if frame.left > CONTROL_BYTES {
                return Err(broken("a control frame has more than 125 bytes", "RFC 6455 §5.5"));
            }
        } else if let Some(message) = &mut self.message {
            message.wire_bytes = message.wire_bytes.saturating_add(head_bytes).saturating_add(frame.left);
            message.bytes = message.bytes.saturating_add(frame.left);
            if message.bytes > self.bytes_max {
                return Err(Violation::TooLong);
            }
            match frame.left {
                0 => self.allowance.spend(1)?,
                _ => self.allowance.earn(1),
            }
        }
        if frame.left > 0 {
            self.frame = Some(frame);
            return Ok(None);
        }
        self.end_frame(frame)
    }

    /// Takes payload of the frame that is being read.
    fn take(&mut self, kind: FrameKind, bytes: &[u8]) -> Result<(), Violation> {
        if kind.is_control() {
            self.control.extend_from_slice(bytes);
            return Ok(());
        }
        let room = self.kept_max.saturating_sub(self.payload.len());
        self.payload.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let is_text = self.message.is_some_and(|message| message.is_text);
        if is_text && !self.text.read(bytes) { Err(Violation::NotText) } else { Ok(()) }
    }

    /// A frame is whole.
    fn end_frame(&mut self, frame: Frame) -> Result<Option<Incoming>, Violation> {
        match frame.kind {
            FrameKind::Ping => Ok(Some(Incoming::Ping)),
            FrameKind::Pong => Ok(None),
            FrameKind::Close => match self.control[..] {
                [] => Ok(Some(Incoming::Close(None))),
                [_] => Err(broken("Close has half a code", "RFC 6455 §5.5.1")),
                [_, _, ref reason @ ..] if std::str::from_utf8(reason).is_err() => Err(Violation::NotText),
                [high, low, ..] => {
                    let code = u16::from_be_bytes([high, low]);
                    // The others mean nothing on the wire (section 7.4.1), or are nobody's.
                    match code {
                        1000..=1003 | 1007..=1014 | 3000..=4999 => Ok(Some(Incoming::Close(Some(code)))),
                        _ => Err(broken("Close has a code that means nothing", "RFC 6455 §7.4")),
                    }
                }
            },
            FrameKind::Continuation | FrameKind::Text | FrameKind::Binary if !frame.is_final => Ok(None),
            FrameKind::Continuation | FrameKind::Text | FrameKind::Binary => {
                let Some(message) = self.message.take() else { return Ok(None) };
                if message.is_text && !self.text.is_whole() {
                    return Err(Violation::NotText);
                }
                Ok(Some(Incoming::Message(message)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All that is found in `bytes`, handed in pieces of `piece` bytes.
    fn found(bytes: &[u8], piece: usize) -> Result<Vec<(Incoming, Vec<u8>)>, Violation> {
        let mut reader = MessageReader::new(1 << 20, 1 << 20);
        let mut found = Vec::new();
        for piece in bytes.chunks(piece) {
            let mut rest = piece;
            loop {
                let (used, incoming) = reader.read(rest)?;
                rest = &rest[used..];
                match incoming {
                    Incoming::NeedMore => break,
                    Incoming::Begun => {}
                    Incoming::Message(_) => found.push((incoming, reader.payload().to_vec())),
                    _ => found.push((incoming, reader.control().to_vec())),
                }
            }
            assert!(rest.is_empty(), "all is taken");
        }
        Ok(found)
    }

    /// The unmasked examples of section 5.7.
    #[test]
    fn frames_of_the_specification_are_read_as_it_says() {
        let text = |bytes, wire_bytes| Incoming::Message(Message { bytes, wire_bytes, is_text: true });
        for piece in 1..20 {
            let single = found(&[0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f], piece);
            assert_eq!(single, Ok(vec![(text(5, 7), b"Hello".to_vec())]));
            let fragmented = found(&[0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f], piece);
            assert_eq!(fragmented, Ok(vec![(text(5, 9), b"Hello".to_vec())]));
            let ping = found(&[0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f], piece);
            assert_eq!(ping, Ok(vec![(Incoming::Ping, b"Hello".to_vec())]));
        }
        let mut middle = vec![0x82, 0x7e, 0x01, 0x00];
        middle.extend([7; 256]);
        let message = Message { bytes: 256, wire_bytes: 260, is_text: false };
        assert_eq!(found(&middle, 100), Ok(vec![(Incoming::Message(message), vec![7; 256])]));
        let mut long = vec![0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0];
        long.extend(vec![7; 65_536]);
        let message = Message { bytes: 65_536, wire_bytes: 65_546, is_text: false };
        assert_eq!(found(&long, 1000), Ok(vec![(Incoming::Message(message), vec![7; 65_536])]));
    }

    #[test]
    fn control_frames_may_stand_within_a_message() {
        let bytes = [0x01, 0x01, b'a', 0x89, 0x00, 0x80, 0x01, b'b', 0x88, 0x02, 0x03, 0xe8];
        let found = found(&bytes, 3).expect("sound frames");
        assert_eq!(found[0], (Incoming::Ping, Vec::new()));
        assert_eq!(found[1].1, b"ab");
        assert_eq!(found[2].0, Incoming::Close(Some(1000)));
    }

    #[test]
    fn what_the_specification_forbids_is_a_fault() {
        for (bytes, wrong) in [
            (&[0xc1, 0x00][..], "a reserved bit is set"),
            (&[0x83, 0x00], "a frame has a reserved opcode"),
            (&[0x81, 0x80], "a frame of the server's is masked"),
            (&[0x09, 0x00], "a control frame is fragmented"),
            (&[0x89, 0x7e, 0x00, 0x7e], "a control frame has more than 125 bytes"),
            (&[0x80, 0x00], "a frame continues no message"),
            (&[0x01, 0x00, 0x81, 0x00], "a message begins within another"),
            (&[0x81, 0x01, 0xff], "a text is not UTF-8"),
            (&[0x82, 0x7f, 0x80, 0, 0, 0, 0, 0, 0, 0], "a length has its highest bit set"),
            (&[0x88, 0x01, 0x03], "Close has half a code"),
            (&[0x88, 0x02, 0x03, 0xed], "Close has a code that means nothing"),
        ] {
            let fault = found(bytes, 1).expect_err(wrong);
            assert!(fault.to_string().starts_with(wrong), "{fault}");
            assert_eq!(fault.outcome(), Outcome::BadFrame);
        }
    }

    /// Characters may be cut by frames and by pieces, and what is not kept is text as well.
    #[test]
    fn a_text_is_utf_8_to_its_end() {
        let text = "a\u{e4}\u{20ac}\u{1f600}".as_bytes();
        for cut in 0..=text.len() {
            let (first, rest) = text.split_at(cut);
            let frames = [&[0x01, cut as u8][..], first, &[0x80, rest.len() as u8], rest].concat();
            for piece in 1..frames.len() {
                let found = found(&frames, piece).expect("a text");
                assert_eq!(
                    found.iter().map(|(_, text)| &text[..]).collect::<Vec<_>>(),
                    [text],
                    "{cut}, {piece}"
                );
            }
        }
        for (wrong, sound) in [
            (&b"0123456789\xff"[..], "0123456789a"),
            (b"0123456789\xe2\x82", "0123456789\u{e4}"),
            (b"012345678\xed\xa0\x80", "012345678\u{20ac}"),
        ] {
            for (bytes, is_text) in [(wrong, false), (sound.as_bytes(), true)] {
                let frame = [&[0x81, bytes.len() as u8][..], bytes].concat();
                let mut reader = MessageReader::new(5, 100);
                let read = frame.iter().find_map(|byte| match reader.read(std::slice::from_ref(byte)) {
                    Ok((_, Incoming::Message(message))) => Some(Ok(message.bytes)),
                    Ok(_) => None,
                    Err(violation) => Some(Err(violation)),
                });
                let expected = if is_text { Ok(bytes.len() as u64) } else { Err(Violation::NotText) };
                assert_eq!(read, Some(expected), "{bytes:?}");
            }
        }
    }

    #[test]
    fn messages_are_bounded_and_floods_end() {
        let mut reader = MessageReader::new(10, 100);
        let mut bytes = vec![0x82, 60];
        bytes.extend([1; 60]);
        assert_eq!(reader.read(&bytes), Ok((1, Incoming::Begun)));
        assert!(matches!(reader.read(&bytes[1..]), Ok((_, Incoming::Message(Message { bytes: 60, .. })))));
        assert_eq!(reader.payload(), [1; 10]);
        let mut reader = MessageReader::new(10, 100);
        let parts = [&[0x02, 60][..], &[1; 60], &[0x80, 41]].concat();
        assert_eq!(reader.read(&parts), Ok((1, Incoming::Begun)));
        assert_eq!(reader.read(&parts[1..]), Err(Violation::TooLong));
        let mut reader = MessageReader::new(10, 100);
        let pongs = (0..).find_map(|count: u32| reader.read(&[0x8a, 0x00]).err().map(|fault| (count, fault)));
        assert_eq!(pongs, Some((crate::allowance::ADVANCE, Violation::Flood)));
    }

    proptest! {
        /// Whatever comes in pieces of any size leads to what it leads to as a whole.
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1_usize..20) {
            prop_assert_eq!(found(&bytes, piece).is_ok(), found(&bytes, 300).is_ok());
            if let (Ok(parts), Ok(whole)) = (found(&bytes, piece), found(&bytes, 300)) {
                prop_assert_eq!(parts, whole);
            }
        }

        /// Messages of any size, each in up to three frames, are found as they were sent.
        #[test]
        fn messages_are_found_as_they_were_sent(
            messages in prop::collection::vec(prop::collection::vec("[a-z]{0,200}", 1..4), 1..8),
            piece in 1_usize..300,
        ) {
            let mut bytes = Vec::new();
            for frames in &messages {
                for (place, text) in frames.iter().enumerate() {
                    let is_final = place + 1 == frames.len();
                    bytes.push(u8::from(is_final) << 7 | u8::from(place == 0));
                    match text.len() {
                        short @ 0..=125 => bytes.push(short as u8),
                        long => bytes.extend([126, 0, long as u8]),
                    }
                    bytes.extend_from_slice(text.as_bytes());
                }
            }
            let found: Vec<_> = found(&bytes, piece).expect("sound frames").into_iter().map(|(_, text)| text).collect();
            let sent: Vec<_> = messages.iter().map(|frames| frames.concat().into_bytes()).collect();
            prop_assert_eq!(found, sent);
        }
    }
}
