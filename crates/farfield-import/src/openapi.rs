//! OpenAPI 3.0 and 3.1 and Swagger 2.0. An operation is an entry.
//!
//! Required parameters have the value that the user gives, or the document's example, default or first
//! allowed value; optional ones are sent only where the user gives one. Nothing is invented: an operation
//! with a required parameter or a body of which no example is known is left out. GETs are the traffic; other
//! operations become states on no path, since they may change what is stored.

mod body;
mod document;
mod parameters;
mod security;

use crate::draft::{Draft, DraftEntry, StateRole};
use crate::node::Node;
use crate::state::DraftState;
use crate::text::{literal, name_of_request, one_line, state_name};
use crate::{ImportError, ImportSource, Wishes, yaml};
use document::Document;
use url::{Position, Url};

/// Methods of operations.
const METHODS: [&str; 8] = ["get", "head", "options", "put", "post", "patch", "delete", "trace"];

/// Difference where only required parameters are sent.
const OPTIONAL: &str = "without their optional parameters; `--value NAME=VALUE` sends those of a name";

/// Reads a document.
pub fn read(source: ImportSource<'_>, wishes: &Wishes, draft: &mut Draft) -> Result<(), ImportError> {
    let unreadable = |reason: String| ImportError::Unreadable { kind: "OpenAPI document", reason };
    let text =
        std::str::from_utf8(source.bytes).map_err(|_| unreadable("it is no text in UTF-8".to_owned()))?;
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    let root = if is_json { Node::of_json(source.bytes) } else { yaml::node_of(text) };
    let document = Document::of(root.map_err(unreadable)?).map_err(unreadable)?;
    if !document.root.get("webhooks").is_null() {
        draft.note("`webhooks` are requests of the server, and left out");
    }
    for (path, item) in document.root.get("paths").entries() {
        let is_reference = !item.get("$ref").is_null();
        let item = document.resolved(item);
        if is_reference && !item.entries().iter().any(|(own, _)| METHODS.contains(&own.as_str())) {
            draft
                .reading
                .leave_out("of a path that is a reference to nothing in the document", one_line(path));
        }
        // Of keys that are there twice the first counts, as elsewhere.
        let mut known = Vec::new();
        for (method, operation) in item.entries() {
            if METHODS.contains(&method.as_str()) && !known.contains(&method) {
                known.push(method);
                let operation = Operation { document: &document, wishes, item, operation, method, path };
                operation.read(draft);
            }
        }
    }
    Ok(())
}

struct Operation<'a> {
    document: &'a Document,
    wishes: &'a Wishes,
    /// The path's own object.
    item: &'a Node,
    operation: &'a Node,
    method: &'a str,
    path: &'a str,
}

impl Operation<'_> {
    /// Takes the operation, or leaves it out.
    fn read(&self, draft: &mut Draft) {
        let place = format!("{} {}", self.method.to_ascii_uppercase(), one_line(self.path));
        match self.state() {
            Ok(made) => {
                let is_traffic = self.method == "get" || self.wishes.all_methods;
                let role = match is_traffic {
                    true => StateRole::Path,
                    false => StateRole::Off(
                        "of another method than GET, which may change what is stored: a state of each is written, and on no path",
                    ),
                };
                if made.servers > 1 && is_traffic {
                    draft.note(format!("the first of {} servers is asked", made.servers));
                }
                let mut entry = DraftEntry { role, ..DraftEntry::new(place, made.server, made.state) };
                for (what, detail) in made.differs {
                    entry.remarks.differs(what, format!("{}, {detail}", entry.place));
                }
                if made.optional > 0 {
                    entry.remarks.differs(OPTIONAL, &entry.place);
                }
                draft.take(entry);
            }
            Err((why, detail)) => {
                let place = if detail.is_empty() { place } else { format!("{place}, {detail}") };
                draft.reading.leave_out(why, place);
            }
        }
    }

    fn state(&self) -> Result<OperationState, (&'static str, String)> {
        let ServerPlace { server, base, count: servers, is_guessed } = self.server()?;
        let parameters = parameters::read(self.document, self.item, self.operation, self.wishes)?;
        let mut path = literal(self.path);
        for (name, value) in &parameters.path {
            path = path.replace(&format!("{{{}}}", literal(name)), value);
        }
        // Braces that are left are no placeholder of a scenario's.
        if path.replace("${", "").contains('{') {
            return Err(("with a required parameter that has no example", "in the path".to_owned()));
        }
        let mut query = parameters.query.join("&");
        let method = self.method.to_ascii_uppercase();
        let name = match self.operation.get("operationId").text() {
            Some(id) => state_name(id),
            None => name_of_request(&method, self.path),
        };
        let mut state = DraftState::new(name, &method, "/");
        for (name, value) in &parameters.headers {
            state.add_header(name, value);
        }
        let mut differs = Vec::new();
        if is_guessed {
            let named = server.as_ref().map_or("", |own| own.as_str());
            differs.push(("of a server whose URL has no scheme, by HTTP", one_line(named)));
        }
        security::add(self.document, self.operation, self.wishes, &mut state, &mut query, &mut differs);
        body::add(self.document, self.operation, &parameters, &mut state)?;
        if let Some(accept) = self.accepted() {
            state.set_default("accept", &literal(&accept));
        }
        let base = base.trim_end_matches('/');
        let mark = if query.is_empty() { "" } else { "?" };
        state.path = crate::text::target(&format!("{}{path}{mark}{query}", literal(base)));
        Ok(OperationState { server, servers, state, differs, optional: parameters.optional })
    }

    fn server(&self) -> Result<ServerPlace, (&'static str, String)> {
        let servers = [self.operation, self.item].map(|own| own.get("servers"));
        let lists = servers.into_iter().chain([self.document.named("servers")]);
        let servers = { lists }.find(|list| !list.items().is_empty());
        let (text, count) = match (self.document.is_swagger(), servers) {
            (true, _) => (self.document.address(), 1),
            (false, None) => ("/".to_owned(), 1),
            (false, Some(list)) => {
                let first = &list.items()[0];
                let text = self.document.with_variables(first, &self.wishes.values);
                let text = text.ok_or(("of a server with a variable that has no default", String::new()))?;
                (text, list.items().len())
            }
        };
        let (text, is_guessed) = document::with_scheme(text);
        if text.starts_with('/') || text.is_empty() {
            return Ok(ServerPlace { server: None, base: text, count, is_guessed });
        }
        let unreadable = || ("of a server whose URL cannot be read", one_line(&text));
        let url = Url::parse(&text).map_err(|_| unreadable())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(("of another scheme than HTTP", one_line(&text)));
        }
        let base = url[Position::BeforePath..Position::AfterPath].to_owned();
        Ok(ServerPlace { server: Some(url), base, count, is_guessed })
    }

    /// The first media type of a reply that succeeds.
    fn accepted(&self) -> Option<String> {
        if self.document.is_swagger() {
            let own = [self.operation.get("produces"), self.document.named("produces")];
            return own.iter().find_map(|list| list.items().first()?.text()).map(str::to_owned);
        }
        let responses = self.operation.get("responses").entries();
        let (_, response) = responses.iter().find(|(status, _)| status.starts_with('2'))?;
        let content = self.document.resolved(response).get("content").entries();
        content.first().map(|(media_type, _)| media_type.clone())
    }
}

/// Place of an operation's server.
struct ServerPlace {
    /// None where the document says nothing but a path.
    server: Option<Url>,
    /// The path that begins those of its operations.
    base: String,
    /// Servers that the document has.
    count: usize,
    /// The server's scheme is not in the document.
    is_guessed: bool,
}

/// A state, and what is to be said of it.
struct OperationState {
    server: Option<Url>,
    servers: usize,
    state: DraftState,
    differs: Vec<(&'static str, String)>,
    optional: u64,
}
