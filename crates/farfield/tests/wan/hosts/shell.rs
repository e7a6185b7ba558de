//! `farfield shell`: real programs behind emulated paths, before a real server, and nothing left behind.
//!
//! Root is needed, and the programs; a test that lacks one skips by name.

use crate::common::wan::{DebianServer, Wan, find, may_build};
use crate::common::{Ended, Place, Signal, alone, poll};
use farfield_base::{Outcome, Sample};
use std::fs;

/// The server of a test, as a flag's value.
fn nginx(wan: &Wan) -> String {
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    format!("nginx -p {home} -c {home}/server.conf -e stderr")
}

/// Milliseconds that curl took for `path` on a connection of its own, behind what `flags` say.
fn curl_ms(wan: &Wan, flags: &str, path: &str) -> (f64, Ended) {
    let (server, url) = (nginx(wan), format!("http://server{path}"));
    let mut words = vec!["shell", "--server", &server];
    words.extend(flags.split_whitespace());
    words.extend(["--", "curl", "-s", "-o", "/dev/null", "-w", "%{time_total} %{size_download}", &url]);
    let ended = wan.place.farfield_with(&words).exits(0);
    let (seconds, _) = ended.stdout.split_once(' ').unwrap_or_else(|| panic!("{ended:?}"));
    (seconds.parse::<f64>().expect("seconds") * 1e3, ended)
}

/// A handshake and a request are two round trips; a modem adds 32,768 B and their headers at 56 kbit/s.
/// The upper ends leave room for a busy machine.
#[test]
fn curl_behind_paths() {
    let test = "curl_behind_paths";
    let Some(wan) = Wan::new(test, DebianServer::Nginx).filter(|_| find(test, "curl").is_some()) else {
        return;
    };
    let (ms, ended) = curl_ms(&wan, "--rtt 80ms", "/1k");
    assert!((160.0..400.0).contains(&ms), "{ms} ms: {ended:?}");
    assert!(ended.stdout.ends_with(" 1024") && ended.stderr.contains("80ms"), "{ended:?}");
    let (ms, ended) = curl_ms(&wan, "--access modem-56k", "/32k");
    assert!((5_300.0..12_000.0).contains(&ms), "{ms} ms: {ended:?}");
    assert!(ended.stdout.ends_with(" 32768"), "{ended:?}");
}

/// The program's own words, input and exit code are passed through, and names are those of the path.
#[test]
fn a_program_is_as_it_would_be_outside() {
    let test = "a_program_is_as_it_would_be_outside";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let line = "echo $FARFIELD_CLIENT to $FARFIELD_SERVER; grep -c server /etc/hosts; echo oops >&2; exit 7";
    let ended = place.farfield_with(&["shell", "-q", "--rtt", "20ms", "--", "sh", "-c", line]).exits(7);
    assert_eq!(ended.stdout, "198.18.0.1 to 192.0.2.1:80\n1\n");
    assert_eq!(ended.stderr, "oops\n");
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    assert!(!hosts.contains("192.0.2.1"), "the machine's own file stays as it was");
    let ended = place.farfield_with(&["shell", "-q", "--", "sh", "-c", "kill -KILL $$"]).exits(137);
    assert_eq!(ended.stderr, "");
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    let test = "what_cannot_be_is_said_in_a_sentence";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let ended = place.farfield("shell --rtt 20ms -- /no/such/program").exits(1);
    assert!(ended.stderr.contains("/no/such/program cannot be started"), "{ended:?}");
    let ended = place.farfield("shell --rtt 20ms --as home -- true").exits(2);
    assert!(ended.stderr.contains("no clients are of the class `home`; there are clients"), "{ended:?}");
}

/// A run on sockets across a path that loses one packet in ten says so: its times are those of losses.
#[test]
fn a_run_across_a_lossy_path_says_so() {
    let test = "a_run_across_a_lossy_path_says_so";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    place.write(
        "lossy.toml",
        "plane = 'emulated'\n[network]\nclients = 1\n[[network.class]]\nname = 'lossy'\n\
         up = { delay = '2ms', loss = '10%' }\ndown = { delay = '2ms', loss = '10%' }\n",
    );
    let warnings = |name: &str, path: &str| {
        let run = [env!("CARGO_BIN_EXE_farfield"), "run", "http://server/", "-R", "100", "-d", "3s", "-q"];
        let words = [&["shell", "-q"][..], &path.split(' ').collect::<Vec<_>>(), &["--"], &run];
        let more = ["--policy", "one-request", "--warm-up", "0s", "--out", name];
        place.farfield_with(&[&words.concat()[..], &more].concat());
        let summary = fs::read_to_string(place.path(name).join("summary.json")).expect("a summary");
        let summary: farfield_measure::Summary = serde_json::from_str(&summary).expect("a summary");
        summary.warnings
    };
    let lossy = warnings("lossy", "--scenario lossy.toml");
    assert!(lossy.iter().any(|warning| warning.contains("were sent again")), "{lossy:?}");
    let sound = warnings("sound", "--rtt 4ms");
    assert!(!sound.iter().any(|warning| warning.contains("were sent again")), "{sound:?}");
}

/// Asked to end, farfield ends the program, and what that has left in the background.
#[test]
fn nothing_is_left_behind() {
    let test = "nothing_is_left_behind";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let marker = place.path("pids");
    let line = format!("sleep 600 & echo $! > {0}; echo $$ >> {0}; wait", marker.display());
    let (program, mut words) = ("sh", vec!["shell", "--rtt", "20ms", "--"]);
    words.extend([program, "-c", &line]);
    let running = place.begin_with(&words);
    let pids = poll("the program to say who it is", || {
        let said = fs::read_to_string(&marker).ok()?;
        let pids: Vec<u32> = said.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() == 2).then_some(pids)
    });
    running.signal(Signal::TERM);
    let ended = running.ended().exits(143);
    assert!(ended.stderr.contains("1 process left behind, killed"), "{ended:?}");
    for pid in pids {
        poll("it to be gone", || {
            (!fs::exists(format!("/proc/{pid}/root/bin")).unwrap_or(false)).then_some(())
        });
    }
}

/// Behind the gateway is a kernel that may know other hosts, as the machine's own does before a server that
/// runs already: what is not for the server does not get there, from a shell or from a program beside users.
#[test]
fn only_the_server_is_reached() {
    let test = "only_the_server_is_reached";
    let Some(wan) = Wan::new(test, DebianServer::Nginx).filter(|_| find(test, "curl").is_some()) else {
        return;
    };
    // Another host is played by another address there, on which the same server listens.
    let server = format!("sh -c 'ip address add 203.0.113.9/32 dev lo; exec {}'", nginx(&wan));
    let curl = |to: &str| format!("curl -sS --max-time 2 -o /dev/null -w %{{http_code}} http://{to}/1k");
    let line = format!("{}; {} || echo not $?", curl("server"), curl("203.0.113.9"));
    let words = ["shell", "--rtt", "20ms", "--server", &server, "--", "sh", "-c", &line];
    let ended = wan.place.farfield_with(&words).exits(0);
    assert_eq!(ended.stdout, "200000not 28\n", "{ended:?}");
    assert!(ended.stderr.contains("from or for nobody on the path"), "{ended:?}");
    let directory = wan.place.path("run");
    let directory = directory.to_str().expect("a plain path");
    let beside = format!("clients={line}");
    let mut words =
        vec!["run", "--plane", "emulated", "--rtt", "20ms", "--server", &server, "--beside", &beside];
    words.extend(["-c", "2", "-d", "4s", "-q", "-o", directory]);
    let ended = wan.place.farfield_with(&words);
    let said = fs::read_to_string(wan.place.path("run/program-1.log")).unwrap_or_default();
    assert!(said.contains("200") && said.contains("not 28"), "{said}: {ended:?}");
}

/// Names: the hosts of the path are found, over UDP and TCP, and any other name is known to be nobody's at
/// once, without a question to anyone outside.
#[test]
fn names_are_those_of_the_path() {
    let test = "names_are_those_of_the_path";
    if !may_build(test) || find(test, "dig").is_none() {
        return;
    }
    let place = Place::new();
    let line = "dig +short server; dig +tcp +short server; dig nobody.example | grep -o 'status: [A-Z]*'
        dig server AAAA | grep -o 'status: [A-Z]*'; getent hosts nobody.example; echo getent $?";
    let ended = place.farfield_with(&["shell", "--rtt", "20ms", "--", "sh", "-c", line]).exits(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines, ["192.0.2.1", "192.0.2.1", "status: NXDOMAIN", "status: NOERROR", "getent 2"]);
    assert!(ended.stderr.contains("lookups of names that are not here"), "{ended:?}");
}

/// Two programs on one network: both are at addresses of their own, the second ends with the first, and a
/// class without enough clients is said to have too few.
#[test]
fn programs_run_beside_one_another() {
    let test = "programs_run_beside_one_another";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let marker = place.path("beside");
    place.write(
        "two.toml",
        "plane = 'emulated'\n[network]\nclients = 2\n[[network.class]]\nname = 'home'\nrtt = '20ms'
        [[network.class]]\nname = 'office'\nrtt = '30ms'\n",
    );
    let scenario = place.path("two.toml");
    let scenario = scenario.to_str().expect("a plain path");
    let beside =
        format!("office=echo $FARFIELD_CLIENT > {0}.new; mv {0}.new {0}; sleep 600", marker.display());
    let line =
        format!("until [ -e {0} ]; do :; done; echo $FARFIELD_CLIENT and $(cat {0})", marker.display());
    let mut words = vec!["shell", "--scenario", scenario, "--as", "home", "--beside", &beside];
    words.extend(["--", "sh", "-c", &line]);
    let ended = place.farfield_with(&words).exits(0);
    let (first, second) = ended.stdout.trim().split_once(" and ").expect("two addresses");
    assert!(first != second && [first, second].iter().all(|a| a.starts_with("198.18.")), "{ended:?}");
    assert!(ended.stderr.contains(&format!("beside it, office-1 is {second}")), "{ended:?}");
    let mut words = vec!["shell", "--scenario", scenario, "--as", "home", "--beside", "home=true"];
    words.extend(["--", "true"]);
    let ended = place.farfield_with(&words).exits(2);
    assert!(ended.stderr.contains("there are 1 clients of the class `home` for 2 programs"), "{ended:?}");
}

/// Behind one shell, a program that serves another: over the links of both, by its name, and whoever has
/// no program is not there.
#[test]
fn a_program_serves_another() {
    let test = "a_program_serves_another";
    if !may_build(test) || ["curl", "python3"].iter().any(|program| find(test, program).is_none()) {
        return;
    }
    let place = Place::new();
    place.write("www/file", vec![b'x'; 300_000]);
    let scenario = place.write(
        "two.toml",
        "plane = 'emulated'\n[network]\nclients = 4\n[[network.class]]\nname = 'home'\nrtt = '20ms'
        [[network.class]]\nname = 'office'\nrtt = '100ms'\n",
    );
    let www = place.path("www").display().to_string();
    let serve = format!("office=exec python3 -m http.server 8000 --directory {www} >/dev/null");
    let curl = "curl -s -o /dev/null -w '%{http_code} %{time_connect} %{size_download}\\n'";
    let line = format!(
        "{curl} --retry 20 --retry-delay 1 --retry-connrefused http://office-1:8000/file
        {curl} -m 1 http://198.18.0.4:8000/ || echo not $?"
    );
    let scenario = scenario.to_str().expect("a plain path");
    let mut words = vec!["shell", "--scenario", scenario, "--as", "home", "--beside", &serve];
    words.extend(["--", "sh", "-c", &line]);
    let ended = place.farfield_with(&words).exits(0);
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    let [code, connect, size, _, _, _, "not", "28"] = said[..] else { panic!("{ended:?}") };
    let connect_ms = connect.parse::<f64>().expect("seconds") * 1e3;
    assert!((code, size) == ("200", "300000") && (120.0..600.0).contains(&connect_ms), "{ended:?}");
}

/// An interface that the program removes: the program, which can reach nobody any more, is ended, and one
/// sentence says why.
#[test]
fn an_interface_that_vanishes_ends_the_path() {
    let test = "an_interface_that_vanishes_ends_the_path";
    if !may_build(test) || find(test, "ip").is_none() {
        return;
    }
    let place = Place::new();
    let line = "ip link del farfield0; exec sleep 600";
    let ended = place.farfield_with(&["shell", "--rtt", "20ms", "--", "sh", "-c", line]).exits(1);
    assert!(ended.stderr.contains("an interface at one of its ends is gone"), "{ended:?}");
}

/// An object, and how many connections fetch it again and again: few of what is large, so that neither TCP
/// waits for a processor.
struct Fetched {
    path: &'static str,
    connections: u32,
    /// For how long, unless `FARFIELD_SECONDS` has another number.
    seconds: u32,
    /// Relative difference allowed in the least, and in the median response time. The packets of a megabyte
    /// take a debug build milliseconds of processor time, which a path of 50 ms shows.
    apart: [f64; 2],
}

/// One packet; several windows of slow start, and more than is offered at first; and ten times as much.
const FETCHED: [Fetched; 3] = [
    Fetched { path: "/1k", connections: 20, seconds: 1, apart: [0.03, 0.03] },
    Fetched { path: "/100k", connections: 4, seconds: 1, apart: [0.03, 0.03] },
    Fetched { path: "/1m", connections: 1, seconds: 2, apart: [0.05, 0.15] },
];
/// That of the server's kernel: with BBR, which some machines have by default, it paces its replies.
const CONGESTION: &str = "server.congestion = 'cubic'";
/// Measurements at most, until other work on the machine has left one undisturbed.
const TRIES: usize = 4;

/// Measurements of replies, on kept-alive connections without think time.
#[derive(Debug, Clone, Copy)]
struct Replies {
    per_s: f64,
    least_ms: f64,
    median_ms: f64,
    mean_ms: f64,
}

impl Replies {
    fn columns(&self) -> [f64; 4] {
        [self.per_s, self.least_ms, self.median_ms, self.mean_ms]
    }

    /// Relative difference of each column from `other`'s.
    fn apart(&self, other: &Replies) -> [f64; 4] {
        let (own, others) = (self.columns(), other.columns());
        std::array::from_fn(|column| own[column] / others[column] - 1.0)
    }
}

/// wrk behind 50 ms, on the TCP of its kernel.
fn by_wrk(wan: &Wan, fetched: &Fetched, seconds: u32) -> Replies {
    let script = wan.place.write(
        "done.lua",
        "done = function(summary, latency, requests)
            local e = summary.errors
            io.write(string.format(\"figures %d %d %d %d %.1f %d\\n\", summary.requests, summary.duration,
                latency.min, latency:percentile(50), latency.mean, e.connect + e.read + e.write + e.status + e.timeout))
        end",
    );
    let (server, script) = (nginx(wan), script.to_str().expect("a plain path").to_owned());
    let [connections, length] = [format!("-c{}", fetched.connections), format!("-d{seconds}s")];
    let url = format!("http://server{}", fetched.path);
    let mut words = vec!["shell", "-q", "--rtt", "50ms", "--set", CONGESTION, "--server", &server, "--"];
    words.extend(["wrk", "-t1"]);
    words.extend([&*connections, &*length, "-s", &*script, &*url]);
    let ended = wan.place.farfield_with(&words).exits(0);
    let line = ended.stdout.lines().find_map(|line| line.strip_prefix("figures "));
    let line = line.unwrap_or_else(|| panic!("no figures: {ended:?}"));
    let figures: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [requests, took_us, least_us, median_us, mean_us, errors] = figures[..] else { panic!("{line}") };
    assert_eq!(errors, 0.0, "{ended:?}");
    Replies {
        per_s: requests / took_us * 1e6,
        least_ms: least_us / 1e3,
        median_ms: median_us / 1e3,
        mean_ms: mean_us / 1e3,
    }
}

/// As many users of farfield's own behind as much, each on its one connection, with their TCP as it is by
/// default.
fn by_users(wan: &Wan, fetched: &Fetched, seconds: u32) -> Replies {
    let Fetched { path, connections, .. } = fetched;
    let scenario = format!(
        "{CONGESTION}\n[load]\nmodel = 'closed'\nusers = {connections}\n[connections]\npolicy = 'persistent'
        [[requests.request]]\npath = '{path}'\n[run]\nwarm-up = '0s'\nduration = '{seconds}s'
        [network]\nrtt = '50ms'\n"
    );
    let samples = wan.run(&scenario, crate::common::wan::SHORT).exits(0).samples();
    let over = |sample: &&Sample| sample.done.as_secs_f64() <= f64::from(seconds);
    let replies: Vec<&Sample> = samples.iter().filter(over).collect();
    assert!(replies.iter().all(|sample| sample.outcome == Outcome::Ok), "{replies:?}");
    // From when the request was sent, as wrk counts: without the handshake of the first.
    let took = |sample: &&Sample| sample.service_time().expect("it was sent").as_secs_f64() * 1e3;
    let mut took_ms: Vec<f64> = replies.iter().map(took).collect();
    took_ms.sort_by(f64::total_cmp);
    Replies {
        per_s: took_ms.len() as f64 / f64::from(seconds),
        least_ms: took_ms[0],
        median_ms: took_ms[took_ms.len() / 2],
        mean_ms: took_ms.iter().sum::<f64>() / took_ms.len() as f64,
    }
}

/// The TCP of farfield's users and that of a kernel agree on the same path before the same server, in the
/// least and the median response time. Rates and means are printed: within a second or two they have the
/// growth of windows, and other work on the machine.
#[test]
fn wrk_and_emulated_users_get_as_much() {
    let test = "wrk_and_emulated_users_get_as_much";
    let Some(wan) = Wan::new(test, DebianServer::Nginx).filter(|_| find(test, "wrk").is_some()) else {
        return;
    };
    wan.place.write("www/100k", vec![b'x'; 100_000]);
    let _alone = alone();
    let asked = std::env::var("FARFIELD_SECONDS").ok().and_then(|text| text.parse().ok());
    println!("object | by | replies a second | least, ms | median, ms | mean, ms");
    for fetched in &FETCHED {
        let seconds = asked.unwrap_or(fetched.seconds);
        let agree = (0..TRIES).any(|_| {
            let [wrk, users] = [by_wrk(&wan, fetched, seconds), by_users(&wan, fetched, seconds)];
            for (by, replies) in [("wrk", wrk), ("users", users)] {
                let columns = replies.columns().map(|column| format!("{column:.2}")).join(" | ");
                println!("{} | {by} | {columns}", fetched.path);
            }
            let apart = users.apart(&wrk);
            let percent = apart.map(|apart| format!("{:+.2} %", 100.0 * apart)).join(" | ");
            println!("{} | apart | {percent}", fetched.path);
            apart[1..3].iter().zip(fetched.apart).all(|(apart, most)| apart.abs() <= most)
        });
        assert!(agree, "{} connections for {}: see the rows above", fetched.connections, fetched.path);
    }
}
