//! Why a scenario does not become a run.

use std::fmt::Display;

/// Why a scenario does not become a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The scenario, a file that it names, or a flag is wrong. The sentence names file, line and key, or the
    /// flag, as far as there are any, and what would do.
    #[error("{0}")]
    Invalid(String),
    /// The value of a key is wrong, or a file that it names.
    #[error("{place}: {key}: {sentence}")]
    Key {
        /// The file, with the line of the key where it has one.
        place: String,
        /// The key, from the outermost table inwards: `flow[1].load.users`.
        key: String,
        /// The sentence about its value, and what would do.
        sentence: String,
    },
    /// The machine, the network or a server lacks what the run needs.
    #[error("{0}")]
    Unavailable(String),
}

impl ScenarioError {
    /// The scenario or a flag is wrong.
    pub(crate) fn invalid(sentence: impl Display) -> ScenarioError {
        ScenarioError::Invalid(sentence.to_string())
    }

    /// Something that the run needs is not available.
    pub(crate) fn unavailable(sentence: impl Display) -> ScenarioError {
        ScenarioError::Unavailable(sentence.to_string())
    }
}
