//! Possible effects of workers' stalls, and of time that the machine's host took (steal), on the figures of
//! a run, bounded in time and in requests.
//!
//! After a stall a worker has as long again to make up for what was due meanwhile, so that as many requests
//! were late as are due in twice the time, each by the stall at most. A percentile stays as it is if these
//! are a fifth of the requests beyond it, or fewer; the maximum may always be one of them. What they can
//! move is marked, and a run is invalid only if stalls can have moved a percentile up to the p99, or what a
//! threshold is about. Time that the host took in short pieces, each no stall, delays as many requests; where
//! it made nothing late that a check looks at, it is marked alone.

use super::advice::RunView;
use super::counterfactual::stolen_s;
use crate::quantile::Quantile;
use crate::summary::QUANTILES;
use farfield_base::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of the requests beyond a percentile that may be late without an effect on it.
const BEYOND_MOST: f64 = 0.2;
/// Percentiles that every run claims.
const CLAIMED: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99];
/// Stretches that are kept.
const SECONDS_MOST: usize = 100;

/// Possible effects of workers' stalls, and of time that the host took, on a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbed {
    /// The longest time for which a worker was away from its events.
    pub longest_ns: u64,
    /// All such times of 20 ms at least, of the worker that had the most; 0 if none is longer than the
    /// limit.
    pub lost_ns: u64,
    /// Time that the machine's host took from the processors of a worker, at most; 0 if that is within the
    /// error of the kernel's count.
    #[serde(default)]
    pub stolen_ns: u64,
    /// Length of the measured part.
    pub measured_ns: u64,
    /// The largest share of the requests that can have been late for them.
    pub requests_share_max: f64,
    /// The most by which they can have moved the mean of a time.
    pub mean_moved_ns_max: u64,
    /// Figures of times that they can have moved: percentiles by name, and `max`. All others hold.
    pub moved: Vec<String>,
    /// Seconds of the run, from and to, in which a worker was stopped or kept from its processor: at most a
    /// hundred stretches.
    pub seconds: Vec<[f64; 2]>,
}

impl Disturbed {
    /// True if a percentile can have been moved.
    pub fn moves(&self, quantile: Quantile) -> bool {
        moves(self.requests_share_max, quantile)
    }

    /// In a sentence without its end.
    pub(crate) fn in_words(&self) -> String {
        let holds = QUANTILES.iter().rfind(|quantile| !self.moves(**quantile));
        let holds = holds.map_or_else(
            || "no percentile holds".to_owned(),
            |quantile| format!("percentiles up to the {quantile} hold"),
        );
        let moved = self.moved.iter().map(|name| match name.as_str() {
            "max" => "the maximum".to_owned(),
            name => format!("the {name}"),
        });
        let moved: Vec<String> = moved.collect();
        let moved = match &moved[..] {
            [only] => only.clone(),
            [others @ .., last] => format!("{} and {last}", others.join(", ")),
            [] => String::new(),
        };
        let lost = format!("{:.2} s of stalls", self.lost_ns as f64 / 1e9);
        let stolen = format!("{:.2} s that the machine's host took", self.stolen_ns as f64 / 1e9);
        let lost = match (self.lost_ns, self.stolen_ns) {
            (_, 0) => lost,
            (0, _) => stolen,
            _ => format!("{lost} and {stolen}"),
        };
        format!(
            "{lost} in {:.0} s made at most {:.2} % of the requests late: {holds}, {moved} may be farfield's own \
             time",
            self.measured_ns as f64 / 1e9,
            self.requests_share_max * 100.0,
        )
    }

    /// The largest share of the requests that can have been late for stalls alone.
    fn stalled_share_max(&self) -> f64 {
        late_share(self.lost_ns, self.measured_ns)
    }
}

/// True if requests that are late, a share of all, can move a percentile.
pub(crate) fn moves(late_share: f64, quantile: Quantile) -> bool {
    late_share > (1.0 - quantile.as_f64()) * BEYOND_MOST
}

/// The share of requests that are late for so much lost time: what was due in it, and as long again.
fn late_share(lost_ns: u64, measured_ns: u64) -> f64 {
    (2.0 * lost_ns as f64 / measured_ns as f64).min(1.0)
}

/// Effects of stalls on the run, if one is longer than the limit, and of the host, if it can have moved a
/// percentile.
pub fn disturbed(run: &RunView<'_>) -> Option<Disturbed> {
    let workers = &run.stats.workers;
    let longest = workers.iter().filter_map(|worker| worker.stall).max()?;
    let has_stalled = longest > run.context.limits.longest_stall;
    let lost = workers.iter().filter_map(|worker| Some(worker.stalled.max(worker.stall?))).max()?;
    let lost_ns = if has_stalled { lost.as_ns() } else { 0 };
    let measured_ns = run.fold.lasted(run.until).as_ns();
    let stolen_s = workers.iter().map(|worker| stolen_s(run, worker)).fold(0.0, f64::max);
    let stolen_ns = Duration::from_secs_f64(stolen_s).as_ns();
    let share = late_share(lost_ns + stolen_ns, measured_ns);
    if !has_stalled && !QUANTILES.iter().any(|quantile| moves(share, *quantile)) {
        return None;
    }
    let moved = QUANTILES.iter().filter(|quantile| moves(share, **quantile)).map(Quantile::to_string);
    let stretches = workers.iter().flat_map(|worker| run.disturbed(worker));
    let mut seconds: Vec<[f64; 2]> = stretches
        .map(|(from, length): (Instant, Duration)| [from.as_secs_f64(), (from + length).as_secs_f64()])
        .collect();
    seconds.sort_by(|one, other| one[0].total_cmp(&other[0]));
    seconds.truncate(SECONDS_MOST);
    Some(Disturbed {
        longest_ns: longest.as_ns(),
        lost_ns,
        stolen_ns,
        measured_ns,
        requests_share_max: share,
        mean_moved_ns_max: (share * longest.as_ns() as f64) as u64,
        moved: moved.chain(["max".to_owned()]).collect(),
        seconds,
    })
}

/// True if stalls can have moved a claim of the run: a percentile up to the p99, or a threshold's figure.
pub fn moves_a_claim(run: &RunView<'_>, disturbed: &Disturbed) -> bool {
    let thresholds = run.context.thresholds;
    let share = disturbed.stalled_share_max();
    CLAIMED.iter().any(|quantile| moves(share, *quantile))
        || thresholds.iter().any(|threshold| threshold.can_be_moved(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::fold::scene::{sample, window};
    use crate::summary::{LoadKind, SummaryContext};
    use crate::verdict::{VerdictLimits, scene};

    /// A worker was stopped for 145 ms in the third of four seconds, and before that in the second, which is
    /// set aside.
    #[test]
    fn what_is_set_aside_disturbed_nothing_that_is_left() {
        let (_, mut stats) = scene::good_run();
        let worker = &mut stats.workers[0];
        (worker.stall, worker.stalled) = (Some(Duration::from_ms(145)), Duration::from_ms(145));
        for tenth in [12, 13, 23, 24] {
            worker.disturbed.add(Instant::ZERO + Duration::from_ms(100 * tenth));
        }
        let mut fold = Fold::new(window(0, 4_000)).setting_aside(Some(Duration::from_secs(3)));
        fold.set_aside(1, 1);
        let (heading, limits) = (scene::heading(LoadKind::Open), VerdictLimits::default());
        let context =
            SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
        let until = fold.window().measure_to;
        // 300 requests in three seconds.
        for number in (0..400).filter(|number| !(100..200).contains(number)) {
            fold.record(&sample(number * 10_000_000, number * 10_000_000 + 1_000_000));
        }
        let run = RunView { context, fold: &fold, stats: &stats, until };
        let found = disturbed(&run).expect("a stall");
        assert_eq!((found.measured_ns, found.seconds), (3_000_000_000, vec![[2.3, 2.5]]));
        assert_eq!(run.rate(), Some(100.0), "as a rate to offer at most");
    }
}
