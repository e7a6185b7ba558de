//! Files that people have, in the place of a scenario: an archive of a browser, an access log, a list of
//! paths. Each is known by its first lines, and becomes the scenario that asks for it.

use crate::error::ScenarioError;
use crate::overlay::Overlay;
use crate::values::Url;
use farfield_files::input::DOCUMENT_MAX;
use farfield_files::open_regular;
use farfield_import::DocumentKind;
use farfield_log::{LogFormat, decompressed};
use farfield_traffic::session::replay::recorded_target;
use std::io::Read;
use std::path::Path;
use toml::{Table, Value};

/// Bytes at the beginning of a file that are looked at.
const LOOKED_AT: u64 = 64 << 10;

/// Kind of a file, by its name and its first lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputKind {
    Archive,
    Log,
    /// Requests, a line each, or a sitemap.
    List,
    /// A file that `farfield import` makes a scenario of.
    Importable(DocumentKind),
    /// A file of another program: what it is, and what can be done.
    Foreign(&'static str),
    /// A scenario, or nothing that is known.
    Scenario,
}

/// The scenario that asks for what is in the file at `path`; `None` if it is a scenario itself.
pub fn scenario_of(path: &Path, flags: &Overlay) -> Option<Result<Table, ScenarioError>> {
    let mut start = Vec::new();
    // A file that cannot be opened is reported as the scenario that cannot be.
    let file = open_regular(path).ok()?;
    decompressed(file).ok()?.take(LOOKED_AT).read_to_end(&mut start).ok()?;
    let (table, needs) = match kind_of(path, &start) {
        InputKind::Scenario => return None,
        InputKind::Foreign(what) => {
            return Some(Err(ScenarioError::invalid(format!("{}: {what}", path.display()))));
        }
        InputKind::Importable(kind) => {
            let path = path.display();
            return Some(Err(ScenarioError::invalid(format!(
                "{path}: is {kind}, and no scenario; make one of it, which says what it takes and what it leaves out: \
                 `farfield import {path} -o scenario.toml`"
            ))));
        }
        InputKind::Archive => {
            let text = farfield_files::read(path, DOCUMENT_MAX).ok();
            return Some(Ok(replayed(path, text.and_then(|text| recorded_target(&text)), flags)));
        }
        InputKind::Log => (replayed(path, None, flags), "an access log"),
        InputKind::List => match (origin(&start), flags.has("target") || flags.has("server.command")) {
            (Some(origin), false) => {
                let mut table = listed(path);
                table.insert("target".into(), origin.into());
                return Some(Ok(table));
            }
            _ => (listed(path), "a list of paths"),
        },
    };
    let names_a_server = flags.has("target") || flags.has("server.command") || flags.has("plane");
    Some(match names_a_server {
        true => Ok(table),
        false => Err(ScenarioError::invalid(format!(
            "{}: {needs} does not say where its requests go; add `--target URL`, such as `--target http://127.0.0.1:8080/`",
            path.display()
        ))),
    })
}

fn kind_of(path: &Path, start: &[u8]) -> InputKind {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let extension = path.extension().and_then(|own| own.to_str()).unwrap_or_default().to_ascii_lowercase();
    if extension == "har" || text.starts_with('{') && text.contains("\"log\"") && text.contains("\"entries\"")
    {
        return InputKind::Archive;
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // A file that is named a scenario may have a document in a body.
    if extension != "toml"
        && let Some(kind) = DocumentKind::of(name, start)
    {
        return InputKind::Importable(kind);
    }
    // Both begin with `#`, which only a comment in TOML may be.
    let is_extended = ["#Version:", "#Fields:", "#Software:"].iter().any(|mark| text.starts_with(mark));
    if is_extended || !text.starts_with('#') && LogFormat::detect(start).is_some() {
        return InputKind::Log;
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    if first.is_some_and(is_request) || text.starts_with('<') && text.contains("<urlset") {
        return InputKind::List;
    }
    // A file that another program has written may have come out empty; the defaults would be measured in its
    // place.
    if first.is_none() && extension != "toml" && (start.len() as u64) < LOOKED_AT {
        return InputKind::Foreign(
            "has nothing in it that is asked for; write a request a line, or name a scenario of defaults alone `.toml`",
        );
    }
    let is_code =
        ["import ", "export ", "'use strict'", "from locust"].iter().any(|mark| text.starts_with(mark));
    if text.starts_with('<') {
        InputKind::Foreign(
            "is XML, and no scenario; farfield reads scenarios in TOML, HAR files, access logs and lists of paths",
        )
    } else if is_code || ["js", "ts", "py", "scala", "java", "lua"].contains(&extension.as_str()) {
        InputKind::Foreign(
            "is a program, and no scenario; farfield reads scenarios in TOML, HAR files, access logs and lists of paths",
        )
    } else if text.starts_with('{') {
        InputKind::Foreign(
            "is JSON, but neither an HTTP Archive (an object `log` with `entries`) nor an access log of known fields; name \
             those with `session.replay.fields` in a scenario",
        )
    } else if extension != "toml" && first.is_some_and(|line| !line.contains('\0') && !may_be_toml(line)) {
        InputKind::Foreign(
            "is neither a scenario (TOML) nor a HAR file, an access log of a known layout or a list of paths; name the layout of a \
             log in a scenario, with `session.replay.layout`, or write a path or URL a line",
        )
    } else {
        InputKind::Scenario
    }
}

/// True if a line that is no comment can stand in TOML: it begins a table, or gives a key its value.
fn may_be_toml(line: &str) -> bool {
    let is_key = |text: &str| {
        let text = text.trim();
        !text.is_empty()
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.\"'".contains(letter))
    };
    match line.strip_prefix('[') {
        Some(rest) => rest.trim_start_matches('[').split(']').next().is_some_and(is_key),
        None => line.split_once('=').is_some_and(|(key, _)| is_key(key)),
    }
}

/// True if a line is `[METHOD] PATH`, or has a URL for the path.
fn is_request(line: &str) -> bool {
    let target = match line.split_once(char::is_whitespace) {
        Some((method, target)) if method.bytes().all(|byte| byte.is_ascii_uppercase()) => target.trim_start(),
        _ => line,
    };
    ["/", "http://", "https://"].iter().any(|begin| target.starts_with(begin))
}

/// The scheme and the server of the first URL in a list.
fn origin(start: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(start);
    let at = ["http://", "https://"].iter().filter_map(|scheme| {
        let begins = |at: &usize| text[..*at].ends_with([' ', '\n', '\t', '>', '\u{feff}']) || *at == 0;
        text.match_indices(scheme).map(|(at, _)| at).find(begins)
    });
    let url = &text[at.min()?..];
    let url = url.split(|letter: char| letter.is_whitespace() || letter == '<').next()?;
    let url: Url = url.parse().ok()?;
    Some(format!("{}://{}/", url.scheme(), url.authority()))
}

/// A replay of the recording at `path`, before the server that it was made at unless a flag names one.
fn replayed(path: &Path, recorded_at: Option<String>, flags: &Overlay) -> Table {
    let mut replay = Table::new();
    replay.insert("file".into(), path.display().to_string().into());
    let mut table = Table::new();
    let session = Table::from_iter([("replay".to_owned(), Value::Table(replay))]);
    table.insert("session".into(), Value::Table(session));
    let elsewhere = flags.has("server.command") || flags.has("target");
    if let Some(target) = recorded_at.filter(|_| !elsewhere) {
        table.insert("target".into(), target.into());
    }
    table
}

fn listed(path: &Path) -> Table {
    let file = Table::from_iter([("file".to_owned(), Value::from(path.display().to_string()))]);
    Table::from_iter([("requests".to_owned(), Value::Table(file))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_what_is_in_them() {
        let of = |name: &str, text: &str| kind_of(Path::new(name), text.as_bytes());
        let line = "::1 - - [29/Mar/2026:00:30:00 +0000] \"GET /p HTTP/1.1\" 200 1\n";
        assert_eq!(of("s.har", "x"), InputKind::Archive);
        assert_eq!(of("session.json", "\u{feff}\n{\"log\": {\"entries\": []}}"), InputKind::Archive);
        assert_eq!(of("access.log", line), InputKind::Log);
        assert_eq!(of("u_ex.log", "#Software: x\n#Fields: date"), InputKind::Log);
        for text in ["/a\n\n/b?c\n", "# one\nGET https://a/\n", "http://a/\n", "<?xml?>\n<urlset>"] {
            assert_eq!(of("urls.txt", text), InputKind::List, "{text}");
        }
        let of_list = |text: &str| origin(text.as_bytes());
        assert_eq!(
            of_list("# see xhttp://b/\nPOST https://A.test:8443/x\n").as_deref(),
            Some("https://a.test:8443/")
        );
        assert_eq!(of_list("<urlset><url><loc>http://b/c</loc>").as_deref(), Some("http://b/"));
        assert_eq!(of_list("/a\n/b?u=http://c/\n"), None);
        // An empty list would be a run of the built-in server.
        for text in ["", "\n", "# nothing was found\n\n"] {
            assert!(
                matches!(of("urls.txt", text), InputKind::Foreign(why) if why.contains("nothing in it")),
                "{text:?}"
            );
            assert_eq!(of("defaults.toml", text), InputKind::Scenario, "{text:?}");
        }
        for (name, text, kind) in [
            ("plan.jmx", "<?xml", DocumentKind::JMeter),
            ("a.yaml", "openapi: 3.0.3\n", DocumentKind::OpenApi),
            ("a", "curl http://a/", DocumentKind::Curl),
            ("a.json", "{\"info\": {}, \"item\": []}", DocumentKind::Postman),
        ] {
            assert_eq!(of(name, text), InputKind::Importable(kind), "{name}");
        }
        for (name, text) in
            [("k6.js", ""), ("a", "import http from 'k6/http'"), ("a.xml", "<?xml"), ("a.json", "{}")]
        {
            assert!(matches!(of(name, text), InputKind::Foreign(_)), "{name}");
        }
        for text in ["foo bar baz\n", "[29/Mar/2026:00:30:00] GET /?a=b\n", "1 GET /a?b=c 200\n"] {
            assert!(
                matches!(of("odd.log", text), InputKind::Foreign(why) if why.contains("layout")),
                "{text}"
            );
            assert_eq!(of("odd.toml", text), InputKind::Scenario, "{text}");
        }
        for text in ["[load]\n", "[[session.state]]\n", "# x\n\"target\" = 1\n", "load.model = 'open'"] {
            assert_eq!(of("s.txt", text), InputKind::Scenario, "{text}");
        }
        for text in
            ["", "# a comment\ntarget = 'http://a/'\n", "[load]\nmodel = 'open'\n", "target = 'http://a/'"]
        {
            assert_eq!(of("s.toml", text), InputKind::Scenario, "{text}");
        }
    }
}
