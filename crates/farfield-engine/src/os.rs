//! The operating system, one small file for each thing asked of it. All `unsafe` of the project stands below.

pub mod clock;
pub mod processors;
pub mod socket;
