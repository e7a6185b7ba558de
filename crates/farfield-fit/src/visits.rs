//! The requests of a log, in columns of whole numbers within stated limits: some 30 bytes a request, beside
//! each distinct path and visitor once.
//!
//! Ten million requests of a million visitors take some 500 MiB. Requests after a limit are counted and left
//! out: the start of the log is a contiguous sample, while a random choice of requests would break sessions
//! up.

use crate::intern::Interner;
use crate::session::{RequestKind, RequestKinds};
use farfield_base::{Duration, Instant, printable};
use farfield_log::Record;
use farfield_log::dates::LogDates;
use serde::{Deserialize, Serialize};

/// Limits on what is kept of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Requests.
    pub requests: usize,
    /// Bytes of all distinct paths together.
    pub path_bytes: usize,
    /// Bytes of all distinct visitors and agents together.
    pub visitor_bytes: usize,
}

impl Default for Limits {
    /// 16 million requests, 128 MiB of paths and 96 MiB of visitors: all within 1 GiB.
    fn default() -> Limits {
        Limits { requests: 16_000_000, path_bytes: 128 << 20, visitor_bytes: 96 << 20 }
    }
}

/// Interpretation of the lines of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSettings {
    /// Requests that differ after a `?` are for different objects.
    pub keep_query: bool,
    /// The log's time is that of the request's end (as nginx writes it) and not of its start (Apache).
    pub stamped_at_end: bool,
}

impl Default for LogSettings {
    /// Without queries, stamped at the start.
    fn default() -> LogSettings {
        LogSettings { keep_query: false, stamped_at_end: false }
    }
}

/// A request as it is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// Start of the request, counted from the start of 1970.
    pub at: Instant,
    /// Index of the visitor, from 0 in the order of first appearance.
    pub visitor: u32,
    /// Index of the path, from 0 in the order of first appearance.
    pub path: u32,
    /// Kind of the object.
    pub kind: RequestKind,
    /// True if the request was served: a status below 400 (or none).
    pub served: bool,
    /// True if the request was a GET, or the log does not say what it was.
    pub get: bool,
    /// The reply's bytes, if the whole object came (status 200, or none in the log).
    pub bytes: Option<u64>,
    /// Duration of the transfer.
    pub transfer: Option<Duration>,
}

/// Targets of a log's lines that are not kept as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TargetTally {
    /// Lines without a target that anybody could ask for: noise that a server logged (a handshake of TLS, `-`
    /// where no request came). They are no requests here.
    pub none: u64,
    /// The first of them, short; empty where there is none.
    pub first: String,
    /// Kept requests whose query was taken off the path.
    pub queries: u64,
}

impl TargetTally {
    /// Bytes of the first line's target that are kept, at most.
    const FIRST_MAX: usize = 60;

    fn leave_out(&mut self, target: &[u8]) {
        if self.none == 0 {
            let text = String::from_utf8_lossy(&target[..target.len().min(Self::FIRST_MAX)]);
            self.first = printable(&text, &[]).into_owned();
        }
        self.none += 1;
    }
}

/// True if somebody can ask for this (RFC 9112 section 3.2): a path, the URL that proxies are asked for, `*`,
/// and with CONNECT an authority. A status line stands in logs of GN for the target of what was refused.
fn is_target(method: &[u8], target: &[u8]) -> bool {
    let is_url = || {
        let scheme = memchr::memmem::find(target, b"://");
        scheme.is_some_and(|end| end > 0 && target[..end].iter().all(u8::is_ascii_alphanumeric))
    };
    let is_path = target.starts_with(b"/") || target.starts_with(b"HTTP/");
    is_path || target == b"*" || method == b"CONNECT" || is_url()
}

/// All requests of a log.
#[derive(Debug)]
pub struct Visits {
    limits: Limits,
    taking: LogSettings,
    kinds: RequestKinds,
    paths: Interner,
    agents: Interner,
    visitors: Interner,
    agent_of: Vec<u32>,
    kind_of: Vec<RequestKind>,
    at: Vec<u64>,
    visitor: Vec<u32>,
    path: Vec<u32>,
    bytes: Vec<u64>,
    transfer_us: Vec<u32>,
    flags: Vec<u8>,
    left_out: u64,
    targets: TargetTally,
    set_aside: u64,
    absurd_ns: Option<u64>,
    /// The coarsest tick that all times so far are multiples of, in nanoseconds.
    tick_ns: u64,
    key: Vec<u8>,
}

/// A clock of whole minutes is the coarsest that is looked for; then a second and its decimal parts.
const TICK_MAX_NS: u64 = 60_000_000_000;
const NO_BYTES: u64 = u64::MAX;
const NO_TRANSFER: u32 = u32::MAX;
/// Flag: the request was served.
const SERVED: u8 = 1;
/// Flag: the method was GET.
const GET: u8 = 2;

impl Visits {
    /// None yet.
    pub fn new(limits: Limits, taking: LogSettings, kinds: RequestKinds) -> Visits {
        Visits {
            limits,
            taking,
            kinds,
            paths: Interner::default(),
            agents: Interner::default(),
            visitors: Interner::default(),
            agent_of: Vec::new(),
            kind_of: Vec::new(),
            at: Vec::new(),
            visitor: Vec::new(),
            path: Vec::new(),
            bytes: Vec::new(),
            transfer_us: Vec::new(),
            flags: Vec::new(),
            left_out: 0,
            targets: TargetTally::default(),
            set_aside: 0,
            absurd_ns: None,
            tick_ns: TICK_MAX_NS,
            key: Vec::new(),
        }
    }

    /// Adds a request.
    pub fn push(&mut self, record: &Record<'_>) {
        if !is_target(record.method, record.path) {
            self.targets.leave_out(record.path);
        } else if self.at.len() >= self.limits.requests || self.add(record).is_none() {
            self.left_out += 1;
        }
    }

    fn add(&mut self, record: &Record<'_>) -> Option<()> {
        let target = if self.taking.keep_query {
            record.path
        } else {
            &record.path[..memchr::memchr2(b'?', b'#', record.path).unwrap_or(record.path.len())]
        };
        let agent = self.agents.number(record.agent, self.limits.visitor_bytes)?;
        self.key.clear();
        self.key.extend_from_slice(record.client);
        self.key.extend_from_slice(&agent.to_le_bytes());
        let visitor = self.visitors.number(&self.key, self.limits.visitor_bytes)?;
        let path = self.paths.number(target, self.limits.path_bytes)?;
        if visitor as usize == self.agent_of.len() {
            self.agent_of.push(agent);
        }
        if path as usize == self.kind_of.len() {
            self.kind_of.push(self.kinds.of(target));
        }
        let transfer = record.transfer.map(|t| t.as_ns() / 1_000);
        let at = match record.transfer {
            Some(transfer) if self.taking.stamped_at_end => {
                record.at.as_ns().saturating_sub(transfer.as_ns())
            }
            _ => record.at.as_ns(),
        };
        // The clock is the log's own: a transfer that was subtracted says nothing of it.
        while !record.at.as_ns().is_multiple_of(self.tick_ns) {
            self.tick_ns = if self.tick_ns == TICK_MAX_NS { 1_000_000_000 } else { self.tick_ns / 10 };
        }
        self.at.push(at);
        self.visitor.push(visitor);
        self.path.push(path);
        let whole = matches!(record.status, 0 | 200) && record.method != b"HEAD";
        self.bytes.push(record.bytes.filter(|_| whole).unwrap_or(NO_BYTES));
        self.transfer_us.push(transfer.map_or(NO_TRANSFER, |us| us.min(u64::from(NO_TRANSFER - 1)) as u32));
        let get = matches!(record.method, b"" | b"GET");
        let served = record.status < 400;
        self.flags.push(if served { SERVED } else { 0 } | if get { GET } else { 0 });
        self.targets.queries += u64::from(target.len() < record.path.len());
        Some(())
    }

    /// Number of kept requests.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Number of requests that came after a limit.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Lines without a target, and queries that were taken off.
    pub fn targets(&self) -> &TargetTally {
        &self.targets
    }

    /// The log's clock: the coarsest tick that all its times are multiples of, a second with its decimal
    /// parts or a minute. Times are taken to be rounded down to it.
    pub fn tick(&self) -> Duration {
        Duration::from_ns(self.tick_ns)
    }

    /// True if the clock has a resolution of 1 s or worse, so that many gaps are equal.
    pub fn whole_seconds(&self) -> bool {
        self.tick_ns >= 1_000_000_000
    }

    /// The request at `index`, in the order of the log.
    ///
    /// # Panics
    /// If there is none.
    pub fn at(&self, index: usize) -> Visit {
        let path = self.path[index];
        let (bytes, us) = (self.bytes[index], self.transfer_us[index]);
        Visit {
            at: Instant::from_ns(self.at[index]),
            visitor: self.visitor[index],
            path,
            kind: self.kind_of[path as usize],
            served: self.flags[index] & SERVED != 0,
            get: self.flags[index] & GET != 0,
            bytes: (bytes != NO_BYTES).then_some(bytes),
            transfer: (us != NO_TRANSFER).then(|| Duration::from_us(u64::from(us))),
        }
    }

    /// Sets requests aside whose dates cannot be. To be called once, when all have been read.
    pub fn set_aside_implausible(&mut self) {
        let found = farfield_log::dates::implausible(&self.at);
        let Some(first) = found.first() else { return };
        self.absurd_ns = Some(self.at[*first]);
        self.set_aside += found.len() as u64;
        fn without<T: Copy>(column: &mut Vec<T>, found: &[usize]) {
            let (mut place, mut next) = (0, found.iter().peekable());
            column.retain(|_| {
                let is_found = next.next_if(|at| **at == place).is_some();
                place += 1;
                !is_found
            });
        }
        without(&mut self.at, &found);
        without(&mut self.visitor, &found);
        without(&mut self.path, &found);
        without(&mut self.bytes, &found);
        without(&mut self.transfer_us, &found);
        without(&mut self.flags, &found);
    }

    /// Dates of the kept requests.
    pub fn dates(&self) -> LogDates {
        LogDates { set_aside: self.set_aside, absurd_ns: self.absurd_ns, ..LogDates::of(&self.at) }
    }

    /// Instant of the first request; the start of 1970 if there is none.
    pub fn begins(&self) -> Instant {
        Instant::from_ns(self.at.iter().copied().min().unwrap_or_default())
    }

    /// Time from the first to the last request.
    pub fn covers(&self) -> Duration {
        let ends = self.at.iter().min().zip(self.at.iter().max());
        ends.map_or(Duration::ZERO, |(first, last)| Duration::from_ns(last - first))
    }

    /// Number of visitors: pairs of client and user agent.
    pub fn visitors(&self) -> usize {
        self.visitors.len()
    }

    /// Number of distinct user agents.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// The number of a visitor's user agent.
    pub fn agent_of(&self, visitor: u32) -> u32 {
        self.agent_of[visitor as usize]
    }

    /// A user agent's text; empty where the log has none.
    pub fn agent(&self, agent: u32) -> &[u8] {
        self.agents.text(agent)
    }

    /// The path that the request at `index` was for.
    pub(crate) fn path_of(&self, index: u32) -> u32 {
        self.path[index as usize]
    }

    /// Number of distinct paths.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// A path's text.
    pub fn path(&self, path: u32) -> &[u8] {
        self.paths.text(path)
    }

    /// A path's kind.
    pub fn kind(&self, path: u32) -> RequestKind {
        self.kind_of[path as usize]
    }

    /// The indices of all requests, those of each visitor together in the order of their times, and where
    /// each visitor's begin (with the end of all at the end).
    pub fn by_visitor(&self) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0u32; self.visitors() + 1];
        self.visitor.iter().for_each(|visitor| starts[*visitor as usize + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0u32; self.len()];
        for (index, visitor) in self.visitor.iter().enumerate() {
            let place = &mut next[*visitor as usize];
            order[*place as usize] = index as u32;
            *place += 1;
        }
        for visitor in 0..self.visitors() {
            // Logs are written when requests end: nearly, not quite, in order. The sort is stable.
            order[starts[visitor] as usize..starts[visitor + 1] as usize]
                .sort_by_key(|index| self.at[*index as usize]);
        }
        (order, starts)
    }
}
