//! Assertions and extractors of JMeter, as checks and extractions.

use super::values::Dollar;
use super::xml::Element;
use crate::checks::{Checks, is_sound_extraction};
use crate::holes::{Variables, constant, template};
use crate::state::{DraftState, EXTRACTIONS_MAX};
use crate::text::{literal, quoted};

/// Texts of an assertion at most.
const TEXTS_MAX: usize = 300;

/// Bits of `Assertion.test_type`.
const MATCH: u32 = 1;
const CONTAINS: u32 = 2;
const NOT: u32 = 4;
const EQUALS: u32 = 8;
const SUBSTRING: u32 = 16;
const OR: u32 = 32;

/// An assertion as a check; false if there is no such check.
pub fn assert(element: &Element, variables: &Variables, checks: &mut Checks) -> bool {
    match element.name.as_str() {
        _ if checks.is_full() => false,
        "ResponseAssertion" => of_response(element, variables, checks).unwrap_or(false),
        "JSONPathAssertion" => of_json(element, variables, checks).unwrap_or(false),
        _ => false,
    }
}

/// The statuses that are well although they are 400 or more, where an assertion says so.
pub fn ignores_status(element: &Element) -> bool {
    element.name == "ResponseAssertion" && element.is_true("Assertion.assume_success")
}

fn of_response(element: &Element, variables: &Variables, checks: &mut Checks) -> Option<bool> {
    // Of the sample itself, and not of those below it or of a variable.
    let scope = element.text_of("Assertion.scope").trim();
    if !["", "parent", "all"].contains(&scope) {
        return Some(false);
    }
    let kind: u32 = element.text_of("Assertion.test_type").trim().parse().ok()?;
    let wanted: Vec<&str> = ["Asserion.test_strings", "Assertion.test_strings"]
        .iter()
        .flat_map(|name| element.items(name))
        .map(|own| own.text.as_str())
        .collect();
    let field = element.text_of("Assertion.test_field").trim();
    if wanted.is_empty() {
        return Some(true);
    }
    if wanted.len() > TEXTS_MAX {
        return Some(false);
    }
    match field {
        "Assertion.response_code" => of_status(&wanted, kind, checks),
        "Assertion.response_data" | "Assertion.response_data_as_document" if kind & NOT != 0 => {
            if kind & (SUBSTRING | EQUALS | MATCH | CONTAINS) != SUBSTRING
                || kind & OR != 0 && wanted.len() > 1
            {
                return Some(false);
            }
            for text in wanted {
                checks.text(filled(variables, text)?, false);
            }
            Some(true)
        }
        "Assertion.response_data" => of_body(&wanted, kind, variables, checks),
        _ => Some(false),
    }
}

fn of_status(wanted: &[&str], kind: u32, checks: &mut Checks) -> Option<bool> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let code = |text: &&str| {
        let text = text.trim().trim_start_matches('^').trim_end_matches('$');
        let class = [text.strip_suffix(".."), text.strip_suffix(r"\d\d"), text.strip_suffix(r"\d{2}")];
        match class.into_iter().flatten().find(|class| class.len() == 1 && class.starts_with(is_digit)) {
            Some(class) if kind & (MATCH | CONTAINS) != 0 => Some(format!("{class}xx")),
            _ => (text.len() == 3 && text.chars().all(is_digit)).then(|| text.to_owned()),
        }
    };
    let mut codes = Vec::new();
    for text in wanted {
        // An expression such as `200|201` or `(200|201)`.
        let inside = text.trim().strip_prefix('(').and_then(|own| own.strip_suffix(')')).unwrap_or(text);
        let choices: Vec<&str> = match kind & (MATCH | CONTAINS) != 0 {
            true => inside.split('|').collect(),
            false => vec![text],
        };
        for choice in &choices {
            codes.push(code(choice)?);
        }
    }
    let is_one_of = codes.len() == 1 || kind & OR != 0 || wanted.len() == 1;
    Some(kind & NOT == 0 && is_one_of && checks.status(codes))
}

fn of_body(wanted: &[&str], kind: u32, variables: &Variables, checks: &mut Checks) -> Option<bool> {
    if kind & SUBSTRING != 0 && (kind & OR == 0 || wanted.len() == 1) {
        for text in wanted {
            checks.text(filled(variables, text)?, true);
        }
        return Some(true);
    }
    let mut patterns = Vec::new();
    for text in wanted {
        let parts = variables.parts(text, &Dollar).ok()?;
        patterns.push(match kind & (SUBSTRING | EQUALS) != 0 {
            true => template(&parts, |own| literal(&regex::escape(own)), ""),
            false => template(&parts, literal, ""),
        });
    }
    let whole = |pattern: String| match kind & (EQUALS | MATCH) != 0 {
        true => format!(r"\A(?:{pattern})\z"),
        false => pattern,
    };
    let patterns = match kind & OR != 0 && patterns.len() > 1 {
        true => vec![patterns.iter().map(|own| format!("(?:{own})")).collect::<Vec<_>>().join("|")],
        false => patterns,
    };
    let mut is_whole = true;
    for pattern in patterns.into_iter().map(whole) {
        is_whole &= checks.regex(pattern);
    }
    Some(is_whole)
}

fn of_json(element: &Element, variables: &Variables, checks: &mut Checks) -> Option<bool> {
    let pointer = pointer(element.text_of("JSON_PATH"))?;
    let is_plain = !["INVERT", "EXPECT_NULL"].iter().any(|name| element.is_true(name));
    let value = match element.is_true("JSONVALIDATION") {
        true if element.is_true("ISREGEX") => return Some(false),
        true => Some(filled(variables, element.text_of("EXPECTED_VALUE"))?),
        false => None,
    };
    Some(is_plain && checks.json(&literal(&pointer), value))
}

fn filled(variables: &Variables, text: &str) -> Option<String> {
    Some(template(&variables.parts(text, &Dollar).ok()?, literal, ""))
}

/// The JSON pointer (RFC 6901) of a path such as `$.items[0].id`; none of one that looks for more.
pub fn pointer(path: &str) -> Option<String> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut pointer = String::new();
    while !rest.is_empty() {
        let part;
        if let Some(more) = rest.strip_prefix('.') {
            let end = more.find(['.', '[']).unwrap_or(more.len());
            (part, rest) = more.split_at(end);
        } else {
            let (inside, more) = rest.strip_prefix('[')?.split_once(']')?;
            rest = more;
            let quoted =
                ['\'', '"'].iter().find_map(|quote| inside.strip_prefix(*quote)?.strip_suffix(*quote));
            let is_number = inside.bytes().all(|byte| byte.is_ascii_digit());
            part = quoted.or((is_number || inside == "*").then_some(inside))?;
        }
        let is_name = |letter: char| letter.is_alphanumeric() || "_-* @".contains(letter);
        if part.is_empty() || !part.chars().all(is_name) {
            return None;
        }
        pointer.push('/');
        pointer += part;
    }
    Some(pointer)
}

/// An extractor as extractions; false if there are none such.
pub fn extract(element: &Element, variables: &mut Variables, state: &mut DraftState) -> bool {
    let found = match element.name.as_str() {
        "RegexExtractor" => of_regex(element, variables),
        "BoundaryExtractor" => of_boundaries(element, variables),
        "HtmlExtractor" => of_html(element),
        "JSONPostProcessor" => of_paths(element),
        _ => None,
    };
    let found = found.filter(|all| all.iter().all(|(_, source)| is_sound_extraction(source)));
    let Some(found) = found.filter(|all| all.len() + state.extract.len() <= EXTRACTIONS_MAX) else {
        return false;
    };
    for (name, source) in found {
        let name = variables.find(&name);
        state.extract.retain(|(own, _)| *own != name);
        state.extract.push((name, source));
    }
    true
}

type ReplyValue = Vec<(String, String)>;

/// The end of an extraction: which of several values, and the one that stands for none.
fn rest(number: &str, default: Option<&str>) -> Option<String> {
    // Without a number it is any.
    let number: i64 = if number.trim().is_empty() { 0 } else { number.trim().parse().ok()? };
    let pick = match number {
        0 => ", random = true".to_owned(),
        1 => String::new(),
        // A negative one makes a variable of each.
        number if number < 0 => return None,
        number => format!(", index = {number}"),
    };
    Some(pick + &default.map_or_else(String::new, |own| format!(", default = {}", quoted(own))))
}

/// The default of an extractor, if it has one.
fn default_of<'a>(element: &'a Element, name: &str, empty: &str) -> Option<&'a str> {
    let default = element.text_of(name);
    (!default.is_empty() || element.is_true(empty)).then_some(default)
}

fn of_regex(element: &Element, variables: &Variables) -> Option<ReplyValue> {
    let pattern = filled(variables, element.text_of("RegexExtractor.regex"))?;
    // `$1$` alone is one group; anything else is a text of several.
    let group = element.text_of("RegexExtractor.template").trim().strip_prefix('$')?.strip_suffix('$')?;
    let group: u32 = group.parse().ok()?;
    if !["", "false"].contains(&element.text_of("RegexExtractor.useHeaders").trim()) {
        return None;
    }
    let default = default_of(element, "RegexExtractor.default", "RegexExtractor.default_empty_value");
    let rest = rest(element.text_of("RegexExtractor.match_number"), default)?;
    let source = format!("{{ regex = {}, group = {group}{rest} }}", quoted(&pattern));
    Some(vec![(element.text_of("RegexExtractor.refname").to_owned(), source)])
}

fn of_boundaries(element: &Element, variables: &Variables) -> Option<ReplyValue> {
    let bound = |name: &str| {
        let parts = variables.parts(element.text_of(name), &Dollar).ok()?;
        Some(template(&parts, |own| literal(&regex::escape(own)), ""))
    };
    if !["", "false"].contains(&element.text_of("BoundaryExtractor.useHeaders").trim()) {
        return None;
    }
    let (left, right) = (bound("BoundaryExtractor.lboundary")?, bound("BoundaryExtractor.rboundary")?);
    let default = default_of(element, "BoundaryExtractor.default", "BoundaryExtractor.default_empty_value");
    let rest = rest(element.text_of("BoundaryExtractor.match_number"), default)?;
    let source = format!("{{ regex = {}, group = 1{rest} }}", quoted(&format!("(?s){left}(.*?){right}")));
    Some(vec![(element.text_of("BoundaryExtractor.refname").to_owned(), source)])
}

fn of_html(element: &Element) -> Option<ReplyValue> {
    let attribute = element.text_of("HtmlExtractor.attribute").trim();
    let attribute = match attribute {
        "" => String::new(),
        own => format!(", attribute = {}", quoted(own)),
    };
    let default = default_of(element, "HtmlExtractor.default", "HtmlExtractor.default_empty_value");
    let rest = rest(element.text_of("HtmlExtractor.match_number"), default)?;
    let source =
        format!("{{ css = {}{attribute}{rest} }}", quoted(&literal(element.text_of("HtmlExtractor.expr"))));
    Some(vec![(element.text_of("HtmlExtractor.refname").to_owned(), source)])
}

fn of_paths(element: &Element) -> Option<ReplyValue> {
    let list = |name: &str| -> Vec<&str> { element.text_of(name).split(';').map(str::trim).collect() };
    let (names, paths) = (list("JSONPostProcessor.referenceNames"), list("JSONPostProcessor.jsonPathExprs"));
    let (numbers, defaults) =
        (list("JSONPostProcessor.match_numbers"), list("JSONPostProcessor.defaultValues"));
    if names.len() != paths.len() {
        return None;
    }
    let mut found = Vec::new();
    for (at, (name, path)) in names.iter().zip(&paths).enumerate() {
        let default = defaults.get(at).copied().filter(|own| !own.is_empty());
        let number = numbers.get(at).copied().unwrap_or_default();
        let pointer = quoted(&literal(&pointer(path)?));
        found.push(((*name).to_owned(), format!("{{ json = {pointer}{} }}", rest(number, default)?)));
    }
    Some(found)
}

/// A text that is known before the run.
pub fn known(variables: &Variables, text: &str) -> Option<String> {
    constant(&variables.parts(text, &Dollar).ok()?)
}
