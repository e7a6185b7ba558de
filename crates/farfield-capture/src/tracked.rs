//! A connection while packets of it come: both directions, its handshake, who is server, how it ends, and
//! its HTTP.

use crate::connection::{Connection, Direction, End, Side};
use crate::duplicate::Recent;
use crate::http::{HttpLimits, begins};
use crate::instant::UnixNs;
use crate::limits::Limits;
use crate::options::Options;
use crate::rebuild::Sink;
use crate::segment::{Checksum, Segment};
use crate::spoken::HttpConversation;
use crate::stream::{DirectionContext, Stream, StreamPiece};
use farfield_wire::TcpFlags;
use std::net::SocketAddr;

/// State that connections share while they are read.
pub(crate) struct Context<'a, S> {
    pub options: &'a Options,
    pub limits: &'a mut Limits,
    pub sink: &'a mut S,
    /// Bytes that wait behind holes, on all connections.
    pub waiting_total: &'a mut usize,
    /// The index of the next connection.
    pub next_id: &'a mut u32,
}

impl<S> Context<'_, S> {
    /// Bytes that may wait behind a hole of one stream: none while too many wait on all connections.
    pub fn waiting_max(&self) -> usize {
        match *self.waiting_total > self.options.waiting_bytes_total_max {
            true => 0,
            false => self.options.waiting_bytes_max,
        }
    }

    /// Notes that as many bytes wait now on a connection, where `before` waited.
    pub fn note_waiting(&mut self, before: usize, now: usize) {
        *self.waiting_total = (*self.waiting_total + now).saturating_sub(before);
    }
}

/// The end of a connection, by the index of its sender.
#[derive(Debug, Clone, Copy)]
enum SenderEnd {
    Fin { by: usize, at: UnixNs, simultaneous: bool },
    Reset { by: usize, at: UnixNs },
}

/// A connection under way.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub id: u32,
    pub interface: u32,
    /// The sender of its first packet, then the other end.
    ends: [SocketAddr; 2],
    /// The index of the client among them.
    client: Option<usize>,
    streams: [Stream; 2],
    recent: [Recent; 2],
    http: Option<Box<HttpConversation>>,
    /// Transactions, once the conversation is over.
    requests: Option<u32>,
    going_away: Option<UnixNs>,
    secured: Option<UnixNs>,
    /// Bytes that could not be decrypted, of the client and of the server.
    sealed_bytes: [u64; 2],
    /// The SYN or SYN-ACK came before the data.
    from_start: bool,
    syn: Option<UnixNs>,
    syn_ack: Option<UnixNs>,
    established: Option<UnixNs>,
    syn_tries: u32,
    first: UnixNs,
    pub last: UnixNs,
    ended: Option<SenderEnd>,
    /// Nothing is expected any more.
    pub closed: bool,
    /// The handshake shows that the server is not the one that is asked for: the connection is only known, so
    /// that its packets begin no other.
    pub rejected: bool,
}

impl Tracked {
    /// A connection whose first packet is `segment`.
    pub fn new(id: u32, interface: u32, at: UnixNs, segment: &Segment<'_>, options: &Options) -> Tracked {
        let ends = [segment.source, segment.destination];
        // The server, as far as the filter says; a SYN is judged by `handle`.
        let is_server = |end: SocketAddr| options.server.is_set() && options.server.matches(end);
        let client = match (is_server(ends[0]), is_server(ends[1])) {
            (true, false) => Some(1),
            (false, true) => Some(0),
            _ => None,
        };
        Tracked {
            id,
            interface,
            ends,
            client,
            streams: Default::default(),
            recent: Default::default(),
            http: None,
            requests: None,
            going_away: None,
            secured: None,
            sealed_bytes: [0; 2],
            from_start: segment.flags.contains(TcpFlags::SYN),
            syn: None,
            syn_ack: None,
            established: None,
            syn_tries: 0,
            first: at,
            last: at,
            ended: None,
            closed: false,
            rejected: Tracked::is_rejected(segment, options),
        }
    }

    /// True if the first packet of a connection shows that its server is not the one that is asked for.
    pub fn is_rejected(segment: &Segment<'_>, options: &Options) -> bool {
        match (segment.flags.contains(TcpFlags::SYN), segment.flags.contains(TcpFlags::ACK)) {
            (true, false) => !options.server.matches(segment.destination),
            (true, true) => !options.server.matches(segment.source),
            _ => false,
        }
    }

    /// The index of the end that sent `segment`.
    fn sender(&self, segment: &Segment<'_>) -> usize {
        usize::from(segment.source != self.ends[0])
    }

    /// True if `segment` begins another connection between the same ends.
    pub fn is_followed_by(&self, segment: &Segment<'_>) -> bool {
        let from = self.sender(segment);
        let other = !self.streams[from].begins_at(segment.seq);
        match (segment.flags.contains(TcpFlags::SYN), segment.flags.contains(TcpFlags::ACK)) {
            (true, false) => other && (self.streams[from].is_known() || self.closed),
            (true, true) => other && self.closed,
            _ => false,
        }
    }

    /// Takes in a packet of the connection.
    pub fn handle<S: Sink>(&mut self, at: UnixNs, segment: &Segment<'_>, context: &mut Context<'_, S>) {
        let from = self.sender(segment);
        if self.rejected {
            context.limits.packets_filtered += 1;
            self.closed |= segment.flags.0 & (TcpFlags::FIN | TcpFlags::RST).0 != 0;
            return;
        }
        if self.recent[from].has(at, segment) {
            context.limits.packets_duplicate += 1;
            return;
        }
        match segment.checksum {
            Checksum::Right => self.streams[from].checksums_seen = true,
            Checksum::Wrong if self.streams[from].checksums_seen => {
                context.limits.packets_damaged += 1;
                return;
            }
            _ => {}
        }
        context.limits.packets_used += 1;
        self.last = self.last.max(at);
        let waited = self.waiting_bytes();
        self.handle_handshake(at, from, segment);
        self.find_client(from, segment);
        self.handle_data(at, from, segment, context);
        context.note_waiting(waited, self.waiting_bytes());
        self.handle_end(at, from, segment);
        self.hand_on(context.sink, self.closed);
        if self.closed {
            self.shrink(context);
        }
    }

    fn waiting_bytes(&self) -> usize {
        self.streams.iter().map(Stream::waiting_bytes).sum()
    }

    fn handle_handshake(&mut self, at: UnixNs, from: usize, segment: &Segment<'_>) {
        let (syn, ack) = (segment.flags.contains(TcpFlags::SYN), segment.flags.contains(TcpFlags::ACK));
        match (syn, ack) {
            (true, false) => {
                self.client.get_or_insert(from);
                self.syn.get_or_insert(at);
                self.syn_tries += u32::from(self.client == Some(from));
            }
            (true, true) => {
                self.client.get_or_insert(1 - from);
                if self.established.is_none() {
                    self.syn_ack = Some(at);
                    if !self.streams[from].begins_at(segment.seq) {
                        self.streams[from].restart(segment.seq);
                        self.ended.take_if(|ended| matches!(ended, SenderEnd::Fin { by, .. } if *by == from));
                    }
                }
            }
            (false, true)
                if self.client == Some(from)
                    && self.syn_ack.is_some()
                    && !segment.flags.contains(TcpFlags::RST) =>
            {
                self.established.get_or_insert(at);
            }
            _ => {}
        }
    }

    /// Finds out who is client, if it is not known, from what is said.
    fn find_client(&mut self, from: usize, segment: &Segment<'_>) {
        if self.client.is_none() && !segment.data.is_empty() {
            if begins(segment.data, true) {
                self.client = Some(1 - from);
            } else if begins(segment.data, false) {
                self.client = Some(from);
            }
        }
    }

    fn handle_data<S>(
        &mut self,
        at: UnixNs,
        from: usize,
        segment: &Segment<'_>,
        context: &mut Context<'_, S>,
    ) {
        let waiting_max = context.waiting_max();
        let handshake_ns = self.syn.zip(self.established).map(|(syn, established)| established.since(syn));
        let http_limits = HttpLimits {
            head_bytes_max: context.options.head_bytes_max,
            target_bytes_max: context.options.target_bytes_max,
        };
        let over = self.requests.is_some();
        let (client, from_start, http) = (self.client, self.from_start, &mut self.http);
        let secrets = context.options.secrets.as_ref();
        let mut read = |by: usize, piece: &StreamPiece<'_>, acked| {
            let Some(client) = client.filter(|_| !over) else { return };
            let begin =
                || Box::new(HttpConversation::begin(from_start, by == client, piece, http_limits, secrets));
            let http = http.get_or_insert_with(begin);
            if by == client { http.handle_request(piece) } else { http.handle_reply(piece, acked) }
        };
        let [first, second] = &mut self.streams;
        let (own, other) = if from == 0 { (first, second) } else { (second, first) };
        // The acknowledgment first: a reply comes behind the request that it acknowledges.
        let acked = own.acked;
        other.handle_ack(at, segment, |piece| read(1 - from, &piece, acked));
        let acked = other.acked;
        let around = DirectionContext { handshake_ns, window: other.window(), waiting_max };
        let given_up = own.handle_segment(at, segment, &around, |piece| read(from, &piece, acked));
        context.limits.holes_given_up += given_up;
    }

    fn handle_end(&mut self, at: UnixNs, from: usize, segment: &Segment<'_>) {
        if segment.flags.contains(TcpFlags::RST) {
            self.ended.get_or_insert(SenderEnd::Reset { by: from, at });
            self.closed = true;
            return;
        }
        if segment.flags.contains(TcpFlags::FIN) {
            match &mut self.ended {
                None => self.ended = Some(SenderEnd::Fin { by: from, at, simultaneous: false }),
                Some(SenderEnd::Fin { by, simultaneous, .. }) if *by != from => {
                    let first_fin_of_its_end = self.streams[from].counts.fin == Some(at);
                    *simultaneous |= first_fin_of_its_end && !self.streams[*by].fin_acked();
                }
                _ => {}
            }
        }
        self.closed |= self.streams.iter().all(|stream| stream.ended && stream.fin_acked());
    }

    /// Hands on transactions that are over; all, if the connection `ended`.
    fn hand_on(&mut self, sink: &mut impl Sink, ended: bool) {
        if let Some(http) = &mut self.http {
            while let Some(transaction) = http.poll_transaction(self.id, ended) {
                sink.transaction(transaction);
            }
        }
    }

    /// Ends the conversation, and keeps of the directions only what late packets are judged by.
    fn shrink<S>(&mut self, context: &mut Context<'_, S>) {
        context.note_waiting(self.waiting_bytes(), 0);
        self.streams.iter_mut().for_each(Stream::forget);
        if let Some(http) = self.http.take() {
            let counts = http.counts();
            context.limits.http_resynchronised += counts.resynchronised;
            context.limits.replies_unasked += counts.unasked;
            context.limits.heads_too_long += counts.heads_too_long;
            context.limits.tunnels += counts.tunnels;
            self.requests = Some(http.requests());
            self.going_away = http.going_away();
            if let Some((counts, secured)) = http.tls() {
                context.limits.tls_sessions += 1;
                context.limits.tls_without_secrets += u64::from(counts.lacks_secrets);
                context.limits.tls_unread_suites += u64::from(counts.is_other);
                context.limits.tls_records_unread += counts.records;
                (self.secured, self.sealed_bytes) = (secured, counts.sealed);
            }
        }
        self.requests.get_or_insert(0);
    }

    /// Ends the connection: the rest of its transactions, then itself.
    pub fn finish<S: Sink>(mut self, context: &mut Context<'_, S>) {
        if self.rejected {
            return;
        }
        self.flush_unacknowledged(context);
        self.hand_on(context.sink, true);
        self.shrink(context);
        let client = self.client.unwrap_or_else(|| {
            context.limits.roles_guessed += 1;
            usize::from(self.ends[0].port() < self.ends[1].port())
        });
        let side = |by: usize| if by == client { Side::Client } else { Side::Server };
        let counts = [0, 1].map(|by: usize| Direction {
            sealed_bytes: self.sealed_bytes[usize::from(by != client)],
            ..self.streams[by].counts
        });
        context.limits.missing_bytes += counts.iter().map(|side| side.missing_bytes).sum::<u64>();
        context.limits.mid_stream += u64::from(self.syn.is_none());
        context.sink.connection(Connection {
            id: self.id,
            interface: self.interface,
            client: self.ends[client],
            server: self.ends[1 - client],
            is_quic: false,
            seen_from_start: self.syn.is_some(),
            syn: self.syn,
            syn_ack: self.syn_ack,
            established: self.established,
            secured: self.secured,
            first: self.first,
            last: self.last,
            syn_tries: self.syn_tries,
            client_side: counts[client],
            server_side: counts[1 - client],
            end: match self.ended {
                None => End::Open,
                Some(SenderEnd::Fin { by, at, simultaneous }) => {
                    End::Fin { side: side(by), at, simultaneous }
                }
                Some(SenderEnd::Reset { by, at }) => End::Reset { side: side(by), at },
            },
            requests: self.requests.unwrap_or_default(),
            going_away: self.going_away,
        });
    }

    /// Flushes the other direction where one was not captured at all: nothing acknowledged its holes.
    fn flush_unacknowledged<S>(&mut self, context: &mut Context<'_, S>) {
        let waited = self.waiting_bytes();
        for by in [0, 1] {
            if self.streams[1 - by].counts.packets > 0 {
                continue;
            }
            let (at, client, http) = (self.last, self.client, &mut self.http);
            self.streams[by].flush(at, |piece| match (http.as_mut(), client) {
                (Some(http), Some(client)) if by == client => http.handle_request(&piece),
                (Some(http), Some(_)) => http.handle_reply(&piece, 0),
                _ => {}
            });
            self.http.iter_mut().for_each(|http| http.doubt());
        }
        context.note_waiting(waited, self.waiting_bytes());
    }
}
