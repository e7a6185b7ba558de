//! Forty think times, in seconds, and the distributions that may have made them: eight families, and mixtures
//! of two, in the order of how well they fit.
//!
//! `cargo run -p farfield-fit --example think_times`
//!
//! The numbers were drawn from two lognormal distributions: visitors who click on (24, with a median of
//! 1.5 s) and visitors who read (16, of 30 s).

use farfield_fit::random::{Purpose, Seed};
use farfield_fit::{Candidate, Points, Trials, rank};
use std::fmt::Write;

const THINK_TIMES_S: [f64; 40] = [
    33.35, 1.40, 44.78, 0.70, 15.40, 56.41, 0.83, 1.09, 75.77, 1.23, 1.68, 2.39, 56.51, 1.59, 41.54, 26.42,
    0.98, 28.68, 53.47, 20.82, 0.92, 29.10, 1.30, 34.01, 1.50, 1.81, 2.26, 0.68, 3.17, 2.02, 0.88, 4.79,
    23.40, 1.14, 1.09, 0.52, 1.36, 23.85, 33.60, 1.45,
];

/// Candidates of each kind of number of parts that are printed.
const ROWS: usize = 4;

/// A row of the table: BIC is the Bayesian information criterion, A² Anderson and Darling's statistic.
fn row(candidate: &Candidate) -> String {
    let goodness = &candidate.goodness;
    format!(
        "{:35} {:7.1} {:7.3} {:7.3} {:7.3}\n",
        candidate.name,
        candidate.bic,
        goodness.anderson_darling,
        goodness.cramer_von_mises,
        goodness.kolmogorov_smirnov
    )
}

/// The candidates and the estimates of the best of them, as text.
pub fn report() -> String {
    let points = Points::new(THINK_TIMES_S.to_vec()).expect("forty numbers are enough");
    let ranking = rank(&points, &Trials::default(), &mut Seed(1).stream(Purpose::User, 0));
    let mut text = String::from("distribution                            BIC      A²      W²       D\n");
    let is_mixture = |candidate: &&Candidate| candidate.name.contains('+');
    text.extend(ranking.candidates.iter().filter(is_mixture).take(ROWS).map(row));
    text.extend(ranking.candidates.iter().filter(|candidate| !is_mixture(candidate)).take(ROWS).map(row));
    let best = &ranking.candidates[0];
    writeln!(text, "\nThe best, {}:", best.name).expect("a string takes it");
    for estimate in &best.estimates {
        let error = estimate.error.map_or("?".to_owned(), |error| format!("{error:.2}"));
        writeln!(text, "  {:10} {:6.2} ± {error}", estimate.name, estimate.value).expect("a string takes it");
    }
    text.push_str(&format!("{}\n", ranking.caveats[0]));
    text
}

fn main() {
    print!("{}", report());
}
