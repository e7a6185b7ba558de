//! Counters of a population: of the load that was due, and of what became of it.

use farfield_base::{AlternativeCounts, Duration};

/// Load that a worker never came to has a row each up to this number; a generator that is further behind has
/// nothing to show, and the rest is counted as lost samples.
pub(crate) const MISSED_ROWS: u64 = 1_000_000;

/// Counters of the load that was scheduled in the measured window, and of what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Arrivals or attempts that were due in the window, including those that were never begun.
    pub scheduled: u64,
    /// Those of them that were begun, be it late.
    pub begun: u64,
    /// Those of them that no user could take.
    pub dropped: u64,
    /// Those begun in the later half of the window.
    pub begun_later: u64,
    /// Those of these that were begun by a new visitor, with a connection of its own, since none that keeps
    /// one was idle.
    pub newcomers_later: u64,
    /// Requests sent again, on another connection, over the whole run: the connection they were first sent on
    /// closed without a word about them. The server may have seen them more than once.
    pub resent: u64,
    /// Requests that the server refused without processing them, and that were sent again, over the whole
    /// run; each time counts.
    pub refused: u64,
    /// Arrivals or attempts, over the whole run, that were due and that the worker never came to.
    pub missed: u64,
    /// Connections given up because bytes came on them that no request had asked for, over the whole run:
    /// behind a reply after which they were to be kept, or while they were idle.
    pub unasked: u64,
    /// Bytes of content that sessions took a content coding off, over the whole run.
    pub coded_bytes: u64,
    /// Bytes of that content after decoding.
    pub decoded_bytes: u64,
    /// Objects that were not fetched because their page embeds too many, over the whole run.
    pub objects_left_out: u64,
    /// Forms that were sent with fields or a button that their page does not have, over the whole run.
    pub forms_unlike: u64,
    /// Requests whose content was sent without the server's word, which they had asked for, over the whole
    /// run.
    pub unasked_content: u64,
    /// Processor time that handshakes of TLS took in the window.
    pub handshake_cpu: Duration,
    /// Attempts at HTTP/3 that alternatives led to, over the whole run.
    pub alternatives: AlternativeCounts,
    /// Connections of QUIC that went on when their client moved to another network, over the whole run.
    pub migrated: u64,
    /// Connections that ended when their client moved, over the whole run.
    pub broken_by_moves: u64,
    /// Requests of a load by count that were not begun.
    pub unbegun: u64,
    /// How long nothing had come from the server when a load by count was given up.
    pub given_up: Option<Duration>,
}

impl Tally {
    /// Those that were missed and have no row: more than are worth one each.
    pub fn missed_without_row(&self) -> u64 {
        self.missed.saturating_sub(MISSED_ROWS)
    }

    /// Adds the counters of another worker.
    pub fn add(&mut self, other: &Tally) {
        self.scheduled += other.scheduled;
        self.begun += other.begun;
        self.dropped += other.dropped;
        self.begun_later += other.begun_later;
        self.newcomers_later += other.newcomers_later;
        self.resent += other.resent;
        self.refused += other.refused;
        self.missed += other.missed;
        self.unasked += other.unasked;
        self.coded_bytes += other.coded_bytes;
        self.decoded_bytes += other.decoded_bytes;
        self.objects_left_out += other.objects_left_out;
        self.forms_unlike += other.forms_unlike;
        self.unasked_content += other.unasked_content;
        self.handshake_cpu = self.handshake_cpu + other.handshake_cpu;
        self.alternatives.add(&other.alternatives);
        self.migrated += other.migrated;
        self.broken_by_moves += other.broken_by_moves;
        self.unbegun += other.unbegun;
        self.given_up = self.given_up.max(other.given_up);
    }
}
