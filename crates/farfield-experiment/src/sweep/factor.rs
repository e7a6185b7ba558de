//! Factors: keys with the values that they take, as `network.rtt=0ms,50ms,100ms` writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A key of the scenario with the values that it takes, each once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Factor {
    /// The key, such as `network.rtt`.
    pub key: String,
    /// The factor's values, as they are written; effects are against the first.
    pub levels: Vec<String>,
}

/// A key with its value at a point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The key.
    pub key: String,
    /// The value, as it is written.
    pub value: String,
}

/// Why a text is no factor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FactorError {
    /// There is no key or no value.
    #[error("`{0}` varies nothing: write KEY=VALUE,VALUE, such as network.rtt=0ms,50ms")]
    NotKeyAndValues(String),
    /// There is one value.
    #[error("`{key}` has the one value {value}: write several with commas between, or --set {key}={value}")]
    OneLevel {
        /// The key.
        key: String,
        /// The key's value.
        value: String,
    },
    /// A value is there twice.
    #[error("`{key}` has the value {value} twice")]
    Twice {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
}

impl FromStr for Factor {
    type Err = FactorError;

    fn from_str(text: &str) -> Result<Factor, FactorError> {
        let refuse = || FactorError::NotKeyAndValues(text.to_owned());
        let (key, values) = text.split_once('=').ok_or_else(refuse)?;
        let key = key.trim().to_owned();
        let levels: Vec<String> = split(values).into_iter().map(|value| value.trim().to_owned()).collect();
        if key.is_empty() || levels.iter().any(String::is_empty) {
            return Err(refuse());
        }
        if let [value] = levels.as_slice() {
            return Err(FactorError::OneLevel { key, value: value.clone() });
        }
        let twice = levels.iter().enumerate().find(|(at, level)| levels[..*at].contains(level));
        if let Some((_, value)) = twice {
            return Err(FactorError::Twice { key, value: value.clone() });
        }
        Ok(Factor { key, levels })
    }
}

/// The parts of `text` between commas that stand in no quotes, brackets or braces.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_i32);
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => depth -= 1,
            (None, ',') if depth <= 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            (None, _) => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(text: &str) -> Vec<String> {
        text.parse::<Factor>().expect("a factor").levels
    }

    #[test]
    fn commas_within_a_value_separate_nothing() {
        assert_eq!(levels("network.rtt=0ms, 50ms,100ms"), ["0ms", "50ms", "100ms"]);
        assert_eq!(levels("server.command='nginx -c a,b',lighttpd"), ["'nginx -c a,b'", "lighttpd"]);
        assert_eq!(
            levels(r#"load.think={ mean = "1s", deviation = "2s" },{ mean = "3s" }"#),
            [r#"{ mean = "1s", deviation = "2s" }"#, r#"{ mean = "3s" }"#]
        );
        assert_eq!(levels("a=[1,2],[3]"), ["[1,2]", "[3]"]);
    }

    #[test]
    fn what_varies_nothing_is_refused_in_words() {
        let error = |text: &str| text.parse::<Factor>().expect_err("no factor").to_string();
        assert!(error("network.rtt").contains("write KEY=VALUE,VALUE"));
        assert!(error("=1,2").contains("write KEY=VALUE,VALUE"));
        assert!(error("a=1,,2").contains("write KEY=VALUE,VALUE"));
        assert_eq!(error("a=1"), "`a` has the one value 1: write several with commas between, or --set a=1");
        assert_eq!(error("a=1,2,1"), "`a` has the value 1 twice");
    }
}
