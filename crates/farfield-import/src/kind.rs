//! Kinds of documents, and how each is recognized.

use std::fmt;
use std::str::FromStr;

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// Commands of curl, as a shell has them.
    Curl,
    /// HTTP Archive 1.2.
    Har,
    /// OpenAPI 3.0 and 3.1, Swagger 2.0, in JSON or YAML.
    OpenApi,
    /// A Postman collection, 2.0 and 2.1.
    Postman,
    /// A test plan of JMeter.
    JMeter,
}

impl DocumentKind {
    /// All kinds, by the name that a user types.
    pub const NAMES: [(&'static str, DocumentKind); 5] = [
        ("curl", DocumentKind::Curl),
        ("har", DocumentKind::Har),
        ("openapi", DocumentKind::OpenApi),
        ("postman", DocumentKind::Postman),
        ("jmeter", DocumentKind::JMeter),
    ];

    /// The kind of the document with this file name that begins with these bytes.
    pub fn of(name: &str, start: &[u8]) -> Option<DocumentKind> {
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let ends = |end: &str| name.len() > end.len() && name.to_ascii_lowercase().ends_with(end);
        if text.starts_with('<') {
            return (text.contains("<jmeterTestPlan") || ends(".jmx")).then_some(DocumentKind::JMeter);
        }
        if text.starts_with('{') {
            return DocumentKind::of_json(text).or_else(|| ends(".har").then_some(DocumentKind::Har));
        }
        if is_openapi_yaml(text) {
            return Some(DocumentKind::OpenApi);
        }
        is_command(text).then_some(DocumentKind::Curl)
    }

    /// By keys of the outermost object; documents that are written on one line have them anywhere.
    fn of_json(text: &str) -> Option<DocumentKind> {
        let has = |key: &str| has_key(text, key);
        let is_postman = has("_postman_id") || text.contains("schema.getpostman.com/") || {
            has("info") && has("item") && !has("paths")
        };
        match () {
            () if is_postman && has("info") => Some(DocumentKind::Postman),
            () if has("openapi") || has("swagger") => Some(DocumentKind::OpenApi),
            () if has("log") && has("entries") => Some(DocumentKind::Har),
            () => None,
        }
    }

    /// The kind in words, as it follows "is".
    pub fn words(self) -> &'static str {
        match self {
            DocumentKind::Curl => "a curl command",
            DocumentKind::Har => "an HTTP Archive",
            DocumentKind::OpenApi => "an OpenAPI document",
            DocumentKind::Postman => "a Postman collection",
            DocumentKind::JMeter => "a JMeter plan",
        }
    }
}

/// True if a JSON text has a key of this name, at any depth.
fn has_key(text: &str, key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    text.match_indices(&quoted).any(|(at, _)| text[at + quoted.len()..].trim_start().starts_with(':'))
}

/// A line at the left edge that names the version.
fn is_openapi_yaml(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches(['"', '\'']);
        ["openapi", "swagger"].iter().any(|key| {
            let rest = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']).trim_start());
            let version = rest.and_then(|rest| rest.strip_prefix(':')).map(|rest| rest.trim());
            version.is_some_and(|version| {
                version.trim_start_matches(['"', '\'']).starts_with(|letter: char| letter.is_ascii_digit())
            })
        })
    })
}

/// True if the first line that is neither empty nor a comment, and sets no variable, is a command of curl.
fn is_command(text: &str) -> bool {
    let sets = |line: &str| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split_once('=').is_some_and(|(name, _)| crate::text::is_environment(name))
    };
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#') && !sets(line));
    let line = line.unwrap_or_default();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    line.split_whitespace().next().is_some_and(|word| word == "curl" || word.ends_with("/curl"))
}

impl FromStr for DocumentKind {
    type Err = String;

    fn from_str(name: &str) -> Result<DocumentKind, String> {
        let known = DocumentKind::NAMES.iter().find(|(own, _)| *own == name).map(|(_, kind)| *kind);
        known.ok_or_else(|| {
            let names: Vec<&str> = DocumentKind::NAMES.iter().map(|(own, _)| *own).collect();
            format!("there is no kind `{name}`; there are `{}`", names.join("`, `"))
        })
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_known_by_what_is_in_them() {
        for (name, text, kind) in [
            ("a", "curl http://a/", Some(DocumentKind::Curl)),
            ("a.sh", "\u{feff}#!/bin/sh\n\n# one\n$ curl \\\n http://a/", Some(DocumentKind::Curl)),
            ("a", "/usr/bin/curl -s x", Some(DocumentKind::Curl)),
            ("a", "A=1; export B\nexport C='x'\ncurl $C", Some(DocumentKind::Curl)),
            ("a", "curly", None),
            ("a", "a=1\nb=2\n", None),
            ("s.har", "{}", Some(DocumentKind::Har)),
            ("s.json", "{\"log\" : {\"version\": \"1.2\", \"entries\": []}}", Some(DocumentKind::Har)),
            ("a.json", "{\"openapi\":\"3.1.0\"}", Some(DocumentKind::OpenApi)),
            (
                "a.json",
                " {\"info\": {\"title\": \"openapi\"}, \"swagger\": \"2.0\"}",
                Some(DocumentKind::OpenApi),
            ),
            ("a.yaml", "# x\ninfo:\n  title: x\nopenapi: 3.0.1\n", Some(DocumentKind::OpenApi)),
            ("a.yml", "---\n\"swagger\": '2.0'\n", Some(DocumentKind::OpenApi)),
            ("a.yml", "  openapi: 3.0.1\n", Some(DocumentKind::OpenApi)),
            ("a.yml", "openapi: soon\n", None),
            ("a.json", "{\"info\": {\"name\": \"x\"}, \"item\": []}", Some(DocumentKind::Postman)),
            (
                "a.json",
                "{\"info\":{\"schema\":\"https://schema.getpostman.com/json/collection/v2.1.0/c.json\"}}",
                Some(DocumentKind::Postman),
            ),
            ("a.json", "{\"item\": 1}", None),
            ("a", "<?xml version=\"1.0\"?>\n<jmeterTestPlan>", Some(DocumentKind::JMeter)),
            ("a.jmx", "<?xml?>", Some(DocumentKind::JMeter)),
            ("a", "<urlset>", None),
            ("s.toml", "target = \"http://a/\"\n[load]\n", None),
            ("s.toml", "# curl http://a/\ntarget = \"http://a/\"\n", None),
        ] {
            assert_eq!(DocumentKind::of(name, text.as_bytes()), kind, "{name}: {text}");
        }
        assert_eq!("jmeter".parse(), Ok(DocumentKind::JMeter));
        assert!("k6".parse::<DocumentKind>().expect_err("no kind").contains("`postman`"));
    }
}
