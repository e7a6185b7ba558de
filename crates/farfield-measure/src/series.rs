//! Time series of a run, one row a second.
//!
//! Every event counts in the second in which it happened: an arrival in that of `due`, a reply in that of
//! `done`. So a second's replies need not be to that second's arrivals. Seconds count from the start of
//! the run.
//!
//! Response times of successful requests go, by `done`, into small bins; the two latest seconds are kept
//! dense and packed when a later one begins. A sample that comes for a packed second unpacks nothing: its
//! second is opened anew and added on packing, so quantiles are the same in any order of samples.
//! Recording allocates only when a new second begins (about 2 KB a second).

use crate::bins::{Bins, Packed};
use crate::quantile::Quantile;
use crate::table::{self, TableError, begin_differences, optional};
use farfield_base::{Duration, Fault, Instant, Outcome, Sample};
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// A series ends after a week; later events are counted as outside, not kept.
const SECONDS_MAX: u64 = 7 * 24 * 3600;

/// One second, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Seconds since the start of the run, at the second's beginning.
    pub second: u64,
    /// Requests due.
    pub offered: u64,
    /// Requests whose first byte was sent.
    pub sent: u64,
    /// Replies that completed with success.
    pub completed: u64,
    /// Requests that ended by the server's fault.
    pub failed_server: u64,
    /// Requests that ended by the network's fault.
    pub failed_network: u64,
    /// Requests that ended by a limit of this client.
    pub failed_client: u64,
    /// Requests that ended by a reply that was not HTTP.
    pub failed_protocol: u64,
    /// Bytes of bodies of requests that ended.
    pub body_bytes: u64,
    /// All bytes of replies to requests that ended.
    pub reply_bytes: u64,
    /// Mean response time of the successful, to the nanosecond.
    pub response_mean_ns: Option<u64>,
    /// Longest response time of the successful.
    pub response_max_ns: Option<u64>,
    /// Median response time of the successful, low by less than 1.6 %.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response times of the successful, low by less than 1.6 %.
    pub response_p99_ns: Option<u64>,
    /// Connections open in this second, if the engine counts them.
    pub connections_open: Option<u64>,
}

/// The series of one worker, or of several merged.
#[derive(Debug, Clone, Default)]
pub struct Series {
    seconds: Vec<Second>,
    open: [Open; 2],
    outside: u64,
}

#[derive(Debug, Clone, Default)]
struct Second {
    offered: u64,
    sent: u64,
    ended: [u64; 5],
    body_bytes: u64,
    reply_bytes: u64,
    response_sum_ns: u128,
    response_max_ns: u64,
    responses: Packed,
}

/// A second whose response times are still counted densely.
#[derive(Debug, Clone, Default)]
struct Open {
    second: usize,
    bins: Bins,
}

impl Series {
    /// Counts the events of `sample`, each in its second.
    pub fn record(&mut self, sample: &Sample) {
        if let Some(second) = self.second(sample.due) {
            second.offered += 1;
        }
        if let Some(second) = sample.sent.instant().and_then(|sent| self.second(sent)) {
            second.sent += 1;
        }
        let Some(second) = self.second(sample.done) else { return };
        second.ended[fault_place(sample.outcome.fault())] += 1;
        second.body_bytes += sample.body_bytes;
        second.reply_bytes += sample.reply_bytes;
        if sample.outcome == Outcome::Ok {
            let response = sample.response_time();
            second.response_sum_ns += u128::from(response.as_ns());
            second.response_max_ns = second.response_max_ns.max(response.as_ns());
            self.open(index(sample.done)).record(response);
        }
    }

    /// Adds the events of `other`.
    pub fn merge(&mut self, other: &Series) {
        self.pack();
        let mut other = other.clone();
        other.pack();
        if self.seconds.len() < other.seconds.len() {
            self.seconds.resize_with(other.seconds.len(), Second::default);
        }
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.merge(theirs);
        }
        self.outside += other.outside;
    }

    /// Number of events past the longest series, which are in no row.
    pub fn outside(&self) -> u64 {
        self.outside
    }

    /// One row a second from the start of the run; `connections_open` is the engine's count for each
    /// second, as far as it goes.
    pub fn rows(&self, connections_open: &[u64]) -> Vec<SeriesRow> {
        self.rows_pausing(connections_open, &|| {})
    }

    /// The rows, like `rows`; `pause` is called between two of them, which take a microsecond or two each,
    /// except the two latest.
    pub fn rows_pausing(&self, connections_open: &[u64], pause: &dyn Fn()) -> Vec<SeriesRow> {
        let row = |at: usize| {
            pause();
            self.row(at, connections_open.get(at).copied())
        };
        (0..self.seconds.len()).filter_map(row).collect()
    }

    /// The row of one second; `None` if nothing has happened from it on. `connections_open` is the engine's
    /// count.
    pub fn row(&self, at: usize, connections_open: Option<u64>) -> Option<SeriesRow> {
        let second = self.seconds.get(at)?;
        Some(match &self.open[at % 2] {
            open if open.second == at => second.and(open.bins.clone()).row(at, connections_open),
            _ => second.row(at, connections_open),
        })
    }

    fn second(&mut self, instant: Instant) -> Option<&mut Second> {
        let second = index(instant);
        if second as u64 >= SECONDS_MAX {
            self.outside += 1;
            return None;
        }
        if second >= self.seconds.len() {
            self.seconds.resize_with(second + 1, Second::default);
        }
        self.seconds.get_mut(second)
    }

    /// The dense bins of `second`, which is in `seconds`.
    fn open(&mut self, second: usize) -> &mut Bins {
        let open = &mut self.open[second % 2];
        if open.second != second {
            if let Some(over) = self.seconds.get_mut(open.second) {
                open.bins.pack(&mut over.responses);
            }
            open.second = second;
        }
        &mut open.bins
    }

    fn pack(&mut self) {
        for open in &mut self.open {
            if let Some(second) = self.seconds.get_mut(open.second) {
                open.bins.pack(&mut second.responses);
            }
        }
    }
}

impl Second {
    /// Adds the response times in `bins`.
    fn and(&self, mut bins: Bins) -> Second {
        let mut sum = self.clone();
        bins.pack(&mut sum.responses);
        sum
    }

    fn merge(&mut self, other: &Second) {
        self.offered += other.offered;
        self.sent += other.sent;
        for (mine, theirs) in self.ended.iter_mut().zip(other.ended) {
            *mine += theirs;
        }
        self.body_bytes += other.body_bytes;
        self.reply_bytes += other.reply_bytes;
        self.response_sum_ns += other.response_sum_ns;
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.responses.merge(&other.responses);
    }

    fn row(&self, second: usize, connections_open: Option<u64>) -> SeriesRow {
        let [completed, failed_server, failed_network, failed_client, failed_protocol] = self.ended;
        let quantile = |quantile| self.responses.quantile(quantile).map(Duration::as_ns);
        SeriesRow {
            second: second as u64,
            offered: self.offered,
            sent: self.sent,
            completed,
            failed_server,
            failed_network,
            failed_client,
            failed_protocol,
            body_bytes: self.body_bytes,
            reply_bytes: self.reply_bytes,
            response_mean_ns: self.response_sum_ns.checked_div(u128::from(completed)).map(|mean| mean as u64),
            response_max_ns: (completed > 0).then_some(self.response_max_ns),
            response_p50_ns: quantile(Quantile::P50),
            response_p99_ns: quantile(Quantile::P99),
            connections_open,
        }
    }
}

fn index(instant: Instant) -> usize {
    (instant.as_ns() / 1_000_000_000) as usize
}

const fn fault_place(fault: Fault) -> usize {
    match fault {
        Fault::None => 0,
        Fault::Server => 1,
        Fault::Network => 2,
        Fault::Client => 3,
        Fault::Protocol => 4,
    }
}

/// A column: its name in the file, and how a row gives it.
type Column = (&'static str, fn(&SeriesRow) -> Option<u64>);

const COLUMNS: [Column; 15] = [
    ("second", |row| Some(row.second)),
    ("offered", |row| Some(row.offered)),
    ("sent", |row| Some(row.sent)),
    ("completed", |row| Some(row.completed)),
    ("failed_server", |row| Some(row.failed_server)),
    ("failed_network", |row| Some(row.failed_network)),
    ("failed_client", |row| Some(row.failed_client)),
    ("failed_protocol", |row| Some(row.failed_protocol)),
    ("body_bytes", |row| Some(row.body_bytes)),
    ("reply_bytes", |row| Some(row.reply_bytes)),
    ("response_mean_ns", |row| row.response_mean_ns),
    ("response_max_ns", |row| row.response_max_ns),
    ("response_p50_ns", |row| row.response_p50_ns),
    ("response_p99_ns", |row| row.response_p99_ns),
    ("connections_open", |row| row.connections_open),
];

/// Writes `rows` as a Parquet file: every column an unsigned 64-bit integer, those that may lack a value
/// null there.
///
/// In virtual time a minute has a hundred thousand rows and more, and whoever ends such a run waits for them:
/// differences between neighbours take a quarter of a dictionary's time, and a tenth of its bytes.
pub fn write_parquet<W: Write + Send>(rows: &[SeriesRow], to: W) -> Result<(), ParquetError> {
    let fields = COLUMNS.map(|(name, _)| format!("optional int64 {name} (integer(64,false));")).join(" ");
    let mut file = begin_differences(&format!("message series {{ {fields} }}"), to)?;
    let mut group = file.next_row_group()?;
    for (_, value) in COLUMNS {
        // Parquet stores unsigned integers by their bits.
        optional::<Int64Type, _, _>(&mut group, rows, |row| value(row).map(u64::cast_signed))?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// Reads what [`write_parquet`] wrote.
///
/// # Errors
/// If the file is damaged, or lacks a column.
pub fn read_parquet<R: ChunkReader + 'static>(source: R) -> Result<Vec<SeriesRow>, TableError> {
    let mut rows = Vec::new();
    table::read(source, |group| {
        let mut columns = Vec::new();
        for (name, _) in COLUMNS {
            columns.push(table::column::<Int64Type>(group, name)?.into_iter());
        }
        let mut next = |at: usize| columns[at].next().flatten().map(i64::cast_unsigned);
        for _ in 0..group.metadata().num_rows() {
            rows.push(SeriesRow {
                second: next(0).unwrap_or_default(),
                offered: next(1).unwrap_or_default(),
                sent: next(2).unwrap_or_default(),
                completed: next(3).unwrap_or_default(),
                failed_server: next(4).unwrap_or_default(),
                failed_network: next(5).unwrap_or_default(),
                failed_client: next(6).unwrap_or_default(),
                failed_protocol: next(7).unwrap_or_default(),
                body_bytes: next(8).unwrap_or_default(),
                reply_bytes: next(9).unwrap_or_default(),
                response_mean_ns: next(10),
                response_max_ns: next(11),
                response_p50_ns: next(12),
                response_p99_ns: next(13),
                connections_open: next(14),
            });
        }
        Ok(())
    })?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::Stamp;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn of(samples: &[Sample]) -> Series {
        let mut series = Series::default();
        samples.iter().for_each(|sample| series.record(sample));
        series
    }

    #[test]
    fn each_event_counts_in_its_own_second() {
        let late = Sample {
            due: Instant::from_ns(SECOND / 2),
            sent: Stamp::at(Instant::from_ns(SECOND)),
            ..sample(0, 3 * SECOND)
        };
        let rows = of(&[late]).rows(&[4, 5]);
        let counts: Vec<_> = rows.iter().map(|row| (row.offered, row.sent, row.completed)).collect();
        assert_eq!(counts, [(1, 0, 0), (0, 1, 0), (0, 0, 0), (0, 0, 1)]);
        let open: Vec<_> = rows.iter().map(|row| row.connections_open).collect();
        assert_eq!(open, [Some(4), Some(5), None, None]);
        assert_eq!(rows[3].response_mean_ns, Some(3 * SECOND - SECOND / 2));
        assert_eq!(rows[0].response_mean_ns, None);
    }

    #[test]
    fn an_absurd_instant_takes_no_memory() {
        let mut absurd = sample(0, 1);
        absurd.done = Instant::MAX;
        let series = of(&[absurd]);
        assert_eq!((series.outside(), series.rows(&[]).len()), (1, 1));
    }

    #[test]
    fn faults_have_columns_of_their_own() {
        let ended = |outcome| of(&[Sample { outcome, ..sample(0, 1) }]).rows(&[]).remove(0);
        assert_eq!(ended(Outcome::Status5xx).failed_server, 1);
        assert_eq!(ended(Outcome::Reset).failed_network, 1);
        assert_eq!(ended(Outcome::TimedOut).failed_client, 1);
        assert_eq!(ended(Outcome::BadHead).failed_protocol, 1);
        assert_eq!(ended(Outcome::BadHead).response_max_ns, None);
    }

    #[test]
    fn parquet_gives_back_what_went_in() {
        let samples: Vec<_> = (0..50).map(|n| sample(n * SECOND / 7, n * SECOND / 5 + 1)).collect();
        let rows = of(&samples).rows(&[u64::MAX, 2]);
        let mut file = Vec::new();
        write_parquet(&rows, &mut file).expect("memory takes all");
        let file = bytes::Bytes::from(file);
        assert_eq!(read_parquet(file.clone()).expect("our own file"), rows);
        assert!(read_parquet(file.slice(..file.len() / 2)).is_err(), "half of a file");
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        let read: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
        assert_eq!(read.len(), rows.len());
        for (read, row) in read.iter().zip(&rows) {
            for ((name, field), (column, value)) in read.get_column_iter().zip(COLUMNS) {
                assert_eq!(name, column);
                let expected = value(row).map_or(parquet::record::Field::Null, parquet::record::Field::ULong);
                assert_eq!(*field, expected, "{name}");
            }
        }
    }

    proptest! {
        /// Any order, any split between workers: the same rows, and quantiles as of the whole second.
        #[test]
        fn order_and_workers_do_not_matter(
            times in prop::collection::vec((0_u64..6 * SECOND, 0_u64..3 * SECOND), 1..80),
            cut in 0_usize..80,
        ) {
            let samples: Vec<_> = times.iter().map(|&(due, took)| sample(due, due + took)).collect();
            let (left, right) = samples.split_at(cut.min(samples.len()));
            let mut merged = of(left);
            merged.merge(&of(right));
            let mut reversed = samples.clone();
            reversed.reverse();
            let rows = of(&samples).rows(&[]);
            prop_assert_eq!(&merged.rows(&[]), &rows);
            prop_assert_eq!(&of(&reversed).rows(&[]), &rows);
            for row in rows {
                let done = samples.iter().filter(|s| index(s.done) as u64 == row.second);
                let mut took: Vec<_> = done.map(|s| s.response_time().as_ns()).collect();
                took.sort_unstable();
                prop_assert_eq!(row.response_max_ns, took.last().copied());
                let Some(rank) = Quantile::P99.rank(took.len() as u64) else { continue };
                let truth = took[rank as usize - 1];
                let reported = row.response_p99_ns.expect("a sample");
                prop_assert!(truth < 1024 || (reported <= truth && truth - reported <= truth / 64));
            }
        }
    }
}
