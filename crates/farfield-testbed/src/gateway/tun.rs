//! A TUN interface: packets come and go by its descriptors, one for each queue.

use super::queue::QueueFraming;
use super::receive_work::ReceiveWork;
use super::{BYTES_OF_A_PACKET, Gateway};
use crate::{TestbedError, TestbedSpec};
use farfield_os::netlink::Netlink;
use farfield_os::tun::{Tun, TunOptions};
use std::sync::Arc;

/// Makes the interface in the calling thread's network namespace.
pub(super) fn open(spec: &TestbedSpec) -> Result<Gateway, TestbedError> {
    let options = TunOptions {
        name: "farfield%d",
        queues: spec.queues.get() as usize,
        offload: spec.offload,
        waiting_bytes: (spec.queue_packets as usize * BYTES_OF_A_PACKET).max(4 << 20),
        threads: !spec.receive_processors.is_empty(),
    };
    let tun = Tun::open(options).map_err(|source| TestbedError::Tun { source })?;
    if tun.queues.len() > 1 {
        tun.steer(&spec.steering())
            .map_err(|source| TestbedError::Steering { queues: spec.queues.get(), source })?;
    }
    let mut netlink = Netlink::open().map_err(|source| TestbedError::Tun { source })?;
    let interface = netlink.index_of(&tun.name).map_err(|source| TestbedError::Tun { source })?;
    Ok(Gateway {
        netlink,
        interface,
        name: tun.name,
        queues: tun.queues.into_iter().map(Arc::new).collect(),
        framing: QueueFraming::None,
        rows: tun.rows,
        instead_of_tun: None,
        qdisc: None,
        queue_bytes: None,
        receive: ReceiveWork::Writer,
        dropped_before: 0,
        remains: false,
        loopback: None,
        doors: Vec::new(),
        maps: spec.maps.clone(),
        card: None,
        watched: None,
    })
}
