//! The testbed of the emulated plane: a network namespace in which a real server runs, and a gateway in
//! front of it, whose queues carry real packets between the server's kernel and the clients in this process.
//!
//! A [`Testbed`] is [built](Testbed::build) from a [`TestbedSpec`], [reports](Testbed::report) the settings
//! in effect, provides the gateway's [queues](Testbed::queues), starts the server's
//! [command](Testbed::start_server), and takes everything down when it is dropped. Leftovers of a killed run
//! are cleared away by the next one.
//!
//! A testbed needs root, or a call of [`gain_privilege`] first in `main`. It uses no other program of the
//! machine.

mod error;
mod gateway;
mod host;
mod limits;
mod prefix;
mod processes;
mod queue;
mod record;
mod report;
mod server;
mod settings;
mod spec;

pub use crate::os::namespace::Namespace;
pub use error::TestbedError;
pub use host::HostNamespace;
pub use limits::{CpuLimit, CpuLimitError, LimitUse, Limits, MemoryLimit, MemoryLimitError};
pub use prefix::{Family, Prefix, PrefixError};
pub use queue::Queue;
pub use report::{GatewayDrops, ServerSetting, TestbedReport};
pub(crate) use processes::start_ticks;
pub use server::{
    Command, Containment, Ready, ReadyError, RunningServer, ServerError, ServerExit, ServerSpec,
};
pub use settings::{SettingName, SettingNameError};
pub use spec::{Device, ServerTcp, TestbedSpec};

use crate::os::control_group::ControlGroup;
use crate::os::namespace;
use crate::os::netlink::Netlink;
use gateway::{Gateway, ReceiveWork};
use record::Record;
use settings::WantedSetting;
use std::io;
use std::net::IpAddr;
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
    gateway: Mutex<Gateway>,
    report: TestbedReport,
    /// Settings to restore.
    restore: Vec<(String, String)>,
    server: Vec<IpAddr>,
    // The last field, so that the record is removed after what it describes.
    record: Mutex<Option<Record>>,
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
        Testbed::build_in(namespace, spec, whose.to_owned(), None)
    }

    /// Builds the gateway in the network namespace of a running process, and adds the spec's addresses, at
    /// which clients reach it. Requested settings are restored at the end. Needs root.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn of_process(pid: u32, spec: &TestbedSpec) -> Result<Testbed, TestbedError> {
        record::clear_leftovers();
        let refused = |source| TestbedError::Process { pid, source };
        let namespace = Namespace::of_process(pid).map_err(refused)?;
        namespace.inside(|| ()).map_err(refused)?;
        Testbed::build_in(namespace, spec, format!("that of process {pid}"), Some(pid))
    }

    fn build_in(
        namespace: Namespace,
        spec: &TestbedSpec,
        whose: String,
        of: Option<u32>,
    ) -> Result<Testbed, TestbedError> {
        check(spec)?;
        let mut record = Record::write(&namespace, of);
        let built = namespace
            .inside(|| build_inside(spec, of.is_none()))
            .map_err(|source| TestbedError::Namespace { source })??;
        // The settings of our own namespace go with it; those that it shares with others are restored as
        // well.
        let restore = built.before;
        if let Some(record) = record.as_mut().filter(|_| of.is_some()) {
            record.keep_settings(&restore);
        }
        let report = TestbedReport { namespace: whose, ..built.report };
        Ok(Testbed {
            namespace,
            gateway: Mutex::new(built.gateway),
            report,
            restore,
            server: built.server,
            record: Mutex::new(record),
        })
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

    /// The processors of the kernel's threads for receive work; none if others do that work.
    pub(crate) fn receive_threads(&self) -> &[usize] {
        let gateway = self.gateway.lock().unwrap_or_else(PoisonError::into_inner);
        if gateway.receive == ReceiveWork::Threads { &self.report.receive_processors } else { &[] }
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

    /// Kills the processes inside, and returns how many there were.
    pub fn kill_processes(&self) -> usize {
        let (inode, cookie) = (self.namespace.inode(), self.namespace.cookie());
        inode.and_then(|inode| Ok(processes::kill_in_network_namespace(inode, cookie?))).unwrap_or(0)
    }

    /// Starts the server's command inside, and returns when the server is ready.
    ///
    /// # Errors
    /// If the server cannot be started, ends, or is not ready in time; then it no longer runs.
    pub fn start_server(&self, spec: &ServerSpec) -> Result<RunningServer, ServerError> {
        let group = self.control_group(&spec.limits)?;
        RunningServer::start(&self.namespace, &self.server, spec, group)
    }

    /// The control group of a server with `limits`, recorded before it is made.
    fn control_group(&self, limits: &Limits) -> Result<Option<ControlGroup>, ServerError> {
        let Some(plan) = server::planned_group(limits, &record::unique_name())? else { return Ok(None) };
        if let Some(record) = &mut *self.record.lock().unwrap_or_else(PoisonError::into_inner) {
            record.keep_groups(plan.folders());
        }
        server::make_group(limits, plan).map(Some)
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
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

fn build_inside(spec: &TestbedSpec, own: bool) -> Result<Built, TestbedError> {
    if own {
        settings::apply(&settings::of_own_namespace())?;
        loopback_up().map_err(|source| TestbedError::Interface { what: "loopback".into(), source })?;
    }
    let v6 = spec.mtu >= MTU_MIN_V6 && settings::has_ipv6();
    let mut gateway = Gateway::open(spec)?;
    gateway.set_up(spec, v6)?;
    let wanted = settings::of_tcp(&spec.tcp);
    let before = settings::apply(&wanted)?;
    let report = report(spec, &gateway, v6, &wanted);
    Ok(Built { gateway, report, server: gateway::addresses(spec, v6), before })
}

fn loopback_up() -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let loopback = netlink.index_of("lo")?;
    netlink.up(loopback)
}

fn report(spec: &TestbedSpec, gateway: &Gateway, v6: bool, wanted: &[WantedSetting]) -> TestbedReport {
    let tun = gateway.queue_bytes.is_none();
    let clients = [Some(spec.clients_v4.to_string()), v6.then(|| spec.clients_v6.to_string())];
    let program = if tun { "eBPF" } else { "classic BPF" };
    let several = spec.queues.get() > 1;
    TestbedReport {
        namespace: String::new(),
        device: if tun { "tun" } else { "packet" }.to_owned(),
        instead_of_tun: gateway.instead_of_tun.clone(),
        interface: gateway.name.clone(),
        queues: spec.queues.get(),
        steering: several.then(|| format!("index of the client's address modulo queues, by {program}")),
        mtu: spec.mtu,
        offload: spec.offload,
        queue_packets: tun.then_some(spec.queue_packets),
        queue_bytes: gateway.queue_bytes,
        qdisc: gateway.qdisc.clone(),
        server: gateway::addresses(spec, v6).iter().map(IpAddr::to_string).collect(),
        clients: clients.into_iter().flatten().collect(),
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
