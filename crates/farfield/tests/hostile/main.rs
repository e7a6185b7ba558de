//! Hostile parties: servers that flood, other users of the machine, strangers' files and words.

#[path = "../common/mod.rs"]
mod common;

mod floods;
mod neighbours;
mod secrets;
mod strangers;
