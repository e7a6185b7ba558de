//! Thirty faults to plant, each with the check that is its cause, and pairs of them at once.

use super::scene::{END, Scene};
use super::worker::{MS, Why};
use farfield_base::{Duration, Outcome};
use farfield_measure::{
    EngineStats, LoadKind, MachineStats, OtherProcess, ProgramStats, ServerBeside, ServerEnd, ServerTime,
};

/// A fault, and the check that names its cause.
pub struct Fault {
    pub name: &'static str,
    pub cause: &'static str,
    pub plant: fn(&mut Scene),
}

const fn fault(name: &'static str, cause: &'static str, plant: fn(&mut Scene)) -> Fault {
    Fault { name, cause, plant }
}

const ALWAYS: [u64; 2] = [0, 10_000];

/// Thirty faults, one cause each.
pub static FAULTS: [Fault; 30] = [
    fault("other work half of the time", "machine-busy", |scene| scene.take(Why::Others, ALWAYS, 10.0, 20.0)),
    fault("other work for a second", "machine-busy", |scene| {
        scene.take(Why::Others, [4_000, 5_000], 4.0, 8.0);
    }),
    fault("other work of 4 ms, now and then", "machine-busy", |scene| {
        scene.take(Why::Others, ALWAYS, 4.0, 100.0);
    }),
    fault("the host takes 30 ms of each 500", "host-steal", |scene| {
        scene.take(Why::Host, ALWAYS, 30.0, 500.0)
    }),
    fault("the host takes 5 ms of each 100", "host-steal", |scene| scene.take(Why::Host, ALWAYS, 5.0, 100.0)),
    fault("a quota of six tenths", "throttled", |scene| scene.take(Why::Quota, ALWAYS, 40.0, 100.0)),
    fault("a quota that is used up now and then", "throttled", |scene| {
        scene.take(Why::Quota, ALWAYS, 50.0, 1_000.0);
    }),
    fault("the server is bound to the worker's processor", "server-apart", |scene| {
        scene.take(Why::Server, ALWAYS, 6.0, 20.0);
        scene.reports.push(|stats| {
            let beside =
                ServerBeside { threads: 2, processors: vec![1], name: "nginx".to_owned(), goes_first: false };
            stats.server_beside = Some(beside);
            stats.server_time = Some(ServerTime { ran: Duration::from_secs(4), ..ServerTime::default() });
        });
    }),
    fault("stopped for a second", "longest-stall", |scene| {
        scene.take(Why::Stopped, [4_000, 5_000], 1e3, 1e3)
    }),
    fault("stopped for 300 ms", "longest-stall", |scene| {
        scene.take(Why::Stopped, [4_000, 4_300], 300.0, 300.0)
    }),
    fault("stopped ten times for 60 ms", "longest-stall", |scene| {
        scene.take(Why::Stopped, [4_000, 5_000], 60.0, 100.0);
    }),
    fault("more work than the worker can do", "worker-cpu", |scene| scene.cost(3.3)),
    fault("bursts of own work", "worker-cpu", |scene| {
        scene.load = LoadKind::Closed;
        scene.burst(100, 1.5);
    }),
    fault("three quarters busy, and a tick of steal", "worker-cpu", |scene| {
        scene.cost(2.5);
        scene.take(Why::Host, [3_000, 3_026], 26.0, 100.0);
    }),
    fault("a rate far beyond the machine", "achieved-rate", |scene| {
        scene.cost(3.3);
        scene.reports.push(|stats| {
            let arrivals = stats.arrivals.as_mut().expect("an open load");
            arrivals.scheduled = 200 * arrivals.begun;
            stats.generator.samples_lost = 100 * arrivals.begun;
        });
    }),
    fault("the server ends", "server-ended", |scene| {
        silent(scene);
        scene.reports.push(|stats| {
            let at = Some(Duration::from_secs(6));
            let ended = ServerEnd { at, status: "signal: 9".to_owned(), ..ServerEnd::default() };
            stats.server.as_mut().expect("a server").ended = Some(ended);
        });
    }),
    fault("the server hangs", "server-silent", silent),
    fault("the server behind a proxy is gone", "server-failing", |scene| {
        scene.ends = Box::new(|due, begun| match due >= 6_000 * MS {
            true => (Outcome::Status5xx, begun + MS),
            false => (Outcome::Ok, begun + MS),
        });
        scene.reports.push(|stats| stats.last_received = Some(Duration::from_ns(END)));
    }),
    fault("the server's kernel refuses packets", "server-receive", |scene| {
        scene.cost(3.1);
        scene.reports.push(|stats| {
            let network = stats.network.as_mut().expect("a network");
            (network.packets.up, network.packets.refused) = (10_000, 60_000);
        });
    }),
    fault("others hold the server's processors", "server-held-up", |scene| {
        scene.reports.push(|stats| {
            busy(stats);
            let [ran, held_up] = [4, 2].map(Duration::from_secs);
            stats.server_time = Some(ServerTime { ran, waited: held_up, held_up });
        });
    }),
    fault("others keep packets from the server's kernel", "delivery-lateness", |scene| {
        scene.reports.push(|stats| {
            busy(stats);
            stats.server_time = Some(ServerTime { ran: Duration::from_secs(1), ..ServerTime::default() });
            let times = &mut stats.network.as_mut().expect("a network").lateness.delivery;
            (0..300).for_each(|_| times.record(Duration::from_ms(3)));
        });
    }),
    fault("the way to clients is taken away", "completed", |scene| {
        silent(scene);
        scene.reports.push(|stats| {
            stats.network_taken = true;
            stats.interrupted = Some("something removed the route to 10.0.0.0/8".to_owned());
        });
    }),
    fault("no descriptors", "generator-lacked", |scene| fail_some(scene, Outcome::NoDescriptor)),
    fault("no local ports", "generator-lacked", |scene| fail_some(scene, Outcome::NoAddress)),
    fault("memory runs out", "generator-lacked", |scene| {
        scene.reports.push(|stats| stats.memory_short = Some("after 4.0 s 20 MiB were left".to_owned()));
    }),
    fault("too few users for the arrivals", "dropped-arrivals", |scene| {
        scene.reports.push(|stats| {
            let arrivals = stats.arrivals.as_mut().expect("an open load");
            (arrivals.begun, arrivals.dropped) = (arrivals.begun - 200, 200);
        });
    }),
    fault("the disk is full", "samples-lost", |scene| {
        scene.reports.push(|stats| stats.generator.samples_lost = 500);
    }),
    fault("every request is refused", "something-succeeded", |scene| {
        scene.ends = Box::new(|_, begun| (Outcome::Status4xx, begun + MS));
        scene.reports.push(|stats| stats.last_received = Some(Duration::from_ns(END)));
    }),
    fault("replies that are still open at the end", "unfinished", |scene| {
        scene.ends = Box::new(|due, begun| match due % 5 {
            0 => (Outcome::Unfinished, END + 5_000 * MS),
            _ => (Outcome::Ok, begun + MS),
        });
    }),
    fault("a program beside the users fails", "programs-ran", |scene| {
        scene.reports.push(|stats| {
            let program =
                ProgramStats { command: Some("client".to_owned()), code: Some(1), ..ProgramStats::default() };
            stats.network.as_mut().expect("a network").programs.push(program);
        });
    }),
];

/// Nothing is answered from second 6 on.
fn silent(scene: &mut Scene) {
    scene.ends = Box::new(|due, begun| match due >= 6_000 * MS {
        true => (Outcome::Unfinished, END + 500 * MS),
        false => (Outcome::Ok, begun + MS),
    });
}

fn fail_some(scene: &mut Scene, outcome: Outcome) {
    let ends = move |due: u64, begun: u64| match due % 7 {
        0 => (outcome, begun),
        _ => (Outcome::Ok, begun + MS),
    };
    scene.ends = Box::new(ends);
}

/// Other work on the server's processor.
fn busy(stats: &mut EngineStats) {
    stats.machine = stats.machine.map(|machine| MachineStats { others: 0.4, ..machine });
    stats.other_processes = vec![OtherProcess { name: "make".to_owned(), pid: 7, processors: 0.8 }];
}

/// Pairs of faults that are planted at once, by name.
pub const PAIRS: [[&str; 2]; 16] = [
    ["other work for a second", "stopped for 300 ms"],
    ["other work of 4 ms, now and then", "the host takes 30 ms of each 500"],
    ["a quota of six tenths", "stopped for a second"],
    ["a quota that is used up now and then", "the host takes 5 ms of each 100"],
    ["more work than the worker can do", "stopped for a second"],
    ["bursts of own work", "other work for a second"],
    ["bursts of own work", "stopped for 300 ms"],
    ["the server hangs", "stopped for 300 ms"],
    ["the server ends", "other work half of the time"],
    ["no descriptors", "other work half of the time"],
    ["too few users for the arrivals", "the host takes 30 ms of each 500"],
    ["the disk is full", "a quota of six tenths"],
    ["others hold the server's processors", "stopped for a second"],
    ["every request is refused", "other work for a second"],
    ["replies that are still open at the end", "the host takes 5 ms of each 100"],
    ["memory runs out", "more work than the worker can do"],
];

/// The fault of this name.
pub fn of_name(name: &str) -> &'static Fault {
    FAULTS.iter().find(|fault| fault.name == name).expect("a fault of that name")
}
