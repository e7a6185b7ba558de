//! Names the machine, the software and the commit that a result comes from.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use xtask::process;

/// One line on the machine: processor, how many, memory, kernel.
pub fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let model = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let processors = processors();
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kib: f64 = memory.and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0.0);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{model}, {processors} processors, {:.0} GiB, Linux {}", kib / 1048576.0, kernel.trim())
}

/// Processors that programs may run on.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The commit that is measured, with a mark if files differ from it.
pub fn commit() -> String {
    let git = |args: &[&str]| process::output(Command::new("git").args(args)).unwrap_or_default();
    let hash = String::from_utf8_lossy(&git(&["rev-parse", "--short=10", "HEAD"])).trim().to_owned();
    let mark = if git(&["status", "--porcelain"]).is_empty() { "" } else { " with changes" };
    format!("{hash}{mark}")
}

/// The version that `program` tells when asked with `arg`; empty if it tells none.
pub fn version(program: &Path, arg: &str) -> String {
    // wrk answers and fails; nginx answers on the other stream.
    let told = Command::new(program).arg(arg).stdin(Stdio::null()).output();
    told.map(|told| version_in(&String::from_utf8_lossy(&[told.stdout, told.stderr].concat())))
        .unwrap_or_default()
}

/// The first word that looks like a version: a digit at its start, or behind a slash or a `v`.
fn version_in(text: &str) -> String {
    let is_digit = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let plain = |word: &str| {
        let last = word.rsplit('/').next().unwrap_or(word);
        let bare = last.strip_prefix('v').unwrap_or(last);
        is_digit(bare).then(|| bare.to_owned())
    };
    text.split_whitespace().find_map(plain).unwrap_or_default()
}

/// The value of `name : value` in a file of `/proc`.
fn field(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| {
        line.strip_prefix(name)?.trim_start().strip_prefix(':').map(str::trim).map(str::to_owned)
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_each_tool_tells() {
        for (text, version) in [
            ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0-3+b2"),
            ("This is ApacheBench, Version 2.3 <$Revision$>\nCopyright 1996", "2.3"),
            ("h2load nghttp2/1.52.0", "1.52.0"),
            ("nginx version: nginx/1.22.1", "1.22.1"),
            ("k6 v0.49.0 (go1.21.6, linux/amd64)", "0.49.0"),
            ("oha 1.4.5", "1.4.5"),
            ("no idea", ""),
        ] {
            assert_eq!(version_in(text), version, "{text}");
        }
    }

    #[test]
    fn reads_fields_of_proc() {
        let text = "processor\t: 0\nmodel name\t: A CPU @ 2.0GHz\nmodel name\t: other\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A CPU @ 2.0GHz"));
        assert_eq!(field("MemTotal:       8000000 kB", "MemTotal").as_deref(), Some("8000000 kB"));
        assert_eq!(field(text, "absent"), None);
    }
}
