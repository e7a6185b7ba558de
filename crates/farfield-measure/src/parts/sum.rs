//! Sums of what the engines of several parts recorded about themselves.

use super::JudgedPart;
use crate::engine_stats::{AddressStats, Arrivals, EngineStats, NetworkStats, TopologyStats};
use farfield_base::Merge;
use farfield_base::merge::{by_place, most};

/// Adds another part's statistics.
pub(super) fn add(whole: &mut EngineStats, part: &EngineStats) {
    let EngineStats {
        plane: _,
        processors,
        placement,
        workers,
        lateness,
        loop_lag,
        arrivals,
        in_system_ns,
        counts,
        writer_stalls,
        datagrams_lost,
        addresses,
        samples_lost,
        samples_refused,
        connections_open,
        interrupted,
        network_taken,
        load_ended,
        warnings,
        network,
        last_received,
        received,
        server,
        memory_short,
        machine: _,
        other_processes: _,
        server_time: _,
        server_beside: _,
        asks_at_once,
        server_limits: _,
        bottleneck: _,
        ended,
        clock: _,
        captures: _,
    } = part;
    whole.processors.extend(processors);
    if whole.placement != *placement {
        whole.placement = None;
    }
    whole.workers.extend(workers.iter().cloned());
    whole.lateness.merge(lateness);
    whole.loop_lag.merge(loop_lag);
    whole.arrivals = whole.arrivals.zip(*arrivals).map(|(whole, part)| both(whole, part));
    whole.in_system_ns = whole.in_system_ns.saturating_add(*in_system_ns);
    whole.counts.merge(counts);
    whole.writer_stalls += writer_stalls;
    whole.datagrams_lost += datagrams_lost;
    addresses.iter().for_each(|address| add_address(&mut whole.addresses, address));
    whole.samples_lost += samples_lost;
    whole.samples_refused = whole.samples_refused.take().or_else(|| samples_refused.clone());
    by_place(&mut whole.connections_open, connections_open);
    whole.interrupted = whole.interrupted.take().or_else(|| interrupted.clone());
    whole.network_taken |= network_taken;
    whole.load_ended &= load_ended;
    whole.warnings.extend(warnings.iter().cloned());
    if let (Some(whole), Some(part)) = (&mut whole.network, network) {
        add_network(whole, part);
    }
    most(&mut whole.last_received, last_received);
    whole.received.merge(received);
    if whole.server.as_ref().is_none_or(|server| server.ended.is_none()) {
        whole.server = server.clone().or(whole.server.take());
    }
    whole.memory_short = whole.memory_short.take().or_else(|| memory_short.clone());
    whole.asks_at_once &= asks_at_once;
    most(&mut whole.ended, ended);
}

fn add_address(whole: &mut Vec<AddressStats>, part: &AddressStats) {
    match whole.iter_mut().find(|own| own.address == part.address) {
        Some(own) => own.merge(part),
        None => whole.push(part.clone()),
    }
}

fn both(whole: Arrivals, part: Arrivals) -> Arrivals {
    let Arrivals { expected, scheduled, begun, dropped } = part;
    Arrivals {
        expected: whole.expected.zip(expected).map(|(whole, part)| whole + part),
        scheduled: whole.scheduled + scheduled,
        begun: whole.begun + begun,
        dropped: whole.dropped + dropped,
    }
}

fn add_network(whole: &mut NetworkStats, part: &NetworkStats) {
    let NetworkStats {
        // Every part lays all of them out, and acts on its own.
        clients: _,
        shards,
        gateway: _,
        round_trip_least: _,
        round_trip_largest: _,
        departure_lateness,
        delivery_lateness,
        pickup_lateness,
        arrival_lateness,
        crossing_lateness,
        packets_up,
        packets_down,
        overruns,
        refused,
        receive_threads: _,
        drops,
        // Parts share no links, and have no programs.
        cross_traffic: _,
        topology: TopologyStats { .. },
        programs,
        capture_drops,
    } = part;
    whole.shards += shards;
    whole.departure_lateness.merge(departure_lateness);
    whole.delivery_lateness.merge(delivery_lateness);
    whole.pickup_lateness.merge(pickup_lateness);
    whole.arrival_lateness.merge(arrival_lateness);
    whole.crossing_lateness.merge(crossing_lateness);
    whole.packets_up += packets_up;
    whole.packets_down += packets_down;
    whole.overruns += overruns;
    whole.refused += refused;
    whole.drops.merge(drops);
    whole.programs.extend(programs.iter().cloned());
    whole.capture_drops += capture_drops;
}

/// Leaves out what is one machine's, where there are several parts: its part has judged it, and a sum over
/// machines would be of none. Warnings are said with the part that they are of.
pub(super) fn forget_machines(stats: &mut EngineStats, parts: &[JudgedPart]) {
    if parts.len() < 2 {
        return;
    }
    (stats.machine, stats.server_time, stats.server_beside) = (None, None, None);
    (stats.server_limits, stats.bottleneck, stats.clock) = (None, None, None);
    stats.other_processes.clear();
    stats.captures.clear();
    let of_part = |JudgedPart { result, .. }: &JudgedPart| {
        let part = result.part();
        result.stats.warnings.iter().map(move |warning| format!("part {part}: {warning}")).collect::<Vec<_>>()
    };
    stats.warnings = parts.iter().flat_map(of_part).collect();
}
