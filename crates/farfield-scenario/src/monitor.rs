//! `[monitor]`, as written: what of the server is read while a run goes on.
//!
//! Header fields of exporters may be secrets. Their values name variables of the environment, so that no
//! scenario that a run leaves has them.

use crate::mistake::Mistake;
use crate::values::Url;
use farfield_engine::PlaneKind;
use farfield_monitor::{Members, MonitorSettings, PrometheusTarget, TierSpec};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// `monitor = false`, or the table.
#[derive(Debug, Clone, PartialEq)]
pub enum MonitorSpec {
    /// Nothing is read.
    Off,
    /// The server is read where it is found, and what the table adds.
    On(MonitorTable),
}

/// `[monitor]`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MonitorTable {
    /// The server's process; found by its port, or by the run that starts it, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<NonZeroU32>,
    /// Named tiers beside the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tier: Vec<MonitorTier>,
    /// Exporters on other machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prometheus: Vec<MonitorPrometheus>,
}

/// `[[monitor.tier]]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MonitorTier {
    /// The tier's name in results.
    pub name: String,
    /// A process, with all its children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<NonZeroU32>,
    /// Text in the command line of its processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A control group, below /sys/fs/cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
}

/// `[[monitor.prometheus]]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MonitorPrometheus {
    /// The exporter's URL.
    pub url: String,
    /// The name in results; host and port if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Names of metrics to keep, in which `*` stands for any characters; the usual ones if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Header fields of its requests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

impl Default for MonitorSpec {
    fn default() -> MonitorSpec {
        MonitorSpec::On(MonitorTable::default())
    }
}

impl MonitorSpec {
    /// True if `[monitor]` says no more than its absence.
    pub fn is_default(&self) -> bool {
        *self == MonitorSpec::default()
    }

    /// The engine's settings, without the server's port; `None` if monitors are off.
    pub(crate) fn resolve(&self, plane: PlaneKind) -> Result<Option<MonitorSettings>, Mistake> {
        let MonitorSpec::On(table) = self else { return Ok(None) };
        if plane == PlaneKind::Simulated {
            return match *table == MonitorTable::default() {
                true => Ok(None),
                false => Err(Mistake::at(
                    "monitor",
                    "the simulated plane has a model in place of a server, of which there is nothing to read; remove this",
                )),
            };
        }
        let tiers = table.tier.iter().enumerate().map(|(nth, tier)| tier.resolve(nth));
        let prometheus = table.prometheus.iter().enumerate().map(|(nth, target)| target.resolve(nth));
        let settings = MonitorSettings {
            pid: table.pid.map(NonZeroU32::get),
            tiers: tiers.collect::<Result<_, _>>()?,
            prometheus: prometheus.collect::<Result<_, _>>()?,
            port: None,
        };
        let tiers = settings.tiers.iter().map(|tier| ("tier", &tier.name));
        let names = tiers.chain(settings.prometheus.iter().map(|target| ("prometheus", &target.name)));
        let names: Vec<_> = names.collect();
        for (nth, (list, name)) in names.iter().enumerate() {
            if names[..nth].iter().any(|(_, other)| other == name) {
                let sentence = format!("two are called {name:?}; give each a name of its own");
                return Err(Mistake::at(format!("monitor.{list}"), sentence));
            }
        }
        Ok(Some(settings))
    }
}

impl MonitorTier {
    fn resolve(&self, nth: usize) -> Result<TierSpec, Mistake> {
        let refuse = |sentence: &str| Mistake::at(format!("monitor.tier[{nth}]"), sentence);
        if self.name.trim().is_empty() {
            return Err(refuse("a tier needs a name, such as \"web\""));
        }
        let members = match (self.pid, &self.command, &self.cgroup) {
            (Some(pid), None, None) => Members::Processes(vec![pid.get()]),
            (None, Some(text), None) if !text.trim().is_empty() => Members::Command(text.clone()),
            (None, None, Some(path)) => {
                let below = path.strip_prefix("/").unwrap_or(path);
                let is_absolute = path.starts_with("/sys/fs/cgroup");
                let folder = if is_absolute { path.clone() } else { Path::new("/sys/fs/cgroup").join(below) };
                Members::ControlGroup(folder)
            }
            _ => {
                return Err(refuse(
                    "write one of pid = 123, command = \"nginx\" (text in the command line) or cgroup = \"web.slice\"",
                ));
            }
        };
        Ok(TierSpec { name: self.name.clone(), members })
    }
}

impl MonitorPrometheus {
    fn resolve(&self, nth: usize) -> Result<PrometheusTarget, Mistake> {
        let at =
            |key: &str, sentence: String| Mistake::at(format!("monitor.prometheus[{nth}].{key}"), sentence);
        let url: Url =
            self.url.parse().map_err(|error: crate::values::UrlError| at("url", error.to_string()))?;
        if url.is_secure() {
            return Err(at("url", "exporters are read over plain HTTP; write http://".to_owned()));
        }
        if url.authorization().is_some() {
            let sentence = "write no user or password here, which results would show, but headers = { authorization = \
                            \"Basic ${env.SECRET}\" }";
            return Err(at("url", sentence.to_owned()));
        }
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| header(name, value).map_err(|sentence| at("headers", sentence)));
        Ok(PrometheusTarget {
            name: self.name.clone().unwrap_or_else(|| format!("{}:{}", url.host(), url.port())),
            url: self.url.clone(),
            headers: headers.collect::<Result<_, _>>()?,
            metrics: self.metrics.clone(),
        })
    }
}

/// Fields whose values are no secrets.
const PUBLIC: [&str; 5] = ["accept", "accept-encoding", "accept-language", "user-agent", "host"];

/// A header field with the environment's values in place of their names.
fn header(name: &str, value: &str) -> Result<(String, String), String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        return Err(format!("{name:?} is not the name of a header field"));
    }
    let is_public = PUBLIC.iter().any(|public| name.eq_ignore_ascii_case(public));
    if !is_public && !value.contains("${env.") {
        return Err(format!(
            "the value of {name} would stand in the run directory: name a variable of the environment that holds it, \
             \"${{env.NAME}}\""
        ));
    }
    let value = filled_in(value)?;
    match value.chars().any(|c| c.is_control()) {
        true => Err(format!("the value of {name} has control characters")),
        false => Ok((name.to_owned(), value)),
    }
}

/// The text with `${env.NAME}` replaced.
fn filled_in(text: &str) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${env.") {
        let (name, behind) = after.split_once('}').ok_or("\"${env.\" has no \"}\" behind it")?;
        let value = std::env::var(name)
            .map_err(|_| format!("the environment has no `{name}`; set it for farfield, as text"))?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

impl Serialize for MonitorSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MonitorSpec::Off => serializer.serialize_bool(false),
            MonitorSpec::On(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for MonitorSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MonitorSpec, D::Error> {
        deserializer.deserialize_any(MonitorVisitor)
    }
}

struct MonitorVisitor;

impl<'de> Visitor<'de> for MonitorVisitor {
    type Value = MonitorSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("false, or a table such as [monitor] with pid, tier and prometheus")
    }

    fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<MonitorSpec, E> {
        Ok(if is_on { MonitorSpec::default() } else { MonitorSpec::Off })
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<MonitorSpec, M::Error> {
        MonitorTable::deserialize(MapAccessDeserializer::new(map)).map(MonitorSpec::On)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overlay, from_text};

    fn read(text: &str) -> Result<crate::RunPlan, String> {
        from_text(text, Some(Path::new("s.toml")), &Overlay::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_shown_again() {
        for text in [
            "",
            "monitor = false",
            "monitor = true",
            "[monitor]\npid = 7\n[[monitor.tier]]\nname = 'web'\ncommand = 'nginx'\n[[monitor.tier]]\nname = 'db'\ncgroup = 'db.slice'",
            "[[monitor.prometheus]]\nurl = 'http://h:9100/metrics'\nmetrics = ['node_*']\nheaders = { authorization = 'Bearer ${env.CARGO_MANIFEST_DIR}' }",
        ] {
            let plan = read(text).expect(text);
            let shown = plan.scenario().to_toml();
            let again = read(&shown).expect(&shown);
            assert_eq!(again.scenario().monitor, plan.scenario().monitor, "{shown}");
            assert!(!shown.contains(env!("CARGO_MANIFEST_DIR")), "{shown}");
            assert!(!format!("{plan:?}").contains(env!("CARGO_MANIFEST_DIR")), "{text}");
        }
        assert_eq!(read("monitor = false").expect("a scenario").scenario().monitor, MonitorSpec::Off);
    }

    #[test]
    fn a_secret_is_filled_in_for_the_exporter_alone() {
        let value = "Bearer ${env.CARGO_PKG_NAME}!";
        assert_eq!(header("Authorization", value).expect("a field").1, "Bearer farfield-scenario!");
        assert_eq!(header("accept", "text/plain").expect("a field").1, "text/plain");
    }

    #[test]
    fn mistakes_have_a_line_and_a_key() {
        let tier = |keys: &str| format!("name = 'x'\n[[monitor.tier]]\n{keys}");
        let exporter = |keys: &str| format!("name = 'x'\n[[monitor.prometheus]]\n{keys}");
        for (text, expected) in [
            ("name = 'x'\nmonitor = 3".to_owned(), "s.toml:2: monitor: "),
            ("name = 'x'\n[monitor]\npdi = 3".to_owned(), "s.toml:3: monitor.pdi: "),
            (tier("name = 'web'"), "s.toml:2: monitor.tier[0]: write one of pid"),
            (tier("name = 'web'\npid = 1\ncommand = 'x'"), "s.toml:2: monitor.tier[0]: write one of pid"),
            (tier("name = ''\npid = 1"), "s.toml:2: monitor.tier[0]: a tier needs a name"),
            (
                tier("name = 'a'\npid = 1\n[[monitor.tier]]\nname = 'a'\npid = 2"),
                "s.toml:2: monitor.tier: two are called",
            ),
            (exporter("url = 'https://h/metrics'"), "s.toml:3: monitor.prometheus[0].url: exporters"),
            (exporter("url = 'http://a:b@h/metrics'"), "s.toml:3: monitor.prometheus[0].url: write no user"),
            (
                exporter("url = 'http://h/'\nheaders = { authorization = 'Bearer x' }"),
                "s.toml:4: monitor.prometheus[0].headers: the value of authorization would stand in the run directory",
            ),
            (
                exporter("url = 'http://h/'\nheaders = { authorization = '${env.NOT_SET_BY_ANYBODY}' }"),
                "s.toml:4: monitor.prometheus[0].headers: the environment has no `NOT_SET_BY_ANYBODY`",
            ),
            ("plane = 'simulated'\n[monitor]\npid = 3".to_owned(), "s.toml:2: monitor: the simulated plane"),
        ] {
            let sentence = read(&text).expect_err(&text);
            assert!(sentence.starts_with(expected), "`{expected}` does not begin: {sentence}");
        }
        assert!(!read(&exporter("url = 'http://a:b@h/metrics'")).expect_err("refused").contains("a:b"));
    }
}
