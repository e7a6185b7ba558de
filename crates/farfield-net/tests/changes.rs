//! Links that change while packets are on them: rates, delays, losses and queues at given instants, measured
//! by the packets.

mod scene;

use farfield_base::{Duration, Instant};
use farfield_net::link::LinkChange;
use farfield_net::loss::Memory;
use farfield_net::{ChangeFault, CourseError, DropCause, Fate, LinkChangeSpec, LinkModel, Packet};
use scene::Bench;

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Instant {
    Instant::from_ns(ms * MS)
}

/// A change at `at_ms` that takes `over_ms`, as written.
fn change(at_ms: u64, over_ms: u64, to: &str) -> LinkChange {
    let to: LinkChangeSpec = toml::from_str(to).expect("a change");
    LinkChange { at: ms(at_ms), over: Duration::from_ms(over_ms), back_at: None, to }
}

fn back(at_ms: u64, change: LinkChange) -> LinkChange {
    LinkChange { back_at: Some(ms(at_ms)), ..change }
}

fn link() -> LinkModel {
    LinkModel::ideal(Duration::from_ms(20)).rate("12Mbit".parse().unwrap())
}

/// The rate in bits a second that two packets of 1,500 B sent back to back at `at_ms` show.
fn rate_at(bench: &mut Bench, at_ms: u64) -> f64 {
    let first = bench.offer(ms(at_ms), 1500).expect("it arrives");
    let second = bench.offer(ms(at_ms), 1500).expect("it arrives");
    12_000.0 / second.since(first).as_secs_f64()
}

/// The time of a packet of no size that is sent at `at_ms`.
fn delay_at(bench: &mut Bench, at_ms: u64) -> Duration {
    bench.offer(ms(at_ms), 0).expect("it arrives").since(ms(at_ms))
}

/// Three changes: the rate falls, the delay rises, both come back to something else.
#[test]
fn packets_show_each_change_at_its_instant() {
    let changes = [
        change(1000, 0, "rate = '1200kbit'"),
        change(2000, 0, "delay = '80ms'"),
        change(3000, 0, "rate = '6Mbit'\ndelay = '40ms'"),
    ];
    let mut bench = Bench::of(link().changing(&changes).unwrap());
    let mut shown = Vec::new();
    for at in [0, 970, 1000, 1970, 2000, 2900, 3100, 9000] {
        shown.push((delay_at(&mut bench, at).as_ns() / MS, rate_at(&mut bench, at).round() as u64 / 1000));
    }
    let expected = [
        (20, 12_000),
        (20, 12_000),
        (20, 1_200),
        (20, 1_200),
        (80, 1_200),
        (80, 1_200),
        (40, 6_000),
        (40, 6_000),
    ];
    assert_eq!(shown, expected);
}

/// Ten packets of 1 ms each wait when the rate falls to a tenth, three and a half of them gone.
#[test]
fn what_waits_feels_the_new_rate_from_its_instant_on() {
    let changes = [change(0, 0, "rate = '12Mbit'"), change(5, 0, "rate = '1200kbit'")];
    let mut bench = Bench::of(link().changing(&changes).unwrap());
    let sent = Instant::from_ns(3 * MS / 2);
    let arrivals: Vec<_> =
        (0..5).map(|_| bench.offer(sent, 1500).unwrap().as_ns() as f64 / 1e6 - 20.0).collect();
    // Half of the fourth has left by 5 ms; its other half takes 5 ms.
    assert_eq!(arrivals, [2.5, 3.5, 4.5, 10.0, 20.0]);
}

#[test]
fn a_shorter_delay_lets_nothing_overtake_unless_asked() {
    let play = |to: &str| {
        let mut bench = Bench::of(link().changing(&[change(100, 0, to)]).unwrap());
        [90, 99, 100, 110, 119, 130].map(|at| bench.offer(ms(at), 0).unwrap().as_ns() / MS)
    };
    assert_eq!(play("delay = '5ms'"), [110, 119, 119, 119, 124, 135]);
    assert_eq!(play("delay = '5ms'\nreorder = true"), [110, 119, 105, 115, 124, 135]);
    assert_eq!(play("delay = '50ms'"), [110, 119, 150, 160, 169, 180], "a longer one opens a gap");
}

/// From 20 to 120 ms within 10 s: 10 ms more each second, to the nanosecond.
#[test]
fn a_ramp_of_delay_is_a_straight_line() {
    let ramp = back(20_000, change(5000, 10_000, "delay = '120ms'"));
    let mut bench = Bench::of(link().changing(&[ramp]).unwrap());
    let delays = [4999, 5000, 5001, 7500, 15_000, 19_999, 20_000, 25_000, 30_000, 40_000]
        .map(|at| delay_at(&mut bench, at).as_ns() / 1000);
    assert_eq!(delays, [20_000, 20_000, 20_010, 45_000, 120_000, 120_000, 120_000, 70_000, 20_000, 20_000]);
}

#[test]
fn an_outage_loses_everything_and_then_nothing() {
    let outage = back(1200, change(1000, 0, "loss = '100%'"));
    let mut bench = Bench::of(link().changing(&[outage]).unwrap());
    let lost: Vec<u64> =
        (0..200).map(|nth| nth * 10).filter(|at| bench.offer(ms(*at), 100) == Err(DropCause::Lost)).collect();
    assert_eq!(lost, (100..120).map(|nth| nth * 10).collect::<Vec<_>>());
}

/// Times in which everything is lost: from the start, from the end of a ramp until the next begins, and for
/// good. Those of a change that follows at once are one.
#[test]
fn total_losses_are_known() {
    let lossy = |share: &str| format!("loss = '{share}'");
    let all = lossy("100%");
    let spec: farfield_net::LinkSpec = toml::from_str(&all).unwrap();
    let model = spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace")).unwrap();
    let changes = [
        change(1000, 0, "loss = 'none'"),
        back(9000, change(3000, 2000, &all)),
        change(20_000, 0, &all),
        change(30_000, 0, "corrupt = '1%'"),
        change(40_000, 0, &lossy("99%")),
        change(50_000, 0, &all),
    ];
    let spans = model.changing(&changes).unwrap().total_losses();
    let expected =
        [(ms(0), ms(1000)), (ms(5000), ms(9000)), (ms(20_000), ms(40_000)), (ms(50_000), Instant::MAX)];
    assert_eq!(spans, expected);
    assert!(model.total_losses().is_empty(), "nothing changes");
}

/// The share lost in each second of a ramp from 0 to 50 % within 10 s, over 40,000 packets each.
#[test]
fn a_ramp_of_loss_rises_along_a_line() {
    let mut bench = Bench::of(
        link().rate("10Gbit".parse().unwrap()).changing(&[change(0, 10_000, "loss = '50%'")]).unwrap(),
    );
    for second in 0..12u64 {
        let at = |nth: u64| Instant::from_ns(second * 1000 * MS + nth * 25_000);
        let lost = (0..40_000).filter(|nth| bench.offer(at(*nth), 10).is_err()).count() as f64;
        let share = (0.05 * (second as f64 + 0.5)).min(0.5);
        let deviation = (40_000.0 * share * (1.0 - share)).sqrt();
        assert!((lost - 40_000.0 * share).abs() < 4.0 * deviation, "{lost} in second {second}");
    }
}

/// Packets that wait when a limit falls below them stay; newcomers find the queue full.
#[test]
fn a_shorter_queue_keeps_what_waits() {
    let model = link().drop_tail("8 packets".parse().unwrap());
    let mut bench = Bench::of(model.changing(&[change(2, 0, "queue = '2 packets'")]).unwrap());
    let mut offer = |at: u64| bench.offer(ms(at), 1500).map(|at| at.as_ns() / MS);
    let first: Vec<_> = (0..9).map(|_| offer(0)).collect();
    assert_eq!(first, (21..30).map(Ok).collect::<Vec<_>>());
    assert_eq!(offer(3), Err(DropCause::QueueFull), "five wait, where two may");
    assert_eq!(offer(7), Ok(30), "one waits");
}

/// Of 14 packets at once six are taken, and five of them wait, at an average of 4.99. It begins to fall when
/// the last leaves the queue, 5 ms later, and halves in the time of a mean packet: of 0.5 ms at first, then
/// of 1 ms.
#[test]
fn reds_mean_packet_changes_with_its_queue() {
    let red = |mean: u32| {
        let keys = "limit = '60 packets', min = 3.999, max = 4.0, probability = '100%', weight = 0.5";
        format!("queue = {{ discipline = 'red', {keys}, mean-packet = {mean}, gentle = false }}")
    };
    let spec: farfield_net::LinkSpec = toml::from_str(&format!("rate = '8Mbit'\n{}", red(500))).unwrap();
    let model = spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace")).unwrap();
    let mut bench = Bench::of(model.changing(&[change(1000, 0, &red(1000))]).unwrap());
    let mut taken = |from_ms: u64| {
        let at_once = (0..14).filter(|_| bench.offer(ms(from_ms), 1000).is_ok()).count();
        (at_once, bench.offer(ms(from_ms) + Duration::from_us(5_250), 1000).is_ok())
    };
    assert_eq!([0, 2000].map(&mut taken), [(6, true), (6, false)]);
}

/// CoDel decides at departures, which lie before and behind the change.
#[test]
fn a_queue_that_decides_later_goes_on_across_a_change() {
    let spec: farfield_net::LinkSpec = toml::from_str("rate = '12Mbit'\nqueue = 'codel'").unwrap();
    let model = spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace")).unwrap();
    let changes = [change(5, 0, "rate = '1200kbit'"), back(60, change(25, 0, "loss = '100%'"))];
    let mut bench = Bench::of(model.changing(&changes).unwrap());
    let packets: Vec<_> = (0..8).map(|_| (ms(0), 1500)).chain([(ms(30), 1500), (ms(60), 1500)]).collect();
    let fates = bench.play(&packets);
    let arrived = |key: u64| {
        fates.iter().find_map(|(of, fate)| match fate {
            Fate::Delivered(delivery) if *of == key => Some(delivery.first.at.as_ns() / MS),
            _ => None,
        })
    };
    // Five leave within 5 ms, the others in 10 ms each.
    assert_eq!([0, 4, 5, 6, 7].map(arrived), [Some(1), Some(5), Some(15), Some(25), Some(35)]);
    assert_eq!((arrived(8), arrived(9)), (None, Some(70)), "the ninth was lost");
}

#[test]
fn a_frozen_link_is_the_link_as_it_is_then() {
    let changes = [change(1000, 1000, "rate = '24Mbit'\ndelay = '40ms'\nloss = '10%'")];
    let model = link().changing(&changes).unwrap();
    assert!(model.changes() && !model.is_plain());
    for (at, delay, rate, lost) in [(0, 20, 12e6, 0.0), (1500, 30, 18e6, 0.05), (5000, 40, 24e6, 0.1)] {
        let frozen = model.frozen(ms(at));
        assert!(!frozen.changes());
        assert!((frozen.lost_share() - lost).abs() < 1e-9, "{} at {at}", frozen.lost_share());
        assert_eq!(
            (frozen.propagation(), frozen.speed().mean_bits()),
            (Duration::from_ms(delay), Some(rate))
        );
    }
    assert_eq!(model.propagation(), Duration::from_ms(20), "the least of all");
    assert_eq!(model.propagation_most(), Duration::from_ms(40));
}

/// 12 Mbit/s for a second, within another down to 6, and 6 from then on.
#[test]
fn a_rate_that_changes_has_a_mean() {
    let model = link().changing(&[change(1000, 1000, "rate = '6Mbit'")]).unwrap();
    let means = [0, 1000, 2000, 4000].map(|end| model.speed().mean_bits_until(ms(end)));
    assert_eq!(means, [12e6, 12e6, 10.5e6, 8.25e6].map(Some));
    assert_eq!(link().speed().mean_bits_until(ms(4000)), Some(12e6), "one that does not is its rate");
}

#[test]
fn what_cannot_change_so_is_refused() {
    let refuse = |model: LinkModel, changes: &[LinkChange], key: &str, fault: ChangeFault| {
        let error = model.changing(changes).expect_err(key);
        assert_eq!((error.key, error.fault), (key, fault));
    };
    let ideal = LinkModel::ideal(Duration::ZERO);
    refuse(ideal, &[change(1, 0, "rate = '1Mbit'")], "rate", ChangeFault::NoRate);
    refuse(link(), &[change(1, 0, "queue = 'codel'")], "queue", ChangeFault::Discipline);
    let tail = || link().drop_tail("8 packets".parse().unwrap());
    refuse(tail(), &[change(1, 1, "queue = '9 packets'")], "queue", ChangeFault::NoRamp);
    let red = |limit: &str| format!("queue = {{ discipline = 'red', limit = '{limit}', min = 5, max = 15 }}");
    let spec: farfield_net::LinkSpec = toml::from_str(&red("100 packets")).unwrap();
    let averaging = || spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace")).unwrap();
    assert!(averaging().changing(&[change(1, 0, &red("200 packets"))]).is_ok());
    refuse(averaging(), &[change(1, 0, &red("64KiB"))], "queue", ChangeFault::Unit);
    let bursts = "loss = { model = 'gilbert-elliott', to-bad = '1%', to-good = '50%' }";
    refuse(link(), &[change(1, 1, bursts)], "loss", ChangeFault::NoLossRamp);
    let own = "loss = { model = 'gilbert-elliott', to-bad = '1%', to-good = '50%', per = 'connection' }";
    refuse(link(), &[change(1, 0, own)], "loss", ChangeFault::Scope);
    let meets = |at_ms| ChangeFault::Course(CourseError::WithinAnother(Duration::from_ms(at_ms)));
    let long = [change(1, 10, "rate = '1Mbit'"), change(5, 0, "rate = '2Mbit'")];
    refuse(link(), &long, "rate", meets(5));
    let lasting = [back(9, change(1, 0, "loss = '1%'")), change(5, 0, "loss = '2%'")];
    refuse(link(), &lasting, "loss", meets(5));
    for at_ms in [0, 5] {
        for (key, values) in [
            ("rate", ["rate = '1Mbit'", "rate = '2Mbit'"]),
            ("delay", ["delay = '1ms'", "delay = '2ms'"]),
            ("loss", ["loss = '1%'", "loss = '2%'"]),
            ("corrupt", ["corrupt = '1%'", "corrupt = '2%'"]),
        ] {
            let twice = values.map(|value| change(at_ms, 0, value));
            refuse(link(), &twice, key, ChangeFault::Course(CourseError::Twice(Duration::from_ms(at_ms))));
        }
    }
}

/// The mistake is that of the change that makes it, not of the first.
#[test]
fn a_mistake_is_that_of_its_change() {
    let changes = [change(1, 0, "rate = '1Mbit'"), change(5, 10, "rate = '2000Gbit'")];
    let error = link().changing(&changes).expect_err("too fast for a ramp");
    assert_eq!((error.nth, error.fault), (1, ChangeFault::Course(CourseError::TooFast)));
    let long = LinkChange { over: Duration::from_secs(300_000 * 3600), ..change(1, 0, "loss = '1%'") };
    for to in ["delay = '1s'", "rate = '1Mbit'", "loss = '1%'"] {
        let long = LinkChange { to: toml::from_str(to).expect("a change"), ..long.clone() };
        let error = link().changing(&[long]).expect_err("hundreds of years");
        assert_eq!(error.fault, ChangeFault::Course(CourseError::TooLong), "{to}");
    }
}

/// Losses of connections give way to none and come back at 2 s: the first packet then meets the memory of its
/// own connection, which is bad for long, and not that of the link.
#[test]
fn losses_of_connections_come_back_with_their_memory() {
    let bursts = "loss = { model = 'gilbert-elliott', to-bad = 0, to-good = '0.01%', per = 'connection' }";
    let spec: farfield_net::LinkSpec = toml::from_str(bursts).unwrap();
    let model = spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace")).unwrap();
    let model = model.changing(&[back(2000, change(1000, 0, "loss = 'none'"))]).unwrap();
    let mut bench = Bench::of(model);
    let mut memory = Memory::Bad;
    let mut is_lost = |at_ms: u64| {
        let fate = bench.link.offer_of(&mut memory, ms(at_ms), Packet::new(100, 0), &mut bench.rng);
        fate == Fate::Dropped(DropCause::Lost)
    };
    assert_eq!([999, 1000, 1999, 2000].map(&mut is_lost), [true, false, false, true]);
}
