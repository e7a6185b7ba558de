//! One run of several processes: their rendezvous.

mod gather;
mod scene;

use farfield_testkit::scenes as common;
