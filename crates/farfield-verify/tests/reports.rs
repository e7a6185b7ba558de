//! Reports of real tools, as they printed them: each figure is read as it stands there.

use farfield_verify::audit::{Reported, Time, Tool, read_report};

macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("reports/", $name))
    };
}

/// All reports, and whose they are.
const REPORTS: [(&str, Tool); 18] = [
    (report!("wrk.txt"), Tool::Wrk),
    (report!("wrk-latency.txt"), Tool::Wrk),
    (report!("ab.txt"), Tool::Ab),
    (report!("ab-close.txt"), Tool::Ab),
    (report!("h2load.txt"), Tool::H2load),
    (report!("h2load-timed.txt"), Tool::H2load),
    (report!("httperf.txt"), Tool::Httperf),
    (report!("httperf-calls.txt"), Tool::Httperf),
    (report!("k6.txt"), Tool::K6),
    (report!("k6-summary.json"), Tool::K6),
    (report!("oha.txt"), Tool::Oha),
    (report!("oha.json"), Tool::Oha),
    (report!("locust.txt"), Tool::Locust),
    (report!("locust-stats.csv"), Tool::Locust),
    (report!("jmeter.jtl"), Tool::Jmeter),
    (report!("jmeter-xml.jtl"), Tool::Jmeter),
    (report!("jmeter.txt"), Tool::Jmeter),
    (report!("requests.csv"), Tool::Csv),
];

fn read(text: &str) -> Reported {
    read_report(None, text).expect("a report")
}

/// So many units of so many nanoseconds, printed to the step of `step_ns`.
fn time(ns: u64, step_ns: u64) -> Option<Time> {
    Some(Time { ns, step_ns })
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn percentiles(report: &Reported) -> Vec<(f64, u64)> {
    report.percentiles.iter().map(|percentile| (percentile.percent, percentile.time.ns)).collect()
}

#[test]
fn each_report_is_known_for_what_it_is() {
    for (text, tool) in REPORTS {
        assert_eq!(read(text).tool, tool);
        assert_eq!(read_report(Some(tool), text), read_report(None, text), "{tool:?}");
    }
    assert_eq!(Tool::of_program("wrk2"), Some(Tool::Wrk2));
    assert_eq!(Tool::of_program("jmeter.sh"), Some(Tool::Jmeter));
    assert_eq!(Tool::of_program("curl"), None);
}

#[test]
fn wrk() {
    let report = read(report!("wrk-latency.txt"));
    assert_eq!((report.requests, report.errors, report.concurrency), (Some(36_363), Some(330), Some(10)));
    assert_eq!((report.rate_per_s, report.duration), (Some(6054.60), time(6_010 * MS, 10 * MS)));
    assert_eq!(report.bytes, Some(7_874_806)); // 7.51 MiB
    assert_eq!((report.mean, report.sd), (time(19_200 * US, 10 * US), time(74_350 * US, 10 * US)));
    assert_eq!(report.max, time(501_390 * US, 10 * US));
    let expected = [(50.0, 1_230 * US), (75.0, 1_360 * US), (90.0, 5_560 * US), (99.0, 430_380 * US)];
    assert_eq!(percentiles(&report), expected);
    let plain = read(report!("wrk.txt"));
    assert_eq!((plain.requests, plain.errors, plain.percentiles.len()), (Some(22_235), Some(253), 0));
    assert_eq!(plain.mean, time(1_490 * US, 10 * US));
    assert_eq!(read_report(None, report!("wrk-refused.txt")), None);
    let other =
        report!("wrk.txt").replace("  2 threads", "  Thread calibration: mean lat.: 1.2ms\n  2 threads");
    assert_eq!(read(&other).tool, Tool::Wrk2, "which adds nothing");
}

#[test]
fn ab() {
    let report = read(report!("ab.txt"));
    assert_eq!((report.requests, report.concurrency), (Some(12_000), Some(4)));
    assert_eq!(report.errors, Some(125), "its 125 failures of length are the same replies");
    assert_eq!((report.rate_per_s, report.bytes), (Some(2636.19), Some(2_886_375)));
    assert_eq!((report.mean, report.duration), (time(1_517 * US, US), time(4_552 * MS, MS)));
    assert_eq!(
        (report.min, report.sd, report.max),
        (time(MS, MS), time(9_200 * US, 100 * US), time(501 * MS, MS))
    );
    let expected = [
        (50.0, 1),
        (66.0, 1),
        (75.0, 1),
        (80.0, 1),
        (90.0, 1),
        (95.0, 2),
        (98.0, 4),
        (99.0, 5),
        (100.0, 501),
    ];
    assert_eq!(percentiles(&report), expected.map(|(percent, ms)| (percent, ms * MS)));
    let close = read(report!("ab-close.txt"));
    assert_eq!((close.requests, close.concurrency), (Some(500), Some(2)));
    assert_eq!(close.percentiles.last().map(|last| last.time.ns), Some(15 * MS));
}

#[test]
fn h2load() {
    let report = read(report!("h2load.txt"));
    assert_eq!((report.requests, report.errors, report.concurrency), (Some(10_000), Some(113), Some(10)));
    assert_eq!((report.rate_per_s, report.bytes), (Some(4844.44), Some(2_164_915)));
    assert_eq!((report.mean, report.sd), (time(2_060 * US, 10 * US), time(15_910 * US, 10 * US)));
    assert_eq!((report.min, report.max), (time(1_060 * US, 10 * US), time(501_530 * US, 10 * US)));
    assert_eq!(report.duration, time(2_060 * MS, 10 * MS));
    let timed = read(report!("h2load-timed.txt"));
    assert_eq!((timed.requests, timed.errors, timed.rate_per_s), (Some(39_055), Some(420), Some(6509.17)));
}

#[test]
fn httperf() {
    let report = read(report!("httperf.txt"));
    assert_eq!((report.requests, report.errors, report.concurrency), (Some(600), Some(10), Some(51)));
    assert_eq!((report.rate_per_s, report.duration), (Some(100.0), time(5_999 * MS, MS)));
    assert_eq!(report.mean, time(23_700 * US, 200 * US), "response 23.7 ms and transfer 0.0 ms");
    let calls = read(report!("httperf-calls.txt"));
    assert_eq!((calls.requests, calls.errors, calls.mean), (Some(500), Some(6), time(7_500 * US, 200 * US)));
    assert_eq!(calls.rate_per_s, Some(100.7));
}

#[test]
fn k6() {
    let text = read(report!("k6.txt"));
    assert_eq!((text.requests, text.errors, text.concurrency), (Some(17_605), Some(177), Some(5)));
    assert_eq!((text.rate_per_s, text.bytes), (Some(2_933.410_977), Some(3_800_000)));
    assert_eq!((text.mean, text.min), (time(1_650 * US, 10 * US), time(1_040 * US, 10 * US)));
    assert_eq!(text.max, time(501_840 * US, 10 * US));
    assert_eq!(percentiles(&text), [(50.0, 1_400 * US), (90.0, 1_740 * US), (95.0, 1_960 * US)]);
    let json = read(report!("k6-summary.json"));
    assert_eq!((json.requests, json.errors, json.concurrency), (Some(17_605), Some(177), Some(5)));
    assert_eq!((json.mean, json.max), (time(1_655_926, 0), time(501_846_776, 0)));
    assert_eq!(json.bytes, Some(3_812_320));
    assert_eq!(percentiles(&json), [(50.0, 1_404_017), (90.0, 1_740_145), (95.0, 1_967_807)]);
}

/// The form of `handleSummary`, which has the figures in `values`, and the failures of k6 before version 1.
#[test]
fn k6_in_its_other_forms() {
    let json = r#"{"metrics":{"http_req_duration":{"type":"trend","contains":"time","values":
        {"avg":2.5,"min":1,"med":2,"max":9,"p(99)":8.25}},"http_reqs":{"values":{"count":40,"rate":4}},
        "http_req_failed":{"values":{"rate":0.05,"passes":2,"fails":38}}}}"#;
    let report = read(json);
    assert_eq!((report.requests, report.errors, report.mean), (Some(40), Some(2), time(2_500 * US, 0)));
    assert_eq!(percentiles(&report), [(50.0, 2 * MS), (99.0, 8_250 * US)]);
    let old = "http_req_duration......: avg=1.2s min=90µs max=1m2.5s\nhttp_req_failed......: 5.00% ✓ 2 ✗ 38\n\
               http_reqs....: 40 4.0/s\n";
    let report = read(old);
    assert_eq!((report.errors, report.mean), (Some(2), time(1_200 * MS, 10 * MS)));
    assert_eq!((report.min, report.max), (time(90 * US, 10), time(62_500 * MS, 10 * MS)));
}

#[test]
fn oha() {
    let text = read(report!("oha.txt"));
    assert_eq!((text.requests, text.errors), (Some(28_180), Some(251)), "cut off at the end is no error");
    assert_eq!((text.rate_per_s, text.duration), (Some(4690.966), time(6_009_210_100, 100)));
    assert_eq!((text.mean, text.max), (time(2_119_500, 100), time(498_574_500, 100)));
    assert_eq!(percentiles(&text)[6..], [(99.0, 8_189_100), (99.9, 21_228_900), (99.99, 498_572_200)]);
    let json = read(report!("oha.json"));
    assert_eq!((json.requests, json.errors, json.bytes), (Some(300), Some(2), Some(29_876)));
    assert_eq!((json.mean, json.duration), (time(1_837_064, 0), time(112_439_120, 0)));
    assert_eq!(json.percentiles.len(), 9);
    assert_eq!(percentiles(&json)[6..], [(99.0, 13_315_726), (99.9, 13_438_987), (99.99, 13_438_987)]);
}

#[test]
fn locust() {
    let table = read(report!("locust.txt"));
    assert_eq!((table.requests, table.errors, table.rate_per_s), (Some(4_190), Some(48), Some(757.31)));
    assert_eq!((table.mean, table.min, table.max), (time(5 * MS, MS), time(MS, MS), time(500 * MS, MS)));
    let expected = [
        (50.0, 3),
        (66.0, 5),
        (75.0, 7),
        (80.0, 7),
        (90.0, 9),
        (95.0, 11),
        (98.0, 12),
        (99.0, 14),
        (99.9, 500),
        (99.99, 500),
        (100.0, 500),
    ];
    assert_eq!(percentiles(&table), expected.map(|(percent, ms)| (percent, ms * MS)));
    assert_eq!(table.percentiles[8].time.step_ns, 10 * MS, "two digits of 500 ms");
    let csv = read(report!("locust-stats.csv"));
    assert_eq!((csv.requests, csv.errors), (Some(3_829), Some(43)), "written a second before the end");
    assert_eq!((csv.mean, csv.max), (time(5_484_097, 0), time(500_572_313, 0)));
    assert_eq!(percentiles(&csv), percentiles(&table));
}

/// Figures of the rows by a few lines of Python: `statistics.pstdev`, and the value at rank ceil(np).
#[test]
fn jmeter() {
    let csv = read(report!("jmeter.jtl"));
    assert_eq!((csv.requests, csv.errors, csv.concurrency), (Some(100), Some(4), Some(5)));
    assert_eq!((csv.mean, csv.sd), (time(18_460 * US, MS), time(19_274_034, MS)));
    assert_eq!((csv.min, csv.max, csv.bytes), (time(MS, MS), time(71 * MS, MS), Some(21_520)));
    let expected = [(50.0, 12), (75.0, 24), (90.0, 46), (95.0, 54), (99.0, 71), (99.9, 71)];
    assert_eq!(percentiles(&csv), expected.map(|(percent, ms)| (percent, ms * MS)));
    assert_eq!((csv.duration, csv.rate_per_s), (time(400 * MS, MS), Some(250.0)));
    let bare = report!("jmeter.jtl").split_once('\n').expect("a line of names").1;
    assert_eq!(read(bare), csv, "without the line of names");
    let xml = read(report!("jmeter-xml.jtl"));
    assert_eq!((xml.requests, xml.errors, xml.concurrency), (Some(40), Some(0), Some(5)));
    assert_eq!((xml.mean, xml.max, xml.bytes), (time(32_450 * US, MS), time(243 * MS, MS), Some(8_680)));
    assert_eq!(percentiles(&xml)[..3], [(50.0, 3 * MS), (75.0, 5 * MS), (90.0, 235 * MS)]);
    let text = read(report!("jmeter.txt"));
    assert_eq!((text.requests, text.errors, text.rate_per_s), (Some(8_427), Some(78), Some(1385.8)));
    assert_eq!((text.mean, text.max), (time(3 * MS, MS), time(509 * MS, MS)));
}

/// Samples of embedded resources stand within that of their page, which has their time in its own.
#[test]
fn jmeter_counts_pages_not_what_is_in_them() {
    let xml = "<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">\n\
        <httpSample t=\"30\" ts=\"1000\" s=\"true\" lb=\"a > b\" by=\"9\" na=\"1\">\n\
        <httpSample t=\"10\" ts=\"1010\" s=\"false\" by=\"4\" na=\"1\"/>\n</httpSample>\n\
        <sample t=\"20\" ts=\"1040\" s=\"false\" by=\"1\" na=\"2\"/>\n</testResults>";
    let report = read(xml);
    assert_eq!((report.requests, report.errors, report.mean), (Some(2), Some(1), time(25 * MS, MS)));
    assert_eq!(report.duration, time(60 * MS, MS));
}

#[test]
fn a_plain_table() {
    let report = read(report!("requests.csv"));
    assert_eq!((report.requests, report.errors, report.bytes), (Some(4), Some(2), Some(310)));
    assert_eq!((report.mean, report.max), (time(2_500 * US, 0), time(4 * MS, 0)));
    assert_eq!((report.duration, report.rate_per_s), (time(2 * S, 0), Some(2.0)));
    assert_eq!(report.notes.len(), 1, "one row has no time: {:?}", report.notes);
    let seconds = read("response_s\n0.5\n1.5\n");
    assert_eq!((seconds.mean, seconds.errors, seconds.rate_per_s), (time(S, 0), None, None));
}

#[test]
fn what_one_report_lacks_another_of_the_run_gives() {
    let both = read(report!("k6-summary.json")).filled_from(read(report!("k6.txt")));
    assert_eq!(both.mean, time(1_655_926, 0), "the file comes first");
    let both = read(report!("httperf.txt")).filled_from(read(report!("ab.txt")));
    assert_eq!((both.mean, both.max), (time(23_700 * US, 200 * US), time(501 * MS, MS)));
}

/// A report that was cut off anywhere, as that of a tool that was killed, or is not one at all, is read as
/// what is there, or not at all; it never stops the audit.
#[test]
fn damaged_reports_do_not_stop_an_audit() {
    for (text, _) in REPORTS {
        for cut in (0..text.len()).step_by(97).filter(|cut| text.is_char_boundary(*cut)) {
            let _ = read_report(None, &text[..cut]);
            let _ = read_report(None, &text[cut..]);
        }
    }
    let far = "1 threads and 99999999999999999999 connections\nThread Stats\nLatency -1ms inf NaN 5%\nRequests/sec: x\n";
    assert_eq!(read_report(Some(Tool::Wrk), far), None);
    for nothing in [
        "",
        "{",
        "{}",
        "[]",
        "Segmentation fault\n",
        "Type,Name,Request Count\n",
        "timeStamp,elapsed\n",
        "<?xml",
    ] {
        assert_eq!(read_report(None, nothing), None, "{nothing}");
    }
}
