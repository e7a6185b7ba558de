//! Contents of exports, read back, of runs whole and damaged.

use super::*;
use crate::terminal::scene::{Scene, killed};
use farfield_base::{Duration, Instant, Outcome, Sample};
use farfield_measure::Summary;
use farfield_measure::samples::{COLUMNS, Cell, Keep, RunLabel, SamplesWriter};
use farfield_measure::verdict::CheckState;
use quick_junit::{Report, TestCaseStatus};
use std::fs;
use tempfile::TempDir;

const MS: u64 = 1_000_000;

/// A run directory with the samples and the histograms of `scene`.
fn directory(scene: &Scene, keep: Keep) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let label = RunLabel { scenario: "quick".to_owned(), seed: 42 };
    let mut writer = SamplesWriter::create(Vec::new(), label, keep, None).expect("memory takes all");
    writer.write(&scene.samples).expect("memory takes all");
    writer.checkpoint().expect("memory takes all");
    fs::write(folder.path().join(SAMPLES_FILE), writer.file()).expect("written");
    let mut log = Vec::new();
    hlog::write(&scene.fold(), &scene.stats, Duration::from_secs(1), Instant::from_ns(3000 * MS), &mut log)
        .expect("memory takes all");
    fs::write(folder.path().join(HISTOGRAMS_FILE), log).expect("written");
    folder
}

fn text(export: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>) -> Result<String, ExportError> {
    let mut to = Vec::new();
    export(&mut to)?;
    Ok(String::from_utf8(to).expect("text"))
}

fn rows(folder: &TempDir, layout: RowFormat) -> (String, SamplesExported) {
    let mut to = Vec::new();
    let phases =
        Phases { warm_up_ns: 1000 * MS, steady_ns: 1500 * MS, drain_ns: 500 * MS, ended_early: false };
    let exported = samples(folder.path(), layout, Some(phases), &[], &mut to).expect("samples");
    (String::from_utf8(to).expect("text"), exported)
}

fn of_scene() -> Scene {
    let mut scene = Scene::good();
    for (at, sample) in scene.samples.iter_mut().enumerate() {
        sample.outcome = Outcome::ALL[at % Outcome::ALL.len()];
    }
    scene
}

#[test]
fn every_cell_of_every_sample_is_in_the_lines() {
    let scene = of_scene();
    let folder = directory(&scene, Keep::All);
    let (csv, exported) = rows(&folder, RowFormat::Csv);
    assert_eq!((exported.rows, exported.left_out, exported.complete), (1500, 0, false));
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let columns = COLUMNS.map(|(name, _)| name).into_iter().chain(["part"]).collect::<Vec<_>>();
    assert_eq!(names, columns);
    let (json, _) = rows(&folder, RowFormat::JsonLines);
    assert_eq!((csv.lines().count(), json.lines().count()), (1501, 1500));
    for ((sample, line), object) in scene.samples.iter().zip(lines).zip(json.lines()) {
        let cells: Vec<&str> = line.split(',').collect();
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(object).expect("JSON");
        assert_eq!((cells.len(), object.len()), (columns.len(), columns.len()));
        let part = match sample.due.as_ns() / MS {
            0..1000 => "warm-up",
            1000..2500 => "measured",
            _ => "drain",
        };
        assert_eq!((cells[COLUMNS.len()], &object["part"]), (part, &part.into()));
        for ((name, value), cell) in COLUMNS.iter().zip(cells) {
            let (plain, json) = match value(sample) {
                Cell::Null => (String::new(), serde_json::Value::Null),
                Cell::Number(number) => (number.to_string(), number.into()),
                Cell::Name(name) => (name.to_owned(), name.into()),
            };
            assert_eq!((cell, &object[*name]), (plain.as_str(), &json), "{name}");
        }
    }
}

#[test]
fn samples_that_were_not_kept_are_counted() {
    let folder = directory(&Scene::good(), Keep::EveryKth(std::num::NonZeroU32::new(10).expect("ten")));
    let (csv, exported) = rows(&folder, RowFormat::Csv);
    assert_eq!((exported.rows, exported.left_out), (150, 1350));
    assert_eq!(csv.lines().count(), 151);
    let (csv, _) = rows(&directory(&Scene::good(), Keep::None), RowFormat::Csv);
    assert_eq!(csv.lines().count(), 1, "the names alone");
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let check = |error: ExportError, says: &[&str]| {
        let error = error.to_string();
        assert!(says.iter().all(|says| error.contains(says)), "{error}");
    };
    let csv =
        |folder: &Path| samples(folder, RowFormat::Csv, None, &[], &mut Vec::new()).expect_err("an error");
    let empty = tempfile::tempdir().expect("a folder");
    let absent = csv(empty.path());
    assert!(absent.is_absent());
    check(absent, &["samples.parquet", "is missing", "summary.json alone"]);
    fs::create_dir(empty.path().join(SAMPLES_FILE)).expect("a folder");
    check(csv(empty.path()), &["samples.parquet", "no regular file"]);

    let folder = directory(&Scene::good(), Keep::All);
    let file = folder.path().join(SAMPLES_FILE);
    let whole = fs::read(&file).expect("the file");
    let as_text = |bytes: &[u8]| bytes.windows(24).rposition(|window| window == b"farfield.samples_version");
    let mut newer = whole.clone();
    let version = as_text(&whole).expect("a version") + 26;
    assert_eq!(newer[version], b'9');
    // A text of two digits in place of one, in a footer that is as much longer.
    newer.splice(version - 1..=version, *b"\x0299");
    let length_at = newer.len() - 8;
    let length = u32::from_le_bytes(newer[length_at..][..4].try_into().expect("four bytes")) + 1;
    newer[length_at..][..4].copy_from_slice(&length.to_le_bytes());
    fs::write(&file, newer).expect("written");
    check(csv(folder.path()), &["samples.parquet", "version 99"]);
    // Everything before the footer, whose length stands before the last four bytes.
    let mut damaged = whole;
    let (_, end) = damaged.split_last_chunk::<8>().expect("an end");
    let footer = u32::from_le_bytes(end[..4].try_into().expect("four bytes")) as usize;
    let before = damaged.len() - 8 - footer;
    damaged[4..before].fill(0xff);
    fs::write(&file, damaged).expect("written");
    check(csv(folder.path()), &["samples.parquet", "after 0 samples"]);

    fs::write(folder.path().join(HISTOGRAMS_FILE), "Tag=a,0.1,1.0,2.0,AAAA\n").expect("written");
    let log = interval_log(folder.path(), &mut Vec::new()).expect_err("an error");
    check(log, &["histograms.hlog", "histogram `a`"]);
}

/// Percentiles are those of the samples, and the last line counts all.
#[test]
fn percentiles_are_those_of_the_histogram() {
    let folder = directory(&Scene::good(), Keep::All);
    let table = text(|to| percentiles(folder.path(), "steady.response", to)).expect("percentiles");
    let rows: Vec<Vec<f64>> = table
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|number| number.parse().expect("a number")).collect())
        .collect();
    // The measured part of the scene: 1,000 requests of 1 to 10 ms, as many of each.
    for row in &rows {
        let (value, percentile, count) = (row[0], row[1], row[2]);
        let exact = (value.round() * 100.0).min(1000.0);
        assert!((value - value.round()).abs() < 0.001 * value, "{row:?}");
        assert_eq!(count, exact, "{row:?}");
        assert!(count >= 1000.0 * percentile - 1e-6, "{row:?}");
    }
    let last = rows.last().expect("rows");
    assert_eq!((last[1], last[2], last.len()), (1.0, 1000.0, 3));
    assert!(table.contains("Total count    =         1000]"), "{table}");
    let unknown = text(|to| percentiles(folder.path(), "steady.nothing", to)).expect_err("no such histogram");
    assert!(unknown.to_string().contains("steady.response, "), "{unknown}");
    let empty = text(|to| percentiles(folder.path(), "warm-up.transfer", to)).expect("an empty one or not");
    assert!(empty.contains("#[Mean"), "{empty}");
}

#[test]
fn the_interval_log_is_the_run_s() {
    let folder = directory(&Scene::good(), Keep::All);
    let log = text(|to| interval_log(folder.path(), to)).expect("a log");
    assert_eq!(log, fs::read_to_string(folder.path().join(HISTOGRAMS_FILE)).expect("the file"));
    assert!(log.starts_with('#') && log.contains("Tag=steady.response,"), "{log}");
}

/// Cases, failures and skipped cases of a document, suite by suite.
fn cases(summary: &Summary) -> Vec<(usize, usize, usize)> {
    let document = Report::deserialize_from_str(&junit::render(summary)).expect("JUnit");
    let suite = |suite: &quick_junit::TestSuite| {
        let of =
            |is: fn(&TestCaseStatus) -> bool| suite.test_cases.iter().filter(|case| is(&case.status)).count();
        let failed = of(|status| matches!(status, TestCaseStatus::NonSuccess { .. }));
        let skipped = of(|status| matches!(status, TestCaseStatus::Skipped { .. }));
        (suite.test_cases.len(), failed, skipped)
    };
    document.test_suites.iter().map(suite).collect()
}

#[test]
fn junit_has_a_case_for_each_check_and_threshold() {
    for summary in [Scene::good().summary(), Scene::worst().summary(), killed()] {
        let of_state = |state| summary.verdict.checks.iter().filter(|check| check.state == state).count();
        let broken = summary.thresholds.iter().filter(|threshold| !threshold.passed).count();
        let expected = vec![
            (summary.verdict.checks.len(), of_state(CheckState::Failed), of_state(CheckState::Skipped)),
            (summary.thresholds.len(), broken, 0),
        ];
        assert_eq!(cases(&summary), expected);
    }
    assert_eq!(cases(&Scene::good().summary())[0].1, 0);
    let killed = junit::render(&killed());
    assert!(killed.contains("the run had not ended when this was written"), "{killed}");
    let mut bare = Scene::good();
    bare.thresholds.clear();
    assert_eq!(cases(&bare.summary()).len(), 1, "no suite without cases");
}

/// Fails unless each row of a table has as many cells as its head.
#[track_caller]
fn tables_are_whole(markdown: &str) {
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = markdown.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[0].starts_with('|') && pair[1].starts_with('|'));
    assert!(pairs.clone().count() > 3, "{markdown}");
    for pair in pairs {
        assert_eq!(cells(pair[0]), cells(pair[1]), "{pair:?}");
    }
}

#[test]
fn names_of_strangers_are_text_in_every_format() {
    let mut scene = Scene::worst();
    let hostile = "</failure><script>alert(1)</script> | `x` \x1b[2J\u{0}]]> &amp; [a](b) @all";
    scene.heading.scenario = hostile.to_owned();
    scene.heading.target = hostile.to_owned();
    scene.heading.load_words = hostile.to_owned();
    scene.classes = vec![hostile.to_owned(), "b".to_owned()];
    scene.stats.warnings = vec![hostile.to_owned()];
    let summary = scene.summary();
    let xml = junit::render(&summary);
    Report::deserialize_from_str(&xml).expect("JUnit");
    assert!(!xml.contains("<script") && !xml.contains("</failure><script"), "{xml}");
    let markdown = markdown::render(&summary);
    let outside_of_code = markdown.lines().map(|line| {
        let mut parts = line.split("`` ");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.map(|part| part.split(" ``").nth(1).unwrap_or_default()).fold(first, |all, part| all + part)
    });
    for line in outside_of_code {
        assert!(!line.contains(" <script"), "{line}");
        assert!(!line.contains("](b)") || line.contains("\\](b)"), "{line}");
    }
    tables_are_whole(&markdown);
    for text in [xml, markdown] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[test]
fn markdown_begins_with_the_verdict_and_names_every_failure() {
    let good = markdown::render(&Scene::good().summary());
    assert!(good.starts_with("### `quick`: valid\n"), "{good}");
    assert!(good.contains("| response | 5.50ms | 5.00ms |"), "{good}");
    assert!(good.contains("- threshold `p99<200ms`: kept, was 10.0ms"), "{good}");
    let summary = Scene::worst().summary();
    let worst = markdown::render(&summary);
    assert!(worst.lines().next().expect("a line").ends_with(": incomplete"), "{worst}");
    let warned = worst.find("not to be believed").expect("the warning");
    assert!(warned < worst.find("| time |").expect("figures"), "{worst}");
    for check in summary.verdict.failed() {
        assert!(worst.contains(&format!("- **{}** ", check.name)), "{}", check.name);
    }
    tables_are_whole(&worst);
}

/// Figures that stalls can have moved are marked in Markdown as they are on the terminal.
#[test]
fn markdown_marks_what_stalls_can_have_moved() {
    let mut scene = Scene::good();
    assert!(!markdown::render(&scene.summary()).contains("\\*"));
    // Twice 2 ms of 2 s.
    scene.stats.workers[0].stall = Some(Duration::from_ms(2));
    scene.limits.longest_stall = Duration::from_ms(1);
    let marked = markdown::render(&scene.summary());
    assert!(marked.contains("| 10.0ms | 10.0ms\\* | 10.0ms\\* | 1,000 |"), "{marked}");
    assert!(marked.contains("\n\\* may be farfield's own time"), "{marked}");
    tables_are_whole(&marked);
}

/// Exports of a sample whose numbers are the largest there are.
#[test]
fn the_largest_numbers_are_written_out() {
    let mut scene = Scene::good();
    scene.samples =
        vec![Sample { user: u32::MAX, connection: u32::MAX - 1, body_bytes: 1 << 62, ..scene.samples[9] }];
    let (csv, _) = rows(&directory(&scene, Keep::All), RowFormat::Csv);
    let row = csv.lines().nth(1).expect("a row");
    assert!(row.contains(",4294967295,4294967294,") && row.contains(",4611686018427387904,"), "{row}");
}
