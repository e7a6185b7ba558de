//! A gatherer, and peers that speak its protocol as parts do, or as strangers would.

use super::link::{Link, WaitEnd};
use super::ticket::{GatherKey, Ticket};
use super::wire::{Frame, Hello, OfGatherer, OfPart, STRANGER_MAX, VERSION};
use super::{
    GatherError, GatherSettings, Gatherer, HandoutFile, JoinError, JoinSettings, Member, News, PartFigures,
    RendezvousResult,
};
use crate::run::StartSource;
use farfield_base::{Duration, Part};
use farfield_measure::Histogram;
use farfield_os::clock::{monotonic_ns, unix_ns_at};
use rustls::ClientConnection;
use rustls::pki_types::{IpAddr, Ipv4Addr, ServerName};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

const SECOND: u64 = 1_000_000_000;
const FARFIELD: &str = "1.2.3";

/// A gatherer on a thread of its own.
struct Scene {
    home: tempfile::TempDir,
    address: SocketAddr,
    ticket: Ticket,
    stop: Arc<AtomicBool>,
    news: Arc<Mutex<Vec<News>>>,
    gathering: JoinHandle<Result<RendezvousResult, GatherError>>,
}

impl Scene {
    fn of(parts: u32, wait_s: u64) -> Scene {
        Scene::begin(parts, wait_s, |_| {})
    }

    /// A gatherer of two parts.
    fn with(change: impl FnOnce(&mut GatherSettings)) -> Scene {
        Scene::begin(2, 60, change)
    }

    fn begin(parts: u32, wait_s: u64, change: impl FnOnce(&mut GatherSettings)) -> Scene {
        let home = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let key = GatherKey::generate();
        let ticket = key.ticket();
        let mut settings = GatherSettings {
            parts: (1..=parts).map(|number| Part::new(number, parts).expect("a part")).collect(),
            files: vec![
                HandoutFile { name: "scenario.toml".to_owned(), content: b"seed = 7".to_vec() },
                HandoutFile { name: "inputs/list".to_owned(), content: vec![b'x'; 200_000] },
            ],
            bytes_max: 1_000,
            scenario: String::new(),
            quiet_ns: 60 * SECOND,
            farfield: FARFIELD.to_owned(),
            wait_ns: wait_s * SECOND,
        };
        change(&mut settings);
        let gatherer = Gatherer::begin(listener, key, settings, home.path()).expect("a thread");
        let (stop, news) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<News>>>::default());
        let (own_stop, own_news) = (Arc::clone(&stop), Arc::clone(&news));
        let gathering = thread::spawn(move || {
            gatherer.gather(&own_stop, |news| own_news.lock().expect("a list").push(news))
        });
        Scene { home, address, ticket, stop, news, gathering }
    }

    fn joining(&self) -> JoinSettings {
        JoinSettings {
            address: self.address.to_string(),
            ticket: self.ticket.clone(),
            part: None,
            rank: None,
            farfield: FARFIELD.to_owned(),
            host: "here".to_owned(),
            wait_ns: 0,
        }
    }

    fn join(&self) -> Member {
        Member::join(&self.joining()).expect("admitted")
    }

    /// A peer that has shown the token, and speaks for itself from then on.
    fn peer(&self) -> Peer {
        let hello = Hello {
            version: VERSION,
            farfield: FARFIELD.to_owned(),
            token: self.ticket.token(),
            part: None,
            rank: None,
            host: "there".to_owned(),
        };
        let mut peer = Peer::of(self.link());
        peer.link.send(&hello).expect("taken");
        peer.link.trust();
        peer
    }

    fn link(&self) -> Link {
        let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([127, 0, 0, 1])));
        let tls = ClientConnection::new(self.ticket.client(), name).expect("TLS");
        Link::new(tls.into(), TcpStream::connect(self.address).expect("a gatherer")).expect("a socket")
    }

    /// Waits for news that have `words` in them.
    fn await_news(&self, words: &str) {
        let until = monotonic_ns() + 20 * SECOND;
        while !self.said().contains(words) {
            assert!(monotonic_ns() < until, "waited in vain for `{words}`: {}", self.said());
            thread::yield_now();
        }
    }

    fn said(&self) -> String {
        format!("{:?}", self.news.lock().expect("a list"))
    }

    fn end(self) -> Result<RendezvousResult, GatherError> {
        self.gathering.join().expect("no panic")
    }

    fn directory(&self, files: &[(&str, &str)]) -> PathBuf {
        let directory = self.home.path().join("of-a-part");
        fs::create_dir_all(&directory).expect("a folder");
        for (name, content) in files {
            fs::write(directory.join(name), content).expect("a file");
        }
        directory
    }
}

/// A part by hand.
struct Peer {
    link: Link,
    /// Nanoseconds by which its clock is ahead.
    clock_ns: i64,
    /// True if it answers a ping only when the next one is there, as over a way of more than half a second.
    is_far: bool,
    last_ping: u64,
}

impl Peer {
    fn of(link: Link) -> Peer {
        Peer { link, clock_ns: 0, is_far: false, last_ping: 0 }
    }

    /// Answers pings until `found` finds its message; `None` if the gatherer closes first.
    fn until<T>(&mut self, mut found: impl FnMut(&OfGatherer) -> Option<T>) -> Option<T> {
        loop {
            let received = self.link.receive(monotonic_ns() + 20 * SECOND, None).ok()?;
            let WaitEnd::Frame(frame) = received else { panic!("the gatherer is silent") };
            let Ok(message) = frame.read::<OfGatherer>() else { continue };
            if let OfGatherer::Ping { number } = message {
                let before = std::mem::replace(&mut self.last_ping, number);
                let number = if self.is_far { before } else { number };
                let monotonic_ns = monotonic_ns().cast_signed() + self.clock_ns;
                self.link.send(&OfPart::Pong { number, monotonic_ns }).ok()?;
            }
            if let Some(found) = found(&message) {
                return Some(found);
            }
        }
    }

    fn ready(&mut self) {
        self.until(|message| matches!(message, OfGatherer::Prepare).then_some(())).expect("a handout");
        self.link.send(&OfPart::Ready { scenario: DIGEST.to_owned() }).expect("taken");
    }

    fn start(&mut self) -> (u64, u64, u64) {
        self.ready();
        let start = |message: &OfGatherer| match message {
            OfGatherer::Start { monotonic_ns, unix_ns, error_ns } => {
                Some((*monotonic_ns, *unix_ns, *error_ns))
            }
            _ => None,
        };
        self.until(start).expect("a start")
    }
}

/// SHA-256 of nothing, as members of these scenes have it.
const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn start(member: &Member) -> u64 {
    member.await_start(None, &AtomicBool::new(false)).expect("a start").monotonic_ns
}

#[test]
fn parts_get_the_scenario_and_one_start_and_their_files_come_back() {
    let scene = Scene::of(2, 60);
    let members = [scene.join(), scene.join()];
    let names = |member: &Member| -> Vec<(String, usize)> {
        member.files().iter().map(|file| (file.name.clone(), file.content.len())).collect()
    };
    for (number, member) in (1..).zip(&members) {
        assert_eq!(member.part(), Part::new(number, 2).expect("a part"));
        let expected = [("scenario.toml".to_owned(), 8), ("inputs/list".to_owned(), 200_000)];
        assert_eq!(names(member), expected);
    }
    let starts = thread::scope(|scope| {
        let both: Vec<_> = members.iter().map(|member| scope.spawn(|| start(member))).collect();
        both.into_iter().map(|one| one.join().expect("a start")).collect::<Vec<u64>>()
    });
    // One clock: it differs from itself by what its measurement is wrong.
    assert!(starts[0].abs_diff(starts[1]) < SECOND / 10, "{starts:?}");
    let directory =
        scene.directory(&[("summary.json", "{}"), ("part.json.zst", "x"), ("report.html", "page")]);
    for member in &members {
        member.hand_over(&directory).expect("kept");
    }
    let home = scene.home.path().to_owned();
    let gathered = scene.gathering.join().expect("no panic").expect("a run");
    assert_eq!(directories(&gathered), [home.join("1-of-2"), home.join("2-of-2")]);
    assert!(gathered.lost.is_empty() && !gathered.interrupted);
    assert_eq!(fs::read_to_string(home.join("2-of-2/summary.json")).expect("a file"), "{}");
    assert!(!home.join("1-of-2/report.html").exists(), "the page of a part stays with it");
}

fn directories(gathered: &RendezvousResult) -> Vec<PathBuf> {
    gathered.returned.iter().map(|returned| returned.directory.clone()).collect()
}

/// A machine that runs since an hour before the other: this part answers pings with a clock of its own.
#[test]
fn a_clock_that_is_an_hour_ahead_is_given_the_start_in_its_own_time() {
    const HOUR: i64 = 3_600_000_000_000;
    let scene = Scene::of(2, 60);
    let member = scene.join();
    let mut skewed = scene.peer();
    skewed.clock_ns = HOUR;
    let (own, (monotonic_ns, unix_ns, error_ns)) = thread::scope(|scope| {
        let own = scope.spawn(|| start(&member));
        let skewed = skewed.start();
        (own.join().expect("a start"), skewed)
    });
    assert!(error_ns < SECOND, "{error_ns} ns for a way of no length");
    let skewed_start = monotonic_ns - HOUR as u64;
    assert!(own.abs_diff(skewed_start) <= SECOND / 10, "{own} and {skewed_start}");
    // The wall clock of the gatherer, which is that of this machine.
    assert!(unix_ns.abs_diff(unix_ns_at(skewed_start)) <= SECOND / 10, "{unix_ns}");
    scene.stop.store(true, Ordering::Relaxed);
    drop(skewed);
    assert!(member.hand_over(&scene.directory(&[])).expect_err("nothing").contains("no files"));
    let gathered = scene.end().expect("a run");
    assert!(
        gathered.interrupted && gathered.lost.len() == 2,
        "each part is in one of two lists: {gathered:?}"
    );
}

#[test]
fn strangers_are_refused_and_hold_nobody_up() {
    let scene = Scene::of(2, 60);
    let other = JoinSettings { ticket: GatherKey::generate().ticket(), ..scene.joining() };
    assert_eq!(
        Member::join(&other).expect_err("another key"),
        JoinError::OtherKey(scene.address.to_string())
    );
    let old = JoinSettings { farfield: "1.2.2".to_owned(), ..scene.joining() };
    let refused = Member::join(&old).expect_err("another version").to_string();
    assert!(refused.contains("farfield 1.2.2, and the gatherer 1.2.3"), "{refused}");
    let third = JoinSettings { part: Some(Part::new(1, 3).expect("a part")), ..scene.joining() };
    assert!(Member::join(&third).expect_err("no such part").to_string().contains("no part 1/3"));
    let rank = JoinSettings { rank: Some(2), ..scene.joining() };
    assert!(Member::join(&rank).expect_err("no such rank").to_string().contains("there are 2 parts"));
    // The right key and no token.
    let token = Hello {
        version: VERSION,
        farfield: FARFIELD.to_owned(),
        token: "00".repeat(16),
        part: None,
        rank: None,
        host: String::new(),
    };
    let mut thief = Peer::of(scene.link());
    thief.link.send(&token).expect("taken");
    let refused = thief.until(|message| match message {
        OfGatherer::Refused { why } => Some(why.clone()),
        _ => None,
    });
    assert!(refused.expect("a reason").contains("token"));
    // A later protocol, whose hello is another.
    let mut later = Peer::of(scene.link());
    later.link.send(&serde_json::json!({ "version": VERSION + 1, "who": 7 })).expect("taken");
    let refused = later.until(|message| match message {
        OfGatherer::Refused { why } => Some(why.clone()),
        _ => None,
    });
    assert!(refused.expect("a reason").contains("version 3 of the rendezvous"));
    // No TLS; a frame that never ends; a frame that is longer than any; a hello that is none.
    let mut garbage = TcpStream::connect(scene.address).expect("a gatherer");
    garbage.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("taken");
    let mut answer = Vec::new();
    let _ = garbage.read_to_end(&mut answer);
    let _silent: Vec<TcpStream> =
        (0..90).map(|_| TcpStream::connect(scene.address).expect("a gatherer")).collect();
    for frame in
        [Frame::Bytes(vec![0; STRANGER_MAX + 1]), Frame::Bytes(vec![0; 100]), Frame::Message(b"{}".to_vec())]
    {
        let mut peer = Peer::of(scene.link());
        peer.link.send_frame(&frame).expect("taken");
        assert_eq!(peer.until(|message| Some(message.clone())), None);
    }
    // All the while parts are admitted, also where strangers are more than there is room for.
    let _first = scene.join();
    assert_eq!(scene.join().part(), Part::new(2, 2).expect("a part"));
    assert!(
        Member::join(&scene.joining()).expect_err("no place").to_string().contains("all parts are there")
    );
    scene.stop.store(true, Ordering::Relaxed);
    assert_eq!(scene.end().expect_err("no run"), GatherError::Interrupted);
}

#[test]
fn a_part_that_misbehaves_is_lost_and_the_others_are_kept() {
    let file = |name: &str, bytes: u64| Frame::message(&OfPart::File { name: name.to_owned(), bytes });
    for (frames, says) in [
        (vec![file("../../stolen", 3)], "a name that no part has"),
        (vec![file("samples.parquet", 1 << 60)], "larger than 1000 bytes"),
        (vec![file("summary.json", 2), Frame::Bytes(vec![0; 3])], "more or less"),
        (vec![file("summary.json", 2), Frame::message(&OfPart::Done)], "more or less"),
        (vec![Frame::Message(b"[[[[".to_vec())], "does not speak as it should"),
        (vec![Frame::message(&OfPart::Failed { why: "a\u{1b}[31mred".to_owned() })], "a[31mred"),
        (vec![huge()], "figures that are none"),
        (vec![], "closed"),
    ] {
        let scene = Scene::of(2, 60);
        let member = scene.join();
        let mut hostile = scene.peer();
        thread::scope(|scope| {
            scope.spawn(|| start(&member));
            hostile.start();
        });
        for frame in &frames {
            // It may be gone by now.
            let _ = hostile.link.send_frame(frame);
        }
        if frames.is_empty() {
            hostile.link.close();
        } else {
            hostile.until(|_| None::<()>);
        }
        scene.await_news("Lost");
        member.hand_over(&scene.directory(&[("summary.json", "{}")])).expect("kept");
        let home = scene.home.path().to_owned();
        let gathered = scene.gathering.join().expect("no panic").expect("a run");
        assert_eq!(directories(&gathered), [home.join("1-of-2")], "{says}");
        assert!(gathered.lost.len() == 1 && gathered.lost[0].contains(says), "{says}: {:?}", gathered.lost);
        assert!(!home.join("stolen").exists() && !home.parent().expect("above").join("stolen").exists());
    }
}

/// Figures whose sum overflows as soon as another part's is added.
fn huge() -> Frame {
    let response = serde_json::json!({
        "min_ns": 1, "max_ns": 1, "sum_ns": [u64::MAX, u64::MAX], "squares": [0, 0], "clamped": 0, "bins": [[1, 1]],
    });
    Frame::message(&serde_json::json!({
        "kind": "figures", "now_ns": 0, "measured_ns": [0, 0], "ended": 0, "failed": 0, "connections": 0,
        "in_system": 0, "response": response,
    }))
}

/// A peer with the token sends files before anything has begun.
#[test]
fn nothing_is_taken_before_the_start_and_a_part_that_goes_leaves_its_place() {
    let scene = Scene::of(2, 60);
    let mut early = scene.peer();
    early.until(|message| matches!(message, OfGatherer::Prepare).then_some(())).expect("a handout");
    early.link.send(&OfPart::File { name: "summary.json".to_owned(), bytes: 1 }).expect("taken");
    early.until(|_| None::<()>);
    scene.await_news("has not begun");
    let one = scene.join();
    assert_eq!(one.part(), Part::new(1, 2).expect("a part"), "its place is free again");
    // So does one that is interrupted; one that cannot run ends all.
    one.leave("interrupted");
    scene.await_news("Left(\"part 1/2 on here: interrupted");
    let one = scene.join();
    assert_eq!(one.part(), Part::new(1, 2).expect("a part"));
    one.fail("no such file: list.txt");
    let error = scene.end().expect_err("no run").to_string();
    assert!(error.contains("part 1/2 on here: no such file: list.txt"), "{error}");
}

#[test]
fn a_part_of_another_scenario_or_none_in_time_ends_the_rendezvous() {
    let scene = Scene::of(2, 60);
    // It is the first, and no other has come: the gatherer's scenario counts.
    let member = scene.join();
    let waited = thread::scope(|scope| {
        scope
            .spawn(|| member.await_start(Some("seed = 8"), &AtomicBool::new(false)))
            .join()
            .expect("no panic")
    });
    assert!(waited.is_err() && member.ended().is_some());
    assert!(scene.end().expect_err("no run").to_string().contains("another scenario"));

    let scene = Scene::of(3, 0);
    let error = scene.end().expect_err("no run").to_string();
    assert!(error.contains("part 1/3 has not joined, part 2/3 has not joined"), "{error}");
}

/// A part answers pings, and its run hangs.
#[test]
fn a_part_that_reports_no_figures_is_named_and_given_up() {
    let scene = Scene::with(|settings| settings.quiet_ns = 2_500_000_000);
    let member = scene.join();
    let mut hung = scene.peer();
    thread::scope(|scope| {
        scope.spawn(|| start(&member));
        hung.start();
    });
    member.hand_over(&scene.directory(&[("summary.json", "{}")])).expect("kept");
    hung.until(|_| None::<()>);
    scene.await_news("Waiting(\"part 2/2 on there: it has reported no figures for 2 s\")");
    let gathered = scene.end().expect("a run");
    assert_eq!((gathered.returned.len(), gathered.lost.len()), (1, 1));
    assert!(gathered.lost[0].contains("no figures"), "{:?}", gathered.lost);
}

#[test]
fn a_round_trip_of_more_than_half_a_second_hinders_no_start() {
    let scene = Scene::of(2, 20);
    let member = scene.join();
    let mut far = scene.peer();
    far.is_far = true;
    thread::scope(|scope| {
        scope.spawn(|| start(&member));
        far.start();
    });
    far.link.close();
    member.hand_over(&scene.directory(&[("summary.json", "{}")])).expect("kept");
    scene.end().expect("a run");
}

/// A wait for nothing but a peer gives each of its frames, at whichever instant these come.
#[test]
fn frames_are_no_wakes() {
    const FRAMES: u64 = 50_000;
    let key = GatherKey::generate();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let tls = rustls::ServerConnection::new(key.server()).expect("TLS");
    let sending = thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a peer");
        let mut link = Link::new(tls.into(), socket).expect("a socket");
        (0..FRAMES).for_each(|number| link.send(&OfGatherer::Ping { number }).expect("taken"));
        // Until the peer has gone.
        let _ = link.receive(monotonic_ns() + 60 * SECOND, None);
    });
    let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([127, 0, 0, 1])));
    let tls = ClientConnection::new(key.ticket().client(), name).expect("TLS");
    let mut link = Link::new(tls.into(), TcpStream::connect(address).expect("a peer")).expect("a socket");
    for number in 0..FRAMES {
        let received = link.receive(monotonic_ns() + 20 * SECOND, None).expect("a frame");
        assert!(matches!(received, WaitEnd::Frame(_)), "no frame, but the end of a wait, at frame {number}");
    }
    link.close();
    sending.join().expect("no panic");
}

/// A part whose machine is busy ahead of the start, so that it says nothing for a while, is named and waited
/// for: it keeps its place, and the others do not start without it.
#[test]
fn a_part_that_is_slow_to_answer_ahead_of_the_start_is_waited_for() {
    let scene = Scene::of(2, 60);
    let mut slow = scene.peer();
    slow.ready();
    // Its clock is measured, and then it says nothing.
    let mut pings = 0;
    slow.until(|message| {
        pings += u32::from(matches!(message, OfGatherer::Ping { .. }));
        (pings > 9).then_some(())
    });
    let until = monotonic_ns() + 2 * SECOND;
    while monotonic_ns() < until {
        thread::park_timeout(std::time::Duration::from_millis(50));
    }
    let member = scene.join();
    let start = thread::scope(|scope| {
        let other = scope.spawn(|| start(&member));
        scene.await_news("has said nothing for");
        let said = scene.said();
        assert!(!said.contains("Left(") && !said.contains("Starting"), "{said}");
        let own = slow.until(|message| match message {
            OfGatherer::Start { monotonic_ns, .. } => Some(*monotonic_ns),
            _ => None,
        });
        (own.expect("a start"), other.join().expect("no panic"))
    });
    assert!(start.0.abs_diff(start.1) < SECOND, "{start:?}");
    slow.link.close();
    member.hand_over(&scene.directory(&[("summary.json", "{}")])).expect("kept");
    let result = scene.end().expect("a run");
    assert_eq!((result.returned.len(), result.lost.len()), (1, 1));
}

/// Bytes of a part are heard as they come, and not only when all of a frame is there.
#[test]
fn a_part_with_a_thin_uplink_is_not_silent() {
    let scene = Scene::of(2, 60);
    let thin = thin_uplink(scene.address);
    let joining = JoinSettings { address: thin.to_string(), ..scene.joining() };
    let members = [scene.join(), Member::join(&joining).expect("admitted")];
    thread::scope(|scope| members.iter().for_each(|member| drop(scope.spawn(|| start(member)))));
    let mut response = Histogram::new();
    (1..3_000).for_each(|n| response.record_many(Duration::from_us(n * 333), n));
    let (measured_ns, counts) = ((0, SECOND), 0);
    members[1].report(PartFigures {
        now_ns: 1,
        measured_ns,
        ended: counts,
        failed: counts,
        connections: counts,
        in_system: counts,
        response,
    });
    scene.await_news("Sum");
    for member in &members {
        member.hand_over(&scene.directory(&[("summary.json", "{}")])).expect("kept");
    }
    assert_eq!(scene.end().expect("a run").returned.len(), 2);
}

/// The address of a way to `gatherer` by which some 16 kB go up in a second, and any number down.
fn thin_uplink(gatherer: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (mut part, _) = listener.accept().expect("a part");
        let mut on = TcpStream::connect(gatherer).expect("a gatherer");
        let (mut up, mut down) = (part.try_clone().expect("a socket"), on.try_clone().expect("a socket"));
        thread::spawn(move || std::io::copy(&mut down, &mut part));
        let mut piece = [0; 800];
        while let Ok(count @ 1..) = up.read(&mut piece) {
            if on.write_all(&piece[..count]).is_err() {
                return;
            }
            thread::park_timeout(std::time::Duration::from_millis(50));
        }
    });
    address
}
