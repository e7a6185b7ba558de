//! Figures as SVG text: axes with round ticks, lines with markers, text. Nothing outside of the file is named, so that it
//! looks the same wherever it is read.
//!
//! It knows neither curves nor their meaning: a chart places its numbers with two [axes](Axis) and draws on an [`Svg`].

use std::fmt::Write;

/// Colours that colour-blind readers can tell apart (Okabe and Ito 2008), and print well.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];

/// Numbers on an axis, and where they lie on the paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    scale: Scale,
    /// Ticks besides the first.
    steps: u32,
    /// Where the first tick lies, and the last.
    from: f64,
    to: f64,
}

/// What a step from tick to tick is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    /// `step` more, from `first` steps on.
    Linear { first: f64, step: f64 },
    /// `step` doublings, from `least` on.
    Doublings { least: f64, step: f64 },
    /// `step` powers of ten, from the power `first` on.
    Decades { first: f64, step: f64 },
}

impl Axis {
    /// An axis for numbers from zero to `most`, from `from` to `to` on the paper.
    pub fn from_zero(most: f64, from: f64, to: f64) -> Axis {
        Axis::between(0.0, most, from, to)
    }

    /// An axis with round ticks, the first at or below `least` and the last at or above `most`.
    pub fn between(least: f64, most: f64, from: f64, to: f64) -> Axis {
        const STEPS_MAX: f64 = 8.0;
        let range = if most > least { most - least } else { 1.0 };
        let most = least + range;
        let decade = 10f64.powf((range / STEPS_MAX).log10().floor());
        // A number that lies on a tick but for rounding needs no tick beyond it.
        let first = |step: f64| (least / step + 1e-9).floor();
        let last = |step: f64| (most / step - 1e-9).ceil();
        let enough = |step: &f64| last(*step) - first(*step) <= STEPS_MAX;
        let round = [1.0, 2.0, 5.0, 10.0].map(|round| round * decade);
        let step = round.into_iter().find(enough).unwrap_or(20.0 * decade);
        let steps = (last(step) - first(step)) as u32;
        Axis { scale: Scale::Linear { first: first(step), step }, steps, from, to }
    }

    /// An axis by powers of two from `least`, which must be above 0, to at least `most`.
    pub fn doublings(least: f64, most: f64, from: f64, to: f64) -> Axis {
        const STEPS_MAX: f64 = 9.0;
        let doublings = (most / least).log2().max(1.0);
        let step = (doublings / STEPS_MAX).ceil();
        let steps = (doublings / step - 1e-9).ceil() as u32;
        Axis { scale: Scale::Doublings { least, step }, steps, from, to }
    }

    /// An axis by powers of ten, the first at or below `least`, which must be above 0, the last at or above `most`.
    pub fn decades(least: f64, most: f64, from: f64, to: f64) -> Axis {
        const STEPS_MAX: f64 = 8.0;
        let first = (least.log10() + 1e-9).floor();
        let decades = ((most.log10() - 1e-9).ceil() - first).max(1.0);
        let step = (decades / STEPS_MAX).ceil();
        Axis { scale: Scale::Decades { first, step }, steps: (decades / step).ceil() as u32, from, to }
    }

    /// Where `number` lies; on an axis by powers it must be above 0.
    pub fn place(&self, number: f64) -> f64 {
        let steps = match self.scale {
            Scale::Linear { first, step } => number / step - first,
            Scale::Doublings { least, step } => (number / least).log2() / step,
            Scale::Decades { first, step } => (number.log10() - first) / step,
        };
        self.from + steps / f64::from(self.steps) * (self.to - self.from)
    }

    /// The numbers that are written, and where.
    fn ticks(&self) -> impl Iterator<Item = (String, f64)> {
        (0..=self.steps).map(move |tick| {
            let steps = f64::from(tick);
            let name = match self.scale {
                Scale::Linear { first, step } => {
                    let decimals = (-step.log10().floor()).max(0.0) as usize;
                    format!("{:.decimals$}", step * (first + steps))
                }
                Scale::Doublings { least, step } => (least * (step * steps).exp2()).to_string(),
                Scale::Decades { first, step } => power_of_ten(first + step * steps),
            };
            (name, self.from + steps / f64::from(self.steps) * (self.to - self.from))
        })
    }
}

/// 10 to a whole power, as people write it.
fn power_of_ten(power: f64) -> String {
    match power {
        power if power > 5.0 => format!("1e{power}"),
        power if power >= 0.0 => format!("{}", 10f64.powf(power).round()),
        power if power >= -4.0 => format!("{:.*}", -power as usize, 10f64.powf(power)),
        power => format!("1e{power}"),
    }
}

/// A point on the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
    /// Whether its marker is filled; what is doubtful is hollow.
    pub is_filled: bool,
}

/// An SVG document as it is written.
#[derive(Debug)]
pub struct Svg(String);

impl Svg {
    /// An empty sheet.
    pub fn new(width: f64, height: f64, title: &str) -> Svg {
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

    /// The whole document.
    pub fn end(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    /// Both axes with their ticks and names, and a grid.
    pub fn frame(&mut self, across: &Axis, up: &Axis, x_name: &str, y_name: &str) {
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

    /// A straight line of a class of the style: `grid`, `axis`, or `level`.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        ));
    }

    /// Text that has its `anchor` (`start`, `middle`, `end`) at a point.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    /// The line through `dots` in the colour of curve `number`, dashed or not.
    pub fn path(&mut self, number: usize, dots: &[Dot], is_dashed: bool) {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> = dots.iter().map(|dot| format!("{:.1},{:.1}", dot.x, dot.y)).collect();
        let dashes = if is_dashed { " stroke-dasharray=\"7 4\"" } else { "" };
        self.put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
            points.join(" ")
        ));
    }

    /// A marker at each of `dots`, in the colour and shape of curve `number`.
    pub fn markers(&mut self, number: usize, dots: &[Dot]) {
        let colour = COLOURS[number % COLOURS.len()];
        for &Dot { x, y, is_filled } in dots {
            let fill = if is_filled { colour } else { "#ffffff" };
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

    fn names(axis: &Axis) -> Vec<String> {
        axis.ticks().map(|(name, _)| name).collect()
    }

    #[test]
    fn ticks_are_round_and_reach_the_largest_number() {
        let check = |most: f64, second: &str, last: &str| {
            let axis = Axis::from_zero(most, 0.0, 100.0);
            let names = names(&axis);
            assert_eq!((names[1].as_str(), names.last().unwrap().as_str()), (second, last), "{most}");
            assert!(axis.steps <= 8 && axis.place(most) <= 100.0 + 1e-9, "{axis:?}");
        };
        check(256.0, "50", "300");
        check(2065.0, "500", "2500");
        check(130.0, "20", "140");
        check(800.0, "100", "800");
        check(8.0, "1", "8");
        check(1.0, "0.2", "1.0");
        check(0.0, "0.2", "1.0");
    }

    #[test]
    fn an_axis_may_begin_anywhere() {
        assert_eq!(names(&Axis::between(-0.07, 0.22, 0.0, 1.0)).first().unwrap(), "-0.10");
        assert_eq!(
            names(&Axis::between(0.5, 0.9, 0.0, 1.0)),
            ["0.50", "0.55", "0.60", "0.65", "0.70", "0.75", "0.80", "0.85", "0.90"]
        );
        let axis = Axis::between(160.0, 240.0, 10.0, 20.0);
        assert_eq!([160.0, 200.0, 240.0].map(|number| axis.place(number)), [10.0, 15.0, 20.0]);
    }

    #[test]
    fn ticks_by_powers_are_evenly_apart() {
        let check = |axis: Axis, expected: &[&str]| {
            assert_eq!(names(&axis), expected);
            for (name, at) in axis.ticks() {
                assert!((axis.place(name.parse().unwrap()) - at).abs() < 1e-9, "{name}");
            }
        };
        let two = Axis::doublings(1.0, 4096.0, 0.0, 600.0);
        assert_eq!((two.place(8.0), two.place(4096.0)), (150.0, 600.0));
        check(two, &["1", "4", "16", "64", "256", "1024", "4096"]);
        check(Axis::decades(0.002, 50.0, 0.0, 100.0), &["0.001", "0.01", "0.1", "1", "10", "100"]);
        check(Axis::decades(1.0, 1e4, 0.0, 100.0), &["1", "10", "100", "1000", "10000"]);
    }

    #[test]
    fn places_are_linear_between_the_ends() {
        let up = Axis::from_zero(200.0, 380.0, 40.0);
        assert_eq!([0.0, 100.0, 200.0].map(|number| up.place(number)), [380.0, 210.0, 40.0]);
    }
}
