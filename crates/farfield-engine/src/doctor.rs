//! What this machine allows, and how to allow more.

use crate::descriptors;
use crate::environment::setting;
use crate::os::processors;
use std::fs::OpenOptions;

/// One thing that bears on what farfield can do here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub subject: &'static str,
    /// What there is.
    pub found: String,
    /// What would mend it, if it wants mending.
    pub remedy: Option<String>,
}

/// Descriptors with which ten thousand users can be connected, with room.
const DESCRIPTORS_WANTED: u64 = 16_384;
const SOMAXCONN_WANTED: u64 = 4_096;
/// Packets that wait for a processor that receive work was steered to: a SYN of each of ten thousand clients at once.
const BACKLOG_WANTED: u64 = 10_000;
const PORTS_WANTED: u64 = 28_000;
/// A receive buffer that holds the window of 1 Gbit/s over 30 ms.
const BUFFER_WANTED: u64 = 4 << 20;

/// Looks at this machine.
pub fn examine() -> Vec<Finding> {
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
    ]
}

fn cores() -> Finding {
    let cores = processors::allowed().map_or(0, |cores| cores.len());
    Finding {
        subject: "processors",
        found: format!("{cores} that farfield may use"),
        remedy: (cores < 2)
            .then(|| "with one, server and clients disturb each other: use a machine of two or more".into()),
    }
}

fn open_descriptors() -> Finding {
    let limits = descriptors::limits();
    let hard = limits.hard.unwrap_or(u64::MAX);
    let shown = |limit: Option<u64>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    Finding {
        subject: "descriptors",
        found: format!("{}, may be raised to {}", shown(limits.soft), shown(limits.hard)),
        remedy: (hard < DESCRIPTORS_WANTED)
            .then(|| format!("ulimit -Hn {DESCRIPTORS_WANTED}, as root, before farfield")),
    }
}

fn ports() -> Finding {
    let range = setting("net.ipv4.ip_local_port_range").unwrap_or_default();
    let ends: Vec<u64> = range.split(' ').filter_map(|end| end.parse().ok()).collect();
    let count = match ends[..] {
        [first, last] => last.saturating_sub(first) + 1,
        _ => 0,
    };
    Finding {
        subject: "local ports",
        found: format!("{count} for each source address and server"),
        remedy: (count < PORTS_WANTED).then(|| {
            "sysctl -w net.ipv4.ip_local_port_range='10000 65000', or more --source addresses".into()
        }),
    }
}

fn at_least(subject: &'static str, name: &str, wanted: u64) -> Finding {
    let value = setting(name);
    let number = value.as_ref().and_then(|value| value.parse::<u64>().ok());
    Finding {
        subject,
        found: format!("{name} = {}", value.as_deref().unwrap_or("not to be read")),
        remedy: number.is_none_or(|number| number < wanted).then(|| format!("sysctl -w {name}={wanted}")),
    }
}

/// It is the whole machine's, and cannot be set for a testbed alone. What finds it full counts as lost by the gateway.
fn receive_backlog() -> Finding {
    let finding = at_least("receive backlog", "net.core.netdev_max_backlog", BACKLOG_WANTED);
    let remedy = finding.remedy.map(|remedy| format!("{remedy}, if a run tells of gateway-overruns"));
    Finding { remedy, ..finding }
}

fn namespaces() -> Finding {
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
    Finding { subject: "network namespaces", found: found.into(), remedy }
}

fn tun() -> Finding {
    let (found, remedy) = match OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => ("/dev/net/tun opens".to_owned(), None),
        Err(error) => {
            (format!("/dev/net/tun: {error}"), Some("run farfield as root, or modprobe tun".to_owned()))
        }
    };
    Finding { subject: "TUN", found, remedy }
}
