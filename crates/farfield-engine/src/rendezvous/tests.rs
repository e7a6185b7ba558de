//! A gatherer, and peers that speak its protocol as parts do, or as strangers would.

use super::link::{Link, Received};
use super::ticket::{GatherKey, Ticket};
use super::wire::{Frame, Hello, OfGatherer, OfPart, STRANGER_MAX, VERSION};
use super::{GatherError, GatherSettings, Gathered, Gatherer, HandoutFile, JoinError, Joining, Member, News};
use crate::run::StartSource;
use farfield_base::Part;
use farfield_os::clock::{Readings, monotonic_ns};
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
    gathering: JoinHandle<Result<Gathered, GatherError>>,
}

impl Scene {
    fn of(parts: u32, wait_s: u64) -> Scene {
        let home = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let key = GatherKey::generate();
        let ticket = key.ticket();
        let settings = GatherSettings {
            parts: (1..=parts).map(|number| Part::new(number, parts).expect("a part")).collect(),
            files: vec![
                HandoutFile { name: "scenario.toml".to_owned(), content: b"seed = 7".to_vec() },
                HandoutFile { name: "inputs/list".to_owned(), content: vec![b'x'; 200_000] },
            ],
            bytes_max: 1_000,
            farfield: FARFIELD.to_owned(),
            wait_ns: wait_s * SECOND,
        };
        let gatherer = Gatherer::begin(listener, key, settings, home.path()).expect("a thread");
        let (stop, news) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<News>>>::default());
        let (own_stop, own_news) = (Arc::clone(&stop), Arc::clone(&news));
        let gathering = thread::spawn(move || {
            gatherer.gather(&own_stop, |news| own_news.lock().expect("a list").push(news))
        });
        Scene { home, address, ticket, stop, news, gathering }
    }

    fn joining(&self) -> Joining {
        Joining {
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
        let mut peer = Peer { link: self.link(), clock_ns: 0 };
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

    fn end(self) -> Result<Gathered, GatherError> {
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
}

impl Peer {
    /// Answers pings until `found` finds its message; `None` if the gatherer closes first.
    fn until<T>(&mut self, mut found: impl FnMut(&OfGatherer) -> Option<T>) -> Option<T> {
        loop {
            let received = self.link.receive(monotonic_ns() + 20 * SECOND, None).ok()?;
            let Received::Frame(frame) = received else { panic!("the gatherer is silent") };
            let Ok(message) = frame.read::<OfGatherer>() else { continue };
            if let OfGatherer::Ping { number } = message {
                let wall_ns = Readings::now().wall_ns + self.clock_ns;
                self.link.send(&OfPart::Pong { number, wall_ns }).ok()?;
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

    fn start(&mut self) -> (u64, i64, u64) {
        self.ready();
        let start = |message: &OfGatherer| match message {
            OfGatherer::Start { unix_ns, offset_ns, error_ns } => Some((*unix_ns, *offset_ns, *error_ns)),
            _ => None,
        };
        self.until(start).expect("a start")
    }
}

/// SHA-256 of nothing, as members of these scenes have it.
const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn start(member: &Member) -> u64 {
    member.await_start(None, &AtomicBool::new(false)).expect("a start").unix_ns
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
    assert_eq!(gathered.directories, [home.join("1-of-2"), home.join("2-of-2")]);
    assert!(gathered.lost.is_empty() && !gathered.interrupted);
    assert_eq!(fs::read_to_string(home.join("2-of-2/summary.json")).expect("a file"), "{}");
    assert!(!home.join("1-of-2/report.html").exists(), "the page of a part stays with it");
}

/// Time namespaces leave the wall clock alone: this part answers pings with a clock of its own.
#[test]
fn a_clock_that_is_an_hour_ahead_is_given_the_start_in_its_own_time() {
    const HOUR: i64 = 3_600_000_000_000;
    let scene = Scene::of(2, 60);
    let member = scene.join();
    let mut skewed = scene.peer();
    skewed.clock_ns = HOUR;
    let (own, (unix_ns, offset_ns, error_ns)) = thread::scope(|scope| {
        let own = scope.spawn(|| start(&member));
        let skewed = skewed.start();
        (own.join().expect("a start"), skewed)
    });
    assert!((offset_ns - HOUR).unsigned_abs() <= error_ns, "{offset_ns} ± {error_ns}");
    assert!(error_ns < SECOND, "{error_ns} ns for a way of no length");
    assert!(own.abs_diff(unix_ns - HOUR as u64) <= SECOND / 10, "{own} and {unix_ns}");
    scene.stop.store(true, Ordering::Relaxed);
    drop(skewed);
    member.hand_over(&scene.directory(&[])).expect("nothing to keep");
    assert!(scene.end().expect("a run").interrupted);
}

#[test]
fn strangers_are_refused_and_hold_nobody_up() {
    let scene = Scene::of(2, 60);
    let other = Joining { ticket: GatherKey::generate().ticket(), ..scene.joining() };
    assert_eq!(
        Member::join(&other).expect_err("another key"),
        JoinError::OtherKey(scene.address.to_string())
    );
    let old = Joining { farfield: "1.2.2".to_owned(), ..scene.joining() };
    let refused = Member::join(&old).expect_err("another version").to_string();
    assert!(refused.contains("farfield 1.2.2, and the gatherer 1.2.3"), "{refused}");
    let third = Joining { part: Some(Part::new(1, 3).expect("a part")), ..scene.joining() };
    assert!(Member::join(&third).expect_err("no such part").to_string().contains("no part 1/3"));
    let rank = Joining { rank: Some(2), ..scene.joining() };
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
    let mut thief = Peer { link: scene.link(), clock_ns: 0 };
    thief.link.send(&token).expect("taken");
    let refused = thief.until(|message| match message {
        OfGatherer::Refused { why } => Some(why.clone()),
        _ => None,
    });
    assert!(refused.expect("a reason").contains("token"));
    // No TLS; a frame that never ends; a frame that is longer than any; a hello that is none.
    let mut garbage = TcpStream::connect(scene.address).expect("a gatherer");
    garbage.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("taken");
    let mut answer = Vec::new();
    let _ = garbage.read_to_end(&mut answer);
    let _silent: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(scene.address).expect("a gatherer")).collect();
    for frame in
        [Frame::Bytes(vec![0; STRANGER_MAX + 1]), Frame::Bytes(vec![0; 100]), Frame::Message(b"{}".to_vec())]
    {
        let mut peer = Peer { link: scene.link(), clock_ns: 0 };
        peer.link.send_frame(&frame).expect("taken");
        assert_eq!(peer.until(|message| Some(message.clone())), None);
    }
    // All the while parts are admitted.
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
        assert_eq!(gathered.directories, [home.join("1-of-2")], "{says}");
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

/// It has the token, and sends files before anything has begun.
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
    one.fail("no such file: list.txt");
    let error = scene.end().expect_err("no run").to_string();
    assert!(error.contains("part 1/2 on here: no such file: list.txt"), "{error}");
}

#[test]
fn a_part_of_another_scenario_or_none_in_time_ends_the_rendezvous() {
    let scene = Scene::of(2, 60);
    let member = scene.join();
    let mut other = scene.peer();
    other.ready();
    scene.await_news("there");
    let waited = thread::scope(|scope| {
        scope
            .spawn(|| member.await_start(Some("seed = 8"), &AtomicBool::new(false)))
            .join()
            .expect("no panic")
    });
    assert!(waited.is_err() && member.ended().is_some());
    drop(other);
    assert!(scene.end().expect_err("no run").to_string().contains("another scenario"));

    let scene = Scene::of(3, 0);
    let error = scene.end().expect_err("no run").to_string();
    assert!(error.contains("part 1/3 has not joined, part 2/3 has not joined"), "{error}");
}
