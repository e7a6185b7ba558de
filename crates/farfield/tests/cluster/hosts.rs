//! `farfield cluster run` over the system's ssh: three network namespaces, with an sshd in each of two.

use crate::common::wan::{find, may_build};
use crate::common::{CALM, Ended, Place, Process, Running, poll};
use crate::scene::{Gathering, open};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The server's address, in the namespace of the gatherer.
const SERVER: &str = "10.77.0.1";
/// Addresses of the hosts' sshd, of which one is reached over IPv6 alone.
const HOSTS: [&str; 2] = ["10.77.1.2", "fd77:2::2"];

/// Namespaces of a gatherer and two hosts, removed when this is dropped.
struct Machines {
    names: [String; 3],
}

fn run(words: &str) {
    let mut words = words.split_whitespace();
    let program = words.next().expect("a program");
    let output = Command::new(program).args(words).output().expect("iproute2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

impl Machines {
    fn new() -> Machines {
        let names = ["c", "a", "b"].map(|name| format!("ff-cluster-{}-{name}", std::process::id()));
        for name in &names {
            run(&format!("ip netns add {name}"));
            run(&format!("ip -n {name} link set lo up"));
        }
        let machines = Machines { names };
        let [c, ..] = &machines.names;
        run(&format!("ip -n {c} addr add {SERVER}/32 dev lo"));
        for (number, host) in (1..).zip(&machines.names[1..]) {
            run(&format!("ip -n {c} link add v{number} type veth peer name v0 netns {host}"));
            run(&format!("ip -n {c} addr add 10.77.{number}.1/24 dev v{number}"));
            run(&format!("ip -n {host} addr add 10.77.{number}.2/24 dev v0"));
            run(&format!("ip -n {c} addr add fd77:{number}::1/64 dev v{number} nodad"));
            run(&format!("ip -n {host} addr add fd77:{number}::2/64 dev v0 nodad"));
            run(&format!("ip -n {c} link set v{number} up"));
            run(&format!("ip -n {host} link set v0 up"));
            run(&format!("ip -n {host} route add {SERVER} via 10.77.{number}.1"));
        }
        machines
    }

    /// A command in the gatherer's namespace.
    fn here(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[0], env!("CARGO_BIN_EXE_farfield")]);
        command
    }

    /// sshd in the namespace of host `number`.
    fn sshd(&self, sshd: &Path, place: &Place, number: usize) -> Process {
        let at = |name: &str| place.path(name).display().to_string();
        let home = place.path(&format!("home-{number}"));
        fs::create_dir(&home).expect("a folder");
        let config = format!(
            "ListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PermitRootLogin yes\nPidFile none\nSetEnv HOME={}\n",
            HOSTS[number - 1],
            at("host-key"),
            at("user-key.pub"),
            home.display()
        );
        let config = place.write(&format!("sshd-{number}"), config);
        let script = format!(
            "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec {} -D -e -f {} 2>>{}",
            sshd.display(),
            config.display(),
            at("sshd.log")
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[number], "sh", "-c", &script]);
        Process::start(&mut command, place)
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for name in &self.names {
            // A session of sshd whose link was taken down outlives its server until TCP gives up.
            let pids = Command::new("ip").args(["netns", "pids", name]).output();
            let pids =
                pids.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
            let pids: Vec<&str> = pids.split_whitespace().collect();
            if !pids.is_empty() {
                let _ = Command::new("kill").arg("-9").args(pids).status();
            }
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn keys(place: &Place) {
    for name in ["host-key", "user-key"] {
        let path = place.path(name);
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path).status();
        assert!(made.is_ok_and(|status| status.success()));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("own file");
    }
    let hosts: Vec<String> = ["a", "b"]
        .iter()
        .zip(HOSTS)
        .map(|(host, address)| format!("Host {host}\n HostName {address}\n"))
        .collect();
    place.write("ssh.conf", format!(
        "{}Host *\n User root\n IdentityFile {}\n IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n",
        hosts.concat(),
        place.path("user-key").display()
    ));
}

/// Runs of a sweep are made at the hosts too, each with the program that is there by now.
fn sweep_at_hosts(place: &Place, machines: &Machines, ssh: &str) {
    let sweep = format!("sweep s.toml --repeats 2 --on ssh:a,b -q -o swept {CALM}");
    let mut words: Vec<&str> = sweep.split_whitespace().collect();
    words.extend(["--on-ssh", ssh]);
    place.begin_by(machines.here(), &words).ended().exits(0);
    for repeat in ["repeat-1", "repeat-2"] {
        let directory = place.path("swept/point-01").join(repeat);
        let design = fs::read_to_string(directory.join("design.json")).expect("a design");
        assert!(design.contains("\"on\": \"ssh:a,b\""), "{design}");
        let run = Ended { directory, ..place.farfield("--version") };
        assert_eq!(run.summary().parts.len(), 2);
    }
}

/// farfield is copied to both hosts; then one of them is cut off in the middle of a second run.
#[test]
fn hosts_that_ssh_reaches_make_one_run_and_a_partition_is_named() {
    let test = "hosts_that_ssh_reaches_make_one_run_and_a_partition_is_named";
    let Some(sshd) = may_build(test).then(|| find(test, "sshd")).flatten() else { return };
    let place = Place::new();
    let machines = Machines::new();
    keys(&place);
    let _sshd = [1, 2].map(|number| machines.sshd(&sshd, &place, number));
    for number in [1, 2] {
        poll("sshd to listen", || {
            let mut ss = Command::new("ip");
            let files = ["/proc/net/tcp", "/proc/net/tcp6"];
            ss.args(["netns", "exec", &machines.names[number], "cat"]).args(files);
            // Port 22, in LISTEN.
            let listening = ss.output().is_ok_and(|output| {
                let sockets = String::from_utf8_lossy(&output.stdout).into_owned();
                sockets.lines().any(|line| line.contains(":0016 ") && line.contains("0:0000 0A"))
            });
            listening.then_some(())
        });
    }
    let server = place.begin_by(machines.here(), &["serve", &format!("{SERVER}:8080")]);
    poll("the server", || {
        fs::read_to_string(server.stdout()).is_ok_and(|said| said.contains("serving")).then_some(())
    });
    let ssh = format!("ssh -F {}", place.path("ssh.conf").display());
    let begin = |duration: &str, out: &str| -> Running {
        place.write("s.toml", open(&format!("http://{SERVER}:8080"), duration));
        let words = format!("cluster run s.toml --hosts a,b -o {out} {CALM}");
        let mut words: Vec<&str> = words.split_whitespace().collect();
        words.extend(["--ssh", &ssh]);
        place.begin_by(machines.here(), &words)
    };
    let whole = Ended { directory: place.path("whole"), ..begin("1s", "whole").ended() }.exits(0);
    let summary = whole.summary();
    assert_eq!(summary.parts.len(), 2, "{}", whole.stderr);
    assert_eq!(whole.samples().len() as u64, summary.steady.requests + summary.warm_up.requests);
    assert!(summary.parts.iter().all(|part| part.clock_error_ns.is_some()));
    for home in ["home-1", "home-2"] {
        let kept =
            fs::read_dir(place.path(home).join(".cache/farfield")).expect("a copy of the program").count();
        assert_eq!(kept, 1, "{home}");
    }

    sweep_at_hosts(&place, &machines, &ssh);

    let cut = begin("6s", "cut");
    let cut = Gathering { running: cut, address: String::new() };
    cut.await_words("2 parts, measuring");
    run(&format!("ip -n {} link set v2 down", machines.names[0]));
    cut.await_words("lost part 2/2");
    let ended = Ended { directory: place.path("cut"), ..cut.running.ended() }.exits(3);
    assert!(ended.stderr.contains("said nothing for 1.5 s"), "{}", ended.stderr);
    let check =
        ended.summary().verdict.checks.into_iter().find(|check| check.name == "parts").expect("a check");
    assert_eq!(check.note.as_deref(), Some("2/2 is missing"));
    poll("the host that was cut off to end its part", || {
        let pids = Command::new("ip").args(["netns", "pids", &machines.names[2]]).output().expect("iproute2");
        let pids = String::from_utf8_lossy(&pids.stdout).into_owned();
        let is_part = |pid: &str| {
            fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("--join"))
        };
        (!pids.lines().any(is_part)).then_some(())
    });

    let unknown = ["cluster", "run", "s.toml", "--hosts", "a,c", "-o", "unknown", "--ssh", &ssh];
    let unknown = place.begin_by(machines.here(), &unknown).ended().exits(1);
    assert!(
        unknown.stderr.contains("farfield: c: ssh: ") && !place.path("unknown").exists(),
        "{}",
        unknown.stderr
    );
    drop(server);
}
