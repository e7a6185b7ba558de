//! Curves: settings under a name, which a question asks about at each of its points.
//!
//! A curve is the value of the key `curve`, which no scenario has: points, claims, charts and tables have it
//! like any other, and where a run is made the curve's own settings take its place.

use super::document::{pairs, written};
use farfield_experiment::sweep::{Factor, Layout, Point, Setting, points};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// The key whose values are names of curves.
pub const CURVE: &str = "curve";
/// Characters of a name at most.
const NAME_MAX: usize = 80;
/// Values of a key at most.
const LEVELS_MAX: usize = 1_000;

/// `[[curve]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedCurve {
    name: String,
    #[serde(default)]
    set: toml::Table,
    /// Other values than the question's.
    #[serde(default)]
    vary: toml::Table,
}

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    pub name: String,
    /// The settings of its runs.
    pub sets: Vec<Setting>,
    /// The keys that it varies.
    pub factors: Vec<Factor>,
}

impl AskedCurve {
    /// The curve, where the question varies these keys.
    pub fn read(&self, vary: &BTreeMap<String, Value>) -> Result<Curve, String> {
        let is_shown = !self.name.chars().any(char::is_control);
        if self.name.is_empty() || self.name.chars().count() > NAME_MAX || !is_shown {
            return Err(format!("a curve's name has 1 to {NAME_MAX} characters, and no control characters"));
        }
        let of_curve = |why: String| format!("curve `{}`: {why}", self.name);
        let sets = pairs(&self.set).map_err(of_curve)?;
        let mut own = vary.clone();
        own.extend(pairs(&self.vary).map_err(of_curve)?);
        let factors = own.iter().map(|(key, value)| factor(key, value)).collect::<Result<_, _>>();
        Ok(Curve {
            name: self.name.clone(),
            sets: sets.iter().map(|(key, value)| Setting { key: key.clone(), value: typed(value) }).collect(),
            factors: factors.map_err(of_curve)?,
        })
    }
}

/// A value as `--set` takes it for what it is: text that reads as a number, such as the version `1.0`, has
/// quotes.
fn typed(value: &Value) -> String {
    match value.as_str() {
        Some(text) if text.parse::<f64>().is_ok() || text.parse::<bool>().is_ok() => format!("'{text}'"),
        _ => written(value),
    }
}

/// A key with its values, of which one is enough.
fn factor(key: &str, value: &Value) -> Result<Factor, String> {
    let values = value.as_array().filter(|values| (1..=LEVELS_MAX).contains(&values.len()));
    let values = values.ok_or_else(|| {
        format!(
            "`vary.\"{key}\"` needs a list of values, such as [\"0ms\", \"50ms\"], of at most {LEVELS_MAX}"
        )
    })?;
    let levels: Vec<String> = values.iter().map(written).collect();
    let twice = levels.iter().enumerate().find(|(at, level)| levels[..*at].contains(level));
    match twice {
        Some((_, value)) => Err(format!("`{key}` has the value {value} twice")),
        None => Ok(Factor { key: key.to_owned(), levels }),
    }
}

/// The points of curves: a full design if all of them vary the same, else a list.
pub fn points_of(curves: &[Curve]) -> (Vec<Factor>, Layout, Vec<Point>) {
    let is_full = curves.len() > 1
        && curves.iter().all(|curve| {
            curve.factors == curves[0].factors && curve.factors.iter().all(|factor| factor.levels.len() > 1)
        });
    let named = |curve: &Curve| {
        let name = Setting { key: CURVE.to_owned(), value: curve.name.clone() };
        let with_name = move |point: Point| Point {
            settings: std::iter::once(name.clone()).chain(point.settings).collect(),
        };
        points::full(&curve.factors).into_iter().map(with_name).collect::<Vec<_>>()
    };
    let points = curves.iter().flat_map(named).collect();
    if !is_full {
        return (Vec::new(), Layout::Listed, points);
    }
    let names = curves.iter().map(|curve| curve.name.clone()).collect();
    let of_curves = Factor { key: CURVE.to_owned(), levels: names };
    (std::iter::once(of_curves).chain(curves[0].factors.iter().cloned()).collect(), Layout::Full, points)
}

/// A key with its value as points have it: names of curves as they are, all else as it is typed.
pub fn setting(key: &str, value: &Value) -> Setting {
    let name = value.as_str().filter(|_| key == CURVE).map(str::to_owned);
    Setting { key: key.to_owned(), value: name.unwrap_or_else(|| written(value)) }
}

/// The settings of a point: in place of a curve its own settings.
pub fn resolved(settings: &[Setting], curves: &[Curve]) -> Vec<Setting> {
    let own = |setting: &Setting| match curves
        .iter()
        .find(|curve| setting.key == CURVE && curve.name == setting.value)
    {
        Some(curve) => curve.sets.clone(),
        None => vec![setting.clone()],
    };
    settings.iter().flat_map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(text: &str) -> Vec<Curve> {
        #[derive(Deserialize)]
        struct Document {
            vary: toml::Table,
            curve: Vec<AskedCurve>,
        }
        let document: Document = toml::from_str(text).expect("TOML");
        let vary = pairs(&document.vary).expect("keys");
        document.curve.iter().map(|curve| curve.read(&vary).expect("a curve")).collect()
    }

    #[test]
    fn curves_that_vary_the_same_are_a_full_design() {
        let both = curves(
            "vary = { \"load.users\" = [1, 2] }\n[[curve]]\nname = 'a'\n\
             [[curve]]\nname = 'b'\nset = { network = { rtt = '9ms' } }",
        );
        let (factors, layout, points) = points_of(&both);
        let keys: Vec<&str> = factors.iter().map(|factor| factor.key.as_str()).collect();
        assert_eq!((keys, layout), (vec!["curve", "load.users"], Layout::Full));
        let labels: Vec<String> = points.iter().map(Point::label).collect();
        assert_eq!(
            labels,
            ["curve=a load.users=1", "curve=a load.users=2", "curve=b load.users=1", "curve=b load.users=2"]
        );
        let sets = Point { settings: resolved(&points[3].settings, &both) };
        assert_eq!(sets.label(), "network.rtt=9ms load.users=2");
    }

    #[test]
    fn a_curve_may_have_values_of_its_own() {
        let both = curves(
            "vary = { \"load.users\" = [1, 2] }\n[[curve]]\nname = 'a'\n\
             [[curve]]\nname = 'b'\nvary = { load = { users = [2] } }",
        );
        let (factors, layout, points) = points_of(&both);
        assert_eq!((factors.len(), layout, points.len()), (0, Layout::Listed, 3));
    }
}
