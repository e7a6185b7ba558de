//! The default ramp of a closed load: the time over which its users begin.
//!
//! Users who begin together stay together: each sends, waits a round trip and sends again with all the
//! others, and a server sees bursts, which independent users do not make. The default spreads their
//! beginnings over one cycle of a user, as in a population in steady state. `ramp = "0s"` is for bursts.

use super::Scenario;
use farfield_base::Duration;
use farfield_traffic::LoadSpec;
use farfield_traffic::load::LoadModel;

/// Least time for each user: no more begin in a second than servers accept connections.
const A_USER: Duration = Duration::from_us(50);
/// A distribution of think times may have no mean.
const LONGEST: Duration = Duration::from_secs(60);

impl Scenario {
    /// Chooses the ramp of the closed load of flow `number` that has none, in the model and in the scenario
    /// that is kept. `farthest` is the largest round trip.
    pub(crate) fn spread_users(&mut self, number: usize, load: &mut LoadModel, farthest: Duration) {
        let written = self.flow.get_mut(number).map_or(&mut self.load, |flow| &mut flow.load);
        match load {
            // Stages say when users begin.
            LoadModel::Closed { stages: Some(_), .. } => {}
            LoadModel::Closed { users, think, ramp, .. } => {
                let chosen = || spread(users.get(), think.mean(), farthest);
                if let LoadSpec::Closed(spec) = written {
                    *ramp = *spec.ramp.get_or_insert_with(chosen);
                }
            }
            // Users begin as they arrive, or one at a time.
            LoadModel::Open { .. } | LoadModel::Hybrid { .. } | LoadModel::Overload(_) => {}
        }
    }
}

/// One cycle of a user that thinks for so many seconds: two round trips, to connect and to ask, and the
/// think time.
fn spread(users: u32, think_s: f64, round_trip: Duration) -> Duration {
    let longest_s = LONGEST.as_secs_f64();
    let think = if think_s < longest_s { think_s.max(0.0) } else { longest_s };
    let cycle = Duration::from_us((think * 1e6) as u64) + round_trip.times(2);
    let most = if users == 1 { Duration::ZERO } else { LONGEST };
    cycle.max(A_USER.times(u64::from(users))).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_begin_spread_over_a_cycle_of_theirs() {
        let ms = Duration::from_ms;
        let table = [
            // The README's emulated command: connect and ask across 80 ms.
            (1_000, 0.0, ms(80), ms(160)),
            (1_000, 2.0, ms(80), ms(2_160)),
            // Without think time or distance, each still has its own instant.
            (10, 0.0, Duration::ZERO, Duration::from_us(500)),
            (10_000, 0.0, ms(50), ms(500)),
            // A distribution without a mean, and one far above a run's length.
            (10, f64::INFINITY, ms(80), ms(60_000)),
            (10, f64::NAN, ms(80), ms(60_000)),
            (10, 3_600.0, ms(80), ms(60_000)),
            // A single user needs no ramp.
            (1, 5.0, ms(80), Duration::ZERO),
        ];
        for (users, think_s, round_trip, expected) in table {
            assert_eq!(spread(users, think_s, round_trip), expected, "{users}, {think_s}, {round_trip}");
        }
    }
}
