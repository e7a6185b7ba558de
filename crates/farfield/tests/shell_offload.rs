//! `farfield shell` with large packets: what a kernel sends many in one arrives as it was, whatever the path
//! does to each.
//!
//! Root is needed, and the programs; a test that lacks one skips by name.

mod common;

use common::Ended;
use common::wan::{Kind, Wan, find};
use std::fs;

/// Bytes of the file: some 12,000 packets.
const BYTES: usize = 16 << 20;

/// A server with a file whose bytes differ from place to place, and takes uploads to nowhere.
fn wan(test: &str) -> Option<Wan> {
    find(test, "curl")?;
    let wan = Wan::new(test, Kind::Nginx)?;
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
