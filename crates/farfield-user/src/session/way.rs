//! The way of a user through the states of its session: which comes next, which are left out, and where it
//! ends.
//!
//! A session begins with the states that all begin with, goes its way, and ends with the states that all end
//! with. It comes to these from wherever it is when something fails for good, or when it has had as many
//! pages as it may have.

use super::user::SessionUser;
use super::visit::{Visit, VisitPosition};
use super::{AfterPage, Sessions};
use farfield_base::random::Stream;
use farfield_traffic::session::course::{Condition, Repeat};
use farfield_traffic::session::state::OnFailure;

/// States that are left out in a row at most: a table may lead round among those whose conditions never hold.
const SKIPS_MAX: u32 = 10_000;

impl Sessions {
    /// The state that a session begins in.
    pub(super) fn entry(&self, visit: &mut Visit, rng: &mut Stream) -> u16 {
        match self.session.around.first.first() {
            Some(state) => {
                visit.stage = VisitPosition::First(0);
                *state
            }
            None => self.enter_way(visit, rng),
        }
    }

    fn enter_way(&self, visit: &mut Visit, rng: &mut Stream) -> u16 {
        let (progress, state) = self.session.route.begin(rng);
        (visit.stage, visit.progress) = (VisitPosition::Way, progress);
        state
    }

    /// The first of the states that sessions end with, if there are any.
    fn enter_last(&self, visit: &mut Visit) -> Option<u16> {
        let state = self.session.around.last.first()?;
        visit.stage = VisitPosition::Last(0);
        Some(*state)
    }

    /// The state behind the one that the user is in.
    fn step(&self, visit: &mut Visit, rng: &mut Stream) -> Option<u16> {
        let around = &self.session.around;
        match visit.stage {
            VisitPosition::First(place) => Some(match around.first.get(usize::from(place) + 1) {
                Some(state) => {
                    visit.stage = VisitPosition::First(place + 1);
                    *state
                }
                None => self.enter_way(visit, rng),
            }),
            VisitPosition::Way => {
                self.session.route.next(&mut visit.progress, rng).or_else(|| self.enter_last(visit))
            }
            VisitPosition::Last(place) => {
                visit.stage = VisitPosition::Last(place + 1);
                around.last.get(usize::from(place) + 1).copied()
            }
        }
    }

    /// The user's page is over: what comes after it.
    pub(super) fn next(&self, user: &mut SessionUser<'_>) -> AfterPage {
        let visit = &mut *user.visit;
        let left = visit.state;
        let state = &self.session.states[usize::from(left)];
        let is_over = match state.on_failure {
            OnFailure::Retry(times) if visit.failed && visit.retries < times => {
                visit.retries += 1;
                return AfterPage::Again;
            }
            OnFailure::EndSession | OnFailure::Retry(_) => visit.failed,
            OnFailure::GoOn => false,
        };
        let times = state.think.as_ref().or(self.session.think.as_ref());
        let think = times.map(|times| times.sample_duration(user.rng));
        visit.retries = 0;
        visit.click += 1;
        let had_all =
            !is_over && visit.stage == VisitPosition::Way && user.pages_left.as_mut().is_some_and(is_last);
        if !is_over && !had_all && state.repeat.is_some_and(|repeat| goes_round(repeat, visit)) {
            visit.repeats += 1;
            return AfterPage::Page(think);
        }
        visit.repeats = 0;
        let next = match (is_over, visit.stage) {
            (true, VisitPosition::Last(_)) => None,
            (true, _) => self.enter_last(visit),
            _ if had_all => self.enter_last(visit),
            _ => self.step(visit, user.rng),
        };
        if is_over {
            visit.broken_off.get_or_insert(left);
        }
        if let Some(state) = next {
            visit.state = state;
            if self.skip(user) {
                return AfterPage::Page(think);
            }
        }
        let visit = &mut *user.visit;
        visit.state = left;
        match visit.broken_off {
            Some(state) => AfterPage::BrokenOff(state, think),
            None => AfterPage::Over(think),
        }
    }

    /// Leaves out states whose conditions do not hold; false if none is left.
    pub(super) fn skip(&self, user: &mut SessionUser<'_>) -> bool {
        let visit = &mut *user.visit;
        for _ in 0..SKIPS_MAX {
            let state = &self.session.states[usize::from(visit.state)];
            let unmet = state.conditions.iter().find(|condition| !holds(**condition, visit));
            let Some(unmet) = unmet else { return true };
            self.trace_skipped(&state.name, *unmet);
            match self.step(visit, user.rng) {
                Some(next) => visit.state = next,
                None => return false,
            }
        }
        false
    }
}

/// Counts a page that a user had: whether it was the last of those `left`.
pub(crate) fn is_last(left: &mut u64) -> bool {
    *left = left.saturating_sub(1);
    *left == 0
}

fn holds(condition: Condition, visit: &Visit) -> bool {
    visit.variable(condition.variable).is_empty() != condition.found
}

/// True if the state is asked for once more.
fn goes_round(repeat: Repeat, visit: &Visit) -> bool {
    let found = repeat.while_found.is_none_or(|variable| !visit.variable(variable).is_empty());
    visit.repeats + 1 < repeat.times && found
}
