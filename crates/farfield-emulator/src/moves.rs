//! Clients that move from one access network to another, as a phone that leaves Wi-Fi.
//!
//! From then on what a client sends takes the links of its [double](crate::NetworkPlan::double), from that
//! one's address. Its datagram sockets are bound there, to ports of the new address, as by a program that
//! opens another socket when the system reports that the network has changed; who speaks QUIC on them goes
//! on (RFC 9000 section 9). Its connections of TCP end at once, without a word to the server, as Android
//! ends those of a network that is gone. What is still under way to the old address finds nobody.

use crate::client::PortKind;
use crate::hosts::{EmulatedHosts, stats_of};
use crate::plan::NetworkPlan;
use crate::upcalls::Upcall;
use farfield_user::Failure;

impl EmulatedHosts {
    /// The client of this place among the moves of the plan moves now.
    pub fn move_client(&mut self, plan: &NetworkPlan, place: u32) {
        let client = plan.moves[place as usize].client;
        let share = self.clients.share;
        let (from, to) = (share.slot_of(client), share.slot_of(plan.double(client)));
        self.clients.move_to(from, to);
        for slot in self.tcp.of_client(from) {
            let socket = &self.tcp[slot];
            if let Some(key) = socket.key {
                let stats = stats_of(&socket.tcp);
                self.upcalls.push(Upcall::Failed(key, Failure::NetworkChanged, Some(stats)));
            }
            self.remove_tcp(slot);
        }
        for slot in self.datagrams.of_client(from) {
            match self.clients[to].take_port(PortKind::Udp, slot) {
                Some(port) => {
                    let (key, freed) = self.datagrams.rebind(slot, to, port);
                    self.clients[from].free_port(PortKind::Udp, freed);
                    self.upcalls.push(Upcall::Moved(key));
                }
                None => {
                    let key = self.remove_datagram_socket(slot);
                    self.upcalls.push(Upcall::Failed(key, Failure::NoAddress, None));
                }
            }
        }
    }
}
