//! Fit a log, generate its traffic on the simulated plane, fit that: what the second fit says against the first.

mod common;

use common::{Ended, Place};
use farfield_base::{Instant, Sample};
use farfield_traffic::Site;
use farfield_traffic::fit::report::CurvePoint;
use farfield_traffic::fit::{Estimate, FitReport, Variable, VariableFit};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The published log of this name, where it lies beside the checkout or in the folder that `FARFIELD_LOGS` names.
fn published(test: &str, name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/logs");
    let log = std::env::var_os("FARFIELD_LOGS").map_or(beside, Into::into).join(name);
    if !log.is_file() {
        common::skip(test, "there is no folder of published logs, see FARFIELD_LOGS");
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

/// What the log says, and what the traffic that it makes says.
fn round_trip(log: &Path) -> [FitReport; 2] {
    let place = Place::new();
    let read = |folder: &str, file: &str| {
        fs::read_to_string(place.path(&format!("{folder}/{file}"))).expect("fit has written it")
    };
    let report =
        |folder: &str| -> FitReport { serde_json::from_str(&read(folder, "fit.json")).expect("a report") };
    place.farfield(&format!("fit {} -o first --course", log.display())).exits(0);
    let first = report("first");
    let whole = first.covers.as_secs_f64();
    // Through modems, as users of 1995 had: the images of a page come seconds after it, which H is about as well.
    let modems = "--access modem-56k --set connections.request-timeout=30m --set run.drain=5m";
    let words = format!("first/scenario.toml --plane simulated {modems} --warm-up 1s -d {whole}s");
    let ended = place.run(&words).exits(0);
    let site: Site = serde_json::from_str(&read("first", "site.json")).expect("a site");
    place.write("again.log", logged(&ended, &site));
    place.farfield("fit again.log -o again").exits(0);
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

/// NASA's log of 1995: the same laws of gaps, clicks and objects a page, or none that could be told apart; the same popularity;
/// Hurst parameters whose intervals meet. What does not come back, and why, stands in docs/models.md.
#[test]
fn traffic_that_was_fitted_is_fitted_again() {
    let test = "traffic_that_was_fitted_is_fitted_again";
    let Some(log) = published(test, "nasa_jul95_first10k.clf.xz") else { return };
    let [first, again] = round_trip(&log);
    for variable in [Variable::SessionGap, Variable::Clicks, Variable::PageObjects] {
        let [one, other] = [&first, &again].map(|report| report.variable(variable).expect("the log has it"));
        // Kolmogorov and Smirnov's bound for two samples of one law, at 1 %.
        let bound = 1.63 * (1.0 / one.values as f64 + 1.0 / other.values as f64).sqrt();
        let found = distance(&one.curve, &other.curve);
        assert!(found < bound, "{variable:?}: {found} apart, where {bound} is chance");
        let ((law, before), (same, after)) = (estimates(one), estimates(other));
        if law == same {
            let meet = before.iter().zip(&after).all(|((a, da), (b, db))| (a - b).abs() <= da + db);
            assert!(meet, "{variable:?}, {law}: {before:?} and {after:?}");
        }
    }
    // The log's think times have its pages' transfers in them, and these have both: μ rises. What takes less than 2 s or more than
    // 10 min is no think time the second time: the law comes back narrower.
    let [one, other] =
        [&first, &again].map(|report| estimates(report.variable(Variable::ThinkTime).expect("think times")));
    let (("lognormal", before), ("lognormal", after)) = (one, other) else { panic!("lognormal think times") };
    assert!((0.0..0.2).contains(&(after[0].0 - before[0].0)), "mu: {before:?} and {after:?}");
    assert!((0.0..0.25).contains(&(before[1].0 - after[1].0)), "sigma: {before:?} and {after:?}");
    for objects in [1, 10, 100] {
        let (before, after) = (top(&first, objects), top(&again, objects));
        assert!((before - after).abs() < 0.05, "the first {objects} objects have {before} and {after}");
    }
    let [before, after] = [&first, &again].map(|report| &report.counts.as_ref().expect("hours of it").hurst);
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
