//! Columns: the numbers that runs are read for, metrics or expressions over these, over other columns and
//! over numbers of the summary by their paths.
//!
//! A path has the names that the [table](super::table) gives its columns: keys with dots between, and entries
//! of lists by their names, such as `classes.modem-56k.pages.response.mean_ns`. What was monitored has
//! names that begin with `monitor.` ([`monitored`]).

use super::monitored;
use crate::comparison::metric::Metric;
use crate::comparison::scoped::ScopedMetric;
use crate::directory::RunDirectory;
use farfield_experiment::sweep::{ColumnInfo, Expression, Reading, Scale, Unit};
use serde_json::Value;
use std::collections::BTreeMap;

/// Characters of a name or a head at most.
const NAME_MAX: usize = 80;

/// A number that runs are read for.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The column's name, unit and scale.
    pub info: ColumnInfo,
    expression: Expression,
}

/// A column as it is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnRequest {
    /// The name; the expression if absent.
    pub name: Option<String>,
    /// The head; the name if absent.
    pub head: Option<String>,
    /// The expression.
    pub expression: String,
    /// The unit; that of the expression's one name if absent, else none.
    pub unit: Option<Unit>,
    /// The scale on which numbers are compared; differences where the unit is a share, else ratios, if
    /// absent.
    pub scale: Option<Scale>,
}

/// Why there is no such column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// The expression cannot be read.
    #[error(transparent)]
    Expression(#[from] farfield_experiment::sweep::ExpressionError),
    /// The name cannot be one.
    #[error(
        "`{0}` is no name of a column: write up to {NAME_MAX} letters, digits, - and _, from a letter on"
    )]
    NoName(String),
    /// The name is that of a metric or of another column.
    #[error("`{0}` is the name of a metric or of another column; choose another")]
    Taken(String),
    /// A name in the expression is unknown.
    #[error(
        "`{0}` is no metric, no column above and no path of the summary, such as steady.rates.offered_per_s"
    )]
    Unknown(String),
    /// A name of monitors' numbers is none.
    #[error("`{0}`: {1}")]
    Monitor(String, String),
    /// The head has characters that a page cannot show.
    #[error("a head has up to {NAME_MAX} characters, and no control characters")]
    NoHead,
}

impl Column {
    /// The metrics that runs are read for unless more is asked for.
    pub fn defaults() -> Vec<Column> {
        Metric::DEFAULT.map(|metric| Column::of_metric(&metric.into())).to_vec()
    }

    /// A metric as a column of its name.
    pub fn of_metric(metric: &ScopedMetric) -> Column {
        let (name, scale) = (metric.to_string(), metric.metric.scale());
        let expression = name.parse().expect("names of metrics are expressions");
        let unit = Unit::of_name(&name);
        let info = ColumnInfo { head: name.clone(), expression: name.clone(), unit, scale, name };
        Column { info, expression }
    }

    /// The metric of the whole run, if the column is nothing else.
    fn metric(&self) -> Option<Metric> {
        self.expression.single_name()?.parse().ok()
    }

    /// The requests of a run that it is the share of errors of, or of those without, if it is that.
    fn requests_of(&self, run: &RunDirectory) -> Option<u64> {
        let names = self.expression.names();
        let [name] = names.as_slice() else { return None };
        let text = self.expression.to_string();
        if text != *name && text.split_whitespace().collect::<String>() != format!("1-{name}") {
            return None;
        }
        match *name {
            "steady.error_share" => Some(run.summary().steady.requests),
            name => name.parse::<ScopedMetric>().ok()?.requests_of(run),
        }
    }

    /// The column that is asked for, beside `others`.
    ///
    /// # Errors
    /// If it cannot be read, or its name is taken.
    pub fn new(asked: ColumnRequest, others: &[Column]) -> Result<Column, ColumnError> {
        let expression: Expression = asked.expression.parse()?;
        let name = match asked.name {
            Some(name) if !is_name(&name) => {
                return Err(ColumnError::NoName(name.escape_debug().to_string()));
            }
            Some(name) if name.parse::<ScopedMetric>().is_ok() || named(others, &name).is_some() => {
                return Err(ColumnError::Taken(name));
            }
            Some(name) => name,
            None => expression.to_string(),
        };
        for inner in expression.names() {
            if let Some(fault) = monitored::fault(inner) {
                return Err(ColumnError::Monitor(inner.to_owned(), fault));
            }
            if named(others, inner).is_none()
                && inner.parse::<ScopedMetric>().is_err()
                && (!inner.contains('.') || inner.contains('{'))
            {
                return Err(ColumnError::Unknown(inner.to_owned()));
            }
        }
        let head = asked.head.unwrap_or_else(|| name.clone());
        let is_shown = head.chars().count() <= NAME_MAX && !head.chars().any(char::is_control);
        if !is_shown && head != name {
            return Err(ColumnError::NoHead);
        }
        let own = expression.single_name().map(|single| match named(others, single) {
            Some(column) => column.info.unit,
            None => Unit::of_name(single),
        });
        let unit = asked.unit.or(own).unwrap_or(Unit::Number);
        let scale = asked.scale.unwrap_or(unit.scale());
        Ok(Column {
            info: ColumnInfo { name, head, expression: expression.to_string(), unit, scale },
            expression,
        })
    }
}

/// The column of this name.
pub fn named<'a>(columns: &'a [Column], name: &str) -> Option<&'a Column> {
    columns.iter().find(|column| column.info.name == name)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= NAME_MAX
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_')
}

/// The numbers of a run for all columns, each of which may use those ahead of it.
pub fn readings(columns: &[Column], run: &RunDirectory) -> Vec<Reading> {
    let mut known: BTreeMap<&str, Result<f64, String>> = BTreeMap::new();
    let mut document: Option<Value> = None;
    for column in columns {
        let found = column.expression.value(&mut |name| {
            if name != column.info.name
                && let Some(known) = known.get(name)
            {
                return known.clone();
            }
            if let Ok(metric) = name.parse::<ScopedMetric>() {
                return metric.of_run(run).map_err(str::to_owned);
            }
            if monitored::is_one(name) {
                return monitored::of_run(run, name);
            }
            let document =
                document.get_or_insert_with(|| serde_json::from_str(run.json()).unwrap_or(Value::Null));
            at(document, name).ok_or_else(|| format!("a run has no number at {name} of its summary"))
        });
        let found = found.and_then(|number| match number.is_finite() {
            true => Ok(number),
            false => Err("a run comes to no finite number".to_owned()),
        });
        known.insert(&column.info.name, found);
    }
    let reading = |column: &Column| {
        let found = known.get(column.info.name.as_str()).cloned();
        let found = found.unwrap_or_else(|| Err("nothing is known of it".to_owned()));
        Reading {
            metric: column.info.name.clone(),
            scale: column.info.scale,
            value: found.as_ref().ok().copied(),
            unknown: found.err(),
            need: column.metric().and_then(|metric| metric.need_of(run)),
            requests: column.requests_of(run),
        }
    };
    columns.iter().map(reading).collect()
}

/// The number at a path of a document. As names of entries may have dots, the longest name that is there
/// counts.
fn at(document: &Value, path: &str) -> Option<f64> {
    if path.is_empty() {
        return document.as_f64();
    }
    let rest_of = |name: &str| {
        let rest = path.strip_prefix(name)?;
        rest.strip_prefix('.').or_else(|| rest.is_empty().then_some(rest))
    };
    match document {
        Value::Object(keys) => {
            let mut own: Vec<&String> = keys.keys().filter(|key| rest_of(key).is_some()).collect();
            own.sort_by_key(|key| std::cmp::Reverse(key.len()));
            let inside = own.iter().find_map(|key| at(&keys[key.as_str()], rest_of(key)?));
            // Percentiles are known by their names alone.
            inside.or_else(|| at(keys.get("quantiles")?, path))
        }
        Value::Array(entries) => match (entries.as_slice(), path) {
            ([low, Value::Number(_)], "low") => low.as_f64(),
            ([Value::Number(_), high], "high") => high.as_f64(),
            (entries, _) => entries.iter().find_map(|entry| {
                let name = entry.get("name").and_then(Value::as_str)?;
                at(entry, rest_of(name)?)
            }),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, expression: &str, others: &[Column]) -> Result<Column, ColumnError> {
        let asked = ColumnRequest {
            name: Some(name.to_owned()),
            expression: expression.to_owned(),
            ..ColumnRequest::default()
        };
        Column::new(asked, others)
    }

    #[test]
    fn paths_are_those_of_the_table() {
        let document = serde_json::json!({
            "steady": { "times": { "response": { "mean_ns": 7, "quantiles": [
                { "name": "p99", "value_ns": 8, "interval_ns": [6, 9] }, { "name": "p99.9", "value_ns": 10 }
            ] } } },
            "classes": [{ "name": "modem-56k", "pages": { "failed": 3 } }, { "name": "t1" }],
        });
        for (path, expected) in [
            ("steady.times.response.mean_ns", Some(7.0)),
            ("steady.times.response.p99.value_ns", Some(8.0)),
            ("steady.times.response.p99.9.value_ns", Some(10.0)),
            ("steady.times.response.p99.interval_ns.high", Some(9.0)),
            ("classes.modem-56k.pages.failed", Some(3.0)),
            ("classes.modem.pages.failed", None),
            ("steady.times", None),
            ("", None),
        ] {
            assert_eq!(at(&document, path), expected, "{path}");
        }
    }

    #[test]
    fn columns_have_units_and_names_of_their_own() {
        let ok = column("ok", "1 - errors", &[]).expect("a column");
        assert_eq!((ok.info.unit, ok.info.scale), (Unit::Number, Scale::Ratio));
        let others = [ok];
        let page = column("page", "classes.t1.pages.response.mean_ns", &others).expect("a column");
        assert_eq!((page.info.unit, page.info.scale), (Unit::Time, Scale::Ratio));
        assert_eq!(column("same", "ok", &others).expect("a column").info.unit, Unit::Number);
        let part = column("slow", "p99{cdn.example}", &others).expect("a metric of a part of the run");
        assert_eq!((part.info.unit, part.metric()), (Unit::Time, None));
        for (name, expression, part) in [
            ("rate", "1 - errors", "is the name of a metric"),
            ("a", "failed{cdn.example} + 1", "`failed{cdn.example}` is no metric"),
            ("ok", "errors", "is the name of a metric or of another"),
            ("1st", "errors", "is no name"),
            ("a\u{1b}[2J", "errors", "is no name"),
            ("a", "nothing + 1", "`nothing` is no metric"),
            ("a", "a + 1", "`a` is no metric"),
            ("a", "errors +", "its end"),
        ] {
            let error = column(name, expression, &others).expect_err(name).to_string();
            assert!(error.contains(part) && !error.contains('\u{1b}'), "{name}: {error}");
        }
    }
}
