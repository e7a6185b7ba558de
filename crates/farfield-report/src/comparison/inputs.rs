//! The inputs of two sides, and the machines they ran on, key by key: where these differ, a difference of the
//! figures may come from there.

use super::side::ComparisonSide;
use crate::directory::{self, RunDirectory};
use crate::secrets::masked;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;

/// A key that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputChange {
    /// The key, with dots: `load.users`, `machine.kernel`.
    pub key: String,
    /// The value on the base's side; null if it is absent there.
    pub base: Option<String>,
    /// The value on the other side.
    pub other: Option<String>,
}

/// Keys that differ between any two runs, or that only say where results are kept.
const NO_INPUT: [&str; 5] =
    ["scenario.seed", "scenario.output", "scenario.name", "scenario.note", "machine.schema_version"];

/// Files, and the beginnings of their keys.
const FILES: [(&str, &str); 2] = [("scenario.toml", "scenario"), ("environment.json", "machine")];
/// No scenario is longer.
const BYTES_MAX: u64 = 1 << 24;

/// The keys that differ between the first runs of two sides.
pub(super) fn changes(base: &ComparisonSide, other: &ComparisonSide) -> Vec<InputChange> {
    let sides = [base, other].map(|side| &side.runs()[0]);
    let [mut base, mut other] = sides.map(|run| keys(run, Clone::clone));
    // A secret that differs is a difference, and is not shown.
    let [base_shown, other_shown] = sides.map(|run| keys(run, masked));
    // Beside a file that cannot be read, each key of the other's would seem to differ.
    for (file, part) in FILES {
        let file = &format!("the file {file}");
        if base.get(file) != other.get(file) {
            for keys in [&mut base, &mut other] {
                keys.retain(|key, _| !key.starts_with(&format!("{part}.")));
            }
        }
    }
    let mut names: Vec<&String> = base.keys().chain(other.keys()).collect();
    names.sort();
    names.dedup();
    let differs = names.into_iter().filter(|name| base.get(*name) != other.get(*name));
    differs
        .map(|name| InputChange {
            key: name.strip_prefix("scenario.").unwrap_or(name).to_owned(),
            base: base.contains_key(name).then(|| base_shown.get(name).cloned()).flatten(),
            other: other.contains_key(name).then(|| other_shown.get(name).cloned()).flatten(),
        })
        .collect()
}

/// The keys of what `seen` makes of the scenario, and the machine's, each with its value as text. A file that
/// is missing or damaged has none.
fn keys(run: &RunDirectory, seen: impl Fn(&toml::Table) -> toml::Table) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    let read = |name: &str| {
        let mut text = String::new();
        let file = directory::open(&run.path().join(name)).ok()?;
        file.take(BYTES_MAX).read_to_string(&mut text).ok().filter(|_| !text.is_empty())?;
        Some(text)
    };
    let [(scenario_file, scenario_part), (machine_file, machine_part)] = FILES;
    let scenario = read(scenario_file).and_then(|text| text.parse::<toml::Table>().ok());
    let machine = read(machine_file).and_then(|text| serde_json::from_str(&text).ok());
    for (file, is_read) in [(scenario_file, scenario.is_some()), (machine_file, machine.is_some())] {
        let state = if is_read { "readable" } else { "absent or damaged" };
        keys.insert(format!("the file {file}"), state.to_owned());
    }
    if let Some(scenario) = scenario {
        flatten_toml(scenario_part, &toml::Value::Table(seen(&scenario)), &mut keys);
    }
    if let Some(machine) = machine {
        flatten_json(machine_part, &machine, &mut keys);
    }
    keys.retain(|key, _| {
        !NO_INPUT
            .iter()
            .any(|none| key.strip_prefix(none).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    });
    keys
}

fn flatten_toml(key: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(name, value)| flatten_toml(&format!("{key}.{name}"), value, keys));
        }
        toml::Value::String(text) => drop(keys.insert(key.to_owned(), text.clone())),
        value => drop(keys.insert(key.to_owned(), value.to_string())),
    }
}

/// Settings, which are a list of names with values, are keys by their names.
pub(crate) fn flatten_json(key: &str, value: &serde_json::Value, keys: &mut BTreeMap<String, String>) {
    use serde_json::Value;
    match value {
        Value::Object(table) => match (table.get("name").and_then(Value::as_str), table.get("value")) {
            (Some(name), Some(value)) => flatten_json(&format!("{key}.{name}"), value, keys),
            _ => table.iter().for_each(|(name, value)| flatten_json(&format!("{key}.{name}"), value, keys)),
        },
        Value::Array(values) if values.iter().any(Value::is_object) => {
            values.iter().for_each(|value| flatten_json(key, value, keys));
        }
        Value::Null => {}
        Value::String(text) => drop(keys.insert(key.to_owned(), text.clone())),
        value => drop(keys.insert(key.to_owned(), value.to_string())),
    }
}
