//! `farfield shell`: any program behind an emulated path to a server.

use crate::commands::passed::ForwardingReport;
use crate::commands::run;
use crate::exit::Exit;
use crate::flags::shell::ShellFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::Duration;
use farfield_engine::plane::Plane;
use farfield_engine::shell::{Program, Shell, ShellReport, clients_of};
use farfield_engine::{Run, SetUpError, interrupt};
use farfield_scenario::Prepared;
use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Runs the program, and reports what its path did on standard error.
pub fn shell(flags: &ShellFlags) -> Result<Exit, Problem> {
    let scenario = flags.scenario.as_ref().map(|path| path.to_string_lossy().into_owned());
    let mut plan = run::read(scenario.as_deref(), &flags.overlay())?;
    // Before anything that makes threads: a process of several cannot enter a user namespace.
    plan.gain_privilege_for_shell().map_err(Problem::forbidden)?;
    let stop = interrupt::flag_of_a_parent()
        .map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let Prepared { run: Run { settings, plane }, files, .. } = plan.prepare(run::now_rfc3339())?;
    run::announce(&plane, flags.quiet)?;
    let Plane::Emulated(plane) = plane else {
        return Err(Problem::usage("a shell needs an emulated network: leave `plane` out of the scenario"));
    };
    let beside = flags.beside.iter().map(|(class, _)| Some(class.as_str()));
    let classes: Vec<Option<&str>> = std::iter::once(flags.class.as_deref()).chain(beside).collect();
    let clients = clients_of(&plane.network, &classes)
        .map_err(|error| Problem::usage(format!("--as or --beside: {error}")))?;
    let round_trip = plane.network.round_trips;
    let directory = farfield_files::temporary_folder("farfield-")
        .map_err(|error| Problem::failed(format!("no folder for the server's log can be made: {error}")))?;
    let shell = Shell::set_up(*plane, &clients, directory.path()).map_err(|error| match error {
        SetUpError::Testbed(error) => Problem::forbidden(error),
        SetUpError::Server(error) => Problem::failed(error),
    })?;
    // The server has read the files by now.
    drop(files);
    if !flags.quiet {
        let addresses: Vec<IpAddr> = shell.clients().collect();
        let server = shell.servers().of(&addresses[0]);
        output::put_error(format_args!(
            "farfield: this is {}, and http://server/ is {server}, {} there and back at least\n",
            addresses[0], round_trip.least
        ));
        let names = shell.names_of_programs();
        for ((name, address), (_, command)) in names.iter().zip(&addresses).skip(1).zip(&flags.beside) {
            output::put_error(format_args!("farfield: beside it, {name} is {address}: {command}\n"));
        }
    }
    let beside = flags.beside.iter().map(|(_, command)| ["sh", "-c", command].map(OsString::from).to_vec());
    let commands = std::iter::once(command(flags)).chain(beside);
    let programs: Vec<Program> = commands.map(|command| Program { command }).collect();
    let report = shell.run(&programs, settings.users.seed, &stop).map_err(Problem::failed)?;
    if !flags.quiet {
        for ((class, command), status) in flags.beside.iter().zip(&report.beside) {
            if let Some(code) = status.map(code_of).filter(|code| *code > 0) {
                output::put_error(format_args!(
                    "farfield: beside it, {class} ended with {code}: {command}\n"
                ));
            }
        }
        output::put_error(format_args!("{}", in_words(&report, settings.limits.departure_lateness_p99)));
    }
    if let Some(error) = &report.failed {
        return Err(Problem::failed(format!(
            "the path ended before the program: an interface at one of its ends is gone ({error})"
        )));
    }
    Ok(Exit::OfProgram(code_of(report.status)))
}

/// The program that was asked for, or the user's shell.
fn command(flags: &ShellFlags) -> Vec<OsString> {
    if flags.command.is_empty() {
        vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())]
    } else {
        flags.command.clone()
    }
}

/// The exit code: a program that a signal ended has 128 and the signal's number, as in a shell.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Counts and lateness of the path, in words.
fn in_words(report: &ShellReport, limit: Duration) -> String {
    let left =
        if report.left_behind == 1 { "process left behind, killed" } else { "processes left behind, killed" };
    let passed = ForwardingReport {
        up: report.up,
        down: report.down,
        drops: report.drops,
        refused: report.refused,
        others: vec![
            (report.unknown_names, "lookups of names that are not here"),
            (report.left_behind as u64, left),
        ],
        lateness: &report.lateness,
        cpu: report.cpu,
    };
    passed.in_words(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!([0, 7 << 8, 9].map(|raw| code_of(ExitStatus::from_raw(raw))), [0, 7, 137]);
    }
}
