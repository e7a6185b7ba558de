//! Challenge ACKs, at a limited rate (RFC 5961 §7), so that an attacker cannot have them without end, and two
//! peers that have lost each other's place cannot echo ACKs for ever.

use farfield_base::{Duration, Instant};

/// Challenge ACKs a connection may send in a period; the RFC's example is 10 in 5 s.
pub const CHALLENGES_A_PERIOD: u8 = 10;
/// The period.
pub const CHALLENGE_PERIOD: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChallengeLimit {
    period_from: Instant,
    sent: u8,
}

impl ChallengeLimit {
    /// True if one may be sent now; counts it.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        if now.since(self.period_from) >= CHALLENGE_PERIOD {
            *self = ChallengeLimit { period_from: now, sent: 0 };
        }
        let admitted = self.sent < CHALLENGES_A_PERIOD;
        self.sent += u8::from(admitted);
        admitted
    }
}
