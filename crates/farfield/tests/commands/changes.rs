//! Conditions that change while a run goes on, in virtual time: what results say of an outage, and of the
//! load of a link.

use crate::common::Place;

/// Users who wait behind an outage of 2 s, and then for TCP's timers: the server is not blamed for it, and
/// the table says what began when.
#[test]
fn an_outage_is_the_networks() {
    let place = Place::new();
    let run = |change: &str| {
        let scenario = format!(
            "plane = 'simulated'\nload = {{ model = 'closed', users = 4 }}\nrun = {{ duration = '20s' }}\n\
             [network]\nrtt = '20ms'\n[simulated]\nworkers = 1\nservice-time = '5ms'\n\
             [[network.change]]\nat = '5s'\nfor = '2s'\n{change}\n"
        );
        place.write("outage.toml", scenario);
        place.farfield("run outage.toml --seed 7").exits(0).stdout
    };
    let outage = run("up = { loss = '100%' }");
    assert!(!outage.contains("nothing came from the server"), "{outage}");
    for line in ["  clients: up loss 100%", "  clients: up loss as before"] {
        assert!(outage.lines().any(|own| own == line), "{line}: {outage}");
    }
    // Nothing comes through either, but for another reason, which nobody asked to be an outage.
    let late = run("rtt = '3s'");
    assert!(late.contains("nothing came from the server between second 5."), "{late}");
}

/// The load of a link whose rate changes is what it carried over what it could carry: a second and a tenth of
/// 1 Mbit/s, and as long of 4.
#[test]
fn the_load_of_a_link_that_changes_is_of_what_it_could_carry() {
    let place = Place::new();
    let scenario = "plane = 'simulated'\nrun = { duration = '2s', warm-up = '200ms', drain = '0s' }\n\
        load = { model = 'open', arrivals = '60/s' }\n\
        [network]\nrtt = '20ms'\nshared = { up = { rate = '9Mbit' }, down = { rate = '1Mbit' } }\n\
        [[network.change]]\nat = '1100ms'\nlink = 'shared.down'\nset = { rate = '4Mbit' }\n";
    place.write("s.toml", scenario);
    place.farfield("run s.toml -q -o run").exits(0);
    let text = std::fs::read_to_string(place.path("run/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let links = summary["network"]["topology"]["links"].as_array().expect("links");
    let down = links.iter().find(|link| link["to"] == "clients").expect("a link towards clients");
    let number = |key: &str| down[key].as_f64().expect("a number");
    assert!((number("load") - number("bytes") * 8.0 / 5.5e6).abs() < 0.005, "{down}");
    assert!(number("load") > 0.1 && (number("bits_per_second") / 2.5e6 - 1.0).abs() < 0.02, "{down}");
}
