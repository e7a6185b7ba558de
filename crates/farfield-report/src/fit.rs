//! A fit as terminal text and as an HTML page.
//!
//! It is handed what `farfield fit` found and opens no file.

mod page;
mod summary;

pub use page::page;
pub use summary::{summary, with_unit};
