//! Man pages, one a command, from the same words as its help: what it does, its flags by heading, exit
//! status, examples.

use super::after::HelpFooter;
use crate::exit::COMMON_CODES;
use clap::Command;
use clap_mangen::Man;
use std::io::{self, Write};

/// The commands that have a page, each as its words; the program itself has none.
pub fn pages() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    below(&super::command(), &[], &mut found);
    found
}

fn below(command: &Command, path: &[String], found: &mut Vec<Vec<String>>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let path: Vec<String> = path.iter().cloned().chain([sub.get_name().to_owned()]).collect();
        found.push(path.clone());
        below(sub, &path, found);
    }
}

/// The page of the command that `path` leads to; `None` if there is no such command.
///
/// # Errors
/// Those of writing it, which a text has none of.
pub fn page(path: &[String]) -> Option<io::Result<Vec<u8>>> {
    let mut all = super::command();
    all.build();
    let command = path.iter().try_fold(&all, |at, name| at.find_subcommand(name))?;
    Some(rendered(command, path))
}

fn rendered(command: &Command, path: &[String]) -> io::Result<Vec<u8>> {
    let name = name(path);
    let page = Man::new(command.clone()).title(&name).manual("farfield").source("farfield");
    let mut to = Vec::new();
    page.render_title(&mut to)?;
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(to, ".SH NAME\n{} \\- {}", escaped(&name), escaped(about.trim_end_matches('.')))?;
    page.render_synopsis_section(&mut to)?;
    page.render_description_section(&mut to)?;
    let after = HelpFooter::of(command);
    for prose in &after.prose {
        writeln!(to, ".PP\n{}", escaped(prose))?;
    }
    page.render_options_section(&mut to)?;
    let subs: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    if !subs.is_empty() {
        writeln!(to, ".SH COMMANDS")?;
    }
    for sub in subs {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(to, ".TP\n\\fB{}\\fR\n{}", escaped(sub.get_name()), escaped(&about))?;
    }
    exit_status(&after, &mut to)?;
    if !after.examples.is_empty() {
        writeln!(to, ".SH EXAMPLES")?;
    }
    for example in &after.examples {
        writeln!(to, ".PP\n.nf\n.RS\n{}\n.RE\n.fi", escaped(example))?;
    }
    writeln!(to, ".SH \"SEE ALSO\"\n{}", see_also(path))?;
    if path.is_empty() {
        page.render_version_section(&mut to)?;
    }
    Ok(to)
}

/// The command's own codes, and those that all have.
fn exit_status(after: &HelpFooter, to: &mut Vec<u8>) -> io::Result<()> {
    writeln!(to, ".SH \"EXIT STATUS\"")?;
    let has = |code: &str| after.exit_codes.iter().any(|(own, _)| own == code);
    let common = COMMON_CODES.iter().filter(|(code, _)| !has(code));
    let own = after.exit_codes.iter().map(|(code, meaning)| (code.as_str(), meaning.as_str()));
    for (code, meaning) in own.chain(common.copied()) {
        writeln!(to, ".TP\n\\fB{code}\\fR\n{}", escaped(meaning))?;
    }
    Ok(())
}

fn name(path: &[String]) -> String {
    std::iter::once("farfield").chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join("-")
}

/// The page above, and of the program those of its commands.
fn see_also(path: &[String]) -> String {
    let reference = |path: &[String]| format!("\\fB{}\\fR(1)", escaped(&name(path)));
    match path.split_last() {
        Some((_, above)) => reference(above),
        None => {
            let commands = pages().into_iter().filter(|page| page.len() == 1);
            commands.map(|page| reference(&page)).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Text without what roff takes for its own: escapes, minus signs, requests at the beginnings of lines.
fn escaped(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
