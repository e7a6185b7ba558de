//! The dynamic table of a decoder (RFC 7541, 2.3.2 and 4).
//!
//! Names and values lie one behind another in a single buffer, the newest at its end; it is moved to the
//! front when it has grown to twice the table's size. It takes no memory before the first entry.

use super::{DEFAULT_TABLE_BYTES, ENTRY_OVERHEAD_BYTES};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct DynamicTable {
    bytes: Vec<u8>,
    /// The oldest first.
    entries: VecDeque<Entry>,
    /// As RFC 7541, 4.1 counts.
    size_bytes: u32,
    size_max_bytes: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: usize,
    name: usize,
    value: usize,
}

impl Entry {
    const fn size_bytes(self) -> u32 {
        (self.name + self.value) as u32 + ENTRY_OVERHEAD_BYTES
    }
}

/// The name of an entry to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name<'a> {
    /// The name of the entry with this number, 0 for the newest.
    Entry(usize),
    Text(&'a [u8]),
}

impl DynamicTable {
    pub(super) const fn new() -> DynamicTable {
        DynamicTable {
            bytes: Vec::new(),
            entries: VecDeque::new(),
            size_bytes: 0,
            size_max_bytes: DEFAULT_TABLE_BYTES,
        }
    }

    /// Name and value of the entry with this number, 0 for the newest.
    pub(super) fn entry(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries[self.place(number)?];
        Some(self.bytes[entry.at..entry.at + entry.name + entry.value].split_at(entry.name))
    }

    fn place(&self, number: usize) -> Option<usize> {
        self.entries.len().checked_sub(number + 1)
    }

    /// Sets the size, and evicts what has no room in it (RFC 7541, 4.3).
    pub(super) fn resize(&mut self, size_max_bytes: u32) {
        self.size_max_bytes = size_max_bytes;
        self.make_room(0);
        if size_max_bytes == 0 {
            self.bytes = Vec::new();
        }
    }

    /// Inserts an entry, and evicts what has no room beside it; one that is larger than the table empties it
    /// (RFC 7541, 4.4). A named entry must exist; it may be among those evicted. Returns the entry's size.
    pub(super) fn insert(&mut self, name: Name<'_>, value: &[u8]) -> u32 {
        let name_bytes = match name {
            Name::Entry(number) => self.entry(number).map_or(0, |(name, _)| name.len()),
            Name::Text(name) => name.len(),
        };
        let entry = Entry { at: 0, name: name_bytes, value: value.len() };
        if name_bytes + value.len() + ENTRY_OVERHEAD_BYTES as usize > self.size_max_bytes as usize {
            self.make_room(self.size_max_bytes);
            return entry.size_bytes();
        }
        if self.bytes.len() + name_bytes + value.len() > 2 * self.size_max_bytes as usize {
            self.move_to_front();
        }
        let at = self.bytes.len();
        match name {
            Name::Text(name) => self.bytes.extend_from_slice(name),
            Name::Entry(number) => {
                let named = self.entries[self.place(number).expect("the caller found it")];
                self.bytes.extend_from_within(named.at..named.at + named.name);
            }
        }
        self.bytes.extend_from_slice(value);
        self.make_room(entry.size_bytes());
        self.entries.push_back(Entry { at, ..entry });
        self.size_bytes += entry.size_bytes();
        entry.size_bytes()
    }

    /// The size that the table may have.
    pub(super) fn size_max_bytes(&self) -> u32 {
        self.size_max_bytes
    }

    /// Evicts the oldest entries until there is room for so many bytes.
    fn make_room(&mut self, bytes: u32) {
        while self.size_bytes + bytes > self.size_max_bytes
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size_bytes -= oldest.size_bytes();
        }
    }

    fn move_to_front(&mut self) {
        let start = self.entries.front().map_or(self.bytes.len(), |oldest| oldest.at);
        self.bytes.drain(..start);
        self.entries.iter_mut().for_each(|entry| entry.at -= start);
    }

    #[cfg(test)]
    pub(super) fn size_bytes(&self) -> u32 {
        self.size_bytes
    }

    #[cfg(test)]
    pub(super) fn buffer_bytes(&self) -> usize {
        self.bytes.len()
    }
}
