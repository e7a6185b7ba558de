//! Warnings about a wall clock that was set during a run, and a machine that was suspended, from the
//! machine's clocks before and after it.
//!
//! All times of a run are differences of `CLOCK_MONOTONIC`, which cannot be set and does not count a
//! suspension (clock_gettime(2)). So a step of the wall clock changes no figure; but dates in other
//! programs' logs no longer match the run's.

use farfield_base::Duration;
use farfield_os::clock::Readings;

/// Time synchronisation slews a wall clock by less than this share of the elapsed time.
const SLEWED: f64 = 0.001;
/// Smaller differences come from the time between two readings.
const LEAST_NS: u64 = 100_000_000;

/// Warnings about steps of the clocks between two readings, a sentence each.
pub(crate) fn warnings(before: &Readings, after: &Readings) -> Vec<String> {
    let passed = after.monotonic_ns.abs_diff(before.monotonic_ns);
    let least = LEAST_NS + (passed as f64 * SLEWED) as u64;
    let slept = (after.boot_ns - after.monotonic_ns) - (before.boot_ns - before.monotonic_ns);
    let set = (after.wall_ns - after.boot_ns) - (before.wall_ns - before.boot_ns);
    let time = |ns: i64| Duration::from_ms((ns.unsigned_abs() + 500_000) / 1_000_000);
    let mut sentences = Vec::new();
    if set.unsigned_abs() > least {
        let way = if set > 0 { "forward" } else { "back" };
        sentences.push(format!(
            "the wall clock was set {way} by {} during the run: no time of the run is affected, all are of the \
             monotonic clock, but dates in other programs' logs do not match `started_at`",
            time(set)
        ));
    }
    if slept.unsigned_abs() > least {
        sentences.push(format!(
            "the machine was suspended for {} during the run, which the run's clock does not count: connections and \
             the server may have gone on or timed out meanwhile; run again",
            time(slept)
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;
    /// A machine that has been up for an hour, in 2026.
    const BEFORE: Readings =
        Readings { monotonic_ns: 3_600 * S, boot_ns: 4_000 * S, wall_ns: 1_790_000_000 * S };

    /// Ten seconds of the monotonic clock later, the others having moved by so much more.
    fn after(slept: i64, set: i64) -> Vec<String> {
        let Readings { monotonic_ns, boot_ns, wall_ns } = BEFORE;
        let after = Readings {
            monotonic_ns: monotonic_ns + 10 * S,
            boot_ns: boot_ns + 10 * S + slept,
            wall_ns: wall_ns + 10 * S + slept + set,
        };
        warnings(&BEFORE, &after)
    }

    #[test]
    fn a_step_of_the_wall_clock_is_reported() {
        let steps = [
            (3_600 * S, "set forward by 1h"),
            (-S / 2, "set back by 500ms"),
            // The three clocks are not read at one instant.
            (200 - 3_600 * S, "set back by 1h"),
        ];
        for (set, words) in steps {
            let sentences = after(0, set);
            assert_eq!(sentences.len(), 1, "{sentences:?}");
            assert!(
                sentences[0].contains(words) && sentences[0].contains("no time of the run is affected"),
                "{sentences:?}"
            );
        }
        // Slewing by 500 ppm, the most that adjtime(3) does.
        assert_eq!(after(0, 10 * S / 2_000), [""; 0]);
    }

    #[test]
    fn a_suspended_machine_is_reported() {
        let sentences = after(42 * S, 0);
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        assert!(sentences[0].contains("suspended for 42s"), "{sentences:?}");
    }

    #[test]
    fn clocks_that_nobody_sets_are_not_reported() {
        assert_eq!(warnings(&Readings::now(), &Readings::now()), [""; 0]);
    }
}
