//! What the programs that write pages of results share: the drawing of figures.
//!
//! It knows none of farfield's crates. `cargo xtask experiment` draws runs with it, and the studies draw processes.

pub mod drawing;
