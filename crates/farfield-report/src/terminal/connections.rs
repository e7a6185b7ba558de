//! Connections: what they carried, their handshakes, and the versions of HTTP over them.

use super::{COLUMNS, LABEL, count, fit, labelled, percent, three_digits, time};
use farfield_measure::http::VersionSummary;
use farfield_measure::{Quantile, Summary};

/// Numbers of connections opened and of requests sent again on others, and the requests that each carried:
/// of these as much as there is room for.
pub(super) fn own(summary: &Summary) -> String {
    let connections = &summary.connections;
    let opened = match connections.attempts {
        attempts if attempts == connections.established => format!("{} opened", count(attempts)),
        attempts => format!("{} opened of {} tried", count(connections.established), count(attempts)),
    };
    let open = connections.open_max.map(|most| format!(", {} at once", count(most))).unwrap_or_default();
    let resent = match connections.resent_requests {
        0 => String::new(),
        resent => format!("; {} resent", count(resent)),
    };
    let mut line = format!("{opened}{open}{resent}");
    let room = COLUMNS - LABEL;
    if let Some(mean) = connections.requests_mean {
        let most = format!(", {} at most", count(connections.requests_max));
        for part in [format!("; {} requests each", three_digits(mean)), most] {
            if line.chars().count() + part.chars().count() > room {
                break;
            }
            line.push_str(&part);
        }
    }
    labelled("connections", &fit(&line, room))
}

/// The handshakes of TLS, if there were any.
pub(super) fn handshakes(summary: &Summary) -> Vec<String> {
    let Some(handshakes) = &summary.handshakes else { return Vec::new() };
    // Within a handshake of QUIC, that of TLS has no time of its own.
    let in_quic = handshakes.time.quantile_ns(Quantile::P50) == Some(0);
    let time_of = |name: &str| {
        let quantile = handshakes.time.quantiles.iter().find(|quantile| quantile.name == name);
        quantile.map_or(String::new(), |quantile| format!(", {name} {}", time(quantile.value_ns)))
    };
    let line = format!(
        "{} handshakes, {} resumed, {}/s{}{}",
        count(handshakes.time.count),
        percent(handshakes.resumed_share),
        three_digits(handshakes.per_s),
        if in_quic { ", with connect".to_owned() } else { time_of("p50") },
        if in_quic { String::new() } else { time_of("p99") },
    );
    let early = handshakes.early.map(|early| {
        let (accepted, rejected) = (percent(early.accepted_share), percent(early.rejected_share));
        let line = format!("{accepted} with a request as early data; {rejected} with one that was rejected");
        labelled("", &fit(&line, COLUMNS - LABEL))
    });
    [labelled("tls", &fit(&line, COLUMNS - LABEL))].into_iter().chain(early).collect()
}

/// The processor time that handshakes of TLS took of the workers, if there were any.
pub(super) fn cost_of_handshakes(summary: &Summary) -> Option<String> {
    let cpu = summary.handshakes.as_ref()?.cpu?;
    let (each, share) = (time(cpu.each_ns), percent(cpu.worker_share));
    Some(format!("{each} of CPU each, at most {share} of a worker's time"))
}

/// The versions of HTTP, where more than one was spoken, or HTTP/3.
pub(super) fn versions(summary: &Summary) -> Option<String> {
    let http = summary.http.as_ref()?;
    let has_http3 = http.versions.iter().any(|own| own.version == "HTTP/3");
    if http.versions.len() < 2 && !has_http3 {
        return None;
    }
    let version = |own: &VersionSummary| {
        let stalled = match (own.version.as_str(), own.stalled_mean_ns) {
            ("HTTP/3", Some(mean)) => {
                let (stalled, waited) = (count(own.stalled_requests), time(mean as u64));
                format!(" ({stalled} waited {waited} on average for the server's windows)")
            }
            _ => String::new(),
        };
        format!("{} over {}{stalled}", count(own.requests), own.version)
    };
    let mut parts: Vec<String> = http.versions.iter().map(version).collect();
    parts.extend((http.unknown > 0).then(|| format!("{} before one was agreed on", count(http.unknown))));
    Some(labelled("versions", &fit(&parts.join(", "), COLUMNS - LABEL)))
}

/// Outcomes of attempts at HTTP/3 that Alt-Svc led to, if there were any.
pub(super) fn alternatives(summary: &Summary) -> Option<String> {
    let own = summary.http.as_ref()?.alternatives?;
    let named = [
        ("overtaken by TCP", own.overtaken),
        ("refused", own.refused),
        ("unanswered", own.unanswered),
        ("failed", own.failed),
        ("named on other hosts", own.elsewhere),
    ];
    let named = named.iter().filter(|(_, times)| *times > 0);
    let named: String = named.map(|(name, times)| format!(", {} {name}", count(*times))).collect();
    let line = format!("{} of {} attempts at HTTP/3 secured{named}", count(own.secured), count(own.tried));
    Some(labelled("alt-svc", &fit(&line, COLUMNS - LABEL)))
}

/// Requests over HTTP/2, if there were any; those that were refused, over HTTP/3 as well.
pub(super) fn http2(summary: &Summary) -> Option<String> {
    let http2 = summary.http2.as_ref()?;
    if http2.requests == 0 {
        let line = format!("{} requests refused by the server and sent again", count(http2.refused));
        return Some(labelled("streams", &line));
    }
    let refused = match http2.refused {
        0 => String::new(),
        refused => format!("; {} refused and sent again", count(refused)),
    };
    let stalled = http2.stalled_mean_ns.map_or(String::new(), |mean| {
        let waited = time(mean as u64);
        format!("; {} waited {waited} on average for the server's windows", count(http2.stalled_requests))
    });
    let line = format!("{} requests over HTTP/2{stalled}{refused}", count(http2.requests));
    Some(labelled("http/2", &fit(&line, COLUMNS - LABEL)))
}
