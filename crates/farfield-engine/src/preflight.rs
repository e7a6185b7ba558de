//! Check of a run's needs against the machine: a run that cannot work is refused before it begins.
//!
//! Only needs that are known beforehand are checked: each user of a closed load holds a connection, a
//! connection takes a descriptor and a local port, a user takes memory, a worker a thread, and an arrival
//! time. The number of connections of an open load depends on the server; if a resource runs out during the
//! run, the verdict reports it (`generator-lacked`). A shortage without harm is a warning.

use crate::descriptors;
use crate::environment;
use crate::memory::{Headroom, MemoryBounds};
use crate::own_limits::{OwnLimits, TasksLeft};
use crate::plane::{Plane, PlaneKind, PreparedPlane, Server};
use crate::run::{Run, RunSettings, StartError, expected_arrivals, start};
use farfield_base::{Bytes, Instant, Part};
use farfield_measure::samples::Keep;
use farfield_traffic::load::LoadModel;
use farfield_user::{Flow, HttpVersion, Reuse};
use std::num::NonZeroU32;
use std::path::Path;

/// Least memory of a run without users that it does not hold yet when it is checked, in private pages: of
/// histograms, tables and buffers. Measured with one user, the whole process holds 12 MiB on the sockets
/// plane, 19 MiB on the emulated plane and 12 MiB on the simulated plane, of which a third is there.
const RUN_BYTES: [(PlaneKind, u64); 3] =
    [(PlaneKind::Sockets, 6 << 20), (PlaneKind::Emulated, 14 << 20), (PlaneKind::Simulated, 6 << 20)];
/// Addresses that a run's threads reserve, of which few become memory: a bound on addresses (`ulimit -v`)
/// must leave room for them. Of each thread a stack of 2 MiB, and what the C library and the kernel map for
/// it.
const THREAD_ADDRESSES: u64 = 4 << 20;
/// Addresses of a run without its threads.
const RUN_ADDRESSES: u64 = 24 << 20;
/// Threads that every run needs beside its workers; it does without those of monitors.
const THREADS_BESIDE: u64 = 1;
/// Most arrivals a second that a worker can begin, of which each takes more than 100 ns on any machine.
const ARRIVALS_A_SECOND: f64 = 1e7;
/// Least memory of a user on a plane of emulated clients.
const USER_BYTES: u64 = 300;
/// Least memory of an emulated client's end of an open connection: 3,000 of them take 8 to 13 MiB.
const EMULATED_BYTES: u64 = 2 * 1024;
/// Least memory of the server's end of a connection, mostly the kernel's, where the server is charged for it
/// with this process.
const SERVER_BYTES: u64 = 3 * 1024;
/// Least memory of a user with a connection on the sockets plane, mostly the kernel's.
const SOCKET_BYTES: u64 = 3 * 1024;
/// Least memory of a connection of QUIC in this process, TLS included.
const QUIC_BYTES: u64 = 24 * 1024;
/// Least memory of a session of TLS on an idle connection: 10,000 take 124 MiB (docs/lab/memory.md).
const SESSION_BYTES: u64 = 10 * 1024;
/// Least memory of HTTP/2 on an idle connection, with an empty table for headers.
const HTTP2_BYTES: u64 = 900;
/// Most memory of a visitor with a connection: of this process, the kernel and a server on this machine.
const VISITOR_BYTES: u64 = 16 * 1024;
/// The memory that TLS adds to that at both ends.
const VISITOR_SESSION_BYTES: u64 = 48 * 1024;
/// Range of the default bound on visitors.
const VISITORS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;
/// Approximate size of a sample on disk.
const SAMPLE_BYTES: u64 = 24;

/// Descriptors that the run itself opens between this check and its first connection: files, polls, alarms
/// of workers.
const YET_TO_OPEN: u64 = 16;

/// A resource that the machine lacks for this run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Lack {
    /// The time at which the run is to start is over.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Descriptors.
    #[error(
        "the load has {connections} connections open at once, and this process may open {available} (the limit of open \
         files is {limit}): raise it with `ulimit -n {wanted}`, or ask for fewer users"
    )]
    Descriptors {
        /// Connections of the load.
        connections: u64,
        /// Connections that this process can open.
        available: u64,
        /// The limit of open files.
        limit: u64,
        /// The limit that would suffice.
        wanted: u64,
    },
    /// Local ports.
    #[error(
        "the load has {connections} connections open at once to one address, and {addresses} local {noun} with \
         {ports} ports each have no more than {available}: name more addresses in `sockets.sources`, widen \
         net.ipv4.ip_local_port_range, or ask for fewer users"
    )]
    Ports {
        /// Connections of the load.
        connections: u64,
        /// Local addresses.
        addresses: u64,
        /// "address" or "addresses".
        noun: &'static str,
        /// Ports of each.
        ports: u64,
        /// Ports of all addresses.
        available: u64,
    },
    /// Memory.
    #[error(
        "{users} users take at least {needed} of memory, and {available} are free ({by}): ask for fewer users"
    )]
    Memory {
        /// Users.
        users: u64,
        /// Memory that they need.
        needed: String,
        /// Free memory.
        available: String,
        /// The bound on memory.
        by: &'static str,
    },
    /// Memory of a run with any number of users.
    #[error("a run takes at least {needed} of memory, and {available} are free ({by}): raise that limit")]
    MemoryOfAny {
        /// Memory that it needs.
        needed: String,
        /// Free memory.
        available: String,
        /// The bound on memory.
        by: &'static str,
    },
    /// Threads.
    #[error(
        "the run has {threads} threads, and {available} more may begin (pids.max of its control group is {limit}): raise \
         that limit, or ask for fewer workers"
    )]
    Threads {
        /// Threads of the run.
        threads: u64,
        /// Threads that may still begin.
        available: u64,
        /// The limit of the group.
        limit: u64,
    },
    /// Time to begin arrivals in.
    #[error(
        "the load offers {rate:.3e} arrivals a second, and no machine begins more than {most:.0e} with {workers} \
         {noun}: offer less (`load.arrivals`, `-R`)"
    )]
    Rate {
        /// Arrivals a second.
        rate: f64,
        /// Most that the workers could begin.
        most: f64,
        /// Workers.
        workers: u32,
        /// "worker" or "workers".
        noun: &'static str,
    },
}

impl Eq for Lack {}

/// Checks the run's needs against the machine.
///
/// # Errors
/// The first resource that is known to be too small.
pub fn check(run: &Run<PreparedPlane>) -> Result<(), Lack> {
    let Run { settings, plane } = run;
    let real = plane.kind() != PlaneKind::Simulated;
    start::ahead(settings.start_at)?;
    if real {
        rate_suffices(settings)?;
    }
    // One more watches over the routes to emulated clients.
    let watches = u64::from(plane.kind() == PlaneKind::Emulated);
    let threads = u64::from(settings.workers.get()) + THREADS_BESIDE + watches;
    threads_suffice(threads, OwnLimits::find().tasks_left())?;
    let users = users_of(settings, |_| true);
    let holding = users_of(settings, |flow| holds_connections(settings, flow));
    let holds = holding > 0;
    if let Plane::Sockets(sockets) = plane
        && holds
    {
        let available = descriptors::for_connections().saturating_sub(YET_TO_OPEN);
        descriptors_suffice(holding, available, descriptors::limits().soft)?;
        if sockets.unix.is_none() {
            ports_suffice(holding, sockets.sources.count(), local_ports())?;
        }
    }
    let protocol_bytes = match holds && real {
        true => protocol_bytes(
            settings.tls_by_host().any(|tls| tls.is_some()),
            settings.flows[0].itinerary.version(),
        ),
        false => 0,
    };
    let each = user_bytes(plane, holds) + protocol_bytes;
    let bounds = MemoryBounds::find();
    let addresses = RUN_ADDRESSES + threads * THREAD_ADDRESSES;
    memory_suffices(users, each, addresses, bounds.headroom_of_addresses())?;
    memory_suffices(users, each, run_bytes(plane.kind()), bounds.headroom_of_pages())
}

/// The warning that the control group of this process leaves less processor time than its workers use, each
/// of which may need a whole processor.
pub fn quota(workers: NonZeroU32) -> Option<String> {
    let processors = OwnLimits::find().processors()?;
    (processors < f64::from(workers.get())).then(|| {
        let need = match workers.get() {
            1 => "worker may need a whole one".to_owned(),
            workers => format!("{workers} workers may need one each"),
        };
        format!(
            "the control group of this process may use {processors:.2} processors (`cpu.max`, in version 1 \
             `cpu.cfs_quota_us`), and its {need}: where that time is used up, nothing of farfield runs for the rest of a \
             period"
        )
    })
}

/// Least memory of a user, whose connection is open if it `holds` one, without what is spoken on it.
fn user_bytes(plane: &PreparedPlane, holds: bool) -> u64 {
    let connection = |server_is_ours: bool| EMULATED_BYTES + u64::from(server_is_ours) * SERVER_BYTES;
    match plane {
        Plane::Sockets(_) => SOCKET_BYTES,
        Plane::Emulated(_) | Plane::Simulated(_) if !holds => USER_BYTES,
        Plane::Emulated(emulated) => USER_BYTES + connection(matches!(emulated.server, Server::Started(_))),
        Plane::Simulated(_) => USER_BYTES + connection(false),
    }
}

fn run_bytes(plane: PlaneKind) -> u64 {
    RUN_BYTES.iter().find(|(kind, _)| *kind == plane).map_or(0, |(_, bytes)| *bytes)
}

fn threads_suffice(threads: u64, left: Option<TasksLeft>) -> Result<(), Lack> {
    match left {
        Some(TasksLeft { free, limit }) if threads > free => {
            Err(Lack::Threads { threads, available: free, limit })
        }
        _ => Ok(()),
    }
}

/// Refuses a rate that no machine could offer; a number of requests that is offered all at once has none.
fn rate_suffices(settings: &RunSettings) -> Result<(), Lack> {
    let length = settings.warm_up + settings.duration + settings.users.end.cool_down;
    let expected = expected_arrivals(&settings.flows, Instant::ZERO, Instant::ZERO + length);
    let (Some(expected), false) = (expected, length.is_zero()) else { return Ok(()) };
    let arrivals = settings.users.requests_max.map_or(expected, |most| expected.min(most as f64));
    rate_fits(arrivals / length.as_secs_f64() * settings.part.share(), settings.workers)
}

fn rate_fits(rate: f64, workers: NonZeroU32) -> Result<(), Lack> {
    let most = ARRIVALS_A_SECOND * f64::from(workers.get());
    let noun = if workers.get() == 1 { "worker" } else { "workers" };
    if rate > most { Err(Lack::Rate { rate, most, workers: workers.get(), noun }) } else { Ok(()) }
}

/// Least memory that an open connection takes for what is spoken on it. QUIC contains TLS.
fn protocol_bytes(over_tls: bool, version: HttpVersion) -> u64 {
    let session = u64::from(over_tls) * SESSION_BYTES;
    match version {
        HttpVersion::Http10 | HttpVersion::Http11 => session,
        HttpVersion::Http2 => session + HTTP2_BYTES,
        HttpVersion::Http3 => QUIC_BYTES,
        // The least of them: the server may choose it.
        HttpVersion::Auto => session,
    }
}

/// Bounds the visitors of open loads that have no bound, by half of the free memory together, and returns the
/// bound of each. At a server that does not keep up, or does not answer at all, their number would grow until
/// requests time out.
pub fn bound_visitors<'a>(
    loads: impl IntoIterator<Item = &'a mut LoadModel>,
    secured: &[bool],
    part: Part,
) -> Option<NonZeroU32> {
    let mut unbound: Vec<_> = loads.into_iter().filter_map(LoadModel::users_max_mut).collect();
    unbound.retain(|users_max| users_max.is_none());
    let of_host = |over_tls: &bool| VISITOR_BYTES + u64::from(*over_tls) * VISITOR_SESSION_BYTES;
    let each: u64 = secured.iter().map(of_host).sum();
    let free = || MemoryBounds::find().headroom().map(|headroom| headroom.free);
    let bound = (!unbound.is_empty()).then(|| visitors(free(), each * unbound.len() as u64)).flatten();
    // The bound of a load is that of all its parts.
    let bound = bound.and_then(|own| NonZeroU32::new(part.whole_of(own.get())));
    unbound.into_iter().for_each(|users_max| *users_max = bound);
    bound
}

/// The visitors that half of the `free` memory holds, of so many bytes each.
fn visitors(free: Option<u64>, each: u64) -> Option<NonZeroU32> {
    let fit = free.map_or(*VISITORS.end(), |free| free / 2 / each);
    // Rounded to thousands: free memory is not known to the byte.
    let rounded = fit / 1_000 * 1_000;
    NonZeroU32::new(rounded.clamp(*VISITORS.start(), *VISITORS.end()) as u32)
}

/// The users that this process has of the flows that `are` some, whose number is known.
fn users_of(settings: &RunSettings, are: impl Fn(&Flow) -> bool) -> u64 {
    let users = settings.flows.iter().filter(|flow| are(flow)).filter_map(|flow| flow.load.users());
    settings.part.most_of(users.map(|users| u64::from(users.get())).sum())
}

/// True if each user of a flow has a connection at all times: it is kept open, or the user never thinks.
fn holds_connections(settings: &RunSettings, flow: &Flow) -> bool {
    let reuse = settings.users.policy.policy;
    let kept = matches!(reuse, Reuse::Persistent | Reuse::Pipelined | Reuse::Multiplexed);
    flow.load.users().is_some() && flow.load.holds_connections(kept)
}

fn descriptors_suffice(connections: u64, available: u64, limit: Option<u64>) -> Result<(), Lack> {
    let Some(limit) = limit.filter(|_| connections > available) else { return Ok(()) };
    Err(Lack::Descriptors {
        connections,
        available,
        limit,
        wanted: connections + (limit - available.min(limit)),
    })
}

fn ports_suffice(connections: u64, addresses: u128, ports: Option<u64>) -> Result<(), Lack> {
    let addresses = u64::try_from(addresses.max(1)).unwrap_or(u64::MAX);
    let Some(ports) = ports else { return Ok(()) };
    let available = addresses.saturating_mul(ports);
    if connections <= available {
        return Ok(());
    }
    let noun = if addresses == 1 { "address" } else { "addresses" };
    Err(Lack::Ports { connections, addresses, noun, ports, available })
}

/// Checks that `users` of so many bytes each fit beside the `run`, which has none yet.
fn memory_suffices(users: u64, each: u64, run: u64, free: Option<Headroom>) -> Result<(), Lack> {
    let Some(Headroom { free, bound: by, .. }) = free else { return Ok(()) };
    let of_users = users.saturating_mul(each);
    let needed = of_users.saturating_add(run);
    if needed <= free {
        return Ok(());
    }
    let available = in_words(free);
    Err(match run > free || users == 0 {
        true => Lack::MemoryOfAny { needed: in_words(run), available, by },
        false => Lack::Memory { users, needed: in_words(needed), available, by },
    })
}

/// Number of local ports for each address.
fn local_ports() -> Option<u64> {
    let range = environment::setting("net.ipv4.ip_local_port_range")?;
    let mut ends = range.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    Some((last + 1).saturating_sub(first))
}

/// A size with at most three digits: "1.4 GB".
fn in_words(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut number, mut unit) = (bytes as f64, 0);
    while number >= 999.5 && unit + 1 < UNITS.len() {
        (number, unit) = (number / 1000.0, unit + 1);
    }
    let digits = if number < 10.0 && unit > 0 { 1 } else { 0 };
    format!("{number:.digits$} {}", UNITS[unit])
}

/// The warning that the samples may not fit on the disk that holds `directory`. They are kept as far as they
/// fit.
pub fn disk(settings: &RunSettings, keep: Keep, budget: Bytes, directory: &Path) -> Option<String> {
    let end = Instant::ZERO + settings.warm_up + settings.duration + settings.users.end.cool_down;
    let pages = settings.flows.iter().filter_map(|flow| flow.load.expected_pages(Instant::ZERO, end));
    let samples = pages.reduce(|sum, own| sum + own)?;
    let samples = settings.users.requests_max.map_or(samples, |most| samples.min(most as f64));
    let share = match keep {
        Keep::All => 1.0,
        Keep::EveryKth(k) => 1.0 / f64::from(k.get()),
        Keep::None => return None,
    };
    let needed = ((samples * share * SAMPLE_BYTES as f64) as u64).min(budget.0);
    let existing = directory.ancestors().find(|path| path.exists())?;
    let disk =
        rustix::fs::statvfs(if existing.as_os_str().is_empty() { Path::new(".") } else { existing }).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    (needed > free).then(|| {
        format!(
            "the samples may take about {} and the disk has {} free: keep fewer with `output.samples`, or write \
             elsewhere with `--out`",
            in_words(needed),
            in_words(free)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_traffic::arrival::ArrivalProcess;

    #[test]
    fn descriptors_for_each_connection_and_the_rest() {
        // Of 100 files 70 are held or kept back: 30 connections fit, 31 do not, and 131 files would hold 61.
        assert_eq!(descriptors_suffice(30, 30, Some(100)), Ok(()));
        let lack = descriptors_suffice(61, 30, Some(100)).expect_err("too many");
        assert_eq!(lack, Lack::Descriptors { connections: 61, available: 30, limit: 100, wanted: 131 });
        assert!(lack.to_string().contains("`ulimit -n 131`"), "{lack}");
        assert_eq!(descriptors_suffice(u64::MAX, u64::MAX, None), Ok(()));
    }

    #[test]
    fn ports_of_all_addresses_count() {
        assert_eq!(ports_suffice(28_232, 0, Some(28_232)), Ok(()));
        assert!(ports_suffice(28_233, 0, Some(28_232)).is_err());
        assert_eq!(ports_suffice(28_233, 2, Some(28_232)), Ok(()));
        assert_eq!(ports_suffice(u64::MAX - 1, u128::MAX, Some(28_232)), Ok(()));
        let lack = ports_suffice(40_000, 1, Some(28_232)).expect_err("too many");
        assert!(lack.to_string().contains("1 local address with 28232 ports"), "{lack}");
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, words) in
            [(999, "999 B"), (1_500, "1.5 kB"), (999_700, "1.0 MB"), (23_700_000_000, "24 GB")]
        {
            assert_eq!(in_words(bytes), words);
        }
    }

    #[test]
    fn visitors_are_bounded_by_half_of_the_free_memory() {
        const MIB: u64 = 1 << 20;
        for (free, most) in [(1024 * MIB, 32_000), (10 * MIB, 1_000), (1 << 50, 1_000_000)] {
            assert_eq!(visitors(Some(free), VISITOR_BYTES).map(NonZeroU32::get), Some(most));
        }
        assert_eq!(visitors(None, VISITOR_BYTES).map(NonZeroU32::get), Some(1_000_000));
        // Over TLS a quarter as many fit.
        let secure = VISITOR_BYTES + VISITOR_SESSION_BYTES;
        assert_eq!(visitors(Some(1024 * MIB), secure).map(NonZeroU32::get), Some(8_000));
        let arrivals = || ArrivalProcess::recorded(Vec::new());
        let mut load = LoadModel::Open { arrivals: arrivals(), users_max: None };
        let bound = bound_visitors([&mut load], &[false], Part::WHOLE);
        assert!(matches!(load, LoadModel::Open { users_max, .. } if bound.is_some() && users_max == bound));
        // A bound that was asked for stays.
        let mut load = LoadModel::Open { arrivals: arrivals(), users_max: NonZeroU32::new(7) };
        assert_eq!(bound_visitors([&mut load], &[false], Part::WHOLE), None);
        assert!(matches!(load, LoadModel::Open { users_max, .. } if users_max == NonZeroU32::new(7)));
    }

    #[test]
    fn what_is_spoken_takes_memory() {
        assert_eq!(protocol_bytes(false, HttpVersion::Http11), 0);
        assert_eq!(protocol_bytes(true, HttpVersion::Http11), SESSION_BYTES);
        assert_eq!(protocol_bytes(true, HttpVersion::Http2), SESSION_BYTES + HTTP2_BYTES);
        assert_eq!(protocol_bytes(true, HttpVersion::Http3), QUIC_BYTES);
    }

    #[test]
    fn memory_names_what_bounds_it() {
        let free = |free| Some(Headroom { free, limit: 9000, bound: "`ulimit -v`" });
        assert_eq!(memory_suffices(10, 300, 500, free(3500)), Ok(()));
        let lack = memory_suffices(11, 300, 500, free(3500)).expect_err("too many");
        assert_eq!(
            lack.to_string(),
            "11 users take at least 3.8 kB of memory, and 3.5 kB are free (`ulimit -v`): ask for fewer users"
        );
        let lack = memory_suffices(11, 300, 4000, free(3500)).expect_err("too little for a run");
        assert!(lack.to_string().starts_with("a run takes at least 4.0 kB of memory, and 3.5 kB"), "{lack}");
        assert_eq!(memory_suffices(u64::MAX, 300, 0, None), Ok(()));
    }

    #[test]
    fn threads_and_rates_that_do_not_fit_are_refused_with_their_numbers() {
        let left = Some(TasksLeft { free: 4, limit: 20 });
        assert_eq!((threads_suffice(4, left), threads_suffice(u64::MAX, None)), (Ok(()), Ok(())));
        let lack = threads_suffice(5, left).expect_err("too many").to_string();
        assert!(lack.contains("5 threads") && lack.contains("4 more") && lack.contains("is 20"), "{lack}");
        let workers = |workers| NonZeroU32::new(workers).unwrap();
        assert_eq!(rate_fits(2e7, workers(2)), Ok(()));
        let lack = rate_fits(1e9, workers(2)).expect_err("too fast").to_string();
        let expected = "the load offers 1.000e9 arrivals a second, and no machine begins more than 2e7 with 2 workers: offer \
                        less (`load.arrivals`, `-R`)";
        assert_eq!(lack, expected);
    }
}
