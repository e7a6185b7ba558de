//! The vectors of RFC 9204, appendix B, that need no dynamic table, sections that must not be decoded, and
//! the streams of instructions.

use super::static_table::ENTRIES;
use super::{DecoderStream, EncoderStream, InstructionError, Literal, QpackError, Scratch, begin};
use proptest::prelude::*;

/// Bytes as the RFC prints them.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("two hexadecimal digits")
    };
    digits.chunks(2).map(byte).collect()
}

fn decode(section: &[u8]) -> Result<String, QpackError> {
    let mut text = String::new();
    super::decode(section, &mut Scratch::default(), &mut |name, value| {
        text += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    })?;
    Ok(text)
}

fn encode(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    begin(&mut section);
    for (name, value) in fields {
        super::encode(Literal::Insertable, name.as_bytes(), value.as_bytes(), &mut section);
    }
    section
}

#[test]
fn b1_literal_field_with_the_name_of_a_static_entry() {
    let section = hex("0000 510b 2f69 6e64 6578 2e68 746d 6c");
    assert_eq!(decode(&section).as_deref(), Ok(":path: /index.html\n"));
}

#[test]
fn b2_and_b4_need_the_dynamic_table() {
    for section in ["0381 1011", "0500 80c1 81"] {
        assert_eq!(decode(&hex(section)), Err(QpackError::DynamicReference), "{section}");
    }
}

#[test]
fn encoded_fields_have_the_rfcs_forms() {
    // 4.5.2: indexed; 17 is GET, 25 is status 200, 98 the last of the table, with a byte behind the prefix.
    assert_eq!(encode(&[(":method", "GET"), (":status", "200")]), hex("0000 d1 d9"));
    assert_eq!(encode(&[("x-frame-options", "sameorigin")]), hex("0000 ff23"));
    // 4.5.4: the name by its index, `/~` as it is, since the Huffman code makes it no shorter.
    assert_eq!(encode(&[(":path", "/~")]), hex("0000 51 02 2f7e"));
    // 15 does not fit into the prefix of 4 bits.
    assert_eq!(encode(&[(":method", "~")]), hex("0000 5f00 017e"));
    // 4.5.6: a name of 7 bytes does not fit into the prefix of 3 bits.
    assert_eq!(encode(&[("~~", "~")]), hex("0000 22 7e7e 01 7e"));
    assert_eq!(encode(&[("~~~~~~~", "")]), hex("0000 2700 7e7e 7e7e 7e7e 7e 00"));
}

#[test]
fn credentials_are_literals_that_are_never_inserted() {
    let mut section = Vec::new();
    super::encode(Literal::Never, b"authorization", b"~", &mut section);
    super::encode(Literal::Never, b"~~", b"~", &mut section);
    // A value that the table has is no reason to name the entry.
    super::encode(Literal::Never, b"cookie", b"", &mut section);
    assert_eq!(section, hex("7f45 017e  32 7e7e 017e  75 00"));
}

#[test]
fn each_entry_of_the_table_comes_back_in_at_most_two_bytes() {
    for (name, value) in ENTRIES {
        let mut section = vec![0, 0];
        super::encode(Literal::Insertable, name, value, &mut section);
        assert!(section.len() <= 4);
        let text = |bytes| std::str::from_utf8(bytes).expect("ASCII");
        assert_eq!(decode(&section), Ok(format!("{}: {}\n", text(name), text(value))));
    }
}

#[test]
fn any_base_is_valid_where_nothing_refers_to_it() {
    for section in ["0000 d1", "0005 d1", "007f 8001 d1"] {
        assert_eq!(decode(&hex(section)).as_deref(), Ok(":method: GET\n"), "{section}");
    }
}

#[test]
fn sections_that_cannot_be_decoded_say_why() {
    let error = |section: &str| decode(&hex(section)).expect_err(section);
    for section in ["", "00", "ff", "007f", "0000 ff", "0000 51", "0000 5102 2f", "0000 2261", "0000 2161"] {
        assert_eq!(error(section), QpackError::Truncated, "{section}");
    }
    for section in ["ff ffff ffff 7f", "0000 ff ffff ffff 7f", "0000 51 7f ffff ffff 0f"] {
        assert_eq!(error(section), QpackError::IntegerTooLarge, "{section}");
    }
    for section in ["0000 5181 ff", "0000 5184 ffff ffff", "0000 29ff 00", "0000 5181 06"] {
        assert_eq!(error(section), QpackError::BadHuffman, "{section}");
    }
    // 99 is the first index that the table lacks, 15 + 84 and 63 + 36 behind their prefixes.
    for section in ["0000 ff24", "0000 5f54 00"] {
        assert_eq!(error(section), QpackError::UnknownIndex, "{section}");
    }
    // Required Insert Count; indexed, named, post-Base indexed, and post-Base named.
    for section in ["0100", "ff00 00", "0000 80", "0000 4000", "0000 10", "0000 0000"] {
        assert_eq!(error(section), QpackError::DynamicReference, "{section}");
    }
    for section in ["0080", "0085 d1"] {
        assert_eq!(error(section), QpackError::NegativeBase, "{section}");
    }
}

#[test]
fn the_encoder_stream_may_only_leave_the_table_empty() {
    assert_eq!(EncoderStream.read(&hex("20 20")), Ok(()));
    // A capacity of 1 and a long one, both kinds of insertion, a duplicate.
    for instruction in ["21", "3f bd01", "c0 00", "41 61 00", "00"] {
        let read = EncoderStream.read(&hex(instruction));
        assert_eq!(read, Err(InstructionError::Insertion), "{instruction}");
    }
    assert_eq!(InstructionError::Insertion.code(), 0x201);
}

#[test]
fn the_decoder_stream_may_only_cancel_streams() {
    let read = |bytes: &str| {
        let whole = DecoderStream::default().read(&hex(bytes));
        let mut stream = DecoderStream::default();
        let cut = hex(bytes).iter().try_for_each(|byte| stream.read(&[*byte]));
        assert_eq!(whole, cut, "{bytes}");
        whole
    };
    // Streams 0, 62, 63, 64 + 127, and the greatest there is, 2^62 - 1.
    for cancelled in ["40", "7e", "7f00", "7f80 01 44", "7fc0 ffff ffff ffff ff3f"] {
        assert_eq!(read(cancelled), Ok(()), "{cancelled}");
    }
    for acknowledgement in ["80", "ff", "00", "01", "40 84"] {
        assert_eq!(read(acknowledgement), Err(InstructionError::Acknowledgement), "{acknowledgement}");
    }
    for stream in ["7fc1 ffff ffff ffff ff3f", "7f80 8080 8080 8080 8080 00"] {
        assert_eq!(read(stream), Err(InstructionError::StreamNumber), "{stream}");
    }
    assert_eq!(InstructionError::Acknowledgement.code(), 0x202);
}

proptest! {
    #[test]
    fn fields_come_back(
        fields in prop::collection::vec(("[a-z-]{1,12}", "[ -~]{0,30}", any::<bool>()), 0..30),
    ) {
        let (mut section, mut expected) = (Vec::new(), String::new());
        begin(&mut section);
        for (name, value, never) in &fields {
            let literal = if *never { Literal::Never } else { Literal::Insertable };
            super::encode(literal, name.as_bytes(), value.as_bytes(), &mut section);
            expected += &format!("{name}: {value}\n");
        }
        prop_assert_eq!(decode(&section), Ok(expected));
        // A section that is cut is an error, or the fields before the cut.
        for length in 0..section.len() {
            if let Ok(text) = decode(&section[..length]) {
                prop_assert!(length >= 2 && text.len() < expected_length(&fields));
            }
        }
    }
}

fn expected_length(fields: &[(String, String, bool)]) -> usize {
    fields.iter().map(|(name, value, _)| name.len() + value.len() + 3).sum()
}
