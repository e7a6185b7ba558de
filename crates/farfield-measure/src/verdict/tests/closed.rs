//! Closed loads whose users ask again as soon as they are answered: nothing is scheduled, and what the
//! generator itself takes is found all the same.

use super::*;

/// A run of such users, whose worker waited for `waited_ms` of a second for its processor, of which others
/// and the server took these shares.
fn held_up(waited_ms: u64, others: f64, server: f64) -> (Fold, EngineStats) {
    let (fold, mut stats) = good_run();
    stats.arrivals = None;
    stats.asks_at_once = true;
    stats.machine = Some(MachineStats { processors: 2, others, server, ..MachineStats::default() });
    stats.workers[0].waited = Some(Duration::from_ms(waited_ms));
    stats.workers[0].slept = Duration::from_ms(300);
    (fold, stats)
}

/// So many requests of 1 ms each.
fn fold_of(requests: u64) -> Fold {
    let samples: Vec<_> = (0..requests).map(|n| sample(n * 5_000_000, n * 5_000_000 + 1_000_000)).collect();
    fold(window(0, 1000), &samples)
}

/// The few requests that were late are too few for a percentile; those that were never asked for are in none.
#[test]
fn other_work_is_judged_by_itself_where_no_schedule_shows_it() {
    let (fold, mut stats) = held_up(410, 0.5, 0.2);
    let verdict = judge(&fold, &stats);
    assert_eq!(failed(&verdict), ["machine-busy"]);
    let busy = verdict.first_cause().expect("a cause");
    assert!(busy.measured.is_some_and(|share| (share - 0.41 * 0.5 / 0.7).abs() < 1e-9), "{busy:?}");
    // With users who think, only scheduled requests can be late, and none was.
    stats.asks_at_once = false;
    assert!(judge(&fold, &stats).valid);
    // Nor is a moment judged by shares.
    let (few, stats) = (fold_of(9), held_up(410, 0.5, 0.2).1);
    assert!(judge(&few, &EngineStats { in_system_ns: 9_000_000, ..stats }).valid);
    // On a quiet machine, and where it was the server that the worker waited for.
    for (waited_ms, others, server) in [(410, 0.09, 0.2), (150, 0.1, 0.8), (10, 0.9, 0.0)] {
        let (fold, stats) = held_up(waited_ms, others, server);
        assert!(judge(&fold, &stats).valid, "{waited_ms} ms, {others}, {server}");
    }
}

/// Requests of 1 ms may be late by one, and requests of 25 ms by a tenth of that.
#[test]
fn lateness_is_small_beside_the_response() {
    for (response_ms, late_us, expected) in
        [(1, 990, true), (1, 1_010, false), (25, 2_490, true), (25, 2_510, false)]
    {
        let (_, mut stats) = held_up(0, 0.0, 0.0);
        let samples: Vec<_> =
            (0..200).map(|n| sample(n * 4_000_000, n * 4_000_000 + response_ms * 1_000_000)).collect();
        stats.in_system_ns = 200 * response_ms * 1_000_000;
        add(&mut stats.lateness, 50, Duration::from_us(late_us));
        let verdict = judge(&fold(window(0, 1000), &samples), &stats);
        let late = check(&verdict, "send-lateness");
        assert_eq!(late.state == CheckState::Passed, expected, "{late:?}");
    }
}
