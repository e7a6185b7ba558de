//! Streams that nobody thought of: bytes, bits of HTTP in any order, and valid replies of every framing.

use farfield_http::http1::{Answering, Limits};
use farfield_testkit::properties::replies::{ReplyEvent, TIGHT, of_stream, read_however_cut};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

/// Equal cases on every run: looking for new ones is the fuzzer's.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 2000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_read_to_their_end(input in vec(any::<u8>(), 0..200)) {
        of_stream(&input);
    }

    #[test]
    fn bits_of_http_in_any_order_are_read_to_their_end(
        bits in vec(select(BITS), 0..24),
        head in any::<bool>(),
        tight in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let answering = if head { Answering::Head } else { Answering::Other };
        let limits = if tight { TIGHT } else { Limits::default() };
        read_however_cut(bits.concat().as_bytes(), answering, &limits, seed);
    }

    #[test]
    fn valid_replies_give_back_their_bodies(replies in vec(reply(), 1..5), seed in any::<u64>()) {
        let mut stream = Vec::new();
        let mut expected = Vec::new();
        for reply in &replies {
            let before = stream.len();
            reply.write(&mut stream);
            expected.push((reply.status, reply.body.clone(), (stream.len() - before) as u64));
            if matches!(reply.coding, Coding::UntilClose) {
                break;
            }
        }
        let reading = read_however_cut(&stream, Answering::Other, &Limits::default(), seed);
        prop_assert_eq!(reading.wrong, None);
        let done: Vec<_> = reading.events.into_iter().filter_map(|event| match event {
            ReplyEvent::Done { reply, body } => Some((reply.status, body, reply.reply_bytes)),
            ReplyEvent::Interim(_) | ReplyEvent::Head(_) => None,
        }).collect();
        prop_assert_eq!(done, expected);
    }
}

/// Parts of replies, whole and broken.
const BITS: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 200\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 ",
    "Content-Length: 5\r\n",
    "Content-Length: ",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip\r\n",
    "Connection: close\r\n",
    "X: y\r\n",
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    " ",
    ":",
    ";",
    "0",
    "5",
    "a",
    "f",
    "hello",
    "5\r\nhello\r\n",
    "0\r\n",
    "\0",
];

/// A reply as a server would write it.
#[derive(Debug, Clone)]
struct Scripted {
    blank_lines: usize,
    interims: Vec<u16>,
    status: u16,
    fields: Vec<String>,
    body: Vec<u8>,
    coding: Coding,
    line_end: &'static str,
}

#[derive(Debug, Clone)]
enum Coding {
    Length,
    /// Chunks of these sizes and then the rest in one, each with an extension; and a trailer section.
    Chunked {
        sizes: Vec<usize>,
        extension: &'static str,
        trailers: Vec<String>,
    },
    UntilClose,
}

fn reply() -> impl Strategy<Value = Scripted> {
    let field = "[A-Za-z-]{1,8}: ?[ -~]{0,12}".prop_map(|field| format!("X-{field}"));
    let chunked =
        (vec(1usize..40, 0..6), select(&["", ";a", ";a=b;c=\"d\"", "  "]), vec(field.clone(), 0..3))
            .prop_map(|(sizes, extension, trailers)| Coding::Chunked { sizes, extension, trailers });
    let coding = prop_oneof![3 => Just(Coding::Length), 4 => chunked, 1 => Just(Coding::UntilClose)];
    (
        0usize..2,
        vec(select(&[100u16, 102, 103, 199]), 0..3),
        select(&[200u16, 201, 301, 404, 500, 503, 999]),
        vec(field, 0..5),
        vec(any::<u8>(), 0..120),
        coding,
        select(&["\r\n", "\n"]),
    )
        .prop_map(|(blank_lines, interims, status, fields, body, coding, line_end)| Scripted {
            blank_lines,
            interims,
            status,
            fields,
            body,
            coding,
            line_end,
        })
}

impl Scripted {
    fn write(&self, stream: &mut Vec<u8>) {
        let end = self.line_end;
        let mut head = end.repeat(self.blank_lines);
        for status in &self.interims {
            head += &format!("HTTP/1.1 {status} Wait{end}X: y{end}{end}");
        }
        head += &format!("HTTP/1.1 {}{end}", self.status);
        for field in &self.fields {
            head += &format!("{field}{end}");
        }
        head += &match &self.coding {
            Coding::Length => format!("Content-Length: {}{end}{end}", self.body.len()),
            Coding::Chunked { .. } => format!("Transfer-Encoding: chunked{end}{end}"),
            Coding::UntilClose => end.to_owned(),
        };
        stream.extend_from_slice(head.as_bytes());
        match &self.coding {
            Coding::Length | Coding::UntilClose => stream.extend_from_slice(&self.body),
            Coding::Chunked { sizes, extension, trailers } => {
                self.write_chunks(stream, sizes, extension, trailers)
            }
        }
    }

    fn write_chunks(&self, stream: &mut Vec<u8>, sizes: &[usize], extension: &str, trailers: &[String]) {
        let mut body = self.body.as_slice();
        for size in sizes.iter().copied().chain([usize::MAX]) {
            let (chunk, rest) = body.split_at(body.len().min(size));
            if !chunk.is_empty() {
                stream.extend_from_slice(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
                stream.extend_from_slice(chunk);
                stream.extend_from_slice(b"\r\n");
            }
            body = rest;
        }
        let trailers: String = trailers.iter().map(|field| format!("{field}{}", self.line_end)).collect();
        stream.extend_from_slice(format!("0{extension}\r\n{trailers}{}", self.line_end).as_bytes());
    }
}
