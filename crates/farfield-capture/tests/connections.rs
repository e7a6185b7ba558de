//! Connections: handshakes, order, loss, ends. Every count is known from how the packets were made.

mod scene;

use farfield_capture::{End, Options, Side, TransactionState, UnixNs, read};
use farfield_wire::TcpFlags;
use scene::{CLIENT, GET, SERVER, Scene, at, file, only, outcomes, rebuilt, reply};

const DATA: TcpFlags = TcpFlags(0x18);

#[test]
fn a_plain_exchange_has_the_instants_of_its_packets() {
    for v6 in [false, true] {
        let mut scene = Scene::open();
        scene.v6 = v6;
        scene.say(CLIENT, GET).ack(SERVER).say(SERVER, &reply(30)).say(SERVER, b"").close();
        let capture = scene.rebuilt();
        let connection = only(&capture);
        assert_eq!(connection.client.port(), 40_000);
        assert_eq!(connection.server.port(), 80);
        assert_eq!(
            (connection.syn, connection.syn_ack, connection.established),
            (Some(at(1)), Some(at(2)), Some(at(3)))
        );
        assert!(connection.seen_from_start && connection.syn_tries == 1);
        assert_eq!((connection.first, connection.last), (at(1), at(10)));
        assert_eq!(connection.end, End::Fin { side: Side::Client, at: at(8), simultaneous: false });
        assert_eq!((connection.client_side.bytes, connection.client_side.packets), (GET.len() as u64, 5));
        assert_eq!((connection.server_side.bytes, connection.server_side.packets), (30 + 39, 5));
        assert_eq!(connection.requests, 1);
        let transaction = &capture.transactions[0];
        assert_eq!((transaction.request_first, transaction.request_last), (at(4), at(4)));
        assert_eq!((transaction.reply_first, transaction.reply_last), (Some(at(6)), Some(at(6))));
        assert_eq!((transaction.method.as_str(), transaction.target.as_str()), ("GET", "/a"));
        assert_eq!(outcomes(&capture), [(TransactionState::Complete, 200, 30, 69)]);
        assert_eq!(capture.limits.missing_bytes + capture.limits.packets_stray, 0);
    }
}

/// Bytes of the reply behind a hole cannot be read before the hole is filled; bytes of the request were
/// written when they were first sent.
#[test]
fn replies_count_when_they_can_be_read_and_requests_when_they_were_sent() {
    let body = reply(3000);
    let mut scene = Scene::open();
    scene.say(CLIENT, &GET[..10]).unseen(CLIENT, b"").say(CLIENT, &GET[10..]);
    scene.pass(5_000_000).send_again(CLIENT, GET.len() as u32, DATA, &GET[..10]); // at 5006
    scene.say(SERVER, &body[..1000]).unseen(SERVER, &body[1000..2000]).say(SERVER, &body[2000..]);
    let last = scene.now;
    scene.pass(9_000_000).send_again(SERVER, 2041, DATA, &body[1000..2000]);
    let filled = scene.now;
    let capture = scene.rebuilt();
    let transaction = &capture.transactions[0];
    assert_eq!((transaction.request_first, transaction.request_last), (at(4), at(6)));
    assert_eq!(transaction.reply_first, Some(UnixNs(last - 2_000)));
    assert_eq!(transaction.reply_last, Some(UnixNs(filled)), "not {last}");
    assert_eq!(transaction.state, TransactionState::Complete);
    let connection = only(&capture);
    assert_eq!((connection.client_side.retransmissions, connection.client_side.out_of_order), (1, 0));
    assert_eq!((connection.server_side.retransmissions, connection.server_side.out_of_order), (1, 0));
    assert_eq!(connection.server_side.bytes, body.len() as u64);
    assert_eq!(connection.server_side.missing_bytes, 0);
}

/// A segment that fills a hole within a round trip of the handshake (here 2 µs) was overtaken, unless
/// duplicate ACKs asked for it.
#[test]
fn overtaken_segments_are_out_of_order() {
    let body = reply(3000);
    let swapped = |asked: u32| {
        let mut scene = Scene::open();
        scene.packets[2].at += 500_000; // the handshake takes a while
        scene.pass(500_000).say(CLIENT, GET).say(SERVER, &body[..1000]).ack(CLIENT);
        scene.unseen(SERVER, &body[1000..2000]).say(SERVER, &body[2000..]);
        for _ in 0..asked {
            scene.send_again(CLIENT, 0, TcpFlags::ACK, b"");
        }
        scene.send_again(SERVER, 2041, DATA, &body[1000..2000]);
        let capture = scene.rebuilt();
        assert_eq!(outcomes(&capture), [(TransactionState::Complete, 200, 3000, 3041)]);
        let side = only(&capture).server_side;
        (side.out_of_order, side.retransmissions)
    };
    assert_eq!(swapped(0), (1, 0));
    assert_eq!(swapped(2), (0, 1));
}

#[test]
fn repeated_overlapping_and_probing_segments_change_no_byte() {
    let body = reply(100);
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &body[..60]);
    scene.pass(300_000).send_again(SERVER, 60, DATA, &body[..60]); // again
    scene.send_again(SERVER, 30, DATA, &body[30..90]); // half of it again
    scene.seq[1] = scene.seq[1].wrapping_add(30);
    scene.say(SERVER, &body[90..]).ack(CLIENT);
    scene.send_again(SERVER, 1, TcpFlags::ACK, b"x"); // keep-alive with a byte of garbage
    scene.send_again(CLIENT, 1, TcpFlags::ACK, b""); // and without one
    let capture = scene.rebuilt();
    assert_eq!(outcomes(&capture), [(TransactionState::Complete, 200, 100, 140)]);
    let (client, server) = (only(&capture).client_side, only(&capture).server_side);
    assert_eq!((server.retransmissions, server.keep_alives, server.bytes), (2, 1, 140));
    assert_eq!((client.retransmissions, client.keep_alives), (0, 1));
}

#[test]
fn probes_of_a_closed_window_are_no_retransmissions() {
    let body = reply(100);
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &body[..60]);
    scene.window[0] = 0;
    scene.ack(CLIENT);
    scene.send_again(SERVER, 0, TcpFlags::ACK, &body[60..61]);
    scene.send_again(CLIENT, 0, TcpFlags::ACK, b"");
    scene.window[0] = 1000;
    scene.ack(CLIENT).say(SERVER, &body[60..]);
    let capture = scene.rebuilt();
    assert_eq!(outcomes(&capture), [(TransactionState::Complete, 200, 100, 140)]);
    let server = only(&capture).server_side;
    assert_eq!((server.window_probes, server.retransmissions, server.out_of_order), (1, 0, 0));
}

#[test]
fn handshakes_that_were_tried_again() {
    let mut scene = Scene::new();
    scene.send(CLIENT, TcpFlags::SYN, b"");
    scene.pass(1_000_000_000).send_again(CLIENT, 1, TcpFlags::SYN, b"");
    let second = scene.now;
    scene.send(SERVER, TcpFlags(0x12), b"");
    scene.pass(1_000_000_000).send_again(SERVER, 1, TcpFlags(0x12), b"");
    let acknowledged = scene.now;
    scene.ack(CLIENT);
    let capture = scene.rebuilt();
    let connection = only(&capture);
    assert_eq!((connection.syn, connection.syn_tries), (Some(at(1)), 2));
    assert_eq!(connection.syn_ack, Some(UnixNs(acknowledged)));
    assert_eq!(connection.established, Some(UnixNs(acknowledged + 1_000)));
    assert_eq!(connection.end, End::Open);
    assert!(second > 0 && capture.transactions.is_empty());
}

/// A FIN from before the handshake belongs to other sequence numbers, and ends nothing of what follows.
#[test]
fn a_direction_that_begins_anew_forgets_what_was_before() {
    let body = reply(200);
    let mut scene = Scene::new();
    scene.send_again(SERVER, 5_000, TcpFlags::FIN | TcpFlags::PSH, b"x");
    scene.send(CLIENT, TcpFlags::SYN, b"").send(SERVER, TcpFlags(0x12), b"").ack(CLIENT);
    scene.say(CLIENT, GET).say(SERVER, &body[..100]);
    scene.unseen(SERVER, &body[100..120]).say(SERVER, &body[120..]).ack(CLIENT);
    let capture = scene.rebuilt();
    let connection = only(&capture);
    assert_eq!(connection.server_side.missing_bytes, 20);
    assert_eq!(connection.end, End::Open);
    assert_eq!(capture.transactions[0].status, 200);
}

#[test]
fn a_refused_connection_is_reset_by_the_server() {
    let mut scene = Scene::new();
    scene.send(CLIENT, TcpFlags::SYN, b"").send(SERVER, TcpFlags(0x14), b"");
    let capture = scene.rebuilt();
    let connection = only(&capture);
    assert_eq!(connection.end, End::Reset { side: Side::Server, at: at(2) });
    assert_eq!((connection.established, connection.requests), (None, 0));
    assert_eq!(connection.server_side.rst, Some(at(2)));
}

#[test]
fn who_closed_first_and_how() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(5));
    scene.send(SERVER, TcpFlags(0x11), b"").ack(CLIENT).send(CLIENT, TcpFlags(0x11), b"").ack(SERVER);
    let end = only(&scene.rebuilt()).end;
    assert_eq!(end, End::Fin { side: Side::Server, at: at(6), simultaneous: false });

    // Both FINs on their way at once: the second acknowledges what was before the first.
    let mut scene = Scene::open();
    scene.send(CLIENT, TcpFlags(0x11), b"");
    scene.send_again(SERVER, 0, TcpFlags(0x11), b"");
    scene.seq[1] = scene.seq[1].wrapping_add(1);
    scene.ack(CLIENT).ack(SERVER);
    let capture = scene.rebuilt();
    assert_eq!(only(&capture).end, End::Fin { side: Side::Client, at: at(4), simultaneous: true });
    assert_eq!(only(&capture).server_side.fin, Some(at(5)));

    // A client that closes without reading the rest resets.
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(100)[..50]).send(CLIENT, TcpFlags(0x14), b"");
    let capture = scene.rebuilt();
    assert_eq!(only(&capture).end, End::Reset { side: Side::Client, at: at(6) });
    assert_eq!(outcomes(&capture), [(TransactionState::Truncated, 200, 10, 50)]);
}

#[test]
fn a_new_syn_on_the_same_ports_is_another_connection() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(5)).close();
    scene.seq = [7_000, 9_000];
    scene.handshake();
    scene.say(CLIENT, GET).say(SERVER, &reply(6)).close();
    // And one whose predecessor never closed.
    scene.seq = [70_000, 90_000];
    scene.handshake();
    scene.say(CLIENT, GET).say(SERVER, &reply(7));
    scene.seq = [170_000, 190_000];
    scene.handshake();
    let capture = scene.rebuilt();
    assert_eq!(capture.connections.len(), 4);
    let numbers: Vec<_> =
        capture.transactions.iter().map(|it| (it.connection, it.number, it.body_bytes)).collect();
    assert_eq!(numbers, [(0, 0, 5), (1, 0, 6), (2, 0, 7)]);
    assert_eq!(capture.connections[2].end, End::Open);
}

#[test]
fn late_packets_of_a_closed_connection_begin_no_other() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(5)).close();
    scene.pass(300_000).send_again(SERVER, 1, TcpFlags(0x11), b"");
    scene.send_again(CLIENT, 0, TcpFlags::ACK, b"");
    let capture = scene.rebuilt();
    assert_eq!(only(&capture).server_side.retransmissions, 1);
    assert_eq!(capture.limits.packets_stray, 0);
}

/// The capture lacks a part of a body: its length is known, so the next reply is found.
#[test]
fn a_hole_in_a_body_is_counted_and_passed() {
    let body = reply(3000);
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &body[..1000]).unseen(SERVER, &body[1000..2000]);
    scene.say(SERVER, &body[2000..]).ack(CLIENT);
    scene.say(CLIENT, GET).say(SERVER, &reply(5));
    let capture = scene.rebuilt();
    assert_eq!(
        outcomes(&capture),
        [(TransactionState::Lossy, 200, 3000, 3041), (TransactionState::Complete, 200, 5, 43)]
    );
    assert_eq!(only(&capture).server_side.missing_bytes, 1000);
    assert_eq!(capture.limits.missing_bytes, 1000);
    assert_eq!(capture.limits.http_resynchronised, 0);
}

#[test]
fn lost_heads_are_lossy_transactions_and_the_next_ones_are_found() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).unseen(SERVER, &reply(10)).ack(CLIENT); // the whole reply
    scene.say(CLIENT, GET).say(SERVER, &reply(20)).ack(CLIENT);
    scene.unseen(CLIENT, GET).say(SERVER, &reply(30)); // the whole request
    scene.say(CLIENT, GET).say(SERVER, &reply(40));
    let capture = scene.rebuilt();
    let bodies: Vec<_> = capture.transactions.iter().map(|it| (it.number, it.state, it.body_bytes)).collect();
    let (lossy, complete) = (TransactionState::Lossy, TransactionState::Complete);
    assert_eq!(bodies, [(0, lossy, 0), (1, complete, 20), (2, lossy, 0), (3, complete, 40)]);
    let third = &capture.transactions[2];
    assert_eq!((third.method.as_str(), third.status), ("", 200), "its request was not captured");
    assert_eq!(third.reply_bytes, 69, "and may have been HEAD, so that its body is not known as one");
}

#[test]
fn a_capture_that_begins_in_the_middle() {
    let body = reply(3000);
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &body[..1000]);
    scene.packets.clear();
    scene.say(SERVER, &body[1000..2000]).ack(CLIENT).say(SERVER, &body[2000..]).ack(CLIENT);
    scene.say(CLIENT, b"POST /x HTTP/1.1\r\nContent-Length: 2\r\n\r\nab").say(SERVER, &reply(5));
    scene.say(CLIENT, GET).say(SERVER, &reply(6)).close();
    let capture = scene.rebuilt();
    let connection = only(&capture);
    assert!(!connection.seen_from_start && connection.syn.is_none() && connection.syn_tries == 0);
    assert_eq!(connection.server.port(), 80, "the end that sends replies");
    // The first reply might be to a request from before the capture, that was pipelined.
    assert_eq!(
        outcomes(&capture),
        [(TransactionState::Lossy, 200, 5, 43), (TransactionState::Complete, 200, 6, 44)]
    );
    assert_eq!(capture.transactions[0].method, "POST");
    assert_eq!((capture.limits.mid_stream, capture.limits.roles_guessed), (1, 0));
    assert_eq!(connection.server_side.missing_bytes, 0, "what was before the capture is not missing in it");
}

/// A reply whose request was before the capture is not given to the one that was sent meanwhile.
#[test]
fn a_reply_from_before_the_capture_is_nobodys() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET);
    scene.packets.clear();
    scene.say(CLIENT, b"GET /b HTTP/1.1\r\n\r\n");
    let behind = scene.acked[1];
    scene.say(SERVER, &reply(1));
    let last = scene.packets.last_mut().unwrap();
    last.repr.ack = farfield_wire::SeqNumber(behind); // the server had not seen /b yet
    scene.say(SERVER, &reply(2));
    let capture = scene.rebuilt();
    assert_eq!(outcomes(&capture), [(TransactionState::Lossy, 200, 2, 40)]);
    assert_eq!(capture.limits.replies_unasked, 1);
}

#[test]
fn one_direction_alone() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(5)).unseen(CLIENT, GET).say(SERVER, &reply(6));
    scene.say(CLIENT, b"PUT /b HTTP/1.1\r\n\r\n").say(SERVER, &reply(7)).close();
    scene.packets.retain(|packet| packet.from == CLIENT);
    let capture = scene.rebuilt();
    let of = |it: &farfield_capture::Transaction| (it.state, it.method.clone(), it.request_first);
    let asked: Vec<_> = capture.transactions.iter().map(of).collect();
    let lossy = |method: &str, step| (TransactionState::Lossy, method.to_owned(), at(step));
    assert_eq!(asked, [lossy("GET", 4), lossy("", 8), lossy("PUT", 8)]);
    assert_eq!(only(&capture).client_side.missing_bytes, GET.len() as u64);
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(5)).say(CLIENT, GET).say(SERVER, &reply(6)).close();
    scene.packets.retain(|packet| packet.from == SERVER);
    let capture = scene.rebuilt();
    assert_eq!(only(&capture).server.port(), 80);
    assert_eq!(capture.transactions.len(), 2, "{:?}", capture.transactions);
    assert!(
        capture.transactions.iter().all(|it| it.state == TransactionState::Lossy && it.method.is_empty())
    );
}

#[test]
fn servers_are_distinguished() {
    let mut all = Vec::new();
    for port in [80, 81] {
        let mut scene = Scene::new();
        scene.ports.1 = port;
        scene.handshake();
        scene.say(CLIENT, GET).say(SERVER, &reply(usize::from(port))).close();
        all.extend(scene.ip_packets());
    }
    let file = file(&all, 0);
    assert_eq!(rebuilt(&file).connections.len(), 2);
    let mut options = Options::default();
    options.server.port = Some(81);
    let capture = read(&file[..], &options).unwrap();
    assert_eq!(outcomes(&capture), [(TransactionState::Complete, 200, 81, 120)]);
    assert_eq!(capture.limits.packets_filtered, 8);
    options.server.port = Some(40_000);
    let capture = read(&file[..], &options).unwrap();
    assert!(capture.connections.is_empty(), "a SYN says who is server: {capture:?}");
    assert_eq!(capture.limits.packets_filtered, 16);
}

/// Damaged data (a wrong checksum where checksums were right before) did not reach its receiver.
#[test]
fn damaged_packets_are_no_data() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(100)).pass(300_000_000);
    scene.send_again(SERVER, 140, DATA, &reply(100)).ack(CLIENT);
    let mut packets = scene.ip_packets();
    let index = 4;
    *packets[index].1.last_mut().unwrap() ^= 0x55;
    let capture = rebuilt(&file(&packets, 0));
    assert_eq!(capture.transactions[0].reply_last, Some(UnixNs(300_006_000)));
    assert_eq!(capture.limits.packets_damaged, 1);

    // Offload leaves the sum of the pseudo-header, or 0; without a right one before, nothing is damage.
    for packet in &mut packets {
        packet.1[36] ^= 0x11;
    }
    let capture = rebuilt(&file(&packets, 0));
    assert_eq!(capture.limits.packets_damaged, 0);
    assert_eq!(capture.transactions[0].reply_last, Some(UnixNs(5_000)));
}

/// A packet on two interfaces of the "any" kind, some microseconds apart.
#[test]
fn packets_that_were_captured_twice_count_once() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(100)).close();
    let twice: Vec<_> = scene
        .ip_packets()
        .into_iter()
        .enumerate()
        .flat_map(|(nth, (at, mut bytes))| {
            bytes[5] = nth as u8 + 1; // an identification, and a checksum of the header that nobody reads
            let mut again = bytes.clone();
            again[8] -= 1; // one hop later
            [(at, bytes), (at + 300, again)]
        })
        .collect();
    let (once, twice) = (scene.rebuilt(), rebuilt(&file(&twice, 0)));
    assert_eq!(twice.connections, once.connections);
    assert_eq!(twice.transactions, once.transactions);
    assert_eq!(twice.limits.packets_duplicate, scene.packets.len() as u64);
}

#[test]
fn memory_for_what_waits_is_bounded() {
    let body = reply(100_000);
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).unseen(SERVER, &body[..1000]);
    body[1000..].chunks(1000).for_each(|chunk| {
        scene.say(SERVER, chunk);
    });
    let options = Options { waiting_bytes_max: 10_000, ..Options::default() };
    let capture = read(&scene.file()[..], &options).unwrap();
    assert_eq!(capture.limits.holes_given_up, 1);
    assert_eq!(only(&capture).server_side.missing_bytes, 1000);
    assert_eq!(capture.transactions[0].state, TransactionState::Lossy);
}

/// The FIN takes the number before what waits, and more comes than may wait: a crafted file of a few packets,
/// cut behind their headers, must end like any other.
#[test]
fn a_fin_before_what_waits_holds_nothing_up() {
    for (from, first_hole, snap_len) in [(SERVER, 0, 0), (CLIENT, 0, 40), (SERVER, 3, 40), (CLIENT, 7, 0)] {
        let mut scene = Scene::open();
        scene.say(CLIENT, GET);
        let own = usize::from(from == SERVER);
        let base = scene.seq[own];
        let mut send_at = |offset: u32, flags: TcpFlags, data: &[u8]| {
            scene.seq[own] = base.wrapping_add(offset);
            scene.pass(150_000).send_again(from, 0, flags, data);
        };
        for nth in 0..10 {
            send_at(1 + first_hole + nth * 1_000, DATA, &[b'x'; 1_000]);
        }
        send_at(first_hole, TcpFlags::FIN | TcpFlags::ACK, b"");
        for nth in 0..5 {
            send_at(20_000 + nth * 2_000, DATA, &[b'y'; 1_000]);
        }
        send_at(0, DATA, &b"abcdefg"[..first_hole as usize]);
        let options = Options { waiting_bytes_max: 10_000, ..Options::default() };
        let capture = read(&file(&scene.ip_packets(), snap_len)[..], &options).unwrap();
        let connection = only(&capture);
        let side = if from == SERVER { connection.server_side } else { connection.client_side };
        assert!(side.bytes >= 10_000 && side.fin.is_some(), "{side:?}");
    }
}

#[test]
fn too_many_open_connections_leave_and_are_counted() {
    let mut packets = Vec::new();
    for port in 0..100 {
        let mut scene = Scene::new();
        scene.now = u64::from(port) * 1_000_000;
        scene.ports.0 = 20_000 + port;
        scene.handshake();
        scene.say(CLIENT, GET).say(SERVER, &reply(9));
        packets.extend(scene.ip_packets());
    }
    let options = Options { open_max: 10, ..Options::default() };
    let capture = read(&file(&packets, 0)[..], &options).unwrap();
    assert_eq!((capture.connections.len(), capture.limits.connections_evicted), (100, 90));
    assert_eq!(outcomes(&capture), vec![(TransactionState::Complete, 200, 9, 47); 100]);
    assert!(capture.connections.iter().enumerate().all(|(index, it)| it.id as usize == index));
}
