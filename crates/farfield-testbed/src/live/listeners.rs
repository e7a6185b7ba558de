//! The listeners of a network namespace at a port, and the processes that hold them.

use crate::start_ticks;
use farfield_os::sock_diag::{SocketTables, TcpSocket};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::IpAddr;

/// The listeners at `port` in the calling thread's network namespace.
pub(super) fn at_port(port: u16) -> io::Result<Vec<TcpSocket>> {
    let mut found = Vec::new();
    SocketTables::open()?
        .listeners(|socket| found.extend((socket.local.port() == port).then_some(socket)))?;
    Ok(found)
}

/// True if one of the listeners takes connections to `address`. Sockets of IPv6 on all addresses take those
/// of IPv4 as well, unless they have `IPV6_V6ONLY`, which shows only when they are asked.
pub(super) fn accepts(listeners: &[TcpSocket], address: IpAddr) -> bool {
    listeners.iter().any(|listener| {
        let local = listener.local.ip().to_canonical();
        let is_of_family = local.is_ipv6() || address.is_ipv4();
        local == address || local.is_unspecified() && is_of_family
    })
}

/// Addresses of the listeners, as a part of a sentence; empty if there are none.
pub(super) fn addresses_in_words(listeners: &[TcpSocket]) -> String {
    let addresses: BTreeSet<String> = listeners.iter().map(|listener| listener.local.to_string()).collect();
    let addresses: Vec<String> = addresses.into_iter().collect();
    match addresses.as_slice() {
        [] => String::new(),
        some => format!(" (something does at {})", some.join(", ")),
    }
}

/// The processes that hold one of the sockets, as far as this user may see them, the oldest first: one that
/// made others of them comes before these.
///
/// # Errors
/// If there is no `/proc`.
pub fn holders(inodes: &BTreeSet<u32>) -> io::Result<Vec<u32>> {
    let links: BTreeSet<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let holds = |pid: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.any(|target| target.to_str().is_some_and(|target| links.contains(target)))
    };
    let processes = fs::read_dir("/proc")?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut pids: Vec<u32> = pids.filter(holds).collect();
    pids.sort_by_cached_key(|pid| (start_ticks(*pid), *pid));
    Ok(pids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn whoever_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let inodes = || at_port(port).expect("tables").iter().map(|socket| socket.inode).collect();
        // Children that other tests fork hold it too, until they run their commands.
        let holds = || holders(&inodes()).expect("processes").contains(&std::process::id());
        assert!(holds());
        drop(listener);
        assert!(!holds());
    }

    #[test]
    fn sockets_on_all_addresses_take_what_their_family_may() {
        let listener = |text: &str| TcpSocket {
            state: 10,
            local: text.parse().unwrap(),
            receive_queue: 0,
            send_queue: 0,
            inode: 1,
        };
        for (local, address, expected) in [
            ("127.0.0.1:80", "127.0.0.1", true),
            ("127.0.0.1:80", "127.0.0.2", false),
            ("0.0.0.0:80", "192.0.2.1", true),
            ("0.0.0.0:80", "::1", false),
            ("[::]:80", "::1", true),
            ("[::]:80", "192.0.2.1", true),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1", true),
        ] {
            assert_eq!(accepts(&[listener(local)], address.parse().unwrap()), expected, "{local} {address}");
        }
    }
}
