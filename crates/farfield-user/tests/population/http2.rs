//! Users over HTTP/2: streams at once, what is sent again, time limits, and flow control.

mod stage;

use farfield_base::{Note, Outcome, Sample};
use h2::Reason;
use stage::{Answer, Seen, Server, Stage, ms, play, play_session};

const ROOT: &str = "[[request]]\npath = '/'";
const PAGE: &str = "[[request]]\npath = '/'\nembedded = ['/1','/2','/3','/4','/5','/6','/7','/8','/9','/10']";

fn streams(samples: &[Sample]) -> Vec<u32> {
    samples.iter().map(|sample| sample.http.stream().expect("a stream")).collect()
}

fn has_only(stage: &Stage, outcome: Outcome) {
    let found = stage.count(outcome) + stage.count(Outcome::Unfinished);
    assert_eq!(found, stage.samples.len(), "{:?}", stage.samples);
    assert!(stage.count(outcome) > 0);
}

/// One connection takes a page whole: a round trip to connect, one for the page's own reply, and one for all
/// that it embeds, which leaves in one part.
#[test]
fn a_page_takes_one_connection_and_two_round_trips() {
    let stage = play("", PAGE, Server::default());
    has_only(&stage, Outcome::Ok);
    assert_eq!((stage.attempts, stage.streams_most), (1, 10));
    let page = &stage.samples[..11];
    assert_eq!(streams(page), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21]);
    assert_eq!(page[0].response_time(), ms(10 + 15));
    assert!(page[1..].iter().all(|object| object.due == page[0].done && object.response_time() == ms(15)));
    assert!(page.iter().all(|own| own.connection == 0 && own.body_bytes == 2 && own.status == 200));
    let parts = stage.sent.iter().filter(|(at, ..)| *at == page[0].done).count();
    assert_eq!(parts, 1, "ten requests and the acknowledgement of the settings leave together");
}

/// Users who ask at once for the next page leave a burst of replies as a burst of requests: one part, for the
/// system is called once, and the server gets them together.
#[test]
fn what_a_burst_of_replies_leads_to_leaves_together() {
    let stage = play("policy = 'multiplexed'\nstreams = 10", ROOT, Server::default());
    has_only(&stage, Outcome::Ok);
    assert_eq!(stage.streams_most, 10);
    let bursts: Vec<_> = stage.samples.chunks(10).skip(1).filter(|burst| burst.len() == 10).collect();
    assert!(bursts.len() > 20, "{}", bursts.len());
    for burst in bursts {
        let sent = burst[0].sent.instant().expect("it was sent");
        assert!(burst.iter().all(|own| own.sent == burst[0].sent && own.due == sent), "{burst:?}");
        assert_eq!(stage.sent.iter().filter(|(at, ..)| *at == sent).count(), 1);
    }
}

/// The policy's limit and the server's hold: objects go in waves.
#[test]
fn streams_at_once_are_limited_by_policy_and_server() {
    let limited = Server { streams_max: Some(3), ..Server::default() };
    for (policy, server, most, waves) in [
        ("streams = 4", Server::default(), 4, 3),
        ("", limited.clone(), 3, 4),
        ("streams = 2", limited, 2, 5),
    ] {
        let stage = play(policy, PAGE, server);
        has_only(&stage, Outcome::Ok);
        assert_eq!((stage.attempts, stage.streams_most, stage.counts.refused), (1, most, 0));
        let page = &stage.samples[..11];
        let last = page.iter().map(|own| own.done).max().expect("a page");
        assert_eq!(last.since(page[0].done), ms(15 * waves));
    }
}

/// Before the server has said how many streams it takes, more are opened than it does; it refuses the rest,
/// and they are sent again as soon as there is room, whatever their method.
#[test]
fn streams_that_were_refused_are_sent_again() {
    let server = Server { streams_max: Some(3), ..Server::default() };
    let post = "[[request]]\npath = '/'\nmethod = 'POST'\nbody = 'x'";
    let stage = play("policy = 'multiplexed'\nstreams = 10", post, server);
    has_only(&stage, Outcome::Ok);
    assert_eq!((stage.attempts, stage.streams_most, stage.counts.refused), (1, 3, 7));
    assert_eq!(stage.counts.resent, 0, "the server has not processed any of them");
}

/// A server that refuses all that it is asked is not asked for ever.
#[test]
fn what_is_refused_each_time_fails() {
    let refuses = |_: &str, _| Answer::Reset(Reason::REFUSED_STREAM);
    let stage = play("", ROOT, Server { answer: refuses, ..Server::default() });
    has_only(&stage, Outcome::StreamRefused);
    // Sent six times, each of which takes 15 ms, behind 10 ms to connect; then the user pauses for 100 ms.
    assert_eq!(stage.samples[0].response_time(), ms(10 + 6 * 15));
    assert_eq!(stage.samples[1].due.since(stage.samples[0].done), ms(100));
    assert_eq!(stage.counts.refused as usize, 5 * stage.samples.len());
}

/// A stream that is reset fails alone.
#[test]
fn a_reset_stream_leaves_the_others_alone() {
    let answer = |path: &str, _| match path {
        "/4" => Answer::Reset(Reason::INTERNAL_ERROR),
        _ => Answer::Reply(200, 2),
    };
    let stage = play("", PAGE, Server { answer, ..Server::default() });
    assert_eq!(stage.attempts, 1);
    assert!(stage.count(Outcome::Ok) > 50);
    for sample in stage.samples.iter().filter(|sample| sample.outcome != Outcome::Unfinished) {
        assert_eq!(sample.outcome == Outcome::StreamReset, sample.request == 4);
    }
}

/// A request that nothing answers ends at its own limit, and the others on its connection go on.
#[test]
fn each_request_has_its_own_time_limit() {
    let answer = |path: &str, _| match path {
        "/4" => Answer::Silence,
        _ => Answer::Reply(200, 2),
    };
    let stage = play("request-timeout = '200ms'", PAGE, Server { answer, ..Server::default() });
    let silent: Vec<_> = stage.samples.iter().filter(|own| own.outcome == Outcome::TimedOut).collect();
    assert!(silent.len() >= 3 && silent.iter().all(|own| own.request == 4));
    assert!(silent.iter().all(|own| own.service_time() == Some(ms(200))));
    assert!(stage.samples.iter().filter(|own| own.request != 4).all(|own| own.outcome == Outcome::Ok));
    assert_eq!(stage.attempts, 1, "the connection was heard of since");
}

/// A server that takes one stream at a time, and hangs: what waits for its turn ends with a limit of its
/// own, and not one limit behind the other.
#[test]
fn what_waits_for_a_stream_has_a_time_limit() {
    let answer = |path: &str, _| if path == "/" { Answer::Reply(200, 2) } else { Answer::Silence };
    let server = Server { streams_max: Some(1), answer, ..Server::default() };
    let stage = play("request-timeout = '200ms'", PAGE, server);
    let silent: Vec<_> = stage.samples.iter().filter(|own| own.request != 0).collect();
    assert!(silent.len() >= 30, "{} objects", silent.len());
    for sample in &silent {
        assert_eq!((sample.outcome, sample.response_time()), (Outcome::TimedOut, ms(200)), "{sample:?}");
    }
    let sent = silent.iter().filter(|own| own.sent.instant().is_some());
    assert!(sent.clone().all(|own| own.http.stream().is_some()));
    assert_eq!(sent.count() * 10, silent.len(), "one of each page had the stream");
    let never = silent.iter().filter(|own| own.sent.instant().is_none());
    assert!(never.clone().all(|own| own.connection == Sample::NO_CONNECTION && own.http.version().is_none()));
}

/// The next request takes another connection if nothing at all comes on the first.
#[test]
fn a_silent_connection_takes_no_more_requests() {
    let stage = play(
        "request-timeout = '200ms'",
        ROOT,
        Server {
            answer: |_, done| if done == 3 { Answer::Silence } else { Answer::Reply(200, 2) },
            ..Server::default()
        },
    );
    assert_eq!((stage.count(Outcome::TimedOut), stage.attempts), (1, 2));
}

/// Behind GOAWAY a new connection takes what comes next, and nothing is lost.
#[test]
fn a_server_that_goes_away_in_good_order_loses_nothing() {
    let answer = |_: &str, done: usize| if done % 7 == 3 { Answer::Last } else { Answer::Reply(200, 2) };
    let stage = play("", PAGE, Server { answer, ..Server::default() });
    has_only(&stage, Outcome::Ok);
    assert!(stage.attempts > 2, "{} connections", stage.attempts);
}

#[test]
fn an_error_in_goaway_is_the_outcome() {
    let answer = |_: &str, done| match done {
        0 => Answer::Reply(200, 2),
        _ => Answer::GoAway(Reason::INTERNAL_ERROR),
    };
    let post = "[[request]]\npath = '/'\nmethod = 'POST'\nbody = 'x'";
    let stage = play("", post, Server { answer, ..Server::default() });
    assert_eq!(stage.count(Outcome::Ok), 1);
    assert_eq!(stage.samples[1].outcome, Outcome::GoneAway, "{:?}", stage.samples[1]);
    // Each that failed has its note, with the code and its name.
    let causes = causes(&stage);
    assert_eq!(causes.len(), stage.count(Outcome::GoneAway));
    let goaway = "GOAWAY with INTERNAL_ERROR (0x2), sent by the server";
    assert!(causes.len() > 3 && causes.iter().all(|cause| cause == goaway), "{causes:?}");
}

/// Details of failures, beyond their outcomes.
fn causes(stage: &Stage) -> Vec<String> {
    let cause = |note: &Note| match note {
        Note::Failed(failure) => failure.detail.as_ref().map(|detail| detail.to_string()),
        _ => None,
    };
    stage.notes.iter().filter_map(cause).collect()
}

/// A stream that is reset has the code, and a request that succeeds has no note.
#[test]
fn a_failed_stream_has_its_cause() {
    let answer = |path: &str, _| match path {
        "/4" => Answer::Reset(Reason::ENHANCE_YOUR_CALM),
        _ => Answer::Reply(200, 2),
    };
    let stage = play("", PAGE, Server { answer, ..Server::default() });
    let causes = causes(&stage);
    assert_eq!((causes.len(), stage.notes.len()), (stage.count(Outcome::StreamReset), causes.len()));
    let reset = "RST_STREAM with ENHANCE_YOUR_CALM (0xb), sent by the server";
    assert!(!causes.is_empty() && causes.iter().all(|cause| cause == reset), "{causes:?}");
}

/// Requests on their way when a connection is lost have one fate, whatever their streams' order: none goes
/// again on a connection that never brought a reply, and all do on one that has.
#[test]
fn requests_of_a_lost_connection_are_treated_alike() {
    let policy = "policy = 'multiplexed'\nstreams = 5";
    let never = |_: &str, _| Answer::Close;
    let stage = play(policy, ROOT, Server { answer: never, ..Server::default() });
    has_only(&stage, Outcome::ClosedUnanswered);
    assert_eq!(stage.counts.resent, 0);
    let numbers: std::collections::BTreeSet<u32> = stage.samples.iter().map(|own| own.number).collect();
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    // The first five are answered; the next five find the connection closed, and all go again.
    let once =
        |_: &str, done: usize| if (5..10).contains(&done) { Answer::Close } else { Answer::Reply(200, 2) };
    let stage = play(policy, ROOT, Server { answer: once, ..Server::default() });
    assert_eq!(stage.counts.resent, 5, "{:?}", &stage.samples[..20]);
    let outcomes = |part: &[Sample]| part.iter().map(|own| own.outcome).collect::<Vec<_>>();
    assert_eq!(outcomes(&stage.samples[..5]), [Outcome::Ok; 5]);
    // The server closes on them again, and nothing goes a third time.
    assert_eq!(outcomes(&stage.samples[5..10]), [Outcome::ClosedUnanswered; 5]);
}

/// Requests that may be sent twice are sent again, once, if the connection had been used before.
#[test]
fn requests_on_a_connection_that_closes_are_sent_again_if_they_may_be() {
    let answer = |_: &str, done| match done {
        3 => Answer::Close,
        _ => Answer::Reply(200, 2),
    };
    let stage = play("", ROOT, Server { answer, ..Server::default() });
    assert_eq!(stage.count(Outcome::ClosedUnanswered), 1, "once on the second connection, its first request");
    let post = "[[request]]\npath = '/'\nmethod = 'POST'\nbody = 'x'";
    let stage = play("", post, Server { answer, ..Server::default() });
    assert_eq!((stage.samples[3].outcome, stage.counts.resent), (Outcome::ClosedUnanswered, 0));
}

/// A body of 2,500 bytes through a window of 1,000: two round trips of waiting for the server's leave.
#[test]
fn time_spent_waiting_for_windows_is_in_the_sample() {
    let post = format!("[[request]]\npath = '/'\nmethod = 'POST'\nbody = '{}'", "x".repeat(2500));
    let stage = play("", &post, Server { window: 1000, ..Server::default() });
    has_only(&stage, Outcome::Ok);
    for (number, sample) in stage.samples.iter().enumerate().filter(|(_, own)| own.outcome == Outcome::Ok) {
        // The first is sent before the server has said that its window is smaller than the RFC's.
        let stalled_ms = if number == 0 { 0 } else { 20 };
        let stalled_us = sample.http.stalled_us().expect("a stream");
        assert_eq!(stalled_us, stalled_ms * 1000, "{sample:?}");
        assert_eq!(sample.service_time(), Some(ms(15 + u64::from(stalled_ms))));
    }
}

#[test]
fn another_protocol_is_named() {
    for (says, outcome) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), Outcome::NotHttp2),
        (&[21, 3, 1, 0, 2, 2, 70], Outcome::TlsExpected),
        (&[0, 0, 8, 6, 0, 0, 0, 0, 0], Outcome::NotHttp2),
        (&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0], Outcome::BadFrame),
    ] {
        let stage = play("", ROOT, Server { says: Some(says), ..Server::default() });
        has_only(&stage, outcome);
        assert_eq!(stage.attempts, stage.samples.len());
    }
}

/// A server that allows no streams is waited for, and gets no further connection: what waits ends with its
/// time limit. The first request is sent before the server has said so, and refused.
#[test]
fn a_server_that_allows_no_streams_is_waited_for() {
    let stage = play("", ROOT, Server { streams_max: Some(0), ..Server::default() });
    has_only(&stage, Outcome::TimedOut);
    assert_eq!((stage.attempts, stage.counts.refused), (1, 1));
    assert!(stage.samples.iter().all(|sample| sample.connection == Sample::NO_CONNECTION));
}

/// A server that asks for answers and does not read them: the connection ends before they are many, with its
/// requests, and users go on. One that reads them is only slow.
#[test]
fn answers_that_nobody_reads_end_the_connection() {
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0].as_slice();
    let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[7; 8]].concat();
    for (one, answer_bytes) in [(ping.as_slice(), 17), (settings, 9)] {
        let pieces = 9_900;
        let says: &'static [u8] = Vec::leak([settings, &one.repeat(pieces)].concat());
        let deaf = play("", ROOT, Server { says: Some(says), deaf: true, ..Server::default() });
        has_only(&deaf, Outcome::Flooded);
        assert!(deaf.attempts > 1);
        // All of it comes at once here, and so do the answers: no more of them than came.
        let most = deaf.sent.iter().map(|(_, _, bytes)| *bytes).max().expect("answers");
        assert!((64 << 10..=pieces * answer_bytes + 100).contains(&most), "{most}");
        let slow = play("", ROOT, Server { says: Some(says), ..Server::default() });
        has_only(&slow, Outcome::TimedOut);
    }
}

/// A server that says something now and then, allows all there is, and reads nothing: what is asked next goes
/// over another connection once much waits on this one that was given up.
#[test]
fn requests_that_were_given_up_do_not_pile_up() {
    let body_bytes = 100_000;
    let post = format!("[[request]]\npath = '/'\nmethod = 'POST'\nbody = '{}'", "x".repeat(body_bytes));
    // Windows of 2^30 bytes on every stream, and on all together.
    let windows =
        [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 64, 0, 0, 0][..], &[0, 0, 4, 8, 0, 0, 0, 0, 0, 63, 0, 0, 0]];
    let says: &'static [u8] = Vec::leak(windows.concat());
    let policy = "policy = 'multiplexed'\nstreams = 20\nrequest-timeout = '100ms'\nparallel = 1";
    let stage = play(policy, &post, Server { says: Some(says), deaf: true, ..Server::default() });
    has_only(&stage, Outcome::TimedOut);
    let mut sent = std::collections::BTreeMap::new();
    stage.sent.iter().for_each(|(_, connection, bytes)| *sent.entry(connection).or_insert(0) += bytes);
    let most = *sent.values().max().expect("requests");
    assert!((1_500_000..21 * (body_bytes + 1000)).contains(&most), "{most}");
}

/// A limit of requests a connection, and one request a connection, hold over HTTP/2 as well.
#[test]
fn connections_are_limited_in_requests() {
    let stage = play("policy = 'one-request'", ROOT, Server::default());
    has_only(&stage, Outcome::Ok);
    assert!(stage.asked.values().all(|requests| *requests == 1));
    let stage = play("requests-per-connection = 5\nparallel = 1", PAGE, Server::default());
    has_only(&stage, Outcome::Ok);
    let full = stage.asked.values().filter(|requests| **requests == 5).count();
    assert!(full + 1 >= stage.asked.len(), "{:?}", stage.asked);
}

/// Users of a closed load that multiplex ask for as many pages at a time as they have streams.
#[test]
fn a_multiplexing_user_keeps_its_streams_busy() {
    let stage = play("policy = 'multiplexed'\nstreams = 20", ROOT, Server::default());
    has_only(&stage, Outcome::Ok);
    assert_eq!((stage.attempts, stage.streams_most), (1, 20));
    // A round trip to connect, and then one of 15 ms for each 20.
    assert_eq!(stage.count(Outcome::Ok), 20 * (990 / 15));
}

/// A session brings what it was given, in fields that HTTP/2 has: its cookie, a value from a page in the body
/// of a request; and a browser asks for what the page embeds together, once the page has named it.
#[test]
fn sessions_depend_on_replies() {
    let answer = |path: &str, _| match path {
        "/" => Answer::Page("<p id=t>seven</p><img src=/one.png><img src=/two.png>"),
        _ => Answer::Reply(200, 2),
    };
    let session = r#"
page-load = "browser"
[[state]]
name = "home"
path = "/"
extract = { t = { css = "p" } }
[[state]]
name = "buy"
method = "POST"
path = "/buy?x=1"
headers = { X-Of = "${t}" }
body = "t=${t}"
"#;
    let stage = play_session("", session, Server { answer, ..Server::default() });
    has_only(&stage, Outcome::Ok);
    // Each session is a visitor's, with a connection of its own.
    assert!(stage.streams_most == 2 && stage.asked.values().all(|requests| *requests <= 4));
    assert_eq!(streams(&stage.samples[..4]), [1, 3, 5, 7]);
    let [home, one, two, buy] = &stage.seen[..4] else { panic!("{:?}", stage.seen) };
    let field = |seen: &Seen, name: &str| {
        let mut named = seen.fields.iter().filter(|(own, _)| own == name).map(|(_, value)| value.clone());
        let first = named.next();
        assert!(named.next().is_none(), "twice: {seen:?}");
        first
    };
    assert_eq!((home.request.as_str(), field(home, "cookie")), ("GET http://server/", None));
    assert_eq!([&one.request, &two.request], ["GET http://server/one.png", "GET http://server/two.png"]);
    assert_eq!(buy.request, "POST http://server/buy?x=1");
    assert_eq!(buy.body, b"t=seven");
    assert_eq!(field(buy, "content-length").as_deref(), Some("7"));
    assert_eq!(field(buy, "x-of").as_deref(), Some("seven"));
    for seen in [one, two, buy] {
        assert_eq!(field(seen, "cookie").as_deref(), Some("k=v"), "{seen:?}");
        assert_eq!(field(seen, "referer").as_deref(), Some("http://server/"), "{seen:?}");
        let of_http1 = ["host", "connection"];
        assert!(seen.fields.iter().all(|(name, _)| !of_http1.contains(&name.as_str())), "{seen:?}");
    }
}

/// A transport that knows when some bytes arrived, and of others only when they were read, may hand on an
/// earlier instant behind a later one. No reply ends before it has begun.
#[test]
fn instants_that_go_back_do_not_end_a_reply_before_its_beginning() {
    let answer = |_: &str, _| Answer::Reply(200, 5000);
    let stage = play("", PAGE, Server { halves: true, answer, ..Server::default() });
    has_only(&stage, Outcome::Ok);
    // The stage holds every sample to the order of its instants.
    assert!(stage.samples.iter().any(|sample| sample.transfer_time() == Some(ms(0))));
}
