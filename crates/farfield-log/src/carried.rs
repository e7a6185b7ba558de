//! Carriers of a log that write something of their own around each line: container runtimes, compose and
//! syslog.
//!
//! ```text
//! 2026-03-29T00:30:00.123456789Z stdout F LINE                          containerd and CRI-O, in Kubernetes
//! {"log":"LINE\n","stream":"stdout","time":"2026-03-29T00:30:00Z"}      Docker's json-file
//! web-1  | LINE                                                         docker compose logs
//! <190>Mar 29 00:30:00 host nginx[7]: LINE                              syslog (RFC 3164), journalctl
//! <190>1 2026-03-29T00:30:00Z host nginx 7 - - LINE                     syslog (RFC 5424)
//! ```
//!
//! The time of a request is that of its own line.

use crate::layout::BYTE_ORDER_MARK;
use crate::timestamp;
use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Takes lines out of what carried them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carrier {
    /// The latest line that had escapes in it.
    text: String,
}

/// A line of Docker's json-file.
#[derive(Deserialize)]
struct DockerLine<'a> {
    #[serde(borrow)]
    log: Cow<'a, str>,
    #[serde(rename = "stream")]
    _stream: IgnoredAny,
    #[serde(rename = "time")]
    _time: IgnoredAny,
}

impl Carrier {
    /// The line within `line`; `None` if nothing that is known is around it.
    pub(crate) fn inner<'a>(&'a mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        if line.starts_with(b"{\"log\":") {
            let DockerLine { log, .. } = serde_json::from_slice(line).ok()?;
            log.trim_end_matches(['\n', '\r']).clone_into(&mut self.text);
            return Some(self.text.as_bytes());
        }
        of_containerd(line).or_else(|| of_syslog(line)).or_else(|| of_compose(line))
    }
}

/// The first word, and what follows the blanks behind it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text)?;
    Some((&text[..end], text[end..].trim_ascii_start()))
}

/// A whole line (`F`), or a piece of one (`P`), which then is none that can be read.
fn of_containerd(line: &[u8]) -> Option<&[u8]> {
    let (time, rest) = word(line)?;
    timestamp::rfc3339(time)?;
    let rest = [&b"stdout "[..], b"stderr "].iter().find_map(|stream| rest.strip_prefix(*stream))?;
    [&b"F "[..], b"P "].iter().find_map(|tag| rest.strip_prefix(*tag))
}

fn of_compose(line: &[u8]) -> Option<&[u8]> {
    let (name, rest) = word(line)?;
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte));
    rest.strip_prefix(b"| ").filter(|_| is_name)
}

fn of_syslog(line: &[u8]) -> Option<&[u8]> {
    let behind = priority(line);
    if let Some(rest) = behind.and_then(|rest| rest.strip_prefix(b"1 ")) {
        return of_rfc5424(rest);
    }
    let rest = behind.unwrap_or(line);
    let rest = match word(rest) {
        Some((time, rest)) if timestamp::rfc3339(time).is_some() => rest,
        _ => behind_month_and_time(rest)?,
    };
    // A host may lack; what writes the line ends with a colon.
    let (first, behind) = word(rest)?;
    if first.ends_with(b":") {
        return Some(behind);
    }
    let (tag, behind) = word(behind)?;
    tag.ends_with(b":").then_some(behind)
}

/// Behind `<190>`.
fn priority(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"<")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b">").filter(|_| (1..=3).contains(&digits))
}

/// Behind `Mar 29 00:30:00 `.
fn behind_month_and_time(text: &[u8]) -> Option<&[u8]> {
    const MONTHS: [&[u8; 3]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let (month, rest) = word(text)?;
    let (day, rest) = word(rest)?;
    let (time, rest) = word(rest)?;
    let is_day = (1..=2).contains(&day.len()) && day.iter().all(u8::is_ascii_digit);
    let is_time = time.len() >= 8 && time[2] == b':' && time[5] == b':';
    (MONTHS.iter().any(|own| own.as_slice() == month) && is_day && is_time).then_some(rest)
}

/// Behind the version: time, host, program, process, kind and structured data.
fn of_rfc5424(text: &[u8]) -> Option<&[u8]> {
    let (time, mut rest) = word(text)?;
    timestamp::rfc3339(time)?;
    for _ in 0..4 {
        rest = word(rest)?.1;
    }
    match rest.strip_prefix(b"- ") {
        Some(message) => Some(message.strip_prefix(BYTE_ORDER_MARK).unwrap_or(message)),
        None => rest.starts_with(b"[").then(|| memmem::find(rest, b"] ").map(|end| &rest[end + 2..]))?,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"198.51.100.1 - - [29/Mar/2026:00:30:00 +0000] "GET / HTTP/1.1" 200 5 "-" "a \"b\"""#;

    #[test]
    fn what_carries_a_line_is_taken_off() {
        let escaped = LINE.replace('\\', "\\\\").replace('"', "\\\"");
        for carried in [
            format!("2026-03-29T00:30:00.123456789Z stdout F {LINE}"),
            format!("2026-03-29T02:30:00.123456789+02:00 stderr F {LINE}"),
            format!("{{\"log\":\"{escaped}\\n\",\"stream\":\"stdout\",\"time\":\"2026-03-29T00:30:00.1Z\"}}"),
            format!(
                "{{\"log\":\"{escaped}\\r\\n\",\"stream\":\"stdout\",\"attrs\":{{\"tag\":\"web\"}},\"time\":\"2026\"}}"
            ),
            format!("web-1  | {LINE}"),
            format!("shop_web_1 | {LINE}"),
            format!("<190>Mar 29 00:30:00 host nginx: {LINE}"),
            format!("<190>Mar  9 00:30:00 nginx: {LINE}"),
            format!("Mar 29 00:30:00 host nginx[77]: {LINE}"),
            format!("2026-03-29T00:30:00.123456+00:00 host nginx[77]: {LINE}"),
            format!("<190>1 2026-03-29T00:30:00Z host nginx 77 - - {LINE}"),
            format!("<190>1 2026-03-29T00:30:00Z host nginx 77 - - \u{feff}{LINE}"),
            format!("<190>1 2026-03-29T00:30:00Z host nginx - id [a@1 b=\"c d\"] {LINE}"),
        ] {
            let mut carrier = Carrier::default();
            let inner = carrier.inner(carried.as_bytes()).map(String::from_utf8_lossy);
            assert_eq!(inner.as_deref(), Some(LINE), "{carried}");
        }
    }

    /// Lines of layouts that look alike, and what is damaged.
    #[test]
    fn what_is_no_carrier_is_left_as_it_is() {
        for line in [
            LINE,
            "2026-03-29T00:30:00.1Z my-elb 198.51.100.1:5 10.0.0.1:80 0.1 0.2 0.3 200 200 0 5 \"GET / HTTP/1.1\" \"a\"",
            "2026-03-29T00:30:00.1Z stdlog F x",
            "{\"log\":{\"level\":\"info\"},\"stream\":\"a\",\"time\":\"b\"}",
            "{\"log\":\"x",
            "<>Mar 29 00:30:00 host nginx: x",
            "<1900>Mar 29 00:30:00 host nginx: x",
            "Mar 290 00:30:00 host nginx: x",
            "Mai 29 00:30:00 host nginx: x",
            "Mar 29 00:30 host nginx: x",
            "<190>1 2026-03-29T00:30:00Z host nginx",
            "web 1 | x",
            "",
            " ",
        ] {
            assert_eq!(Carrier::default().inner(line.as_bytes()), None, "{line}");
        }
    }
}
