//! Whether the machine still has memory for a run: a simulation of a load that its server cannot take holds ever more
//! requests, and ends with what it has before the kernel ends it with nothing.

/// The least part of the memory that must be left.
const LEFT: f64 = 0.05;

/// In words, if this process can have little more memory: proc_meminfo(5), cgroups(7).
pub(crate) fn is_short() -> Option<String> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = kibibytes(&meminfo, "MemTotal:")?;
    let left = kibibytes(&meminfo, "MemAvailable:")?;
    if left < LEFT * total {
        return Some(in_words(left, total));
    }
    let (used, most) = of_group()?;
    (most - used < LEFT * most).then(|| in_words(most - used, most))
}

fn in_words(left: f64, total: f64) -> String {
    let gib = |kibibytes: f64| kibibytes / f64::from(1 << 20);
    format!("{:.1} GiB of {:.1} GiB of memory were left", gib(left), gib(total))
}

fn kibibytes(text: &str, key: &str) -> Option<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    value.split_whitespace().next()?.parse().ok()
}

/// What this process's control group (version 2) uses and may use, in KiB, if it is bounded.
fn of_group() -> Option<(f64, f64)> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let read = |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup{group}/{name}")).ok();
    let number = |text: String| text.trim().parse::<f64>().ok().map(|bytes| bytes / 1024.0);
    Some((number(read("memory.current")?)?, number(read("memory.max")?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_says() {
        let meminfo = "MemTotal:       24682000 kB\nMemFree:  1 kB\nMemAvailable:    1234100 kB\n";
        assert_eq!(kibibytes(meminfo, "MemTotal:"), Some(24_682_000.0));
        assert_eq!(kibibytes(meminfo, "MemAvailable:"), Some(1_234_100.0));
        assert_eq!(kibibytes(meminfo, "Nothing:"), None);
        assert_eq!(in_words(1_234_100.0, 24_682_000.0), "1.2 GiB of 23.5 GiB of memory were left");
    }
}
