//! Real programs beside the users, a line each.

use super::{COLUMNS, LABEL, fit, labelled};
use crate::figures::{count, time};
use farfield_measure::summary::{NetworkSummary, ProgramSummary};

/// Programs that have a line each; a line counts the others.
const PROGRAMS: usize = 4;

pub(super) fn programs(network: &NetworkSummary) -> Vec<String> {
    let programs = &network.programs;
    let line = |(nth, program): (usize, &ProgramSummary)| {
        let label = if nth == 0 { "beside" } else { "" };
        labelled(label, &fit(&in_words(program), COLUMNS - LABEL))
    };
    let mut lines: Vec<String> = programs.iter().take(PROGRAMS).enumerate().map(line).collect();
    if programs.len() > PROGRAMS {
        lines.push(labelled("", &format!("and {} more programs", programs.len() - PROGRAMS)));
    }
    lines
}

/// A program's end, and its packets: the command, which may be long, comes last.
fn in_words(program: &ProgramSummary) -> String {
    let ended = match (program.code, program.ended_ns) {
        _ if program.cut_off => "cut off".to_owned(),
        (Some(code), Some(at)) => format!("exit {code} after {}", time(at)),
        _ => "to the end".to_owned(),
    };
    let command = program.command.as_deref().unwrap_or("the shell");
    let [up, down] = [program.packets.up, program.packets.down].map(count);
    format!("{}: {ended}; {up} packets up, {down} down; {command}", program.class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::HostCounts;

    fn program() -> ProgramSummary {
        ProgramSummary {
            class: "home".into(),
            address: "198.18.0.1".into(),
            command: Some("curl -s http://server/".into()),
            log: Some("program-1.log".into()),
            code: None,
            ended_ns: None,
            packets: HostCounts { up: 1_200, down: 4, ..HostCounts::default() },
            lateness: None,
            cut_off: false,
        }
    }

    #[test]
    fn a_program_is_known_by_its_class_its_end_and_its_command() {
        let to_the_end = in_words(&program());
        assert_eq!(to_the_end, "home: to the end; 1,200 packets up, 4 down; curl -s http://server/");
        let ended = ProgramSummary { code: Some(7), ended_ns: Some(1_250_000_000), ..program() };
        assert!(in_words(&ended).starts_with("home: exit 7 after 1.25"), "{}", in_words(&ended));
        let shell = ProgramSummary { command: None, cut_off: true, ..program() };
        assert!(in_words(&shell).starts_with("home: cut off; "), "{}", in_words(&shell));
    }
}
