//! Fitted distributions against theory and another implementation: the likelihood never falls, parameters
//! come back within their standard errors, likelihoods and statistics are those of SciPy.

use farfield_fit::{
    Component, Effort, Family, Model, Points, Trials, fit_mixture, fit_single, goodness, rank,
    standard_errors,
};
use farfield_testkit::draws::stream;
use proptest::prelude::*;

fn component(family: Family, theta: [f64; 2]) -> Component {
    Component::new(family, theta).expect("good parameters")
}

fn draws(model: &Model, count: usize, number: u64) -> Vec<f64> {
    let (distribution, mut rng) = (model.distribution(), stream(number));
    (0..count).map(|_| distribution.sample(&mut rng)).collect()
}

fn points(values: Vec<f64>) -> Points {
    Points::new(values).expect("enough values")
}

/// The oracle is SciPy 1.17.1: likeliest parameters by `brentq`, `logpdf`, `cramervonmises`, `kstest`, and
/// Anderson–Darling from its `logcdf` and `logsf`.
#[test]
fn likelihoods_and_statistics_are_those_of_scipy() {
    let values = vec![
        0.31, 0.54, 0.77, 1.02, 1.3, 1.49, 1.71, 1.98, 2.25, 2.61, 2.9, 3.35, 3.87, 4.4, 5.2, 6.1, 7.7, 9.9,
        14.2, 31.0,
    ];
    let points = points(values);
    let near = |what: &str, found: f64, oracle: f64| {
        assert!((found - oracle).abs() < 1e-6 * oracle.abs().max(1.0), "{what}: {found} not {oracle}");
    };
    let check = |family: Family, parameters: &[f64], ln_likelihood: f64, [w2, a2, d]: [f64; 3]| {
        let model = fit_single(family, &points).expect("the family fits");
        for (found, oracle) in model.parts()[0].1.parameters().iter().zip(parameters) {
            near(family.name(), *found, *oracle);
        }
        near(family.name(), points.ln_likelihood(&model), ln_likelihood);
        let found = goodness(&model, &points);
        near(family.name(), found.cramer_von_mises, w2);
        near(family.name(), found.anderson_darling, a2);
        near(family.name(), found.kolmogorov_smirnov, d);
    };
    check(Family::Exponential, &[5.13], -52.702113184, [0.076229411, 0.457605355, 0.124136558]);
    check(
        Family::Weibull,
        &[0.9135028571, 4.875504047],
        -52.535809226,
        [0.049472096, 0.355642094, 0.102316172],
    );
    check(Family::Normal, &[5.13, 6.842775753], -66.842639886, [0.424298427, 2.395520902, 0.245918985]);
    check(
        Family::Lognormal,
        &[1.030427078, 1.095641555],
        -50.814113956,
        [0.005699402, 0.059433017, 0.041646357],
    );
    check(
        Family::InverseGaussian,
        &[5.13, 2.31622796],
        -50.892183175,
        [0.018119041, 0.130309952, 0.075829094],
    );
    check(
        Family::Gamma,
        &[0.9593022682, 5.347636683],
        -52.690767826,
        [0.068861535, 0.429256632, 0.120132707],
    );
    // Half of the value at the end of the Pareto distribution's support counts as inside: 1/40 for 0.
    check(
        Family::Pareto,
        &[0.4542130408771784, 0.31],
        -56.392320321528906,
        [0.43836233670264706, 2.145833665322918, 0.2785468543008473],
    );
    let parts = vec![
        (0.571, component(Family::Exponential, [1.0 / 0.154, 0.0])),
        (0.429, component(Family::Normal, [2.12, 0.91])),
    ];
    let mixture = Model::mixture(parts).expect("good weights");
    near("mixture", points.ln_likelihood(&mixture), -52.144036175668234);
    let whole = Points::new(vec![1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 6.0, 11.0]).expect("enough");
    let geometric = fit_single(Family::Geometric, &whole).expect("whole numbers");
    near("geometric", whole.ln_likelihood(&geometric), -20.59711497865834);
}

/// The standard errors that theory gives in closed form.
#[test]
fn errors_are_those_of_theory() {
    const N: usize = 4_000;
    let n = N as f64;
    let check = |family: Family, theta: [f64; 2], theory: &dyn Fn(&[f64]) -> Vec<f64>| {
        let points = points(draws(&Model::single(component(family, theta)), N, 1));
        let model = fit_single(family, &points).expect("the family fits");
        let found = standard_errors(&model, &points);
        let parameters = model.parts()[0].1.parameters();
        for (error, expected) in found.parameters[0].iter().zip(theory(parameters)) {
            let error = error.expect("a regular parameter");
            assert!((error / expected - 1.0).abs() < 2e-3, "{family}: {error} not {expected}");
        }
    };
    check(Family::Exponential, [3.0, 0.0], &|p| vec![p[0] / n.sqrt()]);
    check(Family::Geometric, [0.2, 0.0], &|p| vec![p[0] * (1.0 - p[0]).sqrt() / n.sqrt()]);
    check(Family::Normal, [-2.0, 3.0], &|p| vec![p[1] / n.sqrt(), p[1] / (2.0 * n).sqrt()]);
    check(Family::Lognormal, [0.77, 1.53], &|p| vec![p[1] / n.sqrt(), p[1] / (2.0 * n).sqrt()]);
    check(Family::Pareto, [1.16, 0.94], &|p| vec![p[0] / n.sqrt(), p[1] / (n * p[0])]);
    check(Family::InverseGaussian, [4.61, 4.18], &|p| {
        vec![(p[0].powi(3) / (p[1] * n)).sqrt(), p[1] * (2.0 / n).sqrt()]
    });
}

/// Fits of many samples from a known distribution lie within 1.96 standard errors in 95 % of the cases: as
/// many misses as a binomial distribution allows within 4.5 deviations.
fn covers(family: Family, theta: [f64; 2], regular: usize) {
    const REPLICATIONS: u64 = 200;
    let truth = Model::single(component(family, theta));
    let mut misses = [0u32; 2];
    for replication in 0..REPLICATIONS {
        let points = points(draws(&truth, 1_000, 100 + replication));
        let model = fit_single(family, &points).expect("the family fits");
        let errors = standard_errors(&model, &points);
        for at in 0..regular {
            let off = model.parts()[0].1.parameters()[at] - theta[at];
            let error = errors.parameters[0][at].expect("a regular parameter");
            misses[at] += u32::from(off.abs() > 1.96 * error);
        }
    }
    let (expected, deviation) = (0.05 * REPLICATIONS as f64, (0.05 * 0.95 * REPLICATIONS as f64).sqrt());
    for misses in &misses[..regular] {
        let off = f64::from(*misses) - expected;
        assert!(off.abs() < 4.5 * deviation, "{family} {theta:?}: {misses} misses of {REPLICATIONS}");
    }
}

/// The single distributions of Tables 2 and 4 and of section 2.2 of Liu et al. 1999, and one of each other
/// family.
#[test]
fn parameters_come_back_within_their_errors() {
    covers(Family::InverseGaussian, [4.61, 4.18], 2); // Table 2, clicks
    covers(Family::Weibull, [0.33, 11.34], 2); // Table 2, idle times
    covers(Family::Lognormal, [0.77, 1.53], 2); // Table 2, transfer times
    covers(Family::InverseGaussian, [5.0, 3.0], 2); // Table 4, clicks
    covers(Family::Lognormal, [3.0, 1.1], 2); // Table 4, idle times
    covers(Family::Exponential, [1.0 / 0.008, 0.0], 1); // Table 4, session gaps
    covers(Family::Pareto, [0.807, 0.748], 1); // clicks of www.w3.org
    covers(Family::Geometric, [0.2, 0.0], 1);
    covers(Family::Normal, [2.12, 0.91], 2);
    covers(Family::Gamma, [0.7, 3.0], 2);
}

/// A mixture's parameters come back within four standard errors each.
fn mixture_comes_back(truth: Model, families: &[Family], count: usize) {
    let sample = points(draws(&truth, count, 7));
    let fit = fit_mixture(families, &sample, Effort { steps: 2_000, ..Effort::default() }, &mut stream(8));
    let fit = fit.expect("a start holds together");
    let (found, true_one) = (sample.ln_likelihood(&fit.model), sample.ln_likelihood(&truth));
    assert!(found >= true_one, "{fit:?} has {found}, the truth {true_one}");
    let errors = standard_errors(&fit.model, &sample);
    for (part, ((weight, component), (true_weight, true_component))) in
        fit.model.parts().iter().zip(truth.parts()).enumerate()
    {
        let near = |found: f64, truth: f64, error: Option<f64>| {
            let error = error.expect("a regular parameter");
            assert!((found - truth).abs() < 4.0 * error, "{truth:?}: part {part} has {found} ± {error}");
        };
        near(*weight, *true_weight, errors.weights[part]);
        for (at, value) in component.parameters().iter().enumerate() {
            near(*value, true_component.parameters()[at], errors.parameters[part][at]);
        }
    }
}

/// The mixtures of Table 2. The table leaves out the scale of the idle times' Weibull part; 11.34 is that of
/// the single distribution.
#[test]
fn mixtures_of_the_paper_come_back() {
    let mixture =
        |weight: f64, one, other| Model::mixture(vec![(weight, one), (1.0 - weight, other)]).expect("good");
    use Family::{Exponential, InverseGaussian, Normal, Weibull};
    let clicks = mixture(0.571, component(Exponential, [1.0 / 0.154, 0.0]), component(Normal, [2.12, 0.91]));
    mixture_comes_back(clicks, &[Exponential, Normal], 20_000);
    let idle = mixture(0.442, component(Weibull, [0.15, 11.34]), component(InverseGaussian, [39.5, 10.54]));
    mixture_comes_back(idle, &[Weibull, InverseGaussian], 20_000);
    let transfer =
        mixture(0.856, component(InverseGaussian, [6.12, 2.12]), component(InverseGaussian, [12.47, 0.098]));
    mixture_comes_back(transfer, &[InverseGaussian, InverseGaussian], 20_000);
}

#[test]
fn three_parts_come_back() {
    let parts = vec![
        (0.5, component(Family::Normal, [0.0, 1.0])),
        (0.3, component(Family::Normal, [6.0, 0.5])),
        (0.2, component(Family::Normal, [12.0, 2.0])),
    ];
    mixture_comes_back(Model::mixture(parts).expect("good"), &[Family::Normal; 3], 5_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Any two or three distributions, on values from any two others with ties among them.
    #[test]
    fn the_likelihood_never_falls(
        families in proptest::collection::vec(0usize..8, 2..=3),
        from in proptest::collection::vec((0usize..8, 0.3..4.0f64, 0.3..4.0f64), 2),
        whole in any::<bool>(),
        number in 0u64..1_000_000,
    ) {
        let families: Vec<Family> = families.into_iter().map(|at| Family::ALL[at]).collect();
        let mut values = Vec::new();
        for (at, a, b) in from {
            let theta = if Family::ALL[at] == Family::Geometric { [1.0 / (1.0 + a), 0.0] } else { [a, b] };
            values.extend(draws(&Model::single(component(Family::ALL[at], theta)), 150, number));
        }
        values.iter_mut().for_each(|v| *v = if whole { v.abs().min(1e6).ceil().max(1.0) } else { v.abs() + 1e-9 });
        let Ok(points) = Points::new(values) else { return Ok(()) };
        let effort = Effort { random_starts: 2, short_steps: 10, steps: 60 };
        let Some(fit) = fit_mixture(&families, &points, effort, &mut stream(number)) else { return Ok(()) };
        for pair in fit.ln_likelihoods.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs().max(1.0), "{families:?}: {} to {}", pair[0], pair[1]);
        }
        let last = fit.ln_likelihoods.last().copied().expect("at least one");
        let found = points.ln_likelihood(&fit.model);
        prop_assert!((found - last).abs() < 1e-6 * last.abs().max(1.0), "{found} and {last}");
        let weights: f64 = fit.model.parts().iter().map(|(weight, _)| weight).sum();
        prop_assert!((weights - 1.0).abs() < 1e-9);
    }

    /// No distribution of the family in the neighbourhood is likelier.
    #[test]
    fn a_single_fit_is_a_maximum(at in 0usize..8, a in 0.3..4.0f64, b in 0.3..4.0f64, by in 0.9..1.1f64) {
        let family = Family::ALL[at];
        let theta = if family == Family::Geometric { [1.0 / (1.0 + a), 0.0] } else { [a, b] };
        let points = points(draws(&Model::single(component(family, theta)), 300, 3));
        let fit = fit_single(family, &points).expect("the family fits");
        let best = points.ln_likelihood(&fit);
        for moved in 0..family.parameters().len() {
            let mut theta = [0.0; 2];
            theta[..family.parameters().len()].copy_from_slice(fit.parts()[0].1.parameters());
            theta[moved] *= by;
            let Ok(near) = Component::new(family, theta) else { continue };
            let other = points.ln_likelihood(&Model::single(near));
            prop_assert!(other <= best + 1e-9 * best.abs(), "{family}: {other} above {best}");
        }
    }
}

/// Values of a distribution rank that distribution, or a mixture that contains it, first among the singles.
#[test]
fn the_true_component_ranks_first_among_single_ones() {
    let trials = Trials::singles();
    for (family, theta) in [
        (Family::Lognormal, [3.0, 1.1]),
        (Family::InverseGaussian, [5.0, 1.0]),
        (Family::Weibull, [0.33, 11.34]),
        (Family::Pareto, [1.16, 0.94]),
    ] {
        let points = points(draws(&Model::single(component(family, theta)), 4_000, 5));
        let ranking = rank(&points, &trials, &mut stream(6));
        assert_eq!(ranking.candidates[0].name, family.name());
        let passed = ranking.candidates[0].subsamples;
        assert!(passed.anderson_darling_passed > 0.85, "{family}: {passed:?}");
        assert!(ranking.left_out.iter().any(|why| why.contains("geometric")), "{:?}", ranking.left_out);
    }
}

#[test]
fn the_words_name_large_samples_and_ties() {
    let truth = Model::mixture(vec![
        (0.5, component(Family::Lognormal, [1.0, 0.3])),
        (0.5, component(Family::Lognormal, [4.0, 0.3])),
    ])
    .expect("good");
    let values: Vec<f64> = draws(&truth, 20_000, 9).into_iter().map(|v| v.round().max(1.0)).collect();
    let trials = Trials::singles();
    let ranking = rank(&Points::with_tick(values, 1.0).expect("enough"), &trials, &mut stream(6));
    let said = ranking.caveats.join("\n");
    assert!(said.contains("20000 values") && said.contains("tied"), "{said}");
}

#[path = "../examples/think_times.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod think_times;

#[test]
fn the_example_prints_what_the_readme_shows() {
    let output = think_times::report();
    assert!(include_str!("../README.md").contains(&output), "README.md is to show:\n{output}");
}
