//! Sessions with cryptography, by rustls: no other module names it.

mod anchored;
mod identity;
mod leaf;
mod records;
mod session;
mod settings;
mod tickets;
mod witness;

pub use identity::{Identities, IdentityError};
pub(super) use session::Session;
pub use settings::{Alpn, Pin, ProcessorClock, SettingsError, TlsSettings, Trust, certificates_of_pem};
pub(crate) use witness::{CertificateVerdict, Witness};

use farfield_base::Instant;
use identity::CertificateRequests;
use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, SupportedProtocolVersion};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tickets::Tickets;

/// State that the sessions of one worker share: the time, and the tickets.
#[derive(Debug)]
pub struct Client {
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
    time: Arc<GivenTime>,
    tickets: Arc<Tickets>,
    /// Knows whether a server asked for a certificate.
    asked: Arc<CertificateRequests>,
    started_unix_s: u64,
    clock: Option<ProcessorClock>,
    alpn: Alpn,
}

impl Client {
    /// The client that `settings` describe.
    pub fn new(settings: &TlsSettings) -> Client {
        Client::verifying(settings, Arc::clone(&settings.verifier), settings.versions, settings.alpn)
    }

    /// The client for sessions inside QUIC, which has TLS 1.3 alone (RFC 9001 section 4.2), with the witness
    /// of their verification.
    pub(crate) fn in_quic(settings: &TlsSettings) -> (Client, Arc<Witness>) {
        let witness = Arc::new(Witness::of(Arc::clone(&settings.verifier)));
        let versions = &[&rustls::version::TLS13];
        let client = Client::verifying(settings, Arc::clone(&witness) as _, versions, Alpn::Http3);
        (client, witness)
    }

    fn verifying(
        settings: &TlsSettings,
        verifier: Arc<dyn ServerCertVerifier>,
        versions: &[&'static SupportedProtocolVersion],
        alpn: Alpn,
    ) -> Client {
        let (time, tickets) = (Arc::<GivenTime>::default(), Arc::<Tickets>::default());
        let builder = ClientConfig::builder_with_details(Arc::clone(&settings.provider), time.clone())
            .with_protocol_versions(versions)
            .expect("the settings were checked against their provider")
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let own = settings.identities.as_ref().map(|own| own.resolver(Arc::clone(&tickets)));
        let asked = Arc::new(CertificateRequests::of(own));
        let mut config = builder.with_client_cert_resolver(Arc::clone(&asked) as _);
        config.alpn_protocols = alpn.ids().iter().map(|id| id.to_vec()).collect();
        config.resumption = match settings.resumption {
            true => Resumption::store(tickets.clone()),
            false => Resumption::disabled(),
        };
        config.enable_early_data = settings.early_data;
        if let Some(keys) = &settings.keys {
            config.key_log = Arc::clone(keys);
        }
        let (name, config) = (settings.name.clone(), Arc::new(config));
        let TlsSettings { started_unix_s, clock, .. } = *settings;
        Client { name, config, time, tickets, asked, started_unix_s, clock, alpn }
    }

    /// A session of `user`, whose first message is ready to be taken.
    pub fn begin(&self, now: Instant, user: u32) -> Session {
        self.tickets.keep_for(user);
        self.enter(now, user);
        let (connection, took) =
            self.timed(|| ClientConnection::new(Arc::clone(&self.config), self.name.clone()));
        Session::new(connection.expect("a configuration that was checked begins sessions"), user, took)
    }

    /// Forgets the tickets of `user`, who is gone or comes back as another.
    pub fn forget(&self, user: u32) {
        self.tickets.forget(user);
    }

    /// The configuration of sessions inside QUIC, and the server's name.
    pub(crate) fn config(&self) -> (Arc<ClientConfig>, &ServerName<'static>) {
        (Arc::clone(&self.config), &self.name)
    }

    /// Keeps tickets for `user` from now on.
    pub(crate) fn keep_for(&self, user: u32) {
        self.tickets.keep_for(user);
    }

    /// Does `work`; returns the processor time that it took as well, zero without a clock.
    pub(crate) fn timed<R>(&self, work: impl FnOnce() -> R) -> (R, farfield_base::Duration) {
        let Some(clock) = self.clock else { return (work(), farfield_base::Duration::ZERO) };
        let before = clock();
        let done = work();
        (done, clock() - before)
    }

    /// Prepares a call of the library: it is `now`, on behalf of `user`.
    pub(crate) fn enter(&self, now: Instant, user: u32) {
        let since_start_s = now.as_ns() / 1_000_000_000;
        self.time.0.store(self.started_unix_s + since_start_s, Ordering::Relaxed);
        self.tickets.act_for(user);
    }
}

/// The time in seconds since 1970, as it was last handed in.
#[derive(Debug, Default)]
struct GivenTime(AtomicU64);

impl TimeProvider for GivenTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0.load(Ordering::Relaxed))))
    }
}
