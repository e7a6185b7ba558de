//! HTTP/3 across the WAN: emulated clients with UDP and QUIC of their own before Caddy and the built-in
//! server, on paths that lose packets, close, and are shared. Each request is in the server's log.

mod moves;

use crate::common::secure::{Authority, VALID};
use crate::common::wan::{CALM_PACKETS, SHORT, Wan, find};
use crate::common::{Ended, Place, count, poll};
use farfield_base::{Duration, NetworkDrops, Outcome, Sample, SpokenVersion};
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;

/// Caddy in a network namespace, on port 443 of TCP and UDP.
struct Far {
    wan: Wan,
    server: String,
}

impl Far {
    fn new(test: &str) -> Option<Far> {
        Far::configured(test, "", |site| format!("https://shop.test {{\n{site}\n}}\n"))
    }

    /// Caddy with global options beside the usual, and the sites that `sites` makes of a site's directives.
    fn configured(test: &str, options: &str, sites: impl FnOnce(&str) -> String) -> Option<Far> {
        let program = find(test, "caddy")?;
        let wan = Wan::of(test, Vec::new())?;
        let place = &wan.place;
        Authority::new(place).certify(place, "shop.test", VALID);
        for (name, len) in [("4k", 4 << 10), ("256k", 256 << 10)] {
            place.write(&format!("www/{name}"), vec![b'x'; len]);
        }
        let home = place.path("");
        let home = home.to_str().expect("a plain path").trim_end_matches('/').to_owned();
        let site = format!(
            " tls {home}/shop.test.pem {home}/shop.test.key\n \
             log {{\n output file {home}/access.log\n format json\n }}\n root * {home}/www\n file_server"
        );
        let config = format!("{{\n admin off\n auto_https off\n{options}}}\n{}", sites(&site));
        place.write("Caddyfile", config);
        let program = program.display();
        let line = format!(
            "HOME={home} XDG_CONFIG_HOME={home} XDG_DATA_HOME={home} exec {program} run --adapter caddyfile \
             --config {home}/Caddyfile"
        );
        Some(Far { wan, server: format!("server.command = '''{line}'''\nserver.ready = 'tcp:443'\n") })
    }

    fn run(&self, scenario: &str, words: &str) -> Ended {
        let scenario = format!("target = 'https://shop.test/4k'\nhttp = '3'\n{}{scenario}", self.server);
        self.wan.begin_without_server(&scenario, words).ended()
    }

    /// The address of each client in the log, with the number of its requests, once the log has as many as
    /// there are to be. All are over HTTP/3.
    fn asked(&self, expected: usize) -> BTreeMap<IpAddr, usize> {
        let mut clients = BTreeMap::new();
        for (version, client) in self.take_log(expected) {
            assert_eq!(version, "HTTP/3.0");
            *clients.entry(client).or_default() += 1;
        }
        clients
    }

    /// The version and the client of each request in the log, once it has as many as there are to be.
    fn take_log(&self, expected: usize) -> Vec<(String, IpAddr)> {
        let path = self.wan.place.path("access.log");
        let text = || fs::read_to_string(&path).unwrap_or_default();
        poll("Caddy to log all requests", || (text().lines().count() >= expected).then_some(()));
        let text = text();
        // The server of the next run begins a new one.
        let _ = fs::remove_file(&path);
        let value = |line: &str, key: &str| {
            let (_, rest) = line.split_once(&format!("\"{key}\":\"")).expect("a key");
            rest.split('"').next().expect("a value").to_owned()
        };
        let client = |line: &str| value(line, "remote_ip").parse().expect("an address");
        text.lines().map(|line| (value(line, "proto"), client(line))).collect()
    }
}

/// Clients near Rome and far from it, as DSL and as IPv6, all with a loss of `loss` both ways.
fn people(loss: &str) -> String {
    format!(
        "[tls]\nca = 'ca.pem'\n[load]\nmodel = 'closed'\nusers = 60\nthink = '300ms'\n[network]\nclients = 60\n\
         [[network.class]]\nname = 'v4'\nup = {{ delay = '15ms', loss = '{loss}' }}\n\
         down = {{ delay = '15ms', rate = '12Mbit', loss = '{loss}' }}\naddresses = '198.18.0.0/16'\n\
         [[network.class]]\nname = 'v6'\nup = {{ delay = '15ms', loss = '{loss}' }}\n\
         down = {{ delay = '15ms', rate = '12Mbit', loss = '{loss}' }}\naddresses = '2001:2:0:1::/64'\n\
         [run]\nwarm-up = '300ms'\nduration = '2s'\ndrain = '30s'\n"
    )
}

/// All were answered, none faster than its path, and each is in the log from its client.
#[track_caller]
fn accounts(ended: &Ended, asked: &BTreeMap<IpAddr, usize>) -> Vec<Sample> {
    let samples = ended.samples();
    for sample in &samples {
        assert_eq!((sample.outcome, sample.status), (Outcome::Ok, 200), "{sample:?}");
        assert!(sample.service_time().is_some_and(|took| took >= Duration::from_ms(30)), "{sample:?}");
        assert!(sample.is_ordered(), "{sample:?}");
    }
    assert_eq!(asked.values().sum::<usize>(), samples.len());
    let mut by_user: BTreeMap<u32, usize> = BTreeMap::new();
    samples.iter().for_each(|sample| *by_user.entry(sample.user).or_default() += 1);
    let (mut of_users, mut of_clients): (Vec<_>, Vec<_>) =
        (by_user.into_values().collect(), asked.values().copied().collect());
    of_users.sort_unstable();
    of_clients.sort_unstable();
    assert_eq!(of_users, of_clients, "a user is a client");
    samples
}

fn each_request_is_logged(test: &str, loss: &str) -> Option<NetworkDrops> {
    let far = Far::new(test)?;
    let ended = far.run(&people(loss), SHORT).exits(0);
    let asked = far.asked(ended.samples().len());
    let samples = accounts(&ended, &asked);
    assert!(samples.len() > 200 && asked.keys().any(IpAddr::is_ipv6) && asked.keys().any(IpAddr::is_ipv4));
    let network = ended.summary().network.expect("an emulated network");
    assert_eq!((network.packets.overruns, network.drops.nobody, network.drops.damaged), (0, 0, 0));
    assert!(network.packets.up > samples.len() as u64 && network.packets.down > samples.len() as u64);
    Some(network.drops)
}

#[test]
fn without_losses() {
    let Some(drops) = each_request_is_logged("without_losses", "0%") else { return };
    assert_eq!(drops.by_cause().iter().map(|(_, count)| count).sum::<u64>(), drops.too_big, "{drops:?}");
}

#[test]
fn with_losses_of_3_percent() {
    let Some(drops) = each_request_is_logged("with_losses_of_3_percent", "3%") else { return };
    assert!(drops.lost > 20, "{drops:?}");
}

/// A connection for each request, on three shards that share a link with other traffic, captured: as many
/// requests as in the log, and tshark finds QUIC alone.
#[test]
fn shards_that_share_a_link() {
    let Some(far) = Far::new("shards_that_share_a_link") else { return };
    let scenario = "[tls]\nca = 'ca.pem'\n[load]\nmodel = 'closed'\nusers = 60\nthink = '500ms'\n[connections]\n\
                    policy = 'one-request'\n[network]\nclients = 60\nshards = 3\nrtt = '30ms'\n\
                    shared = { up = { delay = '2ms' }, down = { delay = '2ms', rate = '100Mbit' } }\n\
                    [[network.cross-traffic]]\nlink = 'shared.down'\nrate = '5Mbit'\n\
                    [run]\nwarm-up = '300ms'\nduration = '2s'\ndrain = '30s'\n";
    let ended = far.run(scenario, &format!("{SHORT} --capture --set capture.verify=false")).exits(0);
    let asked = far.asked(ended.samples().len());
    let samples = accounts(&ended, &asked);
    assert!(samples.iter().all(|sample| sample.number == 0));
    let network = ended.summary().network.expect("an emulated network");
    let [flow] = &network.cross_traffic[..] else { panic!("one flow") };
    assert!(flow.link == "shared.down" && flow.counts.packets > 100, "{flow:?}");
    let directory = ended.directory.display().to_string();
    far.wan.place.farfield(&format!("verify {directory}")).exits(2).says(&["tls.key-log"]);
    let mut tshark = std::process::Command::new("tshark");
    tshark.args(["-r", &format!("{directory}/capture.pcapng"), "-Y", "!udp.port==443"]);
    let Ok(read) = tshark.output() else {
        return farfield_testkit::skip("shards_that_share_a_link", "no tshark");
    };
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert_eq!(String::from_utf8_lossy(&read.stdout), "", "nothing but datagrams of port 443");
}

/// The built-in server over QUIC, behind a satellite: the path's round trips are in its times.
#[test]
fn the_built_in_server_across_the_wan() {
    if !crate::common::wan::may_build("the_built_in_server_across_the_wan") {
        return;
    }
    let place = Place::new();
    let words = "--plane emulated --set origin.tls=true --insecure --http 3 --rtt 300ms -c 10 -n 60";
    let ended = place.run(&format!("{words} {CALM_PACKETS} {SHORT}")).exits(0);
    let samples = ended.samples();
    assert!(samples.len() >= 60);
    for sample in &samples {
        assert_eq!(sample.outcome, Outcome::Ok, "{sample:?}");
        assert!(sample.service_time().is_some_and(|took| took >= Duration::from_ms(300)), "{sample:?}");
        // QUIC's handshake is one round trip.
        let shook = sample.handshake_time().or(sample.connect_time());
        assert!(sample.number > 0 || shook.is_some(), "{sample:?}");
    }
}

/// A server whose HTTP/3 is on another port than its TCP, which it names (Alt-Svc): each user goes there from
/// its second connection on.
#[test]
fn an_alternative_on_another_port_is_taken() {
    let options = " servers :443 {\n protocols h1 h2\n }\n";
    // The alternative is asked as shop.test, without its port, so that the second site is for any name.
    let sites = |site: &str| {
        let named = "header Alt-Svc `h3=\":8443\"; ma=60`";
        format!("https://shop.test {{\n{site}\n {named}\n}}\nhttps://:8443 {{\n{site}\n}}\n")
    };
    let test = "an_alternative_on_another_port_is_taken";
    let Some(far) = Far::configured(test, options, sites) else { return };
    let scenario = format!(
        "target = 'https://shop.test/4k'\nhttp = 'auto'\n{}{}[connections]\npolicy = 'one-request'\n",
        far.server,
        people("0%")
    );
    let ended = far.wan.begin_without_server(&scenario, SHORT).ended().exits(0);
    let samples = ended.samples();
    let log = far.take_log(samples.len());
    assert_eq!(log.len(), samples.len());
    for (name, version) in [("HTTP/2.0", SpokenVersion::Http2), ("HTTP/3.0", SpokenVersion::Http3)] {
        let logged = log.iter().filter(|(proto, _)| proto == name).count();
        let of_version = samples.iter().filter(|own| own.http.version() == Some(version));
        assert_eq!(of_version.count(), logged, "{name}");
    }
    // Sixty users begin over TCP.
    assert_eq!(log.iter().filter(|(proto, _)| proto == "HTTP/2.0").count(), 60);
    let found = ended.summary().http.and_then(|own| own.alternatives).expect("alternatives were tried");
    assert_eq!((found.tried, found.secured), (samples.len() as u64 - 60, found.tried), "{found:?}");
    assert!(found.tried > 60 && found.elsewhere == 0, "{found:?}");
}

/// Nobody listens for UDP: the kernel's port unreachable ends each connection at once. A router that forbids
/// the way does so too; one that says nothing leaves it to the time limit.
#[test]
fn what_is_unreachable_is_named() {
    let Some(far) = Far::new("what_is_unreachable_is_named") else { return };
    let base = "http = '3'\nload = { model = 'open', arrivals = '20/s' }\ntls = { verify = false }\n\
                connections = { request-timeout = '2s' }\nrun = { warm-up = '0s', duration = '1s', drain = '5s' }\n";
    let closed = format!(
        "target = 'https://shop.test/4k'\n{base}network = {{ clients = 20, rtt = '20ms' }}\n\
         server = {{ command = 'sleep 1000', ready = 'started' }}\n"
    );
    let ended = far.wan.begin_without_server(&closed, "").ended().exits(3);
    let summary = ended.summary();
    assert_eq!(count(&summary.steady, Outcome::ConnectRefused), summary.steady.requests, "{}", ended.stdout);
    for (answer, outcome) in [("prohibited", Outcome::Unreachable), ("nothing", Outcome::TimedOut)] {
        let scenario = format!(
            "target = 'https://shop.test/4k'\n{base}{}\n\
             [network]\nclients = 20\nrtt = '20ms'\nshared = {{ rtt = '2ms', up = {{ unreachable = '{answer}' }} }}\n",
            far.server
        );
        let ended = far.wan.begin_without_server(&scenario, "").ended().exits(3);
        let summary = ended.summary();
        assert_eq!(count(&summary.steady, outcome), summary.steady.requests, "{answer}: {}", ended.stdout);
        let drops = summary.network.expect("an emulated network").drops;
        assert!(drops.unreachable >= summary.steady.requests, "{drops:?}");
    }
}
