//! The log of the GN and WN servers, as the Internet Traffic Archive publishes it:
//!
//! ```text
//! 1+1: Tue Aug 22 00:00:00 1995 (/a/cube.gif): Sent binary: GET /a/cube.gif HTTP/1.0
//! ```
//!
//! `1+1` stands for a client. The action follows the target; there is no status and no size. A refusal is
//! written as two lines, of which the second is a note.

use crate::parser::{Broken, Parsed, Record, request_line};
use crate::timestamp;
use memchr::{memchr, memmem};

pub(crate) fn parse(line: &[u8]) -> Parsed<'_> {
    let colon = memmem::find(line, b": ").ok_or(Broken("no client with a colon at the start"))?;
    let (client, rest) = (&line[..colon], &line[colon + 2..]);
    let date = rest.get(..24).and_then(timestamp::unix).ok_or(Broken("the time is none"))?;
    let rest = rest[24..].strip_prefix(b" (").ok_or(Broken("no target in brackets"))?;
    let close = memmem::find(rest, b"): ").ok_or(Broken("no target in brackets"))?;
    let (target, rest) = (&rest[..close], &rest[close + 3..]);
    let colon = memchr(b':', rest).ok_or(Broken("nothing is said to have been done"))?;
    let (done, request) = (&rest[..colon], rest[colon + 1..].trim_ascii());
    let Some(status) = status(done, request) else { return Ok(None) };
    let (method, asked) = match status {
        200 => request_line(request),
        _ => (&b""[..], request),
    };
    let path = if target.is_empty() { asked } else { target };
    if client.is_empty() {
        return Err(Broken("no client with a colon at the start"));
    }
    Ok(Some(Record {
        at: date,
        client,
        agent: b"",
        method,
        path,
        referrer: b"",
        host: b"",
        status,
        bytes: None,
        transfer: None,
    }))
}

/// Status code of the logged words; `None` for a note.
fn status(done: &[u8], request: &[u8]) -> Option<u16> {
    if done.starts_with(b"Sent CGI redirection") {
        return Some(302);
    }
    if done.starts_with(b"Sent") {
        return Some(200);
    }
    if done.starts_with(b"HTTP error") {
        let code = request.strip_prefix(b"HTTP/1.0 ").and_then(|text| text.get(..3));
        return Some(code.and_then(crate::parser::number).unwrap_or(400) as u16);
    }
    done.starts_with(b"No match").then_some(404)
}
