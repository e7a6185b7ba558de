//! Logs into a report.

use crate::flags::fit::{LogFlags, Unit};
use crate::problem::Problem;
use farfield_base::random::Seed;
use farfield_files::open_stream;
use farfield_fit::session::{RequestKinds, Thresholds};
use farfield_fit::{FitReport, FitSettings, Limits, LogSettings, Trials, Visits};
use farfield_log::{FieldMap, LogFormat, LogParser, LogReader, TransferUnit, decompressed};
use std::io::{self, Cursor, Read};
use std::path::Path;

/// Bytes of a log that are looked at to see its format.
const LOOKED_AT: u64 = 64 << 10;

/// The settings of a fit that the flags ask for.
pub fn settings(flags: &LogFlags) -> Result<FitSettings, Problem> {
    if flags.t_min > flags.t_max {
        return Err(Problem::usage(format!(
            "--t-min {} is longer than --t-max {}; pages are shorter than sessions",
            flags.t_min, flags.t_max
        )));
    }
    let mut settings = FitSettings {
        thresholds: Thresholds { t_min: flags.t_min, t_max: flags.t_max },
        seed: Seed(flags.seed),
        ..FitSettings::default()
    };
    if flags.single_distributions {
        settings.trials = Trials::singles();
    }
    Ok(settings)
}

/// Reads the logs and fits what they hold.
pub fn fitted(flags: &LogFlags, settings: &FitSettings) -> Result<FitReport, Problem> {
    let taking = LogSettings { keep_query: flags.keep_query, stamped_at_end: flags.stamped_at_end };
    let mut visits = Visits::new(Limits::default(), taking, RequestKinds::default());
    let mut reader: Option<LogReader> = None;
    for path in &flags.logs {
        let reported = |error: &dyn std::fmt::Display| {
            Problem::usage(format!("cannot read the log {}: {error}", path.display()))
        };
        let mut log = open(path).map_err(|error| reported(&error))?;
        let mut start = Vec::new();
        log.by_ref().take(LOOKED_AT).read_to_end(&mut start).map_err(|error| reported(&error))?;
        if reader.is_none() {
            reader = Some(LogReader::new(LogParser::new(&format(flags, &start, path)?)));
        }
        let reader = reader.as_mut().expect("there is one by now");
        let whole = Cursor::new(start).chain(log);
        reader.read(whole, &mut |record| visits.push(record)).map_err(|error| reported(&error))?;
    }
    let reader = reader.expect("clap asks for one log at least");
    if visits.is_empty() {
        let broken = reader.tally().shown.first();
        let broken = broken.map(|shown| format!(": line {} is broken, {}", shown.line, shown.why));
        let targets = visits.targets();
        let noise = || (targets.none > 0).then(|| format!(": the first asks for `{}`", targets.first));
        return Err(Problem::usage(format!(
            "none of the {} lines is a request{}; name the layout with --format",
            reader.tally().lines,
            broken.or_else(noise).unwrap_or_default()
        )));
    }
    check_found(flags, &reader)?;
    visits.set_aside_implausible();
    Ok(FitReport::of(&visits, reader.tally(), settings))
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") { decompressed(io::stdin()) } else { decompressed(open_stream(path)?) }
}

fn format(flags: &LogFlags, start: &[u8], path: &Path) -> Result<LogFormat, Problem> {
    let unit = flags.transfer.map(|unit| match unit {
        Unit::Seconds => TransferUnit::Seconds,
        Unit::Milliseconds => TransferUnit::Milliseconds,
        Unit::Microseconds => TransferUnit::Microseconds,
        Unit::Nanoseconds => TransferUnit::Nanoseconds,
    });
    let format = match flags.format.as_deref() {
        Some(name) => named(name, unit)?,
        None if !flags.fields.is_empty() => LogFormat::Json(Box::default()),
        None => LogFormat::detect(start).ok_or_else(|| unknown(start, path))?,
    };
    Ok(match format {
        LogFormat::Json(map) => LogFormat::Json(Box::new(fields(*map, &flags.fields, unit)?)),
        LogFormat::Common { .. } => LogFormat::Common { transfer: unit },
        LogFormat::Extended { .. } => LogFormat::Extended { transfer: unit },
        format @ (LogFormat::Gn | LogFormat::Pattern(_)) => format,
    })
}

fn named(name: &str, unit: Option<TransferUnit>) -> Result<LogFormat, Problem> {
    let found = LogFormat::named(name, unit).map_err(|error| Problem::usage(format!("--format: {error}")))?;
    found.ok_or_else(|| {
        Problem::usage(format!(
            "--format: there is no layout `{name}`; write {}, or a pattern as Apache or nginx has it, such as {PATTERN}",
            names().join(", ")
        ))
    })
}

/// A pattern, as an example.
const PATTERN: &str = "'%h %l %u %t \"%r\" %>s %b'";

fn names() -> Vec<&'static str> {
    LogFormat::names().into_iter().map(|(name, _)| name).collect()
}

fn unknown(start: &[u8], path: &Path) -> Problem {
    let first = start.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let first: String = String::from_utf8_lossy(first.unwrap_or_default()).chars().take(200).collect();
    Problem::usage(format!(
        "cannot tell the layout of {} from its first lines, of which the first is `{first}`; tried were {}. Name one with \
         --format, write a pattern, such as --format {PATTERN}, or name the fields of JSON lines, such as --field \
         time=ts --field client=ip --field path=uri",
        path.display(),
        names().join(", ")
    ))
}

/// Refuses fields and units that were named, and that no line has.
fn check_found(flags: &LogFlags, reader: &LogReader) -> Result<(), Problem> {
    let found = reader.parser().fields_found();
    let named = |what: &str| flags.fields.iter().any(|field| field.split('=').next() == Some(what));
    if let Some((what, name, _)) = found.iter().find(|(what, _, lines)| *lines == 0 && named(what)) {
        return Err(Problem::usage(format!("--field {what}={name}: no line has a text or number there")));
    }
    if flags.transfer.is_some() && reader.tally().with_transfer == 0 {
        return Err(Problem::usage("--transfer: no line has a transfer time".to_owned()));
    }
    Ok(())
}

fn fields(map: FieldMap, given: &[String], unit: Option<TransferUnit>) -> Result<FieldMap, Problem> {
    let mut map = FieldMap { transfer_unit: unit.unwrap_or(map.transfer_unit), ..map };
    for field in given {
        let (what, name) = field.split_once('=').unwrap_or((field, ""));
        let place = match what {
            "time" => &mut map.time,
            "client" => &mut map.client,
            "agent" => &mut map.agent,
            "method" => &mut map.method,
            "path" => &mut map.path,
            "request" => &mut map.request,
            "referrer" => &mut map.referrer,
            "status" => &mut map.status,
            "bytes" => &mut map.bytes,
            "transfer" => &mut map.transfer,
            _ => {
                return Err(Problem::usage(format!(
                    "--field {field}: write WHAT=NAME, where WHAT is time, client, agent, method, path, request, \
                     referrer, status, bytes or transfer"
                )));
            }
        };
        name.clone_into(place);
    }
    Ok(map)
}
