//! Logs whose rate moves, whose sessions were cut, and that programs are in: what a fit sees of it, and what
//! the scenario makes of it.

use farfield_base::{Duration, Instant};
use farfield_fit::process::ProcessModel;
use farfield_fit::scenario::{FittedTraffic, RequestSource, TrafficSettings};
use farfield_fit::session::RequestKinds;
use farfield_fit::{Family, FitReport, FitSettings, Limits, LogSettings, Trials, Variable, Visits};
use farfield_log::{ReadTally, Record};
use farfield_testkit::draws::stream;
use farfield_testkit::keys::no_files;
use farfield_traffic::ArrivalSpec;
use farfield_traffic::distribution::{Geometric, Lognormal, Pareto, Univariate};

/// A request: seconds, client, user agent, page.
type Request = (f64, String, &'static str, u32);

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// Few trials, for tests that ask for something else.
fn quick() -> FitSettings {
    let families = vec![Family::Exponential, Family::Lognormal, Family::Pareto, Family::Weibull];
    let mut trials = Trials::singles();
    (trials.families, trials.subsamples) = (families, 20);
    FitSettings { trials, values: 20_000, ..FitSettings::default() }
}

/// The report of requests in any order, by a clock of milliseconds.
fn report(mut requests: Vec<Request>) -> FitReport {
    requests.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut visits = Visits::new(Limits::default(), LogSettings::default(), RequestKinds::default());
    for (at, client, agent, page) in &requests {
        visits.push(&Record {
            at: Instant::ZERO + Duration::from_ms(1_000_000_000_000 + (at * 1e3) as u64),
            client: client.as_bytes(),
            agent: agent.as_bytes(),
            method: b"GET",
            path: format!("/p{page}.html").as_bytes(),
            referrer: b"",
            host: b"",
            status: 200,
            bytes: Some(900),
            transfer: None,
        });
    }
    FitReport::of(&visits, &ReadTally::default(), &quick())
}

fn traffic(report: &FitReport) -> FittedTraffic {
    let settings = TrafficSettings { speed: 1.0, asked: RequestSource::Paths, course: false };
    report.traffic(&settings).expect("a log with sessions")
}

/// The instants of `seconds` of a process as a scenario writes it.
fn starts(process: serde_json::Value, seconds: f64) -> Vec<f64> {
    let spec: ArrivalSpec = serde_json::from_value(process).expect("a process");
    let arrivals = spec.resolve(&mut no_files).expect("no file").start(stream(70));
    arrivals.map(|at| at.as_secs_f64()).take_while(|at| *at < seconds).collect()
}

/// A visitor for each of these starts, who looks at one page.
fn single(starts: &[f64]) -> Vec<Request> {
    let request = |(number, at): (usize, &f64)| (*at, format!("c{number}"), BROWSER, number as u32 % 7);
    starts.iter().enumerate().map(request).collect()
}

/// A visitor for each of these starts, with geometric clicks of mean 5 and lognormal think times.
fn thinking(starts: &[f64]) -> Vec<Request> {
    let clicks = Geometric::with_mean(5.0).expect("good");
    let thinks = Lognormal::new(3.0, 1.1).expect("good");
    let mut rng = stream(71);
    let mut requests = Vec::new();
    for (number, start) in starts.iter().enumerate() {
        let mut at = *start;
        for click in 0..clicks.sample(&mut rng) as u32 {
            requests.push((at, format!("c{number}"), BROWSER, click));
            at += thinks.sample(&mut rng).clamp(2.1, 590.0);
        }
    }
    requests
}

/// The scenario's process by its name, and no scale at which it varies 1.5 times as much or as little.
#[track_caller]
fn comes_back(report: &FitReport, process: &str) {
    let traffic = traffic(report);
    let written = serde_json::to_value(&traffic.load).expect("it serializes");
    assert_eq!(written["arrivals"]["process"], process, "{:?}\n{:?}", report.process, traffic.words);
    assert!(traffic.dispersion.len() >= 8, "{:?}", traffic.dispersion);
    for scale in &traffic.dispersion {
        assert!(scale.factor() < 1.5, "{scale:?} of {:?}", traffic.dispersion);
    }
    assert!(!report.is_poisson_enough() && !report.is_renewal_enough());
}

/// Sessions at a rate with long memory. By their gaps alone they are as good as Poisson: within fifty
/// gaps the rate hardly moves.
#[test]
fn long_memory_is_seen_and_comes_back() {
    let noise = serde_json::json!({ "process": "fractional-noise", "rate": "2/s", "hurst": 0.8, "deviation": 0.5, "slot": "1s", "for": "16000s" });
    let report = report(single(&starts(noise, 16_000.0)));
    assert!(report.arrivals.expect("many").is_poisson_enough(), "what this is for: {:?}", report.arrivals);
    comes_back(&report, "fractional-noise");
    let Some(ProcessModel::FractionalNoise(found)) = report.process.as_ref().map(|process| &process.model)
    else {
        panic!("{:?}", report.process)
    };
    assert!(found.interval.0 < 0.8 && 0.8 < found.interval.1, "{found:?}");
}

#[test]
fn a_rate_that_jumps_comes_back() {
    let markov = serde_json::json!({ "process": "markov-modulated", "rates": ["0.2/s", "3/s"], "transitions": [[0, "1/min"], ["1/min", 0]] });
    comes_back(&report(single(&starts(markov, 16_000.0))), "markov-modulated");
}

/// A crowd for a quarter of an hour: a course, which the scenario follows, and which begins at the mean rate.
#[test]
fn a_crowd_comes_back_as_a_course() {
    let crowd = serde_json::json!({ "process": "flash-crowd", "from": "1/s", "to": "9/s", "at": "4000s", "within": "5s", "stay": "500s", "decay": "800s" });
    comes_back(&report(single(&starts(crowd, 16_000.0))), "schedule");
}

/// Poisson sessions, whose clicks and think times alone give H by wavelets: the report says so. Sessions that
/// have an H of 0.8 at this rate give hardly more, and there H is that of the sessions' own dispersion.
#[test]
fn memory_that_sessions_make_is_no_long_memory() {
    let poisson = report(thinking(&starts(serde_json::json!("1/s"), 8_000.0)));
    let counts = poisson.counts.expect("a long log");
    let reading = counts.best_hurst().expect("wavelets");
    assert!(reading.hurst > 0.58, "what this is for: {reading:?}");
    assert!(counts.is_of_sessions(), "{reading:?} and {:?}", counts.sessions_alone);
    let said = counts.memory_in_words().expect("a caveat");
    assert!(counts.caveats.contains(&said), "{said}");
}

/// Pareto gaps, and two in a thousand sessions that a long silence cut in two: the second halves are no
/// arrivals, and the gaps' distribution is the one that was drawn from.
#[test]
fn sessions_that_a_threshold_cut_are_left_out_of_the_gaps() {
    let gaps = Pareto::new(1.5, 0.667).expect("good");
    let mut rng = stream(72);
    let mut at = 0.0;
    let starts: Vec<f64> = (0..6_000)
        .map(|_| {
            at += gaps.sample(&mut rng);
            at
        })
        .collect();
    let mut requests = single(&starts);
    for number in (0..6_000).step_by(500) {
        requests.push((starts[number] + 700.0, format!("c{number}"), BROWSER, 3));
    }
    let report = report(requests);
    assert_eq!((report.cut.sessions, report.cut.left_out), (12, true));
    let fit = report.variable(Variable::SessionGap).expect("many gaps");
    let taken = fit.taken().expect("there is one");
    assert_eq!(taken.name, "pareto", "{:?}", fit.ranking.candidates);
    assert!((taken.estimates[0].value - 1.5).abs() < 0.08, "{:?}", taken.estimates);
}

/// Programs that call themselves browsers: found where they ask by a clock, and counted where they do not.
#[test]
fn programs_that_look_like_browsers_are_found_or_counted() {
    let people = || thinking(&starts(serde_json::json!("0.05/s"), 20_000.0));
    let mut requests = people();
    for bot in 0..3 {
        requests.extend((0..300).map(|at| (f64::from(at) * 5.0 + 0.3, format!("bot{bot}"), BROWSER, 1)));
    }
    let clocked = report(requests);
    assert_eq!(
        (clocked.crawlers.by_regularity, clocked.crawlers.requests),
        (3, 900),
        "{:?}",
        clocked.crawlers
    );
    let mut requests = people();
    let mut rng = stream(73);
    let pauses = Lognormal::new(3.0, 1.0).expect("good");
    let mut at = 0.0;
    for _ in 0..900 {
        at += pauses.sample(&mut rng).max(2.1);
        requests.push((at, "bot".to_owned(), BROWSER, 1));
    }
    let hidden = report(requests);
    assert_eq!(hidden.crawlers.by_regularity, 0, "nobody else is regular");
    let (count, share) = hidden.shares.heavy().expect("one visitor makes a tenth of the requests");
    assert!(
        count == 1 && (share - hidden.shares.busiest[0]).abs() < 1e-12 && share > 0.1,
        "{:?}",
        hidden.shares
    );
}
