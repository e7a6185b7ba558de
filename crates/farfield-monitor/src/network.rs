//! TCP, UDP, listeners and interfaces of one network namespace.
//!
//! Counters are those of `/proc/PID/net` (proc_pid_net(5)) of a process in the namespace, whose open files
//! stay with the namespace. Listeners are read every second. Counting all connections by state takes the
//! kernel milliseconds, so it is done the less often the longer it takes.

use crate::proc_file::{Counter, ProcFile};
use crate::subject::Subject;
use farfield_files::system;
use farfield_measure::monitor::{MonitorLog, SeriesSource, metric};
use farfield_os::clock::thread_cpu;
use farfield_os::namespace::Namespace;
use farfield_os::sock_diag::{STATES, SocketTables, TcpSocket};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

/// Most listeners and interfaces that are read.
const LISTENERS_MAX: usize = 16;
const INTERFACES_MAX: usize = 16;
/// The largest share of a processor that counting connections by state may take.
const STATES_SHARE: f64 = 0.000_4;

/// The namespace to read, and which of its sockets are the server's.
#[derive(Debug, Clone)]
pub struct WatchedNetwork {
    /// The namespace of this process; `None` for farfield's own.
    pub namespace: Option<(Namespace, u32)>,
    /// The server's port. In a namespace that is not the server's alone only its sockets count.
    pub port: Option<u16>,
    /// All sockets in the namespace are the server's.
    pub is_servers_alone: bool,
    /// The tier of the listeners.
    pub tier: String,
}

/// Readers of a namespace.
#[derive(Debug)]
pub(crate) struct Network {
    watched: WatchedNetwork,
    subject: Subject,
    /// Some of the counts are of the whole machine.
    machine: Subject,
    tables: Option<SocketTables>,
    /// True for IPv4, and for IPv6, if there are sockets of it.
    in_use: [bool; 2],
    snmp: Option<ProcFile>,
    /// Counters of IPv6; absent where there is none.
    snmp6: Option<ProcFile>,
    netstat: Option<ProcFile>,
    sockets: [Option<ProcFile>; 2],
    device: Option<ProcFile>,
    counters: Vec<(&'static str, Counter)>,
    udp6_errors: Counter,
    listeners: BTreeMap<SocketAddr, Subject>,
    interfaces: BTreeMap<String, Interface>,
    next_states: f64,
}

#[derive(Debug)]
struct Interface {
    subject: Subject,
    counters: [Counter; 6],
    speed: Option<f64>,
}

/// The place of a counter: the protocol's prefix in `snmp` or `netstat`, its name there, and that of its
/// series.
const COUNTERS: [(&str, &str, &str); 17] = [
    ("TcpExt:", "ListenOverflows", metric::LISTEN_OVERFLOWS),
    ("TcpExt:", "ListenDrops", metric::LISTEN_DROPS),
    ("TcpExt:", "SyncookiesSent", "syn_cookies_sent_per_s"),
    ("TcpExt:", "SyncookiesRecv", "syn_cookies_received_per_s"),
    ("TcpExt:", "TCPReqQFullDrop", "syn_queue_drops_per_s"),
    ("TcpExt:", "TCPMemoryPressures", metric::TCP_MEMORY_PRESSURES),
    ("TcpExt:", "TCPAbortOnMemory", "tcp_aborts_for_memory_per_s"),
    ("TcpExt:", "TCPTimeouts", "tcp_timeouts_per_s"),
    ("Tcp:", "PassiveOpens", "tcp_connections_accepted_per_s"),
    ("Tcp:", "InSegs", "tcp_segments_received_per_s"),
    ("Tcp:", "OutSegs", "tcp_segments_sent_per_s"),
    ("Tcp:", "RetransSegs", "tcp_segments_retransmitted_per_s"),
    ("Tcp:", "OutRsts", "tcp_resets_sent_per_s"),
    ("Tcp:", "EstabResets", "tcp_connections_reset_per_s"),
    ("Udp:", "InErrors", "udp_errors_received_per_s"),
    ("Udp:", "RcvbufErrors", metric::UDP_BUFFER_ERRORS),
    ("Udp:", "SndbufErrors", "udp_send_buffer_errors_per_s"),
];

impl Network {
    /// Opens the namespace's files and tables. What cannot be opened is noted.
    pub fn open(watched: WatchedNetwork, log: &mut MonitorLog) -> Network {
        let place = watched.namespace.as_ref().map_or("self".to_owned(), |(_, pid)| pid.to_string());
        let mut open = |file: &str| {
            let path = format!("/proc/{place}/net/{file}");
            ProcFile::open(&path)
                .map_err(|error| {
                    log.note(format!("{path} cannot be read, so its counters are missing: {error}"))
                })
                .ok()
        };
        let [snmp, netstat, device] = [open("snmp"), open("netstat"), open("dev")];
        let snmp6 = ProcFile::open(&format!("/proc/{place}/net/snmp6")).ok();
        let v6 = ProcFile::open(&format!("/proc/{place}/net/sockstat6")).ok();
        let sockets = [open("sockstat"), v6];
        let tables = match &watched.namespace {
            None => SocketTables::open(),
            Some((namespace, _)) => namespace.inside(SocketTables::open).and_then(|opened| opened),
        };
        let tables = tables
            .map_err(|error| {
                log.note(format!("accept queues cannot be read: {error}; the kernel's inet_diag is missing"));
            })
            .ok();
        Network {
            watched,
            subject: Subject::only(SeriesSource::Network),
            machine: Subject::only(SeriesSource::Machine),
            tables,
            in_use: [true; 2],
            snmp,
            snmp6,
            netstat,
            sockets,
            device,
            counters: COUNTERS.iter().map(|(_, _, metric)| (*metric, Counter::default())).collect(),
            udp6_errors: Counter::default(),
            listeners: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            next_states: 0.0,
        }
    }

    /// Reads everything, `now` seconds after the run's start and `elapsed` after the reading before.
    pub fn read(&mut self, log: &mut MonitorLog, now: f64, elapsed: f64, buffer: &mut Vec<u8>) {
        for file in [&self.netstat, &self.snmp] {
            if let Some(text) = file.as_ref().and_then(|file| file.text(buffer).ok()) {
                for ((prefix, name, _), (metric, counter)) in COUNTERS.iter().zip(&mut self.counters) {
                    if let Some(count) = column(text, prefix, name) {
                        self.subject.put_some(log, metric, counter.rate(count, elapsed));
                    }
                }
                if let Some(established) = column(text, "Tcp:", "CurrEstab") {
                    self.subject.put(log, "tcp_connections", established as f64);
                }
            }
        }
        if let Some(text) = self.snmp6.as_ref().and_then(|file| file.text(buffer).ok())
            && let Some(count) = udp6_buffer_errors(text)
        {
            let rate = self.udp6_errors.rate(count, elapsed);
            self.subject.put_some(log, metric::UDP6_BUFFER_ERRORS, rate);
        }
        self.read_socket_counts(log, buffer);
        if let Err(error) = self.read_listeners(log) {
            log.note(format!("accept queues cannot be read: {error}"));
            self.tables = None;
        }
        if now >= self.next_states && elapsed > 0.0 {
            let before = thread_cpu();
            self.read_states(log);
            let took = (thread_cpu() - before).as_secs_f64();
            // A little less, or a reading that comes early would be left out.
            self.next_states = now + (took / STATES_SHARE - 0.1).max(0.5);
        }
        self.read_interfaces(log, elapsed, buffer);
    }

    /// Sockets in use and in TIME-WAIT; those without a process and the memory of TCP are the machine's.
    fn read_socket_counts(&mut self, log: &mut MonitorLog, buffer: &mut Vec<u8>) {
        let page = rustix::param::page_size() as f64;
        let mut in_use = [None; 2];
        for (nth, file) in self.sockets.iter().enumerate() {
            let Some(text) = file.as_ref().and_then(|file| file.text(buffer).ok()) else { continue };
            let prefixes = [["TCP:", "UDP:"], ["TCP6:", "UDP6:"]][nth];
            for (sum, prefix) in in_use.iter_mut().zip(prefixes) {
                *sum = word_after(text, prefix, "inuse").map(|count| sum.unwrap_or(0) + count).or(*sum);
            }
            self.in_use[nth] = word_after(text, prefixes[0], "inuse") != Some(0);
            let count = |name| word_after(text, "TCP:", name).map(|count| count as f64);
            self.subject.put_some(log, "tcp_sockets_in_time_wait", count("tw"));
            self.machine.put_some(log, "tcp_sockets_without_process", count("orphan"));
            self.machine.put_some(log, "tcp_memory_bytes", count("mem").map(|pages| pages * page));
        }
        // Those in TIME-WAIT are in none of these counts.
        self.in_use[0] |= !self.in_use[1];
        for (count, metric) in in_use.into_iter().zip(["tcp_sockets", "udp_sockets"]) {
            self.subject.put_some(log, metric, count.map(|count| count as f64));
        }
    }

    /// Several sockets that listen at one address (SO_REUSEPORT) count as one queue with the sum of their
    /// lengths.
    fn read_listeners(&mut self, log: &mut MonitorLog) -> io::Result<()> {
        let Some(tables) = &mut self.tables else { return Ok(()) };
        let mut found: BTreeMap<SocketAddr, [u64; 2]> = BTreeMap::new();
        let (port, all) = (self.watched.port, self.watched.is_servers_alone);
        tables.listeners(|socket| {
            if all || Some(socket.local.port()) == port {
                let [waiting, limit] = found.entry(socket.local).or_default();
                *waiting += u64::from(socket.receive_queue);
                *limit += u64::from(socket.send_queue);
            }
        })?;
        for (address, [waiting, limit]) in found.into_iter().take(LISTENERS_MAX) {
            let tier = &self.watched.tier;
            let subject = self.listeners.entry(address);
            let subject = subject
                .or_insert_with(|| Subject::new(SeriesSource::Listener, tier, &address.to_string(), None));
            subject.put(log, metric::ACCEPT_QUEUE, waiting as f64);
            subject.put(log, metric::ACCEPT_QUEUE_LIMIT, limit as f64);
        }
        Ok(())
    }

    /// The server's ends of its connections, by state.
    fn read_states(&mut self, log: &mut MonitorLog) {
        let (Some(tables), Some(port)) = (&mut self.tables, self.watched.port) else { return };
        let mut counts = [0_u64; 16];
        let count = |socket: TcpSocket| {
            if socket.local.port() == port {
                counts[usize::from(socket.state).min(15)] += 1;
            }
        };
        if tables.connections(self.in_use, count).is_err() {
            // Listeners are read from the same tables, and their error is noted.
            return;
        }
        counts[3] += counts[12];
        for (state, metric) in STATES.iter().filter(|(state, _)| *state < 12) {
            self.subject.put(log, metric, counts[usize::from(*state)] as f64);
        }
    }

    fn read_interfaces(&mut self, log: &mut MonitorLog, elapsed: f64, buffer: &mut Vec<u8>) {
        let Some(text) = self.device.as_ref().and_then(|file| file.text(buffer).ok()) else { return };
        for (name, counts) in text.lines().filter_map(interface) {
            if !self.interfaces.contains_key(name) {
                if self.interfaces.len() == INTERFACES_MAX {
                    continue;
                }
                // `/sys/class/net` shows farfield's own namespace.
                let speed = if self.watched.namespace.is_none() { speed(name) } else { None };
                let subject = Subject::new(SeriesSource::Interface, "", name, None);
                let interface = Interface { subject, counters: Default::default(), speed };
                self.interfaces.insert(name.to_owned(), interface);
            }
            let Some(interface) = self.interfaces.get_mut(name) else { continue };
            let metrics = [
                metric::RECEIVED_BYTES,
                metric::RECEIVED_PACKETS,
                metric::RECEIVE_DROPS,
                metric::SENT_BYTES,
                metric::SENT_PACKETS,
                metric::SEND_DROPS,
            ];
            for ((metric, counter), count) in metrics.iter().zip(&mut interface.counters).zip(counts) {
                interface.subject.put_some(log, metric, counter.rate(count, elapsed));
            }
            interface.subject.put_some(log, metric::SPEED, interface.speed);
        }
    }
}

/// A counter in the text of `snmp` or `netstat`: pairs of lines that begin alike, names and then numbers.
pub fn column(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_ascii_whitespace().position(|other| other == name)?;
    numbers.split_ascii_whitespace().nth(at)?.parse().ok()
}

/// Datagrams of IPv6 that found a receive buffer full, in `snmp6`, where each counter has a line.
fn udp6_buffer_errors(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Udp6RcvbufErrors"))?.trim().parse().ok()
}

/// The number after `name` in the line of `sockstat` that begins with `prefix`.
fn word_after(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(prefix))?;
    line.split_ascii_whitespace().skip_while(|word| *word != name).nth(1)?.parse().ok()
}

/// An interface in a line of `/proc/net/dev`: bytes, packets and drops received, then sent.
fn interface(line: &str) -> Option<(&str, [u64; 6])> {
    let (name, rest) = line.split_once(':')?;
    let mut fields = [0; 12];
    for (field, word) in fields.iter_mut().zip(rest.split_ascii_whitespace()) {
        *field = word.parse().ok()?;
    }
    Some((name.trim(), [fields[0], fields[1], fields[3], fields[8], fields[9], fields[11]]))
}

/// Bytes a second that an interface can carry; devices that are none report -1 or nothing.
fn speed(name: &str) -> Option<f64> {
    let text = system::read_text(format!("/sys/class/net/{name}/speed")).ok()?;
    text.trim().parse::<f64>().ok().filter(|megabits| *megabits > 0.0).map(|megabits| megabits * 125_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn counters_are_found_by_protocol_and_name() {
        let text = "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 3 17\nIpExt: InOctets\nIpExt: 9\n";
        assert_eq!(column(text, "TcpExt:", "ListenOverflows"), Some(17));
        assert_eq!(column(text, "TcpExt:", "Missing"), None);
        assert_eq!(column(text, "Tcp:", "ListenOverflows"), None);
        assert_eq!(column("TcpExt: A\n", "TcpExt:", "A"), None);
        let text = "sockets: used 9\nTCP: inuse 5 orphan 0 tw 7 alloc 8 mem 2\n";
        assert_eq!((word_after(text, "TCP:", "tw"), word_after(text, "TCP:", "mem")), (Some(7), Some(2)));
        let text = "Udp6InErrors                    \t4\nUdp6RcvbufErrors                \t12\n";
        assert_eq!(udp6_buffer_errors(text), Some(12));
        assert_eq!(udp6_buffer_errors("Udp6InErrors \t4\n"), None);
    }

    #[test]
    fn an_interface_has_bytes_packets_and_drops() {
        let line = "  eth0: 100 2 0 3 0 0 0 0 400 5 0 6 0 0 0 0";
        assert_eq!(interface(line), Some(("eth0", [100, 2, 3, 400, 5, 6])));
        assert_eq!(interface(" face |bytes    packets errs"), None);
    }

    /// Every counter is one that this kernel has, or was added to the kernel by a name that it has.
    #[test]
    fn the_kernel_has_the_counters() {
        let read = |file| fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
        let text = read("netstat") + &read("snmp");
        if text.is_empty() {
            return farfield_testkit::skip("the_kernel_has_the_counters", "no /proc/net");
        }
        let missing: Vec<_> =
            COUNTERS.iter().filter(|(prefix, name, _)| column(&text, prefix, name).is_none()).collect();
        assert_eq!(missing, Vec::<&(&str, &str, &str)>::new());
    }
}
