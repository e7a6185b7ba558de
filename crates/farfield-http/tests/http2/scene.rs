//! A client's connection and a server that is played by hand: frames as bytes, and what the client makes and
//! sends of them as lines of text.

use bytes::Bytes;
use farfield_http::StreamError;
use farfield_http::http2::{
    CommonFields, Connection, ConnectionError, Event, Heads, NotSent, RequestHead, Settings, StreamId,
};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

/// END_STREAM, or ACK of SETTINGS and PING.
pub const END: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const WITH_PRIORITY: u8 = 32;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let setting = |&(identifier, value): &(u16, u32)| {
        [identifier.to_be_bytes().as_slice(), &value.to_be_bytes()].concat()
    };
    frame(SETTINGS, 0, 0, &values.iter().flat_map(setting).collect::<Vec<u8>>())
}

pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub fn rst_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A header block of literals that leave the table alone.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| {
        // RFC 7541, 5.1: a length with a prefix of seven bits.
        let mut bytes = vec![text.len().min(127) as u8];
        let mut rest = text.len().checked_sub(127);
        while let Some(more) = rest {
            bytes.push((more & 127) as u8 | if more > 127 { 128 } else { 0 });
            rest = (more > 127).then_some(more >> 7);
        }
        [&bytes, text.as_bytes()].concat()
    };
    fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

/// HEADERS in one frame.
pub fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &block(fields))
}

pub fn data(stream: u32, flags: u8, body: &[u8]) -> Vec<u8> {
    frame(DATA, flags, stream, body)
}

/// A GET of `/`.
pub fn get() -> RequestHead<'static> {
    RequestHead {
        method: "GET",
        scheme: "http",
        authority: "server",
        target: "/",
        headers: &[],
        body_length: None,
    }
}

pub struct Scene {
    pub connection: Connection,
    pub heads: Heads,
    pub to_send: Vec<u8>,
    pub common: CommonFields,
}

/// The number of the stream of request `number`.
fn stream(number: u32) -> u32 {
    StreamId::of_request(number).number()
}

impl Scene {
    /// A connection whose first bytes are sent, and to which the server has said nothing.
    pub fn silent(settings: &Settings) -> Scene {
        let mut to_send = Vec::new();
        let connection = Connection::new(settings, &mut to_send);
        Scene { connection, heads: Heads::default(), to_send, common: CommonFields::default() }
    }

    /// A connection to a server with these settings.
    pub fn with(own: &Settings, servers: &[(u16, u32)]) -> Scene {
        let mut scene = Scene::silent(own);
        assert_eq!(scene.receive(&settings(servers)), Ok(vec![]));
        assert_eq!(scene.receive(&frame(SETTINGS, END, 0, b"")), Ok(vec![]));
        scene.to_send.clear();
        scene
    }

    /// A connection with all settings by default and so many GETs on it.
    pub fn asking(requests: usize) -> Scene {
        let mut scene = Scene::with(&Settings::default(), &[]);
        (0..requests).for_each(|_| {
            scene.ask(&get(), b"").expect("room for a request");
        });
        scene.to_send.clear();
        scene
    }

    pub fn ask(&mut self, head: &RequestHead<'_>, body: &[u8]) -> Result<StreamId, NotSent> {
        let block = head.encode(&self.common).expect("a good head");
        self.connection.request(&block, &Bytes::copy_from_slice(body), &mut self.to_send)
    }

    /// The events that the bytes make.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<String>, ConnectionError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        loop {
            let (taken, event) = self.connection.read(&mut self.heads, rest, &mut self.to_send)?;
            rest = &rest[taken..];
            events.push(match event {
                Event::NeedMore => {
                    assert_eq!(rest, b"");
                    return Ok(events);
                }
                Event::Interim(number, status) => format!("{} interim {status}", stream(number)),
                Event::Head(number, head) => {
                    let length = head.length.map(|length| format!(" length={length}"));
                    let cookie = if head.sets_cookie { " cookie" } else { "" };
                    format!("{} head {}{}{cookie}", stream(number), head.status, length.unwrap_or_default())
                }
                Event::Body(number, bytes) if bytes.len() > 20 => {
                    format!("{} body #{}", stream(number), bytes.len())
                }
                Event::Body(number, bytes) => {
                    format!("{} body {}", stream(number), String::from_utf8_lossy(&bytes))
                }
                Event::Done(number, reply) => {
                    format!("{} done {} {} bytes", stream(number), reply.status, reply.body_bytes)
                }
                Event::Failed(number, reply, StreamError::Http2(error)) => {
                    let said =
                        if reply.status > 0 { format!(" after {}", reply.status) } else { String::new() };
                    format!("{} failed{said}: {error:?}", stream(number))
                }
                Event::GoingAway => format!("going away {}", self.connection.goaway().0),
                other => panic!("{other:?} over HTTP/2"),
            });
        }
    }

    /// The frames that the client has sent since the last call.
    #[track_caller]
    pub fn sent(&mut self) -> Vec<String> {
        let bytes = std::mem::take(&mut self.to_send);
        let mut rest = bytes.as_slice();
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
            let (kind, flags) = (rest[3], rest[4]);
            let stream = u32::from_be_bytes(rest[5..9].try_into().expect("four bytes"));
            let payload = &rest[9..9 + length];
            rest = &rest[9 + length..];
            let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("four bytes"));
            let end = if flags & END != 0 { " end" } else { "" };
            frames.push(match kind {
                DATA => format!("{stream} data #{length}{end}"),
                HEADERS | CONTINUATION => {
                    let whole = if flags & END_HEADERS != 0 { "" } else { " more" };
                    let kind = if kind == HEADERS { "headers" } else { "continuation" };
                    format!("{stream} {kind}{end}{whole}")
                }
                RST_STREAM => format!("{stream} reset {}", number(0)),
                SETTINGS if flags & END != 0 => "settings ack".to_owned(),
                PING => format!("ping{} {}", if flags & END != 0 { " ack" } else { "" }, number(4)),
                GOAWAY => format!("goaway {}", number(4)),
                WINDOW_UPDATE => format!("{stream} window {}", number(0)),
                _ => format!("{stream} kind {kind} #{length}"),
            });
        }
        frames
    }
}
