//! The reader of samples files, including one whose last write was torn.

use super::event_columns::{EventColumns, EventRow, events};
use super::schema::{
    KEY_COMPLETE, KEY_KEEP, KEY_LEFT_OUT, KEY_SCENARIO, KEY_SEED, KEY_VERSION, VERSION, schema_of,
};
use super::{Keep, RunLabel};
use crate::parquet_bounds::{self, OutOfBounds};
use farfield_base::{
    Bytes, Duration, EarlyData, HostNumber, HttpStats, Instant, Outcome, PagePart, Sample, SpokenVersion,
    Stamp, TcpStats, TlsStats, TlsVersion,
};
use parquet::basic::{Encoding, Repetition};
use parquet::column::page::Page;
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::reader::{ChunkReader, SerializedPageReader};
use parquet::schema::types::{Type, TypePtr};
use std::num::{NonZeroU8, NonZeroU32};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::vec::IntoIter;

const MAGIC: &[u8; 4] = b"PAR1";
/// Behind the footer's metadata: their length in 4 bytes, and the magic.
const FOOTER_END: u64 = 8;

/// The error of reading a samples file.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    /// There is no footer of a samples file in it.
    #[error("this is no samples file: it has no footer with farfield's columns")]
    NoFooter,
    /// The file was written by a later version of farfield.
    #[error("its samples are of version {found}, and this farfield reads up to {VERSION}; use a newer one")]
    Newer {
        /// The file's version.
        found: String,
    },
    /// The footer points to where no rows can be.
    #[error("its footer points outside of the file")]
    OutOfFile,
    /// The footer lacks an entry or has one that makes no sense.
    #[error("its footer has no usable `{key}`")]
    Entry {
        /// The entry's key.
        key: &'static str,
    },
    /// A row holds what no sample can hold.
    #[error("a row has {found} for its `{column}`")]
    Value {
        /// The column.
        column: &'static str,
        /// The value found.
        found: String,
    },
    /// A column has fewer values than the footer says, or none where a sample has one.
    #[error("the column `{column}` has fewer values than the footer says")]
    Short {
        /// The column.
        column: String,
    },
    /// The file's pages are damaged.
    #[error("its pages are damaged")]
    Pages,
    /// The file claims more than its reader is let hold.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// The bytes are not Parquet as they should be.
    #[error("its Parquet is damaged: {0}")]
    Parquet(#[from] ParquetError),
}

/// A samples file, open: the footer is read, the rows are not.
///
/// `R` is [`std::fs::File`] or anything else that [`ChunkReader`] is for.
#[derive(Debug)]
pub struct SamplesFile<R> {
    source: Arc<R>,
    metadata: ParquetMetaData,
    /// Version of its columns.
    version: u32,
    run: RunLabel,
    keep: Keep,
    left_out: u64,
    complete: bool,
    /// End of the footer.
    end: u64,
}

/// All samples of the file with these bytes, in the order in which they were written.
pub fn read_samples(bytes: &[u8]) -> Result<Vec<Sample>, SamplesError> {
    SamplesFile::open(in_memory(bytes))?.samples().collect()
}

/// The bytes in the reference-counted buffer that Parquet readers need. This crate obtains it, without
/// naming its type, from a page made of them.
pub(super) fn in_memory(bytes: &[u8]) -> impl ChunkReader + 'static {
    let buf = bytes.to_vec().into();
    let page = Page::DictionaryPage { buf, num_values: 0, encoding: Encoding::PLAIN, is_sorted: false };
    page.buffer().clone()
}

impl<R: ChunkReader + 'static> SamplesFile<R> {
    /// Reads the footer at the file's end or, if the last write was torn, the last that there is.
    pub fn open(source: R) -> Result<SamplesFile<R>, SamplesError> {
        let (metadata, end) = last_footer(&source).ok_or(SamplesError::NoFooter)?;
        let entry = |key| entry(&metadata, key);
        let found = entry(KEY_VERSION)?;
        let version = found.parse().map_err(|_| SamplesError::Entry { key: KEY_VERSION })?;
        if version > VERSION {
            return Err(SamplesError::Newer { found: found.to_owned() });
        }
        if !has_columns(metadata.file_metadata().schema(), schema_of(version).root_schema()) {
            return Err(SamplesError::NoFooter);
        }
        if !metadata.row_groups().iter().all(|group| lies_within(group, source.len())) {
            return Err(SamplesError::OutOfFile);
        }
        let run = RunLabel { scenario: entry(KEY_SCENARIO)?.to_owned(), seed: number(&metadata, KEY_SEED)? };
        let keep = keep(entry(KEY_KEEP)?).ok_or(SamplesError::Entry { key: KEY_KEEP })?;
        let left_out = number(&metadata, KEY_LEFT_OUT)?;
        let complete = entry(KEY_COMPLETE)? == "true";
        Ok(SamplesFile { source: Arc::new(source), metadata, version, run, keep, left_out, complete, end })
    }

    /// The run that it belongs to.
    pub fn run(&self) -> &RunLabel {
        &self.run
    }
    /// The samples that were kept.
    pub fn keep(&self) -> Keep {
        self.keep
    }
    /// Samples in it.
    pub fn kept(&self) -> u64 {
        self.metadata.row_groups().iter().map(|group| group.num_rows() as u64).sum()
    }
    /// Samples that had been left out when the footer was written.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
    /// True if the run came to its end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
    /// True if the last write was torn by a kill: other Parquet readers refuse such a file, unless it is cut
    /// to its [`intact`](SamplesFile::intact) bytes.
    pub fn is_torn(&self) -> bool {
        self.end < self.source.len()
    }
    /// The length of the file up to and with the footer that was read.
    pub fn intact(&self) -> Bytes {
        Bytes(self.end)
    }

    /// All samples in the order in which they were written, a row group in memory at a time.
    pub fn samples(&self) -> impl Iterator<Item = Result<Sample, SamplesError>> + '_ {
        self.metadata.row_groups().iter().flat_map(|group| {
            // Parquet's decoders panic on some damaged pages; that must not end the reader of a report.
            let rows = panic::catch_unwind(AssertUnwindSafe(|| self.read_group(group)));
            let (rows, failure) = match rows.unwrap_or(Err(SamplesError::Pages)) {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().map(Ok).chain(failure)
        })
    }

    fn read_group(&self, group: &RowGroupMetaData) -> Result<Vec<Sample>, SamplesError> {
        parquet_bounds::check(&*self.source, group)?;
        let (version, rows) = (self.version, group.num_rows() as usize);
        let mut columns = GroupReader { source: &self.source, group, version, next: 0 };
        let mut due = columns.required::<Int64Type>()?;
        let mut connect_begun = columns.optional::<Int64Type>()?;
        let mut connected = columns.optional::<Int64Type>()?;
        let mut sent = columns.optional::<Int64Type>()?;
        let mut first_byte = columns.optional::<Int64Type>()?;
        let mut done = columns.required::<Int64Type>()?;
        let mut body_bytes = columns.required::<Int64Type>()?;
        let mut reply_bytes = columns.required::<Int64Type>()?;
        let mut user = columns.required::<Int32Type>()?;
        let mut connection = columns.optional::<Int32Type>()?;
        let mut number = columns.required::<Int32Type>()?;
        let mut request = columns.required::<Int32Type>()?;
        let mut class = columns.required::<Int32Type>()?;
        let mut status = columns.required::<Int32Type>()?;
        let mut outcome = columns.required::<ByteArrayType>()?;
        let mut syn_tries = columns.since::<Int32Type>(2)?;
        let mut retransmits = columns.since::<Int32Type>(2)?;
        let mut out_of_order = columns.since::<Int32Type>(2)?;
        let mut srtt_us = columns.since::<Int32Type>(2)?;
        let mut page = columns.required_since(2, PagePart::Untracked.code())?;
        let mut session = columns.since::<Int32Type>(3)?;
        let mut secured = columns.since::<Int64Type>(4)?;
        let mut tls_version = columns.since::<Int32Type>(4)?;
        let mut tls_resumed = columns.since::<Int32Type>(4)?;
        let mut tls_early = if version < 6 { unsent(rows) } else { columns.optional::<Int32Type>()? };
        let mut stream = columns.since::<Int32Type>(5)?;
        let mut stalled_us = columns.since::<Int32Type>(5)?;
        let mut http_version = columns.http_versions(&stream)?;
        let mut longest_gap = columns.since::<Int64Type>(8)?;
        let mut events = columns.events()?;
        let mut host = columns.required_since(9, HostNumber::TARGET.0)?;
        let mut row = || -> Option<Result<Sample, SamplesError>> {
            Some(sample(SampleRow {
                due: due.next()?,
                connect_begun: connect_begun.next()?,
                connected: connected.next()?,
                sent: sent.next()?,
                first_byte: first_byte.next()?,
                done: done.next()?,
                body_bytes: body_bytes.next()?,
                reply_bytes: reply_bytes.next()?,
                user: user.next()?,
                connection: connection.next()?,
                number: number.next()?,
                request: request.next()?,
                class: class.next()?,
                status: status.next()?,
                outcome: outcome.next()?,
                syn_tries: syn_tries.next()?,
                retransmits: retransmits.next()?,
                out_of_order: out_of_order.next()?,
                srtt_us: srtt_us.next()?,
                page: page.next()?,
                session: session.next()?,
                secured: secured.next()?,
                tls_version: tls_version.next()?,
                tls_resumed: tls_resumed.next()?,
                tls_early: tls_early.next()?,
                stream: stream.next()?,
                stalled_us: stalled_us.next()?,
                http_version: http_version.next()?,
                longest_gap: longest_gap.next()?,
                events: events.next()?,
                host: host.next()?,
            }))
        };
        std::iter::from_fn(&mut row).collect()
    }
}

/// True if rows of a file of schema `found` have the columns of `own`, in their order. Programs that write
/// such a file anew give its root another name, and may make each column optional.
fn has_columns(found: &Type, own: &Type) -> bool {
    let is_same = |(found, own): (&TypePtr, &TypePtr)| {
        let is_one_value = |column: &Type| {
            let info = column.get_basic_info();
            column.is_primitive() && info.has_repetition() && info.repetition() != Repetition::REPEATED
        };
        is_one_value(found)
            && found.name() == own.name()
            && found.get_physical_type() == own.get_physical_type()
    };
    let (found, own) = (found.get_fields(), own.get_fields());
    found.len() == own.len() && found.iter().zip(own).all(is_same)
}

/// Early data of files that know nothing of it: there was none.
fn unsent(rows: usize) -> IntoIter<Option<i32>> {
    vec![Some(EarlyData::Unsent.code().into()); rows].into_iter()
}

/// Versions of HTTP in files that have none: what has a stream is HTTP/2, whose streams alone were noted.
fn of_streams(streams: &IntoIter<Option<i32>>) -> IntoIter<Option<i32>> {
    let version = |stream: &Option<i32>| stream.map(|_| SpokenVersion::Http2.code().into());
    streams.as_slice().iter().map(version).collect::<Vec<_>>().into_iter()
}

/// One row, as it stands in the file.
struct SampleRow {
    due: i64,
    connect_begun: Option<i64>,
    connected: Option<i64>,
    sent: Option<i64>,
    first_byte: Option<i64>,
    done: i64,
    body_bytes: i64,
    reply_bytes: i64,
    user: i32,
    connection: Option<i32>,
    number: i32,
    request: i32,
    class: i32,
    status: i32,
    outcome: ByteArray,
    syn_tries: Option<i32>,
    retransmits: Option<i32>,
    out_of_order: Option<i32>,
    srtt_us: Option<i32>,
    page: i32,
    session: Option<i32>,
    secured: Option<i64>,
    tls_version: Option<i32>,
    tls_resumed: Option<i32>,
    tls_early: Option<i32>,
    stream: Option<i32>,
    stalled_us: Option<i32>,
    http_version: Option<i32>,
    longest_gap: Option<i64>,
    events: EventRow,
    host: i32,
}

fn sample(row: SampleRow) -> Result<Sample, SamplesError> {
    let at = |ns: Option<i64>| ns.map_or(Stamp::NEVER, |ns| Stamp::at(Instant::from_ns(ns as u64)));
    let short = |column, value: i32| {
        u16::try_from(value).map_err(|_| SamplesError::Value { column, found: value.to_string() })
    };
    Ok(Sample {
        due: Instant::from_ns(row.due as u64),
        connect_begun: at(row.connect_begun),
        connected: at(row.connected),
        sent: at(row.sent),
        first_byte: at(row.first_byte),
        done: Instant::from_ns(row.done as u64),
        body_bytes: row.body_bytes as u64,
        reply_bytes: row.reply_bytes as u64,
        user: row.user as u32,
        connection: row.connection.map_or(Sample::NO_CONNECTION, |connection| connection as u32),
        number: row.number as u32,
        request: row.request as u32,
        class: short("class", row.class)?,
        status: short("status", row.status)?,
        host: host(row.host)?,
        outcome: outcome(&row.outcome)?,
        tcp: tcp(&row)?,
        tls: tls(&row)?,
        http: http(&row)?,
        longest_gap: Duration::from_ns(row.longest_gap.unwrap_or(0) as u64),
        events: events(&row.events)?,
        page: page(row.page)?,
        session: row.session.map_or(Sample::NO_SESSION, |session| session as u32),
    })
}

fn host(number: i32) -> Result<HostNumber, SamplesError> {
    let known = usize::try_from(number).ok().filter(|number| *number < HostNumber::MOST);
    known.map(HostNumber::at).ok_or_else(|| SamplesError::Value { column: "host", found: number.to_string() })
}

fn page(code: i32) -> Result<PagePart, SamplesError> {
    let known = PagePart::ALL.into_iter().find(|part| i32::from(part.code()) == code);
    known.ok_or_else(|| SamplesError::Value { column: "page", found: code.to_string() })
}

fn tcp(row: &SampleRow) -> Result<Option<TcpStats>, SamplesError> {
    let Some(tries) = row.syn_tries else { return Ok(None) };
    let wrong = |column, found: Option<i32>| {
        let found = found.map_or("nothing".to_owned(), |found| found.to_string());
        SamplesError::Value { column, found }
    };
    let count = |column, found: Option<i32>| {
        found.and_then(|found| u16::try_from(found).ok()).ok_or_else(|| wrong(column, found))
    };
    let syn_tries = u8::try_from(tries).ok().and_then(NonZeroU8::new);
    Ok(Some(TcpStats {
        syn_tries: syn_tries.ok_or_else(|| wrong("syn_tries", Some(tries)))?,
        retransmits: count("retransmits", row.retransmits)?,
        out_of_order: count("out_of_order", row.out_of_order)?,
        srtt_us: row.srtt_us.and_then(|srtt| NonZeroU32::new(srtt as u32)),
    }))
}

fn tls(row: &SampleRow) -> Result<Option<TlsStats>, SamplesError> {
    let Some(secured) = row.secured else { return Ok(None) };
    let wrong = |column, found: Option<i32>| {
        let found = found.map_or("nothing".to_owned(), |found| found.to_string());
        SamplesError::Value { column, found }
    };
    let number = row.tls_version;
    let version = TlsVersion::ALL.into_iter().find(|version| Some(version.number().into()) == number);
    let resumed = match row.tls_resumed {
        Some(0) => false,
        Some(1) => true,
        found => return Err(wrong("tls_resumed", found)),
    };
    let early = EarlyData::ALL.into_iter().find(|early| Some(early.code().into()) == row.tls_early);
    Ok(Some(TlsStats {
        secured: Instant::from_ns(secured as u64),
        version: version.ok_or_else(|| wrong("tls_version", number))?,
        resumed,
        early: early.ok_or_else(|| wrong("tls_early", row.tls_early))?,
    }))
}

fn http(row: &SampleRow) -> Result<HttpStats, SamplesError> {
    let unsigned = |found: Option<i32>| found.map(i32::cast_unsigned);
    let version = row.http_version.map(|code| u8::try_from(code).unwrap_or(u8::MAX));
    let stats = HttpStats::from_columns(version, unsigned(row.stream), unsigned(row.stalled_us));
    stats.ok_or_else(|| {
        let text = |found: Option<i32>| found.map_or("nothing".to_owned(), |found| found.to_string());
        let found = format!("{} beside stream {}", text(row.http_version), text(row.stream));
        SamplesError::Value { column: "http_version", found }
    })
}

fn outcome(name: &ByteArray) -> Result<Outcome, SamplesError> {
    // Version 1 called what was unfinished at the end of the run cut.
    let text = if name.data() == b"cut" { Outcome::Unfinished.name().as_bytes() } else { name.data() };
    let known = Outcome::ALL.into_iter().find(|outcome| outcome.name().as_bytes() == text);
    let found = || String::from_utf8_lossy(name.data()).into_owned();
    known.ok_or_else(|| SamplesError::Value { column: "outcome", found: found() })
}

/// Reads a row group's columns, one after the other.
struct GroupReader<'a, R> {
    source: &'a Arc<R>,
    group: &'a RowGroupMetaData,
    /// Version of the columns.
    version: u32,
    next: usize,
}

impl<R: ChunkReader + 'static> GroupReader<'_, R> {
    fn required<T: DataType>(&mut self) -> Result<IntoIter<T::T>, SamplesError> {
        let (values, present) = self.column::<T>()?;
        match present.contains(&0) {
            true => {
                Err(SamplesError::Short { column: self.group.column(self.next - 1).column_path().string() })
            }
            false => Ok(values.into_iter()),
        }
    }

    fn optional<T: DataType>(&mut self) -> Result<IntoIter<Option<T::T>>, SamplesError> {
        let (values, present) = self.column::<T>()?;
        if self.group.column(self.next - 1).column_descr().max_def_level() == 0 {
            return Ok(values.into_iter().map(Some).collect::<Vec<_>>().into_iter());
        }
        let mut values = values.into_iter();
        let value = |level| if level == 0 { None } else { values.next() };
        Ok(present.into_iter().map(value).collect::<Vec<_>>().into_iter())
    }

    /// A column that files of before `version` do not have: all of their rows have `value`.
    fn required_since(&mut self, version: u32, value: u8) -> Result<IntoIter<i32>, SamplesError> {
        if self.version >= version {
            return self.required::<Int32Type>();
        }
        Ok(vec![value.into(); self.group.num_rows() as usize].into_iter())
    }

    /// The versions of HTTP, of a file that has none by its streams.
    fn http_versions(
        &mut self,
        stream: &IntoIter<Option<i32>>,
    ) -> Result<IntoIter<Option<i32>>, SamplesError> {
        if self.version < 7 { Ok(of_streams(stream)) } else { self.optional::<Int32Type>() }
    }

    /// The columns on events, which are one behind another.
    fn events(&mut self) -> Result<EventColumns, SamplesError> {
        Ok(EventColumns {
            first: self.since::<Int64Type>(8)?,
            last: self.since::<Int64Type>(8)?,
            events: self.since::<Int32Type>(8)?,
            left: self.since::<Int32Type>(8)?,
        })
    }

    /// The next column, which files have since version `first`; nulls in an earlier one.
    fn since<T: DataType>(&mut self, first: u32) -> Result<IntoIter<Option<T::T>>, SamplesError> {
        if self.version < first {
            return Ok(vec![None; self.group.num_rows() as usize].into_iter());
        }
        self.optional::<T>()
    }

    /// The next column's values and, where it may have nulls, for each row whether it has one.
    fn column<T: DataType>(&mut self) -> Result<(Vec<T::T>, Vec<i16>), SamplesError> {
        let chunk = self.group.column(self.next);
        self.next += 1;
        let rows = self.group.num_rows() as usize;
        let pages = SerializedPageReader::new(self.source.clone(), chunk, rows, None)?;
        let reader = get_column_reader(chunk.column_descr_ptr(), Box::new(pages));
        let mut reader = get_typed_column_reader::<T>(reader);
        let (mut values, mut present) = (Vec::new(), Vec::new());
        let (read, ..) = reader.read_records(rows, Some(&mut present), None, &mut values)?;
        if read < rows {
            return Err(SamplesError::Short { column: chunk.column_path().string() });
        }
        Ok((values, present))
    }
}

/// The metadata of the footer whose last byte stands before `end`, if one does.
fn footer_ending_at<R: ChunkReader>(source: &R, end: u64) -> Option<ParquetMetaData> {
    let tail = source.get_bytes(end.checked_sub(FOOTER_END)?, FOOTER_END as usize).ok()?;
    let (length, magic) = tail.split_at(4);
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let start = (end - FOOTER_END).checked_sub(u64::from(length))?;
    if magic != MAGIC || length == 0 {
        return None;
    }
    let metadata = source.get_bytes(start, length as usize).ok()?;
    let metadata = ParquetMetaDataReader::decode_metadata(&metadata).ok()?;
    entry(&metadata, KEY_VERSION).is_ok().then_some(metadata)
}

/// The last footer and where it ends: at the file's end or, searching backwards, before that.
fn last_footer<R: ChunkReader>(source: &R) -> Option<(ParquetMetaData, u64)> {
    const WINDOW: u64 = 1 << 20;
    let footer = |end| Some((footer_ending_at(source, end)?, end));
    let mut end = source.len();
    if let Some(found) = footer(end) {
        return Some(found);
    }
    while end > 0 {
        let start = end.saturating_sub(WINDOW);
        // Three bytes of overlap, lest a magic across two windows be missed.
        let length = (end - start + 3).min(source.len() - start);
        let bytes = source.get_bytes(start, length as usize).ok()?;
        let magics = bytes.windows(MAGIC.len()).enumerate().rev().filter(|(_, four)| four == MAGIC);
        let mut ends = magics.map(|(place, _)| start + (place + MAGIC.len()) as u64);
        if let Some(found) = ends.find_map(footer) {
            return Some(found);
        }
        end = start;
    }
    None
}

/// True if all columns of the row group are bytes of a file of `length`; Parquet's own reader panics if not.
fn lies_within(group: &RowGroupMetaData, length: u64) -> bool {
    let chunk_lies_within = |chunk: &ColumnChunkMetaData| {
        let begin = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let begin = u64::try_from(begin).ok();
        let end = begin.zip(u64::try_from(chunk.compressed_size()).ok()).and_then(|(a, b)| a.checked_add(b));
        end.is_some_and(|end| end <= length)
    };
    group.num_rows() >= 0 && group.columns().iter().all(chunk_lies_within)
}

fn entry<'a>(metadata: &'a ParquetMetaData, key: &'static str) -> Result<&'a str, SamplesError> {
    let entries = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    let value = entries.filter(|entry| entry.key == key).find_map(|entry| entry.value.as_deref());
    value.ok_or(SamplesError::Entry { key })
}

fn number(metadata: &ParquetMetaData, key: &'static str) -> Result<u64, SamplesError> {
    entry(metadata, key)?.parse().map_err(|_| SamplesError::Entry { key })
}

fn keep(text: &str) -> Option<Keep> {
    match text {
        "all" => Some(Keep::All),
        "none" => Some(Keep::None),
        _ => text.strip_prefix("every ")?.parse().ok().map(Keep::EveryKth),
    }
}
