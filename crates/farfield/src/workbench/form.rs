//! The form and the scenario's text: what is filled in is laid over the text, and what the text says is
//! filled in. Keys that the form does not have stay in the text; its comments do not.
//!
//! A field whose value says what the text says leaves the text as it is, with all that the form cannot show
//! of it. [`rows`] has fields that are lists of tables.

mod rows;

use super::fields::{self, Field, FieldKind};
use super::refusal::KeyRefusal;
use serde_json::{Map, Value as Json, json};
use toml::{Table, Value};

/// The member of a table's values that lists its keys for which there is no field.
const OTHERS: &str = "others";

/// The scenario `text` with the `values` of the form laid over it.
pub fn write(text: &str, values: Option<&Json>) -> Result<String, KeyRefusal> {
    let mut table = parsed(text)?;
    if let Some(values) = values.and_then(Json::as_object) {
        lay_over(&mut table, fields::all(), values, "")?;
    }
    toml::to_string_pretty(&table).map_err(|error| KeyRefusal::from(error.to_string()))
}

/// The values of the form's fields in a scenario's text.
pub fn read(text: &str) -> Result<Json, KeyRefusal> {
    Ok(Json::Object(values_of(&parsed(text)?, fields::all())))
}

fn parsed(text: &str) -> Result<Table, KeyRefusal> {
    let refused =
        |error: toml::de::Error| KeyRefusal::from(format!("the text is no TOML: {}", error.message()));
    text.parse().map_err(refused)
}

/// Lays the values of a table's fields over it; `within` is the table's key with a dot, or empty.
fn lay_over(
    table: &mut Table,
    fields: impl Iterator<Item = &'static Field>,
    values: &Map<String, Json>,
    within: &str,
) -> Result<(), KeyRefusal> {
    for field in fields {
        let Some(given) = values.get(field.key) else { continue };
        let path: Vec<&str> = field.key.split('.').collect();
        let before = find(table, &path).cloned();
        let shown = before.as_ref().map(|value| shown(field, value));
        if said(given) == said(&shown.clone().flatten().unwrap_or_default()) {
            continue;
        }
        let key = format!("{within}{}", field.key);
        if shown == Some(None) {
            let sentence = "the file has a value here that the form cannot show; change it there";
            return Err(KeyRefusal::at(&key, sentence));
        }
        let value = match field.kind {
            FieldKind::Rows(rows) => rows::write(rows, given, before.as_ref(), &key)?,
            _ => written(field, given, before.as_ref()).map_err(|error| KeyRefusal::at(&key, error))?,
        };
        put(table, &path, value).map_err(|error| KeyRefusal::at(&key, error))?;
    }
    Ok(())
}

/// The value of a field as TOML; none if it is empty.
fn written(field: &Field, given: &Json, before: Option<&Value>) -> Result<Option<Value>, String> {
    // A command may be a list of words.
    let was_toml = before.is_some_and(|before| before.is_array() || before.is_table());
    match field.kind {
        FieldKind::Lines => Ok(lines(given)),
        FieldKind::Paths => paths(given, before),
        FieldKind::Number => number(given),
        FieldKind::Distribution | FieldKind::Toml => to_toml(given),
        FieldKind::Text if was_toml => to_toml(given),
        FieldKind::Area => {
            Ok(given.as_str().filter(|text| !text.is_empty()).map(|text| Value::String(text.to_owned())))
        }
        FieldKind::Text | FieldKind::Choice(_) | FieldKind::Rows(_) => Ok(plain(given).map(Value::String)),
    }
}

/// The values of a table's fields, and the keys of it that have none.
fn values_of(table: &Table, fields: impl Iterator<Item = &'static Field>) -> Map<String, Json> {
    let fields: Vec<&Field> = fields.collect();
    let mut values = Map::new();
    for field in &fields {
        let path: Vec<&str> = field.key.split('.').collect();
        let shown = find(table, &path).and_then(|value| shown(field, value));
        values.extend(shown.map(|shown| (field.key.to_owned(), shown)));
    }
    let mut others = Vec::new();
    collect_others(table, "", &fields, &values, &mut others);
    others.sort();
    values.insert(OTHERS.to_owned(), json!(others));
    values
}

/// Keys of a table that no field shows.
fn collect_others(
    table: &Table,
    within: &str,
    fields: &[&Field],
    values: &Map<String, Json>,
    others: &mut Vec<String>,
) {
    for (name, value) in table {
        let key = format!("{within}{name}");
        if values.contains_key(&key) {
            continue;
        }
        let inner = format!("{key}.");
        match value.as_table().filter(|_| fields.iter().any(|field| field.key.starts_with(&inner))) {
            Some(below) => collect_others(below, &inner, fields, values, others),
            None => others.push(key),
        }
    }
}

/// A field's value as the form shows it; none if it cannot.
fn shown(field: &Field, value: &Value) -> Option<Json> {
    match field.kind {
        FieldKind::Lines => line_texts(value).map(|lines| json!(lines)),
        FieldKind::Paths => path_lines(value).map(|lines| json!(lines)),
        FieldKind::Area => value.as_str().map(|text| json!(text)),
        FieldKind::Distribution => Some(of_distribution(value)),
        FieldKind::Rows(rows) => rows::read(rows, value),
        FieldKind::Text | FieldKind::Toml | FieldKind::Number | FieldKind::Choice(_) => {
            Some(json!(inline(value)))
        }
    }
}

/// A value without what is empty in it.
fn said(value: &Json) -> Json {
    let is_empty = |value: &Json| match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(all) => all.is_empty(),
        Json::Object(all) => all.is_empty(),
        _ => false,
    };
    let said = match value {
        Json::Array(all) => Json::Array(all.iter().map(said).filter(|one| !is_empty(one)).collect()),
        Json::Object(all) => {
            let members = all.iter().filter(|(key, _)| *key != OTHERS);
            let members = members.map(|(key, value)| (key.clone(), said(value)));
            Json::Object(members.filter(|(_, value)| !is_empty(value)).collect())
        }
        value => value.clone(),
    };
    if is_empty(&said) { Json::Null } else { said }
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

/// A value as the form has it: a text, which may be a table or a list of TOML, or a distribution with its
/// parameters.
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
    if !text.starts_with(['{', '[']) {
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

/// A line of the form that is a request: its method, if it has one, its path, and its weight, if it has one.
struct PathLine<'l> {
    method: Option<&'l str>,
    path: &'l str,
    weight: Option<f64>,
}

impl<'l> PathLine<'l> {
    fn read(line: &'l str) -> Result<PathLine<'l>, String> {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let is_target = |word: &str| word.starts_with('/') || word.contains("://");
        let method = Some(words[0]).filter(|word| !is_target(word)).map(|_| words.remove(0));
        match words[..] {
            [path] => Ok(PathLine { method, path, weight: None }),
            [path, weight] => {
                let weight = weight.parse().map_err(|_| format!("`{line}`: `{weight}` is no weight"))?;
                Ok(PathLine { method, path, weight: Some(weight) })
            }
            _ => Err(format!("`{line}`: write a path, which begins with a slash, and if need be a weight")),
        }
    }

    fn is_of(&self, request: &Value) -> bool {
        request.get("path").and_then(Value::as_str) == Some(self.path)
            && request.get("method").and_then(Value::as_str) == self.method
    }

    /// The request, with the other keys of the one that it was: headers, a body, embedded objects.
    fn request(&self, was: Option<&Value>) -> Value {
        let mut request = was.and_then(Value::as_table).cloned().unwrap_or_default();
        request.insert("path".to_owned(), self.path.into());
        match self.method {
            Some(method) => drop(request.insert("method".to_owned(), method.into())),
            None => drop(request.remove("method")),
        }
        match self.weight {
            Some(weight) if weight.fract() == 0.0 => {
                request.insert("weight".to_owned(), Value::Integer(weight as i64));
            }
            Some(weight) => drop(request.insert("weight".to_owned(), Value::Float(weight))),
            None => drop(request.remove("weight")),
        }
        Value::Table(request)
    }
}

fn paths(given: &Json, before: Option<&Value>) -> Result<Option<Value>, String> {
    let lines = given.as_str().unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.map(PathLine::read).collect::<Result<Vec<_>, _>>()?;
    let mut left: Vec<Option<&Value>> =
        before.and_then(Value::as_array).into_iter().flatten().map(Some).collect();
    // Of requests with one method and path the first line has the first.
    let mut was: Vec<Option<&Value>> = Vec::new();
    for line in &lines {
        let place = left.iter().position(|request| request.is_some_and(|request| line.is_of(request)));
        was.push(place.and_then(|place| left[place].take()));
    }
    // A line whose path or method was changed stays the request that stood there.
    if lines.len() == left.len() {
        for (own, request) in was.iter_mut().zip(&left).filter(|(own, _)| own.is_none()) {
            *own = *request;
        }
    }
    let requests: Vec<Value> = lines.iter().zip(was).map(|(line, was)| line.request(was)).collect();
    Ok((!requests.is_empty()).then_some(Value::Array(requests)))
}

/// The requests of a list, one a line.
fn path_lines(value: &Value) -> Option<String> {
    let line = |request: &Value| {
        let request = request.as_table()?;
        let text = |key: &str| request.get(key).map(inline).filter(|text| !text.is_empty());
        let words = [text("method"), text("path"), text("weight")];
        Some(words.into_iter().flatten().collect::<Vec<_>>().join(" "))
    };
    let lines: Option<Vec<String>> = value.as_array()?.iter().map(line).collect();
    Some(lines?.join("\n"))
}

/// A distribution as the form has it: its parameters where it has fields for them, else its text.
fn of_distribution(value: &Value) -> Json {
    let Some(table) = value.as_table() else { return json!(inline(value)) };
    let name = table.get("distribution").and_then(Value::as_str);
    let has_inner = table.values().any(|value| value.is_table() || value.is_array());
    if has_inner || name.is_none_or(|name| !fields::has_distribution(name)) {
        return json!(inline(value));
    }
    Json::Object(table.iter().map(|(key, value)| (key.clone(), json!(inline(value)))).collect())
}

/// Texts, one a line: of a list, or a single one.
fn line_texts(value: &Value) -> Option<String> {
    let texts: Vec<String> = match value {
        Value::Array(all) => all.iter().map(inline).collect(),
        value => vec![inline(value)],
    };
    let is_line = |text: &String| !text.is_empty() && !text.contains(['\n', '\r']) && text.trim() == text;
    texts.iter().all(is_line).then(|| texts.join("\n"))
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
                { "name": "fibre", "share": "60", "access": "fibre", "core.rtt": "" },
                { "name": "dsl", "share": "40", "access": "dsl", "core.rtt": "30ms" },
                { "name": "", "share": "", "access": "", "core.rtt": "" },
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

    /// A request whose path is changed keeps its body and its headers.
    #[test]
    fn a_changed_path_is_the_same_request() {
        let text = "[[requests.request]]\npath = '/a'\nmethod = 'POST'\nbody = 'hello'\n\
                    [[requests.request]]\npath = '/b'\nembedded = ['/c']";
        let changed = |lines: &str| {
            let text = write(text, Some(&json!({ "requests.request": lines }))).expect("a text");
            table(&text)["requests"]["request"].clone()
        };
        let found = changed("POST /a2\n/b");
        assert_eq!((found[0]["path"].as_str(), found[0]["body"].as_str()), (Some("/a2"), Some("hello")));
        assert!(found[1]["embedded"].is_array(), "{found}");
        let turned = changed("/b\nPOST /a");
        assert!(turned[0]["embedded"].is_array() && turned[1]["body"].is_str(), "{turned}");
        assert!(changed("/new\nPOST /a\n/b")[0].get("body").is_none());
    }

    /// A list of which the field shows nothing is not written over.
    #[test]
    fn what_the_form_cannot_show_is_not_written_over() {
        let text = "[[session.state]]\nname = 'a'\npath = '/'\ncheck.contains = ['Total: ', 'b']";
        let mut values = read(text).expect("values");
        let state = &mut values["session.state"][0];
        assert_eq!(said(&state["check.contains"]), Json::Null, "it cannot be shown");
        state["check.contains"] = json!("c");
        let refused = write(text, Some(&values)).expect_err("a refusal").json();
        assert_eq!(refused["key"], "session.state[0].check.contains");
    }

    #[test]
    fn mistakes_name_their_field() {
        let wrong = |values: Json| write("", Some(&values)).expect_err("a mistake").to_string();
        assert!(wrong(json!({ "load.users": "ten" })).starts_with("load.users: `ten`"));
        assert!(wrong(json!({ "requests.request": "/a b c" })).starts_with("requests.request: "));
        assert!(wrong(json!({ "load.arrivals": "{ process = " })).starts_with("load.arrivals: "));
        let of_text = |text: &str| write(text, Some(&json!({ "run.drain": "1s" }))).expect_err("a mistake");
        assert!(of_text("x = ").to_string().starts_with("the text is no TOML"));
        assert!(of_text("run = 3").to_string().contains("run"));
        let state = json!({ "name": "a", "path": "/", "extract": [{ "by": "css", "what": "a" }] });
        let refused = write("", Some(&json!({ "session.state": [{}, state] }))).expect_err("no name").json();
        assert_eq!(refused["key"], "session.state[0].extract[0].name", "rows without anything do not count");
    }

    /// A scenario of flows, hosts and sessions, with keys beside those of the form in each of its tables, and
    /// values that the form shows as text.
    const WHOLE: &str = r#"
        target = "http://shop.test/"
        thresholds = ["p99{api}<200ms"]
        verdict.worker-busy = 0.9

        [[host]]
        url = "https://api.shop.test:8443/"
        name = "api-host"

        [[flow]]
        name = "browse"
        load = { users = 2, think = { distribution = "mixture", parts = [{ weight = 1, of = "1s" }] }, stages = "1s:2,0s:4,2s:0" }
        [flow.session]
        think = { distribution = "inverse-gaussian", mean = "2", shape = 3.0 }
        cookies = false
        transitions = { home = { list = 1.0 }, list = { end = 1.0 } }
        [[flow.session.data]]
        file = "users.csv"
        [[flow.session.state]]
        name = "home"
        path = "/"
        embedded = ["/style.css"]
        check = { status = [200, "300-399"], contains = "Welcome", css = "h1" }
        extract.item = { css = "a.item", attribute = "href", random = true, default = "" }
        extract.token = { json = "/token" }
        [[flow.session.state]]
        name = "list"
        body = "a\nb\n"
        form = { select = "form", fields = { q = "x" } }
        think = "2"

        [[flow]]
        name = "api"
        load = { model = "open", arrivals = { process = "constant", rate = "5/s" }, users-max = 9 }
        requests = { request = [{ path = "/a", weight = 2.0, headers = { x = "1" } }, { path = "https://api.shop.test:8443/b" }] }
        thresholds = ["p99<200ms"]
    "#;

    fn table(text: &str) -> Table {
        text.parse().expect(text)
    }

    /// A text that is read and written without a change stays as it was, down to the types of values.
    #[test]
    fn a_scenario_goes_through_the_form_and_nothing_of_it_changes() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let kept = std::fs::read_dir(folder).expect("scenarios").map(|entry| entry.expect("a file").path());
        let kept = kept.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
        let mut texts: Vec<String> =
            kept.map(|path| std::fs::read_to_string(path).expect("a scenario")).collect();
        assert!(texts.len() > 3, "{} scenarios", texts.len());
        texts.push(WHOLE.to_owned());
        for text in texts {
            let values = read(&text).expect(&text);
            let again = write(&text, Some(&values)).expect(&text);
            assert_eq!(table(&again), table(&text), "{text}");
        }
    }

    /// One field is changed, and nothing else of the scenario: neither keys that the form does not have, nor
    /// values that it shows in other words.
    #[test]
    fn a_changed_field_changes_nothing_else() {
        let mut values = read(WHOLE).expect("values");
        assert_eq!(values["flow"][0]["load.stages"][1]["to"], "4");
        assert_eq!(values["flow"][0]["session.state"][0]["extract"][0]["what"], "a.item");
        values["flow"][0]["session.state"][1]["path"] = json!("/list");
        let mut expected = table(WHOLE);
        let path = Value::from("/list");
        expected["flow"][0]["session"]["state"][1]
            .as_table_mut()
            .expect("a state")
            .insert("path".into(), path);
        let found = write(WHOLE, Some(&values)).expect("a text");
        assert_eq!(table(&found), expected);
        // Stages that were a short text, a value from a reply, and a level.
        values["flow"][0]["load.stages"][2]["name"] = json!("down");
        values["flow"][0]["session.state"][0]["extract"][0]["what"] = json!("a.other");
        values["flow"][1]["load.arrivals"] = json!("7/s");
        let found = table(&write(WHOLE, Some(&values)).expect("a text"));
        let stages =
            "s = [{ for = '1s', to = 2 }, { for = '0s', to = 4 }, { for = '2s', to = 0, name = 'down' }]";
        expected["flow"][0]["load"]["stages"] = table(stages)["s"].clone();
        expected["flow"][0]["session"]["state"][0]["extract"]["item"]["css"] = "a.other".into();
        expected["flow"][1]["load"]["arrivals"] = "7/s".into();
        assert_eq!(found, expected);
    }

    /// Rows that are moved, removed and added: each has what it had.
    #[test]
    fn rows_keep_what_they_have_wherever_they_are_moved() {
        let mut values = read(WHOLE).expect("values");
        let states = values["flow"][0]["session.state"].as_array_mut().expect("rows");
        states.swap(0, 1);
        states.push(json!({ "name": "more", "path": "/more", "check.contains": "x
y", "think": "" }));
        states.push(json!({ "name": "", "path": "" }));
        values["host"] = json!([]);
        let found = table(&write(WHOLE, Some(&values)).expect("a text"));
        let (before, states) = (table(WHOLE), &found["flow"][0]["session"]["state"]);
        assert_eq!(states[0], before["flow"][0]["session"]["state"][1]);
        assert_eq!(states[1], before["flow"][0]["session"]["state"][0]);
        assert_eq!(
            states[2],
            Value::Table(table(
                "name = 'more'
path = '/more'
check.contains = ['x', 'y']"
            ))
        );
        assert_eq!(states.as_array().map(Vec::len), Some(3), "a row without anything is none");
        assert!(!found.contains_key("host"), "{found:?}");
    }

    /// Keys for which there is no field are named beside those of their table.
    #[test]
    fn keys_without_a_field_are_named() {
        let values = read(WHOLE).expect("values");
        assert_eq!(values[OTHERS], json!(["verdict"]));
        let flow = &values["flow"][0];
        assert_eq!(flow[OTHERS], json!(["session.cookies", "session.data", "session.transitions"]));
        assert_eq!(flow["session.state"][0][OTHERS], json!(["check.css", "embedded"]));
        assert_eq!(flow["session.state"][1][OTHERS], json!(["form"]));
        assert_eq!(values["flow"][1][OTHERS], json!(["load.users-max"]));
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
