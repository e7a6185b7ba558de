//! Thread groups of JMeter as a closed load, and its timers as think times.

use super::reply::known;
use super::xml::Element;
use crate::draft::{Draft, Settings};
use crate::holes::Variables;
use crate::text::quoted;

/// Users of a scenario at most: a group of more is a mistake.
const USERS_MAX: u64 = 1_000_000;

/// Sets the load of a thread group.
pub fn set(group: &Element, variables: &Variables, draft: &mut Draft) {
    if group.name != "ThreadGroup" {
        let name = crate::text::one_line(&group.name);
        draft.note(format!(
            "the load of a `{name}` is not taken: one user asks, until another load is written"
        ));
        return;
    }
    let number = |element: &Element, name: &str| -> Option<i64> {
        known(variables, element.text_of(name))?.trim().parse().ok()
    };
    let controller = group.property("ThreadGroup.main_controller");
    let loops = controller.and_then(|own| number(own, "LoopController.loops"));
    let is_endless = controller.is_some_and(|own| own.is_true("LoopController.continue_forever"))
        || loops.is_none_or(|own| own < 0);
    let is_timed = group.is_true("ThreadGroup.scheduler");
    let Some(users) = number(group, "ThreadGroup.num_threads").and_then(|own| u64::try_from(own).ok()) else {
        draft.note("how many threads there are is not known before: one user asks");
        return;
    };
    let users = users.clamp(1, USERS_MAX);
    Settings::set(&mut draft.settings.load, "users", users.to_string());
    if let Some(ramp) = number(group, "ThreadGroup.ramp_time").filter(|own| (0..=1_000_000).contains(own)) {
        Settings::set(&mut draft.settings.load, "ramp", quoted(&format!("{ramp}s")));
    }
    // Users start at once, and are measured from then on.
    Settings::set(&mut draft.settings.run, "warm-up", quoted("0s"));
    if let Some(loops) = loops.filter(|own| *own > 0 && !is_endless) {
        Settings::set(
            &mut draft.settings.run,
            "sessions",
            users.saturating_mul(loops as u64).min(i64::MAX as u64).to_string(),
        );
    }
    if is_timed {
        match number(group, "ThreadGroup.duration").filter(|own| (1..=10_000_000).contains(own)) {
            Some(duration) => {
                Settings::set(&mut draft.settings.run, "duration", quoted(&format!("{duration}s")))
            }
            None => {
                draft.note("how long the threads run is not known before: the run is as long as runs are")
            }
        }
        if number(group, "ThreadGroup.delay").is_some_and(|own| own > 0) {
            draft.note("the delay before the threads start is left out");
        }
    } else if is_endless {
        draft.note("the threads run until they are stopped: the run is as long as runs are, `run.duration` says how long");
    }
    let on_failure = match group.text_of("ThreadGroup.on_sample_error").trim() {
        "" | "continue" => "go-on",
        "startnextloop" => "end-session",
        _ => {
            draft.note("an error that stops a thread or the test ends its session alone; `aborts` end a run");
            "end-session"
        }
    };
    Settings::set(&mut draft.settings.session, "on-failure", quoted(on_failure));
}

/// A pause before a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pause {
    constant_ms: f64,
    spread: Spread,
}

/// What is random of a pause, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Spread {
    #[default]
    None,
    /// From 0 to this.
    Uniform(f64),
    /// The standard deviation.
    Normal(f64),
}

impl Pause {
    /// Adds a timer, or an action that waits; false if it is none of these.
    pub fn add(&mut self, timer: &Element, variables: &Variables) -> bool {
        let number = |name: &str| -> Option<f64> {
            let value = known(variables, timer.text_of(name))?.trim().parse::<f64>().ok()?;
            Some(value).filter(|own| (0.0..1e10).contains(own))
        };
        let delay =
            if timer.name == "TestAction" { "ActionProcessor.duration" } else { "ConstantTimer.delay" };
        let Some(delay) = number(delay) else { return false };
        let spread = match timer.name.as_str() {
            "ConstantTimer" | "TestAction" => Some(Spread::None),
            "UniformRandomTimer" => number("RandomTimer.range").map(Spread::Uniform),
            "GaussianRandomTimer" => number("RandomTimer.range").map(Spread::Normal),
            _ => None,
        };
        spread.is_some_and(|spread| self.join(Pause { constant_ms: delay, spread }))
    }

    /// Adds a pause; false, and nothing is added, if both are random: the sum is of neither family.
    pub fn join(&mut self, other: Pause) -> bool {
        self.spread = match (self.spread, other.spread) {
            (own, Spread::None) => own,
            (Spread::None, other) => other,
            _ => return false,
        };
        self.constant_ms += other.constant_ms;
        true
    }

    /// The pause as a distribution of a scenario.
    pub fn toml(self) -> String {
        let ms = |value: f64| quoted(&format!("{}us", (value * 1e3).round()));
        let Pause { constant_ms, spread } = self;
        match spread {
            Spread::Uniform(range) if range > 0.0 => {
                format!(
                    "{{ distribution = \"uniform\", min = {}, max = {} }}",
                    ms(constant_ms),
                    ms(constant_ms + range)
                )
            }
            Spread::Normal(deviation) if deviation > 0.0 => format!(
                "{{ distribution = \"truncated\", min = \"0s\", max = {}, of = {{ distribution = \"normal\", mean = {}, sigma = {} }} }}",
                ms(constant_ms + 8.0 * deviation),
                ms(constant_ms),
                ms(deviation)
            ),
            _ => ms(constant_ms),
        }
    }

    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self == Pause::default()
    }
}
