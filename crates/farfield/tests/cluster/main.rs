//! One run of several processes: their rendezvous, and the engines that start them.

mod engines;
mod gather;
mod hosts;
mod on;
mod scene;
mod slurm;
mod ssh;

use farfield_testkit::scenes as common;
