//! TLS 1.2 and 1.3 (RFC 5246, RFC 8446) of a connection, decrypted by the secrets that its client wrote
//! down: what one end said to the other, with the packets that carried it.
//!
//! Nothing is guessed: a record counts if its tag is right under the key that its place asks for. Where
//! bytes of a record are missing, its place in the order is known all the same, so that those after it are
//! read; where a record's header is missing, the direction is lost.

mod direction;
pub(crate) mod handshake;
pub(crate) mod keys;
mod records;
mod session;

pub(crate) use session::{ApplicationData, Session, TlsCounts, begins};
