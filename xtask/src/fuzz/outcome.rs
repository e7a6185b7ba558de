//! The outcome of a target, read from libFuzzer's words.

use super::found::Found;

/// libFuzzer's status where its time or its inputs are over.
const DONE: i32 = 0;
/// Lines of the program's last words that are shown.
const LAST_LINES: usize = 30;

/// Outcome of fuzzing a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Inputs that were tried, and tried a second.
    inputs: u64,
    inputs_per_s: u64,
    /// Edges of the program that some input has reached, and inputs that are needed for them.
    edges: u64,
    corpus: u64,
    /// Inputs that were kept and had not been.
    kept: u64,
    /// Megabytes of memory, at most.
    memory_mb: u64,
    /// Inputs that ended the run.
    pub found: Vec<Found>,
    status: i32,
    /// The end of what the program wrote.
    pub last_words: String,
}

impl Outcome {
    /// The heading of the table.
    pub const HEADING: &str = "target                 inputs  inputs/s   edges  corpus     new   MB  bad";

    /// Reads what libFuzzer wrote before it ended with `status`.
    pub fn read(text: &str, status: i32, found: Vec<Found>) -> Outcome {
        let stat = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            value.and_then(|value| value.trim_start_matches(':').trim().parse().ok())
        };
        // `#4194304 pulse  cov: 522 ft: 2073 corp: 323/15Kb lim: 4096 exec/s: 127100 rss: 465Mb`
        let progress = |key: &str| {
            let lines = text.lines().rev().filter(|line| line.starts_with('#'));
            let mut values = lines.filter_map(|line| line.split_once(key).map(|(_, rest)| rest.trim_start()));
            let digits = values.next()?.split(|char: char| !char.is_ascii_digit()).next()?;
            digits.parse().ok()
        };
        let lines: Vec<&str> = text.lines().collect();
        Outcome {
            inputs: stat("number_of_executed_units").unwrap_or_default(),
            inputs_per_s: stat("average_exec_per_sec").unwrap_or_default(),
            edges: progress(" cov:").unwrap_or_default(),
            corpus: progress(" corp:").unwrap_or_default(),
            kept: 0,
            memory_mb: stat("peak_rss_mb").unwrap_or_default(),
            found,
            status,
            last_words: lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"),
        }
    }

    /// With so many inputs that were kept and had not been.
    pub fn with_kept(self, kept: u64) -> Outcome {
        Outcome { kept, ..self }
    }

    /// True if the program failed without naming an input.
    pub fn ended_badly(&self) -> bool {
        self.status != DONE && self.found.is_empty()
    }

    /// The row of the table for target `name`.
    pub fn row(&self, name: &str) -> String {
        let Outcome { inputs, inputs_per_s, edges, corpus, kept, memory_mb, .. } = self;
        let bad = match (self.found.first(), self.ended_badly()) {
            (Some(found), _) => found.did.to_owned(),
            (None, true) => format!("status {}", self.status),
            (None, false) => "-".to_owned(),
        };
        format!(
            "{name:<18} {inputs:>10} {inputs_per_s:>9} {edges:>7} {corpus:>7} {kept:>7} {memory_mb:>4}  {bad}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "INFO: Running with entropic power schedule (0xFF, 100).
#2\tINITED cov: 31 ft: 32 corp: 1/1b exec/s: 0 rss: 44Mb
#65536\tpulse  cov: 522 ft: 2073 corp: 323/15Kb lim: 4096 exec/s: 32768 rss: 465Mb
#89900\tDONE   cov: 524 ft: 2080 corp: 330/16Kb lim: 4096 exec/s: 29966 rss: 470Mb
Done 89900 runs in 3 second(s)
stat::number_of_executed_units: 89900
stat::average_exec_per_sec:     29966
stat::new_units_added:          41
stat::slowest_unit_time_sec:    0
stat::peak_rss_mb:              471
";

    #[test]
    fn figures_are_libfuzzers() {
        let outcome = Outcome::read(SAID, 0, Vec::new()).with_kept(7);
        let row = "net_trace               89900     29966     524     330       7  471  -";
        assert_eq!(outcome.row("net_trace"), row);
        assert!(!outcome.ended_badly());
        // Columns end where their headings do.
        for word in ["inputs/s", "edges", "corpus", "new", "MB"] {
            let end = Outcome::HEADING.find(word).unwrap() + word.len();
            assert!(row[..end].ends_with(|char: char| char.is_ascii_digit()), "{word}");
            assert_eq!(&row[end..=end], " ", "{word}");
        }
    }

    #[test]
    fn a_run_that_an_input_ended_says_what_it_did() {
        let said = "#12\tNEW    cov: 9 ft: 9 corp: 2/2b\nthread panicked at 'x'\nstat::number_of_executed_units: 13\n";
        let found = Found { did: "crash", place: "fuzz/corpus/net_trace/found-crash-1".into() };
        let outcome = Outcome::read(said, 77, vec![found]);
        assert!(outcome.row("net_trace").ends_with("  crash") && !outcome.ended_badly());
        assert_eq!((outcome.inputs, outcome.edges), (13, 9));
        // Without an input: the program was killed, or did not start.
        let outcome = Outcome::read("error while loading\n", 127, Vec::new());
        assert!(outcome.ended_badly() && outcome.row("x").ends_with("  status 127"));
        assert_eq!(outcome.last_words, "error while loading");
    }
}
