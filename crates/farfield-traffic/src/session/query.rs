//! Queries for values in replies: CSS selectors, JSON pointers and regular expressions, which may have
//! placeholders.
//!
//! `#item-${item} a`, `/items/${item}/id`, `href="(/buy/${item}\?[^"]*)"`: a value is escaped when it is
//! filled in, so that it is one name or one text of the query, whatever is in it.

use super::names::Names;
use super::template::{Template, TemplatePart};
use super::{SessionError, Text};
use lol_html::Selector;
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;

/// A way to look for values in a reply.
pub trait Query: Clone + PartialEq + TryFrom<String, Error = String> {
    /// The text as written.
    fn as_str(&self) -> &str;

    /// The query of a scenario: one that is compiled is compiled once. What the values of replies make of a
    /// query is not, since it would be kept.
    fn of_scenario(text: String) -> Result<Self, String> {
        Self::try_from(text)
    }
}

/// A query as a scenario writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Template", into = "Template", bound = "Q: Query")]
pub struct QuerySpec<Q> {
    template: Template,
    /// The query; of one with placeholders, an example with a name in each.
    query: Q,
}

/// A query, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup<Q> {
    /// The query, constant.
    Fixed(Q),
    /// With placeholders.
    Varying(Text),
}

impl<Q: Query> QuerySpec<Q> {
    /// The query with numbers for names; `key` is where it stands.
    pub(super) fn resolve(&self, key: &str, names: &Names) -> Result<Lookup<Q>, SessionError> {
        match self.fixed() {
            Some(query) => Ok(Lookup::Fixed(query.clone())),
            None => names.text(key, &self.template).map(Lookup::Varying),
        }
    }

    /// The query, if it is the same each time.
    pub fn fixed(&self) -> Option<&Q> {
        self.template.constant().is_some().then_some(&self.query)
    }

    /// The text as written.
    pub fn template(&self) -> &Template {
        &self.template
    }
}

impl QuerySpec<Pattern> {
    /// Number of groups; values of placeholders have none.
    pub(super) fn groups(&self) -> usize {
        self.query.regex().captures_len() - 1
    }
}

impl<Q: Query> TryFrom<Template> for QuerySpec<Q> {
    type Error = String;

    fn try_from(template: Template) -> Result<QuerySpec<Q>, String> {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            // Any name will do to see whether the rest is a query.
            TemplatePart::Bytes(_) | TemplatePart::Placeholder { .. } => "x".to_owned(),
        };
        let query = Q::of_scenario(template.parts().iter().map(part).collect::<String>())?;
        Ok(QuerySpec { template, query })
    }
}

impl<Q: Query> From<QuerySpec<Q>> for Template {
    fn from(spec: QuerySpec<Q>) -> Template {
        spec.template
    }
}

/// A regular expression over bytes, in the syntax of the regex crate.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// The expression.
    pub fn regex(&self) -> &Regex {
        &self.0
    }
}

impl Query for Pattern {
    fn as_str(&self) -> &str {
        self.0.as_str()
    }

    fn of_scenario(text: String) -> Result<Pattern, String> {
        COMPILED.with_borrow_mut(|compiled| compiled.of(&text, compile)).map(Pattern)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        compile(&text).map(Pattern)
    }
}

/// The expression of a text, or why there is none.
fn compile(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("`{text}` is no regular expression: {last}")
    })
}

/// Expressions that are kept at most.
const COMPILED_MAX: usize = 64;

thread_local! {
    static COMPILED: RefCell<RegexCache> = const { RefCell::new(RegexCache(VecDeque::new())) };
}

/// Expressions that were compiled last, and texts that are none: one that many states have, each of which is
/// read and checked more than once, is compiled for all of them together.
struct RegexCache(VecDeque<(String, Result<Regex, String>)>);

impl RegexCache {
    /// Expression that `compile` makes of the text, or has made of it.
    fn of(
        &mut self,
        text: &str,
        compile: impl FnOnce(&str) -> Result<Regex, String>,
    ) -> Result<Regex, String> {
        let known = self.0.iter().position(|(own, _)| own == text).and_then(|place| self.0.remove(place));
        let known = known.unwrap_or_else(|| (text.to_owned(), compile(text)));
        let made = known.1.clone();
        self.0.push_front(known);
        self.0.truncate(COMPILED_MAX);
        made
    }
}

/// A CSS selector: types, classes, ids, attributes, `:nth-child` and its like, descendants and children.
#[derive(Debug, Clone)]
pub struct Css {
    text: String,
    selector: Selector,
}

impl Css {
    /// The selector.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// `inner` inside of each of its elements.
    ///
    /// # Panics
    /// If `inner` is no selector.
    pub fn inside(&self, inner: &str) -> Css {
        let each = alternatives(&self.text).into_iter().map(|one| format!("{} {inner}", one.trim()));
        let text = each.collect::<Vec<_>>().join(", ");
        Css::try_from(text).expect("a selector inside of a selector is one")
    }
}

/// The selectors of a list: cut at commas, but for those in quotes, brackets and parentheses.
fn alternatives(text: &str) -> Vec<&str> {
    cut(text).0
}

/// The selectors of a list, and whether the last is whole: what is left open at the end of a style sheet
/// counts as closed (CSS Syntax Level 3, section 5), but swallows what is written behind it.
fn cut(text: &str) -> (Vec<&str>, bool) {
    let (mut from, mut depth, mut quote, mut escaped) = (0, 0_u32, None, false);
    // The letter before, but for one that has had its meaning.
    let (mut before, mut comment) = (' ', false);
    let mut alternatives = Vec::new();
    for (at, letter) in text.char_indices() {
        let last = std::mem::replace(&mut before, letter);
        match (letter, quote) {
            _ if comment => comment = !(last == '*' && letter == '/'),
            ('*', None) if last == '/' && !escaped => (comment, before) = (true, ' '),
            _ if escaped => escaped = false,
            ('\\', _) => escaped = true,
            (_, Some(end)) => quote = Some(end).filter(|end| *end != letter),
            ('"' | '\'', None) => quote = Some(letter),
            ('[' | '(', None) => depth += 1,
            (']' | ')', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                alternatives.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    alternatives.push(&text[from..]);
    (alternatives, depth == 0 && quote.is_none() && !escaped && !comment)
}

impl Query for Css {
    fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Css {
    fn eq(&self, other: &Css) -> bool {
        self.text == other.text
    }
}

impl TryFrom<String> for Css {
    type Error = String;

    fn try_from(text: String) -> Result<Css, String> {
        if !cut(&text).1 {
            return Err(format!(
                "`{text}` is no selector: a bracket, a parenthesis, a quote or a comment has no end"
            ));
        }
        match text.parse() {
            Ok(selector) => Ok(Css { text, selector }),
            Err(error) => Err(format!("`{text}` is no selector: {error}")),
        }
    }
}

/// A JSON pointer (RFC 6901): `/items/0/id`, or the empty text for the whole. A part that is `*` stands for
/// each item of a list or each member of an object, where there is no member of that name: `/items/*/id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(String);

impl Query for Pointer {
    fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(text: String) -> Result<Pointer, String> {
        match text.is_empty() || text.starts_with('/') {
            true => Ok(Pointer(text)),
            false => Err(format!("`{text}` is no JSON pointer; begin it with `/`, as in `/items/0/id`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_compiled_once() {
        let mut compiled = RegexCache(VecDeque::new());
        let mut counted = Vec::new();
        let mut of = |text: &str| {
            let made = compiled.of(text, |text| {
                counted.push(text.to_owned());
                compile(text)
            });
            made.map(|own| own.as_str().to_owned())
        };
        for _ in 0..3 {
            assert_eq!(of("a+"), Ok("a+".to_owned()));
            assert!(of("(").expect_err("no expression").contains("unclosed group"));
        }
        // Of more than are kept the one that was used last stays.
        for other in 0..COMPILED_MAX - 1 {
            assert_eq!(of(&other.to_string()), Ok(other.to_string()));
            assert_eq!(of("a+"), Ok("a+".to_owned()));
        }
        assert!(of("(").is_err());
        assert_eq!(counted.len(), 2 + COMPILED_MAX - 1 + 1, "{counted:?}");
        assert_eq!(compiled.0.len(), COMPILED_MAX);
    }

    /// Expressions of all states of a scenario, whatever reads them.
    #[test]
    fn an_expression_of_many_states_is_compiled_once() {
        COMPILED.with_borrow_mut(|own| own.0.clear());
        let kept =
            || COMPILED.with_borrow(|own| own.0.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>());
        let specs = ["x(a)", "y", "x(a)"].map(|text| {
            let template = Template::try_from(text.to_owned()).expect(text);
            QuerySpec::<Pattern>::try_from(template).expect(text)
        });
        assert_eq!((specs[0] == specs[2], specs[2].groups()), (true, 1));
        assert_eq!(kept(), ["x(a)", "y"]);
        // Of what replies make of them none is kept.
        Pattern::try_from("z".to_owned()).expect("an expression");
        assert_eq!(kept(), ["x(a)", "y"]);
    }

    /// Texts that CSS would close at their end swallow the selector that is put behind them.
    #[test]
    fn a_selector_that_is_left_open_is_none() {
        for open in ["form[name=a", "form[name='a]", "form:not(.a", "form /* a", "form /*/", "form\\"] {
            let error = Css::try_from(open.to_owned()).expect_err(open);
            assert!(error.contains("has no end"), "{error}");
        }
        for whole in ["form /* a, ( */", "form[name='/*']", "a[href='\\'']", "form:not(.a), [b]", "*"] {
            let css = Css::try_from(whole.to_owned()).expect(whole);
            assert!(css.inside("input").as_str().ends_with(" input"), "{whole}");
        }
    }
}
