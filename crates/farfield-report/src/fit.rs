//! A fit as terminal text and as an HTML page.
//!
//! The results of `farfield fit` are passed in; no file is opened.

mod page;
mod precision;
mod summary;

pub use page::page;
pub use summary::{summary, with_unit};
