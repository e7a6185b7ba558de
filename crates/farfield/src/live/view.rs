//! Content of the live view: the figures so far, and what keys have chosen.

use crate::live::figures::{Figures, RunFacts};
use crate::live::keys::{KeyAction, Request, Tab};
use farfield_base::Instant;
use farfield_measure::series::SeriesRow;
use std::collections::VecDeque;

/// Seconds that charts show at most.
const HISTORY: usize = 3600;

/// The state of the view.
#[derive(Debug)]
pub struct View {
    pub facts: RunFacts,
    pub figures: Figures,
    /// A row for each second that is over, the latest at the end.
    pub history: VecDeque<SeriesRow>,
    pub tab: Tab,
    pub paused: bool,
    /// Lines that tables are scrolled down by.
    pub scrolled: u16,
    pub colour: bool,
    /// The run has been asked to end.
    pub ending: bool,
    /// The run has ended: its figures are the last, and all checks are made.
    pub ended: bool,
    /// The instant at which the figures came, by the view's clock.
    came: Instant,
}

impl View {
    /// A view of a run that has not begun.
    pub fn new(facts: RunFacts, colour: bool) -> View {
        View {
            facts,
            figures: Figures::default(),
            history: VecDeque::new(),
            tab: Tab::default(),
            paused: false,
            scrolled: 0,
            colour,
            ending: false,
            ended: false,
            came: Instant::ZERO,
        }
    }

    /// Takes figures that came at `at`. A paused view keeps what it shows; only the rows of seconds, of which
    /// none may be missing later, are added behind it.
    pub fn take(&mut self, figures: Figures, at: Instant) {
        if let Some(first) = figures.rows.first() {
            while self.history.back().is_some_and(|row| row.second >= first.second) {
                self.history.pop_back();
            }
        }
        self.history.extend(figures.rows.iter().cloned());
        self.facts.measure_to = self.facts.measure_to.max(figures.measure_to);
        while self.history.len() > HISTORY {
            self.history.pop_front();
        }
        if !self.paused {
            self.figures = figures;
            self.came = at;
        }
    }

    /// The instant of the run at `at` of the view's clock. Between figures the clock goes on; virtual time
    /// and a paused view do not.
    pub fn now(&self, at: Instant) -> Instant {
        match self.paused || self.facts.virtual_time {
            true => self.figures.now,
            false => self.figures.now + at.since(self.came),
        }
    }

    /// The rows of the seconds that are shown.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &SeriesRow> {
        let until = self.figures.now;
        self.history.iter().filter(move |row| Instant::from_ns(row.second * 1_000_000_000) < until)
    }

    /// Acts on a key; returns what it asks of the run.
    pub fn handle_key(&mut self, key: KeyAction) -> Option<Request> {
        match key {
            KeyAction::Show(tab) => self.show(tab),
            KeyAction::Next => self.show(self.tab.next()),
            KeyAction::Pause => self.paused = !self.paused,
            KeyAction::Up => self.scrolled = self.scrolled.saturating_sub(1),
            KeyAction::Down => self.scrolled = self.scrolled.saturating_add(1),
            KeyAction::Ask(request) => return Some(request),
        }
        None
    }

    fn show(&mut self, tab: Tab) {
        (self.tab, self.scrolled) = (tab, 0);
    }

    /// The run has been asked to end.
    pub fn note_ending(&mut self) {
        self.ending = true;
    }
}
