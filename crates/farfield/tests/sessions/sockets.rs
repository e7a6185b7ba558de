//! Sessions with dependencies, end to end on the kernel's sockets: a shop that refuses users who do not bring
//! what they were given, and users that do.

use crate::common::{CALM, Ended, Place};
use crate::shop::{Shop, VISIT, users};
use farfield_base::Outcome;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

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

/// An object that a browser fetches is fetched once for each visitor: it stays fresh for a minute.
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
        visits > 20 && fetched["/a.css"].abs_diff(visits) < 5 && fetched["/b.png"].abs_diff(visits) < 5,
        "{fetched:?}"
    );
    let pages = ended.summary().pages.expect("sessions have pages");
    assert!(pages.failed == 0 && (pages.requests_mean - 2.0).abs() < 0.1, "{pages:?}");
    let (response, html) = (pages.response.expect("pages"), pages.html_latency.expect("pages"));
    assert!(html.mean_ns <= response.mean_ns && response.count == pages.completed, "{response:?} {html:?}");
}

/// The shop's purpose: users who forget one thing are refused, and their sessions end there.
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
        let failures = ended.summary().failures;
        assert_eq!(failures.first().map(|failure| failure.outcome.as_str()), Some(outcome.name()), "{what}");
        let kept = std::fs::read_to_string(ended.directory.join("failures.txt")).expect("the first failures");
        let parts = match what {
            "a form that is not there" => ["form `form#signup`", "---- no request could be written"],
            _ => ["---- request: ", "---- head of the reply: "],
        };
        assert!(parts.iter().all(|part| kept.contains(part)), "{what}: {kept}");
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

/// A server that answers all with a key, and says what it was asked for in order.
fn keyed(paths: &Arc<Mutex<Vec<String>>>, failing: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let paths = Arc::clone(paths);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let paths = Arc::clone(&paths);
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
                let (mut stream, mut line, mut path) = (stream, String::new(), String::new());
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                    if let Some(("GET", rest)) = line.split_once(' ') {
                        rest.split(' ').next().unwrap_or_default().clone_into(&mut path);
                    } else if line.trim().is_empty() {
                        let status = if path.starts_with(failing) { "500 No" } else { "200 OK" };
                        paths.lock().expect("whole").push(std::mem::take(&mut path));
                        let reply = format!("HTTP/1.1 {status}\r\nX-Key: k7\r\nContent-Length: 0\r\n\r\n");
                        if stream.write_all(reply.as_bytes()).is_err() {
                            return;
                        }
                    }
                    line.clear();
                }
            });
        }
    });
    address
}

const AROUND: &str = "[session]\nset-up = ['make']\ntear-down = ['unmake']\nlast = ['out']\n\
    [[session.state]]\nname = 'make'\npath = '/make'\nextract.key = { header = 'x-key' }\n\
    [[session.state]]\nname = 'way'\npath = '/way?${key}'\n\
    [[session.state]]\nname = 'out'\npath = '/out'\n\
    [[session.state]]\nname = 'unmake'\npath = '/unmake?${key}'\n";

/// The set-up comes before all else and the tear-down behind it, each once; a run whose set-up fails is not
/// begun.
#[test]
fn a_run_is_set_up_and_torn_down() {
    let run = |failing: &'static str, words: &str| {
        let (place, paths) = (Place::new(), Arc::new(Mutex::new(Vec::new())));
        let address = keyed(&paths, failing);
        let load = "load = { users = 3 }\nrun.sessions = 9\nrun.warm-up = '0s'\n";
        place.write("around.toml", format!("target = 'http://{address}/'\n{load}{AROUND}"));
        let ended = place.farfield(words);
        let asked = paths.lock().expect("whole").clone();
        (
            ended,
            asked,
            place
                .path("farfield-runs")
                .read_dir()
                .is_ok_and(|runs| runs.flatten().any(|run| run.path().is_dir())),
        )
    };
    let says = |ended: &Ended, parts: &[&str]| {
        assert!(parts.iter().all(|part| ended.stderr.contains(part)), "{}", ended.stderr);
    };
    let run_it = format!("run around.toml -d 20s {CALM}");
    let (ended, asked, left) = run("/none", &run_it);
    ended.exits(0);
    assert!(left && asked.len() == 2 + 2 * 9, "{asked:?}");
    assert_eq!((asked[0].as_str(), asked[asked.len() - 1].as_str()), ("/make", "/unmake?k7"));
    assert_eq!(asked.iter().filter(|path| *path == "/way?k7").count(), 9);
    assert_eq!(asked.iter().filter(|path| *path == "/out").count(), 9);
    let (ended, asked, left) = run("/make", &run_it);
    says(
        &ended.exits(1),
        &["1 make", "FAILED status-5xx", "farfield: the set-up failed, so the run was not begun"],
    );
    assert_eq!((asked, left), (vec!["/make".to_owned()], false));
    let (ended, asked, _) = run("/unmake", &run_it);
    says(&ended.exits(0), &["1 unmake", "FAILED status-5xx", "warning: the tear-down failed"]);
    assert_eq!(asked.len(), 20);
    let (ended, asked, left) = run("/way", "try around.toml");
    let parts =
        ["set-up, once before the load", "session broken off at way", "tear-down, once behind the load"];
    let ended = ended.exits(99);
    assert!(parts.iter().all(|part| ended.stdout.contains(part)), "{}", ended.stdout);
    assert_eq!(
        (asked, left),
        (["/make", "/way?k7", "/out", "/unmake?k7"].map(str::to_owned).to_vec(), false)
    );
}
