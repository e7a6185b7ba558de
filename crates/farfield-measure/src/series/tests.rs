//! Tests of the series.

use super::*;
use crate::fold::scene::sample;
use farfield_base::{Outcome, Stamp};
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
    let counts: Vec<_> =
        rows.iter().map(|row| (row.offered, row.sent, row.completed, row.succeeded)).collect();
    assert_eq!(counts, [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0), (0, 0, 1, 1)]);
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
    let refused = ended(Outcome::Status5xx);
    assert_eq!((refused.failed_server, refused.completed, refused.succeeded), (1, 1, 0));
    assert_eq!(ended(Outcome::Reset).completed, 0, "no whole reply");
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
    write_parquet(rows.clone(), &mut file).expect("memory takes all");
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

/// Twenty requests a second, some of them slow.
fn second_of_load(second: u64) -> impl Iterator<Item = Sample> {
    (0..20).map(move |n| {
        let due = second * SECOND + n * SECOND / 20;
        sample(due, due + (n * 37 + second * 11) % 900 * 1_000_000 + n)
    })
}

#[test]
fn settled_seconds_have_the_rows_that_they_had() {
    let (mut plain, mut settled) = (Series::default(), Series::default());
    for second in 0..3_000 {
        for sample in second_of_load(second) {
            plain.record(&sample);
            settled.record(&sample);
        }
        settled.settle();
    }
    assert!(settled.recent.len() <= UNSETTLED && plain.recent.len() >= 3_000);
    assert_eq!(settled.rows(&[7, 8]), plain.rows(&[7, 8]));
    // Requests that were due long ago, of more seconds than may wait, end only now.
    for second in (0..1_250).rev().map(|half| 2 * half) {
        let unfinished = Sample { outcome: Outcome::Unfinished, ..sample(second * SECOND, 3_000 * SECOND) };
        plain.record(&unfinished);
        settled.record(&unfinished);
        assert!(settled.late.len() <= LATE_MAX);
    }
    assert_eq!(settled.rows(&[7, 8]), plain.rows(&[7, 8]));
    assert!((0..3_002).all(|at| settled.row(at, None) == plain.row(at, None)));
}

/// A reply that is recorded after its second was settled counts in all but the quantiles.
#[test]
fn a_late_reply_is_counted_and_moves_no_quantile() {
    let mut series = Series::default();
    for second in 0..200 {
        second_of_load(second).for_each(|sample| series.record(&sample));
        series.settle();
    }
    let before = series.rows(&[]).remove(10);
    let late = Sample { body_bytes: 5, ..sample(9 * SECOND, 10 * SECOND + SECOND / 2) };
    series.record(&late);
    let after = series.rows(&[]).remove(10);
    let sum = |row: &SeriesRow| row.response_mean_ns.expect("replies") * row.succeeded;
    assert_eq!((after.completed, after.succeeded), (before.completed + 1, before.succeeded + 1));
    assert_eq!(after.response_max_ns, Some(SECOND + SECOND / 2));
    assert!(sum(&after).abs_diff(sum(&before) + SECOND + SECOND / 2) <= 2 * after.succeeded);
    assert_eq!(
        (after.response_p50_ns, after.response_p99_ns),
        (before.response_p50_ns, before.response_p99_ns)
    );
    assert_eq!(series.rows(&[])[9].offered, 21);
}

#[test]
fn a_series_of_several_row_groups_is_read_back() {
    let rows =
        |count: u64| (0..count).map(|second| SeriesRow { second, sent: second % 7, ..SeriesRow::default() });
    for count in [0, 1, GROUP_ROWS as u64, 2 * GROUP_ROWS as u64 + 5] {
        let mut file = Vec::new();
        write_parquet(rows(count), &mut file).expect("memory takes all");
        let read = read_parquet(bytes::Bytes::from(file)).expect("our own file");
        assert!(read == rows(count).collect::<Vec<_>>(), "{count} rows");
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
