//! The JSON schema of a scenario file, for editors.
//!
//! Nothing lists the keys: serde is asked. A table with a key that nobody has is refused with the keys that
//! there are, a value of no kind that a key takes is refused as such, and a word that is none of a list is
//! refused with the list. So the schema has the keys that scenarios have, and refuses nothing that these
//! take: where a type reads a value in a way of its own, the schema leaves it open.

use crate::Scenario;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// A key and a value that nothing has.
const NOTHING: &str = "no-such-key-or-value";
/// The key of tables that are distributions.
const DISTRIBUTION: &str = "distribution";
/// Tables within tables at most; deeper ones are left open.
const DEPTH_MAX: usize = 6;

/// A step from the outermost table inwards.
#[derive(Clone)]
enum TableStep {
    Key(String),
    /// Into the members of a list.
    Member,
    /// The table has this key as well, which decides what others it has.
    Beside(String, String),
}

impl TableStep {
    fn is_of_distribution(&self) -> bool {
        matches!(self, TableStep::Beside(key, _) if key == DISTRIBUTION)
    }
}

/// The schema, in which a key that `described` knows has its words. Parts that stand in it more than once are
/// definitions.
pub fn schema(described: &dyn Fn(&str) -> Option<String>) -> Json {
    let mut schema = whole(described);
    share(&mut schema);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = "A scenario of farfield".into();
    schema
}

/// The schema with all of its parts in their places.
fn whole(described: &dyn Fn(&str) -> Option<String>) -> Json {
    Probe { described }.table(&[], DEPTH_MAX).unwrap_or_else(|| json!({ "type": "object" }))
}

/// The word whose value is no schema, but has one for each key.
const PROPERTIES: &str = "properties";
/// Bytes of JSON of the smallest part that becomes a definition.
const SHARED_MIN: usize = 300;

/// Makes definitions of the parts of `schema` that stand in it more than once, the largest ones.
fn share(schema: &mut Json) {
    let mut parts: BTreeMap<String, usize> = BTreeMap::new();
    count(schema, &mut parts);
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut definitions = Map::new();
    refer(schema, "", &parts, &mut names, &mut definitions);
    if !definitions.is_empty() {
        schema["definitions"] = Json::Object(definitions);
    }
}

/// Counts equal parts, by their text.
fn count(schema: &Json, parts: &mut BTreeMap<String, usize>) {
    if schema.is_object() {
        let text = schema.to_string();
        if text.len() >= SHARED_MIN {
            *parts.entry(text).or_default() += 1;
        }
    }
    match schema {
        Json::Object(own) => {
            for (name, inner) in own {
                match inner.as_object().filter(|_| name == PROPERTIES) {
                    Some(keys) => keys.values().for_each(|inner| count(inner, parts)),
                    None => count(inner, parts),
                }
            }
        }
        Json::Array(own) => own.iter().for_each(|inner| count(inner, parts)),
        _ => {}
    }
}

/// Puts references in place of parts that stand in the schema more than once; `key` names what is found.
fn refer(
    schema: &mut Json,
    key: &str,
    parts: &BTreeMap<String, usize>,
    names: &mut BTreeMap<String, String>,
    definitions: &mut Map<String, Json>,
) {
    let text = schema.is_object().then(|| schema.to_string());
    let shared = text.filter(|text| parts.get(text).is_some_and(|times| *times > 1));
    if let Some(text) = &shared
        && let Some(name) = names.get(text)
    {
        *schema = json!({ "$ref": format!("#/definitions/{name}") });
        return;
    }
    match schema {
        Json::Object(own) => {
            for (name, inner) in own.iter_mut() {
                match inner.as_object_mut().filter(|_| name == PROPERTIES) {
                    Some(keys) => keys
                        .iter_mut()
                        .for_each(|(name, inner)| refer(inner, name, parts, names, definitions)),
                    None => refer(inner, key, parts, names, definitions),
                }
            }
        }
        Json::Array(own) => own.iter_mut().for_each(|inner| refer(inner, key, parts, names, definitions)),
        _ => {}
    }
    if let Some(text) = shared {
        let name = format!("{key}-{}", definitions.len() + 1);
        let part = std::mem::replace(schema, json!({ "$ref": format!("#/definitions/{name}") }));
        definitions.insert(name.clone(), part);
        names.insert(text, name);
    }
}

/// The keys of scenarios, from the outermost table inwards, with dots; those of a list's members as those of
/// a table. The parameters of distributions are values and no keys.
pub fn keys() -> Vec<String> {
    let mut found = Vec::new();
    collect(&whole(&|_| None), "", &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect(schema: &Json, path: &str, found: &mut Vec<String>) {
    if schema["properties"].get(DISTRIBUTION).is_some() {
        return;
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        found.push(path.clone());
        collect(inner, &path, found);
    }
    for part in schema["anyOf"].as_array().into_iter().flatten().chain(schema.get("items")) {
        collect(part, path, found);
    }
}

struct Probe<'d> {
    described: &'d dyn Fn(&str) -> Option<String>,
}

impl Probe<'_> {
    /// The schema of what is at `path`.
    fn at(&self, path: &[TableStep], depth: usize) -> Json {
        let mut schema =
            self.table(path, depth).or_else(|| self.list(path, depth)).unwrap_or_else(|| leaf(path));
        if let Some(words) = (self.described)(&dotted(path)) {
            schema["description"] = words.into();
        }
        schema
    }

    /// The schema of a table, and of what may stand in its place; `None` if it is none.
    fn table(&self, path: &[TableStep], depth: usize) -> Option<Json> {
        let message = refusal(path, one(NOTHING, 0))?;
        if let Some(tag) = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            let kinds = listed(&refusal(path, one(tag, NOTHING))?)?;
            let variants = kinds.iter().filter_map(|kind| {
                let beside = TableStep::Beside(tag.to_owned(), kind.clone());
                let path: Vec<TableStep> = path.iter().cloned().chain([beside]).collect();
                let mut schema = self.properties(&path, depth)?;
                schema["properties"][tag] = json!({ "const": kind });
                schema["required"] = json!([tag]);
                Some(schema)
            });
            let mut all: Vec<Json> = variants.collect();
            let plain = others(path);
            if !plain.is_empty() {
                all.push(json!({ "type": plain }));
            }
            return Some(json!({ "anyOf": all }));
        }
        let table = self.properties(path, depth)?;
        let others = others(path);
        Some(if others.is_empty() { table } else { json!({ "anyOf": [table, { "type": others }] }) })
    }

    fn properties(&self, path: &[TableStep], depth: usize) -> Option<Json> {
        let message = refusal(path, one(NOTHING, 0))?;
        let keys = if message.starts_with("unknown field") { listed(&message)? } else { return None };
        if depth == 0 {
            return Some(json!({ "type": "object" }));
        }
        let inner = |key: &String| {
            let path: Vec<TableStep> = path.iter().cloned().chain([TableStep::Key(key.clone())]).collect();
            // Parameters of distributions, which are of times here and of counts there, are left open.
            let is_parameter = path.iter().any(TableStep::is_of_distribution);
            (key.clone(), if is_parameter { json!({}) } else { self.at(&path, depth - 1) })
        };
        let properties: Map<String, Json> = keys.iter().map(inner).collect();
        Some(json!({ "type": "object", "properties": properties, "additionalProperties": false }))
    }

    /// The schema of a list of tables.
    fn list(&self, path: &[TableStep], depth: usize) -> Option<Json> {
        let path: Vec<TableStep> = path.iter().cloned().chain([TableStep::Member]).collect();
        let message = refusal(&path, one(NOTHING, 0))?;
        let is_table = message.starts_with("unknown field") || message.starts_with("missing field");
        is_table.then(|| json!({ "type": "array", "items": self.table(&path, depth) }))
    }
}

/// The schema of a value that is no table and no list of some.
fn leaf(path: &[TableStep]) -> Json {
    let words = refusal(path, NOTHING.into());
    if let Some(words) =
        words.as_deref().filter(|message| message.starts_with("unknown variant")).and_then(listed)
    {
        return json!({ "enum": words });
    }
    let mut kinds = others(path);
    if takes(path, Value::Array(Vec::new()), "sequence") {
        kinds.push("array");
    }
    if takes(path, Value::Table(Table::new()), "map") {
        kinds.push("object");
    }
    // All kinds, or none that was tried: the type reads it in a way of its own.
    if kinds.is_empty() || kinds.len() == KINDS { json!({}) } else { json!({ "type": kinds }) }
}

/// Kinds of values that are tried.
const KINDS: usize = 6;

/// Kinds of plain values that are taken.
fn others(path: &[TableStep]) -> Vec<&'static str> {
    let kinds = [
        ("string", Value::from(NOTHING), "string"),
        ("integer", Value::from(7), "integer"),
        ("number", Value::from(0.5), "floating point"),
        ("boolean", Value::from(true), "boolean"),
    ];
    kinds
        .into_iter()
        .filter(|(_, value, called)| takes(path, value.clone(), called))
        .map(|(kind, ..)| kind)
        .collect()
}

/// True if a value of this kind is taken, or refused for itself and not for its kind.
fn takes(path: &[TableStep], value: Value, called: &str) -> bool {
    refusal(path, value).is_none_or(|message| !message.contains(&format!("invalid type: {called}")))
}

fn one(key: &str, value: impl Into<Value>) -> Value {
    Value::Table(Table::from_iter([(key.to_owned(), value.into())]))
}

/// serde's message about a scenario with nothing but `value` at `path`; `None` if it takes that.
fn refusal(path: &[TableStep], value: Value) -> Option<String> {
    let document = path.iter().rev().fold(value, |inner, step| match step {
        TableStep::Key(key) => one(key, inner),
        TableStep::Member => Value::Array(vec![inner]),
        TableStep::Beside(key, kind) => match inner {
            Value::Table(mut table) => {
                table.insert(key.clone(), kind.as_str().into());
                Value::Table(table)
            }
            other => other,
        },
    });
    Scenario::deserialize(document).err().map(|error| error.message().to_owned())
}

/// The names that serde lists behind the one that it refuses.
fn listed(message: &str) -> Option<Vec<String>> {
    let names: Vec<String> = message.split('`').skip(1).step_by(2).skip(1).map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}

fn dotted(path: &[TableStep]) -> String {
    let keys = path.iter().filter_map(|step| match step {
        TableStep::Key(key) => Some(key.as_str()),
        _ => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_depths_are_found() {
        let keys = keys();
        for key in [
            "seed",
            "note",
            "run.duration",
            "load.users",
            "load.arrivals",
            "network.class.name",
            "verdict.succeeded",
        ] {
            assert!(keys.iter().any(|own| own == key), "{key}: {keys:?}");
        }
        assert!(keys.len() > 150, "{}", keys.len());
    }

    /// With the definitions in their places it is the schema that it was.
    #[test]
    fn parts_that_stand_in_it_twice_are_definitions() {
        fn resolved(part: &Json, definitions: &Json) -> Json {
            match part {
                Json::Object(own) => match own.get("$ref").and_then(Json::as_str) {
                    Some(name) => {
                        let name = name.rsplit('/').next().unwrap_or_default();
                        resolved(&definitions[name], definitions)
                    }
                    None => own.iter().map(|(key, own)| (key.clone(), resolved(own, definitions))).collect(),
                },
                Json::Array(own) => own.iter().map(|own| resolved(own, definitions)).collect(),
                other => other.clone(),
            }
        }
        /// Keys called `$ref`, which nothing has.
        fn has_such_a_key(part: &Json) -> bool {
            let keys = part.get(PROPERTIES).and_then(Json::as_object);
            keys.is_some_and(|keys| keys.contains_key("$ref"))
                || part.as_object().is_some_and(|own| own.values().any(has_such_a_key))
                || part.as_array().is_some_and(|own| own.iter().any(has_such_a_key))
        }
        let mut shared = whole(&|key| (key == "load.users").then(|| "a number".to_owned()));
        let before = shared.clone();
        share(&mut shared);
        assert!(!has_such_a_key(&shared));
        let definitions = shared.as_object_mut().and_then(|own| own.remove("definitions")).expect("some");
        assert_eq!(resolved(&shared, &definitions), before);
        let [small, large] =
            [shared.to_string() + &definitions.to_string(), before.to_string()].map(|own| own.len());
        assert!(small * 3 < large, "{small} of {large}");
    }

    #[test]
    fn kinds_and_words_are_those_that_a_scenario_takes() {
        let schema = schema(&|key| (key == "seed").then(|| "a number".to_owned()));
        let of = |key: &str| &schema["properties"][key];
        assert_eq!(of("seed")["description"], "a number");
        assert_eq!(of("name")["type"], json!(["string"]));
        assert!(of("plane")["enum"].as_array().is_some_and(|words| words.contains(&"simulated".into())));
        assert_eq!(schema["additionalProperties"], false);
    }
}
