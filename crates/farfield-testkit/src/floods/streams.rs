//! Floods over a stream of bytes: HTTP/1 and HTTP/2.

use super::{Bytes, Kind, Protocol};
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

/// Serves one connection until its client closes.
pub(super) fn serve(stream: impl Bytes, protocol: Protocol, kind: Kind) -> io::Result<()> {
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

fn serve_http1(mut stream: impl Bytes, kind: Kind) -> io::Result<()> {
    loop {
        request_of_http1(&mut stream)?;
        let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n";
        match kind {
            Kind::Interim => endlessly(&mut stream, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")?,
            Kind::Head => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nX-Long: ")?;
                endlessly(&mut stream, "and on and on ")?;
            }
            Kind::Trailers => {
                stream.write_all(format!("{chunked}\r\n2\r\nhi\r\n0\r\n").as_bytes())?;
                endlessly(&mut stream, "X-Trailer: and one more\r\n")?;
            }
            Kind::ChunkExtension => {
                stream.write_all(format!("{chunked}\r\n2;").as_bytes())?;
                endlessly(&mut stream, "name=value;")?;
            }
            Kind::Gzip => {
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

/// 16 MiB of one letter as gzip has it; one may stand behind another.
fn bomb() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b'a'; 16 << 20]).expect("memory takes it");
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

/// Reads the client's first bytes, and no others but where it is calm.
fn serve_http2(mut stream: impl Bytes, kind: Kind) -> io::Result<()> {
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(SETTINGS, 0, 0, b""))?;
    if kind == Kind::Calm {
        return answer_http2(stream);
    }
    let reply = |of: u32| frame(HEADERS, END_STREAM | END_HEADERS, 2 * of + 1, OK);
    let ping = frame(PING, 0, 0, &[7; 8]);
    let settings = frame(SETTINGS, 0, 0, b"");
    match kind {
        Kind::Ping => between_replies(&mut stream, &ping, reply),
        Kind::Settings => between_replies(&mut stream, &settings, reply),
        Kind::WindowUpdate => between_replies(&mut stream, &frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]), reply),
        Kind::RstStream => {
            stream.write_all(&reply(0))?;
            between_replies(&mut stream, &frame(RST_STREAM, 0, 1, &[0; 4]), |of| reply(of + 1))
        }
        Kind::PingAndBody | Kind::SettingsAndBody => {
            let one = if kind == Kind::PingAndBody { ping } else { settings };
            stream.write_all(&frame(HEADERS, END_HEADERS, 1, OK))?;
            let turn = [one.repeat(30), frame(DATA, 0, 1, b"x")].concat();
            repeat(&mut stream, &turn)
        }
        Kind::Continuation => {
            stream.write_all(&frame(HEADERS, 0, 1, OK))?;
            repeat(&mut stream, &frame(CONTINUATION, 0, 1, b""))
        }
        Kind::ContinuationWithFields => {
            stream.write_all(&frame(HEADERS, 0, 1, OK))?;
            repeat(&mut stream, &frame(CONTINUATION, 0, 1, &[FIELD, &[b'a'; 100]].concat()))
        }
        Kind::EmptyData => {
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

/// Answers each request with two bytes.
fn answer_http2(mut stream: impl Bytes) -> io::Result<()> {
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [a, b, c, kind, flags, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload)?;
        match kind {
            SETTINGS if flags & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, b""))?,
            HEADERS => {
                let id = u32::from_be_bytes(id);
                let head = frame(HEADERS, END_HEADERS, id, OK);
                stream.write_all(&[head, frame(DATA, END_STREAM, id, b"hi")].concat())?;
            }
            _ => {}
        }
    }
}
