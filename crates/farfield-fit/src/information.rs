//! Standard errors from the observed Fisher information: minus the second derivatives of the logarithm of the
//! likelihood at its maximum, inverted.
//!
//! Derivatives and coordinates are those of `climb`. A Pareto distribution's scale is no
//! regular parameter of exact values (its estimate is the least one): alone its error is scale / (n ·
//! shape), and in a mixture it is taken as known. Of rounded values it is regular.

use crate::climb::{Coordinate, coordinates, derivatives, invert};
use crate::points::Points;
use farfield_traffic::distribution::Family;
use farfield_traffic::distribution::Model;

/// The standard errors of a model's numbers, in the order of [`Model::parts`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StandardErrors {
    /// Standard error of each weight; `None` for a single distribution, and where the information cannot be
    /// inverted.
    pub weights: Vec<Option<f64>>,
    /// Standard errors of each component's parameters, in the order of [`Family::parameters`].
    pub parameters: Vec<Vec<Option<f64>>>,
}

/// The standard errors of `model`, the likeliest of its kind for `points`.
pub fn standard_errors(model: &Model, points: &Points) -> StandardErrors {
    let coordinates = coordinates(model, points);
    let objective = |model: &Model| points.ln_likelihood(model);
    let found = derivatives(model, &coordinates, objective(model), &objective);
    let covariance = invert(found.curvature);
    let mut errors = StandardErrors {
        weights: vec![None; model.parts().len()],
        parameters: model.parts().iter().map(|(_, part)| vec![None; part.parameters().len()]).collect(),
    };
    if let [(_, part)] = model.parts()
        && part.family() == Family::Pareto
        && points.observation.is_plain()
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
