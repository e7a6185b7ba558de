//! Checks of a reply that are being collected, and how a state has them.

use crate::state::DraftState;
use crate::text::{key, quoted, quoted_list};

/// Checks of a reply at most.
const CHECKS_MAX: usize = 300;

/// Checks of one reply. Texts are templates.
#[derive(Debug, Default)]
pub struct Checks {
    status: Vec<String>,
    contains: Vec<String>,
    lacks: Vec<String>,
    regex: Vec<String>,
    header: Vec<(String, Option<String>)>,
    json: Vec<(String, Option<String>)>,
}

impl Checks {
    /// The statuses that are well, such as `200` or `2xx`; false if there are others already, of which a
    /// reply could not have both.
    pub fn status(&mut self, statuses: Vec<String>) -> bool {
        let is_free = self.status.is_empty() || self.status == statuses;
        if is_free {
            self.status = statuses;
        }
        is_free
    }

    /// True if there are as many as a state may have: a stranger's list is looked through for each.
    pub fn is_full(&self) -> bool {
        let texts = [&self.contains, &self.lacks, &self.regex].map(Vec::len);
        texts.iter().sum::<usize>() + self.header.len() + self.json.len() > CHECKS_MAX
    }

    /// True if statuses are written.
    pub fn has_status(&self) -> bool {
        !self.status.is_empty()
    }

    /// A text that the body has, or has not.
    pub fn text(&mut self, text: String, is_there: bool) {
        let list = if is_there { &mut self.contains } else { &mut self.lacks };
        if !list.contains(&text) {
            list.push(text);
        }
    }

    /// An expression that the body matches; false if farfield has no such expression.
    pub fn regex(&mut self, pattern: String) -> bool {
        let known = is_sound("regex", &quoted_list([pattern.as_str()]));
        if known && !self.regex.contains(&pattern) {
            self.regex.push(pattern);
        }
        known
    }

    /// A header field that is there, with this value where one is wanted; false if there can be none.
    pub fn header(&mut self, name: &str, value: Option<String>) -> bool {
        let known = name.parse::<http::HeaderName>().is_ok();
        if known {
            set(&mut self.header, name.to_ascii_lowercase(), value);
        }
        known
    }

    /// A value at a JSON pointer, with this text where one is wanted; false if there can be none.
    pub fn json(&mut self, pointer: &str, value: Option<String>) -> bool {
        let known = is_sound("json", &quoted_list([pointer]));
        if known {
            set(&mut self.json, pointer.to_owned(), value);
        }
        known
    }

    /// Writes the checks into the state.
    pub fn write(self, state: &mut DraftState) {
        let list = |texts: &[String]| quoted_list(texts.iter().map(String::as_str));
        if !self.status.is_empty() {
            let is_number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
            let written =
                self.status.iter().map(|own| if is_number(own) { own.clone() } else { quoted(own) });
            state.check.push(("status", format!("[{}]", written.collect::<Vec<_>>().join(", "))));
        }
        for (name, texts) in [("contains", &self.contains), ("lacks", &self.lacks), ("regex", &self.regex)] {
            if !texts.is_empty() {
                state.check.push((name, list(texts)));
            }
        }
        for (name, values) in [("header", &self.header), ("json", &self.json)] {
            if !values.is_empty() {
                let value =
                    |wanted: &Option<String>| wanted.as_ref().map_or("true".to_owned(), |own| quoted(own));
                let values = values.iter().map(|(own, wanted)| format!("{} = {}", key(own), value(wanted)));
                state.check.push((name, format!("{{ {} }}", values.collect::<Vec<_>>().join(", "))));
            }
        }
    }
}

/// A value that is wanted stands in place of the presence alone.
fn set(list: &mut Vec<(String, Option<String>)>, name: String, value: Option<String>) {
    match list.iter_mut().find(|(own, _)| *own == name) {
        Some((_, known)) if value.is_some() => *known = value,
        Some(_) => {}
        None => list.push((name, value)),
    }
}

/// True if a scenario may have this check.
fn is_sound(name: &'static str, value: &str) -> bool {
    let mut state = DraftState::new("a".to_owned(), "GET", "/");
    state.check.push((name, value.to_owned()));
    state.problem().is_none()
}

/// True if a scenario may have this extraction, which is TOML.
pub fn is_sound_extraction(value: &str) -> bool {
    let mut state = DraftState::new("a".to_owned(), "GET", "/");
    state.extract.push(("a".to_owned(), value.to_owned()));
    state.problem().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_those_of_a_scenario() {
        let mut checks = Checks::default();
        assert!(checks.status(vec!["200".into(), "3xx".into()]) && !checks.status(vec!["404".into()]));
        checks.text("a\"b".into(), true);
        checks.text("a\"b".into(), true);
        checks.text("c".into(), false);
        assert!(checks.regex(r"x\d".into()) && !checks.regex("(?<=a)b".into()));
        assert!(checks.header("X-A", None) && checks.header("x-a", Some("1".into())));
        assert!(!checks.header("no name", None) && !checks.json("no pointer", None));
        assert!(checks.json("/a/0", Some("v".into())) && checks.json("/b", None));
        let mut state = DraftState::new("a".into(), "GET", "/");
        checks.write(&mut state);
        assert_eq!(state.problem(), None);
        let text = state.toml();
        for line in [
            "check.status = [200, \"3xx\"]",
            "check.lacks = [\"c\"]",
            "check.header = { x-a = \"1\" }",
            "check.json = { \"/a/0\" = \"v\", \"/b\" = true }",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(text.matches("a\"b").count() + text.matches("a\\\"b").count(), 1, "{text}");
    }
}
