//! The names that programs give the fields of their JSON lines by default.

use crate::{FieldMap, TransferUnit};

/// A program that writes JSON lines.
pub(crate) struct Program {
    /// The layout's name.
    pub(crate) name: &'static str,
    /// Writer of the lines.
    pub(crate) who: &'static str,
    /// Time, client, agent, method, path, request line, referrer, status, bytes and transfer time; empty for
    /// what there is not.
    fields: [&'static str; 10],
    transfer_unit: TransferUnit,
}

impl Program {
    /// Names of the program's fields.
    pub(crate) fn map(&self) -> FieldMap {
        let [time, client, agent, method, path, request, referrer, status, bytes, transfer] =
            self.fields.map(str::to_owned);
        let transfer_unit = self.transfer_unit;
        FieldMap {
            time,
            client,
            agent,
            method,
            path,
            request,
            referrer,
            status,
            bytes,
            transfer,
            transfer_unit,
        }
    }
}

/// All of them but nginx, whose variables are [the default](FieldMap::default).
pub(crate) const PROGRAMS: [Program; 12] = [
    Program {
        name: "caddy",
        who: "Caddy's JSON",
        fields: [
            "ts",
            "request.remote_ip",
            "request.headers.User-Agent",
            "request.method",
            "request.uri",
            "",
            "request.headers.Referer",
            "status",
            "size",
            "duration",
        ],
        transfer_unit: TransferUnit::Seconds,
    },
    Program {
        name: "traefik",
        who: "Traefik's JSON",
        fields: [
            "StartUTC",
            "ClientHost",
            "request_User-Agent",
            "RequestMethod",
            "RequestPath",
            "",
            "request_Referer",
            "DownstreamStatus",
            "DownstreamContentSize",
            "Duration",
        ],
        transfer_unit: TransferUnit::Nanoseconds,
    },
    Program {
        name: "google",
        who: "the JSON of Google's balancers",
        fields: [
            "timestamp",
            "httpRequest.remoteIp",
            "httpRequest.userAgent",
            "httpRequest.requestMethod",
            "httpRequest.requestUrl",
            "",
            "httpRequest.referer",
            "httpRequest.status",
            "httpRequest.responseSize",
            "httpRequest.latency",
        ],
        transfer_unit: TransferUnit::Seconds,
    },
    Program {
        name: "ecs",
        who: "JSON of the Elastic Common Schema",
        fields: [
            "@timestamp",
            "source.ip",
            "user_agent.original",
            "http.request.method",
            "url.original",
            "",
            "http.request.referrer",
            "http.response.status_code",
            "http.response.body.bytes",
            "event.duration",
        ],
        transfer_unit: TransferUnit::Nanoseconds,
    },
    Program {
        name: "cloudflare",
        who: "Cloudflare's Logpush of HTTP requests",
        fields: [
            "EdgeStartTimestamp",
            "ClientIP",
            "ClientRequestUserAgent",
            "ClientRequestMethod",
            "ClientRequestURI",
            "",
            "ClientRequestReferer",
            "EdgeResponseStatus",
            "EdgeResponseBytes",
            "",
        ],
        transfer_unit: TransferUnit::Milliseconds,
    },
    Program {
        name: "envoy-json",
        who: "the JSON of Envoy and of Istio's proxies",
        fields: [
            "start_time",
            "downstream_remote_address",
            "user_agent",
            "method",
            "path",
            "",
            "referer",
            "response_code",
            "bytes_sent",
            "duration",
        ],
        transfer_unit: TransferUnit::Milliseconds,
    },
    Program {
        name: "envoy-gateway",
        who: "the JSON of Envoy Gateway",
        fields: [
            "start_time",
            "downstream_remote_address",
            "user-agent",
            "method",
            "x-envoy-origin-path",
            "",
            "",
            "response_code",
            "bytes_sent",
            "duration",
        ],
        transfer_unit: TransferUnit::Milliseconds,
    },
    Program {
        name: "kong",
        who: "the JSON of Kong's log plugins",
        fields: [
            "started_at",
            "client_ip",
            "request.headers.user-agent",
            "request.method",
            "request.uri",
            "",
            "request.headers.referer",
            "response.status",
            "response.size",
            "latencies.request",
        ],
        transfer_unit: TransferUnit::Milliseconds,
    },
    Program {
        name: "azure",
        who: "the access log of Azure's application gateways",
        fields: [
            "time",
            "properties.clientIP",
            "properties.userAgent",
            "properties.httpMethod",
            "properties.requestUri",
            "",
            "",
            "properties.httpStatus",
            "properties.sentBytes",
            "properties.timeTaken",
        ],
        transfer_unit: TransferUnit::Seconds,
    },
    Program {
        name: "rails",
        who: "JSON of Rails applications, as GitLab's",
        fields: ["time", "remote_ip", "ua", "method", "path", "", "", "status", "", "duration_s"],
        transfer_unit: TransferUnit::Seconds,
    },
    Program {
        name: "nginx-local",
        who: "JSON with nginx's variables, of which the time is `time_local`",
        fields: [
            "time_local",
            "remote_addr",
            "http_user_agent",
            "request_method",
            "request_uri",
            "request",
            "http_referer",
            "status",
            "body_bytes_sent",
            "request_time",
        ],
        transfer_unit: TransferUnit::Seconds,
    },
    Program {
        name: "nginx-iso8601",
        who: "JSON with nginx's variables, of which the time is `time_iso8601`",
        fields: [
            "time_iso8601",
            "remote_addr",
            "http_user_agent",
            "request_method",
            "request_uri",
            "request",
            "http_referer",
            "status",
            "body_bytes_sent",
            "request_time",
        ],
        transfer_unit: TransferUnit::Seconds,
    },
];
