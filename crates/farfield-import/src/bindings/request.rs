//! Values of a state's request: of its query, its form or JSON, and its header fields.

use crate::state::{Body, DraftState};
use serde_json::Value;
use std::ops::Range;

/// A reader of a request's values: is asked for each field and value, and says the variable in their place.
pub(super) type Choose<'c> = dyn FnMut(&str, &str) -> Option<String> + 'c;

/// Puts the variable that `choose` says in the place of each value of a state's request.
pub(super) fn map_values(state: &mut DraftState, choose: &mut Choose<'_>) {
    if let Some((path, query)) = state.path.split_once('?') {
        state.path = format!("{path}?{}", mapped_pairs(query, choose));
    }
    let is_form = |(name, value): &(String, String)| {
        name == "content-type" && value.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded")
    };
    let is_form = state.headers.iter().any(is_form);
    let boundary = state.headers.iter().find_map(|(name, value)| boundary_of(name, value));
    if let Some(Body::Text(text)) = &mut state.body {
        if serde_json::from_str::<Value>(text).is_ok_and(|json| json.is_object() || json.is_array()) {
            *text = mapped_json(text, choose);
        } else if is_form {
            *text = mapped_pairs(text, choose);
        } else if let Some(boundary) = boundary {
            *text = mapped_parts(text, &boundary, choose);
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

/// The line between the parts of a form that a field of its type names (RFC 7578 section 4.1).
fn boundary_of(name: &str, value: &str) -> Option<String> {
    let (media_type, parameters) = value.split_once(';')?;
    if name != "content-type" || !media_type.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    });
    boundary.filter(|boundary| !boundary.is_empty())
}

/// A form in parts (RFC 7578) with variables in the place of values that are no files.
fn mapped_parts(text: &str, boundary: &str, choose: &mut Choose<'_>) -> String {
    let delimiter = format!("--{boundary}");
    let part = |part: &str| {
        let mapped = part.split_once("\r\n\r\n").and_then(|(head, rest)| {
            let variable = choose(&field_of_part(head)?, rest.strip_suffix("\r\n")?)?;
            Some(format!("{head}\r\n\r\n${{{variable}}}\r\n"))
        });
        mapped.unwrap_or_else(|| part.to_owned())
    };
    text.split(&delimiter).map(part).collect::<Vec<String>>().join(&delimiter)
}

/// The field that a part is, if it is no file.
fn field_of_part(head: &str) -> Option<String> {
    let is_disposition = |line: &&str| line.to_ascii_lowercase().starts_with("content-disposition:");
    let line = head.lines().find(is_disposition)?;
    if line.to_ascii_lowercase().contains("filename") {
        return None;
    }
    let (_, rest) = line.split_once("name=\"")?;
    Some(rest.split_once('"')?.0.replace("%22", "\""))
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
