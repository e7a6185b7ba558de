//! Filled-in forms as bytes: the three encodings that a form may ask for (WHATWG HTML section 4.10.22.4 to
//! 4.10.22.8, RFC 7578).
//!
//! Line breaks of names and values become CR LF in all of them, whatever they were in the page or the
//! scenario; a file's bytes stay as they are. Text is UTF-8, whatever the page is in.

use super::text::form_encoded;
use bytes::{BufMut, BytesMut};
use std::borrow::Cow;

/// The encoding in which a form wants to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    /// `application/x-www-form-urlencoded`; of a file its name.
    #[default]
    Url,
    /// `multipart/form-data`.
    Multipart,
    /// `text/plain`; of a file its name.
    Plain,
}

/// A name with what is sent for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodedField<'a> {
    pub name: &'a str,
    /// The text, or the file's bytes.
    pub value: Cow<'a, [u8]>,
    pub file: Option<FileHeader<'a>>,
}

/// The name and type of a file that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileHeader<'a> {
    pub name: Cow<'a, [u8]>,
    pub media_type: &'a str,
}

impl FileHeader<'static> {
    /// Header of a field in which no file was chosen.
    pub const NONE: FileHeader<'static> =
        FileHeader { name: Cow::Borrowed(b""), media_type: "application/octet-stream" };
}

impl EncodedField<'_> {
    /// Name and value of the field for people to read; for a file, its name and size.
    pub fn in_words(&self) -> (String, String) {
        let value = match &self.file {
            None => String::from_utf8_lossy(&self.value).into_owned(),
            Some(file) if file.name.is_empty() && self.value.is_empty() => "(no file)".to_owned(),
            Some(file) => {
                format!("(file {}, {} bytes)", String::from_utf8_lossy(&file.name), self.value.len())
            }
        };
        (self.name.to_owned(), value)
    }

    /// The value that stands for a file where only text can be sent.
    fn text(&self) -> &[u8] {
        self.file.as_ref().map_or(&self.value, |file| &file.name)
    }
}

impl Encoding {
    /// The encoding that a form's `enctype` names; the first where it is none of the three.
    pub fn of(enctype: Option<&str>) -> Encoding {
        let is = |name: &str| enctype.is_some_and(|enctype| enctype.eq_ignore_ascii_case(name));
        match () {
            () if is("multipart/form-data") => Encoding::Multipart,
            () if is("text/plain") => Encoding::Plain,
            () => Encoding::Url,
        }
    }

    /// Writes the body, and says what its media type is.
    pub fn write(self, entries: &[EncodedField<'_>], out: &mut BytesMut) -> Cow<'static, str> {
        match self {
            Encoding::Url => {
                url(entries, out);
                "application/x-www-form-urlencoded".into()
            }
            Encoding::Multipart => {
                let boundary = boundary(entries);
                multipart(entries, &boundary, out);
                format!("multipart/form-data; boundary={boundary}").into()
            }
            Encoding::Plain => {
                plain(entries, out);
                "text/plain".into()
            }
        }
    }
}

/// `application/x-www-form-urlencoded`, which is also the query of a form that is sent with GET.
fn url(entries: &[EncodedField<'_>], out: &mut BytesMut) {
    for (place, entry) in entries.iter().enumerate() {
        if place > 0 {
            out.put_u8(b'&');
        }
        form_encoded(&with_line_ends(entry.name.as_bytes()), out);
        out.put_u8(b'=');
        form_encoded(&with_line_ends(entry.text()), out);
    }
}

fn multipart(entries: &[EncodedField<'_>], boundary: &str, out: &mut BytesMut) {
    for entry in entries {
        out.put_slice(format!("--{boundary}\r\nContent-Disposition: form-data; name=\"").as_bytes());
        quoted(&with_line_ends(entry.name.as_bytes()), out);
        out.put_u8(b'"');
        match &entry.file {
            Some(file) => {
                out.put_slice(b"; filename=\"");
                quoted(&file.name, out);
                out.put_slice(format!("\"\r\nContent-Type: {}\r\n\r\n", file.media_type).as_bytes());
                out.put_slice(&entry.value);
            }
            None => {
                out.put_slice(b"\r\n\r\n");
                out.put_slice(&with_line_ends(&entry.value));
            }
        }
        out.put_slice(b"\r\n");
    }
    out.put_slice(format!("--{boundary}--\r\n").as_bytes());
}

/// A name between quotes, with what would end it percent-encoded.
fn quoted(name: &[u8], out: &mut BytesMut) {
    for byte in name {
        match byte {
            b'\n' => out.put_slice(b"%0A"),
            b'\r' => out.put_slice(b"%0D"),
            b'"' => out.put_slice(b"%22"),
            byte => out.put_u8(*byte),
        }
    }
}

fn plain(entries: &[EncodedField<'_>], out: &mut BytesMut) {
    for entry in entries {
        out.put_slice(&with_line_ends(entry.name.as_bytes()));
        out.put_u8(b'=');
        out.put_slice(&with_line_ends(entry.text()));
        out.put_slice(b"\r\n");
    }
}

/// A line that no value has in it. The same entries have the same one, so that a run can be had again.
fn boundary(entries: &[EncodedField<'_>]) -> String {
    let free = |boundary: &String| {
        entries.iter().all(|entry| memchr::memmem::find(&entry.value, boundary.as_bytes()).is_none())
    };
    let mut boundaries = (0_u64..).map(|number| format!("----farfield-form-{number}"));
    boundaries.find(free).expect("values are shorter than all boundaries together")
}

/// With CR LF for each line break.
fn with_line_ends(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\r', b'\n', value).is_none() {
        return Cow::Borrowed(value);
    }
    let mut out = Vec::with_capacity(value.len() + 16);
    let mut rest = value.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\r' => {
                rest.next_if_eq(&b'\n');
                out.extend_from_slice(b"\r\n");
            }
            b'\n' => out.extend_from_slice(b"\r\n"),
            byte => out.push(byte),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text<'a>(name: &'a str, value: &'a str) -> EncodedField<'a> {
        EncodedField { name, value: value.as_bytes().into(), file: None }
    }

    fn file<'a>(name: &'a str, value: &'a [u8], called: &'a str) -> EncodedField<'a> {
        let header = FileHeader { name: called.as_bytes().into(), media_type: "image/png" };
        EncodedField { name, value: value.into(), file: Some(header) }
    }

    fn written(encoding: Encoding, entries: &[EncodedField<'_>]) -> (String, Vec<u8>) {
        let mut out = BytesMut::new();
        let media_type = encoding.write(entries, &mut out);
        (media_type.into_owned(), out.to_vec())
    }

    /// The cases of the standard: a break alone of either kind, both together, and both the wrong way round.
    #[test]
    fn line_breaks_are_sent_as_both() {
        for (text, sent) in [
            ("", ""),
            ("a", "a"),
            ("a\nb", "a\r\nb"),
            ("a\rb", "a\r\nb"),
            ("\r\n", "\r\n"),
            ("\n\r", "\r\n\r\n"),
        ] {
            assert_eq!(&*with_line_ends(text.as_bytes()), sent.as_bytes(), "{text:?}");
        }
        let (media_type, body) = written(Encoding::Url, &[text("a\nb", "1\r2 & é*"), text("c", "")]);
        assert_eq!(media_type, "application/x-www-form-urlencoded");
        assert_eq!(body, b"a%0D%0Ab=1%0D%0A2+%26+%C3%A9*&c=");
    }

    #[test]
    fn parts_stand_between_boundaries() {
        let entries = [text("a\"\n", "x\ny"), file("f", b"\n\xff", "b\"c.png"), file("none", b"", "")];
        let (media_type, body) = written(Encoding::Multipart, &entries);
        assert_eq!(media_type, "multipart/form-data; boundary=----farfield-form-0");
        let expected =
            b"------farfield-form-0\r\nContent-Disposition: form-data; name=\"a%22%0D%0A\"\r\n\r\nx\r\ny\r\n\
            ------farfield-form-0\r\nContent-Disposition: form-data; name=\"f\"; filename=\"b%22c.png\"\r\n\
            Content-Type: image/png\r\n\r\n\n\xff\r\n\
            ------farfield-form-0\r\nContent-Disposition: form-data; name=\"none\"; filename=\"\"\r\n\
            Content-Type: image/png\r\n\r\n\r\n\
            ------farfield-form-0--\r\n";
        assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(expected));
    }

    #[test]
    fn where_only_text_can_be_sent_a_file_is_its_name() {
        let entries = [text("a", "x\ny"), file("f", b"bytes", "b.png")];
        assert_eq!(written(Encoding::Url, &entries).1, b"a=x%0D%0Ay&f=b.png");
        let (media_type, body) = written(Encoding::Plain, &entries);
        assert_eq!((media_type.as_str(), &body[..]), ("text/plain", &b"a=x\r\ny\r\nf=b.png\r\n"[..]));
    }

    #[test]
    fn an_unknown_encoding_is_the_usual_one() {
        let of = |enctype| Encoding::of(Some(enctype));
        let asked = ["Multipart/Form-Data", "text/plain", "text/json", ""].map(of);
        assert_eq!(asked, [Encoding::Multipart, Encoding::Plain, Encoding::Url, Encoding::Url]);
        assert_eq!(Encoding::of(None), Encoding::Url);
    }

    proptest! {
        /// Split at its boundary, a body has the values again, whatever is in them.
        #[test]
        fn no_value_has_the_boundary_in_it(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..5),
            likely in 0_u8..3,
        ) {
            let likely = format!("\r\n------farfield-form-{likely}\r\n");
            let values: Vec<Vec<u8>> = values.into_iter().map(|value| [likely.as_bytes(), &value].concat()).collect();
            let entries: Vec<EncodedField<'_>> = values.iter().map(|value| file("f", value, "x")).collect();
            let (media_type, body) = written(Encoding::Multipart, &entries);
            let boundary = media_type.split_once("boundary=").expect("a boundary").1;
            let line = format!("\r\n--{boundary}");
            let whole = [b"\r\n", &body[..]].concat();
            let starts: Vec<usize> = memchr::memmem::find_iter(&whole, line.as_bytes()).collect();
            prop_assert_eq!(starts.len(), values.len() + 1);
            for (part, value) in starts.windows(2).zip(&values) {
                let part = &whole[part[0]..part[1]];
                let start = memchr::memmem::find(part, b"\r\n\r\n").expect("an empty line") + 4;
                prop_assert_eq!(&part[start..], &value[..]);
            }
        }
    }
}
