//! A part of a run that several processes make together, as people type it: `2/3`, or `3..5/16` by weight.
//!
//! The users of a run, its arrivals, descriptors, clients and connections are numbered over the whole run. A
//! run of M parts deals them out by these numbers in M units: number n is of unit n mod M. A part has one
//! unit or several that follow each other, and its workers deal theirs out among themselves in the same way,
//! so that every worker of every part has the numbers that leave one remainder, however many workers each
//! part has.

use crate::quantity::{QuantityError, quantity_serde};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Units of a run that one process makes: `first` to `first + count - 1` of `of`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    first: u32,
    count: u32,
    of: u32,
}

const EXPECTED: &str =
    "write a part of a run such as `2/3`, the second of three, or `3..5/16`, three of sixteen shares";

impl Part {
    /// The whole run, in one process.
    pub const WHOLE: Part = Part { first: 0, count: 1, of: 1 };
    /// The most units of a run.
    pub const UNITS_MAX: u32 = 4_096;

    /// Part `number` of `of` equal ones, from 1.
    pub fn new(number: u32, of: u32) -> Result<Part, QuantityError> {
        Part::units(number, number, of)
    }

    /// The units `from` to `to` of `of`, from 1, both included.
    pub fn units(from: u32, to: u32, of: u32) -> Result<Part, QuantityError> {
        if (1..=to).contains(&from) && to <= of && of <= Part::UNITS_MAX {
            return Ok(Part { first: from - 1, count: to - from + 1, of });
        }
        let given = if from == to { format!("{from}/{of}") } else { format!("{from}..{to}/{of}") };
        Err(QuantityError::Range { given, expected: EXPECTED })
    }

    /// True if there are no other parts.
    pub fn is_whole(self) -> bool {
        self.count == self.of
    }

    /// True if the part has the first unit of the run.
    pub fn is_first(self) -> bool {
        self.first == 0
    }

    /// The units of the whole run.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Units of the part, from 0.
    pub fn own(self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }

    /// The share of the run that the part makes, above 0 and up to 1.
    pub fn share(self) -> f64 {
        f64::from(self.count) / f64::from(self.of)
    }

    /// The most of `total` things, dealt out one by one, that the part has.
    pub fn most_of(self, total: u64) -> u64 {
        let all = u128::from(total) * u128::from(self.count);
        all.div_ceil(u128::from(self.of)).min(u64::MAX.into()) as u64
    }

    /// The number of things of the whole run of which the part has `own`, or a little more.
    pub fn whole_of(self, own: u32) -> u32 {
        let all = u64::from(own) * u64::from(self.of) / u64::from(self.count);
        all.min(u32::MAX.into()) as u32
    }

    /// The workers of a part for which `asked` were asked for: as many for each unit, one at least.
    pub fn workers(self, asked: NonZeroU32) -> NonZeroU32 {
        let each = (asked.get() / self.count).max(1);
        NonZeroU32::new(each * self.count).unwrap_or(asked)
    }

    /// The number of worker `worker` of the part's `workers`, and the number of all, as if each part had as
    /// many for each unit.
    ///
    /// # Panics
    /// If the workers are no [number that the part has](Part::workers).
    pub fn worker(self, worker: u32, workers: u32) -> (u32, u32) {
        assert!(workers.is_multiple_of(self.count), "{workers} workers for {} units", self.count);
        let (unit, place) = (self.first + worker % self.count, worker / self.count);
        (unit + self.of * place, self.of * (workers / self.count))
    }

    /// The worker of this part whose number among all is `number`; `None` if it is of another part.
    pub fn own_worker(self, number: u32) -> Option<u32> {
        let unit = (number % self.of).checked_sub(self.first).filter(|unit| *unit < self.count)?;
        Some(number / self.of * self.count + unit)
    }
}

impl Default for Part {
    fn default() -> Part {
        Part::WHOLE
    }
}

impl FromStr for Part {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Part, QuantityError> {
        let given = || text.to_owned();
        let wrong = || match text.starts_with(|c: char| c.is_ascii_digit()) {
            true => QuantityError::Range { given: given(), expected: EXPECTED },
            false => QuantityError::NoNumber { given: given(), expected: EXPECTED },
        };
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let (own, of) = text.split_once('/').ok_or_else(wrong)?;
        match own.split_once("..") {
            Some((from, to)) => Part::units(number(from)?, number(to.trim_start_matches('='))?, number(of)?),
            None => Part::new(number(own)?, number(of)?),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Part { first, count, of } = *self;
        match count {
            1 => write!(f, "{}/{of}", first + 1),
            _ => write!(f, "{}..{}/{of}", first + 1, first + count),
        }
    }
}

quantity_serde!(Part, "a part of a run such as \"2/3\"", |number| Err(QuantityError::NoNumber {
    given: number.to_string(),
    expected: EXPECTED
}));

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> Part {
        text.parse().unwrap()
    }

    #[test]
    fn parts_are_read_as_people_type_them() {
        for text in ["1/1", "2/3", "3..5/16"] {
            assert_eq!(part(text).to_string(), text);
        }
        assert_eq!(part("3..=5/16"), part("3..5/16"));
        assert_eq!(part("1..3/3"), part("1..3/3"));
        assert!(part("1..3/3").is_whole() && !part("2/3").is_whole() && part("1/3").is_first());
        for wrong in ["", "2", "0/3", "4/3", "5..3/16", "1/0", "1/5000", "a/b", "1.5/3", "-1/3", "1..17/16"] {
            let error = wrong.parse::<Part>().unwrap_err().to_string();
            assert!(error.contains("`2/3`"), "{wrong}: {error}");
        }
    }

    #[test]
    fn things_of_a_part_and_of_the_whole() {
        for (text, total, most) in [("1/1", 10, 10), ("2/3", 10, 4), ("3..5/16", 16, 3), ("3..5/16", 17, 4)] {
            assert_eq!(part(text).most_of(total), most, "{text} of {total}");
        }
        assert_eq!(part("1/2").most_of(u64::MAX), u64::MAX / 2 + 1);
        assert_eq!((part("2/3").whole_of(1_000), part("3..5/16").whole_of(3)), (3_000, 16));
        assert_eq!(part("1/4096").whole_of(u32::MAX), u32::MAX);
    }

    #[test]
    fn each_number_is_one_workers_whatever_workers_each_part_has() {
        let divisions: [&[(&str, u32)]; 4] = [
            &[("1/1", 4)],
            &[("1/2", 3), ("2/2", 1)],
            &[("1/7", 1), ("2..4/7", 4), ("5/7", 2), ("6..7/7", 1)],
            &[("1..16/16", 2)],
        ];
        for parts in divisions {
            let workers: Vec<(u32, u32)> = parts
                .iter()
                .flat_map(|(text, asked)| {
                    let part = part(text);
                    let workers = part.workers(NonZeroU32::new(*asked).unwrap()).get();
                    (0..workers).map(move |worker| part.worker(worker, workers))
                })
                .collect();
            for n in 0..1_000_u32 {
                let owners = workers.iter().filter(|(number, all)| n % all == *number).count();
                assert_eq!(owners, 1, "{parts:?}: {n}");
            }
        }
    }

    #[test]
    fn workers_are_known_by_their_numbers() {
        for (text, workers) in [("1/1", 5), ("2/3", 4), ("2..4/7", 6), ("16/16", 1)] {
            let part = part(text);
            let numbers: Vec<(u32, u32)> = (0..workers).map(|worker| part.worker(worker, workers)).collect();
            let all = numbers[0].1;
            for number in 0..all {
                let place = numbers.iter().position(|(own, _)| *own == number);
                assert_eq!(part.own_worker(number), place.map(|place| place as u32), "{text} {number}");
            }
        }
    }
}
