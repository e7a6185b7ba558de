//! The embedded origin: a web server whose service time, parallelism, error rate and limits are *known*, so
//! that what a load generator reports about it can be compared with theory.
//!
//! It speaks HTTP/1.0 and 1.1 with keep-alive and pipelining, HTTP/2 by ALPN or prior knowledge (by hyper)
//! and, where it has TLS, HTTP/3 on the same port (by quinn and h3), serves a [generated site](site),
//! [files](root) and whatever [its paths](route) describe, and counts what it did. It is a tool beside the
//! product: `farfield serve` runs it, and the command line starts one where no target is given. It holds no
//! benchmark and knows no scenario; which processors it runs on is its caller's affair (its threads inherit
//! the processor set of the thread that calls [`Origin::start`]).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod body;
mod clock;
mod config;
mod connections;
mod events;
mod failures;
pub mod fault;
mod http3;
mod keep_alive;
mod origin;
pub mod queue;
pub mod root;
pub mod route;
mod service;
pub mod site;
mod tls;
mod version;
mod websocket;

pub use config::OriginConfig;
pub use origin::{Origin, OriginError};
pub use service::Counters;
pub use site::{Object, Page, Site, SiteConfig};
