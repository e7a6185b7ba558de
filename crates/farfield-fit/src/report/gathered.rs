//! Values gathered on a walk along the requests of a log.

use super::variables::{constant, fit, tick_of};
use super::{ConstantVariable, CutSessions, FitSettings, Variable, VariableFit};
use crate::counts::Counting;
use crate::crawler::Crawlers;
use crate::locality::StackDistances;
use crate::observation::Observation;
use crate::reservoir::Reservoir;
use crate::session::{SessionEvent, Thresholds};
use crate::site::SiteTally;
use crate::visits::{Visit, Visits};
use farfield_base::random::{Purpose, Stream};
use farfield_base::{Duration, Instant};

/// Values gathered on one walk along all users' requests.
pub(super) struct RequestWalk {
    rng: Stream,
    thresholds: Thresholds,
    pub(super) starts: Vec<Instant>,
    /// Indices of those starts that the upper threshold may have made.
    cut: Vec<usize>,
    clicks: Reservoir,
    thinks: Reservoir,
    objects: Reservoir,
    replies: Reservoir,
    transfers: Reservoir,
    stack: Reservoir,
    pub(super) counting: Counting,
    pub(super) site: SiteTally,
}

impl RequestWalk {
    pub(super) fn new(visits: &Visits, settings: &FitSettings) -> RequestWalk {
        let reservoir = || Reservoir::new(settings.values);
        RequestWalk {
            rng: settings.seed.stream(Purpose::User, 0),
            thresholds: settings.thresholds,
            starts: Vec::new(),
            cut: Vec::new(),
            clicks: reservoir(),
            thinks: reservoir(),
            objects: reservoir(),
            replies: reservoir(),
            transfers: reservoir(),
            stack: reservoir(),
            counting: Counting::new(visits),
            site: SiteTally::new(visits.paths()),
        }
    }

    pub(super) fn request(&mut self, visit: &Visit) {
        if !visit.served {
            return;
        }
        self.site.request(visit);
        self.counting.take(visit);
        if let Some(bytes) = visit.bytes {
            self.replies.push(bytes as f64, &mut self.rng);
        }
        if let Some(transfer) = visit.transfer {
            self.transfers.push(transfer.as_secs_f64(), &mut self.rng);
        }
    }

    pub(super) fn step(&mut self, step: SessionEvent) {
        match step {
            SessionEvent::Start { at, silence, .. } => {
                if silence.is_some_and(|silence| silence <= self.thresholds.t_max.times(3)) {
                    self.cut.push(self.starts.len());
                }
                self.starts.push(at);
            }
            SessionEvent::Click { think, .. } => self.thinks.push(think.as_secs_f64(), &mut self.rng),
            SessionEvent::PageEnd { embedded } => self.objects.push(1.0 + f64::from(embedded), &mut self.rng),
            SessionEvent::End { clicks, .. } => self.clicks.push(f64::from(clicks), &mut self.rng),
            SessionEvent::Embedded { .. } => {}
        }
        self.site.step(step);
    }

    /// The starts of sessions, without those that a threshold may have made if these are few. Takes them out.
    pub(super) fn uncut_starts(&mut self) -> (Vec<Instant>, CutSessions) {
        /// More of them are no accident of the threshold.
        const FEW: f64 = 0.05;
        let mut starts = std::mem::take(&mut self.starts);
        let sessions = self.cut.len();
        let left_out = sessions > 0 && (sessions as f64) < FEW * starts.len() as f64;
        if left_out {
            let (mut at, mut cut) = (0, self.cut.iter().peekable());
            starts.retain(|_| {
                let is_cut = cut.next_if(|index| **index == at).is_some();
                at += 1;
                !is_cut
            });
        }
        (starts, CutSessions { sessions: sessions as u64, left_out })
    }

    /// Gathers stack distances, in the order of the log. Returns how many requests were for an object that
    /// had been asked for before.
    pub(super) fn distances(&mut self, visits: &Visits, crawlers: &Crawlers) -> u64 {
        let mut distances = StackDistances::new(visits.paths());
        for index in 0..visits.len() {
            let visit = visits.at(index);
            if visit.served
                && !crawlers.contains(visit.visitor)
                && let Some(distance) = distances.take(visit.path)
            {
                self.stack.push(f64::from(distance), &mut self.rng);
            }
        }
        self.stack.seen()
    }

    /// Variables that are fitted, and those with one value only.
    pub(super) fn variables(
        &mut self,
        gaps: &[f64],
        counts: &[f64],
        clock: Duration,
        settings: &FitSettings,
    ) -> (Vec<VariableFit>, Vec<ConstantVariable>) {
        let mut sample = |values: &mut dyn Iterator<Item = f64>| {
            let mut reservoir = Reservoir::new(settings.values);
            values.for_each(|value| reservoir.push(value, &mut self.rng));
            reservoir
        };
        let gaps = sample(&mut gaps.iter().copied());
        let sizes = sample(&mut self.site.sizes());
        let counts = sample(&mut counts.iter().copied());
        let (clock, exact, whole) = (clock.as_secs_f64(), Observation::EXACT, Observation::counts());
        let Thresholds { t_min, t_max } = settings.thresholds;
        let instants = Observation::differenced(clock);
        let thinks = instants.cut(t_min.as_secs_f64(), t_max.as_secs_f64());
        let take = |reservoir: &mut Reservoir| std::mem::replace(reservoir, Reservoir::new(0));
        let transfers = take(&mut self.transfers);
        let transfer = Observation::rounded(tick_of(transfers.values()));
        let mut found = (Vec::new(), Vec::new());
        for (at, (variable, reservoir, observation)) in [
            (Variable::SessionGap, gaps, instants),
            (Variable::Clicks, take(&mut self.clicks), whole),
            (Variable::ThinkTime, take(&mut self.thinks), thinks),
            (Variable::PageObjects, take(&mut self.objects), whole),
            (Variable::ReplySize, take(&mut self.replies), exact),
            (Variable::ObjectSize, sizes, exact),
            (Variable::TransferTime, transfers, transfer),
            (Variable::StackDistance, take(&mut self.stack), whole),
            (Variable::RequestCount, counts, whole),
        ]
        .into_iter()
        .enumerate()
        {
            let mut rng = settings.seed.stream(Purpose::User, 2 + at as u64);
            if let Some(constant) = constant(variable, &reservoir) {
                found.1.push(constant);
            }
            found.0.extend(fit(variable, reservoir, observation, &settings.trials, &mut rng));
        }
        found
    }
}
