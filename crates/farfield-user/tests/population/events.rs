//! Replies that come in pieces: the times of events, gaps and stalls, and users who leave a stream that goes
//! on, in virtual time.

use crate::scene::{Scene, Stage, ms};
use farfield_base::{Duration, EventStats, Instant, Note, Outcome, ReplyEvent, Sample};
use farfield_user::{EventsBy, Reuse};
use std::num::NonZeroU32;

/// A head of 70 bytes, and five events of 10 bytes in chunks of 15: each in a piece of its own.
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX: 0\r\nA: 1234\r\n";
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\n";

/// A reply in pieces of as many bytes as an event has in its chunk, after a head that fills whole ones.
fn stream(events: usize, ends: bool) -> &'static str {
    let mut reply = format!("{HEAD}{CHUNKED}");
    let filler = 15 - reply.len() % 15;
    reply = reply.replace("X: 0", &format!("X: {}", "0".repeat(filler + 1)));
    for number in 0..events {
        reply += &format!("a\r\ndata: {:02}\n\n\r\n", number % 100);
    }
    reply += if ends { "0\r\n\r\n" } else { "" };
    reply.leak()
}

fn pieces_of_head() -> usize {
    stream(0, false).len() / 15
}

fn played(scene: &mut Scene, reply: &'static str) -> Stage {
    scene.server.reply = reply;
    scene.server.pieces = Some(15);
    scene.length = Duration::from_secs(1);
    scene.play()
}

fn closed() -> Scene {
    Scene::of("{ model = 'closed', users = 1, think = '10s' }")
}

fn events(stage: &Stage) -> Vec<ReplyEvent> {
    let of = |note: &Note| if let Note::Event(event) = note { Some(*event) } else { None };
    stage.notes.iter().filter_map(of).collect()
}

fn at_ms(stamp: farfield_base::Stamp) -> Option<u64> {
    stamp.instant().map(|at| at.as_ns() / 1_000_000)
}

fn of(sample: &Sample) -> EventStats {
    sample.events.expect("a stream of events")
}

#[test]
fn each_event_has_its_time_and_the_longest_gap_is_the_samples() {
    let mut scene = closed();
    let head = pieces_of_head() as u64;
    scene.server.stall = Some((pieces_of_head() + 3, ms(600)));
    let stage = played(&mut scene, stream(5, true));
    let [sample] = stage.samples[..] else { panic!("{:?}", stage.samples) };
    assert_eq!((sample.outcome, sample.status), (Outcome::Ok, 200));
    // Connected after 10 ms, and 15 ms later the first piece of the head is here.
    let first = 25 + head;
    let own = of(&sample);
    assert_eq!(({ own.events }, at_ms(own.first), at_ms(own.last)), (5, Some(first), Some(first + 604)));
    assert_eq!((sample.longest_gap, own.left), (ms(601), false));
    assert_eq!(sample.first_event_time(), Some(ms(first)));
    let found = events(&stage);
    let gaps: Vec<Option<u64>> = found.iter().map(|own| own.gap.map(|gap| gap.as_ns() / 1_000_000)).collect();
    assert_eq!(gaps, [None, Some(1), Some(1), Some(601), Some(1)]);
    assert!(found.iter().all(|own| own.events() == 1 && own.number == 0 && own.user == 0));
}

#[test]
fn a_body_that_is_no_stream_has_its_longest_gap_too() {
    let mut scene = closed();
    scene.server.stall = Some((3, ms(700)));
    let stage = played(
        &mut scene,
        "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n\
         123456789012345678901234567890123456789012345678901234567890",
    );
    let [sample] = stage.samples[..] else { panic!("{:?}", stage.samples) };
    assert_eq!((sample.outcome, sample.longest_gap, sample.events), (Outcome::Ok, ms(701), None));
    assert!(events(&stage).is_empty());
    // With pieces for events, each of them is one.
    let mut scene = Scene { server: scene.server, ..closed() };
    scene.events.by = EventsBy::Pieces;
    let reply = scene.server.reply;
    let stage = played(&mut scene, reply);
    let own = of(&stage.samples[0]);
    assert_eq!({ own.events }, 5, "the first is what comes of it with the end of the head");
    assert_eq!((stage.samples[0].longest_gap, events(&stage).len()), (ms(701), 5));
}

#[test]
fn events_that_come_together_have_no_gap_between_them() {
    let mut scene = closed();
    scene.server.reply =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 11\r\n\r\n{}\n{}\n{}\n{}";
    scene.length = Duration::from_secs(1);
    let stage = scene.play();
    assert_eq!({ of(&stage.samples[0]).events }, 4, "the last needs no end of its line");
    let [found, last] = events(&stage)[..] else { panic!("{:?}", stage.notes) };
    assert_eq!((found.gap, found.alongside, found.events()), (None, 2, 3));
    assert_eq!((last.gap, last.events()), (Some(Duration::ZERO), 1));
    assert_eq!(stage.samples[0].longest_gap, Duration::ZERO);
}

/// A stream that goes on is left after a number of events, or a time, and that is its reply; its connection
/// is used no more, and what follows goes over another.
#[test]
fn users_leave_a_stream_that_goes_on() {
    // The time counts from the first byte of the head.
    let in_time = 100 - (pieces_of_head() as u32 - 1);
    for (leave_at, leave_after, seen) in [(NonZeroU32::new(7), None, 7), (None, Some(ms(100)), in_time)] {
        let mut scene = Scene::of("{ model = 'closed', users = 1, think = '20ms' }");
        (scene.events.leave_at, scene.events.leave_after) = (leave_at, leave_after);
        let stage = played(&mut scene, stream(5_000, false));
        let (last, before) = stage.samples.split_last().expect("samples");
        assert!(before.len() > 5, "{}", before.len());
        let found = events(&stage);
        for sample in before {
            let own = of(sample);
            assert_eq!((sample.outcome, own.left, { own.events }), (Outcome::Ok, true, seen));
            assert_eq!(sample.success_time(), None, "how long it stayed is no response time");
            assert_eq!(sample.number, 0);
            let came = found.iter().filter(|event| event.connection == sample.connection);
            let dues: Vec<Instant> = came.map(|event| event.due).collect();
            assert!(!dues.is_empty() && dues.iter().all(|due| *due == sample.due), "{dues:?}");
        }
        assert_ne!(last.outcome, Outcome::TimedOut);
        assert_eq!(stage.closed_by_client, stage.samples.len());
    }
}

/// A stream is open at the end of the run: that is no failure, and the time since its last event counts as a
/// gap. One without an event is unfinished, as other replies are.
#[test]
fn a_stream_that_is_open_at_the_end_is_left_there() {
    let mut scene = closed();
    scene.policy.request_timeout = Some(ms(600_000));
    scene.server.pieces_most = Some(pieces_of_head() + 10);
    let stage = played(&mut scene, stream(5_000, false));
    let [sample] = stage.samples[..] else { panic!("{:?}", stage.samples) };
    let own = of(&sample);
    assert_eq!((sample.outcome, own.left, { own.events }), (Outcome::Ok, true, 10));
    let last = own.last.instant().expect("ten of them");
    assert_eq!(sample.longest_gap, sample.done.since(last));
    assert!(sample.longest_gap > ms(500), "{:?}", sample.longest_gap);
    scene.server.pieces_most = Some(pieces_of_head());
    let stage = played(&mut scene, stream(5_000, false));
    let own = of(&stage.samples[0]);
    assert_eq!((stage.samples[0].outcome, { own.events }), (Outcome::Unfinished, 0));
}

/// The time limit of a request is of silence where its reply is a stream: each event begins it anew.
#[test]
fn a_stream_times_out_by_its_silence() {
    let mut scene = closed();
    scene.policy.request_timeout = Some(ms(200));
    let stage = played(&mut scene, stream(800, true));
    let [sample] = stage.samples[..] else { panic!("{:?}", stage.samples) };
    assert_eq!((sample.outcome, { of(&sample).events }), (Outcome::Ok, 800), "it took longer than 200 ms");
    scene.server.stall = Some((pieces_of_head() + 100, ms(300)));
    let stage = played(&mut scene, stream(800, true));
    let sample = stage.samples[0];
    assert_eq!((sample.outcome, { of(&sample).events }), (Outcome::TimedOut, 100));
    assert_eq!(sample.longest_gap, ms(200), "nothing came for as long as it was waited for");
}

/// Everything seen depends on the user's number alone: three workers together see what one does.
#[test]
fn workers_share_streams() {
    let mut scene = Scene::of("{ model = 'open', arrivals = '40/s' }");
    scene.policy.policy = Reuse::OneRequest;
    scene.events.leave_after = Some(ms(50));
    scene.server.reply = stream(100, true);
    scene.server.pieces = Some(15);
    scene.length = Duration::from_secs(1);
    let key = |sample: &Sample| {
        let own = of(sample);
        (sample.user, sample.due, sample.done, { own.events }, own.left, sample.longest_gap)
    };
    let sorted = |stages: &[Stage]| {
        let mut all: Vec<_> = stages.iter().flat_map(|stage| stage.samples.iter().map(key)).collect();
        all.sort_unstable();
        all
    };
    let whole = sorted(&[scene.play()]);
    assert!(whole.len() > 20);
    assert_eq!(whole, sorted(&[0, 1, 2].map(|worker| scene.play_share(worker, 3))));
    assert!(whole.iter().all(|(_, due, done, ..)| *due > Instant::ZERO && done > due));
}
