//! Short names of keys: as many of their last parts as tell them apart.

use std::collections::BTreeMap;

/// The keys of a sweep, each with its short name.
pub struct ShortNames(BTreeMap<String, String>);

impl ShortNames {
    /// Of these keys.
    pub fn of_keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> ShortNames {
        let keys: Vec<&str> = keys.into_iter().collect();
        let is_alone = |short: &str, key: &str| {
            let ends_alike = |other: &&&str| **other != key && is_end(short, other);
            !keys.iter().any(|other| ends_alike(&other))
        };
        let short = |key: &str| {
            let ends = key.match_indices('.').map(|(at, _)| &key[at + 1..]);
            let shortest = ends.filter(|end| is_alone(end, key)).last();
            (key.to_owned(), shortest.unwrap_or(key).to_owned())
        };
        ShortNames(keys.iter().map(|key| short(key)).collect())
    }

    /// The short name of a key.
    pub fn of<'a>(&'a self, key: &'a str) -> &'a str {
        self.0.get(key).map_or(key, String::as_str)
    }
}

/// Whether a key ends with these parts.
fn is_end(end: &str, key: &str) -> bool {
    key == end || key.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_short_as_they_differ() {
        let keys = ["network.rtt", "load.users", "class.far.rtt", "rtt-max"];
        let names = ShortNames::of_keys(keys);
        assert_eq!(keys.map(|key| names.of(key)), ["network.rtt", "users", "far.rtt", "rtt-max"]);
        assert_eq!(names.of("unknown.key"), "unknown.key");
    }
}
