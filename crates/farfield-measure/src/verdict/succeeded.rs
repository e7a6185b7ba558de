//! Check that some requests succeeded: the only check of replies, and not of the generator.
//!
//! A server's error rate is a result of a run, and makes none invalid. But if next to nothing succeeds, most
//! likely a path is mistyped, the server is down or something blocks the path to it: there are no times to
//! report, and users who come back at once have turned the load into one of errors. So a share of the
//! requests must succeed, by default 1 in 100, of those that ended or, if none ended, of all: unfinished
//! requests have a [check of their own](super::unfinished).
//!
//! The check does not apply if the scenario itself says what may fail: if the limit is 0, or if a threshold
//! judges errors or outcomes, or wants replies that are no successes. Attempts of an overload usually fail:
//! one that succeeds, at any time of the run, is enough.

use super::{Check, CheckState, LimitUnit};
use crate::fold::{Fold, PhaseStats};
use crate::summary::SummaryContext;
use farfield_base::{Cause, Fault, Outcome, Rule};

pub fn something_succeeded(context: SummaryContext<'_>, fold: &Fold) -> Check {
    let (name, what) = ("something-succeeded", "At least a small share of the requests succeeded.");
    let limit = context.limits.succeeded.as_f64();
    if let Some(why) = excuse(context, fold) {
        return Check::skipped(name, what, limit, LimitUnit::Share, why);
    }
    let steady = fold.steady();
    let seen = steady.requests() - steady.count(Outcome::Unfinished);
    let share = steady.count(Outcome::Ok) as f64 / seen.max(1) as f64;
    let check = Check::at_least(name, what, share, limit, LimitUnit::Share);
    let failed = check.state == CheckState::Failed;
    let Some(most) = failed.then(|| most_frequent_failure(steady)).flatten() else { return check };
    check.noted(Some(outcome_sentence(steady, most))).advised(|| advice(context, fold, most))
}

/// The reason why the check does not apply, if it does not.
fn excuse(context: SummaryContext<'_>, fold: &Fold) -> Option<&'static str> {
    let ok = |part: &PhaseStats| part.count(Outcome::Ok);
    if fold.steady().requests() == 0 {
        Some("no request was due in the measured part")
    } else if context.limits.succeeded.as_f64() == 0.0 {
        Some("the scenario allows that nothing succeeds")
    } else if context.thresholds.iter().any(|threshold| threshold.judges_outcomes()) {
        Some("a threshold judges what may go wrong")
    } else if context.heading.load.is_overload() && ok(fold.warm_up()) + ok(fold.steady()) > 0 {
        Some("an overload's attempts are meant to fail, and not all did")
    } else {
        None
    }
}

fn most_frequent_failure(part: &PhaseStats) -> Option<Outcome> {
    let failures = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok);
    failures.max_by_key(|outcome| (part.count(*outcome), std::cmp::Reverse(outcome.code())))
}

/// A sentence with the number of successes and the most frequent failure.
fn outcome_sentence(part: &PhaseStats, most: Outcome) -> String {
    let (ok, all, count) = (part.count(Outcome::Ok), part.requests(), part.count(most));
    format!("{ok} of {all} requests succeeded and {count} were {}", most.name())
}

/// The remedy for requests with this outcome, with the cause that most of them had.
fn advice(context: SummaryContext<'_>, fold: &Fold, outcome: Outcome) -> String {
    match fold.failures().cause_of(outcome) {
        None if outcome == Outcome::Status4xx => {
            remedy_of_status(fold.steady(), &context.heading.target).to_owned()
        }
        None => remedy(outcome).to_owned(),
        Some((cause, found)) => remedy_of(outcome, cause, found),
    }
}

/// A proxy's own remedy.
const CREDENTIALS_OF_PROXY: &str = "give the proxy a user and a password, `http://user:password@host:port`";

/// The remedy for replies of the status that most of the refused ones had, where it says what is wrong.
fn remedy_of_status(part: &PhaseStats, target: &str) -> &'static str {
    let refused = part.statuses.iter().filter(|(status, _)| status / 100 == 4);
    let most = refused.max_by_key(|(status, count)| (*count, std::cmp::Reverse(*status)));
    match most.map(|(status, _)| status) {
        // nginx, Apache, Caddy and Go's servers say it in the content of that status alone.
        Some(400) if target.starts_with("http://") => {
            "if the server speaks TLS on this port, target https://; else see its log for what it takes amiss"
        }
        Some(401) => "give users what the server wants to know them by, such as `-H 'Authorization: …'`",
        Some(407) => CREDENTIALS_OF_PROXY,
        Some(429) => "ask more slowly, or raise the server's limit: it says that too much is asked of it",
        _ => remedy(Outcome::Status4xx),
    }
}

/// CONNECT, to which a proxy answers.
const CONNECT: &str = "RFC 9110 §9.3.6";

/// The remedy where the cause is known, and `found` is what came. Where the server breaks a protocol, that is
/// what is to be mended; where a proxy opens no tunnel, it is there, and its status says what it wants.
fn remedy_of(outcome: Outcome, cause: Cause, found: Option<&str>) -> String {
    let remedy = match cause {
        Cause::Broken(Rule { section: CONNECT, .. })
            if found.is_some_and(|found| found.starts_with("407")) =>
        {
            CREDENTIALS_OF_PROXY
        }
        Cause::Broken(Rule { section: CONNECT, .. }) => {
            "see whether the proxy reaches the target, and lets you"
        }
        _ => remedy(outcome),
    };
    let found = found.map(|found| format!(": {found}")).unwrap_or_default();
    match cause {
        Cause::Broken(Rule { wrong, section })
            if outcome.fault() == Fault::Protocol && !section.is_empty() =>
        {
            format!("see that the target keeps to {section}: {wrong}{found}")
        }
        _ => format!("{remedy}: {cause}{found}"),
    }
}

/// The remedy for requests with this outcome.
pub(super) fn remedy(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "all is well",
        Outcome::Status4xx => "ask for what is there, or name the status in a session's `check.status`",
        Outcome::Status5xx | Outcome::ClosedUnanswered | Outcome::Reset => "the server's log may say why",
        Outcome::ConnectRefused => "start the server, or correct the target",
        Outcome::ConnectTimedOut => "check that no firewall filters the server's port",
        Outcome::Unreachable => "add a route to the target",
        Outcome::ConnectAbandoned => "see that the server listens, or lengthen `load.timeout`",
        Outcome::TimedOut => "ask for less, or lengthen `connections.request-timeout`",
        Outcome::NoDescriptor => "raise the limit of open files, `ulimit -n`, or ask for fewer connections",
        Outcome::NoAddress => "name more addresses in `sockets.sources`",
        Outcome::Dropped => "raise `load.users-max`",
        Outcome::Unfinished => "measure for longer with `--duration`, or wait longer with `run.drain`",
        Outcome::BadHead
        | Outcome::HeadTooLarge
        | Outcome::BadLength
        | Outcome::BadChunk
        | Outcome::Truncated
        | Outcome::Unasked => "see that the target speaks HTTP/1",
        Outcome::StreamReset | Outcome::StreamRefused | Outcome::GoneAway => "the server's log may say why",
        Outcome::BadFrame => {
            "see that the target keeps to RFC 9113, over HTTP/3 to RFC 9114, and on a WebSocket to RFC 6455"
        }
        Outcome::NotHttp2 => "let the server speak HTTP/2, or write http = \"1.1\" (`--http 1.1`)",
        Outcome::NoQuicVersion => "let the server speak QUIC version 1, or write another `http` (`--http`)",
        Outcome::QuicIdle => "see that the server, and what lies before it, keeps answering on UDP",
        Outcome::NetworkChanged => "that is what `migrate` asks for; over HTTP/3 connections go on",
        Outcome::Flooded => {
            "see why the server sends without end what leads to nothing: pings, settings, updates of keys"
        }
        Outcome::WebSocketRefused => {
            "see that the path is one of a WebSocket, and what the server wants to see: `Origin`, a cookie, a subprotocol"
        }
        Outcome::WebSocketClosed => "the server's log may say why it closed, or why it opened none",
        Outcome::BadQuic => "see that the target keeps to RFC 9000",
        Outcome::BodyTooLarge => "ask for smaller objects",
        Outcome::RedirectLoop => {
            "see where the server sends its users, or follow more with `session.redirects`"
        }
        Outcome::RedirectElsewhere => "target the server that it names, with the scheme that it names",
        Outcome::LinkElsewhere => "take a link or form that leads to the target",
        Outcome::BadCoding => "ask for a content coding that the server has, with `Accept-Encoding`",
        Outcome::TlsUntrusted => {
            "name the server's CA with `--cacert` or its key with `tls.pins`, or accept any with `--insecure`"
        }
        Outcome::TlsNameMismatch => "write the name that the certificate is for in `tls.server-name`",
        Outcome::TlsAlpnRefused => {
            "let the server speak the version of HTTP that `http` (`--http`) names over TLS"
        }
        Outcome::TlsIncompatible => {
            "offer a version and a group that the server has in `tls.versions` and `tls.groups`"
        }
        Outcome::TlsCertificateRefused => {
            "give users a certificate that the server trusts, with `tls.certificate` and `tls.key`"
        }
        Outcome::TlsAlert | Outcome::BadRecord | Outcome::TlsTruncated => "the server's log may say why",
        Outcome::NotTls => "target http://, or the port on which the server speaks TLS",
        Outcome::TlsExpected => "target https://, or the port on which the server speaks plain HTTP",
        Outcome::CheckFailed | Outcome::ExtractFailed => "compare the session's checks with the replies",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::Sample;

    /// The advice follows from the cause that a status names.
    #[test]
    fn a_status_that_names_its_cause_is_advised_about() {
        for (target, statuses, part) in [
            ("http://h/", &[(400, 9), (404, 1)][..], "target https://"),
            ("https://h/", &[(400, 9)], "ask for what is there"),
            ("http://h/", &[(400, 1), (404, 9)], "ask for what is there"),
            ("http://h/", &[(407, 5)], "give the proxy a user"),
            ("http://h/", &[(401, 5)], "Authorization"),
            ("http://h/", &[(200, 9), (429, 5), (503, 7)], "ask more slowly"),
        ] {
            let mut part_of_run = PhaseStats::default();
            for (status, count) in statuses {
                let sample = Sample { status: *status, outcome: Outcome::of_status(*status), ..sample(0, 1) };
                (0..*count).for_each(|_| part_of_run.statuses.record(&sample));
            }
            let said = remedy_of_status(&part_of_run, target);
            assert!(said.contains(part), "{statuses:?}: {said}");
        }
    }

    /// A server behind a proxy that refuses may well run.
    #[test]
    fn what_a_proxy_wants_is_advised() {
        let cause = Cause::Broken(Rule::new("the proxy opens no tunnel", CONNECT));
        let advised = |found| remedy_of(Outcome::ConnectRefused, cause, found);
        let wants = advised(Some("407 Proxy Authentication Required"));
        assert!(wants.starts_with("give the proxy a user and a password"), "{wants}");
        assert!(
            wants.ends_with("the proxy opens no tunnel (RFC 9110 §9.3.6): 407 Proxy Authentication Required")
        );
        for found in [Some("502 Bad Gateway"), None] {
            let wants = advised(found);
            assert!(wants.starts_with("see whether the proxy reaches the target"), "{wants}");
        }
        let other = Cause::Broken(Rule::new("no", "RFC 1 §1"));
        let own = remedy_of(Outcome::ConnectRefused, other, Some("407"));
        assert!(own.starts_with("start the server"), "{own}");
    }
}
