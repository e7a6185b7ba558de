//! The workers of a run: makes their users and starts their threads.

use crate::capture_file::CaptureFile;
use crate::captures::Captures;
use crate::descriptors;
use crate::emulated::at_work::AtWork;
use crate::emulated::exchange::Exchange;
use crate::emulated::gateway_port::GatewayPort;
use crate::emulated::hosts::Hosts;
use crate::emulated::{self, Emulated};
use crate::key_log::KeyLogWriter;
use crate::meters::Phases;
use crate::plane::{Plane, SocketsPlane};
use crate::run::{RunError, RunSettings};
use crate::sample_channel::SampleSender;
use crate::set_aside::SharedSeconds;
use crate::sockets;
use crate::sockets::peers::Peers;
use crate::sockets::transport::SocketsTransport;
use crate::worker_loop::WorkerLoop;
use crate::worker_report::WorkerReport;
use crate::worker_thread::WorkerThread;
use farfield_emulator::{ClientId, Directory, Shard, SharedLinks};
use farfield_http::tls;
use farfield_os::clock::{Clock, library_now, thread_cpu, unix_seconds};
use farfield_os::socket::unix_address;
use farfield_testbed::Testbed;
use farfield_testbed::gateway::Queue;
use farfield_user::{Flow, Plan, Population};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

/// Everything that the workers of a run are made from.
pub(crate) struct Workers<'a> {
    pub settings: &'a RunSettings,
    pub plane: &'a Plane,
    pub phases: Phases,
    /// Ends the workers, as does `stop`.
    pub halt: &'a Arc<AtomicBool>,
    /// The user's wish to end the run. Workers read it themselves: the collector may wait for a disk.
    pub stop: &'a Arc<AtomicBool>,
    pub captures: &'a Captures,
    /// The record of disturbed seconds, if they are set aside.
    pub seconds: Option<&'a Arc<SharedSeconds>>,
}

/// The users of one worker.
pub(crate) enum Users {
    /// Users of the sockets plane.
    Sockets(Box<Population>),
    /// A shard of emulated clients, and the worker's end of the packet exchange if shards share links.
    Emulated(Box<Shard>, Option<Box<Exchange>>),
}

impl Workers<'_> {
    /// Makes the users of all workers. This may take a while, so it comes before the run's clock starts.
    pub fn make_users(&self) -> Result<Vec<Users>, RunError> {
        let numbers = 0..self.settings.workers.get();
        match self.plane {
            Plane::Simulated(_) => unreachable!("a simulation makes its own users"),
            Plane::Sockets(_) => {
                Ok(numbers.map(|number| Users::Sockets(Population::new(self.plan(number)).into())).collect())
            }
            Plane::Emulated(emulated) => {
                let directory = Arc::new(Directory::new(&emulated.network.plan));
                let mut parts = self.exchange(emulated)?.into_iter();
                let users = |number| {
                    let exchange = parts.next().map(Box::new);
                    Users::Emulated(self.shard(emulated, &directory, number).into(), exchange)
                };
                Ok(numbers.map(users).collect())
            }
        }
    }

    /// Each worker's end of the packet exchange; empty if shards have nothing to do with one another.
    fn exchange(&self, emulated: &Emulated) -> Result<Vec<Exchange>, RunError> {
        if !self.shares_links(emulated) && !self.has_programs_apart(emulated) {
            return Ok(Vec::new());
        }
        let network = Arc::clone(&emulated.network.plan);
        let links = SharedLinks::new(network, self.settings.users.seed);
        Exchange::between(self.settings.workers.get(), links, self.phases.window).map_err(RunError::Worker)
    }

    /// True if clients of several shards share links.
    fn shares_links(&self, emulated: &Emulated) -> bool {
        self.settings.workers.get() > 1 && !emulated.network.plan.shared.is_empty()
    }

    /// True if programs, which reach one another, are in the places of clients of several shards.
    fn has_programs_apart(&self, emulated: &Emulated) -> bool {
        let seats = &emulated.network.plan.host_ways.seats;
        let shard = |seat: &ClientId| seat.shard(self.settings.workers.get());
        seats.iter().any(|seat| shard(seat) != shard(&seats[0]))
    }

    fn shard(&self, emulated: &Emulated, directory: &Arc<Directory>, number: u32) -> Shard {
        let network = Arc::clone(&emulated.network.plan);
        let make = if self.shares_links(emulated) { Shard::of_ends } else { Shard::new };
        let mut shard = make(network, Arc::clone(directory), self.plan(number));
        if let (Some(asked), Some(_)) = (&emulated.network.capture, &self.captures.file) {
            shard.capture(&asked.plan);
        }
        if self.captures.any() {
            shard.note_connections();
        }
        shard.model_servers(emulated.network.models.clone());
        let seats = emulated.beside.seats(number, self.settings.workers.get());
        if !seats.is_empty() {
            shard.seat(&seats);
        }
        shard
    }

    /// Starts a thread for each worker, which waits for its users. This comes before the run's clock starts
    /// too.
    pub fn start_threads(&self) -> Result<Vec<WorkerThread>, RunError> {
        let mut processors = vec![Vec::new(); self.settings.workers.get() as usize];
        if let Plane::Emulated(emulated) = self.plane {
            let placed = processors.iter_mut().zip(&emulated.placement.shards);
            placed.for_each(|(own, shard)| own.clone_from(shard));
        }
        WorkerThread::start_all(&processors).map_err(RunError::Worker)
    }

    /// Gives the users of each worker to its thread.
    pub fn start(
        &self,
        users: Vec<Users>,
        threads: Vec<WorkerThread>,
        clock: Clock,
        senders: Vec<SampleSender>,
    ) -> Result<Vec<JoinHandle<Option<WorkerReport>>>, RunError> {
        let mut at_work = AtWork::of(users.len()).into_iter();
        // A queue of each server's gateway for each worker.
        let mut queues: Vec<_> = match self.plane {
            Plane::Emulated(emulated) => {
                let of_testbed = |(number, testbed): (u16, &Testbed)| (number, testbed.queues().into_iter());
                emulated.testbeds().map(of_testbed).collect()
            }
            _ => Vec::new(),
        };
        let mut started = Vec::with_capacity(users.len());
        let users = users.into_iter().zip(senders).zip(threads).enumerate();
        for (number, ((users, samples), thread)) in users {
            let thread = match (users, self.plane) {
                (Users::Sockets(population), Plane::Sockets(sockets)) => {
                    let number = number as u32;
                    let worker = self.sockets_worker(*population, sockets, number, clock, samples)?;
                    thread.begin(move || worker.run())
                }
                (Users::Emulated(shard, exchange), Plane::Emulated(emulated)) => {
                    let queue = |(number, of): &mut (u16, std::vec::IntoIter<Queue>)| {
                        (*number, of.next().expect("the gateway has a queue for each worker"))
                    };
                    let queues: Vec<(u16, Queue)> = queues.iter_mut().map(queue).collect();
                    let (shard_number, shards) = (number as u32, self.settings.workers.get());
                    let hosts = emulated.beside.hosts(shard_number, shards, clock, self.phases.window);
                    let at_work = at_work.next().expect("a share for each worker");
                    let worker = self.emulated_worker(*shard, queues, clock, samples, (hosts, at_work));
                    let worker = worker.exchanging(exchange.map(|exchange| *exchange));
                    let worker = worker.polling(emulated.network.busy_poll);
                    let worker = worker.at_real_time_priority(emulated.placement.real_time);
                    thread.begin(move || worker.run())
                }
                (Users::Sockets(_) | Users::Emulated(..), _) => {
                    unreachable!("users are made for their plane")
                }
            };
            started.push(thread);
        }
        Ok(started)
    }

    fn sockets_worker(
        &self,
        population: Population,
        plane: &SocketsPlane,
        number: u32,
        clock: Clock,
        samples: SampleSender,
    ) -> Result<sockets::worker::Worker, RunError> {
        // A handshake is several writes, which Nagle's algorithm would hold back as well.
        let no_delay = self.settings.users.policy.requests_max() > 1
            || self.settings.tls_by_host().any(|tls| tls.is_some());
        let open_max = descriptors::for_connections() / u64::from(self.settings.workers.get());
        let (target, sources) = (plane.target, plane.sources.clone());
        let transport = SocketsTransport::new(clock, target, sources, no_delay, open_max, samples)
            .map_err(|errno| RunError::Worker(errno.into()))?;
        let peers = plane.peers.as_ref().map(|book| Peers::new(Arc::clone(book), number));
        let unix = plane.unix.as_ref().map(unix_address).transpose();
        let unix = unix.map_err(|errno| RunError::Worker(errno.into()))?;
        let hosts = self.settings.hosts.iter().map(|host| host.address).collect();
        let transport = transport.spread_over(peers).with_unix_socket(unix).beside(hosts);
        let transport = if self.captures.any() { transport.noting_connections() } else { transport };
        let course = match self.seconds {
            Some(shared) => self.course(clock).watched(shared, number as usize),
            None => self.course(clock),
        };
        Ok(sockets::worker::Worker::new(population, transport, course))
    }

    fn emulated_worker(
        &self,
        shard: Shard,
        queues: Vec<(u16, Queue)>,
        clock: Clock,
        samples: SampleSender,
        hosts: (Hosts, AtWork),
    ) -> emulated::worker::Worker {
        let port = |(number, queue)| GatewayPort::new(queue, clock, self.phases.window).of_server(number);
        let ports = queues.into_iter().map(port).collect();
        let hosts = (hosts.0.with_servers(self.joined_servers()), hosts.1);
        let sender = self.captures.file.as_ref().map(CaptureFile::sender);
        emulated::worker::Worker::new(shard, ports, self.course(clock), samples, sender, hosts)
    }

    /// The addresses of servers, if these reach one another.
    fn joined_servers(&self) -> Vec<IpAddr> {
        match self.plane {
            Plane::Emulated(emulated) if emulated.network.plan.host_ways.join_servers() => {
                emulated.network.plan.server_addresses()
            }
            _ => Vec::new(),
        }
    }

    fn course(&self, clock: Clock) -> WorkerLoop {
        WorkerLoop::new(clock, self.phases, [self.halt, self.stop].map(Arc::clone))
    }

    /// TLS from now on, with its secrets written where they are asked for.
    fn at_work(&self, tls: tls::TlsSettings) -> tls::TlsSettings {
        tls.warm_up();
        let tls = tls.starting_at(unix_seconds()).beginning_at(library_now()).timed_by(thread_cpu);
        match &self.captures.keys {
            Some(keys) => tls.logging_keys(Arc::<KeyLogWriter<_>>::clone(keys)),
            None => tls,
        }
    }

    /// The share of the users that this process's worker `number` runs.
    fn plan(&self, number: u32) -> Plan {
        let settings = self.settings;
        let (number, workers) = settings.part.worker(number, settings.workers.get());
        Plan {
            flows: settings.flows.iter().map(Flow::for_worker).collect(),
            users: settings.users.clone(),
            tls: settings
                .tls_by_host()
                .map(|tls| tls.map(|tls| tls::Sessions::Encrypted(self.at_work(tls.clone()))))
                .collect(),
            worker: number,
            workers,
            window: self.phases.window,
        }
    }
}
