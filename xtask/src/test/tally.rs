//! Output of test runners, counted: tests that passed, failed and were skipped, and the names of the failed.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// The counts that test runners close with, summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

/// Results of running tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ran {
    pub tally: Tally,
    /// The names of those that failed.
    pub failed: Vec<String>,
    /// Test programs that began and did not close with their counts: they crashed.
    pub crashed: i64,
    /// All commands reported success.
    pub all_well: bool,
    /// Processor time of the commands.
    pub processor_time: Duration,
}

impl Ran {
    /// More than these fail for a reason of their own.
    const FEW: usize = 6;

    /// The results of a command that printed `text` and ended well or not.
    pub fn read(text: &[u8], is_well: bool) -> Ran {
        let mut ran = Ran { all_well: is_well, ..Ran::default() };
        String::from_utf8_lossy(text).lines().for_each(|line| ran.add(line));
        ran
    }

    /// True if all that went wrong is a few tests whose names are known. A name such as
    /// `src/lib.rs - f (line 3)` is of an example in a document, which has no machine to blame.
    pub fn may_run_again(&self) -> bool {
        (1..=Ran::FEW).contains(&self.failed.len())
            && !self.failed.iter().any(|name| name.contains(" - "))
            && self.failed.len() as u64 == self.tally.failed
            && self.crashed == 0
    }

    /// Counts those that failed as passed, and returns their names.
    pub fn pass(&mut self) -> Vec<String> {
        self.tally.passed += std::mem::take(&mut self.tally.failed);
        self.all_well = true;
        std::mem::take(&mut self.failed)
    }

    /// Adds what came of other tests.
    pub fn join(&mut self, other: Ran) {
        self.tally.passed += other.tally.passed;
        self.tally.failed += other.tally.failed;
        self.tally.skipped += other.tally.skipped;
        self.failed.extend(other.failed);
        self.crashed += other.crashed;
        self.all_well &= other.all_well;
        self.processor_time += other.processor_time;
    }

    fn add(&mut self, line: &str) {
        self.tally.add(line);
        match line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            Some(name) => self.failed.push(name.to_owned()),
            None if line.starts_with("running ") && line.ends_with(['t', 's']) => self.crashed += 1,
            None if line.starts_with("test result: ") => self.crashed -= 1,
            None => {}
        }
    }
}

impl Tally {
    /// Adds a runner's closing line, `test result: ok. 5 passed; 0 failed; 1 ignored; …`; leaves others.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Tests that passed because they could not run are not passed but skipped.
    pub fn note_skipped(&mut self, count: u64) {
        self.passed = self.passed.saturating_sub(count);
        self.skipped += count;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The lines of the skips file, each once, in order.
pub fn skipped(text: &str) -> BTreeSet<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_the_closing_lines_and_nothing_else() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.01s",
            "test result_of_parsing ... ok",
            "test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 7, failed: 2, skipped: 1 });
        assert_eq!(tally.to_string(), "7 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn a_skipped_test_did_not_pass() {
        let lines = skipped("b: no tshark\n\na: no nginx\nb: no tshark\n");
        assert_eq!(lines.iter().map(String::as_str).collect::<Vec<_>>(), ["a: no nginx", "b: no tshark"]);
        let mut tally = Tally { passed: 5, failed: 0, skipped: 1 };
        tally.note_skipped(lines.len() as u64);
        assert_eq!(tally, Tally { passed: 3, failed: 0, skipped: 3 });
    }

    /// Results of tests that failed and printed these lines.
    fn printed(lines: &[&str]) -> Ran {
        Ran::read(lines.join("\n").as_bytes(), false)
    }

    #[test]
    fn a_few_that_failed_may_run_again() {
        let closed = "test result: FAILED. 1 passed; 1 failed; 0 ignored";
        let begun = ["running 2 tests", "test a ... FAILED", "test b::c ... ok"];
        let mut ran = printed(&[&begun[..], &[closed]].concat());
        assert_eq!((ran.tally, ran.all_well), (Tally { passed: 1, failed: 1, skipped: 0 }, false));
        assert!(ran.may_run_again());
        assert_eq!(ran.pass(), ["a"]);
        assert_eq!((ran.tally, ran.all_well), (Tally { passed: 2, failed: 0, skipped: 0 }, true));
        // A program that crashed names nobody.
        assert!(!printed(&[&begun[..], &begun[..], &[closed]].concat()).may_run_again());
        assert!(!printed(&["running 1 test"]).may_run_again());
        // An example in a document.
        let ended = "test result: FAILED. 0 passed; 1 failed; 0 ignored";
        let example = ["running 1 test", "test src/lib.rs - f (line 3) ... FAILED", ended];
        assert!(!printed(&example).may_run_again());
        // Many, and none.
        let many: Vec<String> = (0..7).map(|number| format!("test {number} ... FAILED")).collect();
        let mut lines = vec!["running 7 tests"];
        lines.extend(many.iter().map(String::as_str));
        lines.push("test result: FAILED. 0 passed; 7 failed; 0 ignored");
        assert!(!printed(&lines).may_run_again());
        assert!(!printed(&["running 0 tests", "test result: ok. 0 passed"]).may_run_again());
    }

    #[test]
    fn what_programs_found_is_joined() {
        let mut all = Ran { all_well: true, ..Ran::default() };
        all.join(Ran::read(b"running 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed", true));
        assert!(all.all_well && !all.may_run_again());
        all.join(Ran::read(b"running 1 test\ntest b ... FAILED\ntest result: F. 0 passed; 1 failed", false));
        assert_eq!((all.tally, all.all_well), (Tally { passed: 1, failed: 1, skipped: 0 }, false));
        assert!(all.may_run_again());
    }
}
