//! What a session takes from a reply: by regular expression, JSON pointer, CSS selector, header or cookie.

use farfield_base::random::Stream;
use farfield_traffic::session::extract::{Css, ExtractSpec, Pick, Pointer, Source};
use lol_html::errors::RewritingError;
use lol_html::html_content::{Element, TextChunk};
use lol_html::{ElementContentHandlers, HtmlRewriter, MemorySettings, Settings};
use rand::RngExt;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::cell::RefCell;
use std::num::NonZeroU32;

/// Bytes that the HTML parser may take beside the text itself.
const PARSER_BYTES_MAX: usize = 4 << 20;

/// The value that `spec` takes from a body; nothing if there is none, or if it stands elsewhere.
pub(crate) fn in_body(spec: &ExtractSpec, body: &[u8], chance: &mut Stream) -> Option<Box<[u8]>> {
    match &spec.from {
        Source::Regex { pattern, group } => by_regex(pattern.regex(), *group, body, spec.pick, chance),
        Source::Json(pointer) => by_json(pointer, body, spec.pick, chance),
        Source::Css { select, attribute } => {
            let mut found = by_css(select, attribute.as_deref(), body, wanted(spec.pick)).into_iter();
            let found: Vec<_> = found.by_ref().collect();
            picked(found.iter().map(|text| text.as_bytes()), spec.pick, chance)
        }
        Source::Header(_) | Source::Cookie(_) => None,
    }
}

/// How many values must be known before one is picked.
fn wanted(pick: Pick) -> usize {
    match pick {
        Pick::Nth(number) => number.get() as usize,
        Pick::Random => usize::MAX,
    }
}

/// One of several values.
pub(crate) fn picked<'a>(
    mut values: impl Iterator<Item = &'a [u8]>,
    pick: Pick,
    chance: &mut Stream,
) -> Option<Box<[u8]>> {
    match pick {
        Pick::Nth(number) => values.nth(number.get() as usize - 1).map(Box::from),
        Pick::Random => {
            let all: Vec<&[u8]> = values.collect();
            (!all.is_empty()).then(|| Box::from(all[chance.random_range(0..all.len())]))
        }
    }
}

fn by_regex(regex: &Regex, group: usize, body: &[u8], pick: Pick, chance: &mut Stream) -> Option<Box<[u8]>> {
    // The first match is what is mostly wanted, and has a cheaper way than the others.
    if matches!(pick, Pick::Nth(NonZeroU32::MIN)) {
        let mut groups = regex.capture_locations();
        regex.captures_read(&mut groups, body)?;
        if let Some((from, to)) = groups.get(group) {
            return Some(body[from..to].into());
        }
    }
    let values = regex.captures_iter(body).filter_map(|found| found.get(group).map(|group| group.as_bytes()));
    picked(values, pick, chance)
}

fn by_json(pointer: &Pointer, body: &[u8], pick: Pick, chance: &mut Stream) -> Option<Box<[u8]>> {
    let document: serde_json::Value = serde_json::from_slice(body).ok()?;
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let values: Vec<String> = match document.pointer(pointer.as_str())? {
        serde_json::Value::Array(items) => items.iter().filter_map(text).collect(),
        value => text(value).into_iter().collect(),
    };
    picked(values.iter().map(String::as_bytes), pick, chance)
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
    // What stops it is that enough was found, or that it is no HTML: what was found before holds.
    let _ = parse(body, [(select, handlers)]);
    let texts = found.into_inner();
    match attribute {
        Some(_) => texts,
        None => texts.iter().map(|text| htmlize::unescape(text.trim()).into_owned()).collect(),
    }
}

/// Goes through `html` and calls the handlers of what selectors select.
pub(crate) fn parse<'h, 's>(
    html: &[u8],
    handlers: impl IntoIterator<Item = (&'s Css, ElementContentHandlers<'h>)>,
) -> Result<(), RewritingError> {
    let handlers = handlers.into_iter().map(|(css, handlers)| (Cow::Borrowed(css.selector()), handlers));
    let mut settings = Settings::new().with_strict(false).with_memory_settings(
        MemorySettings::new().with_max_allowed_memory_usage(html.len() + PARSER_BYTES_MAX),
    );
    for handler in handlers {
        settings = settings.append_element_content_handler(handler);
    }
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html)?;
    rewriter.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use std::collections::BTreeSet;

    const PAGE: &str = "<html><body><form id=login><input type=hidden name=csrf value='a&amp;b&#39;'>\
        <input name=user></form><ul class='list big'><li>one <b>1</b></li><li data-id=5> t&eacute;o </li>\
        <li data-id=6>three</li></ul></body></html>";

    fn taken(toml: &str, body: &str) -> Option<String> {
        let spec: ExtractSpec = toml::from_str(toml).expect(toml);
        let mut chance = Seed(1).stream(Purpose::User, 0);
        in_body(&spec, body.as_bytes(), &mut chance).map(|value| String::from_utf8_lossy(&value).into_owned())
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
        check("json = '/e'", json, None);
        check("json = '/x'", json, None);
        check("json = ''", "no JSON", None);
    }

    #[test]
    fn any_of_several_is_taken() {
        let spec: ExtractSpec = toml::from_str("css = 'li'\nrandom = true").expect("a spec");
        let mut chance = Seed(1).stream(Purpose::User, 0);
        let found: BTreeSet<_> =
            (0..50).filter_map(|_| in_body(&spec, PAGE.as_bytes(), &mut chance)).collect();
        assert_eq!(found.len(), 3);
    }
}
