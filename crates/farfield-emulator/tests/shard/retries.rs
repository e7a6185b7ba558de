//! Requests on kept connections that the server closes at that moment (RFC 9112, section 9.3.1).

use crate::scene::{Scene, ms, with};
use farfield_base::{Duration, Outcome};
use farfield_emulator::simulate;
use farfield_traffic::request::RequestSetSpec;
use farfield_user::HttpVersion;
use farfield_user::{Itinerary, Target};

/// Users think for about as long as the server waits, and have two connections that it closes at about the
/// same time: a request that finds one closed must not be sent again on the other, whose FIN is on its way.
#[test]
fn what_is_sent_again_goes_where_nobody_is_closing() {
    let mut scene = Scene::crowd(500, ms(40)).policy("parallel = 2");
    scene.load =
        "{ model = 'closed', users = 500, think = { distribution = 'uniform', min = '10ms', max = '140ms' } }".into();
    scene.server.keep_alive = Some(ms(100));
    scene.length = Duration::from_secs(20);
    let mut simulation = scene.simulation();
    let page = "[[request]]\npath = '/bytes/1024'\nembedded = ['/bytes/512', '/bytes/512']";
    let page: RequestSetSpec = toml::from_str(page).expect("requests");
    let page = page.resolve(&mut |_| unreachable!("no files"), simulation.users.seed).expect("requests");
    let target = Target {
        host: "server".into(),
        version: HttpVersion::Http11,
        authorization: None,
        secure: false,
        proxy: None,
    };
    simulation.flows[0].itinerary = Itinerary::pages(page, &[target]).expect("requests that can be written");
    let played = simulate(&simulation).expect("a network");
    assert!(played.counts.resent > 1000, "{} sent again of {}", played.counts.resent, played.samples.len());
    assert_eq!(with(&played, Outcome::ClosedUnanswered), 0);
    assert_eq!(with(&played, Outcome::Ok), played.samples.len());
}
