//! Compressed logs as they are: told by their first bytes, decompressed on the way in.

use std::io::{self, BufReader, Chain, Cursor, Read};

/// How a log is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip (RFC 1952), also of several members.
    Gzip,
    /// Zstandard (RFC 8878), also of several frames.
    Zstd,
    /// bzip2, also of several streams.
    Bzip2,
}

impl Compression {
    /// By the first bytes of the log; four of them suffice.
    pub fn detect(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }
}

/// `reader` as text. Its first bytes are read at once, to see how it is compressed.
///
/// # Errors
/// Whatever `reader` says, and what the decompressor says of a broken header; what is broken later comes out
/// of the reader that is returned.
pub fn decompressed<'a>(mut reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::with_capacity(4);
    reader.by_ref().take(4).read_to_end(&mut start)?;
    let compression = Compression::detect(&start);
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(start).chain(reader);
    Ok(match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(whole))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(whole)?),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(BufReader::new(whole))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"one line\nand another\n";

    fn reads(bytes: &[u8]) {
        let mut text = Vec::new();
        decompressed(bytes).expect("a good header").read_to_end(&mut text).expect("good bytes");
        assert_eq!(text, TEXT);
    }

    #[test]
    fn each_compression_reads_as_the_text() {
        reads(TEXT);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(TEXT).expect("into memory");
        reads(&gzip.finish().expect("into memory"));
        reads(&zstd::encode_all(TEXT, 1).expect("into memory"));
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(TEXT).expect("into memory");
        reads(&bzip2.finish().expect("into memory"));
    }

    #[test]
    fn an_empty_log_is_empty() {
        let mut text = Vec::new();
        decompressed(&b""[..]).expect("nothing to be wrong").read_to_end(&mut text).expect("no bytes");
        assert!(text.is_empty());
    }
}
