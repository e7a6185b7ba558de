//! A choice that a scenario writes either as a short text (`queue = "64KiB"`) or as a table of its own
//! (`queue = { discipline = "codel" }`), read so that a mistake in either gets its own sentence.
//!
//! serde's untagged enums report only that no variant fits.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer};
use std::fmt;

/// Reads a `T` from a text, from a number where there is a meaning for it, or from the table `Table`.
#[derive(Debug, Clone, Copy)]
pub struct TextOrTable<T, Table> {
    /// Completes "invalid type: …, expected".
    pub expected: &'static str,
    /// The value that a text stands for, or the sentence about what is wrong with it.
    pub text: fn(&str) -> Result<T, String>,
    /// The value that a number stands for.
    pub number: Option<fn(f64) -> Result<T, String>>,
    /// The value that a table stands for.
    pub table: fn(Table) -> Result<T, String>,
}

impl<T, Table> TextOrTable<T, Table> {
    /// Reads the value.
    pub fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error>
    where
        Table: Deserialize<'de>,
    {
        deserializer.deserialize_any(self)
    }

    fn number<E: de::Error>(self, number: f64, unexpected: Unexpected<'_>) -> Result<T, E> {
        match self.number {
            Some(read) => read(number).map_err(E::custom),
            None => Err(E::invalid_type(unexpected, &self.expected)),
        }
    }
}

impl<'de, T, Table: Deserialize<'de>> Visitor<'de> for TextOrTable<T, Table> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.text)(text).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.number(number, Unexpected::Float(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.number(number as f64, Unexpected::Signed(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.number(number as f64, Unexpected::Unsigned(number))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        (self.table)(Table::deserialize(MapAccessDeserializer::new(map))?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn read(value: &Value, number: Option<fn(f64) -> Result<f64, String>>) -> Result<f64, String> {
        let either = TextOrTable {
            expected: "a number in words, or a table",
            text: |text| text.parse().map_err(|_| format!("`{text}` is no number")),
            number,
            table: |table: BTreeMap<String, f64>| table.get("is").copied().ok_or("no `is`".to_owned()),
        };
        either.read(value).map_err(|error| error.to_string())
    }

    #[test]
    fn each_form_is_read_and_refused_in_its_own_words() {
        let number: Option<fn(f64) -> Result<f64, String>> = Some(Ok);
        assert_eq!(read(&json!("2.5"), None), Ok(2.5));
        assert_eq!(read(&json!({ "is": 3.0 }), None), Ok(3.0));
        assert_eq!(read(&json!(4), number), Ok(4.0));
        assert_eq!(read(&json!("x"), None), Err("`x` is no number".to_owned()));
        assert_eq!(read(&json!({}), None), Err("no `is`".to_owned()));
        let refused = read(&json!(4), None).expect_err("numbers mean nothing");
        assert!(refused.contains("integer `4`, expected a number in words"), "{refused}");
    }
}
