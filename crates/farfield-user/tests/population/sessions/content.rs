//! Content of replies: its coding, and how much of it is looked at.

use super::*;

/// Content in a coding, each character a byte.
fn coded(coding: &str, content: &str) -> String {
    use std::io::Write;
    let bytes = match coding {
        "zstd" => zstd::encode_all(content.as_bytes(), 1).expect("memory takes it"),
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes it")
        }
        _ => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes it")
        }
    };
    let body: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let (lines, length) = (format!("Content-Encoding: {coding}\r\nContent-Type: text/html\r\n"), bytes.len());
    format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {length}\r\n\r\n{body}")
}

/// Checks, extractions and what a page embeds are found in what the coding stands for; both sizes are
/// counted.
#[test]
fn content_is_decoded_for_what_looks_at_it() {
    const PAGE: &str =
        "<html><p class=t>token one</p><img src=/i.png> and again, and again, and again</html>";
    let session = "page-load = 'browser'\n[[state]]\nname = 'a'\npath = '/a'\ncheck.contains = 'again, and'\n\
                   extract.t = { css = 'p.t' }\n[[state]]\nname = 'b'\npath = '/b/${t|url}'\n";
    let scripts: [fn(&str) -> String; 3] =
        [|_| coded("gzip", PAGE), |_| coded("deflate", PAGE), |_| coded("zstd", PAGE)];
    for script in scripts {
        for pieces in [None, Some(7)] {
            let mut scene = scripted(ONE, session, script);
            scene.server.pieces = pieces;
            let stage = scene.play();
            let asked = lines(&stage);
            assert_eq!(asked[..3], ["GET /a HTTP/1.1", "GET /i.png HTTP/1.1", "GET /b/token%20one HTTP/1.1"]);
            assert_eq!(stage.ok().count() + stage.count(Outcome::Unfinished), stage.samples.len());
            // The two pages of a session are looked at, and their images are not.
            let pages = stage.ok().filter(|sample| sample.page.begins()).count() as u64;
            let (coded, decoded) = (stage.counts.content.coded_bytes, stage.counts.content.decoded_bytes);
            assert!(decoded >= pages * PAGE.len() as u64 && decoded <= (pages + 1) * PAGE.len() as u64);
            assert!(coded > 0 && coded < 2 * decoded);
        }
    }
}

#[test]
fn content_that_is_not_in_its_coding_is_reported() {
    let session = "on-failure = 'go-on'\n[[state]]\nname = 'a'\npath = '/a'\ncheck.lacks = 'x'\n";
    let scripts: [fn(&str) -> String; 3] = [
        |_| reply(200, "Content-Encoding: gzip\r\n", "not coded"),
        |_| reply(200, "Content-Encoding: compress\r\n", "?"),
        |_| reply(200, "Content-Encoding: gzip, br\r\n", "?"),
    ];
    for script in scripts {
        let (outcomes, _) = led_by(session, script);
        assert!(outcomes.len() > 5 && outcomes[..5].iter().all(|outcome| *outcome == Outcome::BadCoding));
    }
    // Bodies that are not looked at need not be decoded.
    let (outcomes, _) = led_by("[[state]]\nname = 'a'\npath = '/a'\n", scripts[0]);
    assert!(outcomes[..5].iter().all(|outcome| *outcome == Outcome::Ok));
}

/// A state examines 1 MiB of a body, or `body-limit`.
#[test]
fn a_body_is_examined_up_to_its_limit() {
    const WITHIN: usize = (1 << 20) - "end".len();
    let session = |limit: &str| {
        let state =
            |name: &str| format!("[[state]]\nname = '{name}'\npath = '/{name}'\ncheck.contains = ['end']\n");
        format!("on-failure = 'go-on'\n{limit}{}{}", state("within"), state("beyond"))
    };
    let script = |request: &str| {
        let bytes = WITHIN + usize::from(line(request).contains("/beyond"));
        reply(200, "", &("x".repeat(bytes) + "end and more"))
    };
    for (limit, beyond) in [("", Outcome::CheckFailed), ("body-limit = '1025KiB'\n", Outcome::Ok)] {
        let mut scene = scripted(ONE, &session(limit), script);
        scene.requests_max = Some(2);
        let stage = scene.play();
        let outcomes: Vec<Outcome> = stage.samples.iter().map(|sample| sample.outcome).collect();
        assert_eq!(outcomes, [Outcome::Ok, beyond], "{limit}");
        // Both go on behind 1 MiB.
        assert_eq!(stage.counts.bodies_cut, if limit.is_empty() { 2 } else { 0 }, "{limit}");
    }
}

/// 16 MiB of a page that is coded are decoded for what they embed, and no more.
#[test]
fn content_is_decoded_up_to_its_limit() {
    let script = |request: &str| {
        if !line(request).starts_with("GET /a ") {
            return reply(200, "", "");
        }
        let [first, last] = ["first", "last"].map(|name| format!("<img src=/{name}>"));
        coded("gzip", &format!("{first}{}{last}", " ".repeat((16 << 20) - first.len())))
    };
    for (limit, asked) in
        [("", &["/a", "/first"][..]), ("body-limit = '17MiB'\n", &["/a", "/first", "/last"])]
    {
        let session = format!("page-load = 'browser'\n{limit}[[state]]\nname = 'a'\npath = '/a'\n");
        let mut scene = scripted(ONE, &session, script);
        scene.requests_max = Some(1);
        let stage = scene.play();
        let expected: Vec<String> = asked.iter().map(|path| format!("GET {path} HTTP/1.1")).collect();
        assert_eq!(lines(&stage), expected, "{limit}");
    }
}

/// However much a page embeds, so much is fetched; the rest is counted.
#[test]
fn a_page_that_embeds_without_end_is_bounded() {
    let session = "page-load = 'browser'\n[[state]]\nname = 'a'\npath = '/a'\n";
    let mut scene = scripted(ONE, session, |request| match line(request).starts_with("GET /a ") {
        true => {
            let images: String = (0..5000).map(|number| format!("<img src=/{number}>")).collect();
            reply(200, "Content-Type: text/html\r\n", &images)
        }
        false => reply(200, "", ""),
    });
    scene.requests_max = Some(1);
    scene.length = Duration::from_secs(1000);
    let stage = scene.play();
    assert_eq!((stage.sent.len(), stage.counts.objects_left_out), (1 + 4096, 5000 - 4096));
}
