//! Stretches in mid-run in which requests waited and nothing came from the server: a warning, not a check.
//!
//! A server that pauses and goes on is slow, which is what a run measures; but a reader of percentiles wants to
//! know that there was one pause and not a slow server. That a server falls silent for good is the check
//! `server-silent`, where that applies; on the simulated plane and under an overload it is reported here as well.
//!
//! Time is looked at by tenths of a second: [received](EngineStats::received) from the users, waited through
//! from the samples.

use crate::engine_stats::EngineStats;
use crate::fold::Fold;
use crate::quantile::Quantile;
use farfield_base::{Duration, Instant};

/// A shorter stretch is never reported.
const LEAST: Duration = Duration::from_ms(300);
/// So many median response times are not yet silence: of exponential times one in a thousand is as long.
const MEDIANS: u64 = 10;

/// In words, if the server was silent for long before `until`. `judged`: a silence at the end of the load is
/// judged elsewhere.
pub(crate) fn warning(fold: &Fold, stats: &EngineStats, until: Instant, judged: bool) -> Option<String> {
    let median = fold.steady().times.response.quantile(Quantile::P50).unwrap_or(Duration::ZERO);
    let least = LEAST.max(Duration::from_ns(median.as_ns().saturating_mul(MEDIANS)));
    let load_over = until.min(fold.window().measure_to);
    let last_tenth = Instant::from_ns(load_over.as_ns() / TENTH_NS * TENTH_NS);
    let lasts = |(from, length): &(Instant, Duration)| *from + *length >= last_tenth;
    let mut stretches = fold.waited().stretches_without(&stats.received, load_over);
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

    /// A run of 10 s with a request each 20 ms, answered in `took_ms`, or when the pause in which it falls is
    /// over.
    fn warned(took_ms: u64, pauses_ms: &[(u64, u64)], judged: bool) -> Option<String> {
        let mut stats = EngineStats::default();
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
        warning(&fold(window(1_000, 10_000), &requests), &stats, Instant::from_ns(10_000 * MS), judged)
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
