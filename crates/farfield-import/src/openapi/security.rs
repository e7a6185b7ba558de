//! Credentials of operations: the user gives them by the name of the scheme; others are not sent, which is
//! said.

use super::document::Document;
use crate::Wishes;
use crate::node::Node;
use crate::state::DraftState;
use crate::text::{literal, one_line, percent_encoded};

/// Adds what the operation's first requirement asks for.
pub fn add(
    document: &Document,
    operation: &Node,
    wishes: &Wishes,
    state: &mut DraftState,
    query: &mut String,
    differs: &mut Vec<(&'static str, String)>,
) {
    let own = operation.get("security");
    let requirements = if own.is_null() { document.named("security") } else { own };
    // An empty one says that none is needed.
    if requirements.items().iter().any(|requirement| requirement.entries().is_empty()) {
        return;
    }
    let Some(requirement) = requirements.items().first() else { return };
    let schemes = match document.is_swagger() {
        true => document.named("securityDefinitions"),
        false => document.member(document.named("components"), "securitySchemes"),
    };
    for (name, _) in requirement.entries() {
        let scheme = document.resolved(document.member(schemes, name));
        let Some(value) = wishes.values.get(name) else {
            let without = "without the credentials that it asks for; `--value SCHEME=SECRET` gives them";
            differs.push((without, format!("scheme `{}`", one_line(name))));
            continue;
        };
        if crate::environment(value).is_none() {
            state.secret.push(one_line(name));
        }
        let field = scheme.get("name").text().unwrap_or("authorization");
        let of_http = scheme.get("scheme").text().unwrap_or_default().to_ascii_lowercase();
        match (scheme.get("type").text(), scheme.get("in").text()) {
            (Some("apiKey"), Some("query")) => {
                let mark = if query.is_empty() { "" } else { "&" };
                *query += &format!("{mark}{}={}", percent_encoded(field), wishes.template(value, "|url"));
            }
            (Some("apiKey"), Some("cookie")) => {
                state.add_header("cookie", &format!("{}={}", literal(field), wishes.template(value, "")));
            }
            (Some("apiKey"), _) => state.add_header(field, &wishes.template(value, "")),
            (Some("basic"), _) => state.add_header("authorization", &wishes.basic(value)),
            (Some("http"), _) if of_http == "basic" => {
                state.add_header("authorization", &wishes.basic(value))
            }
            _ => state.add_header("authorization", &format!("Bearer {}", wishes.template(value, ""))),
        }
    }
}
