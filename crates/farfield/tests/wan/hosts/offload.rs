//! `farfield shell` with large packets: what a kernel sends many in one arrives as it was, whatever the path
//! does to each.
//!
//! Root is needed, and the programs; a test that lacks one skips by name.

use crate::common::wan::{DebianServer, Wan, find, may_build};
use crate::common::{Ended, Place};
use std::fs;

/// Bytes of the file: some 12,000 packets.
const BYTES: usize = 16 << 20;

/// A server with a file whose bytes differ from place to place, and takes uploads to nowhere.
fn wan(test: &str) -> Option<Wan> {
    find(test, "curl")?;
    let wan = Wan::new(test, DebianServer::Nginx)?;
    let content: Vec<u8> = (0..BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    wan.place.write("www/file", content);
    Some(wan)
}

/// Fetches the file behind what `words` say, and compares it; returns what farfield said.
#[track_caller]
fn fetched(wan: &Wan, words: &[&str]) -> Ended {
    let (home, got) = (wan.place.path(""), wan.place.path("got"));
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    let server = format!("nginx -p {home} -c {home}/server.conf -e stderr");
    let mut all = vec!["shell", "--server", &server];
    all.extend(words);
    let got_path = got.to_str().expect("a plain path");
    all.extend(["--", "curl", "-sS", "-m", "250", "-o", got_path, "http://server/file"]);
    let ended = wan.place.farfield_with(&all).exits(0);
    let (sent, received) = (fs::read(wan.place.path("www/file")), fs::read(&got));
    assert!(sent.expect("own file") == received.expect("a file"), "it is not what was sent: {ended:?}");
    ended
}

/// A scenario with one class of clients, of these keys.
fn scenario(wan: &Wan, class: &str) -> String {
    let text =
        format!("plane = 'emulated'\n[network]\nclients = 1\n[[network.class]]\nname = 'home'\n{class}\n");
    wan.place.write("home.toml", text).to_str().expect("a plain path").to_owned()
}

/// Packets down, as farfield said.
fn packets_down(ended: &Ended) -> usize {
    let line = ended.stderr.lines().find(|line| line.contains("packets up and")).expect("counts");
    let (_, down) = line.split_once(" up and ").expect("counts");
    down.split_whitespace().next().and_then(|down| down.parse().ok()).expect("a number")
}

/// Large packets count as their packets: at an MTU of 1,500 each has 1,448 B of data at most.
#[test]
fn a_file_arrives_whole_where_large_packets_pass_whole() {
    let test = "a_file_arrives_whole_where_large_packets_pass_whole";
    let Some(wan) = wan(test) else { return };
    let ended = fetched(&wan, &["--rtt", "1ms"]);
    assert!(packets_down(&ended) >= BYTES / 1_448, "{ended:?}");
    assert!(!ended.stderr.contains("refused"), "{ended:?}");
    let without = fetched(&wan, &["--rtt", "1ms", "--set", "network.offload=false"]);
    assert!(packets_down(&without) >= BYTES / 1_448, "{without:?}");
}

/// Where the path drops, delays and damages packets one by one, TCP mends it, and what was dropped is said.
#[test]
fn a_file_arrives_whole_where_its_packets_are_cut() {
    let test = "a_file_arrives_whole_where_its_packets_are_cut";
    let Some(wan) = wan(test) else { return };
    let class = "up = { delay = '2ms', rate = '50Mbit' }
        [network.class.down]\ndelay = '2ms'\nrate = '200Mbit'\nqueue = '60 packets'\nloss = '0.2%'\ncorrupt = '0.1%'
        jitter = { distribution = 'exponential', mean = '200us' }";
    let scenario = scenario(&wan, class);
    let ended = fetched(&wan, &["--scenario", &scenario]);
    assert!(packets_down(&ended) > BYTES / 1_448, "some were sent again: {ended:?}");
    assert!(ended.stderr.contains(" lost"), "{ended:?}");
}

/// A link whose MTU is below Ethernet's, behind an interface that does not know: the router says so, and the
/// kernel makes its packets smaller.
#[test]
fn large_packets_learn_of_a_small_mtu() {
    let test = "large_packets_learn_of_a_small_mtu";
    let Some(wan) = wan(test) else { return };
    let scenario = scenario(&wan, "down = { delay = '2ms', mtu = 1300 }\nup = { delay = '2ms' }");
    let ended = fetched(&wan, &["--scenario", &scenario]);
    assert!(ended.stderr.contains("too big"), "{ended:?}");
    assert!(packets_down(&ended) > BYTES / 1_300, "{ended:?}");
}

/// A server that keeps every datagram that comes, and hands a list of them to whoever connects: the sender's
/// port and the data, in hexadecimal digits.
const KEEPS_DATAGRAMS: &str = r#"
import socket, threading
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
udp.bind(("", 80))
kept = []
def keep():
    while True:
        data, (_, port) = udp.recvfrom(2048)
        kept.append(f"{port} {data.hex()}")
threading.Thread(target=keep, daemon=True).start()
tcp = socket.create_server(("", 80))
while True:
    connection, _ = tcp.accept()
    connection.sendall("\n".join(kept).encode())
    connection.close()
"#;

/// A client of two sockets that sends datagrams of many lengths in bursts, and compares what has come.
const SENDS_DATAGRAMS: &str = r#"
import socket, time, os
host, port = os.environ["FARFIELD_SERVER"].rsplit(":", 1)
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
sent = {}
for one in sockets:
    one.connect((host, int(port)))
    sent[str(one.getsockname()[1])] = []
number = 0
for burst in range(60):
    # Now from one socket, now from both in turn; of one length, of two, and of many.
    for nth in range(50):
        one = sockets[nth % 2 if burst % 3 == 0 else burst % 2]
        length = [64, 64 if nth % 7 else 10, 4 + nth * 20][burst % 3 if burst % 2 else 0]
        data = number.to_bytes(4, "big") + b"f" * length
        number += 1
        one.send(data)
        sent[str(one.getsockname()[1])].append(data.hex())
    time.sleep(0.002)
for _ in range(100):
    with socket.create_connection((host, int(port))) as tcp:
        text = b"".join(iter(lambda: tcp.recv(1 << 16), b"")).decode()
    got = {}
    for line in text.splitlines():
        source, data = line.split(" ")
        got.setdefault(source, []).append(data)
    if got == sent:
        break
    time.sleep(0.05)
print("as sent" if got == sent else f"{len(text.splitlines())} of {number}, or in another order")
"#;

/// Datagrams that were sent one by one arrive so, of the lengths and in the order in which each socket sent
/// them, though those that leave together are handed to the kernel as one.
#[test]
fn datagrams_arrive_as_they_were_sent() {
    let test = "datagrams_arrive_as_they_were_sent";
    if !may_build(test) || find(test, "python3").is_none() {
        return;
    }
    let place = Place::new();
    place.write("keeps.py", KEEPS_DATAGRAMS);
    place.write("sends.py", SENDS_DATAGRAMS);
    for flags in ["", " --set network.offload=false", " --set network.gateway=packet"] {
        let words = format!("shell --rtt 2ms{flags} --server");
        let mut words: Vec<&str> = words.split_whitespace().collect();
        words.extend(["python3 keeps.py", "--", "python3", "sends.py"]);
        let ended = place.farfield_with(&words).exits(0);
        assert_eq!(ended.stdout, "as sent\n", "{flags}: {ended:?}");
    }
}
