//! Bytes as a server of TLS sends them: properties of the client's sessions, with cryptography and without,
//! and of the model of a server. The fuzz target `tls_session` is [`of_stream`].

use super::replies::cut;
use farfield_base::{Duration, Instant};
use farfield_http::tls::model::{Offer, ServerSession, Terms};
use farfield_http::tls::{Alpn, Client, Group, Sessions, TlsFailure, TlsSettings, Trust, Version};
use rustls::crypto::aws_lc_rs;
use std::sync::{Arc, LazyLock};

const VERSIONS: [&[Version]; 3] = [&[Version::Tls12, Version::Tls13], &[Version::Tls13], &[Version::Tls12]];

/// Result of a session that read a stream.
#[derive(Debug, PartialEq, Eq)]
struct Received {
    failure: Option<TlsFailure>,
    plain: Vec<u8>,
    is_secured: bool,
    is_closed: bool,
    may_end: bool,
}

/// A fuzzer's input: a first byte that says which versions are offered, a second that seeds the cuts, then
/// the stream.
pub fn of_stream(input: &[u8]) {
    let [mode, seed, stream @ ..] = input else { return };
    let versions = VERSIONS[usize::from(*mode) % VERSIONS.len()];
    let pieces = cut(stream, u64::from(*seed), 40);
    let encrypted = encrypted(versions);
    let (whole, in_pieces) = (receive(&encrypted, &[stream]), receive(&encrypted, &pieces));
    for received in [&whole, &in_pieces] {
        // Nobody who does not know the client's key shares agrees on a session with it.
        assert!(!received.is_secured && received.plain.is_empty() && !received.may_end, "{received:?}");
    }
    // Bytes that come first in a piece may be judged behind those that end it, so failures may have other
    // names.
    assert_eq!(whole.failure.is_some(), in_pieces.failure.is_some(), "{whole:?} and {in_pieces:?}");
    let modelled = Sessions::Modelled(Arc::new(Offer {
        name: Some("shop.test".to_owned()),
        protocol: Alpn::Http11,
        versions: versions.to_vec(),
        groups: Group::ALL.to_vec(),
        resumption: true,
        early_data: true,
    }));
    assert_eq!(receive(&modelled, &[stream]), receive(&modelled, &pieces), "the model, cut");
    let (whole, in_pieces) = (serve(&[stream]), serve(&pieces));
    assert_eq!(whole, in_pieces, "the model of a server, cut");
}

/// Sessions with cryptography, of which any certificate is accepted.
fn encrypted(versions: &'static [Version]) -> Sessions {
    static ALL: LazyLock<Vec<Sessions>> = LazyLock::new(|| {
        let made = |versions: &&[Version]| {
            let provider = Arc::new(aws_lc_rs::default_provider());
            let settings = TlsSettings::new("shop.test", Trust::Anyone, versions, true, provider);
            Sessions::Encrypted(settings.expect("settings"))
        };
        VERSIONS.iter().map(made).collect()
    });
    let at = VERSIONS.iter().position(|one| *one == versions).expect("one of them");
    ALL[at].clone()
}

/// Hands the pieces to a new session until it fails. What it has to send is taken behind each.
fn receive(sessions: &Sessions, pieces: &[&[u8]]) -> Received {
    let client = Client::new(sessions);
    let mut session = client.begin(Instant::ZERO, 1);
    let (mut plain, mut sent, mut failure) = (Vec::new(), Vec::new(), None);
    session.take_to_send(&mut sent);
    assert!(!sent.is_empty(), "a client begins");
    for piece in pieces {
        failure = session.receive(&client, Instant::ZERO, piece, &mut plain).err();
        session.take_to_send(&mut sent);
        if failure.is_some() {
            break;
        }
    }
    let (is_secured, is_closed) = (session.is_secured(), session.is_closed_by_peer());
    let may_end = session.may_end();
    session.close();
    session.take_to_send(&mut sent);
    Received { failure, plain, is_secured, is_closed, may_end }
}

/// Hands the pieces to a new session of the model of a server, which does at once what it has to do; returns
/// what it read and what it sent.
fn serve(pieces: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
    let terms = Terms {
        versions: VERSIONS[0].to_vec(),
        groups: Group::ALL.to_vec(),
        certificates: vec![300],
        tickets: 2,
        early_data: true,
        full: Duration::ZERO,
        resumed: Duration::ZERO,
    };
    let (mut session, mut read, mut sent) = (ServerSession::default(), Vec::new(), Vec::new());
    for piece in pieces {
        session.receive(&terms, piece, |plain| read.extend_from_slice(plain));
    }
    session.take_step(&terms, &mut sent);
    read.extend(session.take_early());
    session.take_tickets(&terms, &mut sent);
    session.close(&mut sent);
    (read, sent)
}
