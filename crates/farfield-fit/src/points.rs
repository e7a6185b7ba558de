//! The values that a distribution is fitted to: sorted, each distinct one once, with its count.
//!
//! Logs round: a clock of one second and counts of clicks give a million values of which a few hundred
//! differ. Keeping each once makes likelihoods and statistics as fast as that allows, and exact.

use crate::observation::Observation;
use farfield_base::random::Stream;
use farfield_traffic::distribution::{Component, Model};
use rand::RngExt;

/// Values to be fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    pub(crate) values: Vec<f64>,
    pub(crate) logs: Vec<f64>,
    pub(crate) counts: Vec<f64>,
    /// Number of values, repeated ones counted each time.
    pub(crate) n: f64,
    pub(crate) observation: Observation,
}

/// Error of values that cannot be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PointsError {
    /// Too few distinct values.
    #[error(
        "{distinct} distinct values are too few for a distribution; it takes at least {}",
        Points::DISTINCT_MIN
    )]
    TooFew {
        /// Number of distinct values.
        distinct: usize,
    },
    /// Not a number, or infinite.
    #[error("value {at} is {value}; give finite numbers only")]
    NotFinite {
        /// Index of the value, from 0.
        at: usize,
        /// The value.
        value: f64,
    },
}

impl Points {
    /// Fewer distinct values than this are no material for a distribution of two parameters.
    pub const DISTINCT_MIN: usize = 3;

    /// Points of values in any order, taken as exact.
    ///
    /// # Errors
    /// Fewer than [`Points::DISTINCT_MIN`] distinct values, or one that is not finite.
    pub fn new(values: Vec<f64>) -> Result<Points, PointsError> {
        Points::with_tick(values, 0.0)
    }

    /// Points of values that were rounded to a multiple of `tick`, at least one of them (1 for counts); 0
    /// means that they are exact. Likelihood and goodness of fit then compare rounded with rounded.
    ///
    /// # Errors
    /// As [`Points::new`].
    pub fn with_tick(values: Vec<f64>, tick: f64) -> Result<Points, PointsError> {
        Points::observed(values, Observation { least: tick, ..Observation::rounded(tick) })
    }

    /// Points of values observed as given.
    ///
    /// # Errors
    /// As [`Points::new`].
    pub fn observed(mut values: Vec<f64>, observation: Observation) -> Result<Points, PointsError> {
        if let Some((at, value)) = values.iter().copied().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(PointsError::NotFinite { at, value });
        }
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as f64;
        let mut counts = Vec::new();
        let mut distinct: Vec<f64> = Vec::new();
        for value in values {
            if distinct.last() == Some(&value) {
                *counts.last_mut().expect("one for each distinct value") += 1.0;
            } else {
                distinct.push(value);
                counts.push(1.0);
            }
        }
        if distinct.len() < Points::DISTINCT_MIN {
            return Err(PointsError::TooFew { distinct: distinct.len() });
        }
        let multiple = |v: &f64| (v / observation.tick - (v / observation.tick).round()).abs() < 1e-6;
        let on_grid = observation.tick == 0.0 || distinct.iter().all(multiple);
        let logs = distinct.iter().map(|v| observation.ln(*v)).collect();
        Ok(Points { values: distinct, logs, counts, n, observation: Observation { on_grid, ..observation } })
    }

    /// Values that lie from `least` to `most`, as if no others could be seen; `None` if they are too few.
    #[cfg(feature = "logs")]
    pub(crate) fn seen_between(&self, least: f64, most: f64) -> Option<Points> {
        let inside = self.values.partition_point(|v| *v < least)..self.values.partition_point(|v| *v <= most);
        let counts = self.counts[inside.clone()].to_vec();
        let seen = Points {
            n: counts.iter().sum(),
            counts,
            values: self.values[inside.clone()].to_vec(),
            logs: self.logs[inside].to_vec(),
            observation: self.observation.cut(least, most),
        };
        (seen.values.len() >= Points::DISTINCT_MIN).then_some(seen)
    }

    /// The values with near ones joined into their mean: no value is further from it than about a part in
    /// `parts` of its distance from zero and from the median (or half of the quartiles' distance, near that).
    /// Their number no longer grows with the log's, and what is lost of the likelihood is of the square of
    /// that part.
    pub(crate) fn condensed(&self, parts: f64) -> Points {
        let (low, middle, high) = (self.quantile(0.25), self.quantile(0.5), self.quantile(0.75));
        let or_else = |spread: f64, other: f64| if spread > 0.0 { spread } else { other };
        let spread = or_else((high - low) / 2.0, self.deviation());
        let least = if self.observation.is_grouped() {
            self.observation.tick * 0.999
        } else {
            self.observation.tick / 8.0
        };
        let mut joined = Points { values: Vec::new(), logs: Vec::new(), counts: Vec::new(), ..self.clone() };
        let mut end = f64::NEG_INFINITY;
        for (at, value) in self.values.iter().enumerate() {
            let count = self.counts[at];
            match joined.counts.last_mut() {
                Some(counts) if *value < end => {
                    *counts += count;
                    let share = count / *counts;
                    let last = joined.values.len() - 1;
                    joined.values[last] += share * (value - joined.values[last]);
                    joined.logs[last] += share * (self.logs[at] - joined.logs[last]);
                }
                _ => {
                    let wide = value.abs().min((value - middle).abs().max(spread)) / parts;
                    end = value + wide.max(least);
                    joined.values.push(*value);
                    joined.logs.push(self.logs[at]);
                    joined.counts.push(count);
                }
            }
        }
        joined
    }

    /// The logarithm of the likelihood of `model` given these values as they were observed: of the
    /// probabilities of what was rounded, of the densities of what is exact, and among what lies between the
    /// thresholds where there are any.
    pub fn ln_likelihood(&self, model: &Model) -> f64 {
        let observation = self.observation;
        let weighted = |of: &dyn Fn(&Component) -> f64| -> f64 {
            model.parts().iter().map(|(weight, part)| weight * of(part)).sum()
        };
        let seen = match observation.between {
            None => 0.0,
            Some(_) => weighted(&|part| observation.seen(part)).ln(),
        };
        let mut all = vec![f64::NEG_INFINITY; self.values.len()];
        for (weight, part) in model.parts() {
            let ln_weight = weight.ln();
            observation.ln_each(part, &self.values, &self.logs, |at, own| {
                let (own, other) = (ln_weight + own, all[at]);
                let (most, least) = if own > other { (own, other) } else { (other, own) };
                all[at] = if least == f64::NEG_INFINITY { most } else { most + (least - most).exp().ln_1p() };
            });
        }
        all.iter().zip(&self.counts).map(|(ln, count)| count * (ln - seen)).sum()
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.n as u64
    }

    /// The multiple that values were rounded to; 0 if they are exact.
    pub fn tick(&self) -> f64 {
        self.observation.tick
    }

    /// Observation of the values.
    pub fn observation(&self) -> Observation {
        self.observation
    }

    /// The least value.
    pub fn least(&self) -> f64 {
        self.values[0]
    }

    /// The largest value.
    pub fn largest(&self) -> f64 {
        self.values[self.values.len() - 1]
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.weighted(|x| x) / self.n
    }

    /// The standard deviation, with n in the denominator.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        (self.weighted(|x| (x - mean) * (x - mean)) / self.n).sqrt()
    }

    /// The share of values that equal another one.
    pub fn tied_share(&self) -> f64 {
        self.counts.iter().filter(|c| **c > 1.0).sum::<f64>() / self.n
    }

    /// The least value that at least the share `p` of the values do not exceed.
    pub fn quantile(&self, p: f64) -> f64 {
        let mut seen = 0.0;
        for (value, count) in self.values.iter().zip(&self.counts) {
            seen += count;
            if seen >= p * self.n {
                return *value;
            }
        }
        self.largest()
    }

    /// The share of the values that are above `value`.
    pub fn share_above(&self, value: f64) -> f64 {
        let first = self.values.partition_point(|v| *v <= value);
        self.counts[first..].iter().sum::<f64>() / self.n
    }

    /// `size` of the values, drawn with repetition, or all if there are no more than that.
    pub fn drawn(&self, size: usize, rng: &mut Stream) -> Points {
        if self.n <= size as f64 {
            return self.clone();
        }
        let cumulative = self.cumulative();
        let values = (0..size).map(|_| self.draw(&cumulative, rng)).collect();
        Points::observed(values, self.observation).unwrap_or_else(|_| self.clone())
    }

    /// Number of values up to each distinct one.
    pub(crate) fn cumulative(&self) -> Vec<f64> {
        self.counts
            .iter()
            .scan(0.0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect()
    }

    /// A value drawn by the [`cumulative`](Points::cumulative) counts.
    fn draw(&self, cumulative: &[f64], rng: &mut Stream) -> f64 {
        self.values[self.draw_place(cumulative, rng)]
    }

    /// Index of one of the values.
    pub(crate) fn draw_place(&self, cumulative: &[f64], rng: &mut Stream) -> usize {
        let at = rng.random::<f64>() * self.n;
        cumulative.partition_point(|up_to| *up_to <= at).min(self.values.len() - 1)
    }

    fn weighted(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.values.iter().zip(&self.counts).map(|(value, count)| count * of(*value)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_kept_once() {
        let points = Points::new(vec![2.0, 1.0, 2.0, 5.0]).expect("three distinct values");
        assert_eq!(
            (points.values.as_slice(), points.counts.as_slice()),
            (&[1.0, 2.0, 5.0][..], &[1.0, 2.0, 1.0][..])
        );
        assert_eq!((points.count(), points.mean(), points.tied_share()), (4, 2.5, 0.5));
        assert_eq!((points.quantile(0.25), points.quantile(0.5), points.quantile(1.0)), (1.0, 2.0, 5.0));
    }

    #[test]
    fn refuses_what_is_no_sample() {
        assert_eq!(Points::new(vec![1.0; 9]), Err(PointsError::TooFew { distinct: 1 }));
        assert!(matches!(Points::new(vec![0.0, f64::NAN]), Err(PointsError::NotFinite { at: 1, .. })));
    }
}
