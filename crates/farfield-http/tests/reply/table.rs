//! Replies of every shape and the events that a reader returns. A row is a stream and its events in words;
//! the server closes at the end of each.
//!
//! Events read: `interim 103`, then of a head `1.1 200 keep length 5` (version, status, `keep` or `close`,
//! framing), then the body `<hello>` when the reply is over; at the end what was wrong, behind what had come
//! of the body, if any: `<hel Truncated`.

use farfield_http::http1::{Answering, Framing, Limits, Malformed, ReplyReader, Version};
use farfield_testkit::properties::replies::{ReplyEvent, StreamReading, TIGHT, read_however_cut};

fn check(stream: impl AsRef<[u8]>, events: &str) {
    check_as(Answering::Other, &Limits::default(), stream, events);
}

fn check_tight(stream: impl AsRef<[u8]>, events: &str) {
    check_as(Answering::Other, &TIGHT, stream, events);
}

#[track_caller]
fn check_as(answering: Answering, limits: &Limits, stream: impl AsRef<[u8]>, expected: &str) {
    let stream = stream.as_ref();
    let events = in_words(&read_however_cut(stream, answering, limits, 1));
    assert_eq!(events, expected, "{}", stream.escape_ascii());
}

fn in_words(events: &StreamReading) -> String {
    let mut words: Vec<String> = events.events.iter().map(event_in_words).collect();
    if let Some(wrong) = events.wrong {
        let unfinished = events.unfinished.escape_ascii();
        let before = if events.unfinished.is_empty() { String::new() } else { format!("<{unfinished} ") };
        words.push(format!("{before}{wrong:?}"));
    }
    words.join(", ")
}

fn event_in_words(event: &ReplyEvent) -> String {
    match event {
        ReplyEvent::Interim(status) => format!("interim {status}"),
        ReplyEvent::Head(head) => {
            let version = if head.version == Version::Http10 { "1.0" } else { "1.1" };
            let kept = if head.persistent { "keep" } else { "close" };
            let framing = match head.framing {
                Framing::NoBody => "no-body".to_owned(),
                Framing::Length(bytes) => format!("length {bytes}"),
                Framing::Chunked => "chunked".to_owned(),
                Framing::UntilClose => "until-close".to_owned(),
            };
            format!("{version} {} {kept} {framing}", head.status)
        }
        ReplyEvent::Done { body, .. } => format!("<{}>", body.escape_ascii()),
    }
}

/// A 200 with these fields and this body.
fn ok(fields: &str, body: &str) -> String {
    let lines: String =
        fields.split('|').filter(|line| !line.is_empty()).map(|l| format!("{l}\r\n")).collect();
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n{body}")
}

fn chunked(body: &str) -> String {
    ok("Transfer-Encoding: chunked", body)
}

#[test]
fn nothing_is_no_reply() {
    check("", "");
    check("\r\n", "");
    check("\n\r\n\n", "");
    check("\r", "Truncated");
    check("\r\r\n", "BadHead");
}

#[test]
fn bodies_of_a_given_length() {
    check(ok("Content-Length: 5", "hello"), "1.1 200 keep length 5, <hello>");
    check(ok("content-LENGTH:\t 005 ", "hello"), "1.1 200 keep length 5, <hello>");
    check(ok("Content-Length: 0", ""), "1.1 200 keep length 0, <>");
    check(ok("Content-Length: 5, 5|Content-Length: 05", "hello"), "1.1 200 keep length 5, <hello>");
    check(ok("Content-Length: 5", "hel"), "1.1 200 keep length 5, <hel Truncated");
    check(ok("Content-Length: 5", ""), "1.1 200 keep length 5, Truncated");
    let most = ok("Content-Length: 18446744073709551615", "");
    check(most, "1.1 200 keep length 18446744073709551615, Truncated");
}

#[test]
fn lengths_that_are_none() {
    for length in ["", "5, 6", "5,", "5 5", "+5", "-5", "5.0", "0x5", "five", "18446744073709551616", "5;a"] {
        check(ok(&format!("Content-Length: {length}"), "hello"), "BadLength");
    }
    check(ok("Content-Length: 5|Content-Length: 6", "hello"), "BadLength");
    check(ok("Content-Length: 5|Content-Length:", "hello"), "BadLength");
}

#[test]
fn bodies_that_end_with_the_connection() {
    check(ok("", "hello"), "1.1 200 close until-close, <hello>");
    check(ok("Connection: keep-alive", ""), "1.1 200 close until-close, <>");
    check("HTTP/1.0 200 OK\n\nhello", "1.0 200 close until-close, <hello>");
}

#[test]
fn bodies_in_chunks() {
    check(chunked("5\r\nhello\r\n0\r\n\r\n"), "1.1 200 keep chunked, <hello>");
    check(chunked("2\r\nhe\r\n00003\r\nllo\r\n000\r\n\r\n"), "1.1 200 keep chunked, <hello>");
    check(
        chunked("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"),
        "1.1 200 keep chunked, <01234567890123456789>",
    );
    check(chunked("0\r\n\r\n"), "1.1 200 keep chunked, <>");
    check(chunked("5\r\n\r\n\r\n\n\r\n0\r\n\r\n"), "1.1 200 keep chunked, <\\r\\n\\r\\n\\n>");
    let any_case = ok("TRANSFER-encoding: cHuNKed", "1\r\na\r\n0\r\n\r\n");
    check(any_case, "1.1 200 keep chunked, <a>");
    let with_extensions = "1;a;b=c; d=\"x;,\u{e9}\"\r\na\r\n1 ; e\r\nb\r\n1  \r\nc\r\n0;last\r\n\r\n";
    check(chunked(with_extensions), "1.1 200 keep chunked, <abc>");
}

#[test]
fn trailers_are_read_and_dropped() {
    check(chunked("1\r\na\r\n0\r\nDigest: x\r\nExpires:\r\n\r\n"), "1.1 200 keep chunked, <a>");
    check(chunked("1\r\na\r\n0\r\nContent-Length: 7\r\n folded\r\n\t\r\n\r\n"), "1.1 200 keep chunked, <a>");
    check(chunked("1\r\na\r\n0\r\na: b\nc: d\n\n"), "1.1 200 keep chunked, <a>");
    for trailer in [" a: b", "a", "a b: c", ": b", "a : b", "a: \0", "a: b\rc"] {
        let stream = chunked(&format!("1\r\na\r\n0\r\n{trailer}\r\n\r\n"));
        check(stream, "1.1 200 keep chunked, <a BadChunk");
    }
    check(chunked("1\r\na\r\n0\r\na: b\r\n"), "1.1 200 keep chunked, <a Truncated");
}

#[test]
fn chunks_that_are_none() {
    for chunk in [
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "0x1\r\na\r\n",
        "1\na\n",
        "1;a\na\r\n",
        "1\r\rna\r\n",
        " 1\r\na\r\n",
        "1 1\r\na\r\n",
        "1;\0\r\n",
        "10000000000000000\r\n",
        "ffffffffffffffff0\r\n",
    ] {
        check(chunked(chunk), "1.1 200 keep chunked, BadChunk");
    }
    for chunk in ["1\r\nab\r\n", "1\r\na\n0\r\n\r\n", "1\r\na\rb", "1\r\na0\r\n\r\n"] {
        check(chunked(chunk), "1.1 200 keep chunked, <a BadChunk");
    }
    for chunk in ["1\r\na", "1\r\na\r", "1\r\na\r\n", "1\r\na\r\n0", "1\r\na\r\n0\r\n", "2\r\na"] {
        check(chunked(chunk), "1.1 200 keep chunked, <a Truncated");
    }
    check(chunked("ffffffffffffffff\r\na"), "1.1 200 keep chunked, <a Truncated");
}

#[test]
fn codings_besides_chunked() {
    let chunks = "1\r\na\r\n0\r\n\r\n";
    let row = |fields: &str, events| check(ok(fields, chunks), events);
    row("Transfer-Encoding: gzip, chunked", "1.1 200 keep chunked, <a>");
    row("Transfer-Encoding: gzip|Transfer-Encoding: chunked", "1.1 200 keep chunked, <a>");
    row("Transfer-Encoding: , chunked ,", "1.1 200 keep chunked, <a>");
    row(
        "Transfer-Encoding: foo;a=\"x, chunked\"",
        "1.1 200 close until-close, <1\\r\\na\\r\\n0\\r\\n\\r\\n>",
    );
    for coding in ["gzip", "identity", "chunked, gzip", "", "xchunked", "chunked foo"] {
        row(
            &format!("Transfer-Encoding: {coding}"),
            "1.1 200 close until-close, <1\\r\\na\\r\\n0\\r\\n\\r\\n>",
        );
    }
    for coding in ["chunked, chunked", "chunked;a=b", "gzip, chunked ;a"] {
        row(&format!("Transfer-Encoding: {coding}"), "BadLength");
    }
    row("Transfer-Encoding: chunked|Transfer-Encoding: chunked", "BadLength");
}

#[test]
fn replies_that_may_be_smuggling_are_the_last() {
    let chunks = "1\r\na\r\n0\r\n\r\n";
    let both = ok("Content-Length: 3|Transfer-Encoding: chunked", chunks);
    check(both, "1.1 200 close chunked, <a>");
    let both = ok("Transfer-Encoding: chunked|Content-Length: x, y", chunks);
    check(both, "1.1 200 close chunked, <a>");
    let old =
        format!("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    check(old, "1.0 200 close chunked, <a>");
}

#[test]
fn replies_without_a_body() {
    let head = |stream: &str, events| check_as(Answering::Head, &Limits::default(), stream, events);
    head(&ok("Content-Length: 5", ""), "1.1 200 keep no-body, <>");
    head(&ok("Transfer-Encoding: chunked", ""), "1.1 200 keep no-body, <>");
    head(&ok("", ""), "1.1 200 keep no-body, <>");
    head(&ok("Content-Length: five", ""), "1.1 200 keep no-body, <>");
    head(
        &format!("{0}{0}", ok("Content-Length: 5", "")),
        "1.1 200 keep no-body, <>, 1.1 200 keep no-body, <>",
    );
    check("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "1.1 204 keep no-body, <>");
    check("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "1.1 304 keep no-body, <>");
    check("HTTP/1.1 304\r\nTransfer-Encoding: chunked\r\n\r\n", "1.1 304 keep no-body, <>");
}

#[test]
fn interim_replies_come_before_the_final_one() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n";
    let last = ok("Content-Length: 1", "a");
    check(
        format!("HTTP/1.1 100 Continue\r\n\r\n{early}{early}{last}"),
        "interim 100, interim 103, interim 103, 1.1 200 keep length 1, <a>",
    );
    check("HTTP/1.1 100 Continue\r\n\r\n", "interim 100");
    check("HTTP/1.1 199\r\n\r\nHTTP", "interim 199, Truncated");
    check(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "1.1 101 close no-body, <>",
    );
}

#[test]
fn whether_the_connection_lives() {
    let row = |version, fields: &str, kept| {
        let stream = ok(&format!("Content-Length: 0|{fields}"), "").replace("1.1", version);
        check(stream, &format!("{version} 200 {kept} length 0, <>"));
    };
    row("1.1", "", "keep");
    row("1.1", "Connection: close", "close");
    row("1.1", "Connection: x, CLOSE", "close");
    row("1.1", "Connection: x|Connection: close", "close");
    row("1.1", "Connection: x\r\n  ,close", "close");
    row("1.1", "Connection: closed", "keep");
    row("1.1", "Connection: keep-alive, close", "close");
    row("1.1", "X-Connection: close", "keep");
    row("1.0", "", "close");
    row("1.0", "Connection: Keep-Alive", "keep");
    row("1.0", "Connection: keep-alive|Connection: close", "close");
}

#[test]
fn replies_follow_one_another() {
    let one = ok("Content-Length: 1", "a");
    let other = chunked("1\r\nb\r\n0\r\n\r\n");
    let none = "HTTP/1.1 204 No Content\r\n\r\n";
    check(
        format!("{one}{other}\r\n{none}{one}"),
        "1.1 200 keep length 1, <a>, 1.1 200 keep chunked, <b>, 1.1 204 keep no-body, <>, 1.1 200 keep length 1, <a>",
    );
    check(format!("{one}\r\n"), "1.1 200 keep length 1, <a>");
    check(format!("{one}surplus"), "1.1 200 keep length 1, <a>, BadHead");
}

#[test]
fn heads_with_licence() {
    check("\r\n\nHTTP/1.1 204 No Content\r\n\r\n", "1.1 204 keep no-body, <>");
    check("HTTP/1.1 204\r\n\r\n", "1.1 204 keep no-body, <>");
    check("HTTP/1.1 204 \r\n\r\n", "1.1 204 keep no-body, <>");
    check("HTTP/1.1 204\n\n", "1.1 204 keep no-body, <>");
    check("HTTP/1.1 200 OK\nContent-Length: 1\r\n\na", "1.1 200 keep length 1, <a>");
    check(b"HTTP/1.1 204 \xe9t\xe9\r\nX: \xff\r\n\r\n", "1.1 204 keep no-body, <>");
    check(ok("X: a\r\n b\r\n\tc|Content-Length:\r\n 1", "a"), "1.1 200 keep length 1, <a>");
    check(ok("Content-Length: 1\r\n 2", "a"), "BadLength");
    check("HTTP/1.1 999 Beyond\r\nContent-Length: 0\r\n\r\n", "1.1 999 keep length 0, <>");
}

#[test]
fn heads_that_are_none() {
    for stream in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "<html>hello</html>",
        " HTTP/1.1 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.10 200 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 200 O\0K\r\n\r\n",
        "HTTP/1.1 200 OK\r\r\n\r\n",
        "HTTP/1.1 200 OK\r\n a: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\na\r\n\r\n",
        "HTTP/1.1 200 OK\r\na : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: b\0\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n",
    ] {
        check(stream, "BadHead");
        held_open(stream);
    }
    for stream in
        ["H", "HTTP/1.1", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\na: b\r\n\r", "HTTP/1.1 200 OK\r\na:"]
    {
        check(stream, "Truncated");
    }
}

/// A server that sends a head that is none byte by byte, and then nothing more and does not close, is found
/// out by what it has sent.
#[track_caller]
fn held_open(stream: &str) {
    let mut reader = ReplyReader::new();
    let mut bytes = stream.as_bytes().chunks(1);
    let read = |byte| reader.read(byte, Answering::Other, &Limits::default());
    let wrong = bytes.by_ref().map(read).find_map(Result::err);
    assert_eq!(wrong, Some(Malformed::BadHead), "{stream}");
}

/// RFC 9110, 2.5: a minor version that is higher than the highest known is read as that.
#[test]
fn later_minor_versions_are_read_as_the_highest_known() {
    for minor in 2..=9 {
        let head = format!("HTTP/1.{minor} 200 OK\r\nContent-Length: 2\r\n\r\nok");
        check(&head, "1.1 200 keep length 2, <ok>");
        check(head.replace("Content-Length", "Connection: close\r\nX"), "1.1 200 close until-close, <ok>");
    }
}

#[test]
fn the_limit_of_fields_can_be_set() {
    let limits = |head_fields| Limits { head_fields, ..Limits::default() };
    let fields = |count: usize| ok(&format!("Content-Length: 1{}", "|a:".repeat(count - 1)), "a");
    for most in [1_u16, 3, 128, 129, 1000] {
        let many = usize::from(most);
        check_as(Answering::Other, &limits(most), fields(many), "1.1 200 keep length 1, <a>");
        check_as(Answering::Other, &limits(most), fields(many + 1), "HeadTooLarge");
    }
}

#[test]
fn heads_have_a_limit() {
    let head_of = |bytes: usize| {
        let head = "HTTP/1.1 204 No Content\r\nX: \r\n\r\n";
        head.replace("X: ", &format!("X: {}", "x".repeat(bytes - head.len())))
    };
    let limit = TIGHT.head_bytes as usize;
    check_tight(head_of(limit), "1.1 204 keep no-body, <>");
    check_tight(head_of(limit + 1), "HeadTooLarge");
    check_tight(&head_of(limit + 1)[..limit - 1], "Truncated");
    check_tight("\n".repeat(limit), "HeadTooLarge");
    check_tight(format!("\r\n{}", head_of(limit - 1)), "HeadTooLarge");
    let interim = "HTTP/1.1 100 \r\n\r\n";
    check_tight(
        interim.repeat(6),
        "interim 100, interim 100, interim 100, interim 100, interim 100, HeadTooLarge",
    );
    let fields = |count: usize| ok(&format!("Content-Length: 1{}", "|a:".repeat(count - 1)), "a");
    check(fields(128), "1.1 200 keep length 1, <a>");
    check(fields(129), "HeadTooLarge");
}

#[test]
fn chunk_lines_and_trailers_have_a_limit() {
    let head = "1.1 200 keep chunked, ";
    check_tight(chunked(&format!("1\r\na\r\n0;{}\r\n\r\n", "x".repeat(100))), &format!("{head}<a BadChunk"));
    check_tight(
        chunked(&format!("1\r\na\r\n0\r\nx: {}\r\n\r\n", "x".repeat(100))),
        &format!("{head}<a BadChunk"),
    );
    check_tight(chunked(&format!("1\r\na\r\n{}", "0".repeat(100))), &format!("{head}<a BadChunk"));
    check_tight(
        chunked(&format!("{}0\r\n\r\n", "1;x\r\na\r\n".repeat(20))),
        &format!("{head}<{}>", "a".repeat(20)),
    );
}

#[test]
fn bodies_have_a_limit() {
    let limit = TIGHT.body_bytes as usize;
    let all = "a".repeat(limit);
    let over = "a".repeat(limit + 1);
    check_tight(ok("Content-Length: 24", &all), &format!("1.1 200 keep length 24, <{all}>"));
    check_tight(ok("Content-Length: 25", &over), &format!("1.1 200 keep length 25, <{all} BodyTooLarge"));
    check_tight(ok("", &all), &format!("1.1 200 close until-close, <{all}>"));
    check_tight(ok("", &over), &format!("1.1 200 close until-close, <{all} BodyTooLarge"));
    let chunks = "6\r\naaaaaa\r\n".repeat(4);
    check_tight(chunked(&format!("{chunks}0\r\n\r\n")), &format!("1.1 200 keep chunked, <{all}>"));
    check_tight(chunked(&format!("{chunks}1\r\na")), &format!("1.1 200 keep chunked, <{all} BodyTooLarge"));
}

#[test]
fn a_failed_reply_tells_how_far_it_got() {
    let mut reader = ReplyReader::new();
    let stream = ok("Content-Length: 5", "hel");
    let mut rest = stream.as_bytes();
    while !rest.is_empty() {
        let step = reader.read(rest, Answering::Other, &Limits::default());
        rest = &rest[step.expect("a good beginning").0..];
    }
    assert_eq!(reader.finish(), Err(Malformed::Truncated));
    let reply = reader.so_far();
    assert_eq!((reply.status, reply.body_bytes), (200, 3));
    assert_eq!(reply.reply_bytes, stream.len() as u64);
}

#[test]
fn a_reader_stays_small() {
    assert!(size_of::<ReplyReader>() <= 64, "{} bytes", size_of::<ReplyReader>());
}

#[test]
fn every_fault_has_an_outcome_of_the_protocol() {
    use Malformed::*;
    for fault in [BadHead, HeadTooLarge, BadLength, BadChunk, Truncated, BodyTooLarge] {
        assert_eq!(fault.outcome().fault(), farfield_base::Fault::Protocol, "{fault:?}");
    }
}

/// The detail of a malformed reply is the rule, with its section, and the line that breaks it, however the
/// reply is cut.
#[test]
fn a_malformed_reply_names_the_rule() {
    for (reply, outcome, detail) in [
        (
            "HTTP/1.1 2x0 OK\r\n\r\n".to_owned(),
            Malformed::BadHead,
            "the status is not three digits, from 100 (RFC 9112 §4): HTTP/1.1 2x",
        ),
        (
            "SSH-2.0-x\r\n".to_owned(),
            Malformed::BadHead,
            "the reply does not begin with a status line of HTTP/1 (RFC 9112 §4): SSH-2.0-x",
        ),
        (
            "HTTP/1.1 200 OK\r\nServer: x\r\na b: c\r\n\r\n".to_owned(),
            Malformed::BadHead,
            "a field's name has a character that it cannot have, or no colon (RFC 9112 §5): a",
        ),
        (
            "HTTP/1.1 200 OK\r\nSet-Cookie: secret\0\r\n\r\n".to_owned(),
            Malformed::BadHead,
            "a field's value has a character that it cannot have (RFC 9110 §5.5): Set-Cookie",
        ),
        (
            ok("Content-Length: 5, 6", ""),
            Malformed::BadLength,
            "Content-Length is no number, or several, or Transfer-Encoding contradicts itself (RFC 9112 §6.3)",
        ),
        (
            chunked("5\r\nhello\r\nxyz\r\n"),
            Malformed::BadChunk,
            "a chunk's size is no hexadecimal number of 64 bits (RFC 9112 §7.1)",
        ),
        (
            chunked("5\r\nhelloX\r\n"),
            Malformed::BadChunk,
            "a chunk's data is not followed by CRLF (RFC 9112 §7.1)",
        ),
        (
            chunked("0\r\na b\r\n\r\n"),
            Malformed::BadChunk,
            "the trailer section cannot be read (RFC 9112 §7.1.2)",
        ),
    ] {
        for piece in [1, 3, reply.len()] {
            let (mut reader, mut found) = (ReplyReader::new(), None);
            'pieces: for piece in reply.as_bytes().chunks(piece) {
                let mut rest = piece;
                loop {
                    match reader.read(rest, Answering::Other, &Limits::default()) {
                        Ok((_, farfield_http::http1::Event::NeedMore)) => break,
                        Ok((taken, _)) => rest = &rest[taken..],
                        Err(malformed) => {
                            found = Some((malformed, reader.detail_of(malformed, rest)));
                            break 'pieces;
                        }
                    }
                }
            }
            let (malformed, found) = found.expect("it is malformed");
            assert_eq!(malformed, outcome, "{reply:?}");
            let found = found.expect("a rule").to_string();
            // Of what is no HTTP at all the line is shown as far as it came.
            assert!(detail.starts_with(&found) && found.contains("(RFC 9"), "{found}, in pieces of {piece}");
            assert!(found == detail || piece == 1 || piece == 3 && reply.starts_with("SSH"), "{found}");
        }
    }
}
