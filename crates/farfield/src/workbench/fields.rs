//! The fields of the form: which keys it has, how each is filled in, and when it applies.

use crate::help::reference;
use serde_json::{Value, json};

/// The way in which a field is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A text; a quantity with its unit is one.
    Text,
    /// A whole number.
    Number,
    /// One of several values.
    Choice(&'static [&'static str]),
    /// A plain value, or a distribution with its parameters.
    Distribution,
    /// Texts, one a line.
    Lines,
    /// Requests, one a line: `[METHOD] PATH [weight]`.
    Paths,
    /// Classes of clients, a row each.
    Classes,
}

/// A field.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The field's key in the scenario.
    pub key: &'static str,
    /// The field's name in the form.
    pub label: &'static str,
    pub kind: FieldKind,
    /// An example, or the default.
    pub example: &'static str,
    /// A key and its values for which the field applies; always, if empty.
    pub when: (&'static str, &'static [&'static str]),
}

const ALWAYS: (&str, &[&str]) = ("", &[]);
const NETWORK: (&str, &[&str]) = ("plane", &["emulated", "simulated"]);

const fn field(
    key: &'static str,
    label: &'static str,
    kind: FieldKind,
    example: &'static str,
    when: (&'static str, &'static [&'static str]),
) -> Field {
    Field { key, label, kind, example, when }
}

/// The access links of clients.
pub const ACCESS: &[&str] = crate::flags::ACCESS;

/// The parts of the form with their fields.
pub const PARTS: [(&str, &[Field]); 5] = [
    (
        "Server",
        &[
            field("name", "Name", FieldKind::Text, "checkout", ALWAYS),
            field(
                "plane",
                "Plane",
                FieldKind::Choice(&["sockets", "emulated", "simulated"]),
                "sockets",
                ALWAYS,
            ),
            field("target", "URL", FieldKind::Text, "the built-in server", ALWAYS),
            field(
                "http",
                "HTTP version",
                FieldKind::Choice(&["auto", "1.0", "1.1", "2", "3"]),
                "auto: 1.1 over http",
                ALWAYS,
            ),
            field("server.command", "Command that starts it", FieldKind::Text, "", ("plane", &["emulated"])),
            field(
                "connections.policy",
                "Connections",
                FieldKind::Choice(crate::flags::POLICIES),
                "persistent",
                ALWAYS,
            ),
            field("connections.parallel", "Connections of a user at once", FieldKind::Number, "1", ALWAYS),
        ],
    ),
    (
        "Load",
        &[
            field(
                "load.model",
                "Model",
                FieldKind::Choice(&["closed", "open", "hybrid", "overload"]),
                "closed",
                ALWAYS,
            ),
            field("load.users", "Users", FieldKind::Number, "10", ("load.model", &["", "closed"])),
            field("load.arrivals", "Arrivals", FieldKind::Text, "500/s", ("load.model", &["open", "hybrid"])),
            field(
                "load.stages",
                "Stages, instead of one level",
                FieldKind::Text,
                "",
                ("load.model", &["", "closed", "open", "hybrid"]),
            ),
            field(
                "load.requests",
                "Pages of a session",
                FieldKind::Distribution,
                "",
                ("load.model", &["hybrid"]),
            ),
            field(
                "load.think",
                "Think time",
                FieldKind::Distribution,
                "0s",
                ("load.model", &["", "closed", "hybrid"]),
            ),
            field("load.descriptors", "Descriptors", FieldKind::Number, "100", ("load.model", &["overload"])),
            field(
                "load.timeout",
                "Timeout of an attempt",
                FieldKind::Text,
                "500ms",
                ("load.model", &["overload"]),
            ),
        ],
    ),
    (
        "Clients and their paths",
        &[
            field("network.clients", "Clients", FieldKind::Number, "1000", NETWORK),
            field("network.rtt", "Round-trip time", FieldKind::Text, "50ms", NETWORK),
            field("network.access", "Access link", FieldKind::Choice(ACCESS), "none", NETWORK),
            field("network.class", "Classes of clients", FieldKind::Classes, "", NETWORK),
        ],
    ),
    ("Requests", &[field("requests.request", "Paths", FieldKind::Paths, "/index.html", ALWAYS)]),
    (
        "Run",
        &[
            field("run.warm-up", "Warm-up", FieldKind::Text, "1s", ALWAYS),
            field("run.duration", "Duration", FieldKind::Text, "10s", ALWAYS),
            field("run.drain", "Drain", FieldKind::Text, "5s", ALWAYS),
            field("thresholds", "Thresholds", FieldKind::Lines, "p99<200ms", ALWAYS),
            field("seed", "Seed", FieldKind::Number, "1", ALWAYS),
        ],
    ),
];

/// Distributions with their parameters.
const DISTRIBUTIONS: [(&str, &[&str]); 10] = [
    ("constant", &["value"]),
    ("uniform", &["min", "max"]),
    ("exponential", &["mean"]),
    ("normal", &["mean", "sigma"]),
    ("lognormal", &["mu", "sigma"]),
    ("weibull", &["shape", "scale"]),
    ("pareto", &["shape", "scale"]),
    ("gamma", &["shape", "scale"]),
    ("bounded-pareto", &["shape", "min", "max"]),
    ("geometric", &["mean"]),
];

/// All fields.
pub fn all() -> impl Iterator<Item = &'static Field> {
    PARTS.iter().flat_map(|(_, fields)| fields.iter())
}

/// The help on a key for a user of the form: what docs/scenario.md says, or of keys that the page describes
/// in whole paragraphs, a summary of these.
fn help_of(key: &str, help: &std::collections::BTreeMap<String, String>) -> String {
    let described = match key {
        "load.model" => {
            "closed: users who come back when they are answered; open: pages are requested when they arrive, whatever the \
             server does; hybrid: sessions arrive openly, within a session each page waits for the one before; overload: \
             descriptors keep trying to connect"
        }
        "load.users" => {
            "number of users of a closed load; each requests a page, waits for it, thinks, and requests the next"
        }
        "load.arrivals" => {
            "the rate of a Poisson process, such as 500/s, or a table { process = \"constant\", rate = \"500/s\" }"
        }
        "load.stages" => {
            "users over time, 1m:100,5m:100,1m:0, or the rate of arrivals: 1m:50/s,1m:0/s; each stage is a time and the \
             level at its end"
        }
        "load.requests" => "pages of a session, a distribution of counts",
        "load.think" => {
            "time from the end of a page to the start of the user's next, a distribution of times"
        }
        "load.descriptors" => "D descriptors keep trying to connect; the attempt rate is D/T",
        "load.timeout" => "an attempt that is not answered within T is dropped without notice to the server",
        "thresholds" => {
            "conditions that the result is compared with, one a line: p99<200ms, errors<0.1%; a class or a state in \
                         braces, p99{dsl}<800ms"
        }
        "requests.request" => {
            "one [METHOD] PATH a line, with a weight behind it if requests are not equally frequent: /index.html 9"
        }
        "network.class" => {
            "clients of several kinds: a name, its part of all clients relative to the other classes, its access \
                            link, and the round-trip time behind that"
        }
        key => return help.get(key).cloned().unwrap_or_default(),
    };
    described.to_owned()
}

/// The form, for the page.
pub fn json() -> Value {
    let help = reference::of_keys();
    let field = |field: &Field| {
        let (kind, choices): (&str, &[&str]) = match field.kind {
            FieldKind::Text => ("text", &[]),
            FieldKind::Number => ("number", &[]),
            FieldKind::Choice(choices) => ("choice", choices),
            FieldKind::Distribution => ("distribution", &[]),
            FieldKind::Lines => ("lines", &[]),
            FieldKind::Paths => ("paths", &[]),
            FieldKind::Classes => ("classes", ACCESS),
        };
        json!({
            "key": field.key,
            "label": field.label,
            "kind": kind,
            "choices": choices,
            "example": field.example,
            "when": { "key": field.when.0, "values": field.when.1 },
            "help": help_of(field.key, &help),
        })
    };
    let parts = PARTS.iter().map(
        |(title, fields)| json!({ "title": title, "fields": fields.iter().map(field).collect::<Vec<_>>() }),
    );
    let distributions =
        DISTRIBUTIONS.iter().map(|(name, parameters)| json!({ "name": name, "parameters": parameters }));
    json!({ "parts": parts.collect::<Vec<_>>(), "distributions": distributions.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A choice shows its example as `default (…)`.
    #[test]
    fn choices_say_what_the_default_is() {
        let scenario = farfield_scenario::Scenario::default();
        let scenario = serde_json::to_value(scenario).expect("JSON");
        for field in all() {
            let FieldKind::Choice(choices) = field.kind else { continue };
            let value = field.key.split('.').try_fold(&scenario, |value, key| value.get(key));
            let shown = field.example.split(':').next().unwrap_or_default();
            // Clients have no access link where there is no network, which is the default and no choice.
            let default = value.and_then(Value::as_str);
            assert_eq!(shown, default.unwrap_or("none"), "{}", field.key);
            assert!(default.is_none() || choices.contains(&shown), "{}: {shown}", field.key);
        }
    }

    #[test]
    fn each_field_has_help() {
        let help = reference::of_keys();
        for field in all() {
            assert!(help_of(field.key, &help).len() > 15, "{}: {:?}", field.key, help_of(field.key, &help));
        }
    }
}
