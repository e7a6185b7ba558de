//! Placement: which processors the server, its kernel's receive work, the shards and the collector run on.
//!
//! A pure function of what there is and what the scenario asks for; nothing here touches the machine. The rules, each measured
//! (docs/performance.md, *Placement*):
//!
//! - A shard has a processor to itself: whoever else runs there makes its packets late.
//! - The server has the others, and its kernel's receive work goes with it, in a thread of the kernel that is placed there
//!   (threaded NAPI): on a real server it is the server's processor that does this work.
//! - The collector takes time where there is some: among several of the server's processors the scheduler finds it; with
//!   only one, the collector looks itself whether that one idles, and else works in the shard's pauses.
//! - A shard that has a processor to itself has it at a real-time priority, where the system allows that: what else wakes
//!   there waits for its pauses instead of holding it up.
//! - With more shards than fit, or one processor, nothing is bound: the scheduler shares best what is too little.

use std::fmt::Write;

/// What the scenario asks for; empty or absent where the choice is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requested<'a> {
    /// The shards' processors, in turn (`network.processors`).
    pub shards: &'a [usize],
    /// The server's (`server.processors`).
    pub server: &'a [usize],
    /// Those of its kernel's receive work (`server.receive-processors`); `Some` of none leaves it to whoever writes.
    pub receive: Option<&'a [usize]>,
    /// The server runs already, and stays where it is.
    pub server_runs: bool,
    /// Shards may have a real-time priority.
    pub real_time: bool,
}

/// Who runs where, by the system's numbers. An empty set is not bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The processors of each shard.
    pub shards: Vec<Vec<usize>>,
    /// The server's.
    pub server: Vec<usize>,
    /// Those of its kernel's receive work; none if that is done by whoever writes.
    pub receive: Vec<usize>,
    /// Those that the collector may use.
    pub collector: Vec<usize>,
    /// The collector goes to whichever of its processors idles: the first is the server's, the second a shard's.
    pub collector_moves: bool,
    /// Shards have a real-time priority: each has its processor to itself, so that no server waits for it.
    pub real_time: bool,
    /// Why, in one sentence.
    pub reason: String,
}

impl Placement {
    /// The placement of `shards` shards and a server on `processors`, those that this process may use, in order.
    ///
    /// # Panics
    /// Without a processor.
    pub fn choose(processors: &[usize], shards: usize, asked: Requested<'_>) -> Placement {
        assert!(!processors.is_empty(), "whatever runs, runs on a processor");
        let without = |taken: &[usize]| -> Vec<usize> {
            processors.iter().copied().filter(|processor| !taken.contains(processor)).collect()
        };
        let free = without(asked.server);
        let own = match (asked.shards, asked.server) {
            ([], []) if shards < processors.len() => &processors[processors.len() - shards..],
            // Of those that the server leaves, the last ones.
            ([], [_, ..]) if shards <= free.len() => &free[free.len() - shards..],
            ([], [_, ..]) => &free,
            (given, _) => given,
        };
        let rest = without(own);
        let server = match (asked.server, own) {
            ([], []) => Vec::new(),
            ([], _) => rest.clone(),
            (given, _) => given.to_vec(),
        };
        let collector = collector(own, shards, &rest, &server, asked);
        let receive = asked.receive.map_or_else(|| server.clone(), <[usize]>::to_vec);
        let mut placement = Placement {
            shards: (0..shards).map(|shard| of_shard(own, shards, shard)).collect(),
            server,
            receive,
            collector_moves: collector.1,
            collector: collector.0,
            real_time: false,
            reason: String::new(),
        };
        placement.real_time = asked.real_time && !asked.server_runs && placement.shards_are_alone();
        placement.reason = placement.in_words(processors.len(), asked);
        if asked.server_runs {
            placement.server.clear();
        }
        placement
    }

    /// Nothing bound, for a testbed without a scenario.
    pub fn unbound(shards: usize) -> Placement {
        Placement { shards: vec![Vec::new(); shards], ..Placement::default() }
    }

    /// Whether each shard has a processor that neither another, nor the server, nor its receive work has.
    fn shards_are_alone(&self) -> bool {
        let mut own = self.shards.concat();
        own.sort_unstable();
        let given = own.len();
        own.dedup();
        let bound = !self.server.is_empty() && self.shards.iter().all(|shard| shard.len() == 1);
        let shared = self.server.iter().chain(&self.receive).any(|processor| own.contains(processor));
        bound && own.len() == given && !shared
    }

    fn in_words(&self, processors: usize, asked: Requested<'_>) -> String {
        let are = counted(processors, "processor");
        let these = counted(self.shards.len(), "shard");
        if self.server.is_empty() && self.shards.iter().all(Vec::is_empty) {
            return match processors {
                1 => format!("{are}: server, {these} and collector share it"),
                _ => format!("{are}, {these}: too few for one each, so nothing is bound"),
            };
        }
        let together = self.receive == self.server && !asked.server_runs;
        let server = match self.server.as_slice() {
            _ if asked.server_runs => "server where it runs".to_owned(),
            [] => "server anywhere".to_owned(),
            some => format!("server{} on {}", if together { "+receive" } else { "" }, listed(some)),
        };
        let receive = match self.receive.as_slice() {
            _ if together && !self.server.is_empty() => String::new(),
            [] => ", receive in the writes".to_owned(),
            some => format!(", receive on {}", listed(some)),
        };
        let mut own: Vec<usize> = self.shards.concat();
        own.sort_unstable();
        own.dedup();
        let shards = if self.shards.len() == 1 { "shard" } else { "shards" };
        let collector = match self.collector.as_slice() {
            [] => "anywhere".to_owned(),
            [server, shard] if self.collector_moves => format!("on {server} or {shard}"),
            some => format!("on {}", listed(some)),
        };
        let given = !(asked.shards.is_empty() && asked.server.is_empty() && asked.receive.is_none());
        let as_asked = if given { ", as asked" } else { "" };
        let priority = if self.real_time { "real-time " } else { "" };
        format!(
            "{are}{as_asked}: {server}{receive}, {priority}{shards} on {}, collector {collector}",
            listed(&own)
        )
    }
}

/// A processor for itself, in turn, as long as there are as many as shards.
fn of_shard(own: &[usize], shards: usize, shard: usize) -> Vec<usize> {
    if own.len() < shards { own.to_vec() } else { own[shard..=shard].to_vec() }
}

/// Where the collector runs, and whether it looks itself for time.
fn collector(
    own: &[usize],
    shards: usize,
    rest: &[usize],
    server: &[usize],
    asked: Requested<'_>,
) -> (Vec<usize>, bool) {
    match (own, rest) {
        ([], _) => (Vec::new(), false),
        // farfield was told to keep to these; the first ones carry shards.
        (own, _) if !asked.shards.is_empty() => {
            (if own.len() > shards { own[shards..].to_vec() } else { own.to_vec() }, false)
        }
        (own, []) => (own.to_vec(), false),
        (own, [one]) if server.contains(one) => (vec![*one, own[own.len() - 1]], true),
        (_, rest) => (rest.to_vec(), false),
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Numbers as the kernel lists them: `0-2,5`.
pub(crate) fn listed(processors: &[usize]) -> String {
    let mut words = String::new();
    let mut at = 0;
    while at < processors.len() {
        let mut last = at;
        while processors.get(last + 1).is_some_and(|next| *next == processors[last] + 1) {
            last += 1;
        }
        let separator = if words.is_empty() { "" } else { "," };
        let _ = match last - at {
            0 => write!(words, "{separator}{}", processors[at]),
            _ => write!(words, "{separator}{}-{}", processors[at], processors[last]),
        };
        at = last + 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Requested<'_> =
        Requested { shards: &[], server: &[], receive: None, server_runs: false, real_time: false };

    /// `server | receive | a shard; a shard | collector`, with `?` where the collector looks for time.
    fn shown(placement: &Placement) -> String {
        let shards: Vec<String> = placement.shards.iter().map(|shard| listed(shard)).collect();
        let (server, receive) = (listed(&placement.server), listed(&placement.receive));
        let looks = if placement.collector_moves { "?" } else { "" };
        format!("{server} | {receive} | {} | {}{looks}", shards.join("; "), listed(&placement.collector))
    }

    #[test]
    fn who_runs_where() {
        let table: &[(&[usize], usize, Requested<'_>, &str)] = &[
            // One processor, or too few: the scheduler shares them.
            (&[0], 1, FREE, " |  |  | "),
            (&[0, 1], 2, FREE, " |  | ;  | "),
            (&[3, 5], 4, FREE, " |  | ; ; ;  | "),
            // Two: the server with its receive work, the shard, and the collector where there is time.
            (&[0, 1], 1, FREE, "0 | 0 | 1 | 0-1?"),
            (&[4, 9], 1, FREE, "4 | 4 | 9 | 4,9?"),
            // More.
            (&[0, 1, 2, 3], 1, FREE, "0-2 | 0-2 | 3 | 0-2"),
            (&[0, 1, 2, 3], 2, FREE, "0-1 | 0-1 | 2; 3 | 0-1"),
            (&[0, 1, 2, 3], 3, FREE, "0 | 0 | 1; 2; 3 | 0,3?"),
            // Requested for.
            (&[0, 1], 1, Requested { shards: &[0], ..FREE }, "1 | 1 | 0 | 0"),
            (&[0, 1], 1, Requested { server: &[1], ..FREE }, "1 | 1 | 0 | 1,0?"),
            (&[0, 1], 1, Requested { receive: Some(&[]), ..FREE }, "0 |  | 1 | 0-1?"),
            (&[0, 1], 1, Requested { receive: Some(&[0, 1]), ..FREE }, "0 | 0-1 | 1 | 0-1?"),
            (&[0, 1], 1, Requested { shards: &[0, 1], ..FREE }, " |  | 0 | 1"),
            (&[0, 1], 1, Requested { shards: &[1], server: &[0, 1], ..FREE }, "0-1 | 0-1 | 1 | 1"),
            (&[0, 1], 1, Requested { server: &[0, 1], ..FREE }, "0-1 | 0-1 |  | "),
            (&[0, 1, 2, 3], 2, Requested { server: &[0, 1, 2], ..FREE }, "0-2 | 0-2 | 3; 3 | 0-2"),
            (&[0, 1, 2, 3], 2, Requested { shards: &[1, 2, 3], ..FREE }, "0 | 0 | 1; 2 | 3"),
            (&[0, 1], 1, Requested { server_runs: true, ..FREE }, " | 0 | 1 | 0-1?"),
            // Confined from outside, beside a server that is not.
            (&[1], 1, Requested { server: &[0], ..FREE }, "0 | 0 | 1 | 1"),
        ];
        for (processors, shards, asked, expected) in table {
            let placement = Placement::choose(processors, *shards, *asked);
            assert_eq!(shown(&placement), *expected, "{processors:?}, {shards} shards, {asked:?}");
        }
    }

    /// A shard that shares its processor with the server or its receive work is late, whatever the machine.
    #[test]
    fn no_free_choice_puts_another_beside_a_shard() {
        for count in 1..=64 {
            let processors: Vec<usize> = (0..count).map(|nth| 2 * nth).collect();
            for shards in 1..=16 {
                let placement = Placement::choose(&processors, shards, FREE);
                let others = [placement.server.clone(), placement.receive.clone()].concat();
                for (nth, shard) in placement.shards.iter().enumerate() {
                    assert!(shard.iter().all(|processor| !others.contains(processor)));
                    let bound = count > shards;
                    assert_eq!(shard.len(), usize::from(bound), "shard {nth} of {shards} on {count}");
                }
                assert_eq!(placement.server.len(), count.saturating_sub(shards));
            }
        }
    }

    #[test]
    fn shards_go_first_only_where_they_are_alone() {
        let first = |processors: &[usize], shards, asked: Requested<'_>| {
            Placement::choose(processors, shards, Requested { real_time: true, ..asked }).real_time
        };
        assert!(first(&[0, 1], 1, FREE));
        assert!(first(&[0, 1, 2, 3], 3, FREE));
        assert!(first(&[0, 1, 2, 3], 2, Requested { shards: &[1, 2, 3], ..FREE }));
        assert!(!Placement::choose(&[0, 1], 1, FREE).real_time);
        assert!(!first(&[0], 1, FREE));
        assert!(!first(&[0, 1], 2, FREE));
        assert!(!first(&[0, 1], 1, Requested { receive: Some(&[0, 1]), ..FREE }));
        assert!(!first(&[0, 1], 1, Requested { shards: &[1], server: &[0, 1], ..FREE }));
        assert!(!first(&[0, 1], 1, Requested { shards: &[0, 1], ..FREE }));
        assert!(!first(&[0, 1, 2, 3], 2, Requested { server: &[0, 1, 2], ..FREE }));
        assert!(!first(&[0, 1], 1, Requested { server_runs: true, ..FREE }));
    }

    #[test]
    fn reasons_are_sentences_for_the_terminal() {
        let reason =
            |processors: &[usize], shards, asked| Placement::choose(processors, shards, asked).reason;
        let words = reason(&[0, 1], 1, FREE);
        assert_eq!(words, "2 processors: server+receive on 0, shard on 1, collector on 0 or 1");
        assert_eq!(reason(&[0], 1, FREE), "1 processor: server, 1 shard and collector share it");
        let words = "2 processors, 2 shards: too few for one each, so nothing is bound";
        assert_eq!(reason(&[0, 1], 2, FREE), words);
        assert_eq!(
            reason(&[0, 1, 2, 3], 2, Requested { receive: Some(&[]), ..FREE }),
            "4 processors, as asked: server on 0-1, receive in the writes, shards on 2-3, collector on 0-1"
        );
        assert_eq!(
            reason(&[0, 1], 1, Requested { server_runs: true, ..FREE }),
            "2 processors: server where it runs, receive on 0, shard on 1, collector on 0 or 1"
        );
    }
}
