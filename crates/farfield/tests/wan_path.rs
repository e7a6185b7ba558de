//! The network as the server sees it: what `ping`, `traceroute` and `tracepath`, run beside the server, find
//! between it and the clients.

mod common;

use common::wan::{Kind, Wan, find};
use common::{Signal, alone, poll};
use farfield_base::Outcome;
use farfield_measure::Summary;
use std::fs;
use std::process::Command;

/// One request of each user at the start, then silence.
const SILENCE: &str = "
[load]
model = 'closed'
users = 3
think = '1h'
ramp = '0s'
[[requests.request]]
path = '/64k'
[run]
warm-up = '0s'
duration = '1h'
drain = '0s'
";

/// The round trips of classes of one client each, in milliseconds; class i is in 198.18.i.0/24.
const ROUND_TRIPS: [u32; 5] = [1, 5, 20, 100, 500];

/// Three ways that part at the second router: one that is long and narrows to 1,400 bytes on the way, one
/// whose last link takes 576 bytes, and one of IPv6's least.
const GRAPH: &str = "
[[network.class]]
name = 'far'
hosts = ['far']
addresses = '198.18.0.0/24'
[[network.class]]
name = 'thin'
hosts = ['thin']
addresses = '198.18.1.0/24'
[[network.class]]
name = 'six'
hosts = ['six']
addresses = '2001:2:0:1::/64'
[network.topology]
hosts = ['server', 'far', 'thin', 'six']
routers = ['first', 'second', 'third']
links = [
    { from = 'server', to = 'first', link = { delay = '1ms' } },
    { from = 'first', to = 'second', link = { delay = '3ms' } },
    { from = 'second', to = 'third', link = { delay = '6ms', mtu = 1400 } },
    { from = 'third', to = 'far', link = { delay = '10ms' } },
    { from = 'second', to = 'thin', link = { delay = '2ms', mtu = 576 } },
    { from = 'second', to = 'six', link = { delay = '2ms', mtu = 1280 } },
]
";

/// Runs `scenario` with nginx, and `lines` of shell beside it once clients are there; returns what these
/// said, and the run's summary.
fn say(test: &str, lines: &str, scenario: &str) -> Option<(String, Summary)> {
    let wan = Wan::new(test, Kind::Nginx)?;
    let [go, said, through] = ["go", "said", "through"].map(|name| wan.place.path(name));
    assert!(Command::new("mkfifo").arg(&go).status().expect("mkfifo").success());
    let [read, write, end] = [&go, &said, &through].map(|path| path.display().to_string());
    let wan = wan.beside(&format!("(read _ < {read}; ({lines}) > {write} 2>&1; touch {end})"));
    let running = wan.begin(scenario, "");
    running.await_checkpoint();
    // Opened, the pipe lets go of who reads it.
    fs::write(go, "\n").expect("a pipe");
    poll("what runs beside the server to be through", || through.exists().then_some(()));
    running.signal(Signal::INT);
    let summary = running.ended().exits(130).summary();
    Some((wan.read("said"), summary))
}

/// The numbers that stand before ` ms` in a line.
fn milliseconds(line: &str) -> Vec<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[1] == "ms").filter_map(|pair| pair[0].parse().ok()).collect()
}

/// The three times that a `ping -q -c 3` prints as `min/avg/max/mdev`, all to the microsecond. Of single
/// times it prints three digits only.
fn three_times(line: &str) -> Option<[f64; 3]> {
    let figures = line.strip_prefix("rtt min/avg/max/mdev = ")?.split(' ').next()?;
    let figures: Vec<f64> = figures.split('/').filter_map(|figure| figure.parse().ok()).collect();
    let [min, mean, max, _] = figures[..] else { return None };
    Some([min, 3.0 * mean - min - max, max])
}

/// `ping` sees the configured round trip, and never less, whether shards sleep until something comes or wait
/// awake.
#[test]
fn pings_take_the_configured_round_trip() {
    let test = "pings_take_the_configured_round_trip";
    let Some(ping) = find(test, "ping").map(|path| path.display().to_string()) else { return };
    let _alone = alone();
    for busy_poll in [false, true] {
        println!("busy-poll = {busy_poll}: round trip | least beyond it | median | p99 | most, in µs");
        if !pings(test, &ping, busy_poll) {
            return;
        }
    }
}

/// Thirty pings to each distance; false if there can be none.
fn pings(test: &str, ping: &str, busy_poll: bool) -> bool {
    const PINGS: usize = 10;
    let pings = |at| {
        let target = format!("198.18.{at}.1");
        let times = "x ".repeat(PINGS);
        format!("(for _ in {times}; do {ping} -q -n -c 3 -i 0.01 {target} | sed 's/^/{target} /'; done)")
    };
    let lines: Vec<String> = (0..ROUND_TRIPS.len()).map(pings).collect();
    let class = |(at, rtt): (usize, &u32)| {
        format!("[[network.class]]\nname = 'r{rtt}'\nrtt = '{rtt}ms'\naddresses = '198.18.{at}.0/24'\n")
    };
    let classes: String = ROUND_TRIPS.iter().enumerate().map(class).collect();
    let clients = ROUND_TRIPS.len();
    let scenario = format!("{SILENCE}[network]\nclients = {clients}\nbusy-poll = {busy_poll}\n{classes}");
    let Some((said, _)) = say(test, &lines.join("; "), &scenario) else { return false };
    for (at, rtt) in ROUND_TRIPS.iter().enumerate() {
        let target = format!("198.18.{at}.1 ");
        let lines = said.lines().filter_map(|line| line.strip_prefix(&target));
        let mut times: Vec<f64> = lines.filter_map(three_times).flatten().collect();
        assert_eq!(times.len(), 3 * PINGS, "{said}");
        times.sort_by(f64::total_cmp);
        let beyond = |share: f64| {
            let rank = (share * times.len() as f64).ceil().max(1.0) as usize;
            1e3 * (times[rank - 1] - f64::from(*rtt))
        };
        let [least, median, p99, most] = [0.0, 0.5, 0.99, 1.0].map(beyond);
        println!("{rtt} ms | {least:.0} | {median:.0} | {p99:.0} | {most:.0}");
        // A mean is printed to the microsecond, and the middle follows from three of it.
        assert!(least >= -3.0, "{rtt} ms: {} µs too soon", -least);
        // For a machine that does much else meanwhile.
        assert!(
            least < 20_000.0 && median < 100_000.0,
            "{rtt} ms: {least} µs late at best, {median} at the median"
        );
    }
    true
}

/// The lines behind the one that holds `title`, up to the next title.
fn part<'s>(said: &'s str, title: &str) -> Vec<&'s str> {
    let behind = said.lines().skip_while(|line| *line != format!("== {title}")).skip(1);
    behind.take_while(|line| !line.starts_with("== ")).collect()
}

/// The hops that `traceroute` found, each an address and the shortest of its round trips in milliseconds.
fn hops(lines: &[&str]) -> Vec<(String, f64)> {
    let hop = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next()?.parse::<u32>().ok()?;
        let address = words.next()?.to_owned();
        Some((address, milliseconds(line).into_iter().reduce(f64::min).unwrap_or(f64::NAN)))
    };
    lines.iter().filter_map(hop).collect()
}

#[track_caller]
fn leads(lines: &[&str], expected: &[(&str, f64)]) {
    let found = hops(lines);
    let addresses: Vec<&str> = found.iter().map(|(address, _)| address.as_str()).collect();
    let wanted: Vec<&str> = expected.iter().map(|(address, _)| *address).collect();
    assert_eq!(addresses, wanted, "{lines:#?}");
    for ((address, took), (_, rtt)) in found.iter().zip(expected) {
        println!("{address}: {took} ms of {rtt} ms");
        assert!((*rtt..rtt + 10.0).contains(took), "{address}: {took} ms of {rtt} ms");
    }
}

/// The topology is found by those who ask for it: routers in their order at their distances, what is left of
/// the TTL, closed ports, and the MTU of each path, which the server's TCP finds as well.
#[test]
fn the_topology_is_seen_from_the_server() {
    let test = "the_topology_is_seen_from_the_server";
    let tools = ["ping", "traceroute", "tracepath"].map(|tool| find(test, tool));
    let [Some(ping), Some(traceroute), Some(tracepath)] = tools else { return };
    let [ping, traceroute, tracepath] = [ping, traceroute, tracepath].map(|path| path.display().to_string());
    // Six probes a hop, one after another: the shortest of their times is what counts, and one of them meets
    // no other work.
    let asks = [
        ("ping far", format!("{ping} -n -c 1 198.18.0.1")),
        ("ping six", format!("{ping} -6 -n -c 1 2001:2:0:1::1")),
        ("route far", format!("{traceroute} -n -m 8 -q 6 -N 1 198.18.0.1")),
        ("route six", format!("{traceroute} -6 -n -m 8 -q 6 -N 1 2001:2:0:1::1")),
        ("path far", format!("{tracepath} -n -m 8 198.18.0.1")),
        ("path thin", format!("{tracepath} -n -m 8 198.18.1.1")),
        ("path six", format!("{tracepath} -6 -n -m 8 2001:2:0:1::1")),
        ("end", "true".to_owned()),
    ];
    let lines: Vec<String> = asks.iter().map(|(title, line)| format!("echo '== {title}'; {line}")).collect();
    let Some((said, summary)) = say(test, &lines.join("; "), &format!("{SILENCE}{GRAPH}")) else { return };

    let holds = |title: &str, word: &str| {
        let lines = part(&said, title);
        assert!(lines.iter().any(|line| line.contains(word)), "`{word}` is not in: {lines:#?}");
    };
    holds("ping far", "ttl=61 ");
    holds("ping six", "ttl=62 ");
    let far = [("10.0.0.5", 2.0), ("10.0.0.6", 8.0), ("10.0.0.7", 20.0), ("198.18.0.1", 40.0)];
    leads(&part(&said, "route far"), &far);
    leads(&part(&said, "route six"), &[("fd00::5", 2.0), ("fd00::6", 8.0), ("2001:2:0:1::1", 12.0)]);
    for (title, mtu, routers) in [("path far", 1400, 3), ("path thin", 576, 2), ("path six", 1280, 2)] {
        let hops = routers + 1;
        holds(title, &format!("Resume: pmtu {mtu} hops {hops} back {hops}"));
    }
    // Segments of the server that were too big for the second router have come again in smaller ones.
    assert_eq!(common::count(&summary.steady, Outcome::Ok), 3);
    assert!(summary.network.expect("a network").drops.too_big > 0);
}
