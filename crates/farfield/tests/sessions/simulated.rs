//! Sessions in virtual time: what they take from the replies of a modelled server, the ways that they go,
//! recordings; the same seed leaves the same samples on any number of threads.

use crate::common::{Ended, Place};
use crate::shop::VISIT;
use farfield_base::{Outcome, PagePart, Sample};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The shop's answers, word for word.
const REPLIES: &str = r#"
[[simulated.reply]]
path = "/"
headers = { content-type = "text/html", set-cookie = "visitor=v7; Path=/; HttpOnly" }
body = "<link rel=stylesheet href=/bytes/3000><img src='/bytes/20000'><a href=/login>log in</a>"

[[simulated.reply]]
path = "/login"
headers.content-type = "text/html"
body = """<form action=/search><input name=q></form><p class=note>mind &amp; buy</p>
  <form id=login method=post action='login/check'><input type=hidden name=csrf value='t&amp;&lt;1'>
  <input name=user><input type=password name=pass><button name=go value=1>Go</button></form>"""

[[simulated.reply]]
path = "/login/check"
method = "POST"
status = 303
headers = { location = "account?from=login#top", set-cookie = ["sid=s1; Path=/", "sid=s5; Path=/"] }

[[simulated.reply]]
path = "/login/account"
headers = { content-type = "text/html", x-token = "k9" }
body = "<h1>Welcome user0</h1> mind & buy"

[[simulated.reply]]
path = "/api/items"
headers.content-type = "application/json"
body = '{"items": [11]}'

[[simulated.reply]]
path = "/cart"
status = 201
body = '{"cart":  "c4"}'

[[simulated.reply]]
path = "/cart/c4/order"
method = "POST"
body = "Order 1 for user0"
"#;

/// Clients on DSL and on a path that loses packets, and a server that takes its time.
const PEOPLE: &str = "
[network]
clients = 20
class = [{ name = 'dsl', access = 'dsl' }, { name = 'lossy', rtt = '60ms', down = { loss = '2%' } }]
[simulated]
workers = 4
service-time = { distribution = 'exponential', mean = '4ms' }
";

const LOAD: &str = "
plane = 'simulated'
seed = 7
load = { model = 'closed', users = 20, think = { distribution = 'exponential', mean = '200ms' } }
run = { warm-up = '0s', duration = '10s', drain = '20s' }
capture.gateway = true
";

/// The visit with one customer's name and password for all.
fn visit() -> String {
    let visit = VISIT.replace("PAGE-LOAD", "listed");
    visit.replace("order = \"unique\"", "order = \"in-order\"\nused-up = \"go-round\"")
}

fn run(place: &Place, session: &str, words: &str) -> Ended {
    place.write("users.csv", "name,pass\nuser0,\"p&0, x\"\n");
    place.write("sim.toml", format!("{LOAD}{PEOPLE}{session}"));
    place.run(&format!("sim.toml --warm-up 0s {words}"))
}

/// True if these bytes passed the server's gateway. Requests are shorter than a packet.
fn passed(ended: &Ended, bytes: &str) -> bool {
    let capture = fs::read(ended.directory.join("capture.pcapng")).expect("a capture");
    capture.windows(bytes.len()).any(|window| window == bytes.as_bytes())
}

fn count(samples: &[Sample], holds: impl Fn(&Sample) -> bool) -> usize {
    samples.iter().filter(|sample| holds(sample)).count()
}

#[test]
fn a_visit_takes_what_it_needs_from_replies_that_are_fixed() {
    let place = Place::new();
    let ended = run(&place, &format!("{}{REPLIES}", visit()), "-d 10s").exits(0);
    let samples = ended.samples();
    let bad: Vec<_> =
        samples.iter().filter(|s| !matches!(s.outcome, Outcome::Ok | Outcome::Unfinished)).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let pages: Vec<usize> = (0..6)
        .map(|state| count(&samples, |sample| sample.request == state && sample.page.begins()))
        .collect();
    assert!(pages.is_sorted_by(|one, next| one >= next) && pages[5] > 100, "{pages:?}");
    assert!(pages[0] - pages[5] <= 20, "each user is in one visit at most: {pages:?}");
    let redirects = count(&samples, |sample| sample.status == 303);
    assert!(redirects.abs_diff(pages[2]) <= 20 && redirects > 100, "{redirects} of {}", pages[2]);
    let window = |sample: &Sample| sample.due.as_ns() < 10_000_000_000;
    let states: Vec<(String, u64)> =
        ended.summary().states.into_iter().map(|state| (state.name, state.requests)).collect();
    let counted = (0..).zip(["home", "form", "login", "search", "add", "order"]).map(|(number, name)| {
        let own = count(&samples, |sample| sample.request == number && window(sample));
        (name.to_owned(), own as u64)
    });
    assert_eq!(states, counted.collect::<Vec<_>>());
    assert!(ended.stdout.contains("\nstate ") && ended.stdout.contains("\nlogin "), "{}", ended.stdout);
    for brought in [
        "GET /login HTTP/1.1\r\n",
        "Cookie: visitor=v7\r\n",
        "csrf=t%26%3C1&user=user0&pass=p%260%2C+x&go=1",
        "GET /login/account?from=login HTTP/1.1\r\n",
        "GET /api/items?q=3 HTTP/1.1\r\n",
        "x-token: k9\r\n",
        "{\"user\": \"user0\", \"item\": 11, \"sid\": \"s5\"}",
        "POST /cart/c4/order HTTP/1.1\r\n",
        "note=mind+%26+buy&user=",
    ] {
        assert!(passed(&ended, brought), "{brought}");
    }
    let cookies = ["visitor=v7; sid=s5\r\n", "sid=s5; visitor=v7\r\n"];
    assert!(cookies.iter().any(|cookies| passed(&ended, cookies)), "both cookies");
    let old = ["visitor=v7; sid=s1", "sid=s1; visitor=v7"];
    assert!(!old.iter().any(|cookies| passed(&ended, cookies)), "the cookie that was set over");
}

/// A part that a fixed reply lacks fails where it is missed, as it does with a real server.
#[test]
fn what_a_fixed_reply_lacks_is_missed() {
    for (from, to, state, outcome) in [
        ("Welcome ${name}", "Welcome back ${name}", 2, Outcome::CheckFailed),
        ("p.note", "p.remark", 1, Outcome::ExtractFailed),
        ("form#login\"", "form#signup\"", 2, Outcome::ExtractFailed),
        ("path = \"/cart/${cart|url}/order\"", "path = \"/cart/${cart|url}/5\"", 5, Outcome::CheckFailed),
        ("{ status = 201 }", "{ status = 200 }", 4, Outcome::CheckFailed),
    ] {
        let place = Place::new();
        let changed = visit().replace(from, to);
        assert_ne!(changed, visit(), "{from}");
        let samples = run(&place, &format!("{changed}{REPLIES}"), "-d 2s").exits(0).samples();
        let failed: BTreeMap<(u32, Outcome), usize> = samples
            .iter()
            .filter(|sample| !matches!(sample.outcome, Outcome::Ok | Outcome::Unfinished))
            .fold(BTreeMap::new(), |mut failed, sample| {
                *failed.entry((sample.request, sample.outcome)).or_default() += 1;
                failed
            });
        assert!(failed.len() == 1 && failed.contains_key(&(state, outcome)), "{to}: {failed:?}");
    }
    let place = Place::new();
    let without = visit()
        .replace("[session]", "[session]\ncookies = false")
        .replace("extract.sid = { cookie = \"sid\" }", "extract.sid = { header = \"X-Token\" }");
    let ended = run(&place, &format!("{without}{REPLIES}"), "-d 2s").exits(0);
    assert!(passed(&ended, "POST /login/check") && !passed(&ended, "Cookie:"), "no cookie is brought");
}

/// A run says how its sessions ended, which check broke them off and what came instead; on one thread and on
/// three.
#[test]
fn sessions_that_break_off_say_where_and_why() {
    let session = format!("{}{REPLIES}", visit().replace("Welcome ${name}", "Welcome back ${name}"));
    let left = |shards: &str| {
        let place = Place::new();
        let ended = run(&place, &session, &format!("-d 5s --set network.shards={shards}")).exits(0);
        let kept = fs::read_to_string(ended.directory.join("failures.txt")).expect("the first failures");
        (ended.summary(), kept, ended.stdout)
    };
    let (summary, kept, stdout) = left("1");
    let sessions = summary.sessions.clone().expect("users are in sessions");
    assert_eq!(sessions.begun, sessions.broken_off + sessions.unfinished);
    assert!(sessions.completed == 0 && sessions.broken_off > 100, "{sessions:?}");
    let [broken_off] = &sessions.broken_off_in[..] else { panic!("{sessions:?}") };
    assert_eq!((broken_off.state.as_str(), broken_off.count), ("login", sessions.broken_off));
    let [failure] = &summary.failures[..] else { panic!("{:?}", summary.failures) };
    assert_eq!(failure.what.as_deref(), Some("check.contains `Welcome back ${name}`"));
    let came = "status 200 and 33 bytes that begin `<h1>Welcome user0</h1> mind & buy`";
    assert_eq!((failure.outcome.as_str(), failure.instead.as_deref()), ("check-failed", Some(came)));
    assert_eq!(failure.count, summary.states[2].outcomes[1].count, "{:?}", summary.states[2]);
    assert!(summary.warnings.iter().any(|warning| warning.starts_with("no session reached its last state")));
    for part in ["x  check-failed in login: check.contains `Welcome back ${name}`\n", "broken off in login "]
    {
        assert!(stdout.contains(part), "{part} is not in {stdout}");
    }
    for part in [
        "failure 2 of 2",
        "GET /login/account?from=login HTTP/1.1\n",
        "x-token: (not shown)\n",
        "<h1>Welcome user0</h1>",
    ] {
        assert!(kept.contains(part), "{part} is not in {kept}");
    }
    let (again, kept_again, _) = left("3");
    assert_eq!((again.sessions, again.failures, kept_again), (Some(sessions), summary.failures, kept));
}

/// A run ends with the last of so many sessions; else those that are open at its end may finish; and a state
/// has its own thresholds.
#[test]
fn sessions_are_counted_to_their_end() {
    let place = Place::new();
    let session = format!("{}{REPLIES}", visit());
    let ended =
        run(&place, &session, "-d 60s --sessions 30 --threshold p99{login}<1s --threshold errors{order}<1%");
    let sessions = ended.exits(0).summary().sessions.expect("users are in sessions");
    assert_eq!((sessions.begun, sessions.completed, sessions.unfinished), (30, 30, 0));
    let summary = run(&place, &session, "-d 1s --threshold p99{login}<1ms").exits(99).summary();
    let sessions = summary.sessions.expect("users are in sessions");
    assert!(sessions.unfinished >= 10, "{sessions:?}");
    assert!(summary.thresholds[0].measured.is_some(), "{:?}", summary.thresholds);
    let ended = run(&place, &session, "-d 1s --set run.finish-sessions=1m --sessions 9999").exits(0);
    let (summary, samples) = (ended.summary(), ended.samples());
    let finished = summary.sessions.expect("users are in sessions");
    assert_eq!((finished.begun, finished.unfinished), (sessions.begun, 0), "no session is begun late");
    let last = samples.iter().map(|sample| sample.done.as_ns()).max().expect("there are samples");
    assert!((1_000_000_000..31_000_000_000).contains(&last), "it ends with the last of them: {last}");
    let numbers: BTreeSet<u32> = samples.iter().map(|sample| sample.session).collect();
    assert_eq!(numbers.len() as u64, finished.begun);
    let few = summary.warnings.iter().any(|warning| warning.contains("of 9999 sessions began"));
    assert!(few, "{:?}", summary.warnings);
    run(&place, &session, "--threshold p99{logn}<1s").exits(2).says(&["no state `logn`", "`login`"]);
}

/// One session, once through, by the same machine: what is sent, extracted and checked, and an exit code that
/// says whether all went well.
#[test]
fn a_session_is_tried_once() {
    let tried = |session: &str, words: &str| {
        let place = Place::new();
        place.write("users.csv", "name,pass\nuser0,\"p&0, x\"\n");
        place.write("sim.toml", format!("{LOAD}{PEOPLE}{session}{REPLIES}"));
        let ended = place.farfield(&format!("try sim.toml {words}"));
        assert!(!place.path("farfield-runs").exists(), "a trial leaves no run directory");
        ended
    };
    let well = tried(&visit(), "").exits(0);
    for part in [
        "  data name = user0\n",
        "\n1 home\n  GET http://192.0.2.1/\n  200, 87 bytes of text/html, ",
        "    embedded http://192.0.2.1/logo.png: 200, 1024 bytes, ",
        "  extract note = mind & buy\n",
        "  POST http://192.0.2.1/login/check\n    field csrf = t&<1\n    field user = user0\n",
        "    location: account?from=login#top\n  GET http://192.0.2.1/login/account?from=login\n",
        "\nsession completed: 6 pages, 8 requests\n",
    ] {
        assert!(well.stdout.contains(part), "{part}: {}", well.stdout);
    }
    let wrong = visit().replace("Welcome ${name}", "Welcome\\u001b ${name}");
    let bad = tried(&wrong, "").exits(99);
    for part in [
        "  check contains \"Welcome\\u{1b} user0\" does not hold\n  FAILED check-failed\n",
        "    the reply's text: Welcome user0 mind & buy\n\nsession broken off at login: 3 pages, 5 requests\n",
    ] {
        assert!(bad.stdout.contains(part), "{part}: {}", bad.stdout);
    }
    assert!(!bad.stdout.contains('\u{1b}'));
    let hostile = visit().replace("user=${user}", "user=\\u001b${user}");
    assert!(tried(&hostile, "").exits(0).stdout.contains("user=\\u001B0\n"));
    let whole = tried(&visit(), "--trace").exits(0);
    for part in [
        "    > Cookie: visitor=v7\n",
        "    < x-token: (not shown)\n    < Content-Length: 33\n    <\n    < <h1>Welcome",
    ] {
        assert!(whole.stdout.contains(part), "{part}: {}", whole.stdout);
    }
    let lost = visit().replace("form#login\"", "form#signup\"");
    assert!(
        tried(&lost, "").exits(99).stdout.contains("FAILED extract-failed, and nothing was sent: the page")
    );
    tried("[[requests.request]]\npath = '/'\n", "").exits(2).says(&["[[session.state]]"]);
}

/// A value of the environment is sent, and stands in no file that a run leaves and in nothing that is
/// printed.
#[test]
fn what_the_environment_has_is_not_written_out() {
    let place = Place::new();
    // Set by the caller of this test, and by nobody for the place that it runs in.
    let value = env!("CARGO_MANIFEST_DIR");
    let states = "[[session.state]]\nname = 'a'\npath = '/a?${env.CARGO_MANIFEST_DIR|url}'\n\
        headers.x-token = '${env.CARGO_MANIFEST_DIR}'\n\
        [[session.state]]\nname = 'b'\npath = '/b'\nheaders.x-token = '${env.CARGO_MANIFEST_DIR}'\n\
        [[simulated.reply]]\npath = '/b'\nstatus = 404\n";
    place.write("sim.toml", format!("plane = 'simulated'\nload.users = 2\nnetwork.rtt = '20ms'\n{states}"));
    let ended = place.run("sim.toml").exits(0);
    let looks = [value.to_owned(), value.replace('/', "%2F")];
    let mut files = 0;
    for file in fs::read_dir(&ended.directory).expect("a run directory") {
        let path = file.expect("a file").path();
        let bytes = fs::read(&path).expect("a file");
        files += 1;
        for look in &looks {
            assert!(!bytes.windows(look.len()).any(|part| part == look.as_bytes()), "{}", path.display());
        }
    }
    assert!(files > 3);
    let failures = fs::read_to_string(ended.directory.join("failures.txt")).expect("failures");
    assert!(failures.contains("x-token: ${env.CARGO_MANIFEST_DIR}"), "{failures}");
    let scenario = fs::read_to_string(ended.directory.join("scenario.toml")).expect("the scenario");
    assert!(scenario.contains("${env.CARGO_MANIFEST_DIR}"), "it runs again: {scenario}");
    let tried = place.farfield("try sim.toml --trace").exits(99);
    assert!(tried.stdout.contains("    > x-token: ${env.CARGO_MANIFEST_DIR}\n"), "{}", tried.stdout);
    let shown = place.farfield("run sim.toml --show-scenario").exits(0);
    for ended in [ended, tried, shown] {
        let all = [&ended.stdout, &ended.stderr].map(String::as_str).concat();
        assert!(!looks.iter().any(|look| all.contains(look.as_str())), "{all}");
    }
}

/// Checks of elements and of JSON, and what a page says in another charset.
#[test]
fn values_of_replies_are_checked() {
    let replies = "[[simulated.reply]]\npath = '/a'\nheaders.content-type = 'text/html'\n\
        body = '<p id=sum> 3 </p><i>x</i>'\n[[simulated.reply]]\npath = '/j'\n\
        body = '{\"items\": [{\"id\": 5}, {\"id\": 7}], \"state\": \"paid\"}'\n";
    let states = "[[session.state]]\nname = 'a'\npath = '/a'\nextract.sum = { css = '#sum' }\nCSS\n\
        [[session.state]]\nname = 'j'\npath = '/j'\nJSON\n";
    let tried = |css: &str, json: &str, code: i32, part: &str| {
        let place = Place::new();
        let states = states.replace("CSS", css).replace("JSON", json);
        place.write("sim.toml", format!("{LOAD}{PEOPLE}{states}{replies}"));
        let ended = place.farfield("try sim.toml").exits(code);
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    };
    let all = "check.json = { '/items/*/id' = '7', '/state' = 'paid', '/no' = false }";
    tried("check.css = ['#sum', 'i']", all, 0, "session completed");
    let other = "  check json \"/items/0/id\" = \"3\" does not hold\n    instead: \"5\"\n";
    tried("check.css = { '#sum' = 3, 'b' = false }", "check.json = { '/items/0/id' = '${sum}' }", 99, other);
    let other = "  check css \"#sum\" = \"4\" does not hold\n    instead: \"3\"\n";
    tried("check.css = { '#sum' = '4' }", "", 99, other);
    tried("check.css = { 'i' = false }", "", 99, "  check css \"i\" = false does not hold\n");
    tried("check.css = 'b'", "check.json = '/x'", 99, "    instead: nothing there\n");
}

/// Ways by table, by weight and by list, cookies and pages as a browser loads them: twice the same, on one
/// thread and on three.
#[test]
fn the_same_seed_leaves_the_same_samples() {
    let browser = "
[session]
page-load = 'browser'
cache = true
entry = 'home'
transitions = { home = { item = 0.7, end = 0.3 }, item = { home = 0.2, item = 0.5, back = 0.1, end = 0.2 } }
[[session.state]]
name = 'home'
path = '/'
[[session.state]]
name = 'item'
path = '/bytes/${random(1000,50000)}'
";
    let weighted = "
[session]
path = { one = 3, other = 1 }
clicks = { distribution = 'geometric', mean = 6 }
[[session.state]]
name = 'one'
path = '/'
[[session.state]]
name = 'other'
path = '/bytes/70000?${user}'
embedded = ['/bytes/10']
";
    for session in
        [format!("{}{REPLIES}", visit()), format!("{browser}{REPLIES}"), format!("{weighted}{REPLIES}")]
    {
        let left = |shards: &str| {
            let place = Place::new();
            let ended = run(&place, &session, &format!("-d 10s --set network.shards={shards}")).exits(0);
            ["samples.parquet", "capture.pcapng"]
                .map(|file| fs::read(ended.directory.join(file)).expect("a file"))
        };
        let once = left("1");
        assert!(once.iter().all(|bytes| bytes.len() > 10_000), "{session}");
        for shards in ["1", "3"] {
            assert!(left(shards) == once, "on {shards}: {session}");
        }
    }
}

/// A table of transitions is gone through as often as its probabilities say. From h the next is h with 0.5
/// and i with 0.3, from i it is h with 0.6: the visits of a session are 1/(1 − 0.5 − 0.3·0.6) of h and 0.3
/// times as many of i.
#[test]
fn a_table_is_gone_through_as_it_says() {
    let place = Place::new();
    let session = "
[session]
transitions = { h = { h = 0.5, i = 0.3, end = 0.2 }, i = { h = 0.6, end = 0.4 } }
[[session.state]]
name = 'h'
path = '/'
[[session.state]]
name = 'i'
path = '/i'
";
    let load =
        "load = { model = 'hybrid', arrivals = { process = 'constant', rate = '100/s' }, think = '10ms' }\n";
    let text =
        LOAD.replace(&LOAD[LOAD.find("load =").expect("a load")..LOAD.find("run =").expect("phases")], load);
    place.write("sim.toml", format!("{text}\n{PEOPLE}{session}"));
    let samples = place.run("sim.toml --warm-up 0s -d 30s --set run.drain=30s").exits(0).samples();
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok));
    let sessions = 3000.0;
    let [h, i] = [0, 1].map(|state| count(&samples, |sample| sample.request == state) as f64);
    // A visit to h is followed by no other with 0.32: how many a session has is geometric.
    let (mean, deviation) = (1.0 / 0.32, (0.68_f64).sqrt() / 0.32);
    assert!((h / sessions - mean).abs() < 4.0 * deviation / sessions.sqrt(), "{h} of h");
    assert!((i / h - 0.3).abs() < 4.0 * (0.21 / h).sqrt(), "{i} of i after {h} of h");
}

/// A demand that a model of a server cannot meet is reported when the scenario is read, with its key, its
/// line and what would do.
#[test]
fn what_no_reply_could_give_is_refused() {
    let place = Place::new();
    let state = |more: &str| format!("[[session.state]]\nname = 'a'\npath = '/a'\n{more}\n");
    let reply = "[[simulated.reply]]\npath = '/b'\n";
    for (text, parts) in [
        (
            state("extract.t = { css = 'a' }"),
            vec!["x.toml:7: session.state[0].extract.t: ", "`/a`", "[[simulated.reply]]"],
        ),
        (
            state("extract.t = { cookie = 'sid' }") + reply,
            vec!["session.state[0].extract.t: ", "another plane"],
        ),
        (state("check.contains = 'x'"), vec!["x.toml:7: session.state[0].check.contains: "]),
        (state("check.status = 201"), vec!["session.state[0].check.status: "]),
        (state("check.header = { x-a = 'b' }"), vec!["session.state[0].check.header.x-a: "]),
        (
            state("[[session.state]]\nname = 'f'\nform = {}"),
            vec!["x.toml:9: session.state[1].form: ", "`/a`"],
        ),
        (
            format!("[session]\npage-load = 'browser'\n{}", state("")),
            vec!["x.toml:5: session.page-load: ", "content-type"],
        ),
        (format!("{reply}status = 100\n"), vec!["simulated.reply[0].status: ", "from 200 to 599"]),
        (
            format!("{reply}headers = {{ connection = 'close' }}\n"),
            vec!["simulated.reply[0].headers.connection: "],
        ),
        (format!("{reply}{reply}"), vec!["simulated.reply[1].path: ", "same path"]),
        (format!("{reply}body = {{ file = 'no.html' }}\n"), vec!["simulated.reply[0].body: ", "no.html"]),
    ] {
        place.write("x.toml", format!("plane = 'simulated'\n[load]\nusers = 2\n{text}"));
        place.run("x.toml").exits(2).says(&parts);
    }
    // A check that holds of any reply is no reason, nor is an extraction with a default value.
    for fine in [
        "check = { status = '2xx', lacks = 'error', header = { x = false } }",
        "extract.t = { css = 'a', default = 'x' }",
    ] {
        place.write("x.toml", format!("plane = 'simulated'\nload.users = 2\n{}", state(fine)));
        place.run("x.toml").exits(0);
    }
}

/// Recordings of each format, asked for again in virtual time: as often as they have it, at their instants to
/// the nanosecond, whatever was under way before.
#[test]
fn recordings_are_asked_for_again() {
    let place = Place::new();
    let line = |client: u32, second: u32, path: &str| {
        format!("10.0.0.{client} - - [10/Oct/2000:13:55:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 10\n")
    };
    let log: Vec<String> =
        (0..20).map(|n| line(n % 4, n / 5, if n % 3 == 0 { "/" } else { "/b.html" })).collect();
    place.write("access.log", log.concat());
    let entry = |at: &str, page: &str, path: &str| {
        format!(
            r#"{{"startedDateTime": "2024-05-01T12:00:{at}Z", "time": 20, "pageref": "{page}",
               "request": {{"method": "GET", "url": "https://shop.example{path}", "headers": []}}}}"#
        )
    };
    let entries = [("00.000", "p1", "/"), ("00.050", "p1", "/a.css"), ("02.250", "p2", "/bytes/9000")];
    let entries = entries.map(|(at, page, path)| entry(at, page, path)).join(",");
    place.write("it.har", format!(r#"{{"log": {{"version": "1.2", "entries": [{entries}]}}}}"#));
    place.write(
        "it.wsesslog",
        "/ think=0.5\n  /a.png\n  /b.png\n/buy method=POST contents='x=1'\n\n/bytes/500\n",
    );
    let asked = |name: &str, more: &str| {
        let text =
            format!("plane = 'simulated'\nnetwork.rtt = '20ms'\n{more}\nsession.replay.file = '{name}'\n");
        place.write("again.toml", text);
        let mut samples = place.run("again.toml --warm-up 0s -d 5s").exits(0).samples();
        assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok), "{name}: {samples:?}");
        samples.sort_by_key(|sample| sample.due);
        samples
    };
    let begun = |samples: &[Sample]| -> Vec<u64> {
        let begun = samples.iter().filter(|sample| sample.page.begins());
        begun.map(|sample| sample.due.as_ns() / 1_000_000).collect()
    };

    let samples = asked("access.log", "session.replay.speed = 2.0");
    assert_eq!(begun(&samples), [[0; 5], [500; 5], [1000; 5], [1500; 5]].concat());
    assert_eq!([0, 1].map(|request| count(&samples, |sample| sample.request == request)), [7, 13]);

    let samples = asked("it.har", "");
    assert_eq!((begun(&samples), samples.len()), (vec![0, 2250], 3));
    assert_eq!(samples.iter().map(|sample| sample.body_bytes).collect::<Vec<_>>(), [1024, 1024, 9000]);

    let samples = asked(
        "it.wsesslog",
        "load = { model = 'closed', users = 1, think = '1h' }\nsession.replay.timing = 'gaps'",
    );
    assert_eq!(count(&samples, |sample| sample.page == PagePart::Begins), 1);
    let page =
        samples.iter().filter(|sample| sample.request < 3).map(|sample| sample.done).max().expect("a page");
    let buy = samples.iter().find(|sample| sample.request == 3).expect("what is bought");
    assert_eq!(
        (buy.due.since(page).as_ns(), buy.page),
        (500_000_000, PagePart::Whole),
        "half a second behind the page"
    );
}

/// The set-up of a run is answered by the model in a time of its own, and leaves nothing in the samples.
#[test]
fn a_simulated_run_is_set_up() {
    let place = Place::new();
    let state = |name: &str, path: &str| format!("[[session.state]]\nname = '{name}'\npath = '{path}'\n");
    let text = [
        "plane = 'simulated'\nload.users = 2\nnetwork.rtt = '20ms'\n",
        "[session]\nset-up = ['make']\ntear-down = ['unmake']\n",
        &state("make", "/make"),
        "extract.key = { header = 'x-key' }\n",
        &state("way", "/way?${key}"),
        &state("unmake", "/unmake?${key}"),
        "[[simulated.reply]]\npath = '/make'\nheaders = { x-key = 'k3' }\n",
        "[[simulated.reply]]\npath = '/way'\nstatus = 404\n[[simulated.reply]]\npath = '/way?k3'\n",
    ];
    place.write("sim.toml", text.concat());
    let samples = place.run("sim.toml").exits(0).samples();
    assert!(samples.len() > 20, "{} samples", samples.len());
    assert!(
        samples
            .iter()
            .all(|sample| sample.request == 1 && matches!(sample.outcome, Outcome::Ok | Outcome::Unfinished))
    );
}

/// The summary has each link that clients share in both directions, by the nodes that it leads from and to:
/// replies of a kilobyte go away from the server, and each link's load is what it carried over what it could.
#[test]
fn shared_links_are_counted_from_node_to_node() {
    let place = Place::new();
    let scenario = "plane = 'simulated'\nrun = { duration = '2s', warm-up = '200ms', drain = '0s' }\n\
        load = { model = 'open', arrivals = '60/s' }\n\
        [[network.class]]\nname = 'home'\nhosts = ['one']\n[[network.class]]\nname = 'office'\nhosts = ['two']\n\
        [network.topology]\nserver = 'www'\nhosts = ['www', 'one', 'two']\nrouters = ['core']\nlinks = [\n\
        { from = 'www', to = 'core', link = { rate = '1Mbit', delay = '1ms' } },\n\
        { from = 'core', to = 'one', link = { rate = '2Mbit', delay = '9ms' } },\n\
        { from = 'core', to = 'two', link = { rate = '3Mbit', delay = '3ms' } }]\n";
    place.write("s.toml", scenario);
    let ended = place.farfield("run s.toml -q -o run").exits(0);
    let text = std::fs::read_to_string(place.path("run/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let topology = &summary["network"]["topology"];
    let link = |from: &str, to: &str| {
        let links = topology["links"].as_array().expect("links");
        let found = links.iter().find(|link| link["from"] == from && link["to"] == to);
        let link =
            found.unwrap_or_else(|| panic!("no link from {from} to {to}: {topology} {}", ended.stdout));
        let number = |key: &str| link[key].as_f64().expect("a number");
        assert!((number("load") - number("bytes") * 8.0 / 1e6 / 2.2).abs() < 0.005, "{link}");
        number("bytes")
    };
    let requests = summary["steady"]["requests"].as_f64().expect("a number");
    assert!(link("www", "core") > 1024.0 * requests && link("core", "www") < 256.0 * requests, "{topology}");
    let attached = topology["attached"].as_array().expect("groups");
    let classes: Vec<&str> = attached.iter().filter_map(|group| group["class"].as_str()).collect();
    assert_eq!((classes, &topology["servers"]), (vec!["home", "office"], &serde_json::json!(["www"])));
}
