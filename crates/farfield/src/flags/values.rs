//! Values of flags: names that completions offer, and whole numbers.
//!
//! The scenario checks the values: [`Suggested`] offers names and takes any text, so that a wrong one is
//! reported by the key that the flag is short for.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use farfield_report::comparison::side::run_directories;
use farfield_scenario::ConnectTo;
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub const POLICIES: &[&str] = &[
    "one-request",
    "persistent",
    "early-close",
    "pipelined",
    "pipelined-early-close",
    "multiplexed",
    "shared-pool",
];
pub const PLANES: &[&str] = &["sockets", "emulated", "simulated"];
pub const ACCESS: &[&str] = &[
    "modem-56k",
    "modem-33k",
    "t1",
    "wan",
    "satellite",
    "ethernet",
    "fibre",
    "dsl",
    "4g",
    "5g",
    "wifi",
    "geostationary",
    "low-orbit",
    "starlink",
];
pub const GATEWAYS: &[&str] = &["auto", "tun", "packet"];
pub const HTTP_VERSIONS: &[&str] = &["1.0", "1.1", "2", "3", "auto"];
pub const ADDRESSES: &[&str] = &["first", "all", "each-connection"];
pub const SAMPLES: &[&str] = &["all", "none"];

/// The folder of runs without a directory of their own.
pub const RUNS: &str = "farfield-runs";

/// True if a text stands for a run by its age: `last`, or `last~1` for the one before it.
pub fn is_last(text: &str) -> bool {
    before_last(text).is_some() && !Path::new(text).exists()
}

/// The number of runs after the one that is meant.
fn before_last(text: &str) -> Option<usize> {
    match text.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// A run directory: its path, or `last` and `last~1` for the newest of `farfield-runs`.
///
/// # Errors
/// If there are fewer runs, in a sentence.
pub fn run_directory(text: &str) -> Result<PathBuf, String> {
    let Some(before) = before_last(text).filter(|_| is_last(text)) else { return Ok(text.into()) };
    let mut runs = run_directories(Path::new(RUNS)).unwrap_or_default();
    // Their names begin with the instants of their starts.
    runs.sort();
    let count = runs.len();
    match count.checked_sub(before + 1) {
        Some(at) => Ok(runs.swap_remove(at)),
        None if count == 0 => Err(format!("{text}: there are no runs in {RUNS}; name a run directory")),
        None => Err(format!("{text}: {RUNS} has only {count} of them")),
    }
}

/// A text, for which completions offer these.
#[derive(Debug, Clone, Copy)]
pub struct Suggested(pub &'static [&'static str]);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(*name))))
    }
}

/// curl's `--resolve`, as the rule of `--connect-to` that says the same.
pub fn resolving(text: &str) -> Result<String, String> {
    ConnectTo::resolving(text).map(String::from)
}

/// A whole number. The key decides whether 0 is allowed.
///
/// # Errors
/// The range of valid numbers, as a sentence.
pub fn count<T: FromStr + Display + Bounded>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("write a whole number from 1 to {}", T::MAX))
}

/// An integer type with a largest value.
pub trait Bounded {
    const MAX: Self;
}

impl Bounded for u16 {
    const MAX: u16 = u16::MAX;
}

impl Bounded for u32 {
    const MAX: u32 = u32::MAX;
}

impl Bounded for u64 {
    const MAX: u64 = u64::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Flags;
    use clap::Parser;
    use farfield_scenario::Scenario;

    /// Each offered value is valid for its key.
    #[test]
    fn each_value_offered_is_one_that_its_key_takes() {
        let keys = [
            ("connections.policy", POLICIES),
            ("plane", PLANES),
            ("network.access", ACCESS),
            ("network.gateway", GATEWAYS),
            ("http", HTTP_VERSIONS),
            ("output.samples", SAMPLES),
        ];
        for (key, names) in keys {
            for name in names {
                let read = toml::from_str::<Scenario>(&format!("{key} = \"{name}\""));
                assert!(read.is_ok(), "{key} = {name}: {read:?}");
            }
        }
        assert_eq!(ACCESS.len(), farfield_net::Access::ALL.len());
    }

    #[test]
    fn a_number_that_is_none_is_named_with_what_would_do() {
        let refused = |words: &[&str]| {
            let words = ["farfield", "run"].iter().chain(words);
            Flags::try_parse_from(words).expect_err("no count").to_string()
        };
        for (words, part) in [
            (["-c", "-5"], "'-5' for '--users <COUNT>': write a whole number from 1 to 4294967295"),
            (["-n", "ten"], "'ten' for '--requests <COUNT>': write a whole number from 1"),
            (["--parallel", "70000"], "write a whole number from 1 to 65535"),
        ] {
            let error = refused(&words);
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
        assert!(Flags::try_parse_from(["farfield", "run", "-d", "-1s", "-R", "-5/s"]).is_ok());
    }
}
