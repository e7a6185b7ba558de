//! WebSockets of users in virtual time: when what leaves, what is awaited, and what ends.

use crate::scene::{Scene, Server, Stage, ms};
use farfield_base::{Outcome, Sample, Stamp};
use farfield_user::policy::Reuse;

const ONE: &str = "{ model = 'closed', users = 1, think = '100ms' }";

/// A frame of the server's, each byte as a character.
fn frame(opcode: u8, payload: &str) -> String {
    let length =
        u8::try_from(payload.chars().count()).ok().filter(|length| *length < 126).expect("a short message");
    let head = [char::from(0x80 | opcode), char::from(length)];
    head.into_iter().chain(payload.chars()).collect()
}

/// The reply that opens the WebSocket that a request asks for, and what follows at once.
fn opened(request: &str, behind: &str) -> String {
    let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).expect("a key");
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n{behind}"
    )
}

/// A server that opens what is asked for, greets, echoes texts, and answers pages.
fn echo(request: &str) -> String {
    match request.split(' ').collect::<Vec<_>>()[..] {
        ["frame", "1", ..] => frame(1, &request["frame 1 ".len()..]),
        ["frame", "8", ..] => frame(8, "\u{3}\u{e8}"),
        ["frame", ..] => String::new(),
        _ if request.contains("Upgrade: websocket") => opened(request, &frame(1, "welcome")),
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
    }
}

fn scripted(session: &str, script: fn(&str) -> String) -> Scene {
    let mut scene = Scene::of(ONE).session(session);
    scene.server = Server { script: Some(script), ..Server::default() };
    scene.length = ms(2_000);
    scene
}

/// States by name, step and the rest of the table.
fn states(states: &[(&str, &str, &str)]) -> String {
    let state = |(name, step, more): &(&str, &str, &str)| {
        let step = if step.is_empty() { String::new() } else { format!("websocket = '{step}'\n") };
        format!("[[state]]\nname = '{name}'\n{step}{more}\n")
    };
    states.iter().map(state).collect()
}

fn of_state(stage: &Stage, state: u32) -> Vec<&Sample> {
    stage.samples.iter().filter(|own| own.request == state).collect()
}

/// Frames that were sent, in order.
fn frames(stage: &Stage) -> Vec<&str> {
    let all = stage.sent.iter().map(|(_, _, text)| text.as_str());
    all.filter(|text| text.starts_with("frame")).collect()
}

#[test]
fn a_session_opens_asks_awaits_and_closes() {
    let session = states(&[
        ("open", "open", "path = '/chat'\nheaders = { Origin = 'http://server' }"),
        ("hello", "await", "check.contains = 'welcome'"),
        ("say", "ask", "body = 'I am ${user}'\ncheck.contains = 'I am ${user}'"),
        ("bye", "close", ""),
    ]);
    let mut scene = scripted(&session, echo);
    scene.requests_max = Some(4);
    let stage = scene.play();
    let outcomes: Vec<Outcome> = stage.samples.iter().map(|own| own.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok; 4]);
    let opening = &stage.sent[0].2;
    for line in
        ["GET /chat HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    {
        assert_eq!(opening.lines().filter(|own| *own == line).count(), 1, "{opening}");
    }
    assert!(
        opening.contains("origin: http://server\r\n") && !opening.contains("Content-Length"),
        "{opening}"
    );
    // A round trip to connect and one to ask, each with 5 ms of service; the welcome came with the reply.
    let took: Vec<_> = stage.samples.iter().map(Sample::response_time).collect();
    assert_eq!(took, [ms(25), ms(0), ms(15), ms(15)]);
    assert_eq!(frames(&stage), ["frame 1 I am 0", "frame 8 \u{3}\u{e8}"]);
    let of_sockets = stage.counts.websockets;
    assert_eq!((of_sockets.opened, of_sockets.sent, of_sockets.received), (1, 1, 2));
    assert_eq!((of_sockets.closed, of_sockets.lost, of_sockets.passed_over), (0, 0, 0));
    // It was closed by its state, and nothing closed it again.
    assert_eq!((stage.attempts.len(), stage.closed_by_client), (1, 1));
}

/// Messages of one run have other masks and keys than those of another user, and the same in each run.
#[test]
fn the_same_seed_sends_the_same_bytes() {
    let session = states(&[("open", "open", "path = '/'"), ("say", "ask", "body = 'a ${random(1,9999)}'")]);
    let play = || {
        let scene = scripted(&session, echo);
        scene.play().sent
    };
    let (one, two) = (play(), play());
    assert_eq!(one, two);
    let keys: std::collections::BTreeSet<&str> = one
        .iter()
        .filter_map(|(_, _, text)| text.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")))
        .collect();
    let opened = one.iter().filter(|(_, _, text)| text.starts_with("GET")).count();
    assert!(opened > 5 && keys.len() == opened, "{} keys of {opened}", keys.len());
}

/// Whatever the policy says of connections for requests, the WebSocket stays, and is none of these.
#[test]
fn policies_of_requests_leave_the_websocket_alone() {
    let session = states(&[
        ("open", "open", "path = '/'"),
        ("page", "", "path = '/page'"),
        ("say", "ask", "body = 'b'\ncheck.contains = 'b'\nrepeat = 3"),
        ("other", "", "path = '/other'"),
        ("again", "ask", "body = 'c'\ncheck.contains = 'c'"),
    ]);
    for reuse in [Reuse::OneRequest, Reuse::Persistent, Reuse::EarlyClose, Reuse::SharedPool] {
        let mut scene = scripted(&session, echo);
        scene.policy.policy = reuse;
        scene.requests_max = Some(14);
        let stage = scene.play();
        let failed = stage.samples.iter().filter(|own| own.outcome != Outcome::Ok).count();
        assert_eq!((failed, stage.samples.len()), (0, 14), "{reuse:?}: {:?}", stage.samples);
        let on: Vec<u32> =
            of_state(&stage, 2).into_iter().chain(of_state(&stage, 4)).map(|own| own.connection).collect();
        assert!(
            on[..3].iter().all(|own| *own == on[0]) && of_state(&stage, 0)[0].connection == on[0],
            "{on:?}"
        );
        let pages = of_state(&stage, 1).into_iter().chain(of_state(&stage, 3));
        assert!(pages.clone().all(|own| !on.contains(&own.connection)), "{reuse:?}");
        // Users who leave say so.
        assert_eq!(
            frames(&stage).iter().filter(|frame| frame.starts_with("frame 8")).count(),
            2,
            "{reuse:?}"
        );
    }
}

/// A message is found among those that came before it was awaited, since the last that was.
#[test]
fn what_came_while_a_user_thought_is_found() {
    fn chatty(request: &str) -> String {
        match request.strip_prefix("frame 1 ") {
            Some("go") => [frame(1, "one"), frame(1, "two"), frame(1, "three")].concat(),
            _ => echo(request),
        }
    }
    let session = states(&[
        ("open", "open", "path = '/'"),
        ("go", "ask", "body = 'go'\ncheck.contains = 'one'"),
        ("three", "await", "check.contains = 'three'"),
        ("two", "await", "check.contains = 'two'\non-failure = 'end-session'"),
    ]);
    let mut scene = scripted(&session, chatty);
    scene.policy = toml::from_str("request-timeout = '300ms'").expect("a policy");
    scene.requests_max = Some(4);
    let stage = scene.play();
    let outcomes: Vec<Outcome> = stage.samples.iter().map(|own| own.outcome).collect();
    // The second was passed over on the way to the third, and does not come again.
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::TimedOut]);
    let three = of_state(&stage, 2)[0];
    assert_eq!((three.response_time(), three.body_bytes, three.reply_bytes), (ms(0), 5, 7));
    // The welcome had come before the question.
    assert_eq!(stage.counts.websockets.passed_over, 2);
    assert_eq!(of_state(&stage, 3)[0].response_time(), ms(300));
}

/// Messages that nobody awaits are kept up to a bound, and forgotten beyond it, which is counted.
#[test]
fn messages_that_nobody_awaits_are_bounded() {
    fn flood(request: &str) -> String {
        match request.strip_prefix("frame 1 ") {
            Some("flood") => (0..1_000).map(|number| frame(1, &format!("news {number}"))).collect(),
            _ => echo(request),
        }
    }
    let session = states(&[
        ("open", "open", "path = '/'"),
        ("start", "send", "body = 'flood'"),
        ("last", "await", "check.contains = 'news 999'"),
    ]);
    let mut scene = scripted(&session, flood);
    scene.requests_max = Some(3);
    let stage = scene.play();
    assert!(stage.samples.iter().all(|own| own.outcome == Outcome::Ok), "{:?}", stage.samples);
    let of_sockets = stage.counts.websockets;
    // The welcome and a thousand, of which 64 are kept.
    assert_eq!((of_sockets.received, of_sockets.lost, of_sockets.passed_over), (1_001, 937, 63));
    let sent = of_state(&stage, 1)[0];
    assert!(sent.is_left() && sent.success_time().is_none(), "what is not answered has no time");
}

/// A message that is longer than all others that are kept may be together is kept beside them: users who
/// think find what a server sends them at once, such as a snapshot, whatever follows it.
#[test]
fn a_long_message_that_came_before_it_was_awaited_is_found() {
    fn snapshot(request: &str) -> String {
        // Its 70,000 bytes take a length of 64 bits.
        let long = format!("\u{81}\u{7f}\0\0\0\0\0\u{1}\u{11}\u{70}{}", "s".repeat(70_000));
        match request.contains("Upgrade: websocket") {
            true => opened(request, &(frame(1, "welcome") + &long + &frame(1, "tick") + &frame(1, "tick"))),
            false => echo(request),
        }
    }
    let session = states(&[("open", "open", "path = '/'"), ("snapshot", "await", "check.contains = 'sss'")]);
    let mut scene = scripted(&session, snapshot);
    scene.requests_max = Some(2);
    let stage = scene.play();
    let outcomes: Vec<Outcome> = stage.samples.iter().map(|own| own.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok; 2]);
    let found = of_state(&stage, 1)[0];
    assert_eq!((found.response_time(), found.body_bytes), (ms(0), 70_000));
    assert_eq!(stage.counts.websockets.lost, 0);
}

/// A server that reads nothing: a user who awaits no answer is held back while too much waits to leave, for
/// as long as a message may take.
#[test]
fn messages_that_nobody_reads_do_not_pile_up() {
    let push = format!("body = '{}'\nrepeat = 100", "x".repeat(50_000));
    let session = states(&[("open", "open", "path = '/'"), ("push", "send", push.as_str())]);
    let mut scene = scripted(&session, echo);
    scene.load = Scene::of("{ model = 'closed', users = 1, think = '1ms' }").load;
    scene.policy = toml::from_str("request-timeout = '300ms'").expect("a policy");
    scene.server.reads_no_frames = true;
    (scene.length, scene.requests_max) = (ms(10_000), Some(9));
    let stage = scene.play();
    let pushed = of_state(&stage, 1);
    // The second message of each session is more than may wait.
    assert_eq!(pushed.len(), 6);
    for pair in pushed.chunks(2) {
        let outcomes = [pair[0].outcome, pair[1].outcome];
        assert_eq!(outcomes, [Outcome::Ok, Outcome::TimedOut], "{pair:?}");
        assert_eq!(pair[1].response_time(), ms(300));
    }
    let most = stage.kept.values().max().expect("some wait");
    assert!((100_000..101_000).contains(most), "{most} bytes wait on one connection");
}

/// A message that has not left at the end of the run is unfinished, and marked as one that nobody answers:
/// the server owes nothing for it. One that is to be answered is not.
#[test]
fn a_message_that_has_not_left_at_the_end_awaits_no_answer() {
    let push = format!("body = '{}'\nrepeat = 100", "x".repeat(50_000));
    for (step, more, is_marked) in [("send", push.as_str(), true), ("ask", "body = 'a'", false)] {
        let session = states(&[("open", "open", "path = '/'"), ("last", step, more)]);
        let mut scene = scripted(&session, echo);
        scene.load = Scene::of("{ model = 'closed', users = 1, think = '1ms' }").load;
        scene.policy = toml::from_str("request-timeout = '600s'").expect("a policy");
        scene.server.reads_no_frames = true;
        let stage = scene.play();
        let last = of_state(&stage, 1).pop().expect("a message");
        assert_eq!((last.outcome, last.is_left()), (Outcome::Unfinished, is_marked), "{step}");
        assert_eq!(last.first_byte, Stamp::NEVER, "{step}");
    }
}

/// A WebSocket that the server closes is gone: a message that waits for it fails, and so does one after it.
#[test]
fn a_close_of_the_servers_ends_what_is_awaited() {
    fn closes(request: &str) -> String {
        match request.strip_prefix("frame 1 ") {
            Some("now") => frame(8, "\u{3}\u{f0}enough"),
            _ => echo(request),
        }
    }
    let session = states(&[
        ("open", "open", "path = '/'"),
        ("now", "ask", "body = 'now'\non-failure = 'go-on'"),
        ("late", "ask", "body = 'late'\non-failure = 'go-on'"),
        ("page", "", "path = '/'"),
    ]);
    let mut scene = scripted(&session, closes);
    scene.requests_max = Some(4);
    let stage = scene.play();
    let outcomes: Vec<Outcome> = stage.samples.iter().map(|own| own.outcome).collect();
    let gone = Outcome::WebSocketClosed;
    assert_eq!(outcomes, [Outcome::Ok, gone, gone, Outcome::Ok]);
    assert_eq!(stage.counts.websockets.closed, 1);
    // The server's code is answered, and the message that could not be sent was not.
    assert_eq!(frames(&stage), ["frame 1 now", "frame 8 \u{3}\u{f0}"]);
}

/// A session that is over closes its WebSocket, and the next opens another.
#[test]
fn each_session_has_a_websocket_of_its_own() {
    let session = states(&[("open", "open", "path = '/'"), ("say", "ask", "body = 'd'")]);
    for load in [ONE, "{ model = 'hybrid', arrivals = '5/s' }"] {
        let mut scene = scripted(&session, echo);
        scene.load = Scene::of(load).load;
        let stage = scene.play();
        let sessions = of_state(&stage, 0).len();
        assert!(sessions > 4, "{sessions}");
        assert_eq!(stage.attempts.len(), sessions, "{load}");
        assert_eq!(stage.counts.websockets.opened, sessions as u64, "{load}");
        assert_eq!(stage.open_most, 1.max(stage.open_most.min(3)));
    }
}

/// A server that pings and does not read the answers, or breaks the rules while nobody asks anything, ends
/// the WebSocket and nothing else.
#[test]
fn faults_between_messages_end_the_websocket_alone() {
    fn masked(request: &str) -> String {
        match request.strip_prefix("frame 1 ") {
            Some("bad") => [frame(1, "fine"), "\u{81}\u{80}".to_owned()].concat(),
            _ => echo(request),
        }
    }
    let session = states(&[
        ("open", "open", "path = '/'"),
        ("bad", "ask", "body = 'bad'\ncheck.contains = 'fine'"),
        ("page", "", "path = '/'"),
        ("late", "ask", "body = 'late'"),
    ]);
    let mut scene = scripted(&session, masked);
    scene.requests_max = Some(4);
    let stage = scene.play();
    let outcomes: Vec<Outcome> = stage.samples.iter().map(|own| own.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::WebSocketClosed]);
}

/// Messages that had come when the server closed are there for the user, and what is asked behind them fails.
#[test]
fn messages_before_a_close_are_found_behind_it() {
    fn results(request: &str) -> String {
        match request.strip_prefix("frame 1 ") {
            Some("go") => [frame(1, "going"), frame(1, "result"), frame(8, "\u{3}\u{e8}")].concat(),
            _ => echo(request),
        }
    }
    let session = states(&[
        ("open", "open", "path = '/'"),
        ("go", "ask", "body = 'go'\ncheck.contains = 'going'"),
        ("result", "await", "check.contains = 'result'"),
        ("more", "await", "on-failure = 'go-on'"),
        ("again", "ask", "body = 'again'"),
    ]);
    let mut scene = scripted(&session, results);
    scene.requests_max = Some(5);
    let stage = scene.play();
    let outcomes: Vec<Outcome> = stage.samples.iter().map(|own| own.outcome).collect();
    let gone = Outcome::WebSocketClosed;
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Ok, gone, gone]);
    assert_eq!(of_state(&stage, 2)[0].response_time(), ms(0));
    assert_eq!((stage.counts.websockets.closed, stage.attempts.len()), (1, 1));
    assert_eq!(frames(&stage), ["frame 1 go", "frame 8 \u{3}\u{e8}"]);
}

/// A connection whose upgrade was refused is closed, and no page goes over it.
#[test]
fn a_refused_upgrade_leaves_no_connection() {
    fn refuses(request: &str) -> String {
        match request.contains("Upgrade: websocket") {
            true => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno".to_owned(),
            false => echo(request),
        }
    }
    let session =
        states(&[("open", "open", "path = '/'\non-failure = 'go-on'"), ("page", "", "path = '/page'")]);
    let mut scene = scripted(&session, refuses);
    scene.requests_max = Some(2);
    let stage = scene.play();
    assert_eq!(stage.samples[0].outcome, Outcome::WebSocketRefused);
    assert_eq!((stage.samples[1].outcome, stage.attempts.len()), (Outcome::Ok, 2));
}
