//! A state of a session as it is written: one request, what is taken from its reply, what must hold of it.
//! All texts are templates already.

use crate::text::{key, one_line, quoted, quoted_list};
use farfield_base::credentials::is_credential;
use farfield_traffic::session::state::StateSpec;
use farfield_traffic::session::template::{Template, TemplatePart};
use serde::Deserialize;
use std::fmt::Write;

/// Fields that the client writes itself.
const OWN_FIELDS: [&str; 6] =
    ["content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "upgrade"];

/// Header fields of a request at most.
const FIELDS_MAX: usize = 300;
/// Extractions of a state at most.
pub const EXTRACTIONS_MAX: usize = 300;

/// A state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftState {
    /// The state's name, which need not be unique yet.
    pub name: String,
    /// The method, where it is not GET.
    pub method: String,
    /// The target.
    pub path: String,
    /// Header fields, by name in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Body>,
    /// Targets that are asked for with the page.
    pub embedded: Vec<String>,
    /// Think time after the page, as TOML.
    pub think: Option<String>,
    /// Values from the reply: name, and TOML.
    pub extract: Vec<(String, String)>,
    /// Checks of the reply: key below `check`, and TOML.
    pub check: Vec<(&'static str, String)>,
    /// Names of credentials that do not look like some.
    pub secret: Vec<String>,
}

/// A body.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A template.
    Text(String),
    /// A file, sent as it is.
    File(String),
}

impl DraftState {
    /// A state that asks for `path`, a template, with `method`.
    pub fn new(name: String, method: &str, path: &str) -> DraftState {
        let path = crate::text::target(path);
        DraftState { name, method: method.to_owned(), path, ..DraftState::default() }
    }

    /// Adds a header field. Several of one name are one, with commas between the values (RFC 9110 section
    /// 5.3); those of a connection follow from the request, and are written by the client.
    pub fn add_header(&mut self, name: &str, value: &str) {
        let name = name.trim().to_ascii_lowercase();
        if OWN_FIELDS.contains(&name.as_str()) {
            return;
        }
        let value = value.trim();
        // One more than there may be is known to be too many.
        let is_full = self.headers.len() > FIELDS_MAX;
        match self.headers.iter_mut().find(|(own, _)| *own == name) {
            Some((_, known)) => {
                known.push_str(if name == "cookie" { "; " } else { ", " });
                known.push_str(value);
            }
            None if is_full => {}
            None => self.headers.push((name, value.to_owned())),
        }
    }

    /// Sets a header field unless there is one of the name.
    pub fn set_default(&mut self, name: &str, value: &str) {
        if !self.has_header(name) {
            self.add_header(name, value);
        }
    }

    /// True if there is a header field of the name, which is in lower case.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own == name)
    }

    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        let of_pairs =
            |pairs: &[(String, String)]| pairs.iter().map(|(a, b)| a.len() + b.len()).sum::<usize>();
        let body = match &self.body {
            Some(Body::Text(body) | Body::File(body)) => body.len(),
            None => 0,
        };
        let checks = self.check.iter().map(|(_, own)| own.len()).sum::<usize>();
        let embedded = self.embedded.iter().map(String::len).sum::<usize>();
        let pairs = of_pairs(&self.headers) + of_pairs(&self.extract);
        self.path.len() + body + checks + embedded + pairs
    }

    /// The state as a scenario has it.
    pub fn toml(&self) -> String {
        let mut text = format!("[[session.state]]\nname = {}\n", quoted(&self.name));
        let mut line = |key: &str, value: &str| {
            // Writing into text does not fail.
            let _ = writeln!(text, "{key} = {value}");
        };
        let usual = if self.body.is_some() { "POST" } else { "GET" };
        if self.method != usual {
            line("method", &quoted(&self.method));
        }
        line("path", &quoted(&self.path));
        for (name, value) in &self.headers {
            line(&format!("headers.{}", key(name)), &quoted(value));
        }
        match &self.body {
            Some(Body::Text(text)) => line("body", &quoted(text)),
            Some(Body::File(file)) => line("body", &format!("{{ file = {} }}", quoted(file))),
            None => {}
        }
        if !self.embedded.is_empty() {
            line("embedded", &quoted_list(self.embedded.iter().map(String::as_str)));
        }
        if let Some(think) = &self.think {
            line("think", think);
        }
        for (key, value) in &self.check {
            line(&format!("check.{key}"), value);
        }
        for (name, value) in &self.extract {
            line(&format!("extract.{}", key(name)), value);
        }
        text
    }

    /// Why the state cannot be in a scenario.
    pub fn problem(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Tables {
            session: States,
        }
        #[derive(Deserialize)]
        struct States {
            state: Vec<StateSpec>,
        }
        if self.headers.len() > FIELDS_MAX || self.extract.len() > EXTRACTIONS_MAX {
            return Some(format!("it has more than {FIELDS_MAX} header fields or extractions"));
        }
        match toml::from_str::<Tables>(&self.toml()) {
            Err(error) => Some(one_line(error.message())),
            Ok(tables) => {
                let refused = tables.session.state.iter().find_map(|state| state.check("state").err());
                refused.map(|error| one_line(&error.sentence))
            }
        }
    }

    /// Variables that the state needs, and does not extract itself for what needs them.
    pub fn needs(&self) -> Vec<String> {
        let body = match &self.body {
            Some(Body::Text(text)) => text.as_str(),
            Some(Body::File(_)) | None => "",
        };
        let headers = self.headers.iter().map(|(_, value)| value.as_str());
        // Of checks and extractions the TOML: what is escaped in it is in no placeholder.
        let checks = self.check.iter().map(|(_, value)| value.as_str());
        let own = self.extract.iter().map(|(_, value)| value.as_str());
        let all = headers.chain(checks).chain(own).chain([self.path.as_str(), body]);
        let mut needed = Vec::new();
        for text in all.filter(|text| text.contains("${")) {
            if let Ok(template) = Template::try_from(text.to_owned()) {
                needed.extend(template.variables().map(str::to_owned));
            }
        }
        needed
    }

    /// Names of credentials whose values are in the state: header fields, parameters of the query, fields of
    /// a form, members of a JSON body.
    pub fn secrets(&self) -> Vec<String> {
        // Values that a placeholder stands for are not in the scenario.
        let is_value = |value: &str| !is_placeholder(value);
        let is_field = |name: &str| is_credential(name) || name == "cookie";
        let headers = self.headers.iter().filter(|(name, value)| is_field(name) && is_value(value));
        let mut names: Vec<String> = headers.map(|(name, _)| name.clone()).collect();
        names.extend(self.secret.iter().cloned());
        let targets = [&self.path].into_iter().chain(&self.embedded);
        let queries = targets.filter_map(|target| Some(target.split_once('?')?.1));
        let form = match &self.body {
            Some(Body::Text(text)) if !text.starts_with(['{', '[', '<']) => text.as_str(),
            _ => "",
        };
        let pairs = queries.chain([form]).flat_map(|text| url::form_urlencoded::parse(text.as_bytes()));
        for (name, value) in pairs {
            if is_credential(&name) && name.len() < 100 && is_value(&value) {
                names.push(name.into_owned());
            }
        }
        if let Some(Body::Text(text)) = &self.body
            && let Some(value) = json(text)
        {
            members(&value, &mut names);
        }
        if let Some(Body::Text(text)) = &self.body {
            // Fields of a form in parts.
            for part in text.split("Content-Disposition: form-data; name=\"").skip(1) {
                let (name, rest) = part.split_once('"').unwrap_or_default();
                let value = rest.split_once("\r\n\r\n").unwrap_or_default().1;
                if is_credential(name) && is_value(value.split("\r\n--").next().unwrap_or_default()) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }
}

/// True if a template has nothing of a secret in it: placeholders, and the scheme before them.
fn is_placeholder(value: &str) -> bool {
    let Ok(template) = Template::try_from(value.to_owned()) else { return false };
    let text = |part: &TemplatePart| match part {
        TemplatePart::Text(text) => text.trim().to_owned(),
        TemplatePart::Bytes(_) | TemplatePart::Placeholder { .. } => String::new(),
    };
    let text: String = template.parts().iter().map(text).collect();
    let has_holes = template.constant().is_none();
    text.is_empty() || has_holes && ["bearer", "basic", "token"].contains(&text.to_ascii_lowercase().as_str())
}

/// Number that stands for a placeholder in JSON, and that no document has.
const HOLE: &str = "790143265";

/// A body as JSON; placeholders that stand where a number does are numbers.
fn json(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let template = Template::try_from(text.to_owned()).ok()?;
        let plain = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Bytes(_) | TemplatePart::Placeholder { .. } => HOLE.to_owned(),
        };
        let text: String = template.parts().iter().map(plain).collect();
        serde_json::from_str(&text).ok()
    })
}

/// Names of members of a JSON value that are credentials.
fn members(value: &serde_json::Value, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| members(item, names)),
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                match value {
                    serde_json::Value::String(text) if is_credential(name) => {
                        if !is_placeholder(text) && !text.contains(HOLE) {
                            names.push(name.clone());
                        }
                    }
                    serde_json::Value::Number(number) if is_credential(name) => {
                        if number.to_string() != HOLE {
                            names.push(name.clone());
                        }
                    }
                    value => members(value, names),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_written_and_read() {
        let mut state = DraftState::new("a".into(), "PUT", "/x y?${v}");
        state.add_header("X-A", " 1 ");
        state.add_header("x-a", "2");
        state.add_header("Connection", "close");
        state.add_header("Cookie", "a=1");
        state.add_header("cookie", "b=2");
        state.body = Some(Body::Text("line\n\"x\"".into()));
        state.check.push(("status", "[200]".into()));
        state.extract.push(("v.w".into(), "{ json = \"/a\" }".into()));
        assert_eq!(state.problem(), None);
        assert_eq!(state.headers, [("x-a".into(), "1, 2".into()), ("cookie".into(), "a=1; b=2".into())]);
        assert!(state.toml().contains("extract.\"v.w\" = "), "{}", state.toml());
        for (path, header) in [("x", ""), ("/", "bad name"), ("/${", "")] {
            let mut state = DraftState::new("a".into(), "GET", path);
            if !header.is_empty() {
                state.add_header(header, "1");
            }
            assert!(state.problem().is_some(), "{path} {header}");
        }
        let state = DraftState::new("a".into(), "get", "/");
        assert!(state.problem().expect("lower case").contains("`get` is not a method"));
    }

    /// In bodies that are no JSON for their placeholders, and in targets of embedded objects.
    #[test]
    fn credentials_are_found_wherever_they_are_sent() {
        let of = |body: &str, embedded: &str| {
            let mut state = DraftState::new("a".into(), "POST", "/");
            state.body = Some(Body::Text(body.into()));
            state.embedded.push(embedded.into());
            state.secrets()
        };
        assert_eq!(of("{\"id\": ${random(0,9)}, \"password\": \"hunter2\"}", "/"), ["password"]);
        assert_eq!(of("{\"id\": ${a}, \"password\": \"${b}\", \"token\": ${c}}", "/"), [""; 0]);
        assert_eq!(of("{\"password\": 1234}", "/i.png?access_token=x"), ["access_token", "password"]);
    }

    #[test]
    fn credentials_are_named() {
        let mut state = DraftState::new("a".into(), "POST", "/?api_key=1&q=2");
        state.add_header("Authorization", "Bearer x");
        state.add_header("X-Token", "${env.T}");
        state.add_header("Proxy-Authorization", "Bearer ${token}");
        state.body = Some(Body::Text("{\"user\": {\"password\": \"p\"}}".into()));
        assert_eq!(state.secrets(), ["authorization", "api_key", "password"]);
        state.body = Some(Body::Text("name=a&passwd=b".into()));
        assert_eq!(state.secrets(), ["authorization", "api_key", "passwd"]);
        state.secret = vec!["x-key".into()];
        let part = |name: &str, content: &str| crate::multipart::FormPart {
            name: name.into(),
            content: content.into(),
            ..Default::default()
        };
        let parts = [part("password", "hunter2"), part("token", "${env.T}"), part("a", "b")];
        state.body = Some(Body::Text(crate::multipart::written(&parts).1));
        assert_eq!(state.secrets(), ["authorization", "x-key", "api_key", "password"]);
    }
}
