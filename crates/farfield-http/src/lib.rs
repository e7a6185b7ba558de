//! HTTP as state machines over byte streams: a client's end of each version, and the ends of model servers.
//!
//! Each protocol is a module of its own: [`http1`], [`http2`] and [`http3`] write a request's bytes and read
//! the replies from whatever bytes they are handed, in pieces of any size. What they find is one type for all
//! of them, [`Event`]. Nothing here opens a socket, reads a clock or knows what a user wants with a reply; so
//! the same code runs over kernel sockets, an emulated TCP and a simulated server. [`tls`] is the layer below
//! HTTP/1 and HTTP/2 where the scheme is https, and [`quic`] is the one below HTTP/3.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod allowance;
mod compression;
mod event;
pub mod http1;
pub mod http2;
pub mod http3;
pub mod quic;
pub mod tls;

pub use event::{Body, Event, Head, StreamError};
