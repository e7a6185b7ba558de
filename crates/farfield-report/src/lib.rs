//! A run directory into what a person reads: so far, the terminal summary.
//!
//! [`RunDirectory`] opens a run directory and nothing else; [`render`] turns a summary into at most 24
//! lines of 80 columns, the same after a run and long after it.

pub mod directory;
pub mod figures;
pub mod terminal;

pub use directory::{ReportError, RunDirectory};
pub use terminal::{COLOURS, Look, render};
