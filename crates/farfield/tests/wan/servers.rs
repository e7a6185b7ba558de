//! Real servers, as Debian has them, before a thousand emulated clients with losses: every request of the
//! samples is in the server's log, from the client that sent it, and nothing is left behind.

use crate::common::wan::{DebianServer, LoggedRequest, SHORT, Wan, may_build};
use crate::common::{Ended, Signal, count, poll};
use farfield_base::{Duration, Outcome, Sample, Stamp};
use std::net::IpAddr;
use std::path::PathBuf;

/// People near, people on DSL, and people whose path loses packets both ways and who have IPv6.
const PEOPLE: &str = "
[network]
clients = 1000
[[network.class]]
name = 'near'
share = 50
rtt = '10ms'
addresses = '198.18.0.0/16'
[[network.class]]
name = 'dsl'
share = 25
access = 'dsl'
core = { rtt = '20ms' }
addresses = '198.19.0.0/16'
[[network.class]]
name = 'lossy'
share = 25
up = { delay = '20ms', loss = '2%' }
down = { delay = '20ms', rate = '12Mbit', loss = '3%' }
addresses = '2001:2:0:1::/64'
[run]
warm-up = '300ms'
duration = '1500ms'
drain = '30s'
";

/// Everybody reads a page of three objects over two connections, thinks, and comes back.
const CLOSED: &str = "
[load]
model = 'closed'
users = 1000
think = { distribution = 'exponential', mean = '2s' }
ramp = '1s'
[connections]
parallel = 2
[[requests.request]]
path = '/4k'
embedded = ['/1k', '/1k']
";

/// Requests arrive openly, each on a connection of its own.
const OPEN: &str = "
[load]
model = 'open'
arrivals = '400/s'
[connections]
policy = 'one-request'
[[requests.request]]
path = '/4k'
";

/// Sessions arrive openly, and their connections are closed behind each page.
const HYBRID: &str = "
[load]
model = 'hybrid'
arrivals = '150/s'
requests = { distribution = 'geometric', mean = 3 }
think = '100ms'
[connections]
policy = 'early-close'
[[requests.request]]
path = '/4k'
";

/// The class of a client, by its address.
fn class_of(address: &IpAddr) -> &'static str {
    match address {
        IpAddr::V4(v4) if v4.octets()[1] == 18 => "near",
        IpAddr::V4(_) => "dsl",
        IpAddr::V6(_) => "lossy",
    }
}

const CLASSES: [(&str, Duration); 3] =
    [("near", Duration::from_ms(10)), ("dsl", Duration::from_ms(20)), ("lossy", Duration::from_ms(40))];

fn sent(samples: &[Sample]) -> usize {
    samples.iter().filter(|sample| sample.sent != Stamp::NEVER).count()
}

/// Holds the samples against what the server was asked, in all and class by class.
#[track_caller]
fn accounts(ended: &Ended, asked: &[LoggedRequest]) -> Vec<Sample> {
    let (summary, samples) = (ended.summary(), ended.samples());
    let classes: Vec<&str> = summary.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(classes, CLASSES.map(|(name, _)| name));
    for sample in &samples {
        // A request that meets a connection that the server is closing is sent again, on a new one.
        assert_eq!(sample.outcome, Outcome::Ok, "{sample:?}");
        let round_trip = CLASSES[usize::from(sample.class)].1;
        assert!(sample.service_time().is_some_and(|took| took >= round_trip), "{sample:?}");
        assert!(sample.connect_time().is_none_or(|took| took >= round_trip), "{sample:?}");
    }
    assert!(samples.len() > 400, "only {} requests", samples.len());
    // A request that was sent again because the server closed may have been seen before.
    let resent = summary.connections.resent_requests as usize;
    for (number, (name, _)) in (0..).zip(CLASSES) {
        let seen = asked.iter().filter(|asked| class_of(&asked.client) == name).count();
        let answered = samples.iter().filter(|sample| sample.class == number).count();
        let all = answered..=answered + resent;
        assert!(all.contains(&seen), "{name}: {answered} answered, {seen} logged, {resent} sent again");
    }
    let steady: u64 = summary.classes.iter().map(|class| class.steady.requests).sum();
    assert_eq!(steady, summary.steady.requests);
    assert!(summary.classes.iter().all(|class| count(&class.steady, Outcome::Ok) > 0));
    let network = summary.network.expect("an emulated network");
    assert_eq!((network.clients, network.packets.overruns), (1000, 0));
    assert!(network.drops.lost > 20, "{:?}", network.drops);
    samples
}

/// Drives a server of `kind` as users do.
fn drive(test: &str, kind: DebianServer) {
    let Some(wan) = Wan::new(test, kind) else { return };
    let carried = |samples: &[Sample]| samples.iter().map(|sample| sample.number).max().unwrap_or(0);

    // Users think for 2 s, and 1.5 s are measured.
    let ended = wan.run(&format!("{CLOSED}{PEOPLE}"), SHORT).exits(0);
    let samples = accounts(&ended, &wan.take_log());
    assert!(samples.len() >= 3000, "everybody reads a page: {}", samples.len());
    assert_eq!(sent(&samples), samples.len());
    assert!(carried(&samples) > 0, "connections are used again");
    let mut users: Vec<u32> = samples.iter().map(|sample| sample.user).collect();
    users.sort_unstable();
    users.dedup();
    assert_eq!(users.len(), 1000);

    let ended = wan.run(&format!("{OPEN}{PEOPLE}"), "").exits(0);
    assert_eq!(carried(&accounts(&ended, &wan.take_log())), 0, "one request a connection");

    // Through packet sockets, where the others take the best that the machine has.
    let ended = wan.run(&format!("{HYBRID}{PEOPLE}"), "--gateway packet").exits(0);
    assert_eq!(ended.summary().network.expect("a network").gateway.as_deref(), Some("packet"));
    assert_eq!(carried(&accounts(&ended, &wan.take_log())), 0, "closed behind each page");
    assert_eq!(wan.processes(), Vec::<String>::new());
}

#[test]
fn nginx_across_the_wan() {
    drive("nginx_across_the_wan", DebianServer::Nginx);
}

#[test]
fn apache_across_the_wan() {
    drive("apache_across_the_wan", DebianServer::Apache);
}

#[test]
fn lighttpd_across_the_wan() {
    drive("lighttpd_across_the_wan", DebianServer::Lighttpd);
}

/// Without a word about a server, the built-in one serves.
#[test]
fn the_built_in_server_across_the_wan() {
    let test = "the_built_in_server_across_the_wan";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let scenario = format!("{}{PEOPLE}", OPEN.replace("/4k", "/bytes/4096"));
    let ended = wan.begin_without_server(&scenario, "").ended().exits(0);
    let samples = ended.samples();
    assert!(samples.len() > 400 && samples.iter().all(|sample| sample.outcome == Outcome::Ok));
    assert!(samples.iter().all(|sample| sample.body_bytes == 4096));
    assert_eq!(wan.processes(), Vec::<String>::new());
}

/// A server of two processes and a short accept queue, which more attempts reach than it can take: attempts
/// stay D/T a second, and each is accounted for, by a reply that the server knows of or as one that was
/// abandoned.
#[test]
fn overload_past_the_accept_queue() {
    let narrow = |config: String| {
        config
            .replace("ListenBacklog 4096", "ListenBacklog 4")
            .replace("StartServers 128", "StartServers 2")
            .replace("MinSpareServers 8", "MinSpareServers 1")
            .replace("MaxRequestWorkers 256", "MaxRequestWorkers 2")
    };
    let test = "overload_past_the_accept_queue";
    let Some(wan) = Wan::configured(test, DebianServer::Apache, narrow) else { return };
    let load = "
        http = '1.0'
        [load]
        model = 'overload'
        descriptors = 200
        timeout = '500ms'
        [connections]
        policy = 'one-request'
        [[requests.request]]
        path = '/4k'
        [network]
        clients = 1000
        rtt = '50ms'
        [run]
        warm-up = '500ms'
        duration = '3s'
        drain = '20s'
    ";
    let ended = wan.run(load, "").exits(0);
    let (summary, samples) = (ended.summary(), ended.samples());
    let rates = summary.steady.rates.expect("a window");
    // D/T, to the attempt; what is late is begun behind the window's end, or at the end of the run not at
    // all.
    assert_eq!(summary.generator.arrivals.as_ref().expect("attempts").scheduled, 400 * 3);
    assert!((rates.connects_per_s / 400.0 - 1.0).abs() < 0.02, "{} attempts a second", rates.connects_per_s);
    let with = |outcome| samples.iter().filter(|sample| sample.outcome == outcome).count();
    let (ok, abandoned) = (with(Outcome::Ok), with(Outcome::ConnectAbandoned));
    assert!(ok > 20 && abandoned > samples.len() / 2, "{ok} served, {abandoned} of {}", samples.len());
    // A process is held for a round trip at least by each, so that so many ends of 3 s fit in, and one at
    // their beginning.
    let most = 2.0 / 0.05 + 2.0 / 3.0;
    assert!(rates.succeeded_per_s <= most, "{} a second", rates.succeeded_per_s);
    let asked = wan.take_log().len();
    let others = samples.len() - abandoned;
    assert!((ok..=others).contains(&asked), "{ok} replies, {asked} logged, {others} not abandoned");
    assert_eq!(wan.processes(), Vec::<String>::new());
}

/// The files in which places are written down while they stand, of process `owner`.
fn records(owner: u32) -> Vec<PathBuf> {
    let name = format!("place-{owner}-");
    let folders = ["/run/farfield".into(), std::env::temp_dir().join("farfield-0")];
    let entries = folders.iter().filter_map(|folder: &PathBuf| std::fs::read_dir(folder).ok()).flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name)))
        .collect()
}

/// The control groups that this process of farfield has made.
fn groups(owner: u32) -> Vec<PathBuf> {
    let (mut groups, mut folders) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    let name = format!("farfield-{owner}-");
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
        {
            if path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name)) {
                groups.push(path.clone());
            }
            folders.push(path);
        }
    }
    groups
}

/// farfield is killed in the middle of a run: its server goes with it, and what was written down of its place
/// goes at the next start, with its control groups.
#[test]
fn a_kill_leaves_no_server() {
    let test = "a_kill_leaves_no_server";
    if !may_build(test) {
        return;
    }
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let load = format!("{OPEN}{PEOPLE}");
    let running = wan.begin(&load, "-d 60s");
    running.await_checkpoint();
    let id = running.id();
    assert_eq!(records(id).len(), 1);
    // Even without limits there is one that counts processor time, where one can be made.
    let made = groups(id);
    assert!(wan.processes().len() > 1, "farfield and its server");
    running.signal(Signal::KILL);
    running.ended();
    poll("the server to be gone", || wan.processes().is_empty().then_some(()));
    wan.take_log();
    let ended = wan.run(&load, "").exits(0);
    accounts(&ended, &wan.take_log());
    assert_eq!(records(id), Vec::<PathBuf>::new());
    assert_eq!(groups(id), Vec::<PathBuf>::new());
    if made.is_empty() {
        crate::common::skip(test, "no control group can be made, and so none is left");
    }
}
