//! Compressed logs: recognized by their first bytes, decompressed on the way in.

use std::io::{self, BufReader, Chain, Cursor, Read};

/// Compression of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Plain text.
    None,
    /// gzip (RFC 1952), also of several members.
    Gzip,
    /// Zstandard (RFC 8878), also of several frames.
    Zstd,
    /// bzip2, also of several streams.
    Bzip2,
    /// xz, also of several streams.
    Xz,
}

impl Compression {
    /// The compression by the first bytes of the log; six of them suffice.
    pub fn detect(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            _ => Compression::None,
        }
    }
}

/// The longest mark of those above.
const START: usize = 6;

/// A log that wants a larger dictionary than the strongest preset has (64 MiB) is damaged, or made to exhaust
/// memory.
const XZ_KIB_MAX: u32 = 100 << 10;

/// `reader` as text. Its first bytes are read at once, to detect the compression.
///
/// # Errors
/// Those of `reader`, and of the decompressor on a broken header; later damage is an error of the returned
/// reader.
pub fn decompressed<'a>(mut reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::with_capacity(START);
    reader.by_ref().take(START as u64).read_to_end(&mut start)?;
    let compression = Compression::detect(&start);
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(start).chain(reader);
    Ok(match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(whole))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(whole)?),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(BufReader::new(whole))),
        Compression::Xz => {
            Box::new(lzma_rust2::XzReader::new_mem_limit(BufReader::new(whole), true, XZ_KIB_MAX))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"one line\nand another\n";

    /// The text as `xz` writes it, and in two streams one behind the other.
    const XZ: &[u8] =
        b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\
          \x01\x00\x14\x6f\x6e\x65\x20\x6c\x69\x6e\x65\x0a\x61\x6e\x64\x20\x61\x6e\x6f\x74\x68\x65\x72\x0a\
          \x00\x00\x00\x00\xa9\x4c\x08\x06\x3e\xaf\xb3\xb7\x00\x01\x2d\x15\x2f\x0b\x71\x6d\x1f\xb6\xf3\x7d\
          \x01\x00\x00\x00\x00\x04\x59\x5a";
    const XZ_HALF: &[u8] =
        b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\
          \x01\x00\x08\x6f\x6e\x65\x20\x6c\x69\x6e\x65\x0a\x00\x00\x00\x00\xd4\x96\x71\x71\x76\x96\xd0\x3d\
          \x00\x01\x21\x09\x6c\x18\xc5\xd5\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";
    const XZ_OTHER_HALF: &[u8] =
        b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\
          \x01\x00\x0b\x61\x6e\x64\x20\x61\x6e\x6f\x74\x68\x65\x72\x0a\x00\x6a\xba\x64\xc6\x5b\x91\xc7\x5a\
          \x00\x01\x24\x0c\xa6\x18\xd8\xd8\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";

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
        reads(XZ);
        reads(&[XZ_HALF, XZ_OTHER_HALF].concat());
    }

    #[test]
    fn an_empty_log_is_empty() {
        let mut text = Vec::new();
        decompressed(&b""[..]).expect("nothing to be wrong").read_to_end(&mut text).expect("no bytes");
        assert!(text.is_empty());
    }
}
