//! First causes: of the machine, its host, a quota, a worker.

use super::*;

/// A worker that other work kept from its processor, and that was late with everything: one cause is
/// reported, with the machine's numbers, and the other failures as its consequences.
#[test]
fn a_busy_machine_is_the_first_cause() {
    let (fold, mut stats) = good_run();
    stats.machine =
        Some(MachineStats { processors: 2, load: Some(7.04), others: 0.83, ..MachineStats::default() });
    stats.workers[0].waited = Some(Duration::from_ms(650));
    stats.workers[0].slept = Duration::from_ms(50);
    stats.workers[0].stall = Some(Duration::from_ms(150));
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    add(&mut stats.loop_lag, 50, Duration::from_ms(9));
    let verdict = judge(&fold, &stats);
    let causes: Vec<_> =
        verdict.failed().map(|check| (check.name.as_str(), check.follows_from.as_deref())).collect();
    let follows = Some("machine-busy");
    assert_eq!(
        causes,
        [
            ("machine-busy", None),
            ("worker-cpu", follows),
            ("longest-stall", follows),
            ("loop-lag", follows),
            ("send-lateness", follows)
        ]
    );
    let busy = verdict.first_cause().expect("a cause");
    assert_eq!(busy.note.as_deref(), Some("load 7.0 on 2 processors, other processes took 83 % of them"));
    assert!(busy.advice.as_ref().expect("advice").starts_with("stop other work"), "{busy:?}");
    // A worker that was on time all the same, on the same machine.
    let (fold, mut punctual) = good_run();
    punctual.machine = stats.machine;
    punctual.workers[0].waited = stats.workers[0].waited;
    let verdict = judge(&fold, &punctual);
    assert!(verdict.valid);
    assert_eq!(check(&verdict, "machine-busy").state, CheckState::Skipped);
}

/// The host of a virtual machine took 50 ms of a second from the worker's processor: the cause where no
/// more was late than that can make late, but not where the worker had more to do than it could, and none
/// where all was on time.
#[test]
fn time_that_the_host_took_is_the_first_cause() {
    let (fold, mut stats) = good_run();
    let steal =
        |share| move |machine: MachineStats| MachineStats { stolen_from_workers: Some(share), ..machine };
    stats.machine = stats.machine.map(steal(0.05));
    let punctual = judge(&fold, &stats);
    assert!(punctual.valid);
    assert_eq!(check(&punctual, "host-steal").state, CheckState::Skipped);
    // It is marked what that can have moved.
    let marked = punctual.disturbed.as_ref().expect("time that the host took");
    assert_eq!((marked.stolen_ns, marked.lost_ns), (50_000_000, 0));
    assert_eq!(check(&punctual, "longest-stall").state, CheckState::Passed);
    add(&mut stats.lateness, 8, Duration::from_ms(9));
    let late = judge(&fold, &stats);
    assert_eq!(failed(&late), ["host-steal", "send-lateness"]);
    let cause = late.first_cause().expect("a cause");
    let note = "taken by the virtual machine's host";
    assert_eq!((cause.name.as_str(), cause.note.as_deref()), ("host-steal", Some(note)));
    assert!(
        cause.advice.as_ref().expect("advice").starts_with("measure when the host is quiet"),
        "{cause:?}"
    );
    assert_eq!(check(&late, "send-lateness").follows_from.as_deref(), Some("host-steal"));
    // Of a stall of 150 ms, 50 ms are a third.
    stats.workers[0].stall = Some(Duration::from_ms(150));
    let stalled = judge(&fold, &stats);
    assert_eq!(check(&stalled, "longest-stall").follows_from, None);
    stats.workers[0].slept = Duration::from_ms(40);
    let full = judge(&fold, &stats);
    assert_eq!(full.first_cause().map(|cause| cause.name.as_str()), Some("worker-cpu"));
    assert_eq!(check(&full, "host-steal").state, CheckState::Passed);
    // A tick of the kernel's is no cause, nor is more of them where ten times as much was late.
    let (_, mut stats) = good_run();
    add(&mut stats.lateness, 8, Duration::from_ms(9));
    stats.machine = stats.machine.map(steal(0.01));
    let tick = judge(&fold, &stats);
    assert_eq!((failed(&tick), &tick.disturbed), (vec!["send-lateness"], &None));
    let advice = tick.first_cause().and_then(|cause| cause.advice.as_deref()).expect("advice");
    assert!(advice.starts_with("none of what was measured explains it: "), "{advice}");
    add(&mut stats.lateness, 80, Duration::from_ms(9));
    stats.machine = stats.machine.map(steal(0.05));
    let little = judge(&fold, &stats);
    assert_eq!(failed(&little), ["send-lateness"]);
    let advice = little.first_cause().and_then(|cause| cause.advice.as_deref()).expect("advice");
    assert!(advice.starts_with("none of what was measured explains it (host-steal "), "{advice}");
}

/// A quota that was used up for 400 ms of a second, in which the worker waited for it, is the first cause
/// where something was late, and none where all was on time.
#[test]
fn a_quota_that_is_used_up_is_the_first_cause() {
    let (fold, mut stats) = good_run();
    let quota = Some(0.5);
    let throttled = Some(Duration::from_ms(400));
    stats.machine = stats.machine.map(|machine| MachineStats { quota, throttled, others: 0.5, ..machine });
    let punctual = judge(&fold, &stats);
    assert!(punctual.valid);
    assert_eq!(check(&punctual, "throttled").state, CheckState::Skipped);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    stats.workers[0].slept = Duration::ZERO;
    stats.workers[0].waited = Some(Duration::from_ms(400));
    let late = judge(&fold, &stats);
    assert_eq!(failed(&late), ["throttled", "worker-cpu", "send-lateness"]);
    let cause = late.first_cause().expect("a cause");
    assert_eq!((cause.name.as_str(), cause.measured), ("throttled", Some(0.4)));
    let note = "the quota of 0.50 processors of farfield's control group was used up, and it waited for 0.40 s in all";
    assert_eq!(cause.note.as_deref(), Some(note));
    assert!(cause.advice.as_ref().expect("advice").contains("`cpu.max`"), "{cause:?}");
    assert!(
        late.failed()
            .all(|check| check.name == "throttled" || check.follows_from.as_deref() == Some("throttled"))
    );
    // Users who come back at once are late for nothing, and slower.
    let (fold, mut closed) = good_run();
    (closed.machine, closed.arrivals, closed.network) = (stats.machine, None, None);
    closed.lateness = Histogram::new();
    assert_eq!(failed(&judge(&fold, &closed)), ["throttled"]);
    // Without a quota nothing is said of it.
    stats.machine = stats.machine.map(|machine| MachineStats { quota: None, throttled: None, ..machine });
    assert_eq!(check(&judge(&fold, &stats), "throttled").state, CheckState::Skipped);
}

/// A rate of a thousand times what the workers begin is the cause of all that they lack and of all that is
/// late; one that they just miss is not.
#[test]
fn a_rate_that_no_share_of_the_machine_could_begin_is_the_first_cause() {
    let far = |scheduled| {
        let (_, mut stats) = good_run();
        let samples: Vec<Sample> =
            (0..200).map(|n| Sample { outcome: Outcome::NoDescriptor, ..sample(n, n + 500) }).collect();
        stats.workers[0].slept = Duration::ZERO;
        stats.arrivals = Some(Arrivals { expected: None, scheduled, begun: 200, dropped: 0 });
        stats.generator.samples_lost = scheduled - 200;
        stats.memory_short = Some("after 0.4 s 1 MiB of memory were left".to_owned());
        add(&mut stats.lateness, 50, Duration::from_secs(1));
        let asking = Asking { load: LoadKind::Open, ..Asking::default() };
        asking.judge(&fold(window(0, 1000), &samples), &stats, END)
    };
    let verdict = far(200_000);
    let cause = verdict.first_cause().expect("a cause");
    assert_eq!(cause.name, "achieved-rate");
    let note = "200,000/s were offered, more than this machine can begin: 200 of 200000 arrivals were begun";
    assert_eq!(cause.note.as_deref(), Some(note));
    assert!(cause.advice.as_deref().expect("advice").starts_with("offer a rate that fits this machine"));
    let follow =
        verdict.failed().filter(|check| check.follows_from.as_deref() == Some("achieved-rate")).count();
    assert_eq!(follow + 1, verdict.failed().count(), "{:?}", verdict.failed().collect::<Vec<_>>());
    assert!(follow >= 4);
    // Nine of ten were begun: descriptors are the cause.
    assert_eq!(far(222).first_cause().map(|check| check.name.as_str()), Some("generator-lacked"));
}

/// Other work that had the processor for 100 ms of it explains no stall of 400 ms: that is a cause of its
/// own, and the only one where nothing else was late.
#[test]
fn a_stall_that_other_work_does_not_explain_is_a_cause() {
    let (fold, mut stats) = good_run();
    stats.machine =
        Some(MachineStats { processors: 2, load: Some(7.0), others: 0.8, ..MachineStats::default() });
    stats.workers[0].waited = Some(Duration::from_ms(600));
    stats.workers[0].slept = Duration::from_ms(200);
    stats.workers[0].stall = Some(Duration::from_ms(400));
    (stats.workers[0].stalled, stats.workers[0].stopped) = (Duration::from_ms(400), Duration::from_ms(300));
    stats.workers[0].stall_waited = Some(Duration::from_ms(100));
    let verdict = judge(&fold, &stats);
    assert_eq!(failed(&verdict), ["longest-stall"]);
    assert_eq!(check(&verdict, "machine-busy").state, CheckState::Skipped);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    let verdict = judge(&fold, &stats);
    assert_eq!(failed(&verdict), ["machine-busy", "longest-stall", "send-lateness"]);
    assert_eq!(check(&verdict, "longest-stall").follows_from, None);
    assert_eq!(check(&verdict, "send-lateness").follows_from.as_deref(), Some("machine-busy"));
}

/// Lengths of time are in milliseconds and seconds, wherever a stall is put into words.
#[test]
fn a_stall_is_said_in_units_for_people() {
    let (fold, mut stats) = good_run();
    stats.workers[0].stall = Some(Duration::from_ns(145_354_442));
    stats.workers[0].stalled = Duration::from_ns(145_354_442);
    let verdict = judge(&fold, &stats);
    let stall = check(&verdict, "longest-stall");
    let note = stall.note.as_deref().expect("a note");
    assert!(note.starts_with("0.15 s of stalls of 20 ms and more together"), "{note}");
    let advice = stall.advice.as_deref().expect("advice");
    assert!(advice.starts_with("something held a worker for 145 ms: "), "{advice}");
}

/// A stall of a long run moves its maximum and no percentile up to the p99, which is said; many of them do,
/// and so does one of a shorter run, or what a threshold is about.
#[test]
fn a_stall_in_a_long_run_is_no_failure_if_all_are_little_together() {
    let (_, mut stats) = good_run();
    let mut stalled = |minutes: u64, all_ms: u64, threshold: Option<&'static str>| {
        stats.workers[0].stall = Some(Duration::from_ms(145));
        stats.workers[0].stalled = Duration::from_ms(all_ms);
        let fold = fold(window(0, minutes * 60_000), &[]);
        let until = Instant::ZERO + Duration::from_secs(minutes * 60);
        let verdict = Asking { threshold, ..Asking::default() }.judge(&fold, &stats, until);
        let moved = verdict.disturbed.as_ref().expect("a long stall").moved.join(", ");
        (check(&verdict, "longest-stall").clone(), moved)
    };
    let (long, moved) = stalled(25, 145, None);
    assert_eq!(long.state, CheckState::Skipped);
    let note = "a worker was away from its events for 145 ms; 0.14 s of stalls in 1500 s made at most 0.02 % of the \
                requests late: percentiles up to the p99.9 hold, the p99.99 and the maximum may be farfield's own time";
    assert_eq!((long.note.as_deref(), moved.as_str()), (Some(note), "p99.99, max"));
    let (more, moved) = stalled(25, 1_000, None);
    assert_eq!((more.state, moved.as_str()), (CheckState::Skipped, "p99.9, p99.99, max"));
    assert_eq!(stalled(25, 2_000, None).0.state, CheckState::Failed, "many");
    assert_eq!(stalled(2, 145, None).0.state, CheckState::Failed, "shorter");
    // A worker of another version did not add them up.
    assert_eq!(stalled(2, 0, None).0.state, CheckState::Failed);
    // A claim of what it can have moved.
    for (threshold, state) in [
        ("p99<1s", CheckState::Skipped),
        ("p99.99<1s", CheckState::Failed),
        ("max<1s", CheckState::Failed),
        ("errors<1%", CheckState::Skipped),
    ] {
        assert_eq!(stalled(25, 145, Some(threshold)).0.state, state, "{threshold}");
    }
}

/// Time that the host took in pieces that are no stalls moves percentiles of a long run as stalls do, and is
/// no failure where nothing was late for it.
#[test]
fn time_that_the_host_took_marks_what_it_can_have_moved() {
    let (_, mut stats) = good_run();
    let fold = fold(window(0, 60_000), &[]);
    let until = Instant::ZERO + Duration::from_secs(60);
    let mut stolen = |share| {
        stats.machine = stats.machine.map(|machine| MachineStats {
            stolen_from_workers: Some(share),
            processors: 1,
            ..machine
        });
        stats.workers[0].wall = Duration::from_secs(60);
        stats.workers[0].stall = Some(Duration::from_ms(12));
        let verdict = Asking::default().judge(&fold, &stats, until);
        assert_eq!(check(&verdict, "longest-stall").state, CheckState::Passed);
        let found = verdict.disturbed.as_ref();
        found.map(|found| (found.moved.join(", "), found.mean_moved_ns_max, found.in_words()))
    };
    let (moved, mean_ns, words) = stolen(0.0005).expect("30 ms of a minute");
    assert_eq!((moved.as_str(), mean_ns), ("p99.9, p99.99, max", 12_000));
    let said = "0.03 s that the machine's host took in 60 s made at most 0.10 % of the requests late: percentiles up to \
                the p99 hold, the p99.9, the p99.99 and the maximum may be farfield's own time";
    assert_eq!(words, said);
    assert_eq!(stolen(0.0003), None, "two ticks are the error of the count");
}

/// A worker that has more to do than it can: the check says how much it can here. 200/s kept it busy for 95
/// %; for 60 % that would be 126/s.
#[test]
fn a_full_worker_says_how_much_it_can() {
    let (fold, mut stats) = good_run();
    stats.workers[0].slept = Duration::from_ms(40);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    let asking = Asking { load: LoadKind::Open, ..Asking::default() };
    let verdict = asking.judge(&fold, &stats, END);
    let full = verdict.first_cause().expect("a cause");
    assert_eq!(full.name, "worker-cpu");
    assert_eq!(full.advice.as_deref(), Some("offer at most about 120/s here, or `--workers 2`"));
    assert_eq!(check(&verdict, "send-lateness").follows_from.as_deref(), Some("worker-cpu"));
    stats.machine.as_mut().expect("a machine").processors = 1;
    let verdict = asking.judge(&fold, &stats, END);
    let advice = verdict.first_cause().and_then(|check| check.advice.as_deref());
    assert_eq!(advice, Some("offer at most about 120/s here"), "no processor is left for a second worker");
}

/// Arrivals that find no idle connection open one each: reported with their number and the key that bounds
/// them.
#[test]
fn a_storm_of_connections_is_reported() {
    let samples: Vec<_> = (0..1000)
        .map(|n: u32| Sample {
            connection: n,
            number: u32::from(n < 2),
            ..sample(u64::from(n) * 1_000_000, u64::from(n) * 1_000_000 + 500_000)
        })
        .collect();
    let (mut stats, asking) = (good_run().1, Asking { load: LoadKind::Open, ..Asking::default() });
    stats.workers[0].slept = Duration::from_ms(40);
    let verdict = asking.judge(&fold(window(0, 1000), &samples), &stats, END);
    let advice = check(&verdict, "worker-cpu").advice.clone().expect("advice");
    assert!(advice.starts_with("1,000/s connections were opened, since"), "{advice}");
    assert!(advice.contains("`load.users-max`; offer at most about 630/s here"), "{advice}");
}
