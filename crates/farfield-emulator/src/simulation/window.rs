//! How far each part may go before it must hear from the others.
//!
//! A packet takes at least `u` from the client that sends it to the end of the client's own links, where the hub
//! takes it over, and at least `d` over the last shared link on its way back. In window `k` clients go through
//! `[kL, (k+1)L)` and the hub through `[kL + D, (k+1)L + D)`. What clients send in it comes after the hub's window if
//! `u ≥ L + D`, and what the hub sends after theirs if `D + d ≥ L`. Both hold for `L ≤ (u + d) / 2` and
//! `D = u − L`: the delay of both directions is shared, so that one of them may be zero.
//!
//! Windows lie on this grid whatever happens; empty ones are skipped. Where they lie depends on nothing but the plan.

use crate::plan::NetworkPlan;
use farfield_base::{Duration, Instant};
use farfield_net::LinkModel;
use std::sync::Arc;

/// Longer windows would only make more packets wait to be handed over.
const LENGTH_MAX: Duration = Duration::from_ms(4);

/// The grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    length: Duration,
    /// `u`: from the clients' window's start to the end of the hub's.
    up: Duration,
}

impl Windows {
    /// The grid for this network; `None` if packets may go there and back in no time.
    pub fn of(network: &NetworkPlan) -> Option<Windows> {
        let own = |models: &[Arc<LinkModel>]| {
            models.iter().fold(Duration::ZERO, |sum, model| sum + model.propagation())
        };
        let up = network.classes.iter().map(|class| own(&class.up)).min().unwrap_or_default();
        let last = |hop: &crate::HopPlan| {
            hop.link.map_or(Duration::ZERO, |link| network.shared[link as usize].propagation())
        };
        let down = network.routes.iter().map(|route| route.down.last().map_or(Duration::ZERO, last));
        Windows::new(up, down.min().unwrap_or_default())
    }

    /// The grid for least delays `up` from clients to the hub and `down` back; `None` if they make up less than 2 ns.
    pub fn new(up: Duration, down: Duration) -> Option<Windows> {
        let half = Duration::from_ns((up + down).as_ns() / 2);
        let length = half.min(LENGTH_MAX);
        if length.is_zero() {
            return None;
        }
        Some(Windows { length, up })
    }

    /// How long a window is.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// When clients' window `k` begins.
    pub fn start(&self, k: u64) -> Instant {
        Instant::ZERO + self.length.times(k)
    }

    /// When clients' window `k` ends.
    pub fn clients_end(&self, k: u64) -> Instant {
        self.start(k) + self.length
    }

    /// When the hub's window `k` ends.
    pub fn hub_end(&self, k: u64) -> Instant {
        self.start(k) + self.up
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
}
