//! Line charts as SVG: series of points on two axes, a legend above them, and a level to compare with.
//!
//! Every chart of this repository is drawn here: those of a fit's page, of experiments and of studies. It
//! knows numbers and their names only; [`scale`] maps numbers to positions, [`svg`] writes elements. A
//! [`tree`] has rows in place of axes.
//!
//! Pages have charts as SVG with a script of ours that reads, magnifies and hides, and no chart library: they
//! are complete without any script, in print and in a mail's preview, and their text is text for those who
//! are read to. uPlot 1.6.32 (MIT), the smallest kept library that does as much, draws on a canvas by its
//! script alone, without roles or names for assistive programs: 51 KB in each page beside the same SVG, where
//! `html/script.js` has 15 KB. Its strength, series of 100,000 points, is not needed where at most 1,000 are
//! drawn.

mod covered;
mod legend;
pub mod scale;
pub mod svg;
pub mod tree;

pub use svg::escaped;

use legend::{Legend, SAMPLE};
use scale::Scale;
use svg::{Dot, Stroke, Svg};

/// Series on two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The heading.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// The series, in the order in which they are drawn.
    pub series: Vec<Series>,
    /// A horizontal line to compare with, such as a server's capacity.
    pub level: Option<Level>,
}

/// The quantity along an axis, and how it is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The quantity with its unit.
    pub label: String,
    /// The distance between numbers.
    pub spacing: Spacing,
}

/// The layout of numbers along an axis. Numbers that an axis by powers cannot have, those not above 0, are
/// left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly; from zero, unless all numbers lie far from it.
    Linear,
    /// Evenly, from zero.
    FromZero,
    /// By powers of two, or evenly from zero where a number is not above 0.
    Doublings,
    /// By powers of ten.
    Decades,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The drawing of the points.
    pub mark: Mark,
    /// The points, in the order in which a line joins them.
    pub points: Vec<ChartPoint>,
}

/// A point of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartPoint {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Half the width of its confidence interval, in the unit of `y`: a whisker of this length up and down.
    /// No whisker if absent.
    pub half_width: Option<f64>,
    /// The ends of an interval that need not be as far from `y` on both sides, in place of half its width.
    pub interval: Option<[f64; 2]>,
    /// The point is doubtful, such as that of an invalid run: its marker is hollow.
    pub is_doubtful: bool,
}

/// The drawing of a series' points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Joined.
    Line,
    /// Joined by dashes: a theory, or a paper.
    Dashes,
    /// Joined, with a marker at each.
    Marked,
    /// A marker at each.
    Dots,
    /// The area between two lines of equal length: the points of the upper one, then those of the lower one.
    Area,
}

/// A horizontal line in a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The name in the legend.
    pub name: String,
    /// The number on the y axis.
    pub at: f64,
}

/// Measures of a sheet, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    width: f64,
    /// Height without the legend.
    height: f64,
    left: f64,
    right: f64,
    bottom: f64,
    /// Room above the axes, besides the legend's lines.
    top: f64,
    legend_line: f64,
    font_size: f64,
    /// The picture is an element of an HTML page, in which the title is visible as a heading.
    is_in_page: bool,
}

impl Layout {
    /// A picture in a file of its own, below a heading.
    const PICTURE: Layout = Layout {
        width: 720.0,
        height: 420.0,
        left: 70.0,
        right: 30.0,
        bottom: 55.0,
        top: 20.0,
        legend_line: 20.0,
        font_size: 13.0,
        is_in_page: false,
    };

    /// One of two columns of a page. Ticks of seven digits have room beside the name of the axis.
    const COLUMN: Layout =
        Layout { width: 480.0, height: 320.0, left: 85.0, is_in_page: true, ..Layout::PICTURE };

    /// The whole width of a page, for quantities over time below each other.
    const BAND: Layout = Layout { width: 980.0, height: 250.0, ..Layout::COLUMN };
}

/// The seconds of a run along the x axis, equal in all charts of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds<'a> {
    /// The end of the axis at least.
    pub until: f64,
    /// The end of the warm-up, which is shaded.
    pub warm_up: f64,
    /// The end of the measured part: what comes after is shaded.
    pub measured_to: f64,
    /// Parts of it that are set aside, which are shaded as well: from and to.
    pub aside: &'a [(f64, f64)],
    /// Instants that have a line: the edges of the load's stages.
    pub edges: &'a [f64],
}

impl ChartPoint {
    fn has_whisker(&self) -> bool {
        self.half_width.is_some() || self.interval.is_some()
    }

    /// The lower and the upper end of the whisker; both the point itself where it has none.
    fn ends(&self) -> [f64; 2] {
        if let Some(ends) = self.interval {
            return ends;
        }
        let half_width = self.half_width.filter(|half_width| half_width.is_finite()).unwrap_or(0.0);
        [self.y - half_width, self.y + half_width]
    }
}

impl From<(f64, f64)> for ChartPoint {
    fn from((x, y): (f64, f64)) -> ChartPoint {
        ChartPoint { x, y, half_width: None, interval: None, is_doubtful: false }
    }
}

impl Series {
    /// A series of points without doubt.
    pub fn new(name: impl Into<String>, mark: Mark, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series { name: name.into(), mark, points: points.into_iter().map(ChartPoint::from).collect() }
    }
}

impl Axis {
    /// An axis laid out evenly.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), spacing: Spacing::Linear }
    }

    /// An axis by powers of ten.
    pub fn logarithmic(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), spacing: Spacing::Decades }
    }

    fn takes(&self, number: f64) -> bool {
        number.is_finite() && !(self.spacing == Spacing::Decades && number <= 0.0)
    }

    /// The scale for `numbers`.
    fn scale(&self, numbers: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (least, most) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), number| {
            (least.min(number), most.max(number))
        });
        let (least, most) = if least <= most { (least, most) } else { (1.0, 10.0) };
        match self.spacing {
            Spacing::Decades => Scale::decades(least, most, from, to),
            Spacing::Doublings if least > 0.0 => Scale::doublings(least, most, from, to),
            Spacing::FromZero | Spacing::Doublings => Scale::from_zero(most.max(0.0), from, to),
            Spacing::Linear => {
                let reaches_zero = least > 0.0 && least < 0.5 * most;
                Scale::between(if reaches_zero { 0.0 } else { least }, most, from, to)
            }
        }
    }
}

impl Chart {
    /// A chart without a level.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
        Chart { title: title.into(), x, y, series, level: None }
    }

    /// The chart as an SVG document, for a file of its own.
    pub fn svg(&self) -> String {
        self.drawn(&Layout::PICTURE, None)
    }

    /// The chart as an element of an HTML page, with its title as a heading; a sentence where there is
    /// nothing to draw.
    pub fn html(&self) -> String {
        self.in_page(&Layout::COLUMN, None)
    }

    /// The chart in the width of a page, over the seconds of a run. Such charts below each other are aligned.
    pub fn html_over(&self, seconds: Seconds) -> String {
        self.in_page(&Layout::BAND, Some(seconds))
    }

    fn in_page(&self, layout: &Layout, seconds: Option<Seconds>) -> String {
        let is_empty = self.series.iter().all(|series| self.points(series).next().is_none());
        if is_empty {
            return format!("<p class=\"none\">{}: nothing to draw.</p>\n", escaped(&self.title));
        }
        self.drawn(layout, seconds)
    }

    /// The points of a series that the axes can have.
    fn points<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = &'a ChartPoint> + Clone {
        series.points.iter().filter(|point| self.x.takes(point.x) && self.y.takes(point.y))
    }

    fn drawn(&self, layout: &Layout, seconds: Option<Seconds>) -> String {
        let &Layout { width, left, right, bottom, legend_line, .. } = layout;
        let heading = if layout.is_in_page { legend_line } else { 0.0 };
        let level_name = self.level.as_ref().map(|level| format!("{} ({})", level.name, level.at));
        let names = self.series.iter().map(|series| series.name.as_str()).chain(level_name.as_deref());
        let legend = Legend::of(layout, &names.collect::<Vec<_>>());
        let top = layout.top + heading + legend_line * legend.rows as f64;
        let height = top + layout.height;
        let (across, up) = self.scales(layout, seconds, (height - bottom, top + layout.top));

        let mut svg = Svg::new(layout, height, &self.title);
        if layout.is_in_page {
            svg.heading((8.0, layout.top), &self.title);
        }
        if let Some(seconds) = seconds {
            seconds.shade(&mut svg, &across, &up);
        }
        svg.frame(&across, &up, &self.x.label, &self.y.label, layout.is_in_page);
        if let Some(seconds) = seconds {
            seconds.draw_edges(&mut svg, &across, &up);
        }
        if layout.is_in_page {
            svg.scales(&across, &up, seconds.is_some());
        }
        let legend_at = |row: usize| layout.top + heading + legend_line * row as f64;
        if let (Some(level), Some((x, row, text))) = (&self.level, legend.entries.last()) {
            let (at, y) = (up.place(level.at), legend_at(*row));
            svg.line((left, at), (width - right, at), Stroke::Level);
            let end = layout.sample();
            svg.line((*x, y), (x + end, y), Stroke::Level);
            svg.text((x + end + layout.sample_gap(), y + 4.0), "start", text);
        }
        let dot = |point: &ChartPoint| Dot {
            x: across.place(point.x),
            y: up.place(point.y),
            whisker: point.has_whisker().then(|| point.ends().map(|end| up.place(end).min(up.from))),
            is_filled: !point.is_doubtful,
        };
        let dots: Vec<Vec<Dot>> =
            self.series.iter().map(|series| self.points(series).map(dot).collect()).collect();
        let lines = self.series.iter().zip(&dots);
        let lines =
            lines.map(|(series, dots)| (series.mark == Mark::Line && layout.is_in_page).then_some(&dots[..]));
        let dashes = covered::dashes(&lines.collect::<Vec<_>>());
        for (number, series) in self.series.iter().enumerate() {
            let pen = Pen { number, mark: series.mark, dashes: &dashes[number] };
            self.begin_series(&mut svg, series, layout.is_in_page, seconds.is_some());
            pen.trace(&mut svg, &dots[number]);
            svg.end_group();
            let (x, row, text) = &legend.entries[number];
            if !text.is_empty() {
                pen.put_key(&mut svg, layout, (*x, legend_at(*row)), text);
            }
        }
        svg.end()
    }

    /// Begins a series, in a page with its numbers: along the x axis seconds are read off the axis.
    fn begin_series(&self, svg: &mut Svg, series: &Series, is_in_page: bool, has_seconds: bool) {
        let values = |of: fn(&ChartPoint) -> f64| self.points(series).map(of).collect::<Vec<_>>();
        let x = (is_in_page && !has_seconds).then(|| values(|point| point.x));
        let y = is_in_page.then(|| values(|point| point.y));
        svg.begin_series(&series.name, x.as_deref(), y.as_deref());
    }

    /// The scales of both axes on a sheet whose plot lies between two heights, the lower end first.
    fn scales(&self, layout: &Layout, seconds: Option<Seconds>, (low, high): (f64, f64)) -> (Scale, Scale) {
        let &Layout { width, left, right, .. } = layout;
        let points = || self.series.iter().flat_map(|series| self.points(series));
        let level = self.level.iter().map(|level| level.at);
        let all_seconds = seconds.iter().map(|seconds| seconds.until);
        let across = match seconds {
            Some(_) => Scale::seconds(
                points().map(|p| p.x).chain(all_seconds).fold(0.0, f64::max),
                left,
                width - right,
            ),
            None => self.x.scale(points().map(|point| point.x), left, width - right),
        };
        // The lower ends of whiskers are cut at the axis: an axis from zero stays one. Changes in a page are
        // seen with both ends.
        let has_lower = layout.is_in_page && self.y.spacing == Spacing::Linear;
        let lower = points().map(|point| point.ends()[0]).filter(|_| has_lower);
        let heights = points().map(|point| point.y).chain(points().map(|point| point.ends()[1])).chain(lower);
        (across, self.y.scale(heights.chain(level), low, high))
    }
}

/// The drawing of a series, on the axes and in the legend.
struct Pen<'a> {
    number: usize,
    mark: Mark,
    /// Attributes of a line that lies upon others.
    dashes: &'a str,
}

impl Pen<'_> {
    /// The line and the markers, as far as the mark has them.
    fn trace(&self, svg: &mut Svg, dots: &[Dot]) {
        let Pen { number, mark, dashes } = *self;
        match mark {
            Mark::Area => return svg.area(number, dots),
            Mark::Dots => {}
            Mark::Dashes => svg.path(number, dots, " stroke-dasharray=\"7 4\""),
            Mark::Line | Mark::Marked => svg.path(number, dots, dashes),
        }
        svg.whiskers(number, dots);
        // A line through one point is not to be seen.
        if matches!(mark, Mark::Dots | Mark::Marked) || dots.len() == 1 {
            svg.markers(number, dots);
        }
    }

    /// Draws the entry in the legend, which is a group in a page.
    fn put_key(&self, svg: &mut Svg, layout: &Layout, (x, y): (f64, f64), text: &str) {
        let half = layout.sample() / 2.0;
        let dot = |along: f64| Dot { x: x + along, y, whisker: None, is_filled: true };
        if layout.is_in_page {
            svg.begin_key(self.number);
        }
        self.trace(svg, &[0.0, half, 2.0 * half].map(dot));
        svg.text((x + layout.sample() + layout.sample_gap(), y + 4.0), "start", text);
        if layout.is_in_page {
            svg.end_group();
        }
    }
}

impl Seconds<'_> {
    /// Shades what does not count.
    fn shade(&self, svg: &mut Svg, across: &Scale, up: &Scale) {
        let Seconds { until, warm_up, measured_to, aside, .. } = *self;
        let place = |second: f64| across.place(second.clamp(0.0, until));
        let around = [(0.0, warm_up), (measured_to, until)];
        for (from, to) in around.iter().chain(aside).copied().filter(|(from, to)| from < to) {
            svg.shade((place(from), up.to), (place(to), up.from));
        }
    }

    /// Lines where stages begin, and at both ends of the measured part, which is named above the plot.
    fn draw_edges(&self, svg: &mut Svg, across: &Scale, up: &Scale) {
        for edge in self.edges {
            let at = across.place(*edge);
            svg.line((at, up.to), (at, up.from), Stroke::Level);
        }
        let ends = [self.warm_up, self.measured_to.min(self.until)];
        let [from, to] = ends.map(|second| across.place(second.clamp(0.0, self.until)));
        if self.measured_to.is_finite() && from < to {
            svg.measured((from, to), up.to, up.from);
        }
    }
}

impl Layout {
    /// Length of a line's sample in the legend.
    fn sample(&self) -> f64 {
        if self.is_in_page { SAMPLE } else { 40.0 }
    }

    /// Room between a sample and its name.
    fn sample_gap(&self) -> f64 {
        if self.is_in_page { 9.0 } else { 10.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two series, of which one has a point that a logarithmic axis cannot have.
    fn chart() -> Chart {
        let data = Series::new("data", Mark::Dots, [(0.0, 0.5), (10.0, 0.0), (1000.0, 1.0)]);
        let theory = Series::new("a < b", Mark::Dashes, [(10.0, 0.0), (100.0, 0.5)]);
        Chart::new("Chart", Axis::logarithmic("bytes"), Axis::linear("share"), vec![data, theory])
    }

    #[test]
    fn points_that_an_axis_cannot_have_are_left_out() {
        for svg in [chart().svg(), chart().html()] {
            // Three markers of the first series in the legend, and two on the axes.
            assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
            assert_eq!(svg.matches("stroke-dasharray=\"7 4\"").count(), 2);
            for part in ["a &lt; b", ">bytes<", ">share<", ">1000<"] {
                assert!(svg.contains(part), "`{part}` is not in {svg}");
            }
        }
        assert!(chart().svg().contains("xmlns=") && !chart().html().contains("http"));
        let not_finite = Series::new("n", Mark::Dots, [(f64::NAN, 1.0), (1.0, f64::INFINITY), (1.0, 1.0)]);
        let svg = Chart { series: vec![not_finite], ..chart() }.svg();
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
    }

    #[test]
    fn a_page_reports_a_chart_without_points() {
        let of = |points: &[(f64, f64)]| {
            let series = vec![Series::new("data", Mark::Dots, points.to_vec())];
            Chart { series, ..chart() }.html()
        };
        assert!(of(&[(-1.0, 1.0)]).contains("nothing to draw"));
        assert!(of(&[(2.0, 2.0)]).contains("<circle"), "one point is drawn");
    }

    /// Seconds before and after the measured part are shaded, and a line through one point has a marker.
    #[test]
    fn a_single_second_is_visible_and_what_does_not_count_is_shaded() {
        let series = vec![Series::new("data", Mark::Line, [(1.0, 5.0)])];
        let chart = Chart::new("Chart", Axis::linear("second"), Axis::linear("n"), series);
        let shaded = |warm_up, measured_to, aside: &[(f64, f64)]| {
            let svg =
                chart.html_over(Seconds { until: 4.0, warm_up, measured_to, aside, edges: &[1.0, 2.0] });
            assert_eq!(svg.matches("stroke-dasharray").count(), 2, "a line for each edge of a stage");
            svg.matches("class=\"shade\"").count()
        };
        let edges = [(0.0, 4.0), (1.0, 4.0), (0.0, 3.0), (1.0, 3.0)];
        assert_eq!(edges.map(|(warm_up, measured_to)| shaded(warm_up, measured_to, &[])), [0, 1, 1, 2]);
        assert_eq!(shaded(1.0, 3.0, &[(1.0, 1.5), (2.0, 3.0)]), 4, "what is set aside does not count either");
        // One of the second, three of the legend's line.
        let of = |svg: String| {
            svg.split("</g>")
                .filter(|group| group.contains("class=\"series\""))
                .map(|group| group.matches("<circle").count())
                .sum::<usize>()
        };
        assert_eq!(of(chart.html()), 1, "{}", chart.html());
    }

    #[test]
    fn a_linear_axis_begins_at_zero_unless_numbers_are_far_from_it() {
        let place = |numbers: &[f64]| Axis::linear("n").scale(numbers.iter().copied(), 0.0, 100.0).place(0.0);
        assert_eq!(place(&[2.0, 10.0]), 0.0);
        assert!(place(&[90.0, 100.0]) < -100.0);
        assert!(place(&[-1.0, 1.0]) > 0.0);
    }

    /// Four users lie at the right end, 200 attempts at the top, and 50 at a quarter of the height.
    #[test]
    fn points_levels_and_doubts_have_their_places() {
        let doubtful = ChartPoint { is_doubtful: true, ..ChartPoint::from((4.0, 200.0)) };
        let plain = Series::new("plain", Mark::Marked, [(1.0, 50.0), (2.0, 100.0)]);
        let other = Series { points: vec![doubtful], ..Series::new("other", Mark::Marked, []) };
        let axis = |label: &str| Axis { label: label.to_owned(), spacing: Spacing::FromZero };
        let level = Some(Level { name: "capacity".to_owned(), at: 100.0 });
        let chart =
            Chart { level, ..Chart::new("Title", axis("users"), axis("attempts, 1/s"), vec![plain, other]) };
        let svg = chart.svg();
        let Layout { width, height, left, right, bottom, top, legend_line, .. } = Layout::PICTURE;
        let (highest, lowest) = (top + 3.0 * legend_line + top, top + 3.0 * legend_line + height - bottom);
        let quarter = lowest + (highest - lowest) / 4.0;
        let first = left + (width - right - left) / 4.0;
        assert!(svg.contains(&format!("<polyline points=\"{first:.1},{quarter:.1} ")), "{svg}");
        assert!(svg.contains(&format!("<polyline points=\"{:.1},{highest:.1}\"", width - right)), "{svg}");
        for part in ["capacity (100)", ">users<", ">attempts, 1/s<"] {
            assert!(svg.contains(part), "`{part}` is not in {svg}");
        }
        assert_eq!(
            svg.matches("fill=\"#ffffff\" stroke=").count(),
            1,
            "one hollow marker; the legend's are filled"
        );
        assert!(svg.ends_with("</svg>\n"));
    }

    /// On an axis from 0 to 120, a whisker of 20 about 100 ends at the top and at two thirds of the height;
    /// one of 80 about 40 is cut at the axis.
    #[test]
    fn whiskers_reach_as_far_as_their_intervals() {
        let point =
            |x, y, half_width| ChartPoint { half_width: Some(half_width), ..ChartPoint::from((x, y)) };
        let points = vec![point(1.0, 100.0, 20.0), point(2.0, 40.0, 80.0), ChartPoint::from((3.0, 50.0))];
        let series = vec![Series { name: "data".to_owned(), mark: Mark::Marked, points }];
        let from_zero = |label: &str| Axis { label: label.to_owned(), spacing: Spacing::FromZero };
        let svg = Chart::new("Title", from_zero("x"), from_zero("y"), series).svg();
        let Layout { height, bottom, top, legend_line, .. } = Layout::PICTURE;
        let (highest, lowest) = (top + legend_line + top, top + legend_line + height - bottom);
        let whiskers: Vec<&str> = svg.lines().filter(|line| line.contains("class=\"whisker\"")).collect();
        assert_eq!(whiskers.len(), 2, "the point without an interval has none: {svg}");
        let at = |share: f64| format!("{:.1}", lowest - share * (lowest - highest));
        assert!(whiskers[0].contains(&format!(" {}V{}", at(80.0 / 120.0), at(1.0))), "{}", whiskers[0]);
        assert!(whiskers[1].contains(&format!(" {}V{}", at(0.0), at(1.0))), "{}", whiskers[1]);
    }

    #[test]
    fn an_axis_by_doublings_needs_numbers_above_zero() {
        let axis = Axis { label: "n".to_owned(), spacing: Spacing::Doublings };
        let second = |numbers: &[f64]| {
            let scale = axis.scale(numbers.iter().copied(), 0.0, 100.0);
            scale.ticks().nth(1).expect("a second tick").0
        };
        assert_eq!(second(&[1.0, 8.0]), "2");
        assert_eq!(second(&[0.0, 8.0]), "1");
    }
}
