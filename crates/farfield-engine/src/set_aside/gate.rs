//! The collector's watch: samples wait until the second in which they were due is decided, and the host's
//! share of the processors is read each second.

use super::SharedSeconds;
use crate::machine::{MachineSeconds, ProcessorWork, ServerHere};
use farfield_base::{Instant, ReplyEvent, Sample};
use farfield_measure::Fold;
use farfield_measure::set_aside::Disturbance;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ticks of the kernel's count that a host must have taken in a second, of a hundred for each processor: one
/// may be a rounding.
const TICKS_MIN: u64 = 2;

/// Samples that wait to be counted.
pub(crate) struct Gate {
    shared: Arc<SharedSeconds>,
    /// The number of the collector among the watchers.
    number: usize,
    /// The second that goes on.
    second: u64,
    /// The machine's load, if the kernel counts it.
    machine: Option<MachineSeconds>,
    /// The measured part has begun.
    begun: bool,
    /// Seconds before this are decided.
    decided: u64,
    waiting: BTreeMap<u64, HeldSecond>,
}

/// Samples and events that wait for their second to be decided.
#[derive(Default)]
struct HeldSecond {
    samples: Vec<Sample>,
    events: Vec<ReplyEvent>,
}

impl HeldSecond {
    fn count(self, fold: &mut Fold) {
        self.samples.iter().for_each(|sample| fold.record_figures(sample));
        self.events.iter().for_each(|event| fold.note_event_figures(event));
    }
}

impl Gate {
    /// The gate of a collector that is the watcher `number`, beside this server and workers on these
    /// processors.
    pub fn new(
        shared: Arc<SharedSeconds>,
        number: usize,
        server: ServerHere<'_>,
        processors: &[u32],
    ) -> Gate {
        let machine = MachineSeconds::begin(server, processors);
        let (second, begun, decided) = (0, false, 0);
        Gate { shared, number, second, machine, begun, decided, waiting: BTreeMap::new() }
    }

    /// The work of processors in the seconds that are set aside.
    pub fn machine_aside(&self) -> ProcessorWork {
        self.machine.as_ref().map(MachineSeconds::aside).unwrap_or_default()
    }

    /// Looks at the machine in the seconds that are over at `now`, and counts the samples of those that are
    /// decided.
    pub fn look(&mut self, now: Instant, fold: &mut Fold) {
        if !self.begun && now >= self.shared.begin_of(0) {
            self.begun = true;
            if let Some(machine) = &mut self.machine {
                // Work from before is no second's.
                machine.read(0..0);
            }
        }
        if now >= self.shared.end_of(self.second) {
            let over = self.second..self.shared.second(now).unwrap_or(0);
            let is_stolen = self.machine.as_mut().is_some_and(|machine| {
                let least = TICKS_MIN.max(machine.processors() as u64);
                machine.read(over) >= least
            });
            while now >= self.shared.end_of(self.second) {
                // Of a collector that comes late it is not known in which of them.
                if is_stolen {
                    self.shared.find(self.second, Disturbance::Stolen, now);
                }
                self.second += 1;
            }
        }
        self.shared.look_at(self.number, self.shared.settled(now).min(self.second));
        self.release(self.shared.decide(self.decided, now), fold);
    }

    /// Counts a sample, now or when its second is decided.
    pub fn take(&mut self, sample: &Sample, fold: &mut Fold) {
        fold.record_course(sample);
        let second = self.shared.second(sample.due);
        match second {
            Some(second) if second >= self.decided => {
                self.waiting.entry(second).or_default().samples.push(*sample);
            }
            _ => fold.record_figures(sample),
        }
    }

    /// Counts events of a stream, now or when their second is decided.
    pub fn take_event(&mut self, event: &ReplyEvent, fold: &mut Fold) {
        fold.note_event_course(event);
        match self.shared.second(event.at) {
            Some(second) if second >= self.decided => {
                self.waiting.entry(second).or_default().events.push(*event);
            }
            _ => fold.note_event_figures(event),
        }
    }

    fn release(&mut self, decided: u64, fold: &mut Fold) {
        if decided == self.decided {
            return;
        }
        fold.extend_to(self.shared.end());
        let (shared, seconds) = (&self.shared, self.shared.seconds());
        let is_aside = |second: u64| second < seconds && shared.found(second) != 0;
        if let Some(machine) = &mut self.machine {
            machine.decide(decided, is_aside);
        }
        while self.decided < decided.min(self.shared.seconds()) {
            let found = self.shared.found(self.decided);
            if found != 0 {
                fold.set_aside(self.decided, found);
            }
            self.waiting.remove(&self.decided).unwrap_or_default().count(fold);
            self.decided += 1;
        }
        if decided > self.decided {
            // Beyond the end of the load.
            self.decided = decided;
            let later = std::mem::take(&mut self.waiting);
            later.into_values().for_each(|waiting| waiting.count(fold));
        }
    }

    /// All workers have ended: everything is decided.
    pub fn end(&mut self, fold: &mut Fold) {
        self.release(u64::MAX, fold);
    }
}
