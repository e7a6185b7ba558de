//! `farfield route`: an emulated network between hosts that somebody else runs.

use crate::commands::passed::{self, ForwardingReport};
use crate::commands::run;
use crate::exit::Exit;
use crate::flags::route::RouteFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::random::Seed;
use farfield_engine::interrupt;
use farfield_engine::route::{Route, RouteCounts, RouteError, RouteReport, RouteSettings, Whereabouts};

/// Routes packets until it is asked to end, and reports what the paths did on standard error.
pub fn route(flags: &RouteFlags) -> Result<Exit, Problem> {
    let scenario = flags.scenario.as_ref().map(|path| path.to_string_lossy().into_owned());
    let plan = run::read(scenario.as_deref(), &flags.overlay())?;
    let ends = flags.ends();
    // Before anything that makes threads: a process of several cannot enter a user namespace.
    for end in &ends {
        if let Whereabouts::Namespace(location) = end {
            location.gain_privilege().map_err(Problem::forbidden)?;
        }
    }
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let network = plan.network().cloned();
    let network = network.ok_or_else(|| Problem::usage("a route needs an emulated network"))?;
    let scenario = plan.scenario();
    let written = scenario.network.clone().unwrap_or_default();
    let limit = scenario.verdict.departure_lateness_p99;
    let [clients, server] = ends;
    let settings = RouteSettings {
        clients,
        server,
        targets: flags.targets.clone(),
        placed: flags.clients.clone(),
        network,
        device: written.gateway,
        offload: written.offload,
        queue_packets: written.gateway_queue.get(),
        seed: Seed(scenario.seed),
    };
    let route = Route::plan(settings).map_err(problem_of)?;
    if !flags.quiet {
        let [clients, server] = route.changes();
        output::put_error(format_args!(
            "farfield: {clients}\nfarfield: {server}\nfarfield: nothing else is changed, and these are gone \
             afterwards\n"
        ));
        if route.targets() != flags.targets {
            let shown: Vec<String> = route.targets().iter().map(ToString::to_string).collect();
            output::put_error(format_args!("farfield: clients reach the targets at {}\n", shown.join(", ")));
        }
    }
    let route = route.open().map_err(problem_of)?;
    if !flags.quiet {
        output::put_error(format_args!("farfield: routing\n"));
    }
    let report = route.run(&stop, flags.duration, |counts| {
        if flags.counts {
            output::put_error(format_args!("{}", line_of(counts)));
        }
    });
    drop(route);
    if !flags.quiet {
        output::put_error(format_args!("{}", in_words(&report).in_words(limit)));
    }
    if let Some(error) = &report.failed {
        return Err(Problem::failed(format!(
            "the route has ended: an interface at one of its ends is gone ({error})"
        )));
    }
    Ok(if passed::is_late(&report.lateness, limit) { Exit::Invalid } else { Exit::Fine })
}

fn problem_of(error: RouteError) -> Problem {
    match error.is_usage() {
        true => Problem::usage(error),
        false => Problem::forbidden(error),
    }
}

/// A line each second.
fn line_of(counts: RouteCounts) -> String {
    let RouteCounts { up, down, dropped } = counts;
    format!("farfield: {up} packets up, {down} down, {dropped} dropped\n")
}

fn in_words(report: &RouteReport) -> ForwardingReport<'_> {
    ForwardingReport {
        up: report.up,
        down: report.down,
        drops: report.drops,
        refused: report.refused,
        others: vec![
            (report.strays, "to or from addresses that were not named, not passed on"),
            (report.overrun, "lost before they were read"),
        ],
        lateness: &report.lateness,
        cpu: report.cpu,
    }
}
