//! Access logs: sessions by client and user agent, apart where a client was silent for longer than ten
//! minutes (the larger threshold of Liu et al. 1999); pages by the path of a request and its time after
//! the page.

use super::reading::ReplayAccount;
use super::server::{ReplayServer, server_of_most};
use super::{RecordedPage, RecordedSession, ReplaySpec, sendable};
use crate::file::FileError;
use crate::request::{Request, method};
use crate::site::ObjectKind;
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use farfield_log::{LogFormat, LogParser, LogReader, Record, decompressed};
use http::Method;
use std::collections::BTreeMap;
use std::io::Read;

/// Silence that ends a session.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// A request that is no page is embedded in the page if it follows the request before within this time.
const EMBEDDED_WITHIN: Duration = Duration::from_secs(2);

/// A session that goes on.
struct OpenSession {
    index: usize,
    began: Instant,
    last: Instant,
}

/// Reads the log `bytes`, for requests to `target` where it is known: lines that name a virtual host are
/// those of one.
pub(super) fn read(
    spec: &ReplaySpec,
    bytes: &[u8],
    target: Option<&str>,
) -> Result<(Vec<RecordedSession>, ReplayAccount), FileError> {
    let whole = |problem: String| FileError::Whole { path: spec.file.clone(), problem };
    let mut text = Vec::new();
    let mut plain = decompressed(bytes).map_err(|error| whole(error.to_string()))?;
    plain.read_to_end(&mut text).map_err(|error| whole(error.to_string()))?;
    let format = format(spec, &text).map_err(whole)?;
    let mut reader = LogReader::new(LogParser::new(&format));
    let (mut entries, mut reading) = (Vec::new(), ReplayAccount::default());
    let take = &mut |record: &Record<'_>| match entry(record) {
        Ok(request) => {
            let host = std::str::from_utf8(record.host).ok().and_then(ReplayServer::of_authority);
            entries.push((record.at, client(record), request, host));
        }
        Err(why) => reading.leave_out(why, asked(record.method, record.path)),
    };
    reader.read(&text[..], take).map_err(|error| whole(error.to_string()))?;
    let tally = reader.tally();
    let first = tally.shown.first();
    let first = first.map_or_else(String::new, |own| format!("line {}, {}: {}", own.line, own.why, own.text));
    reading.leave_out_all("that are no requests of this log's layout", tally.broken, first);
    let server = server_of_most(entries.iter().filter_map(|(.., host)| host.as_ref()), target).cloned();
    let mut kept = Vec::new();
    for (at, client, request, host) in entries {
        let place = || asked(request.method.as_str().as_bytes(), request.path.as_bytes());
        if host.is_some() && host != server {
            reading.leave_out("of another virtual host", place());
            continue;
        }
        if had_body(&request.method) {
            reading.differs("without a body, since a log has none", place());
        }
        kept.push((at, client, request));
    }
    reading.taken = kept.len() as u64;
    // Servers write a line when a reply is over: times may go back a little.
    kept.sort_by_key(|(at, ..)| *at);
    Ok((sessions(kept), reading))
}

/// The layout that is asked for, or that of the first lines of `text`.
fn format(spec: &ReplaySpec, text: &[u8]) -> Result<LogFormat, String> {
    let names = || LogFormat::names().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    match (&spec.layout, &spec.fields) {
        (Some(layout), _) => {
            let found = LogFormat::named(layout, None).map_err(|error| error.to_string())?;
            found.ok_or_else(|| format!("there is no layout `{layout}`; write {}, or a pattern", names()))
        }
        (None, Some(map)) => Ok(LogFormat::Json(Box::new(map.clone()))),
        (None, None) => LogFormat::detect(text).ok_or_else(|| {
            format!(
                "is no access log of a known layout ({}); name it with `layout`, or the fields of JSON lines with \
                 `fields`",
                names()
            )
        }),
    }
}

fn asked(method: &[u8], path: &[u8]) -> String {
    format!("{} {}", String::from_utf8_lossy(method), String::from_utf8_lossy(path))
}

/// True if requests of this method usually have a body (RFC 9110 section 9.3, RFC 5789).
fn had_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

fn client(record: &Record<'_>) -> Vec<u8> {
    [record.client, b"\0", record.agent].concat()
}

/// The request of a line, or why it cannot be sent.
fn entry(record: &Record<'_>) -> Result<Request, &'static str> {
    let path = std::str::from_utf8(record.path).ok().filter(|path| sendable(path));
    let path = path.ok_or("whose target cannot be sent")?;
    let method = match std::str::from_utf8(record.method).unwrap_or("?") {
        "" => Method::GET,
        written => method(written).map_err(|_| "whose method cannot be sent")?,
    };
    Ok(Request { method, path: path.to_owned(), headers: Vec::new(), body: Bytes::new() })
}

fn sessions(entries: Vec<(Instant, Vec<u8>, Request)>) -> Vec<RecordedSession> {
    let mut sessions: Vec<RecordedSession> = Vec::new();
    let mut open: BTreeMap<Vec<u8>, OpenSession> = BTreeMap::new();
    let first = entries.first().map_or(Instant::ZERO, |(at, ..)| *at);
    for (at, client, request) in entries {
        let known = open.get_mut(&client).filter(|session| at.since(session.last) <= SILENCE_MAX);
        let Some(session) = known else {
            let starts = Instant::ZERO + at.since(first);
            open.insert(client, OpenSession { index: sessions.len(), began: at, last: at });
            sessions.push((
                Some(starts),
                vec![RecordedPage { requests: vec![request], ..RecordedPage::default() }],
            ));
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
            pages.push(RecordedPage { requests: vec![request], at: page, think: Duration::ZERO });
        }
    }
    sessions
}

/// True if a request is for an object that pages embed.
fn is_part(request: &Request) -> bool {
    let path = request.path.split('?').next().unwrap_or_default();
    matches!(ObjectKind::of_path(path), ObjectKind::Image | ObjectKind::Script | ObjectKind::StyleSheet)
}
