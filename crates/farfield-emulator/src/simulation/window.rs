//! Windows: how far each partition may go before it must wait for the others.
//!
//! A packet takes at least `u` from the client that sends it to the end of the client's own links, where the
//! hub takes it over, and at least `d` over the last shared link on its way back. In window `k` clients go
//! through `[kL, (k+1)L)` and the hub through `[kL + D, (k+1)L + D)`. What clients send in it comes after the
//! hub's window if `u ≥ L + D`, and what the hub sends after theirs if `D + d ≥ L`. Both hold for `L ≤ (u +
//! d) / 2` and `D = u − L`: the delay of both directions is shared, so that one of them may be zero.
//!
//! Where there is a *far side*, packets go from clients to the hub (`u`), over the first link away from the
//! server to the far side (`a`), and over the last shared link to clients (`d`). The far side goes through
//! `[kL + F, (k+1)L + F)`, and in the same way `u ≥ L + D`, `D + a ≥ L + F` and `F + d ≥ L`: `L ≤ (u + a + d)
//! / 3`, `D = u − L`, `F = L − d`.
//!
//! Windows lie on this grid whatever happens; empty ones are skipped. Where they lie depends on nothing but
//! the plan.

use crate::plan::{HopPlan, NetworkPlan};
use farfield_base::{Duration, Instant};
use farfield_net::LinkModel;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Longer windows would only make more packets wait to be handed over.
const LENGTH_MAX: Duration = Duration::from_ms(4);

/// The grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    length: Duration,
    /// `u`: from the clients' window's start to the end of the hub's.
    up: Duration,
    /// `d` of the far side, if there is one.
    far: Option<Duration>,
}

impl Windows {
    /// The grid for this network; `None` if packets may go there and back in no time.
    pub fn of(network: &NetworkPlan) -> Option<Windows> {
        let own = |models: &[Arc<LinkModel>]| {
            models.iter().fold(Duration::ZERO, |sum, model| sum + model.propagation())
        };
        let up = network.classes.iter().map(|class| own(&class.up)).min().unwrap_or_default();
        let over = |hop: Option<&HopPlan>| match hop.and_then(|hop| hop.link) {
            Some(link) => network.shared[link.index()].propagation(),
            None => Duration::ZERO,
        };
        let least = |delays: &mut dyn Iterator<Item = Duration>| delays.min();
        let routes = || network.routes.iter();
        let down = least(&mut routes().map(|route| over(route.down.last()))).unwrap_or_default();
        let whole = Windows::new(up, down);
        let (near, far): (Vec<_>, Vec<_>) = routes().partition(|route| route.down.len() < 2);
        if far.is_empty() || !can_part(network) {
            return whole;
        }
        let across = least(&mut far.iter().map(|route| over(route.down.first()))).unwrap_or_default();
        let down = least(&mut far.iter().map(|route| over(route.down.last()))).unwrap_or_default();
        let direct = least(&mut near.iter().map(|route| over(route.down.last())));
        let parted = Windows::parted(up, across, down, direct);
        parted.filter(|parted| whole.is_none_or(|whole| parted.length >= whole.length)).or(whole)
    }

    /// The grid with a far side, for least delays `up` from clients to the hub, `across` from there to the
    /// far side and `down` to the clients, and `direct` from the hub to clients that have no far side. `None`
    /// if they make up less than 3 ns.
    pub fn parted(
        up: Duration,
        across: Duration,
        down: Duration,
        direct: Option<Duration>,
    ) -> Option<Windows> {
        let third = Duration::from_ns((up + across + down).as_ns() / 3);
        let half = direct.map_or(Duration::MAX, |direct| Duration::from_ns((up + direct).as_ns() / 2));
        let length = third.min(half).min(LENGTH_MAX);
        (!length.is_zero()).then_some(Windows { length, up, far: Some(down) })
    }

    /// The grid for least delays `up` from clients to the hub and `down` back; `None` if they make up less
    /// than 2 ns.
    pub fn new(up: Duration, down: Duration) -> Option<Windows> {
        let half = Duration::from_ns((up + down).as_ns() / 2);
        let length = half.min(LENGTH_MAX);
        if length.is_zero() {
            return None;
        }
        Some(Windows { length, up, far: None })
    }

    /// The length of a window.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// The beginning of clients' window `k`.
    pub fn start(&self, k: u64) -> Instant {
        Instant::ZERO + self.length.times(k)
    }

    /// The end of clients' window `k`.
    pub fn clients_end(&self, k: u64) -> Instant {
        self.start(k) + self.length
    }

    /// The end of the hub's window `k`.
    pub fn hub_end(&self, k: u64) -> Instant {
        self.start(k) + self.up
    }

    /// True if shared links away from the server are a partition of their own.
    pub fn has_far_side(&self) -> bool {
        self.far.is_some()
    }

    /// The end of the far side's window `k`.
    pub fn far_end(&self, k: u64) -> Instant {
        let down = self.far.unwrap_or_default();
        Instant::from_ns(self.length.times(k.saturating_add(2)).as_ns().saturating_sub(down.as_ns()))
    }

    /// The first window in which the far side has something to do at `at`.
    pub fn of_far(&self, at: Instant) -> u64 {
        let down = self.far.unwrap_or_default();
        (at.as_ns().saturating_add(down.as_ns()) / self.length.as_ns()).saturating_sub(1)
    }

    /// The first window in which a client has something to do at `at`.
    pub fn of_client(&self, at: Instant) -> u64 {
        at.as_ns() / self.length.as_ns()
    }

    /// The first window in which the hub has something to do at `at`.
    pub fn of_hub(&self, at: Instant) -> u64 {
        match at.as_ns().checked_sub(self.up.as_ns()) {
            Some(beyond) => beyond / self.length.as_ns() + 1,
            None => 0,
        }
    }
}

/// True if no link is both a first one away from the server, or one towards it, and a later one away from it.
fn can_part(network: &NetworkPlan) -> bool {
    let links = |hops: &[HopPlan]| hops.iter().filter_map(|hop| hop.link).collect::<Vec<_>>();
    let mut near = BTreeSet::new();
    for route in &network.routes {
        near.extend(links(&route.up));
        near.extend(links(&route.down[..route.down.len().min(1)]));
    }
    network
        .routes
        .iter()
        .all(|route| links(route.down.get(1..).unwrap_or_default()).iter().all(|link| !near.contains(link)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two conditions above, for all pairs of delays.
    #[test]
    fn nothing_comes_before_its_window() {
        let delays = [0, 1, 2, 3, 7, 100_000, 999_999, 1_000_000, 2_000_000, 150_000_000];
        for (up, down) in delays.iter().flat_map(|up| delays.iter().map(move |down| (*up, *down))) {
            let windows = Windows::new(Duration::from_ns(up), Duration::from_ns(down));
            let Some(windows) = windows else {
                assert!(up + down < 2);
                continue;
            };
            for k in [0, 1, 5] {
                let sent = windows.start(k) + Duration::from_ns(up);
                assert!(sent >= windows.hub_end(k), "up {up}, down {down}: too late for the hub");
                let hub_start = if k == 0 { Instant::ZERO } else { windows.hub_end(k - 1) };
                let back = hub_start + Duration::from_ns(down);
                assert!(
                    k == 0 || back >= windows.clients_end(k),
                    "up {up}, down {down}: too late for clients"
                );
            }
            for at in [0, 1, up, 5_000_000] {
                let at = Instant::from_ns(at);
                let (client, hub) = (windows.of_client(at), windows.of_hub(at));
                assert!(windows.start(client) <= at && at < windows.clients_end(client));
                assert!(at < windows.hub_end(hub) && (hub == 0 || at >= windows.hub_end(hub - 1)));
            }
        }
    }

    /// No packet comes before its window with a far side either.
    #[test]
    fn nothing_comes_before_its_window_on_the_far_side() {
        let ns = Duration::from_ns;
        let delays = [0, 1, 2, 7, 100_000, 999_999, 1_000_000, 150_000_000];
        for up in delays {
            for across in delays {
                for down in delays {
                    let direct = (down != 7).then_some(ns(up / 3));
                    let Some(windows) = Windows::parted(ns(up), ns(across), ns(down), direct) else {
                        continue;
                    };
                    for k in [3, 1000] {
                        assert!(windows.start(k) + ns(up) >= windows.hub_end(k));
                        assert!(windows.hub_end(k - 1) + ns(across) >= windows.far_end(k));
                        assert!(windows.far_end(k - 1) + ns(down) >= windows.clients_end(k));
                        let direct = direct.unwrap_or(Duration::MAX);
                        assert!(windows.hub_end(k - 1) + direct >= windows.clients_end(k));
                    }
                    for at in [0, 1, up, 5_000_000] {
                        let at = Instant::from_ns(at);
                        let far = windows.of_far(at);
                        assert!(at < windows.far_end(far) && (far == 0 || at >= windows.far_end(far - 1)));
                    }
                }
            }
        }
    }
}
