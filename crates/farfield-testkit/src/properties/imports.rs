//! Any bytes as a document that is imported: a scenario that can be read, with an account of all that the
//! document has; or a sentence about it. Nothing of the document does anything to a terminal, and nothing
//! takes its text out of the place in the scenario where it belongs.

use farfield_import::{DocumentKind, ImportSource, Imported, Wishes, import};
use farfield_scenario::{Overlay, from_text};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Bytes of a sentence about a document.
const SENTENCE_MAX: usize = 4_096;

/// Commands of curl.
pub fn of_curl(input: &[u8]) {
    of_document(DocumentKind::Curl, input, |_| None);
}

/// A browser's archive.
pub fn of_har(input: &[u8]) {
    of_document(DocumentKind::Har, input, |input| {
        let archive: Value = serde_json::from_slice(without_mark(input)).ok()?;
        Some(archive["log"]["entries"].as_array()?.len() as u64)
    });
}

/// An OpenAPI document.
pub fn of_openapi(input: &[u8]) {
    of_document(DocumentKind::OpenApi, input, |input| {
        let OnceKeyed(document) = serde_json::from_slice(without_mark(input)).ok()?;
        let items = document["paths"].as_object()?.values();
        let counted = items.map(|item| {
            // References lead to what is another hand's matter.
            let has = |key: &str| item.get(key).is_some();
            (!has("$ref")).then(|| OPERATIONS.iter().filter(|method| has(method)).count() as u64)
        });
        counted.sum()
    });
}

/// A Postman collection.
pub fn of_postman(input: &[u8]) {
    of_document(DocumentKind::Postman, input, |input| {
        let OnceKeyed(document) = serde_json::from_slice(without_mark(input)).ok()?;
        let root = if document["collection"].is_null() { &document } else { &document["collection"] };
        Some(requests_of(root))
    });
}

/// A JMeter plan.
pub fn of_jmeter(input: &[u8]) {
    of_document(DocumentKind::JMeter, input, |_| None);
}

/// Methods of operations (OpenAPI 3.0, Path Item Object).
const OPERATIONS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Requests of a group: what is no group in it, at any depth.
fn requests_of(group: &Value) -> u64 {
    let items = group["item"].as_array().map_or(&[][..], Vec::as_slice).iter();
    items.map(|item| if item["item"].is_null() { 1 } else { requests_of(item) }).sum()
}

/// A document of JSON in which no object has a key twice: of two values each reader takes its own.
struct OnceKeyed(Value);

impl<'de> Deserialize<'de> for OnceKeyed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OnceKeyed, D::Error> {
        deserializer.deserialize_any(OnceKeyedVisitor)
    }
}

struct OnceKeyedVisitor;

impl<'de> Visitor<'de> for OnceKeyedVisitor {
    type Value = OnceKeyed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without a key that is there twice")
    }

    fn visit_unit<E>(self) -> Result<OnceKeyed, E> {
        Ok(OnceKeyed(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<OnceKeyed, E> {
        Ok(OnceKeyed(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<OnceKeyed, E> {
        Ok(OnceKeyed(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<OnceKeyed, E> {
        Ok(OnceKeyed(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<OnceKeyed, E> {
        Ok(OnceKeyed(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<OnceKeyed, E> {
        Ok(OnceKeyed(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OnceKeyed, A::Error> {
        let mut values = Vec::new();
        while let Some(OnceKeyed(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(OnceKeyed(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OnceKeyed, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some((key, OnceKeyed(value))) = map.next_entry::<String, OnceKeyed>()? {
            if object.insert(key, value).is_some() {
                return Err(A::Error::custom("a key is there twice"));
            }
        }
        Ok(OnceKeyed(object.into()))
    }
}

fn without_mark(input: &[u8]) -> &[u8] {
    input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input)
}

/// A document of a kind, whose entries another hand counts where it can.
fn of_document(kind: DocumentKind, input: &[u8], entries: fn(&[u8]) -> Option<u64>) {
    let target = "http://127.0.0.1:8080/".parse().ok();
    let values = BTreeMap::from([("id".to_owned(), "1\"\n".to_owned())]);
    let asked = Wishes { target, values, all_methods: true, ..Wishes::default() };
    for wishes in [Wishes::default(), asked] {
        let import = || {
            let mut load = |_: &Path| Ok(b"name,word\n1,a\n".to_vec());
            import(kind, ImportSource { name: "it", bytes: input, load: &mut load }, &wishes)
        };
        let imported = match import() {
            Ok(imported) => imported,
            Err(error) => {
                of_sentence(&error.to_string());
                continue;
            }
        };
        of_account(&imported);
        if let Some(entries) = entries(input) {
            assert_eq!(imported.reading.entries(), entries, "taken and left out are all");
        }
        of_scenario(&imported);
        assert_eq!(import().as_ref(), Ok(&imported), "the same document is the same scenario");
    }
}

/// A sentence is short, and on one line.
fn of_sentence(sentence: &str) {
    assert!(!sentence.is_empty() && sentence.len() <= SENTENCE_MAX, "{} bytes", sentence.len());
    assert!(!sentence.contains(char::is_control), "{sentence:?}");
}

fn of_account(imported: &Imported) {
    let Imported { reading, notes, secrets, environment, files, .. } = imported;
    assert!(reading.taken > 0, "a scenario asks for something");
    let remarks = || reading.left_out.iter().chain(&reading.differing);
    assert!(remarks().all(|own| own.count > 0));
    assert!(reading.differing.iter().all(|own| own.count <= reading.entries()));
    remarks().for_each(|own| of_sentence(&own.first));
    notes.iter().for_each(|note| of_sentence(note));
    for (name, place) in secrets {
        of_sentence(name);
        of_sentence(place);
    }
    environment.iter().chain(files).for_each(|name| of_sentence(name));
}

/// The scenario is TOML, asks the server that it says, and is read by what runs it or refused with a reason.
fn of_scenario(imported: &Imported) {
    let Imported { scenario, target, .. } = imported;
    let is_out_of_place = |char: char| char.is_control() && char != '\n' && char != '\t';
    assert!(!scenario.contains(is_out_of_place), "{scenario:?}");
    let read: toml::Table = scenario.parse().unwrap_or_else(|error| panic!("{error}\n{scenario}"));
    assert_eq!(read["target"].as_str(), Some(target.as_str()), "{scenario}");
    if let Err(error) = from_text(scenario, None, &Overlay::default()) {
        assert!(!error.to_string().is_empty());
    }
}
