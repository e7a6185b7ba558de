//! TCP options: MSS (RFC 9293, section 3.7.1), window scale and timestamps (RFC 7323), SACK (RFC 2018).
//!
//! They may come from anywhere. [`TcpOptionIter`] reads any bytes without panicking and
//! without going on past a length that cannot be.

use crate::field::{put_u16, put_u32, u16_at, u32_at};
use crate::seq::SeqNumber;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// Bytes of options that fit a header.
const LEN_MAX: usize = 40;
/// RFC 7323, section 2.3: a larger shift counts as this one.
const WINDOW_SCALE_MAX: u8 = 14;

/// The two numbers of a timestamps option: TSval and TSecr (RFC 7323, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The clock that it last saw of the other side; 0 without ACK.
    pub echo: u32,
}

/// Up to four blocks `[from, to)` of what was received out of order, the latest first (RFC 2018, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(SeqNumber, SeqNumber); SackBlocks::MAX],
    len: u8,
}

impl SackBlocks {
    /// Blocks that fit an option.
    pub const MAX: usize = 4;

    /// Adds a block; false, and nothing added, if there are four already.
    pub fn push(&mut self, from: SeqNumber, to: SeqNumber) -> bool {
        let room = self.blocks.get_mut(usize::from(self.len));
        let fits = room.is_some();
        if let Some(block) = room {
            *block = (from, to);
            self.len += 1;
        }
        fits
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(SeqNumber, SeqNumber)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// The largest segment that its sender takes.
    Mss(u16),
    /// The shift of windows that its sender announces, as sent.
    WindowScale(u8),
    /// SACK-permitted: the sender understands SACK.
    SackPermitted,
    /// Ranges that its sender holds out of order.
    Sack(SackBlocks),
    /// The clocks.
    Timestamps(Timestamps),
    /// An option not known here, or known with a length that it does not have.
    Other {
        /// Kind of the option.
        kind: u8,
        /// Bytes after kind and length.
        data: &'a [u8],
    },
}

/// An option whose length is below 2 or leads beyond the header. What follows it cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a TCP option has an impossible length")]
pub struct MalformedOption;

/// Options one by one, no-operations passed over; ends at the end of the list, or after a malformed one.
#[derive(Debug, Clone)]
pub struct TcpOptionIter<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpOptionIter<'a> {
    /// Reads what follows the fixed header.
    pub fn new(bytes: &'a [u8]) -> TcpOptionIter<'a> {
        TcpOptionIter { bytes }
    }

    fn option(kind: u8, data: &'a [u8]) -> TcpOption<'a> {
        match (kind, data.len()) {
            (MSS, 2) => TcpOption::Mss(u16_at(data, 0)),
            (WINDOW_SCALE, 1) => TcpOption::WindowScale(data[0]),
            (SACK_PERMITTED, 0) => TcpOption::SackPermitted,
            (TIMESTAMPS, 8) => {
                TcpOption::Timestamps(Timestamps { value: u32_at(data, 0), echo: u32_at(data, 4) })
            }
            (SACK, 8 | 16 | 24 | 32) => {
                let mut blocks = SackBlocks::default();
                for block in data.chunks_exact(8) {
                    blocks.push(SeqNumber(u32_at(block, 0)), SeqNumber(u32_at(block, 4)));
                }
                TcpOption::Sack(blocks)
            }
            _ => TcpOption::Other { kind, data },
        }
    }
}

impl<'a> Iterator for TcpOptionIter<'a> {
    type Item = Result<TcpOption<'a>, MalformedOption>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.bytes;
        let start = bytes.iter().position(|&kind| kind != NO_OPERATION)?;
        let bytes = &bytes[start..];
        self.bytes = &[];
        if bytes[0] == END {
            return None;
        }
        let option = bytes.get(1).and_then(|&length| bytes.get(2..usize::from(length)));
        Some(match option {
            Some(data) => {
                self.bytes = &bytes[2 + data.len()..];
                Ok(TcpOptionIter::option(bytes[0], data))
            }
            None => Err(MalformedOption),
        })
    }
}

/// All options of a segment. Of an option that came twice, the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// The largest segment that the sender takes.
    pub mss: Option<u16>,
    /// The shift of windows that the sender announces: 0 to 14.
    pub window_scale: Option<u8>,
    /// The sender understands SACK.
    pub sack_permitted: bool,
    /// The clocks.
    pub timestamps: Option<Timestamps>,
    /// Ranges that the sender holds out of order.
    pub sack: SackBlocks,
}

impl TcpOptions {
    /// Gathers what can be read.
    pub fn parse(options: TcpOptionIter<'_>) -> TcpOptions {
        let mut all = TcpOptions::default();
        for option in options.map_while(Result::ok) {
            match option {
                TcpOption::Mss(mss) => all.mss = Some(mss),
                TcpOption::WindowScale(shift) => all.window_scale = Some(shift.min(WINDOW_SCALE_MAX)),
                TcpOption::SackPermitted => all.sack_permitted = true,
                TcpOption::Sack(blocks) => all.sack = blocks,
                TcpOption::Timestamps(timestamps) => all.timestamps = Some(timestamps),
                TcpOption::Other { .. } => {}
            }
        }
        all
    }

    /// Bytes when written: 0 to 40, a multiple of 4.
    pub fn len(&self) -> usize {
        match self.sack_that_fits() {
            [] => self.len_but_sack(),
            blocks => self.len_but_sack() + 4 + 8 * blocks.len(),
        }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each option is padded in front so that its 32-bit fields lie aligned, as RFC 7323 appendix A
    /// recommends; SACK-permitted takes the place of the timestamps' padding.
    fn len_but_sack(&self) -> usize {
        let permitted = if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        4 * usize::from(self.mss.is_some())
            + permitted
            + timestamps
            + 4 * usize::from(self.window_scale.is_some())
    }

    /// The blocks that there is room for: with timestamps, three (RFC 2018, section 3).
    fn sack_that_fits(&self) -> &[(SeqNumber, SeqNumber)] {
        let room = LEN_MAX.saturating_sub(self.len_but_sack() + 4) / 8;
        let blocks = self.sack.as_slice();
        &blocks[..blocks.len().min(room)]
    }

    /// Writes the options, padded, over the front of `out`.
    pub(crate) fn emit(&self, out: &mut [u8]) {
        let mut at = 0;
        if let Some(mss) = self.mss {
            out[..2].copy_from_slice(&[MSS, 4]);
            put_u16(out, 2, mss);
            at = 4;
        }
        let permitted = if self.sack_permitted { [SACK_PERMITTED, 2] } else { [NO_OPERATION; 2] };
        if let Some(Timestamps { value, echo }) = self.timestamps {
            out[at..at + 2].copy_from_slice(&permitted);
            out[at + 2..at + 4].copy_from_slice(&[TIMESTAMPS, 10]);
            put_u32(out, at + 4, value);
            put_u32(out, at + 8, echo);
            at += 12;
        } else if self.sack_permitted {
            out[at..at + 2].copy_from_slice(&[NO_OPERATION; 2]);
            out[at + 2..at + 4].copy_from_slice(&permitted);
            at += 4;
        }
        if let Some(shift) = self.window_scale {
            out[at..at + 4].copy_from_slice(&[NO_OPERATION, WINDOW_SCALE, 3, shift]);
            at += 4;
        }
        let blocks = self.sack_that_fits();
        if !blocks.is_empty() {
            let length = 2 + 8 * blocks.len() as u8;
            out[at..at + 4].copy_from_slice(&[NO_OPERATION, NO_OPERATION, SACK, length]);
            for (nth, (from, to)) in blocks.iter().enumerate() {
                put_u32(out, at + 4 + 8 * nth, from.0);
                put_u32(out, at + 8 + 8 * nth, to.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Vec<Result<TcpOption<'_>, MalformedOption>> {
        TcpOptionIter::new(bytes).collect()
    }

    #[test]
    fn hostile_lengths_end_the_list() {
        let mss = Ok(TcpOption::Mss(536));
        let check = |bytes: &[u8], expected: &[_]| assert_eq!(read(bytes), expected, "{bytes:?}");
        check(&[2, 4, 2, 24, 3, 0, 7], &[mss, Err(MalformedOption)]);
        check(&[2, 4, 2, 24, 3, 1, 7], &[mss, Err(MalformedOption)]);
        check(&[2, 4, 2, 24, 3, 9, 7], &[mss, Err(MalformedOption)]);
        check(&[2, 4, 2, 24, 3], &[mss, Err(MalformedOption)]);
        check(&[2, 4, 2, 24, 0, 3, 3, 7], &[mss]);
        check(&[1, 1, 1, 1], &[]);
    }

    #[test]
    fn a_known_kind_with_a_length_of_another_is_passed_over() {
        let odd = Ok(TcpOption::Other { kind: SACK, data: &[9; 7] });
        assert_eq!(read(&[5, 9, 9, 9, 9, 9, 9, 9, 9, 3, 3, 2]), [odd, Ok(TcpOption::WindowScale(2))]);
        let options = TcpOptions::parse(TcpOptionIter::new(&[2, 3, 1, 3, 3, 200, 2, 4, 1, 1, 2, 4, 2, 2]));
        assert_eq!((options.mss, options.window_scale), (Some(0x0202), Some(14)));
    }

    #[test]
    fn as_many_blocks_as_fit_are_written() {
        let mut sack = SackBlocks::default();
        for number in 0..4 {
            assert!(sack.push(SeqNumber(number), SeqNumber(number + 1)));
        }
        assert!(!sack.push(SeqNumber(9), SeqNumber(10)));
        let written = |options: TcpOptions| {
            let mut out = [0xaa; LEN_MAX];
            options.emit(&mut out[..options.len()]);
            TcpOptions::parse(TcpOptionIter::new(&out[..options.len()])).sack.as_slice().len()
        };
        let bare = TcpOptions { sack, ..TcpOptions::default() };
        let timed = TcpOptions { timestamps: Some(Timestamps { value: 1, echo: 2 }), ..bare };
        let syn = TcpOptions { mss: Some(1460), window_scale: Some(1), sack_permitted: true, ..timed };
        assert_eq!([bare, timed, syn].map(written), [4, 3, 2]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(
            bytes in prop::collection::vec(prop_oneof![0u8..12, any::<u8>()], 0..=40),
        ) {
            let options = TcpOptions::parse(TcpOptionIter::new(&bytes));
            prop_assert!(options.len() <= LEN_MAX && options.len().is_multiple_of(4));
            prop_assert!(read(&bytes).len() <= bytes.len());
        }
    }
}
