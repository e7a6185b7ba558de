//! Needs of TLS from the machine: cryptography with random numbers, and the system's root certificates.
//!
//! The cryptography is aws-lc-rs: of rustls' two providers it is the one with fewer cycles for handshakes and
//! for bulk data (docs/tls.md has both measured). The roots are those of the system and not a list in the
//! program, so that farfield trusts whom the machine's other clients trust.

use farfield_http::tls::{CryptoProvider, Group, Trust};
use rustls::crypto::aws_lc_rs::{self, kx_group};
use std::sync::Arc;

/// The cryptography of the real-time planes, with these groups of key exchange, in order. Its random numbers
/// are the system's: keys must differ from run to run, and no choice of users depends on them.
///
/// The groups are the scenario's: rustls' default would depend on a feature (`prefer-post-quantum`) that any
/// crate of the build can enable.
pub fn provider(groups: &[Group]) -> Arc<CryptoProvider> {
    let kx_groups = groups.iter().map(|group| match group {
        Group::X25519 => kx_group::X25519,
        Group::Secp256r1 => kx_group::SECP256R1,
        Group::Secp384r1 => kx_group::SECP384R1,
        Group::X25519MlKem768 => kx_group::X25519MLKEM768,
    });
    Arc::new(CryptoProvider { kx_groups: kx_groups.collect(), ..aws_lc_rs::default_provider() })
}

/// Why the system's root certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "this system has no root certificates that can be read{reason}: install its `ca-certificates`, name the \
     server's CA with `--cacert`, or verify nothing with `--insecure`"
)]
pub struct NoRoots {
    reason: String,
}

/// The system's root certificates, from where its OpenSSL has them, or from `SSL_CERT_FILE` and
/// `SSL_CERT_DIR`.
///
/// # Errors
/// If there are none.
pub fn system_roots() -> Result<Trust, NoRoots> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
        return Err(NoRoots { reason });
    }
    Ok(Trust::Roots(found.certs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key share is for the first, and all are what their names say.
    #[test]
    fn groups_are_offered_in_the_order_asked_for() {
        let backwards: Vec<Group> = Group::ALL.into_iter().rev().collect();
        for asked in [&Group::ALL[..], &backwards, &[Group::X25519MlKem768]] {
            let offered =
                provider(asked).kx_groups.iter().map(|group| u16::from(group.name())).collect::<Vec<_>>();
            assert_eq!(offered, asked.iter().map(|group| group.number()).collect::<Vec<_>>());
        }
    }
}
