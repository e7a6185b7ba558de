//! Connection policies: how many at once, how often each, and what happens when one is lost.

use crate::scene::{Scene, Server, Stage, ms};
use farfield_base::{Duration, Instant, Outcome, PagePart};

const ONE_USER: &str = "{ model = 'closed', users = 1 }";

fn play(policy: &str, requests: &str, server: Server) -> Stage {
    let mut scene = Scene::of(ONE_USER);
    scene.policy = toml::from_str(policy).expect("a policy");
    scene.requests = crate::scene::requests(requests);
    scene.server = server;
    scene.play()
}

const ROOT: &str = "[[request]]\npath = '/'";
const PAGE: &str = "[[request]]\npath = '/'\nembedded = ['/1','/2','/3','/4','/5','/6','/7','/8','/9','/10']";

#[test]
fn one_request_a_connection() {
    let stage = play("policy = 'one-request'", ROOT, Server::default());
    assert!(stage.requests.values().all(|requests| *requests == 1));
    // A round trip to connect, one for the reply, 5 ms of service.
    assert_eq!(stage.samples.len(), 10_000 / 25);
    assert!(stage.ok().all(|sample| sample.connect_time() == Some(ms(10))));
}

#[test]
fn a_limit_of_requests_a_connection_is_kept() {
    let stage = play("requests-per-connection = 4", ROOT, Server::default());
    let mut requests: Vec<u32> = stage.requests.values().copied().collect();
    requests.pop();
    assert!(requests.len() > 100 && requests.iter().all(|requests| *requests == 4));
}

/// The embedded objects of a page go over as many connections as the policy allows, and begin when the page's
/// own reply is there.
#[test]
fn a_page_is_fetched_over_parallel_connections() {
    let stage = play("parallel = 6", PAGE, Server::default());
    assert_eq!(stage.open_most, 6);
    assert_eq!(stage.depth_most, 1);
    let page: Vec<_> = stage.samples[..11].to_vec();
    let main_done = page[0].done;
    assert!(page[1..].iter().all(|object| object.due == main_done));
    // The first connection is open; five more take a round trip; ten objects in two waves.
    let last = page.iter().map(|object| object.done).max().expect("a page");
    assert_eq!(last.since(main_done), ms(10 + 15 + 15));
}

#[test]
fn early_close_ends_all_connections_with_the_page() {
    let stage = play("policy = 'early-close'\nparallel = 6", PAGE, Server::default());
    let pages = stage.ok().filter(|sample| sample.request == 0).count();
    assert_eq!(stage.attempts.len(), pages * 6);
    assert!(stage.ok().filter(|sample| sample.request == 0).all(|sample| sample.number == 0));
}

#[test]
fn pipelined_requests_go_ahead_of_their_replies() {
    let stage = play("policy = 'pipelined'\npipeline-depth = 5", ROOT, Server::default());
    assert_eq!((stage.open_most, stage.depth_most), (1, 5));
    assert_eq!(stage.count(Outcome::Ok), stage.samples.len() - stage.count(Outcome::Unfinished));
    assert!(
        stage.samples.windows(2).all(|pair| pair[0].number < pair[1].number),
        "replies are matched in order"
    );
}

/// A page of ten over one connection: a round trip to connect, one for the page's own reply, one for all ten,
/// which are served one after the other.
#[test]
fn a_page_is_pipelined_and_its_connection_closed_early() {
    let stage = play("policy = 'pipelined-early-close'\npipeline-depth = 10", PAGE, Server::default());
    let (took, whole) = (ms(10 + 15 + 10 + 10 * 5), stage.samples.len() / 11);
    assert_eq!((stage.depth_most, stage.open_most), (10, 1));
    for page in stage.samples.chunks_exact(11) {
        assert_eq!(page[10].done.since(page[0].due), took);
        assert!(page[0].page == PagePart::Begins && page[10].page == PagePart::Ends);
        assert!(page[0].number == 0 && page[10].number == 10);
    }
    assert!(stage.attempts.len().abs_diff(whole) <= 1, "{} connections", stage.attempts.len());
}

/// Objects of a page that is pipelined over several connections go over all of these: four in the first
/// round, and the other six behind them.
#[test]
fn pipelines_are_spread_over_parallel_connections() {
    let stage = play("policy = 'pipelined'\nparallel = 4", PAGE, Server::default());
    assert_eq!((stage.open_most, stage.attempts.len()), (4, 4));
    // The second page finds four idle connections: ten objects over four are three on two of them.
    let page = &stage.samples[11..22];
    assert_eq!(page[10].done.since(page[0].done), ms(10 + 3 * 5));
    let mut objects = [0; 4];
    page[1..].iter().for_each(|object| objects[object.connection as usize] += 1);
    objects.sort_unstable();
    assert_eq!(objects, [2, 2, 3, 3]);
}

/// A server that closes after three replies, and says so, has not served the requests behind: they are sent
/// again.
#[test]
fn pipelined_requests_that_were_not_served_are_sent_again() {
    let server = Server { replies_a_connection: Some(3), ..Server::default() };
    let stage = play("policy = 'pipelined'\npipeline-depth = 8", ROOT, server);
    assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
    // Eight requests a round. What is sent again goes three on a connection, one after the other: 10 + 3 · 15
    // ms, or less where fewer are left. Of three rounds the first has a new connection: 10 + 10 + 3 · 5 ms,
    // and five again; the second the place that is left on the last one: 10 + 5 ms, and seven again; the
    // third two places: 10 + 2 · 5 ms, and six.
    let cycle = (35 + 55 + 40) + (15 + 55 + 55 + 25) + (20 + 55 + 55);
    let expected = 24 * 10_000 / cycle;
    assert!(stage.count(Outcome::Ok).abs_diff(expected) <= 24, "{} ok", stage.count(Outcome::Ok));
    assert!(stage.ok().all(|sample| sample.number < 3));
}

/// A request that meets a connection just closed is sent again, once (RFC 9112 section 9.3.1).
#[test]
fn a_request_that_meets_a_closed_connection_is_sent_again() {
    let server = Server { closes_silently_after: Some(2), ..Server::default() };
    let stage = play("", ROOT, server);
    assert_eq!(stage.count(Outcome::ClosedUnanswered), 0);
    assert_eq!(stage.counts.resent as usize, stage.requests.len() - 1, "what was sent again is counted");
    // Two replies of 15 ms, one lost round trip of 10 ms, and 10 ms to connect: from due to done of the
    // repeated one.
    let repeated = stage.ok().filter(|sample| sample.number == 0).nth(1).expect("a second connection");
    assert_eq!(repeated.response_time(), ms(10 + 10 + 15));
}

#[test]
fn a_connection_that_closes_unanswered_is_reported() {
    let server = Server { closes_silently_after: Some(0), ..Server::default() };
    let stage = play("", ROOT, server);
    assert_eq!(
        stage.count(Outcome::ClosedUnanswered) + stage.count(Outcome::Unfinished),
        stage.samples.len()
    );
    assert!(stage.samples.len() > 50);
}

#[test]
fn a_request_ends_at_its_time_limit() {
    let server = Server { mute: true, ..Server::default() };
    let stage = play("request-timeout = '700ms'", ROOT, server);
    let timed_out: Vec<_> =
        stage.samples.iter().filter(|sample| sample.outcome == Outcome::TimedOut).collect();
    // The limit counts from when the connection is there.
    assert_eq!(timed_out.len(), 10_000_usize.div_ceil(710));
    assert!(timed_out.iter().all(|sample| sample.response_time() == ms(710)));
}

#[test]
fn a_connect_that_is_never_answered_ends_at_the_time_limit() {
    let server = Server { deaf: true, ..Server::default() };
    let stage = play("request-timeout = '1s'", ROOT, server);
    assert_eq!(stage.count(Outcome::TimedOut), 10);
}

/// Every kind of broken reply has a name, ends the request, and leaves the user going on.
#[test]
fn broken_replies_are_named_and_never_wedge() {
    let check = |reply: &'static str, outcome: Outcome| {
        let stage = play("", ROOT, Server { reply, ..Server::default() });
        let named = stage.count(outcome);
        assert!(named > 300, "{outcome:?}: {named} of {}", stage.samples.len());
        assert_eq!(named + stage.count(Outcome::Unfinished), stage.samples.len(), "{outcome:?}");
    };
    check("ICY 200 OK\r\n\r\n", Outcome::BadHead);
    check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", Outcome::BadLength);
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Outcome::BadChunk);
    check("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", Outcome::Status5xx);
    check("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", Outcome::Status4xx);
}

/// A server that speaks first, before the request is sent, answers it: to turn the client away, or in another
/// protocol.
#[test]
fn what_a_server_says_first_answers_the_first_request() {
    let busy = "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for (greeting, outcome) in [("SSH-2.0-OpenSSH_9.2\r\n", Outcome::BadHead), (busy, Outcome::Status5xx)] {
        let server = Server { greeting: Some(greeting), mute: true, ..Server::default() };
        let stage = play("", ROOT, server);
        assert!(
            stage.count(outcome) > 300,
            "{outcome:?}: {} of {}",
            stage.count(outcome),
            stage.samples.len()
        );
        assert_eq!(stage.count(outcome) + stage.count(Outcome::Unfinished), stage.samples.len());
        assert_eq!(stage.counts.unasked, 0);
        let answered = stage.samples.iter().filter(|sample| sample.outcome == outcome);
        assert!(answered.into_iter().all(|sample| sample.service_time() == Some(Duration::ZERO)));
    }
}

/// Bytes behind a reply are not taken for the next reply, even by a user who asks again at once.
#[test]
fn bytes_that_nobody_asked_for_close_the_connection() {
    let behind = Some((Duration::ZERO, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    for think in ["0s", "20ms"] {
        let mut scene = Scene::of(&format!("{{ model = 'closed', users = 1, think = '{think}' }}"));
        scene.server = Server { behind, ..Server::default() };
        let stage = scene.play();
        assert_eq!(stage.requests.len(), stage.samples.len(), "the connection is not trusted again");
        let unasked = stage.count(Outcome::Unasked);
        assert!(unasked > 100);
        assert_eq!(unasked + stage.count(Outcome::Unfinished), stage.samples.len());
        assert_eq!(stage.counts.unasked as usize, unasked);
    }
}

/// Bytes behind a reply are of no matter if the connection was to be closed after it, by either side: the
/// reply is what it is, however it and they were cut.
#[test]
fn bytes_behind_a_last_reply_are_of_no_matter() {
    for (policy, reply) in [
        ("policy = 'one-request'", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ("", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
        ("", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    ] {
        for later in [Duration::ZERO, ms(1), ms(30)] {
            let behind = Some((later, "more"));
            let stage = play(policy, ROOT, Server { reply, behind, ..Server::default() });
            assert!(stage.count(Outcome::Ok) > 300, "{policy} {reply}");
            assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
            assert_eq!(stage.counts.unasked, 0);
        }
    }
}

/// Bytes that come while the user thinks close the connection, which is counted: the next page opens another.
#[test]
fn bytes_on_an_idle_connection_are_counted() {
    let mut scene = Scene::of("{ model = 'closed', users = 1, think = '20ms' }");
    scene.server = Server { behind: Some((ms(5), "HTTP/1.1 408 Timeout\r\n\r\n")), ..Server::default() };
    let stage = scene.play();
    assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
    assert!(
        stage.counts.unasked.abs_diff(stage.count(Outcome::Ok) as u64) <= 1 && stage.counts.unasked > 100
    );
    assert_eq!(stage.counts.resent, 0);
}

/// A line end behind a body is no reply, whenever it comes: it neither is the first byte of the next reply
/// nor closes the connection (RFC 9112 section 2.2).
#[test]
fn line_ends_behind_a_body_are_no_reply() {
    for later in [Duration::ZERO, ms(1), ms(5), ms(12)] {
        for (think, line_end) in [("0s", "\r\n"), ("8ms", "\r\n"), ("0s", "\n"), ("8ms", "\n\r\n")] {
            let mut scene = Scene::of(&format!("{{ model = 'closed', users = 1, think = '{think}' }}"));
            scene.server = Server { behind: Some((later, line_end)), ..Server::default() };
            let stage = scene.play();
            assert_eq!(stage.attempts.len(), 1, "{later} {think}: the connection lives");
            assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
            assert!(stage.count(Outcome::Ok) > 300);
            // A round trip of 10 ms and 5 ms of service.
            assert!(stage.ok().all(|sample| sample.reply_time() == Some(ms(15))), "{later} {think}");
        }
    }
}

/// A whole reply with a reset behind it is a whole reply, and nothing more is asked where it came from.
#[test]
fn a_reset_behind_a_reply_is_not_the_replys() {
    let server = Server { resets: true, ..Server::default() };
    for request in [ROOT, "[[request]]\nmethod = 'POST'\npath = '/order'"] {
        let stage = play("", request, server.clone());
        assert!(stage.count(Outcome::Ok) > 300);
        assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
        assert_eq!(stage.counts.resent, 0, "nothing was lost");
    }
}

/// Requests that a failed pipeline leaves unanswered are sent once more, one at a time (RFC 9112 sections
/// 9.3.1 and 9.3.2).
#[test]
fn what_a_failed_pipeline_leaves_is_sent_one_at_a_time_and_once() {
    for server in [
        Server { closes_silently_after: Some(1), ..Server::default() },
        Server { replies_a_connection: Some(1), ..Server::default() },
        Server { replies_a_connection: Some(2), ..Server::default() },
    ] {
        let stage = play("policy = 'pipelined'\npipeline-depth = 10", PAGE, server);
        for path in ["/1", "/5", "/10"] {
            let line = format!("GET {path} HTTP/1.1\r\n");
            let asked = stage.sent.iter().filter(|(_, _, request)| request.starts_with(&line)).count();
            let request: u32 = path[1..].parse().expect("a number");
            let over = stage.samples.iter().filter(|sample| sample.request == request).count();
            assert!(over > 5 && asked <= 2 * over, "{path} was sent {asked} times for {over} requests");
        }
        // The first on a connection after a failure is the only one until it is answered.
        let mut before: Option<(Instant, u32)> = None;
        for (at, connection, request) in &stage.sent {
            let alone = before != Some((*at, *connection));
            assert!(alone || *connection == 0 || !request.starts_with("GET /1 "), "{request}");
            before = Some((*at, *connection));
        }
    }
}

/// It goes on one new connection, as long as the server keeps that: the first takes ten, of which two are
/// answered.
#[test]
fn what_a_failed_pipeline_leaves_goes_on_one_connection_that_is_kept() {
    let closing: fn(&str) -> String = |request| {
        let close = if request.starts_with("GET /2 ") { "Connection: close\r\n" } else { "" };
        format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 0\r\n\r\n")
    };
    let server = Server { script: Some(closing), ..Server::default() };
    let stage = play("policy = 'pipelined'\npipeline-depth = 10", PAGE, server);
    assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
    for (number, page) in (0..).zip(stage.samples.chunks_exact(11).take(50)) {
        let connections: Vec<u32> = page.iter().map(|sample| sample.connection - number).collect();
        assert_eq!(connections, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], "page {number}");
        // One round trip to connect, and then one for each that is left.
        assert_eq!(page[3].done.since(page[2].done), ms(10 + 15));
        assert!(page[3..].windows(2).all(|pair| pair[1].done.since(pair[0].done) == ms(15)));
    }
}

/// The size of a head is limited by the scenario.
#[test]
fn limits_on_heads_can_be_set() {
    let reply = "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\nContent-Length: 2\r\n\r\nok";
    let outcome = |policy: &str| play(policy, ROOT, Server { reply, ..Server::default() }).samples[0].outcome;
    assert_eq!(outcome("head-fields = 3"), Outcome::Ok);
    assert_eq!(outcome("head-fields = 2"), Outcome::HeadTooLarge);
    assert_eq!(outcome(&format!("head-limit = '{}'", reply.len() - 2)), Outcome::Ok);
    assert_eq!(outcome("head-limit = '30'"), Outcome::HeadTooLarge);
}

#[test]
fn a_long_page_is_not_begun_past_the_end() {
    let mut scene = Scene::of(ONE_USER);
    scene.length = Duration::from_ms(100);
    let stage = scene.play();
    assert!(stage.samples.iter().all(|sample| sample.due.as_ns() < ms(100).as_ns()));
}

/// T for loads other than overload: the attempt is dropped without a word, and the user goes on.
#[test]
fn an_unanswered_attempt_is_abandoned() {
    let server = Server { deaf: true, ..Server::default() };
    let stage = play("abandon-after = '400ms'", ROOT, server);
    assert_eq!((stage.abandoned, stage.count(Outcome::ConnectAbandoned)), (25, 25));
    let answered = play("abandon-after = '400ms'\npolicy = 'one-request'", ROOT, Server::default());
    assert_eq!((answered.abandoned, answered.count(Outcome::Ok)), (0, 400));
}

/// An order must not be placed twice: a POST whose connection closed without a word has failed (RFC 9110
/// section 9.2.2).
#[test]
fn what_is_not_idempotent_is_never_sent_again() {
    let server = Server { closes_silently_after: Some(2), ..Server::default() };
    for policy in ["", "policy = 'pipelined'\npipeline-depth = 5"] {
        let stage = play(policy, "[[request]]\nmethod = 'POST'\npath = '/order'", server.clone());
        assert_eq!(stage.counts.resent, 0);
        assert!(stage.count(Outcome::ClosedUnanswered) > 50, "{policy}");
    }
}
