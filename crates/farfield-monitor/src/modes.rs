//! Exact processor time, divided into user and kernel mode.
//!
//! The kernel knows the sum to the nanosecond, but samples the mode at its timer interrupts, mostly every 4
//! or 10 ms, and shows both cut off to 10 ms for each process. Time is therefore taken from the exact sum,
//! and divided in the ratio of the samples, as `cputime_adjust` of the kernel does.

/// User and kernel time that add up to the exact sum. Neither ever falls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Modes {
    /// In nanoseconds, user mode first.
    pub ns: [u64; 2],
}

impl Modes {
    /// Advances to `total_ns`, of which the sampled `modes` were in either mode, in any unit. Without
    /// samples, all of it counts as user time.
    pub fn advance(&mut self, total_ns: u64, modes: [u64; 2]) {
        let sampled = u128::from(modes[0]) + u128::from(modes[1]);
        let user = match sampled {
            0 => total_ns,
            sampled => (u128::from(total_ns) * u128::from(modes[0]) / sampled) as u64,
        };
        let new = total_ns.saturating_sub(self.ns[0] + self.ns[1]);
        let new_user = user.saturating_sub(self.ns[0]).min(new);
        self.ns[0] += new_user;
        self.ns[1] += new - new_user;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_add_up_to_the_sum_and_never_fall() {
        let mut modes = Modes::default();
        // The samples change their mind twice, and the sum falls once.
        let steps = [
            (5, [0, 0]),
            (1_000, [1, 3]),
            (2_000, [1, 3]),
            (1_500, [3, 1]),
            (3_000, [30, 1]),
            (9_000, [2, 1]),
        ];
        let mut before = modes;
        let mut most = 0;
        for (total_ns, samples) in steps {
            modes.advance(total_ns, samples);
            most = most.max(total_ns);
            assert_eq!(modes.ns[0] + modes.ns[1], most);
            assert!(modes.ns[0] >= before.ns[0] && modes.ns[1] >= before.ns[1], "{before:?}, then {modes:?}");
            before = modes;
        }
        assert_eq!(modes.ns, [6_000, 3_000]);
    }

    #[test]
    fn a_century_does_not_overflow() {
        let mut modes = Modes::default();
        modes.advance(3_200_000_000_000_000_000, [u64::MAX / 2, u64::MAX / 2]);
        assert_eq!(modes.ns, [1_600_000_000_000_000_000; 2]);
    }
}
