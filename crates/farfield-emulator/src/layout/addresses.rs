//! Addresses of clients.
//!
//! The gateway finds a packet's shard by the address alone: its offset in the block around all clients,
//! modulo the number of shards. So the address of client n stands at an offset that leaves the same remainder
//! as n does; where there are several shards, some addresses in between may stay free.

use super::{Block, Class, LayoutError, LayoutSettings};
use std::net::IpAddr;

/// Addresses of all clients.
#[derive(Debug)]
pub(super) struct Addressing {
    /// The address of rank 0 of each class.
    pub first: Vec<IpAddr>,
    /// The rank of each client in its class.
    pub ranks: Vec<u32>,
    pub clients_v4: Option<Block>,
    pub clients_v6: Option<Block>,
}

pub(super) fn assign(
    classes: &[Class],
    member_of: &[u16],
    settings: LayoutSettings,
) -> Result<Addressing, LayoutError> {
    let shards = settings.shards.get();
    let (ranks, spans) = rank(classes.len(), member_of, shards);
    if let Some(class) = spans.iter().position(|&span| span == 0) {
        let name = classes[class].name.clone();
        return Err(LayoutError::Empty { class, name, clients: member_of.len() as u32 });
    }
    let pools = Pools::choose(classes, &spans, settings);
    pools.check(classes, settings)?;
    let first = pools.fill(classes, &spans, shards.into())?;
    let [clients_v4, clients_v6] = pools.around;
    Ok(Addressing { first, ranks, clients_v4, clients_v6 })
}

/// The rank of each client, which leaves the remainder of its number, and how many addresses each class
/// spans.
fn rank(classes: usize, member_of: &[u16], shards: u32) -> (Vec<u32>, Vec<u128>) {
    let mut taken = vec![0_u32; classes * shards as usize];
    let mut spans = vec![0_u128; classes];
    let mut ranks = Vec::with_capacity(member_of.len());
    for (number, &class) in member_of.iter().enumerate() {
        let remainder = number as u32 % shards;
        let taken = &mut taken[usize::from(class) * shards as usize + remainder as usize];
        let rank = *taken * shards + remainder;
        *taken += 1;
        let span = &mut spans[usize::from(class)];
        *span = (*span).max(u128::from(rank) + 1);
        ranks.push(rank);
    }
    (ranks, spans)
}

/// The blocks of the classes' addresses.
struct Pools {
    /// The block of each class; several may be in the default block, one after the other.
    of: Vec<Block>,
    /// Around all pools of each family.
    around: [Option<Block>; 2],
}

impl Pools {
    fn choose(classes: &[Class], spans: &[u128], settings: LayoutSettings) -> Pools {
        let shards = u128::from(settings.shards.get());
        let unsaid = classes.iter().zip(spans).filter(|(class, _)| class.pool.is_none());
        let needed: u128 = unsaid.map(|(_, span)| span.next_multiple_of(shards)).sum::<u128>() + shards;
        let usual = if needed <= Block::BENCHMARK.usable().1 { Block::BENCHMARK } else { Block::SHARED };
        let default = settings.block.unwrap_or(usual);
        let of: Vec<Block> = classes.iter().map(|class| class.pool.unwrap_or(default)).collect();
        let around =
            |v6: bool| of.iter().copied().filter(|block| block.is_v6() == v6).reduce(|a, b| a.join(&b));
        let around = [around(false), around(true)];
        Pools { of, around }
    }

    fn check(&self, classes: &[Class], settings: LayoutSettings) -> Result<(), LayoutError> {
        let own = |class: &usize| classes[*class].pool.is_some();
        for class in (0..classes.len()).filter(own) {
            let overlaps = |other: &usize| self.of[*other].overlaps(&self.of[class]);
            if let Some(other) = (0..class).filter(own).find(overlaps) {
                return Err(self.overlap(classes, class, other));
            }
        }
        let servers = [IpAddr::V4(settings.servers.v4), IpAddr::V6(settings.servers.v6)];
        for server in servers {
            let held = |block: &Block| block.contains(server);
            if let Some(class) = self.of.iter().position(held) {
                return Err(LayoutError::PoolHoldsServer { class, block: self.of[class], server });
            }
            if let Some(around) = self.around.into_iter().flatten().find(held) {
                let of_family = |of: &Block| of.is_v6() == around.is_v6();
                let class = self.of.iter().rposition(of_family).unwrap_or(0);
                return Err(LayoutError::PoolsApart { class, around, server });
            }
        }
        Ok(())
    }

    fn overlap(&self, classes: &[Class], class: usize, other: usize) -> LayoutError {
        LayoutError::PoolsOverlap {
            class,
            name: classes[class].name.clone(),
            block: self.of[class],
            other: classes[other].name.clone(),
            other_block: self.of[other],
        }
    }

    /// The first address of each class, at an offset without remainder.
    fn fill(&self, classes: &[Class], spans: &[u128], shards: u128) -> Result<Vec<IpAddr>, LayoutError> {
        let mut next_in_default = None;
        let mut first = Vec::with_capacity(classes.len());
        for (class, (block, &span)) in self.of.iter().zip(spans).enumerate() {
            let around = self.around[usize::from(block.is_v6())].expect("a class is in it");
            let (least, count) = block.usable();
            let from = around.offset(block.at(least));
            let end = from.saturating_add(count);
            let own = classes[class].pool.is_some();
            let start = if own { from } else { next_in_default.unwrap_or(from) }.next_multiple_of(shards);
            if start.saturating_add(span) > end {
                return Err(LayoutError::PoolTooSmall {
                    class,
                    name: classes[class].name.clone(),
                    block: *block,
                    holds: end.saturating_sub(if own { from } else { start }),
                    needs: span + if own { start - from } else { 0 },
                });
            }
            if !own {
                // Classes may have pools of their own within the default block, where these addresses are
                // not.
                let meets = |other: &usize| {
                    let of = &self.of[*other];
                    let (from, count) = (around.offset(of.network()), of.size());
                    let apart = from >= start + span || from.saturating_add(count) <= start;
                    classes[*other].pool.is_some() && of.is_v6() == block.is_v6() && !apart
                };
                if let Some(other) = (0..classes.len()).find(meets) {
                    return Err(self.overlap(classes, other, class));
                }
                next_in_default = Some(start + span);
            }
            first.push(around.at(start));
        }
        Ok(first)
    }
}
