//! Response time beside service time, as shares on a linear and on a logarithmic axis, and by percentiles as
//! HdrHistogram plots them.

use super::{missing, opened};
use crate::chart::{Axis, Chart, Mark, Series, Spacing};
use crate::directory::RunDirectory;
use crate::export::HISTOGRAMS_FILE;
use farfield_measure::hlog::{self, Interval};
use std::io::Read;

/// Steps to half of the remaining distance to 100 %.
const TICKS: u32 = 10;
const LOG_BYTES_MAX: u64 = 1 << 30;

pub(super) fn charts(page: &mut String, run: &RunDirectory) {
    page.push_str(
        "<h2>Distributions</h2>\n<p>Response time counts from when a request was due, service time from when \
         it was sent; where they part, requests waited to be sent. Successful requests of the measured part.</p>\n",
    );
    let intervals = match read(run) {
        Ok(intervals) => intervals,
        Err(why) => return missing(page, &why),
    };
    let times: Vec<&Interval> = ["response", "service", "connect", "first-event", "event-gap"]
        .iter()
        .filter_map(|time| intervals.iter().find(|interval| interval.tag == format!("steady.{time}")))
        .filter(|interval| !interval.bins.is_empty())
        .collect();
    if times.is_empty() {
        return missing(page, &format!("{HISTOGRAMS_FILE} has no times of the measured part"));
    }
    page.push_str("<div class=\"pair\">\n");
    let axes = [
        ("Share of requests within a time, to p99.9", Axis::linear("milliseconds"), 0.999),
        ("Share of requests within a time, logarithmic", Axis::logarithmic("milliseconds"), 1.0),
    ];
    for (title, axis, to) in axes {
        let lines = times.iter().map(|time| Series::new(name(time), Mark::Line, shares(time, to))).collect();
        let up = Axis { label: "share".to_owned(), spacing: Spacing::FromZero };
        page.push_str(&Chart::new(title, axis, up, lines).html());
    }
    let lines = times.iter().map(|time| Series::new(name(time), Mark::Line, by_percentile(time))).collect();
    let across = Axis::logarithmic("1/(1 - percentile): 10 is p90, 100 is p99, 1000 is p99.9");
    page.push_str(&Chart::new("Times by percentile", across, Axis::linear("milliseconds"), lines).html());
    page.push_str("</div>\n");
}

/// The histograms of a run.
pub(crate) fn read(run: &RunDirectory) -> Result<Vec<Interval>, String> {
    let mut log = Vec::new();
    let file = opened(run, HISTOGRAMS_FILE)?;
    file.take(LOG_BYTES_MAX).read_to_end(&mut log).map_err(|error| error.to_string())?;
    hlog::read(&log).map_err(|error| format!("{HISTOGRAMS_FILE}: {error}"))
}

fn name(interval: &Interval) -> String {
    interval.tag.trim_start_matches("steady.").to_owned()
}

/// Times with the shares up to them, from none below the least time as far as the share `to`.
pub(crate) fn shares(interval: &Interval, to: f64) -> Vec<(f64, f64)> {
    let steps = interval.bins.iter_quantiles(TICKS).take_while(|step| step.quantile_iterated_to() <= to);
    let steps = steps.map(|step| (step.value_iterated_to() as f64 / 1e6, step.quantile()));
    std::iter::once((interval.bins.min() as f64 / 1e6, 0.0)).chain(steps).collect()
}

fn by_percentile(interval: &Interval) -> Vec<(f64, f64)> {
    let steps = interval.bins.iter_quantiles(TICKS);
    let below_all = steps.filter(|step| step.quantile_iterated_to() < 1.0);
    below_all
        .map(|step| (1.0 / (1.0 - step.quantile_iterated_to()), step.value_iterated_to() as f64 / 1e6))
        .collect()
}
