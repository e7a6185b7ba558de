//! The commands, a file each.

pub mod advise;
mod around;
pub mod audit;
pub mod capacity;
mod child;
pub mod compare;
pub mod doctor;
pub mod export;
pub mod fit;
pub mod generate;
pub mod import;
mod observe;
pub mod once;
mod passed;
pub mod path;
pub mod question;
pub mod record;
pub mod report;
pub mod route;
pub mod run;
pub mod runs;
pub mod serve;
pub mod shell;
pub mod site;
pub mod sweep;
pub mod tour;
pub mod verify;
