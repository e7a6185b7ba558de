//! A network namespace that plays a machine: with a network card, a default route, and servers that were
//! started by hand. The test's own thread moves inside, and so does all that it starts: no packet gets out.

use super::{Place, Process, Signal, poll};
use farfield_os::namespace::Namespace;
use farfield_os::tun::{Tun, TunOptions};
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine's own addresses beside the loopback ones.
pub const CARD_V4: &str = "10.20.0.1";
/// The machine's own IPv6 address.
pub const CARD_V6: &str = "fd00:20::1";

/// A machine, which lasts as long as what was started on it.
pub struct Machine {
    /// The namespace, in which the test's thread is.
    pub namespace: Namespace,
    /// The machine's network card, from which nobody reads.
    _card: Tun,
}

impl Machine {
    /// Makes it, and moves the calling thread there.
    #[expect(clippy::new_without_default, reason = "a thread moves by a call, not by a default")]
    pub fn new() -> Machine {
        let namespace = Namespace::make().expect("root makes namespaces");
        namespace.enter().expect("root enters them");
        let options =
            TunOptions { name: "eth0", queues: 1, offload: false, waiting_bytes: 1 << 20, threads: false };
        let card = Tun::open(options).expect("root makes interfaces");
        let machine = Machine { namespace, _card: card };
        for line in [
            "link set lo up",
            "link set eth0 addrgenmode none",
            "link set eth0 up",
            &format!("address add {CARD_V4}/24 dev eth0"),
            &format!("address add {CARD_V6}/64 dev eth0 nodad"),
            "route add default via 10.20.0.254",
        ] {
            machine.ip(line);
        }
        // The kernel adds it behind the address, a moment later.
        let local = format!("local {CARD_V6} dev eth0");
        poll("the card's IPv6 address", || {
            machine.ip("-6 route show table local").contains(&local).then_some(())
        });
        machine
    }

    /// Output of `ip` with these words.
    pub fn ip(&self, words: &str) -> String {
        let output = Command::new("ip").args(words.split_whitespace()).output().expect("iproute2 is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {words}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The machine's interfaces, addresses, routes, rules, settings, and rules of its firewall as far as
    /// these can be listed.
    pub fn state(&self) -> BTreeMap<String, String> {
        let tables =
            ["-d link", "address", "route show table all", "-6 route show table all", "rule", "-6 rule"];
        let tables = tables.iter().map(|words| (format!("ip {words}"), self.ip(words)));
        let mut state: BTreeMap<String, String> = tables.collect();
        for words in ["nft list ruleset", "iptables-save", "ip6tables-save"] {
            let (program, arguments) = words.split_once(' ').unwrap_or((words, ""));
            let listed = Command::new(program).args(arguments.split_whitespace()).output();
            if let Ok(output) = listed {
                // A comment has the time.
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let rules: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
                state.insert(words.to_owned(), rules.join("\n"));
            }
        }
        // Tables and modules show themselves here without any program.
        for table in ["ip_tables_names", "ip6_tables_names", "arp_tables_names"] {
            let path = format!("/proc/thread-self/net/{table}");
            state.insert(path.clone(), fs::read_to_string(path).unwrap_or_default());
        }
        // Shows this thread its own namespace's.
        settings(Path::new("/proc/sys/net"), &mut state);
        state
    }

    /// The interfaces that farfield has made.
    pub fn interfaces(&self) -> Vec<String> {
        let text = self.ip("-o link");
        let names = text.lines().filter_map(|line| line.split(": ").nth(1));
        names.filter(|name| name.starts_with("farfield")).map(str::to_owned).collect()
    }
}

/// Holds the state while something is added to the machine against that of before: whatever was there is as
/// it was, but for what has the name of an interface that was added.
#[track_caller]
pub fn has_all_of(before: &BTreeMap<String, String>, during: &BTreeMap<String, String>, added: &str) {
    for (name, value) in before {
        let now = during.get(name).unwrap_or_else(|| panic!("{name} is gone"));
        match name.starts_with("ip ") {
            true => assert!(
                value.lines().all(|line| now.lines().any(|own| own == line)),
                "{name} was\n{value}\nand is\n{now}"
            ),
            false => assert_eq!(now, value, "{name}"),
        }
    }
    let new = during.keys().filter(|name| !before.contains_key(*name));
    let new: Vec<_> = new.filter(|name| !name.split('/').any(|part| part == added)).collect();
    assert!(new.is_empty(), "{new:?}");
}

/// Holds the state against that of before, part by part.
#[track_caller]
pub fn is_as_before(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    for (name, value) in before {
        assert_eq!(after.get(name), Some(value), "{name} has changed");
    }
    assert_eq!(after.len(), before.len(), "something was added");
}

fn settings(folder: &Path, state: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("settings").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => settings(&path, state),
            // A setting that may not be read has no value.
            false => {
                drop(state.insert(path.display().to_string(), fs::read_to_string(&path).unwrap_or_default()))
            }
        }
    }
}

/// nginx as somebody starts it by hand: a master with workers.
pub struct ByHand {
    process: Process,
    /// The folder with its files and logs.
    pub home: PathBuf,
}

impl ByHand {
    /// Starts it in `place` with these `listen` directives, and waits until it listens at `ready`.
    pub fn start(nginx: &Path, place: &Place, listen: &[&str], ready: &str) -> ByHand {
        ByHand::start_by(Command::new(nginx), place, listen, |process| {
            let ready: SocketAddr = ready.parse().expect("an address");
            poll("nginx to listen", || match TcpStream::connect(ready) {
                Ok(_) => Some(()),
                Err(_) => process.ended().map(|status| panic!("nginx has ended: {status}")),
            });
        })
    }

    /// Starts it as the last words of `command`.
    pub fn start_by(
        mut command: Command,
        place: &Place,
        listen: &[&str],
        is_ready: impl FnOnce(&mut Process),
    ) -> ByHand {
        let home = place.path("");
        let text = home.to_str().expect("a plain path").trim_end_matches('/');
        let listen: String = listen.iter().map(|at| format!("listen {at} backlog=4096; ")).collect();
        place.write(
            "hand.conf",
            format!(
                "daemon off; user root; worker_processes 2; pid {text}/pid; error_log {text}/error.log;
                events {{ worker_connections 4096; }}
                http {{
                    log_format asked '$remote_addr $request'; access_log {text}/access.log asked;
                    keepalive_requests 1000000; client_body_temp_path {text}/t; proxy_temp_path {text}/t;
                    fastcgi_temp_path {text}/t; uwsgi_temp_path {text}/t; scgi_temp_path {text}/t;
                    server {{ {listen} root {text}/www; }}
                }}"
            ),
        );
        place.write("www/1k", vec![b'x'; 1 << 10]);
        place.write("www/64k", vec![b'x'; 64 << 10]);
        command.args(["-p", text, "-c", &format!("{text}/hand.conf"), "-e", "stderr"]);
        let mut process = Process::start(&mut command, place);
        is_ready(&mut process);
        ByHand { process, home }
    }

    /// The first process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends its first process a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Addresses of the clients that it was asked by, one for each request. A socket of both families shows
    /// IPv4 addresses as mapped ones.
    pub fn askers(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.join("access.log")).unwrap_or_default();
        let addresses = text.lines().filter_map(|line| line.split(' ').next());
        addresses.map(|address| address.trim_start_matches("::ffff:").to_owned()).collect()
    }
}
