//! The legend of a chart: in a page its names stand beside each other, as many in a row as there is room
//! for, so that a chart of many series is still mostly a chart; in a picture of its own each has a row.

use super::Layout;

/// Width of the sample of a line in a page.
pub(super) const SAMPLE: f64 = 26.0;
/// Room between a sample and its name, and behind a name.
const GAPS: (f64, f64) = (9.0, 16.0);
/// Width of a letter at the most usual fonts' widest, against their size.
const LETTER: f64 = 0.62;
/// Letters of a name at least, however many names there are.
const LETTERS_MIN: usize = 12;

/// Places of names on a sheet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Legend {
    /// The left end of each name's sample, its row, and its text as far as there is room for it.
    pub(super) entries: Vec<(f64, usize, String)>,
    /// Number of rows.
    pub(super) rows: usize,
}

impl Legend {
    /// The places of `names`; an empty name takes none.
    pub(super) fn of(layout: &Layout, names: &[&str]) -> Legend {
        let letter = LETTER * layout.font_size;
        let (left, room) = match layout.is_in_page {
            true => (8.0, layout.width - 16.0),
            false => (layout.left, f64::INFINITY),
        };
        let letters_max = ((room - SAMPLE - GAPS.0) / letter) as usize;
        let (mut entries, mut at, mut row) = (Vec::new(), left, 0);
        for name in names {
            if name.is_empty() {
                entries.push((left, 0, String::new()));
                continue;
            }
            let text = cut(name, letters_max.max(LETTERS_MIN));
            let width = SAMPLE + GAPS.0 + text.chars().count() as f64 * letter;
            let is_first = at <= left;
            if !is_first && (!layout.is_in_page || at + width > left + room) {
                (at, row) = (left, row + 1);
            }
            entries.push((at, row, text));
            at += width + GAPS.1;
        }
        let rows = if entries.iter().any(|(.., text)| !text.is_empty()) { row + 1 } else { 0 };
        Legend { entries, rows }
    }
}

fn cut(name: &str, letters: usize) -> String {
    if name.chars().count() <= letters {
        return name.to_owned();
    }
    name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_share_a_row_in_a_page_and_each_has_one_in_a_picture() {
        let names = ["offered", "sent", "succeeded", "failed"];
        let rows = |layout: &Layout| Legend::of(layout, &names).rows;
        assert_eq!((rows(&Layout::BAND), rows(&Layout::PICTURE)), (1, 4));
        assert_eq!(Legend::of(&Layout::BAND, &["", ""]).rows, 0);
    }

    /// Thirty names of all lengths: none reaches into the next, or beyond the sheet.
    #[test]
    fn names_never_overlap() {
        let names: Vec<String> = (0..30).map(|n| "name ".repeat(1 + n % 9)).collect();
        let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
        let long = "x".repeat(500);
        all.push(&long);
        for layout in [Layout::COLUMN, Layout::BAND] {
            let legend = Legend::of(&layout, &all);
            let end = |(at, _, text): &(f64, usize, String)| {
                at + SAMPLE + GAPS.0 + text.chars().count() as f64 * LETTER * layout.font_size
            };
            for pair in legend.entries.windows(2) {
                assert!(pair[0].1 < pair[1].1 || end(&pair[0]) < pair[1].0, "{pair:?}");
            }
            assert!(legend.entries.iter().all(|entry| end(entry) <= layout.width), "{legend:?}");
            assert!(legend.entries.last().is_some_and(|(.., text)| text.ends_with('…')));
        }
    }
}
