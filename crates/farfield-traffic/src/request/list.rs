//! Lists of requests in a file: a request a line, as `[METHOD] PATH` or with a whole URL; with header fields
//! and a body on the lines after it, as vegeta's targets have them; or a sitemap.
//!
//! ```text
//! GET http://shop.test/a
//! Accept: text/html
//!
//! POST http://shop.test/b
//! @body.json
//! ```
//!
//! URLs must be of the target, or, where that is not known, all of one server: what is left of them is the
//! path. Comments begin with `#`. Fields and bodies belong to a request whose method is written out, as
//! vegeta has it: in a list of paths, `localhost:8080/a` is no field but a URL without its scheme.

use super::parts::{self, BodySpec, RequestTarget};
use super::spec::RequestSpec;
use crate::file::{self, BYTE_ORDER_MARK, FileError, Load, without_comment};
use http::Method;
use std::path::{Path, PathBuf};
use url::{Position, Url};

/// The requests of the file at `path`, for `target`, as a Host field has it, where that is known, and for the
/// hosts `beside` it, by the roots of their URLs.
pub(super) fn read(
    path: &Path,
    load: &mut Load<'_>,
    target: Option<&str>,
    beside: &[String],
) -> Result<Vec<RequestSpec>, FileError> {
    let whole = |problem: &str| FileError::Whole { path: path.to_owned(), problem: problem.to_owned() };
    let text = String::from_utf8(file::read(path, load)?)
        .map_err(|_| whole("is not UTF-8 text; write one request a line"))?;
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    let beside = beside.iter().filter_map(|root| Url::parse(root).ok()).collect();
    let server = target.map(str::to_owned);
    let mut list = List { server, beside, requests: Vec::new(), takes_fields: false };
    let wrong = |line, problem| FileError::Line { path: path.to_owned(), line, problem };
    if text.trim_start().starts_with('<') {
        for (line, url) in locations(text).map_err(whole)? {
            list.location(&url).map_err(|problem| wrong(line, problem))?;
        }
    } else {
        for (at, line) in text.lines().enumerate() {
            let entry = without_comment(line).trim();
            if !entry.is_empty() {
                list.take(entry).map_err(|problem| wrong(at + 1, problem))?;
            }
        }
    }
    match list.requests.is_empty() {
        true => Err(whole("holds no request; write one `[METHOD] PATH` a line")),
        false => Ok(list.requests),
    }
}

struct List {
    /// The server that URLs must be of.
    server: Option<String>,
    /// Hosts that they may be of as well.
    beside: Vec<Url>,
    requests: Vec<RequestSpec>,
    /// Fields and a body may follow the last request.
    takes_fields: bool,
}

impl List {
    /// A request, or a field or the body of the one before.
    fn take(&mut self, entry: &str) -> Result<(), String> {
        let last = self.requests.last_mut().filter(|_| self.takes_fields);
        if let (Some(file), Some(request)) = (entry.strip_prefix('@'), last) {
            request.body = Some(BodySpec::File(PathBuf::from(file.trim())));
            return Ok(());
        }
        let last = self.requests.last_mut().filter(|_| self.takes_fields);
        if let (Some((name, value)), Some(request)) = (field(entry), last) {
            return request.headers.push(name, value).map_err(|error| error.to_string());
        }
        let (method, target) = match entry.split_once(char::is_whitespace) {
            Some((method, target)) => {
                (parts::method(method).map_err(|error| error.to_string())?, target.trim_start())
            }
            None => (Method::GET, entry),
        };
        self.takes_fields = target.len() < entry.len();
        // A URL within the query of a path is none of its own.
        let path = match !target.starts_with('/') && target.contains("://") {
            true => self.path(target)?,
            false => target.to_owned(),
        };
        let path = RequestTarget::try_from(path).map_err(|error| error.to_string())?;
        self.requests.push(RequestSpec { method, ..RequestSpec::get(path) });
        Ok(())
    }

    /// A URL of a sitemap, which is nothing else: no field, no file and no comment.
    fn location(&mut self, url: &str) -> Result<(), String> {
        let path = RequestTarget::try_from(self.path(url)?).map_err(|error| error.to_string())?;
        self.requests.push(RequestSpec::get(path));
        Ok(())
    }

    /// The path and query of a URL, if it is of the server, and the whole URL if it is of a host beside it.
    fn path(&mut self, text: &str) -> Result<String, String> {
        let url = Url::parse(text).map_err(|error| format!("`{text}` is no URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{text}`: farfield speaks http:// and https://"));
        }
        if self.beside.iter().any(|host| host.origin() == url.origin()) {
            let path = &url[Position::BeforePath..Position::AfterQuery];
            return Ok(url.origin().ascii_serialization() + path);
        }
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        let server = self.server.get_or_insert_with(|| authority.to_owned());
        let bare = |server: &str| {
            let port = [":80", ":443"].iter().find_map(|port| server.strip_suffix(port));
            port.unwrap_or(server).to_ascii_lowercase()
        };
        if bare(server) != bare(authority) {
            return Err(format!(
                "`{text}` is of another server than {server}, which the run asks; leave it out, or name its host with \
                 `[[host]]`"
            ));
        }
        Ok(url[Position::BeforePath..Position::AfterQuery].to_owned())
    }
}

/// A header field: a name of letters, digits and hyphens, and a colon with a blank or nothing behind it.
fn field(entry: &str) -> Option<(&str, &str)> {
    let (name, value) = entry.split_once(':')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_name && !value.starts_with("//")).then(|| (name, value.trim()))
}

/// The URLs of a sitemap (sitemaps.org, 0.9), each with its line.
fn locations(text: &str) -> Result<Vec<(usize, String)>, &'static str> {
    if text.contains("<sitemapindex") {
        return Err("is an index of sitemaps; name one of those");
    }
    if !text.contains("<urlset") {
        return Err("is XML, but no sitemap: there is no `<urlset>`");
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find("<loc>").map(|at| from + at + "<loc>".len()) {
        let end = text[begin..].find("</loc>").ok_or("has a `<loc>` without an end")? + begin;
        if text[begin..end].contains('<') {
            return Err("has a `<loc>` with markup in it");
        }
        let url = text[begin..end].trim().replace("&lt;", "<").replace("&gt;", ">");
        let url = url.replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&");
        found.push((1 + text[..begin].matches('\n').count(), url));
        from = end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str, target: Option<&str>) -> Result<Vec<String>, String> {
        let mut load = |_: &Path| Ok(text.as_bytes().to_vec());
        let requests = read(Path::new("l.txt"), &mut load, target, &["https://cdn.test/".to_owned()])
            .map_err(|error| error.to_string())?;
        let shown = requests.iter().map(|request| {
            let fields = request.headers.fields().iter();
            let fields: String =
                fields.map(|(name, value)| format!(" {name}={}", value.to_str().expect("text"))).collect();
            let body = match &request.body {
                Some(BodySpec::File(path)) => format!(" @{}", path.display()),
                _ => String::new(),
            };
            format!("{} {}{fields}{body}", request.method, request.path.as_str())
        });
        Ok(shown.collect())
    }

    #[test]
    fn paths_and_urls_of_the_target() {
        let beside = "https://CDN.test:443/x?y\n/z\nhttps://cdn.test/\n";
        let expected = ["GET https://cdn.test/x?y", "GET /z", "GET https://cdn.test/"].map(str::to_owned);
        assert_eq!(listed(beside, Some("shop.test")), Ok(expected.to_vec()));
        assert!(listed("http://cdn.test/", Some("shop.test")).is_err(), "of another scheme");
        let text = "\u{feff}/a # one\nPOST /b\n\nhttp://Shop.test:80/c?d#e\nGET https://shop.test/ü\n";
        let expected = ["GET /a", "POST /b", "GET /c?d", "GET /%C3%BC"].map(str::to_owned).to_vec();
        for target in [Some("shop.test"), Some("SHOP.test:443"), None] {
            assert_eq!(listed(text, target), Ok(expected.clone()), "{target:?}");
        }
        let other = listed(text, Some("127.0.0.1:9101")).expect_err("another server");
        assert!(
            other.starts_with("l.txt:4: `http://Shop.test:80/c?d") && other.contains("127.0.0.1:9101"),
            "{other}"
        );
        assert!(listed("http://a/\nhttp://b/\n", None).expect_err("two servers").starts_with("l.txt:2: "));
        assert_eq!(listed("/go?to=http://b/x\n", None), Ok(vec!["GET /go?to=http://b/x".to_owned()]));
        assert!(listed("ftp://a/\n", None).expect_err("a scheme").starts_with("l.txt:1: "));
    }

    #[test]
    fn targets_of_vegeta() {
        let text = "# comment\nGET http://127.0.0.1:9101/a\nX-A: 1\nX-B:2\n\nPOST http://127.0.0.1:9101/b\n@body.json\n/c\n";
        assert_eq!(
            listed(text, Some("127.0.0.1:9101")),
            Ok(["GET /a x-a=1 x-b=2", "POST /b @body.json", "GET /c"].map(str::to_owned).to_vec())
        );
        assert!(listed("X-A: 1\n/a\n", None).is_err() && listed("@x\n", None).is_err(), "of no request");
        // Of a request without a method there are none: these are URLs that lack something.
        for text in ["/a\nlocalhost:8080/b\n", "http://localhost:8080/a\nlocalhost:8080/b\n", "/a\n@b\n"] {
            let error = listed(text, None).expect_err(text);
            assert!(error.starts_with("l.txt:2: "), "{error}");
        }
    }

    #[test]
    fn sitemaps() {
        let text = "<?xml version=\"1.0\"?>\n<urlset xmlns=\"x\">\n<url><loc>https://shop.test/a?b&amp;c</loc></url>\n\
                    <url><loc>\n https://shop.test/d </loc><priority>1</priority></url>\n</urlset>\n";
        assert_eq!(listed(text, None), Ok(vec!["GET /a?b&c".to_owned(), "GET /d".to_owned()]));
        let elsewhere = listed(text, Some("other.test")).expect_err("another server");
        assert!(elsewhere.starts_with("l.txt:3: "), "{elsewhere}");
        assert!(listed("<sitemapindex/>", None).expect_err("an index").contains("index of sitemaps"));
        assert!(listed("<html>", None).expect_err("a page").contains("no sitemap"));
        // A location is a URL, and nothing that a list of lines has besides.
        let all = |own: &str| format!("<urlset><loc>http://a/b</loc><loc>{own}</loc></urlset>");
        for own in
            ["# no comment", "POST /a", "Host: b", "@/etc/passwd", "/a", "", "ftp://a/", "POST http://a/b"]
        {
            assert!(listed(&all(own), None).expect_err(own).starts_with("l.txt:1: "), "{own}");
        }
        assert_eq!(listed(&all("http://a/c#d"), None).map(|all| all.len()), Ok(2));
    }
}
