//! Help of all commands fits, says defaults, and is complete; keys, checks and metrics are found.

use super::{LINES, command, defaults, short};
use crate::help::reference;
use clap::{Arg, Command};
use farfield_measure::Threshold;
use farfield_scenario::schema;
use std::collections::BTreeSet;

/// All commands with their names, built.
fn commands() -> Vec<(String, Command)> {
    fn collect(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        let path = format!("{path} {}", command.get_name());
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            collect(sub, &path, found);
        }
        found.push((path, command.clone()));
    }
    let mut all = command();
    all.build();
    let mut found = Vec::new();
    collect(&all, "", &mut found);
    found
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|flag| !flag.is_hide_set())
}

#[test]
fn short_help_of_every_command_is_one_screen() {
    let all = commands();
    assert!(all.len() > 25, "{}", all.len());
    for (name, mut command) in all {
        let text = short::render(&mut command, 100).to_string();
        let lines = text.lines().count();
        assert!(lines <= LINES, "{name} has {lines} lines:\n{text}");
        let widest = text.lines().max_by_key(|line| line.chars().count()).expect("a line");
        assert!(widest.chars().count() <= 100, "{name}: {widest}");
        for flag in shown(&command).filter_map(Arg::get_long) {
            assert!(text.contains(&format!("--{flag}")), "{name}: --{flag} is not named:\n{text}");
        }
    }
}

#[test]
fn every_flag_with_a_value_says_what_holds_without_it() {
    let mut silent = Vec::new();
    for (name, command) in commands() {
        let flags = shown(&command).filter(|flag| defaults::takes_value(flag));
        silent
            .extend(flags.filter(|flag| !defaults::says_default(flag)).map(|flag| format!("{name} {flag}")));
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn defaults_are_those_of_the_scenario() {
    let all = command();
    let run = all.find_subcommand("run").expect("a command");
    let words = |id: &str| {
        let flag = run.get_arguments().find(|flag| flag.get_id() == id).expect("a flag");
        flag.get_help().expect("help").to_string()
    };
    assert!(words("duration").ends_with("[default: 10s]"), "{}", words("duration"));
    assert!(words("users").ends_with("[default: 10]"), "{}", words("users"));
    assert!(words("plane").ends_with("[default: sockets]"), "{}", words("plane"));
}

/// Each key that a scenario takes is on the page, but for tables, whose keys are.
#[test]
fn each_key_has_help() {
    let (help, keys) = (reference::of_keys(), schema::keys());
    let is_table = |key: &str| keys.iter().any(|own| own.starts_with(&format!("{key}.")));
    let silent: BTreeSet<&String> = keys
        .iter()
        .filter(|key| !is_table(key))
        .filter(|key| reference::described(&help, key).is_none_or(|words| words.len() < 10))
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn metrics_of_conditions_are_metrics() {
    let entries = reference::metrics_of_conditions();
    assert!(entries.len() >= 6, "{entries:?}");
    for entry in entries {
        let value = match entry.cells[0].1.as_str() {
            "a time" => "1s",
            "a share" => "1%",
            "a rate" => "1/s",
            _ => "1",
        };
        for name in entry.names {
            assert!(format!("{name}<{value}").parse::<Threshold>().is_ok(), "{name}<{value}");
        }
    }
}

#[test]
fn checks_and_metrics_are_read_from_their_pages() {
    let checks = reference::checks();
    let named = |name: &str| checks.iter().find(|entry| entry.names.iter().any(|own| own == name));
    for name in ["completed", "server-silent", "departure-lateness", "arrival-lateness", "longest-stall"] {
        assert!(named(name).is_some_and(|entry| entry.cells.len() >= 2), "{name}");
    }
    assert!(reference::metrics().iter().any(|entry| entry.names[0] == "farfield_requests_total"));
    assert!(reference::tables().iter().any(|(name, title)| name == "load" && title == "the model of load"));
}
