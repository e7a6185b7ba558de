//! A site as a server shows it: from one page along links and embedded objects, each path requested once.
//!
//! One request at a time over one connection, so that no server is strained. HTML is held until the site is
//! made of it; of all else only the size. The server may be a stranger's: how much is held, of HTML and of
//! paths, is bounded, and what does not come ends the crawl with what there is by then.

use crate::problem::Problem;
use farfield_base::Bytes;
use farfield_scenario::Url;
use farfield_traffic::site::files::{FoundFile, named};
use farfield_traffic::site::path::{has_file, is_path};
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// The longest HTML that is read for what it names.
const HTML_BYTES_MAX: u64 = 16 << 20;

/// The result of a crawl.
#[derive(Debug, Default)]
pub struct CrawlResult {
    /// The objects that were there.
    pub files: Vec<FoundFile>,
    /// Paths that were answered with something else than 200 or a redirect.
    pub refused: Vec<(String, u16)>,
    /// Paths whose answer did not come or broke off, with why.
    pub broken: Vec<(String, String)>,
    /// Paths that were named and not requested.
    pub left: usize,
    /// Paths that were not requested since no folder of files can hold them, and the first of them.
    pub too_long: (usize, Option<String>),
    /// The reason for which the crawl ended before it had `objects_max` objects or all that there is.
    pub ended: Option<String>,
}

/// Bounds on what a crawl holds and waits for.
#[derive(Debug, Clone, Copy)]
pub struct CrawlLimits {
    /// Objects.
    pub objects_max: NonZeroU32,
    /// Bytes of HTML in all.
    pub html_bytes_max: u64,
    /// Paths that were named, requested or not.
    pub paths_max: usize,
    /// Bytes of these paths.
    pub path_bytes_max: usize,
    /// Answers that do not come, one after the other.
    pub broken_max: usize,
    /// Time limit of an answer.
    pub answer_timeout: Duration,
}

impl CrawlLimits {
    /// 256 MiB of HTML, 64 MiB of a million paths, and 30 s for each of three answers that do not come.
    pub fn of(objects_max: NonZeroU32) -> CrawlLimits {
        let (html_bytes_max, paths_max, path_bytes_max) = (256 << 20, 1_000_000, 64 << 20);
        let answer_timeout = Duration::from_secs(30);
        CrawlLimits { objects_max, html_bytes_max, paths_max, path_bytes_max, broken_max: 3, answer_timeout }
    }
}

/// Fetches the page at `start` and what can be reached from it on the same server. What follows a `?` is
/// left out of what pages name, and a redirect is followed where it stays on the server. Ends, with what
/// there is, at the bounds, after several answers in turn that do not come, and once `stop` is raised.
///
/// # Errors
/// The first page does not come or breaks off.
pub fn crawl(start: &Url, bounds: CrawlLimits, stop: &AtomicBool) -> Result<CrawlResult, Problem> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(bounds.answer_timeout))
        .user_agent(concat!("farfield/", env!("CARGO_PKG_VERSION")))
        .build();
    if start.is_secure() {
        return Err(Problem::usage(format!(
            "{start}: a site is crawled over plain HTTP; name an http:// URL"
        )));
    }
    let agent = Agent::new_with_config(config);
    let first = start.path().split('?').next().unwrap_or("/");
    if !has_file(first) {
        return Err(Problem::usage(format!(
            "{start}: a site has no path `{first}`; name one without `..` and `//`, and of names of 255 bytes at most"
        )));
    }
    let mut paths = Paths::default();
    paths.add(first.to_owned(), bounds);
    let mut crawled = CrawlResult::default();
    let (mut html_bytes, mut broken) = (0, 0);
    while crawled.files.len() < bounds.objects_max.get() as usize
        && let Some(path) = paths.waiting.pop_front()
    {
        let url = format!("http://{}{path}", start.authority());
        let answer = match fetch(&agent, &url, start.authorization().as_deref()) {
            Ok(answer) => answer,
            Err(error) if crawled.files.is_empty() => {
                return Err(Problem::failed(format!("no answer to {url}: {error}")));
            }
            Err(error) => {
                broken += 1;
                crawled.broken.push((path, error.to_string()));
                if broken == bounds.broken_max {
                    crawled.ended = Some(format!("{broken} answers in turn did not come"));
                    break;
                }
                continue;
            }
        };
        broken = 0;
        match answer {
            PathAnswer::Object { size, html } => {
                named(html.as_deref().unwrap_or_default(), &path).for_each(|path| paths.add(path, bounds));
                html_bytes += html.as_ref().map_or(0, |html| html.len() as u64);
                crawled.files.push(FoundFile { path: path[1..].to_owned(), size, html });
            }
            PathAnswer::Elsewhere(location) => {
                on_server(start, &path, &location).into_iter().for_each(|path| paths.add(path, bounds));
            }
            PathAnswer::Refused(status) => crawled.refused.push((path, status)),
        }
        if stop.load(Ordering::Relaxed) {
            crawled.ended = Some("it was interrupted".to_owned());
            break;
        }
        if html_bytes >= bounds.html_bytes_max {
            crawled.ended =
                Some(format!("its pages have more than {} of HTML", Bytes(bounds.html_bytes_max)));
            break;
        }
    }
    crawled.left = paths.waiting.len() + paths.left;
    crawled.too_long = (paths.too_long, paths.first_too_long);
    Ok(crawled)
}

/// Paths that were named: those that wait, and those that would be too many.
#[derive(Debug, Default)]
struct Paths {
    known: BTreeSet<String>,
    waiting: VecDeque<String>,
    bytes: usize,
    left: usize,
    too_long: usize,
    first_too_long: Option<String>,
}

impl Paths {
    fn add(&mut self, path: String, bounds: CrawlLimits) {
        if self.known.contains(&path) {
            return;
        }
        let bytes = self.bytes + path.len();
        let is_full = self.known.len() == bounds.paths_max || bytes > bounds.path_bytes_max;
        if !has_file(&path) {
            self.too_long += 1;
            self.first_too_long.get_or_insert_with(|| path.chars().take(60).collect::<String>() + "…");
            // Each is counted once, as long as there is room to know it again.
            if !is_full {
                self.bytes = bytes;
                self.known.insert(path);
            }
            return;
        }
        if is_full {
            self.left += 1;
            return;
        }
        self.bytes = bytes;
        self.known.insert(path.clone());
        self.waiting.push_back(path);
    }
}

/// The answer to a path.
enum PathAnswer {
    /// An object, and its text if it is HTML.
    Object { size: Bytes, html: Option<String> },
    /// A redirect.
    Elsewhere(String),
    /// Another status.
    Refused(u16),
}

/// Fetches `url`; a second time if the connection was closed, since a server may close one that waits just as
/// a request leaves for it (RFC 9112 section 9.3.1).
fn fetch(agent: &Agent, url: &str, authorization: Option<&str>) -> Result<PathAnswer, ureq::Error> {
    match fetch_once(agent, url, authorization) {
        Err(ureq::Error::Io(_)) => fetch_once(agent, url, authorization),
        ended => ended,
    }
}

fn fetch_once(agent: &Agent, url: &str, authorization: Option<&str>) -> Result<PathAnswer, ureq::Error> {
    let request = agent.get(url);
    let mut response = match authorization {
        Some(value) => request.header(header::AUTHORIZATION, value).call()?,
        None => request.call()?,
    };
    let status = response.status().as_u16();
    if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, field(&response, header::LOCATION)) {
        return Ok(PathAnswer::Elsewhere(location.to_owned()));
    }
    if status != 200 {
        return Ok(PathAnswer::Refused(status));
    }
    let is_html = field(&response, header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"));
    let mut body = response.body_mut().as_reader();
    let mut html = Vec::new();
    if is_html {
        body.by_ref().take(HTML_BYTES_MAX).read_to_end(&mut html)?;
    }
    let rest = io::copy(&mut body, &mut io::sink())?;
    let size = Bytes(html.len() as u64 + rest);
    Ok(PathAnswer::Object { size, html: is_html.then(|| String::from_utf8_lossy(&html).into_owned()) })
}

fn field(response: &Response<Body>, name: header::HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// The path that a redirect from `path` leads to, if it stays on the server.
fn on_server(start: &Url, path: &str, location: &str) -> Option<String> {
    match location.parse::<Url>() {
        Ok(url) if (url.host(), url.port()) == (start.host(), start.port()) => {
            url.path().split('?').next().filter(|path| is_path(path)).map(str::to_owned)
        }
        Ok(_) => None,
        Err(_) => named(&format!("<a href=\"{location}\">"), path).last(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    /// A site that names paths without end, and some that no file can have.
    #[test]
    fn paths_of_a_crawl_are_bounded() {
        let objects_max = NonZeroU32::new(10).expect("ten");
        let bounds = CrawlLimits { paths_max: 100, path_bytes_max: 10_000, ..CrawlLimits::of(objects_max) };
        let mut many = Paths::default();
        (0..1_000).for_each(|number| many.add(format!("/{number}"), bounds));
        assert_eq!((many.waiting.len(), many.left), (100, 900));
        let mut long = Paths::default();
        (0..1_000).for_each(|number| long.add(format!("/{number:0200}"), bounds));
        assert!(long.bytes <= 10_000 && long.left > 900);
        let mut unfit = Paths::default();
        for path in [format!("/{}", "n".repeat(256)), format!("/a/{}/b", "n".repeat(300)), "/n".repeat(2_000)]
        {
            unfit.add(path, bounds);
        }
        unfit.add(format!("/{}", "n".repeat(255)), bounds);
        assert_eq!((unfit.waiting.len(), unfit.left + unfit.too_long), (1, 3));
    }

    /// Crawls a server that answers each path with this page; `None` if the path is not there.
    fn crawled(page: fn(&str) -> Option<Vec<u8>>, bounds: CrawlLimits) -> CrawlResult {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let start = format!("http://{}/", listener.local_addr().expect("an address"));
        let serve = move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.expect("a connection"));
                let mut line = String::new();
                stream.read_line(&mut line).expect("a request");
                let path = line.split(' ').nth(1).unwrap_or_default();
                let (status, body) = page(path).map_or((404, Vec::new()), |body| (200, body));
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                // A crawl that is over reads no more.
                let _ = stream.get_mut().write_all(&[head.as_bytes(), &body].concat());
            }
        };
        std::thread::spawn(serve);
        crawl(&start.parse().expect("a URL"), bounds, &AtomicBool::new(false)).expect("a first page")
    }

    /// A page is held and looked at up to a limit; the rest counts as its size.
    #[test]
    fn html_of_a_page_is_read_up_to_its_limit() {
        let page = |path: &str| {
            let mut page = b"<a href=/first>".to_vec();
            page.resize(HTML_BYTES_MAX as usize, b' ');
            page.extend_from_slice(b"<a href=/last>");
            (path == "/").then_some(page)
        };
        let crawled = crawled(page, CrawlLimits::of(NonZeroU32::new(10).expect("ten")));
        assert_eq!(crawled.files[0].html.as_deref().map(str::len), Some(16 << 20));
        assert_eq!(crawled.files[0].size, Bytes((16 << 20) + 14));
        assert_eq!(crawled.refused, [("/first".to_owned(), 404)]);
    }

    /// Pages that lead to others without end: the crawl ends, with what there is, and says why.
    #[test]
    fn html_of_a_crawl_is_bounded() {
        let page = |path: &str| {
            let number: u32 = path.trim_start_matches('/').parse().unwrap_or(0);
            Some(format!("<a href=/{}>{}", number + 1, "x".repeat(1_000)).into_bytes())
        };
        let default = CrawlLimits::of(NonZeroU32::new(10_000).expect("many"));
        assert_eq!(default.html_bytes_max, 256 << 20);
        let crawled = crawled(page, CrawlLimits { html_bytes_max: 50_000, ..default });
        assert_eq!(crawled.files.len(), 50);
        let why = crawled.ended.expect("a reason");
        assert!(why.contains("of HTML"), "{why}");
    }

    /// A server that takes connections and answers none after the first page.
    #[test]
    fn an_answer_that_does_not_come_is_waited_for_so_long() {
        let page = |path: &str| match path {
            "/" => Some((1..9).flat_map(|number| format!("<a href=/{number}>").into_bytes()).collect()),
            _ => loop {
                std::thread::park();
            },
        };
        let default = CrawlLimits::of(NonZeroU32::new(10).expect("ten"));
        assert_eq!((default.answer_timeout, default.broken_max), (Duration::from_secs(30), 3));
        let crawled = crawled(page, CrawlLimits { answer_timeout: Duration::from_millis(50), ..default });
        assert_eq!((crawled.files.len(), crawled.broken.len()), (1, 3), "{:?}", crawled.broken);
        assert!(crawled.broken.iter().all(|(_, why)| why.contains("timeout")), "{:?}", crawled.broken);
        assert_eq!(crawled.ended.as_deref(), Some("3 answers in turn did not come"));
    }

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
