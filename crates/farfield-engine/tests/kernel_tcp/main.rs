//! Farfield's TCP against the kernel's: the same script for both, and what a peer can see of each compared.
//!
//! The *subject* of a scene is played by the kernel in a network namespace, behind a TUN, and by farfield
//! itself; the other end is farfield each time. A path of 200 ms and half a round trip of tolerance leave
//! room for a busy machine; a scene that lagged nevertheless is played again, and skipped by name if it
//! always does.

mod end;
mod forged;
mod lacking;
mod marks;
mod stage;

#[path = "../../../farfield-testbed/tests/scene/mod.rs"]
mod testbed_scene;

use end::{Application, Closes, testbed};
use farfield_base::Duration;
use farfield_tcp::{Algorithm, Config, Flags, InitialWindow, ReceiveBuffer, SeqNumber, Timestamps};
use forged::{Answer, Forger};
use stage::{Fate, MSS, Played, Scene, Sent, Subject};
use std::collections::BTreeMap;

/// Farfield's Linux, with Reno as the kernel has it here.
fn linux() -> Config {
    Config::linux().with(|config| {
        config.congestion = Algorithm::Reno;
        config.receive_buffer = ReceiveBuffer::Fixed(1 << 20);
        config.reassembly_max = 1 << 20;
        config.time_wait = Duration::from_ms(100);
    })
}

/// One writes so many segments, the other reads them and closes first.
fn one_way(segments: i64) -> (Application, Application) {
    let len = (segments * MSS) as usize;
    let reads = Application { writes: 0, turns: &[], closes: Closes::HavingRead(len) };
    (Application { writes: len, turns: &[], closes: Closes::Afterwards }, reads)
}

/// The subject sends `segments` across a path with `fate`.
fn sending<'a>(segments: i64, subject_opens: bool, fate: &'a dyn Fn(&Sent) -> Fate) -> Scene<'a> {
    let (subject, other) = one_way(segments);
    Scene { subject_opens, subject, other, config: linux(), settings: &[], fate }
}

/// Loses transmissions of the subject's or the other's data: (segment, which time).
fn losing(by_subject: bool, lost: &'static [(i64, u32)]) -> impl Fn(&Sent) -> Fate {
    move |sent| {
        let hit =
            sent.by_subject == by_subject && sent.has_data() && lost.contains(&(sent.index(), sent.time));
        if hit { Fate::Drop } else { Fate::Pass }
    }
}

#[test]
fn slow_start_grows_alike() {
    for subject_opens in [false, true] {
        let scene = sending(150, subject_opens, &|_| Fate::Pass);
        let Some(kernel) = scene.play("slow_start_grows_alike", Subject::Kernel) else { return };
        let ours = scene.play("", Subject::Ours).unwrap();
        assert!(kernel.all_arrived && ours.all_arrived);
        assert_eq!(ours.rounds(), [10, 20, 40, 80]);
        assert_eq!(kernel.rounds(), ours.rounds());
        assert_eq!((kernel.resent(), ours.resent()), (vec![], vec![]));
    }
}

/// The kernel's receive buffer as it is where nobody has set it up.
const USUAL_BUFFER: &[(&str, &str)] = &[("net.ipv4.tcp_rmem", "4096 131072 6291456")];

/// The subject receives `segments` with its usual buffer, from a sender that begins with so many at once.
fn receiving(segments: i64, initial_window: InitialWindow) -> Scene<'static> {
    let (other, subject) = one_way(segments);
    let usual = Config::linux();
    let (receive_buffer, reassembly_max) = (usual.receive_buffer, usual.reassembly_max);
    let config = linux().with(|config| {
        (config.receive_buffer, config.reassembly_max, config.initial_window) =
            (receive_buffer, reassembly_max, initial_window)
    });
    Scene { subject_opens: true, subject, other, config, settings: USUAL_BUFFER, fate: &|_| Fate::Pass }
}

/// Receive buffers that grow, as a sender sees them. Of the kernel's only so much is asserted as needs no
/// growth: it counts nothing for a round trip in which its reader is behind, as on a busy machine.
#[test]
fn receive_buffers_grow_as_slow_start_does() {
    let test = "receive_buffers_grow_as_slow_start_does";
    // The second sender would send a flight of 255 segments at once
    for (segments, initial_window) in [(450, InitialWindow::Rfc6928), (560, InitialWindow::Segments(255))] {
        let scene = receiving(segments, initial_window);
        let Some(kernel) = scene.play(test, Subject::Kernel) else { return };
        let ours = scene.play("", Subject::Ours).unwrap();
        assert!(kernel.all_arrived && ours.all_arrived);
        let (theirs, ours) = (kernel.rounds_by(false), ours.rounds_by(false));
        println!("{segments} segments: farfield {ours:?}, the kernel {theirs:?}");
        if initial_window == InitialWindow::Rfc6928 {
            assert_eq!(ours, [10, 20, 40, 80, 160, 140], "slow start does not meet the window");
            assert_eq!(theirs[..3], ours[..3]);
            assert!(theirs.len() <= 12, "{theirs:?}");
        } else {
            // 64 KiB, the same until it was measured, and then twice what came more
            assert_eq!(ours[..3], [45, 45, 135]);
        }
    }
}

/// The number of times that each segment was sent again, by index.
fn counts(resent: &[(i64, f64)]) -> BTreeMap<i64, u32> {
    let mut counts = BTreeMap::new();
    resent.iter().for_each(|(index, _)| *counts.entry(*index).or_default() += 1);
    counts
}

#[test]
fn the_same_segments_are_sent_again_in_the_same_rounds() {
    let scripts: [(&str, &'static [(i64, u32)]); 5] = [
        ("one", &[(4, 1)]),
        ("the first", &[(0, 1)]),
        ("two together", &[(3, 1), (4, 1)]),
        ("three holes", &[(2, 1), (4, 1), (6, 1)]),
        ("in the second flight", &[(12, 1), (20, 1)]),
    ];
    for (name, lost) in scripts {
        let fate = losing(true, lost);
        let scene = sending(60, false, &fate);
        let Some(kernel) = scene.play("the_same_segments_are_sent_again", Subject::Kernel) else { return };
        let ours = scene.play("", Subject::Ours).unwrap();
        assert!(kernel.all_arrived && ours.all_arrived, "{name}");
        let expected: BTreeMap<i64, u32> = lost.iter().map(|(index, _)| (*index, 1)).collect();
        let (theirs, ours) = (kernel.resent(), ours.resent());
        assert_eq!(counts(&ours), expected, "{name}: farfield {ours:?}, the kernel {theirs:?}");
        assert_eq!(counts(&theirs), expected, "{name}: the kernel {theirs:?}");
        for ((index, at), (_, theirs)) in ours.iter().zip(&theirs) {
            assert!(
                (at - theirs).abs() < 1.5,
                "{name}: {index} after {at} round trips, {theirs} the kernel's"
            );
        }
    }
}

#[test]
fn reordering_by_two_is_no_loss() {
    let late = |sent: &Sent| sent.by_subject && sent.has_data() && sent.index() == 7;
    let fate = |sent: &Sent| if late(sent) { Fate::Late(Duration::from_ms(1)) } else { Fate::Pass };
    let scene = sending(40, false, &fate);
    let Some(kernel) = scene.play("reordering_by_two_is_no_loss", Subject::Kernel) else { return };
    let ours = scene.play("", Subject::Ours).unwrap();
    assert!(kernel.all_arrived && ours.all_arrived);
    assert_eq!((kernel.resent(), ours.resent()), (vec![], vec![]));
}

/// Reports of the subject: acknowledged segments, and the SACK block of the segment that had just come.
fn reports(played: &Played) -> Vec<(i64, (i64, i64))> {
    let origin = played.log.iter().find(|sent| !sent.by_subject).expect("a SYN").segment.seq;
    let report = |sent: &Sent| {
        let (left, right) = *sent.segment.options.sack.as_slice().first()?;
        let index = |at: SeqNumber| (at.position(origin, sent.ack) - 1) / MSS;
        Some(((sent.ack - 1) / MSS, (index(left), index(right))))
    };
    played.log.iter().filter(|sent| sent.by_subject).filter_map(report).collect()
}

/// Out of order or not, each segment is acknowledged by itself: short of memory, a kernel joins such
/// acknowledgments.
const EACH: &[(&str, &str)] = &[("net.ipv4.tcp_comp_sack_nr", "0")];

#[test]
fn losses_are_reported_in_the_same_words() {
    let scripts: [&'static [(i64, u32)]; 3] =
        [&[(4, 1)], &[(1, 1), (3, 1), (5, 1), (7, 1)], &[(0, 1), (12, 1), (20, 1), (21, 1)]];
    for lost in scripts {
        for subject_opens in [false, true] {
            let fate = losing(false, lost);
            let (other, reads) = one_way(40);
            let subject = Application { closes: Closes::HavingReadAll((40 * MSS) as usize), ..reads };
            let scene = Scene { subject_opens, subject, other, config: linux(), settings: EACH, fate: &fate };
            let test = "losses_are_reported_in_the_same_words";
            let Some(kernel) = scene.play(test, Subject::Kernel) else { return };
            let ours = scene.play(test, Subject::Ours).unwrap();
            assert!(kernel.all_arrived && ours.all_arrived, "{lost:?}");
            assert!(!reports(&ours).is_empty());
            assert_eq!(reports(&kernel), reports(&ours), "{lost:?}");
        }
    }
}

/// The subject's end: where its FINs stood and what they acknowledged, how many resets it sent, and what its
/// last segment acknowledged.
fn ending(played: &Played) -> (Vec<(i64, i64)>, usize, Option<i64>) {
    let subject = || played.log.iter().filter(|sent| sent.by_subject);
    let fins = subject().filter(|sent| sent.segment.flags.fin).map(|sent| (sent.seq + sent.len, sent.ack));
    let resets = subject().filter(|sent| sent.segment.flags.rst).count();
    (fins.collect(), resets, subject().next_back().map(|sent| sent.ack))
}

#[test]
fn connections_end_alike() {
    let at_once = Application { writes: 100, turns: &[], closes: Closes::AtOnce };
    let afterwards = Application { closes: Closes::Afterwards, ..at_once };
    for (subject, other) in [(at_once, afterwards), (afterwards, at_once), (at_once, at_once)] {
        let (mut all, test) = (Vec::new(), "connections_end_alike");
        for subject_opens in [false, true] {
            let scene = Scene {
                subject_opens,
                subject,
                other,
                config: linux(),
                settings: &[],
                fate: &|_| Fate::Pass,
            };
            let Some(kernel) = scene.play(test, Subject::Kernel) else { return };
            let ours = scene.play(test, Subject::Ours).unwrap();
            all.push((ending(&kernel), ending(&ours)));
        }
        for (kernel, ours) in all {
            assert_eq!(kernel, ours, "{subject:?} and {other:?}");
        }
    }
}

/// Segments to a subject, and its answers.
type Script = (&'static str, fn(Forger) -> Vec<Vec<Answer>>);

const FORGED: [Script; 14] = [
    ("a reset in the window", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::RST, 501, 1, 0), peer.forge(Flags::ACK, 1, 1, 10)]
    }),
    ("a reset before the window", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::RST, -9, 1, 0)]
    }),
    ("the reset that is exact", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::RST, 1, 1, 0), peer.forge(Flags::ACK, 1, 1, 10)]
    }),
    ("a SYN in the window", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::SYN, 301, 0, 0)]
    }),
    ("a SYN beyond the window", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::SYN, 200_000_000, 0, 0)]
    }),
    ("a SYN without stamps", |peer| {
        let mut peer = peer.connected();
        let mut syn = peer.segment(Flags::SYN, 301, 0);
        syn.options.timestamps = None;
        vec![peer.say(syn, 0)]
    }),
    ("a stamp of long ago", |peer| {
        let mut peer = peer.connected();
        let mut old = peer.segment(Flags::ACK, 1, 1);
        old.options.timestamps = Some(Timestamps { value: 1_000, echo: 0 });
        vec![peer.say(old, 10)]
    }),
    ("a stamp of the future on an ACK of long ago", |peer| {
        let mut peer = peer.connected();
        let mut early = peer.segment(Flags::ACK, 1, -3_000_000);
        early.options.timestamps = Some(Timestamps { value: 900_000, echo: 0 });
        let challenged = peer.say(early, 10);
        vec![challenged, peer.forge(Flags::ACK, 1, 1, 10)]
    }),
    ("data again", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::ACK, 1, 1, 100), peer.forge(Flags::ACK, 1, 1, 100)]
    }),
    ("data beyond the window", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::ACK, 100_000_000, 1, 100)]
    }),
    ("the SYN again", |peer| {
        let mut peer = peer.opening();
        let syn = peer.syn();
        vec![peer.say(syn, 0)]
    }),
    ("an ACK of another SYN", |peer| {
        let mut peer = peer.opening();
        vec![peer.forge(Flags::ACK, 1, 500, 0)]
    }),
    ("a FIN, and the last ACK", |peer| {
        let mut peer = peer.connected();
        let mut closing = peer.forge(Flags::FIN_ACK, 1, 1, 0);
        // The ACK of the FIN may go with the subject's own, or before; and the kernel, which takes the path
        // for a short one, does not wait 300 ms for the answer
        closing.retain(|(flags, ..)| flags.fin);
        closing.dedup();
        vec![closing, peer.forge(Flags::ACK, 2, 2, 0), peer.forge(Flags::ACK, 2, 2, 0)]
    }),
    ("a FIN behind a hole", |peer| {
        let mut peer = peer.connected();
        vec![peer.forge(Flags::FIN_ACK, 11, 1, 0)]
    }),
];

#[test]
fn forgeries_are_answered_alike() {
    for (name, script) in FORGED {
        let Some(testbed) = testbed("forgeries_are_answered_alike", &[]) else { return };
        let kernel = script(Forger::new(Subject::Kernel, Some(&testbed), &linux()));
        let ours = script(Forger::new(Subject::Ours, None, &linux()));
        assert_eq!(kernel, ours, "{name}: the kernel's answers, and farfield's");
    }
}
