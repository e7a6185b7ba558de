//! The layouts that servers, proxies, balancers and stores write by default, by name, and telling them apart
//! by the first lines of a log.

use crate::pattern::{Pattern, PatternError};
use crate::programs::{PROGRAMS, Program};
use crate::{FieldMap, LogFormat, LogLine, LogParser, LogReader, TransferUnit};

/// The mark at the beginning of a text that says that it is UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Beginnings of an extended log; other lines with `#` are comments.
const DIRECTIVES: [&[u8]; 7] =
    [b"#Version:", b"#Fields:", b"#Software:", b"#Start-Date:", b"#End-Date:", b"#Date:", b"#Remark:"];
/// Lines of a log that are looked at.
const LINES: usize = 20;

/// Layouts with a fixed pattern: names, who writes them, patterns. Where several read a line, the first is
/// taken.
const PATTERNS: [(&str, &str, &str); 8] = [
    (
        "vhost",
        "Apache on Debian, `vhost_combined`",
        "$host $remote_addr $ident $remote_user [$time_local] \"$request\" $status $bytes_sent",
    ),
    (
        "alb",
        "Amazon's application load balancer",
        "$type $time_iso8601 $elb $remote_addr:$remote_port $target $request_time $request_time $request_time $status \
         $target_status $received $bytes_sent \"$request\" \"$http_user_agent\"",
    ),
    (
        "elb",
        "Amazon's classic load balancer",
        "$time_iso8601 $elb $remote_addr:$remote_port $target $request_time $request_time $request_time $status \
         $target_status $received $bytes_sent \"$request\" \"$http_user_agent\"",
    ),
    (
        "s3",
        "Amazon S3 and others with its interface",
        "$owner $host [$time_local] $remote_addr $requester $id $operation $key \"$request\" $status $error $bytes_sent \
         $size $request_time_ms $turn_around \"$http_referer\" \"$http_user_agent\"",
    ),
    (
        "envoy",
        "Envoy, and Istio's proxies",
        "[$time_iso8601] \"$request\" $status $flags $received $bytes_sent $request_time_ms $upstream \
         \"$http_x_forwarded_for\" \"$http_user_agent\" \"$id\" \"$host\"",
    ),
    (
        "haproxy",
        "HAProxy, `option httplog`",
        "$remote_addr:$remote_port [$time_local] $frontend $backend $tq/$tw/$tc/$tr/$request_time_ms $status $bytes_sent $cookies \
         \"$request\"",
    ),
    (
        "heroku",
        "Heroku's router, as `heroku logs` shows it",
        "$time_iso8601 heroku[router]: at=$at method=$request_method path=\"$request_uri\" host=$host request_id=$id \
         fwd=\"$remote_addr\" dyno=$dyno connect=$connect service=${request_time_ms}ms status=$status bytes=$bytes_sent",
    ),
    (
        "squid",
        "Squid's own",
        "$msec $request_time_ms $remote_addr $result/$status $bytes_sent $request_method $request_uri $user \
         $hierarchy/$peer $type",
    ),
];

impl LogFormat {
    /// The names of all layouts, each with who writes it.
    pub fn names() -> Vec<(&'static str, &'static str)> {
        let own = [
            ("common", "the Common Log Format, and the combined one: nginx, Apache, Traefik and others"),
            ("combined", "as common"),
            ("extended", "the W3C's Extended Log File Format: IIS, CloudFront"),
            ("json", "a JSON object a line, with the fields of --field or nginx's variables"),
            ("gn", "the GN/WN server"),
        ];
        let json = PROGRAMS.iter().map(|own| (own.name, own.who));
        own.into_iter().chain(json).chain(PATTERNS.map(|(name, who, _)| (name, who))).collect()
    }

    /// The layout of this name, or that a pattern writes; transfer times of the former have `transfer` as
    /// their unit, where it is not fixed.
    ///
    /// # Errors
    /// If a text with `%` or `$` in it is no pattern. `Ok(None)` if there is no layout of that name.
    pub fn named(text: &str, transfer: Option<TransferUnit>) -> Result<Option<LogFormat>, PatternError> {
        let known = match text {
            "common" | "combined" => Some(LogFormat::Common { transfer }),
            "extended" => Some(LogFormat::Extended { transfer }),
            "gn" => Some(LogFormat::Gn),
            "json" => {
                let map = FieldMap::default();
                let transfer_unit = transfer.unwrap_or(map.transfer_unit);
                Some(LogFormat::Json(Box::new(FieldMap { transfer_unit, ..map })))
            }
            _ => None,
        };
        if known.is_some() {
            return Ok(known);
        }
        if text.contains(['%', '$']) {
            return Pattern::try_from(text.to_owned()).map(|pattern| Some(LogFormat::Pattern(pattern)));
        }
        if let Some(map) = PROGRAMS.iter().find(|own| own.name == text).map(Program::map) {
            let transfer_unit = transfer.unwrap_or(map.transfer_unit);
            return Ok(Some(LogFormat::Json(Box::new(FieldMap { transfer_unit, ..map }))));
        }
        let pattern = PATTERNS.iter().find(|(name, ..)| *name == text);
        Ok(pattern.map(|(.., pattern)| fixed(pattern)))
    }

    /// The format of the first lines of a log: of those that read most of them the first; `None` if none
    /// reads any. Common covers combined.
    pub fn detect(start: &[u8]) -> Option<LogFormat> {
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        if DIRECTIVES.iter().any(|own| start.starts_with(own)) {
            return Some(LogFormat::Extended { transfer: None });
        }
        let is_read = |line: &&[u8]| {
            !line.trim_ascii().is_empty() && !line.starts_with(b"#") && line.len() <= LogReader::LINE_MAX
        };
        let lines: Vec<&[u8]> = start.split(|byte| *byte == b'\n').filter(is_read).take(LINES).collect();
        let maps = [FieldMap::default()].into_iter().chain(PROGRAMS.iter().map(Program::map));
        let json = maps.map(|map| LogFormat::Json(Box::new(map)));
        let patterns = PATTERNS.iter().map(|(.., pattern)| fixed(pattern));
        let candidates = json.chain(patterns).chain([LogFormat::Gn, LogFormat::Common { transfer: None }]);
        // One that reads what is carried is before those that take the carrier's words for their own.
        let mut best: Option<((bool, usize), LogFormat)> = None;
        for format in candidates {
            let mut parser = LogParser::new(&format);
            let reads = |line: &&&[u8]| matches!(parser.parse(line), LogLine::Request(_));
            let count = lines.iter().filter(reads).count();
            let found = (parser.is_carried(), count);
            if count > 0 && best.as_ref().is_none_or(|(most, _)| found > *most) {
                best = Some((found, format));
            }
        }
        best.map(|(_, format)| format)
    }
}

fn fixed(pattern: &str) -> LogFormat {
    LogFormat::Pattern(pattern.to_owned().try_into().expect("the patterns here are right"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields read of a line: client, method, target, status, bytes, milliseconds of transfer, second.
    type Found = (&'static str, &'static str, &'static str, u16, Option<u64>, Option<u64>, u64);

    const SECOND: u64 = 1_774_744_200;

    /// Lines of gateways, by the layouts that they write: names, lines, and what is in them.
    const GATEWAYS: [(&str, &str, Found); 12] = [
        (
            "cloudflare",
            r#"{"RayID":"6","EdgeStartTimestamp":1774744200500000000,"ClientIP":"198.51.100.1","ClientRequestHost":"a.example","ClientRequestMethod":"GET","ClientRequestURI":"/p0?x=1","ClientRequestUserAgent":"M","EdgeResponseBytes":600,"EdgeResponseStatus":200}"#,
            ("198.51.100.1", "GET", "/p0?x=1", 200, Some(600), None, SECOND),
        ),
        (
            "cloudflare",
            r#"{"ClientIP":"2001:db8::1","ClientRequestMethod":"POST","ClientRequestURI":"/b","EdgeStartTimestamp":"2026-03-29T00:30:00Z","EdgeEndTimestamp":"2026-03-29T00:30:01Z","EdgeResponseStatus":403}"#,
            ("2001:db8::1", "POST", "/b", 403, None, None, SECOND),
        ),
        (
            "envoy-json",
            r#"{"bytes_sent":"600","downstream_remote_address":"198.51.100.1:49784","duration":"12","method":"GET","path":"/p0","response_code":"200","start_time":"2026-03-29T00:30:00.123Z","user_agent":"M","x_forwarded_for":"-"}"#,
            ("198.51.100.1", "GET", "/p0", 200, Some(600), Some(12), SECOND),
        ),
        (
            "envoy-json",
            r#"{"start_time":"2026-03-29T00:30:00.123Z","method":"GET","path":"/p1","response_code":503,"bytes_sent":91,"duration":3,"downstream_remote_address":"[2001:db8::7]:49784","user_agent":null}"#,
            ("2001:db8::7", "GET", "/p1", 503, Some(91), Some(3), SECOND),
        ),
        (
            "kong",
            r#"{"latencies":{"request":12,"kong":5,"proxy":7},"request":{"querystring":{},"size":"109","uri":"\/p0","url":"http:\/\/a.example\/p0","headers":{"host":"a.example","user-agent":"M"},"method":"GET"},"client_ip":"198.51.100.1","response":{"headers":{},"status":200,"size":"600"},"started_at":1774744200500}"#,
            ("198.51.100.1", "GET", "/p0", 200, Some(600), Some(12), SECOND),
        ),
        (
            "azure",
            r#"{"resourceId":"r","operationName":"ApplicationGatewayAccess","time":"2026-03-29T00:30:00Z","category":"ApplicationGatewayAccessLog","properties":{"instanceId":"i","clientIP":"198.51.100.1","clientPort":4,"httpMethod":"GET","requestUri":"/p0","requestQuery":"a=1","userAgent":"M","httpStatus":200,"receivedBytes":5,"sentBytes":600,"timeTaken":0.012}}"#,
            ("198.51.100.1", "GET", "/p0", 200, Some(600), Some(12), SECOND),
        ),
        (
            "rails",
            r#"{"method":"GET","path":"/g/p","format":"html","controller":"C","action":"show","status":200,"time":"2026-03-29T00:30:00.123Z","params":[{"key":"a","value":"b"}],"remote_ip":"198.51.100.1","ua":"M","duration_s":0.012}"#,
            ("198.51.100.1", "GET", "/g/p", 200, None, Some(12), SECOND),
        ),
        (
            "heroku",
            r#"2026-03-29T00:30:00.123456+00:00 heroku[router]: at=info method=GET path="/p0?a=b c" host=a.example request_id=7 fwd="198.51.100.1, 10.0.0.1" dyno=web.1 connect=1ms service=12ms status=200 bytes=600 protocol=https"#,
            ("198.51.100.1", "GET", "/p0?a=b c", 200, Some(600), Some(12), SECOND),
        ),
        (
            "heroku",
            r#"2026-03-29T00:30:00+00:00 heroku[router]: at=error code=H12 desc="Request timeout" method=POST path="/slow" host=a.example request_id=8 fwd="198.51.100.2" dyno=web.1 connect=1ms service=30000ms status=503 bytes=0 protocol=https"#,
            ("198.51.100.2", "POST", "/slow", 503, Some(0), Some(30_000), SECOND),
        ),
        (
            "nginx-local",
            r#"{"time_local":"29/Mar/2026:00:30:00 +0000","remote_addr":"198.51.100.1","remote_user":"","request":"GET /p0 HTTP/1.1","status": "200","body_bytes_sent":"600","request_time":"0.012","http_referrer":"","http_user_agent":"M"}"#,
            ("198.51.100.1", "GET", "/p0", 200, Some(600), Some(12), SECOND),
        ),
        (
            "nginx-iso8601",
            r#"{"time_iso8601":"2026-03-29T02:30:00+02:00","remote_addr":"2001:db8::1","request_method":"POST","request_uri":"/p0?a","status":404,"body_bytes_sent":6,"request_time":0.012}"#,
            ("2001:db8::1", "POST", "/p0?a", 404, Some(6), Some(12), SECOND),
        ),
        (
            "nginx",
            r#"{"time":"1774744200500000","remote_addr":"198.51.100.1, 10.0.0.1","request":"GET /p0 HTTP/1.1","status":"200","body_bytes_sent":"600","request_time":"0.012","http_user_agent":"M"}"#,
            ("198.51.100.1", "GET", "/p0", 200, Some(600), Some(12), SECOND),
        ),
    ];

    #[test]
    fn lines_of_gateways_are_recognized_and_read() {
        for (name, line, found) in GATEWAYS {
            let named = match name {
                "nginx" => LogFormat::Json(Box::default()),
                name => LogFormat::named(name, None).expect("a layout").expect(name),
            };
            assert_eq!(LogFormat::detect(line.as_bytes()).as_ref(), Some(&named), "{name}: {line}");
            let mut parser = LogParser::new(&named);
            let LogLine::Request(record) = parser.parse(line.as_bytes()) else { panic!("{name}: {line}") };
            let text = |bytes| std::str::from_utf8(bytes).expect("text");
            let (client, method, path) = (text(record.client), text(record.method), text(record.path));
            let transfer = record.transfer.map(|time| time.as_ns() / 1_000_000);
            let second = record.at.as_ns() / 1_000_000_000;
            assert_eq!(
                (client, method, path, record.status, record.bytes, transfer, second),
                found,
                "{name}"
            );
        }
    }

    /// Other lines in such logs are no requests, and do not keep the layout from being seen.
    #[test]
    fn other_lines_beside_those_of_a_router_are_left_out() {
        let log = format!(
            "2026-03-29T00:29:59.9+00:00 app[web.1]: GET /p0\n2026-03-29T00:29:59.9+00:00 heroku[web.1]: State changed from up to starting\n{}\n",
            GATEWAYS[7].1
        );
        assert_eq!(LogFormat::detect(log.as_bytes()), LogFormat::named("heroku", None).expect("a layout"));
    }

    #[test]
    fn every_name_is_a_layout() {
        for (name, _) in LogFormat::names() {
            assert!(matches!(LogFormat::named(name, None), Ok(Some(_))), "{name}");
        }
        assert_eq!(LogFormat::named("nonsense", None), Ok(None));
        assert!(LogFormat::named("%h", None).is_err());
        assert!(matches!(LogFormat::named("%h %t \"%r\"", None), Ok(Some(LogFormat::Pattern(_)))));
    }
}
