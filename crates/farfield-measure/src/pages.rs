//! Pages: a user's request and all that it led to, timed as one.
//!
//! A page's response time is from when it was due to when the last of its requests ended. Its HTML latency
//! is from the same instant to the first byte of the last object that came (Nahum et al. 2001): when a
//! reader has all of the layout, though not all of the pictures. A page belongs to the part of the run in
//! which it was due; only pages of the measured part are timed here. A page with a request that failed has
//! failed, and has no times. Where clients are of several classes, pages are timed for each of them too.
//!
//! A user has one page at a time, which ends with a sample that says so. What is open is kept by user: some
//! tens of bytes each, and nothing if no sample records pages.

use crate::histogram::Histogram;
use farfield_base::merge::each;
use farfield_base::{Instant, Merge, Outcome, Sample, Window};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The pages of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pages {
    open: BTreeMap<u32, OpenPage>,
    /// `None` until a sample records a page.
    timed: Option<Box<PageTimes>>,
    /// The pages of each class of clients.
    classes: Vec<Option<Box<PageTimes>>>,
}

farfield_base::mergeable! {
    /// The pages that were due in the measured part.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct PageTimes {
        /// From due to the end of the last request, of pages without a failure.
        pub response: Histogram,
        /// From due to the first byte of the last object, of pages without a failure.
        pub html_latency: Histogram,
        /// Pages with a failure.
        pub failed: u64,
        /// Requests of all pages.
        pub requests: u64,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct OpenPage {
    due: Instant,
    last_first_byte: Instant,
    requests: u32,
    class: u16,
    failed: bool,
}

impl PageTimes {
    fn record(&mut self, page: OpenPage, done: Instant) {
        self.requests += u64::from(page.requests);
        if page.failed {
            self.failed += 1;
        } else {
            self.response.record(done.since(page.due));
            self.html_latency.record(page.last_first_byte.since(page.due));
        }
    }
}

impl Pages {
    /// None yet, of clients of so many classes: [`Sample::class`] is a place among them.
    pub fn of_classes(classes: usize) -> Pages {
        Pages { classes: vec![None; classes], ..Pages::default() }
    }

    /// Counts `sample`, if it is a page's.
    pub fn record(&mut self, sample: &Sample, window: Window) {
        if !sample.page.is_known() {
            return;
        }
        let first_byte = sample.first_byte.instant().unwrap_or(sample.due);
        let failed = sample.outcome != Outcome::Ok;
        let mut page = OpenPage {
            due: sample.due,
            last_first_byte: first_byte,
            requests: 1,
            class: sample.class,
            failed,
        };
        // Requests that a page led to may be over before the page's own is.
        if let Some(open) = self.open.get(&sample.user) {
            page.due = page.due.min(open.due);
            page.last_first_byte = page.last_first_byte.max(open.last_first_byte);
            page.requests += open.requests;
            page.failed |= open.failed;
        }
        if sample.page.ends() {
            self.open.remove(&sample.user);
            if window.contains(page.due) {
                self.close(page, sample);
            }
        } else {
            self.open.insert(sample.user, page);
        }
    }

    /// The page is over with the `last` of its requests.
    fn close(&mut self, page: OpenPage, last: &Sample) {
        self.timed.get_or_insert_default().record(page, last.done);
        if let Some(class) = self.classes.get_mut(usize::from(last.class)) {
            class.get_or_insert_default().record(page, last.done);
        }
    }

    /// Pages due in `window`, of all classes or of the one at this place, that are not over: at the end of
    /// the run, those that it left unfinished.
    pub fn unfinished(&self, window: Window, class: Option<usize>) -> u64 {
        let of_class = |page: &&OpenPage| class.is_none_or(|class| usize::from(page.class) == class);
        self.open.values().filter(|page| window.contains(page.due)).filter(of_class).count() as u64
    }

    /// The pages that were due in the measured part and are over; `None` if no sample records pages.
    pub fn timed(&self) -> Option<&PageTimes> {
        self.timed.as_deref()
    }

    /// The pages of the class at `place`; `None` if no sample of it records pages.
    pub fn timed_of_class(&self, place: usize) -> Option<&PageTimes> {
        self.classes.get(place)?.as_deref()
    }
}

/// Adds those of other users.
///
/// # Panics
/// If the two are of different classes.
impl Merge for Pages {
    fn merge(&mut self, other: &Pages) {
        let Pages { open, timed, classes } = other;
        self.open.extend(open);
        self.timed.merge(timed);
        each(&mut self.classes, classes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::{Duration, PagePart, Stamp};

    const MS: u64 = 1_000_000;

    fn part(user: u32, page: PagePart, [due, first, done]: [u64; 3], outcome: Outcome) -> Sample {
        let first_byte = Stamp::at(Instant::from_ns(first * MS));
        let class = u16::from(user == 2);
        Sample { user, class, page, first_byte, outcome, ..sample(due * MS, done * MS) }
    }

    fn recorded(samples: &[Sample]) -> Pages {
        let at = |ms: u64| Instant::from_ns(ms * MS);
        let window = Window { measure_from: at(0), measure_to: at(1000) };
        let mut pages = Pages::of_classes(2);
        samples.iter().for_each(|sample| pages.record(sample, window));
        pages
    }

    #[test]
    fn a_page_is_timed_from_its_first_request_to_its_last() {
        use PagePart::{Begins, Ends, Inside, Untracked, Whole};
        let samples = [
            part(1, Begins, [10, 20, 30], Outcome::Ok),
            part(2, Begins, [10, 20, 30], Outcome::Ok),
            part(1, Inside, [30, 55, 58], Outcome::Ok),
            part(2, Ends, [30, 31, 32], Outcome::TimedOut),
            part(3, Whole, [40, 45, 47], Outcome::Ok),
            part(4, Untracked, [0, 900, 900], Outcome::Ok),
            part(1, Ends, [30, 50, 70], Outcome::Ok),
            part(5, Whole, [1000, 1001, 1002], Outcome::Ok),
            part(6, Inside, [30, 31, 33], Outcome::Ok),
            part(6, Whole, [10, 29, 34], Outcome::Ok),
        ];
        let pages = recorded(&samples);
        let times = pages.timed().expect("pages");
        assert_eq!((times.response.count(), times.failed, times.requests), (3, 1, 8));
        let ms = |ms| Some(Duration::from_ms(ms));
        assert_eq!((times.response.min(), times.response.max()), (ms(7), ms(60)));
        assert_eq!((times.html_latency.min(), times.html_latency.max()), (ms(5), ms(45)));
        let of_class =
            |place| pages.timed_of_class(place).map(|times| (times.response.count(), times.failed));
        assert_eq!([0, 1, 2].map(of_class), [Some((3, 0)), Some((0, 1)), None]);
        assert!(pages.open.is_empty());
        let open = [
            part(1, Begins, [10, 20, 1500], Outcome::Unfinished),
            part(2, Begins, [20, 30, 40], Outcome::Ok),
            part(2, Inside, [40, 50, 1500], Outcome::Unfinished),
            part(3, Begins, [1000, 1010, 1500], Outcome::Unfinished),
        ];
        let window = Window { measure_from: Instant::ZERO, measure_to: Instant::from_ns(1000 * MS) };
        let unfinished = |class| recorded(&open).unfinished(window, class);
        assert_eq!([unfinished(None), unfinished(Some(0)), unfinished(Some(1))], [2, 1, 1]);
        let of = |rest| samples.into_iter().filter(|sample| sample.user % 2 == rest).collect::<Vec<_>>();
        let mut merged = recorded(&of(0));
        merged.merge(&recorded(&of(1)));
        assert_eq!(merged, pages);
        assert_eq!(recorded(&samples[5..6]).timed(), None);
    }
}
