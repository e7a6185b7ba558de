//! The threads that do the kernel's receive work on packets that are written to it.

use crate::TestbedSpec;
use farfield_os::{receive_steering, receive_thread};
use std::io;

/// The threads that do the kernel's receive work on packets for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiveWork {
    /// The thread that writes a packet.
    Writer,
    /// The thread that writes a packet, since kernel threads are not available, with the reason.
    NoThreads(String),
    /// Threads of the kernel's, on the receive processors, by their numbers.
    Threads(Vec<u32>),
    /// The receive processors, to which each packet is steered.
    Steered,
}

impl ReceiveWork {
    /// A description for the report.
    pub fn description(&self) -> &'static str {
        match self {
            ReceiveWork::Writer | ReceiveWork::NoThreads(_) => "in the write",
            ReceiveWork::Threads(_) => "in a thread for each queue",
            ReceiveWork::Steered => "steered packet by packet",
        }
    }

    /// The reason why kernel threads, though wanted, do not do it.
    pub fn refused(&self) -> Option<String> {
        match self {
            ReceiveWork::NoThreads(why) => Some(format!("it can have no thread of its own ({why})")),
            _ => None,
        }
    }
}

/// Moves the kernel's receive work to the receive processors. If the scenario does not name them, the
/// writing threads do the work where kernel threads are not available.
pub(super) fn receive_work(interface: &str, spec: &TestbedSpec, tun: bool) -> io::Result<ReceiveWork> {
    let processors = &spec.receive_processors;
    if processors.is_empty() {
        return Ok(ReceiveWork::Writer);
    }
    if tun {
        match receive_thread::start_on(interface, spec.queues.get() as usize, processors) {
            Ok(threads) => return Ok(ReceiveWork::Threads(threads)),
            // Steering a packet to another processor costs as much as receiving it, so it is used only on
            // request.
            Err(error) if !spec.receive_asked => return Ok(ReceiveWork::NoThreads(error.to_string())),
            Err(_) => {}
        }
    } else if !spec.receive_asked {
        return Ok(ReceiveWork::NoThreads("the gateway is made of packet sockets".to_owned()));
    }
    let queues = if tun { spec.queues.get() } else { 1 };
    receive_steering::steer_to(interface, queues, processors)?;
    Ok(ReceiveWork::Steered)
}
