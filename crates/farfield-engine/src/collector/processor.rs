//! The collector's processor, where the choice is between the server's only one and a shard's.
//!
//! On the server's processor the collector delays no packet, as long as that processor idles enough; on a
//! full one it falls behind until shards wait for it. On a shard's processor it works in the shard's pauses
//! ([`Pace`](super::Pace)). So it stays with the server while the kernel's idle count (proc_stat(5)) is high
//! enough, and moves when it is not. The two limits differ (hysteresis), so that the collector's own load
//! does not move it back and forth.

use farfield_base::{Duration, Instant};
use farfield_os::processors::{self, IdleTimes};

/// Time between two checks: the kernel counts idle time in hundredths of a second.
const INTERVAL: Duration = Duration::from_ms(200);
/// Idle share below which a processor has no time for the collector.
const IDLE_SHARE_LOW: f64 = 0.10;
/// Idle share above which a processor has time for the collector, whatever it uses itself.
const IDLE_SHARE_HIGH: f64 = 0.25;
/// Chunks received without a wait between them after which the collector has fallen behind.
const CHUNKS_BEHIND: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Companion {
    Server,
    Shard,
}

/// The collector's processor, and the one that it may move to. Dropping it restores nothing: the run
/// restores its thread's affinity itself.
#[derive(Debug)]
pub(crate) struct CollectorProcessor {
    /// `None` if there is no choice.
    choice: Option<Choice>,
}

#[derive(Debug)]
struct Choice {
    /// The server's processor, then the shard's.
    processors: [usize; 2],
    beside: Companion,
    next_check: Instant,
    idle: IdleTimes,
    checked: Instant,
}

impl CollectorProcessor {
    /// No choice: the thread stays wherever it runs.
    pub fn unbound() -> CollectorProcessor {
        CollectorProcessor { choice: None }
    }

    /// Moves the calling thread to the server's processor, from where it may move to a shard's.
    pub fn choosing(server: usize, shard: usize) -> CollectorProcessor {
        let processors = [server, shard];
        // Without the kernel's idle count there is nothing to decide by.
        let Ok(idle) = IdleTimes::read(processors) else { return CollectorProcessor::unbound() };
        let (next_check, checked) = (Instant::ZERO + INTERVAL, Instant::ZERO);
        let mut choice = Choice { processors, beside: Companion::Shard, next_check, idle, checked };
        choice.move_to(Companion::Server);
        CollectorProcessor { choice: Some(choice) }
    }

    /// Checks the idle shares if it is time to, and moves if that helps. `at_once` is the number of chunks
    /// received without a wait between them.
    pub fn reconsider(&mut self, now: Instant, at_once: u32) {
        let Some(choice) = &mut self.choice else { return };
        if now < choice.next_check && !(at_once >= CHUNKS_BEHIND && choice.beside == Companion::Server) {
            return;
        }
        choice.next_check = now + INTERVAL;
        let Ok(idle) = IdleTimes::read(choice.processors) else { return };
        let took = now.since(choice.checked).as_secs_f64();
        let shares = idle.shares_since(&choice.idle, took);
        (choice.idle, choice.checked) = (idle, now);
        let to = best(choice.beside, shares, at_once);
        if to != choice.beside {
            choice.move_to(to);
        }
    }
}

impl Choice {
    fn move_to(&mut self, to: Companion) {
        self.beside = to;
        // If refused, the thread stays where it is, which costs lateness that is measured.
        let _ = processors::confine(&[self.processors[usize::from(to == Companion::Shard)]]);
    }
}

/// The better processor, by the idle shares of the server's and the shard's.
fn best(beside: Companion, [server, shard]: [f64; 2], at_once: u32) -> Companion {
    match beside {
        Companion::Server if at_once >= CHUNKS_BEHIND || (server < IDLE_SHARE_LOW && shard > server) => {
            Companion::Shard
        }
        Companion::Shard if server > IDLE_SHARE_HIGH && at_once < CHUNKS_BEHIND => Companion::Server,
        _ => beside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_where_there_is_time_and_never_to_and_fro() {
        let table = [
            (Companion::Server, [0.5, 0.1], 0, Companion::Server),
            (Companion::Server, [0.15, 0.9], 0, Companion::Server),
            (Companion::Server, [0.05, 0.4], 0, Companion::Shard),
            (Companion::Server, [0.05, 0.01], 0, Companion::Server),
            // Fallen behind, whatever the idle shares are.
            (Companion::Server, [0.05, 0.01], CHUNKS_BEHIND, Companion::Shard),
            (Companion::Shard, [0.5, 0.5], 0, Companion::Server),
            (Companion::Shard, [0.5, 0.5], CHUNKS_BEHIND, Companion::Shard),
            (Companion::Shard, [0.2, 0.1], 0, Companion::Shard),
        ];
        for (beside, idle, at_once, expected) in table {
            assert_eq!(best(beside, idle, at_once), expected, "{beside:?}, {idle:?}, {at_once}");
        }
        // The collector's own load, up to a tenth of a processor, reverses no decision.
        for idle in (0..=100).map(|percent| f64::from(percent) / 100.0) {
            let after = best(Companion::Shard, [idle, 0.5], 0);
            if after == Companion::Server {
                assert_eq!(best(Companion::Server, [idle - 0.1, 0.5], 0), Companion::Server, "{idle}");
            }
        }
    }

    #[test]
    fn it_moves_the_thread_that_it_is_made_on() {
        let moved = std::thread::spawn(|| {
            let allowed = processors::allowed().unwrap();
            let (server, shard) = (allowed[0], allowed[allowed.len() - 1]);
            let mut processor = CollectorProcessor::choosing(server, shard);
            assert_eq!(processors::allowed().unwrap(), [server]);
            processor.reconsider(Instant::ZERO, CHUNKS_BEHIND);
            (shard, processors::allowed().unwrap())
        });
        let (shard, at) = moved.join().unwrap();
        assert_eq!(at, [shard]);
    }
}
