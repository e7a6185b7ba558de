//! Marks in place of drops (RFC 3168), by each queue that drops before it is full.

mod loads;
mod scene;

use farfield_base::Duration;
use farfield_net::mtu::Mtu;
use farfield_net::queue::{Discipline, QueueSpec, pie};
use farfield_net::{DropCause, Fate, LinkModel, Packet};
use loads::LOADS;
use scene::{Bench, at};

/// Packets that were dropped before the queue was full, and those that were marked.
fn played(discipline: Discipline, able: bool, packets: usize) -> [usize; 2] {
    let model = LinkModel::ideal(Duration::ZERO).rate("10Mbit".parse().unwrap()).queue(discipline);
    let mut bench = Bench::of(model);
    let mut fates = Vec::new();
    for (key, (now, bytes, flow)) in (0..).zip(LOADS[1].packets(packets)) {
        let packet = Packet::new(bytes, key).of_flow(flow << 22).able_to_be_marked(able);
        fates.push(bench.link.offer(at(now), packet, &mut bench.rng));
        while let Some((_, fate)) = bench.link.poll(at(now), &mut bench.rng) {
            fates.push(fate);
        }
    }
    let count = |which: fn(&Fate) -> bool| fates.iter().filter(|fate| which(fate)).count();
    let dropped = count(|fate| matches!(fate, Fate::Dropped(DropCause::Early | DropCause::Delayed)));
    assert_eq!(count(|fate| matches!(fate, Fate::Dropped(DropCause::QueueFull))), 0);
    [dropped, count(|fate| matches!(fate, Fate::Delivered(delivery) if delivery.first.marked))]
}

#[derive(serde::Deserialize)]
struct Link {
    queue: QueueSpec,
}

fn discipline(text: &str) -> Discipline {
    let link: Link = toml::from_str(&format!("queue = {text}")).expect("a queue");
    link.queue.discipline(Mtu::ETHERNET, 0)
}

/// All that may be marked is, and nothing else; nothing is while marks are off.
#[test]
fn each_queue_marks_what_may_be_marked() {
    for (queue, least) in [
        ("{ discipline = 'red', limit = '1000 packets', min = 5, max = 500, ecn = ECN }", 20),
        ("{ discipline = 'codel', ecn = ECN }", 20),
        ("{ discipline = 'fq-codel', ecn = ECN }", 20),
    ] {
        let [on, off] = ["true", "false"].map(|ecn| discipline(&queue.replace("ECN", ecn)));
        let [dropped, marked] = played(on, true, 6_000);
        assert!(dropped == 0 && marked > least, "{queue}: {dropped} dropped, {marked} marked");
        for (discipline, able) in [(on, false), (off, true), (off, false)] {
            let [dropped, marked] = played(discipline, able, 6_000);
            assert!(dropped > least && marked == 0, "{queue}: {dropped} dropped, {marked} marked");
        }
    }
}

/// PIE marks while its probability is below a tenth, and drops above (RFC 8033, section 5.1).
#[test]
fn pie_marks_below_a_tenth() {
    let Discipline::Pie(pie) = discipline("{ discipline = 'pie', ecn = true }") else { unreachable!() };
    let [dropped, marked] = played(Discipline::Pie(pie), true, 20_000);
    assert!(dropped > 20 && marked > 20, "{dropped} dropped, {marked} marked");
    let [dropped, marked] = played(Discipline::Pie(pie::Parameters { ecn: false, ..pie }), true, 20_000);
    assert!(dropped > 40 && marked == 0, "{dropped} dropped, {marked} marked");
}
