//! Defaults in the words of flags: a flag that is short for a key has the default of that key, as a scenario
//! that says nothing has it.

use crate::flags::scenario::{LoadFlags, ResultFlags, ScenarioFlags};
use clap::{Arg, ArgAction, Command};
use farfield_origin::OriginConfig;
use farfield_scenario::Scenario;
use toml::Value;

/// The command whose flags are keys of the table `origin`.
const SERVE: &str = "serve";

/// `command`, in which each flag that is short for a key says its default, but where its own words do.
pub fn with_defaults(command: Command) -> Command {
    let scenario = Value::try_from(Scenario::default()).ok();
    let origin = Value::try_from(OriginConfig::default()).ok();
    let keys: Vec<(&str, &str)> =
        [ScenarioFlags::GROUPS, &[LoadFlags::KEYS, ResultFlags::KEYS]].concat().concat();
    let of_key = |flag: &str| {
        let key = keys.iter().find(|(own, _)| *own == flag)?.1;
        let value = key.split('.').try_fold(scenario.as_ref()?, |value, key| value.get(key))?;
        in_words(value)
    };
    let of_server = |flag: &str| in_words(origin.as_ref()?.get(flag.replace('_', "-"))?);
    said(command, &|command, flag| if command == SERVE { of_server(flag) } else { of_key(flag) })
}

fn said(command: Command, default: &dyn Fn(&str, &str) -> Option<String>) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|flag| {
        let found = default(&name, flag.get_id().as_str());
        match found.filter(|_| takes_value(&flag) && !says_default(&flag)) {
            Some(found) => with_words(flag, &format!("[default: {found}]")),
            None => flag,
        }
    });
    command.mut_subcommands(|command| said(command, default))
}

/// True if a flag has a value, and is not there only for help.
pub fn takes_value(flag: &Arg) -> bool {
    matches!(flag.get_action(), ArgAction::Set | ArgAction::Append)
}

/// True if a flag says what holds where it is absent.
pub fn says_default(flag: &Arg) -> bool {
    let all = [flag.get_help(), flag.get_long_help()].into_iter().flatten().map(ToString::to_string);
    let has = |text: &str| ["default", "absent", "may be repeated"].iter().any(|word| text.contains(word));
    flag.is_required_set()
        || !flag.get_default_values().is_empty()
        || all.into_iter().any(|text| has(&text.to_lowercase()))
}

fn with_words(flag: Arg, words: &str) -> Arg {
    let with = |text: String| match text.split_once("\n\n") {
        Some((first, rest)) => format!("{first} {words}\n\n{rest}"),
        None => format!("{text} {words}"),
    };
    let short = flag.get_help().map(|text| with(text.to_string()));
    let long = flag.get_long_help().map(|text| with(text.to_string()));
    let flag = match short {
        Some(text) => flag.help(text),
        None => flag,
    };
    match long {
        Some(text) => flag.long_help(text),
        None => flag,
    }
}

/// A value as the command line takes it; none of a table or an empty list.
fn in_words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Some(value.to_string()),
        _ => None,
    }
}
