//! Changes as written, where they end up, and mistakes.

use super::*;
use crate::overlay::Overlay;
use crate::{RunPlan, from_text};
use std::path::Path;

fn read_with(text: &str, flags: &Overlay) -> Result<RunPlan, String> {
    let head = "plane = 'simulated'\nload = { model = 'closed', users = 4 }\n";
    let text = format!("{head}run = {{ warm-up = '1s', duration = '60s' }}\n{text}\n");
    from_text(&text, Some(Path::new("s.toml")), flags).map_err(|error| error.to_string())
}

fn read(text: &str) -> Result<RunPlan, String> {
    read_with(text, &Overlay::default())
}

const CLASSES: &str = "[[network.class]]\nname = 'dsl'\naccess = 'dsl'\n[[network.class]]\nname = 'mobile'\n\
                       rtt = '60ms'\n[network.shared]\nup = { rate = '1Gbit' }\ndown = { rate = '1Gbit' }\n";

fn at(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

#[test]
fn changes_find_their_links() {
    let text = "[[network.change]]\nat = '10s'\nclass = 'dsl'\ndown = { rate = '1Mbit' }\nrtt = '100ms'\n\
                [[network.change]]\nat = '20s'\nlink = 'shared.down'\nset = { delay = '5ms' }\n";
    let plan = read(&format!("{CLASSES}{text}")).expect("changes");
    let network = plan.network().expect("a network");
    let dsl = &network.plan.classes[0];
    assert!(dsl.up[0].changes() && dsl.down[0].changes() && !network.plan.classes[1].up[0].changes());
    let later = network.plan.frozen(at(30));
    assert_eq!(later.classes[0].up[0].propagation(), Duration::from_ms(50));
    assert_eq!(later.classes[0].down[0].speed().mean_bits(), Some(1e6));
    assert_eq!(later.shared[1].propagation(), Duration::from_ms(5));
    assert_eq!(network.round_trips.least, Duration::from_ms(20), "of dsl at first");
    assert_eq!(network.round_trips.largest, Duration::from_ms(105), "of dsl in the end");
    let words: Vec<(&str, &str)> =
        network.conditions.iter().map(|own| (own.name.as_str(), own.course.as_str())).collect();
    let expected =
        [("1", "as at first"), ("2", "dsl: rtt 100ms; down rate 1Mbit"), ("3", "shared.down: delay 5ms")];
    assert_eq!(words, expected);
}

#[test]
fn an_outage_is_repeated_until_the_end() {
    let text = "[[network.change]]\nat = '5s'\nfor = '1s'\nevery = '15s'\nup = { loss = '100%' }\n";
    let plan = read(text).expect("changes");
    let network = plan.network().expect("a network");
    let lost = |secs: u64| network.plan.frozen(at(secs)).classes[0].up[0].lost_share();
    let found: Vec<u64> = (0..80).filter(|secs| lost(*secs) > 0.5).collect();
    assert_eq!(found, [5, 20, 35, 50]);
    assert_eq!(network.conditions.len(), 9);
    // A shell has no end.
    let mut flags = Overlay::default();
    flags.without_end();
    let plan = read_with(text, &flags).expect("changes");
    let link = &plan.network().expect("a network").plan.frozen(at(5 + 15 * 9_999)).classes[0].up[0];
    assert!(link.lost_share() > 0.5);
}

/// The words that the parts of a run have, by their names.
fn courses(text: &str) -> Vec<(String, String)> {
    let plan = read(text).expect("changes");
    let conditions = &plan.network().expect("a network").conditions;
    conditions.iter().map(|own| (own.name.clone(), own.course.clone())).collect()
}

#[test]
fn parts_of_a_run_say_what_begins() {
    let text = "[[network.change]]\nat = '5s'\nfor = '1s'\nup = { loss = '100%', queue = '20 packets' }\n\
                down = { corrupt = '7%', loss = 'none' }\n[[network.change]]\nat = '20s'\nrtt = '90ms'\n";
    let expected = [
        "as at first",
        "clients: up loss 100%, queue 20 packets; down no loss, corrupt 7%",
        "clients: up loss, queue; down loss, corrupt as before",
        "clients: rtt 90ms",
    ];
    assert_eq!(courses(text).into_iter().map(|(_, course)| course).collect::<Vec<_>>(), expected);
}

/// A ramp is a part by itself, there and back.
#[test]
fn ramps_are_parts_of_their_own() {
    let text = "[[network.change]]\nat = '5s'\nover = '2s'\nfor = '4s'\nrtt = '90ms'\n";
    let expected = [
        "as at first",
        "clients: rtt 90ms begins",
        "clients: rtt 90ms reached",
        "clients: rtt as before begins",
        "clients: rtt as before reached",
    ];
    assert_eq!(courses(text).into_iter().map(|(_, course)| course).collect::<Vec<_>>(), expected);
}

/// 42 of 60 changes begin in the last part; those of the warm-up, of 1 s, take no part's place.
#[test]
fn the_last_of_many_parts_says_that_it_is_several() {
    let text =
        "[[network.change]]\nat = '5s'\nfor = '500ms'\nevery = '1s'\ntimes = 30\nup = { loss = '2%' }\n";
    let parts = courses(text);
    assert_eq!((parts.len(), parts[18].1.as_str()), (20, "clients: up loss as before"));
    assert_eq!(parts[19], ("20".to_owned(), "… and 42 more changes".to_owned()));
    let text = "[[network.change]]\nat = '0s'\nfor = '5ms'\nevery = '10ms'\ntimes = 90\nup = { loss = '2%' }\n\
                [[network.change]]\nat = '30s'\ndown = { loss = '3%' }\n";
    let parts = courses(text);
    assert_eq!(parts.len(), 22, "20 that end in the warm-up");
    assert_eq!(parts[20], ("180".to_owned(), "clients: up loss as before".to_owned()));
    assert_eq!(parts[21], ("181".to_owned(), "clients: down loss 3%".to_owned()));
}

/// An outage of all clients, and none of one class of two.
#[test]
fn outages_are_known() {
    let outages = |text: &str| {
        let plan = read(text).expect("changes");
        let outages = plan.network().expect("a network").outages.clone();
        outages
            .into_iter()
            .map(|(from, to)| [from, to].map(|at| at.as_ns() / 1_000_000_000))
            .collect::<Vec<_>>()
    };
    let out = |at: u64, lasts: u64, whose: &str| {
        format!("[[network.change]]\nat = '{at}s'\nfor = '{lasts}s'\n{whose} = {{ loss = '100%' }}\n")
    };
    assert_eq!(outages(&out(5, 2, "every = '15s'\ndown")), [[5, 7], [20, 22], [35, 37], [50, 52]]);
    assert_eq!(outages(&format!("{}{}", out(5, 2, "up"), out(7, 3, "down"))), [[5, 10]]);
    let for_good = "[[network.change]]\nat = '5s'\nup = { loss = '100%' }\n[[network.change]]\nat = '9s'\n\
                    up = { loss = '99%' }\n";
    assert_eq!(outages(for_good), [[5, 9]]);
    let dsl = out(5, 9, "class = 'dsl'\nup");
    assert!(outages(&format!("{CLASSES}{dsl}")).is_empty());
    let both = format!("{CLASSES}{dsl}{}", out(10, 9, "class = 'mobile'\ndown"));
    assert_eq!(outages(&both), [[10, 14]]);
    let shared = out(20, 1, "link = 'shared.up'\nset");
    assert_eq!(outages(&format!("{CLASSES}{shared}")), [[20, 21]]);
    let late = "[[network.class]]\nname = 'late'\nup = { delay = '9ms', loss = '100%' }\ndown = {}\n\
                [[network.change]]\nat = '3s'\nup = { loss = 'none' }\n";
    assert_eq!(outages(late), [[0, 3]], "a link that is not there at first");
    // Clients who have moved are cut off where they are, and not where they were.
    let moving = "[[network.class]]\nname = 'wifi'\nrtt = '20ms'\nmigrate = { to = 'lte', after = '10s' }\n\
                  [[network.class]]\nname = 'lte'\nshare = 0\nrtt = '60ms'\n";
    let wifi = "[[network.change]]\nat = '5s'\nclass = 'wifi'\nup = { loss = '100%' }\n";
    assert_eq!(outages(&format!("{moving}{wifi}")), [[5, 10]]);
    let lte = out(9, 3, "class = 'lte'\ndown");
    assert_eq!(outages(&format!("{moving}{wifi}{lte}")), [[5, 12]]);
    // Of two clients of a topology one is cut off, or both.
    let topology = "[network.topology]\nserver = 'www'\nhosts = ['www', 'a', 'b']\nrouters = ['core']\n\
                    links = [{ from = 'www', to = 'core', link = { delay = '1ms' } }, \
                    { from = 'core', to = 'a', link = { delay = '1ms' } }, \
                    { from = 'core', to = 'b', link = { delay = '2ms' } }]\n";
    let cut = |at: u64, from: &str, to: &str| {
        out(at, 2, &format!("link = {{ from = '{from}', to = '{to}' }}\nset"))
    };
    let [one, other, all] = [cut(5, "core", "a"), cut(6, "b", "core"), cut(20, "core", "www")];
    assert!(outages(&format!("{topology}{one}")).is_empty());
    assert_eq!(outages(&format!("{topology}{one}{other}{all}")), [[6, 7], [20, 22]]);
}

#[test]
fn a_link_of_a_topology_changes_whoever_takes_it() {
    let topology = "[network.topology]\nserver = 'www'\nhosts = ['www', 'a', 'b']\nrouters = ['core']\n\
                    links = [{ from = 'www', to = 'core', link = { rate = '1Gbit', delay = '1ms' } }, \
                    { from = 'core', to = 'a', link = { rate = '8Mbit' } }, \
                    { from = 'core', to = 'b', link = { rate = '8Mbit' } }]\n";
    let change = |from: &str, to: &str| {
        let text = "[[network.change]]\nat = '5s'\nset = { rate = '1Mbit' }\nlink = ";
        read(&format!("{topology}{text}{{ from = '{from}', to = '{to}' }}"))
    };
    for (from, to) in [("core", "a"), ("www", "core")] {
        let plan = change(from, to).expect("a link");
        let network = &plan.network().expect("a network").plan;
        let own = network.classes.iter().flat_map(|class| class.up.iter().chain(&class.down));
        let changing = own.chain(&network.shared).filter(|link| link.changes()).count();
        assert_eq!(changing, 1, "{from} to {to}");
    }
    let sentence = change("a", "b").expect_err("no such link");
    assert!(sentence.contains("change[0].link") && sentence.contains("`a to b`"), "{sentence}");
}

#[test]
fn mistakes_say_where_and_what_would_do() {
    let refuse = |text: &str, parts: &[&str]| {
        let text = format!("{CLASSES}[[network.change]]\n{text}");
        let sentence = read(&text).expect_err(&text);
        for part in parts {
            assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
        }
    };
    let key = "network.change[0]";
    refuse("at = '5s'\nclass = 'dls'\nrtt = '1s'", &["s.toml:15", key, ".class", "`dls`", "dsl, mobile"]);
    refuse("at = '5s'\nrtt = '1s'", &["name the class", "dsl, mobile"]);
    refuse("at = '61s'\nclass = 'dsl'\nrtt = '1s'", &[".at", "61s", "run.duration"]);
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\nevery = '30s'\ntimes = 3", &[".times", "run.duration"]);
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\ntimes = 3", &[".times", "every"]);
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\nevery = '0s'", &[".every"]);
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\nover = '2s'\nfor = '1s'", &[".for", "longer"]);
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\nover = '20s'\nevery = '10s'", &["not ended at 15s"]);
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\nover = '300000h'", &[".over", "8784h at most"]);
    refuse("at = '1s'\nclass = 'dsl'\nrtt = '1s'\nevery = '100us'", &["more than 200000 times"]);
    let twice = "at = '0s'\nclass = 'dsl'\nrtt = '1s'\n";
    refuse(&format!("{twice}[[network.change]]\n{twice}"), &["change[1]", "already"]);
    refuse("at = '5s'\nclass = 'dsl'\ndown = { reorder = true }", &["change[0].down.reorder", "`delay`"]);
    refuse("at = '5s'\nlink = 'shared.up'\nset = { reorder = true }", &["change[0].set.reorder"]);
    refuse("at = '5s'\nclass = 'dsl'", &[key, "changes nothing"]);
    refuse("at = '5s'\nclass = 'mobile'\ndown = { rate = '1Mbit' }", &["down.rate", "no `rate` to begin"]);
    refuse("at = '5s'\nclass = 'dsl'\ncore = { rtt = '1s' }", &["no `core`"]);
    refuse("at = '5s'\nserver = 'db'\nrtt = '1s'", &[".server", "`db`"]);
    refuse("at = '5s'\nlink = 'shared.up'\nup = { rate = '1Mbit' }", &[".up", "`set`"]);
    refuse("at = '5s'\nlink = 'shared.up'", &[key, "`set`"]);
    refuse("at = '5s'\nset = { rate = '1Mbit' }", &[".set", "`link`"]);
    refuse("at = '5s'\nclass = 'dsl'\ndown = { rte = '1Mbit' }", &["rte", "rate"]);
    refuse("class = 'dsl'\nrtt = '1s'", &["`at`"]);
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\ndown = { delay = '1s' }", &[".rtt"]);
}
