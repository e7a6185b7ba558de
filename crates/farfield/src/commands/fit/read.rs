//! Logs into a report.

use crate::flags::fit::{LogFlags, LogLayout, Unit};
use crate::problem::Problem;
use farfield_base::random::Seed;
use farfield_files::open_stream;
use farfield_fit::session::{RequestKinds, Thresholds};
use farfield_fit::{FitReport, FitSettings, Limits, LogSettings, Trials, Visits};
use farfield_log::{FieldMap, LogFormat, LogParser, LogReader, TransferUnit, decompressed};
use std::io::{self, Cursor, Read};
use std::path::Path;

/// So many bytes of a log are looked at to see its format.
const LOOKED_AT: u64 = 64 << 10;

/// What the flags ask of a fit.
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
        settings.trials = Trials { mixtures: Vec::new(), pairs_of_best: 0, ..Trials::default() };
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
        return Err(Problem::usage(format!(
            "none of the {} lines is a request{}; name the layout with --format",
            reader.tally().lines,
            reader
                .tally()
                .shown
                .first()
                .map_or(String::new(), |shown| format!(": line {} is broken, {}", shown.line, shown.why)),
        )));
    }
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
    });
    let map = fields(&flags.fields, unit)?;
    let layout = match flags.format {
        Some(layout) => layout,
        None if !flags.fields.is_empty() => LogLayout::Json,
        None => match LogFormat::detect(start) {
            Some(LogFormat::Common { .. }) => LogLayout::Common,
            Some(LogFormat::Extended { .. }) => LogLayout::Extended,
            Some(LogFormat::Json(_)) => LogLayout::Json,
            Some(LogFormat::Gn) => LogLayout::Gn,
            None => {
                return Err(Problem::usage(format!(
                    "cannot tell the layout of {} from its first lines; name it with --format",
                    path.display()
                )));
            }
        },
    };
    Ok(match layout {
        LogLayout::Common | LogLayout::Combined => LogFormat::Common { transfer: unit },
        LogLayout::Extended => LogFormat::Extended { transfer: unit },
        LogLayout::Json => LogFormat::Json(Box::new(map)),
        LogLayout::Gn => LogFormat::Gn,
    })
}

fn fields(given: &[String], unit: Option<TransferUnit>) -> Result<FieldMap, Problem> {
    let mut map = FieldMap { transfer_unit: unit.unwrap_or(TransferUnit::Seconds), ..FieldMap::default() };
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
