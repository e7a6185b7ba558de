//! Lines that cover each other: offered, sent and succeeded requests are the same line in a run without
//! trouble. The later of two that lie on each other for the most part is dashed, with gaps in which the one
//! below is seen.

use super::svg::Dot;

/// Distance on the sheet within which two lines look like one, in pixels.
const NEAR: f64 = 2.0;
/// Points of a line that are looked at.
const PROBES: usize = 100;
/// Dashes of a line upon as many others; the gaps of each leave those below to be seen.
const DASHES: [(&str, u32); 3] = [("7 7", 0), ("7 21", 7), ("3.5 24.5", 3)];

/// The dashes of each line, as the attributes of an element have them; nothing of lines that cover none.
pub(super) fn dashes(lines: &[Option<&[Dot]>]) -> Vec<String> {
    let mut depths: Vec<usize> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let below = lines[..at].iter().zip(&depths).filter(|(other, _)| covers(*line, **other));
        let depth = below.map(|(_, depth)| depth + 1).max().unwrap_or(0);
        depths.push(depth);
    }
    let words = |depth: usize| match depth {
        0 => String::new(),
        depth => {
            let (dashes, offset) = DASHES[(depth - 1).min(DASHES.len() - 1)];
            format!(" stroke-dasharray=\"{dashes}\" stroke-dashoffset=\"-{offset}\"")
        }
    };
    depths.into_iter().map(words).collect()
}

/// True if at least half of a line lies near the other, by at most [`PROBES`] of its points.
fn covers(line: Option<&[Dot]>, other: Option<&[Dot]>) -> bool {
    let (Some(line), Some(other)) = (line, other) else { return false };
    if line.len() < 2 || other.len() < 2 {
        return false;
    }
    let probes: Vec<&Dot> = line.iter().step_by(line.len().div_ceil(PROBES)).collect();
    let is_near = |dot: &&&Dot| other.windows(2).any(|ends| distance(dot, &ends[0], &ends[1]) < NEAR);
    2 * probes.iter().filter(is_near).count() >= probes.len()
}

/// Distance of a dot from the stretch between two others.
fn distance(dot: &Dot, from: &Dot, to: &Dot) -> f64 {
    let (x, y) = (to.x - from.x, to.y - from.y);
    let length = x * x + y * y;
    let share = if length > 0.0 { ((dot.x - from.x) * x + (dot.y - from.y) * y) / length } else { 0.0 };
    let share = share.clamp(0.0, 1.0);
    (dot.x - from.x - share * x).hypot(dot.y - from.y - share * y)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(heights: [f64; 4]) -> Vec<Dot> {
        let dot = |(at, y)| Dot { x: f64::from(at) * 10.0, y, whisker: None, is_filled: true };
        (0..).zip(heights).map(dot).collect()
    }

    #[test]
    fn lines_upon_others_are_dashed_and_those_apart_are_not() {
        let same = line([1.0, 5.0, 9.0, 5.0]);
        let (near, apart) = (line([1.5, 5.0, 9.0, 90.0]), line([50.0, 60.0, 70.0, 5.0]));
        let found = dashes(&[Some(&same), Some(&same), Some(&near), Some(&apart), None]);
        let is_dashed: Vec<bool> = found.iter().map(|dashes| !dashes.is_empty()).collect();
        assert_eq!(is_dashed, [false, true, true, false, false]);
        assert_ne!(found[1], found[2], "each is seen through the one above");
    }

    /// Distributions of a constant time are upright lines, whose points need not be as high.
    #[test]
    fn upright_lines_cover_each_other_too() {
        let upright =
            |x: f64, heights: [f64; 4]| heights.map(|y| Dot { x, y, whisker: None, is_filled: true });
        let (long, short) = (upright(50.0, [0.0, 20.0, 40.0, 90.0]), upright(50.5, [0.0, 11.0, 33.0, 80.0]));
        let found = dashes(&[Some(&long), Some(&short), Some(&upright(90.0, [0.0, 1.0, 2.0, 3.0]))]);
        assert_eq!(found.iter().map(|dashes| !dashes.is_empty()).collect::<Vec<_>>(), [false, true, false]);
        assert!(
            (distance(&long[0], &Dot { x: 47.0, ..long[1] }, &Dot { x: 47.0, ..long[2] }) - 20.224).abs()
                < 0.001
        );
    }

    /// Along a line, the dashes of the second and of the third leave a part to each of the three.
    #[test]
    fn each_of_three_lines_is_seen_somewhere() {
        let shown = |at: u32, depth: usize| {
            let (words, offset) = DASHES[depth - 1];
            let (dash, gap) = words.split_once(' ').expect("a dash and a gap");
            let (dash, gap): (f64, f64) = (dash.parse().expect("a length"), gap.parse().expect("a length"));
            (f64::from(at) + (dash + gap) - f64::from(offset)) % (dash + gap) < dash
        };
        let top = |at: u32| (1..=2).rev().find(|depth| shown(at, *depth)).unwrap_or(0);
        for depth in 0..=2 {
            assert!((0..28).any(|at| top(at) == depth), "{depth} is covered");
        }
    }
}
