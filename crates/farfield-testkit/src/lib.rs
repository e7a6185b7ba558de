//! What the tests of several crates share.
//!
//! - [`skip`]: reports that a test cannot run on this machine;
//! - [`corpus`]: holds the fuzzer's finds, and input near them, to properties;
//! - [`properties`]: what must hold for any bytes. The fuzz targets of `fuzz/` and the crates' own tests check the same
//!   functions.
//!
//! Tests of a crate use it as a dev-dependency, although it depends on that crate. Unit tests inside a crate then see two
//! versions of the crate's types: there only [`skip`] and [`corpus`] are of use.

pub mod corpus;
pub mod properties;
mod skips;

pub use skips::skip;
