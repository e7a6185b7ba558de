//! A scene for each cause: what gives out, and what does not.

use super::*;
use crate::monitor::{MonitorLog, SeriesName, SeriesSource, metric};
use farfield_base::Instant;

/// Seconds of a scene.
const SECONDS: u64 = 10;

/// A value for each second.
type BySecond = Box<dyn Fn(u64) -> f64>;

/// A server of two processors that is half busy, on a machine of four, and a generator that is well. Series
/// are laid over it.
struct Scene {
    series: Vec<(SeriesName, BySecond)>,
    workers_poll: bool,
}

fn name(source: SeriesSource, tier: &str, name: &str, pid: Option<u32>, metric: &str) -> SeriesName {
    SeriesName { source, tier: tier.to_owned(), name: name.to_owned(), pid, metric: metric.to_owned() }
}

fn of_tier(metric: &str) -> SeriesName {
    name(SeriesSource::Tier, "server", "", None, metric)
}

fn of_machine(metric: &str) -> SeriesName {
    name(SeriesSource::Machine, "", "", None, metric)
}

fn of_listener(metric: &str) -> SeriesName {
    name(SeriesSource::Listener, "server", "0.0.0.0:80", None, metric)
}

fn of_process(pid: u32, metric: &str) -> SeriesName {
    name(SeriesSource::Process, "server", "nginx", Some(pid), metric)
}

fn of_network(metric: &str) -> SeriesName {
    name(SeriesSource::Network, "", "", None, metric)
}

impl Scene {
    fn well() -> Scene {
        let scene = Scene { series: Vec::new(), workers_poll: false };
        let worker = |metric| name(SeriesSource::Thread, "", "worker-0", Some(9), metric);
        let scene = scene
            .with(of_tier(metric::CPU_USER), |_| 0.6)
            .with(of_tier(metric::CPU_SYSTEM), |_| 0.4)
            .with(of_tier(metric::CPU_LIMIT), |_| 2.0)
            .with(of_tier(metric::THREADS), |_| 5.0)
            .with(of_tier(metric::PROCESSES), |_| 5.0)
            .with(of_machine(metric::PROCESSORS), |_| 4.0)
            .with(of_machine(metric::CPU_USER), |_| 1.0)
            .with(of_machine(metric::CPU_SYSTEM), |_| 0.5)
            .with(of_machine(metric::CPU_STEAL), |_| 0.0)
            .with(of_machine(metric::MEMORY_TOTAL), |_| 8e9);
        scene
            .with(of_machine(metric::MEMORY_AVAILABLE), |_| 4e9)
            .with(of_listener(metric::ACCEPT_QUEUE), |second| (second % 3) as f64)
            .with(of_listener(metric::ACCEPT_QUEUE_LIMIT), |_| 511.0)
            .with(of_network(metric::LISTEN_OVERFLOWS), |_| 0.0)
            .with(worker(metric::CPU_USER), |_| 0.3)
            .with(worker(metric::CPU_SYSTEM), |_| 0.3)
    }

    /// The scene with `values` for the series, in place of others of that name.
    fn with(mut self, name: SeriesName, values: impl Fn(u64) -> f64 + 'static) -> Scene {
        self.series.retain(|(other, _)| *other != name);
        self.series.push((name, Box::new(values)));
        self
    }

    fn log(&self) -> MonitorLog {
        let mut log = MonitorLog::default();
        for second in 0..SECONDS {
            log.begin(second, Instant::from_ns((second + 1) * 1_000_000_000));
            for (name, values) in &self.series {
                let id = log.series(name.clone()).expect("few series");
                log.put(id, values(second));
            }
        }
        log.end();
        log
    }

    fn found(&self) -> Bottleneck {
        let examined = Examined { seconds: SECONDS, workers_poll: self.workers_poll };
        find(&self.log(), examined).expect("readings")
    }
}

/// `after` from second `from` on, before that `before`.
fn step(from: u64, before: f64, after: f64) -> impl Fn(u64) -> f64 {
    move |second| if second >= from { after } else { before }
}

/// Checks what gave out in the scene, with the second of each and a part of its words.
#[track_caller]
fn check(scene: &Scene, expected: &[(BottleneckCause, u64, &str)]) {
    let found = scene.found();
    let causes: Vec<_> = found.exhausted.iter().map(|one| (one.cause, one.second)).collect();
    let wanted: Vec<_> = expected.iter().map(|(cause, second, _)| (*cause, *second)).collect();
    assert_eq!(causes, wanted, "{found:#?}");
    assert_eq!(found.first, expected.first().map(|(cause, ..)| *cause));
    for (one, (_, _, words)) in found.exhausted.iter().zip(expected) {
        assert!(one.in_words.contains(words), "`{words}` is not in `{}`", one.in_words);
        assert!(found.in_words.contains(&one.in_words), "{}", found.in_words);
    }
}

#[test]
fn nothing_gave_out() {
    let scene = Scene::well();
    check(&scene, &[]);
    let words = scene.found().in_words;
    assert_eq!(words, "nothing gave out: server 50 % of 2 processors, accept queue 2/511");
}

/// As in the issue: the processor first, then the queue behind it.
#[test]
fn a_full_processor_comes_before_the_queue_that_it_leaves() {
    let scene = Scene::well()
        .with(of_tier(metric::CPU_LIMIT), |_| 1.0)
        .with(of_tier(metric::CPU_USER), step(4, 0.3, 0.5))
        .with(of_tier(metric::CPU_SYSTEM), step(4, 0.2, 0.48))
        .with(of_listener(metric::ACCEPT_QUEUE), step(6, 0.0, 511.0));
    let cpu = "the server's processor was full from second 4 (98 % of 1 processor)";
    let queue = "accept queue of 0.0.0.0:80 511/511 from second 6";
    check(&scene, &[(BottleneckCause::Cpu, 4, cpu), (BottleneckCause::AcceptQueue, 6, queue)]);
    assert_eq!(scene.found().in_words, format!("{cpu}; {queue}"));
    let same_second = scene.with(of_listener(metric::ACCEPT_QUEUE), step(4, 0.0, 511.0));
    assert_eq!(same_second.found().first, Some(BottleneckCause::Cpu));
}

/// The server's packets are the kernel's work on the same processors.
#[test]
fn processors_that_the_server_fills_with_the_kernel_are_full() {
    let scene = Scene::well()
        .with(of_tier(metric::CPU_USER), |_| 0.9)
        .with(of_tier(metric::CPU_SYSTEM), |_| 0.7)
        .with(of_tier(metric::PROCESSORS_BUSY), step(2, 0.9, 0.99));
    check(&scene, &[(BottleneckCause::Cpu, 2, "(80 % of 2 processors, with other work 99 %)")]);
    // Others fill them: that is not the server's doing.
    let others = Scene::well()
        .with(of_tier(metric::CPU_USER), |_| 0.1)
        .with(of_tier(metric::PROCESSORS_BUSY), |_| 0.99);
    check(&others, &[]);
}

#[test]
fn a_quota_that_is_used_up_is_a_limit_of_its_own() {
    let scene = Scene::well()
        .with(of_tier(metric::CPU_LIMIT), |_| 0.2)
        .with(of_tier(metric::CPU_USER), |_| 0.12)
        .with(of_tier(metric::CPU_SYSTEM), |_| 0.06)
        .with(of_tier(metric::THROTTLED), step(3, 0.0, 0.87));
    let words =
        "the server's limit of 0.2 processors was used up from second 3 (throttled in 87 % of its periods)";
    check(&scene, &[(BottleneckCause::Cpu, 3, words)]);
}

#[test]
fn a_process_of_one_thread_can_fill_only_one_processor() {
    let with = |threads: f64| {
        Scene::well()
            .with(of_process(7, metric::CPU_USER), step(5, 0.2, 0.6))
            .with(of_process(7, metric::CPU_SYSTEM), |_| 0.39)
            .with(of_process(7, metric::THREADS), move |_| threads)
    };
    check(
        &with(1.0),
        &[(BottleneckCause::Cpu, 5, "process nginx (7) of the server, of one thread each, filled")],
    );
    check(&with(2.0), &[]);
}

#[test]
fn a_machine_that_is_full_is_reported_with_whose_work_it_is() {
    let of_generator = |metric| name(SeriesSource::Generator, "", "", None, metric);
    let scene = Scene::well()
        .with(of_machine(metric::CPU_USER), step(1, 1.0, 3.4))
        .with(of_generator(metric::CPU_USER), |_| 1.25)
        .with(of_generator(metric::CPU_SYSTEM), |_| 0.25);
    let words = "all 4 processors of the machine were full from second 1 (server 1.00, farfield 1.50)";
    check(&scene, &[(BottleneckCause::MachineCpu, 1, words)]);
    // Others fill it, and connections that wait are no sign of them.
    let others = scene.with(of_generator(metric::CPU_USER), |_| 0.1);
    check(&others, &[]);
    let words = others.found().in_words;
    assert!(words.ends_with(", but work of others filled the machine from second 1"), "{words}");
    let others = others.with(of_listener(metric::ACCEPT_QUEUE), step(3, 0.0, 62.0));
    check(&others, &[(BottleneckCause::Workers, 3, "the server's 5 processes took no more connections")]);
}

/// Apache's prefork with all its processes busy: connections wait, and the processors idle.
#[test]
fn workers_that_are_all_busy_leave_connections_waiting() {
    let scene = Scene::well()
        .with(of_tier(metric::CPU_USER), |_| 0.02)
        .with(of_tier(metric::CPU_SYSTEM), |_| 0.02)
        .with(of_tier(metric::THREADS), |second| (second + 1).min(5) as f64)
        .with(of_tier(metric::PROCESSES), |second| (second + 1).min(5) as f64)
        .with(of_listener(metric::ACCEPT_QUEUE), step(3, 0.0, 62.0));
    // The fifth process is there in second 4, and after it there are no more.
    let words = "the server's 5 processes took no more connections from second 5 (up to 62 waited at 0.0.0.0:80, while it \
                 used 2 % of 2 processors)";
    check(&scene, &[(BottleneckCause::Workers, 5, words)]);
    let growing = scene.with(of_tier(metric::THREADS), |second| second as f64);
    check(&growing, &[]);
}

#[test]
fn a_full_accept_queue_is_reported_and_a_short_overflow_noted() {
    let full = Scene::well()
        .with(of_tier(metric::CPU_USER), |_| 1.4)
        .with(of_listener(metric::ACCEPT_QUEUE_LIMIT), |_| 4.0)
        .with(of_listener(metric::ACCEPT_QUEUE), step(2, 0.0, 5.0))
        .with(of_network(metric::LISTEN_OVERFLOWS), step(2, 0.0, 17.0));
    let words = "accept queue of 0.0.0.0:80 5/4 from second 2, 17 overflows a second";
    check(&full, &[(BottleneckCause::AcceptQueue, 2, words)]);
    let brief = Scene::well()
        .with(of_network(metric::LISTEN_OVERFLOWS), |second| if second == 1 { 9.0 } else { 0.0 });
    check(&brief, &[]);
    let notes = brief.found().notes;
    assert!(notes[0].starts_with("an accept queue overflowed in 1 of 10 seconds, the first"), "{notes:?}");
}

#[test]
fn full_receive_buffers_of_udp_are_reported() {
    let words = "receive buffers of UDP sockets were full from second 4 (150 datagrams a second dropped)";
    for (v4, v6) in [(150.0, 0.0), (0.0, 150.0), (100.0, 50.0)] {
        let scene = Scene::well()
            .with(of_network(metric::UDP_BUFFER_ERRORS), step(4, 0.0, v4))
            .with(of_network(metric::UDP6_BUFFER_ERRORS), step(4, 0.0, v6));
        check(&scene, &[(BottleneckCause::Network, 4, words)]);
    }
    let brief = Scene::well()
        .with(of_network(metric::UDP_BUFFER_ERRORS), |second| if second == 1 { 9.0 } else { 0.0 });
    check(&brief, &[]);
}

#[test]
fn a_process_without_descriptors_explains_connections_that_wait() {
    let scene = Scene::well()
        .with(of_process(7, metric::DESCRIPTORS), step(3, 20.0, 64.0))
        .with(of_process(7, metric::DESCRIPTORS_LIMIT), |_| 64.0)
        .with(of_listener(metric::ACCEPT_QUEUE), step(4, 0.0, 100.0));
    let words = "process nginx (7) of the server had no descriptors left from second 3 (64 of 64)";
    check(&scene, &[(BottleneckCause::Descriptors, 3, words)]);
    // One of a few comes and goes with the replies; two are left for connections.
    let few = |open| {
        Scene::well()
            .with(of_process(7, metric::DESCRIPTORS), step(3, 20.0, open))
            .with(of_process(7, metric::DESCRIPTORS_LIMIT), |_| 32.0)
    };
    let words = "process nginx (7) of the server had no descriptors left from second 3 (31 of 32)";
    check(&few(31.0), &[(BottleneckCause::Descriptors, 3, words)]);
    check(&few(30.0), &[]);
}

#[test]
fn memory_and_swap() {
    let machine = Scene::well().with(of_machine(metric::MEMORY_AVAILABLE), step(5, 4e9, 1e8));
    check(
        &machine,
        &[(BottleneckCause::Memory, 5, "the machine's memory was used up from second 5 (95 MiB of 7629 MiB")],
    );
    let group = Scene::well()
        .with(of_tier(metric::GROUP_MEMORY_LIMIT), |_| 67_108_864.0)
        .with(of_tier(metric::GROUP_MEMORY), step(6, 1e6, 66_500_000.0));
    check(
        &group,
        &[(BottleneckCause::Memory, 6, "the server's memory was used up from second 6 (63 MiB of 64 MiB)")],
    );
    let swap = Scene::well().with(of_machine(metric::SWAP_IN), step(2, 4096.0, 3e7));
    check(&swap, &[(BottleneckCause::Swap, 2, "memory was read back from swap from second 2")]);
}

#[test]
fn disk_and_network() {
    let disk =
        Scene::well().with(name(SeriesSource::Disk, "", "vda", None, metric::BUSY), step(7, 0.5, 0.99));
    check(&disk, &[(BottleneckCause::Disk, 7, "disk vda was busy all the time from second 7 (99 %)")]);
    let interface = |metric| name(SeriesSource::Interface, "", "eth0", None, metric);
    let full = Scene::well()
        .with(interface(metric::SPEED), |_| 125e6)
        .with(interface(metric::SENT_BYTES), step(4, 1e6, 123e6));
    check(
        &full,
        &[(BottleneckCause::Network, 4, "interface eth0 was full from second 4 (98 % of 1000 Mbit/s)")],
    );
    let drops = Scene::well()
        .with(interface(metric::RECEIVED_BYTES), |_| 1e6)
        .with(interface(metric::RECEIVED_PACKETS), |_| 1e4)
        .with(interface(metric::RECEIVE_DROPS), step(4, 0.0, 500.0));
    check(
        &drops,
        &[(BottleneckCause::Network, 4, "interface eth0 dropped packets from second 4 (500 a second)")],
    );
    let memory = Scene::well().with(of_network(metric::TCP_MEMORY_PRESSURES), step(1, 0.0, 1.0));
    check(&memory, &[(BottleneckCause::Network, 1, "memory for TCP")]);
}

/// On another machine, as exporters report it.
#[test]
fn what_exporters_count_is_enough() {
    let scene = Scene::well()
        .with(of_tier(metric::WORKERS_BUSY), step(3, 20.0, 150.0))
        .with(of_tier(metric::WORKERS_IDLE), step(3, 30.0, 0.0))
        .with(of_tier(metric::LISTEN_OVERFLOWS), step(5, 0.0, 12.0));
    let words = "all 150 workers of the server were busy from second 3";
    let queue = "an accept queue of the server overflowed from second 5 (12 times a second)";
    check(&scene, &[(BottleneckCause::Workers, 3, words), (BottleneckCause::AcceptQueue, 5, queue)]);
}

#[test]
fn the_generator_itself_comes_first() {
    let worker = |metric| name(SeriesSource::Thread, "", "worker-1", Some(10), metric);
    let mut scene = Scene::well()
        .with(worker(metric::CPU_USER), |_| 0.5)
        .with(worker(metric::CPU_SYSTEM), step(2, 0.1, 0.49))
        .with(of_tier(metric::CPU_USER), step(2, 0.1, 1.6));
    let words = "the generator's worker-1 was full from second 2 (99 % of 1 processor)";
    check(&scene, &[(BottleneckCause::Generator, 2, words), (BottleneckCause::Cpu, 2, "")]);
    // Workers that poll are always full, and nothing follows from it.
    scene.workers_poll = true;
    check(&scene, &[(BottleneckCause::Cpu, 2, "")]);
}

/// A cause in one reading, or two, is a start or a collection of garbage.
#[test]
fn a_moment_is_no_bottleneck() {
    let moments = Scene::well()
        .with(of_tier(metric::CPU_USER), |second| if second % 3 < 2 { 1.6 } else { 0.1 })
        .with(of_listener(metric::ACCEPT_QUEUE), |second| if second % 3 < 2 { 600.0 } else { 0.0 });
    check(&moments, &[]);
}

/// A drain is without load, and a run of two seconds has two readings.
#[test]
fn only_the_seconds_with_load_are_examined() {
    let late = Scene::well().with(of_tier(metric::CPU_USER), step(5, 0.1, 1.9));
    let until = |seconds| find(&late.log(), Examined { seconds, workers_poll: false });
    assert_eq!(until(5).expect("readings").first, None);
    assert_eq!(until(7).expect("readings").first, None);
    assert_eq!(until(8).expect("readings").first, Some(BottleneckCause::Cpu));
    assert_eq!(until(0), None);
    let short = Scene::well().with(of_tier(metric::CPU_USER), |_| 1.9);
    let found = find(&short.log(), Examined { seconds: 2, workers_poll: false }).expect("readings");
    assert_eq!((found.first, found.seconds), (Some(BottleneckCause::Cpu), 2));
}
