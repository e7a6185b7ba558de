//! farfield: a web-server benchmark that tells the truth.
//!
//! The command line: what was typed ([`flags`]) becomes what is meant ([`farfield_scenario`]), which is wired to an engine
//! and ends in an [exit code](exit). Everything of substance lives in the crates beside this one.

mod commands;
mod exit;
mod flags;
mod output;
mod problem;
mod progress;

use clap::Parser;
use flags::{Command, Flags};
use std::process::ExitCode;

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return refuse(&error).into(),
    };
    let done = match flags.command {
        None => commands::tour::tour(),
        Some(Command::Run(run)) => commands::run::run(&run),
        Some(Command::Try(once)) => commands::once::once(&once),
        Some(Command::Serve(serve)) => commands::serve::serve(&serve),
        Some(Command::Report(report)) => commands::report::report(&report),
        Some(Command::Doctor) => commands::doctor::doctor(),
        Some(Command::Fit(fit)) => commands::fit::fit(&fit),
        Some(Command::Advise(advise)) => commands::advise::advise(&advise),
        Some(Command::Site(site)) => commands::site::site(&site),
        Some(Command::Generate(what)) => commands::generate::generate(&what),
    };
    done.unwrap_or_else(|problem| problem.tell()).into()
}

/// What clap says: help and versions as it colours them; a mistake quotes what was typed, which is cleaned first.
fn refuse(error: &clap::Error) -> exit::Exit {
    let text = error.render();
    if error.use_stderr() {
        output::tell(format_args!("{text}"));
        return exit::Exit::Usage;
    }
    // Help quotes nothing. Whoever reads it may have had enough.
    let _ = error.print();
    exit::Exit::Fine
}
