//! The times in which changes let nothing through: those in which a server may be silent for no fault of its
//! own.

use super::{PlannedChange, Target};
use crate::network::NetworkSpec;
use farfield_base::Instant;
use farfield_net::LinkChange;
use farfield_net::loss::LossSpec;
use std::collections::BTreeMap;

type Span = (Instant, Instant);

/// The times in which a link loses everything: one that has a name, or those of all classes that have
/// clients of their own. A class that is cut off while others are not leaves the server to be heard.
pub(super) fn outages(targets: &BTreeMap<Target, Vec<PlannedChange>>, spec: &NetworkSpec) -> Vec<Span> {
    let mut of_links = Vec::new();
    let mut of_classes: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
    for (target, own) in targets {
        match target {
            Target::Class { class, .. } => of_classes.entry(*class).or_default().extend(losing_all(own)),
            Target::Link(_) => of_links.extend(losing_all(own)),
        }
    }
    let has_clients = |class: &usize| spec.class.get(*class).is_none_or(|class| class.share > 0.0);
    let classes = (0..spec.class.len().max(1)).filter(has_clients);
    let of_class = |class| merged(of_classes.remove(&class).unwrap_or_default());
    of_links.extend(classes.map(of_class).reduce(|one, other| in_both(&one, &other)).unwrap_or_default());
    merged(of_links)
}

/// The times in which these links lose everything, in order.
fn losing_all(own: &[PlannedChange]) -> Vec<Span> {
    let losses: Vec<(&LinkChange, LossSpec)> =
        own.iter().filter_map(|own| Some((&own.change, own.change.to.loss?))).collect();
    let next = losses.iter().skip(1).map(|(change, _)| change.at).chain([Instant::MAX]);
    let span = |((change, loss), next): (&(&LinkChange, LossSpec), Instant)| {
        let is_all = loss.loss().loss_rate() >= 1.0;
        is_all.then(|| (change.at + change.over, change.back_at.unwrap_or(next)))
    };
    losses.iter().zip(next).filter_map(span).collect()
}

/// The times of any of `spans`, in order and none touching another.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The times that are both in one and in the other, which are in order each.
fn in_both(one: &[Span], other: &[Span]) -> Vec<Span> {
    let (mut of_one, mut of_other) = (one.iter().peekable(), other.iter().peekable());
    let mut both = Vec::new();
    while let (Some(one), Some(other)) = (of_one.peek(), of_other.peek()) {
        let (from, to) = (one.0.max(other.0), one.1.min(other.1));
        if from < to {
            both.push((from, to));
        }
        if one.1 <= other.1 {
            of_one.next();
        } else {
            of_other.next();
        }
    }
    both
}
