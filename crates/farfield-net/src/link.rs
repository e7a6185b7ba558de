//! One direction of a link: loss, queue, transmission, propagation, jitter, duplication, corruption.
//!
//! A packet that is offered meets them in this order. Loss comes first, as in Dummynet and netem: what the
//! wire loses takes none of the link's time. Duplicates and damage come about behind the transmitter, and
//! each copy has a jitter and damage of its own.
//!
//! First in, first out, there is no "link free" event: a packet's departure follows from the one before it,
//! and so [`Link::offer`] returns at once what becomes of it. Only before a queue that
//! decides later ([CoDel](crate::queue::codel), [FQ-CoDel](crate::queue::fq_codel),
//! [FQ-PIE](crate::queue::fq_pie)) a packet may have to wait for its fate, which [`Link::poll`] returns.
//! Offers come in order of time, as a [wheel](crate::Wheel) deals them; one that is late counts as of the
//! latest before it.
//!
//! Where a link changes, its rate and its propagation are functions of time, which departures far ahead know
//! as well; its losses and the limits of its queue are those of the instant at which a packet comes.
//!
//! Packets are opaque: a size, and a key by which their owner knows them. A link draws from the stream it is
//! lent, which belongs to the link. Offering allocates nothing once the queue has grown to its longest, and
//! formats nothing; a link is some 110 bytes beside its queue, and shares its [`LinkModel`] with its like.

mod changing;
mod fates;
mod model;
mod plain;
mod spec;

pub use changing::{ChangeError, ChangeFault, LinkChange, LinkChangeSpec};
pub use model::LinkModel;
pub use plain::{PlainBacklogs, PlainLink};
pub use spec::{LinkError, LinkSpec, Load, NoJitter};

use crate::loss::{FlowMemories, Loss, Memory, Scope};
use crate::profile::ProfileState;
use crate::queue::pie::Pie;
use crate::queue::red::Red;
use crate::queue::{Backlog, Discipline, Mark, pie, red};
use crate::transmit::Transmitter;
use changing::Epochs;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use fates::Fates;
use rand_core::Rng;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A packet, as a link knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The packet's size in bytes, from the IP header on; the link adds its own overhead.
    pub bytes: u32,
    /// The owner's name for the packet, which [`Link::poll`] returns.
    pub key: u64,
    /// The hash of its flow, for queues that part flows, and for losses that belong to connections; see
    /// [`Link::flow_key`].
    pub flow: u32,
    /// True if the packet's ends understand marks of congestion (RFC 3168): queues may mark it in place of
    /// dropping it.
    pub ecn: bool,
}

impl Packet {
    /// A packet of no flow in particular.
    pub const fn new(bytes: u32, key: u64) -> Packet {
        Packet { bytes, key, flow: 0, ecn: false }
    }

    /// Sets the hash of its flow.
    #[must_use]
    pub const fn of_flow(self, flow: u32) -> Packet {
        Packet { flow, ..self }
    }

    /// Sets whether its ends understand marks.
    #[must_use]
    pub const fn able_to_be_marked(self, ecn: bool) -> Packet {
        Packet { ecn, ..self }
    }
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrives.
    Delivered(Delivery),
    /// The packet does not arrive.
    Dropped(DropCause),
    /// The packet waits in a queue that decides later; [`Link::poll`] returns its fate, from
    /// [`Link::next_fate_at`] on.
    Waits,
}

impl Fate {
    /// The fate of a packet with this mark.
    fn with(self, mark: Mark) -> Fate {
        match self {
            Fate::Delivered(mut delivery) if mark == Mark::Marked => {
                delivery.first.marked = true;
                if let Some(copy) = &mut delivery.copy {
                    copy.marked = true;
                }
                Fate::Delivered(delivery)
            }
            fate => fate,
        }
    }
}

/// Why a packet does not arrive. Closed: a caller that counts drops counts each cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The wire lost it.
    Lost,
    /// The queue was full.
    QueueFull,
    /// RED, PIE or FQ-PIE dropped it, so that the queue will not be full.
    Early,
    /// CoDel or FQ-CoDel dropped it, for the queue had delayed packets for too long.
    Delayed,
}

/// A packet that arrives, perhaps twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The packet.
    pub first: Arrival,
    /// The packet's duplicate. Without reordering it does not arrive before the packet.
    pub copy: Option<Arrival>,
}

/// A packet at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Instant at which its last bit is there. This is the intended instant, from which the next hop goes on.
    pub at: Instant,
    /// The bit that was flipped under way, counted from the packet's first: below eight times its bytes.
    pub flipped_bit: Option<FlippedBit>,
    /// True if the packet is marked: it met congestion (RFC 3168).
    pub marked: bool,
}

/// A bit of a packet, counted from its first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlippedBit(NonZeroU32);

impl FlippedBit {
    /// Bit `index`, below 2³² - 1.
    pub const fn new(index: u32) -> FlippedBit {
        FlippedBit(NonZeroU32::MIN.saturating_add(index))
    }

    /// The bit's index.
    pub const fn index(self) -> u32 {
        self.0.get() - 1
    }
}

impl Arrival {
    /// A packet that arrives whole.
    pub const fn whole(at: Instant) -> Arrival {
        Arrival { at, flipped_bit: None, marked: false }
    }
}

// Each packet has a fate at each link.
const _: () = assert!(size_of::<Fate>() == 32);

/// One direction of a link, at work.
///
/// ```
/// use farfield_net::random::{Purpose, Seed};
/// use farfield_net::{DropCause, Duration, Fate, Instant, Link, LinkModel, Packet};
/// use std::sync::Arc;
///
/// // 12 Mbit/s take a millisecond for 1,500 bytes; one more packet may wait.
/// let model = LinkModel::ideal(Duration::from_ms(20)).rate("12Mbit".parse()?).drop_tail("1 packets".parse()?);
/// let (mut link, mut rng) = (Link::new(Arc::new(model)), Seed(1).stream(Purpose::Link, 0));
/// let mut offer = |key| link.offer(Instant::ZERO, Packet::new(1_500, key), &mut rng);
/// let Fate::Delivered(first) = offer(0) else { panic!("an idle link takes it") };
/// let Fate::Delivered(second) = offer(1) else { panic!("it waits") };
/// assert_eq!(first.first.at, Instant::ZERO + Duration::from_ms(21));
/// assert_eq!(second.first.at, Instant::ZERO + Duration::from_ms(22));
/// assert_eq!(offer(2), Fate::Dropped(DropCause::QueueFull));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Link {
    model: Arc<LinkModel>,
    now: Instant,
    transmitter: Transmitter,
    line: QueueState,
    /// The latest arrival, where jitter must not reorder.
    latest: Instant,
    memory: Memory,
    /// Memories of losses that belong to connections, of packets with which none is lent.
    flows: Option<Box<FlowMemories>>,
    /// The instant from which on the next of its epochs holds; `MAX` if none is left.
    changes_at: Instant,
    /// Epochs, and those that have begun.
    epochs: Option<Box<(Arc<Epochs>, usize)>>,
    /// The link's course by a profile, drawn when the first packet comes.
    walk: Option<Box<ProfileState>>,
}

/// The packets that wait, as far as the discipline needs to know.
#[derive(Debug, Clone)]
enum QueueState {
    Unlimited,
    DropTail(Backlog),
    Red(Box<(Red, Backlog)>),
    Pie(Box<Pie>),
    Fates(Box<Fates>),
}

impl Link {
    /// An idle link.
    pub fn new(model: Arc<LinkModel>) -> Link {
        let line = match model.discipline {
            Discipline::Unlimited => QueueState::Unlimited,
            Discipline::DropTail(_) => QueueState::DropTail(Backlog::default()),
            Discipline::Red(_) => QueueState::Red(Box::new((Red::new(), Backlog::default()))),
            Discipline::Pie(_) => QueueState::Pie(Box::default()),
            Discipline::Codel(_) | Discipline::FqCodel(_) | Discipline::FqPie(_) => {
                QueueState::Fates(Box::new(Fates::of(&model.discipline)))
            }
        };
        let transmitter = Transmitter::new(&model.speed);
        let start = Instant::ZERO;
        let epochs = model.epochs.clone().map(|epochs| Box::new((epochs, 0)));
        let changes_at = model.epochs.as_ref().map_or(Instant::MAX, |epochs| epochs.begins(0));
        // A course by a profile is drawn at the first of these instants.
        let changes_at = model.follows().map_or(changes_at, |_| start);
        let memory = Memory::default();
        // Losses that do not belong to connections at first never come to.
        let flows = (model.loss.scope() == Scope::Connection).then(Box::default);
        Link {
            model,
            now: start,
            transmitter,
            line,
            latest: start,
            memory,
            flows,
            changes_at,
            epochs,
            walk: None,
        }
    }

    /// The model that the link follows; of one that changes, that of the present epoch.
    pub fn model(&self) -> &Arc<LinkModel> {
        &self.model
    }

    /// The key with which the hashes of flows are to be made, if the link asks for them: its queue parts
    /// flows, or its losses belong to connections. Drawn from the link's stream when it is asked for first,
    /// so that which flows share a hash differs from seed to seed.
    pub fn flow_key(&mut self, rng: &mut Stream) -> Option<u64> {
        let of_queue = match &mut self.line {
            QueueState::Fates(fates) => fates.flow_key(rng),
            _ => None,
        };
        of_queue.or_else(|| Some(self.flows.as_deref_mut()?.key(rng)))
    }

    /// Offers a packet at `now`, the instant at which it is meant to be at the link's entrance. Losses that
    /// belong to connections are those of the packet's flow.
    pub fn offer(&mut self, now: Instant, packet: Packet, rng: &mut Stream) -> Fate {
        self.advance(now, rng);
        let Link { model, memory, flows, walk, now, .. } = self;
        let of_flow = flows.as_deref_mut().filter(|_| model.loss.scope() == Scope::Connection);
        let lost = match of_flow {
            Some(flows) => flows.lend(*now, packet.flow, |memory| model.loss.strikes(*now, memory, rng)),
            None => Self::strikes(&model.loss, *now, (memory, walk.as_deref_mut()), rng),
        };
        self.admit(packet, lost, rng)
    }

    /// Offers a packet of a connection that lends its `memory` of losses, one for each direction. Where
    /// losses are the link's own this is [`Link::offer`] and the memory is left alone.
    pub fn offer_of(&mut self, memory: &mut Memory, now: Instant, packet: Packet, rng: &mut Stream) -> Fate {
        // Losses may come to be the link's own, or the connection's, at this instant.
        self.advance(now, rng);
        let memory = if self.model.loss.scope() == Scope::Link { &mut self.memory } else { memory };
        let lost = Self::strikes(&self.model.loss, self.now, (memory, self.walk.as_deref_mut()), rng);
        self.admit(packet, lost, rng)
    }

    /// True if a packet is lost that comes at `now`: by the link's course where it follows a profile's
    /// outages.
    fn strikes(
        loss: &Loss,
        now: Instant,
        (memory, walk): (&mut Memory, Option<&mut ProfileState>),
        rng: &mut Stream,
    ) -> bool {
        match (loss, walk) {
            (Loss::Outages(_), Some(walk)) => walk.loses(now),
            (loss, _) => loss.strikes(now, memory, rng),
        }
    }

    /// Advances to `now`. Departures up to then draw random numbers before packets that are offered now, so
    /// that the instant at which fates are polled does not matter.
    fn advance(&mut self, now: Instant, rng: &mut Stream) {
        // Some ask for all that will ever be.
        while self.changes_at <= now && self.changes_at < Instant::MAX {
            self.change(rng);
        }
        self.now = self.now.max(now);
        self.judge(rng);
    }

    /// Lets the next epoch begin. What waits stays, and leaves before it as it would have.
    #[cold]
    fn change(&mut self, rng: &mut Stream) {
        self.now = self.now.max(self.changes_at);
        self.judge(rng);
        self.changes_at = Instant::MAX;
        if let (Some(profile), None) = (self.model.follows(), &self.walk) {
            self.walk = Some(Box::new(ProfileState::new(profile, rng.next_u64())));
            self.changes_at = self.epochs.as_ref().map_or(Instant::MAX, |own| own.0.begins(own.1));
            return;
        }
        if let Some(own) = &mut self.epochs {
            let (epochs, begun) = &mut **own;
            self.model = Arc::clone(epochs.model(*begun));
            *begun += 1;
            self.changes_at = epochs.begins(*begun);
        }
    }

    fn admit(&mut self, packet: Packet, lost: bool, rng: &mut Stream) -> Fate {
        if lost {
            return Fate::Dropped(DropCause::Lost);
        }
        match self.model.discipline {
            Discipline::Unlimited => self.send(self.now, packet.bytes, rng),
            Discipline::DropTail(_) => self.offer_drop_tail(packet, rng),
            Discipline::Red(parameters) => self.offer_red(&parameters, packet, rng),
            Discipline::Pie(parameters) => self.offer_pie(&parameters, packet, rng),
            Discipline::Codel(_) | Discipline::FqCodel(_) | Discipline::FqPie(_) => {
                self.offer_for_later(packet, rng)
            }
        }
    }

    fn offer_drop_tail(&mut self, packet: Packet, rng: &mut Stream) -> Fate {
        let (now, size) = (self.now, self.model.on_wire(packet.bytes));
        let starts_at = self.transmitter.next_start(&self.model.speed, now);
        let (Discipline::DropTail(limit), QueueState::DropTail(backlog)) =
            (self.model.discipline, &mut self.line)
        else {
            unreachable!("a link's line is made for its discipline");
        };
        backlog.settle(now);
        if starts_at > now {
            if !limit.admits(backlog.packets(), backlog.bytes(), size.into()) {
                return Fate::Dropped(DropCause::QueueFull);
            }
            backlog.push(starts_at, size);
        }
        self.send(now, packet.bytes, rng)
    }

    fn offer_red(&mut self, parameters: &red::Parameters, packet: Packet, rng: &mut Stream) -> Fate {
        let (now, size) = (self.now, self.model.on_wire(packet.bytes));
        let starts_at = self.transmitter.next_start(&self.model.speed, now);
        let QueueState::Red(line) = &mut self.line else {
            unreachable!("a link's line is made for its discipline")
        };
        let (red, backlog) = &mut **line;
        backlog.settle(now);
        let (packets, bytes) = (backlog.packets(), backlog.bytes());
        let idle = now.since(backlog.emptied_at());
        red.observe(parameters, parameters.limit.measure(packets, bytes), idle, self.model.mean_packet_time);
        if packets == 0 {
            // Idle time counts once, also where its packet is dropped.
            backlog.passed(now);
        }
        let mut mark = Mark::of(packet.ecn && red.prefers_marks(parameters));
        if red.strikes(parameters, rng) && !mark.meet() {
            return Fate::Dropped(DropCause::Early);
        }
        if starts_at > now {
            if !parameters.limit.admits(packets, bytes, size.into()) {
                return Fate::Dropped(DropCause::QueueFull);
            }
            backlog.push(starts_at, size);
        }
        self.send(now, packet.bytes, rng).with(mark)
    }

    fn offer_pie(&mut self, parameters: &pie::Parameters, packet: Packet, rng: &mut Stream) -> Fate {
        let (now, size) = (self.now, self.model.on_wire(packet.bytes));
        let starts_at = self.transmitter.next_start(&self.model.speed, now);
        let QueueState::Pie(pie) = &mut self.line else {
            unreachable!("a link's line is made for its discipline")
        };
        pie.settle(now, parameters);
        let (packets, bytes) = pie.length();
        if starts_at > now && !parameters.limit.admits(packets, bytes, size.into()) {
            pie.dropped();
            return Fate::Dropped(DropCause::QueueFull);
        }
        let mut mark = Mark::of(packet.ecn && pie.prefers_marks(parameters));
        if pie.strikes(parameters, rng) {
            pie.dropped();
            if !mark.meet() {
                return Fate::Dropped(DropCause::Early);
            }
        }
        if starts_at > now {
            pie.push(starts_at, now, size);
        } else {
            pie.passed();
        }
        self.send(now, packet.bytes, rng).with(mark)
    }

    /// Transmits a packet that came at `ready` and is next in line.
    fn send(&mut self, ready: Instant, bytes: u32, rng: &mut Stream) -> Fate {
        let model = &self.model;
        let left = self.transmitter.carry(&model.speed, ready, model.on_wire(bytes).into()).end;
        let walk = &mut self.walk;
        let first = Self::arrive(model, left, bytes, (&mut self.latest, walk.as_deref_mut()), rng);
        let doubled = model.duplicate.happens(rng);
        let copy =
            doubled.then(|| Self::arrive(model, left, bytes, (&mut self.latest, walk.as_deref_mut()), rng));
        Fate::Delivered(Delivery { first, copy })
    }

    fn arrive(
        model: &LinkModel,
        left: Instant,
        bytes: u32,
        memories: (&mut Instant, Option<&mut ProfileState>),
        rng: &mut Stream,
    ) -> Arrival {
        let at = model.delay.arrival(left, memories, rng);
        let flipped = bytes > 0 && model.corrupt.happens(rng);
        // Lemire's reduction; its bias is below 2⁻⁴⁴ for any packet.
        let bit = |word: u64| ((u128::from(word) * u128::from(bytes) * 8) >> 64) as u32;
        let flipped_bit = flipped.then(|| FlippedBit::new(bit(rng.next_u64())));
        Arrival { at, flipped_bit, marked: false }
    }

    /// The least time from offer to arrival, whatever is offered: the lookahead at a shared link.
    pub fn lookahead(&self) -> Duration {
        self.model.delay.propagation
    }
}
