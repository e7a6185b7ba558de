//! A document of JSON or YAML, with the order of its keys. Its depth and its size are bounded.

use serde::de::{self, DeserializeSeed};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::Number;
use std::cell::Cell;
use std::fmt;

/// Nodes of a document at most.
pub const NODES_MAX: usize = 2_000_000;
/// Levels of a document at most.
pub const DEPTH_MAX: usize = 100;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Node of a value that is not there.
static NULL: Node = Node::Null;

impl Node {
    /// The document of a JSON text.
    ///
    /// # Errors
    /// Fault of the text, and its place.
    pub fn of_json(text: &[u8]) -> Result<Node, String> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let left = Cell::new(NODES_MAX);
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let node = Seed { left: &left, depth: 0 }
            .deserialize(&mut deserializer)
            .map_err(|error| error.to_string())?;
        deserializer.end().map_err(|error| error.to_string())?;
        Ok(node)
    }

    /// The value of a key; null if there is none.
    pub fn get(&self, key: &str) -> &Node {
        self.entries().iter().find(|(own, _)| own == key).map_or(&NULL, |(_, value)| value)
    }

    /// Keys and values; none if it is no map.
    pub fn entries(&self) -> &[(String, Node)] {
        match self {
            Node::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Items; none if it is no list.
    pub fn items(&self) -> &[Node] {
        match self {
            Node::List(items) => items,
            _ => &[],
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A value that is no list and no map, as a text: a number as it is written in JSON.
    pub fn plain(&self) -> Option<String> {
        match self {
            Node::Text(text) => Some(text.clone()),
            Node::Bool(value) => Some(value.to_string()),
            Node::Number(number) => Some(number.to_string()),
            Node::Null | Node::List(_) | Node::Map(_) => None,
        }
    }

    /// Bytes of its texts, and one for each value.
    pub fn bytes(&self) -> usize {
        1 + match self {
            Node::Text(text) => text.len(),
            Node::List(items) => items.iter().map(Node::bytes).sum(),
            Node::Map(entries) => entries.iter().map(|(name, value)| name.len() + value.bytes()).sum(),
            Node::Null | Node::Bool(_) | Node::Number(_) => 0,
        }
    }

    /// True if it is `true`.
    pub fn is_true(&self) -> bool {
        *self == Node::Bool(true)
    }

    /// True if it is null, or not there.
    pub fn is_null(&self) -> bool {
        *self == Node::Null
    }

    /// The value as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("keys are texts")
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(*value),
            Node::Number(number) => number.serialize(serializer),
            Node::Text(text) => serializer.serialize_str(text),
            Node::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Node::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// Reads a value within what is left.
#[derive(Clone, Copy)]
struct Seed<'a> {
    left: &'a Cell<usize>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Seed<'_> {
    fn below<E: de::Error>(self) -> Result<Self, E> {
        let left = self.left.get().checked_sub(1);
        let left = left.ok_or_else(|| E::custom(format!("it has more than {NODES_MAX} values")))?;
        self.left.set(left);
        match self.depth < DEPTH_MAX {
            true => Ok(Seed { depth: self.depth + 1, ..self }),
            false => Err(E::custom(format!("it is nested deeper than {DEPTH_MAX} levels"))),
        }
    }
}

impl<'de> de::Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        Ok(Number::from_f64(value).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.below()?)? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            entries.push((key, map.next_value_seed(self.below()?)?));
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_order() {
        let text = r#"{"b":1,"a":[true,null,-2.5,"é\n"],"c":{"x":"y"}}"#;
        let node = Node::of_json(text.as_bytes()).expect(text);
        assert_eq!(node.json(), text);
        assert_eq!(node.get("a").items()[2].plain().as_deref(), Some("-2.5"));
        assert!(node.get("none").is_null() && node.get("b").get("x").is_null());
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let deep = format!("{}{}", "[".repeat(DEPTH_MAX + 1), "]".repeat(DEPTH_MAX + 1));
        assert!(Node::of_json(deep.as_bytes()).expect_err("deep").contains("nested deeper"));
        let endless = "[".repeat(1 << 20);
        assert!(Node::of_json(endless.as_bytes()).is_err());
        let long = format!("[{}0]", "0,".repeat(NODES_MAX));
        assert!(Node::of_json(long.as_bytes()).expect_err("long").contains("more than"));
        assert!(Node::of_json(b"{} x").is_err());
    }
}
