//! The Common Log Format and the combined one:
//!
//! ```text
//! host ident user [01/Jul/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 6245 "referrer" "agent" 0.031
//! ```
//!
//! Servers wrote quotes inside the request as they came before they learned to escape them. So the request
//! ends at the first quote after which a status stands.

use crate::TransferUnit;
use crate::parser::{Broken, Parsed, Record, number, request_line};
use crate::timestamp;
use memchr::{memchr, memmem};

pub(crate) fn parse<'a>(line: &'a [u8], transfer: Option<TransferUnit>) -> Parsed<'a> {
    let client = memchr(b' ', line).map(|end| &line[..end]).filter(|client| !client.is_empty());
    let client = client.ok_or(Broken("no client at the start"))?;
    let open = memmem::find(line, b" [").ok_or(Broken("no time in brackets"))? + 2;
    let close = memchr(b']', &line[open..]).ok_or(Broken("no time in brackets"))? + open;
    let at = timestamp::common(&line[open..close]).ok_or(Broken("the time is none"))?;
    let rest = line[close + 1..].strip_prefix(b" \"").ok_or(Broken("no request in quotes"))?;
    let (request, rest) = request(rest).ok_or(Broken("no status after the request"))?;
    let (method, path) = request_line(request);
    let status = number(&rest[..3]).unwrap_or(0) as u16;
    let rest = rest[3..].strip_prefix(b" ").ok_or(Broken("no bytes after the status"))?;
    let (size, mut rest) = rest.split_at(memchr(b' ', rest).unwrap_or(rest.len()));
    let bytes = match size {
        b"-" => None,
        digits => Some(number(digits).ok_or(Broken("the bytes are no number"))?),
    };
    let mut quoted = [&b""[..]; 2];
    for text in &mut quoted {
        match rest.strip_prefix(b" \"") {
            Some(after) => (*text, rest) = until_quote(after).ok_or(Broken("a quote is not closed"))?,
            None => break,
        }
    }
    let transfer = transfer.and_then(|unit| {
        let last = rest.rsplit(|byte| *byte == b' ').next()?;
        unit.duration(crate::parser::decimal(last)?)
    });
    let [referrer, agent] = quoted.map(|text| if text == b"-" { &b""[..] } else { text });
    Ok(Some(Record { at, client, agent, method, path, referrer, status, bytes, transfer }))
}

/// The request, and the rest from the status on.
fn request(text: &[u8]) -> Option<(&[u8], &[u8])> {
    memchr::memchr_iter(b'"', text).find_map(|quote| {
        let status = text.get(quote + 1..quote + 5)?;
        let good = status[0] == b' ' && status[1..].iter().all(u8::is_ascii_digit);
        good.then(|| (&text[..quote], &text[quote + 2..]))
    })
}

/// Up to the next quote that no backslash escapes, and what follows it.
fn until_quote(text: &[u8]) -> Option<(&[u8], &[u8])> {
    memchr::memchr_iter(b'"', text)
        .find(|quote| {
            let slashes = text[..*quote].iter().rev().take_while(|byte| **byte == b'\\').count();
            slashes % 2 == 0
        })
        .map(|quote| (&text[..quote], &text[quote + 1..]))
}
