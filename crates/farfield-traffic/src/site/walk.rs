//! Walks on a site's links: where a session starts, and which link is followed from each page (the start-page and routing
//! probabilities of Liu et al. 1999, section 3.1).
//!
//! Sessions start with a page as often as it weighs, and follow a link as often as that weighs. From a page without a
//! link, they go on as they started. How many pages a session has is the load's to say.

use super::Site;
use crate::alias::AliasTable;
use farfield_base::random::{Purpose, Seed, Stream};
use rand::Rng;

/// The probabilities of a site. A step takes constant time and allocates nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    start: AliasTable,
    routes: Vec<Option<Routes>>,
    seed: Seed,
}

#[derive(Debug, Clone, PartialEq)]
struct Routes {
    choice: AliasTable,
    pages: Box<[u32]>,
}

/// Pages after which a user who never leaves starts anew.
pub const LEG: u64 = 64;

/// Numbers of streams: above those of the contents.
const STREAMS: u64 = 1 << 63;

impl Walk {
    /// The walks on `site`, those of [`page`](Walk::page) from `seed`.
    pub fn new(site: &Site, seed: Seed) -> Walk {
        let weights: Vec<f64> = site.pages().iter().map(|page| page.weight).collect();
        let start = AliasTable::new(&weights).expect("a site has a page that is asked for");
        let routes = site.pages().iter().map(|page| {
            let weights: Vec<f64> = page.links.iter().map(|link| link.weight).collect();
            let choice = AliasTable::new(&weights).ok()?; // refused if no link is ever followed
            Some(Routes { choice, pages: page.links.iter().map(|link| link.page).collect() })
        });
        Walk { start, routes: routes.collect(), seed }
    }

    /// The page that a session starts with.
    pub fn start(&self, rng: &mut Stream) -> u32 {
        self.start.sample(rng) as u32
    }

    /// The page after `page`.
    pub fn next(&self, page: u32, rng: &mut Stream) -> u32 {
        match &self.routes[page as usize] {
            Some(routes) => routes.pages[routes.choice.sample(rng)],
            None => self.start(rng),
        }
    }

    /// The page that `client` asks for at its `turn`, from 0: the same whenever it is asked. The walk is gone through
    /// from its start, which is why a client who never leaves starts anew every [`LEG`] pages.
    pub fn page(&self, client: u64, turn: u64) -> u32 {
        let mut rng = self.seed.stream(Purpose::Site, STREAMS | client);
        if turn >= LEG {
            rng = Seed(rng.next_u64()).stream(Purpose::Site, turn / LEG);
        }
        let mut page = self.start(&mut rng);
        for _ in 0..turn % LEG {
            page = self.next(page, &mut rng);
        }
        page
    }
}
