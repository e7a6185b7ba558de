//! The estimate at the end of a search: blocks of full trials on both sides of the load at which the goals'
//! number [crosses](crate::crossing) its limit, and the line through them.

use super::Search;
use crate::crossing::{Crossing, FittedLine, Link, Variance};
use crate::report::{LEVEL, TrialRecord};
use crate::trial::{GoalReading, Stop};
use farfield_base::Duration;

/// Margins within this factor of 1 are those of a gradual fall; where most are beyond, they jump.
const GRADUAL: f64 = 3.0;
/// Distance of trials from the crossing: to where the margin is expected to differ from 1 by this much.
const MARGIN_APART: f64 = 0.5;
/// Distance of trials that count what is beyond a limit: to where it is e to this as much.
const BEYOND_APART: f64 = 1.5;
/// Distance where each trial has bursts enough: over less of the load the logarithm is nearer to a straight
/// line. Before M/M/1/21 with 1.5 the share of failures crossed 0.6 % too high, and with this 0.3 %.
const PLENTY_APART: f64 = 0.7;
/// The least and the largest such distance at first, as shares of the load.
const APART: [f64; 2] = [0.05, 0.25];
/// The largest such distance once the fall is known. Over more of the load it is no straight line: times of
/// a closed load grow with its users, so that margins fall as 1/N, and with a quarter to both sides the
/// crossing came out 3 % too high.
const FITTED_APART: f64 = 0.1;
/// Distance of trials from the crossing in whole loads, at least: four loads lie within it on both sides.
const WHOLE_APART: f64 = 4.0;
/// Blocks from whose interval follows how many there are to be, at least. The width is looked at this once:
/// who goes on until an interval happens to be narrow stops at those that are too narrow.
const PILOT: u32 = 3;
/// Trials with anything beyond a limit that these blocks must have, where that is what is counted: with fewer
/// the variance of bursts comes out too low. Where each trial holds a few, three blocks show it.
const PILOT_SHOWN: usize = 24;
const BURSTS_PLENTY: f64 = 3.0;
/// Bursts beyond a limit that trials must hold on average at the crossing. Of intervals before M/M/1 92 to 98
/// % contained the capacity with 0.1 to 0.3 of them, 60 % with 0.03.
const BURSTS_MIN: f64 = 0.1;
/// Bursts beyond a limit, on average, that are enough.
const BURSTS_ENOUGH: f64 = 0.2;
/// Blocks at most.
const BLOCKS_MAX: u32 = 60;

/// The loads at which the trials of an estimate lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Focus {
    centre: f64,
    /// Distance to both sides, as a share of the centre.
    apart: f64,
    /// The first block that counts: those before it lay elsewhere.
    from_block: u32,
    /// The variance of the first blocks, from which their number followed, by the link that they had.
    pilot: Option<(Link, Variance)>,
}

impl Search<'_> {
    /// Full trials on both sides of the crossing; true if they led to an estimate, false where margins jump.
    pub(super) fn estimate(&mut self) -> Result<bool, Stop> {
        let (bounds, _) = self.plan.short_target().bounds(&self.journal.counted());
        let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) else { return Ok(false) };
        let apart = ((upper / lower - 1.0) / 2.0).clamp(APART[0], APART[1]);
        let mut focus = Focus { centre: (lower * upper).sqrt(), apart, from_block: 1, pilot: None };
        let (mut block, mut last) = (0, BLOCKS_MAX);
        while block < last {
            // Fewer than that are counted one by one.
            if self.plan.whole && focus.centre * APART[1] < WHOLE_APART {
                return Ok(false);
            }
            focus.apart = focus.apart.max(self.apart_of_whole(focus.centre));
            block += 1;
            self.focus = Some(focus);
            self.measure_around(focus, block)?;
            let Some(line) = self.line() else { return Ok(false) };
            let Some(next) = self.moved(focus, line, block) else { return Ok(false) };
            focus = next;
            let counted = block + 1 - focus.from_block;
            if counted >= PILOT && focus.pilot.is_none() && self.shows_its_variance(focus, line) {
                focus.pilot = Some((line.link(), line.residual));
                let blocks = line.crossing(line.residual, LEVEL).map(|found| {
                    let wider = found.half_width() / (self.plan.precision * found.load);
                    (f64::from(counted) * wider.powi(2)).ceil().min(f64::from(BLOCKS_MAX)) as u32
                });
                last = blocks.map_or(BLOCKS_MAX, |blocks| focus.from_block - 1 + blocks);
            }
            self.focus = Some(focus);
        }
        Ok(true)
    }

    /// The distance, as a share of the centre, at which whole loads are as far from each other as they must
    /// be.
    fn apart_of_whole(&self, centre: f64) -> f64 {
        if self.plan.whole { WHOLE_APART / centre } else { 0.0 }
    }

    fn measure_around(&mut self, focus: Focus, block: u32) -> Result<(), Stop> {
        let places = [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0];
        let loads = places.map(|place| self.journal.rounded(focus.centre * (1.0 + place * focus.apart)));
        let most = self.ceiling.as_ref().map_or(f64::INFINITY, |ceiling| ceiling.load);
        let most = self.plan.most().map_or(most, |to| most.min(to * (1.0 + f64::EPSILON)));
        let loads: Vec<f64> = loads.into_iter().filter(|load| *load < most).collect();
        let length = self.long_enough(focus.centre, self.plan.length);
        for (load, made) in self.journal.measure_block(&loads, length, block)? {
            self.note(load, made);
        }
        Ok(())
    }

    /// The loads to look at after a block; `None` if margins jump within the precision.
    fn moved(&self, focus: Focus, line: FittedLine, block: u32) -> Option<Focus> {
        let Focus { centre, apart, from_block, pilot } = focus;
        if let (Some([lower, upper]), None) = (self.jump(block), pilot) {
            // The rest is halved faster.
            let left = upper / lower - 1.0;
            return (left > self.plan.precision).then(|| Focus {
                centre: (lower * upper).sqrt(),
                apart: (left / 2.0).max(self.plan.precision / 2.0),
                from_block: block + 1,
                pilot,
            });
        }
        let fall = match line.link() {
            Link::Log if self.has_plenty(focus, line) => PLENTY_APART,
            Link::Log => BEYOND_APART,
            Link::Inverse => MARGIN_APART,
        };
        let reach = [centre * (1.0 - 1.5 * apart), centre * (1.0 + 1.5 * apart)];
        let (load, slope) = match line.root() {
            Some((load, slope)) => (load.clamp(reach[0], reach[1]), slope),
            // Nothing is seen to fall yet.
            None if line.middle() > 1.0 => (reach[1], -fall / APART[1]),
            None => (reach[0], -fall / APART[1]),
        };
        let fitting = fall / -slope;
        let fitting = fitting.min(FITTED_APART).max(self.plan.precision.max(apart / 3.0));
        let settled = (load / centre - 1.0).abs() <= 0.7 * apart && (0.4..=2.5).contains(&(fitting / apart));
        Some(match settled || pilot.is_some() {
            true => Focus { centre: load, apart: fitting, from_block, pilot },
            false => Focus { centre: load, apart: fitting, from_block: block + 1, pilot },
        })
    }

    /// The loads of a block between which margins jump, if most of them are far from the limit.
    fn jump(&self, block: u32) -> Option<[f64; 2]> {
        let of_block = self.journal.records().iter().filter(|record| record.counts());
        let of_block = of_block.filter(|record| record.design.block == block);
        let margins: Vec<(f64, f64)> =
            of_block.map(|record| (record.load, record.observed.margin())).collect();
        let near = margins.iter().filter(|(_, margin)| (1.0 / GRADUAL..=GRADUAL).contains(margin)).count();
        let above = margins.iter().filter(|(_, margin)| *margin >= 1.0).map(|(load, _)| *load);
        let below = margins.iter().filter(|(_, margin)| *margin < 1.0).map(|(load, _)| *load);
        let (lower, upper) = (above.reduce(f64::max)?, below.reduce(f64::min)?);
        (near * 2 < margins.len() && lower < upper).then_some([lower, upper])
    }

    /// The line through the trials of the blocks that count; while these are few, through all trials of
    /// blocks that lie where the search looks.
    fn line(&self) -> Option<FittedLine> {
        let focus = self.focus?;
        let full = || self.journal.full(self.plan.length).filter(|record| record.design.block > 0);
        let counted: Vec<_> = full().filter(|record| record.design.block >= focus.from_block).collect();
        if counted.len() >= 4 {
            return fitted(&counted);
        }
        let near = |record: &&TrialRecord| (record.load / focus.centre - 1.0).abs() <= 2.0 * focus.apart;
        fitted(&full().filter(near).collect::<Vec<_>>())
    }

    /// True if the trials that count show how much they vary.
    fn shows_its_variance(&self, focus: Focus, line: FittedLine) -> bool {
        let shown = self.numbers(focus, line).filter(|number| *number > 0.0).count();
        line.link() == Link::Inverse || shown >= PILOT_SHOWN || self.has_plenty(focus, line)
    }

    /// True if each trial holds bursts enough.
    fn has_plenty(&self, focus: Focus, line: FittedLine) -> bool {
        bursts(line) >= BURSTS_PLENTY && self.numbers(focus, line).all(|number| number > 0.0)
    }

    /// The numbers of the trials that count.
    fn numbers(&self, focus: Focus, line: FittedLine) -> impl Iterator<Item = f64> {
        let full = self.journal.full(self.plan.length);
        let counted = full.filter(move |record| record.design.block >= focus.from_block);
        counted.map(move |record| record.observed.number(line.link()))
    }

    pub(super) fn fit(&self) -> Option<Crossing> {
        let line = self.line()?;
        // That of another link is in other units.
        let pilot = self.focus?.pilot.filter(|(link, _)| *link == line.link());
        match (pilot.map(|(_, variance)| variance), line.link()) {
            (pilot, Link::Inverse) => line.crossing(pilot.unwrap_or(line.residual), LEVEL),
            // Few bursts vary by less than many.
            (Some(pilot), Link::Log) if bursts(line) >= BURSTS_MIN => {
                let larger = if line.residual.value > pilot.value { line.residual } else { pilot };
                line.crossing(larger, LEVEL)
            }
            (_, Link::Log) => None,
        }
    }

    /// The length of trials in which bursts beyond a limit are frequent enough, where in these they are rare
    /// (true), or there were too few of them for their variance.
    pub(super) fn length_for_bursts(&self) -> Option<(Duration, bool)> {
        let line = self.line().filter(|line| line.link() == Link::Log)?;
        let is_known = self.focus?.pilot.is_some();
        let is_rare = bursts(line) < BURSTS_MIN;
        let times = if is_rare { BURSTS_ENOUGH / bursts(line) } else { 2.0 };
        let length = in_two_digits(self.plan.length.as_secs_f64() * times);
        (is_rare || !is_known).then_some((length, is_rare))
    }
}

/// The length, of at least one second, rounded up to two digits.
pub(super) fn in_two_digits(length_s: f64) -> Duration {
    let length_s = length_s.clamp(1.0, 1e9);
    let unit = 10_f64.powf(length_s.log10().floor() - 1.0);
    Duration::from_secs_f64((length_s / unit).ceil() * unit)
}

/// Bursts of what is beyond a limit in a trial at the crossing: numbers are sums of bursts that come one by
/// one, whose variance over their mean is the mean size of a burst.
fn bursts(line: FittedLine) -> f64 {
    1.0 / line.residual.value.max(f64::MIN_POSITIVE)
}

/// The line through trials, by the link that most of them have. Failures are not counted where it is a load
/// that was not served that broke the goals, before anything failed.
fn fitted(trials: &[&TrialRecord]) -> Option<FittedLine> {
    let counting = trials.iter().filter(|record| record.observed.link() == Link::Log).count();
    let of_failures = |record: &&TrialRecord| {
        let binding = record.observed.binding();
        binding.is_none_or(GoalReading::is_of_share)
    };
    let unserved = |record: &&TrialRecord| {
        record.observed.backlog_share > 0.0 && record.observed.goals.iter().all(|goal| goal.kept)
    };
    let is_unserved = trials.iter().any(unserved) && trials.iter().all(of_failures);
    let link = if counting * 2 > trials.len() && !is_unserved { Link::Log } else { Link::Inverse };
    let points: Vec<_> = trials.iter().map(|record| (record.load, record.observed.number(link))).collect();
    FittedLine::of(&points, link)
}
