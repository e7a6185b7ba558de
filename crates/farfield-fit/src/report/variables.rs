//! The fit of one variable: its values, the distributions that were tried, and the curve of the one taken.

use super::{ConstantVariable, CurvePoint, FitSettings, Variable, VariableFit};
use crate::arrivals::{SessionArrivals, operational_gaps};
use crate::observation::Observation;
use crate::points::Points;
use crate::ranking::{Candidate, Trials, rank};
use crate::reservoir::Reservoir;
use crate::robust::RobustFit;
use crate::visits::Visits;
use farfield_base::Instant;
use farfield_base::random::{Purpose, Stream};
use farfield_traffic::distribution::Model;

/// The gaps in operational time, fitted; none where there is no course, or where a Poisson process does.
pub(super) fn operational(
    arrivals: Option<SessionArrivals>,
    starts: &[Instant],
    visits: &Visits,
    course: &[u64],
    settings: &FitSettings,
) -> Option<VariableFit> {
    if course.len() < 2 || arrivals.is_none_or(|arrivals| arrivals.is_poisson_enough()) {
        return None;
    }
    let mut rng = settings.seed.stream(Purpose::User, 20);
    let mut gaps = Reservoir::new(settings.values);
    for gap in operational_gaps(starts, visits.begins(), visits.covers(), course) {
        gaps.push(gap, &mut rng);
    }
    let trials = Trials { mixtures: Vec::new(), ..settings.trials.clone() };
    fit(Variable::SessionGap, gaps, Observation::EXACT, &trials, &mut rng)
}

/// The multiple of decimal parts of a second that all values are: the values say it, whatever wrote them.
/// 0, for exact, where that is none, or too fine to matter.
pub(super) fn tick_of(values: &[f64]) -> f64 {
    let multiple =
        |tick: f64| values.iter().all(|v| (v / tick - (v / tick).round()).abs() < 1e-6 * (v / tick).max(1.0));
    let tick = [1.0, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6].into_iter().find(|tick| multiple(*tick));
    tick.unwrap_or(0.0)
}

/// A tick so much finer than the middle value changes nothing that can be seen.
const TICK_MATTERS: f64 = 1e-3;

pub(super) fn constant(variable: Variable, reservoir: &Reservoir) -> Option<ConstantVariable> {
    let values = reservoir.values();
    let value = *values.first()?;
    let same = values.len() > 1 && values.iter().all(|other| *other == value);
    same.then_some(ConstantVariable { variable, values: reservoir.seen(), value })
}

pub(super) fn fit(
    variable: Variable,
    reservoir: Reservoir,
    mut observation: Observation,
    trials: &Trials,
    rng: &mut Stream,
) -> Option<VariableFit> {
    let values = reservoir.seen();
    let mut kept = reservoir.into_values();
    let all = kept.len();
    if observation.tick > 0.0 && observation.least == 0.0 && all > 0 {
        let (_, middle, _) = kept.select_nth_unstable_by(all / 2, f64::total_cmp);
        if observation.tick < TICK_MATTERS * *middle {
            observation = Observation { between: observation.between, ..Observation::EXACT };
        }
    }
    // A zero that rounding made is a value like another.
    let is_zero_rounded = observation.tick > 0.0 && observation.least == 0.0;
    let used: Vec<f64> = kept.into_iter().filter(|value| is_zero_rounded || *value > 0.0).collect();
    let zeros = (all - used.len()) as u64;
    let points = Points::observed(used, observation).ok()?;
    let ranking = rank(&points, trials, rng);
    let robust = RobustFit::of(&points, &ranking, trials, rng);
    let mut fit = VariableFit {
        variable,
        values,
        fitted: points.count(),
        zeros,
        mean: points.mean(),
        deviation: points.deviation(),
        tick: points.tick(),
        observation: points.observation(),
        ranking,
        robust,
        curve: Vec::new(),
    };
    let taken = fit.taken().and_then(Candidate::model);
    fit.curve = taken.map(|model| curve(&points, &model)).unwrap_or_default();
    Some(fit)
}

/// Some points of the data's tail beside the distribution's: evenly spaced by rank, and closer where few
/// values are left.
fn curve(points: &Points, model: &Model) -> Vec<CurvePoint> {
    const EVEN: u32 = 40;
    let even = (1..EVEN).map(|at| f64::from(at) / f64::from(EVEN));
    let far = (0..).map(|at| 1.0 - 0.02 * 0.7f64.powi(at)).take_while(|p| (1.0 - p) * points.n >= 1.0);
    let mut curve: Vec<CurvePoint> = Vec::new();
    for p in even.chain(far) {
        let value = points.quantile(p);
        if curve.last().is_none_or(|last| last.value < value) {
            let fitted = points.observation().cdf_and_tail(model, value).1;
            curve.push(CurvePoint { value, data: points.share_above(value), fitted });
        }
    }
    curve
}
