//! Logs from their lines to the report: each format, broken lines, any bytes at all, and sessions whose laws are
//! known coming back.

mod common;

use common::stream;
use farfield_base::{Duration, Instant};
use farfield_traffic::Distribution;
use farfield_traffic::distribution::{Exponential, Geometric, Lognormal, Zipf};
use farfield_traffic::fit::log::{
    FieldMap, Line, LogFormat, LogParser, LogReader, Record, TransferUnit, decompressed,
};
use farfield_traffic::fit::scenario::{Asked, FittedTraffic, ScenarioError, TrafficSettings};
use farfield_traffic::fit::session::Kinds;
use farfield_traffic::fit::{FitReport, FitSettings, Limits, Taking, Trials, Variable, Visits};
use proptest::prelude::*;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

const COMMON: LogFormat = LogFormat::Common { transfer: None };

/// A record with texts of its own, so that tests can keep it.
#[derive(Debug, PartialEq)]
struct Told {
    secs: f64,
    client: String,
    agent: String,
    method: String,
    path: String,
    referrer: String,
    status: u16,
    bytes: Option<u64>,
    transfer: Option<Duration>,
}

fn told(record: &Record<'_>) -> Told {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Told {
        secs: (record.at.as_ns() / 1_000_000) as f64 / 1e3,
        client: text(record.client),
        agent: text(record.agent),
        method: text(record.method),
        path: text(record.path),
        referrer: text(record.referrer),
        status: record.status,
        bytes: record.bytes,
        transfer: record.transfer,
    }
}

/// The requests of a log, and what the reader counted: requests, nothing, broken.
fn read(format: &LogFormat, log: &[u8]) -> (Vec<Told>, [u64; 3]) {
    let mut reader = LogReader::new(LogParser::new(format));
    let mut requests = Vec::new();
    reader.read(log, &mut |record| requests.push(told(record))).expect("memory does not fail");
    let tally = reader.tally();
    assert_eq!(tally.lines, tally.requests + tally.nothing + tally.broken);
    (requests, [tally.requests, tally.nothing, tally.broken])
}

fn one(format: &LogFormat, line: &str) -> Told {
    let (mut requests, counts) = read(format, line.as_bytes());
    assert_eq!(counts[0], 1, "{line}");
    requests.remove(0)
}

#[test]
fn common_lines_read() {
    let found =
        one(&COMMON, r#"host.net - - [01/Jul/1995:00:00:01 -0400] "GET /a b.html HTTP/1.0" 200 6245"#);
    let expected = Told {
        secs: 804_571_201.0,
        client: "host.net".into(),
        agent: String::new(),
        method: "GET".into(),
        path: "/a b.html".into(),
        referrer: String::new(),
        status: 200,
        bytes: Some(6245),
        transfer: None,
    };
    assert_eq!(found, expected);
    let old = one(&COMMON, r#"h - john doe [01/Jul/1995:00:00:01 -0400] "/say "hi"" 304 -"#);
    assert_eq!((old.path.as_str(), old.method.as_str(), old.bytes), (r#"/say "hi""#, "", None));
}

#[test]
fn combined_lines_read_with_transfer_times() {
    let format = LogFormat::Common { transfer: Some(TransferUnit::Seconds) };
    let line = r#"::1 - - [17/Apr/2025:05:10:56 +0100] "GET /?q=\"1\" HTTP/2.0" 200 10 "http://x/" "A \"B\" C" 0.250"#;
    let found = one(&format, line);
    assert_eq!((found.path.as_str(), found.referrer.as_str()), (r#"/?q=\"1\""#, "http://x/"));
    assert_eq!((found.agent.as_str(), found.transfer), (r#"A \"B\" C"#, Some(Duration::from_ms(250))));
    let bare = one(&format, r#"h - - [17/Apr/2025:05:10:56 +0100] "GET / HTTP/1.1" 200 10 "-" "-""#);
    assert_eq!((bare.referrer.as_str(), bare.agent.as_str(), bare.transfer), ("", "", None));
}

#[test]
fn extended_lines_follow_their_fields() {
    let log = "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes \
               time-taken cs(User-Agent)\r\n\
               2025-04-17 05:10:56.5 10.0.0.1 GET /a.asp x=1 200 512 31 Mozilla/5.0+(X11)\r\n\
               2025-04-17 05:10:57 10.0.0.1 GET /b - 404 - - -\r\n\
               #Fields: time c-ip cs-uri\n#Date: 2025-04-18 00:00:00\n05:00:00 h \"/two words\"\nshort\n";
    let (requests, counts) =
        read(&LogFormat::Extended { transfer: Some(TransferUnit::Milliseconds) }, log.as_bytes());
    assert_eq!(counts, [3, 4, 1]);
    assert_eq!((requests[0].secs, requests[0].path.as_str()), (1_744_866_656.5, "/a.asp?x=1"));
    assert_eq!((requests[0].transfer, requests[0].bytes), (Some(Duration::from_ms(31)), Some(512)));
    assert_eq!((requests[1].status, requests[1].agent.as_str(), requests[1].bytes), (404, "", None));
    assert_eq!((requests[2].path.as_str(), requests[2].secs), ("/two words", 1_744_952_400.0));
}

/// A query makes no other object unless it is kept, and `.css` with one is no click: 6 clicks were told for
/// 3. `time-taken` is in milliseconds where `#Software:` is Microsoft's, unless a unit is given.
#[test]
fn a_w3c_log_of_iis_is_read_as_iis_writes_it() {
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
    let detected = LogFormat::detect(log.as_bytes()).expect("it is seen");
    let (requests, _) = read(&detected, log.as_bytes());
    assert_eq!(
        (requests[1].path.as_str(), requests[1].transfer),
        ("/style.css?ver=4", Some(Duration::from_ms(31)))
    );
    let mut visits = Visits::new(Limits::default(), Taking::default(), Kinds::default());
    let mut reader = LogReader::new(LogParser::new(&detected));
    reader.read(log.as_bytes(), &mut |record| visits.push(record)).expect("memory does not fail");
    assert_eq!(visits.paths(), 2, "queries are cut");
    let report = FitReport::of(&visits, reader.tally(), &FitSettings::default());
    let row =
        report.sensitivity.iter().find(|row| row.thresholds == report.thresholds).expect("it is one of them");
    assert_eq!((row.sessions, row.clicks_mean), (1, 3.0));
    let given = LogFormat::Extended { transfer: Some(TransferUnit::Seconds) };
    assert_eq!(read(&given, log.as_bytes()).0[1].transfer, Some(Duration::from_secs(31)));
    let other = log.replace("Microsoft Internet Information Services 10.0", "Another 1.0");
    assert_eq!(read(&detected, other.as_bytes()).0[1].transfer, Some(Duration::from_secs(31)));
}

#[test]
fn json_lines_follow_their_map() {
    let usual = r#"{"time":"2025-04-17T05:10:56+01:00","remote_addr":"10.0.0.1","request":"GET /a HTTP/1.1","status":"200","body_bytes_sent":5,"request_time":0.5,"more":{"a":[1,null]}}"#;
    let found = one(&LogFormat::Json(Box::default()), usual);
    assert_eq!((found.secs, found.method.as_str(), found.path.as_str()), (1_744_863_056.0, "GET", "/a"));
    assert_eq!((found.status, found.bytes, found.transfer), (200, Some(5), Some(Duration::from_ms(500))));
    let map = FieldMap {
        time: "ts".into(),
        client: "request.remote_ip".into(),
        path: "request.uri".into(),
        agent: "request.headers.agent".into(),
        bytes: "size".into(),
        ..FieldMap::default()
    };
    let nested = r#"{"ts":1744863056.25,"request":{"remote_ip":"::1","uri":"/\u00e9","headers":{"agent":"x"}},"size":7}"#;
    let found = one(&LogFormat::Json(Box::new(map)), nested);
    assert_eq!((found.secs, found.client.as_str(), found.path.as_str()), (1_744_863_056.25, "::1", "/é"));
    assert_eq!((found.agent.as_str(), found.bytes), ("x", Some(7)));
}

#[test]
fn gn_lines_read() {
    let log = "1+1: Tue Aug 22 00:00:05 1995 (/cube.gif): Sent binary: GET /x/cube.gif HTTP/1.0\n\
               6+1: Tue Aug 22 00:00:28 1995 (): HTTP error: HTTP/1.0 403 Sorry, access denied.\n\
               6+1: Tue Aug 22 00:00:28 1995 (): Sorry, access denied: /var/spool/gn/Fun\n\
               UNR a.edu: Tue Aug 22 00:00:46 1995 (/): Sent cache:\n\
               nonsense\n";
    let (requests, counts) = read(&LogFormat::Gn, log.as_bytes());
    assert_eq!(counts, [3, 1, 1]);
    let briefly: Vec<(&str, &str, u16)> =
        requests.iter().map(|r| (r.client.as_str(), r.path.as_str(), r.status)).collect();
    assert_eq!(briefly[0], ("1+1", "/cube.gif", 200));
    assert_eq!((briefly[1].0, briefly[1].2), ("6+1", 403));
    assert_eq!(briefly[2], ("UNR a.edu", "/", 200));
}

#[test]
fn broken_lines_are_counted_and_the_first_shown() {
    let mut log = b"\xff\xfe broken\n\n".repeat(7);
    log.extend(vec![b'x'; 300_000]);
    log.extend(b"\nh - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1");
    let mut reader = LogReader::new(LogParser::new(&COMMON));
    reader.read(&log[..], &mut |record| assert_eq!(record.path, b"/")).expect("memory does not fail");
    let tally = reader.tally();
    assert_eq!((tally.lines, tally.requests, tally.nothing, tally.broken), (16, 1, 7, 8));
    assert_eq!(tally.shown.len(), LogReader::SHOWN_MAX);
    assert_eq!((tally.shown[1].line, tally.shown[1].why.as_str()), (3, "no time in brackets"));
}

/// A reader that gives a few bytes at a time, or fails.
struct Slow<'a>(&'a [u8], usize);

impl std::io::Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let take = self.1.min(into.len()).min(self.0.len());
        into[..take].copy_from_slice(&self.0[..take]);
        self.0 = &self.0[take..];
        if take == 0 { Err(std::io::Error::other("gone")) } else { Ok(take) }
    }
}

#[test]
fn a_stream_that_fails_says_after_which_line() {
    let mut reader = LogReader::new(LogParser::new(&COMMON));
    let error = reader.read(Slow(b"one\ntwo\nthr", 3), &mut |_| ()).expect_err("it fails");
    assert_eq!((error.line, reader.tally().broken), (2, 2));
}

#[test]
fn formats_are_told_by_their_first_lines() {
    let check = |start: &str, format: Option<LogFormat>| {
        assert_eq!(LogFormat::detect(start.as_bytes()), format, "{start}");
    };
    check("junk\nh - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1\n", Some(COMMON));
    check("#Version: 1.0\n", Some(LogFormat::Extended { transfer: None }));
    check("1+1: Tue Aug 22 00:00:05 1995 (/c): Sent text: GET /c HTTP/1.0\n", Some(LogFormat::Gn));
    check(
        r#"{"time":1744863056,"remote_addr":"h","request_uri":"/"}"#,
        Some(LogFormat::Json(Box::default())),
    );
    check("nothing known\n", None);
}

fn formats() -> impl Strategy<Value = LogFormat> {
    prop_oneof![
        Just(COMMON),
        Just(LogFormat::Common { transfer: Some(TransferUnit::Seconds) }),
        Just(LogFormat::Extended { transfer: None }),
        Just(LogFormat::Json(Box::default())),
        Just(LogFormat::Gn),
    ]
}

/// A good line of some format with some bytes changed: near enough to one to get deep into a parser.
fn near_lines() -> impl Strategy<Value = Vec<u8>> {
    let good = prop_oneof![
        Just(r#"h - - [01/Jul/1995:00:00:01 -0400] "GET /a HTTP/1.0" 200 6245 "-" "M" 0.1"#),
        Just("1+1: Tue Aug 22 00:00:05 1995 (/c): Sent text: GET /c HTTP/1.0"),
        Just(r#"{"time":1744863056,"remote_addr":"h","request_uri":"/","request_time":1}"#),
        Just("#Fields: date time c-ip cs-uri sc-status time-taken\n2025-04-17 05:10:56.5 10.0.0.1 /a 200 3"),
    ];
    (good, proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)).prop_map(
        |(line, changes)| {
            let mut line = line.as_bytes().to_vec();
            changes.iter().for_each(|(at, byte)| *at.get_mut(&mut line) = *byte);
            line
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(format in formats(), log in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(&format, &log);
    }

    #[test]
    fn lines_that_are_nearly_good_are_read_without_panic(format in formats(), lines in near_lines()) {
        read(&format, &lines);
        for length in 0..lines.len() {
            LogParser::new(&format).parse(&lines[..length]);
        }
    }

    /// How the stream cuts the bytes changes nothing.
    #[test]
    fn pieces_read_as_the_whole(format in formats(), lines in proptest::collection::vec(near_lines(), 0..8), piece in 1usize..50) {
        let log = lines.join(&b'\n');
        let whole = read(&format, &log);
        let mut reader = LogReader::new(LogParser::new(&format));
        let mut requests = Vec::new();
        let mut log = log;
        log.push(b'\n'); // the slow reader fails at its end, which would leave the last line unread
        let _ = reader.read(Slow(&log, piece), &mut |record| requests.push(told(record)));
        prop_assert_eq!(requests, whole.0);
    }

    #[test]
    fn a_common_line_reads_back(
        client in "[a-z0-9.:-]{1,20}", path in "/[!#-~]{0,40}", status in 100u16..600, bytes in any::<u32>(),
        agent in "[ !#-\\[\\]-~]{2,30}", day in 1u32..29, second in 0u32..60,
    ) {
        let line = format!(
            "{client} - - [{day:02}/Feb/2001:10:20:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"{agent}\"",
        );
        let mut parser = LogParser::new(&COMMON);
        let Line::Request(record) = parser.parse(line.as_bytes()) else { panic!("not read: {line}") };
        let found = told(&record);
        prop_assert_eq!((found.client, found.path, found.agent), (client, path, agent));
        prop_assert_eq!((found.status, found.bytes), (status, Some(u64::from(bytes))));
        let since = 980_985_600 + u64::from(day - 1) * 86_400 + 10 * 3600 + 20 * 60 + u64::from(second);
        prop_assert_eq!(record.at, Instant::from_ns(since * 1_000_000_000));
    }
}

fn visits(format: &LogFormat, log: &[u8]) -> (Visits, LogReader) {
    let mut visits = Visits::new(Limits::default(), Taking::default(), Kinds::default());
    let mut reader = LogReader::new(LogParser::new(format));
    reader.read(log, &mut |record| visits.push(record)).expect("memory does not fail");
    (visits, reader)
}

/// Few trials, for tests that ask for something else.
fn quick() -> FitSettings {
    let trials = Trials { mixtures: vec![], pairs_of_best: 0, subsamples: 20, ..Trials::default() };
    FitSettings { trials, ..FitSettings::default() }
}

/// A log in milliseconds of sessions with known laws: exponential gaps, geometric clicks, lognormal think times
/// from 2 s to 600 s, Zipf pages, two images a page.
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
    let near = |variable: Variable, law: &str, parameter: &str, truth: f64| {
        let fit = report.variable(variable).expect("the log has it");
        let candidate = fit.ranking.candidates.iter().find(|c| c.name == law).expect("it was tried");
        let found = candidate.estimates.iter().find(|e| e.name == parameter).expect("a parameter");
        let error = found.error.expect("a regular one");
        assert!(
            (found.value - truth).abs() < 4.0 * error,
            "{variable:?} {law} {parameter}: {found:?} not {truth}"
        );
    };
    near(Variable::SessionGap, "exponential", "mean", 20.0);
    near(Variable::Clicks, "geometric", "p", 0.25);
    near(Variable::ThinkTime, "lognormal", "mu", 3.0);
    near(Variable::ThinkTime, "lognormal", "sigma", 0.5);
    assert_eq!(report.variable(Variable::Clicks).expect("there").ranking.candidates[0].name, "geometric");
    assert_eq!(report.variable(Variable::PageObjects), None, "always three: no law to fit");
    let here = report.sensitivity.iter().find(|s| s.thresholds == report.thresholds).expect("in the table");
    assert_eq!((here.sessions, here.embedded_mean), (u64::from(SESSIONS), 2.0));
    assert!(report.arrivals.expect("many").poisson, "{:?}", report.arrivals);
    let starts: u64 = report.site.pages.iter().map(|page| page.starts).sum();
    let ends: u64 = report.site.pages.iter().map(|page| page.ends).sum();
    assert_eq!((starts, ends), (u64::from(SESSIONS), u64::from(SESSIONS)));
    let followed =
        |page: &farfield_traffic::fit::site::FittedPage| page.next.iter().map(|f| f.count).sum::<u64>();
    assert!(report.site.pages.iter().all(|page| followed(page) + page.ends == page.clicks));
    assert_eq!(report.site.requests_covered, 1.0);
    let counts = report.counts.as_ref().expect("a long log");
    assert_eq!((counts.slots as f64 * counts.mean).round(), counts.slots as f64 * counts.mean);
    assert!(counts.hurst.len() >= 4 && counts.caveats.len() <= 2, "{counts:?}");
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
fn crawlers_are_told_apart() {
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
    let mut visits = Visits::new(limits, Taking::default(), Kinds::default());
    let log = "h - - [01/Jul/1995:00:00:01 -0400] \"GET /a?x HTTP/1.0\" 200 1\n".repeat(5);
    let mut reader = LogReader::new(LogParser::new(&COMMON));
    reader.read(log.as_bytes(), &mut |record| visits.push(record)).expect("memory does not fail");
    assert_eq!((visits.len(), visits.left_out(), visits.path(0)), (2, 3, &b"/a"[..]));
}

/// Published traces, where somebody has put them: in the folder that `FARFIELD_LOGS` names, or in `shared/data/logs` beside
/// the checkout.
#[test]
fn published_logs_read() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/logs");
    let folder = std::env::var_os("FARFIELD_LOGS").map_or(beside, Into::into);
    if !folder.is_dir() {
        return farfield_testkit::skip(
            "published_logs_read",
            "there is no folder of published logs, see FARFIELD_LOGS",
        );
    }
    let check = |name: &str, format: &LogFormat, broken_max: u64| {
        let file = std::fs::File::open(folder.join(name)).expect(name);
        let mut start = Vec::new();
        let mut log = decompressed(file).expect("it opens");
        log.by_ref().take(65_536).read_to_end(&mut start).expect("it reads");
        assert_eq!(LogFormat::detect(&start).as_ref(), Some(format), "{name}");
        let mut reader = LogReader::new(LogParser::new(format));
        reader.read(start.as_slice().chain(log), &mut |_| ()).expect("it reads");
        let tally = reader.tally();
        assert!(tally.broken <= broken_max && tally.requests > 9_000, "{name}: {tally:?}");
    };
    check("nasa_jul95_first10k.clf.xz", &COMMON, 0);
    check("nginx_2025_combined_10k.log.xz", &COMMON, 20);
    check("sdsc-http.txt.xz", &LogFormat::Gn, 20);
}

/// The law that a scenario takes is one that explains the data as well as any, and a single one where that does.
#[test]
fn a_single_law_is_preferred_and_reads_from_its_estimates() {
    let log = known_log(1_000);
    let (visits, reader) = visits(&LogFormat::Json(Box::default()), log.as_bytes());
    let trials = Trials { pairs_of_best: 2, subsamples: 50, ..Trials::default() };
    let report = FitReport::of(&visits, reader.tally(), &FitSettings { trials, ..FitSettings::default() });
    for (variable, law) in [(Variable::ThinkTime, "lognormal"), (Variable::Clicks, "geometric")] {
        let fit = report.variable(variable).expect("the log has it");
        let preferred = fit.ranking.preferred(fit.mean).expect("there are laws");
        assert_eq!(preferred.name, law, "{variable:?}");
        assert!((preferred.mean() / fit.mean - 1.0).abs() < 0.05);
    }
    for fit in &report.variables {
        for candidate in &fit.ranking.candidates {
            let model = candidate.model().expect("estimates make a law");
            assert_eq!(model.to_string(), candidate.name);
            let (one, other) = (fit.observation.mean(&model), candidate.mean());
            assert!(one == other || (one / other - 1.0).abs() < 1e-9, "{}: {one} {other}", candidate.name);
        }
    }
}

/// Ten times as fast, at the mean rate.
fn fitted(report: &FitReport, asked: Asked) -> Result<FittedTraffic, ScenarioError> {
    report.traffic(&TrafficSettings { speed: 10.0, asked, course: false })
}

/// Fit, generate, fit again: the same laws, within what both fits can tell.
#[test]
fn traffic_of_a_report_is_like_the_log() {
    let log = known_log(2_000);
    let (visits, reader) = visits(&LogFormat::Json(Box::default()), log.as_bytes());
    let report = FitReport::of(&visits, reader.tally(), &quick());
    let traffic = fitted(&report, Asked::Site("site.json".into())).expect("a log with sessions");
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
    let mut load = common::holding(&site);
    let set = traffic.requests.resolve(&mut load, farfield_base::random::Seed(1)).expect("the site");
    assert!(set.pages().iter().all(|page| page.embedded.len() == 2), "two images a page");
    let pages = report.site.pages.len();
    assert_eq!(set.pages().len(), pages);
    let own = fitted(&report, Asked::Paths).expect("a log with sessions");
    assert_eq!((own.requests.requests().len(), own.load), (pages, traffic.load));
}

#[test]
fn a_log_without_users_makes_no_traffic() {
    let log = "h - - [01/Jul/1995:00:00:01 -0400] \"GET /a HTTP/1.0\" 404 1\n".repeat(3);
    let (visits, reader) = visits(&COMMON, log.as_bytes());
    let report = FitReport::of(&visits, reader.tally(), &quick());
    assert!(fitted(&report, Asked::Paths).is_err());
}
