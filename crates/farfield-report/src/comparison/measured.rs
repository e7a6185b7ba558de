//! Measurements of a whole run or of a part of it: a class of clients, a flow of users, a host, a stage
//! of the load or a state of sessions, by the name that thresholds have in braces.

use crate::directory::RunDirectory;
use farfield_measure::Timing;
use farfield_measure::batches::interval::NoInterval;
use farfield_measure::summary::{EstimateSummary, PartSummary, StateSummary, TimingSummary};

/// Measurements of a run or of a part of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measured<'a> {
    Part(&'a PartSummary),
    State(&'a StateSummary),
}

/// A rate or a share, with its interval or the reason why there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share {
    pub value: Option<f64>,
    pub interval: Option<[f64; 2]>,
    pub no_interval: Option<NoInterval>,
}

impl<'a> Measured<'a> {
    /// The measured part of a run as a whole.
    pub fn whole(run: &'a RunDirectory) -> Measured<'a> {
        Measured::Part(&run.summary().steady)
    }

    /// The parts of a run with their names. Where two have one name, the first is meant.
    pub fn parts(run: &'a RunDirectory) -> impl Iterator<Item = (&'a str, Measured<'a>)> {
        let summary = run.summary();
        let classes = summary.classes.iter().map(|own| (&*own.name, &own.steady));
        let flows = summary.flows.iter().map(|own| (&*own.name, &own.steady));
        let hosts = summary.hosts.iter().map(|own| (&*own.name, &own.steady));
        let stages = summary.stages.iter().map(|own| (&*own.name, &own.steady));
        let parts = classes.chain(flows).chain(hosts).chain(stages);
        let parts = parts.map(|(name, steady)| (name, Measured::Part(steady)));
        parts.chain(summary.states.iter().map(|own| (&*own.name, Measured::State(own))))
    }

    /// Successful replies a second; of a state they are not counted by time.
    pub fn rate(self) -> Share {
        let Measured::Part(steady) = self else { return Share::default() };
        steady.rates.as_ref().map_or_else(Share::default, |rates| Share {
            value: Some(rates.succeeded_per_s),
            interval: rates.succeeded_interval_per_s,
            no_interval: rates.no_succeeded_interval,
        })
    }

    /// Requests that were due.
    pub fn requests(self) -> u64 {
        match self {
            Measured::Part(own) => own.requests,
            Measured::State(own) => own.requests,
        }
    }

    /// Share of requests that went wrong or were unfinished at the end of the run.
    pub fn errors(self) -> Share {
        let (value, interval, no_interval) = match self {
            Measured::Part(own) => (own.error_share, own.error_share_interval, own.no_error_share_interval),
            Measured::State(own) => (own.error_share, own.error_share_interval, own.no_error_share_interval),
        };
        Share { value, interval, no_interval }
    }

    /// A time of successful requests; of a state there is its response time alone.
    pub fn times(self, timing: Timing) -> Option<&'a TimingSummary> {
        match self {
            Measured::Part(own) => own.times.of(timing).as_ref(),
            Measured::State(own) => own.response.as_ref().filter(|_| timing == Timing::Response),
        }
    }

    /// The estimate that counts requests which were never answered by their ages, where there is one.
    pub fn estimate(self, timing: Timing) -> Option<&'a EstimateSummary> {
        match self {
            Measured::Part(own) => own.estimates.of(timing).as_ref(),
            Measured::State(_) => None,
        }
    }
}
