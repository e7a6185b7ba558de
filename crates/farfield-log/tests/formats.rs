//! Lines of each format into requests: good lines, broken lines, any bytes at all.

use farfield_base::{Duration, Instant};
use farfield_log::{FieldMap, LogFormat, LogLine, LogParser, LogReader, Record, TransferUnit, decompressed};
use proptest::prelude::*;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

const COMMON: LogFormat = LogFormat::Common { transfer: None };

/// A record with texts of its own, so that tests can keep it.
#[derive(Debug, PartialEq)]
struct OwnedRecord {
    secs: f64,
    client: String,
    agent: String,
    method: String,
    path: String,
    referrer: String,
    status: u16,
    bytes: Option<u64>,
    transfer: Option<Duration>,
}

fn owned(record: &Record<'_>) -> OwnedRecord {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    OwnedRecord {
        secs: (record.at.as_ns() / 1_000_000) as f64 / 1e3,
        client: text(record.client),
        agent: text(record.agent),
        method: text(record.method),
        path: text(record.path),
        referrer: text(record.referrer),
        status: record.status,
        bytes: record.bytes,
        transfer: record.transfer,
    }
}

/// The requests of a log, and what the reader counted: requests, nothing, broken.
fn read(format: &LogFormat, log: &[u8]) -> (Vec<OwnedRecord>, [u64; 3]) {
    let mut reader = LogReader::new(LogParser::new(format));
    let mut requests = Vec::new();
    reader.read(log, &mut |record| requests.push(owned(record))).expect("memory does not fail");
    let tally = reader.tally();
    assert_eq!(tally.lines, tally.requests + tally.nothing + tally.broken);
    (requests, [tally.requests, tally.nothing, tally.broken])
}

fn one(format: &LogFormat, line: &str) -> OwnedRecord {
    let (mut requests, counts) = read(format, line.as_bytes());
    assert_eq!(counts[0], 1, "{line}");
    requests.remove(0)
}

#[test]
fn common_lines_read() {
    let found =
        one(&COMMON, r#"host.net - - [01/Jul/1995:00:00:01 -0400] "GET /a b.html HTTP/1.0" 200 6245"#);
    let expected = OwnedRecord {
        secs: 804_571_201.0,
        client: "host.net".into(),
        agent: String::new(),
        method: "GET".into(),
        path: "/a b.html".into(),
        referrer: String::new(),
        status: 200,
        bytes: Some(6245),
        transfer: None,
    };
    assert_eq!(found, expected);
    let old = one(&COMMON, r#"h - john doe [01/Jul/1995:00:00:01 -0400] "/say "hi"" 304 -"#);
    assert_eq!((old.path.as_str(), old.method.as_str(), old.bytes), (r#"/say "hi""#, "", None));
}

#[test]
fn combined_lines_read_with_transfer_times() {
    let format = LogFormat::Common { transfer: Some(TransferUnit::Seconds) };
    let line = r#"::1 - - [17/Apr/2025:05:10:56 +0100] "GET /?q=\"1\" HTTP/2.0" 200 10 "http://x/" "A \"B\" C" 0.250"#;
    let found = one(&format, line);
    assert_eq!((found.path.as_str(), found.referrer.as_str()), (r#"/?q=\"1\""#, "http://x/"));
    assert_eq!((found.agent.as_str(), found.transfer), (r#"A \"B\" C"#, Some(Duration::from_ms(250))));
    let bare = one(&format, r#"h - - [17/Apr/2025:05:10:56 +0100] "GET / HTTP/1.1" 200 10 "-" "-""#);
    assert_eq!((bare.referrer.as_str(), bare.agent.as_str(), bare.transfer), ("", "", None));
}

#[test]
fn extended_lines_follow_their_fields() {
    let log = "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes \
               time-taken cs(User-Agent)\r\n\
               2025-04-17 05:10:56.5 10.0.0.1 GET /a.asp x=1 200 512 31 Mozilla/5.0+(X11)\r\n\
               2025-04-17 05:10:57 10.0.0.1 GET /b - 404 - - -\r\n\
               #Fields: time c-ip cs-uri\n#Date: 2025-04-18 00:00:00\n05:00:00 h \"/two words\"\nshort\n";
    let (requests, counts) =
        read(&LogFormat::Extended { transfer: Some(TransferUnit::Milliseconds) }, log.as_bytes());
    assert_eq!(counts, [3, 4, 1]);
    assert_eq!((requests[0].secs, requests[0].path.as_str()), (1_744_866_656.5, "/a.asp?x=1"));
    assert_eq!((requests[0].transfer, requests[0].bytes), (Some(Duration::from_ms(31)), Some(512)));
    assert_eq!((requests[1].status, requests[1].agent.as_str(), requests[1].bytes), (404, "", None));
    assert_eq!((requests[2].path.as_str(), requests[2].secs), ("/two words", 1_744_952_400.0));
}

/// `time-taken` is in milliseconds where `#Software:` is Microsoft's, unless a unit is given.
#[test]
fn a_w3c_log_of_iis_is_read_as_iis_writes_it() {
    let mut log = "#Software: Microsoft Internet Information Services 10.0\n\
                   #Fields: date time cs-method cs-uri-stem cs-uri-query c-ip sc-status time-taken\n"
        .to_owned();
    for click in 0..3 {
        let _ = write!(
            log,
            "2025-04-17 05:1{click}:00 GET /page.aspx id={click} 10.0.0.1 200 250\n\
             2025-04-17 05:1{click}:09 GET /style.css ver=4 10.0.0.1 200 31\n"
        );
    }
    let detected = LogFormat::detect(log.as_bytes()).expect("it is seen");
    let (requests, _) = read(&detected, log.as_bytes());
    assert_eq!(
        (requests[1].path.as_str(), requests[1].transfer),
        ("/style.css?ver=4", Some(Duration::from_ms(31)))
    );
    let given = LogFormat::Extended { transfer: Some(TransferUnit::Seconds) };
    assert_eq!(read(&given, log.as_bytes()).0[1].transfer, Some(Duration::from_secs(31)));
    let other = log.replace("Microsoft Internet Information Services 10.0", "Another 1.0");
    assert_eq!(read(&detected, other.as_bytes()).0[1].transfer, Some(Duration::from_secs(31)));
}

#[test]
fn json_lines_follow_their_map() {
    let usual = r#"{"time":"2025-04-17T05:10:56+01:00","remote_addr":"10.0.0.1","request":"GET /a HTTP/1.1","status":"200","body_bytes_sent":5,"request_time":0.5,"more":{"a":[1,null]}}"#;
    let found = one(&LogFormat::Json(Box::default()), usual);
    assert_eq!((found.secs, found.method.as_str(), found.path.as_str()), (1_744_863_056.0, "GET", "/a"));
    assert_eq!((found.status, found.bytes, found.transfer), (200, Some(5), Some(Duration::from_ms(500))));
    let map = FieldMap {
        time: "ts".into(),
        client: "request.remote_ip".into(),
        path: "request.uri".into(),
        agent: "request.headers.agent".into(),
        bytes: "size".into(),
        ..FieldMap::default()
    };
    let nested = r#"{"ts":1744863056.25,"request":{"remote_ip":"::1","uri":"/\u00e9","headers":{"agent":"x"}},"size":7}"#;
    let found = one(&LogFormat::Json(Box::new(map)), nested);
    assert_eq!((found.secs, found.client.as_str(), found.path.as_str()), (1_744_863_056.25, "::1", "/é"));
    assert_eq!((found.agent.as_str(), found.bytes), ("x", Some(7)));
}

#[test]
fn gn_lines_read() {
    let log = "1+1: Tue Aug 22 00:00:05 1995 (/cube.gif): Sent binary: GET /x/cube.gif HTTP/1.0\n\
               6+1: Tue Aug 22 00:00:28 1995 (): HTTP error: HTTP/1.0 403 Sorry, access denied.\n\
               6+1: Tue Aug 22 00:00:28 1995 (): Sorry, access denied: /var/spool/gn/Fun\n\
               UNR a.edu: Tue Aug 22 00:00:46 1995 (/): Sent cache:\n\
               nonsense\n";
    let (requests, counts) = read(&LogFormat::Gn, log.as_bytes());
    assert_eq!(counts, [3, 1, 1]);
    let briefly: Vec<(&str, &str, u16)> =
        requests.iter().map(|r| (r.client.as_str(), r.path.as_str(), r.status)).collect();
    assert_eq!(briefly[0], ("1+1", "/cube.gif", 200));
    assert_eq!((briefly[1].0, briefly[1].2), ("6+1", 403));
    assert_eq!(briefly[2], ("UNR a.edu", "/", 200));
}

#[test]
fn broken_lines_are_counted_and_the_first_shown() {
    let mut log = b"\xff\xfe broken\n\n".repeat(7);
    log.extend(vec![b'x'; 300_000]);
    log.extend(b"\nh - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1");
    let mut reader = LogReader::new(LogParser::new(&COMMON));
    reader.read(&log[..], &mut |record| assert_eq!(record.path, b"/")).expect("memory does not fail");
    let tally = reader.tally();
    assert_eq!((tally.lines, tally.requests, tally.nothing, tally.broken), (16, 1, 7, 8));
    assert_eq!(tally.shown.len(), LogReader::SHOWN_MAX);
    assert_eq!((tally.shown[1].line, tally.shown[1].why.as_str()), (3, "no time in brackets"));
}

/// A reader that gives a few bytes at a time, or fails.
struct Slow<'a>(&'a [u8], usize);

impl std::io::Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let take = self.1.min(into.len()).min(self.0.len());
        into[..take].copy_from_slice(&self.0[..take]);
        self.0 = &self.0[take..];
        if take == 0 { Err(std::io::Error::other("gone")) } else { Ok(take) }
    }
}

#[test]
fn a_stream_that_fails_says_after_which_line() {
    let mut reader = LogReader::new(LogParser::new(&COMMON));
    let error = reader.read(Slow(b"one\ntwo\nthr", 3), &mut |_| ()).expect_err("it fails");
    assert_eq!((error.line, reader.tally().broken), (2, 2));
}

#[test]
fn formats_are_recognized_by_their_first_lines() {
    let check = |start: &str, format: Option<LogFormat>| {
        assert_eq!(LogFormat::detect(start.as_bytes()), format, "{start}");
    };
    check("\u{feff}h - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1\n", Some(COMMON));
    check("junk\nh - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1\n", Some(COMMON));
    check("#Version: 1.0\n", Some(LogFormat::Extended { transfer: None }));
    check("1+1: Tue Aug 22 00:00:05 1995 (/c): Sent text: GET /c HTTP/1.0\n", Some(LogFormat::Gn));
    check(
        r#"{"time":1744863056,"remote_addr":"h","request_uri":"/"}"#,
        Some(LogFormat::Json(Box::default())),
    );
    check("nothing known\n", None);
}

/// A layout, a line of it, and what is read: client, method, path, status, bytes, milliseconds.
type Usual =
    (&'static str, &'static str, &'static str, &'static str, &'static str, u16, Option<u64>, Option<u64>);

/// Lines as servers, proxies, balancers and stores write them by default.
const BY_DEFAULT: [Usual; 13] = [
    (
        "vhost",
        r#"shop0.example:443 198.51.100.1 - - [29/Mar/2026:00:30:00 +0000] "GET /p0 HTTP/1.1" 200 600 "-" "M""#,
        "198.51.100.1",
        "GET",
        "/p0",
        200,
        Some(600),
        None,
    ),
    (
        "vhost",
        r#"a.example 2001:db8::1 - john doe [29/Mar/2026:00:30:00 +0000] "HEAD /p HTTP/1.1" 304 - "-" "M""#,
        "2001:db8::1",
        "HEAD",
        "/p",
        304,
        None,
        None,
    ),
    (
        "alb",
        r#"h2 2026-03-29T00:30:00.123456Z app/shop/50dc 198.51.100.1:40000 10.0.0.7:80 0.000 0.012 0.001 200 200 34 600 "GET https://shop.example:443/p0?a HTTP/2.0" "M (X11)" - -"#,
        "198.51.100.1",
        "GET",
        "/p0?a",
        200,
        Some(600),
        Some(13),
    ),
    (
        "elb",
        r#"2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 - -1 -1 -1 503 0 0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -"#,
        "192.168.131.39",
        "GET",
        "/",
        503,
        Some(29),
        None,
    ),
    (
        "s3",
        r#"79a59df900 my-bucket [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59df900 3E57427F3EXAMPLE REST.GET.OBJECT a/b.png "GET /my-bucket/a/b.png HTTP/1.1" 200 - 2662 2662 70 10 "-" "S3Console/0.4" -"#,
        "192.0.2.3",
        "GET",
        "/my-bucket/a/b.png",
        200,
        Some(2_662),
        Some(70),
    ),
    (
        "envoy",
        r#"[2026-03-29T00:30:00.123Z] "GET /p0 HTTP/1.1" 200 - 0 600 12 11 "198.51.100.1,10.0.0.1" "M" "id-0" "shop.example" "10.0.0.7:80""#,
        "198.51.100.1",
        "GET",
        "/p0",
        200,
        Some(600),
        Some(12),
    ),
    (
        "haproxy",
        r#"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#,
        "10.0.1.2",
        "GET",
        "/index.html",
        200,
        Some(2_750),
        Some(109),
    ),
    (
        "squid",
        "1286536309.586    921 192.168.0.68 TCP_MISS/200 507 POST http://a.example/ - DIRECT/10.0.0.1 application/xml",
        "192.168.0.68",
        "POST",
        "/",
        200,
        Some(507),
        Some(921),
    ),
    (
        "caddy",
        r#"{"level":"info","ts":1774744200.5,"logger":"http.log.access","request":{"remote_ip":"198.51.100.9","remote_port":"40000","proto":"HTTP/2.0","method":"GET","host":"a","uri":"/p0?x","headers":{"User-Agent":["M"],"Accept":["a","b"]}},"bytes_read":0,"duration":0.012,"size":600,"status":200}"#,
        "198.51.100.9",
        "GET",
        "/p0?x",
        200,
        Some(600),
        Some(12),
    ),
    (
        "traefik",
        r#"{"ClientAddr":"198.51.100.1:4","ClientHost":"198.51.100.1","DownstreamContentSize":600,"DownstreamStatus":200,"Duration":12000000,"RequestMethod":"GET","RequestPath":"/p0","StartUTC":"2026-03-29T00:30:00.123456789Z","request_User-Agent":"M"}"#,
        "198.51.100.1",
        "GET",
        "/p0",
        200,
        Some(600),
        Some(12),
    ),
    (
        "google",
        r#"{"httpRequest":{"latency":"0.012s","remoteIp":"198.51.100.1","requestMethod":"GET","requestUrl":"https://a.example/p0","responseSize":"600","status":200,"userAgent":"M"},"timestamp":"2026-03-29T00:30:00.123456Z"}"#,
        "198.51.100.1",
        "GET",
        "/p0",
        200,
        Some(600),
        Some(12),
    ),
    (
        "ecs",
        r#"{"@timestamp":"2026-03-29T00:30:00.123Z","source.ip":"198.51.100.1","http.request.method":"GET","url":{"original":"/p0"},"http.response.status_code":200,"http.response.body.bytes":600,"event.duration":12000000,"user_agent.original":"M"}"#,
        "198.51.100.1",
        "GET",
        "/p0",
        200,
        Some(600),
        Some(12),
    ),
    (
        "common",
        r#"198.51.100.1 - - [29/Mar/2026:00:30:00 +0000] "GET /p0 HTTP/1.1" 200 600 "-" "M" 7 "web@docker" "http://10.0.0.7:80" 12ms"#,
        "198.51.100.1",
        "GET",
        "/p0",
        200,
        Some(600),
        None,
    ),
];

#[test]
fn layouts_are_recognized_and_read() {
    for (name, line, client, method, path, status, bytes, transfer_ms) in BY_DEFAULT {
        let named = LogFormat::named(name, None).expect("a layout").expect(name);
        let detected = LogFormat::detect(line.as_bytes());
        assert_eq!(detected.as_ref(), Some(&named), "{name}: {line}");
        let found = one(&named, line);
        assert_eq!(
            (found.client.as_str(), found.method.as_str(), found.path.as_str()),
            (client, method, path)
        );
        assert_eq!((found.status, found.bytes), (status, bytes), "{name}");
        assert_eq!(found.transfer, transfer_ms.map(Duration::from_ms), "{name}");
    }
}

/// The transfer time stands where a server's own layout has it: behind lengths and other fields, before an
/// address, with its unit.
#[test]
fn transfer_times_are_found_wherever_they_stand() {
    let line =
        |rest: &str| format!("h - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1 \"-\" \"M\"{rest}");
    for (rest, unit, ms) in [
        (" 0.100", TransferUnit::Seconds, Some(100)),
        (" \"-\" 0.100 0.090 \"10.0.0.7:8080\"", TransferUnit::Seconds, Some(100)),
        (" 488 0.004 [default-web-80] [] 10.0.0.7:80 120 0.003 200 91c2", TransferUnit::Seconds, Some(4)),
        (" 7 \"web@docker\" \"http://10.0.0.7:80\" 12ms", TransferUnit::Milliseconds, Some(12)),
        (" 12000", TransferUnit::Microseconds, Some(12)),
        (" \"-\" gzip", TransferUnit::Seconds, None),
        ("", TransferUnit::Seconds, None),
    ] {
        let format = LogFormat::Common { transfer: Some(unit) };
        assert_eq!(one(&format, &line(rest)).transfer, ms.map(Duration::from_ms), "{rest}");
    }
}

/// A virtual host that is named as another layout is not taken for a client.
#[test]
fn a_virtual_host_is_no_client() {
    let line = "a.example:80 10.0.0.1 - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1";
    let mut reader = LogReader::new(LogParser::new(&COMMON));
    reader.read(line.as_bytes(), &mut |_| panic!("a request")).expect("memory does not fail");
    assert!(reader.tally().shown[0].why.ends_with("its layout is `vhost`"));
}

/// Values that each named field found are counted, a list's first value too.
#[test]
fn fields_that_no_line_has_are_known() {
    let map = FieldMap { agent: "headers.Agent".into(), referrer: "nowhere".into(), ..FieldMap::default() };
    let log = "{\"time\":1,\"remote_addr\":\"h\",\"request_uri\":\"/\",\"headers\":{\"Agent\":[\"a\",\"b\"]}}\n\
               {\"time\":2,\"remote_addr\":\"h\",\"request_uri\":\"/\",\"headers\":{\"Agent\":[]}}\n";
    let mut reader = LogReader::new(LogParser::new(&LogFormat::Json(Box::new(map))));
    let mut agents = Vec::new();
    reader
        .read(log.as_bytes(), &mut |record| agents.push(record.agent.to_vec()))
        .expect("memory does not fail");
    assert_eq!(agents, [b"a".to_vec(), Vec::new()]);
    let lines = |wanted: &str| {
        reader.parser().fields_found().into_iter().find(|(what, ..)| *what == wanted).map(|(.., lines)| lines)
    };
    assert_eq!((lines("agent"), lines("referrer"), lines("client")), (Some(1), Some(0), Some(2)));
}

/// A log as it comes from a container's runtime or through syslog is the log; what carries it says nothing of
/// the layout within.
#[test]
fn carried_lines_are_read() {
    let of_envoy = r#"{":authority":"a.example","bytes_sent":600,"downstream_remote_address":"198.51.100.1:5","duration":12,"method":"GET","response_code":200,"start_time":"2026-03-29T00:30:00.479Z","user-agent":"M","x-envoy-origin-path":"/p0"}"#;
    let of_nginx = r#"198.51.100.1 - - [29/Mar/2026:00:30:00 +0000] "GET /p0 HTTP/1.1" 200 600 "-" "M""#;
    let of_haproxy = r#"198.51.100.1:33317 [29/Mar/2026:00:30:00.655] in a/b 10/0/30/69/109 200 600 - - ---- 1/1/1/1/0 0/0 "GET /p0 HTTP/1.1""#;
    for line in [of_envoy, of_nginx, of_haproxy] {
        let as_text = format!("{line:?}");
        for (before, line, behind) in [
            ("", line, ""),
            ("2026-03-29T00:30:01.1Z stdout F ", line, ""),
            ("{\"log\":", &as_text, ",\"stream\":\"stdout\",\"time\":\"2026-03-29T00:30:01Z\"}"),
            ("web-1  | ", line, ""),
            ("<190>Mar 29 00:30:01 host program[7]: ", line, ""),
            ("<190>1 2026-03-29T00:30:01Z host program 7 - - ", line, ""),
        ] {
            let log = format!("# a note\n{before}{line}{behind}\n  \n{before}{line}{behind}\nother\n");
            let format = LogFormat::detect(log.as_bytes()).unwrap_or_else(|| panic!("{log}"));
            let (found, counts) = read(&format, log.as_bytes());
            assert_eq!(counts, [2, 2, 1], "{log}");
            assert_eq!((found[0].client.as_str(), found[0].path.as_str()), ("198.51.100.1", "/p0"), "{log}");
            assert_eq!((found[0].secs as u64, found[0].bytes), (1_774_744_200, Some(600)), "{log}");
        }
    }
}

/// A pattern that has the prefix in it reads lines as they are.
#[test]
fn a_pattern_may_have_the_prefix_in_it() {
    let pattern = "$month $day $clock $host $tag $remote_addr [$time_local] \"$request\" $status";
    let format = LogFormat::named(pattern, None).expect("a pattern").expect("a layout");
    let line =
        r#"Mar 29 00:30:01 host nginx: 198.51.100.1 [29/Mar/2026:00:30:00 +0000] "GET /p0 HTTP/1.1" 200"#;
    assert_eq!(one(&format, line).client, "198.51.100.1");
    let format = LogFormat::named("$remote_addr [$time_local] \"$request\" $status", None);
    assert_eq!(one(&format.expect("a pattern").expect("a layout"), line).client, "198.51.100.1");
}

/// Lines with `#` are comments where no extended log begins with them.
#[test]
fn comments_are_no_extended_log() {
    let line = r#"198.51.100.1 - - [29/Mar/2026:00:30:00 +0000] "GET /p0 HTTP/1.1" 200 600"#;
    let log = format!("# thanks to somebody\n#\n{line}\n# {line}\n{line}\n");
    let format = LogFormat::detect(log.as_bytes());
    assert_eq!(format, Some(COMMON));
    assert_eq!(read(&COMMON, log.as_bytes()).1, [2, 3, 0]);
    let log = "#Software: IIS Advanced Logging Module\n\n#Version: 1.0\n    \n#Fields:   date-local time-local   s-ip   cs-method cs-uri-stem c-ip sc-status\n\
               2012-08-15 17:00:00.363 10.0.0.1 GET /a \"198.51.100.1\" 200\n";
    let format = LogFormat::detect(log.as_bytes()).expect("an extended log");
    let (found, counts) = read(&format, log.as_bytes());
    assert_eq!((counts, found[0].path.as_str()), ([1, 5, 0], "/a"));
}

fn formats() -> impl Strategy<Value = LogFormat> {
    prop_oneof![
        Just(COMMON),
        Just(LogFormat::Common { transfer: Some(TransferUnit::Seconds) }),
        Just(LogFormat::Extended { transfer: None }),
        Just(LogFormat::Json(Box::default())),
        Just(LogFormat::Gn),
        proptest::sample::select(LogFormat::names())
            .prop_map(|(name, _)| LogFormat::named(name, None).expect("a layout").expect("a layout")),
    ]
}

/// A good line of some format with some bytes changed: near enough to one to get deep into a parser.
fn near_lines() -> impl Strategy<Value = Vec<u8>> {
    let good = prop_oneof![
        Just(r#"h - - [01/Jul/1995:00:00:01 -0400] "GET /a HTTP/1.0" 200 6245 "-" "M" 0.1"#),
        Just("1+1: Tue Aug 22 00:00:05 1995 (/c): Sent text: GET /c HTTP/1.0"),
        Just(r#"{"time":1744863056,"remote_addr":"h","request_uri":"/","request_time":1}"#),
        Just("#Fields: date time c-ip cs-uri sc-status time-taken\n2025-04-17 05:10:56.5 10.0.0.1 /a 200 3"),
    ];
    (good, proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)).prop_map(
        |(line, changes)| {
            let mut line = line.as_bytes().to_vec();
            changes.iter().for_each(|(at, byte)| *at.get_mut(&mut line) = *byte);
            line
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(format in formats(), log in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(&format, &log);
    }

    #[test]
    fn lines_that_are_nearly_good_are_read_without_panic(format in formats(), lines in near_lines()) {
        read(&format, &lines);
        for length in 0..lines.len() {
            LogParser::new(&format).parse(&lines[..length]);
        }
    }

    /// Cuts of the stream change nothing.
    #[test]
    fn pieces_read_as_the_whole(format in formats(), lines in proptest::collection::vec(near_lines(), 0..8), piece in 1usize..50) {
        let log = lines.join(&b'\n');
        let whole = read(&format, &log);
        let mut reader = LogReader::new(LogParser::new(&format));
        let mut requests = Vec::new();
        let mut log = log;
        log.push(b'\n'); // the slow reader fails at its end, which would leave the last line unread
        let _ = reader.read(Slow(&log, piece), &mut |record| requests.push(owned(record)));
        prop_assert_eq!(requests, whole.0);
    }

    #[test]
    fn a_common_line_reads_back(
        client in "[a-z0-9.:-]{1,20}", path in "/[!#-~]{0,40}", status in 100u16..600, bytes in any::<u32>(),
        agent in "[ !#-\\[\\]-~]{2,30}", day in 1u32..29, second in 0u32..60,
    ) {
        let line = format!(
            "{client} - - [{day:02}/Feb/2001:10:20:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"{agent}\"",
        );
        let mut parser = LogParser::new(&COMMON);
        let LogLine::Request(record) = parser.parse(line.as_bytes()) else { panic!("not read: {line}") };
        let found = owned(&record);
        prop_assert_eq!((found.client, found.path, found.agent), (client, path, agent));
        prop_assert_eq!((found.status, found.bytes), (status, Some(u64::from(bytes))));
        let since = 980_985_600 + u64::from(day - 1) * 86_400 + 10 * 3600 + 20 * 60 + u64::from(second);
        prop_assert_eq!(record.at, Instant::from_ns(since * 1_000_000_000));
    }
}

/// Published traces, where somebody has put them: in the folder that `FARFIELD_LOGS` names, or in
/// `shared/data/logs` beside the checkout.
#[test]
fn published_logs_read() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/logs");
    let folder = std::env::var_os("FARFIELD_LOGS").map_or(beside, Into::into);
    if !folder.is_dir() {
        return farfield_testkit::skip(
            "published_logs_read",
            "there is no folder of published logs, see FARFIELD_LOGS",
        );
    }
    let check = |name: &str, format: &LogFormat, broken_max: u64| {
        let file = std::fs::File::open(folder.join(name)).expect(name);
        let mut start = Vec::new();
        let mut log = decompressed(file).expect("it opens");
        log.by_ref().take(65_536).read_to_end(&mut start).expect("it reads");
        assert_eq!(LogFormat::detect(&start).as_ref(), Some(format), "{name}");
        let mut reader = LogReader::new(LogParser::new(format));
        reader.read(start.as_slice().chain(log), &mut |_| ()).expect("it reads");
        let tally = reader.tally();
        assert!(tally.broken <= broken_max && tally.requests > 9_000, "{name}: {tally:?}");
    };
    check("nasa_jul95_first10k.clf.xz", &COMMON, 0);
    check("nginx_2025_combined_10k.log.xz", &COMMON, 20);
    check("sdsc-http.txt.xz", &LogFormat::Gn, 20);
}
