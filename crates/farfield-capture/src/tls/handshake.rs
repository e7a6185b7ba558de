//! Messages of the handshake (RFC 8446, section 4; RFC 5246, section 7.4), as far as a reader of the rest
//! needs them: who speaks which suite, and whether early data counts.

/// Bytes of messages that are collected; a chain of certificates has less.
const MESSAGES_MAX: usize = 1 << 17;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const FINISHED: u8 = 20;

const ALPN: u16 = 16;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;

/// The random of a ServerHello that asks for another ClientHello (RFC 8446, section 4.1.3).
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandshakeMessage {
    ClientHello(ClientHello),
    /// The server asks for another ClientHello.
    Retry,
    ServerHello(ServerHello),
    EncryptedExtensions(Extensions),
    Finished,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientHello {
    pub random: [u8; 32],
    pub offers_early: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerHello {
    pub random: [u8; 32],
    /// The number of the suite.
    pub suite: u16,
    /// The version: 0x0303, 0x0304.
    pub version: u16,
    pub extensions: Extensions,
}

/// The extensions that are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    pub early_data: bool,
    /// HTTP/2 was agreed on (RFC 7301).
    pub is_http2: bool,
    version: Option<u16>,
}

/// The messages of one direction, however records cut them.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    buffer: Vec<u8>,
    /// True once the messages cannot be read any more.
    is_broken: bool,
}

impl Messages {
    /// Takes in content of the direction's handshake; hands on each message that is whole.
    pub fn handle(&mut self, content: &[u8], mut hand_on: impl FnMut(HandshakeMessage)) {
        if self.is_broken {
            return;
        }
        self.buffer.extend_from_slice(content);
        let mut rest = &self.buffer[..];
        while let [kind, high, middle, low, behind @ ..] = rest {
            let len = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
            if len > MESSAGES_MAX {
                return self.lose();
            }
            let Some((body, after)) = behind.split_at_checked(len) else { break };
            hand_on(message(*kind, body));
            rest = after;
        }
        let read = self.buffer.len() - rest.len();
        self.buffer.drain(..read);
    }

    /// Bytes of it are not known: nothing is read any more.
    pub fn lose(&mut self) {
        (self.buffer, self.is_broken) = (Vec::new(), true);
    }
}

fn message(kind: u8, body: &[u8]) -> HandshakeMessage {
    let message = match kind {
        CLIENT_HELLO => client_hello(body).map(HandshakeMessage::ClientHello),
        SERVER_HELLO => server_hello(body).map(|hello| match hello.random {
            RETRY => HandshakeMessage::Retry,
            _ => HandshakeMessage::ServerHello(hello),
        }),
        ENCRYPTED_EXTENSIONS => extensions(body).map(HandshakeMessage::EncryptedExtensions),
        FINISHED => Some(HandshakeMessage::Finished),
        _ => None,
    };
    message.unwrap_or(HandshakeMessage::Other)
}

/// `count` bytes from the front.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// A number of `count` bytes from the front.
fn number(bytes: &mut &[u8], count: usize) -> Option<usize> {
    let taken = take(bytes, count)?;
    Some(taken.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// A vector from the front, which has its length in `count` bytes before it (RFC 8446, section 3.4).
fn vector<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let len = number(bytes, count)?;
    take(bytes, len)
}

fn random(bytes: &mut &[u8]) -> Option<[u8; 32]> {
    take(bytes, 32)?.try_into().ok()
}

/// RFC 8446, section 4.1.2.
fn client_hello(mut body: &[u8]) -> Option<ClientHello> {
    take(&mut body, 2)?;
    let random = random(&mut body)?;
    // The session's id, the suites, the methods of compression.
    for count in [1, 2, 1] {
        vector(&mut body, count)?;
    }
    let offers_early = extensions(body).is_some_and(|extensions| extensions.early_data);
    Some(ClientHello { random, offers_early })
}

/// RFC 8446, section 4.1.3.
fn server_hello(mut body: &[u8]) -> Option<ServerHello> {
    let version = number(&mut body, 2)? as u16;
    let random = random(&mut body)?;
    vector(&mut body, 1)?;
    let suite = number(&mut body, 2)? as u16;
    take(&mut body, 1)?;
    let extensions = extensions(body)?;
    Some(ServerHello { random, suite, version: extensions.version.unwrap_or(version), extensions })
}

/// Extensions (RFC 8446, section 4.2); a message of TLS 1.2 may have none.
fn extensions(mut body: &[u8]) -> Option<Extensions> {
    let mut found = Extensions::default();
    if body.is_empty() {
        return Some(found);
    }
    let mut rest = vector(&mut body, 2)?;
    while !rest.is_empty() {
        let kind = number(&mut rest, 2)? as u16;
        let mut content = vector(&mut rest, 2)?;
        match kind {
            EARLY_DATA => found.early_data = true,
            // Of a ServerHello one version; a ClientHello has a list.
            SUPPORTED_VERSIONS if content.len() == 2 => found.version = Some(number(&mut content, 2)? as u16),
            ALPN => {
                let mut names = vector(&mut content, 2)?;
                found.is_http2 = vector(&mut names, 1)? == b"h2";
            }
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind, 0, (body.len() >> 8) as u8, body.len() as u8][..], body].concat()
    }

    fn server_hello_of(random: [u8; 32], extensions: &[u8]) -> Vec<u8> {
        let body = [&[3, 3][..], &random, &[0, 0x13, 1, 0, 0, extensions.len() as u8], extensions].concat();
        whole(SERVER_HELLO, &body)
    }

    fn read(bytes: &[u8], cut: usize) -> Vec<HandshakeMessage> {
        let (mut messages, mut found) = (Messages::default(), Vec::new());
        bytes.chunks(cut).for_each(|part| messages.handle(part, |message| found.push(message)));
        found
    }

    #[test]
    fn messages_are_read_however_they_are_cut() {
        let client =
            [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0, 0, 9, 0, 43, 0, 1, 2, 0, 42, 0, 0]].concat();
        let encrypted = [0, 9, 0, 16, 0, 5, 0, 3, 2, b'h', b'2'];
        let bytes = [
            whole(CLIENT_HELLO, &client),
            server_hello_of(RETRY, &[0, 43, 0, 2, 3, 4]),
            server_hello_of([9; 32], &[0, 43, 0, 2, 3, 4]),
            whole(ENCRYPTED_EXTENSIONS, &encrypted),
            whole(11, &[0; 300]),
            whole(FINISHED, &[0; 32]),
        ]
        .concat();
        for cut in [1, 3, 50, 10_000] {
            let found = read(&bytes, cut);
            let extensions = Extensions { version: Some(0x0304), ..Extensions::default() };
            let hello = ServerHello { random: [9; 32], suite: 0x1301, version: 0x0304, extensions };
            let expected = [
                HandshakeMessage::ClientHello(ClientHello { random: [7; 32], offers_early: true }),
                HandshakeMessage::Retry,
                HandshakeMessage::ServerHello(hello),
                HandshakeMessage::EncryptedExtensions(Extensions { is_http2: true, ..Extensions::default() }),
                HandshakeMessage::Other,
                HandshakeMessage::Finished,
            ];
            assert_eq!(found, expected, "cut at {cut}");
        }
        let hello = read(&server_hello_of([9; 32], &[]), 100);
        assert!(
            matches!(hello[..], [HandshakeMessage::ServerHello(ServerHello { version: 0x0303, .. })]),
            "{hello:?}"
        );
    }

    #[test]
    fn what_is_damaged_is_no_message_that_counts() {
        let all = server_hello_of([9; 32], &[0, 43, 0, 2, 3, 4]);
        for len in 0..all.len() - 4 {
            let found = read(&whole(SERVER_HELLO, &all[4..4 + len]), 1_000);
            // Without its extensions it is one of TLS 1.2.
            assert!(found == [HandshakeMessage::Other] || len == 38, "{len}: {found:?}");
        }
        let mut messages = Messages::default();
        messages.handle(&[1, 0xff, 0, 0], |message| panic!("{message:?}"));
        messages.handle(&whole(FINISHED, &[]), |message| panic!("behind what is too long: {message:?}"));
    }
}
