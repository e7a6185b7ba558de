//! The conditions under which something has given out, and their words.

use super::readings::{ConditionPeriod, ExaminedSeries, Values, at, held, max_from, mean_from, sum};
use super::{BottleneckCause, Exhausted};
use crate::monitor::{SeriesName, SeriesSource, metric};

/// A processor is full above this share. Readings are of kernel ticks, 1 % of a second.
const FULL: f64 = 0.94;
/// The share of full processors that must be the tier's own for them to be full because of it.
const OWN: f64 = 0.5;
/// Workers are the cause only if their processors are busy less than this.
const NOT_FULL: f64 = 0.85;
/// Connections that wait to be accepted, beyond what any reading may find at a server that is well.
const WAITING: f64 = 5.0;
/// A process is out of descriptors with this share of them left: servers keep a few aside.
const DESCRIPTORS_LEFT: f64 = 0.03;
/// Or with this many: a server opens one for a reply and closes it.
const LAST_DESCRIPTOR: f64 = 1.0;
/// The share of a disk's time, of an interface's speed, or of a group's memory beyond which it is full.
const BUSY: f64 = 0.95;
/// The share of its periods in which a control group was throttled, beyond which its quota is used up.
const THROTTLED: f64 = 0.5;
/// Memory is short if less than this share is available.
const MEMORY: f64 = 0.05;
/// Bytes a second read back from swap beyond which memory is short: pages that were pushed out once and come
/// back are no shortage.
const SWAP_IN: f64 = 1_048_576.0;
/// Packets that an interface drops, as a share of those that it carries.
const DROPS: f64 = 0.01;

/// All that gave out.
pub(super) fn all(readings: &ExaminedSeries<'_>, workers_poll: bool) -> Vec<Exhausted> {
    let mut found = Vec::new();
    for tier in readings.tiers() {
        found.extend(cpu_of_tier(readings, tier));
        found.extend(cpu_of_processes(readings, tier));
        found.extend(group_memory(readings, tier));
        found.extend(descriptors(readings, tier));
    }
    if !workers_poll {
        found.extend(generator(readings));
        found.extend(
            machine_cpu(readings).filter(|_| found.iter().all(|one| one.cause != BottleneckCause::Cpu)),
        );
    }
    found.extend(machine_memory(readings));
    found.extend(swap(readings));
    found.extend(disks(readings));
    found.extend(network(readings));
    found.extend(workers(readings, &found));
    found.extend(accept_queues(readings));
    for tier in readings.tiers() {
        found.extend(workers_by_count(readings, tier));
        found.extend(overflows_of_tier(readings, tier));
    }
    found
}

fn exhausted(
    cause: BottleneckCause,
    of: (&str, &str),
    held: ConditionPeriod,
    value: f64,
    limit: Option<f64>,
) -> Exhausted {
    let (tier, name) = (of.0.to_owned(), of.1.to_owned());
    let ConditionPeriod { second, readings } = held;
    Exhausted { cause, tier, name, second, readings, value, limit, in_words: String::new() }
}

impl Exhausted {
    fn says(self, in_words: String) -> Exhausted {
        Exhausted { in_words, ..self }
    }
}

fn cpu(readings: &ExaminedSeries<'_>, name: &SeriesName) -> Values {
    sum(readings.beside(name, metric::CPU_USER), readings.beside(name, metric::CPU_SYSTEM))
}

fn cpu_of(readings: &ExaminedSeries<'_>, tier: &str) -> Values {
    sum(readings.of_tier(tier, metric::CPU_USER), readings.of_tier(tier, metric::CPU_SYSTEM))
}

/// "1 processor", "0.2 processors".
fn processors(number: f64) -> String {
    match format!("{number:.2}").trim_end_matches('0').trim_end_matches('.') {
        "1" => "1 processor".to_owned(),
        number => format!("{number} processors"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).min(100.0))
}

/// The processors that a tier may use: filled by it, filled by it and the kernel's work for it, or its quota
/// used up.
fn cpu_of_tier(readings: &ExaminedSeries<'_>, tier: &str) -> Option<Exhausted> {
    let used = cpu_of(readings, tier);
    let limits = readings.of_tier(tier, metric::CPU_LIMIT)?;
    let limit = limits.values().copied().next_back().filter(|limit| *limit > 0.0)?;
    let make = |held, value| exhausted(BottleneckCause::Cpu, (tier, ""), held, value, Some(limit));
    if let Some(throttled) = readings.of_tier(tier, metric::THROTTLED)
        && let Some(held) = held(throttled, |_, share| share >= THROTTLED)
    {
        let share = percent(mean_from(throttled, held.second));
        return Some(make(held, mean_from(&used, held.second)).says(format!(
            "the {tier}'s limit of {} was used up from second {} (throttled in {share} of its periods)",
            processors(limit),
            held.second
        )));
    }
    let around = readings.of_tier(tier, metric::PROCESSORS_BUSY);
    let full = |second: u64, used: f64| {
        let around = around.and_then(|around| around.get(&second)).copied().unwrap_or(0.0);
        used >= FULL * limit || around >= FULL && used >= OWN * limit
    };
    let held = held(&used, full)?;
    let value = mean_from(&used, held.second);
    let all = around.map_or(0.0, |around| mean_from(around, held.second));
    let beside = match value < FULL * limit && all > 0.0 {
        true => format!(", with other work {}", percent(all)),
        false => String::new(),
    };
    let whose = if limit == 1.0 { "processor was" } else { "processors were" };
    Some(make(held, value).says(format!(
        "the {tier}'s {whose} full from second {} ({} of {}{beside})",
        held.second,
        percent(value / limit),
        processors(limit)
    )))
}

/// Processes of one thread that use one processor fully, where there are more.
fn cpu_of_processes(readings: &ExaminedSeries<'_>, tier: &str) -> Option<Exhausted> {
    let limit = readings.of_tier(tier, metric::CPU_LIMIT).and_then(|limit| limit.values().next_back());
    if limit.is_none_or(|limit| *limit <= 1.0) {
        return None;
    }
    let of_tier =
        readings.each(SeriesSource::Process, metric::CPU_USER).filter(|(name, _)| name.tier == tier);
    let mut found: Vec<(ConditionPeriod, &SeriesName, f64)> = of_tier
        .filter_map(|(name, _)| {
            let used = cpu(readings, name);
            let threads = readings.beside(name, metric::THREADS)?;
            let alone = |second| at(threads, second).is_some_and(|threads| threads <= 1.0);
            let held = held(&used, |second, used| used >= FULL && alone(second))?;
            Some((held, name, mean_from(&used, held.second)))
        })
        .collect();
    found.sort_by_key(|(held, name, _)| (held.second, name.pid));
    let (held, name, value) = found.first()?;
    let (many, pid) = (found.len(), name.pid.unwrap_or(0));
    let others = if many > 1 { format!(" and {} more like it", many - 1) } else { String::new() };
    Some(exhausted(BottleneckCause::Cpu, (tier, &name.name), *held, *value, Some(1.0)).says(format!(
        "process {} ({pid}) of the {tier}{others}, of one thread each, filled a processor from second {} ({})",
        name.name,
        held.second,
        percent(*value)
    )))
}

/// Processor time of the machine, with what a hypervisor took of it.
fn cpu_of_machine(readings: &ExaminedSeries<'_>) -> Values {
    let of = |metric| readings.only(SeriesSource::Machine, metric);
    let used = sum(of(metric::CPU_USER), of(metric::CPU_SYSTEM));
    match of(metric::CPU_STEAL) {
        Some(steal) => sum(Some(&used), Some(steal)),
        None => used,
    }
}

/// All processors of the machine are busy, at least half of them with the tiers and farfield.
fn machine_cpu(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let used = cpu_of_machine(readings);
    let number = at(readings.only(SeriesSource::Machine, metric::PROCESSORS)?, u64::MAX)?;
    let own = sum(
        readings.only(SeriesSource::Generator, metric::CPU_USER),
        readings.only(SeriesSource::Generator, metric::CPU_SYSTEM),
    );
    let tiers: Vec<(&str, Values)> =
        readings.tiers().into_iter().map(|tier| (tier, cpu_of(readings, tier))).collect();
    let of_run = |second: u64| {
        let all = tiers.iter().map(|(_, used)| used).chain([&own]);
        all.filter_map(|used| used.get(&second)).sum::<f64>()
    };
    // Other work that fills the machine is not the run's, and the verdict judges it.
    let held = held(&used, |second, used| used >= FULL * number && of_run(second) >= OWN * number)?;
    let value = mean_from(&used, held.second);
    let of_tiers = tiers.iter().map(|(tier, used)| format!("{tier} {:.2}", mean_from(used, held.second)));
    let parts: Vec<String> =
        of_tiers.chain([format!("farfield {:.2}", mean_from(&own, held.second))]).collect();
    Some(exhausted(BottleneckCause::MachineCpu, ("", ""), held, value, Some(number)).says(format!(
        "all {} of the machine were full from second {} ({})",
        processors(number),
        held.second,
        parts.join(", ")
    )))
}

/// The first worker of the generator whose processor is full.
fn generator(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let workers = readings.each(SeriesSource::Thread, metric::CPU_USER);
    let workers = workers.filter(|(name, _)| name.name.starts_with("worker"));
    let full = workers.filter_map(|(name, _)| {
        let used = cpu(readings, name);
        let held = held(&used, |_, used| used >= FULL)?;
        Some((held, name, mean_from(&used, held.second)))
    });
    let (held, name, value) = full.min_by_key(|(held, name, _)| (held.second, name.pid))?;
    Some(exhausted(BottleneckCause::Generator, ("", &name.name), held, value, Some(1.0)).says(format!(
        "the generator's {} was full from second {} ({} of 1 processor)",
        name.name,
        held.second,
        percent(value)
    )))
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.0} MiB", bytes / 1_048_576.0)
}

fn group_memory(readings: &ExaminedSeries<'_>, tier: &str) -> Option<Exhausted> {
    let used = readings.of_tier(tier, metric::GROUP_MEMORY)?;
    let limit = at(readings.of_tier(tier, metric::GROUP_MEMORY_LIMIT)?, u64::MAX)?;
    let held = held(used, |_, used| used >= BUSY * limit)?;
    let value = max_from(used, held.second);
    Some(exhausted(BottleneckCause::Memory, (tier, ""), held, value, Some(limit)).says(format!(
        "the {tier}'s memory was used up from second {} ({} of {})",
        held.second,
        mebibytes(value),
        mebibytes(limit)
    )))
}

fn machine_memory(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let available = readings.only(SeriesSource::Machine, metric::MEMORY_AVAILABLE)?;
    let total = at(readings.only(SeriesSource::Machine, metric::MEMORY_TOTAL)?, u64::MAX)?;
    let held = held(available, |_, available| available < MEMORY * total)?;
    let least = available.range(held.second..).map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    Some(exhausted(BottleneckCause::Memory, ("", ""), held, total - least, Some(total)).says(format!(
        "the machine's memory was used up from second {} ({} of {} available)",
        held.second,
        mebibytes(least),
        mebibytes(total)
    )))
}

fn swap(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let read = readings.only(SeriesSource::Machine, metric::SWAP_IN)?;
    let held = held(read, |_, bytes| bytes >= SWAP_IN)?;
    let value = max_from(read, held.second);
    Some(exhausted(BottleneckCause::Swap, ("", ""), held, value, None).says(format!(
        "memory was read back from swap from second {} (up to {} a second)",
        held.second,
        mebibytes(value)
    )))
}

/// The first process of a tier that has no descriptors left.
fn descriptors(readings: &ExaminedSeries<'_>, tier: &str) -> Option<Exhausted> {
    let of_tier =
        readings.each(SeriesSource::Process, metric::DESCRIPTORS).filter(|(name, _)| name.tier == tier);
    let full = of_tier.filter_map(|(name, open)| {
        let limits = readings.beside(name, metric::DESCRIPTORS_LIMIT)?;
        let limit = at(limits, u64::MAX)?;
        let left = (DESCRIPTORS_LEFT * limit).max(LAST_DESCRIPTOR);
        let held = held(open, |_, open| open >= limit - left)?;
        Some((held, name, max_from(open, held.second), limit))
    });
    let (held, name, value, limit) = full.min_by_key(|(held, name, ..)| (held.second, name.pid))?;
    Some(exhausted(BottleneckCause::Descriptors, (tier, &name.name), held, value, Some(limit)).says(format!(
        "process {} ({}) of the {tier} had no descriptors left from second {} ({value} of {limit})",
        name.name,
        name.pid.unwrap_or(0),
        held.second
    )))
}

fn disks(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let full = readings.each(SeriesSource::Disk, metric::BUSY).filter_map(|(name, busy)| {
        let held = held(busy, |_, busy| busy >= BUSY)?;
        Some((held, name, mean_from(busy, held.second)))
    });
    let (held, name, value) = full.min_by_key(|(held, ..)| held.second)?;
    Some(exhausted(BottleneckCause::Disk, ("", &name.name), held, value, Some(1.0)).says(format!(
        "disk {} was busy all the time from second {} ({})",
        name.name,
        held.second,
        percent(value)
    )))
}

/// An interface that carries all it can or drops packets, or TCP without memory.
fn network(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let directions = [
        (metric::RECEIVED_BYTES, metric::RECEIVED_PACKETS, metric::RECEIVE_DROPS),
        (metric::SENT_BYTES, metric::SENT_PACKETS, metric::SEND_DROPS),
    ];
    for (bytes, packets, drops) in directions {
        for (name, carried) in readings.each(SeriesSource::Interface, bytes) {
            let speed = readings.beside(name, metric::SPEED).and_then(|speed| at(speed, u64::MAX));
            if let Some(speed) = speed
                && let Some(held) = held(carried, |_, carried| carried >= BUSY * speed)
            {
                let value = mean_from(carried, held.second);
                let words = format!(
                    "interface {} was full from second {} ({} of {:.0} Mbit/s)",
                    name.name,
                    held.second,
                    percent(value / speed),
                    speed * 8e-6
                );
                let found = exhausted(BottleneckCause::Network, ("", &name.name), held, value, Some(speed));
                return Some(found.says(words));
            }
            let packets = readings.beside(name, packets);
            let Some(dropped) = readings.beside(name, drops) else { continue };
            let carried = |second| packets.and_then(|packets| packets.get(&second)).copied().unwrap_or(0.0);
            let too_many = |second, drops| drops >= 10.0 && drops >= DROPS * (carried(second) + drops);
            if let Some(held) = held(dropped, too_many) {
                let value = mean_from(dropped, held.second);
                let found = exhausted(BottleneckCause::Network, ("", &name.name), held, value, None);
                return Some(found.says(format!(
                    "interface {} dropped packets from second {} ({value:.0} a second)",
                    name.name, held.second
                )));
            }
        }
    }
    udp_buffers(readings).or_else(|| tcp_memory(readings))
}

/// Receive buffers of UDP sockets that are full: whoever reads them is too slow, and what is dropped looks
/// like a loss of the network's.
fn udp_buffers(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let errors = |metric| readings.only(SeriesSource::Network, metric);
    let dropped = sum(errors(metric::UDP_BUFFER_ERRORS), errors(metric::UDP6_BUFFER_ERRORS));
    let held = held(&dropped, |_, dropped| dropped > 0.0)?;
    let value = mean_from(&dropped, held.second);
    let second = held.second;
    Some(exhausted(BottleneckCause::Network, ("", "udp-buffers"), held, value, None).says(format!(
        "receive buffers of UDP sockets were full from second {second} ({value:.0} datagrams a second dropped)"
    )))
}

fn tcp_memory(readings: &ExaminedSeries<'_>) -> Option<Exhausted> {
    let pressures = readings.only(SeriesSource::Network, metric::TCP_MEMORY_PRESSURES)?;
    let held = held(pressures, |_, pressures| pressures > 0.0)?;
    Some(
        exhausted(BottleneckCause::Network, ("", "tcp-memory"), held, max_from(pressures, held.second), None)
            .says(format!("the kernel's memory for TCP was used up from second {}", held.second)),
    )
}

/// A tier whose processes and threads are as many as they will be, and leave connections in the accept queue
/// although its processors are not full.
fn workers(readings: &ExaminedSeries<'_>, found: &[Exhausted]) -> Option<Exhausted> {
    let explained = [
        BottleneckCause::Cpu,
        BottleneckCause::MachineCpu,
        BottleneckCause::Descriptors,
        BottleneckCause::Memory,
        BottleneckCause::Swap,
    ];
    readings.each(SeriesSource::Listener, metric::ACCEPT_QUEUE).find_map(|(listener, waiting)| {
        let tier = listener.tier.as_str();
        let threads = readings.of_tier(tier, metric::THREADS)?;
        let used = cpu_of(readings, tier);
        let limit = at(readings.of_tier(tier, metric::CPU_LIMIT)?, u64::MAX)?;
        let stuck = |second: u64, waiting: f64| {
            let idle = at(&used, second).is_some_and(|used| used < NOT_FULL * limit);
            let before = threads.range(..second).next_back().map(|(_, threads)| *threads);
            let grows = before.zip(at(threads, second)).is_some_and(|(before, now)| now > before);
            waiting >= WAITING && idle && !grows
        };
        let held = held(waiting, stuck)?;
        let explains = |one: &Exhausted| explained.contains(&one.cause) && one.second <= held.second;
        if found.iter().any(explains) {
            return None;
        }
        let number = at(threads, u64::MAX)?;
        let processes = at(readings.of_tier(tier, metric::PROCESSES)?, u64::MAX)?;
        let (value, busy) = (max_from(waiting, held.second), mean_from(&used, held.second));
        let these = match number == processes {
            true => format!("{processes} processes"),
            false => format!("{number} threads in {processes} processes"),
        };
        Some(exhausted(BottleneckCause::Workers, (tier, &listener.name), held, number, Some(number)).says(format!(
            "the {tier}'s {these} took no more connections from second {} (up to {value} waited at {}, while it used {} of {})",
            held.second,
            listener.name,
            percent(busy / limit),
            processors(limit)
        )))
    })
}

/// A tier that counts its workers itself, as Apache does, and has none that is idle.
fn workers_by_count(readings: &ExaminedSeries<'_>, tier: &str) -> Option<Exhausted> {
    let idle = readings.of_tier(tier, metric::WORKERS_IDLE)?;
    let busy = readings.of_tier(tier, metric::WORKERS_BUSY)?;
    let held = held(idle, |_, idle| idle < 1.0)?;
    let value = max_from(busy, held.second);
    let found = exhausted(BottleneckCause::Workers, (tier, ""), held, value, Some(value));
    Some(found.says(format!("all {value} workers of the {tier} were busy from second {}", held.second)))
}

/// A tier on another machine, of which overflows are known but no accept queue.
fn overflows_of_tier(readings: &ExaminedSeries<'_>, tier: &str) -> Option<Exhausted> {
    let overflows = readings.of_tier(tier, metric::LISTEN_OVERFLOWS)?;
    let held = held(overflows, |_, overflows| overflows > 0.0)?;
    let value = mean_from(overflows, held.second);
    let found = exhausted(BottleneckCause::AcceptQueue, (tier, ""), held, value, None);
    Some(found.says(format!(
        "an accept queue of the {tier} overflowed from second {} ({value:.0} times a second)",
        held.second
    )))
}

fn is_full(waiting: f64, limit: Option<f64>) -> bool {
    limit.is_some_and(|limit| limit > 0.0 && waiting >= limit)
}

/// Accept queues that are full, or overflow, in a row.
fn accept_queues(readings: &ExaminedSeries<'_>) -> Vec<Exhausted> {
    let overflows = readings.only(SeriesSource::Network, metric::LISTEN_OVERFLOWS);
    let overflowed = |second: u64| {
        overflows.and_then(|overflows| overflows.get(&second)).is_some_and(|count| *count > 0.0)
    };
    let queues: Vec<_> = readings.each(SeriesSource::Listener, metric::ACCEPT_QUEUE).collect();
    let found = queues.iter().filter_map(|(name, waiting)| {
        let limit = readings.beside(name, metric::ACCEPT_QUEUE_LIMIT).and_then(|limit| at(limit, u64::MAX));
        // Overflows are counted for a namespace, not for a listener.
        let alone = queues.len() == 1;
        let held = held(waiting, |second, waiting| is_full(waiting, limit) || alone && overflowed(second))?;
        let value = max_from(waiting, held.second);
        let limit_in_words = limit.map_or(String::new(), |limit| format!("/{limit}"));
        let lost = overflows.map_or(0.0, |overflows| mean_from(overflows, held.second));
        let lost = if lost > 0.0 { format!(", {lost:.0} overflows a second") } else { String::new() };
        let found = exhausted(BottleneckCause::AcceptQueue, (&name.tier, &name.name), held, value, limit);
        Some(found.says(format!(
            "accept queue of {} {value}{limit_in_words} from second {}{lost}",
            name.name, held.second
        )))
    });
    found.collect()
}

/// The remark that an accept queue overflowed, but not for long enough to have given out.
pub(super) fn brief_overflows(readings: &ExaminedSeries<'_>, found: &[Exhausted]) -> Option<String> {
    if found.iter().any(|one| one.cause == BottleneckCause::AcceptQueue) {
        return None;
    }
    let overflows = readings.only(SeriesSource::Network, metric::LISTEN_OVERFLOWS)?;
    let mut seconds = overflows.iter().filter(|(_, count)| **count > 0.0);
    let (first, _) = seconds.next()?;
    let number = 1 + seconds.count();
    Some(format!(
        "an accept queue overflowed in {number} of {} seconds, the first of them second {first}: SYNs sent again \
         take 1 s and more",
        overflows.len()
    ))
}

/// The sentence that nothing gave out, with the most that was used of each tier's processors and queues: a
/// line on a terminal, where there is one tier with one listener.
pub(super) fn nothing_in_words(readings: &ExaminedSeries<'_>) -> String {
    let mut parts: Vec<String> = readings
        .tiers()
        .into_iter()
        .filter_map(|tier| {
            let used = cpu_of(readings, tier);
            let limit = at(readings.of_tier(tier, metric::CPU_LIMIT)?, u64::MAX)?;
            (!used.is_empty()).then(|| {
                let share = percent(max_from(&used, 0) / limit);
                format!("{tier} {share} of {}", processors(limit))
            })
        })
        .collect();
    let queues: Vec<_> = readings.each(SeriesSource::Listener, metric::ACCEPT_QUEUE).collect();
    let alone = queues.len() == 1;
    parts.extend(queues.into_iter().filter_map(|(name, waiting)| {
        let limit = at(readings.beside(name, metric::ACCEPT_QUEUE_LIMIT)?, u64::MAX)?;
        let of = if alone { String::new() } else { format!(" of {}", name.name) };
        Some(format!("accept queue{of} {}/{limit}", max_from(waiting, 0)))
    }));
    let number =
        readings.only(SeriesSource::Machine, metric::PROCESSORS).and_then(|number| at(number, u64::MAX));
    let filled = number.and_then(|number| held(&cpu_of_machine(readings), |_, used| used >= FULL * number));
    if let Some(filled) = filled {
        parts.push(format!("but work of others filled the machine from second {}", filled.second));
    }
    match parts.is_empty() {
        true => "nothing gave out that was read".to_owned(),
        false => format!("nothing gave out: {}", parts.join(", ")),
    }
}
