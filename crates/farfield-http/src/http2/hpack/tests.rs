//! The vectors of RFC 7541, appendix C, and blocks that must not be decoded.

use super::encoder::{self, Literal};
use super::{Decoder, HpackError, Scratch};
use crate::compression::integer;
use proptest::prelude::*;

/// Bytes as the RFC prints them.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("two hexadecimal digits")
    };
    digits.chunks(2).map(byte).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<String, HpackError> {
    let mut text = String::new();
    decoder.decode(block, &mut Scratch::default(), &mut |name, value| {
        text += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    })?;
    Ok(text)
}

/// Decodes the blocks one after another; of each, the fields and the table's size after it.
#[track_caller]
fn check(decoder: &mut Decoder, blocks: &[(&str, &str, u32)]) {
    for (block, fields, size_bytes) in blocks {
        assert_eq!(decode(decoder, &hex(block)).as_deref(), Ok(*fields));
        assert_eq!(decoder.table.size_bytes(), *size_bytes);
    }
}

#[test]
fn c1_integers() {
    for (value, prefix_bits, bytes) in [(10, 5, "0a"), (1337, 5, "1f9a0a"), (42, 7, "2a"), (31, 5, "1f00")] {
        let mut out = Vec::new();
        integer::encode(value, 0, prefix_bits, &mut out);
        assert_eq!(out, hex(bytes));
        assert_eq!(integer::decode(&mut out.as_slice(), prefix_bits), Ok(value));
    }
}

#[test]
fn c2_single_fields() {
    let fresh = || Decoder::new(4096);
    let custom = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    check(&mut fresh(), &[(custom, "custom-key: custom-header\n", 55)]);
    check(&mut fresh(), &[("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n", 0)]);
    check(&mut fresh(), &[("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret\n", 0)]);
    check(&mut fresh(), &[("82", ":method: GET\n", 0)]);
}

const FIRST: &str = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
const SECOND: &str =
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache\n";
const THIRD: &str = ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value\n";

#[test]
fn c3_requests() {
    let blocks = [
        ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", FIRST, 57),
        ("8286 84be 5808 6e6f 2d63 6163 6865", SECOND, 110),
        ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", THIRD, 164),
    ];
    check(&mut Decoder::new(4096), &blocks);
}

#[test]
fn c4_requests_with_huffman() {
    let blocks = [
        ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", FIRST, 57),
        ("8286 84be 5886 a8eb 1064 9cbf", SECOND, 110),
        ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", THIRD, 164),
    ];
    check(&mut Decoder::new(4096), &blocks);
}

const REPLY_1: &str = ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
                       location: https://www.example.com\n";
const REPLY_2: &str = ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
                       location: https://www.example.com\n";
const REPLY_3: &str = ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n\
                       location: https://www.example.com\ncontent-encoding: gzip\nset-cookie: \
                       foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n";

/// A decoder with a table of 256 bytes, as appendix C.5 has it.
fn small() -> Decoder {
    let mut decoder = Decoder::new(256);
    assert_eq!(decode(&mut decoder, &hex("3f e1 01")).as_deref(), Ok(""));
    decoder
}

#[test]
fn c5_replies_with_eviction() {
    let blocks = [
        (
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 \
             3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            REPLY_1,
            222,
        ),
        ("4803 3330 37c1 c0bf", REPLY_2, 222),
        (
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a \
             6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d \
             6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
            REPLY_3,
            215,
        ),
    ];
    check(&mut small(), &blocks);
}

#[test]
fn c6_replies_with_huffman_and_eviction() {
    let blocks = [
        (
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d \
             29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            REPLY_1,
            222,
        ),
        ("4883 640e ffc1 c0bf", REPLY_2, 222),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d \
             d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 \
             3d50 07",
            REPLY_3,
            215,
        ),
    ];
    check(&mut small(), &blocks);
}

#[test]
fn blocks_that_cannot_be_decoded_say_why() {
    let error = |block: &str| decode(&mut Decoder::new(4096), &hex(block)).expect_err(block);
    for block in ["40", "400a", "400a 61", "0001 6102", "04", "ff", "7f80", "3f"] {
        assert_eq!(error(block), HpackError::Truncated, "{block}");
    }
    for block in ["ff ffff ffff 7f", "ff 8080 8080 8000", "007f ffff ffff 0f"] {
        assert_eq!(error(block), HpackError::IntegerTooLarge, "{block}");
    }
    for block in ["80", "be", "ff00", "7f00 0161", "0f2f 0161"] {
        assert_eq!(error(block), HpackError::UnknownIndex, "{block}");
    }
    for block in ["0481 ff", "0481 06", "0484 ffff ffff", "0082 07ff 00"] {
        assert_eq!(error(block), HpackError::BadHuffman, "{block}");
    }
    assert_eq!(error("3fe2 1f"), HpackError::TableTooLarge);
    assert_eq!(error("82 20"), HpackError::SizeUpdateLate);
}

#[test]
fn a_smaller_table_than_the_default_must_be_acknowledged() {
    let missing = decode(&mut Decoder::new(0), &hex("82"));
    assert_eq!(missing, Err(HpackError::SizeUpdateMissing));
    let mut decoder = Decoder::new(0);
    assert_eq!(decode(&mut decoder, &hex("20 82")).as_deref(), Ok(":method: GET\n"));
    assert_eq!(decode(&mut decoder, &hex("4001 6101 62")).as_deref(), Ok("a: b\n"));
    assert_eq!(decoder.table.size_bytes(), 0, "an entry larger than the table empties it");
    assert_eq!(decode(&mut Decoder::new(100), &hex("3f46")), Err(HpackError::TableTooLarge));
}

#[test]
fn a_name_may_be_that_of_an_entry_which_its_field_evicts() {
    // A table of 64 bytes has room for one entry.
    let mut decoder = Decoder::new(64);
    assert_eq!(decode(&mut decoder, &hex("3f21 4003 6162 6301 31")).as_deref(), Ok("abc: 1\n"));
    assert_eq!(decode(&mut decoder, &hex("7e01 32 be")).as_deref(), Ok("abc: 2\nabc: 2\n"));
    assert_eq!(decoder.table.size_bytes(), 36);
}

#[test]
fn the_table_takes_bounded_memory() {
    let mut decoder = Decoder::new(4096);
    for number in 0..20_000u32 {
        let mut block = Vec::new();
        encoder::field(Literal::Inserted, b"x-number", number.to_string().as_bytes(), &mut block);
        block.push(0xbe);
        let twice = format!("x-number: {number}\nx-number: {number}\n");
        assert_eq!(decode(&mut decoder, &block), Ok(twice));
        assert!(decoder.table.size_bytes() <= 4096 && decoder.table.buffer_bytes() <= 2 * 4096);
    }
}

proptest! {
    #[test]
    fn fields_come_back(
        fields in prop::collection::vec(("[a-z-]{1,12}", "[ -~]{0,30}", 0..3usize), 0..30),
    ) {
        let (mut block, mut expected) = (Vec::new(), String::new());
        for (name, value, literal) in &fields {
            let literal = [Literal::Inserted, Literal::NotInserted, Literal::Never][*literal];
            encoder::field(literal, name.as_bytes(), value.as_bytes(), &mut block);
            expected += &format!("{name}: {value}\n");
        }
        prop_assert_eq!(decode(&mut Decoder::new(4096), &block), Ok(expected));
    }
}
