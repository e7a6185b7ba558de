//! HTTPS as people run it, on every plane.

#[path = "../common/mod.rs"]
mod common;

mod captures;
mod clients;
mod early;
mod probe;
mod servers;
mod several;
mod simulated;
mod usual;
