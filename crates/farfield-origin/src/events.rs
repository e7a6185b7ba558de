//! Streams of events that the server sends on request (`/events/N/GAP/PAUSE`): each at its instant, however
//! late the one before was.

use crate::clock::Clock;
use async_io::Timer;
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The events of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventPlan {
    /// Number of events; 0 for a stream without end.
    pub count: u64,
    /// The time from one event to the next.
    pub gap: Duration,
    /// A further time before the event in the middle; of a stream without end, before its second.
    pub pause: Duration,
}

impl EventPlan {
    /// The time of an event, from 0, since the beginning of the stream.
    pub fn at(self, number: u64) -> Duration {
        let middle = (self.count / 2).max(1);
        let pause = if number >= middle { self.pause } else { Duration::ZERO };
        self.gap.times(number) + pause
    }
}

/// The rest of a stream that is being sent.
#[derive(Debug)]
pub(crate) struct EventBody {
    plan: EventPlan,
    clock: Clock,
    begun: Instant,
    sent: u64,
    timer: Option<Timer>,
}

impl EventBody {
    /// A stream that begins now.
    pub(crate) fn begin(plan: EventPlan, clock: Clock) -> EventBody {
        EventBody { plan, clock, begun: clock.now(), sent: 0, timer: None }
    }

    /// True if all events are sent.
    pub(crate) fn is_over(&self) -> bool {
        self.plan.count > 0 && self.sent == self.plan.count
    }

    /// The next event once it is due; none behind the last.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.is_over() {
            return Poll::Ready(None);
        }
        let due = self.begun + self.plan.at(self.sent);
        if self.clock.now() < due {
            let timer = self.timer.get_or_insert_with(|| self.clock.timer(due));
            ready!(Pin::new(timer).poll(context));
        }
        self.timer = None;
        let event = format!("id: {number}\ndata: event {number}\n\n", number = self.sent);
        self.sent += 1;
        Poll::Ready(Some(event.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_their_instants_and_the_one_in_the_middle_comes_later() {
        let [gap, pause] = [20, 500].map(Duration::from_ms);
        let ms = |count, number| EventPlan { count, gap, pause }.at(number).as_ns() / 1_000_000;
        assert_eq!([0, 1, 4, 5, 9].map(|number| ms(10, number)), [0, 20, 80, 600, 680]);
        assert_eq!([0, 1, 2].map(|number| ms(0, number)), [0, 520, 540], "a stream without end");
        assert_eq!(ms(1, 0), 0);
    }
}
