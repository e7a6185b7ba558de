//! The messages of the handshake: what is in the clear as the protocol has it, all else by its size.

use super::{Group, Offer, Protection, SESSION_ID, Terms, Version, certificate};
use crate::tls::Alpn;

pub const CLIENT_HELLO: u8 = 1;
pub const SERVER_HELLO: u8 = 2;
pub const NEW_SESSION_TICKET: u8 = 4;
pub const END_OF_EARLY_DATA: u8 = 5;
pub const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
pub const SERVER_KEY_EXCHANGE: u8 = 12;
pub const SERVER_HELLO_DONE: u8 = 14;
const CERTIFICATE_VERIFY: u8 = 15;
const CLIENT_KEY_EXCHANGE: u8 = 16;
pub const FINISHED: u8 = 20;

const SERVER_NAME: u16 = 0;
const STATUS_REQUEST: u16 = 5;
const SUPPORTED_GROUPS: u16 = 10;
const EC_POINT_FORMATS: u16 = 11;
const SIGNATURE_ALGORITHMS: u16 = 13;
const ALPN: u16 = 16;
const EXTENDED_MAIN_SECRET: u16 = 23;
const SESSION_TICKET: u16 = 35;
const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;
const PSK_KEY_EXCHANGE_MODES: u16 = 45;
const KEY_SHARE: u16 = 51;
const RENEGOTIATION_INFO: u16 = 0xff01;
/// RFC 9001 section 8.2.
const QUIC_TRANSPORT_PARAMETERS: u16 = 57;

/// Bytes of a ticket: what rustls's stateless tickets have.
pub const TICKET: usize = 160;
/// Bytes of a ticket that allows early data, which names a session that the server keeps.
const TICKET_OF_KEPT: usize = 32;
/// Bytes of early data that a ticket allows: OpenSSL's default.
pub const EARLY_BYTES: u32 = 1 << 14;
/// Bytes of early data that a ticket allows inside QUIC, whose own windows are the limit (RFC 9001 section
/// 4.6.1).
pub const EARLY_BYTES_IN_QUIC: u32 = u32::MAX;
/// Bytes of a signature of ECDSA with P-256, which has 70 to 72.
const SIGNATURE: usize = 71;
/// Bytes of a hash of SHA-384: the end of a handshake of TLS 1.3, and what proves a ticket.
const HASH: usize = 48;
/// Bytes of the end of a handshake of TLS 1.2 (RFC 5246 section 7.4.9).
const VERIFY_DATA: usize = 12;

/// The random number of a HelloRetryRequest (RFC 8446 section 4.1.3).
pub const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

const SUITES_TLS13: [u16; 3] = [0x1302, 0x1301, 0x1303];
const SUITES_TLS12: [u16; 6] = [0xc02c, 0xc02b, 0xcca9, 0xc030, 0xc02f, 0xcca8];
/// The signal of RFC 5746 section 3.3.
const NO_RENEGOTIATION: u16 = 0x00ff;
const SIGNATURES: [u16; 13] =
    [0x0503, 0x0403, 0x0603, 0x0807, 0x0806, 0x0805, 0x0804, 0x0601, 0x0501, 0x0401, 0x0904, 0x0905, 0x0906];

/// A ticket that a client holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub version: Version,
    pub bytes: u16,
    /// Bytes of early data that it allows.
    pub early_bytes: u32,
}

impl Ticket {
    /// The ticket of a client that sends no early data.
    pub fn without_early(self) -> Ticket {
        Ticket { early_bytes: 0, ..self }
    }
}

/// Appends what `write` writes behind its length in `prefix` bytes.
fn block(out: &mut Vec<u8>, prefix: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.resize(at + prefix, 0);
    write(out);
    let length = (out.len() - at - prefix) as u64;
    out[at..at + prefix].copy_from_slice(&length.to_be_bytes()[8 - prefix..]);
}

fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    block(out, 3, write);
}

fn extension(out: &mut Vec<u8>, kind: u16, write: impl FnOnce(&mut Vec<u8>)) {
    number(out, kind);
    block(out, 2, write);
}

fn number(out: &mut Vec<u8>, number: u16) {
    out.extend(number.to_be_bytes());
}

fn filler(out: &mut Vec<u8>, bytes: usize, with: u8) {
    out.resize(out.len() + bytes, with);
}

/// The protocols that are offered, or the one that was chosen of them (RFC 7301).
fn alpn(out: &mut Vec<u8>, protocol: Alpn) {
    extension(out, ALPN, |out| block(out, 2, |out| block(out, 1, |out| out.extend(protocol.id()))));
}

/// The first protocol in the body of the extension that is known.
fn protocol_of(value: &[u8]) -> Option<Alpn> {
    let mut rest = value.get(2..)?;
    while let Some(id) = take_block(&mut rest, 1) {
        let known = [Alpn::Http11, Alpn::Http2, Alpn::Http3].into_iter().find(|one| one.id() == id);
        if known.is_some() {
            return known;
        }
    }
    None
}

/// The first message, with key shares for `shares`. It announces early data if `ticket` allows any.
pub fn client_hello(out: &mut Vec<u8>, offer: &Offer, shares: &[Group], ticket: Option<Ticket>) {
    client_hello_with(out, offer, shares, ticket, None);
}

/// The first message inside QUIC, with its transport parameters: TLS 1.3 alone, without what helps it pass
/// for TLS 1.2 (RFC 9001 section 8.4).
pub fn client_hello_in_quic(
    out: &mut Vec<u8>,
    offer: &Offer,
    shares: &[Group],
    ticket: Option<Ticket>,
    parameters: &[u8],
) {
    client_hello_with(out, offer, shares, ticket, Some(parameters));
}

fn client_hello_with(
    out: &mut Vec<u8>,
    offer: &Offer,
    shares: &[Group],
    ticket: Option<Ticket>,
    parameters: Option<&[u8]>,
) {
    let in_quic = parameters.is_some();
    let has = |version| match version {
        Version::Tls13 => in_quic || offer.versions.contains(&version),
        Version::Tls12 => !in_quic && offer.versions.contains(&version),
    };
    let (tls13, tls12) = (has(Version::Tls13), has(Version::Tls12));
    message(out, CLIENT_HELLO, |out| {
        out.extend([3, 3]);
        filler(out, 32, 0xc1);
        // TLS 1.3 pretends to resume a session, and TLS 1.2 has to name one for a ticket.
        let named = !in_quic && (tls13 || ticket.is_some());
        block(out, 1, |out| out.extend(if named { &SESSION_ID[..] } else { &[] }));
        block(out, 2, |out| {
            let of_tls12 = if in_quic { &[][..] } else { &SUITES_TLS12 };
            SUITES_TLS13.iter().chain(of_tls12).for_each(|suite| number(out, *suite));
            if tls12 {
                number(out, NO_RENEGOTIATION);
            }
        });
        out.extend([1, 0]);
        block(out, 2, |out| {
            if let Some(name) = &offer.name {
                let entry = |out: &mut Vec<u8>| {
                    out.push(0);
                    block(out, 2, |out| out.extend(name.bytes()));
                };
                extension(out, SERVER_NAME, |out| block(out, 2, entry));
            }
            extension(out, STATUS_REQUEST, |out| out.extend([1, 0, 0, 0, 0]));
            let usable = offer.groups.iter().filter(|group| tls13 || group.is_of_tls12());
            let groups = |out: &mut Vec<u8>| usable.for_each(|one| number(out, one.number()));
            extension(out, SUPPORTED_GROUPS, |out| block(out, 2, groups));
            let signatures = |out: &mut Vec<u8>| SIGNATURES.iter().for_each(|one| number(out, *one));
            extension(out, SIGNATURE_ALGORITHMS, |out| block(out, 2, signatures));
            alpn(out, offer.protocol);
            let versions = |out: &mut Vec<u8>| {
                let both = [Version::Tls13, Version::Tls12].into_iter();
                both.filter(|one| has(*one)).for_each(|one| number(out, one.number()));
            };
            extension(out, SUPPORTED_VERSIONS, |out| block(out, 1, versions));
            extension(out, EC_POINT_FORMATS, |out| out.extend([1, 0]));
            extension(out, EXTENDED_MAIN_SECRET, |_| {});
            if let Some(parameters) = parameters {
                extension(out, QUIC_TRANSPORT_PARAMETERS, |out| out.extend(parameters));
            }
            extensions_of_tickets(out, offer, ticket, (tls13, tls12), shares);
        });
    });
}

/// The extensions about key shares and tickets; the one of tickets of TLS 1.3 is the last.
fn extensions_of_tickets(
    out: &mut Vec<u8>,
    offer: &Offer,
    ticket: Option<Ticket>,
    (tls13, tls12): (bool, bool),
    shares: &[Group],
) {
    if tls13 {
        let share = |out: &mut Vec<u8>, group: &Group| {
            number(out, group.number());
            block(out, 2, |out| filler(out, group.client_share(), 0x33));
        };
        let shares = |out: &mut Vec<u8>| shares.iter().for_each(|group| share(out, group));
        extension(out, KEY_SHARE, |out| block(out, 2, shares));
        extension(out, PSK_KEY_EXCHANGE_MODES, |out| out.extend([1, 1]));
    }
    match ticket {
        Some(Ticket { version: Version::Tls13, bytes, early_bytes }) => {
            if early_bytes > 0 {
                extension(out, EARLY_DATA, |_| {});
            }
            extension(out, PRE_SHARED_KEY, |out| {
                block(out, 2, |out| {
                    block(out, 2, |out| filler(out, bytes.into(), 0x71));
                    // The ticket's age.
                    filler(out, 4, 0);
                });
                block(out, 2, |out| block(out, 1, |out| filler(out, HASH, 0x72)));
            });
        }
        Some(Ticket { version: Version::Tls12, bytes, .. }) => {
            extension(out, SESSION_TICKET, |out| filler(out, bytes.into(), 0x71));
        }
        None if tls12 && offer.resumption => extension(out, SESSION_TICKET, |_| {}),
        None => {}
    }
}

/// A client's first message, as far as a server reads it.
#[derive(Debug, Default)]
pub struct Hello {
    pub versions: Vec<u16>,
    pub groups: Vec<Group>,
    pub shares: Vec<Group>,
    /// A ticket of TLS 1.3.
    pub has_psk: bool,
    /// Early data comes behind it.
    pub has_early: bool,
    /// A ticket of TLS 1.2.
    pub has_ticket: bool,
    /// Tickets of TLS 1.2 are wanted.
    pub wants_ticket: bool,
    pub is_named: bool,
    /// The protocol that the session is to be for; that of HTTP/1.1 if none is named.
    pub protocol: Alpn,
    /// The transport parameters of QUIC.
    pub parameters: Option<Vec<u8>>,
}

impl Hello {
    /// Reads the body of a client's first message; nothing if it is none.
    pub fn read(body: &[u8]) -> Option<Hello> {
        let mut rest = body.get(34..)?;
        take_block(&mut rest, 1)?;
        take_block(&mut rest, 2)?;
        take_block(&mut rest, 1)?;
        let mut hello = Hello::default();
        for (kind, value) in extensions(&mut rest)? {
            match kind {
                SUPPORTED_VERSIONS => hello.versions = numbers(value.get(1..)?),
                SUPPORTED_GROUPS => {
                    hello.groups =
                        numbers(value.get(2..)?).into_iter().filter_map(Group::of_number).collect();
                }
                KEY_SHARE => {
                    let mut entries = value.get(2..)?;
                    while let Some((group, _)) = take_entry(&mut entries) {
                        hello.shares.extend(Group::of_number(group));
                    }
                }
                PRE_SHARED_KEY => hello.has_psk = true,
                EARLY_DATA => hello.has_early = true,
                SESSION_TICKET => (hello.wants_ticket, hello.has_ticket) = (true, !value.is_empty()),
                SERVER_NAME => hello.is_named = true,
                QUIC_TRANSPORT_PARAMETERS => hello.parameters = Some(value.to_vec()),
                ALPN => hello.protocol = protocol_of(value).unwrap_or_default(),
                _ => {}
            }
        }
        Some(hello)
    }

    /// True if a server takes the early data that comes behind it.
    pub fn is_taken_early(&self, terms: &Terms, resumes: bool) -> bool {
        self.has_early && resumes && terms.early_data
    }
}

/// A server's first message, as far as a client reads it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ServerHelloView {
    pub is_retry: bool,
    pub is_tls13: bool,
    pub group: Option<Group>,
    /// The server resumes the session that was offered.
    pub resumes: bool,
}

impl ServerHelloView {
    /// Reads the body of a server's first message; nothing if it is none.
    pub fn read(body: &[u8]) -> Option<ServerHelloView> {
        let mut rest = body.get(2..)?;
        let random = rest.get(..32)?;
        let mut answer = ServerHelloView { is_retry: random == RETRY, ..ServerHelloView::default() };
        rest = &rest[32..];
        let session = take_block(&mut rest, 1)?;
        rest = rest.get(3..)?;
        let mut has_psk = false;
        for (kind, value) in extensions(&mut rest)? {
            match kind {
                SUPPORTED_VERSIONS => answer.is_tls13 = true,
                KEY_SHARE => answer.group = Group::of_number(*numbers(value.get(..2)?).first()?),
                PRE_SHARED_KEY => has_psk = true,
                _ => {}
            }
        }
        answer.resumes = if answer.is_tls13 { has_psk } else { session == SESSION_ID };
        Some(answer)
    }
}

fn take_block<'a>(rest: &mut &'a [u8], prefix: usize) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_at_checked(prefix)?;
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    let (block, after) = behind.split_at_checked(length)?;
    *rest = after;
    Some(block)
}

fn take_entry<'a>(rest: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
    let (kind, mut behind) = rest.split_at_checked(2)?;
    let value = take_block(&mut behind, 2)?;
    *rest = behind;
    Some((u16::from_be_bytes([kind[0], kind[1]]), value))
}

fn extensions<'a>(rest: &mut &'a [u8]) -> Option<Vec<(u16, &'a [u8])>> {
    let mut block = take_block(rest, 2)?;
    let mut found = Vec::new();
    while !block.is_empty() {
        found.push(take_entry(&mut block)?);
    }
    Some(found)
}

fn numbers(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect()
}

/// A server's first message: a HelloRetryRequest where `random` is [`RETRY`].
fn server_hello(
    out: &mut Vec<u8>,
    random: [u8; 32],
    session: &[u8],
    suite: u16,
    write: impl FnOnce(&mut Vec<u8>),
) {
    message(out, SERVER_HELLO, |out| {
        out.extend([3, 3]);
        out.extend(random);
        block(out, 1, |out| out.extend(session));
        number(out, suite);
        out.push(0);
        block(out, 2, write);
    });
}

fn chosen_version(out: &mut Vec<u8>) {
    extension(out, SUPPORTED_VERSIONS, |out| number(out, Version::Tls13.number()));
}

/// The message that asks for a key share of `group`; it names the session that the client pretends to resume.
pub fn retry_request(out: &mut Vec<u8>, group: Group, session: &[u8]) {
    server_hello(out, RETRY, session, SUITES_TLS13[0], |out| {
        extension(out, KEY_SHARE, |out| number(out, group.number()));
        chosen_version(out);
    });
}

/// A server's first message in TLS 1.3; it names the session that the client pretends to resume.
pub fn server_hello_tls13(out: &mut Vec<u8>, group: Group, resumes: bool, session: &[u8]) {
    server_hello(out, [0x5c; 32], session, SUITES_TLS13[0], |out| {
        extension(out, KEY_SHARE, |out| {
            number(out, group.number());
            block(out, 2, |out| filler(out, group.server_share(), 0x44));
        });
        if resumes {
            extension(out, PRE_SHARED_KEY, |out| number(out, 0));
        }
        chosen_version(out);
    });
}

/// A server's first message in TLS 1.2. It names the client's session if it `resumes` that.
pub fn server_hello_tls12(out: &mut Vec<u8>, hello: &Hello, gives_ticket: bool, resumes: bool) {
    let session = if resumes { SESSION_ID } else { [0x5d; 32] };
    server_hello(out, [0x5c; 32], &session, SUITES_TLS12[0], |out| {
        if hello.is_named && !resumes {
            extension(out, SERVER_NAME, |_| {});
        }
        if gives_ticket {
            extension(out, SESSION_TICKET, |_| {});
        }
        extension(out, RENEGOTIATION_INFO, |out| out.push(0));
        alpn(out, hello.protocol);
        extension(out, EXTENDED_MAIN_SECRET, |_| {});
    });
}

/// The messages of a server behind its first, in TLS 1.3: with certificates unless it resumes a session, and
/// with transport parameters inside QUIC.
pub fn rest_of_tls13(
    out: &mut Vec<u8>,
    terms: &Terms,
    hello: &Hello,
    resumes: bool,
    parameters: Option<&[u8]>,
) {
    message(out, ENCRYPTED_EXTENSIONS, |out| {
        block(out, 2, |out| {
            alpn(out, hello.protocol);
            if hello.is_named && !resumes {
                extension(out, SERVER_NAME, |_| {});
            }
            if let Some(parameters) = parameters {
                extension(out, QUIC_TRANSPORT_PARAMETERS, |out| out.extend(parameters));
            }
            if hello.is_taken_early(terms, resumes) {
                extension(out, EARLY_DATA, |_| {});
            }
        });
    });
    if !resumes {
        message(out, CERTIFICATE, |out| {
            out.push(0);
            block(out, 3, |out| {
                for bytes in &terms.certificates {
                    block(out, 3, |out| certificate::put(out, *bytes as usize));
                    number(out, 0);
                }
            });
        });
        message(out, CERTIFICATE_VERIFY, |out| {
            number(out, SIGNATURES[1]);
            block(out, 2, |out| filler(out, SIGNATURE, 0x22));
        });
    }
    finished(out, Protection::Tls13);
}

/// The messages of a server behind its first, in a full handshake of TLS 1.2.
pub fn rest_of_tls12(out: &mut Vec<u8>, terms: &Terms, group: Group) {
    message(out, CERTIFICATE, |out| {
        block(out, 3, |out| {
            for bytes in &terms.certificates {
                block(out, 3, |out| certificate::put(out, *bytes as usize));
            }
        });
    });
    message(out, SERVER_KEY_EXCHANGE, |out| {
        // A named curve.
        out.push(3);
        number(out, group.number());
        block(out, 1, |out| filler(out, group.server_share(), 4));
        number(out, SIGNATURES[1]);
        block(out, 2, |out| filler(out, SIGNATURE, 0x22));
    });
    message(out, SERVER_HELLO_DONE, |_| {});
}

/// The transport parameters in the body of a server's EncryptedExtensions.
pub fn transport_parameters(body: &[u8]) -> Option<&[u8]> {
    let found = extensions(&mut &*body)?;
    found.into_iter().find(|(kind, _)| *kind == QUIC_TRANSPORT_PARAMETERS).map(|(_, value)| value)
}

/// True if a server takes early data, by the body of its EncryptedExtensions.
pub fn takes_early(body: &[u8]) -> Option<bool> {
    Some(extensions(&mut &*body)?.iter().any(|(kind, _)| *kind == EARLY_DATA))
}

/// The message that ends the client's early data.
pub fn end_of_early_data(out: &mut Vec<u8>) {
    message(out, END_OF_EARLY_DATA, |_| {});
}

/// The group of a server's key exchange in TLS 1.2.
pub fn group_of_tls12(body: &[u8]) -> Option<Group> {
    Group::of_number(*numbers(body.get(1..3)?).first()?)
}

pub fn client_key_exchange(out: &mut Vec<u8>, group: Group) {
    message(out, CLIENT_KEY_EXCHANGE, |out| block(out, 1, |out| filler(out, group.client_share(), 4)));
}

pub fn finished(out: &mut Vec<u8>, protection: Protection) {
    let bytes = if protection == Protection::Tls12 { VERIFY_DATA } else { HASH };
    message(out, FINISHED, |out| filler(out, bytes, 0x77));
}

/// A ticket, for a session of `version` (RFC 8446 section 4.6.1, RFC 5077 section 3.3), which allows so many
/// bytes of early data.
pub fn new_session_ticket(out: &mut Vec<u8>, version: Version, early_bytes: u32) {
    message(out, NEW_SESSION_TICKET, |out| {
        // Its lifetime in seconds.
        out.extend(86_400_u32.to_be_bytes());
        if version == Version::Tls13 {
            // The mask of its age, and a nonce.
            filler(out, 4, 0);
            block(out, 1, |out| filler(out, 32, 0x70));
        }
        let bytes = if early_bytes > 0 { TICKET_OF_KEPT } else { TICKET };
        block(out, 2, |out| filler(out, bytes, 0x71));
        if version == Version::Tls13 {
            block(out, 2, |out| {
                if early_bytes > 0 {
                    extension(out, EARLY_DATA, |out| out.extend(early_bytes.to_be_bytes()));
                }
            });
        }
    });
}

/// The ticket in the body of a message.
pub fn read_ticket(version: Version, body: &[u8]) -> Option<Ticket> {
    let mut rest = body.get(4..)?;
    if version == Version::Tls13 {
        rest = rest.get(4..)?;
        take_block(&mut rest, 1)?;
    }
    let bytes = take_block(&mut rest, 2)?.len() as u16;
    let mut early_bytes = 0;
    if version == Version::Tls13 {
        for (kind, value) in extensions(&mut rest)? {
            if kind == EARLY_DATA {
                early_bytes = u32::from_be_bytes(value.try_into().ok()?);
            }
        }
    }
    Some(Ticket { version, bytes, early_bytes })
}
