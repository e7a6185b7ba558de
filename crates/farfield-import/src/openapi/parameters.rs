//! Parameters of operations, and how their values are written (OpenAPI 3.1 section 4.8.12; Swagger 2.0,
//! `collectionFormat`).

use super::body::Budget;
use super::document::Document;
use crate::Wishes;
use crate::node::Node;
use crate::text::{literal, one_line, percent_encoded};

/// Parameters of an operation at most.
const PARAMETERS_MAX: usize = 500;

/// Parameters with their values, as templates.
#[derive(Default)]
pub struct Parameters {
    pub path: Vec<(String, String)>,
    pub query: Vec<String>,
    pub headers: Vec<(String, String)>,
    /// Fields of the body (Swagger 2.0).
    pub form: Vec<(String, Node)>,
    /// The body (Swagger 2.0).
    pub body: Option<Node>,
    /// Optional ones that are not sent.
    pub optional: u64,
}

/// Reads the parameters of an operation, with those of its path.
pub fn read(
    document: &Document,
    item: &Node,
    operation: &Node,
    wishes: &Wishes,
) -> Result<Parameters, (&'static str, String)> {
    let lists = [item.get("parameters"), operation.get("parameters")];
    if lists.iter().map(|list| list.items().len()).sum::<usize>() > PARAMETERS_MAX {
        return Err(("with more than 500 parameters", String::new()));
    }
    let [mut all, own] =
        lists.map(|list| list.items().iter().map(|own| document.resolved(own)).collect::<Vec<_>>());
    let same =
        |one: &Node, other: &Node| one.get("name") == other.get("name") && one.get("in") == other.get("in");
    all.retain(|shared| !own.iter().any(|own| same(shared, own)));
    all.extend(own);
    let mut found = Parameters::default();
    for parameter in all {
        one(document, parameter, wishes, &mut found)?;
    }
    Ok(found)
}

fn one(
    document: &Document,
    parameter: &Node,
    wishes: &Wishes,
    found: &mut Parameters,
) -> Result<(), (&'static str, String)> {
    let (Some(name), Some(place)) = (parameter.get("name").text(), parameter.get("in").text()) else {
        return Err(match parameter.get("$ref").text() {
            Some(to) => {
                ("with a reference that leads to nothing in the document", format!("`{}`", one_line(to)))
            }
            None => ("with a parameter that cannot be read", String::new()),
        });
    };
    if place == "body" {
        found.body = Some(parameter.get("schema").clone());
        return Ok(());
    }
    // These follow from the rest (OpenAPI 3.1 section 4.8.12).
    let own = ["accept", "content-type", "authorization"];
    if place == "header" && own.contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    let given = wishes.values.get(name);
    let is_required = parameter.get("required").is_true() || place == "path";
    if given.is_none() && !is_required {
        found.optional += 1;
        return Ok(());
    }
    if let Some(value) = given {
        add(found, place, name, &[wishes.template(value, "|url")], ",");
        return Ok(());
    }
    let known = value_of(document, parameter);
    let Some(value) = known else {
        return Err(("with a required parameter that has no example", format!("`{}`", one_line(name))));
    };
    if place == "formData" {
        found.form.push((name.to_owned(), value));
        return Ok(());
    }
    let (texts, between) = written(document, parameter, place, &value);
    add(found, place, name, &texts, between);
    Ok(())
}

/// An example of the parameter, its default or its first allowed value.
fn value_of(document: &Document, parameter: &Node) -> Option<Node> {
    if let Some(example) = super::body::own_example(document, parameter) {
        return Some(example);
    }
    if document.is_swagger() {
        let schema = document.resolved(parameter);
        return super::body::example(document, schema, &Budget::new());
    }
    if let Some((_, media)) = parameter.get("content").entries().first() {
        let value = super::body::own_example(document, media)
            .or_else(|| super::body::example(document, media.get("schema"), &Budget::new()))?;
        return Some(Node::Text(value.json()));
    }
    super::body::example(document, parameter.get("schema"), &Budget::new())
}

/// The texts of a value, encoded for where it stands, and what stands between several.
fn written(document: &Document, parameter: &Node, place: &str, value: &Node) -> (Vec<String>, &'static str) {
    let plain = |node: &Node| {
        node.plain().unwrap_or_else(|| if node.is_null() { String::new() } else { node.json() })
    };
    let encoded = |node: &Node| match place {
        "header" | "cookie" => literal(&plain(node)),
        _ => percent_encoded(&plain(node)),
    };
    let texts = match value {
        Node::List(items) => items.iter().map(encoded).collect(),
        value => vec![encoded(value)],
    };
    let explodes = match document.is_swagger() {
        true => parameter.get("collectionFormat").text() == Some("multi"),
        false => *parameter.get("explode") != Node::Bool(false) && place == "query",
    };
    let between = match (parameter.get("collectionFormat").text(), parameter.get("style").text()) {
        (Some("ssv"), _) | (_, Some("spaceDelimited")) => "%20",
        (Some("pipes"), _) | (_, Some("pipeDelimited")) => "%7C",
        (Some("tsv"), _) => "%09",
        _ if explodes => "&",
        _ => ",",
    };
    (texts, between)
}

fn add(found: &mut Parameters, place: &str, name: &str, texts: &[String], between: &str) {
    match place {
        "path" => found.path.push((name.to_owned(), texts.join(","))),
        "query" if between == "&" => {
            found.query.extend(texts.iter().map(|text| format!("{}={text}", percent_encoded(name))));
        }
        "query" => found.query.push(format!("{}={}", percent_encoded(name), texts.join(between))),
        "header" => found.headers.push((name.to_owned(), texts.join(","))),
        "cookie" => {
            found.headers.push(("cookie".to_owned(), format!("{}={}", literal(name), texts.join(","))))
        }
        _ => {
            let text = texts.join(between);
            found.form.push((name.to_owned(), Node::Text(text)));
        }
    }
}
