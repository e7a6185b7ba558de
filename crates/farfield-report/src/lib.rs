//! What a person reads: a run directory as terminal text, a fit as text and as an HTML page, and charts as SVG.
//!
//! [`RunDirectory`] opens a run directory and nothing else; [`render`] turns a summary into at most 24
//! lines of 80 columns, the same after a run and long after it. [`fit`] and [`chart`] are handed numbers and open nothing.

pub mod chart;
pub mod directory;
pub mod figures;
pub mod fit;
pub mod terminal;

pub use directory::{ReportError, RunDirectory};
pub use terminal::{COLOURS, Look, render};
