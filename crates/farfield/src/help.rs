//! Help: `-h` on one screen, `--help` with everything, and `farfield help` about keys, checks and metrics.
//!
//! clap reads the command line and decides that help is asked for, of which command and in which length; the
//! pages are rendered only then. What a flag means stands at the flag, defaults are the scenario's own, and
//! keys, checks and metrics are read from the pages of docs that describe them.

mod after;
mod defaults;
pub mod manual;
mod nearest;
pub mod reference;
mod short;
#[cfg(test)]
mod tests;
mod topics;

use crate::exit::Exit;
use crate::flags::Flags;
use crate::output;
use crate::problem::Problem;
use clap::builder::StyledStr;
use clap::{Command, CommandFactory};
use std::ffi::OsString;

/// Columns of help where it is not seen on a terminal, and the most that it has there.
const COLUMNS: usize = 100;
/// Lines of `-h`, of every command, at most.
pub const LINES: usize = 60;
/// The first word of what clap renders as help, by length.
const SHORT: &str = "short";
const LONG: &str = "long";

/// The command line, with the default of each flag in its words.
pub fn command() -> Command {
    defaults::with_defaults(Flags::command())
}

/// Prints the help that `words` ask for: of the command and in the length that clap finds.
pub fn print_asked(words: &[OsString]) -> Result<Exit, Problem> {
    let marked = marked(Flags::command(), String::new());
    let found = marked.try_get_matches_from(words).err().map(|error| error.render().to_string());
    let found = found.unwrap_or_default();
    let mut found = found.split_whitespace();
    let is_short = found.next() == Some(SHORT);
    let path: Vec<&str> = found.collect();
    print(&path, is_short)
}

/// Prints the help of the command that `path` leads to.
fn print(path: &[&str], is_short: bool) -> Result<Exit, Problem> {
    let mut all = command();
    all.build();
    let mut at = &mut all;
    for name in path {
        at = at.find_subcommand_mut(name).ok_or_else(|| topics::unknown(path))?;
    }
    output::put_help(&if is_short { short::render(at, columns()) } else { at.render_long_help() })?;
    Ok(Exit::Fine)
}

/// `farfield help`: of a command, of a key of the scenario, of a check of the verdict, of metrics.
pub fn help(words: &[String]) -> Result<Exit, Problem> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["scenario", about @ ..] => topics::scenario(about),
        ["checks", about @ ..] => topics::checks(about),
        ["metrics", about @ ..] => topics::metrics(about),
        path => print(path, false),
    }
}

/// Commands whose help is the length and the path of what was asked for.
fn marked(command: Command, path: String) -> Command {
    command
        .help_template("{before-help}")
        .before_help(format!("{SHORT} {path}"))
        .before_long_help(format!("{LONG} {path}"))
        .mut_subcommands(|command| {
            let path = format!("{path} {}", command.get_name());
            marked(command, path)
        })
}

/// Columns that there are.
fn columns() -> usize {
    match crossterm::terminal::size() {
        Ok((columns @ 1.., _)) if output::is_terminal() => usize::from(columns).clamp(40, COLUMNS),
        _ => COLUMNS,
    }
}

/// A heading, as clap has it.
fn heading(text: &str) -> String {
    format!("\u{1b}[1m\u{1b}[4m{text}\u{1b}[0m")
}

/// A word of the command line, as clap has it.
fn literal(text: &str) -> String {
    format!("\u{1b}[1m{text}\u{1b}[0m")
}

fn styled(text: &str) -> StyledStr {
    StyledStr::from(text.to_owned())
}
