//! Changes in words, as results name the parts of a run that they begin.

use super::ChangeSpec;
use crate::network::NetworkSpec;
use farfield_base::Duration;
use farfield_net::loss::{Loss, LossSpec};
use farfield_net::queue::QueueSpec;
use farfield_net::{LinkChangeSpec, Share};
use toml::Value;

/// The new values of an entry: `mobile: down rate 1Mbit, delay 80ms`.
pub(super) fn new_values(own: &ChangeSpec, spec: &NetworkSpec) -> String {
    let rtt = |rtt: Duration| format!("rtt {rtt}");
    format!("{}: {}", whose(own, spec), in_words(own, rtt, values))
}

/// The values that come back behind an entry: `mobile: down rate, delay as before`.
pub(super) fn values_before(own: &ChangeSpec, spec: &NetworkSpec) -> String {
    let keys = |link: &LinkChangeSpec| -> Vec<String> {
        quantities(link).into_iter().map(|(key, _)| key.to_owned()).collect()
    };
    format!("{}: {} as before", whose(own, spec), in_words(own, |_| "rtt".to_owned(), keys))
}

/// The name of what an entry changes.
fn whose(own: &ChangeSpec, spec: &NetworkSpec) -> String {
    match (&own.link, &own.server, &own.class) {
        (Some(link), ..) => link.to_string(),
        (None, Some(server), _) => server.clone(),
        (None, None, Some(class)) => class.clone(),
        (None, None, None) => spec.class.first().map_or("clients", |class| class.name.as_str()).to_owned(),
    }
}

/// The directions of an entry one after the other, each with what `link` says of it.
fn in_words(
    own: &ChangeSpec,
    rtt: impl Fn(Duration) -> String,
    link: impl Fn(&LinkChangeSpec) -> Vec<String>,
) -> String {
    let direction = |name: &str, values: &Option<LinkChangeSpec>| {
        let values = link(values.as_ref()?).join(", ");
        (!values.is_empty()).then(|| format!("{name}{values}"))
    };
    let core = own.core.clone().unwrap_or_default();
    let parts = [
        own.rtt.map(&rtt),
        direction("up ", &own.up),
        direction("down ", &own.down),
        core.rtt.map(|own| format!("core {}", rtt(own))),
        direction("core up ", &core.up),
        direction("core down ", &core.down),
        direction("", &own.set),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn values(link: &LinkChangeSpec) -> Vec<String> {
    let mut words: Vec<String> = quantities(link).into_iter().map(|(_, words)| words).collect();
    words.extend(link.reorder.then(|| "reorder".to_owned()));
    words
}

/// The quantities of a link that change: the key of each, and the new value in words.
fn quantities(link: &LinkChangeSpec) -> Vec<(&'static str, String)> {
    let all = [
        ("rate", link.rate.map(|rate| format!("rate {rate}"))),
        ("delay", link.delay.map(|delay| format!("delay {delay}"))),
        ("loss", link.loss.as_ref().map(loss)),
        ("queue", link.queue.as_ref().map(queue)),
        ("duplicate", link.duplicate.map(|share| format!("duplicate {}", percent(share.as_f64())))),
        ("corrupt", link.corrupt.map(|share| format!("corrupt {}", percent(share.as_f64())))),
    ];
    all.into_iter().filter_map(|(key, words)| Some((key, words?))).collect()
}

fn loss(spec: &LossSpec) -> String {
    let share = spec.loss().loss_rate();
    match spec.loss() {
        _ if share == 0.0 => "no loss".to_owned(),
        Loss::GilbertElliott(..) => format!("loss {} in bursts", percent(share)),
        Loss::None | Loss::Independent(_) | Loss::Ramp(_) | Loss::Outages(_) => {
            format!("loss {}", percent(share))
        }
    }
}

/// The limit of a queue that has nothing else; otherwise its discipline.
fn queue(spec: &QueueSpec) -> String {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    match Value::try_from(spec) {
        Ok(Value::String(limit)) => format!("queue {limit}"),
        Ok(Value::Table(table)) => {
            let discipline = table.get("discipline").and_then(word).unwrap_or_default();
            let limit = table.get("limit").and_then(word).filter(|_| discipline == "drop-tail");
            limit.map_or_else(|| format!("another {discipline} queue"), |limit| format!("queue {limit}"))
        }
        _ => "another queue".to_owned(),
    }
}

/// A share in percent, to a ten-thousandth of one; as it is below that.
fn percent(share: f64) -> String {
    let rounded = (share * 1e6).round() / 1e4;
    match Share::new(share) {
        Ok(share) if rounded == 0.0 && share > Share::NONE => share.to_string(),
        _ => format!("{rounded}%"),
    }
}
