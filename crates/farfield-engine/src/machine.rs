//! Other load on the machine during a run: work of other processes, and time stolen by a hypervisor.
//!
//! `/proc/stat` is read before the workers start and after they have ended, for the processors that this
//! process may use. The time of farfield and of its server, if that is known, is subtracted. The counts are
//! kernel ticks of mostly 10 ms: good for shares of a run of seconds, not of milliseconds.

use crate::emulated::JoinedServer;
use crate::os::clock::process_cpu;
use crate::os::processors;
use crate::testbed::RunningServer;
use farfield_base::Duration;
use farfield_measure::MachineStats;
use std::fs;

/// The server of a run, if its processes are known: their work is no other load.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerHere<'a> {
    /// It is elsewhere, or whoever it is, is not known.
    Unknown,
    /// The run started it.
    Started(&'a RunningServer),
    /// It ran before.
    Joined(&'a JoinedServer),
}

/// The machine at the beginning of a run.
#[derive(Debug)]
pub(crate) struct MachineBefore {
    processors: Vec<usize>,
    ticks: Ticks,
    /// Processors that the workers may use.
    of_workers: Vec<usize>,
    workers_ticks: Ticks,
    /// Processor time of farfield and its server.
    own: Duration,
    oom_kills: u64,
}

/// Time of processors by the kernel's count, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    all: u64,
    busy: u64,
    stolen: u64,
}

impl MachineBefore {
    /// Reads the counts of the processors that this process may use, and of those of its `workers` (all if
    /// empty); `None` if the kernel has no counts.
    pub fn read(server: ServerHere<'_>, workers: &[u32]) -> Option<MachineBefore> {
        let processors = processors::allowed().ok()?;
        let mut of_workers: Vec<usize> = workers.iter().map(|processor| *processor as usize).collect();
        if of_workers.is_empty() {
            of_workers.clone_from(&processors);
        }
        let text = fs::read_to_string("/proc/stat").ok()?;
        let ticks = Ticks::of(&text, &processors);
        let workers_ticks = Ticks::of(&text, &of_workers);
        let (own, oom_kills) = (own(server), oom_kills(server));
        Some(MachineBefore { processors, ticks, of_workers, workers_ticks, own, oom_kills })
    }

    /// The machine's load since this reading, with the same server.
    pub fn since(&self, server: ServerHere<'_>) -> Option<MachineStats> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let now = Ticks::of(&text, &self.processors);
        let passed = now.all.saturating_sub(self.ticks.all);
        if passed == 0 {
            return None;
        }
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let took = own(server).as_secs_f64() - self.own.as_secs_f64();
        let share = |ticks: f64| (ticks / passed as f64).clamp(0.0, 1.0);
        let busy = now.busy.saturating_sub(self.ticks.busy) as f64;
        Some(MachineStats {
            processors: self.processors.len() as u32,
            load: load(),
            others: share(busy - took * per_second),
            stolen: now.stolen_share_since(&self.ticks).unwrap_or(0.0),
            stolen_from_workers: Ticks::of(&text, &self.of_workers).stolen_share_since(&self.workers_ticks),
            oom_kills: oom_kills(server).saturating_sub(self.oom_kills),
        })
    }
}

fn own(server: ServerHere<'_>) -> Duration {
    let of_server = match server {
        ServerHere::Unknown => Duration::ZERO,
        ServerHere::Started(server) => server.cpu(),
        ServerHere::Joined(server) => server.cpu(),
    };
    process_cpu() + of_server
}

/// Processes that the kernel killed for want of memory since boot, if it counts them (`/proc/vmstat`),
/// without those killed by the server's own limits.
fn oom_kills(server: ServerHere<'_>) -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let all = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse::<u64>().ok()).unwrap_or(0);
    let limits = match server {
        ServerHere::Started(server) => server.limits(),
        ServerHere::Unknown | ServerHere::Joined(_) => None,
    };
    let of_limits = limits.map_or(0, |(_, used)| used.oom_kills);
    all.saturating_sub(of_limits)
}

/// The load average of the last minute.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

impl Ticks {
    /// Share of the time since `earlier` that the machine's host gave to other machines.
    fn stolen_share_since(&self, earlier: &Ticks) -> Option<f64> {
        let passed = self.all.saturating_sub(earlier.all);
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        (passed > 0).then(|| (stolen as f64 / passed as f64).min(1.0))
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

    #[test]
    fn stolen_time_is_a_share_of_the_processors_own() {
        let before = "cpu0 10 0 0 90 0 0 0 7\ncpu1 10 0 0 90 0 0 0 0\n";
        let after = "cpu0 10 0 0 185 0 0 0 12\ncpu1 10 0 0 190 0 0 0 0\n";
        let share = |processors: &[usize]| {
            Ticks::of(after, processors).stolen_share_since(&Ticks::of(before, processors))
        };
        assert_eq!(share(&[0]), Some(0.05));
        assert_eq!(share(&[0, 1]), Some(0.025));
        assert_eq!(share(&[7]), None);
    }
}
