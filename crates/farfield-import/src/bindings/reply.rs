//! Replies of an HTTP Archive, read by the fields that bindings need.

use serde::Deserialize;
use url::{Position, Url};

/// Bytes of a reply that are looked at: sessions keep no more of it (`body-limit`).
const REPLY_BYTES_MAX: usize = 1 << 20;

/// A reply as an archive has it.
pub struct Reply {
    pub(super) method: String,
    pub(super) url: Url,
    /// Path and query.
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) text: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Reply {
    /// True if the status is of a success: extractions see no other reply.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The URL that a redirect leads to, without its fragment (RFC 9110 section 10.2.2).
    pub(super) fn redirect(&self) -> Option<Url> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let (_, location) = self.headers.iter().find(|(name, _)| name == "location")?;
        let mut url = self.url.join(location).ok()?;
        url.set_fragment(None);
        Some(url)
    }
}

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<ReplyEntry>,
}

#[derive(Deserialize)]
struct ReplyEntry {
    request: ReplyQuery,
    #[serde(default)]
    response: Option<Answered>,
}

#[derive(Deserialize)]
struct ReplyQuery {
    method: String,
    url: String,
}

#[derive(Deserialize)]
struct Answered {
    #[serde(default)]
    status: Option<f64>,
    #[serde(default)]
    headers: Option<Vec<Pair>>,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

/// The replies of an archive, with their content where that is text.
pub(super) fn replies(text: &[u8]) -> Vec<Reply> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let Ok(archive) = serde_json::from_slice::<Archive>(text) else { return Vec::new() };
    let reply = |ReplyEntry { request, response }: ReplyEntry| {
        let (url, Answered { status, headers, content }) = (Url::parse(&request.url).ok()?, response?);
        // What the browser gave up has none.
        let status = status.filter(|status| *status > 0.0)?;
        let is_text = |content: &Content| {
            let is_plain = content.encoding.as_deref().is_none_or(str::is_empty);
            is_plain && content.text.as_ref().is_some_and(|text| text.len() <= REPLY_BYTES_MAX)
        };
        let pair = |pair: Pair| (pair.name.to_ascii_lowercase(), pair.value.unwrap_or_default());
        Some(Reply {
            method: request.method,
            path: url[Position::BeforePath..Position::AfterQuery].to_owned(),
            url,
            status: status as u16,
            text: content.filter(is_text).and_then(|content| content.text).unwrap_or_default(),
            headers: headers.into_iter().flatten().map(pair).collect(),
        })
    };
    archive.log.entries.into_iter().filter_map(reply).collect()
}
