//! HTTP as state machines over byte streams: a client's end of each version, and the ends of model servers.
//!
//! Each protocol is a module of its own: [`http1`], [`http2`] and [`http3`] write a request's bytes and read
//! the replies from whatever bytes they are handed, in pieces of any size. What they find is one type for all
//! of them, [`Event`]. Nothing here opens a socket, reads a clock or knows what a user wants with a reply; so
//! the same code runs over kernel sockets, an emulated TCP and a simulated server. [`tls`] is the layer below
//! HTTP/1 and HTTP/2 where the scheme is https, and [`quic`] is the one below HTTP/3. [`websocket`] is what a
//! connection of HTTP/1.1 can be upgraded to.
//!
//! Features, all of them by default: `http2`; `tls`, which needs rustls; `http3`, which needs both and
//! quinn-proto; `websocket`, for [`websocket`]. Without any of them this is a reader of replies of HTTP/1,
//! and what writes requests.
//!
//! `README.md` has a request and two replies as a program; `examples/replies.rs` reads replies of several
//! kinds. Types of other crates that stand in signatures are re-exported: [`bytes`], [`Instant`],
//! [`Duration`], and those that say why something failed and how a handshake went.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

#[cfg(any(feature = "http2", feature = "tls", feature = "websocket"))]
mod allowance;
#[cfg(feature = "http2")]
mod compression;
mod event;
mod events;
pub mod http1;
#[cfg(feature = "http2")]
pub mod http2;
#[cfg(feature = "http2")]
#[cfg_attr(not(feature = "http3"), allow(dead_code, reason = "heads of HTTP/2 need QPACK's names alone"))]
pub mod http3;
#[cfg(feature = "http3")]
pub mod quic;
#[cfg(feature = "tls")]
#[cfg_attr(
    not(feature = "http3"),
    allow(dead_code, unused_imports, reason = "handshakes inside QUIC need some of it alone")
)]
pub mod tls;

#[cfg(feature = "websocket")]
pub mod websocket;

pub use bytes;
pub use event::{Body, Event, Head, StreamError};
pub use events::{EventFormat, EventReader};
pub use farfield_base::{
    Detail, Duration, EarlyData, Instant, Outcome, Rule, Sender, Signal, SpokenVersion, TlsStats, TlsVersion,
};
#[cfg(feature = "http2")]
pub use http2::Heads;

/// The programs of README.md, which `cargo test --doc` runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
