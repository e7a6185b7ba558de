//! The kernel settings of a testbed, through `/proc/sys`. Its `net` part shows each thread its own
//! namespace.

use crate::{ServerSetting, ServerTcp, TestbedError};
use farfield_base::Bytes;
use farfield_files::system;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::{fmt, io};

/// The name of a setting of a network namespace, such as `net.ipv4.tcp_fin_timeout`. It always names a file
/// below `/proc/sys/net`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SettingName(String);

/// A name that is not one of a network namespace's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the name of a setting of a network namespace: write one such as net.ipv4.tcp_fin_timeout, which begins \
     with `net.` and has no empty parts; others are the whole machine's, and are set with sysctl"
)]
pub struct SettingNameError(pub String);

impl TryFrom<String> for SettingName {
    type Error = SettingNameError;

    fn try_from(name: String) -> Result<SettingName, SettingNameError> {
        // A slash stands for a dot in an interface's name, so that a part can be made of nothing but dots.
        let is_part = |part: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/@:+".contains(&byte);
            !part.is_empty() && part.bytes().all(plain) && !part.bytes().all(|byte| byte == b'/')
        };
        match name.strip_prefix("net.") {
            Some(below) if below.split('.').all(is_part) => Ok(SettingName(name)),
            _ => Err(SettingNameError(name)),
        }
    }
}

impl From<SettingName> for String {
    fn from(name: SettingName) -> String {
        name.0
    }
}

impl fmt::Display for SettingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One setting to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedSetting {
    pub name: String,
    pub value: String,
    /// The scenario sets it; if not, the testbed works without a setting that the kernel lacks.
    pub asked: bool,
}

/// Settings that are always reported.
const REPORTED: [&str; 16] = [
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_tw_buckets",
];

pub const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// True if the kernel has this congestion control.
pub fn is_available(congestion_control: &str) -> bool {
    let names = read("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().any(|name| name == congestion_control)
}

/// True if new interfaces get IPv6. Call it inside the namespace.
pub fn has_ipv6() -> bool {
    read("net.ipv6.conf.default.disable_ipv6").is_some_and(|value| value == "0")
}

/// The settings of a namespace of our own, in this order. Call it inside the namespace.
pub fn of_own_namespace() -> Vec<WantedSetting> {
    let quiet =
        |name: &str, value: &str| WantedSetting { name: name.into(), value: value.into(), asked: false };
    vec![
        // Servers that run as an ordinary user may take port 80.
        quiet("net.ipv4.ip_unprivileged_port_start", "0"),
        quiet("net.ipv6.conf.all.disable_ipv6", "0"),
        quiet("net.ipv6.conf.default.disable_ipv6", "0"),
        // The interface sends no solicitations, so that clients receive the server's packets only.
        quiet("net.ipv6.conf.default.addr_gen_mode", "1"),
        quiet("net.ipv6.conf.default.router_solicitations", "0"),
        quiet("net.ipv6.conf.default.accept_ra", "0"),
        quiet("net.ipv6.conf.default.accept_dad", "0"),
        quiet("net.ipv4.conf.all.rp_filter", "0"),
        quiet("net.ipv4.conf.default.rp_filter", "0"),
    ]
}

/// The settings of a gateway's own interface in a namespace that is not the run's own, with IPv6 if `v6`;
/// `to_loopback`: packets to IPv4 loopback addresses may come in by it. They go with the interface.
pub fn of_interface(interface: &str, v6: bool, to_loopback: bool) -> Vec<WantedSetting> {
    let interface = interface.replace('.', "/");
    let of = |family: &str, name: &str, value: &str, asked: bool| WantedSetting {
        name: format!("net.{family}.conf.{interface}.{name}"),
        value: value.to_owned(),
        asked,
    };
    let mut settings = vec![of("ipv6", "disable_ipv6", if v6 { "0" } else { "1" }, v6)];
    if v6 {
        // The interface sends no solicitations, so that clients receive the server's packets only.
        settings.extend([
            of("ipv6", "addr_gen_mode", "1", false),
            of("ipv6", "router_solicitations", "0", false),
            of("ipv6", "accept_ra", "0", false),
            of("ipv6", "accept_dad", "0", false),
        ]);
    }
    if to_loopback {
        settings.push(of("ipv4", "route_localnet", "1", true));
    }
    settings
}

/// The settings of the server's TCP. Call it inside the namespace.
pub fn of_tcp(tcp: &ServerTcp) -> Vec<WantedSetting> {
    let metrics =
        WantedSetting { name: "net.ipv4.tcp_no_metrics_save".into(), value: "1".into(), asked: false };
    std::iter::once(metrics).chain(asked(tcp)).collect()
}

/// The settings that the scenario names. Call it inside the namespace.
pub fn asked(tcp: &ServerTcp) -> Vec<WantedSetting> {
    let switch = |on: bool| u8::from(on).to_string();
    let asked = [
        ("net.ipv4.tcp_congestion_control", tcp.congestion_control.clone()),
        ("net.ipv4.tcp_sack", tcp.sack.map(switch)),
        ("net.ipv4.tcp_timestamps", tcp.timestamps.map(switch)),
        ("net.ipv4.tcp_window_scaling", tcp.window_scaling.map(switch)),
        ("net.core.somaxconn", tcp.somaxconn.map(|count| count.to_string())),
        ("net.ipv4.tcp_max_syn_backlog", tcp.syn_backlog.map(|count| count.to_string())),
        ("net.ipv4.tcp_syncookies", tcp.syn_cookies.map(switch)),
        ("net.ipv4.tcp_synack_retries", tcp.syn_ack_retries.map(|count| count.to_string())),
        ("net.ipv4.tcp_abort_on_overflow", tcp.abort_on_overflow.map(switch)),
        ("net.ipv4.tcp_rmem", tcp.receive_buffer_max.map(|max| grown("net.ipv4.tcp_rmem", max))),
        ("net.ipv4.tcp_wmem", tcp.send_buffer_max.map(|max| grown("net.ipv4.tcp_wmem", max))),
    ];
    let named = asked.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let others = tcp.settings.iter().map(|(name, value)| (name.to_string(), value.clone()));
    named.chain(others).map(|(name, value)| WantedSetting { name, value, asked: true }).collect()
}

/// The three sizes of a buffer with a new maximum: minimum and default stay, unless they exceed it.
fn grown(name: &str, max: Bytes) -> String {
    let sizes = read(name).unwrap_or_default();
    let mut sizes = sizes.split_whitespace().filter_map(|size| size.parse::<u64>().ok());
    let mut next = |usual: u64| sizes.next().unwrap_or(usual).min(max.0);
    format!("{} {} {}", next(4_096), next(131_072), max.0)
}

/// The present values of the settings that [`apply`] would change. Call it inside the namespace.
pub fn before(wanted: &[WantedSetting]) -> Vec<(String, String)> {
    let changed = wanted.iter().filter_map(|wanted| Some((wanted, read(&wanted.name)?)));
    changed
        .filter(|(wanted, now)| wanted.value != *now)
        .map(|(wanted, now)| (wanted.name.clone(), now))
        .collect()
}

/// Applies the settings, and returns the previous values of the changed ones. Call it inside the namespace.
///
/// # Errors
/// If the kernel refuses one that the scenario sets; then those before it are restored.
pub fn apply(wanted: &[WantedSetting]) -> Result<Vec<(String, String)>, TestbedError> {
    let mut before = Vec::new();
    for WantedSetting { name, value, asked } in wanted {
        let old = read(name);
        if old.as_ref() == Some(value) {
            continue;
        }
        match write(name, value) {
            Ok(()) => before.extend(old.map(|old| (name.clone(), old))),
            // Only the first namespace may make any algorithm the default; routes to clients may name it
            // anywhere.
            Err(_) if name == CONGESTION_CONTROL && is_available(value) => {}
            Err(source) if *asked => {
                restore(&before);
                let (name, value) = (name.clone(), value.clone());
                return Err(TestbedError::Setting { remedy: remedy(&name, &source), name, value, source });
            }
            Err(_) => {}
        }
    }
    Ok(before)
}

fn remedy(name: &str, error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound if name.ends_with("congestion_control") => {
            "load it first: modprobe tcp_ and its name"
        }
        io::ErrorKind::NotFound => "the kernel has no such setting in a network namespace",
        io::ErrorKind::ReadOnlyFilesystem => "mount /proc/sys writable, as privileged containers have it",
        io::ErrorKind::PermissionDenied => "run farfield as root",
        _ => "give a value that the kernel takes",
    }
}

/// Restores the settings that [`apply`] changed, as far as possible. Call it inside the namespace.
pub fn restore(before: &[(String, String)]) {
    for (name, value) in before.iter().rev() {
        // A setting that no longer exists cannot be restored.
        let _ = write(name, value);
    }
}

/// The settings in effect: those that the scenario sets, then the others in [`REPORTED`]. Call it inside the
/// namespace.
pub fn report(wanted: &[WantedSetting]) -> Vec<ServerSetting> {
    let asked = wanted.iter().filter(|wanted| wanted.asked);
    let asked = asked.map(|wanted| (wanted.name.clone(), Some(wanted.value.clone())));
    let others = REPORTED.iter().map(|name| (String::from(*name), None));
    let mut report: Vec<ServerSetting> = Vec::new();
    for (name, asked) in asked.chain(others) {
        if report.iter().all(|setting| setting.name != name) {
            report.push(ServerSetting { value: read(&name), name, asked });
        }
    }
    report
}

/// A setting's value, its words separated by one space.
pub fn read(name: &str) -> Option<String> {
    let text = system::read_text(path(name)).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Writes a setting. Invalid names are always an error: names come from records on the disk as well.
fn write(name: &str, value: &str) -> io::Result<()> {
    let name = SettingName::try_from(name.to_owned()).map_err(io::Error::other)?;
    system::write(path(&name.0), value)
}

/// Dots stand for slashes, and slashes for the dots of interfaces' names (sysctl(8)).
fn path(name: &str) -> PathBuf {
    let swapped: String = name
        .chars()
        .map(|letter| match letter {
            '.' => '/',
            '/' => '.',
            letter => letter,
        })
        .collect();
    PathBuf::from("/proc/sys").join(swapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_lies_below_net() {
        for name in ["net.ipv4.tcp_fin_timeout", "net.ipv4.conf.eth0/7.rp_filter", "net.core.somaxconn"] {
            let path = path(&SettingName::try_from(name.to_owned()).unwrap().0);
            let plain = |part: std::path::Component<'_>| !matches!(part, std::path::Component::ParentDir);
            assert!(path.starts_with("/proc/sys/net") && path.components().all(plain), "{path:?}");
        }
        for name in [
            "vm.overcommit_memory",
            "kernel.core_pattern",
            "net",
            "net.",
            "net..x",
            ".net.x",
            "net.ipv4.",
            "/etc/x",
            "net.//.kernel.core_pattern",
            "net.ipv4.//.//.kernel.x",
            "net./.x",
            "net.ipv4.a b",
            "net.\n",
            "network.x",
            "net.//.//.//.tmp.x",
            "",
        ] {
            assert!(SettingName::try_from(name.to_owned()).is_err(), "{name}");
            assert!(write(name, "1").is_err(), "{name}");
        }
    }
}
