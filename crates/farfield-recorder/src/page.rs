//! Pages of a browser, found in what it asks for: a navigation begins one, and requests that its document
//! refers to are of it.
//!
//! A browser says what it navigates to (`Sec-Fetch-Mode`, Fetch Metadata of the W3C) over https and to the
//! machine itself; elsewhere it asks for a document by its `Accept` and gets HTML, or a redirect. A request
//! is of the page that its `Referer` names, and so is one that refers to a style sheet or a frame of the
//! page. Requests of programs, which say none of this, are of no page.

use crate::exchange::{RecordedExchange, RecordedReply};
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, REFERER};
use std::collections::BTreeMap;

const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The page of each exchange, by the number of the exchange that begins it.
pub(crate) fn pages(exchanges: &[RecordedExchange]) -> Vec<Option<usize>> {
    // Pages by the URLs of their documents, style sheets and frames; a URL that is loaded again is the later
    // page's.
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut last = None;
    let mut found = Vec::with_capacity(exchanges.len());
    for (number, exchange) in exchanges.iter().enumerate() {
        let page = if is_navigation(exchange) {
            last = Some(number);
            last
        } else {
            page_of(exchange, &places, last.map(|page| (page, exchanges[page].url.as_str())))
        };
        if let Some(page) = page.filter(|_| refers(exchange)) {
            places.insert(&exchange.url, page);
        }
        found.push(page);
    }
    found
}

/// True if the exchange is one of a script, as far as it shows: such a request is none that a browser makes
/// for a document by itself.
pub(crate) fn is_scripted(exchange: &RecordedExchange) -> bool {
    field(&exchange.headers, &DESTINATION) == "empty"
        || exchange.reply.as_ref().is_some_and(|reply| media_type(reply).contains("json"))
}

fn is_navigation(exchange: &RecordedExchange) -> bool {
    let headers = &exchange.headers;
    match field(headers, &DESTINATION) {
        "" => {
            let leads_to_html = |reply: &RecordedReply| {
                reply.status.is_redirection() || media_type(reply).starts_with("text/html")
            };
            field(headers, &ACCEPT).contains("text/html")
                && exchange.reply.as_ref().is_some_and(leads_to_html)
        }
        destination => destination == "document" && field(headers, &MODE) == "navigate",
    }
}

/// The page that a request is of, where `last` is the one that was begun last, with its URL.
fn page_of(
    exchange: &RecordedExchange,
    places: &BTreeMap<&str, usize>,
    last: Option<(usize, &str)>,
) -> Option<usize> {
    let referer = field(&exchange.headers, &REFERER);
    let (page, url) = last?;
    if let Some(page) = places.get(referer) {
        return Some(*page);
    }
    // A policy may take the path, or all, from the field.
    let is_origin = referer.ends_with('/') && url.starts_with(referer);
    let is_of_browser = !field(&exchange.headers, &DESTINATION).is_empty();
    (is_origin || referer.is_empty() && is_of_browser).then_some(page)
}

/// True if requests refer to what the reply is: a document or a style sheet.
fn refers(exchange: &RecordedExchange) -> bool {
    let kind = exchange.reply.as_ref().map(media_type).unwrap_or_default();
    kind.starts_with("text/html") || kind.starts_with("text/css")
}

fn media_type(reply: &RecordedReply) -> &str {
    field(&reply.headers, &CONTENT_TYPE)
}

fn field<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::BodyCopy;
    use farfield_base::Instant;
    use http::{HeaderValue, Method, StatusCode, Version};

    fn exchange(url: &str, fields: &[(&'static str, &'static str)], kind: &'static str) -> RecordedExchange {
        let own = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        RecordedExchange {
            began: Instant::ZERO,
            answered: None,
            ended: Instant::ZERO,
            method: Method::GET,
            url: url.to_owned(),
            version: Version::HTTP_11,
            headers: fields.iter().map(own).collect(),
            body: BodyCopy::default(),
            reply: Some(RecordedReply {
                status: StatusCode::OK,
                version: Version::HTTP_11,
                headers: [(CONTENT_TYPE, HeaderValue::from_static(kind))].into_iter().collect(),
                body: BodyCopy::default(),
            }),
            failure: None,
            server: None,
        }
    }

    #[test]
    fn objects_are_of_the_page_that_they_refer_to() {
        let html = ("accept", "text/html,*/*;q=0.8");
        let navigation = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        let all = [
            exchange("http://a/early", &[], "text/plain"),
            exchange("http://a/", &[html], "text/html"),
            exchange("http://a/s.css", &[("referer", "http://a/")], "text/css"),
            exchange("http://a/f.woff", &[("referer", "http://a/s.css")], "font/woff"),
            exchange("http://a/two", &navigation, "text/html"),
            exchange("http://a/late.png", &[("referer", "http://a/")], "image/png"),
            exchange("http://a/x", &[("sec-fetch-dest", "empty")], "text/plain"),
            // A program, beside the browser.
            exchange("http://a/api", &[("accept", "*/*")], "application/json"),
        ];
        let expected = [None, Some(1), Some(1), Some(1), Some(4), Some(1), Some(4), None];
        assert_eq!(pages(&all), expected);
        assert_eq!(all.map(|own| is_scripted(&own)), [false, false, false, false, false, false, true, true]);
    }
}
