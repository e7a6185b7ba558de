//! The commands, a file each.

pub mod doctor;
pub mod generate;
pub mod report;
pub mod run;
pub mod serve;
pub mod tour;
