//! A link that changes: at given instants, at once or along a straight line, for good or for a while.
//!
//! Rate and propagation become functions of time ([`Course`]), which a packet behind a long queue meets as of
//! its own departure. Of the rest, a packet meets what holds when it comes: models one after the other,
//! [`Epochs`], of the same link, whose queue, transmitter and memory of losses go on.

use super::LinkModel;
use crate::bit_rate::BitRate;
use crate::course::{Course, CourseError, RAMP_MOST, RAMP_RATE_MOST, RateCourse};
use crate::delay::Order;
use crate::loss::{Loss, LossRamp, LossSpec, Scope};
use crate::probability::Probability;
use crate::queue::{Discipline, QueueSpec};
use crate::transmit::Speed;
use farfield_base::{Duration, Instant, Share};
use serde::{Deserialize, Serialize};
use std::mem::discriminant;
use std::sync::Arc;

/// The quantities of a link that change, as written: those that are absent stay as they are.
///
/// ```toml
/// rate = "1Mbit"
/// delay = "80ms"
/// loss = "100%"
/// queue = "20 packets"      # of the same discipline as before
/// duplicate = "1%"
/// corrupt = "0.1%"
/// reorder = true            # packets that meet a shorter delay overtake those before them
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LinkChangeSpec {
    /// Bits a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Propagation, one way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// The model of loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// The queue, of the same discipline as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// The share of packets that arrive twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Share>,
    /// The share of packets in which a bit is flipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Share>,
    /// Packets may overtake each other, during the whole run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
}

/// A change of a link at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkChange {
    /// The instant at which the change begins.
    pub at: Instant,
    /// The time in which the new values are come to along a straight line; zero for a step.
    pub over: Duration,
    /// The instant from which on the values before it come back, in as long a time.
    pub back_at: Option<Instant>,
    /// The new values.
    pub to: LinkChangeSpec,
}

/// A change that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{fault}")]
#[non_exhaustive]
pub struct ChangeError {
    /// The change's place among the changes.
    pub nth: usize,
    /// The key of the quantity.
    pub key: &'static str,
    /// The mistake.
    pub fault: ChangeFault,
}

/// A mistake in the change at a place.
type ChangeResult<T> = Result<T, (usize, ChangeFault)>;

/// A mistake in a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeFault {
    /// Two changes that meet.
    #[error(transparent)]
    Course(#[from] CourseError),
    /// No rate to change.
    #[error("the link has no `rate` to begin with; give it one")]
    NoRate,
    /// A delay that is not its own.
    #[error("the link follows a profile, which has a delay of its own; leave this out, or the profile")]
    Profile,
    /// Another discipline.
    #[error(
        "a queue keeps its discipline while it changes; write the one that the link has, with other limits"
    )]
    Discipline,
    /// Another unit of what has been averaged.
    #[error(
        "the average that RED goes by keeps its unit; write `limit`, `min` and `max` in the unit that they had"
    )]
    Unit,
    /// A ramp of what has no values in between.
    #[error(
        "this cannot change along a straight line; leave out `over`, or change it in an entry of its own"
    )]
    NoRamp,
    /// A ramp between models of loss.
    #[error("only independent losses change along a straight line; leave out `over`, or write a share")]
    NoLossRamp,
    /// Losses that belong to connections, of a link that has none of those at first.
    #[error(
        "losses come to belong to connections, of a link whose losses do not; let its `loss` be `per` connection too"
    )]
    Scope,
}

/// Models of a link that hold one after the other, each with its begin.
#[derive(Debug)]
pub(crate) struct Epochs(Vec<(Instant, Arc<LinkModel>)>);

impl Epochs {
    /// The begin of epoch `nth`; `MAX` behind the last.
    pub fn begins(&self, nth: usize) -> Instant {
        self.0.get(nth).map_or(Instant::MAX, |(at, _)| *at)
    }

    /// The model of epoch `nth`, which there is.
    pub fn model(&self, nth: usize) -> &Arc<LinkModel> {
        &self.0[nth].1
    }
}

/// A new value of a quantity that a packet meets as it comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Loss(Loss),
    Queue(Discipline),
    Duplicate(Probability),
    Corrupt(Probability),
    /// The transmission time of the mean packet of RED as it was at first.
    MeanPacketTime(Duration),
}

impl LinkModel {
    /// The link with `changes`, which are in order of their instants.
    ///
    /// # Errors
    /// If a change cannot be, or meets another; with the key of the quantity.
    pub fn changing(&self, changes: &[LinkChange]) -> Result<LinkModel, ChangeError> {
        let mut model = self.clone();
        let mut values = Vec::new();
        let at_key = |key| move |(nth, fault)| ChangeError { nth, key, fault };
        model.change_rate(changes, &mut values).map_err(at_key("rate"))?;
        model.change_delay(changes).map_err(at_key("delay"))?;
        self.change_loss(changes, &mut values).map_err(at_key("loss"))?;
        let discipline = |to: &LinkChangeSpec| Some(to.queue.as_ref()?.discipline(self.mtu, self.overhead));
        let is_other = |change: &LinkChange| {
            discipline(&change.to).is_some_and(|other| !is_same_kind(&other, &self.discipline))
        };
        if let Some(nth) = changes.iter().position(is_other) {
            return Err(at_key("queue")((nth, ChangeFault::Discipline)));
        }
        let has_other_unit = |change: &LinkChange| {
            discipline(&change.to).is_some_and(|other| !is_of_same_unit(&other, &self.discipline))
        };
        if let Some(nth) = changes.iter().position(has_other_unit) {
            return Err(at_key("queue")((nth, ChangeFault::Unit)));
        }
        let queue = |to: &LinkChangeSpec| discipline(to).map(Value::Queue);
        steps(changes, &mut values, Value::Queue(self.discipline), queue).map_err(at_key("queue"))?;
        let duplicate = |to: &LinkChangeSpec| Some(Value::Duplicate(Probability::of(to.duplicate?)));
        steps(changes, &mut values, Value::Duplicate(self.duplicate), duplicate)
            .map_err(at_key("duplicate"))?;
        let corrupt = |to: &LinkChangeSpec| Some(Value::Corrupt(Probability::of(to.corrupt?)));
        steps(changes, &mut values, Value::Corrupt(self.corrupt), corrupt).map_err(at_key("corrupt"))?;
        if changes.iter().any(|change| change.to.reorder) {
            model.delay.order = Order::Free;
        }
        model.epochs = epochs(&model, values);
        Ok(model)
    }

    /// The link as it is at `instant`, always.
    pub fn frozen(&self, instant: Instant) -> LinkModel {
        let epochs = self.epochs.iter().flat_map(|epochs| &epochs.0);
        let begun = epochs.take_while(|(at, _)| *at <= instant).last();
        let mut model = begun.map_or(self, |(_, model)| model).clone();
        model.delay.propagation = model.delay.propagation_at(instant);
        (model.delay.course, model.epochs) = (None, None);
        if let Speed::Course(course) = &model.speed {
            model.speed = Speed::Rate(course.at(instant));
        }
        if let Loss::Ramp(ramp) = model.loss {
            model.loss = Loss::Independent(ramp.at(instant));
        }
        model.timed()
    }

    /// True if the link is not always the same.
    pub fn changes(&self) -> bool {
        self.epochs.is_some() || self.delay.course.is_some() || matches!(self.speed, Speed::Course(_))
    }

    /// The times in which the link loses every packet, of one whose losses or queue change: in order, and
    /// none touching another.
    pub fn total_losses(&self) -> Vec<(Instant, Instant)> {
        let Some(epochs) = &self.epochs else { return Vec::new() };
        let later = epochs.0.iter().map(|(at, model)| (*at, model.loss));
        let begins = std::iter::once((Instant::ZERO, self.loss)).chain(later);
        let ends = epochs.0.iter().map(|(at, _)| *at).chain([Instant::MAX]);
        let mut spans: Vec<(Instant, Instant)> = Vec::new();
        for ((from, loss), to) in begins.zip(ends) {
            // The end of a ramp is an epoch of its own.
            let is_total = !matches!(loss, Loss::Ramp(_)) && loss.loss_rate() >= 1.0;
            match spans.last_mut() {
                _ if !is_total || from == to => {}
                Some((_, end)) if *end == from => *end = to,
                _ => spans.push((from, to)),
            }
        }
        spans
    }

    /// True if packets may arrive twice, at any instant.
    pub(crate) fn ever_duplicates(&self) -> bool {
        let later = self.epochs.iter().flat_map(|epochs| &epochs.0);
        self.duplicates() || later.into_iter().any(|(_, model)| model.duplicates())
    }

    fn change_rate(
        &mut self,
        changes: &[LinkChange],
        values: &mut Vec<(Instant, Value)>,
    ) -> ChangeResult<()> {
        let to = |to: &LinkChangeSpec| Some(to.rate?.as_bits());
        let Some(first) = changes.iter().position(|change| to(&change.to).is_some()) else { return Ok(()) };
        let Speed::Rate(rate) = &self.speed else { return Err((first, ChangeFault::NoRate)) };
        if let Some(nth) = too_fast(rate.as_bits(), changes) {
            return Err((nth, CourseError::TooFast.into()));
        }
        let course = course(rate.as_bits(), changes, to)?;
        if let Discipline::Red(_) = self.discipline {
            for change in changes {
                for at in [Some(change.at + change.over), change.back_at.map(|at| at + change.over)] {
                    let Some(at) = at else { continue };
                    let rate = BitRate::per_second(course.at(at).max(1)).expect("not 0");
                    values.push((at, Value::MeanPacketTime(self.clone().rate(rate).mean_packet_time)));
                }
            }
        }
        let rate = RateCourse::new(course).map_err(|error| (first, error.into()))?;
        self.speed = Speed::Course(Arc::new(rate));
        Ok(())
    }

    fn change_delay(&mut self, changes: &[LinkChange]) -> ChangeResult<()> {
        let to = |to: &LinkChangeSpec| Some(to.delay?.as_ns());
        if changes.iter().all(|change| to(&change.to).is_none()) {
            return Ok(());
        }
        if self.delay.profile.is_some() {
            let nth = changes.iter().position(|change| to(&change.to).is_some());
            return Err((nth.unwrap_or(0), ChangeFault::Profile));
        }
        let course = course(self.delay.propagation.as_ns(), changes, to)?;
        self.delay.propagation = Duration::from_ns(course.range().0);
        self.delay.course = Some(Arc::new(course));
        Ok(())
    }

    fn change_loss(&self, changes: &[LinkChange], values: &mut Vec<(Instant, Value)>) -> ChangeResult<()> {
        let mut losses = Timeline::of(Value::Loss(self.loss));
        for (nth, LinkChange { at, over, back_at, to }) in changes.iter().enumerate() {
            let Some(loss) = to.loss.as_ref().map(LossSpec::loss) else { continue };
            if loss.scope() == Scope::Connection && self.loss.scope() == Scope::Link {
                return Err((nth, ChangeFault::Scope));
            }
            let before = losses.value;
            let ends = [(Some(*at), Value::Loss(loss)), (*back_at, before)];
            for (at, value) in ends.into_iter().filter_map(|(at, value)| Some((at?, value))) {
                let Value::Loss(from) = losses.value else { continue };
                let Value::Loss(to) = value else { continue };
                losses.take(at, *over, value).map_err(|error| (nth, error.into()))?;
                if !over.is_zero() {
                    let ramp = ramp((at, at + *over), from, to).map_err(|fault| (nth, fault))?;
                    values.push((at, Value::Loss(Loss::Ramp(ramp))));
                }
                values.push((at + *over, value));
            }
        }
        Ok(())
    }
}

/// A quantity while its changes are put one behind the other.
struct Timeline {
    value: Value,
    /// The begin of the last change.
    changed_at: Option<Instant>,
    /// The instant from which on it may change again.
    free_at: Instant,
}

impl Timeline {
    fn of(value: Value) -> Timeline {
        Timeline { value, changed_at: None, free_at: Instant::ZERO }
    }

    fn take(&mut self, at: Instant, over: Duration, value: Value) -> Result<(), CourseError> {
        let since_start = at.since(Instant::ZERO);
        if self.changed_at == Some(at) {
            return Err(CourseError::Twice(since_start));
        }
        if at < self.free_at {
            return Err(CourseError::WithinAnother(since_start));
        }
        if over > RAMP_MOST {
            return Err(CourseError::TooLong);
        }
        *self = Timeline { value, changed_at: Some(at), free_at: at + over };
        Ok(())
    }
}

/// The first change along a ramp of rates that none is exact for.
fn too_fast(first: u64, changes: &[LinkChange]) -> Option<usize> {
    let mut before = first;
    changes.iter().position(|change| {
        let Some(rate) = change.to.rate.map(BitRate::as_bits) else { return false };
        let is_ramp = !change.over.is_zero() && rate != before;
        let is_too_fast = is_ramp && rate.max(before) > RAMP_RATE_MOST;
        if change.back_at.is_none() {
            before = rate;
        }
        is_too_fast
    })
}

fn course(
    first: u64,
    changes: &[LinkChange],
    to: impl Fn(&LinkChangeSpec) -> Option<u64>,
) -> ChangeResult<Course> {
    let mut course = Course::constant(first);
    for (nth, change) in changes.iter().enumerate() {
        let Some(value) = to(&change.to) else { continue };
        let before = course.end();
        let changed = course.change(change.at, change.over, value);
        let back = |at| course.change(at, change.over, before);
        changed.and_then(|()| change.back_at.map_or(Ok(()), back)).map_err(|error| (nth, error.into()))?;
    }
    Ok(course)
}

/// The changes of a quantity that has no values in between.
fn steps(
    changes: &[LinkChange],
    values: &mut Vec<(Instant, Value)>,
    first: Value,
    to: impl Fn(&LinkChangeSpec) -> Option<Value>,
) -> ChangeResult<()> {
    let mut line = Timeline::of(first);
    for (nth, LinkChange { at, over, back_at, to: spec }) in changes.iter().enumerate() {
        let Some(value) = to(spec) else { continue };
        if !over.is_zero() {
            return Err((nth, ChangeFault::NoRamp));
        }
        let before = line.value;
        for (at, value) in [(Some(*at), value), (*back_at, before)] {
            let Some(at) = at else { continue };
            line.take(at, *over, value).map_err(|error| (nth, error.into()))?;
            values.push((at, value));
        }
    }
    Ok(())
}

fn ramp((from, until): (Instant, Instant), first: Loss, last: Loss) -> Result<LossRamp, ChangeFault> {
    let share = |loss: Loss| match loss {
        Loss::None | Loss::Independent(_) => Ok(loss.loss_rate()),
        Loss::GilbertElliott(..) | Loss::Ramp(_) | Loss::Outages(_) => Err(ChangeFault::NoLossRamp),
    };
    Ok(LossRamp { from, until, first: share(first)?, last: share(last)? })
}

/// True if the packets that wait by one discipline may wait on by the other.
fn is_same_kind(one: &Discipline, other: &Discipline) -> bool {
    match (one, other) {
        (Discipline::FqCodel(one), Discipline::FqCodel(other)) => one.queues == other.queues,
        (Discipline::FqPie(one), Discipline::FqPie(other)) => one.queues == other.queues,
        _ => discriminant(one) == discriminant(other),
    }
}

/// True if what one discipline has averaged is in the unit that the other goes by.
fn is_of_same_unit(one: &Discipline, other: &Discipline) -> bool {
    match (one, other) {
        (Discipline::Red(one), Discipline::Red(other)) => {
            discriminant(&one.limit) == discriminant(&other.limit)
        }
        _ => true,
    }
}

/// The transmission time of RED's mean packet where that of its mean packet before takes `time`.
fn of_mean_packet(time: Duration, before: &Discipline, after: &Discipline) -> Duration {
    match (before, after) {
        (Discipline::Red(before), Discipline::Red(after)) => {
            let ratio = after.mean_packet as f64 / before.mean_packet as f64;
            Duration::from_secs_f64(time.as_secs_f64() * ratio)
        }
        _ => time,
    }
}

/// The models from each instant at which a value changes on; none if no value does.
fn epochs(model: &LinkModel, mut values: Vec<(Instant, Value)>) -> Option<Arc<Epochs>> {
    values.sort_by_key(|(at, _)| *at);
    let mut present = model.clone();
    let mut epochs: Vec<(Instant, Arc<LinkModel>)> = Vec::new();
    for (at, value) in values {
        match value {
            Value::Loss(loss) => present.loss = loss,
            Value::Queue(discipline) => {
                let time = of_mean_packet(present.mean_packet_time, &present.discipline, &discipline);
                (present.mean_packet_time, present.discipline) = (time, discipline);
            }
            Value::Duplicate(share) => present.duplicate = share,
            Value::Corrupt(share) => present.corrupt = share,
            Value::MeanPacketTime(time) => {
                present.mean_packet_time = of_mean_packet(time, &model.discipline, &present.discipline);
            }
        }
        let same = epochs.last().is_some_and(|(last, _)| *last == at);
        if same {
            epochs.pop();
        }
        epochs.push((at, Arc::new(present.clone())));
    }
    (!epochs.is_empty()).then(|| Arc::new(Epochs(epochs)))
}
