//! The times in which changes let nothing through, whichever client it is for: those in which servers may be
//! silent for no fault of their own.

use farfield_base::Instant;
use farfield_emulator::NetworkPlan;
use farfield_net::LinkModel;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Span = (Instant, Instant);

/// The class of a client, and its route.
type Place = (u16, u32);

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
    let place = |client: usize| (network.clients[client].class, network.clients[client].route);
    let moves: BTreeMap<usize, Instant> =
        network.moves.iter().map(|own| (own.client.index(), own.at)).collect();
    // A client's place, and the one that it moves to.
    let move_of = |client: usize| moves.get(&client).map(|at| (*at, place(client + network.acting())));
    let kinds: BTreeSet<_> = (0..network.acting()).map(|client| (place(client), move_of(client))).collect();
    let of_kind = |(class, route): Place| {
        let mut spans = of_classes[usize::from(class)].clone();
        let route = &network.routes[route as usize];
        for link in route.up.iter().chain(&route.down).filter_map(|hop| hop.link) {
            spans.extend(&of_shared[link.index()]);
        }
        merged(spans)
    };
    let of_client = |(first, moves): (Place, Option<(Instant, Place)>)| {
        let Some((at, then)) = moves else { return of_kind(first) };
        let until = of_kind(first).into_iter().map(|(from, to)| (from, to.min(at)));
        let from = of_kind(then).into_iter().map(|(from, to)| (from.max(at), to));
        merged(until.chain(from).filter(|(from, to)| from < to).collect())
    };
    kinds.into_iter().map(of_client).reduce(|one, other| in_both(&one, &other)).unwrap_or_default()
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
