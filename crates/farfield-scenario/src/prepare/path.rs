//! The path between clients and the server, and the TCP at its ends, in words for the first lines of a
//! result.

use crate::Scenario;
use crate::network::{ClassSpec, Link, NetworkSpec};
use farfield_base::Duration;
use farfield_emulator::layout::RoundTrips;
use farfield_engine::plane::{EmulatedNetwork, PlaneKind};
use farfield_tcp::Algorithm;
use serde::Serialize;
use std::collections::BTreeSet;
use toml::Value;

/// The kernel's congestion control of connections without one of their own.
const KERNELS: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Kinds of links that are named; of more there is a number.
const KINDS: usize = 3;

impl Scenario {
    /// Access links, round trips, loss, and congestion control at both ends: of emulated clients and their
    /// server, or, without `network`, of this machine's sockets.
    pub(super) fn path_in_words(&self, network: Option<&EmulatedNetwork>) -> String {
        let Some(network) = network else { return format!("this machine's own; TCP {}", kernels()) };
        let spec = self.network.clone().unwrap_or_default();
        let RoundTrips { least, largest } = network.round_trips;
        let trips = if least == largest {
            least.to_string()
        } else {
            format!("{} to {}", in_short(least), in_short(largest))
        };
        let mut lost = losses(&spec);
        lost.extend(outages(network));
        let lost = if lost.is_empty() { String::new() } else { format!(", loss {}", lost.join(", ")) };
        let clients = algorithms(&spec);
        let server = self.server.as_ref().and_then(|server| server.congestion.clone());
        let server = match self.plane {
            PlaneKind::Simulated => "the server a model".to_owned(),
            _ => format!("the server's {}", server.unwrap_or_else(kernels)),
        };
        format!("{}, round trip {trips}{lost}; TCP {clients}, {server}", links(&spec))
    }
}

/// The links between each client and the server.
fn links(spec: &NetworkSpec) -> String {
    if spec.topology.is_some() {
        return "a topology".to_owned();
    }
    if spec.backbone.is_some() {
        return "a linear backbone".to_owned();
    }
    let kinds: Vec<String> = match spec.class.as_slice() {
        [] => spec.access.iter().filter_map(word).collect(),
        classes => classes
            .iter()
            .map(|class| class.access.as_ref().and_then(word).unwrap_or_else(|| class.name.clone()))
            .collect(),
    };
    match kinds.len() {
        0 => "no access links".to_owned(),
        1..=KINDS => kinds.join(", "),
        count => format!("{} and {} more classes", kinds[..KINDS].join(", "), count - KINDS),
    }
}

/// The losses of all links of clients, without those that lose nothing.
fn losses(spec: &NetworkSpec) -> Vec<String> {
    let of_class = |class: &ClassSpec| {
        let core = class.core.iter().flat_map(|core| [core.up.clone(), core.down.clone()]);
        [class.up.clone(), class.down.clone()].into_iter().chain(core).flatten().collect::<Vec<Link>>()
    };
    let shared = spec.shared.iter().flat_map(|path| [path.up.clone(), path.down.clone()]).flatten();
    let links = spec.class.iter().flat_map(of_class).chain(shared);
    let none = word(&Link::default().loss);
    let found: BTreeSet<String> =
        links.map(|link| word(&link.loss)).filter(|own| *own != none).flatten().collect();
    found.into_iter().take(KINDS).collect()
}

/// The losses of the profiles that links of clients follow.
fn outages(network: &EmulatedNetwork) -> BTreeSet<String> {
    let links = network.plan.classes.iter().flat_map(|class| class.up.iter().chain(&class.down));
    let profiles = links.filter_map(|link| link.follows());
    profiles.map(|profile| format!("{:.2}% in outages", profile.outages.share() * 100.0)).collect()
}

/// A time to a tenth of a millisecond, if it has parts of that and ten of them.
fn in_short(time: Duration) -> String {
    let is_long = time >= Duration::from_ms(10) && !time.as_ns().is_multiple_of(1_000_000);
    if is_long { format!("{:.1}ms", time.as_secs_f64() * 1e3) } else { time.to_string() }
}

/// The congestion control of clients.
fn algorithms(spec: &NetworkSpec) -> String {
    let of_classes = spec.class.iter().filter_map(|class| class.tcp.as_ref());
    let name = |algorithm| match algorithm {
        Algorithm::Reno => "reno",
        Algorithm::Cubic => "cubic",
        _ => "another",
    };
    let all: BTreeSet<&str> =
        std::iter::once(&spec.tcp).chain(of_classes).map(|tcp| name(tcp.config().congestion)).collect();
    all.into_iter().collect::<Vec<_>>().join(" and ")
}

/// A value as a scenario writes it, if that is a word, or the word by which its table is known.
fn word(value: &impl Serialize) -> Option<String> {
    match Value::try_from(value).ok()? {
        Value::String(text) => Some(text),
        Value::Table(table) => table.get("model").and_then(Value::as_str).map(str::to_owned),
        other => Some(other.to_string()),
    }
}

/// The kernel's; in words where it does not say.
fn kernels() -> String {
    let text = farfield_files::system::read_text(KERNELS);
    text.map_or_else(|_| "the kernel's".to_owned(), |text| text.trim().to_owned())
}
