//! `farfield generate`: completions and man pages, which packagers ship beside the program; `farfield
//! schema`: the schemas of what farfield reads and writes.

use crate::exit::Exit;
use crate::flags::{GenerateFlags, Generated, SchemaFlags, Schematic};
use crate::help;
use crate::help::reference;
use crate::output;
use crate::problem::Problem;
use serde_json::Value;

/// Prints it on standard output.
pub fn generate(flags: &GenerateFlags) -> Result<Exit, Problem> {
    let mut text = Vec::new();
    match &flags.what {
        Generated::Completions { shell } => {
            clap_complete::generate(*shell, &mut help::command(), "farfield", &mut text)
        }
        Generated::Man { command } => {
            let page = help::manual::page(command);
            let page =
                page.ok_or_else(|| Problem::usage(format!("there is no command `{}`", command.join(" "))))?;
            text = page.map_err(Problem::failed)?;
        }
        Generated::Commands => {
            let lines = help::manual::pages().into_iter().map(|path| path.join(" ") + "\n");
            text = lines.collect::<String>().into_bytes();
        }
    }
    output::put(&String::from_utf8(text).expect("all of it is text"))?;
    Ok(Exit::Fine)
}

/// Prints the JSON schema of a document.
pub fn schema(flags: &SchemaFlags) -> Result<Exit, Problem> {
    let schema = match flags.of {
        Schematic::Scenario => {
            let described = reference::of_keys();
            farfield_scenario::schema::schema(&|key| reference::described(&described, key))
        }
        Schematic::Summary => farfield_measure::summary::summary_schema(),
        Schematic::Capacity => farfield_experiment::report::schema(),
        Schematic::Sweep => farfield_experiment::sweep::report::schema(),
        Schematic::Verify => farfield_verify::schema(),
    };
    output::put(&pretty(&schema))?;
    Ok(Exit::Fine)
}

fn pretty(schema: &Value) -> String {
    serde_json::to_string_pretty(schema).expect("a schema is JSON") + "\n"
}
