//! Versions of HTTP before real servers, and TLS on every plane.

mod expect;
mod http2;
mod http3;
mod http3_wan;
mod proxies;
mod servers;
mod streams;
mod tls;
mod websockets;

use farfield_testkit::scenes::{self as common, shop};
