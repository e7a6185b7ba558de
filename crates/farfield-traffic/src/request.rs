//! Requests, the pages they make up, and the order in which users ask for pages.
//!
//! A page is a main request and what is embedded in it, which the user fetches after it over its parallel
//! connections. All requests of a set lie in one flat list, and a [`RequestId`] is an index into it, the
//! value of a sample's `request` field. Choosing a page takes constant time and allocates nothing.
//!
//! Encoding of a request into bytes (Host, Content-Length, the version) is left to HTTP, not this module.

mod list;
mod parts;
mod site;
mod spec;
mod views;

pub(crate) use parts::method;
pub use parts::{BodySpec, Filler, Headers, PartError, RequestTarget, Weight};
pub use site::{SiteSource, SourceError};
pub use spec::{Order, RequestSetSpec, RequestSpec, SetError};

use crate::alias::AliasTable;
use crate::site::walk::TransitionTable;
use bytes::Bytes;
use farfield_base::random::Stream;
use http::{HeaderName, HeaderValue, Method};
use std::sync::Arc;
use views::Views;

/// A place in the list of a set's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u32);

/// A request, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The target, in origin form (`/page?q`), absolute form (`http://host/page`) or, for OPTIONS,
    /// `*`.
    pub path: String,
    /// Header fields beside those that HTTP itself needs, in order.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body; empty for none. Shared, so that a clone costs nothing.
    pub body: Bytes,
}

/// A main request and what is embedded in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The main request.
    pub main: RequestId,
    /// Requests sent once the main reply is there, in order.
    pub embedded: Vec<RequestId>,
}

/// All that a scenario asks for. There is at least one page.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestSet {
    requests: Vec<Request>,
    pages: Vec<Page>,
    choice: Choice,
    /// Views of the pages, where a chosen page is one of several of the list.
    views: Option<Views>,
}

#[derive(Debug, Clone, PartialEq)]
enum Choice {
    Weighted(AliasTable),
    InOrder,
    /// Places in the list of pages, gone through as the list itself is in order. Shared, so that a clone
    /// costs nothing.
    Sequence(Arc<[u32]>),
    Walk(Arc<TransitionTable>),
}

/// Index of the `turn`-th turn of `client` among `clients` in a list of `of` entries that all go through
/// together.
fn place(client: u64, clients: u64, turn: u64, of: usize) -> usize {
    let of = of as u64; // below 2³², so that nothing here overflows
    ((client % of + (turn % of) * (clients % of)) % of) as usize
}

impl RequestSet {
    /// Requests, and pages of them that are gone through in order; nothing if there are more than numbers, or
    /// none.
    pub(crate) fn in_order(requests: Vec<Request>, pages: Vec<Page>) -> Option<RequestSet> {
        let numbered = u32::try_from(requests.len()).is_ok() && u32::try_from(pages.len()).is_ok();
        (numbered && !pages.is_empty()).then_some(RequestSet {
            requests,
            pages,
            choice: Choice::InOrder,
            views: None,
        })
    }

    /// All requests, at the places that their ids say.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// All pages, in the order of the scenario. Pages of a site that are seen in several ways stand there
    /// once for each, one after the other.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The request at `id`, which must be one of this set.
    pub fn request(&self, id: RequestId) -> &Request {
        &self.requests[id.0 as usize]
    }

    /// The page for the `turn`-th time, from 0, that `client` of `clients` asks.
    ///
    /// Weighted, it is drawn from `rng`, and the numbers do not matter. In order, it is page (client + turn ·
    /// clients) modulo the number of pages, so that:
    /// - in a closed load, with the user's number and the number of users, the users together go through the
    ///   list once before any begins anew, each taking every `clients`-th page;
    /// - in an open load, with the arrival's index as `client`, 1 as `clients` and 0 as `turn`, arrivals take
    ///   one page after the other;
    /// - in a hybrid load, with the session's index as `client` and 1 as `clients`, a session begins one page
    ///   after the session before it, and goes on from there.
    ///
    /// With stack distances: as in order, in a list in which each page stands as often as it is asked for. On
    /// a walk, it is one that a session starts with; [`next`](Self::next) goes on from there.
    pub fn page(&self, client: u64, clients: u64, turn: u64, rng: &mut Stream) -> &Page {
        &self.pages[self.next(None, client, clients, turn, rng) as usize]
    }

    /// The number of that page, for a user who asked for page `before` last: on a walk, a link away from it.
    pub fn next(&self, before: Option<u32>, client: u64, clients: u64, turn: u64, rng: &mut Stream) -> u32 {
        let Some(views) = &self.views else { return self.choose(before, client, clients, turn, rng) };
        let before = before.map(|view| views.page(view));
        let page = self.choose(before, client, clients, turn, rng);
        views.view(page, rng)
    }

    /// Among how many pages is chosen.
    fn chosen(&self) -> usize {
        self.views.as_ref().map_or(self.pages.len(), Views::pages)
    }

    /// The next page where each page has one view.
    fn choose(&self, before: Option<u32>, client: u64, clients: u64, turn: u64, rng: &mut Stream) -> u32 {
        match (&self.choice, before) {
            (Choice::Weighted(table), _) => table.sample(rng) as u32,
            (Choice::InOrder, _) => place(client, clients, turn, self.chosen()) as u32,
            (Choice::Sequence(sequence), _) => sequence[place(client, clients, turn, sequence.len())],
            (Choice::Walk(walk), Some(before)) => walk.next(before, rng),
            (Choice::Walk(walk), None) => walk.start(rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    fn set(pages: u32, choice: Choice) -> RequestSet {
        let request = |n| Request {
            method: Method::GET,
            path: format!("/{n}"),
            headers: Vec::new(),
            body: Bytes::new(),
        };
        let page = |n| Page { main: RequestId(n), embedded: Vec::new() };
        RequestSet {
            requests: (0..pages).map(request).collect(),
            pages: (0..pages).map(page).collect(),
            choice,
            views: None,
        }
    }

    #[test]
    fn in_order_the_users_together_go_through_the_list() {
        let set = set(10, Choice::InOrder);
        let mut rng = Seed(1).stream(Purpose::User, 0);
        let mut asked = |client, clients, turn| set.page(client, clients, turn, &mut rng).main.0;
        let rounds: Vec<u32> = (0..5)
            .flat_map(|turn| (0..4).map(move |user| (user, turn)))
            .map(|(u, t)| asked(u, 4, t))
            .collect();
        assert_eq!(rounds, (0..20).map(|n| n % 10).collect::<Vec<u32>>());
        let arrivals: Vec<u32> = (0..20).map(|index| asked(index, 1, 0)).collect();
        assert_eq!(arrivals, rounds);
        assert_eq!(asked(7, 1, 5), 2);
        assert_eq!(u64::from(asked(u64::MAX, u64::MAX, u64::MAX)), (5 + 5 * 5) % 10); // 2⁶⁴ − 1 ends in 5
    }

    #[test]
    fn weighted_pages_come_as_often_as_they_weigh() {
        const DRAWS: u32 = 40_000;
        let set = set(3, Choice::Weighted(AliasTable::new(&[2.0, 1.0, 1.0]).expect("good weights")));
        let mut rng = Seed(1).stream(Purpose::User, 0);
        let first = (0..DRAWS).filter(|turn| set.page(0, 1, (*turn).into(), &mut rng).main.0 == 0).count();
        let sigma = (f64::from(DRAWS) * 0.25).sqrt();
        assert!((first as f64 - f64::from(DRAWS) / 2.0).abs() < 5.0 * sigma, "{first} of {DRAWS}");
    }
}
