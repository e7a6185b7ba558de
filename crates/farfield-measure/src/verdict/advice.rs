//! Remedies for failed checks, with the numbers of the run.
//!
//! The generator's capacity is estimated from the rate that it reached and how busy it was with that, as if
//! work grew with the rate: right for the middle of its range, and "about" says that.

use crate::engine_stats::{EngineStats, OtherProcess, WorkerStats};
use crate::fold::Fold;
use crate::summary::SummaryContext;
use farfield_base::{Duration, Instant, printable};

/// A worker that is busier than this is late because of what it has to do.
const FULL: f64 = 0.7;
/// Busy share up to which a worker is on time.
pub const PUNCTUAL: f64 = 0.6;

/// Fewer connections a second are no storm.
const STORM: f64 = 500.0;

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

    /// Whether shards of an emulated network have a real-time priority; true on other planes, which have
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
        let seconds = self.fold.window().elapsed(self.until).as_secs_f64();
        if seconds == 0.0 {
            return None;
        }
        let opened = steady.connects_begun as f64 / seconds;
        let kept_alive = self.fold.reuse().most() > 1;
        let storms = open && kept_alive && opened > STORM && steady.connects_begun * 5 > steady.completed;
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
            Some(busiest) => format!(
                "the busiest worker was busy for {} of the time: look for bursts (users who begin together: \
                 `load.ramp`), and keep the server and other work off its processor with `{}`",
                percent(busiest.computing()),
                self.processors_key()
            ),
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

    /// Requests that completed a second in the measured part.
    pub fn rate(&self) -> Option<f64> {
        let steady = self.fold.window().elapsed(self.until).as_secs_f64();
        let completed = self.fold.steady().events.completed as f64;
        (steady > 0.0 && completed > 0.0).then(|| completed / steady)
    }
}

/// "7 processors".
fn counted(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
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
    fn estimates_have_two_digits() {
        for (number, text) in
            [(14_367.0, "14,000"), (2_999_999.0, "2,900,000"), (99.9, "99"), (10.0, "10"), (3.19, "3.2")]
        {
            assert_eq!(rounded(number), text);
        }
    }
}
