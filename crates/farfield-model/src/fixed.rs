//! Replies that a server model gives word for word: a token, a form, a cookie or a redirect for users in
//! sessions.
//!
//! They are written as bytes once, before the run, and no request for one allocates. The model does not look
//! at what it was asked with: a wrong token gets the same reply.

use super::http::Persistence;
use bytes::Bytes;
use farfield_http::http2::server::{BodySource, put_reply_block};
use farfield_http::http3::server::put_reply_section;
use std::collections::BTreeMap;

/// A reply as it is to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedReply {
    /// 200 to 599.
    pub status: u16,
    /// Names and values of header fields, but for those that frame the body or keep the connection.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body; one of a 204 or 304, which have none, is left out.
    pub body: Bytes,
}

/// The replies of a server, by path and method.
#[derive(Debug, Clone, Default)]
pub(crate) struct FixedReplies {
    by_path: BTreeMap<Box<str>, Vec<NumberedReply>>,
    written: Vec<EncodedReply>,
}

/// A reply at a path.
#[derive(Debug, Clone)]
struct NumberedReply {
    /// The method that it is for; without one it is for any.
    method: Option<Box<str>>,
    number: u32,
}

/// A reply in bytes, for each of what may become of the connection.
#[derive(Debug, Clone)]
struct EncodedReply {
    of: [Bytes; 3],
    body_len: usize,
    /// The reply's head as a header block of HTTP/2.
    block: Bytes,
    /// The reply's head as a field section of HTTP/3.
    section: Bytes,
}

impl FixedReplies {
    /// Adds a reply to requests for `path` with `method`, or with any.
    pub fn add(&mut self, path: &str, method: Option<&str>, reply: &FixedReply) {
        let number = self.written.len() as u32;
        self.written.push(EncodedReply::of(reply));
        let numbered = NumberedReply { method: method.map(Into::into), number };
        self.by_path.entry(path.into()).or_default().push(numbered);
    }

    /// The number of the reply to `method` at `path`: the method's own rather than any's. HEAD is answered as
    /// GET.
    pub fn find(&self, method: &str, path: &str) -> Option<u32> {
        let method = if method == "HEAD" { "GET" } else { method };
        let replies = self.by_path.get(path)?;
        let own = replies.iter().find(|reply| reply.method.as_deref() == Some(method));
        own.or_else(|| replies.iter().find(|reply| reply.method.is_none())).map(|reply| reply.number)
    }

    /// The bytes of a reply, without the body if the head is all that was asked for.
    pub fn bytes(&self, number: u32, keeping: Persistence, head_only: bool) -> Bytes {
        let EncodedReply { of, body_len, .. } = &self.written[number as usize];
        let bytes = &of[keeping as usize];
        if head_only { bytes.slice(..bytes.len() - body_len) } else { bytes.clone() }
    }
}

impl FixedReplies {
    /// The header block and the body of a reply on a stream of HTTP/2.
    pub fn on_stream(&self, number: u32, head_only: bool) -> (Bytes, BodySource) {
        let written = &self.written[number as usize];
        (written.block.clone(), written.body(head_only))
    }

    /// The field section and the body of a reply on a stream of HTTP/3.
    pub fn in_section(&self, number: u32, head_only: bool) -> (Bytes, BodySource) {
        let written = &self.written[number as usize];
        (written.section.clone(), written.body(head_only))
    }
}

impl EncodedReply {
    fn body(&self, head_only: bool) -> BodySource {
        let EncodedReply { of, body_len, .. } = self;
        let whole = &of[Persistence::Keep as usize];
        let body = whole.slice(whole.len() - body_len..);
        if head_only || body.is_empty() { BodySource::None } else { BodySource::Bytes(body) }
    }

    fn of(FixedReply { status, headers, body }: &FixedReply) -> EncodedReply {
        // RFC 9110 §8.6: a 204 has no Content-Length, and that of a 304 would be another reply's.
        let empty = matches!(status, 204 | 304);
        let body: &[u8] = if empty { b"" } else { body };
        let mut head = format!("HTTP/1.1 {status} \r\n").into_bytes();
        for (name, value) in headers {
            head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        if !empty {
            head.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        let of = [Persistence::Close, Persistence::Keep, Persistence::KeepTold]
            .map(|keeping| [&head, keeping.line().as_bytes(), b"\r\n", body].concat().into());
        let length = body.len().to_string();
        let length = (!empty).then_some(("content-length", length.as_bytes()));
        let fields = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).chain(length);
        let (mut block, mut section) = (Vec::new(), Vec::new());
        put_reply_block(*status, fields.clone(), &mut block);
        put_reply_section(*status, fields, &mut section);
        EncodedReply { of, body_len: body.len(), block: block.into(), section: section.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, body: &'static [u8]) -> FixedReply {
        FixedReply { status, headers: vec![("x-a".to_owned(), b"b\xe9".to_vec())], body: body.into() }
    }

    #[test]
    fn a_reply_is_given_word_for_word() {
        let mut replies = FixedReplies::default();
        replies.add("/a", None, &reply(200, b"<p>"));
        replies.add("/b", None, &reply(304, b"left out"));
        let reply_bytes = |number, keeping, head_only| replies.bytes(number, keeping, head_only).to_vec();
        let head = b"HTTP/1.1 200 \r\nx-a: b\xe9\r\nContent-Length: 3\r\nConnection: close\r\n\r\n";
        assert_eq!(reply_bytes(0, Persistence::Close, true), head);
        assert_eq!(reply_bytes(0, Persistence::Close, false), [&head[..], b"<p>"].concat());
        assert_eq!(reply_bytes(1, Persistence::Keep, false), b"HTTP/1.1 304 \r\nx-a: b\xe9\r\n\r\n");
    }

    #[test]
    fn a_methods_own_reply_goes_before_any_ones() {
        let mut replies = FixedReplies::default();
        replies.add("/a", None, &reply(200, b"any"));
        replies.add("/a", Some("POST"), &reply(201, b"own"));
        replies.add("/b", Some("GET"), &reply(200, b"got"));
        let asked = [("POST", "/a"), ("HEAD", "/a"), ("HEAD", "/b"), ("POST", "/b"), ("GET", "/c")];
        let found = asked.map(|(method, path)| replies.find(method, path));
        assert_eq!(found, [Some(1), Some(0), Some(2), None, None]);
    }
}
