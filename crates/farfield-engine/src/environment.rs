//! The machine of a run, for `environment.json`: it distinguishes figures taken on different machines.

use farfield_files::system;
use farfield_os::processors;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

/// The machine and its limits, as far as they affect the figures. A value that could not be read is absent.
#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    /// Version of this file's layout.
    pub schema_version: u32,
    /// The version of farfield.
    pub farfield: String,
    /// Kernel name, release and machine, as `uname` gives them.
    pub kernel: String,
    /// The processor's model name.
    pub processor: Option<String>,
    /// The processors that this process may use.
    pub processors: Vec<usize>,
    /// Memory of the machine, in bytes.
    pub memory_bytes: Option<u64>,
    /// Open descriptors that a process may have.
    pub descriptors_max: Option<u64>,
    /// Kernel settings that limit clients and servers, by their names under `/proc/sys`.
    pub settings: Vec<Setting>,
}

/// One kernel setting.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    /// The name, with dots.
    pub name: &'static str,
    /// The value as the kernel prints it.
    pub value: Option<String>,
}

const SETTINGS: [&str; 10] = [
    "net.core.somaxconn",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.netdev_max_backlog",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_abort_on_overflow",
];

impl Environment {
    /// Reads the values of this machine.
    pub fn read() -> Environment {
        let uname = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        Environment {
            schema_version: 1,
            farfield: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: format!("{} {} {}", text(uname.sysname()), text(uname.release()), text(uname.machine())),
            processor: field_of("/proc/cpuinfo", "model name"),
            processors: processors::allowed().unwrap_or_default(),
            memory_bytes: field_of("/proc/meminfo", "MemTotal")
                .and_then(|text| text.strip_suffix(" kB")?.trim().parse::<u64>().ok())
                .map(|kib| kib * 1024),
            descriptors_max: getrlimit(Resource::Nofile).current,
            settings: SETTINGS.map(|name| Setting { name, value: setting(name) }).into(),
        }
    }
}

/// The value of a kernel setting, by its dotted name.
pub fn setting(name: &str) -> Option<String> {
    let text = system::read_text(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first `name: value` of a file of such lines.
pub(crate) fn field_of(path: &str, name: &str) -> Option<String> {
    let text = system::read_text(path).ok()?;
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
