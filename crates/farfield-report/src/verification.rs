//! A verification as terminal text: what agrees, what does not, and by how much.

use crate::figures::{count, percent, three_digits};
use crate::terminal::{GREEN, LABEL, Look, RED, indented, labelled, paint};
use farfield_verify::clock::ClockRelation;
use farfield_verify::errors::TimeErrors;
use farfield_verify::load::FoundLoad;
use farfield_verify::{Finding, TimeKind, Verification};

/// The verification as text: lines of at most 80 columns, with a line end after each.
pub fn render(found: &Verification, look: Look<'_>) -> String {
    let sections =
        [verdict(found, look), matched(found), clocks(found), times(found), load(found), notes(found)];
    let sections: Vec<String> =
        sections.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    let mut text = sections.join("\n\n");
    if let Some(directory) = look.directory {
        text.push_str("\n\n");
        text.push_str(&labelled("files", "verify.json, transactions.parquet, connection-events.parquet"));
        text.push('\n');
        text.push_str(&labelled("directory", directory));
    }
    text.push('\n');
    text
}

fn verdict(found: &Verification, look: Look<'_>) -> Vec<String> {
    let wrong = found.findings.iter().filter(|finding| finding.disagrees).count();
    let mut lines = if found.agrees {
        let said = format!("{} samples and the packets", count(found.matched.requests));
        vec![paint("AGREES", GREEN, &labelled("AGREES", &said), look)]
    } else if wrong == 1 && found.findings.iter().any(|finding| finding.name == Finding::TOO_LITTLE_COMPARED)
    {
        vec![paint("UNKNOWN", RED, &labelled("UNKNOWN", "whether samples and packets agree"), look)]
    } else {
        let said = format!("samples and packets: {}", plural(wrong as u64, "finding"));
        vec![paint("DISAGREES", RED, &labelled("DISAGREES", &said), look)]
    };
    for finding in &found.findings {
        let mark = if finding.disagrees { '!' } else { '-' };
        lines.push(format!("  {mark} {}", finding.name));
        lines.extend(indented("    ", &finding.evidence));
        lines.extend(indented("    → ", &finding.advice));
    }
    lines
}

fn matched(found: &Verification) -> Vec<String> {
    let (matched, capture) = (&found.matched, &found.capture);
    let packets = format!(
        "{} packets, {} connections, {} requests",
        count(capture.packets),
        count(capture.connections),
        count(capture.transactions)
    );
    let both = format!("{} requests on {} connections", count(matched.requests), count(matched.connections));
    let mut lines = vec![labelled("capture", &packets), labelled("matched", &both)];
    let samples = matched.samples_alone.iter().map(|(cause, n)| (cause.name(), *n));
    let packets = matched.transactions_alone.iter().map(|(cause, n)| (cause.name(), *n));
    for (label, alone) in
        [("no packets", samples.collect::<Vec<_>>()), ("no sample", packets.collect::<Vec<_>>())]
    {
        let words: Vec<String> = alone.iter().map(|(name, n)| format!("{} {name}", count(*n))).collect();
        if !words.is_empty() {
            lines.push(labelled(label, &words.join(", ")));
        }
    }
    let tcp = &found.tcp;
    let troubles = [
        (tcp.syn_retries, "SYNs again"),
        (tcp.client_retransmissions, "client retransmissions"),
        (tcp.server_retransmissions, "server retransmissions"),
        (tcp.server_out_of_order, "out of order"),
        (tcp.client_resets + tcp.server_resets, "resets"),
    ];
    let troubles: Vec<String> =
        troubles.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))).collect();
    if !troubles.is_empty() {
        lines.push(labelled("tcp", &troubles.join(", ")));
    }
    lines
}

fn clocks(found: &Verification) -> Vec<String> {
    let Some(ClockRelation { offset_ns, offset_error_ns, drift_ppm, drift_error_ppm, .. }) =
        found.clocks.estimate
    else {
        return Vec::new();
    };
    let whose = if found.clocks.same { "one clock" } else { "two clocks" };
    let offset = format!("{whose}: apart by {} ± {}", time(offset_ns), time(offset_error_ns));
    let drift = drift_error_ppm.map(|error| format!(", drift {drift_ppm:.2} ± {error:.2} ppm"));
    let mut lines = vec![labelled("clocks", &format!("{offset}{}", drift.unwrap_or_default()))];
    if let Some(reason) = &found.clocks.reason {
        lines.extend(indented(&" ".repeat(LABEL), reason));
    }
    if let Some(way) = found.clocks.round_trip_ns {
        lines
            .push(labelled("way", &format!("{} from the capture to the clients and back", time(way as f64))));
    }
    if found.clocks.same && !found.capture.at_gateway {
        let [error, constant] = [found.limits.error_ns, found.limits.constant_ns].map(crate::figures::time);
        lines.push(labelled("limits", &format!("{error} on average, {constant} common to all requests")));
    }
    lines
}

fn times(found: &Verification) -> Vec<String> {
    // Of each side its mean and its p99.
    let sides = format!("{:<LABEL$}{:>34}{:>20}", "", "mean in", "p99 in");
    let head = format!(
        "{:<LABEL$}{:>9}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}",
        "time", "error", "max", "samples", "packets", "samples", "packets", "distance"
    );
    let rows = found.times.iter().filter(|errors| errors.pairs > 0).map(row);
    let mut rows: Vec<String> = rows.collect();
    if !rows.is_empty() {
        rows.splice(0..0, [sides, head]);
    }
    let service = found.times.iter().find(|errors| errors.time == TimeKind::Service);
    if let Some(beyond) = service.and_then(|errors| errors.beyond_path_ns) {
        rows.push(labelled("beyond path", &format!("{} in the mean, service times", time(beyond))));
    }
    rows
}

fn row(errors: &TimeErrors) -> String {
    let or_dash = |ns: Option<f64>| ns.map_or("-".to_owned(), time);
    let whole = |ns: Option<i64>| or_dash(ns.map(|ns| ns as f64));
    format!(
        "{:<LABEL$}{:>9}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}",
        errors.time.name(),
        or_dash(errors.mean_absolute_ns),
        whole(errors.max_absolute_ns),
        or_dash(errors.samples.mean_ns),
        or_dash(errors.packets.mean_ns),
        whole(errors.samples.p99_ns),
        whole(errors.packets.p99_ns),
        errors.distance.map_or("-".to_owned(), |distance| format!("{distance:.4}")),
    )
}

fn load(found: &Verification) -> Vec<String> {
    let mut lines = of_users(&found.load);
    for flow in &found.flows {
        let own = of_users(&flow.load);
        if !own.is_empty() {
            lines.push(labelled("flow", &flow.name));
            lines.extend(own);
        }
    }
    let (policy, requests) = (&found.policy, &found.requests_per_connection);
    if let Some(mean) = requests.mean {
        let shared = format!("{} with several users", count(policy.shared));
        let carried = format!("{} requests each, at most {}", three_digits(mean), count(requests.max.into()));
        lines.push(labelled("connections", &format!("{carried}; {shared}")));
    }
    lines
}

/// The load of the users of one flow.
fn of_users(found: &FoundLoad) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(arrivals) = &found.arrivals {
        let late = arrivals.lateness.mean_ns.map(|ns| format!(", {} late", time(ns)));
        let said = format!("{} of {}", count(arrivals.begun), count(arrivals.asked));
        lines.push(labelled("arrivals", &format!("{said}{}", late.unwrap_or_default())));
        if let Some(gaps) = &arrivals.gaps {
            let tested = gaps.anderson_darling.map(|a2| format!(", A² {a2:.2} for exponential ones"));
            let variation = format!("coefficient of variation {:.2}", gaps.variation);
            lines.push(labelled("gaps", &format!("{variation}{}", tested.unwrap_or_default())));
        }
    }
    if let Some(think) = found.think_times.as_ref().filter(|think| think.count > 0) {
        let [mean, asked] = [think.mean, think.asked_mean].map(|ns| ns.map_or("-".to_owned(), time));
        lines.push(labelled("think time", &format!("{mean} in the mean, asked for {asked}")));
    }
    if let Some(lengths) = found.session_lengths.as_ref().filter(|lengths| lengths.count > 0) {
        let [mean, asked] =
            [lengths.mean, lengths.asked_mean].map(|n| n.map_or("-".to_owned(), three_digits));
        lines.push(labelled("sessions", &format!("{mean} pages in the mean, asked for {asked}")));
    }
    lines
}

fn notes(found: &Verification) -> Vec<String> {
    let mut lines: Vec<String> = found.notes.iter().flat_map(|note| indented("note: ", note)).collect();
    if found.matched.unexplained > 0.0 {
        lines.push(labelled(
            "unexplained",
            &format!("{} of the requests", percent(found.matched.unexplained)),
        ));
    }
    lines
}

fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A time, which may be negative.
fn time(ns: f64) -> String {
    let sign = if ns < -0.5 { "-" } else { "" };
    format!("{sign}{}", crate::figures::time(ns.abs().round() as u64))
}
