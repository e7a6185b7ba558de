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
//! histogram of ages when the first request is given up or left unfinished; pages that are under way and
//! streams that stalled take a place in a tree. Folds of several workers [merge](farfield_base::Merge), in
//! any order and grouping, to the same numbers.

mod phase;

use crate::batches::{Batches, MeasuredPart};
use crate::failures::Failures;
use crate::flows::Flows;
use crate::handshakes::Handshakes;
use crate::hosts::{HostLabel, Hosts};
use crate::outages::Outages;
use crate::outcome_times::OutcomeTimes;
use crate::pages::{PageTimes, Pages};
use crate::paths::{PathNames, Paths};
use crate::reuse::Reuse;
use crate::series::Series;
use crate::sessions::Sessions;
use crate::set_aside::{SetAside, earlier};
use crate::settling::Settling;
use crate::stages::Stages;
use crate::states::{StateNames, States};
use crate::unanswered::Unanswered;
use farfield_base::{Duration, HostNumber, Instant, Note, ReplyEvent, Sample, StageSpan, Tenths, Window};
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub use phase::{EventCounts, PhaseStats};

farfield_base::mergeable! {
    /// All that is counted of a worker's samples, or of several workers'. Folds that
    /// [merge](farfield_base::Merge) are of one window, of the same classes, states and paths, and seconds of
    /// none are settled.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct Fold {
        window: Window => same,
        warm_up: PhaseStats,
        steady: PhaseStats,
        /// The names of the classes of clients.
        class_names: Vec<String> => same,
        /// The steady part of each class.
        classes: Vec<PhaseStats> => each,
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
        settling: Settling,
        outcome_times: OutcomeTimes,
        /// Seconds that are set aside; `None` where none may be.
        aside: Option<Box<SetAside>>,
        /// The flows of users.
        flows: Flows,
        /// The hosts that they ask.
        hosts: Hosts,
        /// The stages of the load.
        stages: Stages,
        /// The parts of the run between changes of its network.
        conditions: Stages,
        /// Times in which changes of its network let nothing through.
        outages: Outages => same,
        /// True if sessions arrive by themselves, and not when a user has ended the one before.
        sessions_arrive: bool => same,
    }
}

farfield_base::mergeable! {
    /// Time that requests spent due and not done, inside the window: Little's λW, as a sum.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Residence {
        /// Request-nanoseconds in the window.
        pub total_ns: u128,
        /// Requests that spent any time in the window.
        pub requests: u64,
    }
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
        Fold {
            pages: Pages::of_classes(names.len()),
            class_names: names.to_vec(),
            classes: vec![PhaseStats::steady(window); names.len()],
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
            settling: Settling::default(),
            outcome_times: OutcomeTimes::default(),
            aside: None,
            flows: Flows::default(),
            hosts: Hosts::default(),
            stages: Stages::default(),
            conditions: Stages::default(),
            outages: Outages::default(),
            sessions_arrive: false,
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
    pub fn naming_states(self, names: impl Into<StateNames>) -> Fold {
        let names = names.into();
        let of_notes = || names.names().to_vec();
        let (sessions, failures) = (Sessions::named(of_notes()), Failures::named(of_notes()));
        Fold { states: States::named(names, self.window.measure_from), sessions, failures, ..self }
    }

    /// Sets the paths of requests, each of which is counted separately. Takes 0.5 MiB more at most.
    pub fn naming_paths(self, paths: PathNames) -> Fold {
        Fold { paths: Paths::named(paths), ..self }
    }

    /// Sets the hosts that users ask, by number; each is counted separately.
    #[must_use]
    pub fn at_hosts(self, hosts: Vec<HostLabel>) -> Fold {
        Fold { hosts: Hosts::new(hosts, self.window), ..self }
    }

    /// Sets the flows of users, by their names and the numbers of their requests; each is counted separately.
    /// Takes about 1.5 MiB more for each, and 0.7 MiB at most for batches.
    pub fn in_flows(self, flows: Vec<(String, Range<u32>)>) -> Fold {
        Fold { flows: Flows::new(flows, self.window), ..self }
    }

    /// Sets the stages of the load, of which none have seconds that are set aside: each is counted
    /// separately. Takes about 1.5 MiB more for each, and 0.7 MiB at most for batches.
    pub fn in_stages(self, stages: &[StageSpan]) -> Fold {
        Fold { stages: Stages::new(stages, self.window, &self.steady), ..self }
    }

    /// Sets the parts of the run between changes of its network, counted as stages are.
    pub fn in_conditions(self, conditions: &[StageSpan]) -> Fold {
        Fold { conditions: Stages::new(conditions, self.window, &self.steady), ..self }
    }

    /// Sets the times in which changes of the network let nothing through, in order: the server's silence
    /// in them is not counted.
    pub fn with_outages(self, outages: &[(Instant, Instant)]) -> Fold {
        Fold { outages: Outages::new(outages), ..self }
    }

    /// Sets whether sessions arrive by themselves.
    pub fn with_arriving_sessions(self, sessions_arrive: bool) -> Fold {
        Fold { sessions_arrive, ..self }
    }

    /// Sets whether requests that are unfinished at the end of the run count as errors: not if `ignored`.
    pub fn ignoring_unfinished(mut self, ignored: bool) -> Fold {
        self.all_parts().for_each(|part| part.ignores_unfinished = ignored);
        self
    }

    /// Sets the longest time in which nothing comes in the midst of a reply that is no stall.
    pub fn counting_stalls(mut self, above: Duration) -> Fold {
        self.all_parts().for_each(|part| part.streams.stall = Some(above));
        self
    }

    /// Sets whether pieces of any reply are events.
    pub fn with_events_by_pieces(mut self, by_pieces: bool) -> Fold {
        self.all_parts().for_each(|part| part.streams.by_pieces = by_pieces);
        self
    }

    fn all_parts(&mut self) -> impl Iterator<Item = &mut PhaseStats> {
        let whole = [&mut self.warm_up, &mut self.steady];
        whole.into_iter().chain(&mut self.classes).chain(self.flows.parts()).chain(self.hosts.parts())
    }

    /// The figures of the measured part that requests of a class, at a host and of this number are counted
    /// in: of all, of the class, of the host, and of the flow.
    fn steady_parts(
        &mut self,
        (class, host): (u16, HostNumber),
        request: u32,
    ) -> impl Iterator<Item = &mut PhaseStats> {
        let class = self.classes.get_mut(usize::from(class));
        let (host, flow) = (self.hosts.part_of(host), self.flows.part_of(request));
        [&mut self.steady].into_iter().chain(class).chain(host).chain(flow)
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
            self.steady_parts((sample.class, sample.host), sample.request)
                .for_each(|part| part.record(sample));
            self.states.record(sample, self.steady.ignores_unfinished);
            self.paths.record(sample);
        } else {
            self.drained += 1;
        }
    }

    /// Counts `sample` in what describes the run as it went, whatever is set aside.
    pub fn record_course(&mut self, sample: &Sample) {
        self.stages.record(sample);
        self.conditions.record(sample);
        self.count_stream(sample);
        self.reuse.record(sample);
        self.handshakes.record(sample, self.window);
        self.series.record(sample);
        let inside = self.window.overlap(sample.due, sample.done);
        self.residence.total_ns += u128::from(inside.as_ns());
        self.residence.requests += u64::from(!inside.is_zero());
        self.pages.record(sample, self.window);
        self.unanswered.record(sample);
        self.outcome_times.record(sample);
        self.settling.record(sample);
        if let Some(begun) = sample.begun() {
            self.waited.add_between(begun, sample.done);
        }
    }

    /// False if a fold that was read has lengths that no recording leaves.
    pub(crate) fn is_sound(&self) -> bool {
        let parts = [&self.warm_up, &self.steady].into_iter().chain(&self.classes);
        self.settling.is_sound()
            && self.outcome_times.is_sound()
            && self.series.is_unsettled()
            && parts.filter_map(PhaseStats::batches).all(Batches::is_sound)
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
            Note::Event(event) => {
                self.note_event_course(event);
                self.note_event_figures(event);
            }
        }
    }

    /// Counts the sample's reply, if that is a stream, in the parts in which it was on its way.
    fn count_stream(&mut self, sample: &Sample) {
        if sample.events.is_none() {
            return;
        }
        let warm_up = Window { measure_from: Instant::ZERO, measure_to: self.window.measure_from };
        self.warm_up.count_stream(sample, warm_up);
        let window = self.window;
        for part in self.steady_parts((sample.class, sample.host), sample.request) {
            part.count_stream(sample, window);
        }
    }

    /// Counts events of a stream in the figures of the part in which they came, and the stall before them in
    /// those of the part in which it became one. Where seconds may be set aside, theirs is
    /// [decided](Self::set_aside), and so are those before.
    pub fn note_event_figures(&mut self, event: &ReplyEvent) {
        if let Some(at) = self.steady.streams.stall_before(event) {
            self.count_stall(event, at);
        }
        if event.at < self.window.measure_from {
            return self.warm_up.note_event(event, Duration::ZERO);
        }
        if !self.window.contains(event.at) {
            return;
        }
        let mut before = Duration::ZERO;
        if let Some(aside) = &self.aside {
            if aside.contains(event.at) {
                return;
            }
            before = aside.before(event.at);
        }
        for part in self.steady_parts((event.class, event.host), event.request) {
            part.note_event(event, before);
        }
    }

    /// Counts the stall before an event, which became one at `at`, of a stream from before the measured part.
    /// Samples say it of those that were due in their part.
    fn count_stall(&mut self, event: &ReplyEvent, at: Instant) {
        let is_aside = self.aside.as_ref().is_some_and(|aside| aside.contains(at));
        if event.due >= self.window.measure_from || !self.window.contains(at) || is_aside {
            return;
        }
        for part in self.steady_parts((event.class, event.host), event.request) {
            part.streams.count_stall(event);
        }
    }

    /// Counts events of a stream in what describes the run as it went, whatever is set aside.
    pub fn note_event_course(&mut self, event: &ReplyEvent) {
        let stalled_at = self.steady.streams.stall_before(event);
        self.stages.note_event(event, stalled_at);
        self.conditions.note_event(event, stalled_at);
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

    /// The seconds that are set aside; `None` where none may be.
    pub fn aside(&self) -> Option<&SetAside> {
        self.aside.as_deref()
    }

    /// The length of the measured part up to `until`, without what is set aside: that of the figures.
    pub fn lasted(&self, until: Instant) -> Duration {
        let aside = self.aside.as_ref().map(|aside| aside.within(self.window, until));
        self.window.elapsed(until) - aside.unwrap_or_default()
    }

    /// The measured part up to `until`, as intervals need to know it.
    pub fn measured(&self, until: Instant) -> MeasuredPart {
        let lasted = self.lasted(until);
        let session = self.sessions.mean_length(lasted).filter(|_| self.sessions_arrive);
        MeasuredPart { lasted, session }
    }

    fn count_events(&mut self, sample: &Sample, aside: Duration) {
        let window = self.window;
        let inside = |at: Instant| at >= window.measure_from && at < window.measure_to;
        // Nothing happens to a request before it is due.
        if sample.due < window.measure_from {
            self.warm_up.events.count(sample, |at| at < window.measure_from);
        }
        for part in self.steady_parts((sample.class, sample.host), sample.request) {
            part.count_events(sample, aside, inside);
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
        self.class_names.iter().map(String::as_str).zip(&self.classes)
    }

    /// The steady part of one class.
    pub fn class(&self, name: &str) -> Option<&PhaseStats> {
        self.classes().find(|(of, _)| *of == name).map(|(_, part)| part)
    }

    /// The hosts that users ask; none where there are no several.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// The flows of users; none where there are no several.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// The parts of the run between changes of its network, as far as they lie in the window.
    pub fn conditions(&self) -> &Stages {
        &self.conditions
    }

    /// Times in which changes of the network let nothing through.
    pub(crate) fn outages(&self) -> &Outages {
        &self.outages
    }

    /// The stages of the load in the window.
    pub fn stages(&self) -> &Stages {
        &self.stages
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

    /// When response times settled.
    pub fn settling(&self) -> &Settling {
        &self.settling
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
    use farfield_base::{Outcome, Stamp};

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
            connection: 0,
            status: 200,
            outcome: Outcome::Ok,
            ..Sample::EMPTY
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
