//! A deterministic link, in 40 bytes: a rate or none, a drop-tail queue or none, and propagation, as most
//! clients' own links are. It does what a [`Link`](crate::Link) of the same model does.
//!
//! Its model is kept apart from its state, for its owner keeps one for all alike. So are packets that wait:
//! one is remembered here, and more than one in a [pool](PlainBacklogs), for there are many such links and
//! hardly any has packets waiting.

use super::DropCause;
use super::model::LinkModel;
use crate::loss::Loss;
use crate::probability::Probability;
use crate::queue::{Backlog, Discipline, Limit};
use crate::transmit::{Speed, Transmitter};
use farfield_base::Instant;

/// The state of such a link.
#[derive(Debug, Clone)]
pub struct PlainLink {
    now: Instant,
    busy_until: Instant,
    owed: u64,
    waiting: QueuedPackets,
    /// The time by which the packet that waits, or waited last, starts to leave before `busy_until`; of
    /// several packets, the index of their backlog in the pool.
    lead_ns_or_backlog: u32,
    /// Size of the packet that waits, with the link's overhead.
    size: u32,
}

/// The packets that have waited since the link was idle last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueuedPackets {
    None,
    One,
    Several,
}

/// Packets that wait before plain links.
#[derive(Debug, Default)]
pub struct PlainBacklogs {
    backlogs: Vec<Backlog>,
    free: Vec<u32>,
}

impl PlainBacklogs {
    /// The index of an empty backlog.
    fn take(&mut self) -> u32 {
        let backlog = self.free.pop().unwrap_or_else(|| {
            self.backlogs.push(Backlog::default());
            self.backlogs.len() as u32 - 1
        });
        self.backlogs[backlog as usize].clear();
        backlog
    }
}

impl LinkModel {
    /// True if a [`PlainLink`] does.
    pub fn is_plain(&self) -> bool {
        matches!(self.speed, Speed::Unlimited | Speed::Rate(_))
            && matches!(self.discipline, Discipline::Unlimited | Discipline::DropTail(_))
            && self.delay.is_constant()
            && self.epochs.is_none()
            && self.loss == Loss::None
            && self.duplicate == Probability::NEVER
            && self.corrupt == Probability::NEVER
    }
}

impl Default for PlainLink {
    fn default() -> PlainLink {
        let (now, busy_until) = (Instant::ZERO, Instant::ZERO);
        PlainLink { now, busy_until, owed: 0, waiting: QueuedPackets::None, lead_ns_or_backlog: 0, size: 0 }
    }
}

impl PlainLink {
    /// Offers a packet of `bytes` at `now` to the link, which is of this plain model: when it arrives, or why
    /// it does not.
    pub fn offer(
        &mut self,
        model: &LinkModel,
        lines: &mut PlainBacklogs,
        now: Instant,
        bytes: u32,
    ) -> Result<Instant, DropCause> {
        self.now = self.now.max(now);
        let (now, size) = (self.now, model.on_wire(bytes));
        let Speed::Rate(_) = &model.speed else { return Ok(now + model.delay.propagation) };
        let waits = self.busy_until > now;
        match model.discipline {
            Discipline::DropTail(limit) if waits => self.admit(limit, lines, size)?,
            // Packets that waited have left.
            _ => self.forget(lines),
        }
        let mut transmitter = Transmitter::Rate { busy_until: self.busy_until, owed: self.owed };
        let passage = transmitter.carry(&model.speed, now, size.into());
        if let Transmitter::Rate { busy_until, owed } = transmitter {
            (self.busy_until, self.owed) = (busy_until, owed);
        }
        if waits && matches!(model.discipline, Discipline::DropTail(_)) {
            self.queue(lines, passage.start, size);
        }
        Ok(passage.end + model.delay.propagation)
    }

    /// Instant at which the last admitted packet has left.
    pub fn busy_until(&self) -> Instant {
        self.busy_until
    }

    /// Admits a packet that must wait, or names the cause of its drop.
    fn admit(&mut self, limit: Limit, lines: &mut PlainBacklogs, size: u32) -> Result<(), DropCause> {
        let (packets, bytes) = match self.waiting {
            QueuedPackets::One if self.one_starts_at() > self.now => (1, u64::from(self.size)),
            QueuedPackets::None | QueuedPackets::One => {
                self.waiting = QueuedPackets::None;
                (0, 0)
            }
            QueuedPackets::Several => {
                let backlog = &mut lines.backlogs[self.lead_ns_or_backlog as usize];
                backlog.settle(self.now);
                (backlog.packets(), backlog.bytes())
            }
        };
        if limit.admits(packets, bytes, size.into()) { Ok(()) } else { Err(DropCause::QueueFull) }
    }

    fn one_starts_at(&self) -> Instant {
        Instant::from_ns(self.busy_until.as_ns() - u64::from(self.lead_ns_or_backlog))
    }

    /// A packet that was admitted waits until `start`, and holds the link until `busy_until`.
    fn queue(&mut self, lines: &mut PlainBacklogs, start: Instant, size: u32) {
        let lead_ns = u32::try_from(self.busy_until.since(start).as_ns());
        if let (QueuedPackets::None, Ok(lead_ns)) = (self.waiting, lead_ns) {
            (self.waiting, self.lead_ns_or_backlog, self.size) = (QueuedPackets::One, lead_ns, size);
            return;
        }
        if self.waiting != QueuedPackets::Several {
            let backlog = lines.take();
            if self.waiting == QueuedPackets::One {
                // It led to what was the end of the link's work before this packet, which is where this one
                // starts.
                let first = start.as_ns() - u64::from(self.lead_ns_or_backlog);
                lines.backlogs[backlog as usize].push(Instant::from_ns(first), self.size);
            }
            (self.waiting, self.lead_ns_or_backlog) = (QueuedPackets::Several, backlog);
        }
        lines.backlogs[self.lead_ns_or_backlog as usize].push(start, size);
    }

    /// The link is idle.
    fn forget(&mut self, lines: &mut PlainBacklogs) {
        if std::mem::replace(&mut self.waiting, QueuedPackets::None) == QueuedPackets::Several {
            lines.free.push(self.lead_ns_or_backlog);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Arrival, Delivery, Fate, Link, Packet};
    use farfield_base::Duration;
    use farfield_base::random::{Purpose, Seed};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn model() -> impl Strategy<Value = LinkModel> {
        let rate = prop_oneof![Just(None), (1u64..2_000_000_000).prop_map(Some)];
        let limit = prop_oneof![
            Just(None),
            (1u64..5000).prop_map(|bytes| Some(Limit::Bytes(bytes))),
            (1u64..5).prop_map(|packets| Some(Limit::Packets(packets)))
        ];
        (rate, limit, 0u64..1000, 0u32..30).prop_map(|(rate, limit, delay, overhead)| {
            let mut model = LinkModel::ideal(Duration::from_ns(delay)).overhead(overhead);
            if let Some(rate) = rate {
                model = model.rate(crate::BitRate::per_second(rate).unwrap());
            }
            match limit {
                Some(limit) => model.drop_tail(limit),
                None => model,
            }
        })
    }

    proptest! {
        /// Several links on one pool, each against a link of the same model; offers may be late.
        #[test]
        fn does_what_a_link_does(
            model in model(),
            offers in prop::collection::vec((0usize..3, -20_000i64..200_000, 1u32..1500), 1..100),
        ) {
            prop_assert!(model.is_plain());
            let model = Arc::new(model);
            let mut rng = Seed(1).stream(Purpose::Link, 0);
            let mut lines = PlainBacklogs::default();
            let mut plain = vec![PlainLink::default(); 3];
            let mut links = vec![Link::new(Arc::clone(&model)); 3];
            let mut now = 0i64;
            for (which, passed, bytes) in offers {
                now = (now + passed).max(0);
                let at = Instant::from_ns(now as u64);
                let fate = match plain[which].offer(&model, &mut lines, at, bytes) {
                    Ok(at) => Fate::Delivered(Delivery { first: Arrival::whole(at), copy: None }),
                    Err(cause) => Fate::Dropped(cause),
                };
                prop_assert_eq!(fate, links[which].offer(at, Packet::new(bytes, 0), &mut rng));
            }
        }
    }

    #[test]
    fn chance_is_not_plain() {
        let half = farfield_base::Share::new(0.5).unwrap();
        assert!(!LinkModel::ideal(Duration::ZERO).duplicate(half).is_plain());
        assert!(!LinkModel::ideal(Duration::ZERO).loss(Loss::Independent(Probability::of(half))).is_plain());
        assert!(LinkModel::ideal(Duration::ZERO).is_plain());
    }

    #[test]
    fn a_rate_or_chance_is_more_than_time() {
        let ideal = LinkModel::ideal(Duration::from_ms(1));
        assert!(ideal.only_takes_time() && ideal.clone().drop_tail(Limit::Packets(5)).only_takes_time());
        assert!(!ideal.clone().rate(crate::BitRate::per_second(1_000_000_000).unwrap()).only_takes_time());
        assert!(!ideal.corrupt(farfield_base::Share::new(0.1).unwrap()).only_takes_time());
    }
}
