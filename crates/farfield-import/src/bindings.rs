//! Values of a recording that are no constants: what a reply contains and a later request repeats, such as a
//! token in a form or in JSON, is taken from the reply in the scenario, and cookies that the server set are
//! those of the user. By default they are named; `--bind` binds them.
//!
//! A value is bound where the reply has it as a whole and once under its name, in an `<input>`, a `<meta>`, a
//! string of JSON or a header field, and the request has it as the whole value of a field of a form, a
//! parameter, a string of JSON, or a header field. Short values, which may be equal by accident, are bound in
//! `<input>`s of the field's own name alone. Of several replies the last before the request has it. Found so,
//! a value may still be a constant: the account names each.

mod markup;
mod redirect;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use crate::checks::is_sound_extraction;
use crate::draft::Draft;
use crate::state::{DraftState, EXTRACTIONS_MAX};
use crate::text::{is_variable, literal, quoted, state_name};
use markup::{values_of, without_scripts};
pub use redirect::fold_redirects;
pub use reply::Reply;
use reply::replies;
use request::map_values;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use url::Url;

/// Characters of a value that is not equal by accident.
const LENGTH_MIN: usize = 8;
/// Bytes of a value at most, and of its name or pointer.
const LENGTH_MAX: usize = 4_000;
const NAME_MAX: usize = 200;
/// Values of one reply that are looked at, and of all.
const VALUES_MAX: usize = 10_000;
const ALL_VALUES_MAX: usize = 200_000;
/// Bindings of a scenario at most.
const BINDINGS_MAX: usize = 200;

/// Place of a value in a reply.
#[derive(Debug, Clone)]
struct ValuePlace {
    /// The state whose reply it is, by its place among those of the scenario.
    place: usize,
    /// The extraction, as TOML.
    source: String,
    /// The extraction's name in the state.
    name: String,
    is_input: bool,
}

/// Values of the replies so far, each with the places that it has been in, the last one last.
#[derive(Default)]
struct KnownValues {
    values: BTreeMap<String, Vec<ValuePlace>>,
    count: usize,
}

/// StateReplies to each state, by its number: of redirects, and what they led to, one behind the other.
pub type StateReplies = BTreeMap<usize, Vec<Reply>>;

/// Binds what states repeat of `replies`, or with `names_only` says what could be. `numbers` are the entries
/// of the scenario in the order in which they are asked for.
pub fn bind(draft: &mut Draft, numbers: &[usize], mut replies: StateReplies, names_only: bool) {
    let (mut known, mut set) = (KnownValues::default(), BTreeMap::new());
    let mut names: BTreeMap<(usize, String), String> = BTreeMap::new();
    // Places in replies whose values are not bound since a scenario has no room for more.
    let mut beyond: BTreeSet<(usize, String)> = BTreeSet::new();
    let mut cookies = 0;
    for (place, number) in numbers.iter().enumerate() {
        let mut state = std::mem::take(&mut draft.entry(*number).state);
        let server = draft.entries()[*number].server.clone();
        cookies += usize::from(takes_cookies(&mut state, server.as_ref(), &set, names_only));
        let before = state.clone();
        map_values(&mut state, &mut |field, value| {
            let found = known.chosen(field, value)?.clone();
            let key = (found.place, found.source);
            if let Some(name) = names.get(&key) {
                return Some(name.clone());
            }
            let extract = &mut draft.entry(numbers[found.place]).state.extract;
            let has_room = names.len() < BINDINGS_MAX && extract.len() < EXTRACTIONS_MAX;
            if !is_sound_extraction(&key.1) {
                return None;
            }
            if !has_room {
                beyond.insert(key);
                return None;
            }
            let name = free_name(&found.name, &names);
            if !names_only {
                extract.push((name.clone(), key.1.clone()));
            }
            names.insert(key, name.clone());
            Some(name)
        });
        draft.entry(*number).state = if names_only { before } else { state };
        let replies = replies.remove(number).unwrap_or_default();
        replies.iter().for_each(|reply| note_cookies(reply, &mut set));
        if let Some(last) = replies.last().filter(|last| last.is_success()) {
            known.note(last, place);
        }
    }
    say(draft, names.into_values().collect(), cookies, names_only);
    if !beyond.is_empty() {
        draft.note(format!(
            "{} further values stand in replies before them, and stay: {BINDINGS_MAX} are bound at most",
            beyond.len()
        ));
    }
}

/// Says what was found.
fn say(draft: &mut Draft, names: Vec<String>, cookies: usize, names_only: bool) {
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let values = if names.len() == 1 { "value" } else { "values" };
    if !names.is_empty() {
        let (count, listed) = (names.len(), listed.join(", "));
        draft.note(match names_only {
            true => format!(
                "{count} {values} of requests stand in replies before them; `--bind` takes them from there: {listed}"
            ),
            false if count == 1 => format!("1 value is taken from a reply, which the recording had: {listed}"),
            false => format!("{count} values are taken from replies, which the recording had: {listed}"),
        });
    }
    if cookies > 0 {
        draft.note(match names_only {
            true => "recorded cookies are sent that a reply before sets; `--bind` has users keep their own",
            false => "cookies that a reply before sets are those of each user, and not of the recording",
        });
    }
}

/// Key that replies are found by: method, scheme, host and path.
fn request_key(method: &str, server: &Url, path: &str) -> String {
    format!("{method} {}{path}", server.origin().ascii_serialization())
}

fn key_of(draft: &Draft, number: usize) -> Option<String> {
    let entry = &draft.entries()[number];
    let server = entry.server.as_ref()?;
    Some(request_key(&entry.state.method, server, &entry.state.path.replace("$$", "$")))
}

/// The reply to each state in an archive, where there are as many replies as states that ask so: else it is
/// not known which is whose.
pub fn replies_of(text: &[u8], draft: &Draft, numbers: &[usize]) -> StateReplies {
    let mut states: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
    for number in numbers {
        if let Some(asked) = key_of(draft, *number) {
            states.entry(asked).or_default().push_back(*number);
        }
    }
    let mut by_request: BTreeMap<String, Vec<Reply>> = BTreeMap::new();
    for reply in replies(text) {
        let key = request_key(&reply.method, &reply.url, &reply.path);
        if states.contains_key(&key) {
            by_request.entry(key).or_default().push(reply);
        }
    }
    let known = by_request.into_iter().filter_map(|(key, replies)| {
        let numbers = states.remove(&key).filter(|numbers| numbers.len() == replies.len())?;
        Some(numbers.into_iter().zip(replies))
    });
    known.flatten().map(|(number, reply)| (number, vec![reply])).collect()
}

/// A cookie as a reply set it: the server, and the name.
type CookieKey = (String, String);

/// True if the server has set all that a Cookie field has, which is left out then unless that is only to be
/// named.
fn takes_cookies(
    state: &mut DraftState,
    server: Option<&Url>,
    set: &BTreeMap<CookieKey, String>,
    names_only: bool,
) -> bool {
    let field = state.headers.iter().position(|(name, _)| name == "cookie");
    let (Some(place), Some(server)) = (field, server) else { return false };
    let origin = server.origin().ascii_serialization();
    let is_set = |pair: &str| {
        let (name, value) = pair.trim().split_once('=').unwrap_or((pair.trim(), ""));
        set.get(&(origin.clone(), name.to_owned())).is_some_and(|own| own == value)
    };
    let are_set = state.headers[place].1.replace("$$", "$").split(';').all(is_set);
    if are_set && !names_only {
        state.headers.remove(place);
    }
    are_set
}

/// Notes the cookies of a reply that its own server gets back.
fn note_cookies(reply: &Reply, set: &mut BTreeMap<CookieKey, String>) {
    let fields = reply.headers.iter().filter(|(name, _)| name == "set-cookie");
    // Browsers put several fields of one name on lines of one.
    for line in fields.flat_map(|(_, value)| value.lines()) {
        let mut parts = line.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
        let key = (reply.url.origin().ascii_serialization(), name.trim().to_owned());
        let is_of_elsewhere = |part: &str| {
            let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
            match attribute.trim().to_ascii_lowercase().as_str() {
                "domain" => !is_within(&reply.url, &value.trim().to_ascii_lowercase()),
                "secure" => !is_trusted(&reply.url),
                _ => false,
            }
        };
        if parts.any(is_of_elsewhere) {
            set.remove(&key);
        } else {
            set.insert(key, value.trim().to_owned());
        }
    }
}

/// True if users keep cookies with Secure of the server of a URL: by https or, as browsers have it, on this
/// machine (W3C Secure Contexts section 3.1).
fn is_trusted(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = host == "localhost" || host.ends_with(".localhost");
    url.scheme() == "https" || is_here || address.is_ok_and(|address| address.is_loopback())
}

/// True if a cookie with this Domain, in lower case, comes back to the host of a URL (RFC 6265 section
/// 5.1.3). One that is a single label covers none, as jars of users have it.
fn is_within(url: &Url, domain: &str) -> bool {
    let (host, domain) = (url.host_str().unwrap_or_default(), domain.strip_prefix('.').unwrap_or(domain));
    let is_below = || {
        let is_name = host.parse::<IpAddr>().is_err();
        is_name && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    };
    domain.is_empty() || domain.contains('.') && (host == domain || is_below())
}

impl KnownValues {
    /// The last reply's value that a request repeats in `field`.
    fn chosen(&self, field: &str, value: &str) -> Option<&ValuePlace> {
        let all = self.values.get(value)?;
        let own = all.iter().rev().find(|found| found.is_input && found.name == field);
        own.or_else(|| all.last().filter(|_| is_token(value)))
    }

    /// Notes the values that the reply to the state at `place` has.
    fn note(&mut self, reply: &Reply, place: usize) {
        let mut left = VALUES_MAX;
        let mut add = |value: &str, name: &str, is_input: bool, source: &dyn Fn() -> String| {
            let is_usable = !value.is_empty() && value.len() <= LENGTH_MAX && !value.contains('$');
            let is_named = name.len() <= NAME_MAX && !name.chars().any(char::is_control);
            if !is_usable || !is_named || !is_input && !is_token(value) || left == 0 {
                return;
            }
            left -= 1;
            if self.count < ALL_VALUES_MAX {
                self.count += 1;
                let found = ValuePlace { place, source: source(), name: name.to_owned(), is_input };
                self.values.entry(value.to_owned()).or_default().push(found);
            }
        };
        for (name, value) in &reply.headers {
            let is_once = reply.headers.iter().filter(|(other, _)| other == name).count() == 1;
            let is_own = ["x-", "csrf", "token"].iter().any(|part| name.contains(part));
            if is_once && is_own && !name.contains("cookie") {
                add(value, name, false, &|| format!("{{ header = {} }}", quoted(name)));
            }
        }
        if let Ok(json) = serde_json::from_str::<Value>(&reply.text) {
            return strings(&json, &mut String::new(), &mut |pointer, value| {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                if pointer.len() <= NAME_MAX {
                    add(value, name, false, &|| format!("{{ json = {} }}", quoted(&literal(pointer))));
                }
            });
        }
        let html = without_scripts(&reply.text);
        for (element, attribute) in [("input", "value"), ("meta", "content")] {
            for (name, values) in values_of(&html, element, attribute) {
                let mut values = values.into_iter();
                // A selector finds the first of its elements.
                if let (Some(value), None) = (values.next(), values.next())
                    && !name.contains(['"', '\\'])
                {
                    add(&value, &name, element == "input", &|| {
                        let css = literal(&format!("{element}[name=\"{name}\"]"));
                        format!("{{ css = {}, attribute = {} }}", quoted(&css), quoted(attribute))
                    });
                }
            }
        }
    }
}

/// True if a value is no word that anything may have, such as `application/json`.
fn is_token(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    value.chars().count() >= LENGTH_MIN
        && !value.contains(char::is_whitespace)
        && has(|letter| letter.is_ascii_digit())
}

/// A variable's name that no other binding has.
fn free_name(wanted: &str, names: &BTreeMap<(usize, String), String>) -> String {
    let base = state_name(wanted);
    let base = if is_variable(&base) { base } else { "value".to_owned() };
    let is_free = |name: &String| names.values().all(|taken| taken != name);
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free).expect("numbers do not run out")
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
