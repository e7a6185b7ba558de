//! The site as its users walk it: objects with sizes, pages with embedded objects, start pages, and the pages
//! that follow each page (the start-page and routing probabilities of Liu et al. 1999, section 3.1).

use crate::session::{RequestKind, SessionEvent};
use crate::views::{Views, fewer};
use crate::visits::{Visit, Visits};
use serde::{Deserialize, Serialize};

/// Objects that users asked for, most popular first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FittedSite {
    /// The objects.
    pub objects: Vec<FittedObject>,
    /// Objects that were clicked.
    pub pages: Vec<FittedPage>,
    /// The share of all requests that these objects had.
    pub requests_covered: f64,
    /// The share of all clicks that these pages had.
    pub clicks_covered: f64,
    /// Requests of users with other methods than GET.
    #[serde(default)]
    pub other_methods: u64,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FittedObject {
    /// Path, with invalid UTF-8 replaced.
    pub path: String,
    /// Kind of the object.
    pub kind: RequestKind,
    /// The mean size of its whole replies, where the log has any.
    pub bytes: Option<u64>,
    /// Requests of users.
    pub requests: u64,
}

/// A page: an object that was clicked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FittedPage {
    /// Index among the objects.
    pub object: u32,
    /// Clicks on it, those that started sessions among them.
    pub clicks: u64,
    /// Sessions that started with it: its start-page probability is this over the sum for all pages.
    pub starts: u64,
    /// Sessions that ended with it.
    pub ends: u64,
    /// Objects that came with it, most frequent first.
    pub embedded: Vec<Follower>,
    /// Objects fetched by its views: fewer where caches held some. The more frequent first; empty if
    /// there was no room.
    #[serde(default)]
    pub views: Vec<FittedView>,
    /// Pages that were clicked next, most frequent first: the routing probability is the count over
    /// `clicks`.
    pub next: Vec<Follower>,
}

/// Objects that views of a page fetched beside the page itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FittedView {
    /// The objects' places, in the order in which they were asked for.
    pub embedded: Vec<u32>,
    /// Number of times.
    pub count: u64,
}

/// An object that came with or after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Follower {
    /// Index among the objects.
    pub object: u32,
    /// Number of times.
    pub count: u64,
}

/// Counts steps and requests by path.
#[derive(Debug)]
pub(crate) struct SiteTally {
    pub(crate) requests: Vec<u64>,
    bytes: Vec<u64>,
    sized: Vec<u32>,
    clicks: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    embedded: Pairs,
    next: Pairs,
    views: Views,
    other_methods: u64,
}

impl SiteTally {
    pub(crate) fn new(paths: usize) -> SiteTally {
        let (zeros, wide) = (vec![0u32; paths], vec![0u64; paths]);
        SiteTally {
            requests: wide.clone(),
            bytes: wide,
            sized: zeros.clone(),
            clicks: zeros.clone(),
            starts: zeros.clone(),
            ends: zeros,
            embedded: Pairs::default(),
            next: Pairs::default(),
            views: Views::default(),
            other_methods: 0,
        }
    }

    pub(crate) fn request(&mut self, visit: &Visit) {
        let path = visit.path as usize;
        self.requests[path] += 1;
        self.other_methods += u64::from(!visit.get);
        if let Some(bytes) = visit.bytes {
            self.bytes[path] = self.bytes[path].saturating_add(bytes);
            self.sized[path] += 1;
        }
    }

    pub(crate) fn step(&mut self, step: SessionEvent) {
        match step {
            SessionEvent::Start { page, .. } => {
                self.starts[page as usize] += 1;
                self.clicks[page as usize] += 1;
                self.views.begin(page);
            }
            SessionEvent::Click { from, page, .. } => {
                self.clicks[page as usize] += 1;
                self.next.add(from, page);
                self.views.begin(page);
            }
            SessionEvent::Embedded { page, object } => {
                self.embedded.add(page, object);
                self.views.fetched(object);
            }
            SessionEvent::End { page, .. } => self.ends[page as usize] += 1,
            SessionEvent::PageEnd { .. } => self.views.end(),
        }
    }

    /// The mean size of each object that has one.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = f64> {
        let sized = self.bytes.iter().zip(&self.sized).filter(|(_, count)| **count > 0);
        sized.map(|(bytes, count)| *bytes as f64 / f64::from(*count))
    }

    /// The `objects_max` most popular objects, and what is known of the pages among them.
    pub(crate) fn site(self, visits: &Visits, objects_max: usize) -> FittedSite {
        let mut popular: Vec<u32> = (0..self.requests.len() as u32).collect();
        popular.retain(|path| self.requests[*path as usize] > 0);
        popular.sort_by_key(|path| std::cmp::Reverse(self.requests[*path as usize]));
        popular.truncate(objects_max);
        let mut place = vec![None; self.requests.len()];
        popular.iter().enumerate().for_each(|(at, path)| place[*path as usize] = Some(at as u32));
        let objects = popular.iter().map(|path| self.object(visits, *path)).collect();
        let mut page_of = vec![None; popular.len()];
        let mut pages = Vec::new();
        for (at, path) in popular.iter().enumerate() {
            if self.clicks[*path as usize] > 0 {
                page_of[at] = Some(pages.len());
                pages.push(self.page(*path, at as u32));
            }
        }
        let page = |from: u32| place[from as usize].and_then(|at: u32| page_of[at as usize]);
        for (from, to, count) in self.embedded.counted() {
            if let (Some(page), Some(object)) = (page(from), place[to as usize]) {
                pages[page].embedded.push(Follower { object, count });
            }
        }
        for (from, to, count) in self.next.counted() {
            if let (Some(page), Some(object)) = (page(from), place[to as usize]) {
                pages[page].next.push(Follower { object, count });
            }
        }
        for (from, objects, count) in self.views.counted() {
            if let Some(page) = page(from) {
                let embedded = objects.filter_map(|path| place[path as usize]).collect();
                pages[page].views.push(FittedView { embedded, count });
            }
        }
        for page in &mut pages {
            page.views = fewer(std::mem::take(&mut page.views));
            page.embedded.sort_by_key(|f| (std::cmp::Reverse(f.count), f.object));
            page.next.sort_by_key(|f| (std::cmp::Reverse(f.count), f.object));
        }
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let covered: u64 = popular.iter().map(|path| self.requests[*path as usize]).sum();
        let clicked: u64 = pages.iter().map(|page| page.clicks).sum();
        FittedSite {
            requests_covered: share(covered, self.requests.iter().sum()),
            clicks_covered: share(clicked, self.clicks.iter().map(|c| u64::from(*c)).sum()),
            objects,
            pages,
            other_methods: self.other_methods,
        }
    }

    /// A page, at a place among the objects, so far without what came with or after it.
    fn page(&self, path: u32, object: u32) -> FittedPage {
        let of = |counts: &[u32]| u64::from(counts[path as usize]);
        FittedPage {
            object,
            clicks: of(&self.clicks),
            starts: of(&self.starts),
            ends: of(&self.ends),
            embedded: Vec::new(),
            views: Vec::new(),
            next: Vec::new(),
        }
    }

    fn object(&self, visits: &Visits, path: u32) -> FittedObject {
        let at = path as usize;
        let sized = u64::from(self.sized[at]);
        FittedObject {
            path: String::from_utf8_lossy(visits.path(path)).into_owned(),
            kind: visits.kind(path),
            bytes: (sized > 0).then(|| self.bytes[at] / sized.max(1)),
            requests: self.requests[at],
        }
    }
}

/// Pairs of numbers that are counted by sorting them: eight bytes a pair, and no map.
#[derive(Debug, Default)]
struct Pairs {
    all: Vec<u64>,
    counts: Vec<(u64, u64)>,
}

impl Pairs {
    /// Pairs gathered before they are counted.
    const GATHERED: usize = 1 << 20;

    fn add(&mut self, from: u32, to: u32) {
        self.all.push(u64::from(from) << 32 | u64::from(to));
        if self.all.len() >= Self::GATHERED.max(self.counts.len()) {
            self.count();
        }
    }

    /// Merges what was gathered into the sorted counts.
    fn count(&mut self) {
        self.all.sort_unstable();
        let fresh = self.all.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        let mut fresh = fresh.peekable();
        let mut merged = Vec::with_capacity(self.counts.len());
        for (pair, mut count) in self.counts.drain(..) {
            while let Some(new) = fresh.next_if(|new| new.0 < pair) {
                merged.push(new);
            }
            if let Some(new) = fresh.next_if(|new| new.0 == pair) {
                count += new.1;
            }
            merged.push((pair, count));
        }
        merged.extend(fresh);
        self.counts = merged;
        self.all.clear();
    }

    fn counted(mut self) -> impl Iterator<Item = (u32, u32, u64)> {
        self.count();
        self.counts.into_iter().map(|(pair, count)| ((pair >> 32) as u32, pair as u32, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted() {
        let mut pairs = Pairs::default();
        for at in 0..30u32 {
            pairs.add(at % 3, 7);
            if at % 10 == 9 {
                pairs.count();
            }
        }
        assert_eq!(pairs.counted().collect::<Vec<_>>(), [(0, 7, 10), (1, 7, 10), (2, 7, 10)]);
    }
}
