//! The collector: takes the samples of all workers, folds them and keeps the run directory up to date.
//!
//! It runs on the thread that started the run and stands back for the workers, since one that waits meanwhile sends late
//! ([`Pace`]). Once a second it writes a checkpoint, tells how the run goes, and asks whether it should go on.

mod pace;
mod seat;

use crate::outbox::{Beat, Parcel, Returns};
use crate::run_directory::{DiskSamples, RunDirectory, RunDirectoryError};
use farfield_base::{Duration, Instant, Sample};
use farfield_measure::samples::{Keep, SamplesWriteError, SamplesWriter};
use farfield_measure::summary::Asked;
use farfield_measure::{EngineFacts, Fold, Summary, Threshold};
pub(crate) use pace::Pace;
pub(crate) use seat::Seat;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

const CHECKPOINT: Duration = Duration::from_secs(1);
/// Samples that are taken without a pause: a few microseconds of work.
const PIECE: usize = 32;

/// How a run goes, told once a second.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The time of the run.
    pub now: Instant,
    /// All that was measured so far.
    pub fold: &'a Fold,
    /// All workers' standing, added up.
    pub standing: Beat,
}

/// What a run keeps on disk.
pub(crate) struct Keeping {
    pub directory: RunDirectory,
    pub samples: SamplesWriter<DiskSamples>,
    /// Which samples were asked for.
    pub keep: Keep,
}

pub(crate) struct Collector<'a> {
    pub fold: Fold,
    pub facts: EngineFacts,
    pub keeping: Option<Keeping>,
    pub asked: Asked<'a>,
    /// Breaking one of these ends the run.
    pub aborts: &'a [Threshold],
    beats: Vec<Beat>,
    samples_refused: Option<SamplesWriteError>,
    directory_refused: Option<RunDirectoryError>,
    next_checkpoint: Instant,
    pace: Rc<Pace>,
    seat: Seat,
}

/// Whether the run should go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Course {
    GoOn,
    /// A threshold that aborts is broken.
    Abort(String),
}

impl<'a> Collector<'a> {
    pub fn new(
        fold: Fold,
        workers: usize,
        asked: Asked<'a>,
        aborts: &'a [Threshold],
        keeping: Option<Keeping>,
        pace: Pace,
    ) -> Collector<'a> {
        let pace = Rc::new(pace);
        let keeping = keeping.map(|Keeping { directory, samples, keep }| {
            let pace = Rc::clone(&pace);
            Keeping { directory, samples: samples.pausing(move || pace.breathe()), keep }
        });
        Collector {
            fold,
            facts: EngineFacts::default(),
            keeping,
            asked,
            aborts,
            beats: vec![Beat::default(); workers],
            samples_refused: None,
            directory_refused: None,
            next_checkpoint: Instant::ZERO + CHECKPOINT,
            pace,
            seat: Seat::anywhere(),
        }
    }

    /// The same, working where `seat` takes it.
    pub fn seated(self, seat: Seat) -> Collector<'a> {
        Collector { seat, ..self }
    }

    /// Collects until all workers are gone. `now` tells the time of the run; `tell` is called once a second, and
    /// `abort` with the reason when the run should end.
    pub fn collect(
        &mut self,
        parcels: &Receiver<Parcel>,
        returns: &[Returns],
        now: impl Fn() -> Instant,
        mut tell: impl FnMut(&Progress<'_>),
        mut abort: impl FnMut(),
    ) {
        loop {
            if let Ok(parcel) = parcels.try_recv() {
                self.pace.came_at_once();
                self.take(parcel, returns);
            } else {
                let wait = self.next_checkpoint.since(now());
                let parcel = parcels.recv_timeout(wait.to_std());
                self.pace.rested();
                match parcel {
                    Ok(parcel) => self.take(parcel, returns),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            let now = now();
            self.seat.look(now, self.pace.at_once());
            if now >= self.next_checkpoint {
                self.next_checkpoint = now + CHECKPOINT;
                self.checkpoint(now);
                tell(&Progress { now, fold: &self.fold, standing: self.standing() });
                if let Course::Abort(reason) = self.course(now) {
                    self.facts.interrupted.get_or_insert(reason);
                    abort();
                }
            }
        }
    }

    fn take(&mut self, mut parcel: Parcel, returns: &[Returns]) {
        for piece in parcel.samples.chunks(PIECE) {
            self.record(piece);
            self.pace.breathe();
        }
        self.beats[parcel.worker] = parcel.beat;
        parcel.samples.clear();
        // A worker that has ended takes nothing back.
        let _ = returns[parcel.worker].try_send(parcel.samples);
    }

    /// Folds samples, and keeps them as far as they are asked for.
    pub fn record(&mut self, samples: &[Sample]) {
        for sample in samples {
            self.fold.record(sample);
        }
        if let Some(keeping) = &mut self.keeping
            && self.samples_refused.is_none()
            && let Err(error) = keeping.samples.write(samples)
        {
            self.samples_refused = Some(error);
        }
    }

    fn standing(&self) -> Beat {
        self.beats.iter().fold(Beat::default(), |sum, beat| Beat {
            connections: sum.connections + beat.connections,
            in_system: sum.in_system + beat.in_system,
            connects: sum.connects + beat.connects,
        })
    }

    /// Leaves on disk what was measured so far. A disk that refuses does not end the run: what was measured is still
    /// told at its end, with a warning.
    fn checkpoint(&mut self, now: Instant) {
        self.facts.connections_open.push(self.standing().connections);
        let Some(keeping) = &mut self.keeping else { return };
        if self.samples_refused.is_none()
            && let Err(error) = keeping.samples.checkpoint()
        {
            self.samples_refused = Some(error);
        }
        let summary =
            Summary::checkpoint(self.asked, &self.fold, &mut self.facts, now, &|| self.pace.breathe());
        self.pace.breathe();
        let text = summary.to_json();
        self.pace.breathe();
        if let Err(error) = keeping.directory.replace("summary.json", text.as_bytes()) {
            self.directory_refused.get_or_insert(error);
        }
    }

    fn course(&self, now: Instant) -> Course {
        // A second of the steady part must have passed: the first requests of all say little.
        if self.fold.window().elapsed(now) < CHECKPOINT {
            return Course::GoOn;
        }
        match self.aborts.iter().find(|threshold| threshold.broken(&self.fold, now)) {
            Some(threshold) => Course::Abort(format!("the threshold {threshold} was broken")),
            None => Course::GoOn,
        }
    }

    /// Ends the samples file, and tells what was left out of it.
    pub fn finish_samples(&mut self) -> Option<RunDirectory> {
        let Keeping { directory, mut samples, keep } = self.keeping.take()?;
        self.facts.warnings.extend(self.directory_refused.take().map(|error| error.to_string()));
        let left_out_before = samples.left_out();
        let written = match (self.samples_refused.take(), &self.facts.interrupted) {
            (Some(error), _) => Err(error),
            // The file of a run that was ended early holds all rows, and is not marked as complete.
            (None, Some(_)) => samples.checkpoint().map(|()| (samples.kept(), samples.left_out())),
            (None, None) => samples.finish().map(|written| (written.kept, written.left_out)),
        };
        match written {
            Err(error) => {
                self.facts.samples_lost += left_out_before.max(1);
                self.facts.warnings.push(format!("{error}; it holds what was written before"));
            }
            Ok((kept, left_out)) if kept < asked_for(keep, kept + left_out) => {
                self.facts.warnings.push(format!(
                    "the disk budget is spent: samples.parquet holds {kept} samples; {left_out} were left out"
                ))
            }
            Ok(_) => {}
        }
        Some(directory)
    }
}

/// How many of `all` samples are to be kept.
fn asked_for(keep: Keep, all: u64) -> u64 {
    match keep {
        Keep::All => all,
        Keep::EveryKth(k) => all.div_ceil(k.get().into()),
        Keep::None => 0,
    }
}
