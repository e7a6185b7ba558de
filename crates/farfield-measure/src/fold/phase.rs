//! Counts of one part of a run: of its warm-up, of its steady part, of a class of clients.

use crate::batches::Batches;
use crate::censored::{self, CensoredAges};
use crate::histogram::Histogram;
use crate::http::HttpCounts;
use crate::kaplan_meier::Estimate;
use crate::outcomes::OutcomeCounts;
use crate::statuses::StatusCounts;
use crate::stream_counts::StreamCounts;
use crate::timing::{Timing, Timings};
use farfield_base::{Duration, Instant, Outcome, ReplyEvent, Sample, Stamp, Window};
use serde::{Deserialize, Serialize};

farfield_base::mergeable! {
    /// Events of one phase, each counted if it happened in that phase.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct EventCounts {
        /// Requests due.
        pub offered: u64,
        /// Requests whose first byte was sent.
        pub sent: u64,
        /// Replies that came as a whole, whatever their status.
        pub completed: u64,
        /// Whole replies with success.
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
}

farfield_base::mergeable! {
    /// Statistics of one phase of the run.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct PhaseStats {
        /// Times of the successful requests due in this part; connect times of all their connections.
        pub times: Timings<Histogram>,
        /// Requests due in this part, by the [code](Outcome::code) of what became of them.
        pub outcomes: OutcomeCounts,
        /// Replies to requests due in this part, by status code.
        pub statuses: StatusCounts,
        /// Requests due in this part for which the client acted at all.
        pub begun: u64,
        /// Successful requests due in this part whose reply sends the user elsewhere.
        pub redirects: u64,
        /// Events in this phase.
        pub events: EventCounts,
        /// Replies that come in pieces.
        pub streams: StreamCounts,
        /// Ages of the censored requests due in this part, in each of their times that had begun.
        pub censored: Timings<CensoredAges>,
        /// Ages, from due to the end of the run, of the requests due in this part that were still open
        /// then.
        pub unfinished: CensoredAges,
        /// The sum over all requests due in this part, whatever became of them, of the time from due to their
        /// end; of unfinished ones to the end of the run.
        pub waited_ns: u128,
        /// Unfinished requests are no errors and their ages do not count: the scenario says so.
        pub(crate) ignores_unfinished: bool => same,
        /// Counts by batch of time, for intervals; only of the steady part.
        batches: Option<Box<Batches>>,
    }
}

impl PhaseStats {
    /// An empty steady part, from the beginning of `window` on.
    pub(crate) fn steady(window: Window) -> PhaseStats {
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

    pub(crate) fn record(&mut self, sample: &Sample) {
        self.outcomes.add(sample.outcome);
        self.statuses.record(sample);
        self.begun += u64::from(sample.begun().is_some());
        if sample.outcome == Outcome::Ok {
            self.redirects += u64::from(matches!(sample.status, 301 | 302 | 303 | 307 | 308));
            for timing in Timing::OF_SUCCESS {
                if let Some(time) = timing.of(sample) {
                    self.times.of_mut(timing).record(time);
                }
            }
        }
        if let Some(time) = sample.first_event_time() {
            self.times.first_event.record(time);
        }
        if let Some(time) = sample.connect_time() {
            self.times.connect.record(time);
        }
        self.streams.record(sample);
        self.waited_ns += u128::from(sample.response_time().as_ns());
        if let Some(batches) = &mut self.batches {
            batches.record(sample, self.ignores_unfinished);
        }
        if censored::is_censored(sample.outcome) {
            self.record_censored(sample);
        } else if censored::awaits_first_event(sample)
            && let Some(age) = censored::age(Timing::FirstEvent, sample)
        {
            self.censored.first_event.record(age);
        }
    }

    pub(super) fn record_censored(&mut self, sample: &Sample) {
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

    /// Counts those of the sample's events that happened `inside` the part, of which so much before it is set
    /// `aside`.
    pub(crate) fn count_events(
        &mut self,
        sample: &Sample,
        aside: Duration,
        inside: impl Fn(Instant) -> bool,
    ) {
        self.events.count(sample, &inside);
        if let Some(batches) = &mut self.batches
            && sample.outcome.is_reply()
            && inside(sample.done)
        {
            let done = Instant::from_ns(sample.done.as_ns() - aside.as_ns());
            batches.record_completed(done, sample.outcome == Outcome::Ok);
        }
    }
}

impl PhaseStats {
    /// Counts the sample's reply, if it is a stream that was on its way in this `part` of the run.
    pub(crate) fn count_stream(&mut self, sample: &Sample, part: Window) {
        self.streams.count_stream(sample, part);
    }

    /// Counts events of a stream, which came in this part, of which so much before is set `aside`.
    pub(crate) fn note_event(&mut self, event: &ReplyEvent, aside: Duration) {
        self.streams.count(event);
        if let Some(gap) = event.gap {
            self.times.event_gap.record(gap);
        }
        self.times.event_gap.record_many(Duration::ZERO, event.alongside.into());
        if let Some(batches) = &mut self.batches {
            batches.record_event(event, Instant::from_ns(event.at.as_ns() - aside.as_ns()));
        }
    }
}

impl EventCounts {
    /// Counts those of the sample's events that happened `inside`.
    pub(super) fn count(&mut self, sample: &Sample, inside: impl Fn(Instant) -> bool) {
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
}
