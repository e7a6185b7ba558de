//! `farfield shell`: real programs behind emulated paths, before a real server, and nothing left behind.
//!
//! Root is needed, and the programs; a test that lacks one skips by name.

use crate::common::wan::{Kind, Wan, find, may_build};
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
    let Some(wan) = Wan::new(test, Kind::Nginx).filter(|_| find(test, "curl").is_some()) else { return };
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
    let Some(wan) = Wan::new(test, Kind::Nginx).filter(|_| find(test, "curl").is_some()) else { return };
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
    /// How far the least and the median response times may be apart. The packets of a megabyte take a debug
    /// build milliseconds of processor time, which a path of 50 ms shows.
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

/// What was measured of replies, on kept-alive connections without think time.
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

    /// How far each of the columns is from `other`'s.
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
    let Some(wan) = Wan::new(test, Kind::Nginx).filter(|_| find(test, "wrk").is_some()) else { return };
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

/// The words that start nginx with another configuration of the same place, as a TOML array.
fn nginx_with(wan: &Wan, config: &str) -> String {
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    format!("['nginx', '-p', '{home}', '-c', '{home}/{config}', '-e', 'stderr']")
}

/// The requests in a log of the place, in order, each with who asked.
fn asked_in(wan: &Wan, log: &str) -> Vec<(String, String)> {
    let pair = |line: &str| line.split_once(' ').map(|(who, what)| (who.to_owned(), what.to_owned()));
    wan.read(log).lines().filter_map(pair).collect()
}

/// Two servers at hosts of a topology, users of two classes that each ask one of them, on two shards, and
/// curl and Python between the users, which ask both by name: every request is in the log of the server that
/// it was for, from the address of who asked, and nowhere else.
#[test]
fn two_servers_and_a_mixed_population() {
    let test = "two_servers_and_a_mixed_population";
    let Some(wan) = Wan::new(test, Kind::Nginx) else { return };
    if find(test, "curl").is_none() || find(test, "python3").is_none() {
        return;
    }
    let config = wan.read("server.conf");
    wan.place.write("b.conf", config.replace("/access.log", "/b.log").replace("/pid", "/b.pid"));
    let (a, b) = (nginx_with(&wan, "server.conf"), nginx_with(&wan, "b.conf"));
    let python = "import urllib.request as web
for nth in range(4):
    for server in ('server', 'b'):
        assert len(web.urlopen('http://%s/1k?python=%d' % (server, nth)).read()) == 1024";
    let hosts: Vec<String> = (0..10).map(|nth| format!("h{nth}")).collect();
    let links: String = hosts
        .iter()
        .map(|host| {
            format!("{{ from = 'core', to = '{host}', link = {{ delay = '5ms', rate = '20Mbit' }} }},\n")
        })
        .collect();
    let scenario = format!(
        "server.command = {a}
        server.ready = 'tcp:80'
        [load]\nmodel = 'closed'\nusers = 8\nthink = '150ms'
        [[requests.request]]\npath = '/1k'
        [run]\nwarm-up = '0s'\nduration = '4s'
        [network]\nshards = 2
        [network.topology]
        server = 'a'
        hosts = ['a', 'b', {hosts}]
        routers = ['core', 'far']
        links = [
            {links}
            {{ from = 'a', to = 'core', link = {{ delay = '1ms' }} }},
            {{ from = 'core', to = 'far', link = {{ delay = '10ms' }} }},
            {{ from = 'far', to = 'b', link = {{ delay = '1ms' }} }},
        ]
        [[network.server]]\nname = 'b'\nhost = 'b'\ncommand = {b}
        [[network.class]]\nname = 'near'\nhosts = ['h0', 'h1', 'h2', 'h3', 'h4']
        [[network.class]]\nname = 'far'\nserver = 'b'\nhosts = ['h5', 'h6', 'h7', 'h8', 'h9']
        [[network.program]]\nclass = 'near'
        command = 'curl -sSf \"http://server/1k?curl=[1-5]\" \"http://b/1k?curl=[1-5]\"'
        [[network.program]]\nclass = 'far'\ncommand = \"\"\"exec python3 -c \"{python}\" \"\"\"\n",
        hosts = hosts.iter().map(|host| format!("'{host}'")).collect::<Vec<_>>().join(", "),
    );
    let ended = wan.begin_without_server(&scenario, "").ended().exits(0);
    let (summary, samples) = (ended.summary(), ended.samples());
    let programs = &summary.network.as_ref().expect("a network").programs;
    let codes: Vec<_> = programs.iter().map(|program| program.code).collect();
    assert_eq!(codes, [Some(0), Some(0)], "{programs:?}");
    assert!(
        programs.iter().all(|program| program.packets_up > 10 && program.packets_down > 10),
        "{programs:?}"
    );
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok), "{samples:?}");
    let count =
        |log: &[(String, String)], what: &str| log.iter().filter(|(_, line)| line.contains(what)).count();
    for (class, log) in [(0, "access.log"), (1, "b.log")] {
        let asked = asked_in(&wan, log);
        for (program, what, requests) in [(0, "?curl=", 5), (1, "?python=", 4)] {
            assert_eq!(count(&asked, what), requests, "{log}: {asked:?}");
            let own = asked.iter().filter(|(_, line)| line.contains(what));
            assert!(own.clone().all(|(who, _)| *who == programs[program].address), "{log}: {asked:?}");
        }
        let of_users = samples.iter().filter(|sample| sample.class == class).count();
        assert!(of_users > 10, "{of_users} requests of class {class}");
        assert_eq!(asked.len() - 9, of_users, "{log}: {asked:?}");
        let addresses: std::collections::BTreeSet<&str> = asked.iter().map(|(who, _)| who.as_str()).collect();
        assert_eq!(addresses.len(), 4 + 2, "four users, and both programs: {addresses:?}");
    }
    // `b` is 10 ms further away than `a`, for users and for programs.
    let least = |class: u16| {
        let of_class = samples.iter().filter(move |sample| sample.class == class);
        of_class.filter_map(Sample::service_time).min().expect("replies").as_secs_f64() * 1e3
    };
    assert!(least(0) >= 12.0 && least(1) >= 32.0, "{} and {} ms", least(0), least(1));
}

/// A proxy at one host before an origin at another, and programs of two classes on two shards that serve one
/// another: users' requests go through both servers, and each of these knows the others by name.
#[test]
fn servers_and_programs_reach_one_another() {
    let test = "servers_and_programs_reach_one_another";
    let Some(wan) = Wan::new(test, Kind::Nginx) else { return };
    if find(test, "curl").is_none() || find(test, "python3").is_none() {
        return;
    }
    let config = wan.read("server.conf");
    wan.place.write("b.conf", config.replace("/access.log", "/b.log").replace("/pid", "/b.pid"));
    let files = format!("root {}/www;", wan.place.path("").display().to_string().trim_end_matches('/'));
    assert!(config.contains(&files), "{config}");
    wan.place.write("server.conf", config.replace(&files, "location / { proxy_pass http://b/; }"));
    let (a, b) = (nginx_with(&wan, "server.conf"), nginx_with(&wan, "b.conf"));
    let serve = "python3 -m http.server 8000 --directory www";
    let ask = "sleep 1; curl -sSf --retry 5 --retry-connrefused -o /dev/null \
               -w '%{http_code} %{time_connect} %{size_download}\n' http://near-1:8000/1k";
    let scenario = format!(
        "server.command = {a}
        server.ready = 'tcp:80'
        [load]\nmodel = 'closed'\nusers = 4\nthink = '150ms'
        [[requests.request]]\npath = '/1k'
        [run]\nwarm-up = '0s'\nduration = '4s'
        [network]\nshards = 2\nclients = 8
        [[network.server]]\nname = 'b'\nrtt = '60ms'\ncommand = {b}
        [[network.class]]\nname = 'near'\nrtt = '20ms'
        [[network.class]]\nname = 'far'\nrtt = '100ms'
        [[network.program]]\nclass = 'near'\ncommand = \"\"\"cd {place}; exec {serve}\"\"\"
        [[network.program]]\nclass = 'far'\ncommand = \"\"\"{ask}\"\"\"\n",
        place = wan.place.path("").display(),
    );
    let ended = wan.begin_without_server(&scenario, "").ended().exits(0);
    let (summary, samples) = (ended.summary(), ended.samples());
    assert!(samples.len() > 20, "{samples:?}");
    assert!(
        samples.iter().all(|sample| sample.outcome == Outcome::Ok && sample.body_bytes == 1024),
        "{samples:?}"
    );
    // A connection of a client's, a request of a proxy's on one of its own: two round trips of each path.
    for (class, path_ms) in [(0, 20.0), (1, 100.0)] {
        let of_class = samples.iter().filter(|sample| sample.class == class);
        let least = of_class.filter_map(Sample::service_time).min().expect("replies").as_secs_f64() * 1e3;
        assert!((path_ms + 120.0..path_ms + 600.0).contains(&least), "class {class}: {least} ms");
    }
    let asked = asked_in(&wan, "b.log");
    assert!(asked.len() >= samples.len() && asked.iter().all(|(who, _)| who == "192.0.2.1"), "{asked:?}");
    let programs = &summary.network.as_ref().expect("a network").programs;
    assert_eq!(programs.iter().map(|program| program.code).collect::<Vec<_>>(), [None, Some(0)]);
    let said = fs::read_to_string(wan.place.path("wan-0/program-2.log")).expect("what curl said");
    // Before it may stand that the server did not listen yet, and was asked again.
    let last: Vec<&str> = said.lines().next_back().unwrap_or_default().split_whitespace().collect();
    let [code, connect, size] = last[..] else { panic!("{said}") };
    let connect_ms = connect.parse::<f64>().expect("seconds") * 1e3;
    assert!((code, size) == ("200", "1024") && (120.0..600.0).contains(&connect_ms), "{said:?}");
}

/// A model of a server beside a real one, which takes 30 ms for each request: users of a class that names
/// it, and curl, are served by it at the end of its links, in a run and in a shell; other ports and
/// datagrams are refused.
#[test]
fn a_model_serves_beside_a_real_server() {
    let test = "a_model_serves_beside_a_real_server";
    let Some(wan) = Wan::new(test, Kind::Nginx).filter(|_| find(test, "curl").is_some()) else { return };
    let curl = "curl -s --max-time 10 -o /dev/null -w '%{http_code} %{size_download} %{time_total}\n'";
    let line =
        format!("{curl} http://m/bytes/50000; {curl} http://server/1k; {curl} http://m:81/ || echo not $?");
    let scenario = format!(
        "server.command = {a}
        server.ready = 'tcp:80'
        [load]\nmodel = 'closed'\nusers = 4\nthink = '50ms'
        [[requests.request]]\npath = '/1k'
        [run]\nwarm-up = '0s'\nduration = '3s'
        [network]\nclients = 6
        [[network.server]]\nname = 'm'\nrtt = '60ms'\nmodel = {{ service-time = '30ms', reply-size = '2000 B' }}
        [[network.class]]\nname = 'near'\nrtt = '20ms'
        [[network.class]]\nname = 'far'\nrtt = '40ms'\nserver = 'm'\n",
        a = nginx_with(&wan, "server.conf"),
    );
    let program = format!("[[network.program]]\nclass = 'near'\ncommand = \"\"\"{line}\"\"\"\n");
    let check = |said: &str| {
        let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
        let ms = |time: &str| time.parse::<f64>().expect("seconds") * 1e3;
        assert!(
            matches!(lines[0][..], ["200", "50000", time] if (190.0..900.0).contains(&ms(time))),
            "{said}"
        );
        assert!(matches!(lines[1][..], ["200", "1024", time] if (40.0..900.0).contains(&ms(time))), "{said}");
        assert_eq!(lines[2][..2], ["000", "0"], "{said}");
        assert_eq!(lines[3], ["not", "7"], "refused at once: {said}");
    };
    let ended = wan.begin_without_server(&format!("{scenario}{program}"), "").ended().exits(0);
    let samples = ended.samples();
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok), "{samples:?}");
    let of_model: Vec<&Sample> = samples.iter().filter(|sample| sample.class == 1).collect();
    assert!(of_model.len() > 8 && of_model.iter().all(|sample| sample.body_bytes == 2_000), "{of_model:?}");
    let least = of_model.iter().filter_map(|sample| sample.service_time()).min().expect("replies");
    let least_ms = least.as_secs_f64() * 1e3;
    assert!((130.0..400.0).contains(&least_ms), "a round trip of 100 ms, and 30 ms: {least_ms} ms");
    let asked = asked_in(&wan, "access.log");
    let of_users = samples.iter().filter(|sample| sample.class == 0).count();
    assert_eq!(asked.len(), of_users + 1, "nothing for the model gets to the real server: {asked:?}");
    check(&fs::read_to_string(wan.place.path("wan-0/program-1.log")).expect("what curl said"));
    let file = wan.place.write("shell.toml", scenario);
    let words = [
        "shell",
        "-q",
        "--scenario",
        file.to_str().expect("a path"),
        "--as",
        "near",
        "--",
        "sh",
        "-c",
        &line,
    ];
    check(&wan.place.farfield_with(&words).exits(0).stdout);
}

/// Programs beside users: what they print is kept, one that fails makes the run invalid and is named, and one
/// that would go on for ever ends with the run, with what it has in the background.
#[test]
fn programs_beside_users_are_judged_and_end_with_the_run() {
    let test = "programs_beside_users_are_judged_and_end_with_the_run";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let marker = place.path("pids");
    let for_ever = format!("clients=sleep 600 & echo $! > {0}; echo $$ >> {0}; wait", marker.display());
    let mut words: Vec<&str> = "run --rtt 20ms -c 2 -d 1s --warm-up 0s -q --out run".split(' ').collect();
    words.extend(
        crate::common::CALM.split_whitespace().chain(crate::common::wan::CALM_PACKETS.split_whitespace()),
    );
    words.extend(crate::common::wan::SHORT.split_whitespace());
    words.extend(["--beside", "clients=echo hello from $FARFIELD_CLIENT; exit 7", "--beside", &for_ever]);
    let ended = place.farfield_with(&words).exits(3);
    assert!(ended.stdout.contains("programs-ran"), "{ended:?}");
    let run = place.path("run");
    let summary = fs::read_to_string(run.join("summary.json")).expect("a summary");
    let summary = farfield_measure::Summary::from_json(&summary).expect("a summary");
    let network = summary.network.as_ref().expect("a network");
    assert_eq!(network.clients, 4, "a client for each user and each program");
    let codes: Vec<_> = network.programs.iter().map(|program| program.code).collect();
    assert_eq!(codes, [Some(7), None], "{:?}", network.programs);
    let note = summary
        .verdict
        .failed()
        .find(|check| check.name == "programs-ran")
        .and_then(|check| check.note.clone());
    assert!(note.as_ref().is_some_and(|note| note.contains("it ended with 7")), "{note:?}");
    let printed = fs::read_to_string(run.join("program-1.log")).expect("a log");
    assert_eq!(printed, format!("hello from {}\n", network.programs[0].address));
    let pids = fs::read_to_string(&marker).expect("pids");
    for pid in pids.lines() {
        poll("it to be gone", || {
            (!fs::exists(format!("/proc/{pid}/root/bin")).unwrap_or(false)).then_some(())
        });
    }
    let ended = place.farfield("run --rtt 20ms --beside hoem=true").exits(2);
    assert!(ended.stderr.contains("no clients are of the class `hoem`"), "{ended:?}");
    let ended = place.farfield("run --plane simulated --beside clients=true").exits(2);
    assert!(ended.stderr.contains("real programs need a real server"), "{ended:?}");
}

/// A shell beside users, on the terminal: the run ends when it is left.
#[test]
fn a_shell_beside_users_ends_the_run() {
    let test = "a_shell_beside_users_ends_the_run";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let shell =
        place.write("shell", "#!/bin/sh\necho in place of $FARFIELD_CLIENT before $FARFIELD_SERVER\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&shell, mode).expect("own file");
    let line = format!(
        "SHELL={} FARFIELD run --rtt 20ms -c 2 -d 100s --warm-up 0s --out run --shell clients",
        shell.display()
    );
    let ended = crate::common::shell(&place, &line).exits(130);
    assert!(ended.stdout.starts_with("in place of 198.18.0."), "{ended:?}");
    assert!(ended.stdout.contains("its shell was left"), "{ended:?}");
}
