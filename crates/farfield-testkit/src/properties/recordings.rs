//! Recordings and lists: sessions of pages in order of time, requests in the order of their lines, or a
//! message about the file; and nothing between what was read and what is sent.

use farfield_base::random::Seed;
use farfield_log::{LogFormat, decompressed};
use farfield_traffic::request::RequestSetSpec;
use farfield_traffic::session::replay::ReplaySpec;
use std::io::Read;
use std::path::Path;

/// Any bytes as httperf's session file.
pub fn of_wsesslog(input: &[u8]) {
    of_recording(input, "format = 'wsesslog'\ntiming = 'gaps'", lines_of_wsesslog);
}

/// Any bytes as a browser's archive.
pub fn of_har(input: &[u8]) {
    of_recording(input, "format = 'har'", entries_of_har);
}

/// Any bytes as an access log whose requests are asked for again.
pub fn of_log_again(input: &[u8]) {
    of_recording(input, "format = 'log'", lines_of_log);
    of_recording(input, "format = 'log'\ntiming = 'gaps'", lines_of_log);
}

/// Any bytes as a list of requests: paths, URLs, vegeta's targets, a sitemap.
pub fn of_list(input: &[u8]) {
    let spec = RequestSetSpec::new(Vec::new(), Some("it".into()), None).expect("a file is enough");
    for target in [None, Some("a.test"), Some("127.0.0.1:8080")] {
        let mut load =
            |path: &Path| Ok(if path == Path::new("it") { input.to_vec() } else { b"body".to_vec() });
        match spec.resolve_for(&mut load, Seed(1), target, &[]) {
            Err(error) => assert!(error.to_string().starts_with("it:"), "{error}"),
            Ok(set) => {
                let text = String::from_utf8(input.to_vec()).expect("others are refused");
                let fields: usize = set.requests().iter().map(|request| request.headers.len()).sum();
                assert_eq!(set.requests().len() + fields, entries(&text), "read again by another hand");
                assert_eq!(set.pages().len(), set.requests().len(), "each is asked for by itself");
                for request in set.requests() {
                    let path = &request.path;
                    assert!(path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{path}");
                    assert!(path.starts_with('/') || path == "*", "{path}");
                    // A list may name itself.
                    let is_file = |body: &[u8]| body == b"body" || body == input;
                    assert!(request.body.is_empty() || is_file(&request.body));
                }
            }
        }
    }
}

/// Entries of a list, whatever is made of them: locations of a sitemap, or lines that are neither empty nor a
/// comment nor name a file with a body.
fn entries(text: &str) -> usize {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('<') {
        return text.matches("<loc>").count();
    }
    let bare = |line: &str| {
        let mut kept = String::new();
        for letter in line.chars() {
            if letter == '#' && kept.chars().next_back().is_none_or(char::is_whitespace) {
                break;
            }
            kept.push(letter);
        }
        kept.trim().to_owned()
    };
    text.lines().map(bare).filter(|line| !line.is_empty() && !line.starts_with('@')).count()
}

/// Contents of a file, counted by another hand: the number of entries, and the targets of those that are
/// plain enough for another hand to know how they are sent.
struct ArchiveContents {
    entries: u64,
    /// Targets, if all are plain.
    targets: Option<Vec<String>>,
}

/// A recording is sessions of pages that are there, in order of time, of which nothing is lost or added
/// between the file and the server; or a sentence about the file.
fn of_recording(input: &[u8], how: &str, found: fn(&[u8]) -> Option<ArchiveContents>) {
    let spec: ReplaySpec = toml::from_str(&format!("file = 'it'\nspeed = 0.5\n{how}")).expect("a spec");
    let replay = match spec.resolve(&mut |_| Ok(input.to_vec()), None, &[]) {
        Err(error) => return assert!(error.to_string().starts_with("it:"), "{error}"),
        Ok(replay) => replay,
    };
    assert!(!replay.sessions.is_empty());
    let requests = replay.requests.requests();
    let mut sent = Vec::new();
    for session in &replay.sessions {
        assert!(!session.pages.is_empty() && session.pages.is_sorted_by_key(|page| page.at));
        for page in &session.pages {
            let page = &replay.requests.pages()[page.page as usize];
            let of_page = [page.main].into_iter().chain(page.embedded.iter().copied());
            sent.extend(of_page.map(|id| requests[id.0 as usize].path.clone()));
        }
    }
    for path in &sent {
        assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()), "{path}");
    }
    let reading = &replay.reading;
    assert_eq!(sent.len() as u64, reading.taken, "what is sent is what was read");
    assert!(reading.left_out.iter().all(|own| own.count > 0 && !own.first.is_empty()));
    assert!(reading.differing.iter().all(|own| own.count <= reading.taken));
    let Some(found) = found(input) else { return };
    let left_out: u64 = reading.left_out.iter().map(|own| own.count).sum();
    assert_eq!(reading.taken + left_out, found.entries, "what was read and what was left out are all");
    if let Some(mut targets) = found.targets {
        for path in &sent {
            let place = targets.iter().position(|target| target == path);
            targets.swap_remove(place.unwrap_or_else(|| panic!("{path} is sent, and is not in the file")));
        }
    }
}

/// The lines of a session file but for comments: a request each.
fn lines_of_wsesslog(input: &[u8]) -> Option<ArchiveContents> {
    let text = std::str::from_utf8(input).ok()?;
    let lines = text.split('\n').map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let targets: Vec<String> =
        lines.map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect();
    Some(ArchiveContents { entries: targets.len() as u64, targets: Some(targets) })
}

/// The entries of an archive, as any reader of JSON has them.
fn entries_of_har(input: &[u8]) -> Option<ArchiveContents> {
    let text = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    // Parts that no reader of an archive looks at may be nested deeper than others read.
    let archive: serde_json::Value = serde_json::from_slice(text).ok()?;
    let entries = archive["log"]["entries"].as_array()?;
    let target = |entry: &serde_json::Value| {
        let request = &entry["request"];
        let has_query = request["queryString"].as_array().is_some_and(|query| !query.is_empty());
        let (_, rest) = request["url"].as_str()?.split_once("://")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._~!$&()*+,;=:@?-".contains(&byte);
        let target = rest.find('/').map(|at| &rest[at..])?;
        // Without a host, the first part of the path is taken for one (WHATWG URL: special authority).
        let has_host = !rest.starts_with('/');
        let known = !has_query && has_host && rest.bytes().all(plain) && !target.contains("/.");
        known.then(|| target.to_owned())
    };
    Some(ArchiveContents { entries: entries.len() as u64, targets: entries.iter().map(target).collect() })
}

/// The lines of a log but for empty ones and comments.
fn lines_of_log(input: &[u8]) -> Option<ArchiveContents> {
    let mut text = Vec::new();
    decompressed(input).ok()?.read_to_end(&mut text).ok()?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    // Notes of GN's server and directives of extended logs begin with `#` or have forms of their own.
    if text.contains(&b'#') || LogFormat::detect(text) == Some(LogFormat::Gn) {
        return None;
    }
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && *line != b"\r");
    Some(ArchiveContents { entries: lines.count() as u64, targets: None })
}
