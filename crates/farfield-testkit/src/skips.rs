//! Tests that cannot run on this machine: recorded, so that `cargo xtask test` counts them apart from those that passed.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;

/// Reports that `test` is skipped: on standard error, and as a line of the file that `FARFIELD_SKIPS` names. The test then
/// returns.
pub fn skip(test: &str, reason: &str) {
    eprintln!("SKIPPED {test}: {reason}");
    if let Some(path) = env::var_os("FARFIELD_SKIPS") {
        let mut file =
            OpenOptions::new().create(true).append(true).open(path).expect("the file of skipped tests opens");
        // One call of write, so that tests that run at once do not mix their lines.
        file.write_all(format!("{test}: {reason}\n").as_bytes())
            .expect("the file of skipped tests takes a line");
    }
}
