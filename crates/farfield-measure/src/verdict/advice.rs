//! Remedies for failed checks, with the numbers of the run.
//!
//! The generator's capacity is estimated from the rate that it reached and how busy it was with that, as if
//! work grew with the rate: right for the middle of its range, and "about" says that.

use super::counterfactual::Blame;
use super::{BUSY, STALL, STEAL, THROTTLED, WORKER};
use crate::engine_stats::{EngineStats, OtherProcess, WorkerStats};
use crate::fold::Fold;
use crate::summary::SummaryContext;
use farfield_base::{Duration, Instant, printable};

/// A worker that is busier than this is late because of what it has to do.
pub const FULL: f64 = 0.7;
/// Busy share up to which a worker is on time.
pub const PUNCTUAL: f64 = 0.6;

/// Fewer connections a second are no storm.
const STORM: f64 = 500.0;
/// Disturbances are counted in tenths of a second, or coarser.
const TENTH: Duration = Duration::from_ms(100);
/// More stretches of disturbed seconds are not named one by one.
const STRETCHES: usize = 3;

const RAISE_QUOTA: &str = "give farfield's control group more processor time (`cpu.max`, in version 1 `cpu.cfs_quota_us`; \
                           a container's `--cpus`), run outside it, or offer less";
const HOST_IS_BUSY: &str =
    "measure when the host is quiet, or on a machine of its own: nothing on this machine can change it";

/// A run, as the checks see it.
pub struct RunView<'a> {
    pub context: SummaryContext<'a>,
    pub fold: &'a Fold,
    pub stats: &'a EngineStats,
    pub until: Instant,
}

impl RunView<'_> {
    /// The worker with the least time to spare.
    pub fn busiest(&self) -> Option<&WorkerStats> {
        self.stats.workers.iter().max_by(|one, other| one.busy().total_cmp(&other.busy()))
    }

    /// The worker that waited longest for a processor, in proportion.
    pub fn most_held_up(&self) -> Option<&WorkerStats> {
        let waited = |worker: &WorkerStats| worker.waited_share().unwrap_or(0.0);
        self.stats.workers.iter().max_by(|one, other| waited(one).total_cmp(&waited(other)))
    }

    /// A description of the machine's other load.
    pub fn other_work(&self) -> String {
        let Some(machine) = self.stats.machine else { return "other work ran".to_owned() };
        let stolen = match percent(machine.stolen) {
            stolen if machine.stolen >= 0.01 => format!(", the machine's host {stolen}"),
            _ => String::new(),
        };
        let load = machine.load.map(|load| format!("load {load:.1} on ")).unwrap_or_default();
        let names = self.others_by_name().map(|names| format!(" ({names})")).unwrap_or_default();
        format!(
            "{load}{}, other processes took {} of them{names}{stolen}",
            counted(machine.processors, "processor"),
            percent(machine.others)
        )
    }

    /// The note and the remedy of a cause of lateness, by the name of its check.
    pub fn of_cause(&self, cause: &str) -> (Option<String>, Option<String>) {
        let (note, advice) = match cause {
            THROTTLED => (self.quota_used(), RAISE_QUOTA.to_owned()),
            BUSY => (format!("{}{}", self.other_work(), self.when()), self.stop_other_work()),
            // So short that it stands behind the share on a line of the terminal.
            STEAL => ("taken by the virtual machine's host".to_owned(), HOST_IS_BUSY.to_owned()),
            WORKER => self.own_work(),
            STALL => {
                let longest = self.stats.workers.iter().filter_map(|worker| worker.stall).max();
                let all = self.stats.workers.iter().map(|worker| worker.stalled).max().unwrap_or_default();
                let all = all.as_secs_f64();
                let note = format!("{all:.2} s of stalls of 20 ms and more together{}", self.when());
                (note, self.nothing_stops(longest.unwrap_or_default()))
            }
            _ => return (None, None),
        };
        (Some(note), Some(advice))
    }

    /// Stretches of the run in which a worker was held or stopped, but for what is set aside.
    pub fn disturbed(&self, worker: &WorkerStats) -> Vec<(Instant, Duration)> {
        let is_left = |at: Instant| self.fold.aside().is_none_or(|aside| !aside.contains(at));
        let mut stretches = worker.disturbed.stretches();
        stretches.retain(|(from, length)| {
            let tenths = length.as_ns().div_ceil(TENTH.as_ns());
            (0..tenths).any(|tenth| is_left(*from + TENTH.times(tenth)))
        });
        stretches
    }

    /// The seconds in which a worker was held or stopped, if these are few stretches.
    fn when(&self) -> String {
        let most =
            self.stats.workers.iter().max_by_key(|worker| worker.held.unwrap_or_default() + worker.stopped);
        let stretches = most.map(|worker| self.disturbed(worker)).unwrap_or_default();
        if stretches.is_empty() || stretches.len() > STRETCHES {
            return String::new();
        }
        let stretches: Vec<String> = stretches
            .iter()
            .map(|(from, length)| {
                format!("{:.1} to {:.1}", from.as_secs_f64(), (*from + *length).as_secs_f64())
            })
            .collect();
        format!(", in second {}", stretches.join(", "))
    }

    /// Note and advice on a worker that was late with its own work: all through the run, or in bursts.
    fn own_work(&self) -> (String, String) {
        if self.busiest().is_some_and(|busiest| busiest.computing() > FULL) {
            return ("late with its own work".to_owned(), self.keep_up());
        }
        let crowded = self.stats.workers.iter().map(|worker| worker.crowded).max().unwrap_or_default();
        let note = format!("bursts: {:.2} s of its work filled tenths of a second", crowded.as_secs_f64());
        let apart = match self.context.heading.load.has_users_who_arrive() {
            true => "offer less in its peaks (`load.arrivals`)",
            false => "let users begin apart (`load.ramp`)",
        };
        let advice = match self.more_workers() {
            Some(flag) => format!("{apart}, or `{flag}`"),
            None => apart.to_owned(),
        };
        (note, advice)
    }

    fn quota_used(&self) -> String {
        let machine = self.stats.machine.unwrap_or_default();
        let processors = machine.quota.map_or(String::new(), |quota| format!(" of {quota:.2} processors"));
        format!(
            "the quota{processors} of farfield's control group was used up, and it waited for {:.2} s in all",
            machine.throttled.unwrap_or_default().as_secs_f64()
        )
    }

    /// Advice on lateness that nothing explains, with the largest of the usual causes.
    pub fn unexplained(&self, too_little: Option<Blame>) -> String {
        let largest = too_little.map_or(String::new(), |Blame { cause, explained, .. }| {
            format!(" ({cause} {} of it at most)", percent(explained))
        });
        format!("none of what was measured explains it{largest}: {}", self.keep_up())
    }

    /// The workers' use of their time, as far as it is of interest where one of them was late.
    fn time_of_workers(&self) -> String {
        let busiest = self.busiest().map_or(0.0, WorkerStats::busy);
        let waited = self.most_held_up().and_then(WorkerStats::waited_share);
        let waited = waited
            .map_or(String::new(), |waited| format!(", {} of that waiting for a processor", percent(waited)));
        let stopped = self.stats.workers.iter().map(|worker| worker.stopped).max().unwrap_or_default();
        let stopped = match stopped.is_zero() {
            true => String::new(),
            false => format!(", and stopped for {:.2} s", stopped.as_secs_f64()),
        };
        let stolen = self.stats.machine.and_then(|machine| machine.stolen_from_workers);
        let stolen = stolen.filter(|stolen| *stolen > 0.0);
        let stolen = stolen.map_or(String::new(), |stolen| {
            format!("; the machine's host took {} of its processors", percent(stolen))
        });
        format!("the busiest worker was busy for {} of the time{waited}{stopped}{stolen}", percent(busiest))
    }

    /// The processes that took the most, each with the processors that it used, as far as they are known.
    pub fn others_by_name(&self) -> Option<String> {
        let named = self.stats.other_processes.iter();
        let named: Vec<String> = named
            .map(|OtherProcess { name, pid, processors }| {
                format!("{} {pid}: {}", printable(name, &[]), percent(*processors))
            })
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    }

    /// The remedy for other load.
    pub fn stop_other_work(&self) -> String {
        let server = match (self.stats.server_time.is_some(), self.stats.plane.as_str()) {
            (true, _) => " (a database of the server's counts)",
            (false, "sockets") => " (the server counts, if it runs here)",
            (false, _) => " (a server that farfield did not start counts, and so does its database)",
        };
        let first = match self.lets_workers_go_first() {
            true => "",
            false => {
                ", where they go before other work if the system allows it (root or CAP_SYS_NICE, `network.real-time`)"
            }
        };
        format!(
            "stop other work{server}, or give the workers processors of their own: `{}`{first}",
            self.processors_key()
        )
    }

    /// True if shards of an emulated network have a real-time priority; true on other planes, which have
    /// none.
    fn lets_workers_go_first(&self) -> bool {
        let placement = self.stats.placement.as_deref().unwrap_or_default();
        self.stats.plane != "emulated" || placement.contains("real-time")
    }

    fn processors_key(&self) -> &'static str {
        if self.stats.plane == "sockets" { "sockets.processors" } else { "network.processors" }
    }

    /// The remedy for a generator that did not keep up.
    pub fn keep_up(&self) -> String {
        let causes = [self.handshakes(), self.storm()].into_iter().flatten();
        causes.chain([self.less_work()]).collect::<Vec<_>>().join("; ")
    }

    /// A worker that has more to do with handshakes of TLS than with all else.
    fn handshakes(&self) -> Option<String> {
        let busiest = self.busiest()?;
        let share = busiest.handshake_share();
        let mostly = share > 0.2 && share > busiest.computing() / 2.0;
        mostly.then(|| {
            format!(
                "handshakes of TLS took {} of the busiest worker's time: let users keep connections \
                 (`connections.policy`) or tickets (`tls.resumption`)",
                percent(share)
            )
        })
    }

    /// An open load before a server that is full: each arrival that finds no idle connection opens one,
    /// which costs both sides several times what a request costs.
    pub fn storm(&self) -> Option<String> {
        let open = self.context.heading.load.has_users_who_arrive();
        let steady = &self.fold.steady().events;
        let seconds = self.fold.lasted(self.until).as_secs_f64();
        if seconds == 0.0 {
            return None;
        }
        let opened = steady.connects_begun as f64 / seconds;
        let kept_alive = self.fold.reuse().most() > 1;
        let storms = open && kept_alive && opened > STORM && steady.connects_begun * 5 > steady.succeeded;
        storms.then(|| {
            format!(
                "{}/s connections were opened, since arrivals found no idle one: bound them with `load.users-max`",
                rounded(opened)
            )
        })
    }

    fn less_work(&self) -> String {
        match self.busiest() {
            Some(busiest) if busiest.computing() > FULL => self.offer_less(busiest),
            Some(_) => {
                let together = match self.context.heading.load.has_users_who_arrive() {
                    true => "",
                    false => "let users who begin together begin apart (`load.ramp`), ",
                };
                format!(
                    "{}. Run again; where it stays, {together}keep the server and other work off the workers' \
                     processors with `{}`",
                    self.time_of_workers(),
                    self.processors_key()
                )
            }
            None => "offer less".to_owned(),
        }
    }

    /// The load that would leave the worker time, and the means for a higher one.
    fn offer_less(&self, busiest: &WorkerStats) -> String {
        let part = PUNCTUAL / busiest.computing();
        let less = match (self.rate(), self.context.heading.load.has_users_who_arrive()) {
            (Some(rate), true) => {
                format!("offer at most about {}/s here", rounded(rate * part))
            }
            (Some(rate), false) => format!(
                "ask for about {}/s at most here, with fewer users or longer think times",
                rounded(rate * part)
            ),
            (None, _) => "offer less".to_owned(),
        };
        match self.more_workers() {
            Some(flag) => format!("{less}, or `{flag}`"),
            None => less,
        }
    }

    /// The flag that gives the work to more threads, where there are processors for them.
    fn more_workers(&self) -> Option<String> {
        let (workers, processors) = (self.stats.workers.len(), self.stats.machine?.processors as usize);
        let flag = if self.stats.plane == "sockets" { "--workers" } else { "--shards" };
        (processors > workers).then(|| format!("{flag} {}", workers + 1))
    }

    /// The remedy for a stall.
    pub fn nothing_stops(&self, stall: Duration) -> String {
        match self.stats.machine {
            Some(machine) if machine.others + machine.stolen > 0.5 => self.stop_other_work(),
            _ => format!(
                "something held a worker for {:.0} ms: run where nothing stops or swaps this process out (a debugger, SIGSTOP, \
                 a laptop that sleeps, memory that ran short, a virtual machine that moves)",
                stall.as_secs_f64() * 1e3
            ),
        }
    }

    /// Requests that succeeded a second in the measured part, without what is set aside.
    pub fn rate(&self) -> Option<f64> {
        let steady = self.fold.lasted(self.until).as_secs_f64();
        let succeeded = self.fold.steady().events.succeeded as f64;
        (steady > 0.0 && succeeded > 0.0).then(|| succeeded / steady)
    }
}

/// "7 processors".
fn counted(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Per cent with two digits that count below ten: what is little is not nothing.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.005 => "less than 0.01 %".to_owned(),
        percent if percent < 0.995 => format!("{percent:.2} %"),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// Two digits that count, with commas.
pub fn rounded(number: f64) -> String {
    if number < 10.0 {
        return format!("{number:.1}");
    }
    let unit = 10_f64.powf(number.log10().floor() - 1.0);
    let digits = format!("{:.0}", (number / unit).floor() * unit);
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_little_is_not_nothing() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.000_01, "less than 0.01 %"),
            (0.0026, "0.26 %"),
            (0.0533, "5.3 %"),
            (0.0999, "10 %"),
            (0.754, "75 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn estimates_have_two_digits() {
        for (number, text) in
            [(14_367.0, "14,000"), (2_999_999.0, "2,900,000"), (99.9, "99"), (10.0, "10"), (3.19, "3.2")]
        {
            assert_eq!(rounded(number), text);
        }
    }
}
