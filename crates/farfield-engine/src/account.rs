//! What a run's workers say of themselves, added up to the engine's own account of the run.

use crate::finished::{self, Finished};
use crate::place::RunningServer;
use crate::run::{Plane, Settings};
use farfield_base::{Bytes, Window};
use farfield_measure::facts::{Arrivals, ServerLimits};
use farfield_measure::{EngineFacts, Histogram};
use farfield_traffic::load::{LoadModel, Restart};

/// Adds up what the workers say of themselves.
pub(crate) fn add_up(facts: &mut EngineFacts, settings: &Settings, window: Window, finished: Vec<Finished>) {
    let (mut lateness, mut turns) = (Histogram::new(), Histogram::new());
    let mut arrivals = Arrivals { expected: expected(&settings.load, window), ..Arrivals::default() };
    let mut area = 0;
    for worker in finished {
        if let Some(network) = &worker.network {
            add_network(facts, network);
        }
        lateness.merge(&worker.lateness);
        turns.merge(&worker.turns);
        arrivals.scheduled += worker.tally.scheduled;
        arrivals.begun += worker.tally.begun;
        arrivals.dropped += worker.tally.dropped;
        facts.resent += worker.tally.resent;
        area += worker.in_system_area;
        facts.writer_stalls += worker.stalls;
        facts.workers.push(worker.facts);
    }
    (facts.lateness, facts.loop_lag) = (lateness, turns);
    facts.in_system_ns = u64::try_from(area).unwrap_or(u64::MAX);
    facts.arrivals = (!matches!(settings.load, LoadModel::Closed { .. })).then_some(arrivals);
}

/// What the server's limits did to it, if it has any.
pub(crate) fn describe_server_limits(facts: &mut EngineFacts, settings: &Settings) {
    let Plane::Emulated(emulated) = &settings.plane else { return };
    let Some((limits, used)) = emulated.server.as_ref().and_then(RunningServer::limits) else { return };
    facts.server_limits = Some(ServerLimits {
        cpu: limits.cpu.map(f64::from),
        period_ns: limits.cpu.map(|cpu| cpu.period_us() * 1_000),
        periods: used.periods,
        throttled_periods: used.throttled_periods,
        throttled_ns: used.throttled.as_ns(),
        memory_bytes: limits.memory.map(|memory| Bytes::from(memory).0),
        memory_bytes_max: used.memory_max.map(|most| most.0),
        oom_kills: used.oom_kills,
    });
    if let (Some(limit), 1..) = (limits.memory, used.oom_kills) {
        facts.warnings.push(format!(
            "The kernel killed {} of the server's processes, whose [server] memory = \"{}\" was used up.",
            used.oom_kills,
            Bytes::from(limit)
        ));
    }
}

/// What is known of the network beside what its workers saw: the device's losses among it.
pub(crate) fn describe_network(facts: &mut EngineFacts, settings: &Settings) {
    let Some(network) = &mut facts.network else { return };
    let laid_out = match &settings.plane {
        Plane::Sockets { .. } => return,
        Plane::Emulated(emulated) => &emulated.network,
        Plane::Simulated(simulated) => &simulated.network,
    };
    network.clients = laid_out.plan.clients.len() as u64;
    network.shards = settings.workers.get().into();
    let round_trips = laid_out.round_trips;
    (network.round_trip_least, network.round_trip_largest) = (round_trips.least, round_trips.largest);
    let Plane::Emulated(emulated) = &settings.plane else { return };
    network.gateway = Some(emulated.place.report().device.clone());
    match emulated.place.drops() {
        Ok(drops) => network.overruns += drops.to_clients + drops.to_server,
        Err(error) => facts.warnings.push(format!("cannot tell what the gateway lost: {error}")),
    }
}

fn add_network(facts: &mut EngineFacts, part: &finished::Network) {
    let all = facts.network.get_or_insert_default();
    all.departure_lateness.merge(&part.departed);
    all.arrival_lateness.merge(&part.arrived);
    all.crossing_lateness.merge(&part.crossed);
    all.packets_up += part.door.sent;
    all.packets_down += part.door.received;
    all.overruns += part.door.refused + part.door.malformed;
    let (dropped, more) = (&mut all.drops, &part.drops);
    dropped.lost += more.lost;
    dropped.queue_full += more.queue_full;
    dropped.early += more.early;
    dropped.delayed += more.delayed;
    dropped.expired += more.expired;
    dropped.too_big += more.too_big;
    dropped.damaged += more.damaged;
    dropped.nobody += more.nobody;
    if let Some(error) = &part.failed {
        facts.interrupted.get_or_insert(format!("the gateway failed: {error}"));
    }
}

/// How many arrivals the model of load has in the window on average, where that is known.
fn expected(load: &LoadModel, window: Window) -> Option<f64> {
    let process = match load {
        LoadModel::Open { arrivals, .. } | LoadModel::Hybrid { arrivals, .. } => arrivals.clone(),
        LoadModel::Overload(overload) if overload.restart == Restart::Paced => overload.attempts(),
        LoadModel::Closed { .. } | LoadModel::Overload(_) => return None,
    };
    process.expected(window.measure_from, window.measure_to)
}
