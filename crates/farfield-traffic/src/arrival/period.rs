//! Periods: of a source that is on or off, or of a session, and what is left of one that is under way.
//!
//! A stationary process at time zero is in a long period more often than in a short one: the
//! period that covers it has the density x f(x) / E X, and ends after a uniform part of it (Cox 1962,
//! "Renewal Theory", section 5.4). Heavy-tailed periods make that matter: started afresh, their process would
//! take longer than any run to reach its mean.

use super::ArrivalError;
use crate::amount::Amount;
use crate::distribution::{BoundedPareto, Constant, Distribution, Exponential, Lognormal, Pareto, Weibull};
use farfield_base::Duration;
use farfield_base::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

/// The distribution of a period as a scenario writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum PeriodSpec {
    Constant {
        value: Duration,
    },
    Exponential {
        mean: Duration,
    },
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    Weibull {
        shape: f64,
        scale: Duration,
    },
    Pareto {
        shape: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        scale: Option<Duration>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mean: Option<Duration>,
    },
    BoundedPareto {
        shape: f64,
        min: Duration,
        max: Duration,
    },
}

/// The distribution of a period, which draws whole ones and those met under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Period {
    whole: Distribution,
    covering: Covering,
    /// The index of a tail that is a power law for ever.
    tail: Option<f64>,
}

/// The distribution of the period that covers an instant. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Covering {
    Constant {
        value: f64,
    },
    Exponential {
        mean: f64,
    },
    /// The Lognormal's μ moves up by σ².
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    /// (x / scale)^shape is Gamma of 1 + 1 / shape.
    Weibull {
        shape: f64,
        scale: f64,
        powered: rand_distr::Gamma<f64>,
    },
    /// The power falls by one.
    Pareto {
        shape: f64,
        scale: f64,
    },
    /// Pareto between bounds, whose shape may be zero and below.
    BoundedPareto {
        shape: f64,
        min: f64,
        max: f64,
    },
}

impl PeriodSpec {
    /// The distribution; `key` is where it was written.
    pub(super) fn period(&self, key: &'static str) -> Result<Period, ArrivalError> {
        let secs = |time: Duration| time.as_secs_f64();
        let mut tail = None;
        let (whole, covering) = match *self {
            PeriodSpec::Constant { value } => (
                Distribution::Constant(Constant::of(Amount::Time(value))),
                Covering::Constant { value: secs(value) },
            ),
            PeriodSpec::Exponential { mean } => (
                Distribution::Exponential(Exponential::with_mean(secs(mean))?),
                Covering::Exponential { mean: secs(mean) },
            ),
            PeriodSpec::Lognormal { mu, sigma } => (
                Distribution::Lognormal(Lognormal::new(mu, sigma)?),
                Covering::Lognormal { mu: mu + sigma * sigma, sigma },
            ),
            PeriodSpec::Weibull { shape, scale } => {
                let weibull = Weibull::new(shape, secs(scale))?;
                // A shape so small that this fails has no mean that a clock could hold.
                let powered = rand_distr::Gamma::new(1.0 + 1.0 / shape, 1.0)
                    .map_err(|_| ArrivalError::PeriodMean { key, mean_s: f64::INFINITY })?;
                (Distribution::Weibull(weibull), Covering::Weibull { shape, scale: secs(scale), powered })
            }
            PeriodSpec::Pareto { shape, scale, mean } => {
                let scale = match (scale, mean) {
                    (Some(scale), None) => secs(scale),
                    (None, Some(_)) if shape <= 1.0 => {
                        return Err(ArrivalError::PeriodMean { key, mean_s: f64::INFINITY });
                    }
                    (None, Some(mean)) => secs(mean) * (shape - 1.0) / shape,
                    _ => return Err(ArrivalError::PeriodScale),
                };
                tail = Some(shape);
                (
                    Distribution::Pareto(Pareto::new(shape, scale)?),
                    Covering::Pareto { shape: shape - 1.0, scale },
                )
            }
            PeriodSpec::BoundedPareto { shape, min, max } => (
                Distribution::BoundedPareto(BoundedPareto::new(shape, secs(min), secs(max))?),
                Covering::BoundedPareto { shape: shape - 1.0, min: secs(min), max: secs(max) },
            ),
        };
        let mean_s = whole.mean();
        if !(mean_s >= 1e-6 && mean_s.is_finite()) {
            return Err(ArrivalError::PeriodMean { key, mean_s });
        }
        Ok(Period { whole, covering, tail })
    }
}

impl Period {
    pub(super) fn mean_s(&self) -> f64 {
        self.whole.mean()
    }

    /// A whole period.
    pub(super) fn draw(&self, stream: &mut Stream) -> Duration {
        self.whole.sample_duration(stream)
    }

    /// Draws the rest of the period that covers an instant.
    pub(super) fn draw_rest(&self, stream: &mut Stream) -> Duration {
        let covering_s = self.covering.sample(stream);
        Duration::from_secs_f64(covering_s * stream.random::<f64>())
    }

    /// (3 − α) / 2 for a tail index α between 1 and 2, else ½ (Willinger, Taqqu, Sherman and Wilson 1997,
    /// section II; Cox 1984 for sessions).
    pub(super) fn hurst(&self) -> f64 {
        self.tail.map_or(0.5, |tail| ((3.0 - tail) / 2.0).max(0.5))
    }
}

impl Covering {
    fn sample(self, stream: &mut Stream) -> f64 {
        match self {
            Covering::Constant { value } => value,
            Covering::Exponential { mean } => mean * (exponential(stream) + exponential(stream)),
            Covering::Lognormal { mu, sigma } => {
                let normal: f64 = StandardNormal.sample(stream);
                (mu + sigma * normal).exp()
            }
            Covering::Weibull { shape, scale, powered } => scale * powered.sample(stream).powf(1.0 / shape),
            Covering::Pareto { shape, scale } => scale * (exponential(stream) / shape).exp(),
            Covering::BoundedPareto { shape, min, max } => {
                // Inverting the distribution function, whose limit for shape 0 is uniform in ln x.
                let (u, span) = (stream.random::<f64>(), (max / min).ln());
                let grown = -shape * span;
                let logarithm =
                    if grown.abs() < 1e-9 { u * span } else { (u * grown.exp_m1()).ln_1p() / -shape };
                (min * logarithm.exp()).clamp(min, max)
            }
        }
    }
}

fn exponential(stream: &mut Stream) -> f64 {
    Exp1.sample(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    fn period(spec: PeriodSpec) -> Period {
        spec.period("on").expect("a good distribution")
    }

    /// The rest of a period has the mean E X² / 2 E X, and is below t with probability ∫₀ᵗ P(X > x) dx / E X:
    /// both against the distribution itself, drawn from.
    #[test]
    fn the_rest_of_a_period_is_that_of_renewal_theory() {
        let ms = Duration::from_ms;
        const DRAWS: usize = 200_000;
        for spec in [
            PeriodSpec::Constant { value: ms(700) },
            PeriodSpec::Exponential { mean: ms(700) },
            PeriodSpec::Lognormal { mu: -0.5, sigma: 0.6 },
            PeriodSpec::Weibull { shape: 0.8, scale: ms(500) },
            PeriodSpec::Pareto { shape: 1.4, scale: Some(ms(200)), mean: None },
            PeriodSpec::Pareto { shape: 2.5, scale: None, mean: Some(ms(600)) },
            PeriodSpec::BoundedPareto { shape: 1.0, min: ms(100), max: ms(5_000) },
            PeriodSpec::BoundedPareto { shape: 0.6, min: ms(100), max: ms(5_000) },
            PeriodSpec::BoundedPareto { shape: 1.7, min: ms(100), max: ms(5_000) },
        ] {
            let period = period(spec.clone());
            let mut stream = Seed(5).stream(Purpose::Arrivals, 0);
            for t in [0.05, 0.2, 0.8, 2.0] {
                let inside: f64 = (0..DRAWS).map(|_| period.draw(&mut stream).as_secs_f64().min(t)).sum();
                let wanted = inside / DRAWS as f64 / period.mean_s();
                let below = (0..DRAWS).filter(|_| period.draw_rest(&mut stream).as_secs_f64() < t).count();
                let found = below as f64 / DRAWS as f64;
                // Each side is a mean of DRAWS values in a range of at most max(1, t / E X).
                let limit = 5.0 * (0.5 + t / period.mean_s()) / (DRAWS as f64).sqrt();
                assert!((found - wanted).abs() < limit, "{spec:?} below {t} s: {found} not {wanted}");
            }
        }
    }

    #[test]
    fn a_tail_tells_the_hurst_parameter() {
        let hurst = |shape| {
            period(PeriodSpec::Pareto { shape, scale: Some(Duration::from_ms(1)), mean: None }).hurst()
        };
        assert_eq!((hurst(1.5), hurst(3.0)), (0.75, 0.5));
        assert_eq!(period(PeriodSpec::Exponential { mean: Duration::from_ms(1) }).hurst(), 0.5);
    }
}
