//! Servers that were started by hand on this machine, loaded by emulated clients, each by one command; and
//! the machine is afterwards as it was before.
//!
//! A namespace plays the machine. Root is needed, nginx and iproute2; a test that lacks one skips by name.

use crate::common::machine::{ByHand, CARD_V4, Machine, has_all_of, is_as_before};
use crate::common::wan::{CALM_PACKETS, find, may_build};
use crate::common::{Ended, Place, Running, Signal, poll};
use farfield_os::processors;
use rustix::process::{Pid, kill_process};
use std::path::PathBuf;

/// nginx, where a machine can be played; else `test` is skipped.
fn nginx(test: &str) -> Option<PathBuf> {
    let nginx = find(test, "nginx")?;
    (find(test, "ip").is_some() && may_build(test)).then_some(nginx)
}

/// Forty requests of four users.
const FORTY: &str = "-c 4 -n 40 --rtt 20ms";

fn begin(place: &Place, words: &str) -> Running {
    place.begin_run(&format!("{CALM_PACKETS} {words}"))
}

fn run(place: &Place, words: &str) -> Ended {
    begin(place, words).ended()
}

/// Every request was answered, and no connection was faster than the path.
#[track_caller]
fn is_from_afar(ended: Ended, requests: u64, round_trip_ms: u64) -> Ended {
    let ended = ended.exits(0);
    let samples = ended.samples();
    assert!(samples.len() as u64 >= requests, "{} requests", samples.len());
    for sample in &samples {
        assert_eq!(sample.outcome, farfield_base::Outcome::Ok, "{sample:?}");
        let least = farfield_base::Duration::from_ms(round_trip_ms);
        assert!(sample.connect_time().is_none_or(|took| took >= least), "{sample:?}");
        assert!(sample.service_time().is_some_and(|took| took >= least), "{sample:?}");
    }
    ended
}

/// The first line of the issue: a server on loopback alone, from 80 ms away, by one command.
#[test]
fn a_server_on_loopback_is_reached_from_afar() {
    let test = "a_server_on_loopback_is_reached_from_afar";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let words = "--rtt 80ms -c 4 -n 40 --capture";
    let ended = is_from_afar(run(&place, &format!("http://127.0.0.1:8080/1k {words}")), 40, 80);
    is_as_before(&before, &machine.state());
    // In the kernel's table the bytes of 198.18.x.y stand in reverse.
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").expect("a table");
    assert!(table.contains(":1F90") && !table.contains("12C6:"), "connections of clients are left: {table}");
    let askers = server.askers();
    // The probe before the run was no request.
    assert_eq!(askers.len(), ended.samples().len());
    assert!(askers.iter().all(|asker| asker.starts_with("198.18.0.")), "{askers:?}");
    let summary = ended.summary();
    assert!(summary.verdict.valid, "{:?}", summary.verdict);
    assert_eq!(summary.generator.plane, "emulated");
    let tiers = std::fs::metadata(ended.directory.join("monitors.parquet"));
    assert!(tiers.is_ok_and(|file| file.len() > 0), "the server was monitored");
    let verified = place.farfield_with(&["verify", ended.directory.to_str().expect("a plain path")]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Additions to the machine are announced before, as they are then made.
#[test]
fn what_changes_is_said_before() {
    let test = "what_changes_is_said_before";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let _server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let running = place.begin("run http://127.0.0.1:8080/1k --rtt 20ms -c 2 -d 60s -o run");
    poll("the interface to be there", || (machine.interfaces() == ["farfield0"]).then_some(()));
    let parts = [
        "the network namespace of the server (this machine's own) also has:",
        "an interface farfield0",
        "a route to 198.18.0.0/15, where clients are, by farfield0",
        "net.ipv4.conf.farfield0.route_localnet = 1",
        "nothing else there is changed, and these are gone afterwards",
    ];
    // It was written before; this process reads it when it comes to that.
    poll("what is said", || parts.iter().all(|part| running.said().contains(part)).then_some(()));
    poll("the route to be there", || machine.ip("route").contains("198.18.0.0/15").then_some(()));
    assert!(machine.ip("route").contains("default via 10.20.0.254"), "{}", machine.ip("route"));
    poll("a checkpoint", || place.path("run/summary.json").exists().then_some(()));
    // Everything that was there is there, and has not changed.
    has_all_of(&before, &machine.state(), "farfield0");
    // The socket that sees packets arrive: at the server's address, to one client's address alone.
    let sockets = std::fs::read_to_string("/proc/thread-self/net/udp").expect("a table");
    let ends = |line: &str| {
        let mut fields = line.split_whitespace().skip(1).map(str::to_owned);
        (fields.next().expect("an address"), fields.next().expect("an address"))
    };
    let [(own, other)] = &sockets.lines().skip(1).map(ends).collect::<Vec<_>>()[..] else {
        panic!("{sockets}")
    };
    // In this table the bytes of 127.0.0.1 and 198.18.x.y or 198.19.x.y stand in reverse.
    assert!(
        own.starts_with("0100007F:") && other[4..].starts_with("12C6:") | other[4..].starts_with("13C6:"),
        "{sockets}"
    );
    // A program that sends to a client's address reaches nobody, and no packet of it leaves by the card.
    let sent = || {
        let counters = machine.ip("-s link show eth0");
        counters.lines().last().expect("counters").trim().to_owned()
    };
    let before_sending = sent();
    let client = "198.18.0.1:80".parse().expect("an address");
    let patience = std::time::Duration::from_millis(300);
    assert!(std::net::TcpStream::connect_timeout(&client, patience).is_err(), "somebody is there");
    assert_eq!(sent(), before_sending);
    running.signal(Signal::INT);
    assert_eq!(running.ended().code, Some(130));
    assert_eq!(machine.interfaces(), [""; 0]);
    is_as_before(&before, &machine.state());
}

#[test]
fn servers_on_other_addresses_of_the_machine() {
    let test = "servers_on_other_addresses_of_the_machine";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let server = ByHand::start(&nginx, &place, &["0.0.0.0:8080", "[::1]:8081"], "127.0.0.1:8080");
    let before = machine.state();
    for url in [format!("http://{CARD_V4}:8080/1k"), "http://localhost:8080/1k".to_owned()] {
        is_from_afar(run(&place, &format!("{url} {FORTY}")), 40, 20);
        is_as_before(&before, &machine.state());
    }
    let of_v4 = server.askers().len();
    // Sixteen times a segment of 64 KiB, and what is left to do of its checksum, in by the loopback
    // interface.
    let far = is_from_afar(run(&place, &format!("http://[::1]:8081/64k {FORTY} --capture")), 40, 20);
    is_as_before(&before, &machine.state());
    let askers = server.askers().split_off(of_v4);
    assert_eq!(askers.len(), far.samples().len());
    assert!(askers.iter().all(|asker| asker.starts_with("2001:2::")), "{askers:?}");
}

/// Two classes with addresses of either family, a scenario with a network and no plane, and the packet
/// gateway.
#[test]
fn a_scenario_names_the_server() {
    let test = "a_scenario_names_the_server";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let server = ByHand::start(&nginx, &place, &["[::]:8080 ipv6only=off"], "127.0.0.1:8080");
    let file = place.write(
        "far.toml",
        "target = 'http://127.0.0.1:8080/1k'
        run = { requests = 80 }
        load = { model = 'closed', users = 8 }
        [network]
        gateway = 'packet'
        [[network.class]]
        name = 'old'
        rtt = '20ms'
        addresses = '100.64.0.0/16'
        [[network.class]]
        name = 'new'
        rtt = '20ms'
        addresses = '2001:2:0:7::/64'",
    );
    let before = machine.state();
    is_from_afar(run(&place, file.to_str().expect("a plain path")), 80, 20);
    is_as_before(&before, &machine.state());
    let askers = server.askers();
    let of = |start: &str| askers.iter().filter(|asker| asker.starts_with(start)).count();
    assert!(of("100.64.0.") > 0 && of("2001:2:0:7:") > 0, "{askers:?}");
}

/// A container has namespaces of users, processes, mounts and networks of its own; its runtime is asked for
/// it.
#[test]
fn a_server_in_a_container() {
    let test = "a_server_in_a_container";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let mut command = std::process::Command::new("unshare");
    let nginx = nginx.to_str().expect("a plain path").to_owned();
    command.args([
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount",
        "--net",
        "sh",
        "-c",
    ]);
    command.arg(format!("ip link set lo up && exec {nginx} \"$@\"")).arg("sh");
    let pid_file = place.path("pid");
    let server = ByHand::start_by(command, &place, &["127.0.0.1:8080", "[::]:80 ipv6only=off"], |process| {
        poll("nginx to be ready", || match std::fs::read_to_string(&pid_file) {
            Ok(text) if !text.trim().is_empty() => Some(()),
            _ => process.ended().map(|status| panic!("nginx has ended: {status}")),
        });
    });
    // The child of `unshare`, seen from outside.
    let children = format!("/proc/{0}/task/{0}/children", server.pid());
    let pid = std::fs::read_to_string(children).expect("its children").trim().to_owned();
    let fake = |program: &str, answer: &str| {
        let path = place.write(&format!("bin/{program}"), format!("#!/bin/sh\n{answer}\n"));
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("own file");
    };
    fake(
        "docker",
        &format!(
            "test \"$4\" = web || {{ echo \"Error: No such container: $4\" >&2; exit 1; }}\n\
             echo '[{{\"Id\":\"4f\",\"State\":{{\"Status\":\"running\",\"Running\":true,\"Pid\":{pid}}}}}]'"
        ),
    );
    let with_path = |words: &str| {
        let path = format!("PATH={}:$PATH", place.path("bin").display());
        crate::common::shell(
            &place,
            &format!("rm -rf run; {path} FARFIELD run {words} -o run -q {CALM_PACKETS}"),
        )
    };
    let before = machine.state();
    let far = |ended: Ended| is_from_afar(ended, 40, 20);
    // By the URL's address inside, by the port alone, by the process, and by the namespace's file.
    far(with_path(&format!("http://127.0.0.1:8080/1k --container web {FORTY} {}", crate::common::CALM)));
    far(with_path(&format!(
        "--container web {FORTY} --set 'requests.request=[{{path=\"/1k\"}}]' {}",
        crate::common::CALM
    )));
    far(run(&place, &format!("http://127.0.0.1:8080/1k --server-pid {pid} {FORTY}")));
    far(run(&place, &format!("http://127.0.0.1:8080/1k --server-netns /proc/{pid}/ns/net {FORTY}")));
    is_as_before(&before, &machine.state());
    assert!(server.askers().iter().all(|asker| asker.starts_with("198.18.0.")));
    let ended = with_path(&format!("http://127.0.0.1:8080/1k --container shop {FORTY}")).exits(1);
    ended.says(&["there is no container shop", "No such container: shop"]);
    fake("docker", "echo '[{\"State\":{\"Status\":\"exited\",\"Pid\":0}}]'");
    with_path(&format!("http://127.0.0.1:8080/1k --container web {FORTY}"))
        .exits(1)
        .says(&["the container web is not running (exited, says docker)"]);
    let nowhere = place.path("none");
    let line = format!("PATH={} FARFIELD run --container web {FORTY} -o run -q", nowhere.display());
    crate::common::shell(&place, &line)
        .exits(1)
        .says(&["none of docker, podman, nerdctl and crictl", "--server-pid"]);
    // The container ends with its first process, and `unshare` with it.
    let first = Pid::from_raw(pid.parse().expect("a number")).expect("not 0");
    kill_process(first, Signal::KILL).expect("it runs");
}

/// Settings of a namespace that is the server's own are set and restored, also after SIGKILL; those of the
/// machine are not touched.
#[test]
fn after_kill_9_all_is_as_before() {
    let test = "after_kill_9_all_is_as_before";
    let Some(nginx) = nginx(test) else { return };
    let place = Place::new();
    let inside = Machine::new();
    let server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before_inside = inside.state();
    let machine = Machine::new();
    let before = machine.state();
    let url = format!("http://127.0.0.1:8080/1k --server-pid {}", server.pid());
    let somaxconn = || inside.namespace.inside(|| std::fs::read_to_string("/proc/sys/net/core/somaxconn"));
    let somaxconn = || somaxconn().expect("root enters").expect("a setting").trim().to_owned();
    let usual = somaxconn();
    let running = begin(&place, &format!("{url} --rtt 20ms -c 4 -d 60s --set server.somaxconn=77"));
    running.await_checkpoint();
    assert_eq!(somaxconn(), "77");
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    assert_eq!(somaxconn(), "77", "the setting is left");
    let state = || inside.namespace.inside(|| inside.state()).expect("root enters");
    // The kernel takes it down once the process has ended, and on a busy machine some time after.
    poll("the interface to go with the process", || {
        (!state()["ip route show table all"].contains("farfield")).then_some(())
    });
    is_from_afar(run(&place, &format!("{url} {FORTY}")), 40, 20);
    assert_eq!(somaxconn(), usual);
    is_as_before(&before_inside, &state());
    is_as_before(&before, &machine.state());

    let refused =
        run(&place, &format!("http://127.0.0.1:8080/1k {FORTY} --set server.somaxconn=77")).exits(2);
    refused.says(&["server.somaxconn", "this machine's own network namespace", "sysctl"]);
}

/// In the machine's own namespace nothing at all is left either.
#[test]
fn kill_9_leaves_the_machine_as_it_was() {
    let test = "kill_9_leaves_the_machine_as_it_was";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let _server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let running = begin(&place, "http://127.0.0.1:8080/1k --rtt 20ms -c 4 -d 60s");
    running.await_checkpoint();
    assert_eq!(machine.interfaces(), ["farfield0"]);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    poll("the interface to go", || machine.interfaces().is_empty().then_some(()));
    is_as_before(&before, &machine.state());
    // The server's connections stay until the next run; what it sends to them leaves by the default route.
    assert!(connections_from_afar() > 0, "they have ended");
    assert!(machine.ip("route get 198.18.0.1").contains("via 10.20.0.254"));
    is_from_afar(run(&place, &format!("http://127.0.0.1:8080/1k {FORTY}")), 40, 20);
    assert_eq!(connections_from_afar(), 0);
    is_as_before(&before, &machine.state());
}

/// Connections of this namespace with clients in 198.18.0.0/15, in whatever state.
fn connections_from_afar() -> usize {
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").expect("a table");
    let others = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2));
    // Addresses stand in reverse.
    others.filter(|other| other[4..].starts_with("12C6:") || other[4..].starts_with("13C6:")).count()
}

/// curl, in the place of a client, before the same server; and the machine as before.
#[test]
fn a_program_before_a_server_on_loopback() {
    let test = "a_program_before_a_server_on_loopback";
    let Some(nginx) = nginx(test).filter(|_| find(test, "curl").is_some()) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let words =
        ["shell", "--rtt", "80ms", "http://127.0.0.1:8080/", "--", "curl", "-s", "-o", "/dev/null", "-w"];
    let format = ["%{http_code} %{size_download} %{time_total}", "http://server:8080/64k"];
    let ended = place.farfield_with(&[words.as_slice(), format.as_slice()].concat()).exits(0);
    let (answer, seconds) = ended.stdout.rsplit_once(' ').expect("three words");
    assert_eq!(answer, "200 65536");
    assert!(seconds.parse::<f64>().expect("seconds") >= 0.16, "a handshake and a request: {seconds}");
    assert!(ended.stderr.contains("farfield0"), "{}", ended.stderr);
    assert_eq!(server.askers(), ["198.18.0.1"]);
    is_as_before(&before, &machine.state());
}

/// A shard keeps off the processor of a server that somebody bound to one, and goes before other work on its
/// own, as before a server that farfield starts.
#[test]
fn a_shard_keeps_off_the_processor_that_the_server_is_bound_to() {
    let test = "a_shard_keeps_off_the_processor_that_the_server_is_bound_to";
    let own = processors::allowed().expect("a set of processors");
    let [_, .., last] = own[..] else { return crate::common::skip(test, "there is one processor") };
    let (Some(nginx), Some(taskset)) = (nginx(test), find(test, "taskset")) else { return };
    let (_machine, place) = (Machine::new(), Place::new());
    let mut command = std::process::Command::new(taskset);
    command.args(["-c", &last.to_string()]).arg(nginx);
    let bound = ByHand::start_by(command, &place, &["127.0.0.1:8080"], |process| {
        poll("nginx to listen", || match std::net::TcpStream::connect("127.0.0.1:8080") {
            Ok(_) => Some(()),
            Err(_) => process.ended().map(|status| panic!("nginx has ended: {status}")),
        });
    });
    let ended = is_from_afar(run(&place, &format!("http://127.0.0.1:8080/1k {FORTY}")), 40, 20);
    let summary = ended.summary();
    let placement = summary.generator.placement.as_deref().expect("a placement");
    assert!(placement.contains(&format!("server where it runs, bound to {last}, ")), "{placement}");
    assert!(!summary.generator.processors.contains(&(last as u32)), "{placement}");
    assert_eq!(placement.contains("real-time shard"), processors::may_be_real_time(), "{placement}");
    // Free to use any of them, it is left where it is, and the shard goes first all the same.
    drop(bound);
    let free = Place::new();
    let listen = ["127.0.0.1:8080"];
    let _server = ByHand::start(&find(test, "nginx").expect("it was there"), &free, &listen, listen[0]);
    let ended = is_from_afar(run(&free, &format!("http://127.0.0.1:8080/1k {FORTY}")), 40, 20);
    let placement = ended.summary().generator.placement.expect("a placement");
    assert!(placement.contains("server where it runs, receive on "), "{placement}");
    assert_eq!(placement.contains("real-time shard"), processors::may_be_real_time(), "{placement}");
}
