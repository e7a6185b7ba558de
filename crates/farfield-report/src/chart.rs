//! The figure of a study: curves on axes that are linear or logarithmic.

use xtask::drawing::{Axis, Dot, Svg};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const BOTTOM: f64 = 55.0;
/// Room above the axes, besides the legend's lines.
const TOP: f64 = 20.0;
const LEGEND_LINE: f64 = 20.0;

/// Curves on two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// To the right.
    pub x: Measure,
    /// Up.
    pub y: Measure,
    /// What is drawn, in this order.
    pub curves: Vec<Curve>,
}

/// What an axis measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// Its name with its unit.
    pub name: &'static str,
    /// Whether steps of the same length multiply by the same factor; what is not above 0 is left out then.
    pub is_logarithmic: bool,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// Where.
    pub points: Vec<(f64, f64)>,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Joined.
    Line,
    /// Joined by dashes: what theory or the paper has.
    Dashes,
    /// Joined, with a marker at each.
    Marked,
    /// A marker at each.
    Dots,
}

impl Measure {
    /// On a linear axis.
    pub fn linear(name: &'static str) -> Measure {
        Measure { name, is_logarithmic: false }
    }

    /// On a logarithmic axis.
    pub fn logarithmic(name: &'static str) -> Measure {
        Measure { name, is_logarithmic: true }
    }

    fn takes(&self, number: f64) -> bool {
        number.is_finite() && !(self.is_logarithmic && number <= 0.0)
    }

    /// The axis for `numbers`; a linear one has zero on it unless all lie far from it.
    fn axis(&self, numbers: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (least, most) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), number| {
            (least.min(number), most.max(number))
        });
        let (least, most) = if least <= most { (least, most) } else { (1.0, 10.0) };
        if self.is_logarithmic {
            return Axis::decades(least, most, from, to);
        }
        let reaches_zero = least > 0.0 && least < 0.5 * most;
        Axis::between(if reaches_zero { 0.0 } else { least }, most, from, to)
    }
}

impl Figure {
    /// As SVG.
    pub fn svg(&self) -> String {
        let is_drawn = |(x, y): &(f64, f64)| self.x.takes(*x) && self.y.takes(*y);
        let curves: Vec<Vec<(f64, f64)>> =
            self.curves.iter().map(|curve| curve.points.iter().copied().filter(is_drawn).collect()).collect();
        let points = || curves.iter().flatten();
        let top = TOP + LEGEND_LINE * curves.len() as f64;
        let across = self.x.axis(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let up = self.y.axis(points().map(|point| point.1), top + HEIGHT - BOTTOM, top + TOP);
        let mut svg = Svg::new(WIDTH, top + HEIGHT, &self.title);
        svg.frame(&across, &up, self.x.name, self.y.name);
        let dot = |x, y| Dot { x, y, is_filled: true };
        for (number, (curve, points)) in self.curves.iter().zip(&curves).enumerate() {
            let places: Vec<Dot> = points.iter().map(|(x, y)| dot(across.place(*x), up.place(*y))).collect();
            draw(&mut svg, number, curve.look, &places);
            let in_legend = TOP + LEGEND_LINE * number as f64;
            let sample = [0.0, 20.0, 40.0].map(|x| dot(LEFT + x, in_legend));
            draw(&mut svg, number, curve.look, &sample);
            svg.text((LEFT + 50.0, in_legend + 4.0), "start", &curve.name);
        }
        svg.end()
    }
}

fn draw(svg: &mut Svg, number: usize, look: Look, dots: &[Dot]) {
    if look != Look::Dots {
        svg.path(number, dots, look == Look::Dashes);
    }
    if matches!(look, Look::Dots | Look::Marked) {
        svg.markers(number, dots);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Two curves, of which one has a point that a logarithmic axis cannot have.
    pub fn figure() -> Figure {
        let curve = |name: &str, look, points: &[(f64, f64)]| Curve {
            name: name.to_owned(),
            look,
            points: points.to_vec(),
        };
        Figure {
            title: "Figure".to_owned(),
            x: Measure::logarithmic("bytes"),
            y: Measure::linear("share"),
            curves: vec![
                curve("data", Look::Dots, &[(0.0, 0.5), (10.0, 0.0), (1000.0, 1.0)]),
                curve("a < b", Look::Dashes, &[(10.0, 0.0), (100.0, 0.5)]),
            ],
        }
    }

    #[test]
    fn what_an_axis_cannot_have_is_left_out() {
        let svg = figure().svg();
        // Three markers of the first curve in the legend, and two on the axes.
        assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
        assert_eq!(svg.matches("stroke-dasharray=\"7 4\"").count(), 2);
        for part in ["a &lt; b", ">bytes<", ">share<", ">1000<"] {
            assert!(svg.contains(part), "`{part}` is not in {svg}");
        }
    }

    #[test]
    fn an_axis_begins_at_zero_unless_numbers_are_far_from_it() {
        let place =
            |numbers: &[f64]| Measure::linear("n").axis(numbers.iter().copied(), 0.0, 100.0).place(0.0);
        assert_eq!(place(&[2.0, 10.0]), 0.0);
        assert!(place(&[90.0, 100.0]) < -100.0);
        assert!(place(&[-1.0, 1.0]) > 0.0);
    }
}
