//! YAML 1.2 with the core schema, as documents of OpenAPI are written in it.
//!
//! An alias stands for a copy of what it names, and each copy counts: a document of a few lines that stands
//! for billions of values is refused. Of several documents in a file the first is read.

use crate::node::{DEPTH_MAX, NODES_MAX, Node};
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Number;
use std::collections::{BTreeMap, BTreeSet};

/// A list or a map that is being read.
enum OpenCollection {
    List(Vec<Node>),
    /// With the key whose value is next.
    Map(Vec<(String, Node)>, Option<String>),
}

struct YamlReader {
    open: Vec<(OpenCollection, usize)>,
    anchors: BTreeMap<usize, (Node, usize)>,
    /// The weight so far, with that of what aliases stand for.
    weight: usize,
    root: Option<Node>,
}

/// The document of a YAML text.
///
/// # Errors
/// Fault of the text, and its place.
pub fn node_of(text: &str) -> Result<Node, String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = YamlReader { open: Vec::new(), anchors: BTreeMap::new(), weight: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| error.to_string())?;
        let at = |problem: String| format!("line {}: {problem}", span.start.line());
        if reader.take(event).map_err(at)? {
            break;
        }
    }
    reader.root.ok_or_else(|| "it is empty".to_owned())
}

impl YamlReader {
    /// Takes an event; true at the end of the document.
    fn take(&mut self, event: Event<'_>) -> Result<bool, String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.suffix == "str");
                let node = match style {
                    ScalarStyle::Plain if !is_text => of_plain(&text),
                    _ => Node::Text(text.into_owned()),
                };
                let weight = weight_of(&node);
                self.put(node, anchor, weight)?;
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (node, weight) = known.ok_or("an alias names what is not there, or itself")?;
                self.put(node, 0, weight)?;
            }
            Event::SequenceStart(anchor, _) => self.begin(OpenCollection::List(Vec::new()), anchor)?,
            Event::MappingStart(anchor, _) => self.begin(OpenCollection::Map(Vec::new(), None), anchor)?,
            Event::SequenceEnd | Event::MappingEnd => {
                let (open, anchor) = self.open.pop().ok_or("a list or a map ends that has not begun")?;
                let node = match open {
                    OpenCollection::List(items) => Node::List(items),
                    OpenCollection::Map(entries, _) => Node::Map(merged(entries)),
                };
                if anchor != 0 {
                    // Nodes that an alias may name are copies.
                    let weight = weight_of(&node);
                    self.charge(weight)?;
                    self.keep(&node, anchor, weight);
                }
                self.place(node)?;
            }
            Event::DocumentEnd => return Ok(true),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) => {}
        }
        Ok(false)
    }

    fn begin(&mut self, open: OpenCollection, anchor: usize) -> Result<(), String> {
        self.charge(1)?;
        if self.open.len() == DEPTH_MAX {
            return Err(format!("it is nested deeper than {DEPTH_MAX} levels"));
        }
        self.open.push((open, anchor));
        Ok(())
    }

    fn charge(&mut self, weight: usize) -> Result<(), String> {
        self.weight += weight;
        match self.weight <= NODES_MAX {
            true => Ok(()),
            false => {
                Err(format!("it stands for more than {NODES_MAX} values, with what its aliases stand for"))
            }
        }
    }

    fn put(&mut self, node: Node, anchor: usize, weight: usize) -> Result<(), String> {
        self.charge(weight)?;
        if self.open.len() + depth(&node) > DEPTH_MAX {
            return Err(format!(
                "it is nested deeper than {DEPTH_MAX} levels, with what its aliases stand for"
            ));
        }
        self.keep(&node, anchor, weight);
        self.place(node)
    }

    fn keep(&mut self, node: &Node, anchor: usize, weight: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), weight));
        }
    }

    fn place(&mut self, node: Node) -> Result<(), String> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some((OpenCollection::List(items), _)) => items.push(node),
            Some((OpenCollection::Map(entries, key), _)) => match key.take() {
                None => *key = Some(node.plain().unwrap_or_else(|| node.json())),
                Some(key) => entries.push((key, node)),
            },
        }
        Ok(())
    }
}

/// A map with the keys of those that `<<` names, where it has none of its own.
fn merged(entries: Vec<(String, Node)>) -> Vec<(String, Node)> {
    if !entries.iter().any(|(key, _)| key == "<<") {
        return entries;
    }
    let (merges, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(key, _)| key == "<<");
    let mut known: BTreeSet<String> = own.iter().map(|(key, _)| key.clone()).collect();
    for (_, node) in merges {
        let maps = match node {
            Node::List(items) => items,
            node => vec![node],
        };
        for (key, value) in maps.into_iter().flat_map(|map| map.entries().to_vec()) {
            if known.insert(key.clone()) {
                own.push((key, value));
            }
        }
    }
    own
}

/// The values that a value is made of; of long texts each part of some bytes counts as one.
fn weight_of(node: &Node) -> usize {
    let of_text = |text: &str| 1 + text.len() / 32;
    match node {
        Node::List(items) => 1 + items.iter().map(weight_of).sum::<usize>(),
        Node::Map(entries) => {
            1 + entries.iter().map(|(key, value)| of_text(key) + weight_of(value)).sum::<usize>()
        }
        Node::Text(text) => of_text(text),
        _ => 1,
    }
}

fn depth(node: &Node) -> usize {
    match node {
        Node::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Node::Map(entries) => 1 + entries.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}

/// A scalar without quotes (YAML 1.2.2 section 10.3.2).
fn of_plain(text: &str) -> Node {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Node::Null,
        "true" | "True" | "TRUE" => return Node::Bool(true),
        "false" | "False" | "FALSE" => return Node::Bool(false),
        _ => {}
    }
    let is_number = text.starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter))
        && text.contains(|letter: char| letter.is_ascii_digit());
    let whole = || -> Option<Number> {
        let (radix, digits) = match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
            (Some(digits), _) => (16, digits),
            (_, Some(digits)) => (8, digits),
            _ => (10, text.strip_prefix('+').unwrap_or(text)),
        };
        let number = i64::from_str_radix(digits, radix).ok().map(Number::from);
        number.or_else(|| u64::from_str_radix(digits, radix).ok().map(Number::from))
    };
    let fraction = || {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        text.parse().ok().filter(|_| plain).and_then(Number::from_f64)
    };
    let number = if is_number { whole().or_else(fraction) } else { None };
    number.map_or_else(|| Node::Text(text.to_owned()), Node::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read() {
        let text = "a: 1\nb: [x, 'y', \"z\\n\", ~, true, 0x10, 1.5, 2020-01-01, 1.0.0, '3']\nc: &c\n  d: |\n    t\n    u\n\
                    e: *c\nf:\n  <<: *c\n  g: no\n200: ok\n";
        assert_eq!(
            node_of(text).expect(text).json(),
            r#"{"a":1,"b":["x","y","z\n",null,true,16,1.5,"2020-01-01","1.0.0","3"],"c":{"d":"t\nu\n"},"e":{"d":"t\nu\n"},"f":{"g":"no","d":"t\nu\n"},"200":"ok"}"#
        );
        assert_eq!(node_of("---\na: 1\n---\nb: 2\n").expect("the first").json(), r#"{"a":1}"#);
        for text in ["", "a: [", "a: *b\n", "a: &a [*a]\n", "\t- x: y: z"] {
            assert!(node_of(text).is_err(), "{text}");
        }
    }

    /// Nine lists of ten aliases each stand for billions of values.
    #[test]
    fn what_aliases_stand_for_is_bounded() {
        let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..10 {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            text += &format!("a{level}: &a{level} [{items}]\n");
        }
        assert!(node_of(&text).expect_err("billions").contains("aliases"));
        let mut deep = "a0: &a0 [x]\n".to_owned();
        for level in 1..200 {
            deep += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
        }
        assert!(node_of(&deep).expect_err("deep").contains("nested deeper"));
        let long = "x".repeat(1 << 20);
        let copies = format!("a: &a {long}\nb: [{}*a]\n", "*a, ".repeat(10_000));
        assert!(node_of(&copies).expect_err("long copies").contains("aliases"));
        let nested = format!("{}{long}{}", "&x [".repeat(90), "]".repeat(90));
        assert!(node_of(&nested).expect_err("copies of copies").contains("aliases"));
        let flow = "[".repeat(100_000);
        assert!(node_of(&flow).is_err());
        let block: String = (0..500).map(|level| format!("{}- \n", " ".repeat(level))).collect();
        let _ = node_of(&block);
    }
}
