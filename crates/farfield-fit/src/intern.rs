//! Texts that come again and again, each kept once and known by a number: paths, clients, agents.
//!
//! The numbers follow the order of first appearance, whatever the hashes are, so that results repeat.

use hashbrown::HashTable;

/// Distinct texts in the order in which they first came.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    table: HashTable<u32>,
    bytes: Vec<u8>,
    /// End of each text in `bytes`.
    ends: Vec<usize>,
}

impl Interner {
    /// The number of `text`, a new one if it has not come before. `None` if it is new and would take the
    /// texts past `bytes_max`.
    pub(crate) fn number(&mut self, text: &[u8], bytes_max: usize) -> Option<u32> {
        let hash = hash(text);
        let (bytes, ends) = (&self.bytes, &self.ends);
        if let Some(number) = self.table.find(hash, |number| slice(bytes, ends, *number) == text) {
            return Some(*number);
        }
        if self.bytes.len() + text.len() > bytes_max {
            return None;
        }
        let number = u32::try_from(self.ends.len()).ok()?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash, number, |number| self::hash(slice(bytes, ends, *number)));
        Some(number)
    }

    pub(crate) fn text(&self, number: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, number)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[start..ends[number]]
}

/// Eight bytes at a time: add, multiply, and fold the product's halves.
fn hash(text: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(ODD | 1 << 63);
        (product >> 64) as u64 ^ product as u64
    };
    let (words, rest) = text.as_chunks::<8>();
    let mut state = fold(ODD, text.len() as u64 + 1);
    for word in words {
        state = fold(state.wrapping_add(ODD), u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(state.wrapping_add(ODD), u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn numbers_are_those_of_a_map(texts in proptest::collection::vec("[ab/]{0,12}", 0..300)) {
            let (mut interner, mut map) = (Interner::default(), BTreeMap::new());
            for text in &texts {
                let next = map.len() as u32;
                let expected = *map.entry(text.clone()).or_insert(next);
                prop_assert_eq!(interner.number(text.as_bytes(), usize::MAX), Some(expected));
                prop_assert_eq!(interner.text(expected), text.as_bytes());
            }
            prop_assert_eq!(interner.len(), map.len());
        }
    }

    #[test]
    fn stops_at_its_limit_and_still_knows_what_it_has() {
        let mut interner = Interner::default();
        assert_eq!((interner.number(b"abcd", 6), interner.number(b"efg", 6)), (Some(0), None));
        assert_eq!((interner.number(b"abcd", 6), interner.number(b"ef", 6)), (Some(0), Some(1)));
    }
}
