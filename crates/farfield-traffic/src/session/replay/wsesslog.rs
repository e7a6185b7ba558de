//! httperf's session description files (`--wsesslog`): a line for each request, an empty line between
//! sessions. A line that begins with blanks is requested together with those before it, once the reply to the
//! first is there; `think=SECONDS` is the think time after all of these. `method=M` and
//! `contents='…'` set the request.

use super::reading::ReplayAccount;
use super::{RecordedPage, RecordedSession, sendable};
use crate::file::FileError;
use crate::request::{Request, method};
use bytes::Bytes;
use farfield_base::Duration;
use http::Method;
use std::path::Path;

pub(super) fn read(path: &Path, text: &[u8]) -> Result<(Vec<RecordedSession>, ReplayAccount), FileError> {
    let mut reading = ReplayAccount::default();
    let mut sessions: Vec<RecordedSession> = vec![(None, Vec::new())];
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let wrong = |problem: String| FileError::Line { path: path.to_owned(), line: number + 1, problem };
        let line = std::str::from_utf8(line).map_err(|_| wrong("is not UTF-8 text".to_owned()))?.trim_end();
        if line.starts_with('#') {
            continue;
        }
        let pages = match sessions.last_mut() {
            Some((_, pages)) if line.is_empty() && !pages.is_empty() => {
                sessions.push((None, Vec::new()));
                continue;
            }
            Some((_, pages)) => pages,
            None => unreachable!("there is a session from the start"),
        };
        if line.is_empty() {
            continue;
        }
        let (request, think) = entry(line.trim_start()).map_err(wrong)?;
        reading.taken += 1;
        match (line.starts_with([' ', '\t']), pages.last_mut()) {
            (true, Some(page)) => {
                page.requests.push(request);
                page.think = page.think.max(think);
            }
            (true, None) => return Err(wrong("is indented, but no request comes before it".to_owned())),
            (false, _) => pages.push(RecordedPage { requests: vec![request], at: Duration::ZERO, think }),
        }
    }
    Ok((sessions, reading))
}

/// A request and the think time behind it.
fn entry(line: &str) -> Result<(Request, Duration), String> {
    let (path, mut rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !sendable(path) {
        return Err(format!("`{path}` is not a path that can be asked for"));
    }
    let (mut verb, mut body, mut think) = (Method::GET, Bytes::new(), Duration::ZERO);
    while !rest.trim_start().is_empty() {
        let (key, after) =
            rest.trim_start().split_once('=').ok_or_else(|| format!("`{rest}` is no option"))?;
        let (value, left) = value(after)?;
        rest = left;
        match key {
            "method" => verb = method(&value).map_err(|error| error.to_string())?,
            "think" => {
                let seconds: f64 =
                    value.parse().map_err(|_| format!("`think={value}` is no time in seconds"))?;
                let fits = (0.0..1e9).contains(&seconds);
                think = Duration::from_ns((seconds * 1e9) as u64);
                if !fits {
                    return Err(format!("`think={value}` is no time in seconds"));
                }
            }
            "contents" => body = Bytes::from(value.into_bytes()),
            // Size that httperf expects to receive; nothing that is sent.
            "size" => {}
            _ => {
                return Err(format!(
                    "there is no option `{key}`; there are `method`, `think`, `contents` and `size`"
                ));
            }
        }
    }
    Ok((Request { method: verb, path: path.to_owned(), headers: Vec::new(), body }, think))
}

/// A word, or what stands in quotes, where a backslash takes the next character as it is; and what follows.
fn value(text: &str) -> Result<(String, &str), String> {
    let Some(quote @ ('\'' | '"')) = text.chars().next() else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = text[1..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, next)| next)),
            c if c == quote => return Ok((value, &text[1 + at + 1..])),
            c => value.push(c),
        }
    }
    Err(format!("the quote in `{text}` is not closed"))
}
