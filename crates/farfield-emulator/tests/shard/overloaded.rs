//! A shard that has more to do than it can: it is late by no more than the longest lag, and still does most
//! of what it could.

use crate::scene::{Scene, ms};
use farfield_base::{Duration, Instant, Outcome};
use farfield_emulator::{Departure, Directory, ServerModel, Shard, lag};
use farfield_user::Plan;
use std::sync::Arc;

/// Time of the clock that each event and each packet costs the shard.
const COST: Duration = Duration::from_us(50);

/// A worker as in real time, on a clock that goes on by what it does. The server takes no time.
struct Slow {
    shard: Shard,
    server: ServerModel,
    wall: Instant,
    worked: Duration,
    late_max: Duration,
}

/// The figures of a run.
struct Played {
    /// Requests that were answered, a second.
    answered: f64,
    /// As many as could be if each cost what they did here, and nothing else was to be done.
    possible: f64,
    /// The longest lateness of a packet for the server.
    late_max: Duration,
}

impl Slow {
    fn of(scene: &Scene) -> Slow {
        let simulation = scene.simulation();
        let network = &simulation.network;
        let directory = Arc::new(Directory::new(network));
        let users = Plan {
            flows: simulation.flows.clone(),
            users: simulation.users.clone(),
            tls: Vec::new(),
            worker: 0,
            workers: 1,
            window: simulation.window,
        };
        let shard = Shard::new(Arc::clone(network), Arc::clone(&directory), users);
        let server =
            ServerModel::new(simulation.server, Arc::clone(network), directory, simulation.users.seed);
        Slow { shard, server, wall: Instant::ZERO, worked: Duration::ZERO, late_max: Duration::ZERO }
    }

    fn pay(&mut self) {
        self.wall += COST;
        self.worked = self.worked + COST;
    }

    /// Hands on what is for the server, which is late if it was meant to be there before.
    fn let_out(&mut self) {
        while let Some(Departure { intended, packet, .. }) = self.shard.poll_departure() {
            self.late_max = self.late_max.max(self.wall.since(intended));
            while self.server.step(self.wall) {}
            self.server.handle_packet(self.wall, packet);
            self.pay();
        }
    }

    fn step(&mut self) -> bool {
        let stepped = self.shard.step(self.wall, &mut ());
        if stepped {
            self.pay();
            self.let_out();
        }
        stepped
    }

    /// Reads the server's packets; false if there were none.
    fn take_packets(&mut self) -> bool {
        while self.server.step(self.wall) {}
        let mut took = false;
        while let Some(departure) = self.server.poll_departure() {
            let now = self.wall;
            let caught_up = (0..4).all(|_| self.step());
            let late = self.shard.next_at().filter(|_| caught_up).map_or(now, |due| due.min(now));
            self.shard.handle_packet(late.max(lag::floor(now)), departure.packet);
            self.pay();
            self.let_out();
            took = true;
        }
        took
    }

    /// Works until `end`.
    fn play(mut self, end: Instant) -> Played {
        self.shard.start();
        self.let_out();
        while self.wall < end {
            let worked = (0..16).filter(|_| self.step()).count() > 0;
            let busy = self.take_packets() || worked;
            if !busy && self.shard.begin_late_load(self.wall, &mut ()) {
                self.pay();
            } else if !busy {
                let next = self.shard.next_at().into_iter().chain(self.server.next_at()).min();
                self.wall = next.unwrap_or(end).max(self.wall + Duration::from_ns(1));
            }
            self.let_out();
        }
        let answered =
            self.shard.take_samples().filter(|sample| sample.outcome == Outcome::Ok).count() as f64;
        Played {
            answered: answered / self.wall.as_secs_f64(),
            possible: answered / self.worked.as_secs_f64(),
            late_max: self.late_max,
        }
    }
}

/// Four seconds of the clock at a round trip of 20 ms.
fn play(users: u32, load: &str) -> Played {
    let mut scene = Scene::crowd(users, ms(20));
    scene.load = load.into();
    scene.length = ms(4_000);
    Slow::of(&scene).play(Instant::ZERO + ms(4_000))
}

fn closed(users: u32) -> Played {
    play(users, &format!("{{ model = 'closed', users = {users}, ramp = '0s' }}"))
}

/// Two users keep a shard busy for a fortieth of the time.
fn capacity() -> f64 {
    let few = closed(2);
    assert!(few.answered > 90.0 && few.answered < few.possible / 30.0 && few.late_max < ms(1));
    few.possible
}

/// Two hundred ask for twice of what it can do. A thousand wait for so long that the server acknowledges
/// their requests before it answers, which is more to do for each.
#[test]
fn a_closed_load_asks_for_no_more_than_the_shard_can_do() {
    let some = closed(200);
    assert!(some.answered > 0.8 * capacity(), "{}/s", some.answered);
    let many = closed(1_000);
    assert!(many.answered > 0.45 * capacity(), "{}/s", many.answered);
    for late in [some.late_max, many.late_max] {
        assert!(late < lag::LAG_MAX + ms(100), "{late:?}");
    }
}

/// Begun in the order of instants, new requests would leave a seventh for what was begun.
#[test]
fn an_open_load_past_capacity_lets_end_what_was_begun() {
    for times in [2.0, 8.0] {
        let offered = times * capacity();
        let open = play(1_000, &format!("{{ model = 'open', arrivals = '{offered:.0}/s' }}"));
        assert!(open.answered > 0.5 * capacity(), "{} of {offered}/s", open.answered);
        assert!(open.late_max < lag::LAG_MAX + ms(100), "{:?}", open.late_max);
    }
}
