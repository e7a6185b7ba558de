//! The Common Log Format and the combined one:
//!
//! ```text
//! host ident user [01/Jul/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 6245 "referrer" "agent" 0.031
//! ```
//!
//! Servers wrote quotes inside the request as they came before they learned to escape them. So the request
//! ends at the first quote after which a status stands.

use crate::TransferUnit;
use crate::parser::{Broken, Parsed, Record, decimal, number, request_line};
use crate::timestamp;
use farfield_base::Duration;
use memchr::{memchr, memmem};

pub(crate) fn parse<'a>(line: &'a [u8], transfer: Option<TransferUnit>) -> Parsed<'a> {
    let client = memchr(b' ', line).map(|end| &line[..end]).filter(|client| !client.is_empty());
    let client = client.ok_or(Broken("no client at the start"))?;
    let open = memmem::find(line, b" [").ok_or(Broken("no time in brackets"))? + 2;
    if is_behind_a_host(&line[..open - 2]) {
        return Err(Broken("a virtual host stands before the client: its layout is `vhost`"));
    }
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
    let transfer = transfer.and_then(|unit| transfer_time(rest, unit));
    let [referrer, agent] = quoted.map(|text| if text == b"-" { &b""[..] } else { text });
    Ok(Some(Record { at, client, agent, method, path, referrer, host: b"", status, bytes, transfer }))
}

/// True if the words before the time are a virtual host, the address of a client, and two words more, as
/// Debian's Apache writes them (`vhost_combined`). A user's name may have blanks in it.
fn is_behind_a_host(text: &[u8]) -> bool {
    let mut words = text.split(|byte| *byte == b' ').skip(1);
    let client = words.next().and_then(|word| std::str::from_utf8(word).ok());
    client.is_some_and(|word| word.parse::<std::net::IpAddr>().is_ok()) && words.count() >= 2
}

/// The transfer time in what follows the usual fields: the first number with a fraction, where there is one,
/// since servers write lengths beside it; else the last number. It may have its unit behind it.
fn transfer_time(rest: &[u8], unit: TransferUnit) -> Option<Duration> {
    let number = |word: &[u8]| {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let is_time = matches!(&word[digits..], b"" | b"s" | b"ms" | b"us");
        if is_time { decimal(&word[..digits]).map(|count| (count, word.contains(&b'.'))) } else { None }
    };
    let numbers = || rest.split(|byte| *byte == b' ').filter_map(number);
    let (count, _) = numbers().find(|(_, has_fraction)| *has_fraction).or_else(|| numbers().next_back())?;
    unit.duration(count)
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
