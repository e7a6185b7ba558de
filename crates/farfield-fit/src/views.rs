//! Objects that each view of a page fetched beside the page: all that it embeds for a new visitor, almost
//! none for a browser that has them cached. A page's mean number of objects shows neither.
//!
//! Visits that fetched the same objects in the same order are one view with a count. Of a page with very many
//! views a uniform sample is kept.

use crate::intern::Interner;
use crate::site::FittedView;

/// Counts views while sessions are walked along.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// A page and what was fetched with it, four bytes each.
    kinds: Interner,
    counts: Vec<u32>,
    open: Vec<u8>,
}

impl Views {
    /// Bytes of distinct views that are kept; beyond them, views unlike all kept ones are not counted.
    const BYTES_MAX: usize = 48 << 20;

    /// A look at `page` begins.
    pub(crate) fn begin(&mut self, page: u32) {
        self.open.clear();
        self.fetched(page);
    }

    /// Records that the view fetched `object`.
    pub(crate) fn fetched(&mut self, object: u32) {
        self.open.extend_from_slice(&object.to_le_bytes());
    }

    /// Ends the view and counts it.
    pub(crate) fn end(&mut self) {
        let Some(kind) = self.kinds.number(&self.open, Self::BYTES_MAX) else { return };
        if kind as usize == self.counts.len() {
            self.counts.push(0);
        }
        self.counts[kind as usize] += 1;
    }

    /// The page, the objects and the count of each distinct view.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = u32>, u64)> {
        (0..).zip(&self.counts).map(|(kind, count)| {
            let (words, _) = self.kinds.text(kind).as_chunks::<4>();
            let objects = words[1..].iter().map(|word| u32::from_le_bytes(*word));
            (u32::from_le_bytes(words[0]), objects, u64::from(*count))
        })
    }
}

/// Views that a page has at most.
const VIEWS_MAX: u64 = 256;

/// A page's distinct views, the most frequent first: all, or a systematic sample of [`VIEWS_MAX`] in which
/// each view has the same probability. The sample goes along all views in the order of their numbers of
/// objects, in equal steps, so that the distribution of these numbers stays.
pub(crate) fn fewer(mut views: Vec<FittedView>) -> Vec<FittedView> {
    views.sort_unstable_by(|a, b| (a.embedded.len(), &a.embedded).cmp(&(b.embedded.len(), &b.embedded)));
    views.dedup_by(|next, kept| {
        let same = next.embedded == kept.embedded;
        kept.count += if same { next.count } else { 0 };
        same
    });
    if views.len() as u64 > VIEWS_MAX {
        let looks: u64 = views.iter().map(|view| view.count).sum();
        let mut before = 0;
        views.retain_mut(|view| {
            // Steps of looks / VIEWS_MAX, from the middle of the first one on.
            let steps = |looks_before: u64| (looks_before * VIEWS_MAX + looks / 2) / looks;
            let after = before + view.count;
            view.count = steps(after) - steps(before);
            before = after;
            view.count > 0
        });
    }
    views.sort_by_key(|view| std::cmp::Reverse(view.count));
    views
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_fetched_the_same_are_counted_together() {
        let mut views = Views::default();
        for fetched in [&[7, 8][..], &[], &[7, 8], &[8, 7]] {
            views.begin(3);
            fetched.iter().for_each(|object| views.fetched(*object));
            views.end();
        }
        let found: Vec<(u32, Vec<u32>, u64)> =
            views.counted().map(|(page, objects, count)| (page, objects.collect(), count)).collect();
        assert_eq!(found, [(3, vec![7, 8], 2), (3, vec![], 1), (3, vec![8, 7], 1)]);
    }

    #[test]
    fn few_views_are_kept_as_they_are() {
        let view = |embedded: &[u32], count| FittedView { embedded: embedded.to_vec(), count };
        let all = vec![view(&[1], 2), view(&[], 5), view(&[1], 4), view(&[2, 1], 1)];
        assert_eq!(fewer(all), [view(&[1], 6), view(&[], 5), view(&[2, 1], 1)]);
    }

    #[test]
    fn a_choice_of_many_views_keeps_how_much_they_fetch() {
        // n objects in n of 6,000 looks, all different, and one kind of look in 4,000.
        let look = |n: u32| FittedView { embedded: (n..n + 1 + n % 7).collect(), count: 1 };
        let mut all: Vec<FittedView> = (0..6_000).map(look).collect();
        all.push(FittedView { embedded: Vec::new(), count: 4_000 });
        let mean = |views: &[FittedView]| {
            let looks: u64 = views.iter().map(|view| view.count).sum();
            views.iter().map(|view| view.count * view.embedded.len() as u64).sum::<u64>() as f64
                / looks as f64
        };
        let whole = mean(&all);
        let chosen = fewer(all);
        assert_eq!(chosen.iter().map(|view| view.count).sum::<u64>(), VIEWS_MAX);
        assert!((mean(&chosen) / whole - 1.0).abs() < 0.02, "{} {whole}", mean(&chosen));
        assert!((chosen[0].count as f64 / VIEWS_MAX as f64 - 0.4).abs() < 0.01, "{:?}", chosen[0]);
    }
}
