//! A server that runs already: in which network namespace it is, at which of its addresses clients reach it,
//! and whose process it is. Looking for it changes nothing.
//!
//! Clients reach a server at the address of the target's URL if the namespace has it, be it a loopback
//! address; at the address that it listens on, if there is no URL; and else at an address that the gateway's
//! interface gets for the time of the run, which a server on all addresses answers as well.

mod container;
mod error;
mod listeners;

pub use error::LiveError;
pub use listeners::holders;

use crate::reach;
use crate::{HostNamespace, Privilege, TestbedError};
use farfield_os::namespace;
use farfield_os::netlink::Netlink;
use farfield_os::sock_diag::TcpSocket;
use listeners::{accepts, addresses_in_words};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Location of a server that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In the network namespace that farfield runs in.
    Here,
    /// In that of a process.
    Process(u32),
    /// In one with a name that ip-netns(8) knows, or that of a file, which has a slash in its path.
    Namespace(String),
    /// In a container of Docker, Podman, containerd or Kubernetes.
    Container {
        /// The container's name or id.
        name: String,
        /// The container's first process, once its runtime was asked for it.
        pid: Option<u32>,
    },
    /// On another machine, reached by a network card of the network namespace that farfield runs in.
    Elsewhere {
        /// The card's interface.
        interface: String,
    },
}

/// Demands of clients on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientDemands {
    /// The host of the target's URL, if there is one: an address or a name.
    pub host: Option<String>,
    /// The target's port.
    pub port: u16,
    /// The addresses that the gateway's interface gets where the server has none of the family.
    pub v4: Ipv4Addr,
    /// The interface's address of IPv6, where the server has none.
    pub v6: Ipv6Addr,
    /// There are clients, by family: IPv4 and IPv6.
    pub families: [bool; 2],
}

/// A server that was found.
#[derive(Debug, Clone)]
pub struct FoundServer {
    /// The server's network namespace.
    pub host: HostNamespace,
    /// The address for clients with IPv4.
    pub v4: Ipv4Addr,
    /// The address for clients with IPv6.
    pub v6: Ipv6Addr,
    /// The server's port.
    pub port: u16,
    /// The namespace has these addresses, by family.
    pub has: [bool; 2],
    /// The processes that hold its listeners, as far as they can be seen; the one that made the others first.
    pub processes: Vec<u32>,
}

impl Location {
    /// The location with the number of a container's process, which its runtime is asked for.
    ///
    /// # Errors
    /// If there is no such container, or nobody to ask.
    pub fn resolved(self) -> Result<Location, LiveError> {
        match self {
            Location::Container { name, pid: None } => {
                let pid = Some(container::process_of(&name)?);
                Ok(Location::Container { name, pid })
            }
            other => Ok(other),
        }
    }

    /// Gains the privilege to add a gateway there, where an ordinary user may have it: the user's own
    /// container has a user namespace. Call it on a [resolved](Self::resolved) location, while the process
    /// has one thread.
    ///
    /// # Errors
    /// If the user namespace cannot be entered.
    pub fn gain_privilege(&self) -> Result<Privilege, LiveError> {
        let (Location::Process(pid) | Location::Container { pid: Some(pid), .. }) = *self else {
            return Ok(Privilege::Had);
        };
        let user_of =
            |process: &str| std::fs::metadata(format!("/proc/{process}/ns/user")).map(|link| link.ino());
        let is_same = user_of("self").ok() == user_of(&pid.to_string()).ok();
        if rustix::process::geteuid().is_root() || is_same {
            return Ok(Privilege::Had);
        }
        let refused = |source| LiveError::Namespace(TestbedError::Process { pid, source });
        namespace::enter_user_namespace_of(pid).map_err(refused)?;
        Ok(Privilege::UserNamespace)
    }

    /// The network namespace.
    ///
    /// # Errors
    /// If it is not there, or may not be entered.
    pub fn open(&self) -> Result<HostNamespace, LiveError> {
        let of_process = |pid: u32| {
            let refused = |source| LiveError::Namespace(TestbedError::Process { pid, source });
            let host = HostNamespace::of_process(pid).map_err(refused)?;
            host.namespace().inside(|| ()).map_err(refused)?;
            Ok(host)
        };
        match self {
            Location::Here | Location::Elsewhere { .. } => HostNamespace::own()
                .map_err(|source| LiveError::Namespace(TestbedError::Namespace { source })),
            Location::Process(pid) => of_process(*pid),
            Location::Namespace(name) => {
                let refused = |source| LiveError::NoNamespace { name: name.clone(), source };
                let host = HostNamespace::of_file(&file_of(name)).map_err(refused)?;
                host.namespace().inside(|| ()).map_err(refused)?;
                Ok(host.described(format!("`{name}`")))
            }
            Location::Container { name, pid } => {
                let pid = pid.map_or_else(|| container::process_of(name), Ok)?;
                Ok(of_process(pid)?.described(format!("that of the container {name}, process {pid}")))
            }
        }
    }

    /// Finds the server that clients want.
    ///
    /// # Errors
    /// If the namespace is not there, the target is elsewhere, or nothing listens.
    pub fn find(&self, wanted: &ClientDemands) -> Result<FoundServer, LiveError> {
        let host = self.open()?;
        let named = self.named(wanted)?;
        let refused = |source| LiveError::Tables { namespace: host.name().to_owned(), source };
        let look = || look(&named, wanted.port);
        let Seen { local, listeners } = host.namespace().inside(look).map_err(refused)?.map_err(refused)?;
        self.check_named(wanted, &named, &local, &host)?;
        let server = |family: usize| choose(family, wanted, &local, &listeners);
        let [(v4, has_v4), (v6, has_v6)] = [server(0), server(1)];
        let (IpAddr::V4(v4), IpAddr::V6(v6)) = (v4, v6) else { unreachable!("each is of its family") };
        let has = [has_v4, has_v6];
        check_family(wanted, &local, &host)?;
        let chosen = [IpAddr::V4(v4), IpAddr::V6(v6)].into_iter().zip(wanted.families);
        let chosen: Vec<IpAddr> = chosen.filter_map(|(address, used)| used.then_some(address)).collect();
        if let Some(address) = chosen.iter().find(|address| !accepts(&listeners, **address)) {
            return Err(LiveError::NothingListens {
                at: SocketAddr::new(*address, wanted.port),
                namespace: host.name().to_owned(),
                others: addresses_in_words(&listeners),
            });
        }
        let of_server = listeners.iter().filter(|listener| {
            chosen.iter().any(|address| accepts(std::slice::from_ref(*listener), *address))
        });
        let holders = holders(&of_server.map(|listener| listener.inode).collect()).unwrap_or_default();
        // A process that is named is the server; a container's is its parent, and ends with it.
        let processes = match *self {
            Location::Process(pid) => {
                std::iter::once(pid).chain(holders.into_iter().filter(|other| *other != pid)).collect()
            }
            Location::Container { pid: Some(pid), .. } if holders.is_empty() => vec![pid],
            _ => holders,
        };
        Ok(FoundServer { host, v4, v6, port: wanted.port, has, processes })
    }

    /// The addresses of the target's host.
    fn named(&self, wanted: &ClientDemands) -> Result<Vec<IpAddr>, LiveError> {
        let Some(host) = &wanted.host else { return Ok(Vec::new()) };
        match reach::addresses(host, wanted.port) {
            Ok(addresses) => Ok(addresses),
            // The name is for the Host field alone.
            Err(_) if *self != Location::Here => Ok(Vec::new()),
            Err(error) => Err(LiveError::Name(error)),
        }
    }

    /// Refuses a target in another namespace, or on another machine.
    fn check_named(
        &self,
        wanted: &ClientDemands,
        named: &[IpAddr],
        local: &[IpAddr],
        host: &HostNamespace,
    ) -> Result<(), LiveError> {
        let Some(name) = wanted.host.as_ref().filter(|_| local.is_empty()) else { return Ok(()) };
        let is_address = name.parse::<IpAddr>().is_ok();
        let is_added = named.iter().any(|ip| [IpAddr::V4(wanted.v4), IpAddr::V6(wanted.v6)].contains(ip));
        // In a namespace that is named, a name may be one that only its own clients know.
        if is_added || !is_address && *self != Location::Here {
            return Ok(());
        }
        let address = named.first().map(IpAddr::to_string).unwrap_or_default();
        let is = if is_address { String::new() } else { format!(", which is {address},") };
        Err(LiveError::Elsewhere { host: format!("{name}{is}"), namespace: host.name().to_owned() })
    }
}

/// Part of the wanted addresses and listeners that a namespace has.
struct Seen {
    /// The named addresses that are the namespace's own.
    local: Vec<IpAddr>,
    /// The listeners at the port.
    listeners: Vec<TcpSocket>,
}

/// Looks, inside the namespace.
fn look(named: &[IpAddr], port: u16) -> io::Result<Seen> {
    let mut netlink = Netlink::open()?;
    let is_local = |address: &IpAddr| netlink.is_local(*address).unwrap_or(false);
    let local = named.iter().copied().filter(is_local).collect();
    Ok(Seen { local, listeners: listeners::at_port(port)? })
}

/// The server's address of a family, and whether the namespace has it.
fn choose(
    family: usize,
    wanted: &ClientDemands,
    local: &[IpAddr],
    listeners: &[TcpSocket],
) -> (IpAddr, bool) {
    let is_of_family = |address: &&IpAddr| address.is_ipv6() == (family == 1);
    let named: Vec<&IpAddr> = local.iter().filter(is_of_family).collect();
    let heard = named.iter().find(|address| accepts(listeners, ***address)).or(named.first());
    if let Some(address) = heard {
        return (**address, true);
    }
    let added = if family == 0 { IpAddr::V4(wanted.v4) } else { IpAddr::V6(wanted.v6) };
    // A server on all addresses is one on those that are added.
    let own = listeners.iter().map(|listener| listener.local.ip()).filter(|ip| !ip.is_unspecified());
    let own = own.filter(|ip| is_of_family(&ip)).min();
    match own {
        Some(address) if wanted.host.is_none() && !accepts(listeners, added) => (address, true),
        _ => (added, false),
    }
}

/// Refuses clients none of which has the family of the target's address.
fn check_family(wanted: &ClientDemands, local: &[IpAddr], host: &HostNamespace) -> Result<(), LiveError> {
    let is_used = |address: &IpAddr| wanted.families[usize::from(address.is_ipv6())];
    match local.first() {
        Some(address) if !local.iter().any(is_used) => Err(LiveError::Family {
            address: *address,
            namespace: host.name().to_owned(),
            clients: if address.is_ipv6() { "IPv4" } else { "IPv6" },
            block: if address.is_ipv6() { "2001:2::/48" } else { "198.18.0.0/15" },
        }),
        _ => Ok(()),
    }
}

/// File of a network namespace; ip-netns(8) keeps those of its names in one folder.
fn file_of(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(address: &str) -> TcpSocket {
        let local = address.parse().unwrap();
        TcpSocket { state: 10, local, receive_queue: 0, send_queue: 0, inode: 1 }
    }

    fn wanted(host: Option<&str>) -> ClientDemands {
        let (v4, v6) = ("192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
        ClientDemands { host: host.map(str::to_owned), port: 80, v4, v6, families: [true, false] }
    }

    #[test]
    fn the_named_address_comes_first_and_then_that_of_the_listener() {
        let address = |text: &str| -> IpAddr { text.parse().unwrap() };
        let chosen = |host: Option<&str>, local: &[&str], listeners: &[&str]| {
            let local: Vec<IpAddr> = local.iter().map(|text| address(text)).collect();
            let listeners: Vec<TcpSocket> = listeners.iter().map(|text| listener(text)).collect();
            choose(0, &wanted(host), &local, &listeners)
        };
        let own = (address("127.0.0.1"), true);
        assert_eq!(chosen(Some("127.0.0.1"), &["127.0.0.1"], &["127.0.0.1:80"]), own);
        assert_eq!(chosen(Some("127.0.0.1"), &["127.0.0.1"], &["0.0.0.0:80"]), own);
        assert_eq!(chosen(None, &[], &["127.0.0.1:80"]), own, "no URL: where it listens");
        let added = (address("192.0.2.1"), false);
        assert_eq!(chosen(None, &[], &["0.0.0.0:80"]), added);
        assert_eq!(chosen(None, &[], &["[::]:80"]), added, "IPv6 sockets take IPv4, too");
        assert_eq!(
            chosen(Some("shop.example"), &[], &["10.0.0.7:80"]),
            added,
            "a name is for the Host field"
        );
        // Of several addresses of a name, the one that is listened on.
        let two = ["10.0.0.7", "10.0.0.8"];
        assert_eq!(chosen(Some("www"), &two, &["10.0.0.8:80"]), (address("10.0.0.8"), true));
    }

    #[test]
    fn names_of_namespaces_are_files() {
        assert_eq!(file_of("web"), Path::new("/run/netns/web"));
        assert_eq!(file_of("/proc/7/ns/net"), Path::new("/proc/7/ns/net"));
    }
}
