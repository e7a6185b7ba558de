//! Parts of a run in virtual time: two, three and seven processes make of its units, sample by sample, what
//! one makes of them, where clients have links of their own and the server answers at once.

use crate::scene::{Scene, link, ms};
use farfield_base::{Duration, LoadCounts, Merge, Sample};
use farfield_emulator::simulation::{SimulationError, simulate};

/// Lines by which runs are compared: each sample with all its columns, in an order of its own.
fn lines<'a>(samples: impl Iterator<Item = &'a Sample>) -> Vec<String> {
    let mut lines: Vec<String> = samples.map(|sample| format!("{sample:?}")).collect();
    lines.sort();
    lines
}

/// Ways to deal a run of 42 units out to processes.
const DIVISIONS: [&[&str]; 4] = [
    &["1..42/42"],
    &["1..21/42", "22..42/42"],
    &["1..5/42", "6..40/42", "41..42/42"],
    &["1..6/42", "7..12/42", "13..18/42", "19..24/42", "25..30/42", "31..36/42", "37..42/42"],
];

/// Plays the parts of `scene`, and holds each division against that of one process.
fn held_against_the_whole(scene: &Scene) -> usize {
    let whole = played(scene, DIVISIONS[0]);
    for parts in &DIVISIONS[1..] {
        let found = played(scene, parts);
        let other = found.samples.iter().zip(&whole.samples).find(|(found, expected)| found != expected);
        assert_eq!(other, None, "{parts:?} of {}", scene.load);
        assert!(found == whole, "{parts:?} of {}: {:?} {:?}", scene.load, found.counts, whole.counts);
    }
    whole.samples.len()
}

/// All that processes make of a run.
#[derive(PartialEq)]
struct Sum {
    samples: Vec<String>,
    counts: LoadCounts,
    in_system_area: u128,
}

fn played(scene: &Scene, parts: &[&str]) -> Sum {
    let (mut samples, mut counts, mut in_system_area) = (Vec::new(), LoadCounts::default(), 0);
    for part in parts {
        let mut simulation = scene.simulation();
        simulation.part = part.parse().unwrap();
        let simulated = simulate(&simulation).unwrap();
        assert!(!simulated.samples.is_empty(), "{part} of {}", scene.load);
        counts.merge(&simulated.counts);
        in_system_area += simulated.in_system_area;
        samples.extend(simulated.samples);
    }
    Sum { samples: lines(samples.iter()), counts, in_system_area }
}

/// A sample's line without the number of its connection, which counts those of a worker.
fn without_serial(line: &str) -> String {
    let (before, rest) = line.split_once("connection: ").expect("a connection");
    format!("{before}{}", rest.split_once(',').expect("and more").1)
}

#[test]
fn every_model_of_load_is_the_sum_of_its_parts() {
    let mut scene = Scene::crowd(42 * 8, ms(25));
    // What is lost on a client's own links is lost of the client's packets, whichever part has it.
    scene.own = link("delay = '12ms'\nrate = '2Mbit'\nloss = '2%'\nduplicate = '1%'");
    (scene.length, scene.drain) = (ms(900), ms(300));
    for load in [
        "{ model = 'closed', users = 336, think = { distribution = 'exponential', mean = '80ms' } }",
        "{ model = 'closed', users = 200, think = '50ms', ramp = '300ms' }",
        "{ model = 'closed', think = '20ms', stages = '300ms:168,300ms:336,300ms:0' }",
        "{ model = 'open', arrivals = '1500/s' }",
        "{ model = 'open', arrivals = { process = 'constant', rate = '1500/s' } }",
        "{ model = 'open', stages = '400ms:2000/s,400ms:100/s' }",
        "{ model = 'hybrid', arrivals = '300/s', think = { distribution = 'weibull', shape = 0.7, scale = '60ms' } }",
        "{ model = 'overload', descriptors = 420, timeout = '100ms' }",
    ] {
        scene.load = load.into();
        let samples = held_against_the_whole(&scene);
        assert!(samples > 400, "{load}: {samples}");
        // Users of a closed load share nothing: their run is that of one that was never divided.
        if load.contains("closed") {
            let undivided = lines(scene.play().samples.iter());
            let without_serials =
                |lines: &[String]| lines.iter().map(|line| without_serial(line)).collect::<Vec<_>>();
            assert!(
                without_serials(&undivided) == without_serials(&played(&scene, DIVISIONS[1]).samples),
                "{load}"
            );
        }
    }
}

#[test]
fn pages_and_pools_stay_with_their_users() {
    let mut scene = Scene::crowd(84, ms(30)).policy("policy = 'persistent'\nparallel = 3");
    scene.embedded = ["/bytes/3000", "/bytes/700", "/bytes/20000"].map(str::to_owned).to_vec();
    scene.length = Duration::from_secs(1);
    assert!(held_against_the_whole(&scene) > 800);
    let mut scene = Scene::crowd(84, ms(25)).policy("policy = 'shared-pool'\npool-keep-alive = '200ms'");
    scene.load = "{ model = 'open', arrivals = '2000/s' }".into();
    scene.length = ms(600);
    assert!(held_against_the_whole(&scene) > 1_000);
}

#[test]
fn clients_that_parts_cannot_share_are_refused() {
    let mut simulation = Scene::crowd(100, ms(20)).simulation();
    simulation.part = "2/7".parse().unwrap();
    let refused = simulate(&simulation).unwrap_err();
    assert!(matches!(refused, SimulationError::Parts { clients: 100, of: 7 }), "{refused}");
}
