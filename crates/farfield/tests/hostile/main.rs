//! Hostile parties: servers that flood, other users of the machine, strangers' files and words.

mod floods;
mod neighbours;
mod secrets;
mod strangers;

use farfield_testkit::scenes as common;
