//! Models fitted to logs, as people use them.

#[path = "../common/mod.rs"]
mod common;

mod fit;
mod round_trip;
