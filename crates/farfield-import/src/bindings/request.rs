//! Values of a state's request: of its query, its form or JSON, and its header fields.

use crate::state::{Body, State};
use serde_json::Value;
use std::ops::Range;

/// A reader of a request's values: is asked for each field and value, and says the variable in their place.
pub(super) type Choose<'c> = dyn FnMut(&str, &str) -> Option<String> + 'c;

/// Puts the variable that `choose` says in the place of each value of a state's request.
pub(super) fn map_values(state: &mut State, choose: &mut Choose<'_>) {
    if let Some((path, query)) = state.path.split_once('?') {
        state.path = format!("{path}?{}", mapped_pairs(query, choose));
    }
    let is_form = |(name, value): &(String, String)| {
        name == "content-type" && value.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded")
    };
    let is_form = state.headers.iter().any(is_form);
    if let Some(Body::Text(text)) = &mut state.body {
        if serde_json::from_str::<Value>(text).is_ok_and(|json| json.is_object() || json.is_array()) {
            *text = mapped_json(text, choose);
        } else if is_form {
            *text = mapped_pairs(text, choose);
        }
    }
    for (name, own) in &mut state.headers {
        let keeps = own.rfind(' ').map_or(0, |at| at + 1);
        if let Some(variable) = choose(name, &own[keeps..]) {
            own.replace_range(keeps.., &format!("${{{variable}}}"));
        }
    }
}

/// A form or a query with variables in the place of values.
fn mapped_pairs(text: &str, choose: &mut Choose<'_>) -> String {
    let pair = |pair: &str| {
        let mapped = pair.split_once('=').and_then(|(field, own)| {
            let variable = choose(&decoded(field), &decoded(own))?;
            Some(format!("{field}=${{{variable}|form}}"))
        });
        mapped.unwrap_or_else(|| pair.to_owned())
    };
    text.split('&').map(pair).collect::<Vec<String>>().join("&")
}

/// A text of JSON with variables in the place of strings that are values, and all else as it is.
fn mapped_json(text: &str, choose: &mut Choose<'_>) -> String {
    let (mut mapped, mut from, mut field) = (String::new(), 0, String::new());
    for Range { start, end } in string_literals(text) {
        let Ok(string) = serde_json::from_str::<String>(&text[start..end]) else { continue };
        if text[end..].trim_start().starts_with(':') {
            field = string;
        } else if let Some(variable) = choose(&field, &string) {
            mapped.push_str(&text[from..start]);
            mapped.push_str(&format!("\"${{{variable}|json}}\""));
            from = end;
        }
    }
    mapped + &text[from..]
}

/// The strings of a text of JSON, with their quotes.
fn string_literals(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut begun, mut is_escaped) = (Vec::new(), None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (begun, byte) {
            (None, b'"') => begun = Some(at),
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(start), b'"') => {
                found.push(start..at + 1);
                begun = None;
            }
            _ => {}
        }
    }
    found
}

/// A value of a form or a query, without its encoding.
fn decoded(raw: &str) -> String {
    let text = format!("v={raw}");
    let pair = url::form_urlencoded::parse(text.as_bytes()).next();
    pair.map_or_else(String::new, |(_, value)| value.into_owned())
}
