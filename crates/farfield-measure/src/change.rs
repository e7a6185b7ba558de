//! Warning about a run whose response times changed permanently in its middle. It is no check.
//!
//! A server that loses processor time half way, fills a cache or begins to swap is measured as it is; but
//! percentiles over both parts describe neither. So medians of the measured part's whole seconds are
//! compared: where **each** after some second is at least twice, or at most half, **each** before it, the
//! warning says when, and both medians. No distribution is assumed. A queue that grows steadily is not such
//! a change: from its third second on its times do not double from one second to the next but one. The
//! second of the change itself belongs to neither side.

use crate::fold::Fold;
use crate::series::SeriesRow;
use farfield_base::{Duration, Instant};

/// Least ratio of the times on one side to those on the other.
const TIMES: u64 = 2;
/// Intervals that either side has at least.
const SIDE: usize = 3;
/// Medians of fewer successful requests vary too much to compare with. Those of the slow side may be of
/// fewer: it is slow.
const REQUESTS: u64 = 20;
/// Number of intervals of a long run, each with the median of its seconds, so that one outlier hides
/// nothing.
const INTERVALS: usize = 30;

/// The warning, if response times changed before `until`.
pub(crate) fn warning(fold: &Fold, until: Instant) -> Option<String> {
    let window = fold.window();
    let rows = fold.series().copy(&[], &|| {});
    let (from, to) = (window.measure_from.as_ns(), window.measure_to.min(until).as_ns());
    const SECOND: u64 = 1_000_000_000;
    let whole = rows.iter().filter(|row| row.second * SECOND >= from && (row.second + 1) * SECOND <= to);
    let change = find(whole)?;
    let ms = |ns: u64| Duration::from_ns(ns).as_secs_f64() * 1e3;
    let (before, after) = (ms(change.before_ns), ms(change.after_ns));
    let second = change.from_second;
    Some(match after > before {
        true => format!(
            "requests took longer from second {second} on: their median was {before:.3} ms before and {after:.3} ms after. \
             The server, its machine or the load changed then, and the percentiles mix both: see the server's log of that \
             time, and `series.parquet`"
        ),
        false => format!(
            "requests took less time from second {second} on: their median was {before:.3} ms before and {after:.3} ms \
             after. The percentiles mix both: where the server was still warming up, a longer `--warm-up` leaves that out"
        ),
    })
}

/// The second in which times changed, and the medians of both sides' medians.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChangePoint {
    from_second: u64,
    before_ns: u64,
    after_ns: u64,
}

/// A stretch of the run.
#[derive(Debug, Clone, Copy)]
struct MedianInterval {
    from_second: u64,
    /// The median of its seconds' medians.
    median_ns: u64,
    /// The median number of successful requests of its seconds.
    requests: u64,
}

fn find(rows: impl IntoIterator<Item = SeriesRow>) -> Option<ChangePoint> {
    let second = |row: SeriesRow| {
        let (from_second, median_ns, requests) = (row.second, row.response_p50_ns?, row.succeeded);
        Some(MedianInterval { from_second, median_ns, requests })
    };
    let seconds: Vec<MedianInterval> = rows.into_iter().filter_map(second).collect();
    let together = seconds.len().div_ceil(INTERVALS).max(1);
    let interval = |part: &[MedianInterval]| MedianInterval {
        from_second: part[0].from_second,
        median_ns: median(part.iter().map(|second| second.median_ns)),
        requests: median(part.iter().map(|second| second.requests)),
    };
    let intervals: Vec<MedianInterval> = seconds.chunks(together).map(interval).collect();
    let last = intervals.len().checked_sub(SIDE + 1)?;
    (SIDE..=last).find_map(|at| change_at(&intervals[..at], intervals[at], &intervals[at + 1..]))
}

/// The change between `before` and `after`, if there is one; the interval `between` is on neither side.
fn change_at(
    before: &[MedianInterval],
    between: MedianInterval,
    after: &[MedianInterval],
) -> Option<ChangePoint> {
    let times = |side: &[MedianInterval]| side.iter().map(|interval| interval.median_ns).collect::<Vec<_>>();
    let (earlier, later) = (times(before), times(after));
    let (slowest_before, fastest_before) = (*earlier.iter().max()?, *earlier.iter().min()?);
    let (slowest_after, fastest_after) = (*later.iter().max()?, *later.iter().min()?);
    let far = |small: u64, large: u64| large >= small.saturating_mul(TIMES);
    let slower = far(slowest_before, fastest_after);
    if !slower && !far(slowest_after, fastest_before) {
        return None;
    }
    let quick = if slower { before } else { after };
    if quick.iter().any(|interval| interval.requests < REQUESTS) {
        return None;
    }
    let at = between.median_ns;
    let changed_by_then = if slower { far(slowest_before, at) } else { far(at, fastest_before) };
    let from_second = if changed_by_then { between.from_second } else { after[0].from_second };
    let (before_ns, after_ns) = (median(earlier.into_iter()), median(later.into_iter()));
    Some(ChangePoint { from_second, before_ns, after_ns })
}

/// The lower median.
fn median(times: impl Iterator<Item = u64>) -> u64 {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times[(times.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{fold, sample, window};

    /// Seconds with these medians, in milliseconds.
    fn found(medians_ms: &[u64]) -> Option<(u64, u64, u64)> {
        let row = |(second, ms): (u64, &u64)| SeriesRow {
            second,
            completed: 100,
            succeeded: 100,
            response_p50_ns: Some(ms * 1_000_000),
            ..SeriesRow::default()
        };
        let ms = |ns| ns / 1_000_000;
        find((0..).zip(medians_ms).map(row))
            .map(|change| (change.from_second, ms(change.before_ns), ms(change.after_ns)))
    }

    #[test]
    fn a_change_for_good_is_found_with_its_second() {
        assert_eq!(found(&[10, 11, 10, 12, 40, 41, 40, 42]), Some((4, 10, 40)));
        // The second of the change is mixed.
        assert_eq!(found(&[10, 11, 10, 12, 18, 40, 41, 42]), Some((5, 10, 41)));
        assert_eq!(found(&[40, 41, 40, 42, 10, 11, 10, 12]), Some((4, 40, 10)));
    }

    #[test]
    fn what_is_no_change_for_good_is_not_reported() {
        let steady = [10, 19, 11, 18, 12, 17, 10, 19];
        let queue: Vec<u64> = (0..30).map(|second| 500 + 1000 * second).collect();
        let for_a_while = [10, 10, 10, 10, 40, 40, 40, 10];
        let brief = [10, 10, 40, 40];
        for medians in [&steady[..], &queue, &for_a_while, &brief, &[]] {
            assert_eq!(found(medians), None, "{medians:?}");
        }
    }

    /// In an hour, one second may be odd.
    #[test]
    fn one_odd_second_hides_nothing_in_a_long_run() {
        let mut medians: Vec<u64> = (0..3600).map(|second| if second < 1800 { 10 } else { 30 }).collect();
        (medians[100], medians[3000]) = (500, 1);
        assert_eq!(found(&medians), Some((1800, 10, 30)));
    }

    #[test]
    fn seconds_of_few_requests_and_those_outside_the_window_do_not_count() {
        let run = |a_second: u64| {
            let requests: Vec<_> = (0..10 * a_second)
                .map(|n| {
                    let due = n * 1_000_000_000 / a_second;
                    let took = if due < 5_000_000_000 { 1_000_000 } else { 9_000_000 };
                    sample(due, due + took)
                })
                .collect();
            fold(window(1_000, 10_000), &requests)
        };
        let text = warning(&run(50), Instant::from_ns(10_000_000_000)).expect("a warning");
        assert!(text.starts_with("requests took longer from second 5 on: their median was "), "{text}");
        assert_eq!(warning(&run(10), Instant::from_ns(10_000_000_000)), None);
        // A server that hardly answers any more.
        let of = |second, succeeded, ms: u64| SeriesRow {
            second,
            completed: succeeded,
            succeeded,
            response_p50_ns: Some(ms * 1_000_000),
            ..SeriesRow::default()
        };
        let rows = (0..8).map(|n| if n < 4 { of(n, 100, 10) } else { of(n, 3, 900) });
        assert_eq!(find(rows).map(|change| change.from_second), Some(4));
        assert_eq!(warning(&run(50), Instant::from_ns(7_900_000_000)), None);
    }
}
