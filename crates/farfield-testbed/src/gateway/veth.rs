//! A veth pair: packet sockets, one for each queue, at its far end.

use super::queue::QueueFraming;
use super::receive_work::ReceiveWork;
use super::{BYTES_OF_A_PACKET, Gateway};
use crate::TestbedSpec;
use crate::settings::{self, WantedSetting};
use farfield_os::namespace::Namespace;
use farfield_os::netlink::{Netlink, VethEnd};
use farfield_os::packet_socket;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;

/// Locally administered addresses. The next hop's differs from that of the veth pair's far end, so that the
/// stack at that end drops the frames as another host's, after the packet socket has received them.
const SERVER_ETHERNET: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
pub(super) const NEXT_HOP_ETHERNET: [u8; 6] = [0x02, 0, 0, 0, 0, 2];
const FAR_END_ETHERNET: [u8; 6] = [0x02, 0, 0, 0, 0, 3];

/// Makes a veth pair with packet sockets. The pair's far end is in a namespace of its own, which is
/// removed, together with the pair, when the last socket in it is closed.
pub(super) fn open(spec: &TestbedSpec) -> io::Result<Gateway> {
    let far_namespace = Namespace::make()?;
    let mut netlink = Netlink::open()?;
    let name = (0..)
        .map(|nth| format!("farfield{nth}"))
        .find(|name| netlink.index_of(name).is_err())
        .expect("an interface has a free name among so many");
    let near = VethEnd { name: &name, address: SERVER_ETHERNET };
    let far = VethEnd { name: "gateway", address: FAR_END_ETHERNET };
    netlink.add_veth(near, far, rustix::fd::AsFd::as_fd(&far_namespace))?;
    let interface = netlink.index_of(&name)?;
    if !spec.offload {
        packet_socket::switch_offload_off(&name)?;
    }
    let bytes = (spec.queue_packets as usize * BYTES_OF_A_PACKET).min(1 << 30);
    let sockets = far_namespace.inside(|| sockets_at_far_end(far.name, spec, bytes))??;
    let queue_bytes = rustix::net::sockopt::socket_recv_buffer_size(&sockets[0])?;
    Ok(Gateway {
        netlink,
        interface,
        name,
        queues: sockets.into_iter().map(Arc::new).collect(),
        framing: QueueFraming::Ethernet { server: SERVER_ETHERNET, gateway: NEXT_HOP_ETHERNET },
        rows: false,
        instead_of_tun: None,
        qdisc: None,
        queue_bytes: Some(queue_bytes as u64),
        receive: ReceiveWork::Writer,
        dropped_before: 0,
        remains: true,
        loopback: None,
        doors: Vec::new(),
        maps: spec.maps.clone(),
        card: None,
        watched: None,
    })
}

/// Brings the far end up, silent, with a socket for each queue.
fn sockets_at_far_end(name: &str, spec: &TestbedSpec, bytes: usize) -> io::Result<Vec<OwnedFd>> {
    let quiet = ["all", "default"].map(|which| WantedSetting {
        name: format!("net.ipv6.conf.{which}.disable_ipv6"),
        value: "1".into(),
        asked: false,
    });
    settings::apply(&quiet).expect("none of these was asked for");
    let mut netlink = Netlink::open()?;
    let interface = netlink.index_of(name)?;
    netlink.size(interface, spec.mtu, None)?;
    netlink.up(interface)?;
    let sockets: Vec<OwnedFd> =
        (0..spec.queues.get()).map(|_| packet_socket::open(interface, bytes)).collect::<io::Result<_>>()?;
    if sockets.len() > 1 {
        packet_socket::spread(&sockets, &spec.steering())?;
    }
    Ok(sockets)
}
