//! One direction of a TCP connection, put in order (RFC 9293, sections 3.4 and 3.10), and its segments
//! classified.
//!
//! A passive observer differs from a receiver: it does not decide which bytes are accepted, and it may have
//! missed some. A hole that the other end acknowledges was filled without being captured, so what lies
//! behind it is handed on at once, and the hole as missing. Bytes behind a hole that is not acknowledged
//! wait, as in the receiver. Where the beginning of the direction was not captured, it begins with its
//! first segment, or with the first acknowledgment of it, whichever comes first.

use crate::connection::Direction;
use crate::instant::UnixNs;
use crate::segment::Segment;
use farfield_wire::TcpFlags;
use std::collections::BTreeMap;

/// Below this, a segment that fills a hole was overtaken, where no round trip is known: that of tshark.
const OVERTAKEN_NS: u64 = 3_000_000;
/// Duplicate ACKs as recent as this have asked for the segment that fills the hole: that of tshark.
const ASKED_NS: u64 = 20_000_000;
/// An acknowledgment that is further ahead belongs to no window: at most 1 GiB (RFC 7323, section 2.3).
const AHEAD_MAX: i64 = 1 << 30;

/// Offset in the stream of one direction, which does not wrap: the SYN is at 0, the first byte of data at 1.
pub(crate) type StreamOffset = i64;

/// The next piece in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamPiece<'a> {
    /// Offset of its first byte.
    pub offset: StreamOffset,
    pub what: StreamContent<'a>,
    /// Instant of the first packet that carried it.
    pub captured: UnixNs,
    /// Instant of the packet that made it available in order.
    pub available: UnixNs,
    /// True if the piece begins where the data of its packet does.
    pub begins_packet: bool,
}

/// The content of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamContent<'a> {
    /// Captured bytes; not empty.
    Bytes(&'a [u8]),
    /// The number of bytes that were captured without their content.
    Cut(u64),
    /// The number of bytes that were never captured.
    Missing(u64),
    /// The end of the direction.
    Fin,
}

/// Data that waits behind a hole.
#[derive(Debug)]
struct HeldData {
    /// The data's bytes, as far as they were captured.
    bytes: Vec<u8>,
    len: usize,
    captured: UnixNs,
    begins_packet: bool,
}

/// One direction of a TCP connection.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The sequence number of offset 0.
    origin: Option<u32>,
    /// The offset that comes next in order.
    next: StreamOffset,
    /// Behind everything that was captured, and when that moved.
    highest: StreamOffset,
    highest_at: UnixNs,
    /// Behind everything that the other end acknowledged.
    pub acked: StreamOffset,
    /// ACKs that repeated `acked`, and the last of them.
    repeated: u32,
    repeated_at: UnixNs,
    /// The window that they offered: an ACK that moves it is no duplicate (RFC 5681, section 2).
    repeated_window: u16,
    /// The window that this end offered last.
    window: Option<u16>,
    /// The byte that probed a closed window; the data that follows begins with it again.
    probe: Option<StreamOffset>,
    /// By its first offset, which is behind `next`; none overlap.
    waiting: BTreeMap<StreamOffset, HeldData>,
    /// Runs of what waits, without a hole in them: begin and end. They keep the work for a segment apart
    /// from the number of pieces that it overlaps.
    runs: BTreeMap<StreamOffset, StreamOffset>,
    waiting_bytes: usize,
    fin: Option<StreamOffset>,
    /// The FIN was handed on.
    pub ended: bool,
    /// A checksum was right, so that a wrong one is damage.
    pub checksums_seen: bool,
    pub counts: Direction,
}

/// The class of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    New,
    KeepAlive,
    WindowProbe,
    Retransmission,
    OutOfOrder,
}

/// Properties of the connection that a direction needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectionContext {
    /// The round trip of the handshake.
    pub handshake_ns: Option<u64>,
    /// The window that the other end offered last.
    pub window: Option<u16>,
    /// Bytes that may wait.
    pub waiting_max: usize,
}

impl Stream {
    /// True if anything is known of where it begins.
    pub fn is_known(&self) -> bool {
        self.origin.is_some()
    }

    /// The number of its SYN is `seq`, if it was not known.
    pub fn begin(&mut self, seq: u32) {
        if self.origin.is_none() {
            self.origin = Some(seq);
            (self.next, self.highest) = (1, 1);
        }
    }

    /// True if a SYN with `seq` can be the one of this direction.
    pub fn begins_at(&self, seq: u32) -> bool {
        self.origin == Some(seq)
    }

    /// Begins anew at `seq`: this end tried again with another number, and what it sent before counts no
    /// more.
    pub fn restart(&mut self, seq: u32) {
        let counts = Direction { fin: None, ..self.counts };
        *self = Stream { counts, checksums_seen: self.checksums_seen, ..Stream::default() };
        self.begin(seq);
    }

    /// True if the other end acknowledged the FIN.
    pub fn fin_acked(&self) -> bool {
        self.fin.is_some_and(|fin| self.acked > fin)
    }

    /// The window that this end offered last.
    pub fn window(&self) -> Option<u16> {
        self.window
    }

    /// Bytes that wait behind holes.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// The offset of `seq` that is nearest to what comes next.
    fn offset(&self, seq: u32) -> StreamOffset {
        let origin = self.origin.unwrap_or_default();
        let near = origin.wrapping_add(self.next as u32);
        self.next + i64::from(seq.wrapping_sub(near) as i32)
    }

    /// Takes in a segment that this end sent; returns how many holes were given up.
    pub fn handle_segment(
        &mut self,
        at: UnixNs,
        segment: &Segment<'_>,
        around: &DirectionContext,
        mut hand_on: impl FnMut(StreamPiece<'_>),
    ) -> u64 {
        self.counts.packets += 1;
        let (syn, fin) = (segment.flags.contains(TcpFlags::SYN), segment.flags.contains(TcpFlags::FIN));
        if segment.flags.contains(TcpFlags::RST) {
            // Data of a RST explains it, and is not part of the direction (RFC 9293, section 3.5.3).
            self.counts.rst.get_or_insert(at);
            return 0;
        }
        self.window = Some(segment.window);
        // Without a SYN, the first segment stands behind one that was not captured.
        self.begin(if syn { segment.seq } else { segment.seq.wrapping_sub(1) });
        let offset = self.offset(segment.seq) + i64::from(syn);
        let data_end = offset + segment.data_len as i64;
        let end = data_end + i64::from(fin);
        let class = self.classify(at, segment, offset, data_end, around);
        if fin {
            self.counts.fin.get_or_insert(at);
            self.fin.get_or_insert(data_end);
        }
        match class {
            Class::KeepAlive => {
                self.counts.keep_alives += 1;
                return 0;
            }
            Class::WindowProbe => {
                self.counts.window_probes += 1;
                self.probe = Some(offset);
            }
            Class::Retransmission => self.counts.retransmissions += 1,
            Class::OutOfOrder => self.counts.out_of_order += 1,
            Class::New => {}
        }
        if end > self.highest {
            (self.highest, self.highest_at) = (end, at);
        }
        if segment.data_len > 0 {
            self.take(at, segment, offset, data_end, &mut hand_on);
        }
        self.advance(at, &mut hand_on);
        let mut given_up = 0;
        while self.waiting_bytes > around.waiting_max
            && let Some(&hole_end) = self.runs.keys().next()
        {
            let before = self.next;
            self.pass_hole(at, hole_end, &mut hand_on);
            assert!(self.next > before, "a hole lies before what waits");
            given_up += 1;
        }
        given_up
    }

    fn classify(
        &self,
        at: UnixNs,
        segment: &Segment<'_>,
        offset: StreamOffset,
        data_end: StreamOffset,
        around: &DirectionContext,
    ) -> Class {
        let fin = segment.flags.contains(TcpFlags::FIN);
        let control = segment.flags.contains(TcpFlags::SYN) || fin;
        let probes = segment.data_len <= 1 && !control && self.fin != Some(offset);
        if probes && offset == self.highest - 1 && self.highest > 1 {
            return Class::KeepAlive;
        }
        if segment.data_len == 1 && !control && offset == self.highest && around.window == Some(0) {
            return Class::WindowProbe;
        }
        let again_behind_probe = self.probe == Some(offset) && data_end > offset + 1;
        if !(fin || segment.data_len > 0) || offset >= self.highest || again_behind_probe {
            return Class::New;
        }
        let Some(revealed) = self.hole_revealed(offset, data_end) else { return Class::Retransmission };
        let asked = self.repeated >= 2 && offset == self.acked && at.since(self.repeated_at) < ASKED_NS;
        let overtaken = at.since(revealed) < around.handshake_ns.unwrap_or(OVERTAKEN_NS);
        if overtaken && !asked { Class::OutOfOrder } else { Class::Retransmission }
    }

    /// If some byte of `offset..end` lies in a hole, the instant at which the hole showed.
    fn hole_revealed(&self, offset: StreamOffset, end: StreamOffset) -> Option<UnixNs> {
        let from = offset.max(self.next);
        let run = self.runs.range(..=from).next_back();
        let from = run.map_or(from, |(_, &run_end)| from.max(run_end));
        if let Some((start, _)) = self.runs.range(from + 1..).next() {
            return (from < end).then(|| self.waiting[start].captured);
        }
        // Behind all that waits and before the highest, which the other end's ACK or a FIN showed.
        (from < end.min(self.highest)).then_some(self.highest_at)
    }

    /// Takes data in that is, at least in part, new or waited for.
    fn take(
        &mut self,
        at: UnixNs,
        segment: &Segment<'_>,
        offset: StreamOffset,
        end: StreamOffset,
        hand_on: &mut impl FnMut(StreamPiece<'_>),
    ) {
        while end > self.next {
            if offset > self.next {
                return self.keep(at, segment, offset, end);
            }
            let skipped = (self.next - offset) as usize;
            // Data that came before its turn was captured earlier than this.
            let end_of_new = self.runs.keys().next().map_or(end, |&start| end.min(start));
            let len = (end_of_new - self.next) as usize;
            let known = segment.data.get(skipped..).unwrap_or_default();
            let known = &known[..known.len().min(len)];
            let piece = StreamPiece {
                offset,
                what: StreamContent::Fin,
                captured: at,
                available: at,
                begins_packet: skipped == 0,
            };
            self.emit(known, len, piece, hand_on);
            self.advance(at, hand_on);
        }
    }

    /// Hands on `len` bytes in order, of which `known` were captured.
    fn emit(
        &mut self,
        known: &[u8],
        len: usize,
        mut piece: StreamPiece<'_>,
        hand_on: &mut impl FnMut(StreamPiece<'_>),
    ) {
        self.counts.bytes += len as u64;
        if !known.is_empty() {
            hand_on(StreamPiece { offset: self.next, what: StreamContent::Bytes(known), ..piece });
            piece.begins_packet = false;
        }
        if len > known.len() {
            let offset = self.next + known.len() as i64;
            hand_on(StreamPiece { offset, what: StreamContent::Cut((len - known.len()) as u64), ..piece });
        }
        self.next += len as i64;
    }

    /// Keeps what of a segment behind a hole does not wait yet.
    fn keep(&mut self, at: UnixNs, segment: &Segment<'_>, offset: StreamOffset, end: StreamOffset) {
        let (mut run_start, mut run_end) = (offset, end);
        // The end of what is known to wait, from the last run to the first.
        let mut to = end;
        // Runs that the segment overlaps or touches become one with it.
        while let Some((&start, &stop)) = self.runs.range(..=end).next_back()
            && stop >= offset
        {
            self.runs.remove(&start);
            self.keep_between(at, segment, offset, stop.max(offset), to);
            to = start;
            (run_start, run_end) = (run_start.min(start), run_end.max(stop));
        }
        self.keep_between(at, segment, offset, offset, to);
        self.runs.insert(run_start, run_end);
    }

    /// Keeps `from..to` of a segment whose data begins at `offset`; nothing where that is empty.
    fn keep_between(
        &mut self,
        at: UnixNs,
        segment: &Segment<'_>,
        offset: StreamOffset,
        from: StreamOffset,
        to: StreamOffset,
    ) {
        if from >= to {
            return;
        }
        let (skipped, len) = ((from - offset) as usize, (to - from) as usize);
        let known = segment.data.get(skipped..).unwrap_or_default();
        let bytes = known[..known.len().min(len)].to_vec();
        self.waiting_bytes += len;
        self.waiting.insert(from, HeldData { bytes, len, captured: at, begins_packet: skipped == 0 });
    }

    /// Hands on all that is next in order: what no longer waits, and the FIN. Afterwards a hole lies before
    /// what waits.
    fn advance(&mut self, at: UnixNs, hand_on: &mut impl FnMut(StreamPiece<'_>)) {
        self.drain(at, hand_on);
        if self.hand_on_fin(at, hand_on) {
            // The FIN takes a number, which may have been all that was missing.
            self.drain(at, hand_on);
        }
    }

    /// Hands on what no longer waits.
    fn drain(&mut self, at: UnixNs, hand_on: &mut impl FnMut(StreamPiece<'_>)) {
        while let Some(run) = self.runs.first_entry().filter(|run| *run.key() <= self.next) {
            let run_end = run.remove();
            while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() < run_end) {
                let (start, waiting) = first.remove_entry();
                self.hand_on_waiting(at, start, &waiting, hand_on);
            }
        }
    }

    /// Hands on what is new of a piece that waited.
    fn hand_on_waiting(
        &mut self,
        at: UnixNs,
        start: StreamOffset,
        waiting: &HeldData,
        hand_on: &mut impl FnMut(StreamPiece<'_>),
    ) {
        self.waiting_bytes -= waiting.len;
        let skipped = (self.next - start) as usize;
        if skipped >= waiting.len {
            return;
        }
        let known = waiting.bytes.get(skipped..).unwrap_or_default();
        let begins_packet = waiting.begins_packet && skipped == 0;
        let (offset, captured) = (start, waiting.captured);
        let piece = StreamPiece { offset, what: StreamContent::Fin, captured, available: at, begins_packet };
        self.emit(known, waiting.len - skipped, piece, hand_on);
    }

    /// Hands on the FIN, if it is next; returns whether it was.
    fn hand_on_fin(&mut self, at: UnixNs, hand_on: &mut impl FnMut(StreamPiece<'_>)) -> bool {
        if self.ended || self.fin != Some(self.next) {
            return false;
        }
        self.ended = true;
        let captured = self.counts.fin.unwrap_or(at);
        hand_on(StreamPiece {
            offset: self.next,
            what: StreamContent::Fin,
            captured,
            available: at,
            begins_packet: false,
        });
        self.next += 1;
        true
    }

    /// Passes over holes up to `end`, as never captured.
    fn pass_hole(&mut self, at: UnixNs, end: StreamOffset, hand_on: &mut impl FnMut(StreamPiece<'_>)) {
        while self.next < end {
            let fin = self.fin.filter(|&fin| !self.ended && fin >= self.next);
            let known = self.runs.keys().next().copied().into_iter().chain(fin);
            let hole_end = known.fold(end, StreamOffset::min);
            if hole_end > self.next {
                let missing = (hole_end - self.next) as u64;
                self.counts.missing_bytes += missing;
                let (offset, what) = (self.next, StreamContent::Missing(missing));
                // A hole shows when something behind it is captured.
                let behind = self.waiting.first_key_value().map(|(_, waiting)| waiting.captured);
                let captured = behind.unwrap_or(at);
                hand_on(StreamPiece { offset, what, captured, available: at, begins_packet: false });
                self.next = hole_end;
            }
            self.advance(at, hand_on);
        }
    }

    /// Takes in an acknowledgment of this direction by the other end.
    pub fn handle_ack(
        &mut self,
        at: UnixNs,
        segment: &Segment<'_>,
        mut hand_on: impl FnMut(StreamPiece<'_>),
    ) {
        if !segment.flags.contains(TcpFlags::ACK) || segment.flags.contains(TcpFlags::RST) {
            return;
        }
        if self.origin.is_none() {
            self.begin(segment.ack.wrapping_sub(1));
            self.acked = self.next;
            return;
        }
        let offset = self.offset(segment.ack);
        if offset > self.acked && offset - self.next < AHEAD_MAX {
            self.acked = offset;
            (self.repeated, self.repeated_window) = (0, segment.window);
            if offset > self.next {
                self.pass_hole(at, offset, &mut hand_on);
            }
            self.highest = self.highest.max(offset);
        } else if offset == self.acked && segment.data_len == 0 && self.highest > offset {
            let same = segment.window == self.repeated_window;
            (self.repeated, self.repeated_at) = (self.repeated + u32::from(same), at);
            self.repeated_window = segment.window;
        }
    }

    /// Hands on all that waits, holes as never captured: for a direction whose acknowledgments were not
    /// captured at all.
    pub fn flush(&mut self, at: UnixNs, mut hand_on: impl FnMut(StreamPiece<'_>)) {
        while let Some(&start) = self.waiting.keys().next() {
            self.pass_hole(at, start.max(self.next + 1), &mut hand_on);
        }
        if self.fin.is_some_and(|fin| fin > self.next) {
            let fin = self.fin.unwrap_or_default();
            self.pass_hole(at, fin, &mut hand_on);
        }
    }

    /// Forgets what waits.
    pub fn forget(&mut self) {
        self.waiting.clear();
        self.runs.clear();
        self.waiting_bytes = 0;
    }
}

#[cfg(test)]
mod tests;
