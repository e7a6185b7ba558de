//! Keys of a direction out of its secrets (RFC 8446, sections 5.2, 5.3 and 7; RFC 5246, sections 5 and 6.3).

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use aws_lc_rs::{hkdf, hmac};

/// Bytes of an authentication tag, in all suites that are read.
pub(crate) const TAG: usize = 16;
/// Bytes of a nonce.
const NONCE: usize = 12;

/// A cipher with its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20,
}

/// A length that is asked of HKDF.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl Suite {
    /// The suite of this number: those of TLS 1.3 (RFC 8446, appendix B.4), and of TLS 1.2 with ECDHE or DHE
    /// (RFC 5288, RFC 5289, RFC 7905).
    pub fn of(number: u16) -> Option<Suite> {
        match number {
            0x1301 | 0xc02b | 0xc02f | 0x009c | 0x009e => Some(Suite::Aes128Gcm),
            0x1302 | 0xc02c | 0xc030 | 0x009d | 0x009f => Some(Suite::Aes256Gcm),
            0x1303 | 0xcca8 | 0xcca9 | 0xccaa => Some(Suite::ChaCha20),
            _ => None,
        }
    }

    pub fn cipher(self) -> &'static Algorithm {
        match self {
            Suite::Aes128Gcm => &AES_128_GCM,
            Suite::Aes256Gcm => &AES_256_GCM,
            Suite::ChaCha20 => &CHACHA20_POLY1305,
        }
    }

    /// Bytes of its hash, and so of its secrets.
    pub fn hash_len(self) -> usize {
        match self {
            Suite::Aes256Gcm => 48,
            _ => 32,
        }
    }

    fn hkdf(self) -> hkdf::Algorithm {
        match self {
            Suite::Aes256Gcm => hkdf::HKDF_SHA384,
            _ => hkdf::HKDF_SHA256,
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Suite::Aes256Gcm => hmac::HMAC_SHA384,
            _ => hmac::HMAC_SHA256,
        }
    }

    /// HKDF-Expand-Label without a context (RFC 8446, section 7.1).
    pub fn expand(self, secret: &[u8], label: &str, len: usize) -> Vec<u8> {
        self.expand_from(&hkdf::Prk::new_less_safe(self.hkdf(), secret), label, len)
    }

    /// HKDF-Expand-Label from a key that was extracted.
    pub fn expand_from(self, prk: &hkdf::Prk, label: &str, len: usize) -> Vec<u8> {
        let label = [b"tls13 ", label.as_bytes()].concat();
        let info = [&(len as u16).to_be_bytes(), &[label.len() as u8][..], &label, &[0]].concat();
        let mut bytes = vec![0; len];
        let filled = prk.expand(&[&info], Length(len)).and_then(|okm| okm.fill(&mut bytes));
        filled.expect("a length below 255 hashes");
        bytes
    }

    /// The secret after an update of keys, of TLS or, with another label, of QUIC.
    pub fn next_secret(self, secret: &[u8], label: &str) -> Vec<u8> {
        self.expand(secret, label, secret.len())
    }

    /// The key block of TLS 1.2: `len` bytes of the pseudorandom function (RFC 5246, section 5).
    fn key_block(self, master: &[u8], server_random: &[u8], client_random: &[u8], len: usize) -> Vec<u8> {
        let key = hmac::Key::new(self.hmac(), master);
        let seed = [b"key expansion", server_random, client_random].concat();
        let mut block = Vec::new();
        let mut a = hmac::sign(&key, &seed);
        while block.len() < len {
            block.extend_from_slice(hmac::sign(&key, &[a.as_ref(), &seed].concat()).as_ref());
            a = hmac::sign(&key, a.as_ref());
        }
        block.truncate(len);
        block
    }
}

/// The numbering and the framing of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Tls12,
    Tls13,
}

/// The key that opens the records of one direction.
#[derive(Debug)]
pub(crate) struct RecordKey {
    key: LessSafeKey,
    iv: [u8; NONCE],
    version: Version,
    /// Bytes of the nonce that each record carries (RFC 5288, section 3).
    explicit: usize,
}

/// Nonce of packet or record `number` (RFC 8446, section 5.3; RFC 9001, section 5.3).
pub(crate) fn nonce(iv: &[u8; NONCE], number: u64) -> Nonce {
    let mut nonce = *iv;
    for (byte, own) in nonce[NONCE - 8..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= own;
    }
    Nonce::assume_unique_for_key(nonce)
}

impl RecordKey {
    /// Out of a traffic secret of TLS 1.3.
    pub fn of_secret(suite: Suite, secret: &[u8]) -> Option<RecordKey> {
        if secret.len() != suite.hash_len() {
            return None;
        }
        let key = suite.expand(secret, "key", suite.cipher().key_len());
        let iv = suite.expand(secret, "iv", NONCE).try_into().ok()?;
        let key = LessSafeKey::new(UnboundKey::new(suite.cipher(), &key).ok()?);
        Some(RecordKey { key, iv, version: Version::Tls13, explicit: 0 })
    }

    /// The keys of the client and of the server out of a master secret of TLS 1.2.
    pub fn of_master(
        suite: Suite,
        master: &[u8],
        client_random: &[u8; 32],
        server_random: &[u8; 32],
    ) -> Option<[RecordKey; 2]> {
        let (key_len, iv_len, explicit) = match suite {
            Suite::ChaCha20 => (32, NONCE, 0),
            suite => (suite.cipher().key_len(), 4, 8),
        };
        let block = suite.key_block(master, server_random, client_random, 2 * (key_len + iv_len));
        let (keys, ivs) = block.split_at(2 * key_len);
        let of = |end: usize| {
            let key = UnboundKey::new(suite.cipher(), &keys[end * key_len..][..key_len]).ok()?;
            let mut iv = [0; NONCE];
            iv[..iv_len].copy_from_slice(&ivs[end * iv_len..][..iv_len]);
            Some(RecordKey { key: LessSafeKey::new(key), iv, version: Version::Tls12, explicit })
        };
        Some([of(0)?, of(1)?])
    }

    /// Bytes of a record's body before its content, and behind it, the kind of a record of TLS 1.3 included.
    pub fn around(&self) -> (usize, usize) {
        (self.explicit, TAG + usize::from(self.version == Version::Tls13))
    }

    /// The content of record `number` of the direction, and its kind; `None` if it is not under this key.
    pub fn open(&self, number: u64, header: [u8; 5], body: &[u8]) -> Option<(u8, Vec<u8>)> {
        let (before, _) = self.around();
        let len = body.len().checked_sub(before + TAG)?;
        let (sealed, tag) = body[before..].split_at(len);
        let mut content = vec![0; len];
        let opened = match self.version {
            Version::Tls13 => {
                let nonce = nonce(&self.iv, number);
                self.key.open_separate_gather(nonce, Aad::from(header), sealed, tag, &mut content)
            }
            Version::Tls12 => {
                let nonce = match self.explicit {
                    0 => nonce(&self.iv, number),
                    _ => {
                        let mut nonce = self.iv;
                        nonce[NONCE - before..].copy_from_slice(&body[..before]);
                        Nonce::assume_unique_for_key(nonce)
                    }
                };
                let length = (len as u16).to_be_bytes();
                let aad = [&number.to_be_bytes()[..], &header[..3], &length].concat();
                self.key.open_separate_gather(nonce, Aad::from(aad), sealed, tag, &mut content)
            }
        };
        opened.ok()?;
        let mut kind = header[0];
        if self.version == Version::Tls13 {
            // The kind, and zeros behind it (RFC 8446, section 5.4).
            let last = content.iter().rposition(|byte| *byte != 0)?;
            kind = content[last];
            content.truncate(last);
        }
        Some((kind, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            text.bytes().filter_map(|byte| (byte as char).to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    /// RFC 8448, section 3: the server's key and IV for the handshake.
    #[test]
    fn keys_of_a_secret() {
        let secret = hex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
        let suite = Suite::Aes128Gcm;
        assert_eq!(suite.expand(&secret, "key", 16), hex("3fce516009c21727d0f2e4e86ee403bc"));
        assert_eq!(suite.expand(&secret, "iv", 12), hex("5d313eb2671276ee13000b30"));
    }

    /// RFC 9001, appendix A.1: what is derived from the client's first connection id.
    #[test]
    fn a_key_under_another_label() {
        let secret = hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea");
        assert_eq!(Suite::Aes128Gcm.expand(&secret, "quic key", 16), hex("1f369613dd76d5467730efcbe3b1a22d"));
    }

    #[test]
    fn a_record_under_another_key_or_number_is_not_opened() {
        let key = RecordKey::of_secret(Suite::ChaCha20, &[7; 32]).unwrap();
        assert_eq!(key.open(0, [23, 3, 3, 0, 20], &[0; 20]), None);
        assert_eq!(key.open(0, [23, 3, 3, 0, 3], &[0; 3]), None, "shorter than a tag");
    }
}
