//! FQ-CoDel from the pseudo-code of RFC 8289, section 5, and the text of RFC 8290, section 4: one event a
//! departure, and nothing shared with the queue under test.

use crate::loads::{Coming, QueueFate};
use std::collections::{BTreeMap, VecDeque};

/// Arithmetic and corner cases of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// RFC 8289: nanoseconds, square roots.
    Rfc,
    /// Linux and ns-3: units of 1,024 ns; one step of Newton's method a drop in place of the square root,
    /// in 16 bits; an empty queue leaves `first_above_time` as it is, and it must be exceeded; a next drop
    /// that is still to come is not recent.
    Linux,
}

/// Parameters of the model.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    pub dialect: Dialect,
    pub limit: Limit,
    pub target_ns: u64,
    pub interval_ns: u64,
    pub max_packet: u64,
    pub quantum: i64,
    pub queues: u32,
    pub ns_per_byte: u64,
    /// Packets of flows with odd numbers are marked in place of being dropped.
    pub ecn: bool,
}

/// The most that may wait.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    Packets(u64),
    Bytes(u64),
}

/// A packet that waits: its number, its bytes, when it came, and whether it may be marked.
type Waiting = (usize, u64, u64, bool);

#[derive(Debug, Default)]
struct Flow {
    packets: VecDeque<Waiting>,
    credit: i64,
    is_listed: bool,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    rec_inv_sqrt: u16,
    dropping: bool,
}

/// The queue and its link at work.
pub struct Model {
    parameters: Parameters,
    flows: BTreeMap<u32, Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    fates: Vec<Option<QueueFate>>,
}

impl Model {
    /// The fates of packets whose flows have these hashes.
    pub fn play(parameters: Parameters, packets: &[Coming], hash: impl Fn(u32) -> u32) -> Vec<QueueFate> {
        let (flows, new, old) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        let mut model = Model { parameters, flows, new, old, fates: vec![None; packets.len()] };
        let mut free_at: Option<u64> = None;
        for (number, &(now, bytes, flow)) in packets.iter().enumerate() {
            while let Some(free) = free_at.filter(|free| *free <= now) {
                free_at = model.transmit(free);
            }
            let queue = ((u64::from(hash(flow)) * u64::from(parameters.queues)) >> 32) as u32;
            let able = parameters.ecn && flow % 2 == 1;
            model.enqueue(queue, (number, bytes.into(), now, able), free_at.is_some());
            if free_at.is_none() {
                free_at = model.transmit(now);
            }
        }
        while let Some(free) = free_at {
            free_at = model.transmit(free);
        }
        model.fates.into_iter().map(|fate| fate.expect("every packet has a fate")).collect()
    }

    fn enqueue(&mut self, number: u32, packet: Waiting, is_busy: bool) {
        let flow = self.flows.entry(number).or_insert_with(Flow::idle);
        flow.packets.push_back(packet);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.credit = self.parameters.quantum;
            self.new.push_back(number);
        }
        while is_busy && self.is_over_limit() {
            // The first by number of those with the most bytes.
            let most = self.flows.values().map(Flow::bytes).max().expect("a packet waits");
            let flow = self.flows.values_mut().find(|flow| flow.bytes() == most).expect("it has the most");
            let mut dropped = 0;
            for _ in 0..64 {
                let Some((number, bytes, ..)) = flow.packets.pop_front() else { break };
                self.fates[number] = Some(QueueFate::Full);
                dropped += bytes;
                if dropped >= most / 2 {
                    break;
                }
            }
        }
    }

    fn is_over_limit(&self) -> bool {
        match self.parameters.limit {
            Limit::Packets(most) => {
                self.flows.values().map(|flow| flow.packets.len() as u64).sum::<u64>() > most
            }
            Limit::Bytes(most) => self.flows.values().map(Flow::bytes).sum::<u64>() > most,
        }
    }

    /// Starts to transmit the next packet; the instant at which the link is free again.
    fn transmit(&mut self, now: u64) -> Option<u64> {
        let ((number, bytes, came, _), marked) = self.dequeue(now)?;
        let fate = if marked { QueueFate::Marked } else { QueueFate::Left };
        self.fates[number] = Some(fate(now - came));
        Some(now + bytes * self.parameters.ns_per_byte)
    }

    fn dequeue(&mut self, now: u64) -> Option<(Waiting, bool)> {
        loop {
            let number = *self.new.front().or(self.old.front())?;
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            let flow = self.flows.get_mut(&number).expect("it is listed");
            if flow.credit <= 0 {
                flow.credit += self.parameters.quantum;
                self.old.push_back(number);
                continue;
            }
            let dropped = &mut self.fates;
            let packet =
                flow.deque(now, &self.parameters, |number| dropped[number] = Some(QueueFate::Dropped));
            match packet {
                Some((packet, marked)) => {
                    flow.credit -= packet.1 as i64;
                    let list = if is_new { &mut self.new } else { &mut self.old };
                    list.push_front(number);
                    return Some((packet, marked));
                }
                None if is_new => self.old.push_back(number),
                None => flow.is_listed = false,
            }
        }
    }
}

impl Flow {
    fn idle() -> Flow {
        Flow { rec_inv_sqrt: u16::MAX, ..Flow::default() }
    }

    fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| packet.1).sum()
    }

    /// `deque` of RFC 8289, with marks as Linux has them: the packet, and whether it is marked.
    fn deque(&mut self, now: u64, p: &Parameters, mut drop: impl FnMut(usize)) -> Option<(Waiting, bool)> {
        if p.dialect == Dialect::Linux && self.packets.is_empty() {
            self.dropping = false;
            return None;
        }
        let (at, mut marked) = (p.time(now), false);
        let (mut packet, mut ok_to_drop) = self.dodequeue(now, p);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && at >= self.drop_next {
                if packet.is_some_and(|packet| packet.3) {
                    self.count += 1;
                    self.step();
                    self.drop_next = self.control_law(self.drop_next, p);
                    return packet.map(|packet| (packet, true));
                }
                drop(packet.expect("only packets are dropped").0);
                self.count += 1;
                self.step();
                (packet, ok_to_drop) = self.dodequeue(now, p);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, p);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            marked = packet.is_some_and(|packet| packet.3);
            if !marked {
                drop(packet.expect("only packets are dropped").0);
                (packet, _) = self.dodequeue(now, p);
            }
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            let is_recent = match p.dialect {
                Dialect::Rfc => at < self.drop_next + 16 * p.interval_ns,
                Dialect::Linux => {
                    u64::from((at as u32).wrapping_sub(self.drop_next as u32)) < 16 * p.time(p.interval_ns)
                }
            };
            if delta > 1 && is_recent {
                self.count = delta as u32;
                self.step();
            } else {
                (self.count, self.rec_inv_sqrt) = (1, u16::MAX);
            }
            self.lastcount = self.count;
            self.drop_next = self.control_law(at, p);
        }
        packet.map(|packet| (packet, marked))
    }

    fn dodequeue(&mut self, now: u64, p: &Parameters) -> (Option<Waiting>, bool) {
        let Some(packet) = self.packets.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let (at, mut ok_to_drop) = (p.time(now), false);
        if p.time(now - packet.2) < p.time(p.target_ns) || self.bytes() <= p.max_packet {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = at + p.time(p.interval_ns);
        } else if at > self.first_above_time || p.dialect == Dialect::Rfc && at == self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    /// One step of Newton's method towards 1/√count, in 16 bits of fraction.
    fn step(&mut self) {
        let estimate = u64::from(self.rec_inv_sqrt) << 16;
        let square = (estimate * estimate) >> 32;
        let rest = ((3u64 << 32).wrapping_sub(u64::from(self.count) * square)) >> 2;
        self.rec_inv_sqrt = (rest.wrapping_mul(estimate) >> 31 >> 16) as u16;
    }

    fn control_law(&self, from: u64, p: &Parameters) -> u64 {
        match p.dialect {
            Dialect::Rfc => from + (p.interval_ns as f64 / f64::from(self.count).sqrt()) as u64,
            Dialect::Linux => from + ((p.time(p.interval_ns) * (u64::from(self.rec_inv_sqrt) << 16)) >> 32),
        }
    }
}

impl Parameters {
    /// A time in the dialect's unit.
    fn time(&self, ns: u64) -> u64 {
        if self.dialect == Dialect::Linux { ns >> 10 } else { ns }
    }
}
