//! What a maintainer repeats.
fn main() {}
