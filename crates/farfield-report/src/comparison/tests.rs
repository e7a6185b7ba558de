//! Comparisons of runs made of samples.

use super::fail_if::{FailIf, Judgement};
use super::metric::Metric;
use super::*;
use crate::directory::SUMMARY_FILE;
use crate::terminal::Look;
use crate::terminal::scene::{Scene, killed};
use farfield_base::Duration;
use farfield_measure::Summary;
use farfield_measure::batches::interval::{NoInterval, NoIntervalReason};
use farfield_measure::summary::{ClassSummary, EstimateSummary, EstimatedTime, PartSummary};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Folders of runs, gone with it.
struct Folders(TempDir);

impl Folders {
    fn new() -> Folders {
        Folders(tempfile::tempdir().expect("a folder"))
    }

    /// Keeps a run whose responses take `times` as long as the scene's.
    fn keep(&self, side: &str, name: &str, times: f64) {
        self.keep_scene(side, name, times, |_| {});
    }

    fn keep_scene(&self, side: &str, name: &str, times: f64, change: impl Fn(&mut Scene)) {
        let mut scene = Scene::good();
        for sample in &mut scene.samples {
            let took = sample.response_time().as_ns() as f64;
            sample.done = sample.due + Duration::from_ns((took * times) as u64);
        }
        change(&mut scene);
        let path = self.path(side).join(name);
        fs::create_dir_all(&path).expect("a folder");
        // Valid, whatever the checks say of changed samples: what is compared is not what is judged here.
        let mut summary = scene.summary();
        summary.verdict.valid = true;
        summary.verdict.checks.clear();
        fs::write(path.join(SUMMARY_FILE), summary.to_json()).expect("written");
    }

    /// Keeps a single run with a changed summary.
    fn keep_summary(&self, side: &str, change: impl Fn(&mut Summary)) {
        self.keep(side, "run-0", 1.0);
        self.change_summary(side, "run-0", change);
    }

    /// The summary of a run that was kept.
    fn summary(&self, side: &str, run: &str) -> Summary {
        let file = self.path(side).join(run).join(SUMMARY_FILE);
        Summary::from_json(&fs::read_to_string(file).expect("kept")).expect("own")
    }

    fn change_summary(&self, side: &str, run: &str, change: impl Fn(&mut Summary)) {
        let mut summary = self.summary(side, run);
        change(&mut summary);
        fs::write(self.path(side).join(run).join(SUMMARY_FILE), summary.to_json()).expect("written");
    }

    fn path(&self, side: &str) -> std::path::PathBuf {
        self.0.path().join(side)
    }

    fn compare(&self, base: &str, other: &str) -> Comparison {
        let sides = open(&[self.path(base), self.path(other)]).expect("sides");
        compare(&sides[0], &sides[1..], &Metric::DEFAULT.map(ScopedMetric::from))
    }
}

fn row<'a>(comparison: &'a Comparison, metric: &str) -> &'a MetricComparison {
    let metric: ScopedMetric = metric.parse().expect("a metric");
    comparison.others[0].rows.iter().find(|row| row.metric == metric).expect("a row")
}

/// Keeps runs of a sweep: of block `b` each takes `times` as long, and 1 + b/5 times as long for the block.
fn keep_blocks(folders: &Folders, side: &str, times: f64, blocks: std::ops::RangeInclusive<u32>) {
    for block in blocks {
        let name = format!("repeat-{block}");
        folders.keep(side, &name, times * (1.0 + f64::from(block) / 5.0));
        let design = format!(
            r#"{{"experiment":"e","number":1,"point":"","repeat":{block},"block":{block},"seed":1,"took_s":1}}"#
        );
        fs::write(folders.path(side).join(name).join("design.json"), design).expect("written");
    }
}

/// Blocks differ by more than the sides do: runs by themselves show nothing, pairs do.
#[test]
fn runs_of_one_block_are_compared_as_pairs() {
    let folders = Folders::new();
    keep_blocks(&folders, "base", 1.0, 1..=4);
    keep_blocks(&folders, "other", 1.1, 1..=5);
    let compared = folders.compare("base", "other");
    let against = &compared.others[0];
    assert_eq!(against.evidence, IntervalBasis::Pairs);
    assert!(
        against.notes.iter().any(|note| note.starts_with("one run has no partner")),
        "{:?}",
        against.notes
    );
    let mean = |compared: &Comparison| {
        let row = compared.others[0].rows.iter().find(|row| row.metric.to_string() == "mean").expect("a row");
        row.change.expect("known")
    };
    assert!(mean(&compared).differs && (mean(&compared).by - 0.1).abs() < 0.01, "{:?}", mean(&compared));
    for side in ["base", "other"] {
        for entry in fs::read_dir(folders.path(side)).expect("a folder") {
            fs::remove_file(entry.expect("a run").path().join("design.json")).expect("removed");
        }
    }
    let compared = folders.compare("base", "other");
    assert_eq!(compared.others[0].evidence, IntervalBasis::Repeats);
    assert!(!mean(&compared).differs, "{:?}", mean(&compared));
}

/// Means of 1, 1.01, 0.99 and 1.2, 1.21, 1.19 times the scene's: the difference of the logarithms, and
/// Welch's interval of it by hand.
#[test]
fn repeats_are_compared_by_welch_on_logarithms() {
    let folders = Folders::new();
    let (a, b) = ([1.0, 1.01, 0.99], [1.2, 1.21, 1.19]);
    for (at, (a, b)) in a.into_iter().zip(b).enumerate() {
        folders.keep("a", &format!("run-{at}"), a);
        folders.keep("b", &format!("run-{at}"), b);
    }
    let comparison = folders.compare("a", "b");
    let change = row(&comparison, "mean").change.expect("a change");
    let logs = |numbers: [f64; 3]| numbers.map(f64::ln);
    let mean = |of: [f64; 3]| of.iter().sum::<f64>() / 3.0;
    let squared_error = |of: [f64; 3]| of.iter().map(|x| (x - mean(of)).powi(2)).sum::<f64>() / 2.0 / 3.0;
    let (a, b) = (logs(a), logs(b));
    let (va, vb) = (squared_error(a), squared_error(b));
    let degrees = (va + vb).powi(2) / ((va * va + vb * vb) / 2.0);
    // Student's t with 3.9 degrees of freedom at 0.975 lies between 2.776 (4) and 2.815 (3.87).
    assert!((3.8..4.0).contains(&degrees), "{degrees}");
    let low = (mean(b) - mean(a) - 2.8 * (va + vb).sqrt()).exp_m1();
    assert!((change.by - (mean(b) - mean(a)).exp_m1()).abs() < 1e-4, "{change:?}");
    assert!((change.low - low).abs() < 1e-3, "{change:?} {low}");
    assert!(change.differs && comparison.others[0].differs());
    assert_eq!(comparison.others[0].evidence, IntervalBasis::Repeats);
    let judged = |condition: &str| condition.parse::<FailIf>().expect(condition).judge(&comparison.others[0]);
    assert_eq!(judged("mean +10%"), Judgement::Exceeded);
    assert_eq!(judged("mean +20%"), Judgement::Undecided);
    assert_eq!(judged("mean +30%"), Judgement::Kept);
}

#[test]
fn equal_sides_show_no_difference() {
    let folders = Folders::new();
    for (at, times) in [1.0, 1.01, 0.99].into_iter().enumerate() {
        folders.keep("a", &format!("run-{at}"), times);
        folders.keep("b", &format!("run-{at}"), times);
    }
    let comparison = folders.compare("a", "b");
    assert!(!comparison.others[0].differs() && comparison.others[0].is_known());
    let text = text::render(&comparison, &[], Look::default());
    assert!(text.contains("NO DIFFERENCE SHOWN"), "{text}");
}

#[test]
fn a_single_run_is_held_against_the_spread_of_repeats() {
    let folders = Folders::new();
    for (at, times) in [1.0, 1.01, 0.99].into_iter().enumerate() {
        folders.keep("a", &format!("run-{at}"), times);
    }
    folders.keep("b", "run-0", 1.02);
    folders.keep("c", "run-0", 2.0);
    let close = folders.compare("a", "b");
    assert_eq!(close.others[0].evidence, IntervalBasis::OneAgainstRepeats);
    assert!(!row(&close, "mean").change.expect("a change").differs);
    assert!(row(&folders.compare("a", "c"), "mean").change.expect("a change").differs);
    let back = row(&folders.compare("c", "a"), "mean").change.expect("a change");
    assert!(back.differs && (back.by + 0.5).abs() < 0.01, "{back:?}");
}

/// Two single runs, without their samples: each metric has the interval that the summaries have, on the
/// scale of logarithms and with the ends of either side, and none where one of them has none.
#[test]
fn single_runs_are_compared_by_their_own_intervals() {
    let folders = Folders::new();
    let means = [[10, 9, 12], [14, 13, 16]].map(|ms| ms.map(|ms: u64| ms * 1_000_000));
    for (side, [mean, low, high]) in ["a", "b"].into_iter().zip(means) {
        folders.keep_summary(side, |summary| {
            let times = summary.steady.times.response.as_mut().expect("answered");
            (times.mean_ns, times.mean_interval_ns, times.no_mean_interval) = (mean, Some([low, high]), None);
            let none = NoInterval::because(NoIntervalReason::TooCorrelated);
            for quantile in &mut times.quantiles {
                (quantile.interval_ns, quantile.no_interval) = (None, Some(none));
            }
            summary.steady.error_share_interval = Some([0.0, 0.001]);
        });
    }
    let comparison = folders.compare("a", "b");
    assert_eq!(comparison.others[0].evidence, IntervalBasis::WithinRuns);
    let found = row(&comparison, "mean").change.expect("a change");
    let ln = |ratio: f64| ratio.ln();
    let low = (ln(1.4) - ln(14.0 / 13.0).hypot(ln(12.0 / 10.0))).exp_m1();
    let high = (ln(1.4) + ln(16.0 / 14.0).hypot(ln(10.0 / 9.0))).exp_m1();
    assert!((found.by - 0.4).abs() < 1e-9, "{found:?}");
    assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{found:?}");
    assert!(found.p_value < 0.05 && found.low > 0.0);
    assert!(row(&comparison, "p50").unknown.expect("no interval").contains("too alike"));
    // No failures on either side: no change, by the interval that none of so many has.
    let errors = row(&comparison, "errors").change.expect("a change");
    assert_eq!((errors.by, errors.low, errors.high), (0.0, -0.001, 0.001));
    let text = text::render(&comparison, &[], Look::default());
    assert!(text.contains("by the intervals of each") && text.contains("repeat both"), "{text}");
}

/// Intervals of an older farfield took requests for independent; an estimate beyond the interval of the
/// answered requests has none.
#[test]
fn single_runs_whose_intervals_do_not_hold_say_so() {
    let folders = Folders::new();
    let whole = |summary: &mut Summary| {
        let times = summary.steady.times.response.as_mut().expect("answered");
        let (mean, none) = (times.mean_ns, None);
        (times.mean_interval_ns, times.no_mean_interval) = (Some([mean / 2, mean * 2]), none);
    };
    folders.keep_summary("a", whole);
    folders.keep_summary("old", |summary| {
        let times = summary.steady.times.response.as_mut().expect("answered");
        (times.mean_interval_ns, times.no_mean_interval) = (None, None);
    });
    let unanswered = |by: u64| {
        move |summary: &mut Summary| {
            whole(summary);
            let mean = summary.steady.times.response.as_ref().expect("answered").mean_ns;
            let mean = EstimatedTime { value_ns: mean * by / 10, is_lower_bound: false };
            summary.steady.estimates.response =
                Some(EstimateSummary { censored: 9, mean, quantiles: Vec::new() });
        }
    };
    folders.keep_summary("few", unanswered(11));
    folders.keep_summary("many", unanswered(30));
    let mean = |other: &str| row(&folders.compare("a", other), "mean").clone();
    assert!(mean("old").unknown.expect("none").contains("older farfield"));
    assert!(mean("many").unknown.expect("none").contains("never answered"));
    assert!((mean("few").change.expect("a change").by - 0.1).abs() < 0.01);
}

/// 10 ms in [9.8, 10.2] of the answered, 10.199 ms with those that were not: the interval goes along, and
/// 10.48 ms in one as wide is no more than that.
#[test]
fn the_interval_of_an_estimate_lies_around_it() {
    let folders = Folders::new();
    let run = |name: &str, mean_ns: u64, estimated_ns: Option<u64>| {
        folders.keep_summary(name, |summary| {
            let times = summary.steady.times.response.as_mut().expect("answered");
            times.mean_ns = mean_ns;
            let ends = Some([mean_ns - mean_ns / 50, mean_ns + mean_ns / 50]);
            (times.mean_interval_ns, times.no_mean_interval) = (ends, None);
            summary.steady.estimates.response = estimated_ns.map(|value_ns| {
                let mean = EstimatedTime { value_ns, is_lower_bound: false };
                EstimateSummary { censored: 9, mean, quantiles: Vec::new() }
            });
        });
    };
    run("a", 10_000_000, Some(10_199_000));
    run("plain", 10_199_000, None);
    run("b", 10_480_000, None);
    let change = |base: &str| row(&folders.compare(base, "b"), "mean").change.expect("a change");
    let (estimated, plain) = (change("a"), change("plain"));
    assert!((estimated.low - plain.low).abs() < 1e-6 && plain.low < 0.0, "{estimated:?} {plain:?}");
    assert!((estimated.high - plain.high).abs() < 1e-6, "{estimated:?} {plain:?}");
}

/// Invalid, incomplete and broken runs do not count, nor do copies in virtual time; none of them silently.
#[test]
fn what_does_not_count_is_named() {
    let folders = Folders::new();
    for name in ["run-0", "run-1"] {
        folders.keep("a", name, 1.0);
        folders.keep_scene("copies", name, 1.0, |scene| scene.stats.plane = "simulated".to_owned());
    }
    let write = |name: &str, json: &str| {
        let path = folders.path("a").join(name);
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join(SUMMARY_FILE), json).expect("written");
    };
    let mut late = Scene::good();
    late.stats.generator.samples_lost = 7;
    write("run-2", &late.summary().to_json());
    write("run-3", &killed().to_json());
    write("run-4", "{");
    let side = ComparisonSide::open(&folders.path("a")).expect("a side").summary();
    assert_eq!(side.runs, 2);
    let reasons: Vec<&str> = side.left_out.iter().map(|left_out| left_out.reason.as_str()).collect();
    assert!(reasons[0].contains("samples-lost") && reasons[1].contains("incomplete"), "{reasons:?}");
    assert!(reasons[2].contains("no summary of a run"), "{reasons:?}");
    let copies = ComparisonSide::open(&folders.path("copies")).expect("a side").summary();
    assert_eq!((copies.runs, copies.left_out.len()), (1, 1));
    assert!(copies.left_out[0].reason.contains("seed 42"), "{copies:?}");
}

#[test]
fn a_side_without_a_valid_run_is_refused() {
    let folders = Folders::new();
    let path = folders.path("a").join("run-0");
    fs::create_dir_all(&path).expect("a folder");
    fs::write(path.join(SUMMARY_FILE), killed().to_json()).expect("written");
    let error = |path: &Path| ComparisonSide::open(path).expect_err("refused").to_string();
    assert!(error(&folders.path("a")).contains("run-0: it is incomplete"));
    assert!(error(&path).contains("incomplete"));
    fs::remove_file(path.join(SUMMARY_FILE)).expect("removed");
    assert!(error(&folders.path("a")).contains("has none in it"));
    assert!(error(&folders.path("b")).contains("no directory"));
}

/// Keys that differ are listed, of the scenario and of the machine; the seed and the output are not.
#[test]
fn what_was_asked_for_differently_is_listed() {
    let folders = Folders::new();
    for (side, users, kernel) in [("a", 10, "6.1"), ("b", 20, "6.2")] {
        folders.keep(side, "run-0", 1.0);
        let path = folders.path(side).join("run-0");
        let scenario = format!(
            "seed = {users}\n[load]\nusers = {users}\n[output]\ndirectory = \"{side}\"\n[run]\nduration = \"2s\"\n"
        );
        fs::write(path.join("scenario.toml"), scenario).expect("written");
        let machine = format!(
            "{{\"schema_version\": 1, \"kernel\": \"{kernel}\", \"settings\": [{{\"name\": \"net.core.somaxconn\", \"value\": \"{users}\"}}]}}"
        );
        fs::write(path.join("environment.json"), machine).expect("written");
    }
    let comparison = folders.compare("a", "b");
    let keys: Vec<&str> = comparison.others[0].inputs.iter().map(|change| change.key.as_str()).collect();
    assert_eq!(keys, ["machine.kernel", "machine.settings.net.core.somaxconn", "load.users"]);
    let markdown = markdown::render(&comparison, &[]);
    assert!(markdown.contains("`load.users`: `10` → `20`"), "{markdown}");
}

#[test]
fn text_keeps_to_its_columns_and_lets_nothing_hostile_through() {
    let folders = Folders::new();
    for name in ["run-0", "run-1"] {
        folders.keep("a", name, 1.0);
        folders.keep_scene("b", name, 30.0, |scene| scene.heading.load_words = "\u{1b}[2Jx".repeat(50));
    }
    fs::write(folders.path("b").join("run-0").join("scenario.toml"), "name2 = \"\\u001b[2J | <b>\"")
        .expect("written");
    let comparison = folders.compare("a", "b");
    let condition: FailIf = "p99 +5%".parse().expect("a condition");
    let judged = vec![(condition.clone(), vec![condition.judge(&comparison.others[0])])];
    let text = text::render(&comparison, &judged, Look::default());
    let width = text.lines().map(|line| line.chars().count()).max();
    assert!(width <= Some(80), "{width:?}\n{text}");
    assert!(!text.contains('\u{1b}') && text.contains("EXCEEDED"), "{text}");
    let markdown = markdown::render(&comparison, &judged);
    assert!(!markdown.contains('\u{1b}') && markdown.contains("**exceeded**"), "{markdown}");
    let sides = open(&[folders.path("a"), folders.path("b")]).expect("sides");
    let page = html::render(&comparison, &judged, &drawing::ComparisonCharts::of(&sides));
    for part in ["Change by percentile", "Runs in their order", "Content-Security-Policy"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<b>") && !page.contains('\u{1b}') && page.contains("exceeded"), "{page}");
}

/// A class that got slower beside one that did not: the whole shows half of it, the class all.
#[test]
fn parts_of_runs_are_compared_by_their_names() {
    let folders = Folders::new();
    let class = |steady: &PartSummary, name: &str| ClassSummary {
        name: name.to_owned(),
        share: Some(0.5),
        steady: steady.clone(),
        pages: None,
    };
    for (side, times) in [("base", 1.0), ("other", 1.5)] {
        for number in 0..3 {
            let run = format!("run-{number}");
            folders.keep(side, &run, times * (1.0 + f64::from(number) / 100.0));
            let slow = folders.summary(side, &run).steady;
            folders.keep(side, &run, 1.0 + f64::from(number) / 100.0);
            folders.change_summary(side, &run, |summary| {
                let same = summary.steady.clone();
                summary.classes = vec![class(&same, "fibre"), class(&slow, "mobile")];
            });
        }
    }
    let sides = open(&[folders.path("base"), folders.path("other")]).expect("sides");
    let metrics: Vec<ScopedMetric> =
        ["mean", "mean{mobile}", "mean{fibre}"].iter().map(|name| name.parse().expect("a metric")).collect();
    let compared = compare(&sides[0], &sides[1..], &metrics);
    let change = |at: usize| compared.others[0].rows[at].change.expect("known");
    assert!((change(1).by - 0.5).abs() < 0.01 && change(1).differs, "{:?}", change(1));
    for same in [0, 2] {
        assert!(change(same).by.abs() < 0.001 && !change(same).differs, "{:?}", change(same));
    }
    let unknown: ScopedMetric = "p99{moblie}".parse().expect("a metric");
    let refused = unknown.check(&sides).expect_err("no such class").to_string();
    assert!(refused.contains("`moblie`; there are fibre, mobile"), "{refused}");
    assert_eq!(metrics[1].check(&sides), Ok(()));
}
