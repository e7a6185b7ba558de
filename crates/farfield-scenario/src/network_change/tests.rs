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
    refuse("at = '5s'\nclass = 'dsl'\nrtt = '1s'\nover = '20s'\nevery = '10s'", &["still changing at 15s"]);
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
