//! The check that the server's kernel received packets soon after the shards had written them, by
//! [probes](crate::PacketLateness::delivery).
//!
//! Between the two lies a thread of the kernel's that other work can keep from its processor; then packets
//! that left in time arrive late all the same, and response times are too long by as much. The server can
//! keep that thread from its processor as well, when it is full: that is what is measured. So lateness is
//! divided as the time of the processors is, between others and the server, and the part of the server's
//! fails nothing.

use super::advice::RunView;
use super::timing::{NO_NETWORK, p99_at_most};
use super::{Check, CheckState, LimitUnit};
use crate::histogram::Histogram;
use farfield_base::Duration;

const NAME: &str = "delivery-lateness";
/// Other load below this share of the processors keeps nobody waiting next to a server that takes more; below
/// the second share nobody at all.
const OTHERS_LEAST: f64 = 0.1;
const OTHERS_NONE: f64 = 0.02;
/// A p99 allows that this share is later.
const LATER: f64 = 0.01;

pub fn lateness(run: &RunView<'_>) -> Check {
    let what = "The p99 of how long packets waited for the server's kernel, kept by others, is small.";
    let limit = run.context.limits.delivery_lateness_p99;
    let Some(network) = &run.stats.network else {
        return Check::skipped(NAME, what, limit.as_ns() as f64, LimitUnit::Ns, NO_NETWORK);
    };
    let times = &network.lateness.delivery;
    let check = p99_at_most(NAME, what, times, limit, "no probe of it arrived");
    if check.state != CheckState::Failed {
        return check;
    }
    let Some(by_others) = share_of_others(run) else {
        let mut check = check.noted(Some("packets waited for longer".to_owned()));
        check.take_back("and by whom they were kept is not known");
        return check;
    };
    if share_above(times, limit) * by_others <= LATER {
        let mut check = check.noted(Some("packets waited for longer".to_owned()));
        check.take_back("for the server itself, next to which little else ran");
        return check;
    }
    let by = run.others_by_name().unwrap_or_else(|| "other work".to_owned());
    check.noted(Some(format!("{by} kept the kernel's receive work from its processor"))).advised(|| {
        "stop other work, or give the server processors of its own (`server.processors`), or let the shards do \
         the kernel's receive work (`server.receive-processors = []`)"
            .to_owned()
    })
}

/// The share of others in the time of the processors that they and the server used; `None` if the server's is
/// not known.
fn share_of_others(run: &RunView<'_>) -> Option<f64> {
    let machine = run.stats.machine?;
    run.stats.server_time?;
    let (others, server) = (machine.others, machine.server);
    // Interrupts count as others: a full server has some per cent of them.
    let are_few = others < OTHERS_NONE || others < OTHERS_LEAST && others < server;
    Some(if are_few { 0.0 } else { others / (others + server) })
}

/// The share of times above `limit`.
fn share_above(times: &Histogram, limit: Duration) -> f64 {
    let up_to = times.counts_up_to(&[limit], &|| {})[0];
    1.0 - up_to as f64 / times.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::scene::judge;
    use super::*;
    use crate::engine_stats::{EngineStats, MachineStats, OtherProcess, ServerTime};
    use crate::summary::LoadKind;

    /// The check of a run of whose probes `late` of a thousand took 3 ms, beside `others` and a `server`.
    fn check(late: u64, others: f64, server: f64) -> Check {
        check_of(|stats| {
            let times = probed(stats);
            for nth in 0..1000 {
                times.record(if nth < late { Duration::from_ms(3) } else { Duration::from_us(20) });
            }
            stats.machine = Some(MachineStats { processors: 2, others, server, ..MachineStats::default() });
            stats.server_time = Some(ServerTime::default());
            stats.other_processes = vec![OtherProcess { name: "make".into(), pid: 7, processors: 0.7 }];
        })
    }

    /// The times of its probes, of which none was seen yet.
    fn probed(stats: &mut EngineStats) -> &mut Histogram {
        let network = stats.network.as_mut().expect("an emulated network");
        network.lateness.delivery = Histogram::new();
        &mut network.lateness.delivery
    }

    fn check_of(change: impl FnOnce(&mut EngineStats)) -> Check {
        let verdict = judge(LoadKind::Open, change);
        verdict.checks.into_iter().find(|check| check.name == NAME).expect("the check")
    }

    #[test]
    fn others_that_keep_packets_waiting_fail_it() {
        assert_eq!(check(300, 0.05, 0.01).state, CheckState::Failed);
        let check = check(300, 0.6, 0.1);
        assert_eq!((check.state, check.follows_from.as_deref()), (CheckState::Failed, None), "{check:?}");
        assert!(check.note.as_deref().expect("a note").contains("make 7"), "{check:?}");
        assert!(check.advice.expect("advice").contains("server.processors"));
    }

    #[test]
    fn a_server_that_is_full_fails_nothing() {
        // Nine of ten packets are late at a server that takes nearly all of the time.
        for (late, others, server) in
            [(900, 0.005, 0.9), (900, 0.08, 0.4), (11, 0.1, 0.1), (900, 0.01, 0.001)]
        {
            let check = check(late, others, server);
            assert_eq!(check.state, CheckState::Skipped, "{check:?}");
            assert!(check.note.as_deref().expect("a note").contains("server itself"), "{check:?}");
            assert_eq!(check.advice, None);
        }
    }

    #[test]
    fn few_that_are_late_pass() {
        assert_eq!(check(9, 0.9, 0.1).state, CheckState::Passed);
        let unseen = check_of(|stats| *probed(stats) = Histogram::new());
        assert_eq!(unseen.state, CheckState::Skipped, "{unseen:?}");
    }

    #[test]
    fn a_server_that_is_not_known_is_not_blamed_and_blames_nobody() {
        let check = check_of(|stats| {
            let times = probed(stats);
            (0..100).for_each(|_| times.record(Duration::from_ms(3)));
            stats.server_time = None;
        });
        assert_eq!(check.state, CheckState::Skipped);
        assert!(check.note.expect("a note").contains("not known"));
    }
}
