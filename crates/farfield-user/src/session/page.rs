//! Objects that a page embeds, found as its HTML arrives, as a browser does it: images, scripts, style
//! sheets, icons, frames, media.
//!
//! A kept parser (lol_html) reads the pieces as they come, wherever they are cut. Not done: what style sheets
//! and scripts ask for, `srcset` beside `src`, and what frames embed in their turn.

use farfield_traffic::session::query::Css;
use lol_html::html_content::Element as AnyElement;
use lol_html::send::{ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{HandlerTypes, MemorySettings};
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that the parser may take: a tag that is longer is no page's.
const PARSER_BYTES_MAX: usize = 256 * 1024;

/// The elements that embed something, and the base that what they name is relative to.
pub(crate) fn embedding() -> Css {
    let elements = "base[href], img, script[src], link[rel], iframe[src], frame[src], embed[src], source[src], \
                    audio[src], video, track[src], input[type=image], object[data]";
    Css::try_from(elements.to_owned()).expect("types and attributes are a selector")
}

/// Something that a page names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageReference {
    /// The base of all references that follow.
    Base(String),
    /// Something embedded.
    Object(String),
}

/// The parser, which could also rewrite what it reads.
type Parser = HtmlRewriter<'static, fn(&[u8])>;

/// Reads one page.
pub(crate) struct Scanner {
    /// Gone once the page turned out to be no HTML.
    parser: Option<Parser>,
    // The parser's handlers must be free to go to another thread, though they never do.
    named: Arc<Mutex<Vec<PageReference>>>,
    /// The page has said what it is relative to.
    has_base: bool,
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner").finish_non_exhaustive()
    }
}

impl Scanner {
    /// A scanner for a page, with the selector that [`embedding`] gives.
    pub fn new(embedding: &Css) -> Scanner {
        let named = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&named);
        let handlers = ElementContentHandlers::default().element(
            move |element: &mut lol_html::send::Element<'_, '_>| {
                if let Some(named) = names(element) {
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(named);
                }
                Ok(())
            },
        );
        let settings = Settings::new_send()
            .with_strict(false)
            .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(PARSER_BYTES_MAX))
            .append_element_content_handler((Cow::Borrowed(embedding.selector()), handlers));
        let nowhere: fn(&[u8]) = |_| {};
        Scanner { parser: Some(HtmlRewriter::new(settings, nowhere)), named, has_base: false }
    }

    /// Reads a piece of the page: what it names, in order.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<PageReference> {
        if let Some(parser) = &mut self.parser
            && parser.write(bytes).is_err()
        {
            self.parser = None;
        }
        let mut named = std::mem::take(&mut *self.named.lock().unwrap_or_else(PoisonError::into_inner));
        // The first base counts (WHATWG HTML section 4.2.3).
        named.retain(|one| {
            !matches!(one, PageReference::Base(_)) || !std::mem::replace(&mut self.has_base, true)
        });
        named
    }
}

/// The reference of an element.
fn names<H: HandlerTypes>(element: &AnyElement<'_, '_, H>) -> Option<PageReference> {
    let attribute = |name: &str| {
        let value = element.get_attribute(name)?;
        Some(htmlize::unescape_attribute(&value).trim().to_owned()).filter(|value| !value.is_empty())
    };
    let object = match element.tag_name().as_str() {
        "base" => return attribute("href").map(PageReference::Base),
        "object" => attribute("data"),
        "img" => attribute("src").or_else(|| first_candidate(&attribute("srcset")?)),
        "link" => {
            let fetched = ["stylesheet", "icon", "preload", "modulepreload"];
            let rel = attribute("rel").unwrap_or_default().to_ascii_lowercase();
            let words = || rel.split_ascii_whitespace();
            let wanted =
                words().any(|word| fetched.contains(&word)) && !words().any(|word| word == "alternate");
            attribute("href").filter(|_| wanted)
        }
        "video" => {
            if let Some(poster) = attribute("poster") {
                return Some(PageReference::Object(poster));
            }
            attribute("src")
        }
        _ => attribute("src"),
    };
    object.map(PageReference::Object)
}

/// The first of an image's candidates (WHATWG HTML section 4.8.4.2.1).
fn first_candidate(srcset: &str) -> Option<String> {
    let first = srcset.split_ascii_whitespace().next()?;
    Some(first.trim_end_matches(',').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = "<!doctype html><head><base href='/in/'><link rel='Stylesheet' href=a.css><link rel=next href=n>\
        <link rel='alternate stylesheet' href=no><link rel='shortcut icon' href=i.ico><script src='b.js?x&amp;y'></script>\
        <script>'<img src=no>'</script></head><!-- <img src=no> --><body><img alt='>' src=\"c.png\"><img srcset='d.png 2x, e.png'>\
        <a href=no><iframe src=f.html></iframe><video poster=g.jpg><source src=h.mp4></video><img><img src=''>\
        <input type=image src=j.png><textarea><img src=no></textarea><object data=k>";

    fn read(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<PageReference> {
        let mut scanner = Scanner::new(&embedding());
        pieces.into_iter().flat_map(|piece| scanner.read(piece.as_ref())).collect()
    }

    #[test]
    fn finds_what_a_browser_would_fetch() {
        let mut expected = vec![PageReference::Base("/in/".into())];
        let objects =
            ["a.css", "i.ico", "b.js?x&y", "c.png", "d.png", "f.html", "g.jpg", "h.mp4", "j.png", "k"];
        expected.extend(objects.map(|object| PageReference::Object(object.to_owned())));
        assert_eq!(read([PAGE]), expected);
    }

    #[test]
    fn finds_it_as_soon_as_it_is_there() {
        let mut scanner = Scanner::new(&embedding());
        assert_eq!(scanner.read(b"<p><img src=a.png"), []);
        assert_eq!(scanner.read(b"><p>"), [PageReference::Object("a.png".into())]);
    }

    proptest! {
        #[test]
        fn wherever_it_is_cut_it_names_the_same(cuts in prop::collection::vec(0..PAGE.len(), 0..20)) {
            let mut cuts = cuts;
            cuts.extend([0, PAGE.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &PAGE.as_bytes()[pair[0]..pair[1]]);
            prop_assert_eq!(read(pieces), read([PAGE]));
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read([bytes]);
        }
    }
}
