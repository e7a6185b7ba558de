//! The head of a message: start line, and the fields that delimit the body (RFC 9112, sections 2 to 6).

/// How the body of a message is delimited, as its fields have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fields {
    /// `Content-Length`.
    pub length: Option<u64>,
    /// The last transfer coding is chunked.
    pub chunked: bool,
    /// There is a transfer coding, chunked or not.
    pub coded: bool,
    /// Lengths that contradict each other or are no numbers.
    pub contradictory: bool,
    /// `Expect: 100-continue`: content may wait for the server's word (RFC 9110, section 10.1.1).
    pub expects: bool,
}

/// The start line of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestLine<'a> {
    pub method: &'a [u8],
    pub target: &'a [u8],
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

/// Whether a message can begin with `bytes`, which may be only the first of it.
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

/// Whether a message surely begins with `bytes`: how a direction is found again behind a hole. Of requests
/// only those with the methods of RFC 9110 and RFC 5789: the end of a body and a request line behind it may
/// look like a line with another one.
pub(crate) fn begins(bytes: &[u8], reply: bool) -> bool {
    if reply {
        return status_line(first_line(bytes)).is_some();
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

fn first_line(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    trim_return(&bytes[..end])
}

fn trim_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The start line of a request (RFC 9112, section 3).
pub(crate) fn request_line(head: &[u8]) -> Option<RequestLine<'_>> {
    let line = first_line(head);
    let (method, rest) = line.split_at(memchr::memchr(b' ', line)?);
    let version_at = memchr::memrchr(b' ', rest).filter(|&at| at > 0)?;
    let (target, version) = (&rest[1..version_at], &rest[version_at + 1..]);
    let known =
        matches!(version, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', digit] if digit.is_ascii_digit());
    (known && !method.is_empty() && !target.is_empty() && may_begin(line, false))
        .then_some(RequestLine { method, target })
}

/// The method and as much of the target as there is, of a request line that was cut off.
pub(crate) fn cut_request_line(head: &[u8]) -> Option<RequestLine<'_>> {
    if memchr::memchr(b'\n', head).is_some() {
        return request_line(head);
    }
    let (method, rest) = head.split_at(memchr::memchr(b' ', head)?);
    let target = rest[1..].split(|&byte| byte == b' ').next().unwrap_or_default();
    Some(RequestLine { method, target })
}

/// The status of a reply's start line (RFC 9112, section 4).
pub(crate) fn status_line(head: &[u8]) -> Option<u16> {
    let line = first_line(head);
    let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor, b' ', rest @ ..] = line else { return None };
    let [a, b, c, behind @ ..] = rest else { return None };
    let digits = [minor, a, b, c].iter().all(|byte| byte.is_ascii_digit());
    let apart = behind.first().is_none_or(|&byte| byte == b' ');
    let status = [a, b, c].iter().fold(0, |sum, &&digit| 10 * sum + u16::from(digit.wrapping_sub(b'0')));
    (digits && apart && (100..1000).contains(&status)).then_some(status)
}

/// The fields of a head that delimit its body (RFC 9112, section 6).
pub(crate) fn fields(head: &[u8]) -> Fields {
    let mut fields = Fields::default();
    let mut rest = head;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let line = trim_return(&rest[..end]);
        rest = &rest[end + 1..];
        // The names have 14, 17 and 6 bytes, then a colon.
        if line.get(14) == Some(&b':') && line[..14].eq_ignore_ascii_case(b"content-length") {
            take_lengths(&line[15..], &mut fields);
        } else if line.get(17) == Some(&b':') && line[..17].eq_ignore_ascii_case(b"transfer-encoding") {
            let last = line[18..].split(|&byte| byte == b',').next_back().unwrap_or_default();
            fields.coded = true;
            fields.chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
        } else if line.get(6) == Some(&b':') && line[..6].eq_ignore_ascii_case(b"expect") {
            fields.expects = line[7..].trim_ascii().eq_ignore_ascii_case(b"100-continue");
        }
    }
    fields
}

/// A length, or the same one several times (RFC 9112, section 6.3, item 5).
fn take_lengths(value: &[u8], fields: &mut Fields) {
    for length in value.split(|&byte| byte == b',') {
        let text = std::str::from_utf8(length.trim_ascii()).unwrap_or_default();
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse().ok().filter(|_| digits) {
            Some(length) if fields.length.is_none_or(|before| before == length) => {
                fields.length = Some(length);
            }
            _ => fields.contradictory = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines() {
        let line = |text: &'static str| {
            request_line(text.as_bytes()).map(|line| (line.method.to_vec(), line.target.to_vec()))
        };
        let read = |method: &str, target: &str| Some((method.into(), target.into()));
        assert_eq!(line("GET / HTTP/1.1\r\nHost: a\r\n"), read("GET", "/"));
        assert_eq!(line("M-SEARCH * HTTP/1.0\n"), read("M-SEARCH", "*"));
        assert_eq!(line("GET /a b HTTP/1.1\r\n"), read("GET", "/a b"));
        for wrong in
            ["GET /\r\n", "GET / HTTP/2.0\r\n", "GET  HTTP/1.1\r\n", " / HTTP/1.1\r\n", "", "G@T / HTTP/1.1"]
        {
            assert_eq!(line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn status_lines() {
        assert_eq!(status_line(b"HTTP/1.1 200 OK\r\n"), Some(200));
        assert_eq!(status_line(b"HTTP/1.0 404\r\n"), Some(404));
        for wrong in
            ["HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/2 200", "HTTP/1.1 099 x", "HTTP/1.1  200", "HTTP"]
        {
            assert_eq!(status_line(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn bodies_are_delimited_by_two_fields() {
        let of = |text: &str| fields(text.as_bytes());
        let length = |length| Fields { length: Some(length), ..Fields::default() };
        assert_eq!(of("x\r\ncontent-LENGTH:7\r\n\r\n"), length(7));
        assert_eq!(of("x\r\nContent-Length: 7, 7\r\nContent-Length: 7\r\n"), length(7));
        for wrong in ["7, 8", "-7", "+7", "", "7a", "99999999999999999999"] {
            assert!(of(&format!("x\r\nContent-Length: {wrong}\r\n")).contradictory, "{wrong}");
        }
        let chunked = of("x\nTransfer-Encoding: gzip, Chunked\n\n");
        assert!(chunked.chunked && chunked.coded);
        let gzip = of("x\r\nTransfer-Encoding: gzip\r\n\r\n");
        assert!(gzip.coded && !gzip.chunked);
        assert_eq!(of("x\r\nX-Content-Length: 7\r\n\r\n"), Fields::default());
    }

    #[test]
    fn a_head_ends_at_its_empty_line() {
        assert_eq!(find_end(b"a\r\n\r\nb", 0), Some(5));
        assert_eq!(find_end(b"a\n\nb", 0), Some(3));
        assert_eq!(find_end(b"a\r\n\r", 0), None);
        assert_eq!(find_end(b"a\r\nb\r\n", 0), None);
    }
}
