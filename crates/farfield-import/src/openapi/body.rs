//! Bodies of operations, and examples of schemas: only what the document itself says.

use super::document::Document;
use super::parameters::Parameters;
use crate::multipart::{self, FormPart};
use crate::node::Node;
use crate::state::{Body, DraftState};
use crate::text::{form_encoded, literal, one_line};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Schemas that one example is made of, at most: those that name each other stand for many.
const SCHEMAS_MAX: usize = 2_000;
/// Levels of an example at most.
const LEVELS_MAX: usize = 24;
/// Bytes of one example at most, of which a document may name one often.
const BYTES_MAX: usize = 4 << 20;

/// Budget that is left for an example.
#[derive(Clone)]
pub struct Budget {
    schemas: Rc<Cell<usize>>,
    bytes: Rc<Cell<usize>>,
    levels: usize,
}

impl Budget {
    /// The budget of a new example.
    pub fn new() -> Budget {
        let bytes = Rc::new(Cell::new(BYTES_MAX));
        Budget { schemas: Rc::new(Cell::new(SCHEMAS_MAX)), bytes, levels: LEVELS_MAX }
    }

    /// A copy of a value, if there is room for it.
    fn copy(&self, node: &Node) -> Option<Node> {
        self.bytes.set(self.bytes.get().checked_sub(node.bytes())?);
        Some(node.clone())
    }

    fn below(&self) -> Option<Budget> {
        self.schemas.set(self.schemas.get().checked_sub(1)?);
        Some(Budget { levels: self.levels.checked_sub(1)?, ..self.clone() })
    }
}

/// Adds the body of an operation, if it has one.
pub fn add(
    document: &Document,
    operation: &Node,
    parameters: &Parameters,
    state: &mut DraftState,
) -> Result<(), (&'static str, String)> {
    let no_example = |what: &str| ("whose body has no example", one_line(what));
    if document.is_swagger() {
        return add_of_swagger(document, operation, parameters, state);
    }
    let body = document.resolved(operation.get("requestBody"));
    let content = body.get("content").entries();
    if content.is_empty() {
        // Another document's, or none.
        return match operation.get("requestBody").get("$ref").is_null() {
            true => Ok(()),
            false => Err(("whose body is a reference that leads to nothing in the document", String::new())),
        };
    }
    let known = |(media_type, media): &(String, Node)| {
        let value = own_example(document, media)
            .or_else(|| example(document, media.get("schema"), &Budget::new()))?;
        let value = parsed(document, media_type, media.get("schema"), value);
        written(media_type, &value)
    };
    // JSON first, where there are several.
    let (of_json, others): (Vec<_>, Vec<_>) =
        content.iter().partition(|(media_type, _)| media_type.contains("json"));
    let made = of_json.into_iter().chain(others).find_map(known);
    match made {
        Some((media_type, text)) => {
            state.set_default("content-type", &literal(&media_type));
            state.body = Some(Body::Text(text));
            Ok(())
        }
        None if body.get("required").is_true() || state.method != "GET" => Err(no_example(&content[0].0)),
        None => Ok(()),
    }
}

/// An example that is the text of an object or a list as what it says, where the schema wants such.
fn parsed(document: &Document, media_type: &str, schema: &Node, value: Node) -> Node {
    let schema = document.resolved(schema);
    let is_text = matches!(schema.get("type").text(), Some("string"));
    match value.text().map(str::trim_start) {
        Some(text) if media_type.contains("json") && !is_text && text.starts_with(['{', '[']) => {
            Node::of_json(text.as_bytes()).unwrap_or(value)
        }
        _ => value,
    }
}

fn add_of_swagger(
    document: &Document,
    operation: &Node,
    parameters: &Parameters,
    state: &mut DraftState,
) -> Result<(), (&'static str, String)> {
    let consumes = [operation.get("consumes"), document.named("consumes")];
    let consumes = consumes.iter().find_map(|list| list.items().first()?.text());
    let made = match (&parameters.body, parameters.form.is_empty()) {
        (Some(schema), _) => {
            let media_type = consumes.unwrap_or("application/json");
            let value = example(document, schema, &Budget::new());
            let value = value.map(|value| parsed(document, media_type, schema, value));
            let made = value.and_then(|value| written(media_type, &value));
            made.ok_or(("whose body has no example", one_line(media_type)))?
        }
        (None, false) => {
            let media_type = consumes.unwrap_or("application/x-www-form-urlencoded");
            let fields = Node::Map(parameters.form.clone());
            written(media_type, &fields).ok_or(("whose body has no example", one_line(media_type)))?
        }
        (None, true) => return Ok(()),
    };
    state.set_default("content-type", &literal(&made.0));
    state.body = Some(Body::Text(made.1));
    Ok(())
}

/// A value as a body of this media type: the type, with a boundary where it needs one, and a template.
fn written(media_type: &str, value: &Node) -> Option<(String, String)> {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let plain = |node: &Node| node.plain().unwrap_or_else(|| node.json());
    let text = match essence.as_str() {
        "application/x-www-form-urlencoded" => {
            let fields = value.entries().iter();
            let fields =
                fields.map(|(name, node)| format!("{}={}", form_encoded(name), form_encoded(&plain(node))));
            fields.collect::<Vec<_>>().join("&")
        }
        "multipart/form-data" => {
            let part = |(name, node): &(String, Node)| FormPart {
                name: name.clone(),
                content: literal(&plain(node)),
                ..FormPart::default()
            };
            let parts: Vec<FormPart> = value.entries().iter().map(part).collect();
            return Some(multipart::written(&parts));
        }
        // An example of another type is its text.
        other if !other.contains("json") && other != "*/*" => {
            return Some((media_type.to_owned(), literal(value.text()?)));
        }
        _ => literal(&value.json()),
    };
    let media_type = if essence == "*/*" { "application/json" } else { media_type };
    Some((media_type.to_owned(), text))
}

/// The example that a parameter or a media type has itself.
pub fn own_example(document: &Document, node: &Node) -> Option<Node> {
    let example = node.get("example");
    if !example.is_null() {
        return Some(example.clone());
    }
    let x_example = node.get("x-example");
    if !x_example.is_null() {
        return Some(x_example.clone());
    }
    let (_, first) = node.get("examples").entries().first()?;
    let value = document.resolved(first).get("value");
    (!value.is_null()).then(|| value.clone())
}

/// An example of a schema: its own, its default, its first allowed value; of an object one with all required
/// members, and those that have an example of their own.
pub fn example(document: &Document, schema: &Node, budget: &Budget) -> Option<Node> {
    let budget = budget.below()?;
    let schema = document.resolved(schema);
    let own = [schema.get("example"), schema.get("const"), schema.get("default")];
    if let Some(own) = own.into_iter().find(|own| !own.is_null()) {
        return budget.copy(own);
    }
    for list in ["examples", "enum"] {
        if let Some(first) = schema.get(list).items().first() {
            return budget.copy(first);
        }
    }
    for list in ["oneOf", "anyOf"] {
        let choices = schema.get(list).items();
        if !choices.is_empty() {
            return choices.iter().find_map(|choice| example(document, choice, &budget));
        }
    }
    if !schema.get("allOf").items().is_empty() || !schema.get("properties").is_null() {
        let mut members = Vec::new();
        collect(document, schema, &budget, &mut members)?;
        if members.is_empty() && !is_object(schema) {
            // Of all that are one, each has an example of what it says; one of a text is no object.
            return schema.get("allOf").items().iter().find_map(|part| example(document, part, &budget));
        }
        return Some(Node::Map(members));
    }
    if !schema.get("items").is_null() {
        return example(document, schema.get("items"), &budget).map(|item| Node::List(vec![item]));
    }
    None
}

fn is_object(schema: &Node) -> bool {
    schema.get("type").text() == Some("object") || !schema.get("properties").is_null()
}

/// Members of an object, with those of all that it is made of; `None` if a required one has no example.
fn collect(
    document: &Document,
    schema: &Node,
    budget: &Budget,
    members: &mut Vec<(String, Node)>,
) -> Option<()> {
    let budget = budget.below()?;
    let schema = document.resolved(schema);
    for part in schema.get("allOf").items() {
        collect(document, part, &budget, members)?;
    }
    let mut required: BTreeSet<&str> = schema.get("required").items().iter().filter_map(Node::text).collect();
    let mut read_only = Vec::new();
    for (name, property) in schema.get("properties").entries() {
        let is_required = required.contains(name.as_str());
        let resolved = document.resolved(property);
        if resolved.get("readOnly").is_true() {
            read_only.push(name.as_str());
            continue;
        }
        let has_own =
            ["example", "examples", "const", "default"].iter().any(|key| !resolved.get(key).is_null());
        if !is_required && !has_own {
            continue;
        }
        match example(document, property, &budget) {
            Some(value) => {
                members.retain(|(own, _)| own != name);
                members.push((name.clone(), value));
            }
            None if is_required => return None,
            None => {}
        }
    }
    // Members that the server alone writes are not sent.
    let given = members.iter().map(|(own, _)| own.as_str()).chain(read_only);
    given.for_each(|name| _ = required.remove(name));
    required.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(schemas: &str) -> Document {
        let text = format!(r#"{{"openapi": "3.0.0", "paths": {{"/": {{}}}}, "components": {schemas}}}"#);
        Document::of(Node::of_json(text.as_bytes()).expect("JSON")).expect("a document")
    }

    fn body(components: &str, operation: &str) -> Result<Option<String>, &'static str> {
        let mut state = DraftState::new("a".into(), "POST", "/");
        let operation = Node::of_json(operation.as_bytes()).expect("JSON");
        add(&document(components), &operation, &Parameters::default(), &mut state).map_err(|(why, _)| why)?;
        Ok(match state.body {
            Some(Body::Text(text)) => Some(text),
            _ => None,
        })
    }

    #[test]
    fn a_reference_to_nothing_is_no_empty_body() {
        for to in ["#/components/requestBodies/None", "other.yaml#/Body"] {
            let operation = format!(r#"{{"requestBody": {{"$ref": "{to}"}}}}"#);
            assert!(body("{}", &operation).expect_err(to).contains("leads to nothing"));
        }
        assert_eq!(body("{}", "{}"), Ok(None));
    }

    #[test]
    fn examples_are_what_the_schema_says() {
        let of =
            |media: &str| format!(r#"{{"requestBody": {{"content": {{"application/json": {media}}}}}}}"#);
        let kind = r##"{"schemas": {"Kind": {"type": "string", "enum": ["x", "y"]}}}"##;
        for (media, expected) in [
            (r#"{"example": "{\"a\": 1}", "schema": {"type": "object"}}"#, r#"{"a":1}"#),
            (r#"{"example": "{\"a\": 1}", "schema": {"type": "string"}}"#, r#""{\"a\": 1}""#),
            (r##"{"schema": {"allOf": [{"$ref": "#/components/schemas/Kind"}]}}"##, r#""x""#),
        ] {
            assert_eq!(body(kind, &of(media)), Ok(Some(expected.to_owned())), "{media}");
        }
    }
}
