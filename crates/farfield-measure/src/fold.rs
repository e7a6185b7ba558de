//! The fold: all counts and histograms of a run, from samples one at a time.
//!
//! A sample belongs to a part of the run by when it was **due**: before the window it is warm-up, in it
//! steady, after it drain. Its times and its outcome count in that part, however late it ended, so that slow
//! requests are not lost at the edge. Rates count differently: each event in the part in which **it**
//! happened, so that a completion rate is the number of completions per second, not the fate of the
//! arrivals.
//!
//! Where clients are of several classes, the steady part is counted for each of them too; where users are in
//! sessions, so are the [states](crate::states) that they come to, and otherwise the [paths](crate::paths)
//! that they ask for.
//!
//! [`Fold::record`] is constant time and allocates nothing but a series row when a second begins, and a
//! histogram of ages when the first request is given up or left unfinished; pages that are under way take a
//! place in a tree. Folds of several workers [merge](Fold::merge), in any order and grouping, to the same
//! numbers.

use crate::batches::Batches;
use crate::censored::{self, CensoredAges};
use crate::failures::Failures;
use crate::handshakes::Handshakes;
use crate::histogram::Histogram;
use crate::http::HttpCounts;
use crate::kaplan_meier::Estimate;
use crate::outcome_times::OutcomeTimes;
use crate::outcomes::OutcomeCounts;
use crate::pages::{PageTimes, Pages};
use crate::paths::{PathNames, Paths};
use crate::reuse::Reuse;
use crate::series::Series;
use crate::sessions::Sessions;
use crate::set_aside::{SetAside, earlier};
use crate::states::States;
use crate::statuses::StatusCounts;
use crate::timing::{Timing, Timings};
use crate::unanswered::Unanswered;
use farfield_base::{Duration, Instant, Note, Outcome, Sample, Stamp, Tenths, Window};

/// Events of one phase, each counted if it happened in that phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Requests due.
    pub offered: u64,
    /// Requests whose first byte was sent.
    pub sent: u64,
    /// Replies that came as a whole, whatever their status.
    pub completed: u64,
    /// Of those, replies with success.
    pub succeeded: u64,
    /// Requests that ended, with success or without.
    pub ended: u64,
    /// Attempts to connect.
    pub connects_begun: u64,
    /// Connections established.
    pub connected: u64,
    /// Bytes of bodies of requests that ended.
    pub body_bytes: u64,
    /// All bytes of replies to requests that ended.
    pub reply_bytes: u64,
    /// Requests that ended, by the version of HTTP.
    pub http: HttpCounts,
}

/// Statistics of one phase of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseStats {
    /// Times of the successful requests due in this part; connect times of all their connections.
    pub times: Timings<Histogram>,
    /// Requests due in this part, by the [code](Outcome::code) of what became of them.
    pub outcomes: OutcomeCounts,
    /// Replies to requests due in this part, by status code.
    pub statuses: StatusCounts,
    /// Requests due in this part for which the client acted at all.
    pub begun: u64,
    /// Of the successful requests due in this part, those whose reply sends the user elsewhere.
    pub redirects: u64,
    /// Events in this phase.
    pub events: EventCounts,
    /// Ages of the censored requests due in this part, in each of their times that had begun.
    pub censored: Timings<CensoredAges>,
    /// Ages, from due to the end of the run, of the requests due in this part that were still open
    /// then.
    pub unfinished: CensoredAges,
    /// The sum over all requests due in this part, whatever became of them, of the time from due to their
    /// end; of unfinished ones to the end of the run.
    pub waited_ns: u128,
    /// Unfinished requests are no errors and their ages do not count: the scenario says so.
    ignores_unfinished: bool,
    /// What was counted by batch of time, for intervals; only of the steady part.
    batches: Option<Box<Batches>>,
}

impl PhaseStats {
    /// An empty steady part, from the beginning of `window` on.
    fn steady(window: Window) -> PhaseStats {
        let batches = Some(Box::new(Batches::new(window.measure_from)));
        PhaseStats { batches, ..PhaseStats::default() }
    }

    /// The steady part by batch of time; `None` of the warm-up.
    pub fn batches(&self) -> Option<&Batches> {
        self.batches.as_deref()
    }

    /// Requests due in this part.
    pub fn requests(&self) -> u64 {
        self.outcomes.sum()
    }

    /// Requests due in this part that ended so.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes.of(outcome)
    }

    /// The share of requests that went wrong: all that ended otherwise than well, those among them that were
    /// unfinished at the end of the run, over all that were due. Where unfinished ones are to be ignored,
    /// they are in neither. `None` if there are none.
    pub fn error_share(&self) -> Option<f64> {
        PhaseStats::error_share_of(&self.outcomes, self.ignores_unfinished)
    }

    /// The error share of any requests, counted by the code of their outcome.
    pub(crate) fn error_share_of(outcomes: &OutcomeCounts, ignores_unfinished: bool) -> Option<f64> {
        let ignored = if ignores_unfinished { outcomes.of(Outcome::Unfinished) } else { 0 };
        let counted = outcomes.sum() - ignored;
        (counted > 0).then(|| (counted - outcomes.of(Outcome::Ok)) as f64 / counted as f64)
    }

    /// The estimated distribution of a time where some of its values are censored; `None` where none is.
    pub fn estimate(&self, timing: Timing) -> Option<Estimate> {
        let ages = self.censored.of(timing).histogram()?;
        Estimate::of(self.times.of(timing), ages)
    }

    /// True if the scenario says that unfinished requests are no errors.
    pub fn ignores_unfinished(&self) -> bool {
        self.ignores_unfinished
    }

    fn record(&mut self, sample: &Sample) {
        self.outcomes.add(sample.outcome);
        self.statuses.record(sample);
        self.begun += u64::from(sample.begun().is_some());
        if sample.outcome == Outcome::Ok {
            self.redirects += u64::from(matches!(sample.status, 301 | 302 | 303 | 307 | 308));
            for timing in [Timing::Response, Timing::Service, Timing::Reply, Timing::Transfer] {
                if let Some(time) = timing.of(sample) {
                    self.times.of_mut(timing).record(time);
                }
            }
        }
        if let Some(time) = sample.connect_time() {
            self.times.connect.record(time);
        }
        self.waited_ns += u128::from(sample.response_time().as_ns());
        if let Some(batches) = &mut self.batches {
            batches.record(sample, self.ignores_unfinished);
        }
        if censored::is_censored(sample.outcome) {
            self.record_censored(sample);
        }
    }

    fn record_censored(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Unfinished {
            self.unfinished.record(sample.response_time());
            if self.ignores_unfinished {
                return;
            }
        }
        for timing in Timing::ALL {
            if let Some(age) = censored::age(timing, sample) {
                self.censored.of_mut(timing).record(age);
            }
        }
    }

    fn merge(&mut self, other: &PhaseStats) {
        for (timing, times) in other.times.iter() {
            self.times.of_mut(timing).merge(times);
        }
        self.outcomes.merge(&other.outcomes);
        self.statuses.merge(&other.statuses);
        self.begun += other.begun;
        self.redirects += other.redirects;
        self.events.merge(&other.events);
        for (timing, ages) in other.censored.iter() {
            self.censored.of_mut(timing).merge(ages);
        }
        self.unfinished.merge(&other.unfinished);
        self.waited_ns += other.waited_ns;
        if let (Some(mine), Some(theirs)) = (&mut self.batches, &other.batches) {
            mine.merge(theirs);
        }
    }

    /// Counts those of the sample's events that happened `inside` the part, of which so much before it is set
    /// `aside`.
    fn count_events(&mut self, sample: &Sample, aside: Duration, inside: impl Fn(Instant) -> bool) {
        self.events.count(sample, &inside);
        if let Some(batches) = &mut self.batches
            && sample.outcome == Outcome::Ok
            && inside(sample.done)
        {
            batches.record_succeeded(Instant::from_ns(sample.done.as_ns() - aside.as_ns()));
        }
    }
}

impl EventCounts {
    /// Counts those of the sample's events that happened `inside`.
    fn count(&mut self, sample: &Sample, inside: impl Fn(Instant) -> bool) {
        let happened = |stamp: Stamp| u64::from(stamp.instant().is_some_and(&inside));
        self.offered += u64::from(inside(sample.due));
        self.sent += happened(sample.sent);
        self.connects_begun += happened(sample.connect_begun);
        self.connected += happened(sample.connected);
        if inside(sample.done) {
            self.completed += u64::from(sample.outcome.is_reply());
            self.succeeded += u64::from(sample.outcome == Outcome::Ok);
            self.ended += u64::from(sample.outcome != Outcome::Unfinished);
            self.body_bytes += sample.body_bytes;
            self.reply_bytes += sample.reply_bytes;
            if sample.outcome != Outcome::Unfinished {
                self.http.record(sample);
            }
        }
    }

    fn merge(&mut self, other: &EventCounts) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.completed += other.completed;
        self.succeeded += other.succeeded;
        self.ended += other.ended;
        self.connects_begun += other.connects_begun;
        self.connected += other.connected;
        self.body_bytes += other.body_bytes;
        self.reply_bytes += other.reply_bytes;
        self.http.merge(&other.http);
    }
}

/// All that is counted of a worker's samples, or of several workers'.
#[derive(Debug, Clone)]
pub struct Fold {
    window: Window,
    warm_up: PhaseStats,
    steady: PhaseStats,
    /// The steady part of each class of clients, with the class's name.
    classes: Vec<(String, PhaseStats)>,
    drained: u64,
    reuse: Reuse,
    handshakes: Handshakes,
    series: Series,
    residence: Residence,
    pages: Pages,
    paths: Paths,
    states: States,
    sessions: Sessions,
    failures: Failures,
    unanswered: Unanswered,
    waited: Tenths,
    outcome_times: OutcomeTimes,
    /// Seconds that are set aside; `None` where none may be.
    aside: Option<Box<SetAside>>,
}

/// Time that requests spent due and not done, inside the window: Little's λW, as a sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residence {
    /// Request-nanoseconds in the window.
    pub total_ns: u128,
    /// Requests that spent any time in the window.
    pub requests: u64,
}

impl Fold {
    /// An empty fold for a run whose steady part is `window`. Takes about 3 MiB, and 0.7 MiB
    /// more at most for [batches](crate::batches).
    pub fn new(window: Window) -> Fold {
        Fold::of_classes(window, &[])
    }

    /// An empty fold that counts the classes of clients apart, whose names these are, in the order of their
    /// numbers: [`Sample::class`] is a place among them. Takes about 1.5 MiB more for
    /// each, and 0.7 MiB at most for batches.
    pub fn of_classes(window: Window, names: &[String]) -> Fold {
        let classes: Vec<_> = names.iter().map(|name| (name.clone(), PhaseStats::steady(window))).collect();
        Fold {
            pages: Pages::of_classes(classes.len()),
            classes,
            window,
            warm_up: PhaseStats::default(),
            steady: PhaseStats::steady(window),
            drained: 0,
            reuse: Reuse::default(),
            handshakes: Handshakes::default(),
            series: Series::default(),
            residence: Residence::default(),
            paths: Paths::default(),
            states: States::default(),
            sessions: Sessions::default(),
            failures: Failures::default(),
            unanswered: Unanswered::default(),
            waited: Tenths::default(),
            outcome_times: OutcomeTimes::default(),
            aside: None,
        }
    }

    /// Sets whether seconds may be set [aside](crate::set_aside), of a measured part of which so much was
    /// `asked` for.
    pub fn setting_aside(self, asked: Option<Duration>) -> Fold {
        let from = self.window.measure_from;
        Fold { aside: asked.map(|asked| Box::new(SetAside::new(from, asked))), ..self }
    }

    /// Sets the names of the states of sessions, by number; each state is counted separately. Takes 0.3 MiB
    /// more for each state that is requested, and 0.15 MiB at most for batches.
    pub fn naming_states(self, names: Vec<String>) -> Fold {
        let (sessions, failures) = (Sessions::named(names.clone()), Failures::named(names.clone()));
        Fold { states: States::named(names, self.window.measure_from), sessions, failures, ..self }
    }

    /// Sets the paths of requests, each of which is counted separately. Takes 0.5 MiB more at most.
    pub fn naming_paths(self, paths: PathNames) -> Fold {
        Fold { paths: Paths::named(paths), ..self }
    }

    /// Sets whether requests that are unfinished at the end of the run count as errors: not if `ignored`.
    pub fn ignoring_unfinished(mut self, ignored: bool) -> Fold {
        let classes = self.classes.iter_mut().map(|(_, part)| part);
        for part in [&mut self.warm_up, &mut self.steady].into_iter().chain(classes) {
            part.ignores_unfinished = ignored;
        }
        self
    }

    /// Counts `sample`.
    pub fn record(&mut self, sample: &Sample) {
        self.record_figures(sample);
        self.record_course(sample);
    }

    /// Counts `sample` in the figures of its part. Where seconds may be set aside, that in which it was due
    /// is [decided](Self::set_aside).
    pub fn record_figures(&mut self, sample: &Sample) {
        let mut before = Duration::ZERO;
        if self.window.contains(sample.due)
            && let Some(aside) = &mut self.aside
        {
            if aside.contains(sample.due) {
                return aside.count(sample);
            }
            before = aside.before(sample.due);
        }
        let moved = (!before.is_zero()).then(|| earlier(sample, before));
        self.record_part(moved.as_ref().unwrap_or(sample), sample.due);
        self.count_events(sample, before);
    }

    /// Counts a sample that was due at `due` in its part.
    fn record_part(&mut self, sample: &Sample, due: Instant) {
        if due < self.window.measure_from {
            self.warm_up.record(sample);
        } else if due < self.window.measure_to {
            self.steady.record(sample);
            if let Some((_, class)) = self.classes.get_mut(usize::from(sample.class)) {
                class.record(sample);
            }
            self.states.record(sample, self.steady.ignores_unfinished);
            self.paths.record(sample);
        } else {
            self.drained += 1;
        }
    }

    /// Counts `sample` in what describes the run as it went, whatever is set aside.
    pub fn record_course(&mut self, sample: &Sample) {
        self.reuse.record(sample);
        self.handshakes.record(sample, self.window);
        self.series.record(sample);
        let inside = self.window.overlap(sample.due, sample.done);
        self.residence.total_ns += u128::from(inside.as_ns());
        self.residence.requests += u64::from(!inside.is_zero());
        self.pages.record(sample, self.window);
        self.unanswered.record(sample);
        self.outcome_times.record(sample);
        if let Some(begun) = sample.begun() {
            self.waited.add_between(begun, sample.done);
        }
    }

    /// Settles the seconds of the [series](Series::settle) that are long over, so that a long run takes
    /// little memory. A fold that is to be merged is not settled.
    pub fn settle(&mut self) {
        self.series.settle();
    }

    /// Counts what happened in a session.
    pub fn note(&mut self, note: &Note) {
        match note {
            Note::Begun(begin) => self.sessions.begun(begin, self.window),
            Note::Ended(end) => self.sessions.ended(end, self.window),
            Note::Failed(failure) => self.failures.note(failure, self.window),
        }
    }

    /// The measured part goes on until `end`, which is not earlier than before.
    pub fn extend_to(&mut self, end: Instant) {
        self.window.measure_to = self.window.measure_to.max(end);
    }

    /// Sets a second of the measured part aside, for the [disturbances](crate::set_aside::Disturbance) of
    /// these bits, before the figures of any request that was due in it or later are recorded.
    pub fn set_aside(&mut self, second: u64, disturbances: u8) {
        if let Some(aside) = &mut self.aside {
            aside.add(second, disturbances);
        }
    }

    /// What is set aside; `None` where nothing may be.
    pub fn aside(&self) -> Option<&SetAside> {
        self.aside.as_deref()
    }

    /// The length of the measured part up to `until`, without what is set aside: that of the figures.
    pub fn lasted(&self, until: Instant) -> Duration {
        let aside = self.aside.as_ref().map(|aside| aside.within(self.window, until));
        self.window.elapsed(until) - aside.unwrap_or_default()
    }

    fn count_events(&mut self, sample: &Sample, aside: Duration) {
        let window = self.window;
        let inside = |at: Instant| at >= window.measure_from && at < window.measure_to;
        // Nothing happens to a request before it is due.
        if sample.due < window.measure_from {
            self.warm_up.events.count(sample, |at| at < window.measure_from);
        }
        self.steady.count_events(sample, aside, inside);
        if let Some((_, class)) = self.classes.get_mut(usize::from(sample.class)) {
            class.count_events(sample, aside, inside);
        }
    }

    /// Adds what `other` counted of other samples of the same run.
    ///
    /// # Panics
    /// If the two are of different windows, classes, states or paths, or seconds of either are settled.
    pub fn merge(&mut self, other: &Fold) {
        assert_eq!(self.window, other.window, "folds of one run share its window");
        assert_eq!(self.classes.len(), other.classes.len(), "folds of one run share its classes");
        for ((_, mine), (_, theirs)) in self.classes.iter_mut().zip(&other.classes) {
            mine.merge(theirs);
        }
        self.warm_up.merge(&other.warm_up);
        self.steady.merge(&other.steady);
        self.drained += other.drained;
        self.reuse.merge(&other.reuse);
        self.handshakes.merge(&other.handshakes);
        self.series.merge(&other.series);
        self.residence.total_ns += other.residence.total_ns;
        self.residence.requests += other.residence.requests;
        self.pages.merge(&other.pages);
        self.paths.merge(&other.paths);
        self.states.merge(&other.states);
        self.sessions.merge(&other.sessions);
        self.failures.merge(&other.failures);
        self.unanswered.merge(&other.unanswered);
        self.waited.merge(&other.waited);
        self.outcome_times.merge(&other.outcome_times);
        if let (Some(mine), Some(theirs)) = (&mut self.aside, &other.aside) {
            mine.merge(theirs);
        }
    }

    /// The outcomes of sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The failures in sessions.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The window it was made for.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The requests due before the window.
    pub fn warm_up(&self) -> &PhaseStats {
        &self.warm_up
    }

    /// The requests due in the window.
    pub fn steady(&self) -> &PhaseStats {
        &self.steady
    }

    /// The steady part of each class of clients, with the class's name; empty if classes are not counted
    /// separately.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = (&str, &PhaseStats)> {
        self.classes.iter().map(|(name, part)| (name.as_str(), part))
    }

    /// The steady part of one class.
    pub fn class(&self, name: &str) -> Option<&PhaseStats> {
        self.classes().find(|(of, _)| *of == name).map(|(_, part)| part)
    }

    /// Number of requests that were due after the window.
    pub fn drained(&self) -> u64 {
        self.drained
    }

    /// Requests per connection, over the whole run.
    pub fn reuse(&self) -> &Reuse {
        &self.reuse
    }

    /// Handshakes of TLS that were over in the window.
    pub fn handshakes(&self) -> &Handshakes {
        &self.handshakes
    }

    /// The time series, one row a second.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The pages that were due in the window; `None` if no sample records pages.
    pub fn pages(&self) -> Option<&PageTimes> {
        self.pages.timed()
    }

    /// Pages that were due in the window and are not over, of all classes or of the one at this place.
    pub fn pages_unfinished(&self, class: Option<usize>) -> u64 {
        self.pages.unfinished(self.window, class)
    }

    /// The pages of the class at `place` that were due in the window; `None` if no sample of it records
    /// pages.
    pub fn pages_of_class(&self, place: usize) -> Option<&PageTimes> {
        self.pages.timed_of_class(place)
    }

    /// The states of sessions, of the requests due in the window.
    pub fn states(&self) -> &States {
        &self.states
    }

    /// The paths of requests of a set, of those due in the window.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The latest requests that the server did not answer.
    pub fn unanswered(&self) -> &Unanswered {
        &self.unanswered
    }

    /// Tenths of a second through which some request had been begun and was not over.
    pub fn waited(&self) -> &Tenths {
        &self.waited
    }

    /// Ended requests by tenth of a second and outcome.
    pub fn outcome_times(&self) -> &OutcomeTimes {
        &self.outcome_times
    }

    /// Time that requests spent in the window, due and not done.
    pub fn residence(&self) -> Residence {
        self.residence
    }
}

/// The vocabulary of this crate's tests.
#[cfg(test)]
pub(crate) mod scene {
    use super::*;

    /// A request that went well on a connection of its own: due and begun at `due_ns`, done at `done_ns`,
    /// connected after a tenth of that, and answered from the middle on.
    pub fn sample(due_ns: u64, done_ns: u64) -> Sample {
        let took = done_ns.saturating_sub(due_ns);
        let after = |part: u64| Stamp::at(Instant::from_ns(due_ns + part));
        Sample {
            due: Instant::from_ns(due_ns),
            connect_begun: after(0),
            connected: after(took / 10),
            sent: after(took / 10),
            first_byte: after(took / 2),
            done: Instant::from_ns(done_ns),
            body_bytes: 100,
            reply_bytes: 150,
            user: 0,
            connection: 0,
            number: 0,
            request: 0,
            class: 0,
            status: 200,
            outcome: Outcome::Ok,
            tcp: None,
            tls: None,
            http: farfield_base::HttpStats::UNKNOWN,
            page: farfield_base::PagePart::Untracked,
            session: Sample::NO_SESSION,
        }
    }

    /// A window in milliseconds.
    pub fn window(from_ms: u64, to_ms: u64) -> Window {
        Window {
            measure_from: Instant::from_ns(from_ms * 1_000_000),
            measure_to: Instant::from_ns(to_ms * 1_000_000),
        }
    }

    /// The fold of `samples` over `window`.
    pub fn fold(window: Window, samples: &[Sample]) -> Fold {
        let mut fold = Fold::new(window);
        samples.iter().for_each(|sample| fold.record(sample));
        fold
    }
}

#[cfg(test)]
mod tests;
