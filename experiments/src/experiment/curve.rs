//! A curve of an experiment as its file states it: the keys in which its runs differ from the others', or the
//! runs of another curve that it takes its numbers from.

use super::plan::Number;
use super::server::ServerKind;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Table;

/// `[[experiment.curve]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// The key that is varied, if another than for the other curves.
    pub vary: Option<Keys>,
    /// At each value, the one of all other curves' rows that is highest in the figure: nothing is run for it.
    #[serde(default)]
    pub highest: bool,
    /// The numbers of one class of clients in another curve's runs: nothing is run for it.
    pub of: Option<Of>,
    /// The values at which it is run; all by default.
    pub at: Option<Vec<Number>>,
    /// Keys that are set to so many times the varied value; values of which that makes no whole number are
    /// left out.
    #[serde(default)]
    pub follow: BTreeMap<String, f64>,
    /// The server that is started in the place, if another than for the other curves.
    pub server: Option<ServerKind>,
    /// The rate at which that server's interface sends, one packet after another, as tc(8) writes it; at once
    /// if absent.
    pub sends_at: Option<String>,
    /// The command of another load generator, which is audited in the place of a run of farfield; on the
    /// sockets plane, with the stand-ins of [`tool`](super::tool).
    pub tool: Option<String>,
    /// The clients are real ones, on the kernel's own sockets behind `farfield route`, in place of emulated
    /// ones; see [`routed`](super::routed).
    #[serde(default)]
    pub routed: bool,
    /// Keys that replace those of the scenario.
    #[serde(default)]
    pub scenario: Table,
}

/// A class of clients, and the curve in whose runs it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Of {
    /// The other curve, one that is run.
    pub curve: String,
    /// The class, as the scenario calls it.
    pub class: String,
}

impl Curve {
    /// True if farfield is run for its points.
    pub fn is_run(&self) -> bool {
        !self.highest && self.of.is_none()
    }
}

/// One key of a scenario, or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Keys {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Keys {
    /// All of them.
    pub fn to_vec(&self) -> Vec<String> {
        match self {
            Keys::One(key) => vec![key.clone()],
            Keys::Several(keys) => keys.clone(),
        }
    }
}
