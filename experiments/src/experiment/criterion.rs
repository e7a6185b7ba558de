//! A claim as a question states it, in a form that can be checked: a column compared with a bound, at every
//! value of a range. Judged by the rows of an experiment it becomes a [`Claim`] of the page.
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
//! With `peak = true` a claim is about capacity as WASP defines it: the largest number along each curve,
//! wherever it lies, against the largest along the curve of the bound. A bound with a `peak = true` of its
//! own is the largest along its curve, at whichever value.
//!
//! A claim is judged by the interval of the difference from its bound ([`MeanEstimate`]), at each of its
//! points:
//!
//! - it *holds* where the whole interval lies on the claimed side. Since the interval has a probability of 90
//!   %, a claim that is false holds by luck in at most one of twenty cases;
//! - it *does not hold* where the whole interval lies on the other side;
//! - it is *undecided* where the interval contains the bound: more repeats would decide it;
//! - it is *not judged* where the point, or that of the bound, has too few valid repeats; a peak rests on
//!   every point of its curve.
//!
//! A claim about several points is as its worst: one point where it does not hold refutes it, whatever the
//! others are; next comes a point that is not judged, and then one that is undecided. Repeats of the same
//! point are compared in pairs, which takes out what they have in common. A point is not compared with
//! itself, unless it turns out to be the peak that it is compared with.

use super::column::{Column, LEVEL, Row};
use super::curve::Curve;
use super::plan::{Number, Plan};
use crate::page::{Claim, State};
use farfield_measure::interval::MeanEstimate;
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

/// The number that a column is compared with.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Bound {
    Number(f64),
    /// `times` a column at the same value or `at` another, of the same curve or another, or
    /// the largest of it along a curve, `plus` a constant.
    Of(OfColumn),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfColumn {
    column: Column,
    curve: Option<String>,
    at: Option<Number>,
    /// The number is the largest along the curve.
    #[serde(default)]
    peak: bool,
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

    /// True if a run of the curve at `value` is among what the claim is judged by. Curves that are not run
    /// themselves are judged by the runs of those they are taken from.
    pub fn rests_on(&self, plan: &Plan, curve: usize, value: Number) -> bool {
        let serves = |name: Option<&str>| match name.and_then(|name| plan.curve(name)) {
            None => true,
            Some(named) => {
                let Curve { highest, of, .. } = &plan.curves[named];
                let is_of = of.as_ref().is_some_and(|of| plan.curve(&of.curve) == Some(curve));
                named == curve || *highest || is_of
            }
        };
        let is_in_range = (self.from..=self.to).contains(&value.as_f64());
        let own = self.curve.as_deref();
        let is_bound = match &self.bound {
            Bound::Number(_) => false,
            Bound::Of(of) => {
                let at = match of.at {
                    _ if of.peak => true,
                    Some(at) => at == value,
                    None => is_in_range,
                };
                at && serves(of.curve.as_deref().or(own))
            }
        };
        is_bound || (is_in_range && serves(own))
    }

    /// Judges the claim by `rows`.
    pub fn judge(&self, plan: &Plan, rows: &[Row]) -> Claim {
        let compared = self.compared(plan, rows);
        let found: Vec<&Found> = compared.iter().filter_map(|one| one.found.as_ref()).collect();
        let state = compared.iter().map(|one| one.state).max().unwrap_or(State::NotJudged);
        let mut because: Vec<&str> = Vec::new();
        for reason in compared.iter().filter(|one| one.state == state).flat_map(|one| &one.because) {
            if !because.contains(&reason.as_str()) {
                because.push(reason);
            }
        }
        Claim { says: self.says.clone(), seen: self.seen(&found), state, because: because.join("; ") }
    }

    /// The points of the claim's curves in its range, each compared with its bound.
    fn compared(&self, plan: &Plan, rows: &[Row]) -> Vec<Compared> {
        let own = self.curve.as_deref().and_then(|name| plan.curve(name));
        let mut compared = Vec::new();
        for row in rows.iter().filter(|row| own.is_none_or(|curve| row.curve == curve)) {
            if !self.is_in_range(row) {
                continue;
            }
            if self.peak && self.highest(rows, row.curve, self.column) != Some(row) {
                continue;
            }
            let against = match &self.bound {
                Bound::Number(_) => None,
                Bound::Of(of) => match self.against(of, plan, rows, row) {
                    Some(against) => Some((of, against)),
                    None => continue,
                },
            };
            // A peak may turn out to be the point itself, which then is as high as claimed.
            let is_itself = |(of, other): &(&OfColumn, &Row)| {
                !of.peak && std::ptr::eq(*other, row) && of.column == self.column
            };
            if !against.as_ref().is_some_and(is_itself) {
                compared.push(self.compare(plan, rows, row, against));
            }
        }
        compared
    }

    fn is_in_range(&self, row: &Row) -> bool {
        (self.from..=self.to).contains(&row.value.as_f64())
    }

    /// The row of the curve at `place`, in the claim's range, with the largest mean of `column`.
    fn highest<'a>(&self, rows: &'a [Row], place: usize, column: Column) -> Option<&'a Row> {
        highest(rows.iter().filter(|row| row.curve == place && self.is_in_range(row)), column)
    }

    /// The point that `row` is compared with.
    fn against<'a>(&self, of: &OfColumn, plan: &Plan, rows: &'a [Row], row: &Row) -> Option<&'a Row> {
        let curve = match &of.curve {
            None => row.curve,
            Some(name) => plan.curve(name)?,
        };
        let value = of.at.unwrap_or(row.value);
        if of.peak {
            highest(rows.iter().filter(|other| other.curve == curve), of.column)
        } else if self.peak {
            self.highest(rows, curve, of.column)
        } else {
            rows.iter().find(|other| other.curve == curve && other.value == value)
        }
    }

    /// Holds `row` against the bound, which is a number or `against`.
    fn compare(&self, plan: &Plan, rows: &[Row], row: &Row, against: Option<(&OfColumn, &Row)>) -> Compared {
        let not_judged = |because| Compared { state: State::NotJudged, because, found: None };
        let mut rests_on = vec![row];
        let of_curve = |curve: usize| rows.iter().filter(move |other| other.curve == curve);
        if self.peak {
            rests_on.extend(of_curve(row.curve).filter(|other| self.is_in_range(other)));
        }
        if let Some((of, other)) = against {
            rests_on.push(other);
            let is_part = |candidate: &&Row| of.peak || (self.peak && self.is_in_range(candidate));
            rests_on.extend(of_curve(other.curve).filter(is_part));
        }
        let named = |row: &Row| format!("{} at {}", plan.curves[row.curve].name, row.value);
        let mut doubts: Vec<String> = Vec::new();
        for row in rests_on.iter().filter(|row| !row.is_valid()) {
            let doubt = format!("{}, {}", named(row), plain(row));
            if !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        }
        if !doubts.is_empty() {
            return not_judged(doubts);
        }
        let Some(numbers) = self.column.numbers(row) else {
            return not_judged(vec![format!("{}: a repeat lacks the number", named(row))]);
        };
        let found = match (&self.bound, against) {
            (Bound::Number(number), _) => Found::against_number(&numbers, *number),
            (_, Some((of, other))) => match of.column.numbers(other) {
                Some(bounds) => {
                    let bounds: Vec<f64> = bounds.iter().map(|number| number * of.times + of.plus).collect();
                    Found { numbers, bounds, are_paired: std::ptr::eq(other, row) }
                }
                None => return not_judged(vec![format!("{}: a repeat lacks the number", named(other))]),
            },
            (Bound::Of(_), None) => unreachable!("a bound of a column has its point"),
        };
        let state = self.relation.judged(&found);
        let because = if state == State::Holds { Vec::new() } else { vec![named(row)] };
        Compared { state, because, found: Some(found) }
    }

    /// The numbers and bounds that were `found`, written as the relation asks.
    fn seen(&self, found: &[&Found]) -> String {
        if found.is_empty() {
            return "nothing".to_owned();
        }
        match (&self.relation, &self.bound) {
            (Relation::Within(_), _) => {
                let errors = found.iter().map(|found| found.ratio(1.0));
                let worst = errors.max_by(|a, b| (a.0 - 1.0).abs().total_cmp(&(b.0 - 1.0).abs()));
                let (ratio, half_width) = worst.unwrap_or((1.0, 0.0));
                format!("off by {:+.1} ± {:.1} % at worst", (ratio - 1.0) * 100.0, half_width * 100.0)
            }
            (_, Bound::Number(_)) => {
                let own = found.iter().filter_map(|found| MeanEstimate::of(&found.numbers));
                range(own.map(|own| (own.mean, own.half_width(LEVEL))), |number, half_width| {
                    self.column.written(number, Some(half_width))
                })
            }
            (_, Bound::Of(of)) => {
                // Of the column itself where the bound is a multiple of it, which is what the claim speaks
                // of.
                let times = if of.plus == 0.0 { of.times } else { 1.0 };
                let ratios = found.iter().map(|found| found.ratio(times));
                let written = |ratio: f64, half_width: f64| format!("{ratio:.2} ± {half_width:.2}");
                format!("{} of it", range(ratios, written))
            }
        }
    }
}

/// A point compared with its bound.
#[derive(Debug, Clone)]
struct Compared {
    state: State,
    /// The point, or those with too few valid runs, if it is not judged; none where the claim holds.
    because: Vec<String>,
    /// The numbers; absent where they are not judged.
    found: Option<Found>,
}

/// The numbers of a point's valid repeats, and their bounds.
#[derive(Debug, Clone)]
struct Found {
    numbers: Vec<f64>,
    /// One number if it is a constant.
    bounds: Vec<f64>,
    /// Each number has its own bound, from the same run.
    are_paired: bool,
}

impl Found {
    fn against_number(numbers: &[f64], bound: f64) -> Found {
        Found { numbers: numbers.to_vec(), bounds: vec![bound], are_paired: false }
    }

    /// The excess of the numbers over `times` their bounds.
    fn above(&self, times: f64) -> MeanEstimate {
        let estimate =
            |numbers: &[f64]| MeanEstimate::of(numbers).unwrap_or(MeanEstimate::constant(numbers[0]));
        if self.are_paired {
            let pairs = self.numbers.iter().zip(&self.bounds);
            let differences: Vec<f64> = pairs.map(|(number, bound)| number - bound * times).collect();
            return estimate(&differences);
        }
        estimate(&self.numbers).minus(estimate(&self.bounds).scaled(times, 0.0))
    }

    /// The mean of the bounds.
    fn bound(&self) -> f64 {
        self.bounds.iter().sum::<f64>() / self.bounds.len() as f64
    }

    /// The mean in parts of the bound, and half the width of the interval of their difference likewise, both
    /// `times` as large.
    fn ratio(&self, times: f64) -> (f64, f64) {
        let (above, bound) = (self.above(1.0), self.bound());
        ((above.mean / bound + 1.0) * times, (above.half_width(LEVEL) / bound * times).abs())
    }
}

/// The row with the largest mean of `column`.
fn highest<'a>(rows: impl Iterator<Item = &'a Row>, column: Column) -> Option<&'a Row> {
    let numbered = rows.filter_map(|row| Some((column.estimate(row)?.mean, row)));
    numbered.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, row)| row)
}

/// The verdict of a point as text within a cell that is not bold itself.
fn plain(row: &Row) -> String {
    row.verdict().replace("**", "")
}

impl Relation {
    fn judged(self, found: &Found) -> State {
        match self {
            Relation::AtMost => below_zero(found.above(1.0).ends(LEVEL)),
            Relation::AtLeast => {
                let (lower, upper) = found.above(1.0).ends(LEVEL);
                below_zero((-upper, -lower))
            }
            // Both must hold: the equivalence of Schuirmann's two one-sided tests (1987).
            Relation::Within(part) => {
                let part = part * found.bound().signum();
                let (lower, upper) = found.above(1.0 - part).ends(LEVEL);
                below_zero(found.above(1.0 + part).ends(LEVEL)).max(below_zero((-upper, -lower)))
            }
        }
    }
}

/// The state of the claim that an estimate with these ends is at most 0.
fn below_zero((lower, upper): (f64, f64)) -> State {
    if upper <= 0.0 {
        State::Holds
    } else if lower > 0.0 {
        State::Fails
    } else {
        State::Undecided
    }
}

/// The least and the most mean with their intervals, or the one that there is.
fn range(numbers: impl Iterator<Item = (f64, f64)>, written: impl Fn(f64, f64) -> String) -> String {
    let mut numbers: Vec<(f64, f64)> = numbers.collect();
    numbers.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    match numbers.as_slice() {
        [] => "nothing".to_owned(),
        [(number, half_width)] => written(*number, *half_width),
        [(least, below), .., (most, above)] => {
            format!("{} to {}", written(*least, *below), written(*most, *above))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::{doubted, row, spread_row};
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
            doubted(row(1, 2, 10.0, 30.0), 1),
        ]
    }

    fn check_with(rows: &[Row], claim: &str, state: State, seen: &str, because: &str) {
        let (seen, because) = (seen.to_owned(), because.to_owned());
        let expected = Claim { says: "it".to_owned(), seen, state, because };
        assert_eq!(judged(claim, rows), expected, "{claim}");
    }

    fn check(claim: &str, state: State, seen: &str, because: &str) {
        check_with(&rows(), claim, state, seen, because);
    }

    const INVALID: &str = "other at 2, 2 of 3 valid: send-lateness";

    #[test]
    fn near_is_a_part_of_the_bound() {
        let claim = |within| {
            format!(
                "curve = 'plain'\ncolumn = 'attempts'\nnear = {{ column = 'value', times = 50.0 }}\nwithin = {within}"
            )
        };
        check(&claim("0.02"), State::Holds, "off by +1.0 ± 0.0 % at worst", "");
        check(&claim("0.001"), State::Fails, "off by +1.0 ± 0.0 % at worst", "plain at 2");
        check(
            "column = 'attempts'\nnear = { column = 'value', plus = 49.0 }\nwithin = 0\ncurve = 'plain'\nto = 1.5",
            State::Holds,
            "off by +0.0 ± 0.0 % at worst",
            "",
        );
    }

    #[test]
    fn bounds_are_numbers_or_other_curves_at_the_same_value() {
        check(
            "column = 'completed'\nat-least = 30\nto = 1",
            State::Fails,
            "20.0 ± 0.0 to 40.0 ± 0.0",
            "other at 1",
        );
        let other = "curve = 'other'\ncolumn = 'completed'\nat-most = { column = 'completed', curve = 'plain' }\nto = 1";
        check(other, State::Holds, "0.50 ± 0.00 of it", "");
        let part = other.replace("'plain' }", "'plain', times = 0.4 }");
        check(&part, State::Fails, "0.50 ± 0.00 of it", "other at 1");
        check(
            "column = 'abandoned'\nat-most = 0.3\ncurve = 'plain'\nfrom = 2",
            State::Holds,
            "25.0 ± 0.0 %",
            "",
        );
    }

    #[test]
    fn a_bound_may_lie_at_another_value_or_be_a_peak() {
        let first =
            "curve = 'plain'\ncolumn = 'completed'\nat-least = { column = 'completed', at = 1, times = 1.5 }";
        check(first, State::Holds, "1.50 ± 0.00 of it", "");
        let highest = "column = 'completed'\ncurve = 'plain'\n\
                       at-least = { column = 'completed', peak = true, times = 0.7 }";
        check(highest, State::Fails, "0.67 ± 0.00 to 1.00 ± 0.00 of it", "plain at 1");
        let peak = "curve = 'other'\ncolumn = 'completed'\npeak = true\n\
                    at-most = { column = 'completed', curve = 'plain', times = 0.5 }";
        check(&format!("{peak}\nto = 1"), State::Holds, "0.50 ± 0.00 of it", "");
        check(
            "column = 'completed'\ncurve = 'plain'\npeak = true\nat-most = 50",
            State::Fails,
            "60.0 ± 0.0",
            "plain at 2",
        );
    }

    /// Invalid runs let no claim that rests on them hold or fail, whatever they measured.
    #[test]
    fn a_claim_on_an_invalid_point_is_not_judged() {
        for claim in [
            "curve = 'other'\nfrom = 2\ncolumn = 'completed'\nat-most = 100",
            "curve = 'other'\nfrom = 2\ncolumn = 'completed'\nat-most = 1",
            "curve = 'plain'\nfrom = 2\ncolumn = 'completed'\nat-least = { column = 'completed', curve = 'other' }",
            "curve = 'plain'\nfrom = 2\ncolumn = 'completed'\nnear = { column = 'attempts', curve = 'other' }\nwithin = 9",
        ] {
            check(claim, State::NotJudged, "nothing", INVALID);
        }
        // A peak rests on every point of its curve, the invalid one too, though it is not the highest here.
        let mut rows = rows();
        rows[3] = doubted(row(1, 2, 10.0, 10.0), 3);
        let peak = "curve = 'other'\ncolumn = 'completed'\npeak = true\nat-most = 100";
        check_with(&rows, peak, State::NotJudged, "nothing", "other at 2, 0 of 3 valid: send-lateness");
        let of_peak = "curve = 'plain'\ncolumn = 'completed'\nat-least = { column = 'completed', curve = 'other', peak = true }";
        check_with(&rows, of_peak, State::NotJudged, "nothing", "other at 2, 0 of 3 valid: send-lateness");
    }

    /// One valid counterexample refutes a claim; without one, an invalid point leaves it open.
    #[test]
    fn a_claim_is_as_its_worst_point() {
        check("column = 'completed'\nat-most = 50", State::Fails, "20.0 ± 0.0 to 60.0 ± 0.0", "plain at 2");
        check("column = 'completed'\nat-most = 60", State::NotJudged, "20.0 ± 0.0 to 60.0 ± 0.0", INVALID);
    }

    /// 29, 30, 31 have an interval of 30 ± 1.69 (s = 1, t = 2.920): bounds within it are undecided.
    #[test]
    fn a_bound_within_the_interval_is_undecided() {
        let rows = [spread_row(0, 1, 50.0, [29.0, 30.0, 31.0]), row(1, 1, 50.0, 30.0)];
        let claim = |relation: &str| format!("curve = 'plain'\ncolumn = 'completed'\n{relation}");
        let check = |relation: &str, state: State, seen: &str| {
            let because = if state == State::Holds { "" } else { "plain at 1" };
            check_with(&rows, &claim(relation), state, seen, because);
        };
        check("at-most = 31.6", State::Undecided, "30.0 ± 1.7");
        check("at-most = 31.7", State::Holds, "30.0 ± 1.7");
        check("at-least = 31.6", State::Undecided, "30.0 ± 1.7");
        check("at-least = 31.7", State::Fails, "30.0 ± 1.7");
        check("near = 30\nwithin = 0.05", State::Undecided, "off by +0.0 ± 5.6 % at worst");
        check("near = 30\nwithin = 0.06", State::Holds, "off by +0.0 ± 5.6 % at worst");
        check("near = 60\nwithin = 0.1", State::Fails, "off by -50.0 ± 2.8 % at worst");
        // Half of it: the interval of the difference is as wide, in parts of a bound of 30.
        let half = "at-least = { column = 'completed', curve = 'other', times = 0.5 }";
        check(half, State::Holds, "1.00 ± 0.06 of it");
    }

    /// Two numbers of one run that vary together differ by less than either varies.
    #[test]
    fn numbers_of_one_run_are_compared_in_pairs() {
        let mut pairs = spread_row(0, 1, 50.0, [20.0, 30.0, 40.0]);
        for run in &mut pairs.repeats {
            run.measured.attempts_per_s = run.measured.completed_per_s + 1.0;
        }
        let claim = "column = 'completed'\nat-most = { column = 'attempts' }";
        check_with(&[pairs], claim, State::Holds, "0.97 ± 0.00 of it", "");
    }

    #[test]
    fn without_rows_nothing_is_judged() {
        check("column = 'attempts'\nat-most = 1\nfrom = 3", State::NotJudged, "nothing", "");
        let lacks = "column = 'response'\nat-most = 1\nto = 1\ncurve = 'plain'";
        check(lacks, State::NotJudged, "nothing", "plain at 1: a repeat lacks the number");
        // The only point is the bound itself.
        let itself =
            "column = 'completed'\nat-most = { column = 'completed', at = 1 }\nto = 1\ncurve = 'plain'";
        check(itself, State::NotJudged, "nothing", "");
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
