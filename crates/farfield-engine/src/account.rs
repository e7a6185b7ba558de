//! Aggregation of the workers' reports into the engine's statistics of the run.

mod links;

use crate::emulated::hosts::HostReport;
use crate::plane::Plane;
use crate::run::{Run, RunSettings};
use crate::worker_report::{self, WorkerReport};
use farfield_base::{Bytes, CrossCounts, Duration, Instant, LoadCounts, Merge, PacketCounts, Window};
use farfield_measure::engine_stats::{Arrivals, CrossTrafficStats, ServerLimits};
use farfield_measure::sessions::WholeRun;
use farfield_measure::{
    EngineStats, Fold, Histogram, MachineStats, OutOfMemory, ProgramStats, ServerEnd, ServerStatus,
};
use farfield_os::clock::Clock;
use farfield_testbed::RunningServer;
use std::io;
use std::num::NonZeroU32;

/// Adds up the workers' reports of a run that has come to `until`.
pub(crate) fn add_up(
    stats: &mut EngineStats,
    settings: &RunSettings,
    (window, until): (Window, Instant),
    finished: Vec<WorkerReport>,
) {
    let (mut lateness, mut turns) = (Histogram::new(), Histogram::new());
    // A load by count is over with its last request.
    let load_over = if window.ends_by_count() { until } else { window.measure_to };
    let expected = settings.expected_arrivals(window.measure_from, load_over);
    let expected = expected.map(|all| all * settings.part.share());
    let mut area = 0;
    for worker in finished {
        if let Some(network) = &worker.network {
            add_network(stats, network);
        }
        lateness.merge(&worker.lateness);
        turns.merge(&worker.turns);
        stats.counts.merge(&worker.counts);
        stats.generator.merge(&worker.generator);
        let last_received = worker.last_received.map(|at| at.since(Instant::ZERO));
        stats.last_received = stats.last_received.max(last_received);
        stats.received.merge(&worker.received);
        area += worker.in_system_area;
        stats.workers.push(worker.stats);
    }
    let (counts, requests_max) = (stats.counts, settings.users.requests_max);
    stats.generator.samples_lost += counts.missed_without_sample;
    if let Some(silent) = counts.given_up {
        stats.interrupted.get_or_insert(given_up_in_words(silent, requests_max, counts.unbegun));
    } else if stats.interrupted.is_none() && until >= window.measure_to {
        stats.warnings.extend(requests_max.and_then(|asked| cut_by_time(asked, counts.unbegun)));
    }
    stats.load_ended = stats.interrupted.is_none();
    (stats.lateness, stats.loop_lag) = (lateness, turns);
    stats.in_system_ns = u64::try_from(area).unwrap_or(u64::MAX);
    let LoadCounts { scheduled, begun, dropped, .. } = counts;
    let later = [counts.newcomers_later, counts.begun_later];
    let arrivals = Arrivals { expected, scheduled, begun, dropped };
    stats.arrivals = settings.flows.iter().any(|flow| flow.load.has_arrivals()).then_some(arrivals);
    let half_s = window.measure_to.since(window.measure_from).as_secs_f64() / 2.0;
    let asked = settings.flows.iter().any(|flow| flow.load.users_max().is_some())
        && settings.visitors_bound.is_none();
    stats.warnings.extend(lost_datagrams(stats.generator.datagrams_lost));
    // The cause of all other symptoms of such a run, so the first warning.
    stats.warnings.splice(0..0, connection_storm(later, half_s, asked));
    stats.warnings.extend(settings.visitors_bound.and_then(|bound| dropped_arrivals(bound, counts.dropped)));
}

/// The reason why a load by count was given up.
fn given_up_in_words(silent: Duration, asked: Option<u64>, unbegun: u64) -> String {
    let silent = silent.as_secs_f64();
    let begun = asked.map_or_else(String::new, |asked| {
        format!(", and {} of {asked} requests had been begun", asked.saturating_sub(unbegun))
    });
    format!("nothing came from the server for {silent:.1} s while requests waited{begun}")
}

/// The warning that the measured part was over before as many requests as were asked for.
fn cut_by_time(asked: u64, unbegun: u64) -> Option<String> {
    (unbegun > 0).then(|| {
        format!(
            "run.requests: {} of {asked} requests were begun before the measured part was over; make run.duration longer, \
             or leave it out (`--duration`) to go on until all are done",
            asked.saturating_sub(unbegun)
        )
    })
}

/// The warning about datagrams that came, and were not read in time: to QUIC they are lost as on a path.
fn lost_datagrams(lost: u64) -> Option<String> {
    (lost > 0).then(|| {
        format!(
            "{lost} datagrams of the server's found no room in the receive buffers of farfield's sockets, and were sent again: \
             raise net.core.rmem_max to 4 MiB or more, of which each socket asks for 4 MiB, or lower the load of each worker"
        )
    })
}

/// The warning about a storm of connections: at a full server an arrival that finds no idle visitor creates
/// one, with a connection of its own, which costs the server two or three times as much as a request on a
/// kept one; so it stays full.
fn connection_storm([newcomers, begun]: [u64; 2], seconds: f64, bounded: bool) -> Option<String> {
    /// Below this rate, a slow server looks the same: more visitors wait than there were.
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

/// The warning about packets that the server's kernel refused. No check fails for it alone: it is a limit of
/// the server's machine, and clients take it for loss.
fn refused_by_server(packets: &PacketCounts) -> Option<String> {
    let (refused, handed_over) = (packets.refused, packets.handed_over());
    (refused > 0).then(|| {
        format!(
            "the server's kernel could not take {refused} of {handed_over} packets ({:.1} %): the threads that do its receive \
             work had too little of the server's processors. Clients sent these packets again; see \
             server.receive-processors",
            packets.refused_share() * 100.0
        )
    })
}

/// The warning about arrivals dropped because of the default bound on visitors.
fn dropped_arrivals(bound: NonZeroU32, dropped: u64) -> Option<String> {
    (dropped > 0).then(|| {
        format!(
            "{dropped} arrivals were dropped: without load.users-max there are at most {bound} visitors at once, which half \
             of the free memory holds. The server answers fewer than arrive; set load.users-max to have more wait, or \
             fewer"
        )
    })
}

/// The warning about a server that shared its processors. Shards at a real-time priority are on time beside
/// other work, so that no check of the verdict fails, but the server is slowed. Processes that the server
/// needs outside the testbed, such as a database, cannot be distinguished from other work.
pub(crate) fn shared_processors(stats: &EngineStats) -> Option<String> {
    /// A smaller share is background work of any machine.
    const SHARE: f64 = 0.1;
    let machine = stats.machine.filter(|machine| machine.others >= SHARE)?;
    let named: Vec<String> =
        stats.other_processes.iter().map(|other| format!("{} {}", other.name, other.pid)).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    Some(format!(
        "processes other than farfield and the server that it started took {:.0} % of the processors{named}: what the server \
         needs beside it, such as a database, counts here; anything else may have slowed it, and should be stopped",
        machine.others * 100.0
    ))
}

/// Records what the server's limits did to it, if it has any.
pub(crate) fn describe_server_limits(stats: &mut EngineStats, plane: &Plane) {
    let Plane::Emulated(emulated) = plane else { return };
    let Some((limits, used)) = emulated.server.as_ref().and_then(RunningServer::limits) else { return };
    stats.server_limits = Some(ServerLimits {
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
        stats.warnings.push(format!(
            "The kernel killed {} of the server's processes, whose [server] memory = \"{}\" was used up.",
            used.oom_kills,
            Bytes::from(limit)
        ));
    }
}

/// Records what the workers do not know of the network, such as the gateway's losses.
pub(crate) fn describe_network(stats: &mut EngineStats, run: &Run) {
    let Some(network) = &mut stats.network else { return };
    let laid_out = match &run.plane {
        Plane::Sockets(_) => return,
        Plane::Emulated(emulated) => &emulated.network,
        Plane::Simulated(simulated) => &simulated.network,
    };
    network.clients = laid_out.plan.acting() as u64;
    network.shards = run.settings.workers.get().into();
    for (stats, flow) in network.cross_traffic.iter_mut().zip(&laid_out.plan.cross_traffic) {
        stats.link = laid_out.links.get(flow.link.index()).map(ToString::to_string).unwrap_or_default();
        stats.bits_per_second = flow.traffic.rate.as_bits();
        stats.packet_bytes = flow.traffic.packet_bytes.into();
    }
    let end = Instant::ZERO + stats.ended.unwrap_or_default();
    links::describe(&mut network.topology, laid_out, end);
    let round_trips = laid_out.round_trips;
    (network.round_trip_least, network.round_trip_largest) = (round_trips.least, round_trips.largest);
    let Plane::Emulated(emulated) = &run.plane else { return };
    network.gateway = Some(emulated.testbed.report().device.clone());
    let threads = emulated.testbed.receive_threads();
    network.receive_threads = threads.iter().map(|processor| *processor as u32).collect();
    if network.receive_threads.is_empty() {
        // Without threads that can be behind, only too small a buffer of the gateway's refuses a packet.
        network.packets.overruns += std::mem::take(&mut network.packets.refused);
    }
    for (_, testbed) in emulated.testbeds() {
        match testbed.drops() {
            Ok(drops) => network.packets.overruns += drops.to_clients + drops.to_server,
            Err(error) => stats.warnings.push(format!("the gateway's losses cannot be read: {error}")),
        }
    }
    stats.warnings.extend(refused_by_server(&network.packets));
}

/// The warning about processes that the kernel killed for want of memory: they may include some that the run
/// needs.
pub(crate) fn out_of_memory(stats: &EngineStats) -> Option<String> {
    let kills = stats.machine.map_or(0, |machine| machine.oom_kills);
    let processes = if kills == 1 { "process" } else { "processes" };
    (kills > 0).then(|| {
        format!(
            "the kernel killed {kills} {processes} on this machine for want of memory during the run; `dmesg` names them"
        )
    })
}

/// The end of the server, if its process is known and has ended.
pub(crate) fn server(plane: &Plane, clock: Clock, machine: Option<MachineStats>) -> Option<ServerStatus> {
    let Plane::Emulated(emulated) = plane else { return None };
    let other = emulated.others.iter().find_map(|other| {
        let ending = other.server.ending()?;
        let status = format!("server {}: {}", other.name, ending.in_words());
        let at = Some(clock.instant_of(ending.at_ns).since(Instant::ZERO));
        Some(ServerEnd { at, status, last_words: other.server.last_words(), out_of_memory: None })
    });
    if other.is_some() {
        return Some(ServerStatus { ended: other });
    }
    if let Some(joined) = &emulated.joined {
        let pid = joined.processes.first()?;
        let status = format!("process {pid} is gone");
        let ended = (!joined.runs()?).then(|| ServerEnd { status, ..ServerEnd::default() });
        return Some(ServerStatus { ended });
    }
    let server = emulated.server.as_ref()?;
    let ended = server.ending().map(|ending| {
        let limited = server.limits().is_some_and(|(_, used)| used.oom_kills > 0);
        let others = machine.is_some_and(|machine| machine.oom_kills > 0);
        // The kernel's out-of-memory killer sends SIGKILL, as anybody may.
        let out_of_memory = match ending.signal() {
            Some(libc::SIGKILL) if limited => Some(OutOfMemory::Limit),
            Some(libc::SIGKILL) if others => Some(OutOfMemory::Machine),
            _ => None,
        };
        ServerEnd {
            at: Some(clock.instant_of(ending.at_ns).since(Instant::ZERO)),
            status: ending.in_words(),
            last_words: server.last_words(),
            out_of_memory,
        }
    });
    Some(ServerStatus { ended })
}

/// Records how the programs beside the users ended. What they sent and got is added with the workers'
/// reports.
pub(crate) fn describe_programs(stats: &mut EngineStats, ended: io::Result<Option<Vec<ProgramStats>>>) {
    match ended {
        Ok(None) => {}
        Ok(Some(programs)) => stats.network.get_or_insert_default().programs = programs,
        Err(error) => {
            stats.interrupted.get_or_insert(format!("the programs cannot be waited for: {error}"));
        }
    }
}

fn add_program(program: &mut ProgramStats, part: &HostReport) {
    program.packets.merge(&part.packets);
    program.lateness.merge(&part.lateness);
    program.cut_off |= part.failed.is_some();
}

fn add_network(stats: &mut EngineStats, part: &worker_report::NetworkReport) {
    let all = stats.network.get_or_insert_default();
    for host in &part.hosts {
        all.lateness.arrival.merge(&host.lateness);
        if let Some(program) = all.programs.get_mut(host.number) {
            add_program(program, host);
        }
    }
    all.lateness.merge(&part.lateness);
    all.packets.merge(&part.packets);
    all.drops.merge(&part.drops);
    add_cross(&mut all.cross_traffic, &part.cross);
    links::add(&mut all.topology.links, &part.links);
    if let Some(error) = &part.failed {
        stats.interrupted.get_or_insert(gateway_failed(error));
    }
}

/// Why the gateway failed. Nobody but others of the machine removes its interface.
fn gateway_failed(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EBADFD | libc::ENODEV | libc::ENXIO) => {
            "the gateway's interface is gone: something other than farfield removed it".to_owned()
        }
        Some(libc::ENETDOWN) => {
            "the gateway's interface is down: something other than farfield took it down".to_owned()
        }
        _ => format!("the gateway failed: {error}"),
    }
}

/// Adds the cross traffic of one worker, flow by flow; its links are named once all workers have reported.
fn add_cross(all: &mut Vec<CrossTrafficStats>, part: &[CrossCounts]) {
    if all.len() < part.len() {
        all.resize(part.len(), CrossTrafficStats::default());
    }
    all.iter_mut().zip(part).for_each(|(all, part)| all.counts.merge(part));
}

/// The warning that fewer sessions began than requested, with its remedy.
pub(crate) fn too_few_sessions(settings: &RunSettings, fold: &Fold) -> Option<String> {
    let (asked, WholeRun { begun, .. }) = (settings.users.end.sessions?, fold.sessions().whole_run());
    (begun < asked).then(|| {
        format!(
            "run.sessions: {begun} of {asked} sessions began before the measured part was over; make run.duration longer, or \
             have more users"
        )
    })
}

/// The warning that no session was completed, with its remedy.
pub(crate) fn no_session_completed(settings: &RunSettings, fold: &Fold) -> Option<String> {
    let WholeRun { begun, completed, broken_off } = fold.sessions().whole_run();
    if begun == 0 || completed > 0 || !settings.flows.iter().any(|flow| flow.itinerary.sessions_end()) {
        return None;
    }
    let open = begun - broken_off;
    let advice = match broken_off > open {
        true => "the failures say in which states, and why",
        false => "measure for longer, or let sessions finish with run.finish-sessions",
    };
    Some(format!(
        "no session reached its last state: of {begun} that began, {broken_off} were broken off and {open} were open at \
         the end of the run; {advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{
        NonZeroU32, add_network, connection_storm, dropped_arrivals, refused_by_server, shared_processors,
    };
    use crate::emulated::hosts::HostReport;
    use crate::worker_report::NetworkReport;
    use farfield_base::{CrossCounts, Duration, HostCounts, LinkImpairments, NetworkDrops, PacketCounts};
    use farfield_emulator::LinkCounts;
    use farfield_measure::EngineStats;
    use farfield_measure::Histogram;
    use farfield_measure::MachineStats;
    use farfield_measure::{NetworkStats, PacketLateness, ProgramStats};

    #[test]
    fn other_work_beside_the_server_is_a_warning() {
        let of = |others| {
            let machine = Some(MachineStats { others, ..MachineStats::default() });
            shared_processors(&EngineStats { machine, ..EngineStats::default() })
        };
        assert!(of(0.46).expect("a warning").contains(" took 46 % of the processors: what the server needs"));
        assert_eq!(of(0.05), None);
        assert_eq!(shared_processors(&EngineStats::default()), None);
    }

    #[test]
    fn packets_that_the_server_refused_are_no_overruns() {
        let mut lateness = PacketLateness::<Histogram>::default();
        lateness.arrival.record(Duration::from_us(40));
        let packets = PacketCounts { up: 150, overruns: 5, refused: 50, ..PacketCounts::default() };
        let cross = vec![CrossCounts { packets: 10, lost: 2, ..CrossCounts::default() }];
        let drops = NetworkDrops { unreachable: 4, ..NetworkDrops::default() };
        let impairments = LinkImpairments { marked: 4, lost: 1, ..LinkImpairments::default() };
        let links = vec![LinkCounts { packets: 7, bytes: 700, impairments }];
        let host = HostCounts { up: 4, refused: 1, ..HostCounts::default() };
        let host = HostReport { number: 0, packets: host, lateness: Histogram::new(), failed: None };
        let hosts = vec![host];
        let part = NetworkReport { lateness, packets, drops, cross, links, hosts, failed: None };
        let programs = vec![ProgramStats::default()];
        let network = Some(NetworkStats { programs, ..NetworkStats::default() });
        let mut stats = EngineStats { network, ..EngineStats::default() };
        add_network(&mut stats, &part);
        add_network(&mut stats, &part);
        let network = stats.network.unwrap();
        assert_eq!((network.lateness.arrival.count(), network.lateness.departure.count()), (2, 0));
        let twice = PacketCounts { up: 300, overruns: 10, refused: 100, ..PacketCounts::default() };
        assert_eq!(network.packets, twice);
        let [flow] = &network.cross_traffic[..] else { panic!("one flow") };
        assert_eq!(flow.counts, CrossCounts { packets: 20, lost: 4, ..CrossCounts::default() });
        assert_eq!(network.drops.unreachable, 8);
        let [program] = &network.programs[..] else { panic!("one program") };
        assert_eq!(program.packets, HostCounts { up: 8, refused: 2, ..HostCounts::default() });
        let [link] = &network.topology.links[..] else { panic!("one link") };
        assert_eq!((link.packets, link.bytes), (14, 1400));
        let twice = LinkImpairments { marked: 8, lost: 2, ..LinkImpairments::default() };
        assert_eq!(link.impairments, twice);
        let text = refused_by_server(&network.packets).unwrap();
        assert!(text.starts_with("the server's kernel could not take 100 of 400 packets (25.0 %)"), "{text}");
        assert_eq!(refused_by_server(&PacketCounts { refused: 0, ..network.packets }), None);
    }

    #[test]
    fn a_bound_that_nobody_asked_for_is_reported_where_it_drops_arrivals() {
        let bound = NonZeroU32::new(32_000).unwrap();
        assert_eq!(dropped_arrivals(bound, 0), None);
        let text = dropped_arrivals(bound, 17).unwrap();
        assert!(
            text.starts_with("17 arrivals were dropped: without load.users-max") && text.contains("32000"),
            "{text}"
        );
    }

    #[test]
    fn a_storm_of_newcomers_is_reported_with_its_number_and_the_key_that_bounds_it() {
        let text = connection_storm([215_000, 300_000], 5.0, false).unwrap();
        let begins = "set load.users-max: no visitor was idle for 43000 of 60000 arrivals a second";
        assert!(text.starts_with(begins), "{text}");
        // Bounded, few of all, few at all, and nothing.
        let none = [
            connection_storm([215_000, 300_000], 5.0, true),
            connection_storm([6_000, 300_000], 5.0, false),
            connection_storm([400, 500], 5.0, false),
            connection_storm([0, 0], 0.0, false),
        ];
        assert_eq!(none, [None, None, None, None]);
    }
}
