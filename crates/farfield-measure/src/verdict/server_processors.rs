//! Checks that the server had its processors, where its processes are known: that others did not hold them
//! while it was ready to run, and that it left those of the workers alone.
//!
//! A server that other work slows is measured as slower than it is, and no check of farfield's own lateness
//! shows it. What counts is the time for which the server's threads were ready to run and had no processor
//! (`/proc/PID/task/TID/schedstat`), as far as others ran there meanwhile: a server that waits for itself,
//! for the threads that receive its packets or for farfield is not held up by others.
//!
//! A server that binds its own threads to a processor, as nginx does with `worker_cpu_affinity`, may bind
//! them to one that a worker was to have for itself. That fails nothing by itself; where a worker was late,
//! it is the first cause.

use super::advice::RunView;
use super::{Check, CheckState, LimitUnit, timing};
use crate::engine_stats::{ServerBeside, ServerTime};
use farfield_base::Duration;

const HELD_UP: &str = "server-held-up";
pub const APART: &str = "server-apart";

/// Other load below this share of the processors holds no server up.
const OTHERS_LEAST: f64 = 0.1;
/// A server that was held up for less in all has lost nothing that a figure would show.
const SHORT: Duration = Duration::from_ms(1);

/// The checks that can be made, in order: what is a cause comes first.
pub fn checks(run: &RunView<'_>) -> impl Iterator<Item = Check> + use<> {
    let beside = run.stats.server_beside.as_ref().map(|beside| apart(run, beside));
    beside.into_iter().chain(run.stats.server_time.map(|time| held_up(run, time)))
}

fn held_up(run: &RunView<'_>, time: ServerTime) -> Check {
    let what = "Others did not hold the server's processors for long while it was ready to run.";
    let limit = run.context.limits.server_held_up.as_f64();
    let skip = |why: &str| Check::skipped(HELD_UP, what, limit, LimitUnit::Share, why);
    let Some(machine) = run.stats.machine else { return skip("what else runs here is not known") };
    let requests = run.fold.steady().requests();
    if requests < timing::FEW {
        return skip(&format!(
            "{requests} of at least {} requests: a share of so little says nothing",
            timing::FEW
        ));
    }
    let share = time.held_up_share();
    if machine.others < OTHERS_LEAST || time.held_up < SHORT {
        return Check::at_most(HELD_UP, what, share.min(limit), limit, LimitUnit::Share);
    }
    let check = Check::at_most(HELD_UP, what, share, limit, LimitUnit::Share);
    let note = (check.state == CheckState::Failed).then(|| {
        let by = run.others_by_name().unwrap_or_else(|| "others".to_owned());
        format!(
            "{by} held its processors for {:.2} s of the {:.2} s in which it could run",
            time.held_up.as_secs_f64(),
            (time.ran + time.held_up).as_secs_f64()
        )
    });
    check.noted(note).advised(|| {
        let own = match run.stats.plane.as_str() {
            "sockets" => "run the server where nothing else does (`taskset`)",
            _ => "give the server processors of its own (`server.processors`)",
        };
        format!(
            "stop other work, or {own}; allow for a part of the server's, such as its database, in \
             `verdict.server-held-up`"
        )
    })
}

fn apart(run: &RunView<'_>, beside: &ServerBeside) -> Check {
    let what = "Where a worker was late, no thread of the server's was bound to its processor.";
    let check = Check::at_most(APART, what, f64::from(beside.threads), 0.0, LimitUnit::Count);
    let processors: Vec<String> = beside.processors.iter().map(u32::to_string).collect();
    let processors = processors.join(", ");
    let note = (check.state == CheckState::Failed).then(|| {
        let first = if beside.goes_first { ", and goes first there" } else { "" };
        format!("{} bound itself to processor {processors}, which is a worker's{first}", beside.name)
    });
    let key = if run.stats.plane == "sockets" { "sockets.processors" } else { "network.processors" };
    check.noted(note).advised(|| {
        format!(
            "take the processors out of the server's own configuration (nginx: `worker_cpu_affinity`), or give \
             the workers others than {processors} with `{key}`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::scene;
    use super::*;
    use crate::engine_stats::{EngineStats, MachineStats, OtherProcess};
    use crate::summary::LoadKind;
    use crate::verdict::Verdict;

    fn judge(damage: impl FnOnce(&mut EngineStats)) -> Verdict {
        scene::judge(LoadKind::Closed, damage)
    }

    fn failed(verdict: &Verdict) -> Vec<(&str, Option<&str>)> {
        verdict.failed().map(|check| (check.name.as_str(), check.follows_from.as_deref())).collect()
    }

    fn busy(others: f64, ran_ms: u64, held_up_ms: u64) -> impl FnOnce(&mut EngineStats) {
        let [ran, held_up] = [ran_ms, held_up_ms].map(Duration::from_ms);
        move |stats| {
            stats.machine = Some(MachineStats { processors: 2, others, ..MachineStats::default() });
            stats.server_time = Some(ServerTime { ran, waited: held_up, held_up });
            stats.other_processes = vec![OtherProcess { name: "cargo".into(), pid: 77, processors: 0.81 }];
        }
    }

    #[test]
    fn a_server_that_others_hold_up_is_not_valid_and_they_are_named() {
        let verdict = judge(busy(0.6, 3_000, 1_000));
        assert_eq!(failed(&verdict), [("server-held-up", None)]);
        let check = verdict.first_cause().expect("a cause");
        assert_eq!((check.measured, check.limit), (Some(0.25), 0.05));
        let note = "cargo 77: 81 % held its processors for 1.00 s of the 4.00 s in which it could run";
        assert_eq!(check.note.as_deref(), Some(note));
        assert!(check.advice.as_ref().expect("advice").contains("`verdict.server-held-up`"), "{check:?}");
    }

    #[test]
    fn a_quiet_machine_and_a_server_with_little_to_do_are_no_alarm() {
        // Little else ran; the server hardly waited, or not at all; nothing is known of it.
        let valid = [
            judge(busy(0.09, 3_000, 1_000)).valid,
            judge(busy(0.6, 3_000, 100)).valid,
            judge(busy(0.6, 1, 0)).valid,
            judge(|_| ()).valid,
        ];
        assert_eq!(valid, [true; 4]);
    }

    #[test]
    fn a_server_bound_to_a_workers_processor_is_the_first_cause_of_lateness() {
        let bind = |stats: &mut EngineStats| {
            stats.server_beside = Some(ServerBeside {
                threads: 2,
                processors: vec![1],
                name: "nginx".into(),
                goes_first: false,
            });
        };
        assert!(judge(bind).valid, "nothing was late");
        let verdict = judge(|stats| {
            bind(stats);
            (0..50).for_each(|_| stats.lateness.record(Duration::from_ms(11)));
            stats.workers[0].slept = Duration::from_ms(300);
            stats.workers[0].waited = Some(Duration::from_ms(400));
        });
        assert_eq!(failed(&verdict), [("server-apart", None), ("send-lateness", Some("server-apart"))]);
        let note = verdict.first_cause().and_then(|check| check.note.clone());
        assert_eq!(note.as_deref(), Some("nginx bound itself to processor 1, which is a worker's"));
    }
}
