//! Walks on a site's links: the page that a session starts with, and the link followed from each page (the
//! start-page and routing probabilities of Liu et al. 1999, section 3.1).
//!
//! Sessions start with a page by its starting weight, and follow a link by the weight of the link. From a
//! page without a link, they go on to any page, by its weight. The user keeps the position; the load decides
//! the number of pages.

use super::{Site, SitePage};
use crate::alias::AliasTable;
use farfield_base::random::Stream;

/// The probabilities of a site. A step takes constant time and allocates nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionTable {
    start: AliasTable,
    /// Choice of the next page after one without a link, if it differs from that of the first.
    anywhere: Option<AliasTable>,
    routes: Vec<Option<Routes>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Routes {
    choice: AliasTable,
    pages: Box<[u32]>,
}

impl TransitionTable {
    /// The walks on `site`.
    pub fn new(site: &Site) -> TransitionTable {
        let choice = |weight: fn(&SitePage) -> f64| {
            let weights: Vec<f64> = site.pages().iter().map(weight).collect();
            AliasTable::new(&weights).expect("a site has a page that is asked for, and one to start with")
        };
        let has_starts = site.pages().iter().any(|page| page.starts.is_some());
        let anywhere = has_starts.then(|| choice(|page| page.weight));
        let routes = site.pages().iter().map(|page| {
            let weights: Vec<f64> = page.links.iter().map(|link| link.weight).collect();
            let choice = AliasTable::new(&weights).ok()?; // refused if no link is ever followed
            Some(Routes { choice, pages: page.links.iter().map(|link| link.page).collect() })
        });
        TransitionTable { start: choice(SitePage::starting), anywhere, routes: routes.collect() }
    }

    /// The page that a session starts with.
    pub fn start(&self, rng: &mut Stream) -> u32 {
        self.start.sample(rng) as u32
    }

    /// The page after `page`.
    pub fn next(&self, page: u32, rng: &mut Stream) -> u32 {
        match &self.routes[page as usize] {
            Some(routes) => routes.pages[routes.choice.sample(rng)],
            None => self.anywhere.as_ref().unwrap_or(&self.start).sample(rng) as u32,
        }
    }
}
