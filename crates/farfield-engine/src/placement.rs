//! Placement: which processors the server, its kernel's receive work, the shards and the collector run on.
//!
//! A pure function of the processors and the scenario; nothing here touches the machine. The rules, each
//! measured (docs/lab/emulated.md, *Placement*):
//!
//! - A shard has a processor to itself: any other work there makes its packets late.
//! - The server has the other processors, and its kernel's receive work runs there too, in a kernel thread
//!   (threaded NAPI): on a real server this work is done by the server's processors.
//! - The collector runs where there is idle time: among several of the server's processors the scheduler
//!   finds it; with only one, the collector checks whether that one idles, and otherwise works in the
//!   shard's pauses.
//! - A shard that has a processor to itself runs at a real-time priority, where the system allows that: any
//!   other thread that wakes there waits for its pauses instead of delaying it. So does a server that runs
//!   already and is bound to no processors: the scheduler moves it to the others.
//! - A server that runs already and is bound to processors keeps them, and shards are elsewhere if there is
//!   room.
//! - With more shards than processors can hold, or one processor, nothing is bound: the scheduler shares
//!   them best.

use farfield_os::processors::listed;

/// The scenario's requests; empty or absent where the choice is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementRequest<'a> {
    /// The shards' processors, in turn (`network.processors`).
    pub shards: &'a [usize],
    /// The server's processors (`server.processors`), or those that a server that runs already is bound to.
    pub server: &'a [usize],
    /// The processors of its kernel's receive work (`server.receive-processors`); `Some` of none leaves that
    /// work to the writing threads.
    pub receive: Option<&'a [usize]>,
    /// The server runs already, and stays where it is.
    pub server_runs: bool,
    /// Shards may have a real-time priority.
    pub real_time: bool,
}

/// The processors of each part, by the system's numbers. An empty set means: not bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The processors of each shard.
    pub shards: Vec<Vec<usize>>,
    /// The server's processors.
    pub server: Vec<usize>,
    /// The processors of its kernel's receive work; none if the writing threads do it.
    pub receive: Vec<usize>,
    /// The processors that the collector may use.
    pub collector: Vec<usize>,
    /// The collector moves to whichever of its two processors idles: the server's, first, or a shard's.
    pub collector_moves: bool,
    /// Shards have a real-time priority: each has its processor to itself, so that no server waits for it.
    pub real_time: bool,
    /// The reason, in one sentence.
    pub reason: String,
}

impl Placement {
    /// Places `shards` shards and a server on `processors`, which this process may use, in order.
    ///
    /// # Panics
    /// Without a processor.
    pub fn choose(processors: &[usize], shards: usize, asked: PlacementRequest<'_>) -> Placement {
        assert!(!processors.is_empty(), "whatever runs, runs on a processor");
        let without = |taken: &[usize]| -> Vec<usize> {
            processors.iter().copied().filter(|processor| !taken.contains(processor)).collect()
        };
        let free = without(asked.server);
        let own = match (asked.shards, asked.server) {
            ([], []) if shards < processors.len() => &processors[processors.len() - shards..],
            // The last of the processors that the server leaves.
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
        placement.real_time = asked.real_time && placement.shards_are_alone();
        placement.reason = placement.in_words(processors.len(), asked);
        if asked.server_runs {
            placement.server.clear();
        }
        placement
    }

    /// A placement that binds nothing, for a testbed without a scenario.
    pub fn unbound(shards: usize) -> Placement {
        Placement { shards: vec![Vec::new(); shards], ..Placement::default() }
    }

    /// True if each shard has a processor that no other shard, nor the server, nor its receive work uses.
    fn shards_are_alone(&self) -> bool {
        let mut own = self.shards.concat();
        own.sort_unstable();
        let given = own.len();
        own.dedup();
        let bound = !self.server.is_empty() && self.shards.iter().all(|shard| shard.len() == 1);
        let shared = self.server.iter().chain(&self.receive).any(|processor| own.contains(processor));
        bound && own.len() == given && !shared
    }

    fn in_words(&self, processors: usize, asked: PlacementRequest<'_>) -> String {
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
            _ if asked.server_runs => match asked.server {
                [] => "server where it runs".to_owned(),
                bound => format!("server where it runs, bound to {}", listed(bound)),
            },
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
        let server_given = !asked.server.is_empty() && !asked.server_runs;
        let given = !asked.shards.is_empty() || server_given || asked.receive.is_some();
        let as_asked = if given { ", as asked" } else { "" };
        let priority = if self.real_time { "real-time " } else { "" };
        format!(
            "{are}{as_asked}: {server}{receive}, {priority}{shards} on {}, collector {collector}",
            listed(&own)
        )
    }
}

/// The processors of one shard: one to itself if there are as many as shards, otherwise all.
fn of_shard(own: &[usize], shards: usize, shard: usize) -> Vec<usize> {
    if own.len() < shards { own.to_vec() } else { own[shard..=shard].to_vec() }
}

/// The collector's processors, and whether it moves between them.
fn collector(
    own: &[usize],
    shards: usize,
    rest: &[usize],
    server: &[usize],
    asked: PlacementRequest<'_>,
) -> (Vec<usize>, bool) {
    match (own, rest) {
        ([], _) => (Vec::new(), false),
        // The scenario confines farfield to these; the first ones carry shards.
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

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: PlacementRequest<'_> =
        PlacementRequest { shards: &[], server: &[], receive: None, server_runs: false, real_time: false };

    /// `server | receive | a shard; a shard | collector`, with `?` where the collector moves.
    fn shown(placement: &Placement) -> String {
        let shards: Vec<String> = placement.shards.iter().map(|shard| listed(shard)).collect();
        let (server, receive) = (listed(&placement.server), listed(&placement.receive));
        let looks = if placement.collector_moves { "?" } else { "" };
        format!("{server} | {receive} | {} | {}{looks}", shards.join("; "), listed(&placement.collector))
    }

    #[test]
    fn who_runs_where() {
        let table: &[(&[usize], usize, PlacementRequest<'_>, &str)] = &[
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
            // As requested.
            (&[0, 1], 1, PlacementRequest { shards: &[0], ..FREE }, "1 | 1 | 0 | 0"),
            (&[0, 1], 1, PlacementRequest { server: &[1], ..FREE }, "1 | 1 | 0 | 1,0?"),
            (&[0, 1], 1, PlacementRequest { receive: Some(&[]), ..FREE }, "0 |  | 1 | 0-1?"),
            (&[0, 1], 1, PlacementRequest { receive: Some(&[0, 1]), ..FREE }, "0 | 0-1 | 1 | 0-1?"),
            (&[0, 1], 1, PlacementRequest { shards: &[0, 1], ..FREE }, " |  | 0 | 1"),
            (&[0, 1], 1, PlacementRequest { shards: &[1], server: &[0, 1], ..FREE }, "0-1 | 0-1 | 1 | 1"),
            (&[0, 1], 1, PlacementRequest { server: &[0, 1], ..FREE }, "0-1 | 0-1 |  | "),
            (&[0, 1, 2, 3], 2, PlacementRequest { server: &[0, 1, 2], ..FREE }, "0-2 | 0-2 | 3; 3 | 0-2"),
            (&[0, 1, 2, 3], 2, PlacementRequest { shards: &[1, 2, 3], ..FREE }, "0 | 0 | 1; 2 | 3"),
            (&[0, 1], 1, PlacementRequest { server_runs: true, ..FREE }, " | 0 | 1 | 0-1?"),
            // Bound by itself to what a shard would have.
            (&[0, 1], 1, PlacementRequest { server: &[1], server_runs: true, ..FREE }, " | 1 | 0 | 1,0?"),
            (
                &[0, 1, 2, 3],
                2,
                PlacementRequest { server: &[2, 3], server_runs: true, ..FREE },
                " | 2-3 | 0; 1 | 2-3",
            ),
            // Confined from outside, beside a server that is not.
            (&[1], 1, PlacementRequest { server: &[0], ..FREE }, "0 | 0 | 1 | 1"),
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
        let first = |processors: &[usize], shards, asked: PlacementRequest<'_>| {
            Placement::choose(processors, shards, PlacementRequest { real_time: true, ..asked }).real_time
        };
        assert!(first(&[0, 1], 1, FREE));
        assert!(first(&[0, 1, 2, 3], 3, FREE));
        assert!(first(&[0, 1, 2, 3], 2, PlacementRequest { shards: &[1, 2, 3], ..FREE }));
        assert!(!Placement::choose(&[0, 1], 1, FREE).real_time);
        assert!(!first(&[0], 1, FREE));
        assert!(!first(&[0, 1], 2, FREE));
        assert!(!first(&[0, 1], 1, PlacementRequest { receive: Some(&[0, 1]), ..FREE }));
        assert!(!first(&[0, 1], 1, PlacementRequest { shards: &[1], server: &[0, 1], ..FREE }));
        assert!(!first(&[0, 1], 1, PlacementRequest { shards: &[0, 1], ..FREE }));
        assert!(!first(&[0, 1, 2, 3], 2, PlacementRequest { server: &[0, 1, 2], ..FREE }));
        // Before a server that runs already, wherever it is; but not where it is bound to all.
        assert!(first(&[0, 1], 1, PlacementRequest { server_runs: true, ..FREE }));
        assert!(first(&[0, 1, 2, 3], 2, PlacementRequest { server: &[0], server_runs: true, ..FREE }));
        assert!(!first(&[0, 1], 1, PlacementRequest { server: &[0, 1], server_runs: true, ..FREE }));
        assert!(!first(&[0], 1, PlacementRequest { server_runs: true, ..FREE }));
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
            reason(&[0, 1, 2, 3], 2, PlacementRequest { receive: Some(&[]), ..FREE }),
            "4 processors, as asked: server on 0-1, receive in the writes, shards on 2-3, collector on 0-1"
        );
        assert_eq!(
            reason(&[0, 1], 1, PlacementRequest { server_runs: true, ..FREE }),
            "2 processors: server where it runs, receive on 0, shard on 1, collector on 0 or 1"
        );
        let bound = PlacementRequest { server: &[1], server_runs: true, real_time: true, ..FREE };
        assert_eq!(
            reason(&[0, 1], 1, bound),
            "2 processors: server where it runs, bound to 1, receive on 1, real-time shard on 0, collector on 1 \
             or 0"
        );
    }
}
