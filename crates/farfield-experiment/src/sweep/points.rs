//! Points: which combinations of values are run.

use super::factor::{Factor, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A combination of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The keys with their values.
    pub settings: Vec<Setting>,
}

/// Combinations of the factors' values that are points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// All of them: a full factorial design.
    Full,
    /// The first value of each factor, and each other value with the first ones of all other factors.
    OneAtATime,
    /// Points of a list.
    Listed,
}

impl Point {
    /// The point in words: `network.rtt=50ms load.users=10`.
    pub fn label(&self) -> String {
        let settings = self.settings.iter().map(|Setting { key, value }| format!("{key}={value}"));
        settings.collect::<Vec<_>>().join(" ")
    }
}

/// Every combination of the factors' values, the first with the first of each. Without factors it is one
/// point.
pub fn full(factors: &[Factor]) -> Vec<Point> {
    all(factors).iter().map(|place| at(factors, place)).collect()
}

/// The first value of each factor, and each other value with the first ones of all other factors.
pub fn one_at_a_time(factors: &[Factor]) -> Vec<Point> {
    let first = vec![0; factors.len()];
    let others = factors.iter().enumerate().flat_map(|(at, factor)| {
        let first = first.clone();
        (1..factor.levels.len()).map(move |level| {
            let mut place = first.clone();
            place[at] = level;
            place
        })
    });
    std::iter::once(first.clone()).chain(others).map(|place| at(factors, &place)).collect()
}

/// Every combination of levels, the last factor's changing fastest.
fn all(factors: &[Factor]) -> Vec<Vec<usize>> {
    factors.iter().fold(vec![Vec::new()], |places, factor| {
        let longer = |place: Vec<usize>| {
            (0..factor.levels.len()).map(move |level| {
                let mut place = place.clone();
                place.push(level);
                place
            })
        };
        places.into_iter().flat_map(longer).collect()
    })
}

fn at(factors: &[Factor], place: &[usize]) -> Point {
    let setting = |(factor, level): (&Factor, &usize)| Setting {
        key: factor.key.clone(),
        value: factor.levels[*level].clone(),
    };
    Point { settings: factors.iter().zip(place).map(setting).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors() -> [Factor; 2] {
        ["a=1,2,3", "b=x,y"].map(|text| text.parse().expect("a factor"))
    }

    fn labels(points: &[Point]) -> Vec<String> {
        points.iter().map(Point::label).collect()
    }

    #[test]
    fn a_full_design_has_every_combination() {
        assert_eq!(
            labels(&full(&factors())),
            ["a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y", "a=3 b=x", "a=3 b=y"]
        );
        assert_eq!(full(&[]), [Point { settings: Vec::new() }]);
    }

    #[test]
    fn one_at_a_time_varies_about_the_first_values() {
        assert_eq!(labels(&one_at_a_time(&factors())), ["a=1 b=x", "a=2 b=x", "a=3 b=x", "a=1 b=y"]);
    }
}
