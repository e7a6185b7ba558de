//! The emulated plane through the real kernel, against theory: rates that round trips and links allow, what
//! losses leave to the server's TCP, and captures that a dissector finds nothing wrong with.
//!
//! Each prints what it measured beside what theory has; the bounds that it asserts are for a machine that
//! does much else meanwhile.

use crate::common::wan::{DebianServer, SHORT, Wan, find};
use crate::common::{Ended, alone};
use farfield_base::{Outcome, Sample};
use farfield_verify::TimeKind;
use std::process::Command;

/// Runs at most, until other work on the machine has left one undisturbed.
const RUNS: usize = 5;

fn nginx(test: &str) -> Option<Wan> {
    Wan::new(test, DebianServer::Nginx)
}

/// The replies of class `class` that were over at `from` seconds or later.
fn answered(samples: &[Sample], class: u16, from: f64) -> impl Iterator<Item = &Sample> {
    let counts = move |sample: &&Sample| {
        sample.class == class && sample.outcome == Outcome::Ok && sample.done.as_secs_f64() >= from
    };
    samples.iter().filter(counts)
}

/// The shortest, which other work on the machine disturbs least.
fn shortest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Prints a row of what was expected and what was seen.
fn compare(what: &str, theory: f64, measured: f64) -> f64 {
    let off = measured / theory - 1.0;
    println!("{what} | {theory:.4} | {measured:.4} | {:+.2} %", 100.0 * off);
    off
}

/// 1 KB over a connection of its own, as Williamson, Simmonds and Arlitt 2004 have it (section 4): a round
/// trip to connect, and two for three segments of 536 bytes from a window of one. One client at each
/// distance.
#[test]
fn a_transaction_takes_three_round_trips() {
    const ROUND_TRIPS: [u32; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
    let Some(wan) = nginx("a_transaction_takes_three_round_trips") else { return };
    let _alone = alone();
    let class =
        |rtt: &u32| format!("[[network.class]]\nname = 'r{rtt}'\nrtt = '{rtt}ms'\ntcp = {{ mss = 536 }}\n");
    let classes: String = ROUND_TRIPS.iter().map(class).collect();
    let scenario = format!(
        "server.initial-window = 1
        [load]
        model = 'closed'
        users = 8
        [connections]
        policy = 'one-request'
        [[requests.request]]
        path = '/1k'
        [run]
        warm-up = '1s'
        duration = '5s'
        [network]
        clients = 8
        busy-poll = true
        {classes}"
    );
    let samples = wan.run(&scenario, "").exits(0).samples();
    println!("round trip | 1/(3r) | transactions a second | off");
    for (class, rtt) in (0..).zip(ROUND_TRIPS) {
        let took = || answered(&samples, class, 1.0).map(|sample| sample.response_time().as_secs_f64());
        let least = f64::from(3 * rtt) / 1e3;
        compare(&format!("{rtt} ms"), 1.0 / least, 1.0 / mean(took()));
        let quickest = shortest(took());
        println!("{rtt} ms at best | {:.4}", 1.0 / quickest);
        assert!((least..1.03 * least + 0.005).contains(&quickest), "{rtt} ms: {quickest} s");
    }
}

/// Section 5.1 of the same: sixteen subnetworks with a client each.
#[test]
fn sixteen_subnetworks_add_up() {
    let Some(wan) = nginx("sixteen_subnetworks_add_up") else { return };
    let _alone = alone();
    let scenario = "
        server.initial-window = 1
        [load]
        model = 'closed'
        users = 16
        [connections]
        policy = 'one-request'
        [[requests.request]]
        path = '/1k'
        [run]
        warm-up = '1s'
        duration = '4s'
        [network]
        busy-poll = true
        [network.backbone]
        subnets = 16
        hosts = 1
    ";
    // 2 ms a subnetwork, and 0.1 ms there and back on each host's own link.
    let theory: f64 = (1..=16).map(|at| 1e3 / (3.0 * (2.0 * f64::from(at) + 0.2))).sum();
    let mut shortest_s = [f64::INFINITY; 16];
    for _ in 0..RUNS {
        let ended = wan.run(scenario, "").exits(0);
        let rate = ended.summary().steady.rates.expect("a window").succeeded_per_s;
        compare("16 subnetworks", theory, rate);
        assert!(rate < theory, "{rate} a second");
        let samples = ended.samples();
        for (class, least) in (0..).zip(&mut shortest_s) {
            let took = answered(&samples, class, 1.0).map(|sample| sample.response_time().as_secs_f64());
            *least = least.min(shortest(took));
        }
        let at_best: f64 = shortest_s.iter().map(|least| 1.0 / least).sum();
        println!("16 subnetworks at best | {at_best:.4}");
        assert!(at_best < theory, "{at_best} a second");
        if at_best > 0.7 * theory {
            return;
        }
    }
    panic!("less than 0.7 of {theory} a second at best, in {RUNS} runs");
}

/// A client's link: its rate, in words and bits a second, and what crosses it in packets of which size. A
/// build without optimisation has no more than some 100,000 packets a second where it is alone: at 300
/// Mbit/s, 25,000 of them, a link stays 2.5 % below its rate beside other tests, each of 15 times. Faster
/// links are of the simulated scenes, and of `cargo xtask bench far-throughput`.
type Link = (&'static str, f64, &'static str, u64);
const LINKS: [Link; 5] = [
    ("56kbit", 56e3, "/32k", 576),
    ("1.5Mbit", 1.5e6, "/1m", 1500),
    ("10Mbit", 10e6, "/4m", 1500),
    ("100Mbit", 100e6, "/64m", 1500),
    ("200Mbit", 2e8, "/64m", 1500),
];

/// A link of rate R carries R, headers of 52 bytes a packet accounted for: an object over each, the slower
/// ones all at once, the fastest alone. None is ever quicker; one that was slower is given another object.
#[test]
fn a_link_carries_its_rate() {
    let Some(wan) = nginx("a_link_carries_its_rate") else { return };
    let _alone = alone();
    println!("rate | theory, Mbit/s | goodput, Mbit/s | off");
    for mut links in [LINKS[..4].to_vec(), LINKS[4..].to_vec()] {
        for _ in 0..TRIES_OF_A_LINK {
            links = slower(&wan, &links);
            if links.is_empty() {
                break;
            }
        }
        assert!(links.is_empty(), "slower than their rate each of {TRIES_OF_A_LINK} times: {links:?}");
    }
}

/// Beside other work few tries of a fast link have the time that it takes.
const TRIES_OF_A_LINK: usize = 15;

/// The share of its rate by which a link may seem quicker. The server's slow start takes a thousandth of an
/// object's time.
const QUICKER: f64 = 0.002;
/// The share by which it may seem slower, since other work may take time from the shard or the server: they
/// are no real-time threads here. On a machine of their own they stay within [`QUICKER`].
const SLOWER: f64 = 0.01;

/// An object over each of the links at once: those that carried less than their rate.
///
/// A link is idle while the server has not handed on its object (its kernel then sends in the shard's own
/// writes, when a client acknowledges), and for the stalls of a shard that has fallen behind. Nobody takes a
/// packet for lost that comes late.
fn slower(wan: &Wan, links: &[Link]) -> Vec<Link> {
    let requests: String = links.iter().map(|(_, _, path, _)| format!("{{ path = '{path}' }},")).collect();
    let class = |(rate, bits, _, packet): &Link| {
        // So near that the server's slow start is through in a thousandth of the time that the object takes.
        let delay = if *bits < 1e8 { "2ms" } else { "100us" };
        format!(
            "[[network.class]]\nname = '{rate}'\nup = {{ delay = '{delay}' }}
            down = {{ delay = '{delay}', rate = '{rate}', queue = '8MiB' }}
            tcp = {{ receive-buffer = '256KiB', rto.min = '5s', mss = {} }}\n",
            packet - 40
        )
    };
    let classes: String = links.iter().map(class).collect();
    // A packet of the slowest link takes longer than what the server waits for before it probes for a lost
    // tail.
    let users = links.len();
    let scenario = format!(
        "server.receive-processors = []
        [server.settings]
        'net.ipv4.tcp_early_retrans' = '0'
        'net.ipv4.tcp_rto_min_us' = '5000000'
        'net.ipv4.tcp_wmem' = '4096 268435456 268435456'
        [load]
        model = 'closed'
        users = {users}
        [requests]
        order = 'in-order'
        request = [{requests}]
        [run]
        requests = {users}
        warm-up = '0s'
        duration = '60s'
        [network]
        clients = {users}
        {classes}"
    );
    let ended = wan.run(&scenario, "").exits(0);
    let samples = ended.samples();
    let mut slower = Vec::new();
    for (class, link) in (0..).zip(links) {
        let (rate, bits, _, packet) = link;
        let sample = answered(&samples, class, 0.0).next().expect("a reply");
        // From the first packet's arrival on, what the others carry.
        let bytes = sample.reply_bytes - (packet - 52);
        let on_the_wire = bytes + 52 * bytes.div_ceil(packet - 52);
        let took = sample.transfer_time().expect("a body").as_secs_f64();
        let theory = bits / 1e6 * bytes as f64 / on_the_wire as f64;
        let off = compare(rate, theory, 8.0 * bytes as f64 / took / 1e6);
        assert!(off < QUICKER, "{rate} is exceeded: {off}");
        if off < -SLOWER {
            slower.push(*link);
        }
    }
    slower
}

/// Padhye, Firoiu, Towsley and Kurose 1998, equation 32 with b = 1 and an unlimited window: segments sent a
/// second.
fn padhye(p: f64, rtt: f64, t0: f64) -> f64 {
    let q = 1.0 - p;
    let w = 1.0 + (8.0 * q / (3.0 * p) + 1.0).sqrt();
    let timeout = (1.0 - q.powi(3)) * (1.0 + q.powi(3) * (1.0 - q.powf(w - 3.0))) / (1.0 - q.powf(w));
    let timeout = timeout.min(1.0);
    let f = 1.0 + (0..6).map(|n| 2f64.powi(n) * p.powi(n + 1)).sum::<f64>();
    (q / p + w + timeout / q) / (rtt * (w / 2.0 + 1.0) + timeout * t0 * f / q)
}

/// Mathis, Semke, Mahdavi and Ott 1997, equation 3, with C = sqrt (3/2).
fn mathis(p: f64, rtt: f64) -> f64 {
    1.5f64.sqrt() / (rtt * p.sqrt())
}

/// The server's kernel under independent losses, its congestion control Reno's: streams of pipelined replies.
#[test]
fn the_kernels_reno_under_independent_losses() {
    const CLASSES: [(f64, u32); 3] = [(0.005, 24), (0.01, 24), (0.02, 24)];
    const RTT: f64 = 0.2;
    /// RFC 6298 with Linux's least variance of 200 ms, at a round trip that does not vary.
    const T0: f64 = RTT + 0.2;
    let Some(wan) = nginx("the_kernels_reno_under_independent_losses") else { return };
    let _alone = alone();
    let class = |(p, _): &(f64, u32)| {
        format!(
            "[[network.class]]\nname = 'p{p}'\nup = {{ delay = '100ms' }}
            down = {{ delay = '100ms', loss = {p}, queue = 'unlimited' }}\ntcp = {{ receive-buffer = '4MiB' }}\n"
        )
    };
    let classes: String = CLASSES.iter().map(class).collect();
    let users: u32 = CLASSES.iter().map(|(_, users)| users).sum();
    let (warm_up, lasts) = (5.0, 10.0);
    let scenario = format!(
        "server.congestion = 'reno'
        [load]
        model = 'closed'
        users = {users}
        [connections]
        policy = 'pipelined'
        pipeline-depth = 200
        request-timeout = '10m'
        [[requests.request]]
        path = '/32k'
        [run]
        warm-up = '0s'
        duration = '{}s'
        drain = '0s'
        unfinished = 'ignore'
        [network]
        clients = {users}
        {classes}",
        warm_up + lasts
    );
    let samples = wan.run(&scenario, "").exits(0).samples();
    println!("p | theory, segments a second | measured | off");
    for (class, (p, users)) in (0..).zip(CLASSES) {
        let bytes: u64 = answered(&samples, class, warm_up).map(|sample| sample.reply_bytes).sum();
        let goodput = bytes as f64 / 1448.0 / lasts / f64::from(users);
        let off = compare(&format!("{p} Padhye"), padhye(p, RTT, T0) * (1.0 - p), goodput);
        compare(&format!("{p} Mathis"), mathis(p, RTT), goodput);
        assert!(off.abs() < 0.3);
    }
}

/// WASP (Nahum et al. 2001, figure 15): at 6 % two-state loss, SACK on the server shortens the response times
/// of objects that take several windows.
#[test]
fn sack_shortens_response_times() {
    let Some(wan) = nginx("sack_shortens_response_times") else { return };
    let _alone = alone();
    let with_sack = |sack: bool| {
        let scenario = format!(
            "server.congestion = 'reno'
            server.sack = {sack}
            [load]
            model = 'closed'
            users = 40
            [connections]
            policy = 'one-request'
            [[requests.request]]
            path = '/256k'
            [run]
            warm-up = '1s'
            duration = '6s'
            drain = '60s'
            [network]
            clients = 40
            [[network.class]]
            name = 'wasp'
            up = {{ delay = '25ms' }}
            down = {{ delay = '25ms', loss = {{ model = 'wasp', rate = '6%', per = 'connection' }} }}"
        );
        let samples = wan.run(&scenario, "").exits(0).samples();
        mean(answered(&samples, 0, 1.0).map(|sample| sample.response_time().as_secs_f64()))
    };
    let (without, with) = (with_sack(false), with_sack(true));
    assert!(compare("mean response time, s, without and with SACK", without, with) < 0.0);
}

/// People at four kinds of distance, none of whom loses a packet.
///
/// Neither side takes a packet for lost that only comes late because the machine does much else: probes for
/// lost tails are off, and retransmission timeouts are 5 s at least.
const LOSSLESS: &str = "
server.settings = { 'net.ipv4.tcp_early_retrans' = '0', 'net.ipv4.tcp_rto_min_us' = '5000000' }
[load]
model = 'closed'
users = 40
think = '50ms'
[connections]
parallel = 3
policy = 'early-close'
[[requests.request]]
path = '/64k'
embedded = ['/1k', '/4k', '/1k']
[run]
warm-up = '0s'
duration = '2s'
[network]
clients = 40
[[network.class]]
name = 'far'
rtt = '80ms'
tcp = { rto.min = '5s' }
[[network.class]]
name = 'narrow'
tcp = { rto.min = '5s' }
up = { delay = '20ms', rate = '1Mbit' }
down = { delay = '20ms', rate = '8Mbit', queue = '1MiB' }
[[network.class]]
name = 'old'
rtt = '40ms'
tcp = { profile = 'bsd', mss = 536, rto.min = '5s' }
[[network.class]]
name = 'six'
rtt = '30ms'
tcp = { rto.min = '5s' }
addresses = '2001:2:0:1::/64'
";

/// Frames of the run's capture that `filter` shows.
fn frames(tshark: &std::path::Path, ended: &Ended, filter: &str) -> u64 {
    let mut command = Command::new(tshark);
    let checks = ["tcp.check_checksum:TRUE", "ip.check_checksum:TRUE", "udp.check_checksum:TRUE"];
    checks.iter().for_each(|check| {
        command.args(["-o", check]);
    });
    command.arg("-r").arg(ended.directory.join("capture.pcapng"));
    let output = command.args(["-Y", filter, "-T", "fields", "-e", "frame.number"]).output();
    let output = output.expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Nothing in the capture is what must not be there where nothing is lost.
#[track_caller]
fn is_clean(tshark: &std::path::Path, ended: &Ended) {
    let wrong = [
        ("bad checksums of TCP", "tcp && tcp.checksum.status != 1"),
        ("bad checksums of IP", "ip && ip.checksum.status != 1"),
        ("malformed packets", "_ws.malformed"),
        ("retransmissions", "tcp.analysis.retransmission"),
        ("segments before their turn", "tcp.analysis.out_of_order || tcp.analysis.lost_segment"),
        ("acknowledgements of the unseen", "tcp.analysis.ack_lost_segment"),
        ("full windows", "tcp.analysis.zero_window"),
    ];
    // One reading for all, and those that say which it is only where there is something.
    let any = wrong.map(|(_, filter)| format!("({filter})")).join(" || ");
    if frames(tshark, ended, &any) > 0 {
        let found = wrong.map(|(wrong, filter)| (wrong, frames(tshark, ended, filter)));
        panic!("{found:?}: tshark -r {}", ended.directory.display());
    }
}

/// A capture at the gateway holds every packet that was counted, and one at clients' interfaces theirs; a
/// dissector finds fault with none.
#[test]
fn captures_are_clean_where_nothing_is_lost() {
    let test = "captures_are_clean_where_nothing_is_lost";
    let Some(tshark) = find(test, "tshark") else { return };
    let Some(wan) = nginx(test) else { return };
    // Ten pages of a user in two seconds.
    let ended = wan.run(LOSSLESS, &format!("--capture {SHORT}")).exits(0);
    let network = ended.summary().network.expect("a network");
    assert_eq!(network.capture_drops, 0);
    assert_eq!(frames(&tshark, &ended, "frame"), network.packets.passed());
    is_clean(&tshark, &ended);

    let ended = wan.run(LOSSLESS, &format!("--set capture.clients=[0,1,2,3] {SHORT}")).exits(0);
    assert_eq!(ended.summary().network.expect("a network").capture_drops, 0);
    let requests = frames(&tshark, &ended, "http.request");
    let users = |sample: &&Sample| sample.user < 4;
    assert_eq!(requests, ended.samples().iter().filter(users).count() as u64);
    is_clean(&tshark, &ended);
    // Samples and packets at the clients' own interfaces have one clock, and nothing between them.
    let found = verification(&ended);
    assert_eq!((found.findings.as_slice(), found.matched.requests), (&[][..], requests));
    assert!(all_agree(&found), "{:?}", found.times);
}

/// True if all times of the samples are those of the packets, to the nanosecond; there is none of TLS, and
/// none of events.
fn all_agree(found: &farfield_verify::Verification) -> bool {
    let is_there = |time: TimeKind| time != TimeKind::Tls && !time.is_of_events();
    let mut times = found.times.iter().filter(|errors| is_there(errors.time));
    times.all(|errors| errors.max_absolute_ns == Some(0))
}

/// The run's own verification of its samples against its packets.
fn verification(ended: &Ended) -> farfield_verify::Verification {
    let text = std::fs::read_to_string(ended.directory.join("verify.json")).expect("verify.json");
    serde_json::from_str(&text).expect("a verification")
}

/// Packets that are lost, in both directions and in the handshake too, are no disagreement: the same
/// retransmissions are in the samples.
#[test]
fn samples_agree_with_packets_where_packets_are_lost() {
    let test = "samples_agree_with_packets_where_packets_are_lost";
    let Some(wan) = nginx(test) else { return };
    let scenario = "
        [load]\nmodel = 'closed'\nusers = 8\nthink = '20ms'\n\
        [connections]\npolicy = 'one-request'\n\
        [[requests.request]]\npath = '/64k'\n\
        [run]\nwarm-up = '0s'\nduration = '4s'\ndrain = '30s'\n\
        [network]\nclients = 8\n\
        [[network.class]]\nname = 'lossy'\n\
        up = { delay = '10ms', loss = { model = 'independent', rate = '4%' } }\n\
        down = { delay = '10ms', loss = { model = 'independent', rate = '4%' } }\n\
        [capture]\nclients = [0, 1, 2, 3, 4, 5, 6, 7]\n";
    let ended = wan.run(scenario, SHORT);
    let found = verification(&ended);
    assert_eq!(found.findings, [], "{}", ended.stdout);
    assert!(all_agree(&found), "{:?}", found.times);
    let tcp = found.tcp;
    assert_eq!(Some(tcp.syn_retries), tcp.syn_retries_samples, "{tcp:?}");
    assert!(tcp.client_retransmissions + tcp.syn_retries > 0, "{tcp:?}");
}

/// Data that passes the gateway in large segments is delivered as data that passes it packet by packet.
#[test]
fn offload_changes_nothing() {
    let Some(wan) = nginx("offload_changes_nothing") else { return };
    let _alone = alone();
    // One user at each distance, whom nobody else disturbs.
    let alone = LOSSLESS.replace(" = 40", " = 4");
    let took = |offload: bool| {
        let ended = wan.run(&alone, &format!("--set network.offload={offload} {SHORT}")).exits(0);
        let samples = ended.samples();
        [0, 1, 2, 3].map(|class| {
            let large = answered(&samples, class, 0.0).filter(|sample| sample.request == 0);
            let took = large.map(|sample| sample.service_time().expect("it was sent").as_secs_f64());
            let took: Vec<f64> = took.collect();
            (mean(took.iter().copied()), shortest(took.iter().copied()))
        })
    };
    let (without, with) = (took(false), took(true));
    println!("class | mean service time without offload, s | with | off");
    for (name, (without, with)) in ["far", "narrow", "old", "six"].iter().zip(without.into_iter().zip(with)) {
        compare(name, without.0, with.0);
        assert!((with.1 / without.1 - 1.0).abs() < 0.15, "{name}: {} s at best, and {} s", without.1, with.1);
    }
}
