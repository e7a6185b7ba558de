//! Floods over a stream of bytes: HTTP/1 and HTTP/2.

use super::{Bytes, FloodKind, Protocol};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200` (RFC 7541, appendix A).
const OK: &[u8] = b"\x88";
/// `:status: 103`, written out.
const INTERIM: &[u8] = b"\x08\x03103";

/// A field that enters no table, written out but for its value of 100 bytes.
const FIELD: &[u8] = b"\x00\x01x\x64";
/// `content-encoding: gzip` and `content-type: text/html`, with the names of the static table.
const PAGE: &[u8] = b"\x0f\x0b\x04gzip\x0f\x10\x09text/html";

/// SETTINGS_INITIAL_WINDOW_SIZE, and the windows where nothing else is said (RFC 9113 section 6.5.2).
const INITIAL_WINDOW_SIZE: u16 = 4;
const WINDOW_BYTES: i64 = 65_535;

/// Serves one connection until its client closes.
pub(super) fn serve(stream: impl Bytes, protocol: Protocol, kind: FloodKind) -> io::Result<()> {
    match protocol {
        Protocol::Http1 | Protocol::Https1 => serve_http1(stream, kind),
        _ => serve_http2(stream, kind),
    }
}

/// Reads a request without a body.
pub(super) fn request_of_http1(stream: &mut impl Bytes) -> io::Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(())
}

fn serve_http1(mut stream: impl Bytes, kind: FloodKind) -> io::Result<()> {
    loop {
        request_of_http1(&mut stream)?;
        let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n";
        match kind {
            FloodKind::Interim => endlessly(&mut stream, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")?,
            FloodKind::Head => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nX-Long: ")?;
                endlessly(&mut stream, "and on and on ")?;
            }
            FloodKind::Trailers => {
                stream.write_all(format!("{chunked}\r\n2\r\nhi\r\n0\r\n").as_bytes())?;
                endlessly(&mut stream, "X-Trailer: and one more\r\n")?;
            }
            FloodKind::ChunkExtension => {
                stream.write_all(format!("{chunked}\r\n2;").as_bytes())?;
                endlessly(&mut stream, "name=value;")?;
            }
            FloodKind::Gzip => {
                stream.write_all(format!("{chunked}Content-Encoding: gzip\r\n\r\n").as_bytes())?;
                let bomb = bomb();
                let chunk = [format!("{:x}\r\n", bomb.len()).as_bytes(), &bomb, b"\r\n"].concat();
                loop {
                    stream.write_all(&chunk)?;
                }
            }
            _ => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")?,
        }
    }
}

/// Begins a body without end: what is a byte of it, framed.
pub(super) fn begin_body(stream: &mut impl Bytes, protocol: Protocol) -> io::Result<Vec<u8>> {
    if protocol == Protocol::Https2 {
        stream.read_exact(&mut [0; 24])?;
        let head = [frame(SETTINGS, 0, 0, b""), frame(HEADERS, END_HEADERS, 1, OK)];
        stream.write_all(&head.concat())?;
        return Ok(frame(DATA, 0, 1, b"x"));
    }
    request_of_http1(stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")?;
    Ok(b"x".to_vec())
}

/// 16 MiB of one letter as gzip has it; one may stand behind another. Each piece is held only while it is
/// coded.
pub(super) fn bomb() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let piece = [b'a'; 16 << 10];
    (0..1 << 10).for_each(|_| encoder.write_all(&piece).expect("memory takes it"));
    encoder.finish().expect("memory takes it")
}

fn endlessly(stream: &mut impl Bytes, text: &str) -> io::Result<()> {
    let many = text.repeat(1000);
    loop {
        stream.write_all(many.as_bytes())?;
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Reads the client's first bytes, and others only where it is calm or must know its windows.
fn serve_http2(mut stream: impl Bytes, kind: FloodKind) -> io::Result<()> {
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(SETTINGS, 0, 0, b""))?;
    match kind {
        FloodKind::Calm => return answer_http2(stream),
        FloodKind::Gzip => return send_bombs(stream),
        _ => {}
    }
    let reply = |of: u32| frame(HEADERS, END_STREAM | END_HEADERS, 2 * of + 1, OK);
    let ping = frame(PING, 0, 0, &[7; 8]);
    let settings = frame(SETTINGS, 0, 0, b"");
    match kind {
        FloodKind::Ping => between_replies(&mut stream, &ping, reply),
        FloodKind::Settings => between_replies(&mut stream, &settings, reply),
        FloodKind::WindowUpdate => {
            between_replies(&mut stream, &frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]), reply)
        }
        FloodKind::RstStream => {
            stream.write_all(&reply(0))?;
            between_replies(&mut stream, &frame(RST_STREAM, 0, 1, &[0; 4]), |of| reply(of + 1))
        }
        FloodKind::PingAndBody | FloodKind::SettingsAndBody => {
            let one = if kind == FloodKind::PingAndBody { ping } else { settings };
            stream.write_all(&frame(HEADERS, END_HEADERS, 1, OK))?;
            let turn = [one.repeat(30), frame(DATA, 0, 1, b"x")].concat();
            repeat(&mut stream, &turn)
        }
        FloodKind::Continuation => {
            stream.write_all(&frame(HEADERS, 0, 1, OK))?;
            repeat(&mut stream, &frame(CONTINUATION, 0, 1, b""))
        }
        FloodKind::ContinuationWithFields => {
            stream.write_all(&frame(HEADERS, 0, 1, OK))?;
            repeat(&mut stream, &frame(CONTINUATION, 0, 1, &[FIELD, &[b'a'; 100]].concat()))
        }
        FloodKind::Trailers => {
            let reply = [frame(HEADERS, END_HEADERS, 1, OK), frame(DATA, 0, 1, b"hi")];
            stream.write_all(&[reply.concat(), frame(HEADERS, END_STREAM, 1, b"")].concat())?;
            repeat(&mut stream, &frame(CONTINUATION, 0, 1, &[FIELD, &[b'a'; 100]].concat()))
        }
        FloodKind::EmptyData => {
            stream.write_all(&frame(HEADERS, END_HEADERS, 1, OK))?;
            repeat(&mut stream, &frame(DATA, 0, 1, b""))
        }
        _ => repeat(&mut stream, &frame(HEADERS, END_HEADERS, 1, INTERIM)),
    }
}

/// 9,000 of `one`, a reply, and again.
fn between_replies(stream: &mut impl Bytes, one: &[u8], reply: impl Fn(u32) -> Vec<u8>) -> io::Result<()> {
    let many = one.repeat(9_000);
    for number in 0.. {
        stream.write_all(&many)?;
        stream.write_all(&reply(number))?;
    }
    Ok(())
}

fn repeat(stream: &mut impl Bytes, one: &[u8]) -> io::Result<()> {
    let many = one.repeat(1 + (32 << 10) / one.len());
    loop {
        stream.write_all(&many)?;
    }
}

/// The client's next frame: kind, flags, stream and payload.
fn next_frame(stream: &mut impl Bytes) -> io::Result<(u8, u8, u32, Vec<u8>)> {
    let mut header = [0; 9];
    stream.read_exact(&mut header)?;
    let [a, b, c, kind, flags, id @ ..] = header;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    stream.read_exact(&mut payload)?;
    Ok((kind, flags, u32::from_be_bytes(id), payload))
}

/// Answers the first request with content that does not end, as far as windows let it.
fn send_bombs(mut stream: impl Bytes) -> io::Result<()> {
    let bomb = bomb();
    let (mut connection, mut own, mut initial) = (WINDOW_BYTES, 0, WINDOW_BYTES);
    let (mut request, mut at) = (None, 0);
    loop {
        while let Some(id) = request
            && connection.min(own) > 0
        {
            let room = usize::try_from(connection.min(own)).unwrap_or(0).min(16 << 10);
            let piece = &bomb[at..bomb.len().min(at + room)];
            stream.write_all(&frame(DATA, 0, id, piece))?;
            (connection, own) = (connection - piece.len() as i64, own - piece.len() as i64);
            at = (at + piece.len()) % bomb.len();
        }
        match next_frame(&mut stream)? {
            (SETTINGS, 0, _, payload) => {
                for setting in payload.chunks_exact(6) {
                    if setting[..2] == INITIAL_WINDOW_SIZE.to_be_bytes() {
                        initial = i64::from(number_in(&setting[2..]));
                    }
                }
                stream.write_all(&frame(SETTINGS, ACK, 0, b""))?;
            }
            (HEADERS, _, id, _) if request.is_none() => {
                (request, own) = (Some(id), initial);
                stream.write_all(&frame(HEADERS, END_HEADERS, id, &[OK, PAGE].concat()))?;
            }
            (WINDOW_UPDATE, _, 0, payload) => connection += i64::from(number_in(&payload)),
            (WINDOW_UPDATE, _, id, payload) if request == Some(id) => own += i64::from(number_in(&payload)),
            (RST_STREAM, _, id, _) if request == Some(id) => (request, at) = (None, 0),
            _ => {}
        }
    }
}

/// The number in four bytes.
fn number_in(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Answers each request with two bytes.
fn answer_http2(mut stream: impl Bytes) -> io::Result<()> {
    loop {
        let (kind, flags, id, _) = next_frame(&mut stream)?;
        match kind {
            SETTINGS if flags & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, b""))?,
            HEADERS => {
                let head = frame(HEADERS, END_HEADERS, id, OK);
                stream.write_all(&[head, frame(DATA, END_STREAM, id, b"hi")].concat())?;
            }
            _ => {}
        }
    }
}
