//! Keys that protect nothing, but have the sizes of AES-GCM's.

use bytes::BytesMut;
use quinn_proto::ConnectionId;
use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HeaderKey, KeyPair, Keys, PacketKey};

/// Bytes of an authentication tag (RFC 9001 section 5.3).
const TAG: usize = 16;
/// Bytes of a sample for header protection (RFC 9001 section 5.4.2).
const SAMPLE: usize = 16;

/// Protects packets by a tag of zeros, in either direction and any space.
struct Null;

impl PacketKey for Null {
    fn encrypt(&self, _packet: u64, buf: &mut [u8], _header_len: usize) {
        let at = buf.len().saturating_sub(TAG);
        buf[at..].fill(0);
    }

    fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        // A stateless reset has a token there.
        if payload[length..].iter().any(|byte| *byte != 0) {
            return Err(CryptoError);
        }
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

/// The keys of any space.
pub(super) fn keys() -> Keys {
    let header = KeyPair { local: Box::new(Null) as _, remote: Box::new(Null) as _ };
    Keys { header, packet: packet_keys() }
}

/// The keys of what goes within the handshake.
pub(super) fn early_keys() -> (Box<dyn HeaderKey>, Box<dyn PacketKey>) {
    (Box::new(Null), Box::new(Null))
}

pub(super) fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Null), remote: Box::new(Null) }
}

/// The key of tokens that are never given: neither Retry nor NEW_TOKEN is sent.
pub(in crate::quic) struct NoTokens;

impl HandshakeTokenKey for NoTokens {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NoTokens)
    }
}

impl AeadKey for NoTokens {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }

    fn open<'a>(&self, _data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Err(CryptoError)
    }
}

/// True if a Retry is sound: there are none.
pub(super) fn is_valid_retry(_first: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
    false
}
