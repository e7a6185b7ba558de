//! The ends of emulated paths: namespaces of programs at clients' places, the server's, and the thread that
//! passes packets on between them.

use super::forwarding::{Forwarded, Forwarding};
use crate::plane::{EmulatedNetwork, EmulatedPlane};
use farfield_base::Duration;
use farfield_base::random::Seed;
use farfield_emulator::{ClientId, NetworkPlan, Router};
use farfield_model::ServerPlan;
use farfield_os::clock::Clock;
use farfield_testbed::{Prefix, Testbed, TestbedError, TestbedSpec};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Ethernet's MTU, which a client's first link may be below.
const MTU_MAX: u32 = 1500;
/// An address other than any server's: the program has no path for IPv6 unless its client's address is one.
const UNUSED_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);
const UNUSED_V6: Ipv6Addr = Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1);

/// The namespace of a program in a client's place.
#[derive(Debug)]
pub(crate) struct ProgramNamespace {
    /// The client's address.
    pub address: IpAddr,
    pub testbed: Testbed,
}

impl ProgramNamespace {
    /// The namespace of a program at the place of client `client`, before a server whose testbed is of
    /// `server`.
    pub fn build(
        server: &TestbedSpec,
        network: &NetworkPlan,
        client: ClientId,
    ) -> Result<ProgramNamespace, TestbedError> {
        let testbed = Testbed::build(&spec_inside(server, network, client))?;
        Ok(ProgramNamespace { address: network.address(client), testbed })
    }
}

/// Makes the server's testbed fit for real clients alone: one queue, whose packets come as the kernel has
/// them, and an address that they reach.
pub(crate) fn prepare(plane: &mut EmulatedPlane) {
    plane.show_off_loopback();
    plane.programs.clear();
    plane.others.iter_mut().for_each(|other| other.testbed.queues = NonZeroU32::MIN);
    let testbed = &mut plane.testbed;
    testbed.queues = NonZeroU32::MIN;
    if !testbed.receive_asked {
        // A kernel thread would have to wake for each packet of few, beside a program that needs the
        // processor.
        testbed.receive_asked = true;
        testbed.receive_processors.clear();
    }
}

/// Does `work` while packets are passed on between `insides` and the servers, real ones in `testbeds` by
/// number and `models`, and returns what came of both. Where there is one testbed, it gets the packets
/// for all servers. `seed` is that of the links.
pub(crate) fn forwarding_during<R>(
    network: &EmulatedNetwork,
    insides: &[ProgramNamespace],
    testbeds: &[(u16, &Testbed)],
    models: &[(u16, Arc<ServerPlan>)],
    seed: Seed,
    work: impl FnOnce(&AtomicBool) -> R,
) -> (R, Forwarded) {
    let mut router = Router::new(Arc::clone(&network.plan), seed);
    router.model_servers(models.to_vec());
    let program = |inside: &ProgramNamespace| (Some(inside.address), inside.testbed.queues().remove(0));
    let programs = insides.iter().map(program).collect();
    let servers = testbeds.iter().map(|(number, testbed)| (*number, testbed.queues().remove(0))).collect();
    let clock = Clock::starting_in(Duration::ZERO);
    // The kernel behind the gateway might pass on what is for others.
    let forwarding = Forwarding::new(router, programs, servers, clock)
        .running(network.busy_poll, network.real_time)
        .to(network.plan.far_addresses());
    during(forwarding, work)
}

/// Does `work` while `forwarding` runs, and returns what came of both.
pub(crate) fn during<R>(forwarding: Forwarding, work: impl FnOnce(&AtomicBool) -> R) -> (R, Forwarded) {
    beside(|halt| forwarding.run(halt), work)
}

/// Does `work` while `run` does its own on another thread. Whichever ends first, by a panic too, sets the
/// halt flag of the other: a path without its thread would take packets and pass none on.
fn beside<F: Send, R>(
    run: impl FnOnce(&AtomicBool) -> F + Send,
    work: impl FnOnce(&AtomicBool) -> R,
) -> (R, F) {
    /// Sets the flag when it is dropped.
    struct Halt<'a>(&'a AtomicBool);
    impl Drop for Halt<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let halt = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let _halt = Halt(&halt);
            run(&halt)
        });
        let done = {
            let _halt = Halt(&halt);
            work(&halt)
        };
        (done, running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The testbed of a program: it is at the client's address, and everything else lies beyond the gateway.
fn spec_inside(server: &TestbedSpec, network: &NetworkPlan, client: ClientId) -> TestbedSpec {
    let class = &network.classes[usize::from(network.clients[client.index()].class)];
    let first_link = class.up.first().map_or(MTU_MAX, |link| link.mtu_of_link().as_bytes());
    let (v4, v6) = match network.address(client) {
        IpAddr::V4(v4) => (v4, UNUSED_V6),
        IpAddr::V6(v6) => (UNUSED_V4, v6),
    };
    TestbedSpec {
        server_v4: v4,
        server_v6: v6,
        clients_v4: Prefix::new(Ipv4Addr::UNSPECIFIED, 0).expect("no bits are set"),
        clients_v6: Prefix::new(Ipv6Addr::UNSPECIFIED, 0).expect("no bits are set"),
        mtu: first_link.min(MTU_MAX),
        offload: server.offload,
        device: server.device,
        queue_packets: server.queue_packets,
        ..TestbedSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn until(halt: &AtomicBool) {
        while !halt.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }

    #[test]
    fn a_thread_that_ends_ends_the_other() {
        assert_eq!(
            beside(
                |halt| {
                    until(halt);
                    1
                },
                |_| 2
            ),
            (2, 1)
        );
        assert_eq!(
            beside(
                |_| 1,
                |halt| {
                    until(halt);
                    2
                }
            ),
            (2, 1)
        );
    }

    #[test]
    fn a_panic_of_either_thread_ends_both() {
        let of_the_path = AssertUnwindSafe(|| beside(|_| -> () { panic!("a defect, on purpose") }, until));
        assert!(catch_unwind(of_the_path).is_err());
        let of_the_work = AssertUnwindSafe(|| beside(until, |_| -> () { panic!("a defect, on purpose") }));
        assert!(catch_unwind(of_the_work).is_err());
    }
}
