//! Numbers that the library would draw entropy for: connection identifiers (RFC 9000 section 5.1) and the
//! key of reset tokens. All follow from one seed.

use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, EndpointConfig};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of the identifiers that servers are to name connections by.
const OWN_BYTES: usize = 8;
/// Bytes of the identifier that a server is first asked by; it must have eight at least (section 7.2).
const FIRST_BYTES: usize = 16;
/// Bytes of a seed.
pub const SEED_BYTES: usize = 32;

/// Numbers that cannot be distinguished from random ones without the seed: digests of the seed, a purpose
/// and a count.
#[derive(Debug)]
pub(super) struct IdentifierSource {
    seed: [u8; SEED_BYTES],
    drawn: AtomicU64,
}

impl IdentifierSource {
    pub fn new(seed: [u8; SEED_BYTES]) -> IdentifierSource {
        IdentifierSource { seed, drawn: AtomicU64::new(0) }
    }

    fn digest(&self, purpose: u8, of: &[u8]) -> [u8; 32] {
        Sha256::new().chain_update(self.seed).chain_update([purpose]).chain_update(of).finalize().into()
    }

    /// An identifier that was not drawn before.
    fn identifier(&self, bytes: usize) -> ConnectionId {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed);
        ConnectionId::new(&self.digest(0, &count.to_le_bytes())[..bytes])
    }

    /// The identifier that a server is first asked by.
    pub fn first(&self) -> ConnectionId {
        self.identifier(FIRST_BYTES)
    }
}

/// The configuration of an endpoint whose numbers are `numbers`.
pub(super) fn endpoint(numbers: &Arc<IdentifierSource>) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(ResetKey(Arc::clone(numbers))));
    let own = Arc::clone(numbers);
    config.cid_generator(move || Box::new(ServerIdentifiers(Arc::clone(&own))));
    config.rng_seed(Some(numbers.digest(1, &[])));
    config
}

/// The generator of the identifiers that servers name connections by.
struct ServerIdentifiers(Arc<IdentifierSource>);

impl ConnectionIdGenerator for ServerIdentifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0.identifier(OWN_BYTES)
    }

    fn cid_len(&self) -> usize {
        OWN_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The key of the tokens by which the client could reset a connection. It never does: what comes for a
/// connection that is gone finds no socket.
struct ResetKey(Arc<IdentifierSource>);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let digest = self.0.digest(2, data);
        let bytes = signature_out.len().min(digest.len());
        signature_out[..bytes].copy_from_slice(&digest[..bytes]);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if self.0.digest(2, data) == *signature { Ok(()) } else { Err(CryptoError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_the_seed_and_do_not_repeat() {
        let draw = |seed| {
            let numbers = IdentifierSource::new([seed; SEED_BYTES]);
            let draws = [numbers.identifier(OWN_BYTES), numbers.first(), numbers.identifier(OWN_BYTES)];
            draws.map(|id| id.to_vec())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1)[0], draw(2)[0]);
        let [one, first, other] = draw(1);
        assert_ne!(one, other);
        assert_eq!([one.len(), first.len()], [8, 16]);
    }
}
