//! A process as a scenario takes it.

use super::{Course, FractionalRate, ProcessModel, SessionProcess, TwoRates};
use farfield_base::{Duration, Rate};
use farfield_traffic::arrival::ArrivalSpec;
use serde_json::{Value, json};

impl SessionProcess {
    /// The process with `rate` sessions a second in the mean, where time passes `speed` times as fast; `None`
    /// for a renewal process, whose gaps are a variable of their own, and for what no scenario can have.
    pub(crate) fn spec(&self, rate: f64, speed: f64) -> Option<ArrivalSpec> {
        let pace = Pace { more: speed * rate / self.rate, speed };
        let mut written = match &self.model {
            ProcessModel::Renewal => return None,
            ProcessModel::Poisson => json!(pace.rate(self.rate)?),
            ProcessModel::Course(course) => pace.course(course)?,
            ProcessModel::MarkovModulated(two) => pace.two_rates(two)?,
            ProcessModel::FractionalNoise(noise) => pace.noise(noise, self.rate, self.longest_s())?,
        };
        if let Some(course) = &self.along {
            written["course"] = pace.segments(course)?;
        }
        serde_json::from_value(written).ok()
    }

    /// The process with a course that begins where its rate over `window_s` seconds is nearest to the mean.
    pub(crate) fn begun_at_its_mean(&self, window_s: f64) -> SessionProcess {
        let mut begun = self.clone();
        if let ProcessModel::Course(course) = &mut begun.model {
            *course = course.begun_at_its_mean(window_s);
        }
        begun.along = begun.along.map(|course| course.begun_at_its_mean(window_s));
        begun
    }

    /// The noise, if the rate is shaped from one.
    pub(crate) fn noise(&self) -> Option<&FractionalRate> {
        match &self.model {
            ProcessModel::FractionalNoise(noise) => Some(noise),
            _ => None,
        }
    }

    /// About the length of the log, in seconds.
    fn longest_s(&self) -> f64 {
        let of = |scale: &super::ScaleDispersion| scale.over.as_secs_f64() * (scale.windows + 1) as f64;
        self.scales.iter().map(of).fold(0.0, f64::max)
    }
}

/// Factors of rates and of time.
struct Pace {
    more: f64,
    speed: f64,
}

impl Pace {
    fn rate(&self, per_second: f64) -> Option<Rate> {
        Rate::per_second((self.more * per_second).min(1e9)).ok()
    }

    fn time(&self, time_s: f64) -> Duration {
        Duration::from_ns(Duration::from_secs_f64(time_s / self.speed).as_ns().max(1))
    }

    fn course(&self, course: &Course) -> Option<Value> {
        Some(json!({ "process": "schedule", "loop": true, "segments": self.segments(course)? }))
    }

    fn segments(&self, course: &Course) -> Option<Value> {
        let segment = |piece: &super::CoursePiece| {
            let lasts = self.time(piece.lasts.as_secs_f64());
            Some(json!({ "for": lasts, "rate": self.rate(piece.rate)? }))
        };
        course.pieces.iter().map(segment).collect::<Option<Vec<Value>>>().map(Value::Array)
    }

    fn two_rates(&self, two: &TwoRates) -> Option<Value> {
        let left = |state: usize| Rate::per_second(self.speed * two.left[state]).ok();
        let (slow, fast) = (self.rate(two.rates[0])?, self.rate(two.rates[1])?);
        let transitions = json!([[Rate::ZERO, left(0)?], [left(1)?, Rate::ZERO]]);
        Some(json!({ "process": "markov-modulated", "rates": [slow, fast], "transitions": transitions }))
    }

    /// A block is as long as the log, or as long as a scenario may have it.
    fn noise(&self, noise: &FractionalRate, rate: f64, longest_s: f64) -> Option<Value> {
        const SLOTS_MAX: f64 = (1 << 18) as f64;
        let slot_s = noise.slot.as_secs_f64();
        let block_s = longest_s.clamp(2.0 * slot_s, SLOTS_MAX * slot_s);
        let slot = self.time(slot_s);
        Some(json!({
            "process": "fractional-noise",
            "rate": self.rate(rate)?,
            "hurst": noise.hurst,
            "deviation": noise.deviation,
            "slot": slot,
            "for": slot.times((block_s / slot_s).round() as u64),
        }))
    }
}
