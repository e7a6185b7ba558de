//! Values that a summary should have, and its own values compared with them.
//!
//! A tree of expectations has the shape of the document. What the document has and the tree has not is
//! [unread](unread): nobody has looked at it.

use crate::findings::time;
use serde_json::Value;
use std::collections::BTreeMap;

/// The value that a place of the document should have.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// A whole number.
    Count(u64),
    /// A number, and the most by which another is off for rounding alone.
    Near { value: f64, by: f64 },
    /// A number from one to another.
    Between { low: f64, high: f64 },
    /// A name.
    Word(String),
    /// True or false.
    Flag(bool),
    /// Null, or absent.
    Nothing,
    /// A list of as many values, in this order.
    List(Vec<Expected>),
    /// Fields by name.
    Record(BTreeMap<&'static str, Expected>),
    /// Known, and not decided by what there is to compare it with.
    Open,
}

impl Expected {
    /// A number that is the same but for the rounding of its last digits.
    pub fn near(value: f64) -> Expected {
        Expected::Near { value, by: 1e-9 * value.abs() + 1e-12 }
    }

    /// A number, or null.
    pub fn near_or_nothing(value: Option<f64>) -> Expected {
        value.map_or(Expected::Nothing, Expected::near)
    }

    /// A name.
    pub fn word(word: &str) -> Expected {
        Expected::Word(word.to_owned())
    }

    /// Fields by name.
    pub fn record<const N: usize>(fields: [(&'static str, Expected); N]) -> Expected {
        Expected::Record(fields.into_iter().collect())
    }

    /// In words, beside a field of this name.
    fn in_words(&self, field: &str) -> String {
        match self {
            Expected::Count(count) => number(field, *count as f64),
            Expected::Near { value, .. } => number(field, *value),
            Expected::Between { low, high } if low == high => number(field, *low),
            Expected::Between { low, high } if high.is_infinite() => {
                format!("at least {}", number(field, *low))
            }
            Expected::Between { low, high } => {
                format!("{} to {}", number(field, *low), number(field, *high))
            }
            Expected::Word(word) => word.clone(),
            Expected::Flag(flag) => flag.to_string(),
            Expected::Nothing => "nothing".to_owned(),
            Expected::List(list) => format!("{} entries", list.len()),
            Expected::Record(_) => "a value".to_owned(),
            Expected::Open => "anything".to_owned(),
        }
    }
}

/// A value of the document that is not the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Path of the value: `steady.times.response.quantiles[p99].value_ns`.
    pub path: String,
    /// Value that stands there, in words.
    pub said: String,
    /// Value that should, in words.
    pub expected: String,
}

/// A number in words: those of fields in nanoseconds as times.
fn number(field: &str, value: f64) -> String {
    if field.ends_with("_ns") {
        return time(value);
    }
    // Enough digits for two that differ in the sixth.
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn said_in_words(field: &str, said: Option<&Value>) -> String {
    match said {
        None | Some(Value::Null) => "nothing".to_owned(),
        Some(Value::Number(value)) => number(field, value.as_f64().unwrap_or(f64::NAN)),
        Some(Value::String(word)) => word.clone(),
        Some(Value::Array(list)) => format!("{} entries", list.len()),
        Some(Value::Object(_)) => "a value".to_owned(),
        Some(other) => other.to_string(),
    }
}

/// The label of an element of a list: its name, or its place.
fn label(element: &Value, place: usize) -> String {
    let named = ["name", "state", "version", "text", "file"];
    let name = named.iter().find_map(|key| element.get(key)?.as_str());
    name.map_or_else(|| place.to_string(), str::to_owned)
}

fn below(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// All values of the document that are not the expected ones, in the order of the tree.
pub fn differences(said: &Value, expected: &Expected) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", "", Some(said), expected, &mut found);
    found
}

fn compare(path: &str, field: &str, said: Option<&Value>, expected: &Expected, found: &mut Vec<Difference>) {
    let number = || said.and_then(Value::as_f64);
    let is_as_expected = match expected {
        Expected::Open => true,
        Expected::Nothing => said.is_none_or(Value::is_null),
        Expected::Count(count) => said.and_then(Value::as_u64) == Some(*count),
        Expected::Near { value, by } => number().is_some_and(|said| (said - value).abs() <= *by),
        Expected::Between { low, high } => number().is_some_and(|said| *low <= said && said <= *high),
        Expected::Word(word) => said.and_then(Value::as_str) == Some(word),
        Expected::Flag(flag) => said.and_then(Value::as_bool) == Some(*flag),
        Expected::List(list) => match said.and_then(Value::as_array) {
            Some(said) if said.len() == list.len() => {
                for (place, (said, expected)) in said.iter().zip(list).enumerate() {
                    let path = format!("{path}[{}]", label(said, place));
                    compare(&path, field, Some(said), expected, found);
                }
                true
            }
            _ => false,
        },
        Expected::Record(fields) => match said.filter(|said| said.is_object()) {
            Some(said) => {
                for (field, expected) in fields {
                    compare(&below(path, field), field, said.get(field), expected, found);
                }
                true
            }
            None => false,
        },
    };
    if !is_as_expected {
        let (said, expected) = (said_in_words(field, said), expected.in_words(field));
        found.push(Difference { path: path.to_owned(), said, expected });
    }
}

/// Numbers of the document for which the tree has no place, each by its path with `[]` for any element of a
/// list; but for those under a path of `left_out`.
pub fn unread(said: &Value, expected: &Expected, left_out: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    look(String::new(), said, Some(expected), left_out, &mut found);
    found.dedup();
    found
}

fn look(
    path: String,
    said: &Value,
    expected: Option<&Expected>,
    left_out: &dyn Fn(&str) -> bool,
    found: &mut Vec<String>,
) {
    if left_out(&path) {
        return;
    }
    match said {
        Value::Number(_) if expected.is_none() => found.push(path),
        Value::Array(list) => {
            let expected = |place: usize| match expected {
                Some(Expected::List(list)) => list.get(place),
                Some(Expected::Open) => Some(&Expected::Open),
                _ => None,
            };
            for (place, element) in list.iter().enumerate() {
                look(format!("{path}[]"), element, expected(place), left_out, found);
            }
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                let expected = match expected {
                    Some(Expected::Record(fields)) => fields.get(field.as_str()),
                    Some(Expected::Open) => Some(&Expected::Open),
                    _ => None,
                };
                look(below(&path, field), value, expected, left_out, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tree() -> Expected {
        let row = |name, count| {
            Expected::record([("name", Expected::word(name)), ("count", Expected::Count(count))])
        };
        Expected::record([
            ("rate", Expected::near(100.0)),
            ("mean_ns", Expected::Between { low: 1_000.0, high: 1_001.0 }),
            ("share", Expected::Nothing),
            ("outcomes", Expected::List(vec![row("ok", 3), row("reset", 1)])),
        ])
    }

    #[test]
    fn what_is_as_expected_makes_no_difference() {
        let said = json!({"rate": 100.000_000_001, "mean_ns": 1001, "share": null, "outcomes":
            [{"name": "ok", "count": 3}, {"name": "reset", "count": 1}]});
        assert_eq!(differences(&said, &tree()), []);
        assert_eq!(unread(&said, &tree(), &|_| false), [""; 0]);
    }

    #[test]
    fn each_difference_is_named_by_its_place() {
        let said = json!({"rate": 110, "mean_ns": 999, "share": 0.5, "outcomes":
            [{"name": "ok", "count": 3}, {"name": "reset", "count": 2}], "new": {"list": [{"n": 1}, {"n": 2}]}});
        let found = differences(&said, &tree());
        let shown: Vec<String> =
            found.iter().map(|own| format!("{} {} for {}", own.path, own.said, own.expected)).collect();
        let expected = [
            "mean_ns 999ns for 1.00µs to 1.00µs",
            "outcomes[reset].count 2 for 1",
            "rate 110 for 100",
            "share 0.5 for nothing",
        ];
        assert_eq!(shown, expected);
        assert_eq!(unread(&said, &tree(), &|_| false), ["new.list[].n"]);
        assert_eq!(unread(&said, &tree(), &|path| path == "new"), [""; 0]);
        let shorter = differences(&json!({"rate": 100, "mean_ns": 1000, "outcomes": []}), &tree());
        assert_eq!((shorter[0].path.as_str(), shorter[0].said.as_str()), ("outcomes", "0 entries"));
    }
}
