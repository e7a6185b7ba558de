//! Clients by their addresses.

use crate::plan::NetworkPlan;
use crate::slots::ClientId;
use std::net::IpAddr;

/// From addresses to clients' numbers.
#[derive(Debug, Clone)]
pub struct Directory {
    classes: Vec<(IpAddr, Vec<Option<ClientId>>)>,
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
        Directory { classes }
    }

    /// The client that has this address.
    pub fn find(&self, address: IpAddr) -> Option<ClientId> {
        let member = |(first, members): &(IpAddr, Vec<Option<ClientId>>)| {
            let rank = match (address, first) {
                (IpAddr::V4(address), IpAddr::V4(first)) => {
                    u128::from(address.to_bits().checked_sub(first.to_bits())?)
                }
                (IpAddr::V6(address), IpAddr::V6(first)) => address.to_bits().checked_sub(first.to_bits())?,
                _ => return None,
            };
            members.get(usize::try_from(rank).ok()?).copied().flatten()
        };
        self.classes.iter().find_map(member)
    }
}
