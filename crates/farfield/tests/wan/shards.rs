//! Clients on two and three shards that share links, through the kernel: the same laws as on one.
//!
//! The network is IP-TNE's backbone of four subnetworks (Williamson, Simmonds and Arlitt 2004, figure 3),
//! whose links next to the server are everybody's bottleneck. Each test prints what each number of shards
//! measured.

use crate::common::alone;
use crate::common::wan::{DebianServer, Wan};
use farfield_base::{Outcome, Sample};
use farfield_measure::{Quantile, Summary};

/// The bottleneck, in bits a second.
const RATE: f64 = 20e6;
/// Bytes of a packet's headers, and of the data behind them, where packets have 576.
const HEADERS: u64 = 52;
const DATA: u64 = 524;
const WARM_UP_S: f64 = 2.0;
const LASTS_S: f64 = 4.0;

const NETWORK: &str = "
[[requests.request]]
path = '/4k'
[run]
warm-up = '2s'
duration = '4s'
[network.backbone]
subnets = 4
hosts = 33
backbone = '20Mbit'
queue = 'unlimited'
";

/// The results of a load on a number of shards.
struct Made {
    summary: Summary,
    samples: Vec<Sample>,
}

fn run(wan: &Wan, load: &str, shards: u32) -> Made {
    let ended = wan.run(&format!("{load}{NETWORK}"), &format!("--shards {shards}")).exits(0);
    let made = Made { summary: ended.summary(), samples: ended.samples() };
    let network = made.summary.network.as_ref().expect("a network");
    assert_eq!((network.shards, network.clients), (shards.into(), 132));
    assert_eq!((network.packets.overruns, network.drops), (0, Default::default()), "nothing is lost");
    assert_eq!(network.lateness.crossing.is_some(), shards > 1);
    if let Some(late) = &network.lateness.crossing {
        let [half, p99] = [Quantile::P50, Quantile::P99].map(|quantile| late.quantile_ns(quantile));
        println!("{} packets crossed, late {half:?} ns at the median, {p99:?} at the p99", late.count);
    }
    assert!(
        made.samples
            .iter()
            .all(|sample| sample.outcome == Outcome::Ok || sample.outcome == Outcome::Unfinished)
    );
    made
}

impl Made {
    /// Replies that were over in the steady part.
    fn steady(&self) -> impl Iterator<Item = &Sample> {
        let steady = WARM_UP_S..WARM_UP_S + LASTS_S;
        let over = move |sample: &&Sample| {
            sample.outcome == Outcome::Ok && steady.contains(&sample.done.as_secs_f64())
        };
        self.samples.iter().filter(over)
    }

    fn rate(&self) -> f64 {
        self.steady().count() as f64 / LASTS_S
    }

    /// Bits a second that replies took on the bottleneck.
    fn bits(&self) -> f64 {
        let on_the_wire = |sample: &Sample| sample.reply_bytes + HEADERS * sample.reply_bytes.div_ceil(DATA);
        8.0 * self.steady().map(on_the_wire).sum::<u64>() as f64 / LASTS_S
    }

    /// Quantiles of the response times, in seconds.
    fn response_times(&self) -> [f64; 3] {
        let mut times: Vec<f64> = self.steady().map(|sample| sample.response_time().as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        [0.1, 0.5, 0.9].map(|q| times[(q * times.len() as f64) as usize])
    }
}

/// Prints both, and compares the second with the first: on a machine that does nothing else they differ by
/// some percent. The sentence says by how much where that is more than `within`.
fn agree(what: &str, one: f64, more: f64, within: f64) -> Result<(), String> {
    println!("{what} | {one:.4} | {more:.4} | {:+.2} %", 100.0 * (more / one - 1.0));
    if (more / one - 1.0).abs() < within {
        return Ok(());
    }
    Err(format!("{what}: {one} with one shard, {more} with more"))
}

/// Compares what two and three shards made with what one did.
fn agree_in_all([one, two, three]: &[Made; 3], within: f64) -> Result<(), String> {
    for (shards, more) in [("two", two), ("three", three)] {
        println!("measure | one shard | {shards} | off");
        agree("replies a second", one.rate(), more.rate(), within)?;
        let [one, more] = [one, more].map(Made::response_times);
        agree("response time at 10 %, s", one[0], more[0], within)?;
        agree("response time at 50 %, s", one[1], more[1], within)?;
        // The longer ones are reported, and are the machine's where it has no processor to spare for another
        // shard.
        println!("response time at 90 %, s | {:.4} | {:.4}", one[2], more[2]);
    }
    Ok(())
}

/// So many tries at most: other work makes some runs slower, and lets none agree that do not.
const TRIES: usize = 3;

/// The results of a load on one, two and three shards, which agree.
#[track_caller]
fn agreed(wan: &Wan, load: &str, within: f64) -> [Made; 3] {
    let mut differs = String::new();
    for _ in 0..TRIES {
        let made = [1, 2, 3].map(|shards| run(wan, load, shards));
        match agree_in_all(&made, within) {
            Ok(()) => return made,
            Err(how) => differs = how,
        }
    }
    panic!("in each of {TRIES} tries, in the last {differs}");
}

/// More users than the bottleneck can take: it carries its rate in sum, not once for each shard, and users
/// wait as long as Little's law says.
#[test]
fn a_saturated_bottleneck_is_one_bottleneck() {
    let Some(wan) = Wan::new("a_saturated_bottleneck_is_one_bottleneck", DebianServer::Nginx) else { return };
    let _alone = alone();
    let load = "load = { model = 'closed', users = 132 }\n";
    let made = agreed(&wan, load, 0.2);
    for made in &made {
        let share = made.bits() / RATE;
        println!("{share:.4} of the bottleneck's rate");
        // At either end of the part there are replies of which some packets count and some do not. A machine
        // that does much else leaves the link idle now and then.
        assert!((0.8..1.05).contains(&share), "{share} of the bottleneck's rate");
    }
}

/// Fewer than it can take: what users wait for is the way there and back, and now and then each other.
#[test]
fn a_load_below_the_bottleneck_is_as_quick() {
    let Some(wan) = Wan::new("a_load_below_the_bottleneck_is_as_quick", DebianServer::Nginx) else { return };
    let _alone = alone();
    let load = "load = { model = 'open', arrivals = '250/s' }\nconnections.policy = 'one-request'\n";
    let made = agreed(&wan, load, 0.5);
    for made in &made {
        for subnet in 1..=4u16 {
            // Subnetwork i is 2i ms away, and 0.2 ms within it: a handshake, and a reply in one window.
            let least = 2.0 * (2.0 * f64::from(subnet) + 0.2) / 1e3;
            let times = made.steady().filter(|sample| sample.class + 1 == subnet);
            let quickest =
                times.map(|sample| sample.response_time().as_secs_f64()).fold(f64::INFINITY, f64::min);
            // 4.5 KB of reply take 1.9 ms on the bottleneck.
            println!("subnetwork {subnet} at best | {least:.4} s | {quickest:.4} s");
            assert!(
                (least + 0.0018..least + 0.007).contains(&quickest),
                "{quickest} s in subnetwork {subnet}"
            );
        }
    }
}
