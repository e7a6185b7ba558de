//! The checks of a state, compared with a reply's body: which do not hold, and what the reply has instead.

use super::filling::{Fillable, Filling};
use super::find;
use super::text::TextContext;
use bytes::BytesMut;
use farfield_traffic::session::extract::HeaderCheck;
use farfield_traffic::session::query::Lookup;
use farfield_traffic::session::wanted::WantedValue;
use farfield_traffic::session::{Check, Text};
use std::borrow::Cow;

/// A check that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unmet {
    /// The check's key: `contains`, `css`.
    pub key: &'static str,
    /// Place among the checks of the key, from 0.
    pub place: usize,
}

/// A check that does not hold: what it asks for, in words, and what the reply has instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnmetInWords {
    pub check: String,
    pub instead: Option<String>,
}

/// The checks that do not hold of `body`, in the order of their keys. Each is looked at, so that all draw the
/// same random numbers in every session.
pub(super) fn unmet(check: &Check, body: &[u8], filling: &mut Filling<'_>) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    let mut hold = |key, place, holds: bool| {
        if !holds {
            unmet.push(Unmet { key, place });
        }
    };
    for (place, pattern) in check.regex.iter().enumerate() {
        let matches = filling.query(pattern).is_some_and(|pattern| pattern.regex().is_match(body));
        hold("regex", place, matches);
    }
    let texts = [("contains", &check.contains, true), ("lacks", &check.lacks, false)];
    for (key, texts, there) in texts {
        for (place, text) in texts.iter().enumerate() {
            let wanted = filled(text, filling);
            hold(key, place, memchr::memmem::find(body, &wanted).is_some() == there);
        }
    }
    for (place, (css, wanted)) in check.css.iter().enumerate() {
        let values = filling.query(css).map_or_else(Vec::new, |css| find::texts_of(&css, body));
        hold("css", place, is_met(wanted, &values, filling));
    }
    if !check.json.is_empty() {
        let document = serde_json::from_slice(body).ok();
        for (place, (pointer, wanted)) in check.json.iter().enumerate() {
            let asked = document.as_ref().zip(filling.query(pointer));
            let values =
                asked.map_or_else(Vec::new, |(document, pointer)| find::values_at(&pointer, document));
            hold("json", place, is_met(wanted, &values, filling));
        }
    }
    unmet
}

/// The text, with its holes filled.
pub(super) fn filled<'t>(text: &'t Text, filling: &mut Filling<'_>) -> Cow<'t, [u8]> {
    match text.constant() {
        Some(plain) => plain.as_bytes().into(),
        None => {
            let mut filled = BytesMut::new();
            filling.write(text, TextContext::Body, &mut filled);
            Vec::from(filled).into()
        }
    }
}

/// A query as it is with its holes filled.
fn written<Q: Fillable>(lookup: &Lookup<Q>, filling: &mut Filling<'_>) -> String {
    match lookup {
        Lookup::Fixed(query) => query.as_str().to_owned(),
        Lookup::Varying(text) => {
            let mut written = BytesMut::new();
            filling.write(text, Q::CONTEXT, &mut written);
            String::from_utf8_lossy(&written).into_owned()
        }
    }
}

fn is_met(wanted: &WantedValue<Text>, values: &[String], filling: &mut Filling<'_>) -> bool {
    match wanted {
        WantedValue::Present(there) => values.is_empty() != *there,
        WantedValue::Text(text) => {
            let text = filled(text, filling);
            values.iter().any(|value| value.as_bytes() == &*text)
        }
    }
}

impl Unmet {
    /// The check in words, with what `body` has instead.
    pub fn in_words(&self, check: &Check, body: &[u8], filling: &mut Filling<'_>) -> UnmetInWords {
        let quoted = |text: &Text, filling: &mut Filling<'_>| {
            format!("{:?}", String::from_utf8_lossy(&filled(text, filling)))
        };
        let (what, instead) = match self.key {
            "regex" => (format!("{:?}", written(&check.regex[self.place], filling)), None),
            "contains" => (quoted(&check.contains[self.place], filling), None),
            "lacks" => (quoted(&check.lacks[self.place], filling), None),
            "css" => {
                let (css, wanted) = &check.css[self.place];
                let values = filling.query(css).map_or_else(Vec::new, |css| find::texts_of(&css, body));
                let css = written(css, filling);
                (wanted_in_words(&css, wanted, filling), Some(found_in_words(&values)))
            }
            "json" => {
                let (pointer, wanted) = &check.json[self.place];
                let asked = filling.query(pointer);
                let instead = match serde_json::from_slice(body) {
                    Ok(document) => {
                        let values = asked.map(|pointer| find::values_at(&pointer, &document));
                        found_in_words(&values.unwrap_or_default())
                    }
                    Err(error) => format!("no JSON ({error})"),
                };
                let pointer = written(pointer, filling);
                (wanted_in_words(&pointer, wanted, filling), Some(instead))
            }
            _ => {
                let (name, wanted) = check.spec.header.iter().nth(self.place).expect("the check is there");
                let what = match wanted {
                    HeaderCheck::Present(there) => format!("{} = {there}", name.as_str()),
                    HeaderCheck::Value(value) => format!("{} = {value:?}", name.as_str()),
                };
                (what, None)
            }
        };
        UnmetInWords { check: format!("{} {what}", self.key), instead }
    }
}

fn wanted_in_words(place: &str, wanted: &WantedValue<Text>, filling: &mut Filling<'_>) -> String {
    match wanted {
        WantedValue::Present(true) => format!("{place:?}"),
        WantedValue::Present(false) => format!("{place:?} = false"),
        WantedValue::Text(text) => {
            format!("{place:?} = {:?}", String::from_utf8_lossy(&filled(text, filling)))
        }
    }
}

fn found_in_words(values: &[String]) -> String {
    match values {
        [] => "nothing there".to_owned(),
        [value] => format!("{value:?}"),
        [value, rest @ ..] => format!("{value:?} and {} more", rest.len()),
    }
}
