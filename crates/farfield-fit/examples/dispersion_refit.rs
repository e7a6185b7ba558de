//! Logs of fifty processes, fitted: the dispersion of the sessions that the scenario makes, beside the log's.
//!
//! ```text
//! cargo run --release -p farfield-fit --example dispersion_refit -- [seconds]
//! cargo run --release -p farfield-fit --example dispersion_refit -- hurst [seconds]
//! ```
//!
//! Each log has so many seconds (40,000) of sessions of one request. It is fitted as `farfield fit` does, and
//! the arrivals of the scenario are generated as long as the log. Variance over mean is counted here, without
//! the code of the fit, in windows of 1, 2, 5, … 1,000 s. A row has the process, the name of what was fitted,
//! the window that is furthest off and by which factor: for the mean of eight runs, for a single run, and for
//! another run of the true process in place of the scenario, which no fit can better.
//!
//! With `hurst`, sessions have geometric clicks of mean 5 and lognormal think times, and begin as a Poisson
//! process or as fractional noise with an H of 0.8, at three rates. A row has H of the requests in each
//! second by wavelets with its interval, the interval that simulations of the log's sessions as a Poisson
//! process have, H of session starts with its interval where they are taken for fractional noise, and
//! whether the report has a caveat.

use farfield_base::random::{Purpose, Seed};
use farfield_base::{Duration, Instant};
use farfield_fit::process::ProcessModel;
use farfield_fit::scenario::{RequestSource, TrafficSettings};
use farfield_fit::session::RequestKinds;
use farfield_fit::{Family, FitReport, FitSettings, Limits, LogSettings, Trials, Visits};
use farfield_log::{ReadTally, Record};
use farfield_traffic::ArrivalSpec;
use farfield_traffic::distribution::{Geometric, Lognormal, Univariate};
use farfield_traffic::load::LoadSpec;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs of a scenario.
const RUNS: u64 = 8;
/// Windows, in seconds.
const WINDOWS: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.last().and_then(|word| word.parse().ok()).unwrap_or(40_000);
    if words.first().is_some_and(|word| word == "hurst") {
        println!("process hurst low high alone-low alone-high starts starts-low starts-high caveat");
        for rate in ["0.5/s", "2/s", "20/s"] {
            let noise = json!({ "process": "fractional-noise", "rate": rate, "hurst": 0.8, "deviation": 0.5, "slot": "1s", "for": format!("{seconds}s") });
            for (number, process) in (0..).zip([json!(rate), noise.clone(), noise]) {
                println!("{}", memory(rate, process, seconds, 30_000 + number));
            }
        }
        return;
    }
    let cases = cases(seconds);
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(vec![String::new(); cases.len()]);
    let work = || {
        while let Some((name, process)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let number = cases.iter().position(|(own, _)| own == name).expect("it is one of them");
            let row = row(name, process.clone(), seconds, number as u64);
            eprintln!("{row}");
            rows.lock().expect("no thread panics")[number] = row;
        }
    };
    std::thread::scope(|scope| {
        let _ = [scope.spawn(work), scope.spawn(work)];
    });
    println!("process fitted window mean single true");
    rows.into_inner().expect("no thread panics").iter().for_each(|row| println!("{row}"));
}

/// The processes: fractional noise with each H at each rate, three logs of each; others at several rates and
/// time scales.
fn cases(seconds: u64) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for hurst in [0.6, 0.8, 0.9] {
        for rate in [2, 20, 200] {
            for log in 1..=3 {
                let noise = json!({ "process": "fractional-noise", "rate": format!("{rate}/s"), "hurst": hurst, "deviation": 0.5, "slot": "1s", "for": format!("{seconds}s") });
                all.push((format!("noise-{hurst}-{rate}/s-{log}"), noise));
            }
        }
    }
    for (slow, fast, up, down) in [
        ("0.2/s", "3/s", "1/min", "1/min"),
        ("2/s", "30/s", "1/min", "4/min"),
        ("20/s", "100/s", "20/h", "1/min"),
        ("0.5/s", "10/s", "6/min", "30/min"),
        ("100/s", "300/s", "12/min", "12/min"),
        ("1/s", "2/s", "20/h", "20/h"),
        ("10/s", "20/s", "2/min", "10/min"),
    ] {
        let markov = json!({ "process": "markov-modulated", "rates": [slow, fast], "transitions": [[0, up], [down, 0]] });
        all.push((format!("markov-{slow}-{fast}-{up}-{down}"), markov));
    }
    for (rate, sources, shape, on) in [
        (2, 10, 1.4, 5),
        (20, 10, 1.4, 5),
        (200, 50, 1.4, 5),
        (20, 50, 1.2, 1),
        (20, 100, 1.7, 20),
        (2, 3, 1.5, 30),
    ] {
        let on_off = json!({
            "process": "on-off", "rate": format!("{rate}/s"), "sources": sources,
            "on": { "distribution": "pareto", "shape": shape, "mean": format!("{on}s") },
            "off": { "distribution": "pareto", "shape": shape, "mean": format!("{}s", 4 * on) },
        });
        all.push((format!("on-off-{rate}/s-{sources}-{shape}-{on}s"), on_off));
    }
    let day = [4, 3, 2, 2, 2, 3, 4, 6, 8, 9, 9, 9, 9, 9, 9, 9, 8, 8, 8, 8, 8, 7, 6, 5];
    for (rate, parts) in [(2, 1), (20, 1), (200, 1), (20, 3), (2, 6)] {
        let length = format!("{}s", seconds / parts);
        let diurnal =
            json!({ "process": "diurnal", "rate": format!("{rate}/s"), "profile": day, "day": length });
        all.push((format!("diurnal-{rate}/s-{parts}-days"), diurnal));
    }
    for (from, to, within, stay, decay) in [
        (2, 40, 5, 60, 120),
        (2, 20, 60, 600, 1_200),
        (20, 300, 4, 60, 60),
        (20, 60, 300, 900, 3_000),
        (100, 600, 10, 300, 600),
    ] {
        let at = seconds / 4;
        let crowd = json!({
            "process": "flash-crowd", "from": format!("{from}/s"), "to": format!("{to}/s"), "at": format!("{at}s"),
            "within": format!("{within}s"), "stay": format!("{stay}s"), "decay": format!("{decay}s"),
        });
        all.push((format!("crowd-{from}/s-{to}/s-{within}s-{stay}s-{decay}s"), crowd));
    }
    all
}

fn row(name: &str, process: Value, seconds: u64, number: u64) -> String {
    let truth: ArrivalSpec = serde_json::from_value(process).expect("a process");
    let log = counts(&truth, seconds, 10_000 + number);
    let wanted = indices(&log);
    let report = fitted(&truth, seconds, 10_000 + number);
    let settings = TrafficSettings { speed: 1.0, asked: RequestSource::Paths, course: false };
    let traffic = report.traffic(&settings).expect("a log with sessions");
    let LoadSpec::Hybrid(load) = traffic.load else { unreachable!("a fit makes a hybrid load") };
    let runs: Vec<[f64; 10]> =
        (0..RUNS).map(|run| indices(&counts(&load.arrivals, seconds, 100 * number + run))).collect();
    let mean = std::array::from_fn(|scale| runs.iter().map(|run| run[scale]).sum::<f64>() / RUNS as f64);
    let (window, factor) = worst(&wanted, &mean);
    let single = worst(&wanted, &runs[0]).1;
    let other = worst(&wanted, &indices(&counts(&truth, seconds, 20_000 + number))).1;
    let kind = report.process.as_ref().map_or("none".to_owned(), |process| {
        format!("{}{}", process.model.name(), if process.along.is_some() { "+course" } else { "" })
    });
    format!("{name} {kind} {window} {factor:.3} {single:.3} {other:.3}")
}

/// A row of Hurst parameters.
fn memory(rate: &str, process: Value, seconds: u64, number: u64) -> String {
    let name = if process.is_string() { "poisson" } else { "noise-0.8" };
    let spec: ArrivalSpec = serde_json::from_value(process).expect("a process");
    let clicks = Geometric::with_mean(5.0).expect("a good mean");
    let thinks = Lognormal::new(3.0, 1.1).expect("good parameters");
    let mut rng = Seed(7).stream(Purpose::User, number);
    let mut requests = Vec::new();
    for (visitor, begin) in arrivals(&spec, seconds, number).enumerate() {
        let mut at = begin;
        for _ in 0..clicks.sample(&mut rng) as u64 {
            requests.push((at, visitor));
            at += Duration::from_secs_f64(thinks.sample(&mut rng).clamp(2.1, 590.0));
        }
    }
    // A log is a part of traffic that was there before and goes on.
    let (from, end) =
        [Duration::from_secs(1_800), Duration::from_secs(seconds)].map(|time| Instant::ZERO + time).into();
    requests.retain(|(at, _)| *at >= from && *at < end);
    requests.sort_unstable();
    let report = reported(requests.into_iter());
    let counts = report.counts.as_ref().expect("a long log");
    let reading = counts.best_hurst().expect("a long log");
    let (low, high) = reading.interval.expect("wavelets have one");
    let (alone_low, alone_high) = counts.sessions_alone.map_or((f64::NAN, f64::NAN), |alone| alone.interval);
    let starts = match report.process.as_ref().map(|process| &process.model) {
        Some(ProcessModel::FractionalNoise(noise)) => {
            format!("{:.3} {:.3} {:.3}", noise.hurst, noise.interval.0, noise.interval.1)
        }
        _ => "NaN NaN NaN".to_owned(),
    };
    let caveat = match (counts.memory_in_words().is_some(), counts.is_of_sessions()) {
        (true, true) => "sessions",
        (true, false) => "bias",
        (false, _) => "none",
    };
    format!(
        "{name}-{rate}-{number} {:.3} {low:.3} {high:.3} {alone_low:.3} {alone_high:.3} {starts} {caveat}",
        reading.hurst
    )
}

/// Arrivals in each second.
fn counts(spec: &ArrivalSpec, seconds: u64, number: u64) -> Vec<f64> {
    let mut counts = vec![0.0; seconds as usize];
    for at in arrivals(spec, seconds, number) {
        counts[(at.as_ns() / 1_000_000_000) as usize] += 1.0;
    }
    counts
}

fn arrivals(spec: &ArrivalSpec, seconds: u64, number: u64) -> impl Iterator<Item = Instant> {
    let process = spec.resolve(&mut |_| unreachable!("no file")).expect("no file");
    let end = Instant::ZERO + Duration::from_secs(seconds);
    process.start(Seed(7).stream(Purpose::Arrivals, number)).take_while(move |at| *at < end)
}

/// Variance over mean in each of the windows.
fn indices(counts: &[f64]) -> [f64; 10] {
    WINDOWS.map(|window| {
        let sums: Vec<f64> = counts.chunks_exact(window).map(|own| own.iter().sum()).collect();
        let n = sums.len() as f64;
        let mean = sums.iter().sum::<f64>() / n;
        sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / (n - 1.0) / mean
    })
}

/// The window in which two dispersions are furthest apart, and the factor.
fn worst(one: &[f64; 10], other: &[f64; 10]) -> (usize, f64) {
    let factor = |at: usize| (one[at] / other[at]).ln().abs().exp();
    let at = (0..WINDOWS.len()).max_by(|a, b| factor(*a).total_cmp(&factor(*b))).expect("ten windows");
    (WINDOWS[at], factor(at))
}

/// The report of a log of these arrivals, by a clock of milliseconds: a visitor for each, but for a name that
/// comes again hours later.
fn fitted(spec: &ArrivalSpec, seconds: u64, number: u64) -> FitReport {
    const VISITORS: usize = 2_000_000;
    let begun = arrivals(spec, seconds, number).enumerate();
    reported(begun.map(|(visitor, at)| (at, visitor % VISITORS)))
}

/// The report of requests in order of time, each with its visitor.
fn reported(requests: impl Iterator<Item = (Instant, usize)>) -> FitReport {
    let mut visits = Visits::new(Limits::default(), LogSettings::default(), RequestKinds::default());
    for (at, visitor) in requests {
        let ms = 1_000_000_000_000 + at.as_ns() / 1_000_000;
        visits.push(&Record {
            at: Instant::ZERO + Duration::from_ms(ms),
            client: visitor.to_string().as_bytes(),
            agent: b"Firefox",
            method: b"GET",
            path: b"/",
            referrer: b"",
            host: b"",
            status: 200,
            bytes: Some(900),
            transfer: None,
        });
    }
    let families = vec![Family::Exponential, Family::Weibull, Family::Lognormal];
    let mut trials = Trials::singles();
    (trials.families, trials.subsamples) = (families, 20);
    let settings = FitSettings { trials, values: 20_000, ..FitSettings::default() };
    FitReport::of(&visits, &ReadTally::default(), &settings)
}
