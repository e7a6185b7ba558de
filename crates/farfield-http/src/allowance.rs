//! An allowance for what a peer sends that leads to nothing: frames, records, packets.
//!
//! Each unit spends one, and what leads to something earns a few. A count "in a row" would be set back by
//! every reply, so that a peer which sends thousands of pings for each could go on for ever; here the ratio
//! over a connection's life is bounded. Sound peers stay far below it: a few window updates and a ping for
//! each frame of a body.

/// Units that lead to nothing and that a peer may send in advance.
#[cfg(any(feature = "http2", feature = "websocket", test))]
pub const ADVANCE: u32 = 10_000;

/// Units that lead to nothing and that a peer may send for each unit that leads to something.
pub const EARNED: u32 = 32;

/// The allowance of one connection, or of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    left: u32,
    advance: u32,
    /// Earned by each unit that leads to something.
    earned: u32,
}

/// The allowance is used up: the peer floods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllowanceError;

impl Allowance {
    /// All of the advance.
    #[cfg(any(feature = "http2", feature = "websocket", test))]
    pub(crate) const FULL: Allowance = Allowance::of(ADVANCE);

    /// All of an advance of so many units.
    pub(crate) const fn of(advance: u32) -> Allowance {
        Allowance { left: advance, advance, earned: EARNED }
    }

    /// The allowance, of which each unit that leads to something earns so much.
    #[cfg(feature = "tls")]
    pub(crate) const fn earning(self, earned: u32) -> Allowance {
        Allowance { earned, ..self }
    }

    /// Spends `units`.
    pub(crate) fn spend(&mut self, units: u64) -> Result<(), AllowanceError> {
        let left = u64::from(self.left).checked_sub(units).ok_or(AllowanceError)?;
        self.left = left as u32;
        Ok(())
    }

    /// Earns what `units` that lead to something are worth; never more than the advance is kept.
    pub(crate) fn earn(&mut self, units: u64) {
        let left = u64::from(self.left).saturating_add(units.saturating_mul(u64::from(self.earned)));
        self.left = left.min(u64::from(self.advance)) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_bounded_and_the_advance_is_given_once() {
        // As many as are earned go on for ever.
        let mut sound = Allowance::FULL;
        for _ in 0..100_000 {
            sound.spend(u64::from(EARNED)).expect("within the allowance");
            sound.earn(1);
        }
        // One more, and the advance is used up after as many turns as it has units.
        let mut flood = Allowance::FULL;
        let turns = (0..=ADVANCE).take_while(|_| {
            let is_allowed = flood.spend(u64::from(EARNED) + 1).is_ok();
            flood.earn(1);
            is_allowed
        });
        assert_eq!(turns.count() as u32, ADVANCE - EARNED);
        for units in [u64::MAX, u64::from(ADVANCE) + 1] {
            let mut full = Allowance::FULL;
            assert_eq!(full.spend(units), Err(AllowanceError));
        }
    }

    #[test]
    fn nothing_is_saved_beyond_the_advance() {
        let mut saved = Allowance::FULL;
        saved.earn(u64::MAX);
        assert_eq!(saved, Allowance::FULL);
        assert_eq!(saved.spend(u64::from(ADVANCE)), Ok(()));
        assert_eq!(saved.spend(1), Err(AllowanceError));
    }
}
