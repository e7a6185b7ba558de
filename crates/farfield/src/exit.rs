//! Exit codes, which scripts may rely on.

use farfield_measure::Summary;
use std::process::ExitCode;

/// Codes that all commands have, with what they mean.
pub const COMMON_CODES: [(&str, &str); 3] = [
    ("0", "it was done"),
    ("1", "farfield, or the machine, could not do it; a sentence says what and why"),
    ("2", "the command line or the scenario is wrong"),
];

/// The end of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Fine,
    /// A fault of farfield or of the machine.
    Failed,
    /// The command line or the scenario is wrong.
    Usage,
    /// Measured, but invalid.
    Invalid,
    /// A threshold failed.
    Threshold,
    /// A broken threshold ended the run.
    Aborted,
    /// Ctrl-C; what was measured is kept.
    Interrupted,
    /// The code of a program that was run.
    OfProgram(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl Exit {
    /// The code that the shell gets.
    pub fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Threshold => 99,
            Exit::Aborted => 105,
            Exit::Interrupted => 130,
            Exit::OfProgram(code) => code,
        }
    }

    /// The end of a run with this summary. Interruptions and aborts come first; an invalid result outranks a
    /// failed threshold.
    pub fn of_run(summary: &Summary, interrupted: bool, aborted: bool) -> Exit {
        if interrupted {
            Exit::Interrupted
        } else if aborted {
            Exit::Aborted
        } else if !summary.verdict.valid {
            Exit::Invalid
        } else if summary.thresholds.iter().any(|threshold| !threshold.passed) {
            Exit::Threshold
        } else {
            Exit::Fine
        }
    }
}
