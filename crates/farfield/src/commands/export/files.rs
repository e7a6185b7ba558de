//! Drawn sessions as files: httperf's session log, gaps between sessions, and a table.

use super::drawn::{DrawnPage, DrawnRequest, DrawnSession};
use farfield_base::Instant;
use std::fmt::Write;

/// Methods that httperf 0.9 has.
const METHODS: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE"];

/// A request that httperf's session log cannot say.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    #[error("httperf has no method {0}")]
    Method(String),
    #[error(
        "the body of {0} cannot be written for httperf, which takes printable ASCII without backslashes and quotation marks"
    )]
    Body(String),
}

/// The input of httperf's `--wsesslog` (httperf 0.9, its manual page): a line for each request, what a page
/// embeds behind it and indented, think times in seconds, an empty line behind each session.
pub fn session_log(title: &str, sessions: &[DrawnSession]) -> Result<String, Unwritable> {
    let mut text = format!("# {title}\n");
    for session in sessions {
        let _ = writeln!(text, "\n# user {}, from {} s", session.user, seconds(session.begins));
        for DrawnPage { think, requests, .. } in &session.pages {
            for (number, request) in requests.iter().enumerate() {
                let indent = if number > 0 { " " } else { "" };
                let _ = write!(text, "{indent}{}", request.in_log()?);
                if let (0, Some(think)) = (number, think) {
                    let _ = write!(text, " think={:.6}", think.as_secs_f64());
                }
                text.push('\n');
            }
        }
    }
    Ok(text)
}

impl DrawnRequest {
    fn in_log(&self) -> Result<String, Unwritable> {
        let DrawnRequest { method, target, body } = self;
        if !METHODS.contains(&method.as_str()) {
            return Err(Unwritable::Method(method.clone()));
        }
        let mut text = target.clone();
        if method != "GET" {
            let _ = write!(text, " method={method}");
        }
        if !body.is_empty() {
            let plain = |byte: &u8| (b' '..=b'~').contains(byte) && !b"\\'\"".contains(byte);
            if !body.iter().all(plain) {
                return Err(Unwritable::Body(format!("{method} {target}")));
            }
            let _ = write!(text, " contents='{}'", String::from_utf8_lossy(body));
        }
        Ok(text)
    }
}

/// Gaps in seconds, one a line: from the start of the load to the first session, and from each session to the
/// next.
pub fn gaps(sessions: &[DrawnSession]) -> String {
    let mut text = String::new();
    let mut before = Instant::ZERO;
    for session in sessions {
        let _ = writeln!(text, "{:.9}", session.begins.since(before).as_secs_f64());
        before = session.begins;
    }
    text
}

/// A line for each request: its session, by the visitor's number; when that begins; its page in the session
/// and its number in the page, from 0; the think time behind the page, on the line of the page's last request
/// and but for the session's last page; the request; and the length of its body.
pub fn table(sessions: &[DrawnSession]) -> String {
    let mut text = String::from("session,begins_s,page,object,think_s,method,target,body_bytes\n");
    for DrawnSession { user, begins, pages } in sessions {
        for (page, DrawnPage { think, requests, .. }) in pages.iter().enumerate() {
            for (object, DrawnRequest { method, target, body }) in requests.iter().enumerate() {
                let think = think.filter(|_| object + 1 == requests.len());
                let think = think.map(|think| format!("{:.9}", think.as_secs_f64())).unwrap_or_default();
                let (target, length) = (quoted(target), body.len());
                let begins = seconds(*begins);
                let _ = writeln!(text, "{user},{begins},{page},{object},{think},{method},{target},{length}");
            }
        }
    }
    text
}

fn seconds(at: Instant) -> String {
    format!("{:.9}", at.as_secs_f64())
}

/// A field of a table, RFC 4180 section 2.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, body: &str) -> DrawnRequest {
        DrawnRequest { method: method.into(), target: "/a,b".into(), body: body.into() }
    }

    #[test]
    fn what_httperf_cannot_read_is_refused() {
        assert_eq!(request("GET", "").in_log().as_deref(), Ok("/a,b"));
        assert_eq!(request("POST", "a=1&b=2").in_log().as_deref(), Ok("/a,b method=POST contents='a=1&b=2'"));
        assert_eq!(request("PATCH", "").in_log(), Err(Unwritable::Method("PATCH".into())));
        for body in ["it's", "a\\nb", "a\nb", "\u{e9}"] {
            assert_eq!(request("POST", body).in_log(), Err(Unwritable::Body("POST /a,b".into())), "{body}");
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("/a?b=c"), "/a?b=c");
        assert_eq!(quoted("/a,\"b"), "\"/a,\"\"b\"");
    }
}
