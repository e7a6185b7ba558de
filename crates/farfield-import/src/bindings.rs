//! Values of a recording that are no constants: what a reply contains and a later request repeats, such as a
//! token in a form or in JSON, is taken from the reply in the scenario, and cookies that the server set are
//! those of the user.
//!
//! A value is bound where the reply has it as a whole, in an `<input>`, a `<meta>`, a string of JSON or a
//! header field, and the request has it as the whole value of a field of a form, a parameter, a string of
//! JSON, or a header field. Short values, which may be equal by chance, are bound in `<input>`s of the
//! field's own name alone. Of several replies the last before the request has it. Found like this, a value
//! may still be a constant: each binding is a sentence of the account.

use crate::checks::is_sound_extraction;
use crate::draft::Draft;
use crate::state::{Body, EXTRACTIONS_MAX, State};
use crate::text::{is_variable, quoted, state_name};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use url::{Position, Url};

/// Characters of a value that is not equal by chance.
const LENGTH_MIN: usize = 8;
/// Bytes of a value at most.
const LENGTH_MAX: usize = 4_000;
/// Values of one reply that are looked at.
const VALUES_MAX: usize = 10_000;
/// Bytes of a reply that are looked at.
const REPLY_BYTES_MAX: usize = 4 << 20;
/// Bytes of a tag that are looked at, and attributes of it.
const TAG_BYTES_MAX: usize = 8 << 10;
const ATTRIBUTES_MAX: usize = 64;
/// Bindings of a scenario at most.
const BINDINGS_MAX: usize = 200;

/// A reply as an archive has it.
struct Reply {
    method: String,
    url: Url,
    /// Path and query.
    path: String,
    text: String,
    headers: Vec<(String, String)>,
}

/// Where a reply has a value.
#[derive(Debug, Clone)]
struct Found {
    /// The state whose reply it is, by its place among those of the scenario.
    place: usize,
    /// The extraction, as TOML.
    source: String,
    /// Its name there.
    name: String,
    is_input: bool,
}

/// Binds what states repeat of replies of the archive `text`. `numbers` are the entries of the scenario in
/// the order in which they are asked for.
pub fn bind(text: &[u8], draft: &mut Draft, numbers: &[usize]) {
    let replies = replies(text);
    // Requests that are alike have their replies one after the other.
    let mut by_request: BTreeMap<String, VecDeque<&Reply>> = BTreeMap::new();
    for reply in &replies {
        by_request.entry(request_key(&reply.method, &reply.url, &reply.path)).or_default().push_back(reply);
    }
    let mut known: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    let (mut set, mut taken) = (BTreeSet::new(), 0);
    let mut names: BTreeMap<(usize, String), String> = BTreeMap::new();
    for (place, number) in numbers.iter().enumerate() {
        let mut state = std::mem::take(&mut draft.entry(*number).state);
        let server = draft.entries()[*number].server.clone();
        let asked = server.map(|url| request_key(&state.method, &url, &state.path.replace("$$", "$")));
        bind_cookies(&mut state, &set, draft);
        let mut bound: BTreeMap<String, Found> = BTreeMap::new();
        state_values(&state, &mut |field, value| {
            if let Some(found) = chosen(&known, field, value) {
                bound.entry(value.to_owned()).or_insert_with(|| found.clone());
            }
        });
        for (value, found) in bound {
            if taken == BINDINGS_MAX {
                break;
            }
            let from = numbers[found.place];
            let key = (found.place, found.source.clone());
            let name = match names.get(&key) {
                Some(name) => name.clone(),
                None => {
                    let name = free_name(&found.name, &names);
                    let is_full = draft.entry(from).state.extract.len() >= EXTRACTIONS_MAX;
                    if is_full || !is_sound_extraction(&found.source) {
                        continue;
                    }
                    draft.entry(from).state.extract.push((name.clone(), found.source.clone()));
                    names.insert(key, name.clone());
                    taken += 1;
                    name
                }
            };
            if replace(&mut state, &value, &name) {
                let (to, of) = (state.name.clone(), draft.entry(from).state.name.clone());
                draft.note(format!(
                    "`{name}` of `{to}` is taken from the reply to `{of}`, which has its value"
                ));
            }
        }
        draft.entry(*number).state = state;
        if let Some(reply) = asked.and_then(|asked| by_request.get_mut(&asked)?.pop_front()) {
            note_values(reply, place, &mut known);
            set.extend(cookies_of(reply));
        }
    }
}

/// Key that replies are found by: method, scheme, host and path.
fn request_key(method: &str, server: &Url, path: &str) -> String {
    format!("{method} {}{path}", server.origin().ascii_serialization())
}

/// Leaves the Cookie field out if the server has set all that it has: users keep their own then.
fn bind_cookies(state: &mut State, set: &BTreeSet<String>, draft: &mut Draft) {
    let Some(place) = state.headers.iter().position(|(name, _)| name == "cookie") else { return };
    let mut names =
        state.headers[place].1.split(';').map(|pair| pair.split('=').next().unwrap_or_default().trim());
    if names.all(|name| set.contains(name)) {
        state.headers.remove(place);
        draft.note("cookies that a reply before sets are those of each user, and not of the recording");
    }
}

/// The last reply's value that a request repeats in `field`.
fn chosen<'k>(known: &'k BTreeMap<String, Vec<Found>>, field: &str, value: &str) -> Option<&'k Found> {
    if value.is_empty() || value.len() > LENGTH_MAX || value.contains('$') {
        return None;
    }
    let all = known.get(value)?;
    let own = all.iter().rev().find(|found| found.is_input && found.name == field);
    own.or_else(|| all.last().filter(|_| value.chars().count() >= LENGTH_MIN && is_token(value)))
}

/// True if a value is no word that anything may have, such as `application/json`.
fn is_token(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    !value.contains(char::is_whitespace) && has(|letter| letter.is_ascii_digit())
}

/// A variable's name that no other binding has.
fn free_name(wanted: &str, names: &BTreeMap<(usize, String), String>) -> String {
    let base = state_name(wanted);
    let base = if is_variable(&base) { base } else { "value".to_owned() };
    let is_free = |name: &String| names.values().all(|taken| taken != name);
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free).expect("numbers do not run out")
}

/// Hands each value of a state's request to `take`, with the name of its field.
fn state_values(state: &State, take: &mut dyn FnMut(&str, &str)) {
    let queries = state.path.split_once('?').map(|(_, query)| query);
    for text in queries.into_iter().chain(form_of(state)) {
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
            take(&name, &value);
        }
    }
    if let Some(json) = json_of(state) {
        strings(&json, &mut String::new(), &mut |pointer, value| {
            take(pointer.rsplit('/').next().unwrap_or_default(), value);
        });
    }
    for (name, value) in &state.headers {
        take(name, value.rsplit(' ').next().unwrap_or_default());
    }
}

/// The body of a state as a form, if it may be one.
fn form_of(state: &State) -> Option<&str> {
    match &state.body {
        Some(Body::Text(text)) if !text.starts_with(['{', '[', '<', '-']) => Some(text),
        _ => None,
    }
}

fn json_of(state: &State) -> Option<Value> {
    match &state.body {
        Some(Body::Text(text)) if text.starts_with(['{', '[']) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Puts the variable `name` in the place of `value`; false if it is not there.
fn replace(state: &mut State, value: &str, name: &str) -> bool {
    let before = state.clone();
    let in_pairs = |text: &str| {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((field, own)) if decoded(own) == value => format!("{field}=${{{name}|form}}"),
            _ => pair.to_owned(),
        };
        text.split('&').map(pair).collect::<Vec<String>>().join("&")
    };
    if let Some((path, query)) = state.path.split_once('?') {
        state.path = format!("{path}?{}", in_pairs(query));
    }
    if let Some(form) = form_of(state).map(in_pairs) {
        state.body = Some(Body::Text(form));
    } else if let Some(Body::Text(json)) = state.body.as_mut().filter(|_| !value.contains(['"', '\\'])) {
        *json = json.replace(&format!("\"{value}\""), &format!("\"${{{name}|json}}\""));
    }
    for (_, own) in &mut state.headers {
        let keeps = own.len() - own.rsplit(' ').next().unwrap_or_default().len();
        if own[keeps..] == *value {
            own.replace_range(keeps.., &format!("${{{name}}}"));
        }
    }
    *state != before
}

/// A value of a form or a query, without its encoding.
fn decoded(raw: &str) -> String {
    let text = format!("v={raw}");
    url::form_urlencoded::parse(text.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Asked,
    #[serde(default)]
    response: Option<Answered>,
}

#[derive(Deserialize)]
struct Asked {
    method: String,
    url: String,
}

#[derive(Deserialize)]
struct Answered {
    #[serde(default)]
    headers: Option<Vec<Pair>>,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

/// The replies of an archive, with their content where that is text.
fn replies(text: &[u8]) -> Vec<Reply> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let Ok(archive) = serde_json::from_slice::<Archive>(text) else { return Vec::new() };
    let reply = |Entry { request, response }: Entry| {
        let (url, Answered { headers, content }) = (Url::parse(&request.url).ok()?, response?);
        let is_text = |content: &Content| {
            let is_plain = content.encoding.as_deref().is_none_or(str::is_empty);
            is_plain && content.text.as_ref().is_some_and(|text| text.len() <= REPLY_BYTES_MAX)
        };
        let pair = |pair: Pair| (pair.name.to_ascii_lowercase(), pair.value.unwrap_or_default());
        Some(Reply {
            method: request.method,
            path: url[Position::BeforePath..Position::AfterQuery].to_owned(),
            url,
            text: content.filter(is_text).and_then(|content| content.text).unwrap_or_default(),
            headers: headers.into_iter().flatten().map(pair).collect(),
        })
    };
    archive.log.entries.into_iter().filter_map(reply).collect()
}

/// The names of the cookies that a reply sets.
fn cookies_of(reply: &Reply) -> impl Iterator<Item = String> {
    let fields = reply.headers.iter().filter(|(name, _)| name == "set-cookie");
    // Browsers put several fields of one name on lines of one.
    let lines = fields.flat_map(|(_, value)| value.lines());
    lines.filter_map(|line| Some(line.split_once('=')?.0.trim().to_owned()))
}

/// Notes the values that the reply to the state at `place` has.
fn note_values(reply: &Reply, place: usize, known: &mut BTreeMap<String, Vec<Found>>) {
    let mut left = VALUES_MAX;
    let mut add = |value: String, name: &str, source: String, is_input: bool| {
        if left > 0 && value.len() <= LENGTH_MAX {
            left -= 1;
            known.entry(value).or_default().push(Found { place, source, name: name.to_owned(), is_input });
        }
    };
    for (name, value) in reply.headers.iter().filter(|(name, _)| name != "set-cookie" && name != "date") {
        add(value.clone(), name, format!("{{ header = {} }}", quoted(name)), false);
    }
    if let Ok(json) = serde_json::from_str::<Value>(&reply.text) {
        strings(&json, &mut String::new(), &mut |pointer, value| {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            add(value.to_owned(), name, format!("{{ json = {} }}", quoted(pointer)), false);
        });
        return;
    }
    for (element, attribute) in [("input", "value"), ("meta", "content")] {
        for tag in tags(&reply.text, element).take(VALUES_MAX) {
            let of =
                |wanted: &str| tag.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
            // A name with quotes in it would need more than a selector's quotes.
            let (Some(name), Some(value)) = (of("name"), of(attribute)) else { continue };
            if !name.contains(['"', '\\']) {
                let css = quoted(&format!("{element}[name=\"{name}\"]"));
                let source = format!("{{ css = {css}, attribute = {} }}", quoted(attribute));
                add(value, &name, source, element == "input");
            }
        }
    }
}

/// Hands each string of a value of JSON to `take`, with its pointer (RFC 6901).
fn strings(value: &Value, pointer: &mut String, take: &mut dyn FnMut(&str, &str)) {
    let length = pointer.len();
    let mut inside = |name: &str, inner: &Value, pointer: &mut String| {
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        strings(inner, pointer, take);
        pointer.truncate(length);
    };
    match value {
        Value::String(text) => take(pointer, text),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(nth, inner)| inside(&nth.to_string(), inner, pointer));
        }
        Value::Object(all) => all.iter().for_each(|(name, inner)| inside(name, inner, pointer)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The attributes of each start tag of an element, names in lower case.
fn tags<'t>(html: &'t str, element: &'t str) -> impl Iterator<Item = Vec<(String, String)>> + 't {
    let begins = move |at: usize| {
        let name = html.get(at + 1..at + 1 + element.len());
        let rest = &html[at + 1..];
        name.filter(|name| name.eq_ignore_ascii_case(element)).map(|name| &rest[name.len()..])
    };
    let starts = html.match_indices('<').filter_map(move |(at, _)| begins(at));
    starts.filter(|rest| rest.starts_with(|next: char| next.is_ascii_whitespace())).map(attributes)
}

/// The attributes at the beginning of a text, up to the end of their tag (WHATWG HTML section 13.1.2.3), as
/// far as a usual tag goes.
fn attributes(text: &str) -> Vec<(String, String)> {
    let mut rest = &text[..text.floor_char_boundary(TAG_BYTES_MAX)];
    let mut found = Vec::new();
    while found.len() < ATTRIBUTES_MAX {
        rest = rest.trim_start_matches(|next: char| next.is_ascii_whitespace() || next == '/');
        let end = rest.find(|next: char| next.is_ascii_whitespace() || matches!(next, '=' | '>' | '/'));
        let Some(end) = end.filter(|_| !rest.starts_with('>')) else { return found };
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        let Some(after) = rest.strip_prefix('=') else {
            found.push((name, String::new()));
            continue;
        };
        rest = after.trim_start();
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (value, behind) = match quote {
            Some(quote) => rest[1..].split_once(quote).unwrap_or((&rest[1..], "")),
            None => rest.split_at(
                rest.find(|next: char| next.is_ascii_whitespace() || next == '>').unwrap_or(rest.len()),
            ),
        };
        found.push((name, unescaped(value)));
        rest = behind;
    }
    found
}

/// An attribute's value with the usual character references resolved.
fn unescaped(value: &str) -> String {
    if !value.contains('&') {
        return value.to_owned();
    }
    let usual = [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&#43;", "+"),
        ("&#x2B;", "+"),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ];
    let plain = usual.iter().fold(value.to_owned(), |text, (from, to)| text.replace(from, to));
    plain.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use crate::tests::of;
    use crate::{Imported, Kind, Wishes};
    use serde_json::{Value, json};

    fn entry(second: u8, request: (&str, &str, &str), fields: &[(&str, &str)], reply: Value) -> Value {
        let (method, path, body) = request;
        let headers: Vec<Value> =
            fields.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        let mut asked = json!({ "method": method, "url": format!("http://h{path}"), "headers": headers });
        if !body.is_empty() {
            asked["postData"] = json!({ "mimeType": "application/x-www-form-urlencoded", "text": body });
        }
        json!({
            "startedDateTime": format!("2026-11-26T10:00:{second:02}.000Z"), "time": 5,
            "pageref": format!("p{second}"), "request": asked, "response": reply,
        })
    }

    fn replied(text: &str, set_cookie: &str) -> Value {
        let headers = match set_cookie {
            "" => json!([]),
            set => json!([{ "name": "Set-Cookie", "value": set }]),
        };
        json!({ "status": 200, "headers": headers, "content": { "text": text } })
    }

    fn imported(entries: &[Value]) -> Imported {
        let text = json!({ "log": { "version": "1.2", "entries": entries } }).to_string();
        of(Kind::Har, &text, &Wishes::default()).expect("a session")
    }

    /// A login with a token in its form, an API with a token in JSON, and cookies that the server sets.
    #[test]
    fn values_that_a_reply_contains_are_taken_from_it() {
        let form = "<FORM><input type=hidden name='csrf' value=\"a&amp;b\"><input name=user value=''></FORM>";
        let session = [
            entry(0, ("GET", "/login", ""), &[], replied(form, "sid=1; Path=/\nlang=en")),
            entry(
                1,
                ("POST", "/login", "user=ann&csrf=a%26b"),
                &[("Cookie", "sid=1; lang=en")],
                replied("{\"auth\": [{\"token\": \"tok-12345678\"}]}", ""),
            ),
            entry(
                2,
                ("POST", "/api?t=tok-12345678", "x=tok-12345678x&y=short"),
                &[("Authorization", "Bearer tok-12345678"), ("Cookie", "other=2")],
                replied("", ""),
            ),
        ];
        let found = imported(&session);
        for part in [
            "extract.csrf = { css = 'input[name=\"csrf\"]', attribute = \"value\" }",
            "body = \"user=ann&csrf=${csrf|form}\"",
            "extract.token = { json = \"/auth/0/token\" }",
            "path = \"/api?t=${token|form}\"",
            "headers.authorization = \"Bearer ${token}\"",
            "x=tok-12345678x&y=short",
            "headers.cookie = \"other=2\"",
        ] {
            assert!(found.scenario.contains(part), "{part}: {}", found.scenario);
        }
        assert!(!found.scenario.contains("sid=1"), "{}", found.scenario);
        let notes = found.notes.join("\n");
        assert!(notes.contains("`csrf` of `post-login` is taken from the reply to `login`"), "{notes}");
        assert!(notes.contains("cookies that a reply before sets are those of each user"), "{notes}");
    }

    /// Values that are equal by chance, that came later, or that another server's reply has, stay.
    #[test]
    fn values_that_no_reply_before_has_stay() {
        let session = [
            entry(
                0,
                ("GET", "/a", ""),
                &[("Accept", "application/json")],
                replied("{\"a\": \"application/json\", \"n\": \"7\"}", ""),
            ),
            entry(1, ("POST", "/b", "n=7&late=tok-12345678&word=application%2Fjson"), &[], replied("", "")),
            entry(2, ("GET", "/c", ""), &[], replied("{\"late\": \"tok-12345678\"}", "")),
        ];
        let found = imported(&session);
        assert!(!found.scenario.contains("extract") && !found.scenario.contains("${"), "{}", found.scenario);
    }

    /// An archive of somebody else: tags without end, and names that no selector can have.
    #[test]
    fn hostile_replies_take_no_time_and_change_nothing() {
        let name = "a]\u{1}\n*";
        let html = format!("{}<input name='{name}' value=tok-12345678>", "<input ".repeat(400_000));
        let session = [
            entry(0, ("GET", "/a", ""), &[], replied(&html, "")),
            entry(1, ("POST", "/b", "x=tok-12345678"), &[], replied("", "")),
        ];
        let found = imported(&session);
        assert_eq!(found.reading.taken, 2, "{}", found.scenario);
    }

    #[test]
    fn tags_are_read_however_they_are_written() {
        let html = "<inputs name=no><INPUT\nNAME = a value=b/c><input name='d' disabled value='e>f'/><input name=g value";
        let found: Vec<Vec<(String, String)>> = super::tags(html, "input").collect();
        let of = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(found[0], of(&[("name", "a"), ("value", "b/c")]));
        assert_eq!(found[1], of(&[("name", "d"), ("disabled", ""), ("value", "e>f")]));
        assert_eq!(found[2], of(&[("name", "g")]));
    }
}
