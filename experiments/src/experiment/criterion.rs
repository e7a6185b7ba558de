//! A claim as a question states it, in a form that can be checked: a column held against a bound, at every value of a
//! range. Judged by the rows of an experiment it becomes a [`Claim`] of the page.
//!
//! ```toml
//! [[experiment.claim]]
//! says = "attempts follow D/T within 2 %"
//! curve = "S-Clients"                           # every curve, if absent
//! from = 65                                     # and `to`: the values at which it must hold
//! column = "attempts"
//! near = { column = "value", times = 2.0 }      # or a number; or `at-most`, or `at-least`, without `within`
//! within = 0.02
//! ```
//!
//! With `peak = true` a claim is about capacity as WASP defines it: the largest number along each curve, wherever
//! it lies, against the largest along the curve of the bound.

use super::column::{Column, Row};
use super::plan::{Number, Plan};
use crate::page::Claim;
use serde::Deserialize;

/// A claim that can be checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "ClaimTable")]
pub struct Criterion {
    /// The claim in words.
    pub says: String,
    curve: Option<String>,
    from: f64,
    to: f64,
    column: Column,
    relation: Relation,
    bound: Bound,
    peak: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Relation {
    /// Not further from the bound than this part of it.
    Within(f64),
    AtMost,
    AtLeast,
}

/// The number that a column is held against.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Bound {
    Number(f64),
    /// `times` a column at the same value or `at` another, of the same curve or another, `plus` a constant.
    Of(OfColumn),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfColumn {
    column: Column,
    curve: Option<String>,
    at: Option<Number>,
    #[serde(default = "once")]
    times: f64,
    #[serde(default)]
    plus: f64,
}

fn once() -> f64 {
    1.0
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClaimTable {
    says: String,
    curve: Option<String>,
    from: Option<f64>,
    to: Option<f64>,
    column: Column,
    near: Option<Bound>,
    within: Option<f64>,
    at_most: Option<Bound>,
    at_least: Option<Bound>,
    #[serde(default)]
    peak: bool,
}

impl TryFrom<ClaimTable> for Criterion {
    type Error = String;

    fn try_from(written: ClaimTable) -> Result<Criterion, String> {
        let ClaimTable { says, curve, from, to, column, near, within, at_most, at_least, peak } = written;
        let (relation, bound) = match (near, within, at_most, at_least) {
            (Some(bound), Some(within), None, None) => (Relation::Within(within), bound),
            (None, None, Some(bound), None) => (Relation::AtMost, bound),
            (None, None, None, Some(bound)) => (Relation::AtLeast, bound),
            _ => {
                return Err(format!(
                    "the claim `{says}` needs either `near` and `within`, or `at-most`, or `at-least`"
                ));
            }
        };
        let (from, to) = (from.unwrap_or(f64::NEG_INFINITY), to.unwrap_or(f64::INFINITY));
        Ok(Criterion { says, curve, from, to, column, relation, bound, peak })
    }
}

impl Criterion {
    /// The curves that it names.
    pub fn curves(&self) -> impl Iterator<Item = &str> {
        let against = match &self.bound {
            Bound::Of(of) => of.curve.as_deref(),
            Bound::Number(_) => None,
        };
        self.curve.as_deref().into_iter().chain(against)
    }

    /// Judges the claim by `rows`.
    pub fn judge(&self, plan: &Plan, rows: &[Row]) -> Claim {
        let mut found: Vec<(f64, f64)> = Vec::new();
        let (mut invalid, mut holds) = (0, true);
        let own = self.curve.as_deref().and_then(|name| plan.curve(name));
        for row in rows.iter().filter(|row| own.is_none_or(|curve| row.curve == curve)) {
            let (true, Some(number)) = (self.is_in_range(row), self.column.of(row)) else { continue };
            if self.peak && self.highest(rows, row.curve, self.column) != Some(row) {
                continue;
            }
            let Some((bound, is_bound_valid)) = self.bound(plan, rows, row) else { continue };
            found.push((number, bound));
            invalid += usize::from(!(row.is_valid() && is_bound_valid));
            holds &= self.relation.holds(number, bound);
        }
        let holds = (!found.is_empty()).then_some(holds);
        Claim { says: self.says.clone(), seen: self.seen(&found), holds, runs: found.len(), invalid }
    }

    fn is_in_range(&self, row: &Row) -> bool {
        (self.from..=self.to).contains(&row.value.as_f64())
    }

    /// The row of the curve at `place`, in the claim's range, with the largest number of `column`.
    fn highest<'a>(&self, rows: &'a [Row], place: usize, column: Column) -> Option<&'a Row> {
        let own = rows.iter().filter(|row| row.curve == place && self.is_in_range(row));
        let numbered = own.filter_map(|row| Some((column.of(row)?, row)));
        numbered.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, row)| row)
    }

    /// The number that `row` is held against, and whether the run that it comes from is valid.
    fn bound(&self, plan: &Plan, rows: &[Row], row: &Row) -> Option<(f64, bool)> {
        let of = match &self.bound {
            Bound::Number(number) => return Some((*number, true)),
            Bound::Of(of) => of,
        };
        let curve = match &of.curve {
            None => row.curve,
            Some(name) => plan.curve(name)?,
        };
        let value = of.at.unwrap_or(row.value);
        let against = match self.peak {
            true => self.highest(rows, curve, of.column)?,
            false => rows.iter().find(|other| other.curve == curve && other.value == value)?,
        };
        Some((of.column.of(against)? * of.times + of.plus, against.is_valid()))
    }

    /// The numbers and bounds that were `found`, written as the relation asks.
    fn seen(&self, found: &[(f64, f64)]) -> String {
        if found.is_empty() {
            return "nothing: no row speaks of it".to_owned();
        }
        let errors = found.iter().map(|(number, bound)| number / bound - 1.0);
        let numbers = || found.iter().map(|&(number, _)| number);
        match (&self.relation, &self.bound) {
            (Relation::Within(_), _) => {
                let worst = errors.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
                format!("off by {:+.1} % at worst", worst * 100.0)
            }
            (_, Bound::Number(_)) => range(numbers(), |number| self.column.written(number)),
            (_, Bound::Of(of)) => {
                // Of the column itself where the bound is a multiple of it, which is what the claim speaks of.
                let times = if of.plus == 0.0 { of.times } else { 1.0 };
                let ratios = found.iter().map(|(number, bound)| number / bound * times);
                format!("{} of it", range(ratios, |ratio| format!("{ratio:.2}")))
            }
        }
    }
}

impl Relation {
    fn holds(self, number: f64, bound: f64) -> bool {
        match self {
            Relation::Within(part) => (number - bound).abs() <= part * bound.abs(),
            Relation::AtMost => number <= bound,
            Relation::AtLeast => number >= bound,
        }
    }
}

/// The least and the most, or the one that there is.
fn range(numbers: impl Iterator<Item = f64> + Clone, written: impl Fn(f64) -> String) -> String {
    let least = written(numbers.clone().fold(f64::INFINITY, f64::min));
    let most = written(numbers.fold(f64::NEG_INFINITY, f64::max));
    if least == most { least } else { format!("{least} to {most}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::row;
    use crate::experiment::plan::{self, Experiment};

    fn judged(claim: &str, rows: &[Row]) -> Claim {
        let plan = Experiment::parse("e", plan::tests::TEXT).unwrap().plan;
        let criterion: Criterion = toml::from_str(&format!("says = 'it'\n{claim}")).expect(claim);
        criterion.judge(&plan, rows)
    }

    fn rows() -> Vec<Row> {
        vec![
            row(0, 1, 50.0, 40.0),
            row(0, 2, 101.0, 60.0),
            row(1, 1, 10.0, 20.0),
            Row { doubts: vec!["send-lateness".to_owned()], ..row(1, 2, 10.0, 30.0) },
        ]
    }

    fn check(claim: &str, holds: Option<bool>, seen: &str, counted: (usize, usize)) {
        let (runs, invalid) = counted;
        let expected = Claim { says: "it".to_owned(), seen: seen.to_owned(), holds, runs, invalid };
        assert_eq!(judged(claim, &rows()), expected, "{claim}");
    }

    #[test]
    fn near_is_a_part_of_the_bound() {
        let claim = |within| {
            format!(
                "curve = 'plain'\ncolumn = 'attempts'\nnear = {{ column = 'value', times = 50.0 }}\nwithin = {within}"
            )
        };
        check(&claim("0.02"), Some(true), "off by +1.0 % at worst", (2, 0));
        check(&claim("0.001"), Some(false), "off by +1.0 % at worst", (2, 0));
        check(
            "column = 'attempts'\nnear = { column = 'value', plus = 49.0 }\nwithin = 0\ncurve = 'plain'\nto = 1.5",
            Some(true),
            "off by +0.0 % at worst",
            (1, 0),
        );
    }

    #[test]
    fn bounds_are_numbers_or_other_curves_at_the_same_value() {
        check("column = 'completed'\nat-most = 60", Some(true), "20.0 to 60.0", (4, 1));
        check("column = 'completed'\nat-least = 30\nto = 1", Some(false), "20.0 to 40.0", (2, 0));
        let other =
            "curve = 'other'\ncolumn = 'completed'\nat-most = { column = 'completed', curve = 'plain' }";
        check(other, Some(true), "0.50 of it", (2, 1));
        let twice = other.replace("'plain' }", "'plain', times = 0.6 }");
        check(&twice, Some(true), "0.50 of it", (2, 1));
        check("column = 'abandoned'\nat-most = 0.3\nfrom = 2", Some(true), "25.0 %", (2, 1));
    }

    #[test]
    fn a_bound_may_lie_at_another_value_or_be_a_peak() {
        let first =
            "curve = 'plain'\ncolumn = 'completed'\nat-least = { column = 'completed', at = 1, times = 1.5 }";
        check(first, Some(false), "1.00 to 1.50 of it", (2, 0));
        check(&format!("{first}\nfrom = 2"), Some(true), "1.50 of it", (1, 0));
        let peak = "curve = 'other'\ncolumn = 'completed'\npeak = true\n\
                    at-most = { column = 'completed', curve = 'plain', times = 0.5 }";
        check(peak, Some(true), "0.50 of it", (1, 1));
        check(&format!("{peak}\nto = 1"), Some(true), "0.50 of it", (1, 0));
        check("column = 'completed'\npeak = true\nat-most = 50", Some(false), "30.0 to 60.0", (2, 1));
    }

    #[test]
    fn without_rows_nothing_is_judged() {
        check("column = 'attempts'\nat-most = 1\nfrom = 3", None, "nothing: no row speaks of it", (0, 0));
        check("column = 'response'\nat-most = 1", None, "nothing: no row speaks of it", (0, 0));
    }

    #[test]
    fn half_a_claim_is_refused() {
        for text in [
            "near = 1",
            "within = 1",
            "",
            "at-most = 1\nat-least = 0",
            "near = { colum = 'value' }\nwithin = 1",
        ] {
            let text = format!("says = 'it'\ncolumn = 'attempts'\n{text}");
            assert!(toml::from_str::<Criterion>(&text).is_err(), "{text}");
        }
    }
}
