//! `[run]`: the parts of a run in time, what it ends by, and which part of it this process makes.

use crate::document::Document;
use crate::mistake::Mistake;
use crate::start_at::StartAt;
use farfield_base::{Duration, Instant, Part, Window};
use farfield_emulator::layout::nearest_multiple;
use farfield_engine::PlaneKind;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// `[run]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RunSpec {
    /// Time before measuring begins.
    pub warm_up: Duration,
    /// Length of the measured part.
    pub duration: Duration,
    /// Time for which the load goes on after the measured part.
    #[serde(skip_serializing_if = "is_none")]
    pub cool_down: Duration,
    /// Time for replies after the load has ended.
    pub drain: Duration,
    /// Requests after which no more are begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<NonZeroU64>,
    /// Sessions after which no more are begun; the run ends with the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<NonZeroU64>,
    /// Time for sessions that are open at the end of the measured part.
    pub finish_sessions: Duration,
    /// The outcome of requests that are still open after the drain.
    pub unfinished: Unfinished,
    /// Seconds in which the machine was disturbed are set aside, and as much longer is measured.
    #[serde(skip_serializing_if = "is_false")]
    pub set_aside: bool,
    /// Longest measured part with what is set aside. Absent: twice its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_max: Option<Duration>,
    /// Part of the run that this process makes, such as 2/3.
    #[serde(skip_serializing_if = "is_whole")]
    pub part: Part,
    /// Wall-clock time at which the run starts, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_at: Option<StartAt>,
}

fn is_whole(part: &Part) -> bool {
    part.is_whole()
}

fn is_none(time: &Duration) -> bool {
    time.is_zero()
}

fn is_false(own: &bool) -> bool {
    !own
}

/// The outcome of requests that are still open when the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// Errors, whose response time is longer than the time they had been open.
    #[default]
    Error,
    /// Ignored: they are counted among the outcomes alone.
    Ignore,
}

impl Default for RunSpec {
    fn default() -> RunSpec {
        RunSpec {
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            cool_down: Duration::ZERO,
            drain: Duration::from_secs(5),
            requests: None,
            sessions: None,
            finish_sessions: Duration::ZERO,
            unfinished: Unfinished::default(),
            set_aside: false,
            duration_max: None,
            part: Part::WHOLE,
            start_at: None,
        }
    }
}

impl RunSpec {
    /// The begin of the measured part.
    pub(crate) fn measured_from(&self) -> Instant {
        Instant::ZERO + self.warm_up
    }

    /// Longest measured part, with the seconds that are set aside.
    pub(crate) fn longest(&self) -> Duration {
        self.duration_max.unwrap_or_else(|| self.duration.times(2))
    }

    /// Length of the measured part as the run has it. One that was asked for without a number of requests or
    /// sessions, and that is as long as [what stands for none](Window::BY_COUNT), is a nanosecond longer.
    pub(crate) fn measured_part(&self) -> Duration {
        let ends_by_count = self.requests.is_some() || self.sessions.is_some();
        match self.duration {
            Window::BY_COUNT if !ends_by_count => Window::BY_COUNT + Duration::from_ns(1),
            asked => asked,
        }
    }

    /// Measures all of the stages of a load, which last for `stages`, but for the warm-up and the length that
    /// the document has.
    pub(crate) fn measure_stages(&mut self, stages: Duration, document: &Document) {
        if !document.contains_below("run", "warm-up") {
            self.warm_up = Duration::ZERO;
        }
        // A number of requests or sessions brings a length that stands for none.
        if !document.contains_below("run", "duration") || self.duration == Window::BY_COUNT {
            self.duration = stages - self.warm_up;
        }
    }

    /// Checks that there is a measured part on `plane`, of a load whose stages last for `stages`, if it has
    /// some, and whose sessions arrive by themselves or do not.
    pub(crate) fn check(
        &self,
        plane: PlaneKind,
        stages: Option<Duration>,
        sessions_arrive: bool,
    ) -> Result<(), Mistake> {
        let nothing = "a measured part of 0s measures nothing; write how long to measure, such as 10s";
        if let Some(stages) = stages.filter(|stages| *stages <= self.warm_up) {
            let message = format!("the stages are over after {stages}: write a shorter warm-up, or none");
            return Err(Mistake::at("run.warm-up", message));
        }
        if self.duration.is_zero() {
            return Err(Mistake::at("run.duration", nothing));
        }
        self.check_cool_down(stages.is_some(), sessions_arrive)?;
        self.check_set_aside(plane, stages.is_some())
    }

    /// Checks that a load that goes on after the measured part has an end that is known, and no other.
    fn check_cool_down(&self, has_stages: bool, sessions_arrive: bool) -> Result<(), Mistake> {
        let by_count = self.requests.is_some() || self.sessions.is_some();
        let other = [
            (by_count, "a number of requests or sessions"),
            (has_stages, "its stages"),
            (self.set_aside, "seconds that are set aside"),
            (sessions_arrive, "sessions that arrive by themselves, which `finish-sessions` lets go on"),
        ];
        match other.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, other)) if !self.cool_down.is_zero() => {
                let message = format!("the load ends by {other}; leave out one of both");
                Err(Mistake::at("run.cool-down", message))
            }
            _ => Ok(()),
        }
    }

    /// Checks what is asked for about seconds that are set aside.
    fn check_set_aside(&self, plane: PlaneKind, has_stages: bool) -> Result<(), Mistake> {
        let shorter = self.duration_max.filter(|longest| *longest < self.duration);
        if let (true, Some(longest)) = (self.set_aside, shorter) {
            let message = format!(
                "the longest measured part, {longest}, is shorter than run.duration, {}",
                self.duration
            );
            return Err(Mistake::at("run.duration-max", message));
        }
        if !self.set_aside {
            let alone = "it is for `run.set-aside = true`, without which run.duration is the whole of the measured part";
            return self.duration_max.map_or(Ok(()), |_| Err(Mistake::at("run.duration-max", alone)));
        }
        if has_stages {
            let message = "seconds are set aside of a load that stays the same, and as much longer is measured: stages of \
                           load.stages begin and end when they do";
            return Err(Mistake::at("run.set-aside", message));
        }
        if self.requests.is_some() || self.sessions.is_some() {
            let message = "a run that ends by a number of requests or sessions cannot last as much longer as is set aside: \
                           give it a run.duration alone";
            return Err(Mistake::at("run.set-aside", message));
        }
        if plane == PlaneKind::Emulated {
            let message = "seconds are set aside on the sockets plane alone: in an emulated network a disturbance goes on in \
                           the clients' TCP, and the verdict says what was disturbed";
            return Err(Mistake::at("run.set-aside", message));
        }
        Ok(())
    }

    /// Checks that no client is of two parts.
    pub(crate) fn check_clients_of_parts(&self, clients: u32) -> Result<(), Mistake> {
        let of = self.part.of();
        if clients.is_multiple_of(of) {
            return Ok(());
        }
        let sentence = format!(
            "{clients} clients cannot be dealt out over {of} parts; write a multiple of {of}, such as {}",
            nearest_multiple(clients, of)
        );
        Err(Mistake::at("network.clients", sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_a_day_ends_with_its_time() {
        let ends_by_count = |requests: Option<u64>, duration| {
            let run =
                RunSpec { requests: requests.and_then(NonZeroU64::new), duration, ..RunSpec::default() };
            let measure_from = Instant::ZERO;
            Window { measure_from, measure_to: measure_from + run.measured_part() }.ends_by_count()
        };
        assert!(ends_by_count(Some(9), Window::BY_COUNT));
        assert!(!ends_by_count(Some(9), Duration::from_secs(9)) && !ends_by_count(None, Window::BY_COUNT));
    }
}
