//! Values of flags: names that completions offer, and whole numbers.
//!
//! The scenario checks the values: [`Suggested`] offers names and takes any text, so that a wrong one is
//! reported by the key that the flag is short for.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use farfield_scenario::ConnectTo;
use std::ffi::OsStr;
use std::fmt::Display;
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
];
pub const GATEWAYS: &[&str] = &["auto", "tun", "packet"];
pub const HTTP_VERSIONS: &[&str] = &["1.0", "1.1", "2", "3", "auto"];
pub const ADDRESSES: &[&str] = &["first", "all", "each-connection"];
pub const SAMPLES: &[&str] = &["all", "none"];

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
