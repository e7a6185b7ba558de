//! Other load on the machine during a run: work of other processes, what it cost the server, and time stolen
//! by a hypervisor.
//!
//! `/proc/stat` is read before the workers start and after they have ended, for the processors that this
//! process may use. The time of farfield, of the threads that receive its packets and of the server, if that
//! is known, is subtracted. The counts are kernel ticks of mostly 10 ms: good for shares of a run of seconds,
//! not of milliseconds.

use crate::emulated::JoinedServer;
use crate::other_processes::OtherProcesses;
use crate::own_limits::OwnLimits;
use crate::server_threads::{self, ServerThreads};
use farfield_base::Duration;
use farfield_files::system;
use farfield_measure::{EngineStats, MachineStats, ServerTime};
use farfield_os::clock::process_cpu;
use farfield_os::processors;
use farfield_testbed::RunningServer;
use std::collections::VecDeque;
use std::ops::Range;

/// The server of a run, if its processes are known: their work is no other load.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerHere<'a> {
    /// The server is elsewhere, or not known.
    Unknown,
    /// The run started it.
    Started(&'a RunningServer),
    /// The server ran before.
    Joined(&'a JoinedServer),
    /// The server ran before, and these processes listen at the target.
    Listening(&'a [u32]),
}

impl ServerHere<'_> {
    /// The server's processes; none if it is not known.
    fn processes(self) -> Vec<u32> {
        match self {
            ServerHere::Unknown => Vec::new(),
            ServerHere::Started(server) => server.all_processes(),
            ServerHere::Joined(server) => server.processes.clone(),
            ServerHere::Listening(processes) => processes.to_vec(),
        }
    }

    fn cpu(self) -> Duration {
        match self {
            ServerHere::Unknown => Duration::ZERO,
            ServerHere::Started(server) => server.cpu(),
            ServerHere::Joined(server) => server.cpu(),
            ServerHere::Listening(processes) => farfield_testbed::cpu_of(processes),
        }
    }
}

/// The machine at the beginning of a run.
#[derive(Debug)]
pub(crate) struct MachineBefore {
    processors: Vec<usize>,
    /// `/proc/stat`.
    stat: String,
    /// Processors that the workers may use.
    of_workers: Vec<usize>,
    /// Each of these is a worker's alone.
    workers_apart: bool,
    used: ProcessorTime,
    oom_kills: u64,
    limits: OwnLimits,
    throttled: Vec<Option<Duration>>,
    threads: ServerThreads,
    others: OtherProcesses,
}

/// Processor time so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProcessorTime {
    farfield: Duration,
    /// The kernel's threads for farfield's packets.
    receive: Duration,
    server: Duration,
}

/// Time of processors by the kernel's count, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    all: u64,
    busy: u64,
    stolen: u64,
}

/// The work of processors in a stretch of time, or up to an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessorWork {
    /// The processors that this process may use.
    all: Ticks,
    /// The processors that farfield's workers may use.
    of_workers: Ticks,
    used: ProcessorTime,
}

/// The machine's load from second to second, some of which are set aside.
#[derive(Debug)]
pub(crate) struct MachineSeconds {
    processors: Vec<usize>,
    of_workers: Vec<usize>,
    /// Processes of the server.
    server: Vec<u32>,
    last: ProcessorWork,
    /// Readings of seconds of which it is not decided yet whether they are set aside.
    waiting: VecDeque<(Range<u64>, ProcessorWork)>,
    aside: ProcessorWork,
}

impl MachineSeconds {
    /// Beside this server and workers on these processors, or on all that this process may use if there are
    /// none. `None` if the kernel has no counts.
    pub fn begin(server: ServerHere<'_>, workers: &[u32]) -> Option<MachineSeconds> {
        let processors = processors::allowed().ok()?;
        let of_workers = match workers.is_empty() {
            true => processors.clone(),
            false => workers.iter().map(|processor| *processor as usize).collect(),
        };
        let server = server.processes();
        let (last, aside) = (ProcessorWork::default(), ProcessorWork::default());
        let mut seconds =
            MachineSeconds { processors, of_workers, server, last, waiting: VecDeque::new(), aside };
        seconds.last = seconds.now()?;
        Some(seconds)
    }

    fn now(&self) -> Option<ProcessorWork> {
        let text = system::read_text("/proc/stat").ok()?;
        let (farfield, server) = (process_cpu(), farfield_testbed::cpu_of(&self.server));
        Some(ProcessorWork {
            all: Ticks::of(&text, &self.processors),
            of_workers: Ticks::of(&text, &self.of_workers),
            used: ProcessorTime { farfield, receive: Duration::ZERO, server },
        })
    }

    /// The number of processors that the workers may use.
    pub fn processors(&self) -> usize {
        self.of_workers.len()
    }

    /// Reads what was done since the last reading, in these seconds: before the measured part, in none.
    /// Returns the ticks that the machine's host took from the workers' processors.
    pub fn read(&mut self, seconds: Range<u64>) -> u64 {
        self.now().map_or(0, |now| self.take(seconds, now))
    }

    fn take(&mut self, seconds: Range<u64>, now: ProcessorWork) -> u64 {
        let worked = now.since(&std::mem::replace(&mut self.last, now));
        if !seconds.is_empty() {
            self.waiting.push_back((seconds, worked));
        }
        worked.of_workers.stolen
    }

    /// Sets aside what was read of the seconds before `decided` for which `is_aside`, and of those that were
    /// read with them.
    pub fn decide(&mut self, decided: u64, is_aside: impl Fn(u64) -> bool) {
        while let Some((mut seconds, worked)) =
            self.waiting.pop_front_if(|(seconds, _)| seconds.end <= decided)
        {
            if seconds.any(&is_aside) {
                self.aside = self.aside.and(&worked);
            }
        }
    }

    /// The work in seconds that are set aside.
    pub fn aside(&self) -> ProcessorWork {
        self.aside
    }
}

impl ProcessorWork {
    fn since(&self, earlier: &ProcessorWork) -> ProcessorWork {
        ProcessorWork {
            all: self.all.since(&earlier.all),
            of_workers: self.of_workers.since(&earlier.of_workers),
            used: self.used.since(earlier.used),
        }
    }

    fn and(&self, other: &ProcessorWork) -> ProcessorWork {
        ProcessorWork {
            all: self.all.and(&other.all),
            of_workers: self.of_workers.and(&other.of_workers),
            used: self.used.and(other.used),
        }
    }

    /// The time of all other processes.
    fn others(&self) -> Duration {
        self.all.busy_time() - self.used.all()
    }

    /// A time as a share of the processors'.
    fn share(&self, time: Duration) -> f64 {
        (time.as_secs_f64() / self.all.time().as_secs_f64()).clamp(0.0, 1.0)
    }
}

impl MachineBefore {
    /// Reads the counts of the processors that this process may use, and of those that its `workers` are
    /// bound to (all if empty); `receive_cpu` is the time of the kernel's threads for its packets. `None` if
    /// the kernel has no counts.
    pub fn read(server: ServerHere<'_>, workers: &[u32], receive_cpu: Duration) -> Option<MachineBefore> {
        let processors = processors::allowed().ok()?;
        let mut of_workers: Vec<usize> = workers.iter().map(|processor| *processor as usize).collect();
        let workers_apart = !of_workers.is_empty();
        if of_workers.is_empty() {
            of_workers.clone_from(&processors);
        }
        let limits = OwnLimits::find();
        Some(MachineBefore {
            processors,
            of_workers,
            workers_apart,
            oom_kills: oom_kills(server),
            throttled: limits.throttled(),
            limits,
            others: OtherProcesses::read(),
            threads: ServerThreads::read(&server.processes()),
            used: ProcessorTime::read(server, receive_cpu),
            stat: system::read_text("/proc/stat").ok()?,
        })
    }

    /// Records the machine's load since this reading, with the same server, without what is set `aside`, and
    /// what it cost the server in all that time.
    pub fn describe(
        &self,
        stats: &mut EngineStats,
        server: ServerHere<'_>,
        receive_cpu: Duration,
        aside: &ProcessorWork,
    ) {
        let Ok(text) = system::read_text("/proc/stat") else { return };
        let used = ProcessorTime::read(server, receive_cpu).since(self.used);
        let ticks =
            |processors: &[usize]| Ticks::of(&text, processors).since(&Ticks::of(&self.stat, processors));
        let whole = ProcessorWork { all: ticks(&self.processors), of_workers: ticks(&self.of_workers), used };
        let left = whole.since(aside);
        if left.all.all == 0 {
            return;
        }
        stats.machine = Some(MachineStats {
            processors: self.processors.len() as u32,
            load: load(),
            others: left.share(left.others()),
            server: left.share(left.used.server),
            stolen: left.all.stolen_share().unwrap_or(0.0),
            stolen_from_workers: left.of_workers.stolen_share(),
            oom_kills: oom_kills(server).saturating_sub(self.oom_kills),
            quota: self.limits.processors(),
            throttled: self.limits.throttled_since(&self.throttled),
        });
        let processes = server.processes();
        let seconds = whole.all.time().as_secs_f64() / self.processors.len().max(1) as f64;
        stats.other_processes =
            OtherProcesses::read().most_since(&self.others, &processes, seconds, self.processors.len());
        let threads = ServerThreads::read(&processes);
        if threads.is_empty() {
            return;
        }
        let demand = threads.since(&self.threads);
        let own_processors: Vec<usize> = threads.processors().into_iter().collect();
        let shares_with_workers = own_processors.iter().any(|own| self.of_workers.contains(own));
        let of_farfield = if shares_with_workers { used.farfield } else { Duration::ZERO };
        let own = used.receive + of_farfield;
        // Time on the server's processors of what is neither the server nor farfield.
        let others = (ticks(&own_processors).busy_time() - used.server - own).min(whole.others());
        stats.server_time = Some(ServerTime {
            ran: demand.ran.max(used.server),
            waited: demand.waited,
            held_up: server_threads::held_up(demand, others, own),
        });
        if self.workers_apart {
            // Its init stays where it was put.
            let home = match server {
                ServerHere::Started(server) => processors::of_thread(server.pid()).ok(),
                _ => None,
            };
            let beside = threads.beside(&self.of_workers, &self.processors, home.as_deref());
            stats.server_beside = Some(beside);
        }
    }
}

impl ProcessorTime {
    fn read(server: ServerHere<'_>, receive: Duration) -> ProcessorTime {
        ProcessorTime { farfield: process_cpu(), receive, server: server.cpu() }
    }

    fn since(self, earlier: ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            farfield: self.farfield - earlier.farfield,
            receive: self.receive - earlier.receive,
            server: self.server - earlier.server,
        }
    }

    fn and(self, other: ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            farfield: self.farfield + other.farfield,
            receive: self.receive + other.receive,
            server: self.server + other.server,
        }
    }

    fn all(self) -> Duration {
        self.farfield + self.receive + self.server
    }
}

/// Processes that the kernel killed for want of memory since boot, if it counts them (`/proc/vmstat`),
/// without those killed by the server's own limits.
fn oom_kills(server: ServerHere<'_>) -> u64 {
    let text = system::read_text("/proc/vmstat").unwrap_or_default();
    let all = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse::<u64>().ok()).unwrap_or(0);
    let limits = match server {
        ServerHere::Started(server) => server.limits(),
        ServerHere::Unknown | ServerHere::Joined(_) | ServerHere::Listening(_) => None,
    };
    let of_limits = limits.map_or(0, |(_, used)| used.oom_kills);
    all.saturating_sub(of_limits)
}

fn time_of(ticks: u64) -> Duration {
    Duration::from_ns(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second()))
}

/// The load average of the last minute.
fn load() -> Option<f64> {
    system::read_text("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

impl Ticks {
    fn since(&self, earlier: &Ticks) -> Ticks {
        Ticks {
            all: self.all.saturating_sub(earlier.all),
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    fn and(&self, other: &Ticks) -> Ticks {
        Ticks { all: self.all + other.all, busy: self.busy + other.busy, stolen: self.stolen + other.stolen }
    }

    /// Share of the time that the machine's host gave to other machines.
    fn stolen_share(&self) -> Option<f64> {
        (self.all > 0).then(|| (self.stolen as f64 / self.all as f64).min(1.0))
    }

    /// The time of all processors together.
    fn time(&self) -> Duration {
        time_of(self.all)
    }

    fn busy_time(&self) -> Duration {
        time_of(self.busy)
    }

    /// The ticks of `processors` in the text of `/proc/stat` (proc_stat(5)): user, nice, system, idle,
    /// iowait, irq, softirq, steal; the fields that follow are included in the first two.
    fn of(text: &str, processors: &[usize]) -> Ticks {
        let mut sum = Ticks::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let Some(number) = words.next().and_then(|word| word.strip_prefix("cpu")?.parse().ok()) else {
                continue;
            };
            if !processors.contains(&number) {
                continue;
            }
            let mut fields = [0; 8];
            fields.iter_mut().zip(words).for_each(|(field, word)| *field = word.parse().unwrap_or(0));
            let [user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen] = fields;
            let busy = user + nice + system + interrupts + soft_interrupts;
            sum.busy += busy;
            sum.stolen += stolen;
            sum.all += busy + idle + waiting + stolen;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_processors_of_the_run_are_counted() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 5 70 4 2 3 5 1 0\ncpu1 1 0 0 99 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(Ticks::of(text, &[0]), Ticks { all: 100, busy: 21, stolen: 5 });
        assert_eq!(Ticks::of(text, &[0, 1]), Ticks { all: 200, busy: 22, stolen: 5 });
        assert_eq!(Ticks::of("cpu0 nonsense", &[0]), Ticks::default());
    }

    /// In a run of four seconds after one of warm-up, others took a processor of two in the third.
    #[test]
    fn what_is_set_aside_is_no_load_of_the_machine() {
        let ticks = time_of(1);
        let up_to = |second: u64| {
            let others = if second >= 4 { 100 } else { 0 };
            let all = Ticks { all: 200 * second, busy: 50 * second + others, stolen: others / 10 };
            let used = ProcessorTime { farfield: ticks.times(50 * second), ..ProcessorTime::default() };
            ProcessorWork { all, of_workers: all, used }
        };
        let mut seconds = MachineSeconds {
            processors: vec![0, 1],
            of_workers: vec![0, 1],
            server: Vec::new(),
            last: ProcessorWork::default(),
            waiting: VecDeque::new(),
            aside: ProcessorWork::default(),
        };
        seconds.take(0..0, up_to(1));
        // The collector came late for the first two.
        for (own, second) in [(0..2, 3), (2..3, 4), (3..4, 5)] {
            assert_eq!(seconds.take(own, up_to(second)), if second == 4 { 10 } else { 0 });
        }
        let load = |seconds: &MachineSeconds| {
            let left = up_to(5).since(&seconds.aside());
            (left.share(left.others()), left.of_workers.stolen_share())
        };
        seconds.decide(2, |second| second == 2);
        assert_eq!(load(&seconds), (0.1, Some(0.01)));
        seconds.decide(u64::MAX, |second| second == 2);
        assert_eq!((load(&seconds), seconds.aside().all.all), ((0.0, Some(0.0)), 200));
        assert!(seconds.waiting.is_empty());
    }

    #[test]
    fn stolen_time_is_a_share_of_the_processors_own() {
        let before = "cpu0 10 0 0 90 0 0 0 7\ncpu1 10 0 0 90 0 0 0 0\n";
        let after = "cpu0 10 0 0 185 0 0 0 12\ncpu1 10 0 0 190 0 0 0 0\n";
        let share = |processors: &[usize]| {
            Ticks::of(after, processors).since(&Ticks::of(before, processors)).stolen_share()
        };
        assert_eq!(share(&[0]), Some(0.05));
        assert_eq!(share(&[0, 1]), Some(0.025));
        assert_eq!(share(&[7]), None);
    }
}
