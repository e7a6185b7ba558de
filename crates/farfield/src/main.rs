//! farfield: a web-server benchmark that tells the truth.
//!
//! The command line: [flags] become a plan of a run ([`farfield_scenario`]), the engine runs it, and the
//! program ends with an [exit code](exit). All else is in the other crates.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod commands;
mod exit;
mod flags;
mod live;
mod metrics;
mod output;
mod problem;
mod progress;
mod web;
mod workbench;

use clap::Parser;
use farfield_os::allocator::Allocator;
use flags::{Command, Flags};
use std::process::ExitCode;

/// Ends the program with a message where memory runs out.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return refuse(&error).into(),
    };
    let done = match flags.command {
        None => commands::tour::tour(),
        Some(Command::Run(run)) => commands::run::run(&run),
        Some(Command::Capacity(capacity)) => commands::capacity::capacity(&capacity),
        Some(Command::Try(once)) => commands::once::once(&once),
        Some(Command::Serve(serve)) => commands::serve::serve(&serve),
        Some(Command::Shell(shell)) => commands::shell::shell(&shell),
        Some(Command::Route(route)) => commands::route::route(&route),
        Some(Command::Path(path)) => commands::path::path(&path),
        Some(Command::Report(report)) => commands::report::report(&report),
        Some(Command::Compare(compare)) => commands::compare::compare(&compare),
        Some(Command::Runs(runs)) => commands::compare::runs(&runs),
        Some(Command::Ui(ui)) => workbench::ui(&ui),
        Some(Command::Verify(verify)) => commands::verify::verify(&verify),
        Some(Command::Doctor) => commands::doctor::doctor(),
        Some(Command::Fit(fit)) => commands::fit::fit(&fit),
        Some(Command::Audit(audit)) => commands::audit::audit(&audit),
        Some(Command::Import(import)) => commands::import::import(&import),
        Some(Command::Export(export)) => commands::export::export(&export),
        Some(Command::Advise(advise)) => commands::advise::advise(&advise),
        Some(Command::Site(site)) => commands::site::site(&site),
        Some(Command::Generate(what)) => commands::generate::generate(&what),
    };
    done.unwrap_or_else(|problem| problem.print()).into()
}

/// Prints clap's message: help and versions with its colours; a mistake quotes the command line, which is
/// cleaned first.
fn refuse(error: &clap::Error) -> exit::Exit {
    let text = error.render();
    if error.use_stderr() {
        output::put_error(format_args!("{text}"));
        return exit::Exit::Usage;
    }
    // Help quotes nothing from the command line. A closed pipe is no error.
    let _ = error.print();
    exit::Exit::Fine
}
