//! Scales: numbers mapped to positions along an axis, linearly or by powers, with round ticks.
//!
//! A scale covers all of its numbers: its first tick lies at or below the least and its last at or above the
//! largest.

/// A map from numbers to positions on the sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    spacing: TickStep,
    /// Ticks besides the first.
    steps: u32,
    /// Position of the first tick.
    pub from: f64,
    /// Position of the last tick.
    pub to: f64,
}

/// The step from tick to tick.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TickStep {
    /// `step` more, from `first` steps on.
    Linear { first: f64, step: f64 },
    /// `step` doublings, from `least` on.
    Doublings { least: f64, step: f64 },
    /// `step` powers of ten, from the power `first` on.
    Decades { first: f64, step: f64 },
}

impl Scale {
    /// A scale for numbers from zero to `most`, from `from` to `to` on the sheet.
    pub fn from_zero(most: f64, from: f64, to: f64) -> Scale {
        Scale::between(0.0, most, from, to)
    }

    /// A scale for the seconds of a run across the width of a page, with room for more ticks: fewer seconds
    /// beyond the last one are shown.
    pub fn seconds(most: f64, from: f64, to: f64) -> Scale {
        Scale::linear(0.0, most, 15.0, from, to)
    }

    /// A scale with round ticks, the first at or below `least` and the last at or above `most`.
    pub fn between(least: f64, most: f64, from: f64, to: f64) -> Scale {
        Scale::linear(least, most, 8.0, from, to)
    }

    /// A scale with `steps_max` round steps at most.
    fn linear(least: f64, most: f64, steps_max: f64, from: f64, to: f64) -> Scale {
        let range = if most > least { most - least } else { 1.0 };
        let most = least + range;
        let decade = 10f64.powf((range / steps_max).log10().floor());
        // A number that lies on a tick but for rounding needs no tick beyond it.
        let first = |step: f64| (least / step + 1e-9).floor();
        let last = |step: f64| (most / step - 1e-9).ceil();
        let enough = |step: &f64| last(*step) - first(*step) <= steps_max;
        let round = [1.0, 2.0, 5.0, 10.0].map(|round| round * decade);
        let step = round.into_iter().find(enough).unwrap_or(20.0 * decade);
        let steps = (last(step) - first(step)) as u32;
        Scale { spacing: TickStep::Linear { first: first(step), step }, steps, from, to }
    }

    /// A scale by powers of two from `least`, which must be above 0, to at least `most`.
    pub fn doublings(least: f64, most: f64, from: f64, to: f64) -> Scale {
        const STEPS_MAX: f64 = 9.0;
        let doublings = (most / least).log2().max(1.0);
        let step = (doublings / STEPS_MAX).ceil();
        let steps = (doublings / step - 1e-9).ceil() as u32;
        Scale { spacing: TickStep::Doublings { least, step }, steps, from, to }
    }

    /// A scale by powers of ten, the first at or below `least`, which must be above 0, the last at or above
    /// `most`.
    pub fn decades(least: f64, most: f64, from: f64, to: f64) -> Scale {
        const STEPS_MAX: f64 = 8.0;
        let first = (least.log10() + 1e-9).floor();
        let decades = ((most.log10() - 1e-9).ceil() - first).max(1.0);
        let step = (decades / STEPS_MAX).ceil();
        Scale { spacing: TickStep::Decades { first, step }, steps: (decades / step).ceil() as u32, from, to }
    }

    /// The position of `number`; on a scale by powers it must be above 0.
    pub fn place(&self, number: f64) -> f64 {
        let steps = match self.spacing {
            TickStep::Linear { first, step } => number / step - first,
            TickStep::Doublings { least, step } => (number / least).log2() / step,
            TickStep::Decades { first, step } => (number.log10() - first) / step,
        };
        self.from + steps / f64::from(self.steps) * (self.to - self.from)
    }

    /// The map in words, for a script: the kind, the numbers of the first and the last tick (their logarithms
    /// on a scale by powers), and their positions.
    pub fn in_words(&self) -> String {
        let steps = f64::from(self.steps);
        let (kind, first, last) = match self.spacing {
            TickStep::Linear { first, step } => ("linear", first * step, (first + steps) * step),
            TickStep::Doublings { least, step } => ("log2", least.log2(), least.log2() + steps * step),
            TickStep::Decades { first, step } => ("log10", first, first + steps * step),
        };
        format!("{kind} {first} {last} {:.1} {:.1}", self.from, self.to)
    }

    /// The ticks: the text of each and its position.
    pub fn ticks(&self) -> impl Iterator<Item = (String, f64)> {
        (0..=self.steps).map(move |tick| {
            let steps = f64::from(tick);
            let name = match self.spacing {
                TickStep::Linear { first, step } => {
                    let decimals = (-step.log10().floor()).max(0.0) as usize;
                    format!("{:.decimals$}", step * (first + steps))
                }
                TickStep::Doublings { least, step } => (least * (step * steps).exp2()).to_string(),
                TickStep::Decades { first, step } => power_of_ten(first + step * steps),
            };
            (name, self.from + steps / f64::from(self.steps) * (self.to - self.from))
        })
    }
}

/// 10 to a whole power: as a decimal number where that is short.
fn power_of_ten(power: f64) -> String {
    match power {
        power if power > 5.0 => format!("1e{power}"),
        power if power >= 0.0 => format!("{}", 10f64.powf(power).round()),
        power if power >= -4.0 => format!("{:.*}", -power as usize, 10f64.powf(power)),
        power => format!("1e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scale: &Scale) -> Vec<String> {
        scale.ticks().map(|(name, _)| name).collect()
    }

    #[test]
    pub fn ticks_are_round_and_reach_the_largest_number() {
        let check = |most: f64, second: &str, last: &str| {
            let scale = Scale::from_zero(most, 0.0, 100.0);
            let names = names(&scale);
            assert_eq!((names[1].as_str(), names.last().unwrap().as_str()), (second, last), "{most}");
            assert!(scale.steps <= 8 && scale.place(most) <= 100.0 + 1e-9, "{scale:?}");
        };
        check(256.0, "50", "300");
        check(2065.0, "500", "2500");
        check(130.0, "20", "140");
        check(800.0, "100", "800");
        check(8.0, "1", "8");
        check(1.0, "0.2", "1.0");
        check(0.0, "0.2", "1.0");
    }

    #[test]
    fn a_scale_may_begin_anywhere() {
        assert_eq!(names(&Scale::between(-0.07, 0.22, 0.0, 1.0)).first().unwrap(), "-0.10");
        assert_eq!(
            names(&Scale::between(0.5, 0.9, 0.0, 1.0)),
            ["0.50", "0.55", "0.60", "0.65", "0.70", "0.75", "0.80", "0.85", "0.90"]
        );
        let scale = Scale::between(160.0, 240.0, 10.0, 20.0);
        let last = |most| names(&Scale::seconds(most, 0.0, 1.0)).pop().expect("a tick");
        assert_eq!([9.0, 22.0, 41.0, 61.0].map(last), ["9", "22", "45", "65"]);
        assert_eq!([160.0, 200.0, 240.0].map(|number| scale.place(number)), [10.0, 15.0, 20.0]);
    }

    #[test]
    pub fn ticks_by_powers_are_evenly_apart() {
        let check = |scale: Scale, expected: &[&str]| {
            assert_eq!(names(&scale), expected);
            for (name, at) in scale.ticks() {
                assert!((scale.place(name.parse().unwrap()) - at).abs() < 1e-9, "{name}");
            }
        };
        let two = Scale::doublings(1.0, 4096.0, 0.0, 600.0);
        assert_eq!((two.place(8.0), two.place(4096.0)), (150.0, 600.0));
        check(two, &["1", "4", "16", "64", "256", "1024", "4096"]);
        check(Scale::decades(0.002, 50.0, 0.0, 100.0), &["0.001", "0.01", "0.1", "1", "10", "100"]);
        check(Scale::decades(1.0, 1e4, 0.0, 100.0), &["1", "10", "100", "1000", "10000"]);
    }

    #[test]
    fn places_are_linear_between_the_ends() {
        let up = Scale::from_zero(200.0, 380.0, 40.0);
        assert_eq!([0.0, 100.0, 200.0].map(|number| up.place(number)), [380.0, 210.0, 40.0]);
    }
}
