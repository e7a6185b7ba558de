//! Thread groups of JMeter as a closed load, and its timers as think times.

use super::reply::known;
use super::xml::Element;
use crate::draft::{Draft, DraftSettings};
use crate::holes::Variables;
use crate::pause::{Pause, Spread};
use crate::text::quoted;
use farfield_base::Duration;

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
    DraftSettings::set(&mut draft.settings.load, "users", users.to_string());
    if let Some(ramp) = number(group, "ThreadGroup.ramp_time").filter(|own| (0..=1_000_000).contains(own)) {
        DraftSettings::set(&mut draft.settings.load, "ramp", quoted(&format!("{ramp}s")));
    }
    // Users start at once, and are measured from then on.
    DraftSettings::set(&mut draft.settings.run, "warm-up", quoted("0s"));
    if let Some(loops) = loops.filter(|own| *own > 0 && !is_endless) {
        DraftSettings::set(
            &mut draft.settings.run,
            "sessions",
            users.saturating_mul(loops as u64).min(i64::MAX as u64).to_string(),
        );
    }
    if is_timed {
        match number(group, "ThreadGroup.duration").filter(|own| (1..=10_000_000).contains(own)) {
            Some(duration) => {
                DraftSettings::set(&mut draft.settings.run, "duration", quoted(&format!("{duration}s")))
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
    DraftSettings::set(&mut draft.settings.session, "on-failure", quoted(on_failure));
}

/// The pause of a timer, or of an action that waits.
pub fn pause_of(timer: &Element, variables: &Variables) -> Pause {
    let time = |name: &str| -> Option<Duration> {
        let ms = known(variables, timer.text_of(name))?.trim().parse::<f64>().ok()?;
        (0.0..1e10).contains(&ms).then(|| Duration::from_us((ms * 1e3).round() as u64))
    };
    let is_action = timer.name == "TestAction";
    let constant = time(if is_action { "ActionProcessor.duration" } else { "ConstantTimer.delay" });
    let spread = match timer.name.as_str() {
        "ConstantTimer" | "TestAction" => Some(Spread::None),
        "UniformRandomTimer" => time("RandomTimer.range").map(Spread::Uniform),
        "GaussianRandomTimer" => time("RandomTimer.range").map(Spread::Normal),
        _ => None,
    };
    constant.zip(spread).map_or(Pause::unknown(), |(constant, spread)| Pause::of(constant, spread))
}
