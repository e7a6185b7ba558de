//! Short names of keys and of their values: as much of them as tells them apart.

use farfield_experiment::sweep::{Setting, SweepReport};
use std::collections::BTreeMap;

/// Values of more characters are shortened.
const VALUE_MAX: usize = 12;

/// The keys of a sweep and their values, each with its short name.
pub struct ShortNames {
    keys: BTreeMap<String, String>,
    values: BTreeMap<Setting, String>,
}

impl ShortNames {
    /// The short names of a sweep.
    pub fn of_sweep(report: &SweepReport) -> ShortNames {
        ShortNames::of_settings(report.points.iter().flat_map(|point| &point.settings))
    }

    fn of_settings<'a>(settings: impl Iterator<Item = &'a Setting>) -> ShortNames {
        let mut levels: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Setting { key, value } in settings {
            let own = levels.entry(key).or_default();
            if !own.contains(&value.as_str()) {
                own.push(value);
            }
        }
        let short = |key: &&str| (key.to_string(), short_key(key, &levels).to_owned());
        let keys = levels.keys().map(short).collect();
        let of_key = |(key, values): (&&str, &Vec<&str>)| -> Vec<(Setting, String)> {
            let own = values.iter().map(|value| {
                let setting = Setting { key: key.to_string(), value: value.to_string() };
                (setting, short_value(value, values))
            });
            own.collect()
        };
        ShortNames { keys, values: levels.iter().flat_map(of_key).collect() }
    }

    /// The short name of a key.
    pub fn key<'a>(&'a self, key: &'a str) -> &'a str {
        self.keys.get(key).map_or(key, String::as_str)
    }

    /// The short name of a value.
    pub fn value<'a>(&'a self, setting: &'a Setting) -> &'a str {
        self.values.get(setting).unwrap_or(&setting.value)
    }

    /// Values whose short names leave something out.
    pub fn shortened(&self) -> impl Iterator<Item = (&Setting, &str)> {
        let all = self.values.iter().map(|(setting, short)| (setting, short.as_str()));
        all.filter(|(setting, short)| setting.value != *short)
    }
}

/// The shortest end of a key, in whole parts, that no other key ends with.
fn short_key<'a>(key: &'a str, others: &BTreeMap<&str, Vec<&str>>) -> &'a str {
    let is_alone = |end: &&str| {
        let is_end =
            |other: &str| other.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        !others.keys().any(|other| *other != key && is_end(other))
    };
    let mut ends = key.match_indices('.').map(|(at, _)| &key[at + 1..]);
    ends.rfind(is_alone).unwrap_or(key)
}

/// A long value without the words that all values begin and end with.
fn short_value(value: &str, all: &[&str]) -> String {
    if all.len() < 2 || value.chars().count() <= VALUE_MAX {
        return value.to_owned();
    }
    let common =
        |alike: fn(&str, &str) -> usize| all.iter().map(|other| alike(value, other)).min().unwrap_or(0);
    let begin = common(|one, other| words_alike(one.char_indices(), other.chars()));
    let reversed = |text: &str| -> String { text.chars().rev().collect() };
    let end = common(|one, other| {
        let [one, other]: [String; 2] = [one, other].map(|text| text.chars().rev().collect());
        words_alike(one.char_indices(), other.chars())
    });
    let middle = value.get(begin..).map(reversed).and_then(|rest| rest.get(end..).map(reversed));
    match middle.filter(|middle| !middle.is_empty()) {
        Some(middle) => {
            let dots = |is_cut: bool| if is_cut { "…" } else { "" };
            format!("{}{middle}{}", dots(begin > 0), dots(end > 0))
        }
        None => value.to_owned(),
    }
}

/// Bytes of the whole words that two texts both begin with.
fn words_alike(one: impl Iterator<Item = (usize, char)>, other: impl Iterator<Item = char>) -> usize {
    let alike = one.zip(other).take_while(|((_, one), other)| one == other);
    alike
        .filter(|((_, one), _)| !one.is_alphanumeric())
        .last()
        .map_or(0, |((at, one), _)| at + one.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |(key, value): &(&str, &str)| Setting { key: key.to_string(), value: value.to_string() };
        let settings: Vec<Setting> = settings.iter().map(own).collect();
        let names = ShortNames::of_settings(settings.iter());
        settings
            .iter()
            .map(|setting| (names.key(&setting.key).to_owned(), names.value(setting).to_owned()))
            .collect()
    }

    #[test]
    fn keys_are_as_short_as_they_differ() {
        let keys = ["network.rtt", "load.users", "class.far.rtt", "rtt-max"];
        let found = names(&keys.map(|key| (key, "1")));
        let found: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(found, ["network.rtt", "users", "far.rtt", "rtt-max"]);
    }

    #[test]
    fn long_values_are_cut_to_the_words_that_differ() {
        let values = |values: &[&str]| -> Vec<String> {
            let settings: Vec<(&str, &str)> = values.iter().map(|value| ("k", *value)).collect();
            names(&settings).into_iter().map(|(_, value)| value).collect()
        };
        assert_eq!(
            values(&["nginx -c /etc/x/a0/nginx.conf", "nginx -c /etc/x/a65/nginx.conf"]),
            ["…a0…", "…a65…"]
        );
        assert_eq!(values(&["50ms", "100ms"]), ["50ms", "100ms"]);
        assert_eq!(values(&["a long word of its own", "é"]), ["a long word of its own", "é"]);
        assert_eq!(
            values(&["the same beginning", "the same beginning, and more"])[1],
            "…beginning, and more"
        );
    }
}
