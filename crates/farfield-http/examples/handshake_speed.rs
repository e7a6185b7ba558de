//! Speed of TLS 1.3 handshakes at the client, without a network: both ends exchange their messages in
//! memory, and only the client's calls are timed, by the processor time of the thread.
//!
//! `cargo run --release -p farfield-http --example handshake_speed` prints what a full handshake and one that
//! resumes a session take, with rustls's own client and with a session of farfield's, in turn; behind `--`
//! may be how many of each. Both have the same cryptography and offer the same; the certificate has an ECDSA
//! key (P-256), the key exchange is X25519, the cipher suite AES-128-GCM. As with `--insecure`, the server's
//! signature is verified, but not who signed its certificate. The first figure of a row ends with the
//! client's last message of the handshake, the second contains the tickets that the server gives after it.

use farfield_base::{Duration, Instant};
use farfield_http::tls::{self, Alpn, Sessions, TlsSettings, Trust, Version};
use rcgen::{CertificateParams, KeyPair};
use rustix::time::{ClockId, clock_gettime};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, DigitallySignedStruct, Error, HandshakeKind, ServerConfig,
    ServerConnection, SignatureScheme,
};
use std::sync::Arc;

const NAME: &str = "shop.test";
/// Handshakes of each kind, by default.
const HANDSHAKES: usize = 2_000;
/// Rounds into which they are divided, so that kinds take turns.
const ROUNDS: usize = 10;

/// A client's end of a connection.
trait Client {
    fn send(&mut self, bytes: &mut Vec<u8>);
    fn receive(&mut self, bytes: &[u8]);
    fn is_secured(&self) -> bool;
}

impl Client for ClientConnection {
    fn send(&mut self, bytes: &mut Vec<u8>) {
        while self.wants_write() {
            self.write_tls(bytes).expect("memory");
        }
    }
    fn receive(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.read_tls(&mut bytes).expect("memory");
            self.process_new_packets().expect("an honest server");
        }
    }
    fn is_secured(&self) -> bool {
        !self.is_handshaking()
    }
}

/// A session of farfield's.
struct Session<'a> {
    client: &'a tls::Client,
    session: tls::Session,
    plain: Vec<u8>,
}

impl Client for Session<'_> {
    fn send(&mut self, bytes: &mut Vec<u8>) {
        self.session.take_to_send(bytes);
    }
    fn receive(&mut self, bytes: &[u8]) {
        let received = self.session.receive(self.client, Instant::ZERO, bytes, &mut self.plain);
        received.expect("an honest server");
    }
    fn is_secured(&self) -> bool {
        self.session.is_secured()
    }
}

/// Processor time of a client's handshakes.
#[derive(Clone, Copy, Default)]
struct Took {
    handshakes: Duration,
    with_tickets: Duration,
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn timed<R>(spent: &mut Duration, work: impl FnOnce() -> R) -> R {
    let before = processor_time();
    let done = work();
    *spent = *spent + (processor_time() - before);
    done
}

/// One handshake with `server`, which resumes a session or not.
fn shake_hands<C: Client>(
    took: &mut Took,
    server: &Arc<ServerConfig>,
    is_resumed: bool,
    begin: impl FnOnce() -> C,
) {
    let mut server = ServerConnection::new(Arc::clone(server)).expect("a server");
    let (mut spent, mut to_server, mut to_client) = (Duration::ZERO, Vec::new(), Vec::new());
    let mut client = timed(&mut spent, begin);
    while !client.is_secured() {
        timed(&mut spent, || client.send(&mut to_server));
        answer(&mut server, &mut to_server, &mut to_client);
        timed(&mut spent, || client.receive(&to_client));
        to_client.clear();
    }
    timed(&mut spent, || client.send(&mut to_server));
    took.handshakes = took.handshakes + spent;
    answer(&mut server, &mut to_server, &mut to_client);
    timed(&mut spent, || client.receive(&to_client));
    took.with_tickets = took.with_tickets + spent;
    let resumed = server.handshake_kind() == Some(HandshakeKind::Resumed);
    assert_eq!(resumed, is_resumed, "handshakes are of the kind that is measured");
}

/// Hands `to_server` to the server, and takes what it answers.
fn answer(server: &mut ServerConnection, to_server: &mut Vec<u8>, to_client: &mut Vec<u8>) {
    let mut bytes = &to_server[..];
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).expect("memory");
        server.process_new_packets().expect("an honest client");
    }
    to_server.clear();
    while server.wants_write() {
        server.write_tls(to_client).expect("memory");
    }
}

fn server() -> Arc<ServerConfig> {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![NAME.to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    let mut config = ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate and its key");
    config.alpn_protocols = Alpn::Http11.ids().iter().map(|id| id.to_vec()).collect();
    config.ticketer = aws_lc_rs::Ticketer::new().expect("a ticketer");
    Arc::new(config)
}

/// The library's client.
fn library(resumes: bool) -> Arc<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    config.alpn_protocols = Alpn::Http11.ids().iter().map(|id| id.to_vec()).collect();
    config.resumption = if resumes { Resumption::in_memory_sessions(32) } else { Resumption::disabled() };
    Arc::new(config)
}

/// farfield's client.
fn ours(resumes: bool) -> tls::Client {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions = [Version::Tls12, Version::Tls13];
    let settings = TlsSettings::new(NAME, Trust::Anyone, &versions, resumes, provider).expect("settings");
    tls::Client::new(&Sessions::Encrypted(settings.timed_by(processor_time)))
}

/// Accepts any certificate, and verifies the signature of the handshake.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn main() {
    let asked = std::env::args().nth(1).map(|count| count.parse::<usize>().expect("a number of handshakes"));
    let each_round = asked.unwrap_or(HANDSHAKES).div_ceil(ROUNDS).max(1);
    let server = server();
    let name = ServerName::try_from(NAME).expect("a name");
    println!("handshake  client    µs  µs with tickets");
    for (kind, resumes) in [("full", false), ("resumed", true)] {
        let (library, ours) = (library(resumes), ours(resumes));
        let by_rustls = |took: &mut Took, is_resumed: bool| {
            let begin = || ClientConnection::new(Arc::clone(&library), name.clone()).expect("a client");
            shake_hands(took, &server, is_resumed, begin);
        };
        let by_session = |took: &mut Took, is_resumed: bool| {
            let begin =
                || Session { client: &ours, session: ours.begin(Instant::ZERO, 0), plain: Vec::new() };
            shake_hands(took, &server, is_resumed, begin);
        };
        // The first gets the tickets, and fills the caches.
        by_rustls(&mut Took::default(), false);
        by_session(&mut Took::default(), false);
        let (mut rustls, mut session) = (Took::default(), Took::default());
        for _ in 0..ROUNDS {
            (0..each_round).for_each(|_| by_rustls(&mut rustls, resumes));
            (0..each_round).for_each(|_| by_session(&mut session, resumes));
        }
        for (client, took) in [("rustls", rustls), ("session", session)] {
            let each_us = |all: Duration| all.as_secs_f64() * 1e6 / (each_round * ROUNDS) as f64;
            let (handshake, with_tickets) = (each_us(took.handshakes), each_us(took.with_tickets));
            println!("{kind:<9}  {client:<7}  {handshake:.2}  {with_tickets:.2}");
        }
    }
}
