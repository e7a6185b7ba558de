//! Which processes and which network namespace are the server's.
//!
//! A server that the run started, or whose process it was given, is known. One on an address of this machine
//! is whoever listens on the target's port. Of a server elsewhere nothing can be read but its exporters.

use super::MonitorSettings;
use super::group::Group;
use super::members::Members;
use super::network::Which;
use super::tier::{Tier, TierSpec};
use crate::emulated::Emulated;
use crate::plane::{Plane, SocketsPlane};
use farfield_measure::MonitorLog;
use farfield_os::namespace::{self, Namespace};
use farfield_os::sock_diag::SocketTables;
use farfield_testbed::live;
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};

/// The name of the tier of the server.
const SERVER: &str = "server";

/// What is to be read.
pub(super) struct Discovered {
    pub tiers: Vec<Tier>,
    /// The server's network namespace, if it is on this machine.
    pub which: Option<Which>,
}

/// Finds the server of the plane and the tiers that are asked for. What is not found is noted.
pub(super) fn server(plane: &Plane, wanted: &MonitorSettings, log: &mut MonitorLog) -> Discovered {
    let (members, group, which) = match plane {
        Plane::Emulated(emulated) => of_testbed(emulated, wanted, log),
        Plane::Sockets(sockets) => of_sockets(sockets, wanted, log),
        Plane::Simulated(_) => (None, None, None),
    };
    let members = wanted.pid.map(|pid| Members::Processes(vec![pid])).or(members);
    let is_named = wanted.tiers.iter().any(|tier| tier.name == SERVER);
    let of_server = members
        .filter(|_| !is_named)
        .map(|members| Tier::new(&TierSpec { name: SERVER.to_owned(), members }, group));
    let tiers: Vec<Tier> =
        of_server.into_iter().chain(wanted.tiers.iter().map(|spec| Tier::new(spec, None))).collect();
    Discovered { tiers, which }
}

type Found = (Option<Members>, Option<Group>, Option<Which>);

/// The server in a testbed: the descendants of its init, or all processes in the namespace that it had.
fn of_testbed(emulated: &Emulated, wanted: &MonitorSettings, log: &mut MonitorLog) -> Found {
    let namespace = emulated.testbed.namespace().clone();
    let tier = SERVER.to_owned();
    if let Some(server) = &emulated.server {
        let ([cpu, memory], account) = (server.group_folders(), server.account_folder());
        let has_some = [cpu, memory, account].iter().any(Option::is_some);
        let group = has_some.then(|| Group::of(cpu, memory, account));
        let which = Which {
            namespace: Some((namespace, server.pid())),
            port: wanted.port,
            is_servers_alone: true,
            tier,
        };
        return (Some(Members::Below(server.pid())), group, Some(which));
    }
    let Some(joined) = &emulated.joined else {
        if emulated.testbed.is_on_card() && wanted.tiers.is_empty() && wanted.prometheus.is_empty() {
            log.note(of_another_machine(&emulated.testbed.report().server.join(", ")));
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
        log.note(no_process(wanted.port));
    }
    let own = Which { namespace: None, port: wanted.port, is_servers_alone, tier };
    let which = match (is_servers_alone, joined.processes.first()) {
        (false, _) => Some(own),
        (true, Some(pid)) => Some(Which { namespace: Some((namespace, *pid)), ..own }),
        (true, None) => {
            log.note(
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
fn of_sockets(plane: &SocketsPlane, wanted: &MonitorSettings, log: &mut MonitorLog) -> Found {
    let of_own_namespace =
        |port| Which { namespace: None, port, is_servers_alone: false, tier: SERVER.to_owned() };
    if let Some(pid) = wanted.pid {
        let which = match namespace_of(pid) {
            Some(namespace) => Which { namespace: Some((namespace, pid)), ..of_own_namespace(wanted.port) },
            None => of_own_namespace(wanted.port),
        };
        return (None, None, Some(which));
    }
    if let Some(unix) = &plane.unix {
        if wanted.tiers.is_empty() && wanted.prometheus.is_empty() {
            log.note(format!(
                "the server at the Unix socket {unix} is not looked for: write monitor.pid, or a tier"
            ));
        }
        return (None, None, None);
    }
    if !is_of_this_machine(plane.target) {
        if wanted.tiers.is_empty() && wanted.prometheus.is_empty() {
            log.note(of_another_machine(&plane.target.ip().to_string()));
        }
        return (None, None, None);
    }
    let which = Some(of_own_namespace(Some(plane.target.port())));
    let members = match listening_on(plane.target.port()) {
        Ok(pids) if pids.is_empty() => {
            if wanted.tiers.is_empty() {
                log.note(no_process(Some(plane.target.port())));
            }
            None
        }
        Ok(pids) if pids.contains(&std::process::id()) => {
            log.note("the built-in server runs in farfield: it counts as the generator".to_owned());
            None
        }
        Ok(pids) => Some(Members::Processes(pids)),
        Err(error) => {
            log.note(format!("the server's processes could not be found: {error}; write monitor.pid"));
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

/// Whether an address belongs to this machine: sockets can be bound to no other.
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
