//! A request of a collection as a state.

use super::variables::Braces;
use crate::holes::{Notation, TextPart, Variables, constant, template};
use crate::multipart::{self, media_type_of};
use crate::node::Node;
use crate::state::{Body, DraftState};
use crate::text::{form_encoded, literal, name_of_request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_traffic::file::Load;
use std::collections::BTreeMap;
use std::path::Path;
use url::Url;

/// Values of a way of authentication that are looked at: one is searched for each request of a folder.
const AUTH_MAX: usize = 100;

/// Why there is no state, and what is named beside.
type RequestRefusal = (&'static str, String);

/// A state, and what is to be said of it.
pub struct PostmanState {
    pub server: Option<Url>,
    pub state: DraftState,
    pub differs: Vec<&'static str>,
    /// The variable without a value that the URL begins with.
    pub base: Option<String>,
}

/// The request of an item, or why there is none.
pub fn of(
    item: &Node,
    auth: Option<&Node>,
    variables: &Variables,
    load: &mut Load<'_>,
) -> Result<PostmanState, RequestRefusal> {
    let request = item.get("request");
    let (url, method) = match request.text() {
        Some(_) => (request, "GET".to_owned()),
        None => (request.get("url"), request.get("method").plain().unwrap_or_else(|| "GET".to_owned())),
    };
    let mut reader = RequestReader { variables, load, state: DraftState::default(), differs: Vec::new() };
    let located = reader.located(url)?;
    reader.state = DraftState::new(name_of_request(&method, &located.path), &method, &located.path);
    reader.headers(request.get("header"))?;
    if let Some(user) = &located.user {
        let user = percent_encoding::percent_decode_str(user).decode_utf8_lossy();
        reader.state.set_default("authorization", &format!("Basic {}", STANDARD.encode(&*user)));
    }
    if let Some(auth) = auth {
        reader.auth(auth)?;
    }
    // Postman sends no body with these unless it is asked to.
    let keeps = item.get("protocolProfileBehavior").get("disableBodyPruning").is_true();
    if keeps || !["GET", "HEAD", "COPY", "PURGE", "UNLOCK"].contains(&method.as_str()) {
        reader.body(request.get("body"))?;
    }
    let proxy = request.get("proxy");
    if !proxy.get("host").is_null() && !proxy.get("disabled").is_true() {
        reader.differs.push("without their proxy; `connections.proxy` of the scenario names one for all");
    }
    Ok(PostmanState {
        server: located.server,
        state: reader.state,
        differs: reader.differs,
        base: located.base,
    })
}

/// Target of a request; the path is a template.
struct TemplateTarget {
    server: Option<Url>,
    path: String,
    user: Option<String>,
    base: Option<String>,
}

struct RequestReader<'a, 'l> {
    variables: &'a Variables,
    load: &'a mut Load<'l>,
    state: DraftState,
    differs: Vec<&'static str>,
}

impl RequestReader<'_, '_> {
    fn parts(&self, text: &str) -> Result<Vec<TextPart>, RequestRefusal> {
        self.variables.parts(text, &Braces).map_err(|unknown| unknown.reason())
    }

    fn fill(&self, text: &str) -> Result<String, RequestRefusal> {
        Ok(template(&self.parts(text)?, literal, ""))
    }

    fn located(&self, url: &Node) -> Result<TemplateTarget, RequestRefusal> {
        let whole = whole(url);
        let whole = whole.trim();
        let mut base = None;
        let mut text = whole;
        if let Some((0, end, name)) = Braces.next(whole)
            && !self.variables.has(name)
            && !name.starts_with('$')
        {
            base = Some(name.to_owned());
            text = &whole[end..];
        }
        let filled = self.fill(text)?;
        let (scheme, rest) = filled.split_once("://").unwrap_or(("http", &filled));
        let (server, user, rest) = if let Some(base) = &base {
            if !crate::text::ends_a_server(&filled) {
                return Err((crate::text::SERVER_IN_PARTS, format!("`{}`", crate::text::one_line(base))));
            }
            (None, None, filled.as_str())
        } else if filled.starts_with('/') {
            // Of no server. A base URL `/` and a path have two strokes between them.
            (None, None, filled.trim_start_matches('/'))
        } else {
            if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
                return Err(("of another protocol than HTTP", String::new()));
            }
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, rest) = rest.split_at(end);
            let (user, host) = match authority.rsplit_once('@') {
                Some((user, host)) => (Some(user.to_owned()), host),
                None => (None, authority),
            };
            let server = Url::parse(&format!("{scheme}://{host}/")).ok().filter(|_| !host.contains('$'));
            (Some(server.ok_or(("whose URL cannot be read", String::new()))?), user, rest)
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let mut path = self.with_segments(path, url.get("variable").items())?;
        if !path.starts_with('/') {
            path = format!("/{path}");
        }
        if let Some(query) = query {
            path = format!("{path}?{query}");
        }
        Ok(TemplateTarget { server, path, user, base })
    }

    /// A path whose segments `:id` have their values.
    fn with_segments<'n>(&self, path: &str, known: &'n [Node]) -> Result<String, RequestRefusal> {
        // Of a name that is there twice the first counts. A path may have as many as there are.
        let named = |own: &'n Node| Some((own.get("key").text().or(own.get("id").text())?, own));
        let known: BTreeMap<&str, &Node> = known.iter().rev().filter_map(named).collect();
        let segment = |segment: &str| {
            let Some(name) = segment.strip_prefix(':').filter(|name| !name.is_empty()) else {
                return Ok(segment.to_owned());
            };
            if let Some(given) = self.variables.given(name) {
                return Ok(crate::environment(given).map_or_else(
                    || crate::text::percent_encoded(given),
                    |own| format!("${{env.{own}|url}}"),
                ));
            }
            match known.get(name).and_then(|own| own.get("value").plain()).filter(|value| !value.is_empty()) {
                Some(value) => self.fill(&value),
                None => Err((
                    "with a part of the path that has no value; `--value NAME=VALUE` gives it one",
                    format!("`:{}`", crate::text::one_line(name)),
                )),
            }
        };
        Ok(path.split('/').map(segment).collect::<Result<Vec<_>, _>>()?.join("/"))
    }

    fn headers(&mut self, headers: &Node) -> Result<(), RequestRefusal> {
        if let Some(text) = headers.text() {
            for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
                let value = self.fill(value)?;
                self.state.add_header(name, &value);
            }
        }
        for header in headers.items().iter().filter(|own| !own.get("disabled").is_true()) {
            let name = constant(&self.parts(header.get("key").text().unwrap_or_default())?);
            let name = name.ok_or(("with a header field whose name is not known before", String::new()))?;
            let value = self.fill(&header.get("value").plain().unwrap_or_default())?;
            if !name.is_empty() {
                self.state.add_header(&name, &value);
            }
        }
        Ok(())
    }

    fn auth(&mut self, auth: &Node) -> Result<(), RequestRefusal> {
        let kind = auth.get("type").text().unwrap_or("noauth");
        // Version 2.1 has a list, 2.0 an object.
        let value = |key: &str| {
            let values = auth.get(kind);
            let mut listed = values.items().iter().take(AUTH_MAX);
            let listed = listed.find(|own| own.get("key").text() == Some(key)).map(|own| own.get("value"));
            let mut named = values.entries().iter().take(AUTH_MAX);
            let named = || named.find(|(own, _)| own == key).map(|(_, value)| value);
            listed.or_else(named).and_then(Node::plain).unwrap_or_default()
        };
        match kind {
            "noauth" => {}
            "basic" => {
                let parts = self.parts(&format!("{}:{}", value("username"), value("password")))?;
                let value = constant(&parts).map(|user| STANDARD.encode(user)).ok_or_else(no_basic)?;
                self.state.set_default("authorization", &format!("Basic {value}"));
            }
            "bearer" => {
                let token = self.fill(&value("token"))?;
                self.state.set_default("authorization", &format!("Bearer {token}"));
            }
            "apikey" => {
                let (name, own) = (value("key"), self.fill(&value("value"))?);
                if !own.starts_with("${") {
                    self.state.secret.push(crate::text::one_line(&name));
                }
                match value("in").as_str() {
                    "query" => {
                        let mark = if self.state.path.contains('?') { '&' } else { '?' };
                        let pair = crate::text::target(&format!("{mark}{}={own}", self.fill(&name)?));
                        self.state.path += &pair;
                    }
                    _ => {
                        let name = constant(&self.parts(&name)?).filter(|name| !name.is_empty());
                        let name = name.ok_or(("with a key that has no name", String::new()))?;
                        self.state.set_default(&name.to_ascii_lowercase(), &own);
                    }
                }
            }
            "oauth2" if !value("accessToken").is_empty() && value("addTokenTo") != "queryParams" => {
                let prefix = Some(value("headerPrefix")).filter(|own| !own.is_empty());
                let token = self.fill(&value("accessToken"))?;
                let prefix = prefix.unwrap_or_else(|| "Bearer".to_owned());
                self.state.set_default("authorization", &format!("{} {token}", literal(prefix.trim())));
            }
            "oauth2" => self.differs.push("without a token of OAuth 2.0, which the collection does not have"),
            _ => {
                return Err((
                    "that is signed or answers a challenge (digest, AWS, Hawk, OAuth 1, NTLM)",
                    String::new(),
                ));
            }
        }
        Ok(())
    }

    fn body(&mut self, body: &Node) -> Result<(), RequestRefusal> {
        if body.is_null() || body.get("disabled").is_true() {
            return Ok(());
        }
        let mode = body.get("mode").text().unwrap_or_default();
        let content = body.get(mode);
        let (media_type, body) = match mode {
            "raw" => {
                let text = content.text().unwrap_or_default();
                if text.is_empty() {
                    return Ok(());
                }
                let media_type = match body.get("options").get("raw").get("language").text() {
                    Some("json") => "application/json",
                    Some("xml") => "application/xml",
                    Some("html") => "text/html",
                    Some("javascript") => "application/javascript",
                    _ => "text/plain",
                };
                (media_type.to_owned(), Body::Text(self.fill(text)?))
            }
            "urlencoded" => {
                let mut pairs = Vec::new();
                for field in content.items().iter().filter(|own| !own.get("disabled").is_true()) {
                    let name = self.parts(&field.get("key").plain().unwrap_or_default())?;
                    let value = self.parts(&field.get("value").plain().unwrap_or_default())?;
                    pairs.push(format!(
                        "{}={}",
                        template(&name, form_encoded, "|form"),
                        template(&value, form_encoded, "|form")
                    ));
                }
                ("application/x-www-form-urlencoded".to_owned(), Body::Text(pairs.join("&")))
            }
            "formdata" => {
                let (media_type, text) = self.form(content.items())?;
                (media_type, Body::Text(text))
            }
            "graphql" => {
                let query = self.parts(content.get("query").text().unwrap_or_default())?;
                let json = |text: &str| {
                    let quoted = serde_json::Value::from(text).to_string();
                    literal(&quoted[1..quoted.len() - 1])
                };
                let values = content.get("variables");
                let values = values.text().map_or_else(
                    || if values.is_null() { String::new() } else { values.json() },
                    str::to_owned,
                );
                let values = if values.trim().is_empty() { "{}".to_owned() } else { self.fill(&values)? };
                let text =
                    format!("{{\"query\":\"{}\",\"variables\":{values}}}", template(&query, json, "|json"));
                ("application/json".to_owned(), Body::Text(text))
            }
            "file" => {
                let file = content.get("src").text().ok_or(("whose file is not named", String::new()))?;
                (
                    media_type_of(file).to_owned(),
                    crate::curl::body::of_file(file, self.load).map_err(|why| (why, String::new()))?,
                )
            }
            _ => return Ok(()),
        };
        self.state.set_default("content-type", &media_type);
        self.state.body = Some(body);
        Ok(())
    }

    fn form(&mut self, fields: &[Node]) -> Result<(String, String), RequestRefusal> {
        let mut parts = Vec::new();
        for field in fields.iter().filter(|own| !own.get("disabled").is_true()) {
            let name = constant(&self.parts(&field.get("key").plain().unwrap_or_default())?);
            let name =
                name.ok_or(("with a field of a form whose name is not known before", String::new()))?;
            let media_type = field.get("contentType").text().filter(|own| !own.is_empty()).map(str::to_owned);
            if field.get("type").text() != Some("file") {
                let content = self.fill(&field.get("value").plain().unwrap_or_default())?;
                parts.push(multipart::FormPart { name, file_name: None, media_type, content });
                continue;
            }
            let source = field.get("src");
            let files: Vec<&str> =
                source.text().into_iter().chain(source.items().iter().filter_map(Node::text)).collect();
            if files.is_empty() {
                return Err(("whose file is not named", String::new()));
            }
            for file in files {
                let content = literal(
                    &crate::curl::body::text_of(file, self.load).map_err(|why| (why, String::new()))?,
                );
                let base = Path::new(file).file_name().map(|own| own.to_string_lossy().into_owned());
                let media_type = media_type.clone().or_else(|| Some(media_type_of(file).to_owned()));
                parts.push(multipart::FormPart { name: name.clone(), file_name: base, media_type, content });
            }
        }
        Ok(multipart::written(&parts))
    }
}

fn no_basic() -> RequestRefusal {
    ("whose user or password is not known before, which basic authentication encodes together", String::new())
}

/// A URL as a text with its variables: of its parts, where it has them.
fn whole(url: &Node) -> String {
    let joined = |node: &Node, between: &str| match node {
        Node::List(items) => {
            // A part of a path may be an object with its text.
            let text = |own: &Node| own.plain().or_else(|| own.get("value").plain()).unwrap_or_default();
            items.iter().map(text).collect::<Vec<_>>().join(between)
        }
        node => node.plain().unwrap_or_default(),
    };
    if let Some(text) = url.text() {
        return text.to_owned();
    }
    if url.get("host").is_null() {
        return url.get("raw").text().unwrap_or_default().to_owned();
    }
    let mut text = joined(url.get("host"), ".");
    if let Some(protocol) = url.get("protocol").text().filter(|own| !own.is_empty()) {
        text = format!("{}://{text}", protocol.trim_end_matches("://"));
    }
    if let Some(port) = url.get("port").plain().filter(|port| !port.is_empty()) {
        text = format!("{text}:{port}");
    }
    if !url.get("path").is_null() {
        text = format!("{text}/{}", joined(url.get("path"), "/").trim_start_matches('/'));
    }
    let mut mark = '?';
    for own in url.get("query").items().iter().filter(|own| !own.get("disabled").is_true()) {
        let name = own.get("key").plain().unwrap_or_default();
        text.push(mark);
        text.push_str(&name);
        if let Some(value) = own.get("value").plain() {
            text.extend(["=", &value]);
        }
        mark = '&';
    }
    text
}
