//! Checks of single values of a reply's body: elements at a CSS selector, values at a JSON pointer.
//!
//! `css = "#cart"` requires an element, `css = ["#cart", ".total"]` for both, and `css = { "#total" =
//! "${sum}", ".error" = false }` one with that text and the absence of another. `json = { "/state" = "paid",
//! "/items/0" = true }` does so for JSON.

use super::names::Names;
use super::query::{Lookup, Query, QuerySpec};
use super::template::Template;
use super::{SessionError, Text};
use serde::de::{self, IntoDeserializer};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// Checks of values by where they stand: a selector or a pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueChecks<W>(pub Vec<(W, WantedValue<Template>)>);

/// Expected value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedValue<T> {
    /// There, or not there.
    Present(bool),
    /// There, with this text.
    Text(T),
}

/// A check of a value, ready to run: what finds the value, and what it must be.
pub type ReadyCheck<Q> = (Lookup<Q>, WantedValue<Text>);

impl<W> Default for ValueChecks<W> {
    fn default() -> ValueChecks<W> {
        ValueChecks(Vec::new())
    }
}

impl<W> ValueChecks<W> {
    /// True if nothing is checked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<Q: Query> ValueChecks<QuerySpec<Q>> {
    /// Templates of the queries and of the expected texts.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let texts = self.0.iter().filter_map(|(_, wanted)| match wanted {
            WantedValue::Text(template) => Some(template),
            WantedValue::Present(_) => None,
        });
        self.0.iter().map(|(query, _)| query.template()).chain(texts)
    }

    /// The checks with numbers for names; `key` is where they stand.
    pub(super) fn resolve(&self, key: &str, names: &Names) -> Result<Vec<ReadyCheck<Q>>, SessionError> {
        let resolved = |(query, wanted): &(QuerySpec<Q>, WantedValue<Template>)| {
            let wanted = match wanted {
                WantedValue::Present(there) => WantedValue::Present(*there),
                WantedValue::Text(template) => WantedValue::Text(names.text(key, template)?),
            };
            Ok((query.resolve(key, names)?, wanted))
        };
        self.0.iter().map(resolved).collect()
    }
}

impl Serialize for WantedValue<Template> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WantedValue::Present(there) => serializer.serialize_bool(*there),
            WantedValue::Text(template) => serializer.serialize_str(template.as_str()),
        }
    }
}

impl<'de> Deserialize<'de> for WantedValue<Template> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WantedValue<Template>, D::Error> {
        struct WantedValueVisitor;
        impl de::Visitor<'_> for WantedValueVisitor {
            type Value = WantedValue<Template>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true` for a value that is there, `false` for one that is not, or its text")
            }
            fn visit_bool<E: de::Error>(self, there: bool) -> Result<Self::Value, E> {
                Ok(WantedValue::Present(there))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Template::try_from(text.to_owned()).map(WantedValue::Text).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(WantedValueVisitor)
    }
}

impl<W: Serialize> Serialize for ValueChecks<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (place, wanted) in &self.0 {
            map.serialize_entry(place, wanted)?;
        }
        map.end()
    }
}

impl<'de, W: Deserialize<'de>> Deserialize<'de> for ValueChecks<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ValueChecks<W>, D::Error> {
        struct ValueChecksVisitor<W>(PhantomData<W>);
        impl<'de, W: Deserialize<'de>> de::Visitor<'de> for ValueChecksVisitor<W> {
            type Value = ValueChecks<W>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("where a value must be, a list of such places, or a table of what it is there")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let place = W::deserialize(text.into_deserializer())?;
                Ok(ValueChecks(vec![(place, WantedValue::Present(true))]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut checks = Vec::new();
                while let Some(place) = seq.next_element()? {
                    checks.push((place, WantedValue::Present(true)));
                }
                Ok(ValueChecks(checks))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut checks = Vec::new();
                while let Some(check) = map.next_entry()? {
                    checks.push(check);
                }
                Ok(ValueChecks(checks))
            }
        }
        deserializer.deserialize_any(ValueChecksVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::super::extract::CheckSpec;

    #[test]
    fn checks_of_values_read_as_written() {
        let check = |text: &str, places: &[(&str, &str)]| {
            let spec: CheckSpec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let written = toml::to_string(&spec).expect("TOML");
            assert_eq!(toml::from_str::<CheckSpec>(&written).expect("TOML"), spec, "{written}");
            let css = spec
                .css
                .0
                .iter()
                .map(|(css, wanted)| (css.template().as_str().to_owned(), format!("{wanted:?}")));
            let json = spec
                .json
                .0
                .iter()
                .map(|(at, wanted)| (at.template().as_str().to_owned(), format!("{wanted:?}")));
            let all: Vec<_> = css.chain(json).collect();
            assert_eq!(all.len(), places.len(), "{text}");
            for ((place, wanted), (own, part)) in all.iter().zip(places) {
                assert!(place == own && wanted.contains(part), "{text}: {place} {wanted}");
            }
            assert!(spec.reads_body());
        };
        check("css = '#a'", &[("#a", "Present(true)")]);
        check("css = ['#a', 'li.b']", &[("#a", "Present(true)"), ("li.b", "Present(true)")]);
        check("css = { '#a' = false, '#b' = '${x} y' }", &[("#a", "Present(false)"), ("#b", "Variable")]);
        check("json = { '/a/0' = 3, '/b' = 1.5 }", &[("/a/0", "\"3\""), ("/b", "\"1.5\"")]);
        for wrong in ["css = '#a['", "json = 'a'", "json = 3", "css = { '#a' = [1] }"] {
            assert!(toml::from_str::<CheckSpec>(wrong).is_err(), "{wrong}");
        }
    }
}
