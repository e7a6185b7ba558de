//! Values as they are written into texts: what may stand where, and what is written in its place.

use super::urls::{HEX, is_sendable};
use bytes::{BufMut, BytesMut};
use farfield_traffic::session::template::Escape;

/// Context of a text, which decides what may stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextContext {
    /// In a request's target: what may not is percent-encoded.
    Target,
    /// In a header field: control characters, which would end it, are left out.
    Field,
    /// In a body: anything.
    Body,
    /// In a selector: a name, or a part of a text between quotes.
    Selector,
    /// In a regular expression: a text that is matched as it is.
    Pattern,
    /// In a JSON pointer: a part, or a piece of one.
    Pointer,
}

/// Writes a value, escaped as is asked, where it may stand.
pub(super) fn write_bytes(value: &[u8], escape: Escape, context: TextContext, out: &mut BytesMut) {
    if escape != Escape::Plain
        && matches!(context, TextContext::Selector | TextContext::Pattern | TextContext::Pointer)
    {
        let mut coded = BytesMut::new();
        write_bytes(value, escape, TextContext::Body, &mut coded);
        return write_bytes(&coded, Escape::Plain, context, out);
    }
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    match escape {
        Escape::Plain => match context {
            TextContext::Body => out.extend_from_slice(value),
            TextContext::Target if value.iter().all(|byte| is_sendable(*byte)) => {
                out.extend_from_slice(value)
            }
            TextContext::Target => percent(value, is_sendable, false, out),
            TextContext::Selector => css_escaped(value, out),
            TextContext::Pattern => {
                out.extend_from_slice(regex::escape(&String::from_utf8_lossy(value)).as_bytes());
            }
            TextContext::Pointer => pointer_escaped(value, out),
            TextContext::Field if !value.iter().any(u8::is_ascii_control) => out.extend_from_slice(value),
            TextContext::Field => out.extend(value.iter().filter(|byte| !byte.is_ascii_control())),
        },
        Escape::Url => percent(value, unreserved, false, out),
        Escape::Form => {
            percent(value, |byte| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte), true, out)
        }
        Escape::Json => json(value, out),
        Escape::Base64 => base64(value, out),
    }
}

/// Percent-encodes what is not `kept`; a blank is `+` where `plus`.
fn percent(value: &[u8], kept: impl Fn(u8) -> bool, plus: bool, out: &mut BytesMut) {
    for byte in value {
        match byte {
            b' ' if plus => out.put_u8(b'+'),
            byte if kept(*byte) => out.put_u8(*byte),
            byte => out.put_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
}

/// Writes a name or value of `application/x-www-form-urlencoded` (WHATWG URL section 5.2).
pub(crate) fn form_encoded(value: &[u8], out: &mut BytesMut) {
    write_bytes(value, Escape::Form, TextContext::Body, out);
}

/// As a name or a text of a selector (CSS Syntax section 4.3.7): digits too, which cannot begin a name.
fn css_escaped(value: &[u8], out: &mut BytesMut) {
    for letter in String::from_utf8_lossy(value).chars() {
        if letter.is_ascii_alphabetic() || matches!(letter, '-' | '_') || !letter.is_ascii() {
            out.put_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            out.put_slice(format!("\\{:x} ", u32::from(letter)).as_bytes());
        }
    }
}

/// RFC 6901 section 3.
fn pointer_escaped(value: &[u8], out: &mut BytesMut) {
    for byte in value {
        match byte {
            b'~' => out.put_slice(b"~0"),
            b'/' => out.put_slice(b"~1"),
            byte => out.put_u8(*byte),
        }
    }
}

/// RFC 8259 section 7, without the quotes around it.
fn json(value: &[u8], out: &mut BytesMut) {
    for byte in value {
        match byte {
            b'"' | b'\\' => out.put_slice(&[b'\\', *byte]),
            0..0x20 => {
                out.put_slice(b"\\u00");
                out.put_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            byte => out.put_u8(*byte),
        }
    }
}

/// RFC 4648 section 4.
fn base64(value: &[u8], out: &mut BytesMut) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in value.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            out.put_u8(if place <= three.len() { digit } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(value: &[u8], escape: Escape, context: TextContext) -> String {
        let mut out = BytesMut::new();
        write_bytes(value, escape, context, &mut out);
        String::from_utf8(out.to_vec()).expect("what is written from text is text")
    }

    #[test]
    fn values_are_written_as_asked() {
        let body = |text: &str, escape| written(text.as_bytes(), escape, TextContext::Body);
        assert_eq!(body("a b&é", Escape::Plain), "a b&é");
        assert_eq!(body("a b&é~*", Escape::Url), "a%20b%26%C3%A9~%2A");
        assert_eq!(body("a b&é~*", Escape::Form), "a+b%26%C3%A9%7E*");
        assert_eq!(body("a\"\\\n", Escape::Json), "a\\\"\\\\\\u000A");
        for (text, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(body(text, Escape::Base64), coded);
        }
        assert_eq!(written(b"a b/c?d#e", Escape::Plain, TextContext::Target), "a%20b/c?d%23e");
        assert_eq!(written(b"a\r\nb: c", Escape::Plain, TextContext::Field), "ab: c");
    }

    proptest! {
        #[test]
        fn nothing_breaks_out_of_its_place(value in prop::collection::vec(any::<u8>(), 0..40)) {
            for escape in [Escape::Plain, Escape::Url, Escape::Form, Escape::Base64] {
                let mut out = BytesMut::new();
                write_bytes(&value, escape, TextContext::Target, &mut out);
                prop_assert!(out.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#'));
                let mut out = BytesMut::new();
                write_bytes(&value, escape, TextContext::Field, &mut out);
                prop_assert!(!out.iter().any(u8::is_ascii_control));
            }
        }

        #[test]
        fn a_json_string_reads_back(text in "\\PC{0,20}[\\x00-\\x1f\"\\\\]{0,5}") {
            let json = format!("\"{}\"", written(text.as_bytes(), Escape::Json, TextContext::Body));
            prop_assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
        }
    }
}
