//! Properties that hold for any bytes, however damaged. A function is one property: it takes the bytes and
//! panics where the property does not hold.

pub mod captures;
pub mod connections;
#[cfg(feature = "runs")]
pub mod gateways;
pub mod handshakes;
pub mod http2;
pub mod http3;
pub mod http3_replies;
#[cfg(feature = "runs")]
pub mod imports;
mod input;
pub mod logs;
pub mod packets;
pub mod quic;
pub mod recordings;
pub mod replies;
#[cfg(feature = "runs")]
pub mod runs;
#[cfg(feature = "runs")]
pub mod scenarios;
pub mod servers;
pub mod sessions;
pub mod sites;
pub mod traces;
