//! Parts of a run: what each leaves beside its files, and the run that they are together.
//!
//! Histograms, series and counts add up, so that the figures of the whole are those of a run that was never
//! divided, percentiles among them; nothing is averaged. The verdict is given twice: on the sum, and by each
//! part on itself, since what a machine lacked is known to its part alone. A part that is missing, that was
//! invalid or that started with too much skew makes the run invalid.

#[cfg(test)]
mod tests;

use crate::engine_stats::EngineStats;
use crate::fold::Fold;
use crate::summary::{Heading, Summary, SummaryContext};
use crate::threshold::Threshold;
use crate::verdict::{Check, Verdict, VerdictLimits};
use farfield_base::{Duration, Instant, Merge, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// The file of a part in its run directory.
pub const PART_FILE: &str = "part.json.zst";
/// The version of that file. Parts are made by one farfield, and others are refused.
const VERSION: u32 = 1;
/// Bytes of the file that are read at most, unpacked: those of a day, the longest run of a part.
const BYTES_MAX: u64 = 256 << 20;
/// The level of compression: the file is written once, at the end of a run.
const LEVEL: i32 = 3;

/// Label of a part: which it is, and all that it has in common with the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartLabel {
    /// The part.
    pub part: Part,
    /// The resolved scenario, without what may differ between parts.
    pub scenario: String,
    /// Thresholds that the server must keep, of which no part judges.
    pub thresholds: Vec<Threshold>,
    /// Time by which the parts' starts may differ: the load's shortest feature allows no more.
    pub skew_max: Duration,
    /// The clock of the part's machine, if it was measured.
    #[serde(default)]
    pub clock: Option<PartClock>,
}

/// The wall clock of a part's machine beside the one that all parts' clocks are compared with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartClock {
    /// Nanoseconds by which it is ahead.
    pub offset_ns: i64,
    /// Nanoseconds by which the offset may be wrong.
    pub error_ns: u64,
}

/// The result of a part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PartResult {
    version: u32,
    label: PartLabel,
    heading: Heading,
    limits: VerdictLimits,
    until: Instant,
    stats: EngineStats,
    fold: Fold,
}

/// Why a part cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The file cannot be read, or is no part's.
    #[error("{PART_FILE} cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file is of another version.
    #[error(
        "{PART_FILE} is of version {found}, and this farfield reads {VERSION}: merge with the farfield that ran the parts"
    )]
    Version {
        /// Version of the file.
        found: u32,
    },
}

/// Why results are not the parts of one run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PartsError {
    /// There are none.
    #[error("there are no parts")]
    Nothing,
    /// Two are of different runs.
    #[error("{first} and {other} are of different runs: {what}")]
    Differ {
        /// The first of all.
        first: String,
        /// The one that differs from it.
        other: String,
        /// How.
        what: String,
    },
    /// A unit is in two of them.
    #[error("{first} and {other} both have {unit}: a part of a run is counted once")]
    Twice {
        /// The one that has it.
        first: String,
        /// The other.
        other: String,
        /// The unit, as a part.
        unit: Part,
    },
}

/// One part, in the summary of the whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartOfRun {
    /// The part: `2/3`, or `3..5/16`.
    pub part: String,
    /// Run directory of the part.
    pub directory: String,
    /// True if its own verdict was that it is valid.
    pub valid: bool,
    /// The check that made it invalid, of several the first cause; null if it was valid.
    #[serde(default)]
    pub cause: Option<String>,
    /// Requests that were due in its measured part.
    pub requests: u64,
    /// Nanoseconds by which it started after the first, by the machines' wall clocks as far as these were
    /// compared, and by which its own clock was set meanwhile; null in virtual time.
    pub skew_ns: Option<u64>,
    /// Nanoseconds by which its machine's wall clock was ahead of the gatherer's, and was corrected for; null
    /// where clocks were not compared.
    #[serde(default)]
    pub clock_offset_ns: Option<i64>,
    /// Nanoseconds by which that may be wrong.
    #[serde(default)]
    pub clock_error_ns: Option<u64>,
}

impl PartLabel {
    /// The words for the load of the whole, as a part says them.
    pub fn words(part: Part, load: &str) -> String {
        if part.is_whole() { load.to_owned() } else { format!("part {part} of {load}") }
    }

    /// The words for the load of the whole in those of the part.
    fn words_of_whole(&self, words: &str) -> String {
        let own = PartLabel::words(self.part, "");
        words.strip_prefix(&own).unwrap_or(words).to_owned()
    }
}

impl PartResult {
    /// The result of the part of `label`.
    pub fn new(
        label: PartLabel,
        context: SummaryContext<'_>,
        (fold, stats): (&Fold, &EngineStats),
        until: Instant,
    ) -> PartResult {
        PartResult {
            version: VERSION,
            label,
            heading: context.heading.clone(),
            limits: context.limits.clone(),
            until,
            stats: stats.clone(),
            fold: fold.clone(),
        }
    }

    /// Reads what [`PartResult::write`] wrote.
    pub fn read(from: impl Read) -> Result<PartResult, PartError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let mut text = Vec::new();
        zstd::Decoder::new(from)?.take(BYTES_MAX + 1).read_to_end(&mut text)?;
        if text.len() as u64 > BYTES_MAX {
            return Err(io::Error::other("it is too long").into());
        }
        let Version { version: found } = serde_json::from_slice(&text).map_err(io::Error::from)?;
        if found != VERSION {
            return Err(PartError::Version { found });
        }
        let result: PartResult = serde_json::from_slice(&text).map_err(io::Error::from)?;
        if !result.fold.is_sound() || result.until > result.fold.window().measure_to {
            return Err(io::Error::other("it is damaged").into());
        }
        Ok(result)
    }

    /// Writes the result, compressed.
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        let mut packed = zstd::Encoder::new(to, LEVEL)?;
        serde_json::to_writer(&mut packed, self)?;
        packed.finish().map(drop)
    }

    /// The part that it is of.
    pub fn part(&self) -> Part {
        self.label.part
    }

    /// The scenario that all parts have in common.
    pub fn scenario(&self) -> &str {
        &self.label.scenario
    }

    /// Requests that it has samples of, in all parts of the run.
    pub fn samples(&self) -> u64 {
        self.fold.warm_up().requests() + self.fold.steady().requests() + self.fold.drained()
    }

    /// The reason why its disk took no more samples, if it did not take all.
    pub fn samples_refused(&self) -> Option<&str> {
        self.stats.samples_refused.as_deref()
    }

    fn requests(&self) -> u64 {
        self.fold.steady().requests()
    }

    /// Time by which its wall clock was set, forwards or backwards, while it ran.
    fn drift_ns(&self) -> u64 {
        self.stats.clock.map_or(0, |clock| clock.drift_ns.unsigned_abs())
    }

    /// The part's start, by the clock that all parts' clocks were compared with, if they were.
    fn start_unix_ns(&self) -> Option<u64> {
        let offset_ns = self.label.clock.map_or(0, |clock| clock.offset_ns);
        self.stats.clock.map(|clock| clock.start_unix_ns.saturating_add_signed(offset_ns.saturating_neg()))
    }

    /// The clock of its machine, where a real clock counted.
    fn clock(&self) -> Option<PartClock> {
        self.label.clock.filter(|_| self.stats.clock.is_some())
    }
}

/// A part with its run directory, and the verdict on it that stands there: checks against packets are made
/// after the part was written.
#[derive(Debug, Clone)]
pub struct JudgedPart {
    /// The name of the directory.
    pub directory: String,
    /// The part.
    pub result: PartResult,
    /// Verdict on the part.
    pub verdict: Verdict,
}

/// The run that parts are together.
#[derive(Debug, Clone)]
pub struct PartsSum {
    heading: Heading,
    limits: VerdictLimits,
    thresholds: Vec<Threshold>,
    /// All counts.
    pub fold: Fold,
    /// The engines' statistics.
    pub stats: EngineStats,
    /// The end of what was measured.
    pub until: Instant,
    /// The parts, in the order of their units.
    pub parts: Vec<PartOfRun>,
    started_unix_ns: Option<u64>,
    missing: Vec<Part>,
    invalid: Vec<String>,
    skew_max: Duration,
}

impl PartsSum {
    /// The sum of `parts`.
    ///
    /// # Errors
    /// If they are not of one run, or one of them is there twice.
    pub fn of(mut parts: Vec<JudgedPart>) -> Result<PartsSum, PartsError> {
        parts.sort_by_key(|part| part.result.part().own().start);
        let Some((first, rest)) = parts.split_first() else { return Err(PartsError::Nothing) };
        let first = &first.result;
        check_apart(&parts)?;
        let (mut fold, mut stats) = (first.fold.clone(), first.stats.clone());
        for part in rest {
            fold.merge(&part.result.fold);
            stats.merge(&part.result.stats);
        }
        forget_machines(&mut stats, &parts);
        let start = parts.iter().filter_map(|part| part.result.start_unix_ns()).min();
        let row = |JudgedPart { directory, result, verdict }: &JudgedPart| PartOfRun {
            part: result.part().to_string(),
            directory: directory.clone(),
            valid: verdict.valid,
            cause: own_cause(verdict, &fold).map(|cause| cause.name.clone()),
            requests: result.requests(),
            skew_ns: result.start_unix_ns().zip(start).map(|(own, first)| own - first + result.drift_ns()),
            clock_offset_ns: result.clock().map(|clock| clock.offset_ns),
            clock_error_ns: result.clock().map(|clock| clock.error_ns),
        };
        Ok(PartsSum {
            heading: Heading {
                load_words: first.label.words_of_whole(&first.heading.load_words),
                ..first.heading.clone()
            },
            limits: first.limits.clone(),
            thresholds: first.label.thresholds.clone(),
            until: parts.iter().map(|part| part.result.until).max().unwrap_or_default(),
            started_unix_ns: start,
            missing: missing(&parts),
            invalid: parts.iter().filter_map(|part| invalid(part, &fold)).collect(),
            skew_max: first.label.skew_max,
            parts: parts.iter().map(row).collect(),
            fold,
            stats,
        })
    }

    /// The summary of the run, with a verdict on the sum and on the parts.
    pub fn summary(&self, series_file: Option<&str>) -> Summary {
        let context = SummaryContext {
            heading: &self.heading,
            limits: &self.limits,
            thresholds: &self.thresholds,
            series_file,
        };
        let mut summary = Summary::new(context, &self.fold, &self.stats, self.until);
        self.judge(&mut summary.verdict);
        summary.parts.clone_from(&self.parts);
        summary
    }

    /// Wall-clock time of the first start, in seconds since 1970; 0 in virtual time.
    pub fn started_unix_s(&self) -> u64 {
        self.started_unix_ns.unwrap_or_default() / 1_000_000_000
    }

    /// The largest distance that the starts of two parts may have had: as measured, and the largest error of
    /// a clock at either end. `None` in virtual time.
    fn skew(&self) -> Option<Duration> {
        let skew = self.parts.iter().filter_map(|part| part.skew_ns).max()?;
        let error = self.parts.iter().filter_map(|part| part.clock_error_ns).max().unwrap_or(0);
        Some(Duration::from_ns(skew.saturating_add(error.saturating_mul(2))))
    }

    fn judge(&self, verdict: &mut Verdict) {
        let missing: Vec<String> = self.missing.iter().map(|part| format!("{part} is missing")).collect();
        let wrong: Vec<String> = missing.into_iter().chain(self.invalid.iter().cloned()).collect();
        verdict.add_counted(
            "parts",
            "Every part of the run is there, and valid by itself.",
            (wrong.len() as f64, 0.0),
            (!wrong.is_empty()).then(|| wrong.join("; ")),
            "run what is missing again with the others: a part that is made later loads another server",
        );
        if let Some(skew) = self.skew().filter(|_| self.parts.len() > 1) {
            let advice = match self.parts.iter().any(|part| part.clock_error_ns.is_some()) {
                true => {
                    "clocks are known to half of a round trip: hold the rendezvous nearer to the parts, and set no \
                     clock during the run"
                }
                false => "give all parts one `--start-at`, and set the clocks of the machines (NTP)",
            };
            verdict.add_skew(skew, self.skew_max, advice);
        }
    }
}

/// Leaves out what is one machine's, where there are several parts: its part has judged it, and a sum over
/// machines would be of none. Warnings are said with the part that they are of.
fn forget_machines(stats: &mut EngineStats, parts: &[JudgedPart]) {
    if parts.len() < 2 {
        return;
    }
    (stats.machine, stats.server_time, stats.server_beside) = (None, None, None);
    (stats.server_limits, stats.bottleneck, stats.clock) = (None, None, None);
    stats.other_processes.clear();
    stats.captures.clear();
    let of_part = |JudgedPart { result, .. }: &JudgedPart| {
        let part = result.part();
        result.stats.warnings.iter().map(move |warning| format!("part {part}: {warning}")).collect::<Vec<_>>()
    };
    stats.warnings = parts.iter().flat_map(of_part).collect();
    if stats.plane == "simulated" {
        // Their sum is no run of one server.
        stats.warnings.push(format!("each of the {} parts had a model of the server to itself", parts.len()));
    }
}

/// Units that none of `parts` has, each run of them as one part.
fn missing(parts: &[JudgedPart]) -> Vec<Part> {
    let of = parts[0].result.part().of();
    let mut missing = Vec::new();
    let mut next = 0;
    for own in parts.iter().map(|part| part.result.part().own()).chain(std::iter::once(of..of)) {
        if next < own.start {
            missing.extend(Part::units(next + 1, own.start, of));
        }
        next = own.end;
    }
    missing
}

/// The first cause by which a part is invalid. One in which no request was due, where others had some, has no
/// users, as where there are fewer of these than parts.
fn own_cause<'v>(verdict: &'v Verdict, whole: &Fold) -> Option<&'v Check> {
    let nothing = Some("something-measured");
    let is_of_none =
        |check: &Check| Some(check.name.as_str()) == nothing || check.follows_from.as_deref() == nothing;
    let is_idle = whole.steady().requests() > 0 && verdict.failed().all(is_of_none);
    verdict.first_cause().filter(|_| !is_idle)
}

/// The part and its first cause, if it was invalid by itself.
fn invalid(JudgedPart { directory, result, verdict }: &JudgedPart, whole: &Fold) -> Option<String> {
    let cause = own_cause(verdict, whole)?;
    let note = cause.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    Some(format!("{} in {directory} is invalid: {}{note}", result.part(), cause.name))
}

/// Checks that parts, in the order of their units, are of one run, and none is there twice.
fn check_apart(parts: &[JudgedPart]) -> Result<(), PartsError> {
    let first = &parts[0];
    for other in &parts[1..] {
        if let Some(what) = difference(&first.result, &other.result) {
            let (first, other) = (first.directory.clone(), other.directory.clone());
            return Err(PartsError::Differ { first, other, what });
        }
    }
    for pair in parts.windows(2) {
        let (own, next) = (pair[0].result.part(), pair[1].result.part());
        if next.own().start < own.own().end {
            let (first, other) = (pair[0].directory.clone(), pair[1].directory.clone());
            let unit = Part::new(next.own().start + 1, own.of()).unwrap_or_default();
            return Err(PartsError::Twice { first, other, unit });
        }
    }
    Ok(())
}

/// Difference by which two parts are not of one run, if there is one.
fn difference(one: &PartResult, other: &PartResult) -> Option<String> {
    if one.part().of() != other.part().of() {
        return Some(format!("{} and {}", one.part(), other.part()));
    }
    if one.heading.farfield != other.heading.farfield {
        return Some(format!("farfield {} and {}", one.heading.farfield, other.heading.farfield));
    }
    if one.scenario() != other.scenario() {
        return Some(first_difference(one.scenario(), other.scenario()));
    }
    let same = one.fold.window() == other.fold.window() && one.label.skew_max == other.label.skew_max;
    (!same).then(|| "their measured parts differ".to_owned())
}

/// The first line in which two scenarios differ, as both have it.
fn first_difference(one: &str, other: &str) -> String {
    let (mut lines, mut others) = (one.lines(), other.lines());
    loop {
        match (lines.next(), others.next()) {
            (Some(line), Some(other)) if line == other => {}
            (line, other) => {
                let shown =
                    |line: Option<&str>| line.map_or("nothing".to_owned(), |line| format!("`{line}`"));
                return format!("{} and {}", shown(line), shown(other));
            }
        }
    }
}
