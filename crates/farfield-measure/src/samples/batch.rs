//! A batch: a page's worth of samples, turned into columns and then into pages.
//!
//! Appending a sample allocates nothing once the columns have grown to a batch. Encoding allocates what the
//! Parquet column writers need, once a batch.

use bytes::Bytes;
use farfield_base::{Outcome, Sample, Stamp};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::RowGroupMetaDataPtr;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::SchemaDescPtr;

/// Samples in columns. Bits are kept: an unsigned value goes into the signed one of its width.
#[derive(Default)]
pub(super) struct Batch {
    due: Vec<i64>,
    connect_begun: Optional<i64>,
    connected: Optional<i64>,
    sent: Optional<i64>,
    first_byte: Optional<i64>,
    done: Vec<i64>,
    body_bytes: Vec<i64>,
    reply_bytes: Vec<i64>,
    user: Vec<i32>,
    connection: Optional<i32>,
    number: Vec<i32>,
    request: Vec<i32>,
    class: Vec<i32>,
    status: Vec<i32>,
    outcome: Vec<Outcome>,
    syn_tries: Optional<i32>,
    retransmits: Optional<i32>,
    out_of_order: Optional<i32>,
    srtt_us: Optional<i32>,
    page: Vec<i32>,
    session: Optional<i32>,
    secured: Optional<i64>,
    tls_version: Optional<i32>,
    tls_resumed: Optional<i32>,
    tls_early: Optional<i32>,
    stream: Optional<i32>,
    stalled_us: Optional<i32>,
    http_version: Optional<i32>,
    longest_gap: Optional<i64>,
    first_event: Optional<i64>,
    last_event: Optional<i64>,
    events: Optional<i32>,
    left: Optional<i32>,
    host: Vec<i32>,
}

/// A column with nulls: the values that are there, and for each row whether it has one.
#[derive(Default)]
struct Optional<T> {
    values: Vec<T>,
    present: Vec<i16>,
}

/// A batch as pages: one for each column, at the byte range in the metadata.
pub(super) struct EncodedBatch {
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: RowGroupMetaDataPtr,
}

/// Constant settings of the encoding.
pub(super) struct Encoder {
    pub(super) schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    /// The outcomes' names by code, shared by all rows.
    names: Vec<ByteArray>,
    /// The outcome column of one batch.
    outcome: Vec<ByteArray>,
    /// Called between pieces of work.
    pub(super) pause: Box<dyn Fn()>,
}

/// Rows of one column that are encoded without a pause: a few microseconds of work.
const PIECE_ROWS: usize = 512;

impl Batch {
    pub(super) fn rows(&self) -> usize {
        self.due.len()
    }

    /// One pass over the samples for each column. What no sample among them has, such as a session of TLS, is
    /// not looked for column by column.
    pub(super) fn extend<'a>(&mut self, samples: impl Iterator<Item = &'a Sample> + Clone) {
        let all = || samples.clone();
        let before = self.rows();
        self.due.extend(all().map(|s| s.due.as_ns() as i64));
        self.connect_begun.extend(all().map(|s| at(s.connect_begun)));
        self.connected.extend(all().map(|s| at(s.connected)));
        self.sent.extend(all().map(|s| at(s.sent)));
        self.first_byte.extend(all().map(|s| at(s.first_byte)));
        self.done.extend(all().map(|s| s.done.as_ns() as i64));
        self.body_bytes.extend(all().map(|s| s.body_bytes as i64));
        self.reply_bytes.extend(all().map(|s| s.reply_bytes as i64));
        self.user.extend(all().map(|s| s.user as i32));
        self.connection.extend(all().map(connection));
        self.number.extend(all().map(|s| s.number as i32));
        self.request.extend(all().map(|s| s.request as i32));
        self.class.extend(all().map(|s| i32::from(s.class)));
        self.status.extend(all().map(|s| i32::from(s.status)));
        self.host.extend(all().map(|s| i32::from(s.host.0)));
        self.outcome.extend(all().map(|s| s.outcome));
        self.page.extend(all().map(|s| i32::from(s.page.code())));
        self.session.extend(all().map(session));
        self.http_version.extend(all().map(|s| s.http.version().map(|version| version.code().into())));
        let rows = self.rows() - before;
        if all().any(|s| s.tcp.is_some()) {
            let tcp = || all().map(|s| s.tcp);
            self.syn_tries.extend(tcp().map(|tcp| tcp.map(|tcp| tcp.syn_tries.get().into())));
            self.retransmits.extend(tcp().map(|tcp| tcp.map(|tcp| tcp.retransmits.into())));
            self.out_of_order.extend(tcp().map(|tcp| tcp.map(|tcp| tcp.out_of_order.into())));
            self.srtt_us.extend(tcp().map(|tcp| tcp.and_then(|tcp| Some(tcp.srtt_us?.get() as i32))));
        } else {
            self.of_tcp().into_iter().for_each(|column| column.extend_absent(rows));
        }
        if all().any(|s| s.tls.is_some()) {
            let tls = || all().map(|s| s.tls);
            self.secured.extend(tls().map(|tls| tls.map(|tls| tls.secured.as_ns() as i64)));
            self.tls_version.extend(tls().map(|tls| tls.map(|tls| tls.version.number().into())));
            self.tls_resumed.extend(tls().map(|tls| tls.map(|tls| tls.resumed.into())));
            self.tls_early.extend(tls().map(|tls| tls.map(|tls| tls.early.code().into())));
        } else {
            self.secured.extend_absent(rows);
            self.of_tls().into_iter().for_each(|column| column.extend_absent(rows));
        }
        if all().any(|s| s.http.stream().is_some()) {
            self.stream.extend(all().map(|s| s.http.stream().map(u32::cast_signed)));
            self.stalled_us.extend(all().map(|s| s.http.stalled_us().map(u32::cast_signed)));
        } else {
            self.of_streams().into_iter().for_each(|column| column.extend_absent(rows));
        }
        self.longest_gap.extend(all().map(gap));
        if all().any(|s| s.events.is_some()) {
            let events = || all().map(|s| s.events);
            self.first_event.extend(events().map(|events| at(events?.first)));
            self.last_event.extend(events().map(|events| at(events?.last)));
            self.events.extend(events().map(|events| events.map(|events| events.events.cast_signed())));
            self.left.extend(events().map(|events| events.map(|events| events.left.into())));
        } else {
            let times = [&mut self.first_event, &mut self.last_event];
            times.into_iter().for_each(|column| column.extend_absent(rows));
            let counts = [&mut self.events, &mut self.left];
            counts.into_iter().for_each(|column| column.extend_absent(rows));
        }
    }

    fn of_tcp(&mut self) -> [&mut Optional<i32>; 4] {
        [&mut self.syn_tries, &mut self.retransmits, &mut self.out_of_order, &mut self.srtt_us]
    }

    fn of_tls(&mut self) -> [&mut Optional<i32>; 3] {
        [&mut self.tls_version, &mut self.tls_resumed, &mut self.tls_early]
    }

    fn of_streams(&mut self) -> [&mut Optional<i32>; 2] {
        [&mut self.stream, &mut self.stalled_us]
    }

    pub(super) fn clear(&mut self) {
        self.truncate(0);
    }

    /// Forgets all rows but the first so many.
    pub(super) fn truncate(&mut self, rows: usize) {
        let times = [&mut self.due, &mut self.done, &mut self.body_bytes, &mut self.reply_bytes];
        times.into_iter().for_each(|column| column.truncate(rows));
        let stamps = [
            &mut self.connect_begun,
            &mut self.connected,
            &mut self.sent,
            &mut self.first_byte,
            &mut self.secured,
            &mut self.longest_gap,
            &mut self.first_event,
            &mut self.last_event,
        ];
        stamps.into_iter().for_each(|column| column.truncate(rows));
        let ids = [&mut self.user, &mut self.number, &mut self.request, &mut self.class, &mut self.status];
        ids.into_iter().for_each(|column| column.truncate(rows));
        self.of_tcp().into_iter().for_each(|column| column.truncate(rows));
        self.of_tls().into_iter().for_each(|column| column.truncate(rows));
        self.of_streams().into_iter().for_each(|column| column.truncate(rows));
        let numbers = [
            &mut self.connection,
            &mut self.session,
            &mut self.http_version,
            &mut self.events,
            &mut self.left,
        ];
        numbers.into_iter().for_each(|column| column.truncate(rows));
        self.page.truncate(rows);
        self.host.truncate(rows);
        self.outcome.truncate(rows);
    }
}

pub(super) fn at(stamp: Stamp) -> Option<i64> {
    stamp.instant().map(|instant| instant.as_ns() as i64)
}

/// The longest gap, if there was any.
pub(super) fn gap(sample: &Sample) -> Option<i64> {
    (!sample.longest_gap.is_zero()).then_some(sample.longest_gap.as_ns() as i64)
}

pub(super) fn connection(sample: &Sample) -> Option<i32> {
    (sample.connection != Sample::NO_CONNECTION).then_some(sample.connection as i32)
}

pub(super) fn session(sample: &Sample) -> Option<i32> {
    (sample.session != Sample::NO_SESSION).then_some(sample.session as i32)
}

impl<T> Optional<T> {
    fn extend(&mut self, rows: impl Iterator<Item = Option<T>>) {
        for row in rows {
            self.present.push(i16::from(row.is_some()));
            self.values.extend(row);
        }
    }

    /// Adds so many rows without a value.
    fn extend_absent(&mut self, rows: usize) {
        self.present.resize(self.present.len() + rows, 0);
    }

    fn truncate(&mut self, rows: usize) {
        self.present.truncate(rows);
        self.values.truncate(self.present.iter().filter(|level| **level > 0).count());
    }
}

impl Encoder {
    pub(super) fn new(schema: SchemaDescPtr, properties: WriterPropertiesPtr) -> Encoder {
        // Static bytes are not counted, so that a copy for each row touches no counter.
        let name = |outcome: &Outcome| Bytes::from_static(outcome.name().as_bytes()).into();
        let names = Outcome::ALL.iter().map(name).collect();
        Encoder { schema, properties, names, outcome: Vec::new(), pause: Box::new(|| {}) }
    }

    /// Encodes `batch` into `buffer`, whose content it replaces.
    pub(super) fn encode(&mut self, batch: &Batch, mut buffer: Vec<u8>) -> Result<EncodedBatch> {
        let name = |outcome: &Outcome| self.names[usize::from(outcome.code())].clone();
        self.outcome.clear();
        self.outcome.extend(batch.outcome.iter().map(name));
        buffer.clear();
        let pause = &*self.pause;
        let mut sink = TrackedWrite::new(buffer);
        let mut columns =
            SerializedRowGroupWriter::new(self.schema.clone(), self.properties.clone(), &mut sink, 0, None);
        put::<Int64Type>(&mut columns, pause, &batch.due)?;
        put_optional::<Int64Type>(&mut columns, pause, &batch.connect_begun)?;
        put_optional::<Int64Type>(&mut columns, pause, &batch.connected)?;
        put_optional::<Int64Type>(&mut columns, pause, &batch.sent)?;
        put_optional::<Int64Type>(&mut columns, pause, &batch.first_byte)?;
        put::<Int64Type>(&mut columns, pause, &batch.done)?;
        put::<Int64Type>(&mut columns, pause, &batch.body_bytes)?;
        put::<Int64Type>(&mut columns, pause, &batch.reply_bytes)?;
        put::<Int32Type>(&mut columns, pause, &batch.user)?;
        put_optional::<Int32Type>(&mut columns, pause, &batch.connection)?;
        put::<Int32Type>(&mut columns, pause, &batch.number)?;
        put::<Int32Type>(&mut columns, pause, &batch.request)?;
        put::<Int32Type>(&mut columns, pause, &batch.class)?;
        put::<Int32Type>(&mut columns, pause, &batch.status)?;
        put::<ByteArrayType>(&mut columns, pause, &self.outcome)?;
        for column in [&batch.syn_tries, &batch.retransmits, &batch.out_of_order, &batch.srtt_us] {
            put_optional::<Int32Type>(&mut columns, pause, column)?;
        }
        put::<Int32Type>(&mut columns, pause, &batch.page)?;
        put_optional::<Int32Type>(&mut columns, pause, &batch.session)?;
        put_optional::<Int64Type>(&mut columns, pause, &batch.secured)?;
        let of_tls = [&batch.tls_version, &batch.tls_resumed, &batch.tls_early];
        for column in of_tls.into_iter().chain([&batch.stream, &batch.stalled_us, &batch.http_version]) {
            put_optional::<Int32Type>(&mut columns, pause, column)?;
        }
        for column in [&batch.longest_gap, &batch.first_event, &batch.last_event] {
            put_optional::<Int64Type>(&mut columns, pause, column)?;
        }
        for column in [&batch.events, &batch.left] {
            put_optional::<Int32Type>(&mut columns, pause, column)?;
        }
        put::<Int32Type>(&mut columns, pause, &batch.host)?;
        let metadata = columns.close()?;
        Ok(EncodedBatch { bytes: sink.into_inner()?, metadata })
    }
}

type Columns<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

fn put<T: DataType>(columns: &mut Columns<'_>, pause: &dyn Fn(), values: &[T::T]) -> Result<()> {
    write_column::<T>(columns, |column| {
        for piece in values.chunks(PIECE_ROWS) {
            column.write_batch(piece, None, None)?;
            pause();
        }
        Ok(())
    })
}

fn put_optional<T: DataType>(
    columns: &mut Columns<'_>,
    pause: &dyn Fn(),
    column: &Optional<T::T>,
) -> Result<()> {
    write_column::<T>(columns, |to| {
        let mut values = column.values.as_slice();
        for present in column.present.chunks(PIECE_ROWS) {
            let (piece, rest) = values.split_at(present.iter().filter(|&&present| present == 1).count());
            values = rest;
            to.write_batch(piece, Some(present), None)?;
            pause();
        }
        Ok(())
    })
}

fn write_column<T: DataType>(
    columns: &mut Columns<'_>,
    write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<()>,
) -> Result<()> {
    let mut column = columns.next_column()?.expect("as many columns are written as the schema has");
    write(column.typed::<T>())?;
    column.close()
}
