//! Comparison: nothing compared is no agreement, and what came in time is not late.

use super::*;

/// Heads of replies that are cut off show no time, and many of them leave nothing that could agree.
#[test]
fn what_was_not_compared_does_not_agree() {
    let cut = |one_of: usize| {
        let mut scene = open();
        let transactions = scene.capture.transactions.iter_mut().enumerate();
        for (_, transaction) in transactions.filter(|(at, _)| at % one_of == 0) {
            transaction.state = TransactionState::Lossy;
            (transaction.reply_first, transaction.reply_last) = (None, None);
        }
        scene.verify()
    };
    for (one_of, words) in [
        (1, "of no request"),
        (2, " of 3405 answered requests (49.99 %)"),
        (5, " of 3405 answered requests ("),
    ] {
        let found = cut(one_of);
        assert_eq!(names(&found), [Finding::TOO_LITTLE_COMPARED], "{one_of}");
        let said = evidence(&found, Finding::TOO_LITTLE_COMPARED);
        assert!(said.contains(words), "{said}");
        let share = of(&found, TimeKind::Service).compared.expect("answered requests");
        assert!((share - (1.0 - 1.0 / one_of as f64)).abs() < 0.02, "{share}");
    }
    assert_eq!(names(&cut(30)), [""; 0]);
}

/// A run's own capture of all clients has all of them from beginning to end: half of it is no agreement.
#[test]
fn half_of_a_runs_own_capture_does_not_agree() {
    let half = |captures_all: bool| {
        let mut scene = open();
        scene.run.captures_all = captures_all;
        let from = UnixNs(START + 4_000_000_000);
        scene.capture.transactions.retain(|transaction| transaction.request_first > from);
        scene.capture.limits.first = Some(from);
        scene.verify()
    };
    assert_eq!(names(&half(true)), [Finding::TOO_LITTLE_COMPARED], "{:?}", half(true).findings);
    assert_eq!(names(&half(false)), [""; 0], "somebody else's may begin late");
}

/// Of sessions that no secret opens nothing is known: that is no agreement, whenever the capture was taken.
#[test]
fn what_could_not_be_decrypted_does_not_agree() {
    let mut scene = open();
    scene.capture.transactions.clear();
    scene.capture.limits.tls_sessions = 2;
    scene.capture.limits.tls_without_secrets = 2;
    for start in [scene.run.start, RunStart::Unknown] {
        scene.run.start = start;
        let found = scene.verify();
        assert!(
            !found.agrees && names(&found).contains(&Finding::TOO_LITTLE_COMPARED),
            "{:?}",
            found.findings
        );
        assert!(evidence(&found, Finding::TOO_LITTLE_COMPARED).contains("could be decrypted"));
    }
}

/// Packets that were not to be captured are not missing.
#[test]
fn a_capture_of_some_clients_is_compared_with_theirs() {
    let mut scene = closed();
    let of_some = |connection: u32| connection < 5;
    let users: Vec<bool> = scene.capture.connections.iter().map(|own| of_some(own.id)).collect();
    scene.capture.transactions.retain(|transaction| users[transaction.connection as usize]);
    scene.capture.connections.retain(|own| of_some(own.id));
    let found = scene.verify();
    assert_eq!(names(&found), [""; 0], "{:?}", found.findings);
    assert_eq!(of(&found, TimeKind::Service).compared, Some(1.0));
}

/// A request that was given up long after its reply had come was not slow.
#[test]
fn replies_that_came_in_time_are_not_late() {
    let give_up = |after: i64| {
        let mut scene = open();
        for sample in scene.samples.iter_mut().step_by(40) {
            sample.outcome = Outcome::TimedOut;
            sample.done = shifted(sample.done, after);
        }
        scene.verify()
    };
    assert_eq!(names(&give_up(500_000_000))[0], "outcomes-wrong");
    assert!(!names(&give_up(1_000_000)).contains(&"outcomes-wrong"), "just missed");
}
