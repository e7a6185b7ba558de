//! SVG text: the elements that a chart consists of.
//!
//! No knowledge of series or their meaning is needed here. Colours and widths stand in each element and no
//! file is referred to, so that a chart looks the same beside a Markdown page and within HTML.

use super::Layout;
use super::scale::Scale;
use super::tree::Shape;
use std::fmt::Write;

/// Colours that colour-blind readers can distinguish (Okabe and Ito 2008), and that print well.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];

/// A point on the sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
    /// The lower and the upper end of its confidence interval, down the sheet.
    pub whisker: Option<[f64; 2]>,
    /// The marker is filled; that of a doubtful point is hollow.
    pub is_filled: bool,
}

/// The stroke of a straight line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// A line of the grid.
    Grid,
    /// An axis.
    Axis,
    /// A level to compare with.
    Level,
}

impl Stroke {
    fn attributes(self) -> &'static str {
        match self {
            Stroke::Grid => "stroke=\"#dddddd\"",
            Stroke::Axis => "stroke=\"#333333\"",
            Stroke::Level => "stroke=\"#777777\" stroke-dasharray=\"6 4\"",
        }
    }
}

/// An SVG document as it is written.
#[derive(Debug)]
pub struct Svg(String);

impl Svg {
    /// An empty sheet of `height`.
    pub fn new(layout: &Layout, height: f64, title: &str) -> Svg {
        let mut svg = Svg(String::new());
        let Layout { width, font_size, .. } = layout;
        let title = escaped(title);
        // HTML knows the element; a file of its own needs the name space.
        let space = if layout.is_in_page { "" } else { "xmlns=\"http://www.w3.org/2000/svg\" " };
        svg.put(format_args!(
            "<svg {space}viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\" font-family=\"sans-serif\" \
             font-size=\"{font_size}\" fill=\"#222222\">\n\
             <title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
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

    /// Draws both axes with their ticks and names, and a grid. Ticks of the x axis are a group in a page,
    /// whose script draws others where it magnifies a part.
    pub fn frame(&mut self, across: &Scale, up: &Scale, x_name: &str, y_name: &str, is_in_page: bool) {
        if is_in_page {
            self.put(format_args!("<g class=\"x-ticks\">"));
        }
        for (number, x) in across.ticks() {
            self.line((x, up.from), (x, up.to), Stroke::Grid);
            self.text((x, up.from + 20.0), "middle", &number);
        }
        if is_in_page {
            self.put(format_args!("</g>"));
        }
        for (number, y) in up.ticks() {
            self.line((across.from, y), (across.to, y), Stroke::Grid);
            self.text((across.from - 8.0, y + 4.0), "end", &number);
        }
        self.line((across.from, up.from), (across.to, up.from), Stroke::Axis);
        self.line((across.from, up.from), (across.from, up.to), Stroke::Axis);
        self.text((f64::midpoint(across.from, across.to), up.from + 44.0), "middle", x_name);
        let (x, y) = (if is_in_page { 14.0 } else { 18.0 }, f64::midpoint(up.from, up.to));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y:.1})\">{}</text>",
            escaped(y_name)
        ));
    }

    /// A shaded rectangle, of what does not count.
    pub fn shade(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (width, height) = (x2 - x1, y2 - y1);
        self.put(format_args!(
            "<rect class=\"shade\" x=\"{x1:.1}\" y=\"{y1:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#eeeeee\"/>"
        ));
    }

    /// The scales, for a script that reads numbers off the chart. `is_time` marks those that share seconds.
    pub fn scales(&mut self, across: &Scale, up: &Scale, is_time: bool) {
        let (x, y) = (across.in_words(), up.in_words());
        let kind = if is_time { "time" } else { "" };
        self.put(format_args!("<g class=\"scales\" data-x=\"{x}\" data-y=\"{y}\" data-kind=\"{kind}\"/>"));
    }

    /// Begins what belongs to one series, with its numbers along either axis as a script reads them off.
    pub fn begin_series(&mut self, name: &str, x: Option<&[f64]>, y: Option<&[f64]>) {
        let name = escaped(name);
        let numbers = |axis: &str, numbers: Option<&[f64]>| {
            let words = numbers.map(|all| all.iter().map(|number| exact(*number)).collect::<Vec<_>>());
            words.map_or_else(String::new, |words| format!(" data-{axis}=\"{}\"", words.join(" ")))
        };
        let (x, y) = (numbers("x", x), numbers("y", y));
        self.put(format_args!("<g class=\"series\" data-name=\"{name}\"{x}{y}>"));
    }

    /// Begins the entry of series `number` in the legend.
    pub fn begin_key(&mut self, number: usize) {
        self.put(format_args!("<g class=\"key\" data-series=\"{number}\">"));
    }

    /// Ends a group.
    pub fn end_group(&mut self) {
        self.put(format_args!("</g>"));
    }

    /// The ends of the measured part, and its name where there is room for it.
    pub fn measured(&mut self, (from, to): (f64, f64), high: f64, low: f64) {
        let above = high - 5.0;
        self.put(format_args!(
            "<g class=\"measured\"><path d=\"M{from:.1} {low:.1}V{above:.1}H{to:.1}V{low:.1}\" fill=\"none\" stroke=\"#767676\"/>"
        ));
        if to - from > 80.0 {
            self.put(format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">measured</text>",
                f64::midpoint(from, to),
                above - 3.0
            ));
        }
        self.end_group();
    }

    /// The area between two lines, of which `dots` has one after the other. Areas beside each other differ in
    /// strength.
    pub fn area(&mut self, number: usize, dots: &[Dot]) {
        let (colour, strength) = (COLOURS[0], if number % 2 == 1 { 0.22 } else { 0.1 });
        let (upper, lower) = dots.split_at(dots.len() / 2);
        let around = upper.iter().chain(lower.iter().rev());
        let points: Vec<String> = around.map(|dot| format!("{:.1},{:.1}", dot.x, dot.y)).collect();
        self.put(format_args!(
            "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"{strength}\"/>",
            points.join(" ")
        ));
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: Stroke) {
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {}/>",
            stroke.attributes()
        ));
    }

    /// Text that has its `anchor` (`start`, `middle`, `end`) at a point.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    /// The heading of a chart, in bold.
    pub fn heading(&mut self, (x, y): (f64, f64), text: &str) {
        let text = escaped(text);
        self.put(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-weight=\"600\">{text}</text>"));
    }

    /// The line through `dots` in the colour of series `number`, with the attributes of its dashes.
    pub fn path(&mut self, number: usize, dots: &[Dot], dashes: &str) {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> = dots.iter().map(|dot| format!("{:.1},{:.1}", dot.x, dot.y)).collect();
        self.put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
            points.join(" ")
        ));
    }

    /// The confidence interval of each of `dots` that has one: a vertical line with a bar at either end.
    pub fn whiskers(&mut self, number: usize, dots: &[Dot]) {
        let colour = COLOURS[number % COLOURS.len()];
        for &Dot { x, whisker, .. } in dots {
            let Some([lower, upper]) = whisker else { continue };
            let left = x - 4.0;
            self.put(format_args!(
                "<path class=\"whisker\" d=\"M{x:.1} {lower:.1}V{upper:.1}M{left:.1} {lower:.1}h8M{left:.1} {upper:.1}h8\" \
                 fill=\"none\" stroke=\"{colour}\"/>"
            ));
        }
    }

    /// A bar of `size` in the colour of series `number`, filled up to a share.
    pub fn bar(&mut self, number: usize, (x, y): (f64, f64), (width, height): (f64, f64), share: f64) {
        let colour = COLOURS[number % COLOURS.len()];
        let filled = width * share.clamp(0.0, 1.0);
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{filled:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\n\
             <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"none\" stroke=\"{colour}\"/>"
        ));
    }

    /// A node of a tree, left of its name.
    pub fn node(&mut self, shape: Shape, (x, y): (f64, f64)) {
        let (centre, top) = (x + 5.0, y - 5.0);
        let ink = COLOURS[0];
        let fill = if shape == Shape::Filled { ink } else { "#ffffff" };
        match shape {
            Shape::Filled | Shape::Open => self.put(format_args!(
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"10\" height=\"10\" fill=\"{fill}\" stroke=\"{ink}\"/>"
            )),
            Shape::Leaf => self.put(format_args!(
                "<circle cx=\"{centre:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{fill}\" stroke=\"{ink}\"/>"
            )),
            Shape::Way => {}
        }
    }

    /// A marker at each of `dots`, in the colour and shape of series `number`.
    pub fn markers(&mut self, number: usize, dots: &[Dot]) {
        let colour = COLOURS[number % COLOURS.len()];
        for &Dot { x, y, is_filled, .. } in dots {
            let fill = if is_filled { colour } else { "#ffffff" };
            let paint = format!("fill=\"{fill}\" stroke=\"{colour}\"");
            let (left, top, peak) = (x - 3.5, y - 3.5, y - 6.0);
            // Markers do not begin anew together with colours.
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

/// A number with six significant digits, or whole as it is: more than a chart of any size shows.
fn exact(number: f64) -> String {
    if number == number.trunc() && number.abs() < 1e15 {
        return format!("{number}");
    }
    let digits = (5.0 - number.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `text` as XML and HTML have it, in elements and in attributes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_scripts_are_exact_and_short() {
        let check = |number: f64, text: &str| assert_eq!(exact(number), text);
        check(0.0, "0");
        check(12_345_678.0, "12345678");
        check(0.1 + 0.2, "0.3");
        check(123.456_789, "123.457");
        check(0.000_012_345_67, "0.0000123457");
        check(1e-20, "0");
    }
}
