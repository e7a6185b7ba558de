//! A generated site: pages that link to each other, each with embedded objects of its own.
//!
//! A page's first object is a style sheet, its second a script, the others images. Object sizes are
//! lognormal with sigma = 1.318, the body of the file sizes of Barford and Crovella 1998 ("Generating
//! representative web workloads for network and server performance evaluation", table 1), whose median is
//! exp(9.357) = 11.6 kB; their Pareto tail is left out, so that one object seldom outweighs all the rest.
//! Every page draws from a stream of its own: a larger site keeps the sizes of the smaller one of the same
//! seed.

use crate::route::{MAX_BODY, ObjectKind};
use farfield_base::Bytes;
use farfield_base::random::{Purpose, Seed, Stream};
use rand::RngExt;
use rand_distr::{Distribution, LogNormal};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Size of a site; as text, keys are in kebab-case and absent ones keep their default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SiteConfig {
    /// Number of pages; none leaves `/` and the paths that describe their reply. Default 10.
    pub pages: u16,
    /// Embedded objects a page. Default 6.
    pub objects_per_page: u8,
    /// The median of the objects' sizes; none is empty or larger than [`MAX_BODY`]. Default 11.6 kB.
    pub median_object_size: Bytes,
}

impl Default for SiteConfig {
    fn default() -> SiteConfig {
        SiteConfig { pages: 10, objects_per_page: 6, median_object_size: Bytes(11_600) }
    }
}

/// Standard deviation of the logarithm of object sizes.
const SIZE_SIGMA: f64 = 1.318;

/// Links from a page to pages drawn at random, besides the one to the next page.
const RANDOM_LINKS: usize = 2;

/// A site, ready to be served.
#[derive(Debug, Clone)]
pub struct Site {
    pages: Vec<Page>,
    objects_per_page: usize,
    index: bytes::Bytes,
}

/// A page and what it embeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    path: String,
    objects: Vec<Object>,
    links: Vec<String>,
    html: bytes::Bytes,
}

/// An embedded object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    path: String,
    size: Bytes,
}

impl Site {
    /// The site of `config` and `seed`: the same for the same two.
    pub fn generate(config: SiteConfig, seed: Seed) -> Site {
        let pages: Vec<Page> = (0..config.pages)
            .map(|number| {
                generate_page(config, usize::from(number), &mut seed.stream(Purpose::Site, number.into()))
            })
            .collect();
        let index = index_html(&pages).into();
        Site { pages, objects_per_page: usize::from(config.objects_per_page), index }
    }

    /// All pages, in order of their numbers.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The page that `/` answers with: what the server offers.
    pub(crate) fn index(&self) -> &bytes::Bytes {
        &self.index
    }

    /// The size of the object of that number, if it is of that kind.
    pub(crate) fn object(&self, number: usize, kind: ObjectKind) -> Option<Bytes> {
        let place = number.checked_rem(self.objects_per_page)?;
        let page = self.pages.get(number / self.objects_per_page)?;
        (kind == kind_at(place)).then(|| page.objects[place].size)
    }
}

impl Page {
    /// The page's path, `/page/N.html`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The size of its HTML.
    pub fn size(&self) -> Bytes {
        Bytes(self.html.len() as u64)
    }

    /// Embedded objects, in the order in which a browser finds them.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Paths of the pages it links to; the first is the next page (after the last, the first).
    pub fn links(&self) -> &[String] {
        &self.links
    }

    pub(crate) fn html(&self) -> &bytes::Bytes {
        &self.html
    }
}

impl Object {
    /// The object's path, `/object/N.css`, `.js` or `.png`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The size of its body.
    pub fn size(&self) -> Bytes {
        self.size
    }
}

/// Kind of the object at `place` on its page.
fn kind_at(place: usize) -> ObjectKind {
    match place {
        0 => ObjectKind::StyleSheet,
        1 => ObjectKind::Script,
        _ => ObjectKind::Image,
    }
}

fn page_path(number: usize) -> String {
    format!("/page/{number}.html")
}

fn generate_page(config: SiteConfig, number: usize, random: &mut Stream) -> Page {
    let per_page = usize::from(config.objects_per_page);
    let objects: Vec<Object> = (0..per_page)
        .map(|place| Object {
            path: format!("/object/{}.{}", number * per_page + place, kind_at(place).extension()),
            size: object_size(config.median_object_size, random),
        })
        .collect();
    let pages = usize::from(config.pages);
    let next = (number + 1) % pages;
    let others = (0..RANDOM_LINKS).map(|_| random.random_range(0..config.pages).into());
    let links: Vec<String> = std::iter::once(next).chain(others).map(page_path).collect();
    let html = page_html(number, &objects, &links).into();
    Page { path: page_path(number), objects, links, html }
}

fn object_size(median: Bytes, random: &mut Stream) -> Bytes {
    let median = median.0.clamp(1, MAX_BODY.0) as f64;
    let sizes = LogNormal::new(median.ln(), SIZE_SIGMA).expect("the parameters are finite");
    Bytes((sizes.sample(random).round() as u64).clamp(1, MAX_BODY.0))
}

const WRITES: &str = "a String takes whatever is written";

fn page_html(number: usize, objects: &[Object], links: &[String]) -> String {
    let mut html = format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Page {number}</title>\n");
    for (place, Object { path, .. }) in objects.iter().enumerate() {
        match kind_at(place) {
            ObjectKind::StyleSheet => writeln!(html, "<link rel=\"stylesheet\" href=\"{path}\">"),
            ObjectKind::Script => writeln!(html, "<script src=\"{path}\"></script>"),
            ObjectKind::Image => writeln!(html, "<img src=\"{path}\" alt=\"\">"),
        }
        .expect(WRITES);
    }
    writeln!(html, "<h1>Page {number}</h1>\n<p>Leads to:").expect(WRITES);
    for link in links {
        writeln!(html, "<a href=\"{link}\">{link}</a>").expect(WRITES);
    }
    html
}

fn index_html(pages: &[Page]) -> String {
    let mut html = String::from(INDEX_HEAD);
    for Page { path, objects, .. } in pages {
        writeln!(html, "<li><a href=\"{path}\">{path}</a> with {} objects", objects.len()).expect(WRITES);
    }
    html.push_str("</ul>\n");
    html
}

const INDEX_HEAD: &str = r#"<!doctype html>
<meta charset="utf-8">
<title>farfield origin</title>
<h1>farfield origin</h1>
<p>A web server to be measured. It offers:
<ul>
<li><a href="/bytes/64KiB">/bytes/N</a>: N bytes
<li><a href="/chunked/64KiB">/chunked/N</a>: N bytes in the chunked coding
<li><a href="/delay/100">/delay/MS</a>: an empty reply after MS milliseconds
<li><a href="/events/20/50/600">/events/N/GAP/PAUSE</a>: N server-sent events, GAP milliseconds apart, with a PAUSE in the middle
<li><a href="/status/404">/status/CODE</a>: an empty reply with that status
<li>/websocket: a WebSocket whose messages come back; /websocket/N/GAP/PAUSE: one that sends N
<li>/echo-length: how many bytes the request's body had
</ul>
<p>Its pages:
<ul>
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn site(pages: u16, objects_per_page: u8) -> Site {
        Site::generate(SiteConfig { pages, objects_per_page, ..SiteConfig::default() }, Seed(1))
    }

    fn paths(page: &Page) -> Vec<&str> {
        page.objects().iter().map(Object::path).collect()
    }

    #[test]
    fn pages_and_objects_are_numbered_in_order() {
        let site = site(3, 4);
        assert_eq!(site.pages()[2].path(), "/page/2.html");
        assert_eq!(
            paths(&site.pages()[0]),
            ["/object/0.css", "/object/1.js", "/object/2.png", "/object/3.png"]
        );
        assert_eq!(
            paths(&site.pages()[1]),
            ["/object/4.css", "/object/5.js", "/object/6.png", "/object/7.png"]
        );
    }

    #[test]
    fn every_listed_object_is_found_by_its_number_and_kind_only() {
        let site = site(3, 4);
        for (number, object) in site.pages().iter().flat_map(Page::objects).enumerate() {
            let kind = kind_at(number % 4);
            assert_eq!(site.object(number, kind), Some(object.size()));
        }
        assert_eq!(site.object(0, ObjectKind::Image), None);
        assert_eq!(site.object(12, ObjectKind::StyleSheet), None);
    }

    #[test]
    fn html_names_what_the_page_lists() {
        let site = site(5, 6);
        for page in site.pages() {
            let html = std::str::from_utf8(page.html()).unwrap();
            let named = |path: &str| html.contains(&format!("\"{path}\""));
            assert!(page.objects().iter().all(|object| named(object.path())), "{html}");
            assert!(page.links().iter().all(|link| named(link)), "{html}");
            assert_eq!(html.matches("src=").count() + html.matches("rel=").count(), 6);
        }
        assert_eq!(site.pages()[4].links()[0], "/page/0.html");
    }

    #[test]
    fn the_seed_is_the_site() {
        let generate = |seed| Site::generate(SiteConfig::default(), Seed(seed));
        assert_eq!(generate(9).pages(), generate(9).pages());
        assert_ne!(generate(9).pages(), generate(10).pages());
    }

    #[test]
    fn a_larger_site_keeps_the_objects_of_the_smaller() {
        let (small, large) = (site(2, 6), site(20, 6));
        let objects = |site: &Site| {
            site.pages()[..2].iter().flat_map(|page| page.objects().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(objects(&small), objects(&large));
    }

    /// The logarithms of sizes have the mean and deviation of the lognormal, within five standard errors.
    #[test]
    fn sizes_are_lognormal() {
        let logs: Vec<f64> = site(2000, 10)
            .pages()
            .iter()
            .flat_map(Page::objects)
            .map(|object| (object.size().0 as f64).ln())
            .collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((mean - 11_600f64.ln()).abs() < 5.0 * SIZE_SIGMA / count.sqrt(), "mean {mean}");
        assert!(
            (deviation - SIZE_SIGMA).abs() < 5.0 * SIZE_SIGMA / (2.0 * count).sqrt(),
            "sigma {deviation}"
        );
    }

    #[test]
    fn a_site_may_lack_pages_or_objects() {
        assert!(site(0, 6).pages().is_empty());
        assert_eq!(site(0, 6).object(0, ObjectKind::StyleSheet), None);
        assert_eq!(site(1, 0).object(0, ObjectKind::StyleSheet), None);
        assert_eq!(site(1, 0).pages()[0].links(), ["/page/0.html"; 3]);
    }

    #[test]
    fn sizes_stay_in_range_for_any_median() {
        for median in [0, u64::MAX] {
            let config = SiteConfig { median_object_size: Bytes(median), ..SiteConfig::default() };
            let site = Site::generate(config, Seed(1));
            assert!(
                site.pages().iter().flat_map(Page::objects).all(|o| (1..=MAX_BODY.0).contains(&o.size().0))
            );
        }
    }
}
