//! Versions of HTTP before real servers, and TLS on every plane.

#[path = "../common/mod.rs"]
mod common;
#[path = "../shop/mod.rs"]
mod shop;

mod expect;
mod http2;
mod http3;
mod http3_wan;
mod proxies;
mod servers;
mod streams;
mod tls;
mod websockets;
