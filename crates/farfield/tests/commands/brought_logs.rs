//! Logs as other programs write them, before a server that counts: what is in them is sent, as it is, and
//! visitors are who they were.

use crate::common::{CALM, Place};
use crate::counting::Counting;
use std::thread;

/// A line of a log.
struct Visit {
    client: &'static str,
    agent: &'static str,
    method: &'static str,
    target: String,
    /// Since 2026-03-29T00:30:00Z.
    second: u64,
}

/// A layout: its name in messages, whether it has agents, and how it writes a line.
type Kind = (&'static str, bool, fn(&Visit) -> String);

const KINDS: [Kind; 12] = [
    ("combined", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        let at = clf(own.second);
        format!("{client} - - [{at}] \"{method} {target} HTTP/1.1\" 200 600 \"-\" \"{agent}\"")
    }),
    ("vhost", false, |own| {
        let Visit { client, agent, method, target, .. } = own;
        let at = clf(own.second);
        format!(
            "shop.example:443 {client} - - [{at}] \"{method} {target} HTTP/1.1\" 200 600 \"-\" \"{agent}\""
        )
    }),
    ("alb", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "h2 {}.123456Z app/shop/50dc {client}:40000 10.0.0.7:80 0.000 0.012 0.000 200 200 34 600 \
             \"{method} https://shop.example:443{target} HTTP/2.0\" \"{agent}\" - -",
            iso(own.second)
        )
    }),
    ("envoy", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "[{}.123Z] \"{method} {target} HTTP/1.1\" 200 - 0 600 12 11 \"{client}\" \"{agent}\" \"id\" \
             \"shop.example\" \"10.0.0.7:80\"",
            iso(own.second)
        )
    }),
    ("heroku", false, |own| {
        let Visit { client, method, target, .. } = own;
        format!(
            "{}.123456+00:00 heroku[router]: at=info method={method} path=\"{target}\" host=shop.example request_id=7 \
             fwd=\"{client}\" dyno=web.1 connect=1ms service=12ms status=200 bytes=600 protocol=https",
            iso(own.second)
        )
    }),
    ("caddy", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "{{\"ts\":{}.5,\"request\":{{\"remote_ip\":\"{client}\",\"method\":\"{method}\",\"uri\":\"{target}\",\"headers\":\
             {{\"User-Agent\":[\"{agent}\"]}}}},\"duration\":0.012,\"size\":600,\"status\":200}}",
            EPOCH + own.second
        )
    }),
    ("traefik", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "{{\"ClientHost\":\"{client}\",\"DownstreamContentSize\":600,\"DownstreamStatus\":200,\"Duration\":12000000,\
             \"RequestMethod\":\"{method}\",\"RequestPath\":\"{target}\",\"StartUTC\":\"{}.123Z\",\
             \"request_User-Agent\":\"{agent}\"}}",
            iso(own.second)
        )
    }),
    ("cloudflare", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "{{\"ClientIP\":\"{client}\",\"ClientRequestHost\":\"shop.example\",\"ClientRequestMethod\":\"{method}\",\
             \"ClientRequestURI\":\"{target}\",\"ClientRequestUserAgent\":\"{agent}\",\"EdgeResponseBytes\":600,\
             \"EdgeResponseStatus\":200,\"EdgeStartTimestamp\":{}000000000}}",
            EPOCH + own.second
        )
    }),
    ("envoy-json", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "{{\"start_time\":\"{}.123Z\",\"method\":\"{method}\",\"path\":\"{target}\",\"response_code\":200,\"bytes_sent\":600,\
             \"duration\":12,\"downstream_remote_address\":\"{client}:49784\",\"user_agent\":\"{agent}\"}}",
            iso(own.second)
        )
    }),
    ("kong", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "{{\"client_ip\":\"{client}\",\"started_at\":{}500,\"latencies\":{{\"request\":12}},\"request\":{{\"uri\":\"{target}\",\
             \"method\":\"{method}\",\"headers\":{{\"user-agent\":\"{agent}\"}}}},\"response\":{{\"status\":200,\"size\":\"600\"}}}}",
            EPOCH + own.second
        )
    }),
    ("azure", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "{{\"time\":\"{}Z\",\"category\":\"ApplicationGatewayAccessLog\",\"properties\":{{\"clientIP\":\"{client}\",\
             \"httpMethod\":\"{method}\",\"requestUri\":\"{target}\",\"userAgent\":\"{agent}\",\"httpStatus\":200,\"sentBytes\":600,\
             \"timeTaken\":0.012}}}}",
            iso(own.second)
        )
    }),
    ("rails", true, |own| {
        let Visit { client, agent, method, target, .. } = own;
        format!(
            "{{\"method\":\"{method}\",\"path\":\"{target}\",\"status\":200,\"time\":\"{}.123Z\",\"remote_ip\":\"{client}\",\
             \"ua\":\"{agent}\",\"duration_s\":0.012}}",
            iso(own.second)
        )
    }),
];

/// 2026-03-29T00:30:00Z.
const EPOCH: u64 = 1_774_744_200;

fn iso(second: u64) -> String {
    format!("2026-03-29T00:{:02}:{:02}", 30 + second / 60, second % 60)
}

fn clf(second: u64) -> String {
    format!("29/Mar/2026:00:{:02}:{:02} +0000", 30 + second / 60, second % 60)
}

/// Four visitors, each with three pages.
fn four_visitors() -> Vec<Visit> {
    let clients = ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4"];
    let visit = |n: usize| Visit {
        client: clients[n % 4],
        agent: "Mozilla/5.0 (X11) Firefox/140.0",
        method: "GET",
        target: format!("/p{n}"),
        second: 5 * n as u64,
    };
    (0..12).map(visit).collect()
}

/// Two clients, one of them two visitors by their agents; methods and queries.
fn three_visitors() -> Vec<Visit> {
    let visitors =
        [("203.0.113.8", "curl/8.5.0"), ("203.0.113.8", "M/5.0 (Mac)"), ("203.0.113.9", "M/5.0 (Mac)")];
    let visit = |n: usize| {
        let (client, agent) = visitors[n % 3];
        let method = if n.is_multiple_of(2) { "GET" } else { "HEAD" };
        Visit { client, agent, method, target: format!("/q?page={n}&of=a%20b"), second: 7 * n as u64 }
    };
    (0..12).map(visit).collect()
}

fn log(kind: &Kind, visits: &[Visit]) -> String {
    visits.iter().map(|visit| kind.2(visit) + "\n").collect()
}

/// The log is recognized, and is as many visitors.
#[track_caller]
fn has_visitors(place: &Place, name: &str, visitors: usize, more: &str) {
    let said = place.farfield(&format!("fit {name} -o {name}.fit {more}")).exits(0).stdout;
    assert!(said.contains(&format!(" of {visitors} visitors")), "{name}: {said}");
    assert!(said.contains("requests         12 over"), "{name}: {said}");
}

#[test]
fn visitors_are_who_they_were() {
    let place = Place::new();
    for kind in &KINDS {
        let (name, has_agents, _) = kind;
        place.write(&format!("{name}-a"), log(kind, &four_visitors()));
        has_visitors(&place, &format!("{name}-a"), 4, "");
        place.write(&format!("{name}-b"), log(kind, &three_visitors()));
        has_visitors(&place, &format!("{name}-b"), if *has_agents { 3 } else { 2 }, "");
    }
}

/// A mark of UTF-8 at the beginning is no part of the first client, in a log of lines or of JSON.
#[test]
fn a_mark_is_no_part_of_the_first_client() {
    let place = Place::new();
    for kind in [&KINDS[0], &KINDS[5], &KINDS[2]] {
        place.write(kind.0, format!("\u{feff}{}", log(kind, &four_visitors())));
        has_visitors(&place, kind.0, 4, "");
    }
}

/// Requests in a log are sent, whoever wrote it.
#[test]
fn what_is_in_a_log_is_sent() {
    // Most of the time of each is waiting.
    for kinds in KINDS.chunks(4) {
        thread::scope(|scope| {
            for kind in kinds {
                scope.spawn(|| {
                    [four_visitors(), three_visitors()].iter().for_each(|visits| is_sent(kind, visits))
                });
            }
        });
    }
}

fn is_sent(kind: &Kind, visits: &[Visit]) {
    let (place, server) = (Place::new(), Counting::new());
    place.write("access.log", log(kind, visits));
    let words = format!(
        "run access.log --target http://{}/ -d 3s -q --set session.replay.speed=50 -o run {CALM}",
        server.address
    );
    let ended = place.farfield(&words);
    let mut asked = server.asked();
    let mut there: Vec<String> =
        visits.iter().map(|visit| format!("{} {}", visit.method, visit.target)).collect();
    asked.sort();
    there.sort();
    assert_eq!(asked, there, "{}: {}{}", kind.0, ended.stdout, ended.stderr);
}

/// The fields of JSON lines that no layout has may be named, for a fit and for a replay; one that no line has
/// is refused.
#[test]
fn fields_of_json_lines_may_be_named() {
    let line = |visit: &Visit| {
        format!(
            "{{\"when\":\"{}Z\",\"who\":{{\"ip\":[\"{}\"]}},\"what\":\"{}\",\"how\":\"{}\",\"with\":[\"{}\"]}}\n",
            iso(visit.second),
            visit.client,
            visit.target,
            visit.method,
            visit.agent
        )
    };
    let (place, server) = (Place::new(), Counting::new());
    let lines: String = three_visitors().iter().map(line).collect();
    place.write("own.json", &lines);
    let fields = "--field time=when --field client=who.ip --field path=what --field method=how";
    has_visitors(&place, "own.json", 3, &format!("{fields} --field agent=with"));
    place
        .farfield(&format!("fit own.json -o other {fields} --field agent=nothing"))
        .exits(2)
        .says(&["nothing"]);
    place.write(
        "s.toml",
        format!(
            "target = 'http://{}/'\nrun.duration = '4s'\n[session.replay]\nfile = 'own.json'\nformat = 'log'\nspeed = 40\nfields = \
             {{ time = 'when', client = 'who.ip', path = 'what', method = 'how', agent = 'with' }}\n",
            server.address
        ),
    );
    let ended = place.farfield(&format!("run s.toml -q -o run {CALM}"));
    let mut asked = server.asked();
    let mut there: Vec<String> =
        three_visitors().iter().map(|visit| format!("{} {}", visit.method, visit.target)).collect();
    asked.sort();
    there.sort();
    assert_eq!(asked, there, "{}{}", ended.stdout, ended.stderr);
}

/// A transfer time that stands behind other fields is found; where no line has one, that is said.
#[test]
fn a_transfer_time_is_found_or_missed_aloud() {
    let place = Place::new();
    // From 0.100 s to 0.155 s.
    let took = |own: &Visit| format!("0.{}", 100 + own.second);
    for (name, before, behind) in [("upstream", "\"-\" ", " 0.090 \"10.0.0.7:8080\""), ("bare", "", "")] {
        let line = |own: &Visit| format!("{} {before}{}{behind}\n", KINDS[0].2(own), took(own));
        place.write(name, four_visitors().iter().map(line).collect::<String>());
        let said = place.farfield(&format!("fit {name} -o {name}.fit --transfer seconds")).exits(0).stdout;
        let line = said.lines().find(|line| line.starts_with("transfer")).unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains(" 12 ") && line.contains(" 0.1275 "), "{line}");
    }
    place.write("none", log(&KINDS[0], &four_visitors()));
    let refused = place.farfield("fit none -o none.fit --transfer seconds").exits(2);
    assert!(refused.stderr.contains("transfer"), "{}", refused.stderr);
}

/// A file that is no log of any layout is refused with the layouts that there are.
#[test]
fn what_is_no_log_is_named_with_what_there_is() {
    let place = Place::new();
    let syslog =
        "Mar 29 00:30:00 web sshd[7]: Accepted publickey for root from 198.51.100.1 port 40000 ssh2\n";
    let stats = "{\"level\":\"info\",\"msg\":\"listening\",\"port\":8080}\n";
    for (name, line) in [("auth.log", syslog), ("app.json", stats)] {
        place.write(name, line.repeat(20));
        let refused = place.farfield(&format!("fit {name} -o fit")).exits(2);
        for part in [name, "combined", "heroku", "cloudflare"] {
            assert!(refused.stderr.contains(part), "`{part}` is not in: {}", refused.stderr);
        }
    }
}
