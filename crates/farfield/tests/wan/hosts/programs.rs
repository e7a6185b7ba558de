//! Several servers, models among them, and programs beside emulated users: each is where its address says,
//! and ends with the run.

use crate::common::wan::{DebianServer, Wan, find, may_build};
use crate::common::{Place, poll};
use farfield_base::{Outcome, Sample};
use std::fs;

/// The words that start nginx with another configuration of the same place, as a TOML array.
pub(crate) fn nginx_with(wan: &Wan, config: &str) -> String {
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    format!("['nginx', '-p', '{home}', '-c', '{home}/{config}', '-e', 'stderr']")
}

/// The requests in a log of the place, in order, each with who asked.
pub(crate) fn asked_in(wan: &Wan, log: &str) -> Vec<(String, String)> {
    let pair = |line: &str| line.split_once(' ').map(|(who, what)| (who.to_owned(), what.to_owned()));
    wan.read(log).lines().filter_map(pair).collect()
}

/// Two servers at hosts of a topology, users of two classes that each ask one of them, on two shards, and
/// curl and Python between the users, which ask both by name: every request is in the log of the server that
/// it was for, from the address of who asked, and nowhere else.
#[expect(clippy::too_many_lines, reason = "one scene, step by step")]
#[test]
fn two_servers_and_a_mixed_population() {
    let test = "two_servers_and_a_mixed_population";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
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
        programs.iter().all(|program| program.packets.up > 10 && program.packets.down > 10),
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
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
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
    let Some(wan) = Wan::new(test, DebianServer::Nginx).filter(|_| find(test, "curl").is_some()) else {
        return;
    };
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
