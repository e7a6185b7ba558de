//! `farfield` without a command: the tool shows itself on its own server.

use crate::commands::report::shown;
use crate::commands::run::{Done, drive};
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::output;
use crate::problem::Problem;
use crate::scenario;
use std::path::Path;

const SCENARIO: &str = include_str!("../../../../scenarios/tour.toml");

/// Makes the tour.
pub fn tour() -> Result<Exit, Problem> {
    output::put(
        "farfield starts its own server on a free port of this machine, and sends it visitors for ten\n\
         seconds: sessions arrive as they please, read a few pages with six connections, and leave.\n\n",
    )?;
    let scenario = scenario::from_text(SCENARIO, None, &RunFlags::default())?;
    let Done { summary, directory, exit } = drive(scenario, Path::new(""), false)?;
    output::put(&shown(&summary, &directory))?;
    output::put(&format!(
        "\nNext, your own server:  farfield run http://127.0.0.1:8080/ -R 500 -d 30s\n\
         your own scenario:      take {}/scenario.toml, change it,\n\
         \x20                       farfield run scenario.toml\n",
        directory.display()
    ))?;
    Ok(exit)
}
