//! Keys of the live view.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key's request to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// End the run, and keep what was measured.
    Quit,
    /// Ctrl-C.
    Interrupt,
}

/// The content below the headline figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    /// Rates and response times over time.
    #[default]
    Charts,
    /// Outcomes, classes of clients, states of sessions.
    Tables,
    /// The checks of the verdict.
    Verdict,
}

impl Tab {
    /// All of them, in the order of their keys.
    pub const ALL: [Tab; 3] = [Tab::Charts, Tab::Tables, Tab::Verdict];

    /// The name shown.
    pub fn name(self) -> &'static str {
        match self {
            Tab::Charts => "charts",
            Tab::Tables => "outcomes",
            Tab::Verdict => "verdict",
        }
    }

    /// The one behind it.
    pub fn next(self) -> Tab {
        let at = Tab::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Tab::ALL[(at + 1) % Tab::ALL.len()]
    }
}

/// The meaning of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAction {
    Show(Tab),
    Next,
    Pause,
    Up,
    Down,
    Ask(Request),
}

/// The meaning of a key event; `None` if it has none.
pub fn meaning(event: KeyEvent) -> Option<KeyAction> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return (event.code == KeyCode::Char('c')).then_some(KeyAction::Ask(Request::Interrupt));
    }
    Some(match event.code {
        KeyCode::Char('1') => KeyAction::Show(Tab::Charts),
        KeyCode::Char('2') => KeyAction::Show(Tab::Tables),
        KeyCode::Char('3') => KeyAction::Show(Tab::Verdict),
        KeyCode::Tab | KeyCode::Right => KeyAction::Next,
        KeyCode::Char('p' | ' ') => KeyAction::Pause,
        KeyCode::Up | KeyCode::Char('k') => KeyAction::Up,
        KeyCode::Down | KeyCode::Char('j') => KeyAction::Down,
        KeyCode::Char('q') => KeyAction::Ask(Request::Quit),
        _ => return None,
    })
}
