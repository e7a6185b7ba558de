//! Sessions with dependencies, end to end on the kernel's sockets: a shop that refuses whoever does not bring what it was
//! given, and users that do.

mod common;
mod shop;

use common::Place;
use farfield_base::Outcome;
use shop::{Shop, VISIT, users};
use std::collections::BTreeSet;

fn scenario(shop: &Shop, load: &str, session: &str) -> String {
    format!("target = 'http://{}/'\nload = {load}\n{session}", shop.address())
}

#[test]
fn a_visit_brings_what_it_was_given() {
    let (place, shop) = (Place::new(), Shop::open());
    place.write("users.csv", users(400));
    let visit = VISIT.replace("PAGE-LOAD", "listed");
    let load = "{ model = 'hybrid', arrivals = { process = 'constant', rate = '50/s' } }";
    place.write("visit.toml", scenario(&shop, load, &visit));
    let ended = place.run("visit.toml -d 2s -t 2");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let samples = ended.samples();
    let bad: Vec<_> =
        samples.iter().filter(|s| !matches!(s.outcome, Outcome::Ok | Outcome::Unfinished)).collect();
    assert!(bad.is_empty(), "{bad:?} {:?}", shop.refusals());
    assert_eq!(shop.refusals(), Vec::<String>::new());
    let (orders, buyers) = (shop.orders(), shop.orders().into_iter().collect::<BTreeSet<_>>());
    assert!(orders.len() >= 80, "{} orders", orders.len());
    assert_eq!(orders.len(), buyers.len(), "each row of data is used once");
}

/// What a browser fetches is fetched once for each visitor: it stays fresh for a minute.
#[test]
fn a_browser_loads_what_pages_embed() {
    let (place, shop) = (Place::new(), Shop::open());
    let session = "[session]\npage-load = 'browser'\ncache = true\n\
                   [[session.state]]\nname = 'one'\npath = '/'\n[[session.state]]\nname = 'two'\npath = '/'\n";
    place.write("visit.toml", scenario(&shop, "{ model = 'hybrid', arrivals = '100/s' }", session));
    let ended = place.run("visit.toml -d 1s --parallel 6");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let fetched = shop.fetched();
    let visits = fetched["/"] / 2;
    assert!(
        visits > 50 && fetched["/a.css"].abs_diff(visits) < 5 && fetched["/b.png"].abs_diff(visits) < 5,
        "{fetched:?}"
    );
    let pages = ended.summary().pages.expect("sessions have pages");
    assert!(pages.failed == 0 && (pages.requests_mean - 2.0).abs() < 0.1, "{pages:?}");
    let (response, html) = (pages.response.expect("pages"), pages.html_latency.expect("pages"));
    assert!(html.mean_ns <= response.mean_ns && response.count == pages.completed, "{response:?} {html:?}");
}

/// What the shop is for: users who forget one thing are refused, and their sessions end there.
#[test]
fn who_forgets_something_is_refused() {
    let shop = Shop::open();
    let load = "{ users = 2, think = '50ms' }";
    for (what, from, to, outcome) in [
        ("cookies", "[session]", "[session]\ncookies = false", Outcome::Status4xx),
        (
            "the token",
            "x-token = \"${token}\" }\nextract.item",
            "x-token = \"none\" }\nextract.item",
            Outcome::Status4xx,
        ),
        ("the password", "pass = \"${pass}\"", "pass = \"guess\"", Outcome::Status4xx),
        ("the item", "\"item\": ${item}", "\"item\": 0", Outcome::Status4xx),
        ("a note that is not there", "p.note", "p.remark", Outcome::ExtractFailed),
        ("a wrong text", "Welcome ${name}", "Welcome back ${name}", Outcome::CheckFailed),
        ("a form that is not there", "form#login\"", "form#signup\"", Outcome::ExtractFailed),
    ] {
        let place = Place::new();
        place.write("users.csv", users(1000));
        let visit = VISIT.replace("PAGE-LOAD", "listed");
        assert!(visit.contains(from), "{from}");
        place.write("visit.toml", scenario(&shop, load, &visit.replace(from, to)));
        let before = shop.orders().len();
        let ended = place.run("visit.toml -d 300ms");
        let samples = ended.samples();
        assert!(samples.iter().any(|sample| sample.outcome == outcome), "{what}: {ended:?}");
        assert_eq!(shop.orders().len(), before, "{what}");
    }
}

/// An access log asked for again: each request as often as the log has it, at twice its speed.
#[test]
fn a_log_is_asked_for_again() {
    let (place, shop) = (Place::new(), Shop::open());
    let line = |client: u32, second: u32, path: &str| {
        format!("10.0.0.{client} - - [10/Oct/2000:13:55:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 10\n")
    };
    let log: Vec<String> =
        (0..20).map(|n| line(n % 4, n / 5, if n % 3 == 0 { "/" } else { "/b.png" })).collect();
    place.write("access.log", log.concat());
    let session = "[session]\nreplay = { file = 'access.log', speed = 2.0 }\n";
    place.write("again.toml", format!("target = 'http://{}/'\n{session}", shop.address()));
    let ended = place.run("again.toml --warm-up 0s -d 3s");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let fetched = shop.fetched();
    assert_eq!((fetched["/"], fetched["/b.png"]), (7, 13));
    let samples = ended.samples();
    let last = samples.iter().filter(|sample| sample.page.begins()).map(|sample| sample.due.as_ns()).max();
    assert_eq!(last, Some(1_500_000_000), "three seconds of the log at twice its speed");
}
