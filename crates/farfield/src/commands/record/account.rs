//! Words on a recording: how to use its proxy, and what was recorded and what was not.

use super::say;
use crate::flags::record::RecordFlags;
use crate::output;
use farfield_base::{without_userinfo, words_without_credentials};
use farfield_http::tls::Pin;
use farfield_recorder::{ArchiveAccount, NameCounts, Recorder, Recording, WebOrigin};
use std::io::IsTerminal;
use std::path::Path;

/// Names that are listed of many.
const NAMES_MAX: usize = 5;

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/:._-%=+@,~".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Says where the recorder is, and how programs use it and trust it.
pub(super) fn guide(flags: &RecordFlags, recorder: &Recorder, certificate: &Path) {
    let (address, url) = (recorder.address(), without_userinfo(&flags.url).into_owned());
    let end = if flags.command.is_empty() { "; Ctrl-C ends it" } else { "" };
    if flags.reverse {
        say(&format!("recording {url}: http://{address}/ stands in its place{end}"));
    } else {
        say(&format!("recording {url} through the proxy http://{address}{end}"));
    }
    if !address.ip().is_loopback() {
        say(&format!(
            "warning: whoever reaches {address} can use it{}, as this machine can",
            if flags.reverse { "" } else { " to ask any server" }
        ));
    }
    if flags.tls.insecure {
        say("warning: certificates of servers are not verified (-k)");
    }
    if flags.command.is_empty() && !flags.reverse {
        let certified = recorder.certificate_pem().map(|_| certificate.to_string_lossy());
        let trusted = certified.map_or(String::new(), |path| format!(" --cacert {}", quoted(&path)));
        say(&format!("  curl -x http://{address}{trusted} {}", quoted(&url)));
        let accepted = recorder.public_key_info().map_or(String::new(), |info| {
            let pin = Pin::of(info).to_string();
            let digest = pin.strip_prefix("sha256//").unwrap_or(&pin);
            format!(" --ignore-certificate-errors-spki-list={digest}")
        });
        say(&format!(
            "  chromium --user-data-dir=$(mktemp -d) --proxy-server={address} --proxy-bypass-list='<-loopback>'{accepted} {}",
            quoted(&url)
        ));
    }
}

/// Shows how much was recorded so far, where a person sees it.
pub(super) fn progress(begun: usize) {
    if std::io::stderr().is_terminal() {
        output::put_progress(&format!("{} recorded", counted(begun as u64, "request")), true);
    }
}

/// Ends the line that shows it.
pub(super) fn end_progress() {
    if std::io::stderr().is_terminal() {
        say("");
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The first of the names, by how often they were counted.
fn listed(counts: &NameCounts) -> String {
    let mut names: Vec<(&String, &u64)> = counts.by_name.iter().collect();
    names.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let more = names.len() > NAMES_MAX || counts.further > 0;
    let shown: Vec<String> =
        names.iter().take(NAMES_MAX).map(|(name, count)| format!("{name} ({count})")).collect();
    format!("{}{}", shown.join(", "), if more { ", …" } else { "" })
}

/// Says what passed without being recorded.
pub(super) fn unrecorded(recording: &Recording) {
    let of = &recording.unrecorded;
    if of.requests.total() > 0 {
        say(&format!(
            "note: {} to other servers passed unrecorded: {}; `--host URL` records a server",
            counted(of.requests.total(), "request"),
            listed(&of.requests)
        ));
    }
    if of.tunnels.total() > 0 {
        say(&format!(
            "note: {} to other servers passed unread: {}; `--host URL` records a server",
            counted(of.tunnels.total(), "tunnel"),
            listed(&of.tunnels)
        ));
    }
    if of.beyond_bounds > 0 {
        let bounds = recording.bounds;
        say(&format!(
            "warning: {} passed beyond the bounds of a recording, which are {} requests and {} MiB, and {} not in it",
            counted(of.beyond_bounds, "request"),
            bounds.exchanges,
            bounds.recording_bytes >> 20,
            if of.beyond_bounds == 1 { "is" } else { "are" },
        ));
    }
    if of.handshakes > 0 {
        say(&format!(
            "warning: in {} the client refused the certificate, or spoke no TLS: it has to trust the recording's CA",
            counted(of.handshakes, "tunnel")
        ));
    }
    if of.refused > 0 {
        say(&format!(
            "warning: {} for no server that is known here: of a client that does not take this for a proxy",
            if of.refused == 1 {
                "1 request was".to_owned()
            } else {
                format!("{} requests were", of.refused)
            }
        ));
    }
}

/// The sentence on a recording in which there is nothing.
pub(super) fn nothing(recording: &Recording, origins: &[WebOrigin]) -> String {
    let servers: Vec<String> = origins.iter().map(WebOrigin::to_string).collect();
    let passed = recording.unrecorded.requests.total() + recording.unrecorded.tunnels.total();
    let hint = match passed {
        0 => "check that the browser or the program uses the proxy, also for this machine's own addresses",
        _ => "compare these with the servers above: `http` and `https`, and names and addresses, are two",
    };
    format!("nothing was recorded: no request to {} came through; {hint}", servers.join(" or "))
}

/// Says what is in the archive.
pub(super) fn archive(account: &ArchiveAccount, path: &Path) {
    let by_origin: Vec<String> =
        account.by_origin.iter().map(|(origin, count)| format!("{origin} ({count})")).collect();
    say(&format!(
        "{} recorded in {}: {}",
        counted(account.entries(), "request"),
        path.display(),
        by_origin.join(", ")
    ));
    for (what, (count, first)) in &account.left_out {
        let first = without_userinfo(first);
        say(&format!("note: {what}: {count} (first: {})", words_without_credentials(&first)));
    }
    say(&format!(
        "note: {} has what was typed and sent, with passwords, cookies and tokens; only you can read it",
        path.display()
    ));
}

/// Says how to go on.
pub(super) fn next(flags: &RecordFlags, scenario: &Path) {
    let mut tls = String::new();
    if flags.tls.insecure {
        tls += " -k";
    }
    for (flag, path) in
        [("--cacert", &flags.tls.cacert), ("--cert", &flags.tls.cert), ("--key", &flags.tls.key)]
    {
        if let Some(path) = path {
            tls += &format!(" {flag} {}", quoted(&path.to_string_lossy()));
        }
    }
    let file = quoted(&scenario.to_string_lossy());
    say(&format!("next: farfield try {file}{tls}"));
    say(&format!("      farfield run {file} -c 50{tls}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_a_shell_reads_them() {
        for (word, written) in [
            ("http://a:80/b", "http://a:80/b"),
            ("http://a/?b=c&d", "'http://a/?b=c&d'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }

    #[test]
    fn the_most_frequent_names_are_listed() {
        let names = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        let by_name = names.into_iter().zip(1..).collect();
        let counts = NameCounts { by_name, further: 0 };
        assert_eq!(listed(&counts), "f (6), e (5), d (4), c (3), b (2), …");
    }
}
