//! A choice that a scenario writes either as a short text (`queue = "64KiB"`) or as a table of its own
//! (`queue = { discipline = "codel" }`), read so that a mistake in either gets its own sentence.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// Reads a `T` from a text, from a number (as its text), or from the table `Table`. `expected` completes
/// "invalid type: …, expected".
pub(crate) fn text_or_table<'de, D, T, Table>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display> + TryFrom<Table, Error: fmt::Display>,
    Table: Deserialize<'de>,
{
    deserializer.deserialize_any(Either { expected, kinds: PhantomData::<(T, Table)> })
}

struct Either<Kinds> {
    expected: &'static str,
    kinds: PhantomData<Kinds>,
}

impl<'de, T, Table> Visitor<'de> for Either<(T, Table)>
where
    T: FromStr<Err: fmt::Display> + TryFrom<Table, Error: fmt::Display>,
    Table: Deserialize<'de>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        T::try_from(Table::deserialize(MapAccessDeserializer::new(map))?).map_err(de::Error::custom)
    }
}
