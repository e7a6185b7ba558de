//! Access logs: sessions by client and user agent, apart where a client was silent for longer than ten
//! minutes (the larger threshold of Liu et al. 1999); pages by the path of a request and its time after
//! the page.

use super::{Recorded, RecordedSession, sendable};
use crate::file::FileError;
use crate::request::{Request, method};
use crate::site::ObjectKind;
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use farfield_log::{LogFormat, LogParser, LogReader, Record, decompressed};
use http::Method;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Silence that ends a session.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// A request that is no page is embedded in the page if it follows the request before within this time.
const EMBEDDED_WITHIN: Duration = Duration::from_secs(2);

/// A session that goes on.
struct Open {
    index: usize,
    began: Instant,
    last: Instant,
}

pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<(Vec<RecordedSession>, u64), FileError> {
    let whole = |problem: String| FileError::Whole { path: path.to_owned(), problem };
    let mut text = Vec::new();
    let mut plain = decompressed(bytes).map_err(|error| whole(error.to_string()))?;
    plain.read_to_end(&mut text).map_err(|error| whole(error.to_string()))?;
    let format = LogFormat::detect(&text)
        .ok_or_else(|| whole("is no access log of a known format; see `farfield fit --help`".to_owned()))?;
    let mut reader = LogReader::new(LogParser::new(&format));
    let (mut entries, mut left_out) = (Vec::new(), 0u64);
    let take = &mut |record: &Record<'_>| match entry(record) {
        Some(request) => entries.push((record.at, client(record), request)),
        None => left_out += 1,
    };
    reader.read(&text[..], take).map_err(|error| whole(error.to_string()))?;
    // Servers write a line when a reply is over: times may go back a little.
    entries.sort_by_key(|(at, ..)| *at);
    Ok((sessions(entries), left_out + reader.tally().broken))
}

fn client(record: &Record<'_>) -> Vec<u8> {
    [record.client, b"\0", record.agent].concat()
}

fn entry(record: &Record<'_>) -> Option<Request> {
    let path = std::str::from_utf8(record.path).ok().filter(|path| sendable(path))?;
    let method = match std::str::from_utf8(record.method).ok()? {
        "" => Method::GET,
        written => method(written).ok()?,
    };
    Some(Request { method, path: path.to_owned(), headers: Vec::new(), body: Bytes::new() })
}

fn sessions(entries: Vec<(Instant, Vec<u8>, Request)>) -> Vec<RecordedSession> {
    let mut sessions: Vec<RecordedSession> = Vec::new();
    let mut open: BTreeMap<Vec<u8>, Open> = BTreeMap::new();
    let first = entries.first().map_or(Instant::ZERO, |(at, ..)| *at);
    for (at, client, request) in entries {
        let known = open.get_mut(&client).filter(|session| at.since(session.last) <= SILENCE_MAX);
        let Some(session) = known else {
            let starts = Instant::ZERO + at.since(first);
            open.insert(client, Open { index: sessions.len(), began: at, last: at });
            sessions.push((Some(starts), vec![Recorded { requests: vec![request], ..Recorded::default() }]));
            continue;
        };
        let pages = &mut sessions[session.index].1;
        let silence = at.since(session.last);
        session.last = at;
        let before = pages.last_mut().expect("a session begins with a page");
        if silence <= EMBEDDED_WITHIN && is_part(&request) {
            before.requests.push(request);
        } else {
            let page = at.since(session.began);
            before.think = Duration::from_ns(page.as_ns() - before.at.as_ns());
            pages.push(Recorded { requests: vec![request], at: page, think: Duration::ZERO });
        }
    }
    sessions
}

/// Whether a request is for what pages embed.
fn is_part(request: &Request) -> bool {
    let path = request.path.split('?').next().unwrap_or_default();
    matches!(ObjectKind::of_path(path), ObjectKind::Image | ObjectKind::Script | ObjectKind::StyleSheet)
}
