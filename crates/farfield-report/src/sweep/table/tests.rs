//! Rows are held against the documents that they are made of, and Parquet against CSV.

use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

fn table() -> Table {
    let mut builder = Builder::default();
    for text in [
        r#"{"steady":{"rate":1.5,"n":3,"quantiles":[{"name":"p50","value_ns":7,"interval_ns":[6,8]}]},
            "heading":{"seed":1},"links":[1,2,3]}"#,
        r#"{"steady":{"n":4.5},"valid":true}"#,
    ] {
        builder.rows.push(Vec::new());
        builder.put("label", Cell::Text("a,\"b\"".to_owned()));
        builder.put_all("", &serde_json::from_str(text).expect("JSON"));
    }
    let Builder { names, mut rows, .. } = builder;
    rows.iter_mut().for_each(|row| row.resize(names.len(), None));
    Table { names, rows }
}

#[test]
fn every_number_has_a_column_and_absent_ones_are_empty() {
    let csv = table().csv();
    let mut lines = csv.lines();
    let mut names: Vec<&str> = lines.next().expect("names").split(',').collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "label",
            "steady.n",
            "steady.p50.interval_ns.high",
            "steady.p50.interval_ns.low",
            "steady.p50.value_ns",
            "steady.rate",
            "valid"
        ]
    );
    assert!(csv.contains(r#""a,""b""""#), "{csv}");
}

#[test]
fn parquet_has_the_same_rows() {
    let table = table();
    let bytes = table.parquet().expect("Parquet");
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a file");
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), table.rows.len());
    for (row, expected) in rows.iter().zip(&table.rows) {
        for (at, (name, field)) in row.get_column_iter().enumerate() {
            assert_eq!(*name, table.names[at]);
            match (field, &expected[at]) {
                (Field::Null, None) => {}
                (Field::Bool(found), Some(Cell::Truth(truth))) => assert_eq!(found, truth),
                (Field::Long(found), Some(Cell::Whole(whole))) => assert_eq!(found, whole),
                (Field::Double(found), Some(cell)) => assert_eq!(*found, cell.number()),
                (Field::Str(found), Some(Cell::Text(text))) => assert_eq!(found, text),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
