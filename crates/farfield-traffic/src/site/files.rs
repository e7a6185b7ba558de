//! A site as a folder of files, and a site from a folder that exists.
//!
//! Opening and writing files is left to the caller; names and texts are made here.

use super::html::{self, Reference};
use super::{Object, ObjectKind, PageLink, Site, SiteError, SitePage, path};
use farfield_base::{Bytes, Duration};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the file that holds all of a site, beside its objects: JSON.
pub const MANIFEST: &str = "site.json";

/// The name of the page that links to all others, where the site has none of that name.
pub const INDEX: &str = "index.html";

/// A file of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Path below the folder, with `/` between the parts and none in front.
    pub path: String,
    /// Size.
    pub size: Bytes,
    /// Text, if it is HTML. Invalid UTF-8 may be replaced.
    pub html: Option<String>,
}

/// The site that `files` make up, in the order of their paths.
///
/// Pages are the HTML files and whatever these link to, all asked for alike, every link followed alike: how
/// popular they are, files do not have. What leads elsewhere is left out, and so is a page inside a page that
/// has something inside itself. A [`MANIFEST`] is no object. Blanks and the like in a path are
/// percent-encoded.
pub fn read(mut files: Vec<FoundFile>) -> Result<Site, SiteError> {
    files.retain(|file| file.path != MANIFEST);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let objects: Vec<Object> = files
        .iter()
        .map(|file| {
            let path = encoded(&format!("/{}", file.path));
            let kind = if file.html.is_some() { ObjectKind::Html } else { ObjectKind::of_path(&path) };
            Object { kind, path, size: file.size, cost: Duration::ZERO }
        })
        .collect();
    let place: BTreeMap<&str, u32> = objects.iter().map(|o| o.path.as_str()).zip(0..).collect();
    let found: Vec<PageObjects> = files
        .iter()
        .zip(&objects)
        .map(|(file, object)| match &file.html {
            Some(text) => PageObjects::in_page(text, &object.path, &place),
            None => PageObjects::default(),
        })
        .collect();
    let linked: BTreeSet<u32> = found.iter().flat_map(|found| found.links.iter().copied()).collect();
    let is_page = |at: &u32| files[*at as usize].html.is_some() || linked.contains(at);
    let all = 0..objects.len() as u32;
    let mut pages: Vec<u32> = all.clone().filter(is_page).collect();
    if pages.is_empty() {
        pages = all.collect();
    }
    let page_of: BTreeMap<u32, u32> = pages.iter().copied().zip(0..).collect();
    let alone = |at: &&u32| found[**at as usize].embedded.is_empty();
    let pages = pages.iter().map(|at| {
        let PageObjects { embedded, links } = &found[*at as usize];
        let embedded = embedded.iter().filter(alone).copied().collect();
        let links = links.iter().map(|to| PageLink { page: page_of[to], weight: 1.0 }).collect();
        SitePage::new(*at, 1.0, embedded, links)
    });
    Site::new(0, objects.clone(), pages.collect(), None)
}

/// The paths that the page at `own` names, with what `html` it has: what it embeds and where its links lead
/// on the same server, in order, without what stands behind a `?`. One at a time, since a page from a
/// stranger may name millions.
pub fn named(html: &str, own: &str) -> impl Iterator<Item = String> {
    html::references(html).into_iter().filter_map(move |reference| match reference {
        Reference::Embedded(to) | Reference::Link(to) => resolved(own, &to),
    })
}

/// Indices of the objects that a page names, each once and in order.
#[derive(Debug, Default)]
struct PageObjects {
    embedded: Vec<u32>,
    links: Vec<u32>,
}

impl PageObjects {
    fn in_page(text: &str, own: &str, place: &BTreeMap<&str, u32>) -> PageObjects {
        let mut found = PageObjects::default();
        let mut seen = BTreeSet::new();
        for reference in html::references(text) {
            let (to, list, is_link) = match &reference {
                Reference::Embedded(to) => (to, &mut found.embedded, false),
                Reference::Link(to) => (to, &mut found.links, true),
            };
            let Some(path) = resolved(own, to) else { continue };
            let index = format!("{}/{INDEX}", path.trim_end_matches('/'));
            let at = place.get(path.as_str()).or_else(|| place.get(index.as_str()));
            if let Some(at) = at.filter(|at| path != own && seen.insert((is_link, **at))) {
                list.push(*at);
            }
        }
        found
    }
}

/// The path that `to` means in a page at `own`; none if it leads elsewhere (RFC 3986 section 5.2, without
/// hosts), or to what is no path of a site, such as one with empty parts.
fn resolved(own: &str, to: &str) -> Option<String> {
    let to = to.split(['?', '#']).next().unwrap_or_default().trim();
    let scheme = to.split('/').next().unwrap_or_default().contains(':');
    if to.is_empty() || scheme || to.starts_with("//") {
        return None;
    }
    let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = if to.starts_with('/') { to.to_owned() } else { format!("{folder}/{to}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/').skip(1) {
        // Dots may be percent-encoded, and are dots then (RFC 3986, section 6.2.2.2).
        match path::decoded(part).as_slice() {
            b"." => {}
            b".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Some(encoded(&format!("/{}", parts.join("/")))).filter(|path| path::is_path(path))
}

/// `path` with all that a request's target cannot have percent-encoded. What is encoded already stays.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::with_capacity(path.len()), |mut text, byte| {
        if byte.is_ascii_graphic() && !b"?#\"<>\\'&".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<FoundFile> {
        let file = |(path, text): &(&str, &str)| FoundFile {
            path: (*path).to_owned(),
            size: Bytes(text.len() as u64),
            html: (ObjectKind::of_path(path) == ObjectKind::Html).then(|| (*text).to_owned()),
        };
        files.iter().map(file).collect()
    }

    #[test]
    fn a_folder_becomes_a_site() {
        let site = read(files(&[
            (
                "index.html",
                "<img src=a%20b.png><a href=sub/>in</a><a href='http://x/'>out</a><a href='#top'>up</a>",
            ),
            (
                "sub/index.html",
                "<link rel=stylesheet href=../s.css><img src=/s.css><a href=../doc.pdf?x>d</a>",
            ),
            ("a b.png", "12345"),
            ("s.css", "a{}"),
            ("doc.pdf", "1234567"),
            ("never.bin", ""),
            ("site.json", "{}"),
        ]))
        .expect("a site");
        let paths: Vec<&str> = site.objects().iter().map(|object| object.path.as_str()).collect();
        assert_eq!(
            paths,
            ["/a%20b.png", "/doc.pdf", "/index.html", "/never.bin", "/s.css", "/sub/index.html"]
        );
        let pages: Vec<(u32, Vec<u32>, Vec<u32>)> = site
            .pages()
            .iter()
            .map(|p| (p.object, p.embedded.clone(), p.links.iter().map(|link| link.page).collect()))
            .collect();
        assert_eq!(pages, [(1, vec![], vec![]), (2, vec![0], vec![2]), (5, vec![4], vec![0])]);
        assert_eq!(site.objects()[0].size, Bytes(5));
    }

    #[test]
    fn files_without_html_are_each_a_page() {
        let site = read(files(&[("b.bin", "1"), ("a.bin", "22")])).expect("a site");
        assert_eq!(site.pages().len(), 2);
        assert_eq!(read(Vec::new()), Err(SiteError::Empty));
    }

    #[test]
    fn pages_inside_pages_are_no_loop() {
        let site = read(files(&[("a.html", "<iframe src=b.html>"), ("b.html", "<iframe src=a.html>")]));
        assert!(site.expect("a site").pages().iter().all(|page| page.embedded.is_empty()));
    }
}
