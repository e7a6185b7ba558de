//! Round trips, kills, budgets, and what other readers make of the file.

mod other_readers;

use super::reader::in_memory;
use super::writer::{BATCH_ROWS, GROUP_ROWS};
use super::*;
use farfield_base::{
    Bytes, Duration, EarlyData, EventStats, HostNumber, HttpStats, Instant, Outcome, PagePart, Sample,
    SpokenVersion, Stamp, TcpStats, TlsStats, TlsVersion,
};
use proptest::prelude::*;
use std::cell::Cell;
use std::io;
use std::num::{NonZeroU8, NonZeroU32};
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

type Writer = SamplesWriter<Vec<u8>>;

fn label() -> RunLabel {
    RunLabel { scenario: "a scenario — with a dash".to_owned(), seed: u64::MAX }
}

fn writer(keep: Keep) -> Writer {
    SamplesWriter::create(Vec::new(), label(), keep, None).expect("memory takes all")
}

/// The `place`-th sample of a run on a few connections, some of them unlucky.
fn sample(place: u64) -> Sample {
    let due = place * 20_000 + place % 7;
    let at = |after: u64| Stamp::at(Instant::from_ns(due + after));
    let opened = place.is_multiple_of(10);
    let answered = !place.is_multiple_of(13);
    Sample {
        due: Instant::from_ns(due),
        connect_begun: if opened { at(500) } else { Stamp::NEVER },
        connected: if opened { at(900) } else { Stamp::NEVER },
        sent: at(1_000),
        first_byte: if answered { at(300_000 + place % 1_000) } else { Stamp::NEVER },
        done: Instant::from_ns(due + 310_000),
        body_bytes: place % 5_000,
        reply_bytes: place % 5_000 + 200,
        user: (place % 64) as u32,
        connection: if place.is_multiple_of(1_000) { Sample::NO_CONNECTION } else { (place / 10) as u32 },
        number: (place % 10) as u32,
        request: (place % 3) as u32,
        class: (place % 2) as u16,
        host: HostNumber::at((place % 3) as usize),
        status: if answered { 200 } else { 0 },
        outcome: if answered { Outcome::Ok } else { Outcome::TimedOut },
        tcp: NonZeroU8::new((place % 4) as u8).map(|syn_tries| TcpStats {
            syn_tries,
            retransmits: (place % 3) as u16,
            out_of_order: (place % 5) as u16,
            srtt_us: NonZeroU32::new((place % 6) as u32),
        }),
        tls: opened.then(|| TlsStats {
            secured: Instant::from_ns(due + 950),
            version: TlsVersion::ALL[(place / 10 % 2) as usize],
            resumed: place.is_multiple_of(30),
            early: EarlyData::ALL[(place / 10 % 3) as usize],
        }),
        http: match place % 5 {
            0 => HttpStats::UNKNOWN,
            1 => HttpStats::of_http2((place % 7) as u32 * 2 + 1, (place % 9) as u32),
            2 => HttpStats::of_http3(place % 7 * 4, (place % 9) as u32),
            _ => HttpStats::of(SpokenVersion::ALL[(place % 4) as usize]),
        },
        longest_gap: Duration::from_ns(place % 4 * 1_000),
        events: match place % 6 {
            0 => Some(EventStats::NONE),
            1 => {
                let (first, last) = (at(310_000), at(310_000 + place));
                Some(EventStats { events: place as u32 + 1, first, last, left: place.is_multiple_of(4) })
            }
            _ => None,
        },
        page: PagePart::ALL[(place % 5) as usize],
        session: if place.is_multiple_of(11) { Sample::NO_SESSION } else { (place / 30) as u32 },
    }
}

fn any_event_stats() -> impl Strategy<Value = Option<EventStats>> {
    let last = |ns: u64| Stamp::at(Instant::from_ns(ns % u64::MAX));
    let counted = (1u32.., any_word(), any_word(), any::<bool>())
        .prop_map(move |(events, a, b, left)| EventStats { events, first: last(a), last: last(b), left });
    let none = any::<bool>().prop_map(|left| EventStats { left, ..EventStats::NONE });
    prop::option::of(prop_oneof![counted, none])
}

fn any_tcp_stats() -> impl Strategy<Value = Option<TcpStats>> {
    let stats = (any::<NonZeroU8>(), any::<u16>(), any::<u16>(), any_number());
    prop::option::of(stats.prop_map(|(syn_tries, retransmits, out_of_order, srtt)| TcpStats {
        syn_tries,
        retransmits,
        out_of_order,
        srtt_us: NonZeroU32::new(srtt),
    }))
}

fn any_tls_stats() -> impl Strategy<Value = Option<TlsStats>> {
    let versions = prop::sample::select(TlsVersion::ALL.to_vec());
    let stats = (any_word(), versions, any::<bool>(), prop::sample::select(EarlyData::ALL.to_vec()));
    prop::option::of(stats.prop_map(|(secured, version, resumed, early)| TlsStats {
        secured: Instant::from_ns(secured),
        version,
        resumed,
        early,
    }))
}

fn any_http_stats() -> impl Strategy<Value = HttpStats> {
    let versions = prop::sample::select(SpokenVersion::ALL.to_vec());
    prop_oneof![
        Just(HttpStats::UNKNOWN),
        versions.prop_map(HttpStats::of),
        (any_number(), any_number()).prop_map(|(stream, stalled)| HttpStats::of_http2(stream | 1, stalled)),
        (any_number(), any_number())
            .prop_map(|(stream, stalled)| HttpStats::of_http3((stream & !3).into(), stalled)),
    ]
}

fn run(range: std::ops::Range<u64>) -> Vec<Sample> {
    range.map(sample).collect()
}

fn any_stamp() -> impl Strategy<Value = Stamp> {
    let edges = prop::sample::select(vec![0, 1, i64::MAX as u64, 1 << 63, u64::MAX - 1]);
    prop_oneof![
        Just(Stamp::NEVER),
        any::<u64>().prop_map(|ns| Stamp::at(Instant::from_ns(ns))),
        edges.prop_map(|ns| Stamp::at(Instant::from_ns(ns))),
    ]
}

fn any_word() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), prop::sample::select(vec![0, i64::MAX as u64, 1 << 63, u64::MAX])]
}

fn any_number() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), prop::sample::select(vec![0, i32::MAX as u32, 1 << 31, u32::MAX])]
}

prop_compose! {
    fn any_sample()(
        (due, done, body_bytes, reply_bytes) in (any_word(), any_word(), any_word(), any_word()),
        (connect_begun, connected) in (any_stamp(), any_stamp()),
        (sent, first_byte) in (any_stamp(), any_stamp()),
        (user, connection, number, request) in (any_number(), any_number(), any_number(), any_number()),
        session in any_number(),
        (class, status) in any::<(u16, u16)>(),
        host in 0..HostNumber::MOST,
        outcome in prop::sample::select(Outcome::ALL.to_vec()),
        tcp in any_tcp_stats(),
        tls in any_tls_stats(),
        http in any_http_stats(),
        page in prop::sample::select(PagePart::ALL.to_vec()),
        longest_gap in any_word(),
        events in any_event_stats(),
    ) -> Sample {
        let (due, done) = (Instant::from_ns(due), Instant::from_ns(done));
        let host = HostNumber::at(host);
        let longest_gap = Duration::from_ns(longest_gap);
        Sample {
            due, connect_begun, connected, sent, first_byte, done, body_bytes, reply_bytes,
            user, connection, number, request, class, host, status, outcome, tcp, tls, http, page, session,
            longest_gap, events,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read(
        samples in prop::collection::vec(any_sample(), 0..300),
        pieces in prop::collection::vec((0usize..100, any::<bool>()), 0..8),
    ) {
        let mut writer = writer(Keep::All);
        let mut rest = &samples[..];
        for (length, checkpoint) in pieces {
            let (piece, later) = rest.split_at(length.min(rest.len()));
            writer.write(piece).unwrap();
            if checkpoint {
                writer.checkpoint().unwrap();
            }
            rest = later;
        }
        writer.write(rest).unwrap();
        let written = writer.finish().unwrap();
        prop_assert_eq!(written.kept, samples.len() as u64);
        prop_assert_eq!(written.bytes, Bytes(written.file.len() as u64));
        prop_assert_eq!(read_samples(&written.file).unwrap(), samples);
    }
}

/// Any damaged byte gives an error or other values, never a panic or rows that never were.
#[test]
fn damage_panics_nobody() {
    let mut writer = writer(Keep::All);
    writer.write(&run(0..40)).unwrap();
    let mut bytes = writer.finish().unwrap().file;
    let mut beyond_telling = 0;
    for place in 0..bytes.len() {
        // The second turns a page's delta encoding into one that its decoder panics on.
        for with in [0x01, 0x1a, 0x80] {
            bytes[place] ^= with;
            match read_samples(&bytes) {
                Ok(samples) => assert!(samples.len() <= 40, "byte {place} made {} rows", samples.len()),
                Err(SamplesError::Pages) => beyond_telling += 1,
                Err(_) => {}
            }
            bytes[place] ^= with;
        }
    }
    assert!(beyond_telling > 0, "the guard around the decoders was not put to the test");
}

/// Some samples have TLS, streams or an emulated TCP, and the piece that each is written in has no others.
#[test]
fn what_only_some_pieces_have_is_in_its_rows() {
    let samples = run(0..300);
    let mut writer = writer(Keep::All);
    samples.chunks(1).for_each(|piece| writer.write(piece).unwrap());
    assert_eq!(read_samples(&writer.finish().unwrap().file).unwrap(), samples);
}

#[test]
fn row_groups_join_without_a_seam() {
    // Groups of a page and of two, and one that has begun.
    let samples = run(0..2 * GROUP_ROWS + BATCH_ROWS as u64 + 77);
    let mut writer = writer(Keep::All);
    samples.chunks(999).for_each(|piece| writer.write(piece).unwrap());
    assert_eq!(read_samples(&writer.finish().unwrap().file).unwrap(), samples);
}

#[test]
fn the_footer_tells_of_the_run() {
    let mut writer = writer(Keep::EveryKth(10.try_into().unwrap()));
    writer.write(&run(0..95)).unwrap();
    writer.checkpoint().unwrap();
    let killed = SamplesFile::open(in_memory(writer.file())).unwrap();
    assert_eq!((killed.is_complete(), killed.is_torn()), (false, false));
    let finished = SamplesFile::open(in_memory(&writer.finish().unwrap().file)).unwrap();
    assert_eq!((finished.is_complete(), finished.is_torn()), (true, false));
    assert_eq!((finished.kept(), finished.left_out()), (10, 85));
    assert_eq!(finished.keep(), Keep::EveryKth(10.try_into().unwrap()));
    assert_eq!(finished.run(), &label());
}

/// A kill right after each checkpoint leaves a whole file with the rows up to then.
#[test]
fn a_kill_after_a_checkpoint_leaves_the_rows_up_to_then() {
    let samples = run(0..GROUP_ROWS + 60_000);
    let mut writer = writer(Keep::All);
    let mut written = 0;
    for step in [0, 1, 10, 7_000, BATCH_ROWS, 0, 100_000, 20_000, 40_000, 5] {
        let piece = &samples[written..(written + step).min(samples.len())];
        writer.write(piece).unwrap();
        writer.checkpoint().unwrap();
        written += piece.len();
        assert_eq!(Bytes(writer.file().len() as u64), writer.bytes());
        let left = SamplesFile::open(in_memory(writer.file())).unwrap();
        assert!(!left.is_torn() && !left.is_complete());
        let rows: Vec<_> = left.samples().map(Result::unwrap).collect();
        assert!(rows == samples[..written], "{} rows instead of {written}", rows.len());
    }
}

/// A file that looks, after each thing that is done to it and in the midst of it, at what a kill would
/// leave.
#[derive(Default)]
struct Watched {
    bytes: Vec<u8>,
    /// The fewest rows and the most that a reader may find: those of the last checkpoint, or of the one
    /// under way.
    rows: Rc<Cell<(u64, u64)>>,
    /// True once the first footer is there.
    begun: bool,
    looked: u64,
}

impl Watched {
    fn look(&mut self) {
        let left = SamplesFile::open(in_memory(&self.bytes)).unwrap();
        let (least, most) = self.rows.get();
        assert!(!left.is_torn(), "after {} looks", self.looked);
        assert!((least..=most).contains(&left.kept()), "{} rows, not {least} to {most}", left.kept());
        self.looked += 1;
        if self.looked.is_multiple_of(40) {
            let rows: Vec<_> = left.samples().map(Result::unwrap).collect();
            assert!(rows == run(0..left.kept()), "other rows after {} looks", self.looked);
        }
    }
}

impl SampleFile for Watched {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let is_one_step = bytes.len() == 8 && offset.is_multiple_of(8);
        if self.begun && !is_one_step {
            self.bytes.write_at(offset, &bytes[..bytes.len() / 2])?;
            self.look();
        }
        self.bytes.write_at(offset, bytes)?;
        if self.begun {
            self.look();
        }
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        SampleFile::truncate(&mut self.bytes, length)?;
        self.begun = true;
        self.look();
        Ok(())
    }
}

/// Checkpoints are made by the clock on the wall: a run in virtual time that is ended early leaves the same
/// bytes on a busy machine.
#[test]
fn a_file_that_ends_early_does_not_show_its_checkpoints() {
    let rows = BATCH_ROWS as u64 * 3 + 777;
    let samples: Vec<Sample> = (0..rows).map(sample).collect();
    let ended = |pieces: &[usize], checkpoints: bool| {
        let mut writer = writer(Keep::All);
        let mut rest = &samples[..];
        for length in pieces.iter().cycle() {
            let (piece, later) = rest.split_at((*length).min(rest.len()));
            writer.write(piece).unwrap();
            if checkpoints {
                writer.checkpoint().unwrap();
            }
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        writer.end_early().unwrap();
        writer.file().clone()
    };
    let at_once = ended(&[samples.len()], false);
    let file = SamplesFile::open(in_memory(&at_once)).unwrap();
    assert_eq!((file.is_complete(), file.is_torn()), (false, false));
    assert_eq!(read_samples(&at_once).unwrap(), samples);
    for pieces in [&[5_000_usize][..], &[20_000, 1, 9_000], &[samples.len()]] {
        assert!(ended(pieces, true) == at_once, "{pieces:?}");
    }
}

/// Whenever a kill strikes, also between two writes and in the midst of one, the file is whole, with the
/// rows of the last checkpoint; and how often it was written leaves no trace in it.
#[test]
fn a_kill_at_any_time_leaves_the_rows_of_the_last_checkpoint() {
    let samples = run(0..GROUP_ROWS + 60_000);
    let rows = Rc::new(Cell::new((0, 0)));
    let file = Watched { rows: Rc::clone(&rows), ..Watched::default() };
    let mut watched = SamplesWriter::create(file, label(), Keep::All, None).unwrap();
    let mut written = 0;
    for step in [100, 200, 9_000, 0, 400, 40_000, 400, 60_000, 300, 300, 30_000, 4_000, 20_000] {
        let piece = &samples[written..(written + step).min(samples.len())];
        rows.set((written as u64, (written + piece.len()) as u64));
        watched.write(piece).unwrap();
        watched.checkpoint().unwrap();
        written += piece.len();
        let left = SamplesFile::open(in_memory(&watched.file().bytes)).unwrap();
        assert_eq!(left.kept(), written as u64);
    }
    rows.set((written as u64, samples.len() as u64));
    watched.write(&samples[written..]).unwrap();
    let watched = watched.finish().unwrap();
    assert!(watched.file.looked > 1_000, "{} looks", watched.file.looked);
    let mut at_once = writer(Keep::All);
    at_once.write(&samples).unwrap();
    assert!(at_once.finish().unwrap().file == watched.file.bytes, "checkpoints changed the file");
}

#[test]
fn every_kth_counts_on_across_pieces() {
    let samples = run(0..100_000);
    let kept: Vec<_> = samples.iter().copied().step_by(7).collect();
    let mut writer = writer(Keep::EveryKth(7.try_into().unwrap()));
    samples.chunks(333).for_each(|piece| writer.write(piece).unwrap());
    assert_eq!((writer.kept(), writer.left_out()), (14_286, 85_714));
    assert_eq!(read_samples(&writer.finish().unwrap().file).unwrap(), kept);
}

#[test]
fn none_keeps_the_columns_and_no_rows() {
    let mut writer = writer(Keep::None);
    writer.write(&run(0..10)).unwrap();
    let written = writer.finish().unwrap();
    assert_eq!((written.kept, written.left_out), (0, 10));
    assert_eq!(read_samples(&written.file).unwrap(), []);
}

#[test]
fn the_budget_holds_and_what_it_costs_is_counted() {
    let samples = run(0..300_000);
    let mut unlimited = writer(Keep::All);
    unlimited.write(&samples).unwrap();
    let whole = unlimited.finish().unwrap().bytes.0;
    for (budget, least) in [(10_000, 0), (100_000, 400), (whole / 3, 30_000), (whole - 1, 80_000)] {
        let mut writer = SamplesWriter::create(Vec::new(), label(), Keep::All, Some(Bytes(budget))).unwrap();
        for piece in samples[..400].chunks(200).chain(samples[400..].chunks(12_345)) {
            writer.write(piece).unwrap();
            writer.checkpoint().unwrap();
            assert!(writer.bytes().0 <= budget);
        }
        let written = writer.finish().unwrap();
        assert!(written.file.len() as u64 <= budget, "{} of {budget}", written.file.len());
        assert!(written.left_out > 0 && written.kept + written.left_out == 300_000);
        assert!(written.kept >= least, "{} samples in {budget} bytes", written.kept);
        let file = SamplesFile::open(in_memory(&written.file)).unwrap();
        assert_eq!((file.kept(), file.left_out()), (written.kept, written.left_out));
        let rows: Vec<_> = file.samples().map(Result::unwrap).collect();
        assert!(rows == samples[..written.kept as usize], "the first rows are the ones that are kept");
    }
}

#[test]
fn pauses_come_between_small_pieces_and_change_no_byte() {
    thread_local!(static PAUSES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
    let samples = run(0..GROUP_ROWS);
    let mut unpaused = writer(Keep::All);
    let mut paused = writer(Keep::All).pausing(|| PAUSES.set(PAUSES.get() + 1));
    let begun = paused.bytes().0;
    unpaused.write(&samples).unwrap();
    paused.write(&samples).unwrap();
    assert!(unpaused.file() == paused.file());
    let columns = super::schema::schema().num_columns() as u64;
    // At most 512 rows of a column at a time; and what is written, twice, at most 16 KiB of a column at a
    // time.
    let least = columns * GROUP_ROWS / 512 + 2 * (paused.bytes().0 - begun).div_ceil(16_384);
    // A column of a batch is also copied, and the last piece of a column, or of one of two of a footer, may
    // be small. A short file has a batch to a group.
    let groups = GROUP_ROWS / BATCH_ROWS as u64;
    let most = least + groups * (columns + 2 * (columns + 2));
    assert!((least..=most).contains(&PAUSES.get()), "{} of {least} to {most}", PAUSES.get());
}

/// A disk with room for so many bytes.
struct Disk {
    bytes: Vec<u8>,
    room: usize,
}

impl SampleFile for Disk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let fits = self.room.saturating_sub(offset as usize).min(bytes.len());
        self.bytes.write_at(offset, &bytes[..fits])?;
        if fits == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        SampleFile::truncate(&mut self.bytes, length)
    }
}

#[test]
fn a_full_disk_is_reported_once_and_leaves_the_last_checkpoint() {
    let samples = run(0..GROUP_ROWS + 90_000);
    let mut whole = writer(Keep::All);
    whole.write(&samples).unwrap();
    let whole = whole.finish().unwrap().bytes.0 as usize;
    for room in [whole / 8, whole / 2, whole - 1] {
        let disk = Disk { bytes: Vec::new(), room };
        let mut writer = SamplesWriter::create(disk, label(), Keep::All, None).unwrap();
        let (mut seen, mut safe) = (0, 0);
        let failed = samples.chunks(7_000).find_map(|piece| {
            seen += piece.len();
            let result = writer.write(piece).and_then(|()| writer.checkpoint());
            safe = if result.is_ok() { seen } else { safe };
            result.err()
        });
        let failed = failed.expect("the disk is too small");
        assert!(matches!(failed, SamplesWriteError::Io(_)), "{failed}");
        writer.write(&samples[..1_000]).expect("the error was returned before");
        writer.checkpoint().expect("there is nothing to write");
        let written = writer.finish().expect("there is nothing to write");
        // A row group that was finished on the way to the failing checkpoint is kept besides.
        let kept = written.kept as usize;
        assert!(safe > 0 && (safe..=seen).contains(&kept), "{kept} rows, not {safe} to {seen}");
        assert_eq!(written.kept + written.left_out, seen as u64 + 1_000);
        assert_eq!(written.bytes, Bytes(written.file.bytes.len() as u64));
        let left = SamplesFile::open(in_memory(&written.file.bytes)).unwrap();
        assert!(!left.is_torn() && !left.is_complete());
        let rows: Vec<_> = left.samples().map(Result::unwrap).collect();
        assert!(rows == samples[..written.kept as usize], "{} rows", rows.len());
    }
}

#[test]
fn what_is_no_samples_file_is_refused() {
    for bytes in [&b""[..], b"PAR1", b"PAR1\0\0\0\0PAR1", &[b'x'; 4_096]] {
        let error = read_samples(bytes).unwrap_err();
        assert!(matches!(error, SamplesError::NoFooter), "{error}");
    }
}

/// A file of a process that is killed after so many more writes.
struct Killed {
    bytes: Vec<u8>,
    left: Rc<Cell<u64>>,
}

impl SampleFile for Killed {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.left.set(self.left.get().saturating_sub(1));
        if self.left.get() == 0 { Ok(()) } else { self.bytes.write_at(offset, bytes) }
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        if self.left.get() == 0 { Ok(()) } else { SampleFile::truncate(&mut self.bytes, length) }
    }
}
