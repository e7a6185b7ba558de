//! `farfield path`: the figures of paths, measured through them, beside what was asked for.

use crate::commands::run;
use crate::exit::Exit;
use crate::flags::path::PathFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::Duration;
use farfield_engine::path::{Goodput, GoodputFigures, PathError, PathReport, Profile, measure};
use farfield_engine::plane::{EmulatedNetwork, Plane};
use farfield_engine::shell::clients_of;
use farfield_engine::{Run, interrupt};
use farfield_measure::Quantile;
use farfield_report::figures;
use farfield_scenario::Prepared;
use farfield_testbed::gain_privilege;

/// A ping may be earlier than its path allows by that: two clocks are read.
const EARLY: Duration = Duration::from_us(100);
/// A ping may be later by that, or by [`LATE_SHARE`] if that is more: kernels and this machine take time.
const LATE: Duration = Duration::from_ms(1);
const LATE_SHARE: f64 = 0.02;
/// Losses may differ by as many standard deviations of independent ones.
const DEVIATIONS: f64 = 4.0;
/// Losses may also differ by so many whole outages, where they come as those.
const OUTAGES: f64 = 2.0;
/// Goodput may be above that of its link by this share: one segment more or less. What the path holds is
/// added.
const ABOVE: f64 = 0.02;

/// Measures the path of each class, or of the one that is named, and prints a table.
pub fn path(flags: &PathFlags) -> Result<Exit, Problem> {
    // Before anything that makes threads: a process of several cannot enter a user namespace.
    gain_privilege().map_err(Problem::forbidden)?;
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let scenario = flags.scenario.as_ref().map(|path| path.to_string_lossy().into_owned());
    let plan = run::read(scenario.as_deref(), &flags.overlay())?;
    let Prepared { run: Run { settings, plane }, .. } = plan.prepare(run::now_rfc3339())?;
    let Plane::Emulated(mut plane) = plane else {
        return Err(Problem::usage("a path needs an emulated network: leave `plane` out of the scenario"));
    };
    let all = || plane.network.plan.classes.iter().map(|class| Some(class.name.as_str())).collect();
    let classes: Vec<Option<&str>> = flags.class.as_deref().map_or_else(all, |class| vec![Some(class)]);
    let clients =
        clients_of(&plane.network, &classes).map_err(|error| Problem::usage(format!("--as: {error}")))?;
    let (limit, seed) = (settings.limits.departure_lateness_p99, settings.users.seed);
    let mut rows = Vec::new();
    for client in clients {
        let report = measure(&mut plane, client, seed, &stop).map_err(|error| match error {
            PathError::Testbed(error) => Problem::forbidden(error),
            PathError::Stopped => Problem::interrupted(error),
            PathError::Measure { .. } => Problem::failed(error),
        })?;
        rows.push((cells(&report), faults(&report, limit)));
    }
    let is_right = rows.iter().all(|(_, faults)| faults.is_empty());
    output::put(&(in_words(&rows) + &profiles_in_words(&plane.network)))?;
    Ok(if is_right { Exit::Fine } else { Exit::Invalid })
}

const HEADS: [&str; 11] = [
    "class",
    "round trip",
    "asked",
    "median",
    "lost",
    "asked",
    "hops",
    "asked",
    "to client",
    "asked",
    "to server",
];

/// The figures of a path, in the order of [`HEADS`] and one more: the goodput asked for to the server.
type Cells = [String; 12];

fn cells(report: &PathReport) -> Cells {
    let time = |time: Option<Duration>| time.map_or("-".to_owned(), |time| figures::time(time.as_ns()));
    let asked = &report.asked;
    let at_least = if asked.varies { "≥ " } else { "" };
    let goodput = |figures: GoodputFigures| match (figures.bits, figures.least_share) {
        (None, _) => "no limit".to_owned(),
        (Some(bits), Some(_)) => bit_rate(bits),
        (Some(bits), None) => format!("≤ {}", bit_rate(bits)),
    };
    [
        report.class.clone(),
        time(report.round_trips.first().copied()),
        format!("{at_least}{}", figures::time(asked.round_trip.as_ns())),
        time(report.round_trips.get(report.round_trips.len() / 2).copied()),
        figures::percent(lost(report)),
        figures::percent(asked.lost),
        report.hops.map_or("-".to_owned(), |hops| hops.to_string()),
        asked.hops.to_string(),
        bit_rate(report.down.bits),
        goodput(asked.down),
        bit_rate(report.up.bits),
        goodput(asked.up),
    ]
}

fn lost(report: &PathReport) -> f64 {
    1.0 - report.round_trips.len() as f64 / f64::from(report.pings)
}

/// Faults of a path, a sentence each.
fn faults(report: &PathReport, limit: Duration) -> Vec<String> {
    let asked = &report.asked;
    let mut faults = Vec::new();
    match report.round_trips.first() {
        None => faults.push("no ping came back".to_owned()),
        Some(least) => {
            let late = LATE.max(Duration::from_secs_f64(asked.round_trip.as_secs_f64() * LATE_SHARE));
            if *least + EARLY < asked.round_trip {
                faults
                    .push(format!("a ping took {}, less than the links take", figures::time(least.as_ns())));
            } else if !asked.varies && *least > asked.round_trip + late {
                faults.push(format!(
                    "no ping was faster than {}, {} more than the links take, where {} is allowed",
                    figures::time(least.as_ns()),
                    figures::time((*least - asked.round_trip).as_ns()),
                    figures::time(late.as_ns()),
                ));
            }
        }
    }
    let pings = f64::from(report.pings);
    let expected = pings * asked.lost;
    let missing = lost(report) * pings;
    let (allowed, slack) = lost_allowance(report);
    if (missing - expected).abs() > allowed + slack {
        faults.push(format!(
            "{missing:.0} of {pings:.0} pings were lost, where {expected:.1} were expected, give or take {allowed:.1}"
        ));
    }
    if report.hops != Some(asked.hops) {
        let hops = report.hops.map_or("none".to_owned(), |hops| hops.to_string());
        faults.push(format!("the server answers from hop {hops}, not {}", asked.hops));
    }
    for (direction, goodput, asked) in
        [("to the client", report.down, asked.down), ("to the server", report.up, asked.up)]
    {
        faults.extend(goodput_fault(direction, goodput, asked));
    }
    if let Some(p99) = report.lateness.quantile(Quantile::P99).filter(|p99| *p99 > limit) {
        faults.push(format!(
            "one packet in a hundred was late by {} or more, where {limit} is allowed: stop other work on this machine",
            figures::time(p99.as_ns())
        ));
    }
    faults
}

/// The number of pings by which losses may differ, and a bit of slack. An outage takes those of its whole
/// time at once, so that losses vary more than independent ones.
fn lost_allowance(report: &PathReport) -> (f64, f64) {
    let asked = &report.asked;
    let deviation = (f64::from(report.pings) * asked.lost * (1.0 - asked.lost)).sqrt();
    let at_once = (asked.outage.as_secs_f64() / report.interval.as_secs_f64()).ceil();
    if at_once <= 1.0 {
        return (DEVIATIONS * deviation, 0.5);
    }
    (DEVIATIONS * deviation * at_once.sqrt() + OUTAGES * at_once, 0.0)
}

fn goodput_fault(direction: &str, goodput: Goodput, asked: GoodputFigures) -> Option<String> {
    let (most, bits) = (asked.bits?, goodput.bits);
    let share = bits / most;
    if share > 1.0 + ABOVE + goodput.spread {
        return Some(format!(
            "TCP got {} {direction}, more than the links carry ({})",
            bit_rate(bits),
            bit_rate(most)
        ));
    }
    let least = asked.least_share.map(|least| least - goodput.spread).filter(|least| share < *least)?;
    Some(format!(
        "TCP got {} {direction}, {} of what the links carry ({}), where {} are expected at least",
        bit_rate(bits),
        figures::percent(share),
        bit_rate(most),
        figures::percent(least)
    ))
}

/// The table, and what is off.
fn in_words(rows: &[(Cells, Vec<String>)]) -> String {
    let heads: Vec<String> =
        HEADS.iter().map(|head| (*head).to_owned()).chain(["asked".to_owned()]).collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| {
            let cells = rows.iter().map(|(cells, _)| cells[column].chars().count());
            cells.chain([heads[column].chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (nth, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            // Names to the left, figures to the right.
            line += &if nth == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        line.trim_end().to_owned() + "\n"
    };
    let mut text = line(&heads);
    rows.iter().for_each(|(cells, _)| text += &line(cells));
    for (cells, faults) in rows {
        faults.iter().for_each(|fault| text += &format!("OFF  {}: {fault}\n", cells[0]));
    }
    if rows.iter().all(|(_, faults)| faults.is_empty()) {
        text += "all as asked\n";
    }
    text
}

/// The profiles that classes of clients follow, each once, with what is known of them.
fn profiles_in_words(network: &EmulatedNetwork) -> String {
    let mut named: Vec<(&Profile, Vec<&str>)> = Vec::new();
    for class in &network.plan.classes {
        let Some(profile) = class.up.iter().chain(&class.down).find_map(|link| link.follows()) else {
            continue;
        };
        match named.iter_mut().find(|(own, _)| *own == profile) {
            Some((_, classes)) => classes.push(&class.name),
            None => named.push((profile, vec![&class.name])),
        }
    }
    named.into_iter().map(|(profile, classes)| profile_in_words(profile, &classes)).collect()
}

fn profile_in_words(profile: &Profile, classes: &[&str]) -> String {
    let Profile { name, source, licence, years, samples, fitted, error, .. } = profile;
    format!(
        "\nprofile  {name} (of {})\nsource   {source}\nlicence  {licence}\nmade     {years}, {samples} samples\n\
         fit      {fitted}\nerror    {error}\n",
        classes.join(", ")
    )
}

/// Bits a second: `11.6Mbit/s`.
fn bit_rate(bits: f64) -> String {
    let (scale, unit) = match bits {
        bits if bits >= 1e9 => (1e9, "Gbit/s"),
        bits if bits >= 1e6 => (1e6, "Mbit/s"),
        bits if bits >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{}{unit}", figures::three_digits(bits / scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_engine::path::PathFigures;
    use farfield_measure::Histogram;
    use std::net::Ipv4Addr;

    const LIMIT: Duration = Duration::from_ms(1);

    fn report() -> PathReport {
        let goodput = GoodputFigures { bits: Some(10e6), least_share: Some(0.9), held_bytes: 1e5 };
        let measured = Goodput { bits: 9.6e6, spread: 0.01 };
        PathReport {
            class: "home".to_owned(),
            client: Ipv4Addr::new(198, 18, 0, 1).into(),
            asked: PathFigures {
                round_trip: Duration::from_ms(40),
                varies: false,
                lost: 0.0,
                outage: Duration::ZERO,
                hops: 2,
                up: goodput,
                down: goodput,
            },
            round_trips: vec![Duration::from_us(40_200); 100],
            pings: 100,
            interval: Duration::from_ms(20),
            hops: Some(2),
            down: measured,
            up: measured,
            lateness: Histogram::new(),
        }
    }

    #[test]
    fn a_path_as_asked_has_no_faults() {
        let report = report();
        assert_eq!(faults(&report, LIMIT), [""; 0]);
        let text = in_words(&[(cells(&report), faults(&report, LIMIT))]);
        let words: Vec<&str> = text.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        let figures = ["home", "40.2ms", "40.0ms", "40.2ms", "0%", "0%", "2", "2"];
        assert_eq!(words[..8], figures);
        assert_eq!(words[8..], ["9.60Mbit/s", "10.0Mbit/s", "9.60Mbit/s", "10.0Mbit/s"]);
        assert!(text.ends_with("all as asked\n"), "{text}");
    }

    /// Each figure beyond its tolerance is one fault, and says which.
    #[test]
    fn each_figure_is_held_against_its_tolerance() {
        type Change = fn(&mut PathReport);
        let changes: [(Change, &str); 9] = [
            (|report| report.round_trips = vec![Duration::from_us(39_800); 100], "less than the links take"),
            (|report| report.round_trips = vec![Duration::from_us(41_100); 100], "1.10ms more than"),
            (|report| report.round_trips.truncate(99), "1 of 100 pings were lost"),
            (|report| report.asked.lost = 0.2, "0 of 100 pings were lost, where 20.0 were expected"),
            (|report| report.hops = Some(3), "from hop 3, not 2"),
            (|report| report.down.bits = 8.8e6, "8.80Mbit/s to the client, 88"),
            (|report| report.up.bits = 10.4e6, "to the server, more than the links carry"),
            (|report| report.lateness.record(Duration::from_ms(2)), "was late by"),
            (|report| report.hops = None, "from hop none"),
        ];
        for (change, words) in changes {
            let mut report = report();
            change(&mut report);
            let faults = faults(&report, LIMIT);
            assert!(matches!(&faults[..], [fault] if fault.contains(words)), "{words}: {faults:?}");
        }
        let mut lossy = report();
        (lossy.asked.lost, lossy.asked.down.least_share) = (0.1, None);
        lossy.round_trips.truncate(85);
        lossy.down.bits = 2e6;
        assert_eq!(faults(&lossy, LIMIT), [""; 0], "independent losses vary, and TCP with them");
    }

    #[test]
    fn a_profile_says_where_it_is_from_and_how_far_off() {
        let starlink = farfield_net::Access::Starlink.profile().expect("there is one");
        let words = profile_in_words(starlink, &["ship", "shore"]);
        let heads: Vec<&str> =
            words.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(heads, ["profile", "source", "licence", "made", "fit", "error"], "{words}");
        for part in ["starlink (of ship, shore)", "FjordLink", "CC BY 4.0", "2025, 146979 samples", "p99 -"] {
            assert!(words.contains(part), "{part}: {words}");
        }
    }

    /// An outage of 120 ms takes six or seven of the hundred pings, 20 ms apart, where 0.1 are expected.
    #[test]
    fn an_outage_takes_several_pings_at_once() {
        let mut report = report();
        report.asked.lost = 0.001;
        report.round_trips.truncate(93);
        assert!(
            matches!(&faults(&report, LIMIT)[..], [fault] if fault.starts_with("7 of 100 pings were lost"))
        );
        report.asked.outage = Duration::from_ms(120);
        assert_eq!(faults(&report, LIMIT), [""; 0]);
        report.round_trips.truncate(75);
        let faults = faults(&report, LIMIT);
        assert!(
            matches!(&faults[..], [fault] if fault.starts_with("25 of 100 pings were lost")),
            "{faults:?}"
        );
    }
}
