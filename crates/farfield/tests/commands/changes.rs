//! Conditions that change while a run goes on, in virtual time: what results say of an outage.

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
