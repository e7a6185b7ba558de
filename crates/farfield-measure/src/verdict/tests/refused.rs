//! Packets that the server's kernel refused: a cause of other failures, and none by themselves.

use super::*;
use farfield_base::PacketCounts;

/// A good run in which the server's kernel took `taken` packets and refused `refused`.
fn refused(taken: u64, refused: u64) -> (Fold, EngineStats) {
    let (fold, mut stats) = good_run();
    let network = network(&mut stats);
    network.packets = PacketCounts { up: taken, down: 1_000, refused, ..PacketCounts::default() };
    network.receive_threads = vec![0];
    (fold, stats)
}

/// Each failed check with its cause.
fn causes(verdict: &Verdict) -> Vec<(&str, Option<&str>)> {
    verdict.failed().map(|check| (check.name.as_str(), check.follows_from.as_deref())).collect()
}

/// A worker without time, and late: busy for 96 % of it.
fn fill_worker(stats: &mut EngineStats) {
    stats.workers[0].slept = Duration::from_ms(30);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
}

#[test]
fn a_server_that_cannot_take_all_packets_is_measured() {
    let (fold, stats) = refused(1_000, 4_000);
    let verdict = judge(&fold, &stats);
    assert!(verdict.valid, "{:?}", failed(&verdict));
    let check = check(&verdict, "server-receive");
    assert_eq!((check.state, check.measured), (CheckState::Skipped, Some(0.8)));
    let note = "the server's kernel could not take 4000 of 5000 packets, and nothing failed for it";
    assert_eq!((check.note.as_deref(), check.advice.as_deref()), (Some(note), None));
    let (fold, stats) = refused(9_900, 100);
    assert_eq!(
        super::check(&judge(&fold, &stats), "server-receive").state,
        CheckState::Passed,
        "at the limit"
    );
}

/// The worker wrote 4,000 of the 6,000 packets that passed the gateway in vain: without them it would have
/// been busy for a third of its time.
#[test]
fn a_worker_that_sends_everything_again_is_full_because_of_the_server() {
    let (fold, mut stats) = refused(1_000, 4_000);
    fill_worker(&mut stats);
    let verdict = judge(&fold, &stats);
    let expected = [
        ("server-receive", None),
        ("worker-cpu", Some("server-receive")),
        ("send-lateness", Some("worker-cpu")),
    ];
    assert_eq!(causes(&verdict), expected);
    let cause = verdict.first_cause().expect("a cause");
    assert_eq!(cause.note.as_deref(), Some("the server's kernel could not take 4000 of 5000 packets"));
    let advice = cause.advice.as_deref().expect("advice");
    assert!(advice.starts_with("its receive work runs on processor 0: offer less"), "{advice}");
    assert!(advice.contains("`server.receive-processors = []`"), "{advice}");
}

/// 200 of 11,200 packets are a fiftieth of its work.
#[test]
fn a_worker_that_would_be_full_anyway_is_the_first_cause() {
    let (fold, mut stats) = refused(10_000, 200);
    fill_worker(&mut stats);
    let verdict = judge(&fold, &stats);
    assert_eq!(causes(&verdict), [("worker-cpu", None), ("send-lateness", Some("worker-cpu"))]);
    assert_eq!(check(&verdict, "server-receive").state, CheckState::Skipped);
}

/// Lateness that no work of the worker's explains is none of the server's doing.
#[test]
fn a_late_worker_with_time_is_not_late_because_of_the_server() {
    let (fold, mut stats) = refused(1_000, 4_000);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    assert_eq!(causes(&judge(&fold, &stats)), [("send-lateness", None)]);
}

#[test]
fn requests_that_stay_open_follow_from_refused_packets() {
    let (_, stats) = refused(1_000, 4_000);
    let ends = |n: u64| Sample {
        outcome: if n.is_multiple_of(2) { Outcome::Ok } else { Outcome::Unfinished },
        ..sample(n * 5_000_000, n * 5_000_000 + 1_000_000)
    };
    let fold = fold(window(0, 1000), &(0..200).map(ends).collect::<Vec<_>>());
    let verdict = Asking { load: LoadKind::Open, ..Asking::default() }.judge(&fold, &stats, END);
    assert_eq!(causes(&verdict), [("server-receive", None), ("unfinished", Some("server-receive"))]);
}
