//! Mechanisms of Linux's TCP that farfield's profile does without, each in a script that shows it: the
//! figures of the table in docs/accuracy.md.
//!
//! Farfield's figures are of virtual time: they are asserted, and the page must have them. The kernel's are
//! printed (`-- --nocapture --test-threads 1`), and asserted as far as every kernel with the mechanism has
//! them.

use crate::end::{Application, CONGESTION_CONTROL, Closes};
use crate::stage::{Fate, MSS, Played, RTT, Scene, Sent, Subject};
use crate::{linux, losing, sending};
use farfield_base::{Duration, Instant};
use farfield_tcp::Config;
use std::cell::Cell;
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../docs/accuracy.md");

/// One line of the table.
struct Row<'a> {
    script: &'static str,
    scene: Scene<'a>,
    figure: fn(&Played) -> String,
    /// The figure here.
    here: &'static str,
    /// True if the mechanism's effect shows for the kernel.
    kernel_shows: fn(&Played) -> bool,
}

/// Plays each script on both, prints the lines, and asserts all of them. Returns where the machine has not
/// the means or the time.
fn compare(test: &str, rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for Row { script, scene, figure, here, kernel_shows } in rows {
        let Some(kernel) = scene.play(test, Subject::Kernel) else { return };
        let ours = scene.play(test, Subject::Ours).unwrap();
        let line = format!("| {script} | {} |", figure(&ours));
        println!("{line} {} |", figure(&kernel));
        assert!(kernel.all_arrived && ours.all_arrived, "{script}");
        if figure(&ours) != *here || !PAGE.contains(&line) {
            wrong.push(format!("{line}: expected {here}, here and in docs/accuracy.md"));
        }
        if !kernel_shows(&kernel) {
            wrong.push(format!("{script}: {} is not what the mechanism does", figure(&kernel)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In which round trips segments were sent again: `6 at 2.0, 4 at 3.0`.
fn again(played: &Played) -> String {
    let mut at: BTreeMap<i64, u32> = BTreeMap::new();
    let tenths = |round: f64| (10.0 * round).round() as i64;
    played.resent().iter().for_each(|(_, round)| *at.entry(tenths(*round)).or_default() += 1);
    let at: Vec<String> =
        at.iter().map(|(tenth, count)| format!("{count} at {:.1}", *tenth as f64 / 10.0)).collect();
    if at.is_empty() { "none".into() } else { at.join(", ") }
}

/// The round trip of the first retransmission; none is later than all.
fn first_again(played: &Played) -> f64 {
    played.resent().first().map_or(f64::INFINITY, |(_, round)| *round)
}

/// New segments in each round trip from the third on.
fn later_rounds(played: &Played) -> String {
    let rounds = played.rounds();
    rounds[2..].iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

/// Round trips from the subject's first data to its last.
fn span(played: &Played) -> f64 {
    let mut data = played.data(true).map(|sent| sent.at);
    let (first, last) = (data.next(), data.last());
    first.zip(last).map_or(0.0, |(first, last)| last.since(first).as_secs_f64() / RTT.as_secs_f64())
}

/// Data that the subject sent beyond all that there was, in full segments.
fn surplus(played: &Played) -> i64 {
    let end = played.data(true).map(|sent| sent.seq + sent.len).max().unwrap_or(1);
    let sent: i64 = played.data(true).map(|sent| sent.len).sum();
    (sent - (end - 1) + MSS / 2) / MSS
}

fn sent_by(played: &Played) -> String {
    format!("all sent by {:.1}", span(played))
}

#[test]
fn losses_that_time_tells() {
    const SECOND_FLIGHT: [(i64, u32); 10] =
        [(10, 1), (12, 1), (14, 1), (16, 1), (18, 1), (20, 1), (22, 1), (24, 1), (26, 1), (28, 1)];
    let [third, first, twice] =
        [losing(true, &[(2, 1)]), losing(true, &[(0, 1)]), losing(true, &[(4, 1), (4, 2)])];
    let halves = losing(true, &SECOND_FLIGHT);
    let row = |script, scene, here, kernel_shows| Row { script, scene, figure: again, here, kernel_shows };
    compare(
        "losses_that_time_tells",
        &[
            row("third of 4 segments lost", sending(4, false, &third), "1 at 3.1", |kernel| {
                first_again(kernel) < 2.0
            }),
            row("first of 3 lost", sending(3, false, &first), "1 at 3.0", |kernel| first_again(kernel) < 2.0),
            row(
                "5th of 60 lost, and lost again",
                sending(60, false, &twice),
                "1 at 1.0, 1 at 3.5",
                |kernel| kernel.resent().len() == 2 && kernel.resent()[1].1 < 2.6,
            ),
            row(
                "every second of the second flight of 20 lost",
                sending(60, false, &halves),
                "6 at 2.0, 4 at 3.0",
                |kernel| kernel.resent().len() == 10,
            ),
            Row {
                script: "every second of the second flight of 20 lost: new segments in each round from the third on",
                scene: sending(60, false, &halves),
                figure: later_rounds,
                here: "2, 6, 10, 11, 1",
                kernel_shows: |kernel| kernel.rounds().len() < 8,
            },
        ],
    );
}

#[test]
fn tails_that_are_probed() {
    let last = losing(true, &[(9, 1)]);
    let last_three = losing(true, &[(7, 1), (8, 1), (9, 1)]);
    let all = |sent: &Sent| {
        if sent.by_subject && sent.has_data() && sent.time == 1 { Fate::Drop } else { Fate::Pass }
    };
    let alone = losing(true, &[(0, 1), (0, 2)]);
    let row = |script, scene, here| Row {
        script,
        scene,
        figure: again,
        here,
        kernel_shows: |kernel| !kernel.resent().is_empty(),
    };
    compare(
        "tails_that_are_probed",
        &[
            row("last of 10 lost", sending(10, false, &last), "1 at 3.0"),
            row("last three of 10 lost", sending(10, false, &last_three), "1 at 3.0, 2 at 4.0"),
            row("all 10 lost", sending(10, false, &all), "1 at 3.0, 2 at 4.0, 4 at 5.0, 3 at 6.0"),
            row("one segment, lost twice", sending(1, false, &alone), "1 at 3.0, 1 at 9.0"),
        ],
    );
}

/// Holds back for `length` whatever the subject sends, from the first transmission of segment `from` on.
fn stall(from: i64, length: Duration) -> impl Fn(&Sent) -> Fate {
    let began = Cell::new(None);
    move |sent| {
        if !sent.by_subject {
            return Fate::Pass;
        }
        if began.get().is_some_and(|at| sent.at < at) {
            began.set(None); // played again
        }
        if sent.has_data() && sent.index() == from && sent.time == 1 {
            began.set(Some(sent.at));
        }
        match began.get() {
            Some(at) if sent.at < at + length => Fate::Late((at + length).since(sent.at)),
            _ => Fate::Pass,
        }
    }
}

#[test]
fn recoveries_that_are_undone() {
    let overtaken = |sent: &Sent| {
        let late = sent.by_subject && sent.has_data() && sent.index() == 12 && sent.time == 1;
        if late { Fate::Late(Duration::from_ms(20)) } else { Fate::Pass }
    };
    let stalled = stall(10, Duration::from_ms(1_000));
    compare(
        "recoveries_that_are_undone",
        &[
            Row {
                script: "13th of 150 overtaken, by 20 ms",
                scene: sending(150, false, &overtaken),
                figure: sent_by,
                here: "all sent by 10.0",
                kernel_shows: |kernel| span(kernel) < 6.0,
            },
            Row {
                script: "the path holds all back for 1 s: segments sent again",
                scene: sending(60, false, &stalled),
                figure: |played| surplus(played).to_string(),
                here: "20",
                kernel_shows: |kernel| kernel.resent().len() < 20,
            },
        ],
    );
}

/// A link of the subject's, of this rate, with room for so many segments before it.
struct Bottleneck {
    segment_ns: u64,
    room: u64,
    free_at: Cell<Instant>,
    latest: Cell<Instant>,
}

impl Bottleneck {
    fn new(bits_per_s: u64, room: u64) -> Bottleneck {
        let segment_ns = 1_500 * 8 * 1_000_000_000 / bits_per_s;
        Bottleneck { segment_ns, room, free_at: Cell::new(Instant::ZERO), latest: Cell::new(Instant::ZERO) }
    }

    fn fate(&self, sent: &Sent) -> Fate {
        if !sent.by_subject || !sent.has_data() {
            return Fate::Pass;
        }
        if sent.at < self.latest.replace(sent.at) {
            self.free_at.set(Instant::ZERO); // played again
        }
        let waits = self.free_at.get().since(sent.at);
        if waits.as_ns() > self.room * self.segment_ns {
            return Fate::Drop;
        }
        let leaves_after = waits + Duration::from_ns(self.segment_ns);
        self.free_at.set(sent.at + leaves_after);
        Fate::Late(leaves_after)
    }
}

/// Segments that the subject sends in one go: the most within a fiftieth of a round trip.
fn burst(played: &Played) -> String {
    let at: Vec<Instant> = played.data(true).map(|sent| sent.at).collect();
    let within = |from: usize| {
        at[from..].iter().take_while(|t| t.since(at[from]) < Duration::from_ns(RTT.as_ns() / 50)).count()
    };
    (0..at.len()).map(within).max().unwrap_or(0).to_string()
}

const TURN: usize = 6 * MSS as usize;

/// Three requests of six segments, then one of sixty; each but the last is answered with a byte.
const HALF_USED: (Application, Application) = (
    Application { writes: TURN, turns: &[(1, TURN), (2, TURN), (3, 10 * TURN)], closes: Closes::Afterwards },
    Application {
        writes: 0,
        turns: &[(TURN, 1), (2 * TURN, 1), (3 * TURN, 1)],
        closes: Closes::HavingRead(13 * TURN),
    },
);

#[test]
fn windows_that_grow_otherwise() {
    let link = Bottleneck::new(20_000_000, 200);
    let narrow = |sent: &Sent| link.fate(sent);
    let cubic = &[(CONGESTION_CONTROL, "cubic")];
    compare(
        "windows_that_grow_otherwise",
        &[
            Row {
                script: "3 MB over 20 Mbit/s with a queue of 200: segments sent again",
                scene: Scene {
                    config: linux().with(|config| config.congestion = Config::linux().congestion),
                    settings: cubic,
                    ..sending(2_100, false, &narrow)
                },
                figure: |played| surplus(played).to_string(),
                here: "190",
                kernel_shows: |_| true,
            },
            Row {
                script: "150 segments: most that leave at once",
                scene: sending(150, false, &|_| Fate::Pass),
                figure: burst,
                here: "80",
                kernel_shows: |_| true,
            },
            Row {
                script: "three requests of 6 segments, then one of 60: its first flight",
                scene: Scene {
                    subject_opens: true,
                    subject: HALF_USED.0,
                    other: HALF_USED.1,
                    config: linux(),
                    settings: &[],
                    fate: &|_| Fate::Pass,
                },
                figure: |played| played.rounds()[3].to_string(),
                here: "10",
                kernel_shows: |kernel| kernel.rounds()[3] > 10,
            },
        ],
    );
}
