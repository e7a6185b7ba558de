//! Content codings taken off (RFC 9110 section 8.4.1; zstd: RFC 8878 and 9659): gzip, deflate, br and zstd,
//! as they come.
//!
//! Only what a session looks at is decoded, piece by piece, and never more than was asked for: a few bytes
//! can stand for gigabytes, and what a user does with a reply must not take longer than the reply. What lies
//! beyond is not looked at, as with a body that is longer than `body-limit`. Several codings on top of each
//! other are not taken off: no server is asked for them.

use farfield_http::http1::Fields;
use flate2::{Decompress, FlushDecompress, Status};
use std::fmt;
use std::io::{self, Write};
use zstd::stream::raw::{self, Operation};
use zstd::zstd_safe::DParameter;

/// The largest window of zstd, as a power of two: 8 MiB (RFC 9659 section 3).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Room for what one step of a decoder gives.
const STEP_BYTES: usize = 16 << 10;

/// The coding of a reply's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// The content is not in its coding, or that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentCodingError;

impl Coding {
    /// The coding that the fields of a head name; nothing if the content is as it is.
    pub fn of(fields: Fields<'_>) -> Result<Option<Coding>, ContentCodingError> {
        let mut coding = None;
        let listed = fields.named("content-encoding").flat_map(|value| value.split(|byte| *byte == b','));
        for name in listed.map(<[u8]>::trim_ascii) {
            let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            let this = match () {
                () if name.is_empty() || is("identity") => continue,
                () if is("gzip") || is("x-gzip") => Coding::Gzip,
                () if is("deflate") => Coding::Deflate,
                () if is("br") => Coding::Brotli,
                () if is("zstd") => Coding::Zstd,
                () => return Err(ContentCodingError),
            };
            if coding.replace(this).is_some() {
                return Err(ContentCodingError);
            }
        }
        Ok(coding)
    }
}

/// Takes a coding off the content of one reply.
pub(super) struct Decoder {
    stream: Stream,
    /// Bytes that may come out yet.
    room: usize,
    /// Bytes that went in and came out.
    pub coded_bytes: u64,
    pub decoded_bytes: u64,
    wrong: bool,
}

enum Stream {
    Gzip(Box<flate2::write::MultiGzDecoder<Sink>>),
    /// Before the first byte, which says which of two formats it is.
    Deflate,
    Inflate {
        inner: Box<Decompress>,
        over: bool,
    },
    Brotli(Box<brotli_decompressor::DecompressorWriter<Sink>>),
    Zstd {
        inner: raw::Decoder<'static>,
        over: bool,
    },
    /// No more is looked at: a decoder's window may take as much as all that it gave.
    Full,
}

/// The output of a decoder, up to what there is room for.
struct Sink {
    out: Vec<u8>,
    room: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.out.extend_from_slice(&bytes[..taken]);
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("decoded_bytes", &self.decoded_bytes).finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder of one reply's content, of which `room` bytes come out at most.
    pub fn new(coding: Coding, room: usize) -> Decoder {
        let sink = || Sink { out: Vec::new(), room };
        let stream = match coding {
            Coding::Gzip => Stream::Gzip(Box::new(flate2::write::MultiGzDecoder::new(sink()))),
            Coding::Deflate => Stream::Deflate,
            Coding::Brotli => {
                Stream::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(sink(), STEP_BYTES)))
            }
            Coding::Zstd => Stream::Zstd { inner: zstd_decoder(), over: false },
        };
        Decoder { stream, room, coded_bytes: 0, decoded_bytes: 0, wrong: false }
    }

    /// Takes the next piece of the content: what comes out of it.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.coded_bytes += bytes.len() as u64;
        let mut out = Vec::new();
        if self.wrong || self.room == 0 || bytes.is_empty() {
            return out;
        }
        let read = match &mut self.stream {
            Stream::Gzip(decoder) => through(decoder.as_mut(), bytes, |decoder| decoder.get_mut(), &mut out),
            Stream::Brotli(decoder) => {
                through(decoder.as_mut(), bytes, |decoder| decoder.get_mut(), &mut out)
            }
            Stream::Deflate => {
                let inner = Box::new(Decompress::new(is_zlib(bytes)));
                self.stream = Stream::Inflate { inner, over: false };
                let Stream::Inflate { inner, over } = &mut self.stream else { unreachable!() };
                inflate(inner, over, bytes, self.room, &mut out)
            }
            Stream::Inflate { inner, over } => inflate(inner, over, bytes, self.room, &mut out),
            Stream::Zstd { inner, over } => unzstd(inner, over, bytes, self.room, &mut out),
            Stream::Full => Ok(()),
        };
        out.truncate(self.room);
        self.room -= out.len();
        if self.room == 0 {
            self.stream = Stream::Full;
        }
        self.decoded_bytes += out.len() as u64;
        // Of what there is no room for nothing is known.
        self.wrong = read.is_err() && self.room > 0;
        out
    }

    /// The content is over: whether it was all in its coding, as far as it was looked at.
    pub fn finish(&mut self) -> Result<(), ContentCodingError> {
        if self.room == 0 || self.coded_bytes == 0 {
            return Ok(());
        }
        let whole = match &mut self.stream {
            Stream::Gzip(decoder) => decoder.try_finish().is_ok(),
            Stream::Brotli(decoder) => decoder.close().is_ok(),
            Stream::Deflate | Stream::Full => false,
            Stream::Inflate { over, .. } | Stream::Zstd { over, .. } => *over,
        };
        if whole && !self.wrong { Ok(()) } else { Err(ContentCodingError) }
    }
}

fn zstd_decoder() -> raw::Decoder<'static> {
    let mut decoder = raw::Decoder::new().expect("there is memory for a decoder");
    decoder
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
        .expect("a window of that size is one that zstd knows");
    decoder
}

/// Writes `bytes` through a decoder into its sink, whose bytes are moved to `out`.
fn through<D: Write>(
    decoder: &mut D,
    bytes: &[u8],
    sink: impl Fn(&mut D) -> &mut Sink,
    out: &mut Vec<u8>,
) -> Result<(), ContentCodingError> {
    let read = decoder.write_all(bytes).and_then(|()| decoder.flush());
    *out = std::mem::take(&mut sink(decoder).out);
    read.map_err(|_| ContentCodingError)
}

/// RFC 9110 section 8.4.1.2: deflate is the zlib format (RFC 1950), and some send the bare deflate format
/// (RFC 1951). A first byte of zlib says 8 in its low bits, with a window of 32 KiB at most; of deflate that
/// would be a block of a kind which no encoder begins with: not the last, stored, with bits set that encoders
/// leave at nought.
fn is_zlib(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0x8f == 8)
}

fn inflate(
    inner: &mut Decompress,
    over: &mut bool,
    bytes: &[u8],
    room: usize,
    out: &mut Vec<u8>,
) -> Result<(), ContentCodingError> {
    let mut rest = bytes;
    while !*over && out.len() < room {
        out.reserve(STEP_BYTES);
        let before = (inner.total_in(), out.len());
        let status =
            inner.decompress_vec(rest, out, FlushDecompress::None).map_err(|_| ContentCodingError)?;
        let taken = (inner.total_in() - before.0) as usize;
        rest = &rest[taken..];
        *over = status == Status::StreamEnd;
        if taken == 0 && out.len() == before.1 {
            break;
        }
    }
    Ok(())
}

fn unzstd(
    inner: &mut raw::Decoder<'static>,
    over: &mut bool,
    bytes: &[u8],
    room: usize,
    out: &mut Vec<u8>,
) -> Result<(), ContentCodingError> {
    let mut rest = bytes;
    let mut step = [0; STEP_BYTES];
    while out.len() < room {
        let status = inner.run_on_buffers(rest, &mut step).map_err(|_| ContentCodingError)?;
        rest = &rest[status.bytes_read..];
        out.extend_from_slice(&step[..status.bytes_written]);
        // Frames may follow one another (RFC 8878 section 3).
        if status.bytes_read > 0 || status.bytes_written > 0 {
            *over = status.remaining == 0;
        }
        if status.bytes_written < step.len() && rest.is_empty()
            || status.bytes_read + status.bytes_written == 0
        {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn coded(coding: Coding, content: &[u8]) -> Vec<u8> {
        let fast = flate2::Compression::fast();
        match coding {
            Coding::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), fast);
                encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory takes it")
            }
            Coding::Deflate => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), fast);
                encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory takes it")
            }
            Coding::Zstd => zstd::encode_all(content, 1).expect("memory takes it"),
            Coding::Brotli => brotli_of(content),
        }
    }

    /// Brotli without compression (RFC 7932 section 9.2): uncompressed meta-blocks of up to 64 KiB, then an
    /// empty last one.
    fn brotli_of(content: &[u8]) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        let push = |bits: &mut Vec<bool>, value: u32, count: u32| {
            bits.extend((0..count).map(|bit| value >> bit & 1 == 1));
        };
        push(&mut bits, 0, 1); // WBITS: 16
        let mut out = Vec::new();
        for block in content.chunks(1 << 16) {
            push(&mut bits, 0, 1); // not the last
            push(&mut bits, 0, 2); // four nibbles of length
            push(&mut bits, block.len() as u32 - 1, 16);
            push(&mut bits, 1, 1); // uncompressed
            while !bits.len().is_multiple_of(8) {
                bits.push(false);
            }
            let bytes = bits.chunks(8).map(|byte| (0..8).map(|at| u8::from(byte[at]) << at).sum::<u8>());
            out.extend(bytes.collect::<Vec<_>>());
            bits.clear();
            out.extend_from_slice(block);
        }
        push(&mut bits, 3, 2); // the last, and empty
        while !bits.len().is_multiple_of(8) {
            bits.push(false);
        }
        out.extend(bits.chunks(8).map(|byte| (0..8).map(|at| u8::from(byte[at]) << at).sum::<u8>()));
        out
    }

    fn decoded<'b>(
        coding: Coding,
        pieces: impl IntoIterator<Item = &'b [u8]>,
        room: usize,
    ) -> (Vec<u8>, Result<(), ContentCodingError>) {
        let mut decoder = Decoder::new(coding, room);
        let content = pieces.into_iter().flat_map(|piece| decoder.read(piece)).collect();
        (content, decoder.finish())
    }

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    proptest! {
        #[test]
        fn content_comes_back_however_it_is_cut(
            content in prop::collection::vec(0_u8..4, 0..5000),
            size in 1_usize..600,
        ) {
            for coding in ALL {
                let bytes = coded(coding, &content);
                prop_assert_eq!(decoded(coding, bytes.chunks(size), 1 << 20), (content.clone(), Ok(())), "{:?}", coding);
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300), size in 1_usize..300) {
            for coding in ALL {
                let (content, _) = decoded(coding, bytes.chunks(size), 4096);
                prop_assert!(content.len() <= 4096);
            }
        }
    }

    #[test]
    fn what_is_cut_short_or_damaged_is_reported() {
        let content: Vec<u8> = (0..3000_u32).map(|at| ((at * at) >> 3) as u8).collect();
        for coding in ALL {
            let bytes = coded(coding, &content);
            let short = decoded(coding, [&bytes[..bytes.len() / 2]], 1 << 20);
            assert_eq!(short.1, Err(ContentCodingError), "{coding:?} cut short");
            let garbled = decoded(coding, [&b"<html>not coded at all</html>"[..]], 1 << 20);
            assert_eq!(garbled.1, Err(ContentCodingError), "{coding:?} that is none");
            assert_eq!(decoded(coding, [], 1 << 20), (Vec::new(), Ok(())), "{coding:?} of nothing");
        }
    }

    /// Brotli of so many times 16 MiB of noughts, in a window of 16 MiB: meta-blocks of one command each,
    /// which inserts literals that take no bit, since there is one alone (RFC 7932 sections 3.4, 5 and 9.2).
    fn brotli_bomb(times: u32) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        let mut push = |value: u32, count: u32| bits.extend((0..count).map(|bit| value >> bit & 1 == 1));
        push(0b1111, 4); // WBITS: 24
        for _ in 0..times {
            push(0, 1); // not the last
            push(2, 2); // six nibbles of length
            push((1 << 24) - 1, 24);
            push(0, 1); // compressed
            push(0, 3); // one type of block of each category
            push(0, 6); // no postfix, no direct distance
            push(0, 2); // a context
            push(0, 2); // one tree of literals, one of distances
            for (symbol, width) in [(0, 8), (448 + (7 << 3), 10), (0, 6)] {
                push(1, 2); // a simple code
                push(0, 2); // of one symbol
                push(symbol, width);
            }
            push((1 << 24) - 22_594, 24); // what insert length code 23 has beyond its least
        }
        push(3, 2); // the last, and empty
        bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |all, bit| all << 1 | u8::from(*bit))).collect()
    }

    /// Megabytes of noughts are a few kilobytes when coded: no more comes out than there is room for, and
    /// memory stays small.
    #[test]
    fn a_bomb_stops_at_the_limit() {
        const ROOM: usize = 300_000;
        for coding in ALL {
            let bytes = match coding {
                Coding::Brotli => brotli_bomb(4),
                _ => coded(coding, &vec![0; 64 << 20]),
            };
            assert!(bytes.len() < 1 << 20);
            for size in [usize::MAX, 1000] {
                let mut decoder = Decoder::new(coding, ROOM);
                let content: Vec<u8> =
                    bytes.chunks(size.min(bytes.len())).flat_map(|piece| decoder.read(piece)).collect();
                assert_eq!((content.len(), decoder.decoded_bytes), (ROOM, ROOM as u64), "{coding:?}");
                assert_eq!(decoder.finish(), Ok(()), "what lies beyond is not looked at");
                assert!(content.capacity() < 1 << 20);
            }
        }
        // The bomb is one: all of it comes out where there is room.
        let whole = decoded(Coding::Brotli, [&brotli_bomb(1)[..]], 1 << 25);
        assert_eq!((whole.0.len(), whole.1), (1 << 24, Ok(())));
    }

    /// A window beyond the largest that the coding's RFC has for the web is refused before there is memory
    /// for it.
    #[test]
    fn windows_have_a_limit() {
        // A frame without a length, with a window of 2^log bytes, and a last block of one letter three times
        // (RFC 8878 sections 3.1.1.1.2 and 3.1.1.2).
        let zstd = |log: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1 | 1 << 1 | 3 << 3, 0, 0, b'a'];
        assert_eq!(decoded(Coding::Zstd, [&zstd(23)[..]], 100), (b"aaa".to_vec(), Ok(())));
        for log in [24, 27, 31] {
            assert_eq!(
                decoded(Coding::Zstd, [&zstd(log)[..]], 100),
                (Vec::new(), Err(ContentCodingError)),
                "2^{log}"
            );
        }
        // Brotli has windows of 16 MiB at most; larger ones are an extension, which begins with bits that the
        // RFC leaves invalid (section 9.1).
        let large = [&[0x11, 30][..], &brotli_bomb(1)].concat();
        assert_eq!(decoded(Coding::Brotli, [&large[..]], 100), (Vec::new(), Err(ContentCodingError)));
    }

    #[test]
    fn bare_deflate_is_taken_for_what_it_is() {
        let content = b"some text, some text, some text".repeat(10);
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        let bytes = encoder.write_all(&content).and_then(|()| encoder.finish()).expect("memory takes it");
        assert_eq!(decoded(Coding::Deflate, bytes.chunks(7), 1 << 20), (content, Ok(())));
    }
}
