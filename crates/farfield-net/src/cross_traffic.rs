//! Cross traffic: packets of nobody's that share a link with others. They come to the link's entrance at
//! instants of their own, queue, delay and are dropped like any packet, and are gone behind the link.
//!
//! ```toml
//! link = "shared.down"      # or, of a topology, { from = "core", to = "one" }
//! rate = "20Mbit"           # of packets from the IP header on
//! packet = 1000             # bytes of each, the same; 1500 by default
//! arrivals = "poisson"      # or "constant": one packet after the other at equal intervals
//! from = "5s"               # from the start of the run on, which is 0
//! to = "15s"                # absent: as long as the run
//! ```
//!
//! Nothing here reacts to loss or delay, as UDP without congestion control does not. Behind a queue that
//! serves at a constant rate, Poisson packets of one size are an M/D/1 queue.

use crate::bit_rate::BitRate;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant, TextOrTable};
use rand_core::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The size of a packet where none is written.
const PACKET_BYTES: u32 = 1_500;
/// The smallest IP packet with a UDP header, and the largest packet.
const PACKET_LEAST: u32 = 28;
const PACKET_MOST: u32 = 65_535;

/// A flow of packets, as a scenario writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CrossTrafficKeys", into = "CrossTrafficKeys")]
pub struct CrossTraffic {
    /// The link that its packets take.
    pub link: LinkName,
    /// Bits a second in the long run.
    pub rate: BitRate,
    /// Bytes of each packet, from the IP header on.
    pub packet_bytes: u32,
    /// The instants of packets.
    pub arrivals: CrossArrivals,
    /// The earliest instant of a packet.
    pub from: Instant,
    /// No packet comes at or after it.
    pub to: Instant,
}

/// The name of a link that clients share, in one direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkName {
    /// `network.shared`, towards the server.
    SharedUp,
    /// `network.shared`, from the server.
    SharedDown,
    /// A link of a topology.
    Between {
        /// The name of the node where it begins.
        from: String,
        /// The name of the node where it ends.
        to: String,
    },
}

/// The instants of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CrossArrivals {
    /// A Poisson process.
    #[default]
    Poisson,
    /// Equal intervals (constant bit rate).
    Constant,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CrossTrafficKeys {
    link: LinkName,
    rate: BitRate,
    #[serde(default = "packet_bytes")]
    packet: u32,
    #[serde(default)]
    arrivals: CrossArrivals,
    #[serde(default)]
    from: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<Duration>,
}

fn packet_bytes() -> u32 {
    PACKET_BYTES
}

impl TryFrom<CrossTrafficKeys> for CrossTraffic {
    type Error = String;

    fn try_from(written: CrossTrafficKeys) -> Result<CrossTraffic, String> {
        let CrossTrafficKeys { link, rate, packet, arrivals, from, to } = written;
        if !(PACKET_LEAST..=PACKET_MOST).contains(&packet) {
            return Err(format!(
                "a packet of {packet} bytes is out of range; write {PACKET_LEAST} to {PACKET_MOST}"
            ));
        }
        if to.is_some_and(|to| to <= from) {
            return Err(
                "`to` is not after `from`; write later instants of the run, such as to = \"15s\"".to_owned()
            );
        }
        let to = to.map_or(Instant::MAX, |to| Instant::ZERO + to);
        Ok(CrossTraffic { link, rate, packet_bytes: packet, arrivals, from: Instant::ZERO + from, to })
    }
}

impl From<CrossTraffic> for CrossTrafficKeys {
    fn from(flow: CrossTraffic) -> CrossTrafficKeys {
        CrossTrafficKeys {
            link: flow.link,
            rate: flow.rate,
            packet: flow.packet_bytes,
            arrivals: flow.arrivals,
            from: flow.from.since(Instant::ZERO),
            to: (flow.to != Instant::MAX).then(|| flow.to.since(Instant::ZERO)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ends {
    from: String,
    to: String,
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkName::SharedUp => f.write_str("shared.up"),
            LinkName::SharedDown => f.write_str("shared.down"),
            LinkName::Between { from, to } => write!(f, "{from} to {to}"),
        }
    }
}

impl Serialize for LinkName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            LinkName::Between { from, to } => Ends { from, to }.serialize(serializer),
            shared => serializer.collect_str(&shared),
        }
    }
}

impl<'de> Deserialize<'de> for LinkName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LinkName, D::Error> {
        TextOrTable {
            expected: "\"shared.up\", \"shared.down\" or, of a topology, { from = \"a node\", to = \"another\" }",
            text: |text| match text {
                "shared.up" => Ok(LinkName::SharedUp),
                "shared.down" => Ok(LinkName::SharedDown),
                other => Err(format!(
                    "`{other}` is no link that clients share; write shared.up, shared.down or, of a topology, {{ from = \"a \
                     node\", to = \"another\" }}"
                )),
            },
            number: None,
            table: |Ends { from, to }| Ok(LinkName::Between { from, to }),
        }
        .read(deserializer)
    }
}

/// The instants of a flow's packets, one after the other.
#[derive(Debug, Clone)]
pub struct CrossInstants {
    bits: u64,
    rate: BitRate,
    arrivals: CrossArrivals,
    from: Instant,
    to: Instant,
    rng: Stream,
    next: Instant,
    /// Packets before the next.
    past: u64,
}

impl CrossInstants {
    /// The instants of `flow`, drawn from `rng`, which is the flow's own.
    pub fn of(flow: &CrossTraffic, rng: Stream) -> CrossInstants {
        let CrossTraffic { rate, packet_bytes, arrivals, from, to, .. } = *flow;
        let bits = u64::from(packet_bytes) * 8;
        let mut instants = CrossInstants { bits, rate, arrivals, from, to, rng, next: from, past: 0 };
        if arrivals == CrossArrivals::Poisson {
            instants.next = from + instants.gap();
        }
        instants
    }

    /// An exponentially distributed gap.
    fn gap(&mut self) -> Duration {
        let mean_ns = self.bits as f64 * 1e9 / self.rate.as_bits() as f64;
        // In (0, 1], of 53 bits.
        let share = ((self.rng.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
        Duration::from_ns((-share.ln() * mean_ns).round() as u64)
    }
}

impl Iterator for CrossInstants {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        let now = self.next;
        if now >= self.to {
            return None;
        }
        self.past += 1;
        self.next = match self.arrivals {
            CrossArrivals::Poisson => now + self.gap(),
            // From the beginning, so that no rounding adds up.
            CrossArrivals::Constant => {
                let bits = u128::from(self.past) * u128::from(self.bits);
                let after_ns = bits * 1_000_000_000 / u128::from(self.rate.as_bits());
                self.from + Duration::from_ns(u64::try_from(after_ns).unwrap_or(u64::MAX))
            }
        };
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    fn read(text: &str) -> Result<CrossTraffic, String> {
        let text =
            if text.contains("link") { text.to_owned() } else { format!("link = 'shared.up'\n{text}") };
        let flow: CrossTraffic = toml::from_str(&text).map_err(|error| error.to_string())?;
        let written = toml::to_string(&flow).expect("it can be written");
        assert_eq!(toml::from_str(&written).as_ref(), Ok(&flow), "{written}");
        Ok(flow)
    }

    fn instants(text: &str) -> CrossInstants {
        CrossInstants::of(&read(text).expect("a flow"), Seed(3).stream(Purpose::CrossTraffic, 0))
    }

    /// 1,000 B at 3 Mb/s are 2 ms and 666,666 2/3 ns, and after three packets exactly 8 ms.
    #[test]
    fn constant_packets_do_not_drift() {
        let after = |ns| Instant::ZERO + Duration::from_ms(5) + Duration::from_ns(ns);
        let mut constant = instants("rate = '3Mbit'\npacket = 1000\narrivals = 'constant'\nfrom = '5ms'");
        let first: Vec<_> = constant.by_ref().take(4).collect();
        assert_eq!(first, [after(0), after(2_666_666), after(5_333_333), after(8_000_000)]);
        // Four are taken; the one after 3,000,000 is number 3,000,000.
        assert_eq!(constant.nth(3_000_000 - 4), Some(after(8_000_000 * 1_000_000)));
    }

    /// The sum of n exponential gaps of mean m has mean nm and deviation √n m, and the sum of squares mean
    /// 2nm².
    #[test]
    fn poisson_packets_have_exponential_gaps() {
        const COUNT: usize = 200_000;
        let mean_ns = 12_000.0 * 1e9 / 10e6;
        let all: Vec<_> = instants("rate = '10Mbit'").take(COUNT).collect();
        let gaps = all.windows(2).map(|pair| pair[1].since(pair[0]).as_ns() as f64 / mean_ns);
        let (sum, squares) = gaps.fold((0.0, 0.0), |(sum, squares), gap| (sum + gap, squares + gap * gap));
        let count = (COUNT - 1) as f64;
        assert!((sum - count).abs() < 5.0 * count.sqrt(), "{sum} of {count}");
        // Var x² = 24 - 4 = 20 times the mean's fourth power.
        assert!((squares - 2.0 * count).abs() < 5.0 * (20.0 * count).sqrt(), "{squares} of {}", 2.0 * count);
    }

    #[test]
    fn links_are_named() {
        let link = |text: &str| read(&format!("link = {text}\nrate = '1Mbit'")).expect("a flow").link;
        assert_eq!((link("'shared.up'"), link("'shared.down'")), (LinkName::SharedUp, LinkName::SharedDown));
        let between = link("{ from = 'core', to = 'one' }");
        assert_eq!(between, LinkName::Between { from: "core".to_owned(), to: "one".to_owned() });
    }

    #[test]
    fn a_flow_has_a_beginning_and_an_end() {
        for arrivals in ["constant", "poisson"] {
            let text = format!("rate = '12Mbit'\narrivals = '{arrivals}'\nfrom = '1s'\nto = '2s'");
            let all: Vec<_> = instants(&text).collect();
            let (from, to) = (Instant::ZERO + Duration::from_secs(1), Instant::ZERO + Duration::from_secs(2));
            assert!(all.iter().all(|at| (from..to).contains(at)));
            // 1,000 packets of 1 ms each; of Poisson with a deviation of 32.
            assert!((840..=1_160).contains(&all.len()), "{}", all.len());
            assert!(arrivals == "poisson" || all.len() == 1_000);
        }
    }

    #[test]
    fn mistakes_say_what_would_do() {
        let refuse = |text: &str, hint: &str| {
            let error = read(text).expect_err(text);
            assert!(error.contains(hint), "{error}");
        };
        refuse("link = 'access'\nrate = '1Mbit'", "shared.down");
        refuse("link = { from = 'a' }\nrate = '1Mbit'", "missing field `to`");
        refuse("link = 7\nrate = '1Mbit'", "shared.down");
        refuse("packet = 1000", "missing field `rate`");
        refuse("rate = '1Mbit'\npacket = 20", "28 to 65535");
        refuse("rate = '1Mbit'\npacket = 65536", "28 to 65535");
        refuse("rate = '0bit'", "above 0");
        refuse("rate = '1Mbit'\nfrom = '2s'\nto = '1s'", "not after `from`");
        refuse("rate = '1Mbit'\narrivals = 'bursty'", "poisson");
    }
}
