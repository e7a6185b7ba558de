//! The 95 % intervals of the measured part, from its samples by batch of time.
//!
//! docs/statistics.md says what they are. A run counts in batches and bins that are joined as it goes on;
//! here all samples are at hand, so the length of a batch and the width of a bin are found first, and a table
//! is filled once. What a run and this have in common is the definition: the incomplete beta function is
//! that of statrs and not farfield-measure's, whose intervals are recounted.

use super::expected::Expected;
use super::spectrum::{VALUES_MIN, rises_to_zero, variance_per_value};
use statrs::function::beta::beta_reg;
use std::collections::{BTreeMap, BTreeSet};

/// Batches at most.
const BATCHES: u64 = 256;
/// The shortest batch is two to this power nanoseconds.
const SHORTEST: u32 = 14;
/// Bins of times at most.
const BINS: usize = 128;
/// Bins of an octave at most.
const IN_OCTAVE: u64 = 256;
/// The last octave that has bins of its own.
const LAST_OCTAVE: u32 = 46;
/// The quantile at 97.5 % of Student's distribution with seven degrees of freedom.
const STUDENT: f64 = 2.364_624_251;
/// The quantile at 97.5 % of the normal distribution.
const NORMAL: f64 = 1.959_963_985;
/// Independent requests that must lie beyond a percentile.
const BEYOND: f64 = 20.0;
/// Independent requests that a mean needs.
const FOR_MEAN: f64 = 400.0;
/// Lengths of a session that a run must have, where sessions arrive.
const SESSIONS: f64 = 50.0;
/// Events that a rate needs.
const EVENTS: f64 = 20.0;
/// Numbers that are rounded to a rank, or to two digits, may fall on either side of it within this.
const ROUNDING: f64 = 1e-7;

/// The reason for which a number has no interval, and the length that would mend it in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoInterval {
    reason: &'static str,
    needs_ns: Option<f64>,
}

impl NoInterval {
    /// A reason alone.
    pub const fn because(reason: &'static str) -> NoInterval {
        NoInterval { reason, needs_ns: None }
    }

    /// The reason as the summary should have it.
    pub fn expected(self) -> Expected {
        let needs = self.needs_ns.map_or(Expected::Nothing, |ns| Expected::Between {
            low: up_to_two_digits(ns * (1.0 - ROUNDING)),
            high: up_to_two_digits(ns * (1.0 + ROUNDING)),
        });
        Expected::record([("reason", Expected::word(self.reason)), ("needs_ns", needs)])
    }
}

/// The least number of two digits and zeros that is not less.
fn up_to_two_digits(number: f64) -> f64 {
    let mut unit = 1.0;
    while number / unit > 100.0 {
        unit *= 10.0;
    }
    // Numbers below 10 keep a decimal.
    let unit = if number < 10.0 { 0.1 } else { unit };
    ((number / unit).ceil() * unit).round()
}

/// Division of the measured part into batches.
#[derive(Debug, Clone, Copy)]
pub struct Division {
    /// A batch is two to this power nanoseconds.
    bits: u32,
    lasted_ns: u64,
}

impl Division {
    /// The division of a part that lasted so long, in which the latest instant that counts is `latest_ns`
    /// after its beginning.
    pub fn of(lasted_ns: u64, latest_ns: u64) -> Division {
        let bits = (SHORTEST..64).find(|bits| latest_ns >> bits < BATCHES).unwrap_or(63);
        Division { bits, lasted_ns }
    }

    /// Batches that lie in the part as a whole.
    fn whole(self) -> usize {
        (self.lasted_ns >> self.bits).min(BATCHES) as usize
    }

    /// The number of events in each of these.
    pub fn counts(self, at_ns: impl Iterator<Item = u64>) -> Vec<f64> {
        let mut counts = vec![0.0; self.whole()];
        for at in at_ns {
            if let Some(count) = counts.get_mut((at >> self.bits) as usize) {
                *count += 1.0;
            }
        }
        counts
    }

    fn enough(self) -> Result<(), NoInterval> {
        if self.whole() < VALUES_MIN { Err(NoInterval::because("too-short")) } else { Ok(()) }
    }

    /// The variance of the sum of a series over the part, by the spectrum.
    fn variance(self, residuals: &[f64]) -> f64 {
        variance_per_value(residuals) * self.lasted_ns as f64 / (1_u64 << self.bits) as f64
    }

    /// The reason why a part has no intervals of times and rates that is shorter than 50 sessions, if it is.
    pub fn beside_sessions(self, session_ns: Option<u64>) -> Option<NoInterval> {
        let needs = SESSIONS * session_ns? as f64;
        let reason = NoInterval { reason: "too-few-sessions", needs_ns: Some(needs) };
        ((self.lasted_ns as f64) < needs).then_some(reason)
    }

    /// Too few of `count` events, which are worth `worth`.
    fn too_few(self, count: f64, worth: f64, least: f64) -> NoInterval {
        let reason = if count < least { "too-few" } else { "too-correlated" };
        NoInterval { reason, needs_ns: (worth > 0.0).then(|| self.lasted_ns as f64 * least / worth) }
    }

    /// The interval of a number of events a second, of which there were `all` in the part.
    pub fn rate(self, counts: &[f64], all: u64) -> Result<[f64; 2], NoInterval> {
        self.enough()?;
        let events = all as f64;
        if events < EVENTS {
            return Err(self.too_few(events, events, EVENTS));
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let residuals: Vec<f64> = counts.iter().map(|count| count - mean).collect();
        if rises_to_zero(&residuals) {
            return Err(NoInterval::because("too-correlated"));
        }
        let reach = STUDENT * self.variance(&residuals).sqrt();
        let seconds = self.lasted_ns as f64 / 1e9;
        Ok([(events - reach).max(0.0) / seconds, (events + reach) / seconds])
    }

    /// The interval of a share: counts by batch, and of all.
    pub fn share(self, failed: &[f64], due: &[f64], failures: u64, all: u64) -> Result<[f64; 2], NoInterval> {
        if all == 0 {
            return Err(NoInterval::because("too-few"));
        }
        let n = all as f64;
        let p = failures as f64 / n;
        let mut worth = n;
        if 0 < failures && failures < all {
            self.enough()?;
            let effect = self.variance(&residuals(failed, due)) / (n * p * (1.0 - p));
            let effect = if n * p.min(1.0 - p) / effect.max(1.0) < BEYOND { effect.max(1.0) } else { effect };
            worth = n / effect * (NORMAL / STUDENT) * (NORMAL / STUDENT);
        }
        let (yes, no) = (worth * p, worth * (1.0 - p));
        let low = if yes > 0.0 { beta_quantile(yes, no + 1.0, 0.025) } else { 0.0 };
        let high = if no > 0.0 { beta_quantile(yes + 1.0, no, 0.975) } else { 1.0 };
        Ok([low, high])
    }
}

/// The sum of parameters beyond which the beta distribution is approximated: its fraction would not converge.
const COUNTED: f64 = 1e6;

/// An end of the middle 95 % of the beta distribution, by halving; of parameters beyond a million by
/// Abramowitz and Stegun 1964, 26.5.22.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    if a + b > COUNTED && a > 1.0 && b > 1.0 {
        let y = if p < 0.5 { NORMAL } else { -NORMAL };
        let (of_a, of_b) = (1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0));
        let (h, lambda) = (2.0 / (of_a + of_b), (y * y - 3.0) / 6.0);
        let w = y * (h + lambda).sqrt() / h - (of_b - of_a) * (lambda + 5.0 / 6.0 - 2.0 / (3.0 * h));
        return a / (a + b * (2.0 * w).exp());
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if beta_reg(a, b, middle) < p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Residuals of the ratio of two sums.
fn residuals(above: &[f64], below: &[f64]) -> Vec<f64> {
    let all: f64 = below.iter().sum();
    let ratio = if all > 0.0 { above.iter().sum::<f64>() / all } else { 0.0 };
    above.iter().zip(below).map(|(above, below)| above - ratio * below).collect()
}

/// The bin of a time, of the finest.
fn finest(ns: u64) -> u64 {
    if ns < 256 {
        return 0;
    }
    let octave = (63 - ns.leading_zeros()).min(LAST_OCTAVE);
    // The eight bits below the highest; beyond the last octave its last bin.
    let within = (ns >> (octave - 8)).saturating_sub(IN_OCTAVE).min(IN_OCTAVE - 1);
    1 + u64::from(octave - 8) * IN_OCTAVE + within
}

/// The ranks of the times that enclose a percentile, each from one to another by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    pub low: [u64; 2],
    pub high: [u64; 2],
}

/// Times of one kind by batch and bin.
pub struct TimesByBatch {
    division: Division,
    /// Times in each bin, in order, and batch.
    bins: Vec<Vec<f64>>,
    /// Times up to the end of each bin, over all batches.
    up_to: Vec<u64>,
    /// Times in each batch.
    counts: Vec<f64>,
    /// Sum of the times in each batch.
    sums: Vec<f64>,
    n: f64,
    worth: f64,
}

impl TimesByBatch {
    /// Batches of times, each with its instant after the beginning of the part, in nanoseconds.
    pub fn of(division: Division, times: &[(u64, u64)]) -> Result<TimesByBatch, NoInterval> {
        division.enough()?;
        if times.is_empty() {
            return Err(NoInterval::because("too-few"));
        }
        let finest: Vec<u64> = times.iter().map(|(_, ns)| finest(*ns)).collect();
        let joined = |bin: u64, joins: u32| if bin == 0 { 0 } else { 1 + ((bin - 1) >> joins) };
        let distinct: BTreeSet<u64> = finest.iter().copied().collect();
        let bins_at =
            |joins: u32| distinct.iter().map(|bin| joined(*bin, joins)).collect::<BTreeSet<_>>().len();
        let joins = (0..16).find(|joins| bins_at(*joins) <= BINS).unwrap_or(16);
        let mut table: BTreeMap<u64, (u64, Vec<f64>)> = BTreeMap::new();
        let (mut counts, mut sums) = (vec![0.0; division.whole()], vec![0_u64; division.whole()]);
        for ((at, ns), bin) in times.iter().zip(finest) {
            let (all, row) =
                table.entry(joined(bin, joins)).or_insert_with(|| (0, vec![0.0; division.whole()]));
            *all += 1;
            let batch = (at >> division.bits) as usize;
            if batch < division.whole() {
                row[batch] += 1.0;
                counts[batch] += 1.0;
                sums[batch] = sums[batch].saturating_add(*ns);
            }
        }
        let mut all = 0;
        let up_to = table.values().map(|(count, _)| {
            all += count;
            all
        });
        let n = times.len() as f64;
        let mut own = TimesByBatch {
            division,
            up_to: up_to.collect(),
            bins: table.into_values().map(|(_, row)| row).collect(),
            counts,
            sums: sums.into_iter().map(|sum| sum as f64).collect(),
            n,
            worth: n,
        };
        if let Some((series, share)) = own.nearest(500_000_000) {
            let independent = n * share * (1.0 - share);
            own.worth = n * (independent / own.by_neighbours(&series).max(independent)).min(1.0);
        }
        Ok(own)
    }

    /// The variance of the sum if the series were autoregressive of first order.
    fn by_neighbours(&self, series: &[f64]) -> f64 {
        let squares: f64 = series.iter().map(|value| value * value).sum();
        if squares == 0.0 {
            return 0.0;
        }
        let products: f64 = series.iter().zip(&series[1..]).map(|(one, next)| one * next).sum();
        let correlation = (products / squares).clamp(0.0, 0.999);
        let batches = self.division.lasted_ns as f64 / (1_u64 << self.division.bits) as f64;
        squares / series.len() as f64 * (1.0 + correlation) / (1.0 - correlation) * batches
    }

    /// Residuals at the end of the bin nearest to a percentile, and the share of times up to there; `None`
    /// where all times lie in one bin.
    fn nearest(&self, per_billion: u64) -> Option<(Vec<f64>, f64)> {
        let bins = self.bins.len();
        if bins < 2 {
            return None;
        }
        let p = per_billion as f64 / 1e9;
        let rank = super::times::rank(per_billion, self.n as u64);
        let share = |bins: usize| if bins == 0 { 0.0 } else { self.up_to[bins - 1] as f64 / self.n };
        let holds = self.up_to.iter().position(|count| *count >= rank).unwrap_or(bins - 1);
        let is_below = (share(holds) - p).abs() < (share(holds + 1) - p).abs();
        let ends = (if is_below { holds } else { holds + 1 }).clamp(1, bins - 1);
        let mut below = vec![0.0; self.counts.len()];
        for row in &self.bins[..ends] {
            below.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        Some((residuals(&below, &self.counts), share(ends)))
    }

    /// The ranks that enclose a percentile.
    pub fn ranks(&self, per_billion: u64) -> Result<Ranks, NoInterval> {
        let (p, n) = (per_billion as f64 / 1e9, self.n);
        let beyond = p.min(1.0 - p);
        if beyond <= 0.0 {
            return Err(NoInterval::because("too-few"));
        }
        if self.worth * beyond < BEYOND {
            return Err(self.division.too_few(n * beyond, self.worth * beyond, BEYOND));
        }
        let Some((series, share)) = self.nearest(per_billion) else {
            return Ok(Ranks { low: [1, 1], high: [n as u64, n as u64] });
        };
        let effect = self.division.variance(&series) / (n * share * (1.0 - share));
        let reach = STUDENT * (effect * p * (1.0 - p) / n).sqrt();
        // On the scale of the log odds.
        let moved = |by: f64| {
            let odds = p / (1.0 - p) * by.exp();
            odds / (1.0 + odds) * n
        };
        let by = reach / (p * (1.0 - p));
        let slack = ROUNDING * n.max(1.0);
        let low = if ((p - reach) * n).floor() >= 1.0 { (p - reach) * n } else { moved(-by) };
        let high = if ((p + reach) * n).ceil() <= n { (p + reach) * n } else { moved(by) };
        let at_least_one = |rank: f64| rank.floor().clamp(1.0, n) as u64;
        let at_most_all = |rank: f64| rank.ceil().clamp(1.0, n) as u64;
        Ok(Ranks {
            low: [at_least_one(low - slack), at_least_one(low + slack)],
            high: [at_most_all(high - slack), at_most_all(high + slack)],
        })
    }

    /// The ends of the interval of the mean as factors of it.
    pub fn mean_factors(&self) -> Result<[f64; 2], NoInterval> {
        if self.worth < FOR_MEAN {
            return Err(self.division.too_few(self.n, self.worth, FOR_MEAN));
        }
        let mean = self.sums.iter().sum::<f64>() / self.counts.iter().sum::<f64>();
        if mean * self.n <= 0.0 {
            return Ok([1.0, 1.0]);
        }
        let deviation = self.division.variance(&residuals(&self.sums, &self.counts)).sqrt();
        let factor = (STUDENT * deviation / (mean * self.n)).exp();
        Ok([1.0 / factor, factor])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_kept_upwards() {
        let cases = [(1_234.0, 1_300.0), (1_300.0, 1_300.0), (99.5, 100.0), (12.0, 12.0), (1e9, 1e9)];
        for (number, rounded) in cases {
            assert!((up_to_two_digits(number) - rounded).abs() < 1e-6, "{number}");
        }
    }

    /// A beta distribution with parameters 1 and 1 is uniform, and the largest of n uniform numbers is beta
    /// with n and 1.
    #[test]
    fn quantiles_of_known_distributions_are_found() {
        assert!((beta_quantile(1.0, 1.0, 0.025) - 0.025).abs() < 1e-12);
        assert!((beta_quantile(10.0, 1.0, 0.5) - 0.5_f64.powf(0.1)).abs() < 1e-12);
    }

    #[test]
    fn bins_are_eight_bits_of_an_octave() {
        assert_eq!([0, 255, 256, 257, 511, 512, 513, 514].map(finest), [0, 0, 1, 2, 256, 257, 257, 258]);
        assert_eq!(finest(u64::MAX), finest((1 << 47) - 1));
    }
}
