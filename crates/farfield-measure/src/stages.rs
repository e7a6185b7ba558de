//! The stages of a load, each counted by itself as far as it lies in the measured part.
//!
//! A request belongs to the stage in which it was due, and an event to the stage in which it happened, as
//! with parts of a run.

use crate::batches::MeasuredPart;
use crate::fold::PhaseStats;
use farfield_base::{Duration, Instant, ReplyEvent, Sample, StageSpan, Window};
use serde::{Deserialize, Serialize};

farfield_base::mergeable! {
    /// Counts by stage. Those that merge are of the same stages.
    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    pub struct Stages {
        /// In order, none of them overlapping.
        spans: Vec<StageSpan> => same,
        parts: Vec<PhaseStats> => each,
    }
}

/// A stage, and what was counted of it.
#[derive(Debug, Clone, Copy)]
pub struct StageFigures<'a> {
    /// Place of the stage in the run.
    pub span: &'a StageSpan,
    /// Requests and events of the stage.
    pub part: &'a PhaseStats,
}

impl StageFigures<'_> {
    /// The stage up to `until`, as intervals need to know it, in a run that is `measured`.
    pub fn measured(&self, measured: MeasuredPart, until: Instant) -> MeasuredPart {
        MeasuredPart { lasted: self.span.lasted(until), ..measured }
    }
}

impl Stages {
    /// The stages that have a part in `window`, without counts; unfinished requests, stalls and events are as
    /// in the `whole`.
    pub(crate) fn new(stages: &[StageSpan], window: Window, whole: &PhaseStats) -> Stages {
        let spans: Vec<StageSpan> = stages.iter().filter_map(|stage| stage.within(window)).collect();
        let part = |span: &StageSpan| {
            let own = Window { measure_from: span.from, measure_to: span.to };
            let mut part = PhaseStats::steady(own);
            part.ignores_unfinished = whole.ignores_unfinished;
            part.streams.stall = whole.streams.stall;
            part.streams.by_pieces = whole.streams.by_pieces;
            part
        };
        Stages { parts: spans.iter().map(part).collect(), spans }
    }

    /// Counts `sample`.
    pub(crate) fn record(&mut self, sample: &Sample) {
        let first = self.spans.partition_point(|span| span.to <= sample.due);
        for (span, part) in self.spans.iter().zip(&mut self.parts).skip(first) {
            if span.from > sample.done {
                break;
            }
            if span.contains(sample.due) {
                part.record(sample);
            }
            part.count_events(sample, Duration::ZERO, |at| span.contains(at));
            part.count_stream(sample, Window { measure_from: span.from, measure_to: span.to });
        }
    }

    /// Counts events of a stream in the stage in which they came, and the stall before them in that in which
    /// it became one, at `stalled_at`, if the stream is from before that stage.
    pub(crate) fn note_event(&mut self, event: &ReplyEvent, stalled_at: Option<Instant>) {
        if let Some((_, part)) = self.part_at(event.at) {
            part.note_event(event, Duration::ZERO);
        }
        if let Some((span, part)) = stalled_at.and_then(|at| self.part_at(at))
            && event.due < span.from
        {
            part.streams.count_stall(event);
        }
    }

    /// The stage in which an instant lies, with its counts.
    fn part_at(&mut self, at: Instant) -> Option<(&StageSpan, &mut PhaseStats)> {
        let place = self.spans.partition_point(|span| span.to <= at);
        let span = self.spans.get(place).filter(|span| span.contains(at))?;
        Some((span, self.parts.get_mut(place)?))
    }

    /// The stages that have a part in the measured part, in order; none of a load without.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = StageFigures<'_>> {
        self.spans.iter().zip(&self.parts).map(|(span, part)| StageFigures { span, part })
    }

    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<StageFigures<'_>> {
        self.iter().find(|stage| stage.span.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::fold::scene::{sample, window};
    use farfield_base::Merge;

    const MS: u64 = 1_000_000;

    fn span(name: &str, from_ms: u64, to_ms: u64) -> StageSpan {
        let [from, to] = [from_ms, to_ms].map(|ms| Instant::from_ns(ms * MS));
        StageSpan { name: name.to_owned(), course: String::new(), from, to }
    }

    /// Requests and events of each stage.
    fn counts(fold: &Fold) -> Vec<(String, u64, u64, u64)> {
        let stage = |stage: StageFigures<'_>| {
            let events = &stage.part.events;
            (stage.span.name.clone(), stage.part.requests(), events.offered, events.completed)
        };
        fold.stages().iter().map(stage).collect()
    }

    #[test]
    fn a_request_is_of_its_stage_and_an_event_of_its_own() {
        let spans =
            [span("up", 0, 100), span("top", 100, 200), span("down", 200, 400), span("after", 900, 950)];
        let empty = || Fold::new(window(50, 300)).in_stages(&spans);
        // In the warm-up; in a stage; on an edge; through all of the middle one; beyond the measured part.
        let samples =
            [(10, 60), (60, 70), (90, 100), (95, 210), (199, 200), (250, 299), (260, 310), (305, 320)];
        let samples = samples.map(|(due, done)| sample(due * MS, done * MS));
        let mut whole = empty();
        samples.iter().for_each(|own| whole.record(own));
        let named =
            |name: &str, requests, offered, completed| (name.to_owned(), requests, offered, completed);
        let expected = [named("up", 3, 3, 2), named("top", 1, 1, 1), named("down", 2, 2, 3)];
        assert_eq!(counts(&whole), expected);
        // Together they are the measured part.
        let steady = whole.steady();
        assert_eq!((steady.requests(), steady.events.completed), (6, 6));
        let spans: Vec<[u64; 2]> =
            whole.stages().iter().map(|own| [own.span.from, own.span.to].map(|at| at.as_ns() / MS)).collect();
        assert_eq!(spans, [[50, 100], [100, 200], [200, 300]]);
        // Folds of two workers are one.
        let (mut one, mut other) = (empty(), empty());
        samples.iter().step_by(2).for_each(|own| one.record(own));
        samples.iter().skip(1).step_by(2).for_each(|own| other.record(own));
        one.merge(&other);
        assert_eq!(counts(&one), expected);
    }
}
