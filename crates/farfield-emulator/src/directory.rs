//! Clients by their addresses.

use crate::layout::Block;
use crate::plan::NetworkPlan;
use crate::slots::ClientId;
use std::net::IpAddr;

/// From addresses to clients' numbers.
#[derive(Debug, Clone)]
pub struct Directory {
    classes: Vec<(IpAddr, Vec<Option<ClientId>>)>,
    /// For each class, the far ends that it is for, where not all.
    towards: Vec<Option<Block>>,
}

impl Directory {
    /// The directory of all clients of `plan`.
    pub fn new(plan: &NetworkPlan) -> Directory {
        let mut classes: Vec<_> =
            plan.classes.iter().map(|class| (class.first_address, Vec::new())).collect();
        for (number, client) in plan.clients.iter().enumerate() {
            let members: &mut Vec<Option<ClientId>> = &mut classes[usize::from(client.class)].1;
            let rank = client.rank as usize;
            if members.len() <= rank {
                members.resize(rank + 1, None);
            }
            members[rank] = Some(ClientId::at(number));
        }
        let mut towards = plan.host_ways.towards.clone();
        towards.resize(classes.len(), None);
        Directory { classes, towards }
    }

    /// The client that has this address; the first where it has several paths.
    pub fn find(&self, address: IpAddr) -> Option<ClientId> {
        self.classes.iter().find_map(|class| member(class, address))
    }

    /// The client that has this address on its path to `far`.
    pub fn find_pair(&self, address: IpAddr, far: IpAddr) -> Option<ClientId> {
        let towards = |(_, towards): &(_, &Option<Block>)| towards.is_none_or(|block| block.contains(far));
        let fitting = self.classes.iter().zip(&self.towards).filter(towards);
        fitting.map(|(class, _)| class).find_map(|class| member(class, address))
    }
}

/// The member of a class that has this address.
fn member((first, members): &(IpAddr, Vec<Option<ClientId>>), address: IpAddr) -> Option<ClientId> {
    let rank = match (address, first) {
        (IpAddr::V4(address), IpAddr::V4(first)) => {
            u128::from(address.to_bits().checked_sub(first.to_bits())?)
        }
        (IpAddr::V6(address), IpAddr::V6(first)) => address.to_bits().checked_sub(first.to_bits())?,
        _ => return None,
    };
    members.get(usize::try_from(rank).ok()?).copied().flatten()
}
