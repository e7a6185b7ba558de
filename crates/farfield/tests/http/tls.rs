//! HTTPS as people run it, on every plane.

mod captures;
mod clients;
mod early;
mod probe;
mod servers;
mod several;
mod simulated;
mod usual;
