//! Which processor the collector works on where it has the choice between the server's only one and a shard's.
//!
//! Beside the server it holds up no packet, as long as that processor has time for it; a full one would let it fall behind,
//! until the shards had to wait for it. Beside a shard it works in the shard's pauses ([`Pace`](super::Pace)). So it
//! is beside the server while the kernel's account (proc_stat(5)) says that there is time, and moves when there is none. The
//! limits lie apart, so that what it takes itself does not send it to and fro.

use crate::os::processors::{self, IdleTimes};
use farfield_base::{Duration, Instant};

/// Between two looks: the kernel's account counts in hundredths of a second.
const BETWEEN_LOOKS: Duration = Duration::from_ms(200);
/// A processor that idles less has no time for the collector.
const TOO_LITTLE: f64 = 0.10;
/// One that idles more has, whatever the collector takes of it.
const ENOUGH: f64 = 0.25;
/// Chunks that came without a wait between them after which it has fallen behind.
const BEHIND: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Server,
    Shard,
}

/// Where the collector is, and where it may go. Drops back to nothing: the run's thread gets its processors back elsewhere.
#[derive(Debug)]
pub(crate) struct Seat {
    /// None where there is nothing to choose.
    choice: Option<Choice>,
}

#[derive(Debug)]
struct Choice {
    /// The server's processor, and the shard's.
    processors: [usize; 2],
    at: At,
    next_look: Instant,
    idle: IdleTimes,
    looked: Instant,
}

impl Seat {
    /// Where the thread happens to run.
    pub fn anywhere() -> Seat {
        Seat { choice: None }
    }

    /// Takes the calling thread to the server's processor, from where it may go to a shard's.
    pub fn beside(server: usize, shard: usize) -> Seat {
        let processors = [server, shard];
        // Where the account cannot be read there is no telling which one idles.
        let Ok(idle) = IdleTimes::read(processors) else { return Seat::anywhere() };
        let (next_look, looked) = (Instant::ZERO + BETWEEN_LOOKS, Instant::ZERO);
        let mut choice = Choice { processors, at: At::Shard, next_look, idle, looked };
        choice.go(At::Server);
        Seat { choice: Some(choice) }
    }

    /// Looks around if it is time to, and moves if that helps. `at_once` chunks came without a wait between them.
    pub fn look(&mut self, now: Instant, at_once: u32) {
        let Some(choice) = &mut self.choice else { return };
        if now < choice.next_look && !(at_once >= BEHIND && choice.at == At::Server) {
            return;
        }
        choice.next_look = now + BETWEEN_LOOKS;
        let Ok(idle) = IdleTimes::read(choice.processors) else { return };
        let took = now.since(choice.looked).as_secs_f64();
        let shares = idle.shares_since(&choice.idle, took);
        (choice.idle, choice.looked) = (idle, now);
        let to = best(choice.at, shares, at_once);
        if to != choice.at {
            choice.go(to);
        }
    }
}

impl Choice {
    fn go(&mut self, to: At) {
        self.at = to;
        // Refused, it stays where it is, which costs lateness that is measured.
        let _ = processors::confine(&[self.processors[usize::from(to == At::Shard)]]);
    }
}

/// Where to be next, by which shares of their time the server's and the shard's processor idle.
fn best(at: At, [server, shard]: [f64; 2], at_once: u32) -> At {
    match at {
        At::Server if at_once >= BEHIND || (server < TOO_LITTLE && shard > server) => At::Shard,
        At::Shard if server > ENOUGH && at_once < BEHIND => At::Server,
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_where_there_is_time_and_never_to_and_fro() {
        let table = [
            (At::Server, [0.5, 0.1], 0, At::Server),
            (At::Server, [0.15, 0.9], 0, At::Server),
            (At::Server, [0.05, 0.4], 0, At::Shard),
            (At::Server, [0.05, 0.01], 0, At::Server),
            // Behind, whatever the account says.
            (At::Server, [0.05, 0.01], BEHIND, At::Shard),
            (At::Shard, [0.5, 0.5], 0, At::Server),
            (At::Shard, [0.5, 0.5], BEHIND, At::Shard),
            (At::Shard, [0.2, 0.1], 0, At::Shard),
        ];
        for (at, idle, at_once, expected) in table {
            assert_eq!(best(at, idle, at_once), expected, "{at:?}, {idle:?}, {at_once}");
        }
        // What it takes itself, up to a tenth of a processor, turns no decision round.
        for idle in (0..=100).map(|percent| f64::from(percent) / 100.0) {
            let after = best(At::Shard, [idle, 0.5], 0);
            if after == At::Server {
                assert_eq!(best(At::Server, [idle - 0.1, 0.5], 0), At::Server, "{idle}");
            }
        }
    }

    #[test]
    fn it_moves_the_thread_that_it_is_made_on() {
        let moved = std::thread::spawn(|| {
            let allowed = processors::allowed().unwrap();
            let (server, shard) = (allowed[0], allowed[allowed.len() - 1]);
            let mut seat = Seat::beside(server, shard);
            assert_eq!(processors::allowed().unwrap(), [server]);
            seat.look(Instant::ZERO, BEHIND);
            (shard, processors::allowed().unwrap())
        });
        let (shard, at) = moved.join().unwrap();
        assert_eq!(at, [shard]);
    }
}
