//! Limits of this machine, and how to raise them.

use crate::descriptors;
use crate::environment::setting;
use farfield_os::processors;
use farfield_testbed::{HostNamespace, Testbed, TestbedError, TestbedSpec};
use std::fs::OpenOptions;

/// One property of the machine that limits farfield.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineLimit {
    /// The property.
    pub subject: &'static str,
    /// The value found on this machine.
    pub found: String,
    /// The remedy, if one is needed.
    pub remedy: Option<String>,
}

/// Descriptors for ten thousand connected users, with a margin.
const DESCRIPTORS_WANTED: u64 = 16_384;
const SOMAXCONN_WANTED: u64 = 4_096;
/// Backlog of packets steered to a processor: one SYN of each of ten thousand clients at once.
const BACKLOG_WANTED: u64 = 10_000;
const PORTS_WANTED: u64 = 28_000;
/// A receive buffer that holds the window of 1 Gbit/s over 30 ms.
const BUFFER_WANTED: u64 = 4 << 20;

/// Examines this machine.
pub fn examine() -> Vec<MachineLimit> {
    vec![
        cores(),
        open_descriptors(),
        ports(),
        at_least("accept queue", "net.core.somaxconn", SOMAXCONN_WANTED),
        at_least("SYN backlog", "net.ipv4.tcp_max_syn_backlog", 1_024),
        receive_backlog(),
        at_least("receive buffers", "net.core.rmem_max", BUFFER_WANTED),
        at_least("send buffers", "net.core.wmem_max", BUFFER_WANTED),
        namespaces(),
        tun(),
        running_servers(),
    ]
}

/// Finds out if emulated clients may be added to the network of this machine, before a server that runs
/// already.
fn running_servers() -> MachineLimit {
    let root = "run farfield as root; without, `--server` starts a server in a namespace of its own";
    let (found, remedy) = match joinable() {
        Ok(None) => ("emulated clients may be added to this machine's network".to_owned(), None),
        Ok(Some(taken)) => {
            (taken, Some("--set network.addresses=10.99.0.0/16, or another free block".to_owned()))
        }
        Err(why) => (format!("no emulated clients in this machine's network ({why})"), Some(root.to_owned())),
    };
    MachineLimit { subject: "running servers", found, remedy }
}

/// The owner of the clients' usual block, or the reason why an interface may not be added.
fn joinable() -> Result<Option<String>, String> {
    let has_right = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::NET_ADMIN));
    if !has_right {
        return Err("farfield lacks CAP_NET_ADMIN".to_owned());
    }
    let host = HostNamespace::own().map_err(|error| error.to_string())?;
    let spec = TestbedSpec { families: [true, false], ..TestbedSpec::default() };
    match Testbed::changes(&host, &spec) {
        Ok(_) => Ok(None),
        Err(TestbedError::Taken { block, by, .. }) => {
            Ok(Some(format!("the clients' usual block {block} is taken by {by}")))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn cores() -> MachineLimit {
    let cores = processors::allowed().map_or(0, |cores| cores.len());
    MachineLimit {
        subject: "processors",
        found: format!("{cores} that farfield may use"),
        remedy: (cores < 2)
            .then(|| "with one, server and clients disturb each other: use a machine of two or more".into()),
    }
}

fn open_descriptors() -> MachineLimit {
    let limits = descriptors::limits();
    let hard = limits.hard.unwrap_or(u64::MAX);
    let shown = |limit: Option<u64>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    MachineLimit {
        subject: "descriptors",
        found: format!("{}, may be raised to {}", shown(limits.soft), shown(limits.hard)),
        remedy: (hard < DESCRIPTORS_WANTED)
            .then(|| format!("ulimit -Hn {DESCRIPTORS_WANTED}, as root, before farfield")),
    }
}

fn ports() -> MachineLimit {
    let range = setting("net.ipv4.ip_local_port_range").unwrap_or_default();
    let ends: Vec<u64> = range.split(' ').filter_map(|end| end.parse().ok()).collect();
    let count = match ends[..] {
        [first, last] => last.saturating_sub(first) + 1,
        _ => 0,
    };
    MachineLimit {
        subject: "local ports",
        found: format!("{count} for each source address and server"),
        remedy: (count < PORTS_WANTED).then(|| {
            "sysctl -w net.ipv4.ip_local_port_range='10000 65000', or more --source addresses".into()
        }),
    }
}

fn at_least(subject: &'static str, name: &str, wanted: u64) -> MachineLimit {
    let value = setting(name);
    let number = value.as_ref().and_then(|value| value.parse::<u64>().ok());
    MachineLimit {
        subject,
        found: format!("{name} = {}", value.as_deref().unwrap_or("not to be read")),
        remedy: number.is_none_or(|number| number < wanted).then(|| format!("sysctl -w {name}={wanted}")),
    }
}

/// The receive backlog is the whole machine's, and cannot be set for a testbed alone. Packets that find it
/// full count as lost by the gateway.
fn receive_backlog() -> MachineLimit {
    let finding = at_least("receive backlog", "net.core.netdev_max_backlog", BACKLOG_WANTED);
    let remedy = finding.remedy.map(|remedy| format!("{remedy}, if a run reports gateway-overruns"));
    MachineLimit { remedy, ..finding }
}

fn namespaces() -> MachineLimit {
    let root = rustix::process::geteuid().is_root();
    let users = setting("user.max_user_namespaces").and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    let refused = setting("kernel.unprivileged_userns_clone").is_some_and(|value| value == "0");
    let (found, remedy) = match (root, users > 0 && !refused) {
        (true, _) => ("as root", None),
        (false, true) => ("unprivileged, in a user namespace", None),
        (false, false) => {
            ("none", Some("run farfield as root, or sysctl -w user.max_user_namespaces=1000".into()))
        }
    };
    MachineLimit { subject: "network namespaces", found: found.into(), remedy }
}

#[expect(clippy::disallowed_methods, reason = "a device of the kernel's, by its own name")]
fn tun() -> MachineLimit {
    let (found, remedy) = match OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => ("/dev/net/tun opens".to_owned(), None),
        Err(error) => {
            (format!("/dev/net/tun: {error}"), Some("run farfield as root, or modprobe tun".to_owned()))
        }
    };
    MachineLimit { subject: "TUN", found, remedy }
}
