//! The commands, a file each.

pub mod advise;
pub mod doctor;
pub mod fit;
pub mod generate;
pub mod report;
pub mod run;
pub mod serve;
pub mod site;
pub mod tour;
