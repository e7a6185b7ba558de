//! QUIC without cryptography, for virtual time: the library's sessions with the messages of TLS 1.3 at their
//! sizes, and packets that are protected by nothing but zeros in place of their tags. Round trips, sizes, the
//! limit on amplification, loss recovery and congestion control are the library's own.
//!
//! The messages' bytes in the clear are as in [`tls::model`](crate::tls::model). Packets have no header
//! protection either, so that a reader of captures finds their numbers where they are not in real ones.
//!
//! Not done: Retry, and updates of keys.

mod client;
mod keys;
mod server;

pub(super) use client::Sessions as ClientSessions;
pub(super) use keys::NoTokens;
pub(super) use server::Sessions as ServerSessions;

use quinn_proto::TransportErrorCode;
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{Side, TransportError};

/// Alerts (RFC 8446 section 6).
const HANDSHAKE_FAILURE: u8 = 40;
const DECODE_ERROR: u8 = 50;
const PROTOCOL_VERSION: u8 = 70;
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// The agreement of both ends, once they have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuicAgreement {
    /// A session is resumed.
    pub resumes: bool,
}

/// The error that ends a connection with an alert of TLS.
fn alert(number: u8) -> TransportError {
    TransportErrorCode::crypto(number).into()
}

fn read_parameters(side: Side, bytes: &[u8]) -> Result<TransportParameters, TransportError> {
    TransportParameters::read(side, &mut &*bytes).map_err(Into::into)
}

fn write_parameters(parameters: &TransportParameters) -> Vec<u8> {
    let mut bytes = Vec::new();
    parameters.write(&mut bytes);
    bytes
}

/// The beginning of time on the library's clock. Only differences count, so that nothing depends on it.
pub(super) fn beginning() -> std::time::Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "any instant would do, and there is no other way to make one"
    )]
    std::time::Instant::now()
}
