//! `farfield` without a command: the tool shows itself, with people across a WAN before its own server.

use crate::commands::report::shown;
use crate::commands::run::{CompletedRun, drive};
use crate::exit::Exit;
use crate::flags::verbose::VerboseFlags;
use crate::output;
use crate::problem::Problem;
use crate::progress::ProgressDisplay;
use farfield_scenario::Overlay;
use std::path::Path;

/// The scenario with clients across a WAN.
const FAR: &str = include_str!("../../../../scenarios/wan.toml");
/// The scenario over the kernel's own sockets, for machines that allow no network namespace.
const NEAR: &str = include_str!("../../../../scenarios/tour.toml");

/// Runs the tour.
pub fn tour() -> Result<Exit, Problem> {
    output::put(
        "farfield starts its own server in a network namespace, and sends it visitors from far away for ten\n\
         seconds: a thousand clients on fibre, DSL, phones and a satellite, each with an address and a TCP.\n\n",
    )?;
    let CompletedRun { summary, directory, exit } = match show(FAR) {
        Err(problem) if problem.is_forbidden() => {
            output::put(&format!(
                "This machine does not allow that: {problem}\n\
                 So the visitors come over this machine's own sockets, from near by.\n\n"
            ))?;
            show(NEAR)?
        }
        shown => shown?,
    };
    output::put_coloured(&shown(&summary, &directory, VerboseFlags::default()))?;
    let farfield = invocation();
    output::put(&format!(
        "\nNext, your own server:  {farfield} run http://127.0.0.1:8080/ -R 500 -d 30s\n\
         the same from far away: {farfield} run --server 'nginx -g \"daemon off;\"' --rtt 80ms -R 500 -d 30s\n\
         your own scenario:      take {}/scenario.toml, change it,\n\
         \x20                       {farfield} run scenario.toml\n",
        directory.display()
    ))?;
    Ok(exit)
}

/// The command that started this program, for the reader to use again: it need not be in the shell's path.
fn invocation() -> String {
    let typed = std::env::args_os().next().unwrap_or_else(|| "farfield".into());
    let by_cargo = std::env::var_os("CARGO_MANIFEST_DIR").is_some();
    invocation_of(&typed.to_string_lossy(), by_cargo)
}

fn invocation_of(typed: &str, by_cargo: bool) -> String {
    match Path::new(typed).parent().and_then(Path::file_name).and_then(|folder| folder.to_str()) {
        Some("release") if by_cargo => "cargo run --release --".to_owned(),
        Some("debug") if by_cargo => "cargo run --".to_owned(),
        _ if typed.contains(' ') => format!("'{typed}'"),
        _ => typed.to_owned(),
    }
}

fn show(text: &str) -> Result<CompletedRun, Problem> {
    drive(farfield_scenario::from_text(text, None, &Overlay::default())?, ProgressDisplay::Live.into())
}

#[cfg(test)]
mod tests {
    use super::invocation_of;

    #[test]
    fn the_command_is_shown_as_it_was_typed() {
        for (typed, by_cargo, shown) in [
            ("target/release/farfield", true, "cargo run --release --"),
            ("target/debug/farfield", true, "cargo run --"),
            ("target/release/farfield", false, "target/release/farfield"),
            ("./farfield", false, "./farfield"),
            ("farfield", false, "farfield"),
            ("/opt/my tools/farfield", false, "'/opt/my tools/farfield'"),
        ] {
            assert_eq!(invocation_of(typed, by_cargo), shown);
        }
    }
}
