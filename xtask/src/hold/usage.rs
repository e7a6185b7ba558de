//! What a program used while it ran.

use anyhow::{Context, Result};
use std::fmt;
use std::str::FromStr;

/// Processor time and memory of one program, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Microseconds of processor time in the program.
    pub user_us: u64,
    /// Microseconds of processor time in the kernel on its behalf.
    pub system_us: u64,
    /// The most memory it had resident, in KiB.
    pub peak_kib: u64,
}

impl Usage {
    /// Microseconds of processor time, in the program and in the kernel.
    pub fn cpu_us(&self) -> u64 {
        self.user_us + self.system_us
    }

    /// The most memory it had resident, in MiB.
    pub fn peak_mib(&self) -> f64 {
        self.peak_kib as f64 / 1024.0
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.user_us, self.system_us, self.peak_kib)
    }
}

impl FromStr for Usage {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Usage> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut next = || numbers.next().context("too few numbers")?.context("not a number");
        Ok(Usage { user_us: next()?, system_us: next()?, peak_kib: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let usage = Usage { user_us: 1_500_000, system_us: 250, peak_kib: 2048 };
        assert_eq!(usage.to_string().parse::<Usage>().unwrap(), usage);
        assert_eq!((usage.cpu_us(), usage.peak_mib()), (1_500_250, 2.0));
        assert!("1 2".parse::<Usage>().is_err());
        assert!("1 2 x".parse::<Usage>().is_err());
    }
}
