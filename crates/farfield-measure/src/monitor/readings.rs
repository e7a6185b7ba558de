//! Readings in little memory: blocks of them, in which a number is the bits that differ from those of the
//! reading before.
//!
//! Most of what monitors read stays as it is from second to second, or is zero, and takes a byte; a share or
//! a rate takes up to nine, where it would take sixteen with its series. A block is never changed in place: a
//! copy of the readings shares all blocks but the last.

use super::SeriesId;
use crate::varint;
use farfield_base::Instant;
use std::sync::Arc;

/// Numbers of a block, at least: a reading has a hundred or more.
const BLOCK_NUMBERS: usize = 8_192;

/// The numbers of one reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MonitorReading {
    pub second: u64,
    pub at: Instant,
    pub values: Vec<(SeriesId, f64)>,
}

/// Readings in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Readings {
    blocks: Vec<Arc<[u8]>>,
    /// The readings behind the last block.
    rest: Vec<Arc<MonitorReading>>,
    rest_numbers: usize,
    count: usize,
    numbers: usize,
}

impl Readings {
    /// The number of readings.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Numbers in all readings.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Adds a reading behind the others.
    pub fn push(&mut self, reading: MonitorReading) {
        self.count += 1;
        self.numbers += reading.values.len();
        self.rest_numbers += reading.values.len();
        self.rest.push(Arc::new(reading));
        if self.rest_numbers >= BLOCK_NUMBERS {
            self.blocks.push(encode(&self.rest));
            self.rest.clear();
            self.rest_numbers = 0;
        }
    }

    /// Calls `take` with each reading.
    pub fn for_each(&self, mut take: impl FnMut(&MonitorReading)) {
        for block in &self.blocks {
            decode(block, &mut take);
        }
        self.rest.iter().for_each(|reading| take(reading));
    }

    /// The readings of seconds that are multiples of `every`.
    pub fn thinned(&self, every: u64) -> Readings {
        let mut kept = Readings::default();
        self.for_each(|reading| {
            if reading.second.is_multiple_of(every) {
                kept.push(reading.clone());
            }
        });
        kept
    }
}

/// Bits of the numbers of a reading, by series, that the next reading's are compared with.
#[derive(Default)]
struct PreviousReading(Vec<u64>);

impl PreviousReading {
    /// The place of a series; zero where it has had no number.
    fn of(&mut self, series: SeriesId) -> &mut u64 {
        let at = series.0 as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        &mut self.0[at]
    }
}

/// Encodes each reading: second, instant, number of values, and for each its series, as the distance from
/// that of the preceding one, and its bits.
fn encode(readings: &[Arc<MonitorReading>]) -> Arc<[u8]> {
    let mut bytes = Vec::new();
    let mut before = PreviousReading::default();
    for reading in readings {
        varint::put(&mut bytes, reading.second);
        varint::put(&mut bytes, reading.at.as_ns());
        varint::put(&mut bytes, reading.values.len() as u64);
        let mut next = 0;
        for (series, value) in &reading.values {
            let bits = value.to_bits();
            put_bits(
                &mut bytes,
                i64::from(series.0) - next,
                bits ^ std::mem::replace(before.of(*series), bits),
            );
            next = i64::from(series.0) + 1;
        }
    }
    bytes.into()
}

fn decode(mut bytes: &[u8], mut take: impl FnMut(&MonitorReading)) {
    let mut before = PreviousReading::default();
    let mut reading = MonitorReading::default();
    while !bytes.is_empty() {
        reading.second = varint::take(&mut bytes);
        reading.at = Instant::from_ns(varint::take(&mut bytes));
        reading.values.clear();
        let mut next = 0;
        for _ in 0..varint::take(&mut bytes) {
            let (distance, changed) = take_bits(&mut bytes);
            let series = SeriesId((next + distance) as u32);
            let bits = before.of(series);
            *bits ^= changed;
            reading.values.push((series, f64::from_bits(*bits)));
            next = i64::from(series.0) + 1;
        }
        take(&reading);
    }
}

/// Set in a number's first byte where a distance follows, since it is not zero.
const HAS_DISTANCE: u8 = 0x80;

/// Appends a byte that says how many zero bytes `changed` ends in and how many others it has, the distance if
/// there is one, and those bytes.
fn put_bits(bytes: &mut Vec<u8>, distance: i64, changed: u64) {
    let zeros = if changed == 0 { 0 } else { changed.trailing_zeros() / 8 };
    let shifted = changed >> (8 * zeros);
    let length = (u64::BITS - shifted.leading_zeros()).div_ceil(8);
    let first = (zeros as u8) << 4 | length as u8;
    bytes.push(if distance == 0 { first } else { first | HAS_DISTANCE });
    if distance != 0 {
        varint::put_signed(bytes, distance);
    }
    bytes.extend_from_slice(&shifted.to_le_bytes()[..length as usize]);
}

fn take_bits(bytes: &mut &[u8]) -> (i64, u64) {
    let Some((&first, rest)) = bytes.split_first() else { return (0, 0) };
    *bytes = rest;
    let distance = if first & HAS_DISTANCE == 0 { 0 } else { varint::take_signed(bytes) };
    let (zeros, length) = (first >> 4 & 7, usize::from(first & 0xF).min(bytes.len()).min(8));
    let (own, rest) = bytes.split_at(length);
    *bytes = rest;
    let mut shifted = [0; 8];
    shifted[..length].copy_from_slice(own);
    (distance, u64::from_le_bytes(shifted) << (8 * zeros))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(readings: &Readings) -> Vec<MonitorReading> {
        let mut all = Vec::new();
        readings.for_each(|reading| all.push(reading.clone()));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Any numbers of any series in any order, also several of one.
        #[test]
        fn gives_back_what_it_took(
            readings in prop::collection::vec(
                (any::<u64>(), any::<u64>(), prop::collection::vec((0_u32..4_096, any::<u64>()), 1..600)),
                0..60,
            ),
        ) {
            let mut kept = Readings::default();
            let plain: Vec<MonitorReading> = readings
                .into_iter()
                .map(|(second, at, values)| {
                    let number = |(id, bits)| (SeriesId(id), f64::from_bits(bits));
                    let finite = |(_, value): &(SeriesId, f64)| value.is_finite();
                    let values = values.into_iter().map(number).filter(finite).collect();
                    MonitorReading { second, at: Instant::from_ns(at), values }
                })
                .collect();
            plain.iter().for_each(|reading| kept.push(reading.clone()));
            prop_assert_eq!(kept.len(), plain.len());
            prop_assert_eq!(kept.numbers(), plain.iter().map(|reading| reading.values.len()).sum::<usize>());
            prop_assert_eq!(all(&kept), plain.clone());
            let even: Vec<_> = plain.into_iter().filter(|reading| reading.second.is_multiple_of(2)).collect();
            prop_assert_eq!(all(&kept.thinned(2)), even);
        }
    }

    #[test]
    fn what_stays_as_it_is_takes_a_byte() {
        let reading = |second: u64| {
            let values = (0..200).map(|id| (SeriesId(id), 0.1 + f64::from(id))).collect();
            Arc::new(MonitorReading { second, at: Instant::from_ns(second * 1_000_000_000), values })
        };
        let block = encode(&(0..50).map(reading).collect::<Vec<_>>());
        assert!(block.len() < 200 * 9 + 50 * (200 + 10), "{}", block.len());
    }
}
