//! Shared by the tests of several crates.
//!
//! - [`skip`]: reports that a test cannot run on this machine;
//! - [`corpus`]: holds the fuzzer's finds, and input near them, to properties; [`corpus_tests!`] writes the
//!   two tests;
//! - [`draws`]: seeded random draws, and what holds them against theory;
//! - [`floods`]: servers that send without end;
//! - [`keys`]: values of keys, read and written as scenarios have them;
//! - `planted`: errors in a run and its capture, for what compares the two (feature `runs`);
//! - `scenes`: farfield as a program, and servers that others wrote, each in a place of a test's own (feature
//!   `scenes`);
//! - [`samples`]: a request as a sample;
//! - [`properties`]: what must hold for any bytes. The fuzz targets of `fuzz/` and the crates' own tests
//!   check the same functions;
//! - [`targets`]: the fuzz targets by name.
//!
//! Tests of a crate use it as a dev-dependency, although it depends on that crate. Unit tests inside a crate
//! then see two versions of the crate's types: there only what names none of them is of use.

pub mod corpus;
pub mod draws;
pub mod floods;
pub mod keys;
#[cfg(feature = "runs")]
pub mod planted;
pub mod properties;
pub mod samples;
#[cfg(feature = "scenes")]
pub mod scenes;
mod skips;
pub mod targets;

pub use skips::skip;
