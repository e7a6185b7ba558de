//! Data of a run for the live view: facts that hold from its start, and figures once a second.

use farfield_base::{Duration, Instant, Window};
use farfield_engine::{Plane, PlaneKind, Run};
use farfield_measure::Summary;
use farfield_measure::series::SeriesRow;

/// Rows that one update brings at most: in virtual time a second of the clock may be an hour.
const ROWS_MAX: usize = 600;
/// Time for which samples are on their way to the collector on a machine that keeps up.
const ON_ITS_WAY: Duration = Duration::from_ms(500);
/// Seconds whose rows may still change, since requests that were due in them are recorded when they end.
const UNSETTLED: usize = 3;

/// The facts of a run, known before it begins.
#[derive(Debug, Clone)]
pub struct RunFacts {
    pub target: String,
    pub load: String,
    pub plane: String,
    pub measure_from: Instant,
    pub measure_to: Instant,
    /// Time for which the load goes on then.
    pub cool_down: Duration,
    /// Virtual time passes, which the clock says nothing of.
    pub virtual_time: bool,
    /// The instants at which conditions of the network change, with what begins there.
    pub changes: Vec<(Instant, String)>,
}

impl RunFacts {
    /// The facts of a run that is set up.
    pub fn of(run: &Run) -> RunFacts {
        let Run { settings, plane } = run;
        let measure_from = Instant::ZERO + settings.warm_up;
        RunFacts {
            target: settings.heading.target.clone(),
            load: settings.heading.load_words.clone(),
            plane: plane.kind().name().to_owned(),
            measure_from,
            measure_to: measure_from + settings.duration,
            cool_down: settings.users.end.cool_down,
            virtual_time: plane.kind() == PlaneKind::Simulated,
            changes: changes_of(plane),
        }
    }
}

fn changes_of(plane: &Plane) -> Vec<(Instant, String)> {
    let begins = plane.conditions().iter().filter(|span| span.from > Instant::ZERO);
    begins.map(|span| (span.from, span.course.clone())).collect()
}

/// A phase of a run, and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before the measured part.
    WarmUp(Duration),
    /// In the measured part.
    Measuring(Duration),
    /// In that of a load that ends with its last request.
    Counting,
    /// After it, while the load goes on.
    CoolDown(Duration),
    /// After the load: what is open may end.
    Draining,
}

impl RunFacts {
    /// The phase at `now`.
    pub fn phase(&self, now: Instant) -> Phase {
        if now < self.measure_from {
            Phase::WarmUp(self.measure_from.since(now))
        } else if now < self.measure_to && self.ends_by_count() {
            Phase::Counting
        } else if now < self.measure_to {
            Phase::Measuring(self.measure_to.since(now))
        } else if now < self.measure_to + self.cool_down {
            Phase::CoolDown((self.measure_to + self.cool_down).since(now))
        } else {
            Phase::Draining
        }
    }

    /// True if the load ends with its last request or session, and with no time.
    pub fn ends_by_count(&self) -> bool {
        let RunFacts { measure_from, measure_to, .. } = *self;
        Window { measure_from, measure_to }.ends_by_count()
    }

    /// The latest change of the network's conditions by `now`, in words.
    pub fn changed(&self, now: Instant) -> Option<&str> {
        let past = self.changes.iter().rev().find(|(at, _)| *at <= now);
        past.map(|(_, words)| words.as_str())
    }

    /// The share of warm-up and measured part that has passed at `now`; none of a load that ends by count.
    pub fn passed(&self, now: Instant) -> f64 {
        if self.ends_by_count() {
            return 0.0;
        }
        let all = self.measure_to.since(Instant::ZERO).as_secs_f64();
        if all > 0.0 { (now.since(Instant::ZERO).as_secs_f64() / all).min(1.0) } else { 1.0 }
    }
}

/// The figures of a run up to an instant.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub now: Instant,
    /// The end of the measured part, later than at first where seconds were set aside.
    pub measure_to: Instant,
    /// The rows of the seconds since the figures before, and of some before them that have changed.
    pub rows: Vec<SeriesRow>,
    pub connections: u64,
    pub in_system: u64,
    pub summary: Option<Summary>,
}

impl Figures {
    /// The figures of a run's progress. `next` is the first second that is not settled yet, and is moved on.
    pub fn of(run: &farfield_engine::Progress<'_>, next: &mut usize) -> Figures {
        // A row that lacks what ended in its last moments comes again.
        let current = run.now.min(run.folded_to + ON_ITS_WAY);
        let current = (current.as_ns() / 1_000_000_000) as usize;
        let from = (*next).max(current.saturating_sub(ROWS_MAX));
        *next = current.saturating_sub(UNSETTLED).max(*next);
        let series = run.fold.series();
        Figures {
            now: run.now,
            measure_to: run.fold.window().measure_to,
            // The current second is not over.
            rows: (from..current).filter_map(|second| series.row(second, None)).collect(),
            connections: run.live.connections,
            in_system: run.live.in_system,
            summary: run.summary.cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_and_what_is_left_of_them() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let facts = RunFacts {
            target: String::new(),
            load: String::new(),
            plane: String::new(),
            measure_from: at(1000),
            measure_to: at(5000),
            cool_down: Duration::from_secs(2),
            virtual_time: false,
            changes: Vec::new(),
        };
        assert_eq!(facts.phase(at(0)), Phase::WarmUp(Duration::from_secs(1)));
        assert_eq!(facts.phase(at(1000)), Phase::Measuring(Duration::from_secs(4)));
        assert_eq!(facts.phase(at(5000)), Phase::CoolDown(Duration::from_secs(2)));
        assert_eq!(facts.phase(at(7000)), Phase::Draining);
        assert_eq!(facts.passed(at(2500)), 0.5);
        assert_eq!(facts.passed(at(9000)), 1.0);
    }
}
