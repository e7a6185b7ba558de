//! The figures of a run as lines of JSON: `farfield run --format jsonl`, which other programs read, the
//! workbench among them.
//!
//! The first line describes the run, a line follows each second, and the last has the result. They are
//! written by a thread of their own: a reader that is slow loses lines, whose rows come with the next, and
//! delays nothing. A reader that is gone ends the run, as the end of a pipeline does, and what was measured
//! is kept.

use super::figures::{Figures, RunFacts};
use super::{PATIENCE, WAITING};
use crate::output;
use crate::problem::Problem;
use farfield_base::{Duration, Instant};
use farfield_engine::Run;
use farfield_measure::Summary;
use farfield_measure::series::SeriesRow;
use farfield_os::processors;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// Facts known before the run: the first line.
    Run(RunLine),
    /// The figures so far.
    Figures(Box<FiguresLine>),
    /// The result: the last line.
    Result(Box<ResultLine>),
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RunLine {
    pub directory: PathBuf,
    target: String,
    load: String,
    plane: String,
    measure_from_ns: u64,
    measure_to_ns: u64,
    #[serde(default)]
    cool_down_ns: u64,
    virtual_time: bool,
    /// Instants at which the network changes, with what begins there.
    #[serde(default)]
    changes: Vec<(u64, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct FiguresLine {
    now_ns: u64,
    measure_to_ns: u64,
    rows: Vec<SeriesRow>,
    connections: u64,
    in_system: u64,
    summary: Option<Summary>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ResultLine {
    pub directory: PathBuf,
    pub exit: u8,
    pub summary: Summary,
}

impl RunLine {
    pub fn of(facts: &RunFacts, directory: &Path) -> RunLine {
        RunLine {
            directory: directory.to_owned(),
            target: facts.target.clone(),
            load: facts.load.clone(),
            plane: facts.plane.clone(),
            measure_from_ns: facts.measure_from.as_ns(),
            measure_to_ns: facts.measure_to.as_ns(),
            cool_down_ns: facts.cool_down.as_ns(),
            virtual_time: facts.virtual_time,
            changes: facts.changes.iter().map(|(at, words)| (at.as_ns(), words.clone())).collect(),
        }
    }

    /// The facts of the run for the live view.
    pub fn facts(self) -> RunFacts {
        RunFacts {
            target: self.target,
            load: self.load,
            plane: self.plane,
            measure_from: Instant::from_ns(self.measure_from_ns),
            measure_to: Instant::from_ns(self.measure_to_ns),
            cool_down: Duration::from_ns(self.cool_down_ns),
            virtual_time: self.virtual_time,
            changes: self.changes.into_iter().map(|(at, words)| (Instant::from_ns(at), words)).collect(),
        }
    }
}

impl FiguresLine {
    fn of(figures: Figures) -> FiguresLine {
        let Figures { now, measure_to, rows, connections, in_system, summary } = figures;
        let (now_ns, measure_to_ns) = (now.as_ns(), measure_to.as_ns());
        FiguresLine { now_ns, measure_to_ns, rows, connections, in_system, summary }
    }

    /// The figures as the live view takes them.
    pub fn figures(self) -> Figures {
        let FiguresLine { now_ns, measure_to_ns, rows, connections, in_system, summary } = self;
        let (now, measure_to) = (Instant::from_ns(now_ns), Instant::from_ns(measure_to_ns));
        Figures { now, measure_to, rows, connections, in_system, summary }
    }
}

/// A line of text.
fn text(line: &Line) -> String {
    let mut text = serde_json::to_string(line).expect("names are strings and numbers are finite");
    text.push('\n');
    text
}

/// The last line.
pub fn result(directory: &Path, exit: u8, summary: &Summary) -> String {
    let result = ResultLine { directory: directory.to_owned(), exit, summary: summary.clone() };
    text(&Line::Result(Box::new(result)))
}

/// The lines of a run on their way.
pub struct FigureLines {
    figures: SyncSender<Figures>,
    next_second: usize,
    written: Receiver<()>,
}

impl FigureLines {
    /// Begins the lines of a run; `stop` ends the run.
    pub fn begin(run: &Run, directory: &Path, stop: &Arc<AtomicBool>) -> Result<FigureLines, Problem> {
        let first = Line::Run(RunLine::of(&RunFacts::of(run), directory));
        let (figures, to_write) = sync_channel(WAITING);
        let (ending, written) = channel();
        let stop = Arc::clone(stop);
        let spawned = thread::Builder::new().name("figures".to_owned()).spawn(move || {
            // Where it cannot be lowered, the thread still yields to workers as any thread does.
            let _ = processors::set_background();
            write(&first, &to_write, &stop);
            drop(ending);
        });
        spawned.map_err(|error| Problem::failed(format!("cannot start a thread: {error}")))?;
        Ok(FigureLines { figures, next_second: 0, written })
    }

    /// Hands over the progress of the run.
    pub fn update(&mut self, run: &farfield_engine::Progress<'_>) {
        let mut next = self.next_second;
        if self.figures.try_send(Figures::of(run, &mut next)).is_ok() {
            self.next_second = next;
        }
    }

    /// Waits until the lines are written, or for a while; the result is written after them.
    pub fn end(self) {
        drop(self.figures);
        // An error means either that all is written, or that the reader is slow: the result comes then as
        // soon as it takes it.
        let _ = self.written.recv_timeout(PATIENCE.to_std());
    }
}

fn write(first: &Line, figures: &Receiver<Figures>, stop: &AtomicBool) {
    let figures = figures.iter().map(|figures| text(&Line::Figures(Box::new(FiguresLine::of(figures)))));
    for line in std::iter::once(text(first)).chain(figures) {
        if !output::put_line(&line) {
            stop.store(true, Ordering::Relaxed);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let row = SeriesRow { second: 3, offered: 5, response_p99_ns: Some(7), ..SeriesRow::default() };
        let figures = Figures {
            now: Instant::from_ns(4),
            measure_to: Instant::from_ns(9),
            rows: vec![row],
            connections: 1,
            in_system: 2,
            summary: None,
        };
        let line = text(&Line::Figures(Box::new(FiguresLine::of(figures.clone()))));
        assert_eq!(line.matches('\n').count(), 1);
        let Line::Figures(read) = serde_json::from_str(&line).expect("a line") else { panic!("{line}") };
        let read = read.figures();
        assert_eq!((read.now, read.measure_to), (figures.now, figures.measure_to));
        assert_eq!((read.rows, read.connections), (figures.rows, 1));
        assert!(line.contains("\"kind\":\"figures\""), "{line}");
    }
}
