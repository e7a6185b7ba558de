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
use clap::error::{ContextKind, ContextValue};
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
        Some(Command::Sweep(sweep)) => commands::sweep::sweep(&sweep),
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
        if asks_for_capacity(error) {
            output::put_error(format_args!(
                "\n  tip: `farfield capacity` finds the highest load that a server takes\n"
            ));
        }
        return exit::Exit::Usage;
    }
    // Help quotes nothing from the command line. A closed pipe is no error.
    let _ = error.print();
    exit::Exit::Fine
}

/// Whether what is not known is what other programs call a search for capacity.
fn asks_for_capacity(error: &clap::Error) -> bool {
    const WORDS: [&str; 8] =
        ["find", "search", "max", "--max", "--max-rate", "--find", "--search", "--capacity"];
    [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].into_iter().any(
        |kind| matches!(error.get(kind), Some(ContextValue::String(word)) if WORDS.contains(&word.as_str())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_call_a_search_leads_to_capacity() {
        let leads = |words: &[&str]| {
            let words = ["farfield"].iter().chain(words);
            asks_for_capacity(&Flags::try_parse_from(words).expect_err("unknown"))
        };
        assert!(leads(&["find"]) && leads(&["search", "http://a/"]) && leads(&["run", "--max"]));
        assert!(!leads(&["nothing"]) && !leads(&["run", "--nothing"]));
    }
}
