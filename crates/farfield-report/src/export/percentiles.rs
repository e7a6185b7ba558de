//! The percentiles of a histogram as HdrHistogram's tools print and plot them (`.hgrm`): value, percentile,
//! count up to it, and 1/(1 - percentile), with half the distance to 100 % in five steps.

use farfield_measure::hlog::Interval;
use std::fmt::Write;

/// Steps to half of the remaining distance, as in HdrHistogram's own output.
const TICKS: u32 = 5;
const NS_PER_MS: f64 = 1e6;

/// The percentiles of `interval`, values in milliseconds.
pub fn render(interval: &Interval) -> String {
    let bins = &interval.bins;
    let mut text =
        format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut up_to = 0;
    if !bins.is_empty() {
        for step in bins.iter_quantiles(TICKS) {
            up_to += step.count_since_last_iteration();
            let (value, quantile) =
                (step.value_iterated_to() as f64 / NS_PER_MS, step.quantile_iterated_to());
            let _ = match quantile < 1.0 {
                true => {
                    let odds = 1.0 / (1.0 - quantile);
                    writeln!(text, "{value:>12.6} {quantile:.12} {up_to:>10} {odds:>14.2}")
                }
                false => writeln!(text, "{value:>12.6} {quantile:.12} {up_to:>10}"),
            };
        }
    }
    let (mean, sd) = (bins.mean() / NS_PER_MS, bins.stdev() / NS_PER_MS);
    let max = bins.max() as f64 / NS_PER_MS;
    // The least power of two that resolves twice the significant figures.
    let sub_buckets = (2 * 10_u64.pow(bins.sigfig().into())).next_power_of_two();
    let _ = writeln!(text, "#[Mean    = {mean:>12.6}, StdDeviation   = {sd:>12.6}]");
    let _ = writeln!(text, "#[Max     = {max:>12.6}, Total count    = {:>12}]", bins.len());
    let _ = writeln!(text, "#[Buckets = {:>12}, SubBuckets     = {sub_buckets:>12}]", bins.buckets());
    text
}
