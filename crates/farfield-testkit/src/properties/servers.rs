//! Bytes of a client, however wrong, at the end of a connection that a model of a server has. The fuzz target
//! `http2_server` is [`of_client_frames`], `http3_requests` is [`of_request_stream`].

use super::replies::cut;
use bytes::Bytes;
use farfield_http::http2::ErrorCode;
use farfield_http::http2::server::{
    BodySource, RequestHeads, ServerConnection, ServerEvent, ServerSettings, put_reply_block,
};
use farfield_http::http3::server::{RequestProgress, RequestStream};
use std::collections::BTreeMap;

/// Beginning of a client: the preface, and SETTINGS without a setting.
const BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// All that a server made of the bytes of its client.
#[derive(Debug, PartialEq, Eq)]
struct ServerTranscript {
    heads: Vec<(u32, Vec<u8>, Vec<u8>)>,
    /// Streams in the order in which they were asked for, and given up.
    asked: Vec<u32>,
    reset: Vec<u32>,
    /// Bytes sent before any reply.
    sent: Vec<u8>,
    wrong: Option<ErrorCode>,
    /// Bytes of body that the windows allow, by stream.
    bodies: BTreeMap<u32, u64>,
}

/// A fuzzer's input: a first byte that says how the server is set, a second that seeds the cuts, then the
/// client's bytes, behind their beginning unless the first byte's highest bit is set. Whatever they are, the
/// server makes the same of every cut, asks for each stream once, and replies within the windows.
pub fn of_client_frames(input: &[u8]) {
    let [mode, seed, rest @ ..] = input else { return };
    let mut settings = ServerSettings { streams_max: u32::from(mode & 7) + 1, ..ServerSettings::default() };
    if mode & 8 != 0 {
        settings = ServerSettings { stream_window_bytes: 100, data_bytes: 50, head_bytes: 200, ..settings };
    }
    let beginning = if mode & 0x80 == 0 { BEGINNING } else { &[] };
    let stream = [beginning, rest].concat();
    let whole = serve(&[&stream], settings);
    assert_eq!(whole, serve(&stream.chunks(1).collect::<Vec<_>>(), settings), "byte by byte");
    for longest in [3, 40] {
        assert_eq!(whole, serve(&cut(&stream, u64::from(*seed), longest), settings), "cut at random");
    }
    let mut streams: Vec<u32> = whole.heads.iter().map(|(stream, ..)| *stream).collect();
    assert!(streams.is_sorted_by(|a, b| a < b) && streams.iter().all(|stream| stream % 2 == 1));
    let mut asked = whole.asked.clone();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), whole.asked.len(), "each request is whole once");
    streams.retain(|stream| asked.contains(stream));
    assert_eq!(streams, asked, "requests have heads");
}

fn serve(pieces: &[&[u8]], settings: ServerSettings) -> ServerTranscript {
    let (mut to_send, mut heads) = (Vec::new(), RequestHeads::default());
    let mut core = ServerConnection::new(settings, &mut to_send);
    let mut served = ServerTranscript {
        heads: Vec::new(),
        asked: Vec::new(),
        reset: Vec::new(),
        sent: Vec::new(),
        wrong: None,
        bodies: BTreeMap::new(),
    };
    for piece in pieces {
        let received = core.receive(&mut heads, piece, &mut to_send, &mut |event| match event {
            ServerEvent::Head { stream, method, path } => {
                served.heads.push((stream.number(), method.to_vec(), path.to_vec()));
            }
            ServerEvent::Asked(stream) => served.asked.push(stream.number()),
            ServerEvent::Reset(stream) => served.reset.push(stream.number()),
        });
        served.wrong = received.err();
        if served.wrong.is_some() {
            break;
        }
    }
    served.sent = std::mem::take(&mut to_send);
    if served.wrong.is_none() {
        let mut block = Vec::new();
        put_reply_block(200, [], &mut block);
        for number in served.asked.iter().filter(|number| !served.reset.contains(number)) {
            let stream = farfield_http::http2::StreamId::of_request(number / 2);
            let body = BodySource::Filler { of: Bytes::from_static(b"0123456789"), left: 1 << 20 };
            assert!(!core.reply(stream, &block, body, &mut to_send), "the body is still to come");
        }
        while let Some(piece) = core.next_piece() {
            let [a, b, c, _, _, stream @ ..] = piece.header;
            assert_eq!(u32::from_be_bytes([0, a, b, c]) as usize, piece.payload.len());
            assert!((1..=settings.data_bytes as usize).contains(&piece.payload.len()));
            *served.bodies.entry(u32::from_be_bytes(stream)).or_default() += piece.payload.len() as u64;
        }
    }
    served
}

/// A fuzzer's input: a byte that seeds the cuts, then what a client sends on the stream of a request of
/// HTTP/3. The reader makes the same of every cut.
pub fn of_request_stream(input: &[u8]) {
    let [seed, stream @ ..] = input else { return };
    let whole = steps(&[stream]);
    assert_eq!(whole, steps(&stream.chunks(1).collect::<Vec<_>>()), "byte by byte");
    assert_eq!(whole, steps(&cut(stream, u64::from(*seed), 5)), "cut at random");
    assert!(whole.iter().filter(|(step, _)| *step == RequestProgress::Head).count() <= 1);
}

/// Method and path.
type MethodPath = (Vec<u8>, Vec<u8>);

/// Steps that the reader finds, with method and path where it is a head.
fn steps(pieces: &[&[u8]]) -> Vec<(RequestProgress, Option<MethodPath>)> {
    let (mut reader, mut heads) = (RequestStream::default(), RequestHeads::default());
    let mut found = Vec::new();
    for piece in pieces {
        let mut next = Some(Bytes::copy_from_slice(piece));
        while let Some(bytes) = next {
            let step = reader.read(bytes, &mut heads);
            next = reader.take_rest();
            let head = heads.request().filter(|_| step == RequestProgress::Head);
            match step {
                RequestProgress::Nothing => {}
                _ => found.push((step, head.map(|(method, path)| (method.to_vec(), path.to_vec())))),
            }
            if matches!(step, RequestProgress::Wrong(_)) {
                return found;
            }
        }
    }
    found.push((reader.finish(), None));
    found
}
