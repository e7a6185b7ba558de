//! The W3C's Extended Log File Format (working draft WD-logfile-960323): a `#Fields:` line names the columns
//! of the lines after it. `-` is an empty value; a value in quotes may hold blanks. Times are UTC.
//!
//! `time-taken` is in seconds as the draft has it, and in milliseconds where `#Software:` names Microsoft's
//! servers (IIS writes whole milliseconds since version 4). A query of its own column is joined to the
//! target with `?`.

use crate::TransferUnit;
use crate::parser::{Broken, Parsed, Record, decimal, number};
use crate::timestamp;
use farfield_base::Instant;
use memchr::memchr;

/// The columns of the lines, and the directives so far.
#[derive(Debug, Clone)]
pub(crate) struct ExtendedFields {
    columns: Vec<Column>,
    /// The day of the last `#Date:` line, for logs that have the time alone.
    date: Option<[u8; 10]>,
    transfer: Option<TransferUnit>,
    /// The unit that the server named last writes.
    usual: TransferUnit,
    /// The latest target with its query.
    joined: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Date,
    Time,
    Client,
    Agent,
    Method,
    Path,
    Query,
    Referrer,
    Status,
    Bytes,
    Transfer,
    Other,
}

impl Column {
    fn named(name: &[u8]) -> Column {
        match name {
            b"date" | b"date-local" => Column::Date,
            b"time" | b"time-local" => Column::Time,
            b"c-ip" | b"c-dns" => Column::Client,
            b"cs(User-Agent)" => Column::Agent,
            b"cs-method" => Column::Method,
            b"cs-uri" | b"cs-uri-stem" => Column::Path,
            b"cs-uri-query" => Column::Query,
            b"cs(Referer)" | b"cs(Referrer)" => Column::Referrer,
            b"sc-status" => Column::Status,
            b"sc-bytes" | b"bytes" => Column::Bytes,
            b"time-taken" => Column::Transfer,
            _ => Column::Other,
        }
    }
}

impl ExtendedFields {
    pub(crate) fn new(transfer: Option<TransferUnit>) -> ExtendedFields {
        ExtendedFields {
            columns: Vec::new(),
            date: None,
            transfer,
            usual: TransferUnit::Seconds,
            joined: Vec::new(),
        }
    }

    pub(crate) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Parsed<'a> {
        if let Some(directive) = line.strip_prefix(b"#") {
            self.directive(directive);
            return Ok(None);
        }
        if self.columns.is_empty() {
            return Err(Broken("no `#Fields:` line has come yet"));
        }
        let mut record = Record {
            at: Instant::ZERO,
            client: b"",
            agent: b"",
            method: b"",
            path: b"",
            referrer: b"",
            host: b"",
            status: 0,
            bytes: None,
            transfer: None,
        };
        let unit = self.transfer.unwrap_or(self.usual);
        let mut query: &[u8] = b"";
        let (mut date, mut time) = (self.date.as_ref().map(<[u8; 10]>::as_slice), None);
        let mut rest = line;
        for column in &self.columns {
            let (value, after) = value(rest).ok_or(Broken("fewer values than `#Fields:` names"))?;
            rest = after;
            if value == b"-" {
                continue;
            }
            match column {
                Column::Date => date = Some(value),
                Column::Time => time = Some(value),
                Column::Client => record.client = value,
                Column::Agent => record.agent = value,
                Column::Method => record.method = value,
                Column::Path => record.path = value,
                Column::Query => query = value,
                Column::Referrer => record.referrer = value,
                Column::Status => record.status = status(value),
                Column::Bytes => record.bytes = number(value),
                Column::Transfer => record.transfer = decimal(value).and_then(|t| unit.duration(t)),
                Column::Other => {}
            }
        }
        let at = date.zip(time).and_then(|(date, time)| timestamp::date_and_time(date, time));
        record.at = at.ok_or(Broken("the date and the time make none"))?;
        if record.client.is_empty() || record.path.is_empty() {
            return Err(Broken("no client or no target"));
        }
        if !query.is_empty() && !record.path.contains(&b'?') {
            self.joined.clear();
            self.joined.extend_from_slice(record.path);
            self.joined.push(b'?');
            self.joined.extend_from_slice(query.strip_prefix(b"?").unwrap_or(query));
            record.path = &self.joined;
        }
        Ok(Some(record))
    }

    fn directive(&mut self, text: &[u8]) {
        if let Some(names) = text.strip_prefix(b"Fields:") {
            let names = names.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty());
            self.columns = names.map(Column::named).collect();
        } else if let Some(date) = text.strip_prefix(b"Date:") {
            self.date = date.trim_ascii_start().first_chunk().copied();
        } else if let Some(name) = text.strip_prefix(b"Software:") {
            let is_microsoft = names(name, b"Microsoft");
            self.usual = if is_microsoft { TransferUnit::Milliseconds } else { TransferUnit::Seconds };
        }
    }
}

/// True if `part` stands somewhere in `text`.
fn names(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// A status that HTTP can have; 0, which stands for none, if it is no such number.
fn status(value: &[u8]) -> u16 {
    number(value).and_then(|n| n.try_into().ok()).filter(|status| *status < 1_000).unwrap_or(0)
}

/// The next value, and what follows it.
fn value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    if text.is_empty() {
        return None;
    }
    if let Some(quoted) = text.strip_prefix(b"\"") {
        let end = memchr(b'"', quoted)?;
        return Some((&quoted[..end], &quoted[end + 1..]));
    }
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    Some((&text[..end], &text[end..]))
}
