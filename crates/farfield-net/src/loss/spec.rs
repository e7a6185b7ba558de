//! A model of loss as a scenario writes it. A bare share is independent loss:
//!
//! ```toml
//! loss = "none"
//! loss = "2%"
//! loss = { model = "independent", rate = "2%" }
//! loss = { model = "gilbert-elliott", to-bad = 0.04, to-good = 0.65, per = "connection" }
//! loss = { model = "gilbert-elliott", to-bad = 0.04, to-good = 0.65, loss-good = "0.1%", loss-bad = "80%" }
//! loss = { model = "wasp", rate = "6%" }      # a row of WASP's table, per connection
//! ```

use super::{GilbertElliott, Loss, Scope};
use crate::probability::Probability;
use farfield_base::{QuantityError, Share, TextOrTable};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;

/// A model of loss as written, with what it means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossSpec {
    written: LossKeys,
    loss: Loss,
}

/// Reasons for which a model of loss is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LossError {
    /// A share that cannot be read.
    #[error(transparent)]
    Share(#[from] QuantityError),
    /// A chain that stays bad.
    #[error("`to-good` is 0, so that the link would carry nothing once it is bad; write a share above 0")]
    NoWayBack,
    /// A rate that is not in WASP's table.
    #[error("`rate` of the wasp model is {0}; its table has 3%, 6% and 9%")]
    NotInTable(Share),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
enum LossKeys {
    None,
    Independent {
        rate: Share,
    },
    GilbertElliott {
        to_bad: Share,
        to_good: Share,
        #[serde(default = "nothing")]
        loss_good: Share,
        #[serde(default = "all")]
        loss_bad: Share,
        #[serde(default)]
        per: Scope,
    },
    Wasp {
        rate: Share,
        #[serde(default = "each_connection")]
        per: Scope,
    },
}

fn nothing() -> Share {
    Share::NONE
}

fn all() -> Share {
    Share::ALL
}

fn each_connection() -> Scope {
    Scope::Connection
}

impl LossSpec {
    /// The model that is meant.
    pub fn loss(&self) -> Loss {
        self.loss
    }
}

impl Default for LossSpec {
    fn default() -> LossSpec {
        LossSpec { written: LossKeys::None, loss: Loss::None }
    }
}

impl TryFrom<LossKeys> for LossSpec {
    type Error = LossError;

    fn try_from(written: LossKeys) -> Result<LossSpec, LossError> {
        let loss = match written {
            LossKeys::None => Loss::None,
            LossKeys::Independent { rate } => Loss::Independent(Probability::of(rate)),
            LossKeys::GilbertElliott { to_bad, to_good, loss_good, loss_bad, per } => {
                let chain = GilbertElliott::new(to_bad, to_good).ok_or(LossError::NoWayBack)?;
                Loss::GilbertElliott(chain.with_losses(loss_good, loss_bad), per)
            }
            LossKeys::Wasp { rate, per } => {
                let row =
                    [3, 6, 9].into_iter().find(|&p| (rate.as_f64() * 100.0 - f64::from(p)).abs() < 1e-9);
                let chain = row.and_then(GilbertElliott::wasp).ok_or(LossError::NotInTable(rate))?;
                Loss::GilbertElliott(chain, per)
            }
        };
        Ok(LossSpec { written, loss })
    }
}

impl FromStr for LossSpec {
    type Err = LossError;

    fn from_str(text: &str) -> Result<LossSpec, LossError> {
        match text.trim() {
            "none" => Ok(LossSpec::default()),
            share => LossKeys::Independent { rate: share.parse()? }.try_into(),
        }
    }
}

impl Serialize for LossSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.written {
            LossKeys::None => serializer.serialize_str("none"),
            written => written.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LossSpec, D::Error> {
        TextOrTable {
            expected: "a share such as \"2%\", \"none\", or a loss model",
            text: |text| text.parse().map_err(|error: <LossSpec as FromStr>::Err| error.to_string()),
            number: Some(|number| {
                let text = number.to_string();
                text.parse().map_err(|error: <LossSpec as FromStr>::Err| error.to_string())
            }),
            table: |table: LossKeys| LossSpec::try_from(table).map_err(|error| error.to_string()),
        }
        .read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Link {
        loss: LossSpec,
    }

    fn read(text: &str) -> Result<LossSpec, String> {
        toml::from_str(text).map(|link: Link| link.loss).map_err(|error| error.to_string())
    }

    #[test]
    fn all_spellings_mean_what_they_say() {
        let share = |x| Share::new(x).unwrap();
        let check = |text: &str, loss| assert_eq!(read(text).map(|spec| spec.loss()), Ok(loss), "{text}");
        check("loss = 'none'", Loss::None);
        check("loss = '2%'", Loss::Independent(Probability::of(share(0.02))));
        check("loss = 0.02", Loss::Independent(Probability::of(share(0.02))));
        let six = GilbertElliott::wasp(6).unwrap();
        check("loss = { model = 'wasp', rate = '6%' }", Loss::GilbertElliott(six, Scope::Connection));
        check(
            "loss = { model = 'gilbert-elliott', to-bad = 0.04, to-good = 0.65 }",
            Loss::GilbertElliott(six, Scope::Link),
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["loss = 'none'", "loss = '2%'", "loss = { model = 'wasp', rate = '9%', per = 'link' }"] {
            let loss = read(text).unwrap();
            let written = toml::to_string(&Link { loss }).unwrap();
            assert_eq!(read(&written), Ok(loss), "{written}");
        }
    }

    #[test]
    fn what_cannot_be_meant_says_what_would() {
        let refuse = |text: &str, hint: &str| {
            let error = read(text).expect_err(text);
            assert!(error.contains(hint), "{error}");
        };
        refuse("loss = '120%'", "from 0 to 1");
        refuse("loss = { model = 'wasp', rate = '5%' }", "3%, 6% and 9%");
        refuse("loss = { model = 'gilbert-elliott', to-bad = 0.1, to-good = 0 }", "to-good");
        refuse("loss = { model = 'independent', rate = 0.1, per = 'link' }", "per");
    }
}
