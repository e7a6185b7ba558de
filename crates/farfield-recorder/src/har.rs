//! HTTP Archives (HAR 1.2) of what was recorded, as browsers write them: content without its coding, in
//! pages as far as [they are known](crate::page), and an account of what is left out of it.
//!
//! Entries are written one by one, and each exchange is dropped once it is written.

use crate::content::{CodingFault, decoded, written};
use crate::exchange::{BodyCopy, RecordedExchange, RecordedReply};
use crate::ledger::{Recording, RecordingBounds};
use crate::page::{is_scripted, pages};
use farfield_base::Instant;
use http::header::{CONTENT_TYPE, COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use http::{Method, Version};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::SystemTime;

/// Account of an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchiveAccount {
    /// Entries, by the origin of their URLs.
    pub by_origin: BTreeMap<String, u64>,
    /// Parts that are left out of entries, each with how often, and with the method and path of the first,
    /// and why if that is known.
    pub left_out: BTreeMap<&'static str, (u64, String)>,
}

impl ArchiveAccount {
    /// Entries of the archive.
    pub fn entries(&self) -> u64 {
        self.by_origin.values().sum()
    }

    fn leave_out(&mut self, what: &'static str, exchange: &RecordedExchange) {
        let first = || {
            let path = path_of(&exchange.url).split('?').next().unwrap_or_default();
            let why = exchange.failure.as_ref().map_or(String::new(), |why| format!(": {why}"));
            format!("{} {path}{why}", exchange.method)
        };
        self.left_out.entry(what).or_insert_with(|| (0, first())).0 += 1;
    }
}

/// Scheme and authority of a URL of a recording, and its path with the query.
fn path_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    url[authority..].find('/').map_or("/", |at| &url[authority + at..])
}

/// Writes the archive of a recording.
///
/// # Errors
/// Those of `to`.
pub fn write_archive(recording: Recording, to: &mut dyn Write) -> io::Result<ArchiveAccount> {
    let pages = pages(&recording.exchanges);
    let mut account = ArchiveAccount::default();
    let creator = json!({ "name": "farfield record", "version": env!("CARGO_PKG_VERSION") });
    write!(to, "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"pages\":[")?;
    let Recording { exchanges, clock, bounds, .. } = recording;
    let begins = |number: &usize| pages[*number] == Some(*number);
    for (nth, number) in (0..exchanges.len()).filter(begins).enumerate() {
        let RecordedExchange { began, url, .. } = &exchanges[number];
        let page = json!({
            "startedDateTime": date(clock.date(*began)), "id": page_id(number), "title": url, "pageTimings": {},
        });
        write!(to, "{}{page}", if nth > 0 { ",\n" } else { "" })?;
    }
    write!(to, "],\"entries\":[")?;
    // As much as there was room for in codings: what comes out of them has a bound as well.
    let mut room = bounds.recording_bytes;
    for (number, mut exchange) in exchanges.into_iter().enumerate() {
        let mut entry = Map::new();
        if let Some(page) = pages[number] {
            entry.insert("pageref".to_owned(), page_id(page).into());
        }
        if is_scripted(&exchange) {
            // Chromium's word for what a script asks for.
            entry.insert("_resourceType".to_owned(), "fetch".into());
        }
        entry.insert("startedDateTime".to_owned(), date(clock.date(exchange.began)).into());
        entry.extend(times(&exchange));
        if let Some(server) = exchange.server {
            entry.insert("serverIPAddress".to_owned(), server.to_string().into());
        }
        if let Some(failure) = &exchange.failure {
            entry.insert("_error".to_owned(), failure.as_str().into());
        }
        entry.insert("cache".to_owned(), json!({}));
        let body = std::mem::take(&mut exchange.body);
        entry.insert("request".to_owned(), request(&exchange, body, &mut account));
        entry.insert("response".to_owned(), response(&mut exchange, bounds, &mut room, &mut account));
        let origin = &exchange.url[..exchange.url.len() - path_of(&exchange.url).len()];
        *account.by_origin.entry(origin.to_owned()).or_default() += 1;
        write!(to, "{}", if number > 0 { ",\n" } else { "\n" })?;
        serde_json::to_writer(&mut *to, &Value::Object(entry))?;
    }
    writeln!(to, "\n]}}}}")?;
    to.flush()?;
    Ok(account)
}

fn page_id(number: usize) -> String {
    format!("page_{}", number + 1)
}

fn date(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

/// Times in milliseconds; those that a proxy does not know are -1 (HAR 1.2).
fn times(exchange: &RecordedExchange) -> Map<String, Value> {
    let ms = |from: Instant, to: Instant| (to.since(from).as_ns() as f64 / 1e4).round() / 1e2;
    let RecordedExchange { began, answered, ended, .. } = exchange;
    let answered = answered.unwrap_or(*ended);
    let timings = json!({
        "blocked": -1, "dns": -1, "connect": -1, "ssl": -1,
        "send": 0, "wait": ms(*began, answered), "receive": ms(answered, *ended),
    });
    let time = ("time".to_owned(), ms(*began, *ended).into());
    [time, ("timings".to_owned(), timings)].into_iter().collect()
}

fn request(exchange: &RecordedExchange, body: BodyCopy, account: &mut ArchiveAccount) -> Value {
    let mut request = json!({
        "method": exchange.method.as_str(),
        "url": exchange.url,
        "httpVersion": version(exchange.version),
        "cookies": cookies(&exchange.headers),
        "headers": headers(&exchange.headers),
        "queryString": query(&exchange.url),
        "headersSize": -1,
        "bodySize": body.length,
    });
    if body.is_left_out {
        account.leave_out("bodies of requests that are larger than there was room for", exchange);
    } else if !body.is_whole && body.length > 0 {
        account.leave_out("bodies of requests that did not come to their end", exchange);
    } else if body.length > 0 {
        let (text, encoding) = written(body.bytes);
        let kind = field(&exchange.headers, &CONTENT_TYPE);
        request["postData"] = json!({ "mimeType": kind, "text": text });
        if let Some(encoding) = encoding {
            request["postData"]["encoding"] = encoding.into();
        }
        return request;
    } else {
        return request;
    }
    // A reader sees by the size that there was one.
    request["bodySize"] = body.length.max(1).into();
    request
}

/// The reply; that of an exchange without one has the status 0, as browsers have it.
fn response(
    exchange: &mut RecordedExchange,
    bounds: RecordingBounds,
    room: &mut usize,
    account: &mut ArchiveAccount,
) -> Value {
    let Some(mut reply) = exchange.reply.take() else {
        account.leave_out("replies that did not come", exchange);
        return json!({
            "status": 0, "statusText": "", "httpVersion": "", "cookies": [], "headers": [],
            "content": { "size": 0, "mimeType": "" }, "redirectURL": "", "headersSize": -1, "bodySize": -1,
        });
    };
    let body = std::mem::take(&mut reply.body);
    json!({
        "status": reply.status.as_u16(),
        "statusText": reply.status.canonical_reason().unwrap_or_default(),
        "httpVersion": version(reply.version),
        "cookies": set_cookies(&reply.headers),
        "headers": headers(&reply.headers),
        "redirectURL": field(&reply.headers, &LOCATION),
        "headersSize": -1,
        "bodySize": body.length,
        "content": content(exchange, &reply, body, bounds.body_bytes.min(*room), room, account),
    })
}

/// Content without its coding, if it is whole and there is room for it.
fn content(
    exchange: &RecordedExchange,
    reply: &RecordedReply,
    body: BodyCopy,
    max: usize,
    room: &mut usize,
    account: &mut ArchiveAccount,
) -> Value {
    let mut content = json!({ "size": body.length, "mimeType": field(&reply.headers, &CONTENT_TYPE) });
    let has_none = exchange.method == Method::HEAD || body.length == 0 && body.is_whole;
    let plain = match () {
        () if has_none || reply.status.as_u16() == 101 => return content,
        () if body.is_left_out => Err("contents of replies that are larger than there was room for"),
        () if !body.is_whole => Err("contents of replies that did not come to their end"),
        () => decoded(&reply.headers, body.bytes, max).map_err(|fault| match fault {
            CodingFault::TooLarge => "contents of replies that are larger than there was room for",
            CodingFault::Wrong => "contents of replies that are not in the coding which they name",
            CodingFault::Unknown => "contents of replies in a coding that is not known",
        }),
    };
    match plain {
        Ok(plain) => {
            *room = room.saturating_sub(plain.len());
            content["size"] = plain.len().into();
            let (text, encoding) = written(plain);
            content["text"] = text.into();
            if let Some(encoding) = encoding {
                content["encoding"] = encoding.into();
            }
        }
        Err(why) => {
            account.leave_out(why, exchange);
            content["comment"] = format!("left out of {why}").into();
        }
    }
    content
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}

fn pair(name: &str, value: &str) -> Value {
    json!({ "name": name, "value": value })
}

fn headers(headers: &HeaderMap) -> Vec<Value> {
    headers
        .iter()
        .map(|(name, value)| pair(name.as_str(), &String::from_utf8_lossy(value.as_bytes())))
        .collect()
}

fn field<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn query(url: &str) -> Vec<Value> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes()).map(|(name, value)| pair(&name, &value)).collect()
}

fn cookies(headers: &HeaderMap) -> Vec<Value> {
    let fields = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = fields.flat_map(|value| value.split(';')).filter_map(|own| own.trim().split_once('='));
    pairs.map(|(name, value)| pair(name, value)).collect()
}

fn set_cookies(headers: &HeaderMap) -> Vec<Value> {
    let fields = headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = fields.filter_map(|value| value.split(';').next()?.trim().split_once('='));
    pairs.map(|(name, value)| pair(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::OpenExchange;
    use crate::ledger::Ledger;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http::header::CONTENT_ENCODING;
    use http::{HeaderValue, Response, StatusCode};
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    /// A recording of requests for `/0`, `/1`, …, each with these bytes of content in gzip; of the last the
    /// end did not come.
    fn recording(bounds: RecordingBounds, contents: &[usize]) -> Recording {
        let ledger = Arc::new(Ledger::new(bounds));
        for (nth, bytes) in contents.iter().enumerate() {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&vec![b'x'; *bytes]).expect("memory takes it");
            let fields = [(COOKIE, HeaderValue::from_static("a=1; b=2"))].into_iter().collect();
            let url = format!("http://shop.example/{nth}?q=%C3%BC");
            let mut open = OpenExchange::new(&ledger, &Method::GET, url, Version::HTTP_11, &fields);
            let reply = Response::builder()
                .status(StatusCode::OK)
                .header(CONTENT_ENCODING, "gzip")
                .header(SET_COOKIE, "sid=9; Path=/");
            open.answered(&reply.body(()).expect("a reply").into_parts().0, Ipv4Addr::LOCALHOST.into());
            let copy = open.reply_copy();
            let mut copy = copy.lock().expect("nobody panicked");
            ledger.copy(&mut copy, &encoder.finish().expect("memory takes it"));
            copy.is_whole = nth + 1 < contents.len();
            drop(copy);
        }
        ledger.take()
    }

    /// Each content has room, and all of them together have not.
    #[test]
    fn contents_have_a_bound_together_too() {
        let (mib, mut text) = (1 << 20, Vec::new());
        let bounds =
            RecordingBounds { body_bytes: 3 * mib, recording_bytes: 4 * mib, ..RecordingBounds::default() };
        let recorded = recording(bounds, &[3 * mib, 1_000, 2 * mib, 3 * mib + 1, 10, 10]);
        let account = write_archive(recorded, &mut text).expect("memory takes it");
        assert_eq!(account.by_origin, BTreeMap::from([("http://shop.example".to_owned(), 6)]));
        let left_out: Vec<(u64, &str)> =
            account.left_out.values().map(|(count, first)| (*count, first.as_str())).collect();
        // The third and the fourth are too large, and the last is not whole.
        assert_eq!(left_out, [(2, "GET /2"), (1, "GET /5")], "{account:?}");
        let archive: Value = serde_json::from_slice(&text).expect("JSON");
        let entries = archive["log"]["entries"].as_array().expect("entries");
        let length = |nth: usize| entries[nth]["response"]["content"]["text"].as_str().map(str::len);
        assert_eq!([0, 1, 2, 3, 4, 5].map(length), [Some(3 * mib), Some(1_000), None, None, Some(10), None]);
        let request = &entries[0]["request"];
        assert_eq!(request["queryString"], json!([pair("q", "ü")]));
        assert_eq!(request["cookies"], json!([pair("a", "1"), pair("b", "2")]));
        assert_eq!(entries[0]["response"]["cookies"], json!([pair("sid", "9")]));
        // All that HAR 1.2 asks for.
        for key in ["startedDateTime", "time", "cache", "timings"] {
            assert!(!entries[0][key].is_null(), "{key}");
        }
        for key in
            ["status", "statusText", "httpVersion", "headers", "redirectURL", "headersSize", "bodySize"]
        {
            assert!(!entries[0]["response"][key].is_null(), "{key}");
        }
    }
}
