//! Field sections (RFC 9204, section 4.5) without the dynamic table: what they say of a request or a reply.
//!
//! By hand, and held against the crate qpack in the tests, which is h3's code. It read a million likely and
//! damaged sections without a panic, and what is read here it reads alike; but it takes strings with the end
//! of the Huffman code or a wrong padding in them (RFC 7541, section 5.2), and sections that require the
//! dynamic table (RFC 9204, section 4.5.1.1), and had one release by November 2026.

use crate::http2::{Head, huffman, integer};

/// Entries of the static table (appendix A).
const STATIC_COUNT: usize = 99;

/// An entry of the static table, as far as its name is looked for; others are empty.
fn of_table(index: usize) -> Option<(&'static [u8], &'static [u8])> {
    let entry: (&[u8], &[u8]) = match index {
        0 => (b":authority", b""),
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
        42 => (b"content-encoding", b"br"),
        43 => (b"content-encoding", b"gzip"),
        // None of their values is a stream of events.
        44..=54 => (b"content-type", b"text/plain"),
        63 => (b":status", b"100"),
        64 => (b":status", b"204"),
        65 => (b":status", b"206"),
        66 => (b":status", b"302"),
        67 => (b":status", b"400"),
        68 => (b":status", b"403"),
        69 => (b":status", b"421"),
        70 => (b":status", b"425"),
        71 => (b":status", b"500"),
        _ if index < STATIC_COUNT => (b"", b""),
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
    use farfield_testkit::corpus;
    use proptest::prelude::*;

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
    /// The crate qpack's reading of a section.
    fn by_another_hand(section: &[u8]) -> Option<Head> {
        let decoded = qpack::decode_stateless(&mut &*section, 1 << 30).ok()?;
        let mut head = Head::default();
        for field in decoded.fields {
            let (name, value) = field.into_inner();
            head.note(&name, &value);
        }
        Some(head)
    }

    /// The reading of a section, if there is one, is that of the crate qpack, which is more lenient.
    fn is_read_alike(section: &[u8]) {
        if let Some(head) = read(section) {
            assert_eq!(Some(head), by_another_hand(section), "{section:02x?}");
        }
    }

    #[test]
    fn entries_of_the_static_table_are_those_of_another_hand() {
        for index in 0..120u8 {
            let indexed = if index < 63 { vec![0, 0, 0xc0 | index] } else { vec![0, 0, 0xff, index - 63] };
            assert_eq!(read(&indexed), by_another_hand(&indexed), "entry {index}");
            let name = if index < 15 { vec![0, 0, 0x50 | index] } else { vec![0, 0, 0x5f, index - 15] };
            let named = [&name[..], b"\x03abc"].concat();
            assert_eq!(read(&named), by_another_hand(&named), "name of entry {index}");
        }
    }

    #[test]
    fn sections_of_the_corpus_are_read_as_by_another_hand() {
        const TARGETS: [corpus::CorpusTarget; 1] = [("http3_qpack", is_read_alike, 15)];
        corpus::check(&TARGETS);
        corpus::check_damaged(&TARGETS, 1_000);
    }

    proptest! {
        #[test]
        fn any_sections_are_read_as_by_another_hand(
            fields in prop::collection::vec(
                prop_oneof![
                    (0xc0..=0xffu8, 0..60u8).prop_map(|(first, second)| vec![first, second]),
                    (0x50..=0x5fu8, prop::collection::vec(any::<u8>(), 0..6), any::<bool>()).prop_map(
                        |(first, text, is_coded)| {
                            let length = text.len() as u8 | if is_coded { 0x80 } else { 0 };
                            [&[first, length][..], &text].concat()
                        },
                    ),
                    prop::collection::vec(any::<u8>(), 0..4),
                ],
                0..6,
            ),
            prefix in prop_oneof![9 => Just([0, 0]), 1 => any::<[u8; 2]>()],
        ) {
            is_read_alike(&[&prefix[..], &fields.concat()].concat());
        }

        /// Strings of the sections are Huffman codes, as those of HPACK are.
        #[test]
        fn sections_of_another_hand_are_read(
            (method, path, status) in ("[A-Z]{0,9}", "\\PC{0,300}", 100u16..1000),
            others in prop::collection::vec(("[a-z]{1,9}", prop::collection::vec(any::<char>(), 0..40)), 0..5),
        ) {
            let mut fields = vec![
                qpack::HeaderField::new(":method", method.clone()),
                qpack::HeaderField::new(":path", path.clone()),
                qpack::HeaderField::new(":status", status.to_string()),
                qpack::HeaderField::new(":authority", path.clone()),
            ];
            fields.extend(others.into_iter().map(|(name, value)| {
                qpack::HeaderField::new(name, value.into_iter().collect::<String>())
            }));
            let mut section = Vec::new();
            qpack::encode_stateless(&mut section, fields).expect("a section");
            let authority = crate::authority_hash(path.as_bytes());
            let known = Head { method: method.into(), path: path.into(), status, authority, media: crate::events::Media::default() };
            prop_assert_eq!(read(&section), Some(known));
        }
    }
}
