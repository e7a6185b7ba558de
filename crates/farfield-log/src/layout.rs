//! The layouts that servers, proxies, balancers and stores write by default, by name, and telling them apart
//! by the first lines of a log.

use crate::pattern::{Pattern, PatternError};
use crate::{FieldMap, Line, LogFormat, LogParser, TransferUnit};

/// The mark at the beginning of a text that says that it is UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Lines of a log that are looked at.
const LINES: usize = 20;

/// Layouts with a fixed pattern: names, who writes them, patterns. Where several read a line, the first is
/// taken.
const PATTERNS: [(&str, &str, &str); 7] = [
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
        "$process]: $remote_addr:$remote_port [$time_local] $frontend $backend $tq/$tw/$tc/$tr/$request_time_ms $status $bytes_sent $cookies \
         \"$request\"",
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
        let json = [
            ("caddy", "Caddy's JSON"),
            ("traefik", "Traefik's JSON"),
            ("google", "the JSON of Google's balancers"),
            ("ecs", "JSON of the Elastic Common Schema"),
        ];
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
        let map = FieldMap::known().into_iter().find(|(name, _)| *name == text);
        if let Some((_, map)) = map {
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
        if start.starts_with(b"#") {
            return Some(LogFormat::Extended { transfer: None });
        }
        let lines: Vec<&[u8]> =
            start.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(LINES).collect();
        let json = FieldMap::known().into_iter().map(|(_, map)| LogFormat::Json(Box::new(map)));
        let patterns = PATTERNS.iter().map(|(.., pattern)| fixed(pattern));
        let candidates = json.chain(patterns).chain([LogFormat::Gn, LogFormat::Common { transfer: None }]);
        let mut best: Option<(usize, LogFormat)> = None;
        for format in candidates {
            let mut parser = LogParser::new(&format);
            let reads = |line: &&&[u8]| matches!(parser.parse(line), Line::Request(_));
            let count = lines.iter().filter(reads).count();
            if count > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((count, format));
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
