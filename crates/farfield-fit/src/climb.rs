//! Maximization of a likelihood that has no closed form: Newton's method with derivatives from central
//! differences, damped after Levenberg and Marquardt so that no step ever loses likelihood.
//!
//! Coordinates are those in which a likelihood is nearly round: logarithms of parameters that are above
//! zero, locations in units of the distribution's own width, weights in units of their own spread. Standard
//! errors are taken in the same ones.

use crate::points::Points;
use farfield_traffic::distribution::Family;
use farfield_traffic::distribution::Model;

/// A free coordinate of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Coordinate {
    /// A weight; the last part's makes up for it.
    Weight { part: usize, unit: f64 },
    /// A parameter, by a factor.
    Factor { part: usize, at: usize },
    /// A parameter, by steps of `unit`.
    Step { part: usize, at: usize, unit: f64 },
}

/// The free coordinates of `model`, the likeliest of its kind for `points`. A Pareto distribution's scale is
/// free where values are rounded and it stands alone; else it is fixed: by the least value, by the lower
/// threshold, or by where a mixture's part began.
pub(crate) fn coordinates(model: &Model, points: &Points) -> Vec<Coordinate> {
    let parts = model.parts();
    let is_scale_free =
        parts.len() == 1 && !points.observation.is_exact() && points.observation.between.is_none();
    let weights = parts[..parts.len() - 1]
        .iter()
        .enumerate()
        .map(|(part, (weight, _))| Coordinate::Weight { part, unit: weight * (1.0 - weight) });
    let mut all: Vec<Coordinate> = weights.collect();
    for (part, (_, component)) in parts.iter().enumerate() {
        for at in 0..component.parameters().len() {
            match (component.family(), at) {
                (Family::Pareto, 1) if !is_scale_free => {}
                (Family::Normal | Family::Lognormal, 0) => {
                    all.push(Coordinate::Step { part, at, unit: component.parameters()[1] });
                }
                _ => all.push(Coordinate::Factor { part, at }),
            }
        }
    }
    all
}

/// `model` with some of its coordinates moved; `None` if the result is no distribution.
pub(crate) fn moved(model: &Model, moves: &[(Coordinate, f64)]) -> Option<Model> {
    let mut parts = model.parts().to_vec();
    let last = parts.len() - 1;
    for (coordinate, by) in moves {
        match *coordinate {
            Coordinate::Weight { part, unit } => {
                parts[part].0 += by * unit;
                parts[last].0 -= by * unit;
            }
            Coordinate::Factor { part, at } => {
                parts[part].1 = parts[part].1.with(at, |value| value * by.exp())
            }
            Coordinate::Step { part, at, unit } => {
                parts[part].1 = parts[part].1.with(at, |value| value + by * unit);
            }
        }
    }
    let is_good = parts.iter().all(|(_, part)| part.distribution().is_ok());
    is_good.then(|| Model::mixture(parts)).flatten()
}

/// The slope and minus the curvature of `objective` at `model`, where it is `centre`.
pub(crate) struct Derivatives {
    pub(crate) gradient: Vec<f64>,
    pub(crate) curvature: Vec<Vec<f64>>,
}

pub(crate) fn derivatives(
    model: &Model,
    coordinates: &[Coordinate],
    centre: f64,
    objective: &dyn Fn(&Model) -> f64,
) -> Derivatives {
    /// Small enough for the fourth derivative, large enough for rounding.
    const STEP: f64 = 2e-3;
    let at = |moves: &[(Coordinate, f64)]| {
        moved(model, moves).map_or(f64::NEG_INFINITY, |model| objective(&model))
    };
    let n = coordinates.len();
    let (mut gradient, mut curvature) = (vec![0.0; n], vec![vec![0.0; n]; n]);
    for (i, one) in coordinates.iter().enumerate() {
        let (above, below) = (at(&[(*one, STEP)]), at(&[(*one, -STEP)]));
        gradient[i] = (above - below) / (2.0 * STEP);
        curvature[i][i] = -(above + below - 2.0 * centre) / (STEP * STEP);
        for (j, other) in coordinates.iter().enumerate().skip(i + 1) {
            let corner = |a: f64, b: f64| at(&[(*one, a * STEP), (*other, b * STEP)]);
            let cross = corner(1.0, 1.0) + corner(-1.0, -1.0) - corner(1.0, -1.0) - corner(-1.0, 1.0);
            curvature[i][j] = -cross / (4.0 * STEP * STEP);
            curvature[j][i] = curvature[i][j];
        }
    }
    Derivatives { gradient, curvature }
}

/// Climbs `objective` from `start` for `steps` at most, and stops where a step gains less than `gain_min`.
/// The result is never worse than `start`. Minus infinity marks what is not allowed.
pub(crate) fn climb(
    start: Model,
    points: &Points,
    steps: u32,
    gain_min: f64,
    objective: &dyn Fn(&Model) -> f64,
) -> Model {
    let (mut best, mut centre, mut damping) = (start, f64::NAN, 1e-3);
    for _ in 0..steps {
        let coordinates = coordinates(&best, points);
        if centre.is_nan() {
            centre = objective(&best);
        }
        if !centre.is_finite() || coordinates.is_empty() {
            return best;
        }
        let found = derivatives(&best, &coordinates, centre, objective);
        let Some((model, value)) = step(&best, &coordinates, centre, &found, &mut damping, objective) else {
            return best;
        };
        let gain = value - centre;
        (best, centre) = (model, value);
        if gain < gain_min {
            return best;
        }
    }
    best
}

/// A step that gains, if one can be found; `damping` goes down after a good one.
fn step(
    from: &Model,
    coordinates: &[Coordinate],
    centre: f64,
    found: &Derivatives,
    damping: &mut f64,
    objective: &dyn Fn(&Model) -> f64,
) -> Option<(Model, f64)> {
    /// In logarithms and widths: further away the parabola is no approximation.
    const FAR: f64 = 1.0;
    const TRIES: u32 = 9;
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    for _ in 0..TRIES {
        let mut matrix = found.curvature.clone();
        for (i, row) in matrix.iter_mut().enumerate() {
            row.iter_mut().for_each(|value| *value = finite(*value));
            row[i] += *damping * row[i].abs().max(1e-6 * centre.abs()).max(1e-9);
        }
        if let Some(inverse) = invert(matrix) {
            let dot = |row: &Vec<f64>| -> f64 {
                row.iter().zip(&found.gradient).map(|(a, g)| a * finite(*g)).sum()
            };
            let wanted: Vec<f64> = inverse.iter().map(dot).collect();
            let longest = wanted.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            let shrink = if longest > FAR { FAR / longest } else { 1.0 };
            let moves: Vec<(Coordinate, f64)> =
                coordinates.iter().zip(&wanted).map(|(coordinate, by)| (*coordinate, by * shrink)).collect();
            if let Some(model) = moved(from, &moves) {
                let value = objective(&model);
                if value > centre {
                    *damping = (*damping / 10.0).max(1e-12);
                    return Some((model, value));
                }
            }
        }
        *damping = (*damping * 10.0).min(1e9);
    }
    None
}

/// The inverse of a symmetric matrix that must be positive definite, by Cholesky's decomposition.
pub(crate) fn invert(matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest: f64 = matrix[i][j] - dot;
            if i == j {
                if rest.is_nan() || rest <= 1e-10 * matrix[i][i].abs() {
                    return None;
                }
                lower[i][i] = rest.sqrt();
            } else {
                lower[i][j] = rest / lower[j][j];
            }
        }
    }
    let column = |unit: usize| {
        let mut x = vec![0.0; n];
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
            x[i] = (f64::from(u8::from(i == unit)) - dot) / lower[i][i];
        }
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| lower[k][i] * x[k]).sum();
            x[i] = (x[i] - dot) / lower[i][i];
        }
        x
    };
    Some((0..n).map(column).collect())
}
