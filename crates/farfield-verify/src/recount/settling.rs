//! `settling`, counted again: when response times had settled, and the means of both halves.
//!
//! Successful requests are put into stretches of two to the power of n nanoseconds, the shortest for which
//! all of them are in fewer than 256 (docs/statistics.md). The rule's error is summed stretch by stretch for
//! each beginning and each end, as it is defined. Where two ends are equally good but for rounding, either is
//! right.

use super::Recount;
use super::expected::Expected;
use farfield_base::Outcome;
use serde_json::Value;

/// Stretches are fewer.
const STRETCHES: u64 = 256;
/// Nanoseconds of the shortest stretch.
const SHORTEST_NS: u64 = 1 << 14;
/// Stretches with a request without which there is no answer.
const LEAST: usize = 16;
/// Share by which two errors differ by rounding alone: of the smaller, and of the sum of squares that either
/// is the difference of. Times that are all alike have an error of rounding only, wherever they are cut.
const ROUNDING: f64 = 1e-6;
const ROUNDING_OF_SQUARES: f64 = 1e-10;

/// Requests of a stretch, and the sum of their response times.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    count: f64,
    sum: f64,
}

/// The record that a summary should have. One by an older farfield lacks it, and where a run did not go to
/// its end it is null.
pub(super) fn expected(recount: &Recount<'_>, said: Option<&Value>, is_complete: bool) -> Expected {
    let ok = || recount.samples.iter().filter(|own| own.outcome == Outcome::Ok && !own.is_left());
    let last = ok().map(|own| own.due.as_ns()).max().unwrap_or(0);
    let mut length = SHORTEST_NS;
    while last / length >= STRETCHES {
        length *= 2;
    }
    let Some(said) = said.filter(|value| is_complete || !value.is_null()) else { return Expected::Open };
    let whole = (recount.to / length).min(STRETCHES) as usize;
    let mut stretches = vec![Stretch::default(); whole];
    for own in ok() {
        if let Some(stretch) = stretches.get_mut((own.due.as_ns() / length) as usize) {
            stretch.count += 1.0;
            stretch.sum += own.done.as_ns().saturating_sub(own.due.as_ns()) as f64;
        }
    }
    if stretches.iter().filter(|stretch| stretch.count > 0.0).count() < LEAST {
        return Expected::Nothing;
    }
    let squares = stretches.iter().filter(|own| own.count > 0.0).map(|own| own.sum * own.sum / own.count);
    let all: f64 = stretches.iter().map(|own| own.count).sum();
    let rounding = ROUNDING_OF_SQUARES * squares.sum::<f64>() / (all * all);
    let begins: Vec<f64> = (0..=whole / 2).map(|at| error(&stretches[at..])).collect();
    let place = |name: &str| said.get(name).and_then(Value::as_u64).filter(|ns| ns % length == 0);
    let begin_said = place("settled_ns").map_or(whole / 2, |ns| (ns / length) as usize);
    let begin = chosen(&begins, begin_said, rounding);
    let ends: Vec<f64> = (0..=whole / 4).map(|cut| error(&stretches[begin..whole - cut])).collect();
    let end = chosen(&ends, place("end_ns").map_or(usize::MAX, |ns| (ns / length) as usize), rounding);
    let measured = &stretches[((recount.from / length) as usize).min(whole)..];
    let (first, second) = measured.split_at(measured.len() / 2);
    Expected::record([
        (
            "settled_ns",
            match begin < whole / 2 {
                true => Expected::Count(begin as u64 * length),
                false => Expected::Nothing,
            },
        ),
        ("end_ns", Expected::Count(end as u64 * length)),
        ("first_half_ns", mean(first)),
        ("second_half_ns", mean(second)),
    ])
}

/// The place that was said, if no other is better, and else the best.
fn chosen(errors: &[f64], said: usize, rounding: f64) -> usize {
    let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let is_best = |error: f64| error <= best * (1.0 + ROUNDING) + rounding;
    match errors.get(said) {
        Some(error) if is_best(*error) => said,
        _ => errors.iter().position(|error| is_best(*error)).unwrap_or(0),
    }
}

/// The squared standard error of the mean of these stretches, Σ w(y − ȳ)² / (Σ w)².
fn error(stretches: &[Stretch]) -> f64 {
    let (count, sum) = stretches.iter().fold((0.0, 0.0), |all, one| (all.0 + one.count, all.1 + one.sum));
    if count == 0.0 {
        return f64::INFINITY;
    }
    let own = stretches.iter().filter(|stretch| stretch.count > 0.0);
    let squares = own.map(|stretch| stretch.count * (stretch.sum / stretch.count - sum / count).powi(2));
    squares.sum::<f64>() / (count * count)
}

/// The mean response time, to the nanosecond.
fn mean(stretches: &[Stretch]) -> Expected {
    let (count, sum) = stretches.iter().fold((0.0, 0.0), |all, one| (all.0 + one.count, all.1 + one.sum));
    match count > 0.0 {
        true => Expected::Near { value: sum / count, by: 1.0 },
        false => Expected::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From times that are all alike nothing is better cut off: whatever rounding leaves, no end that is said
    /// is wrong for them. From a slow beginning its end is.
    #[test]
    fn rounding_decides_nothing() {
        let alike = vec![Stretch { count: 7.0, sum: 7.0 * 3_333_333.1 }; 200];
        let errors: Vec<f64> = (0..=100).map(|at| error(&alike[at..])).collect();
        let squares = alike.iter().map(|own| own.sum * own.sum / own.count).sum::<f64>();
        let rounding = ROUNDING_OF_SQUARES * squares / (1400.0_f64 * 1400.0);
        assert_eq!((chosen(&errors, 0, rounding), chosen(&errors, 60, rounding)), (0, 60));
        let mut slow = alike;
        slow[..20].iter_mut().for_each(|own| own.sum *= 3.0);
        let errors: Vec<f64> = (0..=100).map(|at| error(&slow[at..])).collect();
        assert_eq!(chosen(&errors, 0, rounding), 20);
    }
}
