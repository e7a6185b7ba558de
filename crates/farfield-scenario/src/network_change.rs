//! `[[network.change]]`: conditions that change while a run goes on, put on the links that are laid out.
//!
//! Each entry names links by whose they are: a class of clients, a server beside the first, a link that
//! clients share or one of a topology. Repeats are written out here, and the run is cut where conditions
//! change, so that each part has figures of its own.

mod outages;
mod parts_of_run;
mod words;

use crate::mistake::Mistake;
use crate::network::NetworkSpec;
use crate::run::RunSpec;
use farfield_base::{Duration, Instant, StageSpan, Window};
use farfield_emulator::layout::Layout;
use farfield_net::course::{PIECES_MOST, RAMP_MOST};
use farfield_net::{LinkChange, LinkChangeSpec, LinkModel, LinkName, Topology};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

pub(crate) use parts_of_run::PartsOfRun;

/// Times that an entry without `times` is repeated in a network whose end is not known.
const REPEATS_WITHOUT_END: u32 = 10_000;

/// `[[network.change]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChangeSpec {
    /// Begin of the change, from the start of the run on.
    pub at: Duration,
    /// Time in which the new values are come to along a straight line; a step if absent.
    #[serde(default, skip_serializing_if = "is_step")]
    pub over: Duration,
    /// Time after which the values before it come back; they stay if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "for")]
    pub lasts: Option<Duration>,
    /// Time from one such change to the next; it is made once if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// Number of such changes; as many as there is time for if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<NonZeroU32>,
    /// The class whose clients' own links change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The server beside the first whose own link changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The link of several clients, or of a topology, that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkName>,
    /// Round trip of the links of a class or a server, half of it each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// New values of the link towards the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<LinkChangeSpec>,
    /// New values of the link from the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<LinkChangeSpec>,
    /// New values of a class's second link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<PathChangeSpec>,
    /// New values of `link`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<LinkChangeSpec>,
}

fn is_step(over: &Duration) -> bool {
    over.is_zero()
}

/// New values of a link in both directions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PathChangeSpec {
    /// Round trip, half of it each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Towards the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<LinkChangeSpec>,
    /// From the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<LinkChangeSpec>,
}

/// One direction of links that change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A class's clients' own links, by the class's place: the first or the second, up or down.
    Class { class: usize, is_core: bool, is_up: bool },
    /// A link by its name.
    Link(LinkName),
}

/// A change of one direction of links, at one instant.
#[derive(Debug, Clone)]
struct PlannedChange {
    /// The key of the values.
    key: String,
    change: LinkChange,
}

/// All changes, by what they change, in order of their instants.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    targets: BTreeMap<Target, Vec<PlannedChange>>,
    conditions: Vec<StageSpan>,
}

/// The end of a network's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The end of the run.
    At(Instant),
    /// The end is not known: a shell, a route, a run of so many requests.
    Unknown,
}

impl End {
    /// The end of a network's time in `run`, unless it `is_endless` as that of a shell, a route or a path.
    pub(crate) fn of(run: &RunSpec, is_endless: bool) -> End {
        let by_count = run.requests.is_some() || run.sessions.is_some();
        let length = run.measured_part();
        if is_endless || by_count && length >= Window::BY_COUNT {
            return End::Unknown;
        }
        End::At(run.measured_from() + length + run.cool_down)
    }
}

impl Changes {
    /// The changes that `spec` has, for a network that is measured from `measured_from` on and ends at `end`.
    ///
    /// # Errors
    /// The first mistake: a name that nothing has, an instant past the end, an entry that changes nothing.
    pub fn of(spec: &NetworkSpec, measured_from: Instant, end: End) -> Result<Changes, Mistake> {
        let mut changes = Changes::default();
        let mut marks: BTreeMap<Instant, Vec<String>> = BTreeMap::new();
        for (place, own) in spec.change.iter().enumerate() {
            let key = format!("network.change[{place}]");
            let moments = moments(&key, own, end)?;
            let parts = parts(&key, own, spec)?;
            let [to, back] = [words::new_values(own, spec), words::values_before(own, spec)];
            for LinkChange { at, over, back_at, .. } in &moments {
                let mut mark = |at: Instant, words: String| marks.entry(at).or_default().push(words);
                let mut mark_both_ends = |at: Instant, words: &str| match over.is_zero() {
                    true => mark(at, words.to_owned()),
                    false => {
                        mark(at, format!("{words} begins"));
                        mark(at + *over, format!("{words} reached"));
                    }
                };
                mark_both_ends(*at, &to);
                if let Some(at) = back_at {
                    mark_both_ends(*at, &back);
                }
            }
            for (target, own_key, to) in parts {
                let change = |moment: &LinkChange| PlannedChange {
                    key: own_key.clone(),
                    change: LinkChange { to: to.clone(), ..moment.clone() },
                };
                changes.targets.entry(target).or_default().extend(moments.iter().map(change));
            }
        }
        for own in changes.targets.values_mut() {
            own.sort_by_key(|own| own.change.at);
            if own.len() > PIECES_MOST {
                let sentence = format!("this changes more than {PIECES_MOST} times; repeat fewer times");
                return Err(Mistake::at(own[0].key.clone(), sentence));
            }
        }
        changes.conditions = parts_of_run::conditions(&marks, measured_from, end);
        Ok(changes)
    }

    /// Puts changes on the links of a topology.
    ///
    /// # Errors
    /// If a link is not there, or cannot change so.
    pub fn put_on_topology(&mut self, topology: &mut Topology<Arc<LinkModel>>) -> Result<(), Mistake> {
        let named: Vec<(LinkName, _)> = topology
            .edges()
            .map(|(id, edge)| {
                let name = |node| topology.node(node).name.clone();
                (LinkName::Between { from: name(edge.from), to: name(edge.to) }, id)
            })
            .collect();
        for (target, own) in std::mem::take(&mut self.targets) {
            let Target::Link(name) = &target else { continue };
            let link = named.iter().find(|(other, _)| other == name);
            let Some((_, id)) = link else {
                let sentence = format!("there is no link `{name}` in the topology; name one of its `links`");
                return Err(Mistake::at(entry_of(&own[0].key, "link"), sentence));
            };
            let model = topology.link_mut(*id);
            *model = changing(model, &own)?;
        }
        Ok(())
    }

    /// Puts changes on the links of classes, of servers, and of all clients. Returns the parts of the run
    /// between changes, and its outages; none without changes.
    ///
    /// # Errors
    /// If a link is not there, or cannot change so.
    pub fn put_on_layout(self, layout: &mut Layout) -> Result<PartsOfRun, Mistake> {
        for (target, own) in self.targets {
            let network = &mut layout.network;
            let model = match &target {
                Target::Class { class, is_core, is_up } => {
                    let class = &mut network.classes[*class];
                    let links = if *is_up { &mut class.up } else { &mut class.down };
                    // The client's end is the first on the way up, and the last on the way down.
                    let far = if *is_up { links.len().checked_sub(1) } else { Some(0) };
                    let near = if *is_up { Some(0) } else { links.len().checked_sub(1) };
                    let place = if *is_core { far.filter(|_| links.len() > 1) } else { near };
                    place.and_then(|place| links.get_mut(place))
                }
                Target::Link(name) => {
                    let place = layout.links.iter().position(|other| other == name);
                    place.map(|place| &mut network.shared[place])
                }
            };
            let Some(model) = model else {
                let key = &own[0].key;
                return Err(match target {
                    Target::Class { .. } => {
                        Mistake::at(key.clone(), "the class has no `core`; write one in it")
                    }
                    Target::Link(LinkName::SharedUp | LinkName::SharedDown) => {
                        Mistake::at(entry_of(key, "link"), "no link is shared; write `network.shared`")
                    }
                    Target::Link(name) => {
                        let sentence =
                            format!("there is no link `{name}`; give the server one, or name another");
                        Mistake::at(key.clone(), sentence)
                    }
                });
            };
            *model = changing(model, &own)?;
        }
        layout.measure_round_trips();
        Ok(PartsOfRun { conditions: self.conditions, outages: outages::outages(&layout.network) })
    }
}

/// The key of an entry's value `part`, for the key of another of its values.
fn entry_of(key: &str, part: &str) -> String {
    let entry = key.split_once(']').map_or(key, |(entry, _)| entry);
    format!("{entry}].{part}")
}

fn changing(model: &LinkModel, own: &[PlannedChange]) -> Result<Arc<LinkModel>, Mistake> {
    let changes: Vec<LinkChange> = own.iter().map(|own| own.change.clone()).collect();
    let model = model.changing(&changes);
    model.map(Arc::new).map_err(|error| Mistake::at(format!("{}.{}", own[error.nth].key, error.key), error))
}

/// The instants of an entry, with nothing to change yet.
fn moments(key: &str, own: &ChangeSpec, end: End) -> Result<Vec<LinkChange>, Mistake> {
    let refuse = |part: &str, sentence: String| Err(Mistake::at(format!("{key}.{part}"), sentence));
    let ChangeSpec { at, over, lasts, every, times, .. } = *own;
    if let Some(lasts) = lasts
        && (lasts < over || lasts.is_zero())
    {
        return refuse(
            "for",
            format!("after {lasts} it is not there yet, for it takes `over` {over}; write a longer time"),
        );
    }
    if times.is_some() && every.is_none() {
        return refuse(
            "times",
            "without `every` nothing is repeated; write how often, such as every = \"15s\"".to_owned(),
        );
    }
    if over > RAMP_MOST {
        return refuse("over", format!("a ramp takes {RAMP_MOST} at most; write a shorter time"));
    }
    if every.is_some_and(Duration::is_zero) {
        return refuse("every", "0s is no time between changes; write one such as \"15s\"".to_owned());
    }
    let first = Instant::ZERO + at;
    // An instant that is counted as the last of all is later than clocks go.
    let past = |at: Instant| at == Instant::MAX || matches!(end, End::At(end) if at >= end);
    if past(first) {
        let sentence = match end {
            End::At(end) => format!(
                "the run has ended by {at}: it lasts {} with its warm-up; write an earlier instant, or a longer `run.duration`",
                end.since(Instant::ZERO)
            ),
            End::Unknown => "no run lasts as long as that; write an earlier instant".to_owned(),
        };
        return refuse("at", sentence);
    }
    let most = match (times, end) {
        (Some(times), _) => times.get(),
        (None, End::At(_)) => u32::MAX,
        (None, End::Unknown) => REPEATS_WITHOUT_END,
    };
    // One more than a link keeps: that there are too many is said where links are known.
    let count = if every.is_some() { most.min(PIECES_MOST as u32 + 1) } else { 1 };
    let mut moments = Vec::new();
    for nth in 0..count {
        let at = first + every.unwrap_or_default().times(nth.into());
        if past(at) {
            if times.is_some() {
                let sentence = match end {
                    End::At(end) => format!(
                        "the run has ended before the last of {most}, it lasts {} with its warm-up; write fewer, or a longer `run.duration`",
                        end.since(Instant::ZERO)
                    ),
                    End::Unknown => format!("no run lasts until the last of {most}; write fewer"),
                };
                return refuse("times", sentence);
            }
            break;
        }
        let back_at = lasts.map(|lasts| at + lasts).filter(|at| *at < Instant::MAX);
        moments.push(LinkChange { at, over, back_at, to: LinkChangeSpec::default() });
    }
    Ok(moments)
}

/// The links of an entry, each with the key of its values, and these.
fn parts(
    key: &str,
    own: &ChangeSpec,
    spec: &NetworkSpec,
) -> Result<Vec<(Target, String, LinkChangeSpec)>, Mistake> {
    let refuse = |part: &str, sentence: &str| Err(Mistake::at(format!("{key}.{part}"), sentence));
    if let Some(link) = &own.link {
        if let Some(part) = beside_link(own) {
            return refuse(part, "the values of a `link` are in `set`; remove this key");
        }
        let set = own.set.clone().filter(|set| *set != LinkChangeSpec::default());
        let Some(set) = set else {
            return Err(Mistake::at(
                key,
                "this changes nothing; write `set`, such as set = { rate = \"1Mbit\" }",
            ));
        };
        check_values(&format!("{key}.set"), &set)?;
        return Ok(vec![(Target::Link(link.clone()), format!("{key}.set"), set)]);
    }
    if own.set.is_some() {
        return refuse("set", "these are the values of a `link`; name one, or write `up` and `down`");
    }
    let is_drawn = spec.topology.is_some() || spec.backbone.is_some();
    if is_drawn {
        let sentence = "links are those of the topology; name one with `link`, and write `set`";
        return Err(Mistake::at(key, sentence));
    }
    let target: Box<dyn Fn(bool, bool) -> Target> = match (&own.class, &own.server) {
        (Some(_), Some(_)) => {
            return refuse("server", "one entry changes a class or a server; write two entries");
        }
        (None, Some(server)) => {
            if !spec.server.iter().any(|other| other.name == *server) {
                let names: Vec<&str> = spec.server.iter().map(|own| own.name.as_str()).collect();
                let there = if names.is_empty() {
                    "none beside that of `[server]`".to_owned()
                } else {
                    names.join(", ")
                };
                return refuse("server", &format!("there is no server `{server}`; there are {there}"));
            }
            if own.core.is_some() {
                return refuse("core", "a server has one link; write `up` and `down`");
            }
            let ends = ("network".to_owned(), server.clone());
            Box::new(move |_, is_up| {
                let (from, to) = if is_up { ends.clone() } else { (ends.1.clone(), ends.0.clone()) };
                Target::Link(LinkName::Between { from, to })
            })
        }
        (class, None) => {
            let class = place_of(class.as_deref(), spec)
                .map_err(|sentence| Mistake::at(format!("{key}.class"), sentence))?;
            Box::new(move |is_core, is_up| Target::Class { class, is_core, is_up })
        }
    };
    let core = own.core.clone().unwrap_or_default();
    let mut parts = directions(key, false, (own.rtt, own.up.clone(), own.down.clone()), &*target)?;
    parts.extend(directions(&format!("{key}.core"), true, (core.rtt, core.up, core.down), &*target)?);
    if parts.is_empty() {
        let sentence =
            "this changes nothing; write `rtt`, `up` or `down`, such as down = { rate = \"1Mbit\" }";
        return Err(Mistake::at(key, sentence));
    }
    Ok(parts)
}

/// The first key that is not of an entry with `link`.
fn beside_link(own: &ChangeSpec) -> Option<&'static str> {
    let written = [
        ("class", own.class.is_some()),
        ("server", own.server.is_some()),
        ("rtt", own.rtt.is_some()),
        ("up", own.up.is_some()),
        ("down", own.down.is_some()),
        ("core", own.core.is_some()),
    ];
    written.into_iter().find(|(_, is_written)| *is_written).map(|(key, _)| key)
}

/// The place of a class; that of the only class if none is named.
fn place_of(class: Option<&str>, spec: &NetworkSpec) -> Result<usize, String> {
    let names: Vec<&str> = match &spec.class[..] {
        [] => vec!["clients"],
        classes => classes.iter().map(|class| class.name.as_str()).collect(),
    };
    match class {
        None if names.len() == 1 => Ok(0),
        None => Err(format!("name the class that changes; there are {}", names.join(", "))),
        Some(class) => names
            .iter()
            .position(|name| *name == class)
            .ok_or_else(|| format!("there is no class `{class}`; there are {}", names.join(", "))),
    }
}

/// Refuses values that leave a link as it is.
fn check_values(key: &str, values: &LinkChangeSpec) -> Result<(), Mistake> {
    let alone = LinkChangeSpec { reorder: true, ..LinkChangeSpec::default() };
    if *values == alone {
        let sentence =
            "packets overtake others where a delay becomes shorter; write a `delay` beside `reorder`";
        return Err(Mistake::at(format!("{key}.reorder"), sentence));
    }
    Ok(())
}

type Directions = (Option<Duration>, Option<LinkChangeSpec>, Option<LinkChangeSpec>);

/// The two directions of a link, as far as they change.
fn directions(
    key: &str,
    is_core: bool,
    (rtt, up, down): Directions,
    target: &dyn Fn(bool, bool) -> Target,
) -> Result<Vec<(Target, String, LinkChangeSpec)>, Mistake> {
    let delayed = |link: &Option<LinkChangeSpec>| link.as_ref().is_some_and(|link| link.delay.is_some());
    if rtt.is_some() && (delayed(&up) || delayed(&down)) {
        let sentence = "a direction has a `delay` of its own; remove that or `rtt`";
        return Err(Mistake::at(format!("{key}.rtt"), sentence));
    }
    let half = rtt.map(|rtt| Duration::from_ns(rtt.as_ns() / 2));
    let mut parts = Vec::new();
    for (is_up, written, delay) in
        [(true, up, half), (false, down, rtt.zip(half).map(|(rtt, half)| rtt - half))]
    {
        let mut values = written.clone().unwrap_or_default();
        values.delay = values.delay.or(delay);
        if values == LinkChangeSpec::default() {
            continue;
        }
        let name = if is_up { "up" } else { "down" };
        // A key that is not written has no line; its `rtt` has.
        let own_key = if written.is_some() { format!("{key}.{name}") } else { key.to_owned() };
        check_values(&own_key, &values)?;
        parts.push((target(is_core, is_up), own_key, values));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
