//! The commands as people and scripts use them: what is printed where, exit codes, what runs leave behind,
//! and what other programs make of it.

mod audit;
mod brought;
mod brought_logs;
mod capacity;
mod changes;
mod command_line;
mod compare;
mod counted;
mod counting;
mod experiment;
mod export;
mod imported;
mod in_sight;
mod old_runs;
mod pages;
mod python;
mod queries;
mod requests;
mod runs;
mod site;
mod statuses;
mod sweep;
mod unfinished;
mod ways;

use farfield_testkit::scenes as common;
