//! One run of several processes: their rendezvous.

mod engines;
mod gather;
mod hosts;
mod scene;

use farfield_testkit::scenes as common;
