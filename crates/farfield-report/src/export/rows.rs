//! Samples as lines of text: comma-separated values (RFC 4180) or JSON lines.
//!
//! Values are whole numbers and the names of outcomes, none of which needs quotes. One line is in memory at
//! a time.

use farfield_base::Sample;
use farfield_measure::samples::{COLUMNS, Cell};
use std::io::{self, Write};

/// The layout of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A first line with the columns' names; what is null is empty.
    Csv,
    /// An object with all columns in each line.
    JsonLines,
}

/// Bytes that are gathered before they are passed on.
const CHUNK: usize = 1 << 16;

/// Writes samples.
pub(super) struct Rows<'a> {
    layout: Layout,
    to: &'a mut dyn Write,
    /// Before each value of a line: a comma and, in JSON, the column's name.
    before: [String; COLUMNS.len()],
    chunk: Vec<u8>,
    digits: itoa::Buffer,
}

impl<'a> Rows<'a> {
    pub(super) fn begin(layout: Layout, to: &'a mut dyn Write) -> io::Result<Rows<'a>> {
        let mut at = 0;
        let before = COLUMNS.map(|(name, _)| {
            at += 1;
            match (layout, at) {
                (Layout::Csv, 1) => String::new(),
                (Layout::Csv, _) => ",".to_owned(),
                (Layout::JsonLines, 1) => format!("{{\"{name}\":"),
                (Layout::JsonLines, _) => format!(",\"{name}\":"),
            }
        });
        let mut chunk = Vec::with_capacity(2 * CHUNK);
        if layout == Layout::Csv {
            chunk.extend_from_slice(COLUMNS.map(|(name, _)| name).join(",").as_bytes());
            chunk.push(b'\n');
        }
        Ok(Rows { layout, to, before, chunk, digits: itoa::Buffer::new() })
    }

    pub(super) fn put(&mut self, sample: &Sample) -> io::Result<()> {
        let is_json = self.layout == Layout::JsonLines;
        for ((_, value), before) in COLUMNS.iter().zip(&self.before) {
            self.chunk.extend_from_slice(before.as_bytes());
            match value(sample) {
                Cell::Null if is_json => self.chunk.extend_from_slice(b"null"),
                Cell::Null => {}
                Cell::Number(number) => self.chunk.extend_from_slice(self.digits.format(number).as_bytes()),
                Cell::Name(name) if is_json => {
                    self.chunk.push(b'"');
                    self.chunk.extend_from_slice(name.as_bytes());
                    self.chunk.push(b'"');
                }
                Cell::Name(name) => self.chunk.extend_from_slice(name.as_bytes()),
            }
        }
        self.chunk.extend_from_slice(if is_json { b"}\n" } else { b"\n" });
        if self.chunk.len() >= CHUNK { self.pass_on() } else { Ok(()) }
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.pass_on()?;
        self.to.flush()
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.to.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }
}

/// What was written before a failure is passed on, too.
impl Drop for Rows<'_> {
    fn drop(&mut self) {
        let _ = self.pass_on();
    }
}
