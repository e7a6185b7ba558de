//! HTML of replies: the attributes of elements that have names, as written, without a tree of the page.

use super::VALUES_MAX;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a tag that are looked at, and attributes of it.
const TAG_BYTES_MAX: usize = 8 << 10;
const ATTRIBUTES_MAX: usize = 64;

/// A text of HTML without its comments and scripts, in which no element stands.
pub(super) fn without_scripts(html: &str) -> String {
    let (mut plain, mut rest) = (String::new(), html);
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        plain.push_str(before);
        let starts = |name: &str| tag.get(..name.len()).is_some_and(|own| own.eq_ignore_ascii_case(name));
        let end = match () {
            () if starts("<!--") => "-->",
            () if starts("<script") => "</script",
            () => {
                plain.push('<');
                rest = &tag[1..];
                continue;
            }
        };
        rest = tag.split_once(end).map_or("", |(_, behind)| behind);
    }
    plain + rest
}

/// The values of an attribute of elements by their names, as far as these have both.
pub(super) fn values_of(html: &str, element: &str, attribute: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for tag in tags(html, element).take(VALUES_MAX) {
        let of = |wanted: &str| tag.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        if let Some(name) = of("name") {
            values.entry(name).or_default().insert(of(attribute).unwrap_or_default());
        }
    }
    values
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
