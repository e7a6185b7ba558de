//! `question.toml`, read into what a sweep is asked for.

use super::claims::{AskedClaim, EachKey};
use super::curves::{AskedCurve, Curve};
use super::story::{AskedChart, AskedTable};
use crate::flags::sweep::{DesignFlags, LENGTH_MAX, RepeatFlags};
use crate::problem::Problem;
use farfield_experiment::sweep::{Claim, Scale, Unit};
use farfield_files::input::DOCUMENT_MAX;
use farfield_report::comparison::scoped::ScopedMetric;
use farfield_report::sweep::column::{Column, ColumnRequest, named};
use farfield_report::sweep::story::Story;
use farfield_scenario::Overlay;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// Looks at undecided claims, if the question does not say: three blocks become 24 at most.
const LOOKS: u32 = 4;
/// Columns of a question at most.
const COLUMNS_MAX: usize = 100;
/// Curves at most.
const CURVES_MAX: usize = 200;
/// Claims at most.
const CLAIMS_MAX: usize = 1_000;
/// Charts, and tables, at most.
const CHARTS_MAX: usize = 50;
/// Checks that a question does without, at most.
const RELAXED_MAX: usize = 20;

/// `question.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    title: String,
    /// A scenario file, beside the question, or a URL; or the scenario itself.
    scenario: Value,
    /// The source of the question.
    #[serde(default)]
    source: String,
    /// The observations there.
    #[serde(default)]
    saw: String,
    /// The question as it is asked here.
    #[serde(default)]
    here: String,
    /// Other observations.
    #[serde(default)]
    noticed: String,
    #[serde(default)]
    vary: toml::Table,
    /// A CSV file of points, beside the question.
    points: Option<String>,
    #[serde(default)]
    one_at_a_time: bool,
    #[serde(default)]
    set: toml::Table,
    repeats: Option<u32>,
    looks: Option<u32>,
    /// All claims together are wrong with at most 5 %.
    #[serde(default)]
    claims_together: bool,
    budget: Option<String>,
    #[serde(default)]
    metrics: Vec<String>,
    /// Checks of runs that the question does without.
    #[serde(default)]
    relax: Vec<String>,
    #[serde(default, rename = "curve")]
    curves: Vec<AskedCurve>,
    #[serde(default, rename = "column")]
    columns: Vec<AskedColumn>,
    #[serde(default, rename = "claim")]
    claims: Vec<AskedClaim>,
    #[serde(default, rename = "chart")]
    charts: Vec<AskedChart>,
    #[serde(default, rename = "table")]
    tables: Vec<AskedTable>,
}

/// `[[column]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedColumn {
    name: String,
    is: String,
    head: Option<String>,
    unit: Option<Unit>,
    scale: Option<Scale>,
}

/// The source of a question's scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A file or a URL.
    Named(String),
    /// The question itself: the scenario as TOML.
    Inline(String),
}

/// A question.
#[derive(Debug)]
pub struct Question {
    pub title: String,
    pub scenario: Source,
    pub overlay: Overlay,
    pub design: DesignFlags,
    pub repeat: RepeatFlags,
    pub looks: u32,
    pub claims_together: bool,
    pub columns: Vec<Column>,
    pub curves: Vec<Curve>,
    pub claims: Vec<Claim>,
    pub relaxed: Vec<String>,
    pub story: Story,
    /// The file.
    pub text: String,
}

impl Question {
    /// Reads a question, whose files lie in the folder `beside`.
    ///
    /// # Errors
    /// In one line: what is wrong, and with which key.
    pub fn read(text: &str, beside: &Path) -> Result<Question, String> {
        let document: Document = toml::from_str(text).map_err(|error| one_line(&error, text))?;
        document.bounded()?;
        let lies = |name: &str| match name.contains("://") {
            true => name.to_owned(),
            false => beside.join(name).to_string_lossy().into_owned(),
        };
        let vary = pairs(&document.vary)?;
        let curves = document.curves.iter().map(|curve| curve.read(&vary)).collect::<Result<Vec<_>, _>>()?;
        let twice =
            curves.iter().enumerate().find(|(at, one)| curves[..*at].iter().any(|two| two.name == one.name));
        if let Some((_, curve)) = twice {
            return Err(format!("the curve `{}` is there twice", curve.name));
        }
        if !curves.is_empty() && (document.points.is_some() || document.one_at_a_time) {
            return Err(
                "`points` and `one-at-a-time` are not with curves; write `vary` in a [[curve]]".to_owned()
            );
        }
        let levels: Vec<String> =
            vary.iter().map(|(key, value)| levels(key, value)).collect::<Result<_, _>>()?;
        let sets = pairs(&document.set)?;
        let mut overlay = Overlay::default();
        overlay.sets.extend(sets.into_iter().map(|(key, value)| format!("{key}={}", written(&value))));
        let mut columns = document.columns()?;
        let keys = EachKey { vary: &vary, curves: &curves };
        let claims = document.claims.iter().map(|claim| {
            let claim = claim.read(&mut columns, &keys);
            claim.map_err(|(says, why)| format!("claim `{}`: {why}", says.escape_debug()))
        });
        let claims = claims.collect::<Result<Vec<_>, _>>()?;
        let story = document.story(&columns, &keys)?;
        Ok(Question {
            scenario: match &document.scenario {
                Value::String(name) => Source::Named(lies(name)),
                Value::Table(table) => Source::Inline(table.to_string()),
                _ => return Err("`scenario` is the name of a file, a URL, or a table".to_owned()),
            },
            overlay,
            design: DesignFlags {
                vary: levels,
                one_at_a_time: document.one_at_a_time,
                points: document.points.as_deref().map(|name| lies(name).into()),
                metrics: document.metrics.clone(),
                ..DesignFlags::default()
            },
            repeat: RepeatFlags {
                repeats: document.repeats,
                budget: document.budget.clone(),
                repeats_max: u32::MAX,
                length_max: LENGTH_MAX.to_owned(),
                ..RepeatFlags::default()
            },
            looks: document.looks.unwrap_or(LOOKS).max(1),
            claims_together: document.claims_together,
            columns,
            curves,
            claims,
            relaxed: document.relax.clone(),
            story,
            title: document.title,
            text: text.to_owned(),
        })
    }

    /// The table of points beside the question, if it has one.
    pub fn points(&self) -> Result<Option<String>, Problem> {
        let Some(file) = &self.design.points else { return Ok(None) };
        let text = farfield_files::read_text(file, DOCUMENT_MAX);
        text.map(Some).map_err(|error| Problem::usage(format!("{}: {error}", file.display())))
    }
}

impl Document {
    /// Refuses more of anything than a page can have.
    fn bounded(&self) -> Result<(), String> {
        for (key, count, most) in [
            ("[[column]]", self.columns.len(), COLUMNS_MAX),
            ("[[curve]]", self.curves.len(), CURVES_MAX),
            ("[[claim]]", self.claims.len(), CLAIMS_MAX),
            ("[[chart]]", self.charts.len(), CHARTS_MAX),
            ("[[table]]", self.tables.len(), CHARTS_MAX),
            ("relax", self.relax.len(), RELAXED_MAX),
            ("metrics", self.metrics.len(), COLUMNS_MAX),
        ] {
            if count > most {
                return Err(format!("{count} of {key}; write at most {most}"));
            }
        }
        match self.relax.iter().any(|check| !is_plain(check)) {
            true => Err("`relax` names checks of the verdict, such as \"unfinished\"".to_owned()),
            false => Ok(()),
        }
    }

    fn columns(&self) -> Result<Vec<Column>, String> {
        let mut columns: Vec<Column> = Column::defaults();
        for asked in &self.columns {
            let request = ColumnRequest {
                name: Some(asked.name.clone()),
                head: asked.head.clone(),
                expression: asked.is.clone(),
                unit: asked.unit,
                scale: asked.scale,
            };
            let column = Column::new(request, &columns);
            columns.push(column.map_err(|why| format!("column `{}`: {why}", asked.name.escape_debug()))?);
        }
        Ok(columns)
    }

    fn story(&self, columns: &[Column], keys: &EachKey) -> Result<Story, String> {
        let charts = self.charts.iter().map(|chart| chart.read(columns, keys));
        let tables = self.tables.iter().map(|table| table.read(columns));
        Ok(Story {
            command: String::new(),
            source: self.source.clone(),
            saw: self.saw.clone(),
            here: self.here.clone(),
            noticed: self.noticed.clone(),
            origin: String::new(),
            charts: charts.collect::<Result<_, String>>()?,
            tables: tables.collect::<Result<_, String>>()?,
        })
    }
}

/// The column that a claim, a chart or a table asks for by a name, a metric or an expression.
pub fn column(text: &str, columns: &mut Vec<Column>) -> Result<Column, String> {
    if let Some(column) = named(columns, text) {
        return Ok(column.clone());
    }
    let column = match text.parse::<ScopedMetric>() {
        Ok(metric) => Column::of_metric(&metric),
        Err(_) => {
            let request = ColumnRequest { expression: text.to_owned(), ..ColumnRequest::default() };
            Column::new(request, columns).map_err(|error| error.to_string())?
        }
    };
    if named(columns, &column.info.name).is_none() {
        columns.push(column.clone());
    }
    Ok(column)
}

/// True if a text is a word of small letters and hyphens.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// The keys of a table with their values, whether keys are written with dots or as tables.
pub fn pairs(table: &toml::Table) -> Result<BTreeMap<String, Value>, String> {
    let mut pairs = BTreeMap::new();
    let mut waiting: Vec<(String, &Value)> = table.iter().map(|(key, value)| (key.clone(), value)).collect();
    while let Some((key, value)) = waiting.pop() {
        match value {
            Value::Table(below) => {
                waiting.extend(below.iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => {
                if pairs.insert(key.clone(), value.clone()).is_some() {
                    return Err(format!("`{key}` is there twice"));
                }
            }
        }
    }
    Ok(pairs)
}

/// A key with its values, as `--vary` has it.
fn levels(key: &str, value: &Value) -> Result<String, String> {
    let Value::Array(values) = value else {
        return Err(format!("`vary.\"{key}\"` needs a list of values, such as [\"0ms\", \"50ms\"]"));
    };
    Ok(format!("{key}={}", values.iter().map(written).collect::<Vec<_>>().join(",")))
}

/// A value as it is typed after `--set KEY=`, quoted where a comma would separate it from another.
pub fn written(value: &Value) -> String {
    match value.as_str() {
        None => value.to_string(),
        Some(text) if text.contains(',') => format!("'{text}'"),
        Some(text) => text.to_owned(),
    }
}

/// The error of a document in one line, with the line that it is about.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message().lines().next().unwrap_or_default().to_owned();
    line.map_or(message.clone(), |line| format!("line {line}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_dots_and_tables_are_the_same() {
        let table: toml::Table =
            "\"network.rtt\" = ['0ms', '50ms']\n[load]\nusers = [1, 2]".parse().expect("TOML");
        let pairs = pairs(&table).expect("keys");
        let written: Vec<String> =
            pairs.iter().map(|(key, value)| levels(key, value).expect("levels")).collect();
        assert_eq!(written, ["load.users=1,2", "network.rtt=0ms,50ms"]);
    }

    /// A question that cannot be asked is refused in one line that names its fault, also one that is meant to
    /// do harm.
    #[test]
    fn questions_that_cannot_be_asked_are_refused() {
        let begin = "title = 'a'\nscenario = 's.toml'\nvary = { \"load.users\" = [1, 2] }\n";
        let many = |table: &str, count: usize| table.repeat(count);
        for (rest, part) in [
            ("relax = ['a b']".to_owned(), "names checks"),
            (many("[[curve]]\nname = 'a'\n", 2), "the curve `a` is there twice"),
            (many("[[curve]]\nname = 'a'\n", 201), "write at most 200"),
            (many("[[claim]]\nsays = ''\nmetric = 'p99'\nis = '< 1s'\n", 1001), "write at most 1000"),
            ("[[curve]]\nname = \"a\\u001b[2J\"".to_owned(), "no control characters"),
            ("[[curve]]\nname = 'a'\nvary = { \"load.users\" = [] }".to_owned(), "needs a list of values"),
            ("[[column]]\nname = 'a'\nis = 'b'".to_owned(), "column `a`: `b` is no metric"),
            ("[[chart]]\nx = 'load.users'\ny = 'b'".to_owned(), "chart: `b` is no metric"),
            ("[[chart]]\nx = 'load.user'\ny = 'p99'".to_owned(), "`load.user` is not varied"),
            ("[[table]]\ncolumns = ['b']".to_owned(), "table: `b` is no metric"),
            ("one-at-a-time = true\n[[curve]]\nname = 'a'".to_owned(), "are not with curves"),
            ("unknown = 1".to_owned(), "line 4: unknown field `unknown`"),
        ] {
            let error = Question::read(&format!("{begin}{rest}"), Path::new("")).expect_err(&rest);
            assert!(error.contains(part) && !error.contains(['\n', '\u{1b}']), "{error}");
        }
        let error = Question::read("title = 'a'\nscenario = 3", Path::new("")).expect_err("no scenario");
        assert!(error.contains("is the name of a file"), "{error}");
    }
}
