//! A client's session and a server, and the bytes between them.

use farfield_base::{Duration, Instant};
use farfield_http::tls::{
    Alpn, Client, Identities, Pin, Session, Sessions, TlsFailure, TlsSettings, Trust, Version,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PublicKeyData};
use rustls::crypto::cipher::{MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::{ProducesTickets, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{
    ConnectionTrafficSecrets, ContentType, HandshakeKind, ProtocolVersion, ServerConfig, ServerConnection,
    SupportedCipherSuite,
};
use std::io::{Read, Write};
use std::sync::Arc;

/// Validity of all certificates: the year 2020.
pub const VALID_FROM_UNIX_S: u64 = 1_577_836_800;
pub const VALID_TO_UNIX_S: u64 = 1_609_459_200;

/// The authority that signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = params_for("authority.test");
        // Nobody takes one authority for another.
        let own = format!("authority {:?}", &key.public_key_raw()[..8]);
        params.distinguished_name.push(DnType::CommonName, own);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate").der().clone();
        Authority { issuer: Issuer::new(params, key), certificate }
    }

    /// A certificate of the authority's for `name`, with its key.
    pub fn identify(&self, name: &str) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params_for(name).signed_by(&key, &self.issuer).expect("a certificate");
        let (pem, der) = (certificate.pem(), certificate.der().clone());
        Identity { certificate: pem, key: key.serialize_pem(), der }
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }
}

/// Someone's certificate and key, in PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
    pub der: CertificateDer<'static>,
}

fn params_for(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    params
}

/// A server's configuration and certificate.
#[derive(Clone)]
pub struct Server {
    config: Arc<ServerConfig>,
    pin: Pin,
    certificate_bytes: u32,
}

impl Default for Server {
    fn default() -> Server {
        Server::of(&Authority::new(), "shop.test")
    }
}

impl Server {
    /// One with a certificate of the authority's, for `name`.
    pub fn of(authority: &Authority, name: &str) -> Server {
        Server::made(authority, name, rustls::ALL_VERSIONS)
    }

    /// One that speaks one version only.
    pub fn speaking(version: Version) -> Server {
        let versions = match version {
            Version::Tls12 => &[&rustls::version::TLS12],
            Version::Tls13 => &[&rustls::version::TLS13],
        };
        Server::made(&Authority::new(), "shop.test", versions)
    }

    fn made(
        authority: &Authority,
        name: &str,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Server {
        let key = KeyPair::generate().expect("a key");
        let certificate = params_for(name).signed_by(&key, &authority.issuer).expect("a certificate");
        let pin = Pin::of(&key.subject_public_key_info());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_protocol_versions(versions)
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate and its key");
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.ticketer = aws_lc_rs::Ticketer::new().expect("a ticketer");
        Server { config: Arc::new(config), pin, certificate_bytes: certificate.der().len() as u32 }
    }

    /// Bytes of its certificate.
    pub fn certificate_bytes(&self) -> u32 {
        self.certificate_bytes
    }

    pub fn pin(&self) -> Pin {
        self.pin
    }

    /// Accepts no key exchange but `group`.
    pub fn only_exchanges_keys_by(&mut self, group: &'static dyn SupportedKxGroup) {
        let provider = CryptoProvider { kx_groups: vec![group], ..aws_lc_rs::default_provider() };
        let config = self.config_mut();
        let mut made = ServerConfig::builder_with_provider(provider.into())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("versions")
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&config.cert_resolver));
        made.alpn_protocols.clone_from(&config.alpn_protocols);
        made.ticketer = Arc::clone(&config.ticketer);
        *config = made;
    }

    /// Wants certificates of the authority's, which are valid in the year of the scene.
    pub fn ask_for_certificates(&mut self, authority: &Authority, version: Version) {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.certificate()).expect("a root");
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
        let time = Arc::new(AtFixedTime(VALID_FROM_UNIX_S + 1000));
        let versions = match version {
            Version::Tls12 => &[&rustls::version::TLS12],
            Version::Tls13 => &[&rustls::version::TLS13],
        };
        let config = self.config_mut();
        let mut made = ServerConfig::builder_with_details(provider, time)
            .with_protocol_versions(versions)
            .expect("versions")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_cert_resolver(Arc::clone(&config.cert_resolver));
        made.alpn_protocols.clone_from(&config.alpn_protocols);
        made.ticketer = Arc::clone(&config.ticketer);
        *config = made;
    }

    /// Takes so many bytes of early data, of sessions that it keeps.
    pub fn take_early_data(&mut self, bytes: u32) {
        let config = self.config_mut();
        config.max_early_data_size = bytes;
        config.ticketer = Arc::new(NoTickets);
        config.session_storage = rustls::server::ServerSessionMemoryCache::new(32);
    }

    /// Knows the sessions of `other`.
    pub fn share_sessions_of(&mut self, other: &Server) {
        let storage = Arc::clone(&other.config.session_storage);
        let (bytes, ticketer) = (other.config.max_early_data_size, Arc::clone(&other.config.ticketer));
        let config = self.config_mut();
        (config.session_storage, config.max_early_data_size, config.ticketer) = (storage, bytes, ticketer);
    }

    pub fn config_mut(&mut self) -> &mut ServerConfig {
        Arc::get_mut(&mut self.config).expect("nobody else has it")
    }
}

/// Sessions are kept by the server, and not in tickets.
#[derive(Debug)]
struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _plain: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _cipher: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// A server's clock that stands.
#[derive(Debug)]
struct AtFixedTime(u64);

impl TimeProvider for AtFixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(self.0)))
    }
}

/// The settings of a session; any certificate is accepted where `trust` is not said.
pub struct Scene {
    pub trust: Option<Trust>,
    pub server: Server,
    pub versions: Vec<Version>,
    pub alpn: Alpn,
    pub resumption: bool,
    /// The client sends early data.
    pub early: bool,
    /// The client's certificates.
    pub identities: Option<Identities>,
    /// Groups that the client offers; the library's if none.
    pub groups: Vec<&'static dyn SupportedKxGroup>,
    /// The time, in seconds since 1970.
    pub unix_s: u64,
    /// Bytes that come at once.
    pub piece: usize,
}

impl Default for Scene {
    fn default() -> Scene {
        Scene {
            trust: None,
            server: Server::default(),
            versions: vec![Version::Tls12, Version::Tls13],
            alpn: Alpn::Http11,
            resumption: true,
            early: false,
            identities: None,
            groups: Vec::new(),
            unix_s: VALID_FROM_UNIX_S + 1000,
            piece: usize::MAX,
        }
    }
}

impl Scene {
    pub fn client(&self) -> Arc<Client> {
        let trust = self.trust.clone().unwrap_or(Trust::Anyone);
        let mut provider = aws_lc_rs::default_provider();
        if !self.groups.is_empty() {
            provider.kx_groups.clone_from(&self.groups);
        }
        let provider = Arc::new(provider);
        let settings = TlsSettings::new("shop.test", trust, &self.versions, self.resumption, provider);
        // Half of the time is the run's own.
        let settings = settings.expect("settings").starting_at(self.unix_s - 500);
        let settings = settings.with_identities(self.identities.clone()).speaking(self.alpn);
        let settings = settings.with_early_data(self.early);
        Arc::new(Client::new(&Sessions::Encrypted(settings)))
    }

    pub fn begin(&self) -> Ends {
        self.begin_of(&self.client(), 0)
    }

    /// A session of `user`.
    pub fn begin_of(&self, common: &Arc<Client>, user: u32) -> Ends {
        let now = Instant::ZERO + Duration::from_secs(500);
        let server = ServerConnection::new(Arc::clone(&self.server.config)).expect("a server");
        let (common, client) = (Arc::clone(common), common.begin(now, user));
        Ends {
            common,
            now,
            client,
            server,
            piece: self.piece,
            heard: Vec::new(),
            heard_at_server: Vec::new(),
        }
    }
}

/// Both ends of a connection.
pub struct Ends {
    common: Arc<Client>,
    now: Instant,
    pub client: Session,
    pub server: ServerConnection,
    piece: usize,
    /// Plaintext that the client has received.
    pub heard: Vec<u8>,
    heard_at_server: Vec<u8>,
}

impl Ends {
    /// Hands `bytes` to the client.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), TlsFailure> {
        self.client.receive(&self.common, self.now, bytes, &mut self.heard)
    }

    /// Hands what the client has to send to the server.
    fn deliver(&mut self) {
        let mut bytes = Vec::new();
        self.client.take_to_send(&mut bytes);
        self.deliver_to_server(&bytes);
    }

    /// Hands `bytes` to the server.
    pub fn deliver_to_server(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            self.server.read_tls(&mut rest).expect("memory");
            // The server answers what it makes of them.
            if self.server.process_new_packets().is_err() {
                return;
            }
            if let Some(mut early) = self.server.early_data() {
                early.read_to_end(&mut self.heard_at_server).expect("memory");
            }
            let _ = self.server.reader().read_to_end(&mut self.heard_at_server);
        }
    }

    pub fn take_from_server(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut bytes).expect("memory");
        }
        bytes
    }

    /// The server's answer to the client's first message.
    pub fn first_answer(&mut self) -> Vec<u8> {
        self.deliver();
        self.take_from_server()
    }

    /// Carries bytes to and fro until neither end has more.
    pub fn exchange(&mut self) -> Result<(), TlsFailure> {
        loop {
            self.deliver();
            let bytes = self.take_from_server();
            if bytes.is_empty() {
                return Ok(());
            }
            for piece in bytes.chunks(self.piece.min(bytes.len())) {
                self.receive(piece)?;
            }
        }
    }

    /// Carries bytes until the client's handshake is over.
    pub fn shake_hands(&mut self) -> Result<(), TlsFailure> {
        self.exchange()?;
        assert!(self.client.is_secured(), "a handshake that neither ends nor fails");
        Ok(())
    }

    pub fn server_says(&mut self, plain: &[u8]) {
        self.server.writer().write_all(plain).expect("memory");
    }

    /// The server's side from here on, of a session of TLS 1.3 whose secrets may be extracted, and what the
    /// server still had to send.
    pub fn take_over_server(&mut self) -> (Sealer, Vec<u8>) {
        let unsent = self.take_from_server();
        let stand_in = ServerConnection::new(Server::default().config).expect("a server");
        let server = std::mem::replace(&mut self.server, stand_in);
        let Some(SupportedCipherSuite::Tls13(suite)) = server.negotiated_cipher_suite() else {
            panic!("a session of TLS 1.3")
        };
        let (number, secrets) = server.dangerous_extract_secrets().expect("secrets that may be extracted").tx;
        let (key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv }
            | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
            | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (key, iv),
            _ => panic!("an algorithm that is not known"),
        };
        let mut sealer = Sealer { encrypter: suite.aead_alg.encrypter(key, iv), number: 0 };
        // The library takes numbers in their order alone, from the first on.
        while sealer.number < number {
            sealer.seal(ContentType::ApplicationData, b"");
        }
        (sealer, unsent)
    }

    pub fn heard_by_server(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.heard_at_server)
    }

    pub fn has_server_seen_goodbye(&mut self) -> bool {
        self.server.process_new_packets().is_ok_and(|state| state.peer_has_closed())
    }

    pub fn is_resumed(&self) -> bool {
        self.server.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}

/// A server's side of a session behind the handshake, for records that no library writes.
pub struct Sealer {
    encrypter: Box<dyn MessageEncrypter>,
    /// The number of the next record.
    number: u64,
}

impl Sealer {
    /// The next record, of any kind.
    pub fn seal(&mut self, kind: ContentType, payload: &[u8]) -> Vec<u8> {
        let payload = OutboundChunks::Single(payload);
        let plain = OutboundPlainMessage { typ: kind, version: ProtocolVersion::TLSv1_2, payload };
        self.number += 1;
        self.encrypter.encrypt(plain, self.number - 1).expect("a record").encode()
    }
}
