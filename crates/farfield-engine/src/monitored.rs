//! The server that monitors watch: its processes, its network namespace, and what gave out first in them.
//!
//! A server that the run started, or whose process it was given, is known. One on an address of this machine
//! is whoever listens on the target's port. Of a server elsewhere nothing can be read but its exporters.

use crate::emulated::Emulated;
use crate::plane::{Plane, SocketsPlane};
use crate::run_directory::RunDirectory;
use farfield_base::Instant;
use farfield_measure::MonitorLog;
use farfield_measure::bottleneck::{self, Bottleneck, Examined};
use farfield_monitor::{
    Group, Members, MonitorSettings, MonitoredMachine, Monitors, TierSpec, WatchedNetwork, Writer,
};
use farfield_os::namespace::{self, Namespace};
use farfield_os::sock_diag::SocketTables;
use farfield_testbed::live;
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};

/// The name of the tier of the server.
const SERVER: &str = "server";

/// The series of monitors, in the run directory.
pub(crate) const MONITORS: &str = "monitors.parquet";

const SECOND_NS: u64 = 1_000_000_000;

/// Monitors of the plane's server, and of the tiers that are asked for; `None` if the server is a model.
pub(crate) fn monitors(plane: &Plane, wanted: &MonitorSettings) -> Option<Monitors> {
    let mut notes = Vec::new();
    let (members, group, network) = match plane {
        Plane::Emulated(emulated) => of_testbed(emulated, wanted, &mut notes),
        Plane::Sockets(sockets) => of_sockets(sockets, wanted, &mut notes),
        Plane::Simulated(_) => return None,
    };
    let members = wanted.pid.map(|pid| Members::Processes(vec![pid])).or(members);
    let is_named = wanted.tiers.iter().any(|tier| tier.name == SERVER);
    let of_server =
        members.filter(|_| !is_named).map(|members| (TierSpec { name: SERVER.to_owned(), members }, group));
    let named = wanted.tiers.iter().map(|spec| (spec.clone(), None));
    let tiers = of_server.into_iter().chain(named).collect();
    Some(Monitors::open(MonitoredMachine { tiers, network, notes }, wanted.prometheus.clone()))
}

/// Keeps the file of the series in a run's directory.
pub(crate) fn writer(directory: RunDirectory) -> Writer {
    // An error of the disk occurs at the end of the run as well, and is reported there.
    Box::new(move |file| drop(directory.replace(MONITORS, file)))
}

/// The resource that gave out first in a run whose load ended at `load_ended`.
pub(crate) fn bottleneck(log: &MonitorLog, plane: &Plane, load_ended: Instant) -> Option<Bottleneck> {
    let workers_poll = match plane {
        Plane::Emulated(emulated) => emulated.network.busy_poll,
        Plane::Sockets(_) | Plane::Simulated(_) => false,
    };
    let seconds = (load_ended.as_ns() + SECOND_NS / 2) / SECOND_NS;
    bottleneck::find(log, Examined { seconds, workers_poll })
}

type MonitoredServer = (Option<Members>, Option<Group>, Option<WatchedNetwork>);

/// The server in a testbed: the descendants of its init, or all processes in the namespace that it had.
fn of_testbed(emulated: &Emulated, wanted: &MonitorSettings, notes: &mut Vec<String>) -> MonitoredServer {
    let namespace = emulated.testbed.namespace().clone();
    let tier = SERVER.to_owned();
    if let Some(server) = &emulated.server {
        let ([cpu, memory], account) = (server.group_folders(), server.account_folder());
        let has_some = [cpu, memory, account].iter().any(Option::is_some);
        let group = has_some.then(|| Group::of(cpu, memory, account));
        let which = WatchedNetwork {
            namespace: Some((namespace, server.pid())),
            port: wanted.port,
            is_servers_alone: true,
            tier,
        };
        return (Some(Members::Below(server.pid())), group, Some(which));
    }
    let Some(joined) = &emulated.joined else {
        if emulated.testbed.is_on_card() && wanted.tiers.is_empty() && wanted.prometheus.is_empty() {
            notes.push(of_another_machine(&emulated.testbed.report().server.join(", ")));
        }
        return (None, None, None);
    };
    let inode = namespace.inode().ok();
    let ours = namespace::inode_of_process(std::process::id());
    let is_servers_alone = inode != ours;
    let members = match inode.filter(|_| is_servers_alone) {
        Some(inode) => Some(Members::NetworkNamespace(inode)),
        None => (!joined.processes.is_empty()).then(|| Members::Processes(joined.processes.clone())),
    };
    if members.is_none() {
        notes.push(no_process(wanted.port));
    }
    let own = WatchedNetwork { namespace: None, port: wanted.port, is_servers_alone, tier };
    let which = match (is_servers_alone, joined.processes.first()) {
        (false, _) => Some(own),
        (true, Some(pid)) => Some(WatchedNetwork { namespace: Some((namespace, *pid)), ..own }),
        (true, None) => {
            notes.push(
                "no process of the server's network namespace can be seen, so its sockets are not counted"
                    .into(),
            );
            None
        }
    };
    (members, None, which)
}

/// The note that a server's machine cannot be looked at.
fn of_another_machine(server: &str) -> String {
    format!(
        "{server} is on another machine: what its server went through is known only with [[monitor.prometheus]]"
    )
}

/// The note that a server's processes could not be found.
fn no_process(port: Option<u16>) -> String {
    let at = port.map(|port| format!(" on port {port}")).unwrap_or_default();
    format!(
        "the processes that listen{at} could not be found, so the server's own numbers are missing: run farfield as \
         their user or as root, or write monitor.pid"
    )
}

/// The server on an address of this machine, or that of the process that was asked for.
fn of_sockets(plane: &SocketsPlane, wanted: &MonitorSettings, notes: &mut Vec<String>) -> MonitoredServer {
    let of_own_namespace =
        |port| WatchedNetwork { namespace: None, port, is_servers_alone: false, tier: SERVER.to_owned() };
    if let Some(pid) = wanted.pid {
        let which = match namespace_of(pid) {
            Some(namespace) => {
                WatchedNetwork { namespace: Some((namespace, pid)), ..of_own_namespace(wanted.port) }
            }
            None => of_own_namespace(wanted.port),
        };
        return (None, None, Some(which));
    }
    if let Some(unix) = &plane.unix {
        if wanted.tiers.is_empty() && wanted.prometheus.is_empty() {
            notes.push(format!(
                "the server at the Unix socket {unix} is not looked for: write monitor.pid, or a tier"
            ));
        }
        return (None, None, None);
    }
    if !is_of_this_machine(plane.target) {
        if wanted.tiers.is_empty() && wanted.prometheus.is_empty() {
            notes.push(of_another_machine(&plane.target.ip().to_string()));
        }
        return (None, None, None);
    }
    let which = Some(of_own_namespace(Some(plane.target.port())));
    let members = match listening_on(plane.target.port()) {
        Ok(pids) if pids.is_empty() => {
            if wanted.tiers.is_empty() {
                notes.push(no_process(Some(plane.target.port())));
            }
            None
        }
        Ok(pids) if pids.contains(&std::process::id()) => {
            notes.push("the built-in server runs in farfield: it counts as the generator".to_owned());
            None
        }
        Ok(pids) => Some(Members::Processes(pids)),
        Err(error) => {
            notes.push(format!("the server's processes could not be found: {error}; write monitor.pid"));
            None
        }
    };
    (members, None, which)
}

/// The namespace of a process, if it is another than farfield's.
fn namespace_of(pid: u32) -> Option<Namespace> {
    let inode = namespace::inode_of_process(pid)?;
    let ours = namespace::inode_of_process(std::process::id());
    (Some(inode) != ours).then(|| Namespace::of_process(pid).ok()).flatten()
}

/// True if an address belongs to this machine: sockets can be bound to no other.
fn is_of_this_machine(address: SocketAddr) -> bool {
    address.ip().is_loopback() || UdpSocket::bind((address.ip(), 0)).is_ok()
}

/// The processes of the server at `target`, as far as they can be seen: none if it is on another machine, or
/// in this process.
pub(crate) fn processes_at(target: SocketAddr) -> Vec<u32> {
    if !is_of_this_machine(target) {
        return Vec::new();
    }
    let found = listening_on(target.port()).unwrap_or_default();
    if found.contains(&std::process::id()) { Vec::new() } else { found }
}

/// The processes that hold a listener on `port`.
fn listening_on(port: u16) -> std::io::Result<Vec<u32>> {
    let mut inodes = BTreeSet::new();
    SocketTables::open()?.listeners(|socket| {
        if socket.local.port() == port {
            inodes.insert(socket.inode);
        }
    })?;
    live::holders(&inodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_machines_are_others() {
        assert!(is_of_this_machine("127.0.0.9:80".parse().expect("an address")));
        // Of a block for documentation (RFC 5737).
        assert!(!is_of_this_machine("192.0.2.1:80".parse().expect("an address")));
    }
}
