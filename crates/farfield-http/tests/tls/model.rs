//! The model of TLS for virtual time beside the real one: the same records, of the same sizes, in the same
//! round trips.

use crate::scene::{Ends, Scene, Server};
use farfield_base::{Duration, EarlyData, Instant, TlsStats};
use farfield_http::tls::model::{Offer, ServerSession, Terms, seal_into};
use farfield_http::tls::{Alpn, Client, Group, Session, Sessions, TlsFailure, Version};
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::kx_group;
use std::sync::Arc;

const NOW: Instant = Instant::ZERO;
const BOTH: [Version; 2] = [Version::Tls12, Version::Tls13];
/// Lengths of what either end says in the session: two records the one, three the other.
const REQUEST: usize = 20_000;
const REPLY: usize = 40_000;
/// Of what the client says within the handshake, where it may.
const EARLY: usize = 10_000;
/// Of what a server takes then.
const EARLY_MAX: u32 = 1 << 14;

/// Types and lengths of the records that one end sends at once.
type Flight = Vec<(u8, usize)>;

fn flight(bytes: &[u8]) -> Flight {
    let (mut rest, mut found) = (bytes, Vec::new());
    while let [kind, _, _, high, low, ..] = *rest {
        let length = usize::from(u16::from_be_bytes([high, low]));
        found.push((kind, length));
        rest = &rest[5 + length..];
    }
    assert!(rest.is_empty(), "whole records");
    found
}

/// A session from its first message to both ends' last, each flight in turn, the client's first.
fn real_flights(ends: &mut Ends) -> Vec<Flight> {
    let mut flights = Vec::new();
    if ends.client.early_room() > 0 {
        assert_eq!(ends.client.early_room(), EARLY_MAX as usize);
        ends.client.seal_early(&[b'e'; EARLY]);
    }
    let mut turn = |ends: &mut Ends| {
        let mut bytes = Vec::new();
        ends.client.take_to_send(&mut bytes);
        flights.push(flight(&bytes));
        ends.deliver_to_server(&bytes);
        let bytes = ends.take_from_server();
        flights.push(flight(&bytes));
        ends.receive(&bytes).expect("a sound session");
    };
    while !ends.client.is_secured() {
        turn(ends);
    }
    ends.client.seal(&[b'x'; REQUEST]);
    turn(ends);
    ends.server_says(&[b'y'; REPLY]);
    turn(ends);
    assert_eq!(ends.heard.len(), REPLY);
    ends.client.close();
    turn(ends);
    flights
}

/// A session of the model's, of the same kind.
struct Modelled {
    client: Arc<Client>,
    session: Session,
    terms: Arc<Terms>,
    server: ServerSession,
    heard: Vec<u8>,
    heard_by_server: Vec<u8>,
    worked: Duration,
}

impl Modelled {
    fn begin(client: &Arc<Client>, terms: &Arc<Terms>, user: u32) -> Modelled {
        Modelled {
            client: Arc::clone(client),
            session: client.begin(NOW, user),
            terms: Arc::clone(terms),
            server: ServerSession::default(),
            heard: Vec::new(),
            heard_by_server: Vec::new(),
            worked: Duration::ZERO,
        }
    }

    fn deliver(&mut self, bytes: &[u8], piece: usize) -> Vec<u8> {
        let Modelled { server, terms, heard_by_server, worked, .. } = self;
        let mut answer = Vec::new();
        for piece in bytes.chunks(piece) {
            server.receive(terms, piece, |plain| heard_by_server.extend_from_slice(plain));
            if let Some(step) = server.step() {
                *worked = *worked + step.cost(terms);
                server.take_step(terms, &mut answer);
            }
            heard_by_server.extend(server.take_early());
            server.take_tickets(terms, &mut answer);
        }
        answer
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), TlsFailure> {
        self.session.receive(&self.client, NOW, bytes, &mut self.heard)
    }

    fn turn(&mut self, flights: &mut Vec<Flight>, says: usize) {
        let mut bytes = Vec::new();
        self.session.take_to_send(&mut bytes);
        flights.push(flight(&bytes));
        let mut bytes = self.deliver(&bytes, usize::MAX);
        if says > 0 {
            seal_into(&mut bytes, self.server.version().expect("a session"), &vec![b'y'; says]);
        }
        flights.push(flight(&bytes));
        self.receive(&bytes).expect("a sound session");
    }

    fn shake_hands(&mut self) -> Vec<Flight> {
        let mut flights = Vec::new();
        while !self.session.is_secured() {
            self.turn(&mut flights, 0);
        }
        flights
    }

    fn flights(&mut self) -> Vec<Flight> {
        if self.session.early_room() > 0 {
            assert_eq!(self.session.early_room(), EARLY_MAX as usize);
            self.session.seal_early(&[b'e'; EARLY]);
        }
        let mut flights = self.shake_hands();
        self.session.seal(&[b'x'; REQUEST]);
        self.turn(&mut flights, 0);
        self.turn(&mut flights, REPLY);
        let early = if self.session.stats(NOW).early == EarlyData::Accepted { EARLY } else { 0 };
        assert_eq!((self.heard_by_server.len(), self.heard.len()), (early + REQUEST, REPLY));
        self.session.close();
        self.turn(&mut flights, 0);
        flights
    }
}

fn offer() -> Offer {
    Offer {
        name: Some("shop.test".to_owned()),
        protocol: Alpn::Http11,
        versions: BOTH.to_vec(),
        groups: Group::ALL.to_vec(),
        resumption: true,
        early_data: false,
    }
}

fn terms() -> Terms {
    Terms {
        versions: BOTH.to_vec(),
        groups: Group::ALL.to_vec(),
        certificates: vec![1000],
        tickets: 2,
        early_data: false,
        full: Duration::from_us(100),
        resumed: Duration::from_us(50),
    }
}

fn modelled(offer: Offer, terms: Terms) -> (Arc<Client>, Arc<Terms>) {
    (Arc::new(Client::new(&Sessions::Modelled(offer.into()))), terms.into())
}

/// Versions that both ends have, the client's groups and the server's only one, and whether tickets are kept.
fn compare(ours: &[Version], theirs: Version, groups: &[Group], only: Option<Group>, resumption: bool) {
    let mut server = Server::speaking(theirs);
    if let Some(only) = only {
        server.only_exchanges_keys_by(real(only));
    }
    let certificates = vec![server.certificate_bytes()];
    let real_groups: Vec<_> = groups.iter().map(|group| real(*group)).collect();
    let scene =
        Scene { versions: ours.to_vec(), server, groups: real_groups, resumption, ..Scene::default() };
    let client = scene.client();
    let offer = Offer { versions: ours.to_vec(), groups: groups.to_vec(), resumption, ..offer() };
    let accepted = only.map_or(Group::ALL.to_vec(), |only| vec![only]);
    let terms = Terms { versions: vec![theirs], groups: accepted, certificates, ..terms() };
    let (common, terms) = modelled(offer, terms);
    for number in 0..3 {
        let what = format!("{ours:?} to {theirs:?}, {groups:?} to {only:?}, {resumption}, session {number}");
        let mut ends = scene.begin_of(&client, 1);
        let mut model = Modelled::begin(&common, &terms, 1);
        let stats = is_alike(&mut ends, &mut model, &what);
        let cost = if stats.resumed { terms.resumed } else { terms.full };
        assert_eq!(model.worked, cost, "{what}");
        assert_eq!(stats.resumed, resumption && number > 0, "{what}");
    }
}

/// Holds a session of the model's against a real one; returns what both say of themselves.
#[track_caller]
fn is_alike(ends: &mut Ends, model: &mut Modelled, what: &str) -> TlsStats {
    let (real, found) = (real_flights(ends), model.flights());
    assert_eq!(found.len(), real.len(), "round trips, {what}: {found:?} for {real:?}");
    for (turn, (found, real)) in found.iter().zip(&real).enumerate() {
        assert_eq!(found.len(), real.len(), "records, {what}, turn {turn}: {found:?} for {real:?}");
        for (found, real) in found.iter().zip(real) {
            // A signature of ECDSA has at most 72 bytes, seldom less than 70, and the model's has 71.
            let signed = turn % 2 == 1 && real.1 > 300 && found.0 == real.0;
            let near = signed && (real.1..real.1 + 6).contains(&(found.1 + 1));
            assert!(near || found == real, "{what}, turn {turn}: {found:?} for {real:?}");
        }
    }
    let stats = ends.client.stats(NOW);
    assert_eq!(model.session.stats(NOW), stats, "{what}");
    stats
}

fn real(group: Group) -> &'static dyn SupportedKxGroup {
    let all: [&'static dyn SupportedKxGroup; 4] =
        [kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1, kx_group::X25519MLKEM768];
    all.into_iter().find(|one| u16::from(one.name()) == group.number()).expect("all are there")
}

/// Full and resumed, of each version, with and without a HelloRetryRequest, with and without tickets.
#[test]
fn flights_are_those_of_rustls() {
    use Group::{Secp256r1, Secp384r1, X25519, X25519MlKem768};
    let usual = Group::ALL;
    for resumption in [true, false] {
        for theirs in BOTH {
            compare(&BOTH, theirs, &usual, None, resumption);
            compare(&[theirs], theirs, &usual, None, resumption);
            compare(&BOTH, theirs, &[Secp256r1], None, resumption);
        }
        let tls13 = Version::Tls13;
        compare(&BOTH, tls13, &[X25519MlKem768, X25519], None, resumption);
        compare(&BOTH, tls13, &[X25519MlKem768], None, resumption);
        compare(&[tls13], tls13, &usual, Some(X25519MlKem768), resumption);
        compare(&BOTH, tls13, &usual, Some(X25519MlKem768), resumption);
        compare(&BOTH, tls13, &[X25519, Secp256r1, Secp384r1], Some(Secp384r1), resumption);
    }
}

/// Within the handshake, where a ticket allows it; and passed over by a server that asks for another key
/// share.
#[test]
fn early_data_is_that_of_rustls() {
    let mut server = Server::speaking(Version::Tls13);
    server.take_early_data(EARLY_MAX);
    let certificates = vec![server.certificate_bytes()];
    let scene = Scene { server, early: true, ..Scene::default() };
    let client = scene.client();
    let offer = Offer { early_data: true, ..offer() };
    let mut terms = Terms { versions: vec![Version::Tls13], certificates, early_data: true, ..terms() };
    let common = Arc::new(Client::new(&Sessions::Modelled(offer.into())));
    for early in [EarlyData::Unsent, EarlyData::Accepted, EarlyData::Accepted] {
        let mut model = Modelled::begin(&common, &terms.clone().into(), 1);
        let stats = is_alike(&mut scene.begin_of(&client, 1), &mut model, "early data");
        assert_eq!(stats.early, early);
    }
    let mut insists = Server::speaking(Version::Tls13);
    insists.only_exchanges_keys_by(real(Group::Secp384r1));
    insists.share_sessions_of(&scene.server);
    terms.groups = vec![Group::Secp384r1];
    let scene = Scene { server: insists, early: true, ..Scene::default() };
    for early in [EarlyData::Rejected, EarlyData::Accepted] {
        let mut model = Modelled::begin(&common, &terms.clone().into(), 1);
        let stats = is_alike(&mut scene.begin_of(&client, 1), &mut model, "another key share");
        assert_eq!((stats.early, stats.resumed), (early, true));
    }
}

/// One byte at a time, and in pieces of other sizes.
#[test]
fn bytes_may_come_in_any_pieces() {
    for version in BOTH {
        let (client, terms) = modelled(offer(), Terms { versions: vec![version], ..terms() });
        for piece in [1, 2, 3, 5, 7, 100, 1 << 14] {
            let mut ends = Modelled::begin(&client, &terms, 1);
            let mut said = false;
            for _ in 0..4 {
                if ends.session.is_secured() && !said {
                    ends.session.seal(b"GET / HTTP/1.1\r\n\r\n");
                    said = true;
                }
                let mut bytes = Vec::new();
                ends.session.take_to_send(&mut bytes);
                let answer = ends.deliver(&bytes, piece);
                for piece in answer.chunks(piece) {
                    ends.receive(piece).expect("a sound session");
                }
            }
            assert_eq!(ends.heard_by_server, b"GET / HTTP/1.1\r\n\r\n", "{version:?} in pieces of {piece}");
        }
    }
}

/// A client that has no version or group in common is refused, as by a real server.
#[test]
fn a_server_refuses_what_it_does_not_have() {
    for (ours, theirs) in [(Version::Tls12, Version::Tls13), (Version::Tls13, Version::Tls12)] {
        let (client, terms) =
            modelled(Offer { versions: vec![ours], ..offer() }, Terms { versions: vec![theirs], ..terms() });
        refuses(&client, &terms);
    }
    for version in BOTH {
        let offer = Offer { groups: vec![Group::X25519], ..offer() };
        let versions = vec![version];
        let (client, terms) = modelled(offer, Terms { groups: vec![Group::Secp384r1], versions, ..terms() });
        refuses(&client, &terms);
    }
    // A hybrid is of TLS 1.3 alone.
    let offer = Offer { groups: vec![Group::X25519MlKem768], ..offer() };
    let (client, terms) = modelled(offer, Terms { versions: vec![Version::Tls12], ..terms() });
    refuses(&client, &terms);
}

fn refuses(client: &Arc<Client>, terms: &Arc<Terms>) {
    let mut ends = Modelled::begin(client, terms, 1);
    let mut bytes = Vec::new();
    ends.session.take_to_send(&mut bytes);
    let answer = ends.deliver(&bytes, usize::MAX);
    assert_eq!(ends.receive(&answer), Err(TlsFailure::Incompatible), "{terms:?}");
    assert_eq!(ends.worked, Duration::ZERO, "nothing is signed");
}

/// Each user has tickets of its own, and a server without tickets resumes nothing.
#[test]
fn tickets_are_a_users_own() {
    for version in BOTH {
        let (client, terms) = modelled(offer(), Terms { versions: vec![version], ..terms() });
        let resumes = |user| {
            let mut ends = Modelled::begin(&client, &terms, user);
            ends.flights();
            ends.session.stats(NOW).resumed
        };
        assert!(!resumes(7) && resumes(7) && resumes(7) && !resumes(8), "{version:?}");
        client.forget(7);
        assert!(!resumes(7) && resumes(8), "{version:?}");
        let (client, terms) =
            modelled(offer(), Terms { tickets: 0, versions: vec![version], ..terms.as_ref().clone() });
        for _ in 0..2 {
            let mut ends = Modelled::begin(&client, &terms, 1);
            ends.flights();
            assert!(!ends.session.stats(NOW).resumed, "{version:?}");
        }
    }
}

/// Bytes that are not TLS, or out of place, fail; nothing panics.
#[test]
fn nonsense_fails() {
    let (client, terms) = modelled(offer(), terms());
    for bytes in [&[23, 3, 3, 0, 1, 7][..], &[22, 3, 3, 0, 4, 2, 0, 0, 0], &[22, 3, 3, 0, 4, 9, 0, 0, 0]] {
        let mut ends = Modelled::begin(&client, &terms, 1);
        assert_eq!(ends.receive(bytes), Err(TlsFailure::BadRecord), "{bytes:?}");
        assert!(ends.deliver(b"GET / HTTP/1.1\r\n\r\n", 3).is_empty());
    }
}
