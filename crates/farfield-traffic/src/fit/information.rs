//! Standard errors from the observed Fisher information: minus the second derivatives of the logarithm of the
//! likelihood at its maximum, inverted.
//!
//! Derivatives are central differences in coordinates in which the likelihood is nearly round: logarithms of
//! parameters that are above zero, and locations in units of the law's own width. A Pareto law's scale is no
//! regular parameter (its estimate is the least value): alone its error is scale / (n · shape), and in a mixture
//! it is taken as known.

use super::family::Family;
use super::model::Model;
use super::points::Points;

/// The standard errors of a model's numbers, in the order of [`Model::parts`].
#[derive(Debug, Clone, PartialEq)]
pub struct StandardErrors {
    /// Of each part's weight; `None` for a single law, and where the information cannot be inverted.
    pub weights: Vec<Option<f64>>,
    /// Of each part's parameters, in the order of [`Family::parameters`].
    pub parameters: Vec<Vec<Option<f64>>>,
}

/// One number that may move.
#[derive(Debug, Clone, Copy)]
enum Coordinate {
    /// A weight; the last part's makes up for it.
    Weight { part: usize, unit: f64 },
    /// A parameter, by a factor.
    Factor { part: usize, at: usize },
    /// A parameter, by steps of `unit`.
    Step { part: usize, at: usize, unit: f64 },
}

/// The standard errors of `model`, the likeliest of its kind for `points`.
pub fn standard_errors(model: &Model, points: &Points) -> StandardErrors {
    let coordinates = coordinates(model);
    let covariance = invert(information(model, points, &coordinates));
    let mut errors = StandardErrors {
        weights: vec![None; model.parts().len()],
        parameters: model.parts().iter().map(|(_, part)| vec![None; part.parameters().len()]).collect(),
    };
    if let [(_, part)] = model.parts()
        && part.family() == Family::Pareto
    {
        let parameters = part.parameters();
        errors.parameters[0][1] = Some(parameters[1] / (points.n * parameters[0]));
    }
    let Some(covariance) = covariance else { return errors };
    let mut last = 0.0; // variance of the last weight, which is one less the others
    for (i, coordinate) in coordinates.iter().enumerate() {
        let deviation = (covariance[i][i] > 0.0).then(|| covariance[i][i].sqrt());
        match *coordinate {
            Coordinate::Weight { part, unit } => {
                errors.weights[part] = deviation.map(|d| d * unit);
                for (j, other) in coordinates.iter().enumerate() {
                    if let Coordinate::Weight { unit: other, .. } = other {
                        last += covariance[i][j] * unit * other;
                    }
                }
            }
            Coordinate::Factor { part, at } => {
                let value = model.parts()[part].1.parameters()[at];
                errors.parameters[part][at] = deviation.map(|d| d * value);
            }
            Coordinate::Step { part, at, unit } => errors.parameters[part][at] = deviation.map(|d| d * unit),
        }
    }
    if let [.., weight] = errors.weights.as_mut_slice()
        && last > 0.0
    {
        *weight = Some(last.sqrt());
    }
    errors
}

fn coordinates(model: &Model) -> Vec<Coordinate> {
    let parts = model.parts();
    let weights = parts[..parts.len() - 1]
        .iter()
        .enumerate()
        .map(|(part, (weight, _))| Coordinate::Weight { part, unit: weight * (1.0 - weight) });
    let mut all: Vec<Coordinate> = weights.collect();
    for (part, (_, law)) in parts.iter().enumerate() {
        for at in 0..law.parameters().len() {
            match (law.family(), at) {
                (Family::Pareto, 1) => {}
                (Family::Normal | Family::Lognormal, 0) => {
                    all.push(Coordinate::Step { part, at, unit: law.parameters()[1] });
                }
                _ => all.push(Coordinate::Factor { part, at }),
            }
        }
    }
    all
}

fn moved(model: &Model, moves: &[(Coordinate, f64)]) -> Option<Model> {
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
    Model::mixture(parts)
}

fn information(model: &Model, points: &Points, coordinates: &[Coordinate]) -> Vec<Vec<f64>> {
    /// Small enough for the fourth derivative, large enough for rounding.
    const STEP: f64 = 2e-3;
    let at = |moves: &[(Coordinate, f64)]| {
        moved(model, moves).map_or(f64::NEG_INFINITY, |model| model.ln_likelihood(points))
    };
    let centre = at(&[]);
    let mut matrix = vec![vec![0.0; coordinates.len()]; coordinates.len()];
    for (i, one) in coordinates.iter().enumerate() {
        let straight = at(&[(*one, STEP)]) + at(&[(*one, -STEP)]) - 2.0 * centre;
        matrix[i][i] = -straight / (STEP * STEP);
        for (j, other) in coordinates.iter().enumerate().skip(i + 1) {
            let corner = |a: f64, b: f64| at(&[(*one, a * STEP), (*other, b * STEP)]);
            let cross = corner(1.0, 1.0) + corner(-1.0, -1.0) - corner(1.0, -1.0) - corner(-1.0, 1.0);
            matrix[i][j] = -cross / (4.0 * STEP * STEP);
            matrix[j][i] = matrix[i][j];
        }
    }
    matrix
}

/// The inverse of a symmetric matrix that must be positive definite, by Cholesky's decomposition.
fn invert(matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
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
