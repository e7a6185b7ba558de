//! The output of `farfield fit`: the report in lines of a terminal's width, at most 60.

use super::precision;
use crate::terminal::indented;
use farfield_base::Instant;
use farfield_fit::counts::RequestCounts;
use farfield_fit::process::ProcessModel;
use farfield_fit::report::VariableFit;
use farfield_fit::reproduced::ReproducedScale;
use farfield_fit::scenario::FittedTraffic;
use farfield_fit::{Candidate, FitReport, Variable};
use std::fmt::Write;
use std::path::Path;

/// The summary.
pub fn summary(report: &FitReport, traffic: &FittedTraffic, out: &Path, takes: &str) -> String {
    let mut text = String::new();
    of_lines(&mut text, report);
    of_users(&mut text, report, traffic);
    if let Some(counts) = &report.counts {
        of_counts(&mut text, counts);
    }
    let _ =
        writeln!(text, "\n{:<15} {:>8} {:>9}  {:<37} passed", "variable", "values", "mean", "distribution");
    for fit in &report.variables {
        variable(&mut text, fit);
    }
    let passed = "subsamples of 200 that the Anderson–Darling test does not reject";
    put(&mut text, "passed: ", passed);
    text.push('\n');
    let disagree = report.counts.as_ref().and_then(|counts| {
        let course = counts.course_in_words();
        course.or_else(|| counts.memory_in_words()).or_else(|| counts.disagreement())
    });
    let heavy = heavy_in_words(report);
    let dates = report.dates.doubts(&date);
    for sentence in dates.iter().chain(&heavy).chain(traffic.doubts.iter().take(4)).chain(&disagree) {
        put(&mut text, "! ", sentence);
    }
    let out = out.display();
    let _ = writeln!(
        text,
        "\nwrote {out}/: scenario.toml, site.json, fit.json\n      report.html: plots, and all that was tried"
    );
    // Commands are to be copied.
    let _ = writeln!(text, "next: farfield run {out}/scenario.toml");
    put(&mut text, "      ", takes);
    let _ = writeln!(text, "or:   farfield site make {out}/site.json FOLDER, and --target URL");
    put(&mut text, "      ", "for a server of your own");
    text
}

/// The lines on requests that were read, and on those that were not.
fn of_lines(text: &mut String, report: &FitReport) {
    let read = &report.read;
    let over = with_unit(report.covers.as_secs_f64());
    line(text, "requests", &format!("{} over {over}", report.requests()));
    line(text, "dates", &dates(report));
    if read.broken > 0 {
        let first = read.shown.first().map_or(String::new(), |s| format!("; line {}: {}", s.line, s.why));
        line(text, "broken lines", &format!("{}{first}", read.broken));
    }
    for left_out in left_out(report) {
        line(text, "left out", &left_out);
    }
    if let Some(queries) = queries(report) {
        line(text, "queries", &queries);
    }
}

/// The lines on users: crawlers, visitors, sessions, arrivals and popularity.
fn of_users(text: &mut String, report: &FitReport, traffic: &FittedTraffic) {
    let crawlers = report.crawlers;
    let crawlers_text = format!(
        "{} of {} visitors, with {} requests; left out",
        crawlers.found(),
        crawlers.visitors,
        crawlers.requests
    );
    line(text, "crawlers", &crawlers_text);
    line(text, "busiest visitors", &busiest(report));
    if let Some(row) = report.sensitivity.iter().find(|row| row.thresholds == report.thresholds) {
        let sessions = format!(
            "{} of {:.2} clicks, {} of think time, {:.2} embedded objects a click",
            row.sessions,
            row.clicks_mean,
            with_unit(row.think_mean.as_secs_f64()),
            row.embedded_mean
        );
        line(text, "sessions", &sessions);
    }
    line(text, "arrivals", &arrivals(report));
    if let Some(dispersion) = dispersion(&traffic.dispersion) {
        line(text, "dispersion", &dispersion);
    }
    line(text, "popularity", &popularity(report));
}

/// Requests by slots of time, and their memory.
fn of_counts(text: &mut String, counts: &RequestCounts) {
    let mean = precision::mean(counts.mean, counts.variance.sqrt(), counts.slots);
    line(text, "requests a slot", &format!("{mean} in {}", with_unit(counts.slot.as_secs_f64())));
    let Some(reading) = counts.best_hurst() else { return };
    let interval = reading.interval.map_or(String::new(), |(low, high)| format!(" ({low:.2} to {high:.2})"));
    let doubt = match (reading.hurst > 0.5 && reading.hurst < 1.0, counts.disagreement()) {
        (false, _) if reading.interval.is_some_and(|(low, high)| low <= 0.5 && high >= 0.5) => {
            "; no long memory"
        }
        (true, _) if counts.memory_in_words().is_some() => "; not to be taken as it is, see below",
        (false, _) => "; outside of ½ to 1 this is meaningless",
        (true, Some(_)) => "; the estimators disagree, see below",
        (true, None) => "",
    };
    line(text, "Hurst parameter", &format!("{:.2}{interval}, {}{doubt}", reading.hurst, reading.method));
}

/// An instant of the log, in UTC.
pub fn date(at: Instant) -> String {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(at.as_ns());
    humantime::format_rfc3339_seconds(at).to_string().replace('T', " ").replace('Z', " UTC")
}

/// From when to when, and what is odd about the order.
fn dates(report: &FitReport) -> String {
    let dates = &report.dates;
    let at = |ns: u64| date(Instant::from_ns(ns));
    let mut text = format!(
        "{} to {}; longest silence {}",
        at(dates.first_ns).replace(" UTC", ""),
        at(dates.last_ns),
        with_unit(dates.silence.as_secs_f64())
    );
    if dates.out_of_order > 0 {
        let _ = write!(
            text,
            "; {} lines out of order, by up to {}",
            dates.out_of_order,
            with_unit(dates.step_back.as_secs_f64())
        );
    }
    if dates.set_aside > 0 {
        let _ = write!(text, "; {} set aside", dates.set_aside);
    }
    text
}

fn line(text: &mut String, name: &str, value: &str) {
    put(text, &format!("{name:<16} "), value);
}

/// `value` behind `lead`, in lines of the terminal's width.
fn put(text: &mut String, lead: &str, value: &str) {
    for line in indented(lead, value) {
        text.push_str(&line);
        text.push('\n');
    }
}

/// Requests that are not in the report, by reason.
pub fn left_out(report: &FitReport) -> Vec<String> {
    let mut left_out = Vec::new();
    if report.targets.none > 0 {
        let (lines, are) = if report.targets.none == 1 { ("line", "is") } else { ("lines", "are") };
        let first = match report.targets.first.as_str() {
            "" => "an empty one".to_owned(),
            first => format!("`{first}`"),
        };
        left_out
            .push(format!("{} {lines} that {are} no request of HTTP (first: {first})", report.targets.none));
    }
    if report.left_out > 0 {
        left_out.push(format!("{} requests, beyond what is kept in memory", report.left_out));
    }
    left_out
}

/// Queries that paths have lost.
pub fn queries(report: &FitReport) -> Option<String> {
    let queries = report.targets.queries;
    (queries > 0).then(|| {
        let have = if queries == 1 { "request has" } else { "requests have" };
        format!("{queries} {have} one, taken off the path; --keep-query keeps them apart")
    })
}

/// A time in seconds with the unit that suits it.
pub fn with_unit(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7_200.0 => format!("{:.1} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3_600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// A variable's name.
pub fn name(variable: Variable) -> &'static str {
    match variable {
        Variable::SessionGap => "session gap, s",
        Variable::Clicks => "clicks",
        Variable::ThinkTime => "think time, s",
        Variable::PageObjects => "page objects",
        Variable::ReplySize => "reply size, B",
        Variable::ObjectSize => "object size, B",
        Variable::TransferTime => "transfer, s",
        Variable::StackDistance => "stack distance",
        Variable::RequestCount => "requests a slot",
    }
}

fn variable(text: &mut String, fit: &VariableFit) {
    let mean = precision::mean(fit.mean, fit.deviation, fit.fitted);
    let taken = fit.taken();
    let robust = if fit.robust.is_some() { " (middle)" } else { "" };
    let distribution = taken.map_or("none".to_owned(), |candidate| format!("{}{robust}", candidate.name));
    let passed = taken.map_or(String::new(), passed);
    let _ =
        writeln!(text, "{:<15} {:>8} {mean:>9}  {distribution:<37} {passed}", name(fit.variable), fit.values);
}

/// The share of subsamples that a distribution passes.
pub fn passed(candidate: &Candidate) -> String {
    format!("{:.0} %", 100.0 * candidate.subsamples.anderson_darling_passed)
}

fn arrivals(report: &FitReport) -> String {
    let Some(arrivals) = report.arrivals else { return "too few sessions for a test".to_owned() };
    let is = arrivals_are(report);
    format!(
        "{is}; {:.0} % of {} stretches exponential, {:.0} % uncorrelated; effects: distance {:.3}, correlation {:.2}",
        100.0 * arrivals.exponential_passed,
        arrivals.stretches,
        100.0 * arrivals.uncorrelated_passed,
        arrivals.distance,
        arrivals.correlation
    )
}

/// The kind of process in which sessions arrive: by its dispersion, and between Poisson and as good as
/// that by the test of gaps.
pub fn arrivals_are(report: &FitReport) -> String {
    let is_tested = report.arrivals.is_some_and(|arrivals| arrivals.poisson);
    let by_gaps = match (report.is_poisson_enough(), report.is_renewal_enough()) {
        (true, _) if is_tested => "Poisson",
        (true, _) => "as good as Poisson",
        (false, true) => "a renewal process, not Poisson",
        (false, false) => "no renewal process",
    };
    let along = match report.process.as_ref().and_then(|process| process.along.as_ref()) {
        Some(course) => format!(", along a course in {} pieces", course.pieces.len()),
        None => String::new(),
    };
    match report.process.as_ref().map(|process| &process.model) {
        None | Some(ProcessModel::Poisson | ProcessModel::Renewal) => by_gaps.to_owned(),
        Some(ProcessModel::Course(course)) => {
            format!("a course in {} pieces, Poisson in each", course.pieces.len())
        }
        Some(ProcessModel::MarkovModulated(two)) => {
            let [slow, fast] = two.rates.map(precision::significant);
            format!("Markov-modulated, {slow} and {fast} a second{along}")
        }
        Some(ProcessModel::FractionalNoise(noise)) => {
            let (low, high) = noise.interval;
            format!("fractional noise, H {:.2} ({low:.2} to {high:.2}){along}", noise.hurst)
        }
    }
}

/// Variance over mean in some windows, of the log and of the scenario.
fn dispersion(scales: &[ReproducedScale]) -> Option<String> {
    let shown = scales.iter().filter(|scale| {
        let seconds = scale.over.as_secs_f64();
        [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]
            .iter()
            .any(|decade| (seconds / decade - 1.0).abs() < 1e-9)
    });
    let pair = |scale: &ReproducedScale| {
        let digits = |index: f64| usize::from(index < 99.95) + usize::from(index < 9.995);
        let [log, scenario] = [scale.log, scale.scenario].map(|index| format!("{index:.0$}", digits(index)));
        format!("{log} ({scenario}) in {}", with_unit(scale.over.as_secs_f64()))
    };
    let pairs: Vec<String> = shown.map(pair).collect();
    (!pairs.is_empty()).then(|| format!("log (scenario): {}", pairs.join(", ")))
}

/// Requests by the busiest visitors.
fn busiest(report: &FitReport) -> String {
    let shares = &report.shares;
    let percent = shares.busiest.map(|share| format!("{:.1} %", 100.0 * share));
    format!(
        "1 of {} has {} of their requests, 10 have {}, 100 have {}",
        shares.visitors, percent[0], percent[1], percent[2]
    )
}

/// The sentence that a few visitors make many of the requests, if they do.
pub fn heavy_in_words(report: &FitReport) -> Option<String> {
    let (count, share) = report.shares.heavy()?;
    Some(format!(
        "{count} of {} visitors, who look like people, {} {:.0} % of all requests: if they are programs, leave their lines out.",
        report.shares.visitors,
        if count == 1 { "makes" } else { "make" },
        100.0 * share
    ))
}

fn popularity(report: &FitReport) -> String {
    let popularity = &report.popularity;
    let objects = format!("{} objects, {} of them once", popularity.objects, popularity.once);
    match popularity.holds {
        Some(zipf) => format!(
            "{objects}; Zipf {:.2} ± {:.2} for the first {}",
            zipf.exponent,
            1.96 * zipf.error,
            zipf.ranks
        ),
        None => format!("{objects}; Zipf's law does not hold"),
    }
}
