//! The network as the server sees it: what `ping`, `traceroute` and `tracepath`, run beside the server, find
//! between it and the clients.

use crate::common::wan::{DebianServer, Wan, find};
use crate::common::{Signal, alone, poll};
use farfield_base::Outcome;
use farfield_measure::{Quantile, Summary};
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
    let wan = Wan::new(test, DebianServer::Nginx)?;
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
        println!("busy-poll = {busy_poll}: round trip | least beyond it | median | most, in µs");
        let Some((pings, recorded)) = pings(test, &ping, busy_poll) else { return };
        println!("{recorded:?}");
        let late = Late::find(&pings, &recorded);
        assert_eq!(late, None, "recorded: {recorded:?}");
    }
}

/// Pings to each distance.
const PINGS: usize = 30;
/// Time that a ping may take beyond its round trip and the lateness that the run recorded: the system calls
/// of both sides and the wake of a shard that slept, in a build without optimisation.
const KERNEL_US: f64 = 500.0;
/// The resolution of what `ping` prints, and its use of three printed figures for the middle one.
const RESOLUTION_US: f64 = 3.0;

/// Times of pings beyond their configured round trip, in microseconds, in ascending order.
struct Distance {
    rtt_ms: u32,
    beyond_us: Vec<f64>,
}

/// A run's record of its own lateness.
#[derive(Debug)]
struct Recorded {
    /// The least lateness of packets that left for the server, in microseconds.
    least_us: f64,
    /// The median of it.
    median_us: f64,
    /// Number of packets that left later than the median, if all left at different times.
    later: u64,
    /// The time for which the worker was ready and other work, or the machine's host, had its processor, in
    /// microseconds.
    waited_us: f64,
}

/// Pings that are late beyond what the run recorded.
#[derive(Debug, PartialEq)]
enum Late {
    /// Shorter than the round trip, by so many microseconds.
    TooSoon(u32, f64),
    /// The quickest of all.
    Least(f64),
    /// The quickest of a distance.
    LeastOf(u32, f64),
    /// More pings are late than packets were, with what the machine took.
    Many { late: usize, explained: f64 },
}

impl Late {
    /// A ping's time beyond its round trip is the lateness of its reply at the gateway, which the run
    /// records; the wait of the shard for a processor, which the run records in sum; and [`KERNEL_US`]. So
    /// pings that are later than x + `KERNEL_US` are at most the packets that were recorded as later than x,
    /// and those that waited for a processor for longer than `KERNEL_US`. A shard that waited each time
    /// would hide lateness in that. But some ping of each distance, which are spread over the run, meets no
    /// such wait, and is as late as half of the packets at most; and the quickest of all is as the quickest
    /// of them.
    fn find(pings: &[Distance], recorded: &Recorded) -> Option<Late> {
        let bound_us = recorded.median_us + KERNEL_US;
        for Distance { rtt_ms, beyond_us } in pings {
            if beyond_us[0] < -RESOLUTION_US {
                return Some(Late::TooSoon(*rtt_ms, beyond_us[0]));
            }
            if beyond_us[0] > bound_us {
                return Some(Late::LeastOf(*rtt_ms, beyond_us[0]));
            }
        }
        let least_us = pings.iter().map(|distance| distance.beyond_us[0]).fold(f64::INFINITY, f64::min);
        if least_us > recorded.least_us + KERNEL_US {
            return Some(Late::Least(least_us));
        }
        let all = pings.iter().flat_map(|distance| &distance.beyond_us);
        let late = all.filter(|beyond_us| **beyond_us > bound_us).count();
        let explained = recorded.later as f64 + recorded.waited_us / KERNEL_US;
        (late as f64 > explained).then_some(Late::Many { late, explained })
    }
}

/// An emulator that holds each packet for a millisecond and does not record it is found, on a machine that is
/// calm and on one where the shard has waited for a tenth of a second; one that records it is not.
#[test]
fn a_millisecond_that_is_not_recorded_is_found() {
    let pings = |late_us: f64| {
        let distance = |rtt_ms| Distance { rtt_ms, beyond_us: vec![80.0 + late_us; PINGS] };
        ROUND_TRIPS.map(distance)
    };
    let recorded = |median_us: f64, waited_us| Recorded {
        least_us: median_us.min(40.0),
        median_us,
        later: 80,
        waited_us,
    };
    for waited_us in [0.0, 100_000.0] {
        assert_eq!(Late::find(&pings(0.0), &recorded(40.0, waited_us)), None);
        assert_eq!(Late::find(&pings(1e3), &recorded(40.0, waited_us)), Some(Late::LeastOf(1, 1080.0)));
        // Packets that were late, but not all of them by as much.
        assert_eq!(Late::find(&pings(1e3), &recorded(5e3, waited_us)), Some(Late::Least(1080.0)));
        let all = Recorded { least_us: 1040.0, ..recorded(1040.0, waited_us) };
        assert_eq!(Late::find(&pings(1e3), &all), None);
        assert_eq!(Late::find(&pings(-90.0), &recorded(40.0, waited_us)), Some(Late::TooSoon(1, -10.0)));
    }
    // One that does so to all but the quickest of each distance.
    let mut most = pings(1e3);
    most.iter_mut().for_each(|distance| distance.beyond_us[0] = 80.0);
    assert_eq!(
        Late::find(&most, &recorded(40.0, 10_000.0)),
        Some(Late::Many { late: 145, explained: 100.0 })
    );
}

/// Pings to each distance, in turns, so that no burst of other work meets all of one; and what the run
/// recorded. The server's kernel does its receive work in the shard's writes: a thread for it would wait for
/// a processor where the run does not see it.
fn pings(test: &str, ping: &str, busy_poll: bool) -> Option<([Distance; 5], Recorded)> {
    let target = |at: usize| format!("198.18.{at}.1");
    let one = |at| format!("{ping} -q -n -c 3 -i 0.01 {0} | sed 's/^/{0} /'", target(at));
    let turn: Vec<String> = (0..ROUND_TRIPS.len()).map(one).collect();
    let turns = "x ".repeat(PINGS / 3);
    let lines = format!("for _ in {turns}; do {}; done", turn.join("; "));
    let class = |(at, rtt): (usize, &u32)| {
        format!("[[network.class]]\nname = 'r{rtt}'\nrtt = '{rtt}ms'\naddresses = '198.18.{at}.0/24'\n")
    };
    let classes: String = ROUND_TRIPS.iter().enumerate().map(class).collect();
    let clients = ROUND_TRIPS.len();
    // One user, whose few packets stand beside the pings in what is recorded.
    let silence = SILENCE.replace("users = 3", "users = 1").replace("/64k", "/1k");
    let scenario = format!(
        "server.receive-processors = []\n{silence}[network]\nclients = {clients}\nbusy-poll = {busy_poll}\n{classes}"
    );
    let (said, summary) = say(test, &lines, &scenario)?;
    let distance = |at: usize| {
        let rtt_ms = ROUND_TRIPS[at];
        let target = format!("{} ", target(at));
        let lines = said.lines().filter_map(|line| line.strip_prefix(&target));
        let times = lines.filter_map(three_times).flatten();
        let mut beyond_us: Vec<f64> = times.map(|took_ms| 1e3 * (took_ms - f64::from(rtt_ms))).collect();
        assert_eq!(beyond_us.len(), PINGS, "{said}");
        beyond_us.sort_by(f64::total_cmp);
        let (least, median, most) = (beyond_us[0], beyond_us[PINGS / 2], beyond_us[PINGS - 1]);
        println!("{rtt_ms} ms | {least:.0} | {median:.0} | {most:.0}");
        Distance { rtt_ms, beyond_us }
    };
    let departed = summary.network.expect("a network").lateness.departure.expect("packets left");
    let median_ns = departed.quantile_ns(Quantile::P50).expect("a median");
    let checks = summary.verdict.checks.iter();
    let of_others = checks.filter(|check| ["machine-busy", "host-steal"].contains(&check.name.as_str()));
    let waited: f64 = of_others.filter_map(|check| check.measured).sum();
    let waited_us = waited * summary.phases.steady_ns as f64 / 1e3;
    let [least_us, median_us] = [departed.min_ns, median_ns].map(|ns| ns as f64 / 1e3);
    let recorded = Recorded { least_us, median_us, later: departed.count / 2, waited_us };
    Some((std::array::from_fn(distance), recorded))
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
    assert_eq!(crate::common::count(&summary.steady, Outcome::Ok), 3);
    assert!(summary.network.expect("a network").drops.too_big > 0);
}
