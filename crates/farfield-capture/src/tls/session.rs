//! A session: what both ends say of their keys, and what is under them.

use super::direction::{DecryptedRecord, Epoch, Opener};
use super::handshake::{ClientHello, HandshakeMessage, Messages, ServerHello};
use super::keys::{RecordKey, Suite};
use super::records::{Item, Records, TlsRecord};
use crate::instant::UnixNs;
use crate::secrets::Secrets;
use crate::stream::{StreamContent, StreamPiece};
use std::sync::Arc;

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// An alert that nothing more is said: of any level (RFC 8446, section 6.1).
const CLOSE_NOTIFY: u8 = 0;

/// Bytes that a client's records may have while it is not known what becomes of them, and their count.
const HELD_BYTES_MAX: usize = 1 << 20;
const HELD_MAX: usize = 4096;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// True if a client that speaks TLS begins with these bytes.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    matches!(bytes, [HANDSHAKE] | [HANDSHAKE, 3, ..])
}

/// Counts of what could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TlsCounts {
    /// No secret of the session is known.
    pub lacks_secrets: bool,
    /// The suite or the version is none that is read.
    pub is_other: bool,
    /// Records that were not captured whole, or are under no key that is known.
    pub records: u64,
    /// Bytes of content, of the client and of the server, that could not be read.
    pub sealed: [u64; 2],
}

/// The fate of a client's early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyData {
    /// None is sent, or it counts.
    Accepted,
    /// The server's word on it is not known yet.
    Offered,
    /// The server passes over it (RFC 8446, section 4.2.10).
    Rejected,
    /// The server's word on it cannot be read.
    Unknown,
}

/// The protection of a direction's records.
#[derive(Debug)]
enum Protection {
    /// Records are as they were sent.
    Clear,
    /// Records of TLS 1.2 from its ChangeCipherSpec on.
    Changes(Opener),
    /// Records that are marked as application data, of TLS 1.3; all, of TLS 1.2.
    Sealed(Opener),
    /// No secret is known.
    Unknown,
}

/// One direction of a session of TLS.
#[derive(Debug)]
struct EndState {
    records: Records,
    messages: Messages,
    protection: Protection,
    /// Bytes of content that could not be read, and may be of the handshake.
    pending: u64,
    /// The end of what it says was handed on.
    has_ended: bool,
}

/// Something that an end said.
#[derive(Debug)]
pub(crate) struct ApplicationData<'a> {
    pub by_client: bool,
    /// True if both ends agreed on HTTP/2.
    pub is_http2: bool,
    pub piece: StreamPiece<'a>,
}

/// A session of TLS.
#[derive(Debug)]
pub(crate) struct Session {
    secrets: Arc<Secrets>,
    client: Option<ClientHello>,
    server: Option<ServerHello>,
    ends: [EndState; 2],
    early: EarlyData,
    /// Items of a client, held until it is known what becomes of them.
    held: Vec<Item>,
    held_bytes: usize,
    /// True if both ends agreed on HTTP/2.
    is_http2: bool,
    secured: Option<UnixNs>,
    counts: TlsCounts,
}

impl Session {
    /// A session from its beginning, whose secrets are among `secrets`.
    pub fn new(secrets: Arc<Secrets>) -> Session {
        let end = || EndState {
            records: Records::new(),
            messages: Messages::default(),
            protection: Protection::Clear,
            pending: 0,
            has_ended: false,
        };
        Session {
            secrets,
            client: None,
            server: None,
            ends: [end(), end()],
            early: EarlyData::Accepted,
            held: Vec::new(),
            held_bytes: 0,
            is_http2: false,
            secured: None,
            counts: TlsCounts::default(),
        }
    }

    /// The packet that made the server's last message of the handshake available.
    pub fn secured(&self) -> Option<UnixNs> {
        self.secured
    }

    /// Counts of what could not be read.
    pub fn counts(&self) -> TlsCounts {
        self.counts
    }

    /// Takes in what an end sent; hands on what it said.
    pub fn handle(
        &mut self,
        by_client: bool,
        piece: &StreamPiece<'_>,
        hand_on: &mut dyn FnMut(ApplicationData<'_>),
    ) {
        let by = if by_client { CLIENT } else { SERVER };
        let mut items = Vec::new();
        self.ends[by].records.handle(piece, &mut |item| items.push(item));
        for item in items {
            if by == CLIENT && self.must_wait() {
                self.hold(item, hand_on);
            } else {
                self.handle_item(by, item, hand_on);
            }
        }
        if by == SERVER {
            self.release(hand_on);
        }
    }

    /// Nothing more is captured: what waits is judged by what is known.
    pub fn finish(&mut self, hand_on: &mut dyn FnMut(ApplicationData<'_>)) {
        if !self.held.is_empty() {
            self.give_up(SERVER);
            self.release(hand_on);
        }
    }

    /// True if the client's next record cannot be judged yet.
    fn must_wait(&self) -> bool {
        let is_undecided = self.server.is_none() || self.early == EarlyData::Offered;
        self.client.is_some() && is_undecided && !matches!(self.ends[CLIENT].protection, Protection::Unknown)
    }

    /// Keeps what the client sent until it can be judged.
    fn hold(&mut self, item: Item, hand_on: &mut dyn FnMut(ApplicationData<'_>)) {
        self.held_bytes += match &item {
            Item::Record(record) => record.body.len(),
            _ => 0,
        };
        self.held.push(item);
        if self.held_bytes > HELD_BYTES_MAX || self.held.len() > HELD_MAX {
            self.give_up(CLIENT);
            self.release(hand_on);
        }
    }

    /// Reads what waited, once it can be judged.
    fn release(&mut self, hand_on: &mut dyn FnMut(ApplicationData<'_>)) {
        if self.held.is_empty() || self.must_wait() {
            return;
        }
        self.held_bytes = 0;
        for item in std::mem::take(&mut self.held) {
            self.handle_item(CLIENT, item, hand_on);
        }
    }

    /// Nothing of an end's records can be read from here on.
    fn give_up(&mut self, by: usize) {
        self.ends[by].protection = Protection::Unknown;
        self.ends[by].messages.lose();
        if by == SERVER {
            // The server's word on early data is not known, nor which keys both ends use.
            if self.early == EarlyData::Offered {
                self.early = EarlyData::Unknown;
            }
            if self.server.is_none() {
                self.ends[CLIENT].protection = Protection::Unknown;
            }
        }
    }

    fn handle_item(&mut self, by: usize, item: Item, hand_on: &mut dyn FnMut(ApplicationData<'_>)) {
        match item {
            Item::Record(record) => self.handle_record(by, &record, hand_on),
            Item::Lost { offset, count, captured, available } => {
                self.ends[by].records.lose();
                self.give_up(by);
                self.counts.sealed[by] += count;
                let what = StreamContent::Missing(count);
                self.say(
                    by,
                    &StreamPiece { offset, what, captured, available, begins_packet: false },
                    hand_on,
                );
            }
            Item::Fin { offset, captured, available } => {
                if by == SERVER {
                    self.give_up(SERVER);
                    self.release(hand_on);
                }
                let piece = StreamPiece {
                    offset,
                    what: StreamContent::Fin,
                    captured,
                    available,
                    begins_packet: false,
                };
                self.say_pending(by, &piece, hand_on);
                self.say(by, &piece, hand_on);
            }
        }
    }

    /// Hands on what an end said, up to its end; of a session without keys nothing.
    fn say(&mut self, by: usize, piece: &StreamPiece<'_>, hand_on: &mut dyn FnMut(ApplicationData<'_>)) {
        let has_keys = self.server.is_some() && !self.counts.lacks_secrets && !self.counts.is_other;
        if has_keys && !self.ends[by].has_ended {
            self.ends[by].has_ended = piece.what == StreamContent::Fin;
            hand_on(ApplicationData { by_client: by == CLIENT, is_http2: self.is_http2, piece: *piece });
        }
    }

    /// Hands on content that could not be read and turned out to be none of the handshake's.
    fn say_pending(
        &mut self,
        by: usize,
        before: &StreamPiece<'_>,
        hand_on: &mut dyn FnMut(ApplicationData<'_>),
    ) {
        let count = std::mem::take(&mut self.ends[by].pending);
        if count > 0 {
            self.say(
                by,
                &StreamPiece { what: StreamContent::Missing(count), begins_packet: false, ..*before },
                hand_on,
            );
        }
    }

    fn handle_record(&mut self, by: usize, record: &TlsRecord, hand_on: &mut dyn FnMut(ApplicationData<'_>)) {
        let is_13 = self.server.is_some_and(|hello| hello.version == 0x0304);
        match &mut self.ends[by].protection {
            Protection::Clear | Protection::Changes(_) if record.kind() == HANDSHAKE => {
                self.handle_clear(by, record)
            }
            protection @ Protection::Changes(_) if record.kind() == CHANGE_CIPHER_SPEC => {
                if let Protection::Changes(opener) = std::mem::replace(protection, Protection::Clear) {
                    *protection = Protection::Sealed(opener);
                }
            }
            Protection::Sealed(_) if is_13 && record.kind() == HANDSHAKE => self.handle_clear(by, record),
            Protection::Sealed(_) if !is_13 || record.kind() == APPLICATION_DATA => {
                self.handle_sealed(by, record, hand_on)
            }
            Protection::Unknown | Protection::Clear | Protection::Changes(_)
                if record.kind() == APPLICATION_DATA =>
            {
                self.handle_unread(by, record, 0, hand_on)
            }
            // Alerts in the clear, and ChangeCipherSpec of TLS 1.3, which says nothing.
            _ => {}
        }
    }

    /// A record of the handshake that is not sealed.
    fn handle_clear(&mut self, by: usize, record: &TlsRecord) {
        if !record.is_whole() {
            return self.give_up(by);
        }
        let mut found = Vec::new();
        self.ends[by].messages.handle(&record.body, |message| found.push(message));
        for message in found {
            match message {
                HandshakeMessage::ClientHello(hello) if by == CLIENT && self.client.is_none() => {
                    self.client = Some(hello);
                    self.early = if hello.offers_early { EarlyData::Offered } else { EarlyData::Accepted };
                }
                HandshakeMessage::Retry if by == SERVER => self.reject_early(),
                HandshakeMessage::ServerHello(hello) if by == SERVER && self.server.is_none() => {
                    self.begin_keys(hello);
                }
                _ => {}
            }
        }
    }

    fn reject_early(&mut self) {
        if self.early == EarlyData::Offered {
            self.early = EarlyData::Rejected;
        }
    }

    /// Begins decryption: both ends have said what their keys depend on.
    fn begin_keys(&mut self, hello: ServerHello) {
        self.server = Some(hello);
        let Some(client) = self.client else { return self.lack_keys(false) };
        self.is_http2 = hello.extensions.is_http2;
        let secrets = Arc::clone(&self.secrets);
        let Some(known) = secrets.of(&client.random) else { return self.lack_keys(true) };
        let Some(suite) = Suite::of(hello.suite) else { return self.lack_keys(false) };
        match hello.version {
            0x0304 => {
                let early = known.early.clone().map(|secret| (Epoch::Early, secret));
                let later = |by: usize| {
                    let handshake = known.handshake[by].clone().map(|secret| (Epoch::Handshake, secret));
                    let traffic = known.traffic[by].clone().map(|secret| (Epoch::Traffic, secret));
                    handshake.into_iter().chain(traffic)
                };
                let client = Opener::of_secrets(suite, early.into_iter().chain(later(CLIENT)));
                self.ends[CLIENT].protection = Protection::Sealed(client);
                self.ends[SERVER].protection = Protection::Sealed(Opener::of_secrets(suite, later(SERVER)));
            }
            0x0303 => {
                // Early data that a client offers is none in TLS 1.2 (RFC 8446, section 4.2.10).
                self.reject_early();
                let keys = known
                    .master
                    .as_ref()
                    .and_then(|master| RecordKey::of_master(suite, master, &client.random, &hello.random));
                let Some(keys) = keys else { return self.lack_keys(true) };
                for (end, key) in self.ends.iter_mut().zip(keys) {
                    end.protection = Protection::Changes(Opener::of_key(suite, key));
                }
            }
            _ => self.lack_keys(false),
        }
    }

    fn lack_keys(&mut self, of_secrets: bool) {
        (self.counts.lacks_secrets, self.counts.is_other) = (of_secrets, !of_secrets);
        self.give_up(CLIENT);
        self.give_up(SERVER);
    }

    fn handle_sealed(&mut self, by: usize, record: &TlsRecord, hand_on: &mut dyn FnMut(ApplicationData<'_>)) {
        let Protection::Sealed(opener) = &mut self.ends[by].protection else { return };
        let Some(opened) = opener.open(record.header, record.is_whole().then_some(&record.body[..])) else {
            let (overhead, epoch) = (opener.overhead(), opener.epoch());
            return self.handle_unopened(by, record, overhead, epoch, hand_on);
        };
        if opened.epoch == Epoch::Traffic && opened.skipped > 0 {
            self.say_pending(by, &record.place().piece(StreamContent::Fin), hand_on);
        }
        match opened.kind {
            HANDSHAKE => self.handle_handshake(by, record, &opened),
            APPLICATION_DATA => self.handle_content(by, record, &opened, hand_on),
            ALERT if opened.content.get(1) == Some(&CLOSE_NOTIFY) => {
                self.say(by, &record.place().piece(StreamContent::Fin), hand_on);
            }
            _ => {}
        }
    }

    /// Messages of the handshake that were sealed.
    fn handle_handshake(&mut self, by: usize, record: &TlsRecord, opened: &DecryptedRecord) {
        // Messages after the handshake are no matter of the keys.
        if by == CLIENT || self.secured.is_some() {
            return;
        }
        let end = &mut self.ends[SERVER];
        if opened.skipped > 0 {
            end.messages.lose();
        }
        let mut found = Vec::new();
        end.messages.handle(&opened.content, |message| found.push(message));
        for message in found {
            match message {
                HandshakeMessage::EncryptedExtensions(extensions) => {
                    self.is_http2 = extensions.is_http2;
                    if self.early == EarlyData::Offered {
                        let is_accepted = extensions.early_data;
                        self.early = if is_accepted { EarlyData::Accepted } else { EarlyData::Rejected };
                    }
                }
                HandshakeMessage::Finished => self.secured = Some(record.available),
                _ => {}
            }
        }
    }

    fn handle_content(
        &mut self,
        by: usize,
        record: &TlsRecord,
        opened: &DecryptedRecord,
        hand_on: &mut dyn FnMut(ApplicationData<'_>),
    ) {
        if opened.epoch == Epoch::Early {
            match self.early {
                // Those requests are sent again.
                EarlyData::Rejected => return,
                EarlyData::Unknown | EarlyData::Offered => {
                    return self.handle_unread(by, record, 17, hand_on);
                }
                EarlyData::Accepted => {}
            }
        }
        if by == SERVER && self.early == EarlyData::Offered {
            // Its first messages were not read, and this comes after them.
            self.early = EarlyData::Unknown;
            self.release(hand_on);
        }
        record.hand_on(opened.before, &opened.content, &mut |piece| self.say(by, piece, hand_on));
    }

    fn handle_unopened(
        &mut self,
        by: usize,
        record: &TlsRecord,
        overhead: usize,
        epoch: Option<Epoch>,
        hand_on: &mut dyn FnMut(ApplicationData<'_>),
    ) {
        let is_12 = self.server.is_some_and(|hello| hello.version == 0x0303);
        if is_12 && record.kind() != APPLICATION_DATA {
            self.counts.records += 1;
            return;
        }
        if epoch == Some(Epoch::Traffic) {
            return self.handle_unread(by, record, overhead, hand_on);
        }
        if by == CLIENT && epoch != Some(Epoch::Handshake) && self.early == EarlyData::Rejected {
            return;
        }
        let count = record.len.saturating_sub(overhead) as u64;
        self.counts.records += 1;
        self.counts.sealed[by] += count;
        self.ends[by].pending += count;
    }

    /// Content that is not known, but for its length.
    fn handle_unread(
        &mut self,
        by: usize,
        record: &TlsRecord,
        overhead: usize,
        hand_on: &mut dyn FnMut(ApplicationData<'_>),
    ) {
        let count = record.len.saturating_sub(overhead) as u64;
        self.counts.records += 1;
        if count == 0 {
            return;
        }
        self.counts.sealed[by] += count;
        // The kind of content of TLS 1.3, and how much of it is padding, is sealed as well.
        let is_12 = self.server.is_some_and(|hello| hello.version == 0x0303);
        let is_length_known = is_12 && record.is_only_cut();
        let what = if is_length_known { StreamContent::Cut(count) } else { StreamContent::Missing(count) };
        self.say(by, &record.place().piece(what), hand_on);
    }
}
