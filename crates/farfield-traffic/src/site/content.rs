//! The bytes of a site's objects: of exactly their sizes, reproducible by the seed.
//!
//! HTML holds the references of its page and is filled with words. Style sheets and scripts are one comment
//! each, so that a browser accepts them. Everything else is random and does not
//! compress.

use super::{ObjectKind, Site, SitePage, html};
use farfield_base::random::{Purpose, Seed, Stream};
use rand::Rng;
use std::io::{self, Write};

/// The contents of a site.
#[derive(Debug)]
pub struct SiteContents<'a> {
    site: &'a Site,
    /// The page that an object is, if any.
    page_of: Vec<Option<&'a SitePage>>,
}

/// Numbers of streams: above those of the site's distributions.
const STREAMS: u64 = 1 << 41;

/// Bytes drawn at once.
const BLOCK: usize = 64 * 1024;

impl<'a> SiteContents<'a> {
    /// The contents of `site`.
    pub fn new(site: &'a Site) -> SiteContents<'a> {
        let mut page_of = vec![None; site.objects().len()];
        site.pages().iter().for_each(|page| page_of[page.object as usize] = Some(page));
        SiteContents { site, page_of }
    }

    /// Writes the object at place `object`: as many bytes as its size says.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(&self, object: u32, to: &mut dyn Write) -> io::Result<()> {
        let at = object as usize;
        let described = &self.site.objects()[at];
        let size = described.size.0;
        let stream = Seed(self.site.seed()).stream(Purpose::Site, STREAMS + u64::from(object));
        match described.kind {
            ObjectKind::Html => {
                let markup = self.page_of[at].map(|page| self.lines(page, size)).unwrap_or_default();
                to.write_all(markup.as_bytes())?;
                words(size - markup.len() as u64, stream, to)
            }
            ObjectKind::StyleSheet | ObjectKind::Script if size >= 4 => {
                to.write_all(b"/*")?;
                words(size - 4, stream, to)?;
                to.write_all(b"*/")
            }
            ObjectKind::StyleSheet | ObjectKind::Script => to.write_all(&b"   "[..size as usize]),
            ObjectKind::Image | ObjectKind::Other => filled(size, stream, to, |_| ()),
        }
    }

    /// As many lines of a page's markup as its size has room for. A generated page has room for all.
    fn lines(&self, page: &SitePage, size: u64) -> String {
        let mut markup = html::markup(self.site.objects(), self.site.pages(), page);
        if markup.len() as u64 > size {
            let room = &markup.as_bytes()[..size as usize];
            let end = room.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            markup.truncate(end);
        }
        markup
    }
}

fn words(size: u64, stream: Stream, to: &mut dyn Write) -> io::Result<()> {
    const LETTERS: &[u8; 32] = b"eeee    ttaaooiinnsshhrrdllucmf\n";
    filled(size, stream, to, |block| {
        block.iter_mut().for_each(|byte| *byte = LETTERS[usize::from(*byte % 32)]);
    })
}

fn filled(size: u64, mut stream: Stream, to: &mut dyn Write, shape: fn(&mut [u8])) -> io::Result<()> {
    let mut block = vec![0; BLOCK.min(size as usize)];
    let mut left = size;
    while left > 0 {
        let now = left.min(block.len() as u64) as usize;
        stream.fill_bytes(&mut block[..now]);
        shape(&mut block[..now]);
        to.write_all(&block[..now])?;
        left -= now as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::html::{Reference, references};
    use crate::site::{Object, PageLink};
    use farfield_base::{Bytes, Duration};

    fn site(page_size: u64, sizes: &[u64]) -> Site {
        let path = |at: usize| ["/a.html", "/b.css", "/c.js", "/d.png", "/e.bin"][at].to_owned();
        let object = |(at, size): (usize, &u64)| {
            let path = path(at);
            Object { kind: ObjectKind::of_path(&path), path, size: Bytes(*size), cost: Duration::ZERO }
        };
        let all: Vec<u64> = std::iter::once(page_size).chain(sizes.iter().copied()).collect();
        let objects: Vec<Object> = all.iter().enumerate().map(object).collect();
        let links = vec![PageLink { page: 0, weight: 1.0 }];
        let embedded = (1..objects.len() as u32).collect();
        Site::new(7, objects, vec![SitePage::new(0, 1.0, embedded, links)], None).expect("a site")
    }

    fn content(site: &Site, object: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        SiteContents::new(site).write(object, &mut bytes).expect("a Vec takes all");
        bytes
    }

    #[test]
    fn contents_have_exactly_their_sizes() {
        for size in [1, 2, 3, 4, 5, 20, 63, 200, 65_535, 65_536, 65_537, 200_000] {
            let site = site(size, &[size; 4]);
            (0..5).for_each(|at| assert_eq!(content(&site, at).len() as u64, size, "object {at}"));
        }
    }

    #[test]
    fn a_page_names_what_it_embeds_and_links_to() {
        let site = site(1_000, &[10, 10, 10, 10]);
        let html = String::from_utf8(content(&site, 0)).expect("text");
        let embedded = ["/b.css", "/c.js", "/d.png", "/e.bin"].map(|path| Reference::Embedded(path.into()));
        let expected: Vec<_> = embedded.into_iter().chain([Reference::Link("/a.html".into())]).collect();
        assert_eq!(references(&html), expected, "{html}");
    }

    #[test]
    fn a_page_too_small_for_its_lines_keeps_whole_ones() {
        let html = String::from_utf8(content(&site(120, &[10, 10, 10, 10]), 0)).expect("text");
        assert_eq!(html.matches('<').count(), html.matches('>').count(), "{html}");
    }

    #[test]
    fn contents_are_their_seeds() {
        let (one, other) = (site(500, &[500; 4]), site(500, &[500; 4]));
        (0..5).for_each(|at| assert_eq!(content(&one, at), content(&other, at)));
        assert_ne!(content(&one, 3), content(&one, 4));
    }
}
