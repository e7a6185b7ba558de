//! Values of the fields of a form.

use super::template::Template;
use serde::de::{self, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Value of a field of a form: a text, several of them, or (`false`) not at all.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldSpec {
    /// A single text.
    Text(Template),
    /// Each of these, in order.
    Several(Vec<Template>),
    /// The field is not sent.
    LeftOut,
}

impl FieldSpec {
    /// The texts, in order.
    pub fn texts(&self) -> &[Template] {
        match self {
            FieldSpec::Text(text) => std::slice::from_ref(text),
            FieldSpec::Several(texts) => texts,
            FieldSpec::LeftOut => &[],
        }
    }
}

impl Serialize for FieldSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FieldSpec::Text(text) => text.serialize(serializer),
            FieldSpec::Several(texts) => texts.serialize(serializer),
            FieldSpec::LeftOut => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for FieldSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FieldSpec, D::Error> {
        struct Field;
        impl<'de> de::Visitor<'de> for Field {
            type Value = FieldSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a list of texts, or `false` for a field that is not sent")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<FieldSpec, E> {
                Template::try_from(text.to_owned()).map(FieldSpec::Text).map_err(E::custom)
            }
            fn visit_bool<E: de::Error>(self, sent: bool) -> Result<FieldSpec, E> {
                match sent {
                    true => Err(E::invalid_value(de::Unexpected::Bool(true), &self)),
                    false => Ok(FieldSpec::LeftOut),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<FieldSpec, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(FieldSpec::Several)
            }
        }
        deserializer.deserialize_any(Field)
    }
}
