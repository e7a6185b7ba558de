//! Rates, response times, connections and the server's resources over the seconds of the run, one below the
//! other on the same axis; after them, utilisation against load.

use super::thin::{Stays, thinned};
use super::users::ActiveUsers;
use super::{errors, missing, opened, utilisation};
use crate::chart::{Axis, Chart, Mark, Seconds, Series, Spacing};
use crate::directory::RunDirectory;
use farfield_measure::monitor::{self, MonitoredSeries, metric};
use farfield_measure::series::{self, SeriesRow};
use farfield_measure::set_aside::SetAsideSummary;
use std::collections::BTreeMap;
use std::fmt::Write;

const NS_PER_S: u64 = 1_000_000_000;

/// The series of `monitors.parquet`, each with its seconds and values.
type Monitored = BTreeMap<MonitoredSeries, Vec<(u64, f64)>>;

/// Lines of a chart of monitors; the others are their largest.
const LINES: usize = 5;

pub(super) fn charts(page: &mut String, run: &RunDirectory, users: &ActiveUsers) {
    page.push_str(
        "<h2>Over time</h2>\n<p>Seconds since the start of the run; the warm-up, what comes after the measured part, and what \
         was set aside of it are shaded. A dashed line lies upon another one.",
    );
    let (stages, conditions) = (&run.summary().stages, &run.summary().conditions);
    // The first begins where the measured part does.
    let begun = match (stages.len() > 1, conditions.len() > 1) {
        (false, false) => "",
        (true, false) => " Dashed lines stand where stages of the load begin in the measured part.",
        (false, true) => " Dashed lines stand where conditions of the network change in the measured part.",
        (true, true) => {
            " Dashed lines stand where stages of the load begin in the measured part, and where conditions of the \
             network change."
        }
    };
    let _ = writeln!(page, "{begun}</p>");
    let read = opened(run, "series.parquet")
        .and_then(|file| series::read_parquet(file).map_err(|error| format!("series.parquet: {error}")));
    let rows = match read {
        Ok(rows) => rows,
        Err(why) => return missing(page, &why),
    };
    if rows.len() < 2 {
        return missing(page, "a run of less than a second has no course by seconds");
    }
    let summary = run.summary();
    let phases = &summary.phases;
    let aside = summary.set_aside.as_ref().map_or_else(Vec::new, SetAsideSummary::spans);
    let at = |ns: u64| ns as f64 / 1e9;
    let parts = stages.iter().skip(1).chain(conditions.iter().skip(1));
    let edges: Vec<f64> = parts.map(|part| at(part.from_ns)).collect();
    let seconds = Seconds {
        until: rows.len() as f64,
        warm_up: at(phases.warm_up_ns),
        measured_to: at(phases.warm_up_ns.saturating_add(phases.steady_ns)),
        aside: &aside,
        edges: &edges,
    };
    let mut put = |chart: Chart| page.push_str(&chart.html_over(seconds));
    put(rates(&rows));
    put(responses(&rows));
    errors::over_time(&rows).map(&mut put);
    put(users_and_connections(&rows, users));
    match monitored(run) {
        Some(Ok(read)) => {
            monitors(page, &read, seconds);
            // Whole seconds of the measured part alone.
            let begins = phases.warm_up_ns.div_ceil(NS_PER_S);
            let ends = (phases.warm_up_ns + phases.steady_ns) / NS_PER_S;
            if let Some(chart) = utilisation::chart(&rows, &read, begins..ends) {
                let _ = writeln!(page, "<div class=\"pair\">\n{}</div>", chart.html());
            }
        }
        Some(Err(why)) => missing(page, &why),
        None => {}
    }
}

fn second() -> Axis {
    Axis::linear("second of the run")
}

fn from_zero(label: &str) -> Axis {
    Axis { label: label.to_owned(), spacing: Spacing::FromZero }
}

fn points(rows: &[SeriesRow], mut value: impl FnMut(&SeriesRow) -> Option<f64>) -> Vec<(f64, f64)> {
    rows.iter().filter_map(|row| Some((row.second as f64, value(row)?))).collect()
}

fn rates(rows: &[SeriesRow]) -> Chart {
    let line = |name: &str, value: fn(&SeriesRow) -> u64| {
        let all = points(rows, |row| Some(value(row) as f64));
        Series::new(name, Mark::Line, thinned(&all, Stays::Extremes))
    };
    let mut lines = vec![
        line("offered", |row| row.offered),
        line("sent", |row| row.sent),
        line("succeeded", |row| row.succeeded),
    ];
    if rows.iter().any(|row| row.succeeded < row.completed) {
        lines.push(line("completed", |row| row.completed));
    }
    if rows.iter().any(|row| failed(row) > 0) {
        lines.push(line("failed", failed));
    }
    Chart::new("Throughput", second(), from_zero("requests in the second"), lines)
}

/// Users that wait for replies, requests that are under way, and connections.
fn users_and_connections(rows: &[SeriesRow], users: &ActiveUsers) -> Chart {
    let line =
        |name: &str, points: &[(f64, f64)]| Series::new(name, Mark::Line, thinned(points, Stays::Extremes));
    let mut due = 0;
    let mut ended = 0;
    let under_way = points(rows, |row| {
        due += row.offered;
        ended += row.succeeded + failed(row);
        Some(due.saturating_sub(ended) as f64)
    });
    let users = users.by_second();
    let mut lines = Vec::new();
    if !users.is_empty() {
        lines.push(line("users with a request in the second", &users[..users.len().min(rows.len())]));
    }
    lines.push(line("requests under way at its end", &under_way));
    if rows.iter().any(|row| row.connections_open.is_some()) {
        let open = points(rows, |row| row.connections_open.map(|open| open as f64));
        lines.push(line("connections open", &open));
    }
    Chart::new("Users, requests under way and connections", second(), from_zero("number"), lines)
}

/// Requests that ended without success in a second.
fn failed(row: &SeriesRow) -> u64 {
    row.failed_server + row.failed_network + row.failed_client + row.failed_protocol
}

fn responses(rows: &[SeriesRow]) -> Chart {
    let line = |name: &str, stays, value: fn(&SeriesRow) -> Option<u64>| {
        let all = points(rows, |row| value(row).map(|ns| ns as f64 / 1e6));
        Series::new(name, Mark::Line, thinned(&all, stays))
    };
    let lines = [
        line("p50", Stays::Median, |row| row.response_p50_ns),
        line("p99", Stays::Largest, |row| row.response_p99_ns),
        line("longest", Stays::Largest, |row| row.response_max_ns),
    ];
    // Bands between the percentiles, below their lines.
    let [p50, p99, longest] = &lines;
    let band = |upper: &Series, lower: &Series| Series {
        name: String::new(),
        mark: Mark::Area,
        points: upper.points.iter().chain(&lower.points).copied().collect(),
    };
    let bands = [band(p99, p50), band(longest, p99)];
    let is_whole = p50.points.len() == longest.points.len() && p99.points.len() == longest.points.len();
    let lines: Vec<Series> = lines.into_iter().chain(bands.into_iter().filter(|_| is_whole)).collect();
    Chart::new("Response time of successful requests", second(), Axis::logarithmic("milliseconds"), lines)
}

/// A chart of monitors: its title, its unit, the numbers that are in it, and what one unit is of theirs.
type Plan = (&'static str, &'static str, &'static [(&'static str, &'static str)], f64);

const PLANS: [Plan; 5] = [
    (
        "Processor time",
        "processors",
        &[
            ("tier", metric::CPU_USER),
            ("tier", metric::CPU_SYSTEM),
            ("generator", metric::CPU_USER),
            ("generator", metric::CPU_SYSTEM),
        ],
        1.0,
    ),
    ("Resident memory of the server", "MiB", &[("tier", metric::RESIDENT)], 1_048_576.0),
    ("Accept queue", "connections", &[("listener", metric::ACCEPT_QUEUE)], 1.0),
    ("Overflows of the accept queue", "1/s", &[("network", metric::LISTEN_OVERFLOWS)], 1.0),
    ("Disks", "share of the time busy", &[("disk", metric::BUSY)], 1.0),
];

/// The numbers of [`PLANS`] that were read; nothing of a run in virtual time, which has none.
fn monitored(run: &RunDirectory) -> Option<Result<Monitored, String>> {
    let file = opened(run, "monitors.parquet").ok()?;
    let wanted: Vec<(&str, &str)> =
        PLANS.iter().flat_map(|(_, _, wanted, _)| wanted.iter().copied()).collect();
    Some(monitor::read_parquet(file, &wanted).map_err(|error| format!("monitors.parquet: {error}")))
}

fn monitors(page: &mut String, read: &Monitored, seconds: Seconds<'_>) {
    let mut zero = Vec::new();
    for (title, unit, wanted, scale) in PLANS {
        let of_plan = read
            .iter()
            .filter(|(series, _)| wanted.contains(&(series.source.as_str(), series.metric.as_str())))
            .map(|(series, values)| {
                let values: Vec<(f64, f64)> =
                    values.iter().map(|(second, value)| (*second as f64, value / scale)).collect();
                (in_words(series), values)
            });
        let lines = lines(of_plan.collect());
        let is_zero = lines.iter().flat_map(|line| &line.points).all(|point| point.y == 0.0);
        if is_zero && !lines.is_empty() {
            zero.push(title);
        } else if !lines.is_empty() {
            page.push_str(&Chart::new(title, second(), from_zero(unit), lines).html_over(seconds));
        }
    }
    if !zero.is_empty() {
        let _ = writeln!(page, "<p class=\"none\">Zero in every second: {}.</p>", zero.join("; "));
    }
}

/// The subject of a line, below a title that names its quantity.
fn in_words(series: &MonitoredSeries) -> String {
    let who = match series.source.as_str() {
        "generator" => "farfield",
        "network" => "the server's network",
        _ => &series.tier,
    };
    let more = match series.metric.as_str() {
        metric::CPU_USER => "in user mode",
        metric::CPU_SYSTEM => "in the kernel",
        _ => "",
    };
    let parts = [who, &series.name, more];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// The lines with the largest values; of the others the largest in each second.
fn lines(mut all: Vec<(String, Vec<(f64, f64)>)>) -> Vec<Series> {
    let most = |values: &[(f64, f64)]| values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    all.sort_by(|a, b| most(&b.1).total_cmp(&most(&a.1)));
    let others = all.split_off(all.len().min(LINES));
    let mut lines: Vec<Series> = all
        .into_iter()
        .map(|(name, values)| {
            let name: String = farfield_base::printable(&name, &[]).chars().take(80).collect();
            Series::new(name, Mark::Line, thinned(&values, Stays::Extremes))
        })
        .collect();
    if !others.is_empty() {
        let mut largest = std::collections::BTreeMap::<u64, f64>::new();
        for (second, value) in others.iter().flat_map(|(_, values)| values) {
            let there = largest.entry(*second as u64).or_insert(*value);
            *there = there.max(*value);
        }
        let values: Vec<(f64, f64)> =
            largest.into_iter().map(|(second, value)| (second as f64, value)).collect();
        let name = format!("the largest of {} others", others.len());
        lines.push(Series::new(name, Mark::Line, thinned(&values, Stays::Largest)));
    }
    lines
}
