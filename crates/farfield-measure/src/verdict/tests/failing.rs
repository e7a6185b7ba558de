//! The check `server-failing`, against runs in which what stands before a server fails, and runs in which the
//! server does.

use super::*;

const MS: u64 = 1_000_000;
const TEN_SECONDS: Instant = Instant::from_ns(10_000 * MS);

/// A run of 10 s with a request each 10 ms, of 1 ms each, whose outcomes `outcome` gives by their number.
fn requests(outcome: impl Fn(u64) -> Outcome) -> Vec<Sample> {
    (0..1000).map(|n| Sample { outcome: outcome(n), ..sample(n * 10 * MS, (n * 10 + 1) * MS) }).collect()
}

fn judged(asking: Asking, plane: &str, samples: &[Sample]) -> Verdict {
    let (_, mut stats) = good_run();
    stats.plane = plane.to_owned();
    stats.last_received = Some(Duration::from_secs(10));
    asking.judge(&fold(window(1_000, 10_000), samples), &stats, TEN_SECONDS)
}

fn check_of(verdict: &Verdict) -> &Check {
    verdict.checks.iter().find(|check| check.name == "server-failing").expect("the check")
}

fn state(asking: Asking, plane: &str, outcome: impl Fn(u64) -> Outcome) -> CheckState {
    check_of(&judged(asking, plane, &requests(outcome))).state
}

const OPEN: Asking = Asking { load: LoadKind::Open, succeeded: 0.01, threshold: None };

/// A proxy's replies for a server that is gone.
#[test]
fn a_front_door_that_answers_for_a_dead_server_is_judged_as_one() {
    use Outcome::*;
    let fails = [
        Reset,
        ClosedUnanswered,
        Status5xx,
        BadHead,
        Truncated,
        BadChunk,
        TlsAlert,
        TlsTruncated,
        NotTls,
        StreamReset,
        GoneAway,
        BadFrame,
        NotHttp2,
        BadQuic,
        Flooded,
    ];
    for outcome in fails {
        let verdict = judged(OPEN, "sockets", &requests(|n| if n < 853 { Ok } else { outcome }));
        let check = verdict.first_cause().expect("a cause");
        assert_eq!(check.name, "server-failing", "{outcome:?}");
        let note = format!("every request failed from second 8.6 on ({})", outcome.name());
        assert_eq!((check.note.as_ref(), check.measured), (Some(&note), Some(1.4e9)));
        assert!(check.advice.as_deref().expect("advice").contains("`verdict.server-failing`"));
    }
}

/// A reply that a server wrote itself, a client's own limit, and failures that end again or that were there
/// from the start.
#[test]
fn a_server_that_is_there_fails_nothing() {
    type OutcomeOf = fn(u64) -> Outcome;
    use Outcome::*;
    for outcome in [Status4xx, CheckFailed, ExtractFailed, RedirectLoop, TimedOut, NoDescriptor, Unfinished] {
        let state = state(OPEN, "sockets", |n| if n < 700 { Ok } else { outcome });
        assert_eq!(state, CheckState::Passed, "{outcome:?}");
    }
    let cases: [(&str, OutcomeOf); 5] = [
        ("it ends again", |n| if (500..980).contains(&n) { Reset } else { Ok }),
        ("shorter than the limit", |n| if n < 910 { Ok } else { Reset }),
        ("from the start", |_| Reset),
        (
            "from the start, and another check refuses the rest",
            |n| if n < 500 { CheckFailed } else { Status4xx },
        ),
        ("three of five throughout", |n| if n * 7 % 5 < 3 { Status5xx } else { Ok }),
    ];
    for (case, outcome) in cases {
        assert_ne!(state(OPEN, "sockets", outcome), CheckState::Failed, "{case}");
    }
}

#[test]
fn where_the_check_does_not_apply_it_says_so() {
    let from = |n| if n < 500 { Outcome::Ok } else { Outcome::Reset };
    assert_eq!(state(OPEN, "emulated", from), CheckState::Failed);
    assert_eq!(state(OPEN, "simulated", from), CheckState::Skipped);
    let overload = Asking { load: LoadKind::Overload, ..OPEN };
    assert_eq!(state(overload, "sockets", from), CheckState::Skipped);
    let allowed = Asking { succeeded: 0.0, ..OPEN };
    assert_eq!(state(allowed, "sockets", from), CheckState::Skipped);
    // A threshold about errors judges how many, not that the server was gone.
    let threshold = Asking { threshold: Some("errors<=60%"), ..OPEN };
    assert_eq!(state(threshold, "sockets", from), CheckState::Failed);
}

/// Few requests: that the last of them fail may be chance, where many fail throughout.
#[test]
fn few_failures_are_a_chance_where_many_fail() {
    let each_second = |fails: fn(u64) -> bool| {
        let outcome = |n| if fails(n) { Outcome::Reset } else { Outcome::Ok };
        let samples: Vec<Sample> = (0..10)
            .map(|n| Sample { outcome: outcome(n), ..sample(n * 1000 * MS, (n * 1000 + 1) * MS) })
            .collect();
        check_of(&judged(OPEN, "sockets", &samples)).state
    };
    assert_eq!(each_second(|n| n % 2 == 0 || n >= 7), CheckState::Passed);
    assert_eq!(each_second(|n| n >= 7), CheckState::Passed, "three of ten");
    // Four in a row after six successes would be a chance of 1 in 4,000, twelve times ten of them not.
    let dense = |n: u64| if n % 10 < 6 && n < 880 { Outcome::Ok } else { Outcome::Reset };
    assert_eq!(state(OPEN, "sockets", dense), CheckState::Failed);
}

/// A server that takes long may take three times as long before it counts as gone.
#[test]
fn replies_that_take_long_give_a_server_time() {
    let mut samples = requests(|n| if n < 800 { Outcome::Ok } else { Outcome::Reset });
    samples[500].done = samples[500].due + Duration::from_ms(900);
    assert_eq!(check_of(&judged(OPEN, "sockets", &samples)).limit, 2.7e9);
    assert_eq!(check_of(&judged(OPEN, "sockets", &samples)).state, CheckState::Passed);
}

/// Silence and what follows from it are reported as before: refused connections are the silence's.
#[test]
fn refused_connections_are_a_silence() {
    let samples = requests(|n| if n < 500 { Outcome::Ok } else { Outcome::ConnectRefused });
    let (_, mut stats) = good_run();
    stats.last_received = Some(Duration::from_ms(4_996));
    let verdict = OPEN.judge(&fold(window(1_000, 10_000), &samples), &stats, TEN_SECONDS);
    assert_eq!(verdict.first_cause().map(|check| check.name.as_str()), Some("server-silent"));
    assert_eq!(check_of(&verdict).state, CheckState::Skipped);
}
