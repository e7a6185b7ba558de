//! Sessions as results: when they begin and end, which check failed, and what came instead.

use super::{ONE, line, reply, scripted};
use crate::scene::{Scene, Server, Stage, ms, requests};
use farfield_base::{KeptExchange, Note, Outcome, Sample, SessionEnd, SessionFailure};

const SHOP: &str = r#"
[[data]]
file = "users.csv"
[[state]]
name = "home"
path = "/"
check = { status = 200, header = { x-shop = "open" }, contains = ["Welcome", "${name}"], lacks = "Sorry", regex = "[0-9]+ items" }
extract.token = { regex = "t=([0-9]+)" }
[[state]]
name = "buy"
path = "/buy"
form.select = "form.buy"
"#;

const HOME: &str = "Welcome ann, bob and cat: 3 items, t=7 <form class=buy action=/buy></form>";

pub(super) fn ends(stage: &Stage) -> Vec<SessionEnd> {
    stage
        .notes
        .iter()
        .filter_map(|note| if let Note::Ended(end) = note { Some(*end) } else { None })
        .collect()
}

fn failures(stage: &Stage) -> Vec<&SessionFailure> {
    stage
        .notes
        .iter()
        .filter_map(|note| if let Note::Failed(failure) = note { Some(&**failure) } else { None })
        .collect()
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn a_failure_names_its_check_and_what_came_instead() {
    let (failed, missing) = (Outcome::CheckFailed, Outcome::ExtractFailed);
    let open = "X-Shop: open\r\n";
    // Each: status, header lines and body of all replies; state and outcome of the first failure, what
    // failed, what came.
    for (status, lines, body, state, outcome, what, instead) in [
        (204, "", "", 0, failed, "check.status", "status 204"),
        (404, "", "gone", 0, Outcome::Status4xx, "check.status", "status 404 and 4 bytes that begin `gone`"),
        (200, "X-Shop: shut\r\n", "", 0, failed, "check.header `x-shop`", "it is `shut`"),
        (200, "", HOME, 0, failed, "check.header `x-shop`", "there is no such field"),
        (
            200,
            open,
            "Bye\r\n\x1b[2J ann, 3 items\tt=1",
            0,
            failed,
            "check.contains `Welcome`",
            "status 200 and 26 bytes that begin `Bye [2J ann, 3 items t=1`",
        ),
        (
            200,
            open,
            "Welcome 3 items",
            0,
            failed,
            "check.contains `${name}`",
            "status 200 and 15 bytes that begin `Welcome 3 items`",
        ),
        (
            200,
            open,
            "Welcome ann, 3 items. Sorry, you must wait",
            0,
            failed,
            "check.lacks `Sorry`",
            "a body with `Welcome ann, 3 items. Sorry, you must wait`",
        ),
        (
            200,
            open,
            "Welcome ann",
            0,
            failed,
            "check.regex `[0-9]+ items`",
            "status 200 and 11 bytes that begin `Welcome ann`",
        ),
        (
            200,
            open,
            "Welcome ann, 3 items",
            0,
            missing,
            "extract.token",
            "status 200 and 20 bytes that begin `Welcome ann, 3 items`",
        ),
        (
            200,
            open,
            "Welcome ann, 3 items t=1",
            1,
            missing,
            "form `form.buy`",
            "the page before has no such form: /",
        ),
    ] {
        let mut scene = scripted(ONE, SHOP, |_| unreachable!("all replies are alike"));
        scene.server = Server { reply: reply(status, lines, body).leak(), ..Server::default() };
        let stage = scene.play();
        let all = failures(&stage);
        let first = all.first().expect("something fails");
        assert_eq!(all.len(), stage.samples.len() - stage.count(Outcome::Ok));
        assert_eq!(
            (first.state, first.outcome, &*first.what, first.instead.as_deref()),
            (state, outcome, what, Some(instead))
        );
    }
}

const PAID: &str = "
[[state]]
name = 'a'
path = '/'
check.css = { '#sum' = '4' }
[[state]]
name = 'b'
path = '/b'
check.json = { '/state' = 'paid' }
";

#[test]
fn checks_of_values_say_the_value_that_came() {
    let html = scripted(ONE, PAID, |_| reply(200, "", "<p id=sum>3</p>")).play();
    let json = scripted(ONE, &PAID.replace("'4'", "true"), |_| reply(200, "", "{\"state\": \"<p id=sum>\"}"));
    for (stage, what, instead) in
        [(html, "check.css `#sum`", "\"3\""), (json.play(), "check.json `/state`", "\"<p id=sum>\"")]
    {
        let first = failures(&stage)[0];
        assert_eq!((&*first.what, first.instead.as_deref()), (what, Some(instead)));
    }
}

/// Of the first failures request and reply are kept, and of the others nothing.
#[test]
fn the_first_failures_keep_request_and_reply() {
    let mut scene = scripted(ONE, SHOP, |_| reply(503, "X-Why: full\r\n", "later"));
    scene.length = ms(20_000);
    let stage = scene.play();
    let failures = failures(&stage);
    assert!(failures.len() > 20, "{}", failures.len());
    let kept: Vec<&KeptExchange> =
        failures.iter().filter_map(|failure| failure.exchange.as_deref()).collect();
    assert_eq!(kept.len(), KeptExchange::OF_A_KIND);
    assert!(kept[0].request.starts_with(b"GET / HTTP/1.1\r\n"), "{:?}", kept[0]);
    assert_eq!(*kept[0].head, *b"HTTP 503\r\nX-Why: full\r\nContent-Length: 5\r\n");
    assert_eq!((&*kept[0].body, kept[0].body_bytes), (&b"later"[..], 5));
    assert!(failures.iter().skip(1).all(|failure| failure.instead.is_none()));
}

#[test]
fn what_is_kept_of_a_reply_is_bounded() {
    let stage = scripted(ONE, SHOP, |_| reply(500, "", &"x".repeat(100_000))).play();
    let kept = failures(&stage)[0].exchange.as_deref().expect("the first is kept").clone();
    assert_eq!(kept.body.len(), KeptExchange::BYTES);
}

const PAGE: &str = "
page-load = 'browser'
[[state]]
name = 'home'
path = '/'
";

fn page(request: &str) -> String {
    match line(request).split(' ').nth(1) {
        Some("/") => reply(200, "Content-Type: text/html\r\n", "<img src=a.png><img src=/b.png?x=1>"),
        Some("/a.png") => reply(200, "", "image"),
        _ => reply(404, "", "no such image"),
    }
}

#[test]
fn an_embedded_object_that_fails_tells_its_path() {
    let stage = scripted(ONE, PAGE, page).play();
    let failures = failures(&stage);
    let bad = stage.samples.iter().filter(|sample| sample.outcome == Outcome::Status4xx).count();
    assert_eq!(failures.len(), bad);
    assert!(bad > 2 && failures.iter().all(|failure| &*failure.what == "/b.png?x=1"), "{failures:?}");
    let exchange = failures[0].exchange.as_deref().expect("the first is kept");
    assert!(exchange.request.starts_with(b"GET /b.png?x=1 HTTP/1.1\r\n"));
    assert_eq!(&*exchange.body, b"no such image");
    assert_eq!(failures[0].status, 404);
}

/// So does one of a set of pages, and of a recording: by its path alone.
#[test]
fn an_embedded_object_of_a_set_tells_its_path() {
    let mut scene = Scene::of(ONE);
    scene.requests = requests("[[request]]\npath = '/'\nembedded = ['/a.png', '/b.png']");
    scene.server.script = Some(|request| match line(request) {
        "GET /b.png HTTP/1.1" => reply(404, "", ""),
        _ => reply(200, "", ""),
    });
    let log = "/ think=1\n  /a.png\n  /b.png\n";
    let mut again = Scene::replay("x.wsesslog", log, "timing = 'gaps'", ONE);
    again.server.script = scene.server.script;
    for stage in [scene.play(), again.play()] {
        let failures = failures(&stage);
        assert_eq!(failures.len(), stage.count(Outcome::Status4xx));
        assert!(failures.len() > 3 && failures.iter().all(|failure| &*failure.what == "/b.png"));
        assert_eq!((failures[0].state, failures[0].status), (SessionFailure::NO_STATE, 404));
    }
}

const TWO: &str = "
[[state]]
name = 'a'
path = '/a'
[[state]]
name = 'b'
path = '/b'
";

/// Two pages of 15 ms, the first behind a handshake of 10 ms, with 100 ms of thinking between them and
/// behind.
#[test]
fn a_session_lasts_from_its_first_page_to_its_last() {
    let stage = scripted(ONE, TWO, |_| reply(200, "", "")).play();
    let ends = ends(&stage);
    let begun = stage.notes.iter().filter(|note| matches!(note, Note::Begun(_))).count();
    assert!(ends.len() >= 7 && begun - ends.len() <= 1, "{begun} begun, {} ended", ends.len());
    for (number, end) in (0..).zip(&ends) {
        assert_eq!((end.begin.session, end.begin.user, end.broken_off), (number, 0, None));
        assert_eq!(end.at.since(end.begin.due), ms(10 + 15 + 100 + 15));
        let own: Vec<&Sample> = stage.samples.iter().filter(|sample| sample.session == number).collect();
        assert_eq!((own.len(), own[0].due, own[1].done), (2, end.begin.due, end.at));
    }
}

#[test]
fn a_session_that_is_broken_off_says_where() {
    let script = |request: &str| match line(request) {
        "GET /a HTTP/1.1" => reply(200, "", ""),
        _ => reply(500, "", ""),
    };
    let broken_off = |on_failure: &str| {
        let stage = scripted(ONE, &format!("on-failure = '{on_failure}'\n{TWO}"), script).play();
        ends(&stage).first().expect("some end").broken_off
    };
    assert_eq!([broken_off("end-session"), broken_off("retry 1")], [Some(1); 2]);
    assert_eq!(broken_off("go-on"), None, "it goes its whole way all the same");
}

/// However many workers there are, sessions have the same numbers, and samples say whose they are.
#[test]
fn workers_number_sessions_together() {
    let scene = |load: &str| scripted(load, TWO, |_| reply(200, "", ""));
    for load in [
        "{ model = 'closed', users = 5, think = '100ms' }",
        "{ model = 'hybrid', arrivals = '20/s', think = '50ms' }",
    ] {
        let numbers = |stages: &[Stage]| {
            let mut numbers: Vec<(u32, u32)> = stages
                .iter()
                .flat_map(|stage| &stage.samples)
                .map(|sample| (sample.session, sample.user))
                .collect();
            numbers.sort_unstable();
            numbers
        };
        let one = numbers(&[scene(load).play()]);
        let three: Vec<Stage> = (0..3).map(|worker| scene(load).play_share(worker, 3)).collect();
        assert_eq!(one, numbers(&three));
        assert!(one.iter().all(|(session, _)| *session != Sample::NO_SESSION));
    }
    let plain = Scene::of(ONE).play();
    assert!(
        plain.samples.iter().all(|sample| sample.session == Sample::NO_SESSION) && plain.notes.is_empty()
    );
}

fn begun(stage: &Stage) -> usize {
    stage.notes.iter().filter(|note| matches!(note, Note::Begun(_))).count()
}

/// Exactly so many sessions are begun, however many users and workers there are, and all of them end.
#[test]
fn so_many_sessions_and_no_more() {
    for load in [
        "{ model = 'closed', users = 1, think = '100ms' }",
        "{ model = 'closed', users = 5, think = '100ms' }",
        "{ model = 'closed', users = 40, think = '100ms', ramp = '500ms' }",
        "{ model = 'hybrid', arrivals = { process = 'constant', rate = '20/s' }, think = '100ms', requests = 9 }",
    ] {
        for workers in [1, 3] {
            let mut scene = scripted(load, TWO, |_| reply(200, "", ""));
            scene.length = ms(60_000);
            scene.end.sessions = Some(20);
            let stages: Vec<Stage> = (0..workers).map(|worker| scene.play_share(worker, workers)).collect();
            let count = |of: fn(&Stage) -> usize| stages.iter().map(of).sum::<usize>();
            assert_eq!(
                (count(begun), count(|stage| ends(stage).len())),
                (20, 20),
                "{load}, {workers} workers"
            );
            assert_eq!(count(|stage| stage.samples.len()), 40, "{load}: no request besides");
            assert!(stages.iter().all(|stage| stage.counts.missed == 0));
        }
    }
}

/// The load ends at 300 ms. Sessions that have begun by then go on for as long as they may, and no longer.
#[test]
fn sessions_may_finish() {
    let long = "
think = { distribution = 'constant', value = '200ms' }
path = ['a', 'b', 'a', 'b', 'a']
"
    .to_owned()
        + TWO;
    let play = |finish| {
        let mut scene =
            scripted("{ model = 'closed', users = 4, ramp = '200ms' }", &long, |_| reply(200, "", ""));
        scene.length = ms(300);
        scene.end.finish = ms(finish);
        let stage = scene.play();
        let last = stage.sent.iter().map(|(at, _, _)| *at).max().expect("something is sent");
        (begun(&stage), ends(&stage).len(), last.as_ns() / 1_000_000, stage.samples.len())
    };
    // A session takes 10 + 5 · 15 + 4 · 200 ms; users begin every 50 ms.
    assert_eq!(play(0), (4, 0, 275, 6), "off unless asked for");
    assert_eq!(play(10_000), (4, 4, 150 + 10 + 4 * 215, 20));
    // Only the first has sent its last page by then: at 10 + 4 · 215 ms.
    assert_eq!(play(600), (4, 1, 870, 17));
}
