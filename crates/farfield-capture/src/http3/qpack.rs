//! Field sections (RFC 9204, section 4.5) without the dynamic table: what they say of a request or a reply.

use crate::http2::{Head, huffman, integer};

/// Entries of the static table (appendix A).
const STATIC_COUNT: usize = 99;

/// An entry of the static table, as far as its name is looked for; others are empty.
fn of_table(index: usize) -> Option<(&'static [u8], &'static [u8])> {
    let entry: (&[u8], &[u8]) = match index {
        1 => (b":path", b"/"),
        15 => (b":method", b"CONNECT"),
        16 => (b":method", b"DELETE"),
        17 => (b":method", b"GET"),
        18 => (b":method", b"HEAD"),
        19 => (b":method", b"OPTIONS"),
        20 => (b":method", b"POST"),
        21 => (b":method", b"PUT"),
        24 => (b":status", b"103"),
        25 => (b":status", b"200"),
        26 => (b":status", b"304"),
        27 => (b":status", b"404"),
        28 => (b":status", b"503"),
        63 => (b":status", b"100"),
        64 => (b":status", b"204"),
        65 => (b":status", b"206"),
        66 => (b":status", b"302"),
        67 => (b":status", b"400"),
        68 => (b":status", b"403"),
        69 => (b":status", b"421"),
        70 => (b":status", b"425"),
        71 => (b":status", b"500"),
        0..STATIC_COUNT => (b"", b""),
        _ => return None,
    };
    Some(entry)
}

/// Reads a section; `None` if it is damaged, or needs the dynamic table.
pub(super) fn read(mut section: &[u8]) -> Option<Head> {
    // The required insert count, and the base.
    if integer(&mut section, 8)? != 0 {
        return None;
    }
    integer(&mut section, 7)?;
    let mut head = Head::default();
    while let Some(&first) = section.first() {
        match first {
            // An entry of the static table.
            0xc0.. => {
                let (name, value) = of_table(integer(&mut section, 6)?)?;
                head.note(name, value);
            }
            // A name of the static table, and a value.
            0x40..0x80 if first & 0x10 != 0 => {
                let (name, _) = of_table(integer(&mut section, 4)?)?;
                let value = string(&mut section, 7)?;
                head.note(name, &value);
            }
            // Both are written out.
            0x20..0x40 => {
                let name = string(&mut section, 3)?;
                let value = string(&mut section, 7)?;
                head.note(&name, &value);
            }
            _ => return None,
        }
    }
    Some(head)
}

/// A string whose length has a prefix of `bits` bits, before which it is said whether it is coded.
fn string(bytes: &mut &[u8], bits: u32) -> Option<Vec<u8>> {
    let is_coded = bytes.first()? & 1 << bits != 0;
    let len = integer(bytes, bits)?;
    let (text, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    if is_coded { huffman::decode(text) } else { Some(text.to_vec()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9204, appendix B.1, and a request whose strings are coded.
    #[test]
    fn sections_without_the_dynamic_table() {
        let head = read(b"\x00\x00\x51\x0b/index.html").expect("a section");
        assert_eq!((&head.method[..], &head.path[..]), (&b""[..], &b"/index.html"[..]));
        let coded =
            [&[0, 0, 0xd1, 0x51, 0x80 | 2, 0x64, 0x02, 0x27, 0, b':', b's'][..], b"tatus\x03404"].concat();
        let head = read(&coded).expect("a section");
        assert_eq!((&head.method[..], &head.path[..], head.status), (&b"GET"[..], &b"302"[..], 404));
        assert_eq!(read(&[0, 0, 0xff, 0]).map(|head| head.status), Some(100));
    }

    #[test]
    fn what_is_damaged_or_needs_the_dynamic_table_is_not_read() {
        // An insert count; an entry of that table; a name of it; entries behind the base; no such entry; a
        // cut.
        for section in [
            &[2, 0, 0x80][..],
            &[0, 0, 0x80],
            &[0, 0, 0x41, 0],
            &[0, 0, 0x10],
            &[0, 0, 0xff, 40],
            &[0, 0, 0x51, 5, b'a'],
            &[0],
        ] {
            assert_eq!(read(section), None, "{section:x?}");
        }
    }
}
