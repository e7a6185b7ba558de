//! Names of faults over HTTP/1.1, HTTP/2 and HTTP/3: each fault has one, whatever the version, and that of
//! one reply is the end of its stream alone.

use super::http2::{self, DATA, END, END_HEADERS, HEADERS};
use super::{replies, scene};
use farfield_base::Outcome;
use farfield_http::http1::{Answering, Limits, ReplyReader};
use farfield_http::http3::{ConnectionError, ConnectionLoss, Event};

/// A reply: its heads, interim and final, its body, and its end in good order.
struct Faulty {
    heads: Vec<Vec<(String, String)>>,
    body: &'static str,
}

fn faulty(heads: &[&[(&str, &str)]], body: &'static str) -> Faulty {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Faulty { heads: heads.iter().map(|head| head.iter().map(owned).collect()).collect(), body }
}

fn borrowed(head: &[(String, String)]) -> Vec<(&str, &str)> {
    head.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

impl Faulty {
    /// The outcome over HTTP/1.1, where the connection ends behind it.
    fn over_http1(&self) -> Outcome {
        let mut bytes = Vec::new();
        for head in &self.heads {
            for (name, value) in head {
                let line = match name.as_str() {
                    ":status" => format!("HTTP/1.1 {value} x\r\n"),
                    name => format!("{name}: {value}\r\n"),
                };
                bytes.extend_from_slice(line.as_bytes());
            }
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(self.body.as_bytes());
        let (mut reader, mut rest) = (ReplyReader::new(), bytes.as_slice());
        loop {
            match reader.read(rest, Answering::Other, &Limits::default()) {
                Err(malformed) => return malformed.outcome(),
                Ok((_, farfield_http::http1::Event::Done(reply))) => return Outcome::of_status(reply.status),
                Ok((_, farfield_http::http1::Event::NeedMore)) => break,
                Ok((taken, _)) => rest = &rest[taken..],
            }
        }
        match reader.finish() {
            Ok(Some(reply)) => Outcome::of_status(reply.status),
            Ok(None) => Outcome::ClosedUnanswered,
            Err(malformed) => malformed.outcome(),
        }
    }

    /// The outcome over HTTP/2, where the reply on the next stream is read.
    fn over_http2(&self) -> Outcome {
        let mut bytes = Vec::new();
        for (place, head) in self.heads.iter().enumerate() {
            let block = http2::block(&borrowed(head));
            let ends = self.body.is_empty() && place + 1 == self.heads.len();
            let mut pieces = block.chunks(16_000).enumerate().peekable();
            while let Some((number, piece)) = pieces.next() {
                let kind = if number == 0 { HEADERS } else { 9 };
                let flags = if ends && number == 0 { END } else { 0 };
                let flags = flags | if pieces.peek().is_none() { END_HEADERS } else { 0 };
                bytes.extend(http2::frame(kind, flags, 1, piece));
            }
        }
        if !self.body.is_empty() {
            bytes.extend(http2::frame(DATA, END, 1, self.body.as_bytes()));
        }
        bytes.extend(http2::headers(3, END, &[(":status", "200")]));
        let mut scene = http2::Scene::asking(2);
        let (mut rest, mut outcome, mut is_served) = (bytes.as_slice(), None, false);
        loop {
            let read = scene.connection.read(&mut scene.heads, rest, &mut scene.to_send);
            let (taken, event) = read.expect("the connection goes on");
            rest = &rest[taken..];
            match event {
                Event::NeedMore => break,
                Event::Failed(_, _, error) => outcome = Some(error.outcome()),
                Event::Done(number, _) => is_served |= number == 1,
                _ => {}
            }
        }
        assert!(is_served, "the other stream goes on");
        outcome.expect("the reply fails")
    }

    /// The outcome over HTTP/3, and the same of the next stream.
    fn over_http3(&self) -> Outcome {
        let heads = self.heads.iter().map(|head| replies::head(&borrowed(head)));
        let body = (!self.body.is_empty()).then(|| replies::data(self.body.as_bytes()));
        let bytes = heads.chain(body).collect::<Vec<_>>().concat();
        let mut scene = scene::Scene::secured(&scene::Terms::default());
        scene.ask("/", b"");
        scene.ask("/", b"");
        scene.settle();
        scene.server.answer(0, &bytes);
        scene.server.answer(1, &replies::head(&[(":status", "200")]));
        scene.settle();
        let events = scene.take();
        assert!(events.iter().any(|event| matches!(event, Event::Done(1, _))), "{events:?}");
        let outcome = events.iter().find_map(|event| match event {
            Event::Failed(0, _, error) => Some(error.outcome()),
            _ => None,
        });
        outcome.unwrap_or_else(|| panic!("{events:?}"))
    }
}

#[test]
fn a_fault_has_one_name_in_all_versions() {
    const OK: (&str, &str) = (":status", "200");
    let (long, longer) = ("x".repeat(70_000), "y".repeat(120_000));
    let (long, longer) = (long.as_str(), longer.as_str());
    let names: Vec<String> = (0..200).map(|number| format!("x-{number}")).collect();
    let mut many = vec![OK];
    many.extend(names.iter().map(|name| (name.as_str(), "1")));
    let length = |value| [OK, ("content-length", value)];
    let early = [(":status", "103"), ("link", "</a.css>")];
    let table: [(&str, Faulty, Outcome); 16] = [
        ("a head over the limit", faulty(&[&[OK, ("long", long)]], "x"), Outcome::HeadTooLarge),
        ("a head of nearly twice the limit", faulty(&[&[OK, ("long", longer)]], "x"), Outcome::HeadTooLarge),
        ("one without a body", faulty(&[&[OK, ("long", long)]], ""), Outcome::HeadTooLarge),
        (
            "an interim head over it",
            faulty(&[&[early[0], ("long", long)], &[OK]], "x"),
            Outcome::HeadTooLarge,
        ),
        ("too many fields", faulty(&[many.as_slice()], "x"), Outcome::HeadTooLarge),
        ("a body cut by the end", faulty(&[&length("5")], "hel"), Outcome::Truncated),
        ("a body that never begins", faulty(&[&length("5")], ""), Outcome::Truncated),
        ("one that is cut behind interim heads", faulty(&[&early, &length("5")], "h"), Outcome::Truncated),
        ("two lengths", faulty(&[&length("5, 6")], "hello"), Outcome::BadLength),
        ("no number for a length", faulty(&[&length("five")], "hello"), Outcome::BadLength),
        ("the end behind an interim head", faulty(&[&early], ""), Outcome::ClosedUnanswered),
        ("and behind two", faulty(&[&early, &early], ""), Outcome::ClosedUnanswered),
        ("NUL in a value", faulty(&[&[OK, ("a", "b\0c")]], "x"), Outcome::BadHead),
        ("a blank in a name", faulty(&[&[OK, ("a b", "c")]], "x"), Outcome::BadHead),
        ("a status of two digits", faulty(&[&[(":status", "20")]], "x"), Outcome::BadHead),
        ("a status that is no number", faulty(&[&[(":status", "2x0")]], "x"), Outcome::BadHead),
    ];
    for (what, reply, expected) in &table {
        let found = [reply.over_http1(), reply.over_http2(), reply.over_http3()];
        assert_eq!(found, [*expected; 3], "{what}");
    }
}

/// RFC 9114, 7.1: a frame that its stream's end cuts off is an error of the connection. Its own request has
/// the name that it has in other versions.
#[test]
fn a_reply_that_ends_in_a_frame_is_truncated() {
    let head = replies::head(&[(":status", "200"), ("content-length", "5")]);
    let body = replies::data(b"hello");
    let whole = [head.clone(), body].concat();
    for cut in [head.len() - 1, head.len() + 1, head.len() + 4] {
        let mut scene = scene::Scene::secured(&scene::Terms::default());
        scene.ask("/", b"");
        scene.ask("/", b"");
        scene.settle();
        scene.server.answer(0, &whole[..cut]);
        scene.settle();
        let events = scene.take();
        let [.., Event::Failed(0, _, error)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(error.outcome(), Outcome::Truncated, "{cut}");
        assert_eq!(scene.lost, Some(ConnectionLoss::Http3(ConnectionError::FrameCut)));
        let detail = scene.connection.detail().expect("a rule").to_string();
        assert_eq!(detail, "a stream ends in the middle of a frame (RFC 9114 §7.1)");
    }
}
