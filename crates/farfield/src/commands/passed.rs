//! Account of paths between real hosts, in words: packets, those that did not arrive by cause, and lateness.

use farfield_base::{Duration, NetworkDrops};
use farfield_measure::{Histogram, Quantile};
use farfield_report::figures;

/// Counts of packets that were passed on, their lateness, and the processor time.
pub struct ForwardingReport<'a> {
    /// Packets from clients.
    pub up: u64,
    /// Packets from servers.
    pub down: u64,
    /// Packets that the network did not deliver.
    pub drops: NetworkDrops,
    /// Packets that a kernel did not take.
    pub refused: u64,
    /// Other counts with their words, which are said where they are not 0.
    pub others: Vec<(u64, &'a str)>,
    /// Lateness of packets.
    pub lateness: &'a Histogram,
    /// Processor time.
    pub cpu: Duration,
}

impl ForwardingReport<'_> {
    /// A line of counts, and one of lateness if there were packets; `limit` is that of its 99th percentile.
    pub fn in_words(&self, limit: Duration) -> String {
        let drops = self.drops;
        let causes = [
            (drops.lost, "lost"),
            (drops.queue_full + drops.early + drops.delayed, "dropped by queues"),
            (drops.expired, "out of hops"),
            (drops.too_big, "too big"),
            (drops.unreachable, "refused by closed links"),
            (drops.damaged, "damaged"),
            (drops.nobody, "from or for nobody on the path"),
            (self.refused, "refused by a kernel"),
        ];
        let causes = causes.iter().chain(&self.others).filter(|(count, _)| *count > 0);
        let causes: String = causes.map(|(count, cause)| format!("; {count} {cause}")).collect();
        let cpu = figures::time(self.cpu.as_ns());
        let (up, down) = (self.up, self.down);
        let counts =
            format!("farfield: {up} packets up and {down} down in {cpu} of processor time{causes}\n");
        let (Some(p99), Some(max)) = (self.lateness.quantile(Quantile::P99), self.lateness.max()) else {
            return counts;
        };
        let [p99, max] = [p99, max].map(|late| figures::time(late.as_ns()));
        match is_late(self.lateness, limit) {
            true => format!(
                "{counts}farfield: INVALID: one packet in a hundred was {p99} late or more, {max} at most, where {limit} is \
                 allowed: times are longer than the path's; stop other work on this machine\n"
            ),
            false => format!(
                "{counts}farfield: on time: packets were late by {p99} at the 99th percentile, {max} at most\n"
            ),
        }
    }
}

/// True if packets were later than `limit` at the 99th percentile.
pub fn is_late(lateness: &Histogram, limit: Duration) -> bool {
    lateness.quantile(Quantile::P99).is_some_and(|p99| p99 > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(lateness: &Histogram) -> ForwardingReport<'_> {
        ForwardingReport {
            up: 3,
            down: 2,
            drops: NetworkDrops { lost: 1, early: 2, delayed: 3, ..NetworkDrops::default() },
            refused: 0,
            others: vec![(1, "process left behind, killed"), (0, "lookups")],
            lateness,
            cpu: Duration::from_us(40),
        }
    }

    fn late(late: Duration) -> Histogram {
        let mut lateness = Histogram::new();
        (0..99).for_each(|_| lateness.record(late));
        lateness
    }

    #[test]
    fn lateness_is_judged() {
        let limit = Duration::from_ms(1);
        let on_time = passed(&late(Duration::from_us(90))).in_words(limit);
        assert!(
            on_time.starts_with(
                "farfield: 3 packets up and 2 down in 40.0µs of processor time; 1 lost; 5 dropped by queues; \
                 1 process left behind, killed\n"
            ),
            "{on_time}"
        );
        assert!(on_time.contains("on time: packets were late by 90"), "{on_time}");
        let late = passed(&late(Duration::from_ms(2))).in_words(limit);
        assert!(late.contains("INVALID") && late.contains("where 1ms is allowed"), "{late}");
        assert!(!passed(&Histogram::new()).in_words(limit).contains("late by"));
    }
}
