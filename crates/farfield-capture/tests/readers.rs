//! Replies as farfield-http's reader takes them off a connection and as they are rebuilt from its packets:
//! the same, wherever the first takes them.

use farfield_testkit::corpus;
use farfield_testkit::properties::captures::of_a_reply;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

#[test]
fn replies_of_the_corpus_are_read_alike() {
    corpus::check(&[("http1_reply", |input| _ = of_a_reply(input), 20)]);
}

/// Lines of heads, usual and unusual. Other lines between them say nothing.
fn line() -> impl Strategy<Value = String> {
    let length = (0u64..40).prop_flat_map(|length| {
        let values = [
            format!("{length}"),
            format!("{length}"),
            format!("000{length}"),
            format!("{length}, {length}"),
            format!("{length},\r\n {length}"),
            format!("\r\n\t{length}"),
            format!("{length},"),
            format!("+{length}"),
        ];
        prop::sample::select(values.to_vec()).prop_map(|value| format!("Content-Length: {value}"))
    });
    let coding = prop::sample::select(vec![
        "chunked",
        "chunked",
        "Chunked , ",
        ", chunked",
        "gzip, chunked",
        "gzip,\r\n chunked",
        "\r\n chunked",
        "chunked, gzip",
        "gzip",
        "",
        "identity",
        "chunked;q=1",
        "chunked, chunked",
    ]);
    prop_oneof![
        3 => length,
        3 => coding.prop_map(|coding| format!("transfer-ENCODING:{coding}")),
        2 => "[A-Za-z!#$%&'*+.^_`|~0-9-]{1,10}: [ -~\u{e4}]{0,20}",
        1 => Just("X:\r\n folded\r\n\t\r\n and again".to_owned()),
        1 => prop::sample::select(vec!["X : y", "X", ": y", "X: \0", "X: a\rb", "\u{e4}: y"]).prop_map(str::to_owned),
    ]
}

/// The bytes that a server may send behind a head, whole or not.
fn body() -> impl Strategy<Value = String> {
    let size = ("0{0,20}", 1usize..30, "[ \t]{0,2}", "(;[ -~]{0,9})?");
    let chunk = size.prop_map(|(zeros, size, blanks, extension)| {
        format!("{zeros}{size:x}{blanks}{extension}\r\n{}\r\n", "\n".repeat(size))
    });
    let chunks = (prop::collection::vec(chunk, 0..4), "0{1,20}", "(;x)?", "(A: b\r\n|C:\n d\r\n)?");
    prop_oneof![
        2 => chunks.prop_map(|(chunks, zero, extension, trailer)| {
            format!("{}{zero}{extension}\r\n{trailer}\r\n", chunks.concat())
        }),
        1 => "[a-z\r\n0]{0,60}",
    ]
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    let status =
        prop_oneof![6 => Just(200u16), 1 => 200u16..1000, 1 => prop::sample::select(vec![204, 304, 101, 99])];
    let interim =
        prop_oneof![8 => Just(""), 1 => Just("\r\n\n"), 1 => Just("HTTP/1.1 103\r\nLink: <a>\r\n\r\n")];
    let start = (interim, 0..4u8, status, "( [ -~\u{e4}]{0,9})?");
    let end = prop::sample::select(vec!["\r\n", "\r\n", "\n"]);
    (prop::bool::weighted(0.1), start, prop::collection::vec(line(), 0..4), end, body()).prop_map(
        |(head, (interim, minor, status, reason), lines, end, body)| {
            let mode = if head { "h " } else { "g " };
            let fields: String = lines.iter().flat_map(|line| [line, end]).collect();
            format!("{mode}{interim}HTTP/1.{minor} {status}{reason}{end}{fields}{end}{body}").into_bytes()
        },
    )
}

#[test]
fn likely_replies_are_read_alike() {
    let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
    let taken = Cell::new(0);
    let result = TestRunner::new(config).run(&input(), |input| {
        taken.set(taken.get() + u32::from(of_a_reply(&input)));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(taken.get() > 500, "farfield-http took {} replies only", taken.get());
}
