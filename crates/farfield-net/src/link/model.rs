//! The model of a link, apart from its state: shared by all links that are alike.

use super::changing::Epochs;
use crate::bit_rate::BitRate;
use crate::closure::Closure;
use crate::delay::{Delay, Jitter, Order};
use crate::loss::Loss;
use crate::mtu::Mtu;
use crate::probability::Probability;
use crate::profile::Profile;
use crate::queue::{Discipline, Limit};
use crate::trace::Trace;
use crate::transmit::Speed;
use farfield_base::{Duration, Share};
use std::sync::Arc;

/// The mechanisms of one direction of a link, ready to run. [Ideal](LinkModel::ideal) by default.
#[derive(Debug, Clone)]
pub struct LinkModel {
    pub(super) speed: Speed,
    pub(super) discipline: Discipline,
    pub(super) delay: Delay,
    pub(super) loss: Loss,
    pub(super) duplicate: Probability,
    pub(super) corrupt: Probability,
    pub(super) overhead: u32,
    pub(super) mtu: Mtu,
    pub(super) closure: Option<Closure>,
    /// Transmission time of a packet of RED's mean size.
    pub(super) mean_packet_time: Duration,
    /// The models that hold later, where the link changes.
    pub(super) epochs: Option<Arc<Epochs>>,
}

impl LinkModel {
    /// A link that only takes time: `propagation` for everything, at once.
    pub fn ideal(propagation: Duration) -> LinkModel {
        LinkModel {
            speed: Speed::Unlimited,
            discipline: Discipline::Unlimited,
            delay: Delay::constant(propagation),
            loss: Loss::None,
            duplicate: Probability::NEVER,
            corrupt: Probability::NEVER,
            overhead: 0,
            mtu: Mtu::default(),
            closure: None,
            mean_packet_time: Duration::ZERO,
            epochs: None,
        }
    }

    /// Carries `rate`.
    pub fn rate(self, rate: BitRate) -> LinkModel {
        LinkModel { speed: Speed::Rate(rate), ..self }.timed()
    }

    /// Carries what `trace` lets go.
    pub fn trace(self, trace: Arc<Trace>) -> LinkModel {
        LinkModel { speed: Speed::Trace(trace), ..self }.timed()
    }

    /// Queues by `discipline`.
    pub fn queue(self, discipline: Discipline) -> LinkModel {
        LinkModel { discipline, ..self }.timed()
    }

    /// Drops what finds `limit` waiting.
    pub fn drop_tail(self, limit: Limit) -> LinkModel {
        self.queue(Discipline::DropTail(limit))
    }

    /// Loses packets by `loss`.
    pub fn loss(self, loss: Loss) -> LinkModel {
        LinkModel { loss, ..self }
    }

    /// Adds extra delays drawn from `jitter`, with or without reordering.
    pub fn jitter(mut self, jitter: Arc<dyn Jitter>, order: Order) -> LinkModel {
        self.delay.jitter = Some(jitter);
        self.delay.order = order;
        self
    }

    /// Follows `profile`, in delay and loss.
    pub fn profile(mut self, profile: &'static Profile) -> LinkModel {
        self.delay.profile = Some(profile);
        self.delay.propagation = profile.delay.least() - profile.other_way;
        self.loss = Loss::Outages(&profile.outages);
        self
    }

    /// The profile that the link follows, if it does.
    pub fn follows(&self) -> Option<&'static Profile> {
        self.delay.profile
    }

    /// Delivers this share of packets twice.
    pub fn duplicate(self, share: Share) -> LinkModel {
        LinkModel { duplicate: Probability::of(share), ..self }
    }

    /// Flips a bit of this share of packets.
    pub fn corrupt(self, share: Share) -> LinkModel {
        LinkModel { corrupt: Probability::of(share), ..self }
    }

    /// Adds so many bytes to each packet on the wire, and in the queue.
    pub fn overhead(self, bytes: u32) -> LinkModel {
        LinkModel { overhead: bytes, ..self }
    }

    /// Carries packets up to `mtu`; that it is checked is the business of the packet's owner.
    pub fn mtu(self, mtu: Mtu) -> LinkModel {
        LinkModel { mtu, ..self }
    }

    /// Takes no packets while `closure` says so; that it is asked is the business of the packet's owner.
    pub fn closed(self, closure: Option<Closure>) -> LinkModel {
        LinkModel { closure, ..self }
    }

    /// Times at which the link takes no packets, if ever.
    pub fn closure(&self) -> Option<&Closure> {
        self.closure.as_ref()
    }

    /// The largest packet.
    pub fn mtu_of_link(&self) -> Mtu {
        self.mtu
    }

    /// The speed at which bits leave.
    pub fn speed(&self) -> &Speed {
        &self.speed
    }

    /// The queue.
    pub fn discipline(&self) -> &Discipline {
        &self.discipline
    }

    /// The model of loss.
    pub fn loss_model(&self) -> &Loss {
        &self.loss
    }

    /// The least time under way, at any instant.
    pub fn propagation(&self) -> Duration {
        self.delay.propagation
    }

    /// The largest propagation, at any instant.
    pub fn propagation_most(&self) -> Duration {
        self.delay.propagation_most()
    }

    /// True if every packet's fate is known when it is offered and none overtakes another: what comes out can
    /// then be offered to the next link at once.
    pub fn decides_in_order(&self) -> bool {
        self.decides_at_once() && self.delay.keeps_order()
    }

    /// True if every packet's fate is known when it is offered.
    pub fn decides_at_once(&self) -> bool {
        self.discipline.decides_at_once()
    }

    /// True if all that happens to a packet is that it takes the same time as any other: then many may pass
    /// as one.
    pub fn only_takes_time(&self) -> bool {
        self.is_plain() && matches!(self.speed, Speed::Unlimited) && self.closure.is_none()
    }

    /// The share of packets that do not arrive intact, in the long run and without those that find a queue
    /// full.
    pub fn lost_share(&self) -> f64 {
        1.0 - (1.0 - self.loss.loss_rate()) * (1.0 - self.corrupt.as_f64())
    }

    /// Bytes that each packet takes on the wire beside its own.
    pub fn overhead_bytes(&self) -> u32 {
        self.overhead
    }

    /// The time for which everything is lost at once, where losses come as outages; none otherwise.
    pub fn outage(&self) -> Duration {
        match self.loss {
            Loss::Outages(profile) => profile.lasts,
            _ => Duration::ZERO,
        }
    }

    /// True if packets take times of their own.
    pub fn jitters(&self) -> bool {
        self.delay.jitter.is_some() || self.delay.profile.is_some()
    }

    /// True if packets may arrive twice.
    pub fn duplicates(&self) -> bool {
        self.duplicate != Probability::NEVER
    }

    /// Bytes that a packet of `bytes` takes on the wire.
    pub(super) fn on_wire(&self, bytes: u32) -> u32 {
        bytes.saturating_add(self.overhead)
    }

    pub(super) fn timed(mut self) -> LinkModel {
        if let (Discipline::Red(red), Some(bits)) = (&self.discipline, self.speed.mean_bits()) {
            self.mean_packet_time = Duration::from_secs_f64(red.mean_packet as f64 * 8.0 / bits);
        }
        self
    }
}
