//! An experiment as its `question.toml` says it: what a paper saw, what is run to see it again, and the
//! claims.
//!
//! The file holds an ordinary scenario under `[scenario]`, and beside it what is varied. What is run is that
//! scenario with tables laid over it: the shorter form's, the curve's, and then the one key that is varied.

use super::column::Column;
use super::criterion::Criterion;
use super::curve::{Curve, Keys};
use super::detail::{Detail, DetailPlan};
use super::drive::Plane;
use super::server::ServerKind;
use crate::page::Method;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// The extent of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// All of it: what the pages keep.
    Full,
    /// Fewer and shorter runs, whose claims are still judged.
    Quick,
    /// The first and the last point for two seconds each, to see that all works; nothing is judged.
    Smoke,
}

/// An experiment, read from its file.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Its folder, such as `wasp/figure-9`.
    pub name: String,
    /// The runs and the claims.
    pub plan: Plan,
    scenario: Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    experiment: Plan,
    scenario: Table,
}

/// `[experiment]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// The heading of its page.
    pub title: String,
    /// Paper and figure.
    pub source: String,
    /// The paper's result, with its numbers.
    pub saw: String,
    /// The method here, and its differences from the paper.
    pub here: String,
    /// The key of the scenario that is varied, or the keys that are varied alike.
    pub vary: Keys,
    /// The unit behind each value: `ms`, `%`, or nothing.
    #[serde(default)]
    pub unit: String,
    /// Its name in the table and on the axis.
    pub label: String,
    /// On the emulated plane, the server that is started in the place, where a curve does not say.
    pub server: Option<ServerKind>,
    /// The values of the varied key, in rising order.
    pub values: Vec<Number>,
    /// The columns of the table.
    pub show: Vec<Column>,
    /// The figure, or several of the same runs.
    chart: Charts,
    /// Charts of what happened inside of runs.
    #[serde(default, rename = "detail")]
    pub details: Vec<DetailPlan>,
    /// The shorter form.
    pub quick: Quick,
    /// One line of the figure each, in the order of the page.
    #[serde(rename = "curve")]
    pub curves: Vec<Curve>,
    /// The claims about the numbers.
    #[serde(rename = "claim")]
    pub claims: Vec<Criterion>,
}

/// `[experiment.chart]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartPlan {
    /// To the right.
    pub x: Column,
    /// The layout of that axis.
    #[serde(default)]
    pub scale: ScaleKey,
    /// Upwards.
    pub y: Column,
    /// A level to compare with, such as the server's capacity.
    pub level: Option<LevelTable>,
    /// The curves that it has; all if absent.
    curves: Option<Vec<String>>,
}

/// The layout of the axis to the right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleKey {
    /// Evenly, from zero.
    #[default]
    Linear,
    /// By powers of two.
    Log,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Charts {
    One(ChartPlan),
    Several(Vec<ChartPlan>),
}

/// A horizontal line in a chart.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelTable {
    /// Its name.
    pub name: String,
    /// Its number on the y axis.
    pub at: f64,
}

/// `[experiment.quick]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Fewer values.
    pub values: Vec<Number>,
    /// Keys that replace those of the scenario.
    #[serde(default)]
    pub scenario: Table,
}

/// A number of a scenario, written back as it was: a key that counts takes no fraction.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A count.
    Whole(u32),
    /// Any other.
    Real(f64),
}

impl Number {
    /// Its value.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(count) => f64::from(count),
            Number::Real(value) => value,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Whole(count) => count.fmt(f),
            Number::Real(value) => value.fmt(f),
        }
    }
}

impl Experiment {
    /// Reads the experiments below `folder` that this program makes, in the order of their names. Questions
    /// without `[experiment]` are those of `farfield experiment`.
    pub fn all(folder: &Path) -> Result<Vec<Experiment>> {
        let mut experiments = Vec::new();
        for paper in folders(folder)? {
            for figure in folders(&folder.join(&paper))? {
                let file = folder.join(&paper).join(&figure).join(Method::Experiment.file());
                if file.is_file() {
                    experiments.extend(Experiment::read(&format!("{paper}/{figure}"), &file)?);
                }
            }
        }
        Ok(experiments)
    }

    fn read(name: &str, file: &Path) -> Result<Option<Experiment>> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let read = || match text.parse::<Table>()?.contains_key("experiment") {
            true => Experiment::parse(name, &text).map(Some),
            false => Ok(None),
        };
        read().with_context(|| format!("in {}", file.display()))
    }

    /// Reads the text of an experiment.
    pub fn parse(name: &str, text: &str) -> Result<Experiment> {
        let Question { experiment: plan, scenario } = toml::from_str(text)?;
        for (key, values) in [("values", &plan.values), ("quick.values", &plan.quick.values)] {
            let rises = values.windows(2).all(|pair| pair[0].as_f64() < pair[1].as_f64());
            if values.len() < 2 || !rises {
                bail!("`experiment.{key}` must hold at least two numbers that rise");
            }
        }
        if !plan.curves.iter().any(Curve::is_run) {
            bail!("at least one `[[experiment.curve]]` that is run is needed");
        }
        let is_run = |name: &str| plan.curve(name).is_some_and(|curve| plan.curves[curve].is_run());
        if let Some(of) =
            plan.curves.iter().filter_map(|curve| curve.of.as_ref()).find(|of| !is_run(&of.curve))
        {
            bail!(
                "there is no curve `{}` that is run, of which another could be the class `{}`",
                of.curve,
                of.class
            );
        }
        if plan.charts().is_empty() {
            bail!("at least one `[experiment.chart]` is needed");
        }
        let charted =
            plan.charts().iter().flat_map(|chart| chart.curves.iter().flatten().map(String::as_str));
        let detailed =
            plan.details.iter().flat_map(|detail| detail.curves.iter().flatten().map(String::as_str));
        let claimed = plan.claims.iter().flat_map(Criterion::curves);
        if let Some(unknown) = charted.chain(detailed).chain(claimed).find(|name| plan.curve(name).is_none())
        {
            bail!("a chart or a claim speaks of a curve `{unknown}` that there is not");
        }
        if let Some(detail) = plan.details.iter().find(|detail| !plan.values.contains(&detail.at)) {
            bail!("an `[[experiment.detail]]` is at {}, which is none of `experiment.values`", detail.at);
        }
        Ok(Experiment { name: name.to_owned(), plan, scenario })
    }

    /// The planes that its curves run on.
    pub fn planes(&self) -> BTreeSet<Plane> {
        let run = self.plan.curves.iter().filter(|curve| curve.is_run());
        run.map(|curve| Plane::of(&self.scenario(curve, Length::Full))).collect()
    }

    /// The values of the varied key along a curve.
    pub fn values(&self, curve: &Curve, length: Length) -> Vec<Number> {
        let quick = &self.plan.quick.values;
        let mut values = match length {
            Length::Full => self.plan.values.clone(),
            Length::Quick => quick.clone(),
            Length::Smoke => vec![quick[0], quick[quick.len() - 1]],
        };
        values.retain(|value| curve.at.as_ref().is_none_or(|at| at.contains(value)));
        values
    }

    /// The scenario of a curve, but for the key that is varied.
    pub fn scenario(&self, curve: &Curve, length: Length) -> Table {
        let mut scenario = self.scenario.clone();
        scenario.entry("name").or_insert_with(|| Value::from(self.name.replace('/', "-")));
        if length != Length::Full {
            lay_over(&mut scenario, &self.plan.quick.scenario);
        }
        lay_over(&mut scenario, &curve.scenario);
        // Another tool has its own times: a scenario says only how many sessions it gets.
        if length == Length::Smoke && curve.tool.is_none() {
            lay_over(&mut scenario, &two_seconds());
        }
        scenario
    }
}

impl Plan {
    /// The key that is varied along a curve.
    pub fn varied(&self, curve: &Curve) -> Vec<String> {
        curve.vary.as_ref().unwrap_or(&self.vary).to_vec()
    }

    /// The keys set at a point of a curve, with their values; `None` where a key that follows takes no whole
    /// number.
    pub fn sets(&self, curve: &Curve, value: Number) -> Option<BTreeMap<String, String>> {
        let varied = self.varied(curve).into_iter().map(|key| (key, format!("{value}{}", self.unit)));
        let mut sets: BTreeMap<String, String> = varied.collect();
        for (key, times) in &curve.follow {
            let follower = value.as_f64() * times;
            if follower < 1.0 || follower.fract() != 0.0 {
                return None;
            }
            sets.insert(key.clone(), follower.to_string());
        }
        Some(sets)
    }

    /// The charts, of which there is at least one.
    pub fn charts(&self) -> &[ChartPlan] {
        match &self.chart {
            Charts::One(chart) => std::slice::from_ref(chart),
            Charts::Several(charts) => charts,
        }
    }

    /// The indices of the curves of a chart.
    pub fn curves_of(&self, chart: &ChartPlan) -> Vec<usize> {
        match &chart.curves {
            None => (0..self.curves.len()).collect(),
            Some(names) => names.iter().filter_map(|name| self.curve(name)).collect(),
        }
    }

    /// The charts that look inside of the runs of a point, each kind once.
    pub fn details_at(&self, curve: usize, value: Number) -> Vec<Detail> {
        let at_point = self.details.iter().filter(|detail| detail.looks_at(self, curve, value));
        at_point.map(|detail| detail.shows).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The index of the curve of this name.
    pub fn curve(&self, name: &str) -> Option<usize> {
        self.curves.iter().position(|curve| curve.name == name)
    }
}

/// The names of the folders in `folder`, sorted.
fn folders(folder: &Path) -> Result<Vec<String>> {
    let cannot = || format!("cannot read the experiments in {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        if entry.file_type().with_context(cannot)?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The run of the smoke form. Users connect in its first second, which is not measured: instants of
/// connecting on a busy machine are off by more than a verification allows (docs/accuracy.md).
fn two_seconds() -> Table {
    let run = [("warm-up", "1s"), ("duration", "1s"), ("drain", "0s")];
    let run: Table = run.into_iter().map(|(key, time)| (key.to_owned(), Value::from(time))).collect();
    Table::from_iter([("run".to_owned(), Value::Table(run))])
}

/// Lays `above` over `below`: tables key by key, all else as a whole, and so a load of another model, whose
/// keys are not those of the model below.
fn lay_over(below: &mut Table, above: &Table) {
    let is_other_model = |below: &Table, above: &Table| {
        above.get("model").is_some_and(|model| below.get("model") != Some(model))
    };
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if !is_other_model(below, above) => {
                lay_over(below, above);
            }
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A small experiment with two curves, whose scenarios differ.
    pub const TEXT: &str = r#"
        [experiment]
        title = "Title"
        source = "Paper, figure 1"
        saw = "A line."
        here = "Another line."
        vary = "load.users"
        label = "users"
        values = [1, 2, 4]
        show = ["attempts", "completed"]
        chart = { x = "value", y = "attempts", level = { name = "capacity", at = 100 } }
        quick = { values = [1, 4], scenario.run.duration = "3s" }
        [[experiment.curve]]
        name = "plain"
        [[experiment.curve]]
        name = "other"
        vary = "load.descriptors"
        scenario.origin.backlog = 8
        [[experiment.claim]]
        says = "attempts are what was asked for"
        column = "attempts"
        near = { column = "value", times = 50.0 }
        within = 0.02
        [scenario]
        origin = { backlog = 1024, servers = 4 }
        run = { duration = "10s", warm-up = "1s" }
    "#;

    fn refusal(from: &str, to: &str) -> String {
        assert!(TEXT.contains(from), "{from}");
        format!("{:#}", Experiment::parse("e", &TEXT.replace(from, to)).expect_err(to))
    }

    #[test]
    fn a_curve_and_a_length_are_laid_over_the_scenario() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let check = |curve: usize, length, expected: &str| {
            let laid = experiment.scenario(&experiment.plan.curves[curve], length);
            assert_eq!(laid, expected.parse::<Table>().unwrap());
        };
        let full = "name = 'e'\norigin = { backlog = 1024, servers = 4 }\nrun = { duration = '10s', warm-up = '1s' }";
        check(0, Length::Full, full);
        check(1, Length::Full, &full.replace("1024", "8"));
        check(0, Length::Quick, &full.replace("10s", "3s"));
        let smoke = full.replace("10s", "1s").replace("warm-up = '1s'", "warm-up = '1s', drain = '0s'");
        check(1, Length::Smoke, &smoke.replace("1024", "8"));
        let mut tool = experiment.plan.curves[0].clone();
        tool.tool = Some("httperf".to_owned());
        assert_eq!(experiment.scenario(&tool, Length::Smoke), experiment.scenario(&tool, Length::Quick));
    }

    #[test]
    fn another_model_takes_the_keys_of_the_first_away() {
        let laid = |above: &str| {
            let mut below: Table = "load = { model = 'overload', descriptors = 2 }".parse().unwrap();
            lay_over(&mut below, &above.parse().unwrap());
            below.to_string().trim().replace('"', "'").replace('\n', " ")
        };
        assert_eq!(laid("load = { model = 'closed', users = 1 }"), "[load] model = 'closed' users = 1");
        assert_eq!(
            laid("load.restart = 'at-once'"),
            "[load] descriptors = 2 model = 'overload' restart = 'at-once'"
        );
    }

    #[test]
    fn a_length_says_which_values() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let mut curve = experiment.plan.curves[0].clone();
        assert_eq!(experiment.values(&curve, Length::Full), [1, 2, 4].map(Number::Whole));
        assert_eq!(experiment.values(&curve, Length::Smoke), [1, 4].map(Number::Whole));
        curve.at = Some([2, 4, 8].map(Number::Whole).to_vec());
        assert_eq!(experiment.values(&curve, Length::Full), [2, 4].map(Number::Whole));
        assert_eq!(experiment.values(&curve, Length::Smoke), [4].map(Number::Whole));
        assert_eq!(experiment.plan.varied(&experiment.plan.curves[0]), ["load.users"]);
        assert_eq!(experiment.plan.varied(&experiment.plan.curves[1]), ["load.descriptors"]);
    }

    #[test]
    fn invalid_questions_are_refused() {
        assert!(refusal("values = [1, 2, 4]", "values = [1, 4, 2]").contains("experiment.values"));
        assert!(refusal("values = [1, 4]", "values = [1]").contains("experiment.quick.values"));
        assert!(refusal("saw =", "seen =").contains("seen"));
        assert!(refusal("\"attempts\", ", "\"atempts\", ").contains("atempts"));
        let of = |curve| format!("name = \"other\"\nof = {{ curve = \"{curve}\", class = \"modem\" }}");
        assert!(refusal("name = \"other\"", &of("third")).contains("third"));
        assert!(refusal("name = \"other\"", &of("other")).contains("other"));
        let detail =
            |at| format!("[[experiment.detail]]\nshows = 'processes'\nat = {at}\n[[experiment.claim]]");
        assert!(refusal("[[experiment.claim]]", &detail("3")).contains("at 3"));
        let of_third = detail("4\ncurves = ['third']");
        assert!(refusal("[[experiment.claim]]", &of_third).contains("third"));
        assert!(refusal("y = \"attempts\",", "y = \"attempts\", curves = [\"third\"],").contains("third"));
        assert!(
            refusal("column = \"attempts\"", "column = \"attempts\"\ncurve = \"third\"").contains("third")
        );
    }

    #[test]
    fn keys_follow_the_varied_one_where_they_can() {
        let text =
            TEXT.replace("name = \"plain\"", "name = \"plain\"\nfollow = { \"network.hosts\" = 0.25 }");
        let plan = Experiment::parse("e", &text.replace("label =", "unit = \"k\"\nlabel =")).unwrap().plan;
        let sets = |curve: usize, value| plan.sets(&plan.curves[curve], Number::Whole(value));
        let pairs = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect())
        };
        assert_eq!(sets(0, 8), pairs(&[("load.users", "8k"), ("network.hosts", "2")]));
        assert_eq!(sets(0, 6), None);
        assert_eq!(sets(0, 0), None);
        assert_eq!(sets(1, 6), pairs(&[("load.descriptors", "6k")]));
    }

    #[test]
    fn numbers_are_written_as_they_were() {
        assert_eq!(Number::Whole(64).to_string(), "64");
        assert_eq!(Number::Real(62.5).to_string(), "62.5");
    }
}
