//! Random conversations over a random network in virtual time. What has to come out follows from the order
//! in which segments were made, not from a second reassembly.

mod scene;

use farfield_capture::{Capture, TransactionState, UnixNs};
use farfield_wire::TcpFlags;
use proptest::prelude::*;
use scene::{CLIENT, SERVER, Scene, file, only, rebuilt};

/// A request and its reply.
#[derive(Debug, Clone)]
struct Exchange {
    head: bool,
    request_body: Option<usize>,
    /// Sizes of chunks, or a length.
    reply_body: Result<Vec<usize>, usize>,
    interim: bool,
    /// Sent together with the one before.
    pipelined: bool,
}

/// The cuts of a direction into segments, and the order in which these come: seeds of choices.
#[derive(Debug, Clone)]
struct Path {
    cuts: Vec<usize>,
    order: Vec<prop::sample::Index>,
    repeats: Vec<(prop::sample::Index, prop::sample::Index)>,
}

prop_compose! {
    fn exchange()(
        head: bool, request_body in prop::option::of(0usize..2_000),
        reply_body in prop_oneof![
            prop::collection::vec(1usize..3_000, 0..4).prop_map(Ok), (0usize..20_000).prop_map(Err),
        ],
        interim in prop::bool::weighted(0.2), pipelined in prop::bool::weighted(0.3),
    ) -> Exchange {
        Exchange { head, request_body, reply_body, interim, pipelined }
    }
}

prop_compose! {
    fn path()(
        cuts in prop::collection::vec(1usize..1_460, 1..20),
        order in prop::collection::vec(any::<prop::sample::Index>(), 20),
        repeats in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..4),
    ) -> Path {
        Path { cuts, order, repeats }
    }
}

impl Exchange {
    fn method(&self) -> &'static str {
        match (self.head, self.request_body) {
            (true, _) => "HEAD",
            (false, Some(_)) => "POST",
            (false, None) => "GET",
        }
    }

    fn request(&self, number: usize) -> Vec<u8> {
        let method = self.method();
        match self.request_body {
            Some(len) if !self.head => {
                let head = format!("{method} /{number} HTTP/1.1\r\nContent-Length: {len}\r\n\r\n");
                [head.as_bytes(), &vec![b'G'; len]].concat()
            }
            _ => format!("{method} /{number} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes(),
        }
    }

    /// The reply, and where its final head begins.
    fn reply(&self, number: usize) -> (Vec<u8>, usize) {
        let mut bytes = Vec::new();
        if self.interim {
            bytes.extend(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let begins = bytes.len();
        bytes.extend(format!("HTTP/1.1 {} x\r\n", 400 + number).as_bytes());
        match &self.reply_body {
            Ok(_) => bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n"),
            Err(len) => bytes.extend(format!("Content-Length: {len}\r\n\r\n").as_bytes()),
        }
        if self.head {
            return (bytes, begins);
        }
        match &self.reply_body {
            Ok(chunks) => {
                for &chunk in chunks {
                    bytes.extend(format!("{chunk:x}\r\n").as_bytes());
                    bytes.extend(vec![b'\n'; chunk]);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n\r\n");
            }
            Err(len) => bytes.extend(vec![b'H'; *len]),
        }
        (bytes, begins)
    }

    fn body_bytes(&self) -> u64 {
        match &self.reply_body {
            _ if self.head => 0,
            Ok(chunks) => chunks.iter().sum::<usize>() as u64,
            Err(len) => *len as u64,
        }
    }
}

/// The transaction that has to be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expected {
    request: (UnixNs, UnixNs),
    reply: (UnixNs, UnixNs),
    method: String,
    target: String,
    status: u16,
    body_bytes: u64,
    reply_bytes: u64,
    pipelined: bool,
}

impl Path {
    /// The ranges of `len` bytes in the order in which they are sent; each byte comes once at least.
    fn sent(&self, len: usize) -> Vec<(usize, usize)> {
        let mut ranges = Vec::new();
        let mut at = 0;
        for cut in self.cuts.iter().cycle() {
            if at == len {
                break;
            }
            let end = len.min(at + cut);
            ranges.push((at, end));
            at = end;
        }
        for (nth, index) in self.order.iter().enumerate().take(ranges.len()) {
            let other = index.index(ranges.len());
            // Neighbours change places more often than others.
            let next = (nth + 1) % ranges.len();
            ranges.swap(nth, if other % 3 == 0 { other } else { next });
        }
        for (from, to) in &self.repeats {
            let (from, to) = (from.index(len), to.index(len));
            let range = (from.min(to), from.max(to) + 1);
            ranges.insert(from % (ranges.len() + 1), (range.0, range.1.min(range.0 + 1_460)));
        }
        ranges
    }
}

/// Sends `bytes` along `path`; returns for each byte the instant at which it was first sent, and for each
/// the instant at which it and all before it had been.
fn send(scene: &mut Scene, from: farfield_capture::Side, bytes: &[u8], path: &Path) -> (Vec<u64>, Vec<u64>) {
    let own = usize::from(from == SERVER);
    scene.acked[own] = scene.seq[1 - own];
    let base = scene.seq[own];
    let mut first = vec![u64::MAX; bytes.len()];
    let mut whole = 0;
    let mut available = Vec::new();
    for (start, end) in path.sent(bytes.len()) {
        // Far enough apart that a repetition is no duplicate of the capture.
        scene.pass(150_000);
        scene.seq[own] = base.wrapping_add(start as u32);
        scene.send_again(from, 0, TcpFlags(0x18), &bytes[start..end]);
        first[start..end].iter_mut().for_each(|at| *at = (*at).min(scene.now));
        while whole < bytes.len() && first[whole] != u64::MAX {
            available.push(scene.now);
            whole += 1;
        }
        scene.seq[own] = base.wrapping_add(bytes.len() as u32);
        // The other end acknowledges what it has.
        scene.acked[1 - own] = base.wrapping_add(whole as u32);
        scene.send_again(if own == 0 { SERVER } else { CLIENT }, 0, TcpFlags::ACK, b"");
    }
    (first, available)
}

/// A conversation, and what has to be rebuilt of it.
fn played(exchanges: &[Exchange], paths: &[Path], seq: [u32; 2]) -> (Scene, Vec<Expected>) {
    let mut scene = Scene::new();
    (scene.seq, scene.acked) = (seq, [seq[1], seq[0]]);
    scene.handshake();
    let mut expected = Vec::new();
    let mut paths = paths.iter().cycle();
    let mut number = 0;
    while number < exchanges.len() {
        let together = 1 + exchanges[number + 1..].iter().take_while(|it| it.pipelined).count();
        let turn = number..number + together;
        let requests: Vec<Vec<u8>> = turn.clone().map(|nth| exchanges[nth].request(nth)).collect();
        let replies: Vec<(Vec<u8>, usize)> = turn.clone().map(|nth| exchanges[nth].reply(nth)).collect();
        let (sent, _) = send(&mut scene, CLIENT, &requests.concat(), paths.next().unwrap());
        let all: Vec<u8> = replies.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let (_, read) = send(&mut scene, SERVER, &all, paths.next().unwrap());
        let (mut asked, mut answered) = (0, 0);
        for (nth, (request, (reply, begins))) in turn.clone().zip(requests.iter().zip(&replies)) {
            let own = &sent[asked..asked + request.len()];
            expected.push(Expected {
                // The request's last packet is the latest of those that brought something of it.
                request: (UnixNs(own[0]), UnixNs(own.iter().copied().max().unwrap())),
                reply: (UnixNs(read[answered + begins]), UnixNs(read[answered + reply.len() - 1])),
                method: exchanges[nth].method().to_owned(),
                target: format!("/{nth}"),
                status: 400 + nth as u16,
                body_bytes: exchanges[nth].body_bytes(),
                reply_bytes: reply.len() as u64,
                pipelined: nth > turn.start,
            });
            asked += request.len();
            answered += reply.len();
        }
        number = turn.end;
    }
    scene.close();
    (scene, expected)
}

fn of(capture: &Capture) -> Vec<(TransactionState, Expected)> {
    let of = |it: &farfield_capture::Transaction| {
        let reply = (it.reply_first.unwrap_or_default(), it.reply_last.unwrap_or_default());
        let expected = Expected {
            request: (it.request_first, it.request_last),
            reply,
            method: it.method.clone(),
            target: it.target.clone(),
            status: it.status,
            body_bytes: it.body_bytes,
            reply_bytes: it.reply_bytes,
            pipelined: it.pipelined,
        };
        (it.state, expected)
    };
    capture.transactions.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn conversations_are_rebuilt_exactly(
        exchanges in prop::collection::vec(exchange(), 1..6), paths in prop::collection::vec(path(), 1..5),
        seq: [u32; 2],
    ) {
        let (scene, expected) = played(&exchanges, &paths, seq);
        let capture = scene.rebuilt();
        let expected: Vec<_> = expected.into_iter().map(|it| (TransactionState::Complete, it)).collect();
        prop_assert_eq!(of(&capture), expected);
        let connection = only(&capture);
        let bytes = |nth: usize| u64::from(scene.seq[nth].wrapping_sub(seq[nth]).wrapping_sub(2));
        prop_assert_eq!((connection.client_side.bytes, connection.server_side.bytes), (bytes(0), bytes(1)));
        prop_assert_eq!(capture.limits.missing_bytes, 0);
        prop_assert_eq!(connection.requests as usize, exchanges.len());
    }

    /// Packets are missing from the capture. What is called complete is what was asked and answered, and
    /// nothing is twice in the result.
    #[test]
    fn what_a_lossy_capture_calls_complete_is_true(
        exchanges in prop::collection::vec(exchange(), 1..6), paths in prop::collection::vec(path(), 1..5),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 1..6), from in 0usize..8, seq: [u32; 2],
    ) {
        let (scene, expected) = played(&exchanges, &paths, seq);
        let mut packets = scene.ip_packets();
        for index in lost {
            packets.remove(index.index(packets.len()));
        }
        let capture = rebuilt(&file(&packets[from.min(packets.len())..], 0));
        let complete: Vec<_> = of(&capture).into_iter().filter(|(state, _)| *state == TransactionState::Complete).collect();
        let mut last = None;
        for (_, rebuilt) in &complete {
            let nth: usize = rebuilt.target[1..].parse().expect("a target that was asked for");
            prop_assert!(last.is_none_or(|last| last < nth), "each once, in order");
            last = Some(nth);
            let expected = &expected[nth];
            prop_assert_eq!(rebuilt.status, expected.status, "{:#?}", of(&capture));
            prop_assert_eq!(rebuilt.body_bytes, expected.body_bytes);
            prop_assert_eq!(&rebuilt.method, &expected.method);
        }
        let states = of(&capture);
        prop_assert!(states.iter().all(|(state, _)| *state != TransactionState::NotHttp), "{:?}", states);
    }
}
