//! `[server]`: the server of the emulated plane and its kernel's TCP, as written, with its place and its
//! testbed.

use crate::mistake::Mistake;
use crate::network::NetworkSpec;
use farfield_base::{Bytes, Duration};
use farfield_emulator::layout::Block;
use farfield_net::Mtu;
use farfield_testbed::live::Location;
use farfield_testbed::{Command, CpuLimit, MemoryLimit, Prefix, Ready, ServerTcp, SettingName, TestbedSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

/// `[server]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ServerSpec {
    /// The command that starts it; the built-in server if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// The folder that the command runs in; where farfield runs if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// The process of a server that runs already, in place of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<NonZeroU32>,
    /// The network namespace of a server that runs already, by its name or the path of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The container of a server that runs already, by its name or id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The sign that it is ready; listening on its port if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// Time limit for getting ready.
    pub ready_timeout: Duration,
    /// Time limit for stopping when asked.
    pub stop_timeout: Duration,
    /// Variables of its environment, beside farfield's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// IPv4 address.
    pub ipv4: Ipv4Addr,
    /// IPv6 address.
    pub ipv6: Ipv6Addr,
    /// The port it listens on; that of `ready` or of the target, or 80, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<NonZeroU16>,
    /// Processors it runs on; all if empty.
    pub processors: Vec<usize>,
    /// The processors that do its kernel's work on packets that come; those it runs on if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_processors: Option<Vec<usize>>,
    /// The processor time that it may take, in processors; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuLimit>,
    /// The work whose processor time `cpu` limits.
    #[serde(skip_serializing_if = "CpuOf::is_default")]
    pub cpu_of: CpuOf,
    /// The memory that it may take; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryLimit>,
    /// The user that it runs as; whoever runs farfield if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The largest packet on its interface.
    pub mtu: Mtu,
    /// Congestion control, by the kernel's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Selective acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Window scaling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// The initial congestion window, in segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<NonZeroU32>,
    /// Longest accept queue that it can ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub somaxconn: Option<NonZeroU32>,
    /// Half-open connections that a listener remembers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_backlog: Option<NonZeroU32>,
    /// SYN cookies when that is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_cookies: Option<bool>,
    /// Number of times that a SYN-ACK is sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_ack_retries: Option<u8>,
    /// A full accept queue answers with a reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abort_on_overflow: Option<bool>,
    /// Largest send buffer of a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<Bytes>,
    /// Largest receive buffer of a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    /// Any other setting of its network namespace, by the kernel's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<SettingName, String>,
}

/// The work whose processor time is limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuOf {
    /// The server's processes.
    #[default]
    Processes,
    /// The server's processes, and the kernel's receive work for them.
    All,
}

impl CpuOf {
    fn is_default(&self) -> bool {
        *self == CpuOf::default()
    }
}

impl Default for ServerSpec {
    fn default() -> ServerSpec {
        let testbed = farfield_testbed::TestbedSpec::default();
        ServerSpec {
            command: None,
            directory: None,
            pid: None,
            netns: None,
            container: None,
            ready: None,
            ready_timeout: Duration::from_secs(10),
            stop_timeout: Duration::from_secs(5),
            environment: BTreeMap::new(),
            ipv4: testbed.server_v4,
            ipv6: testbed.server_v6,
            port: None,
            processors: Vec::new(),
            receive_processors: None,
            cpu: None,
            cpu_of: CpuOf::default(),
            memory: None,
            user: None,
            mtu: Mtu::ETHERNET,
            congestion: None,
            sack: None,
            timestamps: None,
            window_scaling: None,
            initial_window: None,
            somaxconn: None,
            syn_backlog: None,
            syn_cookies: None,
            syn_ack_retries: None,
            abort_on_overflow: None,
            send_buffer: None,
            receive_buffer: None,
            settings: BTreeMap::new(),
        }
    }
}

impl ServerSpec {
    /// The port, where the target's URL has `of_target`.
    pub fn port(&self, of_target: Option<u16>) -> u16 {
        let of_ready = match self.ready {
            Some(Ready::Tcp(port)) => Some(port),
            _ => None,
        };
        self.port.map(NonZeroU16::get).or(of_target).or(of_ready).unwrap_or(80)
    }

    /// Location of a server that is not started, as far as a key names it.
    pub fn location(&self) -> Option<Location> {
        match (self.pid, &self.netns, &self.container) {
            (Some(pid), _, _) => Some(Location::Process(pid.get())),
            (None, Some(name), _) => Some(Location::Namespace(name.clone())),
            (None, None, Some(name)) => Some(Location::Container { name: name.clone(), pid: None }),
            (None, None, None) => None,
        }
    }

    /// The first key that sets what only a server that farfield starts can have.
    pub fn key_of_start(&self) -> Option<&'static str> {
        let keys = [
            ("server.cpu", self.cpu.is_some()),
            ("server.memory", self.memory.is_some()),
            ("server.user", self.user.is_some()),
            ("server.directory", self.directory.is_some()),
            ("server.environment", !self.environment.is_empty()),
        ];
        keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }

    /// The first key that sets what a whole network namespace has.
    pub fn key_of_namespace(&self) -> Option<&'static str> {
        let keys = [
            ("server.sack", self.sack.is_some()),
            ("server.timestamps", self.timestamps.is_some()),
            ("server.window-scaling", self.window_scaling.is_some()),
            ("server.somaxconn", self.somaxconn.is_some()),
            ("server.syn-backlog", self.syn_backlog.is_some()),
            ("server.syn-cookies", self.syn_cookies.is_some()),
            ("server.syn-ack-retries", self.syn_ack_retries.is_some()),
            ("server.abort-on-overflow", self.abort_on_overflow.is_some()),
            ("server.send-buffer", self.send_buffer.is_some()),
            ("server.receive-buffer", self.receive_buffer.is_some()),
            ("server.settings", !self.settings.is_empty()),
        ];
        keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }

    /// Checks that the server is in one place, which has a name.
    pub(crate) fn check_place(&self) -> Result<(), Mistake> {
        let places = [
            ("server.command", self.command.is_some()),
            ("server.pid", self.pid.is_some()),
            ("server.netns", self.netns.is_some()),
            ("server.container", self.container.is_some()),
        ];
        let mut places = places.into_iter().filter(|(_, given)| *given);
        if let (Some((first, _)), Some((second, _))) = (places.next(), places.next()) {
            let sentence =
                format!("a server is in one place, started or running already; remove this or `{first}`");
            return Err(Mistake::at(second, sentence));
        }
        let names = [("server.netns", &self.netns), ("server.container", &self.container)];
        for (key, name) in names {
            // One that begins with a dash would be an option of the program that is asked.
            let is_name = |name: &String| !name.trim().is_empty() && !name.starts_with('-');
            if let Some(name) = name.as_ref().filter(|name| !is_name(name)) {
                return Err(Mistake::at(key, format!("{name:?} is no name; write one such as \"web\"")));
            }
        }
        Ok(())
    }

    /// The testbed of the server behind `network`, with `around` for clients.
    pub(crate) fn testbed(&self, network: &NetworkSpec, around: [Option<Block>; 2]) -> TestbedSpec {
        let mut testbed = TestbedSpec {
            server_v4: self.ipv4,
            server_v6: self.ipv6,
            queues: network.shards,
            mtu: self.mtu.as_bytes(),
            offload: network.offload,
            queue_packets: network.gateway_queue.get(),
            device: network.gateway,
            tcp: self.tcp(),
            receive_asked: self.receive_processors.is_some(),
            receive_processors: self.receive_processors.clone().unwrap_or_default(),
            ..TestbedSpec::default()
        };
        let fits = "a block has no bits past its length";
        for block in around.into_iter().flatten() {
            match block.network() {
                IpAddr::V4(network) => testbed.clients_v4 = Prefix::new(network, block.bits()).expect(fits),
                IpAddr::V6(network) => testbed.clients_v6 = Prefix::new(network, block.bits()).expect(fits),
            }
        }
        testbed
    }

    /// The TCP settings of its kernel.
    pub fn tcp(&self) -> ServerTcp {
        ServerTcp {
            congestion_control: self.congestion.clone(),
            sack: self.sack,
            timestamps: self.timestamps,
            window_scaling: self.window_scaling,
            initial_window: self.initial_window.map(NonZeroU32::get),
            somaxconn: self.somaxconn.map(NonZeroU32::get),
            syn_backlog: self.syn_backlog.map(NonZeroU32::get),
            syn_cookies: self.syn_cookies,
            syn_ack_retries: self.syn_ack_retries,
            abort_on_overflow: self.abort_on_overflow,
            receive_buffer_max: self.receive_buffer,
            send_buffer_max: self.send_buffer,
            settings: self.settings.clone(),
        }
    }
}
