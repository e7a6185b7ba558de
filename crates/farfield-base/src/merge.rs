//! Counts of a part of a run, of a worker or of a shard, that become those of the whole.
//!
//! [`Merge`] is one operation for all of them, and [`mergeable!`](crate::mergeable) defines a struct together
//! with it: each field has one line, which says how it merges, so that none can be forgotten.

use crate::Duration;
use std::collections::BTreeMap;

/// Counts that parts of a run have each on their own.
///
/// Merging counts is associative and commutative: neither the order of the parts nor who merges them matters,
/// and a part that has counted nothing changes nothing. What is no count may depend on the order:
/// [`append`], [`first`] and [`kept`] say which part's it is.
pub trait Merge {
    /// Adds the counts of another part.
    fn merge(&mut self, part: &Self);
}

/// The sum.
impl Merge for u64 {
    fn merge(&mut self, part: &u64) {
        *self += part;
    }
}

/// The sum.
impl Merge for u128 {
    fn merge(&mut self, part: &u128) {
        *self += part;
    }
}

/// The sum.
impl Merge for Duration {
    fn merge(&mut self, part: &Duration) {
        *self = *self + *part;
    }
}

/// The sum, associative but for its rounding.
impl Merge for f64 {
    fn merge(&mut self, part: &f64) {
        *self += part;
    }
}

/// Counts that are made when there is something to count.
impl<T: Merge + Clone> Merge for Option<T> {
    fn merge(&mut self, part: &Option<T>) {
        match (self, part) {
            (Some(whole), Some(part)) => whole.merge(part),
            (whole @ None, Some(part)) => *whole = Some(part.clone()),
            (_, None) => {}
        }
    }
}

impl<T: Merge> Merge for Box<T> {
    fn merge(&mut self, part: &Box<T>) {
        T::merge(self, part);
    }
}

/// Counts by name.
impl<K: Ord + Clone, T: Merge + Clone> Merge for BTreeMap<K, T> {
    fn merge(&mut self, part: &BTreeMap<K, T>) {
        for (name, counts) in part {
            match self.get_mut(name) {
                Some(whole) => whole.merge(counts),
                None => drop(self.insert(name.clone(), counts.clone())),
            }
        }
    }
}

/// Counts of a row of things, by place.
impl<T: Merge + Clone> Merge for Vec<T> {
    fn merge(&mut self, part: &Vec<T>) {
        by_place(self, part);
    }
}

/// Merges counts of a row of things, by place. Either may have counted nothing of the last ones.
pub fn by_place<T: Merge + Clone>(whole: &mut Vec<T>, part: &[T]) {
    let both = whole.len().min(part.len());
    each(&mut whole[..both], &part[..both]);
    whole.extend_from_slice(&part[both..]);
}

/// The rule `each` of [`mergeable!`](crate::mergeable): counts of the same things, by place.
///
/// # Panics
/// If the parts count more things, or fewer.
#[track_caller]
pub fn each<T: Merge>(whole: &mut [T], part: &[T]) {
    assert_eq!(whole.len(), part.len(), "parts of one run count the same things");
    whole.iter_mut().zip(part).for_each(|(whole, part)| whole.merge(part));
}

/// The rule `most` of [`mergeable!`](crate::mergeable): the largest of all parts.
pub fn most<T: PartialOrd + Clone>(whole: &mut T, part: &T) {
    if *part > *whole {
        whole.clone_from(part);
    }
}

/// The rule `same` of [`mergeable!`](crate::mergeable): no count, and equal in all parts of a run.
///
/// # Panics
/// If it is not.
#[track_caller]
pub fn same<T: PartialEq>(whole: &mut T, part: &T) {
    assert!(*whole == *part, "parts of one run share their {}", std::any::type_name::<T>());
}

/// The rule `saturating` of [`mergeable!`](crate::mergeable): the sum, or the largest number if it is larger.
pub fn saturating(whole: &mut u64, part: &u64) {
    *whole = whole.saturating_add(*part);
}

/// The rule `both` of [`mergeable!`](crate::mergeable): counts that a whole has if all of its parts have
/// them.
pub fn both<T: Merge>(whole: &mut Option<T>, part: &Option<T>) {
    if let (Some(whole), Some(part)) = (whole.as_mut(), part) {
        whole.merge(part);
    } else {
        *whole = None;
    }
}

/// The rule `or` of [`mergeable!`](crate::mergeable): true if it is true of a part.
pub fn or(whole: &mut bool, part: &bool) {
    *whole |= *part;
}

/// The rule `and` of [`mergeable!`](crate::mergeable): true if it is true of all parts.
pub fn and(whole: &mut bool, part: &bool) {
    *whole &= *part;
}

/// The rule `agreed` of [`mergeable!`](crate::mergeable): no count; that of all parts, if they have the same.
pub fn agreed<T: PartialEq>(whole: &mut Option<T>, part: &Option<T>) {
    if whole != part {
        *whole = None;
    }
}

/// The rule `append` of [`mergeable!`](crate::mergeable): rows of different things, part after part.
pub fn append<T: Clone>(whole: &mut Vec<T>, part: &[T]) {
    whole.extend_from_slice(part);
}

/// The rule `first` of [`mergeable!`](crate::mergeable): no count; that of the first part that has one.
pub fn first<T: Clone>(whole: &mut Option<T>, part: &Option<T>) {
    if whole.is_none() {
        whole.clone_from(part);
    }
}

/// The rule `kept` of [`mergeable!`](crate::mergeable): no count; that of the first part, whatever the others
/// have. It is for what parts have in common and for what no sum is meant of.
pub fn kept<T>(_whole: &mut T, _part: &T) {}

/// Defines a struct of counts that is [merged](crate::Merge) field by field: each as its type is, or by the
/// rule behind the arrow, a function of [`merge`](crate::merge) or, with its path, one of the caller's own.
///
/// ```
/// farfield_base::mergeable! {
///     /// Visits of a shop.
///     #[derive(Debug, Default, PartialEq)]
///     pub struct Visits {
///         /// Visits.
///         pub begun: u64,
///         /// The most goods that one of them bought.
///         pub bought_most: u32 => most,
///     }
/// }
/// use farfield_base::Merge;
///
/// let mut whole = Visits { begun: 2, bought_most: 7 };
/// whole.merge(&Visits { begun: 3, bought_most: 4 });
/// assert_eq!(whole, Visits { begun: 5, bought_most: 7 });
/// ```
#[macro_export]
macro_rules! mergeable {
    (
        $(#[$of_all:meta])*
        $vis:vis struct $name:ident {
            $($(#[$of_one:meta])* $field_vis:vis $field:ident: $type:ty $(=> $($rule:ident)::+)?,)*
        }
    ) => {
        $(#[$of_all])*
        $vis struct $name {
            $($(#[$of_one])* $field_vis $field: $type,)*
        }

        impl $crate::Merge for $name {
            fn merge(&mut self, part: &Self) {
                $($crate::mergeable!(@merge $($($rule)::+)? (&mut self.$field, &part.$field));)*
            }
        }
    };
    (@merge ($whole:expr, $part:expr)) => { $crate::Merge::merge($whole, $part) };
    (@merge $rule:ident ($whole:expr, $part:expr)) => { $crate::merge::$rule($whole, $part) };
    (@merge $of:ident :: $($rule:ident)::+ ($whole:expr, $part:expr)) => { $of::$($rule)::+($whole, $part) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlternativeCounts, Instant, LoadCounts, Tenths};
    use proptest::prelude::*;

    mergeable! {
        /// A field of each type and rule.
        #[derive(Debug, Clone, Default, PartialEq)]
        struct AllRules {
            number: u64,
            large: u128,
            time: Duration,
            tenths: Tenths,
            seldom: Option<Box<LoadCounts>>,
            row: Vec<u64>,
            named: BTreeMap<u64, u64>,
            fixed: [u64; 2] => each,
            longest: Option<Duration> => most,
            name: &'static str => same,
        }
    }

    fn any_part() -> impl Strategy<Value = AllRules> {
        let row = prop::collection::vec(1..9_u64, 0..4);
        (0..100_u64, any::<bool>(), row).prop_map(|(number, seldom, row)| {
            let time = Duration::from_ms(number);
            let mut tenths = Tenths::default();
            tenths.add(Instant::from_ns(number * 100_000_000));
            let load = LoadCounts {
                begun: number,
                given_up: Some(time),
                alternatives: AlternativeCounts { tried: 2 * number, ..AlternativeCounts::default() },
                ..LoadCounts::default()
            };
            AllRules {
                number,
                large: u128::from(number) << 70,
                time,
                tenths,
                seldom: seldom.then(|| Box::new(load)),
                named: row.iter().map(|name| (*name, number)).collect(),
                row,
                fixed: [number, 1],
                longest: seldom.then_some(time),
                name: "",
            }
        })
    }

    fn merged(whole: &AllRules, part: &AllRules) -> AllRules {
        let mut whole = whole.clone();
        whole.merge(part);
        whole
    }

    proptest! {
        #[test]
        fn order_and_grouping_of_parts_do_not_matter(a in any_part(), b in any_part(), c in any_part()) {
            prop_assert_eq!(merged(&a, &b), merged(&b, &a));
            prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
            prop_assert_eq!(merged(&a, &AllRules::default()), a.clone());
            let sum = merged(&merged(&a, &b), &c);
            prop_assert_eq!((sum.number, sum.fixed), (a.number + b.number + c.number, [sum.number, 3]));
            let rows = [&a.row, &b.row, &c.row].map(|row| row.iter().sum::<u64>());
            prop_assert_eq!(sum.row.iter().sum::<u64>(), rows.iter().sum::<u64>());
            prop_assert_eq!(sum.longest, a.longest.max(b.longest).max(c.longest));
        }
    }

    mergeable! {
        /// A field of each rule that is no sum.
        #[derive(Debug, Clone, PartialEq)]
        struct OtherRules {
            bounded: u64 => saturating,
            known: Option<f64> => both,
            of_one: bool => or,
            of_all: bool => and,
            place: Option<&'static str> => agreed,
            rows: Vec<u64> => append,
            reason: Option<&'static str> => first,
            machine: &'static str => kept,
            own: Vec<u64> => OtherRules::largest,
        }
    }

    impl OtherRules {
        fn largest(whole: &mut Vec<u64>, part: &[u64]) {
            let largest = whole.iter().chain(part).max().copied();
            *whole = largest.into_iter().collect();
        }
    }

    #[test]
    fn what_is_no_sum_merges_by_its_rule() {
        let one = OtherRules {
            bounded: u64::MAX - 1,
            known: Some(1.5),
            of_one: false,
            of_all: true,
            place: Some("a"),
            rows: vec![2, 1],
            reason: None,
            machine: "one",
            own: vec![4],
        };
        let other = OtherRules {
            bounded: 2,
            known: Some(2.0),
            of_one: true,
            of_all: false,
            place: Some("a"),
            rows: vec![1],
            reason: Some("full"),
            machine: "other",
            own: vec![7, 3],
        };
        let mut whole = one.clone();
        whole.merge(&other);
        let expected = OtherRules {
            bounded: u64::MAX,
            known: Some(3.5),
            of_one: true,
            of_all: false,
            place: Some("a"),
            rows: vec![2, 1, 1],
            reason: Some("full"),
            machine: "one",
            own: vec![7],
        };
        assert_eq!(whole, expected);
        whole.merge(&OtherRules { known: None, place: None, reason: Some("late"), ..one });
        assert_eq!((whole.known, whole.place, whole.reason), (None, None, Some("full")));
    }

    #[test]
    #[should_panic = "parts of one run share their &str"]
    fn parts_of_other_runs_are_refused() {
        merged(&AllRules { name: "other", ..AllRules::default() }, &AllRules::default());
    }
}
