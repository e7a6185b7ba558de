//! Failures with servers that run already: each ends in a sentence that says what to do, and leaves the
//! machine as it was.
//!
//! A namespace plays the machine. Root is needed, nginx and iproute2; a test that lacks one skips by name.

use crate::common::machine::{ByHand, CARD_V4, Machine, is_as_before};
use crate::common::wan::{CALM_PACKETS, find, may_build};
use crate::common::{CALM, Ended, Place, Running, Signal, poll, shell, skip};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const NOBODY: u32 = 65_534;

fn nginx(test: &str) -> Option<PathBuf> {
    let nginx = find(test, "nginx")?;
    (find(test, "ip").is_some() && may_build(test)).then_some(nginx)
}

fn begin(place: &Place, words: &str) -> Running {
    place.begin_run(&format!("{CALM_PACKETS} {words}"))
}

fn run(place: &Place, words: &str) -> Ended {
    begin(place, words).ended()
}

#[test]
fn targets_that_are_not_there_are_named() {
    let test = "targets_that_are_not_there_are_named";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let far = |url: &str| run(&place, &format!("{url} --rtt 20ms -c 4 -n 4"));
    far("http://127.0.0.1:8081/")
        .exits(1)
        .says(&["nothing listens at 127.0.0.1:8081", "start the server first"]);
    let other = format!("http://{CARD_V4}:8080/");
    far(&other).exits(1).says(&["nothing listens at 10.20.0.1:8080", "something does at 127.0.0.1:8080"]);
    far("http://192.0.2.77:8080/").exits(2).says(&[
        "192.0.2.77 is no address of the network namespace",
        "--container, --server-netns or --server-pid",
    ]);
    // Clients of one family, a server of the other: the class is written, and so its addresses.
    far("http://[::1]:8080/ --set network.addresses=198.18.0.0/15").exits(2).says(&[
        "::1",
        "family of the clients' addresses, IPv4",
        "network.addresses=2001:2::/48",
    ]);
    let gone = format!("http://127.0.0.1:8080/ --server-pid {}", u32::MAX >> 1);
    far(&gone).exits(1).says(&["process 2147483647 cannot be entered", "see that the process runs"]);
    far("http://127.0.0.1/ --server-netns no-such-place")
        .exits(1)
        .says(&["`no-such-place` cannot be entered", "ip netns list"]);
    far("http://127.0.0.1/ --server-netns /etc/passwd")
        .exits(1)
        .says(&["not the file of a network namespace"]);
    let two = format!("http://127.0.0.1/ --container web --server-pid {}", server.pid());
    far(&two).exits(2).says(&["a server is in one place"]);
    far("http://127.0.0.1:8080/ --server-cpu 0.5")
        .exits(2)
        .says(&["the server runs already", "server.command"]);
    far("http://127.0.0.1:8080/ --set server.container=-x").exits(2).says(&["is no name"]);
    is_as_before(&before, &machine.state());
    assert!(server.askers().is_empty());
    let left = std::fs::read_dir(place.path("")).expect("own folder").flatten();
    let runs: Vec<_> = left.map(|entry| entry.file_name()).filter(|name| name == "run-1").collect();
    assert!(runs.is_empty(), "no run directory is left: {runs:?}");
}

#[test]
fn clients_addresses_are_nobody_elses() {
    let test = "clients_addresses_are_nobody_elses";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let _server = ByHand::start(&nginx, &place, &["0.0.0.0:8080", "[::]:8080"], "127.0.0.1:8080");
    let far_from = |host: &str, words: &str| {
        run(&place, &format!("http://{host}:8080/1k --rtt 20ms -c 4 -n 40 {words}"))
    };
    let far = |words: &str| far_from("127.0.0.1", words);
    machine.ip("route add 198.18.7.0/24 dev eth0");
    let before = machine.state();
    far("").exits(1).says(&[
        "198.18.0.0/15",
        "the route 198.18.7.0/24 of the interface eth0",
        "network.addresses=10.99.0.0/16",
    ]);
    far("--set network.addresses=10.20.0.0/16").exits(1).says(&["10.20.0.1 of the interface eth0"]);
    far_from("[::1]", "--set network.addresses=fd00:20::/64")
        .exits(1)
        .says(&["fd00:20::1 of the interface eth0"]);
    is_as_before(&before, &machine.state());
    far("--set network.addresses=10.99.0.0/16").exits(0);
    is_as_before(&before, &machine.state());
    // A rule before the main table, as VPNs set them.
    machine.ip("route del 198.18.7.0/24 dev eth0");
    machine.ip("route add default via 10.20.0.254 table 77");
    machine.ip("rule add to 198.18.0.0/15 lookup 77 priority 100");
    let before = machine.state();
    far("").exits(1).says(&["leave by eth0, not by farfield's interface farfield0", "`ip rule`"]);
    is_as_before(&before, &machine.state());
}

/// Something drops what comes in by the new interface, as firewalls do.
#[test]
fn a_server_that_does_not_answer_is_not_loaded() {
    let test = "a_server_that_does_not_answer_is_not_loaded";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let listen = ["127.0.0.1:8080", "[::]:8081 ipv6only=on"];
    let _server = ByHand::start(&nginx, &place, &listen, "127.0.0.1:8080");
    machine.ip("rule add from 127.0.0.1 to 198.18.0.0/15 blackhole priority 100");
    let before = machine.state();
    let far = |url: &str| run(&place, &format!("{url} --rtt 20ms -c 4 -n 4"));
    far("http://127.0.0.1:8080/")
        .exits(1)
        .says(&["does not answer packets that come in by farfield0", "firewall"]);
    // The kernel does not say of a socket on [::] whether it takes IPv4.
    far(&format!("http://{CARD_V4}:8081/")).exits(1).says(&["refuses connections that come in by farfield0"]);
    is_as_before(&before, &machine.state());
}

#[test]
fn two_runs_at_once() {
    let test = "two_runs_at_once";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let _server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let url = "http://127.0.0.1:8080/1k --rtt 20ms -c 4";
    let first = begin(&place, &format!("{url} -d 60s"));
    first.await_checkpoint();
    run(&place, &format!("{url} -n 4"))
        .exits(1)
        .says(&["of the interface farfield0, which is another run's", "network.addresses=10.99.0.0/16"]);
    run(&place, &format!("{url} -n 40 --set network.addresses=10.99.0.0/16")).exits(0);
    assert_eq!(machine.interfaces(), ["farfield0"]);
    first.signal(Signal::INT);
    assert_eq!(first.ended().code, Some(130));
    is_as_before(&before, &machine.state());
}

#[test]
fn a_server_that_dies_ends_the_runs_validity() {
    let test = "a_server_that_dies_ends_the_runs_validity";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let running = begin(&place, "http://127.0.0.1:8080/1k --rtt 20ms -c 4 -d 6s");
    running.await_checkpoint();
    server.signal(Signal::TERM);
    let pid = server.pid();
    let ended = running.ended().exits(3);
    is_as_before(&before, &machine.state());
    let summary = ended.summary();
    let check = summary.verdict.checks.iter().find(|check| check.name == "server-ended").expect("a check");
    let text = format!("{check:?}");
    assert!(text.contains(&format!("process {pid} is gone")) && text.contains("own log"), "{text}");
}

#[test]
fn an_interface_that_vanishes_ends_the_run() {
    let test = "an_interface_that_vanishes_ends_the_run";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let _server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = machine.state();
    let running = begin(&place, "http://127.0.0.1:8080/1k --rtt 20ms -c 4 -d 60s");
    running.await_checkpoint();
    machine.ip("link delete farfield0");
    let ended = running.ended().exits(3);
    is_as_before(&before, &machine.state());
    let reason = ended.summary().incomplete_reason.unwrap_or_default();
    assert!(reason.contains("the gateway's interface is gone"), "{reason}");
}

/// An ordinary user may not add to the machine's network, but to that of a container of its own.
#[test]
fn rights_are_asked_for_where_they_are_missing() {
    let test = "rights_are_asked_for_where_they_are_missing";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let _server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    std::os::unix::fs::chown(place.path(""), Some(NOBODY), Some(NOBODY)).expect("own folder");
    let before = machine.state();
    let as_nobody = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(place.path("")).stdin(Stdio::null()).uid(NOBODY).gid(NOBODY);
        command.env_remove("XDG_RUNTIME_DIR").env("HOME", place.path("")).env("TMPDIR", place.path(""));
        command
    };
    let farfield = |words: &str| {
        let output = as_nobody(env!("CARGO_BIN_EXE_farfield")).args(words.split_whitespace()).output();
        output.expect("another user runs the program")
    };
    let output = farfield("run http://127.0.0.1:8080/1k --rtt 20ms -c 4 -n 4 -q");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.lines().count() == 1 && said.contains("which farfield may not add"), "{said}");
    assert!(said.contains("sudo farfield") && said.contains("--server COMMAND"), "{said}");
    let doctor = farfield("doctor");
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("! running servers") && said.contains("lacks CAP_NET_ADMIN"), "{said}");
    is_as_before(&before, &machine.state());

    let line = "ip link set lo up && echo $$ >inside && exec sleep 1000";
    let mut container = as_nobody("unshare");
    container.args(["--user", "--map-root-user", "--net", "sh", "-c", line]);
    let Ok(mut container) = container.spawn() else { return skip(test, "no unshare") };
    let inside = place.path("inside");
    let pid = poll("the container", || {
        let ended = container.try_wait().expect("a child").is_some();
        let pid = std::fs::read_to_string(&inside).unwrap_or_default().trim().to_owned();
        (ended || !pid.is_empty()).then_some(pid)
    });
    if pid.is_empty() {
        return skip(test, "an ordinary user may not have user namespaces");
    }
    let output =
        farfield(&format!("run http://127.0.0.1:8080/1k --server-pid {pid} --rtt 20ms -c 4 -n 4 -q"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // That there is none in the container shows that farfield has been inside.
    assert!(said.contains("nothing listens at 127.0.0.1:8080") && said.contains(&pid), "{said}");
    container.kill().expect("a child");
    container.wait().expect("a child");
}

#[test]
fn doctor_says_whether_clients_can_be_added() {
    let test = "doctor_says_whether_clients_can_be_added";
    if find(test, "ip").is_none() || !may_build(test) {
        return;
    }
    let (machine, place) = (Machine::new(), Place::new());
    let before = machine.state();
    let said = place.farfield("doctor").exits(0).stdout;
    assert!(said.contains("  running servers      emulated clients may be added"), "{said}");
    machine.ip("route add 198.19.0.0/16 dev eth0");
    let said = place.farfield("doctor").exits(0).stdout;
    assert!(
        said.contains("! running servers") && said.contains("198.19.0.0/16 of the interface eth0"),
        "{said}"
    );
    machine.ip("route del 198.19.0.0/16 dev eth0");
    is_as_before(&before, &machine.state());
}

/// Without a path a URL is loaded by the kernel's own sockets, and nothing is added to the machine.
#[test]
fn a_url_alone_stays_on_sockets() {
    let test = "a_url_alone_stays_on_sockets";
    let Some(nginx) = nginx(test) else { return };
    let (machine, place) = (Machine::new(), Place::new());
    let _server = ByHand::start(&nginx, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let line = format!("FARFIELD run http://127.0.0.1:8080/1k -n 40 -q -o run {CALM}");
    let ended = shell(&place, &line).exits(0);
    assert_eq!(ended.summary().generator.plane, "sockets");
    assert_eq!(machine.interfaces(), [""; 0]);
}
