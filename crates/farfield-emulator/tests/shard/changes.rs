//! Links that change while users are on them, in virtual time: what samples and packets show before and after
//! each change, on a client's own links and on shared ones.

use crate::scene::{Scene, bytes_of, link, ms, ok};
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant};
use farfield_emulator::{ClientId, Packet, Router, Udp};
use farfield_net::{LinkChange, LinkChangeSpec, LinkModel};
use farfield_wire::Ecn;
use std::sync::Arc;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// `link` with changes, each with its instant and the time that it takes.
fn changing(link: &LinkModel, changes: &[(u64, u64, &str)]) -> Arc<LinkModel> {
    let change = |&(at_ms, over_ms, to): &(u64, u64, &str)| {
        let to: LinkChangeSpec = toml::from_str(to).expect("a change");
        LinkChange { at: at(at_ms), over: ms(over_ms), back_at: None, to }
    };
    let changes: Vec<LinkChange> = changes.iter().map(change).collect();
    Arc::new(link.changing(&changes).expect("a link that may change so"))
}

/// The service times of requests on connections that were open, sent within a period.
fn times(samples: &[farfield_base::Sample], [from_ms, to_ms]: [u64; 2]) -> Vec<Duration> {
    let within = samples.iter().filter(|own| (at(from_ms)..at(to_ms)).contains(&own.due));
    within.map(|own| own.done.since(own.due)).collect()
}

/// A user at a round trip of 20 ms, then 60, then 10; on links of its own or on one that is shared.
#[test]
fn samples_show_each_delay_from_its_instant_on() {
    let steps = [(3000, 0, "delay = '30ms'"), (6000, 0, "delay = '5ms'")];
    for is_shared in [false, true] {
        let mut scene = Scene::at(ms(20));
        if is_shared {
            scene.own = link("");
            scene.shared = vec![changing(&link("delay = '10ms'"), &steps)];
        } else {
            scene.own = changing(&scene.own, &steps);
        }
        let simulated = scene.play();
        let all: Vec<_> = ok(&simulated).cloned().collect();
        assert_eq!(all.len(), simulated.samples.len());
        for (period, round_trip) in [([100, 2900], 20), ([3100, 5900], 60), ([6100, 9900], 10)] {
            let times = times(&all, period);
            assert!(times.len() > 40, "{} in {period:?}", times.len());
            let served = ms(1);
            for time in times {
                assert!(time >= ms(round_trip) && time < ms(round_trip) + served, "{time} in {period:?}");
            }
        }
        assert!(bytes_of(&scene.play()) == bytes_of(&simulated), "the same seed, other bytes");
    }
}

/// 64 users on as many clients behind a shared link whose rate falls, rises along a line and whose wire
/// breaks: byte for byte the same on one thread and on three.
#[test]
fn changes_do_not_depend_on_threads() {
    let mut scene = Scene::crowd(192, ms(30));
    let steps = [
        (1000, 0, "rate = '1Mbit'"),
        (2000, 2000, "rate = '20Mbit'\ndelay = '9ms'"),
        (5000, 0, "loss = '30%'"),
        (6000, 1000, "loss = '0%'"),
    ];
    scene.shared = vec![changing(&link("rate = '10Mbit'\ndelay = '4ms'\nqueue = '64KiB'"), &steps)];
    scene.own = changing(&link("delay = '5ms'\nrate = '2Mbit'"), &[(3000, 500, "delay = '8ms'")]);
    let one = scene.play();
    scene.shards = 3;
    assert!(bytes_of(&scene.play()) == bytes_of(&one));
    assert!(one.drops.lost > 0 && one.drops.queue_full > 0, "{:?}", one.drops);
}

/// Replies of 100 KB take what the rate says: at 8 Mbit/s, at 2, and on a ramp between both.
#[test]
fn transfers_show_each_rate() {
    let mut scene = Scene::at(ms(10));
    scene.path = "/bytes/1000000".into();
    scene.length = Duration::from_secs(60);
    scene.own = changing(
        &link("delay = '5ms'\nrate = '8Mbit'"),
        &[(20_000, 0, "rate = '2Mbit'"), (40_000, 10_000, "rate = '8Mbit'")],
    );
    let simulated = scene.play();
    let all: Vec<_> = ok(&simulated).cloned().collect();
    // 1 MB in segments of 1,448 B with 52 B of headers each, after the first second of slow start.
    let seconds = |rate: f64| 1e6 * 1500.0 / 1448.0 * 8.0 / rate;
    for (period, rate) in [([3000, 18_000], 8e6), ([24_000, 35_000], 2e6), ([51_000, 58_000], 8e6)] {
        let times = times(&all, period);
        assert!(times.len() >= 2, "{period:?}");
        for time in times {
            let over = time.as_secs_f64() / seconds(rate);
            assert!((1.0..1.05).contains(&over), "{time} in {period:?}");
        }
    }
}

/// A real client's packets on a router: each is on its way as long as its instant says.
#[test]
fn packets_of_a_router_show_each_change() {
    let mut scene = Scene::at(ms(20));
    scene.own = changing(
        &link("delay = '10ms'\nrate = '1Mbit'"),
        &[(1000, 0, "delay = '25ms'"), (2000, 1000, "delay = '75ms'"), (4000, 0, "rate = '100kbit'")],
    );
    let network = scene.network();
    let up = network.addresses(ClientId::new(0));
    let mut router = Router::new(Arc::new(network), Seed(1));
    // 125 B with their headers of IP and UDP: 1 ms at 1 Mbit/s, 10 ms at a tenth.
    let payload = vec![0; 125 - 28];
    for (sent_ms, passed_us) in [
        (0, 11_000),
        (999, 26_000),
        (1100, 26_000),
        (1999, 26_000),
        (2499, 51_000),
        (3500, 76_000),
        (4500, 85_000),
    ] {
        let udp = Udp { source_port: 7, destination_port: 9, payload: payload.clone().into() };
        router.handle_client_packet(at(sent_ms), Packet::udp(up, Ecn::NotEct, udp));
        while let Some(next) = router.next_at() {
            assert!(router.step(next, &mut ()));
        }
        let departure = router.poll_departure().expect("it came to the gateway");
        assert_eq!(
            departure.intended.since(at(sent_ms)),
            Duration::from_us(passed_us),
            "sent at {sent_ms} ms"
        );
    }
}
