//! The site of a log, as one that a server can serve: its objects as files, its pages with the objects that
//! views of them fetched, start pages and links.

use crate::paths::{FilePath, files};
use crate::report::{FitReport, Variable};
use crate::site::FittedPage;
use farfield_base::{Bytes, Duration};
use farfield_traffic::site::{Object, ObjectKind, PageLink, Site, SiteError, SitePage, View};
use std::collections::BTreeMap;

/// Memory of the built-in server for contents, at most, in bytes.
const HELD_MAX: u64 = 2 << 30;

impl FitReport {
    /// The site that users saw, with contents from `seed`: objects with their sizes, pages with what came
    /// with them and how often they were clicked, links as they were followed, and the distribution of stack
    /// distances. Paths that no file can have are changed; what is no path (`*`) is left out. A page names as
    /// many objects as came with it in the mean, and its views list what came with it each time. Objects
    /// without a size in the log get the [stand-in](FitReport::stand_in_bytes).
    ///
    /// # Errors
    /// A log without a page makes no site.
    pub fn to_site(&self, seed: u64) -> Result<Site, SiteError> {
        let fitted = &self.site;
        let paths = self.file_paths();
        let (place, objects) = self.files_of(&paths);
        // Two pages may be one file: `/a/` and `/a/index.html`.
        let mut pages: Vec<SitePage> = Vec::new();
        let mut page_of = vec![None; objects.len()];
        for page in &fitted.pages {
            let Some(object) = place[page.object as usize] else { continue };
            page_of[object as usize].get_or_insert_with(|| {
                pages.push(SitePage {
                    starts: Some(0.0),
                    ..SitePage::new(object, 0.0, Vec::new(), Vec::new())
                });
                pages.len() as u32 - 1
            });
        }
        let embeds: Vec<u32> =
            fitted.pages.iter().filter(|page| named(page) > 0).map(|page| page.object).collect();
        let mut is_full = vec![false; objects.len()];
        embeds.iter().filter_map(|at| place[*at as usize]).for_each(|at| is_full[at as usize] = true);
        for page in &fitted.pages {
            let Some(object) = place[page.object as usize] else { continue };
            let made = &mut pages[page_of[object as usize].expect("made above") as usize];
            add(made, page, &place, &page_of);
            if made.embedded.is_empty() {
                let inside = page.embedded.iter().filter_map(|follower| place[follower.object as usize]);
                made.embedded = inside.filter(|at| !is_full[*at as usize]).take(named(page)).collect();
            }
        }
        if pages.iter().all(|page| page.starting() == 0.0) {
            pages.iter_mut().for_each(|page| page.starts = None);
        }
        Site::new(seed, objects, pages, self.distribution_of(Variable::StackDistance))
    }

    /// The size that objects without one are given: the median of those that have one, or 8 KiB.
    pub fn stand_in_bytes(&self) -> u64 {
        let mut sizes: Vec<u64> = self.site.objects.iter().filter_map(|object| object.bytes).collect();
        sizes.sort_unstable();
        sizes.get(sizes.len() / 2).copied().unwrap_or(8 << 10)
    }

    /// Differences of the site from the log, a sentence each; `None` if no page is left.
    pub(crate) fn doubts_of_site(&self) -> Option<Vec<String>> {
        let fitted = &self.site;
        let paths = self.file_paths();
        let mut doubts = Vec::new();
        let lost = |page: &&FittedPage| paths[page.object as usize].is_none();
        if fitted.pages.iter().all(|page| lost(&page)) {
            return None;
        }
        let clicks: u64 = fitted.pages.iter().filter(lost).map(|page| page.clicks).sum();
        let objects = paths.iter().filter(|path| path.is_none()).count();
        if objects > 0 {
            doubts.push(format!("{objects} objects with {clicks} clicks are left out: they have no path."));
        }
        let renamed = fitted
            .objects
            .iter()
            .zip(&paths)
            .filter(|(object, path)| path.as_ref().is_some_and(|path| path.asked != object.path));
        let renamed = renamed.count();
        if renamed > 0 {
            doubts.push(format!(
                "{renamed} paths are changed, as no file can have them: blanks, queries, folders that are files too."
            ));
        }
        let unsized_ = fitted.objects.iter().filter(|object| object.bytes.is_none()).count();
        if unsized_ > 0 {
            doubts.push(format!(
                "{unsized_} of {} objects have no size in the log, and are {} bytes.",
                fitted.objects.len(),
                self.stand_in_bytes()
            ));
        }
        let bytes = self.files_of(&paths).1.iter().map(|object| object.size.0).fold(0, u64::saturating_add);
        if bytes > HELD_MAX {
            doubts.push(format!(
                "The site is {:.1} GB: more than the built-in server holds. Drive another one with --target.",
                bytes as f64 / 1e9
            ));
        }
        Some(doubts)
    }

    fn file_paths(&self) -> Vec<Option<FilePath>> {
        files(self.site.objects.iter().map(|object| object.path.as_str()))
    }

    /// The place of each fitted object among the files, and the files.
    fn files_of(&self, paths: &[Option<FilePath>]) -> (Vec<Option<u32>>, Vec<Object>) {
        let stand_in = self.stand_in_bytes();
        let mut objects: Vec<Object> = Vec::new();
        let mut by_file = BTreeMap::new();
        let place = paths.iter().zip(&self.site.objects).map(|(path, fitted)| {
            let path = path.as_ref()?;
            Some(*by_file.entry(path.file.as_str()).or_insert_with(|| {
                let (kind, size) = (ObjectKind::of_path(&path.file), Bytes(fitted.bytes.unwrap_or(stand_in)));
                objects.push(Object { path: path.asked.clone(), kind, size, cost: Duration::ZERO });
                objects.len() as u32 - 1
            }))
        });
        (place.collect(), objects)
    }
}

/// Adds what was seen of a page to what its file has.
fn add(made: &mut SitePage, page: &FittedPage, place: &[Option<u32>], page_of: &[Option<u32>]) {
    made.weight += page.clicks as f64;
    made.starts = made.starts.map(|starts| starts + page.starts as f64);
    // A sample of views stands for all of them.
    let looks: u64 = page.views.iter().map(|view| view.count).sum();
    let each = page.clicks as f64 / looks.max(1) as f64;
    made.views.extend(page.views.iter().map(|view| View {
        weight: each * view.count as f64,
        embedded: view.embedded.iter().filter_map(|at| place[*at as usize]).collect(),
    }));
    for follower in &page.next {
        let to = place[follower.object as usize].and_then(|at| page_of[at as usize]);
        let Some(to) = to else { continue };
        match made.links.iter_mut().find(|link| link.page == to) {
            Some(link) => link.weight += follower.count as f64,
            None => made.links.push(PageLink { page: to, weight: follower.count as f64 }),
        }
    }
}

/// Mean number of objects that came with a page, at most as many as there are.
pub(crate) fn embedded_mean(page: &FittedPage) -> f64 {
    let count: u64 = page.embedded.iter().map(|follower| follower.count).sum();
    (count as f64 / page.clicks as f64).min(page.embedded.len() as f64)
}

/// Number of objects that a page names.
fn named(page: &FittedPage) -> usize {
    embedded_mean(page).round() as usize
}
