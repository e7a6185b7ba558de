//! `farfield generate`: completions, man page and schema, which packagers ship beside the program.

use crate::exit::Exit;
use crate::flags::{Flags, GenerateFlags, Generated};
use crate::output;
use crate::problem::Problem;
use clap::CommandFactory;
use std::io::{self, Write};

/// Prints it on standard output.
pub fn generate(flags: &GenerateFlags) -> Result<Exit, Problem> {
    let mut command = Flags::command();
    let mut text = Vec::new();
    match flags.what {
        Generated::Completions { shell } => {
            clap_complete::generate(shell, &mut command, "farfield", &mut text)
        }
        Generated::Man => man(command, &mut text).map_err(Problem::failed)?,
        Generated::Schema => text = pretty(&farfield_measure::summary::summary_schema()),
        Generated::CapacitySchema => text = pretty(&farfield_experiment::report::schema()),
        Generated::SweepSchema => text = pretty(&farfield_experiment::sweep::report::schema()),
        Generated::VerifySchema => text = pretty(&farfield_verify::schema()),
    }
    output::put(&String::from_utf8(text).expect("all of it is text"))?;
    Ok(Exit::Fine)
}

fn pretty(schema: &serde_json::Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(schema).expect("a schema is JSON");
    text.push(b'\n');
    text
}

/// One page for the program and its commands: there are no other pages that it could refer to.
fn man(command: clap::Command, to: &mut Vec<u8>) -> io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    page.render_title(to)?;
    page.render_name_section(to)?;
    page.render_synopsis_section(to)?;
    page.render_description_section(to)?;
    page.render_options_section(to)?;
    sections(&command, "farfield", to)?;
    page.render_version_section(to)
}

/// A section for each command below `command`, whose whole name is `name`.
fn sections(command: &clap::Command, name: &str, to: &mut Vec<u8>) -> io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let name = format!("{name} {}", sub.get_name());
        let page = clap_mangen::Man::new(sub.clone());
        writeln!(to, ".SH \"{}\"", name.to_uppercase())?;
        page.render_description_section(to)?;
        page.render_options_section(to)?;
        sections(sub, &name, to)?;
    }
    Ok(())
}
