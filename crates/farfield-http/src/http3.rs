//! HTTP/3, the client's side (RFC 9114): so far [`qpack`], its compression of header fields (RFC 9204).
//!
//! Deliberately absent: server push and CONNECT.

pub mod qpack;
