//! The end of a run's output: on a terminal of 80 columns and 24 lines one sees the verdict, the figures and
//! the errors, and with `-v` how farfield itself did, above them.

use crate::common::wan::{CALM_PACKETS, SHORT, may_build};
use crate::common::{Ended, Place};

/// Lines and columns of a terminal.
const LINES: usize = 24;
const COLUMNS: usize = 80;
/// First words of lines that `-v` shows. The first two are seen without it where they make figures doubtful,
/// as a busy machine may.
const DIAGNOSTICS: [&str; 3] = ["generator", "placement", "packets"];

fn first_words(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

/// The last screen of a run has what matters, and `-v` shows no less; returns what it shows more of.
#[track_caller]
fn has_it_in_sight(place: &Place, ended: &Ended, statuses: Option<&str>) -> Vec<&'static str> {
    let report = |flags: &str| {
        let name = ended.directory.file_name().expect("a name").to_str().expect("UTF-8");
        place.farfield(&format!("report {name} {flags}")).stdout
    };
    assert_eq!(report(""), ended.stdout, "report prints the result again");
    let verbose = report("-v");
    for text in [&ended.stdout, &verbose] {
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        for line in last.lines() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
        let words = first_words(&last);
        assert!(words.contains(&"VALID") || words.contains(&"INVALID"), "{text}");
        for label in ["rate", "time", "response", "outcomes", "directory", "page"] {
            assert!(words.contains(&label), "{label}: {text}");
        }
        let head = last.lines().find(|line| line.starts_with("time ")).expect("a head");
        assert!(head.contains(" p50 ") && head.contains(" p99 "), "{head}");
        if let Some(statuses) = statuses {
            let line = last.lines().find(|line| line.starts_with("  statuses ")).expect("codes of replies");
            assert!(line.contains(statuses), "{text}");
        }
    }
    let (short, long) = (first_words(&ended.stdout), first_words(&verbose));
    assert!(!short.contains(&"packets"), "{}", ended.stdout);
    assert!(short.iter().all(|word| long.contains(word)), "{verbose}");
    DIAGNOSTICS.into_iter().filter(|label| long.contains(label)).collect()
}

#[test]
fn a_run_of_sockets_has_its_errors_by_code_in_sight() {
    let place = Place::new();
    let server = place.serve("--error-rate 0.2");
    let ended = place.run(&format!("{}/ -R 100 -d 2s --threshold errors<=100%", server.url)).exits(0);
    let more = has_it_in_sight(&place, &ended, Some("503 "));
    assert!(more.contains(&"generator"), "{more:?}");
}

#[test]
fn a_run_across_an_emulated_path_has_them_too() {
    if !may_build("a_run_across_an_emulated_path_has_them_too") {
        return;
    }
    let place = Place::new();
    let server = "--set origin.error-rate=0.2 --threshold errors<=100%";
    let ended = place.run(&format!("--access 4g -c 4 -d 2s {server} {CALM_PACKETS} {SHORT}")).exits(0);
    assert!(ended.stdout.contains("\npath        4g, round trip 70ms"), "{}", ended.stdout);
    let more = has_it_in_sight(&place, &ended, Some("503 "));
    assert_eq!(more, DIAGNOSTICS);
}

#[test]
fn a_run_in_virtual_time_has_them_too() {
    let place = Place::new();
    let ended = place.run("--plane simulated --rtt 20ms -R 50 -d 5s").exits(0);
    let more = has_it_in_sight(&place, &ended, None);
    assert!(more.contains(&"packets"), "{more:?}");
    let asked = place.run("--plane simulated --rtt 20ms -R 50 -d 5s -v").exits(0);
    assert!(first_words(&asked.stdout).contains(&"packets"), "{}", asked.stdout);
}

/// Tables are above the verdict, and not between it and its reader.
#[test]
fn what_there_is_much_of_is_above() {
    let place = Place::new();
    place.write("list.txt", (0..20).map(|n| format!("/bytes/{n}\n")).collect::<String>());
    let scenario = "requests.file = 'list.txt'\nplane = 'simulated'\nload.users = 3\nload.think = '10ms'\n\
                    run = { warm-up = '0s', duration = '3s' }\nnetwork.clients = 30\n\
                    [[network.class]]\nname = 'near'\nrtt = '10ms'\n[[network.class]]\nname = 'far'\nrtt = '90ms'\n";
    place.write("classes.toml", scenario);
    let ended = place.run("classes.toml").exits(0);
    has_it_in_sight(&place, &ended, None);
    let at = |label: &str| ended.stdout.find(label).unwrap_or_else(|| panic!("{label}: {}", ended.stdout));
    assert!(at("\nclass ") < at("\nVALID "), "{}", ended.stdout);
}
