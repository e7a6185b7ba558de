//! Lines of a layout that somebody wrote down: with Apache's directives (mod_log_config) or nginx's variables
//! (`log_format`).
//!
//! ```text
//! %v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"
//! $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer"
//! ```
//!
//! A field is the text between two fixed texts of the pattern. One between quotes may have quotes in it that
//! a backslash escapes. Blanks stand for any number of blanks. What a line has behind the pattern's end is
//! passed over, and so are fields that nothing is made of.

use crate::TransferUnit;
use crate::parser::{Broken, Parsed, Record, decimal, number, request_line};
use crate::timestamp;
use farfield_base::{Duration, Instant};
use memchr::{memchr, memrchr};
use serde::{Deserialize, Serialize};

/// A layout as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    pieces: Vec<PatternPiece>,
}

/// Why a text is no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is nothing for the time, the client or the target.
    #[error("the layout `{0}` has no {1}")]
    Lacks(String, &'static str),
    /// Two fields of which the end of the first cannot be seen.
    #[error(
        "in the layout `{0}` nothing lies between two fields, so that the end of the first cannot be seen"
    )]
    Beside(String),
    /// A directive is cut off.
    #[error("the layout `{0}` ends within a directive")]
    Cut(String),
}

#[derive(Debug, Clone, PartialEq)]
enum PatternPiece {
    Literal(Vec<u8>),
    Field(Field),
}

/// Meaning of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Field {
    Time,
    Client,
    /// With the port behind a colon.
    ClientAndPort,
    Agent,
    Method,
    Path,
    /// Query behind `?`, with or without it.
    Query,
    Request,
    Referrer,
    Status,
    Bytes,
    /// A transfer time, or a part of one: several add up.
    Transfer(TransferUnit),
    Host,
    Other,
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Pattern, PatternError> {
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some(letter) = rest.chars().next() {
            let (field, behind) = match letter {
                '%' => directive(&rest[1..]).ok_or_else(|| PatternError::Cut(text.clone()))?,
                '$' => variable(&rest[1..]),
                _ => (None, &rest[letter.len_utf8()..]),
            };
            let written = &rest[..rest.len() - behind.len()];
            match field {
                Some(field) => pieces.push(PatternPiece::Field(field)),
                None => {
                    let written = if written == "%%" { "%" } else { written };
                    match pieces.last_mut() {
                        Some(PatternPiece::Literal(literal)) => literal.extend_from_slice(written.as_bytes()),
                        _ => pieces.push(PatternPiece::Literal(written.as_bytes().to_vec())),
                    }
                }
            }
            rest = behind;
        }
        join(&mut pieces);
        if pieces.windows(2).any(|pair| matches!(pair, [PatternPiece::Field(_), PatternPiece::Field(_)])) {
            return Err(PatternError::Beside(text));
        }
        let has = |wanted: &[Field]| {
            pieces.iter().any(|piece| matches!(piece, PatternPiece::Field(field) if wanted.contains(field)))
        };
        for (what, fields) in [
            ("time (`%t`, `$time_local`)", &[Field::Time][..]),
            ("client (`%h`, `$remote_addr`)", &[Field::Client, Field::ClientAndPort][..]),
            ("target (`%r`, `$request`)", &[Field::Request, Field::Path][..]),
        ] {
            if !has(fields) {
                return Err(PatternError::Lacks(text, what));
            }
        }
        Ok(Pattern { text, pieces })
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.text
    }
}

/// The field of a directive of Apache's, behind its `%`, and the rest; no field for `%%`.
fn directive(text: &str) -> Option<(Option<Field>, &str)> {
    // Modifiers: `%>s`, and `%400,501{User-Agent}i`.
    let text = text.trim_start_matches(|letter: char| {
        matches!(letter, '<' | '>' | '!' | ',') || letter.is_ascii_digit()
    });
    let (argument, text) = match text.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => ("", text),
    };
    let letter = text.chars().next()?;
    // Two letters: `%^FB`, `%^ti`.
    let rest = if letter == '^' { text.get(3..)? } else { &text[letter.len_utf8()..] };
    let field = match letter {
        '%' => return Some((None, rest)),
        'h' | 'a' => Field::Client,
        't' => Field::Time,
        'r' => Field::Request,
        'm' => Field::Method,
        'U' => Field::Path,
        'q' => Field::Query,
        's' => Field::Status,
        'b' | 'B' | 'O' => Field::Bytes,
        'v' | 'V' => Field::Host,
        'D' => Field::Transfer(TransferUnit::Microseconds),
        'T' => Field::Transfer(match argument {
            "ms" => TransferUnit::Milliseconds,
            "us" => TransferUnit::Microseconds,
            _ => TransferUnit::Seconds,
        }),
        'i' if argument.eq_ignore_ascii_case("user-agent") => Field::Agent,
        'i' if argument.eq_ignore_ascii_case("referer") => Field::Referrer,
        'i' if argument.eq_ignore_ascii_case("host") => Field::Host,
        'i' if argument.eq_ignore_ascii_case("x-forwarded-for") => Field::Client,
        _ => Field::Other,
    };
    Some((Some(field), rest))
}

/// The field of a variable of nginx's, behind its `$`, and the rest.
fn variable(text: &str) -> (Option<Field>, &str) {
    let (name, rest) = match text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        Some(braced) => braced,
        None => {
            let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            text.split_at(end.unwrap_or(text.len()))
        }
    };
    let field = match name {
        "" => return (None, rest),
        "time_local" | "time_iso8601" | "msec" => Field::Time,
        "remote_addr" | "http_x_forwarded_for" | "realip_remote_addr" => Field::Client,
        "http_user_agent" => Field::Agent,
        "request_method" => Field::Method,
        "request_uri" | "uri" => Field::Path,
        "args" | "query_string" => Field::Query,
        "request" => Field::Request,
        "http_referer" => Field::Referrer,
        "status" => Field::Status,
        "body_bytes_sent" | "bytes_sent" => Field::Bytes,
        "request_time" => Field::Transfer(TransferUnit::Seconds),
        // Not nginx's: what the layouts of others have.
        "request_time_ms" => Field::Transfer(TransferUnit::Milliseconds),
        "request_time_us" => Field::Transfer(TransferUnit::Microseconds),
        "request_time_ns" => Field::Transfer(TransferUnit::Nanoseconds),
        "host" | "http_host" | "server_name" => Field::Host,
        _ => Field::Other,
    };
    (Some(field), rest)
}

/// A client and its port are one field: addresses have colons themselves. A path and its query are one, too.
fn join(pieces: &mut Vec<PatternPiece>) {
    let mut at = 0;
    while at < pieces.len() {
        let (joined, length) = match &pieces[at..] {
            [
                PatternPiece::Field(Field::Client),
                PatternPiece::Literal(colon),
                PatternPiece::Field(Field::Other),
                ..,
            ] if colon == b":" => (Field::ClientAndPort, 3),
            [
                PatternPiece::Field(Field::Path),
                PatternPiece::Literal(mark),
                PatternPiece::Field(Field::Query),
                ..,
            ] if mark == b"?" => (Field::Path, 3),
            [PatternPiece::Field(Field::Path), PatternPiece::Field(Field::Query), ..] => (Field::Path, 2),
            _ => {
                at += 1;
                continue;
            }
        };
        pieces.splice(at..at + length, [PatternPiece::Field(joined)]);
    }
}

impl Pattern {
    pub(crate) fn parse<'a>(&self, line: &'a [u8]) -> Parsed<'a> {
        let mut found = LineFields::default();
        let mut rest = line;
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                PatternPiece::Literal(literal) => {
                    rest = after(rest, literal).ok_or(Broken("not of this layout"))?
                }
                PatternPiece::Field(field) => {
                    let length = self.length(at, rest).ok_or(Broken("not of this layout"))?;
                    found.take(*field, &rest[..length])?;
                    rest = &rest[length..];
                }
            }
        }
        found.record()
    }

    /// The length of the field that is piece `at`, at the beginning of `rest`.
    fn length(&self, at: usize, rest: &[u8]) -> Option<usize> {
        // Apache's `%t` writes its brackets itself.
        if self.pieces[at] == PatternPiece::Field(Field::Time) && rest.starts_with(b"[") {
            return memchr(b']', rest).map(|close| close + 1);
        }
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let Some(PatternPiece::Literal(literal)) = self.pieces.get(at + 1) else {
            // The last one.
            return Some(rest.iter().position(is_blank).unwrap_or(rest.len()));
        };
        let is_status = matches!(self.pieces.get(at + 2), Some(PatternPiece::Field(Field::Status)));
        // Blanks of a run are all ahead of the same text: only the first is tried, or blank lines take long.
        let is_tried = |end: &usize| !literal.starts_with(b" ") || *end == 0 || !is_blank(&rest[*end - 1]);
        (0..rest.len()).filter(is_tried).find(|&end| {
            let Some(behind) = after(&rest[end..], literal) else { return false };
            let slashes = rest[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
            let is_escaped = literal.starts_with(b"\"") && slashes % 2 == 1;
            // Servers wrote quotes inside the request as they came before they learned to escape them.
            let is_right =
                !is_status || behind.first().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'-'));
            !is_escaped && is_right
        })
    }
}

/// Text after `literal` at the beginning of `text`; each blank of it is one or more.
fn after<'a>(text: &'a [u8], literal: &[u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    for byte in literal {
        if *byte == b' ' {
            let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            rest = if blanks > 0 { &rest[blanks..] } else { return None };
        } else {
            rest = rest.strip_prefix(&[*byte])?;
        }
    }
    Some(rest)
}

/// The fields of a line.
#[derive(Debug, Default)]
struct LineFields<'a> {
    at: Option<Instant>,
    client: &'a [u8],
    agent: &'a [u8],
    method: &'a [u8],
    path: &'a [u8],
    referrer: &'a [u8],
    host: &'a [u8],
    status: u16,
    bytes: Option<u64>,
    transfer: Option<Duration>,
}

impl<'a> LineFields<'a> {
    fn take(&mut self, field: Field, text: &'a [u8]) -> Result<(), Broken> {
        let text = if text == b"-" { &b""[..] } else { text };
        match field {
            Field::Time => {
                let inner = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"));
                self.at = Some(time(inner.unwrap_or(text)).ok_or(Broken("the time is none"))?);
            }
            // The first of several, as proxies list them.
            Field::Client => {
                let first = text.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
                if self.client.is_empty() {
                    self.client = first;
                }
            }
            Field::ClientAndPort => {
                let colon = memrchr(b':', text).unwrap_or(text.len());
                self.client = &text[..colon];
            }
            Field::Agent => self.agent = text,
            Field::Method => self.method = text,
            // nginx writes `$uri?$args` with nothing, or a hyphen, behind the mark.
            Field::Path => self.path = text.strip_suffix(b"?-").or(text.strip_suffix(b"?")).unwrap_or(text),
            Field::Request => (self.method, self.path) = request_line(text),
            Field::Referrer => self.referrer = text,
            Field::Host => self.host = text,
            Field::Status if text.is_empty() => {}
            Field::Status => {
                let status = number(text).filter(|status| *status < 1000);
                self.status = status.ok_or(Broken("the status is no number"))? as u16;
            }
            Field::Bytes if text.is_empty() => {}
            Field::Bytes => self.bytes = Some(number(text).ok_or(Broken("the bytes are no number"))?),
            Field::Transfer(unit) => {
                if let Some(part) = decimal(text).and_then(|count| unit.duration(count)) {
                    self.transfer = Some(self.transfer.unwrap_or_default() + part);
                }
            }
            Field::Query | Field::Other => {}
        }
        Ok(())
    }

    fn record(self) -> Parsed<'a> {
        let LineFields { client, agent, method, referrer, status, bytes, transfer, .. } = self;
        let at = self.at.ok_or(Broken("no time"))?;
        let (of_target, path) = origin_form(self.path);
        let host = if self.host.is_empty() { of_target } else { self.host };
        if client.is_empty() || path.is_empty() {
            return Err(Broken("no client or no target"));
        }
        Ok(Some(Record { at, client, agent, method, path, referrer, host, status, bytes, transfer }))
    }
}

/// The host of a target in absolute form, as balancers and proxies write it, and its path and query.
pub(crate) fn origin_form(target: &[u8]) -> (&[u8], &[u8]) {
    let behind = [&b"http://"[..], b"https://"].iter().find_map(|scheme| target.strip_prefix(*scheme));
    let Some(behind) = behind else { return (b"", target) };
    let end = behind.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(behind.len());
    let path = if end == behind.len() { &b"/"[..] } else { &behind[end..] };
    (&behind[..end], path)
}

/// A time as servers write it: as the Common Log Format has it, RFC 3339, or seconds since 1970.
fn time(text: &[u8]) -> Option<Instant> {
    let seconds = || {
        let seconds = decimal(text)?;
        (seconds < 1.7e10).then(|| {
            Instant::from_ns((seconds as u64) * 1_000_000_000 + (seconds.fract() * 1e9).round() as u64)
        })
    };
    timestamp::common(text)
        .or_else(|| timestamp::rfc3339(text))
        .or_else(|| timestamp::common_without_zone(text))
        .or_else(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.to_owned().try_into().unwrap_or_else(|error| panic!("{error}"))
    }

    fn read<'a>(pattern: &Pattern, line: &'a str) -> Record<'a> {
        pattern.parse(line.as_bytes()).unwrap_or_else(|why| panic!("{line}: {}", why.0)).expect("a request")
    }

    #[test]
    fn directives_of_apache_and_variables_of_nginx_say_the_same() {
        let line = "a.example:443 ::1 - - [29/Mar/2026:00:30:00 +0000] \"GET /a?b \\\"c\\\" HTTP/1.1\" 404 - \"-\" \"Own \\\"x\\\" agent\" 0.25 more";
        let apache = pattern("%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-agent}i\" %T");
        let nginx = pattern(
            "$host:$server_port $remote_addr - $remote_user [$time_local] \"$request\" $status $bytes_sent \
             \"$http_referer\" \"${http_user_agent}\" $request_time",
        );
        for pattern in [apache, nginx] {
            let record = read(&pattern, line);
            assert_eq!(record.at, Instant::from_ns(1_774_744_200_000_000_000));
            assert_eq!(
                (record.client, record.host, record.method),
                (&b"::1"[..], &b"a.example"[..], &b"GET"[..])
            );
            assert_eq!(record.path, b"/a?b \\\"c\\\"");
            assert_eq!((record.status, record.bytes, record.referrer), (404, None, &b""[..]));
            assert_eq!(record.agent, b"Own \\\"x\\\" agent");
            assert_eq!(record.transfer, Some(Duration::from_ms(250)));
        }
    }

    #[test]
    fn times_stand_in_brackets_where_apache_puts_them() {
        for text in ["%t %h \"%r\" %s", "%h %t \"%r\" %s", "%h \"%r\" %s %t", "%h %{%s}t \"%r\" %s"] {
            let line = text
                .replace("%{%s}t", "1774744200")
                .replace("%t", "[29/Mar/2026:00:30:00 +0000]")
                .replace("%h", "10.0.0.1")
                .replace("%r", "GET / HTTP/1.1")
                .replace("%s", "200");
            assert_eq!(read(&pattern(text), &line).path, b"/", "{text}: {line}");
        }
    }

    #[test]
    fn parts_of_a_time_add_up_and_absent_ones_do_not() {
        let pattern = pattern(
            "$msec $request_time $request_time_ms $request_time_us $remote_addr:$remote_port $request_method $request_uri",
        );
        let record =
            read(&pattern, "1774744200.5    1.5 20 -1 [2001:db8::1]:40000 PUT https://a.example:8443?x");
        assert_eq!(record.at, Instant::from_ns(1_774_744_200_500_000_000));
        assert_eq!(record.transfer, Some(Duration::from_ms(1_520)));
        assert_eq!((record.client, record.method), (&b"[2001:db8::1]"[..], &b"PUT"[..]));
        assert_eq!((record.host, record.path), (&b"a.example:8443"[..], &b"?x"[..]));
    }

    #[test]
    fn a_path_and_its_query_are_one() {
        let of = |text: &str, line: &str| {
            String::from_utf8(read(&pattern(text), line).path.to_vec()).expect("text")
        };
        assert_eq!(
            of("%t %h %m %U%q %H %s", "[29/Mar/2026:00:30:00 +0000] h GET /a?b=1 HTTP/1.1 200"),
            "/a?b=1"
        );
        for (args, path) in [("b=1", "/a?b=1"), ("-", "/a"), ("", "/a")] {
            assert_eq!(
                of("$msec $remote_addr $uri?$args $status", &format!("1774744200 h /a?{args} 200")),
                path
            );
        }
    }

    #[test]
    fn what_is_no_layout_is_refused() {
        let error = |text: &str| Pattern::try_from(text.to_owned()).expect_err(text).to_string();
        assert!(error("%h \"%r\"").ends_with("has no time (`%t`, `$time_local`)"));
        assert!(error("%t \"%r\"").contains("has no client"));
        assert!(error("%t %h").contains("has no target"));
        assert!(error("%t %h%r").contains("nothing lies between two fields"));
        assert!(error("%h %t %r %").contains("ends within a directive"));
        assert!(error("%h %t %r %{User-Agent").contains("ends within a directive"));
        let broken = |line: &str| pattern("%h %t \"%r\" %s").parse(line.as_bytes()).is_err();
        for line in [
            "",
            "a",
            "a [x] \"GET /\" 200",
            "a [29/Mar/2026:00:30:00 +0000] \"GET /\" x",
            "- [29/Mar/2026:00:30:00 +0000] \"GET /\" 200",
        ] {
            assert!(broken(line), "{line}");
        }
    }
}
