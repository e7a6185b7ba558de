//! The columns of a sample by name, cell by cell: what exports as text write, in the order of the file.
//!
//! Names, units and nulls are those of `samples.parquet`, which is written by [`batch`](super::batch)
//! instead: a column at a time.

use super::batch::{at, connection, gap, session};
use farfield_base::Sample;

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// A value that was not recorded, or did not happen.
    Null,
    /// A number in the unit of the column.
    Number(i64),
    /// A name of a fixed set, of lower-case letters, digits and hyphens.
    Name(&'static str),
}

/// The name of a column, and its value for a sample.
pub type Column = (&'static str, fn(&Sample) -> Cell);

/// All columns, in the order of the file.
pub const COLUMNS: [Column; 34] = [
    ("due_ns", |s| Cell::Number(s.due.as_ns() as i64)),
    ("connect_begun_ns", |s| at(s.connect_begun).into()),
    ("connected_ns", |s| at(s.connected).into()),
    ("sent_ns", |s| at(s.sent).into()),
    ("first_byte_ns", |s| at(s.first_byte).into()),
    ("done_ns", |s| Cell::Number(s.done.as_ns() as i64)),
    ("body_bytes", |s| Cell::Number(s.body_bytes as i64)),
    ("reply_bytes", |s| Cell::Number(s.reply_bytes as i64)),
    ("user", |s| Cell::Number(s.user.into())),
    ("connection", |s| connection(s).map(unsigned).into()),
    ("number", |s| Cell::Number(s.number.into())),
    ("request", |s| Cell::Number(s.request.into())),
    ("class", |s| Cell::Number(s.class.into())),
    ("status", |s| Cell::Number(s.status.into())),
    ("outcome", |s| Cell::Name(s.outcome.name())),
    ("syn_tries", |s| s.tcp.map(|tcp| i64::from(tcp.syn_tries.get())).into()),
    ("retransmits", |s| s.tcp.map(|tcp| i64::from(tcp.retransmits)).into()),
    ("out_of_order", |s| s.tcp.map(|tcp| i64::from(tcp.out_of_order)).into()),
    ("srtt_us", |s| s.tcp.and_then(|tcp| Some(i64::from(tcp.srtt_us?.get()))).into()),
    ("page", |s| Cell::Number(s.page.code().into())),
    ("session", |s| session(s).map(unsigned).into()),
    ("secured_ns", |s| s.tls.map(|tls| tls.secured.as_ns() as i64).into()),
    ("tls_version", |s| s.tls.map(|tls| i64::from(tls.version.number())).into()),
    ("tls_resumed", |s| s.tls.map(|tls| i64::from(tls.resumed)).into()),
    ("tls_early", |s| s.tls.map(|tls| i64::from(tls.early.code())).into()),
    ("stream", |s| s.http.stream().map(i64::from).into()),
    ("stalled_us", |s| s.http.stalled_us().map(i64::from).into()),
    ("http_version", |s| s.http.version().map(|version| i64::from(version.code())).into()),
    ("longest_gap_ns", |s| gap(s).into()),
    ("first_event_ns", |s| s.events.and_then(|events| at(events.first)).into()),
    ("last_event_ns", |s| s.events.and_then(|events| at(events.last)).into()),
    ("events", |s| s.events.map(|events| i64::from(events.events)).into()),
    ("left", |s| s.events.map(|events| i64::from(events.left)).into()),
    ("host", |s| Cell::Number(s.host.0.into())),
];

impl From<Option<i64>> for Cell {
    fn from(value: Option<i64>) -> Cell {
        value.map_or(Cell::Null, Cell::Number)
    }
}

/// The file keeps the bits of unsigned numbers in signed ones.
fn unsigned(bits: i32) -> i64 {
    i64::from(bits.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use crate::samples::schema::schema;
    use farfield_base::{HttpStats, Outcome, PagePart};

    #[test]
    fn names_and_order_are_those_of_the_file() {
        let schema = schema();
        let of_file: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
        assert_eq!(COLUMNS.map(|(name, _)| name).to_vec(), of_file);
    }

    #[test]
    fn what_did_not_happen_is_null_and_the_largest_number_is_itself() {
        let sample = Sample {
            connection: Sample::NO_CONNECTION - 1,
            session: Sample::NO_SESSION,
            outcome: Outcome::TimedOut,
            page: PagePart::Whole,
            http: HttpStats::of_http2(u32::MAX, u32::MAX),
            ..sample(5, 7)
        };
        let cell = |name| COLUMNS.iter().find(|(column, _)| *column == name).expect(name).1(&sample);
        assert_eq!(cell("due_ns"), Cell::Number(5));
        assert_eq!(cell("done_ns"), Cell::Number(7));
        assert_eq!(cell("connection"), Cell::Number(i64::from(Sample::NO_CONNECTION - 1)));
        assert_eq!(cell("session"), Cell::Null);
        assert_eq!(cell("outcome"), Cell::Name("timed-out"));
        assert_eq!(cell("page"), Cell::Number(4));
        assert_eq!(
            (cell("syn_tries"), cell("srtt_us"), cell("secured_ns")),
            (Cell::Null, Cell::Null, Cell::Null)
        );
        assert_eq!(
            (cell("stream"), cell("stalled_us")),
            (Cell::Number(u32::MAX.into()), Cell::Number(u32::MAX.into()))
        );
    }
}
