//! Fit a log, generate its traffic on the simulated plane, fit that: what the second fit says against the
//! first.

use crate::common::{Ended, Place};
use farfield_base::{Instant, Sample};
use farfield_fit::report::CurvePoint;
use farfield_fit::{Estimate, FitReport, Variable, VariableFit};
use farfield_traffic::Site;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The published log of this name, where it lies beside the checkout or in the folder that `FARFIELD_LOGS`
/// names.
fn published(test: &str, name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/logs");
    let log = std::env::var_os("FARFIELD_LOGS").map_or(beside, Into::into).join(name);
    if !log.is_file() {
        crate::common::skip(test, "there is no folder of published logs, see FARFIELD_LOGS");
    }
    log.is_file().then_some(log)
}

/// The log that a server would have written of a run: a client for each session, whole seconds.
fn logged(ended: &Ended, site: &Site) -> String {
    let samples = ended.samples();
    let sent = samples.iter().filter_map(|sample| Some((sample.sent.instant()?, sample)));
    let mut sent: Vec<(Instant, &Sample)> = sent.collect();
    sent.sort_by_key(|(at, _)| *at);
    sent.iter().fold(String::new(), |mut log, (at, sample)| {
        let second = at.as_ns() / 1_000_000_000;
        let (day, hour, minute) = (1 + second / 86_400, second / 3_600 % 24, second / 60 % 60);
        let path = &site.objects()[sample.request as usize].path;
        let _ = writeln!(
            log,
            "u{} - - [{day:02}/Jul/1995:{hour:02}:{minute:02}:{:02} +0000] \"GET {path} HTTP/1.0\" {} {}",
            sample.user,
            second % 60,
            sample.status,
            sample.body_bytes
        );
        log
    })
}

/// The access of users of 1995: the images of a page come seconds after it, which H is about as well.
const MODEMS: &str = "--access modem-56k --set connections.request-timeout=30m --set run.drain=5m";

/// The fit of the log, and that of the traffic that it makes on this network; `laws` are flags of the fits.
fn round_trip(log: &Path, network: &str, laws: &str) -> [FitReport; 2] {
    let place = Place::new();
    let read = |folder: &str, file: &str| {
        fs::read_to_string(place.path(&format!("{folder}/{file}"))).expect("fit has written it")
    };
    let report =
        |folder: &str| -> FitReport { serde_json::from_str(&read(folder, "fit.json")).expect("a report") };
    place.farfield(&format!("fit {} -o first --course {laws}", log.display())).exits(0);
    let first = report("first");
    let whole = first.covers.as_secs_f64();
    let words = format!("first/scenario.toml --plane simulated {network} --warm-up 1s -d {whole}s");
    let ended = place.run(&words).exits(0);
    let site: Site = serde_json::from_str(&read("first", "site.json")).expect("a site");
    place.write("again.log", logged(&ended, &site));
    place.farfield(&format!("fit again.log -o again {laws}")).exits(0);
    [first, report("again")]
}

/// The largest distance between what two curves say of the share above a value.
fn distance(one: &[CurvePoint], other: &[CurvePoint]) -> f64 {
    let above = |value: f64| {
        let at = other.partition_point(|point| point.value <= value);
        let before = if at == 0 { (0.0, 1.0) } else { (other[at - 1].value, other[at - 1].data) };
        let Some(after) = other.get(at) else { return 0.0 };
        // Counts stay until the next one; between values of something continuous the share falls evenly.
        let part = if after.value.fract() == 0.0 && value.fract() == 0.0 {
            0.0
        } else {
            (value - before.0) / (after.value - before.0)
        };
        before.1 + part * (after.data - before.1)
    };
    one.iter().map(|point| (point.data - above(point.value)).abs()).fold(0.0, f64::max)
}

/// The share of requests for the most popular objects, so many of them.
fn top(report: &FitReport, objects: usize) -> f64 {
    let counts = report.site.objects.iter().map(|object| object.requests);
    counts.take(objects).sum::<u64>() as f64 / report.popularity.requests as f64
}

/// A law's estimates with the halves of their intervals, where they have one.
fn estimates(fit: &VariableFit) -> (&str, Vec<(f64, f64)>) {
    let law = fit.ranking.preferred(fit.mean).expect("there are laws");
    let interval = |estimate: &Estimate| Some((estimate.value, 1.96 * estimate.error?));
    (&law.name, law.estimates.iter().filter_map(interval).collect())
}

/// The table of docs/models.md, *Round trip*: a line for each figure of both fits.
fn print_table(name: &str, reports: &[FitReport; 2]) {
    let row = |what: &str, of: &dyn Fn(&FitReport) -> String| {
        println!("| {what} | {} | {} |", of(&reports[0]), of(&reports[1]));
    };
    println!("{name}");
    row("sessions", &|report| report.variable(Variable::Clicks).expect("the log has it").values.to_string());
    row("users' requests", &|report| report.popularity.requests.to_string());
    for (what, variable, family) in [
        ("gaps", Variable::SessionGap, "weibull"),
        ("clicks", Variable::Clicks, "lognormal"),
        ("think time", Variable::ThinkTime, "lognormal"),
        ("objects a page", Variable::PageObjects, "weibull"),
    ] {
        let of = |report: &FitReport| report.variable(variable).expect("the log has it").clone();
        let [one, other] = reports.each_ref().map(|report| of(report).curve);
        row(&format!("{what}, mean"), &|report| format!("{:.2}", of(report).mean));
        row(&format!("{what}, D"), &|_| format!("{:.3}", distance(&one, &other)));
        row(what, &|report| estimates(&of(report)).0.to_owned());
        row(&format!("{what}, as {family}"), &|report| {
            let ranking = of(report).ranking;
            let found = ranking.candidates.iter().find(|candidate| candidate.name == family);
            let one = |estimate: &Estimate| {
                let half = 1.96 * estimate.error.unwrap_or(f64::NAN);
                format!("{} {:.2} ± {half:.2}", estimate.name, estimate.value)
            };
            let estimates = found.expect("it is tried").estimates.iter().map(one);
            estimates.collect::<Vec<_>>().join(", ")
        });
    }
    for objects in [1, 10, 100] {
        row(&format!("requests of the first {objects}"), &|report| {
            format!("{:.1} %", 100.0 * top(report, objects))
        });
    }
    row("Zipf exponent, all ranks", &|report| {
        let zipf = report.popularity.all.expect("many objects");
        format!("{:.2} ± {:.2}", zipf.exponent, 1.96 * zipf.error)
    });
    for method in ["wavelets", "local Whittle", "aggregated variance", "rescaled range"] {
        row(&format!("H, {method}"), &|report| {
            let counts = report.counts.as_ref().expect("hours of it");
            let reading = counts.hurst.iter().find(|reading| reading.method == method).expect("long enough");
            let interval =
                reading.interval.map_or(String::new(), |(low, high)| format!(" ({low:.2}–{high:.2})"));
            format!("{:.2}{interval}", reading.hurst)
        });
    }
    for seconds in [1, 64, 1_024] {
        row(&format!("variance over mean, in {seconds} s"), &|report| {
            let counts = report.counts.as_ref().expect("hours of it");
            let scale = counts.dispersion.iter().find(|scale| scale.over.as_secs_f64() == f64::from(seconds));
            scale.map_or("none".into(), |scale| format!("{:.3}", scale.index))
        });
    }
}

/// Asserts that gaps, clicks and pages come back, and memory.
#[track_caller]
fn are_alike(first: &FitReport, again: &FitReport, variables: &[Variable]) {
    for variable in variables {
        let [one, other] = [first, again].map(|report| report.variable(*variable).expect("the log has it"));
        // Kolmogorov and Smirnov's bound for two samples of one distribution, at 1 %.
        let bound = 1.63 * (1.0 / one.values as f64 + 1.0 / other.values as f64).sqrt();
        let found = distance(&one.curve, &other.curve);
        assert!(found < bound, "{variable:?}: {found} apart, where {bound} is chance");
        let ((law, before), (same, after)) = (estimates(one), estimates(other));
        if law == same {
            let meet = before.iter().zip(&after).all(|((a, da), (b, db))| (a - b).abs() <= da + db);
            assert!(meet, "{variable:?}, {law}: {before:?} and {after:?}");
        }
    }
    let [before, after] = [first, again].map(|report| &report.counts.as_ref().expect("hours of it").hurst);
    for (one, other) in before
        .iter()
        .zip(after)
        .filter(|(one, _)| ["wavelets", "local Whittle"].contains(&one.method.as_str()))
    {
        let ((low, high), (other_low, other_high)) =
            (one.interval.expect("theory has one"), other.interval.expect("theory has one"));
        assert!(low.max(other_low) <= high.min(other_high), "{one:?} and {other:?}");
    }
}

/// μ and σ of the think times as lognormal ones.
fn lognormal_thinks(report: &FitReport) -> [f64; 2] {
    let ranking = &report.variable(Variable::ThinkTime).expect("think times").ranking;
    let found = ranking.candidates.iter().find(|candidate| candidate.name == "lognormal");
    let found = found.expect("lognormal think times");
    [found.estimates[0].value, found.estimates[1].value]
}

const SAME: [Variable; 3] = [Variable::SessionGap, Variable::Clicks, Variable::PageObjects];

/// NASA's log of 1995: the same distributions of gaps, clicks and objects a page, or none that could be
/// distinguished; the same popularity; Hurst parameters whose intervals meet. What does not come back, and
/// why, stands in docs/models.md.
#[test]
fn traffic_that_was_fitted_is_fitted_again() {
    let test = "traffic_that_was_fitted_is_fitted_again";
    let Some(log) = published(test, "nasa_jul95_first10k.clf.xz") else { return };
    let reports = round_trip(&log, MODEMS, "");
    print_table("NASA-HTTP", &reports);
    let [first, again] = &reports;
    are_alike(first, again, &SAME);
    // The log's think times have its pages' transfers in them, and these have both: they grow longer, and the
    // short ones fewer.
    let ([mu, sigma], [mu_again, sigma_again]) = (lognormal_thinks(first), lognormal_thinks(again));
    assert!((0.0..0.25).contains(&(mu_again - mu)), "mu: {mu} and {mu_again}");
    assert!((0.0..0.25).contains(&(sigma - sigma_again)), "sigma: {sigma} and {sigma_again}");
    for objects in [1, 10, 100] {
        let (before, after) = (top(first, objects), top(again, objects));
        assert!((before - after).abs() < 0.05, "the first {objects} objects have {before} and {after}");
    }
}

#[test]
fn a_log_without_sizes_is_fitted_again() {
    let test = "a_log_without_sizes_is_fitted_again";
    let Some(log) = published(test, "sdsc-http.txt.xz") else { return };
    let reports = round_trip(&log, MODEMS, "--single-distributions");
    print_table("SDSC-HTTP", &reports);
    are_alike(&reports[0], &reports[1], &[Variable::Clicks]);
}

/// Where pages take no time, think times come back as well: they are fitted and drawn between the thresholds.
#[test]
fn think_times_come_back_where_pages_take_no_time() {
    let test = "think_times_come_back_where_pages_take_no_time";
    let Some(log) = published(test, "nasa_jul95_first10k.clf.xz") else { return };
    let reports = round_trip(&log, "", "--single-distributions");
    print_table("NASA-HTTP over a fast path", &reports);
    are_alike(&reports[0], &reports[1], &SAME);
    are_alike(&reports[0], &reports[1], &[Variable::ThinkTime]);
}
