//! Users who ask several hosts: which connection takes which request, and what goes from one to another.

use crate::scene::{Scene, Stage, ms};
use farfield_base::{HostNumber, Instant, Outcome};
use std::collections::{BTreeMap, BTreeSet};

const ONE_USER: &str = "{ model = 'closed', users = 1 }";
const HOSTS: [&str; 2] = ["api:8080", "cdn"];

/// The names of the hosts by number.
fn names() -> [&'static str; 3] {
    ["server", HOSTS[0], HOSTS[1]]
}

fn scene(load: &str) -> Scene {
    Scene { hosts: HOSTS.to_vec(), ..Scene::of(load) }
}

/// The value of a field of a request.
fn field<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let of_name = |line: &'a str| line.split_once(": ").filter(|(own, _)| own.eq_ignore_ascii_case(name));
    request.lines().find_map(|line| of_name(line).map(|(_, value)| value))
}

/// Targets that were asked for, each behind its host, in order; checks that connections lead to one host.
fn asked(stage: &Stage) -> Vec<String> {
    let on = |serial: &u32| names()[stage.leads_to[serial].index()];
    let one = |(_, serial, request): &(Instant, u32, String)| {
        assert_eq!(field(request, "Host"), Some(on(serial)), "{request}");
        format!("{}{}", on(serial), request.split(' ').nth(1).expect("a target"))
    };
    let all = stage.sent.iter().map(one).collect();
    for sample in stage.samples.iter().filter(|sample| sample.outcome == Outcome::Ok) {
        assert_eq!(sample.host, stage.leads_to[&sample.connection]);
    }
    all
}

const PAGE: &str = "[[request]]\npath = '/'\nembedded = ['http://cdn/1', 'http://cdn/2', 'http://cdn/3', \
    'http://api:8080/x', 'http://server/4', '/5']";

#[test]
fn each_request_goes_to_its_host() {
    let mut scene = scene(ONE_USER);
    scene.requests = crate::scene::requests(PAGE);
    scene.requests_max = Some(7);
    let mut asked = asked(&scene.play());
    asked.sort_unstable();
    assert_eq!(asked, ["api:8080/x", "cdn/1", "cdn/2", "cdn/3", "server/", "server/4", "server/5"]);
}

/// A user may have so many connections to each host, and what waits for one keeps nothing from another.
#[test]
fn hosts_do_not_wait_for_each_other() {
    let mut scene = scene(ONE_USER);
    scene.requests = crate::scene::requests(PAGE);
    scene.requests_max = Some(7);
    let stage = scene.play();
    // One connection to each host: a round trip to connect where there is none, and one reply after another.
    let begun = stage.samples.iter().find(|sample| sample.request == 0).expect("a page").done;
    let took: Vec<(u32, u64)> =
        stage.samples.iter().map(|own| (own.request, own.done.since(begun).as_ns() / 1_000_000)).collect();
    let expected: BTreeSet<(u32, u64)> =
        [(0, 0), (1, 25), (2, 40), (3, 55), (4, 25), (5, 15), (6, 30)].into_iter().collect();
    assert_eq!(took.into_iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(stage.leads_to.values().copied().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(stage.attempts.len(), 3);

    scene.policy = toml::from_str("parallel = 2").expect("a policy");
    let stage = scene.play();
    let to = |number| stage.leads_to.values().filter(|host| **host == HostNumber::at(number)).count();
    assert_eq!([to(0), to(1), to(2)], [2, 1, 2]);
    let last = stage.samples.iter().map(|own| own.done).max().expect("a page");
    assert_eq!(last.since(stage.samples[0].done), ms(40));
}

/// A machine keeps idle connections of each host, and gives a request none of another's.
#[test]
fn pools_are_of_one_host_each() {
    let mut scene = scene("{ model = 'hybrid', arrivals = '20/s' }");
    scene.requests = crate::scene::requests(
        "[[request]]\npath = '/'\n[[request]]\npath = 'http://api:8080/a'\n[[request]]\npath = 'http://cdn/b'",
    );
    scene.policy = toml::from_str("policy = 'shared-pool'\npool-idle = 1").expect("a policy");
    let stage = scene.play();
    let asked = asked(&stage);
    assert!(asked.len() > 100 && stage.attempts.len() < asked.len(), "{}", stage.attempts.len());
    assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), 3);
}

/// Workers share users of several hosts as they share others.
#[test]
fn workers_share_users_of_hosts() {
    let scene = || {
        let mut scene = scene("{ model = 'closed', users = 7, think = '30ms' }");
        scene.requests = crate::scene::requests(PAGE);
        scene
    };
    let rows = |stages: &[Stage]| {
        let all = stages.iter().flat_map(|stage| &stage.samples);
        let mut rows: Vec<_> = all.map(|own| (own.due, own.user, own.request, own.host, own.done)).collect();
        rows.sort_unstable();
        rows
    };
    let one = rows(&[scene().play()]);
    assert!(one.len() > 300);
    for workers in [2, 3] {
        let shares: Vec<Stage> = (0..workers).map(|worker| scene().play_share(worker, workers)).collect();
        assert_eq!(rows(&shares), one, "{workers} workers");
    }
}

/// A page with objects on all hosts, with redirects between them, cookies and links.
const SHOP: &str = "page-load = 'browser'\n[[state]]\nname = 'home'\npath = '/'\n\
    extract = { next = { css = 'a', attribute = 'href' } }\n\
    [[state]]\nname = 'login'\npath = 'http://api:8080/login?${session}'\nmethod = 'POST'\nbody = 'a=b'\n\
    headers = { Authorization = 'Bearer t' }\n\
    [[state]]\nname = 'next'\npath = '${next}'\n[[state]]\nname = 'last'\npath = '/last'\n";

fn shop(request: &str) -> String {
    let target = request.split(' ').nth(1).expect("a target");
    let host = field(request, "Host").expect("a host");
    let reply = |fields: &str, body: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{fields}\r\n{body}", body.len())
    };
    let html = "Content-Type: text/html\r\n";
    let redirect = |status: &str, to: &str, fields: &str| {
        format!("HTTP/1.1 {status} x\r\nLocation: {to}\r\n{fields}Content-Length: 0\r\n\r\n")
    };
    let path = target.split('?').next().unwrap_or(target);
    match (host, path) {
        ("server", "/") => reply(
            &format!("{html}Set-Cookie: s=1\r\n"),
            "<a href='//cdn/next/page'></a><img src='//cdn/a.png'><img src='http://elsewhere/no.png'>",
        ),
        ("api:8080", "/login") => redirect("307", "http://server/done", "Set-Cookie: t=2; Path=/\r\n"),
        ("cdn", "/next/page") => reply(html, "<img src='b.png'><img src='http://api:8080/c.png'>"),
        _ => reply("", "x"),
    }
}

#[test]
fn sessions_go_from_host_to_host() {
    let mut scene = scene(ONE_USER).session(SHOP);
    scene.server.script = Some(shop);
    scene.end.sessions = Some(1);
    scene.authorization = Some("Basic own".to_owned());
    let stage = scene.play();
    assert_eq!(
        asked(&stage),
        [
            "server/",
            "cdn/a.png",
            "api:8080/login?0",
            "server/done",
            "cdn/next/page",
            // Objects are asked for as the page comes, whose own connection is not free yet.
            "api:8080/c.png",
            "cdn/next/b.png",
            "server/last",
        ]
    );
    let sent: BTreeMap<String, &str> =
        asked(&stage).into_iter().zip(stage.sent.iter().map(|(_, _, request)| request.as_str())).collect();
    let cookies = |target: &str| field(sent[target], "Cookie");
    assert_eq!(cookies("cdn/a.png"), None);
    assert_eq!(cookies("api:8080/login?0"), None);
    assert_eq!(cookies("server/done"), Some("s=1"));
    assert_eq!(cookies("api:8080/c.png"), Some("t=2"));
    assert_eq!(cookies("server/last"), Some("s=1"));
    // A host has its own credentials, and a redirect elsewhere takes none along; the body goes with a 307.
    assert_eq!(field(sent["server/"], "Authorization"), Some("Basic own"));
    assert_eq!(field(sent["api:8080/login?0"], "Authorization"), Some("Bearer t"));
    assert_eq!(field(sent["server/done"], "Authorization"), Some("Basic own"));
    assert_eq!(field(sent["cdn/next/page"], "Authorization"), None);
    assert!(sent["server/done"].starts_with("POST ") && sent["server/done"].ends_with("\r\n\r\na=b"));
    assert_eq!(sent["server/done"].matches("Host: ").count(), 1);
    // Of a page of another host, a request names the host alone (strict-origin-when-cross-origin).
    assert_eq!(field(sent["cdn/a.png"], "Referer"), Some("http://server/"));
    assert_eq!(field(sent["cdn/next/b.png"], "Referer"), Some("http://cdn/next/page"));
    assert_eq!(field(sent["api:8080/c.png"], "Referer"), Some("http://cdn/"));
    assert_eq!(field(sent["server/last"], "Referer"), Some("http://cdn/"));
    let mut hosts: Vec<u8> = stage.samples.iter().map(|sample| sample.host.0).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [0, 0, 0, 1, 1, 2, 2, 2]);
}

/// A link to a host that the scenario does not name is not followed.
#[test]
fn links_to_other_hosts_lead_nowhere() {
    let session = "[[state]]\nname = 'home'\npath = '/'\nextract = { next = { css = 'a', attribute = 'href' } }\n\
        [[state]]\nname = 'next'\npath = '${next}'\n";
    let mut scene = scene(ONE_USER).session(session);
    scene.server.script = Some(|_| {
        let body = "<a href='http://elsewhere/'></a>";
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    });
    scene.end.sessions = Some(1);
    let stage = scene.play();
    assert_eq!(stage.count(Outcome::LinkElsewhere), 1);
    assert_eq!(asked(&stage), ["server/"]);
}

/// Links and forms that lead to another host take no credentials along, those of the host that a state names
/// itself do; a redirect within the other host keeps its own cookies apart.
#[test]
fn credentials_stay_with_their_host() {
    let session = "[[state]]\nname = 'home'\npath = '/'\nextract = { next = { css = 'a', attribute = 'href' } }\n\
        [[state]]\nname = 'link'\npath = '${next}'\n\
        headers = { Authorization = 'Bearer ${user}', Cookie = 'own=1', X-Trace = '${user}' }\n\
        [[state]]\nname = 'form'\nform = {}\nheaders = { Authorization = 'Bearer fixed' }\n\
        [[state]]\nname = 'call'\npath = 'http://cdn/call'\nheaders = { Authorization = 'Bearer cdn' }\n";
    let mut scene = scene(ONE_USER).session(session);
    scene.server.script = Some(|request| {
        let path = request.split(' ').nth(1).expect("a target");
        let body = match path {
            "/" => "<a href='http://cdn/next'></a>",
            "/there" => "<form method=post action='http://api:8080/login'></form>",
            _ => "x",
        };
        let head = match path {
            "/next" => "302 x\r\nLocation: /there\r\nSet-Cookie: c=2",
            _ => "200 OK\r\nContent-Type: text/html",
        };
        format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    });
    scene.end.sessions = Some(1);
    let stage = scene.play();
    assert_eq!(asked(&stage), ["server/", "cdn/next", "cdn/there", "api:8080/login", "cdn/call"]);
    let sent: Vec<&str> = stage.sent.iter().map(|(_, _, request)| request.as_str()).collect();
    let fields = |place: usize| ["Authorization", "Cookie"].map(|name| field(sent[place], name));
    assert_eq!(fields(1), [None, None]);
    assert_eq!(field(sent[1], "X-Trace"), Some("0"));
    assert_eq!(fields(2), [None, Some("c=2")], "the other host's own");
    assert_eq!(fields(3), [None, None]);
    assert_eq!(fields(4), [Some("Bearer cdn"), Some("c=2")]);
}

/// Load that no user is there for counts at the host that it would have asked.
#[test]
fn dropped_load_is_of_its_host() {
    let load = "{ model = 'hybrid', arrivals = '50/s', users-max = 1 }";
    let mut scene = scene(load).session("[[state]]\nname = 'a'\npath = 'http://api:8080/'");
    scene.server.service = ms(500);
    let stage = scene.play();
    assert!(stage.count(Outcome::Dropped) > 100);
    assert!(stage.samples.iter().all(|sample| sample.host == HostNumber::at(1)));
}
