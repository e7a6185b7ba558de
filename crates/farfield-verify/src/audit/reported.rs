//! Report of a tool on its run, in one form for all tools: each figure where the tool gives it, in
//! nanoseconds or bytes, with the step to which it is rounded.

use serde::Serialize;

/// A tool whose report is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// wrk.
    Wrk,
    /// wrk2, whose report has the form of wrk's.
    Wrk2,
    /// ApacheBench.
    Ab,
    /// nghttp2's h2load, with HTTP/1.1 or 2.
    H2load,
    /// httperf.
    Httperf,
    /// Grafana k6.
    K6,
    /// oha.
    Oha,
    /// Locust.
    Locust,
    /// Apache JMeter.
    Jmeter,
    /// A table with a row for each request.
    Csv,
}

/// Span of a tool's response time, by its documentation or its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// From the request to the reply's last byte.
    Request,
    /// From the request, or before it the SYN of a new connection, to the reply's last byte.
    ConnectAndRequest,
}

/// A time as it was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Time {
    /// Nanoseconds.
    pub ns: u64,
    /// The step to which it is rounded or cut, in nanoseconds; 0 if it is exact.
    pub step_ns: u64,
}

/// A percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// Percent of the requests that took at most this time, above 0 and at most 100.
    pub percent: f64,
    /// The time.
    pub time: Time,
}

/// The report of a tool. A figure that the tool does not give is absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reported {
    /// The tool.
    pub tool: Tool,
    /// Span of its times.
    pub span: Span,
    /// Requests that were completed, failed ones among them.
    pub requests: Option<u64>,
    /// Requests that failed: no reply, or a status of 400 and above.
    pub errors: Option<u64>,
    /// Completed requests per second.
    pub rate_per_s: Option<f64>,
    /// Time that the tool says that it measured.
    pub duration: Option<Time>,
    /// Connections or users at once.
    pub concurrency: Option<u64>,
    /// Bytes received; with or without heads as the tool has it.
    pub bytes: Option<u64>,
    /// Mean response time.
    pub mean: Option<Time>,
    /// Standard deviation of response times.
    pub sd: Option<Time>,
    /// Shortest response time.
    pub min: Option<Time>,
    /// Longest response time.
    pub max: Option<Time>,
    /// Percentiles in ascending order.
    pub percentiles: Vec<Percentile>,
    /// Notes for a reader on how the tool computes its figures, a sentence each.
    pub notes: Vec<String>,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 10] = [
        Tool::Wrk,
        Tool::Wrk2,
        Tool::Ab,
        Tool::H2load,
        Tool::Httperf,
        Tool::K6,
        Tool::Oha,
        Tool::Locust,
        Tool::Jmeter,
        Tool::Csv,
    ];

    /// The tool's name, as that of its program.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Wrk => "wrk",
            Tool::Wrk2 => "wrk2",
            Tool::Ab => "ab",
            Tool::H2load => "h2load",
            Tool::Httperf => "httperf",
            Tool::K6 => "k6",
            Tool::Oha => "oha",
            Tool::Locust => "locust",
            Tool::Jmeter => "jmeter",
            Tool::Csv => "csv",
        }
    }

    /// The tool that a program of this file name is.
    pub fn of_program(name: &str) -> Option<Tool> {
        let name = name.trim_end_matches(".sh").trim_end_matches(".exe");
        match name {
            "ApacheJMeter" => Some(Tool::Jmeter),
            _ => Tool::ALL.into_iter().find(|tool| tool.name() == name),
        }
    }

    /// Span of its response time.
    pub const fn span(self) -> Span {
        match self {
            Tool::Ab | Tool::Oha | Tool::Locust | Tool::Jmeter => Span::ConnectAndRequest,
            Tool::Wrk | Tool::Wrk2 | Tool::H2load | Tool::Httperf | Tool::K6 | Tool::Csv => Span::Request,
        }
    }
}

impl Span {
    /// In words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Span::Request => "from the request to the reply's last byte",
            Span::ConnectAndRequest => {
                "from the request, or before it the SYN of a new connection, to the reply's last byte"
            }
        }
    }
}

impl Reported {
    /// The report of a tool that has said nothing yet.
    pub fn nothing(tool: Tool) -> Reported {
        Reported {
            tool,
            span: tool.span(),
            requests: None,
            errors: None,
            rate_per_s: None,
            duration: None,
            concurrency: None,
            bytes: None,
            mean: None,
            sd: None,
            min: None,
            max: None,
            percentiles: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The report, if it has a figure that can be compared with packets.
    pub(super) fn if_any(self) -> Option<Reported> {
        (self.requests.is_some() || self.rate_per_s.is_some() || self.mean.is_some()).then_some(self)
    }

    /// Takes the figures that the report lacks from `other`, of the same run.
    #[must_use]
    pub fn filled_from(mut self, other: Reported) -> Reported {
        self.requests = self.requests.or(other.requests);
        self.errors = self.errors.or(other.errors);
        self.rate_per_s = self.rate_per_s.or(other.rate_per_s);
        self.duration = self.duration.or(other.duration);
        self.concurrency = self.concurrency.or(other.concurrency);
        self.bytes = self.bytes.or(other.bytes);
        self.mean = self.mean.or(other.mean);
        self.sd = self.sd.or(other.sd);
        self.min = self.min.or(other.min);
        self.max = self.max.or(other.max);
        if self.percentiles.is_empty() {
            self.percentiles = other.percentiles;
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self
    }

    pub(super) fn note(&mut self, sentence: &str) {
        self.notes.push(sentence.to_owned());
    }

    pub(super) fn push_percentile(&mut self, percent: f64, time: Option<Time>) {
        if let Some(time) = time.filter(|_| percent > 0.0 && percent <= 100.0) {
            self.percentiles.push(Percentile { percent, time });
        }
    }
}
