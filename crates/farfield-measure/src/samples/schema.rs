//! The columns as Parquet has them: types, encodings, and the metadata that every footer carries.
//!
//! All integers are DELTA_BINARY_PACKED without compression (Parquet encodings, delta encoding): samples
//! come nearly in order of time, so that neighbours differ by few bits, and columns that do not change
//! (status, class) take next to nothing. The outcome's name is plain text under zstd, since one name is
//! nearly all of it.
//!
//! Measured with 64 keep-alive connections at 50,000 requests a second; then with many objects, a connection
//! for every ten requests and some errors:
//!
//! | encoding | bytes a sample | ns a sample to encode and write |
//! | --- | --- | --- |
//! | delta (chosen) | 13.7; 21.0 | 120; 130 |
//! | delta, zstd 1 | 13.5; 19.9 | 140; 175 |
//! | plain, zstd 1 | 15.9; 21.2 | 255; 320 |

use super::{Keep, RunLabel};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{FileMetaData, KeyValue};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, SchemaDescPtr, SchemaDescriptor};
use std::sync::Arc;

/// Version of the columns and of the key-value metadata; it changes when readers must change.
pub(super) const VERSION: u32 = 9;

pub(super) const KEY_VERSION: &str = "farfield.samples_version";
pub(super) const KEY_SCENARIO: &str = "farfield.scenario";
pub(super) const KEY_SEED: &str = "farfield.seed";
pub(super) const KEY_KEEP: &str = "farfield.keep";
pub(super) const KEY_LEFT_OUT: &str = "farfield.left_out";
pub(super) const KEY_COMPLETE: &str = "farfield.complete";

/// Columns in order: the version that brought each, and how Parquet has it. None ever went.
const COLUMNS: [(u32, &str); 34] = [
    (1, "required int64 due_ns"),
    (1, "optional int64 connect_begun_ns"),
    (1, "optional int64 connected_ns"),
    (1, "optional int64 sent_ns"),
    (1, "optional int64 first_byte_ns"),
    (1, "required int64 done_ns"),
    (1, "required int64 body_bytes"),
    (1, "required int64 reply_bytes"),
    (1, "required int32 user (INTEGER(32, false))"),
    (1, "optional int32 connection (INTEGER(32, false))"),
    (1, "required int32 number (INTEGER(32, false))"),
    (1, "required int32 request (INTEGER(32, false))"),
    (1, "required int32 class (INTEGER(16, false))"),
    (1, "required int32 status (INTEGER(16, false))"),
    (1, "required binary outcome (STRING)"),
    (2, "optional int32 syn_tries (INTEGER(8, false))"),
    (2, "optional int32 retransmits (INTEGER(16, false))"),
    (2, "optional int32 out_of_order (INTEGER(16, false))"),
    (2, "optional int32 srtt_us (INTEGER(32, false))"),
    (2, "required int32 page (INTEGER(8, false))"),
    (3, "optional int32 session (INTEGER(32, false))"),
    (4, "optional int64 secured_ns"),
    (4, "optional int32 tls_version (INTEGER(16, false))"),
    (4, "optional int32 tls_resumed (INTEGER(8, false))"),
    (6, "optional int32 tls_early (INTEGER(8, false))"),
    (5, "optional int32 stream (INTEGER(32, false))"),
    (5, "optional int32 stalled_us (INTEGER(32, false))"),
    (7, "optional int32 http_version (INTEGER(8, false))"),
    (8, "optional int64 longest_gap_ns"),
    (8, "optional int64 first_event_ns"),
    (8, "optional int64 last_event_ns"),
    (8, "optional int32 events (INTEGER(32, false))"),
    (8, "optional int32 left (INTEGER(8, false))"),
    (9, "required int32 host (INTEGER(8, false))"),
];

/// The columns, in order.
pub(super) fn schema() -> SchemaDescPtr {
    schema_of(VERSION)
}

/// The columns of an earlier version, in order.
pub(super) fn schema_of(version: u32) -> SchemaDescPtr {
    let columns = COLUMNS.iter().filter(|(since, _)| *since <= version);
    let columns: String = columns.map(|(_, column)| format!("{column};")).collect();
    let message = parse_message_type(&format!("message sample {{{columns}}}"));
    Arc::new(SchemaDescriptor::new(Arc::new(message.expect("the columns above are well-formed"))))
}

/// Encoding of the columns, with at most `page_rows` rows to a page.
pub(super) fn properties(page_rows: usize) -> WriterPropertiesPtr {
    let outcome = ColumnPath::from("outcome");
    let fastest = ZstdLevel::try_new(1).expect("zstd has a level 1");
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_write_batch_size(page_rows)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding(outcome.clone(), Encoding::PLAIN)
        .set_column_compression(outcome, Compression::ZSTD(fastest));
    Arc::new(properties.build())
}

/// The footer's metadata of the whole file.
pub(super) fn file_metadata(
    schema: &SchemaDescPtr,
    rows: u64,
    run: &RunLabel,
    keep: Keep,
    left_out: u64,
    complete: bool,
) -> FileMetaData {
    let entry = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let entries = vec![
        entry(KEY_VERSION, VERSION.to_string()),
        entry(KEY_SCENARIO, run.scenario.clone()),
        entry(KEY_SEED, run.seed.to_string()),
        entry(KEY_KEEP, keep.to_string()),
        entry(KEY_LEFT_OUT, left_out.to_string()),
        entry(KEY_COMPLETE, complete.to_string()),
    ];
    let created_by = concat!("farfield ", env!("CARGO_PKG_VERSION")).to_owned();
    FileMetaData::new(1, rows as i64, Some(created_by), Some(entries), schema.clone(), None)
}
