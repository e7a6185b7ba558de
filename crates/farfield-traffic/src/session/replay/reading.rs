//! Account of a reader on somebody's recording, by reason: nothing is left out, or asked for otherwise than
//! it was recorded, in silence.

use std::fmt::{Display, Write};

/// Characters of the first example of a reason.
const EXAMPLE_CHARS: usize = 100;

/// An account of a recording: what was taken and what was left out together are all that it has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReplayAccount {
    /// Entries that are asked for again.
    pub taken: u64,
    /// Entries that are not, by reason, in the order of the first of each.
    pub left_out: Vec<Remark>,
    /// Entries that are asked for otherwise than they were recorded, by what differs.
    pub differing: Vec<Remark>,
}

/// Entries of which one thing is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remark {
    /// Remark in words that follow the number of entries: "of another server".
    pub what: &'static str,
    /// Number of entries.
    pub count: u64,
    /// The first of them, with its place in the file.
    pub first: String,
}

impl ReplayAccount {
    /// Counts an entry that is not asked for, which `place` names.
    pub fn leave_out(&mut self, what: &'static str, place: impl Display) {
        note(&mut self.left_out, what, 1, place);
    }

    /// Counts several alike.
    pub fn leave_out_all(&mut self, what: &'static str, count: u64, first: impl Display) {
        if count > 0 {
            note(&mut self.left_out, what, count, first);
        }
    }

    /// Counts an entry that is asked for, but otherwise than it was.
    pub fn differs(&mut self, what: &'static str, place: impl Display) {
        note(&mut self.differing, what, 1, place);
    }

    /// Counts what another account says of entries that are asked for otherwise.
    pub fn differs_as(&mut self, other: &ReplayAccount) {
        for Remark { what, count, first } in &other.differing {
            note(&mut self.differing, what, *count, first);
        }
    }

    /// All entries that the recording has.
    pub fn entries(&self) -> u64 {
        self.taken + left_out(&self.left_out)
    }

    /// Number of entries that were left out.
    pub fn left_out(&self) -> u64 {
        left_out(&self.left_out)
    }

    /// The account in sentences, for the reader of a result; none where all was taken as it is.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings_of("are asked for otherwise than they were recorded")
    }

    /// The account in sentences, of which the second says so of what differs.
    pub fn warnings_of(&self, differing: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.left_out.is_empty() {
            let (count, all) = (self.left_out(), self.entries());
            warnings.push(format!("{count} of {all} entries are left out: {}", listed(&self.left_out)));
        }
        if !self.differing.is_empty() {
            warnings.push(format!(
                "of {} entries some {differing}: {}",
                self.entries(),
                listed(&self.differing)
            ));
        }
        warnings
    }
}

fn left_out(remarks: &[Remark]) -> u64 {
    remarks.iter().map(|remark| remark.count).sum()
}

fn note(remarks: &mut Vec<Remark>, what: &'static str, count: u64, place: impl Display) {
    match remarks.iter_mut().find(|remark| remark.what == what) {
        Some(remark) => remark.count += count,
        None => remarks.push(Remark { what, count, first: shortened(&place.to_string()) }),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(EXAMPLE_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn listed(remarks: &[Remark]) -> String {
    let mut text = String::new();
    for (place, Remark { what, count, first }) in remarks.iter().enumerate() {
        let between = if place > 0 { "; " } else { "" };
        // Writing into text does not fail.
        let _ = write!(text, "{between}{count} {what} (first: {first})");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_entries_are_accounted_for_by_reason() {
        let mut reading = ReplayAccount::default();
        assert_eq!((reading.entries(), reading.warnings()), (0, Vec::new()));
        reading.taken = 2;
        reading.leave_out("of another server", "entry 1, http://a/");
        reading.leave_out("without an instant", "entry 2, http://b/");
        reading.leave_out("of another server", "entry 5, http://c/");
        reading.leave_out_all("that are no lines", 0, "line 1");
        reading.differs("without the body that it had", "x".repeat(500));
        assert_eq!((reading.entries(), reading.left_out()), (5, 3));
        let warnings = reading.warnings();
        assert_eq!(
            warnings[0],
            "3 of 5 entries are left out: 2 of another server (first: entry 1, http://a/); 1 without an instant \
             (first: entry 2, http://b/)"
        );
        assert!(warnings[1].ends_with(&format!("(first: {}…)", "x".repeat(EXAMPLE_CHARS))), "{warnings:?}");
    }
}
