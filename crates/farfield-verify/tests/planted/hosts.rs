//! Requests that went elsewhere than to their host.

use super::evidence;
use super::scene::{Scene, names, open};
use farfield_base::HostNumber;
use farfield_capture::authority_hash;

/// Users who ask two hosts, by turns of their connections.
fn two_hosts() -> Scene {
    let mut scene = open();
    let authorities = ["shop.test", "api.test:8443"];
    scene.asked.hosts = authorities.map(|own| (own.to_owned(), Some(format!("http://{own}")))).to_vec();
    scene.asked.authorities = authorities.map(|own| Some(own.to_owned())).to_vec();
    let host = |connection: u32| (connection % 2) as usize;
    let server = "10.9.0.2:8443".parse().expect("an address");
    for own in scene.capture.connections.iter_mut().filter(|own| host(own.id) == 1) {
        own.server = server;
    }
    let rows = scene.run.connections.iter_mut().flatten();
    rows.filter(|row| host(row.connection) == 1).for_each(|row| row.server = server);
    for sample in &mut scene.samples {
        sample.host = HostNumber::at(host(sample.connection));
    }
    for own in &mut scene.capture.transactions {
        // Case is of no matter.
        own.authority = authority_hash(authorities[host(own.connection)].to_uppercase().as_bytes());
    }
    scene
}

#[test]
fn requests_that_go_elsewhere_than_to_their_host_are_named() {
    let honest = two_hosts().verify();
    assert_eq!(names(&honest), [""; 0]);

    // A connection to one host that leads to the other's server, and says so.
    let mut scene = two_hosts();
    let server = scene.capture.connections[0].server;
    scene.capture.connections[5].server = server;
    let rows = scene.run.connections.as_mut().expect("a list");
    rows.iter_mut().filter(|row| row.connection == 5).for_each(|row| row.server = server);
    assert!(evidence(&scene.verify(), "hosts-mixed").starts_with("1 of "));

    // A request that names the other host.
    let mut scene = two_hosts();
    scene.capture.transactions[7].authority = scene.capture.transactions[8].authority;
    assert!(evidence(&scene.verify(), "hosts-misnamed").starts_with("1 of "));

    // All of one host that are the other's.
    let mut scene = two_hosts();
    scene.samples.iter_mut().for_each(|sample| sample.host = HostNumber::at(1 - sample.host.index()));
    assert!(evidence(&scene.verify(), "hosts-misnamed").contains(" of "));
}
