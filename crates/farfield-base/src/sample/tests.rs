//! Tests of samples.

use super::*;

#[test]
fn codes_are_places_and_names_are_unique() {
    for (place, outcome) in Outcome::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(outcome.code()), place);
    }
    let mut names: Vec<_> = Outcome::ALL.iter().map(|o| o.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Outcome::ALL.len());
}

#[test]
fn a_sample_stays_small() {
    assert!(size_of::<Sample>() <= 120, "{} bytes", size_of::<Sample>());
}
