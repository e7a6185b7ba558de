//! A line chart as SVG text: axes from zero with round ticks, or to the right by powers of two, a line with markers for each curve, a legend.
//!
//! It draws what the pages of experiments need and no more. Points of runs that call themselves invalid are hollow.

use super::column::Row;
use super::plan::{Chart, Experiment, Scale};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const BOTTOM: f64 = 55.0;
/// Room above the axes, besides the legend's lines.
const TOP: f64 = 20.0;
const LEGEND_LINE: f64 = 20.0;

/// Colours that colour-blind readers can tell apart (Okabe and Ito 2008), and print well.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];

/// A point, and whether its run is valid.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Dot {
    x: f64,
    y: f64,
    is_valid: bool,
}

/// Numbers on an axis, from zero to at least the largest, and where they lie on the paper.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    step: f64,
    /// Ticks besides the one at zero.
    steps: u32,
    /// Where zero lies, and the last tick.
    from: f64,
    to: f64,
    /// Of an axis by powers of two, the least number; its ticks are `step` doublings apart.
    log_from: Option<f64>,
}

impl Axis {
    /// An axis for numbers from zero to `most`, from `from` to `to` on the paper.
    fn new(most: f64, from: f64, to: f64) -> Axis {
        const STEPS_MAX: f64 = 8.0;
        let most = if most > 0.0 { most } else { 1.0 };
        let decade = 10f64.powf((most / STEPS_MAX).log10().floor());
        let enough = |step: &f64| most / step <= STEPS_MAX;
        let step = [1.0, 2.0, 5.0].map(|round| round * decade).into_iter().find(enough);
        let step = step.unwrap_or(10.0 * decade);
        // A number that lies on a tick but for rounding needs no tick above it.
        Axis { step, steps: (most / step - 1e-9).ceil() as u32, from, to, log_from: None }
    }

    /// An axis by powers of two from `least`, which must be above 0, to at least `most`.
    fn log(least: f64, most: f64, from: f64, to: f64) -> Axis {
        const STEPS_MAX: f64 = 9.0;
        let doublings = (most / least).log2().max(1.0);
        let step = (doublings / STEPS_MAX).ceil();
        Axis { step, steps: (doublings / step - 1e-9).ceil() as u32, from, to, log_from: Some(least) }
    }

    /// Where `number` lies.
    fn place(&self, number: f64) -> f64 {
        let steps = match self.log_from {
            Some(least) => (number / least).log2() / self.step,
            None => number / self.step,
        };
        let part = steps / f64::from(self.steps);
        self.from + part * (self.to - self.from)
    }

    /// The numbers that are written, and where.
    fn ticks(&self) -> impl Iterator<Item = (String, f64)> {
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        (0..=self.steps).map(move |tick| {
            let steps = self.step * f64::from(tick);
            let name = match self.log_from {
                Some(least) => (least * steps.exp2()).to_string(),
                None => format!("{steps:.decimals$}"),
            };
            let part = f64::from(tick) / f64::from(self.steps);
            (name, self.from + part * (self.to - self.from))
        })
    }
}

/// One figure of an experiment.
pub fn chart(experiment: &Experiment, chart: &Chart, rows: &[Row]) -> String {
    let plan = &experiment.plan;
    let (x, y) = (chart.x, chart.y);
    let dot = |row: &Row| Some(Dot { x: x.of(row)?, y: y.of(row)?, is_valid: row.is_valid() });
    let drawn = plan.curves_of(chart);
    let curves: Vec<Vec<Dot>> = drawn
        .iter()
        .map(|&curve| rows.iter().filter(|row| row.curve == curve).filter_map(dot).collect())
        .collect();
    let dots = || curves.iter().flatten();
    let level = chart.level.as_ref();
    let x_most = dots().map(|dot| dot.x).fold(0.0, f64::max);
    let y_most = dots().map(|dot| dot.y).fold(level.map_or(0.0, |level| level.at), f64::max);

    let legend = LEGEND_LINE * (drawn.len() + usize::from(level.is_some())) as f64;
    let top = TOP + legend;
    let x_least = dots().map(|dot| dot.x).fold(f64::INFINITY, f64::min);
    let across = match chart.scale {
        Scale::Log if x_least > 0.0 && x_least.is_finite() => Axis::log(x_least, x_most, LEFT, WIDTH - RIGHT),
        _ => Axis::new(x_most, LEFT, WIDTH - RIGHT),
    };
    let up = Axis::new(y_most, top + HEIGHT - BOTTOM, top + TOP);
    let height = top + HEIGHT;

    let mut svg = Svg::new(WIDTH, height, &plan.title);
    svg.frame(&across, &up, &x.head(&plan.label), &y.head(&plan.label));
    if let Some(level) = level {
        let at = up.place(level.at);
        svg.line((across.from, at), (across.to, at), "level");
        let in_legend = TOP + LEGEND_LINE * drawn.len() as f64;
        svg.line((LEFT, in_legend), (LEFT + 40.0, in_legend), "level");
        svg.text((LEFT + 50.0, in_legend + 4.0), "start", &format!("{} ({})", level.name, level.at));
    }
    for (number, (&curve, dots)) in drawn.iter().zip(&curves).enumerate() {
        let places: Vec<Dot> =
            dots.iter().map(|dot| Dot { x: across.place(dot.x), y: up.place(dot.y), ..*dot }).collect();
        svg.curve(number, &places);
        let in_legend = TOP + LEGEND_LINE * number as f64;
        let sample = |x| Dot { x: LEFT + x, y: in_legend, is_valid: true };
        svg.curve(number, &[sample(0.0), sample(20.0), sample(40.0)]);
        svg.text((LEFT + 50.0, in_legend + 4.0), "start", &plan.curves[curve].name);
    }
    svg.end()
}

/// An SVG document as it is written.
struct Svg(String);

impl Svg {
    fn new(width: f64, height: f64, title: &str) -> Svg {
        let mut svg = Svg(String::new());
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <title>{}</title>\n\
             <style>.grid {{ stroke: #dddddd }} .axis {{ stroke: #333333 }} \
             .level {{ stroke: #777777; stroke-dasharray: 6 4 }} text {{ fill: #222222 }}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>",
            escaped(title)
        ));
        svg
    }

    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a String takes all");
    }

    fn end(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    /// Both axes with their ticks and names, and a grid.
    fn frame(&mut self, across: &Axis, up: &Axis, x_name: &str, y_name: &str) {
        for (number, x) in across.ticks() {
            self.line((x, up.from), (x, up.to), "grid");
            self.text((x, up.from + 20.0), "middle", &number);
        }
        for (number, y) in up.ticks() {
            self.line((across.from, y), (across.to, y), "grid");
            self.text((across.from - 8.0, y + 4.0), "end", &number);
        }
        self.line((across.from, up.from), (across.to, up.from), "axis");
        self.line((across.from, up.from), (across.from, up.to), "axis");
        self.text((f64::midpoint(across.from, across.to), up.from + 44.0), "middle", x_name);
        let (x, y) = (18.0, f64::midpoint(up.from, up.to));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y:.1})\">{}</text>",
            escaped(y_name)
        ));
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        ));
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    /// The line of curve `number` through `dots`, which lie where they are to be drawn.
    fn curve(&mut self, number: usize, dots: &[Dot]) {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> = dots.iter().map(|dot| format!("{:.1},{:.1}", dot.x, dot.y)).collect();
        self.put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        ));
        for &Dot { x, y, is_valid } in dots {
            let fill = if is_valid { colour } else { "#ffffff" };
            let paint = format!("fill=\"{fill}\" stroke=\"{colour}\"");
            let (left, top, peak) = (x - 3.5, y - 3.5, y - 6.0);
            // Where colours begin anew, markers do not.
            match (number + number / COLOURS.len()) % 3 {
                0 => self.put(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" {paint}/>")),
                1 => self.put(format_args!(
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"7\" height=\"7\" {paint}/>"
                )),
                _ => self.put(format_args!("<path d=\"M{x:.1} {peak:.1}l5 9h-10z\" {paint}/>")),
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::row;
    use crate::experiment::plan::tests::TEXT;

    #[test]
    fn ticks_are_round_and_reach_the_largest_number() {
        let check = |most: f64, step: f64, last: &str| {
            let axis = Axis::new(most, 0.0, 100.0);
            assert_eq!(axis.step, step, "{most}");
            assert_eq!(axis.ticks().last().unwrap().0, last, "{most}");
            assert!(axis.steps <= 8 && axis.place(most) <= 100.0 + 1e-9, "{axis:?}");
        };
        check(256.0, 50.0, "300");
        check(2065.0, 500.0, "2500");
        check(130.0, 20.0, "140");
        check(800.0, 100.0, "800");
        check(8.0, 1.0, "8");
        check(1.0, 0.2, "1.0");
        check(0.0, 0.2, "1.0");
    }

    #[test]
    fn ticks_by_powers_of_two_are_evenly_apart() {
        let axis = Axis::log(1.0, 4096.0, 0.0, 600.0);
        let ticks: Vec<(String, f64)> = axis.ticks().collect();
        let names: Vec<&str> = ticks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["1", "4", "16", "64", "256", "1024", "4096"]);
        for (name, at) in &ticks {
            assert!((axis.place(name.parse().unwrap()) - at).abs() < 1e-9, "{name}");
        }
        assert_eq!((axis.place(8.0), axis.place(4096.0)), (150.0, 600.0));
    }

    #[test]
    fn places_are_linear_between_the_ends() {
        let up = Axis::new(200.0, 380.0, 40.0);
        assert_eq!([0.0, 100.0, 200.0].map(|number| up.place(number)), [380.0, 210.0, 40.0]);
    }

    #[test]
    fn each_curve_has_its_points_and_its_name() {
        let experiment = Experiment::parse("e", &TEXT.replace("\"plain\"", "\"a < b\"")).unwrap();
        let late = Row { doubts: vec!["send-lateness".to_owned()], ..row(1, 4, 200.0, 99.5) };
        let only = &experiment.plan.charts()[0];
        let svg = chart(&experiment, only, &[row(0, 1, 50.0, 50.0), row(0, 2, 100.0, 99.0), late]);
        // Four users lie at the right end, 200 attempts at the top, and 50 at a quarter of the height.
        let (top, bottom) = (TOP + 3.0 * LEGEND_LINE + TOP, TOP + 3.0 * LEGEND_LINE + HEIGHT - BOTTOM);
        let quarter = bottom + (top - bottom) / 4.0;
        let first = LEFT + (WIDTH - RIGHT - LEFT) / 4.0;
        assert!(svg.contains(&format!("<polyline points=\"{first:.1},{quarter:.1} ")), "{svg}");
        assert!(svg.contains(&format!("<polyline points=\"{:.1},{top:.1}\"", WIDTH - RIGHT)), "{svg}");
        for part in ["a &lt; b", "capacity (100)", ">users<", ">attempts, 1/s<"] {
            assert!(svg.contains(part), "`{part}` is not in {svg}");
        }
        // One point of the late run; the legend's are filled.
        assert_eq!(svg.matches("fill=\"#ffffff\" stroke=").count(), 1);
        assert!(svg.ends_with("</svg>\n"));
    }
}
