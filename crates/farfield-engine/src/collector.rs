//! The collector: receives the samples of all workers, folds them and keeps the run directory up to date.
//!
//! It runs on the thread that started the run, with a low priority and frequent pauses ([`Pace`]), since a
//! worker that waits for the processor sends late. Once a second it writes a checkpoint, reports progress,
//! and checks whether to go on.

mod pace;
mod processor;
mod reports;
mod side_files;

use crate::machine::ProcessorWork;
use crate::memory::MemoryBounds;
use crate::run_directory::{DiskSamples, Reserve, RunDirectory, RunDirectoryError};
use crate::sample_channel::{Chunk, ChunkReturn, LiveCounts, give_back};
use crate::set_aside::Gate;
use crate::sockets::PeerBook;
use farfield_base::{Duration, Instant, Note, Opened, ReplyEvent, Sample};
use farfield_measure::events::{EVENTS_FILE, EventsWriter};
use farfield_measure::parts::{PartClock, PartLabel};
use farfield_measure::samples::{Keep, SamplesWriteError, SamplesWriter};
use farfield_measure::summary::SummaryContext;
use farfield_measure::table::ParquetError;
use farfield_measure::{EngineStats, Fold, MonitorLog, Summary, Threshold};
pub(crate) use pace::Pace;
pub(crate) use processor::CollectorProcessor;
use reports::Reports;
pub(crate) use side_files::{HISTOGRAMS, SERIES, SideFiles};
use std::fs::File;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

const CHECKPOINT: Duration = Duration::from_secs(1);
/// Number of samples folded without a pause: a few microseconds of work.
const PIECE: usize = 32;

/// Progress of a run, reported once a second, and a last time with the result.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Time since the start of the run.
    pub now: Instant,
    /// The instant up to which the measurements are whole: what ended since may still be on its way.
    pub folded_to: Instant,
    /// All measurements so far.
    pub fold: &'a Fold,
    /// The live counts of all workers, added up.
    pub live: LiveCounts,
    /// The summary so far, as it was written last; `None` where the run writes no files.
    pub summary: Option<&'a Summary>,
    /// True for the last report of a run: all workers have ended, and the summary is the result.
    pub ended: bool,
    pace: &'a Pace,
}

impl Progress<'_> {
    /// Lets a worker on the same processor run, if it is time to; called between pieces of work of tens of
    /// microseconds.
    pub fn pause(&self) {
        self.pace.pause_if_due();
    }
}

/// Files that a run writes.
pub(crate) struct RunFiles {
    pub directory: RunDirectory,
    pub samples: SamplesWriter<DiskSamples>,
    /// The samples to keep.
    pub keep: Keep,
    /// Reserved space for the result on a disk that samples have filled.
    pub reserve: Reserve,
    /// Writer of events of streams, once there are any that are kept.
    pub events: Option<EventsWriter<File>>,
    /// Bytes that the file of events may have.
    pub events_budget: u64,
    /// No more of them are kept.
    pub events_refused: bool,
    /// Writer of the series and histograms during the run; `None` if it could not be started.
    pub side_files: Option<SideFiles>,
}

impl RunFiles {
    /// Writes events of a stream, where all samples are kept. A file that the disk does not take, or that
    /// outgrows the budget, is removed: a part of it would be taken for all.
    fn write_event(&mut self, event: &ReplyEvent) -> Result<(), EventsRefused> {
        if self.keep != Keep::All || self.events_refused {
            return Ok(());
        }
        let written = self.try_write_event(event);
        if written.is_err() {
            (self.events, self.events_refused) = (None, true);
            // One that cannot be removed is left as it is: no reader takes a file without an end.
            let _ = self.directory.remove(EVENTS_FILE);
        }
        written
    }

    fn try_write_event(&mut self, event: &ReplyEvent) -> Result<(), EventsRefused> {
        let refuse = |error: ParquetError| self.directory.refused(EVENTS_FILE, io::Error::other(error));
        let events = match &mut self.events {
            Some(events) => events,
            None => {
                let file = self.directory.begin(EVENTS_FILE)?;
                self.events.insert(EventsWriter::begin(file).map_err(refuse)?)
            }
        };
        events.write(event).map_err(refuse)?;
        if events.bytes() > self.events_budget { Err(EventsRefused::Budget) } else { Ok(()) }
    }
}

/// Why events are not kept any more.
#[derive(Debug, thiserror::Error)]
enum EventsRefused {
    /// The file has outgrown the disk budget.
    #[error("the disk budget is spent")]
    Budget,
    /// The disk refuses.
    #[error(transparent)]
    Disk(#[from] RunDirectoryError),
}

pub(crate) struct Collector<'a> {
    pub fold: Fold,
    pub stats: EngineStats,
    pub files: Option<RunFiles>,
    pub context: SummaryContext<'a>,
    /// Thresholds that end the run once they are broken.
    pub aborts: &'a [Threshold],
    /// The part of the run, where there are others.
    pub part: Option<PartLabel>,
    /// Readings of monitors, once they have ended.
    pub monitored: Option<MonitorLog>,
    /// Counts by address of the server's, where connections go to several.
    peers: Option<&'a Arc<PeerBook>>,
    /// Holds samples back until it is decided whether their seconds are set aside, if any may be.
    gate: Option<Gate>,
    reports: Reports,
    /// Connections begun, if they were noted.
    pub opened: Option<Vec<Opened>>,
    samples_refused: Option<SamplesWriteError>,
    directory_refused: Option<RunDirectoryError>,
    /// Number of failures in the failures file.
    failures_left: usize,
    /// The summary of the last checkpoint.
    latest: Option<Summary>,
    next_checkpoint: Instant,
    pace: Rc<Pace>,
    processor: CollectorProcessor,
}

impl<'a> Collector<'a> {
    pub fn new(
        fold: Fold,
        workers: usize,
        context: SummaryContext<'a>,
        aborts: &'a [Threshold],
        files: Option<RunFiles>,
        pace: Pace,
    ) -> Collector<'a> {
        let pace = Rc::new(pace);
        let files = files.map(|files| {
            let pace = Rc::clone(&pace);
            RunFiles { samples: files.samples.pausing(move || pace.pause_if_due()), ..files }
        });
        Collector {
            fold,
            stats: EngineStats::default(),
            files,
            context,
            aborts,
            part: None,
            monitored: None,
            peers: None,
            gate: None,
            reports: Reports::new(workers),
            samples_refused: None,
            directory_refused: None,
            opened: None,
            failures_left: 0,
            latest: None,
            next_checkpoint: Instant::ZERO + CHECKPOINT,
            pace,
            processor: CollectorProcessor::unbound(),
        }
    }

    /// Sets the part of the run whose samples these are.
    pub fn of_part(self, part: Option<PartLabel>) -> Collector<'a> {
        Collector { part, ..self }
    }

    /// Notes the clock of a part whose start came from others.
    pub fn of_clock(&mut self, clock: Option<PartClock>) {
        if let Some(part) = &mut self.part {
            part.clock = clock;
        }
    }

    /// Sets the collector's processor.
    pub fn on_processor(self, processor: CollectorProcessor) -> Collector<'a> {
        Collector { processor, ..self }
    }

    /// Takes what is counted by address of the server's from `peers`.
    pub fn counting_by(self, peers: Option<&'a Arc<PeerBook>>) -> Collector<'a> {
        Collector { peers, ..self }
    }

    /// Records what was counted by address so far.
    pub fn count_by_address(&mut self) {
        if let Some(peers) = self.peers {
            self.stats.addresses = peers.stats();
        }
    }

    /// Sets what holds samples back.
    pub fn behind(self, gate: Option<Gate>) -> Collector<'a> {
        Collector { gate, ..self }
    }

    /// The work of processors in seconds that are set aside.
    pub fn machine_aside(&self) -> ProcessorWork {
        self.gate.as_ref().map(Gate::machine_aside).unwrap_or_default()
    }

    /// Collects until all workers have ended. `now` is the run's clock; `on_progress` is called once a
    /// second, and `abort` when a threshold ends the run.
    pub fn collect(
        &mut self,
        chunks: &Receiver<Chunk>,
        returns: &[ChunkReturn],
        now: impl Fn() -> Instant,
        mut on_progress: impl FnMut(&Progress<'_>),
        mut abort: impl FnMut(),
    ) {
        let memory = MemoryBounds::find();
        loop {
            if let Ok(chunk) = chunks.try_recv() {
                self.pace.count_immediate();
                self.take(chunk, returns);
            } else {
                let received_to = now();
                self.reports.received_all(received_to);
                let wait = self.next_checkpoint.since(received_to);
                let chunk = chunks.recv_timeout(wait.to_std());
                self.pace.count_wait();
                match chunk {
                    Ok(chunk) => self.take(chunk, returns),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        if let Some(gate) = &mut self.gate {
                            gate.end(&mut self.fold);
                        }
                        return;
                    }
                }
            }
            let now = now();
            if let Some(gate) = &mut self.gate {
                gate.look(now, &mut self.fold);
            }
            if let Some(RunFiles { side_files: Some(side_files), directory, .. }) = &mut self.files
                && let Err(error) = side_files.write(directory)
            {
                self.directory_refused.get_or_insert(error);
            }
            self.processor.reconsider(now, self.pace.backlog());
            if now >= self.next_checkpoint {
                self.next_checkpoint = now + CHECKPOINT;
                self.stats.warnings.extend(self.reports.look(now));
                let live = self.reports.sum();
                // Samples that ended since may still be on their way: rates are over the time that is whole.
                let folded_to = live.at;
                self.stats.connections_open.push(live.connections);
                if self.stats.memory_short.is_none() {
                    let short = memory.shortage();
                    self.stats.memory_short =
                        short.map(|short| format!("after {:.1} s {short}", now.as_secs_f64()));
                }
                self.checkpoint(folded_to);
                on_progress(&self.progress(now, live));
                if let Some(reason) = self.broken_abort(folded_to) {
                    self.stats.interrupted.get_or_insert(reason);
                    abort();
                }
            }
        }
    }

    /// Progress up to `now`, with these counts.
    pub fn progress(&self, now: Instant, live: LiveCounts) -> Progress<'_> {
        let summary = self.latest.as_ref();
        let folded_to = live.at.min(now);
        Progress { now, folded_to, fold: &self.fold, live, summary, ended: false, pace: &self.pace }
    }

    /// The last progress, at the end of a run with this result.
    pub fn last_progress<'b>(&'b self, now: Instant, summary: &'b Summary) -> Progress<'b> {
        let live = LiveCounts::default();
        let (fold, summary) = (&self.fold, Some(summary));
        Progress { now, folded_to: now, fold, live, summary, ended: true, pace: &self.pace }
    }

    fn take(&mut self, chunk: Chunk, returns: &[ChunkReturn]) {
        for piece in chunk.samples.chunks(PIECE) {
            self.record(piece);
            self.pace.pause_if_due();
        }
        self.note(&chunk.notes);
        self.reports.take(chunk.worker, chunk.live);
        give_back(&returns[chunk.worker], chunk.samples);
    }

    /// Folds samples, and writes those to keep.
    pub fn record(&mut self, samples: &[Sample]) {
        for sample in samples {
            match &mut self.gate {
                None => self.fold.record(sample),
                Some(gate) => gate.take(sample, &mut self.fold),
            }
        }
        // Seconds of parts add up as long as they are not settled.
        if self.part.is_none() {
            self.fold.settle();
        }
        // After an error the writer only counts samples.
        if let Some(files) = &mut self.files
            && let Err(error) = files.samples.write(samples)
        {
            self.refuse_samples(error);
        }
    }

    /// Folds events of sessions and of replies, and writes the latter.
    pub fn note(&mut self, notes: &[Note]) {
        for note in notes {
            let Note::Event(event) = note else {
                self.fold.note(note);
                continue;
            };
            match &mut self.gate {
                None => self.fold.note(note),
                Some(gate) => gate.take_event(event, &mut self.fold),
            }
            if let Some(files) = &mut self.files
                && let Err(error) = files.write_event(event)
            {
                match error {
                    EventsRefused::Disk(error) => {
                        files.reserve.release();
                        self.directory_refused.get_or_insert(error);
                    }
                    // The file is gone, and with it the space that it took.
                    EventsRefused::Budget => self.stats.warnings.push(format!(
                        "the disk budget is spent: there is no {EVENTS_FILE}, and events are in no file"
                    )),
                }
            }
        }
    }

    /// Records that the disk takes no more samples, and releases the reserved space for the result.
    fn refuse_samples(&mut self, error: SamplesWriteError) {
        self.samples_refused.get_or_insert(error);
        if let Some(files) = &mut self.files {
            files.reserve.release();
        }
    }

    /// Writes the results so far. A disk error does not end the run: its results are still reported at the
    /// end, and lost samples make it invalid.
    pub fn checkpoint(&mut self, now: Instant) {
        self.count_by_address();
        let Some(files) = &mut self.files else { return };
        if let Err(error) = files.samples.checkpoint() {
            self.refuse_samples(error);
        }
        let Some(files) = &mut self.files else { return };
        let pause = || self.pace.pause_if_due();
        let summary = Summary::checkpoint(self.context, &self.fold, &mut self.stats, now, &pause);
        pause();
        let text = summary.to_json();
        pause();
        let mut refused = files.directory.replace("summary.json", text.as_bytes()).err();
        let kept = self.fold.failures().kept();
        if std::mem::replace(&mut self.failures_left, kept) < kept {
            refused = refused.or(files.directory.write_failures(&self.fold).err());
        }
        if let Some(side_files) = &mut files.side_files {
            refused = refused.or(side_files.write(&files.directory).err());
            side_files.copy(&self.fold, &self.stats, now, &pause);
        }
        if let Some(error) = refused {
            files.reserve.release();
            self.directory_refused.get_or_insert(error);
        }
        self.latest = Some(summary);
    }

    /// A sentence about the threshold that ends the run, if one is broken by the measurements up to `now`.
    pub fn broken_abort(&self, now: Instant) -> Option<String> {
        // The first second of the steady part has too few requests to judge by.
        if self.fold.window().elapsed(now) < CHECKPOINT {
            return None;
        }
        let broken = self.aborts.iter().find(|threshold| threshold.broken(&self.fold, now));
        broken.map(|threshold| format!("the threshold {threshold} was broken"))
    }

    /// Ends the samples file, and records how many samples it lacks.
    pub fn finish_samples(&mut self) -> Option<RunDirectory> {
        // The side files are written again at the end; what their thread still holds is dropped.
        let RunFiles { directory, mut samples, keep, events, events_refused, .. } = self.files.take()?;
        if let Some(events) = events.filter(|_| !events_refused)
            && let Err(error) = events.finish()
        {
            self.directory_refused.get_or_insert(directory.refused(EVENTS_FILE, io::Error::other(error)));
        }
        let written = match (self.samples_refused.take(), &self.stats.interrupted) {
            (Some(error), _) => Err(error),
            // The file of a run that was ended early holds all rows, and is not marked as complete.
            (None, Some(_)) => samples.end_early(),
            (None, None) => samples.complete(),
        };
        let (kept, left_out) = (samples.kept(), samples.left_out());
        let lost = asked_for(keep, kept + left_out).saturating_sub(kept);
        match written {
            Err(error) => {
                self.stats.generator.samples_lost += lost;
                self.stats.samples_refused = Some(format!(
                    "{error}; samples.parquet holds the {kept} samples that it took before, and {lost} are lost; \
                     free some space, choose another place with --out or keep fewer with output.samples"
                ));
            }
            Ok(()) if lost > 0 => self.stats.warnings.push(format!(
                "the disk budget is spent: samples.parquet holds {kept} samples; {left_out} were left out"
            )),
            Ok(()) => {}
        }
        Some(directory)
    }

    /// The first error of writing a file of the run directory during the run, if there was one.
    pub fn take_directory_refused(&mut self) -> Option<RunDirectoryError> {
        self.directory_refused.take()
    }
}

/// The number of samples to keep, out of `all`.
fn asked_for(keep: Keep, all: u64) -> u64 {
    match keep {
        Keep::All => all,
        Keep::EveryKth(k) => all.div_ceil(k.get().into()),
        Keep::None => 0,
    }
}

#[cfg(test)]
mod tests;
