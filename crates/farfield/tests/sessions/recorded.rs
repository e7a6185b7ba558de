//! `farfield record`: programs, a browser, https, a server's stand-in. The scenario that comes out is run,
//! and the server says whether each user brought what it was given itself.

mod desk;
mod hostile;

use crate::common::secure::{Authority, VALID};
use crate::common::wan::find;
use crate::common::{Ended, Place, Running, poll};
use desk::Desk;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A visit: the form, the login with its token, the account, the order with its identifier.
const VISIT: &str = r#"
import json, os, re, sys, urllib.request
from http.cookiejar import CookieJar
from urllib.parse import urlencode

base = os.environ["FARFIELD_URL"].rstrip("/")
ask = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open
form = ask(base + "/").read().decode()
token = re.search("name=csrf value='([^']*)'", form)[1]
fields = urlencode([("csrf", token), ("user", "anna"), ("pass", "geheim")]).encode()
origin = {"Origin": base, "Referer": base + "/"}
ask(urllib.request.Request(base + "/login", fields, origin)).read()
order = json.load(ask(base + "/account"))["order"]["id"]
body = json.dumps({"id": order}).encode()
print(ask(urllib.request.Request(base + "/order", body, {"Content-Type": "application/json"})).status)
"#;

/// `farfield record` with these words, and where it listens.
fn recording(place: &Place, words: &str) -> (Running, SocketAddr) {
    let running = place.begin(&format!("record {words}"));
    let address = poll("the recorder to say where it is", || {
        let said = running.said();
        let (_, rest) = said.split_once("http://127.0.0.1:").filter(|_| said.contains(" proxy http://"))?;
        let (_, rest) = said.rsplit_once(" proxy http://").unwrap_or((rest, rest));
        rest.split([';', '\n']).next()?.parse().ok()
    });
    (running, address)
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port")
}

/// Holds that all parts were said.
#[track_caller]
fn says(ended: &Ended, parts: &[&str]) {
    for part in parts {
        assert!(ended.stderr.contains(part), "`{part}` is not in: {}", ended.stderr);
    }
}

/// Holds that a file is its owner's alone.
#[track_caller]
fn is_private(path: &Path) {
    let mode = fs::metadata(path).expect("it was made").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "{}", path.display());
}

/// Entries of an archive.
fn entries(place: &Place, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.path(name)).expect("an archive");
    let archive: Value = serde_json::from_str(&text).expect("JSON");
    archive["log"]["entries"].as_array().expect("entries").clone()
}

/// Runs 20 sessions of what was recorded; each has ordered what it was given, and none was refused.
#[track_caller]
fn each_user_gets_its_own(place: &Place, desk: &Desk, words: &str) {
    let scenario = fs::read_to_string(place.path("recorded.toml")).expect("a scenario");
    place.farfield(&format!("try recorded.toml {words}")).exits(0);
    let before = desk.books().ordered.len();
    let ended = place.run(&format!("recorded.toml -c 4 --sessions 20 --samples none {words}"));
    assert!([Some(0), Some(3)].contains(&ended.code), "{ended:?}");
    let books = desk.books();
    assert_eq!(books.refusals, Vec::<String>::new(), "{scenario}");
    assert_eq!(books.ordered.len(), before + 20, "{scenario}");
    let own: BTreeSet<&String> = books.ordered.iter().collect();
    assert_eq!(own.len(), books.ordered.len(), "an identifier was ordered twice: {scenario}");
    // Where the login leads to is asked for once, by its redirect.
    assert_eq!(books.homes, books.ordered.len(), "{scenario}");
}

#[test]
fn a_program_is_recorded_and_each_user_has_its_own_values() {
    let test = "a_program_is_recorded_and_each_user_has_its_own_values";
    if find(test, "python3").is_none() {
        return;
    }
    let (place, desk) = (Place::new(), Desk::open());
    place.write("visit.py", VISIT);
    let url = format!("http://{}/", desk.address);
    let ended = place.farfield(&format!("record {url} -- python3 visit.py")).exits(0);
    assert_eq!(ended.stdout, "201\n", "standard output is the program's: {}", ended.stderr);
    says(
        &ended,
        &["5 requests recorded in recorded.har", "5 of 5 entries taken", "`csrf`, `id`", "only you can read"],
    );
    says(&ended, &["cookies that a reply before sets are those of each user", "farfield try recorded.toml"]);
    assert!(!ended.stderr.contains("geheim"), "{}", ended.stderr);
    for name in ["recorded.har", "recorded.toml"] {
        is_private(&place.path(name));
    }
    assert!(!place.path("recorded-ca.pem").exists(), "no server of https was recorded");
    let recorded = entries(&place, "recorded.har");
    assert_eq!(recorded[1]["request"]["postData"]["mimeType"], "application/x-www-form-urlencoded");
    assert_eq!(recorded[1]["response"]["redirectURL"], "/home");
    for field in ["via", "connection", "proxy-connection"] {
        let has = |entry: &Value| entry["request"]["headers"].to_string().contains(&format!("\"{field}\""));
        assert!(!recorded.iter().any(has), "{field}");
    }
    each_user_gets_its_own(&place, &desk, "");
    // A recording is some work, and is not replaced by accident.
    place
        .farfield(&format!("record {url} -- true"))
        .exits(2)
        .says(&["recorded.toml is there already", "`-o`"]);
}

/// Without bindings the scenario repeats what one user was given, which the desk refuses.
#[test]
fn values_stay_as_they_were_recorded_where_that_is_asked_for() {
    let test = "values_stay_as_they_were_recorded_where_that_is_asked_for";
    if find(test, "python3").is_none() {
        return;
    }
    let (place, desk) = (Place::new(), Desk::open());
    place.write("visit.py", VISIT);
    let words = format!("record http://{}/ --no-bind -- python3 visit.py", desk.address);
    says(&place.farfield(&words).exits(0), &["2 values of requests stand in replies before them"]);
    place.farfield("try recorded.toml").exits(99);
    assert!(!desk.books().refusals.is_empty());
}

#[test]
fn https_is_recorded_with_an_authority_of_the_recording() {
    let test = "https_is_recorded_with_an_authority_of_the_recording";
    if find(test, "python3").is_none() {
        return;
    }
    let place = Place::new();
    Authority::new(&place).certify(&place, "127.0.0.1", VALID);
    let desk = Desk::open_secure(&place, "127.0.0.1");
    place.write("visit.py", VISIT);
    let url = format!("https://{}/", desk.address);
    // The server is verified as a run does it.
    let ended = place.farfield(&format!("record {url} -o none.toml -- python3 visit.py")).exits(1);
    says(
        &ended,
        &[
            "replies that did not come: 1 (first: GET /: ",
            "is not trusted",
            "nothing that could be asked for",
        ],
    );
    assert!(desk.books().named.is_empty());
    let ended = place.farfield(&format!("record {url} --cacert ca.pem -- python3 visit.py")).exits(0);
    says(
        &ended,
        &["5 of 5 entries taken", "`csrf`, `id`", "farfield run recorded.toml -c 50 --cacert ca.pem"],
    );
    is_private(&place.path("recorded-ca.pem"));
    // The authority's key is nowhere.
    for name in ["recorded-ca.pem", "recorded.har", "recorded.toml"] {
        let text = fs::read_to_string(place.path(name)).expect("own file");
        assert!(!text.contains("PRIVATE KEY"), "{name}");
    }
    each_user_gets_its_own(&place, &desk, "--cacert ca.pem");
}

/// HTTP/2 on both sides, by the built-in server and curl, which gets the page as the server compressed it.
#[test]
fn http2_is_spoken_where_client_and_server_do() {
    let test = "http2_is_spoken_where_client_and_server_do";
    let Some(curl) = find(test, "curl") else { return };
    let place = Place::new();
    let served = place.serve("--tls");
    let url = served.url.clone();
    let line = format!(
        "{curl} -sS --http2 -o page -w '%{{http_version}} ' {url}/bytes/100 -o page {url}/bytes/200; \
         {curl} -sS --http1.1 -o page -w '%{{http_version}} ' {url}/bytes/300",
        curl = curl.display()
    );
    let ended = place.farfield_with(&["record", &url, "-k", "--", "sh", "-c", &line]).exits(0);
    assert_eq!(ended.stdout, "2 2 1.1 ", "{}", ended.stderr);
    let spoken: Vec<[String; 2]> = entries(&place, "recorded.har")
        .iter()
        .map(|entry| [&entry["request"], &entry["response"]].map(|it| it["httpVersion"].to_string()))
        .collect();
    let (two, one) = ("\"HTTP/2\"".to_owned(), "\"HTTP/1.1\"".to_owned());
    assert_eq!(spoken, [[two.clone(), two.clone()], [two.clone(), two], [one.clone(), one]]);
    says(&ended, &["3 of 3 entries taken", "certificates of servers are not verified"]);
    says(&ended, &["farfield try recorded.toml -k"]);
    place.farfield("try recorded.toml -k").exits(0);
}

/// A program that knows no proxy asks the recorder itself. The server is asked by its own name.
#[test]
fn a_server_is_stood_in_for() {
    let test = "a_server_is_stood_in_for";
    if find(test, "python3").is_none() {
        return;
    }
    let (place, desk) = (Place::new(), Desk::open());
    place.write("visit.py", VISIT);
    let url = format!("http://{}", desk.address);
    let ended = place.farfield(&format!("record {url} --reverse -- python3 visit.py")).exits(0);
    says(&ended, &["stands in its place", "5 of 5 entries taken", "`csrf`, `id`"]);
    assert_eq!(desk.books().named, [[desk.address.to_string(), url.clone(), format!("{url}/")]]);
    let urls: Vec<Value> =
        entries(&place, "recorded.har").iter().map(|entry| entry["request"]["url"].clone()).collect();
    assert!(urls.iter().all(|own| own.as_str().is_some_and(|own| own.starts_with(&url))), "{urls:?}");
    each_user_gets_its_own(&place, &desk, "");
}

/// Servers beside the target are hosts of the scenario, and each is asked for its own.
#[test]
fn further_servers_are_hosts_of_the_scenario() {
    let test = "further_servers_are_hosts_of_the_scenario";
    if find(test, "curl").is_none() {
        return;
    }
    let (place, one, two) = (Place::new(), Desk::open(), Desk::open());
    let urls = [&one, &two].map(|desk| format!("http://{}/", desk.address));
    let line = format!("curl -sS -o /dev/null {}news -o /dev/null {}home", urls[0], urls[1]);
    let words = ["record", &urls[0], "--host", &urls[1], "--host", &urls[0], "--", "sh", "-c", &line];
    let ended = place.farfield_with(&words).exits(0);
    says(&ended, &["2 of 2 entries taken", &format!("http://{} (1)", two.address)]);
    let scenario = fs::read_to_string(place.path("recorded.toml")).expect("a scenario");
    assert!(scenario.contains(&format!("[[host]]\nurl = \"{}\"", urls[1])), "{scenario}");
    place.farfield("try recorded.toml").exits(0);
    assert_eq!((one.books().homes, two.books().homes), (0, 2));
    place.farfield(&format!("record {} --listen here -- true", urls[0])).exits(2);
}

/// Chromium loads a page by https, whose script asks for JSON and sends the form; where the login leads, a
/// script orders. Objects of the pages are theirs.
#[test]
fn a_browser_is_recorded() {
    let test = "a_browser_is_recorded";
    let Some(chromium) = find(test, "chromium") else { return };
    let place = Place::new();
    Authority::new(&place).certify(&place, "127.0.0.1", VALID);
    let desk = Desk::open_secure(&place, "127.0.0.1");
    let (address, url) = (free_address(), format!("https://{}/", desk.address));
    let (running, _) = recording(&place, &format!("{url} --cacert ca.pem --listen {address}"));
    let said = poll("what chromium is to accept", || {
        let said = running.said();
        let (_, rest) = said.split_once("--ignore-certificate-errors-spki-list=")?;
        rest.split_once(' ').map(|(digest, _)| digest.to_owned())
    });
    let mut command = std::process::Command::new(chromium);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--disable-dev-shm-usage", "--proxy-bypass-list=<-loopback>", "--remote-debugging-port=0"]);
    command.args([
        &format!("--user-data-dir={}", place.path("profile").display()),
        // Nothing of the browser's own in clear leaves the machine.
        &format!("--proxy-server=https={address};http=127.0.0.1:9"),
        &format!("--ignore-certificate-errors-spki-list={said}"),
        &url,
    ]);
    command.stdout(std::process::Stdio::null());
    command.stderr(fs::File::create(place.path("chromium.err")).expect("own file"));
    let browser = crate::common::Process::start(&mut command, &place);
    poll("the browser to order", || desk.books().done.then_some(()));
    drop(browser);
    running.signal(crate::common::Signal::INT);
    let ended = running.ended().exits(0);
    says(&ended, &["`csrf`, `id`", "cookies that a reply before sets are those of each user"]);
    let scenario = fs::read_to_string(place.path("recorded.toml")).expect("a scenario");
    assert!(scenario.contains("embedded = [\"/dot.gif\"]"), "{scenario}");
    assert!(!scenario.contains("headers.cookie"), "{scenario}");
    each_user_gets_its_own(&place, &desk, "--cacert ca.pem");
}
