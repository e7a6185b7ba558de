//! farfield: a web-server benchmark that tells the truth.
//!
//! The command line: [flags] become a plan of a run ([`farfield_scenario`]), the engine runs it, and the
//! program ends with an [exit code](exit). All else is in the other crates.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod commands;
mod exit;
mod flags;
mod help;
mod live;
mod metrics;
mod output;
mod peers;
mod problem;
mod progress;
mod web;
mod workbench;

use clap::Parser;
use clap::error::ErrorKind;
use farfield_os::allocator::Allocator;
use flags::{Command, Flags};
use peers::Remedy;
use problem::Problem;
use std::process::ExitCode;

/// Ends the program with a message where memory runs out.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    let flags = match read_flags() {
        Ok(flags) => flags,
        Err(exit) => return exit.into(),
    };
    let done = match flags.command {
        None => commands::tour::tour(),
        Some(Command::Run(run)) => commands::run::run(&run),
        Some(Command::Capacity(capacity)) => commands::capacity::capacity(&capacity),
        Some(Command::Sweep(sweep)) => commands::sweep::sweep(&sweep),
        Some(Command::Experiment(asked)) => commands::question::experiment(&asked),
        Some(Command::Try(once)) => commands::once::once(&once),
        Some(Command::Serve(serve)) => commands::serve::serve(&serve),
        Some(Command::Shell(shell)) => commands::shell::shell(&shell),
        Some(Command::Route(route)) => commands::route::route(&route),
        Some(Command::Path(path)) => commands::path::path(&path),
        Some(Command::Report(report)) => commands::report::report(&report),
        Some(Command::Compare(compare)) => commands::compare::compare(&compare),
        Some(Command::Runs(runs)) => commands::runs::runs(&runs),
        Some(Command::Ui(ui)) => workbench::ui(&ui),
        Some(Command::Gather(gather)) => commands::gather::gather(&gather),
        Some(Command::Cluster(cluster)) => commands::cluster::cluster(&cluster.what),
        Some(Command::Merge(merge)) => commands::merge::merge(&merge),
        Some(Command::Verify(verify)) => commands::verify::verify(&verify),
        Some(Command::Doctor(doctor)) => commands::doctor::doctor(&doctor),
        Some(Command::Fit(fit)) => commands::fit::fit(&fit),
        Some(Command::Audit(audit)) => commands::audit::audit(&audit),
        Some(Command::Import(import)) => commands::import::import(&import),
        Some(Command::Record(record)) => commands::record::record(&record),
        Some(Command::Export(export)) => commands::export::export(&export),
        Some(Command::Advise(advise)) => commands::advise::advise(&advise),
        Some(Command::Site(site)) => commands::site::site(&site),
        Some(Command::Help(asked)) => help::help(&asked.about),
        Some(Command::Schema(schema)) => commands::generate::schema(&schema),
        Some(Command::Generate(what)) => commands::generate::generate(&what),
    };
    done.unwrap_or_else(|problem| problem.print()).into()
}

/// The flags of the command line, also where it has words of other load generators.
fn read_flags() -> Result<Flags, exit::Exit> {
    let mut words = peers::with_two_dashes(std::env::args_os().collect());
    loop {
        let error = match Flags::try_parse_from(&words) {
            Ok(flags) => return Ok(flags),
            Err(error) => error,
        };
        match peers::remedy(&words, &error) {
            Remedy::Words(others) => words = others,
            Remedy::Sentence(sentence) => return Err(Problem::usage(sentence).print()),
            Remedy::None if error.kind() == ErrorKind::DisplayHelp => {
                return Err(help::print_asked(&words).unwrap_or_else(|problem| problem.print()));
            }
            Remedy::None => return Err(refuse(&error)),
        }
    }
}

/// Prints clap's message: the version with its colours; a mistake quotes the command line, which is cleaned
/// first.
fn refuse(error: &clap::Error) -> exit::Exit {
    if error.use_stderr() {
        output::put_error(format_args!("{}", without_dashes_advice(&error.render().to_string())));
        return exit::Exit::Usage;
    }
    // A version quotes nothing from the command line. A closed pipe is no error.
    let _ = error.print();
    exit::Exit::Fine
}

/// A message without the advice to write an unknown flag after `--`, which nobody means.
fn without_dashes_advice(text: &str) -> String {
    let mut lines: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("tip: to pass '")).collect();
    lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_flag_is_not_advised_to_be_a_value() {
        let error = Flags::try_parse_from(["farfield", "run", "--nothing-like-it"]).expect_err("unknown");
        let text = without_dashes_advice(&error.render().to_string());
        assert!(text.contains("--nothing-like-it") && !text.contains("-- --nothing"), "{text}");
        assert!(!text.contains("\n\n\n"), "{text}");
    }
}
