//! The heading of a run in its result: its server, its load, in words.

use crate::Scenario;
use crate::flow::FlowScenario;
use farfield_base::{Duration, Rate};
use farfield_engine::plane::{EmulatedNetwork, Plane, PlaneKind, PreparedPlane};
use farfield_measure::parts::PartLabel;
use farfield_measure::{Heading, LoadKind};
use farfield_origin::Origin;
use farfield_testbed::live::Location;
use farfield_traffic::distribution::TimesSpec;
use farfield_traffic::load::Restart;
use farfield_traffic::stages::Level;
use farfield_traffic::{ArrivalSpec, LoadSpec};
use std::num::NonZeroU32;

impl Scenario {
    /// The heading of a run that begins at `started_at`; `asked`: what it requests, in words.
    pub(super) fn heading(
        &self,
        is_recorded: bool,
        asked: Option<String>,
        plane: &PreparedPlane,
        origin: Option<&Origin>,
        started_at: String,
    ) -> Heading {
        let network = match plane {
            Plane::Sockets(_) => None,
            Plane::Emulated(emulated) => Some(&emulated.network),
            Plane::Simulated(simulated) => Some(&simulated.network),
        };
        let across = network.map(|network| self.across(network));
        let target = match (&self.target, origin) {
            (None, None) => across.unwrap_or_default(),
            (Some(url), _) => match asked {
                None => url.to_string(),
                Some(asked) => format!("{}://{} ({asked})", url.scheme(), url.authority()),
            },
            (None, Some(origin)) => {
                format!("built-in server, {}", origin.address())
            }
        };
        let (load, load_words) = match is_recorded {
            true => (LoadKind::Hybrid, "hybrid, sessions as recorded".to_owned()),
            false if !self.flow.is_empty() => (LoadKind::Flows, self.flows_in_words()),
            false => in_words(&self.load, self.session.as_ref().and_then(|session| session.think.as_ref())),
        };
        Heading {
            farfield: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.name.clone(),
            note: self.note.as_ref().map(ToString::to_string),
            target,
            seed: self.seed,
            load,
            load_words: PartLabel::words(self.run.part, &load_words),
            path: Some(self.path_in_words(network)),
            started_at,
        }
    }

    /// The load of each flow, in words.
    fn flows_in_words(&self) -> String {
        let of_flow = |FlowScenario { name, scenario, .. }: FlowScenario| {
            let think = scenario.session.as_ref().and_then(|session| session.think.as_ref());
            format!("{name}: {}", in_words(&scenario.load, think).1)
        };
        self.flows().into_iter().map(of_flow).collect::<Vec<_>>().join("; ")
    }

    /// The server and the number of clients, in words, on a plane with a network.
    fn across(&self, network: &EmulatedNetwork) -> String {
        let server = self.server.clone().unwrap_or_default();
        let who = match (self.plane, self.location().filter(|at| *at != Location::Here), server.command) {
            (PlaneKind::Simulated, _, _) => "model of a server".to_owned(),
            (_, Some(Location::Process(pid)), _) => format!("process {pid}"),
            (_, Some(Location::Namespace(name)), _) => format!("server in namespace {name}"),
            (_, Some(Location::Container { name, .. }), _) => format!("container {name}"),
            (_, Some(Location::Elsewhere { interface }), _) => format!("server beyond {interface}"),
            (_, _, Some(command)) => command.to_string(),
            (_, _, None) => "built-in server".to_owned(),
        };
        format!("{who}, {} clients", network.plan.acting())
    }
}

/// The model of load of a run, by its kind and in words; `think` is the session's own, which goes before the
/// load's.
fn in_words(load: &LoadSpec, think: Option<&TimesSpec>) -> (LoadKind, String) {
    let most = |users_max: &Option<NonZeroU32>| match users_max {
        Some(most) => format!(", at most {most} users"),
        None => String::new(),
    };
    let off = |times: &Option<TimesSpec>| {
        times.as_ref().map(|times| format!(", active OFF {}", times_in_words(times))).unwrap_or_default()
    };
    match load {
        LoadSpec::Closed(spec) => {
            let (think, off) = (times_in_words(think.unwrap_or(&spec.think)), off(&spec.active_off));
            let users = match &spec.stages {
                Some(stages) => stages.in_words(spec.users),
                None => <u32 as Level>::course(spec.users, spec.users),
            };
            (LoadKind::Closed, format!("closed, {users}, think {think}{off}"))
        }
        LoadSpec::Open(spec) => {
            (LoadKind::Open, format!("open, {}{}", arrivals(&spec.arrivals), most(&spec.users_max)))
        }
        LoadSpec::Hybrid(spec) => (
            LoadKind::Hybrid,
            format!(
                "hybrid, sessions {}, think {}{}{}",
                arrivals(&spec.arrivals),
                times_in_words(think.unwrap_or(&spec.think)),
                off(&spec.active_off),
                most(&spec.users_max)
            ),
        ),
        LoadSpec::Overload(overload) => {
            let (d, t, rate) = (overload.descriptors, overload.timeout(), overload.attempt_rate());
            let rate = match overload.restart {
                Restart::Paced => format!("{rate:.0}"),
                Restart::AtOnce => format!("at least {rate:.0}"),
            };
            (LoadKind::Overload, format!("overload, D {d}, T {t}: {rate}"))
        }
    }
}

/// Arrivals as their TOML has them, but for stages.
fn arrivals(arrivals: &ArrivalSpec) -> String {
    arrivals.stages().map_or_else(|| brief(arrivals), |stages| stages.in_words(Rate::ZERO))
}

/// Times as their TOML has them; a number is in seconds.
fn times_in_words(times: &TimesSpec) -> String {
    let text = brief(times);
    match text.parse::<f64>() {
        Ok(seconds) => Duration::from_secs_f64(seconds).to_string(),
        Err(_) => text,
    }
}

/// A value of the scenario in as few words as its TOML has.
fn brief<T: serde::Serialize>(value: &T) -> String {
    match toml::Value::try_from(value) {
        Ok(toml::Value::String(text)) => text,
        Ok(toml::Value::Table(table)) => {
            let part = |(_, value): (&String, &toml::Value)| match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // The distribution or process first, then its parameters in the order of their names.
            let named = |key: &&str| table.contains_key(*key);
            let first =
                ["distribution", "process"].iter().find(|key| named(key)).copied().unwrap_or_default();
            let head = table.get_key_value(first).map(part);
            head.into_iter()
                .chain(table.iter().filter(|(key, _)| *key != first).map(part))
                .collect::<Vec<_>>()
                .join(" ")
        }
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
