//! `farfield advise keepalive`: the timeout of idle connections that the log's users call for, on a server
//! whose connections each hold a worker.

use crate::commands::fit::{fitted, settings};
use crate::exit::Exit;
use crate::flags::fit::{AdviseCommand, AdviseFlags, KeepaliveFlags};
use crate::output;
use crate::problem::Problem;
use farfield_files::input::DOCUMENT_MAX;
use farfield_fit::keepalive::KeepAlive;
use farfield_fit::{FitReport, Model, Variable};
use std::fmt::Write;
use std::io;

/// Timeouts of the work-load curve, in seconds.
const CURVE_S: [f64; 10] = [0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0, 30.0, 75.0, 300.0];

/// Prints the advice.
pub fn advise(flags: &AdviseFlags) -> Result<Exit, Problem> {
    let AdviseCommand::Keepalive(flags) = &flags.what;
    if flags.workers == 0 {
        return Err(Problem::usage("--workers 0: write how many connections the server holds at once"));
    }
    let users = users(&report(flags)?)?;
    output::put(&advice(&users, flags))?;
    Ok(Exit::Fine)
}

/// The report of an earlier fit, or one made now.
fn report(flags: &KeepaliveFlags) -> Result<FitReport, Problem> {
    if let [path] = flags.log.logs.as_slice()
        && path.extension().is_some_and(|extension| extension == "json")
    {
        let refuse = |error: &dyn std::fmt::Display| Problem::usage(format!("{}: {error}", path.display()));
        // A log may be lines of JSON, and of any length.
        match farfield_files::read_text(path, DOCUMENT_MAX) {
            Ok(text) => match serde_json::from_str(&text) {
                Ok(report) => return Ok(report),
                Err(error) if text.starts_with("{\n") => {
                    return Err(refuse(&format_args!("not what `farfield fit` writes: {error}")));
                }
                Err(_) => {}
            },
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {}
            Err(error) => return Err(refuse(&error)),
        }
    }
    fitted(&flags.log, &settings(&flags.log)?)
}

/// The users of the log, whom the advice is about.
struct Users {
    think: Model,
    distribution: String,
    think_mean_s: f64,
    clicks_mean: f64,
    sessions_per_second: f64,
}

fn users(report: &FitReport) -> Result<Users, Problem> {
    let fit = report.variable(Variable::ThinkTime);
    let preferred = fit.and_then(|fit| fit.taken());
    let (Some(fit), Some(preferred)) = (fit, preferred) else {
        return Err(Problem::failed(
            "the log has too few think times to fit a distribution, and so for advice",
        ));
    };
    let think = preferred.model().ok_or_else(|| {
        Problem::usage(format!(
            "the think times' distribution `{}` is none that farfield fits",
            preferred.name
        ))
    })?;
    let row = report.sensitivity.iter().find(|row| row.thresholds == report.thresholds);
    let (sessions, clicks_mean) = row.map_or((0, 1.0), |row| (row.sessions, row.clicks_mean));
    let rate = sessions as f64 / report.covers.as_secs_f64().max(1.0);
    Ok(Users {
        think,
        distribution: preferred.name.clone(),
        think_mean_s: fit.mean,
        clicks_mean: clicks_mean.max(1.0),
        sessions_per_second: report.arrivals.map_or(rate, |arrivals| arrivals.rate),
    })
}

fn advice(users: &Users, flags: &KeepaliveFlags) -> String {
    let rtt_s = flags.rtt.as_secs_f64();
    let gain_s = flags.gain.map_or(2.0 * rtt_s, |gain| gain.as_secs_f64());
    let kept_page_s = flags.page.map_or(rtt_s, |page| page.as_secs_f64());
    let model = KeepAlive {
        think: users.think.clone(),
        clicks_mean: users.clicks_mean,
        new_page_s: kept_page_s + gain_s,
        kept_page_s,
        leavers_close: flags.leavers_close,
    };
    let rate = users.sessions_per_second;
    let mut text = format!(
        "users            {rate:.4} sessions a second of {:.2} clicks; think time {:.1} s, {}\n\
         a page           {kept_page_s:.3} s on a kept connection, {gain_s:.3} s more on a new one\n\n\
         timeout, s   held a session, s   workers busy   of {:<6} sessions/s at most\n",
        users.clicks_mean, users.think_mean_s, users.distribution, flags.workers
    );
    let now_s = flags.timeout.as_secs_f64();
    let mut curve = CURVE_S.to_vec();
    curve.push(now_s);
    curve.sort_by(f64::total_cmp);
    curve.dedup();
    for timeout_s in curve {
        let mark = if timeout_s == now_s { "  <- now" } else { "" };
        row(&mut text, &format!("{timeout_s}"), model.work_s(timeout_s), rate, flags.workers, mark);
    }
    row(&mut text, "early close", model.early_close_work_s(), rate, flags.workers, "");
    let best = model.optimum();
    let (now, early) = (model.work_s(now_s), model.early_close_work_s());
    let _ = write!(
        text,
        "\nleast work       a timeout of {} s\n\
         theorem 1        {:.3} s (as printed, F/f = δ with δ = {:.3} s; see docs/models.md for its slip)\n\
         Early Close      {:.1} times the sessions of the timeout now, {:.2} times those of the best timeout\n\n",
        short(best.timeout_s),
        model.printed_optimum_s(),
        model.delta_s(),
        now / early,
        best.work_s / early
    );
    text.push_str(match rate * now / f64::from(flags.workers) {
        load if load >= 1.0 => {
            "The present timeout asks for more workers than there are: sessions queue without end. Shorten it.\n"
        }
        load if load >= 0.7 => "The workers are busy with the present timeout: shorten it before more users come.\n",
        _ => {
            "The workers suffice with the present timeout: a longer one spares users new connections, a shorter one buys room \
             for more of them.\n"
        }
    });
    text
}

fn row(text: &mut String, name: &str, work_s: f64, rate: f64, workers: u32, mark: &str) {
    let busy = rate * work_s;
    let _ = writeln!(
        text,
        "{name:<12} {work_s:>18.3} {busy:>14.3} {:>9.1} % {:>19.2}{mark}",
        100.0 * busy / f64::from(workers),
        KeepAlive::capacity(work_s, workers)
    );
}

fn short(seconds: f64) -> String {
    if seconds == 0.0 { "0".to_owned() } else { format!("{seconds:.3}") }
}
