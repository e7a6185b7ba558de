//! Checks that the generator was on time: the workers and the emulated network, each against its limit.
//!
//! A percentile of few values is their maximum, and a share of a short time is random: below [`FEW`] values
//! and [`SHORT`] of measured time these checks do not apply, and below 100 values one of them may be late,
//! as one of 100 may. One long stall in a long run affects no percentile: [`longest_stall`] checks for it.

use super::advice::RunView;
use super::{Check, LimitUnit, disturbed};
use crate::engine_stats::NetworkStats;
use crate::histogram::Histogram;
use crate::quantile::Quantile;
use farfield_base::Duration;

/// Fewer values than this say nothing about a p99, and fewer requests nothing about a share.
pub const FEW: u64 = 10;
/// The share of a shorter time that a worker was busy says nothing.
const SHORT: Duration = Duration::from_ms(100);

/// The checks that are causes of others as well.
pub const WORKER: &str = "worker-cpu";
pub const STALL: &str = "longest-stall";

pub const NO_NETWORK: &str = "the plane has no emulated network";

/// A check of the p99 of `times`; below 100 values, of the largest but one.
pub fn p99_at_most(name: &str, what: &str, times: &Histogram, limit: Duration, none: &str) -> Check {
    let (count, limit) = (times.count(), limit.as_ns() as f64);
    if (1..FEW).contains(&count) {
        let why = format!("{count} of at least {FEW} values: so few have no p99");
        return Check::skipped(name, what, limit, LimitUnit::Ns, &why);
    }
    let rank = Quantile::P99.rank(count).map(|rank| rank.min(count - 1));
    match rank.and_then(|rank| times.at_rank(rank)) {
        Some(p99) => Check::at_most(name, what, p99.as_ns() as f64, limit, LimitUnit::Ns),
        None => Check::skipped(name, what, limit, LimitUnit::Ns, none),
    }
}

pub fn send_lateness(run: &RunView<'_>) -> Check {
    let what = "The p99 of how late the generator acted, against when it meant to, is small.";
    let (limit, none) = (run.context.limits.lateness_p99, "nothing was scheduled by time");
    let limit = if run.stats.asks_at_once { limit.max(tenth_of_median_response(run)) } else { limit };
    let requests = run.fold.steady().requests();
    if run.stats.asks_at_once && requests < FEW {
        // All users begin at once, and some of them with nothing left to ask for.
        let why = format!("{requests} of at least {FEW} requests: so few have no p99");
        return Check::skipped("send-lateness", what, limit.as_ns() as f64, LimitUnit::Ns, &why);
    }
    p99_at_most("send-lateness", what, &run.stats.lateness, limit, none).advised(|| run.keep_up())
}

/// Lateness that changes the response times of users who ask at once by no more than a tenth. All of them
/// may be answered at the same instant, and the last of a thousand then waits for the worker to ask for the
/// others: as many users at a server that is full wait for much longer.
fn tenth_of_median_response(run: &RunView<'_>) -> Duration {
    let times = &run.fold.steady().times.response;
    let median = Quantile::P50.rank(times.count()).and_then(|rank| times.at_rank(rank));
    Duration::from_ns(median.unwrap_or_default().as_ns() / 10)
}

pub fn loop_lag(run: &RunView<'_>) -> Check {
    let what = "The p99 of how long a turn of an event loop took is small.";
    let (limit, none) = (run.context.limits.loop_lag_p99, "no turn of an event loop was timed");
    p99_at_most("loop-lag", what, &run.stats.loop_lag, limit, none).advised(|| run.keep_up())
}

pub fn worker_busy(run: &RunView<'_>) -> Check {
    let what = "The busiest worker had time to spare.";
    let (name, limit) = (WORKER, run.context.limits.worker_busy.as_f64());
    let skip = |why: &str| Check::skipped(name, what, limit, LimitUnit::Share, why);
    let Some(busiest) = run.busiest() else { return skip("the plane has no workers to time") };
    if busiest.wall < SHORT {
        return skip(&format!("the measured part lasted {}, which is no time to be busy in", busiest.wall));
    }
    Check::at_most(name, what, busiest.busy(), limit, LimitUnit::Share).advised(|| run.keep_up())
}

/// The longest time for which any worker was away from its events, whether it computed or was kept from
/// computing. In a run that was long enough for all stalls together it is no failure: they
/// [move](disturbed) nothing that is claimed.
pub fn longest_stall(run: &RunView<'_>) -> Check {
    let what = "No worker was away from its events for long, not even once.";
    let limit = run.context.limits.longest_stall.as_ns() as f64;
    let skip = |why: &str| Check::skipped(STALL, what, limit, LimitUnit::Ns, why);
    let Some(stall) = run.stats.workers.iter().filter_map(|worker| worker.stall).max() else {
        return skip("the plane has no workers to time");
    };
    let check = Check::at_most(STALL, what, stall.as_ns() as f64, limit, LimitUnit::Ns);
    match disturbed::disturbed(run).filter(|found| found.lost_ns > 0) {
        None => check,
        Some(found) if !disturbed::moves_a_claim(run, &found) => {
            let away_ms = stall.as_secs_f64() * 1e3;
            skip(&format!("a worker was away from its events for {away_ms:.0} ms; {}", found.in_words()))
        }
        Some(_) => {
            let (note, advice) = run.of_cause(STALL);
            Check { note, advice, ..check }
        }
    }
}

pub fn departure_lateness(run: &RunView<'_>) -> Check {
    let what = "The p99 of how late packets left for the server, against when they were meant to, is small.";
    let limit = run.context.limits.departure_lateness_p99;
    packets(run, "departure-lateness", what, limit, |network| &network.lateness.departure, "no packet left")
}

pub fn pickup_lateness(run: &RunView<'_>) -> Check {
    let what = "The p99 of how long packets of the server's waited before they were read, at most, is small.";
    let limit = run.context.limits.pickup_lateness_p99;
    packets(run, "pickup-lateness", what, limit, |network| &network.lateness.pickup, "no packet was read")
}

pub fn arrival_lateness(run: &RunView<'_>) -> Check {
    let what = "The p99 of how late packets reached clients, against when they were meant to, is small.";
    let limit = run.context.limits.arrival_lateness_p99;
    packets(run, "arrival-lateness", what, limit, |network| &network.lateness.arrival, "no packet arrived")
}

pub fn crossing_lateness(run: &RunView<'_>) -> Check {
    let what = "The p99 of how late packets were taken over from another shard is small.";
    let limit = run.context.limits.crossing_lateness_p99;
    let none = "shards share no links in real time";
    packets(run, "crossing-lateness", what, limit, |network| &network.lateness.crossing, none)
}

/// A check of the p99 of `times` of packets, where there is an emulated network.
fn packets(
    run: &RunView<'_>,
    name: &str,
    what: &str,
    limit: Duration,
    times: impl FnOnce(&NetworkStats) -> &Histogram,
    none: &str,
) -> Check {
    match &run.stats.network {
        Some(network) => p99_at_most(name, what, times(network), limit, none).advised(|| run.keep_up()),
        None => Check::skipped(name, what, limit.as_ns() as f64, LimitUnit::Ns, NO_NETWORK),
    }
}

/// Drops by the emulated network itself are what the scenario asks for, and are not judged.
pub fn gateway_overruns(run: &RunView<'_>) -> Check {
    let (name, what) = ("gateway-overruns", "The gateway lost no packet of its own.");
    match &run.stats.network {
        Some(network) => Check::at_most(name, what, network.packets.overruns as f64, 0.0, LimitUnit::Count),
        None => Check::skipped(name, what, 0.0, LimitUnit::Count, NO_NETWORK),
    }
    .advised(|| format!("{}; or lengthen `network.gateway-queue`", run.keep_up()))
}

/// True if the check is one of time: one that a busy machine makes fail.
pub fn is_of_time(check: &Check) -> bool {
    const NAMES: [&str; 11] = [
        WORKER,
        STALL,
        "loop-lag",
        "send-lateness",
        "departure-lateness",
        "delivery-lateness",
        "pickup-lateness",
        "arrival-lateness",
        "crossing-lateness",
        "gateway-overruns",
        "achieved-rate",
    ];
    NAMES.contains(&check.name.as_str())
}
