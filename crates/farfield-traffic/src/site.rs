//! Sites: the objects that a server has, the pages that they make up, the links between pages, and their
//! popularity.
//!
//! - [`model`]: a site as a few distributions, and the presets with the papers' parameters;
//! - [`generate`]: a site from a model and a seed;
//! - [`figures`]: statistics of a site, for comparison with those of a paper;
//! - [`content`], [`html`]: the bytes of each object, of exactly its size;
//! - [`files`]: a site as files, and a site read from files; [`path`]: the location of each object among
//!   them;
//! - [`locality`], [`walk`]: the order of requests for its pages.
//!
//! A site takes some 120 bytes an object, 4 an embedded reference and 16 a link; at most
//! [`Site::OBJECTS_MAX`] objects and [`Site::REFERENCES_MAX`] references and links, so that none exceeds half
//! a gigabyte. Contents are not held: they follow from the seed.

pub mod content;
pub mod figures;
pub mod files;
pub mod generate;
pub mod html;
pub mod locality;
mod matching;
pub mod model;
pub mod path;
pub mod walk;

pub use figures::SiteFigures;
pub use model::{Preset, SiteModel, SiteModelSpec};

use crate::distribution::DistributionSpec;
use farfield_base::{Bytes, Duration};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Kind of an object, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// HTML.
    Html,
    /// A style sheet.
    StyleSheet,
    /// A script.
    Script,
    /// A picture.
    Image,
    /// Anything else, taken as it is.
    Other,
}

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Path, from the `/`.
    pub path: String,
    /// Kind of the object.
    pub kind: ObjectKind,
    /// The size of its body.
    pub size: Bytes,
    /// Work of a server on it, beside sending it; none for a file.
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Duration,
}

fn is_free(cost: &Duration) -> bool {
    cost.is_zero()
}

/// Page: an object that users click, with its embedded objects and links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SitePage {
    /// Index among the objects.
    pub object: u32,
    /// Frequency of requests, in any unit: from 0 up.
    pub weight: f64,
    /// Frequency of walks that start with it, in any unit that all pages share: from 0 up. Its weight by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<f64>,
    /// The places of the objects that it embeds, in the order in which a browser comes upon them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedded: Vec<u32>,
    /// Links to other pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PageLink>,
    /// Views: sets of objects of which each visit fetches one, as caches hold a part. Without any, a visit
    /// fetches all embedded objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<View>,
}

/// View of a page: objects fetched beside the page itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Frequency, in any unit that the page's views share: from 0 up.
    pub weight: f64,
    /// The places of the objects, in the order in which they are asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedded: Vec<u32>,
}

/// A link to a page.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageLink {
    /// The page's place among the pages.
    pub page: u32,
    /// Frequency with which it is followed, in any unit: from 0 up.
    pub weight: f64,
}

/// A site. As text (JSON) it keeps all of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SiteKeys", into = "SiteKeys")]
pub struct Site {
    written: SiteKeys,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteKeys {
    /// Seed of the contents.
    seed: u64,
    /// Distribution of stack distances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    distances: Option<DistributionSpec>,
    objects: Vec<Object>,
    pages: Vec<SitePage>,
}

/// Error of objects and pages that make no site.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// No page.
    #[error("a site has at least one page that is asked for")]
    Empty,
    /// More than the bounds.
    #[error(
        "a site has at most {} objects and {} references and links",
        Site::OBJECTS_MAX,
        Site::REFERENCES_MAX
    )]
    TooLarge,
    /// A path that cannot be one.
    #[error("`{0}` is no path of a site; begin it with `/`, in printable ASCII, without `..`, `?` or `#`")]
    Path(String),
    /// Two objects of one path.
    #[error("there are two objects `{0}`")]
    Twice(String),
    /// A page of, or a reference to, an object that is not there.
    #[error("a page names object {0}, which is not there")]
    NoObject(u32),
    /// A link to a page that is not there.
    #[error("a link leads to page {0}, which is not there")]
    NoPage(u32),
    /// Two pages of one object.
    #[error("object {0} is two pages; write it once")]
    TwoPages(u32),
    /// A page inside a page.
    #[error("object {0} is embedded and embeds others; it can do one of both")]
    Nested(u32),
    /// A weight that is none.
    #[error("a weight is {0}; write a number from 0 up")]
    Weight(f64),
}

impl SitePage {
    /// A page that each look at fetches all of, and that walks start with as often as it is asked for.
    pub fn new(object: u32, weight: f64, embedded: Vec<u32>, links: Vec<PageLink>) -> SitePage {
        SitePage { object, weight, starts: None, embedded, links, views: Vec::new() }
    }

    /// Frequency of walks that start with it.
    pub fn starting(&self) -> f64 {
        self.starts.unwrap_or(self.weight)
    }
}

impl Site {
    /// Objects that a site has at most: 2²⁰.
    pub const OBJECTS_MAX: usize = 1 << 20;
    /// Embedded references and links that it has at most together: 2²⁴.
    pub const REFERENCES_MAX: usize = 1 << 24;

    /// A site of `objects` and `pages`, with contents from `seed` and, where its requests have temporal
    /// locality, the distribution of their stack distances.
    pub fn new(
        seed: u64,
        objects: Vec<Object>,
        pages: Vec<SitePage>,
        distances: Option<DistributionSpec>,
    ) -> Result<Site, SiteError> {
        Site::try_from(SiteKeys { seed, distances, objects, pages })
    }

    /// The seed that contents come from.
    pub fn seed(&self) -> u64 {
        self.written.seed
    }

    /// All objects.
    pub fn objects(&self) -> &[Object] {
        &self.written.objects
    }

    /// All pages. Their weights sum to something above 0.
    pub fn pages(&self) -> &[SitePage] {
        &self.written.pages
    }

    /// The object of a page.
    pub fn object(&self, page: &SitePage) -> &Object {
        &self.written.objects[page.object as usize]
    }

    /// The distribution of stack distances, if the model has one.
    pub fn distances(&self) -> Option<&DistributionSpec> {
        self.written.distances.as_ref()
    }

    /// The page with everything that it embeds.
    pub fn page_bytes(&self, page: &SitePage) -> u64 {
        let embedded = page.embedded.iter().map(|at| self.written.objects[*at as usize].size.0);
        self.object(page).size.0 + embedded.sum::<u64>()
    }
}

impl TryFrom<SiteKeys> for Site {
    type Error = SiteError;

    fn try_from(written: SiteKeys) -> Result<Site, SiteError> {
        let (objects, pages) = (&written.objects, &written.pages);
        let seen = |page: &SitePage| page.views.iter().map(|view| 1 + view.embedded.len()).sum::<usize>();
        let references = pages.iter().map(|page| page.embedded.len() + page.links.len() + seen(page));
        let references: usize = references.sum();
        if objects.len() > Site::OBJECTS_MAX || references > Site::REFERENCES_MAX {
            return Err(SiteError::TooLarge);
        }
        let mut paths = BTreeSet::new();
        for object in objects {
            if !path::is_path(&object.path) {
                return Err(SiteError::Path(object.path.clone()));
            }
            if !paths.insert(&object.path) {
                return Err(SiteError::Twice(object.path.clone()));
            }
        }
        check_pages(objects.len(), pages)?;
        Ok(Site { written })
    }
}

fn check_pages(objects: usize, pages: &[SitePage]) -> Result<(), SiteError> {
    let mut is_page = vec![false; objects];
    let mut embeds = vec![false; objects];
    for page in pages {
        let viewed = page.views.iter().flat_map(|view| &view.embedded);
        let all = std::iter::once(&page.object).chain(&page.embedded).chain(viewed);
        if let Some(missing) = all.into_iter().find(|at| **at as usize >= objects) {
            return Err(SiteError::NoObject(*missing));
        }
        if std::mem::replace(&mut is_page[page.object as usize], true) {
            return Err(SiteError::TwoPages(page.object));
        }
        embeds[page.object as usize] = !page.embedded.is_empty();
    }
    let (mut total, mut starts) = (0.0, 0.0);
    for page in pages {
        if let Some(nested) = page.embedded.iter().find(|at| embeds[**at as usize]) {
            return Err(SiteError::Nested(*nested));
        }
        if let Some(link) = page.links.iter().find(|link| link.page as usize >= pages.len()) {
            return Err(SiteError::NoPage(link.page));
        }
        let weights = [page.weight, page.starting()].into_iter();
        let weights = weights.chain(page.links.iter().map(|link| link.weight));
        let weights = weights.chain(page.views.iter().map(|view| view.weight));
        if let Some(bad) = weights.into_iter().find(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(SiteError::Weight(bad));
        }
        let views: f64 = page.views.iter().map(|view| view.weight).sum();
        let chosen = page.views.is_empty() || views > 0.0 && views.is_finite();
        if !chosen {
            return Err(SiteError::Weight(views));
        }
        total += page.weight;
        starts += page.starting();
    }
    match (total.min(starts), total.max(starts)) {
        (0.0, _) => Err(SiteError::Empty),
        (_, most) if most.is_finite() => Ok(()),
        (_, most) => Err(SiteError::Weight(most)),
    }
}

impl From<Site> for SiteKeys {
    fn from(site: Site) -> SiteKeys {
        site.written
    }
}

impl ObjectKind {
    /// The end of a file's name, without its dot.
    pub const fn extension(self) -> &'static str {
        match self {
            ObjectKind::Html => "html",
            ObjectKind::StyleSheet => "css",
            ObjectKind::Script => "js",
            ObjectKind::Image => "png",
            ObjectKind::Other => "bin",
        }
    }

    /// The kind that a path's end says.
    pub fn of_path(path: &str) -> ObjectKind {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" => ObjectKind::Html,
            "css" => ObjectKind::StyleSheet,
            "js" | "mjs" => ObjectKind::Script,
            "png" | "gif" | "jpg" | "jpeg" | "webp" | "avif" | "svg" | "ico" | "bmp" => ObjectKind::Image,
            _ => ObjectKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(path: &str) -> Object {
        let kind = ObjectKind::of_path(path);
        Object { path: path.to_owned(), kind, size: Bytes(1_000), cost: Duration::ZERO }
    }

    fn page(object: u32, embedded: &[u32], links: &[u32]) -> SitePage {
        let links = links.iter().map(|page| PageLink { page: *page, weight: 1.0 }).collect();
        SitePage::new(object, 1.0, embedded.to_vec(), links)
    }

    fn site(paths: &[&str], pages: Vec<SitePage>) -> Result<Site, SiteError> {
        Site::new(1, paths.iter().map(|path| object(path)).collect(), pages, None)
    }

    #[test]
    fn a_site_reads_back_from_json() {
        let site = site(&["/a.html", "/b.png"], vec![page(0, &[1, 1], &[0])]).expect("a site");
        let text = serde_json::to_string(&site).expect("JSON");
        assert_eq!(serde_json::from_str::<Site>(&text).expect(&text), site);
    }

    #[test]
    fn what_is_no_site_is_refused() {
        let error_of = |paths: &[&str], pages| site(paths, pages).expect_err("no site");
        assert_eq!(error_of(&["/a"], vec![]), SiteError::Empty);
        assert_eq!(error_of(&["a"], vec![page(0, &[], &[])]), SiteError::Path("a".into()));
        for path in ["/a/", "/"] {
            assert!(site(&[path], vec![page(0, &[], &[])]).is_ok(), "{path} is a folder's index");
        }
        for path in ["//", "/../b", "/%2e%2e/b", "/a?b", "/a//b", "/a//", "/a b", "/a\"b"] {
            assert_eq!(error_of(&[path], vec![page(0, &[], &[])]), SiteError::Path(path.into()));
        }
        assert_eq!(error_of(&["/a", "/a"], vec![page(0, &[], &[])]), SiteError::Twice("/a".into()));
        assert_eq!(error_of(&["/a"], vec![page(1, &[], &[])]), SiteError::NoObject(1));
        assert_eq!(error_of(&["/a"], vec![page(0, &[2], &[])]), SiteError::NoObject(2));
        assert_eq!(error_of(&["/a"], vec![page(0, &[], &[1])]), SiteError::NoPage(1));
        assert_eq!(error_of(&["/a"], vec![page(0, &[], &[]), page(0, &[], &[])]), SiteError::TwoPages(0));
        assert_eq!(error_of(&["/a"], vec![page(0, &[0], &[])]), SiteError::Nested(0));
        let weighs = |weight| vec![SitePage { weight, ..page(0, &[], &[]) }];
        assert_eq!(error_of(&["/a"], weighs(-1.0)), SiteError::Weight(-1.0));
        assert_eq!(error_of(&["/a"], weighs(0.0)), SiteError::Empty);
        assert_eq!(
            error_of(&["/a"], vec![SitePage { starts: Some(0.0), ..page(0, &[], &[]) }]),
            SiteError::Empty
        );
        let viewed = |weight, at| {
            let views = vec![View { weight, embedded: vec![at] }];
            vec![SitePage { views, ..page(0, &[], &[]) }]
        };
        assert_eq!(error_of(&["/a"], viewed(0.0, 0)), SiteError::Weight(0.0));
        assert_eq!(error_of(&["/a"], viewed(1.0, 7)), SiteError::NoObject(7));
        assert!(site(&["/a"], viewed(1.0, 0)).is_ok(), "a page that is asked for again at once");
    }
}
