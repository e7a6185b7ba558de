//! Text, pages and charts for readers: a run directory as terminal text, a fit as text and as an HTML page,
//! and charts as SVG.
//!
//! [`RunDirectory`] opens a run directory and nothing else; [`render`] turns a summary into lines of 80
//! columns, of which the last 24 have what matters, the same after a run and long after it; [`comparison`]
//! holds runs against each other; [`export`] writes a run's files for other programs; [`page`] is a run as
//! HTML; [`sweep`] and [`capacity`] show many runs of one question, [`growing`] those that are made so far.
//! [`audit`], [`fit`] and [`chart`] are handed numbers and open nothing.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod audit;
pub mod capacity;
pub mod chart;
pub mod comparison;
pub mod directory;
pub mod export;
pub mod figures;
pub mod fit;
pub mod growing;
mod html;
mod markdown;
pub mod page;
pub mod runs;
mod secrets;
mod streams;
pub mod sweep;
pub mod terminal;
pub mod verification;

pub use directory::{ReportError, RunDirectory};
pub use terminal::{COLOURS, Look, render};
