//! The memory of counts: H by the estimators that the pages show, and the variance of averages by scale.

use anyhow::Result;
use farfield_fit::series::hurst::{
    HurstEstimate, aggregated_variance, local_whittle, local_whittle_bandwidth, wavelet,
};
use farfield_fit::series::{aggregated, variance};
use farfield_report::chart::{Mark, Series};

/// H of one series by three estimators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// The paper's way: the variance of averages, from the series' own slots to sixteenths of it.
    pub aggregated: f64,
    /// Octaves from the fourth on; none of a series of fewer than 2,048 values.
    pub wavelet: Option<HurstEstimate>,
    /// The n^0.7 lowest frequencies.
    pub whittle: HurstEstimate,
}

impl Memory {
    /// Of a series of a few hundred values or more.
    pub fn of(series: &[f64]) -> Result<Memory> {
        Ok(Memory {
            aggregated: aggregated_variance(series, 1)?.hurst,
            wavelet: wavelet(series, 4).ok(),
            whittle: local_whittle(series, local_whittle_bandwidth(series.len()))?,
        })
    }

    /// True if the intervals of the two that have some meet.
    pub fn agree(&self) -> bool {
        match (self.wavelet.and_then(|estimate| estimate.interval()), self.whittle.interval()) {
            (Some(one), Some(other)) => one.0.max(other.0) <= one.1.min(other.1),
            _ => false,
        }
    }

    /// As three cells, with intervals.
    pub fn cells(&self) -> [String; 3] {
        let with_interval = |estimate: &HurstEstimate| match estimate.interval() {
            Some((low, high)) => format!("{:.2} ({low:.2} to {high:.2})", estimate.hurst),
            None => format!("{:.2}", estimate.hurst),
        };
        let wavelet = self.wavelet.as_ref().map_or_else(|| "–".to_owned(), with_interval);
        [format!("{:.2}", self.aggregated), wavelet, with_interval(&self.whittle)]
    }
}

/// The variance of averages over 1, 2, 4, … values, down to 16 averages, each with its scale in values.
pub fn variances(series: &[f64]) -> Vec<(usize, f64)> {
    let scales = std::iter::successors(Some(1usize), |scale| scale.checked_mul(2));
    let scales = scales.take_while(|scale| series.len() / scale >= 16);
    scales.map(|scale| (scale, variance(&aggregated(series, scale)))).collect()
}

/// The variances as a series of a chart: over the variance at the first scale, against seconds, for slots of
/// `slot_s`.
pub fn variance_curve(name: &str, series: &[f64], slot_s: f64) -> Series {
    let variances = variances(series);
    let first = variances.first().map_or(1.0, |first| first.1);
    let points = variances.iter().map(|(scale, variance)| (*scale as f64 * slot_s, variance / first));
    Series::new(name, Mark::Marked, points)
}

/// The line that a self-similar series with H has in such a figure, from 1 at `from_s` to `to_s`.
pub fn line_of(hurst: f64, from_s: f64, to_s: f64) -> Series {
    let at = |scale: f64| (scale, (scale / from_s).powf(2.0 * hurst - 2.0));
    Series::new(format!("H = {hurst}"), Mark::Dashes, vec![at(from_s), at(to_s)])
}

/// H between two scales: what the fall of the variance from `from` to `to` values says, if it were a power of
/// the scale.
pub fn hurst_between(variances: &[(usize, f64)], from: usize, to: usize) -> Option<f64> {
    let at = |scale| variances.iter().find(|found| found.0 == scale).map(|found| found.1.ln());
    let slope = (at(to)? - at(from)?) / (to as f64 / from as f64).ln();
    Some(1.0 + slope / 2.0)
}

/// The mean of numbers.
pub fn mean(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        numbers.into_iter().fold((0.0, 0.0), |(sum, count), number| (sum + number, count + 1.0));
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use farfield_fit::{Component, Family};
    use farfield_traffic::Distribution;

    fn noise(count: usize) -> Vec<f64> {
        let distribution: Distribution =
            Component::new(Family::Normal, [10.0, 1.0]).unwrap().distribution().unwrap();
        let mut rng = Seed(4).stream(Purpose::User, 0);
        (0..count).map(|_| distribution.sample(&mut rng)).collect()
    }

    #[test]
    fn independent_values_have_none() {
        let series = noise(1 << 14);
        let memory = Memory::of(&series).unwrap();
        assert!((memory.aggregated - 0.5).abs() < 0.05 && memory.agree(), "{memory:?}");
        let between = hurst_between(&variances(&series), 1, 64).unwrap();
        assert!((between - 0.5).abs() < 0.06, "{between}");
        assert_eq!(hurst_between(&variances(&series), 1, 3), None);
    }

    /// A series that repeats each value m times has averages over m values as variable as itself: H = 1 up to
    /// there.
    #[test]
    fn a_slow_series_has_memory() {
        let series: Vec<f64> = noise(2_000).into_iter().flat_map(|value| [value; 64]).collect();
        assert!(hurst_between(&variances(&series), 1, 64).unwrap() > 0.99);
        assert!(hurst_between(&variances(&series), 64, 4096).unwrap() < 0.62);
    }
}
