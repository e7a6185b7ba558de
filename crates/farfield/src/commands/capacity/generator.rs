//! The generator of a search held against two of its kind, at the load of its answer: a number that the
//! generator bounds is none of the server's (`farfield doctor --limit` finds such loads in advance).

use super::load::RisingLoad;
use crate::commands::child::ChildRuns;
use crate::commands::doctor::limit::{self, OwnServer};
use farfield_base::Duration;
use farfield_engine::plane::PlaneKind;
use farfield_experiment::limit::GeneratorCheck;
use farfield_experiment::report::Ended;
use farfield_experiment::{CapacityReport, Stop};
use farfield_scenario::{RunPlan, Scenario};
use std::sync::atomic::Ordering;

/// The time for the check: one run, two at once, and as much again where they are disturbed.
const CHECK: Duration = Duration::from_secs(6);
/// The share of the budget that it may take is one by this.
const PART: u64 = 5;

/// True if the generator of such a search can be checked here; no check is made of one whose limit is known,
/// or that has no clock. An error is why it cannot be.
pub fn may_check(plan: &RunPlan, limit: Option<f64>, is_by_parts: bool) -> Result<(), Option<&'static str>> {
    let scenario = plan.scenario();
    let is_started = scenario.server.as_ref().is_some_and(|server| server.command.is_some());
    match scenario.plane {
        _ if limit.is_some() => Err(None),
        PlaneKind::Simulated => Err(None),
        _ if is_by_parts => {
            Err(Some("its parts may be on other machines, and farfield's own server is on this one"))
        }
        PlaneKind::Sockets if limit::names_a_certificate(scenario) => {
            Err(Some("`tls.ca` and `tls.pins` do not know the certificate of farfield's own server"))
        }
        PlaneKind::Sockets if is_started => Err(Some("each of its runs would start the server again")),
        PlaneKind::Sockets if !scenario.host.is_empty() => Err(Some("the load goes to other hosts too")),
        PlaneKind::Sockets => Ok(()),
        _ => Err(Some("it is checked on the sockets plane alone")),
    }
}

/// The budget without the time for the check, where it has room for that.
pub fn budget_left(budget: Duration) -> Duration {
    if has_room(budget) { budget - CHECK } else { budget }
}

fn has_room(budget: Duration) -> bool {
    budget >= CHECK.times(PART)
}

/// The time that farfield's own server takes for a reply. Users who wait for replies would ask a faster one
/// more often than the server of the search, which is no load that this had.
fn service_time(report: &CapacityReport, load: &RisingLoad, at: f64) -> Duration {
    let nearest = report.trials.iter().filter(|trial| trial.counts()).filter_map(|trial| {
        let median_ns = trial.observed.median_ns?;
        Some(((trial.load / at).ln().abs(), median_ns))
    });
    let nearest = nearest.min_by(|one, other| one.0.total_cmp(&other.0)).filter(|_| load.whole);
    nearest.map_or(Duration::ZERO, |(_, median_ns)| Duration::from_ns(median_ns as u64))
}

/// The report with the check of the generator at its answer, if it has one.
pub fn checked(
    report: CapacityReport,
    may: Result<(), Option<&'static str>>,
    scenario: &Scenario,
    runs: ChildRuns,
    load: &RisingLoad,
) -> CapacityReport {
    let Some(at) = report.found_at() else { return report };
    let because = match may {
        Err(None) => return report,
        Err(Some(because)) => because,
        Ok(()) if load.whole && at < 2.0 => "one user cannot be shared by two generators",
        Ok(()) if runs.stop.load(Ordering::Relaxed) => "the search was interrupted",
        Ok(()) => {
            let at = if load.whole { at.round().max(1.0) } else { at };
            let server = OwnServer::of(scenario, service_time(&report, load, at));
            return match limit::check(server, runs, load, at, CHECK.as_secs_f64()) {
                Ok(check) => report.with_generator(check),
                Err(Stop::Interrupted) => {
                    let check = GeneratorCheck::not_made("it was interrupted");
                    CapacityReport { ended: Ended::Interrupted, ..report.with_generator(check) }
                }
                Err(stop) => report.with_generator(GeneratorCheck::not_made(&stop.to_string())),
            };
        }
    };
    report.with_generator(GeneratorCheck::not_made(because))
}
