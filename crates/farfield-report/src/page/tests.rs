//! The page's words and drawings, of runs whole and damaged, and that nothing hostile becomes script.

use super::*;
use crate::directory::SUMMARY_FILE;
use crate::export::{HISTOGRAMS_FILE, SAMPLES_FILE};
use crate::terminal::scene::{Scene, killed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_base::{Duration, Instant, Outcome};
use farfield_measure::samples::{Keep, RunLabel, SamplesWriter};
use farfield_measure::{Summary, hlog, series};
use sha2::{Digest, Sha256};
use std::fs;
use tempfile::TempDir;

/// Names that would be markup, script, an end of text or a control sequence where they are not escaped.
const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "</title></style></pre><script>alert(1)//",
    "<!-- <![CDATA[ ]]>",
    "\x1b[2J\u{0}\u{202e}javascript:alert(1)",
    "&lt;script&gt; &amp;#60;",
];

fn directory(scene: &Scene, summary: &Summary) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
    let label = RunLabel { scenario: "quick".to_owned(), seed: 42 };
    let mut writer = SamplesWriter::create(Vec::new(), label, Keep::All, None).expect("memory takes all");
    writer.write(&scene.samples).expect("memory takes all");
    writer.checkpoint().expect("memory takes all");
    write(SAMPLES_FILE, writer.file());
    let fold = scene.fold();
    let mut bytes = Vec::new();
    series::write_parquet(fold.series().rows(&[4, 4, 4]), &mut bytes).expect("memory takes all");
    write("series.parquet", &bytes);
    let mut log = Vec::new();
    let until = Instant::from_ns(3_000_000_000);
    hlog::write(&fold, &scene.stats, Duration::from_secs(1), until, &mut log).expect("memory takes all");
    write(HISTOGRAMS_FILE, &log);
    write(SUMMARY_FILE, summary.to_json().as_bytes());
    write(
        "environment.json",
        b"{\"kernel\": \"6.1\", \"settings\": [{\"name\": \"a.b\", \"value\": \"1\"}]}",
    );
    write("scenario.toml", b"name = 'quick'\n");
    folder
}

fn page(scene: &Scene) -> String {
    let folder = directory(scene, &scene.summary());
    render(&RunDirectory::open(folder.path()).expect("a run"))
}

#[test]
fn a_page_has_every_section_and_nothing_from_elsewhere() {
    let page = page(&Scene::good());
    for part in [
        ">VALID</h2>",
        "Thresholds",
        "Load and results",
        ">Throughput<",
        ">Response time of successful requests<",
        ">Users, requests under way and connections<",
        ">Times by percentile<",
        ">Requests on each connection<",
        ">Gaps between arrivals<",
        ">Variance-time plot<",
        "settings.a.b",
        "farfield run ",
        "class=\"shade\"",
        "milliseconds",
    ] {
        assert!(page.contains(part), "`{part}` is not in the page");
    }
    assert!(!page.contains("class=\"none\""), "something is not shown");
    let outside =
        page.replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1:8080/index.html", "");
    for from_elsewhere in ["http:", "https:", " src=", "@import", "url("] {
        assert!(!outside.contains(from_elsewhere), "`{from_elsewhere}` is in the page");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let verdict = page.find(">VALID</h2>").expect("a verdict");
    assert!(verdict < page.find("<table>").expect("a table"), "the verdict comes first");
}

/// The policy lets one script run, and the page has one, to the byte.
#[test]
fn the_policy_names_the_script() {
    let page = page(&Scene::good());
    let script = page.split("<script>").nth(1).and_then(|rest| rest.split("</script>").next()).expect("one");
    let digest = STANDARD.encode(Sha256::digest(script.as_bytes()));
    assert!(page.contains(&format!("script-src 'sha256-{digest}'")));
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.find("Content-Security-Policy") < page.find("<style>"));
}

#[test]
fn nothing_hostile_is_markup() {
    let plain = page(&Scene::good().across(&["a", "b"]));
    for hostile in HOSTILE {
        let mut scene = Scene::good().across(&[hostile, "b"]);
        scene.heading.scenario = hostile.to_owned();
        scene.heading.target = hostile.to_owned();
        scene.heading.note = Some(hostile.to_owned());
        scene.heading.path = Some(hostile.to_owned());
        scene.heading.load_words = hostile.to_owned();
        scene.heading.started_at = hostile.to_owned();
        scene.stats.warnings = vec![hostile.to_owned()];
        scene.stats.interrupted = Some(hostile.to_owned());
        scene.stats.plane = hostile.to_owned();
        let folder = directory(&scene, &scene.summary());
        let toml = toml::Table::from_iter([("name".to_owned(), toml::Value::String(hostile.to_owned()))]);
        fs::write(folder.path().join("scenario.toml"), toml.to_string()).expect("written");
        let machine = serde_json::json!({ "kernel": hostile, hostile: "x" }).to_string();
        fs::write(folder.path().join("environment.json"), machine).expect("written");
        let page = render(&RunDirectory::open(folder.path()).expect("a run"));
        let unescaped =
            ["<script>alert", "<img src", "<svg onload", "\"><svg", "</title></style>", "<!-- <!"];
        for part in unescaped {
            assert!(!page.contains(part), "{hostile:?}: `{part}` is in the page");
        }
        assert_eq!(page.matches("<script").count(), plain.matches("<script").count(), "{hostile:?}");
        assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{hostile:?}");
        assert!(!page.contains('\u{202e}'), "{hostile:?}");
    }
}

#[test]
fn what_is_missing_or_damaged_costs_its_own_section() {
    let scene = Scene::good();
    let folder = directory(&scene, &killed());
    let open = || render(&RunDirectory::open(folder.path()).expect("a run"));
    assert!(open().contains(">INCOMPLETE</h2>"));
    for name in [SAMPLES_FILE, "series.parquet", HISTOGRAMS_FILE, "environment.json"] {
        fs::write(folder.path().join(name), "nothing of the kind").expect("written");
        let page = open();
        assert!(page.contains(&format!("Not shown: {name}")), "{name}");
        assert!(page.contains("Load and results"), "{name}");
        fs::remove_file(folder.path().join(name)).expect("removed");
        assert!(open().contains(&format!("Not shown: {name}")), "{name}");
    }
}

/// A check that does not apply has not failed, and the page says so where it counts checks.
#[test]
fn checks_are_counted_as_the_terminal_counts_them() {
    for scene in [Scene::good(), Scene::worst()] {
        let summary = scene.summary();
        let text = crate::terminal::render(&summary, crate::terminal::Look::default());
        let counted = text.lines().find(|line| line.contains("do not apply")).expect("counts");
        let counted = counted.trim_start_matches(|c: char| !c.is_ascii_digit());
        assert!(page(&scene).contains(&format!("<summary>{counted}</summary>")), "{counted}");
    }
}

/// The first failed check of the list is one from which others follow.
#[test]
fn causes_come_before_what_follows_from_them() {
    let mut summary = Scene::worst().summary();
    let failed: Vec<usize> = (0..summary.verdict.checks.len())
        .filter(|at| summary.verdict.checks[*at].state == farfield_measure::verdict::CheckState::Failed)
        .collect();
    let (first, last) = (failed[0], failed[failed.len() - 1]);
    for at in &failed {
        summary.verdict.checks[*at].follows_from = None;
    }
    let cause = summary.verdict.checks[last].name.clone();
    summary.verdict.checks[first].follows_from = Some(cause.clone());
    let mut page = String::new();
    tables::verdict(&mut page, &summary);
    let at = |name: &str| page.find(&format!("<strong>{name}</strong>")).expect("a failed check");
    assert!(at(&cause) < at(&summary.verdict.checks[first].name), "{page}");
}

#[test]
fn an_invalid_run_says_what_to_do_before_any_figure() {
    let scene = Scene::worst();
    let page = page(&scene);
    let warned = page.find("not to be believed").expect("the warning");
    assert!(warned < page.find("Load and results").expect("figures"));
    for check in scene.summary().verdict.failed() {
        assert!(page.contains(&format!("<strong>{}</strong>", check.name)), "{}", check.name);
    }
    assert!(page.contains("What to do: "), "advice");
}

/// The cells of the table behind a heading, row by row, without markup.
fn table_of(page: &str, heading: &str) -> Vec<Vec<String>> {
    let behind = page.split(&format!(">{heading}</h2>")).nth(1).expect(heading);
    let table = behind.split("</table>").next().expect("a table");
    let cells = |row: &str| {
        let cells = row.split("<td").skip(1).map(|cell| {
            let texts = cell.split_once('>').map_or("", |(_, rest)| rest).split('<');
            texts.map(|text| text.split_once('>').map_or(text, |(_, text)| text)).collect::<String>()
        });
        cells.collect::<Vec<_>>()
    };
    table.split("<tr").skip(1).map(cells).filter(|row| !row.is_empty()).collect()
}

fn number(cell: &str) -> u64 {
    cell.replace(',', "").trim().parse().unwrap_or_else(|_| panic!("{cell} is a number"))
}

/// A thousand requests of the measured part for a hundred paths and by thirty classes: twenty of each have a
/// row, and the last row has the rest, so that none is missing. Every tenth of the last path fails.
#[test]
fn what_has_no_row_is_counted_in_the_last() {
    let names: Vec<String> = (0..30).map(|number| format!("class-{number}")).collect();
    let mut scene = Scene::good().across(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        (sample.request, sample.class) = (at as u32 % 100, at as u16 % 30);
        if at % 100 == 99 {
            sample.outcome = Outcome::TimedOut;
        }
    }
    let page = page(&scene);
    let requests = table_of(&page, "Requests");
    assert_eq!((requests.len(), requests[20][0].as_str()), (21, "others"));
    assert_eq!(requests.iter().map(|row| number(&row[1])).sum::<u64>(), 1000);
    assert!(requests[..20].iter().all(|row| number(&row[1]) == 10 && row[2] == "0%"), "{requests:?}");
    // Ten of the eight hundred others.
    assert_eq!((number(&requests[20][1]), requests[20][2].as_str()), (800, "1.25%"));
    let classes = table_of(&page, "Classes of clients");
    assert_eq!((classes.len(), classes[20][0].as_str()), (21, "10 others"));
    assert_eq!(classes.iter().map(|row| number(&row[1])).sum::<u64>(), 1000);
    for (row, name) in classes.iter().zip(&names).take(20) {
        assert!(row[0] == *name && (33..=34).contains(&number(&row[1])), "{row:?}");
    }
}

/// A page of more samples than are read for it has all but what only samples show, and says what it lacks.
#[test]
fn a_page_in_bounded_time_says_what_it_lacks() {
    let mut scene = Scene::good();
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        sample.request = at as u32 % 3;
    }
    let folder = directory(&scene, &scene.summary());
    let run = RunDirectory::open(folder.path()).expect("a run");
    let samples = scene.samples.len() as u64;
    let (whole, bounded) = (render_within(&run, samples), render_within(&run, samples - 1));
    assert_eq!(whole, render(&run));
    let lacks = format!(
        "Not shown: samples.parquet: times by request, connections and arrivals, of more than {}",
        samples - 1
    );
    assert!(bounded.contains(&lacks) && !whole.contains("Not shown: samples.parquet"));
    assert!(whole.contains(">Requests<") && !bounded.contains(">Requests<"));
    assert!(bounded.contains(">Throughput<") && bounded.contains("--format html"));
}

/// The first figures of a page are those of its summary, with their intervals, and stand ahead of all tables.
#[test]
fn first_figures_stand_below_the_verdict() {
    let scene = Scene::good();
    let (page, summary) = (page(&scene), scene.summary());
    let row = page.split("<dl class=\"headline\">").nth(1).and_then(|rest| rest.split("</dl>").next());
    let row = row.expect("a row");
    let names: Vec<&str> = row.split("<dt>").skip(1).filter_map(|part| part.split("</dt>").next()).collect();
    assert_eq!(names, ["succeeded", "response time, p50", "response time, p99", "errors"]);
    let rates = summary.steady.rates.expect("rates");
    let p99 = summary
        .steady
        .times
        .response
        .as_ref()
        .and_then(|times| times.quantile_ns(farfield_measure::Quantile::P99));
    for part in [crate::figures::rate(rates.succeeded_per_s), crate::figures::time(p99.expect("a p99"))] {
        assert!(row.contains(&format!("<dd>{part}")), "{part}: {row}");
    }
    assert!(page.find("class=\"headline\"") < page.find("<table"));
}

/// Each section has an address, and the contents lead to all but the verdict.
#[test]
fn contents_lead_to_every_section() {
    let page = page(&Scene::good());
    assert!(!page.contains("<h2>") && !page.contains(CONTENTS));
    let addresses: Vec<&str> =
        page.split("<h2 id=\"").skip(1).filter_map(|part| part.split('"').next()).collect();
    let links: Vec<&str> =
        page.split("<a href=\"#").skip(1).filter_map(|part| part.split('"').next()).collect();
    assert!(links.len() > 5, "{links:?}");
    assert_eq!(addresses[1..], links[..]);
    let mut once = addresses.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), addresses.len(), "{addresses:?}");
}

/// A request without a path in the scenario has that of the summary, also where it is hostile.
#[test]
fn requests_have_the_names_of_their_paths() {
    let mut scene = Scene::good();
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        sample.request = at as u32 % 3;
    }
    let mut summary = scene.summary();
    let path = |path: &str, numbers: &[u32]| farfield_measure::summary::PathSummary {
        path: path.to_owned(),
        requests: 1,
        error_share: Some(0.0),
        outcomes: Vec::new(),
        statuses: Vec::new(),
        numbers: numbers.to_vec(),
    };
    summary.paths = vec![path("/object/8.png", &[0, 2]), path("/<script>", &[1])];
    let folder = directory(&scene, &summary);
    let page = render(&RunDirectory::open(folder.path()).expect("a run"));
    let names: Vec<String> = table_of(&page, "Requests").into_iter().map(|row| row[0].clone()).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, ["0: /object/8.png", "1: /&lt;script&gt;", "2: /object/8.png"]);
}

/// Failures of several codes: a column each, what has no code behind them, and paths with most errors first.
#[test]
fn paths_are_shown_by_status_code() {
    use farfield_measure::summary::{OutcomeCount, PathSummary, StatusCount};
    let mut summary = Scene::good().summary();
    let outcome = |name: &str, count: u64| OutcomeCount {
        name: name.to_owned(),
        fault: "server".to_owned(),
        count,
        share_interval: None,
    };
    let path = |path: &str, share: f64, statuses: &[(u16, u64)], outcomes: Vec<OutcomeCount>| PathSummary {
        path: path.to_owned(),
        requests: 10,
        error_share: Some(share),
        outcomes,
        statuses: statuses
            .iter()
            .map(|(status, count)| StatusCount { status: *status, count: *count })
            .collect(),
        numbers: Vec::new(),
    };
    summary.paths = vec![
        path("/fine", 0.0, &[(200, 10)], vec![outcome("ok", 10)]),
        path(
            "/bad",
            0.9,
            &[(200, 1), (404, 3), (503, 2)],
            vec![outcome("timed-out", 4), outcome("status-4xx", 3)],
        ),
    ];
    let mut page = String::new();
    errors::by_path(&mut page, &summary);
    let heads: Vec<&str> =
        page.split("<th scope=\"col\">").skip(1).filter_map(|part| part.split("</th>").next()).collect();
    assert_eq!(heads, ["path", "requests", "errors", "200", "404", "503", "timed-out"]);
    let page = format!("<h2>x</h2>{page}");
    let rows = table_of(&page, "x");
    let row = |at: usize| rows[at].iter().map(|cell| cell.trim()).collect::<Vec<_>>();
    assert_eq!(row(0), ["/bad", "10", "90%", "1", "3", "2", "4"]);
    assert_eq!(row(1), ["/fine", "10", "0%", "10", "0", "0", "0"]);
}
