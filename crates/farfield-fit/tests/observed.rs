//! Distributions fitted to values as a log has them: rounded, cut between thresholds, differences of a
//! coarse clock. The oracle is the distribution that was drawn from: its parameters come back within their
//! standard errors.

use farfield_fit::{
    Candidate, Component, Effort, Family, Model, Observation, Points, Trials, fit_mixture, fit_single,
    goodness, rank, standard_errors,
};
use farfield_testkit::draws::stream;
use farfield_traffic::DistributionSpec;
use rand::RngExt;

fn model(family: Family, theta: [f64; 2]) -> Model {
    Model::single(Component::new(family, theta).expect("good parameters"))
}

fn draws(model: &Model, count: usize, number: u64) -> impl Iterator<Item = f64> {
    let (distribution, mut rng) = (model.distribution(), stream(number));
    (0..count).map(move |_| distribution.sample(&mut rng))
}

/// Values as a log has them, and what it did to them.
struct Logged {
    values: Vec<f64>,
    observation: Observation,
}

impl Logged {
    fn points(&self) -> Points {
        Points::observed(self.values.clone(), self.observation).expect("enough values")
    }
}

/// Draws rounded as a scenario rounds them: whole numbers, at least 1.
fn counts(truth: &Model, number: u64) -> Logged {
    let values = draws(truth, N, number).map(|x| x.round().max(1.0)).collect();
    Logged { values, observation: Observation::counts() }
}

/// Gaps between arrivals, each of which a clock of whole seconds has rounded down.
fn differenced(truth: &Model, number: u64) -> Logged {
    let mut at = stream(number + 1_000).random::<f64>();
    let mut values = Vec::new();
    for gap in draws(truth, N, number) {
        let next = at + gap;
        values.push(next.floor() - at.floor());
        at = next;
    }
    Logged { values, observation: Observation::differenced(1.0) }
}

/// Think times between 2 and 600 s, as a clock of whole seconds shows them.
fn cut(truth: &Model, number: u64) -> Logged {
    let mut rng = stream(number + 2_000);
    let seen = draws(truth, 2 * N, number).filter_map(|x| {
        let phase: f64 = rng.random();
        let seen = (phase + x).floor();
        (2.0..=600.0).contains(&seen).then_some(seen)
    });
    Logged { values: seen.take(N).collect(), observation: Observation::differenced(1.0).cut(2.0, 600.0) }
}

/// Exact values, and whole numbers as such, seen between 2 and 600 alone.
fn cut_exactly(truth: &Model, number: u64) -> Logged {
    let values = draws(truth, 2 * N, number).filter(|x| (2.0..=600.0).contains(x)).take(N).collect();
    let is_whole = truth.parts()[0].1.family() == Family::Geometric;
    let observation = if is_whole { Observation::rounded(1.0) } else { Observation::EXACT };
    Logged { values, observation: observation.cut(2.0, 600.0) }
}

const N: usize = 6_000;

/// Standard errors off that an estimate may be: one in 15,000 is further off by chance.
const OFF_MAX: f64 = 4.0;

/// Fits `family` to what was observed of draws with `theta`, and asserts that they come back. Returns the
/// estimates with the halves of their intervals, and what comes of taking the values for exact.
#[track_caller]
fn comes_back(family: Family, theta: [f64; 2], logged: &Logged, regular: usize) -> [String; 2] {
    let points = &logged.points();
    let fit = fit_single(family, points).unwrap_or_else(|error| panic!("{family}: {error}"));
    let errors = standard_errors(&fit, points);
    let found = fit.parts()[0].1.parameters();
    for at in 0..regular {
        let error = errors.parameters[0][at].expect("a regular parameter");
        let off = (found[at] - theta[at]).abs() / error;
        assert!(off < OFF_MAX, "{family} {theta:?}: {found:?} is {off:.1} errors of {error} off");
        // An interval that holds everything holds the truth too.
        assert!(
            error < 0.2 * theta[at].abs().max(1.0),
            "{family} {theta:?}: an error of {error} is no information"
        );
    }
    let a2 = goodness(&fit, points).anderson_darling;
    assert!(a2 < 3.9, "{family} {theta:?}: A² of {a2}, which the true distribution passes in 99 of 100");
    let one = |(at, found): (usize, &f64)| match errors.parameters[0][at].filter(|_| at < regular) {
        Some(error) => format!("{} ± {}", short(*found), short(1.96 * error)),
        None => "not known".to_owned(),
    };
    let found: Vec<String> = found.iter().enumerate().map(one).collect();
    [found.join(", "), as_if_exact(family, &logged.values)]
}

/// The estimates from what is above zero of the values, each taken for exact, as if nothing had been cut.
fn as_if_exact(family: Family, values: &[f64]) -> String {
    let above = values.iter().copied().filter(|x| *x > 0.0).collect();
    let fitted = Points::new(above).expect("enough values");
    let fit = fit_single(family, &fitted).expect("values above zero");
    fit.parts()[0].1.parameters().iter().map(|value| short(*value)).collect::<Vec<_>>().join(", ")
}

/// To three digits or so.
fn short(value: f64) -> String {
    let digits = [99.95, 9.995, 0.0995].iter().filter(|from| value.abs() < **from).count();
    format!("{value:.digits$}")
}

/// A line of the tables in docs/models.md, which `-- --nocapture --test-threads 1` prints.
fn print_row(family: Family, theta: [f64; 2], cells: &[[String; 2]]) {
    let parameters: Vec<String> =
        family.parameters().iter().zip(theta).map(|(name, value)| format!("{name} {value}")).collect();
    let cells: Vec<String> = cells.iter().map(|[found, exact]| format!("{found} | {exact}")).collect();
    println!("| {family}, {} | {} |", parameters.join(", "), cells.join(" | "));
}

/// Inverse Gaussian clicks of mean 3 and shape 2 came out with a shape of 3.45 ± 0.03; gaps of a Weibull
/// shape of 0.5 with one of 0.55 to 0.79, of 2 with 1.1.
#[test]
fn rounded_counts_and_gaps_of_a_coarse_clock_give_their_distribution_back() {
    use Family::*;
    for (number, (family, theta)) in [
        (Exponential, [2.2, 0.0]),
        (Geometric, [0.3, 0.0]),
        (Weibull, [0.5, 1.0]),
        (Weibull, [0.8, 3.0]),
        (Weibull, [2.0, 4.0]),
        (Normal, [4.0, 1.5]),
        (Lognormal, [0.8, 0.9]),
        (Pareto, [1.4, 1.2]),
        (InverseGaussian, [3.0, 2.0]),
        (Gamma, [1.5, 2.0]),
    ]
    .into_iter()
    .enumerate()
    {
        let (truth, number, regular) = (model(family, theta), number as u64, family.parameters().len());
        let rounded = comes_back(family, theta, &counts(&truth, number), regular);
        let gaps = comes_back(family, theta, &differenced(&truth, 50 + number), regular);
        print_row(family, theta, &[rounded, gaps]);
    }
}

/// Gaps that are short or long beside the clock's second.
#[test]
fn gaps_of_any_length_give_their_distribution_back() {
    use Family::*;
    for (number, (family, theta)) in [
        (Weibull, [0.5, 30.0]),
        (Weibull, [2.0, 1.0]),
        (Exponential, [0.7, 0.0]),
        (Gamma, [0.6, 4.0]),
        (Normal, [20.0, 2.0]),
    ]
    .into_iter()
    .enumerate()
    {
        let gaps = differenced(&model(family, theta), 70 + number as u64);
        print_row(family, theta, &[comes_back(family, theta, &gaps, family.parameters().len())]);
    }
}

/// μ was off by a fifth: what is cut off is no reason to call the rest all that there is. A Pareto
/// distribution's scale lies under the threshold, where nothing is known of it.
#[test]
fn cut_values_give_their_distribution_back() {
    use Family::*;
    for (number, (family, theta, regular)) in [
        (Exponential, [30.0, 0.0], 1),
        (Geometric, [0.05, 0.0], 1),
        (Weibull, [0.7, 40.0], 2),
        (Normal, [30.0, 20.0], 2),
        (Lognormal, [3.0, 1.1], 2),
        (Lognormal, [2.0, 1.5], 2),
        (Pareto, [0.8, 1.0], 1),
        (InverseGaussian, [40.0, 15.0], 2),
        (Gamma, [0.8, 50.0], 2),
    ]
    .into_iter()
    .enumerate()
    {
        let (truth, number) = (model(family, theta), 100 + number as u64);
        let exactly = comes_back(family, theta, &cut_exactly(&truth, number), regular);
        let seconds = comes_back(family, theta, &cut(&truth, number), regular);
        print_row(family, theta, &[exactly, seconds]);
    }
}

/// A mixture's parts come back from rounded counts, and from cut differences.
#[test]
fn observed_mixtures_come_back() {
    use Family::{Exponential, Lognormal, Normal};
    let part = |family, theta| Component::new(family, theta).expect("good");
    let clicks = vec![(0.6, part(Exponential, [2.0, 0.0])), (0.4, part(Normal, [12.0, 2.0]))];
    let thinks = vec![(0.5, part(Lognormal, [1.5, 0.6])), (0.5, part(Lognormal, [4.5, 0.5]))];
    for (parts, families, is_cut) in
        [(clicks, [Exponential, Normal], false), (thinks, [Lognormal, Lognormal], true)]
    {
        let truth = Model::mixture(parts).expect("good weights");
        let points = if is_cut { cut(&truth, 200) } else { counts(&truth, 200) }.points();
        let effort = Effort { random_starts: 0, short_steps: 5, steps: 30 };
        let fit = fit_mixture(&families, &points, effort, &mut stream(8)).expect("a start holds together");
        assert!(points.ln_likelihood(&fit.model) >= points.ln_likelihood(&truth) - 1e-6, "{fit:?}");
        let errors = standard_errors(&fit.model, &points);
        for (part, ((weight, component), (true_weight, true_component))) in
            fit.model.parts().iter().zip(truth.parts()).enumerate()
        {
            let near = |found: f64, truth: f64, error: Option<f64>| {
                let error = error.expect("a regular parameter");
                assert!(
                    (found - truth).abs() < OFF_MAX * error,
                    "{truth:?}: part {part} has {found} ± {error}"
                );
            };
            near(*weight, *true_weight, errors.weights[part]);
            for (at, value) in component.parameters().iter().enumerate() {
                near(*value, true_component.parameters()[at], errors.parameters[part][at]);
            }
        }
    }
}

/// The issue's own case: first of the ranking, where it was eighth, and with the mean of counts.
#[test]
fn the_distribution_of_counts_ranks_first_and_has_their_mean() {
    let points = counts(&model(Family::InverseGaussian, [3.0, 2.0]), 1).points();
    let ranking = rank(&points, &Trials::singles(), &mut stream(6));
    let best = &ranking.candidates[0];
    assert_eq!(best.name, "inverse-gaussian");
    assert!(best.goodness.anderson_darling < 2.5, "{best:?}");
    for candidate in ranking.candidates.iter().filter(|candidate| candidate.name != "pareto") {
        let distribution = candidate.model().expect("a distribution").distribution();
        let mut rng = stream(9);
        let drawn = (0..40_000).map(|_| distribution.sample_count(&mut rng) as f64).sum::<f64>() / 40_000.0;
        let error = distribution.variance().sqrt() / 200.0;
        assert!(
            (candidate.mean() - drawn).abs() < 4.0 * error,
            "{}: {} and {drawn}",
            candidate.name,
            candidate.mean()
        );
    }
}

/// Values fitted between thresholds are drawn between them: a scenario's think times are none that would be
/// something else.
#[test]
fn what_was_cut_is_drawn_between_the_thresholds() {
    let points = cut(&model(Family::Lognormal, [3.0, 1.1]), 3).points();
    let ranking = rank(&points, &Trials::singles(), &mut stream(6));
    let chosen = ranking.preferred(points.mean()).expect("there are some");
    assert_eq!(chosen.name, "lognormal");
    let written = serde_json::to_string(&chosen.distribution).expect("it is JSON");
    let spec: DistributionSpec = serde_json::from_str(&written).expect("what is written can be read");
    let distribution = spec.resolve(&mut |_| unreachable!("no file")).expect("no file");
    let mut rng = stream(4);
    let drawn: Vec<f64> = (0..20_000).map(|_| distribution.sample(&mut rng)).collect();
    assert!(drawn.iter().all(|x| (2.0..=600.0).contains(x)), "{written}");
    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
    assert!((mean / points.mean() - 1.0).abs() < 0.05, "{mean} and {}", points.mean());
    assert!((distribution.mean() / mean - 1.0).abs() < 0.03, "{} and {mean}", distribution.mean());
}

/// Four in ten sizes are one size. A part that shrinks onto it makes any mixture likely, and says nothing.
#[test]
fn a_spike_on_one_value_is_not_offered() {
    let values: Vec<f64> = draws(&model(Family::Lognormal, [8.0, 1.0]), 3_000, 5)
        .enumerate()
        .map(|(at, x)| if at % 5 < 2 { 1_024.0 } else { x })
        .collect();
    let points = Points::new(values).expect("enough");
    let mut trials = Trials::singles();
    trials.families = vec![Family::Lognormal];
    trials.mixtures =
        vec![vec![Family::Lognormal, Family::Lognormal], vec![Family::Lognormal, Family::Normal]];
    trials.effort = Effort { random_starts: 2, short_steps: 10, steps: 60 };
    let ranking = rank(&points, &trials, &mut stream(6));
    let names: Vec<&str> = ranking.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    assert_eq!(names, ["lognormal"], "{:?}", ranking.left_out);
    assert!(ranking.left_out.iter().any(|why| why.contains("one value, 1024")), "{:?}", ranking.left_out);
}

/// Think times with a power law's density, seen between two thresholds: a gamma distribution would need a
/// shape below zero.
#[test]
fn an_estimate_at_a_bound_is_said_to_be_one() {
    let points = cut(&model(Family::Pareto, [0.8, 1.0]), 7).points();
    let ranking = rank(&points, &Trials::singles(), &mut stream(6));
    let of = |name: &str| -> &Candidate {
        ranking.candidates.iter().find(|candidate| candidate.name == name).expect("it was tried")
    };
    assert!(of("pareto").bounds.is_empty(), "{:?}", of("pareto"));
    assert!(
        of("gamma").bounds.iter().any(|said| said.contains("between the thresholds")),
        "{:?}",
        of("gamma")
    );
}

/// All values count: a mixture's log-likelihood is a maximum over all of them, not over 5,000.
#[test]
fn mixtures_are_polished_on_all_values() {
    let parts = [(0.7, Family::Lognormal, [1.0, 0.7]), (0.3, Family::Lognormal, [5.0, 0.5])];
    let parts = parts.map(|(weight, family, theta)| (weight, Component::new(family, theta).expect("good")));
    let truth = Model::mixture(parts.to_vec()).expect("good");
    let points = Points::new(draws(&truth, 20_000, 11).collect()).expect("enough");
    let mut trials = Trials::singles();
    trials.families.clear();
    trials.mixtures = vec![vec![Family::Lognormal; 2]];
    trials.effort = Effort { random_starts: 0, short_steps: 5, steps: 20 };
    let ranking = rank(&points, &trials, &mut stream(6));
    let best = &ranking.candidates[0];
    assert!(best.ln_likelihood >= points.ln_likelihood(&truth), "{best:?}");
    for (estimate, truth) in best.estimates.iter().zip([0.7, 1.0, 0.7, 0.3, 5.0, 0.5]) {
        let error = estimate.error.expect("a regular parameter");
        assert!((estimate.value - truth).abs() < OFF_MAX * error, "{estimate:?} is not {truth}");
        assert!(error < 0.012, "{estimate:?}: the error is that of 20,000 values");
    }
}
