//! Claims of a question.

use super::curves::{CURVE, Curve, setting};
use super::document::{column, pairs, written};
use farfield_base::{Bytes, Duration, Rate, Share};
use farfield_experiment::sweep::{Claim, EachValue, EarlierClaim, Scale, Setting, Side, Unit};
use farfield_report::sweep::column::Column;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// Values of a key that one claim is about, at most.
const EACH_MAX: usize = 200;
/// Earlier forms of a claim, at most.
const EARLIER_MAX: usize = 20;

/// `[[claim]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedClaim {
    says: String,
    metric: String,
    #[serde(default)]
    at: toml::Table,
    against: Option<toml::Table>,
    /// A key, each value of which the claim is about, or a table of it with some of its values.
    each: Option<Value>,
    is: String,
    #[serde(default)]
    was: Vec<EarlierClaim>,
}

/// The keys that a question varies, with their values.
pub struct EachKey<'a> {
    pub vary: &'a BTreeMap<String, Value>,
    pub curves: &'a [Curve],
}

impl EachKey<'_> {
    /// True if the key is varied.
    pub fn has(&self, key: &str) -> bool {
        let of_curve = |curve: &Curve| curve.factors.iter().any(|factor| factor.key == key);
        self.vary.contains_key(key)
            || self.curves.iter().any(of_curve)
            || (key == CURVE && !self.curves.is_empty())
    }

    /// The values of a key.
    fn values(&self, key: &str) -> Option<Vec<String>> {
        if key == CURVE {
            return Some(self.curves.iter().map(|curve| curve.name.clone()).collect());
        }
        Some(self.vary.get(key)?.as_array()?.iter().map(written).collect())
    }

    fn each(&self, each: &Value) -> Result<EachValue, String> {
        let form = "`each` is a key that is varied, or a table of one with a list of its values";
        let (key, values) = match each {
            Value::String(key) => (key.clone(), self.values(key).ok_or(form)?),
            Value::Table(table) => match pairs(table)?.into_iter().next() {
                Some((key, Value::Array(values))) if pairs(table)?.len() == 1 => {
                    let values = values.iter().map(|value| setting(&key, value).value).collect();
                    (key, values)
                }
                _ => return Err(form.to_owned()),
            },
            _ => return Err(form.to_owned()),
        };
        match (1..=EACH_MAX).contains(&values.len()) {
            true => Ok(EachValue { key, values }),
            false => Err(format!("`each` has 1 to {EACH_MAX} values")),
        }
    }
}

impl AskedClaim {
    /// The claim; a metric or an expression that is no column yet becomes one.
    ///
    /// # Errors
    /// The words of the claim, and its fault.
    pub fn read(&self, columns: &mut Vec<Column>, keys: &EachKey) -> Result<Claim, (String, String)> {
        self.claim(columns, keys).map_err(|why| (self.says.clone(), why))
    }

    fn claim(&self, columns: &mut Vec<Column>, keys: &EachKey) -> Result<Claim, String> {
        let column = column(&self.metric, columns)?;
        let (unit, scale) = (column.info.unit, column.info.scale);
        let is = self.is.trim();
        let (side, limit) = match (is.split_at_checked(1), is.strip_prefix("within ")) {
            (_, Some(limit)) => (Side::Within, limit.trim()),
            (Some(("<", limit)), _) => (Side::Below, limit.trim()),
            (Some((">", limit)), _) => (Side::Above, limit.trim()),
            _ => return Err(format!("`is = \"{is}\"`: write `< LIMIT`, `> LIMIT` or `within LIMIT`")),
        };
        let limit = match (&self.against, side) {
            (Some(_), Side::Within) => {
                let limit = change(limit, unit, scale)?;
                let is_ratio = scale == Scale::Ratio;
                if limit <= 0.0 || (is_ratio && limit >= 1.0) {
                    return Err(format!("`{is}`: write more than 0, and of a ratio less than 100%"));
                }
                limit
            }
            (Some(_), _) => match change(limit, unit, scale)? {
                limit if limit <= -1.0 && scale == Scale::Ratio => {
                    return Err(format!("`{is}`: nothing can fall by 100% or more"));
                }
                limit => limit,
            },
            (None, Side::Within) => return Err(format!("`{is}`: within a change of what? Write `against`")),
            (None, _) => number(limit, unit)?,
        };
        if self.was.len() > EARLIER_MAX {
            return Err(format!("{} of `was`; write at most {EARLIER_MAX}", self.was.len()));
        }
        let settings = |table: &toml::Table| -> Result<Vec<Setting>, String> {
            let pairs = pairs(table)?.into_iter();
            Ok(pairs.map(|(key, value)| setting(&key, &value)).collect())
        };
        Ok(Claim {
            says: self.says.clone(),
            metric: column.info.name,
            at: settings(&self.at)?,
            against: self.against.as_ref().map(settings).transpose()?,
            each: self.each.as_ref().map(|each| keys.each(each)).transpose()?,
            side,
            limit,
            was: self.was.clone(),
        })
    }
}

/// A number of a unit: `200ms`, `100/s`, `5%`, `3kB`, `0.8`.
fn number(text: &str, unit: Unit) -> Result<f64, String> {
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size.trim()),
        None => (1.0, text),
    };
    let found = match unit {
        Unit::Time => size.parse::<Duration>().ok().map(|time| time.as_ns() as f64),
        Unit::Rate => size.parse::<Rate>().ok().map(Rate::as_per_second),
        Unit::Share => size.parse::<Share>().ok().map(Share::as_f64),
        Unit::Bytes => size.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
        Unit::ByteRate => {
            let bytes = size.strip_suffix("/s").unwrap_or(size).parse::<Bytes>();
            bytes.ok().map(|bytes| bytes.0 as f64)
        }
        Unit::Number => size.parse::<f64>().ok().filter(|number| number.is_finite()),
    };
    let example = match unit {
        Unit::Time => "200ms",
        Unit::Rate => "100/s",
        Unit::Share => "5%",
        Unit::Bytes => "3kB",
        Unit::ByteRate => "3kB/s",
        Unit::Number => "0.8",
    };
    let refuse = || format!("`{}` is no limit of it: write one such as {example}", text.escape_debug());
    found.map(|number| sign * number).ok_or_else(refuse)
}

/// A change: `10%`, `-5%`; of what is compared by differences, other than shares, in its unit.
fn change(text: &str, unit: Unit, scale: Scale) -> Result<f64, String> {
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size.trim()),
        None => (1.0, text.strip_prefix('+').unwrap_or(text).trim()),
    };
    if scale == Scale::Difference && unit != Unit::Share {
        return number(size, unit).map(|number| sign * number);
    }
    let percent = size.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let change = percent.filter(|percent| percent.is_finite()).map(|percent| sign * percent / 100.0);
    // A share is written in the same way, and is a number between none and all.
    let change = change.or_else(|| size.parse::<Share>().ok().map(|share| sign * share.as_f64()));
    change
        .ok_or_else(|| format!("`{}` is no change: write it in per cent, such as -10%", text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Result<Claim, String> {
        let vary = pairs(&"\"a.b\" = ['x', 'y', 'z']".parse().expect("TOML")).expect("keys");
        let asked = toml::from_str::<AskedClaim>(text).map_err(|error| error.to_string())?;
        let mut columns = Column::defaults();
        asked.claim(&mut columns, &EachKey { vary: &vary, curves: &[] })
    }

    #[test]
    fn claims_are_about_numbers_or_changes() {
        let found = claim("says = 'a'\nmetric = 'p99'\nis = '< 200ms'\nat.load.users = 5").expect("a claim");
        assert_eq!((found.side, found.limit, found.against), (Side::Below, 2e8, None));
        assert_eq!(found.at, [Setting { key: "load.users".to_owned(), value: "5".to_owned() }]);
        let found = claim(
            "says = 'a'\nmetric = 'rate'\nis = '< -50%'\nat = { \"a.b\" = 'x' }\nagainst = { \"a.b\" = 'y' }",
        );
        let found = found.expect("a claim");
        assert_eq!((found.side, found.limit), (Side::Below, -0.5));
        let found = claim("says = 'a'\nmetric = '1 - errors'\nis = '> 0.9'\neach = 'a.b'").expect("a claim");
        assert_eq!((found.metric.as_str(), found.limit), ("1 - errors", 0.9));
        assert_eq!(found.each.expect("each").values, ["x", "y", "z"]);
        let found = claim(
            "says = 'a'\nmetric = 'p99'\nis = 'within 15%'\nagainst = { \"a.b\" = 'x' }\neach = { \"a.b\" = ['y'] }",
        );
        assert_eq!(found.map(|found| (found.side, found.limit)), Ok((Side::Within, 0.15)));
        for (text, part) in [
            ("says = 'a'\nmetric = 'p98'\nis = '< 1s'", "is no metric"),
            ("says = 'a'\nmetric = 'p99'\nis = '1s'", "write `< LIMIT`"),
            ("says = 'a'\nmetric = 'p99'\nis = '< 5%'", "such as 200ms"),
            ("says = 'a'\nmetric = 'p99'\nis = '> much'\nagainst = { a = '1' }", "is no change"),
            ("says = 'a'\nmetric = 'p99'\nis = '< -100%'\nagainst = { a = '1' }", "nothing can fall by 100%"),
            ("says = 'a'\nmetric = 'p99'\nis = 'within 5%'", "Write `against`"),
            ("says = 'a'\nmetric = 'p99'\nis = 'within 100%'\nagainst = { a = '1' }", "less than 100%"),
            ("says = 'a'\nmetric = 'p99'\nis = '< 1s'\neach = 'c'", "is a key that is varied"),
            ("says = 'a'\nmetric = 'p99'\nis = '< 1s'\neach = { c = [] }", "has 1 to 200 values"),
        ] {
            let error = claim(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
