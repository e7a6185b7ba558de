//! A plot as inline SVG: dots and lines on axes that are linear or logarithmic. Nothing outside of the page is
//! named, so that it looks the same wherever it is read.

use std::fmt::Write;

/// A plot.
pub struct Chart {
    /// Above it.
    pub title: String,
    /// What goes to the right.
    pub x: Axis,
    /// What goes up.
    pub y: Axis,
    /// What is drawn, in this order.
    pub series: Vec<Series>,
}

/// An axis.
pub struct Axis {
    /// Beside it.
    pub label: String,
    /// Whether steps of the same length multiply by the same factor; what is not above 0 is left out then.
    pub logarithmic: bool,
}

/// Points that belong together.
pub struct Series {
    /// In the legend.
    pub name: String,
    /// Where.
    pub points: Vec<(f64, f64)>,
    /// How.
    pub look: Look,
}

/// How points are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Each by itself.
    Dots,
    /// Joined.
    Line,
    /// Joined by dashes.
    Dashes,
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;

impl Axis {
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), logarithmic: false }
    }

    pub fn logarithmic(label: &str) -> Axis {
        Axis { label: label.to_owned(), logarithmic: true }
    }

    fn place(&self, value: f64) -> Option<f64> {
        let place = if self.logarithmic { (value > 0.0).then(|| value.log10())? } else { value };
        place.is_finite().then_some(place)
    }

    /// Values to mark between two places.
    fn marks(&self, from: f64, to: f64) -> Vec<f64> {
        if self.logarithmic {
            let each = ((to - from) / 6.0).ceil().max(1.0);
            let first = (from / each).ceil() as i32;
            return (first..).map(|at| f64::from(at) * each).take_while(|at| *at <= to + 1e-9).collect();
        }
        let rough = (to - from) / 5.0;
        let unit = 10f64.powf(rough.log10().floor());
        let each = [1.0, 2.0, 5.0, 10.0].map(|step| step * unit).into_iter().find(|step| *step >= rough);
        let each = each.unwrap_or(unit);
        let first = (from / each).ceil() as i64;
        (first..).map(|at| at as f64 * each).take_while(|at| *at <= to + 1e-9 * each).collect()
    }

    fn told(&self, place: f64) -> String {
        let value = if self.logarithmic { 10f64.powf(place) } else { place };
        match value.abs() {
            0.0 => "0".to_owned(),
            small if small < 1e-3 => format!("{value:.0e}"),
            large if large >= 1e5 => format!("{value:.0e}"),
            _ => format!("{}", (value * 1e4).round() / 1e4),
        }
    }
}

/// The space between two places, never none.
fn range(places: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let found = places.fold(None, |range: Option<(f64, f64)>, at| {
        Some(range.map_or((at, at), |(low, high)| (low.min(at), high.max(at))))
    });
    found.map(|(low, high)| if high - low < 1e-9 { (low - 0.5, high + 0.5) } else { (low, high) })
}

impl Chart {
    /// The plot, or a word where there is nothing to draw.
    pub fn svg(&self) -> String {
        let placed: Vec<Vec<(f64, f64)>> = self
            .series
            .iter()
            .map(|series| {
                let place = |(x, y): &(f64, f64)| Some((self.x.place(*x)?, self.y.place(*y)?));
                series.points.iter().filter_map(place).collect()
            })
            .collect();
        let all = || placed.iter().flatten();
        let (Some(xs), Some(ys)) = (range(all().map(|p| p.0)), range(all().map(|p| p.1))) else {
            return format!("<p class=\"none\">{}: nothing to draw.</p>\n", escaped(&self.title));
        };
        let right = |x: f64| LEFT + (x - xs.0) / (xs.1 - xs.0) * (WIDTH - LEFT - RIGHT);
        let down = |y: f64| HEIGHT - BOTTOM - (y - ys.0) / (ys.1 - ys.0) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><text x=\"{LEFT}\" y=\"16\" \
             class=\"title\">{0}</text>\n",
            escaped(&self.title)
        );
        self.axes(&mut svg, xs, ys, &right, &down);
        for (number, (series, points)) in self.series.iter().zip(&placed).enumerate() {
            let placed: Vec<(f64, f64)> = points.iter().map(|(x, y)| (right(*x), down(*y))).collect();
            draw(&mut svg, series, number, &placed);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(
        &self,
        svg: &mut String,
        xs: (f64, f64),
        ys: (f64, f64),
        right: &dyn Fn(f64) -> f64,
        down: &dyn Fn(f64) -> f64,
    ) {
        let (floor, end) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for mark in self.x.marks(xs.0, xs.1) {
            let at = right(mark);
            let _ = write!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{floor}\" class=\"grid\"/><text x=\"{at:.1}\" y=\"{}\" class=\"x\">{}</text>",
                floor + 14.0,
                self.x.told(mark)
            );
        }
        for mark in self.y.marks(ys.0, ys.1) {
            let at = down(mark);
            let _ = write!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{end}\" class=\"grid\"/><text x=\"{}\" y=\"{:.1}\" class=\"y\">{}</text>",
                LEFT - 5.0,
                at + 3.5,
                self.y.told(mark)
            );
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{floor}H{end}\" class=\"axis\"/><text x=\"{}\" y=\"{}\" class=\"x\">{}</text>\
             <text x=\"12\" y=\"{TOP}\" class=\"up\" transform=\"rotate(-90 12 {TOP})\">{}</text>",
            (LEFT + end) / 2.0,
            HEIGHT - 10.0,
            escaped(&self.x.label),
            escaped(&self.y.label)
        );
    }
}

fn draw(svg: &mut String, series: &Series, number: usize, points: &[(f64, f64)]) {
    match series.look {
        Look::Dots => {
            for (x, y) in points {
                let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.4\" class=\"s{number}\"/>");
            }
        }
        Look::Line | Look::Dashes => {
            let dashed = if series.look == Look::Dashes { " dashed" } else { "" };
            let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            if !path.is_empty() {
                let _ = write!(svg, "<path d=\"M{}\" class=\"line s{number}{dashed}\"/>", path.join("L"));
            }
        }
    }
    let (x, y) = (WIDTH - RIGHT - 4.0, TOP + 12.0 + 13.0 * number as f64);
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" class=\"legend s{number}\">{}</text>",
        escaped(&series.name)
    );
}

/// `text` as HTML has it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> String {
        let series = vec![Series { name: "a < b".into(), points, look: Look::Dots }];
        Chart { title: "t".into(), x: Axis::logarithmic("x"), y: Axis::linear("y"), series }.svg()
    }

    #[test]
    fn dots_lie_within_the_frame_and_what_cannot_be_placed_is_left_out() {
        let svg = chart(vec![(1.0, 0.0), (10.0, 5.0), (100.0, 10.0), (0.0, 3.0), (5.0, f64::NAN)]);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(
            svg.contains("cx=\"64.0\" cy=\"256.0\"") && svg.contains("cx=\"446.0\" cy=\"30.0\""),
            "{svg}"
        );
        assert!(svg.contains("a &lt; b") && svg.contains(">100</text>"));
    }

    #[test]
    fn nothing_to_draw_is_said() {
        assert!(chart(vec![(-1.0, 1.0)]).contains("nothing to draw"));
        assert!(chart(vec![(2.0, 2.0)]).contains("<circle"), "one point is drawn");
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(Axis::linear("").marks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(Axis::logarithmic("").marks(-0.5, 2.2), [0.0, 1.0, 2.0]);
        assert_eq!(Axis::logarithmic("").told(-4.0), "1e-4");
    }
}
