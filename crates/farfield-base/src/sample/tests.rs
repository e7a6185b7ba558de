//! Tests of samples.

use super::*;

#[test]
fn a_sample_stays_small() {
    assert!(size_of::<Sample>() <= 152, "{} bytes", size_of::<Sample>());
}
