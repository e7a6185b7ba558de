//! An arrival process as a scenario writes it. A bare rate is a Poisson process:
//!
//! ```toml
//! arrivals = "500/s"
//! arrivals = { process = "constant", rate = "500/s" }
//! arrivals = { process = "renewal", gaps = { distribution = "weibull", shape = 0.6, scale = "2ms" } }
//! arrivals = { process = "bursts", rate = "500/s", factor = 6, share = "5%", period = "100s" }
//! arrivals = { process = "gaps", file = "gaps.txt", loop = true }
//! arrivals = { process = "flash-crowd", from = "10/s", to = "333/s", at = "60s", within = "4s", stay = "60s", decay = "60s" }
//! arrivals = { process = "fractional-noise", rate = "500/s", hurst = 0.8, deviation = 0.5, slot = "100ms", for = "1h" }
//! arrivals = { process = "markov-modulated", rates = ["100/s", "1000/s"], transitions = [[0, "6/min"], ["1/s", 0]] }
//! arrivals = { process = "m-g-infinity", rate = "500/s", sessions = "5/s", length = { distribution = "pareto", shape = 1.4, mean = "20s" } }
//!
//! [arrivals]
//! process = "on-off"
//! rate = "500/s"
//! sources = 100
//! on = { distribution = "pareto", shape = 1.4, mean = "1s" }
//! off = { distribution = "exponential", mean = "4s" }
//!
//! [arrivals]
//! process = "diurnal"
//! rate = "500/s"
//! profile = [4, 3, 2, 2, 2, 3, 4, 6, 8, 9, 9, 9, 9, 9, 9, 9, 8, 8, 8, 8, 8, 7, 6, 5]
//! day = "24m"
//!
//! [arrivals]
//! process = "schedule"
//! segments = [
//!     { for = "10s", rate = "100/s" },                                        # a step
//!     { for = "30s", from = "100/s", to = "900/s" },                          # a ramp
//!     { for = "60s", mean = "500/s", amplitude = "400/s", period = "20s" },   # a sine
//! ]
//!
//! [arrivals]
//! process = "stages"
//! stages = "1m:100/s, 5m:500/s, 1m:0/s"
//! ```

use super::curve::{Curve, Shape};
use super::markov::MarkovSpec;
use super::noise::NoiseSpec;
use super::onoff::OnOffSpec;
use super::profile::{DiurnalSpec, FlashCrowdSpec};
use super::sessions::SessionsSpec;
use super::trace::{Trace, TraceFormat};
use super::*;
use crate::distribution::TimesSpec;
use crate::file::{FileError, Load};
use crate::stages::Stages;
use farfield_base::{Duration, Share, StageSpan, TextOrTable};
use serde::{Deserializer, Serializer};
use std::path::PathBuf;
use std::str::FromStr;

/// An arrival process as written: valid, but a file that it names has not been read.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrivalSpec {
    written: ArrivalKeys,
    meaning: ProcessSource,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "process", rename_all = "kebab-case", deny_unknown_fields)]
enum ArrivalKeys {
    Constant {
        rate: Rate,
    },
    Poisson {
        rate: Rate,
    },
    Renewal {
        gaps: TimesSpec,
    },
    Schedule {
        #[serde(default)]
        spacing: Spacing,
        #[serde(default, rename = "loop")]
        repeats: bool,
        segments: Vec<SegmentSpec>,
    },
    Stages {
        #[serde(default)]
        spacing: Spacing,
        stages: Stages<Rate>,
    },
    Bursts {
        rate: Rate,
        factor: f64,
        share: Share,
        #[serde(default = "hundred_seconds")]
        period: Duration,
        #[serde(default)]
        spacing: Spacing,
    },
    Diurnal(DiurnalSpec),
    FlashCrowd(FlashCrowdSpec),
    FractionalNoise(NoiseSpec),
    MarkovModulated(MarkovSpec),
    OnOff(OnOffSpec),
    MGInfinity(SessionsSpec),
    Gaps {
        file: PathBuf,
        #[serde(default, rename = "loop")]
        repeats: bool,
    },
    Instants {
        file: PathBuf,
        #[serde(default, rename = "loop")]
        repeats: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
enum ProcessSource {
    Ready(ArrivalProcess),
    /// Gaps of which some are in a file; `file` is the first.
    Renewal {
        gaps: TimesSpec,
        file: PathBuf,
    },
    Trace {
        file: PathBuf,
        lines: TraceFormat,
        repeats: bool,
    },
}

/// Segment of a schedule; the keys that are present decide its shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SegmentSpec {
    #[serde(rename = "for")]
    length: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amplitude: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<Duration>,
}

/// The period of the bursts in Banga and Druschel (1999), section 5.4.
fn hundred_seconds() -> Duration {
    Duration::from_secs(100)
}

impl ArrivalSpec {
    /// A Poisson process of `rate`, which must be above zero.
    pub fn poisson(rate: Rate) -> Result<ArrivalSpec, ArrivalError> {
        ArrivalSpec::build(ArrivalKeys::Poisson { rate })
    }

    /// Evenly spaced arrivals at `rate`, which must be above zero.
    pub fn constant(rate: Rate) -> Result<ArrivalSpec, ArrivalError> {
        ArrivalSpec::build(ArrivalKeys::Constant { rate })
    }

    /// Arrivals along `stages`, from none on.
    pub fn along(stages: Stages<Rate>, spacing: Spacing) -> Result<ArrivalSpec, ArrivalError> {
        ArrivalSpec::build(ArrivalKeys::Stages { spacing, stages })
    }

    /// Stages of the process, if it has some.
    pub fn stages(&self) -> Option<&Stages<Rate>> {
        match &self.written {
            ArrivalKeys::Stages { stages, .. } => Some(stages),
            _ => None,
        }
    }

    /// Stages of the process, in order, as spans; none of a process without.
    pub fn stage_spans(&self) -> Vec<StageSpan> {
        self.stages().map(|stages| stages.spans(Rate::ZERO)).unwrap_or_default()
    }

    /// The process itself, with the files it names read through `load`.
    ///
    /// # Errors
    /// A file that cannot be read or is no list of instants.
    pub fn resolve(&self, load: &mut Load<'_>) -> Result<ArrivalProcess, FileError> {
        let process = match &self.meaning {
            ProcessSource::Ready(process) => return Ok(process.clone()),
            ProcessSource::Renewal { gaps, file } => {
                let gaps = gaps.resolve(load)?;
                if gets_nowhere(&gaps) {
                    let problem = ArrivalError::NoGaps.to_string();
                    return Err(FileError::Whole { path: file.clone(), problem });
                }
                Process::Renewal { gaps }
            }
            ProcessSource::Trace { file, lines, repeats } => {
                Process::Trace(Arc::new(Trace::read(file, *lines, *repeats, load)?))
            }
        };
        Ok(process.into())
    }

    fn build(written: ArrivalKeys) -> Result<ArrivalSpec, ArrivalError> {
        let meaning = written.meaning()?;
        Ok(ArrivalSpec { written, meaning })
    }
}

impl ArrivalKeys {
    fn meaning(&self) -> Result<ProcessSource, ArrivalError> {
        let process = match self {
            ArrivalKeys::Constant { rate } => ArrivalProcess::steady(above_zero(*rate)?, Spacing::Even),
            ArrivalKeys::Poisson { rate } => ArrivalProcess::steady(above_zero(*rate)?, Spacing::Poisson),
            ArrivalKeys::Renewal { gaps } => return renewal(gaps),
            ArrivalKeys::Schedule { spacing, repeats, segments } => {
                let shapes = segments.iter().map(SegmentSpec::shape).collect::<Result<Vec<_>, _>>()?;
                let curve = Curve::schedule(&shapes, *repeats).ok_or(ArrivalError::NoSegments)?;
                ArrivalProcess::along(curve, *spacing)
            }
            ArrivalKeys::Stages { spacing, stages } => return staged(stages, *spacing),
            ArrivalKeys::Bursts { rate, factor, share, period, spacing } => {
                let curve = bursts(above_zero(*rate)?, *factor, share.as_f64(), *period)?;
                ArrivalProcess::along(curve, *spacing)
            }
            ArrivalKeys::Diurnal(spec) => spec.process()?,
            ArrivalKeys::FlashCrowd(spec) => spec.process()?,
            ArrivalKeys::FractionalNoise(spec) => spec.process()?,
            ArrivalKeys::MarkovModulated(spec) => spec.process()?,
            ArrivalKeys::OnOff(spec) => spec.process()?,
            ArrivalKeys::MGInfinity(spec) => spec.process()?,
            ArrivalKeys::Gaps { file, repeats } => {
                return Ok(ProcessSource::Trace {
                    file: file.clone(),
                    lines: TraceFormat::Gaps,
                    repeats: *repeats,
                });
            }
            ArrivalKeys::Instants { file, repeats } => {
                return Ok(ProcessSource::Trace {
                    file: file.clone(),
                    lines: TraceFormat::Instants,
                    repeats: *repeats,
                });
            }
        };
        Ok(ProcessSource::Ready(process))
    }
}

/// A rate that goes along `stages`, from none on.
fn staged(stages: &Stages<Rate>, spacing: Spacing) -> Result<ProcessSource, ArrivalError> {
    if let Some(nothing) = stages.emptiness(Rate::ZERO) {
        return Err(ArrivalError::Stages(nothing));
    }
    let mut from = 0.0;
    let mut shapes = Vec::new();
    for stage in stages.iter() {
        let to = bounded(stage.to)?;
        if !stage.lasts.is_zero() {
            let length_s = stage.lasts.as_secs_f64();
            let ramp = Shape::Ramp { from, to, length_s };
            shapes.push((stage.lasts, if from == to { Shape::Hold { rate: to } } else { ramp }));
        }
        from = to;
    }
    let curve = Curve::schedule(&shapes, false).ok_or(ArrivalError::NoSegments)?;
    let process = ArrivalProcess::along(curve, spacing);
    Ok(ProcessSource::Ready(ArrivalProcess { stages: stages.spans(Rate::ZERO).into(), ..process }))
}

fn renewal(gaps: &TimesSpec) -> Result<ProcessSource, ArrivalError> {
    match (gaps.ready(), gaps.file()) {
        (Some(gaps), _) if gets_nowhere(gaps) => Err(ArrivalError::NoGaps),
        (Some(gaps), _) => Ok(ProcessSource::Ready(Process::Renewal { gaps: gaps.clone() }.into())),
        (None, file) => {
            let file = file.map(PathBuf::from).unwrap_or_default();
            Ok(ProcessSource::Renewal { gaps: gaps.clone(), file })
        }
    }
}

impl SegmentSpec {
    pub(super) fn shape(&self) -> Result<(Duration, Shape), ArrivalError> {
        let SegmentSpec { length, rate, from, to, mean, amplitude, period } = self;
        if length.is_zero() {
            return Err(ArrivalError::NoLength);
        }
        let shape = match (rate, from, to, mean, amplitude, period) {
            (Some(rate), None, None, None, None, None) => Shape::Hold { rate: bounded(*rate)? },
            (None, Some(from), Some(to), None, None, None) => {
                Shape::Ramp { from: bounded(*from)?, to: bounded(*to)?, length_s: length.as_secs_f64() }
            }
            (None, None, None, Some(mean), Some(amplitude), Some(period)) => {
                if period.is_zero() {
                    return Err(ArrivalError::NoPeriod);
                }
                if amplitude > mean {
                    return Err(ArrivalError::Amplitude);
                }
                Shape::Sine {
                    mean: bounded(*mean)?,
                    amplitude: amplitude.as_per_second(),
                    period_s: period.as_secs_f64(),
                }
            }
            _ => return Err(ArrivalError::SegmentKeys),
        };
        Ok((*length, shape))
    }
}

/// Each period begins with a burst of `factor` times the mean `rate`, a `share` of the period long; the rest
/// has what is left, (1 − factor · share) / (1 − share) times the mean. So the rate is above the mean for
/// just that share, and is then at its maximum (Banga and Druschel 1999, section 5.4, parameters a and b).
fn bursts(rate: Rate, factor: f64, share: f64, period: Duration) -> Result<Curve, ArrivalError> {
    /// Excess over 1 that the product may have, because a share such as 1/6 has no exact spelling.
    const ROUNDING: f64 = 1e-9;
    if !(factor.is_finite() && factor >= 1.0) {
        return Err(ArrivalError::Factor(factor));
    }
    if !(share > 0.0 && share < 1.0) {
        return Err(ArrivalError::Share(share));
    }
    if factor * share > 1.0 + ROUNDING {
        return Err(ArrivalError::TooMuch { factor, share });
    }
    let burst = Duration::from_secs_f64(period.as_secs_f64() * share);
    let rest = period - burst;
    if burst.is_zero() || rest.is_zero() {
        return Err(ArrivalError::NoPeriod);
    }
    // From the lengths as they came out in nanoseconds, so that the mean is exactly what was asked for.
    let (burst_s, rest_s) = (burst.as_secs_f64(), rest.as_secs_f64());
    let mean = rate.as_per_second();
    let high =
        Shape::Hold { rate: Rate::per_second(factor * mean).map_err(ArrivalError::Rate).and_then(bounded)? };
    let low = Shape::Hold { rate: (mean * (burst_s + rest_s - factor * burst_s) / rest_s).max(0.0) };
    Curve::schedule(&[(burst, high), (rest, low)], true).ok_or(ArrivalError::NoRate)
}

fn gets_nowhere(gaps: &Distribution) -> bool {
    gaps.mean() < 1e-9
}

/// `rate` in arrivals a second, if instants in nanoseconds can hold it.
pub(super) fn bounded(rate: Rate) -> Result<f64, ArrivalError> {
    match rate.as_per_second() {
        per_second if per_second <= 1e9 => Ok(per_second),
        _ => Err(ArrivalError::TooFast(rate)),
    }
}

pub(super) fn above_zero(rate: Rate) -> Result<Rate, ArrivalError> {
    if bounded(rate)? > 0.0 { Ok(rate) } else { Err(ArrivalError::NoRate) }
}

impl FromStr for ArrivalSpec {
    type Err = ArrivalError;

    /// Reads a bare rate: a Poisson process.
    fn from_str(text: &str) -> Result<ArrivalSpec, ArrivalError> {
        ArrivalSpec::poisson(text.parse()?)
    }
}

impl Serialize for ArrivalSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.written {
            ArrivalKeys::Poisson { rate } => rate.serialize(serializer),
            table => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ArrivalSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ArrivalSpec, D::Error> {
        TextOrTable {
            expected: "a rate such as \"500/s\", or a table such as { process = \"constant\", rate = \"500/s\" }",
            text: |text| text.parse().map_err(|error: <ArrivalSpec as FromStr>::Err| error.to_string()),
            number: Some(|number| {
                let rate = Rate::per_second(number).map_err(|error| error.to_string())?;
                ArrivalSpec::poisson(rate).map_err(|error| error.to_string())
            }),
            table: |written: ArrivalKeys| ArrivalSpec::build(written).map_err(|error| error.to_string()),
        }
        .read(deserializer)
    }
}
