//! The testbed of the emulated plane: a network namespace in which a real server runs, and a gateway in
//! front of it, whose queues carry real packets between the server's kernel and the clients in this process.
//! Or the namespace of a server that runs already, to which the gateway is [joined](Testbed::join), or a
//! server on another machine, before which the gateway is on a [network card](Testbed::on_card).
//!
//! A [`Testbed`] is [built](Testbed::build) from a [`TestbedSpec`], [reports](Testbed::report) the settings
//! in effect, provides the gateway's [queues](Testbed::queues), starts the server's
//! [command](Testbed::start_server), and takes everything down when it is dropped. Leftovers of a killed run
//! are cleared away by the next one.
//!
//! A testbed needs root, or a call of [`gain_privilege`] first in `main`. It uses no other program of the
//! machine.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod diverted;
mod error;
pub mod gateway;
mod host;
pub mod joined;
pub mod live;
mod prefix;
pub mod probe;
mod processes;
pub mod reach;
mod record;
mod report;
mod server;
pub(crate) mod settings;
mod spec;
mod watch;

pub use diverted::{InTheWay, NamespaceNetwork};
pub use error::TestbedError;
pub use farfield_os::limits::{CpuLimit, CpuLimitError, LimitUse, Limits, MemoryLimit, MemoryLimitError};
pub use farfield_os::namespace::Namespace;
pub use host::HostNamespace;
pub use joined::Changes;
pub use prefix::{Family, Prefix, PrefixError};
pub use processes::{cpu as cpu_of, start_ticks};
pub use report::{GatewayDrops, ServerSetting, TestbedReport};
pub use server::{
    Command, Containment, Ready, ReadyError, RunningServer, ServerError, ServerExit, ServerSpec,
};
pub use settings::{SettingName, SettingNameError};
pub use spec::{ServerTcp, TestbedSpec};
pub use watch::NetworkWatch;

use crate::gateway::{CardSpec, Equipment, Gateway, InterfaceState, Queue, ReceiveWork};
use farfield_base::Duration;
use farfield_os::control_group::ControlGroup;
use farfield_os::namespace;
use farfield_os::netlink::Netlink;
use farfield_os::run_delay;
use record::TestbedRecord;
use settings::WantedSetting;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// RFC 791, section 3.2.
const MTU_MIN: u32 = 68;
/// RFC 8200, section 5: with a smaller MTU the testbed has no IPv6.
const MTU_MIN_V6: u32 = 1_280;
const MTU_MAX: u32 = 65_535;

/// The privilege by which this process builds testbeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// The process is root, or in a user namespace already.
    Had,
    /// The process has entered a user namespace.
    UserNamespace,
}

/// Gains the privilege to build testbeds: an ordinary user's process enters a user namespace of its own, in
/// which it stays the same user, and keeps its network. Call it while the process has one thread.
///
/// # Errors
/// [`TestbedError::UserNamespace`] if the machine forbids it; then nothing has changed.
pub fn gain_privilege() -> Result<Privilege, TestbedError> {
    if rustix::process::geteuid().is_root() {
        return Ok(Privilege::Had);
    }
    namespace::enter_user_namespace().map_err(|source| TestbedError::UserNamespace { source })?;
    Ok(Privilege::UserNamespace)
}

/// A network namespace with a gateway in it.
#[derive(Debug)]
pub struct Testbed {
    namespace: Namespace,
    /// The namespace was made for the run.
    is_own: bool,
    spec: TestbedSpec,
    gateway: Mutex<Gateway>,
    report: TestbedReport,
    /// Connections through the gateway go on without it, since they are others'.
    leaves_connections: bool,
    /// Settings to restore.
    restore: Vec<(String, String)>,
    server: Vec<IpAddr>,
    // The last field, so that the record is removed after what it describes.
    record: Mutex<Option<TestbedRecord>>,
}

impl Testbed {
    /// Makes a network namespace and builds the gateway in it. The calling process stays where it is.
    ///
    /// # Errors
    /// The cause with its remedy; then nothing is left behind.
    pub fn build(spec: &TestbedSpec) -> Result<Testbed, TestbedError> {
        record::clear_leftovers();
        let namespace = Namespace::make().map_err(|source| TestbedError::Namespace { source })?;
        let user = rustix::process::geteuid().is_root();
        let whose = if user { "made for the run" } else { "made for the run, in a user namespace" };
        check(spec)?;
        let record = TestbedRecord::write(&namespace, None);
        let built = namespace.inside(|| build_inside(spec));
        let built = built.map_err(|source| TestbedError::Namespace { source })??;
        Ok(Testbed::of(namespace, built, record, (whose.to_owned(), true), spec))
    }

    /// Builds the gateway in the network namespace of a server that runs already. The server's addresses that
    /// the namespace does not have are added to the gateway's interface. Everything is as before afterwards.
    ///
    /// # Errors
    /// As [`build`](Self::build), and if the clients' blocks are in use there.
    pub fn join(host: &HostNamespace, spec: &TestbedSpec) -> Result<Testbed, TestbedError> {
        record::clear_leftovers();
        check(spec)?;
        let namespace = host.namespace().clone();
        let mut record = TestbedRecord::write(&namespace, Some(host));
        let restored_later = |before: &[(String, String)]| {
            if let Some(record) = &mut record {
                record.keep_settings(before);
            }
        };
        let built = namespace.inside(|| join_inside(host, spec, restored_later));
        let refused = |source| TestbedError::NoRight { namespace: host.name().to_owned(), source };
        let built = built.map_err(refused)?.map_err(|error| error.of_joining(host))?;
        Ok(Testbed::of(namespace, built, record, (host.name().to_owned(), false), spec))
    }

    /// Opens the gateway on a network card of the calling thread's network namespace, to machines that are
    /// reached by it.
    ///
    /// # Errors
    /// See [`TestbedError`]; then nothing is left behind.
    pub fn on_card(card: &CardSpec, spec: &TestbedSpec) -> Result<Testbed, TestbedError> {
        check(spec)?;
        let namespace = Namespace::current().map_err(|source| TestbedError::Namespace { source })?;
        let gateway = Gateway::on_card(card, spec)?;
        let equipment = Equipment {
            servers: card.servers.clone(),
            blocks: card.own.clone(),
            ..Equipment::of_joined(&TestbedSpec { server_has: [true; 2], ..spec.clone() })
        };
        // The settings here are this machine's, not the server's.
        let report = TestbedReport { settings: Vec::new(), ..report(spec, &gateway, &equipment, &[]) };
        let built = Built { gateway, report, server: card.servers.clone(), before: Vec::new() };
        let whose = ("of another machine".to_owned(), false);
        let mut testbed = Testbed::of(namespace, built, None, whose, spec);
        testbed.leaves_connections = true;
        Ok(testbed)
    }

    /// Changes that [`join`](Self::join) would make, in words.
    ///
    /// # Errors
    /// If the clients' blocks are in use there, or the namespace cannot be entered.
    pub fn changes(host: &HostNamespace, spec: &TestbedSpec) -> Result<Changes, TestbedError> {
        let refused = |source| TestbedError::NoRight { namespace: host.name().to_owned(), source };
        host.namespace().inside(|| joined::changes(host, spec)).map_err(refused)?
    }

    fn of(
        namespace: Namespace,
        built: Built,
        record: Option<TestbedRecord>,
        (whose, is_own): (String, bool),
        spec: &TestbedSpec,
    ) -> Testbed {
        Testbed {
            namespace,
            is_own,
            leaves_connections: is_own,
            spec: spec.clone(),
            gateway: Mutex::new(built.gateway),
            report: TestbedReport { namespace: whose, ..built.report },
            // The settings of our own namespace go with it; those that it shares with others are restored as
            // well.
            restore: built.before,
            server: built.server,
            record: Mutex::new(record),
        }
    }

    /// The settings in effect, as the kernel reports them.
    pub fn report(&self) -> &TestbedReport {
        &self.report
    }

    /// The gateway's queues, in order, each for one thread; every call returns the same ones.
    pub fn queues(&self) -> Vec<Queue> {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner).queues()
    }

    /// Packets that the gateway has lost since it was made.
    ///
    /// # Errors
    /// If the interface is gone.
    pub fn drops(&self) -> io::Result<GatewayDrops> {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner).drops()
    }

    /// Properties given to the gateway's interface; `None` on a network card.
    pub fn watched(&self) -> Option<InterfaceState> {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner).watched.clone()
    }

    /// True if its gateway is on a network card, and the server on another machine.
    pub fn is_on_card(&self) -> bool {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner).mtu_of_card().is_some()
    }

    /// Why `server`, which a network card leads to, may not answer: two machines say to be it, or the router
    /// to it.
    pub fn dispute_about(&self, server: SocketAddr) -> Option<gateway::CardError> {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner).dispute_about(server)
    }

    /// The processors of the kernel's threads for receive work; none if others do that work.
    pub fn receive_threads(&self) -> &[usize] {
        let gateway = self.gateway.lock().unwrap_or_else(PoisonError::into_inner);
        match gateway.receive {
            ReceiveWork::Threads(_) => &self.report.receive_processors,
            _ => &[],
        }
    }

    /// Processor time that the kernel's threads for receive work have used.
    pub fn receive_cpu(&self) -> Duration {
        let gateway = self.gateway.lock().unwrap_or_else(PoisonError::into_inner);
        match &gateway.receive {
            ReceiveWork::Threads(threads) => run_delay::ran_of(threads),
            _ => Duration::ZERO,
        }
    }

    /// The network namespace, for threads to enter.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Runs `work` in a thread of its own inside, and waits for it: see [`Namespace::inside`].
    ///
    /// # Errors
    /// If the thread cannot be made.
    pub fn inside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> io::Result<R> {
        self.namespace.inside(work)
    }

    /// Kills the processes inside, and returns how many there were. In a namespace that is not the run's own
    /// none is killed.
    pub fn kill_processes(&self) -> usize {
        if !self.is_own {
            return 0;
        }
        let (inode, cookie) = (self.namespace.inode(), self.namespace.cookie());
        inode.and_then(|inode| Ok(processes::kill_in_network_namespace(inode, cookie?))).unwrap_or(0)
    }

    /// Starts the server's command inside, and returns when the server is ready.
    ///
    /// # Errors
    /// If the server cannot be started, ends, or is not ready in time; then it no longer runs.
    pub fn start_server(&self, spec: &ServerSpec) -> Result<RunningServer, ServerError> {
        let mut group = self.control_group(&spec.limits, &spec.processors)?;
        if let Some(group) = group.as_mut().filter(|_| spec.limits_receive_work) {
            self.limit_receive_work(group)?;
        }
        RunningServer::start(&self.namespace, &self.server, spec, group)
    }

    /// Puts the threads of the kernel's receive work into the server's group.
    fn limit_receive_work(&self, group: &mut ControlGroup) -> Result<(), ServerError> {
        let gateway = self.gateway.lock().unwrap_or_else(PoisonError::into_inner);
        let ReceiveWork::Threads(threads) = &gateway.receive else {
            return Err(ServerError::NoReceiveThread { by: gateway.receive.description() });
        };
        let moved = group.take_threads(threads);
        moved.map_err(|source| ServerError::Limits { key: "cpu-of = \"all\"", source })
    }

    /// The control group of a server with `limits` on `processors`, recorded before it is made.
    fn control_group(
        &self,
        limits: &Limits,
        processors: &[usize],
    ) -> Result<Option<ControlGroup>, ServerError> {
        let planned = server::planned_group(limits, processors, &record::unique_name())?;
        let Some(plan) = planned else { return Ok(None) };
        if let Some(record) = &mut *self.record.lock().unwrap_or_else(PoisonError::into_inner) {
            record.keep_groups(plan.folders());
        }
        server::make_group(limits, plan).map(Some)
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        if !self.leaves_connections {
            // While there is still an interface for what the kernel says to clients about it.
            let _ = self.namespace.inside(|| joined::end_connections(&self.spec));
        }
        if !self.restore.is_empty() {
            // If the namespace cannot be entered any more, there is nothing to restore either.
            let _ = self.namespace.inside(|| settings::restore(&self.restore));
        }
    }
}

/// Result of the thread that builds inside the namespace.
struct Built {
    gateway: Gateway,
    report: TestbedReport,
    server: Vec<IpAddr>,
    before: Vec<(String, String)>,
}

fn build_inside(spec: &TestbedSpec) -> Result<Built, TestbedError> {
    settings::apply(&settings::of_own_namespace())?;
    loopback_up().map_err(|source| TestbedError::Interface { what: "loopback".into(), source })?;
    let v6 = spec.mtu >= MTU_MIN_V6 && settings::has_ipv6();
    let equipment = Equipment::of_own_namespace(spec, v6);
    equip(spec, equipment, settings::of_tcp(&spec.tcp), |_| ())
}

/// `restored_later` records the settings that are about to be changed.
fn join_inside(
    host: &HostNamespace,
    spec: &TestbedSpec,
    restored_later: impl FnOnce(&[(String, String)]),
) -> Result<Built, TestbedError> {
    // Again, since much may have happened since it was said what would be changed.
    joined::changes(host, spec)?;
    let has_v6 = settings::read("net.ipv6.conf.all.disable_ipv6").is_some();
    if spec.families[1] && (!has_v6 || spec.mtu < MTU_MIN_V6) {
        let why = if has_v6 { ", with a server.mtu below 1280" } else { "" };
        return Err(TestbedError::NoIpv6 { namespace: host.name().to_owned(), why });
    }
    let built = equip(spec, Equipment::of_joined(spec), joined::wanted(host, spec)?, restored_later)?;
    // Those of a run that was killed.
    joined::end_connections(spec);
    Ok(built)
}

fn equip(
    spec: &TestbedSpec,
    equipment: Equipment,
    wanted: Vec<WantedSetting>,
    restored_later: impl FnOnce(&[(String, String)]),
) -> Result<Built, TestbedError> {
    let mut gateway = Gateway::open(spec)?;
    gateway.set_up(spec, &equipment)?;
    restored_later(&settings::before(&wanted));
    let before = settings::apply(&wanted)?;
    let report = report(spec, &gateway, &equipment, &wanted);
    Ok(Built { gateway, report, server: equipment.servers, before })
}

fn loopback_up() -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let loopback = netlink.index_of("lo")?;
    netlink.up(loopback)
}

fn report(
    spec: &TestbedSpec,
    gateway: &Gateway,
    equipment: &Equipment,
    wanted: &[WantedSetting],
) -> TestbedReport {
    let tun = gateway.queue_bytes.is_none();
    let program = if tun { "eBPF" } else { "classic BPF" };
    let several = spec.queues.get() > 1;
    let device = match (tun, gateway.mtu_of_card()) {
        (true, _) => "tun",
        (false, None) => "packet",
        (false, Some(_)) => "card",
    };
    TestbedReport {
        namespace: String::new(),
        device: device.to_owned(),
        instead_of_tun: gateway.instead_of_tun.clone(),
        interface: gateway.name.clone(),
        queues: spec.queues.get(),
        steering: several.then(|| format!("index of the client's address modulo queues, by {program}")),
        mtu: gateway.mtu_of_card().unwrap_or(spec.mtu),
        offload: spec.offload,
        queue_packets: tun.then_some(spec.queue_packets),
        queue_bytes: gateway.queue_bytes,
        qdisc: gateway.qdisc.clone(),
        server: equipment.servers.iter().map(IpAddr::to_string).collect(),
        clients: equipment.blocks.iter().map(|(to, bits)| format!("{to}/{bits}")).collect(),
        congestion_control: spec.tcp.congestion_control.clone(),
        initial_window: spec.tcp.initial_window,
        receive_processors: spec.receive_processors.clone(),
        receive_work: gateway.receive.description().to_owned(),
        receive_refused: gateway.receive.refused(),
        settings: settings::report(wanted),
    }
}

/// Rejects an invalid spec before anything is made.
fn check(spec: &TestbedSpec) -> Result<(), TestbedError> {
    if !(MTU_MIN..=MTU_MAX).contains(&spec.mtu) {
        return Err(TestbedError::Mtu { mtu: spec.mtu });
    }
    // A prefix without bits is a default route, from which the interface's own address is exempt.
    if spec.clients_v4.bits() > 0 && spec.clients_v4.contains(spec.server_v4) {
        let (address, clients) = (spec.server_v4.to_string(), spec.clients_v4.to_string());
        return Err(TestbedError::Overlap { address, clients });
    }
    if spec.clients_v6.bits() > 0 && spec.clients_v6.contains(spec.server_v6) {
        let (address, clients) = (spec.server_v6.to_string(), spec.clients_v6.to_string());
        return Err(TestbedError::Overlap { address, clients });
    }
    Ok(())
}
