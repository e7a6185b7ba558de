//! Check that the server's kernel took the packets that were handed to it.
//!
//! The kernel's receive work is done by threads on the server's processors. A server that is full leaves them
//! no time; packets wait for them up to the gateway's room, and the kernel refuses the rest, as a network
//! interface drops packets that its host does not fetch (receive livelock, Mogul and Ramakrishnan 1997,
//! "Eliminating Receive Livelock in an Interrupt-Driven Kernel", ACM TOCS 15:3). Clients take that for loss
//! and send again.
//!
//! That is a limit of the server's machine, and a result: it does not make a run invalid by itself. Where
//! another check failed because of it, it is the first cause.

use super::advice::{PUNCTUAL, RunView};
use super::{Check, CheckState, LimitUnit, causes, timing};
use crate::engine_stats::NetworkStats;

pub const NAME: &str = "server-receive";

/// A smaller share of refused packets is no cause of anything but itself.
const REFUSED_MOST: f64 = 0.01;

pub fn taken(run: &RunView<'_>) -> Check {
    let what = "Where something failed, it was not because the server's kernel refused packets.";
    let skip = |why: &str| Check::skipped(NAME, what, REFUSED_MOST, LimitUnit::Share, why);
    let Some(network) = &run.stats.network else { return skip(timing::NO_NETWORK) };
    let check = Check::at_most(NAME, what, network.packets.refused_share(), REFUSED_MOST, LimitUnit::Share);
    let note = (check.state == CheckState::Failed).then(|| {
        let (refused, handed_over) = (network.packets.refused, network.packets.handed_over());
        format!("the server's kernel could not take {refused} of {handed_over} packets")
    });
    check.noted(note).advised(|| advice(run, network))
}

fn advice(run: &RunView<'_>, network: &NetworkStats) -> String {
    let processors: Vec<String> = network.receive_threads.iter().map(u32::to_string).collect();
    let threads = format!(
        "its receive work runs on processor {}: offer less, give it a processor that the server leaves free \
         (`server.receive-processors`), or have the shards do it in their writes, which are never refused \
         (`server.receive-processors = []`)",
        processors.join(", ")
    );
    match run.storm() {
        Some(storm) => format!("{storm}; {threads}"),
        None => threads,
    }
}

/// True if refused packets explain the failure of `check`: that of a full worker only if it would have had
/// time to spare, had it not had to send them again.
pub fn explains(run: &RunView<'_>, check: &str) -> bool {
    if check != "worker-cpu" {
        return true;
    }
    let again = run.stats.network.as_ref().map_or(0.0, repeated_share);
    let fullest = run.stats.workers.iter().map(|worker| worker.computing()).fold(0.0, f64::max);
    fullest * (1.0 - again) <= PUNCTUAL
}

/// The packets that were written in vain, as a share of all that were handed over at the gateway in either
/// direction: what a worker has to do grows with them.
fn repeated_share(network: &NetworkStats) -> f64 {
    let all = network.packets.handed_over() + network.packets.down;
    network.packets.refused as f64 / all.max(1) as f64
}

/// Takes a failure back where nothing failed because of it.
pub fn excuse_without_effect(checks: &mut [Check], explains: impl Fn(&str, &str) -> bool) {
    let has_effect = checks.iter().any(|check| {
        check.state == CheckState::Failed
            && causes::may_follow(&check.name, NAME)
            && explains(NAME, &check.name)
    });
    let refused = checks.iter_mut().find(|check| check.name == NAME && check.state == CheckState::Failed);
    if let Some(check) = refused.filter(|_| !has_effect) {
        check.take_back("and nothing failed for it");
    }
}
