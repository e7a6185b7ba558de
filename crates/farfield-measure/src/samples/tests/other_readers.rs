//! Samples as pandas, polars, DuckDB and pyarrow read and write them.

use super::*;

/// Prints the rows of the file `argv[1]` as lines of values with commas between, nulls as nothing.
const PRINT_ROWS: &str = r#"
for row in rows:
    print(",".join("" if value is None else str(value) for value in row))
"#;

const PANDAS: &str = r#"
import sys, pandas, pyarrow
frame = pandas.read_parquet(sys.argv[1], dtype_backend="numpy_nullable").astype(object)
rows = frame.where(frame.notna(), None).itertuples(index=False, name=None)
"#;
const POLARS: &str = r#"
import sys, polars
rows = polars.read_parquet(sys.argv[1]).iter_rows()
"#;
const DUCKDB: &str = r#"
import sys, duckdb
duckdb.sql("set enable_progress_bar = false")
rows = duckdb.sql(f"from '{sys.argv[1]}'").fetchall()
"#;

fn printed(sample: &Sample) -> String {
    let at = |stamp: Stamp| stamp.instant().map_or(String::new(), |i| (i.as_ns() as i64).to_string());
    let connection = match sample.connection {
        Sample::NO_CONNECTION => String::new(),
        connection => connection.to_string(),
    };
    let Sample { due, done, user, number, request, class, status, outcome, .. } = *sample;
    let (due, done) = (due.as_ns() as i64, done.as_ns() as i64);
    let (connect_begun, connected) = (at(sample.connect_begun), at(sample.connected));
    let (sent, first_byte) = (at(sample.sent), at(sample.first_byte));
    let (body_bytes, reply_bytes) = (sample.body_bytes as i64, sample.reply_bytes as i64);
    let outcome = outcome.name();
    let tcp = sample.tcp.map_or(",,,".to_owned(), |tcp| {
        let srtt = tcp.srtt_us.map_or(String::new(), |srtt| srtt.to_string());
        format!("{},{},{},{srtt}", tcp.syn_tries, tcp.retransmits, tcp.out_of_order)
    });
    let page = sample.page.code();
    let session = match sample.session {
        Sample::NO_SESSION => String::new(),
        session => session.to_string(),
    };
    let tls = sample.tls.map_or(",,,".to_owned(), |tls| {
        let (secured, version) = (tls.secured.as_ns() as i64, tls.version.number());
        format!("{secured},{version},{},{}", u8::from(tls.resumed), tls.early.code())
    });
    let text = |value: Option<u32>| value.map_or(String::new(), |value| value.to_string());
    let version = sample.http.version().map(|version| version.code().into());
    let http = [sample.http.stream(), sample.http.stalled_us(), version].map(text).join(",");
    let gap = match sample.longest_gap.as_ns() {
        0 => String::new(),
        ns => (ns as i64).to_string(),
    };
    let events = sample.events.map_or(",,,".to_owned(), |own| {
        format!("{},{},{},{}", at(own.first), at(own.last), { own.events }, u8::from(own.left))
    });
    format!(
        "{due},{connect_begun},{connected},{sent},{first_byte},{done},{body_bytes},{reply_bytes},\
         {user},{connection},{number},{request},{class},{status},{outcome},{tcp},{page},{session},{tls},{http},\
         {gap},{events},{}\n",
        sample.host.0
    )
}

/// The Python that has the other readers: what `FARFIELD_PYTHON` names, else the system's.
fn interpreter() -> Command {
    Command::new(std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into()))
}

/// The output of `python3 -c script path`.
fn python(script: &str, path: &Path) -> Option<String> {
    let output = interpreter().arg("-c").arg(script).arg(path).output().ok()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    Some(String::from_utf8(output.stdout).expect("digits and names"))
}

/// True if Python has these modules; if not, the test is skipped.
fn may_import(name: &str, modules: &str) -> bool {
    let importable = interpreter().arg("-c").arg(format!("import {modules}")).output();
    let may = importable.is_ok_and(|output| output.status.success());
    if !may {
        let reason = format!("python3 cannot import {modules}");
        farfield_testkit::skip(&format!("samples::tests::{name}"), &reason);
    }
    may
}

fn other_reader(name: &str, modules: &str, script: &str) {
    if !may_import(name, modules) {
        return;
    }
    // As a kill in the midst of a write leaves it, with the gap that the write was to fill, and values at
    // every edge.
    let mut samples = run(0..GROUP_ROWS + 20_000);
    let edge = |word: u64, number: u32| Sample {
        due: Instant::from_ns(word),
        sent: Stamp::at(Instant::from_ns(word)),
        body_bytes: word,
        user: number,
        connection: number,
        class: number as u16,
        ..sample(word % 100)
    };
    let words = [0, u64::MAX, 1 << 63, i64::MAX as u64, 1];
    samples.extend(words.map(|word| edge(word, word as u32)));
    samples.extend(Outcome::ALL.map(|outcome| Sample { outcome, ..sample(1) }));
    let left = Rc::new(Cell::new(u64::MAX));
    let file = Killed { bytes: Vec::new(), left: Rc::clone(&left) };
    let mut writer = SamplesWriter::create(file, label(), Keep::All, None).unwrap();
    writer.write(&samples).unwrap();
    writer.checkpoint().unwrap();
    let whole = writer.file().bytes.len();
    left.set(20);
    writer.write(&run(0..5_000)).unwrap();
    writer.checkpoint().unwrap();
    assert!(writer.file().bytes.len() > whole + 50_000, "the kill came while the file was grown");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    std::fs::write(&path, &writer.file().bytes).unwrap();
    let rows = python(&format!("{script}{PRINT_ROWS}"), &path).expect("python3 was there");
    let expected: Vec<_> = samples.iter().map(printed).collect();
    for (row, expected) in rows.lines().zip(&expected) {
        assert_eq!(row, expected.trim_end());
    }
    let more: Vec<&str> = rows.lines().skip(expected.len()).collect();
    assert_eq!((rows.lines().count(), more), (expected.len(), Vec::new()));
}

#[test]
fn pandas_reads_it() {
    other_reader("pandas_reads_it", "pandas, pyarrow", PANDAS);
}

#[test]
fn polars_reads_it() {
    other_reader("polars_reads_it", "polars", POLARS);
}

#[test]
fn duckdb_reads_it() {
    other_reader("duckdb_reads_it", "duckdb", DUCKDB);
}

/// Writes the file `argv[1]` anew: as it is, and with each column optional.
const REWRITE: &str = r#"
import sys, pyarrow, pyarrow.parquet as parquet
table = parquet.read_table(sys.argv[1])
parquet.write_table(table, sys.argv[1] + ".again")
schema = pyarrow.schema([field.with_nullable(True) for field in table.schema], table.schema.metadata)
parquet.write_table(table.cast(schema), sys.argv[1] + ".optional", compression="zstd")
columns = {name: table[name] for name in table.column_names}
columns["due_ns"] = pyarrow.array([None] + table["due_ns"].to_pylist()[1:], pyarrow.int64())
parquet.write_table(pyarrow.table(columns, schema=schema), sys.argv[1] + ".null")
parquet.write_table(table.drop_columns(["status"]), sys.argv[1] + ".fewer")
"#;

#[test]
fn what_pyarrow_has_written_anew_is_read() {
    if !may_import("what_pyarrow_has_written_anew_is_read", "pyarrow.parquet") {
        return;
    }
    let samples = run(0..20_000);
    let mut writer = SamplesWriter::create(Vec::new(), label(), Keep::All, None).unwrap();
    writer.write(&samples).unwrap();
    writer.checkpoint().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    std::fs::write(&path, writer.file()).unwrap();
    python(REWRITE, &path).expect("python3 was there");
    let read = |ending: &str| read_samples(&std::fs::read(format!("{}{ending}", path.display())).unwrap());
    assert_eq!(read(".again").unwrap(), samples);
    assert_eq!(read(".optional").unwrap(), samples);
    let error = read(".null").unwrap_err().to_string();
    assert_eq!(error, "the column `due_ns` has fewer values than the footer says");
    assert!(matches!(read(".fewer"), Err(SamplesError::NoFooter)));
}
