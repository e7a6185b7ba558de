//! Dates of a log, and which of them are implausible: one line of another year would make a gap of years, a
//! rate near zero, and a course and a Hurst parameter without meaning.
//!
//! A request is set aside where its date is implausible, by one of three signs:
//! - it is further from the shortest interval with nineteen of twenty requests than a hundred times the
//!   length of that interval, and than a hundred hours: a machine that started without its clock, a few
//!   lines of another century;
//! - its line is more than an hour from both of its neighbours in the log, which are within a tenth of that
//!   of each other;
//! - it is one of a few (a thousandth of all, one at least) before or after a silence of an hour or more
//!   that is longer than all the rest of the log.
//!
//! Other oddities (lines out of order, long silences) are only reported: logs of several servers are
//! joined, and servers rest.

use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// The dates of a log, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogDates {
    /// The first request, in nanoseconds from the start of 1970.
    pub first_ns: u64,
    /// The last request, likewise in nanoseconds.
    pub last_ns: u64,
    /// Lines that are earlier than the one before.
    pub out_of_order: u64,
    /// The largest step back in time.
    pub step_back: Duration,
    /// The longest time without a request.
    pub silence: Duration,
    /// Start of that silence, in nanoseconds from the start of 1970.
    pub silence_from_ns: u64,
    /// Requests with implausible dates, which no other figure includes.
    pub set_aside: u64,
    /// Date of the first of those requests, in nanoseconds from the start of 1970.
    pub absurd_ns: Option<u64>,
}

/// Distances below this are plausible: servers are quiet at night.
const NEAR: u64 = 3_600 * 1_000_000_000;

/// Indices of the implausible times among `at` (nanoseconds from the start of 1970, in the order of the log),
/// in rising order.
pub fn implausible(at: &[u64]) -> Vec<usize> {
    const FEWEST: usize = 10;
    if at.len() < FEWEST {
        return Vec::new();
    }
    let mut sorted: Vec<u64> = at.to_vec();
    sorted.sort_unstable();
    let (from, to) = reach(&sorted);
    let near: Vec<usize> = (0..at.len()).filter(|place| (from..=to).contains(&at[*place])).collect();
    let is_alone = |places: &[usize]| {
        let [before, own, after] = [0, 1, 2].map(|i| at[places[i]]);
        let off = own.abs_diff(before).min(own.abs_diff(after));
        off > NEAR && before.abs_diff(after) < off / 10
    };
    let alone = near.windows(3).filter(|places| is_alone(places)).map(|places| places[1]);
    let alone: Vec<usize> = alone.take(at.len() / 10).collect();
    let is_left = |place: &&usize| alone.binary_search(place).is_err();
    let left: Vec<usize> = near.iter().filter(is_left).copied().collect();
    sorted = left.iter().map(|place| at[*place]).collect();
    sorted.sort_unstable();
    let (first, last) = kept(&sorted);
    let (from, to) = (sorted[first], sorted[last - 1]);
    let stays = |place: &usize| left.binary_search(place).is_ok() && (from..=to).contains(&at[*place]);
    (0..at.len()).filter(|place| !stays(place)).collect()
}

/// The range of `sorted` times that are near the shortest interval with nineteen of twenty of them.
fn reach(sorted: &[u64]) -> (u64, u64) {
    const FAR: u64 = 100;
    let most = sorted.len() - sorted.len() / 20;
    let spans = sorted.windows(most).map(|window| (window[most - 1] - window[0], window[0]));
    let (span, begin) = spans.min().unwrap_or_default();
    let far = span.max(NEAR).saturating_mul(FAR);
    (begin.saturating_sub(far), begin.saturating_add(span).saturating_add(far))
}

/// Indices of the first kept of the `sorted` times, and one past the last.
fn kept(sorted: &[u64]) -> (usize, usize) {
    let few = (sorted.len() / 1_000).max(1);
    let (mut first, mut last) = (0, sorted.len());
    for _ in 0..2 {
        // A few times before a silence that is longer than all the rest, then a few after one.
        for place in 1..=few.min(last - first - 2) {
            let silence = sorted[first + place] - sorted[first + place - 1];
            if silence > NEAR && silence > sorted[last - 1] - sorted[first + place] {
                first += place;
                break;
            }
        }
        for place in 1..=few.min(last - first - 2) {
            let silence = sorted[last - place] - sorted[last - place - 1];
            if silence > NEAR && silence > sorted[last - place - 1] - sorted[first] {
                last -= place;
                break;
            }
        }
    }
    (first, last)
}

impl LogDates {
    /// The dates of the times `at` (nanoseconds from the start of 1970), in the order of the log.
    pub fn of(at: &[u64]) -> LogDates {
        let mut dates = LogDates::default();
        for pair in at.windows(2) {
            if pair[1] < pair[0] {
                dates.out_of_order += 1;
                dates.step_back = dates.step_back.max(Duration::from_ns(pair[0] - pair[1]));
            }
        }
        let mut sorted = at.to_vec();
        sorted.sort_unstable();
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return dates };
        (dates.first_ns, dates.last_ns) = (*first, *last);
        for pair in sorted.windows(2) {
            let silence = Duration::from_ns(pair[1] - pair[0]);
            if silence > dates.silence {
                (dates.silence, dates.silence_from_ns) = (silence, pair[0]);
            }
        }
        dates
    }

    /// From the first to the last request.
    pub fn covers(&self) -> Duration {
        Duration::from_ns(self.last_ns - self.first_ns)
    }

    /// Oddities of the dates, a sentence each. `written` formats a date for display.
    pub fn doubts(&self, written: &dyn Fn(Instant) -> String) -> Vec<String> {
        const LONG: f64 = 0.25;
        let mut said = Vec::new();
        if let Some(absurd) = self.absurd_ns {
            let first = written(Instant::from_ns(absurd));
            said.push(match self.set_aside {
                1 => format!("1 request is set aside: its date cannot be, {first}. Mend or delete its line."),
                several => format!(
                    "{several} requests are set aside: their dates cannot be, the first is {first}. Mend or delete these lines."
                ),
            });
        }
        if self.first_ns == self.last_ns {
            said.push(
                "All requests have one date: the log says nothing of rates, gaps and think times, and the scenario's are made up."
                    .to_owned(),
            );
        }
        let (silence_s, covers_s) = (self.silence.as_secs_f64(), self.covers().as_secs_f64());
        if silence_s > LONG * covers_s && self.silence.as_ns() > NEAR {
            said.push(format!(
                "Nothing was asked for during {:.0} % of the log, from {} on: rates, gaps and H have that in them. Fit the parts \
                 apart.",
                100.0 * silence_s / covers_s,
                written(Instant::from_ns(self.silence_from_ns))
            ));
        }
        if self.step_back.as_ns() > NEAR {
            said.push(format!(
                "{} lines are earlier than the one before, by up to {:.1} h: if these are several logs, name the oldest first.",
                self.out_of_order,
                self.step_back.as_secs_f64() / 3_600.0
            ));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn hours(count: usize) -> Vec<u64> {
        (0..count as u64).map(|at| (800_000_000 + 60 * at) * SECOND).collect()
    }

    #[test]
    fn one_implausible_date_is_found_wherever_it_stands() {
        for place in [0, 57, 199] {
            for wrong in [0, 4_000_000_000 * SECOND] {
                let mut at = hours(200);
                at[place] = wrong;
                assert_eq!(implausible(&at), [place], "line {place} of {wrong}");
            }
        }
        let mut at = hours(2_000); // a day and more: within it, the date of another hour
        at[600] = at[1_500];
        assert_eq!(implausible(&at), [600]);
    }

    /// A machine that starts without its clock writes some lines of 1970, together and more than once.
    #[test]
    fn some_lines_of_another_century_are_found_together_and_apart() {
        let wrong = |at: &mut Vec<u64>, places: &[usize], from: u64| {
            places.iter().enumerate().for_each(|(i, place)| at[*place] = (from + i as u64) * SECOND);
        };
        for places in [vec![0, 1, 2], vec![57, 58, 59], vec![196, 197, 198, 199], vec![3, 4, 90, 91, 150]] {
            let mut at = hours(200);
            wrong(&mut at, &places, 5);
            assert_eq!(implausible(&at), places);
        }
        let mut at = hours(200);
        wrong(&mut at, &[0, 1], 5);
        wrong(&mut at, &[198, 199], 4_000_000_000);
        assert_eq!(implausible(&at), [0, 1, 198, 199], "before and after");
        // A tenth of the log is no slip: that is said of the silence.
        let mut at = hours(200);
        wrong(&mut at, &(0..20).collect::<Vec<_>>(), 5);
        assert!(implausible(&at).is_empty());
        // Nor is a quiet month before the crowd comes.
        let month: Vec<u64> = (0..9).map(|day| 86_400 * 3 * day * SECOND).collect();
        let crowd = (0..200).map(|at| (86_400 * 30 + 60 * at) * SECOND);
        assert!(
            implausible(&month.into_iter().chain(crowd).collect::<Vec<_>>()).iter().all(|place| *place < 9)
        );
    }

    #[test]
    fn rests_and_joined_logs_are_plausible() {
        let at = hours(200);
        assert!(implausible(&at).is_empty());
        let resting: Vec<u64> =
            at.iter().enumerate().map(|(i, t)| t + if i < 100 { 0 } else { 86_400 * SECOND }).collect();
        assert!(implausible(&resting).is_empty(), "half of the log is after the silence");
        let dates = LogDates::of(&resting);
        assert_eq!(dates.silence, Duration::from_secs(86_460));
        assert!(dates.doubts(&|at| format!("{}", at.as_ns()))[0].contains("88 % of the log"));
        let joined: Vec<u64> = at[100..].iter().chain(&at[..100]).copied().collect();
        assert!(implausible(&joined).is_empty());
        let dates = LogDates::of(&joined);
        assert_eq!((dates.out_of_order, dates.step_back), (1, Duration::from_secs(199 * 60)));
        let said = LogDates::of(&[7 * SECOND; 20]).doubts(&|at| format!("{}", at.as_ns()));
        assert!(said.len() == 1 && said[0].starts_with("All requests have one date"), "{said:?}");
        assert_eq!(implausible(&[0, SECOND, 10_000_000 * SECOND]), [0usize; 0], "too few to judge");
    }
}
