//! HTTP/1 as far as a server model needs it: where a request ends, what it wants, and what it gets.

use super::{ObjectCost, Objects};
use bytes::Bytes;
use farfield_http::http2::server::{BodySource, put_reply_block};
use farfield_http::http3::server::put_reply_section;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A request, as the server read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServedRequest {
    /// Size and cost of the object that its path names.
    pub known: Option<ObjectCost>,
    /// The number of the reply that it gets word for word.
    pub fixed: Option<u32>,
    pub keeping: Persistence,
    /// HEAD.
    pub head_only: bool,
    pub malformed: bool,
    /// The number of the request, if the reply is a stream of events: known once a worker begins with it.
    pub stream: Option<u64>,
}

/// The fate of the connection after the reply, as far as the request says (RFC 9112 §9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Persistence {
    /// Closed.
    Close,
    /// Kept, as HTTP/1.1 does by default.
    Keep,
    /// Kept, and the reply says so, as HTTP/1.0 asks.
    KeepTold,
}

impl Persistence {
    /// The header line that says so, if one does.
    pub fn line(self) -> &'static str {
        match self {
            Persistence::Close => "Connection: close\r\n",
            Persistence::Keep => "",
            Persistence::KeepTold => "Connection: keep-alive\r\n",
        }
    }
}

/// The part of an incomplete request that was read.
#[derive(Debug, Default)]
pub(crate) struct PartialRequest {
    partial: Vec<u8>,
    /// Bytes of a request's body that are still to come.
    body_left: u64,
    broken: bool,
    /// A request was read: the client speaks HTTP/1.
    begun: bool,
}

/// The longest head that is read.
const HEAD_LEN_MAX: usize = 16 * 1024;
/// Requests that may wait behind others on a connection; one more is answered as a malformed one.
const PIPELINED_MAX: usize = 10_000;

impl PartialRequest {
    /// All that has come, with `bytes` at its end, where it may be the beginning of another protocol.
    pub fn first_bytes<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        match self.begun {
            true => None,
            false if self.partial.is_empty() => Some(bytes.into()),
            false => Some([&self.partial, bytes].concat().into()),
        }
    }

    /// Keeps bytes of which it is not known yet what they are.
    pub fn keep(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
    }

    /// Takes bytes and adds the requests for `objects` that they complete.
    pub fn read(&mut self, bytes: &[u8], objects: &Objects, asks: &mut SmallVec<[ServedRequest; 1]>) {
        let mut joined = std::mem::take(&mut self.partial);
        let mut rest = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined[..]
        };
        while !rest.is_empty() && !self.broken {
            let skipped = self.body_left.min(rest.len() as u64);
            self.body_left -= skipped;
            rest = &rest[skipped as usize..];
            if rest.is_empty() {
                return;
            }
            match head_of(rest, objects) {
                Some((len, _, _)) if asks.len() >= PIPELINED_MAX => {
                    self.broken = true;
                    asks.push(ServedRequest::MALFORMED);
                    rest = &rest[len..];
                }
                Some((len, ask, body)) => {
                    (self.broken, self.begun) = (ask.malformed, true);
                    asks.push(ask);
                    self.body_left = body;
                    rest = &rest[len..];
                }
                None => {
                    self.partial = rest.to_vec();
                    return;
                }
            }
        }
    }
}

/// A whole head at the front of `bytes`: its length, what it asks, and the length of its body.
fn head_of(bytes: &[u8], objects: &Objects) -> Option<(usize, ServedRequest, u64)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let malformed = ServedRequest::MALFORMED;
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_LEN_MAX => return None,
        _ => return Some((bytes.len(), malformed, 0)),
    };
    let old = request.version == Some(0);
    let mut keeping = if old { Persistence::Close } else { Persistence::Keep };
    let mut body = 0;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("connection") {
            if header.value.eq_ignore_ascii_case(b"close") {
                keeping = Persistence::Close;
            } else if old && header.value.eq_ignore_ascii_case(b"keep-alive") {
                keeping = Persistence::KeepTold;
            }
        } else if header.name.eq_ignore_ascii_case("content-length") {
            match std::str::from_utf8(header.value).ok().and_then(|value| value.trim().parse().ok()) {
                Some(length) => body = length,
                None => return Some((len, malformed, 0)),
            }
        }
    }
    let (method, path) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    Some((len, ServedRequest { keeping, ..ServedRequest::of(method, path, objects) }, body))
}

impl ServedRequest {
    /// Bytes that are no request, and end their connection.
    const MALFORMED: ServedRequest = ServedRequest {
        known: None,
        fixed: None,
        keeping: Persistence::Close,
        head_only: false,
        malformed: true,
        stream: None,
    };

    /// A request for `path`, after which the connection is kept.
    pub fn of(method: &str, path: &str, objects: &Objects) -> ServedRequest {
        let (known, fixed) = (objects.of(path), objects.reply_to(method, path));
        ServedRequest {
            known,
            fixed,
            keeping: Persistence::Keep,
            head_only: method == "HEAD",
            malformed: false,
            stream: None,
        }
    }
}

/// The bytes that bodies are slices of.
static BODY: [u8; 64 * 1024] = [b'x'; 64 * 1024];

/// Bodies up to this long are kept with their heads, as one.
const WHOLE_MAX: u64 = 16 * 1024;
/// Replies that are kept.
const KEPT_MAX: usize = 4096;

/// The next piece of a body of which `left` bytes are left.
pub(crate) fn piece(left: u64) -> Bytes {
    Bytes::from_static(&BODY[..left.min(BODY.len() as u64) as usize])
}

/// A body of so many bytes, for a reply on a stream.
pub(crate) fn filler(size: u64) -> BodySource {
    match size {
        0 => BodySource::None,
        _ => BodySource::Filler { of: Bytes::from_static(&BODY), left: size },
    }
}

/// Replies that were made before.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    made: BTreeMap<(u64, Persistence, bool, bool), Bytes>,
    /// Header blocks of replies of HTTP/2, by the size of their bodies.
    blocks: BTreeMap<u64, Bytes>,
    /// Field sections of replies of HTTP/3, likewise.
    sections: BTreeMap<u64, Bytes>,
}

impl Replies {
    /// The header block of a reply of HTTP/2 with a body of so many bytes.
    pub fn block(&mut self, size: u64) -> Bytes {
        kept(&mut self.blocks, size, |length, out| put_reply_block(200, [("content-length", length)], out))
    }

    /// The field section of a reply of HTTP/3 with a body of so many bytes.
    pub fn section(&mut self, size: u64) -> Bytes {
        kept(&mut self.sections, size, |length, out| {
            put_reply_section(200, [("content-length", length)], out)
        })
    }

    /// The front of a reply, and how many bytes of body come after it.
    pub fn begin(
        &mut self,
        size: u64,
        keeping: Persistence,
        head_only: bool,
        malformed: bool,
    ) -> (Bytes, u64) {
        let size = if malformed { 0 } else { size };
        let whole = size <= WHOLE_MAX;
        let rest = if whole || head_only { 0 } else { size };
        let key = (size, keeping, head_only, malformed);
        if let Some(made) = self.made.get(&key) {
            return (made.clone(), rest);
        }
        let status = if malformed { "400 Bad Request" } else { "200 OK" };
        let connection = keeping.line();
        let mut bytes =
            format!("HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{connection}\r\n").into_bytes();
        if whole && !head_only {
            bytes.extend_from_slice(&BODY[..size as usize]);
        }
        let made = Bytes::from(bytes);
        if self.made.len() < KEPT_MAX {
            self.made.insert(key, made.clone());
        }
        (made, rest)
    }
}

/// The bytes kept for a body of `size` bytes, or made now by `put` of its length in digits.
fn kept(made: &mut BTreeMap<u64, Bytes>, size: u64, put: impl FnOnce(&[u8], &mut Vec<u8>)) -> Bytes {
    if let Some(made) = made.get(&size) {
        return made.clone();
    }
    let mut bytes = Vec::new();
    put(size.to_string().as_bytes(), &mut bytes);
    let bytes = Bytes::from(bytes);
    if made.len() < KEPT_MAX {
        made.insert(size, bytes.clone());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Duration;

    fn read(pieces: &[&[u8]]) -> Vec<ServedRequest> {
        let (mut reading, mut asks) = (PartialRequest::default(), SmallVec::new());
        pieces.iter().for_each(|piece| reading.read(piece, &Objects::default(), &mut asks));
        asks.into_vec()
    }

    #[test]
    fn requests_end_where_they_end() {
        let text = b"POST /bytes/7 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n";
        let first = ServedRequest {
            known: Some(ObjectCost { size: 7, cost: Duration::ZERO }),
            fixed: None,
            keeping: Persistence::Keep,
            head_only: false,
            malformed: false,
            stream: None,
        };
        let second = ServedRequest { known: None, keeping: Persistence::Close, ..first };
        assert_eq!(read(&[text]), [first, second]);
        for cut in 1..text.len() {
            assert_eq!(read(&[&text[..cut], &text[cut..]]), [first, second], "cut at {cut}");
        }
    }

    /// A client that asks without end and reads no reply.
    #[test]
    fn requests_that_wait_are_bounded() {
        let many = b"GET / HTTP/1.1\r\n\r\n".repeat(1000);
        let asks = read(&vec![many.as_slice(); 20]);
        assert_eq!(asks.len(), PIPELINED_MAX + 1);
        assert!(asks.last().is_some_and(|last| last.malformed && last.keeping == Persistence::Close));
    }

    #[test]
    fn nonsense_is_answered_once() {
        let asks = read(&[b"\0\0\0\0", b"GET / HTTP/1.1\r\n\r\n"]);
        assert_eq!(asks.iter().map(|ask| ask.malformed).collect::<Vec<_>>(), [true]);
    }

    #[test]
    fn replies_are_kept_and_long_bodies_follow() {
        let mut replies = Replies::default();
        let (short, rest) = replies.begin(3, Persistence::Close, false, false);
        assert_eq!(
            (&short[..], rest),
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxxx"[..], 0)
        );
        assert_eq!(replies.begin(3, Persistence::Close, false, false).0.as_ptr(), short.as_ptr());
        assert_eq!(replies.begin(1 << 20, Persistence::Keep, false, false).1, 1 << 20);
        assert_eq!(replies.begin(1 << 20, Persistence::Keep, true, false).1, 0);
        assert_eq!(piece(1 << 20).len(), 64 * 1024);
    }
}
