//! `farfield experiment`: a question in a file, its runs, and a page with the answer.

use crate::commands::sweep::{Asked, made};
use crate::exit::Exit;
use crate::flags::sweep::{DesignFlags, ExperimentFlags, LENGTH_MAX, RepeatFlags};
use crate::problem::Problem;
use farfield_base::Share;
use farfield_experiment::sweep::{Claim, Scale, Setting, Side};
use farfield_files::input::DOCUMENT_MAX;
use farfield_measure::Threshold;
use farfield_report::comparison::metric::Metric;
use farfield_scenario::Overlay;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// Looks at undecided claims, if the question does not say: three blocks become 24 at most.
const LOOKS: u32 = 4;

/// `question.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Question {
    title: String,
    /// A scenario file, beside the question, or a URL.
    scenario: String,
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
    budget: Option<String>,
    #[serde(default)]
    metrics: Vec<String>,
    #[serde(default, rename = "claim")]
    claims: Vec<AskedClaim>,
}

/// `[[claim]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedClaim {
    says: String,
    metric: String,
    #[serde(default)]
    at: toml::Table,
    against: Option<toml::Table>,
    is: String,
}

/// Makes the runs of a question, and prints its answer.
pub fn experiment(flags: &ExperimentFlags) -> Result<Exit, Problem> {
    let file = &flags.question;
    let refuse = |why: &dyn std::fmt::Display| Problem::usage(format!("{}: {why}", file.display()));
    let text = farfield_files::read_text(file, DOCUMENT_MAX).map_err(|error| refuse(&error))?;
    let question: Question = toml::from_str(&text).map_err(|error| refuse(&one_line(&error, &text)))?;
    let beside = |name: &str| match name.contains("://") {
        true => name.to_owned(),
        false => file.parent().unwrap_or(Path::new("")).join(name).to_string_lossy().into_owned(),
    };
    let vary = pairs(&question.vary).map_err(|why| refuse(&why))?;
    let vary: Result<Vec<String>, Problem> =
        vary.into_iter().map(|(key, value)| levels(&key, &value).map_err(|why| refuse(&why))).collect();
    let design = DesignFlags {
        vary: vary?,
        one_at_a_time: question.one_at_a_time,
        points: question.points.as_deref().map(|name| beside(name).into()),
        metrics: question.metrics.clone(),
        out: flags.out.clone(),
        ..DesignFlags::default()
    };
    let repeat = RepeatFlags {
        repeats: question.repeats,
        budget: flags.budget.clone().or_else(|| question.budget.clone()),
        repeats_max: u32::MAX,
        length_max: LENGTH_MAX.to_owned(),
        ..RepeatFlags::default()
    };
    let sets = pairs(&question.set).map_err(|why| refuse(&why))?;
    let sets = sets.into_iter().map(|(key, value)| format!("{key}={}", written(&value)));
    let mut overlay = Overlay::default();
    overlay.sets.extend(sets);
    let claims: Result<Vec<Claim>, Problem> = question
        .claims
        .iter()
        .map(|claim| claim.read().map_err(|why| refuse(&format!("claim `{}`: {why}", claim.says))))
        .collect();
    let scenario = beside(&question.scenario);
    let asked = Asked {
        what: Some(&scenario),
        overlay,
        design: &design,
        repeat: &repeat,
        name: "experiment",
        title: Some(&question.title),
        claims: &claims?,
        looks: question.looks.unwrap_or(LOOKS).max(1),
    };
    made(&asked, flags.format, flags.quiet)
}

impl AskedClaim {
    fn read(&self) -> Result<Claim, String> {
        let metric = self.metric.parse::<Metric>().map_err(|error| error.to_string())?;
        let (side, limit) = match self.is.trim().split_at_checked(1) {
            Some(("<", limit)) => (Side::Below, limit.trim()),
            Some((">", limit)) => (Side::Above, limit.trim()),
            _ => return Err(format!("`is = \"{}\"`: write `< LIMIT` or `> LIMIT`", self.is)),
        };
        let limit = match self.against {
            Some(_) => match change(limit)? {
                limit if limit <= -1.0 && metric.scale() == Scale::Ratio => {
                    return Err(format!("`{}`: nothing can fall by 100% or more", self.is));
                }
                limit => limit,
            },
            None => {
                let text = format!("{metric}{}", self.is.replace(' ', ""));
                text.parse::<Threshold>().map_err(|error| error.to_string())?.limit()
            }
        };
        let settings = |table: &toml::Table| -> Result<Vec<Setting>, String> {
            let pairs = pairs(table)?.into_iter();
            Ok(pairs.map(|(key, value)| Setting { key, value: written(&value) }).collect())
        };
        Ok(Claim {
            says: self.says.clone(),
            metric: metric.to_string(),
            at: settings(&self.at)?,
            against: self.against.as_ref().map(settings).transpose()?,
            side,
            limit,
        })
    }
}

/// A change: `10%`, `-5%`.
fn change(text: &str) -> Result<f64, String> {
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let percent = size.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let change = percent.filter(|percent| percent.is_finite()).map(|percent| sign * percent / 100.0);
    // A share is written in the same way, and is a number between none and all.
    let change = change.or_else(|| size.parse::<Share>().ok().map(|share| sign * share.as_f64()));
    change.ok_or_else(|| format!("`{text}` is no change: write it in per cent, such as -10%"))
}

/// The keys of a table with their values, whether keys are written with dots or as tables.
fn pairs(table: &toml::Table) -> Result<BTreeMap<String, Value>, String> {
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
fn written(value: &Value) -> String {
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

    fn claim(text: &str) -> Result<Claim, String> {
        toml::from_str::<AskedClaim>(text).map_err(|error| error.to_string())?.read()
    }

    #[test]
    fn claims_are_about_numbers_or_changes() {
        let found = claim("says = 'a'\nmetric = 'p99'\nis = '< 200ms'\nat.load.users = 5").expect("a claim");
        assert_eq!((found.side, found.limit, found.against), (Side::Below, 2e8, None));
        assert_eq!(found.at, [Setting { key: "load.users".to_owned(), value: "5".to_owned() }]);
        let found = claim(
            "says = 'a'\nmetric = 'rate'\nis = '< -50%'\nat = { \"a.b\" = 'x' }\nagainst = { \"a.b\" = 'y' }",
        );
        let found = found.expect("a claim");
        assert_eq!((found.side, found.limit), (Side::Below, -0.5));
        for (text, part) in [
            ("says = 'a'\nmetric = 'p98'\nis = '< 1s'", "is no metric"),
            ("says = 'a'\nmetric = 'p99'\nis = '1s'", "write `< LIMIT`"),
            ("says = 'a'\nmetric = 'p99'\nis = '< 5%'", "p99"),
            ("says = 'a'\nmetric = 'p99'\nis = '> much'\nagainst = { a = '1' }", "is no change"),
            ("says = 'a'\nmetric = 'p99'\nis = '< -100%'\nagainst = { a = '1' }", "nothing can fall by 100%"),
            (
                "says = 'a'\nmetric = 'rate'\nis = '> -1e300%'\nagainst = { a = '1' }",
                "nothing can fall by 100%",
            ),
        ] {
            let error = claim(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn keys_with_dots_and_tables_are_the_same() {
        let table: toml::Table =
            "\"network.rtt\" = ['0ms', '50ms']\n[load]\nusers = [1, 2]".parse().expect("TOML");
        let pairs = pairs(&table).expect("keys");
        let written: Vec<String> =
            pairs.iter().map(|(key, value)| levels(key, value).expect("levels")).collect();
        assert_eq!(written, ["load.users=1,2", "network.rtt=0ms,50ms"]);
    }
}
