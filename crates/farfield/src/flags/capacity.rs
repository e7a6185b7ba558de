//! The flags of `farfield capacity`.

use super::Format;
use super::heading::{LOAD, OUTPUT};
use super::keys::keyed;
use super::on::OnFlags;
use super::scenario::ScenarioFlags;
use super::values::count;
use clap::{Args, ValueEnum, ValueHint};
use farfield_scenario::Overlay;
use std::path::PathBuf;

/// The heading of flags of the search itself.
const SEARCH: &str = "Search";

keyed! {
    /// The parts of the load that are not searched for.
    #[command(next_help_heading = LOAD)]
    pub struct TrialLoadFlags {
        /// Users of a closed load: of the first trial, as --from; the scenario's if absent
        #[arg(short = 'c', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
        users: Option<u32> => "load.users",
        /// Think time: from the end of a page to the user's next
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        think: Option<String> => "load.think",
    }
}

/// `farfield capacity`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Exit codes:\n  \
    0    the capacity was found\n  \
    3    it was not: the generator was full before the server, no load kept the goals, or time was short\n  \
    130  interrupted; the same command with --out goes on from there\n\n\
Examples:\n  \
    farfield capacity http://127.0.0.1:8080/ --slo 'p99<200ms,errors<0.1%'\n  \
    farfield capacity shop.toml --slo 'p99<1s' --budget 5m --out shop-capacity\n  \
    farfield capacity http://127.0.0.1:8080/ --peak\n  \
    farfield capacity shop.toml --peak=bytes")]
pub struct CapacityFlags {
    /// A URL, or a scenario file, whose load is raised
    ///
    /// Arrivals are raised where they come by themselves, and users of a closed load.
    #[arg(value_name = "URL|SCENARIO", value_hint = ValueHint::FilePath)]
    pub what: String,
    /// Find the highest load that keeps these thresholds: 'p99<1s,errors<1%'; --peak if absent
    ///
    /// Thresholds, with commas between.
    #[arg(long, value_name = "GOALS", conflicts_with = "peak")]
    pub slo: Option<String>,
    /// Find the most that the server gives at any load: --peak=requests, or bytes; --slo if absent
    ///
    /// Successful replies a second, or bytes of their bodies; requests if alone.
    #[arg(long, value_enum, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "requests")]
    pub peak: Option<PeakOf>,

    #[command(flatten)]
    pub search: SearchFlags,
    #[command(flatten, next_help_heading = SEARCH)]
    pub on: OnFlags,
    #[command(flatten)]
    pub load: TrialLoadFlags,
    #[command(flatten)]
    pub scenario: ScenarioFlags,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    pub format: Format,
    /// Print no progress
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
}

/// The throughput whose maximum `--peak` finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PeakOf {
    /// Successful replies a second.
    Requests,
    /// Bytes of bodies a second.
    Bytes,
}

/// Where a search looks, and for how long.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = SEARCH)]
pub struct SearchFlags {
    /// The load of the first trial; the scenario's if absent
    ///
    /// Arrivals a second, or users.
    #[arg(long, value_name = "LOAD")]
    pub from: Option<String>,
    /// The highest load that is tried; no limit if absent
    #[arg(long, value_name = "LOAD")]
    pub to: Option<String>,
    /// The highest load that the generator can offer (`farfield doctor --limit`); no limit if absent
    ///
    /// It is not exceeded, and what the server does beyond is not said.
    #[arg(long, hide_short_help = true, value_name = "LOAD")]
    pub generator_limit: Option<String>,
    /// The time for all trials
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub budget: String,
    /// Half-width of the interval that is good enough
    ///
    /// As a share of the capacity.
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub precision: String,
    /// Length of a full trial's measured part; by default about budget / 30
    ///
    /// By default at least twenty times the longest time among the goals, as far as a twelfth of the budget
    /// has room for that; in virtual time the scenario's.
    #[arg(short = 'd', long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Length of each trial's warm-up; the scenario's, or found from trials, if absent
    ///
    /// It is a quarter of the measured part at first, and longer where trials show that response times settle
    /// later.
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<String>,
    /// The folder of trials; farfield-runs/TIME-NAME-capacity if absent
    ///
    /// Each trial is a run directory. Trials that are in it are not made again.
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}

impl CapacityFlags {
    /// The keys that the flags lay over a scenario, in each trial.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::default();
        self.load.lay(&mut overlay);
        self.scenario.lay(&mut overlay);
        overlay
    }
}

#[cfg(test)]
mod tests {
    use super::TrialLoadFlags;
    use crate::flags::scenario::LoadFlags;
    use crate::flags::{Command, Flags};
    use clap::Parser;
    use farfield_scenario::Overlay;

    fn overlay(words: &[&str]) -> Overlay {
        match Flags::try_parse_from(words).expect("flags").command {
            Some(Command::Run(flags)) => flags.overlay(),
            Some(Command::Capacity(flags)) => flags.overlay(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_of_the_load_are_those_of_a_run() {
        assert!(TrialLoadFlags::KEYS.iter().all(|flag| LoadFlags::KEYS.contains(flag)));
    }

    /// Flags of all kinds come to the same scenario in a trial.
    #[test]
    fn the_words_of_an_overlay_lay_the_same() {
        let words = "-c 7 --think 2s -k --source 127.0.0.1 --source 127.0.0.2 --resolve a:443:127.0.0.1 \
                     --processors 0,1 -X POST -H A:b --body text --seed 5 --set run.drain=2s";
        let given: Vec<&str> =
            ["farfield", "capacity", "https://a/", "--peak"].into_iter().chain(words.split(' ')).collect();
        let given = overlay(&given);
        let words = given.words();
        let again: Vec<&str> =
            ["farfield", "run"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let plan = |overlay: &Overlay| {
            let plan = farfield_scenario::from_url("https://a/", overlay).expect("a plan");
            plan.scenario().to_toml()
        };
        assert_eq!(plan(&overlay(&again)), plan(&given));
        assert!(plan(&given).contains("users = 7"));
    }
}
