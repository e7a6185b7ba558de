//! The times in which changes let nothing through, whichever client it is for: those in which servers may be
//! silent for no fault of their own.

use farfield_base::Instant;
use farfield_emulator::NetworkPlan;
use farfield_net::LinkModel;
use std::collections::BTreeSet;
use std::sync::Arc;

type Span = (Instant, Instant);

/// The times in which every client is cut off, since a link on its way to its server or back loses
/// everything. While others are not, a server is to be heard.
pub(super) fn outages(network: &NetworkPlan) -> Vec<Span> {
    let of_links = |links: &mut dyn Iterator<Item = &Arc<LinkModel>>| -> Vec<Span> {
        links.flat_map(|link| link.total_losses()).collect()
    };
    let of_shared: Vec<Vec<Span>> =
        network.shared.iter().map(|link| of_links(&mut std::iter::once(link))).collect();
    let of_classes: Vec<Vec<Span>> =
        network.classes.iter().map(|class| of_links(&mut class.up.iter().chain(&class.down))).collect();
    if of_shared.iter().chain(&of_classes).all(Vec::is_empty) {
        return Vec::new();
    }
    let acting = &network.clients[..network.acting()];
    let kinds: BTreeSet<(u16, u32)> = acting.iter().map(|client| (client.class, client.route)).collect();
    let of_kind = |(class, route): (u16, u32)| {
        let mut spans = of_classes[usize::from(class)].clone();
        let route = &network.routes[route as usize];
        for link in route.up.iter().chain(&route.down).filter_map(|hop| hop.link) {
            spans.extend(&of_shared[link.index()]);
        }
        merged(spans)
    };
    kinds.into_iter().map(of_kind).reduce(|one, other| in_both(&one, &other)).unwrap_or_default()
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
