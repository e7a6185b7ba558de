//! XML as a tree, as plans of JMeter are written in it. A document type is refused, and with it entities that
//! stand for others; levels and elements are bounded.

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// Levels of a document at most.
const DEPTH_MAX: usize = 200;
/// Elements of a document at most.
const ELEMENTS_MAX: usize = 1_000_000;

/// An element.
#[derive(Debug, Default)]
pub struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
    /// All text in it, but for that of elements in it.
    pub text: String,
    pub children: Vec<Element>,
}

/// The root of a document.
///
/// # Errors
/// Fault of the text, and its place.
pub fn root(text: &str) -> Result<Element, String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    let mut count = 0;
    loop {
        let event =
            reader.read_event().map_err(|error| format!("byte {}: {error}", reader.error_position()))?;
        let at = |problem: String| format!("byte {}: {problem}", reader.buffer_position());
        match event {
            Event::Start(start) => {
                count += 1;
                if open.len() > DEPTH_MAX {
                    return Err(at(format!("it is nested deeper than {DEPTH_MAX} levels")));
                }
                open.push(element(&start).map_err(at)?);
            }
            Event::Empty(start) => {
                count += 1;
                put(&mut open, element(&start).map_err(at)?);
            }
            Event::End(_) => {
                let closed = open
                    .pop()
                    .filter(|_| !open.is_empty())
                    .ok_or_else(|| at("an end too many".to_owned()))?;
                put(&mut open, closed);
            }
            Event::Text(own) => add_text(&mut open, &own.decode().map_err(|error| at(error.to_string()))?),
            Event::CData(own) => add_text(&mut open, &own.decode().map_err(|error| at(error.to_string()))?),
            Event::GeneralRef(own) => {
                let letter = own.resolve_char_ref().map_err(|error| at(error.to_string()))?;
                let name = own.decode().map_err(|error| at(error.to_string()))?;
                match (letter, resolve_predefined_entity(&name)) {
                    (Some(letter), _) => add_text(&mut open, letter.encode_utf8(&mut [0; 4])),
                    (None, Some(known)) => add_text(&mut open, known),
                    (None, None) => {
                        return Err(at("it has an entity of its own, which is not read".to_owned()));
                    }
                }
            }
            Event::DocType(_) => {
                return Err(at("it has a document type, which plans do not have".to_owned()));
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
        if count > ELEMENTS_MAX {
            return Err(format!("it has more than {ELEMENTS_MAX} elements"));
        }
    }
    match (open.len(), open.pop().and_then(|mut document| document.children.pop())) {
        (1, Some(root)) => Ok(root),
        (1, None) => Err("it has no element".to_owned()),
        _ => Err("it ends within an element".to_owned()),
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, String> {
    let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
        attributes.push((String::from_utf8_lossy(attribute.key.as_ref()).into_owned(), value.into_owned()));
    }
    Ok(Element { name, attributes, ..Element::default() })
}

fn put(open: &mut [Element], element: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(element);
    }
}

fn add_text(open: &mut [Element], text: &str) {
    if let Some(parent) = open.last_mut() {
        parent.text.push_str(text);
    }
}

/// Properties of an element that are looked at, at most.
const PROPERTIES_MAX: usize = 1_000;

impl Element {
    /// The value of an attribute; empty if there is none.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<&Element> {
        // None has as many: one that a stranger made is not searched for each sampler.
        self.children.iter().take(PROPERTIES_MAX).find(|child| child.attribute("name") == name)
    }

    /// The text of a property; empty if there is none.
    pub fn text_of(&self, name: &str) -> &str {
        self.property(name).map_or("", |own| own.text.as_str())
    }

    /// True if a property is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.text_of(name).trim() == "true"
    }

    /// The items of a property that is a collection.
    pub fn items(&self, name: &str) -> &[Element] {
        self.property(name).map_or(&[], |own| own.children.as_slice())
    }

    /// True if the element is switched on.
    pub fn is_enabled(&self) -> bool {
        self.attribute("enabled") != "false"
    }

    /// Elements of a `hashTree`, each with the tree that is below it.
    pub fn pairs(&self) -> impl Iterator<Item = (&Element, Option<&Element>)> {
        let is_tree = |own: &&Element| own.name == "hashTree";
        let elements = self.children.iter().enumerate().filter(move |(_, own)| !is_tree(own));
        elements.map(move |(at, own)| (own, self.children.get(at + 1).filter(is_tree)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read() {
        let text = "\u{feff}<?xml version=\"1.0\"?><!-- x --><a n=\"1 &amp; &#65;\"><b name='p'>x &lt;<![CDATA[<y>]]>\n</b><hashTree/><c/></a>";
        let root = root(text).expect(text);
        assert_eq!((root.name.as_str(), root.attribute("n")), ("a", "1 & A"));
        assert_eq!(root.text_of("p"), "x <<y>\n");
        let pairs: Vec<_> = root.pairs().map(|(own, below)| (own.name.as_str(), below.is_some())).collect();
        assert_eq!(pairs, [("b", true), ("c", false)]);
    }

    #[test]
    fn hostile_documents_are_refused() {
        let lol = "<!DOCTYPE a [<!ENTITY l \"lol\"><!ENTITY m \"&l;&l;\">]><a>&m;</a>";
        assert!(root(lol).expect_err("entities").contains("document type"));
        let file = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>";
        assert!(root(file).expect_err("a file").contains("document type"));
        assert!(root("<a>&own;</a>").expect_err("an entity").contains("entity"));
        assert!(root(&"<a>".repeat(1 << 20)).expect_err("deep").contains("deeper"));
        let wide = format!("<a>{}</a>", "<b/>".repeat(ELEMENTS_MAX));
        assert!(root(&wide).expect_err("wide").contains("more than"));
        for text in [
            "",
            "<a>",
            "</a>",
            "<a></b>",
            "<a b='&x;'/>",
            "<a b=1/>",
            "x",
            "<a/></a>",
            "<a>&#0;</a>",
            "\u{0}",
        ] {
            assert!(root(text).is_err(), "{text}");
        }
    }
}
