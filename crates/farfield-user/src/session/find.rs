//! Values that a session takes from a reply: by regular expression, JSON pointer, CSS selector, header or
//! cookie.

use super::filling::Filling;
use super::html::parse;
use farfield_base::random::Stream;
use farfield_traffic::session::ValueSource;
use farfield_traffic::session::extract::Pick;
use farfield_traffic::session::query::{Css, Pattern, Pointer, Query};
use lol_html::ElementContentHandlers;
use lol_html::html_content::{Element, TextChunk};
use rand::RngExt;
use regex::bytes::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
use std::num::NonZeroU32;

/// A query for a value in a body, its holes filled.
pub(crate) enum BodyQuery<'a> {
    /// A group of each match.
    Regex(Cow<'a, Pattern>, usize),
    /// The target of the pointer.
    Json(Cow<'a, Pointer>),
    /// An attribute of each element or, without one, its text.
    Css(Cow<'a, Css>, Option<&'a str>),
}

impl<'a> BodyQuery<'a> {
    /// The query for a value from `source`; nothing where that is not in the body, or its query is none.
    pub fn of(source: &'a ValueSource, filling: &mut Filling<'_>) -> Option<BodyQuery<'a>> {
        match source {
            ValueSource::Regex { pattern, group } => {
                filling.query(pattern).map(|pattern| BodyQuery::Regex(pattern, *group))
            }
            ValueSource::Json(pointer) => filling.query(pointer).map(BodyQuery::Json),
            ValueSource::Css { select, attribute } => {
                filling.query(select).map(|select| BodyQuery::Css(select, attribute.as_deref()))
            }
            ValueSource::Header(_) | ValueSource::Cookie(_) => None,
        }
    }

    /// The value in `body`, if there is one.
    pub fn find(&self, body: &[u8], pick: Pick, rng: &mut Stream) -> Option<Box<[u8]>> {
        match self {
            BodyQuery::Regex(pattern, group) => by_regex(pattern.regex(), *group, body, pick, rng),
            BodyQuery::Json(pointer) => by_json(pointer, body, pick, rng),
            BodyQuery::Css(select, attribute) => {
                let found = by_css(select, *attribute, body, wanted(pick));
                picked(found.iter().map(|text| text.as_bytes()), pick, rng)
            }
        }
    }
}

/// The number of values that must be known before one is picked.
fn wanted(pick: Pick) -> usize {
    match pick {
        Pick::Nth(number) => number.get() as usize,
        Pick::Random => usize::MAX,
    }
}

/// Picks one of several values.
pub(crate) fn picked<'a>(
    mut values: impl Iterator<Item = &'a [u8]>,
    pick: Pick,
    rng: &mut Stream,
) -> Option<Box<[u8]>> {
    match pick {
        Pick::Nth(number) => values.nth(number.get() as usize - 1).map(Box::from),
        Pick::Random => {
            let all: Vec<&[u8]> = values.collect();
            (!all.is_empty()).then(|| Box::from(all[rng.random_range(0..all.len())]))
        }
    }
}

fn by_regex(regex: &Regex, group: usize, body: &[u8], pick: Pick, rng: &mut Stream) -> Option<Box<[u8]>> {
    // The first match is what is mostly wanted, and has a cheaper way than the others.
    if matches!(pick, Pick::Nth(NonZeroU32::MIN)) {
        let mut groups = regex.capture_locations();
        regex.captures_read(&mut groups, body)?;
        if let Some((from, to)) = groups.get(group) {
            return Some(body[from..to].into());
        }
    }
    let values = regex.captures_iter(body).filter_map(|found| found.get(group).map(|group| group.as_bytes()));
    picked(values, pick, rng)
}

fn by_json(pointer: &Pointer, body: &[u8], pick: Pick, rng: &mut Stream) -> Option<Box<[u8]>> {
    let document: serde_json::Value = serde_json::from_slice(body).ok()?;
    let values = values_at(pointer, &document);
    picked(values.iter().map(String::as_bytes), pick, rng)
}

/// The texts of what `pointer` leads to, but of nulls; of a list, those of its items.
pub(crate) fn values_at(pointer: &Pointer, document: &Value) -> Vec<String> {
    let mut found = vec![document];
    for part in pointer.as_str().split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        found = found.into_iter().flat_map(|value| steps(value, &name)).collect();
    }
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let items = found.into_iter().flat_map(|value| match value {
        Value::Array(items) => items.iter().filter_map(text).collect(),
        value => text(value).into_iter().collect::<Vec<_>>(),
    });
    items.collect()
}

/// The targets of one part of a pointer (RFC 6901 section 4); `*`, to all that there is.
fn steps<'v>(value: &'v Value, name: &str) -> Vec<&'v Value> {
    match value {
        Value::Object(members) => match members.get(name) {
            Some(member) => vec![member],
            None if name == "*" => members.values().collect(),
            None => Vec::new(),
        },
        Value::Array(items) if name == "*" => items.iter().collect(),
        Value::Array(items) => {
            let is_index = name == "0" || !name.starts_with(['0', '+']);
            name.parse()
                .ok()
                .filter(|_| is_index)
                .and_then(|index: usize| items.get(index))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The texts of the elements that `select` does.
pub(crate) fn texts_of(select: &Css, body: &[u8]) -> Vec<String> {
    by_css(select, None, body, usize::MAX)
}

/// The attributes or texts of the first `count` elements that `select` does.
fn by_css(select: &Css, attribute: Option<&str>, body: &[u8], count: usize) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    let handlers = ElementContentHandlers::default();
    let handlers = match attribute {
        Some(name) => handlers.element(|element: &mut Element<'_, '_>| {
            if let Some(value) = element.get_attribute(name) {
                found.borrow_mut().push(htmlize::unescape_attribute(&value).into_owned());
            }
            match found.borrow().len() < count {
                true => Ok(()),
                false => Err("enough was found".into()),
            }
        }),
        None => handlers
            .element(|_: &mut Element<'_, '_>| {
                found.borrow_mut().push(String::new());
                Ok(())
            })
            .text(|text: &mut TextChunk<'_>| {
                if let Some(last) = found.borrow_mut().last_mut() {
                    last.push_str(text.as_str());
                }
                Ok(())
            }),
    };
    // The parser stops because enough was found, or because it is no HTML: texts found before hold.
    let _ = parse(body, [(select, handlers)]);
    let texts = found.into_inner();
    match attribute {
        Some(_) => texts,
        None => texts.iter().map(|text| htmlize::unescape(text.trim()).into_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::session::extract::{ExtractSource, ExtractSpec};
    use std::collections::BTreeSet;

    const PAGE: &str = "<html><body><form id=login><input type=hidden name=csrf value='a&amp;b&#39;'>\
        <input name=user></form><ul class='list big'><li>one <b>1</b></li><li data-id=5> t&eacute;o </li>\
        <li data-id=6>three</li></ul></body></html>";

    /// The value that the extraction takes from `body`.
    fn found(toml: &str, body: &str, rng: &mut Stream) -> Option<Box<[u8]>> {
        let spec: ExtractSpec = toml::from_str(toml).expect(toml);
        let fixed = "a query without holes";
        let finding = match &spec.from {
            ExtractSource::Regex { pattern, group } => {
                BodyQuery::Regex(Cow::Borrowed(pattern.fixed().expect(fixed)), *group)
            }
            ExtractSource::Json(pointer) => BodyQuery::Json(Cow::Borrowed(pointer.fixed().expect(fixed))),
            ExtractSource::Css { select, attribute } => {
                BodyQuery::Css(Cow::Borrowed(select.fixed().expect(fixed)), attribute.as_deref())
            }
            ExtractSource::Header(_) | ExtractSource::Cookie(_) => return None,
        };
        finding.find(body.as_bytes(), spec.pick, rng)
    }

    fn taken(toml: &str, body: &str) -> Option<String> {
        let found = found(toml, body, &mut Seed(1).stream(Purpose::User, 0));
        found.map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    #[test]
    fn values_are_found() {
        let check = |toml: &str, body: &str, expected: Option<&str>| {
            assert_eq!(taken(toml, body).as_deref(), expected, "{toml}");
        };
        check("css = 'input[name=csrf]'\nattribute = 'Value'", PAGE, Some("a&b'"));
        check("css = '#login input'\nattribute = 'name'\nindex = 2", PAGE, Some("user"));
        check("css = 'ul.big > li'", PAGE, Some("one 1"));
        check("css = 'li[data-id]'", PAGE, Some("téo"));
        check("css = 'li:nth-child(3)'", PAGE, Some("three"));
        check("css = 'a'\nattribute = 'href'", PAGE, None);
        check("css = 'li'\nattribute = 'id'", PAGE, None);
        check("regex = 'data-id=(\\d)'", PAGE, Some("5"));
        check("regex = 'data-id=(\\d)'\nindex = 2", PAGE, Some("6"));
        check("regex = 'data-id=(\\d)'\nindex = 3", PAGE, None);
        check("regex = 'data-id=(\\d)'\ngroup = 0", PAGE, Some("data-id=5"));
        check("regex = 'type=(\\w+)'", PAGE, Some("hidden"));
        let json = "{\"a\": {\"b/c\": [1, \"two\", null, {\"d\": 3}]}, \"e\": null}";
        check("json = '/a/b~1c/1'", json, Some("two"));
        check("json = '/a/b~1c/3/d'", json, Some("3"));
        check("json = '/a/b~1c'\nindex = 3", json, Some("{\"d\":3}"));
        check("json = '/a/*/3/d'", json, Some("3"));
        check("json = '/*/b~1c/1'", json, Some("two"));
        check("json = '/a/b~1c/01'", json, None);
        let items = "{\"items\": [{\"id\": 5}, {\"no\": 0}, {\"id\": [7, 8]}], \"x\": {\"*\": 1, \"y\": 2}}";
        check("json = '/items/*/id'\nindex = 1", items, Some("5"));
        check("json = '/items/*/id'\nindex = 3", items, Some("8"));
        check("json = '/items/*/id'\nindex = 4", items, None);
        check("json = '/x/*'\nindex = 2", items, None);
        check("json = '/e'", json, None);
        check("json = '/x'", json, None);
        check("json = ''", "no JSON", None);
    }

    #[test]
    fn any_of_several_is_taken() {
        let mut rng = Seed(1).stream(Purpose::User, 0);
        let found: BTreeSet<_> =
            (0..50).filter_map(|_| found("css = 'li'\nrandom = true", PAGE, &mut rng)).collect();
        assert_eq!(found.len(), 3);
    }
}
