//! Problems that end a command: a sentence for the user (what, where, what to do) and an exit code.

use crate::exit::Exit;
use crate::output;
use farfield_scenario::ScenarioError;
use std::fmt;

/// A sentence, and the exit code that goes with it.
#[derive(Debug)]
pub struct Problem {
    exit: Exit,
    sentence: String,
    forbidden: bool,
}

impl Problem {
    /// The command line or the scenario is wrong.
    pub fn usage(sentence: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Usage, sentence: sentence.to_string(), forbidden: false }
    }

    /// Something that is needed is not available.
    pub fn failed(sentence: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Failed, sentence: sentence.to_string(), forbidden: false }
    }

    /// The measurements may not be believed.
    pub fn invalid(sentence: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Invalid, sentence: sentence.to_string(), forbidden: false }
    }

    /// The machine does not allow what the emulated plane needs.
    pub fn forbidden(sentence: impl fmt::Display) -> Problem {
        Problem { forbidden: true, ..Problem::failed(sentence) }
    }

    /// The command was interrupted.
    pub fn interrupted(sentence: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Interrupted, ..Problem::failed(sentence) }
    }

    /// True if the command was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.exit == Exit::Interrupted
    }

    /// Names the place of the problem ahead of it.
    #[must_use]
    pub fn at(mut self, place: &str) -> Problem {
        self.sentence = format!("{place}: {}", self.sentence);
        self
    }

    /// True if another plane might work.
    pub fn is_forbidden(&self) -> bool {
        self.forbidden
    }

    /// Prints the sentence and returns the exit code.
    pub fn print(&self) -> Exit {
        output::put_error(format_args!("farfield: {}\n", self.sentence));
        self.exit
    }
}

impl From<ScenarioError> for Problem {
    fn from(error: ScenarioError) -> Problem {
        match error {
            ScenarioError::Invalid(_) | ScenarioError::Key { .. } => Problem::usage(error),
            ScenarioError::Unavailable(_) => Problem::failed(error),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}
