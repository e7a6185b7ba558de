//! Every distribution against theory: mean and variance against moments worked out on another way than the
//! crate's, draws against those moments and against the distribution function.

use farfield_base::Duration;
use farfield_testkit::draws::{follows, mean_and_variance, stream};
use farfield_testkit::keys::{no_files, read};
use farfield_traffic::{Distribution, DistributionSpec};
use proptest::prelude::*;
use statrs::distribution::ContinuousCDF;
use statrs::function::{erf::erfc, gamma::gamma};

fn distribution(text: &str) -> Distribution {
    read::<DistributionSpec>(text).resolve(&mut no_files).expect("no file")
}

fn draws(distribution: &Distribution, count: usize) -> Vec<f64> {
    let mut rng = stream(1);
    (0..count).map(|_| distribution.sample(&mut rng)).collect()
}

/// Raw moments E[xʲ] for j = 1 … 4.
type Moments = [f64; 4];

fn moments(of: impl Fn(i32) -> f64) -> Moments {
    [of(1), of(2), of(3), of(4)]
}

/// Asserts that the distribution has the mean and variance of `moments`, to rounding.
fn has_moments(text: &str, [m1, m2, ..]: Moments) {
    let (distribution, variance) = (distribution(text), m2 - m1 * m1);
    assert!(
        (distribution.mean() - m1).abs() <= 1e-9 * m1.abs(),
        "{text}: mean {} not {m1}",
        distribution.mean()
    );
    // The oracle's own subtraction loses digits in proportion to the second moment.
    let limit = 1e-9 * variance + 1e-12 * m2;
    assert!(
        (distribution.variance() - variance).abs() <= limit,
        "{text}: variance {} not {variance}",
        distribution.variance()
    );
}

/// Asserts that a distribution's draws have the mean and variance of `moments`, each within five standard
/// deviations of its estimator: √(σ²/n), and √((μ₄ − σ⁴)/n) with μ₄ the fourth central moment.
fn draws_have_moments(text: &str, moments: Moments) {
    const DRAWS: usize = 200_000;
    const ROUNDING: f64 = 1e-9; // of adding up as many
    has_moments(text, moments);
    let [m1, m2, m3, m4] = moments;
    let variance = m2 - m1 * m1;
    let fourth = m4 - 4.0 * m3 * m1 + 6.0 * m2 * m1 * m1 - 3.0 * m1.powi(4);
    let (mean_found, variance_found) = mean_and_variance(&draws(&distribution(text), DRAWS));
    let n = DRAWS as f64;
    let limit = 5.0 * (variance / n).sqrt() + ROUNDING;
    assert!((mean_found - m1).abs() <= limit, "{text}: drew mean {mean_found}, not {m1} ± {limit}");
    let limit = 5.0 * ((fourth - variance * variance).max(0.0) / n).sqrt() + ROUNDING;
    assert!(
        (variance_found - variance).abs() <= limit,
        "{text}: drew variance {variance_found}, not {variance} ± {limit}"
    );
}

// Moments by the textbook, or by adding up.

fn uniform(min: f64, max: f64) -> Moments {
    moments(|j| (max.powi(j + 1) - min.powi(j + 1)) / (f64::from(j + 1) * (max - min)))
}
fn exponential(mean: f64) -> Moments {
    moments(|j| gamma(f64::from(j + 1)) * mean.powi(j))
}
fn normal(m: f64, s: f64) -> Moments {
    let (v, m2) = (s * s, m * m);
    [m, m2 + v, m * (m2 + 3.0 * v), m2 * m2 + 6.0 * m2 * v + 3.0 * v * v]
}
fn lognormal(mu: f64, sigma: f64) -> Moments {
    moments(|j| (f64::from(j) * mu + f64::from(j * j) * sigma * sigma / 2.0).exp())
}
fn weibull(shape: f64, scale: f64) -> Moments {
    moments(|j| scale.powi(j) * gamma(1.0 + f64::from(j) / shape))
}
fn pareto(shape: f64, scale: f64) -> Moments {
    moments(|j| shape * scale.powi(j) / (shape - f64::from(j)))
}
fn bounded_pareto(a: f64, l: f64, h: f64) -> Moments {
    let density = a * l.powf(a) / (1.0 - (l / h).powf(a));
    moments(|j| density * (h.powf(f64::from(j) - a) - l.powf(f64::from(j) - a)) / (f64::from(j) - a))
}
fn inverse_gaussian(m: f64, shape: f64) -> Moments {
    let r = m / shape;
    [
        m,
        m.powi(2) * (1.0 + r),
        m.powi(3) * (1.0 + 3.0 * r + 3.0 * r * r),
        m.powi(4) * (1.0 + 6.0 * r + 15.0 * r * r + 15.0 * r * r * r),
    ]
}
fn gamma_distribution(shape: f64, scale: f64) -> Moments {
    moments(|j| (0..j).map(|i| scale * (shape + f64::from(i))).product())
}
fn discrete(probabilities: &[f64]) -> Moments {
    moments(|j| (1..).zip(probabilities).map(|(k, p)| f64::from(k).powi(j) * p).sum())
}
fn geometric(p: f64) -> Moments {
    let last = (50.0 / p) as i32;
    discrete(&(0..last).map(|k| (1.0 - p).powi(k) * p).collect::<Vec<_>>())
}
fn zipf_probabilities(n: u32, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=n).map(|k| f64::from(k).powf(-exponent)).collect();
    let total: f64 = weights.iter().rev().sum();
    weights.iter().map(|w| w / total).collect()
}
fn mixture(parts: &[(f64, Moments)]) -> Moments {
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    moments(|j| parts.iter().map(|(weight, m)| weight / total * m[j as usize - 1]).sum())
}

#[test]
fn draws_have_the_mean_and_variance_of_the_distribution() {
    draws_have_moments("\"300ms\"", moments(|j| 0.3f64.powi(j)));
    draws_have_moments("{ distribution = 'constant', value = -2 }", moments(|j| (-2.0f64).powi(j)));
    draws_have_moments("{ distribution = 'uniform', min = -1, max = 3 }", uniform(-1.0, 3.0));
    draws_have_moments("{ distribution = 'exponential', mean = '20ms' }", exponential(0.02));
    draws_have_moments("{ distribution = 'exponential', rate = '30/min' }", exponential(2.0));
    draws_have_moments("{ distribution = 'normal', mean = 3, sigma = 0.5 }", normal(3.0, 0.5));
    draws_have_moments("{ distribution = 'lognormal', mu = -0.5, sigma = 0.4 }", lognormal(-0.5, 0.4));
    draws_have_moments("{ distribution = 'weibull', shape = 0.8, scale = '2s' }", weibull(0.8, 2.0));
    draws_have_moments("{ distribution = 'weibull', shape = 3, scale = 5 }", weibull(3.0, 5.0));
    draws_have_moments("{ distribution = 'pareto', shape = 9, scale = '1KiB' }", pareto(9.0, 1024.0));
    draws_have_moments(
        "{ distribution = 'bounded-pareto', shape = 1.1, min = 1, max = 100 }",
        bounded_pareto(1.1, 1.0, 100.0),
    );
    draws_have_moments(
        "{ distribution = 'inverse-gaussian', mean = 3, shape = 5 }",
        inverse_gaussian(3.0, 5.0),
    );
    draws_have_moments("{ distribution = 'gamma', shape = 0.5, scale = 2 }", gamma_distribution(0.5, 2.0));
    draws_have_moments(
        "{ distribution = 'gamma', shape = 4, scale = '10ms' }",
        gamma_distribution(4.0, 0.01),
    );
    draws_have_moments("{ distribution = 'geometric', mean = 5 }", geometric(0.2));
    draws_have_moments("{ distribution = 'geometric', p = 0.9 }", geometric(0.9));
    draws_have_moments("{ distribution = 'geometric', mean = 1 }", moments(|_| 1.0));
    draws_have_moments(
        "{ distribution = 'zipf', n = 1000, exponent = 0.8 }",
        discrete(&zipf_probabilities(1000, 0.8)),
    );
    draws_have_moments(
        "{ distribution = 'zipf', n = 50, exponent = 1 }",
        discrete(&zipf_probabilities(50, 1.0)),
    );
    draws_have_moments(
        "{ distribution = 'zipf', n = 50, exponent = 0 }",
        discrete(&zipf_probabilities(50, 0.0)),
    );
    draws_have_moments(
        "{ distribution = 'empirical', values = [1, 3, 2, 2] }",
        moments(|j| (1.0 + 2.0 * 2.0f64.powi(j) + 3.0f64.powi(j)) / 4.0),
    );
    draws_have_moments(
        "{ distribution = 'mixture', parts = [{ weight = 3, of = { distribution = 'exponential', mean = 1 } }, { weight = 1, of = 10 }] }",
        mixture(&[(3.0, exponential(1.0)), (1.0, moments(|j| 10f64.powi(j)))]),
    );
}

proptest! {
    #[test]
    fn mean_and_variance_are_those_of_the_textbook(
        a in 0.05..20.0f64,
        b in 0.05..20.0f64,
        shape in 0.3..6.0f64,
        sigma in 0.1..2.0f64,
        n in 1u32..3_000,
    ) {
        has_moments(&format!("{{ distribution = 'uniform', min = {a}, max = {} }}", a + b), uniform(a, a + b));
        has_moments(&format!("{{ distribution = 'exponential', mean = {a} }}"), exponential(a));
        has_moments(&format!("{{ distribution = 'exponential', rate = {a} }}"), exponential(1.0 / a));
        has_moments(&format!("{{ distribution = 'normal', mean = {a}, sigma = {b} }}"), normal(a, b));
        has_moments(&format!("{{ distribution = 'lognormal', mu = {}, sigma = {sigma} }}", a - b), lognormal(a - b, sigma));
        has_moments(&format!("{{ distribution = 'weibull', shape = {shape}, scale = {a} }}"), weibull(shape, a));
        has_moments(&format!("{{ distribution = 'pareto', shape = {}, scale = {a} }}", 2.1 + shape), pareto(2.1 + shape, a));
        has_moments(&format!("{{ distribution = 'inverse-gaussian', mean = {a}, shape = {b} }}"), inverse_gaussian(a, b));
        has_moments(&format!("{{ distribution = 'gamma', shape = {shape}, scale = {a} }}"), gamma_distribution(shape, a));
        has_moments(&format!("{{ distribution = 'geometric', mean = {} }}", 1.0 + a), geometric(1.0 / (1.0 + a)));
        has_moments(&format!("{{ distribution = 'zipf', n = {n}, exponent = {sigma} }}"), discrete(&zipf_probabilities(n, sigma)));
        // Away from shapes 1 and 2, at which the textbook's form divides by zero.
        prop_assume!((shape - 1.0).abs() > 1e-2 && (shape - 2.0).abs() > 1e-2);
        has_moments(
            &format!("{{ distribution = 'bounded-pareto', shape = {shape}, min = {a}, max = {} }}", a * (2.0 + b)),
            bounded_pareto(shape, a, a * (2.0 + b)),
        );
    }
}

#[test]
fn a_bounded_pareto_of_shape_one_has_the_logarithm_for_its_mean() {
    let distribution = distribution("{ distribution = 'bounded-pareto', shape = 1, min = 2, max = 200 }");
    let mean = 2.0 * 100f64.ln() / (1.0 - 0.01);
    assert!((distribution.mean() - mean).abs() < 1e-12 * mean, "{} not {mean}", distribution.mean());
    assert!(
        (distribution.variance() - (2.0 * 200.0 - mean * mean)).abs() < 1e-9,
        "{}",
        distribution.variance()
    );
}

#[test]
fn heavy_tails_have_infinite_moments() {
    let check = |text, mean: f64, variance: f64| {
        assert_eq!((distribution(text).mean(), distribution(text).variance()), (mean, variance), "{text}");
    };
    check("{ distribution = 'pareto', shape = 1, scale = 1 }", f64::INFINITY, f64::INFINITY);
    check("{ distribution = 'pareto', shape = 2, scale = 1 }", 2.0, f64::INFINITY);
    let half = "{ distribution = 'mixture', parts = [{ weight = 1, of = 1 }, { weight = 1, of = { distribution = 'pareto', shape = 1, scale = 1 } }] }";
    check(half, f64::INFINITY, f64::INFINITY);
    let none = "{ distribution = 'mixture', parts = [{ weight = 1, of = 1 }, { weight = 0, of = { distribution = 'pareto', shape = 1, scale = 1 } }] }";
    check(none, 1.0, 0.0);
}

/// Draws against the distribution function: statrs's where it has the distribution, else the closed form.
#[test]
fn draws_follow_the_distribution_function() {
    use statrs::distribution as other;
    let check =
        |text: &str, cdf: &dyn Fn(f64) -> f64| follows(text, draws(&distribution(text), 100_000), cdf);
    let uniform = other::Uniform::new(2.0, 3.0).expect("good");
    check("{ distribution = 'uniform', min = 2, max = 3 }", &|x| uniform.cdf(x));
    let exponential = other::Exp::new(50.0).expect("good");
    check("{ distribution = 'exponential', mean = '20ms' }", &|x| exponential.cdf(x));
    let normal = other::Normal::new(-1.0, 2.0).expect("good");
    check("{ distribution = 'normal', mean = -1, sigma = 2 }", &|x| normal.cdf(x));
    let lognormal = other::LogNormal::new(9.357, 1.318).expect("good");
    check("{ distribution = 'lognormal', mu = 9.357, sigma = 1.318 }", &|x| lognormal.cdf(x));
    let weibull = other::Weibull::new(0.4, 1.5).expect("good");
    check("{ distribution = 'weibull', shape = 0.4, scale = 1.5 }", &|x| weibull.cdf(x));
    let pareto = other::Pareto::new(3.0, 0.9).expect("good");
    check("{ distribution = 'pareto', shape = 0.9, scale = 3 }", &|x| pareto.cdf(x));
    for shape in [0.3, 1.0, 7.5] {
        let gamma = other::Gamma::new(shape, 1.0 / 2.5).expect("good");
        check(&format!("{{ distribution = 'gamma', shape = {shape}, scale = 2.5 }}"), &|x| gamma.cdf(x));
    }
    check("{ distribution = 'bounded-pareto', shape = 0.9, min = 3, max = 1e6 }", &|x| {
        pareto.cdf(x) / pareto.cdf(1e6)
    });
    for (mean, shape) in [(3.0, 5.0), (100.0, 0.1)] {
        let text = format!("{{ distribution = 'inverse-gaussian', mean = {mean}, shape = {shape} }}");
        check(&text, &|x| inverse_gaussian_cdf(x, mean, shape));
    }
    check("{ distribution = 'geometric', mean = 20 }", &|x| 1.0 - 0.95f64.powf(x.floor()));
    for exponent in [0.8, 1.0, 1.0 + 1e-15, 2.5] {
        let sums: Vec<f64> = zipf_probabilities(10_000, exponent)
            .iter()
            .scan(0.0, |sum, p| {
                *sum += p;
                Some(*sum)
            })
            .collect();
        let text = format!("{{ distribution = 'zipf', n = 10000, exponent = {exponent} }}");
        check(&text, &|x| if x < 1.0 { 0.0 } else { sums[x as usize - 1] });
    }
    check(
        "{ distribution = 'mixture', parts = [{ weight = 1, of = { distribution = 'uniform', min = 2, max = 3 } }, { weight = 4, of = { distribution = 'exponential', mean = '20ms' } }] }",
        &|x| 0.2 * uniform.cdf(x) + 0.8 * exponential.cdf(x),
    );
}

/// Φ(√(λ/x)(x/μ − 1)) + e^(2λ/μ) Φ(−√(λ/x)(x/μ + 1)) (Johnson, Kotz and Balakrishnan, volume 1, chapter 15).
fn inverse_gaussian_cdf(x: f64, mean: f64, shape: f64) -> f64 {
    let phi = |z: f64| erfc(-z / std::f64::consts::SQRT_2) / 2.0;
    let root = (shape / x).sqrt();
    phi(root * (x / mean - 1.0)) + (2.0 * shape / mean).exp() * phi(-root * (x / mean + 1.0))
}

#[test]
fn draws_stay_in_their_support() {
    for text in [
        "{ distribution = 'uniform', min = '1ms', max = '2ms' }",
        "{ distribution = 'exponential', mean = 1 }",
        "{ distribution = 'lognormal', mu = 0, sigma = 3 }",
        "{ distribution = 'weibull', shape = 0.2, scale = 1 }",
        "{ distribution = 'pareto', shape = 0.1, scale = 3 }",
        "{ distribution = 'bounded-pareto', shape = 0.1, min = 3, max = 3.1 }",
        "{ distribution = 'inverse-gaussian', mean = 1e6, shape = 1e-6 }",
        "{ distribution = 'gamma', shape = 0.01, scale = 1 }",
        "{ distribution = 'geometric', p = 1e-15 }",
        "{ distribution = 'zipf', n = 3, exponent = 0 }",
        "{ distribution = 'zipf', n = 1, exponent = 4 }",
        "{ distribution = 'empirical', values = [-1, 5] }",
        "{ distribution = 'mixture', parts = [{ weight = 1, of = -1 }, { weight = 1, of = 4 }] }",
    ] {
        let distribution = distribution(text);
        let inside = |x: &f64| (distribution.minimum()..=distribution.maximum()).contains(x);
        let outside = draws(&distribution, 50_000).into_iter().find(|x| !inside(x));
        assert_eq!(outside, None, "{text}: beyond {} to {}", distribution.minimum(), distribution.maximum());
    }
}

#[test]
fn times_are_clipped_at_zero_and_counts_at_one() {
    let mut rng = stream(3);
    let below = distribution("-3");
    assert_eq!(below.sample_duration(&mut rng), Duration::ZERO);
    assert_eq!(below.sample_count(&mut rng), 1);
    assert_eq!(distribution("'1500us'").sample_duration(&mut rng), Duration::from_us(1_500));
    assert_eq!(distribution("2.6").sample_count(&mut rng), 3);
}

#[test]
fn a_stream_draws_the_same_again() {
    let distribution = distribution("{ distribution = 'gamma', shape = 0.7, scale = 2 }");
    assert_eq!(draws(&distribution, 1_000), draws(&distribution, 1_000));
}
