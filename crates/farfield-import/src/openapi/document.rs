//! A document of OpenAPI: its version, what its references lead to, where its servers are.

use crate::node::Node;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// References that lead to references, at most.
const CHAIN_MAX: usize = 16;
/// Keys of a map that is searched one by one, at most.
const LARGE: usize = 16;

/// A document.
pub struct Document {
    pub root: Node,
    version: Version,
    /// Places of keys in large maps that references lead through, by the map's own place in memory.
    index: RefCell<BTreeMap<usize, BTreeMap<String, usize>>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    Swagger2,
    OpenApi3,
}

impl Document {
    /// The document whose outermost object is `root`.
    pub fn of(root: Node) -> Result<Document, String> {
        let version = |key: &str| root.get(key).plain().unwrap_or_default();
        let version = match (version("openapi"), version("swagger")) {
            (own, _) if own.starts_with("3.") || own == "3" => Version::OpenApi3,
            (_, own) if own.starts_with('2') => Version::Swagger2,
            (own, other) => {
                let found = if own.is_empty() { other } else { own };
                let found = crate::text::one_line(&found);
                return Err(format!(
                    "its version is `{found}`; `openapi: 3.0`, `3.1` and `swagger: 2.0` are read"
                ));
            }
        };
        if root.get("paths").entries().is_empty() {
            return Err("it has no `paths`".to_owned());
        }
        Ok(Document { root, version, index: RefCell::default() })
    }

    /// True if it is of version 2.
    pub fn is_swagger(&self) -> bool {
        self.version == Version::Swagger2
    }

    /// Node that the `$ref` of `node` within the document leads to, or `node` itself. One that leads
    /// elsewhere is itself.
    pub fn resolved<'a>(&'a self, mut node: &'a Node) -> &'a Node {
        for _ in 0..CHAIN_MAX {
            let Some(pointer) = node.get("$ref").text().and_then(|to| to.strip_prefix("#/")) else {
                return node;
            };
            let mut found = &self.root;
            for part in pointer.split('/') {
                let part = percent_encoding::percent_decode_str(part).decode_utf8_lossy();
                found = self.member(found, &part.replace("~1", "/").replace("~0", "~"));
            }
            node = found;
        }
        node
    }

    /// The value of a key of the document itself.
    pub fn named(&self, key: &str) -> &Node {
        self.member(&self.root, key)
    }

    /// The value of a key in a part of the document, which is not searched for each reference.
    pub fn member<'a>(&'a self, node: &'a Node, key: &str) -> &'a Node {
        let entries = node.entries();
        if entries.len() <= LARGE {
            return node.get(key);
        }
        let mut index = self.index.borrow_mut();
        let places = index.entry(std::ptr::from_ref(node).addr()).or_insert_with(|| {
            // Of keys that are there twice the first counts, as elsewhere.
            entries.iter().enumerate().rev().map(|(place, (own, _))| (own.clone(), place)).collect()
        });
        places.get(key).map_or(&Node::Null, |place| &entries[*place].1)
    }

    /// Address of the server of version 2: scheme, host and path; a path alone if it names no host.
    pub fn address(&self) -> String {
        let base = self.named("basePath").text().unwrap_or("/");
        let Some(host) = self.named("host").text() else { return base.to_owned() };
        let schemes = self.named("schemes").items();
        let known = |scheme: &&Node| matches!(scheme.text(), Some("http" | "https"));
        // Without any, it is that of the document's own URL, which a file does not have.
        let scheme = schemes.iter().find(known).and_then(Node::text).unwrap_or("http");
        format!("{scheme}://{host}{base}")
    }

    /// The URL of a server with its variables: as the user gives them, or their defaults.
    pub fn with_variables(&self, server: &Node, values: &BTreeMap<String, String>) -> Option<String> {
        let variables = server.get("variables");
        let mut rest = server.get("url").text()?;
        let mut url = String::new();
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, after) = behind.split_once('}')?;
            let given = values.get(name).cloned();
            let value = given.or_else(|| self.member(variables, name).get("default").plain())?;
            url.extend([before, &value]);
            rest = after;
        }
        url.push_str(rest);
        (!url.contains('{')).then_some(url)
    }
}

/// The URL of a server, and whether its scheme is a guess: one that begins with a host is meant as HTTP. One
/// that is relative begins at the root, since a file has no URL of its own.
pub fn with_scheme(url: String) -> (String, bool) {
    if url.contains("://") || url.starts_with('/') || url.is_empty() {
        return (url, false);
    }
    let first = url.split('/').next().unwrap_or_default();
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|own| own.is_ascii_digit());
    match first.split_once(':') {
        Some((_, port)) if is_port(port) => (format!("http://{url}"), true),
        // A scheme, such as `mailto:`.
        Some(_) => (url, false),
        None if first == "localhost" || first.contains('.') && !first.starts_with('.') => {
            (format!("http://{url}"), true)
        }
        None => (format!("/{}", url.trim_start_matches("./")), false),
    }
}
