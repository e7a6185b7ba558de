//! A table that names its distribution by the key `distribution`, or by `law`, the key's earlier name.
//!
//! serde has no alias for the tag of an enum, so the key is renamed on its way to it.

use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

const NAME: &str = "distribution";
const EARLIER: &str = "law";

/// A `T` that is read from a table whose key `law` counts as `distribution`. A table with both keys is
/// refused.
#[derive(Debug)]
pub(crate) struct Renamed<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Renamed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Renamed<T>, D::Error> {
        deserializer.deserialize_map(TableVisitor(PhantomData)).map(Renamed)
    }
}

/// As `#[serde(deserialize_with)]` takes it.
pub(crate) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Renamed::deserialize(deserializer).map(|Renamed(value)| value)
}

struct TableVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for TableVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with the key `distribution`")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        T::deserialize(MapAccessDeserializer::new(RenamedKeys(map)))
    }
}

struct RenamedKeys<M>(M);

impl<'de, M: MapAccess<'de>> MapAccess<'de> for RenamedKeys<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        let Some(mut key) = self.0.next_key::<String>()? else { return Ok(None) };
        if key == EARLIER {
            key = NAME.to_owned();
        }
        let key: StringDeserializer<M::Error> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.0.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}
