//! Properties that hold for any bytes, however damaged. A function is one property: it takes the bytes and panics where the
//! property does not hold.

pub mod connections;
pub mod packets;
pub mod replies;
pub mod sessions;
pub mod traces;
