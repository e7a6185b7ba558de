//! Allocations of a simulation, counted: what users, TCP, links and the model of a server allocate for a
//! request once their tables have grown.

use crate::scene::{Scene, ms};
use farfield_base::{Duration, Instant, Sample};
use farfield_emulator::simulation::{Batch, Remote, Sink, simulate_into};
use farfield_user::HttpVersion;

/// Counts samples, and keeps none.
struct Counting(u64);

impl Sink for Counting {
    fn take(&mut self, batch: Batch) {
        let whole = |sample: &&Sample| sample.is_ordered();
        self.0 += batch.samples.iter().filter(whole).count() as u64;
    }
}

/// Allocations and requests of a scene of this length.
fn counted(scene: &Scene, length: Duration) -> (u64, u64) {
    let end = Instant::ZERO + length;
    let mut simulation = scene.simulation();
    (simulation.window.measure_to, simulation.drain_until) = (end, end);
    let mut sink = Counting(0);
    let allocations = allocation_counter::measure(|| {
        simulate_into(&simulation, (), &mut sink, &Remote::default()).expect("a simulation");
    });
    (allocations.count_total, sink.0)
}

/// Allocations for each request between the second and the sixth second of a scene.
fn each(scene: &Scene) -> f64 {
    let (before, warm) = counted(scene, Duration::from_secs(2));
    let (after, all) = counted(scene, Duration::from_secs(6));
    assert!(all > warm + 1_000, "{warm} and {all} requests");
    (after as f64 - before as f64) / (all - warm) as f64
}

/// Users who keep their connections allocate nothing for a request, but a batch of samples for thousands.
/// Connections that come and go grow the tables of those in TIME-WAIT, which last for a minute. A segment
/// of two pieces, such as a reply's head and body in HTTP/2 or two replies behind each other, is put
/// together by the sender's TCP: a queue, a copy, and its owner.
#[test]
fn a_request_allocates_nothing_once_tables_have_grown() {
    let crowd = || Scene::crowd(50, ms(20));
    let mut missed = Vec::new();
    for (name, most, scene) in [
        ("persistent", 0.001, crowd()),
        ("a connection each", 0.05, crowd().policy("policy = 'one-request'")),
        ("pipelined", 0.6, crowd().policy("policy = 'pipelined'\npipeline-depth = 4")),
        ("HTTP/2", 3.1, Scene { version: HttpVersion::Http2, ..crowd() }),
    ] {
        let each = each(&scene);
        println!("{name}: {each:.4} allocations a request");
        if each > most {
            missed.push(format!("{name}: {each}"));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
