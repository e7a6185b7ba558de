//! Pages as HTML: references to embedded objects and links, written and found.
//!
//! [`references`] is no browser: it looks at tags and their attributes only, which suffices to read a folder
//! of files as a site.

use super::{Object, ObjectKind, SitePage};
use std::fmt::Write;

const WRITES: &str = "a String takes whatever is written";

/// The HTML of `page` up to the text that fills it: a line for each object that it embeds and each link.
pub fn markup(objects: &[Object], pages: &[SitePage], page: &SitePage) -> String {
    let own = &objects[page.object as usize].path;
    let mut html = format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>{own}</title>\n");
    for at in &page.embedded {
        let Object { path, kind, .. } = &objects[*at as usize];
        match kind {
            ObjectKind::StyleSheet => writeln!(html, "<link rel=\"stylesheet\" href=\"{path}\">"),
            ObjectKind::Script => writeln!(html, "<script src=\"{path}\"></script>"),
            ObjectKind::Image => writeln!(html, "<img src=\"{path}\" alt=\"\">"),
            ObjectKind::Html => writeln!(html, "<iframe src=\"{path}\"></iframe>"),
            ObjectKind::Other => writeln!(html, "<embed src=\"{path}\">"),
        }
        .expect(WRITES);
    }
    for link in &page.links {
        let path = &objects[pages[link.page as usize].object as usize].path;
        writeln!(html, "<a href=\"{path}\">{}</a>", link.page).expect(WRITES);
    }
    html.push_str("<p>\n");
    html
}

/// A page with a link to each of `pages`: what a site answers with to `/`.
pub fn index(objects: &[Object], pages: &[SitePage]) -> String {
    let mut html = String::from("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Index</title>\n<ul>\n");
    for page in pages {
        let path = &objects[page.object as usize].path;
        writeln!(html, "<li><a href=\"{path}\">{path}</a>").expect(WRITES);
    }
    html.push_str("</ul>\n");
    html
}

/// Reference of a page, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// Something that is fetched with the page.
    Embedded(String),
    /// Somewhere that users may go.
    Link(String),
}

/// References of `html`, in order. Character references are left as they are, but for `&amp;`.
pub fn references(html: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let (tag, after) = split_tag(rest);
        rest = after;
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let attribute = |wanted: &str| attributes(&tag[name.len()..]).find(|(key, _)| key == wanted);
        let value = |wanted: &str| attribute(wanted).map(|(_, value)| value.replace("&amp;", "&"));
        match name.as_str() {
            "img" | "script" | "iframe" | "frame" | "embed" | "source" | "audio" | "video" | "input" => {
                found.extend(value("src").map(Reference::Embedded));
            }
            "link" => {
                let fetched = ["stylesheet", "icon", "preload", "modulepreload"];
                let rel = value("rel").unwrap_or_default().to_ascii_lowercase();
                if rel.split_ascii_whitespace().any(|word| fetched.contains(&word)) {
                    found.extend(value("href").map(Reference::Embedded));
                }
            }
            "a" | "area" => found.extend(value("href").map(Reference::Link)),
            _ => {}
        }
        // Contents of a script or a style sheet are no HTML.
        if name == "script" || name == "style" {
            rest = from_end_tag(rest, &name);
        }
    }
    found
}

/// `text` from the end tag of `name` on; nothing where there is none.
fn from_end_tag<'a>(text: &'a str, name: &str) -> &'a str {
    let is_end = |at: &usize| {
        let tag = text.as_bytes()[*at..].strip_prefix(b"</");
        tag.and_then(|tag| tag.get(..name.len())).is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes()))
    };
    text.match_indices('<').map(|(at, _)| at).find(is_end).map_or("", |at| &text[at..])
}

/// A tag without its brackets, and what follows it. A `>` inside quotes does not end it.
fn split_tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return (&text[..at], &text[at + 1..]),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    (text, "")
}

/// The names, in lower case, and values of a tag's attributes.
fn attributes(tag: &str) -> impl Iterator<Item = (String, &str)> {
    let mut rest = tag;
    std::iter::from_fn(move || {
        let trimmed = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = trimmed.find(|c: char| c.is_ascii_whitespace() || c == '=' || c == '/');
        let (name, after) = trimmed.split_at(end.unwrap_or(trimmed.len()));
        let after = after.trim_start();
        if name.is_empty() && !after.starts_with('=') {
            return None;
        }
        let Some(value) = after.strip_prefix('=') else {
            rest = after;
            return Some((name.to_ascii_lowercase(), ""));
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = &value[1..];
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            _ => {
                let end = value.find(|c: char| c.is_ascii_whitespace());
                value.split_at(end.unwrap_or(value.len()))
            }
        };
        rest = after;
        Some((name.to_ascii_lowercase(), value.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn embedded(path: &str) -> Reference {
        Reference::Embedded(path.to_owned())
    }

    fn link(path: &str) -> Reference {
        Reference::Link(path.to_owned())
    }

    #[test]
    fn finds_what_is_named() {
        let html = "<!DOCTYPE html><html><head><LINK Rel='icon stylesheet' href=a.css><link rel=next href=n>\
            <script src=\"b.js\">if (a < b) { '<img src=no>' }</script><style>a > b{}</style></head>\
            <!-- <img src=no> --><body><a class=\"x > y\" href = \"c?d&amp;e\">x</a><img alt='' src=f.png />\
            <a name=z>none</a><area href='/g'><p><";
        let expected = [embedded("a.css"), embedded("b.js"), link("c?d&e"), embedded("f.png"), link("/g")];
        assert_eq!(references(html), expected);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[<>='\"/ a-z!&é-]{0,80}") {
            references(&text);
        }
    }
}
