//! Choosing among weighted things in constant time: Walker's alias method, with the tables built as Vose
//! (1991, "A linear algorithm for generating random numbers with a given distribution") builds them.
//!
//! A draw takes two random numbers and one look-up, however many things there are, and allocates nothing.

use farfield_base::random::Stream;
use rand::RngExt;

/// A choice among `0..len`, each as likely as its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasTable {
    columns: Vec<Column>,
}

/// Column of `len` equally likely ones: it keeps a draw with probability `keeps` and else gives it to
/// `alias`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Column {
    keeps: f64,
    alias: u32,
}

/// Error of weights that make no choice.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightError {
    /// A weight is negative or not finite.
    #[error("`weight` is {0}; write a number from 0 up")]
    Bad(f64),
    /// No weight is above zero, or there is none.
    #[error("no `weight` is above 0, so that nothing could be chosen; give at least one")]
    AllZero,
    /// The sum leaves the range of numbers.
    #[error("the sum of all `weight`s is too large; write smaller ones")]
    TooLarge,
}

impl AliasTable {
    /// A choice with the given weights, which need not sum to anything. Up to 2³² of them.
    ///
    /// # Errors
    /// A weight that is negative or no number, no weight above 0, or a sum that is not finite.
    pub fn new(weights: &[f64]) -> Result<AliasTable, WeightError> {
        let total = total(weights)?;
        // Each weight in units of a column's share: they sum to the number of columns.
        let mut shares: Vec<f64> = weights.iter().map(|w| w / total * weights.len() as f64).collect();
        let mut columns: Vec<Column> =
            (0..weights.len()).map(|own| Column { keeps: 1.0, alias: own as u32 }).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|i| shares[*i as usize] < 1.0);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            columns[poor as usize] = Column { keeps: shares[poor as usize], alias: rich };
            shares[rich as usize] -= 1.0 - shares[poor as usize];
            if shares[rich as usize] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        // Things that are left over have a share of one but for rounding, and already keep all of it. A thing
        // of weight zero cannot be left over: the others, each at most one, could not make up its share.
        debug_assert!(small.iter().all(|i| weights[*i as usize] > 0.0));
        Ok(AliasTable { columns })
    }

    /// Draws one.
    pub fn sample(&self, rng: &mut Stream) -> usize {
        let own = rng.random_range(0..self.columns.len());
        let column = self.columns[own];
        if rng.random::<f64>() < column.keeps { own } else { column.alias as usize }
    }
}

fn total(weights: &[f64]) -> Result<f64, WeightError> {
    if let Some(bad) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
        return Err(WeightError::Bad(*bad));
    }
    match weights.iter().sum::<f64>() {
        0.0 => Err(WeightError::AllZero),
        total if total.is_finite() => Ok(total),
        _ => Err(WeightError::TooLarge),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use proptest::prelude::*;

    /// The probability with which the table draws each, read off its columns.
    fn probabilities(table: &AliasTable) -> Vec<f64> {
        let mut drawn = vec![0.0; table.columns.len()];
        for (own, column) in table.columns.iter().enumerate() {
            drawn[own] += column.keeps / table.columns.len() as f64;
            drawn[column.alias as usize] += (1.0 - column.keeps) / table.columns.len() as f64;
        }
        drawn
    }

    proptest! {
        #[test]
        fn the_columns_hold_exactly_the_weights(
            weights in proptest::collection::vec(prop_oneof![Just(0.0), 1e-6..1e6], 1..200),
        ) {
            prop_assume!(weights.iter().any(|w| *w > 0.0));
            let table = AliasTable::new(&weights).expect("one is above zero");
            let total: f64 = weights.iter().sum();
            for (drawn, weight) in probabilities(&table).into_iter().zip(&weights) {
                prop_assert!((drawn - weight / total).abs() < 1e-12, "{drawn} for {weight} of {total}");
                prop_assert!(*weight > 0.0 || drawn == 0.0, "{drawn} for nothing");
            }
        }
    }

    #[test]
    fn draws_follow_the_columns() {
        const DRAWS: usize = 100_000;
        let table = AliasTable::new(&[1.0, 0.0, 3.0]).expect("good weights");
        let mut rng = Seed(1).stream(Purpose::User, 0);
        let mut counts = [0usize; 3];
        (0..DRAWS).for_each(|_| counts[table.sample(&mut rng)] += 1);
        let limit = 5.0 * (DRAWS as f64 * 0.25 * 0.75).sqrt();
        assert_eq!(counts[1], 0);
        assert!((counts[0] as f64 - DRAWS as f64 / 4.0).abs() < limit, "{counts:?}");
    }

    #[test]
    fn refuses_what_cannot_be_chosen_from() {
        assert_eq!(AliasTable::new(&[]), Err(WeightError::AllZero));
        assert_eq!(AliasTable::new(&[0.0, 0.0]), Err(WeightError::AllZero));
        assert_eq!(AliasTable::new(&[1.0, -1.0]), Err(WeightError::Bad(-1.0)));
        assert_eq!(AliasTable::new(&[f64::MAX, f64::MAX]), Err(WeightError::TooLarge));
    }
}
