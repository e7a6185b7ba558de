//! Content of messages as archives have it: without its content coding (RFC 9110 section 8.4.1), as text
//! where it is text, else in base64 (HAR 1.2, `content`).
//!
//! A few bytes may stand for gigabytes: no more comes out of a coding than a body may have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::{self, Read};

/// The largest window of zstd, as a power of two: 8 MiB (RFC 9659 section 3).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Room for what one step of brotli gives.
const STEP_BYTES: usize = 16 << 10;

/// Why content has no plain form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodingFault {
    /// More comes out than a body may have.
    TooLarge,
    /// The content is not in the coding that the message names.
    Wrong,
    /// A coding that is not known, or several.
    Unknown,
}

/// Content without its coding, of at most `max` bytes.
pub(crate) fn decoded(headers: &HeaderMap, coded: Vec<u8>, max: usize) -> Result<Vec<u8>, CodingFault> {
    let listed = headers.get_all(CONTENT_ENCODING).iter();
    let mut codings = listed
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(|name| name.trim_ascii().to_ascii_lowercase())
        .filter(|name| !name.is_empty() && name != b"identity");
    let coding = match (codings.next(), codings.next()) {
        (None, _) => return Ok(coded),
        (Some(one), None) => one,
        _ => return Err(CodingFault::Unknown),
    };
    if coded.is_empty() {
        return Ok(coded);
    }
    let coded = coded.as_slice();
    match coding.as_slice() {
        b"gzip" | b"x-gzip" => read(flate2::read::MultiGzDecoder::new(coded), max),
        // The format of zlib (RFC 1950); some send the bare one (RFC 1951).
        b"deflate" => match read(flate2::read::ZlibDecoder::new(coded), max) {
            Err(CodingFault::Wrong) => read(flate2::read::DeflateDecoder::new(coded), max),
            read => read,
        },
        b"br" => read(brotli_decompressor::Decompressor::new(coded, STEP_BYTES), max),
        b"zstd" => {
            let wrong = |_: io::Error| CodingFault::Wrong;
            let mut decoder = zstd::stream::read::Decoder::new(coded).map_err(wrong)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(wrong)?;
            read(decoder, max)
        }
        _ => Err(CodingFault::Unknown),
    }
}

fn read(decoder: impl Read, max: usize) -> Result<Vec<u8>, CodingFault> {
    let mut plain = Vec::new();
    decoder.take(max as u64 + 1).read_to_end(&mut plain).map_err(|_| CodingFault::Wrong)?;
    if plain.len() > max { Err(CodingFault::TooLarge) } else { Ok(plain) }
}

/// Bytes as a text and, for those that are none, its encoding. Text is UTF-8 without control characters but
/// those of layout: others would be six times as long in JSON.
pub(crate) fn written(bytes: Vec<u8>) -> (String, Option<&'static str>) {
    let is_plain = |text: &str| {
        !text
            .chars()
            .any(|letter| letter.is_ascii_control() && !matches!(letter, '\t' | '\n' | '\r' | '\x0c'))
    };
    match String::from_utf8(bytes) {
        Ok(text) if is_plain(&text) => (text, None),
        Ok(text) => (STANDARD.encode(text), Some("base64")),
        Err(error) => (STANDARD.encode(error.as_bytes()), Some("base64")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;
    use std::io::Write;

    const TEXT: &[u8] = b"<input name='csrf' value='c0ffee'> and so on, and so on";

    fn coded(coding: &'static str) -> HeaderMap {
        [(CONTENT_ENCODING, HeaderValue::from_static(coding))].into_iter().collect()
    }

    fn packed(coding: &str, content: &[u8]) -> Vec<u8> {
        let fast = Compression::fast();
        macro_rules! by {
            ($encoder:expr) => {{
                let mut encoder = $encoder;
                encoder.write_all(content).expect("memory takes it");
                encoder.finish().expect("memory takes it")
            }};
        }
        match coding {
            "gzip" => by!(GzEncoder::new(Vec::new(), fast)),
            "deflate" => by!(ZlibEncoder::new(Vec::new(), fast)),
            "bare" => by!(DeflateEncoder::new(Vec::new(), fast)),
            _ => zstd::encode_all(content, 1).expect("memory takes it"),
        }
    }

    #[test]
    fn codings_are_taken_off() {
        for (coding, packer) in [
            ("gzip", "gzip"),
            ("X-GZIP", "gzip"),
            ("deflate", "deflate"),
            ("deflate", "bare"),
            ("zstd", "zstd"),
        ] {
            assert_eq!(decoded(&coded(coding), packed(packer, TEXT), 100), Ok(TEXT.to_vec()), "{packer}");
        }
        assert_eq!(decoded(&coded("identity"), TEXT.to_vec(), 100), Ok(TEXT.to_vec()));
        for unknown in ["compress", "gzip, br"] {
            assert_eq!(decoded(&coded(unknown), TEXT.to_vec(), 100), Err(CodingFault::Unknown));
        }
        for coding in ["gzip", "deflate", "br", "zstd"] {
            assert_eq!(decoded(&coded(coding), TEXT.to_vec(), 100), Err(CodingFault::Wrong), "{coding}");
            assert_eq!(decoded(&coded(coding), Vec::new(), 100), Ok(Vec::new()), "no content, {coding}");
        }
    }

    /// Brotli (RFC 7932) has no encoder here: a stream that is stored, and one of a copy without end.
    #[test]
    fn brotli_is_taken_off() {
        let stored = [&[0x0b, 0x02, 0x80][..], b"hello", &[0x03]].concat();
        assert_eq!(decoded(&coded("br"), stored, 100), Ok(b"hello".to_vec()));
    }

    #[test]
    fn a_bomb_gives_no_more_than_a_body_may_have() {
        let bomb = vec![0; 64 << 20];
        for coding in ["gzip", "deflate", "zstd"] {
            let packed = packed(coding, &bomb);
            assert!(packed.len() < 1 << 20, "{coding}: {} bytes", packed.len());
            assert_eq!(decoded(&coded(coding), packed, 4 << 20), Err(CodingFault::TooLarge), "{coding}");
        }
    }

    #[test]
    fn content_is_text_or_base64() {
        assert_eq!(written("grün\r\n\t".into()), ("grün\r\n\t".to_owned(), None));
        assert_eq!(written(vec![0xff, 0xd8]), ("/9g=".to_owned(), Some("base64")));
        assert_eq!(written(b"\0".to_vec()), ("AA==".to_owned(), Some("base64")));
    }
}
