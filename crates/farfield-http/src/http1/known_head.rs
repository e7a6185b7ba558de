//! The head that was read last, so that the same bytes need not be parsed again.
//!
//! A server that sends one object over and over sends the same head until its date changes, once a second. To
//! compare 250 bytes takes a tenth of the time of parsing them. What a head says follows from its bytes, its
//! request's method and the limit of fields alone, and what comes behind its blank line has no part in it; so
//! a head that begins with a known one, blank line included, is that one.
//!
//! One head is kept for all connections of a worker. Where replies differ from one to the next it costs a
//! comparison that ends at the first difference, and a copy.

use super::head::{Answering, Head};

/// The longest head that is kept.
const LONGEST: usize = 4096;

/// The head that was read last, for [`ReplyReader::read_with`](super::ReplyReader::read_with).
#[derive(Debug)]
pub struct KnownHead {
    /// Longer heads are not kept.
    longest: usize,
    /// From its first byte to its blank line; empty before the first head.
    bytes: Vec<u8>,
    says: Option<ParsedHead>,
}

/// The parsed head, and the request and limit that it holds for.
#[derive(Debug)]
struct ParsedHead {
    answering: Answering,
    fields_max: u16,
    head: Head,
}

impl Default for KnownHead {
    fn default() -> KnownHead {
        KnownHead::new()
    }
}

impl KnownHead {
    /// No head yet.
    pub const fn new() -> KnownHead {
        KnownHead { longest: LONGEST, bytes: Vec::new(), says: None }
    }

    /// For a single reading: it never keeps a head.
    pub(super) const fn forgetful() -> KnownHead {
        KnownHead { longest: 0, bytes: Vec::new(), says: None }
    }

    /// The length of the head that `bytes` begin with and what it says, if it is known.
    pub(super) fn find(&self, bytes: &[u8], answering: Answering, fields_max: u16) -> Option<(usize, Head)> {
        let says = self.says.as_ref()?;
        let same =
            says.answering == answering && says.fields_max == fields_max && bytes.starts_with(&self.bytes);
        same.then_some((self.bytes.len(), says.head))
    }

    /// Keeps a head in place of the one before.
    pub(super) fn keep(&mut self, bytes: &[u8], answering: Answering, fields_max: u16, head: Head) {
        if bytes.len() > self.longest {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.says = Some(ParsedHead { answering, fields_max, head });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::{Framing, Version};

    const HEAD: Head = Head {
        status: 200,
        version: Version::Http11,
        persistent: true,
        framing: Framing::Length(2),
        sets_cookie: false,
        events: None,
    };

    #[test]
    fn it_is_found_by_its_bytes_for_its_request_and_limit() {
        let mut known = KnownHead::new();
        assert_eq!(known.find(b"", Answering::Other, 8), None);
        known.keep(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", Answering::Other, 8, HEAD);
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(known.find(bytes, Answering::Other, 8), Some((bytes.len() - 2, HEAD)));
        assert_eq!(known.find(bytes, Answering::Head, 8), None);
        assert_eq!(known.find(bytes, Answering::Other, 9), None);
        assert_eq!(known.find(&bytes[..30], Answering::Other, 8), None);
        let other = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nno!";
        assert_eq!(known.find(other, Answering::Other, 8), None);
    }

    #[test]
    fn a_long_head_takes_no_memory_and_the_one_before_stays() {
        let mut known = KnownHead::new();
        known.keep(b"short", Answering::Other, 8, HEAD);
        known.keep(&[b'x'; LONGEST + 1], Answering::Other, 8, HEAD);
        assert_eq!(known.find(b"short and more", Answering::Other, 8), Some((5, HEAD)));
        assert!(known.bytes.capacity() <= LONGEST);
    }
}
