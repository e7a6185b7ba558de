//! One shard and two of the emulated plane, in real time, on two processors that the server shares: what a
//! second shard costs at a rate that one carries with ease, and what it brings where the emulator is what has
//! most to do.

use super::far::{Far, Placed};
use super::generator::Reuse;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::Result;

/// Seconds a run: what is compared takes turns, so that short runs do.
const SECONDS: u32 = 5;

/// Clients with links of their own: shards share nothing.
const OWN: &str = r#"
[load]
model = "open"
arrivals = "8000/s"
[[network.class]]
name = "far"
share = 1
up = { delay = "25ms" }
down = { delay = "25ms" }
[network]
clients = 10000
"#;

/// IP-TNE's four subnets, whose links all clients share: the first shard carries them, for the other as well.
const SHARED: &str = r#"
[load]
model = "open"
arrivals = "8000/s"
[network.backbone]
subnets = 4
hosts = 1024
[network]
"#;

/// Large objects in small packets: a segment of 64 KiB costs the server about what one of 1 KB does, and the
/// emulator 126 packets, each scheduled and acknowledged on its own.
const PACKETS: &str = r#"
[load]
model = "closed"
users = 200
[[network.class]]
name = "near"
share = 1
rtt = "2ms"
tcp = { mss = 536 }
[network]
clients = 200
"#;

/// The results of one shard and of two, turn by turn.
#[derive(Debug, Default)]
struct Made {
    per_s: [Vec<f64>; 2],
    /// Processor time of the shards for each transaction.
    cpu_us: [Vec<f64>; 2],
    /// The p99 of how late packets left.
    late_us: [Vec<f64>; 2],
}

/// Runs of one shard and of two in turn.
pub fn one_and_two(lab: &Lab) -> Result<String> {
    let own = turns(lab, OWN, Reuse::OneRequest, "/1k")?;
    let shared = turns(lab, SHARED, Reuse::OneRequest, "/1k")?;
    let packets = turns(lab, PACKETS, Reuse::KeepAlive, "/64k")?;
    let mut table = Table::new(&[
        "load",
        "shards",
        "transactions/s",
        "÷ one shard's",
        "CPU each, µs",
        "÷ one shard's",
        "departures late p99, µs",
    ]);
    let words = ["8,000/s, links of their own", "8,000/s, shared links", "64 KiB by 536 bytes, closed loop"];
    for (made, words) in [&own, &shared, &packets].into_iter().zip(words) {
        made.rows(words).into_iter().for_each(|row| table.row(row));
    }
    let costs = [&own, &shared].map(|made| Spread::of_ratios(&made.cpu_us[1], &made.cpu_us[0]));
    let gain = Spread::of_ratios(&packets.per_s[1], &packets.per_s[0]);
    Ok(format!(
        "{}\n{} s a run, {} turns.\n\n\
         - A transaction costs two shards {} × the processor time of one where they share no link, {} × where they do.\n\
         - Where the emulator has most to do, two shards carry {gain} × as much as one.\n",
        table.to_markdown(),
        seconds(lab),
        lab.extent.pairs,
        costs[0],
        costs[1],
    ))
}

fn seconds(lab: &Lab) -> u32 {
    lab.extent.seconds.min(SECONDS)
}

/// `rest` ends in the table of the network, to which the number of shards is added.
fn turns(lab: &Lab, rest: &str, reuse: Reuse, path: &str) -> Result<Made> {
    let both = lab.both();
    let mut made = Made::default();
    for _ in 0..lab.extent.pairs {
        for shards in 1..=2 {
            let rest = format!("{rest}shards = {shards}\nprocessors = {both:?}\n");
            let placed = Some(Placed { server: both.to_vec(), receivers: &both });
            let summary = Far { reuse, path, placed, seconds: seconds(lab), rest: &rest }.run(lab)?;
            let per_s = summary.number("/steady/rates/succeeded_per_s")?;
            let cpu_us = summary.number("/generator/cpu_ns")? / 1e3 / per_s / f64::from(seconds(lab));
            made.per_s[shards - 1].push(per_s);
            made.cpu_us[shards - 1].push(cpu_us);
            made.late_us[shards - 1].push(summary.quantile_us("/network/departure_lateness", "p99")?);
        }
    }
    Ok(made)
}

impl Made {
    fn rows(&self, words: &str) -> [[String; 7]; 2] {
        [0, 1].map(|at| {
            let of = |all: &[Vec<f64>; 2]| Spread::of(all[at].iter().copied());
            let against = |all: &[Vec<f64>; 2]| match at {
                0 => "1".to_owned(),
                _ => Spread::of_ratios(&all[1], &all[0]).to_string(),
            };
            [
                words.to_owned(),
                (at + 1).to_string(),
                format!("{:.0}", of(&self.per_s)),
                against(&self.per_s),
                of(&self.cpu_us).to_string(),
                against(&self.cpu_us),
                format!("{:.0}", of(&self.late_us)),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second turn was on a machine twice as slow, which changes no ratio.
    #[test]
    fn two_shards_stand_beside_one() {
        let made = Made {
            per_s: [vec![100.0, 50.0], vec![150.0, 75.0]],
            cpu_us: [vec![10.0, 20.0], vec![11.0, 22.0]],
            late_us: [vec![30.0, 30.0], vec![60.0, 60.0]],
        };
        let [one, two] = made.rows("a load");
        assert_eq!(one[..4], ["a load", "1", "75 (50–100)", "1"]);
        assert_eq!(two[1..4], ["2", "112 (75–150)", "1.50 (1.50–1.50)"]);
        assert_eq!(two[4..], ["16.50 (11.00–22.00)", "1.10 (1.10–1.10)", "60 (60–60)"]);
    }
}
