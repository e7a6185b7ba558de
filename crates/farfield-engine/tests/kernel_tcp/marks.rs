//! Explicit congestion notification beside the kernel's: what both ends agree upon, what a mark makes of the
//! sender's window, and how the receiver echoes it.

use crate::stage::{Fate, Played, Scene, Sent, Subject};
use crate::{linux, one_way};
use farfield_tcp::{Config, Ecn, EcnUse};

const ON: &[(&str, &str)] = &[("net.ipv4.tcp_ecn", "1")];

fn marking() -> Config {
    linux().with(|config| config.ecn = EcnUse::Offer)
}

/// Marks the first transmission of the subject's, or the other's, segment `index`.
fn mark(by_subject: bool, index: i64) -> impl Fn(&Sent) -> Fate {
    move |sent| {
        let hit = sent.by_subject == by_subject && sent.has_data() && sent.index() == index && sent.time == 1;
        if hit { Fate::Mark } else { Fate::Pass }
    }
}

fn flags(sent: &Sent) -> String {
    format!("{:?}", sent.segment.flags)
}

/// Codepoints of the subject's segments with data, and of all others of its.
fn codepoints(played: &Played) -> [Vec<Ecn>; 2] {
    let of = |has_data| {
        let picked = played.log.iter().filter(|sent| sent.by_subject && sent.has_data() == has_data);
        let mut all: Vec<Ecn> = picked.map(|sent| sent.segment.ecn).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    [of(true), of(false)]
}

#[test]
fn both_agree_and_say_so_on_their_data() {
    for subject_opens in [true, false] {
        let (subject, other) = one_way(30);
        let fate = &|_: &Sent| Fate::Pass;
        let scene = Scene { subject_opens, subject, other, config: marking(), settings: ON, fate };
        let Some(kernel) = scene.play("both_agree_and_say_so_on_their_data", Subject::Kernel) else { return };
        let ours = scene.play("", Subject::Ours).unwrap();
        for played in [&kernel, &ours] {
            assert_eq!([&played.log[0], &played.log[1]].map(flags), ["SEW", "SAE"]);
            assert_eq!(codepoints(played), [vec![Ecn::Ect0], vec![Ecn::NotEct]]);
            assert!(played.all_arrived);
        }
    }
}

/// A mark in the second flight: the subject says in the round after that it has reduced its window, once, has
/// about half of it then, and sends nothing again.
#[test]
fn a_mark_makes_of_the_window_what_it_makes_of_the_kernels() {
    let fate = mark(true, 15);
    let (subject, other) = one_way(150);
    let scene = Scene { subject_opens: false, subject, other, config: marking(), settings: ON, fate: &fate };
    let test = "a_mark_makes_of_the_window_what_it_makes_of_the_kernels";
    let Some(kernel) = scene.play(test, Subject::Kernel) else { return };
    let ours = scene.play("", Subject::Ours).unwrap();
    for played in [&kernel, &ours] {
        assert!(played.all_arrived && played.resent().is_empty(), "{:?}", played.resent());
        let reduced: Vec<i64> =
            played.data(true).filter(|sent| sent.segment.flags.cwr).map(Sent::index).collect();
        println!("rounds {:?}, CWR {reduced:?}", played.rounds());
        // The mark is one of the thirty segments sent when it is known; the next is the first with less.
        assert_eq!(reduced, [40]);
    }
    // The kernel sends on at half its rate while the window shrinks (PRR, RFC 6937), farfield waits until it
    // has: a round later both have about half of thirty, and grow by one a round.
    let [theirs, ours] = [&kernel, &ours].map(|played| played.rounds());
    assert_eq!((theirs[..2].to_vec(), ours[..2].to_vec()), (vec![10, 20], vec![10, 20]));
    for round in 3..7 {
        assert!((theirs[round] - ours[round]).abs() <= 3, "{theirs:?} and {ours:?}");
        assert!((11..=18).contains(&ours[round]), "{ours:?}");
    }
}

/// The subject echoes a mark on each acknowledgment until the sender's CWR comes.
#[test]
fn a_mark_is_echoed_as_the_kernel_does() {
    let fate = mark(false, 15);
    let (other, subject) = one_way(60);
    let scene = Scene { subject_opens: true, subject, other, config: marking(), settings: ON, fate: &fate };
    let Some(kernel) = scene.play("a_mark_is_echoed_as_the_kernel_does", Subject::Kernel) else { return };
    let ours = scene.play("", Subject::Ours).unwrap();
    for played in [&kernel, &ours] {
        assert!(played.all_arrived);
        let echoes = |sent: &&Sent| sent.by_subject && sent.segment.flags.ece && !sent.segment.flags.syn;
        let echoed: Vec<i64> =
            played.log.iter().filter(echoes).map(|sent| (sent.ack - 1) / crate::MSS).collect();
        let cwr = played.data(false).find(|sent| sent.segment.flags.cwr).expect("the sender reacts");
        println!("echoes {echoed:?}, CWR with {}", cwr.index());
        // Of the marked segment, at once, until that with CWR has come, which is acknowledged without.
        assert_eq!((echoed[0], echoed.last()), (16, Some(&cwr.index())));
        let after = played.log.iter().filter(|sent| sent.by_subject && sent.ack > cwr.seq);
        assert!(after.count() > 0, "what comes after is acknowledged");
    }
}
