//! HTTP Archives (HAR 1.2) as browsers save them: one session, whose pages are those of the archive.
//!
//! Only requests to the server of the first entry are replayed. Header fields of a connection are left out,
//! and so are those that farfield writes itself.

use super::{Recorded, RecordedSession, sendable};
use crate::file::FileError;
use crate::request::{Request, method};
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use farfield_log::rfc3339;
use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    #[serde(default)]
    time: f64,
    pageref: Option<String>,
    request: Asked,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Header>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: String,
}

/// An entry that can be asked for again.
struct Usable {
    request: Request,
    began: Instant,
    ended: Instant,
    page: Option<String>,
}

pub(super) fn read(path: &Path, text: &[u8]) -> Result<(Vec<RecordedSession>, u64), FileError> {
    let whole = |problem: String| FileError::Whole { path: path.to_owned(), problem };
    let archive: Archive =
        serde_json::from_slice(text).map_err(|error| whole(format!("is no HTTP Archive: {error}")))?;
    let mut host = None;
    let entries = archive.log.entries.len();
    let mut usable: Vec<Usable> =
        archive.log.entries.into_iter().filter_map(|entry| usable_entry(entry, &mut host)).collect();
    let left_out = (entries - usable.len()) as u64;
    usable.sort_by_key(|entry| entry.began);
    let Some(first) = usable.first().map(|entry| entry.began) else { return Ok((Vec::new(), left_out)) };
    let mut pages: Vec<(Option<String>, Recorded, Instant)> = Vec::new();
    for Usable { request, began, ended, page } in usable {
        let known = pages.iter_mut().find(|(of, ..)| page.is_some() && *of == page);
        match known {
            Some((_, recorded, last)) => {
                recorded.requests.push(request);
                *last = (*last).max(ended);
            }
            None => {
                let recorded =
                    Recorded { requests: vec![request], at: began.since(first), think: Duration::ZERO };
                pages.push((page, recorded, ended));
            }
        }
    }
    for place in 1..pages.len() {
        let next = first + pages[place].1.at;
        let (_, before, ended) = &mut pages[place - 1];
        before.think = if next > *ended { next.since(*ended) } else { Duration::ZERO };
    }
    Ok((vec![(Some(Instant::ZERO), pages.into_iter().map(|(_, page, _)| page).collect())], left_out))
}

fn usable_entry(entry: Entry, host: &mut Option<String>) -> Option<Usable> {
    let began = rfc3339(entry.started_date_time.as_bytes())?;
    let url: http::Uri = entry.request.url.split('#').next()?.parse().ok()?;
    let authority = url.authority()?.as_str().to_owned();
    if *host.get_or_insert_with(|| authority.clone()) != authority {
        return None;
    }
    let path = url.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let headers = entry.request.headers.iter().filter_map(field).collect();
    let body = Bytes::from(entry.request.post_data.map_or_else(String::new, |post| post.text));
    let method = method(&entry.request.method).ok()?;
    let took = Duration::from_ns((entry.time.clamp(0.0, 1e9) * 1e6) as u64);
    let request = Request { method, path, headers, body };
    sendable(&request.path).then(|| Usable { request, began, ended: began + took, page: entry.pageref })
}

/// A field that is sent again.
fn field(header: &Header) -> Option<(HeaderName, HeaderValue)> {
    let own = [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "proxy-connection",
        "accept-encoding",
    ];
    let name: HeaderName = header.name.parse().ok()?;
    let value = HeaderValue::from_str(&header.value).ok()?;
    (!own.contains(&name.as_str())).then_some((name, value))
}
