//! Warning about when requests failed: stretches in which every request failed, or an instant at which the
//! share of errors changed. It is no check.
//!
//! An error share over the whole run does not say whether the server failed throughout or was gone for the
//! second half. Requests are counted in tenths of a second by their end ([`OutcomeTimes`]), over the measured
//! part.
//!
//! - A stretch without any success is reported from 300 ms and ten median response times on, if as many
//!   failures in a row are no chance: at the share of errors that the rest of the run has, fewer than one in
//!   10,000 runs would have such a row.
//! - Without one, the stretch whose share of errors differs most from the rest's is found by the likelihood
//!   ratio of two binomial shares against one: Hinkley and Hinkley 1970 (Biometrika 57) for a change for
//!   good, Levin and Kline 1985 (Statistics in Medicine 4) for one that ends again. Errors come in bursts;
//!   so the ratio is divided by their dispersion (Pearson's χ² over its degrees of freedom), and held
//!   against the χ² quantile of 1 in 10,000, over all stretches that were tried (Bonferroni). A change that
//!   is found but small, by less than a hundredth or a factor of two in the odds, is not reported.

use crate::fold::Fold;
use crate::outcome_times::OutcomeTimes;
use crate::quantile::Quantile;
use farfield_base::{Duration, Instant, Outcome};
use std::ops::Range;

/// A shorter stretch is never reported.
pub(crate) const LEAST: Duration = Duration::from_ms(300);
/// A stretch without a success is longer than this many median response times: a slow server succeeds at
/// intervals.
const MEDIANS: u64 = 10;
/// Probability of a false warning.
const CHANCE: f64 = 1e-4;
/// Groups of cells among which a change of the share is looked for before its cells are.
const GROUPS: usize = 360;
/// Least difference of two shares that is reported.
const DIFFERENCE: f64 = 0.01;
/// Least ratio of their odds.
const ODDS: f64 = 2.0;
/// A change from or to fewer requests is not reported.
const REQUESTS: u64 = 20;

/// Requests that ended in a cell of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// With success.
    pub good: u64,
    /// Without.
    pub bad: u64,
}

/// The warning about a run that has come to `until`. `judged`: failures up to the end of the load are
/// judged elsewhere.
pub(crate) fn warning(fold: &Fold, until: Instant, judged: bool) -> Option<String> {
    let (times, window) = (fold.outcome_times(), fold.window());
    let over = times.cells_before(until.min(window.measure_to));
    let ends = ends(times, |outcome| outcome == Outcome::Ok, |outcome| outcome != Outcome::Ok, over);
    let measured = times.cells_before(window.measure_from).min(ends.len());
    let median = fold.steady().times.response.quantile(Quantile::P50).unwrap_or(Duration::ZERO);
    let least = LEAST.max(Duration::from_ns(median.as_ns().saturating_mul(MEDIANS)));
    let mut outages = outages(&ends, cells_of(times, least));
    outages.retain(|outage| outage.end > measured);
    if outages.is_empty() {
        return change_in_words(times, &ends, measured);
    }
    if judged && outages.last().is_some_and(|last| !succeeds_after(&ends, last.end)) {
        outages.pop();
    }
    outage_in_words(times, &outages, &ends)
}

/// Ended requests by cell, up to `cells`.
pub(crate) fn ends(
    times: &OutcomeTimes,
    good: impl Fn(Outcome) -> bool,
    bad: impl Fn(Outcome) -> bool,
    cells: usize,
) -> Vec<Ends> {
    let (good, bad) = (times.sum(good, cells), times.sum(bad, cells));
    good.into_iter().zip(bad).map(|(good, bad)| Ends { good, bad }).collect()
}

/// Number of cells in `time`, rounded up.
fn cells_of(times: &OutcomeTimes, time: Duration) -> usize {
    time.as_ns().div_ceil(times.cell().as_ns()) as usize
}

fn total(ends: &[Ends]) -> Ends {
    ends.iter()
        .fold(Ends::default(), |sum, cell| Ends { good: sum.good + cell.good, bad: sum.bad + cell.bad })
}

fn succeeds_after(ends: &[Ends], cell: usize) -> bool {
    ends[cell..].iter().any(|cell| cell.good > 0)
}

/// The stretches of at least `least` cells in which requests ended and none with success, if no chance made
/// them. Each begins and ends with a cell that has a failure.
pub(crate) fn outages(ends: &[Ends], least: usize) -> Vec<Range<usize>> {
    let all = total(ends);
    let mut found = Vec::new();
    let mut begun: Option<Range<usize>> = None;
    let end = Ends { good: 1, bad: 0 };
    for (cell, counts) in ends.iter().chain([&end]).enumerate() {
        if counts.good == 0 {
            if counts.bad > 0 {
                begun = Some(begun.map_or(cell, |stretch| stretch.start)..cell + 1);
            }
            continue;
        }
        let Some(stretch) = begun.take() else { continue };
        let failed = total(&ends[stretch.clone()]).bad;
        let rest = Ends { good: all.good, bad: all.bad - failed };
        if stretch.len() >= least && is_no_chance(failed, rest) {
            found.push(stretch);
        }
    }
    found
}

/// True if `failed` failures in a row are no accident, beside the `rest` of the requests.
pub(crate) fn is_no_chance(failed: u64, rest: Ends) -> bool {
    let requests = (rest.good + rest.bad) as f64;
    // Laplace's estimate, which is below 1 even if nothing but failures is known.
    let share = (rest.bad as f64 + 1.0) / (requests + 2.0);
    rest.good > 0 && failed as f64 * share.ln() + (requests + 1.0).ln() <= CHANCE.ln()
}

/// The sentence about the longest outage, and how many more there were.
fn outage_in_words(times: &OutcomeTimes, outages: &[Range<usize>], ends: &[Ends]) -> Option<String> {
    let longest = outages.iter().max_by_key(|outage| (outage.len(), std::cmp::Reverse(outage.start)))?;
    let when = match (succeeds_before(ends, longest.start), succeeds_after(ends, longest.end)) {
        (true, false) => format!("from second {} on", second(times, longest.start)),
        (false, _) => format!("until second {}", second(times, longest.end)),
        (true, true) => {
            format!("between second {} and {}", second(times, longest.start), second(times, longest.end))
        }
    };
    let named = named(times, longest.clone());
    let others = match outages.len() - 1 {
        0 => String::new(),
        others => {
            let cells: usize = outages.iter().map(ExactSizeIterator::len).sum();
            let all = cells as f64 * times.cell().as_secs_f64();
            format!("; {others} more such stretches make it {all:.1} s in all")
        }
    };
    Some(format!(
        "every request failed {when} ({named}){others}: the percentiles are of the other time, and the server's log may say \
         what happened"
    ))
}

fn succeeds_before(ends: &[Ends], cell: usize) -> bool {
    ends[..cell].iter().any(|cell| cell.good > 0)
}

/// The instant at which a cell begins, in seconds.
fn second(times: &OutcomeTimes, cell: usize) -> String {
    format!("{:.1}", times.begin(cell).since(Instant::ZERO).as_secs_f64())
}

/// The most frequent failure in a stretch, by name.
pub(crate) fn named(times: &OutcomeTimes, stretch: Range<usize>) -> String {
    let count = |outcome: Outcome| -> u64 {
        let counts = times.of(outcome).iter();
        counts.skip(stretch.start).take(stretch.len()).map(|count| u64::from(*count)).sum()
    };
    let failures = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok);
    let counted: Vec<(Outcome, u64)> = failures.map(|outcome| (outcome, count(outcome))).collect();
    let all: u64 = counted.iter().map(|(_, count)| count).sum();
    let most = counted.into_iter().max_by_key(|(outcome, count)| (*count, std::cmp::Reverse(outcome.code())));
    match most {
        Some((outcome, count)) if count * 10 >= all * 9 => outcome.name().to_owned(),
        Some((outcome, _)) => format!("mostly {}", outcome.name()),
        None => unreachable!("there are outcomes"),
    }
}

/// A stretch whose share of errors differs from the rest's.
#[derive(Debug, Clone, PartialEq)]
struct ErrorStretch {
    stretch: Range<usize>,
    inside: Ends,
    outside: Ends,
}

/// The sentence about the largest change of the error share in the cells from `from` on.
fn change_in_words(times: &OutcomeTimes, ends: &[Ends], from: usize) -> Option<String> {
    let ErrorStretch { stretch, inside, outside } = change(ends, from, cells_of(times, LEAST))?;
    let (begins, ended) = (second(times, stretch.start), second(times, stretch.end));
    let is_more_inside = inside.share() > outside.share();
    let more: Range<usize> = match (is_more_inside, stretch.start == from) {
        (true, _) => stretch.clone(),
        (false, true) => stretch.end..ends.len(),
        (false, false) if stretch.end == ends.len() => from..stretch.start,
        (false, false) => from..ends.len(),
    };
    let named = named(times, more);
    let text = if stretch.start == from {
        change_for_good(inside, outside, &ended, &named)
    } else if stretch.end == ends.len() {
        change_for_good(outside, inside, &begins, &named)
    } else {
        let [inside, outside] = [inside, outside].map(|ends| percent(ends.share()));
        format!("errors were {inside} between second {begins} and {ended} and {outside} otherwise ({named})")
    };
    Some(format!("{text}: the server, its machine or the load changed then, and the error share mixes both"))
}

fn change_for_good(before: Ends, after: Ends, second: &str, named: &str) -> String {
    let verb = if after.share() > before.share() { "rose" } else { "fell" };
    let [before, after] = [before, after].map(|ends| percent(ends.share()));
    format!("errors {verb} from {before} to {after} at second {second} ({named})")
}

/// "40 %", "0.12 %".
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        10.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

impl Ends {
    fn requests(self) -> u64 {
        self.good + self.bad
    }

    fn share(self) -> f64 {
        self.bad as f64 / self.requests().max(1) as f64
    }

    fn less(self, other: Ends) -> Ends {
        Ends { good: self.good - other.good, bad: self.bad - other.bad }
    }

    /// Largest log likelihood of a binomial share.
    fn log_likelihood(self) -> f64 {
        let requests = self.requests() as f64;
        let part = |count: u64| if count == 0 { 0.0 } else { count as f64 * (count as f64 / requests).ln() };
        part(self.good) + part(self.bad)
    }
}

/// The change of the share of errors in the cells from `from` on, if there is one.
fn change(ends: &[Ends], from: usize, least: usize) -> Option<ErrorStretch> {
    let cells = ends.get(from..)?;
    let all = total(cells);
    if all.bad == 0 || all.good == 0 || cells.len() < 2 * least {
        return None;
    }
    let together = cells.len().div_ceil(GROUPS).max(1);
    let grouped: Vec<Ends> = cells.chunks(together).map(total).collect();
    let coarse = best(&Sums::of(&grouped), all, least.div_ceil(together), |_| true)?;
    // Each edge lies within a group of where it was found.
    let sums = Sums::of(cells);
    let near = |cell: usize, group: usize| cell.abs_diff(group * together) <= together;
    let edge = |cell: usize, group: usize| match group {
        0 => cell == 0,
        group if group == grouped.len() => cell == cells.len(),
        group => near(cell, group),
    };
    let fine = match together {
        1 => coarse,
        _ => refined(&sums, all, least, &coarse, edge)?,
    };
    let inside = sums.between(&fine);
    let outside = all.less(inside);
    let ratio = likelihood_ratio(inside, all);
    let tried = (grouped.len() * (grouped.len() + 1) / 2) as f64;
    let group = fine.start / together..fine.end.div_ceil(together).min(grouped.len());
    let clear = ratio / dispersion(&grouped, &group, inside, outside) >= 2.0 * (tried / CHANCE).ln();
    let stretch = fine.start + from..fine.end + from;
    (clear && is_large(inside, outside)).then_some(ErrorStretch { stretch, inside, outside })
}

/// Counts up to each cell.
struct Sums(Vec<Ends>);

impl Sums {
    fn of(cells: &[Ends]) -> Sums {
        let sums = cells.iter().scan(Ends::default(), |sum, cell| {
            *sum = Ends { good: sum.good + cell.good, bad: sum.bad + cell.bad };
            Some(*sum)
        });
        Sums([Ends::default()].into_iter().chain(sums).collect())
    }

    fn between(&self, cells: &Range<usize>) -> Ends {
        self.0[cells.end].less(self.0[cells.start])
    }

    fn cells(&self) -> usize {
        self.0.len() - 1
    }
}

/// The stretch of at least `least` cells, and at least so many beside it, that differs most from the rest.
fn best(sums: &Sums, all: Ends, least: usize, may: impl Fn(&Range<usize>) -> bool) -> Option<Range<usize>> {
    let cells = sums.cells();
    let stretches = (0..cells).flat_map(|start| (start + least.max(1)..=cells).map(move |end| start..end));
    let stretches = stretches.filter(|stretch| cells - stretch.len() >= least && may(stretch));
    most_likely(sums, all, stretches)
}

/// The best stretch whose edges lie near those of `coarse`.
fn refined(
    sums: &Sums,
    all: Ends,
    least: usize,
    coarse: &Range<usize>,
    near: impl Fn(usize, usize) -> bool,
) -> Option<Range<usize>> {
    let cells = sums.cells();
    let starts: Vec<usize> = (0..=cells).filter(|cell| near(*cell, coarse.start)).collect();
    let ends: Vec<usize> = (0..=cells).filter(|cell| near(*cell, coarse.end)).collect();
    let stretches = starts.iter().flat_map(|start| ends.iter().map(move |end| *start..*end));
    let stretches = stretches.filter(|stretch| stretch.start + least <= stretch.end);
    most_likely(sums, all, stretches.filter(|stretch| cells - stretch.len() >= least))
}

fn most_likely(
    sums: &Sums,
    all: Ends,
    stretches: impl Iterator<Item = Range<usize>>,
) -> Option<Range<usize>> {
    let ratio = |stretch: &Range<usize>| {
        let inside = sums.between(stretch);
        let few = inside.requests().min(all.less(inside).requests()) < REQUESTS;
        (!few).then(|| likelihood_ratio(inside, all))
    };
    let rated = stretches.filter_map(|stretch| Some((ratio(&stretch)?, stretch)));
    rated.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, stretch)| stretch)
}

/// Twice the log of the likelihood ratio of two shares against one.
fn likelihood_ratio(inside: Ends, all: Ends) -> f64 {
    2.0 * (inside.log_likelihood() + all.less(inside).log_likelihood() - all.log_likelihood())
}

/// Pearson's χ² over its degrees of freedom, of the groups in the stretch against their share, or of those
/// beside it, whichever is larger; at least 1. So a stretch that is no unit, such as one with a shorter
/// outage in it, is found out. Errors that last longer than a group correlate groups: twice to eight times
/// as long ones count too, where there are enough.
fn dispersion(groups: &[Ends], stretch: &Range<usize>, inside: Ends, outside: Ends) -> f64 {
    const ENOUGH: usize = 4;
    let (before, after) = (&groups[..stretch.start], &groups[stretch.end..]);
    let sides = [(vec![&groups[stretch.clone()]], inside.share()), (vec![before, after], outside.share())];
    let mut largest = 1.0_f64;
    for (parts, share) in sides {
        for together in [1, 2, 4, 8] {
            let joined = parts.iter().flat_map(|part| part.chunks(together).map(total));
            let joined: Vec<Ends> = joined.filter(|ends| ends.requests() > 0).collect();
            if together == 1 || joined.len() >= ENOUGH {
                largest = largest.max(dispersion_of(&joined, share));
            }
        }
    }
    largest
}

fn dispersion_of(groups: &[Ends], share: f64) -> f64 {
    let term = |group: &Ends| {
        let requests = group.requests() as f64;
        let variance = requests * share * (1.0 - share);
        if variance > 0.0 { (group.bad as f64 - requests * share).powi(2) / variance } else { 0.0 }
    };
    groups.iter().map(term).sum::<f64>() / (groups.len() as f64 - 1.0).max(1.0)
}

fn is_large(inside: Ends, outside: Ends) -> bool {
    let (small, large) = match (inside.share(), outside.share()) {
        (one, other) if one < other => (one, other),
        (one, other) => (other, one),
    };
    large - small >= DIFFERENCE && large * (1.0 - small) >= ODDS * small * (1.0 - large)
}

#[cfg(test)]
mod tests;
