//! The head of a message: start line, and the fields that delimit the body (RFC 9112, sections 2 to 6).
//!
//! httparse reads the lines, and here is found what their fields say of the body. A head that httparse
//! refuses is read again where a recipient may be lenient, see [`mended`]: a witness does not judge, and what
//! was asked and answered can often still be said. The end of a head is found before either, so that a head
//! that never ends costs no more than its bytes.
//!
//! farfield-http reads the lines of replies with httparse as well. What it makes of their fields is written
//! a second time here, and the tests hold each against heads whose meaning is known as they are made.

use crate::events::Media;
use httparse::{EMPTY_HEADER, Error, Header, ParserConfig, Request, Response, Status};

/// Fields for which there is room on the stack.
const FIELDS_ON_STACK: usize = 64;

/// Bytes up to the one behind the status of a reply.
const STATUS_BYTES: usize = b"HTTP/1.1 200 ".len();

/// The delimitation of a message's body, as its fields have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BodyFields {
    /// `Content-Length`.
    pub length: Option<u64>,
    /// The last transfer coding is chunked.
    pub chunked: bool,
    /// There is a transfer coding, chunked or not.
    pub coded: bool,
    /// Lengths that contradict each other or are no numbers.
    pub contradictory: bool,
    /// `Content-Type` and `Content-Encoding`.
    pub media: Media,
    /// [Hash](authority_hash) of `Host`, 0 if there is none.
    pub authority: u64,
    /// `Expect: 100-continue`: content may wait for the server's word (RFC 9110, section 10.1.1).
    pub expects: bool,
    /// `Upgrade` names WebSocket.
    pub upgrades: bool,
}

/// Hash of a host's name and port as requests have them, whatever their case (FNV-1a, of 64 bits, never 0):
/// requests are compared by it with the host that they are for.
pub fn authority_hash(authority: &[u8]) -> u64 {
    let bytes = authority.trim_ascii().iter().map(u8::to_ascii_lowercase);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The start line of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestLine<'a> {
    pub method: &'a [u8],
    pub target: &'a [u8],
    /// [Hash](authority_hash) of the Host field behind it, 0 if that is not known.
    pub authority: u64,
}

/// Length of the head at the beginning of `bytes`, its empty line included; looks at line ends from `from`
/// on.
pub(crate) fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', &bytes[from..]).map(|at| from + at).find_map(|at| match bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// True if a message can begin with `bytes`, which may be only the first of it.
pub(crate) fn may_begin(bytes: &[u8], reply: bool) -> bool {
    if reply {
        const VERSION: &[u8] = b"HTTP/1.";
        let shared = bytes.len().min(VERSION.len());
        return bytes[..shared] == VERSION[..shared];
    }
    // A token, then a space (RFC 9110, section 5.6.2); no method that is registered has 32 bytes.
    let token = |&byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let method_len = bytes.iter().take(32).take_while(|byte| token(byte)).count();
    method_len < 32 && (method_len == bytes.len() || (method_len > 0 && bytes[method_len] == b' '))
}

/// True if a message surely begins with `bytes`: so a direction is found again behind a hole. Of requests
/// only those with the methods of RFC 9110 and RFC 5789: the end of a body and a request line behind it may
/// look like a line with another one.
pub(crate) fn begins(bytes: &[u8], reply: bool) -> bool {
    if reply {
        return status(bytes).is_some();
    }
    const METHODS: [&[u8]; 9] =
        [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE", b"CONNECT"];
    let whole = memchr::memchr(b'\n', bytes).is_some();
    METHODS.iter().any(|method| match bytes.strip_prefix(*method) {
        Some([b' ', b'/' | b'h' | b'*', ..]) => !whole || request_line(bytes).is_some(),
        // The target of CONNECT begins like no other.
        Some([b' ', ..]) => whole && request_line(bytes).is_some(),
        _ => false,
    })
}

/// A whole head of a request.
pub(crate) fn request(head: &[u8]) -> Option<(RequestLine<'_>, BodyFields)> {
    let (lengths, fields) = read(head, parse_request)?;
    Some((RequestLine { authority: fields.authority, ..RequestLine::of(head, lengths) }, fields))
}

/// A whole head of a reply: its status, which is 100 at least (RFC 9110, section 15), and its fields.
pub(crate) fn reply(head: &[u8]) -> Option<(u16, BodyFields)> {
    read(head, parse_reply).filter(|(status, _)| *status >= 100)
}

/// The start line of a request, the head of which may be cut off behind it (RFC 9112, section 3).
fn request_line(bytes: &[u8]) -> Option<RequestLine<'_>> {
    let end = memchr::memchr(b'\n', bytes)? + 1;
    let (lengths, _) = read(&[&bytes[..end], b"\n"].concat(), parse_request)?;
    Some(RequestLine::of(bytes, lengths))
}

/// The method and as much of the target as there is, of a request line that was cut off.
pub(crate) fn cut_request_line(head: &[u8]) -> Option<RequestLine<'_>> {
    if memchr::memchr(b'\n', head).is_some() {
        return request_line(head);
    }
    let (method, rest) = head.split_at(memchr::memchr(b' ', head)?);
    let target = rest[1..].split(|&byte| byte == b' ').next().unwrap_or_default();
    Some(RequestLine { method, target, authority: 0 })
}

/// The status of a reply whose head may be cut off behind it (RFC 9112, section 4).
pub(crate) fn status(bytes: &[u8]) -> Option<u16> {
    let line = mended(&bytes[..bytes.len().min(STATUS_BYTES)]);
    let mut reply = Response::new(&mut []);
    let is_wrong = reply.parse(&line).is_err_and(|error| error != Error::TooManyHeaders);
    reply.code.filter(|&status| !is_wrong && status >= 100)
}

/// Reads a whole head with `parse`, strictly if that will do.
fn read<T>(
    head: &[u8],
    parse: impl for<'b> Fn(&'b [u8], &mut [Header<'b>], &ParserConfig) -> Result<T, Error>,
) -> Option<T> {
    let with_slots = |head: &[u8], config: &ParserConfig| match parse(
        head,
        &mut [EMPTY_HEADER; FIELDS_ON_STACK],
        config,
    ) {
        Err(Error::TooManyHeaders) => {
            let lines = memchr::memchr_iter(b'\n', head).count();
            parse(head, &mut vec![EMPTY_HEADER; lines], config)
        }
        result => result,
    };
    let mut config = ParserConfig::default();
    // RFC 9112, section 5.2: a user agent takes a line that begins with a blank as more of the one before.
    config.allow_obsolete_multiline_headers_in_responses(true);
    with_slots(head, &config)
        .or_else(|_| {
            config
                .allow_spaces_after_header_name_in_responses(true)
                .ignore_invalid_headers_in_responses(true)
                .ignore_invalid_headers_in_requests(true);
            with_slots(&mended(head), &config)
        })
        .ok()
}

/// Lengths of the method and of the target, and the fields.
fn parse_request<'b>(
    head: &'b [u8],
    slots: &mut [Header<'b>],
    config: &ParserConfig,
) -> Result<((usize, usize), BodyFields), Error> {
    let mut request = Request::new(slots);
    match (config.parse_request(&mut request, head)?, request.method, request.path) {
        (Status::Complete(_), Some(method), Some(target)) => {
            Ok(((method.len(), target.len()), BodyFields::of(request.headers)))
        }
        _ => Err(Error::NewLine),
    }
}

/// The status, and the fields.
fn parse_reply<'b>(
    head: &'b [u8],
    slots: &mut [Header<'b>],
    config: &ParserConfig,
) -> Result<(u16, BodyFields), Error> {
    let mut reply = Response::new(slots);
    match (config.parse_response(&mut reply, head)?, reply.code) {
        (Status::Complete(_), Some(status)) => Ok((status, BodyFields::of(reply.headers))),
        _ => Err(Error::NewLine),
    }
}

/// A copy of a head, as long, as a lenient recipient reads it: a NUL and a CR alone are blanks, other control
/// characters are opaque (RFC 9110, section 5.5); a field goes on in a line that begins with a blank (RFC
/// 9112, section 5.2), except behind the start line, where such lines are passed over (section 2.2).
fn mended(head: &[u8]) -> Vec<u8> {
    const OPAQUE: u8 = 0xff;
    let mut copy = head.to_vec();
    let start_line = memchr::memchr(b'\n', head).unwrap_or(head.len());
    mend_start_line(&mut copy[..start_line]);
    for at in 0..head.len() {
        let ahead = head.get(at + 1);
        match copy[at] {
            0 => copy[at] = b' ',
            b'\r' if ahead != Some(&b'\n') => copy[at] = b' ',
            b'\n' if at > start_line && matches!(ahead, Some(b' ' | b'\t')) => {
                copy[at] = b' ';
                if copy[at - 1] == b'\r' {
                    copy[at - 1] = b' ';
                }
            }
            b'\t' | b'\r' | b'\n' => {}
            byte if byte.is_ascii_control() => copy[at] = OPAQUE,
            _ => {}
        }
    }
    copy
}

/// Makes of a start line one that is strictly one: bytes of a target that no target has are replaced, and a
/// minor version higher than 1 is read as 1 (RFC 9110, section 2.5).
fn mend_start_line(line: &mut [u8]) {
    let is_reply = line.starts_with(b"HTTP/1.");
    let end = line.len() - usize::from(line.ends_with(b"\r"));
    let line = &mut line[..end];
    let blanks = (memchr::memchr(b' ', line), memchr::memrchr(b' ', line));
    if let (false, (Some(first), Some(last))) = (is_reply, blanks)
        && first < last
    {
        let target = &mut line[first + 1..last];
        target.iter_mut().filter(|byte| !byte.is_ascii_graphic()).for_each(|byte| *byte = b'_');
    }
    let version = if is_reply { line.get_mut(..8) } else { line.last_chunk_mut::<8>().map(|it| &mut it[..]) };
    if let Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'2'..=b'9']) = version {
        *minor = b'1';
    }
}

impl<'a> RequestLine<'a> {
    /// The line at the beginning of `head`, by the lengths of method and target.
    fn of(head: &'a [u8], (method_len, target_len): (usize, usize)) -> RequestLine<'a> {
        let (method, rest) = head.split_at(method_len);
        RequestLine { method, target: &rest[1..=target_len], authority: 0 }
    }
}

impl BodyFields {
    /// The fields of a head that are about its body (RFC 9112, section 6).
    fn of(headers: &[Header<'_>]) -> BodyFields {
        let mut fields = BodyFields::default();
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                fields.take_lengths(header.value);
            } else if is("transfer-encoding") {
                fields.coded = true;
                // Elements that are empty are none (RFC 9110, section 5.6.1).
                if let Some(last) = list(header.value).filter(|coding| !coding.is_empty()).last() {
                    fields.chunked = last.eq_ignore_ascii_case(b"chunked");
                }
            } else if is("content-type") {
                fields.media.note_type(header.value);
            } else if is("content-encoding") {
                fields.media.note_encoding(header.value);
            } else if is("host") {
                fields.authority = authority_hash(header.value);
            } else if is("upgrade") {
                fields.upgrades |= list(header.value).any(|name| name.eq_ignore_ascii_case(b"websocket"));
            } else if is("expect") {
                fields.expects = header.value.trim_ascii().eq_ignore_ascii_case(b"100-continue");
            }
        }
        fields
    }

    /// A length, or the same one several times (RFC 9112, section 6.3, item 5).
    fn take_lengths(&mut self, value: &[u8]) {
        for length in list(value) {
            let text = std::str::from_utf8(length).unwrap_or_default();
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            match text.parse().ok().filter(|_| digits) {
                Some(length) if self.length.is_none_or(|before| before == length) => {
                    self.length = Some(length);
                }
                _ => self.contradictory = true,
            }
        }
    }
}

/// The elements of a list, trimmed, empty ones too.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_host_of_a_request_is_known_by_its_hash() {
        let of = |head: &str| request(head.as_bytes()).expect(head).0.authority;
        let expected = authority_hash(b"api.test:8443");
        for head in
            ["GET / HTTP/1.1\r\nHost: api.test:8443\r\n\r\n", "GET / HTTP/1.1\na: b\nhOST:API.Test:8443 \n\n"]
        {
            assert_eq!(of(head), expected);
        }
        assert_eq!(of("GET / HTTP/1.1\r\n\r\n"), 0);
        assert_ne!(of("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"), expected);
    }

    #[test]
    fn request_lines() {
        let line = |text: &str| {
            let head = format!("{text}Host: a\r\n\r\n").into_bytes();
            request(&head).map(|(line, _)| (line.method.to_vec(), line.target.to_vec()))
        };
        let read = |method: &str, target: &str| Some((method.into(), target.into()));
        assert_eq!(line("GET / HTTP/1.1\r\n"), read("GET", "/"));
        assert_eq!(line("M-SEARCH * HTTP/1.0\n"), read("M-SEARCH", "*"));
        // Targets that are none, and a version yet to come, can still be said.
        for target in ["/a b", "/\u{e4} \t\u{1}", "  / "] {
            assert_eq!(line(&format!("GET {target} HTTP/1.7\r\n")), read("GET", target));
        }
        assert_eq!(
            request(b"GET /\xff HTTP/1.1\n\n").map(|(line, _)| line.target.to_vec()),
            Some(b"/\xff".to_vec())
        );
        for wrong in [
            "GET /\r\n",
            "GET / HTTP/2.0\r\n",
            "GET  HTTP/1.1\r\n",
            " / HTTP/1.1\r\n",
            "",
            "G@T / HTTP/1.1\n",
        ] {
            assert_eq!(line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn status_lines() {
        for (line, known) in [
            ("HTTP/1.1 200 OK", 200),
            ("HTTP/1.0 404", 404),
            ("HTTP/1.1 999 ", 999),
            ("HTTP/1.3 200 \u{1}\u{e4}", 200),
        ] {
            assert_eq!(status(line.as_bytes()), Some(known), "{line}");
            for head in [format!("{line}\r\n\r\n"), format!("{line}\nA: b\n\n")] {
                assert_eq!(reply(head.as_bytes()), Some((known, BodyFields::default())), "{line}");
                assert_eq!(status(head.as_bytes()), Some(known), "{line}");
            }
        }
        for wrong in
            ["HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/2 200", "HTTP/1.1 099 x", "HTTP/1.1  200", "HTTP"]
        {
            assert_eq!(status(wrong.as_bytes()), None, "{wrong}");
            assert_eq!(reply(format!("{wrong}\r\n\r\n").as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn request_lines_that_were_cut() {
        let cut = |text: &'static str| {
            cut_request_line(text.as_bytes()).map(|line| (line.method.to_vec(), line.target.to_vec()))
        };
        let read = |method: &str, target: &str| Some((method.into(), target.into()));
        assert_eq!(cut("GET /a HTTP/1.1\r\nHost: a"), read("GET", "/a"));
        assert_eq!(cut("GET /a HT"), read("GET", "/a"));
        assert_eq!(cut("GET /a"), read("GET", "/a"));
        assert_eq!(cut("GET"), None);
        assert_eq!(cut("GET /a\r\n"), None);
    }

    /// The fields of a request and of a reply; they are read alike.
    fn of(lines: &str) -> BodyFields {
        let (_, asked) = request(format!("GET / HTTP/1.1\r\n{lines}\r\n").as_bytes()).expect("a request");
        let (_, answered) = reply(format!("HTTP/1.1 200\r\n{lines}\r\n").as_bytes()).expect("a reply");
        assert_eq!(asked, answered, "{lines}");
        asked
    }

    #[test]
    fn bodies_are_delimited_by_two_fields() {
        let length = |length| BodyFields { length: Some(length), ..BodyFields::default() };
        assert_eq!(of("content-LENGTH:7\r\n"), length(7));
        assert_eq!(of("Content-Length: 7, 7\r\nContent-Length: 7\r\n"), length(7));
        for wrong in ["7, 8", "-7", "+7", "", "7a", "7,", "7\u{1}", "99999999999999999999"] {
            assert!(of(&format!("Content-Length: {wrong}\r\n")).contradictory, "{wrong}");
        }
        let (chunked, other) =
            (BodyFields { coded: true, chunked: true, ..BodyFields::default() }, BodyFields::default());
        assert_eq!(of("Transfer-Encoding: gzip, Chunked\n"), chunked);
        assert_eq!(of("Transfer-Encoding: chunked, ,\r\n"), chunked);
        assert_eq!(of("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), chunked);
        assert_eq!(of("Transfer-Encoding: gzip\r\n"), BodyFields { coded: true, ..other });
        assert_eq!(of("X-Content-Length: 7\r\n"), other);
    }

    #[test]
    fn heads_that_are_not_to_the_letter() {
        let length = BodyFields { length: Some(7), ..BodyFields::default() };
        for line in
            ["X y: z\r\n", "no field\r\n", "\u{e4}: b\r\n", "A: \0\u{1}\r\n", "A: b\rc\r\n", "A:\r\n b\r\n"]
        {
            assert_eq!(of(&format!("{line}Content-Length: 7\r\n")), length, "{line:?}");
        }
        // A field that goes on in the next line, and lines behind the start line that go on with nothing.
        assert_eq!(of("Content-Length:\r\n 7\r\n"), length);
        assert!(of("Content-Length: 7\n\t8\r\n").contradictory);
        assert_eq!(of(" Content-Length: 8\r\nContent-Length: 7\r\n"), length);
        assert_eq!(of("Content-Length: 7\0\r\n"), length);
        // A blank before the colon: a proxy takes it out of a reply, a server refuses the request.
        let spaced = b"HTTP/1.1 200 OK\r\nContent-Length : 7\r\n\r\n";
        assert_eq!(reply(spaced), Some((200, length)));
        let spaced = b"GET / HTTP/1.1\r\nContent-Length : 7\r\n\r\n";
        assert_eq!(request(spaced).map(|(_, fields)| fields), Some(BodyFields::default()));
    }

    #[test]
    fn a_head_ends_at_its_empty_line() {
        assert_eq!(find_end(b"a\r\n\r\nb", 0), Some(5));
        assert_eq!(find_end(b"a\n\nb", 0), Some(3));
        assert_eq!(find_end(b"a\r\n\r", 0), None);
        assert_eq!(find_end(b"a\r\nb\r\n", 0), None);
    }

    /// A line of a field that says nothing of a body.
    fn other_line() -> impl Strategy<Value = String> {
        ("[A-Za-z!#$%&'*+.^_`|~0-9-]{1,20}", "[ \t]{0,2}", "[!-~]?([ -~\u{e4}\t]{0,30}[!-~])?")
            .prop_filter("names something else", |(name, ..)| {
                let names = ["content-length", "transfer-encoding", "expect"];
                !names.iter().any(|other| name.eq_ignore_ascii_case(other))
            })
            .prop_map(|(name, blank, value)| format!("{name}:{blank}{value}{blank}"))
    }

    proptest! {
        /// Heads are what they were made of, whatever stands around what matters. More fields than there is
        /// room for on the stack are among them.
        #[test]
        fn heads_are_read_as_they_were_made(
            (method, target) in ("[A-Z!#$%&'*+.^_`|~0-9-]{1,31}", "[!-~]{1,40}"),
            (status, reason) in (100u16..1000, "( [ -~\u{e4}\t]{0,20})?"),
            minor in 0..=1u8, length in prop::option::of(any::<u64>()),
            coding in prop::option::of(prop::bool::ANY),
            mut lines in prop::collection::vec(other_line(), 0..90),
            (place, other_place) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            end in prop_oneof!["\n", "\r\n"],
        ) {
            let mut known = BodyFields { length, ..BodyFields::default() };
            if let Some(length) = length {
                lines.insert(place.index(lines.len() + 1), format!("coNtent-length:{length}"));
            }
            if let Some(chunked) = coding {
                let coding = if chunked { "gzip ,chunKed" } else { "deflate" };
                lines.insert(other_place.index(lines.len() + 1), format!("Transfer-encoding: {coding}"));
                (known.coded, known.chunked) = (true, chunked);
            }
            let fields: String = lines.iter().flat_map(|line| [line, &*end]).collect();
            let head = format!("{method} {target} HTTP/1.{minor}{end}{fields}{end}");
            let line = RequestLine { method: method.as_bytes(), target: target.as_bytes(), authority: 0 };
            prop_assert_eq!(find_end(head.as_bytes(), 0), Some(head.len()));
            prop_assert_eq!(request(head.as_bytes()), Some((line, known)));
            let head = format!("HTTP/1.{minor} {status}{reason}{end}{fields}{end}");
            prop_assert_eq!(find_end(head.as_bytes(), 0), Some(head.len()));
            prop_assert_eq!(reply(head.as_bytes()), Some((status, known)));
            prop_assert!(begins(head.as_bytes(), true));
        }

        /// Any bytes that end as a head does are read or refused, and nothing else happens.
        #[test]
        fn any_bytes_are_read_or_refused(
            start in prop_oneof![Just("GET "), Just("HTTP/1.1 200"), Just("")],
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), prop::sample::select(&b"\r\n\0 \t:,aHT/1."[..])], 0..80,
            ),
        ) {
            let head = [start.as_bytes(), &bytes, b"\r\n\r\n"].concat();
            let end = find_end(&head, 0).expect("an end");
            let head = &head[..end];
            if let Some((line, _)) = request(head) {
                prop_assert!(head.starts_with(&[line.method, b" ", line.target, b" HTTP/1."].concat()));
            }
            if let Some((known, _)) = reply(head) {
                prop_assert_eq!(status(head), Some(known));
            }
            _ = (cut_request_line(head), begins(head, false));
        }
    }
}
