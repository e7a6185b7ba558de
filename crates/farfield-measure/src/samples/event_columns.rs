//! The columns of a samples file on the events of replies.

use super::reader::SamplesError;
use farfield_base::{EventStats, Instant, Stamp};
use std::vec::IntoIter;

/// The columns of one row on events.
pub(super) struct EventRow {
    pub first: Option<i64>,
    pub last: Option<i64>,
    pub events: Option<i32>,
    pub left: Option<i32>,
}

/// The columns on events, of a row group.
pub(super) struct EventColumns {
    pub first: IntoIter<Option<i64>>,
    pub last: IntoIter<Option<i64>>,
    pub events: IntoIter<Option<i32>>,
    pub left: IntoIter<Option<i32>>,
}

impl EventColumns {
    pub fn next(&mut self) -> Option<EventRow> {
        Some(EventRow {
            first: self.first.next()?,
            last: self.last.next()?,
            events: self.events.next()?,
            left: self.left.next()?,
        })
    }
}

pub(super) fn events(row: &EventRow) -> Result<Option<EventStats>, SamplesError> {
    let Some(events) = row.events.map(i32::cast_unsigned) else { return Ok(None) };
    let wrong = |column, found: Option<i64>| {
        let found = found.map_or("nothing".to_owned(), |found| found.to_string());
        SamplesError::Value { column, found }
    };
    let stamp = |column, found: Option<i64>| match found {
        Some(ns) if events > 0 => Ok(Stamp::at(Instant::from_ns(ns as u64))),
        None if events == 0 => Ok(Stamp::NEVER),
        found => Err(wrong(column, found)),
    };
    let left = match row.left {
        Some(0) => false,
        Some(1) => true,
        found => return Err(wrong("left", found.map(i64::from))),
    };
    let first = stamp("first_event_ns", row.first)?;
    Ok(Some(EventStats { events, first, last: stamp("last_event_ns", row.last)?, left }))
}
