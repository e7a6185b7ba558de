//! A line chart as SVG text: axes from zero with round ticks, or to the right by powers of two, a line with markers for each curve, a legend.
//!
//! It draws what the pages of experiments need and no more. Points of runs that call themselves invalid are hollow.

use super::column::Row;
use super::plan::{Chart, Experiment, Scale};
use xtask::drawing::{Axis, Dot, Svg};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const BOTTOM: f64 = 55.0;
/// Room above the axes, besides the legend's lines.
const TOP: f64 = 20.0;
const LEGEND_LINE: f64 = 20.0;

/// One figure of an experiment.
pub fn chart(experiment: &Experiment, chart: &Chart, rows: &[Row]) -> String {
    let plan = &experiment.plan;
    let (x, y) = (chart.x, chart.y);
    let dot = |row: &Row| Some(Dot { x: x.of(row)?, y: y.of(row)?, is_filled: row.is_valid() });
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
        Scale::Log if x_least > 0.0 && x_least.is_finite() => {
            Axis::doublings(x_least, x_most, LEFT, WIDTH - RIGHT)
        }
        _ => Axis::from_zero(x_most, LEFT, WIDTH - RIGHT),
    };
    let up = Axis::from_zero(y_most, top + HEIGHT - BOTTOM, top + TOP);
    let height = top + HEIGHT;

    let mut svg = Svg::new(WIDTH, height, &plan.title);
    svg.frame(&across, &up, &x.head(&plan.label), &y.head(&plan.label));
    if let Some(level) = level {
        let at = up.place(level.at);
        svg.line((LEFT, at), (WIDTH - RIGHT, at), "level");
        let in_legend = TOP + LEGEND_LINE * drawn.len() as f64;
        svg.line((LEFT, in_legend), (LEFT + 40.0, in_legend), "level");
        svg.text((LEFT + 50.0, in_legend + 4.0), "start", &format!("{} ({})", level.name, level.at));
    }
    for (number, (&curve, dots)) in drawn.iter().zip(&curves).enumerate() {
        let places: Vec<Dot> =
            dots.iter().map(|dot| Dot { x: across.place(dot.x), y: up.place(dot.y), ..*dot }).collect();
        trace(&mut svg, number, &places);
        let in_legend = TOP + LEGEND_LINE * number as f64;
        let sample = |x| Dot { x: LEFT + x, y: in_legend, is_filled: true };
        trace(&mut svg, number, &[sample(0.0), sample(20.0), sample(40.0)]);
        svg.text((LEFT + 50.0, in_legend + 4.0), "start", &plan.curves[curve].name);
    }
    svg.end()
}

/// The line of curve `number` with its markers.
fn trace(svg: &mut Svg, number: usize, dots: &[Dot]) {
    svg.path(number, dots, false);
    svg.markers(number, dots);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::row;
    use crate::experiment::plan::tests::TEXT;

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
