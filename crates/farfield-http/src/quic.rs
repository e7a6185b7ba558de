//! QUIC (RFC 9000, 9001 and 9002), by quinn-proto: no other module names it.
//!
//! A [`Client`] is what the connections of one worker have in common; a [`Connection`] is handed datagrams
//! and the time, and hands out datagrams, the time of its next timer, and what came on its streams.
//!
//! Nothing here reads a clock or draws entropy: the library's times are counted from an instant that the
//! [settings](crate::tls::TlsSettings::beginning_at) have, and its random numbers follow from one draw of
//! their cryptography's. Sessions inside QUIC are made from the same settings as those over TCP. For virtual
//! time there are clients and a [`Server`] without cryptography, whose numbers follow from a seed.
//!
//! Not done: tokens for later connections (NEW_TOKEN).

mod client;
mod connection;
mod failure;
mod flood;
mod identifiers;
mod model;
mod server;

pub use client::Client;
pub use connection::{Connection, StreamId, Transmit};
pub(crate) use connection::{Event, StreamData};
pub use failure::QuicFailure;
pub use identifiers::SEED_BYTES;
pub use server::{Arrival, Server, ServerSettings};
