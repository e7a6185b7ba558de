//! The threads of a server, as the kernel sees them: for how long each ran and waited for a processor
//! (`/proc/PID/task/TID/schedstat`, nanoseconds), on which processors it may run, and which go first there.
//!
//! A thread that ended between two readings is missing in the later one; what it waited for is not known.

use farfield_base::Duration;
use farfield_files::system;
use farfield_measure::ServerBeside;
use farfield_os::processors;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Threads that are looked at: a server that has more is one of many threads that do the same.
const THREADS_MAX: usize = 4_096;
/// A thread that ran for less than this is none that others waited for.
const BUSY_LEAST: Duration = Duration::from_ms(1);

/// The threads of some processes at one instant.
#[derive(Debug, Default)]
pub(crate) struct ServerThreads {
    /// For how long each ran, and waited for a processor, by the numbers of process and thread.
    times: BTreeMap<(u32, u32), [Duration; 2]>,
}

/// Processor time and waits of a server's threads between two readings, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub ran: Duration,
    pub waited: Duration,
    /// Threads that ran at all.
    pub threads: u32,
}

impl ServerThreads {
    pub fn read(processes: &[u32]) -> ServerThreads {
        let threads = processes.iter().flat_map(|pid| threads_of(*pid).map(|thread| (*pid, thread)));
        let times = threads.take(THREADS_MAX).filter_map(|(pid, thread)| {
            let text = system::read_text(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
            Some(((pid, thread), times(&text)?))
        });
        ServerThreads { times: times.collect() }
    }

    /// The threads' demand since an earlier reading. A thread that the reading lacks began since.
    pub fn since(&self, earlier: &ServerThreads) -> Demand {
        let mut demand = Demand::default();
        for (thread, [ran, waited]) in &self.times {
            let [ran_before, waited_before] = earlier.times.get(thread).copied().unwrap_or_default();
            let ran = *ran - ran_before;
            demand.ran = demand.ran + ran;
            demand.waited = demand.waited + (*waited - waited_before);
            demand.threads += u32::from(ran >= BUSY_LEAST);
        }
        demand
    }

    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The processors that one of the threads may use.
    pub fn processors(&self) -> BTreeSet<usize> {
        let sets = self.times.keys().filter_map(|(_, thread)| processors::of_thread(*thread).ok());
        sets.flatten().collect()
    }

    /// The processors that threads are bound to which may not use `all`.
    pub fn bound(&self, all: &[usize]) -> BTreeSet<usize> {
        let sets = self.times.keys().filter_map(|(_, thread)| processors::of_thread(*thread).ok());
        sets.filter(|own| all.iter().any(|processor| !own.contains(processor))).flatten().collect()
    }

    /// Threads that bound themselves to processors of which one is a worker's: of a server that was started
    /// on processors, its `home`, those that may use others; of one that runs already, those that may not use
    /// `all`.
    pub fn beside(&self, workers: &[usize], all: &[usize], home: Option<&[usize]>) -> ServerBeside {
        let mut beside = ServerBeside::default();
        let mut shared = BTreeSet::new();
        for (pid, thread) in self.times.keys() {
            let Ok(own) = processors::of_thread(*thread) else { continue };
            let is_bound = match home {
                Some(home) => own.iter().any(|processor| !home.contains(processor)),
                None => all.iter().any(|processor| !own.contains(processor)),
            };
            let on_workers: Vec<usize> = own.into_iter().filter(|own| workers.contains(own)).collect();
            if !is_bound || on_workers.is_empty() {
                continue;
            }
            shared.extend(on_workers);
            beside.threads += 1;
            let stat = system::read_text(format!("/proc/{pid}/task/{thread}/stat")).unwrap_or_default();
            if let Some((name, goes_first)) = name_and_precedence(&stat) {
                beside.name = name;
                beside.goes_first |= goes_first;
            }
        }
        beside.processors = shared.into_iter().map(|processor| processor as u32).collect();
        beside
    }
}

/// The time for which others, and not the server or farfield, held processors while the server was ready to
/// run: at most as long as they ran on the server's processors, and the part of the server's wait that is
/// theirs by what ran there. `own` is the time that farfield and the threads for its packets ran there.
pub(crate) fn held_up(demand: Demand, others: Duration, own: Duration) -> Duration {
    let threads = f64::from(demand.threads.max(1));
    // A thread does not wait for itself.
    let of_server = demand.ran.as_secs_f64() * (threads - 1.0) / threads;
    let others_s = others.as_secs_f64();
    let all = others_s + own.as_secs_f64() + of_server;
    if all == 0.0 {
        return Duration::ZERO;
    }
    let held_up_s = (demand.waited.as_secs_f64() * others_s / all).min(others_s);
    Duration::from_ns((held_up_s * 1e9) as u64)
}

/// The first two of the three numbers of a `schedstat`: nanoseconds that it ran, and waited for a processor.
fn times(text: &str) -> Option<[Duration; 2]> {
    let mut numbers = text.split_whitespace().map(|word| word.parse().ok().map(Duration::from_ns));
    Some([numbers.next()??, numbers.next()??])
}

fn threads_of(pid: u32) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The name of a thread, and whether it goes before threads of the usual priority: its nice value, field 19,
/// and its policy, field 41 (proc_pid_stat(5)).
fn name_and_precedence(stat: &str) -> Option<(String, bool)> {
    let (front, back) = stat.rsplit_once(')')?;
    let (_, name) = front.split_once('(')?;
    // The first of these is the third field of the file.
    let field = |nth: usize| back.split_whitespace().nth(nth - 3)?.parse::<i64>().ok();
    let is_real_time = field(41).is_some_and(|policy| {
        [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_DEADLINE].map(i64::from).contains(&policy)
    });
    Some((name.to_owned(), is_real_time || field(19).is_some_and(|nice| nice < 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(ran_ms: u64, waited_ms: u64, threads: u32) -> Demand {
        let [ran, waited] = [ran_ms, waited_ms].map(Duration::from_ms);
        Demand { ran, waited, threads }
    }

    #[test]
    fn a_wait_belongs_to_whoever_ran_meanwhile() {
        let ms = Duration::from_ms;
        for (demand, others, own, expected) in [
            // One thread, beside others alone.
            (demand(1_000, 500, 1), ms(4_000), ms(0), 500),
            // It cannot be held up for longer than others ran.
            (demand(1_000, 500, 1), ms(200), ms(0), 200),
            // The threads that receive its packets took as much as others did.
            (demand(1_000, 500, 1), ms(400), ms(400), 250),
            // Eight threads that fill the processors wait for one another.
            (demand(8_000, 56_000, 8), ms(0), ms(0), 0),
            (demand(8_000, 56_000, 8), ms(100), ms(0), 100),
            // Nobody ran.
            (demand(0, 0, 0), ms(0), ms(0), 0),
        ] {
            assert_eq!(held_up(demand, others, own), ms(expected), "{demand:?} {others} {own}");
        }
    }

    #[test]
    fn threads_are_read_as_the_kernel_has_them() {
        let own = std::process::id();
        let before = ServerThreads::read(&[own]);
        assert!(before.times.keys().all(|(pid, _)| *pid == own) && !before.times.is_empty());
        assert!(before.since(&ServerThreads::default()).ran > Duration::ZERO);
        assert_eq!(before.since(&before), Demand::default());
        assert_eq!(ServerThreads::read(&[u32::MAX]).times.len(), 0);
    }

    /// A thread bound to the first processor is beside a worker there, and beside none elsewhere.
    #[test]
    fn a_thread_bound_to_a_workers_processor_is_found() {
        let allowed = processors::allowed().unwrap();
        let first = allowed[0];
        let found = std::thread::scope(|scope| {
            let bound = scope.spawn(|| {
                processors::confine(&[first]).unwrap();
                let own = ServerThreads::read(&[std::process::id()]);
                // Other threads of this process may use all.
                let all: Vec<usize> = allowed.iter().copied().chain([usize::MAX]).collect();
                let of_thread =
                    |thread: &(u32, u32)| processors::of_thread(thread.1).is_ok_and(|on| on == [first]);
                let times = own.times.into_iter().filter(|(thread, _)| of_thread(thread)).collect();
                let own = ServerThreads { times };
                // On the worker's processor, beside it, and at home.
                [([first], None), ([first + 1], None), ([first], Some(&[first][..]))]
                    .map(|(worker, home)| own.beside(&worker, &all, home))
            });
            bound.join().unwrap()
        });
        assert!(found[0].threads >= 1 && !found[0].name.is_empty(), "{found:?}");
        assert_eq!(found[0].processors, [first as u32]);
        assert_eq!((found[1].threads, found[2].threads), (0, 0));
    }

    #[test]
    fn who_goes_first_is_in_the_stat() {
        let stat = |nice: i32, policy: u32| {
            format!(
                "7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 {nice} 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 {policy} 0"
            )
        };
        let found = |nice, policy| name_and_precedence(&stat(nice, policy)).unwrap();
        assert_eq!(found(0, 0), ("a) b".to_owned(), false));
        assert!(found(-5, 0).1 && found(0, 1).1 && !found(10, 3).1);
    }
}
