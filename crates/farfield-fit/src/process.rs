//! The process in which sessions arrive, decided by their dispersion at one time scale after another.
//!
//! Tests of gaps look at neighbours. A rate that moves over minutes hardly changes from one gap to the next,
//! and yet makes a log whose minutes differ tenfold. So the variance of counts over their mean is taken in
//! windows of 1 s to 1,000 s (the index of dispersion, whose rise with the window is the variance–time
//! curve), beside the Allan factor, and compared with what each kind of process has there. The simplest
//! one that has the log's dispersion is taken:
//!
//! 1. a Poisson process, 1 at every scale;
//! 2. a renewal process: the log's own gaps in any other order have the same dispersion;
//! 3. a course: a Poisson process at a rate that changes at known times, a few of them ([`Course`]);
//! 4. a rate that is itself random: Markov-modulated ([`TwoRates`]) or shaped from fractional noise
//!    ([`FractionalRate`]), whichever is nearer;
//! 5. either of the two along a course.
//!
//! The nearest is taken if none has the log's dispersion at every scale, and the report says where it is off.
//! A log shows one path of its rate. That a rate is random and not a course is no more than economy: a few
//! numbers do where a course would need many.

mod course;
mod curve;
mod markov;
mod noise;
mod scales;
mod shuffled;
mod written;

pub use course::{Course, CoursePiece};
pub use markov::TwoRates;
pub use noise::FractionalRate;
pub use scales::ScaleDispersion;

use curve::{Misfit, deviations};
pub(crate) use scales::StartCounts;
pub(crate) use shuffled::shuffle;

use crate::arrivals::SessionArrivals;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};
use shuffled::Shuffled;

/// The process of the session starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionProcess {
    /// Sessions a second.
    pub rate: f64,
    /// The log's dispersion.
    pub scales: Vec<ScaleDispersion>,
    /// The process that is taken.
    pub model: ProcessModel,
    /// The course by which its rate is multiplied, if there is one.
    #[serde(default)]
    pub along: Option<Course>,
    /// All that were compared, the simplest first.
    pub compared: Vec<ComparedProcess>,
}

/// A kind of process, with what was estimated of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "process", rename_all = "kebab-case")]
pub enum ProcessModel {
    /// Independent of each other, at one rate.
    Poisson,
    /// Independent gaps, whose distribution is a variable of its own.
    Renewal,
    /// Poisson at a rate that changes at known times.
    Course(Course),
    /// Poisson at a rate that jumps between two values.
    MarkovModulated(TwoRates),
    /// Poisson at a rate shaped from fractional Gaussian noise.
    FractionalNoise(FractionalRate),
}

/// A process that was compared with the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ComparedProcess {
    /// The process.
    pub model: ProcessModel,
    /// The course by which its rate is multiplied, if there is one.
    #[serde(default)]
    pub along: Option<Course>,
    /// Index of dispersion of the process at each scale, as a log of this length shows it.
    pub expected: Vec<f64>,
    /// The largest factor between the log's index and this one, either way.
    #[serde(with = "crate::number")]
    pub off: f64,
    /// True if the process has the log's dispersion at every scale.
    pub explains: bool,
}

impl ProcessModel {
    /// The name of the kind, as a scenario has it where it does.
    pub fn name(&self) -> &'static str {
        match self {
            ProcessModel::Poisson => "poisson",
            ProcessModel::Renewal => "renewal",
            ProcessModel::Course(_) => "course",
            ProcessModel::MarkovModulated(_) => "markov-modulated",
            ProcessModel::FractionalNoise(_) => "fractional-noise",
        }
    }

    /// True if its rate is random.
    pub fn is_random(&self) -> bool {
        matches!(self, ProcessModel::MarkovModulated(_) | ProcessModel::FractionalNoise(_))
    }
}

impl SessionProcess {
    /// Decides by `starts`, in order, of a log that begins at `from`; `tested` is what the tests of gaps
    /// found. Draws from `rng`. `None` where the log is too short or has too few sessions to see a scale.
    pub fn of(
        starts: &[Instant],
        from: Instant,
        covers: Duration,
        tested: Option<SessionArrivals>,
        rng: &mut Stream,
    ) -> Option<SessionProcess> {
        let tested = tested?;
        let counted = StartCounts::of(starts, from, covers)?;
        let scales = counted.dispersion()?;
        let mut compared = vec![poisson(&scales, &tested), renewal(starts, &counted, &scales, rng)];
        if !compared.iter().any(|process| process.explains) {
            compared.extend(moving(&counted, &scales));
        }
        let misfit = Misfit::plain(&scales);
        let mut best = taken(&compared, &misfit);
        if !compared[best].explains || compared[best].model.is_random() {
            // Courses beside a random rate that explains the log alone are there for whoever wants the log's
            // course.
            let is_needed = !compared[best].explains;
            compared.extend(moving_along(&counted, &scales));
            if is_needed {
                best = taken(&compared, &misfit);
            }
        }
        if let ProcessModel::FractionalNoise(rate) = &mut compared[best].model {
            *rate = rate.simulated(&counted, &scales, rng);
        }
        let ComparedProcess { model, along, .. } = compared[best].clone();
        Some(SessionProcess { rate: counted.rate(), model, along, scales, compared })
    }

    /// True if this is the process that was taken.
    pub fn is_taken(&self, process: &ComparedProcess) -> bool {
        process.model == self.model && process.along == self.along
    }

    /// The process along the log's course, if its rate is random: what was taken, or the nearest of those
    /// that follow one.
    pub fn along_course(&self) -> Option<SessionProcess> {
        if self.along.is_some() || !self.model.is_random() {
            return self.along.is_some().then(|| self.clone());
        }
        let following = self.compared.iter().filter(|process| process.along.is_some());
        let nearest = following.min_by(|a, b| a.off.total_cmp(&b.off))?;
        Some(SessionProcess { model: nearest.model.clone(), along: nearest.along.clone(), ..self.clone() })
    }

    /// The largest index of dispersion, and the scale that has it.
    pub fn largest(&self) -> Option<&ScaleDispersion> {
        self.scales.iter().max_by(|a, b| a.index.total_cmp(&b.index))
    }
}

/// A Poisson process: its index is 1, within what so many windows show of one, or next to it.
fn poisson(scales: &[ScaleDispersion], tested: &SessionArrivals) -> ComparedProcess {
    let expected = vec![1.0; scales.len()];
    let is_one = |scale: &ScaleDispersion| is_alike(scale.index, scale.windows as f64 - 1.0);
    let explains = tested.is_poisson_enough() && scales.iter().all(is_one);
    compared(ProcessModel::Poisson, None, &Misfit::plain(scales), &expected, explains)
}

/// True if a variance is its expectation, of which it is `ratio` times, by accident or as good as that. Ten
/// scales are looked at: three deviations at one of them are rare.
fn is_alike(ratio: f64, degrees: f64) -> bool {
    const RARE: f64 = 3.0;
    ratio.ln().abs() <= Misfit::NIL.ln() || deviations(ratio, degrees).abs() <= RARE
}

/// A renewal process: the log's own order is like the others.
fn renewal(
    starts: &[Instant],
    counted: &StartCounts,
    scales: &[ScaleDispersion],
    rng: &mut Stream,
) -> ComparedProcess {
    let Shuffled { expected, scatter } = Shuffled::of(starts, counted, rng);
    let is_like_others = |((scale, expected), scatter): ((&ScaleDispersion, &f64), &f64)| {
        // Few orders know their own scatter badly: never less than that of independent counts. And an order
        // that scatters by more than a few counts do (gaps of infinite variance) explains nothing by it.
        let degrees = (2.0 / (scatter * scatter)).max(8.0).min(scale.windows as f64 - 1.0);
        is_alike(scale.index / expected, degrees)
    };
    let explains = scales.iter().zip(&expected).zip(&scatter).all(is_like_others);
    compared(ProcessModel::Renewal, None, &Misfit::plain(scales), &expected, explains)
}

/// Processes whose rate moves.
fn moving(counted: &StartCounts, scales: &[ScaleDispersion]) -> [ComparedProcess; 3] {
    let misfit = Misfit::plain(scales);
    let (course, of_course) = Course::fit(counted);
    let (two, of_two) = TwoRates::fit(counted, &misfit);
    let (noise, of_noise) = FractionalRate::fit(counted, &misfit);
    [
        (ProcessModel::Course(course), of_course),
        (ProcessModel::MarkovModulated(two), of_two),
        (ProcessModel::FractionalNoise(noise), of_noise),
    ]
    .map(|(model, expected)| {
        let explains = misfit.explains(&expected);
        compared(model, None, &misfit, &expected, explains)
    })
}

/// Processes whose rate moves along a course: what the course leaves of the dispersion is theirs.
fn moving_along(counted: &StartCounts, scales: &[ScaleDispersion]) -> Vec<ComparedProcess> {
    let (course, of_course) = Course::fit(counted);
    let of_rate: Vec<f64> = of_course.iter().map(|index| index - 1.0).collect();
    let misfit = Misfit::along(scales, &of_rate, counted.rate() * counted.slot.as_secs_f64());
    let (two, of_two) = TwoRates::fit(counted, &misfit);
    let (noise, of_noise) = FractionalRate::fit(counted, &misfit);
    let both =
        [(ProcessModel::MarkovModulated(two), of_two), (ProcessModel::FractionalNoise(noise), of_noise)];
    both.into_iter()
        .map(|(model, plain)| {
            let explains = misfit.explains(&plain);
            compared(model, Some(course.clone()), &misfit, &plain, explains)
        })
        .collect()
}

/// A process with its index at each scale, `plain` but for the course that it follows.
fn compared(
    model: ProcessModel,
    along: Option<Course>,
    misfit: &Misfit<'_>,
    plain: &[f64],
    explains: bool,
) -> ComparedProcess {
    let expected = plain.iter().enumerate().map(|(scale, plain)| misfit.with_course(scale, *plain)).collect();
    ComparedProcess { model, along, off: misfit.factor(plain), expected, explains }
}

/// The first that explains the log, but of the two random rates the nearer; else the nearest of all.
fn taken(compared: &[ComparedProcess], misfit: &Misfit<'_>) -> usize {
    let square = |at: &usize| misfit.square(compared[*at].expected.iter().copied());
    let nearest =
        |among: &mut dyn Iterator<Item = usize>| among.min_by(|a, b| square(a).total_cmp(&square(b)));
    let is_random = |at: &usize| compared[*at].model.is_random();
    let mut explaining = (0..compared.len()).filter(|at| compared[*at].explains);
    match explaining.next() {
        Some(first) if !is_random(&first) => first,
        Some(_) => nearest(&mut (0..compared.len()).filter(is_random)).unwrap_or(0),
        None => nearest(&mut (0..compared.len())).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::logged_gaps;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::arrival::ArrivalSpec;
    use serde_json::json;

    /// The decision on `seconds` of the arrivals of a process as a scenario writes it.
    fn decided(process: serde_json::Value, seconds: u64) -> SessionProcess {
        let spec: ArrivalSpec = serde_json::from_value(process).expect("a process");
        let process = spec.resolve(&mut |_| unreachable!("no file")).expect("no file");
        let covers = Duration::from_secs(seconds);
        let arrivals = process.start(Seed(31).stream(Purpose::Arrivals, 0));
        let mut starts: Vec<Instant> = arrivals.take_while(|at| at.since(Instant::ZERO) < covers).collect();
        let tested = SessionArrivals::of(&logged_gaps(&mut starts));
        let mut rng = Seed(31).stream(Purpose::User, 0);
        SessionProcess::of(&starts, Instant::ZERO, covers, tested, &mut rng).expect("long enough")
    }

    #[test]
    fn poisson_and_renewal_processes_are_those() {
        let found = decided(json!("2/s"), 10_000);
        assert_eq!(found.model, ProcessModel::Poisson, "{found:?}");
        let gaps = json!({ "distribution": "weibull", "shape": 0.6, "scale": "0.5s" });
        let found = decided(json!({ "process": "renewal", "gaps": gaps }), 10_000);
        assert_eq!(found.model, ProcessModel::Renewal, "{found:?}");
    }

    /// Rates of 0.2/s and 3/s for a minute and half a minute on average: the index is 1 + A (…) of the
    /// formula.
    #[test]
    fn a_rate_that_jumps_is_markov_modulated() {
        let process = json!({ "process": "markov-modulated", "rates": ["0.2/s", "3/s"], "transitions": [[0, "1/min"], ["2/min", 0]] });
        let found = decided(process, 40_000);
        let ProcessModel::MarkovModulated(two) = &found.model else { panic!("{found:?}") };
        assert!((two.rates[1] / 3.0 - 1.0).abs() < 0.25, "{two:?}");
        assert!(
            (two.left[0] + two.left[1]) / 0.05 > 0.7 && (two.left[0] + two.left[1]) / 0.05 < 1.4,
            "{two:?}"
        );
        assert!((two.high_share() - 1.0 / 3.0).abs() < 0.12, "{two:?}");
    }

    #[test]
    fn a_rate_with_long_memory_is_fractional_noise() {
        let process = json!({ "process": "fractional-noise", "rate": "2/s", "hurst": 0.8, "deviation": 0.5, "slot": "1s", "for": "30000s" });
        let found = decided(process, 30_000);
        let ProcessModel::FractionalNoise(noise) = &found.model else { panic!("{found:?}") };
        let (low, high) = noise.interval;
        assert!(low < 0.8 && 0.8 < high && high - low < 0.3, "{noise:?}");
    }

    /// Three hours at one rate, and a crowd of twenty minutes.
    #[test]
    fn a_crowd_is_a_course() {
        let process = json!({ "process": "flash-crowd", "from": "1/s", "to": "12/s", "at": "5000s", "within": "10s", "stay": "600s", "decay": "600s" });
        let found = decided(process, 12_000);
        let ProcessModel::Course(course) = &found.model else { panic!("{found:?}") };
        assert!(course.pieces.len() <= Course::PIECES_MAX, "{course:?}");
        let busiest = course.pieces.iter().map(|piece| piece.rate).fold(0.0, f64::max);
        assert!((busiest / 12.0 - 1.0).abs() < 0.15, "{busiest}");
    }
}
