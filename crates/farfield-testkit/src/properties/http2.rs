//! Bytes of an HTTP/2 server, however wrong: what a client's connection makes of them, and the properties
//! that hold for all. The fuzz target `http2_frames` is [`of_frames`], `http2_hpack` is [`of_blocks`].

use super::replies::{TIGHT, cut};
use bytes::Bytes;
use farfield_http::http2::hpack::{Decoder, HpackError, Scratch};
use farfield_http::http2::{
    CommonFields, Connection, ConnectionError, Event, Heads, Limits, Reply, RequestHead, Settings,
    StreamError, StreamId,
};
use std::collections::BTreeMap;

/// All that a connection made of the bytes of its server.
#[derive(Debug, PartialEq, Eq)]
pub struct ConnectionReading {
    /// The events, in order. Bytes of body that come one after another are one.
    pub events: Vec<ConnectionEvent>,
    /// The bytes that the client sent, from its requests on.
    pub sent: Vec<u8>,
    /// Error that ended the connection.
    pub wrong: Option<ConnectionError>,
}

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The status of an interim reply.
    Interim(StreamId, u16),
    /// The status and the fields of a final one.
    Head(StreamId, u16, Vec<(Vec<u8>, Vec<u8>)>),
    /// Bytes of a body.
    Body(StreamId, Vec<u8>),
    /// The end of a reply.
    Done(StreamId, Reply),
    /// The failure of a request.
    Failed(StreamId, Reply, StreamError),
    /// The code of GOAWAY.
    GoingAway(u32),
}

/// Requests and allowances of a client.
#[derive(Debug, Clone)]
pub struct ClientRequests {
    /// Settings that it announces.
    pub settings: Settings,
    /// The requests that it sends at once: whether each is a HEAD, and its body.
    pub requests: Vec<(bool, Vec<u8>)>,
}

/// A fuzzer's input: a first byte that says what is asked for under which limits, a second that seeds the
/// cuts, then the server's bytes.
pub fn of_frames(input: &[u8]) {
    let [mode, seed, stream @ ..] = input else { return };
    let limits = if mode & 1 == 0 { Limits::default() } else { TIGHT };
    let mut settings = Settings { limits, ..Settings::default() };
    if mode & 2 != 0 {
        settings.stream_window_bytes = 100;
        settings.header_table_bytes = 64;
    }
    let body = if mode & 4 != 0 { vec![b'x'; 70_000] } else { Vec::new() };
    let mut requests = vec![(mode & 8 != 0, Vec::new()); usize::from(mode >> 5) + 1];
    requests[0].1 = body;
    read_however_cut(stream, &ClientRequests { settings, requests }, u64::from(*seed));
}

/// Reads the stream whole, byte by byte, and cut at random. All readings must be equal; the reading is
/// returned.
pub fn read_however_cut(stream: &[u8], asked: &ClientRequests, seed: u64) -> ConnectionReading {
    let whole = read(&[stream], asked, &mut Heads::default());
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    // Heads that were read before, on other connections, change nothing.
    let heads = &mut Heads::default();
    assert_eq!(whole, read(&bytes, asked, heads), "byte by byte");
    for longest in [3, 40] {
        let pieces = cut(stream, seed, longest);
        assert_eq!(whole, read(&pieces, asked, heads), "cut as {pieces:?}");
    }
    whole.check();
    whole
}

/// Sends what is asked for, hands the pieces to the connection, and checks progress at every step.
fn read(pieces: &[&[u8]], asked: &ClientRequests, heads: &mut Heads) -> ConnectionReading {
    let mut to_send = Vec::new();
    let mut connection = Connection::new(&asked.settings, &mut to_send);
    to_send.clear();
    let head = |is_head, length: usize| RequestHead {
        method: if is_head { "HEAD" } else { "GET" },
        scheme: "http",
        authority: "server",
        target: "/",
        headers: &[],
        body_length: (length > 0).then_some(length as u64),
    };
    let all: Vec<_> = asked.requests.iter().map(|(is_head, body)| head(*is_head, body.len())).collect();
    let common = CommonFields::of(&all).expect("heads that can be sent");
    for (head, (_, body)) in all.iter().zip(&asked.requests) {
        let block = head.encode(&common).expect("a head that can be sent");
        let body = Bytes::copy_from_slice(body);
        connection.request(&block, &body, &mut to_send).expect("room for the requests");
    }
    let mut reading = ConnectionReading { events: Vec::new(), sent: Vec::new(), wrong: None };
    'pieces: for piece in pieces {
        let mut rest = *piece;
        loop {
            let (taken, event) = match connection.read(heads, rest, &mut to_send) {
                Ok(step) => step,
                Err(wrong) => {
                    reading.wrong = Some(wrong);
                    break 'pieces;
                }
            };
            rest = &rest[taken..];
            if event == Event::NeedMore {
                assert!(rest.is_empty(), "{} bytes left lying", rest.len());
                break;
            }
            reading.absorb(event, heads, &connection);
        }
    }
    if reading.wrong.is_none() {
        reading.wrong = connection.finish().err();
    }
    reading.sent = to_send;
    reading
}

impl ConnectionReading {
    fn absorb(&mut self, event: Event<'_>, heads: &Heads, connection: &Connection) {
        let own = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
        let stream = StreamId::of_request(event.request().unwrap_or_default());
        let seen = match event {
            Event::NeedMore => return,
            Event::Interim(_, status) => ConnectionEvent::Interim(stream, status),
            Event::Head(_, head) => {
                ConnectionEvent::Head(stream, head.status, heads.fields().map(own).collect())
            }
            Event::Body(_, bytes) => {
                assert!(!bytes.is_empty());
                if let Some(ConnectionEvent::Body(before, body)) = self.events.last_mut()
                    && *before == stream
                {
                    return body.extend_from_slice(&bytes);
                }
                ConnectionEvent::Body(stream, bytes.to_vec())
            }
            Event::Done(_, reply) => ConnectionEvent::Done(stream, reply),
            Event::Failed(_, reply, farfield_http::StreamError::Http2(error)) => {
                ConnectionEvent::Failed(stream, reply, error)
            }
            Event::GoingAway => ConnectionEvent::GoingAway(connection.goaway().0),
            _ => panic!("{event:?} over HTTP/2"),
        };
        self.events.push(seen);
    }

    /// Each reply has a head, then its body, then one end, and the end counts the body.
    fn check(&self) {
        #[derive(Default)]
        struct Stream {
            status: u16,
            body_bytes: u64,
            over: bool,
        }
        let mut streams: BTreeMap<StreamId, Stream> = BTreeMap::new();
        for event in &self.events {
            let (ConnectionEvent::Interim(id, _)
            | ConnectionEvent::Head(id, ..)
            | ConnectionEvent::Body(id, _)
            | ConnectionEvent::Done(id, _)
            | ConnectionEvent::Failed(id, ..)) = event
            else {
                continue;
            };
            let stream = streams.entry(*id).or_default();
            assert!(!stream.over, "{event:?} behind the end");
            match event {
                ConnectionEvent::Interim(..) => assert!(stream.status == 0),
                ConnectionEvent::Head(_, status, _) => {
                    assert!(stream.status == 0 && (200..1000).contains(status));
                    stream.status = *status;
                }
                ConnectionEvent::Body(_, bytes) => {
                    assert!(stream.status > 0);
                    stream.body_bytes += bytes.len() as u64;
                }
                ConnectionEvent::Done(_, reply) => {
                    assert_eq!((reply.status, reply.body_bytes), (stream.status, stream.body_bytes));
                    stream.over = true;
                }
                ConnectionEvent::Failed(_, reply, _) => {
                    assert_eq!(reply.body_bytes, stream.body_bytes);
                    stream.over = true;
                }
                ConnectionEvent::GoingAway(_) => {}
            }
        }
    }
}

/// A fuzzer's input: a first byte for the size of the table, a second for the length of blocks, then the
/// blocks. Each field fits into what it came from, and another decoder makes the same of the blocks.
pub fn of_blocks(input: &[u8]) {
    let [size, length, blocks @ ..] = input else { return };
    let table_bytes = u32::from(*size) * 32;
    let blocks: Vec<&[u8]> = blocks.chunks(usize::from(*length).max(1)).collect();
    let decoded = decode(&blocks, table_bytes);
    assert_eq!(decoded, decode(&blocks, table_bytes));
    let longest = blocks.iter().map(|block| block.len()).max().unwrap_or(0);
    // The shortest Huffman code has five bits; the static table's longest field has 27 bytes.
    let most = (2 * longest).max(table_bytes as usize) + 2 * longest + 27;
    for (name, value) in decoded.iter().flatten().flatten() {
        assert!(name.len() + value.len() <= most, "{} bytes", name.len() + value.len());
    }
}

type Field = (Vec<u8>, Vec<u8>);

/// The fields of each block, up to the first that is wrong.
fn decode(blocks: &[&[u8]], table_bytes: u32) -> Vec<Result<Vec<Field>, HpackError>> {
    let mut decoder = Decoder::new(table_bytes);
    let mut scratch = Scratch::default();
    let mut all = Vec::new();
    for block in blocks {
        let mut fields = Vec::new();
        let decoded = decoder.decode(block, &mut scratch, &mut |name, value| {
            fields.push((name.to_vec(), value.to_vec()));
        });
        all.push(decoded.map(|()| fields));
        if decoded.is_err() {
            break;
        }
    }
    all
}
