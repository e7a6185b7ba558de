//! Names of what monitors read, each with its unit: bytes, processors (1 is one processor, full), a share
//! from 0 to 1, a rate a second (over the time since the reading before), else a number.

/// Processor time in user mode, in processors.
pub const CPU_USER: &str = "cpu_user_processors";
/// Processor time in the kernel, in processors.
pub const CPU_SYSTEM: &str = "cpu_system_processors";
/// Processors that a tier may use: by its affinity, and by the quota of its control group.
pub const CPU_LIMIT: &str = "cpu_limit_processors";
/// The busy share of the processors that a tier may use, with whatever work.
pub const PROCESSORS_BUSY: &str = "processors_busy_share";
/// The share of its periods in which a control group was throttled (cgroups, `cpu.stat`).
pub const THROTTLED: &str = "throttled_share";
/// Memory that is resident, in bytes; memory that processes share counts for each.
pub const RESIDENT: &str = "resident_bytes";
/// Memory in swap, in bytes.
pub const SWAP: &str = "swap_bytes";
/// Memory of a control group that cannot be reclaimed as page cache can, in bytes.
pub const GROUP_MEMORY: &str = "memory_bytes";
/// The limit of a control group's memory, in bytes.
pub const GROUP_MEMORY_LIMIT: &str = "memory_limit_bytes";
/// Page faults that read from a disk.
pub const MAJOR_FAULTS: &str = "major_faults_per_s";
/// Threads.
pub const THREADS: &str = "threads";
/// Processes.
pub const PROCESSES: &str = "processes";
/// Open descriptors.
pub const DESCRIPTORS: &str = "descriptors";
/// The most descriptors that a process may have open (its soft limit).
pub const DESCRIPTORS_LIMIT: &str = "descriptors_limit";
/// The largest share of its descriptors that a process of a tier has open.
pub const DESCRIPTORS_SHARE_MAX: &str = "descriptors_share_max";
/// Context switches of threads that waited for something.
pub const SWITCHES_VOLUNTARY: &str = "context_switches_voluntary_per_s";
/// Context switches of threads that had to make room for others.
pub const SWITCHES_INVOLUNTARY: &str = "context_switches_involuntary_per_s";

/// Workers of a server that wait for a connection, as it says itself.
pub const WORKERS_IDLE: &str = "workers_idle";
/// Workers of a server that have a connection, as it says itself.
pub const WORKERS_BUSY: &str = "workers_busy";

/// Connections in an accept queue.
pub const ACCEPT_QUEUE: &str = "accept_queue";
/// The length of an accept queue beyond which connections are not taken.
pub const ACCEPT_QUEUE_LIMIT: &str = "accept_queue_limit";
/// Times that a connection found an accept queue full (`TcpExt: ListenOverflows`).
pub const LISTEN_OVERFLOWS: &str = "listen_overflows_per_s";
/// SYNs and connections that a listener dropped, for whatever reason (`TcpExt: ListenDrops`).
pub const LISTEN_DROPS: &str = "listen_drops_per_s";
/// Times that TCP came under memory pressure (`TcpExt: TCPMemoryPressures`).
pub const TCP_MEMORY_PRESSURES: &str = "tcp_memory_pressures_per_s";

/// Datagrams dropped because the receive buffer of their socket was full (`Udp: RcvbufErrors`).
pub const UDP_BUFFER_ERRORS: &str = "udp_receive_buffer_errors_per_s";
/// Datagrams of IPv6 dropped because a receive buffer was full (`Udp6RcvbufErrors`).
pub const UDP6_BUFFER_ERRORS: &str = "udp6_receive_buffer_errors_per_s";

/// Processor time of the thread that reads all of this, exactly, in processors.
pub const MONITOR_CPU: &str = "monitor_cpu_processors";

/// Processors of the machine.
pub const PROCESSORS: &str = "processors";
/// Processor time that a hypervisor gave to other machines, in processors.
pub const CPU_STEAL: &str = "cpu_steal_processors";
/// Memory of the machine, in bytes.
pub const MEMORY_TOTAL: &str = "memory_total_bytes";
/// Memory that can be allocated without swapping, in bytes (`MemAvailable`).
pub const MEMORY_AVAILABLE: &str = "memory_available_bytes";
/// Page cache, in bytes.
pub const PAGE_CACHE: &str = "page_cache_bytes";
/// Swap in use, in bytes.
pub const SWAP_USED: &str = "swap_used_bytes";
/// Memory read back from swap, in bytes.
pub const SWAP_IN: &str = "swap_in_bytes_per_s";
/// Memory written to swap, in bytes.
pub const SWAP_OUT: &str = "swap_out_bytes_per_s";
/// Context switches of the machine.
pub const SWITCHES: &str = "context_switches_per_s";

/// Bytes that came.
pub const RECEIVED_BYTES: &str = "received_bytes_per_s";
/// Bytes that were sent.
pub const SENT_BYTES: &str = "sent_bytes_per_s";
/// Packets that came.
pub const RECEIVED_PACKETS: &str = "received_packets_per_s";
/// Packets that were sent.
pub const SENT_PACKETS: &str = "sent_packets_per_s";
/// Packets that were dropped on their way in.
pub const RECEIVE_DROPS: &str = "receive_drops_per_s";
/// Packets that were dropped on their way out.
pub const SEND_DROPS: &str = "send_drops_per_s";
/// The capacity of an interface in either direction, in bytes; absent where the device does not say.
pub const SPEED: &str = "speed_bytes_per_s";
/// Bytes read from a disk.
pub const READ_BYTES: &str = "read_bytes_per_s";
/// Bytes written to a disk.
pub const WRITTEN_BYTES: &str = "written_bytes_per_s";
/// The share of the time in which a disk or a pool of workers had something to do.
pub const BUSY: &str = "busy_share";
