//! The form and the scenario's text: what is filled in is laid over the text, and what the text says is
//! filled in. Keys that the form does not have stay in the text; its comments do not.

use super::fields::{self, FieldKind};
use serde_json::{Map, Value as Json, json};
use toml::{Table, Value};

/// Texts that may be written as TOML's tables and lists.
const TABLES: [&str; 2] = ["load.arrivals", "load.stages"];

/// The scenario `text` with the `values` of the form laid over it. An error is a sentence.
pub fn write(text: &str, values: Option<&Json>) -> Result<String, String> {
    let mut table = parsed(text)?;
    let empty = Map::new();
    let values = values.and_then(Json::as_object).unwrap_or(&empty);
    for field in fields::all() {
        let Some(given) = values.get(field.key) else { continue };
        let wrong = |error: String| format!("{}: {error}", field.key);
        let path: Vec<&str> = field.key.split('.').collect();
        let before = find(&table, &path).cloned();
        let value = match field.kind {
            FieldKind::Lines => lines(given),
            FieldKind::Paths => paths(given, before.as_ref()).map_err(wrong)?,
            FieldKind::Classes => classes(given, before.as_ref()).map_err(wrong)?,
            FieldKind::Number => number(given).map_err(wrong)?,
            FieldKind::Distribution => to_toml(given).map_err(wrong)?,
            FieldKind::Text if TABLES.contains(&field.key) => to_toml(given).map_err(wrong)?,
            FieldKind::Text | FieldKind::Choice(_) => plain(given).map(Value::String),
        };
        put(&mut table, &path, value)?;
    }
    toml::to_string_pretty(&table).map_err(|error| error.to_string())
}

/// The values of the form's fields in a scenario's text.
pub fn read(text: &str) -> Result<Json, String> {
    let table = parsed(text)?;
    let mut values = Map::new();
    for field in fields::all() {
        let path: Vec<&str> = field.key.split('.').collect();
        let Some(value) = find(&table, &path) else { continue };
        let json = match field.kind {
            FieldKind::Lines => json!(texts(value).join("\n")),
            FieldKind::Paths => json!(path_lines(value)),
            FieldKind::Classes => class_rows(value),
            FieldKind::Distribution => of_distribution(value),
            FieldKind::Text | FieldKind::Number | FieldKind::Choice(_) => json!(inline(value)),
        };
        values.insert(field.key.to_owned(), json);
    }
    Ok(Json::Object(values))
}

fn parsed(text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| format!("the text is no TOML: {}", error.message()))
}

fn find<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() { Some(value) } else { find(value.as_table()?, rest) }
}

/// Sets a key, or removes it; a table that is empty then goes too.
fn put(table: &mut Table, path: &[&str], value: Option<Value>) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    if rest.is_empty() {
        match value {
            Some(value) => drop(table.insert((*first).to_owned(), value)),
            None => drop(table.remove(*first)),
        }
        return Ok(());
    }
    if value.is_none() && !table.contains_key(*first) {
        return Ok(());
    }
    let below = table.entry((*first).to_owned()).or_insert_with(|| Value::Table(Table::new()));
    let below = below.as_table_mut().ok_or_else(|| format!("{first} is no table in the text"))?;
    put(below, rest, value)?;
    if below.is_empty() {
        table.remove(*first);
    }
    Ok(())
}

/// A text that is not empty.
fn plain(given: &Json) -> Option<String> {
    given.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn number(given: &Json) -> Result<Option<Value>, String> {
    let Some(text) = plain(given) else { return Ok(None) };
    let number: i64 = text.parse().map_err(|_| format!("`{text}` is no whole number"))?;
    Ok(Some(Value::Integer(number)))
}

fn lines(given: &Json) -> Option<Value> {
    let lines = given.as_str().unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<Value> = lines.map(|line| Value::String(line.to_owned())).collect();
    (!lines.is_empty()).then_some(Value::Array(lines))
}

/// A value as the form has it: a text, which may be a table of TOML, or a distribution with its parameters.
pub fn to_toml(given: &Json) -> Result<Option<Value>, String> {
    if let Json::Object(parameters) = given {
        let mut table = Table::new();
        for (name, value) in parameters {
            let value = plain(value).map(|text| scalar(&text));
            table.extend(value.map(|value| (name.clone(), value)));
        }
        return Ok((!table.is_empty()).then_some(Value::Table(table)));
    }
    let Some(text) = plain(given) else { return Ok(None) };
    if !text.starts_with('{') {
        return Ok(Some(scalar(&text)));
    }
    let table: Table =
        format!("value = {text}").parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    Ok(table.get("value").cloned())
}

/// A number where the text is one, and else a text, such as a time with its unit.
fn scalar(text: &str) -> Value {
    let whole = text.parse::<i64>().map(Value::Integer);
    let number = whole.or_else(|_| text.parse::<f64>().map(Value::Float));
    number.ok().filter(|value| value.as_float().is_none_or(f64::is_finite)).unwrap_or_else(|| text.into())
}

fn paths(given: &Json, before: Option<&Value>) -> Result<Option<Value>, String> {
    let before = before.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut requests = Vec::new();
    for line in given.as_str().unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let method = Some(words[0]).filter(|word| !word.starts_with('/')).map(|_| words.remove(0));
        let (path, weight) = match words[..] {
            [path] => (path, None),
            [path, weight] => {
                let weight: f64 = weight.parse().map_err(|_| format!("`{line}`: `{weight}` is no weight"))?;
                (path, Some(weight))
            }
            _ => {
                return Err(format!(
                    "`{line}`: write a path, which begins with a slash, and if need be a weight"
                ));
            }
        };
        // Other keys of this request in the text stay: headers, a body, embedded objects.
        let same = |request: &&Value| {
            request.get("path").and_then(Value::as_str) == Some(path)
                && request.get("method").and_then(Value::as_str) == method
        };
        let known = before.iter().find(same).and_then(Value::as_table);
        let mut request = known.cloned().unwrap_or_default();
        request.insert("path".to_owned(), path.into());
        request.extend(method.map(|method| ("method".to_owned(), method.into())));
        match weight {
            Some(weight) if weight.fract() == 0.0 => {
                request.insert("weight".to_owned(), Value::Integer(weight as i64));
            }
            Some(weight) => drop(request.insert("weight".to_owned(), Value::Float(weight))),
            None => drop(request.remove("weight")),
        }
        requests.push(Value::Table(request));
    }
    Ok((!requests.is_empty()).then_some(Value::Array(requests)))
}

fn path_lines(value: &Value) -> String {
    let line = |request: &Value| {
        let text = |key: &str| request.get(key).map(inline).filter(|text| !text.is_empty());
        let words = [text("method"), text("path"), text("weight")];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    value.as_array().into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

/// Columns of a class in the form, and the keys that they are.
const CLASS_COLUMNS: [(&str, &[&str]); 4] =
    [("name", &["name"]), ("share", &["share"]), ("access", &["access"]), ("rtt", &["core", "rtt"])];

fn classes(given: &Json, before: Option<&Value>) -> Result<Option<Value>, String> {
    let before = before.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut classes = Vec::new();
    for row in given.as_array().into_iter().flatten() {
        let Some(name) = row.get("name").and_then(plain) else { continue };
        let known = before.iter().find(|class| class.get("name").and_then(Value::as_str) == Some(&name));
        let mut class = known.and_then(Value::as_table).cloned().unwrap_or_default();
        for (column, path) in CLASS_COLUMNS {
            let text = row.get(column).and_then(plain);
            // A name is a text, also where it looks like a number.
            let value = text.map(|text| if column == "name" { Value::String(text) } else { scalar(&text) });
            put(&mut class, path, value)?;
        }
        classes.push(Value::Table(class));
    }
    Ok((!classes.is_empty()).then_some(Value::Array(classes)))
}

fn class_rows(value: &Value) -> Json {
    let row = |class: &Value| {
        let cell = |path: &[&str]| {
            class.as_table().and_then(|class| find(class, path)).map_or(String::new(), inline)
        };
        let cells = CLASS_COLUMNS.iter().map(|(column, path)| ((*column).to_owned(), json!(cell(path))));
        Json::Object(cells.collect())
    };
    value.as_array().into_iter().flatten().map(row).collect()
}

/// A distribution as the form has it: its parameters where these are plain values, else its text.
fn of_distribution(value: &Value) -> Json {
    let Some(table) = value.as_table() else { return json!(inline(value)) };
    if table.values().any(|value| value.is_table() || value.is_array()) {
        return json!(inline(value));
    }
    Json::Object(table.iter().map(|(key, value)| (key.clone(), json!(inline(value)))).collect())
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(inline).collect()
}

/// A value in one line; a text without its quotes.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_scenario::Overlay;
    use std::path::Path;

    #[test]
    fn a_filled_form_is_a_scenario() {
        let values = json!({
            "name": "shop", "plane": "simulated", "target": "", "http": "1.1", "seed": "7",
            "load.model": "hybrid", "load.arrivals": "60/s", "load.users": "",
            "load.requests": { "distribution": "geometric", "mean": "4" },
            "load.think": { "distribution": "lognormal", "mu": "-1.0", "sigma": "0.6" },
            "network.class": [
                { "name": "fibre", "share": "60", "access": "fibre", "rtt": "" },
                { "name": "dsl", "share": "40", "access": "dsl", "rtt": "30ms" },
                { "name": "", "share": "9", "access": "", "rtt": "" },
            ],
            "requests.request": "/index.html 9\nPOST /order",
            "run.duration": "2s", "thresholds": "p99<200ms\nerrors<0.1%",
        });
        let text = write("", Some(&values)).expect("a text");
        let plan = farfield_scenario::from_text(&text, Some(Path::new("s.toml")), &Overlay::default());
        assert!(plan.is_ok(), "{plan:?}\n{text}");
        let again = read(&text).expect("values");
        for key in ["name", "load.requests", "load.think", "requests.request", "thresholds", "seed"] {
            let (given, found) = (&values[key], &again[key]);
            let numbers = |value: &Json| value.to_string().replace("-1.0", "-1");
            assert_eq!(numbers(given), numbers(found), "{key}\n{text}");
        }
        assert_eq!(again["network.class"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            write(&text, Some(&again)).as_deref(),
            Ok(text.as_str()),
            "what is read is written as it was"
        );
    }

    #[test]
    fn keys_that_the_form_does_not_have_stay() {
        let text = "verdict.worker-busy = 0.9\n[[requests.request]]\npath = '/a'\nembedded = ['/b']\n[run]\ndrain = '1s'";
        let values = json!({ "requests.request": "/a 2\n/c", "run.drain": "" });
        let text = write(text, Some(&values)).expect("a text");
        let table: Table = text.parse().expect("TOML");
        assert_eq!(table["requests"]["request"][0]["embedded"][0].as_str(), Some("/b"));
        assert_eq!(table["requests"]["request"][0]["weight"].as_integer(), Some(2));
        assert_eq!(table["verdict"]["worker-busy"].as_float(), Some(0.9));
        assert!(!table.contains_key("run"), "an empty table goes: {text}");
    }

    #[test]
    fn mistakes_name_their_field() {
        let wrong = |values: Json| write("", Some(&values)).expect_err("a mistake");
        assert!(wrong(json!({ "load.users": "ten" })).starts_with("load.users: `ten`"));
        assert!(wrong(json!({ "requests.request": "/a b c" })).starts_with("requests.request: "));
        assert!(wrong(json!({ "load.arrivals": "{ process = " })).starts_with("load.arrivals: "));
        assert!(write("x = ", None).expect_err("no TOML").starts_with("the text is no TOML"));
        assert!(write("run = 3", Some(&json!({ "run.drain": "1s" }))).expect_err("no table").contains("run"));
    }

    /// Text that would end a string of TOML, or be markup, is a text like any.
    #[test]
    fn hostile_texts_are_texts() {
        for hostile in ["\"\nseed = 9\n#", "</script><script>alert(1)</script>", "\u{1b}[2J", "'''"] {
            let text = write("", Some(&json!({ "name": hostile }))).expect("a text");
            let table: Table = text.parse().expect("TOML");
            assert_eq!(table["name"].as_str(), Some(hostile.trim()));
            assert_eq!(table.len(), 1, "{text}");
        }
    }
}
