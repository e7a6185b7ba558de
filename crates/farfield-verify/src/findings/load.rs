//! Findings about the load: arrivals, think times, sessions, requests, and the connection policy.

use super::{Finding, Judged, percent, time};
use crate::load::{AskedQuantity, FoundLoad, GapStats};

/// A²: exceeded once in 100,000 by exponential gaps, so that no run in hundreds is called one of others: 6.0
/// is exceeded once in 1,000, 3.857 once in 100 (D'Agostino and Stephens 1986, table 4.2), and the tail is
/// exponential.
const ANDERSON_DARLING: f64 = 10.3;
/// Distances of distribution functions below this are of no consequence, however significant.
const DISTANCE: f64 = 0.05;

/// Findings about the load: of all users, or of each flow.
pub(super) fn all(judged: Judged<'_>) -> Vec<Finding> {
    let of = |load: &FoundLoad| {
        let mut findings: Vec<Finding> = omission(judged, load).into_iter().collect();
        findings.extend(arrivals(judged, load));
        findings.extend(quantities(judged, load));
        findings.extend(mix(load));
        findings
    };
    let mut findings = of(&judged.found.load);
    for flow in &judged.found.flows {
        let named = |finding: Finding| Finding {
            evidence: format!("flow `{}`: {}", flow.name, finding.evidence),
            ..finding
        };
        findings.extend(of(&flow.load).into_iter().map(named));
    }
    findings
}

/// `due` that is not the instant that was asked for.
fn omission(judged: Judged<'_>, load: &FoundLoad) -> Option<Finding> {
    let arrivals = load.arrivals.as_ref().filter(|arrivals| arrivals.due_moved > 0)?;
    let moved = arrivals.due_moved_mean_ns.unwrap_or(0.0);
    let response = judged.found.times.iter().find(|errors| errors.time == crate::TimeKind::Response);
    let said = response.and_then(|errors| errors.samples.mean_ns).unwrap_or(0.0);
    let truth = arrivals.response.mean_ns.unwrap_or(0.0);
    // A generator that counts from the beginning never counts from before it was due.
    if arrivals.due_is_begin * 2 > arrivals.due_moved && arrivals.due_earlier == 0 {
        return Some(Finding::disagreement(
            "coordinated-omission",
            format!(
                "{} of {} arrivals count from when they were begun, {} in the mean after they were due: response \
                 times are {} in the mean by the samples, and {} from the instants that the scenario asked for",
                arrivals.due_moved,
                arrivals.asked,
                time(moved),
                time(said),
                time(truth)
            ),
            "measure response times from when requests were due",
        ));
    }
    Some(Finding::disagreement(
        "due-moved",
        format!(
            "{} of {} arrivals have another `due` than the scenario's seed gives, {} later in the mean",
            arrivals.due_moved,
            arrivals.asked,
            time(moved)
        ),
        "see that samples and scenario are of one run, and that users have their own samples",
    ))
}

/// Arrivals that were not made as asked. Where packets are within the limit of the instants that were asked
/// for, their gaps are those of the process that drew these, which is tested by itself.
fn arrivals(judged: Judged<'_>, load: &FoundLoad) -> Vec<Finding> {
    let Some(arrivals) = &load.arrivals else { return Vec::new() };
    let limit = judged.found.limits.error_ns as f64;
    let is_late = arrivals.lateness.mean_ns.is_some_and(|late| late.abs() > limit);
    let mut findings = Vec::new();
    for (gaps, whose) in [
        (arrivals.asked_gaps.as_ref(), "that the scenario's seed gives"),
        (arrivals.gaps.as_ref().filter(|_| is_late), "in the packets"),
    ] {
        findings.extend(gaps.and_then(|gaps| not_poisson(gaps, whose)));
        findings.extend(gaps.and_then(|gaps| correlated(gaps, whose)));
    }
    let late = arrivals.lateness.mean_ns.unwrap_or(0.0);
    if judged.found.clocks.same && !judged.found.capture.at_gateway && late > limit.max(1e6) {
        findings.push(Finding::disagreement(
            "arrivals-late",
            format!(
                "arrivals begin {} in the mean after they were due, by the packets; p99 {}",
                time(late),
                time(arrivals.lateness.p99_ns.unwrap_or(0) as f64)
            ),
            "offer less, or use more workers; see the verdict's lateness",
        ));
    }
    findings
}

fn not_poisson(gaps: &GapStats, whose: &str) -> Option<Finding> {
    let (statistic, distance) = gaps.anderson_darling.zip(gaps.distance)?;
    (statistic > ANDERSON_DARLING && distance > DISTANCE).then(|| {
        Finding::disagreement(
            "arrivals-not-poisson",
            format!(
                "the gaps between {} arrivals {whose} are not exponential: A² is {statistic:.1} (10.3 once in 100,000), the \
                 distance {distance:.3}, the coefficient of variation {:.2}",
                gaps.count + 1,
                gaps.variation
            ),
            "offer less, or use more workers: arrivals that wait for others are not those that were asked for",
        )
    })
}

fn correlated(gaps: &GapStats, whose: &str) -> Option<Finding> {
    gaps.anderson_darling?;
    let largest = gaps.autocorrelation.iter().copied().map(f64::abs).max_by(f64::total_cmp)?;
    // The largest of ten lags, once in 1,000: 3.9 standard deviations.
    (largest > gaps.autocorrelation_band * 2.0 + DISTANCE).then(|| {
        Finding::disagreement(
            "arrivals-correlated",
            format!(
                "gaps between arrivals {whose} are correlated up to {largest:.2} at lags 1 to 10; asked for were \
                 independent ones"
            ),
            "offer less, or use more workers",
        )
    })
}

/// Think times and lengths of sessions that are not those asked for.
fn quantities(judged: Judged<'_>, load: &FoundLoad) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(think) = &load.think_times
        && differs(think, 0.05, judged.found.limits.error_ns.max(1_000_000) as f64)
    {
        findings.push(Finding::disagreement(
            "think-times",
            format!(
                "users think for {} in the mean between pages, by {} pauses in the packets; asked for were {}",
                time(think.mean.unwrap_or(0.0)),
                think.count,
                time(think.asked_mean.unwrap_or(0.0))
            ),
            "use more workers, or see the verdict's lateness",
        ));
    }
    if let Some(lengths) = &load.session_lengths
        && lengths.count >= 100
        && differs(lengths, 0.1, 0.0)
    {
        findings.push(Finding::disagreement(
            "session-lengths",
            format!(
                "sessions have {:.2} pages in the mean, by {} in the packets; asked for were {:.2}",
                lengths.mean.unwrap_or(0.0),
                lengths.count,
                lengths.asked_mean.unwrap_or(0.0)
            ),
            "measure for longer than sessions last; sessions that fail are shorter",
        ));
    }
    findings
}

/// True if the mean found is farther from the one asked for than `share` of it, `slack` and four standard
/// errors together.
fn differs(found: &AskedQuantity, share: f64, slack: f64) -> bool {
    let (Some(asked), Some(mean), Some(error)) = (found.asked_mean, found.mean, found.standard_error) else {
        return false;
    };
    (mean - asked).abs() > share * asked + 4.0 * error + slack
}

/// Requests that are not those asked for.
fn mix(load: &FoundLoad) -> Option<Finding> {
    let all = load.mix.iter().map(|row| row.count).sum::<u64>() as f64;
    let off = load.mix.iter().filter_map(|row| {
        let asked = row.asked?;
        let error = 4.0 * (asked * (1.0 - asked) / all.max(1.0)).sqrt() + 0.02;
        let off = (row.share - asked).abs();
        (off > error).then_some((off, asked, row))
    });
    let (_, asked, row) = off.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Finding::disagreement(
        "request-mix",
        format!(
            "{} of the requests are for {}; asked for were {}",
            percent(row.share),
            row.target,
            percent(asked)
        ),
        "see that samples and scenario are of one run",
    ))
}

/// Connections that were used as they should not be.
pub(super) fn policy(judged: Judged<'_>) -> Vec<Finding> {
    let (stats, mut findings) = (&judged.found.policy, Vec::new());
    let Some(asked) = judged.asked.map(|asked| asked.policy) else { return findings };
    if stats.other_users > 0 && !asked.shares {
        findings.push(Finding::disagreement(
            "users-swapped",
            format!(
                "{} samples are of another user than the one who opened their connection",
                stats.other_users
            ),
            "record the user who sent each request",
        ));
    }
    if stats.shared > 0 && !asked.shares {
        findings.push(Finding::disagreement(
            "connections-shared",
            format!(
                "{} of {} connections carry requests of several users, up to {} of them; asked for were connections of \
                 each user's own",
                stats.shared, judged.found.matched.connections, stats.users_max
            ),
            "give each user connections of its own: shared ones spare the server handshakes, and make users wait for \
             each other",
        ));
    }
    if stats.overused > 0 {
        findings.push(Finding::disagreement(
            "connections-overused",
            format!(
                "{} connections carry more than the {} requests that the policy allows, up to {}",
                stats.overused, asked.requests_max, stats.requests_max
            ),
            "close connections after as many requests as were asked for",
        ));
    }
    if stats.pipelined > 0 && asked.depth <= 1 {
        findings.push(Finding::disagreement(
            "pipelined-unasked",
            format!(
                "{} requests were sent before the reply to the one before was complete, up to {} at once",
                stats.pipelined, stats.depth_max
            ),
            "send the next request after the reply, or ask for a pipelined policy",
        ));
    }
    if stats.parallel_over > 0 {
        findings.push(Finding::disagreement(
            "connections-parallel",
            format!(
                "{} users have more than {} connections open at once, up to {}",
                stats.parallel_over, asked.parallel, stats.parallel_max
            ),
            "open as many connections at once as were asked for",
        ));
    }
    findings.extend(places(judged));
    findings
}

/// Requests from another place, or to another, than the samples say.
fn places(judged: Judged<'_>) -> Vec<Finding> {
    let (stats, mut findings) = (&judged.found.policy, Vec::new());
    if stats.astray > 0 {
        findings.push(Finding::disagreement(
            "hosts-mixed",
            format!(
                "{} of {} connections lead elsewhere than the hosts of their requests",
                stats.astray, judged.found.matched.connections
            ),
            "send each request to its host, and record which that was",
        ));
    }
    if stats.misaddressed > 0 {
        findings.push(Finding::disagreement(
            "hosts-misnamed",
            format!(
                "{} of {} requests name another host than their samples do",
                stats.misaddressed, judged.found.matched.requests
            ),
            "name the host in each request that it is for",
        ));
    }
    if stats.mixed_addresses > 0 {
        findings.push(Finding::disagreement(
            "classes-mixed",
            format!("{} client addresses have requests of several classes", stats.mixed_addresses),
            "record the class of the client that sent each request",
        ));
    }
    findings
}
