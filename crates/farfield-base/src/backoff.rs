//! The pause of a listener that cannot accept: longer after each failure, short again after a success.
//!
//! A process without descriptors has its connections wait in the kernel's queue, which reports the listener
//! as ready all the while. Trying again at once would take a processor and open nothing.

use crate::time::Duration;

/// The first pause: descriptors often come free within a request.
const LEAST: Duration = Duration::from_ms(5);
/// The longest pause: a client that waits for it takes the server for slow, and not for gone.
const MOST: Duration = Duration::from_ms(160);

/// Pauses between attempts that fail one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { next: LEAST }
    }
}

impl Backoff {
    /// The pause after a failure; twice as long after the next, up to 160 ms.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.times(2).min(MOST);
        pause
    }

    /// Notes a success: the next pause is the shortest again.
    pub fn reset(&mut self) {
        *self = Backoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::default();
        let pauses: Vec<u64> = (0..8).map(|_| backoff.pause().as_ns() / 1_000_000).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 160, 160]);
        backoff.reset();
        assert_eq!(backoff.pause(), LEAST);
    }

    /// A listener without descriptors for a minute tries some hundred times, whatever the machine's speed.
    #[test]
    fn a_minute_of_failures_takes_a_few_hundred_attempts() {
        let (mut backoff, mut passed, mut attempts) = (Backoff::default(), Duration::ZERO, 0);
        while passed < Duration::from_secs(60) {
            passed = passed + backoff.pause();
            attempts += 1;
        }
        assert!((370..390).contains(&attempts), "{attempts}");
    }
}
