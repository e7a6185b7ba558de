//! Statistics of a site, as papers print them.

use super::{ObjectKind, Site};

/// The numbers of a site. Means of nothing are 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SiteFigures {
    /// All files.
    pub objects: usize,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Mean size of a file, in bytes.
    pub bytes_mean: f64,
    /// Median size of a file, in bytes.
    pub bytes_median: u64,
    /// Size of the largest file, in bytes.
    pub bytes_max: u64,
    /// Number of pages.
    pub pages: usize,
    /// HTML pages.
    pub html_pages: usize,
    /// The mean size of the HTML.
    pub html_bytes_mean: f64,
    /// Embedded references an HTML page in the mean.
    pub embedded_mean: f64,
    /// The median of objects an HTML page, itself not among them.
    pub embedded_median: usize,
    /// Links an HTML page in the mean.
    pub links_mean: f64,
    /// HTML with all that it embeds, in the mean.
    pub page_bytes_mean: f64,
    /// The median of the same.
    pub page_bytes_median: u64,
}

impl SiteFigures {
    /// The numbers of `site`.
    pub fn of(site: &Site) -> SiteFigures {
        let mut sizes: Vec<u64> = site.objects().iter().map(|object| object.size.0).collect();
        sizes.sort_unstable();
        let html: Vec<_> =
            site.pages().iter().filter(|page| site.object(page).kind == ObjectKind::Html).collect();
        let mut embedded: Vec<usize> = html.iter().map(|page| page.embedded.len()).collect();
        let mut whole: Vec<u64> = html.iter().map(|page| site.page_bytes(page)).collect();
        embedded.sort_unstable();
        whole.sort_unstable();
        let of_html = |sum: u64| mean(sum, html.len());
        let bytes = sizes.iter().sum();
        SiteFigures {
            objects: sizes.len(),
            bytes,
            bytes_mean: mean(bytes, sizes.len()),
            bytes_median: median(&sizes),
            bytes_max: sizes.last().copied().unwrap_or(0),
            pages: site.pages().len(),
            html_pages: html.len(),
            html_bytes_mean: of_html(html.iter().map(|page| site.object(page).size.0).sum()),
            embedded_mean: of_html(embedded.iter().sum::<usize>() as u64),
            embedded_median: median(&embedded),
            links_mean: of_html(html.iter().map(|page| page.links.len() as u64).sum()),
            page_bytes_mean: of_html(whole.iter().sum()),
            page_bytes_median: median(&whole),
        }
    }
}

fn mean(sum: u64, of: usize) -> f64 {
    if of == 0 { 0.0 } else { sum as f64 / of as f64 }
}

/// The lower median of what is sorted.
fn median<T: Copy + Default>(sorted: &[T]) -> T {
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}
