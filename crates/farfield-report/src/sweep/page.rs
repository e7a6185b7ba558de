//! A sweep as a page of HTML: one file, complete without scripts.

pub(super) mod facets;

use super::claims::{finding, word};
use super::names::ShortNames;
use super::story::Story;
use super::{cell, changes_in_words, in_words, kind, origin};
use crate::figures;
use crate::html::{self, escaped, table};
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::effects::{EffectChange, MetricEffects};
use farfield_experiment::sweep::{
    LengthChange, PairedChange, PointReport, RunRecord, Scale, Setting, SweepReport, Unit,
};
use std::fmt::Write;

const STYLE: &str = "td.unsure,th.unsure{color:var(--muted,#666)}.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26em),1fr));gap:1em}\
    .charts>*{min-width:0;margin:0}details{margin:1em 0}";

/// The page.
pub fn render(report: &SweepReport, story: &Story) -> String {
    let names = ShortNames::of_sweep(report);
    let mut page = html::begin_family(&escaped(&title(report)), STYLE);
    let _ = writeln!(page, "<p>{}</p>", escaped(&summary(report)));
    paragraphs(&mut page, &[story.source.as_str(), &story.saw, &story.here]);
    claims(&mut page, report);
    paragraphs(&mut page, &[&story.noticed]);
    for chart in story.drawn(report) {
        let _ = writeln!(page, "<div>{}</div>", chart.html());
    }
    shortened(&mut page, &names);
    points(&mut page, report, &names);
    doubts(&mut page, report, &names);
    lengths(&mut page, report);
    facets::charts(&mut page, report, &names);
    against_first(&mut page, report, &names);
    effects(&mut page, report, &names);
    runs(&mut page, report);
    page.push_str(EXPLANATION);
    html::end_family(&mut page);
    page
}

/// The meaning of the words and numbers of the page.
const EXPLANATION: &str = "<h2>How to read this</h2>\n<p>Runs are made in blocks, each with a run of every point in an order that is drawn, and all \
    with one seed, so that points are compared by pairs. A mean over repeats has Student's 95 % interval; means of times and rates are geometric. Only valid runs \
    count. A change is called a difference if it is one at 5 % with all lines of its table considered together (Holm 1979); <em>may be none</em> \
    says that it is not shown, not that there is none. Shares of variation are sums of squares of an analysis of variance, on logarithms of times and rates.</p>\n";

fn title(report: &SweepReport) -> String {
    let experiment = &report.experiment;
    let mut letters = experiment.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn summary(report: &SweepReport) -> String {
    let invalid = report.runs.iter().filter(|run| !run.counts()).count();
    let valid = if invalid == 0 { "all valid".to_owned() } else { format!("{invalid} of them not valid") };
    let ended = match &report.ended {
        Ended::Done => String::new(),
        Ended::BudgetOver => " The time was over before all runs were made.".to_owned(),
        Ended::Interrupted => " It was interrupted.".to_owned(),
        Ended::Disturbed(cause) | Ended::Failed(cause) => format!(" It ended early: {cause}."),
    };
    let until =
        report.until.as_ref().map_or(String::new(), |until| format!(" Points were repeated until {until}."));
    format!("{} points, {} runs, {valid}.{until}{ended}", report.points.len(), report.runs.len())
}

/// Texts of paragraphs, which blank lines separate.
fn paragraphs(page: &mut String, texts: &[&str]) {
    for paragraph in texts.iter().flat_map(|text| text.split("\n\n")).map(str::trim) {
        if !paragraph.is_empty() {
            let _ = writeln!(page, "<p>{}</p>", escaped(paragraph));
        }
    }
}

/// The claims, each with what was found.
fn claims(page: &mut String, report: &SweepReport) {
    if report.claims.is_empty() {
        return;
    }
    page.push_str("<h2>Claims</h2>\n");
    let rows = report.claims.iter().map(|judged| {
        vec![
            escaped(&judged.claim.says),
            word(judged.verdict).to_lowercase(),
            escaped(&finding(report, judged)),
        ]
    });
    table(page, &["claim", "<verdict", "<found"], &rows.collect::<Vec<_>>());
    let level = report.claims[0].level * 100.0;
    let _ = writeln!(
        page,
        "<p>A claim holds if all of its {level:.2} % interval does, and fails if none of it does. Claims that are undecided get more runs, \
         and the level allows for each look at them.</p>"
    );
}

/// The whole of values that have a short name.
fn shortened(page: &mut String, names: &ShortNames) {
    let item = |(setting, short): (&Setting, &str)| {
        let key = escaped(names.key(&setting.key));
        format!("<li>{key}={}: <code>{}</code></li>", escaped(short), escaped(&setting.value))
    };
    let items: String = names.shortened().map(item).collect();
    if !items.is_empty() {
        let _ = writeln!(page, "<ul>{items}</ul>");
    }
}

fn metrics(report: &SweepReport) -> Vec<&str> {
    let first = report.points.first().map_or(&[][..], |point| point.estimates.as_slice());
    first.iter().map(|estimate| estimate.metric.as_str()).collect()
}

fn in_settings(settings: &[Setting], names: &ShortNames) -> String {
    let words =
        settings.iter().map(|setting| format!("{}={}", names.key(&setting.key), names.value(setting)));
    words.collect::<Vec<_>>().join(" ")
}

/// Heads of columns of metrics: what stands in braces may be the name of anything.
fn heads_of<'m>(metrics: impl Iterator<Item = &'m str>) -> Vec<String> {
    metrics.map(escaped).collect()
}

fn points(page: &mut String, report: &SweepReport, names: &ShortNames) {
    page.push_str("<h2>Points</h2>\n");
    let metrics = metrics(report);
    let any_invalid = report.points.iter().any(|point| point.invalid > 0);
    let not_valid = any_invalid.then_some("<not valid");
    let named = heads_of(metrics.iter().copied());
    let named = named.iter().map(String::as_str);
    let head: Vec<&str> = ["point", "runs"].into_iter().chain(named).chain(not_valid).collect();
    let row = |point: &PointReport| {
        let label = in_settings(&point.settings, names);
        let own = if label.is_empty() { "all runs".to_owned() } else { label };
        let not_valid = any_invalid.then(|| match point.invalid {
            0 => String::new(),
            invalid => escaped(&format!("{invalid}: {}", point.causes.join(", "))),
        });
        let cells = metrics.iter().map(|metric| escaped(&cell(report, point, metric)));
        [escaped(&own), point.runs.to_string()].into_iter().chain(cells).chain(not_valid).collect()
    };
    let rows: Vec<Vec<String>> = report.points.iter().map(row).collect();
    table(page, &head, &rows);
}

/// Reasons to doubt intervals.
fn doubts(page: &mut String, report: &SweepReport, names: &ShortNames) {
    let of_point = |point: &PointReport| -> Vec<String> {
        let label = in_settings(&point.settings, names);
        let estimates = point.estimates.iter().flat_map(|estimate| {
            estimate.doubts.iter().map(move |doubt| (estimate.metric.as_str(), doubt.in_words()))
        });
        estimates.map(|(metric, words)| escaped(&format!("{label} {metric}: {words}"))).collect()
    };
    let items: Vec<String> = report.points.iter().flat_map(of_point).collect();
    if !items.is_empty() {
        let items: String = items.iter().map(|item| format!("<li>{item}</li>")).collect();
        let _ = writeln!(page, "<p>Doubts of intervals:</p>\n<ul>{items}</ul>");
    }
}

/// Changes of the lengths of runs, and why they are not long enough.
fn lengths(page: &mut String, report: &SweepReport) {
    let Some(lengths) = &report.lengths else { return };
    let changes = lengths.changes.iter().map(LengthChange::in_words);
    let refused = lengths.refused.as_ref().map(|why| format!("The interval cannot be had: {why}"));
    let items = changes.chain(refused).map(|words| format!("<li>{}</li>", escaped(&words)));
    let items: String = items.collect();
    if !items.is_empty() {
        let earlier = report.earlier_runs.len();
        let _ = writeln!(
            page,
            "<h2>Lengths</h2>\n<ul>{items}</ul>\n<p>{earlier} runs of other lengths decided that, and count for nothing else.</p>"
        );
    }
}

fn against_first(page: &mut String, report: &SweepReport, names: &ShortNames) {
    let Some(first) = report.points.first().filter(|_| report.points.len() > 1) else { return };
    let label = in_settings(&first.settings, names);
    let _ = writeln!(
        page,
        "<h2>Against {}</h2>",
        escaped(if label.is_empty() { "the first point" } else { &label })
    );
    let metrics = metrics(report);
    let named = heads_of(metrics.iter().copied());
    let head: Vec<&str> = ["point", "pairs"].into_iter().chain(named.iter().map(String::as_str)).collect();
    let row = |point: &PointReport| {
        let of = |metric: &&str| point.against_first.iter().find(|change| change.metric == **metric);
        let pairs = point.against_first.iter().map(|change| change.pairs).max().unwrap_or(0);
        let paired = |change: &PairedChange| paired(report, change);
        let cells = metrics.iter().map(|metric| of(metric).map_or("–".to_owned(), paired));
        [escaped(&in_settings(&point.settings, names)), pairs.to_string()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = report.points.iter().skip(1).map(row).collect();
    table(page, &head, &rows);
}

fn paired(report: &SweepReport, change: &PairedChange) -> String {
    let [low, high] = change.interval;
    changed(kind(report, &change.metric), [change.by, low, high], change.differs)
}

/// A change with its interval, and a doubt where it has one.
fn changed(kind: (Unit, Scale), [by, low, high]: [f64; 3], differs: bool) -> String {
    let [by, low, high] = changes_in_words(kind, [by, low, high]);
    let doubt = if differs { "" } else { "<br><em>may be none</em>" };
    format!("{by}<br><small>{low} to {high}</small>{doubt}")
}

fn effects(page: &mut String, report: &SweepReport, names: &ShortNames) {
    let Some(first) = report.effects.iter().find(|effects| !effects.variation.is_empty()) else {
        let unknown = report.effects.iter().find_map(|effects| effects.unknown.as_deref());
        if let Some(reason) = unknown {
            let _ = writeln!(page, "<h2>What moves them</h2>\n<p>Unknown: {}.</p>", escaped(reason));
        }
        return;
    };
    page.push_str("<h2>What moves them</h2>\n");
    let shown: Vec<&MetricEffects> =
        report.effects.iter().filter(|effects| effects.unknown.is_none()).collect();
    let named = heads_of(shown.iter().map(|effects| effects.metric.as_str()));
    let named = || named.iter().map(String::as_str);
    let head: Vec<&str> = ["variation comes from"].into_iter().chain(named()).collect();
    let rows = first.variation.iter().map(|row| {
        let of = |effects: &&MetricEffects| {
            let own = effects.variation.iter().find(|other| other.from == row.from);
            own.map_or("–".to_owned(), |own| {
                let doubt = own.p_value.is_some_and(|p| p > 1.0 - report.level);
                format!(
                    "{}{}",
                    figures::percent(own.share),
                    if doubt { "<br><em>may be error</em>" } else { "" }
                )
            })
        };
        [escaped(&origin(&row.from, names))].into_iter().chain(shown.iter().map(of)).collect()
    });
    table(page, &head, &rows.collect::<Vec<_>>());
    page.push_str("<h3>By how much</h3>\n");
    let head: Vec<&str> = ["", "<against"].into_iter().chain(named()).collect();
    let rows = first.changes.iter().enumerate().map(|(at, change)| {
        let of = |effects: &&MetricEffects| {
            let own = effects.changes.get(at);
            own.map_or("–".to_owned(), |own| {
                changed(kind(report, &effects.metric), [own.by, own.low, own.high], own.differs)
            })
        };
        effect_names(change, names).into_iter().chain(shown.iter().map(of)).collect()
    });
    table(page, &head, &rows.collect::<Vec<_>>());
}

/// A change and what it is held against: of two values together, each of them alone.
fn effect_names(change: &EffectChange, names: &ShortNames) -> [String; 2] {
    let own = escaped(&in_settings(&change.settings, names));
    match change.settings.len() {
        1 => [own, escaped(&in_settings(&change.against, names))],
        _ => [own, "both changes, each alone".to_owned()],
    }
}

fn runs(page: &mut String, report: &SweepReport) {
    let _ = writeln!(
        page,
        "<h2>Runs</h2>\n<details><summary>{} runs, in the order in which they were planned</summary>",
        report.runs.len()
    );
    let metrics = metrics(report);
    let named = heads_of(metrics.iter().copied());
    let named = named.iter().map(String::as_str);
    let head: Vec<&str> = ["run", "point", "seed"].into_iter().chain(named).chain(["<verdict"]).collect();
    let row = |run: &RunRecord| {
        let directory = run.directory.display().to_string();
        let value = |metric: &&str| run.reading(metric).and_then(|reading| reading.value);
        let cells = metrics.iter().map(|metric| {
            value(metric).map_or("–".to_owned(), |value| escaped(&in_words(report.unit(metric), value)))
        });
        let verdict = run.validity.cause().map_or("valid".to_owned(), |cause| format!("not valid: {cause}"));
        [escaped(&directory), (run.point + 1).to_string(), run.design.seed.to_string()]
            .into_iter()
            .chain(cells)
            .chain([escaped(&verdict)])
            .collect()
    };
    let rows: Vec<Vec<String>> = report.runs.iter().map(row).collect();
    table(page, &head, &rows);
    page.push_str("</details>\n");
}
