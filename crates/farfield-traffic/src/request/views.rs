//! Views of the pages of a site: all embedded objects in one, those that a cache lacks in another. A page is
//! chosen first, and then one of its views.
//!
//! Choosing takes constant time and allocates nothing.

use crate::alias::AliasTable;
use crate::site::Site;
use farfield_base::random::Stream;

/// The views of a site's pages, numbered through in the order of the pages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Views {
    /// The first view of each page, and behind the last one the number of all.
    first: Box<[u32]>,
    /// The page of each view.
    page: Box<[u32]>,
    /// Choice among the views of each page; `None` for those that have one.
    choice: Box<[Option<AliasTable>]>,
}

impl Views {
    /// The views of `site`; none if each page is seen in one way.
    pub(super) fn of(site: &Site) -> Option<Views> {
        let several = site.pages().iter().any(|page| page.views.len() > 1);
        several.then(|| {
            let (mut first, mut pages) = (vec![0], Vec::new());
            for (number, page) in (0..).zip(site.pages()) {
                pages.extend(std::iter::repeat_n(number, page.views.len().max(1)));
                first.push(pages.len() as u32);
            }
            let choice = site.pages().iter().map(|page| {
                let weights: Vec<f64> = page.views.iter().map(|view| view.weight).collect();
                (weights.len() > 1).then(|| AliasTable::new(&weights).expect("a site's views are a choice"))
            });
            Views { first: first.into(), page: pages.into(), choice: choice.collect() }
        })
    }

    /// Number of pages.
    pub(super) fn pages(&self) -> usize {
        self.choice.len()
    }

    /// The page that `view` is one of.
    pub(super) fn page(&self, view: u32) -> u32 {
        self.page[view as usize]
    }

    /// A view of `page`.
    pub(super) fn view(&self, page: u32, rng: &mut Stream) -> u32 {
        let within = self.choice[page as usize].as_ref().map_or(0, |choice| choice.sample(rng) as u32);
        self.first[page as usize] + within
    }
}
