//! The fields of the form: which keys it has, how each is filled in, and when it applies.

mod lists;

pub use lists::SOURCES;

use crate::help::reference;
use lists::{CLASSES, FLOWS, HOSTS};
use serde_json::{Value, json};

/// The way in which a field is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A text; a quantity with its unit is one.
    Text,
    /// A text of several lines.
    Area,
    /// A text that may be a number, a table or a list of TOML.
    Toml,
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
    /// Tables, each with fields of its own.
    Rows(&'static Rows),
}

/// Tables of which a scenario has any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// One of them, in words.
    pub one: &'static str,
    pub layout: RowLayout,
    pub written: RowsWritten,
    /// The load that they make is drawn below them.
    pub is_drawn: bool,
    /// The beginning of keys around them, whose values the first one takes along.
    pub takes: &'static str,
    /// The fields of each, with keys that begin in its table.
    pub fields: &'static [Field],
}

/// The layout of a table among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowLayout {
    /// A line of a table, with a column for each field.
    Line,
    /// A box, with its fields below each other.
    Box,
}

/// The form that tables have in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsWritten {
    /// A list.
    List,
    /// Stages of a load: a list, or the text that is short for one.
    Stages,
    /// Values from a reply: a table of them by their names, in which a key says how each is found.
    Extracts,
}

/// A field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A part of the form.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub title: &'static str,
    /// The key of tables beside which the part does not apply; always, if empty.
    pub without: &'static str,
    pub fields: &'static [Field],
}

const ALWAYS: (&str, &[&str]) = ("", &[]);
const NETWORK: (&str, &[&str]) = ("plane", &["emulated", "simulated"]);
/// The simulated plane has one server.
const SERVERS: (&str, &[&str]) = ("plane", &["", "sockets", "emulated"]);

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
pub const PARTS: [Part; 8] = [
    Part {
        title: "Server",
        without: "",
        fields: &[
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
    },
    Part {
        title: "Hosts beside the target",
        without: "",
        fields: &[field("host", "Hosts", FieldKind::Rows(HOSTS), "", SERVERS)],
    },
    Part {
        title: "Load",
        without: "flow",
        fields: &[
            field(
                "load.model",
                "Model",
                FieldKind::Choice(&["closed", "open", "hybrid", "overload"]),
                "closed",
                ALWAYS,
            ),
            lists::USERS,
            lists::ARRIVALS,
            lists::STAGES,
            lists::PAGES,
            lists::THINK,
            field("load.descriptors", "Descriptors", FieldKind::Number, "100", ("load.model", &["overload"])),
            field(
                "load.timeout",
                "Timeout of an attempt",
                FieldKind::Text,
                "500ms",
                ("load.model", &["overload"]),
            ),
        ],
    },
    Part {
        title: "Flows: users of several kinds side by side",
        without: "",
        fields: &[field("flow", "Flows", FieldKind::Rows(FLOWS), "", ALWAYS)],
    },
    Part { title: "Requests", without: "", fields: &[lists::REQUESTS] },
    Part {
        title: "Session: requests that depend on replies",
        without: "",
        fields: &[lists::STEPS, lists::PATH, lists::SESSION_THINK, lists::ON_FAILURE],
    },
    Part {
        title: "Clients and their paths",
        without: "",
        fields: &[
            field("network.clients", "Clients", FieldKind::Number, "1000", NETWORK),
            field("network.rtt", "Round-trip time", FieldKind::Text, "50ms", NETWORK),
            field("network.access", "Access link", FieldKind::Choice(ACCESS), "none", NETWORK),
            field("network.class", "Classes of clients", FieldKind::Rows(CLASSES), "", NETWORK),
        ],
    },
    Part {
        title: "Run",
        without: "",
        fields: &[
            field("run.warm-up", "Warm-up", FieldKind::Text, "1s", ALWAYS),
            field("run.duration", "Duration", FieldKind::Text, "10s", ALWAYS),
            field("run.drain", "Drain", FieldKind::Text, "5s", ALWAYS),
            field("thresholds", "Thresholds", FieldKind::Lines, "p99<200ms", ALWAYS),
            field("seed", "Seed", FieldKind::Number, "1", ALWAYS),
        ],
    },
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

/// True if the form has the distribution of this name, with its parameters.
pub fn has_distribution(name: &str) -> bool {
    DISTRIBUTIONS.iter().any(|(known, _)| *known == name)
}

/// All fields that are in no list.
pub fn all() -> impl Iterator<Item = &'static Field> {
    PARTS.iter().flat_map(|part| part.fields.iter())
}

/// The help on a key for a user of the form: what docs/scenario.md says, or of keys that the page describes
/// in whole paragraphs, a summary of these. A flow has what the tables of these names have.
fn help_of(key: &str, help: &std::collections::BTreeMap<String, String>) -> String {
    if let Some((_, described)) = lists::HELP.iter().find(|(known, _)| *known == key) {
        return (*described).to_owned();
    }
    match key.strip_prefix("flow.") {
        Some(rest) => help_of(rest, help),
        None => help.get(key).cloned().unwrap_or_default(),
    }
}

/// A field for the page; `within` is the key of the tables that it is in, with a dot, or empty.
fn field_json(field: &Field, within: &str, help: &std::collections::BTreeMap<String, String>) -> Value {
    let key = format!("{within}{}", field.key);
    let (kind, choices): (&str, &[&str]) = match field.kind {
        FieldKind::Text | FieldKind::Toml => ("text", &[]),
        FieldKind::Area => ("area", &[]),
        FieldKind::Number => ("number", &[]),
        FieldKind::Choice(choices) => ("choice", choices),
        FieldKind::Distribution => ("distribution", &[]),
        FieldKind::Lines => ("lines", &[]),
        FieldKind::Paths => ("paths", &[]),
        FieldKind::Rows(_) => ("rows", &[]),
    };
    let mut shown = json!({
        "key": field.key,
        "label": field.label,
        "kind": kind,
        "choices": choices,
        "example": field.example,
        "when": { "key": field.when.0, "values": field.when.1 },
        "help": help_of(&key, help),
    });
    if let FieldKind::Rows(rows) = field.kind {
        let fields = rows.fields.iter().map(|field| field_json(field, &format!("{key}."), help));
        shown["rows"] = json!({
            "one": rows.one,
            "is_line": rows.layout == RowLayout::Line,
            "by_name": rows.written == RowsWritten::Extracts,
            "is_drawn": rows.is_drawn,
            "takes": rows.takes,
            "fields": fields.collect::<Vec<_>>(),
        });
    }
    shown
}

/// The form, for the page.
pub fn json() -> Value {
    let help = reference::of_keys();
    let part = |part: &Part| {
        let fields = part.fields.iter().map(|field| field_json(field, "", &help));
        json!({ "title": part.title, "without": part.without, "fields": fields.collect::<Vec<_>>() })
    };
    let distributions =
        DISTRIBUTIONS.iter().map(|(name, parameters)| json!({ "name": name, "parameters": parameters }));
    json!({
        "parts": PARTS.iter().map(part).collect::<Vec<_>>(),
        "distributions": distributions.collect::<Vec<_>>(),
    })
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

    /// The keys of fields, those in tables too.
    fn keys(fields: &[Field], within: &str) -> Vec<String> {
        let with_inner = |field: &Field| {
            let key = format!("{within}{}", field.key);
            let inner = match field.kind {
                FieldKind::Rows(rows) => keys(rows.fields, &format!("{key}.")),
                _ => Vec::new(),
            };
            std::iter::once(key).chain(inner)
        };
        fields.iter().flat_map(with_inner).collect()
    }

    #[test]
    fn each_field_has_help() {
        let help = reference::of_keys();
        for key in PARTS.iter().flat_map(|part| keys(part.fields, "")) {
            assert!(help_of(&key, &help).len() > 15, "{key}: {:?}", help_of(&key, &help));
        }
    }

    /// A field's condition is on a key that is a field beside it, or around it.
    #[test]
    fn conditions_are_on_fields_that_there_are() {
        fn check(fields: &[Field], around: &[&str]) {
            let mut known: Vec<&str> = around.to_vec();
            known.extend(fields.iter().map(|field| field.key));
            for field in fields {
                let (key, _) = field.when;
                assert!(key.is_empty() || known.contains(&key), "{}: {key}", field.key);
                if let FieldKind::Rows(rows) = field.kind {
                    check(rows.fields, &known);
                }
            }
        }
        let all: Vec<&str> = all().map(|field| field.key).collect();
        for part in PARTS {
            assert!(part.without.is_empty() || all.contains(&part.without), "{}", part.title);
            check(part.fields, &all);
        }
    }
}
