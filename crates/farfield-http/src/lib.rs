//! HTTP client protocols as state machines over byte streams.
//!
//! Each protocol is a module of its own: [`http1`] writes a request's bytes and reads the replies from
//! whatever bytes it is handed, in pieces of any size. Nothing here opens a socket, reads a clock or knows
//! what a user wants with a reply; so the same code runs over kernel sockets, an emulated TCP and a simulated
//! server. [`tls`] is the layer below them where the scheme is https.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod allowance;
mod compression;
pub mod http1;
pub mod http2;
pub mod http3;
pub mod quic;
pub mod tls;
