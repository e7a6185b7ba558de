//! The view drawn into a buffer: what is on it, at every size, with hostile names and without colour.

use super::*;
use crate::live::figures::{Figures, RunFacts};
use farfield_base::{Duration, Outcome, Window};
use farfield_measure::series::SeriesRow;
use farfield_measure::summary::SummaryContext;
use farfield_measure::{EngineStats, Fold, Heading, LoadKind, Summary, VerdictLimits};
use farfield_testkit::samples::request;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// A summary of four requests of 10 ms and one that timed out.
fn summary() -> Summary {
    let heading = Heading {
        farfield: "0".to_owned(),
        note: None,
        path: None,
        scenario: "test".to_owned(),
        target: "http://127.0.0.1/".to_owned(),
        seed: 1,
        load: LoadKind::Open,
        load_words: "open".to_owned(),
        started_at: String::new(),
    };
    let window = Window { measure_from: at(1000), measure_to: at(11_000) };
    let mut fold = Fold::of_classes(window, &["near".to_owned(), "far".to_owned()]);
    for number in 0..5_u64 {
        let due = at(2000 + number * 100);
        let outcome = if number == 4 { Outcome::TimedOut } else { Outcome::Ok };
        fold.record(&request(due, due + Duration::from_ms(10), outcome));
    }
    let limits = VerdictLimits::default();
    let context = SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
    Summary::checkpoint(context, &fold, &mut EngineStats::default(), at(5000), &|| {})
}

fn view() -> View {
    let facts = RunFacts {
        target: "http://127.0.0.1:8080/index.html".to_owned(),
        load: "open, 500/s".to_owned(),
        plane: "sockets".to_owned(),
        measure_from: at(1000),
        measure_to: at(11_000),
        cool_down: Duration::ZERO,
        virtual_time: false,
        changes: Vec::new(),
    };
    let row = |second| SeriesRow {
        second,
        offered: 500 + second,
        sent: 500,
        completed: 499,
        response_p50_ns: Some(2_000_000),
        response_p99_ns: Some(9_000_000),
        ..SeriesRow::default()
    };
    let mut view = View::new(facts, true);
    let figures = Figures {
        now: at(5000),
        measure_to: at(11_000),
        rows: (0..5).map(row).collect(),
        connections: 64,
        in_system: 3,
        summary: Some(summary()),
    };
    view.take(figures, at(5000));
    view
}

/// The screen of a view, a string a line.
fn screen(view: &View, columns: u16, lines: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, view, at(5000))).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let cells = buffer.content().chunks(usize::from(columns));
    cells.map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect()).collect()
}

#[track_caller]
fn shows(screen: &[String], text: &str) {
    assert!(screen.iter().any(|line| line.contains(text)), "no {text:?} in\n{}", screen.join("\n"));
}

#[test]
fn headline_and_charts_fit_80_by_24() {
    let screen = screen(&view(), 80, 24);
    shows(&screen, "http://127.0.0.1:8080/index.html");
    shows(&screen, "measuring, 6 s left");
    shows(&screen, "504/s");
    shows(&screen, "3 requests");
    shows(&screen, "64 connections");
    shows(&screen, "response    10.0ms");
    shows(&screen, "4 ok of 5, 20% errors");
    shows(&screen, "▪ offered  ▪ completed");
    shows(&screen, "[1 charts]");
    assert!(
        screen.iter().any(|line| line.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c))),
        "a curve"
    );
}

/// A view in which every text is long: none is cut but with an ellipsis, and none runs into the next.
#[test]
fn nothing_is_cut_in_the_middle_of_a_word_and_nothing_overlaps() {
    let mut view = view();
    (view.figures.connections, view.figures.in_system) = (1_234_567, 7_654_321);
    let summary = view.figures.summary.as_mut().unwrap();
    summary.steady.requests = 123_456_789;
    summary.steady.outcomes[0].count = 123_456_780;
    summary.classes[0].name = "a class with a name that is far too long".to_owned();
    view.facts.target = format!("http://127.0.0.1/{}", "long/".repeat(40));
    for check in &mut summary.verdict.checks {
        (check.state, check.note) = (CheckState::Failed, Some("a note of several words. ".repeat(9)));
        check.advice = Some("do what has to be done about it, ".repeat(5));
    }
    let words: Vec<String> = [" 1,234,567 connections", " 7,654,321 requests", "p99.9     max"]
        .map(str::to_owned)
        .into_iter()
        .collect();
    for (columns, lines) in [(80, 24), (200, 60)] {
        for tab in Tab::ALL {
            view.tab = tab;
            let screen = screen(&view, columns, lines);
            words.iter().for_each(|text| shows(&screen, text));
            shows(&screen, "q ends the run");
            let errors =
                screen.iter().find(|line| line.contains("outcomes ") && line.contains("ok")).unwrap();
            assert!(errors.trim_end().ends_with("errors"), "{errors}");
        }
        view.tab = Tab::Tables;
        let shown = screen(&view, columns, lines);
        shows(&shown, "a class with a name … ");
        view.tab = Tab::Verdict;
        let shown = screen(&view, columns, lines);
        let whole: std::collections::BTreeSet<&str> =
            "a note of several words. do what has to be done about it,".split(' ').collect();
        let mut notes = shown.iter().skip_while(|line| !line.contains("a note of"));
        let words = notes.by_ref().take_while(|line| line.starts_with("         ")).map(String::as_str);
        let words: Vec<&str> = words.flat_map(str::split_whitespace).collect();
        let wrong: Vec<&&str> = words.iter().filter(|word| !whole.contains(**word)).collect();
        assert!(words.len() > 60 && wrong.is_empty(), "{wrong:?} in\n{}", shown.join("\n"));
    }
}

#[test]
fn tables_list_outcomes_and_classes() {
    let mut view = view();
    view.tab = Tab::Tables;
    let screen = screen(&view, 80, 24);
    shows(&screen, "timed-out");
    shows(&screen, "near");
    shows(&screen, "far");
}

#[test]
fn the_verdict_counts_no_run_as_failed_because_it_goes_on() {
    let mut view = view();
    view.tab = Tab::Verdict;
    let all = screen(&view, 120, 60);
    assert!(!all.iter().any(|line| line.contains("completed:")), "{all:?}");
    let checks = &mut view.figures.summary.as_mut().unwrap().verdict.checks;
    let check = checks.iter_mut().find(|one| one.name == "send-lateness");
    let check = check.expect("a check of the lateness");
    (check.state, check.advice) = (CheckState::Failed, Some("give it a processor".to_owned()));
    let screen = screen(&view, 120, 60);
    shows(&screen, "failed   send-lateness");
    shows(&screen, "give it a processor");
    shows(&screen, "INVALID so far: send-lateness");
}

#[test]
fn no_size_is_too_small() {
    for tab in Tab::ALL {
        for (columns, lines) in [(1, 1), (10, 3), (40, 12), (80, 24), (200, 60), (500, 5)] {
            let mut view = view();
            view.tab = tab;
            screen(&view, columns, lines);
            screen(&View::new(view.facts.clone(), false), columns, lines);
        }
    }
}

#[test]
fn hostile_names_move_no_cursor() {
    let mut view = view();
    let hostile = "\x1b[2J\u{9b}31m\u{202e}name";
    view.facts.target = hostile.to_owned();
    view.figures.summary.as_mut().unwrap().classes[0].name = hostile.to_owned();
    view.tab = Tab::Tables;
    let screen = screen(&view, 80, 24);
    let found = screen.concat();
    assert!(!found.contains(['\x1b', '\u{9b}', '\u{202e}']), "{found:?}");
    // The drawing leaves such characters out by itself: here they are written out.
    let written_out = screen.iter().filter(|line| line.contains("\\u001B[2J"));
    assert_eq!(written_out.count(), 2, "{screen:?}");
}

#[test]
fn without_colour_no_cell_has_one() {
    let mut view = view();
    view.colour = false;
    for tab in Tab::ALL {
        view.tab = tab;
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &view, at(5000))).unwrap();
        let cells = terminal.backend().buffer().content();
        assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    }
}

/// Seconds that are set aside make the run longer: the time that is left is of the end as it stands.
#[test]
fn the_measured_part_ends_when_it_now_does() {
    let mut view = view();
    shows(&screen(&view, 80, 24), "6 s left");
    view.take(Figures { now: at(5000), measure_to: at(14_000), ..Figures::default() }, at(5000));
    shows(&screen(&view, 80, 24), "9 s left");
}

#[test]
fn a_paused_view_keeps_its_figures_and_misses_no_second() {
    let mut view = view();
    assert_eq!(view.handle_key(crate::live::keys::KeyAction::Pause), None);
    let row = |second| SeriesRow { second, offered: 7, ..SeriesRow::default() };
    view.take(Figures { now: at(7000), rows: vec![row(5), row(6)], ..Figures::default() }, at(7000));
    shows(&screen(&view, 80, 24), "display paused");
    assert_eq!(view.shown().count(), 5);
    view.handle_key(crate::live::keys::KeyAction::Pause);
    view.take(Figures { now: at(8000), rows: vec![row(7)], ..Figures::default() }, at(8000));
    assert_eq!(view.shown().map(|row| row.second).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
}
