//! The character encoding of a reply's text, and the text as UTF-8.
//!
//! It is named by, in this order: a byte order mark, the charset of Content-Type, and for HTML a `<meta>`
//! with a charset among its first bytes (WHATWG HTML section 13.2.3.2). A text that says nothing is taken as
//! it is.

use encoding_rs::{Encoding, UTF_8};
use std::borrow::Cow;

/// Bytes of a page among which its charset may stand.
const PRESCAN_BYTES: usize = 1024;

/// The charset that a reply's head names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Charset {
    /// Nothing.
    #[default]
    Unsaid,
    /// Nothing, but it is HTML, which may say so itself.
    OfPage,
    /// The charset that the head names.
    Of(&'static Encoding),
}

impl Charset {
    /// The charset of a Content-Type.
    pub fn of(content_type: &[u8]) -> Charset {
        let mut parts = content_type.split(|byte| *byte == b';');
        let essence = parts.next().unwrap_or_default().trim_ascii();
        let label = parts.find_map(|part| {
            let (name, value) = part.split_at(part.iter().position(|byte| *byte == b'=')?);
            name.trim_ascii().eq_ignore_ascii_case(b"charset").then(|| value[1..].trim_ascii())
        });
        let unquoted = |label: &'_ [u8]| {
            label.strip_prefix(b"\"").and_then(|label| label.strip_suffix(b"\"")).map(<[u8]>::to_vec)
        };
        match label.and_then(|label| Encoding::for_label(&unquoted(label).unwrap_or_else(|| label.to_vec())))
        {
            Some(encoding) => Charset::Of(encoding),
            None if essence.eq_ignore_ascii_case(b"text/html") => Charset::OfPage,
            None => Charset::Unsaid,
        }
    }

    /// The text of `body` in UTF-8, without a byte order mark.
    pub fn decode(self, body: &[u8]) -> Cow<'_, [u8]> {
        if let Some((encoding, mark)) = Encoding::for_bom(body) {
            return in_utf8(encoding, &body[mark..]);
        }
        match self {
            Charset::Unsaid => body.into(),
            Charset::Of(encoding) => in_utf8(encoding, body),
            Charset::OfPage => match said_by_page(body) {
                Some(encoding) => in_utf8(encoding, body),
                None => body.into(),
            },
        }
    }
}

/// True if a Content-Type is that of a page.
pub(super) fn is_html(media_type: &[u8]) -> bool {
    let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    essence.eq_ignore_ascii_case(b"text/html") || essence.eq_ignore_ascii_case(b"application/xhtml+xml")
}

fn in_utf8<'b>(encoding: &'static Encoding, body: &'b [u8]) -> Cow<'b, [u8]> {
    if encoding == UTF_8 {
        return body.into();
    }
    match encoding.decode_without_bom_handling(body).0 {
        Cow::Borrowed(text) => text.as_bytes().into(),
        Cow::Owned(text) => text.into_bytes().into(),
    }
}

/// The value behind the first `charset=` in a tag of a page's beginning.
fn said_by_page(body: &[u8]) -> Option<&'static Encoding> {
    let start = body[..body.len().min(PRESCAN_BYTES)].to_ascii_lowercase();
    let meta = memchr::memmem::find(&start, b"<meta")?;
    let at = meta + memchr::memmem::find(&start[meta..], b"charset=")? + b"charset=".len();
    let rest = start[at..].trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = rest.iter().position(|byte| b"\"' ;>/".contains(byte))?;
    // A page whose charset could be read here is in none of two bytes a letter (WHATWG HTML, the same
    // section).
    Encoding::for_label(&rest[..end]).map(Encoding::output_encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_by_what_says_its_charset() {
        let check = |content_type: &str, body: &[u8], expected: &str| {
            let text = Charset::of(content_type.as_bytes()).decode(body).into_owned();
            assert_eq!(String::from_utf8_lossy(&text), expected, "{content_type}");
        };
        check("text/html; charset=ISO-8859-1", b"caf\xe9 \x80", "café €");
        check("text/html;Charset=\"latin1\"", b"caf\xe9", "café");
        check("text/plain; boundary=x; charset = windows-1251", b"\xe4\xe0", "да");
        check("application/json; charset=utf-16le", b"\xe9\x00", "é");
        check("text/html; charset=utf-8", "\u{feff}é".as_bytes(), "é");
        check("application/json", "\u{feff}{}".as_bytes(), "{}");
        check("text/html", b"<head><META charset=latin1><p>\xe9", "<head><META charset=latin1><p>é");
        let long = "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'>";
        check("text/html", &[long.as_bytes(), b"\x82\xa0"].concat(), &format!("{long}あ"));
        check("text/html; charset=nonsense", "é".as_bytes(), "é");
        check("", b"caf\xe9", "caf\u{fffd}");
        assert_eq!(&*Charset::of(b"text/plain").decode(b"\xff\x00"), b"\xff\x00", "as it is");
    }
}
