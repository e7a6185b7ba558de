//! Stages as a scenario writes them: a list of tables, or a short text.

use super::{Level, Stage, Stages};
use farfield_base::{Duration, QuantityError};
use serde::de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// A stage as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "L: Level")]
struct Table<L> {
    name: Option<String>,
    #[serde(rename = "for")]
    lasts: Option<Duration>,
    to: Option<LevelKeys<L>>,
}

/// A level as text or number.
struct LevelKeys<L>(L);

struct TextOrNumber<L>(PhantomData<L>);

impl<L: Level> Visitor<'_> for TextOrNumber<L> {
    type Value = LevelKeys<L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a level such as {}", L::EXAMPLE)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<LevelKeys<L>, E> {
        L::read(text).map(LevelKeys).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<LevelKeys<L>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<LevelKeys<L>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<LevelKeys<L>, E> {
        self.visit_str(&number.to_string())
    }
}

impl<'de, L: Level> Deserialize<'de> for LevelKeys<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LevelKeys<L>, D::Error> {
        deserializer.deserialize_any(TextOrNumber(PhantomData))
    }
}

struct TextOrList<L>(PhantomData<L>);

impl<'de, L: Level> Visitor<'de> for TextOrList<L> {
    type Value = Stages<L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = L::EXAMPLE;
        write!(f, "stages such as [{{ for = \"1m\", to = {example} }}]")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Stages<L>, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, list: S) -> Result<Stages<L>, S::Error> {
        let tables = Vec::<Table<L>>::deserialize(SeqAccessDeserializer::new(list))?;
        let stage = |Table { name, lasts, to }| {
            let example = format!("{{ for = \"1m\", to = {} }}", L::EXAMPLE);
            let lacks = |key| format!("a stage has no `{key}`; write it as in {example}");
            let LevelKeys(to) = to.ok_or_else(|| lacks("to"))?;
            Ok(Stage { name, lasts: lasts.ok_or_else(|| lacks("for"))?, to })
        };
        let stages: Result<Vec<_>, String> = tables.into_iter().map(stage).collect();
        stages.and_then(Stages::new).map_err(de::Error::custom)
    }
}

impl<'de, L: Level> Deserialize<'de> for Stages<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Stages<L>, D::Error> {
        deserializer.deserialize_any(TextOrList(PhantomData))
    }
}

impl<L: Level> FromStr for Stages<L> {
    type Err = String;

    /// Reads stages in short: times and levels, `30s:50,1m:50,10s:0`.
    fn from_str(text: &str) -> Result<Stages<L>, String> {
        let stage = |part: &str| {
            let form = || format!("`{}` is no stage; write time and level, such as `1m:100`", part.trim());
            let (lasts, to) = part.split_once(':').ok_or_else(form)?;
            let lasts = lasts.trim().parse();
            let lasts = lasts.map_err(|error: QuantityError| format!("`{}`: {error}", part.trim()))?;
            Ok(Stage { name: None, lasts, to: L::read(to.trim())? })
        };
        let stages: Result<Vec<_>, String> = text.split(',').map(stage).collect();
        Stages::new(stages?)
    }
}
