//! The flags of `farfield route`.

use super::scenario::{KeyFlags, NetworkFlags, network_alone};
use clap::{ArgGroup, Args, ValueHint};
use farfield_engine::route::{Block, PlacedHosts, Whereabouts};
use farfield_scenario::Overlay;
use farfield_testbed::live::Location;
use std::net::IpAddr;
use std::path::PathBuf;

/// `farfield route`
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("ends").required(true).args(["clients_netns", "between"]),
    after_help = "It runs until Ctrl-C, or for the time of -d. The exit code is 3 if packets were later than the verdict\n\
allows. TARGETs are all that clients reach through it.\n\n\
Examples:\n  \
    farfield route 10.0.2.1 --clients-netns lab --server-netns web --rtt 80ms\n  \
    farfield route 10.0.2.1 --clients-netns 812 --server-netns 907 --access 4g -d 1m --counts\n  \
    farfield route 10.0.2.1 --between eth1,eth2 --client 10.0.2.64/26 --rtt 80ms\n  \
    farfield route 127.0.0.1 --clients-netns lab --server-netns web --scenario wan.toml \\\n      \
        --client 10.0.1.0/24=home --client 10.0.1.7=office --client 10.0.1.7,10.0.2.1=far"
)]
pub struct RouteFlags {
    /// Addresses of the servers, or URLs with them
    #[arg(required = true, value_name = "TARGET", value_parser = target)]
    pub targets: Vec<IpAddr>,
    /// Network namespace of the clients: a name of `ip netns`, a file, or the number of a process in it;
    /// --between if absent
    #[arg(long, value_name = "NAME|FILE|PID", value_parser = location, requires = "server_netns")]
    pub clients_netns: Option<Location>,
    /// Network namespace of the servers; --between if absent
    #[arg(long, value_name = "NAME|FILE|PID", value_parser = location, requires = "clients_netns")]
    pub server_netns: Option<Location>,
    /// Ethernet interfaces of this machine, to the clients' link and to the servers'; --client says who the
    /// clients are; network namespaces if absent
    #[arg(long, value_name = "INTERFACE,INTERFACE", value_parser = between, conflicts_with = "clients_netns")]
    pub between: Option<(String, String)>,
    /// The class of the clients at these addresses, on their way to this target or to all; may be repeated.
    /// Without, all addresses of the clients' namespace are of the first class
    #[arg(long = "client", value_name = "ADDRESS[/BITS][,TARGET[/BITS]][=CLASS]", value_parser = placed)]
    pub clients: Vec<PlacedHosts>,
    /// Scenario with the network; its server and its load are not used; only flags if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// End after this time; by Ctrl-C if absent
    #[arg(short = 'd', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<farfield_base::Duration>,
    /// Print counts each second
    #[arg(long)]
    pub counts: bool,
    /// Print nothing but mistakes
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub network: NetworkFlags,
    #[command(flatten)]
    pub keys: KeyFlags,
}

/// An address, alone or in a URL.
fn target(text: &str) -> Result<IpAddr, String> {
    let host = match text.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
        None => text,
    };
    let without_port = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        // More than one colon is in an IPv6 address.
        None => host.split_once(':').filter(|(_, port)| !port.contains(':')).map_or(host, |(host, _)| host),
    };
    without_port.parse().map_err(|_| {
        "write the address that the server has in its own network namespace, such as 10.0.2.1".to_owned()
    })
}

/// Two interfaces.
fn between(text: &str) -> Result<(String, String), String> {
    match text.split_once(',') {
        Some((clients, servers)) if !clients.is_empty() && !servers.is_empty() && !servers.contains(',') => {
            Ok((clients.to_owned(), servers.to_owned()))
        }
        _ => Err("write two interfaces, the clients' first, such as `eth1,eth2`".to_owned()),
    }
}

/// The number of a process, or a network namespace by its name or file.
fn location(text: &str) -> Result<Location, String> {
    match text.parse::<u32>() {
        Ok(pid) => Ok(Location::Process(pid)),
        Err(_) if text.trim().is_empty() || text.starts_with('-') => {
            Err("write a name such as `web`, a file such as /proc/7/ns/net, or the number of a process"
                .to_owned())
        }
        Err(_) => Ok(Location::Namespace(text.to_owned())),
    }
}

/// An address or a block, that of a target, and a class.
fn placed(text: &str) -> Result<PlacedHosts, String> {
    let (blocks, class) = match text.split_once('=') {
        Some((blocks, class)) => (blocks, Some(class.to_owned())),
        None => (text, None),
    };
    let (near, far) = match blocks.split_once(',') {
        Some((near, far)) => (near, Some(far)),
        None => (blocks, None),
    };
    Ok(PlacedHosts { block: block(near)?, towards: far.map(block).transpose()?, class })
}

/// A block, or an address alone.
fn block(text: &str) -> Result<Block, String> {
    let single = |address: IpAddr| Block::around(address, if address.is_ipv4() { 32 } else { 128 });
    match text.parse().ok().and_then(single) {
        Some(block) => Ok(block),
        None => text.parse::<Block>().map_err(|error| error.to_string()),
    }
}

impl RouteFlags {
    /// Where the clients and the servers are.
    pub fn ends(&self) -> [Whereabouts; 2] {
        match (&self.between, &self.clients_netns, &self.server_netns) {
            (Some((clients, server)), _, _) => {
                [clients, server].map(|name| Whereabouts::Interface(name.clone()))
            }
            (None, Some(clients), Some(server)) => {
                [clients, server].map(|location| Whereabouts::Namespace(location.clone()))
            }
            (None, _, _) => unreachable!("clap asks for one or both of the others"),
        }
    }

    /// The keys that the flags lay over a scenario.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = network_alone("farfield route");
        self.network.lay(&mut overlay);
        self.keys.lay(&mut overlay);
        overlay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_addresses() {
        let read = |text: &str| target(text).ok().map(|address| address.to_string());
        for (text, expected) in [
            ("10.0.2.1", Some("10.0.2.1")),
            ("10.0.2.1:8080", Some("10.0.2.1")),
            ("http://10.0.2.1:8080/a:b", Some("10.0.2.1")),
            ("http://[fd00::1]:80/", Some("fd00::1")),
            ("fd00::1", Some("fd00::1")),
            ("[fd00::1]", Some("fd00::1")),
            ("http://web/", None),
            ("", None),
        ] {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn clients_are_blocks_with_a_class() {
        let read = |text: &str| placed(text).map(|placed| (placed.block.to_string(), placed.class));
        assert_eq!(read("10.0.1.7=home"), Ok(("10.0.1.7/32".to_owned(), Some("home".to_owned()))));
        assert_eq!(read("fd00::/64"), Ok(("fd00::/64".to_owned(), None)));
        assert!(read("10.0.1.7/24").unwrap_err().contains("10.0.1.0/24"));
        assert!(read("home").is_err());
        let pair = placed("10.0.1.0/24,10.0.2.1=slow").expect("a pair");
        let towards = pair.towards.map(|block| block.to_string());
        assert_eq!(
            (pair.block.to_string().as_str(), towards.as_deref()),
            ("10.0.1.0/24", Some("10.0.2.1/32"))
        );
        assert_eq!(pair.class.as_deref(), Some("slow"));
        assert!(placed("10.0.1.0/24,").is_err() && placed("10.0.1.0/24,10.0.2.1,10.0.2.2").is_err());
    }
}
