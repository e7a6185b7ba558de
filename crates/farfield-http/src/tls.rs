//! TLS 1.2 and 1.3, the client's side (RFC 5246, RFC 8446), between a transport's bytes and the HTTP readers.
//!
//! [`Sessions`] say what sessions are made from. A [`Client`] is what the connections of one worker have in
//! common, and a [`Session`] is one connection: received bytes go in, plaintext and bytes to send come out.
//! Sessions are of two kinds: with cryptography, by rustls, as [`TlsSettings`] say, which are checked when
//! they are made; and [without](model), for virtual time.
//!
//! Nothing here reads a clock: every call takes the time. Cryptography and its random numbers come from the
//! [`CryptoProvider`] of the settings, which the plane chooses. Plaintext HTTP has no session and no cost.
//!
//! Not done: revocation, and early data without cryptography.

pub(crate) mod encrypted;
mod failure;
mod group;
pub mod model;
mod session;

pub use encrypted::{
    Alpn, Identities, IdentityError, Pin, ProcessorClock, SettingsError, TlsSettings, Trust,
    certificates_of_pem,
};
pub use failure::{
    BAD_SIGNATURE, EXPIRED, NO_PIN, NO_TRUSTED_ROOT, NOT_VALID_YET, OF_A_CA, TlsFailure, answers_plaintext,
};
pub use farfield_base::TlsVersion as Version;
pub use group::Group;
pub use rustls::KeyLog;
pub use rustls::crypto::CryptoProvider;
pub use session::{Client, Session, Sessions};
