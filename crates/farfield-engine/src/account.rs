//! What a run's workers say of themselves, added up to the engine's own account of the run.

use crate::finished::{self, Finished};
use crate::os::clock::Clock;
use crate::place::RunningServer;
use crate::run::{Plane, Settings};
use farfield_base::{Bytes, Duration, Instant, Window};
use farfield_measure::facts::{Arrivals, ServerLimits};
use farfield_measure::{EngineFacts, Histogram, Quantile, ServerEnd, ServerFacts, VerdictLimits};
use farfield_traffic::load::{LoadModel, Restart};

/// Adds up what the workers say of themselves.
pub(crate) fn add_up(facts: &mut EngineFacts, settings: &Settings, window: Window, finished: Vec<Finished>) {
    let (mut lateness, mut turns) = (Histogram::new(), Histogram::new());
    let mut arrivals = Arrivals { expected: expected(&settings.load, window), ..Arrivals::default() };
    let mut area = 0;
    let mut later = [0, 0];
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
        facts.samples_lost += worker.tally.missed_without_row();
        facts.unasked += worker.tally.unasked;
        facts.coded_bytes += worker.tally.coded_bytes;
        facts.decoded_bytes += worker.tally.decoded_bytes;
        facts.objects_left_out += worker.tally.objects_left_out;
        let last_received = worker.last_received.map(|at| at.since(Instant::ZERO));
        facts.last_received = facts.last_received.max(last_received);
        later[0] += worker.tally.newcomers_later;
        later[1] += worker.tally.begun_later;
        area += worker.in_system_area;
        facts.writer_stalls += worker.stalls;
        facts.workers.push(worker.facts);
    }
    (facts.lateness, facts.loop_lag) = (lateness, turns);
    facts.in_system_ns = u64::try_from(area).unwrap_or(u64::MAX);
    facts.arrivals = (!matches!(settings.load, LoadModel::Closed { .. })).then_some(arrivals);
    let half_s = window.measure_to.since(window.measure_from).as_secs_f64() / 2.0;
    let users_max = match &settings.load {
        LoadModel::Open { users_max, .. } => *users_max,
        _ => None,
    };
    // The first cause of all else that such a run has, so the first that is told.
    facts.warnings.splice(0..0, storm(later, half_s, users_max.is_some()));
}

/// What an open population does to a server that is full: an arrival that finds no idle visitor brings a new one, with a
/// connection of its own, which costs the server two or three times what a request on a kept one does; so it stays full.
fn storm([newcomers, begun]: [u64; 2], seconds: f64, bounded: bool) -> Option<String> {
    /// Below, a server that answers slowly has the same look: more visitors wait than there were.
    const NEWCOMERS_A_SECOND: f64 = 1_000.0;
    const SHARE: f64 = 0.25;
    let a_second = newcomers as f64 / seconds;
    if bounded
        || newcomers as f64 <= SHARE * begun as f64
        || a_second.is_nan()
        || a_second < NEWCOMERS_A_SECOND
    {
        return None;
    }
    let arrivals = begun as f64 / seconds;
    Some(format!(
        "set load.users-max: no visitor was idle for {a_second:.0} of {arrivals:.0} arrivals a second, so each opened a \
         connection of its own. That costs a server more than a request on a connection that is kept, and keeps it full: \
         users-max bounds the visitors, and with them the connections"
    ))
}

/// Tells of time that the host of a virtual machine took away from workers' processors, which nothing on the machine can
/// mend and which makes all that they do late.
pub(crate) fn stolen(stolen: Duration, of: Duration) -> Option<String> {
    /// A thousandth makes one packet in a thousand late.
    const SHARE: f64 = 0.001;
    let share = stolen.as_secs_f64() / of.as_secs_f64();
    (share >= SHARE).then(|| {
        let percent = share * 100.0;
        format!(
            "this machine's host took the workers' processors away for {stolen}, {percent:.1} % of the time (steal): what \
             is late may be late by that; measure when the host is quiet, or on a machine of its own"
        )
    })
}

/// Whether anything was later than its limit.
pub(crate) fn is_late(facts: &EngineFacts, limits: &VerdictLimits) -> bool {
    let late =
        |times: &Histogram, limit: Duration| times.quantile(Quantile::P99).is_some_and(|p99| p99 > limit);
    let packets = facts.network.as_ref().is_some_and(|network| {
        late(&network.departure_lateness, limits.departure_lateness_p99)
            || late(&network.arrival_lateness, limits.arrival_lateness_p99)
            || late(&network.crossing_lateness, limits.crossing_lateness_p99)
    });
    packets || late(&facts.lateness, limits.lateness_p99) || late(&facts.loop_lag, limits.loop_lag_p99)
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

/// What became of the server, where its process is known.
pub(crate) fn server(plane: &Plane, clock: Clock) -> Option<ServerFacts> {
    let Plane::Emulated(emulated) = plane else { return None };
    if let Some(joined) = &emulated.joined {
        let status = format!("process {} is gone", joined.pid);
        let ended = (!joined.runs()).then(|| ServerEnd { status, ..ServerEnd::default() });
        return Some(ServerFacts { ended });
    }
    let server = emulated.server.as_ref()?;
    let ended = server.ending().map(|ending| ServerEnd {
        at: Some(clock.instant_of(ending.at_ns).since(Instant::ZERO)),
        status: ending.in_words(),
        last_words: server.last_words(),
    });
    Some(ServerFacts { ended })
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

#[cfg(test)]
mod tests {
    use super::{stolen, storm};
    use farfield_base::Duration;

    #[test]
    fn time_that_the_host_took_is_told_from_a_thousandth_on() {
        let run = Duration::from_secs(10);
        assert_eq!(stolen(Duration::from_ms(9), run), None);
        assert_eq!(stolen(Duration::ZERO, Duration::ZERO), None);
        let told = stolen(Duration::from_ms(210), run).unwrap();
        assert!(told.contains("away for 210ms, 2.1 % of the time (steal)"), "{told}");
    }

    #[test]
    fn a_storm_of_newcomers_is_told_with_its_number_and_the_key_that_bounds_it() {
        let told = storm([215_000, 300_000], 5.0, false).unwrap();
        let begins = "set load.users-max: no visitor was idle for 43000 of 60000 arrivals a second";
        assert!(told.starts_with(begins), "{told}");
        // Bounded, few of all, few at all, and nothing.
        let none = [
            storm([215_000, 300_000], 5.0, true),
            storm([6_000, 300_000], 5.0, false),
            storm([400, 500], 5.0, false),
            storm([0, 0], 0.0, false),
        ];
        assert_eq!(none, [None, None, None, None]);
    }
}
