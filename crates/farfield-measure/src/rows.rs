//! Rows of whole numbers in little memory: blocks of rows, each kept as the differences between its rows.
//!
//! A second of a run is fifteen numbers of which most change by little, so that a row takes some 25 bytes
//! where it would take 112, and a row in which nothing happened takes two. A block is never changed in place:
//! a copy of the rows shares all blocks but the last, and is made in microseconds.

use crate::varint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rows of a block: decoding one takes some microseconds.
const BLOCK: usize = 256;
/// Columns that a row can have: a row begins with a bit for each column that has changed.
const COLUMNS_MAX: usize = 16;

/// Rows of `N` columns.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<u64>>", into = "Vec<Vec<u64>>")]
pub(crate) struct Rows<const N: usize> {
    blocks: Vec<Arc<[u8]>>,
    /// The rows behind the last block, fewer than a block has.
    rest: Vec<[u64; N]>,
}

impl<const N: usize> Rows<N> {
    pub fn len(&self) -> usize {
        self.blocks.len() * BLOCK + self.rest.len()
    }

    /// Adds a row behind the others.
    pub fn push(&mut self, row: [u64; N]) {
        self.rest.push(row);
        if self.rest.len() == BLOCK {
            self.blocks.push(encode(&self.rest));
            self.rest.clear();
        }
    }

    /// The row at `at`, if there is one.
    pub fn get(&self, at: usize) -> Option<[u64; N]> {
        match self.blocks.get(at / BLOCK) {
            Some(block) => Some(decode(block)[at % BLOCK]),
            None => self.rest.get(at - self.blocks.len() * BLOCK).copied(),
        }
    }

    /// All rows, a block at a time.
    pub fn iter(&self) -> impl Iterator<Item = [u64; N]> + '_ {
        self.blocks.iter().flat_map(|block| decode(block)).chain(self.rest.iter().copied())
    }

    /// Changes rows that are there, whose numbers ascend. Decodes each block that has any once.
    pub fn change(&mut self, ats: impl Iterator<Item = usize>, mut change: impl FnMut(usize, &mut [u64; N])) {
        let mut ats = ats.peekable();
        while let Some(at) = ats.next() {
            let number = at / BLOCK;
            let Some(block) = self.blocks.get_mut(number) else {
                if let Some(row) = self.rest.get_mut(at - self.blocks.len() * BLOCK) {
                    change(at, row);
                }
                continue;
            };
            let mut rows: Vec<[u64; N]> = decode(block);
            change(at, &mut rows[at % BLOCK]);
            while let Some(at) = ats.next_if(|at| at / BLOCK == number) {
                change(at, &mut rows[at % BLOCK]);
            }
            *block = encode(&rows);
        }
    }
}

impl<const N: usize> From<Rows<N>> for Vec<Vec<u64>> {
    fn from(rows: Rows<N>) -> Vec<Vec<u64>> {
        rows.iter().map(|row| row.to_vec()).collect()
    }
}

impl<const N: usize> TryFrom<Vec<Vec<u64>>> for Rows<N> {
    type Error = String;

    fn try_from(rows: Vec<Vec<u64>>) -> Result<Rows<N>, String> {
        let mut read = Rows::default();
        for row in rows {
            let columns = row.len();
            read.push(row.try_into().map_err(|_| format!("a row of {columns} numbers in place of {N}"))?);
        }
        Ok(read)
    }
}

/// Encodes each row as a word of bits, one for each column that differs from the preceding row, and these
/// differences. They wrap, so that any numbers are given back.
fn encode<const N: usize>(rows: &[[u64; N]]) -> Arc<[u8]> {
    const { assert!(N <= COLUMNS_MAX) };
    let mut bytes = Vec::with_capacity(rows.len() * 2 * N);
    let mut before = [0_u64; N];
    for row in rows {
        let changed = (0..N).filter(|at| row[*at] != before[*at]).fold(0_u16, |bits, at| bits | 1 << at);
        bytes.extend_from_slice(&changed.to_le_bytes());
        for (now, before) in row.iter().zip(before).filter(|(now, before)| *now != before) {
            varint::put_signed(&mut bytes, now.wrapping_sub(before).cast_signed());
        }
        before = *row;
    }
    bytes.into()
}

fn decode<const N: usize>(mut bytes: &[u8]) -> Vec<[u64; N]> {
    let mut rows = Vec::with_capacity(BLOCK);
    let mut row = [0_u64; N];
    while let Some((changed, rest)) = bytes.split_first_chunk() {
        bytes = rest;
        let changed = u16::from_le_bytes(*changed);
        for (_, number) in row.iter_mut().enumerate().filter(|(at, _)| changed >> at & 1 == 1) {
            *number = number.wrapping_add(varint::take_signed(&mut bytes).cast_unsigned());
        }
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Any numbers, any of them changed later, across the edges of blocks.
        #[test]
        fn gives_back_what_it_took(
            some in prop::collection::vec(prop::array::uniform3(any::<u64>()), 1..40),
            length in 0_usize..3 * BLOCK,
            changed in prop::collection::btree_set(0_usize..3 * BLOCK, 0..20),
        ) {
            let mut plain: Vec<[u64; 3]> = some.iter().cycle().take(length).copied().collect();
            let mut rows = Rows::default();
            plain.iter().for_each(|row| rows.push(*row));
            let earlier = (rows.clone(), plain.clone());
            let changed: Vec<usize> = changed.into_iter().filter(|at| *at < length).collect();
            changed.iter().for_each(|at| plain[*at][1] = plain[*at][1].wrapping_add(7));
            rows.change(changed.iter().copied(), |_, row| row[1] = row[1].wrapping_add(7));
            prop_assert_eq!(rows.len(), length);
            prop_assert_eq!(rows.iter().collect::<Vec<_>>(), plain.clone());
            prop_assert!((0..length + 2).all(|at| rows.get(at) == plain.get(at).copied()));
            prop_assert_eq!(earlier.0.iter().collect::<Vec<_>>(), earlier.1, "a copy stays as it was");
        }
    }

    #[test]
    fn a_row_like_the_one_before_takes_two_bytes() {
        let block: Vec<[u64; 14]> = vec![[1 << 40; 14]; BLOCK];
        assert!(encode(&block).len() < 2 * BLOCK + 14 * 8);
    }
}
