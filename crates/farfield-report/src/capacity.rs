//! A search for capacity for readers: as text for a terminal, and as a page with its curve.

pub mod page;
pub mod text;
