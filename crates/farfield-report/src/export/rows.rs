//! Samples as lines of text: comma-separated values (RFC 4180) or JSON lines.
//!
//! Values are whole numbers and the names of outcomes and parts, none of which needs quotes. One line is in
//! memory at a time. The last column says in which part of the run a request was due, as the summary has it:
//! requests of the warm-up are in the file, too.

use farfield_base::Sample;
use farfield_measure::samples::{COLUMNS, Cell};
use farfield_measure::set_aside::SecondAside;
use farfield_measure::summary::Phases;
use std::io::{self, Write};

/// The layout of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// A first line with the columns' names; what is null is empty.
    Csv,
    /// An object with all columns in each line.
    JsonLines,
}

/// The column that says in which part of the run a request was due.
pub const PART: &str = "part";

/// The part of the run in which a request was due; nothing where the phases are not known.
fn part(sample: &Sample, phases: Option<Phases>, aside: &[SecondAside]) -> Cell {
    let Some(phases) = phases else { return Cell::Null };
    let due = sample.due.as_ns();
    Cell::Name(if due < phases.warm_up_ns {
        "warm-up"
    } else if due < phases.warm_up_ns.saturating_add(phases.steady_ns) {
        let is_in = |second: &SecondAside| (second.from_ns..second.to_ns).contains(&due);
        if aside.iter().any(is_in) { "set-aside" } else { "measured" }
    } else {
        "drain"
    })
}

/// Bytes that are gathered before they are passed on.
const CHUNK: usize = 1 << 16;

/// Writes samples.
pub(super) struct Rows<'a> {
    layout: RowFormat,
    to: &'a mut dyn Write,
    /// Before each value of a line: a comma and, in JSON, the column's name.
    before: [String; COLUMNS.len() + 1],
    phases: Option<Phases>,
    aside: &'a [SecondAside],
    chunk: Vec<u8>,
    digits: itoa::Buffer,
}

impl<'a> Rows<'a> {
    /// Begins the rows of a run with these phases, where they are known, and these seconds set aside.
    pub(super) fn begin(
        layout: RowFormat,
        phases: Option<Phases>,
        aside: &'a [SecondAside],
        to: &'a mut dyn Write,
    ) -> io::Result<Rows<'a>> {
        let name = |at: usize| COLUMNS.get(at).map_or(PART, |(name, _)| *name);
        let before = std::array::from_fn(|at| match (layout, at) {
            (RowFormat::Csv, 0) => String::new(),
            (RowFormat::Csv, _) => ",".to_owned(),
            (RowFormat::JsonLines, 0) => format!("{{\"{}\":", name(at)),
            (RowFormat::JsonLines, _) => format!(",\"{}\":", name(at)),
        });
        let mut chunk = Vec::with_capacity(2 * CHUNK);
        if layout == RowFormat::Csv {
            chunk.extend_from_slice(COLUMNS.map(|(name, _)| name).join(",").as_bytes());
            chunk.extend_from_slice(format!(",{PART}\n").as_bytes());
        }
        Ok(Rows { layout, to, before, phases, aside, chunk, digits: itoa::Buffer::new() })
    }

    pub(super) fn put(&mut self, sample: &Sample) -> io::Result<()> {
        let is_json = self.layout == RowFormat::JsonLines;
        let part = part(sample, self.phases, self.aside);
        let cells = COLUMNS.iter().map(|(_, value)| value(sample)).chain([part]);
        for (cell, before) in cells.zip(&self.before) {
            self.chunk.extend_from_slice(before.as_bytes());
            match cell {
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

/// Rows that were written before a failure are passed on, too.
impl Drop for Rows<'_> {
    fn drop(&mut self) {
        let _ = self.pass_on();
    }
}
