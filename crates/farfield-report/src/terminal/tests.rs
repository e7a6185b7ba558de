//! The screen, whole and at its worst.

use super::scene::{Scene, killed, unborn};
use super::*;
use farfield_base::{Duration, EarlyData, Instant, Outcome, PagePart, Stamp, TlsStats, TlsVersion};
use farfield_measure::bottleneck::BottleneckCause;
use farfield_measure::handshakes::{EarlySummary, HandshakeCpu};
use farfield_measure::{Bottleneck, MachineStats};

pub(super) fn plain(summary: &Summary) -> String {
    render(summary, Look { directory: Some("runs/2026-03-01-quick"), ..Look::default() })
}

fn fits(text: &str) {
    assert!(text.lines().count() <= LINES, "{} lines:\n{text}", text.lines().count());
    is_as_narrow(text);
}

/// The last screen has verdict, rate, percentiles, errors by their kind, and where the run is kept.
fn is_in_sight(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    for label in ["VALID|INVALID", "rate", "time", "response", "outcomes", "directory"] {
        let is_there = |word: &str| last.iter().any(|line| line.split_whitespace().next() == Some(word));
        assert!(label.split('|').any(is_there), "{label} is not in the last {LINES} lines:\n{text}");
    }
    let head = last.iter().find(|line| line.starts_with("time ")).expect("a head");
    assert!(head.contains(" p50 ") && head.contains(" p99 "), "{head}");
}

fn is_as_narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{} columns: {line}", line.chars().count());
        assert!(!line.contains('\u{1b}'), "a control character: {line:?}");
    }
}

/// The whole screen of a good run. The numbers: service is 0.9, 1.9 … 9.9 ms in equal parts and response
/// 0.1 ms more, so means are 5.4 and 5.5 ms and the p-quantile of ten equal parts is the ⌈10p⌉-th, whose
/// interval has the values beside it as its ends; a request every 2 ms is 500/s, of 1,000 and 1,200 bytes;
/// 1,500 requests on four connections are 375 each.
#[test]
fn a_good_run_reads_so() {
    let screen = "\
quick · http://127.0.0.1:8080/index.html                    2026-03-01T12:00:00Z
open loop, constant 500/s · 2.00s after 1.00s · sockets · seed 42

VALID       13 checks passed, 14 do not apply

rate        offered 500/s   sent 500/s   completed 500/s
succeeded   500/s ±0.2%   traffic 500kB/s of bodies, 600kB/s in all
time             mean      p50      p90      p99    p99.9      max         count
response       5.50ms   5.00ms   9.00ms   10.0ms   10.0ms   10.0ms         1,000
  95 %          ±0.1%     ±20%     ±11%        -        -        -
service        5.40ms   4.90ms   8.90ms   9.90ms   9.90ms   9.90ms         1,000
connect             -        -        -        -        -        -             0
reply          4.90ms   4.40ms   8.40ms   9.40ms   9.40ms   9.40ms         1,000
transfer        500µs    500µs    500µs    500µs    500µs    500µs         1,000

outcomes    1,000 ok of 1,000 requests, 0% errors
connections 4 opened, 4 at once; 375 requests each, 375 at most

thresholds  all kept: p99<200ms, errors<0.1% (95 %: 0% to 0.37%)
directory   runs/2026-03-01-quick
";
    let summary = Scene::good().summary();
    assert_eq!(plain(&summary), screen);
    fits(screen);
}

#[test]
fn the_worst_run_still_fits_and_is_loud() {
    let text = plain(&Scene::worst().summary());
    is_as_narrow(&text);
    // Above the last screen are the heading, the generator's line between two that are blank, and six
    // warnings of seven lines, with one that says that there are more.
    assert_eq!(text.lines().count(), LINES + 2 + 3 + 8, "no room is wasted:\n{text}");
    let begins = |word: &str| text.lines().any(|line| line.starts_with(word));
    for word in ["INCOMPLETE", "INVALID     14 of 27", "  ! ", "thresholds  5 of 5 FAILED", "directory"] {
        assert!(begins(word), "{word}:\n{text}");
    }
    for fault in ["  server", "  network", "  client", "  protocol"] {
        assert!(begins(fault), "{fault}:\n{text}");
    }
    is_in_sight(&text);
    assert!(text.contains(&format!("seed {}", u64::MAX)), "the seed is printed whole:\n{text}");
    assert!(text.contains("more"), "what is left out is counted:\n{text}");
    let text = render(&Scene::worst().summary(), Look { verbose: true, ..Look::default() });
    assert!(text.contains("lag p99 999s; busiest worker 100%\n"), "the generator is printed whole:\n{text}");
}

fn nothing_gave_out() -> Bottleneck {
    Bottleneck {
        first: None,
        exhausted: Vec::new(),
        in_words: "nothing gave out".to_owned(),
        seconds: 3,
        notes: Vec::new(),
    }
}

/// However much there is to say of a run, what a reader looks for is on the last screen: many warnings, a
/// table of classes, diagnostics, a verdict that has much to say itself.
#[test]
fn the_verdict_and_the_figures_stay_in_sight() {
    let many: Vec<String> = (0..20).map(|class| format!("class-{class}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut full = Scene::good();
    full.stats.workers[0].slept = Duration::from_ms(60);
    for scene in [Scene::good(), full.across(&many), Scene::worst(), Scene::worst().across(&many)] {
        let mut summary = scene.summary();
        summary.bottleneck = Some(nothing_gave_out());
        summary.generator.placement = Some("processor 1 ".repeat(20));
        for (warnings, verbose) in (0..9).flat_map(|warnings| [(warnings, false), (warnings, true)]) {
            let warning = "a warning of so many words that no line of a terminal has columns for all of them";
            summary.warnings = vec![warning.to_owned(); warnings];
            let (directory, page) = (Some("runs/a"), Some("report.html"));
            let text = render(&summary, Look { verbose, directory, page, ..Look::default() });
            is_as_narrow(&text);
            is_in_sight(&text);
            assert_eq!(text.matches("\nwarning ").count(), if verbose { warnings } else { warnings.min(6) });
            if summary.verdict.failed().count() == 1 {
                assert!(text.contains("\n    → offer at most about 300/s here\n"), "{text}");
            }
        }
    }
}

/// The path and the note of a run are at its beginning, whatever the verdict has to say.
#[test]
fn the_path_and_the_note_are_never_left_out() {
    for scene in [Scene::good(), Scene::worst()] {
        let mut summary = scene.summary();
        summary.heading.path = Some("4g, round trip 70ms; TCP cubic".to_owned());
        summary.heading.note = Some("after the index".to_owned());
        let text = plain(&summary);
        assert!(
            text.contains("\npath        4g, round trip 70ms; TCP cubic\nnote        after the index\n"),
            "{text}"
        );
        is_in_sight(&text);
    }
}

/// With one check failed at a time there is room for each with its number and limit.
/// Rows of everything are more than a screen: the page is longer, with its verdict.
#[test]
fn a_run_with_more_rows_than_a_screen_is_shown() {
    for (mut summary, verdict) in
        [(Scene::good().summary(), "VALID "), (Scene::worst().summary(), "INVALID ")]
    {
        let bottleneck = Bottleneck { in_words: "processor 1 ".repeat(200), ..nothing_gave_out() };
        summary.bottleneck = Some(bottleneck);
        let text = plain(&summary);
        assert!(text.lines().count() > LINES + 20, "{text}");
        assert!(text.lines().any(|line| line.starts_with(verdict)), "{text}");
        let has_advice =
            text.contains("\n  ! generator-lacked  62") && text.contains("\n    → raise the limit");
        assert_eq!(has_advice, verdict == "INVALID ", "{text}");
    }
    // Whatever is left of the screen, what is not valid has a cause.
    let mut summary = Scene::worst().summary();
    for complete in [false, true] {
        summary.complete = complete;
        for columns in 0..20 {
            let in_words = "processor ".repeat(columns * 7);
            summary.bottleneck = Some(Bottleneck { in_words, ..nothing_gave_out() });
            let text = plain(&summary);
            let after = text.split_once("\nINVALID ").and_then(|(_, after)| after.lines().nth(1));
            assert!(after.is_some_and(|line| line.starts_with("  ! ")), "{columns}: {text}");
        }
    }
}

#[test]
fn a_failed_check_has_its_line() {
    let mut scene = Scene::good();
    scene.stats.workers[0].slept = Duration::from_ms(60);
    let text = plain(&scene.summary());
    assert!(
        text.contains(
            "INVALID     1 of 27 checks failed, 14 do not apply\n  ! worker-cpu        97%, limit 90%\n    → offer at most about 300/s here\n"
        ),
        "{text}"
    );
    fits(&text);
}

/// Resources that gave out, and readings that failed, in full and without what a summary from elsewhere
/// could hold.
#[test]
fn a_bottleneck_reads_so() {
    let mut scene = Scene::good();
    let in_words = "the server's processor was full from second 12 (98 % of 1 processor); accept queue of 0.0.0.0:80 511/511 \
                    from second 14\u{1b}[2J";
    scene.stats.bottleneck = Some(Bottleneck {
        first: Some(BottleneckCause::Cpu),
        in_words: in_words.to_owned(),
        notes: (0..4).map(|n| format!("note {n}")).collect(),
        ..nothing_gave_out()
    });
    let text = plain(&scene.summary());
    is_as_narrow(&text);
    let expected = "\
bottleneck  the server's processor was full from second 12 (98 % of 1
            processor); accept queue of 0.0.0.0:80 511/511 from second 14";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\n  note      note 0\n  note      note 1\n"), "{text}");
    assert!(text.contains("\n            and 2 more, in summary.json\n"), "{text}");
    // Whoever asks for more has the other notes above, and they take nothing from the advice.
    scene.stats.workers[0].slept = Duration::from_ms(60);
    scene.stats.bottleneck.as_mut().expect("a bottleneck").notes =
        (0..12).map(|n| format!("note {n}")).collect();
    scene.stats.warnings = vec!["a warning".to_owned(); 9];
    let shown = |verbose| render(&scene.summary(), Look { verbose, ..Look::default() });
    let verdict = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.starts_with("INVALID "));
        let lines = lines.take_while(|line| !line.is_empty() && !line.starts_with("rate "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (short, long) = (shown(false), shown(true));
    assert!(long.contains("\nnote        note 2\n") && long.contains("\nnote        note 11\n"), "{long}");
    assert!(
        long.contains("\n            and 10 more, above\n") && long.find("note 11") < long.find("INVALID"),
        "{long}"
    );
    assert!(verdict(&short).len() > 1, "{short}");
    assert_eq!(verdict(&long), verdict(&short), "{long}");
}

/// A warning that is cut off has been made for nothing.
#[test]
fn warnings_are_printed_whole() {
    let mut scene = Scene::good();
    let words: Vec<String> = (0..40).map(|n| format!("word-{n}")).collect();
    scene.stats.warnings = vec![words.join(" "); 8];
    let text = plain(&scene.summary());
    is_as_narrow(&text);
    for word in &words {
        assert_eq!(text.split_whitespace().filter(|found| found == word).count(), 6, "{word}: {text}");
    }
    assert!(text.contains("            and 2 more, in summary.json\n"), "{text}");
    assert!(!text.contains("\nwarning     word-1"), "{text}");
}

/// A note that has no room behind its check is printed whole below it.
#[test]
fn a_run_of_errors_says_what_mends_it() {
    let mut scene = Scene::good();
    scene.thresholds = vec!["p99<200ms"];
    scene.samples.iter_mut().for_each(|sample| sample.outcome = Outcome::NoDescriptor);
    let text = plain(&scene.summary());
    let expected = "\
INVALID     2 of 27 checks failed, 13 do not apply
  ! generator-lacked  1,500, limit 0 (1500 requests found no descriptor)
    → raise the limit of open files, `ulimit -n`, or ask for fewer connections
    from it follow: something-succeeded 0%
";
    assert!(text.contains(expected), "{text}");
    fits(&text);
}

/// One cause with what to do, and what follows from it in a line, not five symptoms.
#[test]
fn the_first_cause_comes_first() {
    let mut scene = Scene::good();
    let worker = &mut scene.stats.workers[0];
    worker.slept = Duration::from_ms(60);
    worker.waited = Some(Duration::from_ms(1500));
    worker.stall = Some(Duration::from_ms(130));
    scene.stats.machine =
        Some(MachineStats { processors: 2, load: Some(7.0), others: 0.85, ..MachineStats::default() });
    (0..10).for_each(|_| scene.stats.lateness.record(Duration::from_ms(13)));
    let text = plain(&scene.summary());
    let expected = "\
INVALID     4 of 27 checks failed, 13 do not apply
  ! machine-busy      75%, limit 2%
    load 7.0 on 2 processors, other processes took 85 % of them
    → stop other work (the server counts, if it runs here), or give the workers
      processors of their own: `sockets.processors`
    from it follow: worker-cpu 97%, longest-stall 130ms, send-lateness 13.0ms
";
    assert!(text.contains(expected), "{text}");
    fits(&text);
}

/// A figure that a stall can have moved is marked where the run is valid all the same, and nothing else is.
#[test]
fn what_stalls_can_have_moved_is_marked() {
    let mut scene = Scene::good();
    let mut marked = |stall_ms| {
        scene.stats.workers[0].stall = Some(Duration::from_ms(stall_ms));
        scene.limits.longest_stall = Duration::from_ms(1);
        let text = plain(&scene.summary());
        is_as_narrow(&text);
        let row = text.lines().find(|line| line.starts_with("response ")).expect("a row").to_owned();
        let note = text.contains("* may be farfield's own time");
        assert_eq!(note, row.contains('*'), "{text}");
        (text.contains("\nVALID "), row.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>())
    };
    // Of 2 s, twice 2 ms are 0.2 %: more than a fifth of the requests beyond the p99.9, and not of the
    // p99's.
    let (valid, columns) = marked(1);
    assert!(valid && columns.iter().all(|column| !column.contains('*')), "{columns:?}");
    let (valid, columns) = marked(2);
    assert!(valid, "{columns:?}");
    let of_marks: Vec<bool> = columns.iter().take(6).map(|column| column.ends_with('*')).collect();
    assert_eq!(of_marks, [false, false, false, false, true, true], "{columns:?}");
    let (valid, columns) = marked(3);
    assert!(!valid && columns.iter().all(|column| !column.contains('*')), "{columns:?}");
}

/// Requests that were all answered after the measured part have times beside a rate of nothing, which says
/// why.
#[test]
fn a_rate_of_nothing_says_why_there_are_times() {
    let mut scene = Scene::good();
    scene.thresholds.clear();
    for sample in &mut scene.samples {
        sample.done += Duration::from_secs(4);
    }
    scene.samples.retain(|sample| sample.due >= Instant::from_ns(1_000_000_000));
    let text = plain(&scene.summary());
    assert!(text.contains("\nsucceeded   0/s (all came later)   "), "{text}");
    assert!(!plain(&Scene::good().summary()).contains("(all came later)"));
}

/// A run that is too short for intervals says how long it would need to be; one that goes on says nothing.
#[test]
fn what_has_no_interval_says_why() {
    let mut scene = Scene::good();
    scene.samples.truncate(530);
    let text = plain(&scene.summary());
    assert!(text.contains("\n  95 %      no intervals from so short a run; "), "{text}");
    assert!(text.contains(" would do for p50\n"), "{text}");
    let so_far = plain(&killed());
    assert!(!so_far.contains("  95 %"), "{so_far}");
}

/// The values beside the verdict's limits are printed where these are not the defaults.
#[test]
fn limits_that_the_scenario_changed_stand_beside_valid() {
    let mut scene = Scene::good();
    scene.limits.departure_lateness_p99 = Duration::from_ms(5);
    let text = plain(&scene.summary());
    let expected = "\
VALID       13 checks passed, 14 do not apply
            set by the scenario: departure-lateness-p99 5ms
";
    assert!(text.contains(expected), "{text}");
    scene.limits.worker_busy = farfield_base::Share::new(1.0).expect("a share");
    scene.limits.lateness_p99 = Duration::from_secs(60);
    scene.limits.arrival_lateness_p99 = Duration::from_secs(60);
    let text = plain(&scene.summary());
    let expected = "\
            set by the scenario: arrival-lateness-p99 1m, departure-lateness-p99
            5ms, lateness-p99 1m, worker-busy 1
";
    assert!(text.contains(expected), "{text}");
    fits(&text);
    assert_eq!(
        checks::beside_valid("9 checks passed", &scene.limits.changed()[..1], 80, 3),
        ["9 checks passed; set by the scenario: arrival-lateness-p99 1m"]
    );
    let brief = checks::beside_valid("9 checks passed", &scene.limits.changed(), 68, 2);
    assert_eq!(brief[1], "set by the scenario: arrival-lateness-p99 1m, +3 more");
}

#[test]
fn checks_that_do_not_apply_are_named() {
    let mut scene = Scene::good();
    scene.stats.arrivals = None;
    assert!(plain(&scene.summary()).contains("VALID       11 checks passed, 16 do not apply\n"));
}

/// Classes are a table of their own beside the 24 lines: a third of the 1,000 requests each, which take 1 to
/// 10 ms.
#[test]
fn classes_have_a_table() {
    let mut scene = Scene::good().across(&["fibre", "dsl", "a-class-with-a-long-name"]);
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        sample.class = (at % 3) as u16;
    }
    let text = plain(&scene.summary());
    let row = |name: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.starts_with(name)).expect(name);
        line[name.len()..].split_whitespace().collect()
    };
    assert_eq!(row("class "), ["share", "errors", "p50", "p99", "connect", "rate", "requests"]);
    let (fibre, dsl) = (row("fibre "), row("dsl "));
    assert_eq!((fibre[1], fibre[3], fibre[4], fibre[6]), ("0%", "10.0ms", "-", "333"), "{text}");
    assert_eq!((dsl[1], dsl[3], dsl[4], dsl[6]), ("0%", "10.0ms", "-", "333"), "{text}");
    for name in ["fibre  ", "dsl  ", "a-class-wi… "] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
    }
    assert!(text.lines().count() <= LINES + 5, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    assert!(text.contains("\nnetwork     dropped of 30 packets: lost 3\n"), "{text}");
    let many: Vec<String> = (0..20).map(|class| format!("subnet-{class}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let text = plain(&Scene::worst().across(&many).summary());
    assert!(text.contains("\n  and 12 more, in summary.json\n"), "{text}");
    assert!(text.lines().count() <= LINES + 24, "{text}");
}

/// Counts of resent requests and of drops are never cut off by what stands before them.
#[test]
fn counts_of_what_went_wrong_have_room() {
    let mut summary = Scene::good().across(&["dsl"]).summary();
    let connections = &mut summary.connections;
    (connections.requests_mean, connections.requests_max) = (Some(8.99), 158);
    connections.resent_requests = 2_848;
    let text = plain(&summary);
    assert!(text.contains("; 2,848 resent; 8.99 requests each, 158 at most\n"), "{text}");
    summary.connections.attempts = 2_850_000;
    summary.connections.established = 2_850_000;
    let text = plain(&summary);
    assert!(text.contains("; 2,848 resent; 8.99 requests each\n"), "{text}");
    summary.network.as_mut().expect("a network").packets.up = u64::MAX - 20;
    let text = plain(&summary);
    assert!(text.contains(" packets: lost 3\n"), "{text}");
    is_as_narrow(&text);
}

/// Pages of two requests, one after the other: 1 and 2 ms, 3 and 4, and so on up to 9 and 10, from the
/// first's due time.
#[test]
fn pages_have_a_table() {
    let mut scene = Scene::good();
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        sample.user = 0;
        sample.page = PagePart::of(at % 2 == 0, at % 2 == 1);
    }
    let text = plain(&scene.summary());
    let table = text.split("\npages ").nth(1).expect("a table of pages");
    let rows: Vec<Vec<&str>> = table.lines().take(4).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["mean", "p50", "p90", "p99", "p99.9", "max", "count"]);
    // The second request is due 2 ms after the first.
    assert_eq!((rows[1][0], rows[1][1], rows[1][7]), ("response", "8.00ms", "500"), "{text}");
    assert_eq!((rows[2][0], rows[2][6], rows[3].len()), ("html", "11.5ms", 0), "{text}");
    assert!(text.lines().count() <= LINES + 4, "{text}");
}

#[test]
fn a_killed_run_is_marked_and_its_numbers_are_there() {
    let text = plain(&killed());
    assert!(text.contains("\nINCOMPLETE  the run had not ended when this was written\nINVALID "), "{text}");
    assert!(text.contains("response       5.50ms"), "{text}");
    fits(&text);
}

#[test]
fn nothing_measured_reads_as_nothing() {
    let text = plain(&unborn());
    assert!(text.contains("0 ok of 0 requests, nothing came to an end"), "{text}");
    assert!(text.contains("response            -"), "{text}");
    fits(&text);
}

#[test]
fn colour_only_when_asked() {
    let summary = Scene::good().summary();
    let coloured = render(&summary, Look { colour: true, ..Look::default() });
    assert!(coloured.contains("\u{1b}[1;32mVALID\u{1b}[0m  "));
    let plain = render(&summary, Look::default());
    assert!(!plain.contains('\u{1b}') && !plain.contains("directory"));
}

/// A handshake every 2 ms, of 2 ms each, three of four resumed. A line that is too wide is cut.
#[test]
fn handshakes_have_a_line() {
    let mut scene = Scene::good();
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        sample.connected = Stamp::at(sample.due);
        let secured = sample.due + Duration::from_ms(2);
        let early = EarlyData::Unsent;
        sample.tls = Some(TlsStats { secured, version: TlsVersion::Tls13, resumed: at % 4 != 0, early });
    }
    let mut summary = scene.summary();
    let text = plain(&summary);
    let line = "\ntls         1,000 handshakes, 75% resumed, 500/s, p50 2.00ms, p99 2.00ms\n";
    assert!(text.contains(line), "{text}");
    fits(&text);

    let handshakes = summary.handshakes.as_mut().expect("handshakes");
    handshakes.cpu = Some(HandshakeCpu { each_ns: 103_000, worker_share: 0.1153 });
    let text = render(&summary, Look { verbose: true, ..Look::default() });
    assert!(text.contains("\nhandshakes  103µs of CPU each, at most 11.53% of a worker's time\n"), "{text}");
    let handshakes = summary.handshakes.as_mut().expect("handshakes");
    handshakes.early = Some(EarlySummary { accepted_share: 0.5, rejected_share: 0.02 });
    let text = plain(&summary);
    let line = "\n            50% with a request as early data; 2% with one that was rejected\n";
    assert!(text.contains(line), "{text}");
    let handshakes = summary.handshakes.as_mut().expect("handshakes");
    (handshakes.time.count, handshakes.per_s, handshakes.resumed_share) = (u64::MAX, 1e9, 0.999_999);
    fits(&plain(&summary));
}

#[test]
fn lists_end_in_how_many_more() {
    let items = |n: usize| (0..n).map(|at| format!("item{at}")).collect::<Vec<_>>();
    assert_eq!(list(items(2), 20), "item0, item1");
    assert_eq!(list(items(4), 20), "item0, +3 more");
    assert_eq!(list(items(4), 1), "+4 more");
}

/// A fifth of 1,000 requests was open at the end, a second old and more: what is measured of the others is
/// not all, and the line below says so. Those of 1 and 6 ms are the open ones, so the 500th of 1,000 took 7
/// ms; of the p90 it is known that it is more than the largest age.
#[test]
fn what_was_open_has_a_line_below_the_times() {
    let mut scene = Scene::good();
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        if at % 5 == 0 {
            sample.outcome = Outcome::Unfinished;
            sample.done = sample.due + farfield_base::Duration::from_ms(4000);
        }
    }
    scene.thresholds = vec!["p99<200ms"];
    let text = plain(&scene.summary());
    let line =
        |begins: &str| text.lines().find(|line| line.starts_with(begins)).unwrap_or_else(|| panic!("{text}"));
    let words = |begins: &str| line(begins).split_whitespace().collect::<Vec<_>>();
    assert_eq!(words("  estimate")[2..], ["7.00ms", ">4.00s", ">4.00s", ">4.00s", "-", "1,000"], "{text}");
    assert!(words("  estimate")[1].starts_with('>'), "{text}");
    assert!(line("  client").contains("unfinished 200 (4.00s to 4.00s old)"), "{text}");
    assert!(line("thresholds").contains("p99<200ms was more than 4.00s"), "{text}");
    fits(&text);
}
