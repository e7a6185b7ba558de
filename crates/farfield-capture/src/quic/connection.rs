//! A QUIC connection while datagrams of it come: its keys, its streams, and the HTTP/3 on them.

use super::frame::{self, Frame};
use super::packet::{self, Packet, PacketKind};
use super::protection::{DecryptedPacket, HeaderKey, PACKET_MIN, PacketKey, initial_secrets};
use crate::connection::{Connection, Direction, End, Side};
use crate::http::HttpLimits;
use crate::http3::Conversation;
use crate::instant::UnixNs;
use crate::rebuild::Sink;
use crate::secrets::Secrets;
use crate::segment::{Checksum, Segment};
use crate::stream::{DirectionContext, Stream, StreamContent, StreamPiece};
use crate::tls::TlsCounts;
use crate::tls::handshake::{HandshakeMessage, Messages};
use crate::tls::keys::Suite;
use crate::tracked::Context;
use farfield_wire::TcpFlags;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

/// Bytes of early data that wait for what becomes of it.
const HELD_BYTES_MAX: usize = 1 << 20;
/// Lengths of packets that are tried in a row of datagrams that a kernel had not cut apart yet.
const ROW_LENS: std::ops::RangeInclusive<usize> = 1_000..=1_500;
/// Rows whose length is looked for, on one connection.
const SEARCHES_MAX: u32 = 64;

/// Keys of one direction and one kind of packets.
#[derive(Debug)]
struct Keys {
    header: HeaderKey,
    packet: PacketKey,
}

impl Keys {
    fn of(suite: Suite, secret: &[u8]) -> Option<Keys> {
        Some(Keys { header: HeaderKey::of(suite, secret)?, packet: PacketKey::of(suite, secret)? })
    }
}

/// Keys behind the handshake, which an end replaces when it wants (RFC 9001, section 6).
#[derive(Debug)]
struct Updating {
    suite: Suite,
    secret: Vec<u8>,
    keys: Keys,
    phase: bool,
    previous: Option<PacketKey>,
}

/// One direction of a connection of QUIC.
#[derive(Debug, Default)]
struct EndState {
    initial: Option<Keys>,
    early: Option<Keys>,
    handshake: Option<Keys>,
    traffic: Option<Updating>,
    /// The numbers that are expected, of Initial packets, of Handshake packets, and of all others.
    next: [u64; 3],
    /// Bytes of the ids that this end chose for itself.
    id_len: usize,
    /// The handshake within Initial and Handshake packets.
    crypto: [Stream; 2],
    messages: [Messages; 2],
    /// The length of packets in rows of datagrams.
    row_len: usize,
    searches: u32,
    counts: Direction,
}

/// The fate of a client's early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ZeroRtt {
    Unknown,
    Accepted,
    Rejected,
}

/// A datagram's fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketFate {
    /// The datagram is of this connection.
    Used,
    /// The datagram begins another connection.
    Begins,
}

/// A connection under way.
#[derive(Debug)]
pub(crate) struct QuicConnection {
    pub id: u32,
    pub interface: u32,
    /// The client, then the server.
    pub ends: [SocketAddr; 2],
    secrets: Arc<Secrets>,
    states: [EndState; 2],
    random: Option<[u8; 32]>,
    suite: Option<Suite>,
    early: ZeroRtt,
    held: Vec<(UnixNs, Vec<u8>)>,
    held_bytes: usize,
    streams: BTreeMap<u64, [Stream; 2]>,
    http: Conversation,
    first: UnixNs,
    last: UnixNs,
    answered: Option<UnixNs>,
    secured: Option<UnixNs>,
    end: End,
    counts: TlsCounts,
    /// Bytes that wait behind holes of streams.
    waiting_bytes: usize,
    /// Bytes that may wait behind the holes of one stream.
    waiting_max: usize,
}

/// The keys of a client's and a server's Initial packets, if `datagram` begins with one of a client's whose
/// tag is right under them.
pub(super) fn begun(datagram: &[u8]) -> Option<[(Suite, Vec<u8>); 2]> {
    let (packet, _) = packet::read(datagram, 0)?;
    if packet.kind != PacketKind::Initial || packet.bytes.len() < packet.number_at + PACKET_MIN {
        return None;
    }
    let secrets = initial_secrets(packet.destination);
    let keys = Keys::of(Suite::Aes128Gcm, &secrets[CLIENT])?;
    let header = keys.header.open(packet.bytes, packet.number_at, 0)?;
    keys.packet.open(&header, packet.bytes)?;
    Some(secrets.map(|secret| (Suite::Aes128Gcm, secret)))
}

impl QuicConnection {
    /// A connection whose client sends a first Initial packet at `at`.
    pub fn new(
        id: u32,
        interface: u32,
        at: UnixNs,
        ends: [SocketAddr; 2],
        secrets: Arc<Secrets>,
        limits: HttpLimits,
    ) -> QuicConnection {
        QuicConnection {
            id,
            interface,
            ends,
            secrets,
            states: Default::default(),
            random: None,
            suite: None,
            early: ZeroRtt::Unknown,
            held: Vec::new(),
            held_bytes: 0,
            streams: BTreeMap::new(),
            http: Conversation::new(limits),
            first: at,
            last: at,
            answered: None,
            secured: None,
            end: End::Open,
            counts: TlsCounts::default(),
            waiting_bytes: 0,
            waiting_max: 0,
        }
    }

    /// Reads Initial packets with keys out of these secrets.
    pub fn begin_keys(&mut self, secrets: &[(Suite, Vec<u8>); 2]) {
        for (state, (suite, secret)) in self.states.iter_mut().zip(secrets) {
            state.initial = Keys::of(*suite, secret);
        }
    }

    /// True if an end said that it closes.
    pub fn is_closed(&self) -> bool {
        self.end != End::Open
    }

    /// The last datagram.
    pub fn last(&self) -> UnixNs {
        self.last
    }

    /// Bytes that are kept until others come.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes + self.held_bytes
    }

    /// Takes in a datagram that an end sent; `waiting_max` bytes may wait behind the holes of a stream.
    pub fn handle(&mut self, at: UnixNs, by: usize, datagram: &[u8], waiting_max: usize) -> PacketFate {
        self.waiting_max = waiting_max;
        if by == CLIENT && self.is_foreign_initial(datagram) {
            let Some(secrets) = begun(datagram) else { return self.pass_over(at, by, datagram.len()) };
            if self.suite.is_some() || self.is_closed() {
                return PacketFate::Begins;
            }
            // The server has asked for it with another id (RFC 9000, section 17.2.5).
            self.begin_keys(&secrets);
        }
        self.states[by].counts.packets += 1;
        self.last = self.last.max(at);
        if by == SERVER {
            self.answered.get_or_insert(at);
        }
        let mut rest = datagram;
        while !rest.is_empty() {
            let Some((packet, behind)) = packet::read(rest, self.states[1 - by].id_len) else {
                return self.pass_over(at, by, rest.len());
            };
            rest = match packet.kind {
                PacketKind::Retry => return PacketFate::Used,
                PacketKind::OneRtt => match self.open_one_rtt(by, &packet) {
                    Some((opened, len)) => {
                        self.handle_content(at, by, PacketKind::OneRtt, &opened.content);
                        &packet.bytes[len..]
                    }
                    None => return self.pass_over(at, by, rest.len()),
                },
                kind => {
                    match self.open_long(by, &packet) {
                        Some(opened) => {
                            // A sender without keys can write any id.
                            if matches!(kind, PacketKind::Initial | PacketKind::Handshake) {
                                self.states[by].id_len = packet.source.len();
                            }
                            self.handle_content(at, by, kind, &opened.content);
                        }
                        None => _ = self.pass_over(at, by, packet.bytes.len()),
                    }
                    behind
                }
            };
        }
        PacketFate::Used
    }

    /// True if a datagram of the client's begins with an Initial packet under other keys than those in use.
    fn is_foreign_initial(&self, datagram: &[u8]) -> bool {
        packet::read(datagram, 0).is_some_and(|(packet, _)| {
            packet.kind == PacketKind::Initial && self.try_long(CLIENT, &packet).is_none()
        })
    }

    /// Bytes that cannot be read. Behind the end of a connection there may be anything.
    fn pass_over(&mut self, at: UnixNs, by: usize, len: usize) -> PacketFate {
        self.last = self.last.max(at);
        if !self.is_closed() {
            self.counts.records += 1;
            self.counts.sealed[by] += len as u64;
        }
        PacketFate::Used
    }

    fn try_long(&self, by: usize, packet: &Packet<'_>) -> Option<DecryptedPacket> {
        let state = &self.states[by];
        let (keys, space) = match packet.kind {
            PacketKind::Initial => (&state.initial, 0),
            PacketKind::Handshake => (&state.handshake, 1),
            _ => (&state.early, 2),
        };
        let keys = keys.as_ref()?;
        let header = keys.header.open(packet.bytes, packet.number_at, state.next[space])?;
        keys.packet.open(&header, packet.bytes)
    }

    fn open_long(&mut self, by: usize, packet: &Packet<'_>) -> Option<DecryptedPacket> {
        if packet.kind == PacketKind::ZeroRtt && self.states[CLIENT].early.is_none() {
            self.find_early_keys(packet);
        }
        let opened = self.try_long(by, packet)?;
        let space = match packet.kind {
            PacketKind::Initial => 0,
            PacketKind::Handshake => 1,
            _ => 2,
        };
        let next = &mut self.states[by].next[space];
        *next = (*next).max(opened.number + 1);
        Some(opened)
    }

    /// The suite of early data is that of an earlier connection: those are tried that the secret has the
    /// length of.
    fn find_early_keys(&mut self, packet: &Packet<'_>) {
        let secrets = Arc::clone(&self.secrets);
        let secret = self.random.and_then(|random| secrets.of(&random)?.early.as_ref());
        let Some(secret) = secret else { return };
        for suite in [Suite::Aes128Gcm, Suite::ChaCha20, Suite::Aes256Gcm] {
            self.states[CLIENT].early = Keys::of(suite, secret);
            if self.states[CLIENT].early.is_some() && self.try_long(CLIENT, packet).is_some() {
                return;
            }
        }
        self.states[CLIENT].early = None;
    }

    /// A packet behind the handshake, and how many of `packet`'s bytes it has: a row of datagrams may not be
    /// cut apart.
    fn open_one_rtt(&mut self, by: usize, packet: &Packet<'_>) -> Option<(DecryptedPacket, usize)> {
        let bytes = packet.bytes;
        let state = &mut self.states[by];
        let next = state.next[2];
        let traffic = state.traffic.as_mut()?;
        let header = traffic.keys.header.open(bytes, packet.number_at, next)?;
        let is_other = (header.bytes[0] & 4 != 0) != traffic.phase;
        let next_secret = is_other.then(|| traffic.suite.next_secret(&traffic.secret, "quic ku"));
        let next_key = next_secret.as_ref().and_then(|secret| PacketKey::of(traffic.suite, secret));
        let keys = match is_other {
            true => [next_key.as_ref(), traffic.previous.as_ref()],
            false => [Some(&traffic.keys.packet), None],
        };
        let open = |len: usize| {
            let found = keys
                .iter()
                .enumerate()
                .find_map(|(place, key)| Some((key.as_ref()?.open(&header, &bytes[..len])?, place)));
            found.map(|(opened, place)| (opened, place, len))
        };
        let mut found = open(bytes.len());
        if found.is_none() && bytes.len() > state.row_len && state.row_len > 0 {
            found = open(state.row_len);
        }
        if found.is_none() && bytes.len() > *ROW_LENS.start() && state.searches < SEARCHES_MAX {
            state.searches += 1;
            let longest = bytes.len().min(*ROW_LENS.end());
            found = (*ROW_LENS.start()..longest).find_map(open);
            if let Some((_, _, len)) = found {
                state.row_len = len;
            }
        }
        let (opened, place, len) = found?;
        if let (true, 0, Some(key), Some(secret)) = (is_other, place, next_key, next_secret) {
            traffic.previous = Some(std::mem::replace(&mut traffic.keys.packet, key));
            (traffic.secret, traffic.phase) = (secret, !traffic.phase);
        }
        state.next[2] = next.max(opened.number + 1);
        Some((opened, len))
    }

    fn handle_content(&mut self, at: UnixNs, by: usize, kind: PacketKind, content: &[u8]) {
        if kind == PacketKind::ZeroRtt && self.early != ZeroRtt::Accepted {
            if self.early == ZeroRtt::Unknown && self.held_bytes < HELD_BYTES_MAX {
                self.held_bytes += content.len();
                self.held.push((at, content.to_vec()));
            }
            return;
        }
        let mut frames = Vec::new();
        if !frame::read(content, |frame| frames.push(frame)) {
            self.counts.records += 1;
            self.counts.sealed[by] += content.len() as u64;
        }
        for frame in frames {
            match frame {
                Frame::Crypto { offset, content } => self.handle_crypto(at, by, kind, offset, content),
                Frame::Stream { id, offset, content, is_last } if id % 4 == 0 => {
                    self.handle_stream(at, by, id / 4, &segment(self.ends[by], offset, content, is_last));
                }
                Frame::Reset { id } if id % 4 == 0 => self.http.handle_reset(id / 4),
                Frame::Close if !self.is_closed() => {
                    let side = if by == CLIENT { Side::Client } else { Side::Server };
                    self.end = End::Fin { side, at, simultaneous: false };
                }
                _ => {}
            }
        }
    }

    fn around(&self) -> DirectionContext {
        DirectionContext { handshake_ns: None, window: None, waiting_max: self.waiting_max }
    }

    fn handle_stream(&mut self, at: UnixNs, by: usize, number: u64, segment: &Segment<'_>) {
        let around = self.around();
        if number < self.http.passed() || number - self.http.passed() > crate::http3::OPEN_MAX {
            return;
        }
        let streams = self.streams.entry(number).or_insert_with(|| {
            let mut streams: [Stream; 2] = Default::default();
            streams.iter_mut().for_each(|stream| stream.begin(0));
            streams
        });
        let (http, stream) = (&mut self.http, &mut streams[by]);
        self.waiting_bytes -= stream.waiting_bytes();
        stream.handle_segment(at, segment, &around, |piece| match by {
            CLIENT => http.handle_request(number, &piece),
            _ => http.handle_reply(number, &piece),
        });
        self.waiting_bytes += stream.waiting_bytes();
    }

    fn handle_crypto(&mut self, at: UnixNs, by: usize, kind: PacketKind, offset: u64, content: &[u8]) {
        let level = match kind {
            PacketKind::Initial => 0,
            PacketKind::Handshake => 1,
            // Tickets.
            _ => return,
        };
        let around = self.around();
        let segment = segment(self.ends[by], offset, content, false);
        let EndState { crypto, messages, .. } = &mut self.states[by];
        crypto[level].begin(0);
        let mut found = Vec::new();
        self.waiting_bytes -= crypto[level].waiting_bytes();
        crypto[level].handle_segment(at, &segment, &around, |piece: StreamPiece<'_>| match piece.what {
            StreamContent::Bytes(bytes) => {
                messages[level].handle(bytes, |message| found.push((message, piece.available)));
            }
            _ => messages[level].lose(),
        });
        self.waiting_bytes += crypto[level].waiting_bytes();
        for (message, available) in found {
            match message {
                HandshakeMessage::ClientHello(hello) if by == CLIENT && self.random.is_none() => {
                    self.random = Some(hello.random);
                }
                HandshakeMessage::ServerHello(hello) if by == SERVER && self.suite.is_none() => {
                    self.begin_secrets(hello.suite);
                }
                HandshakeMessage::EncryptedExtensions(extensions)
                    if by == SERVER && self.early == ZeroRtt::Unknown =>
                {
                    self.early = if extensions.early_data { ZeroRtt::Accepted } else { ZeroRtt::Rejected };
                    self.held_bytes = 0;
                    for (at, content) in std::mem::take(&mut self.held) {
                        self.handle_content(at, CLIENT, PacketKind::ZeroRtt, &content);
                    }
                }
                HandshakeMessage::Finished if by == SERVER => _ = self.secured.get_or_insert(available),
                _ => {}
            }
        }
    }

    /// Begins decryption: both ends have said what the keys after their hellos depend on.
    fn begin_secrets(&mut self, suite: u16) {
        let secrets = Arc::clone(&self.secrets);
        let known = self.random.and_then(|random| secrets.of(&random));
        self.counts.lacks_secrets = known.is_none();
        let suite = Suite::of(suite);
        self.counts.is_other = suite.is_none() && known.is_some();
        let (Some(known), Some(suite)) = (known, suite) else { return };
        self.suite = Some(suite);
        for (by, state) in self.states.iter_mut().enumerate() {
            state.handshake = known.handshake[by].as_ref().and_then(|secret| Keys::of(suite, secret));
            state.traffic = known.traffic[by].as_ref().and_then(|secret| {
                let keys = Keys::of(suite, secret)?;
                Some(Updating { suite, secret: secret.clone(), keys, phase: false, previous: None })
            });
        }
    }

    /// Hands on transactions that are over; all, if the connection `ended`.
    pub fn hand_on(&mut self, sink: &mut impl Sink, ended: bool) {
        while let Some(transaction) = self.http.poll_transaction(self.id, ended, self.last) {
            sink.transaction(transaction);
        }
        let passed = self.http.passed();
        while let Some(first) = self.streams.first_entry().filter(|first| *first.key() < passed) {
            self.waiting_bytes -= first.remove().iter().map(Stream::waiting_bytes).sum::<usize>();
        }
    }

    /// Ends the connection: the rest of its transactions, then itself.
    pub fn finish<S: Sink>(mut self, context: &mut Context<'_, S>) {
        // Data that waits behind a hole was sent, and the data in the hole was not captured.
        for (&number, streams) in &mut self.streams {
            let [asked, answered] = streams;
            asked.flush(self.last, |piece| self.http.handle_request(number, &piece));
            answered.flush(self.last, |piece| self.http.handle_reply(number, &piece));
        }
        self.hand_on(context.sink, true);
        let limits = &mut *context.limits;
        limits.tls_sessions += 1;
        limits.tls_without_secrets += u64::from(self.counts.lacks_secrets);
        limits.tls_unread_suites += u64::from(self.counts.is_other);
        limits.tls_records_unread += self.counts.records;
        let [client_side, server_side] =
            [0, 1].map(|by| Direction { sealed_bytes: self.counts.sealed[by], ..self.states[by].counts });
        context.sink.connection(Connection {
            id: self.id,
            interface: self.interface,
            client: self.ends[CLIENT],
            server: self.ends[SERVER],
            is_quic: true,
            seen_from_start: true,
            syn: Some(self.first),
            syn_ack: self.answered,
            established: self.secured,
            secured: self.secured,
            first: self.first,
            last: self.last,
            syn_tries: 1,
            client_side,
            server_side,
            end: self.end,
            requests: self.http.requests(),
            going_away: None,
        });
    }
}

/// A frame's content as a segment of a direction of TCP, which is put in order alike.
fn segment(from: SocketAddr, offset: u64, data: &[u8], is_last: bool) -> Segment<'_> {
    Segment {
        source: from,
        destination: from,
        ident: 0,
        // The direction's first byte has number 1.
        seq: (offset as u32).wrapping_add(1),
        ack: 0,
        flags: TcpFlags(if is_last { TcpFlags::FIN.0 } else { 0 }),
        window: u16::MAX,
        options: &[],
        data,
        data_len: data.len(),
        checksum: Checksum::Unknown,
    }
}
