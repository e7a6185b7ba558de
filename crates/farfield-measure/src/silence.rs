//! Warning about stretches in mid-run in which requests waited and nothing came from the server. It is no
//! check.
//!
//! A server that pauses and continues is slow, which is what a run measures; but a reader of percentiles
//! should know that there was one pause and not a slow server. Permanent silence fails the check
//! `server-silent`, if that applies; on the simulated plane and under an overload it is reported here as
//! well.
//!
//! In an [outage](crate::outages) that was asked for nothing can come, and nothing is reported.
//!
//! The resolution is a tenth of a second: [received](EngineStats::received) by the users, waited through by
//! the samples.

use crate::engine_stats::EngineStats;
use crate::fold::Fold;
use crate::quantile::Quantile;
use farfield_base::{Duration, Instant};

/// A shorter stretch is never reported.
const LEAST: Duration = Duration::from_ms(300);
/// Silence is longer than this many median response times: one in a thousand exponential times is as long.
const MEDIANS: u64 = 10;

/// The warning, if the server was silent for long before `until`. `judged`: a silence at the end of the load
/// is judged elsewhere.
pub(crate) fn warning(fold: &Fold, stats: &EngineStats, until: Instant, judged: bool) -> Option<String> {
    let median = fold.steady().times.response.quantile(Quantile::P50).unwrap_or(Duration::ZERO);
    let least = LEAST.max(Duration::from_ns(median.as_ns().saturating_mul(MEDIANS)));
    let load_over = until.min(fold.window().measure_to);
    let last_tenth = Instant::from_ns(load_over.as_ns() / TENTH_NS * TENTH_NS);
    // What came in the drain or the cool-down ends a silence that the check does not see, since it did end.
    let speaks_later = stats.last_received.is_some_and(|at| Instant::ZERO + at > load_over);
    let lasts = |(from, length): &(Instant, Duration)| !speaks_later && *from + *length >= last_tenth;
    let all = fold.waited().stretches_without(&stats.received, load_over);
    let mut stretches: Vec<_> = all.into_iter().flat_map(|all| fold.outages().left_of(all)).collect();
    stretches.retain(|stretch| stretch.1 >= least && !(judged && lasts(stretch)));
    let longest = stretches.iter().max_by_key(|stretch| (stretch.1, std::cmp::Reverse(stretch.0)))?;
    let second = |at: Instant| at.as_ns() as f64 / 1e9;
    let (from, to) = (second(longest.0), second(longest.0 + longest.1));
    let when = match lasts(longest) {
        true => format!("after second {from:.1}"),
        false => format!("between second {from:.1} and {to:.1}"),
    };
    let all: f64 = stretches.iter().map(|(_, length)| length.as_secs_f64()).sum();
    let others = match stretches.len() - 1 {
        0 => String::new(),
        others => format!("; {others} more such pauses make it {all:.1} s in all"),
    };
    Some(format!("nothing came from the server {when}, while requests waited{others}"))
}

const TENTH_NS: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{fold, sample, window};
    use farfield_base::{Outcome, Sample};

    const MS: u64 = 1_000_000;

    /// A run of 10 s with a request each 20 ms, answered in `took_ms`, or when the pause in which it falls
    /// is over.
    fn warned(took_ms: u64, pauses_ms: &[(u64, u64)], judged: bool) -> Option<String> {
        warned_with(&[], took_ms, pauses_ms, judged)
    }

    fn warned_with(
        outages_ms: &[(u64, u64)],
        took_ms: u64,
        pauses_ms: &[(u64, u64)],
        judged: bool,
    ) -> Option<String> {
        warned_from(EngineStats::default(), outages_ms, took_ms, pauses_ms, judged)
    }

    fn warned_from(
        mut stats: EngineStats,
        outages_ms: &[(u64, u64)],
        took_ms: u64,
        pauses_ms: &[(u64, u64)],
        judged: bool,
    ) -> Option<String> {
        let requests: Vec<Sample> = (0..500)
            .map(|n| {
                let due = n * 20;
                let answered = due + took_ms;
                let pause = pauses_ms.iter().find(|(from, to)| (*from..*to).contains(&answered));
                let done = pause.map_or(answered, |(_, to)| *to);
                match done {
                    10_000.. => Sample { outcome: Outcome::Unfinished, ..sample(due * MS, 10_000 * MS) },
                    _ => {
                        stats.received.add(Instant::from_ns(done * MS));
                        sample(due * MS, done * MS)
                    }
                }
            })
            .collect();
        let at = |ms: u64| Instant::from_ns(ms.saturating_mul(MS));
        let outages: Vec<_> = outages_ms.iter().map(|(from, to)| (at(*from), at(*to))).collect();
        let fold = fold(window(1_000, 10_000), &requests).with_outages(&outages);
        warning(&fold, &stats, at(10_000), judged)
    }

    /// An outage of 1 s explains a silence of 2.9 s, and no other one.
    #[test]
    fn an_outage_is_no_pause_of_the_server() {
        let warned = |pauses_ms: &[(u64, u64)]| warned_with(&[(2_000, 3_000)], 5, pauses_ms, false);
        assert_eq!(warned(&[(2_000, 4_900)]), None);
        let of_server = "nothing came from the server between second 7.0 and 8.0, while requests waited";
        assert_eq!(warned(&[(2_000, 4_900), (7_000, 8_000)]).as_deref(), Some(of_server));
        let before = "nothing came from the server between second 1.0 and 2.0, while requests waited";
        assert_eq!(warned(&[(1_000, 4_000)]).as_deref(), Some(before));
        assert_eq!(warned_with(&[(2_000, u64::MAX)], 5, &[(2_000, u64::MAX)], false), None);
    }

    #[test]
    fn a_pause_is_reported_with_its_seconds() {
        assert_eq!(warned(5, &[], true), None);
        let one = "nothing came from the server between second 2.0 and 3.5, while requests waited";
        assert_eq!(warned(5, &[(2_000, 3_500)], true).as_deref(), Some(one));
        let three = format!("{one}; 2 more such pauses make it 2.8 s in all");
        assert_eq!(warned(5, &[(1_200, 1_900), (2_000, 3_500), (7_000, 7_600)], true), Some(three));
        // Shorter than 300 ms, or as long as ten of its usual response times.
        assert_eq!(warned(5, &[(2_000, 2_290)], true), None);
        assert_eq!(warned(200, &[(2_000, 3_500)], true), None);
    }

    #[test]
    fn a_silence_at_the_end_is_reported_where_nothing_judges_it() {
        let pause = [(7_000, u64::MAX)];
        assert_eq!(warned(5, &pause, true), None);
        let warning = warned(5, &pause, false);
        assert_eq!(
            warning.as_deref(),
            Some("nothing came from the server after second 7.0, while requests waited")
        );
    }

    /// A server that speaks again in the drain fails no check, and paused all the same.
    #[test]
    fn a_pause_to_the_end_of_the_load_is_reported_where_the_server_speaks_again() {
        let pause = [(7_000, u64::MAX)];
        let spoken = |last_ms: u64| {
            let last_received = Some(Duration::from_ns(last_ms * MS));
            warned_from(EngineStats { last_received, ..EngineStats::default() }, &[], 5, &pause, true)
        };
        let to_the_end = "nothing came from the server between second 7.0 and 10.0, while requests waited";
        assert_eq!(spoken(10_400).as_deref(), Some(to_the_end));
        assert_eq!(spoken(6_990), None);
    }

    /// A server that nobody asks is not silent.
    #[test]
    fn where_nothing_waits_nothing_is_reported() {
        let mut stats = EngineStats::default();
        let requests = [sample(0, 5 * MS), sample(4_000 * MS, 4_005 * MS)];
        requests.iter().for_each(|request| stats.received.add(request.done));
        let fold = fold(window(0, 10_000), &requests);
        assert_eq!(warning(&fold, &stats, Instant::from_ns(10_000 * MS), true), None);
    }
}
