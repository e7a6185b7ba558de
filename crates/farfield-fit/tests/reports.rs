//! Logs to the report: sessions whose distributions are known come back.

use farfield_fit::scenario::{FittedTraffic, RequestSource, ScenarioError, TrafficSettings};
use farfield_fit::session::RequestKinds;
use farfield_fit::{FitReport, FitSettings, Limits, LogSettings, Trials, Variable, Visits};
use farfield_log::{LogFormat, LogParser, LogReader};
use farfield_testkit::draws::stream;
use farfield_testkit::keys;
use farfield_traffic::Distribution;
use farfield_traffic::distribution::{Exponential, Geometric, Lognormal, Zipf};
use std::fmt::Write;

const COMMON: LogFormat = LogFormat::Common { transfer: None };

fn visits(format: &LogFormat, log: &[u8]) -> (Visits, LogReader) {
    let mut visits = Visits::new(Limits::default(), LogSettings::default(), RequestKinds::default());
    let mut reader = LogReader::new(LogParser::new(format));
    reader.read(log, &mut |record| visits.push(record)).expect("memory does not fail");
    (visits, reader)
}

/// Few trials, for tests that ask for something else.
fn quick() -> FitSettings {
    let mut trials = Trials::singles();
    trials.subsamples = 20;
    FitSettings { trials, ..FitSettings::default() }
}

/// A log in milliseconds of sessions with known distributions: exponential gaps, geometric clicks, lognormal
/// think times from 2 s to 600 s, Zipf pages, two images a page.
fn known_log(sessions: u32) -> String {
    let gaps = Distribution::Exponential(Exponential::with_mean(20.0).expect("good"));
    let clicks = Distribution::Geometric(Geometric::with_mean(4.0).expect("good"));
    let thinks = Distribution::Lognormal(Lognormal::new(3.0, 0.5).expect("good"));
    let pages = Distribution::Zipf(Zipf::new(200, 0.8).expect("good"));
    let (mut rng, mut at) = (stream(30), 1e9);
    let mut lines = Vec::new();
    for session in 0..sessions {
        at += gaps.sample(&mut rng);
        let mut now = at;
        for _ in 0..clicks.sample_count(&mut rng) {
            let page = pages.sample(&mut rng);
            for (after, path) in
                [(0.0, format!("/p{page}.html")), (0.1, "/a.gif".into()), (0.2, format!("/i{page}.png"))]
            {
                lines.push((now + after, session, path));
            }
            now += 0.2 + thinks.sample(&mut rng).clamp(2.1, 599.0);
        }
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    lines.iter().fold(String::new(), |mut log, (at, session, path)| {
        let _ = writeln!(log, r#"{{"time":{at:.4},"remote_addr":"c{session}","request_uri":"{path}","status":200,"body_bytes_sent":{}}}"#, path.len() * 100);
        log
    })
}

#[test]
fn known_sessions_come_back() {
    const SESSIONS: u32 = 3_000;
    let log = known_log(SESSIONS);
    let (visits, reader) = visits(&LogFormat::Json(Box::default()), log.as_bytes());
    let report = FitReport::of(&visits, reader.tally(), &quick());
    let near = |variable: Variable, distribution: &str, parameter: &str, truth: f64| {
        let fit = report.variable(variable).expect("the log has it");
        let candidate = fit.ranking.candidates.iter().find(|c| c.name == distribution).expect("it was tried");
        let found = candidate.estimates.iter().find(|e| e.name == parameter).expect("a parameter");
        let error = found.error.expect("a regular one");
        assert!(
            (found.value - truth).abs() < 4.0 * error,
            "{variable:?} {distribution} {parameter}: {found:?} not {truth}"
        );
    };
    near(Variable::SessionGap, "exponential", "mean", 20.0);
    near(Variable::Clicks, "geometric", "p", 0.25);
    near(Variable::ThinkTime, "lognormal", "mu", 3.0);
    near(Variable::ThinkTime, "lognormal", "sigma", 0.5);
    assert_eq!(report.variable(Variable::Clicks).expect("there").ranking.candidates[0].name, "geometric");
    assert_eq!(report.variable(Variable::PageObjects), None, "always three: no distribution to fit");
    let here = report.sensitivity.iter().find(|s| s.thresholds == report.thresholds).expect("in the table");
    assert_eq!((here.sessions, here.embedded_mean), (u64::from(SESSIONS), 2.0));
    assert!(report.arrivals.expect("many").poisson, "{:?}", report.arrivals);
    let starts: u64 = report.site.pages.iter().map(|page| page.starts).sum();
    let ends: u64 = report.site.pages.iter().map(|page| page.ends).sum();
    assert_eq!((starts, ends), (u64::from(SESSIONS), u64::from(SESSIONS)));
    let followed = |page: &farfield_fit::site::FittedPage| page.next.iter().map(|f| f.count).sum::<u64>();
    assert!(report.site.pages.iter().all(|page| followed(page) + page.ends == page.clicks));
    assert_eq!(report.site.requests_covered, 1.0);
    let counts = report.counts.as_ref().expect("a long log");
    assert_eq!((counts.slots as f64 * counts.mean).round(), counts.slots as f64 * counts.mean);
    // Sessions are Poisson: what memory there is, they make themselves, and one caveat says so.
    assert!(counts.is_of_sessions() && counts.memory_in_words().is_some(), "{counts:?}");
    assert!(counts.hurst.len() >= 4 && counts.caveats.len() <= 3, "{counts:?}");
    let json = serde_json::to_string(&report).expect("it serializes");
    assert!(serde_json::from_str::<FitReport>(&json).is_ok_and(|again| again.popularity.objects == 401));
}

#[test]
fn the_same_log_gives_the_same_report() {
    let log = known_log(300);
    let report = || {
        let (visits, reader) = visits(&LogFormat::Json(Box::default()), log.as_bytes());
        serde_json::to_string(&FitReport::of(&visits, reader.tally(), &quick())).expect("it serializes")
    };
    assert_eq!(report(), report());
}

#[test]
fn crawlers_are_distinguished() {
    let line = |client: &str, agent: &str, second: u32, path: &str| {
        let (minute, second) = (second / 60, second % 60);
        format!(
            "{client} - - [01/Feb/2001:10:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 9 \"-\" \"{agent}\"\n"
        )
    };
    let mut log = line("a", "Mozilla/5.0 (compatible; Googlebot/2.1)", 0, "/");
    log += &line("b", "Mozilla/5.0", 0, "/robots.txt");
    log += &line("b", "Mozilla/5.0", 9, "/x");
    (0..70).for_each(|at| log += &line("c", "Mozilla/5.0", at / 2, &format!("/p{at}")));
    (0..70).for_each(|at| log += &line("d", "Mozilla/5.0", at, &format!("/p{at}.gif")));
    let (visits, reader) = visits(&COMMON, log.as_bytes());
    let tally = FitReport::of(&visits, reader.tally(), &quick()).crawlers;
    assert_eq!((tally.visitors, tally.by_agent, tally.by_robots, tally.by_rate), (4, 1, 1, 1));
    assert_eq!(tally.requests, 73);
}

#[test]
fn what_comes_after_a_limit_is_counted() {
    let limits = Limits { requests: 2, ..Limits::default() };
    let mut visits = Visits::new(limits, LogSettings::default(), RequestKinds::default());
    let log = "h - - [01/Jul/1995:00:00:01 -0400] \"GET /a?x HTTP/1.0\" 200 1\n".repeat(5);
    let mut reader = LogReader::new(LogParser::new(&COMMON));
    reader.read(log.as_bytes(), &mut |record| visits.push(record)).expect("memory does not fail");
    assert_eq!((visits.len(), visits.left_out(), visits.path(0)), (2, 3, &b"/a"[..]));
}

/// A query makes no other object unless it is kept, and `.css` with one is no click.
#[test]
fn a_w3c_log_of_iis_has_queries_cut() {
    let mut log = "#Software: Microsoft Internet Information Services 10.0\n\
                   #Fields: date time cs-method cs-uri-stem cs-uri-query c-ip sc-status time-taken\n"
        .to_owned();
    for click in 0..3 {
        let _ = write!(
            log,
            "2025-04-17 05:1{click}:00 GET /page.aspx id={click} 10.0.0.1 200 250\n\
             2025-04-17 05:1{click}:09 GET /style.css ver=4 10.0.0.1 200 31\n"
        );
    }
    let (visits, reader) = visits(&LogFormat::Extended { transfer: None }, log.as_bytes());
    assert_eq!(visits.paths(), 2, "queries are cut");
    let report = FitReport::of(&visits, reader.tally(), &FitSettings::default());
    let row =
        report.sensitivity.iter().find(|row| row.thresholds == report.thresholds).expect("it is one of them");
    assert_eq!((row.sessions, row.clicks_mean), (1, 3.0));
}

/// The distribution that a scenario takes is one that explains the data as well as any, and a single one
/// where that does.
#[test]
fn a_single_distribution_is_preferred_and_reads_from_its_estimates() {
    let log = known_log(1_000);
    let (visits, reader) = visits(&LogFormat::Json(Box::default()), log.as_bytes());
    let mut trials = Trials::default();
    (trials.pairs_of_best, trials.subsamples) = (2, 50);
    let report = FitReport::of(&visits, reader.tally(), &FitSettings { trials, ..FitSettings::default() });
    for (variable, distribution) in [(Variable::ThinkTime, "lognormal"), (Variable::Clicks, "geometric")] {
        let fit = report.variable(variable).expect("the log has it");
        let preferred = fit.ranking.preferred(fit.mean).expect("there are distributions");
        assert_eq!(preferred.name, distribution, "{variable:?}");
        assert!((preferred.mean() / fit.mean - 1.0).abs() < 0.05);
    }
    for fit in &report.variables {
        for candidate in &fit.ranking.candidates {
            let model = candidate.model().expect("estimates make a distribution");
            assert_eq!(model.to_string(), candidate.name);
            let (one, other) = (fit.observation.mean(&model), candidate.mean());
            assert!(one == other || (one / other - 1.0).abs() < 1e-9, "{}: {one} {other}", candidate.name);
        }
    }
}

/// Ten times as fast, at the mean rate.
fn fitted(report: &FitReport, asked: RequestSource) -> Result<FittedTraffic, ScenarioError> {
    report.traffic(&TrafficSettings { speed: 10.0, asked, course: false })
}

/// Fit, generate, fit again: the same distributions, within the errors of both fits.
#[test]
fn traffic_of_a_report_is_like_the_log() {
    let log = known_log(2_000);
    let (visits, reader) = visits(&LogFormat::Json(Box::default()), log.as_bytes());
    let report = FitReport::of(&visits, reader.tally(), &quick());
    let traffic = fitted(&report, RequestSource::Site("site.json".into())).expect("a log with sessions");
    let model = traffic.load.resolve(&mut |_| unreachable!("no file")).expect("no file");
    let farfield_traffic::LoadModel::Hybrid { arrivals, requests, think, .. } = model else {
        panic!("hybrid")
    };
    // Sessions every 20 s, ten times as fast; four clicks; lognormal think times of mean e^(3 + 0.5² / 2).
    let rate = arrivals.mean_rate().expect("Poisson").as_per_second();
    assert!((rate / 0.5 - 1.0).abs() < 0.08, "{rate}");
    assert!((requests.mean() / 4.0 - 1.0).abs() < 0.08, "{}", requests.mean());
    assert!((think.mean() / (0.1 * 3.125f64.exp()) - 1.0).abs() < 0.05, "{}", think.mean());
    let site = serde_json::to_string(&report.to_site(1).expect("a site")).expect("JSON");
    let mut load = keys::holding(&site);
    let set = traffic.requests.resolve(&mut load, farfield_base::random::Seed(1)).expect("the site");
    assert!(set.pages().iter().all(|page| page.embedded.len() == 2), "two images a page");
    let pages = report.site.pages.len();
    assert_eq!(set.pages().len(), pages);
    let own = fitted(&report, RequestSource::Paths).expect("a log with sessions");
    assert_eq!((own.requests.requests().len(), own.load), (pages, traffic.load));
}

#[test]
fn a_log_without_users_makes_no_traffic() {
    let log = "h - - [01/Jul/1995:00:00:01 -0400] \"GET /a HTTP/1.0\" 404 1\n".repeat(3);
    let (visits, reader) = visits(&COMMON, log.as_bytes());
    let report = FitReport::of(&visits, reader.tally(), &quick());
    assert!(fitted(&report, RequestSource::Paths).is_err());
}
