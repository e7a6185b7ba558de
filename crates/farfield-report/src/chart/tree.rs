//! A tree as SVG, a row for each node, with up to two bars for the edge that leads to it.
//!
//! Rows are below each other and text is cut where it would leave its column, so that nothing overlaps
//! however many nodes there are. The sheet is as narrow as a phone.

use super::Layout;
use super::svg::{Stroke, Svg};

/// A tree, row by row: each node behind its parent, before those that follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The heading.
    pub title: String,
    /// The meaning of the first and of the second bar of each row.
    pub legend: [String; 2],
    /// Nodes, the root first.
    pub rows: Vec<TreeNode>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeNode {
    /// Steps from the root; at most one more than that of the row before.
    pub depth: usize,
    /// The name.
    pub name: String,
    /// The drawing of the node.
    pub shape: Shape,
    /// The edge from its parent, in both directions.
    pub bars: [Option<Bar>; 2],
}

/// The drawing of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A filled square: the root, or its like.
    Filled,
    /// A square.
    Open,
    /// A circle: what ends a branch.
    Leaf,
    /// No node of its own: another way to one that is drawn elsewhere, dashed.
    Way,
}

/// A bar with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The share of the bar that is filled, from 0 to 1; no bar, only text, if absent.
    pub share: Option<f64>,
    /// The text beside it.
    pub text: String,
}

const WIDTH: f64 = 480.0;
/// Heights of a row with bars and of one without.
const ROWS: [f64; 2] = [40.0, 26.0];
const INDENT: f64 = 17.0;
/// Deeper nodes are not moved further to the right.
const DEPTH_DRAWN: usize = 7;
/// The columns of the bars and of their text.
const BARS: (f64, f64) = (232.0, 312.0);
const TEXTS: f64 = 320.0;
const BAR_HEIGHT: f64 = 9.0;
/// A letter's width, on average a little less.
const LETTER: f64 = 7.2;

impl Tree {
    /// The tree as an element of an HTML page.
    pub fn html(&self) -> String {
        let head = Layout::COLUMN.top + 3.0 * Layout::COLUMN.legend_line;
        let layout = Layout { width: WIDTH, ..Layout::COLUMN };
        let height = head + self.rows.iter().map(TreeNode::height).sum::<f64>() + 6.0;
        let mut svg = Svg::new(&layout, height, &self.title);
        svg.heading((8.0, layout.top), &self.title);
        for (number, meaning) in self.legend.iter().enumerate() {
            let y = layout.top + layout.legend_line * (number + 1) as f64;
            svg.bar(number, (8.0, y - BAR_HEIGHT / 2.0), (40.0, BAR_HEIGHT), 1.0);
            svg.text((56.0, y + 4.0), "start", meaning);
        }
        // Points where the branches of each depth begin: the place of its latest node.
        let mut latest = vec![(0.0, 0.0); 1];
        let mut top = head;
        for row in &self.rows {
            let (x, y) = (8.0 + INDENT * row.depth.min(DEPTH_DRAWN) as f64, top + row.height() / 2.0);
            if let Some(&(from_x, from_y)) = row.depth.checked_sub(1).and_then(|parent| latest.get(parent)) {
                let stroke = if row.shape == Shape::Way { Stroke::Level } else { Stroke::Axis };
                svg.line((from_x + 5.0, from_y + 5.0), (from_x + 5.0, y), stroke);
                svg.line((from_x + 5.0, y), (x.max(from_x + 9.0), y), stroke);
            }
            latest.truncate(row.depth);
            latest.resize(row.depth + 1, (x, y));
            row.draw(&mut svg, (x, y));
            top += row.height();
        }
        svg.end()
    }
}

impl TreeNode {
    fn height(&self) -> f64 {
        if self.bars.iter().any(Option::is_some) { ROWS[0] } else { ROWS[1] }
    }

    fn draw(&self, svg: &mut Svg, (x, y): (f64, f64)) {
        svg.node(self.shape, (x, y));
        let has_bars = self.bars.iter().any(Option::is_some);
        let room = if has_bars { BARS.0 } else { WIDTH } - x - 22.0;
        svg.text((x + 17.0, y + 4.5), "start", &cut(&self.name, room));
        for (number, bar) in self.bars.iter().enumerate() {
            let Some(bar) = bar else { continue };
            let y = y + if number == 0 { -8.5 } else { 8.5 };
            if let Some(share) = bar.share {
                let size = (BARS.1 - BARS.0, BAR_HEIGHT);
                svg.bar(number, (BARS.0, y - BAR_HEIGHT / 2.0), size, share);
            }
            svg.text((TEXTS, y + 4.5), "start", &cut(&bar.text, WIDTH - TEXTS - 4.0));
        }
    }
}

/// The text as far as there is room for it.
fn cut(text: &str, room: f64) -> String {
    let letters = (room / LETTER) as usize;
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(depth: usize, name: &str, shares: Option<[f64; 2]>) -> TreeNode {
        let bar = |share: f64| Bar { share: Some(share), text: format!("{share}") };
        let bars = shares.map_or([None, None], |shares| shares.map(|share| Some(bar(share))));
        TreeNode { depth, name: name.to_owned(), shape: Shape::Open, bars }
    }

    /// Numbers of an attribute, in order.
    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let parts = svg.split(attribute).skip(1);
        parts.filter_map(|part| part.split('"').next()?.parse().ok()).collect()
    }

    #[test]
    fn rows_lie_below_each_other_and_within_the_sheet() {
        let long = "a name that is much longer than the column in which names are";
        let mut rows = vec![row(0, "server", None)];
        rows.extend((1..40).map(|number| row(1 + number % 12, long, Some([0.5, 2.0]))));
        let legend = ["up".to_owned(), "down".to_owned()];
        let svg = Tree { title: "Tree".to_owned(), legend, rows }.html();
        let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text")).collect();
        let (mut lowest, mut names) = (0.0, 0);
        for text in &texts {
            let (x, y) = (numbers(text, " x=\"")[0], numbers(text, " y=\"")[0]);
            let words = text.split('>').nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
            assert!(x + LETTER * words.chars().count() as f64 <= WIDTH, "{text}");
            if words.starts_with("a name") {
                assert!(y >= lowest + ROWS[0] - 0.1, "{text} overlaps");
                assert!(x + LETTER * words.chars().count() as f64 <= BARS.0, "{text} is in the bars");
                (lowest, names) = (y, names + 1);
            }
        }
        assert_eq!(names, 39);
        let widest = numbers(&svg, " width=\"").into_iter().skip(2).fold(0.0, f64::max);
        assert!(widest <= BARS.1 - BARS.0, "a share above 1 fills the bar and no more: {widest}");
    }

    #[test]
    fn text_is_cut_where_it_would_leave_its_column() {
        assert_eq!(cut("short", 50.0), "short");
        assert_eq!(cut("ζζζζζζζζ", 5.5 * LETTER), "ζζζζ…");
    }
}
