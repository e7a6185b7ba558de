//! Protection of packets (RFC 9001, section 5).

use crate::tls::keys::{Suite, TAG, nonce};
use aws_lc_rs::aead::quic::{self, HeaderProtectionKey};
use aws_lc_rs::aead::{Aad, LessSafeKey, UnboundKey};
use aws_lc_rs::hkdf;
use std::fmt;

/// Section 5.2.
const SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc,
    0xbb, 0x7f, 0x0a,
];

/// Bytes of a sample (section 5.4.2), which begins this far behind the packet number's first byte.
const SAMPLE: usize = 16;
const SAMPLE_BEHIND: usize = 4;

/// The key of one direction and one kind of packets.
#[derive(Debug)]
pub(super) struct PacketKey {
    key: LessSafeKey,
    iv: [u8; 12],
}

/// The key of headers of one direction and one kind of packets.
pub(super) struct HeaderKey(HeaderProtectionKey);

impl fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderKey")
    }
}

/// A packet without its protection.
#[derive(Debug)]
pub(super) struct DecryptedPacket {
    pub number: u64,
    pub content: Vec<u8>,
}

/// A header without its protection.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub number: u64,
    /// The header's bytes, up to the packet number's last.
    pub bytes: Vec<u8>,
}

/// Secrets of the client's and of the server's Initial packets, by the client's first choice of an id for
/// the server (section 5.2).
pub(super) fn initial_secrets(id: &[u8]) -> [Vec<u8>; 2] {
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, &SALT).extract(id);
    ["client in", "server in"].map(|label| Suite::Aes128Gcm.expand_from(&prk, label, 32))
}

impl PacketKey {
    /// Out of a secret.
    pub fn of(suite: Suite, secret: &[u8]) -> Option<PacketKey> {
        if secret.len() != suite.hash_len() {
            return None;
        }
        let key = suite.expand(secret, "quic key", suite.cipher().key_len());
        let iv = suite.expand(secret, "quic iv", 12).try_into().ok()?;
        Some(PacketKey { key: LessSafeKey::new(UnboundKey::new(suite.cipher(), &key).ok()?), iv })
    }

    /// The content of `packet`, if its tag is right.
    pub fn open(&self, header: &Header, packet: &[u8]) -> Option<DecryptedPacket> {
        let mut content = packet.get(header.bytes.len()..)?.to_vec();
        let nonce = nonce(&self.iv, header.number);
        let len = self.key.open_in_place(nonce, Aad::from(&header.bytes), &mut content).ok()?.len();
        content.truncate(len);
        Some(DecryptedPacket { number: header.number, content })
    }
}

impl HeaderKey {
    /// Out of a secret.
    pub fn of(suite: Suite, secret: &[u8]) -> Option<HeaderKey> {
        if secret.len() != suite.hash_len() {
            return None;
        }
        let algorithm = match suite {
            Suite::Aes128Gcm => &quic::AES_128,
            Suite::Aes256Gcm => &quic::AES_256,
            Suite::ChaCha20 => &quic::CHACHA20,
        };
        let key = suite.expand(secret, "quic hp", suite.cipher().key_len());
        Some(HeaderKey(HeaderProtectionKey::new(algorithm, &key).ok()?))
    }

    /// The header of `packet`, whose number begins at `number_at`; `next` is the number that is expected.
    pub fn open(&self, packet: &[u8], number_at: usize, next: u64) -> Option<Header> {
        let sample_at = number_at + SAMPLE_BEHIND;
        let mask = self.0.new_mask(packet.get(sample_at..sample_at + SAMPLE)?).ok()?;
        let long = packet[0] & 0x80 != 0;
        let first = packet[0] ^ mask[0] & if long { 0x0f } else { 0x1f };
        let len = usize::from(first & 3) + 1;
        let mut bytes = packet[..number_at + len].to_vec();
        bytes[0] = first;
        let mut short = 0;
        for (byte, mask) in bytes[number_at..].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
            short = short << 8 | u64::from(*byte);
        }
        Some(Header { number: number(next, short, len as u32 * 8), bytes })
    }
}

/// The number whose last `bits` bits are `short` that is nearest to `next` (RFC 9000, appendix A.3).
fn number(next: u64, short: u64, bits: u32) -> u64 {
    let window = 1 << bits;
    let near = next & !(window - 1) | short;
    if near + window / 2 <= next && near < (1 << 62) - window {
        near + window
    } else if near > next + window / 2 && near >= window {
        near - window
    } else {
        near
    }
}

/// The shortest packet that can be opened: a number, a sample behind it, and what that covers.
pub(super) const PACKET_MIN: usize = SAMPLE_BEHIND + TAG;

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9001, appendix A.1, and RFC 9000, appendix A.3.
    #[test]
    fn initial_secrets_and_numbers_of_the_rfcs() {
        let secrets = initial_secrets(&[0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08]);
        assert_eq!(secrets[0][..4], [0xc0, 0x0c, 0xf1, 0x51]);
        assert_eq!(secrets[1][..4], [0x3c, 0x19, 0x98, 0x28]);
        assert_eq!(number(0xa82f_30eb, 0x9b32, 16), 0xa82f_9b32);
        assert_eq!((number(0, 0, 8), number(0x100, 0xff, 8), number(0xfe, 1, 8)), (0, 0xff, 0x101));
    }
}
