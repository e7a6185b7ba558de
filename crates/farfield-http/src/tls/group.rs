//! Groups of key exchange, and the sizes of their key shares.

/// A group of key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// X25519 (RFC 7748).
    X25519,
    /// NIST P-256 (RFC 8422 section 5.4).
    Secp256r1,
    /// NIST P-384.
    Secp384r1,
    /// The post-quantum hybrid of ML-KEM-768 and X25519 (draft-ietf-tls-ecdhe-mlkem).
    X25519MlKem768,
}

impl Group {
    /// All groups, in the order in which they are offered by default.
    pub const ALL: [Group; 4] = [Group::X25519, Group::Secp256r1, Group::Secp384r1, Group::X25519MlKem768];

    /// Number of the group in IANA's registry of supported groups.
    pub const fn number(self) -> u16 {
        match self {
            Group::X25519 => 0x001d,
            Group::Secp256r1 => 0x0017,
            Group::Secp384r1 => 0x0018,
            Group::X25519MlKem768 => 0x11ec,
        }
    }

    pub(super) fn of_number(number: u16) -> Option<Group> {
        Group::ALL.into_iter().find(|group| group.number() == number)
    }

    /// Bytes of a client's key share.
    pub(super) const fn client_share(self) -> usize {
        match self {
            Group::X25519 => 32,
            Group::Secp256r1 => 65,
            Group::Secp384r1 => 97,
            // An encapsulation key of ML-KEM-768, and a share of X25519.
            Group::X25519MlKem768 => 1184 + 32,
        }
    }

    /// Bytes of a server's key share.
    pub(super) const fn server_share(self) -> usize {
        match self {
            // A ciphertext of ML-KEM-768, and a share of X25519.
            Group::X25519MlKem768 => 1088 + 32,
            other => other.client_share(),
        }
    }

    /// True if TLS 1.2 has it: hybrids need TLS 1.3.
    pub const fn is_of_tls12(self) -> bool {
        !matches!(self, Group::X25519MlKem768)
    }
}
