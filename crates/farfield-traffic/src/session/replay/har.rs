//! HTTP Archives (HAR 1.2) as browsers and proxies save them: one session, whose pages are those of the
//! archive.
//!
//! Requests to the hosts that the scenario names are replayed, and beside these to one server: the target if
//! the archive has any for it, else the server with most of the other entries. Header fields of a connection
//! are left out, and so are those that farfield writes itself; the codings that the browser asked for are
//! asked for again. What cannot be asked for again is [counted](super::reading) by reason.

use super::body::{self, Body, PostData};
use super::reading::ReplayAccount;
use super::server::{ReplayServer, server_of_most};
use super::{MissingBodies, RecordedPage, RecordedSession, sendable};
use crate::file::FileError;
use crate::request::{Request, method};
use farfield_base::{Duration, Instant};
use farfield_log::rfc3339;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use url::{Position, Url};

/// The mark at a file's beginning that says UTF-8, which readers of archives must accept (HAR 1.2).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Fields of a connection, and those that farfield writes itself. `Accept-Encoding` is none of them: without
/// it a server compresses nothing, which is another load than the browser's.
const OWN_FIELDS: [&str; 9] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "proxy-connection",
];

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<HarEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarEntry {
    #[serde(default)]
    started_date_time: Option<String>,
    #[serde(default)]
    time: Option<f64>,
    #[serde(default)]
    timings: Option<BTreeMap<String, serde_json::Value>>,
    #[serde(default)]
    pageref: Option<String>,
    request: HarRequest,
    #[serde(default)]
    response: Option<HarResponse>,
    /// Chromium's: where in its own caches the answer was.
    #[serde(default, rename = "_fromCache")]
    from_cache: Option<serde_json::Value>,
    /// WebKit's: how it came by the answer.
    #[serde(default, rename = "_fetchType")]
    fetch_type: Option<String>,
    /// Chromium's: what it was asked for as.
    #[serde(default, rename = "_resourceType")]
    resource_type: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Option<Vec<Pair>>,
    #[serde(default)]
    cookies: Option<Vec<Pair>>,
    #[serde(default)]
    query_string: Option<Vec<Pair>>,
    #[serde(default)]
    post_data: Option<PostData>,
    #[serde(default)]
    body_size: Option<f64>,
}

#[derive(Deserialize)]
struct HarResponse {
    #[serde(default)]
    status: Option<f64>,
}

/// A name and its value.
#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: Option<String>,
}

impl Pair {
    fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// An entry's place in the archive, and its URL.
struct EntryPosition<'a>(usize, &'a str);

impl fmt::Display for EntryPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {}, {}", self.0 + 1, self.1)
    }
}

/// An entry that can be asked for again.
struct UsableEntry {
    request: Request,
    began: Instant,
    ended: Instant,
    page: Option<String>,
}

/// The URL of the server that most entries of an archive are of, with the scheme of the first of them; `None`
/// if it is no archive, or has no request of HTTP.
pub fn recorded_target(text: &[u8]) -> Option<String> {
    recorded_server(text, None, &[])
}

/// The URL of the server whose requests are replayed where the target has the authority `target` and the
/// hosts `beside` it have their own requests.
pub fn recorded_server(text: &[u8], target: Option<&str>, beside: &[String]) -> Option<String> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let archive: Archive = serde_json::from_slice(text).ok()?;
    let beside = servers_of(beside);
    let of_http: Vec<(Url, ReplayServer)> =
        archive.log.entries.iter().filter_map(|e| http_url(e).ok()).collect();
    let others = of_http.iter().map(|(_, server)| server).filter(|server| !beside.contains(server));
    let server = server_of_most(others, target)?;
    let (url, _) = of_http.iter().find(|(_, own)| own == server)?;
    Some(format!("{}://{}/", url.scheme(), &url[Position::BeforeHost..Position::AfterPort]))
}

fn servers_of(roots: &[String]) -> Vec<ReplayServer> {
    roots.iter().filter_map(|root| ReplayServer::of(&Url::parse(root).ok()?)).collect()
}

/// Paths, with their queries, of the requests that an archive of Chromium says a script made
/// (`_resourceType`). Their header fields need not show it: over plain HTTP a browser sends no
/// `Sec-Fetch-Dest`.
pub fn scripted_paths(text: &[u8]) -> BTreeSet<String> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let Ok(archive) = serde_json::from_slice::<Archive>(text) else { return BTreeSet::new() };
    let is_scripted = |entry: &&HarEntry| {
        let kind = entry.resource_type.as_ref().and_then(serde_json::Value::as_str);
        matches!(kind, Some("xhr" | "fetch"))
    };
    let scripted = archive.log.entries.iter().filter(is_scripted);
    let urls = scripted.filter_map(|entry| http_url(entry).ok());
    urls.map(|(url, _)| url[Position::BeforePath..Position::AfterQuery].to_owned()).collect()
}

/// Reads the archive `text`, for requests to `target` where it is known, and to the hosts `beside` it.
pub(super) fn read(
    path: &Path,
    text: &[u8],
    (target, beside): (Option<&str>, &[String]),
    missing: MissingBodies,
) -> Result<(Vec<RecordedSession>, ReplayAccount), FileError> {
    let whole = |problem: String| FileError::Whole { path: path.to_owned(), problem };
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let archive: Archive =
        serde_json::from_slice(text).map_err(|error| whole(format!("is no HTTP Archive: {error}")))?;
    let mut reading = ReplayAccount::default();
    let mut of_http = Vec::new();
    for (number, entry) in archive.log.entries.into_iter().enumerate() {
        match http_url(&entry) {
            Ok((url, server)) => of_http.push((number, entry, url, server)),
            Err(why) => reading.leave_out(why, EntryPosition(number, &entry.request.url)),
        }
    }
    let beside = servers_of(beside);
    let others = of_http.iter().map(|(.., server)| server).filter(|server| !beside.contains(server));
    let server = server_of_most(others, target).cloned();
    let mut usable: Vec<UsableEntry> = Vec::new();
    // Entries without any instant are all asked for at once, in their order.
    let mut last = of_http.iter().find_map(|(_, entry, ..)| entry.began()).unwrap_or(Instant::ZERO);
    for (number, entry, url, of) in of_http {
        last = entry.began().unwrap_or(last);
        let written = entry.request.url.clone();
        let place = EntryPosition(number, &written);
        let mut differs = Vec::new();
        let is_beside = beside.contains(&of);
        let found = match is_beside || Some(&of) == server.as_ref() {
            true => usable_entry(entry, (&url, is_beside), last, missing, &mut differs),
            false => Err("of another server"),
        };
        match found {
            Ok(entry) => {
                usable.push(entry);
                differs.into_iter().for_each(|what| reading.differs(what, &place));
            }
            Err(why) => reading.leave_out(why, place),
        }
    }
    reading.taken = usable.len() as u64;
    usable.sort_by_key(|entry| entry.began);
    let pages = pages(usable);
    let sessions = if pages.is_empty() { Vec::new() } else { vec![(Some(Instant::ZERO), pages)] };
    Ok((sessions, reading))
}

/// The URL of an entry, as browsers read it, and its server; or why it is no request of HTTP.
fn http_url(entry: &HarEntry) -> Result<(Url, ReplayServer), &'static str> {
    let mut url = Url::parse(&entry.request.url).map_err(|_| "whose URL cannot be read")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("of another scheme than HTTP");
    }
    let server = ReplayServer::of(&url).ok_or("whose URL cannot be read")?;
    let query = entry.request.query_string.as_deref().unwrap_or_default();
    if url.query().is_none() && !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query.iter().map(|pair| (&pair.name, pair.value())));
    }
    Ok((url, server))
}

/// The entry as it is asked for again, from an instant on, and what differs; or why it is not.
fn usable_entry(
    entry: HarEntry,
    (url, is_beside): (&Url, bool),
    began: Instant,
    missing: MissingBodies,
    differs: &mut Vec<&'static str>,
) -> Result<UsableEntry, &'static str> {
    match entry.response.as_ref().and_then(|answered| answered.status) {
        Some(101.0) => return Err("that became a WebSocket"),
        Some(status) if status <= 0.0 => return Err("that the browser gave up"),
        _ => {}
    }
    if is_from_cache(&entry) {
        return Err("that the browser answered from its cache");
    }
    let (took, is_timed) = (entry.took(), entry.began().is_some());
    let HarRequest { method: verb, headers, cookies, post_data, body_size, .. } = entry.request;
    let method = method(&verb).map_err(|_| "whose method cannot be sent")?;
    let path = &url[Position::BeforePath..Position::AfterQuery];
    if !sendable(path) {
        return Err("whose URL cannot be sent");
    }
    let path = if is_beside { url.origin().ascii_serialization() + path } else { path.to_owned() };
    let (mut headers, complete) = fields(&headers.unwrap_or_default());
    if !complete {
        differs.push("without a field that cannot be sent");
    }
    if !headers.contains_key(header::COOKIE)
        && let Some(value) = cookie(&cookies.unwrap_or_default())
    {
        headers.insert(header::COOKIE, value);
    }
    let length = headers.remove(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let size = body_size.filter(|size| *size >= 0.0).map(|size| size as u64);
    let body = match body::of(post_data.as_ref(), &mut headers, size.or(length)) {
        Body::Whole(bytes) => bytes,
        Body::Missing(_) if missing == MissingBodies::LeaveOut => {
            return Err("whose body the archive does not have");
        }
        Body::Missing(part) => {
            differs.push("without the body that the archive does not have, or with a part of it");
            part
        }
    };
    if !is_timed {
        differs.push("without an instant of their own, at that of the entry before them");
    }
    let headers = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let request = Request { method, path, headers, body };
    Ok(UsableEntry { request, began, ended: began + took, page: entry.pageref })
}

fn is_from_cache(entry: &HarEntry) -> bool {
    let chromium =
        entry.from_cache.as_ref().is_some_and(|from| !from.is_null() && from.as_bool() != Some(false));
    // "Memory Cache" and "Disk Cache", beside "Network Load".
    chromium || entry.fetch_type.as_ref().is_some_and(|how| how.ends_with("Cache"))
}

impl HarEntry {
    /// Instant at which it was asked for.
    fn began(&self) -> Option<Instant> {
        rfc3339(self.started_date_time.as_deref()?.as_bytes())
    }

    /// The entry's time or, without one, the sum of its timings, where those that do not apply are negative.
    fn took(&self) -> Duration {
        let known = |ms: &f64| ms.is_finite() && *ms >= 0.0;
        let timings = self.timings.iter().flatten();
        // The time of TLS is within that of the connection (HAR 1.2).
        let summed = timings.filter(|(name, _)| *name != "ssl").filter_map(|(_, ms)| ms.as_f64());
        let ms = self.time.filter(known).unwrap_or_else(|| summed.filter(known).sum());
        Duration::from_ns((ms.min(1e9) * 1e6) as u64)
    }
}

/// The fields that are sent again, with the length of the body; false if one cannot be.
fn fields(written: &[Pair]) -> (HeaderMap, bool) {
    let (mut fields, mut complete) = (HeaderMap::new(), true);
    for pair in written {
        // Fields that HTTP/2 and 3 have in place of a first line.
        if pair.name.starts_with(':') {
            continue;
        }
        let name = pair.name.trim().parse::<HeaderName>();
        let value = HeaderValue::from_bytes(pair.value().trim().as_bytes());
        match (name, value) {
            (Ok(name), Ok(value)) if name == header::CONTENT_LENGTH => _ = fields.insert(name, value),
            (Ok(name), _) if OWN_FIELDS.contains(&name.as_str()) => {}
            (Ok(name), Ok(value)) => _ = fields.append(name, value),
            _ => complete = false,
        }
    }
    (fields, complete)
}

/// The field of cookies that an archive lists apart from the fields.
fn cookie(cookies: &[Pair]) -> Option<HeaderValue> {
    let all: Vec<String> =
        cookies.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value())).collect();
    if all.is_empty() { None } else { HeaderValue::from_bytes(all.join("; ").as_bytes()).ok() }
}

/// The pages of entries in order of time, from the beginning of the first.
fn pages(usable: Vec<UsableEntry>) -> Vec<RecordedPage> {
    let Some(first) = usable.first().map(|entry| entry.began) else { return Vec::new() };
    let mut pages: Vec<(RecordedPage, Instant)> = Vec::new();
    // Places of pages, by what entries call them: each entry may have a page of its own.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for UsableEntry { request, began, ended, page } in usable {
        let known = page.as_ref().and_then(|name| places.get(name));
        match known {
            Some(place) => {
                let (recorded, last) = &mut pages[*place];
                recorded.requests.push(request);
                *last = (*last).max(ended);
            }
            None => {
                places.extend(page.map(|name| (name, pages.len())));
                let recorded =
                    RecordedPage { requests: vec![request], at: began.since(first), think: Duration::ZERO };
                pages.push((recorded, ended));
            }
        }
    }
    for place in 1..pages.len() {
        let next = first + pages[place].0.at;
        let (before, ended) = &mut pages[place - 1];
        before.think = if next > *ended { next.since(*ended) } else { Duration::ZERO };
    }
    pages.into_iter().map(|(page, _)| page).collect()
}
