//! Heads and trailers of replies: decoded fields, checked (RFC 9113, 8.1 to 8.3).
//!
//! The fields are kept as the lines of an HTTP/1 head, which [`Fields`] walks: what a user looks for in a
//! reply is found in the same way. No value can contain a line end, since such a head is malformed.

use super::hpack::{Decoder, HpackError, Scratch};
use crate::Head;
use crate::http1::{Fields, Length, Limits, Malformed, Media};
use crate::http3::qpack::{self, QpackError};
use farfield_base::{Detail, Rule};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest block that is kept, in bytes.
const LONGEST_KNOWN: usize = 4096;

/// The mark of the next known block of any worker. No result depends on it.
static MARKS: AtomicU64 = AtomicU64::new(1);

/// Buffers for heads on their way through a connection; the connections of a worker share one.
///
/// The last block is kept where what it says does not depend on a dynamic table. A server that sends one
/// object over and over without referring to its table sends equal blocks until its date changes, and to
/// compare them takes a tenth of the time of decoding. Some servers, such as nginx, have all of it inserted
/// into the table each time: once nothing else is in there, the table stays as it is, and the block need not
/// be decoded either.
#[derive(Debug, Default)]
pub struct Heads {
    text: Vec<u8>,
    scratch: Scratch,
    /// The block that `text` was made of, if `known` says what it says.
    block: Vec<u8>,
    known: Option<CachedHead>,
    /// The fault of the last head, if it has one.
    flaw: Option<Box<Detail>>,
}

/// A fault of a head or of trailers, beside their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    Name,
    Value,
    OfHttp1,
    Pseudo,
    NoStatus,
    Length,
    Switches,
    TrailersGoOn,
}

impl Flaw {
    const fn rule(self, coding: BlockCoding) -> Rule {
        let of_http3 = matches!(coding, BlockCoding::Qpack);
        let (wrong, [http2, http3]) = match self {
            Flaw::Name => (
                "a field's name has an upper-case letter, or another character that it cannot have",
                ["RFC 9113 §8.2.1", "RFC 9114 §4.2"],
            ),
            Flaw::Value => {
                ("a field's value has a character that it cannot have", ["RFC 9113 §8.2.1", "RFC 9114 §10.3"])
            }
            Flaw::OfHttp1 => {
                ("a field is about a connection of HTTP/1", ["RFC 9113 §8.2.2", "RFC 9114 §4.2"])
            }
            Flaw::Pseudo => (
                "a pseudo-field is not one status of three digits before all fields",
                ["RFC 9113 §8.3", "RFC 9114 §4.3"],
            ),
            Flaw::NoStatus => ("the head has no :status", ["RFC 9113 §8.3.2", "RFC 9114 §4.3.2"]),
            Flaw::Length => ("Content-Length is no number, or several", ["RFC 9110 §8.6", "RFC 9110 §8.6"]),
            Flaw::Switches => ("the status is 101", ["RFC 9113 §8.6", "RFC 9114 §4.5"]),
            Flaw::TrailersGoOn => ("trailers do not end the stream", ["RFC 9113 §8.1", "RFC 9114 §4.1"]),
        };
        Rule::new(wrong, if of_http3 { http3 } else { http2 })
    }
}

/// The head that the known block makes, and the circumstances in which it does.
#[derive(Debug)]
struct CachedHead {
    coding: BlockCoding,
    /// Mark of the block, which no other block has.
    mark: u64,
    /// True if the block inserts entries into tables.
    inserts: bool,
    section: Section,
    limits: Limits,
    head: Head,
}

impl Heads {
    /// Takes the fault of the head that was read last, if that is why its stream failed.
    pub fn take_flaw(&mut self) -> Option<Detail> {
        self.flaw.take().map(|flaw| *flaw)
    }

    /// Notes a flaw of a head, or of trailers.
    pub(crate) fn malformed(&mut self, flaw: Flaw, coding: BlockCoding) -> Malformed {
        self.flaw = Some(Box::new(Detail::broken(flaw.rule(coding))));
        Malformed::BadHead
    }

    /// The fields of the head that the last step of a connection reported. Only until the next step of any.
    pub fn fields(&self) -> Fields<'_> {
        Fields::of(&self.text)
    }

    /// Decodes a block and throws its fields away: the connection's table must not miss them.
    pub(super) fn discard(&mut self, decoder: &mut Decoder, block: &[u8]) -> Result<(), HpackError> {
        decoder.decode(block, &mut self.scratch, &mut |_, _| ())
    }

    /// Decodes the block of a head or of trailers.
    ///
    /// # Errors
    /// The outer error ends the connection, the inner the stream.
    pub(super) fn read(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
        section: Section,
        limits: &Limits,
    ) -> Result<Result<Head, Malformed>, HpackError> {
        if let Some(known) = &self.known
            && (known.coding, known.section, known.limits) == (BlockCoding::Hpack, section, *limits)
            && decoder.may_skip()
            && self.block == block
        {
            let head = known.head;
            if known.inserts && !decoder.is_filled_by(known.mark) {
                decoder.decode_known(known.mark, block, &mut self.scratch)?;
            }
            return Ok(Ok(head));
        }
        let head = self.collect((BlockCoding::Hpack, section), limits, |scratch, collector| {
            decoder.decode(block, scratch, &mut |name, value| collector.field(name, value))
        })?;
        if decoder.is_constant() {
            self.keep((BlockCoding::Hpack, decoder.inserted_bytes() > 0), block, section, limits, head);
        }
        Ok(head)
    }

    /// Decodes a field section of HTTP/3, a head or trailers (RFC 9114, 4.1), which depends on no table.
    ///
    /// # Errors
    /// The outer error ends the connection, the inner the stream.
    pub(crate) fn read_section(
        &mut self,
        block: &[u8],
        section: Section,
        limits: &Limits,
    ) -> Result<Result<Head, Malformed>, QpackError> {
        if let Some(known) = &self.known
            && (known.coding, known.section, known.limits) == (BlockCoding::Qpack, section, *limits)
            && self.block == block
        {
            return Ok(Ok(known.head));
        }
        let head = self.collect((BlockCoding::Qpack, section), limits, |scratch, collector| {
            qpack::decode(block, scratch, &mut |name, value| collector.field(name, value))
        })?;
        self.keep((BlockCoding::Qpack, false), block, section, limits, head);
        Ok(head)
    }

    /// Makes `text` of what `decode` hands to the collector.
    fn collect<E>(
        &mut self,
        (coding, section): (BlockCoding, Section),
        limits: &Limits,
        decode: impl FnOnce(&mut Scratch, &mut Collector<'_>) -> Result<(), E>,
    ) -> Result<Result<Head, Malformed>, E> {
        (self.known, self.flaw) = (None, None);
        self.text.clear();
        // The line before the fields, which `Fields` passes over.
        self.text.extend_from_slice(b"HTTP/2\r\n");
        let mut collector = Collector {
            text: &mut self.text,
            section,
            limits,
            status: None,
            length: Length::Absent,
            sets_cookie: false,
            media: Media::default(),
            fields: 0,
            coding,
            wrong: None,
            flaw: None,
        };
        decode(&mut self.scratch, &mut collector)?;
        let head;
        (head, self.flaw) = collector.end();
        self.text.extend_from_slice(b"\r\n");
        Ok(head)
    }

    /// Keeps a block that is always decoded to `head`, with its coding and whether it inserts entries into
    /// tables.
    fn keep(
        &mut self,
        (coding, inserts): (BlockCoding, bool),
        block: &[u8],
        section: Section,
        limits: &Limits,
        head: Result<Head, Malformed>,
    ) {
        if let Ok(head) = head
            && block.len() <= LONGEST_KNOWN
        {
            self.block.clear();
            self.block.extend_from_slice(block);
            let mark = MARKS.fetch_add(1, Ordering::Relaxed);
            self.known = Some(CachedHead { coding, mark, inserts, section, limits: *limits, head });
        }
    }
}

/// The coding of a block, which is its version's of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockCoding {
    Hpack,
    Qpack,
}

/// The content of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// A head, interim or final.
    Head,
    Trailers,
}

/// Collects the fields of one block.
struct Collector<'a> {
    text: &'a mut Vec<u8>,
    section: Section,
    limits: &'a Limits,
    status: Option<u16>,
    length: Length,
    sets_cookie: bool,
    media: Media,
    /// Beside the status.
    fields: u16,
    coding: BlockCoding,
    /// The first thing that is wrong. What follows is decoded nevertheless, but not kept.
    wrong: Option<Malformed>,
    /// Detail of the first flaw.
    flaw: Option<Box<Detail>>,
}

impl Collector<'_> {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.wrong.is_none() {
            self.wrong = self.take(name, value).err();
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if name.first() == Some(&b':') {
            return self.take_pseudo(name, value);
        }
        let is_full = self.fields == self.limits.head_fields;
        if is_full || self.text.len() + name.len() + value.len() > self.limits.head_bytes as usize {
            return Err(Malformed::HeadTooLarge);
        }
        if !is_name(name) {
            return Err(self.note(Flaw::Name, name));
        }
        if !is_value(value) {
            return Err(self.note(Flaw::Value, name));
        }
        if is_of_http1(name) {
            return Err(self.note(Flaw::OfHttp1, name));
        }
        match name {
            b"content-length" => self.length = self.length.and_field(value),
            b"set-cookie" => self.sets_cookie = true,
            b"content-type" => self.media.note_type(value),
            b"content-encoding" => self.media.note_encoding(value),
            _ => {}
        }
        self.fields += 1;
        for part in [name, b": ", value, b"\r\n"] {
            self.text.extend_from_slice(part);
        }
        Ok(())
    }

    /// RFC 9113, 8.3: `:status`, once, before all other fields, and nowhere else.
    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        let may_be = self.section == Section::Head && self.fields == 0 && self.status.is_none();
        match value {
            [first @ b'1'..=b'9', second @ b'0'..=b'9', third @ b'0'..=b'9']
                if may_be && name == b":status" =>
            {
                let number = |digit: &u8| u16::from(digit - b'0');
                self.status = Some(100 * number(first) + 10 * number(second) + number(third));
                Ok(())
            }
            _ => Err(self.note(Flaw::Pseudo, &[name, b": ", value].concat())),
        }
    }

    /// Notes what is wrong with a field.
    fn note(&mut self, flaw: Flaw, found: &[u8]) -> Malformed {
        self.flaw = Some(Box::new(Detail::broken(flaw.rule(self.coding)).with(found)));
        Malformed::BadHead
    }

    /// The head of the block, and the detail of its fault if it has one.
    fn end(mut self) -> (Result<Head, Malformed>, Option<Box<Detail>>) {
        let head = self.head();
        (head, self.flaw)
    }

    fn head(&mut self) -> Result<Head, Malformed> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let status = match (self.section, self.status) {
            (Section::Head, Some(status)) => status,
            (Section::Head, None) => return Err(self.note(Flaw::NoStatus, b"")),
            (Section::Trailers, _) => 0,
        };
        let length = match self.length {
            Length::Absent => None,
            Length::Is(bytes) => Some(bytes),
            Length::Bad => {
                self.note(Flaw::Length, b"");
                return Err(Malformed::BadLength);
            }
        };
        let events = self.media.events();
        Ok(Head { status, length, sets_cookie: self.sets_cookie, events })
    }
}

/// RFC 9113, 8.2.1: visible ASCII without upper case and without a colon, and not empty.
fn is_name(name: &[u8]) -> bool {
    let may_stand = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && *byte != b':';
    !name.is_empty() && name.iter().all(may_stand)
}

/// RFC 9113, 8.2.1: no NUL, CR or LF, and no blank at either end.
fn is_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
        && !is_blank(value.first())
        && !is_blank(value.last())
}

/// RFC 9113, 8.2.2: fields that are about the connection are malformed in HTTP/2.
pub(crate) fn is_of_http1(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 5] =
        [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `:status: 200`, and a field that is inserted into the table, of so many bytes beside its name.
    fn inserting(name: u8, bytes: usize) -> Vec<u8> {
        let value = vec![b'v'; bytes.min(126)];
        [&[0x88, 0x40, 1, name, value.len() as u8][..], &value].concat()
    }

    /// Blocks that insert, that do not, that refer to the table, and that change its size.
    fn any_block() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            6 => (b'a'..=b'c', prop::sample::select(vec![1usize, 60, 126])).prop_map(|(name, n)| inserting(name, n)),
            2 => Just(vec![0x88, 0x00, 1, b'x', 1, b'y']),
            // An entry of the table; a name of it, with another value.
            2 => (0u8..8).prop_map(|index| vec![0x88, 0xbe + index]),
            1 => Just(vec![0x88, 0x7e, 1, b'w']),
            1 => prop::sample::select(vec![0x20u8, 0x3e]).prop_map(|update| vec![update, 0x88]),
            1 => Just(vec![0x3f, 0xe1, 0x1f, 0x88]),
        ]
    }

    proptest! {
        /// Blocks that come again and again mean to several connections what they mean to one that decodes
        /// them each time, and leave them the same table.
        #[test]
        fn known_blocks_change_nothing(
            steps in prop::collection::vec((0usize..2, any_block(), 1usize..60), 1..30),
        ) {
            let mut heads = Heads::default();
            let [mut own, mut others] = [(); 2].map(|()| [Decoder::new(4096), Decoder::new(4096)]);
            'steps: for (connection, block, times) in steps {
                for _ in 0..times {
                    let limits = Limits::default();
                    let found = heads.read(&mut own[connection], &block, Section::Head, &limits);
                    let mut fresh = Heads::default();
                    let expected = fresh.read(&mut others[connection], &block, Section::Head, &limits);
                    prop_assert_eq!(&found, &expected);
                    if expected.is_err() {
                        break 'steps;
                    }
                    prop_assert_eq!(&heads.text, &fresh.text);
                }
            }
        }
    }

    /// A server that has its whole reply inserted each time, as nginx does: the table is full of it after as
    /// many as fit, and then the block is decoded no more.
    #[test]
    fn a_table_that_one_block_fills_is_left_alone() {
        let (mut heads, mut decoder, limits) = (Heads::default(), Decoder::new(4096), Limits::default());
        let block = inserting(b'a', 99);
        let entry_bytes = 1 + 99 + 32;
        // The first time it is not known yet.
        let full_after = 1 + 4096u32.div_ceil(entry_bytes);
        for time in 0..2 * full_after {
            let is_left_alone = heads.known.as_ref().is_some_and(|known| decoder.is_filled_by(known.mark));
            assert_eq!(is_left_alone, time >= full_after, "{time}");
            let head =
                heads.read(&mut decoder, &block, Section::Head, &limits).expect("a block").expect("a head");
            assert_eq!(head.status, 200);
        }
        // Whatever else is inserted ends that.
        heads
            .read(&mut decoder, &inserting(b'b', 3), Section::Head, &limits)
            .expect("a block")
            .expect("a head");
        heads.read(&mut decoder, &block, Section::Head, &limits).expect("a block").expect("a head");
        let known = heads.known.as_ref().expect("it is constant");
        assert!(!decoder.is_filled_by(known.mark));
    }
}
