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
//!
//! A series that grows for days is [settled](Series::settle): seconds that ended a minute before the latest
//! reply become a row of some 25 bytes, 16 MB for the longest series. What happened in them and comes late,
//! such as the arrival of a request that ends an hour after it, is added to their counts, sums and maxima;
//! their quantiles stay those of the replies before.

use crate::bins::{Bins, Packed};
use crate::quantile::Quantile;
use crate::rows::Rows;
use crate::table::{self, TableError, begin_differences, optional};
use farfield_base::{Fault, Instant, Merge, Sample};
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;

/// A series ends after a week; later events are counted as outside, not kept.
const SECONDS_MAX: u64 = 7 * 24 * 3600;
/// Seconds before the latest reply that are not settled: replies are recorded out of order by less.
const UNSETTLED: usize = 60;
/// Settled seconds with late events that wait to be added to their rows.
const LATE_MAX: usize = 1_024;
/// Numbers of a settled second.
const NUMBERS: usize = 15;
/// Rows of a row group of the file: they are in memory at once.
const GROUP_ROWS: usize = 8_192;

/// One second, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Seconds since the start of the run, at the second's beginning.
    pub second: u64,
    /// Requests due.
    pub offered: u64,
    /// Requests whose first byte was sent.
    pub sent: u64,
    /// Replies that came as a whole, whatever their status.
    pub completed: u64,
    /// Whole replies with success.
    #[serde(default)]
    pub succeeded: u64,
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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Series {
    /// The seconds that are settled, from the first on.
    settled: Rows<NUMBERS>,
    /// Events of settled seconds that have come since.
    late: BTreeMap<usize, Second>,
    /// The seconds behind them.
    recent: VecDeque<Second>,
    open: [OpenSecond; 2],
    outside: u64,
}

/// The rows of a series, copied: settled ones are shared with it.
#[derive(Debug, Clone, Default)]
pub struct SeriesRows {
    settled: Rows<NUMBERS>,
    recent: Vec<SeriesRow>,
    connections_open: Vec<u64>,
}

impl SeriesRows {
    /// The rows, one a second from the start of the run.
    pub fn iter(&self) -> impl Iterator<Item = SeriesRow> + '_ {
        let open = |at: usize| self.connections_open.get(at).copied();
        let settled = self.settled.iter().enumerate();
        settled.map(move |(at, numbers)| row_of(&numbers, at, open(at))).chain(self.recent.iter().cloned())
    }
}

farfield_base::mergeable! {
    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    struct Second {
        offered: u64,
        sent: u64,
        /// Whole replies.
        completed: u64,
        ended: [u64; 5] => each,
        body_bytes: u64,
        reply_bytes: u64,
        response_sum_ns: u128,
        response_max_ns: u64 => most,
        responses: Packed,
    }
}

/// A second whose response times are still counted densely.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct OpenSecond {
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
        second.completed += u64::from(sample.outcome.is_reply());
        second.ended[fault_place(sample.outcome.fault())] += 1;
        second.body_bytes += sample.body_bytes;
        second.reply_bytes += sample.reply_bytes;
        if let Some(response) = sample.success_time() {
            second.response_sum_ns += u128::from(response.as_ns());
            second.response_max_ns = second.response_max_ns.max(response.as_ns());
            let done = index(sample.done);
            if done >= self.settled.len() {
                self.open(done).record(response);
            }
        }
    }

    /// Settles the seconds that ended long before the latest event. Costs a comparison where there are none.
    pub fn settle(&mut self) {
        while self.recent.len() > UNSETTLED {
            let at = self.settled.len();
            let open = &mut self.open[at % 2];
            if open.second == at
                && let Some(first) = self.recent.front_mut()
            {
                open.bins.pack(&mut first.responses);
            }
            let Some(second) = self.recent.pop_front() else { return };
            self.settled.push(second.numbers());
        }
    }

    /// True if no second is settled.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.settled.len() == 0 && self.late.is_empty()
    }

    /// Number of events past the longest series, which are in no row.
    pub fn outside(&self) -> u64 {
        self.outside
    }

    /// One row a second from the start of the run; `connections_open` is the engine's count for each
    /// second, as far as it goes.
    pub fn rows(&self, connections_open: &[u64]) -> Vec<SeriesRow> {
        self.copy(connections_open, &|| {}).iter().collect()
    }

    /// A copy of the rows; `pause` is called between two that are not settled, which take a microsecond or
    /// two each, except the two latest.
    pub fn copy(&self, connections_open: &[u64], pause: &dyn Fn()) -> SeriesRows {
        let mut settled = self.settled.clone();
        add_late(&mut settled, &self.late);
        let recent = self.settled.len()..self.settled.len() + self.recent.len();
        let row = |at: usize| {
            pause();
            self.row(at, connections_open.get(at).copied())
        };
        SeriesRows {
            settled,
            recent: recent.filter_map(row).collect(),
            connections_open: connections_open.to_vec(),
        }
    }

    /// The row of one second; `None` if nothing has happened from it on. `connections_open` is the engine's
    /// count.
    pub fn row(&self, at: usize, connections_open: Option<u64>) -> Option<SeriesRow> {
        let Some(recent) = at.checked_sub(self.settled.len()) else {
            let mut numbers = self.settled.get(at)?;
            if let Some(late) = self.late.get(&at) {
                late.add_to(&mut numbers);
            }
            return Some(row_of(&numbers, at, connections_open));
        };
        let second = self.recent.get(recent)?;
        let numbers = match &self.open[at % 2] {
            open if open.second == at => second.and(open.bins.clone()).numbers(),
            _ => second.numbers(),
        };
        Some(row_of(&numbers, at, connections_open))
    }

    fn second(&mut self, instant: Instant) -> Option<&mut Second> {
        let second = index(instant);
        if second as u64 >= SECONDS_MAX {
            self.outside += 1;
            return None;
        }
        let Some(recent) = second.checked_sub(self.settled.len()) else {
            if self.late.len() >= LATE_MAX {
                add_late(&mut self.settled, &self.late);
                self.late.clear();
            }
            return Some(self.late.entry(second).or_default());
        };
        if recent >= self.recent.len() {
            self.recent.resize_with(recent + 1, Second::default);
        }
        self.recent.get_mut(recent)
    }

    /// The dense bins of `second`, which is not settled.
    fn open(&mut self, second: usize) -> &mut Bins {
        let open = &mut self.open[second % 2];
        if open.second != second {
            let over = open.second.checked_sub(self.settled.len());
            if let Some(over) = over.and_then(|over| self.recent.get_mut(over)) {
                open.bins.pack(&mut over.responses);
            }
            open.second = second;
        }
        &mut open.bins
    }

    fn pack(&mut self) {
        for open in &mut self.open {
            if let Some(second) = self.recent.get_mut(open.second) {
                open.bins.pack(&mut second.responses);
            }
        }
    }
}

/// Adds the events of `other`.
///
/// # Panics
/// If seconds of either are settled: their response times are no longer there to be added up.
impl Merge for Series {
    fn merge(&mut self, other: &Series) {
        assert!(self.settled.len() + other.settled.len() == 0, "what is settled is not merged");
        self.pack();
        let mut other = other.clone();
        other.pack();
        if self.recent.len() < other.recent.len() {
            self.recent.resize_with(other.recent.len(), Second::default);
        }
        for (mine, theirs) in self.recent.iter_mut().zip(&other.recent) {
            mine.merge(theirs);
        }
        self.outside += other.outside;
    }
}

impl Second {
    /// Adds the response times in `bins`.
    fn and(&self, mut bins: Bins) -> Second {
        let mut sum = self.clone();
        bins.pack(&mut sum.responses);
        sum
    }

    /// Numbers in the order in which [`row_of`] takes them. The sum of the response times is their mean and a
    /// remainder, which are small. A quantile of nothing is 0, others are one more than they are.
    fn numbers(&self) -> [u64; NUMBERS] {
        let [succeeded, ..] = self.ended;
        let [server, network, client, protocol] = [1, 2, 3, 4].map(|place| self.ended[place]);
        let (mean, rest) = mean_and_rest(self.response_sum_ns, succeeded);
        let quantile = |quantile| self.responses.quantile(quantile).map_or(0, |time| time.as_ns() + 1);
        let (p50, p99) = (quantile(Quantile::P50), quantile(Quantile::P99));
        let (body, reply, max) = (self.body_bytes, self.reply_bytes, self.response_max_ns);
        [
            self.offered,
            self.sent,
            self.completed,
            succeeded,
            server,
            network,
            client,
            protocol,
            body,
            reply,
            mean,
            rest,
            max,
            p50,
            p99,
        ]
    }

    /// Adds its counts to those of a settled second.
    fn add_to(&self, numbers: &mut [u64; NUMBERS]) {
        let [
            offered,
            sent,
            completed,
            succeeded,
            server,
            network,
            client,
            protocol,
            body,
            reply,
            mean,
            rest,
            max,
            _,
            _,
        ] = numbers;
        let sum = u128::from(*mean) * u128::from(*succeeded) + u128::from(*rest) + self.response_sum_ns;
        *offered += self.offered;
        *sent += self.sent;
        *completed += self.completed;
        let ended = [&mut *succeeded, server, network, client, protocol];
        ended.into_iter().zip(self.ended).for_each(|(mine, late)| *mine += late);
        *body += self.body_bytes;
        *reply += self.reply_bytes;
        (*mean, *rest) = mean_and_rest(sum, *succeeded);
        *max = self.response_max_ns.max(*max);
    }
}

/// The row of a second with these numbers.
fn row_of(numbers: &[u64; NUMBERS], second: usize, connections_open: Option<u64>) -> SeriesRow {
    let [
        offered,
        sent,
        completed,
        succeeded,
        server,
        network,
        client,
        protocol,
        body,
        reply,
        mean,
        _,
        max,
        p50,
        p99,
    ] = *numbers;
    SeriesRow {
        second: second as u64,
        offered,
        sent,
        completed,
        succeeded,
        failed_server: server,
        failed_network: network,
        failed_client: client,
        failed_protocol: protocol,
        body_bytes: body,
        reply_bytes: reply,
        response_mean_ns: (succeeded > 0).then_some(mean),
        response_max_ns: (succeeded > 0).then_some(max),
        response_p50_ns: p50.checked_sub(1),
        response_p99_ns: p99.checked_sub(1),
        connections_open,
    }
}

fn mean_and_rest(sum_ns: u128, count: u64) -> (u64, u64) {
    match u128::from(count) {
        0 => (0, 0),
        count => ((sum_ns / count) as u64, (sum_ns % count) as u64),
    }
}

fn add_late(settled: &mut Rows<NUMBERS>, late: &BTreeMap<usize, Second>) {
    settled.change(late.keys().copied(), |at, numbers| late[&at].add_to(numbers));
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

/// The column of successful replies, which files by an older farfield lack.
const SUCCEEDED: &str = "succeeded";

/// A column: its name in the file, and how a row gives it.
type SeriesColumn = (&'static str, fn(&SeriesRow) -> Option<u64>);

const COLUMNS: [SeriesColumn; 16] = [
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
    (SUCCEEDED, |row| Some(row.succeeded)),
];

/// Writes `rows` as a Parquet file: every column an unsigned 64-bit integer, those that may lack a value
/// null there.
///
/// In virtual time a minute has a hundred thousand rows and more, and whoever ends such a run waits for them:
/// differences between neighbours take a quarter of a dictionary's time, and a tenth of its bytes.
pub fn write_parquet<W: Write + Send>(
    rows: impl IntoIterator<Item = SeriesRow>,
    to: W,
) -> Result<(), ParquetError> {
    let fields = COLUMNS.map(|(name, _)| format!("optional int64 {name} (integer(64,false));")).join(" ");
    let mut file = begin_differences(&format!("message series {{ {fields} }}"), to)?;
    let mut rows = rows.into_iter().peekable();
    let mut in_group = Vec::new();
    // A file without rows has a row group, too.
    while in_group.is_empty() || rows.peek().is_some() {
        in_group.clear();
        in_group.extend(rows.by_ref().take(GROUP_ROWS));
        let mut group = file.next_row_group()?;
        for (_, value) in COLUMNS {
            // Parquet stores unsigned integers by their bits.
            optional::<Int64Type, _, _>(&mut group, &in_group, |row| value(row).map(u64::cast_signed))?;
        }
        group.close()?;
        if in_group.is_empty() {
            break;
        }
    }
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
            let column = match table::column::<Int64Type>(group, name) {
                // A file by an older farfield, which had successful replies under `completed`.
                Err(TableError::Column(SUCCEEDED)) => Vec::new(),
                column => column?,
            };
            columns.push(column.into_iter());
        }
        let mut next = |at: usize| columns[at].next().flatten().map(i64::cast_unsigned);
        for _ in 0..group.metadata().num_rows() {
            let completed = next(3).unwrap_or_default();
            rows.push(SeriesRow {
                second: next(0).unwrap_or_default(),
                offered: next(1).unwrap_or_default(),
                sent: next(2).unwrap_or_default(),
                completed,
                succeeded: next(15).unwrap_or(completed),
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
mod tests;
