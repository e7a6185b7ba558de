//! Shared by the maintainers' programs: their frame; running other programs, held on a processor and
//! measured; the tools of the system; the scenarios whose samples stay the same.
//!
//! `cargo xtask` is one of them, the program `experiments` another. Like `cargo xtask` it depends on no crate
//! of the product.

pub mod certificate;
pub mod hold;
pub mod nginx;
pub mod process;
pub mod same;
mod services;
pub mod system;
pub mod task;
