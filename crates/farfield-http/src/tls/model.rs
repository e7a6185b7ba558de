//! TLS without cryptography, for virtual time: both ends of a session whose messages, records and round trips
//! are those of TLS 1.3 and 1.2, with bytes without meaning in place of keys, signatures and ciphertext.
//!
//! The parts of a message in the clear are written out, so that a reader of captures sees a handshake. The
//! parts that would be encrypted are the plaintext, followed by zeros in place of the authentication tag.
//! Sizes are those of rustls at both ends, with TLS_AES_256_GCM_SHA384 or
//! ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, and of a signature of ECDSA with P-256 (tests/tls/model.rs compares
//! them).
//!
//! A ticket that allows early data is the name of a session that the server keeps, as rustls's are then, and
//! allows as much as OpenSSL by default. What goes early is taken where the session is resumed, and passed
//! over where the server asks for another key share first.
//!
//! Not done: certificates that mean something, so that nothing is verified; tickets that expire.

mod certificate;
pub(crate) mod client;
pub(crate) mod message;
pub(crate) mod record;
mod server;

pub(super) use client::{Client, Session};
pub use record::{RECORD_BYTES_MAX, seal_ends, seal_into};
pub use server::{HandshakeStep, ServerSession};

use super::{Alpn, Group};
use farfield_base::{Duration, TlsVersion as Version};

/// The offer of a run's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The name that is asked for (SNI); none for an address.
    pub name: Option<String>,
    /// The protocol that sessions are for, which servers agree to.
    pub protocol: Alpn,
    /// The versions that are offered, not none.
    pub versions: Vec<Version>,
    /// The groups that are offered, not none, in order, with a key share for the first.
    pub groups: Vec<Group>,
    /// Users keep tickets.
    pub resumption: bool,
    /// Requests go within the handshake, where a ticket allows it.
    pub early_data: bool,
}

/// The capabilities of a server, and the cost of its handshakes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The versions that it speaks; the latest in common is chosen.
    pub versions: Vec<Version>,
    /// The groups that it accepts, the preferred first. The client's first key share for one of them is
    /// taken; a client without is asked for one of the first group here that it offers.
    pub groups: Vec<Group>,
    /// Bytes of each certificate of its chain, at least [`CERTIFICATE_BYTES_MIN`].
    pub certificates: Vec<u32>,
    /// Tickets that it gives after a handshake of TLS 1.3; with 0 it resumes no session, of TLS 1.2 neither.
    pub tickets: u32,
    /// True if tickets of TLS 1.3 allow early data.
    pub early_data: bool,
    /// A worker's time for a full handshake.
    pub full: Duration,
    /// A worker's time for a handshake that resumes a session.
    pub resumed: Duration,
}

/// The smallest certificate that has all its parts.
pub const CERTIFICATE_BYTES_MIN: u32 = 300;

/// The largest certificate: the length of one has 16 bits here.
pub const CERTIFICATE_BYTES_MAX: u32 = 60_000;

/// The session that a client names in its first message.
pub(crate) const SESSION_ID: [u8; 32] = [0x5e; 32];

/// The direction's protection: what an encrypted record has beside its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Protection {
    /// In the clear.
    #[default]
    None,
    /// AES-GCM of TLS 1.2: an explicit nonce of 8 bytes before the content and a tag of 16 behind it (RFC
    /// 5288 section 3).
    Tls12,
    /// TLS 1.3: the content's type and a tag of 16 bytes behind it (RFC 8446 section 5.2).
    Tls13,
}

impl Protection {
    pub const fn of(version: Version) -> Protection {
        match version {
            Version::Tls12 => Protection::Tls12,
            Version::Tls13 => Protection::Tls13,
        }
    }
}
