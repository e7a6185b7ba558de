//! The result of an audit: reported, true, why.

use super::arrivals::{Arrivals, Process};
use super::compare::{self, AuditFigure, Tolerance};
use super::connections::Connections;
use super::omitted::{OmissionMethod, Omitted};
use super::reported::Reported;
use super::truth::{Truth, exchanges};
use crate::findings::time;
use farfield_capture::{Capture, Limits};
use serde::Serialize;

/// Run of a tool's process.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolRun {
    /// The command, with its arguments.
    pub command: Vec<String>,
    /// End of the process, in words.
    pub ended: String,
    /// The run was ended before its time: by Ctrl-C or a limit.
    pub interrupted: bool,
    /// Seconds from its start to its end.
    pub wall_s: f64,
    /// Processor seconds of all its processes.
    pub cpu_s: f64,
    /// Processor seconds of its busiest thread.
    pub busiest_thread_s: f64,
    /// Most threads that it had at once, in all its processes.
    pub threads: u64,
}

impl ToolRun {
    /// Processors that it used in the mean.
    pub fn processors(&self) -> f64 {
        if self.wall_s > 0.0 { self.cpu_s / self.wall_s } else { 0.0 }
    }

    /// Share of the time in which its busiest thread ran.
    pub fn busiest_thread(&self) -> f64 {
        if self.wall_s > 0.0 { (self.busiest_thread_s / self.wall_s).min(1.0) } else { 0.0 }
    }

    /// True if a thread had no time to spare. Above this share, times hold the tool's own delays.
    pub fn is_saturated(&self) -> bool {
        self.busiest_thread() > 0.9
    }
}

/// Agreement of report and packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Every figure of the report agrees.
    Agrees,
    /// At least one does not.
    Disagrees,
    /// There is no report, no capture, or too little of either.
    NotJudged,
}

/// An audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// Version of this layout.
    pub version: u32,
    /// The tool's run.
    pub run: ToolRun,
    /// The server's address.
    pub server: String,
    /// Report of the tool; absent if it says nothing that can be read.
    pub reported: Option<Reported>,
    /// Figures of the packets; absent without a capture.
    pub truth: Option<Truth>,
    /// Figures side by side.
    pub rows: Vec<AuditFigure>,
    /// Difference that they may have.
    pub tolerance: Tolerance,
    /// The arrival process.
    pub arrivals: Option<Arrivals>,
    /// The connection policy.
    pub connections: Option<Connections>,
    /// Times that open users would have seen.
    pub omitted: Option<Omitted>,
    /// Agreement of report and packets.
    pub agreement: Agreement,
    /// Sentences that a reader should know, the most important first.
    pub findings: Vec<String>,
    /// Limits of what could be seen, a sentence each.
    pub limits: Vec<String>,
}

/// Parts that an audit is made of.
#[derive(Debug, Clone, Default)]
pub struct AuditInput<'a> {
    /// The tool's run.
    pub run: ToolRun,
    /// The server's address.
    pub server: String,
    /// Report of the tool.
    pub reported: Option<Reported>,
    /// The packets, rebuilt.
    pub capture: Option<&'a Capture>,
    /// The capture ended before the tool did: a full disk, an interface that went away.
    pub capture_ended_early: bool,
    /// Constant rate at which the tool was to send requests, if that was its task.
    pub rate_per_s: Option<f64>,
    /// Difference that figures may have.
    pub tolerance: Tolerance,
    /// Parts that were missing from the start, a sentence each.
    pub limits: Vec<String>,
}

/// A capture that lacks a larger share of its packets or requests is not judged.
const LOSS_MAX: f64 = 0.001;

impl Audit {
    /// Holds a report against the packets.
    pub fn of(input: AuditInput<'_>) -> Audit {
        let mut audit = Audit {
            version: 1,
            run: input.run,
            server: input.server,
            reported: input.reported,
            truth: input.capture.map(Truth::of),
            rows: Vec::new(),
            tolerance: input.tolerance,
            arrivals: None,
            connections: input.capture.map(Connections::of),
            omitted: None,
            agreement: Agreement::NotJudged,
            findings: Vec::new(),
            limits: input.limits,
        };
        if let Some(capture) = input.capture {
            let exchanges = exchanges(capture);
            audit.arrivals = Some(Arrivals::of(&exchanges));
            audit.omitted = Omitted::of(&exchanges, input.rate_per_s);
            audit.limits.extend(limits_in_words(&capture.limits));
        }
        audit.judge(
            input.capture_ended_early || input.capture.is_some_and(|capture| is_lossy(&capture.limits)),
        );
        audit.find();
        audit
    }

    fn judge(&mut self, lossy: bool) {
        let (Some(reported), Some(truth)) = (&self.reported, &self.truth) else { return };
        self.rows = compare::rows(reported, truth, self.tolerance);
        let unreadable = truth.unreadable as f64 > LOSS_MAX * (truth.requests + truth.unreadable) as f64;
        self.agreement = if truth.requests == 0 || lossy || unreadable || self.rows.is_empty() {
            Agreement::NotJudged
        } else if self.rows.iter().all(|row| row.agrees) {
            Agreement::Agrees
        } else {
            Agreement::Disagrees
        };
    }

    /// Sentences on what stands out.
    fn find(&mut self) {
        let mut findings = Vec::new();
        findings.extend(self.about_waiting());
        findings.extend(self.about_arrivals());
        findings.extend(self.about_saturation());
        if let Some(truth) = &self.truth {
            if truth.requests == 0 {
                findings.insert(
                    0,
                    format!(
                        "No request to {} was completed in the capture: see whether the tool sends to another server, and \
                         whether this one answers.",
                        self.server
                    ),
                );
            }
            if truth.given_up > 0 {
                findings.push(format!(
                    "{} requests were under way when the tool gave them up or ended; their times are in no figure.",
                    truth.given_up
                ));
            }
        }
        if let Some(connections) = self.connections.as_ref().filter(|connections| connections.pipelined > 0) {
            findings.push(format!(
                "{} requests were pipelined: sent before the reply to the one before was complete.",
                connections.pipelined
            ));
        }
        self.findings = findings;
    }

    /// Sentence about the times that open users would have seen beside the tool's own.
    fn about_waiting(&self) -> Option<String> {
        let (truth, omitted) = (self.truth.as_ref()?, self.omitted.as_ref()?);
        let (own, open) = (truth.times.at(99.0) as f64, omitted.times.at(99.0) as f64);
        let says = self.reported.as_ref().and_then(|reported| {
            let p99 = reported.percentiles.iter().find(|percentile| percentile.percent == 99.0)?;
            Some(format!(" (the report says {})", time(p99.time.ns as f64)))
        });
        let says = says.unwrap_or_default();
        let much = open > own * 1.2 + 40_000.0;
        let by = match omitted.method {
            OmissionMethod::Schedule { rate_per_s } => {
                format!("users who came at {rate_per_s} a second as intended")
            }
            OmissionMethod::Availability => {
                "open users, who come whether or not the server answers,".to_owned()
            }
        };
        much.then(|| {
            format!(
                "Omitted waiting: {by} would have seen a p99 of {}; the tool's requests have {}{says}.",
                time(open),
                time(own)
            )
        })
    }

    fn about_arrivals(&self) -> Option<String> {
        let arrivals = self.arrivals?;
        Some(match arrivals.process {
            Process::Unknown => return None,
            Process::Closed => format!(
                "The load is closed: a connection sends its next request {} (median) after the reply before, so that a \
                 slow server is asked less often.",
                time(arrivals.follow_after_ns as f64)
            ),
            Process::Constant => format!(
                "Requests come at constant gaps of {}, not at random as those of independent users.",
                time(arrivals.mean_gap_ns)
            ),
            Process::Poisson => {
                "Requests arrive as a Poisson process, as those of independent users.".to_owned()
            }
            Process::Other => format!(
                "Requests arrive neither at constant gaps nor as a Poisson process: the gaps' coefficient of variation is \
                 {:.2}.",
                arrivals.variation
            ),
        })
    }

    fn about_saturation(&self) -> Option<String> {
        self.run.is_saturated().then(|| {
            format!(
                "The tool was saturated: its busiest thread ran for {:.0} % of the time, so that its times hold its own \
                 delays and its rate may be its own limit.",
                100.0 * self.run.busiest_thread()
            )
        })
    }
}

fn is_lossy(limits: &Limits) -> bool {
    let lost = limits.reported_drops as f64 > LOSS_MAX * (limits.packets + limits.reported_drops) as f64;
    lost || limits.cut_short.is_some()
}

/// Sentences about what the capture could not show.
fn limits_in_words(limits: &Limits) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut say = |count: u64, what: &str| {
        if count > 0 {
            sentences.push(format!("{count} {what}"));
        }
    };
    say(limits.reported_drops, "packets are missing from the capture, which was too slow for them");
    say(limits.missing_bytes, "bytes of connections were never captured");
    say(limits.mid_stream, "connections began before the capture");
    say(limits.packets_malformed, "packets have impossible headers");
    say(limits.replies_unasked, "replies belong to no captured request");
    say(limits.tunnels, "connections became tunnels, whose content is not read");
    say(limits.unknown_link_types.values().sum(), "packets are of a link type that is not read");
    if let Some(why) = &limits.cut_short {
        sentences.push(format!("the capture ends early: {why}"));
    }
    sentences
}
