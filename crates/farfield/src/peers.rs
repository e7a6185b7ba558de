//! Words of other load generators: those that mean the same as a flag of farfield's are taken for it, and for
//! the others a sentence says what to write.
//!
//! They are looked at where a command line is refused, so that no word of farfield's own changes its meaning.
//! The words are those of ab, autocannon, bombardier, curl, h2load, hey, k6, Locust, oha, vegeta and wrk.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;
use std::path::Path;

/// Words that are put in place of others at most, before farfield gives up.
const WORDS_MAX: usize = 100;
/// Commands that load a server.
const LOADING: [&str; 4] = ["run", "capacity", "sweep", "try"];
/// Words that other programs write with one dash.
const ONE_DASH: [&str; 13] = [
    "-rate",
    "-duration",
    "-header",
    "-body",
    "-timeout",
    "-connections",
    "-insecure",
    "-workers",
    "-max-workers",
    "-keepalive",
    "-disable-keepalive",
    "-h2",
    "-disable-compression",
];

/// The remedy for a command line that was refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The command line is to be read with these words.
    Words(Vec<OsString>),
    /// The user is to read this sentence.
    Sentence(String),
    /// Nothing is known of it.
    None,
}

/// The meaning of a word of another program.
enum Translation {
    /// A flag with the same value.
    Flag(&'static str),
    /// Words with the value in place of `{}`, and without one where there is none.
    Words(&'static [&'static str]),
    /// A header field with the value in place of `{}`.
    Header(&'static str),
    /// A word for what is done anyway.
    Always,
    /// Something else; a sentence.
    Sentence(&'static str),
}

use Translation::{Always, Flag, Header, Sentence};

/// The words, each with its meaning.
const MEANINGS: &[(&str, Translation)] = &[
    // oha, hey
    ("-z", Flag("--duration")),
    ("--run-time", Flag("--duration")),
    ("--time", Flag("--duration")),
    // k6, Locust
    ("--vus", Flag("--users")),
    // bombardier, autocannon, wrk
    ("--connections", Flag("--users")),
    ("--concurrency", Flag("--users")),
    ("--rps", Flag("--rate")),
    ("--qps", Flag("--rate")),
    ("--overallRate", Flag("--rate")),
    ("--data", Flag("--body")),
    ("--data-raw", Flag("--body")),
    ("--data-binary", Flag("--body")),
    ("--request", Flag("--method")),
    ("--threads", Flag("--workers")),
    ("--warm-up-time", Flag("--warm-up")),
    ("--warmup", Flag("--warm-up")),
    ("--http-version", Flag("--http")),
    ("--http1.1", Translation::Words(&["--http=1.1"])),
    ("--http2", Translation::Words(&["--http=2"])),
    ("--h2", Translation::Words(&["--http=2"])),
    ("--http3", Translation::Words(&["--http=3"])),
    ("--no-keepalive", Translation::Words(&["--policy=one-request"])),
    ("--disable-keepalive", Translation::Words(&["--policy=one-request"])),
    ("--no-tui", Translation::Words(&["--plain"])),
    ("--headless", Translation::Words(&["--plain"])),
    ("--accept", Header("Accept: {}")),
    ("--content-type", Header("Content-Type: {}")),
    ("--user-agent", Header("User-Agent: {}")),
    ("--cookie", Header("Cookie: {}")),
    ("-C", Header("Cookie: {}")),
    ("-T", Header("Content-Type: {}")),
    ("--disable-compression", Translation::Words(&["--header=Accept-Encoding: identity"])),
    ("--latency", Always),
    ("--latencies", Always),
    ("-l", Always),
    (
        "--iterations",
        Sentence("`--iterations`: for a number of requests write `-n`, for one of sessions `--sessions`"),
    ),
    ("-i", Sentence("`-i`: for a number of requests write `-n`, for one of sessions `--sessions`")),
    ("--stage", Sentence("`--stage`: write all in one, as in `--stages 1m:10,5m:10,1m:0`")),
    (
        "-r",
        Sentence(
            "`-r`: a rate of requests is `-R 100`, users who come in one after the other are `load.ramp`",
        ),
    ),
    (
        "--spawn-rate",
        Sentence("`--spawn-rate`: users who come in one after the other are `--set load.ramp=10s`"),
    ),
    (
        "-s",
        Sentence(
            "`-s`: there are no scripts; what users do in turn is a [session] of a scenario, see docs/sessions.md",
        ),
    ),
    (
        "--script",
        Sentence("`--script`: what users do in turn is a [session] of a scenario, see docs/sessions.md"),
    ),
    (
        "-p",
        Sentence(
            "`-p`: requests at once on a connection are `--policy pipelined`, a body from a file is `--body @FILE`",
        ),
    ),
    (
        "--pipelining",
        Sentence("`--pipelining`: write `--policy pipelined`, and `--set connections.pipeline-depth=8`"),
    ),
    ("-b", Sentence("`-b`: a body is `--body TEXT`, a cookie is `-H 'Cookie: name=value'`")),
    ("-A", Sentence("`-A`: write the header, such as -H 'Accept: text/html' or -H 'Authorization: Basic …'")),
    ("-j", Sentence("`-j`: write `--format json`")),
    ("--json", Sentence("`--json`: write `--format json`")),
    (
        "--output",
        Sentence(
            "`--output`: the run directory is `--out DIRECTORY`, JSON on standard output `--format json`",
        ),
    ),
    ("--output-format", Sentence("`--output-format`: write `--format json`")),
    (
        "--summary-export",
        Sentence(
            "`--summary-export`: `--format json` prints the summary, which is summary.json in the run directory",
        ),
    ),
    ("--workers-max", Sentence("an open load has as many users as it needs; `--users` bounds them")),
    (
        "--max-workers",
        Sentence("`--max-workers`: an open load has as many users as it needs; `--users` bounds them"),
    ),
    (
        "--targets",
        Sentence(
            "`--targets`: several requests are a scenario's, see docs/scenario.md; a file of another program is read by `farfield import`",
        ),
    ),
    ("--host", Sentence("`--host`: the URL is the first word; another Host field is `-H 'Host: name'`")),
    ("--no-color", Sentence("`--no-color`: set NO_COLOR=1 in the environment")),
    (
        "--keepalive",
        Sentence("`--keepalive`: connections are kept; `--policy one-request` closes each after its reply"),
    ),
];

/// Words for which another program has a command of its own.
const COMMANDS: &[(&[&str], &str)] = &[
    (
        &["find", "search", "max", "--max", "--max-rate", "--find", "--search", "--capacity"],
        "`farfield capacity` finds the highest load that a server takes",
    ),
    (&["attack", "load", "bench", "benchmark", "start", "test"], "to load a server write `farfield run URL`"),
    (&["diff"], "write `farfield compare RUN RUN`"),
    (&["list", "ls", "history"], "write `farfield runs`"),
    (
        &["replay", "--log", "--access-log", "--replay"],
        "`farfield run access.log --target URL` sends a log again, and `farfield fit access.log` makes a model of it",
    ),
    (
        &["login", "--login"],
        "`farfield record URL` makes a session of what you do in a browser; see docs/tutorials/login.md",
    ),
    (
        &["--html"],
        "each run has a page, report.html in its directory; `farfield report RUN --format html` prints it",
    ),
    (&["--csv"], "`farfield report RUN --format csv` prints a row for each request"),
    (&["--docker", "--podman"], "a server in a container is `--container NAME`"),
    (
        &["--fail-if"],
        "a bound on a run is `--threshold 'p99<50ms'`; `--fail-if` is one on `farfield compare`",
    ),
];

/// Words of one dash that other programs write, with two.
pub fn with_two_dashes(words: Vec<OsString>) -> Vec<OsString> {
    let is_known = |word: &str| {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        ONE_DASH.contains(&name)
    };
    let put = |word: OsString| match word.to_str() {
        Some(text) if is_known(text) => OsString::from(format!("-{text}")),
        _ => word,
    };
    words.into_iter().map(put).collect()
}

/// The remedy for `words`, which clap refused with `error`.
pub fn remedy(words: &[OsString], error: &clap::Error) -> Remedy {
    if words.len() > WORDS_MAX {
        return Remedy::None;
    }
    let refused = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let refused = refused.into_iter().find_map(|kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    });
    let Some(refused) = refused else { return Remedy::None };
    let command = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    if !LOADING.contains(&command) {
        return without_command(words, command, refused);
    }
    if let Some((_, sentence)) = COMMANDS.iter().find(|(others, _)| others.contains(&refused)) {
        return Remedy::Sentence(format!("`{refused}`: {sentence}"));
    }
    let texts: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if texts.windows(2).any(|pair| pair[0] == "-q" && pair[1].parse::<f64>().is_ok()) {
        return Remedy::Sentence(
            "`-q`: it is short for --quiet here; a rate of requests is `-R 100`".to_owned(),
        );
    }
    in_place(words, &texts, refused)
}

/// A URL or a scenario in the place of a command is run; other words are those of another program.
fn without_command(words: &[OsString], command: &str, refused: &str) -> Remedy {
    let is_url = |word: &&OsString| word.to_str().is_some_and(|text| text.contains("://"));
    let is_scenario = command.ends_with(".toml") && Path::new(command).is_file();
    let is_flag = command.starts_with('-') && words.iter().any(|word| is_url(&word));
    if command.contains("://") || is_scenario || is_flag {
        let mut words = words.to_vec();
        words.insert(1, "run".into());
        return Remedy::Words(words);
    }
    match COMMANDS.iter().find(|(others, _)| others.contains(&refused)) {
        Some((_, sentence)) => Remedy::Sentence(format!("`{refused}`: {sentence}")),
        None => Remedy::None,
    }
}

/// The remedy that has other words in place of the refused one.
fn in_place(words: &[OsString], texts: &[&str], refused: &str) -> Remedy {
    let is_short = refused.len() == 2 && !refused.starts_with("--");
    let begins = |text: &str| match text.strip_prefix(refused) {
        Some("") => true,
        Some(rest) => rest.starts_with('=') || is_short,
        None => false,
    };
    let Some(at) = texts.iter().position(|text| begins(text)) else { return Remedy::None };
    let attached = texts[at].strip_prefix(refused).map(|rest| rest.strip_prefix('=').unwrap_or(rest));
    let attached = attached.filter(|rest| !rest.is_empty()).map(str::to_owned);
    // One that is attached is no word of its own.
    let next = texts.get(at + 1).filter(|next| !next.starts_with('-')).map(|next| (*next).to_owned());
    let (value, takes) = match attached {
        Some(value) => (Some(value), 1),
        None => (next, 2),
    };
    let put = |new: Vec<String>, takes: usize| {
        let end = (at + takes).min(words.len());
        let new = new.into_iter().map(OsString::from);
        Remedy::Words(words[..at].iter().cloned().chain(new).chain(words[end..].iter().cloned()).collect())
    };
    let sentence = |text: &str| Remedy::Sentence(text.to_owned());
    if let (Some(words), Some(value)) = (by_value(refused, value.as_deref()), &value) {
        return match words {
            Ok(word) => put(vec![word.replace("{}", value)], takes),
            Err(text) => sentence(text),
        };
    }
    let Some((_, meaning)) = MEANINGS.iter().find(|(word, _)| *word == refused) else { return Remedy::None };
    match (meaning, value) {
        (Flag(flag), Some(value)) => put(vec![format!("{flag}={value}")], takes),
        (Header(field), Some(value)) => put(vec![format!("--header={}", field.replace("{}", &value))], takes),
        (Flag(flag), None) => Remedy::Sentence(format!("`{refused}` needs a value, as `{flag}` does")),
        (Header(field), None) => {
            Remedy::Sentence(format!("`{refused}` needs a value: -H '{field}'").replace("{}", "…"))
        }
        (Translation::Words(new), _) => put(new.iter().map(|word| (*word).to_owned()).collect(), 1),
        (Always, _) => put(Vec::new(), 1),
        (Sentence(text), _) => sentence(text),
    }
}

/// Words whose meaning is seen by their values: the word with the value in place of `{}`, or a sentence.
fn by_value(word: &str, value: Option<&str>) -> Option<Result<String, &'static str>> {
    let value = value?;
    let is_number = value.parse::<f64>().is_ok();
    Some(match word {
        "-m" if is_number => Err("`-m`: streams of a connection are `--set connections.streams=10`"),
        "-m" => Ok("--method={}".to_owned()),
        "-u" if is_number => Ok("--users={}".to_owned()),
        "-u" | "-a" | "--user" | "--basic-auth" if value.contains(':') => {
            Ok(format!("--header=Authorization: Basic {}", STANDARD.encode(value)))
        }
        "-a" if is_number => Ok("--requests={}".to_owned()),
        "--timeout" if is_number => Ok("--set=connections.request-timeout={}s".to_owned()),
        "--timeout" => Ok("--set=connections.request-timeout={}".to_owned()),
        "-D" if is_number || value.ends_with('s') && !Path::new(value).exists() => {
            Ok("--duration={}".to_owned())
        }
        "-D" | "--body-file" => Ok("--body=@{}".to_owned()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Command, Flags};
    use clap::Parser;

    /// The words that are read in the end, or the sentence.
    fn read(line: &str) -> Result<Vec<String>, String> {
        let mut words: Vec<OsString> =
            with_two_dashes(line.split(' ').map(|word| word.replace('_', " ").into()).collect());
        loop {
            let Err(error) = Flags::try_parse_from(&words) else {
                return Ok(words.into_iter().map(|word| word.into_string().expect("UTF-8")).collect());
            };
            match remedy(&words, &error) {
                Remedy::Words(others) => words = others,
                Remedy::Sentence(sentence) => return Err(sentence),
                Remedy::None => return Err("unknown".to_owned()),
            }
        }
    }

    /// Words typed by people who know another tool, and their equivalents here.
    #[test]
    fn words_of_others_are_taken_for_flags() {
        for (typed, here) in [
            ("farfield http://a/", "farfield run http://a/"),
            ("farfield -c 9 http://a/", "farfield run -c 9 http://a/"),
            ("farfield run http://a/ -z 3s", "farfield run http://a/ --duration=3s"),
            ("farfield run http://a/ -z3s", "farfield run http://a/ --duration=3s"),
            ("farfield http://a/ --vus 9 --rps=5", "farfield run http://a/ --users=9 --rate=5"),
            ("farfield run -rate=50 http://a/", "farfield run --rate=50 http://a/"),
            (
                "farfield run -rate 50 -duration 5s http://a/",
                "farfield run --rate 50 --duration 5s http://a/",
            ),
            ("farfield run http://a/ --connections 3", "farfield run http://a/ --users=3"),
            ("farfield run http://a/ --http2 -c 5", "farfield run http://a/ --http=2 -c 5"),
            ("farfield run -h2 http://a/", "farfield run --http=2 http://a/"),
            ("farfield run http://a/ -m POST --data x", "farfield run http://a/ --method=POST --body=x"),
            (
                "farfield run http://a/ -T text/plain",
                "farfield run http://a/ --header=Content-Type:_text/plain",
            ),
            (
                "farfield run http://a/ -a me:secret",
                "farfield run http://a/ --header=Authorization:_Basic_bWU6c2VjcmV0",
            ),
            (
                "farfield run http://a/ -u me:secret",
                "farfield run http://a/ --header=Authorization:_Basic_bWU6c2VjcmV0",
            ),
            ("farfield run http://a/ -u 10", "farfield run http://a/ --users=10"),
            (
                "farfield run http://a/ --timeout 3",
                "farfield run http://a/ --set=connections.request-timeout=3s",
            ),
            ("farfield run http://a/ --no-keepalive", "farfield run http://a/ --policy=one-request"),
            ("farfield run --latency http://a/", "farfield run http://a/"),
            ("farfield run http://a/ -D 5", "farfield run http://a/ --duration=5"),
        ] {
            let here: Vec<String> = here.split(' ').map(|word| word.replace('_', " ")).collect();
            assert_eq!(read(typed), Ok(here), "{typed}");
        }
    }

    #[test]
    fn what_means_something_else_is_said_in_a_sentence() {
        for (typed, part) in [
            ("farfield run http://a/ -q 100", "`-q`: it is short for --quiet here"),
            ("farfield run http://a/ -m 10", "connections.streams"),
            ("farfield run http://a/ --stage 1m:10", "`--stage`"),
            ("farfield run http://a/ --html", "report.html"),
            ("farfield run http://a/ --csv", "--format csv"),
            ("farfield run http://a/ -s a.lua", "docs/sessions.md"),
            ("farfield attack", "`farfield run URL`"),
            ("farfield find", "`farfield capacity`"),
            ("farfield replay access.log http://a/", "`farfield run access.log --target URL`"),
            ("farfield run http://a/ --log access.log", "`farfield run access.log --target URL`"),
            ("farfield run http://a/ --docker web", "`--container NAME`"),
            ("farfield run http://a/ --fail-if p99<50ms", "`--threshold 'p99<50ms'`"),
            ("farfield report a --html", "--format html"),
            ("farfield report a --csv", "--format csv"),
            ("farfield login", "`farfield record URL`"),
            ("farfield run --max", "`farfield capacity`"),
            ("farfield run http://a/ --vus", "needs a value"),
            ("farfield run http://a/ --nothing", "unknown"),
            ("farfield nothing", "unknown"),
        ] {
            let sentence = read(typed).expect_err(typed);
            assert!(sentence.contains(part), "{typed}: {sentence}");
            assert_eq!(sentence.lines().count(), 1);
        }
    }

    /// No word that farfield has is among those of others, or it would never be looked up.
    #[test]
    fn no_word_of_farfields_own_is_another_programs() {
        use clap::CommandFactory;
        let command = Flags::command();
        let run = command.find_subcommand("run").expect("run");
        let own: Vec<String> = run
            .get_arguments()
            .flat_map(|arg| {
                let long = arg.get_long().map(|long| format!("--{long}"));
                long.into_iter().chain(arg.get_short().map(|short| format!("-{short}")))
            })
            .collect();
        for (word, meaning) in MEANINGS {
            assert!(!own.contains(&(*word).to_owned()), "{word}");
            if let Flag(flag) = meaning {
                assert!(own.contains(&(*flag).to_owned()), "{flag}");
            }
        }
        assert!(matches!(
            Flags::try_parse_from(["farfield", "run", "-d", "3"]).expect("flags").command,
            Some(Command::Run(_))
        ));
    }
}
