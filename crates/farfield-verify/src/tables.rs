//! `transactions.parquet` and `connection-events.parquet`: what was rebuilt from packets, for other
//! programs.
//!
//! The files of the study (its response and connection files, Hashemian, Krishnamurthy and Arlitt 2011,
//! section 3.2).
//!
//! `transactions.parquet`, a row for each transaction, in the order of the capture's connections:
//!
//! | column | type | is |
//! | --- | --- | --- |
//! | `capture_connection` | uint32 | the connection, counted over the capture |
//! | `number` | uint32 | index of the request on it, from 0 |
//! | `connection`, `user` | uint32, null | those of its sample; null where it has none |
//! | `client`, `server` | string | addresses and ports |
//! | `request_first_ns`, `request_last_ns` | int64 | first and last packet of the request |
//! | `reply_first_ns`, `reply_last_ns` | int64, null | first and last packet of the final reply |
//! | `reply_time_ns`, `response_time_ns` | int64, null | the study's: to the reply's first and last packet |
//! | `pipelined` | boolean | sent before the reply to the one before was complete |
//! | `method`, `target` | string | of the request |
//! | `status` | uint32 | of the reply, 0 if there was none |
//! | `body_bytes`, `reply_bytes` | int64 | of the reply |
//! | `state` | string | `complete`, `unanswered`, `truncated`, `lossy` or `not-http` |
//! | `alone` | string, null | why it has no sample, as in `verify.json`; null for one that has |
//!
//! `connection-events.parquet`, a row for each event, in order of time: `at_ns`, `capture_connection`,
//! `event` (`established`, `closed` or `reset`), `by` (`client` or `server`; null for `established`),
//! `requests` on the connection (0 when it is established) and `open`, the connections that are open after
//! the event.
//!
//! Instants are nanoseconds of the run's time. Rows are written in groups, so that memory does not grow with
//! their number.

use crate::frame::Frame;
use crate::matching::{Matching, TransactionCause};
use farfield_base::Sample;
use farfield_capture::{Capture, Connection, End, Side, Transaction};
use farfield_measure::table::{begin, optional, required, text};
use parquet::data_type::{BoolType, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use std::collections::BTreeMap;
use std::io::Write;

/// Names of the files in a run directory.
pub const TRANSACTIONS_FILE: &str = "transactions.parquet";
/// See [`TRANSACTIONS_FILE`].
pub const CONNECTION_EVENTS_FILE: &str = "connection-events.parquet";

/// Rows in memory at once.
const GROUP_ROWS: usize = 1 << 16;

const TRANSACTIONS: &str = "message transactions {
    required int32 capture_connection (integer(32,false));
    required int32 number (integer(32,false));
    optional int32 connection (integer(32,false));
    optional int32 user (integer(32,false));
    required binary client (string);
    required binary server (string);
    required int64 request_first_ns;
    required int64 request_last_ns;
    optional int64 reply_first_ns;
    optional int64 reply_last_ns;
    optional int64 reply_time_ns;
    optional int64 response_time_ns;
    required boolean pipelined;
    required binary method (string);
    required binary target (string);
    required int32 status (integer(32,false));
    required int64 body_bytes;
    required int64 reply_bytes;
    required binary state (string);
    optional binary alone (string); }";

const EVENTS: &str = "message connection_events {
    required int64 at_ns;
    required int32 capture_connection (integer(32,false));
    required binary event (string);
    optional binary by (string);
    required int32 requests (integer(32,false));
    required int64 open; }";

/// Columns of a transaction's row, beside those of the transaction.
#[derive(Clone, Copy)]
struct TransactionRow<'a> {
    transaction: &'a Transaction,
    connection: &'a Connection,
    sample: Option<&'a Sample>,
    alone: Option<TransactionCause>,
}

/// Writes `transactions.parquet`.
///
/// # Errors
/// Those of `to`.
pub fn write_transactions<W: Write + Send>(
    capture: &Capture,
    samples: &[Sample],
    matching: &Matching,
    frame: &Frame,
    to: W,
) -> Result<(), ParquetError> {
    let matched: BTreeMap<u32, u32> =
        matching.pairs.iter().map(|pair| (pair.transaction, pair.sample)).collect();
    let alone: BTreeMap<u32, TransactionCause> = matching.transactions_alone.iter().copied().collect();
    let mut file = begin(TRANSACTIONS, to)?;
    for (chunk, transactions) in capture.transactions.chunks(GROUP_ROWS).enumerate() {
        let row = |(at, transaction): (usize, _)| {
            let at = (chunk * GROUP_ROWS + at) as u32;
            row(capture, samples, transaction, matched.get(&at), alone.get(&at))
        };
        let rows: Vec<TransactionRow<'_>> = transactions.iter().enumerate().map(row).collect();
        let mut group = file.next_row_group()?;
        write_transaction_rows(&mut group, &rows, frame)?;
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn row<'a>(
    capture: &'a Capture,
    samples: &'a [Sample],
    transaction: &'a Transaction,
    sample: Option<&u32>,
    alone: Option<&TransactionCause>,
) -> TransactionRow<'a> {
    TransactionRow {
        transaction,
        connection: &capture.connections[transaction.connection as usize],
        sample: sample.map(|at| &samples[*at as usize]),
        alone: alone.copied(),
    }
}

fn write_transaction_rows<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[TransactionRow<'_>],
    frame: &Frame,
) -> Result<(), ParquetError> {
    let since = |row: &TransactionRow<'_>, at: Option<farfield_capture::UnixNs>| {
        at.map(|at| at.offset_from(row.transaction.request_first))
    };
    required::<Int32Type, _, _>(group, rows, |row| row.transaction.connection.cast_signed())?;
    required::<Int32Type, _, _>(group, rows, |row| row.transaction.number.cast_signed())?;
    optional::<Int32Type, _, _>(group, rows, |row| row.sample.map(|sample| sample.connection.cast_signed()))?;
    optional::<Int32Type, _, _>(group, rows, |row| row.sample.map(|sample| sample.user.cast_signed()))?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(&row.connection.client.to_string()))?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(&row.connection.server.to_string()))?;
    required::<Int64Type, _, _>(group, rows, |row| frame.run_ns(row.transaction.request_first))?;
    required::<Int64Type, _, _>(group, rows, |row| frame.run_ns(row.transaction.request_last))?;
    optional::<Int64Type, _, _>(group, rows, |row| row.transaction.reply_first.map(|at| frame.run_ns(at)))?;
    optional::<Int64Type, _, _>(group, rows, |row| row.transaction.reply_last.map(|at| frame.run_ns(at)))?;
    optional::<Int64Type, _, _>(group, rows, |row| since(row, row.transaction.reply_first))?;
    optional::<Int64Type, _, _>(group, rows, |row| since(row, row.transaction.reply_last))?;
    required::<BoolType, _, _>(group, rows, |row| row.transaction.pipelined)?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(&row.transaction.method))?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(&row.transaction.target))?;
    required::<Int32Type, _, _>(group, rows, |row| row.transaction.status.into())?;
    required::<Int64Type, _, _>(group, rows, |row| row.transaction.body_bytes.cast_signed())?;
    required::<Int64Type, _, _>(group, rows, |row| row.transaction.reply_bytes.cast_signed())?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(row.transaction.state.name()))?;
    optional::<ByteArrayType, _, _>(group, rows, |row| row.alone.map(|cause| text(cause.name())))
}

/// An event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TableEvent {
    at_ns: i64,
    /// True if the event opens the connection: at one instant, those that end one come first.
    opens: bool,
    connection: u32,
    is_reset: bool,
    by: Option<Side>,
    requests: u32,
}

/// Writes `connection-events.parquet`: a connection is established when the client has acknowledged the
/// handshake, and ends with the first FIN or RST. One that was established before the capture is counted
/// from its first packet on.
///
/// # Errors
/// Those of `to`.
pub fn write_connection_events<W: Write + Send>(
    capture: &Capture,
    frame: &Frame,
    to: W,
) -> Result<(), ParquetError> {
    let mut events: Vec<TableEvent> =
        capture.connections.iter().flat_map(|connection| events_of(connection, frame)).collect();
    events.sort_unstable();
    let mut open = 0_i64;
    let counted: Vec<(TableEvent, i64)> = events
        .into_iter()
        .map(|event| {
            open += if event.opens { 1 } else { -1 };
            (event, open)
        })
        .collect();
    let mut file = begin(EVENTS, to)?;
    for rows in counted.chunks(GROUP_ROWS) {
        let mut own = file.next_row_group()?;
        let group = &mut own;
        required::<Int64Type, _, _>(group, rows, |(event, _)| event.at_ns)?;
        required::<Int32Type, _, _>(group, rows, |(event, _)| event.connection.cast_signed())?;
        required::<ByteArrayType, _, _>(group, rows, |(event, _)| text(event.name()))?;
        optional::<ByteArrayType, _, _>(group, rows, |(event, _)| {
            event.by.map(|by| text(if by == Side::Client { "client" } else { "server" }))
        })?;
        required::<Int32Type, _, _>(group, rows, |(event, _)| event.requests.cast_signed())?;
        required::<Int64Type, _, _>(group, rows, |(_, open)| *open)?;
        own.close()?;
    }
    file.close()?;
    Ok(())
}

fn events_of(connection: &Connection, frame: &Frame) -> impl Iterator<Item = TableEvent> {
    let begins = if connection.seen_from_start { connection.established } else { Some(connection.first) };
    let opened = begins.map(|at| TableEvent {
        at_ns: frame.run_ns(at),
        opens: true,
        connection: connection.id,
        is_reset: false,
        by: None,
        requests: 0,
    });
    let ended = match connection.end {
        End::Open => None,
        End::Fin { side, at, .. } => Some((side, at, false)),
        End::Reset { side, at } => Some((side, at, true)),
    };
    let closed = ended.map(|(side, at, is_reset)| TableEvent {
        at_ns: frame.run_ns(at),
        opens: false,
        connection: connection.id,
        is_reset,
        by: Some(side),
        requests: connection.requests,
    });
    // One that never was established has no end either: the count stays at zero and above.
    opened.into_iter().flat_map(move |opened| [Some(opened), closed]).flatten()
}

impl TableEvent {
    fn name(&self) -> &'static str {
        match (self.opens, self.is_reset) {
            (true, _) => "established",
            (false, false) => "closed",
            (false, true) => "reset",
        }
    }
}
