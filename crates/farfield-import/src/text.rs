//! Texts of a scenario: templates, targets, names of states, values of TOML.

use farfield_base::credentials::{without_userinfo, words_without_credentials};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Characters of a text that is shown at most.
const SHOWN_CHARS: usize = 160;
/// Characters of a state's name at most.
const NAME_CHARS: usize = 48;

/// Characters that cannot stand in a target as they are: blanks and controls, beside all that is not ASCII.
const TARGET: &AsciiSet = &CONTROLS.add(b' ').add(b'#');

/// All but letters, digits and `-._~` (RFC 3986 section 2.3).
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `text` as a template that has no placeholders.
pub fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

/// A template of a target, with what cannot stand there percent-encoded. Placeholders have nothing of it.
pub fn target(template: &str) -> String {
    utf8_percent_encode(template, TARGET).to_string()
}

/// `text` as a value in a path or a query.
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}

/// `text` as a value of `application/x-www-form-urlencoded` (WHATWG URL).
pub fn form_encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A string of TOML.
pub fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A list of strings of TOML.
pub fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts: Vec<String> = texts.into_iter().map(quoted).collect();
    format!("[{}]", texts.join(", "))
}

/// A key of TOML.
pub fn key(name: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => {
            let mut quoted = String::from("\"");
            for letter in name.chars() {
                match letter {
                    '"' | '\\' => quoted.extend(['\\', letter]),
                    letter if letter.is_control() => {
                        // Writing into text does not fail.
                        let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
                    }
                    letter => quoted.push(letter),
                }
            }
            quoted + "\""
        }
    }
}

/// A name for a state: letters, digits, `-` and `_`, in lower case.
pub fn state_name(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '_' => {
                name.push(letter.to_ascii_lowercase());
            }
            letter if letter.is_alphanumeric() => name.extend(letter.to_lowercase()),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
        if name.chars().count() >= NAME_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('-').to_owned();
    match name.as_str() {
        "" => "request".to_owned(),
        // Both have a meaning of their own in paths.
        "back" | "end" => format!("{name}-page"),
        _ => name,
    }
}

/// A name for the state that asks for `path` with `method`.
pub fn name_of_request(method: &str, path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_matches('/');
    match (method, path.is_empty()) {
        ("GET", true) => "root".to_owned(),
        ("GET", false) => state_name(path),
        (method, _) => state_name(&format!("{method} {path}")),
    }
}

/// Text of a document on one line of a comment or of an account.
pub fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why an entry is left out whose server is a variable without a value and more, such as `$HOST:8080`.
pub const SERVER_IN_PARTS: &str =
    "whose server is a variable without a value and more; `--value NAME=VALUE` gives it one";

/// True if a server may end where this begins, which is the text behind it in a URL.
pub fn ends_a_server(behind: &str) -> bool {
    behind.is_empty() || behind.starts_with(['/', '?', '#'])
}

/// Text that has a document's words in it, on one line and with this many characters at most.
pub fn brief(text: &str, chars: usize) -> String {
    let short: String = text.chars().take(4 * chars).collect();
    let line = one_line(&short);
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Text of a document as it may be shown: on one line, short, and without what it has of credentials.
pub fn shown(text: &str) -> String {
    // Text beyond is not looked at, and not shown.
    let line = brief(text, 4 * SHOWN_CHARS);
    brief(&words_without_credentials(&without_userinfo(&line)), SHOWN_CHARS)
}

/// True if a session may have a variable of this name.
pub fn is_variable(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !name.is_empty()
        && !name.starts_with("env.")
        && !["user", "session", "click"].contains(&name)
        && name.chars().all(fits)
}

/// True if a variable of the environment may have this name in a template.
pub fn is_environment(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Names that differ: one that is taken gets a number behind it.
#[derive(Debug, Clone, Default)]
pub struct Names {
    taken: BTreeSet<String>,
    /// The next number of a name that was asked for again.
    next: BTreeMap<String, usize>,
}

impl Names {
    /// `name`, or that with a number.
    pub fn unique(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let next = self.next.entry(name.to_owned()).or_insert(2);
        loop {
            let unique = format!("{name}-{next}");
            *next += 1;
            if self.taken.insert(unique.clone()) {
                return unique;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_toml_are_read_back() {
        for text in
            ["", "a\"b", "two\nlines\r\n'''x\"\"\"", "\u{0}\u{1b}[1m", "\\u0041 é 漢 ${x}", "'", "\u{7f}"]
        {
            let table: toml::Table = format!("{} = {}", key(text), quoted(text)).parse().expect(text);
            assert_eq!(table.get(text).and_then(|value| value.as_str()), Some(text));
        }
    }

    #[test]
    fn an_account_shows_no_credentials() {
        let shown_of = |text: &str| shown(text);
        assert_eq!(shown_of("request 1, http://ann:secret@a/?x=1"), "request 1, http://a/?x=1");
        assert!(!shown_of("GET /?access_token=geheim&x=1").contains("geheim"));
        assert!(!shown_of("GET /?x=1&api_key=geheim").contains("geheim"));
        assert_eq!(shown_of("a\u{1b}[31m\nb"), "a [31m b");
        assert_eq!(shown_of(&"x".repeat(10_000)).chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn states_have_names() {
        for (text, name) in [
            ("Log in!", "log-in"),
            ("  ", "request"),
            ("back", "back-page"),
            ("Über/uns", "über-uns"),
            ("a__B--c", "a__b-c"),
        ] {
            assert_eq!(state_name(text), name);
        }
        assert_eq!(state_name(&"x ".repeat(500)).chars().count(), NAME_CHARS - 1);
        assert_eq!(name_of_request("GET", "/?a"), "root");
        assert_eq!(name_of_request("POST", "/api/v1/items?x"), "post-api-v1-items");
    }

    #[test]
    fn names_differ() {
        let mut names = Names::default();
        let given = ["a", "a", "a-3", "a", "a-3", "b"].map(|name| names.unique(name));
        assert_eq!(given, ["a", "a-2", "a-3", "a-4", "a-3-2", "b"]);
        // As many of one name as there may be are named at once.
        let many: BTreeSet<String> = (0..100_000).map(|_| names.unique("c")).collect();
        assert_eq!(many.len(), 100_000);
    }

    #[test]
    fn targets_are_encoded() {
        assert_eq!(target("/a b?ü=\"x\"&y=${v|url}#"), "/a%20b?%C3%BC=\"x\"&y=${v|url}%23");
        assert_eq!(
            (percent_encoded("a b/c~"), form_encoded("a b/c~")),
            ("a%20b%2Fc~".into(), "a+b%2Fc%7E".into())
        );
    }
}
