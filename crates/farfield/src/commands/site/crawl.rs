//! A site as a server shows it: from one page along links and what pages embed, each path asked for once.
//!
//! One request at a time over one connection, so that no server is strained. HTML is held while it is read; of all else
//! only the size.

use crate::problem::Problem;
use crate::scenario::Url;
use farfield_base::Bytes;
use farfield_traffic::site::files::{FoundFile, named};
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// How long an answer may take in all.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest HTML that is read for what it names.
const HTML_BYTES_MAX: u64 = 16 << 20;

/// What a crawl came upon.
#[derive(Debug, Default)]
pub struct Crawled {
    /// The objects that were there.
    pub files: Vec<FoundFile>,
    /// Paths that were answered with something else than 200 or a redirect.
    pub refused: Vec<(String, u16)>,
    /// Paths that were named and not asked for, because there were enough.
    pub left: usize,
}

/// Fetches the page at `start` and what can be reached from it on the same server, up to `objects_max` objects. What follows
/// a `?` is left out of what pages name, and a redirect is followed where it stays on the server.
///
/// # Errors
/// The first page, or any other answer, does not come or breaks off.
pub fn crawl(start: &Url, objects_max: NonZeroU32) -> Result<Crawled, Problem> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(PATIENCE))
        .user_agent(concat!("farfield/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent = Agent::new_with_config(config);
    let first = start.path().split('?').next().unwrap_or("/").to_owned();
    let (mut waiting, mut known) = (VecDeque::from([first.clone()]), BTreeSet::from([first]));
    let mut crawled = Crawled::default();
    while crawled.files.len() < objects_max.get() as usize
        && let Some(path) = waiting.pop_front()
    {
        let url = format!("http://{}{path}", start.authority());
        let answer = fetch(&agent, &url);
        let answer = answer.map_err(|error| Problem::failed(format!("no answer to {url}: {error}")))?;
        let leads_to = match answer {
            Answer::Object { size, html } => {
                let leads_to = html.as_deref().map_or_else(Vec::new, |html| named(html, &path));
                crawled.files.push(FoundFile { path: path[1..].to_owned(), size, html });
                leads_to
            }
            Answer::Elsewhere(location) => on_server(start, &path, &location).into_iter().collect(),
            Answer::Refused(status) => {
                crawled.refused.push((path, status));
                Vec::new()
            }
        };
        waiting.extend(leads_to.into_iter().filter(|path| known.insert(path.clone())));
    }
    crawled.left = waiting.len();
    Ok(crawled)
}

/// What a path was answered with.
enum Answer {
    /// An object, and its text if it is HTML.
    Object { size: Bytes, html: Option<String> },
    /// A redirect.
    Elsewhere(String),
    /// Another status.
    Refused(u16),
}

fn fetch(agent: &Agent, url: &str) -> Result<Answer, ureq::Error> {
    let mut response = agent.get(url).call()?;
    let status = response.status().as_u16();
    if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, field(&response, header::LOCATION)) {
        return Ok(Answer::Elsewhere(location.to_owned()));
    }
    if status != 200 {
        return Ok(Answer::Refused(status));
    }
    let is_html = field(&response, header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"));
    let mut body = response.body_mut().as_reader();
    let mut html = Vec::new();
    if is_html {
        body.by_ref().take(HTML_BYTES_MAX).read_to_end(&mut html)?;
    }
    let rest = io::copy(&mut body, &mut io::sink())?;
    let size = Bytes(html.len() as u64 + rest);
    Ok(Answer::Object { size, html: is_html.then(|| String::from_utf8_lossy(&html).into_owned()) })
}

fn field(response: &Response<Body>, name: header::HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// The path that a redirect from `path` leads to, if it stays on the server.
fn on_server(start: &Url, path: &str, location: &str) -> Option<String> {
    match location.parse::<Url>() {
        Ok(url) if (url.host(), url.port()) == (start.host(), start.port()) => {
            url.path().split('?').next().map(str::to_owned)
        }
        Ok(_) => None,
        Err(_) => named(&format!("<a href=\"{location}\">"), path).pop(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_followed_on_the_server_alone() {
        let start: Url = "http://a.example:8080/".parse().expect("a URL");
        let to = |location| on_server(&start, "/sub/page", location);
        assert_eq!(to("http://a.example:8080/x?y").as_deref(), Some("/x"));
        assert_eq!(to("/x").as_deref(), Some("/x"));
        assert_eq!(to("x").as_deref(), Some("/sub/x"));
        assert_eq!(to("http://b.example:8080/x"), None);
        assert_eq!(to("http://a.example/x"), None);
        assert_eq!(to("//b.example/x"), None);
    }
}
