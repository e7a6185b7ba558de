//! Utilisation against load: the processor time of each tier of the server, and of farfield, over the
//! requests that were completed in the same second.
//!
//! By the utilisation law (Denning and Buzen 1978, "The operational analysis of queueing network models")
//! the processors in use are the throughput times the processor time of a request, so that the seconds of a
//! run lie on a line through the origin. Those above it took more time a request: the server was busy with
//! something else, or does more for each request when it has many at once.

use crate::chart::{Axis, Chart, Mark, Series, Spacing};
use farfield_measure::monitor::{MonitoredSeries, metric};
use farfield_measure::series::SeriesRow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Seconds from which it is drawn: fewer show no relation.
const SECONDS_MIN: usize = 5;
/// Dots of a tier; of more seconds every second, third, … is drawn.
const DOTS: usize = 1000;

/// The chart, of the measured seconds that have both numbers.
pub(super) fn chart(
    rows: &[SeriesRow],
    monitors: &BTreeMap<MonitoredSeries, Vec<(u64, f64)>>,
    measured: Range<u64>,
) -> Option<Chart> {
    let completed: BTreeMap<u64, f64> = rows
        .iter()
        .filter(|row| measured.contains(&row.second))
        .map(|row| (row.second, row.completed as f64))
        .collect();
    let lines: Vec<Series> = processors(monitors)
        .into_iter()
        .flat_map(|(name, in_use)| of_tier(&name, &completed, &in_use))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let from_zero = |label: &str| Axis { label: label.to_owned(), spacing: Spacing::FromZero };
    let across = from_zero("requests completed in the second");
    Some(Chart::new("Utilisation against load", across, from_zero("processors in use"), lines))
}

/// The processors that each tier had in each second, in user mode and in the kernel.
fn processors(monitors: &BTreeMap<MonitoredSeries, Vec<(u64, f64)>>) -> BTreeMap<String, BTreeMap<u64, f64>> {
    let mut tiers = BTreeMap::<String, BTreeMap<u64, f64>>::new();
    for (series, values) in monitors {
        let is_time = [metric::CPU_USER, metric::CPU_SYSTEM].contains(&series.metric.as_str());
        let name = match series.source.as_str() {
            "tier" => &series.tier,
            "generator" => "farfield",
            _ => continue,
        };
        if is_time {
            let name = farfield_base::printable(name, &[]).chars().take(80).collect();
            let tier = tiers.entry(name).or_default();
            for (second, value) in values {
                *tier.entry(*second).or_default() += value;
            }
        }
    }
    tiers
}

/// A tier's seconds, and the line on which they would lie if each request took the same time.
fn of_tier(name: &str, completed: &BTreeMap<u64, f64>, in_use: &BTreeMap<u64, f64>) -> Vec<Series> {
    let dots: Vec<(f64, f64)> =
        completed.iter().filter_map(|(second, completed)| Some((*completed, *in_use.get(second)?))).collect();
    let requests: f64 = dots.iter().map(|(completed, _)| completed).sum();
    if dots.len() < SECONDS_MIN || requests == 0.0 {
        return Vec::new();
    }
    let each_s = dots.iter().map(|(_, in_use)| in_use).sum::<f64>() / requests;
    let most = dots.iter().map(|(completed, _)| *completed).fold(0.0, f64::max);
    let every = dots.len().div_ceil(DOTS);
    let line = format!("{name}: {:.1} µs of processor time a request", each_s * 1e6);
    vec![
        Series::new(name, Mark::Dots, dots.into_iter().step_by(every)),
        Series::new(line, Mark::Dashes, [(0.0, 0.0), (most, each_s * most)]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(completed: &[u64]) -> Vec<SeriesRow> {
        let row = |(second, completed)| SeriesRow { second, completed, ..SeriesRow::default() };
        (0..).zip(completed.iter().copied()).map(row).collect()
    }

    fn monitors(series: &[(&str, &str, &str, &[f64])]) -> BTreeMap<MonitoredSeries, Vec<(u64, f64)>> {
        let one = |&(source, tier, metric, values): &(&str, &str, &str, &[f64])| {
            let [source, tier, metric] = [source, tier, metric].map(str::to_owned);
            let watched = MonitoredSeries { source, tier, name: String::new(), metric };
            (watched, (0..).zip(values.iter().copied()).collect())
        };
        series.iter().map(one).collect()
    }

    /// A server that takes 1 ms a request, 0.4 of it in the kernel, and 0.1 processors more in one second.
    #[test]
    fn the_line_is_the_processor_time_of_a_request() {
        let completed = [900, 100, 200, 300, 400, 500, 900];
        let of = |share: f64| completed.map(|completed| share * completed as f64 / 1e3);
        let (mut user, system, own) = (of(0.6), of(0.4), of(0.02));
        user[3] += 0.1;
        let monitors = monitors(&[
            ("tier", "web", metric::CPU_USER, &user),
            ("tier", "web", metric::CPU_SYSTEM, &system),
            ("generator", "", metric::CPU_USER, &own),
            ("tier", "web", metric::RESIDENT, &user),
            ("process", "web", metric::CPU_USER, &user),
        ]);
        let chart = chart(&rows(&completed), &monitors, 1..6).expect("five seconds");
        let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
        let own_line = "farfield: 20.0 µs of processor time a request";
        assert_eq!(names, ["farfield", own_line, "web", "web: 1066.7 µs of processor time a request"]);
        let points = |at: usize| chart.series[at].points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>();
        let near = |(x, y): (f64, f64), (u, v): (f64, f64)| (x - u).abs() < 1e-9 && (y - v).abs() < 1e-9;
        let dots = [(100.0, 0.1), (200.0, 0.2), (300.0, 0.4), (400.0, 0.4), (500.0, 0.5)];
        assert!(points(2).into_iter().zip(dots).all(|(point, dot)| near(point, dot)), "{:?}", points(2));
        assert!(near(points(3)[1], (500.0, 1.6 / 3.0)), "{:?}", points(3));
    }

    #[test]
    fn nothing_is_drawn_of_too_few_seconds_or_none_in_common() {
        let in_use = [0.1; 9];
        let monitors = monitors(&[("tier", "web", metric::CPU_USER, &in_use)]);
        assert!(chart(&rows(&[5; 9]), &monitors, 2..6).is_none());
        assert!(chart(&rows(&[0; 9]), &monitors, 0..9).is_none());
        assert!(chart(&rows(&[5; 9]), &BTreeMap::new(), 0..9).is_none());
        let many = vec![0.1; 2_500];
        let monitors = self::monitors(&[("tier", "web", metric::CPU_USER, &many)]);
        let chart = chart(&rows(&[5; 2_500]), &monitors, 0..2_500).expect("many seconds");
        assert_eq!(chart.series[0].points.len(), 834, "every third");
    }
}
